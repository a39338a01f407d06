//! Untyped pointers: what becomes of them, and what is refused.

use crate::module::{ArgKind, ConstantValue, Module, Type};
use crate::test_support::{build_text, kernel, untyped_pointers, with_parameter};
use spirv::{Op, StorageClass};

const TYPES: &str = "%priv = OpTypeUntypedPointerKHR Function
%glob = OpTypeUntypedPointerKHR CrossWorkgroup
%gen = OpTypeUntypedPointerKHR Generic
%shared = OpTypeUntypedPointerKHR Workgroup
%pf = OpTypePointer Function %uint
%pl = OpTypePointer CrossWorkgroup %uint
%arr = OpTypeArray %uint %u4
%rec = OpTypeStruct %float %arr
%ng = OpConstantNull %glob
%nl = OpConstantNull %pl
%f4 = OpConstantNull %float4
%ul4 = OpConstant %ulong 4
%ul12 = OpConstant %ulong 12
%event = OpTypeEvent
%noevent = OpConstantNull %event";

fn build(declarations: &str, body: &str) -> Result<Module, String> {
    let text = untyped_pointers(&kernel(&format!("{TYPES}\n{declarations}"), body));
    build_text(&text)
        .map_err(|error| format!("{}: {}", error.diagnostics[0].rule, error.diagnostics[0].message))
}

/// The instructions of the kernel, without its return.
fn ops(body: &str) -> Vec<Op> {
    let module = build("", body).unwrap_or_else(|error| panic!("{body}: {error}"));
    let mut ops: Vec<Op> =
        module.functions[0].blocks.iter().flat_map(|block| &block.insts).map(|inst| inst.op).collect();
    ops.pop();
    ops
}

#[test]
fn what_is_accessed_by_its_own_type_needs_no_cast() {
    let body = "%v = OpUntypedVariableKHR %priv Function %rec
%e = OpUntypedInBoundsAccessChainKHR %priv %rec %v %u1 %u3
OpStore %e %u1
%r = OpLoad %uint %e Aligned 4";
    assert_eq!(ops(body), [Op::Variable, Op::InBoundsAccessChain, Op::Store, Op::Load]);
}

#[test]
fn what_is_accessed_by_another_type_is_cast_once_from_where_it_came() {
    let body = "%v = OpUntypedVariableKHR %priv Function %uint\nOpStore %v %f1\n%w = OpUntypedVariableKHR %priv Function %uint %u2";
    let module = build("", body).unwrap();
    let insts = &module.functions[0].blocks[0].insts;
    let ops: Vec<Op> = insts.iter().map(|inst| inst.op).collect();
    assert_eq!(ops, [Op::Variable, Op::Variable, Op::Bitcast, Op::Store, Op::Return]);
    assert_eq!(insts[2].id(0), insts[0].result.unwrap());
    let Type::Pointer { pointee, .. } = *module.types.get(insts[2].ty.unwrap()) else { panic!() };
    assert_eq!(*module.types.get(pointee), Type::Float { width: 32 });
}

