//! Types of the OpenCL.std extended instructions: by the signatures of their rows (OpenCL C 2.0 §6.13).

use super::ctx::{Ctx, Scalar, require};
use crate::module::{Inst, Type, TypeId};
use crate::opcodes::opencl_std::{self, Signature};
use spirv::{FPRoundingMode, StorageClass};

/// The extension by which formats need not be in constant memory.
const RELAXED_FORMAT: &str = "SPV_EXT_relaxed_printf_string_address_space";

/// Operands of an instruction begin behind the set and the instruction's number.
const FIRST: usize = 2;

pub(super) fn extended(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    let number = ctx.lit(inst, 1)?;
    let function = opencl_std::of_number(number);
    let function = function.ok_or_else(|| format!("OpenCL.std has no instruction {number}"))?;
    operands(ctx, inst, function.signature).map_err(|message| format!("{:?}: {message}", function.op))
}

fn operands(ctx: &Ctx<'_>, inst: &Inst, signature: Signature) -> Result<(), String> {
    use Signature as S;
    let count = |wanted: usize| {
        let found = inst.operands.len() - FIRST;
        require(found == wanted, || format!("{found} operands instead of {wanted}"))
    };
    match signature {
        S::Float(args) => all(ctx, inst, args, |scalar| matches!(scalar, Scalar::Float(_))),
        S::Int(args) => all(ctx, inst, args, |scalar| matches!(scalar, Scalar::Int(_))),
        S::Int32(args) => all(ctx, inst, args, |scalar| scalar == Scalar::Int(32)),
        S::Any(args) => all(ctx, inst, args, |scalar| scalar != Scalar::Bool),
        S::FloatAndPointer(args) => {
            count(args + 1)?;
            floats(ctx, inst, args)?;
            let ty = ctx.result(inst)?;
            let (_, pointee) = writable(ctx, inst, FIRST + args)?;
            require(pointee == ty, || "the pointer is not to the result's type".into())
        }
        S::FloatAndIntPointer(args) => {
            count(args + 1)?;
            let lanes = floats(ctx, inst, args)?;
            let (_, pointee) = writable(ctx, inst, FIRST + args)?;
            require(ctx.lanes(pointee) == Some((Scalar::Int(32), lanes)), || {
                "the pointer is not to 32-bit integers".into()
            })
        }
        S::FloatAndInt => {
            count(2)?;
            let lanes = floats(ctx, inst, 1)?;
            let (scalar, width) = ctx.operand_lanes(inst, FIRST + 1)?;
            require(scalar == Scalar::Int(32) && width == lanes, || {
                "the second operand is not of 32-bit integers".into()
            })
        }
        S::IntOfFloat => {
            count(1)?;
            let ((result, lanes), (operand, width)) =
                (ctx.result_lanes(inst)?, ctx.operand_lanes(inst, FIRST)?);
            let fine = result == Scalar::Int(32) && matches!(operand, Scalar::Float(_)) && lanes == width;
            require(fine, || "not 32-bit integers of floating-point numbers".into())
        }
        S::FloatOfInt => {
            count(1)?;
            match (ctx.result_lanes(inst)?, ctx.operand_lanes(inst, FIRST)?) {
                ((Scalar::Float(a), m), (Scalar::Int(b), n)) if a == b && m == n => Ok(()),
                _ => Err("the operand is not an integer of the result's width".into()),
            }
        }
        S::Upsample => {
            count(2)?;
            ctx.operand_is(inst, FIRST + 1, ctx.ty(inst, FIRST)?)?;
            match (ctx.result_lanes(inst)?, ctx.operand_lanes(inst, FIRST)?) {
                ((Scalar::Int(wide), m), (Scalar::Int(narrow), n)) if wide == 2 * narrow && m == n => Ok(()),
                _ => Err("the result is not twice as wide as the operands".into()),
            }
        }
        S::Select => {
            count(3)?;
            let ty = ctx.result(inst)?;
            (FIRST..FIRST + 2).try_for_each(|at| ctx.operand_is(inst, at, ty))?;
            let ((scalar, lanes), (condition, width)) =
                (ctx.result_lanes(inst)?, ctx.operand_lanes(inst, FIRST + 2)?);
            let bits = match scalar {
                Scalar::Int(bits) | Scalar::Float(bits) => bits,
                Scalar::Bool => return Err("the result is Boolean".into()),
            };
            require(condition == Scalar::Int(bits) && width == lanes, || {
                "the condition is not of integers as wide as the result".into()
            })
        }
        S::Cross => {
            count(2)?;
            let lanes = floats(ctx, inst, 2)?;
            require(lanes == 3 || lanes == 4, || format!("a cross product of {lanes} components"))
        }
        S::Length(args) => {
            count(args)?;
            let vector = ctx.ty(inst, FIRST)?;
            (1..args).try_for_each(|at| ctx.operand_is(inst, FIRST + at, vector))?;
            let ((result, one), (scalar, _)) = (ctx.result_lanes(inst)?, ctx.operand_lanes(inst, FIRST)?);
            require(one == 1 && result == scalar && matches!(scalar, Scalar::Float(_)), || {
                "the result is not the vector's component type".into()
            })
        }
        S::VectorLoad => {
            count(3)?;
            let (elem, lanes) = vector(ctx, ctx.result(inst)?)?;
            offset(ctx, inst, FIRST)?;
            let (_, pointee) = ctx.pointer(inst, FIRST + 1)?;
            component_count(ctx, inst, FIRST + 2, lanes)?;
            require(pointee == elem, || "the pointer is not to the vector's components".into())
        }
        S::VectorStore => {
            count(3)?;
            let (elem, _) = vector(ctx, ctx.ty(inst, FIRST)?)?;
            offset(ctx, inst, FIRST + 1)?;
            let (_, pointee) = writable(ctx, inst, FIRST + 2)?;
            require(pointee == elem, || "the pointer is not to the vector's components".into())
        }
        S::HalfLoad | S::HalfVectorLoad => {
            let is_vector = signature == S::HalfVectorLoad;
            count(if is_vector { 3 } else { 2 })?;
            let (scalar, lanes) = ctx.result_lanes(inst)?;
            require(scalar == Scalar::Float(32) && (lanes > 1) == is_vector, || {
                "the result is not f32".into()
            })?;
            offset(ctx, inst, FIRST)?;
            half_pointer(ctx, ctx.pointer(inst, FIRST + 1)?)?;
            if is_vector { component_count(ctx, inst, FIRST + 2, lanes) } else { Ok(()) }
        }
        S::HalfStore | S::HalfVectorStore | S::HalfStoreRounded | S::HalfVectorStoreRounded => {
            let is_vector = matches!(signature, S::HalfVectorStore | S::HalfVectorStoreRounded);
            let is_rounded = matches!(signature, S::HalfStoreRounded | S::HalfVectorStoreRounded);
            count(if is_rounded { 4 } else { 3 })?;
            let (scalar, lanes) = ctx.operand_lanes(inst, FIRST)?;
            let fine = matches!(scalar, Scalar::Float(32 | 64)) && (lanes > 1) == is_vector;
            require(fine, || format!("a store of {lanes} x {scalar:?}"))?;
            offset(ctx, inst, FIRST + 1)?;
            half_pointer(ctx, writable(ctx, inst, FIRST + 2)?)?;
            if is_rounded {
                let mode = ctx.lit(inst, FIRST + 3)?;
                let known = u32::try_from(mode).ok().and_then(FPRoundingMode::from_u32).is_some();
                require(known, || format!("rounding mode {mode} is unknown"))?;
            }
            Ok(())
        }
        S::Shuffle | S::Shuffle2 => {
            let sources = if signature == S::Shuffle { 1 } else { 2 };
            count(sources + 1)?;
            let (elem, lanes) = vector(ctx, ctx.result(inst)?)?;
            let source = ctx.ty(inst, FIRST)?;
            let (source_elem, _) = vector(ctx, source)?;
            (1..sources).try_for_each(|at| ctx.operand_is(inst, FIRST + at, source))?;
            let (mask, width) = ctx.operand_lanes(inst, FIRST + sources)?;
            let fine = source_elem == elem && matches!(mask, Scalar::Int(_)) && width == lanes;
            require(fine, || "the mask does not select the result's components".into())
        }
        S::Printf => {
            require(inst.operands.len() > FIRST, || "there is no format".into())?;
            let (class, pointee) = ctx.pointer(inst, FIRST)?;
            // LLVM 21's translator passes the array itself instead of a pointer to its first character.
            let character = match ctx.get(pointee) {
                Type::Array { elem, .. } => *elem,
                _ => pointee,
            };
            let text = *ctx.get(character) == Type::Int { width: 8 };
            // Of what the extension adds, strings in local and private memory are gone when they are wanted.
            let relaxed = ctx.module.extensions.iter().any(|name| name == RELAXED_FORMAT);
            let fine = match class {
                StorageClass::UniformConstant => true,
                StorageClass::CrossWorkgroup | StorageClass::Generic => relaxed,
                _ => false,
            };
            require(fine && text, || format!("the format is not a constant string but in {class:?}"))?;
            (FIRST + 1..inst.operands.len()).try_for_each(|at| ctx.ty(inst, at).map(|_| ()))?;
            require(ctx.result_lanes(inst)? == (Scalar::Int(32), 1), || {
                "the result is not a 32-bit integer".into()
            })
        }
        S::Prefetch => {
            count(2)?;
            ctx.pointer(inst, FIRST)?;
            offset(ctx, inst, FIRST + 1)
        }
    }
}

