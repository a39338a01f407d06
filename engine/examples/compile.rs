//! Compiles kernels without running them: finds what the engine cannot lower, and shows what it makes of the rest.
//!
//! ```text
//! compile [--check] [--sizes] [--ir] [--raw-ir] [--lower-only] [--asm] [--fast] [--isa sse|avx2|avx512] [--kernel NAME] [--inline never|always]
//!         [--variant W:rows[:x4|:y4|:w2x4x1][+]|ragged[...]|line|halves|quarters|eighths|any[@y|@z]] FILE-OR-FOLDER...
//! ```
//! Without `--variant` every kernel is compiled in eight variants. With `--check` none is: that is what loading a module
//! does. `--sizes` prints what the passes leave, or what they begin with if that is all. Prints what fails, by cause, and how long the thread computed. The output of
//! `--raw-ir --lower-only` before and after a change to the engine says whether it made any other code.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use ze_engine::abi::{Axis, Coarsening, LaneMapping, Variant};
use ze_engine::analysis::inlining::Inlining;
use ze_engine::jit::Context;
use ze_engine::jit::pipeline::{self, Tier};
use ze_engine::jit::size::Size;
use ze_engine::jit::target::{Isa, Target};
use ze_engine::lower;

#[derive(Default)]
struct Options {
    check: bool,
    sizes: bool,
    ir: bool,
    raw_ir: bool,
    lower_only: bool,
    asm: bool,
    kernel: Option<String>,
    inlining: Inlining,
    tier: Tier,
    isa: Option<Isa>,
    variants: Vec<Variant>,
    paths: Vec<PathBuf>,
}

fn parse() -> Options {
    let mut options = Options::default();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--check" => options.check = true,
            "--sizes" => options.sizes = true,
            "--ir" => options.ir = true,
            "--raw-ir" => options.raw_ir = true,
            "--fast" => options.tier = Tier::Fast,
            "--lower-only" => options.lower_only = true,
            "--asm" => options.asm = true,
            "--isa" => {
                options.isa = match args.next().as_deref() {
                    Some("sse") => Some(Isa::Sse),
                    Some("avx2") => Some(Isa::Avx2),
                    Some("avx512") => Some(Isa::Avx512),
                    _ => panic!("--isa sse|avx2|avx512"),
                }
            }
            "--kernel" => options.kernel = args.next(),
            "--inline" => {
                options.inlining = match args.next().as_deref() {
                    Some("never") => Inlining::Never,
                    Some("always") => Inlining::Always,
                    _ => panic!("--inline never|always"),
                }
            }
            "--variant" => {
                let text = args.next().unwrap_or_default();
                // A work-group is one bundle.
                let one_bundle = text.ends_with('+');
                let text = text.trim_end_matches('+');
                let (text, axis) = text.split_once('@').unwrap_or((text, "x"));
                let axis = match axis {
                    "y" => Axis::Y,
                    "z" => Axis::Z,
                    _ => Axis::X,
                };
                let (width, mapping) = text.split_once(':').unwrap_or((text, "rows"));
                let (mapping, bundle) = mapping.split_once(':').unwrap_or((mapping, ""));
                let coarsening = match bundle.split_at(bundle.len().min(1)) {
                    ("x", bundle) => Coarsening::AlongX(bundle.parse().expect("--variant W:rows:xN")),
                    ("y", bundle) => Coarsening::AlongY(bundle.parse().expect("--variant W:rows:yN")),
                    ("w", count) => {
                        let count: Vec<u32> =
                            count.split('x').filter_map(|count| count.parse().ok()).collect();
                        Coarsening::whole(count.try_into().expect("--variant W:rows:wNxNxN"))
                    }
                    _ => Coarsening::Off,
                };
                let mapping = match mapping {
                    "line" => LaneMapping::Line,
                    "halves" => LaneMapping::Halves,
                    "quarters" => LaneMapping::Quarters,
                    "eighths" => LaneMapping::Eighths,
                    "ragged" => LaneMapping::Ragged,
                    "any" => LaneMapping::Any,
                    "iterations" => LaneMapping::Iterations,
                    _ => LaneMapping::Rows,
                };
                let width = width.parse().expect("--variant W:MAPPING, W a number");
                options.variants.push(Variant {
                    axis,
                    coarsening,
                    one_bundle,
                    ..Variant::new(width, mapping)
                });
            }
            path => options.paths.push(path.into()),
        }
    }
    if options.variants.is_empty() {
        for (width, mapping, coarsening) in [
            (1, LaneMapping::Rows, Coarsening::Off),
            (8, LaneMapping::Rows, Coarsening::Off),
            (16, LaneMapping::Rows, Coarsening::Off),
            (16, LaneMapping::Rows, Coarsening::AlongX(8)),
            (16, LaneMapping::Rows, Coarsening::AlongY(8)),
            (16, LaneMapping::Line, Coarsening::Off),
            (16, LaneMapping::Any, Coarsening::Off),
            (32, LaneMapping::Rows, Coarsening::Off),
        ] {
            options.variants.push(Variant { coarsening, ..Variant::new(width, mapping) });
        }
    }
    options
}

