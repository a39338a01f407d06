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
    pub sub_devices: SubDevices,
    /// Names of Level Zero extensions and SPIR-V extensions that this device lacks although its driver has them.
    pub without_extensions: Vec<String>,
}

/// The execution units, as a GPU has them. All five multiplied are its 32-bit lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// On a CPU: sockets.
    pub slices: u32,
    /// On a CPU: cores of a socket. A work-group runs on one of them.
    pub subslices_per_slice: u32,
    /// On a CPU as many as GPUs have, of which no two run at the same time.
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

    /// What `parts` of `all` equal parts have: whole slices where they divide, whole sub-slices otherwise, but one at least.
    fn share(self, parts: u32, all: u32) -> Self {
        let of = |count: u32| (u64::from(count) * u64::from(parts) / u64::from(all)) as u32;
        if self.slices.is_multiple_of(all) {
            return Self { slices: of(self.slices), ..self };
        }
        Self { slices: 1, subslices_per_slice: of(self.slices * self.subslices_per_slice).max(1), ..self }
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

/// Parts of the device that programs may use by themselves: tiles of a GPU. What a profile says is of all of them together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubDevices {
    /// A device of one part has no sub-devices, as one of none.
    pub count: u32,
    /// How programs see them unless `ZE_FLAT_DEVICE_HIERARCHY` says otherwise.
    pub hierarchy: Hierarchy,
}

/// How programs see devices that have parts (`ZE_FLAT_DEVICE_HIERARCHY`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hierarchy {
    /// Devices, whose parts are their sub-devices.
    #[default]
    Composite,
    /// The parts, each a device of its own.
    Flat,
    /// The parts, which say whose they are.
    Combined,
}

impl Hierarchy {
    /// The value of `ZE_FLAT_DEVICE_HIERARCHY`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "COMPOSITE" => Some(Self::Composite),
            "FLAT" => Some(Self::Flat),
            "COMBINED" => Some(Self::Combined),
            _ => None,
        }
    }
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

    /// What arithmetic of a width in bits can do; nothing for widths other than 16, 32 and 64.
    pub fn fp(&self, width: u32) -> FpFlags {
        match width {
            16 => self.module.fp16,
            32 => self.module.fp32,
            64 => self.module.fp64,
            _ => FpFlags::empty(),
        }
    }

    /// The widths whose denormal numbers count as zeros on the device: those that it computes in without having them.
    pub fn flushed_widths(&self) -> impl Iterator<Item = u32> + '_ {
        [16, 32, 64].into_iter().filter(|&width| {
            let modes = self.fp(width);
            !modes.is_empty() && !modes.contains(FpFlags::DENORM)
        })
    }

    /// Whether the device leaves out an extension that the driver has.
    pub fn lacks(&self, extension: &str) -> bool {
        self.without_extensions.iter().any(|name| name == extension)
    }

    /// Whether kernels are held to the same limits, so that both devices can execute them with one engine.
    pub fn has_the_limits_of(&self, other: &Self) -> bool {
        let print = |profile: &Self| profile.module.printf_buffer_size;
        self.compute == other.compute && print(self) == print(other)
    }

    /// Parts that can be sub-devices: at least one, the whole.
    pub fn parts(&self) -> u32 {
        self.sub_devices.count.max(1)
    }

    /// What a number of the device's [`parts`](Self::parts) report together.
    pub fn share(&self, parts: u32) -> Self {
        let (parts, all) = (parts.clamp(1, self.parts()), self.parts());
        let mut share = self.clone();
        if parts == all {
            return share;
        }
        let of = |whole: u64| (u128::from(whole) * u128::from(parts) / u128::from(all)) as u64;
        share.sub_devices.count = parts;
        share.topology = self.topology.share(parts, all);
        share.memory.total_size = of(self.memory.total_size).max(1);
        share.limits.max_alloc_size = self.limits.max_alloc_size.min(share.memory.total_size);
        // The nearer caches are those of a core.
        if let [_, .., last] = share.caches.as_mut_slice() {
            last.size = of(last.size);
        }
        share
    }

    /// 16 bytes that tell this device from one with another name or other ids, the same in every process. The last two are
    /// zero, for whoever tells equal devices of a machine apart.
    pub fn uuid(&self) -> [u8; 16] {
        let mut uuid = [0; 16];
        uuid[..2].copy_from_slice(&(self.vendor_id as u16).to_le_bytes());
        uuid[2..4].copy_from_slice(&(self.device_id as u16).to_le_bytes());
        uuid[4..8].copy_from_slice(&self.ip_version.to_le_bytes());
        // FNV-1a: stable across builds, which std's hasher does not promise.
        let hash = self.name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        let folded = hash ^ hash >> 48;
        uuid[8..14].copy_from_slice(&folded.to_le_bytes()[..6]);
        uuid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_has_its_part_of_what_the_whole_has() {
        let whole = DeviceProfile::named("max-1550").expect("it is built in").expect("it is valid");
        let tile = whole.share(1);
        assert_eq!(whole.parts(), 2);
        assert_eq!(tile.topology.eus() * 2, whole.topology.eus());
        assert_eq!((tile.topology.slices, tile.topology.subslices_per_slice), (1, 64));
        assert_eq!(tile.memory.total_size * 2, whole.memory.total_size);
        assert_eq!(tile.limits.max_alloc_size, tile.memory.total_size);
        assert_eq!(tile.caches[0], whole.caches[0], "a core's");
        assert_eq!(tile.caches[1].size * 2, whole.caches[1].size);
        assert_eq!((tile.parts(), &tile.name, tile.uuid()), (1, &whole.name, whole.uuid()));
        assert_eq!(whole.share(2), whole);
        assert_eq!(whole.share(9), whole);
    }

    #[test]
    fn a_share_of_what_cannot_be_divided_is_not_empty() {
        let mut whole = DeviceProfile::host();
        whole.topology = Topology {
            slices: 1,
            subslices_per_slice: 3,
            eus_per_subslice: 1,
            threads_per_eu: 2,
            simd_width: 8,
        };
        whole.sub_devices.count = 16;
        for parts in 1..=16 {
            let share = whole.share(parts);
            assert!(share.topology.eus() >= 1 && share.topology.eus() <= 3, "{parts}: {:?}", share.topology);
            assert!(share.limits.max_alloc_size <= share.memory.total_size);
        }
        assert_eq!(whole.share(6).topology.eus(), 1);
        assert_eq!(whole.share(11).topology.eus(), 2);
    }
}
