//! Compiles all kernels of a folder of modules, and says what that takes and what the code is like.
//!
//! ```text
//! corpus [--sample N] [--threads N] [--width W] [--census] FOLDER
//! ```
//! `--sample` takes every module whose number, in the order of their names, is a multiple of N; `--census` only analyses. The program
//! fails if a module is refused or a kernel does not compile. What an analysis calls a row, a gather and so on is in
//! `ze_engine::lower::census`.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use ze_engine::abi::{Coarsening, LaneMapping, Variant};
use ze_engine::analysis::inlining::Inlining;
use ze_engine::jit::Context;
use ze_engine::jit::pipeline::{self, Tier};
use ze_engine::jit::target::Target;
use ze_engine::lower;
use ze_engine::lower::census::Census;

struct Options {
    sample: usize,
    threads: usize,
    width: Option<u32>,
    census: bool,
    folder: PathBuf,
}

fn parse() -> Options {
    let mut options = Options { sample: 1, threads: 2, width: None, census: false, folder: PathBuf::new() };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut number =
            || args.next().and_then(|text| text.parse::<usize>().ok()).expect("a number behind the option");
        match arg.as_str() {
            "--sample" => options.sample = number().max(1),
            "--threads" => options.threads = number().max(1),
            "--width" => options.width = Some(number() as u32),
            "--census" => options.census = true,
            path => options.folder = path.into(),
        }
    }
    options
}

/// What was found in some modules.
#[derive(Default)]
struct Findings {
    modules: usize,
    /// Refused modules and kernels without code, with reasons.
    failures: Vec<String>,
    census: Census,
    /// Kernels with gathers or scatters.
    kernels_lane_by_lane: usize,
    /// Kernels whose work-items walk through memory of their own, and those of them whose vectors are iterations.
    walks: usize,
    iterations: usize,
    /// What trying to make those took.
    trying: Duration,
    /// Time to compile each kernel, and which it is.
    times: Vec<(Duration, String)>,
    code_bytes: usize,
}

impl Findings {
    fn add(&mut self, other: Findings) {
        self.modules += other.modules;
        self.failures.extend(other.failures);
        self.census += other.census;
        self.kernels_lane_by_lane += other.kernels_lane_by_lane;
        self.walks += other.walks;
        self.iterations += other.iterations;
        self.trying += other.trying;
        self.times.extend(other.times);
        self.code_bytes += other.code_bytes;
    }
}

fn main() {
    let options = parse();
    let entries = std::fs::read_dir(&options.folder).expect("a readable folder").flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "spv"));
    paths.sort();
    let paths: Vec<PathBuf> = paths.into_iter().step_by(options.sample).collect();
    let next = AtomicUsize::new(0);
    let start = Instant::now();
    let mut found = Findings::default();
    std::thread::scope(|scope| {
        let examine_some = || {
            let mut own = Findings::default();
            while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
                examine(&options, path, &mut own);
            }
            own
        };
        let threads: Vec<_> = (0..options.threads).map(|_| scope.spawn(examine_some)).collect();
        threads.into_iter().for_each(|thread| found.add(thread.join().expect("panics are caught")));
    });
    report(&options, found, start.elapsed());
}

fn examine(options: &Options, path: &Path, found: &mut Findings) {
    let target = Target::host().expect("a target machine");
    let profile = ze_extensions::DeviceProfile::host();
    let environment = spirv_env::Environment::new(&profile).with_engine(&lower::supports);
    found.modules += 1;
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => return found.failures.push(format!("{}: {error}", path.display())),
    };
    let module = match spirv_env::build(&[spirv_env::ModuleInput::new(&bytes)], &environment) {
        Ok(module) => module,
        Err(error) => return found.failures.push(format!("{}: {error}", path.display())),
    };
    for kernel in &module.kernels {
        let name = format!("{} {}", path.display(), kernel.name);
        let variant = Variant {
            coarsening: Coarsening::AlongX(8),
            ..Variant::new(options.width.unwrap_or(target.natural_width()), LaneMapping::Rows)
        };
        match Census::of(&module, kernel, variant, Inlining::default(), &target) {
            Ok(census) => {
                found.census += census;
                found.kernels_lane_by_lane += usize::from(census.gathers + census.scatters > 0);
            }
            Err(error) => found.failures.push(format!("{name}: {error}")),
        }
        if options.census {
            found.times.push((Duration::ZERO, name));
            continue;
        }
        let start = Instant::now();
        let single = lower::single(&module, kernel, variant, Inlining::default(), &target);
        if matches!(single, Ok(Some(lower::Single::Iterations(_)))) {
            found.walks += 1;
            let made = has_vectors_of_iterations(&module, kernel, variant, &target).unwrap_or(false);
            found.iterations += usize::from(made);
        }
        found.trying += start.elapsed();
        let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            compile(&module, kernel, variant, &target)
        }));
        match code {
            Ok(Ok(bytes)) => found.code_bytes += bytes,
            Ok(Err(error)) => found.failures.push(format!("{name}: {error}")),
            Err(_) => found.failures.push(format!("{name}: panic")),
        }
        found.times.push((start.elapsed(), name));
    }
}

