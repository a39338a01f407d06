//! Vector shuffles, selections, loads and stores, and the geometric functions.

use ze_tests::ulp::{assert_close_f32, assert_same, ulp_f32};
use ze_tests::{Module, Random, platform};

const SHAPES: [(usize, u32); 4] = [(1, 1), (9, 8), (100, 32), (257, 17)];

#[test]
fn swizzles() {
    let module = Module::named("vectors");
    let kernel = module.kernel("swizzles");
    for (n, size) in SHAPES {
        let input = Random::new(n as u64).ints(4 * n, -1000, 1000);
        let out = platform().filled(0i32, 8 * n);
        kernel.run_1d(n, size, &[&platform().buffer(&input), &out, &(n as u32)]);
        let want: Vec<i32> = input
            .chunks(4)
            .flat_map(|v| {
                let r = [v[3] + v[1], v[2], v[1] + v[1], v[0]];
                [v[1], r[1], r[2], r[3], v[1], v[3], v[0], v[0]]
            })
            .collect();
        assert_same(&format!("{n} items"), &out, &want);
    }
}

#[test]
fn shuffles_with_masks_from_memory() {
    let module = Module::named("vectors");
    let kernel = module.kernel("shuffles");
    for (n, size) in SHAPES {
        let mut random = Random::new(n as u64);
        let input = random.ints(8 * n, -1000, 1000);
        let mask: Vec<u32> = (0..8 * n).map(|_| random.next_u32()).collect();
        let out = platform().filled(0i32, 8 * n);
        kernel.run_1d(n, size, &[&platform().buffer(&input), &platform().buffer(&mask), &out, &(n as u32)]);
        let mut want = Vec::new();
        for i in 0..n {
            let (values, masks) = (&input[8 * i..][..8], &mask[8 * i..][..8]);
            want.extend(masks[..4].iter().map(|&m| values[m as usize % 4]));
            want.extend(masks[4..].iter().map(|&m| values[m as usize % 8]));
        }
        assert_same(&format!("{n} items"), &out, &want);
    }
}

#[test]
fn selections() {
    let module = Module::named("vectors");
    let kernel = module.kernel("selections");
    for (n, size) in SHAPES {
        let mut random = Random::new(n as u64);
        let (a, b) = (random.ints(4 * n, 0, 3), random.ints(4 * n, 0, 3));
        let c: Vec<i32> = (0..4 * n).map(|_| random.next_u32() as i32 >> random.below(31)).collect();
        let out = platform().filled(0i32, 12 * n);
        kernel.run_1d(
            n,
            size,
            &[&platform().buffer(&a), &platform().buffer(&b), &platform().buffer(&c), &out, &(n as u32)],
        );
        let mut want = Vec::new();
        for i in 0..n {
            let (x, y, c) = (&a[4 * i..][..4], &b[4 * i..][..4], &c[4 * i..][..4]);
            want.extend((0..4).map(|k| if c[k] < 0 { y[k] } else { x[k] }));
            want.extend((0..4).map(|k| (x[k] & !c[k]) | (y[k] & c[k])));
            let any_equal = (0..4).any(|k| x[k] == y[k]);
            let all_less = (0..4).all(|k| x[k] <= y[k]);
            want.extend([
                i32::from(c.iter().any(|&c| c < 0)),
                i32::from(c.iter().all(|&c| c < 0)),
                i32::from(any_equal) + 2 * i32::from(all_less),
                if c[0] != 0 { y[0] } else { x[0] },
            ]);
        }
        assert_same(&format!("{n} items"), &out, &want);
    }
}

#[test]
fn vloads_and_vstores_at_element_alignment() {
    let module = Module::named("vectors");
    let kernel = module.kernel("vector_loads");
    for (n, size) in SHAPES {
        let mut random = Random::new(n as u64);
        let input: Vec<i16> = (0..16 * n + 7).map(|_| random.next_u32() as i16).collect();
        let out = platform().filled(0i16, 16 * n + 1);
        kernel.run_1d(n, size, &[&platform().buffer(&input), &out, &(n as u32)]);
        let mut want = vec![0i16];
        for i in 0..n {
            let mut eight = input[8 * i + 5..][..8].to_vec();
            (0..3).for_each(|k| eight[k] = eight[k].wrapping_add(input[3 * i + 3 + k]));
            (0..2).for_each(|k| eight[6 + k] = eight[6 + k].wrapping_sub(input[2 * i + 1 + k]));
            want.extend((0..16).map(|k| input[16 * i + 7 + k].wrapping_add(eight[k % 8])));
        }
        assert_same(&format!("{n} items"), &out, &want);
    }
}

