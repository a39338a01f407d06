//! What lies behind the Level Zero API: drivers, devices, memory, modules, kernels, command lists and events.
//!
//! One file a handle type, as in `ze-api`. Handles are slots of one table ([`handle`]); what commands do is in
//! [`command`], who executes them in [`stream`], what they wait for in [`signal`].

pub mod allocations;
mod budget;
mod callback;
mod clock;
pub mod command;
pub mod command_list;
pub mod context;
mod copy;
pub mod device;
mod device_properties;
pub mod driver;
pub mod env;
pub mod error;
pub mod event;
pub mod external_memory;
pub mod fabric;
pub mod fallible;
mod fault;
pub mod fence;
pub mod graph;
pub mod handle;
mod host_pointers;
pub mod image;
pub mod ipc;
pub mod kernel;
mod mapping;
mod memfd;
pub mod memory;
pub mod metrics;
pub mod module;
pub mod mutable;
pub mod operation;
pub mod parts;
pub mod physical_memory;
pub mod pnext;
pub mod queue;
mod region;
pub mod sampler;
mod shared_events;
mod signal;
mod slab;
mod stream;
pub mod sysman;
mod system_memory;
pub mod text;
pub mod virtual_memory;
pub mod watched_memory;

pub use copy::Region;
pub use error::{Error, Result};
pub use ze_engine::exec::caller_stack::with_room;
use ze_engine::sync;
pub use ze_engine::{fork, futex};

/// Host time of the device's clock in nanoseconds (`CLOCK_MONOTONIC_RAW`).
pub fn host_time() -> u64 {
    clock::now()
}
