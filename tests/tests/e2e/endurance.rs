//! What takes longer than other tests, or all of the CPU: `ci/test` runs these alone, with `--ignored`.

use std::fs;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use ze_headers::*;
use ze_tests::{CommandList, EventPool, ListOptions, MemoryKind, Module, Queue, platform};

use crate::ipc::{Other, digits};

const FOREVER: u64 = u64::MAX;

/// Runs something while many more threads than there are cores are busy.
fn under_load(run: impl FnOnce()) {
    const BUSY: usize = 24;
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..BUSY {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        // Also where it panics: the scope waits for its threads.
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
        over.store(true, Ordering::Relaxed);
        result.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

/// What SYCL's adapter does for each replay of a graph: on a queue, a list that resets an event and one that works and signals it;
/// then, on an immediate list of the same ordinal and index, a wait for it.
#[test]
#[ignore = "it takes all of the CPU"]
fn replays_stay_in_step_under_load() {
    const REPLAYS: usize = 60;
    let module = Module::named("vector_add");
    let (sum, step) = (platform().filled(0f32, 64), platform().filled(1f32, 64));
    let kernel = module.kernel("vector_add");
    kernel.set_group_size([64, 1, 1]).unwrap();
    kernel.set_arguments(&[&sum, &step, &sum, &64u32]).unwrap();
    let pool = EventPool::host_visible(1);
    let event = pool.event(0);
    let (reset, work) = (CommandList::regular(true).unwrap(), CommandList::regular(true).unwrap());
    reset.reset_event(&event).unwrap();
    work.launch(&kernel, [1, 1, 1], None, &[]).unwrap();
    work.signal_event(&event).unwrap();
    reset.close().unwrap();
    work.close().unwrap();
    for options in [ListOptions::asynchronous(), ListOptions::in_order()] {
        let seen = platform().filled(0f32, REPLAYS);
        let before = sum[0];
        under_load(|| {
            let (queue, immediate) =
                (Queue::new(ListOptions::asynchronous()).unwrap(), CommandList::immediate(options).unwrap());
            for replay in 0..REPLAYS {
                queue.execute(&[&reset], None).unwrap();
                queue.execute(&[&work], None).unwrap();
                immediate.barrier(None, &[&event]).unwrap();
                // SAFETY: both buffers outlive the commands.
                unsafe {
                    let to = seen.pointer().add(replay);
                    immediate.copy(to.cast(), sum.pointer().cast(), 4, None, &[]).unwrap();
                }
            }
            immediate.synchronize(FOREVER).unwrap();
            queue.synchronize(FOREVER).unwrap();
        });
        assert!(sum.iter().all(|&sum| sum == before + REPLAYS as f32), "{}", sum[0]);
        for (replay, &seen) in seen.iter().enumerate() {
            assert!(seen > before + replay as f32, "replay {replay} saw the work of {}", seen - before);
        }
    }
}

/// File descriptors and mappings of a process.
fn resources(process: &str) -> (usize, usize) {
    let files = fs::read_dir(format!("/proc/{process}/fd")).expect("a process of this user").count();
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).expect("a process of this user");
    (files, maps.lines().count())
}

#[test]
#[ignore = "it takes long"]
fn ten_thousand_exchanges_of_memory_and_events_leak_nothing() {
    const EXCHANGES: usize = 10_000;
    let mut other = Other::start();
    let process = other.id().to_string();
    let mut before = None;
    for round in 0..EXCHANGES {
        let memory = platform().allocate(MemoryKind::Device, 4096, 0).unwrap().cast::<u8>();
        let pool = EventPool::new(1, ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_IPC).unwrap();
        let event = pool.event(0);
        let (api, context) = (&platform().api, platform().context);
        let (mut of_memory, mut of_events) =
            (ze_ipc_mem_handle_t::default(), ze_ipc_event_pool_handle_t::default());
        // SAFETY: live objects.
        unsafe {
            memory.write(round as u8);
            assert_eq!(api.zeMemGetIpcHandle(context, memory.cast(), &mut of_memory), ZE_RESULT_SUCCESS);
            assert_eq!(api.zeEventPoolGetIpcHandle(pool.handle, &mut of_events), ZE_RESULT_SUCCESS);
        }
        assert_eq!(other.ask(&format!("open {}", digits(&of_memory.data))), round.to_string());
        assert_eq!(other.ask(&format!("pool {}", digits(&of_events.data))), round.to_string());
        assert_eq!(other.ask(&format!("event {round} 0")), round.to_string());
        assert_eq!(other.ask(&format!("read {round} 0")), (round as u8).to_string());
        assert_eq!(other.ask(&format!("write {round} 1 {}", round % 251)), "done");
        assert_eq!(other.ask(&format!("signal {round}")), "done");
        event.wait(FOREVER).unwrap();
        // SAFETY: the memory is live; the other process is done with it.
        unsafe { assert_eq!(memory.add(1).read(), (round % 251) as u8) };
        for end in ["close", "drop", "unpool"] {
            assert_eq!(other.ask(&format!("{end} {round}")), "done");
        }
        drop(event);
        // SAFETY: nothing uses the memory.
        unsafe {
            assert_eq!(api.zeMemPutIpcHandle(context, of_memory), ZE_RESULT_SUCCESS);
            platform().free(memory.cast()).unwrap();
        }
        // What is kept for reuse is there after a while.
        if round == EXCHANGES / 10 {
            before = Some([resources("self"), resources(&process)]);
        }
    }
    let (before, after) = (before.expect("it was taken"), [resources("self"), resources(&process)]);
    for (before, after) in before.into_iter().zip(after) {
        assert!(after.0 <= before.0 + 8 && after.1 <= before.1 + 32, "{before:?} to {after:?}");
    }
    let mut none = null_mut();
    // SAFETY: the handle is of memory that is gone.
    let code = unsafe {
        let (context, device) = (platform().context, platform().device);
        platform().api.zeMemOpenIpcHandle(context, device, ze_ipc_mem_handle_t::default(), 0, &mut none)
    };
    assert_eq!(code, ZE_RESULT_ERROR_INVALID_ARGUMENT);
}
