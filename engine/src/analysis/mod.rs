//! Analyses over a kernel: one a file.

pub mod builtins;
pub mod calls;
pub mod cfg;
pub mod common;
pub mod func;
pub mod inlining;
pub mod leaves;
pub mod linear;
pub mod loops;
pub mod private;
mod ranges;
pub mod regions;
pub mod shapes;
pub mod simplify;
#[cfg(test)]
mod testing;
mod transfer;
mod uniform_objects;
pub mod work;
