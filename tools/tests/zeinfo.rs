//! `zeinfo` on the driver: through the system's loader, and on the driver itself, which exports every function that a loader does.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

use serde_json::Value;
use ze_tests::loader::{ALT_DRIVERS_VARIABLE, driver_path};

const LOADER: &str = "libze_loader.so.1";

fn zeinfo(loader: &str, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_zeinfo"))
        .args(["--loader", loader])
        .args(arguments)
        .env(ALT_DRIVERS_VARIABLE, driver_path())
        .env_remove("ZE_CPU_PROFILE")
        .output()
        .expect("the program starts")
}

fn text(output: &Output) -> String {
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The loader of the system, and the driver in the place of one.
fn loaders() -> [String; 2] {
    [LOADER.to_owned(), driver_path().to_string_lossy().into_owned()]
}

fn json(loader: &str, arguments: &[&str]) -> Value {
    let output = zeinfo(loader, arguments);
    assert!(output.status.success());
    serde_json::from_str(&text(&output)).expect("it is JSON")
}

/// A profile of a device with neither doubles nor half precision, in a file of its own.
fn single_precision() -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("single-{}.toml", std::process::id()));
    let profile = "name = 'single'\n[module]\nflags = 'INT64_ATOMICS'\nfp16 = ''\nfp64 = ''\nfp16_atomics = ''\nfp64_atomics = ''\n";
    fs::write(&path, profile).expect("the profile is written");
    path
}

#[test]
fn the_summary_is_one_screen_without_colours() {
    for loader in loaders() {
        let output = text(&zeinfo(&loader, &[]));
        let name = json(&loader, &["--json"])["drivers"][0]["devices"][0]["properties"]["name"].clone();
        assert!(output.contains(name.as_str().expect("a name")), "{output}");
        assert!((10..45).contains(&output.lines().count()), "{output}");
        assert!(!output.contains('\x1b'));
    }
}

#[test]
fn everything_is_more_than_a_screen_and_names_each_query() {
    let output = text(&zeinfo(LOADER, &["--all"]));
    for query in ["compute", "module", "memoryAccess", "externalMemory", "images", "maxTotalGroupSize"] {
        assert!(output.contains(query), "{query}:\n{output}");
    }
    assert!(output.lines().count() > 100);
}

#[test]
fn json_has_system_management_where_the_loader_has() {
    let device = &json(&driver_path().to_string_lossy(), &["--json"])["drivers"][0]["devices"][0];
    assert_eq!(device["sysman"]["properties"]["uuid"], device["properties"]["uuid"]);
    assert_eq!(device["sysman"]["engines"].as_array().map(Vec::len), Some(5));
    assert_eq!(device["sysman"]["pci"]["address"], "0000:00:00.0");
    assert_eq!(device["sysman"]["now"]["state"]["repaired"], "UNSUPPORTED");
}

#[test]
fn the_driver_does_not_contradict_itself() {
    for loader in loaders() {
        let output = zeinfo(&loader, &["--check"]);
        let text = text(&output);
        assert!(output.status.success() && text.trim_end().ends_with(" 0 contradictions"), "{text}");
    }
    let profile = single_precision();
    let output = zeinfo(&loaders()[1], &["--check", "--profile", &profile.to_string_lossy()]);
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
fn a_contradiction_ends_with_an_error() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("odd-{}.toml", std::process::id()));
    // Sub-groups are larger than work-groups.
    fs::write(&path, "[compute]\nmax_total_group_size = 16\n").expect("the profile is written");
    let output = zeinfo(LOADER, &["--check", "--profile", &path.to_string_lossy()]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("contradiction: "), "{}", text(&output));
}

#[test]
fn profiles_and_files_are_compared() {
    let loader = driver_path().to_string_lossy().into_owned();
    let profile = single_precision();
    let profile = profile.to_string_lossy();
    let same = zeinfo(&loader, &["--diff", "host", "host"]);
    assert_eq!((same.status.code(), text(&same).as_str()), (Some(0), ""));
    let saved = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("host-{}.json", std::process::id()));
    fs::write(&saved, text(&zeinfo(&loader, &["--json"]))).expect("the report is written");
    let output = zeinfo(&loader, &["--diff", &saved.to_string_lossy(), &profile]);
    let lines = text(&output);
    assert_eq!(output.status.code(), Some(1), "{lines}");
    for line in ["- drivers[0].devices[0].module.flags: FP64", "-> \"single\""] {
        assert!(lines.contains(line), "{lines}");
    }
    assert!(!lines.contains("numSlices") && !lines.contains(".now"), "{lines}");
}

#[test]
fn what_it_cannot_do_it_says() {
    for arguments in [&["--nonsense"][..], &["--diff", "a"], &["--json", "--all"]] {
        let output = zeinfo(LOADER, arguments);
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains("usage: "));
    }
    let output = zeinfo("libno_such_loader.so", &["--json"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("libno_such_loader.so"));
}
