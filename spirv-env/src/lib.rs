//! SPIR-V intake: from bytes to a validated, specialized, linked and reflected [`Module`].

mod binary;
mod block_io;
mod build;
pub mod catalogue;
pub mod container;
mod decided;
mod defs;
mod demote;
pub mod diagnostics;
pub mod environment;
mod fold;
pub mod foreign;
mod functions;
pub mod grammar;
mod indirect;
mod least_lanes;
mod link;
mod listing;
pub mod live_values;
mod load;
mod matrices;
pub mod module;
pub mod opcodes;
pub mod own_opcodes;
#[cfg(test)]
mod producers;
mod prune;
mod reflect;
mod rules;
mod supplied;
#[cfg(any(test, feature = "catalogue"))]
mod test_support;
mod validate;
mod variable_arrays;

pub use block_io::{Arrangement, Block};
pub use build::{SpecConstantInfo, build, spec_constants};
pub use diagnostics::{BuildError, Diagnostic};
pub use environment::{EngineOps, Environment, ModuleInput};
pub use fold::fold_numbers;
pub use functions::Functions;
pub use grammar::op_name;
pub use indirect::CallShape;
pub use matrices::Matrix;
pub use module::*;
pub use supplied::Supplied;
