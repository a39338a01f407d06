//! Sub-groups that run side by side: loops and barriers at shapes that allow bundles of all sizes, and none. Every
//! kernel's host twin is followed work-item by work-item.

use ze_tests::ulp::assert_same;
use ze_tests::{Kernel, Local, Module, Random, platform};

/// Groups and group sizes: rows above each other, rows beside each other, both, any number of them, single sub-groups, rows that end within a
/// sub-group, and no rows at all.
const SHAPES: [([u32; 3], [u32; 3]); 25] = [
    ([1, 1, 1], [16, 16, 1]),
    ([2, 2, 1], [16, 4, 1]),
    ([2, 1, 1], [8, 8, 1]),
    ([3, 1, 1], [64, 1, 1]),
    ([2, 1, 1], [128, 1, 1]),
    ([2, 1, 1], [256, 1, 1]),
    ([1, 2, 2], [32, 2, 2]),
    ([1, 1, 1], [16, 6, 1]),
    ([2, 2, 1], [16, 3, 1]),
    ([1, 3, 1], [16, 1, 1]),
    ([2, 1, 1], [10, 3, 1]),
    ([2, 1, 1], [48, 1, 1]),
    ([1, 1, 1], [144, 1, 1]),
    ([1, 1, 1], [288, 1, 1]),
    ([2, 1, 1], [100, 1, 1]),
    ([1, 1, 1], [300, 1, 1]),
    ([1, 2, 1], [32, 8, 1]),
    ([1, 1, 1], [16, 34, 1]),
    ([1, 1, 2], [16, 3, 3]),
    ([2, 2, 1], [12, 12, 1]),
    ([2, 1, 1], [7, 9, 1]),
    ([1, 2, 1], [20, 5, 1]),
    ([1, 1, 1], [18, 18, 1]),
    ([1, 1, 1], [5, 5, 2]),
    ([2, 1, 1], [3, 24, 1]),
];

/// A launch: its shape, and input for each work-item.
struct Launch {
    groups: [u32; 3],
    size: [u32; 3],
    width: usize,
    rows: usize,
}

impl Launch {
    fn all() -> impl Iterator<Item = Launch> {
        SHAPES.into_iter().map(|(groups, size)| Launch {
            groups,
            size,
            width: (groups[0] * size[0]) as usize,
            rows: (groups[1] * size[1]) as usize,
        })
    }

    /// Work-items of one layer. Layers in z do the same again.
    fn items(&self) -> usize {
        self.width * self.rows
    }

    /// Whether work-items of several z write the same results.
    fn has_layers(&self) -> bool {
        self.groups[2] * self.size[2] > 1
    }

    fn input(&self) -> Vec<i32> {
        Random::new(self.items() as u64 + 5).ints(self.items(), -900, 900)
    }

    /// The result of each work-item, from its x, y and place.
    fn expect(&self, want: impl Fn(usize, usize, usize) -> i32) -> Vec<i32> {
        (0..self.items()).map(|at| want(at % self.width, at / self.width, at)).collect()
    }

    /// Runs a kernel that makes a number for each work-item from the input and `n`, and compares them with what is wanted for an
    /// input, an x, a y and a place.
    fn compare(&self, kernel: &Kernel, n: u32, want: impl Fn(&[i32], usize, usize, usize) -> i32) {
        let input = self.input();
        let out = platform().filled(0, self.items());
        kernel.run(self.groups, self.size, &[&platform().buffer(&input), &out, &n]);
        assert_same(&self.name("results"), &out, &self.expect(|x, y, at| want(&input, x, y, at)));
    }

    fn name(&self, kernel: &str) -> String {
        format!("{kernel}: {:?} groups of {:?}", self.groups, self.size)
    }
}

#[test]
fn rows_that_are_off_read_nothing() {
    const N: usize = 9;
    let kernel = Module::named("coarsening").kernel("guarded_rows");
    for launch in Launch::all() {
        for rows in [0, 1, launch.rows / 2, launch.rows - 1, launch.rows] {
            let a = Random::new(3).ints(launch.rows * N, -50, 50);
            let place = |y: usize| if y < rows { (y * N) as u64 } else { (1 << 44) + y as u64 };
            let offsets: Vec<u64> = (0..launch.rows).map(place).collect();
            let out = platform().filled(-7, launch.items());
            let (a_there, offsets_there) = (platform().buffer(&a), platform().buffer(&offsets));
            kernel.run(
                launch.groups,
                launch.size,
                &[&a_there, &offsets_there, &out, &(rows as u32), &(N as u32)],
            );
            let want = launch.expect(|x, y, _| match y < rows {
                true => (0..N).map(|k| a[y * N + k] * (k + x) as i32).sum(),
                false => -7,
            });
            assert_same(&launch.name("guarded_rows"), &out, &want);
        }
    }
}

