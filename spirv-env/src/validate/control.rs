//! Types of control flow and function instructions (SPIR-V 1.2 §3.32.9, §3.32.17).

use super::ctx::{Ctx, Scalar, require};
use crate::indirect::CallShape;
use crate::module::{Inst, Type, TypeId};
use rustc_hash::FxHashSet;

pub(super) fn branch(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 1)
}

pub(super) fn unreachable(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 0)
}

pub(super) fn branch_conditional(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    require(ctx.operand_lanes(inst, 0)? == (Scalar::Bool, 1), || {
        "the condition is not a scalar Boolean".into()
    })?;
    let weights = inst.operands.len().saturating_sub(3);
    require(weights == 0 || weights == 2, || format!("{weights} branch weights"))
}

/// Literals are read with the selector's width; here they only have to differ.
pub(super) fn switch(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    require(matches!(ctx.operand_lanes(inst, 0)?, (Scalar::Int(_), 1)), || {
        "the selector is not a scalar integer".into()
    })?;
    let mut seen = FxHashSet::default();
    (2..inst.operands.len()).step_by(2).try_for_each(|at| {
        let literal = ctx.lit(inst, at)?;
        require(seen.insert(literal), || format!("two cases for {literal}"))
    })
}

pub(super) fn return_nothing(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 0)?;
    require(*ctx.get(ctx.function.result) == Type::Void, || "the function returns a value".into())
}

pub(super) fn return_value(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 1)?;
    require(*ctx.get(ctx.function.result) != Type::Void, || "the function returns nothing".into())?;
    ctx.operand_is(inst, 0, ctx.function.result)
}

pub(super) fn phi(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    let ty = ctx.result(inst)?;
    require(*ctx.get(ty) != Type::Void, || "a phi of nothing".into())?;
    (0..inst.operands.len()).step_by(2).try_for_each(|at| ctx.operand_is(inst, at, ty))
}

pub(super) fn call(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    let callee = ctx.id(inst, 0)?;
    let Some(Type::Function { result, params }) = ctx.defs.type_of(callee).map(|ty| ctx.get(ty)) else {
        return Err(format!("{} is not a function", ctx.defs.raw(callee)));
    };
    require(*result == ctx.result(inst)?, || "the result is not of the function's type".into())?;
    let count = inst.operands.len() - 1;
    require(count == params.len(), || format!("{count} arguments for {} parameters", params.len()))?;
    params.iter().enumerate().try_for_each(|(at, param)| ctx.operand_is(inst, at + 1, *param))
}

/// A pointer to a function takes what its type says; one to anything else, which is how modules without typed pointers
/// have them, says nothing of what it takes.
pub(super) fn pointer_call(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    let (_, pointee) = ctx.pointer(inst, 0)?;
    let result = ctx.result(inst)?;
    let arguments = (1..inst.operands.len()).map(|at| ctx.ty(inst, at)).collect::<Result<Vec<_>, _>>()?;
    if let Type::Function { result: returned, params } = ctx.get(pointee) {
        require(agree(ctx, *returned, result), || "the result is not of the function's type".into())?;
        let (found, count) = (arguments.len(), params.len());
        require(found == count, || format!("{found} arguments for {count} parameters"))?;
        for (at, (argument, param)) in arguments.iter().zip(params).enumerate() {
            require(agree(ctx, *argument, *param), || {
                format!("argument {at} is {} instead of {}", ctx.show(*argument), ctx.show(*param))
            })?;
        }
    }
    CallShape::new(&ctx.module.types, Some(result), arguments).map(drop).ok_or_else(|| {
        format!("a call through a pointer hands over more than {} scalars", CallShape::MOST_SCALARS)
    })
}

/// Pointers of one storage class are passed alike, whatever they point to.
fn agree(ctx: &Ctx<'_>, a: TypeId, b: TypeId) -> bool {
    let class = |ty: TypeId| ctx.as_pointer(ty).map(|(class, _)| class);
    a == b || (class(a).is_some() && class(a) == class(b))
}
