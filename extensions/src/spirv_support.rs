//! SPIR-V capabilities and extensions, and what of a device each of them needs.

use crate::flags::{DotProductFlags, FpAtomicFlags, ModuleFlags};
use crate::profile::DeviceProfile;
use crate::ze_extensions;
use spirv::Capability;

/// What a device must have for a capability or an extension to be accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    /// Nothing: every device of this driver has it.
    Nothing,
    Flag(ModuleFlags),
    /// `ze_device_image_properties_t` with sizes.
    Images,
    /// Any of these atomics on a width in bits.
    FpAtomics(u32, FpAtomicFlags),
    /// Any of these atomics on any width.
    AnyFpAtomics(FpAtomicFlags),
    DotProduct,
    /// A Level Zero extension that the driver has and the device does not lack.
    Ze(&'static str),
}

impl Need {
    pub fn met_by(self, profile: &DeviceProfile) -> bool {
        match self {
            Self::Nothing => true,
            Self::Flag(flag) => profile.module.flags.contains(flag),
            Self::Images => profile.images.supported(),
            Self::FpAtomics(width, any) => profile.fp_atomics(width).intersects(any),
            Self::AnyFpAtomics(any) => {
                [16, 32, 64].iter().any(|&width| profile.fp_atomics(width).intersects(any))
            }
            Self::DotProduct => {
                profile.module.flags.contains(ModuleFlags::DP4A)
                    || profile.module.dot_product.contains(DotProductFlags::DP4A)
            }
            Self::Ze(name) => ze_extensions::has(profile, name),
        }
    }

    /// Names the need for a build log.
    pub fn describe(self) -> String {
        match self {
            Self::Nothing => "nothing".into(),
            Self::Flag(flag) => flag
                .iter_names()
                .map(|(name, _)| format!("ZE_DEVICE_MODULE_FLAG_{name}"))
                .collect::<Vec<_>>()
                .join(" and "),
            Self::Images => "images".into(),
            Self::FpAtomics(width, _) => format!("atomics on {width}-bit floating-point numbers"),
            Self::AnyFpAtomics(_) => "floating-point atomics".into(),
            Self::DotProduct => "ZE_DEVICE_MODULE_FLAG_DP4A".into(),
            Self::Ze(name) => name.into(),
        }
    }
}

/// A capability that some device of this driver accepts.
#[derive(Clone, Copy, Debug)]
pub struct CapabilitySupport {
    pub capability: Capability,
    pub need: Need,
    /// The SPIR-V extensions of which the module must declare one; none for the core's.
    pub declared_by: &'static [&'static str],
}

/// A SPIR-V extension that some device of this driver accepts.
#[derive(Clone, Copy, Debug)]
pub struct SpirvExtensionSupport {
    pub name: &'static str,
    pub need: Need,
}

const fn core(capability: Capability, need: Need) -> CapabilitySupport {
    CapabilitySupport { capability, need, declared_by: &[] }
}

const fn by(capability: Capability, need: Need, declared_by: &'static [&'static str]) -> CapabilitySupport {
    CapabilitySupport { capability, need, declared_by }
}

const SUBGROUPS: Need = Need::Ze("ZE_extension_subgroups");
const FLOAT_ADD: &[&str] = &["SPV_EXT_shader_atomic_float_add"];
const FLOAT16_ADD: &[&str] = &["SPV_EXT_shader_atomic_float16_add", "SPV_EXT_shader_atomic_float_add"];
const FLOAT_MIN_MAX: &[&str] = &["SPV_EXT_shader_atomic_float_min_max"];
/// SPV_INTEL_subgroups, which oneMKL's OpenCL C kernels use without declaring it.
const INTEL_SUBGROUPS: &[&str] = &[];
const DOT: &[&str] = &["SPV_KHR_integer_dot_product"];

