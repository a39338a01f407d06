//! Types of matrix instructions (`SPV_KHR_cooperative_matrix`, `SPV_INTEL_joint_matrix`,
//! `SPV_INTEL_subgroup_matrix_multiply_accumulate`, `SPV_INTEL_2d_block_io`).

use super::ctx::{Ctx, Scalar, require};
use crate::block_io::Block;
use crate::matrices::Matrix;
use crate::module::{Inst, Operand, TypeId};
use crate::opcodes::{DotFlags, MatrixFlags};
use spirv::{CooperativeMatrixUse, Op, StorageClass};

/// Layouts in memory: rows, columns, and rows of which as many as fit 32 bits are interleaved
/// (`PackedINTEL` of `SPV_INTEL_joint_matrix`).
const LAYOUTS: std::ops::RangeInclusive<u64> = 0..=2;
const PACKED: u64 = 2;

fn matrix<'a>(ctx: &Ctx<'a>, ty: TypeId) -> Result<&'a Matrix, String> {
    ctx.module.types.matrix(ty).ok_or_else(|| format!("{} is not a matrix", ctx.show(ty)))
}

fn component(ctx: &Ctx<'_>, matrix: &Matrix) -> Scalar {
    ctx.lanes(matrix.component).map_or(Scalar::Bool, |(scalar, _)| scalar)
}

fn integer(ctx: &Ctx<'_>, inst: &Inst, at: usize, what: &str) -> Result<(), String> {
    require(matches!(ctx.operand_lanes(inst, at)?, (Scalar::Int(_), 1)), || {
        format!("{what} is not a scalar integer")
    })
}

/// A matrix in memory: the pointer at operand 0, its place there, the layout and the stride.
fn in_memory(ctx: &Ctx<'_>, inst: &Inst, matrix: &Matrix) -> Result<(), String> {
    let access = inst.matrix_access().ok_or("no access to a matrix")?;
    let (class, pointee) = ctx.pointer(inst, 0)?;
    let memory = [StorageClass::CrossWorkgroup, StorageClass::Workgroup, StorageClass::Generic];
    require(memory.contains(&class), || format!("a matrix in {class:?} memory"))?;
    let has_size = ctx.module.types.layout(pointee).size > 0;
    require(has_size, || "the pointer leads to nothing that has a size".into())?;
    for at in access.place.into_iter().chain(access.extents).flatten() {
        integer(ctx, inst, at, "a coordinate")?;
    }
    let at = ctx.constant(inst, access.layout)?;
    require(LAYOUTS.contains(&at), || format!("layout {at} of a matrix is unknown"))?;
    let packed = at == PACKED;
    require(!packed || matrix.usage != CooperativeMatrixUse::MatrixAccumulatorKHR, || {
        "accumulators have no packed layout".into()
    })?;
    match inst.operands.get(access.stride) {
        Some(Operand::Id(_)) => integer(ctx, inst, access.stride, "the stride"),
        _ => Err("a matrix in rows or columns has a stride".into()),
    }
}

pub(super) fn load(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    in_memory(ctx, inst, matrix(ctx, ctx.result(inst)?)?)
}

pub(super) fn store(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    let object = inst.matrix_access().and_then(|access| access.object).ok_or("nothing is stored")?;
    in_memory(ctx, inst, matrix(ctx, ctx.ty(inst, object)?)?)
}

pub(super) fn construct(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    const VALUE: usize = 4;
    let of = matrix(ctx, ctx.result(inst)?)?.component;
    ctx.count(inst, VALUE + 1)?;
    (0..VALUE).try_for_each(|at| integer(ctx, inst, at, "a coordinate"))?;
    ctx.operand_is(inst, VALUE, of)
}

/// Two words: row and column.
pub(super) fn coordinate(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 2)?;
    matrix(ctx, ctx.ty(inst, 0)?)?;
    integer(ctx, inst, 1, "the number of an element")?;
    require(ctx.result_lanes(inst)? == (Scalar::Int(32), 2), || {
        "the result is not two 32-bit integers".into()
    })
}

pub(super) fn prefetch(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.pointer(inst, 0)?;
    (1..3).try_for_each(|at| integer(ctx, inst, at, "a coordinate"))
}

