//! What Level Zero's SPIR-V guide and OpenCL's environment ask for beyond SPIR-V itself.

#[cfg(any(test, feature = "catalogue"))]
use super::Case;
use super::{RuleText, rule};
#[cfg(any(test, feature = "catalogue"))]
use crate::test_support::{
    KERNEL, declaring, in_image_kernel, kernel, profile_without_denormals, profile_without_flags,
    profile_without_images, with_parameter,
};

#[cfg(any(test, feature = "catalogue"))]
fn pointers_compared() -> String {
    kernel("%p = OpTypePointer Function %uint\n%n = OpConstantNull %p", "%r = OpPtrEqual %bool %n %n")
}

#[cfg(any(test, feature = "catalogue"))]
fn denormals() -> String {
    let text = KERNEL.replace("%void = ", "OpExecutionMode %main DenormPreserve 32\n%void = ");
    declaring("DenormPreserve", &text)
}

#[cfg(any(test, feature = "catalogue"))]
fn assembly(text: &str) -> String {
    let declarations = format!(
        "%target = OpAsmTargetINTEL \"spirv64\"\n%ft = OpTypeFunction %uint %uint\n\
         %asm = OpAsmINTEL %uint %ft %target \"{text}\" \"=r,0\""
    );
    declaring("AsmINTEL", &kernel(&declarations, "%r = OpAsmCallINTEL %uint %asm %u1"))
        .replace("%std = ", "OpExtension \"SPV_INTEL_inline_assembly\"\n%std = ")
}

#[cfg(any(test, feature = "catalogue"))]
fn dot_product(operands: &str) -> String {
    let text = kernel("%v2 = OpConstantNull %uint2", &format!("%r = OpSDot %uint {operands}"));
    declaring("DotProductInputAll", &declaring("DotProduct", &text))
        .replace("%std = ", "OpExtension \"SPV_KHR_integer_dot_product\"\n%std = ")
}

#[cfg(any(test, feature = "catalogue"))]
fn odd_integer(instruction: &str) -> String {
    declaring(
        "ArbitraryPrecisionIntegersALTERA",
        &kernel("%odd = OpTypeInt 33 0\n%n = OpConstantNull %odd", instruction),
    )
    .replace("%std = ", "OpExtension \"SPV_INTEL_arbitrary_precision_integers\"\n%std = ")
}

