//! Answers to `zeDeviceGet*Properties`, from the device's profile. Structures that are chained to a query are
//! filled where they are known, and skipped where not.

use crate::device::{Device, QUEUES_OF_A_GROUP, QueueGroup, UNKNOWN_SPEED};
use crate::external_memory;
use crate::image::{LARGEST_PITCH, PITCH_ALIGNMENT};
use crate::pnext::{Output, Outputs, structures};
use crate::text;
use ze_headers::*;

structures! {
    ze_device_properties_t = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES | ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2;
    ze_device_compute_properties_t = ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES;
    ze_device_module_properties_t = ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES;
    ze_command_queue_group_properties_t = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES;
    ze_device_memory_properties_t = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES;
    ze_device_cache_properties_t = ZE_STRUCTURE_TYPE_DEVICE_CACHE_PROPERTIES;
    ze_device_p2p_properties_t = ZE_STRUCTURE_TYPE_DEVICE_P2P_PROPERTIES;
    ze_device_ip_version_ext_t = ZE_STRUCTURE_TYPE_DEVICE_IP_VERSION_EXT;
    ze_eu_count_ext_t = ZE_STRUCTURE_TYPE_EU_COUNT_EXT;
    ze_device_usablemem_size_ext_properties_t = ZE_STRUCTURE_TYPE_DEVICE_USABLEMEM_SIZE_EXT_PROPERTIES;
    ze_device_event_properties_t = ZE_STRUCTURE_TYPE_DEVICE_EVENT_PROPERTIES;
    ze_mutable_command_list_exp_properties_t = ZE_STRUCTURE_TYPE_MUTABLE_COMMAND_LIST_EXP_PROPERTIES;
    ze_scheduling_hint_exp_properties_t = ZE_STRUCTURE_TYPE_SCHEDULING_HINT_EXP_PROPERTIES;
    ze_device_readonly_memory_ext_properties_t = ZE_STRUCTURE_TYPE_DEVICE_READONLY_MEMORY_EXT_PROPERTIES;
    ze_record_replay_graph_ext_properties_t = ZE_STRUCTURE_TYPE_RECORD_REPLAY_GRAPH_EXT_PROPERTIES
        | ZE_STRUCTURE_TYPE_RECORD_REPLAY_GRAPH_EXP_PROPERTIES;
    ze_intel_device_command_list_wait_on_memory_data_size_exp_desc_t =
        ZE_INTEL_STRUCTURE_TYPE_DEVICE_COMMAND_LIST_WAIT_ON_MEMORY_DATA_SIZE_EXP_DESC;
    ze_event_query_kernel_timestamps_ext_properties_t =
        ZE_STRUCTURE_TYPE_EVENT_QUERY_KERNEL_TIMESTAMPS_EXT_PROPERTIES;
    ze_float_atomic_ext_properties_t = ZE_STRUCTURE_TYPE_FLOAT_ATOMIC_EXT_PROPERTIES;
    ze_device_raytracing_ext_properties_t = ZE_STRUCTURE_TYPE_DEVICE_RAYTRACING_EXT_PROPERTIES;
    ze_device_compute_dotproduct_ext_properties_t =
        ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_DOTPRODUCT_EXT_PROPERTIES;
    ze_device_memory_ext_properties_t = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_EXT_PROPERTIES;
    ze_device_cache_line_size_ext_t = ZE_STRUCTURE_TYPE_DEVICE_CACHELINE_SIZE_EXT;
    ze_copy_bandwidth_exp_properties_t = ZE_STRUCTURE_TYPE_COPY_BANDWIDTH_EXP_PROPERTIES;
    ze_device_p2p_bandwidth_exp_properties_t = ZE_STRUCTURE_TYPE_DEVICE_P2P_BANDWIDTH_EXP_PROPERTIES;
    ze_device_image_properties_t = ZE_STRUCTURE_TYPE_DEVICE_IMAGE_PROPERTIES;
    ze_device_pitched_alloc_exp_properties_t = ZE_STRUCTURE_TYPE_PITCHED_ALLOC_DEVICE_EXP_PROPERTIES;
    ze_pitched_alloc_2dimage_linear_pitch_exp_info_t =
        ZE_STRUCTURE_TYPE_PITCHED_ALLOC_2DIMAGE_LINEAR_PITCH_EXP_INFO;
}

