//! Events that two processes have. The other process is `src/bin/ipc.rs`.

use std::ptr;

use ze_headers::*;
use ze_tests::{CommandList, Event, EventPool, ListOptions, Result, platform};

use crate::ipc::{Other, digits};

const FLAGS: u32 = ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_IPC;
/// Enough for anything that is not wrong.
const NANOSECONDS: u64 = 60_000_000_000;

fn get(pool: &EventPool) -> Result<ze_ipc_event_pool_handle_t> {
    let mut handle = ze_ipc_event_pool_handle_t::default();
    // SAFETY: a live pool.
    let code = unsafe { platform().api.zeEventPoolGetIpcHandle(pool.handle, &mut handle) };
    platform().check("zeEventPoolGetIpcHandle", code).map(|()| handle)
}

fn put(handle: ze_ipc_event_pool_handle_t) -> Result<()> {
    // SAFETY: a live context.
    let code = unsafe { platform().api.zeEventPoolPutIpcHandle(platform().context, handle) };
    platform().check("zeEventPoolPutIpcHandle", code)
}

fn open(handle: ze_ipc_event_pool_handle_t) -> Result<ze_event_pool_handle_t> {
    let mut pool = ptr::null_mut();
    // SAFETY: a live context.
    let code = unsafe { platform().api.zeEventPoolOpenIpcHandle(platform().context, handle, &mut pool) };
    platform().check("zeEventPoolOpenIpcHandle", code).map(|()| pool)
}

fn shared_pool(flags: u32) -> (EventPool, Other) {
    let pool = EventPool::new(8, flags).unwrap();
    let handle = get(&pool).unwrap();
    let mut other = Other::start();
    assert_eq!(other.ask(&format!("pool {}", digits(&handle.data))), "0");
    put(handle).unwrap();
    (pool, other)
}

#[test]
fn another_process_sees_signals_and_resets_and_makes_its_own() {
    let (pool, mut other) = shared_pool(FLAGS);
    let event = pool.event(5);
    assert_eq!(other.ask("event 0 5"), "0");
    for _ in 0..3 {
        assert!(other.ask("query 0").contains("NOT_READY"));
        assert!(other.ask("wait 0 1000000").contains("NOT_READY"));
        event.signal().unwrap();
        assert_eq!(other.ask("query 0"), "done");
        event.reset().unwrap();
        assert!(other.ask("query 0").contains("NOT_READY"));
        assert!(!event.is_signalled());
        assert_eq!(other.ask("signal 0"), "done");
        event.wait(NANOSECONDS).unwrap();
        assert_eq!(other.ask("reset 0"), "done");
        assert!(!event.is_signalled());
    }
    event.signal().unwrap();
    assert_eq!(other.ask("event 0 5"), "1");
    assert_eq!(other.ask("query 1"), "done", "who opens an event finds it as it is");
    assert_eq!(other.ask("event 0 4"), "2");
    assert!(other.ask("query 2").contains("NOT_READY"), "the neighbour");
    assert!(other.ask("event 0 8").starts_with("error"), "there are 8");
}

#[test]
fn each_process_waits_for_the_other() {
    let (pool, mut other) = shared_pool(FLAGS);
    let (ping, pong) = (pool.event(0), pool.event(1));
    assert_eq!((other.ask("event 0 0"), other.ask("event 0 1")), ("0".to_owned(), "1".to_owned()));
    for round in 0..200 {
        // As the host, and in command lists.
        other.tell(if round % 2 == 0 { "wait 0 60000000000" } else { "list 0" });
        ping.signal().unwrap();
        assert_eq!(other.answer(), "done");
        assert_eq!(other.ask("reset 0"), "done");
        other.tell("signal 1");
        if round % 2 == 0 {
            pong.wait(NANOSECONDS).unwrap();
        } else {
            let list = CommandList::immediate(ListOptions::asynchronous()).unwrap();
            list.barrier(None, &[&pong]).unwrap();
            list.synchronize(NANOSECONDS).unwrap();
        }
        assert_eq!(other.answer(), "done");
        pong.reset().unwrap();
    }
}

#[test]
fn timestamps_go_with_the_event() {
    let (pool, mut other) = shared_pool(FLAGS | ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
    let event = pool.event(2);
    assert_eq!(other.ask("event 0 2"), "0");
    let list = CommandList::immediate(ListOptions::in_order()).unwrap();
    list.barrier(Some(&event), &[]).unwrap();
    event.wait(NANOSECONDS).unwrap();
    let times = event.kernel_timestamp().unwrap().global;
    assert_eq!(other.ask("wait 0 60000000000"), "done");
    assert_eq!(other.ask("time 0"), format!("{} {}", times.kernelStart, times.kernelEnd));
}

#[test]
fn a_pool_is_opened_twice_and_closed_in_either_order() {
    let pool = EventPool::new(2, FLAGS).unwrap();
    let handle = get(&pool).unwrap();
    let opened = [open(handle).unwrap(), open(handle).unwrap()];
    let events = opened.map(|pool| std::mem::ManuallyDrop::new(EventPool { handle: pool }).event(1));
    let event = pool.event(1);
    events[0].signal().unwrap();
    assert!(event.is_signalled() && events[1].is_signalled());
    drop(event);
    let close = |pool| {
        // SAFETY: nobody uses the pool.
        let code = unsafe { platform().api.zeEventPoolCloseIpcHandle(pool) };
        platform().check("zeEventPoolCloseIpcHandle", code)
    };
    assert!(close(pool.handle).is_err(), "it is not from a handle");
    put(handle).unwrap();
    put(handle).expect("once more is no error");
    drop(pool);
    // What was opened outlives the pool, and events outlive it.
    events[1].reset().unwrap();
    assert!(!events[0].is_signalled());
    close(opened[1]).unwrap();
    assert!(close(opened[1]).is_err());
    events[0].signal().unwrap();
    assert!(events[1].is_signalled());
    close(opened[0]).unwrap();
    assert!(open(handle).is_err(), "the pool is gone");
}

#[test]
fn pools_without_the_flag_and_handles_of_others_are_refused() {
    let plain = EventPool::host_visible(1);
    assert_eq!(
        get(&plain).err().map(|error| error.code),
        Some(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT)
    );
    let pool = EventPool::new(1, FLAGS).unwrap();
    let handle = get(&pool).unwrap();
    // A handle of a pool is none of memory, nor the other way round.
    let (platform, mut memory) = (platform(), ptr::null_mut());
    let as_memory = ze_ipc_mem_handle_t { data: handle.data };
    // SAFETY: live handles.
    let code = unsafe {
        platform.api.zeMemOpenIpcHandle(platform.context, platform.device, as_memory, 0, &mut memory)
    };
    assert_eq!(code, ZE_RESULT_ERROR_INVALID_ARGUMENT);
    for at in 0..40 {
        let mut forged = handle;
        forged.data[at] ^= 0x55;
        // The descriptor, or the process and its descriptor, are enough alone.
        if let Ok(pool) = open(forged) {
            // SAFETY: nobody uses the pool.
            assert_eq!(unsafe { platform.api.zeEventPoolCloseIpcHandle(pool) }, ZE_RESULT_SUCCESS);
            assert!(at < 4 || (8..16).contains(&at) || at >= 24, "byte {at}");
        }
    }
    let empty = ze_ipc_event_pool_handle_t::default();
    assert_eq!(open(empty).err().map(|error| error.code), Some(ZE_RESULT_ERROR_INVALID_ARGUMENT));
    let _: Event = pool.event(0);
}
