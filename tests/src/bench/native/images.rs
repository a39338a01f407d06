//! Native limits of the cases over images: the same filters by hand, with AVX-512 and all CPUs, on plain memory.
//!
//! Not a goal in itself: a loop knows the format and how the coordinates run, and weighs the bytes of texels without dividing
//! each by 255 first.

use std::arch::x86_64::*;
use std::cell::RefCell;
use std::time::Instant;

use crate::bench::{Arg, Case, ImageArg, Prepared, Result, Texels};

/// What a loop computes.
enum Loop {
    Copy,
    /// A weighted sum of the texels at these distances.
    Sum {
        taps: Vec<([i64; 2], f32)>,
    },
    /// A linear filter at `x` × first + `y` × second + third, for each coordinate, in texels.
    Affine([[f32; 3]; 2]),
}

struct Filter {
    what: Loop,
    from: ImageArg,
    to: ImageArg,
}

struct Ready {
    filter: Filter,
    buffers: RefCell<Vec<Vec<u8>>>,
}

/// The loop that a case of one filter has by hand, where the CPU has what it uses.
pub fn prepare(case: &Case) -> Result<Option<(Box<dyn Prepared>, Instant)>> {
    let launch = &case.launches[0];
    let start = Instant::now();
    if !is_x86_feature_detected!("avx512f") || !is_x86_feature_detected!("avx512bw") {
        return Ok(None);
    }
    let images: Vec<ImageArg> = launch
        .args
        .iter()
        .filter_map(|arg| if let Arg::Image(image) = arg { Some(*image) } else { None })
        .collect();
    let [from, to] = images[..] else { return Err("no loop by hand".into()) };
    let weights = || -> Vec<f32> {
        let bytes = case.buffers.get(2).into_iter().flat_map(|bytes| bytes.chunks_exact(4));
        bytes.map(|weight| f32::from_le_bytes(weight.try_into().expect("four bytes"))).collect()
    };
    let line = |step: [i64; 2]| {
        let taps = weights().into_iter().zip(-4..).map(|(weight, at)| ([at * step[0], at * step[1]], weight));
        Loop::Sum { taps: taps.collect() }
    };
    let value = |at: usize| match &launch.args[at] {
        Arg::Value(bytes) => f32::from_le_bytes(bytes[..].try_into().expect("a float")),
        _ => 0.0,
    };
    let what = match launch.kernel {
        "copy" => Loop::Copy,
        "convolve" => {
            let taps = weights().into_iter().zip(0..).map(|(weight, at)| ([at % 5 - 2, at / 5 - 2], weight));
            Loop::Sum { taps: taps.collect() }
        }
        "blur_rows" => line([1, 0]),
        "blur_columns" => line([0, 1]),
        "resize" => {
            let scale = from.width as f32 / to.width as f32;
            Loop::Affine([[scale, 0.0, 0.5 * scale], [0.0, scale, 0.5 * scale]])
        }
        "rotate_image" => {
            let (sine, cosine, half) = (value(2), value(3), from.width as f32 / 2.0);
            let middle = |a: f32, b: f32| (0.5 - half) * (a + b) + half;
            Loop::Affine([[cosine, -sine, middle(cosine, -sine)], [sine, cosine, middle(sine, cosine)]])
        }
        other => return Err(format!("no loop by hand for {other}").into()),
    };
    let buffers = RefCell::new(case.buffers.clone());
    Ok(Some((Box::new(Ready { filter: Filter { what, from, to }, buffers }), start)))
}

impl Prepared for Ready {
    fn launch(&self) -> Result<()> {
        let mut buffers = self.buffers.borrow_mut();
        let (read, written) = buffers.split_at_mut(1);
        let filter = &self.filter;
        let row = filter.to.width as usize * filter.to.texels.bytes();
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let rows = (filter.to.height as usize).div_ceil(threads);
        std::thread::scope(|scope| {
            for (part, to) in written[0].chunks_mut(rows * row).enumerate() {
                let from = &read[0];
                scope.spawn(move || {
                    for (y, to) in to.chunks_mut(row).enumerate() {
                        // SAFETY: the CPU has what the loops use.
                        unsafe { filter.row(from, (part * rows + y) as i64, to) };
                    }
                });
            }
        });
        Ok(())
    }

