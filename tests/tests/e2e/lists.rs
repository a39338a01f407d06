//! Command queues, regular and immediate command lists, fences and barriers.

use ze_headers::*;
use ze_tests::ulp::assert_same;
use ze_tests::{Buffer, CommandList, EventPool, Fence, Kernel, ListOptions, Module, Queue, platform};

const FOREVER: u64 = u64::MAX;

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
