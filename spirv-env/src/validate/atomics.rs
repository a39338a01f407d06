//! Types of atomic instructions (SPIR-V 1.2 §3.32.18). Widths are the environment's business.

use super::ctx::{Ctx, Scalar, require};
use crate::module::{Inst, TypeId};

/// Scopes and memory semantics are 32-bit integers.
fn words(ctx: &Ctx<'_>, inst: &Inst, places: std::ops::Range<usize>) -> Result<(), String> {
    places.into_iter().try_for_each(|at| {
        let fine = ctx.operand_lanes(inst, at)? == (Scalar::Int(32), 1);
        require(fine, || format!("operand {at} is not a 32-bit integer"))
    })
}

/// The type that the pointer points to: one scalar.
fn pointee(ctx: &Ctx<'_>, inst: &Inst) -> Result<(TypeId, Scalar), String> {
    let (_, ty) = ctx.pointer(inst, 0)?;
    match ctx.lanes(ty) {
        Some((scalar @ (Scalar::Int(_) | Scalar::Float(_)), 1)) => Ok((ty, scalar)),
        _ => Err(format!("an atomic on {}", ctx.show(ty))),
    }
}

fn result_is(ctx: &Ctx<'_>, inst: &Inst, ty: TypeId) -> Result<(), String> {
    require(ctx.result(inst)? == ty, || "the result is not what the pointer points to".into())
}

pub(super) fn load(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 3)?;
    words(ctx, inst, 1..3)?;
    result_is(ctx, inst, pointee(ctx, inst)?.0)
}

pub(super) fn store(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 4)?;
    words(ctx, inst, 1..3)?;
    ctx.operand_is(inst, 3, pointee(ctx, inst)?.0)
}

pub(super) fn exchange(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 4)?;
    words(ctx, inst, 1..3)?;
    let (ty, _) = pointee(ctx, inst)?;
    ctx.operand_is(inst, 3, ty)?;
    result_is(ctx, inst, ty)
}

fn int_pointee(ctx: &Ctx<'_>, inst: &Inst) -> Result<TypeId, String> {
    match pointee(ctx, inst)? {
        (ty, Scalar::Int(_)) => Ok(ty),
        (ty, _) => Err(format!("an integer atomic on {}", ctx.show(ty))),
    }
}

pub(super) fn compare_exchange(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 6)?;
    words(ctx, inst, 1..4)?;
    let ty = int_pointee(ctx, inst)?;
    (4..6).try_for_each(|at| ctx.operand_is(inst, at, ty))?;
    result_is(ctx, inst, ty)
}

pub(super) fn step(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 3)?;
    words(ctx, inst, 1..3)?;
    result_is(ctx, inst, int_pointee(ctx, inst)?)
}

pub(super) fn int_update(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    int_pointee(ctx, inst)?;
    exchange(ctx, inst)
}

pub(super) fn float_update(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    match pointee(ctx, inst)? {
        (_, Scalar::Float(_)) => exchange(ctx, inst),
        (ty, _) => Err(format!("a floating-point atomic on {}", ctx.show(ty))),
    }
}

fn flag(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 3)?;
    words(ctx, inst, 1..3)?;
    require(pointee(ctx, inst)?.1 == Scalar::Int(32), || "an atomic flag is a 32-bit integer".into())
}

pub(super) fn flag_test(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    require(ctx.result_lanes(inst)? == (Scalar::Bool, 1), || "the result is not Boolean".into())?;
    flag(ctx, inst)
}

pub(super) fn flag_clear(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    flag(ctx, inst)
}
