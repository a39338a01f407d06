//! Rules about scalar types and the capabilities that their widths need.

use super::{DeclarationRule, Declarations, GUIDE, InstructionRule};
use crate::diagnostics::RuleId;
use crate::module::Inst;
use crate::opcodes::{self, Family, Signature};
use crate::validate::{Ctx, Scalar};
use spirv::{Capability, FPEncoding, Op, StorageClass};
use ze_extensions::ModuleFlags;
use ze_extensions::limits::INTEGER_BITS;

const WIDTHS: &str = "SPIR-V 1.2 §3.31; L0 SPIR-V Guide, Supported Types";

const ARBITRARY: &str = "SPV_INTEL_arbitrary_precision_integers";

pub(super) const DECLARATIONS: &[DeclarationRule] = &[
    DeclarationRule {
        id: RuleId { id: "env.signedness", source: GUIDE },
        ops: &[Op::TypeInt],
        check: signedness,
    },
    DeclarationRule {
        id: RuleId { id: "env.int-width", source: WIDTHS },
        ops: &[Op::TypeInt],
        check: int_width,
    },
    DeclarationRule {
        id: RuleId { id: "env.float-width", source: WIDTHS },
        ops: &[Op::TypeFloat],
        check: float_width,
    },
    DeclarationRule {
        id: RuleId { id: "env.vector-length", source: WIDTHS },
        ops: &[Op::TypeVector],
        check: vector_length,
    },
    DeclarationRule {
        id: RuleId { id: "env.storage-class", source: "SPIR-V 1.2 §3.7" },
        ops: &[
            Op::TypePointer,
            Op::TypeForwardPointer,
            Op::TypeUntypedPointerKHR,
            Op::Variable,
            Op::UntypedVariableKHR,
        ],
        check: storage_class,
    },
];

pub(super) const INSTRUCTIONS: &[InstructionRule] = &[
    InstructionRule {
        id: RuleId { id: "env.half-arithmetic", source: WIDTHS },
        applies: computes_with_floats,
        check: half_arithmetic,
    },
    InstructionRule {
        id: RuleId { id: "env.odd-width", source: ARBITRARY },
        applies: has_fixed_widths,
        check: no_odd_width,
    },
    InstructionRule {
        id: RuleId { id: "env.dot-product-input", source: "SPV_KHR_integer_dot_product" },
        applies: |op| opcodes::row(op).is_some_and(|row| row.family == Family::IntegerDot),
        check: dot_product_input,
    },
];

fn signedness(_: &Declarations<'_>, words: &[u32]) -> Result<(), String> {
    match words.get(2) {
        Some(0) | None => Ok(()),
        Some(signedness) => Err(format!("an integer type of signedness {signedness}, it must be 0")),
    }
}

fn needs(context: &Declarations<'_>, width: u32, any: &[Capability]) -> Result<(), String> {
    if any.iter().any(|capability| context.module.capabilities.contains(capability)) {
        Ok(())
    } else {
        Err(format!("a width of {width} bits needs capability {:?}", any[0]))
    }
}

fn int_width(context: &Declarations<'_>, words: &[u32]) -> Result<(), String> {
    match words.get(1) {
        Some(8) => needs(context, 8, &[Capability::Int8]),
        Some(16) => needs(context, 16, &[Capability::Int16]),
        Some(64) => needs(context, 64, &[Capability::Int64]),
        Some(32) | None => Ok(()),
        Some(&width @ 1..=INTEGER_BITS) => {
            let any = [Capability::ArbitraryPrecisionIntegersALTERA, Capability::Int4TypeINTEL];
            needs(context, width, &any[..if width == 4 { 2 } else { 1 }])
        }
        // What no capability brings is not a type.
        Some(_) => Ok(()),
    }
}

fn float_width(context: &Declarations<'_>, words: &[u32]) -> Result<(), String> {
    if let Some(&encoding) = words.get(2) {
        return match (FPEncoding::from_u32(encoding), words.get(1)) {
            (Some(FPEncoding::BFloat16KHR), Some(&width)) => {
                needs(context, width, &[Capability::BFloat16TypeKHR])
            }
            _ => Err("only IEEE 754 encodings and bfloat16 are supported".into()),
        };
    }
    match words.get(1) {
        Some(16) => needs(context, 16, &[Capability::Float16, Capability::Float16Buffer]),
        Some(64) => needs(context, 64, &[Capability::Float64]),
        _ => Ok(()),
    }
}

fn vector_length(context: &Declarations<'_>, words: &[u32]) -> Result<(), String> {
    match words.get(2) {
        Some(8 | 16) if !context.module.capabilities.contains(&Capability::Vector16) => {
            Err("vectors of 8 and 16 components need capability Vector16".into())
        }
        _ => Ok(()),
    }
}

