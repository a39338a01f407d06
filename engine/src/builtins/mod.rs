//! What compiled code calls that the compiler does not make itself.

pub mod libmvec;
pub mod print;
