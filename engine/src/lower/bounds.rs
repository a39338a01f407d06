//! Comparisons of numbers that grow by the same step from lane to lane, such as ids, with a bound that all lanes share.
//!
//! In 64 bits 16 lanes are two vectors, and each comparison of theirs compares twice and joins two masks, all of it on one port of
//! the processor. In 32 bits it is one instruction: of the numbers, where they are known to be small, and else of how far they are
//! from the first lane's.

use super::Lowerer;
use super::builder::{Builder, IntPred, Value};
use crate::analysis::leaves::Scalar;
use crate::error::EngineError;
use spirv_env::{Id, Inst};

/// More than any number that is compared in 32 bits; stands for all that is more than that.
const LARGE: u64 = u32::MAX as u64;

/// Farther from the first lane than any lane is. That its sign is clear helps processors that only compare signed numbers.
const FAR: u64 = i32::MAX as u64;

/// The lanes for which a comparison of integers is true, where it is one of a row with a bound.
pub fn compare(
    this: &mut Lowerer<'_, '_>,
    inst: &Inst,
    predicate: IntPred,
) -> Result<Option<Value>, EngineError> {
    if this.w == 1 || this.a.index_width(inst.id(0)) != Some(u64::BITS) {
        return Ok(None);
    }
    for (row, bound, predicate) in
        [(inst.id(0), inst.id(1), predicate), (inst.id(1), inst.id(0), mirrored(predicate))]
    {
        if let Some(step) = step_of(this, row)
            && let (Some(first), Some(bound)) = (this.leaf(row)?.scalar(), this.leaf(bound)?.of_all_lanes())
        {
            let (upper, b) = (this.a.upper(row, 0), &this.b);
            let (numbers, limit) = if upper.is_some_and(|upper| upper < LARGE) {
                let first = b.splat(b.zext_or_trunc(first, Scalar::I32), this.w);
                (b.add(first, b.steps(Scalar::I32, this.w, step)), limit_of_numbers(b, predicate, bound))
            } else if is_equality(predicate) {
                let distance = if step > 0 { b.sub(bound, first) } else { b.sub(first, bound) };
                (b.steps(Scalar::I32, this.w, step.abs()), least(b, distance, FAR))
            } else if upper.is_some() && step > 0 {
                (b.steps(Scalar::I32, this.w, step), limit_of_distances(b, predicate, first, bound))
            } else {
                // They may wrap around.
                return Ok(None);
            };
            let limit = b.splat(b.zext_or_trunc(limit, Scalar::I32), this.w);
            return Ok(Some(b.icmp(below_limit(predicate), numbers, limit)));
        }
    }
    Ok(None)
}

/// Whether a comparison of integers is true for all lanes, where it is one of a row with a bound, as a scalar: one of its ends is the lane to look at.
/// It may say no where numbers wrap around in the row.
pub fn holds_for_all(
    this: &mut Lowerer<'_, '_>,
    inst: &Inst,
    predicate: IntPred,
) -> Result<Option<Value>, EngineError> {
    if is_equality(predicate) {
        return Ok(None);
    }
    for (row, bound, predicate) in
        [(inst.id(0), inst.id(1), predicate), (inst.id(1), inst.id(0), mirrored(predicate))]
    {
        let (Some(step), Some(width)) = (step_of(this, row), this.a.index_width(row)) else { continue };
        let (Some(first), Some(bound)) = (this.leaf(row)?.scalar(), this.leaf(bound)?.of_all_lanes()) else {
            continue;
        };
        let b = &this.b;
        let by = step.wrapping_mul(i64::from(this.w) - 1) as u64;
        let last = b.add(first, b.int(b.scalar_of(first), 1, by));
        let is_of_less = below_limit(predicate) == IntPred::LLVMIntULT;
        let holds = b.icmp(predicate, if is_of_less == (step > 0) { last } else { first }, bound);
        // Numbers that are known to be small do not wrap around.
        let is_small = width == u64::BITS && this.a.upper(row, 0).is_some_and(|upper| upper < 1 << 63);
        if is_small {
            return Ok(Some(holds));
        }
        let grows = match (is_signed(predicate), step > 0) {
            (true, true) => IntPred::LLVMIntSGE,
            (true, false) => IntPred::LLVMIntSLE,
            (false, true) => IntPred::LLVMIntUGE,
            (false, false) => IntPred::LLVMIntULE,
        };
        return Ok(Some(b.and(holds, b.icmp(grows, last, first))));
    }
    Ok(None)
}

/// The step of a row whose lanes are near enough to each other.
fn step_of(this: &Lowerer<'_, '_>, row: Id) -> Option<i64> {
    let step = this.a.proven_step(this.current_block(), row)?;
    (step.unsigned_abs().checked_mul(u64::from(this.w - 1))? < FAR).then_some(step)
}