/// Every capability that is accepted, with its need (L0 SPIR-V Guide, Required Capabilities and Extensions).
pub const CAPABILITIES: &[CapabilitySupport] = {
    use Capability as C;
    use Need::{FpAtomics, Images, Nothing};
    &[
        core(C::Addresses, Nothing),
        core(C::Linkage, Nothing),
        core(C::Kernel, Nothing),
        core(C::Vector16, Nothing),
        core(C::Float16Buffer, Nothing),
        core(C::Int64, Nothing),
        core(C::Int16, Nothing),
        core(C::Int8, Nothing),
        core(C::GenericPointer, Nothing),
        core(C::Groups, Nothing),
        // DPC++ declares it for SubgroupSize although nothing of device-side enqueue is used.
        core(C::SubgroupDispatch, Nothing),
        core(C::Float16, Need::Flag(ModuleFlags::FP16)),
        core(C::Float64, Need::Flag(ModuleFlags::FP64)),
        core(C::Int64Atomics, Need::Flag(ModuleFlags::INT64_ATOMICS)),
        core(C::ImageBasic, Images),
        core(C::LiteralSampler, Images),
        core(C::Sampled1D, Images),
        core(C::Image1D, Images),
        core(C::SampledBuffer, Images),
        core(C::ImageBuffer, Images),
        core(C::ImageReadWrite, Images),
        core(C::GroupNonUniform, SUBGROUPS),
        core(C::GroupNonUniformVote, SUBGROUPS),
        core(C::GroupNonUniformBallot, SUBGROUPS),
        core(C::GroupNonUniformArithmetic, SUBGROUPS),
        core(C::GroupNonUniformShuffle, SUBGROUPS),
        core(C::GroupNonUniformShuffleRelative, SUBGROUPS),
        core(C::GroupNonUniformClustered, SUBGROUPS),
        // What arithmetic does anyway. Its opposites, flushing and rounding to zero, are not implemented.
        core(C::DenormPreserve, Nothing),
        core(C::SignedZeroInfNanPreserve, Nothing),
        core(C::RoundingModeRTE, Nothing),
        by(C::SubgroupBallotKHR, SUBGROUPS, &["SPV_KHR_shader_ballot"]),
        by(C::SubgroupVoteKHR, SUBGROUPS, &["SPV_KHR_subgroup_vote"]),
        by(C::GroupNonUniformRotateKHR, SUBGROUPS, &["SPV_KHR_subgroup_rotate"]),
        by(C::SubgroupShuffleINTEL, Nothing, INTEL_SUBGROUPS),
        by(C::SubgroupBufferBlockIOINTEL, Nothing, INTEL_SUBGROUPS),
        // The guide has the capability accepted of every module; what it brings needs an image type.
        by(C::SubgroupImageBlockIOINTEL, Nothing, INTEL_SUBGROUPS),
        by(C::AtomicFloat16AddEXT, FpAtomics(16, FpAtomicFlags::ADD), FLOAT16_ADD),
        by(C::AtomicFloat32AddEXT, FpAtomics(32, FpAtomicFlags::ADD), FLOAT_ADD),
        by(C::AtomicFloat64AddEXT, FpAtomics(64, FpAtomicFlags::ADD), FLOAT_ADD),
        by(C::AtomicFloat16MinMaxEXT, FpAtomics(16, FpAtomicFlags::MIN_MAX), FLOAT_MIN_MAX),
        by(C::AtomicFloat32MinMaxEXT, FpAtomics(32, FpAtomicFlags::MIN_MAX), FLOAT_MIN_MAX),
        by(C::AtomicFloat64MinMaxEXT, FpAtomics(64, FpAtomicFlags::MIN_MAX), FLOAT_MIN_MAX),
        by(
            C::BFloat16ConversionINTEL,
            Need::Ze("ZE_extension_bfloat16_conversions"),
            &["SPV_INTEL_bfloat16_conversion"],
        ),
        by(C::ExpectAssumeKHR, Nothing, &["SPV_KHR_expect_assume"]),
        by(C::FPFastMathModeINTEL, Nothing, &["SPV_INTEL_fp_fast_math_mode"]),
        by(C::MemoryAccessAliasingINTEL, Nothing, &["SPV_INTEL_memory_access_aliasing"]),
        by(C::GroupUniformArithmeticKHR, Nothing, &["SPV_KHR_uniform_group_instructions"]),
        by(C::OptNoneEXT, Nothing, &["SPV_INTEL_optnone", "SPV_EXT_optnone"]),
        by(
            C::LongCompositesINTEL,
            Nothing,
            &["SPV_INTEL_long_composites", "SPV_INTEL_long_constant_composite"],
        ),
        by(C::UnstructuredLoopControlsINTEL, Nothing, &["SPV_INTEL_unstructured_loop_controls"]),
        by(C::KernelAttributesINTEL, Nothing, &["SPV_INTEL_kernel_attributes"]),
        by(C::GlobalVariableHostAccessINTEL, Nothing, &["SPV_INTEL_global_variable_host_access"]),
        by(C::CacheControlsINTEL, Nothing, &["SPV_INTEL_cache_controls"]),
        by(
            C::ArbitraryPrecisionIntegersALTERA,
            Nothing,
            &["SPV_INTEL_arbitrary_precision_integers", "SPV_ALTERA_arbitrary_precision_integers"],
        ),
        by(C::BitInstructions, Nothing, &["SPV_KHR_bit_instructions"]),
        by(C::ArithmeticFenceEXT, Nothing, &["SPV_EXT_arithmetic_fence"]),
        by(C::SplitBarrierINTEL, Nothing, &["SPV_INTEL_split_barrier"]),
        by(C::DotProduct, Need::DotProduct, DOT),
        by(C::DotProductInput4x8Bit, Need::DotProduct, DOT),
        by(C::DotProductInput4x8BitPacked, Need::DotProduct, DOT),
        by(C::DotProductInputAll, Need::DotProduct, DOT),
    ]
};

