//! Types of barriers, group instructions and sub-group instructions (SPIR-V 1.2 §3.32.20, §3.32.21).

use super::ctx::{Ctx, Scalar, require};
use crate::module::{Inst, Type, TypeId};
use spirv::{GroupOperation, StorageClass};

fn word(ctx: &Ctx<'_>, inst: &Inst, at: usize) -> Result<(), String> {
    let fine = ctx.operand_lanes(inst, at)? == (Scalar::Int(32), 1);
    require(fine, || format!("operand {at} is not a 32-bit integer"))
}

/// The execution scope decides what code is made: it is a constant.
fn scope(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    word(ctx, inst, 0)?;
    ctx.constant(inst, 0).map(|_| ())
}

pub(super) fn control_barrier(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 3)?;
    scope(ctx, inst)?;
    (1..3).try_for_each(|at| word(ctx, inst, at))
}

pub(super) fn memory_barrier(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 2)?;
    (0..2).try_for_each(|at| word(ctx, inst, at))
}

fn is_bool(ctx: &Ctx<'_>, ty: TypeId) -> bool {
    *ctx.get(ty) == Type::Bool
}

fn bool_result(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    require(is_bool(ctx, ctx.result(inst)?), || "the result is not Boolean".into())
}

pub(super) fn elect(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 1)?;
    scope(ctx, inst)?;
    bool_result(ctx, inst)
}

pub(super) fn group_vote(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 2)?;
    scope(ctx, inst)?;
    bool_result(ctx, inst)?;
    require(is_bool(ctx, ctx.ty(inst, 1)?), || "the predicate is not Boolean".into())
}

pub(super) fn all_equal(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 2)?;
    scope(ctx, inst)?;
    bool_result(ctx, inst)?;
    ctx.operand_lanes(inst, 1).map(|_| ())
}

fn scalar_or_vector_result(ctx: &Ctx<'_>, inst: &Inst, value: usize) -> Result<(), String> {
    ctx.result_lanes(inst)?;
    ctx.operand_is(inst, value, ctx.result(inst)?)
}

/// The local id is an integer, or for a work-group a vector of two or three.
pub(super) fn group_broadcast(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 3)?;
    scope(ctx, inst)?;
    scalar_or_vector_result(ctx, inst, 1)?;
    match ctx.operand_lanes(inst, 2)? {
        (Scalar::Int(_), 1..=3) => Ok(()),
        _ => Err("the local id is not made of one to three integers".into()),
    }
}

pub(super) fn broadcast_first(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 2)?;
    scope(ctx, inst)?;
    scalar_or_vector_result(ctx, inst, 1)
}

/// Operands: scope, operation, value and, where clustered, the cluster's size.
fn reduction(ctx: &Ctx<'_>, inst: &Inst, fits: fn(Scalar) -> bool) -> Result<(), String> {
    scope(ctx, inst)?;
    let operation = ctx.lit(inst, 1)?;
    let operation = u32::try_from(operation).ok().and_then(GroupOperation::from_u32);
    match operation {
        Some(GroupOperation::Reduce | GroupOperation::InclusiveScan | GroupOperation::ExclusiveScan) => {
            ctx.count(inst, 3)?;
        }
        Some(GroupOperation::ClusteredReduce) => {
            ctx.count(inst, 4)?;
            let cluster = ctx.constant(inst, 3)?;
            require(cluster.is_power_of_two(), || format!("a cluster of {cluster}"))?;
        }
        _ => return Err("the group operation is unknown".into()),
    }
    let (scalar, _) = ctx.result_lanes(inst)?;
    require(fits(scalar), || format!("the result is {scalar:?}"))?;
    ctx.operand_is(inst, 2, ctx.result(inst)?)
}

pub(super) fn group_int(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    reduction(ctx, inst, |scalar| matches!(scalar, Scalar::Int(_)))
}

pub(super) fn group_float(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    reduction(ctx, inst, |scalar| matches!(scalar, Scalar::Float(_)))
}

pub(super) fn group_bool(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    reduction(ctx, inst, |scalar| scalar == Scalar::Bool)
}

/// Operands: scope, destination, source, number of elements, stride, event.
pub(super) fn async_copy(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 6)?;
    scope(ctx, inst)?;
    let ((to, a), (from, b)) = (ctx.pointer(inst, 1)?, ctx.pointer(inst, 2)?);
    let classes = [StorageClass::Workgroup, StorageClass::CrossWorkgroup];
    let fine =
        a == b && to != from && classes.contains(&to) && classes.contains(&from) && ctx.lanes(a).is_some();
    require(fine, || "the copy is not between local and global memory of one scalar or vector type".into())?;
    for at in 3..5 {
        require(matches!(ctx.operand_lanes(inst, at)?, (Scalar::Int(_), 1)), || {
            format!("operand {at} is not a scalar integer")
        })?;
    }
    let event = |ty: TypeId| *ctx.get(ty) == Type::Event;
    require(event(ctx.result(inst)?) && event(ctx.ty(inst, 5)?), || "the event is none".into())
}

