//! What objects say of themselves, and functions that are other forms of those that other tests use.

use std::ffi::CStr;
use std::ptr::{null, null_mut};

use ze_headers::*;
use ze_tests::images::{format, image_desc};
use ze_tests::loader::{Api, driver_path};
use ze_tests::{CommandList, EventPool, Image, ListOptions, MemoryKind, Module, Queue, platform, spirv};

const FOREVER: u64 = u64::MAX;

fn api() -> &'static Api {
    &platform().api
}

#[track_caller]
fn done(code: ze_result_t) {
    assert_eq!(code, ZE_RESULT_SUCCESS, "{}", platform().last_error());
}

#[test]
fn a_driver_has_a_version_and_properties() {
    let driver = platform().driver;
    let (mut version, mut count) = (ze_api_version_t(0), 0);
    let mut properties =
        ze_driver_properties_t { stype: ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES, ..Default::default() };
    let mut ipc =
        ze_driver_ipc_properties_t { stype: ZE_STRUCTURE_TYPE_DRIVER_IPC_PROPERTIES, ..Default::default() };
    let mut kinds = ze_init_driver_type_desc_t {
        stype: ZE_STRUCTURE_TYPE_INIT_DRIVER_TYPE_DESC,
        flags: ZE_INIT_DRIVER_TYPE_FLAG_GPU,
        ..Default::default()
    };
    let own = Api::open(&driver_path()).expect("the driver is open already");
    // SAFETY: a live driver, and structures of the announced types.
    unsafe {
        done(api().zeDriverGetApiVersion(driver, &mut version));
        done(api().zeDriverGetProperties(driver, &mut properties));
        done(api().zeDriverGetIpcProperties(driver, &mut ipc));
        done(own.zeInitDrivers(&mut count, null_mut(), &mut kinds));
        kinds.flags = 0;
        let code = own.zeInitDrivers(&mut count, null_mut(), &mut kinds);
        assert_eq!(code, ZE_RESULT_ERROR_INVALID_ENUMERATION);
    }
    assert_eq!(version.0, ZE_API_VERSION_CURRENT.0);
    assert!(properties.driverVersion != 0 && properties.uuid.id != [0; 16]);
    assert_eq!(ipc.flags, ZE_IPC_PROPERTY_FLAG_MEMORY | ZE_IPC_PROPERTY_FLAG_EVENT_POOL);
    assert_eq!(count, 1);
}

#[test]
fn a_device_describes_its_caches_its_memory_and_its_peers() {
    let device = platform().device;
    let mut memory = ze_device_external_memory_properties_t {
        stype: ZE_STRUCTURE_TYPE_DEVICE_EXTERNAL_MEMORY_PROPERTIES,
        ..Default::default()
    };
    let mut peer =
        ze_device_p2p_properties_t { stype: ZE_STRUCTURE_TYPE_DEVICE_P2P_PROPERTIES, ..Default::default() };
    let (mut caches, mut widths, mut access, mut root) = (0, 0, 0, 1 as ze_device_handle_t);
    // SAFETY: a live device, and structures of the announced types.
    unsafe {
        done(api().zeDeviceGetCacheProperties(device, &mut caches, null_mut()));
        done(api().zeDeviceGetVectorWidthPropertiesExt(device, &mut widths, null_mut()));
        done(api().zeDeviceGetExternalMemoryProperties(device, &mut memory));
        done(api().zeDeviceGetP2PProperties(device, device, &mut peer));
        done(api().zeDeviceCanAccessPeer(device, device, &mut access));
        done(api().zeDeviceGetRootDevice(device, &mut root));
        done(api().zeDeviceGetStatus(device));
        done(api().zeDeviceSynchronize(device));
    }
    assert!(caches > 0 && widths > 0);
    assert_ne!(memory.memoryAllocationExportTypes & ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF, 0);
    assert_eq!((access, root), (1, null_mut()), "a device reaches its own memory, and this one has no root");
}

#[test]
fn a_context_can_be_made_for_devices() {
    let (driver, mut devices, mut context) = (platform().driver, [platform().device], null_mut());
    let desc = ze_context_desc_t { stype: ZE_STRUCTURE_TYPE_CONTEXT_DESC, ..Default::default() };
    let memory = platform().filled(0u8, 100);
    // SAFETY: live handles.
    unsafe {
        done(api().zeContextCreateEx(driver, &desc, 1, devices.as_mut_ptr(), &mut context));
        done(api().zeContextDestroy(context));
        let (context, device) = (platform().context, platform().device);
        done(api().zeContextMakeMemoryResident(context, device, memory.pointer().cast(), 100));
        done(api().zeContextEvictMemory(context, device, memory.pointer().cast(), 100));
        let default = api().zerGetDefaultContext();
        assert!(!default.is_null() && default == api().zeDriverGetDefaultContext(driver));
        let mut text = null();
        done(api().zerGetLastErrorDescription(&mut text));
        assert!(CStr::from_ptr(text).to_str().is_ok());
    }
}

