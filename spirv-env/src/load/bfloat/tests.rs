//! bfloat16: what becomes of it, and what is refused.

use crate::module::{Module, Type};
use crate::test_support::{build_text, declaring, kernel};
use spirv::Op;

const TYPES: &str = "%bf = OpTypeFloat 16 0
%bf4 = OpTypeVector %bf 4
%p = OpTypePointer Function %bf
%ushort4 = OpTypeVector %ushort 4
%one = OpConstant %bf 0x3F80
%four = OpConstantComposite %bf4 %one %one %one %one
%s1 = OpConstant %ushort 1
%s4 = OpConstantComposite %ushort4 %s1 %s1 %s1 %s1";

fn text(capabilities: &[&str], body: &str) -> String {
    let mut text = kernel(TYPES, body).replacen(
        "%std = ",
        "OpExtension \"SPV_KHR_bfloat16\"\nOpExtension \"SPV_KHR_cooperative_matrix\"\n%std = ",
        1,
    );
    for capability in ["BFloat16TypeKHR"].iter().chain(capabilities) {
        text = match *capability {
            // Only the compiler's header has it.
            "arithmetic" => {
                text.replacen("%std = ", "OpExtension \"SPV_INTEL_bfloat16_arithmetic\"\n%std = ", 1)
            }
            name => declaring(name, &text),
        };
    }
    text
}

fn build(capabilities: &[&str], body: &str) -> Result<Module, String> {
    build_text(&text(capabilities, body))
        .map_err(|error| format!("{}: {}", error.diagnostics[0].rule, error.diagnostics[0].message))
}

/// The instructions of the kernel, without its return.
fn ops(capabilities: &[&str], body: &str) -> Vec<Op> {
    let module = build(capabilities, body).unwrap_or_else(|error| panic!("{body}: {error}"));
    let mut ops: Vec<Op> = module.functions[0].blocks[0].insts.iter().map(|inst| inst.op).collect();
    ops.pop();
    ops
}

#[test]
fn conversions_go_through_single_precision() {
    use Op::{ConvertBF16ToFINTEL as Widen, ConvertFToBF16INTEL as Narrow};
    assert_eq!(ops(&[], "%r = OpFConvert %float %one"), [Widen, Op::FConvert]);
    assert_eq!(ops(&[], "%r = OpFConvert %double %one"), [Widen, Op::FConvert]);
    assert_eq!(ops(&[], "%r = OpFConvert %bf %f1"), [Op::FConvert, Narrow]);
    assert_eq!(ops(&[], "%r = OpConvertSToF %bf %u1"), [Op::ConvertSToF, Narrow]);
    assert_eq!(ops(&[], "%r = OpConvertFToU %uint %one"), [Widen, Op::ConvertFToU]);
}

#[test]
fn values_are_moved_as_they_are() {
    let body = "%v = OpVariable %p Function %one\n%x = OpLoad %bf %v\nOpStore %v %x\n%y = OpSelect %bf %true %x %one\n\
                %z = OpCompositeInsert %bf4 %y %four 1\n%w = OpCompositeExtract %bf %z 2\n%b = OpBitcast %ushort %w";
    let expected = [
        Op::Variable,
        Op::Load,
        Op::Store,
        Op::Select,
        Op::CompositeInsert,
        Op::CompositeExtract,
        Op::Bitcast,
    ];
    assert_eq!(ops(&[], body), expected);
    let module = build(&[], body).unwrap();
    let loaded = module.functions[0].blocks[0].insts[1].ty.unwrap();
    assert!(module.types.is_bfloat(loaded));
    assert_eq!(*module.types.get(loaded), Type::Int { width: 16 });
}

#[test]
fn arithmetic_is_in_single_precision_and_rounded_again() {
    use Op::{ConvertBF16ToFINTEL as Widen, ConvertFToBF16INTEL as Narrow};
    let ops = |body: &str| ops(&["arithmetic"], body);
    assert_eq!(ops("%r = OpFAdd %bf %one %one"), [Widen, Widen, Op::FAdd, Narrow]);
    assert_eq!(ops("%r = OpFMul %bf4 %four %four"), [Widen, Widen, Op::FMul, Narrow]);
    assert_eq!(ops("%r = OpFOrdLessThan %bool %one %one"), [Widen, Widen, Op::FOrdLessThan]);
    assert_eq!(ops("%r = OpIsNan %bool %one"), [Widen, Op::IsNan]);
    assert_eq!(ops("%r = OpExtInst %bf %std fma %one %one %one"), [Widen, Widen, Widen, Op::ExtInst, Narrow]);
    assert_eq!(ops("%r = OpExtInst %bf %std nan %s1"), [Op::BitwiseOr, Op::Bitcast]);
    assert_eq!(ops("%r = OpExtInst %bf4 %std nan %s4"), [Op::BitwiseOr, Op::Bitcast]);
}

