//! What driver and device say of themselves.

use std::fs;
use std::ptr;

use ze_headers::*;
use ze_tests::platform;

#[test]
fn the_device_is_a_gpu_with_this_processor_s_name() {
    let properties = platform().device_properties().unwrap();
    assert_eq!(properties.type_, ZE_DEVICE_TYPE_GPU);
    assert_eq!(properties.vendorId, 0x8086);
    let name = platform().device_name().unwrap();
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap();
    let model = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map(|(_, model)| model);
    assert!(model.is_none_or(|model| name.contains(model.trim())), "{name:?} does not name {model:?}");
}

#[test]
fn sub_slices_are_the_cores_of_the_processor() {
    let p = platform().device_properties().unwrap();
    let threads = p.numSlices * p.numSubslicesPerSlice * p.numThreadsPerEU;
    let cpus = std::thread::available_parallelism().unwrap().get() as u32;
    assert_eq!(threads, cpus, "hardware threads");
    // Programs divide the number of units by 8 and by 16.
    assert_eq!(p.numEUsPerSubslice, 16);
    assert!([4, 8, 16].contains(&p.physicalEUSimdWidth), "{}", p.physicalEUSimdWidth);
}

#[test]
fn group_limits_and_sub_group_sizes_are_usable() {
    let p = platform().compute_properties().unwrap();
    assert!(p.maxTotalGroupSize >= 256 && p.maxGroupSizeX >= 256);
    assert!(p.maxSharedLocalMemory >= 32 * 1024);
    assert_eq!(platform().sub_group_sizes().unwrap(), [8, 16, 32]);
}

#[test]
fn spirv_is_accepted_in_the_version_that_compilers_write() {
    let mut properties = ze_device_module_properties_t {
        stype: ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES,
        ..Default::default()
    };
    // SAFETY: a live device and a structure of the announced type.
    let code = unsafe { platform().api.zeDeviceGetModuleProperties(platform().device, &mut properties) };
    platform().check("zeDeviceGetModuleProperties", code).unwrap();
    assert!(properties.spirvVersionSupported >= 0x0001_0006, "{:#x}", properties.spirvVersionSupported);
    assert_ne!(properties.flags & ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS, 0);
    assert!(properties.maxArgumentsSize >= 1024);
}

#[test]
fn memory_is_this_machine_s() {
    let platform = platform();
    let blank = ze_device_memory_properties_t {
        stype: ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES,
        ..Default::default()
    };
    // SAFETY: a live device, and room for as many structures as are asked for.
    let memories = platform.listed("zeDeviceGetMemoryProperties", blank, |count, memories| unsafe {
        platform.api.zeDeviceGetMemoryProperties(platform.device, count, memories)
    });
    let memories = memories.unwrap();
    let total: u64 = memories.iter().map(|memory| memory.totalSize).sum();
    let info = fs::read_to_string("/proc/meminfo").unwrap();
    let kibibytes: u64 = info
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB")?.parse().ok())
        .unwrap();
    assert!(total > 0 && total <= kibibytes * 1024, "{total} bytes of {kibibytes} KiB");
}

#[test]
fn all_kinds_of_memory_can_be_used() {
    let mut properties = ze_device_memory_access_properties_t {
        stype: ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES,
        ..Default::default()
    };
    // SAFETY: a live device and a structure of the announced type.
    let code =
        unsafe { platform().api.zeDeviceGetMemoryAccessProperties(platform().device, &mut properties) };
    platform().check("zeDeviceGetMemoryAccessProperties", code).unwrap();
    let both = ZE_MEMORY_ACCESS_CAP_FLAG_RW | ZE_MEMORY_ACCESS_CAP_FLAG_ATOMIC;
    for capabilities in [
        properties.hostAllocCapabilities,
        properties.deviceAllocCapabilities,
        properties.sharedSingleDeviceAllocCapabilities,
    ] {
        assert_eq!(capabilities & both, both);
    }
}

#[test]
fn a_queue_group_computes_and_copies() {
    let platform = platform();
    let blank = ze_command_queue_group_properties_t {
        stype: ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES,
        ..Default::default()
    };
    // SAFETY: a live device, and room for as many structures as are asked for.
    let groups = platform.listed("zeDeviceGetCommandQueueGroupProperties", blank, |count, groups| unsafe {
        platform.api.zeDeviceGetCommandQueueGroupProperties(platform.device, count, groups)
    });
    let groups = groups.unwrap();
    let both = ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE | ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY;
    assert!(
        groups[0].flags & both == both && groups[0].numQueues > 0 && groups[0].maxMemoryFillPatternSize >= 16
    );
}

