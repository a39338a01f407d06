//! Private arrays and structures that are copied as a whole.

use crate::for_each_shape;
use ze_tests::ulp::assert_same;
use ze_tests::{Module, Random, platform};

#[test]
fn sums_in_an_array_that_begins_with_zeros() {
    const N: usize = 13;
    let kernel = Module::named("private_copies").kernel("blocked");
    for (groups, size, rows) in [(1, 16, 8), (3, 32, 5), (2, 7, 8), (1, 1, 3)] {
        let width = (groups * size) as usize;
        let mut random = Random::new(width as u64);
        // Small integers: sums are exact in any order.
        let mut numbers = |n| -> Vec<f32> { random.ints(n, -9, 9).into_iter().map(|v| v as f32).collect() };
        let (a, b) = (numbers(rows * N), numbers(N * width));
        let c = platform().filled(-1f32, rows * width);
        let (a_there, b_there) = (platform().buffer(&a), platform().buffer(&b));
        kernel.run([groups, 1, 1], [size, 1, 1], &[&a_there, &b_there, &c, &(N as i32), &(rows as i32)]);
        let want = |at: usize| -> f32 {
            let (i, x) = (at / width, at % width);
            (0..N).map(|k| a[i * N + k] * b[k * width + x]).sum()
        };
        assert_same("blocked", &c, &(0..rows * width).map(want).collect::<Vec<_>>());
    }
}

#[test]
fn tables_of_constants() {
    const N: i32 = 30;
    let kernel = Module::named("private_copies").kernel("tables");
    for_each_shape(|n, group_size| {
        let n = n.next_multiple_of(group_size as usize);
        let input = Random::new(n as u64).ints(n, 0, 1 << 20);
        let out = platform().filled(0, n);
        kernel.run_1d(n, group_size, &[&platform().buffer(&input), &out, &N]);
        let want = |v: &i32| {
            let mut own = [2, 3, 5, 7, 11, 13, 17, 19, 23];
            let (mut counts, mut bytes) = ([0i32; 12], [0i8; 16]);
            bytes[..3].copy_from_slice(&[1, 2, 3]);
            own[(v & 7) as usize] += N;
            for k in 0..N {
                counts[((v >> (k & 15)) & 7) as usize] += own[(k % 9) as usize];
                let byte = &mut bytes[((v + k) & 15) as usize];
                *byte = byte.wrapping_add(k as i8);
            }
            (0..12).fold(0i32, |r, k| {
                r.wrapping_mul(3).wrapping_add(counts[k]).wrapping_add(i32::from(bytes[k]))
            })
        };
        assert_same("tables", &out, &input.iter().map(want).collect::<Vec<_>>());
    });
}

#[test]
fn structures_change_places() {
    const N: i32 = 11;
    type Entry = (i64, [i32; 6]);
    let words = |(key, counts): &Entry| {
        let mut words = vec![*key as i32, (*key >> 32) as i32];
        words.extend(counts);
        words
    };
    let kernel = Module::named("private_copies").kernel("entries");
    for_each_shape(|n, group_size| {
        let n = n.next_multiple_of(group_size as usize);
        let mut random = Random::new(n as u64 + 1);
        let input = random.ints(n, 0, 64);
        let entries: Vec<Entry> = (0..n)
            .map(|i| {
                let counts: Vec<i32> = random.ints(6, -100, 100);
                (i as i64 * 0x1_0000_0003, counts.try_into().expect("six"))
            })
            .collect();
        let there = platform().buffer(&entries.iter().flat_map(words).collect::<Vec<i32>>());
        kernel.run_1d(n, group_size, &[&there, &platform().buffer(&input), &N]);
        let want = |(entry, v): (&Entry, &i32)| {
            let (mut mine, mut old) = (*entry, *entry);
            for k in 0..N {
                mine.1[(((v + k) % 6) & 3) as usize] += k;
                if v & k == 1 {
                    std::mem::swap(&mut mine, &mut old);
                    mine.0 += i64::from(k);
                }
            }
            old.0 ^= mine.0;
            old.1[5] += mine.1[(v & 3) as usize];
            words(&old)
        };
        let want: Vec<i32> = entries.iter().zip(&input).flat_map(want).collect();
        assert_same("entries", &there, &want);
    });
}

#[test]
fn structures_are_moved_under_a_condition() {
    let kernel = Module::named("private_copies").kernel("chosen_entries");
    for_each_shape(|n, group_size| {
        let n = n.next_multiple_of(group_size as usize);
        let mut random = Random::new(n as u64 + 2);
        let input = random.ints(8 * n, -100, 100);
        let which: Vec<u32> = (0..n).map(|_| random.below(2 * n as u32)).collect();
        let out = platform().filled(7, 8 * n);
        let there = (platform().buffer(&input), platform().buffer(&which));
        kernel.run_1d(n, group_size, &[&out, &there.0, &there.1, &(n as u32)]);
        let want = which.iter().flat_map(|place| match *place as usize {
            place if place < n => input[8 * place..][..8].to_vec(),
            _ => vec![7; 8],
        });
        assert_same("chosen_entries", &out, &want.collect::<Vec<i32>>());
    });
}

