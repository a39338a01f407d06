//! The `ze*` C entry points.
//!
//! # How a call gets here
//!
//! [`ze_headers::for_each_function`] lists every function. From it come the exported symbols ([`exports`]), the DDI
//! tables that the loader asks for and that handles point to ([`ddi`]), and for functions that nobody wrote a fallback
//! that returns `ZE_RESULT_ERROR_UNSUPPORTED_FEATURE` ([`unsupported`]). What a function does is said by [`dispatch`].
//!
//! # How to add a function
//!
//! Write it in the file of its handle type, under its C name, with the C arguments and a `Result`:
//!
//! ```ignore
//! /// `zeFenceReset`.
//! pub unsafe fn zeFenceReset(hFence: ze_fence_handle_t) -> Result<(), Error> {
//!     // SAFETY: the caller passes a fence or null.
//!     let fence = unsafe { handle::<Fence>(hFence) }?;
//!     fence.reset()
//! }
//! ```
//!
//! and its name to the list in `dispatch.rs`. That is all: the entry point around it catches panics, keeps the reason
//! of an error for `zeDriverGetLastErrorDescription`, and turns the `Result` into what C expects ([`entry`]). The
//! compiler checks the arguments against the bindings. The few functions that do not return `ze_result_t` return
//! `Result<u32, _>` or `Result<ze_context_handle_t, _>`, and an error becomes `UINT32_MAX` or null. An error type implements
//! [`entry::Failure`]. The functions that begin a program's use of the driver (`zeInit`, `zeInitDrivers`, `zesInit`)
//! call [`logging::initialize`].
#![allow(non_snake_case, reason = "functions and arguments are named as in C")]
#![allow(clippy::too_many_arguments, reason = "as many as in C")]
#![allow(clippy::missing_safety_doc, reason = "the contract of a C function is the specification's")]

pub mod append;
pub mod args;
pub mod command_list;
pub mod context;
pub mod ddi;
pub mod device;
pub mod dispatch;
pub mod driver;
pub mod entry;
pub mod event;
mod exit;
pub mod exports;
pub mod fabric;
pub mod fence;
pub mod flags;
pub mod graph;
pub mod image;
pub mod image_copy;
pub mod kernel;
pub mod launch;
mod llvm_memory;
pub mod logging;
pub mod memory;
mod metric;
pub mod module;
pub mod mutable;
pub mod queue;
pub mod runtime;
pub mod sampler;
pub mod sysman;
pub mod unsupported;
pub mod virtual_memory;
pub mod zex;
