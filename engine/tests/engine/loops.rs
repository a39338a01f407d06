//! Loops that become something else: those over the bits of a number, those that load for their next iteration, and those whose bound is loaded in
//! each.

use crate::support::{address, launch, on_all_processors};
use std::sync::Arc;
use ze_engine::Program;
use ze_tests::Random;

/// Work-items: two groups of full and one of partial sub-groups.
const GROUPS: [[u32; 2]; 2] = [[2, 64], [3, 21]];

/// Numbers of a width with few bits, many, and none.
fn numbers(width: u32, count: usize) -> Vec<u64> {
    let mut random = Random::new(u64::from(width));
    let mut number = |at: usize| match at % 4 {
        0 => random.next_u64() & random.next_u64() & random.next_u64(),
        1 => random.next_u64() | random.next_u64(),
        2 => random.next_u64(),
        _ => [0, 1, u64::MAX, 1 << (width - 1)][at / 4 % 4],
    };
    (0..count).map(|at| number(at) & mask(width)).collect()
}

fn mask(width: u32) -> u64 {
    u64::MAX >> (64 - width)
}

fn bytes_of(numbers: &[u64], width: u32) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()[..width as usize / 8].to_vec()).collect()
}

/// A loop that goes on by one bit, so often: the bits that it has taken, behind those that it begins with.
fn reversed(x: u64, begin: u64, times: u64, width: u32) -> u64 {
    (0..times).fold((x, begin), |(x, r), _| (x >> 1, (r << 1 | x & 1) & mask(width))).1
}

