//! Types of arithmetic, bit, relational and logical instructions (SPIR-V 1.2 §3.32.13 to §3.32.15).

use super::ctx::{Ctx, Scalar, require};
use crate::module::{Inst, Type, TypeId};
use spirv::PackedVectorFormat;

/// The result is of a scalar kind, and `count` operands are of the result's type.
fn same(ctx: &Ctx<'_>, inst: &Inst, count: usize, kind: fn(Scalar) -> bool) -> Result<(), String> {
    ctx.count(inst, count)?;
    let ty = ctx.result(inst)?;
    let (scalar, _) = ctx.result_lanes(inst)?;
    require(kind(scalar), || format!("the result is {}", ctx.show(ty)))?;
    (0..count).try_for_each(|at| ctx.operand_is(inst, at, ty))
}

fn is_int(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::Int(_))
}

fn is_float(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::Float(_))
}

fn is_bool(scalar: Scalar) -> bool {
    scalar == Scalar::Bool
}

pub(super) fn int_unary(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    same(ctx, inst, 1, is_int)
}

pub(super) fn int_binary(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    same(ctx, inst, 2, is_int)
}

pub(super) fn float_unary(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    same(ctx, inst, 1, is_float)
}

pub(super) fn float_binary(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    same(ctx, inst, 2, is_float)
}

pub(super) fn float_ternary(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    same(ctx, inst, 3, is_float)
}

pub(super) fn bitwise_function(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    const FUNCTIONS: u64 = 256;
    ctx.count(inst, 4)?;
    let ty = ctx.result(inst)?;
    require(is_int(ctx.result_lanes(inst)?.0), || "the result is not an integer".into())?;
    (0..3).try_for_each(|at| ctx.operand_is(inst, at, ty))?;
    require(ctx.operand_lanes(inst, 3)? == (Scalar::Int(32), 1), || {
        "the function's number is not a 32-bit integer".into()
    })?;
    let number = ctx.constant(inst, 3)?;
    require(number < FUNCTIONS, || format!("function {number} of three bits, of {FUNCTIONS}"))
}

pub(super) fn bool_unary(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    same(ctx, inst, 1, is_bool)
}

pub(super) fn bool_binary(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    same(ctx, inst, 2, is_bool)
}

pub(super) fn bit_count(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 1)?;
    let ((result, lanes), (base, count)) = (ctx.result_lanes(inst)?, ctx.operand_lanes(inst, 0)?);
    require(is_int(result) && is_int(base) && lanes == count, || {
        "operand and result are no such integers".into()
    })
}

/// The shift may have another width than the base.
pub(super) fn shift(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 2)?;
    let (scalar, lanes) = ctx.result_lanes(inst)?;
    let (amount, count) = ctx.operand_lanes(inst, 1)?;
    ctx.operand_is(inst, 0, ctx.result(inst)?)?;
    require(is_int(scalar) && is_int(amount) && lanes == count, || {
        "base and shift are no such integers".into()
    })
}

fn scalar_int(ctx: &Ctx<'_>, inst: &Inst, at: usize) -> Result<(), String> {
    match ctx.operand_lanes(inst, at)? {
        (Scalar::Int(_), 1) => Ok(()),
        _ => Err(format!("operand {at} is not a scalar integer")),
    }
}

pub(super) fn bit_field_insert(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 4)?;
    require(is_int(ctx.result_lanes(inst)?.0), || "the result is not an integer".into())?;
    (0..2).try_for_each(|at| ctx.operand_is(inst, at, ctx.result(inst)?))?;
    (2..4).try_for_each(|at| scalar_int(ctx, inst, at))
}

pub(super) fn bit_field_extract(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 3)?;
    require(is_int(ctx.result_lanes(inst)?.0), || "the result is not an integer".into())?;
    ctx.operand_is(inst, 0, ctx.result(inst)?)?;
    (1..3).try_for_each(|at| scalar_int(ctx, inst, at))
}

fn element(ctx: &Ctx<'_>, ty: TypeId) -> TypeId {
    match ctx.get(ty) {
        Type::Vector { elem, .. } => *elem,
        _ => ty,
    }
}

pub(super) fn vector_times_scalar(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 2)?;
    let ty = ctx.result(inst)?;
    let (scalar, lanes) = ctx.result_lanes(inst)?;
    require(is_float(scalar) && lanes > 1, || "the result is not a floating-point vector".into())?;
    ctx.operand_is(inst, 0, ty)?;
    ctx.operand_is(inst, 1, element(ctx, ty))
}

