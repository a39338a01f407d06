//! Images (SPIR-V 1.2 §3.32.10; OpenCL SPIR-V Env 3.0 §7): reads, samples, writes, queries, blocks.
//!
//! | file | what |
//! |---|---|
//! | `emit` | operations on lanes, uniform choices, the loop over handles that lanes do not share |
//! | `surface` | a level of an image: addresses and sizes |
//! | `address` | samplers; from coordinates to texels |
//! | `fetch`, `store` | texels by index: rows and single lanes |
//! | `decode`, `encode`, `srgb` | words of texels to colours and back |
//! | `sample`, `linear` | levels of detail, filters |
//! | `query`, `block` | sizes and formats; sub-group block access |
//!
//! An image is the address of its descriptor (`crate::image`), a sampler its bits, a sampled image both. The format is
//! known when the code runs: where lanes are a row, a switch on the format's class leads to a vector load and the conversion
//! of the whole row; what is not common enough to stand in each place is a function of the program, called for all lanes at
//! once. Images and samplers that lanes do not share are taken one after the other.

mod address;
mod block;
mod decode;
mod emit;
mod encode;
mod fetch;
mod linear;
mod query;
mod sample;
mod srgb;
mod store;
mod surface;

use super::Lowerer;
use super::builder::{IntPred, Opcode, Value};
use super::values::{Mask, Reg, Val};
use crate::analysis::leaves::{Leaf, Scalar};
use crate::analysis::shapes::Shape;
use crate::error::EngineError;
use crate::image::descriptor::{FieldKind, field};
use crate::image::slots::SLOT_BYTES;
use crate::jit::symbols;
use address::Sampling;
use emit::Emitter;
use fetch::Texel;
use sample::Sample;
use smallvec::smallvec;
use spirv::{ImageOperands, Op};
use spirv_env::{Id, ImageType, Inst, Type};
use std::rc::Rc;
use surface::{ImageForm, Surface};

pub fn lower(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Option<Val>, EngineError> {
    match inst.op {
        Op::SampledImage => {
            let (image, sampler) = (this.leaf(inst.id(0))?, this.leaf(inst.id(1))?);
            Ok(Some(smallvec![image, sampler]))
        }
        Op::Image => Ok(Some(smallvec![this.value(inst.id(0))?[0]])),
        Op::ImageRead | Op::ImageFetch => read(this, inst).map(Some),
        Op::ImageSampleExplicitLod => sampled(this, inst).map(Some),
        Op::ImageWrite => write(this, inst).map(|()| None),
        Op::ImageQuerySize | Op::ImageQuerySizeLod => sizes(this, inst).map(Some),
        Op::ImageQueryLevels | Op::ImageQuerySamples | Op::ImageQueryFormat | Op::ImageQueryOrder => {
            words(this, inst).map(Some)
        }
        Op::SubgroupImageBlockReadINTEL | Op::SubgroupImageMediaBlockReadINTEL => {
            block_read(this, inst).map(Some)
        }
        Op::SubgroupImageBlockWriteINTEL | Op::SubgroupImageMediaBlockWriteINTEL => {
            block_write(this, inst).map(|()| None)
        }
        Op::ConvertHandleToImageINTEL => {
            let handle = this.leaf(inst.id(0))?;
            Ok(Some(smallvec![image_of_handle(this, handle)]))
        }
        Op::ConvertHandleToSamplerINTEL => {
            let handle = this.leaf(inst.id(0))?;
            Ok(Some(smallvec![this.apply(&[handle], |this, v| this.b.zext_or_trunc(v[0], Scalar::I64))]))
        }
        Op::ConvertHandleToSampledImageINTEL => sampled_image_of_handle(this, inst).map(Some),
        _ => Err(this.no_lowering(inst)),
    }
}

/// An image operand as an instruction takes it.
struct Image {
    /// The address of the descriptor.
    descriptor: Reg,
    form: ImageForm,
}

fn image_type(this: &Lowerer<'_, '_>, id: Id) -> Result<ImageType, EngineError> {
    match this.a.func.type_of(id).map(|ty| this.a.func.module.types.get(ty)) {
        Some(Type::Image(image) | Type::SampledImage(image)) => Ok(*image),
        _ => Err(this.unsupported(format!("an access to {id}, which is no image"))),
    }
}

/// The image, and the sampler of a sampled one.
fn image(this: &mut Lowerer<'_, '_>, id: Id) -> Result<(Image, Option<Reg>), EngineError> {
    let form = ImageForm::of(&image_type(this, id)?);
    let val = this.value(id)?;
    let image = Image { descriptor: val[0], form };
    Ok((image, val.get(1).copied()))
}

/// Lanes that an instruction with these operands is computed for: one if they are the same in all lanes.
fn emitter<'b>(this: &'b Lowerer<'_, '_>, operands: &[&[Reg]]) -> Emitter<'b> {
    let uniform = operands.iter().all(|regs| regs.iter().all(Reg::is_uniform));
    let lanes = if uniform { 1 } else { this.w };
    Emitter::new(&this.b, lanes, this.target)
}

