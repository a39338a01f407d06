//! Types of arithmetic, bit, relational and logical instructions (SPIR-V 1.2 §3.32.13 to §3.32.15).

use super::Check;
use super::ctx::{Ctx, Scalar, require};
use crate::module::{Inst, Type, TypeId};
use spirv::Op;

pub(super) fn check(op: Op) -> Option<Check> {
    use Op::*;
    Some(match op {
        SNegate | Not | BitReverse => int_unary,
        BitCount => bit_count,
        IAdd | ISub | IMul | UDiv | SDiv | UMod | SRem | SMod | BitwiseOr | BitwiseXor | BitwiseAnd => {
            int_binary
        }
        ShiftLeftLogical | ShiftRightLogical | ShiftRightArithmetic => shift,
        BitFieldInsert => bit_field_insert,
        BitFieldSExtract | BitFieldUExtract => bit_field_extract,
        FNegate => float_unary,
        FAdd | FSub | FMul | FDiv | FRem | FMod => float_binary,
        VectorTimesScalar => vector_times_scalar,
        Dot => dot,
        IAddCarry | ISubBorrow | UMulExtended | SMulExtended => extended,
        IEqual | INotEqual | ULessThan | SLessThan | UGreaterThan | SGreaterThan | ULessThanEqual
        | SLessThanEqual | UGreaterThanEqual | SGreaterThanEqual => int_compare,
        FOrdEqual
        | FUnordEqual
        | FOrdNotEqual
        | FUnordNotEqual
        | FOrdLessThan
        | FUnordLessThan
        | FOrdGreaterThan
        | FUnordGreaterThan
        | FOrdLessThanEqual
        | FUnordLessThanEqual
        | FOrdGreaterThanEqual
        | FUnordGreaterThanEqual
        | LessOrGreater
        | Ordered
        | Unordered => float_compare,
        IsNan | IsInf | IsFinite | IsNormal | SignBitSet => float_classify,
        LogicalEqual | LogicalNotEqual | LogicalOr | LogicalAnd => bool_binary,
        LogicalNot => bool_unary,
        Any | All => reduce_bool,
        Select => select,
        ExpectKHR => expect,
        AssumeTrueKHR => assume,
        _ => return None,
    })
}

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

fn int_unary(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    same(ctx, inst, 1, is_int)
}

fn int_binary(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    same(ctx, inst, 2, is_int)
}

fn float_unary(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    same(ctx, inst, 1, is_float)
}

fn float_binary(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    same(ctx, inst, 2, is_float)
}

fn bool_unary(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    same(ctx, inst, 1, is_bool)
}

fn bool_binary(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    same(ctx, inst, 2, is_bool)
}

fn bit_count(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 1)?;
    let ((result, lanes), (base, count)) = (ctx.result_lanes(inst)?, ctx.operand_lanes(inst, 0)?);
    require(is_int(result) && is_int(base) && lanes == count, || {
        "operand and result are no such integers".into()
    })
}

/// The shift may have another width than the base.
fn shift(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
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

fn bit_field_insert(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 4)?;
    require(is_int(ctx.result_lanes(inst)?.0), || "the result is not an integer".into())?;
    (0..2).try_for_each(|at| ctx.operand_is(inst, at, ctx.result(inst)?))?;
    (2..4).try_for_each(|at| scalar_int(ctx, inst, at))
}

fn bit_field_extract(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
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

fn vector_times_scalar(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 2)?;
    let ty = ctx.result(inst)?;
    let (scalar, lanes) = ctx.result_lanes(inst)?;
    require(is_float(scalar) && lanes > 1, || "the result is not a floating-point vector".into())?;
    ctx.operand_is(inst, 0, ty)?;
    ctx.operand_is(inst, 1, element(ctx, ty))
}

fn dot(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 2)?;
    let vector = ctx.ty(inst, 0)?;
    let (scalar, lanes) = ctx.operand_lanes(inst, 0)?;
    ctx.operand_is(inst, 1, vector)?;
    let fine = is_float(scalar) && lanes > 1 && element(ctx, vector) == ctx.result(inst)?;
    require(fine, || "the operands are not vectors of the result's type".into())
}

/// The result is a structure of two values of the operands' type.
fn extended(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
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

fn int_compare(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    compare(ctx, inst, is_int)
}

fn float_compare(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    compare(ctx, inst, is_float)
}

fn float_classify(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 1)?;
    let (scalar, lanes) = ctx.operand_lanes(inst, 0)?;
    require(is_float(scalar), || format!("operand 0 is {scalar:?}"))?;
    bool_result(ctx, inst, lanes)
}

fn reduce_bool(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 1)?;
    let (scalar, lanes) = ctx.operand_lanes(inst, 0)?;
    require(is_bool(scalar) && lanes > 1, || "the operand is not a vector of Booleans".into())?;
    bool_result(ctx, inst, 1)
}

fn select(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
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

fn expect(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    same(ctx, inst, 2, |scalar| is_int(scalar) || is_bool(scalar))
}

fn assume(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 1)?;
    require(ctx.operand_lanes(inst, 0)? == (Scalar::Bool, 1), || {
        "the condition is not a scalar Boolean".into()
    })
}
