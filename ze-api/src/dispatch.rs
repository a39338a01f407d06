//! Which function of the API is implemented, and where.
//!
//! A name that is imported here from the file of its handle type stands for the function; every other name is the
//! fallback's, because an explicit import hides one that a `*` brings in.

pub use crate::unsupported::*;