const fn extension(name: &'static str, need: Need) -> SpirvExtensionSupport {
    SpirvExtensionSupport { name, need }
}

/// Every SPIR-V extension that is accepted, with its need.
pub const SPIRV_EXTENSIONS: &[SpirvExtensionSupport] = {
    use Need::Nothing;
    &[
        extension("SPV_INTEL_subgroups", Nothing),
        extension("SPV_KHR_shader_ballot", SUBGROUPS),
        extension("SPV_KHR_subgroup_vote", SUBGROUPS),
        extension("SPV_KHR_subgroup_rotate", SUBGROUPS),
        extension("SPV_EXT_shader_atomic_float_add", Need::AnyFpAtomics(FpAtomicFlags::ADD)),
        extension("SPV_EXT_shader_atomic_float16_add", Need::AnyFpAtomics(FpAtomicFlags::ADD)),
        extension("SPV_EXT_shader_atomic_float_min_max", Need::AnyFpAtomics(FpAtomicFlags::MIN_MAX)),
        extension("SPV_KHR_linkonce_odr", Need::Ze("ZE_extension_linkonce_odr")),
        // The guide spells it without the `f`.
        extension("SPV_INTEL_bfloat16_conversion", Need::Ze("ZE_extension_bfloat16_conversions")),
        extension("SPV_INTEL_bloat16_conversion", Need::Ze("ZE_extension_bfloat16_conversions")),
        extension("SPV_KHR_expect_assume", Nothing),
        extension("SPV_KHR_uniform_group_instructions", Nothing),
        extension("SPV_INTEL_fp_fast_math_mode", Nothing),
        extension("SPV_INTEL_memory_access_aliasing", Nothing),
        extension("SPV_KHR_no_integer_wrap_decoration", Nothing),
        extension("SPV_KHR_float_controls", Nothing),
        extension("SPV_KHR_non_semantic_info", Nothing),
        extension("SPV_KHR_bit_instructions", Nothing),
        extension("SPV_KHR_integer_dot_product", Need::DotProduct),
        extension("SPV_INTEL_optnone", Nothing),
        extension("SPV_EXT_optnone", Nothing),
        extension("SPV_INTEL_long_composites", Nothing),
        extension("SPV_INTEL_long_constant_composite", Nothing),
        extension("SPV_INTEL_unstructured_loop_controls", Nothing),
        extension("SPV_INTEL_kernel_attributes", Nothing),
        extension("SPV_INTEL_global_variable_host_access", Nothing),
        extension("SPV_INTEL_cache_controls", Nothing),
        extension("SPV_EXT_arithmetic_fence", Nothing),
        extension("SPV_INTEL_arbitrary_precision_integers", Nothing),
        extension("SPV_ALTERA_arbitrary_precision_integers", Nothing),
        extension("SPV_INTEL_split_barrier", Nothing),
        extension("SPV_EXT_relaxed_printf_string_address_space", Nothing),
    ]
};

