//! Cases that are bound by arithmetic: particles, iterations, random walks, functions, transforms.

use super::{bytes, numbers, sample, value};
use crate::Random;
use crate::bench::{Arg, Case, Limit, Verify, native};

pub fn nbody() -> Case {
    let n = 8192;
    let mut random = Random::new(3);
    let mut bodies = random.floats(4 * n, -1.0, 1.0);
    bodies.iter_mut().skip(3).step_by(4).for_each(|mass| *mass = mass.abs());
    let speeds = vec![0.0f32; 4 * n];
    let buffers = vec![bytes(&bodies), bytes(&speeds), vec![0; 16 * n], vec![0; 16 * n]];
    let verify: Verify = Box::new(move |buffers| {
        let mut accelerations = std::collections::HashMap::new();
        sample(numbers(buffers[3]), 200, 1e-2, |at| {
            if at % 4 == 3 {
                return 0.0;
            }
            let i = at / 4;
            accelerations.entry(i).or_insert_with(|| {
                let at = |j: usize, axis: usize| f64::from(bodies[4 * j + axis]);
                let mut sum = [0.0; 3];
                for j in 0..n {
                    let away = [0, 1, 2].map(|axis| at(j, axis) - at(i, axis));
                    let distance2 = away.iter().map(|a| a * a).sum::<f64>() + 0.01;
                    let force = at(j, 3) / (distance2 * distance2.sqrt());
                    (0..3).for_each(|axis| sum[axis] += away[axis] * force);
                }
                sum
            })[at % 4]
                * 0.01
        })
    });
    Case::new("n-body", "nbody", buffers, verify)
        .launch_over(
            "nbody_step",
            n,
            256,
            vec![
                Arg::Buffer(0),
                Arg::Buffer(1),
                Arg::Buffer(2),
                Arg::Buffer(3),
                value(n as u32),
                value(0.01f32),
                value(0.01f32),
            ],
        )
        .limit(Limit::Loop(native::nbody()))
}

pub fn mandelbrot() -> Case {
    let size = 1024usize;
    let (left, top, step, limit) = (-2.0f32, -1.25f32, 2.5f32 / 1024.0, 500u32);
    let verify: Verify = Box::new(move |buffers| {
        let counts: &[u32] = numbers(buffers[0]);
        let mut random = Random::new(98);
        // Near the edge of the set a rounding decides: a few counts may differ.
        let different = (0..5000)
            .filter(|_| {
                let i = random.below(counts.len() as u32) as usize;
                let (cx, cy) = (left + step * (i % size) as f32, top + step * (i / size) as f32);
                let (mut x, mut y, mut n) = (0.0f32, 0.0f32, 0);
                while n < limit && x * x + y * y <= 4.0 {
                    (x, y) = (x * x - y * y + cx, 2.0 * x * y + cy);
                    n += 1;
                }
                counts[i] != n
            })
            .count();
        if different < 100 { Ok(()) } else { Err(format!("{different} of 5000 counts differ")) }
    });
    Case::new("Mandelbrot", "mandelbrot", vec![vec![0; 4 * size * size]], verify)
        .launch(
            "mandelbrot",
            [size as u32 / 16, size as u32 / 16, 1],
            [16, 16, 1],
            vec![
                Arg::Buffer(0),
                value(size as u32),
                value(size as u32),
                value(left),
                value(top),
                value(step),
                value(limit),
            ],
        )
        .limit(Limit::Loop(native::mandelbrot()))
}

