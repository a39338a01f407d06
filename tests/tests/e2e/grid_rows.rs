//! Grids of one dimension whose rows have a length that an argument says: a multiple of vectors, or not.

use crate::FEW_GROUP_SIZES;
use ze_tests::ulp::assert_same;
use ze_tests::{Module, Random, platform};

const ITEMS: usize = 4800;
const LENGTHS: [i32; 11] = [1024, 1, 1000, 64, 3, 16, 48, 100, 128, 8, 4800];

fn want(kernel: &str, input: &[i32], i: usize, [w, h]: [i32; 2]) -> i32 {
    let at = |index: i32| input[index as usize];
    let i = i as i32;
    let (y, x) = (i / w, i % w);
    match kernel {
        "cross_int" => {
            let mut sum = at(i) + 3 * x + 1000 * y;
            if x > 0 && x < w - 1 {
                sum += at(i - 1) - at(i + 1);
            }
            if y > 0 && y < h - 1 {
                sum ^= at(i - w) * at(i + w);
            }
            sum
        }
        "cross_uint" => {
            let last = if y < h { x } else { y };
            at(i) + at(y * w + x.max(1) - 1) * 3 - at((y.max(1) - 1) * w + x) + last
        }
        "cross_long" => at(i) + x * 7 + at(i / h) + (i + 5) / h,
        "by_row" => at(i) * at(x) + i / h,
        "volume" => {
            let (z, y) = (y / h, y % h);
            at(i) + 10 * y + 100 * z + if y & 1 != 0 { at((z * h + y - 1) * w) } else { 0 }
        }
        "members" => at(i) + 7 * x + 2 * at(i / h) + i % h + 9,
        "channels" => at(i) * at(i / (w * h)) + at(i % (w * h * 2)),
        _ => (at(y) + x) * 3 + at(i / h) + i % h + (i - 40) / w,
    }
}

#[test]
fn rows_are_those_of_any_length() {
    let input = Random::new(5).ints(2 * ITEMS, -1000, 1000);
    let there = platform().buffer(&input);
    let module = Module::named("grid_rows");
    for name in ["cross_int", "cross_uint", "cross_long", "by_row", "volume", "called", "channels", "members"]
    {
        let kernel = module.kernel(name);
        for group_size in FEW_GROUP_SIZES {
            let n = ITEMS / group_size as usize * group_size as usize;
            // A kernel's launches have multiples of vectors and others in turn.
            for (w, h) in LENGTHS.into_iter().zip(LENGTHS.into_iter().cycle().skip(4)) {
                // Rows above and below are there.
                let h = if name == "cross_int" { (n as i32 / w).min(h) } else { h };
                let out = platform().filled(0, n);
                let lengths = [i64::from(w), i64::from(h)];
                match name {
                    "cross_long" => {
                        kernel.run_1d(n, group_size, &[&there, &out, &lengths[0], &lengths[1]]);
                    }
                    "members" => {
                        // A number of 32 bits, and two of 64 behind it: of rows, and of columns.
                        let of = [9, h as u64, w as u64];
                        kernel.run_1d(n, group_size, &[&there, &out, &of]);
                    }
                    _ => kernel.run_1d(n, group_size, &[&there, &out, &w, &h]),
                }
                let all: Vec<i32> = (0..n).map(|i| want(name, &input, i, [w, h])).collect();
                assert_same(&format!("{name} in groups of {group_size}, {w} {h}"), &out, &all);
            }
        }
    }
}

#[test]
fn negative_lengths_divide_as_they_do_in_c() {
    let input = Random::new(6).ints(ITEMS, -1000, 1000);
    let (there, kernel) = (platform().buffer(&input), Module::named("grid_rows").kernel("by_row"));
    for (w, h) in [(-16, -64), (64, -3), (-1024, 128), (-5, 16), (i32::MIN, 32)] {
        let out = platform().filled(0, ITEMS);
        kernel.run_1d(ITEMS, 64, &[&there, &out, &w, &h]);
        let want = |i: usize| input[i] * input[(i as i32 % w) as usize] + i as i32 / h;
        assert_same(&format!("{w} {h}"), &out, &(0..ITEMS).map(want).collect::<Vec<_>>());
    }
}

#[test]
fn rows_are_exact_at_every_edge() {
    const ITEMS: usize = 80;
    let kernel = Module::named("grid_rows").kernel("edges");
    let near = |value: u64| [value.wrapping_sub(40), value.wrapping_sub(7), value, value + 5];
    let bases = [0, 1 << 31, 1 << 32, 1 << 63, 999_990].into_iter().flat_map(near);
    for base in bases.collect::<Vec<u64>>() {
        for by in [
            1,
            2,
            7,
            14,
            15,
            16,
            17,
            30,
            33,
            1000,
            (1 << 31) - 2,
            1 << 31,
            (1 << 32) - 3,
            (1 << 32) + 1,
            (1 << 63) - 2,
            (1 << 63) + 9,
            u64::MAX - 3,
        ] {
            let out = platform().filled(0u64, ITEMS * 12);
            kernel.run_1d(ITEMS, 16, &[&out, &base, &by]);
            let want = |at: usize| {
                let (u, v) =
                    ((at as u32).wrapping_add(base as u32), (at as u32 * 3).wrapping_add(base as u32));
                let (l, m) = ((at as u64).wrapping_add(base), (at as u64 * 2).wrapping_add(base));
                let (d, e) = (by as u32, (by as u32).wrapping_add(1));
                let (sd, se) = (d as i32, (d as i32).wrapping_add(1));
                let (long, more) = (by as i64, (by as i64).wrapping_add(1));
                let rest = |n: i64| n.wrapping_rem(more) as u64;
                [
                    (u / d).into(),
                    (u % e).into(),
                    ((u as i32).wrapping_div(sd) as u32).into(),
                    ((u as i32).wrapping_rem(se) as u32).into(),
                    (v / d).into(),
                    ((v as i32).wrapping_rem(se) as u32).into(),
                    l / by,
                    l % (by + 1),
                    (l as i64).wrapping_div(long) as u64,
                    rest(l as i64),
                    (m / by).wrapping_add((u / 1000).into()),
                    rest(m as i64).wrapping_add(((u as i32 % 24) as u32).into()),
                ]
            };
            let want: Vec<u64> = (0..ITEMS).flat_map(want).collect();
            assert_same(&format!("{base:#x} by {by:#x}"), &out, &want);
        }
    }
}