fn least(b: &Builder, number: Value, most: u64) -> Value {
    b.intrinsic("llvm.umin", &[number, b.i64(most)])
}

/// Numbers below this one are those for which the comparison with the bound is true, or for which it is false, or it is the one
/// that is equal. None of the numbers is negative, or as great as [`LARGE`].
fn limit_of_numbers(b: &Builder, predicate: IntPred, bound: Value) -> Value {
    let signed = |most: u64| b.intrinsic("llvm.smin", &[bound, b.i64(most)]);
    let positive = |limit: Value| b.intrinsic("llvm.smax", &[limit, b.i64(0)]);
    match predicate {
        IntPred::LLVMIntULE | IntPred::LLVMIntUGT => b.add(least(b, bound, LARGE - 1), b.i64(1)),
        IntPred::LLVMIntSLT | IntPred::LLVMIntSGE => positive(signed(LARGE)),
        IntPred::LLVMIntSLE | IntPred::LLVMIntSGT => positive(b.add(signed(LARGE - 1), b.i64(1))),
        _ => least(b, bound, LARGE),
    }
}

/// The same for how far numbers are from the first one, which grow and are not negative.
fn limit_of_distances(b: &Builder, predicate: IntPred, first: Value, bound: Value) -> Value {
    let open = |most: &str| least(b, b.sub(b.intrinsic(most, &[bound, first]), first), FAR);
    let closed = |order: IntPred| {
        let limit = b.add(least(b, b.sub(bound, first), FAR - 1), b.i64(1));
        b.select(b.icmp(order, bound, first), limit, b.i64(0))
    };
    match predicate {
        IntPred::LLVMIntULE | IntPred::LLVMIntUGT => closed(IntPred::LLVMIntUGE),
        IntPred::LLVMIntSLT | IntPred::LLVMIntSGE => open("llvm.smax"),
        IntPred::LLVMIntSLE | IntPred::LLVMIntSGT => closed(IntPred::LLVMIntSGE),
        _ => open("llvm.umax"),
    }
}

/// What a number has to be to the limit.
fn below_limit(predicate: IntPred) -> IntPred {
    match predicate {
        IntPred::LLVMIntEQ | IntPred::LLVMIntNE => predicate,
        IntPred::LLVMIntULT | IntPred::LLVMIntULE | IntPred::LLVMIntSLT | IntPred::LLVMIntSLE => {
            IntPred::LLVMIntULT
        }
        _ => IntPred::LLVMIntUGE,
    }
}

fn is_signed(predicate: IntPred) -> bool {
    use IntPred::{LLVMIntSGE, LLVMIntSGT, LLVMIntSLE, LLVMIntSLT};
    matches!(predicate, LLVMIntSLT | LLVMIntSLE | LLVMIntSGT | LLVMIntSGE)
}

/// What a comparison has to be for another one to be false.
pub fn inverse(predicate: IntPred) -> IntPred {
    match predicate {
        IntPred::LLVMIntEQ => IntPred::LLVMIntNE,
        IntPred::LLVMIntNE => IntPred::LLVMIntEQ,
        IntPred::LLVMIntUGT => IntPred::LLVMIntULE,
        IntPred::LLVMIntUGE => IntPred::LLVMIntULT,
        IntPred::LLVMIntULT => IntPred::LLVMIntUGE,
        IntPred::LLVMIntULE => IntPred::LLVMIntUGT,
        IntPred::LLVMIntSGT => IntPred::LLVMIntSLE,
        IntPred::LLVMIntSGE => IntPred::LLVMIntSLT,
        IntPred::LLVMIntSLT => IntPred::LLVMIntSGE,
        IntPred::LLVMIntSLE => IntPred::LLVMIntSGT,
    }
}

fn is_equality(predicate: IntPred) -> bool {
    matches!(predicate, IntPred::LLVMIntEQ | IntPred::LLVMIntNE)
}

/// The same comparison with its operands exchanged.
fn mirrored(predicate: IntPred) -> IntPred {
    match predicate {
        IntPred::LLVMIntEQ | IntPred::LLVMIntNE => predicate,
        IntPred::LLVMIntUGT => IntPred::LLVMIntULT,
        IntPred::LLVMIntUGE => IntPred::LLVMIntULE,
        IntPred::LLVMIntULT => IntPred::LLVMIntUGT,
        IntPred::LLVMIntULE => IntPred::LLVMIntUGE,
        IntPred::LLVMIntSGT => IntPred::LLVMIntSLT,
        IntPred::LLVMIntSGE => IntPred::LLVMIntSLE,
        IntPred::LLVMIntSLT => IntPred::LLVMIntSGT,
        IntPred::LLVMIntSLE => IntPred::LLVMIntSGE,
    }
}
