//! What a work-group does together: reductions, scans, votes, broadcasts and asynchronous copies.

use super::groups::Number;
use half::f16;
use std::fmt::Debug;
use ze_tests::ulp::assert_same;
use ze_tests::{Local, Module, Random, platform};

/// Widths that kernels require; 0: none.
const WIDTHS: [u32; 2] = [0, 32];
const MORE_WIDTHS: [u32; 4] = [0, 8, 16, 32];

/// Groups and group sizes: one sub-group or many, full, partial, across rows.
const SHAPES: [([u32; 3], [u32; 3]); 18] = [
    ([1, 1, 1], [1, 1, 1]),
    ([3, 1, 1], [8, 1, 1]),
    ([2, 1, 1], [64, 1, 1]),
    ([2, 1, 1], [17, 1, 1]),
    ([1, 1, 1], [100, 1, 1]),
    ([5, 1, 1], [256, 1, 1]),
    ([1, 1, 1], [1024, 1, 1]),
    ([2, 1, 1], [16, 16, 1]),
    ([2, 2, 1], [5, 7, 1]),
    ([1, 2, 1], [32, 4, 1]),
    ([2, 1, 2], [3, 4, 5]),
    ([2, 1, 1], [144, 1, 1]),
    ([1, 1, 1], [300, 1, 1]),
    ([1, 2, 1], [12, 12, 1]),
    ([2, 1, 1], [20, 3, 2]),
    ([1, 1, 1], [16, 5, 3]),
    ([1, 1, 1], [18, 18, 1]),
    ([1, 1, 2], [48, 4, 1]),
];

/// The work-items of each work-group in the order of their linear local ids, as indices of the linear global id.
fn work_groups(groups: [u32; 3], size: [u32; 3]) -> Vec<Vec<usize>> {
    let global = [groups[0] * size[0], groups[1] * size[1], groups[2] * size[2]];
    let position =
        |linear: u32, of: [u32; 3]| [linear % of[0], linear / of[0] % of[1], linear / of[0] / of[1]];
    (0..groups.iter().product())
        .map(|group| {
            let group = position(group, groups);
            let index = |local: u32| {
                let local = position(local, size);
                let [x, y, z] = [0, 1, 2].map(|dim| group[dim] * size[dim] + local[dim]);
                ((z * global[1] + y) * global[0] + x) as usize
            };
            (0..size.iter().product()).map(index).collect()
        })
        .collect()
}

/// An associative operation and its identity.
type Operation<'a, T> = (&'a dyn Fn(T, T) -> T, T);

/// Runs a kernel of a type with one shape of three for each width, from another one on for each `turn`: a shape is code of its own.
fn reductions_and_scans<T: Number>(turn: usize, name: &str, widths: &[u32]) {
    const RESULTS: usize = 21;
    const ROUNDS: usize = 3;
    let module = Module::named("groups_work_group");
    for (number, width) in widths.iter().enumerate() {
        let kernel = module.kernel(&format!("{name}_{width}"));
        for (groups, size) in SHAPES.into_iter().skip((turn + number) % 3).step_by(3) {
            let n = (groups.iter().product::<u32>() * size.iter().product::<u32>()) as usize;
            let mut random = Random::new(n as u64 + u64::from(*width));
            let input: Vec<T> = (0..n).map(|_| T::random(&mut random)).collect();
            let out = platform().filled(T::UNTOUCHED, ROUNDS * RESULTS * n);
            kernel.run(groups, size, &[&platform().buffer(&input), &out, &(ROUNDS as u32)]);
            let min = |a: T, b: T| if b < a { b } else { a };
            let max = |a: T, b: T| if b > a { b } else { a };
            let mut operations: Vec<Operation<'_, T>> =
                vec![(&T::plus, T::ZERO), (&T::times, T::ONE), (&min, T::HIGHEST), (&max, T::LOWEST)];
            let bits = T::BITS;
            for (f, identity) in bits.iter().flatten() {
                operations.push((f, *identity));
            }
            let mut want = vec![T::UNTOUCHED; ROUNDS * RESULTS * n];
            for round in 0..ROUNDS {
                for members in work_groups(groups, size) {
                    for (operation, (f, identity)) in operations.iter().enumerate() {
                        let value = |item: &usize| input[(item + round) % n];
                        let total = members.iter().map(value).fold(*identity, f);
                        let mut before = *identity;
                        for item in &members {
                            let through = f(before, value(item));
                            for (result, value) in [total, through, before].into_iter().enumerate() {
                                want[(round * RESULTS + 3 * operation + result) * n + item] = value;
                            }
                            before = through;
                        }
                    }
                }
            }
            assert_same(&format!("{name}, width {width}, {groups:?} groups of {size:?}"), &out, &want);
        }
    }
}