/// Pairs of a body that is accepted and one that is not, with the rule that says so.
#[test]
fn every_access_says_what_it_accesses() {
    for (good, bad, rule) in [
        ("%r = OpLoad %float4 %ng", "%r = OpLoad %float4 %nl", "types.operands"),
        ("OpStore %ng %f4", "OpStore %nl %f4", "types.operands"),
        (
            "%r = OpAtomicIAdd %uint %ng %u1 %u0 %u1",
            "%r = OpAtomicIAdd %float %ng %u1 %u0 %f1",
            "types.operands",
        ),
        ("OpAtomicStore %ng %u1 %u0 %u1", "OpAtomicStore %ng %u1 %u0 %f4", "types.operands"),
        (
            "%r = OpAtomicFlagTestAndSet %bool %ng %u1 %u0",
            "%r = OpAtomicFlagTestAndSet %uint %ng %u1 %u0",
            "types.operands",
        ),
        ("OpCopyMemory %ng %nl", "OpCopyMemory %ng %ng", "types.untyped-pointer"),
        ("OpCopyMemorySized %ng %ng %ul4", "OpCopyMemorySized %ng %ng %f1", "types.operands"),
        ("%r = OpPtrEqual %bool %ng %nl", "%r = OpPtrEqual %uint %ng %nl", "types.operands"),
        ("%r = OpPtrDiff %ulong %ng %ng", "%r = OpPtrDiff %float %ng %ng", "types.operands"),
        ("%r = OpPtrCastToGeneric %gen %ng", "%r = OpPtrCastToGeneric %glob %ng", "types.operands"),
        ("%r = OpPtrCastToGeneric %gen %nl", "%r = OpPtrCastToGeneric %gen %ul4", "types.untyped-pointer"),
        (
            "%r = OpUntypedPtrAccessChainKHR %glob %rec %nl %ul4 %u1 %u2",
            "%r = OpUntypedPtrAccessChainKHR %glob %rec %nl %ul4 %u2",
            "types.untyped-pointer",
        ),
        (
            "%r = OpUntypedAccessChainKHR %glob %arr %ng %u2",
            "%r = OpUntypedAccessChainKHR %pl %arr %ng %u2",
            "types.untyped-pointer",
        ),
        (
            "%r = OpUntypedAccessChainKHR %glob %arr %ng %u2",
            "%r = OpUntypedAccessChainKHR %gen %arr %ng %u2",
            "types.untyped-pointer",
        ),
        (
            "%r = OpUntypedAccessChainKHR %glob %arr %ng %u2",
            "%r = OpUntypedAccessChainKHR %glob %arr %u1 %u2",
            "types.untyped-pointer",
        ),
        (
            "%r = OpUntypedAccessChainKHR %glob %arr %ng %u2",
            "%r = OpUntypedAccessChainKHR %glob %u1 %ng %u2",
            "ids.kind",
        ),
        (
            "%v = OpUntypedVariableKHR %priv Function %uint",
            "%v = OpUntypedVariableKHR %pf Function %uint",
            "types.untyped-pointer",
        ),
        (
            "%v = OpUntypedVariableKHR %priv Function %uint",
            "%v = OpUntypedVariableKHR %glob Function %uint",
            "types.untyped-pointer",
        ),
        (
            "%v = OpUntypedVariableKHR %priv Function %uint %u1",
            "%v = OpUntypedVariableKHR %priv Function %uint %f1",
            "types.operands",
        ),
        (
            "OpUntypedPrefetchKHR %ng %ul4",
            "%v = OpUntypedVariableKHR %priv Function %uint\nOpUntypedPrefetchKHR %v %ul4",
            "types.untyped-pointer",
        ),
        (
            "%r = OpExtInst %float4 %std vloadn %ul1 %ng 4",
            "%r = OpExtInst %float4 %std vloadn %ul1 %nl 4",
            "types.operands",
        ),
        (
            "%r = OpExtInst %float %std vload_half %ul1 %ng",
            "%r = OpExtInst %float %std vload_half %ul1 %nl",
            "types.operands",
        ),
        (
            "%r = OpExtInst %float4 %std modf %f4 %ng",
            "%r = OpExtInst %float4 %std modf %f4 %nl",
            "types.operands",
        ),
        (
            "%r = OpExtInst %float4 %std frexp %f4 %ng",
            "%r = OpExtInst %float4 %std frexp %f4 %nl",
            "types.operands",
        ),
    ] {
        assert_eq!(build("", good).map(|_| ()), Ok(()), "{good}");
        let Err(error) = build("", bad) else { panic!("{bad} is accepted") };
        assert!(error.starts_with(rule), "{bad}: {error}");
    }
}

#[test]
fn asynchronous_copies_count_elements() {
    let shared = "%v = OpUntypedVariableKHR %shared Workgroup %arr";
    let copy =
        |size: &str| format!("%e = OpUntypedGroupAsyncCopyKHR %event %u2 %v %ng {size} %ul4 %ul12 %noevent");
    let module = build(shared, &copy("%ul4")).unwrap();
    let ops: Vec<Op> = module.functions[0].blocks[0].insts.iter().map(|inst| inst.op).collect();
    assert!(ops.ends_with(&[Op::UDiv, Op::GroupAsyncCopy, Op::Return]), "{ops:?}");
    assert!(build(shared, &copy("%ul12")).unwrap_err().starts_with("types.untyped-pointer"));
}

