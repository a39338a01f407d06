//! What the intake accepts the engine compiles: everything that the intake decides by a number or an enumerant, over all of
//! its values. What is refused is refused when the module is built, and says which instruction it is.

use spirv::{BuiltIn, GroupOperation, Op};
use std::sync::Arc;
use ze_engine::jit::hash::digest;
use ze_engine::{Engine, EngineConfig};
use ze_tests::assembler::assemble;

/// Builds a module as the driver does; compiles its kernel for work-groups of several shapes if it is accepted.
/// Whether it was.
fn accepted(engine: &Arc<Engine>, text: &str) -> bool {
    accepted_bytes(engine, &assemble(text), text)
}

fn accepted_bytes(engine: &Arc<Engine>, bytes: &[u8], text: &str) -> bool {
    let profile = ze_extensions::DeviceProfile::host();
    let supports = |module: &spirv_env::Module, inst: &spirv_env::Inst| Engine::supports(inst, module);
    let environment = spirv_env::Environment::new(&profile).with_engine(&supports);
    let Ok(module) = spirv_env::build(&[spirv_env::ModuleInput::new(bytes)], &environment) else {
        return false;
    };
    let Ok(program) = engine.load(Arc::new(module), digest(&[bytes])) else { return false };
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

/// Types of a value and what may follow it: the size of a cluster, a lane.
const TAILS: [(&str, &str); 9] = [
    ("uint", ""),
    ("float", ""),
    ("bool", ""),
    ("uint", "%u4"),
    ("uint", "%u5"),
    ("uint", "%n"),
    ("uint", "%u1 %u4"),
    ("uint", "%u1 %u5"),
    ("uint", "%u1 %n"),
];

#[test]
fn group_operations_over_every_scope_and_cluster() {
    let engine = engine();
    let mut operations = Vec::new();
    for op in (0..7000).filter_map(Op::from_u32) {
        let name = format!("{op:?}");
        if !name.starts_with("Group") {
            continue;
        }
        for operation in [None, Some(0), Some(1), Some(2), Some(3), Some(6), Some(7)] {
            let word = match operation.map(GroupOperation::from_u32) {
                None => String::new(),
                Some(Some(operation)) => format!("{operation:?}"),
                Some(None) => continue,
            };
            for (scope, ty, tail) in
                ["%u2", "%u3", "%n"].iter().flat_map(|scope| TAILS.map(|(ty, tail)| (scope, ty, tail)))
            {
                let value = match ty {
                    "uint" => "%n",
                    "float" => "%f1",
                    _ => "%true",
                };
                let body = format!("%r = Op{name} %{ty} {scope} {word} {value} {tail}");
                let text = kernel("", TYPES, &body);
                // Operands that the opcode does not have.
                let Ok(bytes) = std::panic::catch_unwind(|| assemble(&text)) else { continue };
                if accepted_bytes(&engine, &bytes, &text) {
                    operations.push((op, operation));
                }
            }
        }
    }
    let clustered = Some(GroupOperation::ClusteredReduce as u32);
    assert!(operations.contains(&(Op::GroupNonUniformIAdd, clustered)), "{operations:?}");
    assert!(operations.contains(&(Op::GroupNonUniformRotateKHR, None)), "{operations:?}");
}

/// Operations on addresses, whose values are not known when a module is built.
#[test]
fn constants_that_are_expressions() {
    let engine = engine();
    let operands = [
        "%var",
        "%var %u1",
        "%var %u1 %u2",
        "%wide",
        "%wide %u0",
        "%generic",
        "%address",
        "%address %ul1",
        "%ul1 %address",
        "%true %var %var",
        "%true %address %ul1",
        "%either %var %var",
        "%either %ul1 %address",
        "%u1 %low",
        "%low",
        "%pair 0",
        "%pair 1",
        "%var %pair 0",
        "%lanes 0",
        "%lanes",
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
    for op in (0..500).filter_map(Op::from_u32) {
        for ty in ["bool", "uint", "ulong", "gu", "ga", "gen", "gena", "pc", "struct", "two"] {
            for operands in operands {
                let constant = format!(
                    "%c = OpSpecConstantOp %{ty} {op:?} {operands}\n%as = OpTypePointer CrossWorkgroup %{ty}\n\
%to = OpVariable %as CrossWorkgroup\n%init = OpVariable %as CrossWorkgroup %c"
                );
                let text = kernel("", &format!("{declarations}{constant}"), "OpStore %to %c");
                let Ok(bytes) = std::panic::catch_unwind(|| assemble(&text)) else { continue };
                if accepted_bytes(&engine, &bytes, &text) {
                    found.push((op, ty));
                }
            }
        }
    }
    for expected in [(Op::PtrAccessChain, "gu"), (Op::Bitcast, "pc"), (Op::IAdd, "ulong"), (Op::Select, "gu")]
    {
        assert!(found.contains(&expected), "{expected:?} of {found:?}");
    }
}
