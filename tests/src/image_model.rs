//! Images as the specifications have them, one texel at a time (OpenCL SPIR-V Env 3.0 §7; OpenCL C 2.0 §6.13.14): the reference
//! that the engine's images are compared with. Nothing here is fast, and nothing is shared with the engine.

use half::f16;
use ze_headers::*;

/// One level of an image: memory, and sizes in texels.
pub struct Level<'a> {
    pub bytes: &'a [u8],
    pub row_pitch: usize,
    pub slice_pitch: usize,
    /// Width, height and depth; 1 for directions that there are none of.
    pub size: [usize; 3],
}

/// An image.
pub struct Image<'a> {
    pub layout: ze_image_format_layout_t,
    pub ty: ze_image_format_type_t,
    pub srgb: bool,
    /// `ze_image_format_swizzle_t` of x, y, z and w.
    pub swizzle: [u32; 4],
    /// 1 to 3.
    pub dimensions: usize,
    /// 0 for images that are no arrays.
    pub layers: usize,
    pub levels: Vec<Level<'a>>,
}

/// A sampler, with SPIR-V's numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sampler {
    /// 0 none, 1 clamp to edge, 2 clamp, 3 repeat, 4 mirrored repeat.
    pub addressing: u32,
    pub normalized: bool,
    pub linear: bool,
    pub mip_linear: bool,
}

/// A colour: integers for integer formats, else floats.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Color {
    Float([f32; 4]),
    Int([u32; 4]),
}

const UINT: u32 = 0;
const SINT: u32 = 1;
const UNORM: u32 = 2;
const SNORM: u32 = 3;

/// Bits of each channel from the lowest of the texel on, and which of red, green, blue and alpha it is.
pub fn channels(layout: ze_image_format_layout_t) -> Vec<(u32, usize)> {
    let alike = |count: usize, bits: u32| (0..count).map(|at| (bits, at)).collect();
    match layout {
        ZE_IMAGE_FORMAT_LAYOUT_8 | ZE_IMAGE_FORMAT_LAYOUT_Y8 => alike(1, 8),
        ZE_IMAGE_FORMAT_LAYOUT_8_8 => alike(2, 8),
        ZE_IMAGE_FORMAT_LAYOUT_8_8_8 => alike(3, 8),
        ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8 | ZE_IMAGE_FORMAT_LAYOUT_AYUV => alike(4, 8),
        ZE_IMAGE_FORMAT_LAYOUT_16 | ZE_IMAGE_FORMAT_LAYOUT_Y16 => alike(1, 16),
        ZE_IMAGE_FORMAT_LAYOUT_16_16 => alike(2, 16),
        ZE_IMAGE_FORMAT_LAYOUT_16_16_16 => alike(3, 16),
        ZE_IMAGE_FORMAT_LAYOUT_16_16_16_16 | ZE_IMAGE_FORMAT_LAYOUT_Y416 => alike(4, 16),
        ZE_IMAGE_FORMAT_LAYOUT_32 => alike(1, 32),
        ZE_IMAGE_FORMAT_LAYOUT_32_32 => alike(2, 32),
        ZE_IMAGE_FORMAT_LAYOUT_32_32_32 => alike(3, 32),
        ZE_IMAGE_FORMAT_LAYOUT_32_32_32_32 => alike(4, 32),
        ZE_IMAGE_FORMAT_LAYOUT_10_10_10_2 | ZE_IMAGE_FORMAT_LAYOUT_Y410 => {
            vec![(10, 0), (10, 1), (10, 2), (2, 3)]
        }
        ZE_IMAGE_FORMAT_LAYOUT_11_11_10 => vec![(11, 0), (11, 1), (10, 2)],
        ZE_IMAGE_FORMAT_LAYOUT_5_6_5 => vec![(5, 2), (6, 1), (5, 0)],
        ZE_IMAGE_FORMAT_LAYOUT_5_5_5_1 => vec![(5, 2), (5, 1), (5, 0), (1, 3)],
        ZE_IMAGE_FORMAT_LAYOUT_4_4_4_4 => vec![(4, 2), (4, 1), (4, 0), (4, 3)],
        other => panic!("the model has no layout {other:?}"),
    }
}

/// Bytes of a texel.
pub fn texel_bytes(layout: ze_image_format_layout_t) -> usize {
    channels(layout).iter().map(|(bits, _)| *bits as usize).sum::<usize>() / 8
}