/// `maxMemoryFillPatternSize` of the copy queues: what copy engines of Intel's have. Larger patterns are filled too, but
/// programs allocate memory by this number.
const COPY_PATTERN_BYTES: usize = 16;

/// SPIR-V version as `ze_device_module_properties_t` packs it.
fn spirv_version([major, minor]: [u8; 2]) -> u32 {
    u32::from(major) << 16 | u32::from(minor)
}

/// Memory that the system could give to a program now, in bytes.
fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

impl Device {
    /// `zeDeviceGetProperties`.
    ///
    /// # Safety
    /// The structure's `pNext` is a valid chain.
    pub unsafe fn properties(&self, out: &mut ze_device_properties_t) {
        let profile = self.profile();
        let flags = [
            (profile.integrated, ZE_DEVICE_PROPERTY_FLAG_INTEGRATED),
            (profile.ecc, ZE_DEVICE_PROPERTY_FLAG_ECC),
            (self.is_sub_device(), ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE),
            (profile.on_demand_paging, ZE_DEVICE_PROPERTY_FLAG_ONDEMANDPAGING),
        ];
        out.type_ = ze_device_type_t(profile.kind as u32);
        out.vendorId = profile.vendor_id;
        out.deviceId = profile.device_id;
        out.flags = flags.iter().filter(|(set, _)| *set).fold(0, |all, (_, flag)| all | flag);
        out.subdeviceId = self.sub_device_id();
        out.coreClockRate = profile.core_clock_mhz;
        out.maxMemAllocSize = profile.limits.max_alloc_size;
        out.maxHardwareContexts = profile.limits.max_hardware_contexts;
        out.maxCommandQueuePriority = profile.limits.max_queue_priority;
        out.numThreadsPerEU = profile.topology.threads_per_eu;
        out.physicalEUSimdWidth = profile.topology.simd_width;
        out.numEUsPerSubslice = profile.topology.eus_per_subslice;
        out.numSubslicesPerSlice = profile.topology.subslices_per_slice;
        out.numSlices = profile.topology.slices;
        // The older structure type asks in cycles a second, the newer in nanoseconds a cycle.
        out.timerResolution = match out.stype {
            ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2 => self.clock().frequency_hz(),
            _ => self.clock().resolution_ns(),
        };
        out.timestampValidBits = profile.limits.timestamp_valid_bits;
        out.kernelTimestampValidBits = profile.limits.kernel_timestamp_valid_bits;
        out.uuid.id = self.uuid();
        text::write(&mut out.name, &profile.name);
        // SAFETY: the caller's promise.
        unsafe { Outputs::of(out) }.for_each(|link| self.chained_to_properties(link));
    }

    fn chained_to_properties(&self, mut link: Output) {
        let profile = self.profile();
        if let Some(out) = link.get::<ze_device_ip_version_ext_t>() {
            out.ipVersion = profile.ip_version;
        } else if let Some(out) = link.get::<ze_eu_count_ext_t>() {
            out.numTotalEUs = profile.topology.eus();
        } else if let Some(out) = link.get::<ze_device_usablemem_size_ext_properties_t>() {
            let total = profile.memory.total_size;
            out.currUsableMemSize = available_memory().map_or(total, |available| available.min(total));
        } else if let Some(out) = link.get::<ze_device_event_properties_t>() {
            out.flags = ZE_DEVICE_EVENT_PROPERTIES_FLAG_COUNTER_BASED_EXTERNAL_AGGREGATE_STORAGE
                | ZE_DEVICE_EVENT_PROPERTIES_FLAG_COUNTER_BASED_IPC
                | ZE_DEVICE_EVENT_PROPERTIES_FLAG_COUNTER_BASED_EXTERNAL_SYNC_ALLOCATION;
        } else if let Some(out) = link.get::<ze_mutable_command_list_exp_properties_t>() {
            out.mutableCommandListFlags = 0;
            out.mutableCommandFlags = crate::mutable::SUPPORTED;
        } else if let Some(out) = link.get::<ze_device_readonly_memory_ext_properties_t>() {
            // The pages have the protection that is asked for.
            out.readonlyCapability = ZE_DEVICE_READONLY_MEMORY_CAPABILITY_ENFORCED;
        } else if let Some(out) = link.get::<ze_record_replay_graph_ext_properties_t>() {
            out.graphFlags = ZE_RECORD_REPLAY_GRAPH_EXT_FLAG_IMMUTABLE_GRAPH;
        } else if let Some(out) =
            link.get::<ze_intel_device_command_list_wait_on_memory_data_size_exp_desc_t>()
        {
            // The least: 8 bytes can be waited for as well.
            out.cmdListWaitOnMemoryDataSizeInBytes = size_of::<u32>() as u32;
        } else if let Some(out) = link.get::<ze_event_query_kernel_timestamps_ext_properties_t>() {
            out.flags = ZE_EVENT_QUERY_KERNEL_TIMESTAMPS_EXT_FLAG_KERNEL
                | ZE_EVENT_QUERY_KERNEL_TIMESTAMPS_EXT_FLAG_SYNCHRONIZED;
        }
    }

