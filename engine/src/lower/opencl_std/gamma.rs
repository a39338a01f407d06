//! The gamma function and its logarithm.
//!
//! The gamma function of f32 lanes is computed in place, in f64: its logarithm is up to 89, which f32 has not the bits for. Others, and
//! the logarithm, which is near 0 at 1 and 2 and has to be right there, call the C library lane by lane.

use super::super::builder::{Opcode, Value};
use super::element::Element;
use super::exponential::exp;
use super::logarithm::mantissa_and_exponent;
use crate::analysis::leaves::Scalar;
use std::f64::consts::{LN_2, PI};

/// `gamma(y) = p(y) / q(y) * t^(y - 1/2) * exp(-t)` with `t = y + SHIFT`, as Lanczos has it (1964), for `y` from 1/2 to 45. The relative error
/// is under 2^-29; `q(y) = y (y + 1) (y + 2) (y + 3)`.
const SHIFT: f64 = 4.0;
const P: [f64; 5] = [
    655.177_798_707_729_5,
    651.786_152_964_644_2,
    243.151_663_300_584_8,
    40.314_936_752_457_11,
    2.506_628_303_130_041,
];
/// `(log(1 + f) - f) / f^2` for `f` in -0.25..0.5, absolute error of the whole under 2^-35.
const LOG: [f64; 12] = [
    -0.500_000_000_057_906_4,
    0.333_333_330_716_054_85,
    -0.249_999_962_875_987_2,
    0.200_000_440_064_395_07,
    -0.166_670_906_813_307_45,
    0.142_840_823_299_980_5,
    -0.124_823_677_023_446_82,
    0.111_153_138_056_063_01,
    -0.102_859_708_047_910_39,
    0.096_095_613_177_896_32,
    -0.072_401_941_907_667_72,
    0.027_973_492_350_227_58,
];
/// `sin(pi r) / r` by the square of `r`, which is up to a half; relative error under 2^-35.
const SIN_PI: [f64; 6] = [
    3.141_592_653_536_132,
    -5.167_712_764_593,
    2.550_163_317_938_427,
    -0.599_252_186_531_583,
    0.082_050_350_201_472_47,
    -0.007_028_303_855_203_096,
];
/// Beyond it, to both sides, the result is infinite, or 0.
const MOST: f64 = 60.0;

pub fn tgamma(m: &Element<'_>, x: &[Value]) -> Value {
    let x = x[0];
    if !m.is_in_place() {
        return m.libm("tgamma", &[x]);
    }
    let w = &Element { ty: Scalar::F64, ..*m };
    let widened = |value: Value| m.b.cast(Opcode::LLVMFPExt, value, Scalar::F64);
    let bounded = m.limited(x, -MOST, MOST);
    // gamma(x) = pi / (sin(pi x) gamma(1 - x))
    let mirrored = m.lt(bounded, m.c(0.5));
    let wide = widened(bounded);
    let y = w.select(mirrored, w.sub(w.c(1.0), wide), wide);
    let t = w.add(y, w.c(SHIFT));
    let (_, exponent) = mantissa_and_exponent(m, m.b.cast(Opcode::LLVMFPTrunc, t, Scalar::F32));
    let f = w.fma(t, widened(m.power_of_two(m.neg(exponent))), w.c(-1.0));
    let rest = w.fma(w.polynomial(f, &LOG), w.mul(f, f), f);
    let log = w.fma(widened(exponent), w.c(LN_2), rest);
    let power = exp(w, &[w.fma(w.sub(y, w.c(0.5)), log, w.neg(t))]);
    let p = w.mul(w.polynomial(y, &P), power);
    // y (y + 3) and (y + 1) (y + 2) differ by 2.
    let pair = w.mul(y, w.add(y, w.c(3.0)));
    let q = w.mul(pair, w.add(pair, w.c(2.0)));
    let nearest = m.rint(x);
    let r = widened(m.sub(x, nearest));
    let sine = w.mul(w.polynomial(w.mul(r, r), &SIN_PI), r);
    let half = m.mul(nearest, m.c(0.5));
    let sine = w.select(m.ne(half, m.floor(half)), w.neg(sine), sine);
    let over = w.select(mirrored, w.mul(q, w.c(PI)), p);
    let under = w.select(mirrored, w.mul(sine, p), q);
    let result = m.b.cast(Opcode::LLVMFPTrunc, w.div(over, under), Scalar::F32);
    let pole = m.b.and(m.lt(x, m.c(0.0)), m.eq(x, m.floor(x)));
    let result = m.select(pole, m.nan(), result);
    m.select(m.is_zero(x), m.copysign(m.inf(), x), result)
}

pub fn lgamma(m: &Element<'_>, x: &[Value]) -> Value {
    m.libm("lgamma", x)
}

/// [`lgamma`] and the sign of the gamma function: 0 at its poles.
pub fn lgamma_r(m: &Element<'_>, x: &[Value]) -> [Value; 2] {
    let sign = |value: i32| m.b.int(Scalar::I32, m.lanes, value as u32 as u64);
    let floor = m.floor(x[0]);
    let half = m.mul(floor, m.c(0.5));
    let odd = m.ne(half, m.floor(half));
    let pole = m.b.and(m.eq(x[0], floor), m.le(x[0], m.c(0.0)));
    let negative = m.b.and(m.lt(x[0], m.c(0.0)), odd);
    let result = m.select(pole, sign(0), m.select(negative, sign(-1), sign(1)));
    [lgamma(m, x), result]
}
