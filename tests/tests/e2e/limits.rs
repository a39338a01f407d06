//! Little memory and little stack: every call succeeds or says what is missing, and the process lives.

use std::process::Command;

const MIB: u64 = 1 << 20;

/// How far a program comes within a limit.
#[track_caller]
fn within(limit: &str, bytes: u64) -> String {
    kernel_within(limit, bytes, &[])
}

/// As [`within`], with the kernel of a pattern and a size.
#[track_caller]
fn kernel_within(limit: &str, bytes: u64, kernel: &[&str]) -> String {
    let mut program = Command::new(env!("CARGO_BIN_EXE_limits"));
    program.args([limit, &bytes.to_string()]).args(kernel);
    // Everything is compiled anew.
    let output = program.env("ZE_CPU_CACHE_DIR", "").output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{limit} {bytes}: {}\n{stdout}{stderr}", output.status);
    stdout.trim().to_owned()
}

#[test]
fn a_process_lives_on_whenever_its_memory_ends() {
    for limit in ["address-space", "data"] {
        for mib in [0, 1, 4, 8, 16, 17, 20, 24, 28, 32, 40, 48, 64, 80, 96, 112, 128, 144, 160, 200] {
            within(limit, mib * MIB);
        }
        assert_eq!(within(limit, 1024 * MIB), "done");
        assert_ne!(within(limit, 0), "done");
    }
}

/// A kernel that takes more memory than is looked for before it is compiled: that runs out anywhere in the compiler.
#[test]
fn a_process_lives_on_wherever_in_the_compiler_its_memory_ends() {
    for mib in (140..200).step_by(6) {
        kernel_within("data", mib * MIB, &["atomics", "9000"]);
    }
}

/// What the program has freed before is kept, unless a compilation needs it, which takes 300 MiB here.
#[test]
fn memory_that_is_kept_is_given_to_the_compiler() {
    assert_eq!(kernel_within("data", 400 * MIB, &["atomics", "9000"]), "done");
}

#[test]
fn threads_with_the_least_stack_can_call_everything() {
    for kib in [16, 20, 32, 64, 128, 256, 1024, 8192] {
        assert_eq!(within("stack", kib << 10), "done");
    }
}
