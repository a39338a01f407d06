//! Loops that compute what a case's kernel computes, as somebody would write them with intrinsics.

use std::sync::Arc;

use super::simd::{Simd, Work, run};
use super::{Buffers, Loop, functions};

/// The part of `0..count` in steps of `step`.
fn share(count: usize, part: usize, parts: usize, step: usize) -> std::ops::Range<usize> {
    let at = |part: usize| count / step * part / parts * step;
    at(part)..at(part + 1)
}

/// Four tables, so that equal neighbours do not wait for each other, and one addition to the common one.
pub fn histogram() -> Loop {
    Arc::new(|buffers, part, parts| {
        // SAFETY: the input is only read; the table is added to atomically.
        unsafe {
            let input: &[u8] = buffers.read(0);
            let mine = &input[share(input.len(), part, parts, 8)];
            let mut counts = [[0u32; 256]; 4];
            for eight in mine.chunks_exact(8) {
                let word = u64::from_le_bytes(eight.try_into().expect("eight bytes"));
                for (k, byte) in word.to_le_bytes().into_iter().enumerate() {
                    counts[k % 4][usize::from(byte)] += 1;
                }
            }
            let bins: &[std::sync::atomic::AtomicU32] = {
                let bins: &[u32] = buffers.read(1);
                std::slice::from_raw_parts(bins.as_ptr().cast(), bins.len())
            };
            for (bin, total) in bins.iter().enumerate() {
                let sum = counts.iter().map(|counts| counts[bin]).sum();
                total.fetch_add(sum, std::sync::atomic::Ordering::Relaxed);
            }
        }
    })
}

struct Part<'a> {
    buffers: &'a Buffers,
    part: usize,
    parts: usize,
}

macro_rules! looped {
    ($(#[$attribute:meta])* $name:ident, $work:ident) => {
        $(#[$attribute])*
        pub fn $name() -> Loop {
            Arc::new(|buffers, part, parts| run($work(Part { buffers, part, parts })))
        }
    };
}
looped!(
    /// 4 Mi numbers, 64 rounds.
    integer_mixing, Mixing
);
looped!(
    /// 8192 bodies.
    nbody, Bodies
);
looped!(
    /// 1024 by 1024, 500 iterations at most.
    mandelbrot, Mandelbrot
);
looped!(
    /// European options with the case's interest and deviation.
    black_scholes, Options
);
looped!(
    /// Messages of 32 bytes.
    sha256, Digests
);

/// Vectors at a time, so that one's latency hides behind the others.
const AT_ONCE: usize = 4;

struct Mixing<'a>(Part<'a>);

impl Work for Mixing<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Part { buffers, part, parts } = self.0;
        // SAFETY: every thread has a share of its own.
        unsafe {
            let data = buffers.write::<u32>(0);
            let step = AT_ONCE * S::LANES;
            let [a, b] = [0x7feb_352d, 0x846c_a68b].map(|v| S::splat_u(v));
            for at in share(data.len(), part, parts, step).step_by(step) {
                let here = data.as_mut_ptr().add(at);
                let mut h: [S::U; AT_ONCE] = std::array::from_fn(|k| S::load_u(here.add(k * S::LANES)));
                for round in 0..64 {
                    let round = S::splat_u(round);
                    for h in &mut h {
                        let v = S::mul_u(S::xor(*h, S::right::<16>(*h)), a);
                        let v = S::mul_u(S::xor(v, S::right::<15>(v)), b);
                        *h = S::add_u(S::xor(v, S::right::<16>(v)), round);
                    }
                }
                for (k, h) in h.into_iter().enumerate() {
                    S::store_u(here.add(k * S::LANES), h);
                }
            }
        }
    }
}

struct Bodies<'a>(Part<'a>);

