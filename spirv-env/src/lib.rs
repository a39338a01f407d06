//! SPIR-V intake.

pub mod module;

pub use module::*;
