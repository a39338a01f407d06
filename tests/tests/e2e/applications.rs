//! Whole kernels as programs have them, each checked against the host's computation in higher precision.

use ze_tests::ulp::{assert_close_f32, assert_same, assert_ulp_f32};
use ze_tests::{Local, Module, Random, platform};

use crate::for_each_shape;

#[test]
fn vector_add_gives_the_sum_at_every_shape() {
    let module = Module::named("vector_add");
    let kernel = module.kernel("vector_add");
    for_each_shape(|n, group_size| {
        let mut random = Random::new(n as u64);
        let (a, b) = (random.floats(n, -1e6, 1e6), random.floats(n, -1e6, 1e6));
        let sum = platform().filled(f32::NAN, n);
        kernel.run_1d(n, group_size, &[&platform().buffer(&a), &platform().buffer(&b), &sum, &(n as u32)]);
        let want: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
        assert_same(&format!("{n} items in groups of {group_size}"), &sum, &want);
    });
}

#[test]
fn saxpy_gives_a_times_x_plus_y_at_every_shape() {
    let module = Module::named("saxpy");
    let kernel = module.kernel("saxpy");
    for_each_shape(|n, group_size| {
        let mut random = Random::new(n as u64);
        let (x, y) = (random.floats(n, -10.0, 10.0), random.floats(n, -10.0, 10.0));
        let out = platform().buffer(&y);
        kernel.run_1d(n, group_size, &[&2.5f32, &platform().buffer(&x), &out, &(n as u32)]);
        let want: Vec<f64> = x.iter().zip(&y).map(|(&x, &y)| 2.5 * f64::from(x) + f64::from(y)).collect();
        // One or two roundings, depending on contraction.
        assert_close_f32(&format!("{n} items in groups of {group_size}"), &out, &want, 2.4e-7, 35.0);
    });
}

fn product(a: &[f32], b: &[f32], rows: usize, cols: usize, inner: usize) -> Vec<f64> {
    let mut c = vec![0.0; rows * cols];
    for row in 0..rows {
        for k in 0..inner {
            for col in 0..cols {
                c[row * cols + col] += f64::from(a[row * inner + k]) * f64::from(b[k * cols + col]);
            }
        }
    }
    c
}

/// Rows, columns and inner length: one, odd, and multiples of the tile.
const MATRICES: [[usize; 3]; 6] =
    [[1, 1, 1], [16, 16, 16], [5, 7, 3], [33, 17, 40], [64, 48, 80], [70, 100, 37]];

#[test]
fn naive_matrix_product_is_right_at_every_group_shape() {
    let module = Module::named("matmul");
    let kernel = module.kernel("matmul_naive");
    for [rows, cols, inner] in MATRICES {
        let mut random = Random::new((rows * cols) as u64);
        let (a, b) = (random.floats(rows * inner, -1.0, 1.0), random.floats(inner * cols, -1.0, 1.0));
        let want = product(&a, &b, rows, cols, inner);
        let (a, b) = (platform().buffer(&a), platform().buffer(&b));
        for [gx, gy] in [[16, 16], [8, 1], [1, 8], [5, 3], [32, 4]] {
            let c = platform().filled(f32::NAN, rows * cols);
            kernel.run(
                [(cols as u32).div_ceil(gx), (rows as u32).div_ceil(gy), 1],
                [gx, gy, 1],
                &[&a, &b, &c, &(rows as u32), &(cols as u32), &(inner as u32)],
            );
            assert_close_f32(&format!("{rows}x{cols}x{inner} in {gx}x{gy}"), &c, &want, 1e-6, inner as f64);
        }
    }
}

#[test]
fn tiled_matrix_product_is_right_where_tiles_do_not_fit() {
    let module = Module::named("matmul");
    let kernel = module.kernel("matmul_tiled");
    for [rows, cols, inner] in MATRICES {
        let mut random = Random::new((rows * cols) as u64);
        let (a, b) = (random.floats(rows * inner, -1.0, 1.0), random.floats(inner * cols, -1.0, 1.0));
        let want = product(&a, &b, rows, cols, inner);
        let c = platform().filled(f32::NAN, rows * cols);
        kernel.run(
            [(cols as u32).div_ceil(16), (rows as u32).div_ceil(16), 1],
            [16, 16, 1],
            &[
                &platform().buffer(&a),
                &platform().buffer(&b),
                &c,
                &(rows as u32),
                &(cols as u32),
                &(inner as u32),
            ],
        );
        assert_close_f32(&format!("{rows}x{cols}x{inner}"), &c, &want, 1e-6, inner as f64);
    }
}

