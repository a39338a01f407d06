//! What can go wrong between a validated module and a finished launch.

use crate::exec::failure::Reason;
use thiserror::Error;

/// An engine failure, with a reason that a person can act on.
#[derive(Clone, Debug, Error)]
pub enum EngineError {
    /// The module uses something that the engine does not implement.
    #[error("kernel '{kernel}': {what} is not supported by the CPU engine")]
    Unsupported { kernel: String, what: String },
    /// The module refers to a function or variable that no linked module defines.
    #[error("kernel '{kernel}': '{symbol}' is imported and not defined by any linked module")]
    Unresolved { kernel: String, symbol: String },
    /// The kernel would be more code than is compiled in a reasonable time and memory.
    #[error("kernel '{kernel}': its code would be about {work} instructions; {limit} are supported")]
    TooLarge { kernel: String, work: u64, limit: u64 },
    /// The code generator failed on IR that the engine made: a bug of the engine.
    #[error("kernel '{kernel}': code generation failed: {reason}")]
    CodeGeneration { kernel: String, reason: String },
    /// Memory for the launch (local memory, stacks, private memory) could not be had.
    #[error("kernel '{kernel}': {bytes} bytes of {what} could not be allocated")]
    OutOfMemory { kernel: String, what: &'static str, bytes: u64 },
    /// Memory for compiling, for code or for a stack to run it on could not be had.
    #[error("kernel '{kernel}': {reason}")]
    OutOfHostMemory { kernel: String, reason: String },
    /// A launch, or what is set on a kernel for one, is against the rules or beyond the device.
    #[error("kernel '{kernel}': {fault}")]
    InvalidLaunch { kernel: String, fault: LaunchFault },
    /// The kernel did what cannot be done, and its launch has ended.
    #[error("kernel '{kernel}': {reason}")]
    Failed { kernel: String, reason: Reason },
    /// A module-scope variable could not be given its memory and initial value.
    #[error("module-scope variable '{variable}': {reason}")]
    Variable { variable: String, reason: String },
}

/// What is wrong with a launch, or with what is set on a kernel for one.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum LaunchFault {
    /// The work-group's size.
    #[error("{0}")]
    GroupSize(String),
    /// The number of work-groups.
    #[error("{0}")]
    GroupCount(String),
    /// The number of work-groups, of which each may wait for all others.
    #[error("{0}")]
    InFlight(String),
    #[error("it has {count} arguments, there is no argument {index}")]
    ArgumentIndex { index: u32, count: usize },
    #[error("argument {index} ('{name}') takes {expected} bytes, not {size}")]
    ArgumentSize { index: u32, name: String, expected: u64, size: u64 },
    #[error("argument {index} ('{name}') {reason}")]
    ArgumentValue { index: u32, name: String, reason: &'static str },
    /// In bytes of a work-group.
    #[error("a work-group needs {needed} bytes of local memory, the device has {limit}")]
    LocalMemory { needed: u64, limit: u64 },
}