#[rustfmt::skip]
pub(super) const RULES: &[RuleText] = &[
    rule!("env.execution-model", "The execution model of every entry point is Kernel.",
        KERNEL, KERNEL.replace("OpEntryPoint Kernel", "OpEntryPoint GLCompute")),
    rule!("env.addressing-model", "The addressing model is Physical64, with Addresses declared: pointers have 64 bits.",
        KERNEL, KERNEL.replace("Physical64", "Physical32")),
    rule!("env.memory-model", "The memory model is OpenCL.",
        KERNEL, KERNEL.replace("Physical64 OpenCL", "Physical64 GLSL450")),
    rule!("env.kernel-capability", "A module declares Kernel or a capability that implies it.",
        KERNEL.replace("OpCapability Kernel", "OpCapability Vector16"), KERNEL.replace("OpCapability Kernel\n", "")),
    rule!("env.capability", "Only capabilities are declared that the driver has and the device's flags promise.",
        declaring("Float64", KERNEL), Case::from(declaring("Float64", KERNEL)).on(profile_without_flags())),
    rule!("env.extension", "Only extensions are declared that the driver has and the device does not lack.",
        KERNEL.replace("OpMemoryModel", "OpExtension \"SPV_INTEL_subgroups\"\nOpMemoryModel"),
        KERNEL.replace("OpMemoryModel", "OpExtension \"SPV_INTEL_blocking_pipes\"\nOpMemoryModel")),
    rule!("env.capability-extension", "A capability that an extension brings is declared together with that extension.",
        declaring("ExpectAssumeKHR", KERNEL).replace("OpMemoryModel", "OpExtension \"SPV_KHR_expect_assume\"\nOpMemoryModel"),
        declaring("ExpectAssumeKHR", KERNEL)),
    rule!("env.instruction-capability", "An instruction is used where one of its capabilities is declared or implied.",
        kernel("", "%r = OpGroupIAdd %uint %u3 Reduce %u1"),
        kernel("", "%r = OpGroupIAdd %uint %u3 Reduce %u1").replace("OpCapability Groups\n", "")),
    rule!("env.instruction-version", "An instruction is used in modules of the version that has it, or of a later one.",
        pointers_compared(), Case::from(pointers_compared()).patched(1, 0x0001_0300)),
    rule!("env.enumerant-capability", "A decoration or an execution mode is used where one of its capabilities is declared or implied.",
        denormals(), denormals().replace("OpCapability DenormPreserve\n", "")),
    rule!("env.enumerant-version", "A capability, decoration or execution mode is used in modules of the version that has it, or of a later one.",
        declaring("GroupNonUniform", KERNEL), Case::from(declaring("GroupNonUniform", KERNEL)).patched(1, 0x0001_0200)),
    rule!("env.float-mode", "A kernel asks for denormals and for ways to round that the device has for the precision.",
        denormals(), Case::from(denormals()).on(profile_without_denormals())),
    rule!("env.extended-instructions", "OpenCL.std is the instruction set that has effects; debug information may be imported beside it.",
        KERNEL.replace("OpMemoryModel", "%x = OpExtInstImport \"NonSemantic.Shader.DebugInfo.100\"\nOpMemoryModel"),
        KERNEL.replace("OpMemoryModel", "%x = OpExtInstImport \"GLSL.std.450\"\nOpMemoryModel")),
    rule!("env.inline-assembly", "Inline assembly has no instructions and at most one output: it pins values.",
        assembly(""), assembly("mov $0, $1")),
    rule!("env.execution-mode", "Execution modes are hints, or those that the driver keeps.",
        KERNEL.replace("%void = ", "OpExecutionMode %main ContractionOff\n%void = "),
        KERNEL.replace("%void = ", "OpExecutionMode %main FloatingPointModeALTINTEL 32\n%void = ")),
    rule!("env.builtin", "Built-in variables are those of kernels, with OpenCL's types.",
        kernel("%p = OpTypePointer Input %uint\n%v = OpVariable %p Input", "").replace("%void = ", "OpDecorate %v BuiltIn WorkDim\n%void = "),
        kernel("%p = OpTypePointer Input %float\n%v = OpVariable %p Input", "").replace("%void = ", "OpDecorate %v BuiltIn WorkDim\n%void = ")),

    rule!("env.signedness", "Integer types have signedness 0.",
        KERNEL.replace("%void = ", "%t = OpTypeInt 32 0\n%void = "), KERNEL.replace("%void = ", "%t = OpTypeInt 32 1\n%void = ")),
    rule!("env.odd-width", "Integers of other than 8, 16, 32 and 64 bits are for ordinary instructions: atomics, groups, images and OpenCL.std have none.",
        odd_integer("%r = OpIAdd %odd %n %n"), odd_integer("%r = OpExtInst %odd %std s_abs %n")),
    rule!("env.int-width", "Integers of 8, 16 and 64 bits have their capability declared, those of other widths than 32 ArbitraryPrecisionIntegersINTEL.",
        declaring("Int16", KERNEL).replace("%void = ", "%t = OpTypeInt 16 0\n%void = "),
        KERNEL.replace("%void = ", "%t = OpTypeInt 16 0\n%void = ")),
    rule!("env.float-width", "Floating-point numbers are IEEE 754's, and those of 16 and 64 bits have their capability declared.",
        declaring("Float64", KERNEL).replace("%void = ", "%t = OpTypeFloat 64\n%void = "),
        KERNEL.replace("%void = ", "%t = OpTypeFloat 64\n%void = ")),
    rule!("env.vector-length", "Vectors of 8 and 16 components have Vector16 declared.",
        kernel("%t = OpTypeVector %uint 16", ""),
        kernel("%t = OpTypeVector %uint 16", "").replace("OpCapability Vector16\n", "")),
    rule!("env.storage-class", "Storage classes are those of kernels; Generic has GenericPointer declared.",
        kernel("%p = OpTypePointer Generic %uint", ""), kernel("%p = OpTypePointer StorageBuffer %uint", "")),
    rule!("env.dot-product-input", "The operands of a dot product are vectors or packed as one of its declared capabilities says.",
        dot_product("%v2 %v2"), dot_product("%u1 %u1 0")),
    rule!("env.half-arithmetic", "A device computes with 16-bit floating-point numbers only where it has ZE_DEVICE_MODULE_FLAG_FP16.",
        kernel("%c = OpConstant %half 0x3C00", "%r = OpFAdd %half %c %c"),
        Case::from(kernel("%c = OpConstant %half 0x3C00", "%r = OpFAdd %half %c %c")
            .replace("OpCapability Float16\n", "OpCapability Float16Buffer\n")).on(profile_without_flags())),

    rule!("env.image-support", "Image and sampler types are for devices that have images.",
        declaring("ImageBasic", KERNEL).replace("%void = OpTypeVoid", "%void = OpTypeVoid\n%s = OpTypeSampler"),
        Case::from(KERNEL.replace("%void = OpTypeVoid", "%void = OpTypeVoid\n%s = OpTypeSampler")).on(profile_without_images())),
    rule!("env.image-capability", "Image types have ImageBasic declared, one-dimensional ones Sampled1D, buffers SampledBuffer, and those that are read and written ImageReadWrite.",
        in_image_kernel("ImageBasic", "%void 2D 0 0 0 0 Unknown ReadOnly", "", ""),
        in_image_kernel("ImageBasic", "%void 1D 0 0 0 0 Unknown ReadOnly", "", "")),
    rule!("env.image-sampled-type", "The sampled type of an image is void.",
        in_image_kernel("ImageBasic", "%void 2D 0 0 0 0 Unknown ReadOnly", "", ""),
        in_image_kernel("ImageBasic", "%float 2D 0 0 0 0 Unknown ReadOnly", "", "")),
    rule!("env.image-dimension", "Images have one, two or three dimensions or are buffers; depth images have two.",
        in_image_kernel("ImageBasic", "%void 2D 1 0 0 0 Unknown ReadOnly", "", ""),
        in_image_kernel("ImageBasic", "%void Cube 0 0 0 0 Unknown ReadOnly", "", "")),
    rule!("env.image-arrayed", "Only images of one and two dimensions are arrays.",
        in_image_kernel("ImageBasic", "%void 2D 0 1 0 0 Unknown ReadOnly", "", ""),
        in_image_kernel("ImageBasic", "%void 3D 0 1 0 0 Unknown ReadOnly", "", "")),
    rule!("env.image-multisampled", "Images are single-sampled.",
        in_image_kernel("ImageBasic", "%void 2D 0 0 0 0 Unknown ReadOnly", "", ""),
        in_image_kernel("ImageBasic", "%void 2D 0 0 1 0 Unknown ReadOnly", "", "")),
    rule!("env.image-sampled", "Whether an image is sampled is known at run time: Sampled is 0.",
        in_image_kernel("ImageBasic", "%void 2D 0 0 0 0 Unknown ReadOnly", "", ""),
        in_image_kernel("ImageBasic", "%void 2D 0 0 0 1 Unknown ReadOnly", "", "")),
    rule!("env.image-format", "Image types have no format.",
        in_image_kernel("ImageBasic", "%void 2D 0 0 0 0 Unknown ReadOnly", "", ""),
        in_image_kernel("ImageBasic", "%void 2D 0 0 0 0 Rgba32f ReadOnly", "", "")),
    rule!("env.image-access", "Image types have an access qualifier.",
        in_image_kernel("ImageBasic", "%void 2D 0 0 0 0 Unknown WriteOnly", "", ""),
        in_image_kernel("ImageBasic", "%void 2D 0 0 0 0 Unknown", "", "")),
    rule!("env.image-write-operands", "Images are written without image operands, other than how an integer is extended and that it is nontemporal.",
        in_image_kernel("ImageBasic", "%void 2D 0 0 0 0 Unknown WriteOnly", "%at = OpConstantNull %uint2\n%texel = OpConstantNull %float4", "OpImageWrite %img %at %texel"),
        in_image_kernel("ImageBasic", "%void 2D 0 0 0 0 Unknown WriteOnly", "%at = OpConstantNull %uint2\n%texel = OpConstantNull %float4", "OpImageWrite %img %at %texel Lod %u0")),
    rule!("env.image-read-offset", "Images are read without ConstOffset.",
        in_image_kernel("ImageBasic", "%void 2D 0 0 0 0 Unknown ReadOnly", "%at = OpConstantNull %uint2", "%r = OpImageRead %float4 %img %at"),
        in_image_kernel("ImageBasic", "%void 2D 0 0 0 0 Unknown ReadOnly", "%at = OpConstantNull %uint2", "%r = OpImageRead %float4 %img %at ConstOffset %at")),

    rule!("env.image-access-use", "Images that are read-only are not written, and those that are write-only are not read.",
        in_image_kernel("ImageBasic", "%void 2D 0 0 0 0 Unknown ReadOnly", "%at = OpConstantNull %uint2", "%r = OpImageRead %float4 %img %at"),
        in_image_kernel("ImageBasic", "%void 2D 0 0 0 0 Unknown WriteOnly", "%at = OpConstantNull %uint2", "%r = OpImageRead %float4 %img %at")),

    rule!("env.kernel-return", "Kernels return nothing.",
        KERNEL, kernel("", "").replace("%fn = OpTypeFunction %void", "%fn = OpTypeFunction %uint")
            .replace("OpFunction %void None", "OpFunction %uint None").replace("OpReturn\n", "OpReturnValue %u0\n")),
    rule!("env.kernel-arguments", "Kernels take numbers, vectors, structures, images, samplers, and pointers to CrossWorkgroup, Workgroup and UniformConstant memory; a Function pointer is a structure passed ByVal.",
        with_parameter("%p = OpTypePointer CrossWorkgroup %uint", "%p"), with_parameter("%p = OpTypePointer Generic %uint", "%p")),
    rule!("env.kernel-struct-members", "Structures that kernels take hold numbers, vectors, arrays, structures and pointers.",
        with_parameter("%p = OpTypePointer CrossWorkgroup %uint\n%s = OpTypeStruct %p", "%s"),
        with_parameter("%e = OpTypeEvent\n%s = OpTypeStruct %e", "%s")),
    rule!("env.recursion", "No function calls itself, through whichever others.",
        kernel("", ""),
        format!("{}%f = OpFunction %void None %fn\n%l = OpLabel\n%c = OpFunctionCall %void %f\nOpReturn\nOpFunctionEnd\n", kernel("", "%d = OpFunctionCall %void %f"))),

    rule!("env.atomic-type", "Atomics are on integers of 32 bits, and of 64 where Int64Atomics is declared.",
        atomic("CrossWorkgroup", "ulong", ADD), atomic("CrossWorkgroup", "ushort", ADD)),
    rule!("env.atomic-class", "Atomics are on Function, Workgroup, CrossWorkgroup and Generic memory.",
        atomic("Workgroup", "uint", ADD), atomic("UniformConstant", "uint", ADD)),
    rule!("env.float-atomic", "Floating-point atomics are those that the device has for the width and the memory, with their capability declared.",
        float_atomic("AtomicFloat32AddEXT"), float_atomic("AtomicFloat64AddEXT")),
    rule!("env.memory-scope", "The scope for memory is CrossDevice, Device, Workgroup, Subgroup or Invocation.",
        kernel("", "OpMemoryBarrier %u1 %u0"), kernel("", "OpMemoryBarrier %u5 %u0")),
    rule!("env.execution-scope", "The scope for execution is Workgroup or Subgroup, and Subgroup for non-uniform instructions; barriers may be of the Device.",
        kernel("", "OpControlBarrier %u1 %u2 %u0"), kernel("", "OpControlBarrier %u4 %u2 %u0")),
    rule!("env.async-scope", "Asynchronous copies, and waits for them, are of work-groups.",
        async_copy("%u2"), async_copy("%u3")),

    rule!("env.group-value", "Reductions and scans take scalars.",
        kernel("", "%r = OpGroupIAdd %uint %u3 Reduce %u1"),
        kernel("%v = OpConstantNull %uint2", "%r = OpGroupIAdd %uint2 %u3 Reduce %v")),
    rule!("env.cluster-size", "Reductions have a cluster size only where GroupNonUniformClustered is declared.",
        declaring("GroupNonUniformArithmetic", &declaring("GroupNonUniformClustered", &kernel("", "%r = OpGroupNonUniformIAdd %uint %u3 ClusteredReduce %u1 %u2"))),
        declaring("GroupNonUniformArithmetic", &kernel("", "%r = OpGroupNonUniformIAdd %uint %u3 ClusteredReduce %u1 %u2"))),
    rule!("env.non-uniform-value", "Non-uniform shuffles, broadcasts of the first and tests for equality take scalar numbers.",
        declaring("GroupNonUniformVote", &kernel("", "%r = OpGroupNonUniformAllEqual %bool %u3 %f1")),
        declaring("GroupNonUniformVote", &kernel("%v = OpConstantNull %float2", "%r = OpGroupNonUniformAllEqual %bool %u3 %v"))),
    rule!("env.shuffle-data", "INTEL's shuffles are of numbers.",
        declaring("SubgroupShuffleINTEL", &kernel("", "%r = OpSubgroupShuffleINTEL %uint %u1 %u0")),
        declaring("SubgroupShuffleINTEL", &kernel("", "%r = OpSubgroupShuffleINTEL %bool %true %u0"))),
    rule!("env.block-type", "Block reads and writes are of integers, one, two, four or eight, and sixteen of narrow ones.",
        block_read("%uint4", "%uint", "CrossWorkgroup"), block_read("%float4", "%float", "CrossWorkgroup")),
    rule!("env.block-pointer", "Blocks of memory are CrossWorkgroup's, or Workgroup's.",
        block_read("%uint", "%uint", "CrossWorkgroup"), block_read("%uint", "%uint", "Generic")),
    rule!("env.block-image", "Blocks of images are of two-dimensional ones that are no depth images and no arrays.",
        image_block("%void 2D 0 0 0 0 Unknown ReadOnly", "%at"), image_block("%void 2D 0 1 0 0 Unknown ReadOnly", "%at")),
    rule!("env.block-coordinate", "The coordinate of a block of an image is two 32-bit integers.",
        image_block("%void 2D 0 0 0 0 Unknown ReadOnly", "%at"), image_block("%void 2D 0 0 0 0 Unknown ReadOnly", "%far")),
    rule!("env.media-block-type",
        "Media blocks are of integers of 8, 16 or 32 bits, one, two, four or eight, and sixteen of narrow ones.",
        media_block("%uint4"), media_block("%float4")),
    rule!("link.linkonce-odr", "LinkOnceODR is used where SPV_KHR_linkonce_odr is declared.",
        linkonce().replace("%std = ", "OpExtension \"SPV_KHR_linkonce_odr\"\n%std = "), linkonce()),
];

