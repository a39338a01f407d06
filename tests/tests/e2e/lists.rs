//! Command queues, regular and immediate command lists, fences and barriers.

use std::ptr::null_mut;

use ze_headers::*;
use ze_tests::ulp::assert_same;
use ze_tests::{
    Buffer, CommandList, Error, Event, EventPool, Fence, Kernel, ListOptions, Module, Queue, platform,
};

const FOREVER: u64 = u64::MAX;

/// Appends a launch that fails when it is executed: it has more work-groups than can be counted.
fn launch_too_much(
    list: &CommandList,
    kernel: &Kernel,
    count: &Buffer<u32>,
    done: Option<&Event>,
) -> Result<(), Error> {
    // SAFETY: live handles; the count is in memory of the driver.
    let code = unsafe {
        platform().api.zeCommandListAppendLaunchKernelIndirect(
            list.handle,
            kernel.handle,
            count.pointer().cast(),
            done.map_or(null_mut(), |event| event.handle),
            0,
            null_mut(),
        )
    };
    platform().check("zeCommandListAppendLaunchKernelIndirect", code)
}

#[track_caller]
fn assert_lost<T: std::fmt::Debug>(result: Result<T, Error>) {
    let error = result.unwrap_err();
    assert_eq!(error.code, ZE_RESULT_ERROR_DEVICE_LOST, "{error:?}");
    assert!(error.reason.contains("group"), "{error:?}");
}

/// A kernel that doubles and adds: `y = 1 * x + y`, whose result depends on how often and in which order it ran.
fn saxpy() -> (Module, Kernel) {
    let module = Module::named("saxpy");
    let kernel = module.kernel("saxpy");
    kernel.set_group_size([64, 1, 1]).unwrap();
    (module, kernel)
}

fn set(kernel: &Kernel, factor: f32, x: &Buffer<f32>, y: &Buffer<f32>) {
    kernel.set_arguments(&[&factor, x, y, &(x.len() as u32)]).unwrap();
}

#[test]
fn a_regular_list_runs_each_time_it_is_executed() {
    let (_module, kernel) = saxpy();
    let (x, y) = (platform().filled(1.0f32, 128), platform().filled(0.0f32, 128));
    let queue = Queue::new(ListOptions::asynchronous()).unwrap();
    let list = CommandList::regular(false).unwrap();
    set(&kernel, 1.0, &x, &y);
    list.launch(&kernel, [2, 1, 1], None, &[]).unwrap();
    list.close().unwrap();
    assert_eq!(y[0], 0.0, "nothing runs before the list is executed");
    for round in 1..=5 {
        queue.execute(&[&list], None).unwrap();
        queue.synchronize(FOREVER).unwrap();
        assert_same(&format!("round {round}"), &y, &[round as f32; 128]);
    }
    list.reset().unwrap();
    set(&kernel, 10.0, &x, &y);
    list.launch(&kernel, [2, 1, 1], None, &[]).unwrap();
    list.close().unwrap();
    queue.execute(&[&list], None).unwrap();
    queue.synchronize(FOREVER).unwrap();
    assert_same("after a reset", &y, &[15.0; 128]);
}

#[test]
fn barriers_or_the_in_order_flag_order_the_commands_of_a_list() {
    let (_module, kernel) = saxpy();
    let n = 4096;
    for in_order in [false, true] {
        let buffers: Vec<_> =
            (0..20).map(|i| platform().filled(if i == 0 { 1.0f32 } else { 0.0 }, n)).collect();
        let queue = Queue::new(ListOptions::asynchronous()).unwrap();
        let list = CommandList::regular(in_order).unwrap();
        for pair in buffers.windows(2) {
            set(&kernel, 2.0, &pair[0], &pair[1]);
            list.launch(&kernel, [n as u32 / 64, 1, 1], None, &[]).unwrap();
            if !in_order {
                list.barrier(None, &[]).unwrap();
            }
        }
        list.close().unwrap();
        queue.execute(&[&list], None).unwrap();
        queue.synchronize(FOREVER).unwrap();
        assert_same(&format!("in order: {in_order}"), &buffers[19], &vec![(1 << 19) as f32; n]);
    }
}