#[test]
fn queues_and_lists_say_how_they_were_made() {
    let desc = ze_command_queue_desc_t {
        stype: ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
        ordinal: 1,
        flags: ZE_COMMAND_QUEUE_FLAG_IN_ORDER,
        mode: ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS,
        priority: ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH,
        ..Default::default()
    };
    let regular = CommandList::regular(true).unwrap();
    let (platform, mut queue, mut list) = (platform(), null_mut(), null_mut());
    let (mut ordinal, mut index, mut flags) = ([9; 3], [9; 2], [9; 4]);
    let (mut mode, mut priority) = ([ze_command_queue_mode_t(9); 2], [ze_command_queue_priority_t(9); 2]);
    let (mut immediate, mut device, mut context) = ([9; 2], null_mut(), null_mut());
    // SAFETY: live handles.
    unsafe {
        done(api().zeCommandListCreateImmediate(platform.context, platform.device, &desc, &mut list));
        let desc = ze_command_queue_desc_t { flags: ZE_COMMAND_QUEUE_FLAG_EXPLICIT_ONLY, ..desc };
        done(api().zeCommandQueueCreate(platform.context, platform.device, &desc, &mut queue));
        done(api().zeCommandQueueGetOrdinal(queue, &mut ordinal[0]));
        done(api().zeCommandListGetOrdinal(list, &mut ordinal[1]));
        done(api().zeCommandListGetOrdinal(regular.handle, &mut ordinal[2]));
        done(api().zeCommandQueueGetIndex(queue, &mut index[0]));
        done(api().zeCommandListImmediateGetIndex(list, &mut index[1]));
        done(api().zeCommandQueueGetFlags(queue, &mut flags[0]));
        done(api().zeCommandListImmediateGetFlags(list, &mut flags[1]));
        done(api().zeCommandListGetFlags(list, &mut flags[2]));
        done(api().zeCommandListGetFlags(regular.handle, &mut flags[3]));
        done(api().zeCommandQueueGetMode(queue, &mut mode[0]));
        done(api().zeCommandListImmediateGetMode(list, &mut mode[1]));
        done(api().zeCommandQueueGetPriority(queue, &mut priority[0]));
        done(api().zeCommandListImmediateGetPriority(list, &mut priority[1]));
        done(api().zeCommandListIsImmediate(list, &mut immediate[0]));
        done(api().zeCommandListIsImmediate(regular.handle, &mut immediate[1]));
        done(api().zeCommandListGetDeviceHandle(list, &mut device));
        done(api().zeCommandListGetContextHandle(list, &mut context));
        done(api().zeCommandListDestroy(list));
        done(api().zeCommandQueueDestroy(queue));
    }
    assert_eq!((ordinal, index), ([1, 1, 0], [0, 0]));
    assert_eq!(
        flags,
        [
            ZE_COMMAND_QUEUE_FLAG_EXPLICIT_ONLY,
            ZE_COMMAND_QUEUE_FLAG_IN_ORDER,
            ZE_COMMAND_LIST_FLAG_IN_ORDER,
            ZE_COMMAND_LIST_FLAG_IN_ORDER,
        ]
    );
    assert_eq!(mode, [ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS; 2]);
    assert_eq!(priority, [ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH; 2]);
    assert_eq!((immediate, device, context), ([1, 0], platform.device, platform.context));
}

#[test]
fn events_say_how_they_were_made_and_when_their_command_ran() {
    let flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP;
    let pool = EventPool::new(1, flags).unwrap();
    let event = pool.event(0);
    let list = CommandList::immediate(ListOptions::synchronous()).unwrap();
    list.signal_event(&event).unwrap();
    let (mut of_pool, mut scopes, mut own_pool, mut context) = (0, [0; 2], null_mut(), null_mut());
    let (mut times, mut device, mut host) = (
        ze_kernel_timestamp_result_t::default(),
        ze_kernel_timestamp_result_t::default(),
        ze_synchronized_timestamp_result_ext_t::default(),
    );
    let mut results = ze_event_query_kernel_timestamps_results_ext_properties_t {
        stype: ZE_STRUCTURE_TYPE_EVENT_QUERY_KERNEL_TIMESTAMPS_RESULTS_EXT_PROPERTIES,
        pKernelTimestampsBuffer: &mut device,
        pSynchronizedTimestampsBuffer: &mut host,
        ..Default::default()
    };
    let (mut count, of) = (1, platform().device);
    // SAFETY: live handles, and room for one result each.
    unsafe {
        done(api().zeEventPoolGetFlags(pool.handle, &mut of_pool));
        done(api().zeEventPoolGetContextHandle(pool.handle, &mut context));
        done(api().zeEventGetEventPool(event.handle, &mut own_pool));
        done(api().zeEventGetSignalScope(event.handle, &mut scopes[0]));
        done(api().zeEventGetWaitScope(event.handle, &mut scopes[1]));
        done(api().zeEventQueryTimestampsExp(event.handle, of, &mut count, &mut times));
        done(api().zeEventQueryKernelTimestampsExt(event.handle, of, &mut count, &mut results));
    }
    assert_eq!((of_pool, own_pool, context), (flags, pool.handle, platform().context));
    assert_eq!((scopes, count), ([ZE_EVENT_SCOPE_FLAG_HOST; 2], 1));
    assert_eq!(times.global.kernelStart, device.global.kernelStart);
    assert!(host.global.kernelEnd >= host.global.kernelStart && host.global.kernelStart > 0);
}

