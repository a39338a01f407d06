//! What compiling modules of one pattern costs in seconds and memory.
//!
//! ```text
//! scale [--size N] [--variant NAME] [--kernel-limit SECONDS] [PATTERN...]
//! ```
//! Each pattern is compiled in a process of its own, at its large size and at half of that. Without patterns, all.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Instant;
use ze_engine::abi::{Coarsening, LaneMapping, Variant};
use ze_engine::analysis::inlining::Inlining;
use ze_engine::jit::Context;
use ze_engine::jit::pipeline;
use ze_engine::jit::target::Target;
use ze_tests::scale::{PATTERNS, Pattern};

/// Address space and seconds that one compilation may take.
const MOST_BYTES: u64 = 6 << 30;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let Some(at) = args.iter().position(|arg| arg == "--one") {
        let pattern = PATTERNS.iter().find(|pattern| pattern.name == args[at + 1]).expect("a pattern");
        return one(pattern, args[at + 2].parse().expect("a size"), &args[at + 3]);
    }
    let option = |name: &str| args.iter().position(|arg| arg == name).and_then(|at| args.get(at + 1));
    let size = option("--size").map(|size| size.parse::<u32>().expect("a size"));
    let variant = option("--variant").map_or("rows", String::as_str);
    let seconds = option("--seconds").map_or(30, |text| text.parse().expect("seconds"));
    let wanted = |pattern: &&Pattern| {
        let names: Vec<&String> =
            args.iter().filter(|arg| PATTERNS.iter().any(|pattern| pattern.name == **arg)).collect();
        names.is_empty() || names.iter().any(|name| **name == pattern.name)
    };
    println!(
        "{:34} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>6}",
        "pattern", "size", "KiB", "intake", "check", "lower", "passes", "emit", "MiB"
    );
    for pattern in PATTERNS.iter().filter(wanted) {
        let sizes = size.map_or(vec![pattern.large / 2, pattern.large], |size| vec![size]);
        for size in sizes {
            print!("{:34} {size:7} {:7}", pattern.name, (pattern.module)(size).len() >> 10);
            let mut child = Command::new(std::env::current_exe().expect("this program"));
            child.args(["--one", pattern.name, &size.to_string(), variant]).stderr(Stdio::inherit());
            // SAFETY: setrlimit and alarm are safe to call between fork and exec.
            unsafe {
                child.pre_exec(move || {
                    let limit = libc::rlimit { rlim_cur: MOST_BYTES, rlim_max: MOST_BYTES };
                    libc::setrlimit(libc::RLIMIT_AS, &limit);
                    libc::alarm(seconds);
                    Ok(())
                });
            }
            let output = child.output().expect("a child");
            print!("{}", String::from_utf8_lossy(&output.stdout));
            match output.status.success() {
                true => println!(),
                false => println!("  {}", output.status),
            }
        }
    }
}

fn one(pattern: &Pattern, size: u32, variant: &str) {
    use std::io::Write;
    let print = |text: String| {
        print!("{text}");
        let _ = std::io::stdout().flush();
    };
    let bytes = (pattern.module)(size);
    let profile = ze_extensions::DeviceProfile::host();
    let environment = spirv_env::Environment::new(&profile).with_engine(&ze_engine::lower::supports);
    let mut start = Instant::now();
    let mut lap = move || {
        let elapsed = start.elapsed();
        start = Instant::now();
        format!(" {:7.2}", elapsed.as_secs_f64())
    };
    let module = match spirv_env::build(&[spirv_env::ModuleInput::new(&bytes)], &environment) {
        Ok(module) => module,
        Err(error) => return print(format!("{}  refused: {error}", lap())),
    };
    print(lap());
    let target = Target::host().expect("a target machine");
    let (width, mapping) = match variant {
        "rows" => (16, LaneMapping::Rows),
        "line" => (16, LaneMapping::Line),
        "any" => (16, LaneMapping::Any),
        _ => (1, LaneMapping::Rows),
    };
    let variant = Variant {
        width,
        mapping,
        coarsening: Coarsening::Off,
        large_ids: false,
        most_items: ze_engine::engine::DEFAULT_MAX_GROUP_SIZE,
    };
    if let Err(error) = ze_engine::analysis::work::check(&module) {
        return print(format!("{}  refused: {error}", lap()));
    }
    print(lap());
    let lowered = ze_engine::lower::lower(
        &module,
        &module.kernels[0],
        variant,
        Inlining::default(),
        &target,
        &Context::new(),
    );
    let (ir, calls) = match lowered {
        Ok((ir, _, calls)) => (ir, calls),
        Err(error) => return print(format!("{} refused: {error}", lap())),
    };
    print(lap());
    let tier =
        if std::env::var_os("FAST").is_some() { pipeline::Tier::Fast } else { pipeline::Tier::Optimising };
    ir.verify().expect("valid IR");
    pipeline::optimise(&ir, &target, tier).expect("optimises");
    print(lap());
    let object = pipeline::object_code(ir, &target, tier).expect("emits");
    print(lap());
    // SAFETY: an all-zero rusage is valid and is written by the call.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let (frame, _) = calls.stack_bytes(&object.frames);
    print(format!(" {:6} frame {frame} code {}", usage.ru_maxrss >> 10, object.bytes.len()));
}
