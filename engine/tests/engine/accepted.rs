//! What the intake accepts the engine compiles: everything that the intake decides by a number or an enumerant, over all of
//! its values. What is refused is refused when the module is built, and says which instruction it is.

use rspirv::grammar::{INSTRUCTION_TABLE, LogicalOperand, OperandKind, OperandQuantifier};
use spirv::{BuiltIn, Op};
use std::sync::Arc;
use ze_engine::jit::hash::digest;
use ze_engine::{Engine, EngineConfig};
use ze_tests::assembler::assemble;

use crate::support::built;

/// Builds a module as the driver does; compiles its kernel for work-groups of several shapes if it is accepted.
/// Whether it was.
fn accepted(engine: &Arc<Engine>, text: &str) -> bool {
    let bytes = assemble(text);
    let Ok(module) = built(&bytes) else { return false };
    let Ok(program) = engine.load(Arc::new(module), digest(&[&bytes])) else { return false };
    let kernel = program.kernel("main").expect("the kernel");
    kernel.prepare([7, 3, 1]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    true
}

fn engine() -> Arc<Engine> {
    Engine::new(EngineConfig { threads: 1, ..EngineConfig::default() })
}

/// A kernel with buffers of integers and of `float`.
fn kernel(interface: &str, declarations: &str, body: &str) -> String {
    format!(
        "OpCapability Addresses\nOpCapability Kernel\nOpCapability Linkage\nOpCapability Int64\nOpCapability Int8\n\
OpCapability Groups\nOpCapability SubgroupDispatch\nOpCapability GenericPointer\nOpCapability GroupNonUniform\n\
OpCapability GroupNonUniformVote\nOpCapability GroupNonUniformArithmetic\nOpCapability GroupNonUniformBallot\n\
OpCapability GroupNonUniformShuffle\nOpCapability GroupNonUniformShuffleRelative\n\
OpCapability GroupNonUniformClustered\nOpCapability GroupNonUniformRotateKHR\nOpCapability GroupUniformArithmeticKHR\n\
OpExtension \"SPV_KHR_subgroup_rotate\"\nOpExtension \"SPV_KHR_uniform_group_instructions\"\n\
%std = OpExtInstImport \"OpenCL.std\"\nOpMemoryModel Physical64 OpenCL\n\
OpEntryPoint Kernel %main \"main\" {interface}\n{declarations}\n\
%main = OpFunction %void None %fn\n%out = OpFunctionParameter %gu\n%outf = OpFunctionParameter %gf\n\
%n = OpFunctionParameter %uint\n%entry = OpLabel\n{body}\nOpReturn\nOpFunctionEnd\n"
    )
}

const TYPES: &str = "%void = OpTypeVoid\n%bool = OpTypeBool\n%uint = OpTypeInt 32 0\n%ulong = OpTypeInt 64 0\n%uchar = OpTypeInt 8 0\n\
%float = OpTypeFloat 32\n%gu = OpTypePointer CrossWorkgroup %uint\n%gf = OpTypePointer CrossWorkgroup %float\n\
%fn = OpTypeFunction %void %gu %gf %uint\n%true = OpConstantTrue %bool\n%u0 = OpConstant %uint 0\n%u1 = OpConstant %uint 1\n\
%u2 = OpConstant %uint 2\n%u3 = OpConstant %uint 3\n%u4 = OpConstant %uint 4\n%u5 = OpConstant %uint 5\n%u200 = OpConstant %uint 200\n\
%ul1 = OpConstant %ulong 1\n%f1 = OpConstant %float 0x3F800000\n\
%four = OpTypeVector %uint 4\n%three = OpTypeVector %ulong 3\n";

#[test]
fn built_ins() {
    let engine = engine();
    let (mut count, mut names) = (0, Vec::new());
    for builtin in (0..8192).filter_map(BuiltIn::from_u32) {
        for ty in ["uint", "ulong", "three", "four"] {
            let declarations = format!(
                "OpDecorate %v BuiltIn {builtin:?}\n{TYPES}%p = OpTypePointer Input %{ty}\n%v = OpVariable %p Input\n"
            );
            if accepted(&engine, &kernel("%v", &declarations, &format!("%r = OpLoad %{ty} %v"))) {
                count += 1;
                names.push(builtin);
            }
        }
    }
    names.dedup();
    assert!(
        names.contains(&BuiltIn::GlobalInvocationId) && names.contains(&BuiltIn::SubgroupEqMask),
        "{names:?}"
    );
    assert!(count >= names.len());
}

/// All operands that an opcode of groups may be given here: scopes, operations, values, and what follows those.
fn operands(kinds: &[LogicalOperand], value: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut ids = 0;
    for kind in kinds {
        let choices: &[&str] = match kind.kind {
            OperandKind::IdResultType | OperandKind::IdResult => continue,
            OperandKind::IdScope => &["%u2", "%u3", "%n"],
            OperandKind::GroupOperation => &["Reduce", "InclusiveScan", "ExclusiveScan", "ClusteredReduce"],
            OperandKind::IdRef if ids == 0 => &[value],
            OperandKind::IdRef => &["%u4", "%u5", "%n", ""],
            _ => return Vec::new(),
        };
        ids += usize::from(kind.kind == OperandKind::IdRef);
        let optional = kind.quantifier != OperandQuantifier::One;
        let fits = |choice: &&&str| !choice.is_empty() || optional;
        let choices: Vec<&str> = choices.iter().filter(fits).copied().collect();
        all =
            all.iter().flat_map(|one| choices.iter().map(move |choice| format!("{one} {choice}"))).collect();
    }
    all
}

#[test]
fn group_operations_over_every_scope_and_cluster() {
    let engine = engine();
    let mut found = Vec::new();
    for entry in INSTRUCTION_TABLE.iter().filter(|entry| entry.opname.starts_with("Group")) {
        let has_result = entry.operands.iter().any(|operand| operand.kind == OperandKind::IdResult);
        let (ty, value) = match entry.opname {
            name if name.contains("Logical") || name.ends_with("All") || name.ends_with("Any") => {
                ("bool", "%true")
            }
            name if ["FAdd", "FMul", "FMin", "FMax"].iter().any(|op| name.contains(op)) => ("float", "%f1"),
            _ => ("uint", "%n"),
        };
        for operands in operands(entry.operands, value).iter().filter(|_| has_result) {
            let text = kernel("", TYPES, &format!("%r = Op{} %{ty} {operands}", entry.opname));
            if accepted(&engine, &text) {
                found.push((entry.opname, operands.contains("Clustered")));
            }
        }
    }
    for expected in [("GroupIAdd", false), ("GroupNonUniformIAdd", true), ("GroupNonUniformShuffle", false)] {
        assert!(found.contains(&expected), "{expected:?} of {found:?}");
    }
}

/// What may be left of `OpSpecConstantOp` where an operand is an address.
const EXPRESSIONS: [Op; 16] = [
    Op::IAdd,
    Op::ISub,
    Op::IMul,
    Op::UDiv,
    Op::ShiftLeftLogical,
    Op::BitwiseAnd,
    Op::IEqual,
    Op::Select,
    Op::CompositeExtract,
    Op::UConvert,
    Op::ConvertPtrToU,
    Op::ConvertUToPtr,
    Op::Bitcast,
    Op::PtrCastToGeneric,
    Op::InBoundsAccessChain,
    Op::PtrAccessChain,
];

/// Operations on addresses, whose values are not known when a module is built.
#[test]
fn constants_that_are_expressions() {
    let engine = engine();
    let operands = [
        "%var",
        "%var %u1",
        "%wide",
        "%wide %u0",
        "%generic",
        "%address",
        "%address %ul1",
        "%true %var %var",
        "%ul1",
        "%either %var %var",
        "%u1 %low",
        "%pair 0",
        "%pair 1",
    ];
    let declarations = format!(
        "{TYPES}%arr = OpTypeArray %uint %u4\n%ga = OpTypePointer CrossWorkgroup %arr\n%gen = OpTypePointer Generic %uint\n\
%gena = OpTypePointer Generic %arr\n%struct = OpTypeStruct %gu %ulong\n%two = OpTypeVector %ulong 2\n%pc = OpTypePointer CrossWorkgroup %uchar\n\
%wide = OpVariable %ga CrossWorkgroup\n%var = OpVariable %gu CrossWorkgroup\n\
%generic = OpSpecConstantOp %gen PtrCastToGeneric %var\n%address = OpSpecConstantOp %ulong ConvertPtrToU %var\n\
%low = OpSpecConstantOp %uint ConvertPtrToU %var\n%either = OpSpecConstantOp %bool IEqual %address %ul1\n\
%pair = OpConstantComposite %struct %var %address\n%lanes = OpConstantComposite %two %address %ul1\n"
    );
    let mut found = Vec::new();
    for op in EXPRESSIONS {
        for ty in ["bool", "uint", "ulong", "gu", "gen", "pc"] {
            for operands in operands {
                let constant = format!(
                    "%c = OpSpecConstantOp %{ty} {op:?} {operands}\n%as = OpTypePointer CrossWorkgroup %{ty}\n\
%to = OpVariable %as CrossWorkgroup\n%init = OpVariable %as CrossWorkgroup %c"
                );
                let text = kernel("", &format!("{declarations}{constant}"), "OpStore %to %c");
                if accepted(&engine, &text) {
                    found.push((op, ty));
                }
            }
        }
    }
    for expected in [(Op::PtrAccessChain, "gu"), (Op::Bitcast, "pc"), (Op::IAdd, "ulong")] {
        assert!(found.contains(&expected), "{expected:?} of {found:?}");
    }
}