impl Work for Bodies<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        const TOGETHER: usize = 2;
        let Part { buffers, part, parts } = self.0;
        // SAFETY: every thread has a share of its own of what is written.
        unsafe {
            let bodies: &[f32] = buffers.read(0);
            let speeds: &[f32] = buffers.read(1);
            let (new_bodies, new_speeds) = (buffers.write::<f32>(2), buffers.write::<f32>(3));
            let (step, softening) = (0.01f32, S::splat(0.01));
            let count = TOGETHER * S::LANES;
            for first in share(bodies.len() / 4, part, parts, count).step_by(count) {
                let axis = |axis: usize, k: usize| {
                    S::floats(S::spaced(bodies.as_ptr().add(4 * (first + k * S::LANES) + axis).cast(), 4))
                };
                let own: [[S::F; 3]; TOGETHER] =
                    std::array::from_fn(|k| [axis(0, k), axis(1, k), axis(2, k)]);
                let mut sums = [[S::splat(0.0); 3]; TOGETHER];
                for other in bodies.chunks_exact(4) {
                    let at = [0, 1, 2].map(|axis| S::splat(other[axis]));
                    let mass = S::splat(other[3]);
                    for (own, sum) in own.iter().zip(&mut sums) {
                        let d = [S::sub(at[0], own[0]), S::sub(at[1], own[1]), S::sub(at[2], own[2])];
                        let square = S::fma(d[0], d[0], S::fma(d[1], d[1], S::fma(d[2], d[2], softening)));
                        // One step of Newton's from the estimate.
                        let guess = S::rsqrt(square);
                        let error =
                            S::fma(S::mul(square, guess), S::mul(guess, S::splat(-0.5)), S::splat(1.5));
                        let inverse = S::mul(guess, error);
                        let force = S::mul(S::mul(mass, inverse), S::mul(inverse, inverse));
                        for axis in 0..3 {
                            sum[axis] = S::fma(d[axis], force, sum[axis]);
                        }
                    }
                }
                for (k, sum) in sums.iter().enumerate() {
                    let mut rows = [[0.0f32; 16]; 3];
                    for axis in 0..3 {
                        S::store(rows[axis].as_mut_ptr(), sum[axis]);
                    }
                    for lane in 0..S::LANES {
                        let at = 4 * (first + k * S::LANES + lane);
                        for (axis, row) in rows.iter().enumerate() {
                            let speed = speeds[at + axis] + step * row[lane];
                            new_speeds[at + axis] = speed;
                            new_bodies[at + axis] = bodies[at + axis] + step * speed;
                        }
                        new_bodies[at + 3] = bodies[at + 3];
                        new_speeds[at + 3] = speeds[at + 3];
                    }
                }
            }
        }
    }
}

struct Mandelbrot<'a>(Part<'a>);

impl Work for Mandelbrot<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        const SIZE: usize = 1024;
        let Part { buffers, part, parts } = self.0;
        // SAFETY: every thread has rows of its own.
        unsafe {
            let counts = buffers.write::<u32>(0);
            let (left, top, step) = (-2.0f32, -1.25f32, 2.5f32 / 1024.0);
            let four = S::splat(4.0);
            for y in (part..SIZE).step_by(parts) {
                let cy = S::splat(top + step * y as f32);
                for first in (0..SIZE).step_by(AT_ONCE * S::LANES) {
                    let cx: [S::F; AT_ONCE] = std::array::from_fn(|k| {
                        let mut row = [0.0f32; 16];
                        for (lane, cx) in row.iter_mut().enumerate() {
                            *cx = left + step * (first + k * S::LANES + lane) as f32;
                        }
                        S::load(row.as_ptr())
                    });
                    let zero = S::splat(0.0);
                    let mut z = [[zero; 2]; AT_ONCE];
                    let mut n = [S::splat_u(0); AT_ONCE];
                    for _ in 0..500 {
                        let mut any = false;
                        for k in 0..AT_ONCE {
                            let [x, y] = z[k];
                            let square = S::mul(y, y);
                            let inside = S::at_most(S::fma(x, x, square), four);
                            any |= S::any(inside);
                            n[k] = S::count(n[k], inside);
                            let next = S::add(S::fma(x, x, S::sub(zero, square)), cx[k]);
                            z[k] = [next, S::fma(S::add(x, x), y, cy)];
                        }
                        if !any {
                            break;
                        }
                    }
                    for (k, n) in n.into_iter().enumerate() {
                        S::store_u(counts.as_mut_ptr().add(y * SIZE + first + k * S::LANES), n);
                    }
                }
            }
        }
    }
}

/// The normal distribution by the polynomial that the case has. No closure: those are not compiled for the processor's vectors.
#[inline(always)]
unsafe fn normal_cdf<S: Simd>(d: S::F) -> S::F {
    // SAFETY: the caller's promise.
    unsafe {
        let one = S::splat(1.0);
        let size = S::floats(S::and(S::bits(d), S::splat_u(0x7fff_ffff)));
        let k = S::div(one, S::fma(S::splat(0.231_641_9), size, one));
        let mut p = S::splat(1.330_274_5);
        for c in [-1.821_255_9, 1.781_477_9, -0.356_563_78, 0.319_381_54] {
            p = S::fma(p, k, S::splat(c));
        }
        let bell = functions::exp::<S>(S::mul(S::mul(d, d), S::splat(-0.5)));
        let tail = S::mul(S::mul(S::splat(0.398_942_3), bell), S::mul(p, k));
        S::select(S::less(S::splat(0.0), d), S::sub(one, tail), tail)
    }
}

