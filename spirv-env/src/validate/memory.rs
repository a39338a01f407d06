//! Types of memory instructions (SPIR-V 1.2 §3.32.8).

use super::ctx::{Ctx, Scalar, require};
use crate::defs::Def;
use crate::grammar::op_name;
use crate::module::{Id, Inst, Type, TypeId};
use crate::opcodes::Memory;
use spirv::{MemoryAccess, Scope, StorageClass};

/// Checks a memory access mask and its parameters; the place behind them.
fn access(ctx: &Ctx<'_>, inst: &Inst, at: usize) -> Result<usize, String> {
    if at >= inst.operands.len() {
        return Ok(at);
    }
    let mask = MemoryAccess::from_bits_truncate(ctx.lit(inst, at)? as u32);
    let mut next = at + 1;
    if mask.contains(MemoryAccess::ALIGNED) {
        let align = ctx.lit(inst, next)?;
        require(align.is_power_of_two(), || format!("an alignment of {align} bytes"))?;
        next += 1;
    }
    let scoped = MemoryAccess::MAKE_POINTER_AVAILABLE | MemoryAccess::MAKE_POINTER_VISIBLE;
    require(!mask.intersects(scoped), || {
        "availability and visibility are of the Vulkan memory model".into()
    })?;
    for bit in [MemoryAccess::ALIAS_SCOPE_INTEL_MASK, MemoryAccess::NO_ALIAS_INTEL_MASK] {
        if mask.contains(bit) {
            let id = ctx.id(inst, next)?;
            require(ctx.defs.get(id) == Def::Inert, || "an alias list is none".into())?;
            next += 1;
        }
    }
    Ok(next)
}

/// Checks all memory operands. SPIR-V 1.4 has a second access of copies, for the source.
fn accesses(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    let memory = inst.row().memory;
    let Some(at) = memory.access() else { return Ok(()) };
    let mut end = access(ctx, inst, at)?;
    if matches!(memory, Memory::Copy { .. }) {
        end = access(ctx, inst, end)?;
    }
    require(end == inst.operands.len(), || "operands behind the memory access".into())
}

fn is_writable(class: StorageClass) -> bool {
    !matches!(class, StorageClass::Input | StorageClass::UniformConstant)
}

pub(super) fn load(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    let (_, pointee) = ctx.pointer(inst, 0)?;
    let ty = ctx.result(inst)?;
    require(pointee == ty, || {
        format!("the pointer is to {}, the result is {}", ctx.show(pointee), ctx.show(ty))
    })?;
    in_memory(ctx, ty)?;
    accesses(ctx, inst)
}

pub(super) fn store(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    let (class, pointee) = ctx.pointer(inst, 0)?;
    require(is_writable(class), || format!("{class:?} memory is read-only"))?;
    ctx.operand_is(inst, 1, pointee)?;
    in_memory(ctx, pointee)?;
    accesses(ctx, inst)
}

/// Values that memory can hold.
fn in_memory(ctx: &Ctx<'_>, ty: TypeId) -> Result<(), String> {
    match ctx.get(ty) {
        Type::Void | Type::Function { .. } => Err(format!("memory holds no {}", ctx.show(ty))),
        _ => Ok(()),
    }
}

pub(super) fn variable(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    let ty = ctx.result(inst)?;
    let (class, pointee) = ctx.as_pointer(ty).ok_or("the result is not a pointer")?;
    let declared = ctx.lit(inst, 0)?;
    let function = StorageClass::Function;
    require(class == function && declared == u64::from(function as u32), || {
        "a variable in a function is of storage class Function".into()
    })?;
    in_memory(ctx, pointee)?;
    match inst.operands.len() {
        1 => Ok(()),
        2 => {
            let initializer = ctx.id(inst, 1)?;
            match ctx.defs.get(initializer) {
                Def::Constant(_) | Def::Global(_) => ctx.operand_is(inst, 1, pointee),
                _ => Err("the initializer is not a constant".into()),
            }
        }
        count => Err(format!("{count} operands")),
    }
}

pub(super) fn copy_memory(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    let ((class, target), (_, source)) = (ctx.pointer(inst, 0)?, ctx.pointer(inst, 1)?);
    require(is_writable(class), || format!("{class:?} memory is read-only"))?;
    require(target == source, || "target and source point to different types".into())?;
    in_memory(ctx, target)?;
    accesses(ctx, inst)
}

pub(super) fn copy_memory_sized(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    let ((class, _), _) = (ctx.pointer(inst, 0)?, ctx.pointer(inst, 1)?);
    require(is_writable(class), || format!("{class:?} memory is read-only"))?;
    require(matches!(ctx.operand_lanes(inst, 2)?, (Scalar::Int(_), 1)), || {
        "the size is not a scalar integer".into()
    })?;
    accesses(ctx, inst)
}

pub(super) fn access_chain(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    chain(ctx, inst, 1)
}

pub(super) fn ptr_access_chain(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    index(ctx, inst, 1)?;
    chain(ctx, inst, 2)
}

