//! The error function and its complement, for f32 lanes in place; the error function of f64 has [a file of its own](wide_error_function).

use super::super::builder::Value;
use super::element::Element;
use super::exponential::{exp, exp2};
use super::wide_error_function;
use crate::analysis::leaves::Scalar;

/// Where the two approximations of `erf` meet.
const NEAR: f64 = 0.9;

/// `erf(x) / x` in `x^2` for `x` in 0..0.92, relative error below 2^-24.
const ERF: [f64; 7] = [
    1.128_379_225_730_896,
    -0.376_128_226_518_631,
    0.112_854_376_435_279_85,
    -0.026_928_661_391_139_03,
    0.005_335_431_080_311_537,
    -0.000_939_806_282_985_955_5,
    0.000_128_895_028_774_669_98,
];

/// `-log2(1 - erf(x))` for `x` in 0.88..3.95, where `erf` is as exact as the f32 next to 1.
const ERF_TAIL: [f64; 7] = [
    0.000_217_210_748_814_947_05,
    1.627_161_741_256_713_9,
    0.918_804_645_538_330_1,
    0.150_341_555_476_188_66,
    -0.032_259_684_056_043_625,
    0.004_438_898_991_793_394,
    -0.000_287_622_038_640_663,
];

/// `exp(x^2) * erfc(x) * (x + 2)` in `(x - 2) / (x + 2)` for `x` in 0..10.3, relative error below 2^-24.
const ERFC: [f64; 9] = [
    1.021_582_722_663_879_4,
    -0.687_160_968_780_517_6,
    0.279_469_937_086_105_35,
    -0.036_435_257_643_461_23,
    -0.021_484_794_095_158_577,
    0.006_437_560_077_756_643,
    0.002_980_852_034_233_794,
    -0.000_755_033_746_827_393_8,
    -0.000_462_508_061_900_734_9,
];

pub fn erf(m: &Element<'_>, x: &[Value]) -> Value {
    if m.ty == Scalar::F64 {
        return wide_error_function::erf(m, x[0]);
    }
    let magnitude = m.abs(x[0]);
    let near = m.mul(magnitude, m.polynomial(m.mul(magnitude, magnitude), &ERF));
    let exponent = m.polynomial(m.limited(magnitude, 0.0, 4.0), &ERF_TAIL);
    let far = m.sub(m.c(1.0), exp2(m, &[m.neg(exponent)]));
    m.copysign(m.select(m.lt(magnitude, m.c(NEAR)), near, far), x[0])
}

pub fn erfc(m: &Element<'_>, x: &[Value]) -> Value {
    // Beyond, the result is zero, or 2.
    let magnitude = m.limited(m.abs(x[0]), 0.0, 10.3);
    let inverse = m.div(m.c(1.0), m.add(magnitude, m.c(2.0)));
    let ratio = m.mul(m.sub(magnitude, m.c(2.0)), inverse);
    let factor = m.mul(m.polynomial(ratio, &ERFC), inverse);
    let square = m.mul(magnitude, magnitude);
    // What rounding the square lost counts a hundred times in the exponential.
    let lost = m.fma(magnitude, magnitude, m.neg(square));
    let factor = m.fma(m.neg(lost), factor, factor);
    let tail = m.mul(exp(m, &[m.neg(square)]), factor);
    let far = m.select(m.lt(x[0], m.c(0.0)), m.sub(m.c(2.0), tail), tail);
    // Near zero the result is next to 1, and its last places are those of what is missing.
    let missing = m.polynomial(m.mul(x[0], x[0]), &ERF);
    m.select(m.lt(magnitude, m.c(0.5)), m.fma(m.neg(x[0]), missing, m.c(1.0)), far)
}
