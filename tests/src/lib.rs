//! Support for the end-to-end tests: Level Zero through a real loader, kernels, and independent reference arithmetic.

pub mod api_page;
pub mod assembler;
pub mod bench;
pub mod formats;
pub mod image_model;
pub mod images;
pub mod loader;
pub mod memory;
pub mod mpfr;
pub mod mutation;
pub mod offline;
pub mod parameters;
pub mod platform;
pub mod process;
pub mod program;
pub mod queue;
pub mod random;
pub mod returns;
pub mod scale;
pub mod ulp;

pub use images::{Image, Sampler};
pub use loader::Api;
pub use memory::{Buffer, MemoryKind};
pub use platform::{Error, Platform, Result, platform};
pub use program::{Argument, Kernel, Local, Module, spirv};
pub use queue::{CommandList, Event, EventPool, Fence, ListOptions, Queue};
pub use random::Random;