#[test]
fn variables_of_modules_keep_their_type_and_are_addresses_elsewhere() {
    let variables = "%v = OpUntypedVariableKHR %glob CrossWorkgroup %uint %u1
%table = OpTypeArray %glob %u2
%tables = OpTypePointer CrossWorkgroup %table
%chain = OpSpecConstantOp %glob UntypedPtrAccessChainKHR %uint %v %u1
%both = OpConstantComposite %table %v %chain
%t = OpVariable %tables CrossWorkgroup %both";
    let module = build(variables, "%r = OpLoad %uint %v\nOpBranch %next\n%next = OpLabel\n%p = OpPhi %glob %v %entry\n%q = OpLoad %float %p").unwrap();
    let function = &module.functions[0];
    let ops: Vec<Op> = function.blocks.iter().flat_map(|block| &block.insts).map(|inst| inst.op).collect();
    use Op::{Bitcast, Branch, Load, Phi, Return};
    assert_eq!(ops, [Bitcast, Load, Branch, Phi, Bitcast, Load, Return]);
    let table =
        module.globals.iter().find_map(|global| match module.constants.get(&global.initializer?)?.value {
            ConstantValue::Composite(ref parts) => Some(parts.clone()),
            _ => None,
        });
    for part in table.unwrap() {
        let value = &module.constants[&part].value;
        assert!(matches!(value, ConstantValue::Expression { op: Op::Bitcast, .. }), "{value:?}");
    }
}

#[test]
fn what_is_wrong_is_reported_at_its_instruction_and_blames_no_other() {
    let text = untyped_pointers(&kernel(
        TYPES,
        "%r = OpUntypedAccessChainKHR %glob %rec %ng %u5\n%s = OpLoad %uint %r\n%t = OpUntypedArrayLengthKHR %uint %rec %ng 0",
    ));
    let error = build_text(&text).unwrap_err();
    let found: Vec<_> = error
        .diagnostics
        .iter()
        .map(|one| (one.rule, one.instruction.as_ref().unwrap().opcode.clone()))
        .collect();
    let expected =
        [("module.opcode", "OpUntypedArrayLengthKHR"), ("types.untyped-pointer", "OpUntypedAccessChainKHR")];
    assert_eq!(found, expected.map(|(rule, op)| (rule, op.to_owned())));
    assert_eq!(error.diagnostics[1].function.as_deref(), Some("kernel main"));
}

#[test]
fn the_types_need_their_capability() {
    let text = kernel("%p = OpTypeUntypedPointerKHR Function", "");
    let rules: Vec<&str> = build_text(&text).unwrap_err().diagnostics.iter().map(|one| one.rule).collect();
    assert!(rules.iter().any(|rule| rule.contains("capability")), "{rules:?}");
}

#[test]
fn kernels_take_untyped_pointers_and_no_structures_behind_them() {
    let with = |class: &str, decoration: &str| {
        let text = with_parameter(&format!("%p = OpTypeUntypedPointerKHR {class}"), "%p");
        build_text(&untyped_pointers(&text.replacen("%void = ", &format!("{decoration}\n%void = "), 1)))
    };
    let module = with("CrossWorkgroup", "").unwrap();
    let argument = &module.kernels[0].args[0];
    assert_eq!(
        (argument.kind, argument.size, argument.type_name.as_str()),
        (ArgKind::GlobalPointer, 8, "void*")
    );
    assert_eq!(with("Workgroup", "").unwrap().kernels[0].args[0].kind, ArgKind::LocalPointer);
    let error = with("Function", "OpDecorate %param FuncParamAttr ByVal").unwrap_err();
    assert_eq!(error.diagnostics[0].rule, "env.kernel-arguments");
    assert!(error.to_string().contains("how large"), "{error}");
}

#[test]
fn a_variable_of_class_generic_is_global_memory_whose_address_is_generic() {
    let types = "%pg = OpTypePointer Generic %uint\n%v = OpVariable %pg Generic %u4\n\
        %table = OpTypeArray %pg %u2\n%both = OpConstantComposite %table %v %v\n\
        %tables = OpTypePointer CrossWorkgroup %table\n%t = OpVariable %tables CrossWorkgroup %both";
    let module = build_text(&kernel(types, "%r = OpLoad %uint %v\n%b = OpBitcast %ulong %v")).unwrap();
    let classes: Vec<StorageClass> = module.globals.iter().map(|global| global.class).collect();
    assert_eq!(classes, [StorageClass::CrossWorkgroup; 2]);
    let ops: Vec<Op> = module.functions[0].blocks[0].insts.iter().map(|inst| inst.op).collect();
    assert_eq!(ops, [Op::PtrCastToGeneric, Op::Load, Op::Bitcast, Op::Return]);
    assert!(build_text(&kernel(&types.replace("%u4", "%f1"), "")).is_err());
}