macro_rules! reductions_and_scans {
    ($($turn:literal $test:ident $type:ty, $name:literal, $widths:ident;)*) => {$(
        #[test]
        fn $test() {
            reductions_and_scans::<$type>($turn, $name, &$widths);
        }
    )*};
}
reductions_and_scans! {
    0 reductions_and_scans_of_int i32, "int", MORE_WIDTHS;
    1 reductions_and_scans_of_uint u32, "uint", WIDTHS;
    2 reductions_and_scans_of_long i64, "long", WIDTHS;
    3 reductions_and_scans_of_ulong u64, "ulong", WIDTHS;
    4 reductions_and_scans_of_half f16, "half", WIDTHS;
    5 reductions_and_scans_of_float f32, "float", MORE_WIDTHS;
    6 reductions_and_scans_of_double f64, "double", WIDTHS;
}

/// Lanes together: halves of them, until one is left.
fn by_halves(mut lanes: Vec<f32>) -> f32 {
    while lanes.len() > 1 {
        let high = lanes.split_off(lanes.len() / 2);
        lanes.iter_mut().zip(high).for_each(|(low, high)| *low += high);
    }
    lanes[0]
}

/// The sums of sub-groups together: rounds of as many as there are lanes, and then the lanes.
fn in_rounds(width: usize, parts: &[f32]) -> f32 {
    let mut lanes = vec![-0.0; width];
    for round in parts.chunks(width) {
        lanes.iter_mut().zip(round).for_each(|(lane, part)| *lane += part);
    }
    by_halves(lanes)
}

/// Each lane with all before it, in steps of 1, 2, 4 lanes.
fn scan(mut lanes: Vec<f32>) -> Vec<f32> {
    let mut step = 1;
    while step < lanes.len() {
        let before = lanes.clone();
        (step..lanes.len()).for_each(|lane| lanes[lane] = before[lane - step] + before[lane]);
        step *= 2;
    }
    lanes
}

/// Code of the fast tier runs one sub-group after the other, other code all of a work-group side by side and with wider sub-groups: to the last bit
/// the same, since what is added up first is never more lanes than are natural, which are 16 with AVX-512 and else 8.
#[test]
fn floats_are_added_up_in_one_order() {
    const RESULTS: usize = 21;
    let module = Module::named("groups_work_group");
    let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    let mut runs = Vec::new();
    for width in [8, 16, 32] {
        let kernel = module.kernel(&format!("float_{width}"));
        for items in [width as u32, 64, 128, 256, 512, 1024] {
            let n = items as usize;
            let input = Random::new(u64::from(items)).floats(n, -1.0, 1.0);
            let out = platform().filled(77.0f32, RESULTS * n);
            kernel.run([1, 1, 1], [items, 1, 1], &[&platform().buffer(&input), &out, &1u32]);
            runs.push((width, input, bits(&out[..2 * n])));
        }
    }
    let differs = |natural: usize| {
        runs.iter().find_map(|(width, input, out)| {
            let (n, of_part) = (input.len(), natural.min(*width));
            let parts = || input.chunks(of_part);
            let sums: Vec<f32> = parts().map(|lanes| by_halves(lanes.to_vec())).collect();
            let what = format!("{n} work-items, {width} a sub-group, parts of {of_part}");
            if out[..n] != bits(&vec![in_rounds(of_part, &sums); n]) {
                return Some(what);
            }
            let scans: Vec<Vec<f32>> = parts().map(|lanes| scan(lanes.to_vec())).collect();
            let lasts: Vec<f32> = scans.iter().map(|lanes| lanes[of_part - 1]).collect();
            let through = scans.iter().enumerate().flat_map(|(at, lanes)| {
                let before = in_rounds(of_part, &lasts[..at]);
                lanes.iter().map(move |lane| before + lane)
            });
            (out[n..] != bits(&through.collect::<Vec<_>>())).then(|| format!("scan of {what}"))
        })
    };
    if let (Some(eight), Some(sixteen)) = (differs(8), differs(16)) {
        panic!("another order than with natural sub-groups of 8 ({eight}) and of 16 ({sixteen})");
    }
}