/// A leaf for so many lanes; what is the same in all of them is left as a scalar.
fn value(this: &Lowerer<'_, '_>, em: &Emitter<'_>, reg: Reg) -> Value {
    match reg.scalar() {
        Some(scalar) if em.lanes == 1 || reg.is_uniform() => scalar,
        _ => this.vector(reg),
    }
}

/// A key for [`Emitter::waterfall`]: handles are compared as integers.
fn key(this: &Lowerer<'_, '_>, em: &Emitter<'_>, reg: Reg) -> Value {
    this.b.reinterpret(value(this, em, reg), Scalar::I64)
}

/// The mask for so many lanes.
fn mask(this: &Lowerer<'_, '_>, em: &Emitter<'_>) -> Value {
    match this.mask() {
        Mask::All => em.yes(),
        Mask::Lanes(mask) if em.lanes == 1 => em.b.any(mask),
        Mask::Lanes(mask) => mask,
    }
}

/// Results of an instruction: as many components as it has, in the type that it has, which may be narrower than what was
/// computed with.
fn results(this: &Lowerer<'_, '_>, em: &Emitter<'_>, values: Vec<Value>, leaves: &[Leaf]) -> Val {
    let of = |(value, leaf): (Value, &Leaf)| {
        let value = match leaf.scalar {
            Scalar::F16 => this.b.cast(Opcode::LLVMFPTrunc, value, Scalar::F16),
            scalar if scalar.is_int() => this.b.zext_or_trunc(value, scalar),
            _ => value,
        };
        if em.lanes == 1 { Reg::uniform(value) } else { Reg::varying(value) }
    };
    values.into_iter().zip(leaves).map(of).collect()
}

/// The type of texels that an instruction gives or takes.
fn texel_of(scalar: Scalar) -> Texel {
    if scalar.is_float() { Texel::Float } else { Texel::Int }
}

/// The components of a coordinate that count, and the scalar of the first lane where the first one goes up by one.
fn coordinates(this: &mut Lowerer<'_, '_>, id: Id, form: ImageForm) -> Result<(Vec<Reg>, bool), EngineError> {
    let regs: Vec<Reg> = this.value(id)?.into_iter().take(form.coordinates()).collect();
    let steps_by_one = this.a.shape(this.current_block(), id).first() == Some(&Shape::Strided(1));
    Ok((regs, steps_by_one))
}

/// Coordinates as the emitter takes them, and the index of the first lane of a row.
fn placed(
    this: &Lowerer<'_, '_>,
    em: &Emitter<'_>,
    regs: &[Reg],
    steps_by_one: bool,
) -> (Vec<Value>, Option<Value>) {
    let of = |reg: &Reg| {
        let value = value(this, em, *reg);
        match this.b.scalar_of(value) {
            Scalar::F16 => this.b.cast(Opcode::LLVMFPExt, value, Scalar::F32),
            scalar if scalar.is_int() => this.b.sext_or_trunc(value, Scalar::I32),
            _ => value,
        }
    };
    let first = regs[0].scalar().filter(|_| steps_by_one && em.lanes > 1);
    (regs.iter().map(of).collect(), first)
}