    fn buffers(&self) -> Vec<&[u8]> {
        let buffers: *const Vec<Vec<u8>> = self.buffers.as_ptr();
        // SAFETY: nothing is launched while somebody looks.
        unsafe { &*buffers }.iter().map(Vec::as_slice).collect()
    }
}

impl Filter {
    #[target_feature(enable = "avx512f,avx512bw")]
    fn row(&self, from: &[u8], y: i64, to: &mut [u8]) {
        match (&self.what, self.from.texels) {
            (Loop::Copy, _) => to.copy_from_slice(&from[y as usize * to.len()..][..to.len()]),
            (Loop::Sum { taps }, Texels::Rgba8) => self.sum_bytes(taps, from, y, to),
            (Loop::Sum { taps }, Texels::RgbaFloat) => self.sum_floats(taps, from, y, to),
            (Loop::Affine(map), _) => self.affine(map, from, y, to),
        }
    }

    /// The row that a distance leads to, and the first texel of it from `x` on.
    fn place(&self, y: i64, x: i64) -> usize {
        let y = y.clamp(0, i64::from(self.from.height) - 1);
        (y * i64::from(self.from.width) + x) as usize * self.from.texels.bytes()
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    fn sum_bytes(&self, taps: &[([i64; 2], f32)], from: &[u8], y: i64, to: &mut [u8]) {
        let width = i64::from(self.from.width);
        let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        for x in (0..width).step_by(16) {
            let mut sums = [_mm512_setzero_ps(); 4];
            let inside = x >= 16 && x + 32 <= width;
            for ([dx, dy], weight) in taps {
                let texels = if inside {
                    // SAFETY: both ends are inside of the row.
                    unsafe { _mm512_loadu_si512(from.as_ptr().add(self.place(y + dy, x + dx)).cast()) }
                } else {
                    let at = _mm512_add_epi32(lanes, _mm512_set1_epi32((x + dx) as i32));
                    let at = _mm512_max_epi32(at, _mm512_setzero_si512());
                    let at = _mm512_min_epi32(at, _mm512_set1_epi32(width as i32 - 1));
                    // SAFETY: bounded to the row.
                    unsafe {
                        _mm512_i32gather_epi32::<4>(at, from.as_ptr().add(self.place(y + dy, 0)).cast())
                    }
                };
                let weight = _mm512_set1_ps(*weight);
                for (sum, part) in sums.iter_mut().zip(parts(texels)) {
                    *sum = _mm512_fmadd_ps(part, weight, *sum);
                }
            }
            let target = &mut to[x as usize * 4..][..64];
            // SAFETY: 64 bytes.
            unsafe { _mm512_storeu_si512(target.as_mut_ptr().cast(), packed(sums)) };
        }
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    fn sum_floats(&self, taps: &[([i64; 2], f32)], from: &[u8], y: i64, to: &mut [u8]) {
        let width = i64::from(self.from.width);
        for x in 0..width {
            let inside = x % 4 == 0 && x >= 4 && x + 8 <= width;
            if inside {
                let mut sum = _mm512_setzero_ps();
                for ([dx, dy], weight) in taps {
                    // SAFETY: four texels of the row.
                    let texels =
                        unsafe { _mm512_loadu_ps(from.as_ptr().add(self.place(y + dy, x + dx)).cast()) };
                    sum = _mm512_fmadd_ps(texels, _mm512_set1_ps(*weight), sum);
                }
                let target = &mut to[x as usize * 16..][..64];
                // SAFETY: 64 bytes.
                unsafe { _mm512_storeu_ps(target.as_mut_ptr().cast(), sum) };
            } else if x < 4 || x + 8 > width {
                let mut sum = _mm_setzero_ps();
                for ([dx, dy], weight) in taps {
                    let at = self.place(y + dy, (x + dx).clamp(0, width - 1));
                    // SAFETY: a texel of the row.
                    let texel = unsafe { _mm_loadu_ps(from.as_ptr().add(at).cast()) };
                    sum = _mm_add_ps(_mm_mul_ps(texel, _mm_set1_ps(*weight)), sum);
                }
                // SAFETY: 16 bytes.
                unsafe { _mm_storeu_ps(to[x as usize * 16..][..16].as_mut_ptr().cast(), sum) };
            }
        }
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    fn affine(&self, map: &[[f32; 3]; 2], from: &[u8], y: i64, to: &mut [u8]) {
        let lanes = _mm512_setr_ps(0., 1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11., 12., 13., 14., 15.);
        let last = [self.from.width, self.from.height].map(|size| _mm512_set1_epi32(size as i32 - 1));
        let (zero, one) = (_mm512_setzero_si512(), _mm512_set1_epi32(1));
        for (block, target) in to.chunks_exact_mut(64).enumerate() {
            let x = _mm512_add_ps(lanes, _mm512_set1_ps(block as f32 * 16.0));
            let mut ends = [[zero; 2]; 2];
            let mut shares = [_mm512_setzero_ps(); 2];
            for axis in 0..2 {
                let [a, b, c] = map[axis];
                let rest = _mm512_set1_ps(b * y as f32 + c - 0.5);
                let at = _mm512_fmadd_ps(x, _mm512_set1_ps(a), rest);
                let floor = _mm512_roundscale_ps::<0x09>(at);
                shares[axis] = _mm512_sub_ps(at, floor);
                let low = _mm512_cvttps_epi32(floor);
                for (end, index) in ends[axis].iter_mut().zip([low, _mm512_add_epi32(low, one)]) {
                    *end = _mm512_min_epi32(_mm512_max_epi32(index, zero), last[axis]);
                }
            }
            let width = _mm512_set1_epi32(self.from.width as i32);
            let line = |row: usize| {
                let start = _mm512_mullo_epi32(ends[1][row], width);
                let corner = |column: usize| {
                    let at = _mm512_add_epi32(start, ends[0][column]);
                    // SAFETY: bounded to the image.
                    parts(unsafe { _mm512_i32gather_epi32::<4>(at, from.as_ptr().cast()) })
                };
                mixed(corner(0), corner(1), shares[0])
            };
            let color = mixed(line(0), line(1), shares[1]);
            // SAFETY: 64 bytes.
            unsafe { _mm512_storeu_si512(target.as_mut_ptr().cast(), packed(color)) };
        }
    }
}

/// The bytes of texels as floats.
#[target_feature(enable = "avx512f,avx512bw")]
fn parts(texels: __m512i) -> [__m512; 4] {
    let low = _mm512_set1_epi32(255);
    [
        _mm512_cvtepi32_ps(_mm512_and_si512(texels, low)),
        _mm512_cvtepi32_ps(_mm512_and_si512(_mm512_srli_epi32::<8>(texels), low)),
        _mm512_cvtepi32_ps(_mm512_and_si512(_mm512_srli_epi32::<16>(texels), low)),
        _mm512_cvtepi32_ps(_mm512_srli_epi32::<24>(texels)),
    ]
}

#[target_feature(enable = "avx512f,avx512bw")]
fn mixed(low: [__m512; 4], high: [__m512; 4], share: __m512) -> [__m512; 4] {
    let mut out = low;
    for at in 0..4 {
        out[at] = _mm512_fmadd_ps(_mm512_sub_ps(high[at], low[at]), share, low[at]);
    }
    out
}

/// Rounds and joins the bytes of texels; weights are such that none is beside the bounds by more than a rounding.
#[target_feature(enable = "avx512f,avx512bw")]
fn packed(color: [__m512; 4]) -> __m512i {
    let whole = color.map(|part| _mm512_cvtps_epi32(_mm512_min_ps(part, _mm512_set1_ps(255.0))));
    let low = _mm512_or_si512(whole[0], _mm512_slli_epi32::<8>(whole[1]));
    let high = _mm512_or_si512(_mm512_slli_epi32::<16>(whole[2]), _mm512_slli_epi32::<24>(whole[3]));
    _mm512_or_si512(low, high)
}