#[test]
fn kernels_and_modules_say_what_they_are() {
    let module = Module::named("vector_add");
    let kernel = module.kernel("vector_add");
    let mut properties =
        ze_module_properties_t { stype: ZE_STRUCTURE_TYPE_MODULE_PROPERTIES, ..Default::default() };
    let mut size = 0;
    // SAFETY: live handles; the text has as many bytes as the driver says.
    let text = unsafe {
        done(api().zeModuleGetProperties(module.handle, &mut properties));
        done(api().zeKernelSetCacheConfig(kernel.handle, ZE_CACHE_CONFIG_FLAG_LARGE_SLM));
        done(api().zeKernelGetSourceAttributes(kernel.handle, &mut size, null_mut()));
        let mut bytes = vec![0u8; size as usize];
        let mut at = bytes.as_mut_ptr().cast();
        done(api().zeKernelGetSourceAttributes(kernel.handle, &mut size, &mut at));
        bytes
    };
    assert_eq!(properties.flags, 0, "nothing is imported");
    assert!(CStr::from_bytes_with_nul(&text).is_ok(), "{text:?}");
    assert!(!spirv("vector_add").is_empty());
}

#[test]
fn commands_with_parameters_are_those_without() {
    let module = Module::named("vector_add");
    let (sum, step) = (platform().filled(1f32, 64), platform().filled(1f32, 64));
    let kernel = module.kernel("vector_add");
    kernel.set_group_size([64, 1, 1]).unwrap();
    kernel.set_arguments(&[&sum, &step, &sum, &64u32]).unwrap();
    let (list, context) = (CommandList::immediate(ListOptions::in_order()).unwrap(), platform().context);
    let (copies, fills) = (platform().filled(0f32, 128), platform().filled(0u8, 64));
    let count = ze_group_count_t { groupCountX: 1, groupCountY: 1, groupCountZ: 1 };
    let closed = CommandList::regular(true).unwrap();
    closed.barrier(None, &[]).unwrap();
    closed.close().unwrap();
    let (mut lists, mut clone) = ([closed.handle], null_mut());
    let (size, range) = ([sum.bytes()], sum.pointer().cast_const().cast());
    let mut ranges = [range];
    let (to, second, none) = (copies.pointer(), copies.pointer().wrapping_add(64), null_mut());
    // SAFETY: live handles; all buffers outlive the commands.
    unsafe {
        let (list, kernel) = (list.handle, kernel.handle);
        done(api().zeCommandListAppendLaunchKernelWithParameters(
            list,
            kernel,
            &count,
            null(),
            none,
            0,
            null_mut(),
        ));
        done(api().zeCommandListAppendMemoryRangesBarrier(
            list,
            1,
            size.as_ptr(),
            ranges.as_mut_ptr(),
            none,
            0,
            null_mut(),
        ));
        done(api().zeCommandListAppendMemoryPrefetch(list, range, sum.bytes()));
        let advice = ZE_MEMORY_ADVICE_SET_READ_MOSTLY;
        done(api().zeCommandListAppendMemAdvise(list, platform().device, range, sum.bytes(), advice));
        done(api().zeCommandListAppendMemoryCopyWithParameters(
            list,
            to.cast(),
            range,
            sum.bytes(),
            null(),
            none,
            0,
            null_mut(),
        ));
        done(api().zeCommandListAppendMemoryCopyFromContext(
            list,
            second.cast(),
            context,
            range,
            sum.bytes(),
            none,
            0,
            null_mut(),
        ));
        let pattern = [5u8];
        done(api().zeCommandListAppendMemoryFillWithParameters(
            list,
            fills.pointer().cast(),
            pattern.as_ptr().cast(),
            1,
            64,
            null(),
            none,
            0,
            null_mut(),
        ));
        done(api().zeCommandListCreateCloneExp(closed.handle, &mut clone));
        lists[0] = clone;
        done(api().zeCommandListImmediateAppendCommandListsWithParameters(
            list,
            1,
            lists.as_mut_ptr(),
            null(),
            none,
            0,
            null_mut(),
        ));
    }
    list.synchronize(FOREVER).unwrap();
    // SAFETY: it is executed.
    unsafe { done(api().zeCommandListDestroy(clone)) };
    assert!(sum.iter().chain(copies.iter()).all(|&value| value == 2.0));
    assert!(fills.iter().all(|&value| value == 5));
}

