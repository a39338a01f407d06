//! The device profile: the whole of what a device reports about itself.
//!
//! `host` is built in and describes this machine's CPU. Other devices are TOML files
//! ([`DeviceProfile::from_toml`]) whose missing keys are the host's.

use crate::flags::{DotProductFlags, FpAtomicFlags, FpFlags, ModuleFlags};
use serde::{Deserialize, Serialize};

/// `ze_device_type_t`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    Gpu = 1,
    Cpu = 2,
    Fpga = 3,
    Mca = 4,
    Vpu = 5,
}

/// What a device reports. Every field can be set in a profile file under the same name.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceProfile {
    /// Device name, at most 255 bytes.
    pub name: String,
    pub kind: DeviceKind,
    /// PCI vendor id.
    pub vendor_id: u32,
    /// PCI device id.
    pub device_id: u32,
    /// `ze_device_ip_version_ext_t::ipVersion`: architecture << 22 | release << 14 | revision.
    pub ip_version: u32,
    /// The device shares the host's memory (`ZE_DEVICE_PROPERTY_FLAG_INTEGRATED`).
    pub integrated: bool,
    /// `ZE_DEVICE_PROPERTY_FLAG_ONDEMANDPAGING`.
    pub on_demand_paging: bool,
    /// `ZE_DEVICE_PROPERTY_FLAG_ECC`.
    pub ecc: bool,
    /// Clock rate of a core in MHz.
    pub core_clock_mhz: u32,
    pub topology: Topology,
    pub limits: Limits,
    pub compute: Compute,
    pub module: ModuleProperties,
    pub memory: Memory,
    /// Caches, the smallest first.
    pub caches: Vec<Cache>,
    /// Cache line size in bytes.
    pub cache_line: u32,
    pub images: Images,
    /// Names of Level Zero extensions and SPIR-V extensions that this device lacks although its driver has them.
    pub without_extensions: Vec<String>,
}

/// The execution units. All five multiplied are the 32-bit lanes that run at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// On a CPU: sockets.
    pub slices: u32,
    /// On a CPU: cores of a socket. A work-group runs on one of them.
    pub subslices_per_slice: u32,
    /// On a CPU: 1.
    pub eus_per_subslice: u32,
    /// On a CPU: hardware threads of a core.
    pub threads_per_eu: u32,
    /// 32-bit lanes of a vector register.
    pub simd_width: u32,
}

impl Topology {
    /// 32-bit lanes of the whole device.
    pub fn lanes(&self) -> u64 {
        u64::from(self.eus()) * u64::from(self.threads_per_eu) * u64::from(self.simd_width)
    }

    /// Execution units of the whole device: what SYCL calls compute units.
    pub fn eus(&self) -> u32 {
        self.slices * self.subslices_per_slice * self.eus_per_subslice
    }
}

/// Counts and sizes that belong to no other query.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Largest single allocation in bytes.
    pub max_alloc_size: u64,
    pub max_hardware_contexts: u32,
    /// Highest command queue priority; higher is more urgent.
    pub max_queue_priority: u32,
    /// Device timestamps a second.
    pub timer_frequency_hz: u64,
    pub timestamp_valid_bits: u32,
    pub kernel_timestamp_valid_bits: u32,
}

/// `ze_device_compute_properties_t`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compute {
    /// Work-items of a work-group.
    pub max_total_group_size: u32,
    /// Work-items of a work-group in each dimension.
    pub max_group_size: [u32; 3],
    /// Work-groups of a launch in each dimension.
    pub max_group_count: [u32; 3],
    /// Local memory of a work-group in bytes.
    pub max_shared_local_memory: u32,
    /// Sub-group sizes that a kernel may require, ascending, at most 8.
    pub sub_group_sizes: Vec<u32>,
}

/// `ze_device_module_properties_t`, and the properties of the extensions chained to it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModuleProperties {
    /// Newest SPIR-V version that is accepted: major, minor.
    pub spirv_version: [u8; 2],
    pub flags: ModuleFlags,
    pub fp16: FpFlags,
    pub fp32: FpFlags,
    pub fp64: FpFlags,
    /// `ze_float_atomic_ext_properties_t`.
    pub fp16_atomics: FpAtomicFlags,
    pub fp32_atomics: FpAtomicFlags,
    pub fp64_atomics: FpAtomicFlags,
    pub dot_product: DotProductFlags,
    /// Bytes of all arguments of a kernel together.
    pub max_arguments_size: u32,
    /// Bytes of `printf` output that one launch may produce.
    pub printf_buffer_size: u32,
}

/// `ze_device_memory_properties_t`; the device has one memory.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    pub name: String,
    /// Bytes.
    pub total_size: u64,
    /// MHz; 0 where unknown.
    pub clock_mhz: u32,
    /// Bits.
    pub bus_width: u32,
}

/// A cache of a core or of the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// 1 for the nearest to the core.
    pub level: u32,
    /// Bytes of one such cache.
    pub size: u64,
}

/// `ze_device_image_properties_t`. All zero: no images.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Images {
    pub max_dims_1d: u32,
    pub max_dims_2d: u32,
    pub max_dims_3d: u32,
    /// Bytes.
    pub max_buffer_size: u64,
    pub max_array_slices: u32,
    pub max_samplers: u32,
    pub max_read_args: u32,
    pub max_write_args: u32,
}

impl Images {
    /// Whether the device has images at all (`ze_device_image_properties_t`, SPIR-V `ImageBasic`).
    pub fn supported(&self) -> bool {
        self.max_dims_2d != 0
    }
}

impl DeviceProfile {
    /// Everything that this machine's CPU can do.
    pub fn host() -> Self {
        crate::host::detect()
    }

    /// The floating-point atomics of a width in bits; none for widths other than 16, 32 and 64.
    pub fn fp_atomics(&self, width: u32) -> FpAtomicFlags {
        match width {
            16 => self.module.fp16_atomics,
            32 => self.module.fp32_atomics,
            64 => self.module.fp64_atomics,
            _ => FpAtomicFlags::empty(),
        }
    }

    /// Whether the device leaves out an extension that the driver has.
    pub fn lacks(&self, extension: &str) -> bool {
        self.without_extensions.iter().any(|name| name == extension)
    }

    /// 16 bytes that tell this device from one with another name or other ids, the same in every process.
    pub fn uuid(&self) -> [u8; 16] {
        let mut uuid = [0; 16];
        uuid[..2].copy_from_slice(&(self.vendor_id as u16).to_le_bytes());
        uuid[2..4].copy_from_slice(&(self.device_id as u16).to_le_bytes());
        uuid[4..8].copy_from_slice(&self.ip_version.to_le_bytes());
        // FNV-1a: stable across builds, which std's hasher does not promise.
        let hash = self.name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        uuid[8..].copy_from_slice(&hash.to_le_bytes());
        uuid
    }
}
