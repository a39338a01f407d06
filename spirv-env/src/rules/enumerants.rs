//! Rules about enumerants in declarations: a capability, decoration or execution mode that the module's version has, and whose
//! own capability is declared.

use super::{DeclarationRule, Declarations};
use crate::diagnostics::RuleId;
use crate::grammar::own_name;
use rspirv::dr::Operand;
use spirv::{Capability, Decoration, ExecutionMode, Op};
use ze_extensions::spirv_support;

const CAPABILITY: RuleId = RuleId { id: "env.enumerant-capability", source: "SPIR-V 1.2 §3.6, §3.20" };
const VERSION: RuleId = RuleId { id: "env.enumerant-version", source: "SPIR-V 1.4 §3.6, §3.20, §3.31" };

pub(super) const DECLARATIONS: &[DeclarationRule] = &[
    DeclarationRule { id: CAPABILITY, ops: MODES_AND_DECORATIONS, check: has_its_capability },
    DeclarationRule { id: VERSION, ops: &[Op::Capability], check: has_the_version },
    DeclarationRule { id: VERSION, ops: MODES_AND_DECORATIONS, check: has_the_version },
];

const MODES_AND_DECORATIONS: &[Op] = &[
    Op::ExecutionMode,
    Op::ExecutionModeId,
    Op::Decorate,
    Op::DecorateId,
    Op::DecorateString,
    Op::MemberDecorate,
    Op::MemberDecorateString,
];

/// The enumerant of a declaration; none of a number that the grammar does not have, which is for others to refuse.
fn enumerant(op: Op, words: &[u32]) -> Option<Operand> {
    let word = |at: usize| words.get(at).copied();
    match op {
        Op::Capability => Capability::from_u32(word(0)?).map(Operand::Capability),
        Op::ExecutionMode | Op::ExecutionModeId => {
            ExecutionMode::from_u32(word(1)?).map(Operand::ExecutionMode)
        }
        Op::MemberDecorate | Op::MemberDecorateString => {
            Decoration::from_u32(word(2)?).map(Operand::Decoration)
        }
        _ => Decoration::from_u32(word(1)?).map(Operand::Decoration),
    }
}

fn name(enumerant: &Operand) -> String {
    own_name(match enumerant {
        Operand::Capability(capability) => format!("capability {capability:?}"),
        Operand::ExecutionMode(mode) => format!("execution mode {mode:?}"),
        Operand::Decoration(decoration) => format!("decoration {decoration:?}"),
        other => format!("{other:?}"),
    })
}

fn has_its_capability(context: &Declarations<'_>, words: &[u32]) -> Result<(), String> {
    let Some(enumerant) = enumerant(context.op, words) else { return Ok(()) };
    // The LLVM translator leaves `SubgroupDispatch` out of OpenCL C's kernels with a required sub-group size, oneMKL's among them,
    // and LLVM's SPIR-V backend `FloatControls2` of kernels with default modes.
    if let Operand::ExecutionMode(ExecutionMode::SubgroupSize | ExecutionMode::FPFastMathDefault) = enumerant
    {
        return Ok(());
    }
    let mut needed = enumerant.required_capabilities();
    // What only modules of shaders have says nothing to a kernel, and is not looked at.
    needed.retain(|capability| spirv_support::capability(*capability).is_some());
    let declared = |capability: &Capability| context.module.capabilities.contains(capability);
    if needed.is_empty() || needed.iter().any(declared) {
        return Ok(());
    }
    let needed: Vec<_> = needed.iter().map(|capability| own_name(format!("{capability:?}"))).collect();
    Err(format!("{} needs capability {}", name(&enumerant), needed.join(" or ")))
}

/// The minor number of the version 1.x that has an enumerant, with extensions that have it earlier. Those that stand nowhere
/// are as old as SPIR-V, or an extension's.
fn since(enumerant: &Operand) -> (u8, &'static [&'static str]) {
    use Capability as C;
    use Decoration as D;
    use ExecutionMode as M;
    match enumerant {
        Operand::Capability(C::SubgroupDispatch | C::NamedBarrier | C::PipeStorage) => (1, &[]),
        Operand::Capability(
            C::GroupNonUniform
            | C::GroupNonUniformVote
            | C::GroupNonUniformArithmetic
            | C::GroupNonUniformBallot
            | C::GroupNonUniformShuffle
            | C::GroupNonUniformShuffleRelative
            | C::GroupNonUniformClustered,
        ) => (3, &[]),
        Operand::Capability(C::UniformDecoration) => (6, &[]),
        Operand::ExecutionMode(
            M::Initializer | M::Finalizer | M::SubgroupSize | M::SubgroupsPerWorkgroup,
        ) => (1, &[]),
        Operand::ExecutionMode(M::SubgroupsPerWorkgroupId | M::LocalSizeId | M::LocalSizeHintId) => (2, &[]),
        Operand::ExecutionMode(
            M::DenormPreserve
            | M::DenormFlushToZero
            | M::SignedZeroInfNanPreserve
            | M::RoundingModeRTE
            | M::RoundingModeRTZ,
        ) => (4, &["SPV_KHR_float_controls"]),
        Operand::Decoration(D::MaxByteOffset) => (1, &[]),
        Operand::Decoration(D::AlignmentId | D::MaxByteOffsetId) => (2, &[]),
        Operand::Decoration(D::NoSignedWrap | D::NoUnsignedWrap) => {
            (4, &["SPV_KHR_no_integer_wrap_decoration"])
        }
        Operand::Decoration(D::UniformId) => (4, &[]),
        _ => (0, &[]),
    }
}

