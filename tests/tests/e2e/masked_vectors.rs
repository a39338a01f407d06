//! Vectors that some work-items store, and elements at indices of which some bits are known.

use ze_tests::ulp::assert_same;
use ze_tests::{Module, Random, platform};

const UNTOUCHED: u8 = 0x5a;

/// The bytes of a number, added to those of an element and cut to as many.
fn plus(element: &[u8], factor: u64, summand: u64) -> Vec<u8> {
    let number = element.iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    number.wrapping_mul(factor).wrapping_add(summand).to_le_bytes()[..element.len()].to_vec()
}

#[test]
fn who_is_off_stores_no_component() {
    let module = Module::named("masked_vectors");
    for (ty, size, components) in [
        ("uchar", 1, 2),
        ("uchar", 1, 4),
        ("uchar", 1, 8),
        ("uchar", 1, 16),
        ("ushort", 2, 4),
        ("ushort", 2, 8),
        ("ushort", 2, 16),
        ("uint", 4, 8),
        ("uint", 4, 16),
    ] {
        let bytes = size * components;
        let stored = module.kernel(&format!("stored_{ty}{components}"));
        let added = module.kernel(&format!("added_{ty}{components}"));
        for (n, group_size) in [(64, 64), (96, 24), (192, 64), (100, 100)] {
            let mut random = Random::new(bytes as u64);
            let input: Vec<u8> = (0..n * bytes).map(|_| random.next_u32() as u8).collect();
            let there = platform().buffer(&input);
            for on in [0, 1, 41, 60, 63, 64] {
                let out = platform().filled(UNTOUCHED, n * bytes);
                stored.run_1d(n, group_size, &[&there, &out, &(on as u32)]);
                let mut want = vec![UNTOUCHED; n * bytes];
                for id in 0..n.min(on) {
                    let at = id * bytes..(id + 1) * bytes;
                    want[at.clone()].copy_from_slice(&input[at.clone()]);
                    let second = plus(&input[at.start..at.start + size], 1, 3 * id as u64);
                    want[at.start + size..at.start + 2 * size].copy_from_slice(&second);
                }
                assert_same(&format!("stored {ty}{components}, {n} by {group_size}, {on}"), &out, &want);
            }
            for on in [0, 3, 6, 7] {
                let out = platform().filled(UNTOUCHED, n * bytes);
                added.run_1d(n, group_size, &[&there, &out, &(on as u32)]);
                let all = (0..n).flat_map(|id| {
                    let element = |at: usize| match id % 7 < on {
                        true => plus(&input[id * bytes + at * size..][..size], 3, 1),
                        false => vec![UNTOUCHED; size],
                    };
                    (0..components).flat_map(element).collect::<Vec<u8>>()
                });
                let want: Vec<u8> = all.collect();
                assert_same(&format!("added {ty}{components}, {n} by {group_size}, {on}"), &out, &want);
            }
        }
    }
    let kernel = module.kernel("stored_by_three");
    for on in [0, 1, 33, 60, 95] {
        let input: Vec<u8> = (0..96 * 3).map(|at| at as u8).collect();
        let out = platform().filled(UNTOUCHED, 96 * 3);
        kernel.run_1d(96, 32, &[&platform().buffer(&input), &out, &(on as u32)]);
        let want =
            |at: usize| if at / 3 < on { input[at].wrapping_add((at % 3) as u8 + 1) } else { UNTOUCHED };
        assert_same(&format!("three, {on}"), &out, &(0..96 * 3).map(want).collect::<Vec<_>>());
    }
}

/// Runs the kernels of a type.
macro_rules! look_up {
    ($name:literal, $ty:ty) => {
        let module = Module::named("known_bits");
        let table: Vec<$ty> = (0..4096u64).map(|at| (at * 0x9e37_79b9) as $ty).collect();
        let there = platform().buffer(&table);
        for (n, group_size) in [(64, 4), (64, 8), (64, 16), (256, 64), (60, 12), (3, 1)] {
            let numbers: Vec<u32> =
                Random::new(n as u64).ints(n, 0, 1 << 20).into_iter().map(|v| v as u32).collect();
            let (indices, out) = (platform().buffer(&numbers), platform().filled(0 as $ty, n));
            let group = |id: usize| (id / group_size as usize) as $ty;
            let sum = |parts: &[$ty]| parts.iter().fold(0 as $ty, |sum, part| sum.wrapping_add(*part));
            module.kernel(concat!("look_up_", $name)).run_1d(n, group_size, &[&there, &indices, &out]);
            let first = |id: usize| table[(numbers[id] as usize & 0xff8) | 7];
            let second = |id: usize| table[(numbers[id] as usize & 0x3f0) | 3];
            let want = |id: usize| sum(&[first(id), second(id), group(id)]);
            assert_same($name, &out, &(0..n).map(want).collect::<Vec<_>>());
            module.kernel(concat!("look_up_int_", $name)).run_1d(n, group_size, &[&there, &indices, &out]);
            let other = |id: usize| sum(&[table[id * 24 & 4095], table[(id * 24 + 7) & 4095]]);
            let want = |id: usize| sum(&[first(id), other(id), group(id)]);
            assert_same($name, &out, &(0..n).map(want).collect::<Vec<_>>());
            let out = platform().filled(0 as $ty, 4096);
            module.kernel(concat!("spread_", $name)).run_1d(n, group_size, &[&there, &indices, &out]);
            let want = |at: usize| match at % 4 == 2 && at / 4 < n {
                true => sum(&[table[at / 4], group(at / 4)]),
                false => 0,
            };
            assert_same($name, &out, &(0..4096).map(want).collect::<Vec<_>>());
        }
    };
}

#[test]
fn known_bits_of_indices_are_not_mistaken_for_others() {
    look_up!("uchar", u8);
    look_up!("ushort", u16);
    look_up!("uint", u32);
    look_up!("ulong", u64);
}