/// The classes of graphics and of pipes need what no kernel declares; generic pointers are optional.
fn storage_class(context: &Declarations<'_>, words: &[u32]) -> Result<(), String> {
    use StorageClass as C;
    let at = match words.len() {
        // A forward pointer has no pointee behind it.
        2 => 1,
        _ if matches!(context.op, Op::Variable | Op::UntypedVariableKHR) => 2,
        _ => 1,
    };
    match words.get(at).and_then(|&number| StorageClass::from_u32(number)) {
        Some(C::UniformConstant | C::Input | C::Workgroup | C::CrossWorkgroup | C::Function) | None => Ok(()),
        Some(C::Generic) if context.module.capabilities.contains(&Capability::GenericPointer) => Ok(()),
        Some(C::CodeSectionINTEL)
            if context.module.capabilities.contains(&Capability::FunctionPointersINTEL)
                && !matches!(context.op, Op::Variable | Op::UntypedVariableKHR) =>
        {
            Ok(())
        }
        Some(C::DeviceOnlyALTERA | C::HostOnlyALTERA)
            if context.module.capabilities.contains(&Capability::USMStorageClassesALTERA) =>
        {
            Ok(())
        }
        Some(C::Generic) => Err("storage class Generic needs capability GenericPointer".into()),
        Some(class) => Err(format!("storage class {class:?} is not one that kernels have")),
    }
}

/// Whether half-precision numbers are among the operands for more than to be moved or converted.
fn computes_with_floats(op: Op) -> bool {
    use Signature::{
        AllEqual, BroadcastFirst, Extended, FloatBinary, FloatClassify, FloatCompare, FloatDot, FloatUnary,
        GroupBroadcast, GroupFloat, IntelShuffle, IntelShufflePair, Shuffle, VectorTimesScalar,
    };
    let signatures = [
        FloatUnary,
        FloatBinary,
        FloatDot,
        VectorTimesScalar,
        FloatCompare,
        FloatClassify,
        Extended,
        GroupFloat,
        GroupBroadcast,
        AllEqual,
        BroadcastFirst,
        Shuffle,
        IntelShuffle,
        IntelShufflePair,
    ];
    opcodes::row(op).is_some_and(|row| signatures.contains(&row.signature))
}

/// `Float16Buffer` has halves in memory and converts them; computing with them needs the device's arithmetic. The
/// LLVM translator declares `Float16Buffer` alone for modules that compute, so it is the device that decides.
fn half_arithmetic(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    if ctx.env.profile.module.flags.contains(ModuleFlags::FP16) {
        return Ok(());
    }
    // Values that are loaded and stored by `vload_half` and its kin are never halves themselves.
    let is_half = |ty| ctx.lanes(ty).is_some_and(|(scalar, _)| scalar == Scalar::Float(16));
    let mut types = inst.ids().filter_map(|id| ctx.value(id).ok()).chain(inst.ty);
    if types.any(is_half) {
        return Err("computing with 16-bit floating-point numbers needs ZE_DEVICE_MODULE_FLAG_FP16".into());
    }
    Ok(())
}

/// Whether an instruction is for the integers that the core of SPIR-V has, and not for those of any width.
fn has_fixed_widths(op: Op) -> bool {
    use Family as F;
    opcodes::row(op).is_some_and(|row| {
        matches!(
            row.family,
            F::IntegerDot
                | F::Atomic
                | F::Vote
                | F::Shuffle
                | F::Reduction
                | F::Collective
                | F::Extended
                | F::Image
        )
    })
}

fn no_odd_width(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    let types = inst.ids().filter_map(|id| ctx.value(id).ok()).chain(inst.ty);
    for ty in types {
        let ty = ctx.as_pointer(ty).map_or(ty, |(_, pointee)| pointee);
        if let Some((Scalar::Int(width), _)) = ctx.lanes(ty)
            && ![8, 16, 32, 64].contains(&width)
        {
            return Err(format!("{:?} on integers of {width} bits", inst.op));
        }
    }
    Ok(())
}

