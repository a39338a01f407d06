//! Builds the accepting and the rejecting module of every rule, prints the table, and writes or checks
//! `docs/environment.md`. `ci/rules` runs it.
//!
//! `cargo run -p spirv-env --features catalogue --example rules -- PAGE [--check]`

use spirv_env::catalogue::{outcomes, page};
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (path, check) = match args.as_slice() {
        [path] => (path, false),
        [path, flag] if flag == "--check" => (path, true),
        _ => {
            eprintln!("usage: rules PAGE [--check]");
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
    let wanted = page(&outcomes);
    if check {
        if std::fs::read_to_string(path).is_ok_and(|text| text == wanted) {
            return ExitCode::SUCCESS;
        }
        eprintln!("{path} is not what the rules say: run ci/rules");
        return ExitCode::FAILURE;
    }
    match std::fs::write(path, wanted) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{path}: {error}");
            ExitCode::FAILURE
        }
    }
}
