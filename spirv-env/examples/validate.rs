//! Validates SPIR-V files and folders and says what fails and how fast it goes.
//!
//! `cargo run -p spirv-env --example validate -- PATH... [--kernels]`

use spirv_env::{Environment, ModuleInput, build};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use ze_extensions::DeviceProfile;

fn main() -> std::process::ExitCode {
    let (flags, paths): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|arg| arg.starts_with("--"));
    let show_kernels = flags.iter().any(|flag| flag == "--kernels");
    let profile = DeviceProfile::host();
    let env = Environment::new(&profile);
    let mut files = Vec::new();
    for path in &paths {
        collect(Path::new(path), &mut files);
    }
    files.sort();
    let (mut failed, mut bytes, mut kernels) = (0, 0, 0);
    let (mut total, mut slowest) = (Duration::ZERO, (Duration::ZERO, PathBuf::new()));
    let mut reasons: BTreeMap<&'static str, usize> = BTreeMap::new();
    for file in &files {
        let content = match std::fs::read(file) {
            Ok(content) => content,
            Err(error) => {
                eprintln!("{}: {error}", file.display());
                failed += 1;
                continue;
            }
        };
        let start = Instant::now();
        let outcome = build(&[ModuleInput::new(&content)], &env);
        let time = start.elapsed();
        total += time;
        bytes += content.len();
        if time > slowest.0 {
            slowest = (time, file.clone());
        }
        match outcome {
            Ok(module) => {
                kernels += module.kernels.len();
                if show_kernels {
                    println!("{}: {:#?}", file.display(), module.kernels);
                }
            }
            Err(error) => {
                failed += 1;
                println!("{}:\n{error}", file.display());
                for diagnostic in &error.diagnostics {
                    *reasons.entry(diagnostic.rule).or_default() += 1;
                }
            }
        }
    }
    let mib = bytes as f64 / f64::from(1 << 20);
    println!("{} modules, {failed} rejected, {kernels} kernels, {mib:.1} MiB", files.len());
    println!("{:.3} s, {:.1} MiB/s", total.as_secs_f64(), mib / total.as_secs_f64().max(1e-9));
    println!("slowest {:.3} ms: {}", slowest.0.as_secs_f64() * 1e3, slowest.1.display());
    for (rule, count) in reasons {
        println!("{count:8} {rule}");
    }
    if failed == 0 { std::process::ExitCode::SUCCESS } else { std::process::ExitCode::FAILURE }
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    match std::fs::read_dir(path) {
        Ok(entries) => {
            for entry in entries.flatten() {
                collect(&entry.path(), files);
            }
        }
        Err(_) if path.extension().is_some_and(|extension| extension == "spv") => files.push(path.to_owned()),
        Err(_) => {}
    }
}
