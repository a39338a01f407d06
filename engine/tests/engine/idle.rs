//! Sub-groups that compute what nobody stores leave in front of the loop that computes it, and all others do what they did.

use crate::support::{Guarded, address, launch, on_all_processors};
use ze_tests::Random;

fn numbers(random: &mut Random, count: usize) -> Vec<i32> {
    (0..count).map(|_| random.below(1000) as i32 - 500).collect()
}

/// The groups behind those that store read behind the end of memory, if they read.
#[test]
fn groups_behind_the_last_element_read_nothing() {
    const GROUP: usize = 256;
    const ROW: usize = 64;
    on_all_processors("idle", 2, |program, isa| {
        for groups in 1..4 {
            let n = groups * GROUP - 13;
            let mut memory = Guarded::new(groups * GROUP * ROW * 4);
            let input = numbers(&mut Random::new(groups as u64), groups * GROUP * ROW);
            for (bytes, number) in memory.bytes_mut().chunks_exact_mut(4).zip(&input) {
                bytes.copy_from_slice(&number.to_le_bytes());
            }
            let mut out = vec![-1; n + 1];
            let values = [address(memory.bytes()), out.as_mut_ptr() as u64, n as u64, 9];
            launch(program, "columns", [groups as u32 + 3, 1], [GROUP as u32, 1], &values);
            for (x, got) in out[..n].iter().enumerate() {
                let row = &input[x * ROW..][..9];
                let want = row.iter().fold(7, |sum: i32, number| sum.wrapping_mul(3).wrapping_add(*number));
                assert_eq!(*got, want, "{x} of {n} {isa}");
            }
            assert_eq!(out[n], -1, "{isa}");
        }
    });
}

#[test]
fn tiles_at_edges_are_whole() {
    const K: usize = 11;
    const PITCH: usize = 64;
    on_all_processors("idle", 2, |program, isa| {
        for (m, n) in [(1, 1), (2, 3), (16, 24), (15, 7), (17, 25), (31, 49), (40, 60)] {
            // Groups of 8 x 8 work-items are tiles of 16 rows and 24 columns.
            let (rows, columns) = (3 * 16, 3 * 24);
            let mut random = Random::new((m * 100 + n) as u64);
            let (a, b) = (numbers(&mut random, rows * K), numbers(&mut random, columns * K));
            let mut c = vec![-1; rows * PITCH];
            let values = [address(&a), address(&b), c.as_mut_ptr() as u64, m as u64, n as u64, K as u64];
            launch(program, "tile", [3, 3], [8, 8], &values);
            for (at, got) in c.iter().enumerate() {
                let (y, x) = (at / PITCH, at % PITCH);
                let product = || (0..K).map(|i| a[y * K + i] * b[x * K + i]).sum();
                let want = if y < m && x < n { product() } else { -1 };
                assert_eq!(*got, want, "row {y}, column {x} of {m} x {n} {isa}");
            }
        }
    });
}

#[test]
fn what_is_done_in_front_of_the_loop_is_done_by_all() {
    on_all_processors("idle", 2, |program, isa| {
        for (items, group) in [(512, 64), (96, 32), (130, 13)] {
            for n in [0, 1, 40, items, 2 * items] {
                let input = numbers(&mut Random::new(n as u64), items);
                let (mut out, mut steps) = (vec![-7; items], vec![0; items]);
                let values = [address(&input), out.as_mut_ptr() as u64, steps.as_mut_ptr() as u64, n as u64];
                launch(program, "counted", [(items / group) as u32, 1], [group as u32, 1], &values);
                for (x, (got, step)) in out.iter().zip(&steps).enumerate() {
                    assert_eq!(*step, n as i32 - x as i32, "{x} of {n} {isa}");
                    let mut scratch = [1, 2, 3, 4];
                    let mut left = input[x];
                    while left > 0 {
                        scratch[left as usize & 3] += left;
                        left -= 3;
                    }
                    let want = if x * 2 < n { scratch[0] + scratch[(input[x] + 1) as usize & 3] } else { -7 };
                    assert_eq!(*got, want, "{x} of {n} {isa}");
                }
            }
        }
    });
}
