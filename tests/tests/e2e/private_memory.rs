//! Private arrays that are indexed at run time, and tables of constants.

use crate::for_each_shape;
use ze_tests::ulp::assert_same;
use ze_tests::{Local, Module, Random, platform};

const SHAPES: [(usize, u32); 5] = [(1, 1), (9, 8), (100, 32), (257, 17), (333, 64)];

#[test]
fn private_histogram() {
    let module = Module::named("private_memory");
    let kernel = module.kernel("private_histogram");
    for (n, size) in SHAPES {
        let mut random = Random::new(n as u64);
        let input: Vec<u8> = (0..32 * n).map(|_| random.next_u32() as u8).collect();
        let out = platform().filled(0u32, n);
        kernel.run_1d(n, size, &[&platform().buffer(&input), &out, &(n as u32)]);
        let want: Vec<u32> = input
            .chunks(32)
            .map(|bytes| {
                let mut counts = [0u32; 16];
                bytes.iter().for_each(|&byte| counts[usize::from(byte & 15)] += 1);
                counts.iter().fold(0u32, |digest, &count| digest.wrapping_mul(33).wrapping_add(count))
            })
            .collect();
        assert_same(&format!("{n} items in groups of {size}"), &out, &want);
    }
}

#[test]
fn private_insertion_sort() {
    let module = Module::named("private_memory");
    let kernel = module.kernel("private_insertion_sort");
    for (n, size) in SHAPES {
        let input = Random::new(n as u64).ints(12 * n, -1000, 1000);
        let out = platform().filled(0i32, 12 * n);
        kernel.run_1d(n, size, &[&platform().buffer(&input), &out, &(n as u32)]);
        let mut want = input.clone();
        want.chunks_mut(12).for_each(|keys| keys.sort_unstable());
        assert_same(&format!("{n} items in groups of {size}"), &out, &want);
    }
}

#[test]
fn a_cycle_through_an_array_by_a_table_of_structures() {
    const CYCLE: [(usize, u32, u32); 20] = [
        (3, 1000, 3),
        (11, 7, 5),
        (0, 65535, 7),
        (5, 300, 9),
        (8, 1, 11),
        (2, 40000, 13),
        (9, 2, 15),
        (10, 513, 17),
        (1, 3, 19),
        (4, 9999, 21),
        (7, 4, 23),
        (6, 12345, 25),
        (3, 5, 27),
        (0, 6, 29),
        (11, 777, 31),
        (2, 8, 0x8000_0001),
        (8, 9, 35),
        (5, 10, 37),
        (10, 50000, 39),
        (9, 11, 41),
    ];
    let kernel = Module::named("private_memory").kernel("private_cycle");
    for ((n, size), rounds) in SHAPES.into_iter().zip([1, 2, 7, 3, 5]) {
        let mut random = Random::new(n as u64);
        let input: Vec<u32> = (0..n).map(|_| random.next_u32()).collect();
        let out = platform().filled(0u32, n);
        kernel.run_1d(n, size, &[&platform().buffer(&input), &out, &(n as u32), &(rounds as u32)]);
        let cycled = |&first: &u32| {
            let mut state: [u32; 12] =
                std::array::from_fn(|k| first.wrapping_mul(2 * k as u32 + 1).wrapping_add(k as u32));
            for round in 0..rounds {
                let mut taken = state[round % 3];
                for (k, (place, add, multiply)) in CYCLE.into_iter().enumerate() {
                    let kept = state[place];
                    state[place] = taken.wrapping_mul(multiply).wrapping_add(add).rotate_left(k as u32 + 1);
                    taken = kept ^ k as u32;
                }
            }
            state.iter().fold(0u32, |sum, &value| sum.wrapping_mul(31).wrapping_add(value))
        };
        let want: Vec<u32> = input.iter().map(cycled).collect();
        assert_same(&format!("{n} items in groups of {size}"), &out, &want);
    }
}

