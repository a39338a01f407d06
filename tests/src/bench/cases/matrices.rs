//! Cases of matrices: products, transposes, sparse ones.

use super::{bytes, numbers, sample, value};
use crate::Random;
use crate::bench::{Arg, Case, Limit, Verify};

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
    Case::new(name, "matmul", buffers, verify)
        .launch(
            kernel,
            [tiles, tiles, 1],
            [16, 16, 1],
            vec![
                Arg::Buffer(0),
                Arg::Buffer(1),
                Arg::Buffer(2),
                value(n as u32),
                value(n as u32),
                value(n as u32),
            ],
        )
        .limit(Limit::Multiplications((n * n * n) as u64))
}

pub fn sgemm_naive() -> Case {
    sgemm("SGEMM, naive", "matmul_naive")
}

pub fn sgemm_tiled_edges() -> Case {
    sgemm("SGEMM, tiled, edges", "matmul_tiled")
}

/// The same by a compiler that does not optimise.
pub fn sgemm_o0() -> Case {
    Case { name: "SGEMM, tiled, edges, -O0", module: "matmul_o0", ..sgemm_tiled_edges() }
}

pub fn sgemm_tiled() -> Case {
    let mut case = sgemm("SGEMM, tiled", "matmul_tiled_square");
    case.launches[0].args.truncate(4);
    case.int()
}

/// A tile a work-group, and 8 x 8 sums a work-item, as for GPUs.
pub fn sgemm_registers() -> Case {
    let mut case = sgemm("SGEMM, 8x8 a work-item", "multiply_tiles");
    case.module = "bench_tiles";
    case.launches[0].args.truncate(4);
    case.launches[0].groups = [4, 4, 1];
    case.int()
}

pub fn transpose() -> Case {
    let (rows, cols) = (2048usize, 4096usize);
    let input: Vec<f32> = (0..rows * cols).map(|i| i as f32).collect();
    let buffers = vec![bytes(&input), vec![0; 4 * rows * cols]];
    let verify: Verify = Box::new(move |buffers| {
        sample(numbers(buffers[1]), 100_000, 0.0, |i| f64::from(input[i % rows * cols + i / rows]))
    });
    Case::new("transpose", "transpose", buffers, verify)
        .launch(
            "transpose",
            [cols as u32 / 16, rows as u32 / 16, 1],
            [16, 16, 1],
            vec![Arg::Buffer(0), Arg::Buffer(1), value(rows as u32), value(cols as u32)],
        )
        .limit(Limit::Memory { read: 4 * rows * cols, update: 0, write: 4 * rows * cols })
}

pub fn transpose_int() -> Case {
    transpose().by("transpose, int", "int_indices", "transpose_int")
}

pub fn transpose_o0() -> Case {
    transpose().by("transpose, int, -O0", "int_indices_o0", "transpose_int")
}

pub fn spmv() -> Case {
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
    let read = buffers[..4].iter().map(Vec::len).sum();
    Case::new("SpMV", "spmv", buffers, verify)
        .launch("spmv_csr", [rows as u32 / 256, 1, 1], [256, 1, 1], args)
        .limit(Limit::Memory { read, update: 0, write: 4 * rows })
}

/// A product of two square matrices in another precision: what its numbers are as bytes and back.
fn product<T: Copy + 'static>(
    name: &'static str,
    kernel: &'static str,
    n: usize,
    to: fn(f32) -> T,
    from: fn(T) -> f64,
    tolerance: f64,
) -> Case {
    let mut random = Random::new(30);
    let mut matrix = || (0..n * n).map(|_| to(random.float(-1.0, 1.0))).collect::<Vec<T>>();
    let (a, b) = (matrix(), matrix());
    let buffers = vec![bytes(&a), bytes(&b), vec![0; size_of::<T>() * n * n]];
    let verify: Verify = Box::new(move |buffers| {
        let c: &[T] = numbers(buffers[2]);
        let mut random = Random::new(99);
        for _ in 0..1000 {
            let i = random.below((n * n) as u32) as usize;
            let want: f64 = (0..n).map(|k| from(a[i / n * n + k]) * from(b[k * n + i % n])).sum();
            if (from(c[i]) - want).abs() > tolerance {
                return Err(format!("element {i} is {}, not {want}", from(c[i])));
            }
        }
        Ok(())
    });
    let args = vec![Arg::Buffer(0), Arg::Buffer(1), Arg::Buffer(2), value(n as i32)];
    let tiles = n as u32 / 16;
    Case::new(name, "bench_matrices", buffers, verify)
        .launch(kernel, [tiles, tiles, 1], [16, 16, 1], args)
        .int()
}

/// Half precision in memory, single precision in the sums.
pub fn product_half() -> Case {
    let n = 512;
    product("HGEMM, tiled", "multiply_half", n, half::f16::from_f32, half::f16::to_f64, 2e-2)
        .limit(Limit::Multiplications((n * n * n) as u64))
}

pub fn product_double() -> Case {
    let n = 512;
    product("DGEMM, tiled", "multiply_double", n, f64::from, |v| v, 1e-9)
        .limit(Limit::DoubleMultiplications((n * n * n) as u64))
}
