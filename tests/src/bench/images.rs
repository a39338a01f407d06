//! Filters over images, as cases: sizes, inputs, and how a result is checked.

use super::{Arg, Case, ImageArg, Limit, Texels, Verify};
use crate::Random;

/// All cases over images, in the order of the report.
pub const CASES: &[fn() -> Case] =
    &[copy, convolution, resize, rotation, blur_rows, blur_columns, blur_rows_f32, blur_columns_f32];

/// Texels of four components as numbers: of bytes, the fractions of the greatest.
struct Picture {
    width: usize,
    height: usize,
    data: Vec<u8>,
    texels: Texels,
}

impl Picture {
    fn random(width: usize, height: usize, texels: Texels, seed: u64) -> Picture {
        let mut random = Random::new(seed);
        let components = 4 * width * height;
        let data = match texels {
            Texels::Rgba8 => (0..components / 8).flat_map(|_| random.next_u64().to_le_bytes()).collect(),
            Texels::RgbaFloat => {
                random.floats(components, 0.0, 1.0).iter().flat_map(|value| value.to_le_bytes()).collect()
            }
        };
        Picture { width, height, data, texels }
    }

    fn empty(width: usize, height: usize, texels: Texels) -> Picture {
        Picture { width, height, data: vec![0; width * height * texels.bytes()], texels }
    }

    /// A component of the texel that is nearest to a place.
    fn at(&self, x: i64, y: i64, component: usize) -> f64 {
        let x = x.clamp(0, self.width as i64 - 1) as usize;
        let y = y.clamp(0, self.height as i64 - 1) as usize;
        self.texels.component(&self.data, 4 * (y * self.width + x) + component)
    }

    /// A component between the texels around a place, in texels.
    fn between(&self, x: f64, y: f64, component: usize) -> f64 {
        let (x, y) = (x - 0.5, y - 0.5);
        let (left, top) = (x.floor(), y.floor());
        let mix = |low: f64, high: f64, weight: f64| low + (high - low) * weight;
        let row = |y: i64| {
            let at = |x: i64| self.at(x, y, component);
            mix(at(left as i64), at(left as i64 + 1), x - left)
        };
        mix(row(top as i64), row(top as i64 + 1), y - top)
    }
}

/// A case of one kernel that reads one image and writes another, whose every component is a function of the first one.
struct Filter<F> {
    name: &'static str,
    kernel: &'static str,
    from: Picture,
    to: [usize; 2],
    /// What stands behind the images.
    more: Vec<Arg>,
    weights: Vec<f32>,
    /// Between components, where one is all from zero to the greatest.
    tolerance: f64,
    want: F,
}

impl<F: Fn(&Picture, [usize; 2], usize) -> f64 + 'static> Filter<F> {
    fn case(self) -> Case {
        let Filter { name, kernel, from, to: [width, height], more, weights, tolerance, want } = self;
        let texels = from.texels;
        let to = Picture::empty(width, height, texels);
        let mut buffers = vec![from.data.clone(), to.data];
        if !weights.is_empty() {
            buffers.push(weights.iter().flat_map(|weight| weight.to_le_bytes()).collect());
        }
        let image = |buffer: usize, width: usize, height: usize| {
            Arg::Image(ImageArg { buffer, width: width as u32, height: height as u32, texels })
        };
        let mut args = vec![image(0, from.width, from.height), image(1, width, height)];
        args.extend(more);
        let verify: Verify = Box::new(move |buffers| {
            let mut random = Random::new(97);
            let corners = [[0, 0], [width - 1, 0], [0, height - 1], [width - 1, height - 1]];
            let inside = (0..4000)
                .map(|_| [random.below(width as u32) as usize, random.below(height as u32) as usize]);
            for [x, y] in corners.into_iter().chain(inside) {
                for component in 0..4 {
                    let got = texels.component(buffers[1], 4 * (y * width + x) + component);
                    let want = want(&from, [x, y], component);
                    if (got - want).abs() > tolerance + texels.rounding() {
                        return Err(format!("component {component} at {x}, {y} is {got}, not {want}"));
                    }
                }
            }
            Ok(())
        });
        Case::new(name, "image_filters", buffers, verify)
            .launch(kernel, [width as u32 / 16, height as u32 / 16, 1], [16, 16, 1], args)
            .int()
            .limit(Limit::Filter)
    }
}

