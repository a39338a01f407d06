//! What is measured: sizes, inputs, and how one launch's result is checked.

use super::{Arg, Case, Verify};
use crate::Random;

/// The bytes of a slice of plain numbers.
fn bytes<T: Copy>(values: &[T]) -> Vec<u8> {
    // SAFETY: plain numbers have no padding.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }.to_vec()
}

/// The numbers behind the bytes of a buffer.
fn numbers<T: Copy>(bytes: &[u8]) -> &[T] {
    // SAFETY: buffers are aligned to 64 bytes and hold numbers of any bits.
    unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / size_of::<T>()) }
}

fn value<T: Copy>(value: T) -> Arg {
    Arg::Value(bytes(&[value]))
}

/// Checks a sample of elements, all with one tolerance.
fn sample(
    got: &[f32],
    count: usize,
    tolerance: f64,
    mut want: impl FnMut(usize) -> f64,
) -> std::result::Result<(), String> {
    let mut random = Random::new(99);
    for _ in 0..count {
        let i = random.below(got.len() as u32) as usize;
        let want = want(i);
        if (f64::from(got[i]) - want).abs() > tolerance {
            return Err(format!("element {i} is {}, not {want}", got[i]));
        }
    }
    Ok(())
}

fn all_equal<T: PartialEq + std::fmt::Debug>(got: &[T], want: &[T]) -> std::result::Result<(), String> {
    match got.iter().zip(want).position(|(got, want)| got != want) {
        None => Ok(()),
        Some(i) => Err(format!("element {i} is {:?}, not {:?}", got[i], want[i])),
    }
}

/// All cases, in the order of the report. Built when they are asked for: each holds its inputs.
pub const CASES: &[fn() -> Case] = &[
    empty,
    saxpy,
    sgemm_naive,
    sgemm_tiled,
    sgemm_tiled_square,
    nbody,
    mandelbrot,
    black_scholes,
    reduction,
    histogram,
    transpose,
    stencil,
    spmv,
    integer_mixing,
    saxpy_int,
    histogram_int,
    transpose_int,
    stencil_uint,
    stencil_flat,
    reduction_int,
    drift,
    transpose_o0,
    stencil_o0,
];

fn empty() -> Case {
    Case {
        name: "empty kernel",
        module: "empty",
        kernel: "empty",
        groups: [1, 1, 1],
        group_size: [1, 1, 1],
        buffers: vec![],
        args: vec![],
        verify: Box::new(|_| Ok(())),
    }
}

fn saxpy() -> Case {
    let n = 16 << 20;
    let mut random = Random::new(1);
    let (x, y) = (random.floats(n, -1.0, 1.0), random.floats(n, -1.0, 1.0));
    let buffers = vec![bytes(&x), bytes(&y)];
    let verify: Verify = Box::new(move |buffers| {
        sample(numbers(buffers[1]), 10_000, 1e-6, |i| 2.5 * f64::from(x[i]) + f64::from(y[i]))
    });
    Case {
        name: "SAXPY 16 M",
        module: "saxpy",
        kernel: "saxpy",
        groups: [n as u32 / 256, 1, 1],
        group_size: [256, 1, 1],
        buffers,
        args: vec![value(2.5f32), Arg::Buffer(0), Arg::Buffer(1), value(n as u32)],
        verify,
    }
}

fn sgemm(name: &'static str, kernel: &'static str) -> Case {
    let n = 512;
    let mut random = Random::new(2);
    let (a, b) = (random.floats(n * n, -1.0, 1.0), random.floats(n * n, -1.0, 1.0));
    let buffers = vec![bytes(&a), bytes(&b), vec![0; 4 * n * n]];
    let verify: Verify = Box::new(move |buffers| {
        sample(numbers(buffers[2]), 1000, 1e-3, |i| {
            (0..n).map(|k| f64::from(a[i / n * n + k]) * f64::from(b[k * n + i % n])).sum()
        })
    });
    let tiles = n as u32 / 16;
    Case {
        name,
        module: "matmul",
        kernel,
        groups: [tiles, tiles, 1],
        group_size: [16, 16, 1],
        buffers,
        args: vec![
            Arg::Buffer(0),
            Arg::Buffer(1),
            Arg::Buffer(2),
            value(n as u32),
            value(n as u32),
            value(n as u32),
        ],
        verify,
    }
}

fn sgemm_naive() -> Case {
    sgemm("SGEMM 512, naive", "matmul_naive")
}

fn sgemm_tiled() -> Case {
    sgemm("SGEMM 512, tiled, edges", "matmul_tiled")
}

fn sgemm_tiled_square() -> Case {
    let mut case = sgemm("SGEMM 512, tiled", "matmul_tiled_square");
    case.args.truncate(4);
    case
}