struct Options<'a>(Part<'a>);

impl Work for Options<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Part { buffers, part, parts } = self.0;
        // SAFETY: every thread has a share of its own of what is written.
        unsafe {
            let [spot, strike, years] = [0, 1, 2].map(|number| buffers.read::<f32>(number));
            let (call, put) = (buffers.write::<f32>(3), buffers.write::<f32>(4));
            let (rate, deviation) = (0.02f32, 0.3f32);
            for at in share(spot.len(), part, parts, S::LANES).step_by(S::LANES) {
                let [s, x, t] = [spot, strike, years].map(|values| S::load(values.as_ptr().add(at)));
                let root = S::mul(S::splat(deviation), S::sqrt(t));
                let drift = S::mul(S::splat(rate + 0.5 * deviation * deviation), t);
                let d1 = S::div(S::add(functions::log::<S>(S::div(s, x)), drift), root);
                let d2 = S::sub(d1, root);
                let (c1, c2) = (normal_cdf::<S>(d1), normal_cdf::<S>(d2));
                let discounted = S::mul(x, functions::exp::<S>(S::mul(S::splat(-rate), t)));
                let value = S::sub(S::mul(s, c1), S::mul(discounted, c2));
                S::store(call.as_mut_ptr().add(at), value);
                // Parity.
                S::store(put.as_mut_ptr().add(at), S::add(S::sub(value, s), discounted));
            }
        }
    }
}

struct Digests<'a>(Part<'a>);

impl Work for Digests<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Part { buffers, part, parts } = self.0;
        // SAFETY: every thread has a share of its own of what is written.
        unsafe {
            let messages: &[u32] = buffers.read(0);
            let digests = buffers.write::<u32>(1);
            let (constants, start) = crate::bench::cases::sha256_constants();
            for first in share(messages.len() / 8, part, parts, S::LANES).step_by(S::LANES) {
                let mut w: [S::U; 16] = [S::splat_u(0); 16];
                for (k, w) in w.iter_mut().enumerate().take(8) {
                    *w = S::spaced(messages.as_ptr().add(8 * first + k), 8);
                }
                w[8] = S::splat_u(0x8000_0000);
                w[15] = S::splat_u(256);
                let mut v: [S::U; 8] = std::array::from_fn(|i| S::splat_u(start[i]));
                for sixteen in 0..4 {
                    for t in 0..16 {
                        if sixteen > 0 {
                            let (a, b) = (w[(t + 1) % 16], w[(t + 14) % 16]);
                            let s0 = S::xor3(
                                S::rotate_right::<7, 25>(a),
                                S::rotate_right::<18, 14>(a),
                                S::right::<3>(a),
                            );
                            let s1 = S::xor3(
                                S::rotate_right::<17, 15>(b),
                                S::rotate_right::<19, 13>(b),
                                S::right::<10>(b),
                            );
                            w[t] = S::add_u(S::add_u(w[t], s0), S::add_u(w[(t + 9) % 16], s1));
                        }
                        let [a, b, c, d, e, f, g, h] = v;
                        let s1 = S::xor3(
                            S::rotate_right::<6, 26>(e),
                            S::rotate_right::<11, 21>(e),
                            S::rotate_right::<25, 7>(e),
                        );
                        let known = S::add_u(w[t], S::splat_u(constants[16 * sixteen + t]));
                        let t1 = S::add_u(S::add_u(h, s1), S::add_u(S::choose(e, f, g), known));
                        let s0 = S::xor3(
                            S::rotate_right::<2, 30>(a),
                            S::rotate_right::<13, 19>(a),
                            S::rotate_right::<22, 10>(a),
                        );
                        let t2 = S::add_u(s0, S::majority(a, b, c));
                        v = [S::add_u(t1, t2), a, b, c, S::add_u(d, t1), e, f, g];
                    }
                }
                let mut rows = [[0u32; 16]; 8];
                for (i, row) in rows.iter_mut().enumerate() {
                    S::store_u(row.as_mut_ptr(), S::add_u(v[i], S::splat_u(start[i])));
                }
                for lane in 0..S::LANES {
                    for (i, row) in rows.iter().enumerate() {
                        digests[8 * (first + lane) + i] = row[lane];
                    }
                }
            }
        }
    }
}
