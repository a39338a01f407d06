//! Samplers: addressing and filtering, packed into the 64 bits that compiled code takes.
//!
//! The bits are the whole sampler, so that a literal one (`OpConstantSampler`) is a constant and costs nothing. Any 64 bits
//! are some sampler: code that takes them from a hostile kernel does something harmless.

use spirv::{SamplerAddressingMode, SamplerFilterMode};
use spirv_env::ConstantValue;

/// What happens to coordinates outside of the image. The numbers are SPIR-V's Sampler Addressing Mode (SPIR-V 1.2 §3.9).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum Addressing {
    /// The program has none; treated as clamped to the border.
    #[default]
    None = 0,
    ClampToEdge = 1,
    /// Clamped to the border, whose colour a texel outside has.
    Clamp = 2,
    Repeat = 3,
    MirroredRepeat = 4,
}

/// How texels make a colour. The numbers are SPIR-V's Sampler Filter Mode (SPIR-V 1.2 §3.10).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum Filter {
    #[default]
    Nearest = 0,
    Linear = 1,
}

/// The colour of texels outside of the image.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum Border {
    /// Zeros, with an alpha of 1 where the image has no alpha channel (OpenCL C 2.0 §6.13.14.1.1).
    #[default]
    OfImage = 0,
    TransparentBlack = 1,
    OpaqueBlack = 2,
    OpaqueWhite = 3,
}

/// A sampler.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Sampler {
    pub addressing: Addressing,
    /// Coordinates are fractions of the image's size, 0 to 1.
    pub normalized: bool,
    pub filter: Filter,
    /// Between levels of detail.
    pub mip_filter: Filter,
    pub border: Border,
}

/// Where the parts are in [`Sampler::bits`].
pub(crate) mod bits {
    /// Addressing: three bits.
    pub const ADDRESSING: u64 = 0;
    pub const NORMALIZED: u64 = 3;
    pub const LINEAR: u64 = 4;
    pub const MIP_LINEAR: u64 = 5;
    /// Border: two bits.
    pub const BORDER: u64 = 6;
}

impl Sampler {
    /// The sampler of an `OpConstantSampler`; the default one of other constants.
    pub fn literal(constant: &ConstantValue) -> Sampler {
        let ConstantValue::Sampler { addressing, normalized, filter } = constant else {
            return Sampler::default();
        };
        Sampler {
            addressing: match addressing {
                SamplerAddressingMode::None => Addressing::None,
                SamplerAddressingMode::ClampToEdge => Addressing::ClampToEdge,
                SamplerAddressingMode::Clamp => Addressing::Clamp,
                SamplerAddressingMode::Repeat => Addressing::Repeat,
                SamplerAddressingMode::RepeatMirrored => Addressing::MirroredRepeat,
            },
            normalized: *normalized,
            filter: match filter {
                SamplerFilterMode::Nearest => Filter::Nearest,
                SamplerFilterMode::Linear => Filter::Linear,
            },
            ..Sampler::default()
        }
    }

    /// The sampler as compiled code takes it.
    pub const fn bits(self) -> u64 {
        (self.addressing as u64) << bits::ADDRESSING
            | (self.normalized as u64) << bits::NORMALIZED
            | (self.filter as u64) << bits::LINEAR
            | (self.mip_filter as u64) << bits::MIP_LINEAR
            | (self.border as u64) << bits::BORDER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_samplers_do_not_meet() {
        let of = |sampler: Sampler| sampler.bits();
        let parts = [
            of(Sampler { addressing: Addressing::MirroredRepeat, ..Sampler::default() }),
            of(Sampler { normalized: true, ..Sampler::default() }),
            of(Sampler { filter: Filter::Linear, ..Sampler::default() }),
            of(Sampler { mip_filter: Filter::Linear, ..Sampler::default() }),
            of(Sampler { border: Border::OpaqueWhite, ..Sampler::default() }),
        ];
        assert_eq!(parts, [4, 8, 16, 32, 192]);
        assert_eq!(of(Sampler::default()), 0);
    }
}
