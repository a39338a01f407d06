//! Wrong modules, names, sizes and handles: an error code and a reason, and no crash.

use std::ptr;

use ze_headers::*;
use ze_tests::{CommandList, EventPool, ListOptions, Local, Module, Random, platform, spirv};

/// Word of the SPIR-V header that bounds the ids.
const BOUND_WORD: usize = 3;

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect()
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// An instruction of an opcode and its operands.
fn instruction(opcode: u32, operands: &[u32]) -> Vec<u32> {
    let mut words = vec![(operands.len() as u32 + 1) << 16 | opcode];
    words.extend(operands);
    words
}

#[track_caller]
fn rejected(module: &[u8], codes: &[ze_result_t]) -> String {
    let Err(error) = Module::new(module) else { panic!("the module is accepted") };
    assert!(codes.contains(&error.code), "{error:?}");
    assert!(!error.reason.is_empty(), "no reason for {:?}", error.code);
    error.reason
}

const BUILD_FAILURE: &[ze_result_t] = &[ZE_RESULT_ERROR_MODULE_BUILD_FAILURE];

#[test]
fn an_empty_module_is_rejected() {
    let Err(error) = Module::new(&[]) else { panic!("the module is accepted") };
    assert!(
        [ZE_RESULT_ERROR_INVALID_SIZE, ZE_RESULT_ERROR_MODULE_BUILD_FAILURE].contains(&error.code),
        "{error:?}"
    );
    assert!(!error.reason.is_empty());
}

#[test]
fn a_kernel_of_too_much_code_is_rejected_with_a_number() {
    let pattern =
        ze_tests::scale::PATTERNS.iter().find(|pattern| pattern.name == "insertions into a wide array");
    let reason = rejected(&(pattern.expect("a pattern").module)(20_000), BUILD_FAILURE);
    assert!(reason.contains("'main'") && reason.contains("are supported"), "{reason}");
}

#[test]
fn a_truncated_module_is_rejected_wherever_it_ends() {
    let module = spirv("reduction");
    for length in (1..module.len()).step_by(7).chain([4, 8, 16, 20, module.len() - 4, module.len() - 1]) {
        rejected(&module[..length], &[ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, ZE_RESULT_ERROR_INVALID_SIZE]);
    }
}

#[test]
fn a_wrong_magic_number_is_rejected() {
    let mut module = spirv("saxpy");
    module[0] ^= 1;
    rejected(&module, BUILD_FAILURE);
    rejected(b"\x7fELF and so on, which is not SPIR-V at all", BUILD_FAILURE);
}

#[test]
fn an_unknown_version_is_rejected() {
    let mut module = words(&spirv("saxpy"));
    for version in [0x0009_0900, 0xffff_ffff] {
        module[1] = version;
        rejected(&bytes(&module), BUILD_FAILURE);
    }
}

#[test]
fn a_huge_id_bound_does_not_exhaust_memory() {
    let mut module = words(&spirv("saxpy"));
    module[BOUND_WORD] = u32::MAX;
    // Legal, if useless: the ids below the bound need not exist.
    if let Err(error) = Module::new(&bytes(&module)) {
        assert!(!error.reason.is_empty());
    }
}

#[test]
fn unknown_and_unsupported_capabilities_are_rejected_by_name() {
    let module = words(&spirv("saxpy"));
    for (capability, name) in [(9999, "9999"), (1, "Shader"), (4479, "RayTracing")] {
        let mut with = module[..5].to_vec();
        with.extend(instruction(17, &[capability]));
        with.extend(&module[5..]);
        let reason = rejected(&bytes(&with), BUILD_FAILURE);
        assert!(reason.contains(name), "{reason}");
    }
}

#[test]
fn an_unknown_extension_is_rejected_by_name() {
    let module = words(&spirv("saxpy"));
    let name = b"SPV_NOBODY_has_this\0";
    // Behind the capabilities.
    let at = (5..).scan(5, |at, _| {
        let here = *at;
        *at += (module[here] >> 16) as usize;
        Some(here)
    });
    let at = at.into_iter().find(|&at| module[at] & 0xffff != 17).unwrap();
    let mut with = module[..at].to_vec();
    with.extend(instruction(10, &words(name)));
    with.extend(&module[at..]);
    let reason = rejected(&bytes(&with), BUILD_FAILURE);
    assert!(reason.contains("SPV_NOBODY_has_this"), "{reason}");
}

