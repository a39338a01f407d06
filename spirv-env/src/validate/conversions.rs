//! Types of conversion instructions (SPIR-V 1.2 §3.32.11).

use super::ctx::{Ctx, Scalar, require};
use crate::module::{Inst, Type, TypeId};
use spirv::StorageClass;

fn convert(ctx: &Ctx<'_>, inst: &Inst, fits: fn(Scalar, Scalar) -> bool) -> Result<(), String> {
    ctx.count(inst, 1)?;
    let ((to, lanes), (from, count)) = (ctx.result_lanes(inst)?, ctx.operand_lanes(inst, 0)?);
    require(fits(from, to) && lanes == count, || format!("{count} x {from:?} to {lanes} x {to:?}"))
}

pub(super) fn int_to_int(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    convert(ctx, inst, |from, to| matches!((from, to), (Scalar::Int(_), Scalar::Int(_))))
}

pub(super) fn float_to_float(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    convert(ctx, inst, |from, to| matches!((from, to), (Scalar::Float(_), Scalar::Float(_))))
}

pub(super) fn float_to_int(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    convert(ctx, inst, |from, to| matches!((from, to), (Scalar::Float(_), Scalar::Int(_))))
}

pub(super) fn int_to_float(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    convert(ctx, inst, |from, to| matches!((from, to), (Scalar::Int(_), Scalar::Float(_))))
}

pub(super) fn float_to_bfloat16(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    convert(ctx, inst, |from, to| (from, to) == (Scalar::Float(32), Scalar::Int(16)))
}

pub(super) fn bfloat16_to_float(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    convert(ctx, inst, |from, to| (from, to) == (Scalar::Int(16), Scalar::Float(32)))
}

pub(super) fn round_to_tf32(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    convert(ctx, inst, |from, to| (from, to) == (Scalar::Float(32), Scalar::Float(32)))
}

fn result_pointer(ctx: &Ctx<'_>, inst: &Inst) -> Result<(StorageClass, TypeId), String> {
    let ty = ctx.result(inst)?;
    ctx.as_pointer(ty).ok_or_else(|| format!("the result is {}, not a pointer", ctx.show(ty)))
}

pub(super) fn pointer_to_int(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 1)?;
    ctx.pointer(inst, 0)?;
    require(matches!(ctx.result_lanes(inst)?, (Scalar::Int(_), 1)), || {
        "the result is not a scalar integer".into()
    })
}

pub(super) fn int_to_pointer(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 1)?;
    result_pointer(ctx, inst)?;
    require(matches!(ctx.operand_lanes(inst, 0)?, (Scalar::Int(_), 1)), || {
        "the operand is not a scalar integer".into()
    })
}

/// The storage classes that a generic pointer may point into.
fn is_generic_part(class: StorageClass) -> bool {
    matches!(class, StorageClass::Workgroup | StorageClass::CrossWorkgroup | StorageClass::Function)
}

/// Tables of C++'s virtual functions have all functions as Generic pointers to bytes, although the extension allows no
/// such cast.
fn is_of_function(ctx: &Ctx<'_>, class: StorageClass, pointee: TypeId) -> bool {
    class == StorageClass::CodeSectionINTEL || matches!(ctx.get(pointee), Type::Function { .. })
}

pub(super) fn to_generic(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 1)?;
    let ((from, a), (to, b)) = (ctx.pointer(inst, 0)?, result_pointer(ctx, inst)?);
    let fine =
        to == StorageClass::Generic && (is_of_function(ctx, from, a) || (is_generic_part(from) && a == b));
    require(fine, || format!("a {from:?} pointer becomes a {to:?} pointer, or its pointee changes"))
}

/// Among constants the pointee may change as well: the LLVM translator writes a table of strings so.
pub(super) fn constant_to_generic(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 1)?;
    let ((from, pointee), (to, _)) = (ctx.pointer(inst, 0)?, result_pointer(ctx, inst)?);
    let fine = to == StorageClass::Generic && (is_of_function(ctx, from, pointee) || is_generic_part(from));
    require(fine, || format!("a {from:?} pointer becomes a {to:?} pointer"))
}

pub(super) fn from_generic(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 1)?;
    cast_from_generic(ctx, inst)
}

/// Among constants the pointee may change here, too: XLA lists the variables that it uses so.
pub(super) fn constant_from_generic(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 1)?;
    let ((from, _), (to, pointee)) = (ctx.pointer(inst, 0)?, result_pointer(ctx, inst)?);
    let fine = from == StorageClass::Generic && (is_of_function(ctx, to, pointee) || is_generic_part(to));
    require(fine, || format!("a {from:?} pointer becomes a {to:?} pointer"))
}

pub(super) fn from_generic_explicit(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 2)?;
    let (class, _) = result_pointer(ctx, inst)?;
    let literal = ctx.lit(inst, 1)?;
    require(u64::from(class as u32) == literal, || "the storage class is not the result's".into())?;
    cast_from_generic(ctx, inst)
}

fn cast_from_generic(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    let ((from, a), (to, b)) = (ctx.pointer(inst, 0)?, result_pointer(ctx, inst)?);
    let fine =
        from == StorageClass::Generic && (is_of_function(ctx, to, b) || (is_generic_part(to) && a == b));
    require(fine, || format!("a {from:?} pointer becomes a {to:?} pointer, or its pointee changes"))
}

/// Pointers keep their storage class; an integer may stand for a pointer of as many bits; other values keep
/// their number of bits.
pub(super) fn bitcast(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 1)?;
    let (to, from) = (ctx.result(inst)?, ctx.ty(inst, 0)?);
    const POINTER_BITS: u32 = 64;
    let bits = |ty: TypeId| match (ctx.lanes(ty), ctx.get(ty)) {
        (Some((Scalar::Int(width) | Scalar::Float(width), lanes)), _) => Some(width * lanes),
        (None, Type::Pointer { .. }) => Some(POINTER_BITS),
        _ => None,
    };
    let fine = match (ctx.as_pointer(from), ctx.as_pointer(to)) {
        (Some((a, _)), Some((b, _))) => a == b,
        _ => bits(from).is_some() && bits(from) == bits(to),
    };
    require(fine, || format!("{} cannot be {}", ctx.show(from), ctx.show(to)))
}