    /// `zeDeviceGetComputeProperties`.
    ///
    /// # Safety
    /// The structure's `pNext` is a valid chain.
    pub unsafe fn compute_properties(&self, out: &mut ze_device_compute_properties_t) {
        let compute = &self.profile().compute;
        out.maxTotalGroupSize = compute.max_total_group_size;
        [out.maxGroupSizeX, out.maxGroupSizeY, out.maxGroupSizeZ] = compute.max_group_size;
        [out.maxGroupCountX, out.maxGroupCountY, out.maxGroupCountZ] = compute.max_group_count;
        out.maxSharedLocalMemory = compute.max_shared_local_memory;
        out.subGroupSizes = [0; ZE_SUBGROUPSIZE_COUNT as usize];
        out.numSubGroupSizes = compute.sub_group_sizes.len().min(out.subGroupSizes.len()) as u32;
        for (to, &size) in out.subGroupSizes.iter_mut().zip(&compute.sub_group_sizes) {
            *to = size;
        }
        // SAFETY: the caller's promise.
        if let Some(out) = unsafe { Outputs::of(out) }.find::<ze_device_compute_dotproduct_ext_properties_t>()
        {
            let (stype, next) = (out.stype, out.pNext);
            *out = ze_device_compute_dotproduct_ext_properties_t { stype, pNext: next, ..Default::default() };
        }
    }

    /// `zeDeviceGetModuleProperties`.
    ///
    /// # Safety
    /// The structure's `pNext` is a valid chain.
    pub unsafe fn module_properties(&self, out: &mut ze_device_module_properties_t) {
        let module = &self.profile().module;
        out.spirvVersionSupported = spirv_version(module.spirv_version);
        out.flags = module.flags.bits();
        out.fp16flags = module.fp16.bits();
        out.fp32flags = module.fp32.bits();
        out.fp64flags = module.fp64.bits();
        out.maxArgumentsSize = module.max_arguments_size;
        out.printfBufferSize = module.printf_buffer_size;
        // There is no native format that programs could have modules in.
        out.nativeKernelSupported.id = [0; ZE_MAX_NATIVE_KERNEL_UUID_SIZE as usize];
        // SAFETY: the caller's promise.
        unsafe { Outputs::of(out) }.for_each(|mut link| {
            if let Some(out) = link.get::<ze_float_atomic_ext_properties_t>() {
                out.fp16Flags = module.fp16_atomics.bits();
                out.fp32Flags = module.fp32_atomics.bits();
                out.fp64Flags = module.fp64_atomics.bits();
            } else if let Some(out) = link.get::<ze_device_raytracing_ext_properties_t>() {
                out.flags = 0;
                out.maxBVHLevels = 0;
            } else if let Some(out) = link.get::<ze_scheduling_hint_exp_properties_t>() {
                // Work-groups run to completion, the first first.
                out.schedulingHintFlags = ZE_SCHEDULING_HINT_EXP_FLAG_OLDEST_FIRST;
            }
        });
    }

