//! Rules about capabilities, extensions, memory model and entry points.

use super::{DeclarationRule, Declarations, GUIDE, ModuleRule};
use crate::diagnostics::{Fault, RuleId};
use crate::environment::Environment;
use crate::grammar::own_name;
use crate::module::Module;
use crate::opcodes::Opcode;
use spirv::{AddressingModel, Capability, ExecutionMode, ExecutionModel, MemoryModel, Op};
use ze_extensions::spirv_extensions::spirv_extension;
use ze_extensions::{CapabilityId, spirv_support};

const CAPABILITIES: &str = "L0 SPIR-V Guide, Required Capabilities";

pub(super) const DECLARATIONS: &[DeclarationRule] = &[
    DeclarationRule {
        id: RuleId { id: "env.capability", source: CAPABILITIES },
        ops: &[Op::Capability],
        check: capability,
    },
    DeclarationRule {
        id: RuleId { id: "env.extension", source: "L0 SPIR-V Guide, Extensions" },
        ops: &[Op::Extension],
        check: extension,
    },
    DeclarationRule {
        id: RuleId { id: "env.execution-model", source: GUIDE },
        ops: &[Op::EntryPoint],
        check: execution_model,
    },
    DeclarationRule {
        id: RuleId { id: "env.execution-mode", source: "OpenCL SPIR-V Env 3.0, Execution Modes" },
        ops: &[Op::ExecutionMode, Op::ExecutionModeId],
        check: execution_mode,
    },
    DeclarationRule {
        id: RuleId { id: "env.addressing-model", source: GUIDE },
        ops: &[Op::MemoryModel],
        check: addressing_model,
    },
    DeclarationRule {
        id: RuleId { id: "env.memory-model", source: GUIDE },
        ops: &[Op::MemoryModel],
        check: memory_model,
    },
];

pub(super) const WHOLE: &[ModuleRule] = &[
    ModuleRule {
        id: RuleId { id: "env.capability-extension", source: "L0 SPIR-V Guide, Extensions" },
        check: capabilities_are_declared,
    },
    ModuleRule { id: RuleId { id: "env.kernel-capability", source: CAPABILITIES }, check: is_for_kernels },
];

fn capability(context: &Declarations<'_>, words: &[u32]) -> Result<(), String> {
    let capability = CapabilityId(words.first().copied().unwrap_or(0));
    let name =
        own_name(capability.name().ok_or_else(|| format!("capability {} is unknown", capability.0))?.into());
    let Some(support) = spirv_support::capability(capability) else {
        // Without SPV_KHR_bit_instructions nothing else has that instruction, and the LLVM translator declares it so.
        if context.reverses_bits && is_of_shaders(capability.0) {
            return Ok(());
        }
        return Err(match spirv_support::reason_of_refusal(capability) {
            Some(reason) => format!("capability {name} is not supported: {reason}"),
            None => format!("capability {name} is not supported"),
        });
    };
    if support.need.met_by(context.env.profile) {
        Ok(())
    } else {
        Err(format!("capability {name} needs {}, which the device has not", support.need.describe()))
    }
}

/// Whether a capability is that of shaders, or what that implies.
pub(crate) fn is_of_shaders(capability: u32) -> bool {
    matches!(Capability::from_u32(capability), Some(Capability::Shader | Capability::Matrix))
}

fn extension(context: &Declarations<'_>, words: &[u32]) -> Result<(), String> {
    let name = crate::grammar::Cursor::new(words).string().map_err(|fault| fault.message)?;
    let extension = spirv_extension(&name).ok_or_else(|| format!("extension {name} is not supported"))?;
    extension.refusal(context.env.profile).map_or(Ok(()), Err)
}

fn execution_model(_: &Declarations<'_>, words: &[u32]) -> Result<(), String> {
    match words.first() {
        Some(&model) if model == ExecutionModel::Kernel as u32 => Ok(()),
        _ => Err("the execution model is not Kernel".into()),
    }
}