#[test]
fn broadcasts_votes_and_logical_operations() {
    const RESULTS: usize = 6;
    const ROUNDS: usize = 5;
    let module = Module::named("groups_work_group");
    for width in &MORE_WIDTHS[1..] {
        let kernel = module.kernel(&format!("broadcast_{width}"));
        for (groups, size) in SHAPES {
            let n = (groups.iter().product::<u32>() * size.iter().product::<u32>()) as usize;
            let mut random = Random::new(n as u64);
            let input: Vec<i64> = (0..n).map(|_| i64::from(random.between(-100, 100))).collect();
            let out = platform().filled(-1i64, ROUNDS * RESULTS * n);
            kernel.run(groups, size, &[&platform().buffer(&input), &out, &(ROUNDS as u32)]);
            let mut want = vec![-1i64; ROUNDS * RESULTS * n];
            for round in 0..ROUNDS {
                for (number, members) in work_groups(groups, size).into_iter().enumerate() {
                    let group = number % groups[0] as usize;
                    let [x_size, y_size, z_size] = size.map(|size| size as usize);
                    let (x, y, z) =
                        ((group + round) % x_size, (group + 3 * round) % y_size, 7 * round % z_size);
                    let value = |item: usize| input[(item + round) % n];
                    let source = value(members[(z * y_size + y) * x_size + x]);
                    let any = members.iter().any(|item| value(*item) > 99);
                    let all = members.iter().all(|item| value(*item) > -99);
                    let (mut some, mut odd) = (false, false);
                    for item in members {
                        some |= value(item) > 95;
                        let results = [source, any.into(), all.into(), all.into(), some.into(), odd.into()];
                        odd ^= value(item) > 0;
                        for (result, value) in results.into_iter().enumerate() {
                            want[(round * RESULTS + result) * n + item] = value;
                        }
                    }
                }
            }
            assert_same(&format!("width {width}, {groups:?} groups of {size:?}"), &out, &want);
        }
    }
}

#[test]
fn a_broadcast_may_be_128_bytes_large() {
    let kernel = Module::named("groups_work_group");
    let kernel = kernel.kernel("broadcast_vector");
    for (groups, size) in [(3u32, 1u32), (2, 16), (2, 33), (1, 128)] {
        let n = (groups * size) as usize;
        let mut random = Random::new(n as u64);
        let input: Vec<[f64; 16]> =
            (0..n).map(|_| [(); 16].map(|()| random.float(-1.0, 1.0).into())).collect();
        let (out, sums) = (platform().filled([0.0; 16], n), platform().filled(-1i32, n));
        kernel.run_1d(n, size, &[&platform().buffer(&input), &out, &sums]);
        for item in 0..n {
            let first = item - item % size as usize;
            let last = first + size as usize - 1;
            assert_eq!(out[item], input[last], "{groups} groups of {size}, work-item {item}");
            let sum: usize = (first..=last).sum::<usize>() + last;
            assert_eq!(sums[item], sum as i32, "{groups} groups of {size}, work-item {item}");
        }
    }
}

