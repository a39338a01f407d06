//! Private objects that are the same in all lanes, and those that are not: every kernel's host twin is followed
//! work-item by work-item.

use crate::for_each_shape;
use ze_tests::ulp::assert_same;
use ze_tests::{Argument, Kernel, Module, Random, platform};

/// Runs `kernel(in, out, more...)` at every shape and compares with `want(in, at)`.
#[track_caller]
fn check(kernel: &str, low: i32, high: i32, more: &[&dyn Argument], want: impl Fn(&[i32], usize) -> i32) {
    let kernel_object = Module::named("uniform_objects").kernel(kernel);
    for_each_shape(|n, group_size| {
        let n = n.next_multiple_of(group_size as usize);
        let input = Random::new(n as u64 + 7).ints(n, low, high);
        let (input_there, out) = (platform().buffer(&input), platform().filled(-77, n));
        let mut arguments: Vec<&dyn Argument> = vec![&input_there, &out];
        arguments.extend(more);
        kernel_object.run_1d(n, group_size, &arguments);
        let want: Vec<i32> = (0..n).map(|at| want(&input, at)).collect();
        assert_same(&format!("{kernel}: {n} items in groups of {group_size}"), &out, &want);
    });
}

fn apply(input: &[i32], scale: i32, offsets: [i64; 2], at: usize) -> i32 {
    input[at].wrapping_mul(scale.wrapping_add(1)).wrapping_add(offsets[at & 1] as i32)
}

#[test]
fn closures_are_copied() {
    let (a, b) = (40i64, -9i64);
    check("closure", -500, 500, &[&6i32, &a, &b], |input, at| apply(input, 6, [a, b], at));
}

#[test]
fn what_some_write_only_they_see() {
    check("written_by_some", -150, 150, &[&40i32], |input, at| {
        let first = if input[at] > 0 { 7 } else { 40 };
        first * 1000 + if input[at] > 100 { 9 } else { 41 }
    });
}

#[test]
fn what_is_written_in_turns_is_each_ones_own() {
    check("in_turns", 0, 32, &[&-3i32], |input, at| {
        let (mut state, mut sum) = (-3, 0i32);
        for k in 0..12 {
            if (input[at] >> (k % 5)) & 1 == 0 {
                sum = sum.wrapping_mul(3).wrapping_add(state);
                state = k;
            }
        }
        sum
    });
}

#[test]
fn who_leaves_a_loop_takes_what_it_wrote() {
    check("left_behind", -60, 60, &[&20i32], |input, at| (input[at] & 31).min(19) * 5);
}

#[test]
fn objects_under_a_mask() {
    let (n, scale) = (37i32, 3i32);
    check("under_a_mask", 0, 9, &[&n, &scale], |input, at| {
        if at >= n as usize || input[at] == 3 {
            return -77;
        }
        let scale = (0..3).fold(scale, |scale, k| scale * 2 + k);
        apply(input, scale, [5, 6], at)
    });
}

#[test]
fn objects_of_rows_are_those_of_the_row() {
    const N: usize = 8;
    let kernel = Module::named("uniform_objects").kernel("per_row");
    for (groups, size) in
        [([1, 1, 1], [16, 8, 1]), ([2, 2, 1], [8, 4, 1]), ([1, 3, 1], [32, 2, 1]), ([1, 1, 1], [5, 3, 1])]
    {
        let (width, rows) = ((groups[0] * size[0]) as usize, (groups[1] * size[1]) as usize);
        let input = Random::new(3).ints(width * rows, -100, 100);
        let out = platform().filled(0, width * rows);
        kernel.run(groups, size, &[&platform().buffer(&input), &out, &(N as i32)]);
        let want = |at: usize| {
            let y = (at / width) as i64;
            let (mut row, mut sum) = ([y, y * 2, N as i64], 0i64);
            for k in 0..N {
                row[k % 3] += k as i64 + y;
                sum = sum.wrapping_mul(3).wrapping_add(row[(k + 1) % 3] + i64::from(input[at]));
            }
            sum as i32
        };
        let want: Vec<i32> = (0..width * rows).map(want).collect();
        assert_same(&format!("{groups:?} groups of {size:?}"), &out, &want);
    }
}

/// `Numbers` of the kernels.
#[repr(C)]
#[derive(Clone, Copy)]
struct Numbers {
    scale: i64,
    offsets: [i64; 2],
}

impl Argument for Numbers {
    fn set(&self, kernel: &Kernel, index: u32) -> ze_tests::Result<()> {
        let words = [self.scale, self.offsets[0], self.offsets[1]].map(i64::to_le_bytes);
        kernel.set_bytes(index, words.as_flattened())
    }
}

#[test]
fn arguments_that_are_changed() {
    let (numbers, n) = (Numbers { scale: 5, offsets: [100, -100] }, 3i32);
    check("argument", -90, 90, &[&numbers, &n], |input, at| {
        let scale = numbers.scale as i32 * n;
        let offsets = [numbers.offsets[0] as i32 + n, numbers.offsets[1] as i32];
        let mine = offsets[at & 1] - input[at];
        (input[at] * scale + offsets[at & 1]) * 2 + input[at] * (scale + at as i32) + mine
    });
}
