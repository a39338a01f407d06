//! Exact remainders.
//!
//! Lanes divide, and what is left of the dividend is exact where the quotient has fewer bits than their type. One step is enough for
//! what kernels mostly ask for, of numbers that are neither infinite nor zero, which is seen for all lanes together. Else f32 divides in f64, 50 bits of the quotient at a time, of which
//! a few steps serve its whole range of exponents, and f64 calls the C library for each lane.

use super::super::builder::{Opcode, Value};
use super::element::Element;
use crate::analysis::leaves::Scalar;

/// The remainder of truncated division; it has the sign of the dividend.
pub fn fmod(m: &Element<'_>, x: &[Value]) -> Value {
    by_steps(m, "fmod", x, |m, r, y, _| m.select(m.lt(r, m.c(0.0)), m.add(r, y), r))
}

/// The remainder of division rounded to the nearest integer, ties to even.
pub fn remainder(m: &Element<'_>, x: &[Value]) -> Value {
    by_steps(m, "remainder", x, |m, r, y, quotient| {
        let quarter = m.mul(quotient, m.c(0.5));
        let odd = m.ne(quarter, m.floor(quarter));
        let doubled = m.abs(m.add(r, r));
        let beyond = m.b.or(m.gt(doubled, y), m.b.and(m.eq(doubled, y), odd));
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

/// Corrects a rest, given the divisor's magnitude, the rest, and the last part of the quotient.
type Finish = fn(&Element<'_>, Value, Value, Value) -> Value;

/// Bits of the quotient that a step finds in f64, and in f32.
const STEP: i32 = 50;
const SHORT_STEP: i32 = 22;
/// f32's largest quotient is below 2^278.
const STEPS: i32 = 6;

fn by_steps(m: &Element<'_>, library: &str, x: &[Value], finish: Finish) -> Value {
    if m.lanes == 1 || !m.has_fma() {
        return m.libm(library, x);
    }
    let (dividend, divisor) = (m.abs(x[0]), m.abs(x[1]));
    let bits = if m.ty == Scalar::F32 { SHORT_STEP } else { STEP };
    let most = m.mul(divisor, m.c(f64::powi(2.0, bits)));
    // Neither is infinite or no number, nor is the divisor zero.
    let is_plain = m.b.and(m.lt(dividend, most), m.lt(divisor, m.inf()));
    let long = m.le(most, dividend);
    let long = m.b.and(long, m.b.and(m.gt(divisor, m.c(0.0)), m.lt(dividend, m.inf())));
    let by_many = || match m.ty {
        Scalar::F32 => m.in_f64(x, |m, x| {
            let reciprocal = m.div(m.c(1.0), m.abs(x[1]));
            reduced(m, x, STEPS, finish, |m, r| m.mul(r, reciprocal))
        }),
        _ => m.libm(library, x),
    };
    // Lanes that are off may be poison, which no branch may depend on.
    let by_any = || {
        m.b.branch(m.b.any(m.b.freeze(long)), by_many, || {
            reduced(m, x, 1, finish, |m, r| m.div(r, m.abs(x[1])))
        })
    };
    let others = m.b.any(m.b.not(m.b.freeze(is_plain)));
    m.b.branch(others, by_any, || {
        let quotient = m.rint(m.div(dividend, divisor));
        let r = m.fma(m.neg(quotient), divisor, dividend);
        // A remainder of zero has no sign of its own.
        with_sign(m, finish(m, r, divisor, quotient), x[0])
    })
}

/// The magnitude's sign, turned around where another number is negative.
fn with_sign(m: &Element<'_>, rest: Value, of: Value) -> Value {
    m.float(m.b.xor(m.bits(rest), m.b.and(m.bits(of), m.i(1 << (m.ty.bits() - 1)))))
}

/// Reduces `|x|` by multiples of `|y|` to about half of `|y|`, has the rest corrected, and puts the sign of `x` on it.
fn reduced(
    m: &Element<'_>,
    x: &[Value],
    steps: i32,
    finish: Finish,
    quotient_of: impl Fn(&Element<'_>, Value) -> Value,
) -> Value {
    let (dividend, y) = (m.abs(x[0]), m.abs(x[1]));
    let (mut r, mut quotient) = (dividend, m.c(0.0));
    for shift in (0..steps).rev().map(|step| step * STEP) {
        quotient = m.rint(m.mul(quotient_of(m, r), m.c(f64::powi(2.0, -shift))));
        let multiple = m.mul(y, m.c(f64::powi(2.0, shift)));
        r = m.fma(m.neg(quotient), multiple, r);
    }
    let r = finish(m, r, y, quotient);
    // Zero remainders have the sign of x, too: the magnitude's own sign would be lost with it.
    let signed = m.select(m.is_zero(r), m.copysign(m.c(0.0), x[0]), with_sign(m, r, x[0]));
    let undefined = m.b.or(m.b.or(m.is_inf(x[0]), m.is_zero(y)), m.unordered(x[0], y));
    let whole = m.b.and(m.eq(y, m.inf()), m.lt(dividend, m.inf()));
    m.select(undefined, m.nan(), m.select(whole, x[0], signed))
}
