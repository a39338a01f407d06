//! Atomic operations of 32 and 64 bits in global and local memory; the expected results do not depend on the order.

use half::f16;
use ze_tests::ulp::assert_same;
use ze_tests::{Module, Random, platform};

/// The values of the eight cells before the operations of atomics.cl.
const BEFORE: [i8; 8] = [0, 100, 120, -120, -1, 0, 85, 50];

macro_rules! read_modify_write {
    ($($test:ident $type:ident $name:literal;)*) => {$(
        #[test]
        fn $test() {
            fn apply(cell: &mut [$type], v: $type) {
                cell[0] = cell[0].wrapping_add(v);
                cell[1] = cell[1].wrapping_sub(v);
                cell[2] = cell[2].min(v);
                cell[3] = cell[3].max(v);
                cell[4] &= v | 3;
                cell[5] |= v & 0x7f;
                cell[6] ^= v;
                cell[7] = cell[7].wrapping_sub(1);
            }
            let module = Module::named("atomics");
            for (n, group_size) in [(1usize, 1u32), (100, 32), (1000, 64), (777, 17)] {
                let mut random = Random::new(n as u64);
                let input: Vec<$type> = (0..n).map(|_| random.next_u64() as $type).collect();
                let data = platform().buffer(&input);
                let before = BEFORE.map(|v| v as $type);

                let (cell, next) = (platform().buffer(&before), platform().filled(0 as $type, 1));
                let seen = platform().filled($type::MAX, n);
                module.kernel(concat!("global_", $name)).run_1d(n, group_size, &[&data, &cell, &next, &seen, &(n as u32)]);
                let mut want = before;
                input.iter().for_each(|&v| apply(&mut want, v));
                assert_same(&format!("global, {n} items"), &cell, &want);
                let mut numbers = seen.to_vec();
                numbers.sort_unstable();
                assert_same("what global increments returned", &numbers, &(0..n as $type).collect::<Vec<_>>());

                let groups = n.div_ceil(group_size as usize);
                let out = platform().buffer(&before.repeat(groups));
                let seen = platform().filled($type::MAX, n);
                module.kernel(concat!("local_", $name)).run_1d(n, group_size, &[&data, &out, &seen, &(n as u32)]);
                let mut want = before.repeat(groups);
                for (group, values) in input.chunks(group_size as usize).enumerate() {
                    values.iter().for_each(|&v| apply(&mut want[8 * group..][..8], v));
                }
                assert_same(&format!("local, {n} items"), &out, &want);
                for values in seen.chunks(group_size as usize) {
                    let mut numbers = values.to_vec();
                    numbers.sort_unstable();
                    assert_same("what local increments returned", &numbers, &(0..values.len() as $type).collect::<Vec<_>>());
                }
            }
        }
    )*};
}
read_modify_write! {
    int_operations i32 "int";
    uint_operations u32 "uint";
    long_operations i64 "long";
    ulong_operations u64 "ulong";
}

#[test]
fn exchange_loses_nothing() {
    let module = Module::named("atomics");
    for (groups, size) in [(1, 1), (4, 32), (10, 17)] {
        let n = groups * size as usize;
        let all: Vec<u64> = (0..=n as u64).collect();

        let (cell, seen) = (platform().filled(0u32, 1), platform().filled(u32::MAX, n));
        module.kernel("exchange_uint").run_1d(n, size, &[&cell, &seen]);
        let mut got: Vec<u64> = seen.iter().chain(cell.iter()).map(|&v| u64::from(v)).collect();
        got.sort_unstable();
        assert_same("uint", &got, &all);

        let (cell, seen) = (platform().filled(0u64, 1), platform().filled(u64::MAX, n));
        module.kernel("exchange_ulong").run_1d(n, size, &[&cell, &seen]);
        let mut got: Vec<u64> = seen.iter().chain(cell.iter()).copied().collect();
        got.sort_unstable();
        assert_same("ulong", &got, &all);

        let (cell, seen) = (platform().filled(0f32, 1), platform().filled(f32::NAN, n));
        module.kernel("exchange_float").run_1d(n, size, &[&cell, &seen]);
        let mut got: Vec<u64> = seen.iter().chain(cell.iter()).map(|&v| v as u64).collect();
        got.sort_unstable();
        assert_same("float", &got, &all);
    }
}

