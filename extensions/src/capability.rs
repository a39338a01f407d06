//! Capabilities by number: those of SPIR-V's grammar, and those that compilers emit and only their own headers have.

use spirv::Capability;
use std::borrow::Cow;

/// A capability's number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CapabilityId(pub u32);

impl CapabilityId {
    // SPIRV-LLVM-Translator keeps these in a header of its own.
    pub const TOKEN_TYPE_INTEL: Self = Self(6112);
    pub const JOINT_MATRIX_INTEL: Self = Self(6118);
    pub const HW_THREAD_QUERY_INTEL: Self = Self(6134);
    pub const GLOBAL_VARIABLE_DECORATIONS_INTEL: Self = Self(6146);
    pub const SIGMOID_INTEL: Self = Self(6167);
    pub const DEVICE_BARRIER_INTEL: Self = Self(6185);
    pub const COOPERATIVE_MATRIX_CHECKED_INTEL: Self = Self(6192);
    pub const FLOAT4_E2M1_INTEL: Self = Self(6212);
    pub const FLOAT_CONVERSIONS_INTEL: Self = Self(6215);
    pub const BFLOAT16_ARITHMETIC_INTEL: Self = Self(6226);
    pub const COOPERATIVE_MATRIX_OFFSET_INTEL: Self = Self(6238);
    pub const ATOMIC_BFLOAT16_ADD_INTEL: Self = Self(6255);
    pub const ATOMIC_BFLOAT16_MIN_MAX_INTEL: Self = Self(6256);
    pub const PREDICATED_IO_INTEL: Self = Self(6257);
    pub const ATOMIC_INT16_COMPARE_EXCHANGE_INTEL: Self = Self(6260);
    pub const INT16_ATOMICS_INTEL: Self = Self(6261);
    pub const ATOMIC_BFLOAT16_LOAD_STORE_INTEL: Self = Self(6262);
    pub const SUBGROUP_SCALED_MATRIX_INTEL: Self = Self(6263);
    pub const COOPERATIVE_MATRIX_PREFETCH_INTEL: Self = Self(6411);
    pub const PACKED_COOPERATIVE_MATRIX_INTEL: Self = Self(6434);
    pub const COOPERATIVE_MATRIX_INVOCATION_INTEL: Self = Self(6435);
    pub const COOPERATIVE_MATRIX_TF32_INTEL: Self = Self(6436);
    pub const COOPERATIVE_MATRIX_BFLOAT16_INTEL: Self = Self(6437);
    pub const SUBGROUP_REQUIREMENTS_INTEL: Self = Self(6445);

    const NAMES: &[(Self, &str)] = &[
        (Self::TOKEN_TYPE_INTEL, "TokenTypeINTEL"),
        (Self::JOINT_MATRIX_INTEL, "JointMatrixINTEL"),
        (Self::HW_THREAD_QUERY_INTEL, "HWThreadQueryINTEL"),
        (Self::GLOBAL_VARIABLE_DECORATIONS_INTEL, "GlobalVariableDecorationsINTEL"),
        (Self::SIGMOID_INTEL, "SigmoidINTEL"),
        (Self::DEVICE_BARRIER_INTEL, "DeviceBarrierINTEL"),
        (Self::COOPERATIVE_MATRIX_CHECKED_INTEL, "CooperativeMatrixCheckedInstructionsINTEL"),
        (Self::FLOAT4_E2M1_INTEL, "Float4E2M1INTEL"),
        (Self::FLOAT_CONVERSIONS_INTEL, "FloatConversionsFtoFINTEL"),
        (Self::BFLOAT16_ARITHMETIC_INTEL, "BFloat16ArithmeticINTEL"),
        (Self::COOPERATIVE_MATRIX_OFFSET_INTEL, "CooperativeMatrixOffsetInstructionsINTEL"),
        (Self::ATOMIC_BFLOAT16_ADD_INTEL, "AtomicBFloat16AddINTEL"),
        (Self::ATOMIC_BFLOAT16_MIN_MAX_INTEL, "AtomicBFloat16MinMaxINTEL"),
        (Self::PREDICATED_IO_INTEL, "PredicatedIOINTEL"),
        (Self::ATOMIC_INT16_COMPARE_EXCHANGE_INTEL, "AtomicInt16CompareExchangeINTEL"),
        (Self::INT16_ATOMICS_INTEL, "Int16AtomicsINTEL"),
        (Self::ATOMIC_BFLOAT16_LOAD_STORE_INTEL, "AtomicBFloat16LoadStoreINTEL"),
        (Self::SUBGROUP_SCALED_MATRIX_INTEL, "SubgroupScaledMatrixMultiplyAccumulateINTEL"),
        (Self::COOPERATIVE_MATRIX_PREFETCH_INTEL, "CooperativeMatrixPrefetchINTEL"),
        (Self::PACKED_COOPERATIVE_MATRIX_INTEL, "PackedCooperativeMatrixINTEL"),
        (Self::COOPERATIVE_MATRIX_INVOCATION_INTEL, "CooperativeMatrixInvocationInstructionsINTEL"),
        (Self::COOPERATIVE_MATRIX_TF32_INTEL, "CooperativeMatrixTF32ComponentTypeINTEL"),
        (Self::COOPERATIVE_MATRIX_BFLOAT16_INTEL, "CooperativeMatrixBFloat16ComponentTypeINTEL"),
        (Self::SUBGROUP_REQUIREMENTS_INTEL, "SubgroupRequirementsINTEL"),
    ];

    pub const fn of(capability: Capability) -> Self {
        Self(capability as u32)
    }

    /// The name that SPIR-V or the compiler's header gives it; `None` for a number that neither has.
    pub fn name(self) -> Option<Cow<'static, str>> {
        if let Some(capability) = Capability::from_u32(self.0) {
            return Some(format!("{capability:?}").into());
        }
        Self::NAMES.iter().find(|(id, _)| *id == self).map(|(_, name)| (*name).into())
    }
}

impl From<Capability> for CapabilityId {
    fn from(capability: Capability) -> Self {
        Self::of(capability)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_own_numbers_are_not_the_grammars() {
        for (id, name) in CapabilityId::NAMES {
            assert!(Capability::from_u32(id.0).is_none(), "{name} is in the grammar");
            assert_eq!(id.name().as_deref(), Some(*name));
        }
        assert_eq!(CapabilityId::of(Capability::Kernel).name().as_deref(), Some("Kernel"));
        assert_eq!(CapabilityId(60_000).name(), None);
    }
}