    /// `zeDeviceGetCommandQueueGroupProperties` for one of the groups.
    ///
    /// # Safety
    /// The structure's `pNext` is a valid chain.
    pub unsafe fn queue_group_properties(
        &self,
        group: QueueGroup,
        out: &mut ze_command_queue_group_properties_t,
    ) {
        (out.flags, out.maxMemoryFillPatternSize) = match group {
            QueueGroup::Compute => (
                ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE
                    | ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY
                    | ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COOPERATIVE_KERNELS,
                usize::MAX,
            ),
            QueueGroup::Copy => (ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY, COPY_PATTERN_BYTES),
        };
        out.numQueues = QUEUES_OF_A_GROUP;
        // SAFETY: the caller's promise.
        if let Some(out) = unsafe { Outputs::of(out) }.find::<ze_copy_bandwidth_exp_properties_t>() {
            out.copyBandwidth = 0;
            out.copyBandwidthUnit = ZE_BANDWIDTH_UNIT_UNKNOWN;
        }
    }

    /// `zeDeviceGetMemoryProperties`: one memory, the host's.
    ///
    /// # Safety
    /// The structure's `pNext` is a valid chain.
    pub unsafe fn memory_properties(&self, out: &mut ze_device_memory_properties_t) {
        let memory = &self.profile().memory;
        out.flags = 0;
        out.maxClockRate = memory.clock_mhz;
        out.maxBusWidth = memory.bus_width;
        out.totalSize = memory.total_size;
        text::write(&mut out.name, &memory.name);
        // SAFETY: the caller's promise.
        unsafe { Outputs::of(out) }.for_each(|mut link| {
            if let Some(out) = link.get::<ze_device_memory_ext_properties_t>() {
                out.type_ = ZE_DEVICE_MEMORY_EXT_TYPE_DDR;
                out.physicalSize = memory.total_size;
                // Transfers at both clock edges; 0 where the clock is not known.
                let bandwidth = u64::from(memory.clock_mhz) * 2 * u64::from(memory.bus_width) / 8 / 1000;
                out.readBandwidth = u32::try_from(bandwidth).unwrap_or(u32::MAX);
                out.writeBandwidth = out.readBandwidth;
                out.bandwidthUnit = ZE_BANDWIDTH_UNIT_BYTES_PER_NANOSEC;
            }
        });
    }

    /// `zeDeviceGetMemoryAccessProperties`: all memory is the host's, and every kind can be used everywhere.
    pub fn memory_access_properties(&self, out: &mut ze_device_memory_access_properties_t) {
        let all = ZE_MEMORY_ACCESS_CAP_FLAG_RW
            | ZE_MEMORY_ACCESS_CAP_FLAG_ATOMIC
            | ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT
            | ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT_ATOMIC;
        out.hostAllocCapabilities = all;
        out.deviceAllocCapabilities = all;
        out.sharedSingleDeviceAllocCapabilities = all;
        out.sharedCrossDeviceAllocCapabilities = all;
        out.sharedSystemAllocCapabilities = all;
    }

    /// Caches that `zeDeviceGetCacheProperties` reports.
    pub fn cache_count(&self) -> u32 {
        self.profile().caches.len() as u32
    }

    /// `zeDeviceGetCacheProperties` for one of them, the largest first, as programs look at the first.
    ///
    /// # Safety
    /// The structure's `pNext` is a valid chain.
    pub unsafe fn cache_properties(&self, index: usize, out: &mut ze_device_cache_properties_t) {
        let profile = self.profile();
        out.flags = 0;
        out.cacheSize = profile.caches.iter().rev().nth(index).map_or(0, |cache| cache.size as usize);
        // SAFETY: the caller's promise.
        if let Some(out) = unsafe { Outputs::of(out) }.find::<ze_device_cache_line_size_ext_t>() {
            out.cacheLineSize = profile.cache_line as usize;
        }
    }

