//! Images in guarded memory, coordinates, and runs of kernels: what the tests of images share.
//!
//! The memory of every image ends at a page that cannot be touched, so that an access outside is a crash.

use std::sync::Arc;
use ze_engine::image::format::IDENTITY;
use ze_engine::image::{
    Addressing, ChannelType, Filter, Format, ImageDescriptor, ImageParts, MipLevel, Sampler, Slot, Swizzle,
};
use ze_engine::{Dispatch, Engine, EngineConfig, Kernel, Program};
use ze_headers::*;
use ze_tests::Random;
use ze_tests::image_model::{self as model, Color};

use crate::support::Guarded;

pub fn load(engine: &Arc<Engine>, module: &str) -> Arc<Program> {
    crate::support::load(engine, &crate::support::file(module))
}

pub fn launch(kernel: &Arc<Kernel>, group_count: [u32; 3], group_size: [u32; 3], values: &[u64]) {
    let mut block = vec![0; kernel.reflection().arg_block_size as usize];
    for (arg, value) in kernel.reflection().args.iter().zip(values) {
        let (at, size) = (arg.offset as usize, arg.size as usize);
        block[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
    }
    let dispatch = Dispatch { group_count, group_size, global_offset: [0; 3], args: &block };
    kernel.launch(&dispatch).expect("launches");
}

/// What an image of a test is.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    pub format: Format,
    pub swizzle: Swizzle,
    pub dimensions: usize,
    pub size: [u32; 3],
    /// 0 for images that are no arrays.
    pub layers: u32,
    pub levels: usize,
}

impl Kind {
    pub fn of(format: Format, size: &[u32]) -> Kind {
        let mut all = [1; 3];
        all[..size.len()].copy_from_slice(size);
        Kind { format, swizzle: IDENTITY, dimensions: size.len(), size: all, layers: 0, levels: 1 }
    }
}

/// An image in guarded memory, with rows that do not follow each other closely.
pub struct Image {
    pub kind: Kind,
    pub memory: Guarded,
    pub levels: Vec<MipLevel>,
    slot: Slot,
}

impl Image {
    pub fn new(kind: Kind, random: &mut Random) -> Image {
        Self::with_sampler(kind, None, random)
    }

    pub fn with_sampler(kind: Kind, sampler: Option<Sampler>, random: &mut Random) -> Image {
        let texel = kind.format.bytes();
        let (mut levels, mut at) = (Vec::new(), 0u64);
        for number in 0..kind.levels {
            let size = kind.size.map(|size| (size >> number).max(1));
            let row_pitch = size[0] * texel + if size[1] > 1 { 5 } else { 0 };
            let rows = u64::from(row_pitch) * u64::from(size[1] - 1) + u64::from(size[0] * texel);
            let slice_pitch = rows + 3;
            let slices = u64::from(size[2].max(kind.layers));
            levels.push(MipLevel {
                base: at,
                slice_pitch,
                row_pitch,
                width: size[0],
                height: size[1],
                depth: size[2],
            });
            at += slice_pitch * (slices - 1) + rows;
        }
        let mut memory = Guarded::new(at as usize);
        memory.bytes_mut().iter_mut().for_each(|byte| *byte = random.next_u32() as u8);
        let base = memory.bytes().as_ptr() as u64;
        levels.iter_mut().for_each(|level| level.base += base);
        let parts = ImageParts {
            format: kind.format,
            swizzle: kind.swizzle,
            levels: &levels,
            layers: kind.layers.max(1),
            sampler,
        };
        let slot = Slot::new(&ImageDescriptor::new(&parts).expect("a descriptor")).expect("a slot");
        Image { kind, memory, levels, slot }
    }

    pub fn handle(&self) -> u64 {
        self.slot.address()
    }