/// Modes that change results or launches are those that are honoured; the rest are hints.
fn execution_mode(_: &Declarations<'_>, words: &[u32]) -> Result<(), String> {
    use ExecutionMode as M;
    let number = words.get(1).copied().unwrap_or(u32::MAX);
    match M::from_u32(number) {
        Some(
            M::LocalSize
            | M::LocalSizeId
            | M::LocalSizeHint
            | M::LocalSizeHintId
            | M::SubgroupSize
            | M::SubgroupsPerWorkgroup
            | M::SubgroupsPerWorkgroupId
            | M::VecTypeHint
            | M::ContractionOff
            | M::DenormPreserve
            | M::SignedZeroInfNanPreserve
            | M::RoundingModeRTE
            | M::DenormFlushToZero
            | M::RoundingModeRTZ
            | M::RoundingModeRTPINTEL
            | M::RoundingModeRTNINTEL
            | M::FloatingPointModeIEEEINTEL
            | M::FPFastMathDefault
            | M::MaxWorkgroupSizeINTEL
            | M::MaxWorkDimINTEL
            | M::NoGlobalOffsetINTEL
            | M::NumSIMDWorkitemsINTEL
            | M::SchedulerTargetFmaxMhzINTEL
            | M::StreamingInterfaceINTEL
            | M::RegisterMapInterfaceINTEL
            | M::MaximumRegistersINTEL
            | M::MaximumRegistersIdINTEL
            | M::NamedMaximumRegistersINTEL,
        ) => Ok(()),
        Some(mode) => Err(format!("execution mode {mode:?} is not supported")),
        None => Err(format!("execution mode {number} is unknown")),
    }
}

fn addressing_model(context: &Declarations<'_>, words: &[u32]) -> Result<(), String> {
    match words.first() {
        Some(&model) if model == AddressingModel::Physical64 as u32 => {
            if context.module.capabilities.contains(&Capability::Addresses) {
                Ok(())
            } else {
                Err("the addressing model needs capability Addresses".into())
            }
        }
        _ => Err("the addressing model is not Physical64".into()),
    }
}

fn memory_model(_: &Declarations<'_>, words: &[u32]) -> Result<(), String> {
    match words.get(1) {
        Some(&model) if model == MemoryModel::OpenCL as u32 => Ok(()),
        _ => Err("the memory model is not OpenCL".into()),
    }
}

/// A capability that an extension brings needs the extension's declaration.
fn capabilities_are_declared(module: &Module, _: &Environment<'_>) -> Result<(), String> {
    let known = module.capabilities.iter().map(|&capability| CapabilityId::of(capability));
    for capability in known.chain(module.own_capabilities.iter().copied()) {
        let Some(support) = spirv_support::capability(capability) else { continue };
        let is_core = support.core_since.is_some_and(|version| module.version >= version);
        let declared = |name: &&&str| module.extensions.iter().any(|extension| extension.as_str() == **name);
        if !is_core
            && !support.declared_by.is_empty()
            && !support.declared_by.iter().any(|name| declared(&name))
        {
            let names = support.declared_by.join(" or ");
            let name = own_name(capability.name().unwrap_or_default().into());
            return Err(format!("capability {name} is declared without OpExtension {names}"));
        }
    }
    Ok(())
}

const INSTRUCTION: RuleId = RuleId { id: "env.instruction-capability", source: "SPIR-V 1.2 §3.32" };

/// An instruction needs one of its capabilities declared; implied ones are in the module's list, too.
pub(crate) fn instruction_capability(module: &Module, op: Op) -> Result<(), Fault> {
    let needed = crate::grammar::capabilities(op).unwrap_or(&[]);
    // On matrices of sub-groups, too (`SPV_KHR_cooperative_matrix`).
    let of_matrices =
        op == Op::MatrixTimesScalar && module.capabilities.contains(&Capability::CooperativeMatrixKHR);
    // What the loader makes of conversions to and from that type.
    let of_bfloat = matches!(op, Op::ConvertFToBF16INTEL | Op::ConvertBF16ToFINTEL)
        && module.capabilities.contains(&Capability::BFloat16TypeKHR);
    if of_matrices
        || of_bfloat
        || needed.is_empty()
        || needed.iter().any(|capability| module.capabilities.contains(capability))
    {
        return Ok(());
    }
    let names: Vec<String> = needed.iter().map(|capability| format!("{capability:?}")).collect();
    let message = format!("{} needs capability {}", crate::grammar::op_name(op), names.join(" or "));
    Err(Fault::new(INSTRUCTION, message))
}

