//! What compiling modules of one pattern costs in processor time and memory, as they grow to a mebibyte.
//!
//! ```text
//! scale [--bytes N] [--size N] [--variant rows|line|any|one] [--seconds N] [--all] [PATTERN...]
//! ```
//! Each pattern is compiled in processes of their own: at the size at which its module has N bytes (a mebibyte unless
//! given), at a half and at a quarter of that. What is refused there is tried at the largest size that is accepted
//! as well. Without patterns, all. Seconds are those of the processor, so that other programs disturb little. A `!` marks
//! what grows faster than its module, a `#` what takes more than a gibibyte.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use ze_engine::abi::{LaneMapping, Variant};
use ze_engine::analysis::inlining::Inlining;
use ze_engine::jit::Context;
use ze_engine::jit::hash::digest;
use ze_engine::jit::pipeline::{self, Tier};
use ze_engine::jit::target::Target;
use ze_engine::{Engine, EngineConfig};
use ze_tests::scale::{PATTERNS, Pattern};

/// Address space that one compilation may take.
const MOST_BYTES: u64 = 6 << 30;
const MEBIBYTE: usize = 1 << 20;
/// Growth of the time when the size doubles, from which on a pattern is marked, if it takes longer than a second.
const GROWTH: f64 = 2.4;
const KIBIBYTES_MARKED: f64 = 1048576.0;
/// A refusal that takes longer than this many seconds is marked.
const REFUSAL: f64 = 1.0;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let pattern = |name: &str| PATTERNS.iter().find(|pattern| pattern.name == name);
    if let Some(at) = args.iter().position(|arg| arg == "--one") {
        let pattern = pattern(&args[at + 1]).expect("a pattern");
        return one(pattern, args[at + 2].parse().expect("a size"), &args[at + 3], &args[at + 4]);
    }
    let option = |name: &str| args.iter().position(|arg| arg == name).and_then(|at| args.get(at + 1));
    let number = |name: &str| option(name).map(|text| text.parse::<usize>().expect("a number"));
    let variant = option("--variant").map_or("launched", String::as_str);
    let seconds = number("--seconds").unwrap_or(120);
    let named: Vec<&Pattern> = args.iter().filter_map(|arg| pattern(arg)).collect();
    let wanted = if named.is_empty() { PATTERNS.iter().collect() } else { named };
    println!(
        "{:34} {:>7} {:>5} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>6} {:>6}",
        "pattern", "size", "KiB", "intake", "check", "lower", "passes", "emit", "sum", "MiB", "growth"
    );
    for pattern in wanted {
        let run = |size: u32, stage: &str| run(pattern, size, variant, stage, seconds as u64);
        if let Some(size) = number("--size") {
            row(pattern, size as u32, &run(size as u32, "all"), None);
            continue;
        }
        let mut largest = size_of(pattern, number("--bytes").unwrap_or(MEBIBYTE));
        let outcome = run(largest, "check");
        if outcome.refused() {
            row(pattern, largest, &outcome, None);
            let (mut fits, mut fails) = (1, largest);
            while fails - fits > (fits / 16).max(1) {
                let middle = fits + (fails - fits) / 2;
                let limit = if run(middle, "check").refused() { &mut fails } else { &mut fits };
                *limit = middle;
            }
            largest = fits;
        }
        let mut before = None;
        // What a module has in any size does not grow.
        let (least, bytes) = ((pattern.module)(1).len(), (pattern.module)(largest).len());
        for part in [4, 2, 1] {
            let size = if part == 1 { largest } else { size_of(pattern, least + (bytes - least) / part) };
            let outcome = run(size, "all");
            row(pattern, size, &outcome, before);
            before = Some(outcome.sum());
        }
    }
}

/// The largest size at which a module has no more than these bytes.
fn size_of(pattern: &Pattern, bytes: usize) -> u32 {
    let (mut fits, mut fails) = (1, 2);
    while (pattern.module)(fails).len() <= bytes && fails < 1 << 22 {
        (fits, fails) = (fails, fails * 2);
    }
    while fails - fits > (fits / 64).max(1) {
        let middle = fits + (fails - fits) / 2;
        let limit = if (pattern.module)(middle).len() <= bytes { &mut fits } else { &mut fails };
        *limit = middle;
    }
    fits
}

/// What a process said: seconds of each stage, memory, and why it ended.
struct Outcome {
    laps: Vec<f64>,
    kibibytes: f64,
    end: String,
}

impl Outcome {
    fn sum(&self) -> f64 {
        self.laps.iter().sum()
    }

    fn refused(&self) -> bool {
        self.end.contains("refused")
    }
}