#[test]
fn an_in_order_immediate_list_keeps_its_order() {
    let (_module, kernel) = saxpy();
    let n = 1 << 16;
    let buffers: Vec<_> = (0..16).map(|i| platform().filled(if i == 0 { 1.0f32 } else { 0.0 }, n)).collect();
    let list = CommandList::immediate(ListOptions::in_order()).unwrap();
    for pair in buffers.windows(2) {
        set(&kernel, 2.0, &pair[0], &pair[1]);
        list.launch(&kernel, [n as u32 / 64, 1, 1], None, &[]).unwrap();
    }
    list.synchronize(FOREVER).unwrap();
    assert_same("the last of a chain", &buffers[15], &vec![(1 << 15) as f32; n]);
}

#[test]
fn an_asynchronous_immediate_list_orders_by_barriers_and_events() {
    let (_module, kernel) = saxpy();
    let n = 1 << 16;
    let pool = EventPool::host_visible(16);
    let events: Vec<_> = (0..16).map(|i| pool.event(i)).collect();
    let list = CommandList::immediate(ListOptions::asynchronous()).unwrap();

    let buffers: Vec<_> = (0..16).map(|i| platform().filled(if i == 0 { 1.0f32 } else { 0.0 }, n)).collect();
    for (i, pair) in buffers.windows(2).enumerate() {
        set(&kernel, 2.0, &pair[0], &pair[1]);
        let wait: &[&ze_tests::Event] = if i == 0 { &[] } else { &[&events[i - 1]] };
        list.launch(&kernel, [n as u32 / 64, 1, 1], Some(&events[i]), wait).unwrap();
    }
    list.synchronize(FOREVER).unwrap();
    assert_same("a chain of events", &buffers[15], &vec![(1 << 15) as f32; n]);

    let buffers: Vec<_> = (0..16).map(|i| platform().filled(if i == 0 { 1.0f32 } else { 0.0 }, n)).collect();
    for pair in buffers.windows(2) {
        set(&kernel, 2.0, &pair[0], &pair[1]);
        list.launch(&kernel, [n as u32 / 64, 1, 1], None, &[]).unwrap();
        list.barrier(None, &[]).unwrap();
    }
    list.synchronize(FOREVER).unwrap();
    assert_same("a chain of barriers", &buffers[15], &vec![(1 << 15) as f32; n]);
}

#[test]
fn a_list_on_one_queue_waits_for_an_event_from_another() {
    let (_module, kernel) = saxpy();
    let (x, y) = (platform().filled(1.0f32, 64), platform().filled(0.0f32, 64));
    let pool = EventPool::host_visible(1);
    let event = pool.event(0);
    let (producer, consumer) = (
        CommandList::immediate(ListOptions::in_order()).unwrap(),
        CommandList::immediate(ListOptions::in_order()).unwrap(),
    );
    set(&kernel, 3.0, &x, &y);
    consumer.launch(&kernel, [1, 1, 1], None, &[&event]).unwrap();
    let not_yet = consumer.synchronize(0).unwrap_err();
    assert_eq!(not_yet.code, ZE_RESULT_NOT_READY);
    assert_eq!(y[0], 0.0);
    // SAFETY: the buffer is live.
    unsafe { producer.fill(x.pointer().cast(), &2.0f32.to_le_bytes(), x.bytes(), Some(&event), &[]) }
        .unwrap();
    consumer.synchronize(FOREVER).unwrap();
    assert_same("after the fill", &y, &[6.0; 64]);
}

#[test]
fn fences_tell_when_an_execution_is_done() {
    let (_module, kernel) = saxpy();
    let (x, y) = (platform().filled(1.0f32, 64), platform().filled(0.0f32, 64));
    let queue = Queue::new(ListOptions::asynchronous()).unwrap();
    let fence = Fence::new(&queue, false).unwrap();
    let list = CommandList::regular(false).unwrap();
    set(&kernel, 1.0, &x, &y);
    list.launch(&kernel, [1, 1, 1], None, &[]).unwrap();
    list.close().unwrap();
    assert!(!fence.is_signalled());
    for round in 1..4 {
        queue.execute(&[&list], Some(&fence)).unwrap();
        fence.wait(FOREVER).unwrap();
        assert!(fence.is_signalled());
        assert_same("after the fence", &y, &[round as f32; 64]);
        fence.reset().unwrap();
        assert!(!fence.is_signalled());
    }
    assert!(Fence::new(&queue, true).unwrap().is_signalled());
}