#[test]
fn an_unknown_instruction_is_rejected() {
    let mut module = words(&spirv("saxpy"));
    module.extend(instruction(4000, &[1, 2, 3]));
    rejected(&bytes(&module), BUILD_FAILURE);
}

#[test]
fn flipped_bits_never_crash() {
    let module = spirv("reduction");
    let mut random = Random::new(2);
    for _ in 0..500 {
        let mut flipped = module.clone();
        let bit = random.below(8 * module.len() as u32) as usize;
        flipped[bit / 8] ^= 1 << (bit % 8);
        if let Err(error) = Module::new(&flipped) {
            assert!(!error.reason.is_empty(), "bit {bit}: {:?} without a reason", error.code);
        }
    }
}

#[test]
fn native_binaries_of_others_are_rejected() {
    let platform = platform();
    let data = spirv("saxpy");
    let desc = ze_module_desc_t {
        stype: ZE_STRUCTURE_TYPE_MODULE_DESC,
        format: ZE_MODULE_FORMAT_NATIVE,
        inputSize: data.len(),
        pInputModule: data.as_ptr(),
        ..Default::default()
    };
    let mut module = ptr::null_mut();
    // SAFETY: live handles and data.
    let code = unsafe {
        platform.api.zeModuleCreate(platform.context, platform.device, &desc, &mut module, ptr::null_mut())
    };
    assert!(
        [
            ZE_RESULT_ERROR_INVALID_NATIVE_BINARY,
            ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
            ZE_RESULT_ERROR_MODULE_BUILD_FAILURE
        ]
        .contains(&code),
        "{}",
        ze_tests::platform::result_name(code)
    );
}

#[test]
fn a_missing_kernel_is_named() {
    let module = Module::named("saxpy");
    for name in ["nothing", "", "SAXPY", "saxpy "] {
        let Err(error) = module.try_kernel(name) else { panic!("kernel {name:?} is there") };
        assert_eq!(error.code, ZE_RESULT_ERROR_INVALID_KERNEL_NAME, "{name:?}");
        assert!(!error.reason.is_empty());
    }
}

#[test]
fn wrong_argument_indices_and_sizes_are_rejected() {
    let module = Module::named("saxpy");
    let kernel = module.kernel("saxpy");
    let value = [0u8; 16];
    for index in [4, 100, u32::MAX] {
        let error = kernel.set_bytes(index, &value[..4]).unwrap_err();
        assert_eq!(error.code, ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX, "index {index}");
        assert!(!error.reason.is_empty());
    }
    for (index, size) in [(0, 0), (0, 3), (0, 8), (1, 4), (1, 16), (3, 3), (3, 16)] {
        let error = kernel.set_bytes(index, &value[..size]).unwrap_err();
        assert_eq!(
            error.code, ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE,
            "argument {index} of {size} bytes"
        );
        assert!(!error.reason.is_empty());
    }
}

#[test]
fn too_much_local_memory_is_rejected() {
    let limit = platform().compute_properties().unwrap().maxSharedLocalMemory as usize;
    let module = Module::named("reduction");
    let kernel = module.kernel("reduce_float");
    let n = 16u32;
    let (input, partial) = (platform().filled(0.0f32, 16), platform().filled(0.0f32, 1));
    let Err(error) = kernel.try_run([1, 1, 1], [16, 1, 1], &[&input, &partial, &Local(limit + 64), &n])
    else {
        panic!("{} bytes are accepted", limit + 64)
    };
    assert!(!error.reason.is_empty(), "{error:?}");
}