#[test]
fn tiled_product_of_square_matrices_without_edges() {
    let module = Module::named("matmul");
    let kernel = module.kernel("matmul_tiled_square");
    for size in [16usize, 32, 128] {
        let mut random = Random::new(size as u64);
        let (a, b) = (random.floats(size * size, -1.0, 1.0), random.floats(size * size, -1.0, 1.0));
        let want = product(&a, &b, size, size, size);
        let c = platform().filled(f32::NAN, size * size);
        let tiles = size as u32 / 16;
        kernel.run(
            [tiles, tiles, 1],
            [16, 16, 1],
            &[&platform().buffer(&a), &platform().buffer(&b), &c, &(size as u32)],
        );
        assert_close_f32(&format!("{size}x{size}"), &c, &want, 1e-6, size as f64);
    }
}

#[test]
fn nbody_step_moves_every_body() {
    let module = Module::named("nbody");
    let kernel = module.kernel("nbody_step");
    for (n, group_size) in [(1, 1), (7, 8), (64, 16), (129, 32), (300, 256), (257, 100)] {
        let mut random = Random::new(n as u64);
        let bodies: Vec<[f32; 4]> = (0..n)
            .map(|_| {
                [
                    random.float(-1.0, 1.0),
                    random.float(-1.0, 1.0),
                    random.float(-1.0, 1.0),
                    random.float(0.1, 1.0),
                ]
            })
            .collect();
        let speeds: Vec<[f32; 4]> = (0..n)
            .map(|_| [random.float(-0.1, 0.1), random.float(-0.1, 0.1), random.float(-0.1, 0.1), 0.5])
            .collect();
        let next = platform().filled([f32::NAN; 4], n);
        let next_speed = platform().filled([f32::NAN; 4], n);
        let (dt, softening) = (0.01f32, 0.05f32);
        kernel.run_1d(
            n,
            group_size,
            &[
                &platform().buffer(&bodies),
                &platform().buffer(&speeds),
                &next,
                &next_speed,
                &(n as u32),
                &dt,
                &softening,
            ],
        );
        let (mut want, mut want_speed) = (Vec::new(), Vec::new());
        for i in 0..n {
            let me = bodies[i].map(f64::from);
            let mut acceleration = [0.0; 3];
            for other in &bodies {
                let other = other.map(f64::from);
                let away = [other[0] - me[0], other[1] - me[1], other[2] - me[2]];
                let distance2 = away.iter().map(|a| a * a).sum::<f64>() + f64::from(softening);
                let force = other[3] / (distance2 * distance2.sqrt());
                (0..3).for_each(|axis| acceleration[axis] += away[axis] * force);
            }
            for axis in 0..3 {
                let speed = f64::from(speeds[i][axis]) + acceleration[axis] * f64::from(dt);
                want_speed.push(speed);
                want.push(me[axis] + speed * f64::from(dt));
            }
            want_speed.push(0.5);
            want.push(me[3]);
        }
        // About 100 ULP of the largest acceleration: hundreds of terms, each with its own rounding.
        let scale = n as f64;
        assert_close_f32(
            &format!("speeds of {n}"),
            next_speed.as_flattened(),
            &want_speed,
            1e-6,
            scale.max(1.0),
        );
        assert_close_f32(&format!("positions of {n}"), next.as_flattened(), &want, 1e-6, 2.0);
    }
}

