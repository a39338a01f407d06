//! What the fuzzers do with an input, and how they damage one. The tests of `spirv-env` run the same over the inputs that are
//! kept in `corpus`.

#[path = "../../spirv-env/tests/mutate/mod.rs"]
pub mod mutate;
pub mod subjects;
