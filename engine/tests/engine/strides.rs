//! Loops that work-items go through in strides, with code for sub-groups all of whose lanes stay: each work-item is where it should be, and as often,
//! wherever the range ends, and where numbers wrap around behind it.

use crate::support::{address, launch, on_all_processors};
use ze_engine::Program;

const GROUP: u32 = 64;
/// Ends of ranges: within the first stride, at multiples of lanes and strides, and beside those.
const ENDS: [u32; 12] = [0, 1, 15, 16, 63, 64, 65, 200, 255, 256, 1000, 1029];

/// The work-items that come to a number of a range.
fn visits(items: u32, size: u32, at: u32) -> u32 {
    (0..items).filter(|item| *item <= at && (at - item).is_multiple_of(size)).count() as u32
}

fn strided(program: &std::sync::Arc<Program>, what: &str) {
    for n in ENDS {
        for (groups, size) in [(1, 64), (4, 256), (2, 131)] {
            let out = vec![0u32; n as usize];
            let args = [address(&out), n.into(), size.into()];
            launch(program, "strided", [groups, 1], [GROUP, 1], &args);
            let want: Vec<u32> = (0..n).map(|at| visits(groups * GROUP, size, at) * (at + 1)).collect();
            assert_eq!(out, want, "up to {n} by {size}, {what}");
            let down = vec![0u32; n as usize];
            let args = [address(&down), n.into(), size.into()];
            launch(program, "strided_down", [groups, 1], [GROUP, 1], &args);
            let visits = |at: u32| visits(groups * GROUP, size, n - 1 - at);
            let want: Vec<u32> = (0..n).map(|at| visits(at) * (at + 1)).collect();
            assert_eq!(down, want, "down from {n} by {size}, {what}");
        }
    }
}

fn summed(program: &std::sync::Arc<Program>, what: &str) {
    for n in ENDS {
        for (groups, size) in [(1u32, 64u64), (4, 256), (4, 64)] {
            let items = groups * GROUP;
            // What is summed up lies behind what is written.
            let n = n.max(items);
            let mut out: Vec<u32> = (0..2 * n).map(|at| at % 91).collect();
            let values = out[n as usize..].to_vec();
            let args = [out.as_mut_ptr() as u64, n.into(), size];
            launch(program, "strided_sum", [groups, 1], [GROUP, 1], &args);
            for item in 0..items {
                let visited = (item..n).step_by(size as usize);
                let sum: u32 = visited.clone().filter(|at| at % 3 == 0).map(|at| values[at as usize]).sum();
                let want = sum + 1000 * visited.count() as u32;
                assert_eq!(out[item as usize], want, "{item} up to {n} by {size}, {what}");
            }
        }
    }
}

#[test]
fn each_is_where_it_should_be() {
    on_all_processors("guards", 1, |program, what| {
        strided(program, what);
        summed(program, what);
    });
}

#[test]
fn numbers_that_wrap_around_have_left() {
    on_all_processors("guards", 1, |program, what| {
        for before_end in [0u32, 1, 7, 63, 64, 100, 200, 256] {
            let first = before_end.wrapping_neg();
            let out = vec![0u32; 256 + GROUP as usize];
            let args = [address(&out), first.into(), GROUP.into()];
            launch(program, "strided_to_the_end", [1, 1], [GROUP, 1], &args);
            let want: Vec<u32> = (0..out.len() as u32).map(|at| u32::from(at < before_end)).collect();
            assert_eq!(out, want, "{before_end} from the end, {what}");
        }
    });
}

#[test]
fn each_goes_on_as_long_as_it_wants() {
    on_all_processors("guards", 1, |program, what| {
        let n = 4 * GROUP;
        let mut out: Vec<u32> = (0..2 * n).collect();
        launch(program, "triangle", [4, 1], [GROUP, 1], &[out.as_mut_ptr() as u64, n.into()]);
        let want: Vec<u32> = (0..n).map(|item| (0..=item).map(|at| n + at).sum()).collect();
        assert_eq!(out[..n as usize], want, "{what}");
    });
}