#[cfg(any(test, feature = "catalogue"))]
const ADD: &str = "%r = OpAtomicIAdd TYPE %nil %u1 %u0 %zero";

#[cfg(any(test, feature = "catalogue"))]
fn atomic(class: &str, ty: &str, inst: &str) -> String {
    let types = format!(
        "%ptr = OpTypePointer {class} %{ty}\n%nil = OpConstantNull %ptr\n%zero = OpConstantNull %{ty}"
    );
    kernel(&types, &inst.replace("TYPE", &format!("%{ty}")))
}

#[cfg(any(test, feature = "catalogue"))]
fn float_atomic(capability: &str) -> String {
    let text = atomic("Workgroup", "float", "%r = OpAtomicFAddEXT TYPE %nil %u1 %u0 %zero");
    declaring(capability, &text)
        .replace("%std = ", "OpExtension \"SPV_EXT_shader_atomic_float_add\"\n%std = ")
}

#[cfg(any(test, feature = "catalogue"))]
fn async_copy(scope: &str) -> String {
    let types = "%local = OpTypePointer Workgroup %uint\n%global = OpTypePointer CrossWorkgroup %uint\n\
        %event = OpTypeEvent\n%to = OpConstantNull %local\n%from = OpConstantNull %global\n\
        %none = OpConstantNull %event";
    kernel(types, &format!("%r = OpGroupAsyncCopy %event {scope} %to %from %ul1 %ul1 %none"))
}