const INSTRUCTION_VERSION: RuleId = RuleId { id: "env.instruction-version", source: "SPIR-V 1.4 §3.32" };

/// An instruction that no capability brings needs a module of the version that has it.
pub(crate) fn instruction_version(module: &Module, row: &Opcode) -> Result<(), Fault> {
    if module.version >= row.since {
        return Ok(());
    }
    let ((major, minor), name) = (row.since, crate::grammar::op_name(row.op));
    Err(Fault::new(INSTRUCTION_VERSION, format!("{name} needs SPIR-V {major}.{minor}")))
}

fn is_for_kernels(module: &Module, _: &Environment<'_>) -> Result<(), String> {
    if module.capabilities.contains(&Capability::Kernel) {
        Ok(())
    } else {
        Err("the module does not declare capability Kernel".into())
    }
}

#[cfg(test)]
mod tests {
    use ze_extensions::DeviceProfile;

    use crate::test_support::{
        KERNEL, assemble, assert_accepted, assert_rejected, build_text, declaring, kernel,
        profile_without_flags, rejected_on,
    };
    use crate::{Environment, ModuleInput, build};

    #[test]
    fn capability_of_shaders_is_rejected() {
        assert_accepted(KERNEL);
        assert_rejected(
            &KERNEL.replace("OpCapability Kernel", "OpCapability Kernel\nOpCapability Shader"),
            "env.capability",
        );
    }

    #[test]
    fn capability_of_shaders_is_accepted_for_bits_in_reverse() {
        let of = |capability: &str, inst: &str| declaring(capability, &kernel("", inst));
        let reversed = "%r = OpBitReverse %uint %u1";
        assert_accepted(&declaring("Matrix", &of("Shader", reversed)));
        assert_rejected(&of("Shader", "%r = OpNot %uint %u1"), "env.capability");
        assert_rejected(&of("Geometry", reversed), "env.capability");
        assert_rejected(&kernel("", reversed), "env.instruction-capability");
    }

    #[test]
    fn capabilities_have_their_first_names() {
        let with = |number: &str| {
            KERNEL.replace("OpCapability Kernel", &format!("OpCapability Kernel\nOpCapability {number}"))
        };
        let log = build_text(&with("ArbitraryPrecisionFixedPointALTERA")).unwrap_err().to_string();
        assert!(log.contains("capability ArbitraryPrecisionFixedPointINTEL is not supported"), "{log}");
        assert!(!log.contains("ALTERA"), "{log}");
    }

    #[test]
    fn capability_float64_needs_fp64() {
        let module = KERNEL.replace("OpCapability Kernel", "OpCapability Kernel\nOpCapability Float64");
        assert_accepted(&module);
        assert_eq!(rejected_on(&module, &profile_without_flags()), ["env.capability"]);
    }

    #[test]
    fn unknown_extension_is_rejected() {
        let with =
            |name: &str| KERNEL.replace("OpMemoryModel", &format!("OpExtension \"{name}\"\nOpMemoryModel"));
        assert_accepted(&with("SPV_INTEL_subgroups"));
        assert_rejected(&with("SPV_INTEL_blocking_pipes"), "env.extension");
        let mut profile = DeviceProfile::host();
        profile.without_extensions.push("SPV_INTEL_subgroups".into());
        assert_eq!(rejected_on(&with("SPV_INTEL_subgroups"), &profile), ["env.extension"]);
    }

    #[test]
    fn capability_of_an_extension_needs_its_declaration() {
        let module =
            KERNEL.replace("OpCapability Kernel", "OpCapability Kernel\nOpCapability ExpectAssumeKHR");
        assert_rejected(&module, "env.capability-extension");
        assert_accepted(
            &module.replace("OpMemoryModel", "OpExtension \"SPV_KHR_expect_assume\"\nOpMemoryModel"),
        );
    }