fn greatest(bits: u32, ty: u32) -> f64 {
    if ty == SNORM { (1u64 << (bits - 1)) as f64 - 1.0 } else { (1u64 << bits) as f64 - 1.0 }
}

/// The value of a float without sign of 10 or 11 bits.
fn small_float(code: u32, mantissa_bits: u32) -> f64 {
    let (exponent, mantissa) = (code >> mantissa_bits, code & ((1 << mantissa_bits) - 1));
    let fraction = f64::from(mantissa) / f64::from(1u32 << mantissa_bits);
    match exponent {
        0 => fraction * 2f64.powi(-14),
        31 if mantissa == 0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction) * 2f64.powi(exponent as i32 - 15),
    }
}

impl Image<'_> {
    fn is_integer(&self) -> bool {
        matches!(self.ty.0, UINT | SINT)
    }

    /// A channel's value, or the bits of an integer's.
    fn channel(&self, bits: u32, code: u32, which: usize) -> (f64, u32) {
        let signed = ((code << (32 - bits)) as i32) >> (32 - bits);
        match self.ty.0 {
            UINT => (0.0, code),
            SINT => (0.0, signed as u32),
            UNORM => {
                let value = f64::from(code) / greatest(bits, UNORM);
                let is_curved = self.srgb && which != 3;
                let linear =
                    if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) };
                (if is_curved { linear } else { value }, 0)
            }
            SNORM => ((f64::from(signed) / greatest(bits, SNORM)).max(-1.0), 0),
            _ => match bits {
                32 => (f64::from(f32::from_bits(code)), 0),
                16 => (f64::from(f16::from_bits(code as u16).to_f32()), 0),
                _ => (small_float(code, bits - 5), 0),
            },
        }
    }

    /// The channel that a component of a colour comes from; or 0 or 1.
    fn source(&self, component: usize) -> Result<usize, u32> {
        let has = |which: usize| channels(self.layout).iter().any(|(_, of)| *of == which);
        match self.swizzle[component] {
            7 => Ok(0),
            which @ 0..=3 if has(which as usize) => Ok(which as usize),
            3 | 5 => Err(1),
            _ => Err(0),
        }
    }

    /// The colour in the bytes of a texel.
    pub fn decode(&self, texel: &[u8]) -> Color {
        let mut all = [0u8; 16];
        all[..texel.len()].copy_from_slice(texel);
        let mut bits_left = u128::from_le_bytes(all);
        let (mut floats, mut ints) = ([0f64; 4], [0u32; 4]);
        for (bits, which) in channels(self.layout) {
            let code = (bits_left & ((1u128 << bits) - 1)) as u32;
            bits_left >>= bits;
            (floats[which], ints[which]) = self.channel(bits, code, which);
        }
        let component = |at: usize| self.source(at);
        if self.is_integer() {
            Color::Int([0, 1, 2, 3].map(|at| component(at).map_or_else(|one| one, |which| ints[which])))
        } else {
            Color::Float(
                [0, 1, 2, 3]
                    .map(|at| component(at).map_or_else(|one| one as f32, |which| floats[which] as f32)),
            )
        }
    }

    fn code(&self, bits: u32, which: usize, float: f32, int: u32) -> u32 {
        let mask = (1u64 << bits).wrapping_sub(1) as u32;
        let most = greatest(bits, self.ty.0);
        let near = |value: f32, least: f64| {
            let scaled = value * most as f32;
            let bounded = if scaled.is_nan() { 0.0 } else { f64::from(scaled).clamp(least, most) };
            bounded.round_ties_even() as i64 as u32
        };
        let code = match self.ty.0 {
            UINT => int.min(mask),
            SINT => {
                let (least, most) = (i64::MIN >> (64 - bits), i64::MAX >> (64 - bits));
                i64::from(int as i32).clamp(least, most) as u32
            }
            UNORM if self.srgb && which != 3 => {
                let x = f64::from(if float.is_nan() { 0.0 } else { float.clamp(0.0, 1.0) });
                let curved = if x <= 0.0031308 { 12.92 * x } else { 1.055 * x.powf(1.0 / 2.4) - 0.055 };
                (curved * 255.0).round_ties_even() as u32
            }
            UNORM => near(float, 0.0),
            SNORM => near(float, -most - 1.0),
            _ => match bits {
                32 => float.to_bits(),
                16 => u32::from(f16::from_f32(float).to_bits()),
                _ => small_float_code(float, bits),
            },
        };
        code & mask
    }

    /// The bytes of a texel of this colour.
    pub fn encode(&self, color: Color) -> Vec<u8> {
        let mut all = 0u128;
        let mut at = 0;
        for (bits, which) in channels(self.layout) {
            // The first component that comes from the channel.
            let component = (0..4).find(|component| self.source(*component) == Ok(which));
            let code = match (component, color) {
                (None, _) => 0,
                (Some(component), Color::Float(color)) => self.code(bits, which, color[component], 0),
                (Some(component), Color::Int(color)) => self.code(bits, which, 0.0, color[component]),
            };
            all |= u128::from(code) << at;
            at += bits;
        }
        all.to_le_bytes()[..texel_bytes(self.layout)].to_vec()
    }

    /// Where a texel is in its level's memory, if it is inside.
    pub fn place(&self, level: usize, index: [i64; 3], layer: i64) -> Option<usize> {
        let of = &self.levels[level];
        for (index, size) in index.iter().zip(of.size) {
            usize::try_from(*index).ok().filter(|index| *index < size)?;
        }
        let layer = usize::try_from(layer).ok().filter(|layer| *layer < self.layers.max(1))?;
        let [x, y, z] = index.map(|index| index as usize);
        Some((z + layer) * of.slice_pitch + y * of.row_pitch + x * texel_bytes(self.layout))
    }

    fn border(&self) -> Color {
        let alpha = u32::from(self.swizzle[3] == 5);
        if self.is_integer() {
            Color::Int([0, 0, 0, alpha])
        } else {
            Color::Float([0.0, 0.0, 0.0, alpha as f32])
        }
    }

    fn texel(&self, level: usize, index: [i64; 3], layer: i64) -> Option<Color> {
        let place = self.place(level, index, layer)?;
        Some(self.decode(&self.levels[level].bytes[place..][..texel_bytes(self.layout)]))
    }

    /// A read without a sampler: zeros outside.
    pub fn read(&self, index: [i64; 3], layer: i64) -> Color {
        let zero = if self.is_integer() { Color::Int([0; 4]) } else { Color::Float([0.0; 4]) };
        self.texel(0, index, layer).unwrap_or(zero)
    }

    /// A sample at integer coordinates.
    pub fn sample_at(&self, sampler: Sampler, index: [i64; 3], layer: i64) -> Color {
        let size = self.levels[0].size;
        let mut index = index;
        if sampler.addressing == 1 {
            let axes = index.iter_mut().zip(size).take(self.dimensions);
            axes.for_each(|(index, size)| *index = (*index).clamp(0, size as i64 - 1));
        }
        self.texel(0, index, self.layer_of(layer as f32)).unwrap_or(self.border())
    }

    fn layer_of(&self, layer: f32) -> i64 {
        if layer.is_nan() {
            0
        } else {
            layer.round_ties_even().clamp(0.0, self.layers.max(1) as f32 - 1.0) as i64
        }
    }

    /// The texel index of an unnormalized coordinate; far outside is as outside as just outside.
    fn floor(u: f32, size: usize) -> i64 {
        if u.is_nan() { -1 } else { u.floor().clamp(-3.0, size as f32 + 2.0) as i64 }
    }

    /// The texels of one direction and the weight of the second one: both are the same for the nearest texel.
    fn texels(sampler: Sampler, at: f32, size: usize) -> (i64, i64, f32) {
        let n = size as f32;
        let fraction = if sampler.normalized { at } else { at / n };
        let u = match sampler.addressing {
            3 => (fraction - fraction.floor()) * n,
            4 => (fraction - 2.0 * (0.5 * fraction).round_ties_even()).abs() * n,
            _ if sampler.normalized => at * n,
            _ => at,
        };
        let last = size as i64 - 1;
        if !sampler.linear {
            let i = Self::floor(u, size);
            let i = match sampler.addressing {
                // No number is the first texel where there is no outside.
                _ if u.is_nan() && sampler.addressing != 0 && sampler.addressing != 2 => 0,
                1 => i.clamp(0, last),
                3 => {
                    if i > last {
                        i - size as i64
                    } else {
                        i
                    }
                }
                4 => i.min(last),
                _ => i,
            };
            return (i, i, 0.0);
        }
        let below = u - 0.5;
        let i0 = if below.is_nan() { -2 } else { Self::floor(below, size) };
        let weight = if below.is_finite() { below - below.floor() } else { 0.0 };
        let (i0, i1) = match sampler.addressing {
            1 | 4 => (i0.clamp(0, last), (i0 + 1).clamp(0, last)),
            3 => (if i0 < 0 { last } else { i0 }, if i0 + 1 > last { 0 } else { i0.max(-2) + 1 }),
            _ => (i0, i0 + 1),
        };
        (i0, i1, weight)
    }

    /// A sample of one level at float coordinates.
    fn sample_level(&self, sampler: Sampler, at: [f32; 3], layer: f32, level: usize) -> Color {
        let size = self.levels[level].size;
        let axes: Vec<_> = (0..3)
            .map(|axis| {
                if axis < self.dimensions { Self::texels(sampler, at[axis], size[axis]) } else { (0, 0, 0.0) }
            })
            .collect();
        let layer = self.layer_of(layer);
        if !sampler.linear || self.is_integer() {
            let sampler = Sampler { linear: false, ..sampler };
            let index = [0, 1, 2].map(|axis| {
                if axis < self.dimensions { Self::texels(sampler, at[axis], size[axis]).0 } else { 0 }
            });
            return self.texel(level, index, layer).unwrap_or(self.border());
        }
        let mut sum = [0f64; 4];
        for corner in 0..1usize << self.dimensions {
            let mut weight = 1.0;
            let mut index = [0; 3];
            for (axis, (low, high, share)) in axes.iter().enumerate().take(self.dimensions) {
                let is_high = corner >> axis & 1 == 1;
                index[axis] = if is_high { *high } else { *low };
                weight *= if is_high { f64::from(*share) } else { 1.0 - f64::from(*share) };
            }
            let Color::Float(color) = self.texel(level, index, layer).unwrap_or(self.border()) else {
                unreachable!("integers are not filtered")
            };
            sum.iter_mut().zip(color).for_each(|(sum, part)| *sum += weight * f64::from(part));
        }
        Color::Float(sum.map(|part| part as f32))
    }

    /// A sample at float coordinates and a level of detail.
    pub fn sample(&self, sampler: Sampler, at: [f32; 3], layer: f32, lod: f32) -> Color {
        let last = self.levels.len() as f32 - 1.0;
        let lod = if lod.is_nan() { 0.0 } else { lod.clamp(0.0, last) };
        let of = |level: f32| self.sample_level(sampler, at, layer, level.min(last) as usize);
        if !sampler.mip_linear || self.is_integer() {
            return of((lod + 0.5).floor());
        }
        let (Color::Float(low), Color::Float(high)) = (of(lod.floor()), of(lod.floor() + 1.0)) else {
            unreachable!("integers are not filtered")
        };
        let share = f64::from(lod - lod.floor());
        let mix = |at: usize| (f64::from(low[at]) * (1.0 - share) + f64::from(high[at]) * share) as f32;
        Color::Float([0, 1, 2, 3].map(mix))
    }
}

