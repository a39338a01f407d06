//! Functions of the parts of a float: sign, exponent, significand; and rounding, maxima and minima.

use super::super::builder::{IntPred, Opcode, Value};
use super::element::Element;
use super::exponential::SCALE;
use super::logarithm::EXPONENT;
use crate::analysis::leaves::Scalar;

pub fn abs(m: &Element<'_>, x: &[Value]) -> Value {
    m.abs(x[0])
}

pub fn ceil(m: &Element<'_>, x: &[Value]) -> Value {
    m.b.intrinsic("llvm.ceil", x)
}

pub fn floor(m: &Element<'_>, x: &[Value]) -> Value {
    m.floor(x[0])
}

pub fn trunc(m: &Element<'_>, x: &[Value]) -> Value {
    m.trunc(x[0])
}

pub fn rint(m: &Element<'_>, x: &[Value]) -> Value {
    m.rint(x[0])
}

pub fn round(m: &Element<'_>, x: &[Value]) -> Value {
    m.b.intrinsic("llvm.round", x)
}

pub fn copysign(m: &Element<'_>, x: &[Value]) -> Value {
    m.copysign(x[0], x[1])
}

pub fn fmin(m: &Element<'_>, x: &[Value]) -> Value {
    m.b.intrinsic("llvm.minnum", x)
}

pub fn fmax(m: &Element<'_>, x: &[Value]) -> Value {
    m.b.intrinsic("llvm.maxnum", x)
}

/// Zero where `x <= y`; a difference that is not a number stays so.
pub fn fdim(m: &Element<'_>, x: &[Value]) -> Value {
    m.select(m.le(x[0], x[1]), m.c(0.0), m.sub(x[0], x[1]))
}

/// The operand of greater magnitude, else `fmax`.
pub fn maxmag(m: &Element<'_>, x: &[Value]) -> Value {
    let (a, b) = (m.abs(x[0]), m.abs(x[1]));
    m.select(m.gt(a, b), x[0], m.select(m.gt(b, a), x[1], fmax(m, x)))
}

/// The operand of lesser magnitude, else `fmin`.
pub fn minmag(m: &Element<'_>, x: &[Value]) -> Value {
    let (a, b) = (m.abs(x[0]), m.abs(x[1]));
    m.select(m.lt(a, b), x[0], m.select(m.lt(b, a), x[1], fmin(m, x)))
}

/// `a * b + c`, rounded once; halves are f32 here.
pub fn fma(m: &Element<'_>, x: &[Value]) -> Value {
    if m.rounded_to == m.ty {
        return m.fma(x[0], x[1], x[2]);
    }
    // The product of two halves is exact. The sum is rounded to odd, so that rounding it again does no harm.
    let product = m.mul(x[0], x[1]);
    let sum = m.add(product, x[2]);
    let other = m.sub(sum, product);
    let lost = m.add(m.sub(product, m.sub(sum, other)), m.sub(x[2], other));
    let bits = m.bits(sum);
    let even = m.b.icmp(IntPred::LLVMIntEQ, m.b.and(bits, m.i(1)), m.i(0));
    let inexact = m.b.or(m.lt(lost, m.c(0.0)), m.gt(lost, m.c(0.0)));
    // Towards what was lost: away from zero if it has the sign of the sum.
    let sign = m.b.icmp(IntPred::LLVMIntSLT, m.b.xor(m.bits(lost), bits), m.i(0));
    let neighbour = m.b.add(bits, m.select(sign, m.i(-1), m.i(1)));
    m.float(m.select(m.b.and(even, inexact), neighbour, bits))
}

/// `a * b + c`, fused where that is fast. Halves are a product and a sum, each rounded (OpenCL.std, `mad`): rounding them once takes a dozen
/// instructions more.
pub fn mad(m: &Element<'_>, x: &[Value]) -> Value {
    if m.rounded_to == m.ty {
        return m.mad(x[0], x[1], x[2]);
    }
    let product = m.narrowed(m.mul(x[0], x[1]));
    m.add(m.widened(product), x[2])
}

/// A quiet NaN with a payload.
pub fn nan(m: &Element<'_>, code: &[Value]) -> Value {
    let digits = m.digits();
    let payload = m.b.and(code[0], m.i((1 << (digits - 1)) - 1));
    m.float(m.b.or(payload, m.bits(m.nan())))
}

/// The next number after `x` towards `y`: one more or less in its bits.
pub fn nextafter(m: &Element<'_>, x: &[Value]) -> Value {
    let (from, to) = (x[0], x[1]);
    let bits = m.bits(from);
    let outward = m.b.icmp(IntPred::LLVMIntNE, m.lt(from, to), m.b.icmp(IntPred::LLVMIntSLT, bits, m.i(0)));
    let next = m.b.add(bits, m.select(outward, m.i(1), m.i(-1)));
    let least = m.copysign(m.float(m.i(1)), to);
    let next = m.select(m.is_zero(from), least, m.float(next));
    let result = m.select(m.eq(from, to), to, next);
    m.select(m.unordered(from, to), m.nan(), result)
}

/// The unbiased exponent of a finite number that is not zero, as an integer, and the bits of the number scaled
/// to be normal.
fn exponent(m: &Element<'_>, x: Value) -> (Value, Value) {
    let digits = i64::from(m.digits());
    let tiny = m.lt(m.abs(x), m.c(f64::powi(2.0, 1 - m.bias() as i32)));
    let scaled = m.select(tiny, m.mul(x, m.c(f64::powi(2.0, digits as i32))), x);
    let bits = m.bits(scaled);
    let field = m.b.and(m.b.lshr(bits, m.i(digits)), m.i(2 * m.bias() + 1));
    let shift = m.select(tiny, m.i(m.bias() + digits), m.i(m.bias()));
    (m.b.sub(field, shift), bits)
}