fn copy() -> Case {
    let from = Picture::random(2048, 2048, Texels::Rgba8, 21);
    Filter {
        name: "image copy",
        kernel: "copy",
        from,
        to: [2048; 2],
        more: vec![],
        weights: vec![],
        tolerance: -Texels::Rgba8.rounding(),
        want: |from: &Picture, [x, y]: [usize; 2], component: usize| from.at(x as i64, y as i64, component),
    }
    .case()
}

fn convolution() -> Case {
    let weights: Vec<f32> = (0..25).map(|at| (1 + at % 5 + at / 5) as f32 / 125.0).collect();
    let of = weights.clone();
    Filter {
        name: "image convolution 5x5",
        kernel: "convolve",
        from: Picture::random(1024, 1024, Texels::Rgba8, 22),
        to: [1024; 2],
        more: vec![Arg::Buffer(2)],
        weights,
        tolerance: 1e-5,
        want: move |from: &Picture, [x, y]: [usize; 2], component: usize| {
            let (x, y) = (x as i64, y as i64);
            let near = |i: i64| f64::from(of[i as usize]) * from.at(x + i % 5 - 2, y + i / 5 - 2, component);
            (0..25).map(near).sum()
        },
    }
    .case()
}

/// What a linear filter may be off: weights have 8 bits at least (OpenCL C 2.0 §8.2).
const LINEAR: f64 = 2.0 / 256.0;

fn resize() -> Case {
    let (from, to) = ([1024usize, 1024], [1536usize, 1536]);
    Filter {
        name: "image resize, bilinear",
        kernel: "resize",
        from: Picture::random(from[0], from[1], Texels::Rgba8, 23),
        to,
        more: vec![],
        weights: vec![],
        tolerance: LINEAR,
        want: move |picture: &Picture, [x, y]: [usize; 2], component: usize| {
            let place = |at: usize, axis: usize| (at as f64 + 0.5) / to[axis] as f64 * from[axis] as f64;
            picture.between(place(x, 0), place(y, 1), component)
        },
    }
    .case()
}

fn rotation() -> Case {
    let size = 1024usize;
    let (sine, cosine) = 0.5f32.sin_cos();
    let value = |value: f32| Arg::Value(value.to_le_bytes().to_vec());
    Filter {
        name: "image rotation, bilinear",
        kernel: "rotate_image",
        from: Picture::random(size, size, Texels::Rgba8, 24),
        to: [size; 2],
        more: vec![value(sine), value(cosine)],
        weights: vec![],
        tolerance: LINEAR,
        want: move |picture: &Picture, [x, y]: [usize; 2], component: usize| {
            let half = size as f64 / 2.0;
            let (x, y) = (x as f64 + 0.5 - half, y as f64 + 0.5 - half);
            let (sine, cosine) = (f64::from(sine), f64::from(cosine));
            picture.between(cosine * x - sine * y + half, sine * x + cosine * y + half, component)
        },
    }
    .case()
}

fn blur(name: &'static str, kernel: &'static str, size: usize, texels: Texels, step: [i64; 2]) -> Case {
    let bell = |at: i32| (-0.125 * (at * at) as f32).exp();
    let sum: f32 = (-4..=4).map(bell).sum();
    let weights: Vec<f32> = (-4..=4).map(|at| bell(at) / sum).collect();
    let of = weights.clone();
    Filter {
        name,
        kernel,
        from: Picture::random(size, size, texels, 25),
        to: [size; 2],
        more: vec![Arg::Buffer(2)],
        weights,
        tolerance: 1e-5,
        want: move |from: &Picture, [x, y]: [usize; 2], component: usize| {
            let near = |i: i64| {
                f64::from(of[(i + 4) as usize])
                    * from.at(x as i64 + i * step[0], y as i64 + i * step[1], component)
            };
            (-4..=4).map(near).sum()
        },
    }
    .case()
}

fn blur_rows() -> Case {
    blur("image blur, rows", "blur_rows", 2048, Texels::Rgba8, [1, 0])
}

fn blur_columns() -> Case {
    blur("image blur, columns", "blur_columns", 2048, Texels::Rgba8, [0, 1])
}

fn blur_rows_f32() -> Case {
    blur("image blur f32, rows", "blur_rows", 1024, Texels::RgbaFloat, [1, 0])
}

fn blur_columns_f32() -> Case {
    blur("image blur f32, columns", "blur_columns", 1024, Texels::RgbaFloat, [0, 1])
}
