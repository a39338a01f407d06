//! Figures that need a process of their own: how a program starts, and how kernels scale. The benchmark runs itself again for
//! them, with a word that says what to measure.

use std::env;
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};

use super::level_zero::LevelZero;
use super::{Effort, Result, cases, measure};
use crate::loader::Api;
use crate::platform::Platform;
use crate::process::status;

/// What a child can be asked for.
const STARTUP: &str = "startup";
const SPEED: &str = "speed";

/// Resident memory of this process, in KiB.
fn resident() -> u64 {
    status("VmRSS")
}

/// In the child: measures and prints numbers.
pub fn child(what: &str) -> Result<()> {
    match what {
        STARTUP => {
            let before = resident();
            let api = Api::open_loader()?;
            let start = Instant::now();
            let platform = Platform::initialise(api).map_err(|error| format!("{error:?}"))?;
            platform.device_properties().map_err(|error| format!("{error:?}"))?;
            let time = start.elapsed();
            println!("{} {} {}", time.as_nanos(), resident(), resident() - before);
        }
        SPEED => {
            for case in [cases::SCALING_ARITHMETIC, cases::SCALING_MEMORY] {
                let case = case();
                let outcome = measure(&case, &[&LevelZero::driver()], Effort::full()).remove(0)?;
                let times = outcome.ok_or("the driver takes part in all cases")?;
                println!("{} {}", times.best().as_nanos(), times.median().as_nanos());
            }
        }
        _ => return Err(format!("there is nothing to measure that is called {what}").into()),
    }
    Ok(())
}

/// The numbers of each line that a child prints.
fn ask(what: &str, threads: Option<usize>) -> Result<Vec<Vec<f64>>> {
    let mut command = Command::new(env::current_exe()?);
    command.args(["--child", what]);
    if let Some(threads) = threads {
        command.env("ZE_CPU_THREADS", threads.to_string());
    }
    let output = command.output()?;
    if !output.status.success() {
        return Err(format!("{what}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let text = String::from_utf8(output.stdout)?;
    let numbers = |line: &str| line.split_whitespace().map(str::parse).collect::<std::result::Result<_, _>>();
    Ok(text.lines().map(numbers).collect::<std::result::Result<_, _>>()?)
}

fn figure(name: &str, goal: &str, value: String) -> Value {
    json!({ "name": name, "goal": goal, "value": value })
}

/// All of them.
pub fn all() -> Result<Vec<Value>> {
    let mut starts = Vec::new();
    for _ in 0..11 {
        starts.extend(ask(STARTUP, None)?);
    }
    let middle = |column: usize| {
        let mut values: Vec<f64> = starts.iter().filter_map(|start| start.get(column).copied()).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
    };
    let mut figures = vec![
        figure(
            "`zeInit` to the first property, new process",
            "at most 5 ms",
            format!("median {:.2} ms", middle(0) / 1e6),
        ),
        figure(
            "resident memory behind that",
            "at most 40 MiB",
            format!("{:.1} MiB, of which the driver brought {:.1}", middle(1) / 1024.0, middle(2) / 1024.0),
        ),
    ];
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let one = ask(SPEED, Some(1))?;
    let all = ask(SPEED, Some(cores))?;
    for (number, (name, goal)) in
        [("bound by arithmetic (n-body)", "at least 1.9 on two"), ("bound by memory (triad)", "–")]
            .into_iter()
            .enumerate()
    {
        let times = [one.get(number), all.get(number)].map(|row| row.and_then(|row| row.first().copied()));
        if let [Some(one), Some(all)] = times {
            let name = format!("{cores} threads against one, {name}");
            figures.push(figure(&name, goal, format!("{:.2}", one / all)));
        }
    }
    // Many more threads than cores: what distribution and switching cost.
    for threads in [64, 256].into_iter().filter(|&threads| threads <= 256.max(4 * cores)) {
        let many = ask(SPEED, Some(threads)).ok().and_then(|rows| rows.first()?.first().copied());
        let base = all.first().and_then(|row| row.first());
        if let (Some(many), Some(base)) = (many, base) {
            let name = format!("{threads} threads on {cores} cores, time against {cores} threads (n-body)");
            figures.push(figure(&name, "near 1", format!("{:.2}", many / base)));
        }
    }
    Ok(figures)
}
