//! Little memory and little stack: every call succeeds or says what is missing, and the process lives.

use std::process::Command;

const MIB: u64 = 1 << 20;

/// How far a program comes within a limit.
#[track_caller]
fn within(limit: &str, bytes: u64) -> String {
    let mut program = Command::new(env!("CARGO_BIN_EXE_limits"));
    // Everything is compiled anew.
    let output = program.args([limit, &bytes.to_string()]).env("ZE_CPU_CACHE_DIR", "").output().unwrap();
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

#[test]
fn threads_with_the_least_stack_can_call_everything() {
    for kib in [16, 20, 32, 64, 128, 256, 1024, 8192] {
        assert_eq!(within("stack", kib << 10), "done");
    }
}
