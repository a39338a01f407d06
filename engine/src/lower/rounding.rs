//! Arithmetic that rounds in a direction: towards zero, up or down.
//!
//! Processors have one rounding mode for a thread, and changing it costs more than the operation. The nearest result and
//! the sign of its error, which floating-point arithmetic finds exactly (Dekker 1971, Knuth's TwoSum, and a fused
//! multiply-add for products and quotients), say what the result in a direction is. Halves and floats are computed in
//! the next wider format, rounded to odd, which a second rounding does not notice (Boldo and Melquiond, "Emulation of a
//! FMA and correctly rounded sums", 2008); doubles step to their neighbour.

use super::builder::{Builder, IntPred, Opcode, RealPred, Value};
use super::conversion::float_to_float;
use crate::analysis::leaves::Scalar;
use spirv::{FPRoundingMode, Op};

/// The nearest result, and a number with the sign of what the exact one is more: not a number, or zero, where it is exact.
#[derive(Clone, Copy)]
struct Near {
    result: Value,
    error: Value,
}

/// Whether an instruction of this type is rounded here.
pub fn covers(op: Op, scalar: Scalar) -> bool {
    // Of a fused operation on doubles no wider format holds the product.
    (op == Op::FmaKHR && scalar != Scalar::F64)
        || matches!(op, Op::FAdd | Op::FSub | Op::FMul | Op::FDiv | Op::VectorTimesScalar)
}

/// An instruction that [`covers`] knows, rounded in a direction.
pub fn operate(b: &Builder, op: Op, operands: &[Value], mode: FPRoundingMode) -> Value {
    let scalar = b.scalar_of(operands[0]);
    let wide = match scalar {
        Scalar::F16 => Scalar::F32,
        Scalar::F32 => Scalar::F64,
        _ => return directed(b, op, operands, mode),
    };
    let x: Vec<Value> = operands.iter().map(|x| b.cast(Opcode::LLVMFPExt, *x, wide)).collect();
    let odd = match op {
        Op::FAdd => to_odd(b, sum(b, x[0], x[1], mode)),
        Op::FSub => to_odd(b, sum(b, x[0], b.fneg(x[1]), mode)),
        // The wider format holds the whole product.
        Op::FMul | Op::VectorTimesScalar => b.bin_exact(Opcode::LLVMFMul, x[0], x[1]),
        Op::FDiv => to_odd(b, quotient(b, x[0], x[1])),
        _ => to_odd(b, sum(b, b.bin_exact(Opcode::LLVMFMul, x[0], x[1]), x[2], mode)),
    };
    float_to_float(b, odd, scalar, mode)
}

/// The same for doubles.
fn directed(b: &Builder, op: Op, x: &[Value], mode: FPRoundingMode) -> Value {
    let near = match op {
        Op::FAdd => sum(b, x[0], x[1], mode),
        Op::FSub => sum(b, x[0], b.fneg(x[1]), mode),
        Op::FMul | Op::VectorTimesScalar => product(b, x[0], x[1]),
        _ => quotient(b, x[0], x[1]),
    };
    step(b, near, mode)
}

fn add(b: &Builder, x: Value, y: Value) -> Value {
    b.bin_exact(Opcode::LLVMFAdd, x, y)
}

fn sub(b: &Builder, x: Value, y: Value) -> Value {
    b.bin_exact(Opcode::LLVMFSub, x, y)
}

fn mul(b: &Builder, x: Value, y: Value) -> Value {
    b.bin_exact(Opcode::LLVMFMul, x, y)
}

fn bits(b: &Builder, x: Value) -> Value {
    b.reinterpret(x, Scalar::int(b.scalar_of(x).bits()).expect("floats have integer widths"))
}

fn number(b: &Builder, like: Value, value: f64) -> Value {
    b.float(b.scalar_of(like), b.lanes(like), value)
}

fn magnitude(b: &Builder, x: Value) -> Value {
    b.intrinsic("llvm.fabs", &[x])
}

fn is_finite(b: &Builder, x: Value) -> Value {
    b.fcmp(RealPred::LLVMRealOLT, magnitude(b, x), number(b, x, f64::INFINITY))
}

/// A sum. That of opposites is negative where rounding goes down, as IEEE 754 has it.
fn sum(b: &Builder, x: Value, y: Value, mode: FPRoundingMode) -> Near {
    let (near, error) = two_sum(b, x, y);
    let near = if mode == FPRoundingMode::RTN {
        let none = b.fcmp(RealPred::LLVMRealOEQ, near, number(b, near, 0.0));
        let either = b.reinterpret(b.or(bits(b, x), bits(b, y)), b.scalar_of(x));
        b.select(none, b.intrinsic("llvm.copysign", &[near, either]), near)
    } else {
        near
    };
    overflowing(b, Near { result: near, error }, &[x, y])
}