/// The kernel's own recurrence in f32: escape counts are chaotic near the set's edge, so exact arithmetic would differ.
/// With contraction two roundings may become one; pixels whose count depends on that are not compared.
fn mandelbrot_counts(cx: f32, cy: f32, limit: u32) -> [u32; 2] {
    let (mut x, mut y, mut n) = (0.0f32, 0.0f32, 0);
    while n < limit && x * x + y * y <= 4.0 {
        (x, y) = (x * x - y * y + cx, 2.0 * x * y + cy);
        n += 1;
    }
    let (mut x, mut y, mut m) = (0.0f64, 0.0f64, 0);
    while m < limit && x * x + y * y <= 4.0 {
        (x, y) = (x * x - y * y + f64::from(cx), 2.0 * x * y + f64::from(cy));
        m += 1;
    }
    [n, m]
}

#[test]
fn mandelbrot_counts_agree_where_rounding_does_not_decide() {
    let module = Module::named("mandelbrot");
    let kernel = module.kernel("mandelbrot");
    for (width, height, [gx, gy]) in [(64, 48, [16, 4]), (37, 29, [8, 8]), (100, 3, [1, 1]), (65, 33, [7, 5])]
    {
        let counts = platform().filled(u32::MAX, width * height);
        let (left, top, step, limit) = (-2.0f32, -1.25f32, 2.5 / width as f32, 60u32);
        kernel.run(
            [(width as u32).div_ceil(gx), (height as u32).div_ceil(gy), 1],
            [gx, gy, 1],
            &[&counts, &(width as u32), &(height as u32), &left, &top, &step, &limit],
        );
        let mut compared = 0;
        for (i, &got) in counts.iter().enumerate() {
            let (cx, cy) = (left + step * (i % width) as f32, top + step * (i / width) as f32);
            let [single, double] = mandelbrot_counts(cx, cy, limit);
            // A contracted multiply-add for the coordinate itself may move it by one unit.
            let steady = (-1..=1).all(|unit| {
                let nudged = f32::from_bits(cx.to_bits().wrapping_add_signed(unit));
                mandelbrot_counts(nudged, cy, limit) == [single, single]
            });
            if single == double && steady {
                assert_eq!(got, single, "pixel {i} of {width}x{height}");
                compared += 1;
            } else {
                assert!(got <= limit, "pixel {i}");
            }
        }
        assert!(compared * 100 > width * height * 90, "{compared} of {} pixels compared", width * height);
    }
}

#[test]
fn tree_reduction_sums_floats_and_integers() {
    let module = Module::named("reduction");
    for (n, group_size, groups) in
        [(1, 1, 1), (5, 8, 1), (1000, 64, 4), (4099, 256, 5), (10_000, 16, 7), (777, 2, 3), (65_536, 32, 16)]
    {
        let mut random = Random::new(n as u64);
        let floats = random.floats(n, 0.0, 1.0);
        let partial = platform().filled(f32::NAN, groups);
        let kernel = module.kernel("reduce_float");
        kernel.run(
            [groups as u32, 1, 1],
            [group_size, 1, 1],
            &[&platform().buffer(&floats), &partial, &Local(4 * group_size as usize), &(n as u32)],
        );
        let (got, want) = (
            partial.iter().map(|&p| f64::from(p)).sum::<f64>(),
            floats.iter().map(|&f| f64::from(f)).sum::<f64>(),
        );
        assert!(
            (got - want).abs() <= 1e-5 * want,
            "{n} floats in {groups} groups of {group_size}: {got}, not {want}"
        );

        let ints: Vec<u32> = (0..n).map(|_| random.next_u32()).collect();
        let partial = platform().filled(u64::MAX, groups);
        module.kernel("reduce_ulong").run(
            [groups as u32, 1, 1],
            [group_size, 1, 1],
            &[&platform().buffer(&ints), &partial, &Local(8 * group_size as usize), &(n as u32)],
        );
        let want: u64 = ints.iter().map(|&i| u64::from(i)).sum();
        assert_eq!(partial.iter().sum::<u64>(), want, "{n} integers in {groups} groups of {group_size}");
    }
}

