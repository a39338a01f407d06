//! SPIR-V capabilities, and what of a device and of the module each of them needs.

use crate::capability::CapabilityId;
use crate::flags::{FpAtomicFlags, ModuleFlags};
use crate::profile::DeviceProfile;
use crate::spirv_extensions::spirv_extension;
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
            Self::DotProduct => profile.module.flags.contains(ModuleFlags::DP4A),
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
    pub capability: CapabilityId,
    pub need: Need,
    /// The SPIR-V extensions of which the module must declare one; none for the core's.
    pub declared_by: &'static [&'static str],
    /// The version of SPIR-V that took it over, from which on no extension is declared.
    pub core_since: Option<(u8, u8)>,
}

const fn core(capability: Capability, need: Need) -> CapabilitySupport {
    CapabilitySupport { capability: CapabilityId::of(capability), need, declared_by: &[], core_since: None }
}

const fn by(capability: Capability, need: Need, declared_by: &'static [&'static str]) -> CapabilitySupport {
    CapabilitySupport { capability: CapabilityId::of(capability), need, declared_by, core_since: None }
}

/// One that an extension brought before it was the core's.
const fn since(version: (u8, u8), support: CapabilitySupport) -> CapabilitySupport {
    CapabilitySupport { core_since: Some(version), ..support }
}

/// One that only a compiler's header has.
const fn own(capability: CapabilityId, declared_by: &'static [&'static str]) -> CapabilitySupport {
    CapabilitySupport { capability, need: Need::Nothing, declared_by, core_since: None }
}

