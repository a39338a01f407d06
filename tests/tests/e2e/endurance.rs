//! What takes longer than other tests, or all of the CPU: `ci/test` runs these alone, with `--ignored`.

use std::fs;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ze_headers::*;
use ze_tests::process::status;
use ze_tests::{CommandList, EventPool, Fence, ListOptions, MemoryKind, Module, Queue, platform};

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

/// A program's objects from their making to their end: a kernel, three kinds of memory, events, and lists of a kind that the round
/// chooses. What is computed is checked.
fn live_and_work(module: &Module, round: usize) {
    const ITEMS: usize = 1024;
    let (a, b) = ((round % 997) as f32, (round % 89) as f32);
    let first: Vec<f32> = (0..ITEMS).map(|item| a + item as f32).collect();
    let first = platform().buffer_in(MemoryKind::Shared, &first);
    let second = platform().buffer_in(MemoryKind::Device, &[0f32; ITEMS]);
    let sum = platform().buffer_in(MemoryKind::Host, &[0f32; ITEMS]);
    let kernel = module.kernel("vector_add");
    kernel.set_group_size([64, 1, 1]).unwrap();
    kernel.set_arguments(&[&first, &second, &sum, &(ITEMS as u32)]).unwrap();
    let groups = [(ITEMS / 64) as u32, 1, 1];
    let pool = EventPool::host_visible(3);
    let [gate, filled, done] = [0, 1, 2].map(|index| pool.event(index));
    let (pattern, bytes) = (b.to_ne_bytes(), size_of_val(&[0f32; ITEMS]));
    let to = second.pointer().cast();
    if round % 4 == 3 {
        let (queue, list) =
            (Queue::new(ListOptions::asynchronous()).unwrap(), CommandList::regular(false).unwrap());
        let fence = Fence::new(&queue, false).unwrap();
        // SAFETY: the memory outlives the commands.
        unsafe { list.fill(to, &pattern, bytes, Some(&filled), &[&gate]).unwrap() };
        list.launch(&kernel, groups, Some(&done), &[&filled]).unwrap();
        list.close().unwrap();
        queue.execute(&[&list], Some(&fence)).unwrap();
        gate.signal().unwrap();
        fence.wait(FOREVER).unwrap();
        assert!(done.is_signalled());
        queue.synchronize(FOREVER).unwrap();
    } else {
        let synchronous = round % 4 == 2;
        let options = if synchronous { ListOptions::synchronous() } else { ListOptions::asynchronous() };
        let (list, other) = (
            CommandList::immediate(options).unwrap(),
            CommandList::immediate(ListOptions::in_order()).unwrap(),
        );
        if synchronous {
            gate.signal().unwrap();
        }
        // SAFETY: the memory outlives the commands.
        unsafe { other.fill(to, &pattern, bytes, Some(&filled), &[]).unwrap() };
        list.launch(&kernel, groups, Some(&done), &[&gate, &filled]).unwrap();
        if !synchronous {
            gate.signal().unwrap();
        }
        if round % 8 < 4 {
            done.wait(FOREVER).unwrap()
        } else {
            list.synchronize(FOREVER).unwrap()
        }
        other.synchronize(FOREVER).unwrap();
        list.synchronize(FOREVER).unwrap();
    }
    assert!(sum.iter().enumerate().all(|(item, &sum)| sum == a + item as f32 + b), "round {round}");
}

/// KiB of memory, threads, and files of this process once the driver's workers, which end when they have had nothing to do for half
/// a second, are gone.
fn held() -> [usize; 3] {
    thread::sleep(Duration::from_secs(1));
    [status("VmRSS") as usize, status("Threads") as usize, resources("self").0]
}

/// Seconds that may be more: `ZE_TEST_SECONDS=300`.
#[test]
#[ignore = "it takes long"]
fn sixteen_threads_make_use_and_destroy_and_nothing_grows() {
    const THREADS: usize = 16;
    let seconds = std::env::var("ZE_TEST_SECONDS").ok().and_then(|seconds| seconds.parse().ok()).unwrap_or(4);
    let module = Module::named("vector_add");
    let work = |time| {
        let end = Instant::now() + time;
        thread::scope(|scope| {
            for thread in 0..THREADS {
                let module = &module;
                scope.spawn(move || {
                    (thread..)
                        .take_while(|_| Instant::now() < end)
                        .for_each(|round| live_and_work(module, round));
                });
            }
        });
    };
    // What is kept for reuse is there after a while.
    work(Duration::from_secs(seconds / 4));
    let before = held();
    work(Duration::from_secs(seconds));
    let growth = [32 << 10, 4, 4];
    let has_grown = |after: [usize; 3]| {
        before.iter().zip(after).zip(growth).any(|((before, after), growth)| after > before + growth)
    };
    // Where others keep the processors busy, threads take longer to end.
    let mut after = held();
    for _ in 0..20 {
        if !has_grown(after) {
            return;
        }
        after = held();
    }
    panic!("{before:?} to {after:?}: KiB, threads, files");
}