#[test]
fn rows_that_are_off_divide_and_store_nothing() {
    const N: u32 = 7;
    let kernel = Module::named("coarsening").kernel("guarded_division");
    for launch in Launch::all() {
        let divisors: Vec<i32> = (0..launch.rows).map(|y| [3, 0, -2, 0, 5][y % 5]).collect();
        let out = platform().filled(0, launch.items());
        let per_row = platform().filled(-1, launch.rows);
        kernel.run(launch.groups, launch.size, &[&platform().buffer(&divisors), &out, &per_row, &N]);
        let want = launch.expect(|x, y, _| {
            (0..N as i32).fold(0i32, |sum, k| {
                let q = (k * 1000).checked_div(divisors[y]).unwrap_or(0);
                sum.wrapping_add(q).wrapping_mul(3).wrapping_add(x as i32)
            })
        });
        assert_same(&launch.name("guarded_division"), &out, &want);
        let last = |d: &i32| ((N as i32 - 1) * 1000).checked_div(*d).unwrap_or(-1);
        assert_same(&launch.name("per_row"), &per_row, &divisors.iter().map(last).collect::<Vec<_>>());
    }
}

#[test]
fn barriers_in_loops() {
    const ROUNDS: u32 = 5;
    let kernel = Module::named("coarsening").kernel("exchange");
    for launch in Launch::all().filter(|launch| !launch.has_layers()) {
        let input = launch.input();
        let out = platform().filled(0, launch.items());
        let [w, h, _] = launch.size.map(|size| size as usize);
        let tile = Local(w * h * 4);
        kernel.run(launch.groups, launch.size, &[&platform().buffer(&input), &out, &tile, &ROUNDS]);
        let mut values = input;
        for r in 0..ROUNDS as usize {
            let before = values.clone();
            for (at, value) in values.iter_mut().enumerate() {
                let (x, y) = (at % launch.width, at / launch.width);
                let in_tile = |lx: usize, ly: usize| before[(y / h * h + ly) * launch.width + x / w * w + lx];
                let (lx, ly) = (x % w, y % h);
                *value = value
                    .wrapping_mul(3)
                    .wrapping_add(in_tile((lx + r) % w, (ly + 1) % h))
                    .wrapping_add(in_tile(0, ly))
                    .wrapping_sub(in_tile(lx, 0));
            }
        }
        assert_same(&launch.name("exchange"), &out, &values);
    }
}

#[test]
fn sub_groups_that_are_idle_between_barriers_lose_nothing() {
    let kernel = Module::named("coarsening").kernel("running_sums");
    let is_tree = |launch: &Launch| launch.size.iter().product::<u32>().is_power_of_two();
    for launch in Launch::all().filter(|launch| !launch.has_layers() && is_tree(launch)) {
        let input = launch.input();
        let out = platform().filled(0, launch.items());
        let [w, h, _] = launch.size.map(|size| size as usize);
        kernel.run(launch.groups, launch.size, &[&platform().buffer(&input), &out, &Local(w * h * 4)]);
        let want = launch.expect(|x, y, _| {
            let place = |l: usize| (y / h * h + l / w) * launch.width + x / w * w + l % w;
            (0..y % h * w + x % w).map(|l| input[place(l)]).sum()
        });
        assert_same(&launch.name("running_sums"), &out, &want);
    }
}

#[test]
fn fewer_and_fewer_sub_groups_have_something_to_do() {
    for name in ["group", "row", "column"] {
        let kernel = Module::named("coarsening").kernel(&format!("shrinking_{name}"));
        for launch in Launch::all().filter(|launch| !launch.has_layers()) {
            let input = launch.input();
            let out = platform().filled(0, launch.items());
            let [w, h, _] = launch.size.map(|size| size as usize);
            let n = w * h;
            let local = Local(2 * (n + w) * 4);
            kernel.run(launch.groups, launch.size, &[&platform().buffer(&input), &out, &local]);
            let mut want = vec![0; launch.items()];
            let groups = [launch.width / w, launch.rows / h];
            for group in 0..groups[0] * groups[1] {
                let (x, y) = (group % groups[0] * w, group / groups[0] * h);
                let at = |l: usize| (y + l / w) * launch.width + x + l % w;
                let mut tile: Vec<i32> = (0..n).map(|l| input[at(l)]).chain(vec![7; w]).collect();
                let (mut other, mut taken) = (vec![0i32; n + w], vec![0; n]);
                let (place, count, step): (&dyn Fn(usize) -> usize, _, _) = match name {
                    "group" => (&|l| l, n, 1),
                    "row" => (&|l| l % w, w, 1),
                    _ => (&|l| l / w, h, w),
                };
                for j in (1..=count).rev().step_by(2) {
                    for l in (0..n).filter(|l| place(*l) < j) {
                        other[l] = tile[l + step].wrapping_mul(3).wrapping_add(tile[l]);
                    }
                    for l in (0..n).filter(|l| place(*l) + 1 < j) {
                        tile[l] = other[l + step].wrapping_sub(other[l]);
                        taken[l] += j as i32;
                    }
                }
                (0..n).for_each(|l| want[at(l)] = tile[l].wrapping_add(taken[l]));
            }
            assert_same(&launch.name(name), &out, &want);
        }
    }
}