const SUBGROUPS: Need = Need::Ze("ZE_extension_subgroups");
const BFLOAT16: Need = Need::Ze("ZE_extension_bfloat16_conversions");
const BFLOAT16_TYPE: &[&str] = &["SPV_KHR_bfloat16"];
const FLOAT_ADD: &[&str] = &["SPV_EXT_shader_atomic_float_add"];
const FLOAT16_ADD: &[&str] = &["SPV_EXT_shader_atomic_float16_add", "SPV_EXT_shader_atomic_float_add"];
const FLOAT_MIN_MAX: &[&str] = &["SPV_EXT_shader_atomic_float_min_max"];
/// SPV_INTEL_subgroups, which oneMKL's OpenCL C kernels use without declaring it.
const INTEL_SUBGROUPS: &[&str] = &[];
/// SPV_INTEL_arbitrary_precision_integers, which the translator of LLVM 14 leaves out: two kernels of Level Zero's conformance
/// tests are such.
const ARBITRARY_PRECISION_INTEGERS: &[&str] = &[];
/// SPV_INTEL_fp_fast_math_mode, which that translator leaves out, too: oneMKL 2025.1's factorisations are such.
const FAST_MATH: &[&str] = &[];
const JOINT_MATRIX: &[&str] = &["SPV_INTEL_joint_matrix"];
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
        // What it brings says of values that they are the same in all lanes, which the engine finds out by itself.
        core(C::UniformDecoration, Nothing),
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
        core(C::DenormPreserve, Nothing),
        core(C::SignedZeroInfNanPreserve, Nothing),
        core(C::RoundingModeRTE, Nothing),
        core(C::DenormFlushToZero, Nothing),
        core(C::RoundingModeRTZ, Nothing),
        by(C::FloatControls2, Nothing, &["SPV_KHR_float_controls2"]),
        by(C::RoundToInfinityINTEL, Nothing, &["SPV_INTEL_float_controls2"]),
        by(C::FloatingPointModeINTEL, Nothing, &["SPV_INTEL_float_controls2"]),
        by(C::SubgroupBallotKHR, SUBGROUPS, &["SPV_KHR_shader_ballot"]),
        by(C::SubgroupVoteKHR, SUBGROUPS, &["SPV_KHR_subgroup_vote"]),
        by(C::GroupNonUniformRotateKHR, SUBGROUPS, &["SPV_KHR_subgroup_rotate"]),
        by(C::SubgroupShuffleINTEL, Nothing, INTEL_SUBGROUPS),
        by(C::SubgroupBufferBlockIOINTEL, Nothing, INTEL_SUBGROUPS),
        // The guide has the capability accepted of every module; what it brings needs an image type.
        by(C::SubgroupImageBlockIOINTEL, Nothing, INTEL_SUBGROUPS),
        by(C::SubgroupImageMediaBlockIOINTEL, Images, &["SPV_INTEL_media_block_io"]),
        by(C::BindlessImagesINTEL, Images, &["SPV_INTEL_bindless_images"]),
        by(C::AtomicFloat16AddEXT, FpAtomics(16, FpAtomicFlags::ADD), FLOAT16_ADD),
        by(C::AtomicFloat32AddEXT, FpAtomics(32, FpAtomicFlags::ADD), FLOAT_ADD),
        by(C::AtomicFloat64AddEXT, FpAtomics(64, FpAtomicFlags::ADD), FLOAT_ADD),
        by(C::AtomicFloat16MinMaxEXT, FpAtomics(16, FpAtomicFlags::MIN_MAX), FLOAT_MIN_MAX),
        by(C::AtomicFloat32MinMaxEXT, FpAtomics(32, FpAtomicFlags::MIN_MAX), FLOAT_MIN_MAX),
        by(C::AtomicFloat64MinMaxEXT, FpAtomics(64, FpAtomicFlags::MIN_MAX), FLOAT_MIN_MAX),
        by(
            C::BFloat16ConversionINTEL,
            BFLOAT16,
            &["SPV_INTEL_bfloat16_conversion", "SPV_INTEL_bloat16_conversion"],
        ),
        by(C::BFloat16TypeKHR, BFLOAT16, BFLOAT16_TYPE),
        by(C::BFloat16DotProductKHR, BFLOAT16, BFLOAT16_TYPE),
        by(C::BFloat16CooperativeMatrixKHR, BFLOAT16, BFLOAT16_TYPE),
        own(CapabilityId::BFLOAT16_ARITHMETIC_INTEL, &["SPV_INTEL_bfloat16_arithmetic"]),
        by(C::MaskedGatherScatterINTEL, Nothing, &["SPV_INTEL_masked_gather_scatter"]),
        own(CapabilityId::PREDICATED_IO_INTEL, &["SPV_INTEL_predicated_io"]),
        by(C::USMStorageClassesALTERA, Nothing, &["SPV_INTEL_usm_storage_classes"]),
        by(C::Int4TypeINTEL, Nothing, &["SPV_INTEL_int4"]),
        by(C::ExpectAssumeKHR, Nothing, &["SPV_KHR_expect_assume", "SPV_INTEL_optimization_hints"]),
        by(C::FPFastMathModeINTEL, Nothing, FAST_MATH),
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
        by(C::ArbitraryPrecisionIntegersALTERA, Nothing, ARBITRARY_PRECISION_INTEGERS),
        by(C::FunctionPointersINTEL, Nothing, &["SPV_INTEL_function_pointers"]),
        by(C::IndirectReferencesINTEL, Nothing, &["SPV_INTEL_function_pointers"]),
        by(C::BitInstructions, Nothing, &["SPV_KHR_bit_instructions"]),
        by(C::ArithmeticFenceEXT, Nothing, &["SPV_EXT_arithmetic_fence", "SPV_INTEL_arithmetic_fence"]),
        by(C::SplitBarrierINTEL, Nothing, &["SPV_INTEL_split_barrier"]),
        by(C::FMAKHR, Nothing, &["SPV_KHR_fma"]),
        by(C::TernaryBitwiseFunctionINTEL, Nothing, &["SPV_INTEL_ternary_bitwise_function"]),
        by(C::TensorFloat32RoundingINTEL, Nothing, &["SPV_INTEL_tensor_float32_conversion"]),
        by(C::ShaderClockKHR, Nothing, &["SPV_KHR_shader_clock"]),
        by(C::SubgroupBufferPrefetchINTEL, Nothing, &["SPV_INTEL_subgroup_buffer_prefetch"]),
        by(C::UntypedPointersKHR, Nothing, &["SPV_KHR_untyped_pointers"]),
        by(C::UntypedVariableLengthArrayINTEL, Nothing, &["SPV_INTEL_variable_length_array"]),
        by(C::VariableLengthArrayINTEL, Nothing, &["SPV_INTEL_variable_length_array"]),
        by(C::AsmINTEL, Nothing, &["SPV_INTEL_inline_assembly"]),
        // What FPGA compilers are told beside what the kernel computes.
        by(C::FPGAMemoryAttributesALTERA, Nothing, &["SPV_INTEL_fpga_memory_attributes"]),
        by(C::FPGALoopControlsALTERA, Nothing, &["SPV_INTEL_fpga_loop_controls"]),
        by(C::FPGAKernelAttributesINTEL, Nothing, &["SPV_INTEL_kernel_attributes"]),
        by(C::FPGAKernelAttributesv2INTEL, Nothing, &["SPV_INTEL_kernel_attributes"]),
        by(C::FPGAMemoryAccessesALTERA, Nothing, &["SPV_INTEL_fpga_memory_accesses"]),
        by(C::FPGAClusterAttributesALTERA, Nothing, &["SPV_INTEL_fpga_cluster_attributes"]),
        by(C::FPGAClusterAttributesV2ALTERA, Nothing, &["SPV_INTEL_fpga_cluster_attributes"]),
        by(C::LoopFuseALTERA, Nothing, &["SPV_INTEL_loop_fuse"]),
        by(C::FPGADSPControlALTERA, Nothing, &["SPV_INTEL_fpga_dsp_control"]),
        by(
            C::FPGAInvocationPipeliningAttributesALTERA,
            Nothing,
            &["SPV_INTEL_fpga_invocation_pipelining_attributes"],
        ),
        by(C::FPGABufferLocationALTERA, Nothing, &["SPV_INTEL_fpga_buffer_location"]),
        by(C::RuntimeAlignedAttributeALTERA, Nothing, &["SPV_INTEL_runtime_aligned"]),
        by(C::FPGAArgumentInterfacesALTERA, Nothing, &["SPV_INTEL_fpga_argument_interfaces"]),
        by(C::FPGALatencyControlALTERA, Nothing, &["SPV_INTEL_fpga_latency_control"]),
        by(C::GlobalVariableFPGADecorationsALTERA, Nothing, &["SPV_INTEL_global_variable_fpga_decorations"]),
        by(C::FPGARegALTERA, Nothing, &["SPV_INTEL_fpga_reg"]),
        // What other compilers are told.
        by(C::DebugInfoModuleINTEL, Nothing, &["SPV_INTEL_debug_module"]),
        by(C::FPMaxErrorINTEL, Nothing, &["SPV_INTEL_fp_max_error"]),
        by(C::RegisterLimitsINTEL, Nothing, &["SPV_INTEL_maximum_registers"]),
        by(
            C::SubgroupMatrixMultiplyAccumulateINTEL,
            Nothing,
            &["SPV_INTEL_subgroup_matrix_multiply_accumulate"],
        ),
        by(C::Subgroup2DBlockIOINTEL, Nothing, &["SPV_INTEL_2d_block_io"]),
        by(C::Subgroup2DBlockTransformINTEL, Nothing, &["SPV_INTEL_2d_block_io"]),
        by(C::Subgroup2DBlockTransposeINTEL, Nothing, &["SPV_INTEL_2d_block_io"]),
        by(C::CooperativeMatrixKHR, Nothing, &["SPV_KHR_cooperative_matrix", "SPV_INTEL_joint_matrix"]),
        own(CapabilityId::PACKED_COOPERATIVE_MATRIX_INTEL, JOINT_MATRIX),
        own(CapabilityId::COOPERATIVE_MATRIX_INVOCATION_INTEL, JOINT_MATRIX),
        own(CapabilityId::COOPERATIVE_MATRIX_TF32_INTEL, JOINT_MATRIX),
        own(CapabilityId::COOPERATIVE_MATRIX_BFLOAT16_INTEL, JOINT_MATRIX),
        own(CapabilityId::COOPERATIVE_MATRIX_CHECKED_INTEL, JOINT_MATRIX),
        own(CapabilityId::COOPERATIVE_MATRIX_PREFETCH_INTEL, JOINT_MATRIX),
        own(CapabilityId::COOPERATIVE_MATRIX_OFFSET_INTEL, JOINT_MATRIX),
        own(CapabilityId::GLOBAL_VARIABLE_DECORATIONS_INTEL, &["SPV_INTEL_global_variable_decorations"]),
        since((1, 6), by(C::DotProduct, Need::DotProduct, DOT)),
        since((1, 6), by(C::DotProductInput4x8Bit, Need::DotProduct, DOT)),
        since((1, 6), by(C::DotProductInput4x8BitPacked, Need::DotProduct, DOT)),
        since((1, 6), by(C::DotProductInputAll, Need::DotProduct, DOT)),
    ]
};

