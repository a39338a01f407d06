//! Types of composite instructions (SPIR-V 1.2 §3.32.12).

use super::ctx::{Ctx, Scalar, require};
use crate::demote::same_layout;
use crate::module::{Inst, Type, TypeId};

/// Follows literal indices from operand `first` on.
fn walk(ctx: &Ctx<'_>, inst: &Inst, mut ty: TypeId, first: usize) -> Result<TypeId, String> {
    require(inst.operands.len() > first, || "there is no index".into())?;
    for at in first..inst.operands.len() {
        let index = ctx.lit(inst, at)?;
        let member = match ctx.get(ty) {
            Type::Vector { elem, len } if index < u64::from(*len) => Some(*elem),
            Type::Array { elem, len } if index < *len => Some(*elem),
            Type::Struct { members, .. } => {
                usize::try_from(index).ok().and_then(|at| members.get(at)).copied()
            }
            _ => None,
        };
        ty = member.ok_or_else(|| format!("{} has no constituent {index}", ctx.show(ty)))?;
    }
    Ok(ty)
}

pub(super) fn extract(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    let found = walk(ctx, inst, ctx.ty(inst, 0)?, 1)?;
    let wanted = ctx.result(inst)?;
    require(found == wanted, || {
        format!("the constituent is {}, the result {}", ctx.show(found), ctx.show(wanted))
    })
}

pub(super) fn insert(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    let ty = ctx.result(inst)?;
    ctx.operand_is(inst, 1, ty)?;
    let member = walk(ctx, inst, ty, 2)?;
    ctx.operand_is(inst, 0, member)
}

pub(super) fn construct(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    let ty = ctx.result(inst)?;
    let count = inst.operands.len();
    match ctx.get(ty) {
        Type::Vector { elem, len } => {
            let mut lanes = 0;
            for at in 0..count {
                let found = ctx.ty(inst, at)?;
                let (part, width) = vector(ctx, found).unwrap_or((found, 1));
                require(part == *elem, || format!("operand {at} is {}", ctx.show(found)))?;
                lanes += width;
            }
            require(lanes == *len && count > 1, || format!("{lanes} components for {len}"))
        }
        Type::Array { elem, len } => {
            require(count as u64 == *len, || format!("{count} elements for {len}"))?;
            (0..count).try_for_each(|at| ctx.operand_is(inst, at, *elem))
        }
        Type::Struct { members, .. } => {
            require(count == members.len(), || format!("{count} members for {}", members.len()))?;
            members.iter().enumerate().try_for_each(|(at, member)| ctx.operand_is(inst, at, *member))
        }
        _ => Err(format!("the result is {}, not a composite", ctx.show(ty))),
    }
}

fn vector(ctx: &Ctx<'_>, ty: TypeId) -> Result<(TypeId, u32), String> {
    match ctx.get(ty) {
        Type::Vector { elem, len } => Ok((*elem, *len)),
        _ => Err(format!("{} is not a vector", ctx.show(ty))),
    }
}

fn scalar_index(ctx: &Ctx<'_>, inst: &Inst, at: usize) -> Result<(), String> {
    require(matches!(ctx.operand_lanes(inst, at)?, (Scalar::Int(_), 1)), || {
        "the index is not a scalar integer".into()
    })
}

pub(super) fn extract_dynamic(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 2)?;
    let (elem, _) = vector(ctx, ctx.ty(inst, 0)?)?;
    require(elem == ctx.result(inst)?, || "the result is not the vector's component type".into())?;
    scalar_index(ctx, inst, 1)
}

pub(super) fn insert_dynamic(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 3)?;
    let ty = ctx.result(inst)?;
    let (elem, _) = vector(ctx, ty)?;
    ctx.operand_is(inst, 0, ty)?;
    ctx.operand_is(inst, 1, elem)?;
    scalar_index(ctx, inst, 2)
}

pub(super) fn shuffle(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    const UNDEFINED: u64 = 0xFFFF_FFFF;
    let (elem, len) = vector(ctx, ctx.result(inst)?)?;
    let ((a, a_len), (b, b_len)) = (vector(ctx, ctx.ty(inst, 0)?)?, vector(ctx, ctx.ty(inst, 1)?)?);
    require(a == elem && b == elem, || {
        "the vectors' components are of other types than the result's".into()
    })?;
    require(inst.operands.len() == len as usize + 2, || {
        format!("{} components for {len}", inst.operands.len() - 2)
    })?;
    (2..inst.operands.len()).try_for_each(|at| {
        let component = ctx.lit(inst, at)?;
        let fine = component == UNDEFINED || component < u64::from(a_len + b_len);
        require(fine, || format!("component {component} of {}", a_len + b_len))
    })
}

pub(super) fn copy_object(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 1)?;
    ctx.operand_is(inst, 0, ctx.result(inst)?)
}

/// The same shape, whatever the decorations.
pub(super) fn copy_logical(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 1)?;
    let (from, to) = (ctx.ty(inst, 0)?, ctx.result(inst)?);
    let mut pairs = vec![(from, to)];
    // As many pairs as the type has nodes, which the limit on a value's size keeps small.
    while let Some((a, b)) = pairs.pop() {
        match (ctx.get(a), ctx.get(b)) {
            _ if a == b => {}
            (Type::Array { elem: a, len: m }, Type::Array { elem: b, len: n }) if m == n => {
                pairs.push((*a, *b))
            }
            (Type::Struct { members: a, .. }, Type::Struct { members: b, .. }) if a.len() == b.len() => {
                pairs.extend(a.iter().copied().zip(b.iter().copied()));
            }
            _ => return Err(format!("{} does not match {}", ctx.show(a), ctx.show(b))),
        }
    }
    require(!ctx.is_large(to) || same_layout(ctx.module, from, to), || {
        "a value that goes through memory is copied to a type of another layout".into()
    })
}

pub(super) fn undef(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 0)?;
    let ty = ctx.result(inst)?;
    match ctx.get(ty) {
        Type::Void | Type::Function { .. } => Err(format!("{} has no undefined value", ctx.show(ty))),
        _ => Ok(()),
    }
}
