//! Measures how long single calls take: medians of ten thousand, in nanoseconds, of which the two looks at the clock are part.
//!
//! ```text
//! latency [--live N] [--bytes N]     N live allocations of so many bytes for the look-ups (a million of 4096)
//! ```

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{env, ptr, thread};

use ze_headers::*;
use ze_tests::platform::Result;
use ze_tests::process::status;
use ze_tests::random::Random;
use ze_tests::{CommandList, EventPool, Kernel, ListOptions, MemoryKind, Module, platform};

const ROUNDS: usize = 10_000;
/// Lists that live at the same time.
const LISTS: usize = 10_000;
/// Look-ups that one measurement takes the mean of: one alone is as short as a look at the clock.
const TOGETHER: usize = 16;
const FOREVER: u64 = u64::MAX;

fn main() -> Result<()> {
    let args: Vec<String> = env::args().skip(1).collect();
    let number = |name: &str, otherwise: usize| {
        let at = args.iter().position(|arg| arg == name);
        at.and_then(|at| args.get(at + 1)?.parse().ok()).unwrap_or(otherwise)
    };
    let kernel = Module::named("launches").kernel("arguments_0");
    kernel.set_group_size([1, 1, 1])?;
    println!("{:64} {:>8} {:>8} {:>8}", "", "median", "p10", "p90");
    report("two looks at the clock", time(ROUNDS, |_| Ok(()))?);
    launches(&kernel)?;
    signals()?;
    lists(&kernel)?;
    look_ups(number("--live", 1_000_000), number("--bytes", 4096))
}

/// The time of each of several calls.
fn time(rounds: usize, mut call: impl FnMut(usize) -> Result<()>) -> Result<Vec<f64>> {
    (0..rounds)
        .map(|round| {
            let start = Instant::now();
            call(round)?;
            Ok(start.elapsed().as_nanos() as f64)
        })
        .collect()
}

fn report(what: &str, mut times: Vec<f64>) {
    times.sort_unstable_by(f64::total_cmp);
    let part = |tenths: usize| times[times.len() * tenths / 10];
    println!("{what:64} {:8.0} {:8.0} {:8.0}", part(5), part(1), part(9));
}

fn launches(kernel: &Kernel) -> Result<()> {
    let synchronous = CommandList::immediate(ListOptions { in_order: true, ..ListOptions::synchronous() })?;
    let launch = |list: &CommandList| list.launch(kernel, [1, 1, 1], None, &[]);
    // The first launches wait for code.
    for _ in 0..ROUNDS {
        launch(&synchronous)?;
    }
    thread::sleep(Duration::from_millis(300));
    report("empty kernel, synchronous in-order immediate list", time(ROUNDS, |_| launch(&synchronous))?);
    let asynchronous = CommandList::immediate(ListOptions::in_order())?;
    let appended = time(ROUNDS, |round| {
        let result = launch(&asynchronous);
        if round % 100 == 99 {
            asynchronous.synchronize(FOREVER)?
        }
        result
    })?;
    report("append on an asynchronous in-order immediate list, idle", appended);
    let pool = EventPool::host_visible(1);
    let gate = pool.event(0);
    asynchronous.barrier(None, &[&gate])?;
    report("append on such a list behind a wait", time(ROUNDS, |_| launch(&asynchronous))?);
    gate.signal()?;
    asynchronous.synchronize(FOREVER)
}

/// From the signal of one thread to the end of the wait of another one, which has waited for so many microseconds.
fn signals() -> Result<()> {
    let pool = EventPool::host_visible(1);
    let event = pool.event(0);
    for waited in [0, 2, 100, 1000] {
        let (waits, ends) = (AtomicUsize::new(0), AtomicU64::new(0));
        let start = Instant::now();
        let now = || start.elapsed().as_nanos() as u64;
        let times = thread::scope(|scope| {
            scope.spawn(|| {
                for round in 1..=ROUNDS {
                    waits.store(round, Ordering::Release);
                    event.wait(FOREVER).expect("the event is signalled");
                    let end = now();
                    event.reset().expect("the event is alive");
                    ends.store(end, Ordering::Release);
                    while ends.load(Ordering::Acquire) != 0 {
                        std::hint::spin_loop();
                    }
                }
            });
            let once = |round| {
                while waits.load(Ordering::Acquire) != round {
                    std::hint::spin_loop();
                }
                let begin = now();
                while now() < begin + waited * 1000 {
                    std::hint::spin_loop();
                }
                let begin = now();
                event.signal()?;
                let end = loop {
                    match ends.load(Ordering::Acquire) {
                        0 => std::hint::spin_loop(),
                        end => break end,
                    }
                };
                ends.store(0, Ordering::Release);
                Ok(end as f64 - begin as f64)
            };
            (1..=ROUNDS).map(once).collect::<Result<Vec<_>>>()
        })?;
        report(&format!("signal to a host thread that has waited for {waited} µs"), times);
    }
    Ok(())
}

