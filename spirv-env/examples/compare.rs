//! Compares the intake's verdict with that of `spirv-val` (package `spirv-tools`) over modules and mutations of them.
//!
//! `cargo run --release -p spirv-env --example compare -- FOLDER [MUTATIONS [SEED [SHOW]]]`: first every module of the
//! folder as it is, then as many with one instruction changed. Prints how often each difference that [`EXPLAINED`] knows was
//! seen, as the table of `docs/spirv-val.md`, and the others with what `spirv-val` says and SHOW examples, which are kept in
//! `target/compare`. Fails where there are others.

#[path = "../tests/mutate/mod.rs"]
#[allow(dead_code, reason = "the tests use all of it")]
mod mutate;

use mutate::{Random, mutate_once, seeds};
use spirv_env::{Environment, ModuleInput, build};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use ze_extensions::DeviceProfile;

/// Differences that are meant: how the intake's verdict and how that of `spirv-val` begins, and why they are so.
const EXPLAINED: &[(&str, &str, &str)] = &[
    (
        "accepted",
        "AliasDomainDeclINTEL must appear in a block",
        "`spirv-val` of 2023 does not know where declarations for aliasing stand.",
    ),
    ("accepted", "ID  has not been defined [OpAlias", "Aliasing is a hint, which is not looked at."),
    ("accepted", "ID  has not been defined [OpSource", "Nothing is made of the text of a source."),
    ("accepted", "Invalid source language", "Nothing is made of the language of a source."),
    (
        "accepted",
        "Capability ",
        "The guide has capabilities accepted that OpenCL's full profile does not have.",
    ),
    (
        "accepted",
        "Invalid decoration operand",
        "Decorations that are unknown: those that change a meaning need a capability.",
    ),
    ("accepted", "End of input reached while decoding OpDecorate", DECORATIONS),
    ("accepted", "Invalid instruction OpDecorate", DECORATIONS),
    ("accepted", "Operand # of Decorate requires one of these capabilities: ", DECORATIONS),
    ("accepted", "Constant decoration on target", MISPLACED),
    ("accepted", "CPacked decoration on target", MISPLACED),
    ("accepted", "Target of NonWritable decoration is invalid", MISPLACED),
    (
        "accepted",
        "Invalid floating-point fast math mode",
        "Bits of a fast math mode that are unknown are not looked at.",
    ),
    (
        "accepted",
        "Expected input to have different bit width from Result Type: UConvert",
        "A conversion to the width that a number has changes nothing.",
    ),
    ("accepted", "NoSignedWrap decoration may not", MISPLACED),
    ("accepted", "NoUnsignedWrap decoration may not", MISPLACED),
    ("accepted", "End of input reached while decoding OpLoopMerge", LOOPS),
    ("accepted", "Invalid loop control", LOOPS),
    ("accepted", "Merge Block  must be an OpLabel", LOOPS),
    ("accepted", "Id is # [OpLoopMerge", LOOPS),
    ("accepted", "Block  is already a merge block", LOOPS),
    ("accepted", "Unroll and DontUnroll", LOOPS),
    ("accepted", "Continue Target  must be an OpLabel", LOOPS),
    ("accepted", "Merge Block and Continue Target must be different ids", LOOPS),
    ("accepted", "Operand  cannot be a type [OpLoopMerge", LOOPS),
    (
        "accepted",
        "Invalid function control",
        "What a function's control says is a hint, which is not looked at.",
    ),
    (
        "accepted",
        "The following forward referenced IDs have not been defined",
        "`OpName` stays behind where a producer drops a value.",
    ),
    (
        "accepted",
        "No OpEntryPoint instruction was found",
        "A module without kernels can be made, and does nothing.",
    ),
    ("binary.string", "accepted", "`spirv-val` takes strings that are not UTF-8."),
    ("env.", "accepted", "Rules of Level Zero, which `spirv-val` does not know."),
    ("limits.", "accepted", "Rules of Level Zero and limits of the driver, which `spirv-val` does not know."),
    ("types.operands: an alignment of", "accepted", "Alignments are powers of two."),
    (
        "types.operands: a CrossWorkgroup pointer has no lifetime",
        "accepted",
        "Lifetimes are of `Function` variables (SPIR-V 1.2 §3.32.8).",
    ),
    (
        "types.operands",
        "accepted",
        "`spirv-val` of 2023 does not check the types of all operands of kernels.",
    ),
    (
        "variables.well-formed: an Input variable is a built-in",
        "accepted",
        "Kernels have no other `Input` variables (OpenCL SPIR-V Env 3.0, Built-in Variables).",
    ),
];
const DECORATIONS: &str = "Decorations that only shaders have are not looked at.";
const MISPLACED: &str = "Decorations that say nothing of what they decorate change nothing.";
const LOOPS: &str = "What `OpLoopMerge` says is a hint: control flow is found from the branches.";

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
    // The instruction stands in the next line.
    let instruction =
        text.lines().nth(1).and_then(|line| line.split(' ').find(|word| word.starts_with("Op")));
    plain.extend(instruction.map(|name| format!(" [{name}]")));
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
    let mut explained = vec![0; EXPLAINED.len()];
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
                let theirs = theirs.unwrap_or_else(|| "accepted".into());
                let known = EXPLAINED
                    .iter()
                    .position(|(own, other, _)| plain.starts_with(own) && theirs.starts_with(other));
                if let Some(known) = known {
                    explained[known] += 1;
                    continue;
                }
                let entry = table.entry((plain, theirs)).or_default();
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
    println!("\n| seen | intake | `spirv-val` | why |\n|---|---|---|---|");
    for ((ours, theirs, why), count) in EXPLAINED.iter().zip(&explained) {
        println!("| {count} | {ours} | {theirs} | {why} |");
    }
    let others: usize = table.values().map(|(count, _)| count).sum();
    println!("\n{others} other differences");
    for ((ours, theirs), (count, examples)) in table {
        println!("{count:6}  {ours}\n        {theirs}  {examples:?}");
    }
    if others != 0 {
        std::process::exit(1);
    }
}