#[test]
fn prefix_sum_in_three_launches() {
    let module = Module::named("prefix_sum");
    for (n, group_size) in [(1, 1), (9, 8), (100, 7), (1000, 64), (4099, 256), (333, 100)] {
        let values: Vec<u32> = Random::new(n as u64).ints(n, 0, 1000).iter().map(|&v| v as u32).collect();
        let groups = n.div_ceil(group_size as usize);
        let out = platform().filled(u32::MAX, n);
        let totals = platform().filled(u32::MAX, groups);
        let input = platform().buffer(&values);
        let scratch = Local(4 * group_size as usize);
        module.kernel("scan_groups").run_1d(n, group_size, &[&input, &out, &totals, &scratch, &(n as u32)]);
        module.kernel("scan_totals").run_1d(1, 1, &[&totals, &(groups as u32)]);
        module.kernel("add_totals").run_1d(n, group_size, &[&out, &totals, &(n as u32)]);
        let want: Vec<u32> = values
            .iter()
            .scan(0, |sum, &v| {
                *sum += v;
                Some(*sum)
            })
            .collect();
        assert_same(&format!("{n} items in groups of {group_size}"), &out, &want);
    }
}

#[test]
fn histogram_with_local_atomics_counts_every_byte() {
    let module = Module::named("histogram");
    let kernel = module.kernel("histogram");
    for (n, group_size, groups) in
        [(1, 1, 1), (1000, 64, 3), (50_000, 256, 8), (12_345, 17, 5), (4096, 32, 1)]
    {
        let mut random = Random::new(n as u64);
        // Skewed, so that lanes collide.
        let bytes: Vec<u8> = (0..n).map(|_| (random.below(256) & random.below(256)) as u8).collect();
        let bins = platform().filled(0u32, 256);
        kernel.run([groups, 1, 1], [group_size, 1, 1], &[&platform().buffer(&bytes), &bins, &(n as u32)]);
        let mut want = vec![0u32; 256];
        bytes.iter().for_each(|&byte| want[usize::from(byte)] += 1);
        assert_same(&format!("{n} bytes in {groups} groups of {group_size}"), &bins, &want);
    }
}

#[test]
fn places_and_sums_by_twelve_bits_in_local_memory() {
    let kernel = Module::named("histogram").kernel("ranks");
    for (n, group_size) in [(1usize, 1usize), (1000, 64), (5000, 256), (345, 17), (4096, 32)] {
        let groups = n.div_ceil(group_size);
        let mut random = Random::new(n as u64);
        // Few values, so that lanes collide, in all the bits.
        let values: Vec<u16> =
            (0..n).map(|_| [0u16, 15, 16, 4095, 4096, 65535][random.below(6) as usize]).collect();
        let weights = random.ints(n, -1000, 1000);
        let (rank, sums) = (platform().filled(u32::MAX, n), platform().filled(0i32, 4096 * groups));
        kernel.run(
            [groups as u32, 1, 1],
            [group_size as u32, 1, 1],
            &[&platform().buffer(&values), &platform().buffer(&weights), &rank, &sums, &(n as u32)],
        );
        let mut want = vec![0i32; 4096 * groups];
        let ranks: &[u32] = &rank;
        for (group, values) in values.chunks(group_size).enumerate() {
            let items = group * group_size..;
            for (item, value) in items.zip(values) {
                want[group * 4096 + usize::from(value & 4095)] += weights[item];
            }
            // Work-items come in any order.
            let mut places: Vec<(u16, u32)> = values
                .iter()
                .zip(&ranks[group * group_size..])
                .map(|(value, rank)| (value >> 4, *rank))
                .collect();
            places.sort_unstable();
            let mut next = std::collections::HashMap::new();
            for (bin, rank) in places {
                let next = next.entry(bin).or_insert(0u32);
                assert_eq!(rank, *next, "bin {bin} of group {group}, {n} items in groups of {group_size}");
                *next += 1;
            }
        }
        assert_same(&format!("{n} items in groups of {group_size}"), &sums, &want);
    }
}

#[test]
fn transpose_through_local_memory() {
    let module = Module::named("transpose");
    let kernel = module.kernel("transpose");
    for (rows, cols) in [(1, 1), (16, 16), (33, 17), (64, 128), (5, 100), (100, 5)] {
        let input: Vec<f32> = (0..rows * cols).map(|i| i as f32).collect();
        let out = platform().filled(f32::NAN, rows * cols);
        kernel.run(
            [(cols as u32).div_ceil(16), (rows as u32).div_ceil(16), 1],
            [16, 16, 1],
            &[&platform().buffer(&input), &out, &(rows as u32), &(cols as u32)],
        );
        let want: Vec<f32> = (0..rows * cols).map(|i| input[i % rows * cols + i / rows]).collect();
        assert_same(&format!("{rows}x{cols}"), &out, &want);
    }
}