fn nbody() -> Case {
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
    Case {
        name: "n-body step, 8192",
        module: "nbody",
        kernel: "nbody_step",
        groups: [n as u32 / 256, 1, 1],
        group_size: [256, 1, 1],
        buffers,
        args: vec![
            Arg::Buffer(0),
            Arg::Buffer(1),
            Arg::Buffer(2),
            Arg::Buffer(3),
            value(n as u32),
            value(0.01f32),
            value(0.01f32),
        ],
        verify,
    }
}

fn mandelbrot() -> Case {
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
    Case {
        name: "Mandelbrot 1024, 500",
        module: "mandelbrot",
        kernel: "mandelbrot",
        groups: [size as u32 / 16, size as u32 / 16, 1],
        group_size: [16, 16, 1],
        buffers: vec![vec![0; 4 * size * size]],
        args: vec![
            Arg::Buffer(0),
            value(size as u32),
            value(size as u32),
            value(left),
            value(top),
            value(step),
            value(limit),
        ],
        verify,
    }
}

fn black_scholes() -> Case {
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
    Case {
        name: "Black-Scholes 2 M",
        module: "black_scholes",
        kernel: "black_scholes",
        groups: [n as u32 / 256, 1, 1],
        group_size: [256, 1, 1],
        buffers,
        args,
        verify,
    }
}

fn reduction() -> Case {
    let (n, groups) = (16usize << 20, 64);
    let input = Random::new(5).floats(n, 0.0, 1.0);
    let buffers = vec![bytes(&input), vec![0; 4 * groups]];
    let want: f64 = input.iter().map(|&v| f64::from(v)).sum();
    let verify: Verify = Box::new(move |buffers| {
        let got: f64 = numbers::<f32>(buffers[1]).iter().map(|&v| f64::from(v)).sum();
        if (got - want).abs() < 1e-4 * want { Ok(()) } else { Err(format!("the sum is {got}, not {want}")) }
    });
    Case {
        name: "tree reduction 16 M",
        module: "reduction",
        kernel: "reduce_float",
        groups: [groups as u32, 1, 1],
        group_size: [256, 1, 1],
        buffers,
        args: vec![Arg::Buffer(0), Arg::Buffer(1), Arg::Local(4 * 256), value(n as u32)],
        verify,
    }
}

fn histogram() -> Case {
    let n = 16 << 20;
    let mut random = Random::new(6);
    let input: Vec<u8> = (0..n / 8).flat_map(|_| random.next_u64().to_le_bytes()).collect();
    let mut want = vec![0u32; 256];
    input.iter().for_each(|&byte| want[usize::from(byte)] += 1);
    Case {
        name: "histogram 16 M",
        module: "histogram",
        kernel: "histogram",
        groups: [64, 1, 1],
        group_size: [256, 1, 1],
        buffers: vec![input, vec![0; 4 * 256]],
        args: vec![Arg::Buffer(0), Arg::Buffer(1), value(n as u32)],
        verify: Box::new(move |buffers| all_equal(numbers(buffers[1]), &want)),
    }
}

fn transpose() -> Case {
    let (rows, cols) = (2048usize, 4096usize);
    let input: Vec<f32> = (0..rows * cols).map(|i| i as f32).collect();
    let buffers = vec![bytes(&input), vec![0; 4 * rows * cols]];
    let verify: Verify = Box::new(move |buffers| {
        sample(numbers(buffers[1]), 100_000, 0.0, |i| f64::from(input[i % rows * cols + i / rows]))
    });
    Case {
        name: "transpose 4096x2048",
        module: "transpose",
        kernel: "transpose",
        groups: [cols as u32 / 16, rows as u32 / 16, 1],
        group_size: [16, 16, 1],
        buffers,
        args: vec![Arg::Buffer(0), Arg::Buffer(1), value(rows as u32), value(cols as u32)],
        verify,
    }
}

fn stencil() -> Case {
    let (width, height) = (2048usize, 2048usize);
    let input = Random::new(7).floats(width * height, -1.0, 1.0);
    let buffers = vec![bytes(&input), vec![0; 4 * width * height]];
    let verify: Verify = Box::new(move |buffers| {
        sample(numbers(buffers[1]), 10_000, 1e-6, |i| {
            let (x, y) = (i % width, i / width);
            let at = |i: usize| f64::from(input[i]);
            if x == 0 || y == 0 || x == width - 1 || y == height - 1 {
                return at(i);
            }
            0.5 * at(i) + 0.125 * (at(i - 1) + at(i + 1) + at(i - width) + at(i + width))
        })
    });
    Case {
        name: "5-point stencil 2048",
        module: "stencil",
        kernel: "stencil5",
        groups: [width as u32 / 64, height as u32 / 4, 1],
        group_size: [64, 4, 1],
        buffers,
        args: vec![
            Arg::Buffer(0),
            Arg::Buffer(1),
            value(width as u32),
            value(height as u32),
            value(0.5f32),
            value(0.125f32),
        ],
        verify,
    }
}

