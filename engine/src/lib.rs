//! The CPU execution engine: lowers validated SPIR-V to SIMD machine code and runs it over a thread pool.
//!
//! ```text
//! spirv_env::Module ──analysis──▶ facts ──lower──▶ LLVM IR ──jit──▶ code ──exec──▶ work-groups over the pool
//! ```

pub mod abi;
pub mod analysis;
mod background;
pub mod builtins;
mod constant_bytes;
pub mod engine;
mod error;
pub mod exec;
pub mod fork;
pub mod futex;
mod globals;
pub mod image;
pub mod jit;
pub mod lower;
pub mod pages;
mod pointers;
pub mod print;
pub mod program;
pub mod reserve;
pub mod setup;
pub mod sync;
mod vigil;

pub use engine::{Engine, EngineConfig};
pub use error::{EngineError, LaunchFault};
pub use program::{Kernel, LinkedPart, Program};
pub use setup::{Dispatch, Launch, Setup, Value};

#[global_allocator]
static ALLOCATOR: reserve::Allocator = reserve::Allocator;
