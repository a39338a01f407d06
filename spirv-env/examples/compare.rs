//! Compares the intake's verdict with that of `spirv-val` (package `spirv-tools`) over modules and mutations of them.
//!
//! `cargo run --release -p spirv-env --example compare -- FOLDER [MUTATIONS [SEED [SHOW]]]`: first every module of the
//! folder as it is, then as many with one instruction changed. Prints a table of verdicts by rule and by what `spirv-val`
//! says, and SHOW examples of each difference, which are kept in `target/compare`.

#[path = "../tests/mutate/mod.rs"]
#[allow(dead_code, reason = "the tests use all of it")]
mod mutate;

use mutate::{Random, mutate_once, seeds};
use spirv_env::{Environment, ModuleInput, build};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use ze_extensions::DeviceProfile;

/// What `spirv-val` says, without the numbers and names of one module; `None` if it accepts.
fn reference(path: &Path, version: (u8, u8)) -> Option<String> {
    // OpenCL's environments end at SPIR-V 1.2; newer modules are held to SPIR-V's own rules.
    let target = match version {
        (1, 0..=2) => "opencl2.2".to_owned(),
        (major, minor) => format!("spv{major}.{minor}"),
    };
    let output = Command::new("spirv-val").args(["--target-env", &target]).arg(path).output().ok()?;
    if output.status.success() {
        return None;
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().next().unwrap_or("no reason").trim_start_matches("error: ");
    let line = line.split_once(": ").map_or(line, |(_, reason)| reason);
    let mut plain = String::new();
    for part in line.split('\'').step_by(2) {
        plain.push_str(&part.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).collect::<String>());
    }
    plain.truncate(plain.char_indices().nth(110).map_or(plain.len(), |(at, _)| at));
    Some(plain)
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(folder) = args.first() else {
        eprintln!("usage: compare FOLDER [MUTATIONS [SEED [SHOW]]]");
        std::process::exit(2);
    };
    let number = |at: usize, default: u64| {
        args.get(at).map_or(default, |text| text.parse().expect("MUTATIONS, SEED and SHOW are numbers"))
    };
    let (mutations, seed, show) = (number(1, 5000) as usize, number(2, 1), number(3, 0) as usize);
    let seeds = seeds(Path::new(folder));
    assert!(!seeds.is_empty(), "no modules in {folder}");
    let keep = Path::new("target/compare");
    std::fs::create_dir_all(keep).expect("target can be written");
    let profile = DeviceProfile::host();
    let env = Environment::new(&profile);
    let mut random = Random(seed);
    // By what the intake and what the reference say: how many, and which came first.
    let mut table: BTreeMap<(String, String), (usize, Vec<usize>)> = BTreeMap::new();
    let mut agree = [0; 2];
    for at in 0..seeds.len() + mutations {
        let bytes = match seeds.get(at) {
            Some(module) => module.clone(),
            None => {
                let module = random.below(seeds.len());
                mutate_once(&mut random, &seeds[module])
            }
        };
        let path = keep.join("one.spv");
        std::fs::write(&path, &bytes).expect("target can be written");
        let version = bytes.get(4..8).map_or((1, 0), |word| (word[2], word[1]));
        let ours = build(&[ModuleInput::new(&bytes)], &env).err();
        let theirs = reference(&path, version);
        match (&ours, &theirs) {
            (None, None) => agree[0] += 1,
            (Some(_), Some(_)) => agree[1] += 1,
            _ => {
                let ours = ours.map_or_else(
                    || "accepted".to_owned(),
                    |error| format!("{}: {}", error.diagnostics[0].rule, error.diagnostics[0].message),
                );
                let plain: String =
                    ours.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).take(90).collect();
                let entry = table.entry((plain, theirs.unwrap_or_else(|| "accepted".into()))).or_default();
                entry.0 += 1;
                if entry.1.len() < show {
                    entry.1.push(at);
                    let _ = std::fs::copy(&path, keep.join(format!("{at}.spv")));
                }
            }
        }
    }
    println!(
        "{} modules and {mutations} mutations: both accept {}, both reject {}",
        seeds.len(),
        agree[0],
        agree[1]
    );
    for ((ours, theirs), (count, examples)) in table {
        println!("{count:6}  {ours}\n        {theirs}  {examples:?}");
    }
}