    /// What a version of SPIR-V says about a module that declares no extension.
    fn in_version(text: &str, version: u32) -> &'static str {
        let mut bytes = assemble(text);
        bytes[4..8].copy_from_slice(&version.to_ne_bytes());
        let built = build(&[ModuleInput::new(&bytes)], &Environment::new(&DeviceProfile::host()));
        built.map_or_else(|error| error.diagnostics[0].rule, |_| "accepted")
    }

    #[test]
    fn capabilities_that_a_version_took_over_need_no_extension_from_then_on() {
        let module = KERNEL.replace("OpCapability Kernel", "OpCapability Kernel\nOpCapability DotProduct");
        assert_eq!(in_version(&module, 0x0001_0500), "env.capability-extension");
        assert_eq!(in_version(&module, 0x0001_0600), "accepted");
    }

    #[test]
    fn modules_of_every_version_up_to_1_6_are_accepted() {
        for minor in 0..=6 {
            assert_eq!(in_version(KERNEL, 0x0001_0000 | minor << 8), "accepted", "1.{minor}");
        }
        assert_eq!(in_version(KERNEL, 0x0001_0700), "binary.version");
    }

    #[test]
    fn entry_points_are_kernels() {
        assert_rejected(
            &KERNEL.replace("OpEntryPoint Kernel", "OpEntryPoint GLCompute"),
            "env.execution-model",
        );
    }

    #[test]
    fn execution_modes_are_honoured_or_rejected() {
        let with = |mode: &str| {
            KERNEL.replace("%void = OpTypeVoid", &format!("OpExecutionMode %main {mode}\n%void = OpTypeVoid"))
        };
        assert_accepted(&with("ContractionOff"));
        for name in ["DenormPreserve", "DenormFlushToZero", "RoundingModeRTZ"] {
            assert_accepted(&declaring(name, &with(&format!("{name} 32"))));
        }
        assert_rejected(&with("FloatingPointModeALTINTEL 32"), "env.execution-mode");
        assert_rejected(&with("OriginUpperLeft"), "env.execution-mode");
    }

    #[test]
    fn addresses_have_64_bits() {
        assert_rejected(&KERNEL.replace("Physical64", "Physical32"), "env.addressing-model");
        assert_rejected(&KERNEL.replace("OpCapability Addresses\n", ""), "env.addressing-model");
    }

    #[test]
    fn the_memory_model_is_opencl() {
        assert_rejected(&KERNEL.replace("Physical64 OpenCL", "Physical64 GLSL450"), "env.memory-model");
    }

    #[test]
    fn instructions_need_their_capabilities() {
        let module = kernel("", "%r = OpGroupIAdd %uint %u3 Reduce %u1");
        assert_accepted(&module);
        assert_rejected(&module.replace("OpCapability Groups\n", ""), "env.instruction-capability");
        let elect = kernel("", "%r = OpGroupNonUniformElect %bool %u3");
        assert_rejected(&elect, "env.instruction-capability");
        let vote = "OpCapability Kernel\nOpCapability GroupNonUniformVote";
        assert_accepted(&elect.replace("OpCapability Kernel", vote));
    }

    #[test]
    fn instructions_need_the_version_that_has_them() {
        let equal = kernel(
            "%p = OpTypePointer Function %uint\n%n = OpConstantNull %p",
            "%r = OpPtrEqual %bool %n %n",
        );
        assert_accepted(&equal);
        let rule = |version: u32| {
            let mut bytes = assemble(&equal);
            bytes[4..8].copy_from_slice(&version.to_ne_bytes());
            let built = build(&[ModuleInput::new(&bytes)], &Environment::new(&DeviceProfile::host()));
            built.map_or_else(|error| error.diagnostics[0].rule, |_| "accepted")
        };
        assert_eq!(rule(0x0001_0400), "accepted");
        assert_eq!(rule(0x0001_0300), "env.instruction-version");
    }

    #[test]
    fn modules_declare_kernel() {
        assert_rejected(&KERNEL.replace("OpCapability Kernel\n", ""), "env.kernel-capability");
    }
}
