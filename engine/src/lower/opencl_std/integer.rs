//! The integer functions (OpenCL C 2.0 §6.13.3).

use super::super::builder::{Builder, IntPred, Value};
use crate::analysis::leaves::Scalar;
use spirv::OpenclStd100Op as StdOp;

/// A function of single integers, as scalars or as lanes.
pub type Function = fn(&Builder, &[Value]) -> Value;

pub fn function(op: StdOp) -> Option<Function> {
    Some(match op {
        StdOp::s_abs => |b, x| b.intrinsic("llvm.abs", &[x[0], no(b)]),
        StdOp::u_abs => |_, x| x[0],
        StdOp::s_abs_diff => |b, x| b.sub(b.intrinsic("llvm.smax", x), b.intrinsic("llvm.smin", x)),
        StdOp::u_abs_diff => |b, x| b.sub(b.intrinsic("llvm.umax", x), b.intrinsic("llvm.umin", x)),
        StdOp::s_add_sat => |b, x| b.intrinsic("llvm.sadd.sat", x),
        StdOp::u_add_sat => |b, x| b.intrinsic("llvm.uadd.sat", x),
        StdOp::s_sub_sat => |b, x| b.intrinsic("llvm.ssub.sat", x),
        StdOp::u_sub_sat => |b, x| b.intrinsic("llvm.usub.sat", x),
        // Half the sum without its carry: what both have, and half of what one has.
        StdOp::s_hadd => |b, x| b.add(b.and(x[0], x[1]), b.ashr(b.xor(x[0], x[1]), one(b, x[0]))),
        StdOp::u_hadd => |b, x| b.add(b.and(x[0], x[1]), b.lshr(b.xor(x[0], x[1]), one(b, x[0]))),
        StdOp::s_rhadd => |b, x| b.sub(b.or(x[0], x[1]), b.ashr(b.xor(x[0], x[1]), one(b, x[0]))),
        StdOp::u_rhadd => |b, x| b.sub(b.or(x[0], x[1]), b.lshr(b.xor(x[0], x[1]), one(b, x[0]))),
        StdOp::s_clamp => |b, x| {
            let above = b.intrinsic("llvm.smax", &x[..2]);
            b.intrinsic("llvm.smin", &[above, x[2]])
        },
        StdOp::u_clamp => |b, x| {
            let above = b.intrinsic("llvm.umax", &x[..2]);
            b.intrinsic("llvm.umin", &[above, x[2]])
        },
        StdOp::s_max => |b, x| b.intrinsic("llvm.smax", x),
        StdOp::u_max => |b, x| b.intrinsic("llvm.umax", x),
        StdOp::s_min => |b, x| b.intrinsic("llvm.smin", x),
        StdOp::u_min => |b, x| b.intrinsic("llvm.umin", x),
        StdOp::clz => |b, x| b.intrinsic("llvm.ctlz", &[x[0], no(b)]),
        StdOp::ctz => |b, x| b.intrinsic("llvm.cttz", &[x[0], no(b)]),
        StdOp::popcount => |b, x| b.intrinsic("llvm.ctpop", x),
        StdOp::rotate => |b, x| b.intrinsic("llvm.fshl", &[x[0], x[0], x[1]]),
        StdOp::s_mul_hi => |b, x| mul_hi(b, x[0], x[1], true),
        StdOp::u_mul_hi => |b, x| mul_hi(b, x[0], x[1], false),
        StdOp::s_mad_hi => |b, x| b.add(mul_hi(b, x[0], x[1], true), x[2]),
        StdOp::u_mad_hi => |b, x| b.add(mul_hi(b, x[0], x[1], false), x[2]),
        StdOp::s_mad_sat => |b, x| mad_sat_signed(b, x),
        StdOp::u_mad_sat => |b, x| mad_sat_unsigned(b, x),
        StdOp::s_upsample | StdOp::u_upsample => |b, x| upsample(b, x),
        _ => return None,
    })
}

/// The immediate that says that an intrinsic's result is defined for every operand.
fn no(b: &Builder) -> Value {
    b.int(Scalar::Bool, 1, 0)
}

fn one(b: &Builder, like: Value) -> Value {
    constant(b, like, 1)
}