#[test]
fn a_part_of_an_array_moves_on() {
    const N: usize = 30;
    let kernel = Module::named("private_copies").kernel("delayed");
    for_each_shape(|n, group_size| {
        let n = n.next_multiple_of(group_size as usize);
        let input = Random::new(n as u64 + 3).ints(n + N, -100, 100);
        let out = platform().filled(0, n);
        kernel.run_1d(n, group_size, &[&platform().buffer(&input), &out, &(N as i32)]);
        let want = |i: usize| -> i32 {
            let mut line = [0; 24];
            (0..N)
                .map(|k| {
                    line.rotate_right(1);
                    line[0] = input[i + k];
                    line[N - 10] * line[k & 7]
                })
                .sum()
        };
        assert_same("delayed", &out, &(0..n).map(want).collect::<Vec<_>>());
    });
}

#[test]
fn structures_are_moved_where_indices_say() {
    for words in [4, 7, 8, 12, 40] {
        let kernel = Module::named("private_copies").kernel(&format!("moved_{words}"));
        for_each_shape(|n, group_size| {
            let n = n.next_multiple_of(group_size as usize);
            let mut random = Random::new(n as u64 + 4);
            let input = random.ints(words * n, -100, 100);
            // Each place once.
            let mut which: Vec<u32> = (0..n as u32).collect();
            (1..n).for_each(|at| which.swap(at, random.below(at as u32 + 1) as usize));
            let out = platform().filled(7, 5 * words * n);
            let there = (platform().buffer(&input), platform().buffer(&which));
            kernel.run_1d(n, group_size, &[&there.0, &there.1, &out, &(n as u32)]);
            let of = |place: usize| &input[words * place..][..words];
            let mut want = vec![7; 5 * words * n];
            for (i, place) in which.iter().map(|place| *place as usize).enumerate() {
                let mut put = |at: usize, from: usize| want[words * at..][..words].copy_from_slice(of(from));
                put(i, place);
                put(n + place, i);
                put(2 * n + i, i);
                if of(i)[1] & 1 == 1 {
                    put(3 * n + i, place);
                    put(4 * n + i, i);
                }
            }
            assert_same(&format!("structures of {words} words"), &out, &want);
        });
    }
}

#[test]
fn structures_are_moved_by_less_than_their_length() {
    let kernel = Module::named("private_copies").kernel("moved_on");
    for by in [-8i32, -3, -1, 0, 1, 5, 8] {
        for_each_shape(|n, group_size| {
            let items = n.next_multiple_of(group_size as usize);
            let memory = Random::new(n as u64 + 5).ints(24 * items, -100, 100);
            let there = platform().buffer(&memory);
            kernel.run_1d(items, group_size, &[&there, &by, &(n as u32)]);
            let mut want = memory;
            for item in want.chunks_mut(24).take(n) {
                item.copy_within(8..16, (8 + by) as usize);
            }
            assert_same(&format!("moved by {by}"), &there, &want);
        });
    }
}

/// A filter of so many elements that move on by so many.
macro_rules! filters {
    ($name:ident, $type:ident, $cl:literal, $taps:literal, $by:literal) => {
        #[test]
        fn $name() {
            const N: usize = 11;
            let kernel =
                Module::named("private_copies").kernel(concat!("filter_", $cl, "_", $taps, "_", $by));
            for_each_shape(|n, group_size| {
                let n = n.next_multiple_of(group_size as usize);
                let mut random = Random::new(n as u64 + 6);
                let mut numbers =
                    |n| -> Vec<$type> { random.ints(n, -100, 100).into_iter().map(|v| v as $type).collect() };
                let (input, by) = (numbers($by * N * n), numbers($taps));
                let out = platform().filled(0 as $type, N * n);
                let there = (platform().buffer(&input), platform().buffer(&by));
                kernel.run_1d(n, group_size, &[&there.0, &out, &there.1, &(N as i32)]);
                let mut want = vec![0; N * n];
                for i in 0..n {
                    let mut line: [$type; $taps] = std::array::from_fn(|k| k as $type);
                    for t in 0..N {
                        line.rotate_right($by);
                        (0..$by).for_each(|k| line[k] = input[i + ($by * t + k) * n]);
                        let products = line.iter().zip(&by).map(|(a, b)| a.wrapping_mul(*b));
                        want[i + t * n] = products.fold(0, $type::wrapping_add);
                    }
                }
                assert_same(stringify!($name), &out, &want);
            });
        }
    };
}
filters!(filter_of_32_words, i32, "int", 32, 1);
filters!(filter_of_24_words_by_two, i32, "int", 24, 2);
filters!(filter_of_9_words, i32, "int", 9, 1);
filters!(filter_of_50_words, i32, "int", 50, 1);
filters!(filter_of_32_halves_of_words, i16, "short", 32, 1);
filters!(filter_of_16_long_words, i64, "long", 16, 1);
