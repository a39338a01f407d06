//! [`ImageDescriptor`]: an image in memory, as compiled code reads it.
//!
//! Compiled code takes everything from here and bounds every access by it, so that no coordinate that a kernel computes leads
//! outside. A descriptor does not change while a kernel that may read it runs (code reads it as if it were constant), and
//! stays where it is for as long as its address is somebody's handle. What it describes is linear memory: texels of a row
//! follow each other, rows are `row_pitch` bytes apart, slices of a 3D image and layers of an array `slice_pitch`.

use super::format::{ChannelType, Field, Format, Source, Swizzle};
use super::sampler::Sampler;
use crate::fork::OnceLock;
use std::mem::{offset_of, size_of};

/// Levels of detail that an image has at most: those of 32768 texels.
pub const MAX_LEVELS: usize = 16;
/// Texels in any direction are less than this: coordinates are 32-bit integers, with room for those beside the image.
pub const MAX_EXTENT: u32 = 1 << 30;

/// One level of detail: where its texels are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct MipLevel {
    /// The address of its first texel.
    pub base: u64,
    /// Bytes from slice to slice of a 3D image, and from layer to layer of an array.
    pub slice_pitch: u64,
    /// Bytes from row to row, less than 4 GiB.
    pub row_pitch: u32,
    /// Texels.
    pub width: u32,
    /// Rows; 1 for one-dimensional images.
    pub height: u32,
    /// Slices; 1 for images that are not three-dimensional.
    pub depth: u32,
}

/// How one component of a result is read from a texel: `field = ((word >> shift) & mask)`, signed if `sign` is set,
/// times the scale for normalized formats. Without a field (`mask` 0) the component is `constant`.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[repr(C)]
pub(crate) struct Decode {
    /// The 32-bit word of the texel, and the field in it.
    pub word: u32,
    pub shift: u32,
    pub mask: u32,
    /// The field's highest bit, if it is signed.
    pub sign: u32,
    /// Bits by which a small float is shifted up to be a half.
    pub up: u32,
    /// 0 or 1, of components without a field.
    pub constant: u32,
    /// One over the greatest value, as the sum of two floats: a product with each, added up in one rounding, is the quotient.
    pub scale: f32,
    pub scale_low: f32,
    /// An alpha channel, which sRGB leaves linear, or no channel.
    pub linear: u32,
    /// `constant` as a float, and the greatest value of a normalized field.
    pub constant_float: f32,
    pub greatest: f32,
}

/// Where one component of a colour goes in a texel: `field = convert(component) & mask`, shifted up in its word. A component
/// without a field has no mask.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[repr(C)]
pub(crate) struct Encode {
    pub word: u32,
    pub shift: u32,
    pub mask: u32,
    /// The least and greatest value of a normalized field.
    pub least_float: f32,
    pub scale: f32,
    /// The bounds of an integer field, of its signedness.
    pub least: u32,
    pub most: u32,
    /// Small floats: bits by which a half is shifted down, what is added to the exponent of a float to have a number whose
    /// last place is the small float's, the least such number, and the greatest finite value.
    pub down: u32,
    pub round_exponent: u32,
    pub round_least: u32,
    pub largest: f32,
    /// An alpha channel, which sRGB leaves linear.
    pub linear: u32,
}

/// How a format's fields are numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum FieldKind {
    Uint = 0,
    Sint = 1,
    Unorm = 2,
    Snorm = 3,
    Float = 4,
    Half = 5,
    /// Floats of 10 and 11 bits.
    SmallFloat = 6,
    Srgb = 7,
    /// Normalized fields of 32 bits, which no float has exactly.
    WideUnorm = 8,
    WideSnorm = 9,
    /// Four bytes of red, green, blue and alpha in their places, without sign and normalized: what most pictures are.
    Rgba8 = 10,
}