#[test]
fn vectors_through_pointers() {
    let module = Module::named("vectors");
    let kernel = module.kernel("vector_pointers");
    for (n, size) in SHAPES {
        let mut random = Random::new(n as u64);
        let mut draw =
            || (0..n).map(|_| std::array::from_fn(|_| random.float(-9.0, 9.0))).collect::<Vec<[f32; 4]>>();
        let (three, four) = (draw(), draw());
        let (two, out) = (platform().filled([0.0f32; 2], n), platform().filled([7.0f32; 4], n));
        kernel.run_1d(
            n,
            size,
            &[&platform().buffer(&three), &platform().buffer(&four), &two, &out, &(n as u32)],
        );
        let pair = |i: usize| (three[i], four[n - 1 - i]);
        let want: Vec<[f32; 2]> = (0..n).map(pair).map(|(a, b)| [a[0] * b[2], a[1] * b[3]]).collect();
        assert_same("vectors of two", &two, &want);
        // The fourth element of a vector of three may be written with anything.
        let got: Vec<[f32; 3]> = out.iter().map(|v| [v[0], v[1], v[2]]).collect();
        let want: Vec<[f32; 3]> = (0..n).map(pair).map(|(a, b)| [a[2], b[0], a[1] + b[1]]).collect();
        assert_same("vectors of three", &got, &want);
    }
}

/// The value of a half's bits.
fn from_half(bits: u16) -> f32 {
    let (sign, exponent, fraction) = (bits >> 15, i32::from(bits >> 10 & 31), f32::from(bits & 0x3ff));
    let magnitude = match exponent {
        0 => fraction * f32::powi(2.0, -24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1.0 + fraction / 1024.0) * f32::powi(2.0, exponent - 15),
    };
    if sign == 1 { -magnitude } else { magnitude }
}

#[test]
fn halves_in_memory_round_as_they_are_told() {
    let module = Module::named("half_memory");
    let n = 100;
    let mut random = Random::new(16);
    // Normal, positive and not so large that the factor overflows.
    let input: Vec<u16> = (0..4 * n).map(|_| 0x0400 + random.below(0x7000) as u16).collect();
    let (out, wide) = (platform().filled(0u16, 8 * n), platform().filled(0.0f32, 4 * n));
    module.kernel("half_loads").run_1d(n, 32, &[&platform().buffer(&input), &out, &wide, &(n as u32)]);
    let widened: Vec<f32> = input.iter().map(|&bits| from_half(bits)).collect();
    assert_same("widened", &wide, &widened);
    // Positive halves are ordered as their bits.
    let down = |value: f32| (0..0x7c00u16).rev().find(|&bits| from_half(bits) <= value).unwrap();
    for i in 0..n {
        let got = &out[8 * i..][..8];
        let nearest = |value: f32| {
            let low = down(value);
            let (below, above) = (value - from_half(low), from_half(low + 1) - value);
            low + u16::from(above < below || (above == below && low & 1 == 1))
        };
        for k in 0..4 {
            assert_eq!(got[k], nearest(widened[4 * i + k] * 1.000_976_6), "item {i}, element {k}");
        }
        let product = |k: usize| widened[4 * i + k] * 1.000_976_6;
        assert_eq!(got[4], down(product(0)), "toward zero, item {i}");
        let low = down(product(1));
        assert_eq!(got[5], low + u16::from(from_half(low) < product(1)), "up, item {i}");
        assert_eq!(got[6], down(product(2)), "down, item {i}");
        assert_eq!(got[7], nearest(widened[4 * i + 3] + 1.0), "to nearest, item {i}");
    }
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

fn distance(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt()
}

fn cross(x: &[f64], y: &[f64]) -> [f64; 3] {
    [x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]]
}

#[test]
fn geometric_functions_on_float() {
    let module = Module::named("vectors");
    let kernel = module.kernel("geometric_float");
    for (n, size) in SHAPES {
        let mut random = Random::new(n as u64);
        let (a, b) = (random.floats(4 * n, -10.0, 10.0), random.floats(4 * n, -10.0, 10.0));
        let out = platform().filled(0.0f32, 24 * n);
        kernel.run_1d(n, size, &[&platform().buffer(&a), &platform().buffer(&b), &out, &(n as u32)]);
        let wide = |v: &[f32]| v.iter().map(|&v| f64::from(v)).collect::<Vec<f64>>();
        for i in 0..n {
            let (x, y, r) = (wide(&a[4 * i..][..4]), wide(&b[4 * i..][..4]), &out[24 * i..][..24]);
            // The bounds of OpenCL SPIR-V Env 3.0 §6.6.1; the products' are absolute, in terms of the largest operand.
            let absolute = |terms: f64| terms * f64::from(f32::EPSILON);
            assert_close_f32("dot", &r[..1], &[dot(&x, &y)], absolute(7.0), 100.0);
            assert_close_f32("dot3", &r[1..2], &[dot(&x[..3], &y[..3])], absolute(5.0), 100.0);
            assert_close_f32("dot2", &r[2..3], &[dot(&x[..2], &y[..2])], absolute(3.0), 100.0);
            let length = |v: &[f64]| dot(v, v).sqrt();
            for (slot, want, bound) in [
                (3, length(&x), 2.75 + 0.5 * 4.0),
                (4, length(&x[..3]), 2.75 + 0.5 * 3.0),
                (5, length(&x[..2]), 2.75 + 0.5 * 2.0),
                (6, distance(&x, &y), 2.5 + 2.0 * 4.0),
                (7, distance(&x[..3], &y[..3]), 2.5 + 2.0 * 3.0),
                (15, length(&x), 8195.5),
                (23, distance(&x, &y), 8199.5),
            ] {
                let error = ulp_f32(r[slot], want);
                assert!(error <= bound, "slot {slot}: {} is not {want}: {error} ULP of {bound}", r[slot]);
            }
            let [c0, c1, c2] = cross(&x, &y);
            assert_close_f32("cross4", &r[8..12], &[c0, c1, c2, 0.0], absolute(3.0), 100.0);
            assert_close_f32("cross3", &r[12..15], &[c0, c1, c2], absolute(3.0), 100.0);
            for k in 0..4 {
                let error = ulp_f32(r[16 + k], x[k] / length(&x));
                assert!(error <= 6.0, "normalize of four: {error} ULP");
            }
            for k in 0..3 {
                let error = ulp_f32(r[20 + k], x[k] / length(&x[..3]));
                assert!(error <= 5.0, "normalize of three: {error} ULP");
            }
        }
    }
}

