//! Damages modules at random for as long as it is told to.
//!
//! `cargo run -p spirv-env --example fuzz -- FOLDER COUNT [SEED [KEEP]]`: modules that are accepted although they
//! were damaged are written to the folder KEEP, for a second opinion (`spirv-val`).

#[path = "../tests/mutate/mod.rs"]
mod mutate;

use mutate::{Random, check, check_linked, mutate, seeds};
use spirv_env::Environment;
use std::path::Path;
use std::time::{Duration, Instant};
use ze_extensions::DeviceProfile;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [folder, count, rest @ ..] = args.as_slice() else {
        eprintln!("usage: fuzz FOLDER COUNT [SEED [KEEP]]");
        std::process::exit(2);
    };
    let count: usize = count.parse().expect("COUNT is a number");
    let seed: u64 = rest.first().map_or(1, |seed| seed.parse().expect("SEED is a number"));
    let seeds = seeds(Path::new(folder));
    assert!(!seeds.is_empty(), "no modules in {folder}");
    let profile = DeviceProfile::host();
    let env = Environment::new(&profile);
    let mut random = Random(seed);
    let (mut accepted, mut slowest) = (0, Duration::ZERO);
    let start = Instant::now();
    for _ in 0..count {
        let module = random.below(seeds.len());
        let other = random.below(seeds.len());
        let bytes = mutate(&mut random, &seeds[module], &seeds[other]);
        // Whatever brings the process down is on disk.
        let _ = std::fs::write("fuzz-last.spv", &bytes);
        let one = Instant::now();
        if check(&bytes, &env) {
            if let Some(keep) = rest.get(1) {
                let _ = std::fs::write(Path::new(keep).join(format!("{accepted}.spv")), &bytes);
            }
            accepted += 1;
        }
        check_linked(&[&bytes, &seeds[other]], &env);
        slowest = slowest.max(one.elapsed());
    }
    let _ = std::fs::remove_file("fuzz-last.spv");
    println!("{count} mutations, {accepted} accepted, slowest {slowest:?}, {:?} in all", start.elapsed());
}