#[test]
fn an_element_of_a_vector_chosen_at_run_time() {
    let module = Module::named("private_memory");
    let kernel = module.kernel("dynamic_vector_element");
    for (n, size) in SHAPES {
        let input = Random::new(n as u64).ints(8 * n, 0, 1000);
        let out = platform().filled(0i32, n);
        kernel.run_1d(n, size, &[&platform().buffer(&input), &out, &(n as u32)]);
        let want: Vec<i32> = input
            .chunks(8)
            .map(|v| {
                let mut v = v.to_vec();
                let at = v[0] as usize & 7;
                v[at] += 1000;
                v[(at + 3) & 7] ^= v[at];
                v.iter().zip(1..).map(|(v, k)| v * k).sum()
            })
            .collect();
        assert_same(&format!("{n} items in groups of {size}"), &out, &want);
    }
}

#[test]
fn an_array_of_structures() {
    let module = Module::named("private_memory");
    let kernel = module.kernel("private_structs");
    for (n, size) in SHAPES {
        let input = Random::new(n as u64).ints(n, 0, 30_000);
        let out = platform().filled(0i64, n);
        kernel.run_1d(n, size, &[&platform().buffer(&input), &out, &(n as u32)]);
        let want: Vec<i64> = input
            .iter()
            .map(|&v| {
                let mut tags = [0i16; 4];
                let mut small = [[0i8; 3]; 4];
                let mut totals = [0i64; 4];
                for k in 0..4 {
                    tags[k] = (v + k as i32) as i16;
                    small[k] = [v as i8, k as i8, (v >> 8) as i8];
                }
                let at = v as usize & 3;
                totals[at] = i64::from(tags[(at + 1) & 3]);
                small[at][at % 3] = small[at][at % 3].wrapping_add(5);
                (0..4).fold(0i64, |sum, k| {
                    let [a, b, c] = small[k].map(i64::from);
                    sum * 7 + i64::from(tags[k]) + a + 2 * b + 3 * c + (k as i64 + 1) + totals[k]
                })
            })
            .collect();
        assert_same(&format!("{n} items in groups of {size}"), &out, &want);
    }
}

#[test]
fn four_kibibytes_of_private_memory() {
    let module = Module::named("private_memory");
    let kernel = module.kernel("large_private_array");
    for (n, size) in [(1, 1), (100, 32), (600, 256)] {
        let input: Vec<u32> = (0..n as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
        let out = platform().filled(0u32, n);
        kernel.run_1d(n, size, &[&platform().buffer(&input), &out, &(n as u32)]);
        let want: Vec<u32> = input
            .iter()
            .map(|&seed| {
                (0..50).fold(seed, |r: u32, _| r.wrapping_mul(31).wrapping_add((r & 1023).wrapping_mul(seed)))
            })
            .collect();
        assert_same(&format!("{n} items in groups of {size}"), &out, &want);
    }
}

#[test]
fn an_array_that_lives_across_a_barrier() {
    let module = Module::named("private_memory");
    let kernel = module.kernel("private_across_barrier");
    for (groups, size) in [(1, 1), (3, 8), (2, 33), (2, 100), (1, 256)] {
        let n = groups * size;
        let input = Random::new(n as u64).ints(n, -1000, 1000);
        let out = platform().filled(i32::MIN, n);
        kernel.run_1d(n, size as u32, &[&platform().buffer(&input), &out, &Local(4 * size)]);
        let kept = |v: i32, k: i32| v * ((k & 7) + 1);
        let want: Vec<i32> = (0..n)
            .map(|i| {
                let mirror = input[i / size * size + size - 1 - i % size];
                let other = kept(mirror, mirror);
                kept(input[i], other) + other
            })
            .collect();
        assert_same(&format!("{groups} groups of {size}"), &out, &want);
    }
}

#[test]
fn tables_of_constants_of_every_type() {
    let module = Module::named("constant_tables");
    let kernel = module.kernel("constant_lookup");
    let primes = [2i64, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53];
    let weights = [0.5f32, -1.25, 3.0, 1e-3, 1e20];
    let wide = [0.1f64, -2.5e300, 1e-300];
    let text = b"level zero\0";
    let grid = [[1i64, 2, 3, 4], [-5, -6, -7, -8], [9, 10, 11, 12]];
    let vectors = [[1i64, 2, 3, 4], [-10, -20, -30, -40]];
    let codes = [(b'a', 0x1234_5678_9abc_def0u64), (b'b', 42), (b'c', u64::MAX)];
    let scales = [[1.5f32, 2.5], [-1.0, 0.0], [1024.0, -0.125]];
    for (n, size) in SHAPES {
        let index: Vec<u32> = (0..n as u32).map(|i| i * 7 + 1).collect();
        let (ints, floats) = (platform().filled(0i64, n), platform().filled(0.0f64, n));
        kernel.run_1d(n, size, &[&platform().buffer(&index), &ints, &floats, &(n as u32)]);
        let (mut want_ints, mut want_floats) = (Vec::new(), Vec::new());
        for &k in &index {
            let k = k as usize;
            let (code, value) = codes[k % 3];
            let vector = vectors[k % 2];
            want_ints.push(
                primes[k % 16] * 1_000_003
                    + i64::from(text[k % 11]) * 8191
                    + grid[k % 3][k % 4] * 131
                    + vector[0]
                    + 7 * vector[3]
                    + i64::from(code)
                    + (value >> 7) as i64,
            );
            want_floats.push(f64::from(weights[k % 5]) + wide[k % 3] + f64::from(scales[k % 3][k % 2]));
        }
        assert_same("integers", &ints, &want_ints);
        assert_same("floats", &floats, &want_floats);
    }
}

#[test]
fn a_table_that_is_an_argument() {
    let module = Module::named("constant_tables");
    let kernel = module.kernel("constant_argument");
    let table: Vec<f32> = (0..100).map(|i| i as f32 * 0.5).collect();
    for (n, size) in SHAPES {
        let mut random = Random::new(n as u64);
        let index: Vec<u32> = (0..n).map(|_| random.next_u32()).collect();
        let out = platform().filled(f32::NAN, n);
        kernel.run_1d(
            n,
            size,
            &[&platform().buffer(&table), &100u32, &platform().buffer(&index), &out, &(n as u32)],
        );
        let want: Vec<f32> = index.iter().map(|&k| table[k as usize % 100] + table[0]).collect();
        assert_same(&format!("{n} items in groups of {size}"), &out, &want);
    }
}

/// A number as the kernels of `private_rows` use it.
trait Number: Copy + PartialOrd + std::fmt::Debug + 'static {
    const NAME: &'static str;
    fn of(number: u32) -> Self;
    fn minus(self, other: Self) -> Self;
}

