//! Functions that programs look up by name, queue groups, and the fabric.

use std::ffi::{CString, c_char, c_void};
use std::{mem, ptr};

use ze_headers::*;
use ze_tests::{CommandList, ListOptions, Module, platform};

fn function(name: &str) -> *mut c_void {
    let (name, mut function) = (CString::new(name).unwrap(), ptr::null_mut());
    // SAFETY: a live driver and a text.
    let code = unsafe {
        platform().api.zeDriverGetExtensionFunctionAddress(platform().driver, name.as_ptr(), &mut function)
    };
    assert_eq!(code == ZE_RESULT_SUCCESS, !function.is_null());
    function
}

#[test]
fn host_memory_is_imported_found_and_released() {
    type Import = unsafe extern "C" fn(ze_driver_handle_t, *mut c_void, usize) -> ze_result_t;
    type Release = unsafe extern "C" fn(ze_driver_handle_t, *mut c_void) -> ze_result_t;
    type Base = unsafe extern "C" fn(ze_driver_handle_t, *mut c_void, *mut *mut c_void) -> ze_result_t;
    let mut memory = vec![0u8; 10_000];
    let (driver, start) = (platform().driver, memory.as_mut_ptr().cast::<c_void>());
    // SAFETY: the functions have these types, and the driver lives.
    unsafe {
        let import: Import = mem::transmute(function("zexDriverImportExternalPointer"));
        let release: Release = mem::transmute(function("zexDriverReleaseImportedPointer"));
        let base: Base = mem::transmute(function("zexDriverGetHostPointerBaseAddress"));
        let (inside, mut found) = (start.wrapping_byte_add(9_999), ptr::null_mut());
        assert_eq!(base(driver, inside, &mut found), ZE_RESULT_ERROR_INVALID_ARGUMENT);
        assert_eq!(import(driver, start, 10_000), ZE_RESULT_SUCCESS);
        assert_eq!(base(driver, inside, &mut found), ZE_RESULT_SUCCESS);
        assert_eq!(found, start);
        assert_eq!(base(driver, inside, ptr::null_mut()), ZE_RESULT_SUCCESS);
        let reaching = start.wrapping_byte_add(5_000);
        assert_eq!(import(driver, reaching, 10_000), ZE_RESULT_ERROR_OVERLAPPING_REGIONS);
        assert_eq!(import(driver, ptr::null_mut(), 10), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
        assert_eq!(import(driver, start, usize::MAX), ZE_RESULT_ERROR_INVALID_SIZE);
        assert_eq!(import(ptr::null_mut(), start, 10), ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
        assert_eq!(release(driver, start), ZE_RESULT_SUCCESS);
        assert_eq!(release(driver, start), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    }
}

#[test]
fn the_drivers_version_is_a_text_without_an_end() {
    type Version = unsafe extern "C" fn(ze_driver_handle_t, *mut c_char, *mut usize) -> ze_result_t;
    // SAFETY: the function has this type, and there is as much room as is said.
    unsafe {
        let version: Version = mem::transmute(function("zeIntelGetDriverVersionString"));
        let (driver, mut size) = (platform().driver, 0);
        assert_eq!(version(driver, ptr::null_mut(), &mut size), ZE_RESULT_SUCCESS);
        let read = |room: usize| {
            let (mut text, mut size) = (vec![b'?'; size + 2], room);
            assert_eq!(version(driver, text.as_mut_ptr().cast(), &mut size), ZE_RESULT_SUCCESS);
            String::from_utf8(text).unwrap()
        };
        let mut properties = ze_driver_properties_t::default();
        platform().api.zeDriverGetProperties(driver, &mut properties);
        let number = properties.driverVersion;
        let want = format!("{}.{}.{}", number >> 24, number >> 16 & 0xff, number & 0xffff);
        assert_eq!(size, want.len());
        assert_eq!(read(size), format!("{want}??"));
        assert_eq!(read(size + 1), format!("{want}\0?"));
        assert_eq!(read(1), format!("1{}", "?".repeat(size + 1)));
        assert_eq!(version(driver, ptr::null_mut(), &mut size), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
    }
}

#[test]
fn a_kernel_tells_the_sizes_of_its_arguments() {
    type Size = unsafe extern "C" fn(ze_kernel_handle_t, u32, *mut u32) -> ze_result_t;
    let kernel = Module::named("vector_add").kernel("vector_add");
    // SAFETY: the function has this type, and the kernel lives.
    unsafe {
        let size: Size = mem::transmute(function("zexKernelGetArgumentSize"));
        let sizes = [0, 1, 2, 3].map(|index| {
            let mut bytes = 0;
            assert_eq!(size(kernel.handle, index, &mut bytes), ZE_RESULT_SUCCESS);
            bytes
        });
        assert_eq!(sizes, [8, 8, 8, 4]);
        assert_eq!(size(kernel.handle, 4, &mut 0), ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX);
    }
}

#[test]
fn counter_based_events_have_functions_of_older_names() {
    type Create = unsafe extern "C" fn(
        ze_context_handle_t,
        ze_device_handle_t,
        *const ze_event_counter_based_desc_t,
        *mut ze_event_handle_t,
    ) -> ze_result_t;
    type Address = unsafe extern "C" fn(ze_event_handle_t, *mut u64, *mut u64) -> ze_result_t;
    type Handle =
        unsafe extern "C" fn(ze_event_handle_t, *mut ze_ipc_event_counter_based_handle_t) -> ze_result_t;
    type Open = unsafe extern "C" fn(
        ze_context_handle_t,
        ze_ipc_event_counter_based_handle_t,
        *mut ze_event_handle_t,
    ) -> ze_result_t;
    type Close = unsafe extern "C" fn(ze_event_handle_t) -> ze_result_t;
    let platform = platform();
    let list = CommandList::immediate(ListOptions::in_order()).unwrap();
    let create = |flags| {
        // Its structure is of another type, which no function of the API is asked with.
        let stype = ze_structure_type_t(0x0003_001b);
        let desc = ze_event_counter_based_desc_t { stype, flags, ..Default::default() };
        let mut event = ptr::null_mut();
        // SAFETY: the function has this type, and handles live.
        unsafe {
            let create: Create = mem::transmute(function("zexCounterBasedEventCreate2"));
            let code = create(platform.context, platform.device, &desc, &mut event);
            platform.check("zexCounterBasedEventCreate2", code).unwrap();
            let code = platform.api.zeCommandListAppendSignalEvent(list.handle, event);
            platform.check("zeCommandListAppendSignalEvent", code).unwrap();
            assert_eq!(platform.api.zeEventHostSynchronize(event, u64::MAX), ZE_RESULT_SUCCESS);
        }
        event
    };
    let host = ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE | ZE_EVENT_COUNTER_BASED_FLAG_HOST_VISIBLE;
    let (plain, shared) = (create(host), create(host | ZE_EVENT_COUNTER_BASED_FLAG_IPC));
    // SAFETY: the functions have these types, and handles live.
    unsafe {
        let address: Address = mem::transmute(function("zexEventGetDeviceAddress"));
        let (mut value, mut place) = (0, 0);
        assert_eq!(address(plain, &mut value, &mut place), ZE_RESULT_SUCCESS);
        assert!(*(place as *const u64) >= value, "the event has happened");

        let handle: Handle = mem::transmute(function("zexCounterBasedEventGetIpcHandle"));
        let open: Open = mem::transmute(function("zexCounterBasedEventOpenIpcHandle"));
        let close: Close = mem::transmute(function("zexCounterBasedEventCloseIpcHandle"));
        let (mut ipc, mut opened) = (ze_ipc_event_counter_based_handle_t::default(), ptr::null_mut());
        assert_eq!(handle(plain, &mut ipc), ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT);
        assert_eq!(handle(shared, &mut ipc), ZE_RESULT_SUCCESS);
        assert_eq!(open(platform.context, ipc, &mut opened), ZE_RESULT_SUCCESS);
        assert_eq!(platform.api.zeEventQueryStatus(opened), ZE_RESULT_SUCCESS);
        assert_eq!(close(opened), ZE_RESULT_SUCCESS);
        assert_eq!(close(plain), ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT);
        for event in [plain, shared] {
            assert_eq!(platform.api.zeEventDestroy(event), ZE_RESULT_SUCCESS);
        }
    }
}

#[test]
fn names_that_are_no_functions_of_the_driver_are_refused() {
    for name in ["", "zexNoSuchFunction", "zeInit", "zexDriverImportExternalPointe"] {
        assert!(function(name).is_null(), "{name}");
    }
}

#[test]
fn copy_queues_copy_and_run_no_kernels() {
    let platform = platform();
    let mut groups = [0; 2].map(|_| ze_command_queue_group_properties_t {
        stype: ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES,
        ..Default::default()
    });
    let mut count = 2;
    // SAFETY: a live device and as many structures.
    let code = unsafe {
        let groups = groups.as_mut_ptr();
        platform.api.zeDeviceGetCommandQueueGroupProperties(platform.device, &mut count, groups)
    };
    assert_eq!((code, count), (ZE_RESULT_SUCCESS, 2));
    let copies = |group: &ze_command_queue_group_properties_t| {
        group.flags == ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY
    };
    let ordinal = groups.iter().position(copies).expect("a group for copies alone") as u32;
    let desc = ze_command_queue_desc_t {
        stype: ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
        ordinal,
        mode: ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS,
        ..Default::default()
    };
    let mut handle = ptr::null_mut();
    // SAFETY: live handles.
    let code = unsafe {
        platform.api.zeCommandListCreateImmediate(platform.context, platform.device, &desc, &mut handle)
    };
    platform.check("zeCommandListCreateImmediate", code).unwrap();
    let list = CommandList { handle };
    let (from, to) = (platform.filled(3u32, 1000), platform.filled(0u32, 1000));
    // SAFETY: both have these bytes.
    unsafe { list.copy(to.pointer().cast(), from.pointer().cast(), from.bytes(), None, &[]) }.unwrap();
    assert!(to.iter().all(|&value| value == 3));
    let kernel = Module::named("saxpy").kernel("saxpy");
    let (x, y) = (platform.filled(1.0f32, 64), platform.filled(0.0f32, 64));
    kernel.set_group_size([64, 1, 1]).unwrap();
    kernel.set_arguments(&[&1.0f32, &x, &y, &64u32]).unwrap();
    let error = list.launch(&kernel, [1, 1, 1], None, &[]).expect_err("it is for copies");
    assert_eq!(error.code, ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE);
    // Lists go to queues of their own group.
    let error = list_of_the_other_group(ordinal);
    assert_eq!(error, ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE);
}

fn list_of_the_other_group(copy: u32) -> ze_result_t {
    let platform = platform();
    let desc = ze_command_list_desc_t {
        stype: ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC,
        commandQueueGroupOrdinal: copy,
        ..Default::default()
    };
    let mut handle = ptr::null_mut();
    // SAFETY: live handles.
    let code =
        unsafe { platform.api.zeCommandListCreate(platform.context, platform.device, &desc, &mut handle) };
    platform.check("zeCommandListCreate", code).unwrap();
    let list = CommandList { handle };
    list.close().unwrap();
    let queue = ze_tests::Queue::new(ze_tests::ListOptions::synchronous()).unwrap();
    queue.execute(&[&list], None).err().map_or(ZE_RESULT_SUCCESS, |error| error.code)
}

#[test]
fn the_device_is_the_one_vertex_of_the_fabric() {
    let platform = platform();
    let (api, mut count, mut vertex) = (&platform.api, 0, ptr::null_mut());
    // SAFETY: live handles, and structures of their types.
    unsafe {
        assert_eq!(api.zeFabricVertexGetExp(platform.driver, &mut count, ptr::null_mut()), ZE_RESULT_SUCCESS);
        assert_eq!(count, 1);
        assert_eq!(api.zeFabricVertexGetExp(platform.driver, &mut count, &mut vertex), ZE_RESULT_SUCCESS);
        let mut same = ptr::null_mut();
        assert_eq!(api.zeDeviceGetFabricVertexExp(platform.device, &mut same), ZE_RESULT_SUCCESS);
        assert_eq!(vertex, same);
        let mut device = ptr::null_mut();
        assert_eq!(api.zeFabricVertexGetDeviceExp(vertex, &mut device), ZE_RESULT_SUCCESS);
        assert_eq!(device, platform.device);
        let mut properties = ze_fabric_vertex_exp_properties_t {
            stype: ZE_STRUCTURE_TYPE_FABRIC_VERTEX_EXP_PROPERTIES,
            ..Default::default()
        };
        assert_eq!(api.zeFabricVertexGetPropertiesExp(vertex, &mut properties), ZE_RESULT_SUCCESS);
        let own = platform.device_properties().unwrap().uuid.id;
        assert_eq!((properties.uuid.id, properties.type_), (own, ZE_FABRIC_VERTEX_EXP_TYPE_DEVICE));
        for count in [&mut 5, &mut 0] {
            assert_eq!(api.zeFabricEdgeGetExp(vertex, vertex, count, ptr::null_mut()), ZE_RESULT_SUCCESS);
            assert_eq!(*count, 0);
        }
        let not_an_edge = vertex.cast();
        let code = api.zeFabricEdgeGetPropertiesExp(not_an_edge, ptr::null_mut());
        assert_eq!(code, ZE_RESULT_ERROR_INVALID_ARGUMENT);
    }
}