fn files(path: &Path, list: &mut Vec<PathBuf>) {
    if path.is_dir() {
        let mut entries: Vec<_> = std::fs::read_dir(path).expect("a readable folder").flatten().collect();
        entries.sort_by_key(|entry| entry.path());
        entries.iter().for_each(|entry| files(&entry.path(), list));
    } else if path.extension().is_some_and(|ext| ext == "spv") {
        list.push(path.to_owned());
    }
}

fn main() {
    let options = parse();
    let mut list = Vec::new();
    options.paths.iter().for_each(|path| files(path, &mut list));
    let target = options.isa.map_or_else(Target::host, Target::limited).expect("a target machine");
    let profile = ze_extensions::DeviceProfile::host();
    let environment = spirv_env::Environment::new(&profile).with_engine(&ze_engine::lower::supports);
    let mut failures: BTreeMap<String, (usize, String)> = BTreeMap::new();
    let (mut kernels, mut variants) = (0usize, 0usize);
    let [mut intake, mut lowering, mut passes, mut emission] = [Duration::ZERO; 4];
    let mut note = |cause: String, place: String| {
        failures.entry(cause).or_insert((0, place)).0 += 1;
    };
    for path in &list {
        let bytes = std::fs::read(path).expect("a readable file");
        let start = computed();
        let module = match spirv_env::build(&[spirv_env::ModuleInput::new(&bytes)], &environment) {
            Ok(module) => module,
            Err(error) => {
                note(format!("intake: {error}"), path.display().to_string());
                continue;
            }
        };
        intake += computed() - start;
        if options.check {
            let start = computed();
            if let Err(error) = ze_engine::analysis::work::check(&module) {
                note(format!("check: {error}"), path.display().to_string());
            }
            lowering += computed() - start;
            continue;
        }
        for kernel in &module.kernels {
            if options.kernel.as_ref().is_some_and(|name| *name != kernel.name) {
                continue;
            }
            kernels += 1;
            for &variant in &options.variants {
                variants += 1;
                let place = format!("{} {} {variant:?}", path.display(), kernel.name);
                let mut times = [Duration::ZERO; 3];
                let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    compile(&options, &module, kernel, variant, &target, &mut times)
                }));
                lowering += times[0];
                passes += times[1];
                emission += times[2];
                match result {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => note(error, place),
                    Err(_) => note("panic".into(), place),
                }
            }
        }
    }
    for (cause, (count, place)) in &failures {
        let cause: String = cause.chars().take(600).collect();
        println!("{count:6} x {cause}\n         first: {place}");
    }
    let failed: usize = failures.values().map(|(count, _)| count).sum();
    println!("{} modules, {kernels} kernels, {variants} variants, {failed} failures", list.len());
    println!("intake {intake:?}, lowering {lowering:?}, passes {passes:?}, emission {emission:?}");
    if failed > 0 {
        std::process::exit(1);
    }
}

fn compile(
    options: &Options,
    module: &spirv_env::Module,
    kernel: &spirv_env::Kernel,
    variant: Variant,
    target: &Target,
    times: &mut [Duration; 3],
) -> Result<(), String> {
    let start = computed();
    let (inlining, of_tier) = (options.inlining, lower::Options::of(options.tier));
    let (ir, info, calls) =
        lower::lower_with(module, kernel, variant, inlining, of_tier, target, &Context::new())
            .map_err(|e| e.to_string())?;
    times[0] = computed() - start;
    if options.raw_ir {
        println!("{}", ir.text());
    }
    ir.verify().map_err(|error| error.to_string())?;
    if options.lower_only {
        if options.sizes {
            println!("{:?} {} {variant:?}", Size::of(&ir, target), kernel.name);
        }
        return Ok(());
    }
    let start = computed();
    pipeline::optimise(&ir, target, options.tier).map_err(|error| error.to_string())?;
    times[1] = computed() - start;
    if options.sizes {
        println!("{:?} {} {variant:?}", Size::of(&ir, target), kernel.name);
    }
    if options.ir {
        println!("; {info:?}\n{}", ir.text());
    }
    if options.asm {
        println!("{}", pipeline::assembly(&ir, target, options.tier).map_err(|error| error.to_string())?);
    }
    let start = computed();
    let object = pipeline::object_code(ir, target, options.tier).map_err(|error| error.to_string())?;
    times[2] = computed() - start;
    if options.ir || options.asm {
        let (code, stack) = (object.bytes.len(), calls.stack_bytes(&object.frames).0);
        println!("; bundles of {}, {code} bytes of code, {stack} of stack", info.factor);
    }
    Ok(())
}

/// The time that this thread has computed for.
fn computed() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is ours to be written.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
