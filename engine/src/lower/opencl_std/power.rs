//! Powers and roots.

use super::super::builder::{IntPred, Opcode, Value};
use super::element::{Avx512, Class, Element, Response};
use super::exponential::{exp2, log2};
use crate::analysis::leaves::Scalar;

pub fn pow(m: &Element<'_>, x: &[Value]) -> Value {
    m.libm("pow", x)
}

/// `pow` for a base that is not negative, with the edge cases of OpenCL SPIR-V Env 3.0 §6.7.1.
pub fn powr(m: &Element<'_>, x: &[Value]) -> Value {
    let (base, y) = (x[0], x[1]);
    let power = m.libm("pow", &[m.abs(base), y]);
    let or = |a, b| m.b.or(a, b);
    let edge = or(m.is_zero(base), m.eq(base, m.inf()));
    let undefined = or(m.lt(base, m.c(0.0)), m.unordered(base, y));
    let undefined = or(undefined, m.b.and(m.is_zero(y), edge));
    let undefined = or(undefined, m.b.and(m.eq(base, m.c(1.0)), m.is_inf(y)));
    m.select(undefined, m.nan(), power)
}

/// `powr` through f32 logarithms: a relative error of about `2^-16` at the ends of the range.
pub fn fast_powr(m: &Element<'_>, x: &[Value]) -> Value {
    let logarithm = log2(m, &x[..1]);
    exp2(m, &[m.mul(x[1], logarithm)])
}

/// `x` to an integer power. f32 computes in f64, which holds every 32-bit exponent.
pub fn pown(m: &Element<'_>, x: &[Value]) -> Value {
    let n = m.b.cast(Opcode::LLVMSIToFP, x[1], Scalar::F64);
    if m.ty == Scalar::F64 {
        m.libm("pow", &[x[0], n])
    } else {
        m.in_f64(&[x[0], n], |m, x| m.libm("pow", x))
    }
}

pub fn rootn(m: &Element<'_>, x: &[Value]) -> Value {
    let (base, n) = (x[0], x[1]);
    let lanes = m.lanes;
    let count = m.b.cast(Opcode::LLVMSIToFP, n, Scalar::F64);
    let root = m.in_f64(&[m.abs(base), count], |wide, x| {
        let (base, n) = (x[0], x[1]);
        let y = wide.div(wide.c(1.0), n);
        let root = wide.libm("pow", &[base, y]);
        if m.ty != Scalar::F64 {
            return root;
        }
        // 1/n is not exact, and the power magnifies its error by the logarithm: a first-order correction.
        let missing = wide.div(wide.fma(wide.neg(y), n, wide.c(1.0)), n);
        let correction = wide.mul(missing, wide.libm("log", &[base]));
        let sound = wide.lt(wide.abs(correction), wide.c(1.0));
        wide.fma(root, wide.select(sound, correction, wide.c(0.0)), root)
    });
    let odd = m.b.and(n, m.b.int(Scalar::I32, lanes, 1));
    let odd = m.b.icmp(IntPred::LLVMIntNE, odd, m.b.zero(Scalar::I32, lanes));
    let none = m.b.icmp(IntPred::LLVMIntEQ, n, m.b.zero(Scalar::I32, lanes));
    let signed = m.select(odd, m.copysign(root, base), root);
    let undefined = m.b.or(none, m.b.and(m.b.not(odd), m.lt(base, m.c(0.0))));
    m.select(undefined, m.nan(), signed)
}

/// The library's forms for lanes miss the bound of 2 units in the last place: in f32 everywhere, and in f64 for some
/// subnormal numbers, where a step of Newton's method mends it.
pub fn cbrt(m: &Element<'_>, x: &[Value]) -> Value {
    if m.ty == Scalar::F32 && m.lanes > 1 && m.has_fma() {
        return cbrt_in_place(m, x[0]);
    }
    if m.rounded_to == Scalar::F32 && m.lanes > 1 {
        return m.in_f64(x, |m, x| m.libm("cbrt", x));
    }
    let root = m.libm_relaxed("cbrt", x);
    if m.ty != Scalar::F64 || m.lanes == 1 {
        return root;
    }
    let missing = m.sub(m.div(x[0], m.mul(root, root)), root);
    let refined = m.add(root, m.mul(missing, m.c(1.0 / 3.0)));
    // Of zeros and infinities, the step is not a number.
    m.select(m.is_nan(refined), root, refined)
}