#[test]
fn a_launch_with_unset_arguments_is_rejected() {
    let module = Module::named("saxpy");
    let kernel = module.kernel("saxpy");
    kernel.set_group_size([1, 1, 1]).unwrap();
    let list = CommandList::immediate(ListOptions::synchronous()).unwrap();
    let Err(error) = list.launch(&kernel, [1, 1, 1], None, &[]) else { panic!("the launch is accepted") };
    assert!(!error.reason.is_empty(), "{error:?}");
}

/// Calls with a null handle, each with a function of one object type.
#[test]
fn null_handles_are_rejected() {
    let api = &platform().api;
    let mut count = 0u32;
    let mut handle = ptr::null_mut();
    // SAFETY: null handles are what is tested; everything else is valid.
    let codes = unsafe {
        [
            ("zeDeviceGet", api.zeDeviceGet(ptr::null_mut(), &mut count, ptr::null_mut())),
            (
                "zeDeviceGetSubDevices",
                api.zeDeviceGetSubDevices(ptr::null_mut(), &mut count, ptr::null_mut()),
            ),
            ("zeContextDestroy", api.zeContextDestroy(ptr::null_mut())),
            ("zeCommandQueueDestroy", api.zeCommandQueueDestroy(ptr::null_mut())),
            ("zeCommandListClose", api.zeCommandListClose(ptr::null_mut())),
            (
                "zeCommandListAppendBarrier",
                api.zeCommandListAppendBarrier(ptr::null_mut(), ptr::null_mut(), 0, ptr::null_mut()),
            ),
            ("zeFenceQueryStatus", api.zeFenceQueryStatus(ptr::null_mut())),
            ("zeEventPoolDestroy", api.zeEventPoolDestroy(ptr::null_mut())),
            ("zeEventHostSignal", api.zeEventHostSignal(ptr::null_mut())),
            ("zeModuleDestroy", api.zeModuleDestroy(ptr::null_mut())),
            ("zeKernelSetGroupSize", api.zeKernelSetGroupSize(ptr::null_mut(), 1, 1, 1)),
            ("zeMemFree", api.zeMemFree(ptr::null_mut(), ptr::null_mut())),
            ("zeMemAllocHost", api.zeMemAllocHost(ptr::null_mut(), ptr::null(), 1, 1, &mut handle)),
        ]
    };
    for (function, code) in codes {
        assert_eq!(
            code,
            ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
            "{function}: {}",
            ze_tests::platform::result_name(code)
        );
    }
}

#[test]
fn null_pointers_are_rejected() {
    let platform = platform();
    let api = &platform.api;
    let module = Module::named("saxpy");
    // SAFETY: null pointers are what is tested; the handles are live.
    let codes = unsafe {
        [
            ("zeDeviceGet", api.zeDeviceGet(platform.driver, ptr::null_mut(), ptr::null_mut())),
            ("zeDeviceGetProperties", api.zeDeviceGetProperties(platform.device, ptr::null_mut())),
            ("zeContextCreate", api.zeContextCreate(platform.driver, ptr::null(), ptr::null_mut())),
            (
                "zeModuleCreate",
                api.zeModuleCreate(
                    platform.context,
                    platform.device,
                    ptr::null(),
                    ptr::null_mut(),
                    ptr::null_mut(),
                ),
            ),
            ("zeKernelCreate", api.zeKernelCreate(module.handle, ptr::null(), ptr::null_mut())),
            ("zeMemAllocHost", api.zeMemAllocHost(platform.context, ptr::null(), 1, 1, ptr::null_mut())),
        ]
    };
    for (function, code) in codes {
        assert_eq!(
            code,
            ZE_RESULT_ERROR_INVALID_NULL_POINTER,
            "{function}: {}",
            ze_tests::platform::result_name(code)
        );
    }
}

