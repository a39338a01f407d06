//! Processes that end, fork, or get fewer threads than they ask for: programs of `src/bin`, each with what it is to do.

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use ze_tests::loader::{LOADER_VARIABLE, driver_path};

/// A generous bound of what takes less than a second.
const BOUND: Duration = Duration::from_secs(30);

fn program(path: &str, argument: &str) -> Command {
    let mut command = Command::new(path);
    // Without a cache everything is compiled.
    command.arg(argument).env("ZE_CPU_CACHE_DIR", "").env("ZE_CPU_THREADS", "3");
    command
}

fn assert_success(output: &Output, what: &str) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{what}: {}\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
}

fn ends_well(way: &str, times: u32) {
    for at in 0..times {
        let start = Instant::now();
        let output = program(env!("CARGO_BIN_EXE_exit"), way)
            // An exit handler that was registered before the loader was opened runs when the loader is gone.
            .env(LOADER_VARIABLE, driver_path())
            .output()
            .unwrap();
        assert_success(&output, &format!("{way}, run {at}"));
        assert!(start.elapsed() < BOUND, "{way}, run {at}: {:?}", start.elapsed());
    }
}

#[test]
fn a_program_that_returns_from_main_in_the_middle_of_compilations_ends_well() {
    ends_well("return", 50);
}

#[test]
fn a_program_that_another_thread_ends_in_the_middle_of_compilations_ends_well() {
    ends_well("thread", 10);
}

#[test]
fn a_program_that_ends_with_launches_in_flight_ends_well() {
    ends_well("launch", 10);
}

#[test]
fn a_host_function_may_end_the_program() {
    ends_well("callback", 10);
}

#[test]
fn exit_handlers_may_use_the_driver_after_everything_else_is_destroyed() {
    ends_well("handler", 10);
}

#[test]
fn children_that_are_forked_in_the_middle_of_everything_can_do_everything() {
    let mut command = program(env!("CARGO_BIN_EXE_fork_storm"), "20");
    let output = command.env("ZET_ENABLE_METRICS", "1").output().unwrap();
    assert_success(&output, "20 forks");
}

#[test]
fn fewer_threads_than_asked_for_are_enough() {
    for most in ["1", "2", "4"] {
        let mut command = program(env!("CARGO_BIN_EXE_few_threads"), most);
        let output = command.env("ZE_CPU_THREADS", "8").env("ZE_CPU_LOG", "debug").output().unwrap();
        assert_success(&output, &format!("{most} threads"));
        let log = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(most == "4" || log.contains("no thread"), "{most} threads were enough:\n{log}");
    }
}

#[test]
fn a_number_of_threads_that_makes_no_sense_is_told_in_the_log() {
    for (threads, told) in [
        ("100000", "ZE_CPU_THREADS=100000: "),
        ("many", "ZE_CPU_THREADS=many: expected a number"),
        ("0", "ZE_CPU_THREADS=0: expected a number"),
        ("-3", "ZE_CPU_THREADS=-3: expected a number"),
        ("99999999999999999999999999", "ZE_CPU_THREADS=99999999999999999999999999: expected a number"),
    ] {
        let mut command = program(env!("CARGO_BIN_EXE_exit"), "launch");
        let output = command.env("ZE_CPU_THREADS", threads).env("ZE_CPU_LOG", "warn").output().unwrap();
        assert_success(&output, threads);
        let log = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(log.contains(told), "{threads}: {log}");
    }
}