impl FieldKind {
    pub const ALL: [FieldKind; 11] = [
        FieldKind::Uint,
        FieldKind::Sint,
        FieldKind::Unorm,
        FieldKind::Snorm,
        FieldKind::Float,
        FieldKind::Half,
        FieldKind::SmallFloat,
        FieldKind::Srgb,
        FieldKind::WideUnorm,
        FieldKind::WideSnorm,
        FieldKind::Rgba8,
    ];

    fn of(format: Format, swizzle: Swizzle) -> FieldKind {
        let in_place = swizzle == super::format::IDENTITY;
        let bits = format.layout().fields[0].bits;
        match format.channel_type() {
            ChannelType::Uint => FieldKind::Uint,
            ChannelType::Sint => FieldKind::Sint,
            ChannelType::Unorm if format.is_srgb() => FieldKind::Srgb,
            ChannelType::Unorm if bits == 32 => FieldKind::WideUnorm,
            ChannelType::Snorm if bits == 32 => FieldKind::WideSnorm,
            ChannelType::Unorm if in_place && bits == 8 && format.layout().fields.len() == 4 => {
                FieldKind::Rgba8
            }
            ChannelType::Unorm => FieldKind::Unorm,
            ChannelType::Snorm => FieldKind::Snorm,
            ChannelType::Float => match bits {
                32 => FieldKind::Float,
                16 => FieldKind::Half,
                _ => FieldKind::SmallFloat,
            },
        }
    }
}

/// The word that code tells formats apart by: kind, and bytes of a texel.
pub(crate) const fn class(kind: FieldKind, bytes: u32) -> u32 {
    (kind as u32) << 8 | bytes
}

/// Set in the class of images with a level whose texels are not all within 31 bits of bytes from the first.
const FAR: u32 = 1 << 16;
const MOST_NEAR: u64 = i32::MAX as u64;

/// Set in the class of texels of several words whose components are in other places than those of their words.
const REARRANGED: u32 = 1 << 15;

/// An image, or a view of one, in memory.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct ImageDescriptor {
    /// The packed sampler of a bindless sampled image ([`Sampler::bits`]), else 0.
    pub sampler: u64,
    class: u32,
    bytes: u32,
    /// Layers of an array; 1 for other images.
    layers: u32,
    level_count: u32,
    samples: u32,
    query_type: u32,
    query_order: u32,
    /// The alpha of the border: 0 or 1.
    border_alpha: u32,
    format: Format,
    levels: [MipLevel; MAX_LEVELS],
    decode: [Decode; 4],
    encode: [Encode; 4],
}

/// Where compiled code finds the parts.
pub(crate) mod field {
    use super::*;

    pub const SAMPLER: u64 = offset_of!(ImageDescriptor, sampler) as u64;
    pub const CLASS: u64 = offset_of!(ImageDescriptor, class) as u64;
    pub const BYTES: u64 = offset_of!(ImageDescriptor, bytes) as u64;
    pub const LAYERS: u64 = offset_of!(ImageDescriptor, layers) as u64;
    pub const LEVEL_COUNT: u64 = offset_of!(ImageDescriptor, level_count) as u64;
    pub const SAMPLES: u64 = offset_of!(ImageDescriptor, samples) as u64;
    pub const QUERY_TYPE: u64 = offset_of!(ImageDescriptor, query_type) as u64;
    pub const QUERY_ORDER: u64 = offset_of!(ImageDescriptor, query_order) as u64;
    pub const BORDER_ALPHA: u64 = offset_of!(ImageDescriptor, border_alpha) as u64;
    pub const LEVELS: u64 = offset_of!(ImageDescriptor, levels) as u64;
    pub const DECODE: u64 = offset_of!(ImageDescriptor, decode) as u64;
    pub const ENCODE: u64 = offset_of!(ImageDescriptor, encode) as u64;
    pub const LEVEL_BYTES: u64 = size_of::<MipLevel>() as u64;
    pub const DECODE_BYTES: u64 = size_of::<Decode>() as u64;
    pub const ENCODE_BYTES: u64 = size_of::<Encode>() as u64;
}

