//! Functions of Intel's driver that programs look up by name: waits for memory, graphs by their older functions, what belongs to what.

use std::ffi::{CString, c_char, c_void};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;
use std::{mem, ptr, thread};

use ze_headers::*;
use ze_tests::{CommandList, Event, EventPool, ListOptions, Module, Queue, platform};

fn address(name: &str) -> *mut c_void {
    let (text, mut function) = (CString::new(name).unwrap(), ptr::null_mut());
    // SAFETY: a live driver and a text.
    let code = unsafe {
        platform().api.zeDriverGetExtensionFunctionAddress(platform().driver, text.as_ptr(), &mut function)
    };
    platform().check("zeDriverGetExtensionFunctionAddress", code).expect(name);
    function
}

/// Calls a function of these types by its name.
macro_rules! call {
    ($name:ident($($arg:expr => $type:ty),* $(,)?)) => {{
        type Function = unsafe extern "C" fn($($type),*) -> ze_result_t;
        // SAFETY: the function has this type, and arguments are live.
        unsafe { mem::transmute::<*mut c_void, Function>(address(stringify!($name)))($($arg),*) }
    }};
}

fn has_extension(name: &str) -> bool {
    platform().extensions().unwrap().iter().any(|(extension, _)| extension == name)
}

unsafe extern "C" fn count(data: *mut c_void) {
    // SAFETY: what the test has registered.
    unsafe { &*data.cast::<AtomicU32>() }.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn kernels_know_their_module_and_modules_their_device() {
    let modules = [Module::named("vector_add"), Module::named("vector_add")];
    for module in &modules {
        let kernel = module.kernel("vector_add");
        let (mut found, mut device) = (ptr::null_mut(), ptr::null_mut());
        let code = call!(zeKernelGetModuleHandleExt(
            kernel.handle => ze_kernel_handle_t, &mut found => *mut ze_module_handle_t));
        assert_eq!((code, found), (ZE_RESULT_SUCCESS, module.handle));
        let code = call!(zeModuleGetDeviceHandleExt(
            found => ze_module_handle_t, &mut device => *mut ze_device_handle_t));
        assert_eq!((code, device), (ZE_RESULT_SUCCESS, platform().device));
        let none = ptr::null_mut();
        let code = call!(zeKernelGetModuleHandleExt(
            kernel.handle => ze_kernel_handle_t, none => *mut ze_module_handle_t));
        assert_eq!(code, ZE_RESULT_ERROR_INVALID_NULL_POINTER);
        let code = call!(zeModuleGetDeviceHandleExt(
            ptr::null_mut() => ze_module_handle_t, &mut device => *mut ze_device_handle_t));
        assert_eq!(code, ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
    }
}

#[test]
fn a_kernel_tells_the_types_of_its_arguments() {
    let kernel = Module::named("vector_add").kernel("vector_add");
    let ask = |index: u32, room: u32, to: *mut c_char| {
        let mut size = room;
        let code = call!(zexKernelGetArgumentType(
            kernel.handle => ze_kernel_handle_t, index => u32, &mut size => *mut u32, to => *mut c_char));
        (code, size)
    };
    for (index, want) in [(0, "float*"), (2, "float*"), (3, "int")] {
        let (code, size) = ask(index, 0, ptr::null_mut());
        assert_eq!((code, size as usize), (ZE_RESULT_SUCCESS, want.len() + 1));
        let mut text = vec![b'?'; size as usize + 1];
        assert_eq!(ask(index, size, text.as_mut_ptr().cast()), (ZE_RESULT_SUCCESS, size));
        assert_eq!(text, [want.as_bytes(), b"\0?"].concat());
    }
    assert_eq!(ask(4, 0, ptr::null_mut()).0, ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX);
}

#[test]
fn queues_have_priorities_by_number() {
    let (mut lowest, mut highest) = (0, 0);
    let code = call!(zeDeviceGetPriorityLevels(
        platform().device => ze_device_handle_t, &mut lowest => *mut i32, &mut highest => *mut i32));
    assert_eq!(code, ZE_RESULT_SUCCESS);
    assert!(highest < 0 && lowest > 0, "less is before more");
    for (level, want) in [
        (highest, ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH),
        (i32::MIN, ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH),
        (0, ZE_COMMAND_QUEUE_PRIORITY_NORMAL),
        (lowest, ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW),
        (1000, ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW),
    ] {
        let chained = ze_queue_priority_desc_t {
            stype: ZE_STRUCTURE_TYPE_QUEUE_PRIORITY_DESC,
            pNext: ptr::null(),
            priority: level,
        };
        let desc = ze_command_queue_desc_t {
            stype: ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
            pNext: (&raw const chained).cast(),
            ..Default::default()
        };
        let (mut list, mut queue) = (ptr::null_mut(), ptr::null_mut());
        let mut priorities = [ze_command_queue_priority_t(9); 2];
        let (api, context, device) = (&platform().api, platform().context, platform().device);
        // SAFETY: live handles and a valid chain.
        unsafe {
            assert_eq!(api.zeCommandQueueCreate(context, device, &desc, &mut queue), ZE_RESULT_SUCCESS);
            assert_eq!(
                api.zeCommandListCreateImmediate(context, device, &desc, &mut list),
                ZE_RESULT_SUCCESS
            );
            assert_eq!(api.zeCommandQueueGetPriority(queue, &mut priorities[0]), ZE_RESULT_SUCCESS);
            assert_eq!(api.zeCommandListImmediateGetPriority(list, &mut priorities[1]), ZE_RESULT_SUCCESS);
            assert_eq!(api.zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
            assert_eq!(api.zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
        }
        assert_eq!(priorities, [want; 2], "level {level}");
    }
}

#[test]
fn memory_of_the_device_is_the_hosts_too() {
    let memory = platform().filled(5u32, 10);
    let map = |pointer: *const c_void| {
        let mut mapped = ptr::null_mut();
        let code = call!(zeIntelMemMapDeviceMemToHost(
            platform().context => ze_context_handle_t, pointer => *const c_void,
            &mut mapped => *mut *mut c_void, ptr::null_mut() => *mut c_void));
        (code, mapped)
    };
    let inside = memory.pointer().cast::<c_void>().wrapping_byte_add(4);
    assert_eq!(map(inside), (ZE_RESULT_SUCCESS, inside.cast()));
    let local = 5;
    assert_eq!(map(ptr::from_ref(&local).cast()).0, ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

#[test]
fn copies_and_increments_have_older_names() {
    let list = CommandList::immediate(ListOptions::asynchronous()).unwrap();
    let (pool, to, from) =
        (EventPool::host_visible(2), platform().filled(0u32, 8), platform().filled(0u32, 8));
    let (filled, copied) = (pool.event(0), pool.event(1));
    let (pattern, bytes) = (9u32, from.bytes());
    let code = call!(zexCommandListAppendMemoryFillWithParameters(
        list.handle => ze_command_list_handle_t, from.pointer().cast() => *mut c_void,
        (&raw const pattern).cast() => *const c_void, 4 => usize, bytes => usize, ptr::null() => *const c_void,
        filled.handle => ze_event_handle_t, 0 => u32, ptr::null_mut() => *mut ze_event_handle_t));
    assert_eq!(code, ZE_RESULT_SUCCESS);
    let mut waits = [filled.handle];
    let code = call!(zexCommandListAppendMemoryCopyWithParameters(
        list.handle => ze_command_list_handle_t, to.pointer().cast() => *mut c_void,
        from.pointer().cast() => *const c_void, bytes => usize, ptr::null() => *const c_void, 1 => u32,
        waits.as_mut_ptr() => *mut ze_event_handle_t, copied.handle => ze_event_handle_t));
    assert_eq!(code, ZE_RESULT_SUCCESS);
    copied.wait(u64::MAX).unwrap();
    assert!(to.iter().all(|&word| word == 9));
    let mut increment = 0;
    let code = call!(zexDeviceGetAggregatedCopyOffloadIncrementValue(
        platform().device => ze_device_handle_t, &mut increment => *mut u32));
    assert_eq!((code, increment), (ZE_RESULT_SUCCESS, 1));
    assert!(has_extension("ZE_intel_get_driver_version_string"));
}

/// An event that begins as a counter, by functions and structures of Intel's driver.
fn old_event(create: impl FnOnce(*mut ze_event_handle_t) -> ze_result_t) -> Event {
    let mut handle = ptr::null_mut();
    assert_eq!(create(&mut handle), ZE_RESULT_SUCCESS);
    Event { handle }
}

#[test]
fn events_begin_as_counters_by_older_functions_and_structures() {
    let counter = platform().filled(0u64, 1);
    let at = counter.pointer();
    let (context, device) = (platform().context, platform().device);
    // SAFETY: the memory lives, and the driver reads it atomically.
    let value = unsafe { AtomicU64::from_ptr(at) };
    let scopes = ze_event_desc_t { stype: ZE_STRUCTURE_TYPE_EVENT_DESC, ..Default::default() };
    let first = old_event(|event| {
        call!(zexCounterBasedEventCreate(
            context => ze_context_handle_t, device => ze_device_handle_t, at => *mut u64, at => *mut u64,
            3 => u64, &scopes => *const ze_event_desc_t, event => *mut ze_event_handle_t))
    });
    let external = ze_event_counter_based_external_sync_allocation_desc_t {
        stype: ZEX_STRUCTURE_COUNTER_BASED_EVENT_EXTERNAL_SYNC_ALLOC_PROPERTIES,
        deviceAddress: at,
        hostAddress: at,
        completionValue: 5,
        ..Default::default()
    };
    let desc = ze_event_counter_based_desc_t {
        stype: ze_structure_type_t(0x0003_001c),
        pNext: (&raw const external).cast(),
        flags: ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE,
        ..Default::default()
    };
    let second = old_event(|event| {
        call!(zexCounterBasedEventCreate2(
            context => ze_context_handle_t, device => ze_device_handle_t,
            &desc => *const ze_event_counter_based_desc_t, event => *mut ze_event_handle_t))
    });
    let seen = |to: u64| {
        value.store(to, Ordering::Release);
        [first.is_signalled(), second.is_signalled()]
    };
    assert_eq!([2, 3, 5].map(seen), [[false, false], [true, false], [true, true]]);
    assert!(has_extension("ZEX_counter_based_event"));
}

#[test]
fn programs_are_told_when_a_list_is_reset_or_destroyed() {
    let calls = AtomicU32::new(0);
    let list = CommandList::regular(false).unwrap();
    let add = |function: zex_mem_free_callback_fn_t| {
        call!(zexCommandListSetCleanupCallback(
            list.handle => ze_command_list_handle_t, function => zex_mem_free_callback_fn_t,
            ptr::from_ref(&calls).cast_mut().cast() => *mut c_void, ptr::null() => *const c_void))
    };
    assert_eq!(add(None), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
    assert_eq!([add(Some(count)), add(Some(count))], [ZE_RESULT_SUCCESS; 2]);
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    list.reset().unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    list.reset().unwrap();
    assert_eq!(add(Some(count)), ZE_RESULT_SUCCESS);
    drop(list);
    assert_eq!(calls.load(Ordering::Relaxed), 3);
}

fn wait_for<T: Copy>(
    list: &CommandList,
    flag: u32,
    place: *mut T,
    value: u64,
    done: Option<&Event>,
) -> ze_result_t {
    let mut desc = zex_wait_on_mem_desc_t { actionFlag: flag, waitScope: ZEX_MEM_ACTION_SCOPE_FLAG_HOST };
    let done = done.map_or(ptr::null_mut(), |event| event.handle);
    if size_of::<T>() == 4 {
        return call!(zexCommandListAppendWaitOnMemory(
            list.handle => ze_command_list_handle_t, &mut desc => *mut zex_wait_on_mem_desc_t,
            place.cast() => *mut c_void, value as u32 => u32, done => ze_event_handle_t));
    }
    call!(zexCommandListAppendWaitOnMemory64(
        list.handle => ze_command_list_handle_t, &mut desc => *mut zex_wait_on_mem_desc_t,
        place.cast() => *mut c_void, value => u64, done => ze_event_handle_t))
}

fn write_to(list: &CommandList, place: *mut u64, value: u64) -> ze_result_t {
    let mut desc = zex_write_to_mem_desc_t { writeScope: ZEX_MEM_ACTION_SCOPE_FLAG_DEVICE };
    call!(zexCommandListAppendWriteToMemory(
        list.handle => ze_command_list_handle_t, &mut desc => *mut zex_write_to_mem_desc_t,
        place.cast() => *mut c_void, value => u64))
}

#[test]
fn lists_wait_until_memory_compares_with_a_value() {
    const FLAGS: [(u32, [bool; 3]); 6] = [
        (ZEX_WAIT_ON_MEMORY_FLAG_EQUAL, [false, true, false]),
        (ZEX_WAIT_ON_MEMORY_FLAG_NOT_EQUAL, [true, false, true]),
        (ZEX_WAIT_ON_MEMORY_FLAG_GREATER_THAN, [false, false, true]),
        (ZEX_WAIT_ON_MEMORY_FLAG_GREATER_THAN_EQUAL, [false, true, true]),
        (ZEX_WAIT_ON_MEMORY_FLAG_LESSER_THAN, [true, false, false]),
        (ZEX_WAIT_ON_MEMORY_FLAG_LESSER_THAN_EQUAL, [true, true, false]),
    ];
    let pool = EventPool::host_visible(1);
    for (flag, holds) in FLAGS {
        for ((there, holds), long) in
            [6u64, 7, u64::MAX].into_iter().zip(holds).flat_map(|case| [(case, false), (case, true)])
        {
            let (list, done) = (CommandList::immediate(ListOptions::asynchronous()).unwrap(), pool.event(0));
            let memory = platform().filled(there, 1);
            let code = match long {
                false => wait_for(&list, flag, memory.pointer().cast::<u32>(), 7, Some(&done)),
                true => wait_for(&list, flag, memory.pointer(), 7, Some(&done)),
            };
            assert_eq!(code, ZE_RESULT_SUCCESS);
            if !holds {
                thread::sleep(Duration::from_millis(2));
                assert!(!done.is_signalled(), "flag {flag}, {there}");
                // SAFETY: the memory lives, and the driver reads it atomically.
                let word = unsafe { AtomicU64::from_ptr(memory.pointer()) };
                let others = [6, 7, 8].into_iter().zip(FLAGS.iter().find(|(own, _)| *own == flag).unwrap().1);
                let (value, _) = others.into_iter().find(|(_, holds)| *holds).unwrap();
                word.store(value, Ordering::Release);
            }
            list.synchronize(u64::MAX).unwrap();
            assert!(done.is_signalled(), "flag {flag}, {there}");
        }
    }
}

#[test]
fn queues_wait_for_each_other_by_memory_each_time_they_execute() {
    let options = ListOptions::asynchronous();
    let (before, behind) = (Queue::new(options).unwrap(), Queue::new(options).unwrap());
    let (first, second) = (CommandList::regular(false).unwrap(), CommandList::regular(false).unwrap());
    let (turns, data) = (platform().filled(0u64, 2), platform().filled(0u32, 2));
    let turn = |at: usize| turns.pointer().wrapping_add(at);
    let cell = |at: usize| data.pointer().wrapping_add(at).cast();
    // What the first list writes the second takes, and says so.
    assert_eq!(wait_for(&first, ZEX_WAIT_ON_MEMORY_FLAG_EQUAL, turn(1), 0, None), ZE_RESULT_SUCCESS);
    // SAFETY: live memory.
    unsafe { first.fill(cell(0), &3u32.to_ne_bytes(), 4, None, &[]) }.unwrap();
    assert_eq!([write_to(&first, turn(1), 1), write_to(&first, turn(0), 1)], [ZE_RESULT_SUCCESS; 2]);
    assert_eq!(wait_for(&second, ZEX_WAIT_ON_MEMORY_FLAG_NOT_EQUAL, turn(0), 0, None), ZE_RESULT_SUCCESS);
    assert_eq!(write_to(&second, turn(0), 0), ZE_RESULT_SUCCESS);
    // SAFETY: as above.
    unsafe { second.copy(cell(1), cell(0).cast_const(), 4, None, &[]) }.unwrap();
    // SAFETY: as above.
    unsafe { second.fill(cell(0), &0u32.to_ne_bytes(), 4, None, &[]) }.unwrap();
    assert_eq!(write_to(&second, turn(1), 0), ZE_RESULT_SUCCESS);
    first.close().unwrap();
    second.close().unwrap();
    for round in 0..20 {
        behind.execute(&[&second], None).unwrap();
        before.execute(&[&first], None).unwrap();
        behind.synchronize(u64::MAX).unwrap();
        assert_eq!((data[0], data[1]), (0, 3), "round {round}");
        before.synchronize(u64::MAX).unwrap();
        // SAFETY: nothing runs.
        unsafe { cell(1).cast::<u32>().write(0) };
    }
}

#[test]
fn waits_that_cannot_be_are_refused() {
    let list = CommandList::immediate(ListOptions::asynchronous()).unwrap();
    let memory = platform().filled(0u64, 2);
    let odd = memory.pointer().wrapping_byte_add(4);
    let refused = [
        (0, memory.pointer(), ZE_RESULT_ERROR_INVALID_ENUMERATION),
        (3, memory.pointer(), ZE_RESULT_ERROR_INVALID_ENUMERATION),
        (1, ptr::null_mut(), ZE_RESULT_ERROR_INVALID_NULL_POINTER),
        (1, odd, ZE_RESULT_ERROR_INVALID_ARGUMENT),
    ];
    for (flag, place, want) in refused {
        assert_eq!(wait_for(&list, flag, place, 0, None), want);
    }
    assert_eq!(wait_for(&list, 1, odd.cast::<u32>(), 0, None), ZE_RESULT_SUCCESS);
    assert_eq!(write_to(&list, odd, 0), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    list.synchronize(u64::MAX).unwrap();
    let mut size = ze_intel_device_command_list_wait_on_memory_data_size_exp_desc_t {
        stype: ZE_INTEL_STRUCTURE_TYPE_DEVICE_COMMAND_LIST_WAIT_ON_MEMORY_DATA_SIZE_EXP_DESC,
        pNext: ptr::null(),
        cmdListWaitOnMemoryDataSizeInBytes: 0,
    };
    let mut properties = ze_device_properties_t {
        stype: ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES,
        pNext: (&raw mut size).cast(),
        ..Default::default()
    };
    // SAFETY: a live device and a valid chain.
    unsafe { platform().api.zeDeviceGetProperties(platform().device, &mut properties) };
    assert_eq!(size.cmdListWaitOnMemoryDataSizeInBytes, 4);
    assert!(has_extension("ZE_intel_experimental_command_list_memory_sync"));
}

#[test]
fn graphs_are_made_and_executed_by_their_older_functions() {
    let calls = AtomicU32::new(0);
    let list = CommandList::immediate(ListOptions::in_order()).unwrap();
    let memory = platform().filled(0u32, 4);
    let (mut graph, mut same, mut instance) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    let none = ptr::null_mut::<c_void>;
    let code = call!(zeGraphCreateExp(
        platform().context => ze_context_handle_t, &mut graph => *mut ze_graph_handle_t, none() => *mut c_void));
    assert_eq!(code, ZE_RESULT_SUCCESS);
    let is_empty = || call!(zeGraphIsEmptyExp(graph => ze_graph_handle_t));
    let is_captured =
        || call!(zeCommandListIsGraphCaptureEnabledExp(list.handle => ze_command_list_handle_t));
    assert_eq!((is_empty(), is_captured()), (ZE_RESULT_QUERY_TRUE_EXP, ZE_RESULT_QUERY_FALSE_EXP));
    let code = call!(zeGraphSetDestructionCallbackExp(
        graph => ze_graph_handle_t, Some(count) => zex_mem_graph_free_callback_fn_t,
        ptr::from_ref(&calls).cast_mut().cast() => *mut c_void, none() => *mut c_void));
    assert_eq!(code, ZE_RESULT_SUCCESS);
    let code = call!(zeCommandListBeginCaptureIntoGraphExp(
        list.handle => ze_command_list_handle_t, graph => ze_graph_handle_t, none() => *mut c_void));
    assert_eq!((code, is_captured()), (ZE_RESULT_SUCCESS, ZE_RESULT_QUERY_TRUE_EXP));
    // SAFETY: live memory.
    unsafe { list.fill(memory.pointer().cast(), &7u32.to_ne_bytes(), 16, None, &[]) }.unwrap();
    let code = call!(zeCommandListGetGraphExp(
        list.handle => ze_command_list_handle_t, &mut same => *mut ze_graph_handle_t));
    assert_eq!((code, same), (ZE_RESULT_SUCCESS, graph));
    let code = call!(zeCommandListEndGraphCaptureExp(
        list.handle => ze_command_list_handle_t, &mut same => *mut ze_graph_handle_t, none() => *mut c_void));
    assert_eq!((code, same, is_empty()), (ZE_RESULT_SUCCESS, graph, ZE_RESULT_QUERY_FALSE_EXP));
    let code = call!(zeCommandListInstantiateGraphExp(
        graph => ze_graph_handle_t, &mut instance => *mut ze_executable_graph_handle_t, none() => *mut c_void));
    assert_eq!(code, ZE_RESULT_SUCCESS);
    assert_eq!(memory[0], 0, "it was captured");
    let code = call!(zeCommandListAppendGraphExp(
        list.handle => ze_command_list_handle_t, instance => ze_executable_graph_handle_t, none() => *mut c_void,
        ptr::null_mut() => ze_event_handle_t, 0 => u32, ptr::null_mut() => *mut ze_event_handle_t));
    assert_eq!(code, ZE_RESULT_SUCCESS);
    list.synchronize(u64::MAX).unwrap();
    assert!(memory.iter().all(|&word| word == 7));
    for mode in [0, 1, 2, 3].map(ze_record_replay_graph_ext_dump_mode_t) {
        let mut desc = ze_record_replay_graph_ext_dump_desc_t {
            stype: ZE_STRUCTURE_TYPE_RECORD_REPLAY_GRAPH_EXP_DUMP_DESC,
            mode,
            ..Default::default()
        };
        let code = call!(zeGraphDumpContentsExp(
            graph => ze_graph_handle_t, c"/dev/null".as_ptr() => *const c_char, (&raw mut desc).cast() => *mut c_void));
        assert_eq!(code, ZE_RESULT_SUCCESS, "{mode:?}");
    }
    assert_eq!(
        call!(zeExecutableGraphDestroyExp(instance => ze_executable_graph_handle_t)),
        ZE_RESULT_SUCCESS
    );
    assert_eq!(call!(zeGraphDestroyExp(graph => ze_graph_handle_t)), ZE_RESULT_SUCCESS);
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    assert!(has_extension("ZE_experimental_record_replay_graph"));
    // A capture with a graph of its own that the list begins.
    let code = call!(zeCommandListBeginGraphCaptureExp(
        list.handle => ze_command_list_handle_t, none() => *mut c_void));
    assert_eq!(code, ZE_RESULT_SUCCESS);
    let code = call!(zeCommandListEndGraphCaptureExp(
        list.handle => ze_command_list_handle_t, &mut graph => *mut ze_graph_handle_t, none() => *mut c_void));
    assert_eq!(code, ZE_RESULT_SUCCESS);
    assert_eq!(call!(zeGraphDestroyExp(graph => ze_graph_handle_t)), ZE_RESULT_SUCCESS);
}

#[test]
fn the_older_structure_says_that_there_are_graphs() {
    let mut graphs = ze_record_replay_graph_ext_properties_t {
        stype: ZE_STRUCTURE_TYPE_RECORD_REPLAY_GRAPH_EXP_PROPERTIES,
        ..Default::default()
    };
    let mut properties = ze_device_properties_t {
        stype: ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES,
        pNext: (&raw mut graphs).cast(),
        ..Default::default()
    };
    // SAFETY: a live device and a valid chain.
    unsafe { platform().api.zeDeviceGetProperties(platform().device, &mut properties) };
    assert_eq!(graphs.graphFlags, ZE_RECORD_REPLAY_GRAPH_EXT_FLAG_IMMUTABLE_GRAPH);
}

#[test]
fn a_capture_that_is_paused_executes_until_it_is_resumed() {
    let list = CommandList::immediate(ListOptions::in_order()).unwrap();
    let memory = platform().filled(0u32, 3);
    let fill = |at: usize| {
        // SAFETY: live memory.
        unsafe { list.fill(memory.pointer().wrapping_add(at).cast(), &1u32.to_ne_bytes(), 4, None, &[]) }
            .unwrap();
    };
    let (mut graph, mut instance, api) = (ptr::null_mut(), ptr::null_mut(), &platform().api);
    let pause = |graph| call!(zeGraphPauseCaptureExt(graph => ze_graph_handle_t));
    let resume = |graph| call!(zeGraphResumeCaptureExt(graph => ze_graph_handle_t));
    let id_of = |graph, id: &mut u64| call!(zeGraphGetIdExt(graph => ze_graph_handle_t, id => *mut u64));
    // SAFETY: live handles.
    unsafe {
        assert_eq!(api.zeGraphCreateExt(platform().context, ptr::null(), &mut graph), ZE_RESULT_SUCCESS);
        let not_yet = ZE_RESULT_ERROR_COMMAND_LIST_NOT_CAPTURING;
        assert_eq!([pause(graph), resume(graph)], [not_yet; 2]);
        let begin = || api.zeCommandListBeginCaptureIntoGraphExt(list.handle, graph, ptr::null());
        assert_eq!(begin(), ZE_RESULT_SUCCESS);
        fill(0);
        assert_eq!(resume(graph), ZE_RESULT_ERROR_INVALID_ARGUMENT);
        assert_eq!([pause(graph), pause(graph)], [ZE_RESULT_SUCCESS, ZE_RESULT_ERROR_INVALID_ARGUMENT]);
        fill(1);
        list.synchronize(u64::MAX).unwrap();
        assert_eq!(memory[..], [0, 1, 0]);
        assert_eq!(api.zeCommandListIsGraphCaptureEnabledExt(list.handle), ZE_RESULT_QUERY_FALSE);
        let mut captured = ptr::null_mut();
        assert_eq!(api.zeCommandListGetGraphExt(list.handle, &mut captured), not_yet);
        assert_eq!(begin(), ZE_RESULT_ERROR_INVALID_ARGUMENT, "its capture goes on");
        assert_eq!(resume(graph), ZE_RESULT_SUCCESS);
        fill(2);
        assert_eq!(memory[..], [0, 1, 0]);
        assert_eq!(
            api.zeCommandListEndGraphCaptureExt(list.handle, ptr::null(), &mut captured),
            ZE_RESULT_SUCCESS
        );
        assert_eq!(captured, graph);
        assert_eq!(api.zeGraphInstantiateExt(graph, ptr::null(), &mut instance), ZE_RESULT_SUCCESS);
        memory.pointer().wrapping_add(1).write(5);
        let none = ptr::null_mut();
        let code =
            api.zeCommandListAppendGraphExt(list.handle, instance, ptr::null(), none, 0, ptr::null_mut());
        assert_eq!(code, ZE_RESULT_SUCCESS);
        list.synchronize(u64::MAX).unwrap();
        assert_eq!(memory[..], [1, 5, 1], "what was appended meanwhile is none of it");
        assert_eq!(api.zeExecutableGraphDestroyExt(instance), ZE_RESULT_SUCCESS);
        let mut other = ptr::null_mut();
        assert_eq!(api.zeGraphCreateExt(platform().context, ptr::null(), &mut other), ZE_RESULT_SUCCESS);
        let mut ids = [0u64; 3];
        for (id, graph) in ids.iter_mut().zip([graph, graph, other]) {
            assert_eq!(id_of(graph, id), ZE_RESULT_SUCCESS);
        }
        assert!(ids[0] == ids[1] && ids[1] != ids[2], "{ids:?}");
        for graph in [graph, other] {
            assert_eq!(api.zeGraphDestroyExt(graph), ZE_RESULT_SUCCESS);
        }
    }
}