#[test]
fn a_list_is_mutable_if_it_was_made_so() {
    let (regular, queue) =
        (CommandList::regular(true).unwrap(), Queue::new(ListOptions::asynchronous()).unwrap());
    let desc = ze_mutable_command_id_exp_desc_t {
        stype: ZE_STRUCTURE_TYPE_MUTABLE_COMMAND_ID_EXP_DESC,
        ..Default::default()
    };
    let (mut is_mutable, mut id) = (9, 0);
    // SAFETY: live handles.
    unsafe {
        done(api().zeCommandListIsMutableExp(regular.handle, &mut is_mutable));
        let code = api().zeCommandListGetNextCommandIdExp(regular.handle, &desc, &mut id);
        assert_eq!((code, is_mutable), (ZE_RESULT_ERROR_INVALID_ARGUMENT, 0));
    }
    regular.close().unwrap();
    queue.execute(&[&regular], None).unwrap();
    queue.synchronize(FOREVER).unwrap();
}

#[test]
fn memory_has_pages_handles_and_ways_to_free_it() {
    let (context, device, mut page) = (platform().context, platform().device, 0);
    let memory = platform().allocate(MemoryKind::Device, 4096, 0).unwrap();
    let mut handle = ze_ipc_mem_handle_t::default();
    let desc = ze_memory_free_ext_desc_t {
        stype: ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC,
        freePolicy: ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE,
        ..Default::default()
    };
    // SAFETY: live handles and memory.
    unsafe {
        done(api().zeVirtualMemQueryPageSize(context, device, 1, &mut page));
        done(api().zeMemGetIpcHandleWithProperties(context, memory, null_mut(), &mut handle));
        done(api().zeMemPutIpcHandle(context, handle));
        done(api().zeMemFreeExt(context, &desc, memory));
    }
    assert!(page.is_power_of_two() && page >= 4096);
}

#[test]
fn images_are_copied_whole_and_seen_another_way() {
    let eight_bits = format(ZE_IMAGE_FORMAT_LAYOUT_8, ZE_IMAGE_FORMAT_TYPE_UINT);
    let desc = image_desc(ZE_IMAGE_TYPE_2D, eight_bits, [16, 8, 1]);
    let image = Image::new(&desc).unwrap();
    let from = platform().buffer(&(0..128).collect::<Vec<u8>>());
    let to = platform().filled(0u8, 128);
    let list = CommandList::immediate(ListOptions::in_order()).unwrap();
    let signed =
        image_desc(ZE_IMAGE_TYPE_2D, format(ZE_IMAGE_FORMAT_LAYOUT_8, ZE_IMAGE_FORMAT_TYPE_SINT), [16, 8, 1]);
    let (mut view, none) = (null_mut(), null_mut());
    // SAFETY: live handles; the buffers outlive the commands.
    unsafe {
        done(api().zeCommandListAppendImageCopyFromMemory(
            list.handle,
            image.handle,
            from.pointer().cast(),
            null(),
            none,
            0,
            null_mut(),
        ));
        let (context, device) = (platform().context, platform().device);
        done(api().zeImageViewCreateExp(context, device, &signed, image.handle, &mut view));
        done(api().zeCommandListAppendImageCopyToMemory(
            list.handle,
            to.pointer().cast(),
            view,
            null(),
            none,
            0,
            null_mut(),
        ));
        list.synchronize(FOREVER).unwrap();
        done(api().zeImageDestroy(view));
    }
    assert_eq!(to[..], from[..]);
}

#[test]
fn a_single_device_is_a_vertex_without_edges() {
    let (mut count, mut vertex) = (1, null_mut());
    // SAFETY: live handles, and room for one vertex.
    unsafe {
        done(api().zeFabricVertexGetExp(platform().driver, &mut count, &mut vertex));
        assert_eq!(count, 1);
        let (mut parts, mut ends) = (9, [null_mut(); 2]);
        done(api().zeFabricVertexGetSubVerticesExp(vertex, &mut parts, null_mut()));
        assert_eq!(parts, 0);
        let [a, b] = &mut ends;
        let driver = Api::open(&driver_path()).expect("the driver is open already");
        let code = driver.zeFabricEdgeGetVerticesExp(vertex.cast(), a, b);
        assert_eq!(code, ZE_RESULT_ERROR_INVALID_ARGUMENT, "a vertex is no edge");
    }
}