pub fn black_scholes() -> Case {
    let n = 2 << 20;
    let mut random = Random::new(4);
    let (spot, strike, years) =
        (random.floats(n, 5.0, 30.0), random.floats(n, 1.0, 100.0), random.floats(n, 0.25, 10.0));
    let buffers = vec![bytes(&spot), bytes(&strike), bytes(&years), vec![0; 4 * n], vec![0; 4 * n]];
    let cdf = |d: f64| {
        let k = 1.0 / (1.0 + 0.2316419 * d.abs());
        let polynomial =
            k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))));
        let tail = 0.3989422804014327 * (-0.5 * d * d).exp() * polynomial;
        if d > 0.0 { 1.0 - tail } else { tail }
    };
    let verify: Verify = Box::new(move |buffers| {
        sample(numbers(buffers[3]), 10_000, 1e-4, |i| {
            let (s, x, t) = (f64::from(spot[i]), f64::from(strike[i]), f64::from(years[i]));
            let (r, v) = (f64::from(0.02f32), f64::from(0.3f32));
            let d1 = ((s / x).ln() + (r + 0.5 * v * v) * t) / (v * t.sqrt());
            s * cdf(d1) - x * (-r * t).exp() * cdf(d1 - v * t.sqrt())
        })
    });
    let mut args: Vec<Arg> = (0..5).map(Arg::Buffer).collect();
    args.extend([value(0.02f32), value(0.3f32), value(n as u32)]);
    Case::new("Black-Scholes", "black_scholes", buffers, verify)
        .launch_over("black_scholes", n, 256, args)
        .limit(Limit::Loop(native::black_scholes()))
}

/// Spheres, boxes and a floor by the distance to them.
pub fn ray_marching() -> Case {
    let (width, height, steps) = (1024usize, 768usize, 96);
    let length = |v: [f64; 3]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
    let distance = move |p: [f64; 3]| {
        let sphere = length([p[0], p[1], p[2] - 4.0]) - 1.0;
        let q = [p[0] - 1.5, p[1] - 0.3, p[2] - 5.0].map(|v| v.abs() - 0.6);
        let inside = q[0].max(q[1].max(q[2])).min(0.0);
        let box_ = length(q.map(|v| v.max(0.0))) + inside;
        sphere.min(box_).min(p[1] + 1.0)
    };
    let verify: Verify = Box::new(move |buffers| {
        let got: &[f32] = numbers(buffers[0]);
        let mut random = Random::new(98);
        // At edges a rounding decides what a ray hits: a few may differ.
        let different = (0..2000)
            .filter(|_| {
                let i = random.below(got.len() as u32) as usize;
                let (x, y) = ((i % width) as f64, (i / width) as f64);
                let (w, h) = (width as f64, height as f64);
                let towards = [(x - 0.5 * w) / h, (0.5 * h - y) / h, 1.0];
                let direction = towards.map(|v| v / length(towards));
                let mut t = 0.0;
                for _ in 0..steps {
                    let d = distance(direction.map(|v| v * t));
                    if d < 0.001 || t > 20.0 {
                        break;
                    }
                    t += d;
                }
                (f64::from(got[i]) - t).abs() > 0.02 * t.max(1.0)
            })
            .count();
        if different < 40 { Ok(()) } else { Err(format!("{different} of 2000 depths differ")) }
    });
    Case::new("ray marching", "bench_simulation", vec![vec![0; 4 * width * height]], verify)
        .launch(
            "march",
            [width as u32 / 16, height as u32 / 16, 1],
            [16, 16, 1],
            vec![Arg::Buffer(0), value(width as i32), value(height as i32), value(steps)],
        )
        .int()
}

pub fn monte_carlo() -> Case {
    let (n, paths) = (16usize << 10, 64);
    let (spot, strike, drift, deviation) = (100.0f32, 105.0f32, -0.02f32, 0.25f32);
    let verify: Verify = Box::new(move |buffers| {
        sample(numbers(buffers[0]), 500, 2e-2, |i| {
            let mut state = (i as u32).wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
            let mut next = || {
                state ^= state << 13;
                state ^= state >> 17;
                state ^= state << 5;
                state >> 8
            };
            let [spot, strike, drift, deviation] = [spot, strike, drift, deviation].map(f64::from);
            let mut sum = 0.0;
            for _ in 0..paths {
                let u = f64::from((next() + 1) as f32 * (1.0 / 16_777_217.0));
                let angle = f64::from(next() as f32 * (std::f32::consts::TAU / 16_777_216.0));
                let radius = (-2.0 * u.ln()).max(0.0).sqrt() * deviation;
                for normal in [angle.cos(), angle.sin()] {
                    sum += (spot * (drift + radius * normal).exp() - strike).max(0.0);
                }
            }
            sum / f64::from(2 * paths)
        })
    });
    let mut args = vec![Arg::Buffer(0)];
    args.extend([spot, strike, drift, deviation].map(value));
    args.push(value(paths));
    Case::new("Monte Carlo", "bench_simulation", vec![vec![0; 4 * n]], verify)
        .launch_over("walks", n, 256, args)
        .int()
}

