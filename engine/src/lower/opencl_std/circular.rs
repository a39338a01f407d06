//! Functions of angles in half turns: `sinpi` and its kin.

use super::super::builder::{RealPred, Value};
use super::element::Element;
use crate::analysis::leaves::Scalar;
use std::f64::consts::PI;

/// `PI` as f32 and what is missing from it, and the same for f64.
const PI_F32: f64 = PI as f32 as f64;
const PI_F32_REST: f64 = PI - PI_F32;
const PI_F64_REST: f64 = 1.224_646_799_147_353_2e-16;

/// Sine and cosine of `pi * x` reduced to a quarter of a half turn to either side.
struct Quadrant {
    sine: Value,
    cosine: Value,
    /// The number of quarter turns taken off is odd.
    odd: Value,
    /// It is 2 or 3 modulo 4.
    upper: Value,
    /// What is left of `x`.
    rest: Value,
}

/// `sin(pi t) / t` in `t^2` for `t` up to a half: relative error below 2^-54, and 2^-25 for f32.
const SINE: [f64; 9] = [
    PI,
    -5.167_712_780_049_947,
    2.550_164_039_876_085,
    -0.599_264_529_289_226_8,
    0.082_145_886_185_988_93,
    -0.007_370_427_635_331_835,
    0.000_466_287_659_448_415_16,
    -2.187_611_875_036_28e-5,
    7.443_475_747_307_215e-7,
];
const SINE_F32: [f64; 5] = [
    3.141_592_741_012_573_2,
    -5.167_715_072_631_836,
    2.550_144_910_812_378,
    -0.598_632_931_709_289_6,
    0.078_240_960_836_410_52,
];

/// `(sin(pi t) - pi t) / t^3` and `(cos(pi t) - 1) / t^2` in `t^2` for `t` up to a quarter: relative errors of the whole below 2^-55, and 2^-26 for f32.
const SINE_TAIL: [f64; 6] = [
    -5.167_712_780_049_969,
    2.550_164_039_876_598_6,
    -0.599_264_529_182_389_9,
    0.082_145_877_207_702_68,
    -0.007_370_141_769_217_599,
    0.000_462_198_592_313_866_6,
];
const SINE_TAIL_F32: [f64; 4] =
    [-5.167_712_688_446_045, 2.550_152_063_369_751, -0.598_861_634_731_292_7, 0.077_885_247_766_971_59];
const COSINE_TAIL: [f64; 7] = [
    -4.934_802_200_544_679,
    4.058_712_126_416_626,
    -1.335_262_768_836_131_8,
    0.235_330_629_318_585_2,
    -0.025_806_862_323_123_993,
    0.001_929_166_838_623_793_8,
    -0.000_102_096_052_886_536_86,
];
const COSINE_TAIL_F32: [f64; 4] =
    [-4.934_802_055_358_887, 4.058_692_455_291_748, -1.334_560_751_914_978, 0.226_868_212_223_052_98];

fn reduce(m: &Element<'_>, x: Value) -> Quadrant {
    // From here on, all numbers are even, and doubling them may overflow.
    let even = f64::powi(2.0, m.digits() as i32 + 1);
    let huge = m.b.not(m.b.fcmp(RealPred::LLVMRealULT, m.abs(x), m.c(even)));
    let x = m.select(huge, m.c(0.0), x);
    let turns = m.rint(m.add(x, x));
    // Exact: both are multiples of the last place of `x`.
    let t = m.mad(turns, m.c(-0.5), x);
    let parity = |n: Value| m.ne(m.mul(n, m.c(0.5)), m.floor(m.mul(n, m.c(0.5))));
    let odd = parity(turns);
    let upper = parity(m.floor(m.mul(turns, m.c(0.5))));
    let square = m.mul(t, t);
    let (high, low, sine, cosine) = match m.ty {
        Scalar::F64 => (PI, PI_F64_REST, &SINE_TAIL[..], &COSINE_TAIL[..]),
        _ => (PI_F32, PI_F32_REST, &SINE_TAIL_F32[..], &COSINE_TAIL_F32[..]),
    };
    let tail = m.mul(m.mul(square, t), m.polynomial(square, sine));
    let sine = m.mad(t, m.c(high), m.mad(t, m.c(low), tail));
    let cosine = m.mad(m.polynomial(square, cosine), square, m.c(1.0));
    Quadrant { sine, cosine, odd, upper, rest: t }
}

/// The sine of `pi * t` for `t` of at most a half: one polynomial instead of two of which each lane wants another.
fn sine(m: &Element<'_>, t: Value) -> Value {
    let polynomial = if m.ty == Scalar::F64 { &SINE[..] } else { &SINE_F32 };
    m.mul(t, m.polynomial(m.mul(t, t), polynomial))
}

/// What is left of `x` when whole turns are taken off: exact, as both are multiples of the last place of `x`. Large numbers are whole turns, and nothing is
/// left of them; of infinities, no number is.
fn without_turns(m: &Element<'_>, x: Value) -> Value {
    m.mad(m.rint(m.mul(x, m.c(0.5))), m.c(-2.0), x)
}

pub fn sinpi(m: &Element<'_>, x: &[Value]) -> Value {
    let rest = without_turns(m, x[0]);
    let magnitude = m.abs(rest);
    // Beyond a half it goes back to zero.
    let back = m.sub(m.c(1.0), magnitude);
    let t = m.select(m.lt(magnitude, back), magnitude, back);
    // Zeros have the sign of x.
    m.copysign(sine(m, t), m.select(m.is_zero(t), x[0], rest))
}

pub fn cospi(m: &Element<'_>, x: &[Value]) -> Value {
    // The distance from where it is zero is exact near there. Zeros are positive.
    sine(m, m.sub(m.c(0.5), m.abs(without_turns(m, x[0]))))
}

pub fn tanpi(m: &Element<'_>, x: &[Value]) -> Value {
    let q = reduce(m, x[0]);
    let above = m.select(q.odd, m.neg(q.cosine), q.sine);
    let below = m.select(q.odd, q.sine, q.cosine);
    let value = m.div(above, below);
    // At whole numbers, the sign is that of x where it is even and the other where it is odd; half a turn
    // later, the pole is positive where the whole number below is even.
    let zero = m.copysign(m.c(0.0), x[0]);
    let zero = m.select(q.upper, m.neg(zero), zero);
    let pole = m.select(q.upper, m.c(f64::NEG_INFINITY), m.inf());
    let exact = m.is_zero(q.rest);
    let value = m.select(exact, m.select(q.odd, pole, zero), value);
    m.select(m.is_inf(x[0]), m.nan(), value)
}
