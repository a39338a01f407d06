//! The one registry of what is supported: the device profile and what each of its flags implies.
//!
//! Device queries, the driver's extension list, the intake's accept list and the engine's modes all read
//! the same [`DeviceProfile`], so a device never reports what its compiler rejects.

mod builtin;
pub mod capability;
pub mod flags;
mod host;
pub mod limits;
#[cfg(test)]
mod matrix;
pub mod profile;
mod profile_toml;
pub mod spirv_extensions;
pub mod spirv_support;
pub mod ze_extensions;

pub use builtin::{devices_named, names as profile_names};
pub use capability::CapabilityId;
pub use flags::{DotProductFlags, FpAtomicFlags, FpFlags, ModuleFlags};
pub use host::{host_memory, last_level_cache};
pub use profile::{
    Cache, Compute, DeviceKind, DeviceProfile, Hierarchy, Images, Limits, Memory, ModuleProperties,
    SubDevices, Topology,
};
pub use profile_toml::ProfileError;
pub use spirv_extensions::{SPIRV_EXTENSIONS, SpirvExtension, Standing};
pub use spirv_support::{CAPABILITIES, CapabilitySupport, Need};
pub use ze_extensions::{ZE_EXTENSIONS, ZES_EXTENSIONS, ZeExtension};
