//! What the modules of real producers have that a reading of the specifications would not expect, in modules of our own.
//!
//! Each of these was refused once, or stands beside what was: a new rule meets them here before it meets users.

use crate::test_support::{assemble, assert_accepted, kernel};
use crate::{Environment, ModuleInput, build};
use ze_extensions::DeviceProfile;

/// What oneMKL's kernels have, OpenCL C that LLVM's translator 14 has translated: matrix products have a sub-group size and shuffles,
/// and declare neither `SubgroupDispatch` nor `SPV_INTEL_subgroups`; `NoSignedWrap` comes with an extension instead of SPIR-V 1.4.
#[test]
fn what_onemkls_matrix_products_have_is_accepted() {
    let module = kernel(
        "%pf = OpTypePointer CrossWorkgroup %float\n%pi = OpTypePointer Input %uint",
        "%zero = OpConvertUToF %float %u0\n%shuffled = OpSubgroupShuffleINTEL %float %zero %u1\n%sum = OpIAdd %uint %u1 %u2",
    )
    .replace("OpCapability Groups\n", "OpCapability Groups\nOpCapability SubgroupShuffleINTEL\n")
    .replace("%std = ", "OpExtension \"SPV_KHR_no_integer_wrap_decoration\"\n%std = ")
    .replace("OpSource", "OpExecutionMode %main SubgroupSize 16\nOpExecutionMode %main ContractionOff\nOpSource")
    .replace("%void = ", "OpDecorate %sum NoSignedWrap\nOpDecorate %sum NoUnsignedWrap\n%void = ");
    assert_accepted(&module);
}

/// Copies into local memory with events, decorations by group, attributes of parameters, lifetimes, and packed structures.
#[test]
fn what_onemkls_other_kernels_have_is_accepted() {
    let module = kernel(
        "%event = OpTypeEvent\n%pg = OpTypePointer CrossWorkgroup %float\n%pl = OpTypePointer Workgroup %float
%pe = OpTypePointer Function %event\n%packed = OpTypeStruct %uchar %ulong\n%pp = OpTypePointer Function %packed
%pu = OpTypePointer Generic %float\n%args = OpTypeFunction %void %pg %pl %pp %uint
%no_event = OpConstantNull %event\n%group_scope = OpConstant %uint 2\n%other = OpTypeFunction %float %pu",
        "%slot = OpVariable %pe Function\nOpStore %slot %no_event",
    ) + "%copies = OpFunction %void None %args
%from = OpFunctionParameter %pg
%to = OpFunctionParameter %pl
%by_value = OpFunctionParameter %pp
%count = OpFunctionParameter %uint
%begin = OpLabel
%variable = OpVariable %pe Function
OpLifetimeStart %variable 0
%size = OpUConvert %ulong %count
%copied = OpGroupAsyncCopy %event %group_scope %to %from %size %ul1 %no_event
OpStore %variable %copied
OpGroupWaitEvents %group_scope %u1 %variable
OpLifetimeStop %variable 0
%generic = OpPtrCastToGeneric %pu %to
%local = OpGenericCastToPtrExplicit %pl %generic Workgroup
%value = OpLoad %float %local Aligned 4
OpSwitch %count %last 1 %one 2 %one 7 %last
%one = OpLabel
OpStore %local %value Aligned 4
OpBranch %last
%last = OpLabel
OpReturn
OpFunctionEnd
";
    let module = module
        .replace("OpSource", "OpEntryPoint Kernel %copies \"copies\"\nOpSource")
        .replace(
            "%void = ",
            "OpDecorate %by_value FuncParamAttr ByVal\nOpDecorate %by_value Alignment 1\nOpDecorate %packed CPacked
OpDecorate %from FuncParamAttr NoCapture\nOpDecorate %from FuncParamAttr NoWrite\nOpDecorate %to FuncParamAttr NoAlias
OpDecorate %count FuncParamAttr Sext\nOpDecorate %from MaxByteOffset 64\nOpDecorate %aligned Alignment 4
%aligned = OpDecorationGroup\nOpGroupDecorate %aligned %from %to\n%void = ",
        );
    assert_accepted(&module);
}

/// The translator writes `Uniform` and its capability for SPIR-V 1.6.
#[test]
fn what_the_translator_says_for_optimisers_is_accepted() {
    let module = kernel("", "%sum = OpIAdd %uint %u1 %u2")
        .replace("OpCapability Groups\n", "OpCapability Groups\nOpCapability UniformDecoration\n")
        .replace("%void = ", "OpDecorate %sum Uniform\n%void = ");
    let mut bytes = assemble(&module);
    bytes[4..8].copy_from_slice(&0x1_0600_u32.to_ne_bytes());
    let profile = DeviceProfile::host();
    build(&[ModuleInput::new(&bytes)], &Environment::new(&profile)).expect("it is accepted");
}