fn has_the_version(context: &Declarations<'_>, words: &[u32]) -> Result<(), String> {
    let Some(enumerant) = enumerant(context.op, words) else { return Ok(()) };
    let (minor, earlier) = since(&enumerant);
    let module = context.module;
    let declared = |name: &&str| module.extensions.iter().any(|extension| extension.as_str() == *name);
    if module.version >= (1, minor) || earlier.iter().any(declared) {
        return Ok(());
    }
    let or = earlier.iter().map(|name| format!(" or {name}")).collect::<String>();
    Err(format!("{} needs SPIR-V 1.{minor}{or}", name(&enumerant)))
}

#[cfg(test)]
mod tests {
    use crate::diagnostics::Diagnostic;
    use crate::test_support::{KERNEL, assemble};
    use crate::{Environment, ModuleInput, build};
    use ze_extensions::DeviceProfile;

    /// What is wrong with a module of a version 1.x.
    fn faults(text: &str, minor: u8) -> Vec<Diagnostic> {
        let mut bytes = assemble(text);
        bytes[4..8].copy_from_slice(&(0x0001_0000 | u32::from(minor) << 8).to_ne_bytes());
        let built = build(&[ModuleInput::new(&bytes)], &Environment::new(&DeviceProfile::host()));
        built.map_or_else(|error| error.diagnostics, |_| Vec::new())
    }

    /// The rule that it breaks first.
    fn rule(text: &str, minor: u8) -> &'static str {
        faults(text, minor).first().map_or("accepted", |fault| fault.rule)
    }

    fn with(annotation: &str) -> String {
        KERNEL.replace("%void = ", &format!("{annotation}\n%void = "))
    }

    fn declaring(capabilities: &str, text: &str) -> String {
        let declared: String =
            capabilities.split_whitespace().map(|name| format!("OpCapability {name}\n")).collect();
        format!("{declared}{text}")
    }

    #[test]
    fn enumerants_need_the_version_that_has_them() {
        for (since, text) in [
            (1, declaring("SubgroupDispatch", KERNEL)),
            (3, declaring("GroupNonUniform", KERNEL)),
            (3, declaring("GroupNonUniformArithmetic", KERNEL)),
            (1, with("OpExecutionMode %main SubgroupSize 16")),
            (1, with("OpDecorate %main MaxByteOffset 16")),
            (4, with("OpDecorate %main NoSignedWrap")),
            (
                1,
                with("OpMemberDecorate %pair 0 MaxByteOffset 16")
                    .replace("%fn = ", "%uint = OpTypeInt 32 0\n%pair = OpTypeStruct %uint\n%fn = "),
            ),
            (4, declaring("DenormPreserve", &with("OpExecutionMode %main DenormPreserve 32"))),
        ] {
            assert_eq!(rule(&text, since - 1), "env.enumerant-version", "{text}");
            assert_eq!(rule(&text, since), "accepted", "{text}");
        }
    }

    #[test]
    fn a_decoration_is_too_new_beside_its_capability() {
        let text = declaring("UniformDecoration", &with("OpDecorateId %main UniformId %main"));
        let told = |minor: u8| {
            let faults = faults(&text, minor);
            faults.iter().any(|fault| fault.message.contains("decoration UniformId needs SPIR-V 1.4"))
        };
        assert!(told(3) && !told(4));
    }

    #[test]
    fn extensions_have_enumerants_before_the_version() {
        let text = with("OpDecorate %main NoSignedWrap")
            .replace("OpMemoryModel", "OpExtension \"SPV_KHR_no_integer_wrap_decoration\"\nOpMemoryModel");
        assert_eq!(rule(&text, 0), "accepted");
    }

    /// As the LLVM translator 14 writes `intel_reqd_sub_group_size`, which oneMKL's products of matrices have.
    #[test]
    fn sizes_of_sub_groups_need_no_capability() {
        assert_eq!(rule(&with("OpExecutionMode %main SubgroupSize 16"), 1), "accepted");
    }

    #[test]
    fn enumerants_need_their_capability() {
        let linked = "OpDecorate %main LinkageAttributes \"f\" Import";
        for (capability, annotation) in [
            ("SubgroupDispatch", "OpExecutionMode %main SubgroupsPerWorkgroup 1"),
            ("DenormFlushToZero", "OpExecutionMode %main DenormFlushToZero 32"),
            ("RoundingModeRTZ", "OpExecutionMode %main RoundingModeRTZ 32"),
        ] {
            assert_eq!(rule(&with(annotation), 4), "env.enumerant-capability", "{annotation}");
            assert_eq!(rule(&declaring(capability, &with(annotation)), 4), "accepted", "{annotation}");
        }
        assert_eq!(rule(&with(linked), 4), "env.enumerant-capability");
        assert_eq!(rule(&declaring("Linkage", &with(linked)), 4), "kernels.linkage");
    }
}