    /// `zeDeviceGetImageProperties`.
    ///
    /// # Safety
    /// The structure's `pNext` is a valid chain.
    pub unsafe fn image_properties(&self, out: &mut ze_device_image_properties_t) {
        let images = &self.profile().images;
        out.maxImageDims1D = images.max_dims_1d;
        out.maxImageDims2D = images.max_dims_2d;
        out.maxImageDims3D = images.max_dims_3d;
        out.maxImageBufferSize = images.max_buffer_size;
        out.maxImageArraySlices = images.max_array_slices;
        out.maxSamplers = images.max_samplers;
        out.maxReadImageArgs = images.max_read_args;
        out.maxWriteImageArgs = images.max_write_args;
        let most = images.max_dims_2d as usize;
        // SAFETY: the caller's promise.
        unsafe { Outputs::of(out) }.for_each(|mut link| {
            if let Some(out) = link.get::<ze_device_pitched_alloc_exp_properties_t>() {
                out.maxImageLinearWidth = most;
                out.maxImageLinearHeight = most;
            } else if let Some(out) = link.get::<ze_pitched_alloc_2dimage_linear_pitch_exp_info_t>() {
                out.pitchAlign = PITCH_ALIGNMENT;
                out.maxSupportedPitch = LARGEST_PITCH;
            }
        });
    }

    /// `zeDeviceGetExternalMemoryProperties`.
    pub fn external_memory_properties(&self, out: &mut ze_device_external_memory_properties_t) {
        out.memoryAllocationImportTypes = external_memory::TYPES;
        out.memoryAllocationExportTypes = external_memory::TYPES;
        let images = self.profile().images.max_dims_1d != 0;
        let of_images = if images { external_memory::TYPES } else { 0 };
        (out.imageImportTypes, out.imageExportTypes) = (of_images, of_images);
    }

    /// `zeDeviceGetP2PProperties`: devices of this driver share the host's memory.
    ///
    /// # Safety
    /// The structure's `pNext` is a valid chain.
    pub unsafe fn p2p_properties(&self, out: &mut ze_device_p2p_properties_t) {
        out.flags = ZE_DEVICE_P2P_PROPERTY_FLAG_ACCESS | ZE_DEVICE_P2P_PROPERTY_FLAG_ATOMICS;
        // SAFETY: the caller's promise.
        if let Some(out) = unsafe { Outputs::of(out) }.find::<ze_device_p2p_bandwidth_exp_properties_t>() {
            out.logicalBandwidth = 0;
            out.physicalBandwidth = 0;
            out.bandwidthUnit = ZE_BANDWIDTH_UNIT_UNKNOWN;
            out.logicalLatency = 0;
            out.physicalLatency = 0;
            out.latencyUnit = ZE_LATENCY_UNIT_UNKNOWN;
        }
    }

    /// `zeDevicePciGetPropertiesExt`: an address, and nothing about the speed of a slot, as there is none.
    pub fn pci_properties(&self, out: &mut ze_pci_ext_properties_t) {
        let [domain, bus, device, function] = self.pci_address();
        out.address = ze_pci_address_ext_t { domain, bus, device, function };
        out.maxSpeed = ze_pci_speed_ext_t {
            genVersion: UNKNOWN_SPEED,
            width: UNKNOWN_SPEED,
            maxBandwidth: UNKNOWN_SPEED.into(),
        };
    }