/// Capabilities that no device has, each with the extension that says why.
const REFUSED: &[(CapabilityId, &str)] = {
    const fn of(capability: Capability) -> CapabilityId {
        CapabilityId::of(capability)
    }
    use Capability as C;
    &[
        (of(C::VectorComputeINTEL), "SPV_INTEL_vector_compute"),
        (of(C::VectorAnyINTEL), "SPV_INTEL_vector_compute"),
        (of(C::FunctionFloatControlINTEL), "SPV_INTEL_vector_compute"),
        (of(C::BlockingPipesALTERA), "SPV_INTEL_blocking_pipes"),
        (of(C::IOPipesALTERA), "SPV_INTEL_io_pipes"),
        (of(C::TaskSequenceALTERA), "SPV_INTEL_task_sequence"),
        (of(C::ArbitraryPrecisionFixedPointALTERA), "SPV_INTEL_arbitrary_precision_fixed_point"),
        (of(C::ArbitraryPrecisionFloatingPointALTERA), "SPV_INTEL_arbitrary_precision_floating_point"),
        (of(C::SubgroupAvcMotionEstimationINTEL), "SPV_INTEL_device_side_avc_motion_estimation"),
        (of(C::SubgroupAvcMotionEstimationIntraINTEL), "SPV_INTEL_device_side_avc_motion_estimation"),
        (of(C::SubgroupAvcMotionEstimationChromaINTEL), "SPV_INTEL_device_side_avc_motion_estimation"),
        (of(C::FunctionVariantsINTEL), "SPV_INTEL_function_variants"),
        (of(C::SpecConditionalINTEL), "SPV_INTEL_function_variants"),
        (of(C::Float8EXT), "SPV_EXT_float8"),
        (of(C::IntegerFunctions2INTEL), "SPV_INTEL_shader_integer_functions2"),
        (CapabilityId::TOKEN_TYPE_INTEL, "SPV_INTEL_token_type"),
        (CapabilityId::HW_THREAD_QUERY_INTEL, "SPV_INTEL_hw_thread_queries"),
        (CapabilityId::SIGMOID_INTEL, "SPV_INTEL_sigmoid"),
        (CapabilityId::FLOAT4_E2M1_INTEL, "SPV_INTEL_float4"),
        (CapabilityId::FLOAT_CONVERSIONS_INTEL, "SPV_INTEL_fp_conversions"),
        (CapabilityId::INT16_ATOMICS_INTEL, "SPV_INTEL_16bit_atomics"),
        (CapabilityId::ATOMIC_INT16_COMPARE_EXCHANGE_INTEL, "SPV_INTEL_16bit_atomics"),
        (CapabilityId::ATOMIC_BFLOAT16_ADD_INTEL, "SPV_INTEL_16bit_atomics"),
        (CapabilityId::ATOMIC_BFLOAT16_MIN_MAX_INTEL, "SPV_INTEL_16bit_atomics"),
        (CapabilityId::ATOMIC_BFLOAT16_LOAD_STORE_INTEL, "SPV_INTEL_16bit_atomics"),
        (CapabilityId::SUBGROUP_SCALED_MATRIX_INTEL, "SPV_INTEL_subgroup_scaled_matrix_multiply_accumulate"),
        (CapabilityId::SUBGROUP_REQUIREMENTS_INTEL, "SPV_INTEL_subgroup_requirements"),
        (CapabilityId::DEVICE_BARRIER_INTEL, "SPV_INTEL_device_barrier"),
    ]
};