/// As a program may that knows from an event that the execution is over.
#[test]
fn a_fence_that_is_reset_forgets_executions_from_before() {
    let queue = Queue::new(ListOptions::asynchronous()).unwrap();
    let fence = Fence::new(&queue, false).unwrap();
    let pool = EventPool::host_visible(1);
    let event = pool.event(0);
    let list = CommandList::regular(false).unwrap();
    list.barrier(None, &[&event]).unwrap();
    list.close().unwrap();
    queue.execute(&[&list], Some(&fence)).unwrap();
    fence.reset().unwrap();
    event.signal().unwrap();
    queue.synchronize(FOREVER).unwrap();
    assert!(!fence.is_signalled());
    queue.execute(&[&list], Some(&fence)).unwrap();
    fence.wait(FOREVER).unwrap();
}

#[test]
fn several_lists_in_one_execution_run_in_order() {
    let (_module, kernel) = saxpy();
    let (x, y, z) =
        (platform().filled(1.0f32, 64), platform().filled(0.0f32, 64), platform().filled(0.0f32, 64));
    let queue = Queue::new(ListOptions::synchronous()).unwrap();
    let (first, second) = (CommandList::regular(false).unwrap(), CommandList::regular(false).unwrap());
    set(&kernel, 2.0, &x, &y);
    first.launch(&kernel, [1, 1, 1], None, &[]).unwrap();
    set(&kernel, 5.0, &y, &z);
    second.launch(&kernel, [1, 1, 1], None, &[]).unwrap();
    first.close().unwrap();
    second.close().unwrap();
    queue.execute(&[&first, &second], None).unwrap();
    assert_same("the second list", &z, &[10.0; 64]);
}

#[test]
fn destroyed_kernels_and_modules_do_not_disturb_what_was_appended() {
    let (x, y) = (platform().filled(1.0f32, 64), platform().filled(0.0f32, 64));
    let list = CommandList::regular(false).unwrap();
    let queue = Queue::new(ListOptions::asynchronous()).unwrap();
    let (module, kernel) = saxpy();
    set(&kernel, 4.0, &x, &y);
    list.launch(&kernel, [1, 1, 1], None, &[]).unwrap();
    list.close().unwrap();
    queue.execute(&[&list], None).unwrap();
    queue.synchronize(FOREVER).unwrap();
    drop(kernel);
    drop(module);
    assert_same("the launch", &y, &[4.0; 64]);
}

#[test]
fn a_launch_of_no_groups_does_nothing() {
    let (_module, kernel) = saxpy();
    let (x, y) = (platform().filled(1.0f32, 64), platform().filled(0.0f32, 64));
    set(&kernel, 1.0, &x, &y);
    let list = CommandList::immediate(ListOptions::synchronous()).unwrap();
    list.launch(&kernel, [0, 1, 1], None, &[]).unwrap();
    assert_same("nothing", &y, &[0.0; 64]);
}

#[test]
fn threads_use_lists_of_their_own() {
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                let (_module, kernel) = saxpy();
                let (x, y) = (platform().filled(1.0f32, 1000), platform().filled(0.0f32, 1000));
                let list = CommandList::immediate(if thread % 2 == 0 {
                    ListOptions::synchronous()
                } else {
                    ListOptions::in_order()
                })
                .unwrap();
                set(&kernel, 1.0, &x, &y);
                for _ in 0..200 {
                    list.launch(&kernel, [16, 1, 1], None, &[]).unwrap();
                }
                list.synchronize(FOREVER).unwrap();
                assert_same(&format!("thread {thread}"), &y, &[200.0; 1000]);
            });
        }
    });
}

