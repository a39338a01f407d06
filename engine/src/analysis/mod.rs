//! Analyses over a kernel: one a file.

pub mod builtins;
pub mod cfg;
pub mod func;
pub mod leaves;
pub mod linear;
pub mod loops;
pub mod private;
pub mod regions;
pub mod shapes;
