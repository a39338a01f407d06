//! The common functions (OpenCL C 2.0 §6.13.4).

use super::super::builder::Value;
use super::element::Element;
use super::parts;
use std::f64::consts::PI;

/// `x` where neither is greater; either where one is not a number.
pub fn fmin_common(m: &Element<'_>, x: &[Value]) -> Value {
    m.select(m.lt(x[1], x[0]), x[1], x[0])
}

pub fn fmax_common(m: &Element<'_>, x: &[Value]) -> Value {
    m.select(m.lt(x[0], x[1]), x[1], x[0])
}

/// `fmin(fmax(x, least), most)`: what is not a number is the least (OpenCL Extended Instruction Set §2.3).
pub fn fclamp(m: &Element<'_>, x: &[Value]) -> Value {
    parts::fmin(m, &[parts::fmax(m, &x[..2]), x[2]])
}

pub fn degrees(m: &Element<'_>, x: &[Value]) -> Value {
    m.mul(x[0], m.c(180.0 / PI))
}

pub fn radians(m: &Element<'_>, x: &[Value]) -> Value {
    m.mul(x[0], m.c(PI / 180.0))
}

pub fn mix(m: &Element<'_>, x: &[Value]) -> Value {
    m.mad(m.sub(x[1], x[0]), x[2], x[0])
}

pub fn step(m: &Element<'_>, x: &[Value]) -> Value {
    m.select(m.lt(x[1], x[0]), m.c(0.0), m.c(1.0))
}

pub fn smoothstep(m: &Element<'_>, x: &[Value]) -> Value {
    let t = m.div(m.sub(x[2], x[0]), m.sub(x[1], x[0]));
    let t = m.limited(t, 0.0, 1.0);
    m.mul(m.mul(t, t), m.mad(t, m.c(-2.0), m.c(3.0)))
}

/// 1, -1, or a zero with the sign of `x`; 0 for what is not a number.
pub fn sign(m: &Element<'_>, x: &[Value]) -> Value {
    let x = x[0];
    let unit = m.copysign(m.c(1.0), x);
    let value = m.select(m.is_zero(x), x, unit);
    m.select(m.is_nan(x), m.c(0.0), value)
}