/// KiB of memory and threads of this process.
fn held() -> [f64; 2] {
    ["VmRSS", "Threads"].map(|name| status(name) as f64)
}

fn lists(kernel: &Kernel) -> Result<()> {
    let before = held();
    let live = (0..LISTS)
        .map(|at| {
            let options = if at % 2 == 0 { ListOptions::in_order() } else { ListOptions::synchronous() };
            let list = CommandList::immediate(options)?;
            list.launch(kernel, [1, 1, 1], None, &[])?;
            Ok(list)
        })
        .collect::<Result<Vec<_>>>()?;
    let after = held();
    let each = (after[0] - before[0]) / LISTS as f64;
    println!("{LISTS} live immediate lists: {each:.2} KiB each, {} threads more", after[1] - before[1]);
    live.iter().try_for_each(|list| list.synchronize(FOREVER))
}

/// Two threads ask for allocations by pointers inside of them.
fn look_ups(live: usize, bytes: usize) -> Result<()> {
    let platform = platform();
    let start = Instant::now();
    let allocations = (0..live)
        .map(|_| platform.allocate(MemoryKind::Device, bytes, 0).map(|pointer| pointer as usize))
        .collect::<Result<Vec<_>>>()?;
    println!(
        "{live} live allocations of {bytes} bytes: {:.0} ns to make one",
        start.elapsed().as_nanos() as f64 / live as f64
    );
    let addresses = |seed: u64| {
        let mut random = Random::new(seed);
        let mut number = |below: usize| random.next_u64() as usize % below;
        (0..ROUNDS * TOGETHER).map(|_| allocations[number(live)] + number(bytes)).collect::<Vec<_>>()
    };
    let measure = |seed: u64, look: &(dyn Fn(usize) -> Result<()> + Sync)| {
        let addresses = addresses(seed);
        let times = time(ROUNDS, |round| {
            addresses[round * TOGETHER..][..TOGETHER].iter().try_for_each(|&address| look(address))
        });
        times.map(|times| times.into_iter().map(|time| time / TOGETHER as f64).collect::<Vec<_>>())
    };
    let range = |address: usize| {
        let (mut base, mut size) = (ptr::null_mut(), 0);
        // SAFETY: live handles, and places for the results.
        let code = unsafe {
            platform.api.zeMemGetAddressRange(platform.context, address as _, &mut base, &mut size)
        };
        assert!(black_box(base) as usize <= address && size == bytes);
        platform.check("zeMemGetAddressRange", code)
    };
    let properties = |address: usize| {
        let mut properties = ze_memory_allocation_properties_t {
            stype: ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES,
            ..Default::default()
        };
        let mut device = ptr::null_mut();
        // SAFETY: live handles, and places for the results.
        let code = unsafe {
            platform.api.zeMemGetAllocProperties(platform.context, address as _, &mut properties, &mut device)
        };
        assert_eq!((properties.type_, device), (ZE_MEMORY_TYPE_DEVICE, platform.device));
        platform.check("zeMemGetAllocProperties", code)
    };
    for (name, look) in [
        ("zeMemGetAddressRange", &range as &(dyn Fn(usize) -> Result<()> + Sync)),
        ("zeMemGetAllocProperties", &properties),
    ] {
        let times = thread::scope(|scope| {
            let threads = [1, 2].map(|seed| scope.spawn(move || measure(seed, look)));
            threads.map(|thread| thread.join().expect("no panic"))
        });
        for times in times {
            report(&format!("{name}, one of two threads"), times?);
        }
    }
    // SAFETY: nobody uses the memory.
    allocations.into_iter().try_for_each(|address| unsafe { platform.free(address as *mut _) })
}
