//! Rules about scalar types and the capabilities that their widths need.

use super::{DeclarationRule, Declarations, GUIDE, InstructionRule};
use crate::diagnostics::RuleId;
use crate::module::Inst;
use crate::opcodes::{self, Family, Signature};
use crate::validate::{Ctx, Scalar};
use spirv::{Capability, Op};
use ze_extensions::ModuleFlags;

const WIDTHS: &str = "SPIR-V 1.2 §3.31; L0 SPIR-V Guide, Supported Types";

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
];

pub(super) const INSTRUCTIONS: &[InstructionRule] = &[
    InstructionRule {
        id: RuleId { id: "env.half-arithmetic", source: WIDTHS },
        applies: is_float_arithmetic,
        check: half_arithmetic,
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
        _ => Ok(()),
    }
}

fn float_width(context: &Declarations<'_>, words: &[u32]) -> Result<(), String> {
    if words.len() > 2 {
        return Err("only IEEE 754 encodings are supported".into());
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

fn is_float_arithmetic(op: Op) -> bool {
    use Signature::{FloatBinary, FloatDot, FloatUnary, VectorTimesScalar};
    let arithmetic = [FloatUnary, FloatBinary, FloatDot, VectorTimesScalar];
    opcodes::row(op).is_some_and(|row| arithmetic.contains(&row.signature))
}

/// `Float16Buffer` has halves in memory and converts them; computing with them needs the device's arithmetic. The
/// LLVM translator declares `Float16Buffer` alone for modules that compute, so it is the device that decides.
fn half_arithmetic(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    let half = inst.ty.and_then(|ty| ctx.lanes(ty)).is_some_and(|(scalar, _)| scalar == Scalar::Float(16));
    if half && !ctx.env.profile.module.flags.contains(ModuleFlags::FP16) {
        return Err("arithmetic on 16-bit floating-point numbers needs ZE_DEVICE_MODULE_FLAG_FP16".into());
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
    use crate::test_support::{assert_accepted, assert_rejected, kernel, rejected_on};
    use ze_extensions::DeviceProfile;

    #[test]
    fn integers_have_no_sign() {
        assert_accepted(&kernel("%t = OpTypeInt 32 0", ""));
        assert_rejected(&kernel("%t = OpTypeInt 32 1", ""), "env.signedness");
    }

    #[test]
    fn widths_need_their_capabilities() {
        for (declaration, capability, rule) in [
            ("%t = OpTypeInt 8 0", "Int8", "env.int-width"),
            ("%t = OpTypeInt 16 0", "Int16", "env.int-width"),
            ("%t = OpTypeInt 64 0", "Int64", "env.int-width"),
            ("%t = OpTypeFloat 16", "Float16", "env.float-width"),
            ("%t = OpTypeFloat 64", "Float64", "env.float-width"),
            ("%t = OpTypeVector %uint 16", "Vector16", "env.vector-length"),
        ] {
            let with = kernel(declaration, "");
            assert_accepted(&with);
            assert_rejected(&with.replace(&format!("OpCapability {capability}\n"), ""), rule);
        }
    }

    #[test]
    fn arithmetic_on_halves_needs_fp16() {
        let module = kernel("%c = OpConstant %half 0x3C00", "%r = OpFAdd %half %c %c")
            .replace("OpCapability Float16\n", "OpCapability Float16Buffer\n");
        assert_accepted(&module);
        let mut profile = DeviceProfile::host();
        profile.module.flags.remove(ModuleFlags::FP16);
        assert_eq!(rejected_on(&module, &profile), ["env.half-arithmetic"]);
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
            .replace("OpMemoryModel", "OpExtension \"SPV_KHR_integer_dot_product\"\nOpMemoryModel")
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
