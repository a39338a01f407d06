//! Hyperbolic functions and their inverses, for f32 and f64 lanes in place: from `exp(x) - 1` and `log(1 + x)`, which are exact to their last
//! place near zero. `sinh` and `cosh` with AVX-512 have no division: `exp(-x)` is a few instructions more where `exp(x)` is made.

use super::super::builder::Value;
use super::element::Element;
use super::exponential::{Growth, TINY, exp_minus_1, halves_both_ways};
use super::logarithm::log_of_1_plus;
use crate::analysis::leaves::Scalar;

/// From here on, one more or less is nothing beside a number, nor beside its square.
fn large(m: &Element<'_>) -> f64 {
    if m.ty == Scalar::F64 { 1e18 } else { 1e9 }
}

/// `(sinh(x) - x) / x^3` in `x^2` for `x` up to 1, relative errors of the whole below 2^-32 and 2^-61.
const SINH: [f64; 4] = [
    0.166_666_671_633_720_4,
    0.008_333_339_355_885_983,
    0.000_198_381_021_618_843_08,
    2.806_280_235_745_362e-6,
];
const SINH_F64: [f64; 7] = [
    0.166_666_666_666_666_66,
    0.008_333_333_333_333_299,
    0.000_198_412_698_413_241_98,
    2.755_731_919_138_181_6e-6,
    2.505_211_769_590_782_3e-8,
    1.605_767_962_380_163_8e-10,
    7.746_178_593_018_827e-13,
];

/// Half of `exp(|x|)` and of `exp(-|x|)`.
fn halves(m: &Element<'_>, magnitude: Value) -> [Value; 2] {
    // Beyond, the first is infinite.
    let most = if m.ty == Scalar::F64 { 800.0 } else { 100.0 };
    halves_both_ways(m, m.at_most(magnitude, most))
}

/// A quarter of `exp(|x|) - 1`, which is finite wherever the hyperbolic functions are. They are infinite where it is limited.
fn quarter_grown(m: &Element<'_>, x: Value) -> Value {
    let most = if m.ty == Scalar::F64 { 710.6 } else { 89.42 };
    exp_minus_1(m, m.limited(m.abs(x), 0.0, most), Growth::Quarter)
}

pub fn sinh(m: &Element<'_>, x: &[Value]) -> Value {
    let magnitude = m.abs(x[0]);
    if m.has_avx512() {
        let [up, down] = halves(m, magnitude);
        let square = m.mul(magnitude, magnitude);
        let polynomial = match m.ty {
            Scalar::F64 => m.polynomial_in_halves(square, &SINH_F64),
            _ => m.polynomial(square, &SINH),
        };
        let near = m.fma(m.mul(polynomial, square), magnitude, magnitude);
        return m.copysign(m.select(m.lt(magnitude, m.c(1.0)), near, m.sub(up, down)), x[0]);
    }
    let quarter = quarter_grown(m, x[0]);
    let half = m.add(quarter, quarter);
    let sum = m.add(half, m.div(quarter, m.add(half, m.c(0.5))));
    // A quarter of a subnormal number has not all of its bits.
    m.copysign(m.select(m.lt(magnitude, m.c(TINY)), magnitude, sum), x[0])
}

pub fn cosh(m: &Element<'_>, x: &[Value]) -> Value {
    if m.has_avx512() {
        let [up, down] = halves(m, m.abs(x[0]));
        return m.add(up, down);
    }
    let quarter = quarter_grown(m, x[0]);
    let half = m.fma(quarter, m.c(2.0), m.c(0.5));
    m.add(half, m.div(m.c(0.25), half))
}

pub fn tanh(m: &Element<'_>, x: &[Value]) -> Value {
    let magnitude = m.abs(x[0]);
    // From 9.02 on, the result is 1, and that of f64 from 19.07 on.
    let most = if m.ty == Scalar::F64 { 44.0 } else { 20.0 };
    let double = m.limited(m.add(magnitude, magnitude), 0.0, most);
    let grown = exp_minus_1(m, double, Growth::Whole);
    m.copysign(m.div(grown, m.add(grown, m.c(2.0))), x[0])
}

pub fn asinh(m: &Element<'_>, x: &[Value]) -> Value {
    let magnitude = m.abs(x[0]);
    let square = m.mul(magnitude, magnitude);
    let root = m.sqrt(m.add(square, m.c(1.0)));
    let more = m.add(magnitude, m.div(square, m.add(root, m.c(1.0))));
    m.copysign(log_of_1_plus_or_twice(m, more, magnitude), x[0])
}

pub fn acosh(m: &Element<'_>, x: &[Value]) -> Value {
    let above = m.sub(x[0], m.c(1.0));
    let more = m.add(above, m.sqrt(m.mul(above, m.add(above, m.c(2.0)))));
    let result = log_of_1_plus_or_twice(m, more, x[0]);
    m.select(m.lt(x[0], m.c(1.0)), m.nan(), result)
}

/// `log(1 + more)`, or `log(2 * x)` where `x` is [large] and the square that makes `more` may have overflowed.
fn log_of_1_plus_or_twice(m: &Element<'_>, more: Value, x: Value) -> Value {
    let large = m.gt(x, m.c(large(m)));
    log_of_1_plus(m, m.select(large, x, more), Some(m.select(large, m.c(1.0), m.c(0.0))))
}

pub fn atanh(m: &Element<'_>, x: &[Value]) -> Value {
    let magnitude = m.abs(x[0]);
    let ratio = m.div(m.add(magnitude, magnitude), m.sub(m.c(1.0), magnitude));
    m.copysign(m.mul(log_of_1_plus(m, ratio, None), m.c(0.5)), x[0])
}