#[test]
fn an_indirect_launch_reads_its_group_count_from_memory() {
    let (_module, kernel) = saxpy();
    let (x, y) = (platform().filled(1.0f32, 1000), platform().filled(0.0f32, 1000));
    set(&kernel, 1.0, &x, &y);
    let count = platform().buffer(&[3u32, 1, 1]);
    let list = CommandList::immediate(ListOptions::synchronous()).unwrap();
    // SAFETY: live handles; the count is in memory of the driver.
    let code = unsafe {
        platform().api.zeCommandListAppendLaunchKernelIndirect(
            list.handle,
            kernel.handle,
            count.pointer().cast(),
            std::ptr::null_mut(),
            0,
            std::ptr::null_mut(),
        )
    };
    platform().check("zeCommandListAppendLaunchKernelIndirect", code).unwrap();
    let want: Vec<f32> = (0..1000).map(|i| if i < 192 { 1.0 } else { 0.0 }).collect();
    assert_same("192 items", &y, &want);
}

#[test]
fn a_failed_command_is_told_by_events_fences_and_waits() {
    let (_module, kernel) = saxpy();
    let (x, mut y) = (platform().filled(1.0f32, 64), platform().filled(0.0f32, 64));
    set(&kernel, 1.0, &x, &y);
    let count = platform().buffer(&[u32::MAX; 3]);
    let pool = EventPool::timestamps(3);
    let (failed, behind, elsewhere) = (pool.event(0), pool.event(1), pool.event(2));
    let other = CommandList::immediate(ListOptions::in_order()).unwrap();
    for options in [ListOptions::in_order(), ListOptions::synchronous()] {
        let list = CommandList::immediate(options).unwrap();
        let appended = launch_too_much(&list, &kernel, &count, Some(&failed));
        if options.mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS {
            assert_lost(appended);
        } else {
            appended.unwrap();
            list.launch(&kernel, [1, 1, 1], Some(&behind), &[]).unwrap();
            assert_lost(behind.wait(FOREVER));
            assert_same("nothing is executed behind", &y, &[0.0; 64]);
        }
        assert_lost(failed.wait(FOREVER));
        assert_lost(failed.wait(0));
        assert_lost(failed.kernel_timestamp());
        // SAFETY: a live event.
        assert_lost(platform().check("status", unsafe { platform().api.zeEventQueryStatus(failed.handle) }));

        other.barrier(Some(&elsewhere), &[&failed]).unwrap();
        assert_lost(elsewhere.wait(FOREVER));
        assert_lost(other.synchronize(FOREVER));
        if options.mode != ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS {
            assert_lost(list.synchronize(FOREVER));
        }

        for event in [&failed, &behind, &elsewhere] {
            event.reset().unwrap();
        }
        list.launch(&kernel, [1, 1, 1], Some(&failed), &[]).unwrap();
        failed.wait(FOREVER).unwrap();
        assert_same("once it is told, the list goes on", &y, &[1.0; 64]);
        list.synchronize(FOREVER).unwrap();
        failed.reset().unwrap();
        y.fill(0.0);
    }
}

#[test]
fn a_failed_command_is_told_by_the_fence_of_its_execution() {
    let (_module, kernel) = saxpy();
    let (x, y) = (platform().filled(1.0f32, 64), platform().filled(0.0f32, 64));
    set(&kernel, 1.0, &x, &y);
    let count = platform().buffer(&[u32::MAX; 3]);
    let queue = Queue::new(ListOptions::asynchronous()).unwrap();
    let fence = Fence::new(&queue, false).unwrap();
    let list = CommandList::regular(false).unwrap();
    launch_too_much(&list, &kernel, &count, None).unwrap();
    list.close().unwrap();
    queue.execute(&[&list], Some(&fence)).unwrap();
    assert_lost(fence.wait(FOREVER));
    // SAFETY: a live fence.
    assert_lost(platform().check("status", unsafe { platform().api.zeFenceQueryStatus(fence.handle) }));
    assert_lost(queue.synchronize(FOREVER));
    fence.reset().unwrap();
    list.reset().unwrap();
    list.launch(&kernel, [1, 1, 1], None, &[]).unwrap();
    list.close().unwrap();
    queue.execute(&[&list], Some(&fence)).unwrap();
    fence.wait(FOREVER).unwrap();
    assert_same("once it is told, the queue goes on", &y, &[1.0; 64]);
}