#[test]
fn the_driver_names_its_extensions() {
    let extensions = platform().extensions().unwrap();
    assert!(extensions.iter().any(|(name, _)| name == "ZE_experimental_global_offset"), "{extensions:?}");
    assert!(extensions.iter().all(|(_, version)| *version != 0));
}

#[test]
fn a_translation_that_fails_is_no_identifier() {
    let platform = platform();
    // SAFETY: a live device, then null.
    unsafe {
        let identifier = platform.api.zerTranslateDeviceHandleToIdentifier(platform.device);
        assert_eq!(platform.api.zerTranslateIdentifierToDeviceHandle(identifier), platform.device);
        assert_eq!(platform.api.zerTranslateDeviceHandleToIdentifier(ptr::null_mut()), u32::MAX);
    }
}

#[test]
fn chained_structures_are_filled_by_the_query_that_they_belong_to() {
    let platform = platform();
    let mut hints = ze_scheduling_hint_exp_properties_t {
        stype: ZE_STRUCTURE_TYPE_SCHEDULING_HINT_EXP_PROPERTIES,
        schedulingHintFlags: u32::MAX,
        ..Default::default()
    };
    let mut dot_product = ze_device_compute_dotproduct_ext_properties_t {
        stype: ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_DOTPRODUCT_EXT_PROPERTIES,
        dp_caps: u32::MAX,
        dpas_input_types: u32::MAX,
        ..Default::default()
    };
    let mut module = ze_device_module_properties_t {
        stype: ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES,
        pNext: ptr::from_mut(&mut hints).cast(),
        ..Default::default()
    };
    let mut compute = ze_device_compute_properties_t {
        stype: ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES,
        pNext: ptr::from_mut(&mut dot_product).cast(),
        ..Default::default()
    };
    // SAFETY: a live device and structures of the announced types.
    unsafe {
        let code = platform.api.zeDeviceGetModuleProperties(platform.device, &mut module);
        platform.check("zeDeviceGetModuleProperties", code).unwrap();
        let code = platform.api.zeDeviceGetComputeProperties(platform.device, &mut compute);
        platform.check("zeDeviceGetComputeProperties", code).unwrap();
    }
    assert_eq!(hints.schedulingHintFlags, ZE_SCHEDULING_HINT_EXP_FLAG_OLDEST_FIRST);
    assert_eq!(
        (dot_product.dp_caps, dot_product.dpas_input_types),
        (0, 0),
        "no bit of them stands for what kernels can do"
    );
    assert!(compute.numSubGroupSizes > 0);
}

#[test]
fn experimental_functions_and_extensions_are_found_by_name() {
    let platform = platform();
    let address = |name: &std::ffi::CStr| {
        let mut address = ptr::null_mut();
        // SAFETY: a live driver, a C string and a place for the address.
        let code = unsafe {
            platform.api.zeDriverGetExtensionFunctionAddress(platform.driver, name.as_ptr(), &mut address)
        };
        platform.check("zeDriverGetExtensionFunctionAddress", code).map(|()| address)
    };
    for name in [
        c"zeCommandListAppendHostFunction",
        c"zeKernelSetGlobalOffsetExp",
        c"zeKernelSchedulingHintExp",
        c"zeEventQueryTimestampsExp",
        c"zeCommandListImmediateAppendCommandListsExp",
        c"zeCommandListCreateCloneExp",
        c"zeMemFreeExt",
        c"zeImageGetDeviceOffsetExp",
        c"zeMemGetPitchFor2dImage",
        c"zeCommandQueueGetOrdinal",
    ] {
        assert!(!address(name).unwrap().is_null(), "{name:?}");
    }
    // Not implemented, no extension, no function.
    for name in [c"zeGraphCreateExq", c"zeRTASBuilderCreateExp", c"zeInit", c""] {
        assert_eq!(address(name).unwrap_err().code, ZE_RESULT_ERROR_INVALID_ARGUMENT, "{name:?}");
    }
    type SetGlobalOffset = unsafe extern "C" fn(ze_kernel_handle_t, u32, u32, u32) -> ze_result_t;
    let function = address(c"zeKernelSetGlobalOffsetExp").unwrap();
    // SAFETY: the function's own type; null is no kernel.
    let code = unsafe { std::mem::transmute::<*mut _, SetGlobalOffset>(function)(ptr::null_mut(), 0, 0, 0) };
    assert_eq!(code, ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
}
