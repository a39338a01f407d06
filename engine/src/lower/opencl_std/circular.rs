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

/// The coefficient of this power in the series of sine and cosine of `pi * x`.
fn coefficient(power: i32) -> f64 {
    let factorial: f64 = (1..=power).map(f64::from).product();
    let sign = if power / 2 % 2 == 1 { -1.0 } else { 1.0 };
    sign * PI.powi(power) / factorial
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
    let odd_powers: Vec<f64> = (1..terms).map(|at| coefficient(2 * at + 1)).collect();
    let even_powers: Vec<f64> = (1..=terms).map(|at| coefficient(2 * at)).collect();
    let (high, low) = if m.ty == Scalar::F64 { (PI, PI_F64_REST) } else { (PI_F32, PI_F32_REST) };
    let tail = m.mul(m.mul(square, t), m.polynomial(square, &odd_powers));
    let sine = m.mad(t, m.c(high), m.mad(t, m.c(low), tail));
    let cosine = m.mad(m.polynomial(square, &even_powers), square, m.c(1.0));
    Quadrant { sine, cosine, odd, upper, rest: t }
}

/// The sine of `pi * t` for `t` of at most a half: one polynomial instead of two of which each lane wants another.
fn sine(m: &Element<'_>, t: Value) -> Value {
    // Taylor series: |pi * t| is at most 1.5708.
    let terms = if m.ty == Scalar::F64 { 11 } else { 6 };
    let coefficients: Vec<f64> = (1..=terms).map(|at| coefficient(2 * at + 1)).collect();
    let square = m.mul(t, t);
    let tail = m.mul(m.mul(square, t), m.polynomial(square, &coefficients));
    m.mad(t, m.c(PI), tail)
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
    let t = m.select(m.gt(magnitude, m.c(0.5)), back, magnitude);
    let value = sine(m, m.copysign(t, rest));
    // Zeros have the sign of x.
    m.select(m.is_zero(value), m.copysign(m.c(0.0), x[0]), value)
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
