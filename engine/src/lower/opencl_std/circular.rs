//! Functions of angles in half turns: `sinpi` and its kin.

use super::super::builder::{RealPred, Value};
use super::element::Element;
use crate::analysis::leaves::Scalar;
use std::f64::consts::PI;

/// `PI` as f32 and what is missing from it, and the same for f64.
const PI_F32: f64 = PI as f32 as f64;
const PI_F32_REST: f64 = PI - PI_F32;
const PI_F64_REST: f64 = 1.224_646_799_147_353_2e-16;

/// Sine and cosine of `pi * x` reduced to a quarter turn.
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
    // Taylor series: |pi * t| is below 0.7854.
    let terms = if m.ty == Scalar::F64 { 9 } else { 5 };
    let coefficient = |power: i32| {
        let factorial: f64 = (1..=power).map(f64::from).product();
        let sign = if power / 2 % 2 == 1 { -1.0 } else { 1.0 };
        sign * PI.powi(power) / factorial
    };
    let odd_powers: Vec<f64> = (1..terms).map(|at| coefficient(2 * at + 1)).collect();
    let even_powers: Vec<f64> = (1..=terms).map(|at| coefficient(2 * at)).collect();
    let (high, low) = if m.ty == Scalar::F64 { (PI, PI_F64_REST) } else { (PI_F32, PI_F32_REST) };
    let tail = m.mul(m.mul(square, t), m.polynomial(square, &odd_powers));
    let sine = m.mad(t, m.c(high), m.mad(t, m.c(low), tail));
    let cosine = m.mad(m.polynomial(square, &even_powers), square, m.c(1.0));
    Quadrant { sine, cosine, odd, upper, rest: t }
}

pub fn sinpi(m: &Element<'_>, x: &[Value]) -> Value {
    let q = reduce(m, x[0]);
    let value = m.select(q.odd, q.cosine, q.sine);
    let value = m.select(q.upper, m.neg(value), value);
    // Zeros have the sign of x.
    let value = m.select(m.is_zero(value), m.copysign(m.c(0.0), x[0]), value);
    m.select(m.is_inf(x[0]), m.nan(), value)
}

pub fn cospi(m: &Element<'_>, x: &[Value]) -> Value {
    let q = reduce(m, x[0]);
    let value = m.select(q.odd, q.sine, q.cosine);
    let value = m.select(m.b.xor(q.odd, q.upper), m.neg(value), value);
    // Zeros are positive.
    let value = m.select(m.is_zero(value), m.c(0.0), value);
    m.select(m.is_inf(x[0]), m.nan(), value)
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
