//! Untyped pointers (`SPV_KHR_untyped_pointers`): what is accessed through them.

use ze_tests::assembler::assemble;
use ze_tests::{Module, Random, platform};

/// Each work-item puts its float into a private structure, reads it back as an integer by way of a pointer that one of two
/// branches chose, adds one of two constants, and copies the sum through local memory.
const TEXT: &str = "\
OpCapability Addresses
OpCapability Kernel
OpCapability Int8
OpCapability Int64
OpCapability UntypedPointersKHR
OpExtension \"SPV_KHR_untyped_pointers\"
%std = OpExtInstImport \"OpenCL.std\"
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %main \"main\" %gid %table %shared
OpDecorate %gid BuiltIn GlobalInvocationId
%void = OpTypeVoid
%bool = OpTypeBool
%uchar = OpTypeInt 8 0
%uint = OpTypeInt 32 0
%ulong = OpTypeInt 64 0
%float = OpTypeFloat 32
%float2 = OpTypeVector %float 2
%ulong3 = OpTypeVector %ulong 3
%u0 = OpConstant %uint 0
%u1 = OpConstant %uint 1
%u2 = OpConstant %uint 2
%u4 = OpConstant %uint 4
%u7 = OpConstant %uint 7
%u9 = OpConstant %uint 9
%order = OpConstant %uint 0x108
%ul4 = OpConstant %ulong 4
%pair = OpTypeStruct %uint %float
%words = OpTypeArray %uint %u2
%cells = OpTypeArray %float2 %u4
%input = OpTypeUntypedPointerKHR Input
%global = OpTypeUntypedPointerKHR CrossWorkgroup
%constant = OpTypeUntypedPointerKHR UniformConstant
%local = OpTypeUntypedPointerKHR Workgroup
%private = OpTypeUntypedPointerKHR Function
%both = OpConstantComposite %words %u7 %u9
%gid = OpUntypedVariableKHR %input Input %ulong3
%table = OpUntypedVariableKHR %constant UniformConstant %words %both
%nine = OpSpecConstantOp %constant UntypedInBoundsPtrAccessChainKHR %uchar %table %ul4
%shared = OpUntypedVariableKHR %local Workgroup %cells
%fn = OpTypeFunction %void %global %global %global
%main = OpFunction %void None %fn
%floats = OpFunctionParameter %global
%out = OpFunctionParameter %global
%count = OpFunctionParameter %global
%entry = OpLabel
%object = OpUntypedVariableKHR %private Function %pair
%ids = OpLoad %ulong3 %gid
%i = OpCompositeExtract %ulong %ids 0
%from = OpUntypedInBoundsPtrAccessChainKHR %global %float %floats %i
%value = OpLoad %float %from Aligned 4
%second = OpUntypedAccessChainKHR %private %pair %object %u1
OpStore %object %u1
OpStore %second %value
%low = OpUConvert %uint %i
%bit = OpBitwiseAnd %uint %low %u1
%odd = OpIEqual %bool %bit %u1
OpBranchConditional %odd %a %b
%a = OpLabel
OpBranch %join
%b = OpLabel
OpBranch %join
%join = OpLabel
%chosen = OpPhi %private %second %a %object %b
%place = OpPhi %constant %table %a %nine %b
%bits = OpLoad %uint %chosen
%added = OpLoad %uint %place
%sum = OpIAdd %uint %bits %added
%mask = OpBitwiseAnd %uint %low %u7
%slot = OpUntypedPtrAccessChainKHR %local %uint %shared %mask
OpStore %slot %sum
OpControlBarrier %u2 %u2 %order
%mine = OpLoad %uint %slot
%to = OpUntypedPtrAccessChainKHR %global %uint %out %i
OpCopyMemorySized %to %slot %ul4
%old = OpAtomicIAdd %uint %count %u1 %u0 %u1
OpReturn
OpFunctionEnd
";

#[test]
fn accesses_through_untyped_pointers_are_of_the_type_that_they_say() {
    let module = Module::new(&assemble(TEXT)).unwrap();
    let kernel = module.kernel("main");
    for groups in [1, 5] {
        let n = 8 * groups as usize;
        let input: Vec<f32> = Random::new(n as u64).ints(n, -1000, 1000).iter().map(|&i| i as f32).collect();
        let (out, count) = (platform().filled(0u32, n), platform().filled(0u32, 1));
        kernel.run([groups, 1, 1], [8, 1, 1], &[&platform().buffer(&input), &out, &count]);
        for (at, value) in input.iter().enumerate() {
            let want = if at % 2 == 1 { value.to_bits() + 7 } else { 1 + 9 };
            assert_eq!(out[at], want, "work-item {at} of {n}");
        }
        assert_eq!(count[0] as usize, n);
    }
}