#[cfg(any(test, feature = "catalogue"))]
fn block_read(result: &str, elem: &str, class: &str) -> String {
    let types = format!("%ptr = OpTypePointer {class} {elem}\n%nil = OpConstantNull %ptr");
    let text = kernel(&types, &format!("%r = OpSubgroupBlockReadINTEL {result} %nil"));
    declaring("SubgroupBufferBlockIOINTEL", &text)
}

#[cfg(any(test, feature = "catalogue"))]
fn image_block(image: &str, at: &str) -> Case {
    let constants = "%at = OpConstantNull %uint2\n%far = OpConstantNull %uint4";
    let body = format!("%r = OpSubgroupImageBlockReadINTEL %uint %img {at}");
    in_image_kernel("ImageBasic\nOpCapability SubgroupImageBlockIOINTEL", image, constants, &body)
}

#[cfg(any(test, feature = "catalogue"))]
fn media_block(ty: &str) -> Case {
    let types = "%image = OpTypeImage %void 2D 0 0 0 0 Unknown ReadOnly\n%at = OpConstantNull %uint2";
    let body = format!("%r = OpSubgroupImageMediaBlockReadINTEL {ty} %param %at %u1 %u1");
    let text = with_parameter(types, "%image")
        .replace("%entry = OpLabel\n", &format!("%entry = OpLabel\n{body}\n"))
        .replace("%std = ", "OpExtension \"SPV_INTEL_media_block_io\"\n%std = ");
    let text = declaring("ImageBasic\nOpCapability SubgroupImageMediaBlockIOINTEL", &text);
    Case::from(text)
}

#[cfg(any(test, feature = "catalogue"))]
fn linkonce() -> String {
    let function = "%f = OpFunction %void None %fn\n%l = OpLabel\nOpReturn\nOpFunctionEnd\n";
    let text =
        kernel("", "").replace("%void = ", "OpDecorate %f LinkageAttributes \"f\" LinkOnceODR\n%void = ");
    format!("{text}{function}")
}