pub(super) fn wait_events(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 3)?;
    scope(ctx, inst)?;
    word(ctx, inst, 1)?;
    let (_, pointee) = ctx.pointer(inst, 2)?;
    require(*ctx.get(pointee) == Type::Event, || "the list is not one of events".into())
}

/// Four 32-bit words: one bit a lane.
fn is_ballot(ctx: &Ctx<'_>, ty: TypeId) -> Result<(), String> {
    require(ctx.lanes(ty) == Some((Scalar::Int(32), 4)), || format!("{} is not a ballot", ctx.show(ty)))
}

pub(super) fn ballot(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 2)?;
    scope(ctx, inst)?;
    is_ballot(ctx, ctx.result(inst)?)?;
    require(is_bool(ctx, ctx.ty(inst, 1)?), || "the predicate is not Boolean".into())
}

pub(super) fn inverse_ballot(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 2)?;
    scope(ctx, inst)?;
    bool_result(ctx, inst)?;
    is_ballot(ctx, ctx.ty(inst, 1)?)
}

pub(super) fn ballot_bit_extract(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 3)?;
    scope(ctx, inst)?;
    bool_result(ctx, inst)?;
    is_ballot(ctx, ctx.ty(inst, 1)?)?;
    word(ctx, inst, 2)
}

pub(super) fn ballot_bit_count(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 3)?;
    scope(ctx, inst)?;
    let operation = u32::try_from(ctx.lit(inst, 1)?).ok().and_then(GroupOperation::from_u32);
    let known = [GroupOperation::Reduce, GroupOperation::InclusiveScan, GroupOperation::ExclusiveScan];
    require(operation.is_some_and(|operation| known.contains(&operation)), || {
        "the group operation is unknown".into()
    })?;
    is_ballot(ctx, ctx.ty(inst, 2)?)?;
    require(matches!(ctx.result_lanes(inst)?, (Scalar::Int(_), 1)), || {
        "the result is not a scalar integer".into()
    })
}

pub(super) fn ballot_find(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 2)?;
    scope(ctx, inst)?;
    is_ballot(ctx, ctx.ty(inst, 1)?)?;
    require(matches!(ctx.result_lanes(inst)?, (Scalar::Int(_), 1)), || {
        "the result is not a scalar integer".into()
    })
}

pub(super) fn shuffle(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 3)?;
    scope(ctx, inst)?;
    scalar_or_vector_result(ctx, inst, 1)?;
    word(ctx, inst, 2)
}

/// Operands: scope, value, delta and, where clustered, the cluster's size.
pub(super) fn rotate(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    if inst.operands.len() == 3 {
        return shuffle(ctx, inst);
    }
    ctx.count(inst, 4)?;
    scope(ctx, inst)?;
    scalar_or_vector_result(ctx, inst, 1)?;
    word(ctx, inst, 2)?;
    let cluster = ctx.constant(inst, 3)?;
    require(cluster.is_power_of_two(), || format!("a cluster of {cluster}"))
}

pub(super) fn khr_vote(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 1)?;
    bool_result(ctx, inst)?;
    require(is_bool(ctx, ctx.ty(inst, 0)?), || "the predicate is not Boolean".into())
}

pub(super) fn khr_ballot(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 1)?;
    is_ballot(ctx, ctx.result(inst)?)?;
    require(is_bool(ctx, ctx.ty(inst, 0)?), || "the predicate is not Boolean".into())
}

pub(super) fn khr_first(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 1)?;
    scalar_or_vector_result(ctx, inst, 0)
}

pub(super) fn intel_shuffle(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 2)?;
    scalar_or_vector_result(ctx, inst, 0)?;
    word(ctx, inst, 1)
}

pub(super) fn intel_shuffle_pair(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 3)?;
    (0..2).try_for_each(|at| scalar_or_vector_result(ctx, inst, at))?;
    word(ctx, inst, 2)
}

/// The data is a scalar or a vector of what the pointer points to.
fn is_block(ctx: &Ctx<'_>, data: TypeId, pointee: TypeId) -> Result<(), String> {
    let elem = match ctx.get(data) {
        Type::Vector { elem, .. } => *elem,
        _ => data,
    };
    let fine = elem == pointee && ctx.lanes(data).is_some_and(|(scalar, _)| scalar != Scalar::Bool);
    require(fine, || format!("{} is no block of {}", ctx.show(data), ctx.show(pointee)))
}

pub(super) fn block_read(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 1)?;
    let (_, pointee) = ctx.pointer(inst, 0)?;
    is_block(ctx, ctx.result(inst)?, pointee)
}

pub(super) fn block_write(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 2)?;
    let (class, pointee) = ctx.pointer(inst, 0)?;
    let read_only = matches!(class, StorageClass::Input | StorageClass::UniformConstant);
    require(!read_only, || format!("{class:?} memory is read-only"))?;
    is_block(ctx, ctx.ty(inst, 1)?, pointee)
}
