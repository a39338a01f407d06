//! Types of image instructions (SPIR-V 1.2 §3.32.10).

use super::ctx::{Ctx, Scalar, require};
use crate::module::{ImageType, Inst, Type};
use spirv::Dim;

fn image(ctx: &Ctx<'_>, inst: &Inst, at: usize) -> Result<ImageType, String> {
    match ctx.get(ctx.ty(inst, at)?) {
        Type::Image(image) => Ok(*image),
        _ => Err(format!("operand {at} is not an image")),
    }
}

fn dimensions(image: &ImageType) -> u32 {
    match image.dim {
        Dim::Dim2D => 2,
        Dim::Dim3D => 3,
        _ => 1,
    }
}

/// Components of a coordinate. Producers pad three to four.
fn coordinate(ctx: &Ctx<'_>, inst: &Inst, at: usize, image: &ImageType) -> Result<(), String> {
    let needed = dimensions(image) + u32::from(image.arrayed);
    let (scalar, lanes) = ctx.operand_lanes(inst, at)?;
    let fine = matches!(scalar, Scalar::Int(32) | Scalar::Float(32)) && lanes >= needed;
    require(fine, || format!("a coordinate of {lanes} x {scalar:?} for {needed} dimensions"))
}

/// A texel has four components; a depth image's may be one.
fn texel(found: (Scalar, u32), image: &ImageType) -> Result<(), String> {
    let (scalar, lanes) = found;
    let typed = matches!(scalar, Scalar::Int(32) | Scalar::Float(16 | 32));
    require(typed && (lanes == 4 || (image.depth && lanes == 1)), || {
        format!("a texel of {lanes} x {scalar:?}")
    })
}

pub(super) fn sampled_image(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 2)?;
    let image = image(ctx, inst, 0)?;
    require(*ctx.get(ctx.ty(inst, 1)?) == Type::Sampler, || "operand 1 is not a sampler".into())?;
    require(*ctx.get(ctx.result(inst)?) == Type::SampledImage(image), || {
        "the result is of another image type".into()
    })
}

pub(super) fn sample(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    let Type::SampledImage(image) = *ctx.get(ctx.ty(inst, 0)?) else {
        return Err("operand 0 is not a sampled image".into());
    };
    coordinate(ctx, inst, 1, &image)?;
    ctx.lit(inst, 2)?;
    texel(ctx.result_lanes(inst)?, &image)
}

pub(super) fn read(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    let image = image(ctx, inst, 0)?;
    coordinate(ctx, inst, 1, &image)?;
    texel(ctx.result_lanes(inst)?, &image)
}

pub(super) fn write(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    let image = image(ctx, inst, 0)?;
    coordinate(ctx, inst, 1, &image)?;
    texel(ctx.operand_lanes(inst, 2)?, &image)
}

/// Blocks of an image; which types, images and coordinates there are is the environment's business.
pub(super) fn block_read(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 2)?;
    image(ctx, inst, 0)?;
    ctx.operand_lanes(inst, 1)?;
    ctx.result_lanes(inst).map(|_| ())
}

pub(super) fn block_write(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 3)?;
    image(ctx, inst, 0)?;
    ctx.operand_lanes(inst, 1)?;
    ctx.operand_lanes(inst, 2).map(|_| ())
}

pub(super) fn image_of(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 1)?;
    match (ctx.get(ctx.ty(inst, 0)?), ctx.get(ctx.result(inst)?)) {
        (Type::SampledImage(from), Type::Image(to)) if from == to => Ok(()),
        _ => Err("the result is not the sampled image's image".into()),
    }
}

fn size_of(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    let image = image(ctx, inst, 0)?;
    let needed = dimensions(&image) + u32::from(image.arrayed);
    match ctx.result_lanes(inst)? {
        (Scalar::Int(_), lanes) if lanes == needed => Ok(()),
        (scalar, lanes) => Err(format!("a size of {lanes} x {scalar:?} for {needed} dimensions")),
    }
}

pub(super) fn query_size(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 1)?;
    size_of(ctx, inst)
}

pub(super) fn query_size_lod(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 2)?;
    require(matches!(ctx.operand_lanes(inst, 1)?, (Scalar::Int(_), 1)), || {
        "the level is not a scalar integer".into()
    })?;
    size_of(ctx, inst)
}

pub(super) fn query_word(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 1)?;
    image(ctx, inst, 0)?;
    require(ctx.result_lanes(inst)? == (Scalar::Int(32), 1), || "the result is not a 32-bit integer".into())
}