/// Whether LLVM makes vectors of the iterations of a kernel's loops.
fn has_vectors_of_iterations(
    module: &spirv_env::Module,
    kernel: &spirv_env::Kernel,
    variant: Variant,
    target: &Target,
) -> Result<bool, String> {
    let (mapping, coarsening) = (LaneMapping::Iterations, Coarsening::Off);
    let variant = Variant { width: 1, mapping, coarsening, ..variant };
    let inlining = Inlining::default();
    let (ir, ..) = lower::lower(module, kernel, variant, inlining, target, &Context::new())
        .map_err(|error| error.to_string())?;
    pipeline::optimise_loops(&ir, target, Tier::Optimising, pipeline::Loops::Vectorised)
        .map_err(|error| error.to_string())
}

fn compile(
    module: &spirv_env::Module,
    kernel: &spirv_env::Kernel,
    variant: Variant,
    target: &Target,
) -> Result<usize, String> {
    let (inlining, options) = (Inlining::default(), lower::Options::of(Tier::Optimising));
    let (ir, ..) = lower::lower_with(module, kernel, variant, inlining, options, target, &Context::new())
        .map_err(|error| error.to_string())?;
    pipeline::optimise(&ir, target, Tier::Optimising).map_err(|error| error.to_string())?;
    let object = pipeline::object_code(ir, target, Tier::Optimising).map_err(|error| error.to_string())?;
    Ok(object.bytes.len())
}

fn report(options: &Options, mut found: Findings, elapsed: Duration) {
    found.failures.iter().for_each(|failure| println!("failed: {failure}"));
    let kernels = found.times.len();
    println!(
        "{} modules, {kernels} kernels, {} failures, {elapsed:.1?}",
        found.modules,
        found.failures.len()
    );
    found.times.sort_unstable();
    if let (false, Some((largest, name))) = (options.census, found.times.last()) {
        let at = |share: f64| found.times[((kernels - 1) as f64 * share) as usize].0;
        println!("a kernel: median {:.1?}, p99 {:.1?}, largest {largest:.1?}: {name}", at(0.5), at(0.99));
        println!("code: {} bytes a kernel", found.code_bytes / kernels);
        println!(
            "{} kernels walk, {} with vectors of iterations; trying took {:.1?} of {:.1?}",
            found.walks,
            found.iterations,
            found.trying,
            found.times.iter().map(|(time, _)| *time).sum::<Duration>()
        );
    }
    let census = found.census;
    let share = |count: u64| 100.0 * count as f64 / census.all().max(1) as f64;
    println!(
        "{} accesses: uniform {:.1} %, rows {:.1} %, shuffled {:.1} %, looked at {:.1} %, gathers {:.1} %, scatters {:.1} %",
        census.all(),
        share(census.uniform),
        share(census.rows),
        share(census.shuffled),
        share(census.looked_at),
        share(census.gathers),
        share(census.scatters)
    );
    println!("{} kernels with gathers or scatters", found.kernels_lane_by_lane);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if let Some(peak) = status.lines().find_map(|line| line.strip_prefix("VmHWM:")) {
        println!("peak memory: {}", peak.trim());
    }
    if !found.failures.is_empty() {
        std::process::exit(1);
    }
}
