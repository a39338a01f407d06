//! Functions that programs look up by name, queue groups, and the fabric.

use std::ffi::{CString, c_void};
use std::{mem, ptr};

use ze_headers::*;
use ze_tests::{CommandList, Module, platform};

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