#[test]
fn geometric_functions_on_double() {
    let module = Module::named("vectors");
    let kernel = module.kernel("geometric_double");
    let n = 100;
    let mut random = Random::new(n as u64);
    let mut draw = || (0..4 * n).map(|_| f64::from(random.float(-10.0, 10.0)) * 1.1).collect::<Vec<f64>>();
    let (a, b) = (draw(), draw());
    let out = platform().filled(0.0f64, 12 * n);
    kernel.run_1d(n, 16, &[&platform().buffer(&a), &platform().buffer(&b), &out, &(n as u32)]);
    for i in 0..n {
        let (x, y, r) = (&a[4 * i..][..4], &b[4 * i..][..4], &out[12 * i..][..12]);
        let length = dot(x, x).sqrt();
        let [c0, c1, c2] = cross(x, y);
        let want = [
            dot(x, y),
            length,
            distance(x, y),
            dot(&x[..2], &x[..2]).sqrt(),
            c0,
            c1,
            c2,
            0.0,
            x[0] / length,
            x[1] / length,
            x[2] / length,
            x[3] / length,
        ];
        for (slot, (&got, want)) in r.iter().zip(want).enumerate() {
            // The host's doubles are no better than the device's; both are within a few units of the largest term.
            let tolerance =
                20.0 * f64::EPSILON * want.abs().max(if slot == 0 || slot / 4 == 1 { 121.0 } else { 0.0 });
            assert!((got - want).abs() <= tolerance, "slot {slot}: {got}, not {want}");
        }
    }
}

#[test]
fn components_that_a_shared_number_names() {
    let kernel = Module::named("vectors").kernel("named_components");
    let (n, count) = (256, 11i32);
    let mut random = Random::new(12);
    // Sums of multiples of a quarter are exact.
    let mut quarters =
        |count: usize| -> Vec<f32> { (0..count).map(|_| random.between(-8, 8) as f32 / 4.0).collect() };
    let (rows, more, input) = (quarters(32), quarters(16), quarters(n));
    let out = platform().filled(0.0f32, n);
    let buffers = [&rows, &more, &input].map(|list| platform().buffer(list));
    kernel.run_1d(n, 64, &[&buffers[0], &buffers[1], &buffers[2], &out, &count]);
    let mut kept = more.clone();
    let mut want = vec![0.0f32; n];
    for k in 0..count as usize {
        for (sum, own) in want.iter_mut().zip(&input) {
            *sum += rows[8 * (k & 3) + (k & 7)] * own;
            if *own > 0.5 {
                *sum -= more[4 * (k & 3) + ((k >> 1) & 3)];
            }
            *sum += kept[4 * (k & 3) + ((k + 1) & 3)];
        }
        kept[4 * (k & 3)..][..4].iter_mut().for_each(|number| *number *= 2.0);
    }
    assert_same("components", &out, &want);
}

#[test]
fn components_that_each_work_item_has_for_itself() {
    let kernel = Module::named("vectors").kernel("own_components");
    let rows: Vec<f32> = (0..32).map(|at| at as f32).collect();
    let more: Vec<f32> = (0..16).map(|at| 100.0 * at as f32).collect();
    let out = platform().filled(0.0f32, 64);
    kernel.run_1d(64, 8, &[&platform().buffer(&rows), &platform().buffer(&more), &out]);
    let want: Vec<f32> =
        (0..64).map(|at| rows[at / 8 % 4 * 8 + at % 8] + more[at / 8 % 4 * 4 + at % 8 / 2]).collect();
    assert_same("components", &out, &want);
}