pub(super) fn multiply_add(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    use CooperativeMatrixUse::{MatrixAKHR, MatrixAccumulatorKHR, MatrixBKHR};
    let result = matrix(ctx, ctx.result(inst)?)?;
    let [a, b, c] = [0, 1, 2].map(|at| ctx.ty(inst, at).and_then(|ty| matrix(ctx, ty)));
    let (a, b, c) = (a?, b?, c?);
    let uses = [a.usage, b.usage, c.usage, result.usage];
    require(uses == [MatrixAKHR, MatrixBKHR, MatrixAccumulatorKHR, MatrixAccumulatorKHR], || {
        "the operands are not a matrix A, a matrix B and an accumulator".into()
    })?;
    let fits = a.rows == c.rows && b.columns == c.columns && a.columns == b.rows;
    let same = (c.rows, c.columns) == (result.rows, result.columns);
    require(fits && same, || {
        format!(
            "a product of {} x {} and {} x {} for {} x {}",
            a.rows, a.columns, b.rows, b.columns, result.rows, result.columns
        )
    })?;
    require(a.lanes == b.lanes && b.lanes == c.lanes && c.lanes == result.lanes, || {
        "matrices of different sub-groups".into()
    })?;
    let flags = inst.matrix_flags();
    require(flags.is_known(), || "an operand of the product is unknown".into())?;
    // As bits of 16-bit integers, where the type is not known to the module.
    let kind = |matrix: &Matrix, bfloat16: bool| match component(ctx, matrix) {
        Scalar::Int(16) if bfloat16 => Scalar::Float(16),
        scalar => scalar,
    };
    let of_inputs = flags.contains(MatrixFlags::INPUTS_BFLOAT16);
    let kinds = [
        kind(a, of_inputs),
        kind(b, of_inputs),
        kind(c, flags.contains(MatrixFlags::C_BFLOAT16)),
        kind(result, flags.contains(MatrixFlags::RESULT_BFLOAT16)),
    ];
    let floats = kinds.iter().all(|kind| matches!(kind, Scalar::Float(_)));
    let ints = kinds.iter().all(|kind| matches!(kind, Scalar::Int(_)));
    require(floats || ints, || format!("a product of {:?} and {:?} for {:?}", kinds[0], kinds[1], kinds[3]))?;
    if let (Scalar::Int(c), Scalar::Int(of_result)) = (kinds[2], kinds[3]) {
        require(c == of_result, || "the accumulator is not of the result's width".into())?;
    }
    let tf32 = flags.contains(MatrixFlags::INPUTS_TF32);
    require(!tf32 || kinds[..2] == [Scalar::Float(32); 2], || "TF32 is in numbers of 32 bits".into())
}

/// The loader has put the length in the place of the type.
pub(super) fn length(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.lit(inst, 0)?;
    let fine = matches!(ctx.result_lanes(inst)?, (Scalar::Int(32 | 64), 1));
    require(fine, || "the length is not an integer of 32 or 64 bits".into())
}

pub(super) fn times_scalar(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 2)?;
    let ty = ctx.result(inst)?;
    let of = matrix(ctx, ty)?.component;
    ctx.operand_is(inst, 0, ty)?;
    ctx.operand_is(inst, 1, of)
}

/// Whether an instruction with a matrix as its result computes element by element.
pub(super) fn is_elementwise(ctx: &Ctx<'_>, inst: &Inst) -> bool {
    use Op::*;
    let op = matches!(
        inst.op,
        SNegate
            | FNegate
            | IAdd
            | ISub
            | IMul
            | UDiv
            | SDiv
            | FAdd
            | FSub
            | FMul
            | FDiv
            | ConvertFToU
            | ConvertFToS
            | ConvertSToF
            | ConvertUToF
            | UConvert
            | SConvert
            | FConvert
            | ConvertFToBF16INTEL
            | ConvertBF16ToFINTEL
            | RoundFToTF32INTEL
            | Bitcast
    );
    op && inst.ty.is_some_and(|ty| ctx.module.types.matrix(ty).is_some())
}

/// The operands of such an instruction are matrices of the result's shape, and their components what it takes.
pub(super) fn elementwise(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    use Op::*;
    let ty = ctx.result(inst)?;
    let result = matrix(ctx, ty)?;
    let converts = inst.operands.len() == 1 && !matches!(inst.op, SNegate | FNegate);
    let count = if matches!(inst.op, SNegate | FNegate) || converts { 1 } else { 2 };
    ctx.count(inst, count)?;
    let to = component(ctx, result);
    if !converts {
        let float = matches!(inst.op, FNegate | FAdd | FSub | FMul | FDiv);
        require(float == matches!(to, Scalar::Float(_)), || format!("the components are {to:?}"))?;
        return (0..count).try_for_each(|at| ctx.operand_is(inst, at, ty));
    }
    let operand = matrix(ctx, ctx.ty(inst, 0)?)?;
    require(Matrix { component: result.component, ..*operand } == *result, || {
        "the operand is not a matrix of the result's shape and use".into()
    })?;
    use Scalar::{Float, Int};
    let fine = match (inst.op, component(ctx, operand), to) {
        (ConvertFToU | ConvertFToS, Float(_), Int(_)) => true,
        (ConvertSToF | ConvertUToF, Int(_), Float(_)) => true,
        (UConvert | SConvert, Int(_), Int(_)) => true,
        (FConvert, Float(_), Float(_)) => true,
        (ConvertFToBF16INTEL, Float(32), Int(16)) | (ConvertBF16ToFINTEL, Int(16), Float(32)) => true,
        (RoundFToTF32INTEL, Float(32), Float(32)) => true,
        (Bitcast, Int(from) | Float(from), Int(to) | Float(to)) => from == to,
        _ => false,
    };
    require(fine, || format!("{:?} to {to:?}", component(ctx, operand)))
}