/// Integer dot products need a capability for the kind of vectors that they take.
fn dot_product_input(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    let any: &[Capability] = match ctx.operand_lanes(inst, 0)? {
        (_, 1) => &[Capability::DotProductInput4x8BitPacked],
        (Scalar::Int(8), 4) => &[Capability::DotProductInput4x8Bit, Capability::DotProductInputAll],
        _ => &[Capability::DotProductInputAll],
    };
    if any.iter().any(|capability| ctx.module.capabilities.contains(capability)) {
        Ok(())
    } else {
        Err(format!("these vectors need capability {:?}", any[0]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{
        KERNEL, assert_accepted, assert_rejected, build_text, declaring, kernel, rejected_on,
        untyped_pointers,
    };
    use ze_extensions::DeviceProfile;

    #[test]
    fn integers_have_no_sign() {
        assert_accepted(&kernel("", ""));
        assert_rejected(&kernel("", "").replace("OpTypeInt 32 0", "OpTypeInt 32 1"), "env.signedness");
    }

    fn arbitrary(declarations: &str, body: &str) -> String {
        kernel(declarations, body)
            .replace(
                "OpCapability Kernel",
                "OpCapability Kernel\nOpCapability ArbitraryPrecisionIntegersALTERA",
            )
            .replace("%std = ", "OpExtension \"SPV_INTEL_arbitrary_precision_integers\"\n%std = ")
    }

    #[test]
    fn integers_of_any_width_need_their_capability() {
        assert_accepted(&arbitrary("", ""));
        for width in [1, 3, 31, 33, 65, 128] {
            let declaration = format!("%t = OpTypeInt {width} 0");
            assert_accepted(&arbitrary(&declaration, ""));
            assert_rejected(&kernel(&declaration, ""), "env.int-width");
        }
        for width in [0, 129, 4096, u32::MAX] {
            assert_rejected(&arbitrary(&format!("%t = OpTypeInt {width} 0"), ""), "types.well-formed");
        }
    }

    #[test]
    fn integers_of_four_bits_have_a_capability_of_their_own() {
        let four = |capability: &str, declaration: &str| {
            let extension = "OpExtension \"SPV_INTEL_int4\"\n%std = ";
            declaring(capability, &kernel(declaration, "").replacen("%std = ", extension, 1))
        };
        assert_accepted(&four("Int4TypeINTEL", "%t = OpTypeInt 4 0\n%v = OpTypeVector %t 8"));
        assert_rejected(&four("Int4TypeINTEL", "%t = OpTypeInt 5 0"), "env.int-width");
        assert_rejected(&four("Int64", "%t = OpTypeInt 4 0"), "env.int-width");
    }

    #[test]
    fn device_and_host_memory_are_global_memory() {
        let declarations = "%pd = OpTypePointer DeviceOnlyINTEL %uint\n%ph = OpTypePointer HostOnlyINTEL %uint\n\
            %pg = OpTypePointer CrossWorkgroup %uint\n%nd = OpConstantNull %pd";
        let body = "%g = OpPtrCastToCrossWorkgroupINTEL %pg %nd\n%h = OpCrossWorkgroupCastToPtrINTEL %ph %g\nOpStore %h %u1";
        let extension = "OpExtension \"SPV_INTEL_usm_storage_classes\"\n%std = ";
        let text = kernel(declarations, body).replacen("%std = ", extension, 1);
        let module = build_text(&declaring("USMStorageClassesINTEL", &text)).unwrap();
        let ops: Vec<Op> = module.functions[0].blocks[0].insts.iter().map(|inst| inst.op).collect();
        assert_eq!(ops, [Op::Bitcast, Op::Bitcast, Op::Store, Op::Return]);
        assert_rejected(&text, "env.storage-class");
    }

    #[test]
    fn atomics_and_groups_have_no_integers_of_odd_widths() {
        let declarations = "%t = OpTypeInt 33 0\n%n = OpConstantNull %t\n%p = OpTypePointer CrossWorkgroup %t\n\
                            %v = OpVariable %p CrossWorkgroup";
        for instruction in [
            "%r = OpAtomicIAdd %t %v %u1 %u0 %n",
            "%r = OpAtomicLoad %t %v %u1 %u0",
            "%r = OpGroupIAdd %t %u3 Reduce %n",
            "%r = OpExtInst %t %std popcount %n",
        ] {
            assert_rejected(&arbitrary(declarations, instruction), "env.odd-width");
        }
        assert_accepted(&arbitrary(declarations, "%r = OpLoad %t %v"));
    }

    #[test]
    fn widths_need_their_capabilities() {
        for (declaration, capability, rule) in [
            ("%t = OpTypeInt 8 0", "Int8", "env.int-width"),
            ("%t = OpTypeInt 16 0", "Int16", "env.int-width"),
            ("%t = OpTypeInt 64 0", "Int64", "env.int-width"),
            ("%t = OpTypeFloat 16", "Float16", "env.float-width"),
            ("%t = OpTypeFloat 64", "Float64", "env.float-width"),
            ("%t = OpTypeFloat 16", "Float16Buffer", "env.float-width"),
        ] {
            let module = KERNEL.replace("%void = ", &format!("{declaration}\n%void = "));
            assert_rejected(&module, rule);
            let declared = format!("OpCapability Kernel\nOpCapability {capability}");
            assert_accepted(&module.replace("OpCapability Kernel", &declared));
        }
        let vector = kernel("%t = OpTypeVector %uint 16", "");
        assert_accepted(&vector);
        assert_rejected(&vector.replace("OpCapability Vector16\n", ""), "env.vector-length");
    }

    #[test]
    fn implied_capabilities_are_declared() {
        let module = KERNEL.replace("%void = ", "%t = OpTypeInt 64 0\n%void = ");
        assert_accepted(
            &module.replace("OpCapability Kernel", "OpCapability Kernel\nOpCapability Int64Atomics"),
        );
        assert_accepted(&KERNEL.replace("OpCapability Kernel", "OpCapability Vector16"));
        assert_accepted(&KERNEL.replace("OpCapability Kernel", "OpCapability SubgroupDispatch"));
    }

    #[test]
    fn storage_classes_are_those_of_kernels() {
        let pointer = |class: &str| kernel(&format!("%p = OpTypePointer {class} %uint"), "");
        for class in ["UniformConstant", "Input", "Workgroup", "CrossWorkgroup", "Function", "Generic"] {
            assert_accepted(&pointer(class));
        }
        assert_rejected(
            &pointer("Generic").replace("OpCapability GenericPointer\n", ""),
            "env.storage-class",
        );
        for class in
            ["Uniform", "PushConstant", "StorageBuffer", "Private", "Output", "Image", "AtomicCounter"]
        {
            assert_rejected(&pointer(class), "env.storage-class");
        }
        let forward = "OpTypeForwardPointer %p Uniform\n%s = OpTypeStruct %p\n%p = OpTypePointer Uniform %s";
        assert_rejected(&kernel(forward, ""), "env.storage-class");
        let untyped =
            |class: &str| untyped_pointers(&kernel(&format!("%p = OpTypeUntypedPointerKHR {class}"), ""));
        assert_accepted(&untyped("CrossWorkgroup"));
        assert_rejected(&untyped("StorageBuffer"), "env.storage-class");
        assert_rejected(
            &untyped_pointers(&kernel(
                "%p = OpTypeUntypedPointerKHR Private\n%v = OpUntypedVariableKHR %p Private %uint",
                "",
            )),
            "env.storage-class",
        );
    }

    #[test]
    fn arithmetic_on_halves_needs_fp16() {
        let module = kernel("%c = OpConstant %half 0x3C00", "%r = OpFAdd %half %c %c")
            .replace("OpCapability Float16\n", "OpCapability Float16Buffer\n");
        assert_accepted(&module);
        let mut profile = DeviceProfile::host();
        profile.module.flags.remove(ModuleFlags::FP16);
        assert_eq!(rejected_on(&module, &profile), ["env.half-arithmetic"]);
        for half in [
            "%r = OpFOrdLessThan %bool %c %c",
            "%r = OpExtInst %half %std sqrt %c",
            "%r = OpGroupFAdd %half %u3 Reduce %c",
            "%r = OpGroupBroadcast %half %u3 %c %u1",
        ] {
            let module = module.replace("%r = OpFAdd %half %c %c", half);
            assert_accepted(&module);
            assert_eq!(rejected_on(&module, &profile), ["env.half-arithmetic"], "{half}");
        }
        let converted = module.replace("%r = OpFAdd %half %c %c", "%r = OpFConvert %float %c");
        assert!(rejected_on(&converted, &profile).is_empty());
    }

    #[test]
    fn dot_products_need_the_capability_of_their_vectors() {
        let dot = |capability: &str, operands: &str| {
            kernel(
                "%uchar4 = OpTypeVector %uchar 4\n%c4 = OpConstantNull %uchar4\n%v2 = OpConstantNull %uint2",
                &format!("%r = OpSDot %uint {operands}"),
            )
            .replace(
                "OpCapability Kernel",
                &format!("OpCapability Kernel\nOpCapability DotProduct\nOpCapability {capability}"),
            )
            .replace("%std = ", "OpExtension \"SPV_KHR_integer_dot_product\"\n%std = ")
        };
        let (all, four, packed) =
            ("DotProductInputAll", "DotProductInput4x8Bit", "DotProductInput4x8BitPacked");
        assert_accepted(&dot(all, "%v2 %v2"));
        assert_accepted(&dot(all, "%c4 %c4"));
        assert_accepted(&dot(four, "%c4 %c4"));
        assert_accepted(&dot(packed, "%u1 %u1 0"));
        assert_rejected(&dot(four, "%v2 %v2"), "env.dot-product-input");
        assert_rejected(&dot(packed, "%c4 %c4"), "env.dot-product-input");
        assert_rejected(&dot(all, "%u1 %u1 0"), "env.dot-product-input");
        assert_rejected(&dot(packed, "%u1 %u1"), "types.operands");
        assert_rejected(&dot(packed, "%u1 %u1 1"), "types.operands");
        assert_rejected(&dot(all, "%c4 %v2"), "types.operands");
    }
}