/// What is refused, and by which words of the message.
#[test]
fn what_bfloat16_does_not_have_is_refused() {
    for (capabilities, body, rule, says) in [
        (vec![], "%r = OpFAdd %bf %one %one", "types.bfloat16", "BFloat16ArithmeticINTEL"),
        (vec![], "%r = OpDot %bf %four %four", "types.bfloat16", "BFloat16DotProductKHR"),
        (vec![], "%r = OpIAdd %bf %one %one", "types.bfloat16", "takes no bfloat16"),
        (vec![], "%r = OpConvertFToBF16INTEL %bf %f1", "types.bfloat16", "takes no bfloat16"),
        (vec!["arithmetic"], "%r = OpFAdd %bf %one %f1", "types.bfloat16", "of bfloat16 and f32"),
        (vec!["arithmetic"], "%r = OpIEqual %bool %one %one", "types.bfloat16", "takes no bfloat16"),
        (vec!["arithmetic"], "%r = OpExtInst %bf %std nextafter %one %one", "types.bfloat16", ""),
        (vec!["arithmetic"], "%r = OpExtInst %bf %std nan %u1", "types.bfloat16", "16 bits"),
        (vec!["arithmetic"], "%r = OpGroupFAdd %bf %u3 Reduce %one", "types.bfloat16", "takes no bfloat16"),
    ] {
        let message = build(&capabilities, body).err().unwrap_or_default();
        assert!(message.starts_with(rule) && message.contains(says), "{body}: {message}");
    }
    let other = text(&[], "").replace("%bf = OpTypeFloat 16 0", "%bf = OpTypeFloat 32 0");
    assert!(build_text(&other).is_err());
    let undeclared = text(&[], "").replace("OpCapability BFloat16TypeKHR\n", "");
    assert_eq!(build_text(&undeclared).unwrap_err().diagnostics[0].rule, "env.float-width");
    let rounded = text(&[], "%r = OpFConvert %bf %f1").replacen(
        "%void = ",
        "OpDecorate %r FPRoundingMode 1\n%void = ",
        1,
    );
    assert_eq!(build_text(&rounded).unwrap_err().diagnostics[0].rule, "types.bfloat16");
}

#[test]
fn products_of_matrices_say_what_their_components_are() {
    let types = "%n8 = OpConstant %uint 8\n%n16 = OpConstant %uint 16\n\
        %a = OpTypeCooperativeMatrixKHR %bf %u3 %n8 %n16 %u0\n%b = OpTypeCooperativeMatrixKHR %bf %u3 %n16 %n16 %u1\n\
        %c = OpTypeCooperativeMatrixKHR %float %u3 %n8 %n16 %u2\n%d = OpTypeCooperativeMatrixKHR %bf %u3 %n8 %n16 %u2\n\
        %na = OpConstantNull %a\n%nb = OpConstantNull %b\n%nc = OpConstantNull %c\n%nd = OpConstantNull %d\n%main = OpFunction";
    let module = |body: &str| {
        text(&["SubgroupDispatch", "BFloat16CooperativeMatrixKHR"], body).replacen(
            "%main = OpFunction",
            types,
            1,
        )
    };
    let flags = |body: &str| {
        let module = build_text(&module(body)).unwrap_or_else(|error| panic!("{error}"));
        module.functions[0].blocks[0].insts[0].matrix_flags().bits()
    };
    assert_eq!(flags("%r = OpCooperativeMatrixMulAddKHR %c %na %nb %nc"), 0x40);
    assert_eq!(flags("%r = OpCooperativeMatrixMulAddKHR %d %na %nb %nd"), 0x1C0);
    let ops = |body: &str| -> Vec<Op> {
        let module = build_text(&module(body)).unwrap_or_else(|error| panic!("{error}"));
        module.functions[0].blocks[0].insts.iter().map(|inst| inst.op).collect()
    };
    assert_eq!(ops("%r = OpFConvert %c %nd"), [Op::ConvertBF16ToFINTEL, Op::FConvert, Op::Return]);
    let undeclared = module("")
        .replace("OpCapability BFloat16CooperativeMatrixKHR\n", "OpCapability CooperativeMatrixKHR\n");
    assert_eq!(build_text(&undeclared).unwrap_err().diagnostics[0].rule, "types.matrix");
}
