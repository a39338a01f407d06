//! Events: signals and waits on host and device, and kernel timestamps.

use std::ptr::null_mut;
use std::time::{Duration, Instant};

use ze_headers::*;
use ze_tests::loader::{Api, driver_path};
use ze_tests::{CommandList, Event, EventPool, ListOptions, Module, Queue, platform};

const FOREVER: u64 = u64::MAX;

#[test]
fn the_host_signals_and_resets() {
    let pool = EventPool::host_visible(2);
    let (first, second) = (pool.event(0), pool.event(1));
    assert!(!first.is_signalled());
    assert_eq!(first.wait(0).unwrap_err().code, ZE_RESULT_NOT_READY);
    first.signal().unwrap();
    first.wait(FOREVER).unwrap();
    assert!(first.is_signalled() && !second.is_signalled());
    first.reset().unwrap();
    assert!(!first.is_signalled());
}

#[test]
fn a_wait_ends_when_its_time_is_over() {
    let pool = EventPool::host_visible(1);
    let event = pool.event(0);
    let start = Instant::now();
    assert_eq!(event.wait(20_000_000).unwrap_err().code, ZE_RESULT_NOT_READY);
    assert!(start.elapsed() >= Duration::from_millis(20), "after {:?}", start.elapsed());
}

#[test]
fn a_wait_ends_when_another_thread_signals() {
    let pool = EventPool::host_visible(1);
    let event = pool.event(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(10));
            event.signal().unwrap();
        });
        event.wait(FOREVER).unwrap();
    });
}

#[test]
fn commands_signal_wait_and_reset() {
    let pool = EventPool::host_visible(3);
    let (go, done, passed) = (pool.event(0), pool.event(1), pool.event(2));
    let list = CommandList::immediate(ListOptions::in_order()).unwrap();
    list.wait_on_events(&[&go]).unwrap();
    list.signal_event(&done).unwrap();
    assert!(!done.is_signalled());
    go.signal().unwrap();
    done.wait(FOREVER).unwrap();
    list.reset_event(&go).unwrap();
    list.barrier(Some(&passed), &[&done]).unwrap();
    passed.wait(FOREVER).unwrap();
    assert!(!go.is_signalled());
    list.synchronize(FOREVER).unwrap();
}

#[test]
fn a_kernel_signals_with_timestamps() {
    let pool = EventPool::timestamps(1);
    let event = pool.event(0);
    let module = Module::named("integer_mixing");
    let kernel = module.kernel("integer_mixing");
    let n = 100_000;
    let state = platform().filled(1u32, n);
    kernel.set_group_size([100, 1, 1]).unwrap();
    kernel.set_arguments(&[&state, &(n as u32), &100u32]).unwrap();
    let list = CommandList::immediate(ListOptions::in_order()).unwrap();
    let before = Instant::now();
    list.launch(&kernel, [n as u32 / 100, 1, 1], Some(&event), &[]).unwrap();
    event.wait(FOREVER).unwrap();
    let wall = before.elapsed();
    let timestamp = event.kernel_timestamp().unwrap();
    let properties = platform().device_properties().unwrap();
    // Nanoseconds a cycle, unless the 1.2 form of the properties is asked for.
    let ticks = timestamp.context.kernelEnd.wrapping_sub(timestamp.context.kernelStart);
    let nanoseconds = ticks as f64 * properties.timerResolution as f64;
    assert!(ticks > 0 && nanoseconds <= wall.as_nanos() as f64 * 1.01 + 1e4, "{nanoseconds} ns in {wall:?}");
    assert_eq!(timestamp.global.kernelEnd - timestamp.global.kernelStart, ticks);
}