/// The image operands of an instruction, whose mask is at this place.
fn operand(inst: &Inst, mask_at: usize, wanted: ImageOperands) -> Option<usize> {
    if inst.operands.len() <= mask_at {
        return None;
    }
    let mask = ImageOperands::from_bits_truncate(inst.lit(mask_at) as u32);
    if !mask.contains(wanted) {
        return None;
    }
    // Operands stand in the order of their bits; gradients are two.
    let before = ImageOperands::from_bits_truncate(wanted.bits() - 1) & mask;
    let extra = usize::from(before.contains(ImageOperands::GRAD));
    let no_operand = ImageOperands::SIGN_EXTEND | ImageOperands::ZERO_EXTEND | ImageOperands::NONTEMPORAL;
    let count = (before - no_operand).bits().count_ones() as usize;
    Some(mask_at + 1 + count + extra)
}

/// The components of a result.
fn components(this: &Lowerer<'_, '_>, inst: &Inst) -> Result<Rc<[Leaf]>, EngineError> {
    this.leaves(inst.ty.expect("the instruction has a type"))
}

/// `OpImageRead` and `OpImageFetch`: a texel by its index.
fn read(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Val, EngineError> {
    let (image, _) = image(this, inst.id(0))?;
    let (at, by_one) = coordinates(this, inst.id(1), image.form)?;
    let lod = match operand(inst, 2, ImageOperands::LOD) {
        Some(place) if this.a.func.constant_bits(inst.id(place)) != Some(0) => {
            Some(this.leaf(inst.id(place))?)
        }
        _ => None,
    };
    let leaves = components(this, inst)?;
    let texel = texel_of(leaves[0].scalar);
    let lods: Vec<Reg> = lod.into_iter().collect();
    let em = emitter(this, &[&[image.descriptor], &at, &lods]);
    let mask = mask(this, &em);
    let (at, first) = placed(this, &em, &at, by_one);
    let mut keys = vec![key(this, &em, image.descriptor)];
    keys.extend(lod.map(|lod| value(this, &em, lod)));
    let like = vec![texel.scalar(); image.form.components()];
    let values = em.waterfall(&keys, mask, &like, |keys, mask| {
        let descriptor = em.b.reinterpret(keys[0], Scalar::Ptr);
        let level = keys.get(1).map(|level| bounded_level(&em, descriptor, *level));
        let surface = Surface::level(&em, descriptor, image.form, level);
        let sampling = Sampling::none(&em);
        // Floats name the texel that they are in.
        let indices: Vec<Value> = at
            .iter()
            .zip(&surface.sizes)
            .map(|(at, size)| match em.b.scalar_of(*at).is_float() {
                true => address::nearest(&em.with_lanes(em.b.lanes(*at)), *at, *size, &sampling),
                false => *at,
            })
            .collect();
        fetch::fetch(&em, &surface, level, &indices, first, &sampling, texel, Some(mask))
    });
    Ok(results(this, &em, values, &leaves))
}

/// A level that the image has.
fn bounded_level(em: &Emitter<'_>, descriptor: Value, level: Value) -> Value {
    let b = em.b;
    let one = em.with_lanes(1);
    let last = b.sub(em.word(descriptor, field::LEVEL_COUNT), b.i32(1));
    let level = if b.scalar_of(level).is_float() {
        one.truncated(one.clamp(level, one.float(0.0), one.converted(last)))
    } else {
        b.zext_or_trunc(level, Scalar::I32)
    };
    one.umin(level, last)
}

/// `OpImageSampleExplicitLod`.
fn sampled(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Val, EngineError> {
    let (image, sampler) = image(this, inst.id(0))?;
    let sampler = sampler.ok_or_else(|| this.unsupported("a sample of an image without a sampler".into()))?;
    let (at, by_one) = coordinates(this, inst.id(1), image.form)?;
    let leaves = components(this, inst)?;
    let texel = texel_of(leaves[0].scalar);
    let lod = match operand(inst, 2, ImageOperands::LOD) {
        Some(place) if this.a.func.constant_bits(inst.id(place)) != Some(0) => {
            vec![this.leaf(inst.id(place))?]
        }
        _ => Vec::new(),
    };
    let mut gradients: Vec<Reg> = Vec::new();
    if let Some(place) = operand(inst, 2, ImageOperands::GRAD) {
        for part in [place, place + 1] {
            gradients.extend(this.value(inst.id(part))?.into_iter().take(image.form.dimensions));
        }
    }
    let em = emitter(this, &[&[image.descriptor, sampler], &at, &lod, &gradients]);
    let mask = mask(this, &em);
    let (at, first) = placed(this, &em, &at, by_one);
    let lod = lod.first().map(|lod| float(this, &em, *lod));
    let gradients: Vec<Value> = gradients.iter().map(|part| float(this, &em, *part)).collect();
    let keys = [key(this, &em, image.descriptor), key(this, &em, sampler)];
    let like = vec![texel.scalar(); image.form.components()];
    let values = em.waterfall(&keys, mask, &like, |keys, mask| {
        let descriptor = em.b.reinterpret(keys[0], Scalar::Ptr);
        let lod = lod.or_else(|| {
            (!gradients.is_empty()).then(|| sample::lod_of_gradients(&em, descriptor, image.form, &gradients))
        });
        let (sampler, form) = (keys[1], image.form);
        sample::sample(&em, &Sample { descriptor, sampler, form, texel, at: &at, first, lod, mask })
    });
    Ok(results(this, &em, values, &leaves))
}

/// A level of detail or part of a gradient as a float.
fn float(this: &Lowerer<'_, '_>, em: &Emitter<'_>, reg: Reg) -> Value {
    let value = value(this, em, reg);
    match this.b.scalar_of(value) {
        Scalar::F32 => value,
        scalar if scalar.is_float() => this.b.cast(Opcode::LLVMFPExt, value, Scalar::F32),
        _ => em.with_lanes(this.b.lanes(value)).converted(value),
    }
}

/// `OpImageWrite`.
fn write(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<(), EngineError> {
    let (image, _) = image(this, inst.id(0))?;
    let (at, by_one) = coordinates(this, inst.id(1), image.form)?;
    let color = this.value(inst.id(2))?;
    let em = emitter(this, &[&[image.descriptor], &at, &color]);
    let on = match this.mask() {
        Mask::All => None,
        Mask::Lanes(_) => Some(mask(this, &em)),
    };
    let (at, first) = placed(this, &em, &at, by_one);
    let color: Vec<Value> = color.iter().map(|part| value(this, &em, *part)).collect();
    let texel = texel_of(this.b.scalar_of(color[0]));
    let descriptor = key(this, &em, image.descriptor);
    let shared = this.b.lanes(descriptor) == 1;
    em.waterfall(&[descriptor], on.unwrap_or_else(|| em.yes()), &[], |keys, mine| {
        let surface = Surface::level(&em, em.b.reinterpret(keys[0], Scalar::Ptr), image.form, None);
        let mine = if shared { on } else { Some(mine) };
        let color = widened(&em, &surface, &color);
        store::store(&em, &surface, em.b.i32(0), &at, first, &color, texel, mine);
        Vec::new()
    });
    Ok(())
}

/// All components of a colour, as wide as the conversions take them: of integers, the image knows the sign.
fn widened(em: &Emitter<'_>, surface: &Surface, color: &[Value]) -> Vec<Value> {
    let b = em.b;
    let of = |part: Value| match b.scalar_of(part) {
        Scalar::F16 => b.cast(Opcode::LLVMFPExt, part, Scalar::F32),
        scalar if scalar.bits() < 32 => {
            let kind = b.and(b.lshr(surface.class, b.i32(8)), b.i32(fetch::KIND_MASK));
            let signed = em.equal(kind, b.i32(FieldKind::Sint as u32));
            b.select(signed, b.sext_or_trunc(part, Scalar::I32), b.zext_or_trunc(part, Scalar::I32))
        }
        _ => part,
    };
    let given = color.iter().take(surface.form.components()).map(|part| of(*part));
    let missing = b.zero(texel_of(b.scalar_of(color[0])).scalar(), em.lanes);
    given.chain(std::iter::repeat(missing)).take(surface.form.components()).collect()
}

/// `OpImageQuerySize` and `OpImageQuerySizeLod`.
fn sizes(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Val, EngineError> {
    let (image, _) = image(this, inst.id(0))?;
    let lod = match inst.op {
        Op::ImageQuerySizeLod => vec![this.leaf(inst.id(1))?],
        _ => Vec::new(),
    };
    let leaves = components(this, inst)?;
    let to = leaves[0].scalar;
    let em = emitter(this, &[&[image.descriptor], &lod]);
    let mut keys = vec![key(this, &em, image.descriptor)];
    keys.extend(lod.iter().map(|lod| value(this, &em, *lod)));
    let like = vec![to; image.form.coordinates()];
    let values = em.waterfall(&keys, mask(this, &em), &like, |keys, _| {
        let descriptor = em.b.reinterpret(keys[0], Scalar::Ptr);
        query::size(&em, descriptor, image.form, keys.get(1).copied(), to)
    });
    Ok(results(this, &em, values.into_iter().map(|value| em.all(value)).collect(), &leaves))
}

/// A query whose answer is a word of the descriptor.
fn words(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Val, EngineError> {
    let (image, _) = image(this, inst.id(0))?;
    let em = emitter(this, &[&[image.descriptor]]);
    let keys = [key(this, &em, image.descriptor)];
    let values = em.waterfall(&keys, mask(this, &em), &[Scalar::I32], |keys, _| {
        query::word(&em, em.b.reinterpret(keys[0], Scalar::Ptr), inst.op).into_iter().collect()
    });
    Ok(results(this, &em, values.into_iter().map(|value| em.all(value)).collect(), &components(this, inst)?))
}

/// A block, and for each component of a value the columns and rows that lanes have.
fn block<'b>(
    this: &'b Lowerer<'_, '_>,
    descriptor: Reg,
    at: &[Reg],
    form: ImageForm,
    element: Scalar,
) -> (Emitter<'b>, Surface, block::Block) {
    let em = Emitter::new(&this.b, this.w, this.target);
    let surface = Surface::level(&em, this.same(descriptor), form, None);
    let block = block::Block { element, x: this.same(at[0]), y: this.same(at[1]) };
    (em, surface, block)
}

/// The columns and rows of the elements that lanes have in one component: each component is a row of lanes, but in media
/// blocks, whose elements lanes have in turn, row after row.
fn places(
    this: &mut Lowerer<'_, '_>,
    inst: &Inst,
    first_operand: usize,
    component: u32,
) -> Result<(Value, Value), EngineError> {
    let width = match inst.op {
        Op::SubgroupImageMediaBlockReadINTEL | Op::SubgroupImageMediaBlockWriteINTEL => {
            let width = this.leaf(inst.id(first_operand))?;
            Some(this.same(width))
        }
        _ => None,
    };
    let b = &this.b;
    let lanes = if this.w == 1 { b.i32(0) } else { b.lane_numbers(Scalar::I32) };
    let splat = |value: u32| b.int(Scalar::I32, this.w, u64::from(value));
    Ok(match width {
        None => (lanes, splat(component)),
        Some(width) => {
            // Rows of a block begin at powers of two: what is between them is nothing.
            let at = b.add(lanes, splat(component * this.w));
            let last = b.intrinsic("llvm.umax", &[b.sub(width, b.i32(1)), b.i32(1)]);
            let last = b.intrinsic("llvm.umin", &[last, b.i32(u32::MAX >> 1)]);
            let zeros = b.intrinsic("llvm.ctlz", &[last, b.int(Scalar::Bool, 1, 0)]);
            let bits =
                b.select(b.icmp(IntPred::LLVMIntULE, width, b.i32(1)), b.i32(0), b.sub(b.i32(32), zeros));
            let row = b.lshr(at, b.splat(bits, this.w));
            (b.sub(at, b.shl(row, b.splat(bits, this.w))), row)
        }
    })
}

/// Whether elements of a media block are in its width and height.
fn in_block(
    this: &mut Lowerer<'_, '_>,
    inst: &Inst,
    (column, row): (Value, Value),
) -> Result<Option<Value>, EngineError> {
    if !matches!(inst.op, Op::SubgroupImageMediaBlockReadINTEL | Op::SubgroupImageMediaBlockWriteINTEL) {
        return Ok(None);
    }
    let (width, height) = (this.leaf(inst.id(2))?, this.leaf(inst.id(3))?);
    let below =
        |at: Value, size: Reg| this.b.icmp(IntPred::LLVMIntULT, at, this.b.splat(this.same(size), this.w));
    Ok(Some(this.b.and(below(column, width), below(row, height))))
}

fn block_read(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Val, EngineError> {
    let (image, _) = image(this, inst.id(0))?;
    let at: Vec<Reg> = this.value(inst.id(1))?.into_iter().collect();
    let leaves = this.leaves(inst.ty.expect("a block read has a type"))?;
    let is_media = inst.op == Op::SubgroupImageMediaBlockReadINTEL;
    let mut val = Val::new();
    for (component, leaf) in leaves.iter().enumerate() {
        let (column, row) = places(this, inst, 2, component as u32)?;
        let of_block = in_block(this, inst, (column, row))?;
        let (em, surface, block) = block(this, image.descriptor, &at, image.form, leaf.scalar);
        let lane_by_lane = || block::read(&em, &surface, &block, column, row);
        let value = if is_media || em.lanes == 1 {
            lane_by_lane()
        } else {
            let (address, inside) = block::line(&em, &surface, &block, component as u32);
            em.choose(inside, || em.b.load(leaf.scalar, em.lanes, address, 1), lane_by_lane)
        };
        let value =
            of_block.map_or(value, |inside| em.b.select(inside, value, em.b.zero(leaf.scalar, em.lanes)));
        val.push(this.lanes(value));
    }
    Ok(val)
}

fn block_write(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<(), EngineError> {
    let (image, _) = image(this, inst.id(0))?;
    let at: Vec<Reg> = this.value(inst.id(1))?.into_iter().collect();
    let is_media = inst.op == Op::SubgroupImageMediaBlockWriteINTEL;
    let data = this.value(inst.id(if is_media { 4 } else { 2 }))?;
    for (component, reg) in data.iter().enumerate() {
        let (column, row) = places(this, inst, 2, component as u32)?;
        let of_block = in_block(this, inst, (column, row))?;
        let value = this.vector(*reg);
        let element = this.b.scalar_of(value);
        let (em, surface, block) = block(this, image.descriptor, &at, image.form, element);
        let mask = this.mask_vector();
        let mask = of_block.map_or(mask, |inside| em.b.and(mask, inside));
        let lane_by_lane = || {
            block::write(&em, &surface, &block, (column, row), value, mask);
            Vec::new()
        };
        if is_media || em.lanes == 1 || this.mask() != Mask::All {
            lane_by_lane();
            continue;
        }
        let (address, inside) = block::line(&em, &surface, &block, component as u32);
        let whole = || {
            em.b.store(value, address, 1);
            Vec::new()
        };
        em.choose_all(inside, whole, lane_by_lane);
    }
    Ok(())
}

/// The image of a bindless handle; one without texels in place of a handle that is nobody's. So a kernel reaches nothing but
/// images by what it makes up, and lanes that are off may hold anything.
fn image_of_handle(this: &Lowerer<'_, '_>, handle: Reg) -> Reg {
    let [start, used, empty] = [symbols::IMAGE_SLOTS, symbols::IMAGE_SLOTS_USED, symbols::EMPTY_IMAGE]
        .map(|name| this.b.external(name));
    let start = this.b.reinterpret(start, Scalar::I64);
    // More images may come while the kernel runs.
    let used = this.b.load(Scalar::I64, 1, used, Scalar::I64.bytes());
    this.apply(&[handle], |this, v| {
        let b = &this.b;
        let lanes = b.lanes(v[0]);
        let handle = b.zext_or_trunc(v[0], Scalar::I64);
        let offset = b.sub(handle, b.splat(start, lanes));
        let is_in_use = b.icmp(IntPred::LLVMIntULT, offset, b.splat(used, lanes));
        let within_slot = b.and(offset, b.int(Scalar::I64, lanes, SLOT_BYTES as u64 - 1));
        let is_start = b.icmp(IntPred::LLVMIntEQ, within_slot, b.zero(Scalar::I64, lanes));
        let pointer = b.reinterpret(handle, Scalar::Ptr);
        b.select(b.and(is_in_use, is_start), pointer, b.splat(empty, lanes))
    })
}

/// `OpConvertHandleToSampledImageINTEL`: the descriptor has the sampler.
fn sampled_image_of_handle(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Val, EngineError> {
    let handle = this.leaf(inst.id(0))?;
    let image = image_of_handle(this, handle);
    let em = emitter(this, &[&[image]]);
    let keys = [key(this, &em, image)];
    let sampler = em.waterfall(&keys, mask(this, &em), &[Scalar::I64], |keys, _| {
        vec![em.field(Scalar::I64, em.b.reinterpret(keys[0], Scalar::Ptr), field::SAMPLER)]
    });
    let sampler = em.all(sampler[0]);
    let sampler = if em.lanes == 1 { Reg::uniform(sampler) } else { Reg::varying(sampler) };
    Ok(smallvec![image, sampler])
}