fn spmv() -> Case {
    let rows = 262_144usize;
    let mut random = Random::new(8);
    let (mut start, mut column, mut matrix) = (vec![0u32], Vec::new(), Vec::new());
    for row in 0..rows as u32 {
        // A band with a few far elements, as a mesh has.
        for _ in 0..4 + random.below(9) {
            let far = random.below(16) == 0;
            let at =
                if far { random.below(rows as u32) } else { (row + random.below(64)).min(rows as u32 - 1) };
            column.push(at);
            matrix.push(random.float(-1.0, 1.0));
        }
        start.push(column.len() as u32);
    }
    let x = random.floats(rows, -1.0, 1.0);
    let buffers = vec![bytes(&start), bytes(&column), bytes(&matrix), bytes(&x), vec![0; 4 * rows]];
    let verify: Verify = Box::new(move |buffers| {
        sample(numbers(buffers[4]), 10_000, 1e-5, |row| {
            (start[row] as usize..start[row + 1] as usize)
                .map(|i| f64::from(matrix[i]) * f64::from(x[column[i] as usize]))
                .sum()
        })
    });
    let mut args: Vec<Arg> = (0..5).map(Arg::Buffer).collect();
    args.push(value(rows as u32));
    Case {
        name: "CSR SpMV, 262144 rows",
        module: "spmv",
        kernel: "spmv_csr",
        groups: [rows as u32 / 256, 1, 1],
        group_size: [256, 1, 1],
        buffers,
        args,
        verify,
    }
}

fn integer_mixing() -> Case {
    let (n, rounds) = (4usize << 20, 64u32);
    let input: Vec<u32> = (0..n as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let buffers = vec![bytes(&input)];
    let verify: Verify = Box::new(move |buffers| {
        let got: &[u32] = numbers(buffers[0]);
        for i in (0..n).step_by(4099) {
            let want = (0..rounds).fold(input[i], |mut h, round| {
                h ^= h >> 16;
                h = h.wrapping_mul(0x7feb_352d);
                h ^= h >> 15;
                h = h.wrapping_mul(0x846c_a68b);
                (h ^ (h >> 16)).wrapping_add(round)
            });
            if got[i] != want {
                return Err(format!("element {i} is {}, not {want}", got[i]));
            }
        }
        Ok(())
    });
    Case {
        name: "integer mixing 4 M x 64",
        module: "integer_mixing",
        kernel: "integer_mixing",
        groups: [n as u32 / 256, 1, 1],
        group_size: [256, 1, 1],
        buffers,
        args: vec![Arg::Buffer(0), value(n as u32), value(rounds)],
        verify,
    }
}

/// A case with another kernel that computes the same.
fn by(case: Case, name: &'static str, module: &'static str, kernel: &'static str) -> Case {
    Case { name, module, kernel, ..case }
}

fn saxpy_int() -> Case {
    by(saxpy(), "SAXPY, int", "int_indices", "saxpy_int")
}

fn histogram_int() -> Case {
    by(histogram(), "histogram, int", "int_indices", "histogram_int")
}

fn transpose_int() -> Case {
    by(transpose(), "transpose, int", "int_indices", "transpose_int")
}

fn stencil_uint() -> Case {
    by(stencil(), "stencil, uint", "int_indices", "stencil_uint")
}

fn stencil_flat() -> Case {
    let mut case = by(stencil(), "stencil, one index", "int_indices", "stencil_flat");
    case.groups = [case.groups[0] * case.groups[1], 1, 1];
    case.group_size = [case.group_size[0] * case.group_size[1], 1, 1];
    case
}

fn reduction_int() -> Case {
    by(reduction(), "reduction, int", "int_indices", "reduce_int")
}

fn transpose_o0() -> Case {
    by(transpose(), "transpose, int, -O0", "int_indices_o0", "transpose_int")
}

fn stencil_o0() -> Case {
    by(stencil(), "stencil, uint, -O0", "int_indices_o0", "stencil_uint")
}

fn drift() -> Case {
    let n = 2 << 20;
    let mut random = Random::new(12);
    let (vx, vy) = (random.floats(n, -1.0, 1.0), random.floats(n, -1.0, 1.0));
    let buffers = vec![vec![0; 16 * n], bytes(&vx), bytes(&vy)];
    let verify: Verify = Box::new(move |buffers| {
        sample(numbers(buffers[0]), 10_000, 1e-6, |i| match i % 4 {
            0 => 0.5 * f64::from(vx[i / 4]),
            1 => 0.5 * f64::from(vy[i / 4]),
            _ => 0.0,
        })
    });
    Case {
        name: "members of structures 2 M",
        module: "int_indices",
        kernel: "drift",
        groups: [n as u32 / 256, 1, 1],
        group_size: [256, 1, 1],
        buffers,
        args: vec![Arg::Buffer(0), Arg::Buffer(1), Arg::Buffer(2), value(0.5f32), value(n as i32)],
        verify,
    }
}
