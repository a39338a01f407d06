//! What atomic instructions return and leave behind: some order of the work-items explains it.

use super::groups::Number;
use ze_tests::ulp::assert_same;
use ze_tests::{Module, Random, platform};

/// Groups, group sizes and cells. Local memory has 63 cells and one more; its tests use the first group alone.
const SHAPES: [(usize, u32, u32); 6] =
    [(1, 1, 1), (1, 64, 7), (4, 64, 63), (3, 40, 5), (2, 17, 2), (1, 256, 1)];

/// The shapes that an operation on a type meets in a place, of which each has code of its own: additions and exchanges all, others one of three.
/// Over its types and both places, an operation meets all.
fn shapes(place: &str, name: &str, ty: &str) -> impl Iterator<Item = (usize, u32, u32)> {
    let every = if matches!(name, "add" | "exchange") { 1 } else { 3 };
    let of_type = match ty {
        "int" | "ulong" | "float" => 0,
        "uint" | "double" => 1,
        _ => 2,
    };
    let first = (of_type + usize::from(place == "local")) % every;
    SHAPES.into_iter().skip(first).step_by(every)
}

/// Finds an order in which the operations return these old values: each is the state that the one before it left.
/// Operations that leave the state as it is come first, since many operations pass each state only once.
fn explain<T: Number>(what: &str, start: T, mut operations: Vec<(T, T)>, apply: impl Fn(T, T) -> T, end: T) {
    let mut state = start;
    while !operations.is_empty() {
        let idle = operations.iter().position(|(old, v)| *old == state && apply(state, *v) == state);
        let next = idle.or_else(|| operations.iter().position(|(old, _)| *old == state));
        let Some(next) = next else {
            panic!("{what}: nobody found {state:?}, of {} left: {operations:?}", operations.len());
        };
        let (_, value) = operations.swap_remove(next);
        state = apply(state, value);
    }
    assert!(state == end, "{what}: {end:?} is left behind, expected {state:?}");
}

fn operation<T: Number>(
    name: &str,
    ty: &str,
    value: impl Fn(&mut Random, usize) -> T,
    apply: impl Fn(T, T) -> T,
) {
    let module = Module::named("atomics_results");
    for place in ["global", "local"] {
        let kernel = module.kernel(&format!("{place}_{name}_{ty}"));
        for (groups, size, count) in shapes(place, name, ty) {
            let groups = if place == "local" { 1 } else { groups };
            let n = groups * size as usize;
            for share in [16, 9] {
                let what = format!("{place} {name} of {ty}, {groups} groups of {size}, {count} cells");
                let mut random = Random::new(n as u64 + share);
                let on: Vec<u8> = (0..n).map(|_| u8::from(u64::from(random.below(16)) < share)).collect();
                let input: Vec<T> = (0..n).map(|item| value(&mut random, item)).collect();
                let before: Vec<T> = (0..=count as usize).map(|cell| value(&mut random, n + cell)).collect();
                let (cells, quiet) = (platform().buffer(&before), platform().buffer(&before));
                let olds = platform().filled(T::UNTOUCHED, 2 * n);
                let arguments: [&dyn ze_tests::Argument; 6] =
                    [&platform().buffer(&input), &platform().buffer(&on), &cells, &count, &olds, &quiet];
                kernel.run_1d(n, size, &arguments);
                let active: Vec<usize> = (0..n).filter(|item| on[*item] != 0).collect();
                for cell in 0..=count as usize {
                    let (offset, items): (usize, Vec<usize>) = if cell == count as usize {
                        (n, active.clone())
                    } else {
                        (0, active.iter().copied().filter(|item| item * 5 % count as usize == cell).collect())
                    };
                    let operations: Vec<(T, T)> =
                        items.iter().map(|item| (olds[offset + item], input[*item])).collect();
                    explain(&format!("{what}, cell {cell}"), before[cell], operations, &apply, cells[cell]);
                    let (got, all) = (quiet[cell], items.iter().map(|item| input[*item]));
                    if name == "exchange" {
                        let known = items.is_empty() && got == before[cell] || all.clone().any(|v| v == got);
                        assert!(known, "{what}, quiet cell {cell}: {got:?} came from nowhere");
                    } else {
                        assert_eq!(got, all.fold(before[cell], &apply), "{what}, quiet cell {cell}");
                    }
                }
                for item in (0..n).filter(|item| on[*item] == 0) {
                    assert_eq!(
                        [olds[item], olds[n + item]],
                        [T::UNTOUCHED; 2],
                        "{what}, work-item {item} is off"
                    );
                }
            }
        }
    }
}

macro_rules! integers {
    ($($test:ident $type:ident, $name:literal;)*) => {$(
        #[test]
        fn $test() {
            let any = |random: &mut Random, _: usize| random.next_u64() as $type;
            operation("add", $name, any, $type::wrapping_add);
            operation("sub", $name, any, $type::wrapping_sub);
            operation("min", $name, any, $type::min);
            operation("max", $name, any, $type::max);
            operation("and", $name, |random, _| (random.next_u64() | random.next_u64()) as $type, |a, b| a & b);
            operation("or", $name, |random, _| (random.next_u64() & random.next_u64()) as $type, |a, b| a | b);
            operation("xor", $name, any, |a, b| a ^ b);
            operation("exchange", $name, any, |_, b| b);
            operation("increment", $name, any, |a, _| a.wrapping_add(1));
            operation("decrement", $name, any, |a, _| a.wrapping_sub(1));
        }
    )*};
}
integers! {
    operations_on_int i32, "int";
    operations_on_uint u32, "uint";
    operations_on_long i64, "long";
    operations_on_ulong u64, "ulong";
}