fn all(ctx: &Ctx<'_>, inst: &Inst, args: usize, fits: fn(Scalar) -> bool) -> Result<(), String> {
    let found = inst.operands.len() - FIRST;
    require(found == args, || format!("{found} operands instead of {args}"))?;
    let ty = ctx.result(inst)?;
    require(fits(ctx.result_lanes(inst)?.0), || format!("the result is {}", ctx.show(ty)))?;
    (0..args).try_for_each(|at| ctx.operand_is(inst, FIRST + at, ty))
}

/// The first operands are of the result's floating-point type; its components.
fn floats(ctx: &Ctx<'_>, inst: &Inst, args: usize) -> Result<u32, String> {
    let ty = ctx.result(inst)?;
    let (scalar, lanes) = ctx.result_lanes(inst)?;
    require(matches!(scalar, Scalar::Float(_)), || format!("the result is {}", ctx.show(ty)))?;
    (0..args).try_for_each(|at| ctx.operand_is(inst, FIRST + at, ty))?;
    Ok(lanes)
}

fn vector(ctx: &Ctx<'_>, ty: TypeId) -> Result<(TypeId, u32), String> {
    match ctx.get(ty) {
        Type::Vector { elem, len } => Ok((*elem, *len)),
        _ => Err(format!("{} is not a vector", ctx.show(ty))),
    }
}

fn writable(ctx: &Ctx<'_>, inst: &Inst, at: usize) -> Result<(StorageClass, TypeId), String> {
    let (class, pointee) = ctx.pointer(inst, at)?;
    let read_only = matches!(class, StorageClass::Input | StorageClass::UniformConstant);
    require(!read_only, || format!("{class:?} memory is read-only"))?;
    Ok((class, pointee))
}

fn offset(ctx: &Ctx<'_>, inst: &Inst, at: usize) -> Result<(), String> {
    match ctx.operand_lanes(inst, at)? {
        (Scalar::Int(_), 1) => Ok(()),
        _ => Err(format!("operand {at} is not a scalar integer")),
    }
}

fn component_count(ctx: &Ctx<'_>, inst: &Inst, at: usize, lanes: u32) -> Result<(), String> {
    let literal = ctx.lit(inst, at)?;
    require(literal == u64::from(lanes), || format!("{literal} components for a result of {lanes}"))
}

fn half_pointer(ctx: &Ctx<'_>, (_, pointee): (StorageClass, TypeId)) -> Result<(), String> {
    require(*ctx.get(pointee) == Type::Float { width: 16 }, || "the pointer is not to f16".into())
}