    pub fn model(&self) -> model::Image<'_> {
        let base = self.memory.bytes().as_ptr() as u64;
        let level = |level: &MipLevel| model::Level {
            bytes: &self.memory.bytes()[(level.base - base) as usize..],
            row_pitch: level.row_pitch as usize,
            slice_pitch: level.slice_pitch as usize,
            size: [level.width as usize, level.height as usize, level.depth as usize],
        };
        model::Image {
            layout: self.kind.format.layout().ze,
            ty: ze_image_format_type_t(self.kind.format.channel_type() as u32),
            srgb: self.kind.format.is_srgb(),
            swizzle: self.kind.swizzle.map(|source| source as u32),
            dimensions: self.kind.dimensions,
            layers: self.kind.layers as usize,
            levels: self.levels.iter().map(level).collect(),
        }
    }

    /// A part of the names of kernels.
    pub fn suffix(&self) -> String {
        format!("{}{}", self.kind.dimensions, if self.kind.layers > 0 { "a" } else { "" })
    }

    pub fn is_integer(&self) -> bool {
        self.kind.format.channel_type().is_integer()
    }
}

pub fn color_of(words: &[u32], is_integer: bool) -> Color {
    let four: [u32; 4] = words.try_into().expect("four components");
    if is_integer { Color::Int(four) } else { Color::Float(four.map(f32::from_bits)) }
}

/// Whether floats are the same up to so much of the greatest component.
pub fn agree(found: Color, expected: Color, tolerance: f32) -> bool {
    let (Color::Float(found), Color::Float(expected)) = (found, expected) else { return found == expected };
    let scale =
        expected.iter().filter(|part| part.is_finite()).fold(1e-30, |most: f32, part| most.max(part.abs()));
    found.iter().zip(expected).all(|(found, expected)| {
        let close = (found - expected).abs() <= tolerance * scale;
        found.to_bits() == expected.to_bits()
            || *found == expected
            || close
            || (found.is_nan() && expected.is_nan())
    })
}

/// Work-items of a launch, in groups of so many.
pub const ITEMS: usize = 192;

/// Runs a kernel `(image, [sampler], coordinates, colours)` and gives the colours.
pub fn colors(
    kernel: &Arc<Kernel>,
    image: &Image,
    sampler: Option<u64>,
    at: &[u32],
    group: u32,
) -> Vec<Color> {
    let mut out = vec![0u32; 4 * ITEMS];
    let mut values = vec![image.handle()];
    values.extend(sampler);
    values.extend([at.as_ptr() as u64, out.as_mut_ptr() as u64]);
    launch(kernel, [ITEMS as u32 / group, 1, 1], [group, 1, 1], &values);
    out.chunks(4).map(|words| color_of(words, image.is_integer())).collect()
}

/// Words of coordinates in memory: OpenCL C's vectors of three are as large as those of four.
pub fn stride(image: &Image) -> usize {
    let count = image.kind.dimensions + usize::from(image.kind.layers > 0);
    if count == 3 { 4 } else { count }
}

pub fn layered(image: &Image, at: &[i32]) -> ([i64; 3], i64) {
    let mut index = [0; 3];
    index.iter_mut().zip(at).take(image.kind.dimensions).for_each(|(index, at)| *index = i64::from(*at));
    let layer = if image.kind.layers > 0 { i64::from(at[image.kind.dimensions]) } else { 0 };
    (index, layer)
}

/// Integer coordinates: a row, all around the edges, and the farthest there are.
pub fn int_coordinates(image: &Image, random: &mut Random) -> Vec<u32> {
    let stride = stride(image);
    let mut at = vec![0i32; stride * ITEMS];
    for (item, at) in at.chunks_mut(stride).enumerate() {
        for (axis, at) in at.iter_mut().enumerate() {
            let sizes = [image.kind.size[0], image.kind.size[1], image.kind.size[2]];
            let size = if axis < image.kind.dimensions { sizes[axis] } else { image.kind.layers } as i32;
            *at = match item {
                0..64 if axis == 0 => item as i32,
                0..64 => (size - 1) / 2,
                64..176 => random.between(-3, size + 2),
                _ => [i32::MIN, i32::MAX, -1, size][random.below(4) as usize],
            };
        }
    }
    at.into_iter().map(|at| at as u32).collect()
}