/// Error function by its series (small) and its continued fraction (large).
fn erf(x: f64) -> f64 {
    if x < 2.5 {
        let (mut sum, mut term) = (x, x);
        for k in 1..60 {
            term *= -x * x / f64::from(k);
            sum += term / f64::from(2 * k + 1);
        }
        return sum * std::f64::consts::FRAC_2_SQRT_PI;
    }
    let fraction = (1..60).rev().fold(0.0, |rest, k| f64::from(k) / 2.0 / (x + rest));
    1.0 - (-x * x).exp() / ((x + fraction) * std::f64::consts::PI.sqrt())
}

/// What `functions_float` and `functions_double` compute.
fn functions(x: f64) -> f64 {
    x.sin() + (-x).exp() + (x + 1.5).ln() + x.powf(2.3) + x.tanh() + x.atan2(0.7) + erf(x) + x.cbrt()
}

pub fn functions_float() -> Case {
    let n = 1usize << 20;
    let input = Random::new(50).floats(n, 0.01, 4.0);
    let buffers = vec![bytes(&input), vec![0; 4 * n]];
    let verify: Verify = Box::new(move |buffers| {
        sample(numbers(buffers[1]), 10_000, 5e-5, |i| functions(f64::from(input[i])))
    });
    Case::new("8 functions, f32", "bench_simulation", buffers, verify)
        .launch_over("functions_float", n, 256, vec![Arg::Buffer(0), Arg::Buffer(1), value(n as i32)])
        .int()
}

pub fn functions_double() -> Case {
    let n = 512usize << 10;
    let mut random = Random::new(51);
    let input: Vec<f64> = (0..n).map(|_| f64::from(random.float(0.01, 4.0))).collect();
    let buffers = vec![bytes(&input), vec![0; 8 * n]];
    let verify: Verify = Box::new(move |buffers| {
        let got: &[f64] = numbers(buffers[1]);
        match (0..n).step_by(37).find(|&i| (got[i] - functions(input[i])).abs() > 1e-12) {
            None => Ok(()),
            Some(i) => Err(format!("element {i} is {}, not {}", got[i], functions(input[i]))),
        }
    });
    Case::new("8 functions, f64", "bench_simulation", buffers, verify)
        .launch_over("functions_double", n, 256, vec![Arg::Buffer(0), Arg::Buffer(1), value(n as i32)])
        .int()
}

/// Transforms of 1024 points, in place. The numbers grow with each launch: only the first one's are checked.
pub fn fourier() -> Case {
    const POINTS: usize = 1024;
    let batch = 1024;
    let input = Random::new(52).floats(2 * POINTS * batch, -1.0, 1.0);
    let buffers = vec![bytes(&input)];
    let verify: Verify = Box::new(move |buffers| {
        let got: &[f32] = numbers(buffers[0]);
        for transform in [0, batch / 2, batch - 1] {
            let first = 2 * POINTS * transform;
            for k in (0..POINTS).step_by(97) {
                let mut want = [0.0f64; 2];
                for i in 0..POINTS {
                    let angle = -std::f64::consts::TAU * ((i * k % POINTS) as f64) / POINTS as f64;
                    let [re, im] = [0, 1].map(|part| f64::from(input[first + 2 * i + part]));
                    want[0] += re * angle.cos() - im * angle.sin();
                    want[1] += re * angle.sin() + im * angle.cos();
                }
                for part in 0..2 {
                    let got = f64::from(got[first + 2 * k + part]);
                    if (got - want[part]).abs() > 1e-3 {
                        return Err(format!("point {k} is {got}, not {}", want[part]));
                    }
                }
            }
        }
        Ok(())
    });
    Case::new("FFT, 1024 points", "bench_simulation", buffers, verify)
        .launch("fft1024", [batch as u32, 1, 1], [256, 1, 1], vec![Arg::Buffer(0)])
        .int()
        .limit(Limit::Multiplications((batch * POINTS * 10 * 5 / 2) as u64))
}
