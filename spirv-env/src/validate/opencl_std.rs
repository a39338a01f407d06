//! Types of the OpenCL.std extended instructions: one table of signatures (OpenCL C 2.0 §6.13).

use super::Check;
use super::ctx::{Ctx, Scalar, require};
use crate::module::{Inst, Type, TypeId};
use spirv::{FPRoundingMode, Op, OpenclStd100Op, StorageClass};

pub(super) fn check(op: Op) -> Option<Check> {
    (op == Op::ExtInst).then_some(extended)
}

/// Operands of an instruction begin behind the set and the instruction's number.
const FIRST: usize = 2;

/// What an instruction takes and gives. `T` is the result's type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Signature {
    /// Floating-point: as many `T`.
    Float(usize),
    /// Integer: as many `T`.
    Int(usize),
    /// 32-bit integer: as many `T`.
    Int32(usize),
    /// Integer or floating-point: as many `T`.
    Any(usize),
    /// As many `T` and a pointer to `T`.
    FloatAndPointer(usize),
    /// As many `T` and a pointer to 32-bit integers.
    FloatAndIntPointer(usize),
    /// `T` and 32-bit integers.
    FloatAndInt,
    /// 32-bit integers from floating-point numbers.
    IntOfFloat,
    /// Floating-point numbers from integers of the same width.
    FloatOfInt,
    /// `T` is twice as wide as two integers.
    Upsample,
    /// Two `T` and an integer a component.
    Select,
    /// `T` of three or four components, twice.
    Cross,
    /// A scalar from as many vectors.
    Length(usize),
    VectorLoad,
    VectorStore,
    HalfLoad,
    HalfVectorLoad,
    HalfStore,
    HalfVectorStore,
    /// Like the one before, with a rounding mode.
    HalfStoreRounded,
    HalfVectorStoreRounded,
    Shuffle,
    Shuffle2,
    Printf,
    Prefetch,
}

fn signature(op: OpenclStd100Op) -> Signature {
    use OpenclStd100Op::*;
    use Signature as S;
    match op {
        acos | acosh | acospi | asin | asinh | asinpi | atan | atanh | atanpi | cbrt | ceil | cos | cosh
        | cospi | erfc | erf | exp | exp2 | exp10 | expm1 | fabs | floor | lgamma | log | log2 | log10
        | log1p | logb | rint | round | rsqrt | sin | sinh | sinpi | sqrt | tan | tanh | tanpi | tgamma
        | trunc | half_cos | half_exp | half_exp2 | half_exp10 | half_log | half_log2 | half_log10
        | half_recip | half_rsqrt | half_sin | half_sqrt | half_tan | native_cos | native_exp
        | native_exp2 | native_exp10 | native_log | native_log2 | native_log10 | native_recip
        | native_rsqrt | native_sin | native_sqrt | native_tan | degrees | radians | sign | normalize
        | fast_normalize => S::Float(1),
        atan2 | atan2pi | copysign | fdim | fmax | fmin | fmod | hypot | maxmag | minmag | nextafter
        | pow | powr | remainder | half_divide | half_powr | native_divide | native_powr | fmax_common
        | fmin_common | step => S::Float(2),
        fma | mad | fclamp | mix | smoothstep => S::Float(3),
        fract | modf | sincos => S::FloatAndPointer(1),
        frexp | lgamma_r => S::FloatAndIntPointer(1),
        remquo => S::FloatAndIntPointer(2),
        ldexp | pown | rootn => S::FloatAndInt,
        ilogb => S::IntOfFloat,
        nan => S::FloatOfInt,
        s_abs | u_abs | clz | ctz | popcount => S::Int(1),
        s_abs_diff | u_abs_diff | s_add_sat | u_add_sat | s_hadd | u_hadd | s_rhadd | u_rhadd | s_max
        | u_max | s_min | u_min | s_mul_hi | u_mul_hi | rotate | s_sub_sat | u_sub_sat => S::Int(2),
        s_clamp | u_clamp | s_mad_hi | u_mad_hi | s_mad_sat | u_mad_sat => S::Int(3),
        s_mul24 | u_mul24 => S::Int32(2),
        s_mad24 | u_mad24 => S::Int32(3),
        s_upsample | u_upsample => S::Upsample,
        bitselect => S::Any(3),
        select => S::Select,
        cross => S::Cross,
        distance | fast_distance => S::Length(2),
        length | fast_length => S::Length(1),
        vloadn => S::VectorLoad,
        vstoren => S::VectorStore,
        vload_half => S::HalfLoad,
        vload_halfn | vloada_halfn => S::HalfVectorLoad,
        vstore_half => S::HalfStore,
        vstore_half_r => S::HalfStoreRounded,
        vstore_halfn | vstorea_halfn => S::HalfVectorStore,
        vstore_halfn_r | vstorea_halfn_r => S::HalfVectorStoreRounded,
        shuffle => S::Shuffle,
        shuffle2 => S::Shuffle2,
        printf => S::Printf,
        prefetch => S::Prefetch,
    }
}

fn extended(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    let number = ctx.lit(inst, 1)?;
    let op = u32::try_from(number).ok().and_then(OpenclStd100Op::from_u32);
    let op = op.ok_or_else(|| format!("OpenCL.std has no instruction {number}"))?;
    operands(ctx, inst, signature(op)).map_err(|message| format!("{op:?}: {message}"))
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
            require(class == StorageClass::UniformConstant && text, || {
                "the format is not a constant string".into()
            })?;
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
