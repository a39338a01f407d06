//! Cases on grids: stencils, filters, diffusion.

use super::{bytes, numbers, sample, value};
use crate::Random;
use crate::bench::{Arg, Case, Limit, Verify};

pub fn stencil() -> Case {
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
    Case::new("stencil, 5 points", "stencil", buffers, verify)
        .launch(
            "stencil5",
            [width as u32 / 64, height as u32 / 4, 1],
            [64, 4, 1],
            vec![
                Arg::Buffer(0),
                Arg::Buffer(1),
                value(width as u32),
                value(height as u32),
                value(0.5f32),
                value(0.125f32),
            ],
        )
        .limit(Limit::Memory { read: 4 * width * height, update: 0, write: 4 * width * height })
}

pub fn stencil_uint() -> Case {
    stencil().by("stencil, uint", "int_indices", "stencil_uint")
}

pub fn stencil_flat() -> Case {
    let mut case = stencil().by("stencil, one index", "int_indices", "stencil_flat");
    let launch = &mut case.launches[0];
    for sizes in [&mut launch.groups, &mut launch.group_size] {
        *sizes = [sizes[0] * sizes[1], 1, 1];
    }
    case
}

pub fn stencil_o0() -> Case {
    stencil().by("stencil, uint, -O0", "int_indices_o0", "stencil_uint")
}

pub fn stencil_3d() -> Case {
    let (width, height, depth) = (256usize, 128usize, 128usize);
    let n = width * height * depth;
    let input = Random::new(40).floats(n, -1.0, 1.0);
    let buffers = vec![bytes(&input), vec![0; 4 * n]];
    let verify: Verify = Box::new(move |buffers| {
        sample(numbers(buffers[1]), 10_000, 1e-6, |i| {
            let (x, y, z) = (i % width, i / width % height, i / (width * height));
            if [(x, width), (y, height), (z, depth)].iter().any(|&(at, size)| at == 0 || at == size - 1) {
                return 0.0;
            }
            let at = |i: usize| f64::from(input[i]);
            let plane = width * height;
            let sides = at(i - 1) + at(i + 1) + at(i - width) + at(i + width) + at(i - plane) + at(i + plane);
            0.5 * at(i) + 0.0625 * sides
        })
    });
    let mut args = vec![Arg::Buffer(0), Arg::Buffer(1)];
    args.extend([width, height, depth].map(|size| value(size as i32)));
    args.extend([value(0.5f32), value(0.0625f32)]);
    Case::new("stencil 3D, 7 points", "bench_grids", buffers, verify)
        .launch("stencil7", [width as u32 / 64, height as u32 / 4, depth as u32], [64, 4, 1], args)
        .int()
        .limit(Limit::Memory { read: 4 * n, update: 0, write: 4 * n })
}

/// An image in a buffer that a kernel filters: what an element must be, from a function that reads the image.
fn filtered(
    name: &'static str,
    kernel: &'static str,
    filter: Option<Vec<f32>>,
    want: impl Fn(&dyn Fn(isize, isize) -> f32, Option<&[f32]>, [usize; 2]) -> f64 + 'static,
) -> Case {
    let (width, height) = (1024usize, 1024usize);
    let input = Random::new(41).floats(width * height, -1.0, 1.0);
    let mut buffers = vec![bytes(&input), vec![0; 4 * width * height]];
    let mut args = vec![Arg::Buffer(0), Arg::Buffer(1)];
    if let Some(filter) = &filter {
        buffers.push(bytes(filter));
        args.push(Arg::Buffer(2));
    }
    args.extend([value(width as i32), value(height as i32)]);
    let verify: Verify = Box::new(move |buffers| {
        sample(numbers(buffers[1]), 10_000, 1e-5, |i| {
            let (x, y) = (i % width, i / width);
            let at = |dx: isize, dy: isize| {
                let x = (x as isize + dx).clamp(0, width as isize - 1) as usize;
                let y = (y as isize + dy).clamp(0, height as isize - 1) as usize;
                input[y * width + x]
            };
            let edge = x == 0 || y == 0 || x == width - 1 || y == height - 1;
            want(&at, filter.as_deref(), [usize::from(edge), 0])
        })
    });
    Case::new(name, "bench_grids", buffers, verify)
        .launch(kernel, [width as u32 / 16, height as u32 / 16, 1], [16, 16, 1], args)
        .int()
}

pub fn convolution() -> Case {
    let filter = Random::new(42).floats(25, -0.2, 0.2);
    let want = |at: &dyn Fn(isize, isize) -> f32, filter: Option<&[f32]>, _| {
        let filter = filter.unwrap_or_default();
        (0..25).map(|k| f64::from(filter[k]) * f64::from(at(k as isize % 5 - 2, k as isize / 5 - 2))).sum()
    };
    filtered("convolution 5x5", "convolve", Some(filter), want).limit(Limit::Multiplications(25 << 20))
}

/// Nine values sorted in a private array.
pub fn median() -> Case {
    filtered("median 3x3, private array", "median", None, |at, _, [edge, _]| {
        if edge == 1 {
            return 0.0;
        }
        let mut values: Vec<f32> = (0..9).map(|k| at(k % 3 - 1, k / 3 - 1)).collect();
        values.sort_by(f32::total_cmp);
        f64::from(values[4])
    })
}

/// Steps in local memory, two barriers each.
pub fn diffusion() -> Case {
    let (n, size, steps) = (1usize << 20, 256usize, 32);
    let line = Random::new(43).floats(n, -1.0, 1.0);
    let buffers = vec![bytes(&line)];
    let verify: Verify = Box::new(move |buffers| {
        let got: &[f32] = numbers(buffers[0]);
        // Some groups: the first, one inside, the last.
        for group in [0, n / size / 3, n / size - 1] {
            let mut here: Vec<f64> =
                line[group * size..(group + 1) * size].iter().map(|&v| f64::from(v)).collect();
            for _ in 0..steps {
                here = (0..size)
                    .map(|l| {
                        let (left, right) = (here[(l + size - 1) % size], here[(l + 1) % size]);
                        0.5 * here[l] + 0.25 * (left + right)
                    })
                    .collect();
            }
            if let Some(l) = (0..size).find(|&l| (f64::from(got[group * size + l]) - here[l]).abs() > 1e-5) {
                return Err(format!("element {} is {}, not {}", l, got[group * size + l], here[l]));
            }
        }
        Ok(())
    });
    Case::new("barriers: diffusion, 32 steps", "bench_grids", buffers, verify)
        .launch(
            "diffuse",
            [(n / size) as u32, 1, 1],
            [size as u32, 1, 1],
            vec![Arg::Buffer(0), Arg::Local(4 * size), value(steps)],
        )
        .int()
}
