//! A slice of what `ci/fuzz` does at length: damaged modules through module creation and the compiler.

use std::process::Command;

#[test]
fn damaged_modules_are_rejected_or_accepted_without_a_crash() {
    let output = Command::new(env!("CARGO_BIN_EXE_fuzz"))
        .args(["--count", "3000", "--save", concat!(env!("CARGO_TARGET_TMPDIR"), "/fuzz")])
        .output()
        .expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn kernels_of_damaged_modules_compile_if_the_modules_are_accepted() {
    let output = Command::new(env!("CARGO_BIN_EXE_fuzz"))
        .args([
            "--from",
            "1000000",
            "--count",
            "500",
            "--kernels",
            "--save",
            concat!(env!("CARGO_TARGET_TMPDIR"), "/fuzz"),
        ])
        .output()
        .expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
