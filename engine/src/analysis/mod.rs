//! Analyses over a kernel: one a file.

pub mod builtins;
pub mod bundles;
pub mod calls;
pub mod cfg;
pub mod func;
pub mod inlining;
pub mod leaves;
pub mod linearization;
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