#[test]
fn fills_are_of_whole_patterns() {
    let memory = platform().filled(0u8, 64);
    let list = CommandList::immediate(ListOptions::synchronous()).unwrap();
    for (pattern, bytes) in [(3usize, 64), (64, 32), (0, 64)] {
        // SAFETY: the buffer is as long.
        let result = unsafe { list.fill(memory.pointer().cast(), &vec![7; pattern], bytes, None, &[]) };
        assert_eq!(result.unwrap_err().code, ZE_RESULT_ERROR_INVALID_SIZE, "{pattern} in {bytes}");
    }
    for (pattern, bytes) in [(3usize, 63), (4, 0), (1, 64)] {
        // SAFETY: the buffer is as long.
        unsafe { list.fill(memory.pointer().cast(), &vec![7; pattern], bytes, None, &[]) }.unwrap();
    }
    assert_eq!(&memory[..], [7; 64]);
}

/// Appends a copy inside of `memory`, from `[x, y, z]` of rows of 16 bytes and slices of 4 rows.
fn copy_region(
    list: &CommandList,
    memory: &Buffer<u8>,
    to: [u32; 3],
    from: [u32; 3],
    extent: [u32; 3],
) -> Result<(), Error> {
    let region = |origin: [u32; 3]| ze_copy_region_t {
        originX: origin[0],
        originY: origin[1],
        originZ: origin[2],
        width: extent[0],
        height: extent[1],
        depth: extent[2],
    };
    // SAFETY: a live list; what reaches out of the buffer is refused or empty.
    let code = unsafe {
        platform().api.zeCommandListAppendMemoryCopyRegion(
            list.handle,
            memory.pointer().cast(),
            &region(to),
            16,
            64,
            memory.pointer().cast(),
            &region(from),
            16,
            64,
            null_mut(),
            0,
            null_mut(),
        )
    };
    platform().check("zeCommandListAppendMemoryCopyRegion", code)
}

#[test]
fn regions_are_copied_where_they_do_not_overlap() {
    let memory = platform().buffer(&(0..128).collect::<Vec<u8>>());
    let list = CommandList::immediate(ListOptions::synchronous()).unwrap();
    copy_region(&list, &memory, [8, 0, 0], [0, 0, 0], [8, 4, 2]).unwrap();
    let want: Vec<u8> = (0..128).map(|at| at / 16 * 16 + at % 8).collect();
    assert_eq!(&memory[..], want);
    for (to, extent) in [([7, 0, 0], [8, 4, 2]), ([0, 1, 0], [8, 2, 1]), ([0, 0, 1], [1, 5, 1])] {
        let error = copy_region(&list, &memory, to, [0, 0, 0], extent).unwrap_err();
        assert_eq!(error.code, ZE_RESULT_ERROR_OVERLAPPING_REGIONS, "{to:?} {extent:?}");
    }
    assert_eq!(&memory[..], want);
}

#[test]
fn an_empty_region_takes_no_time() {
    let memory = platform().filled(1u8, 128);
    let list = CommandList::immediate(ListOptions::in_order()).unwrap();
    copy_region(&list, &memory, [0, 0, 0], [8, 0, 0], [0, u32::MAX, u32::MAX]).unwrap();
    list.synchronize(FOREVER).unwrap();
    assert_eq!(&memory[..], [1; 128]);
}

#[test]
fn the_widest_value_of_the_enumeration_stands_for_flags() {
    let (platform, mut list) = (platform(), null_mut());
    let of = |flags| ze_command_list_desc_t {
        stype: ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC,
        flags,
        ..Default::default()
    };
    let (context, device) = (platform.context, platform.device);
    // SAFETY: live handles.
    unsafe {
        let code = platform.api.zeCommandListCreate(context, device, &of(0x7fff_fffe), &mut list);
        assert_eq!(code, ZE_RESULT_ERROR_INVALID_ENUMERATION);
        let code = platform.api.zeCommandListCreate(context, device, &of(0x7fff_ffff), &mut list);
        platform.check("zeCommandListCreate", code).unwrap();
        assert_eq!(platform.api.zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
    }
}

#[test]
fn what_only_immediate_lists_have_is_refused_of_others() {
    let list = CommandList::regular(false).unwrap();
    assert_eq!(list.synchronize(0).unwrap_err().code, ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

#[test]
fn a_forked_child_goes_on_with_lists_of_its_parent() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_fork")).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}\n{}{}", output.status, text(&output.stdout), text(&output.stderr));
}