/// Why no device of this driver has a capability, where there is more to say than that.
pub fn reason_of_refusal(capability: CapabilityId) -> Option<&'static str> {
    if capability == CapabilityId::of(Capability::DeviceEnqueue) {
        return Some("kernels that launch kernels need a queue on the device; this device has no such unit");
    }
    if [Capability::Pipes, Capability::PipeStorage].map(CapabilityId::of).contains(&capability) {
        return Some("OpenCL's pipes are no part of Level Zero; this device has no such unit");
    }
    let (_, extension) = REFUSED.iter().find(|(refused, _)| *refused == capability)?;
    spirv_extension(extension).map(|extension| extension.says.trim_end_matches('.'))
}

/// What a capability needs; `None` for one that no device of this driver has.
pub fn capability(capability: impl Into<CapabilityId>) -> Option<&'static CapabilitySupport> {
    let capability = capability.into();
    CAPABILITIES.iter().find(|support| support.capability == capability)
}

/// Those that a compiler's own capability declares.
pub fn implied_by_own(capability: CapabilityId) -> &'static [Capability] {
    match self::capability(capability) {
        Some(support) if support.declared_by == JOINT_MATRIX => &[Capability::CooperativeMatrixKHR],
        _ => &[],
    }
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
        C::GenericPointer | C::FunctionPointersINTEL | C::IndirectReferencesINTEL => &[C::Addresses],
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
        C::Subgroup2DBlockTransformINTEL | C::Subgroup2DBlockTransposeINTEL => &[C::Subgroup2DBlockIOINTEL],
        C::KernelAttributesINTEL => &[C::Kernel],
        C::BFloat16DotProductKHR => &[C::BFloat16TypeKHR],
        C::BFloat16CooperativeMatrixKHR => &[C::BFloat16TypeKHR, C::CooperativeMatrixKHR],
        C::USMStorageClassesALTERA | C::MaskedGatherScatterINTEL => &[C::Kernel],
        C::UntypedVariableLengthArrayINTEL => &[C::VariableLengthArrayINTEL, C::UntypedPointersKHR],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spirv_extensions::Standing;

    #[test]
    fn every_declaring_extension_is_accepted() {
        for support in CAPABILITIES {
            for name in support.declared_by {
                let extension = spirv_extension(name).unwrap_or_else(|| panic!("{name} has no row"));
                assert_ne!(extension.standing, Standing::Refused, "{name} of {:?}", support.capability);
            }
        }
    }

    #[test]
    fn refused_capabilities_are_of_refused_extensions() {
        for (refused, name) in REFUSED {
            assert!(capability(*refused).is_none(), "{refused:?}");
            let extension = spirv_extension(name).unwrap_or_else(|| panic!("{name} has no row"));
            assert_eq!(extension.standing, Standing::Refused, "{name}");
            assert!(reason_of_refusal(*refused).is_some());
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
            let Some(capability) = Capability::from_u32(support.capability.0) else { continue };
            for &first in implied(capability) {
                for second in implied(first) {
                    assert!(implied(capability).contains(second), "{capability:?}");
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
        let odr = spirv_extension("SPV_KHR_linkonce_odr").unwrap();
        assert_eq!(odr.refusal(&profile), None);
        profile.without_extensions.push("ZE_extension_linkonce_odr".into());
        assert!(odr.refusal(&profile).is_some());
        assert!(capability(Capability::Shader).is_none());
    }
}