#[test]
fn five_point_stencil_keeps_the_border() {
    let module = Module::named("stencil");
    let kernel = module.kernel("stencil5");
    for (width, height, [gx, gy]) in
        [(1, 1, [1, 1]), (3, 3, [4, 4]), (64, 32, [16, 4]), (37, 53, [7, 3]), (100, 9, [32, 1])]
    {
        let input = Random::new(width as u64).floats(width * height, -1.0, 1.0);
        let out = platform().filled(f32::NAN, width * height);
        kernel.run(
            [(width as u32).div_ceil(gx), (height as u32).div_ceil(gy), 1],
            [gx, gy, 1],
            &[&platform().buffer(&input), &out, &(width as u32), &(height as u32), &0.5f32, &0.125f32],
        );
        let at = |x: usize, y: usize| f64::from(input[y * width + x]);
        let want: Vec<f64> = (0..width * height)
            .map(|i| {
                let (x, y) = (i % width, i / width);
                if x == 0 || y == 0 || x == width - 1 || y == height - 1 {
                    return at(x, y);
                }
                0.5 * at(x, y) + 0.125 * (at(x - 1, y) + at(x + 1, y) + at(x, y - 1) + at(x, y + 1))
            })
            .collect();
        assert_close_f32(&format!("{width}x{height}"), &out, &want, 3e-7, 1.0);
    }
}

#[test]
fn bitonic_sort_sorts_in_local_and_global_memory() {
    let module = Module::named("bitonic_sort");
    for (n, local) in [(2usize, 2u32), (64, 16), (1024, 256), (4096, 8), (512, 1)] {
        let keys = Random::new(n as u64).ints(n, -1000, 1000);
        let buffer = platform().buffer(&keys);
        if local > 1 {
            let kernel = module.kernel("bitonic_local");
            kernel.run_1d(n, local, &[&buffer, &Local(4 * local as usize)]);
            for (group, sorted) in buffer.chunks(local as usize).enumerate() {
                assert!(sorted.is_sorted(), "group {group} of {local} is not sorted: {sorted:?}");
            }
        }
        let kernel = module.kernel("bitonic_pass");
        let mut block = 2u32;
        while block <= n as u32 {
            let mut distance = block / 2;
            while distance > 0 {
                kernel.run_1d(n, local, &[&buffer, &block, &distance]);
                distance /= 2;
            }
            block *= 2;
        }
        let mut want = keys.clone();
        want.sort_unstable();
        assert_same(&format!("{n} keys"), &buffer, &want);
    }
}

#[test]
fn sparse_matrix_vector_product_with_uneven_rows() {
    let module = Module::named("spmv");
    let kernel = module.kernel("spmv_csr");
    for (rows, cols, group_size) in [(1, 1, 1), (100, 50, 32), (1000, 1000, 64), (333, 77, 17)] {
        let mut random = Random::new(rows as u64);
        let (mut start, mut column, mut value) = (vec![0u32], Vec::new(), Vec::new());
        for _ in 0..rows {
            // Some rows are empty, some long.
            let length = if random.below(10) == 0 { random.below(60) } else { random.below(6) };
            for _ in 0..length {
                column.push(random.below(cols));
                value.push(random.float(-1.0, 1.0));
            }
            start.push(column.len() as u32);
        }
        let x = random.floats(cols as usize, -1.0, 1.0);
        let want: Vec<f64> = start
            .windows(2)
            .map(|row| {
                (row[0]..row[1])
                    .map(|i| f64::from(value[i as usize]) * f64::from(x[column[i as usize] as usize]))
                    .sum()
            })
            .collect();
        // Empty allocations are not the subject.
        column.push(0);
        value.push(0.0);
        let y = platform().filled(f32::NAN, rows);
        kernel.run_1d(
            rows,
            group_size,
            &[
                &platform().buffer(&start),
                &platform().buffer(&column),
                &platform().buffer(&value),
                &platform().buffer(&x),
                &y,
                &(rows as u32),
            ],
        );
        assert_close_f32(&format!("{rows} rows"), &y, &want, 1e-6, 60.0);
    }
}

