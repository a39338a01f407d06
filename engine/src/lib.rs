//! The CPU execution engine: lowers validated SPIR-V to SIMD machine code and runs it over a thread pool.
//!
//! ```text
//! spirv_env::Module ──analysis──▶ facts ──lower──▶ LLVM IR ──jit──▶ code ──exec──▶ work-groups over the pool
//! ```

pub mod abi;
pub mod analysis;
pub mod error;
pub mod lower;

pub use error::EngineError;