#[test]
fn global_timestamps_advance() {
    let stamps = platform().filled(0u64, 2);
    let list = CommandList::immediate(ListOptions::in_order()).unwrap();
    let (mut host, mut device) = (0, 0);
    // SAFETY: a live device; the buffer outlives the commands.
    unsafe {
        list.write_timestamp(stamps.pointer(), None).unwrap();
        list.synchronize(FOREVER).unwrap();
        std::thread::sleep(Duration::from_millis(2));
        list.write_timestamp(stamps.pointer().add(1), None).unwrap();
        list.synchronize(FOREVER).unwrap();
        let code = platform().api.zeDeviceGetGlobalTimestamps(platform().device, &mut host, &mut device);
        platform().check("zeDeviceGetGlobalTimestamps", code).unwrap();
    }
    let resolution = platform().device_properties().unwrap().timerResolution;
    let elapsed = (stamps[1] - stamps[0]) * resolution;
    assert!((2_000_000..2_000_000_000).contains(&elapsed), "{elapsed} ns");
    assert!(device >= stamps[1] && host > 0);
}

#[test]
fn an_index_beyond_the_pool_is_rejected() {
    let pool = EventPool::host_visible(4);
    assert_eq!(pool.try_event(4).map(|_| ()).unwrap_err().code, ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

/// The driver itself: it has functions that older loaders do not know, and takes the handles of any of its programs.
fn driver() -> Api {
    Api::open(&driver_path()).expect("the driver is open already")
}

fn counter_based() -> Event {
    let desc = ze_event_counter_based_desc_t {
        stype: ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_DESC,
        flags: ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE | ZE_EVENT_COUNTER_BASED_FLAG_NON_IMMEDIATE,
        ..Default::default()
    };
    let mut handle = null_mut();
    // SAFETY: live handles.
    let code = unsafe {
        driver().zeEventCounterBasedCreate(platform().context, platform().device, &desc, &mut handle)
    };
    platform().check("zeEventCounterBasedCreate", code).unwrap();
    Event { handle }
}

#[test]
fn counter_based_events_are_signalled_and_reset_by_commands_only() {
    let event = counter_based();
    assert!(event.is_signalled(), "nothing was appended yet");
    let list = CommandList::immediate(ListOptions::in_order()).unwrap();
    for result in [event.signal(), event.reset(), list.reset_event(&event)] {
        assert_eq!(result.unwrap_err().code, ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT);
    }
    let pool = EventPool::host_visible(1);
    let flags = |event: &Event| {
        let mut flags = u32::MAX;
        // SAFETY: a live event.
        let code = unsafe { driver().zeEventGetCounterBasedFlags(event.handle, &mut flags) };
        platform().check("zeEventGetCounterBasedFlags", code).map(|()| flags).unwrap()
    };
    assert_eq!(
        flags(&event),
        ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE | ZE_EVENT_COUNTER_BASED_FLAG_NON_IMMEDIATE
    );
    assert_eq!(flags(&pool.event(0)), 0, "a regular event");
}

#[test]
fn a_counter_based_event_waits_for_each_execution_of_its_list() {
    let pool = EventPool::host_visible(1);
    let (gate, event) = (pool.event(0), counter_based());
    let queue = Queue::new(ListOptions::asynchronous()).unwrap();
    let list = CommandList::regular(true).unwrap();
    list.wait_on_events(&[&gate]).unwrap();
    list.reset_event(&gate).unwrap();
    list.signal_event(&event).unwrap();
    list.close().unwrap();
    for _ in 0..3 {
        queue.execute(&[&list], None).unwrap();
        assert_eq!(event.wait(1_000_000).unwrap_err().code, ZE_RESULT_NOT_READY);
        gate.signal().unwrap();
        event.wait(FOREVER).unwrap();
    }
    queue.synchronize(FOREVER).unwrap();
}

#[test]
fn a_list_waits_for_the_executions_that_were_submitted_before_its_own() {
    // Each of two lists waits for the other: the second execution of the first one waits for what is done.
    let pool = EventPool::host_visible(2);
    let gates = [pool.event(0), pool.event(1)];
    let (first, second) = (counter_based(), counter_based());
    let queues = [(); 2].map(|()| Queue::new(ListOptions::asynchronous()).unwrap());
    let lists = [(); 2].map(|()| CommandList::regular(true).unwrap());
    lists[0].wait_on_events(&[&gates[0]]).unwrap();
    lists[0].signal_event(&first).unwrap();
    lists[1].wait_on_events(&[&first, &gates[1]]).unwrap();
    lists[1].signal_event(&second).unwrap();
    lists[0].wait_on_events(&[&second]).unwrap();
    for (list, gate) in lists.iter().zip(&gates) {
        list.close().unwrap();
        gate.signal().unwrap();
    }
    let execute = || {
        for (queue, list) in queues.iter().zip(&lists) {
            queue.execute(&[list], None).unwrap();
        }
    };
    execute();
    for (queue, gate) in queues.iter().zip(&gates) {
        queue.synchronize(FOREVER).unwrap();
        gate.reset().unwrap();
    }
    execute();
    gates[0].signal().unwrap();
    queues[0].synchronize(10_000_000_000).unwrap();
    assert_eq!(second.wait(0).unwrap_err().code, ZE_RESULT_NOT_READY);
    gates[1].signal().unwrap();
    queues[1].synchronize(FOREVER).unwrap();
}

#[test]
fn an_event_that_is_nowhere_to_be_put_is_not_created() {
    let (platform, pool) = (platform(), EventPool::host_visible(1));
    let desc = ze_event_counter_based_desc_t {
        stype: ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_DESC,
        ..Default::default()
    };
    let regular = ze_event_desc_t { stype: ZE_STRUCTURE_TYPE_EVENT_DESC, ..Default::default() };
    // SAFETY: live handles.
    let codes = unsafe {
        [
            driver().zeEventCounterBasedCreate(platform.context, platform.device, &desc, null_mut()),
            driver().zeEventCreate(pool.handle, &regular, null_mut()),
        ]
    };
    assert_eq!(codes, [ZE_RESULT_ERROR_INVALID_NULL_POINTER; 2]);
}

#[test]
fn a_list_that_is_appended_to_another_waits_in_no_thread_of_the_program() {
    let pool = EventPool::host_visible(3);
    let (reached, gate, done) = (pool.event(0), pool.event(1), pool.event(2));
    let list = CommandList::regular(true).unwrap();
    list.signal_event(&reached).unwrap();
    list.reset_event(&gate).unwrap();
    list.wait_on_events(&[&gate]).unwrap();
    list.close().unwrap();
    let immediate = CommandList::immediate(ListOptions::in_order()).unwrap();
    for _ in 0..100 {
        gate.signal().unwrap();
        let mut lists = [list.handle];
        // SAFETY: live handles.
        let code = unsafe {
            driver().zeCommandListImmediateAppendCommandListsExp(
                immediate.handle,
                1,
                lists.as_mut_ptr(),
                done.handle,
                0,
                null_mut(),
            )
        };
        platform().check("zeCommandListImmediateAppendCommandListsExp", code).unwrap();
        reached.wait(FOREVER).unwrap();
        while gate.is_signalled() {
            std::hint::spin_loop();
        }
        gate.signal().unwrap();
        done.wait(FOREVER).unwrap();
        reached.reset().unwrap();
        done.reset().unwrap();
    }
}

#[test]
fn a_wait_outlives_its_event() {
    let pool = EventPool::host_visible(1);
    let event = pool.event(0);
    let (started, handle) = (std::sync::Barrier::new(2), event.handle as usize);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            started.wait();
            // SAFETY: the driver tells a destroyed handle from a live one.
            let code = unsafe { platform().api.zeEventHostSynchronize(handle as _, 100_000_000) };
            assert!(matches!(code, ZE_RESULT_NOT_READY | ZE_RESULT_ERROR_INVALID_ARGUMENT), "{code:?}");
        });
        started.wait();
        std::thread::sleep(Duration::from_millis(10));
        drop(event);
    });
}