macro_rules! numbers {
    ($($rust:ty, $name:literal, $minus:expr;)*) => {$(
        impl Number for $rust {
            const NAME: &'static str = $name;
            fn of(number: u32) -> Self {
                number as $rust
            }
            fn minus(self, other: Self) -> Self {
                $minus(self, other)
            }
        }
    )*};
}

numbers! {
    i8, "char", i8::wrapping_sub;
    i16, "short", i16::wrapping_sub;
    i32, "int", i32::wrapping_sub;
    f32, "float", |a, b| a - b;
    i64, "long", i64::wrapping_sub;
    f64, "double", |a, b| a - b;
}

/// What each work-item is given to draw numbers from.
fn first_numbers(items: usize) -> Vec<u32> {
    Random::new(items as u64).ints(items, 0, i32::MAX).into_iter().map(|number| number as u32).collect()
}

/// The numbers that a work-item draws.
fn drawn(first: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(first), |n| Some(n.wrapping_mul(1664525).wrapping_add(1013904223))).skip(1)
}

fn check_rows<T: Number>(kernel: &str, count: usize, want: impl Fn(u32) -> Vec<T>) {
    let name = format!("{kernel}_{}_{count}", T::NAME);
    let module = Module::named("private_rows");
    let kernel = module.kernel(&name);
    for (n, size) in SHAPES {
        let input = first_numbers(n);
        let out = platform().filled(T::of(0), count * n);
        kernel.run_1d(n, size, &[&platform().buffer(&input), &out, &(n as u32)]);
        let rows: Vec<Vec<T>> = input.iter().map(|&first| want(first)).collect();
        let want: Vec<T> = (0..count).flat_map(|k| rows.iter().map(move |row| row[k])).collect();
        assert_same(&format!("{name}, {n} items in groups of {size}"), &out, &want);
    }
}