#[test]
fn black_scholes_prices_options() {
    let module = Module::named("black_scholes");
    let kernel = module.kernel("black_scholes");
    let cdf = |d: f64| {
        let k = 1.0 / (1.0 + 0.2316419 * d.abs());
        let polynomial =
            k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))));
        let tail = 0.3989422804014327 * (-0.5 * d * d).exp() * polynomial;
        if d > 0.0 { 1.0 - tail } else { tail }
    };
    for (n, group_size) in [(1, 1), (100, 16), (1001, 64), (4099, 256)] {
        let mut random = Random::new(n as u64);
        let (spot, strike, years) =
            (random.floats(n, 5.0, 30.0), random.floats(n, 1.0, 100.0), random.floats(n, 0.25, 10.0));
        let (rate, volatility) = (0.02f32, 0.3f32);
        let (call, put) = (platform().filled(f32::NAN, n), platform().filled(f32::NAN, n));
        kernel.run_1d(
            n,
            group_size,
            &[
                &platform().buffer(&spot),
                &platform().buffer(&strike),
                &platform().buffer(&years),
                &call,
                &put,
                &rate,
                &volatility,
                &(n as u32),
            ],
        );
        let (mut want_call, mut want_put) = (Vec::new(), Vec::new());
        for i in 0..n {
            let (s, x, t) = (f64::from(spot[i]), f64::from(strike[i]), f64::from(years[i]));
            let (r, v) = (f64::from(rate), f64::from(volatility));
            let d1 = ((s / x).ln() + (r + 0.5 * v * v) * t) / (v * t.sqrt());
            let d2 = d1 - v * t.sqrt();
            let discounted = x * (-r * t).exp();
            want_call.push(s * cdf(d1) - discounted * cdf(d2));
            want_put.push(discounted * (1.0 - cdf(d2)) - s * (1.0 - cdf(d1)));
        }
        assert_close_f32("calls", &call, &want_call, 1e-6, 100.0);
        assert_close_f32("puts", &put, &want_put, 1e-6, 100.0);
    }
}

#[test]
fn integer_mixing_is_exact() {
    let module = Module::named("integer_mixing");
    let kernel = module.kernel("integer_mixing");
    for (n, group_size, rounds) in [(1, 1, 0u32), (100, 16, 5), (1001, 64, 100)] {
        let states: Vec<u32> = (0..n as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
        let out = platform().buffer(&states);
        kernel.run_1d(n, group_size, &[&out, &(n as u32), &rounds]);
        let want: Vec<u32> = states
            .iter()
            .map(|&state| {
                (0..rounds).fold(state, |mut h, round| {
                    h ^= h >> 16;
                    h = h.wrapping_mul(0x7feb_352d);
                    h ^= h >> 15;
                    h = h.wrapping_mul(0x846c_a68b);
                    (h ^ (h >> 16)).wrapping_add(round)
                })
            })
            .collect();
        assert_same(&format!("{n} items, {rounds} rounds"), &out, &want);
    }
}

#[test]
fn a_million_items_in_the_suggested_group_size() {
    let module = Module::named("saxpy");
    let kernel = module.kernel("saxpy");
    let n = 1 << 20;
    let x: Vec<f32> = (0..n).map(|i| (i % 1000) as f32).collect();
    let y = platform().filled(1.0f32, n);
    let size = kernel.suggest_group_size([n as u32, 1, 1]).unwrap();
    assert!(
        size[0] >= 1 && (n as u32).is_multiple_of(size[0]) && size[1] == 1 && size[2] == 1,
        "suggested {size:?}"
    );
    kernel.run([n as u32 / size[0], 1, 1], size, &[&0.5f32, &platform().buffer(&x), &y, &(n as u32)]);
    let want: Vec<f64> = x.iter().map(|&x| 0.5 * f64::from(x) + 1.0).collect();
    assert_ulp_f32("saxpy", &y, &want, 0.0);
}