macro_rules! floats {
    ($($test:ident $type:ident, $name:literal;)*) => {$(
        #[test]
        fn $test() {
            // Positive whole numbers: sums are exact, and no sum comes twice.
            operation("add", $name, |random, _| random.between(1, 1000) as $type, |a, b| a + b);
            let any = |random: &mut Random, _: usize| random.float(-1e6, 1e6) as $type;
            operation("min", $name, any, $type::min);
            operation("max", $name, any, $type::max);
        }
    )*};
}
floats! {
    operations_on_float f32, "float";
    operations_on_double f64, "double";
}

#[test]
fn exchange_of_float() {
    operation("exchange", "float", |_, item| item as f32, |_, b| b);
}

#[test]
fn loads_and_stores_with_every_order() {
    let kernel = Module::named("atomics_results").kernel("loads_and_stores");
    for (n, size, share) in [(1usize, 1u32, 16), (64, 64, 16), (128, 32, 9), (51, 17, 9), (300, 100, 16)] {
        let mut random = Random::new(n as u64);
        let mut on: Vec<u8> = (0..n).map(|_| u8::from(random.below(16) < share)).collect();
        on[n - 1] = 1;
        let input = random.ints(n, -1000, 1000);
        let (out, seen) = (platform().filled(-7i32, 5 * n + 2), platform().filled(-7i32, 4 * n));
        let (data, mask) = (platform().buffer(&input), platform().buffer(&on));
        kernel.run_1d(n, size, &[&data, &mask, &out, &seen]);
        let (mut want_out, mut want_seen) = (vec![-7; 5 * n], vec![-7; 4 * n]);
        let active: Vec<usize> = (0..n).filter(|item| on[*item] != 0).collect();
        for &i in &active {
            for (result, source) in [i, n - 1 - i, i * 7 % n, 0].into_iter().enumerate() {
                want_seen[result * n + i] = input[source];
            }
            want_out[i] = i as i32;
            want_out[2 * n - 1 - i] = i as i32;
            want_out[2 * n + i * 3] = i as i32;
        }
        assert_same(&format!("loads of {n}"), &seen, &want_seen);
        assert_same(&format!("stores of {n}"), &out[..5 * n], &want_out);
        assert_eq!(out[5 * n], 5);
        assert!(active.contains(&(out[5 * n + 1] as usize)), "{} stored {}", n, out[5 * n + 1]);
    }
}

#[test]
fn a_flag_is_won_once() {
    let kernel = Module::named("atomics_results").kernel("flags");
    for (n, size, count) in [(1usize, 1u32, 1u32), (64, 64, 5), (256, 32, 1), (51, 17, 7)] {
        let flags = platform().filled(0i32, count as usize);
        let wins = platform().filled(9u32, n);
        kernel.run_1d(n, size, &[&flags, &wins, &count]);
        for flag in 0..count as usize {
            let winners = (flag..n).step_by(count as usize).filter(|item| wins[*item] & 1 != 0).count();
            assert_eq!(winners, usize::from(flag < n), "flag {flag} of {count}, {n} work-items");
        }
        for group in wins.chunks(size as usize) {
            assert_eq!(group.iter().filter(|win| **win & 2 != 0).count(), 1, "{n} work-items");
        }
    }
}

#[test]
fn compare_and_exchange_changes_what_is_expected() {
    let kernel = Module::named("atomics_results").kernel("compare");
    for (n, size) in [(2usize, 2u32), (64, 64), (128, 32), (34, 17)] {
        let mut random = Random::new(n as u64);
        let on: Vec<u8> = (0..n).map(|_| u8::from(random.below(4) != 0)).collect();
        let before: Vec<u32> = (0..n).map(|_| random.below(3)).collect();
        let expected: Vec<u32> = (0..n).map(|_| random.below(3)).collect();
        let (cells, olds) = (platform().buffer(&before), platform().filled(99u32, n));
        kernel.run_1d(n, size, &[&cells, &platform().buffer(&expected), &platform().buffer(&on), &olds]);
        let (mut want_cells, mut want_olds) = (before.clone(), vec![99; n]);
        for i in (0..n).filter(|item| on[*item] != 0) {
            want_olds[i] = before[i ^ 1];
            if before[i ^ 1] == expected[i] {
                want_cells[i ^ 1] = i as u32 + 1000;
            }
        }
        assert_same(&format!("cells of {n}"), &cells, &want_cells);
        assert_same(&format!("old values of {n}"), &olds, &want_olds);
    }
}

#[test]
fn fences_and_barriers_order_global_memory() {
    let kernel = Module::named("atomics_results").kernel("fences");
    for (n, size) in [(1usize, 1u32), (128, 64), (51, 17), (512, 256)] {
        let input = Random::new(n as u64).ints(n, -1000, 1000);
        let (out, shared) = (platform().filled(0i32, n), platform().filled(0i32, n));
        kernel.run_1d(n, size, &[&platform().buffer(&input), &out, &shared]);
        let want: Vec<i32> =
            input.chunks(size as usize).flat_map(|group| group.iter().rev().copied()).collect();
        assert_same(&format!("{n} work-items"), &out, &want);
    }
}