#[test]
fn private_arrays_are_those_of_each_work_item() {
    const N: usize = 19;
    let kernel = Module::named("coarsening").kernel("private_arrays");
    for launch in Launch::all() {
        launch.compare(&kernel, N as u32, |input, _, y, at| {
            let (mut own, mut v) = ([1i32, 2, 3, 4, 5, 6, 7, 8], input[at]);
            for k in 0..N {
                own[(k + y) & 7] = own[(k + y) & 7].wrapping_add(v);
                own[(v.wrapping_add(k as i32) & 7) as usize] ^= k as i32;
                v = v.wrapping_mul(5).wrapping_add(own[k & 7]);
            }
            v
        });
    }
}

#[test]
fn every_work_item_counts() {
    const N: usize = 6;
    let kernel = Module::named("coarsening").kernel("atomics");
    for launch in Launch::all() {
        let counts = platform().filled(0, 21);
        kernel.run(launch.groups, launch.size, &[&counts, &(N as u32)]);
        let mut want = [0i32; 21];
        let layers = (launch.groups[2] * launch.size[2]) as i32;
        for (y, x) in (0..launch.rows).flat_map(|y| (0..launch.width).map(move |x| (y, x))) {
            for k in 0..N {
                want[(x + y * k) % 16] += k as i32 * layers;
                want[16 + y % 4] += layers;
                if y % 3 == 1 {
                    want[20] = want[20].max((y * 100 + k) as i32);
                }
            }
        }
        assert_same(&launch.name("atomics"), &counts, &want);
    }
}

#[test]
fn loops_that_rows_leave_in_their_own_time() {
    const N: u32 = 40;
    let kernel = Module::named("coarsening").kernel("diverging");
    for launch in Launch::all() {
        launch.compare(&kernel, N, |input, x, y, at| {
            let (mut v, mut steps, mut last, mut sum) = (input[at] as u32 | 1, 0u32, -1i32, 0i32);
            while v != 1 && steps < N + 7 * y as u32 {
                v = if v.is_multiple_of(2) { v / 2 } else { v.wrapping_mul(3).wrapping_add(1) };
                steps += 1;
                if v % 5 == y as u32 % 5 {
                    continue;
                }
                last = (v ^ steps) as i32;
                if v % 1024 == 17 {
                    break;
                }
                for k in 0..(v & 3) + y as u32 {
                    sum = sum.wrapping_mul(7).wrapping_add((k ^ x as u32) as i32);
                }
            }
            steps.wrapping_mul(31).wrapping_add(v) as i32 ^ last ^ sum
        });
    }
}

#[test]
fn lanes_take_out_of_a_loop_what_they_left_it_with() {
    const N: u32 = 60;
    let kernel = Module::named("coarsening").kernel("escaping");
    for launch in Launch::all() {
        launch.compare(&kernel, N, |input, x, y, at| {
            let (mut v, mut steps) = (input[at] as u32, 0u32);
            while steps < N + 7 * y as u32 && v & 63 != 5 {
                v = (v ^ steps.wrapping_add(x as u32)).wrapping_mul(5).wrapping_add(v >> 3);
                steps += 1;
            }
            (steps * 1000 + (v & 255)) as i32
        });
    }
}

#[test]
fn structures_passed_by_value_are_those_of_each_work_item() {
    const N: usize = 11;
    let kernel = Module::named("coarsening").kernel("by_value");
    let table = [5i32, -6, 7, -8, 3];
    for launch in Launch::all() {
        let out = platform().filled(0, launch.items());
        kernel.run(launch.groups, launch.size, &[&table, &out, &(N as u32)]);
        let want = launch.expect(|x, y, _| {
            let (mut values, mut sum) = ([5i32, -6, 7, -8], 0i32);
            for k in 0..N {
                values[(k + x + y) & 3] += y as i32 * 3 + k as i32;
                sum = sum.wrapping_mul(3).wrapping_add(values[k & 3]);
            }
            sum
        });
        assert_same(&launch.name("by_value"), &out, &want);
    }
}