#[test]
fn compare_and_exchange_loops_give_every_lane_its_turn() {
    let module = Module::named("atomics");
    for (n, group_size) in [(1usize, 1u32), (100, 32), (1000, 64), (333, 17)] {
        let mut random = Random::new(n as u64);
        let ints: Vec<u32> = (0..n).map(|_| random.next_u32()).collect();
        let cell = platform().filled(7u32, 1);
        module.kernel("cas_loop_uint").run_1d(
            n,
            group_size,
            &[&platform().buffer(&ints), &cell, &(n as u32)],
        );
        assert_eq!(cell[0], ints.iter().fold(7u32, |sum, &v| sum.wrapping_add(v)), "uint, {n} items");

        let longs: Vec<u64> = (0..n).map(|_| random.next_u64()).collect();
        let cell = platform().filled(7u64, 1);
        module.kernel("cas_loop_ulong").run_1d(
            n,
            group_size,
            &[&platform().buffer(&longs), &cell, &(n as u32)],
        );
        assert_eq!(cell[0], longs.iter().fold(7u64, |sum, &v| sum.wrapping_add(v)), "ulong, {n} items");
    }
    for (groups, size) in [(1usize, 1usize), (3, 32), (4, 100)] {
        // Small whole numbers: their sum is exact in any order.
        let values: Vec<f32> =
            Random::new(9).ints(groups * size, -50, 50).iter().map(|&v| v as f32).collect();
        let out = platform().filled(f32::NAN, groups);
        module.kernel("cas_loop_local_float").run_1d(
            groups * size,
            size as u32,
            &[&platform().buffer(&values), &out],
        );
        let want: Vec<f32> = values.chunks(size).map(|group| group.iter().sum()).collect();
        assert_same("local float", &out, &want);
    }
}

#[test]
fn only_active_lanes_take_part() {
    let module = Module::named("atomics");
    for (n, group_size) in [(1usize, 1u32), (100, 32), (1000, 17)] {
        let input = Random::new(n as u64).ints(n, -100, 100);
        let (out, count) = (platform().filled(0i32, n), platform().filled(0u32, 1));
        module.kernel("compact_positive").run_1d(
            n,
            group_size,
            &[&platform().buffer(&input), &out, &count, &(n as u32)],
        );
        let mut want: Vec<i32> = input.iter().copied().filter(|&v| v > 0).collect();
        assert_eq!(count[0] as usize, want.len());
        let mut got = out[..want.len()].to_vec();
        got.sort_unstable();
        want.sort_unstable();
        assert_same("positive numbers", &got, &want);
    }
}

#[test]
fn atomics_with_explicit_memory_orders() {
    let module = Module::named("atomics_c11");
    let n = 500;
    let mut random = Random::new(11);
    let input = random.ints(n, -1000, 1000);
    let cell = platform().buffer(&[0i32, 0, i32::MIN, i32::MAX, 12345, 0, 0]);
    let seen = platform().filled(-1i32, n);
    module.kernel("c11_atomics").run_1d(n, 32, &[&cell, &platform().buffer(&input), &seen, &(n as u32)]);
    let sum: i32 = input.iter().sum();
    let (max, min) = (*input.iter().max().unwrap(), *input.iter().min().unwrap());
    let xor = input.iter().fold(12345, |x, v| x ^ v);
    assert_same("cells", &cell, &[sum, -sum, max, min, xor, 77, n as i32]);
    let mut numbers = seen.to_vec();
    numbers.sort_unstable();
    assert_same("what increments returned", &numbers, &(0..n as i32).collect::<Vec<_>>());

    let input: Vec<u64> = (0..n).map(|_| random.next_u64()).collect();
    let cell = platform().buffer(&[0u64, 0, 0, u64::MAX, 0]);
    module.kernel("c11_atomics_long").run_1d(n, 32, &[&cell, &platform().buffer(&input), &(n as u32)]);
    let want = [
        input.iter().fold(0u64, |a, &v| a.wrapping_add(v)),
        input.iter().fold(0, |a, v| a | v),
        input.iter().fold(0, |a, v| a ^ v),
        *input.iter().min().unwrap(),
        *input.iter().max().unwrap(),
    ];
    assert_same("64-bit cells", &cell, &want);
}

