//! Measures what a launch costs, and what a program pays for its kernels when the code cache has them.
//!
//! ```text
//! launches [--rounds N]        nanoseconds a launch of kernels that do nothing
//! launches --start NAME...     one launch of every kernel of these modules of `tests/kernels`, milliseconds
//! ```

use std::env;
use std::time::{Duration, Instant};

use ze_headers::*;
use ze_tests::platform::Result;
use ze_tests::{CommandList, Kernel, ListOptions, Module, Queue, platform};

/// Launches that are measured together.
const COUNT: u32 = 1000;

fn main() -> Result<()> {
    let mut args = env::args().skip(1);
    match args.next().as_deref() {
        Some("--start") => start(&args.collect::<Vec<_>>()),
        Some("--rounds") => launches(args.next().and_then(|rounds| rounds.parse().ok()).unwrap_or(1)),
        _ => launches(51),
    }
}

/// Sets every argument: buffers where pointers are taken, else zeros, and a little local memory.
fn set_arguments(kernel: &Kernel, buffer: usize) -> Result<()> {
    for index in 0..kernel.properties()?.numKernelArgs {
        // Numbers first, for a pointer's bytes would be taken for a large one.
        if [1, 2, 4].into_iter().any(|size| kernel.set_bytes(index, &[0; 4][..size]).is_ok()) {
            continue;
        }
        match kernel.set_bytes(index, &buffer.to_ne_bytes()) {
            Err(error) if error.code == ZE_RESULT_ERROR_INVALID_ARGUMENT => kernel.set_size(index, 4096)?,
            // A vector or structure.
            Err(error) => {
                (9..=256).find(|&size| kernel.set_size(index, size).is_ok()).ok_or(error).map(drop)?
            }
            Ok(()) => {}
        }
    }
    Ok(())
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_nanos() as f64 / f64::from(COUNT)
}

/// The median time of several rounds, for one launch.
fn nanoseconds(rounds: usize, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    let once = |_| {
        let start = Instant::now();
        work().map(|()| start.elapsed())
    };
    (0..rounds + 2).map(once).collect::<Result<Vec<_>>>().map(|times| median(times[2..].to_vec()))
}

fn launches(rounds: usize) -> Result<()> {
    let (module, buffer) = (Module::named("launches"), platform().filled(0u64, 1024));
    let append = |list: &CommandList, kernel: &Kernel| {
        (0..COUNT).try_for_each(|_| list.launch(kernel, [1, 1, 1], None, &[]))
    };
    println!(
        "{:12} {:>8} {:>8} {:>8} {:>10} {:>10}",
        "arguments", "append", "execute", "both", "immediate", "async"
    );
    for count in ["0", "4", "16"] {
        let kernel = module.kernel(&format!("arguments_{count}"));
        kernel.set_group_size([16, 1, 1])?;
        set_arguments(&kernel, buffer.pointer() as usize)?;
        let (list, queue) = (CommandList::regular(false)?, Queue::new(ListOptions::asynchronous())?);
        let (mut appends, mut executions) = (Vec::new(), Vec::new());
        for round in 0..rounds + 2 {
            list.reset()?;
            let start = Instant::now();
            append(&list, &kernel)?;
            list.close()?;
            let appended = Instant::now();
            queue.execute(&[&list], None)?;
            queue.synchronize(u64::MAX)?;
            if round >= 2 {
                appends.push(appended - start);
                executions.push(appended.elapsed());
            }
        }
        let (appended, executed) = (median(appends), median(executions));
        let immediate = CommandList::immediate(ListOptions::synchronous())?;
        let synchronous = nanoseconds(rounds, || append(&immediate, &kernel))?;
        let immediate = CommandList::immediate(ListOptions::in_order())?;
        let asynchronous = nanoseconds(rounds, || {
            append(&immediate, &kernel)?;
            immediate.synchronize(u64::MAX)
        })?;
        println!(
            "{count:12} {appended:8.0} {executed:8.0} {:8.0} {synchronous:10.0} {asynchronous:10.0}",
            appended + executed
        );
    }
    Ok(())
}

fn start(names: &[String]) -> Result<()> {
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    let buffer = platform().filled(0u64, 1 << 20);
    let list = CommandList::immediate(ListOptions::synchronous())?;
    let (mut kernels, mut creation, mut first) = (0u32, Duration::ZERO, Duration::ZERO);
    for name in names {
        let start = Instant::now();
        let module = Module::named(name);
        creation += start.elapsed();
        for name in module.kernel_names()? {
            let start = Instant::now();
            let kernel = module.kernel(&name);
            let required = kernel.properties()?;
            if required.requiredGroupSizeX == 0 {
                kernel.set_group_size([32, 8, 1])?;
            }
            set_arguments(&kernel, buffer.pointer() as usize)?;
            list.launch(&kernel, [1, 1, 1], None, &[])?;
            first += start.elapsed();
            kernels += 1;
        }
    }
    println!(
        "{kernels} kernels: modules {:.2} ms, kernels and first launches {:.2} ms, {:.3} ms each",
        milliseconds(creation),
        milliseconds(first),
        milliseconds(first) / f64::from(kernels.max(1))
    );
    Ok(())
}