/// What an image is made of, for [`ImageDescriptor::new`].
#[derive(Clone, Copy, Debug)]
pub struct ImageParts<'a> {
    pub format: Format,
    pub swizzle: Swizzle,
    /// 1 to [`MAX_LEVELS`] levels; the first is the image itself.
    pub levels: &'a [MipLevel],
    /// 1 for images that are no arrays.
    pub layers: u32,
    /// The sampler of a bindless sampled image.
    pub sampler: Option<Sampler>,
}

impl ImageDescriptor {
    /// A descriptor; the error says which part cannot be. Whether the memory is there is the caller's business: all of it,
    /// `slice_pitch` × (slices or layers − 1) + `row_pitch` × (rows − 1) + a row of texels for each level.
    pub fn new(parts: &ImageParts<'_>) -> Result<Self, String> {
        let ImageParts { format, swizzle, levels: given, layers, sampler } = *parts;
        if given.is_empty() || given.len() > MAX_LEVELS {
            return Err(format!("{} levels: there are 1 to {MAX_LEVELS}", given.len()));
        }
        for (at, level) in given.iter().enumerate() {
            check_level(format, level, layers).map_err(|reason| format!("level {at}: {reason}"))?;
        }
        let mut levels = [MipLevel::default(); MAX_LEVELS];
        levels[..given.len()].copy_from_slice(given);
        let kind = FieldKind::of(format, swizzle);
        let fields = format.layout().fields;
        let mut encode = [Encode::default(); 4];
        for (at, field) in fields.iter().enumerate() {
            // Of several components that a field is read as, the first is written.
            if let Some(first) = swizzle.iter().position(|source| source.component() == Some(at)) {
                encode[first] = encode_of(*field, kind, at == 3);
            }
        }
        let far =
            given.iter().any(|level| reach(format, level, layers).is_none_or(|bytes| bytes > MOST_NEAR));
        let in_place = swizzle == super::format::IDENTITY || format.bytes() <= 4;
        Ok(Self {
            sampler: sampler.map_or(0, Sampler::bits),
            class: class(kind, format.bytes())
                | if in_place { 0 } else { REARRANGED }
                | if far { FAR } else { 0 },
            bytes: format.bytes(),
            layers,
            level_count: given.len() as u32,
            samples: 1,
            query_type: format.query_type(swizzle),
            query_order: format.query_order(swizzle),
            border_alpha: u32::from(swizzle[3] == Source::One),
            format,
            levels,
            decode: swizzle.map(|source| decode_of(format, kind, source)),
            encode,
        })
    }

    pub fn format(&self) -> Format {
        self.format
    }

    pub fn layers(&self) -> u32 {
        self.layers
    }

    pub fn levels(&self) -> &[MipLevel] {
        &self.levels[..self.level_count as usize]
    }
}

/// Memory that is read where nothing is to be read.
#[repr(align(64))]
struct Nothing(#[allow(dead_code)] [u64; 8]);

/// The image that a null handle stands for: it has no texels, reads give the border, and writes do nothing.
pub fn empty() -> &'static ImageDescriptor {
    static NOTHING: Nothing = Nothing([0; 8]);
    static EMPTY: OnceLock<ImageDescriptor> = OnceLock::new();
    EMPTY.get_or_init(|| {
        let format = super::format::formats().next().expect("there are formats");
        let level = MipLevel { base: (&raw const NOTHING) as u64, row_pitch: 64, ..MipLevel::default() };
        let one = MipLevel { width: 1, height: 1, depth: 1, ..level };
        let parts =
            ImageParts { format, swizzle: super::format::IDENTITY, levels: &[one], layers: 1, sampler: None };
        let mut empty = ImageDescriptor::new(&parts).expect("one texel is an image");
        (empty.levels[0], empty.layers) = (level, 0);
        empty
    })
}