fn check_bits(program: &Arc<Program>, width: u32, n: u32, place: &str) {
    let ones = |x: u64| u64::from(x.count_ones());
    let low = |x: u64, bits: u32| x & mask(bits);
    type Want<'w> = &'w dyn Fn(u64) -> u64;
    let length = |x: u64| u64::from(u64::BITS - x.leading_zeros());
    let cases: [(&str, Want<'_>); 11] = [
        ("ones", &|x| 5 + 3 * ones(x)),
        ("ones_once", &|x| ones(x).max(1)),
        ("highest", &|x| length(x).saturating_sub(1)),
        ("halved", &|x| u64::from(7u32.wrapping_sub(3 * length(x).max(1) as u32))),
        ("sum", &|x| 2 + ones(x)),
        ("some", &|x| 1 + ones(low(x, width - 3))),
        ("parity", &|x| (4 ^ ones(low(x, width - 1)) & 1) + 16 * (x >> (width - 1))),
        ("reverse", &|x| reversed(x, 0, u64::from(width), width)),
        ("some_reversed", &|x| reversed(x, 3, 5, width)),
        ("reversed", &|x| reversed(x, 1, u64::from(n), width)),
        ("reversed_each", &|x| {
            reversed(x, 1, (low(x, width.min(32)) % u64::from(n + 1)).saturating_sub(1), width)
        }),
    ];
    for [groups, size] in GROUPS {
        let items = (groups * size) as usize;
        let input = numbers(width, items);
        let bytes = bytes_of(&input, width);
        for (name, want) in &cases {
            let out = vec![0xffu8; bytes.len()];
            let values = [address(&bytes), address(&out), u64::from(n)];
            launch(program, &format!("{name}_{width}"), [groups, 1], [size, 1], &values);
            let wanted: Vec<u64> = input.iter().map(|x| want(*x) & mask(width)).collect();
            let wanted = bytes_of(&wanted, width);
            let each = |bytes| <[u8]>::chunks(bytes, width as usize / 8);
            for (at, (got, want)) in each(&out).zip(each(&wanted)).enumerate() {
                assert!(
                    got == want,
                    "{name}_{width} of {:#x}, n is {n}: {got:x?}, not {want:x?}; {place}",
                    input[at]
                );
            }
        }
    }
}

#[test]
fn loops_over_bits_of_all_widths() {
    on_all_processors("loops_o0", 1, |program, isa| {
        for width in [8, 16, 32, 64] {
            for n in [0, 1, 2, width - 1, width, width + 1, 2 * width - 1, 2 * width, 2 * width + 3] {
                check_bits(program, width, n, isa);
            }
        }
    });
}

#[test]
fn a_sign_goes_on_behind_the_last_bit() {
    on_all_processors("loops_o0", 1, |program, isa| {
        let input: Vec<i32> = numbers(32, 64).into_iter().map(|x| x as i32).collect();
        for n in [0, 1, 31, 32, 33, 40, 64, 70] {
            let out = vec![0u32; 64];
            launch(program, "signed_32", [1, 1], [64, 1], &[address(&input), address(&out), n]);
            for (x, got) in input.iter().zip(&out) {
                let step = |(x, r): (i32, u32), _| (x >> 1, r << 1 | x as u32 & 1);
                assert_eq!(*got, (0..n).fold((*x, 0), step).1, "{x:#x} {n} {isa}");
            }
        }
    });
}

/// What a loop of `n` iterations makes that adds a number loaded by the one before it.
fn behind(first: u32, n: u32, next: impl Fn(u32) -> u32) -> u32 {
    (0..n).fold((first, 0u32), |(x, sum), j| (next(j), sum.wrapping_mul(10).wrapping_add(x))).1
}

#[test]
fn what_is_loaded_for_the_next_iteration_may_come_from_another_place_at_first() {
    on_all_processors("loops_o0", 1, |program, isa| {
        let input: Vec<u32> = numbers(8, 1024).into_iter().map(|x| x as u32).collect();
        for n in 0..5 {
            let run = |kernel: &str| {
                let out = vec![0u32; 96];
                let values = [address(&input), address(&out), u64::from(n)];
                launch(program, kernel, [2, 1], [48, 1], &values);
                out
            };
            let want = |first: &dyn Fn(u32) -> usize, next: &dyn Fn(u32, u32) -> usize| -> Vec<u32> {
                (0..96).map(|i| behind(input[first(i)], n, |j| input[next(i, j)])).collect()
            };
            let pair = |i: u32| 2 * i as usize;
            assert_eq!(run("other_member"), want(&pair, &|i, j| pair(i + j) + 1), "{n} {isa}");
            assert_eq!(run("other_structure"), want(&pair, &|i, j| 3 * (i + j) as usize), "{n} {isa}");
            assert_eq!(run("other_index"), want(&|i| 3 * i as usize, &|_, j| j as usize + 1), "{n} {isa}");
        }
    });
}

#[test]
fn bounds_that_are_loaded_in_each_iteration() {
    on_all_processors("loops_o0", 1, |program, isa| {
        let input: Vec<u32> = numbers(32, 100).into_iter().map(|x| x as u32).collect();
        let sum = |times: u32| (0..times).fold(0u32, |sum, j| sum.wrapping_mul(3).wrapping_add(j));
        let run = |kernel: &str, input: &[u32]| {
            let out = vec![0u32; 100];
            launch(program, kernel, [2, 1], [50, 1], &[address(input), address(&out), 0]);
            out
        };
        let want = |most: u32| input.iter().map(|x| sum((x % 9).min(most))).collect::<Vec<_>>();
        assert_eq!(run("loaded_bound", &input), want(9), "{isa}");
        let mut changed = input.clone();
        let place = changed.as_mut_slice();
        assert_eq!(run("stored_bound", place), want(3), "{isa}");
    });
}

#[test]
fn bounds_that_sub_groups_have_in_common() {
    on_all_processors("loops_o0", 1, |program, isa| {
        let input: Vec<u32> = numbers(32, 512).into_iter().map(|x| x as u32).collect();
        for n in [0u64, 1, 3] {
            let out = vec![0u32; 128];
            launch(program, "alike_bound", [2, 1], [64, 1], &[address(&input), address(&out), n]);
            for (i, got) in out.iter().enumerate() {
                let begin = (0..n as usize).fold(0u32, |sum, j| sum.wrapping_add(input[(i + j) & 511]));
                let wanted = (0..(i % 8).max(1))
                    .fold(begin, |sum, j| sum.wrapping_mul(3).wrapping_add(input[(i + j) & 255]));
                assert_eq!(*got, wanted, "{i} of {n}, {isa}");
            }
        }
    });
}
