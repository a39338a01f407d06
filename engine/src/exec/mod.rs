//! Runs compiled kernels: work-groups over the threads, sub-groups of a group with barriers as coroutines.
//!
//! ```text
//! arguments, launch ──▶ scheduler: which thread runs which work-groups ──▶ workgroup: one thread's range of them
//!                                                                   │
//!                                                               coroutine: sub-groups that meet at barriers
//! ```

pub mod arguments;
pub mod caller_stack;
mod cooperative;
pub mod coroutine;
pub mod failure;
pub mod fault;
mod float_mode;
pub mod group_size;
pub mod launch;
mod order;
mod placement;
pub mod promotion;
pub mod scheduler;
mod switch;
pub mod trial;
pub mod workgroup;

pub use arguments::Arguments;
pub(crate) use float_mode::KernelMode;
pub use launch::{Code, Plan, Range};
pub use scheduler::Scheduler;

#[cfg(test)]
mod tests;

pub(crate) use coroutine::Region;
pub(crate) use switch::{StackPointer, prepare, switch_stack};
