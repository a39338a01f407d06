//! Exact remainders.
//!
//! f32 lanes divide in f64, 50 bits of the quotient at a time: a few steps serve the whole range of exponents
//! and nothing is rounded. f64 calls the C library for each lane.

use super::super::builder::{Opcode, Value};
use super::element::Element;
use crate::analysis::leaves::Scalar;

/// The remainder of truncated division; it has the sign of the dividend.
pub fn fmod(m: &Element<'_>, x: &[Value]) -> Value {
    if m.ty != Scalar::F32 || m.lanes == 1 {
        return scalar(m, "fmod", x);
    }
    in_f64(m, x, |m, r, y, _| m.select(m.lt(r, m.c(0.0)), m.add(r, y), r))
}

/// The remainder of division rounded to the nearest integer, ties to even.
pub fn remainder(m: &Element<'_>, x: &[Value]) -> Value {
    if m.ty != Scalar::F32 || m.lanes == 1 {
        return scalar(m, "remainder", x);
    }
    in_f64(m, x, |m, r, y, quotient| {
        let half = m.mul(y, m.c(0.5));
        let quarter = m.mul(quotient, m.c(0.5));
        let odd = m.ne(quarter, m.floor(quarter));
        let magnitude = m.abs(r);
        let beyond = m.b.or(m.gt(magnitude, half), m.b.and(m.eq(magnitude, half), odd));
        m.select(beyond, m.sub(r, m.copysign(y, r)), r)
    })
}

/// [`remainder`], and the low 7 bits of the quotient with its sign.
pub fn remquo(m: &Element<'_>, x: &[Value]) -> [Value; 2] {
    const MODULUS: f64 = 128.0;
    let (dividend, divisor) = (x[0], x[1]);
    let rest = remainder(m, x);
    // A multiple of 128 divisors changes nothing, and a smaller quotient can be had by division. An infinite
    // modulus leaves the dividend as it is.
    let reduced = fmod(m, &[dividend, m.mul(divisor, m.c(MODULUS))]);
    let quotient = m.rint(m.sub(m.div(reduced, divisor), m.div(rest, divisor)));
    let quotient = m.select(m.is_nan(rest), m.c(0.0), quotient);
    let whole = m.select(m.eq(m.abs(quotient), m.c(MODULUS)), m.c(0.0), quotient);
    [rest, m.b.cast(Opcode::LLVMFPToSI, whole, Scalar::I32)]
}

fn scalar(m: &Element<'_>, name: &str, x: &[Value]) -> Value {
    m.libm(name, x)
}

/// Reduces `|x|` by multiples of `|y|` to at most about half of `|y|`, lets `finish` correct the rest, given the
/// last part of the quotient, and puts the sign of `x` on it.
fn in_f64(
    m: &Element<'_>,
    x: &[Value],
    finish: impl FnOnce(&Element<'_>, Value, Value, Value) -> Value,
) -> Value {
    /// Bits of the quotient in a step, and the first step: f32's largest quotient is below 2^278.
    const STEP: i32 = 50;
    const FIRST: i32 = 250;
    m.in_f64(x, |m, x| {
        let (dividend, y) = (m.abs(x[0]), m.abs(x[1]));
        let reciprocal = m.div(m.c(1.0), y);
        let (mut r, mut quotient) = (dividend, m.c(0.0));
        for shift in (0..=FIRST / STEP).rev().map(|step| step * STEP) {
            let scaled = m.mul(m.mul(r, reciprocal), m.c(f64::powi(2.0, -shift)));
            quotient = m.rint(scaled);
            let multiple = m.mul(y, m.c(f64::powi(2.0, shift)));
            r = m.fma(m.neg(quotient), multiple, r);
        }
        let r = finish(m, r, y, quotient);
        // Zero remainders have the sign of x, too: the magnitude's own sign would be lost with it.
        let negative = m.b.xor(m.bits(r), m.b.and(m.bits(x[0]), m.i(i64::MIN)));
        let signed = m.select(m.is_zero(r), m.copysign(m.c(0.0), x[0]), m.float(negative));
        let undefined = m.b.or(m.b.or(m.is_inf(x[0]), m.is_zero(y)), m.unordered(x[0], y));
        let whole = m.b.and(m.eq(y, m.inf()), m.lt(dividend, m.inf()));
        m.select(undefined, m.nan(), m.select(whole, x[0], signed))
    })
}
