//! Loaders of several versions, alone and with a second driver, with their layers, and no loader at all.
//!
//! `ci/loaders` puts other loaders than the system's under `target/loaders`, each with a `launch` script that runs a
//! program with it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::{env, fs};

use ze_tests::loader::{ALT_DRIVERS_VARIABLE, LOADER_VARIABLE, driver_path};

const DEMO: &str = env!("CARGO_BIN_EXE_demo");

/// The `launch` scripts, by loader; the system's loader has none.
pub fn loaders() -> Vec<(String, Option<PathBuf>)> {
    let mut loaders = vec![("system".to_owned(), None)];
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("loaders");
    for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
        let launch = entry.path().join("launch");
        if launch.exists() {
            loaders.push((entry.file_name().to_string_lossy().into_owned(), Some(launch)));
        }
    }
    if env::var_os("ZE_TEST_REQUIRE_LOADERS").is_some() {
        assert!(loaders.len() > 1, "no loaders in {}: run ci/loaders", folder.display());
    }
    loaders
}

fn run(
    launch: Option<&Path>,
    drivers: &str,
    extra: &[(&str, &str)],
    arguments: &[&str],
) -> Result<String, String> {
    let mut command = match launch {
        Some(launch) => {
            let mut command = Command::new(launch);
            command.arg(DEMO);
            command
        }
        None => Command::new(DEMO),
    };
    command.args(arguments).env(ALT_DRIVERS_VARIABLE, drivers).envs(extra.iter().copied());
    let output = command.output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    Err(format!("{}\n{text}{}", output.status, String::from_utf8_lossy(&output.stderr)))
}

/// Another driver with a device: a copy of this one, which the dynamic linker takes for a different library.
pub fn second_driver() -> &'static Path {
    static COPY: OnceLock<PathBuf> = OnceLock::new();
    COPY.get_or_init(|| {
        let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libze_second.so");
        fs::copy(driver_path(), &copy).expect("the driver is copied");
        copy
    })
}

/// Runs the demo with every loader and wants `drivers` drivers.
#[track_caller]
fn check(alt_drivers: &str, extra: &[(&str, &str)], drivers: usize) {
    for (name, launch) in loaders() {
        match run(launch.as_deref(), alt_drivers, extra, &["--quiet"]) {
            Ok(text) => {
                assert!(text.starts_with(&format!("ok: {drivers} driver(s)")), "loader {name}: {text}")
            }
            Err(error) => panic!("loader {name}: {error}"),
        }
    }
}

fn driver() -> String {
    driver_path().to_string_lossy().into_owned()
}

#[test]
fn alone() {
    check(&driver(), &[], 1);
}

#[test]
fn beside_a_second_driver() {
    let both = format!("{},{}", driver(), second_driver().display());
    check(&both, &[], 2);
    let swapped = format!("{},{}", second_driver().display(), driver());
    check(&swapped, &[], 2);
}

#[test]
fn with_the_validation_layer() {
    check(&driver(), &[("ZE_ENABLE_VALIDATION_LAYER", "1"), ("ZE_ENABLE_PARAMETER_VALIDATION", "1")], 1);
}

#[test]
fn with_the_tracing_layer() {
    check(&driver(), &[("ZE_ENABLE_TRACING_LAYER", "1")], 1);
}

#[test]
fn with_both_layers_and_two_drivers() {
    let both = format!("{},{}", driver(), second_driver().display());
    let layers = [
        ("ZE_ENABLE_VALIDATION_LAYER", "1"),
        ("ZE_ENABLE_PARAMETER_VALIDATION", "1"),
        ("ZE_ENABLE_TRACING_LAYER", "1"),
    ];
    check(&both, &layers, 2);
}

#[test]
fn without_a_loader() {
    let text = run(None, "", &[(LOADER_VARIABLE, &driver())], &["--quiet"])
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(text.starts_with("ok: 1 driver(s)"), "{text}");
}

#[test]
fn initialising_is_quick_and_starts_no_threads() {
    const LIMIT_MICROSECONDS: u64 = 20_000;
    // The best of several: the first reads the library from disk, and shared caches make CPU time vary too.
    let best = (0..20)
        .map(|_| {
            let text = run(None, &driver(), &[], &["--init"]).unwrap_or_else(|error| panic!("{error}"));
            assert!(text.trim_end().ends_with(", 1 thread(s)"), "{text}");
            text.split(' ').next().and_then(|number| number.parse::<u64>().ok()).expect("microseconds")
        })
        .min()
        .expect("twenty runs");
    assert!(best < LIMIT_MICROSECONDS, "initialising took {best} us of CPU time");
}