/// `lanes` counts the elements that hold data: a vector of three has a fourth without.
fn copies<T: Copy + PartialEq + Debug, const N: usize>(name: &str, lanes: usize, value: impl Fn(u32) -> T) {
    let module = Module::named("groups_work_group");
    let kernel = module.kernel(&format!("copy_{name}"));
    let mut next = 0;
    let mut fresh = || {
        [(); N].map(|()| {
            next += 1;
            value(next)
        })
    };
    let nothing = [value(0); N];
    for (groups, size, stride) in [(1usize, 16u32, 1u32), (3, 64, 3), (2, 40, 4), (2, 1, 1)] {
        let width = size as usize;
        let n = groups * width;
        let input: Vec<[T; N]> = (0..n).map(|_| fresh()).collect();
        let out = platform().filled(nothing, n + n * stride as usize);
        let tile = Local(2 * width * size_of::<[T; N]>());
        kernel.run_1d(n, size, &[&platform().buffer(&input), &out, &tile, &stride]);
        let mut want = vec![nothing; out.len()];
        let stride = stride as usize;
        for (group, input) in input.chunks(width).enumerate() {
            for k in 0..width / stride {
                want[group * width + k] = input[k * stride];
            }
            for (k, value) in input.iter().rev().enumerate() {
                want[n + (group * width + k) * stride] = *value;
            }
        }
        for (at, (got, want)) in out.iter().zip(&want).enumerate() {
            assert_eq!(
                got[..lanes],
                want[..lanes],
                "{name}, {groups} groups of {size}, stride {stride}, element {at}"
            );
        }
    }
}

#[test]
fn asynchronous_copies() {
    copies::<i8, 1>("char", 1, |n| n as i8);
    copies::<i16, 1>("short", 1, |n| n as i16);
    copies::<i32, 1>("int", 1, |n| n as i32);
    copies::<f64, 1>("double", 1, f64::from);
    copies::<f32, 4>("float4", 4, |n| n as f32);
    copies::<i32, 4>("int3", 3, |n| n as i32);
    copies::<u64, 16>("ulong16", 16, u64::from);
}

#[test]
fn lanes_that_are_off_do_not_show_in_reductions() {
    let module = Module::named("reduction_identities");
    for size in [1u32, 5, 16, 32, 37, 40] {
        let n = size as usize;
        let run = |kernel: &str, value: f32| -> Vec<u32> {
            let (input, out) = (platform().filled(value, n), platform().filled(0u32, 6 * n));
            module.kernel(kernel).run_1d(n, size, &[&input, &out]);
            out.to_vec()
        };
        let is_nan = |bits: u32| f32::from_bits(bits).is_nan();
        let zero = (-0.0f32).to_bits();
        for (at, result) in run("reductions", f32::NAN).chunks_exact(6).enumerate() {
            assert!(result.iter().all(|bits| is_nan(*bits)), "groups of {size}, {at}: {result:x?}");
        }
        for (at, result) in run("reductions", -0.0).chunks_exact(6).enumerate() {
            assert_eq!(result, [zero; 6], "groups of {size}, {at}");
        }
        for (at, result) in run("scans", f32::NAN).chunks_exact(6).enumerate() {
            assert!(result[..4].iter().all(|bits| is_nan(*bits)), "groups of {size}, {at}: {result:x?}");
            // Of nothing, the identity; of numbers that are none, none.
            let first = f32::from_bits(result[4]) == f32::INFINITY && f32::from_bits(result[5]) == 0.0;
            assert!(if at == 0 { first } else { is_nan(result[5]) }, "groups of {size}, {at}: {result:x?}");
        }
        for (at, result) in run("scans", -0.0).chunks_exact(6).enumerate() {
            assert_eq!(result[..4], [zero; 4], "groups of {size}, {at}");
        }
    }
}

