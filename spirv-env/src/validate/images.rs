//! Types of image instructions (SPIR-V 1.2 §3.32.10).

use super::ctx::{Ctx, Scalar, require};
use crate::module::{ImageType, Inst, Type};
use spirv::{Capability, Dim};

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

/// A texel has four components; a depth image's may be one. SYCL's bindless images have as many as their channels are,
/// in the channels' type.
fn texel(ctx: &Ctx<'_>, found: (Scalar, u32), image: &ImageType) -> Result<(), String> {
    let (scalar, lanes) = found;
    let is_bindless = ctx.module.capabilities.contains(&Capability::BindlessImagesINTEL);
    let typed = match scalar {
        Scalar::Int(32) | Scalar::Float(16 | 32) => true,
        Scalar::Int(8 | 16) => is_bindless,
        _ => false,
    };
    let whole = lanes == 4 || (image.depth && lanes == 1) || (is_bindless && lanes < 4);
    require(typed && whole, || format!("a texel of {lanes} x {scalar:?}"))
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
    texel(ctx, ctx.result_lanes(inst)?, &image)
}

pub(super) fn read(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    let image = image(ctx, inst, 0)?;
    coordinate(ctx, inst, 1, &image)?;
    texel(ctx, ctx.result_lanes(inst)?, &image)
}

pub(super) fn fetch(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    let image = match ctx.get(ctx.ty(inst, 0)?) {
        Type::Image(image) | Type::SampledImage(image) => *image,
        _ => return Err("operand 0 is not an image".into()),
    };
    coordinate(ctx, inst, 1, &image)?;
    texel(ctx, ctx.result_lanes(inst)?, &image)
}

pub(super) fn write(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    let image = image(ctx, inst, 0)?;
    coordinate(ctx, inst, 1, &image)?;
    texel(ctx, ctx.operand_lanes(inst, 2)?, &image)
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

/// The size of a media block is two integers.
fn media_size(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    for (at, name) in [(2, "width"), (3, "height")] {
        require(ctx.operand_lanes(inst, at)? == (Scalar::Int(32), 1), || {
            format!("the {name} is not a 32-bit integer")
        })?;
    }
    Ok(())
}

pub(super) fn media_block_read(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 4)?;
    image(ctx, inst, 0)?;
    ctx.operand_lanes(inst, 1)?;
    media_size(ctx, inst)?;
    ctx.result_lanes(inst).map(|_| ())
}

pub(super) fn media_block_write(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 5)?;
    image(ctx, inst, 0)?;
    ctx.operand_lanes(inst, 1)?;
    media_size(ctx, inst)?;
    ctx.operand_lanes(inst, 4).map(|_| ())
}

/// A handle is an integer of 64 bits, as pointers have.
fn handle(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    ctx.count(inst, 1)?;
    match ctx.operand_lanes(inst, 0)? {
        (Scalar::Int(64), 1) => Ok(()),
        (scalar, lanes) => Err(format!("a handle of {lanes} x {scalar:?} instead of a 64-bit integer")),
    }
}

pub(super) fn handle_to_image(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    handle(ctx, inst)?;
    require(matches!(ctx.get(ctx.result(inst)?), Type::Image(_)), || "the result is not an image".into())
}

pub(super) fn handle_to_sampler(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    handle(ctx, inst)?;
    require(*ctx.get(ctx.result(inst)?) == Type::Sampler, || "the result is not a sampler".into())
}

pub(super) fn handle_to_sampled_image(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    handle(ctx, inst)?;
    require(matches!(ctx.get(ctx.result(inst)?), Type::SampledImage(_)), || {
        "the result is not a sampled image".into()
    })
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