/// What a capability needs; `None` for one that no device of this driver has.
pub fn capability(capability: Capability) -> Option<&'static CapabilitySupport> {
    CAPABILITIES.iter().find(|support| support.capability == capability)
}

/// The capabilities that one declares without their names being written, and theirs in turn (SPIR-V 1.2 §3.31, and
/// the extensions' own tables).
pub fn implied(capability: Capability) -> &'static [Capability] {
    use Capability as C;
    match capability {
        C::Vector16
        | C::Float16Buffer
        | C::ImageBasic
        | C::Pipes
        | C::DeviceEnqueue
        | C::LiteralSampler
        | C::NamedBarrier
        | C::FPFastMathModeINTEL => &[C::Kernel],
        C::ImageReadWrite | C::ImageMipmap => &[C::ImageBasic, C::Kernel],
        C::SubgroupDispatch => &[C::DeviceEnqueue, C::Kernel],
        C::PipeStorage => &[C::Pipes, C::Kernel],
        C::Int64Atomics => &[C::Int64],
        C::GenericPointer => &[C::Addresses],
        C::Image1D => &[C::Sampled1D],
        C::ImageBuffer => &[C::SampledBuffer],
        C::GroupNonUniformVote
        | C::GroupNonUniformArithmetic
        | C::GroupNonUniformBallot
        | C::GroupNonUniformShuffle
        | C::GroupNonUniformShuffleRelative
        | C::GroupNonUniformClustered
        | C::GroupNonUniformQuad
        | C::GroupNonUniformRotateKHR => &[C::GroupNonUniform],
        C::DotProductInput4x8Bit => &[C::Int8],
        C::KernelAttributesINTEL => &[C::Kernel],
        _ => &[],
    }
}

/// What a SPIR-V extension needs; `None` for one that no device of this driver has.
pub fn spirv_extension(name: &str) -> Option<&'static SpirvExtensionSupport> {
    SPIRV_EXTENSIONS.iter().find(|support| support.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_declaring_extension_is_registered() {
        for support in CAPABILITIES {
            for name in support.declared_by {
                assert!(spirv_extension(name).is_some(), "{name} of {:?}", support.capability);
            }
        }
    }

    #[test]
    fn capabilities_are_listed_once() {
        for (at, support) in CAPABILITIES.iter().enumerate() {
            let again = CAPABILITIES[..at].iter().any(|earlier| earlier.capability == support.capability);
            assert!(!again, "{:?}", support.capability);
        }
    }

    #[test]
    fn implied_capabilities_are_closed() {
        for support in CAPABILITIES {
            for &first in implied(support.capability) {
                for second in implied(first) {
                    assert!(implied(support.capability).contains(second), "{:?}", support.capability);
                }
            }
        }
        assert_eq!(implied(Capability::Int64Atomics), [Capability::Int64]);
        assert!(implied(Capability::SubgroupDispatch).contains(&Capability::Kernel));
    }

    #[test]
    fn device_flags_decide() {
        let mut profile = DeviceProfile::host();
        let float64 = capability(Capability::Float64).unwrap().need;
        assert!(float64.met_by(&profile));
        profile.module.flags.remove(ModuleFlags::FP64);
        assert!(!float64.met_by(&profile));
        assert_eq!(float64.describe(), "ZE_DEVICE_MODULE_FLAG_FP64");
        let odr = spirv_extension("SPV_KHR_linkonce_odr").unwrap().need;
        assert!(odr.met_by(&profile));
        profile.without_extensions.push("ZE_extension_linkonce_odr".into());
        assert!(!odr.met_by(&profile));
        assert!(capability(Capability::Shader).is_none());
    }
}
