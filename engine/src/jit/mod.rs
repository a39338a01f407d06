//! From LLVM IR to machine code in memory: target, passes, object code, its loader and its cache on disk.
//!
//! ```text
//! IrModule ──pipeline──▶ object bytes ──load──▶ executable memory
//!                            ▲ │
//!                            │ ▼
//!                          cache
//! ```

mod addresses;
pub mod blocks;
pub mod cache;
pub mod choice;
mod constants;
pub mod context;
mod contraction;
mod conversions;
pub mod debug_file;
pub mod dump;
pub mod elf;
mod extracts;
mod fission;
pub mod folder;
mod halves;
pub mod hash;
pub mod isolate;
mod lanes;
pub mod load;
mod masks;
mod narrowed_loads;
mod outer_sums;
mod outlined;
mod picks;
pub mod pieces;
pub mod pipeline;
mod shared_conditions;
pub mod size;
mod stack;
pub mod symbols;
pub mod target;
pub mod tuning;
mod vectors;
mod wide_masks;
mod word_products;

pub use context::{Context, IrModule};

use thiserror::Error;

/// What can go wrong between IR and callable code. The engine adds the kernel's name.
#[derive(Clone, Debug, Error)]
pub enum JitError {
    /// This CPU or operating system has no code generator here.
    #[error("no code generator for this machine: {0}")]
    Target(String),
    /// The IR breaks LLVM's rules: a bug of the lowering.
    #[error("invalid IR: {0}")]
    Verification(String),
    /// LLVM reported an error, or gave up.
    #[error("LLVM: {0}")]
    Llvm(String),
    /// The object code is damaged or uses something that the loader does not know.
    #[error("object code: {0}")]
    Object(String),
    /// Compiled code calls something that is not in the table of what it may call.
    #[error("no function or variable named '{0}' for compiled code")]
    MissingSymbol(String),
    /// Memory for code could not be mapped.
    #[error("memory for code: {0}")]
    Memory(std::io::ErrorKind),
}

#[cfg(test)]
mod tests;