fn check_level(format: Format, level: &MipLevel, layers: u32) -> Result<(), String> {
    let MipLevel { base, slice_pitch, row_pitch, width, height, depth } = *level;
    for (name, texels) in [("width", width), ("height", height), ("depth", depth), ("layers", layers)] {
        if texels == 0 || texels >= MAX_EXTENT {
            return Err(format!("{name} {texels}: 1 to {}", MAX_EXTENT - 1));
        }
    }
    let row = row_bytes(format, level);
    if height > 1 && u64::from(row_pitch) < row {
        return Err(format!("a row pitch of {row_pitch} bytes for rows of {row}"));
    }
    let slice = slice_bytes(format, level);
    if (depth > 1 || layers > 1) && slice_pitch < slice {
        return Err(format!("a slice pitch of {slice_pitch} bytes for slices of {slice}"));
    }
    if base == 0 || reach(format, level, layers).and_then(|bytes| bytes.checked_add(base)).is_none() {
        return Err(format!("no memory at {base:#x}"));
    }
    Ok(())
}

/// Bytes of a row of texels.
fn row_bytes(format: Format, level: &MipLevel) -> u64 {
    u64::from(level.width) * u64::from(format.bytes())
}

/// Bytes from the first texel of a slice to the end of the last.
fn slice_bytes(format: Format, level: &MipLevel) -> u64 {
    u64::from(level.row_pitch) * u64::from(level.height - 1) + row_bytes(format, level)
}

/// Bytes from the first texel of a level to the end of the last, if they can be counted.
fn reach(format: Format, level: &MipLevel, layers: u32) -> Option<u64> {
    let slices = u64::from(level.depth.max(layers) - 1);
    level.slice_pitch.checked_mul(slices)?.checked_add(slice_bytes(format, level))
}

/// All bits of a field.
fn ones(bits: u32) -> u32 {
    u32::MAX >> (32 - bits)
}

/// The greatest value of a normalized field, of `bits` bits if it has a sign.
fn greatest(kind: FieldKind, bits: u32) -> u32 {
    if matches!(kind, FieldKind::Snorm | FieldKind::WideSnorm) { ones(bits) >> 1 } else { ones(bits) }
}

fn decode_of(format: Format, kind: FieldKind, source: Source) -> Decode {
    let fields = format.layout().fields;
    let component = source.component();
    let Some(field) = component.and_then(|at| fields.get(at)) else {
        // A texel without alpha is opaque.
        let constant = u32::from(matches!(source, Source::One | Source::A));
        let constant_float = constant as f32;
        return Decode {
            constant,
            constant_float,
            scale: 1.0,
            greatest: 1.0,
            linear: 1,
            ..Decode::default()
        };
    };
    let one_over = 1.0 / f64::from(greatest(kind, field.bits));
    let scale = one_over as f32;
    let signed = matches!(kind, FieldKind::Sint | FieldKind::Snorm | FieldKind::WideSnorm);
    Decode {
        word: field.word(),
        shift: field.shift(),
        mask: ones(field.bits),
        sign: if signed { 1 << (field.bits - 1) } else { 0 },
        up: if kind == FieldKind::SmallFloat { HALF_BITS - field.bits } else { 0 },
        constant: 0,
        scale,
        scale_low: (one_over - f64::from(scale)) as f32,
        linear: u32::from(component == Some(3)),
        constant_float: 0.0,
        greatest: greatest(kind, field.bits) as f32,
    }
}

/// Bits of a half but for its sign: small floats have its exponent, and no sign.
const HALF_BITS: u32 = 15;
const HALF_EXPONENT_BITS: u32 = 5;
/// The exponent of the least normal half, and so of the least normal small float.
const HALF_LEAST_EXPONENT: i32 = -14;
const F32_MANTISSA_BITS: u32 = 23;
const F32_BIAS: i32 = 127;

