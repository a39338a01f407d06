//! Work-groups that meet where some of their work-items have left or are not within a bound: those that are there meet, alone, in bundles and
//! where a bundle is the work-group.

use ze_tests::ulp::assert_same;
use ze_tests::{Local, Module, Random, platform};

const SIZES: [u32; 9] = [1, 7, 16, 32, 64, 100, 128, 256, 512];

/// The arguments of a kernel behind its buffers.
#[derive(Clone, Copy)]
enum Arguments {
    /// Local memory and the number of elements.
    Local,
    /// And of steps.
    Steps(i32),
    /// The number of elements.
    Count,
}

impl Arguments {
    /// Elements that leave the last group of this size with all of its work-items, without one, with one, and with about half of them. What
    /// work-groups compute is of no use where a whole sub-group is not there.
    fn counts(self, size: usize) -> Vec<usize> {
        let all = [5 * size, 5 * size - 1, 4 * size + 1, 4 * size + size.div_ceil(2)];
        all[..if matches!(self, Arguments::Count) { 2 } else { 4 }].to_vec()
    }
}

fn numbers(n: usize) -> Vec<i32> {
    let mut random = Random::new(n as u64);
    (0..n).map(|_| random.between(-1000, 1000)).collect()
}

/// Runs a kernel in five groups of each size for each count of elements, and compares what it makes of each group's elements.
fn check(kernel: &str, arguments: Arguments, want: impl Fn(&[i32], usize) -> Vec<Option<i32>>) {
    let kernel = Module::named("partial_groups").kernel(kernel);
    for size in SIZES {
        let items = size as usize;
        for n in arguments.counts(items) {
            let input = numbers(n);
            let (from, out) = (platform().buffer(&input), platform().filled(-1i32, 5 * items));
            let (scratch, count) = (Local(items * size_of::<i32>()), n as i32);
            match arguments {
                Arguments::Count => kernel.run_1d(5 * items, size, &[&from, &out, &count]),
                Arguments::Steps(steps) => {
                    kernel.run_1d(5 * items, size, &[&from, &out, &scratch, &count, &steps])
                }
                Arguments::Local => kernel.run_1d(5 * items, size, &[&from, &out, &scratch, &count]),
            }
            let mut results: Vec<i32> =
                input.chunks(items).flat_map(|part| want(part, items)).map(|of| of.unwrap_or(-1)).collect();
            results.resize(5 * items, -1);
            assert_same(&format!("{n} elements in groups of {size}"), &out, &results);
        }
    }
}

#[test]
fn who_has_left_is_not_waited_for() {
    check("neighbours", Arguments::Local, |part, _| {
        let last = part.len() - 1;
        let of = |id: usize| part[id.saturating_sub(1)] + 3 * part[id] + 5 * part[(id + 1).min(last)];
        (0..part.len()).map(|id| Some(of(id))).collect()
    });
    check("halves", Arguments::Local, |part, _| {
        let of = |id: usize| {
            let other = (part.len() - 1 - id) & !1;
            id.is_multiple_of(2).then(|| part[id] - 7 * part[other])
        };
        (0..part.len()).map(of).collect()
    });
}

#[test]
fn steps_of_those_who_are_there() {
    check("trees", Arguments::Steps(3), |part, size| {
        let mut own = part.to_vec();
        for _ in 0..3 {
            let mut sums = own.clone();
            let mut apart = size / 2;
            while apart > 0 {
                for id in (0..apart).filter(|id| id + apart < part.len()) {
                    sums[id] = sums[id].wrapping_add(sums[id + apart]);
                }
                apart /= 2;
            }
            own.iter_mut().for_each(|own| *own = own.wrapping_mul(3).wrapping_add(sums[0]));
        }
        own.into_iter().map(Some).collect()
    });
}

#[test]
fn what_work_groups_compute_is_of_those_within_a_bound() {
    check("functions", Arguments::Count, |part, _| {
        let (sum, most) = (part.iter().sum::<i32>(), part.iter().max().expect("somebody is there"));
        let any = part.iter().any(|own| *own > 900);
        let all = part.iter().all(|own| *own > -900);
        let of = |id: usize| {
            let before: i32 = part[..id].iter().sum();
            let upto = part[..=id].iter().max().expect("itself");
            sum + 3 * most + 5 * before + 7 * upto + 11 * part[0] + 13 * i32::from(any) + 17 * i32::from(all)
        };
        (0..part.len()).map(|id| Some(of(id))).collect()
    });
}

#[test]
fn bounds_in_two_dimensions() {
    let kernel = Module::named("partial_groups").kernel("neighbours_2d");
    for size in [[16u32, 16], [8, 8], [32, 8], [5, 3], [16, 4], [64, 4], [1, 16]] {
        let [across, down] = size.map(|size| size as usize);
        let most = [3 * across, 2 * down];
        for [width, height] in [most, [2 * across + 1, down + 1], [most[0] - 1, most[1] - 1], [most[0], down]]
        {
            let input = numbers(width * height);
            let out = platform().filled(-1i32, width * height);
            let scratch = Local(across * down * size_of::<i32>());
            let bounds = [width, height].map(|bound| bound as i32);
            kernel.run(
                [3, 2, 1],
                [size[0], size[1], 1],
                &[&platform().buffer(&input), &out, &scratch, &bounds[0], &bounds[1]],
            );
            let of = |at: usize| {
                let (x, y) = (at % width, at / width);
                let left = if x % across > 0 { input[at - 1] } else { input[at] };
                let above = if y % down > 0 { input[at - width] } else { input[at] };
                left + 3 * input[at] + 5 * above
            };
            let want: Vec<i32> = (0..width * height).map(of).collect();
            assert_same(&format!("{width} x {height} in groups of {size:?}"), &out, &want);
        }
    }
}