fn constant(b: &Builder, like: Value, value: u64) -> Value {
    b.int(b.scalar_of(like), b.lanes(like), value)
}

/// The integer type of twice the width; none for 64 bits.
fn doubled(b: &Builder, x: Value) -> Option<Scalar> {
    Scalar::machine_int(2 * b.scalar_of(x).bits())
}

fn extend(b: &Builder, x: Value, to: Scalar, signed: bool) -> Value {
    if signed { b.sext_or_trunc(x, to) } else { b.zext_or_trunc(x, to) }
}

/// The upper half of a product.
pub(in crate::lower) fn mul_hi(b: &Builder, x: Value, y: Value, signed: bool) -> Value {
    let (scalar, lanes) = (b.scalar_of(x), b.lanes(x));
    if let Some(wide) = doubled(b, x) {
        let product = b.mul(extend(b, x, wide, signed), extend(b, y, wide, signed));
        let high = b.lshr(product, b.int(wide, lanes, u64::from(scalar.bits())));
        return b.zext_or_trunc(high, scalar);
    }
    // Long multiplication with digits of 32 bits.
    let (shift, mask) = (constant(b, x, 32), constant(b, x, 0xffff_ffff));
    let (x_low, x_high) = (b.and(x, mask), b.lshr(x, shift));
    let (y_low, y_high) = (b.and(y, mask), b.lshr(y, shift));
    let first = b.lshr(b.mul(x_low, y_low), shift);
    let second = b.add(b.mul(x_high, y_low), first);
    let third = b.add(b.mul(x_low, y_high), b.and(second, mask));
    let high = b.add(b.mul(x_high, y_high), b.add(b.lshr(second, shift), b.lshr(third, shift)));
    if !signed {
        return high;
    }
    // A negative operand counts as 2^64 too much: the other one is in the upper half once too often.
    let sign = constant(b, x, 63);
    let excess = b.add(b.and(b.ashr(x, sign), y), b.and(b.ashr(y, sign), x));
    b.sub(high, excess)
}

fn mad_sat_signed(b: &Builder, x: &[Value]) -> Value {
    let (scalar, lanes) = (b.scalar_of(x[0]), b.lanes(x[0]));
    let most = u64::MAX >> (65 - scalar.bits());
    if let Some(wide) = doubled(b, x[0]) {
        let product = b.mul(b.sext_or_trunc(x[0], wide), b.sext_or_trunc(x[1], wide));
        let sum = b.add(product, b.sext_or_trunc(x[2], wide));
        let sum = b.intrinsic("llvm.smin", &[sum, b.int(wide, lanes, most)]);
        let sum = b.intrinsic("llvm.smax", &[sum, b.int(wide, lanes, !most)]);
        return b.zext_or_trunc(sum, scalar);
    }
    let sign = constant(b, x[0], 63);
    let (high, low) = (mul_hi(b, x[0], x[1], true), b.mul(x[0], x[1]));
    let sum = b.add(low, x[2]);
    let carry = b.zext_or_trunc(b.icmp(IntPred::LLVMIntULT, sum, low), scalar);
    let high = b.add(b.add(high, b.ashr(x[2], sign)), carry);
    let limit = b.xor(b.ashr(high, sign), constant(b, x[0], most));
    b.select(b.icmp(IntPred::LLVMIntEQ, high, b.ashr(sum, sign)), sum, limit)
}

fn mad_sat_unsigned(b: &Builder, x: &[Value]) -> Value {
    let overflow = b.icmp(IntPred::LLVMIntNE, mul_hi(b, x[0], x[1], false), constant(b, x[0], 0));
    let sum = b.intrinsic("llvm.uadd.sat", &[b.mul(x[0], x[1]), x[2]]);
    b.select(overflow, constant(b, x[0], u64::MAX), sum)
}

/// The first operand above the bits of the second, in a type of twice the width.
fn upsample(b: &Builder, x: &[Value]) -> Value {
    let wide = doubled(b, x[0]).unwrap_or(Scalar::I64);
    let shift = b.int(wide, b.lanes(x[0]), u64::from(b.scalar_of(x[0]).bits()));
    b.or(b.shl(b.zext_or_trunc(x[0], wide), shift), b.zext_or_trunc(x[1], wide))
}