fn index(ctx: &Ctx<'_>, inst: &Inst, at: usize) -> Result<Id, String> {
    match ctx.operand_lanes(inst, at)? {
        (Scalar::Int(_), 1) => ctx.id(inst, at),
        _ => Err(format!("index {at} is not a scalar integer")),
    }
}

/// Walks from the pointee to the result's pointee.
fn chain(ctx: &Ctx<'_>, inst: &Inst, first: usize) -> Result<(), String> {
    let (class, mut at) = ctx.pointer(inst, 0)?;
    let ty = ctx.result(inst)?;
    let (result_class, wanted) = ctx.as_pointer(ty).ok_or("the result is not a pointer")?;
    for operand in first..inst.operands.len() {
        index(ctx, inst, operand)?;
        at = match ctx.get(at) {
            Type::Vector { elem, .. } | Type::Array { elem, .. } => *elem,
            Type::Struct { members, .. } => {
                let member = ctx.constant(inst, operand)?;
                let found = usize::try_from(member).ok().and_then(|member| members.get(member));
                *found.ok_or_else(|| format!("member {member} of a structure of {}", members.len()))?
            }
            _ => return Err(format!("operand {operand} indexes {}", ctx.show(at))),
        };
    }
    require(class == result_class, || format!("a {class:?} pointer gives a {result_class:?} pointer"))?;
    require(at == wanted, || {
        format!("the indices lead to {}, the result points to {}", ctx.show(at), ctx.show(wanted))
    })
}

fn pointer_pair(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 2)?;
    ctx.pointer(inst, 0)?;
    ctx.operand_is(inst, 1, ctx.ty(inst, 0)?)
}

pub(super) fn pointer_compare(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    pointer_pair(ctx, inst)?;
    require(ctx.result_lanes(inst)? == (Scalar::Bool, 1), || "the result is not Boolean".into())
}

pub(super) fn pointer_difference(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    pointer_pair(ctx, inst)?;
    let (_, pointee) = ctx.pointer(inst, 0)?;
    require(ctx.module.types.layout(pointee).size > 0, || "the pointee has no size to count in".into())?;
    require(matches!(ctx.result_lanes(inst)?, (Scalar::Int(_), 1)), || {
        "the result is not a scalar integer".into()
    })
}

pub(super) fn lifetime(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 2)?;
    let (class, _) = ctx.pointer(inst, 0)?;
    require(class == StorageClass::Function, || format!("a {class:?} pointer has no lifetime"))?;
    ctx.lit(inst, 1).map(|_| ())
}

pub(super) fn generic_semantics(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 1)?;
    let (class, _) = ctx.pointer(inst, 0)?;
    require(class == StorageClass::Generic, || format!("a {class:?} pointer is not generic"))?;
    require(ctx.result_lanes(inst)? == (Scalar::Int(32), 1), || "the result is not a 32-bit integer".into())
}

pub(super) fn size_of(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 1)?;
    let (_, pointee) = ctx.pointer(inst, 0)?;
    require(!matches!(ctx.get(pointee), Type::Void | Type::Function { .. }), || {
        format!("{} has no size", ctx.show(pointee))
    })?;
    let bytes = ctx.module.types.layout(pointee).size;
    require(bytes <= u64::from(u32::MAX), || format!("a size of {bytes} bytes in a 32-bit integer"))?;
    require(ctx.result_lanes(inst)? == (Scalar::Int(32), 1), || "the result is not a 32-bit integer".into())
}

pub(super) fn clock(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 1)?;
    let scope = ctx.constant(inst, 0)?;
    let known = [Scope::Device, Scope::Workgroup, Scope::Subgroup].map(|scope| scope as u64);
    require(known.contains(&scope), || format!("scope {scope} has no clock"))?;
    require(matches!(ctx.result_lanes(inst)?, (Scalar::Int(64), 1) | (Scalar::Int(32), 2)), || {
        "the result is neither 64 bits nor two halves of them".into()
    })
}

pub(super) fn block_prefetch(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    let (class, _) = ctx.pointer(inst, 0)?;
    require(class == StorageClass::CrossWorkgroup, || format!("{class:?} memory is not prefetched"))?;
    ctx.constant(inst, 1).map(|_| ())
}

/// The loader has put others in its place.
pub(super) fn replaced(_: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    Err(format!("{} is still there", op_name(inst.op)))
}

fn private(ctx: &Ctx<'_>, ty: TypeId) -> Result<(), String> {
    let class = ctx.as_pointer(ty).map(|(class, _)| class);
    require(class == Some(StorageClass::Function), || format!("{} is no Function pointer", ctx.show(ty)))
}

pub(super) fn variable_length_array(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 1)?;
    private(ctx, ctx.result(inst)?)?;
    require(matches!(ctx.operand_lanes(inst, 0)?, (Scalar::Int(_), 1)), || {
        "the length is not a scalar integer".into()
    })
}

pub(super) fn save_memory(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 0)?;
    private(ctx, ctx.result(inst)?)
}

pub(super) fn restore_memory(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 1)?;
    private(ctx, ctx.ty(inst, 0)?)
}