fn encode_of(field: Field, kind: FieldKind, is_alpha: bool) -> Encode {
    let signed = matches!(kind, FieldKind::Sint | FieldKind::Snorm | FieldKind::WideSnorm);
    let most = if signed { ones(field.bits) >> 1 } else { ones(field.bits) };
    let mut encode = Encode {
        word: field.word(),
        shift: field.shift(),
        mask: ones(field.bits),
        least_float: if signed { -(greatest(kind, field.bits) as f32) - 1.0 } else { 0.0 },
        scale: greatest(kind, field.bits) as f32,
        least: if signed { !most } else { 0 },
        most,
        linear: u32::from(is_alpha),
        ..Encode::default()
    };
    if kind == FieldKind::SmallFloat {
        let mantissa = field.bits - HALF_EXPONENT_BITS;
        let dropped = F32_MANTISSA_BITS - mantissa;
        encode.down = HALF_BITS - field.bits;
        encode.round_exponent = dropped << F32_MANTISSA_BITS;
        let least = HALF_LEAST_EXPONENT + dropped as i32;
        encode.round_least = ((least + F32_BIAS) as u32) << F32_MANTISSA_BITS;
        encode.largest = (2.0 - 0.5f32.powi(mantissa as i32)) * 32768.0;
    }
    encode
}

#[cfg(test)]
mod tests {
    use super::super::format::{IDENTITY, formats};
    use super::*;
    use ze_headers::*;

    fn parts<'a>(format: Format, levels: &'a [MipLevel]) -> ImageParts<'a> {
        ImageParts { format, swizzle: IDENTITY, levels, layers: 1, sampler: None }
    }

    #[test]
    fn quotients_of_normalized_fields_are_exact() {
        for format in formats() {
            let kind = FieldKind::of(format, IDENTITY);
            if !matches!(kind, FieldKind::Unorm | FieldKind::Snorm | FieldKind::Rgba8) {
                continue;
            }
            for source in IDENTITY.into_iter().take(format.layout().fields.len()) {
                let decode = decode_of(format, kind, source);
                let bits = decode.mask.count_ones();
                if bits > 16 {
                    continue;
                }
                let most = greatest(kind, bits);
                for value in 0..=most {
                    let field = value as f32;
                    let product = field.mul_add(decode.scale, field * decode.scale_low);
                    assert_eq!(product, field / most as f32, "{value} of {bits} bits");
                }
            }
        }
    }

    #[test]
    fn an_image_that_cannot_be_is_refused_with_a_reason() {
        let format = Format::new(ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ChannelType::Unorm).expect("a format");
        let good = MipLevel { base: 64, slice_pitch: 0, row_pitch: 64, width: 16, height: 4, depth: 1 };
        assert!(ImageDescriptor::new(&parts(format, &[good])).is_ok());
        for (bad, reason) in [
            (MipLevel { width: 0, ..good }, "width"),
            (MipLevel { height: MAX_EXTENT, ..good }, "height"),
            (MipLevel { row_pitch: 63, ..good }, "row pitch"),
            (MipLevel { depth: 2, slice_pitch: 255, ..good }, "slice pitch"),
            (MipLevel { base: 0, ..good }, "no memory"),
            (MipLevel { depth: 2, slice_pitch: u64::MAX, ..good }, "no memory"),
        ] {
            let error = ImageDescriptor::new(&parts(format, &[bad])).expect_err(reason);
            assert!(error.contains(reason), "{error}");
        }
        assert!(ImageDescriptor::new(&parts(format, &[])).is_err());
        assert!(ImageDescriptor::new(&parts(format, &[good; MAX_LEVELS + 1])).is_err());
    }

    #[test]
    fn every_format_has_a_kind_that_code_knows() {
        for format in formats() {
            let kind = FieldKind::of(format, IDENTITY);
            assert!(FieldKind::ALL.contains(&kind));
            assert_eq!(kind == FieldKind::Srgb, format.is_srgb());
        }
        assert_eq!(empty().levels()[0].width, 0);
    }
}
