//! The benchmark's cases on the driver: what is measured is right.

use ze_tests::bench::level_zero::LevelZero;
use ze_tests::bench::{Case, cases, check};

/// Larger inputs are left to the benchmark itself.
const MOST_BYTES: usize = 20 << 20;

fn check_all(cases: &[fn() -> Case]) {
    let mut checked = 0;
    for case in cases.iter().map(|case| case()) {
        if case.buffers.iter().map(Vec::len).sum::<usize>() <= MOST_BYTES {
            check(&case, &LevelZero::driver()).unwrap_or_else(|error| panic!("{}: {error}", case.name));
            checked += 1;
        }
    }
    assert!(checked > 0);
}

#[test]
fn cases_of_the_benchmark_leave_what_they_must() {
    check_all(cases::CASES);
}