pub(super) fn dot(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 2)?;
    let vector = ctx.ty(inst, 0)?;
    let (scalar, lanes) = ctx.operand_lanes(inst, 0)?;
    ctx.operand_is(inst, 1, vector)?;
    let fine = is_float(scalar) && lanes > 1 && element(ctx, vector) == ctx.result(inst)?;
    require(fine, || "the operands are not vectors of the result's type".into())
}

/// Two vectors of integers, or packed into 32 bits by the format behind them.
pub(super) fn int_dot(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    int_dot_of(ctx, inst, 2)
}

pub(super) fn int_dot_accumulate(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.operand_is(inst, 2, ctx.result(inst)?)?;
    int_dot_of(ctx, inst, 3)
}

/// `format` is the place of the packed format.
fn int_dot_of(ctx: &Ctx<'_>, inst: &Inst, format: usize) -> Result<(), String> {
    const BITS_OF_PACKED: u32 = 8;
    ctx.operand_is(inst, 1, ctx.ty(inst, 0)?)?;
    let wide = match ctx.operand_lanes(inst, 0)? {
        (Scalar::Int(32), 1) => {
            ctx.count(inst, format + 1)?;
            let known = ctx.lit(inst, format)? == PackedVectorFormat::PackedVectorFormat4x8Bit as u64;
            require(known, || "the packed format is unknown".into())?;
            BITS_OF_PACKED
        }
        (Scalar::Int(width), 2..) => {
            ctx.count(inst, format)?;
            width
        }
        _ => return Err("the operands are neither vectors of integers nor packed into 32 bits".into()),
    };
    match ctx.result_lanes(inst)? {
        (Scalar::Int(width), 1) if width >= wide => Ok(()),
        _ => Err("the result is not an integer at least as wide as the components".into()),
    }
}

/// The result is a structure of two values of the operands' type.
pub(super) fn extended(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 2)?;
    let Type::Struct { members, .. } = ctx.get(ctx.result(inst)?) else {
        return Err("the result is not a structure".into());
    };
    let &[low, high] = members.as_slice() else { return Err("the structure has not two members".into()) };
    let integer = ctx.lanes(low).is_some_and(|(scalar, _)| is_int(scalar));
    require(low == high && integer, || "the structure's members are not one integer type".into())?;
    (0..2).try_for_each(|at| ctx.operand_is(inst, at, low))
}

fn bool_result(ctx: &Ctx<'_>, inst: &Inst, lanes: u32) -> Result<(), String> {
    require(ctx.result_lanes(inst)? == (Scalar::Bool, lanes), || {
        format!("the result is not {lanes} Booleans")
    })
}

fn compare(ctx: &Ctx<'_>, inst: &Inst, kind: fn(Scalar) -> bool) -> Result<(), String> {
    ctx.count(inst, 2)?;
    let (scalar, lanes) = ctx.operand_lanes(inst, 0)?;
    require(kind(scalar), || format!("operand 0 is {scalar:?}"))?;
    ctx.operand_is(inst, 1, ctx.ty(inst, 0)?)?;
    bool_result(ctx, inst, lanes)
}

pub(super) fn int_compare(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    compare(ctx, inst, is_int)
}

pub(super) fn float_compare(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    compare(ctx, inst, is_float)
}

pub(super) fn float_classify(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 1)?;
    let (scalar, lanes) = ctx.operand_lanes(inst, 0)?;
    require(is_float(scalar), || format!("operand 0 is {scalar:?}"))?;
    bool_result(ctx, inst, lanes)
}

pub(super) fn reduce_bool(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 1)?;
    let (scalar, lanes) = ctx.operand_lanes(inst, 0)?;
    require(is_bool(scalar) && lanes > 1, || "the operand is not a vector of Booleans".into())?;
    bool_result(ctx, inst, 1)
}

pub(super) fn select(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 3)?;
    let ty = ctx.result(inst)?;
    (1..3).try_for_each(|at| ctx.operand_is(inst, at, ty))?;
    let (condition, count) = ctx.operand_lanes(inst, 0)?;
    require(condition == Scalar::Bool, || "the condition is not Boolean".into())?;
    let lanes = ctx.lanes(ty).map_or(1, |(_, lanes)| lanes);
    // One condition selects whole objects, of any type but void.
    require(count == 1 || count == lanes, || format!("{count} conditions select among {lanes} components"))?;
    require(!matches!(ctx.get(ty), Type::Void), || "nothing to select".into())
}

pub(super) fn expect(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    same(ctx, inst, 2, |scalar| is_int(scalar) || is_bool(scalar))
}

pub(super) fn assume(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 1)?;
    require(ctx.operand_lanes(inst, 0)? == (Scalar::Bool, 1), || {
        "the condition is not a scalar Boolean".into()
    })
}