/// The nearest float without sign, of two equally near the one whose code is even. What is finite stays finite.
fn small_float_code(value: f32, bits: u32) -> u32 {
    let infinity = 31 << (bits - 5);
    if value.is_nan() {
        return (1 << bits) - 1;
    }
    if value == f32::INFINITY {
        return infinity;
    }
    let value = f64::from(value.max(0.0));
    let distance = |code: u32| (small_float(code, bits - 5) - value).abs();
    (0..infinity)
        .min_by(|a, b| distance(*a).total_cmp(&distance(*b)).then((a & 1).cmp(&(b & 1))))
        .expect("codes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_survive_a_texel_of_exact_fields() {
        let image = |layout, ty| Image {
            layout,
            ty,
            srgb: false,
            swizzle: [0, 1, 2, 3],
            dimensions: 1,
            layers: 0,
            levels: Vec::new(),
        };
        let packed = image(ZE_IMAGE_FORMAT_LAYOUT_5_6_5, ZE_IMAGE_FORMAT_TYPE_UNORM);
        assert_eq!(packed.encode(Color::Float([1.0, 0.0, 0.0, 0.0])), 0xf800u16.to_le_bytes());
        assert_eq!(packed.decode(&0x001fu16.to_le_bytes()), Color::Float([0.0, 0.0, 1.0, 1.0]));
        let small = image(ZE_IMAGE_FORMAT_LAYOUT_11_11_10, ZE_IMAGE_FORMAT_TYPE_FLOAT);
        let color = Color::Float([1.0, 0.5, 2.0, 1.0]);
        assert_eq!(small.decode(&small.encode(color)), color);
    }
}