#[test]
fn halves_are_added_and_compared_atomically() {
    const ITEMS: usize = 400;
    let module = Module::named("atomics_half");
    for group in [1u32, 25, 100] {
        let start = f16::from_f32(-100.0);
        let mut out = platform().filled(start, 3 + ITEMS);
        out[0] = f16::ZERO;
        out[1] = f16::INFINITY;
        module.kernel("global_halves").run_1d(ITEMS, group, &[&out]);
        let number = |at: usize| f16::from_f32(at as f32);
        // All sums up to 2048 are halves.
        assert_same("sum, least, most", &out[..3], &[number(ITEMS), number(0), number(5 * (ITEMS - 1))]);
        let mut olds = out[3..].to_vec();
        olds.sort_by(f16::total_cmp);
        assert_same("old values", &olds, &(0..ITEMS).map(number).collect::<Vec<_>>());

        let groups = ITEMS / group as usize;
        let sums = platform().filled(start, groups);
        module.kernel("local_halves").run_1d(ITEMS, group, &[&sums]);
        assert_same("local sums", &sums, &vec![number(group as usize); groups]);
    }
}

/// What `atomic_runs.cl` makes of one work-group's rows: total, lowest, highest, and all of them by exclusive or, of each group.
macro_rules! group_by {
    ($($test:ident $type:ident $suffix:literal;)*) => {$(
        #[test]
        fn $test() {
            let module = Module::named("atomic_runs");
            let tables: [(&str, usize, fn(u32) -> u32); 2] =
                [("bytes", 256, |key| key % 256), ("any", 100, |key| key / 3)];
            for (kernel, count, group) in tables {
                for (rows, size, groups) in [(1usize, 1u32, 1usize), (100, 32, 3), (1000, 64, 2), (777, 17, 2)] {
                    let mut random = Random::new(rows as u64);
                    let keys: Vec<u32> = (0..rows * groups).map(|_| random.below(300)).collect();
                    let amounts: Vec<$type> = keys.iter().map(|_| random.next_u64() as $type).collect();
                    let out = platform().filled(99 as $type, 4 * count * groups);
                    module.kernel(&format!("{kernel}_{}", $suffix)).run_1d(
                        groups * size as usize,
                        size,
                        &[&(rows as u32), &platform().buffer(&keys), &platform().buffer(&amounts), &out],
                    );
                    let mut want = vec![0 as $type; 4 * count * groups];
                    for (row, (key, amount)) in keys.iter().zip(&amounts).enumerate() {
                        let at = 4 * (row / rows * count + group(*key) as usize);
                        let of = &mut want[at..at + 4];
                        of[0] = of[0].wrapping_add(*amount).wrapping_sub(1);
                        of[1] = of[1].min(*amount);
                        of[2] = of[2].max(*amount);
                        of[3] ^= amount;
                    }
                    assert_same(&format!("{kernel}: {rows} rows in groups of {size}"), &out, &want);
                }
            }
        }
    )*};
}
group_by! {
    runs_of_local_atomics_by_group_int i32 "int";
    runs_of_local_atomics_by_group_long i64 "long";
}

#[test]
fn each_work_item_changes_places_in_its_order() {
    let module = Module::named("atomic_runs");
    for items in [1usize, 5, 63, 64, 100, 128] {
        let out = platform().filled(0u32, 2 * 128);
        module.kernel("in_order").run_1d(128, 64, &[&(items as u32), &out]);
        let mut want = vec![[1000u32, 7]; 128];
        for item in 0..items as u32 {
            let of = &mut want[(item / 64 * 64 + item % 64 * 5 % 64) as usize];
            *of = [(item % 64 + 3).wrapping_sub(7), (item % 64) | 64];
        }
        assert_same(&format!("{items} items"), &out, want.as_flattened());
    }
}