/// Coordinates of which no two are the same, in the image and around it.
pub fn distinct_coordinates(image: &Image) -> Vec<u32> {
    let stride = stride(image);
    let mut at = vec![0i32; stride * ITEMS];
    let width = image.kind.size[0] as i32 + 3;
    for (item, at) in at.chunks_mut(stride).enumerate() {
        let item = item as i32;
        at[0] = item % width - 1;
        if let [_, second, ..] = at {
            *second = item / width - 1;
        } else {
            at[0] = item - 1;
        }
        if item as usize >= ITEMS - 4 {
            at[0] = [i32::MIN, i32::MAX, -7, width + 9][item as usize & 3];
        }
    }
    at.into_iter().map(|at| at as u32).collect()
}

/// Writes colours to texels and compares all memory.
pub fn writes(program: &Arc<Program>, image: &mut Image, random: &mut Random) {
    let at = distinct_coordinates(image);
    let texel = if image.is_integer() { "i" } else { "f" };
    let write = program.kernel(&format!("write_{}_{texel}", image.suffix())).expect("a kernel");
    let special =
        [0.0, -0.0, 1.0, -1.0, 0.5, 1e-5, 2.0, 7e4, -7e4, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    let edges = [0, 1, 127, 128, 255, 256, 32768, 65535, 65536, 0x7fff_ffff, 0x8000_0000, u32::MAX];
    let is_integer = image.is_integer();
    let words: Vec<u32> = (0..4 * ITEMS)
        .map(|_| match random.below(4) {
            0 if is_integer => edges[random.below(12) as usize],
            _ if is_integer => random.next_u32() >> random.below(32),
            0 => special[random.below(12) as usize].to_bits(),
            1 => (random.below(256) as f32 / 255.0).to_bits(),
            _ => random.float(-1.1, 1.1).to_bits(),
        })
        .collect();
    let mut expected = image.memory.bytes().to_vec();
    for (item, at) in at.chunks(stride(image)).enumerate() {
        let at: Vec<i32> = at.iter().map(|at| *at as i32).collect();
        let (index, layer) = layered(image, &at);
        let model = image.model();
        let Some(place) = model.place(0, index, layer) else { continue };
        let texel = model.encode(color_of(&words[4 * item..][..4], is_integer));
        expected[place..place + texel.len()].copy_from_slice(&texel);
    }
    let values = [image.handle(), at.as_ptr() as u64, words.as_ptr() as u64];
    launch(&write, [1, 1, 1], [ITEMS as u32, 1, 1], &values);
    for (place, (found, expected)) in image.memory.bytes().iter().zip(&expected).enumerate() {
        assert_eq!(found, expected, "{:?}: byte {place}", image.kind);
    }
}

/// Samplers of all modes: SPIR-V's number of the addressing mode, normalized, linear.
pub fn samplers() -> Vec<(Sampler, model::Sampler)> {
    let modes = [
        Addressing::None,
        Addressing::ClampToEdge,
        Addressing::Clamp,
        Addressing::Repeat,
        Addressing::MirroredRepeat,
    ];
    let mut all = Vec::new();
    for (number, addressing) in modes.into_iter().enumerate() {
        for (normalized, linear) in [(false, false), (false, true), (true, false), (true, true)] {
            let filter = if linear { Filter::Linear } else { Filter::Nearest };
            let sampler = Sampler { addressing, normalized, filter, ..Sampler::default() };
            let model = model::Sampler { addressing: number as u32, normalized, linear, mip_linear: false };
            all.push((sampler, model));
        }
    }
    all
}

/// Float coordinates: a row, texel centres and edges, in between, outside, and what is no coordinate.
pub fn float_coordinates(image: &Image, normalized: bool, random: &mut Random) -> Vec<f32> {
    let stride = stride(image);
    let mut all = vec![0f32; stride * ITEMS];
    let special = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30, -1e30, -0.0, 3e9, -3e9];
    for (item, at) in all.chunks_mut(stride).enumerate() {
        for (axis, at) in at.iter_mut().enumerate() {
            if axis >= image.kind.dimensions {
                *at = match item {
                    0..160 => random.float(-1.5, image.kind.layers as f32 + 1.0),
                    _ => special[random.below(8) as usize],
                };
                continue;
            }
            let size = image.kind.size[axis] as f32;
            let texels = match item {
                0..48 if axis == 0 => item as f32 + 0.5,
                0..48 => (size / 2.0).floor() + 0.5,
                48..72 => random.between(-4, 2 * size as i32 + 4) as f32 / 2.0,
                72..96 => size * random.below(2) as f32 + random.between(-8, 8) as f32 / 4.0,
                96..160 => random.float(-1.6 * size, 2.6 * size),
                _ => special[random.below(8) as usize],
            };
            *at = if normalized { texels / size } else { texels };
        }
    }
    all
}