#[test]
fn sub_groups_stay_what_they_are() {
    const N: usize = 6;
    const WIDTH: usize = 8;
    let kernel = Module::named("coarsening").kernel("sub_groups");
    let whole = |launch: &Launch| launch.size[0].is_multiple_of(WIDTH as u32);
    for launch in Launch::all().filter(|launch| whole(launch) && !launch.has_layers()) {
        let input = launch.input();
        let out = platform().filled(0, launch.items());
        kernel.run(launch.groups, launch.size, &[&platform().buffer(&input), &out, &(N as u32)]);
        let mut want = vec![0i32; launch.items()];
        for (first, lanes) in input.chunks(WIDTH).enumerate().map(|(chunk, lanes)| (chunk * WIDTH, lanes)) {
            let (x, y) = (first % launch.width, first / launch.width);
            let [w, h, _] = launch.size.map(|size| size as usize);
            let subgroup = (y % h * w + x % w) / WIDTH;
            let (mut v, mut sums) = (lanes.to_vec(), [0i32; WIDTH]);
            for k in 0..N {
                let total = v.iter().fold(0i32, |sum, v| sum.wrapping_add(v.wrapping_add(k as i32)));
                let one = v[k % WIDTH];
                for sum in &mut sums {
                    *sum = sum.wrapping_mul(5).wrapping_add(total).wrapping_add(one);
                }
                if subgroup % 2 == k % 2 {
                    let mut most = i32::MIN;
                    for v in &mut v {
                        most = most.max(*v);
                        *v = v.wrapping_add(most).wrapping_add(subgroup as i32);
                    }
                }
            }
            for lane in 0..WIDTH {
                want[first + lane] = sums[lane] ^ v[lane];
            }
        }
        assert_same(&launch.name("sub_groups"), &out, &want);
    }
}

/// Compares a kernel whose rows have other lanes on, each fewer than the one before; `want` is given a place, the row's length and `n`.
fn compare_where_some_are_off(kernel: &Kernel, want: impl Fn(&[i32], [usize; 3], u32) -> i32) {
    for launch in Launch::all().filter(|launch| !launch.has_layers()) {
        let w = launch.width;
        for n in [0, 7, 30] {
            launch.compare(kernel, n, |input, x, y, _| if x + y < w { want(input, [x, y, w], n) } else { 0 });
        }
    }
}

#[test]
fn rows_have_in_common_what_each_makes_for_its_own_lanes() {
    let module = Module::named("coarsening");
    let common = |name: &str, what: &dyn Fn(&[i32], usize, usize) -> i32| {
        compare_where_some_are_off(&module.kernel(&format!("common_{name}")), |input, [x, y, w], n| {
            let a = what(input, x, w);
            (0..(n / 3).max(1)).fold(y as i32, |v, t| (v ^ t as i32).wrapping_mul(3).wrapping_add(a))
        });
    };
    common("row", &|input, x, _| input[x]);
    common("gathered", &|input, x, w| input[(input[x] as u32 % w as u32) as usize]);
    common("quotient", &|input, x, _| input[x] / 7);
    common("byte", &|input, x, _| i32::from(input[x / 4].to_le_bytes()[x % 4]));
    common("pair", &|input, x, _| {
        let [low, high] = [input[x / 2 * 2], input[x / 2 * 2 + 1]].map(|word| u64::from(word as u32));
        ((high << 32 | low) as i64 >> 8) as i32
    });
}

#[test]
fn what_rows_change_alike_each_changes_once() {
    struct Private {
        a: [i32; 5],
        own: [i32; 5],
        sum: i32,
    }
    let module = Module::named("coarsening");
    let changes = |name: &str, change: &dyn Fn(&mut Private, usize, i32)| {
        compare_where_some_are_off(&module.kernel(&format!("changes_{name}")), |input, [x, y, w], n| {
            let (v, n) = (input[y * w + x], n as usize);
            let mut private = Private { a: [10, 11, 12, 13, 14], own: [v; 5], sum: 0 };
            (0..n).for_each(|j| change(&mut private, j, v));
            private.a[n % 5] * 31 + private.sum + private.own[(n + 1) % 5]
        });
    };
    changes("count", &|private, j, v| {
        private.a[j % 5] += 1;
        private.sum += v / (j as i32 + 1);
    });
    changes("exchange", &|private, j, v| {
        private.a.swap(j % 5, (j + 1) % 5);
        private.sum += v / (j as i32 + 1);
    });
    changes("own", &|private, j, v| {
        private.a[j % 5] += j as i32;
        private.own[j % 5] ^= v + j as i32;
    });
}