pub fn logb(m: &Element<'_>, x: &[Value]) -> Value {
    let x = x[0];
    if m.has_avx512() {
        return m.avx512(&EXPONENT, &[x]);
    }
    let magnitude = m.abs(x);
    let ordinary = m.lt(magnitude, m.inf());
    let exponent = m.b.cast(Opcode::LLVMSIToFP, exponent(m, x).0, m.ty);
    let result = m.select(m.is_zero(x), m.c(f64::NEG_INFINITY), exponent);
    // An infinity, or what is not a number.
    m.select(ordinary, result, magnitude)
}

/// `FP_ILOGB0` and `FP_ILOGBNAN` are what `ilogb` has for zero and NaN (OpenCL C 2.0 §6.13.2).
const ILOGB_0: i32 = i32::MIN;
const ILOGB_NAN: i32 = i32::MAX;

pub fn ilogb(m: &Element<'_>, x: &[Value]) -> Value {
    let x = x[0];
    let constant = |value: i32| m.b.int(Scalar::I32, m.lanes, value as u32 as u64);
    let result = m.b.sext_or_trunc(exponent(m, x).0, Scalar::I32);
    let result = m.select(m.is_zero(x), constant(ILOGB_0), result);
    let result = m.select(m.is_inf(x), constant(i32::MAX), result);
    m.select(m.is_nan(x), constant(ILOGB_NAN), result)
}

/// The fraction, in 0.5..1, and the exponent.
pub fn frexp(m: &Element<'_>, x: &[Value]) -> [Value; 2] {
    let x = x[0];
    let digits = m.digits();
    let (exponent, bits) = exponent(m, x);
    let sign_and_fraction = m.i(i64::MIN >> (64 - m.ty.bits()) | ((1 << digits) - 1));
    let half = m.bits(m.c(0.5));
    let fraction = m.float(m.b.or(m.b.and(bits, sign_and_fraction), half));
    let ordinary = m.b.and(m.lt(m.abs(x), m.inf()), m.ne(x, m.c(0.0)));
    let exponent = m.b.add(exponent, m.i(1));
    let exponent = m.b.sext_or_trunc(m.select(ordinary, exponent, m.i(0)), Scalar::I32);
    [m.select(ordinary, fraction, x), exponent]
}

/// `x * 2^n`, rounded once.
pub fn ldexp(m: &Element<'_>, x: &[Value]) -> Value {
    let (x, n) = (x[0], x[1]);
    if m.has_avx512() {
        let n = m.b.cast(Opcode::LLVMSIToFP, n, m.ty);
        return m.avx512(&SCALE, &[x, n]);
    }
    let int = |value: i32| m.b.int(Scalar::I32, m.lanes, value as u32 as u64);
    let clamped = |n: Value, least: i32, most: i32| {
        let n = m.b.intrinsic("llvm.smax", &[n, int(least)]);
        m.b.intrinsic("llvm.smin", &[n, int(most)])
    };
    if m.ty != Scalar::F64 {
        // All of f32's results are normal in f64, so that only the way back rounds.
        const BEYOND: i32 = 400;
        return m.in_f64(&[x, clamped(n, -BEYOND, BEYOND)], |m, x| m.mul(x[0], power_of_two(m, x[1])));
    }
    // Large steps first: powers of two that are too large or too small for one factor. The steps down leave
    // enough digits that only the last product rounds.
    let (mut x, mut n) = (x, n);
    const UP: i32 = 1023;
    const DOWN: i32 = -1022 + 53;
    for _ in 0..2 {
        let above = m.b.icmp(IntPred::LLVMIntSGT, n, int(UP));
        let below = m.b.icmp(IntPred::LLVMIntSLT, n, int(-1022));
        let step = m.select(above, int(UP), m.select(below, int(DOWN), int(0)));
        x = m.mul(x, power_of_two(m, step));
        n = m.b.sub(n, step);
    }
    m.mul(x, power_of_two(m, clamped(n, -1022, UP)))
}

/// `2^n` as f64, for the exponent of a normal number.
fn power_of_two(m: &Element<'_>, n: Value) -> Value {
    let n = m.b.sext_or_trunc(n, Scalar::I64);
    m.float(m.b.shl(m.b.add(n, m.i(m.bias())), m.i(i64::from(m.digits()))))
}

/// The integer part and the fraction, which has the sign of `x`.
pub fn modf(m: &Element<'_>, x: &[Value]) -> [Value; 2] {
    let whole = m.trunc(x[0]);
    let fraction = m.select(m.is_inf(x[0]), m.c(0.0), m.sub(x[0], whole));
    [m.copysign(fraction, x[0]), whole]
}

/// `x - floor(x)`, below 1, and the floor.
pub fn fract(m: &Element<'_>, x: &[Value]) -> [Value; 2] {
    let x = x[0];
    let floor = m.floor(x);
    let digits = if m.rounded_to == Scalar::F16 { 10 } else { m.digits() };
    let below_one = 1.0 - f64::powi(2.0, -(digits as i32 + 1));
    let fraction = m.sub(x, floor);
    let fraction = m.select(m.gt(fraction, m.c(below_one)), m.c(below_one), fraction);
    let fraction = m.select(m.is_inf(x), m.c(0.0), fraction);
    // Zeros and infinities keep their sign.
    let keeps = m.b.or(m.is_inf(x), m.is_zero(x));
    [m.select(keeps, m.copysign(fraction, x), fraction), floor]
}
