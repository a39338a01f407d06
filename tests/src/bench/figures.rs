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

/// How often numbers of threads are measured, in turns: processors change their speed from minute to minute.
const ROUNDS: usize = 5;

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

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// All of them.
pub fn all() -> Result<Vec<Value>> {
    let mut starts = Vec::new();
    for _ in 0..11 {
        starts.extend(ask(STARTUP, None)?);
    }
    let middle =
        |column: usize| median(starts.iter().filter_map(|start| start.get(column).copied()).collect());
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
    // Many more threads than cores: what distribution and switching cost.
    let many: Vec<usize> = [64, 256].into_iter().filter(|&threads| threads <= 256.max(4 * cores)).collect();
    let mut against_one = [Vec::new(), Vec::new()];
    let mut against_all = vec![Vec::new(); many.len()];
    for _ in 0..ROUNDS {
        let best = |row: &Vec<f64>| row.first().copied();
        let one: Vec<f64> = ask(SPEED, Some(1))?.iter().filter_map(best).collect();
        let all: Vec<f64> = ask(SPEED, Some(cores))?.iter().filter_map(best).collect();
        for ((one, all), ratios) in one.iter().zip(&all).zip(&mut against_one) {
            ratios.push(one / all);
        }
        for (&threads, ratios) in many.iter().zip(&mut against_all) {
            let rows = ask(SPEED, Some(threads)).unwrap_or_default();
            ratios.extend(rows.first().and_then(best).zip(all.first()).map(|(many, all)| many / all));
        }
    }
    let kinds = [("bound by arithmetic (n-body)", "at least 1.9 on two"), ("bound by memory (triad)", "–")];
    for ((name, goal), ratios) in kinds.into_iter().zip(against_one) {
        let name = format!("{cores} threads against one, {name}");
        figures.push(figure(&name, goal, format!("{:.2}", median(ratios))));
    }
    for (threads, ratios) in many.into_iter().zip(against_all) {
        let name = format!("{threads} threads on {cores} cores, time against {cores} threads (n-body)");
        figures.push(figure(&name, "near 1", format!("{:.2}", median(ratios))));
    }
    Ok(figures)
}