#[test]
fn handles_of_other_types_are_rejected_with_a_reason() {
    let platform = platform();
    let api = &platform.api;
    let module = Module::named("saxpy");
    let pool = EventPool::host_visible(1);
    let event = pool.event(0);
    let list = CommandList::immediate(ListOptions::synchronous()).unwrap();
    let checks: [(&str, &dyn Fn() -> ze_result_t); 5] = [
        // SAFETY: a handle of another type is what is tested.
        ("an event as a command list", &|| unsafe { api.zeCommandListClose(event.handle.cast()) }),
        // SAFETY: a handle of another type is what is tested.
        ("a module as an event", &|| unsafe { api.zeEventHostSignal(module.handle.cast()) }),
        // SAFETY: a handle of another type is what is tested.
        ("a list as a kernel", &|| unsafe { api.zeKernelSetGroupSize(list.handle.cast(), 1, 1, 1) }),
        // SAFETY: a handle of another type is what is tested.
        ("a device as a context", &|| unsafe { api.zeMemFree(platform.device.cast(), ptr::null_mut()) }),
        // SAFETY: a handle of another type is what is tested.
        ("a context as a module", &|| unsafe { api.zeModuleDestroy(platform.context.cast()) }),
    ];
    for (what, call) in checks {
        let code = call();
        assert_eq!(
            code,
            ZE_RESULT_ERROR_INVALID_ARGUMENT,
            "{what}: {}",
            ze_tests::platform::result_name(code)
        );
        if api.has("zeDriverGetLastErrorDescription") {
            assert!(!platform.last_error().is_empty(), "{what}: no reason");
        }
    }
}

#[test]
fn destroyed_handles_are_rejected() {
    let api = &platform().api;
    let pool = EventPool::host_visible(1);
    let event = pool.event(0);
    let handle = event.handle;
    drop(event);
    // SAFETY: a destroyed handle is what is tested.
    let code = unsafe { api.zeEventHostSignal(handle) };
    assert_eq!(code, ZE_RESULT_ERROR_INVALID_ARGUMENT, "{}", ze_tests::platform::result_name(code));
}

#[test]
fn memory_that_was_never_allocated_cannot_be_freed() {
    let platform = platform();
    let local = 0u64;
    // SAFETY: the driver looks the address up and nothing else.
    let code = unsafe { platform.api.zeMemFree(platform.context, ptr::from_ref(&local).cast_mut().cast()) };
    assert_eq!(code, ZE_RESULT_ERROR_INVALID_ARGUMENT, "{}", ze_tests::platform::result_name(code));
}

#[test]
fn absurd_allocations_are_rejected() {
    for (bytes, alignment) in [(0usize, 0usize), (usize::MAX, 0), (1 << 62, 64)] {
        let Err(error) = platform().allocate(ze_tests::MemoryKind::Device, bytes, alignment) else {
            panic!("{bytes} bytes are allocated")
        };
        assert!(
            [
                ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
                ZE_RESULT_ERROR_INVALID_SIZE,
                ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY
            ]
            .contains(&error.code),
            "{error:?}"
        );
    }
    let Err(error) = platform().allocate(ze_tests::MemoryKind::Host, 64, 3) else {
        panic!("an alignment of 3 is accepted")
    };
    assert_eq!(error.code, ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT, "{error:?}");
}

#[test]
fn misuse_of_command_lists_is_rejected() {
    let regular = CommandList::regular(false).unwrap();
    regular.close().unwrap();
    regular.barrier(None, &[]).expect("what is appended to a closed list is not executed");
    let queue = ze_tests::Queue::new(ListOptions::synchronous()).unwrap();
    let open = CommandList::regular(false).unwrap();
    let Err(error) = queue.execute(&[&open], None) else { panic!("an open list is executed") };
    assert!(!error.reason.is_empty(), "{error:?}");
    let immediate = CommandList::immediate(ListOptions::synchronous()).unwrap();
    let Err(error) = queue.execute(&[&immediate], None) else { panic!("an immediate list is executed") };
    assert!(!error.reason.is_empty(), "{error:?}");
}