/// To 1.02 units in the last place. A third of the bits of a number are, but for a constant, those of `x^(-1/3)` to 3 percent; two steps of third
/// order make that exact, and one of the root itself sets its last place right.
fn cbrt_in_place(m: &Element<'_>, x: Value) -> Value {
    /// Four thirds of the exponent's bias, and a fraction by which the error is least at both ends.
    const BITS_OF_ONE: i64 = 0x54a2_fa8c;
    let (b, magnitude) = (m.b, m.abs(x));
    // Subnormal numbers are scaled by the third power of a power of two.
    let is_small = m.lt(magnitude, m.c(f64::from(f32::MIN_POSITIVE)));
    let a = m.select(is_small, m.mul(magnitude, m.c(f64::from(1u32 << 24))), magnitude);
    let third = m.mul(b.cast(Opcode::LLVMSIToFP, m.bits(a), m.ty), m.c(1.0 / 3.0));
    let third = b.cast(Opcode::LLVMFPToSI, third, m.int_ty());
    let mut y = m.float(b.sub(m.i(BITS_OF_ONE), third));
    for _ in 0..2 {
        let error = m.fma(m.neg(a), m.mul(m.mul(y, y), y), m.c(1.0));
        let factor = m.fma(error, m.c(2.0 / 9.0), m.c(1.0 / 3.0));
        y = m.fma(m.mul(y, error), factor, y);
    }
    let square = m.mul(y, y);
    let root = m.mul(a, square);
    let missing = m.fma(m.neg(m.mul(root, root)), root, a);
    let root = m.fma(m.mul(missing, m.c(1.0 / 3.0)), square, root);
    let root = m.select(is_small, m.mul(root, m.c(1.0 / 256.0)), root);
    // Zeros, infinities and what is no number are their own root.
    let steps = m.sub(x, x);
    let is_special = b.or(m.is_zero(x), m.is_nan(steps));
    m.select(is_special, m.add(x, x), m.copysign(root, x))
}

pub fn sqrt(m: &Element<'_>, x: &[Value]) -> Value {
    m.sqrt(x[0])
}

/// `1 / sqrt(x)`. Vectors start from an estimate: that costs a third of a root and a division.
pub fn rsqrt(m: &Element<'_>, x: &[Value]) -> Value {
    let x = x[0];
    if !m.has_avx512() {
        let by_division = || m.div(m.c(1.0), m.sqrt(x));
        let fast = m.ty == Scalar::F32 && m.lanes > 1 && m.has_fma();
        return if fast {
            m.b.branch(has_special(m, x), by_division, || rsqrt_avx(m, x))
        } else {
            by_division()
        };
    }
    const ESTIMATE: Avx512 = Avx512 { name: "rsqrt14", immediate: None, merges: true, rounds: false };
    let estimate = m.avx512(&ESTIMATE, &[x]);
    let error = |y: Value| m.fma(m.neg(m.mul(x, y)), y, m.c(1.0));
    let first = error(estimate);
    let refined = if m.ty == Scalar::F64 {
        // Halley's step, of third order, then Newton's: 14, 42, 84 bits.
        let factor = m.fma(first, m.c(0.375), m.c(0.5));
        let y = m.fma(m.mul(estimate, first), factor, estimate);
        m.fma(m.mul(y, m.c(0.5)), error(y), y)
    } else {
        m.fma(m.mul(estimate, m.c(0.5)), first, estimate)
    };
    // There, the step is not a number.
    m.fixed_up(refined, x, &[(Class::Zero, Response::SignedInfinity), (Class::Infinity, Response::Zero)])
}

/// Whether a lane is not a positive normal number.
fn has_special(m: &Element<'_>, x: Value) -> Value {
    let least = m.bits(m.c(f64::from(f32::MIN_POSITIVE)));
    let above = m.b.sub(m.bits(x), least);
    let span = m.b.sub(m.bits(m.inf()), least);
    // Lanes that are off may be poison, which no branch may depend on.
    m.b.any(m.b.freeze(m.b.icmp(IntPred::LLVMIntUGE, above, span)))
}

/// `1 / sqrt(x)` of positive normal numbers from an estimate good to 11 bits and Halley's step, of third order.
fn rsqrt_avx(m: &Element<'_>, x: Value) -> Value {
    let estimate = m.in_chunks(8, &[x], |m, x| {
        let name = if m.lanes == 8 { "llvm.x86.avx.rsqrt.ps.256" } else { "llvm.x86.sse.rsqrt.ps" };
        m.b.intrinsic_plain(name, x)
    });
    let error = m.fma(m.neg(m.mul(x, estimate)), estimate, m.c(1.0));
    let factor = m.fma(error, m.c(0.375), m.c(0.5));
    m.fma(m.mul(estimate, error), factor, estimate)
}

/// `1 / x` to the last place or so.
pub fn recip(m: &Element<'_>, x: &[Value]) -> Value {
    let x = x[0];
    if !m.has_avx512() || m.ty != Scalar::F32 {
        return m.div(m.c(1.0), x);
    }
    const ESTIMATE: Avx512 = Avx512 { name: "rcp14", immediate: None, merges: true, rounds: false };
    let estimate = m.avx512(&ESTIMATE, &[x]);
    let refined = m.fma(m.fma(m.neg(x), estimate, m.c(1.0)), estimate, estimate);
    // For zeros, infinities and what overflows, the estimate is exact and the step is not a number.
    m.select(m.is_nan(refined), estimate, refined)
}

pub fn divide(m: &Element<'_>, x: &[Value]) -> Value {
    m.div(x[0], x[1])
}