fn two_sum(b: &Builder, x: Value, y: Value) -> (Value, Value) {
    let near = add(b, x, y);
    let other = sub(b, near, x);
    (near, add(b, sub(b, x, sub(b, near, other)), sub(b, y, other)))
}

/// Infinity that comes of numbers is more than the exact result.
fn overflowing(b: &Builder, near: Near, operands: &[Value]) -> Near {
    let infinite =
        b.fcmp(RealPred::LLVMRealOEQ, magnitude(b, near.result), number(b, near.result, f64::INFINITY));
    let overflow = operands.iter().fold(infinite, |so_far, x| b.and(so_far, is_finite(b, *x)));
    Near { error: b.select(overflow, b.fneg(near.result), near.error), ..near }
}

/// Powers of two by which small doubles are multiplied, so that the error of a product of them is no denormal that is lost.
const SMALL: f64 = f64::from_bits((1023 - 900) << 52);
const SCALE: f64 = f64::from_bits((1023 + 600) << 52);

/// A product of doubles.
fn product(b: &Builder, x: Value, y: Value) -> Near {
    let near = mul(b, x, y);
    let small = b.fcmp(RealPred::LLVMRealOLT, magnitude(b, near), number(b, near, SMALL));
    let scale = b.select(small, number(b, near, SCALE), number(b, near, 1.0));
    let scaled = mul(b, mul(b, near, scale), scale);
    let error = b.intrinsic("llvm.fma", &[mul(b, x, scale), mul(b, y, scale), b.fneg(scaled)]);
    overflowing(b, Near { result: near, error }, &[x, y])
}

/// A quotient: what the dividend is more than the divisor times the result tells the sign of the error.
fn quotient(b: &Builder, x: Value, y: Value) -> Near {
    let near = b.bin_exact(Opcode::LLVMFDiv, x, y);
    let rest = if b.scalar_of(x) == Scalar::F64 {
        let small = b.fcmp(RealPred::LLVMRealOLT, magnitude(b, x), number(b, x, SMALL));
        let scale = b.select(small, number(b, x, SCALE), number(b, x, 1.0));
        b.intrinsic("llvm.fma", &[b.fneg(mul(b, near, scale)), y, mul(b, x, scale)])
    } else {
        b.intrinsic("llvm.fma", &[b.fneg(near), y, x])
    };
    let negative = b.fcmp(RealPred::LLVMRealOLT, y, number(b, y, 0.0));
    let near = Near { result: near, error: b.select(negative, b.fneg(rest), rest) };
    // A division by zero is exact.
    let divides = b.fcmp(RealPred::LLVMRealONE, y, number(b, y, 0.0));
    let guarded = overflowing(b, near, &[x, y]);
    Near { error: b.select(divides, guarded.error, number(b, y, 0.0)), ..guarded }
}

/// The result with its last bit set where it is inexact.
fn to_odd(b: &Builder, near: Near) -> Value {
    let pattern = bits(b, near.result);
    let (int, lanes) = (b.scalar_of(pattern), b.lanes(pattern));
    let one = b.int(int, lanes, 1);
    let even = b.icmp(IntPred::LLVMIntEQ, b.and(pattern, one), b.zero(int, lanes));
    let inexact = b.fcmp(RealPred::LLVMRealONE, near.error, number(b, near.error, 0.0));
    let outward = b.select(grows(b, near), b.add(pattern, one), b.sub(pattern, one));
    b.reinterpret(b.select(b.and(even, inexact), outward, pattern), b.scalar_of(near.result))
}

/// Whether the exact result has the greater magnitude, given that there is an error.
fn grows(b: &Builder, near: Near) -> Value {
    let differ = b.xor(bits(b, near.result), bits(b, near.error));
    b.icmp(IntPred::LLVMIntSGE, differ, b.zero(b.scalar_of(differ), b.lanes(differ)))
}

/// The result, or its neighbour in a direction.
fn step(b: &Builder, near: Near, mode: FPRoundingMode) -> Value {
    let pattern = bits(b, near.result);
    let (int, lanes) = (b.scalar_of(pattern), b.lanes(pattern));
    let zero = number(b, near.error, 0.0);
    let (above, below) =
        (b.fcmp(RealPred::LLVMRealOGT, near.error, zero), b.fcmp(RealPred::LLVMRealOLT, near.error, zero));
    let outward = grows(b, near);
    let moves = match mode {
        FPRoundingMode::RTE => return near.result,
        FPRoundingMode::RTP => above,
        FPRoundingMode::RTN => below,
        FPRoundingMode::RTZ => b.and(b.or(above, below), b.not(outward)),
    };
    let one = b.int(int, lanes, 1);
    let neighbour = b.select(outward, b.add(pattern, one), b.sub(pattern, one));
    b.reinterpret(b.select(moves, neighbour, pattern), b.scalar_of(near.result))
}