pub fn sample_of(image: &Image, sampler: model::Sampler, at: &[f32], lod: f32) -> Color {
    let mut place = [0.0; 3];
    place[..image.kind.dimensions].copy_from_slice(&at[..image.kind.dimensions]);
    let layer = if image.kind.layers > 0 { at[image.kind.dimensions] } else { 0.0 };
    image.model().sample(sampler, place, layer, lod)
}

/// Samples at float coordinates, with a sampler that is an argument unless the kernel has its own.
pub fn samples(
    kernel: &Arc<Kernel>,
    image: &Image,
    (sampler, model): (Option<Sampler>, model::Sampler),
    group: u32,
    random: &mut Random,
) {
    let at = float_coordinates(image, model.normalized, random);
    samples_at(kernel, image, (sampler, model), group, &at);
}

/// Samples at these coordinates.
pub fn samples_at(
    kernel: &Arc<Kernel>,
    image: &Image,
    (sampler, model): (Option<Sampler>, model::Sampler),
    group: u32,
    at: &[f32],
) {
    let words: Vec<u32> = at.iter().map(|at| at.to_bits()).collect();
    let found = colors(kernel, image, sampler.map(Sampler::bits), &words, group);
    for (at, found) in at.chunks(stride(image)).zip(found) {
        let expected = sample_of(image, model, at, 0.0);
        // Filters are exact to a few units in the last place; infinite texels times nothing are anything.
        let wild = matches!(expected, Color::Float(color) if color.iter().any(|part| !part.is_finite()));
        let tolerance = if model.linear || image.kind.format.is_srgb() { 2e-6 } else { 0.0 };
        let fine = (wild && model.linear) || agree(found, expected, tolerance);
        assert!(fine, "{:?}, {model:?} at {at:?}: {found:?}, not {expected:?}", image.kind);
    }
}

pub fn format(layout: ze_image_format_layout_t, ty: ChannelType) -> Format {
    Format::new(layout, ty).expect("a format")
}

/// Formats that have code of their own where they are sampled, and others.
pub fn sampled_formats() -> Vec<Format> {
    vec![
        format(ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ChannelType::Unorm),
        format(ZE_IMAGE_FORMAT_LAYOUT_8, ChannelType::Unorm),
        format(ZE_IMAGE_FORMAT_LAYOUT_16_16_16_16, ChannelType::Snorm),
        format(ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ChannelType::Unorm).srgb().expect("sRGB"),
        format(ZE_IMAGE_FORMAT_LAYOUT_5_6_5, ChannelType::Unorm),
    ]
}

/// Replaces the channels of a float image by numbers of ordinary size.
pub fn tame(image: &mut Image, random: &mut Random) {
    let (format, size) = (image.kind.format, image.kind.size);
    let bytes = format.layout().fields[0].bits as usize / 8;
    for y in 0..i64::from(size[1]) {
        let start = image.model().place(0, [0, y, 0], 0).expect("inside");
        let row = start..start + (size[0] * format.bytes()) as usize;
        for part in image.memory.bytes_mut()[row].chunks_exact_mut(bytes) {
            let value = random.float(-4.0, 4.0);
            match part {
                [_, _] => part.copy_from_slice(&half::f16::from_f32(value).to_le_bytes()),
                _ => part.copy_from_slice(&value.to_le_bytes()),
            }
        }
    }
}

/// An engine that works in the calling thread.
pub fn engine() -> Arc<Engine> {
    Engine::new(EngineConfig { threads: 1, ..EngineConfig::default() })
}
