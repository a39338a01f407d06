//! Private arrays that are indexed at run time, and tables of constants.

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