#[test]
fn specialization_constants_without_arrays_are_rejected() {
    let platform = platform();
    let data = spirv("saxpy");
    let (ids, values) = ([7u32], [ptr::null::<std::ffi::c_void>()]);
    for (ids, values) in [
        (ptr::null(), ptr::null_mut()),
        (ids.as_ptr(), ptr::null_mut()),
        (ptr::null(), values.as_ptr().cast_mut()),
        (ids.as_ptr(), values.as_ptr().cast_mut()),
    ] {
        let constants = ze_module_constants_t { numConstants: 1, pConstantIds: ids, pConstantValues: values };
        let desc = ze_module_desc_t {
            stype: ZE_STRUCTURE_TYPE_MODULE_DESC,
            format: ZE_MODULE_FORMAT_IL_SPIRV,
            inputSize: data.len(),
            pInputModule: data.as_ptr(),
            pConstants: &constants,
            ..Default::default()
        };
        let mut module = ptr::null_mut();
        // SAFETY: live handles and data; null arrays are what is tested.
        let code = unsafe {
            platform.api.zeModuleCreate(
                platform.context,
                platform.device,
                &desc,
                &mut module,
                ptr::null_mut(),
            )
        };
        assert_eq!(code, ZE_RESULT_ERROR_INVALID_NULL_POINTER, "{}", ze_tests::platform::result_name(code));
    }
}

#[test]
fn nowhere_to_write_a_pointer_is_seen_before_memory_is_allocated() {
    let platform = platform();
    let device =
        ze_device_mem_alloc_desc_t { stype: ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, ..Default::default() };
    let host =
        ze_host_mem_alloc_desc_t { stype: ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, ..Default::default() };
    // No allocation has 0 bytes: were it tried, that would be the error.
    // SAFETY: null pointers are what is tested; everything else is valid.
    let codes = unsafe {
        let (api, context) = (&platform.api, platform.context);
        [
            api.zeMemAllocHost(context, &host, 0, 0, ptr::null_mut()),
            api.zeMemAllocDevice(context, &device, 0, 0, platform.device, ptr::null_mut()),
            api.zeMemAllocShared(context, &device, &host, 0, 0, platform.device, ptr::null_mut()),
        ]
    };
    assert_eq!(codes, [ZE_RESULT_ERROR_INVALID_NULL_POINTER; 3]);
}

#[test]
fn the_default_context_cannot_be_destroyed() {
    let platform = platform();
    // SAFETY: a live driver, and its own context.
    unsafe {
        let context = platform.api.zeDriverGetDefaultContext(platform.driver);
        assert!(!context.is_null());
        assert_eq!(platform.api.zeContextDestroy(context), ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
        assert_eq!(platform.api.zeContextGetStatus(context), ZE_RESULT_SUCCESS);
        assert_eq!(platform.api.zeDriverGetDefaultContext(platform.driver), context);
    }
}

#[test]
fn products_beyond_64_bits_are_rejected() {
    let module = Module::named("empty");
    let kernel = module.kernel(&module.kernel_names().unwrap()[0]);
    let error = kernel.set_group_size([u32::MAX; 3]).unwrap_err();
    assert_eq!(error.code, ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION, "{error:?}");
    kernel.set_group_size([1; 3]).unwrap();
    let list = CommandList::immediate(ListOptions::synchronous()).unwrap();
    // 2^64 work-groups.
    let count = ze_group_count_t { groupCountX: 1 << 31, groupCountY: 1 << 31, groupCountZ: 4 };
    // SAFETY: live handles.
    let code = unsafe {
        platform().api.zeCommandListAppendLaunchCooperativeKernel(
            list.handle,
            kernel.handle,
            &count,
            ptr::null_mut(),
            0,
            ptr::null_mut(),
        )
    };
    assert_eq!(
        code,
        ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION,
        "{}",
        ze_tests::platform::result_name(code)
    );
}

#[test]
fn an_argument_of_an_absurd_size_is_rejected() {
    let module = Module::named("saxpy");
    let kernel = module.kernel("saxpy");
    let value = [0u8; 8];
    for size in [usize::MAX, isize::MAX as usize + 1] {
        // SAFETY: a live kernel; the size is seen to be wrong before the value is looked at.
        let code =
            unsafe { platform().api.zeKernelSetArgumentValue(kernel.handle, 0, size, value.as_ptr().cast()) };
        assert_eq!(
            code,
            ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE,
            "{}",
            ze_tests::platform::result_name(code)
        );
    }
}