/// Steps of a product at most: as many as the largest matrices have.
const MOST_STEPS: u64 = 256;

pub(super) fn subgroup_multiply_add(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    let depth = ctx.constant(inst, 0)?;
    require((1..=MOST_STEPS).contains(&depth), || {
        format!("a depth of {depth}; 1 to {MOST_STEPS} are supported")
    })?;
    let (result, rows) = ctx.result_lanes(inst)?;
    let [(a, _), (b, _), (c, of_c)] =
        [ctx.operand_lanes(inst, 1)?, ctx.operand_lanes(inst, 2)?, ctx.operand_lanes(inst, 3)?];
    require(of_c == rows, || format!("an accumulator of {of_c} rows for a result of {rows}"))?;
    let flags = inst.dot_flags();
    require(flags.is_known(), || "an operand of the product is unknown".into())?;
    let float = |scalar: Scalar, as_float: u64, as_int: u64| match scalar {
        Scalar::Float(_) => Ok(!flags.any(as_int)),
        Scalar::Int(_) => Ok(flags.any(as_float)),
        Scalar::Bool => Err("an operand is made of Booleans".to_owned()),
    };
    let tf32 = |scalar: Scalar, flag: u64| !flags.any(flag) || scalar == Scalar::Float(32);
    require(tf32(a, DotFlags::A_TF32) && tf32(b, DotFlags::B_TF32), || {
        "TF32 is in numbers of 32 bits".into()
    })?;
    let floats = [
        float(a, DotFlags::A_FLOATS, DotFlags::A_INTS)?,
        float(b, DotFlags::B_FLOATS, DotFlags::B_INTS)?,
        float(c, DotFlags::C_BFLOAT16, 0)?,
        float(result, DotFlags::RESULT_BFLOAT16, 0)?,
    ];
    require(floats.iter().all(|float| *float == floats[0]), || "integers and floating-point numbers".into())?;
    let bits = |scalar, bfloat16| scalar != Scalar::Int(16) && bfloat16;
    require(
        !bits(c, flags.any(DotFlags::C_BFLOAT16)) && !bits(result, flags.any(DotFlags::RESULT_BFLOAT16)),
        || "bfloat16 is in integers of 16 bits".into(),
    )?;
    require(floats[0] || c == result, || "the accumulator is not of the result's width".into())?;
    let widths = |scalar: Scalar| match scalar {
        Scalar::Int(width) => [8, 16, 32, 64].contains(&width),
        _ => true,
    };
    require([a, b, c, result].into_iter().all(widths), || "integers of 8, 16, 32 or 64 bits".into())
}

/// The block, its memory and its place in it; `private` is the pointer to what the work-item has.
fn block(ctx: &Ctx<'_>, inst: &Inst, memory: usize, private: Option<usize>) -> Result<(), String> {
    const EXTENTS: std::ops::Range<usize> = 1..4;
    let [size, width, height, count] = [0, 1, 2, 3].map(|at| ctx.constant(inst, at));
    Block::new([size?, width?, height?, count?])?;
    let (class, _) = ctx.pointer(inst, memory)?;
    require(class == StorageClass::CrossWorkgroup, || format!("a block of {class:?} memory"))?;
    for at in EXTENTS.map(|at| memory + at) {
        require(matches!(ctx.operand_lanes(inst, at)?, (Scalar::Int(32 | 64), 1)), || {
            format!("operand {at} is not an integer of 32 or 64 bits")
        })?;
    }
    let at = memory + EXTENTS.end;
    require(matches!(ctx.operand_lanes(inst, at)?, (Scalar::Int(32 | 64), 2)), || {
        "the coordinate is not a vector of two integers of 32 or 64 bits".into()
    })?;
    let Some(private) = private else { return Ok(()) };
    let (class, _) = ctx.pointer(inst, private)?;
    require(class == StorageClass::Function, || format!("a work-item's part of a block in {class:?} memory"))
}

pub(super) fn block_load(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 10)?;
    block(ctx, inst, 4, Some(9))
}

pub(super) fn block_store(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 10)?;
    block(ctx, inst, 5, Some(4))
}

pub(super) fn block_prefetch(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 9)?;
    block(ctx, inst, 4, None)
}