    /// `zeDeviceGetVectorWidthPropertiesExt`: one entry, the widest vector register.
    pub fn vector_width_properties(&self, out: &mut ze_device_vector_width_properties_ext_t) {
        // Kernels are vectorised over work-items, so a work-item does best with scalars.
        const PREFERRED: u32 = 1;
        let bits = self.profile().topology.simd_width * 32;
        let [char, short, int, long] = [8, 16, 32, 64].map(|width| bits / width);
        out.vector_width_size = bits;
        out.preferred_vector_width_char = PREFERRED;
        out.preferred_vector_width_short = PREFERRED;
        out.preferred_vector_width_int = PREFERRED;
        out.preferred_vector_width_long = PREFERRED;
        out.preferred_vector_width_float = PREFERRED;
        out.preferred_vector_width_double = PREFERRED;
        out.preferred_vector_width_half = PREFERRED;
        out.native_vector_width_char = char;
        out.native_vector_width_short = short;
        out.native_vector_width_int = int;
        out.native_vector_width_long = long;
        out.native_vector_width_float = int;
        out.native_vector_width_double = long;
        out.native_vector_width_half = short;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::{CStr, c_void};
    use ze_extensions::DeviceProfile;

    fn device() -> std::sync::Arc<Device> {
        Device::new(DeviceProfile::host())
    }

    #[test]
    fn properties_and_their_chain_are_those_of_the_profile() {
        let device = device();
        let mut eus = ze_eu_count_ext_t { stype: ZE_STRUCTURE_TYPE_EU_COUNT_EXT, ..Default::default() };
        let mut unknown =
            ze_base_properties_t { stype: ze_structure_type_t(0x0fff_0000), pNext: (&raw mut eus).cast() };
        let mut version = ze_device_ip_version_ext_t {
            stype: ZE_STRUCTURE_TYPE_DEVICE_IP_VERSION_EXT,
            pNext: (&raw mut unknown).cast(),
            ipVersion: 0,
        };
        let mut properties = ze_device_properties_t {
            stype: ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES,
            pNext: (&raw mut version).cast(),
            ..Default::default()
        };
        // SAFETY: the chain is built above.
        unsafe { device.properties(&mut properties) };
        let profile = device.profile();
        let lanes = properties.numSlices
            * properties.numSubslicesPerSlice
            * properties.numEUsPerSubslice
            * properties.numThreadsPerEU
            * properties.physicalEUSimdWidth;
        assert_eq!(u64::from(lanes), profile.topology.lanes());
        assert_eq!(version.ipVersion, profile.ip_version);
        assert_eq!(eus.numTotalEUs, profile.topology.eus());
        assert_eq!(properties.timerResolution, 1);
        // SAFETY: the name is terminated.
        let name = unsafe { CStr::from_ptr(properties.name.as_ptr()) };
        assert_eq!(name.to_str(), Ok(profile.name.as_str()));
    }

    #[test]
    fn the_older_structure_type_asks_for_the_timer_in_hertz() {
        let device = device();
        let stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2;
        let mut properties = ze_device_properties_t { stype, ..Default::default() };
        // SAFETY: there is no chain.
        unsafe { device.properties(&mut properties) };
        assert_eq!(properties.timerResolution, 1_000_000_000);
    }

    #[test]
    fn sub_group_sizes_and_spirv_version_are_packed() {
        let device = device();
        let mut compute = ze_device_compute_properties_t::default();
        // SAFETY: there is no chain.
        unsafe { device.compute_properties(&mut compute) };
        assert_eq!(compute.subGroupSizes[..compute.numSubGroupSizes as usize], [8, 16, 32]);
        assert_eq!(spirv_version([1, 4]), 0x0001_0004);
    }

    #[test]
    fn a_query_that_is_not_initialised_has_no_chain() {
        // As MPI libraries ask: an array of the stack, with whatever was there before.
        let mut groups = [0xa5, 0x5a].map(|byte: u8| {
            let mut group = ze_command_queue_group_properties_t::default();
            // SAFETY: every field can have any value.
            unsafe { (&raw mut group).cast::<u8>().write_bytes(byte, size_of_val(&group)) };
            group
        });
        for group in &mut groups {
            // SAFETY: the structure's type is not its own.
            unsafe { device().queue_group_properties(QueueGroup::Copy, group) };
            assert_eq!(group.numQueues, QUEUES_OF_A_GROUP);
        }
    }

    #[test]
    fn usable_memory_is_not_more_than_there_is() {
        let device = device();
        let mut usable = ze_device_usablemem_size_ext_properties_t {
            stype: ZE_STRUCTURE_TYPE_DEVICE_USABLEMEM_SIZE_EXT_PROPERTIES,
            ..Default::default()
        };
        let mut properties = ze_device_properties_t {
            stype: ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES,
            pNext: (&raw mut usable).cast::<c_void>(),
            ..Default::default()
        };
        // SAFETY: the chain is built above.
        unsafe { device.properties(&mut properties) };
        assert!(
            usable.currUsableMemSize > 0 && usable.currUsableMemSize <= device.profile().memory.total_size
        );
    }
}
