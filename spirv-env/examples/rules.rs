//! Builds the accepting and the rejecting module of every rule, prints the table, and writes or checks
//! `environment.md` and `extensions.md`. `ci/rules` runs it.
//!
//! `cargo run -p spirv-env --features catalogue --example rules -- FOLDER [--check]`

use spirv_env::catalogue::{outcomes, page};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (folder, check) = match args.as_slice() {
        [folder] => (Path::new(folder), false),
        [folder, flag] if flag == "--check" => (Path::new(folder), true),
        _ => {
            eprintln!("usage: rules FOLDER [--check]");
            return ExitCode::from(2);
        }
    };
    let outcomes = outcomes();
    println!("{:28} {:10} {:10} section", "rule", "accepting", "rejecting");
    for outcome in &outcomes {
        let word = |result: &Result<(), String>| if result.is_ok() { "ok" } else { "FAILED" };
        let (accepting, rejecting) = (word(&outcome.accepting), word(&outcome.rejecting));
        println!("{:28} {accepting:10} {rejecting:10} {}", outcome.rule, outcome.section);
        for reason in
            [&outcome.accepting, &outcome.rejecting].into_iter().filter_map(|result| result.as_ref().err())
        {
            println!("    {}", reason.replace('\n', "\n    "));
        }
    }
    let failed = outcomes.iter().filter(|outcome| !outcome.holds()).count();
    println!("{} rules, {failed} failed", outcomes.len());
    if failed > 0 {
        return ExitCode::FAILURE;
    }
    let pages =
        [("environment.md", page(&outcomes)), ("extensions.md", ze_extensions::spirv_extensions::page())];
    for (name, wanted) in pages {
        let path = folder.join(name);
        if check {
            if !std::fs::read_to_string(&path).is_ok_and(|text| text == wanted) {
                eprintln!("{} is not what the rules say: run ci/rules", path.display());
                return ExitCode::FAILURE;
            }
        } else if let Err(error) = std::fs::write(&path, wanted) {
            eprintln!("{}: {error}", path.display());
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
