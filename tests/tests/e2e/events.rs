//! Events: signals and waits on host and device, and kernel timestamps.

use std::time::{Duration, Instant};

use ze_headers::*;
use ze_tests::{CommandList, EventPool, ListOptions, Module, platform};

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