fn row(pattern: &Pattern, size: u32, outcome: &Outcome, before: Option<f64>) {
    let kib = (pattern.module)(size).len() >> 10;
    let mut laps: Vec<String> = outcome.laps.iter().map(|lap| format!("{lap:7.2}")).collect();
    laps.resize(5, " ".repeat(7));
    let (sum, memory) = (outcome.sum(), outcome.kibibytes);
    let growth = before.map(|before| sum / before.max(0.001));
    let slow =
        outcome.refused() && sum > REFUSAL || growth.is_some_and(|growth| growth > GROWTH && sum > 1.0);
    let marks = [(slow, '!'), (memory > KIBIBYTES_MARKED, '#')];
    let marks: String = marks.iter().filter(|mark| mark.0).map(|mark| mark.1).collect();
    let growth = growth.map_or(" ".repeat(6), |growth| format!("{growth:6.2}"));
    let end: String = outcome.end.chars().take(150).collect();
    println!(
        "{:34} {size:7} {kib:5} {} {sum:7.2} {:6.0} {growth} {marks} {end}",
        pattern.name,
        laps.join(" "),
        memory / 1024.0
    );
}

/// Runs a pattern in a process of its own.
fn run(pattern: &Pattern, size: u32, variant: &str, stage: &str, seconds: u64) -> Outcome {
    let mut child = Command::new(std::env::current_exe().expect("this program"));
    child.args(["--one", pattern.name, &size.to_string(), variant, stage]).stderr(Stdio::inherit());
    // SAFETY: setrlimit is safe to call between fork and exec.
    unsafe {
        child.pre_exec(move || {
            for (resource, most) in [(libc::RLIMIT_AS, MOST_BYTES), (libc::RLIMIT_CPU, seconds)] {
                libc::setrlimit(resource, &libc::rlimit { rlim_cur: most, rlim_max: most });
            }
            Ok(())
        });
    }
    let output = child.output().expect("a child");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut outcome = Outcome { laps: Vec::new(), kibibytes: 0.0, end: String::new() };
    for line in text.lines() {
        match line.split_once(' ') {
            Some(("lap", time)) => outcome.laps.push(time.parse().expect("seconds")),
            Some(("memory", amount)) => outcome.kibibytes = amount.parse().expect("kibibytes"),
            _ => outcome.end.push_str(line),
        }
    }
    if !output.status.success() {
        outcome.end = format!("{} {}", output.status, outcome.end);
    }
    outcome
}

/// Resources that this process has used: seconds, kibibytes.
fn used() -> (f64, i64) {
    // SAFETY: an all-zero rusage is valid and is written by the call.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    (seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss)
}

/// In a process of its own: the stages, each with its time.
fn one(pattern: &Pattern, size: u32, variant: &str, stage: &str) {
    let bytes = (pattern.module)(size);
    let mut start = used().0;
    let mut lap = move || {
        let now = used();
        println!("lap {}\nmemory {}", now.0 - start, now.1);
        start = now.0;
    };
    let profile = ze_extensions::DeviceProfile::host();
    let environment = spirv_env::Environment::new(&profile).with_engine(&Engine::supports);
    let built = spirv_env::build(&[spirv_env::ModuleInput::new(&bytes)], &environment);
    lap();
    let module = match built {
        Ok(module) => module,
        Err(error) => return println!("refused: {}", error.to_string().replace('\n', " ")),
    };
    let engine = Engine::new(EngineConfig { threads: 1, ..EngineConfig::default() });
    let module = std::sync::Arc::new(module);
    let program = engine.load(std::sync::Arc::clone(&module), digest(&[&bytes]));
    lap();
    let program = match program {
        Ok(program) => program,
        Err(error) => return println!("refused: {error}"),
    };
    if stage == "check" {
        return;
    }
    let target = Target::host().expect("a target machine");
    let launched = program.kernel(&module.kernels[0].name).expect("a kernel").variant([256, 1, 1]);
    let variant = match variant {
        "launched" => launched,
        "rows" => Variant::new(16, LaneMapping::Rows),
        "line" => Variant::new(16, LaneMapping::Line),
        "any" => Variant::new(16, LaneMapping::Any),
        _ => Variant::new(1, LaneMapping::Rows),
    };
    let (kernel, inlining) = (&module.kernels[0], Inlining::default());
    let lowered =
        ze_engine::lower::best_variant(&module, kernel, variant, inlining, &target).and_then(|variant| {
            ze_engine::lower::lower(&module, kernel, variant, inlining, &target, &Context::new())
        });
    lap();
    let (ir, calls) = match lowered {
        Ok((ir, _, calls)) => (ir, calls),
        Err(error) => return println!("FAILS late: {error}"),
    };
    let tier = if std::env::var_os("FAST").is_some() { Tier::Fast } else { Tier::Optimising };
    ir.verify().expect("valid IR");
    pipeline::optimise(&ir, &target, tier).expect("optimises");
    lap();
    let object = pipeline::object_code(ir, &target, tier).expect("emits");
    lap();
    let (frame, _) = calls.stack_bytes(&object.frames);
    println!("frame {frame} code {}", object.bytes.len());
}