#[test]
fn stacks_have_room_for_large_values_across_a_barrier() {
    const ELEMENTS: usize = 2560;
    let module = Module::named("large_frames");
    let kernel = module.kernel("windows");
    let size = 48usize;
    let n = size + ELEMENTS - 1;
    let a: Vec<f32> = (0..n).map(|at| at as f32).collect();
    let b: Vec<f32> = a.iter().map(|x| -2.0 * x).collect();
    let (to_a, to_b) = (platform().filled(0f32, n), platform().filled(0f32, n));
    kernel.run_1d(size, size as u32, &[&platform().buffer(&a), &platform().buffer(&b), &to_a, &to_b]);
    assert_same("the first array", &to_a, &a);
    assert_same("the second array", &to_b, &b);
}

/// Those whose work-groups are in a row and have no layers, with the work-items of one.
fn in_a_row() -> impl Iterator<Item = ([u32; 3], [u32; 3], usize)> {
    let in_a_row = SHAPES.into_iter().filter(|(groups, size)| groups[1..] == [1, 1] && size[2] == 1);
    in_a_row.map(|(groups, size)| (groups, size, size.iter().product::<u32>() as usize))
}

/// Ids and sizes are constants in code for a whole work-group, and products of them are not to be rounded before they are added.
#[test]
fn products_of_ids_are_rounded_with_their_sums() {
    let kernel = Module::named("whole_groups").kernel("products");
    for (groups, size, items) in in_a_row() {
        let n = groups[0] as usize * items;
        let input = Random::new(n as u64).floats(n, 0.0, 1.0);
        let out = platform().filled(-1.0f32, 3 * n);
        let scratch = Local(items * size_of::<f32>());
        kernel.run(groups, size, &[&platform().buffer(&input), &out, &scratch]);
        // A processor that does not fuse rounds them all.
        let want = |add: fn(f32, f32, f32) -> f32| -> Vec<f32> {
            let of_item = |(at, own): (usize, &f32)| {
                let (group, id) = (at / items, at % items);
                let mirror = items - 1 - id;
                let other = add(mirror as f32, 0.1, input[group * items + mirror]);
                let chosen = if id < 16 { own * 0.7 } else { *own };
                [other, add(size[0] as f32, 0.3, other), chosen + other]
            };
            input.iter().enumerate().flat_map(of_item).collect()
        };
        let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        let [fused, rounded] =
            [want(|a, b, c| a.mul_add(b, c)), want(|a, b, c| a * b + c)].map(|want| bits(&want));
        let got = bits(&out);
        assert!(got == fused || got == rounded, "{groups:?} groups of {size:?}");
    }
}

#[test]
fn loops_of_some_work_items_of_a_group() {
    let kernel = Module::named("whole_groups").kernel("leaders");
    for (groups, size, items) in in_a_row() {
        let n = groups[0] as usize * items;
        let input: Vec<i32> = (0..n as u64).map(|at| Random::new(at).between(-1000, 1000)).collect();
        let out = platform().filled(-1i32, n);
        let scratch = Local(items * size_of::<i32>());
        kernel.run(groups, size, &[&platform().buffer(&input), &out, &scratch]);
        let mut want = Vec::new();
        for all in input.chunks(items) {
            let mut sums = all.to_vec();
            let mut half = items / 2;
            while half > 0 {
                (0..half).for_each(|id| sums[id] = sums[id].wrapping_add(sums[id + half]));
                half /= 2;
            }
            for id in 0..items {
                let mut result = -1i32;
                if id < 16 {
                    result = all.iter().skip(id).step_by(items.min(16)).copied().max().unwrap_or(i32::MIN);
                }
                if id == items - 1 {
                    result = all.iter().fold(0, |sum, value| sum.wrapping_mul(31).wrapping_add(*value));
                }
                if (32..48).contains(&id) {
                    let rounds = 0..all[id] & 7;
                    result = rounds.fold(all[id], |result, at| result ^ all[at as usize] << at);
                }
                want.push(result ^ sums[0]);
            }
        }
        assert_same(&format!("{groups:?} groups of {size:?}"), &out, &want);
    }
}