fn check_rows_of<T: Number>() {
    for count in [3, 5, 11, 19] {
        check_rows::<T>("exchange", count, |first| {
            let mut row: Vec<T> = (0..count as u32).map(|k| T::of(k + (first & 15))).collect();
            for (step, number) in drawn(first).take(20).enumerate() {
                if number & 0x4000_0000 != 0 {
                    let (to, from) = ((number >> 8) as usize % count, (number >> 16) as usize % count);
                    row[to] = row[from].minus(T::of(step as u32 & 3));
                }
            }
            row
        });
    }
    for count in [5, 9, 17] {
        check_rows::<T>("sort", count, |first| {
            let mut row: Vec<T> = drawn(first).take(count).map(|number| T::of(number >> 25)).collect();
            row.sort_by(|a, b| a.partial_cmp(b).expect("numbers"));
            row
        });
    }
}

#[test]
fn lanes_access_different_elements_of_short_private_arrays() {
    check_rows_of::<i8>();
    check_rows_of::<i16>();
    check_rows_of::<i32>();
    check_rows_of::<f32>();
    check_rows_of::<i64>();
    check_rows_of::<f64>();
}

#[test]
fn lanes_access_members_of_different_private_structures() {
    let module = Module::named("private_rows");
    let kernel = module.kernel("pairs");
    for (n, size) in SHAPES {
        let input = first_numbers(n);
        let out = platform().filled(0i32, 3 * n);
        kernel.run_1d(n, size, &[&platform().buffer(&input), &out, &(n as u32)]);
        let of_item = |&first: &u32| {
            let mut row = [(0, 0), (1, 10), (2, 20)];
            for (step, number) in (0..10).zip(drawn(first)) {
                let (to, from) = ((number >> 8) as usize % 3, (number >> 16) as usize % 3);
                match number & 0x4000_0000 != 0 {
                    true => row[to].0 += step,
                    false => row[to].1 -= row[from].0,
                }
            }
            row.map(|(key, value): (i32, i32)| key * 1000 + value)
        };
        let want: Vec<i32> = input.iter().flat_map(of_item).collect();
        assert_same(&format!("{n} items in groups of {size}"), &out, &want);
    }
}

#[test]
fn private_objects_lie_where_their_types_and_declarations_ask_for() {
    let kernel = Module::named("private_alignment").kernel("places");
    for_each_shape(|n, group_size| {
        let n = n.next_multiple_of(group_size as usize);
        let input: Vec<i64> = Random::new(n as u64).ints(n, 0, 100).into_iter().map(i64::from).collect();
        let out = platform().filled(u32::MAX, 8 * n);
        kernel.run_1d(n, group_size, &[&platform().buffer(&input), &out]);
        let want = |at: usize| {
            let v = input[at / 8];
            match at % 8 {
                5 => (v + 7 + 3 + (v + 2) + 4 * v + 128 * v - 127 * 64) as u32,
                0..5 => 0,
                _ => u32::MAX,
            }
        };
        assert_same("places", &out, &(0..8 * n).map(want).collect::<Vec<_>>());
    });
}

#[test]
fn vectors_of_private_arrays() {
    let kernel = Module::named("private_memory").kernel("private_vectors");
    for (n, size) in SHAPES {
        let mut random = Random::new(n as u64);
        let input: Vec<u8> = (0..16 * n).map(|_| random.next_u32() as u8).collect();
        let out = platform().filled(0u32, n);
        kernel.run_1d(n, size, &[&platform().buffer(&input), &out, &(n as u32)]);
        let of_item = |(at, first): (usize, &[u8])| {
            let mut bytes: Vec<u8> = first.to_vec();
            bytes.extend((1..=8u8).map(|k| k.wrapping_mul(at as u8)));
            let digest = |sum: u32, factor: u32, number: u32| sum.wrapping_mul(factor).wrapping_add(number);
            let mut sum = first.iter().fold(0, |sum, byte| digest(sum, 31, (*byte).into()));
            for three in bytes.chunks(3) {
                sum = digest(sum, 7, u32::from_le_bytes([three[0], three[1], three[2], 0]));
            }
            let (place, more) = (usize::from(bytes[5] & 7), bytes[6]);
            for k in 0..3 {
                bytes[3 * place + k] = more.wrapping_add(k as u8 + 1);
            }
            (bytes[18], bytes[19]) = (bytes[place + 4], bytes[place + 7]);
            bytes.iter().fold(sum, |sum, byte| digest(sum, 33, (*byte).into()))
        };
        let want: Vec<u32> = input.chunks(16).enumerate().map(of_item).collect();
        assert_same(&format!("{n} items in groups of {size}"), &out, &want);
    }
}
