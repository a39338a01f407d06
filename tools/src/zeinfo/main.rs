//! `zeinfo`: what the Level Zero loader, its drivers, their devices and system management say.

mod api;
mod check;
mod core;
mod diff;
mod json;
mod names;
mod options;
mod report;
mod summary;
mod sysman;
mod tree;

use std::io::{IsTerminal, Write, stdout};
use std::process::{Command, ExitCode};
use std::{env, fs};

use api::Api;
use options::{Action, Options, USAGE};
use serde_json::Value;

/// The loader's variable for drivers to use in place of the system's.
const DRIVERS_VARIABLE: &str = "ZE_ENABLE_ALT_DRIVERS";
/// The variable of the CPU driver for what its device says of itself.
const PROFILE_VARIABLE: &str = "ZE_CPU_PROFILE";

/// What `--diff` and `--check` end with where there is something to tell.
const FOUND: u8 = 1;
/// What the program ends with where it could not do what it was asked for.
const FAILED: u8 = 2;

fn main() -> ExitCode {
    let options = match Options::parse(env::args().skip(1)) {
        Ok(options) => options,
        Err(reason) => {
            eprintln!("zeinfo: {reason}\n\n{USAGE}");
            return ExitCode::from(FAILED);
        }
    };
    match run(&options) {
        Ok(code) => code,
        Err(reason) => {
            eprintln!("zeinfo: {reason}");
            ExitCode::from(FAILED)
        }
    }
}

fn run(options: &Options) -> Result<ExitCode, String> {
    // SAFETY: the program has no other thread yet, and no library that reads the environment is open.
    unsafe {
        if let Some(profile) = &options.profile {
            env::set_var(PROFILE_VARIABLE, profile);
        }
        if let Some(driver) = &options.driver {
            env::set_var(DRIVERS_VARIABLE, driver);
        }
    }
    match &options.action {
        Action::Help => print(USAGE),
        Action::Summary => {
            let report = report::report(&open(options)?, &options.loader);
            print(&tree::render(&summary::summary(&report), colours()))
        }
        Action::All => {
            let report = report::report(&open(options)?, &options.loader);
            print(&tree::render(&tree::Node::from_json("zeinfo", &report), colours()))
        }
        Action::Json => {
            let report = report::report(&open(options)?, &options.loader);
            print(&format!("{report:#}"))
        }
        Action::Check => {
            let checked = check::check(&open(options)?, &options.loader)?;
            print(&checked.text())?;
            return Ok(if checked.contradictions.is_empty() {
                ExitCode::SUCCESS
            } else {
                ExitCode::from(FOUND)
            });
        }
        Action::Diff(left, right) => {
            let differences = diff::differences(&described(left, options)?, &described(right, options)?);
            print(&differences.join("\n"))?;
            return Ok(if differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(FOUND) });
        }
    }?;
    Ok(ExitCode::SUCCESS)
}

fn open(options: &Options) -> Result<Api, String> {
    let loader = &options.loader;
    Api::open(loader.as_ref()).map_err(|error| {
        let reason = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
        format!("the loader {loader} cannot be opened: {reason}")
    })
}

fn colours() -> bool {
    stdout().is_terminal() && env::var_os("NO_COLOR").is_none()
}

/// Prints to standard output. That nobody reads on is no error: `zeinfo --all | head`.
fn print(text: &str) -> Result<(), String> {
    let written = if text.is_empty() { Ok(()) } else { writeln!(stdout(), "{text}") };
    match written {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(format!("standard output: {error}"))
        }
        _ => Ok(()),
    }
}

/// What a side of a comparison says: a file that `--json` wrote, or a profile, which a process of its own looks at, for a driver
/// has one profile for its whole life.
fn described(side: &str, options: &Options) -> Result<Value, String> {
    if let Ok(text) = fs::read_to_string(side)
        && let Ok(value) = serde_json::from_str(&text)
    {
        return Ok(value);
    }
    let program = env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new(program)
        .args(["--json", "--profile", side, "--loader", &options.loader])
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|error| format!("profile {side}: {error}"))?;
    if !output.status.success() {
        return Err(format!("profile {side}: {}", output.status));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("profile {side}: {error}"))
}
