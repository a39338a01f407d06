//! What SPIR-V itself asks of every module.

#[cfg(any(test, feature = "catalogue"))]
use super::Case;
use super::{RuleText, rule};
#[cfg(any(test, feature = "catalogue"))]
use crate::test_support::{KERNEL, declaring, kernel, untyped_pointers};

#[rustfmt::skip]
pub(super) const RULES: &[RuleText] = &[
    rule!("binary.size", "A module is a whole number of 32-bit words, and at least its header.", KERNEL, Case::from(KERNEL).shortened(1)),
    rule!("binary.magic", "A module begins with SPIR-V's number.", KERNEL, Case::from(KERNEL).patched(0, 0x4243_C0DE)),
    rule!("binary.endianness", "A module's words have the byte order of the host.", KERNEL, Case::from(KERNEL).patched(0, spirv::MAGIC_NUMBER.swap_bytes())),
    rule!("binary.version", "A module's version is one that the device takes.", KERNEL, Case::from(KERNEL).patched(1, 0x0001_0900)),
    rule!("binary.bound", "All ids are below the header's bound, which is at most 4,194,303.", KERNEL, Case::from(KERNEL).patched(3, 0)),
    rule!("binary.schema", "The header's instruction schema is 0.", KERNEL, Case::from(KERNEL).patched(4, 1)),
    rule!("binary.word-count", "An instruction ends inside the module.", KERNEL, Case::from(KERNEL).patched(5, 0x00FF_0011)),
    rule!("binary.opcode", "Every opcode is one of SPIR-V's.", KERNEL, Case::from(KERNEL).patched(5, 0x0002_7FFF)),
    rule!("binary.operands", "An instruction has the operands of its grammar, no more and no fewer.",
        kernel("", "%r = OpIAdd %uint %u1 %u1"), kernel("", "%r = OpIAdd %uint %u1 %u1 %u1")),
    rule!("binary.string", "Strings end with a zero byte and are UTF-8.", KERNEL, Case::from("%f = OpString \"abc\"").patched(7, 0x8080_8080)),

    rule!("module.layout", "A module's sections, functions and blocks are in their order, with one memory model.",
        KERNEL, KERNEL.replace("OpMemoryModel Physical64 OpenCL\n", "")),
    rule!("module.opcode", "Instructions are ones that kernels of this driver have.", kernel("", ""), kernel("", "%r = OpFwidth %float %f1")),
    rule!("module.decoration", "Decorations have their literals, and groups of them are declared.",
        decorated("OpDecorate %s CPacked"), decorated("OpDecorate %s Alignment")),

    rule!("ids.bound", "Every id is between 1 and the bound.", KERNEL, Case::from(KERNEL).patched(3, 2)),
    rule!("ids.unique", "An id is defined once.", kernel("%s = OpTypeStruct %uint", ""), kernel("%s = OpTypeStruct %uint\n%s = OpTypeStruct %float", "")),
    rule!("ids.defined", "What a declaration refers to is declared before it.", kernel("%s = OpTypeStruct %uint", ""), kernel("%s = OpTypeStruct %later", "")),
    rule!("ids.kind", "A type, a constant or a string is used where one belongs.", kernel("%s = OpTypeStruct %uint", ""), kernel("%s = OpTypeStruct %u1", "")),
    rule!("ids.operand", "Operands are values, blocks or functions that are defined.",
        kernel("", "%r = OpIAdd %uint %u1 %u1"), kernel("", "%r = OpIAdd %uint %missing %u1")),
    rule!("ids.decorated", "What is decorated is defined.", decorated("OpDecorate %s CPacked"), decorated("OpDecorate %missing CPacked")),
    rule!("ids.decorated-member", "Members that are decorated are a structure's.",
        decorated("OpMemberDecorate %s 0 Alignment 4"), decorated("OpMemberDecorate %s 9 Alignment 4")),

    rule!("types.well-formed", "Types are built from the operands that they have in this environment.",
        kernel("%t = OpTypeVector %uint 3", ""), kernel("%t = OpTypeVector %uint 5", "")),
    rule!("types.unique", "A scalar, vector, image, sampler or event type is declared once.",
        kernel("%t = OpTypeVector %uint 3", ""), kernel("%t = OpTypeVector %uint 4", "")),
    rule!("types.size", "Types nest at most 255 deep, and their size fits 64 bits.",
        kernel("%n = OpConstant %ulong 8\n%a = OpTypeArray %uint %n", ""),
        kernel("%n = OpConstant %ulong 0x8000000000000000\n%a = OpTypeArray %uint %n", "")),
    rule!("types.forward-pointer", "A pointer has the storage class of its forward declaration.",
        forward("CrossWorkgroup"), forward("Workgroup")),
    rule!("types.function-pointer", "Pointers to functions need FunctionPointersINTEL.",
        pointers("%p = OpTypePointer CodeSectionINTEL %fn", ""), kernel("%p = OpTypePointer Function %fn", "")),
    rule!("types.parameters", "A function has at most 4096 parameters.",
        kernel(&format!("%f = OpTypeFunction %void{}", " %uint".repeat(4096)), ""),
        kernel(&format!("%f = OpTypeFunction %void{}", " %uint".repeat(4097)), "")),
    rule!("types.untyped-pointer", "Accesses through untyped pointers say what they access.",
        untyped_pointers(&kernel("%p = OpTypeUntypedPointerKHR Function", "%v = OpUntypedVariableKHR %p Function %uint")),
        untyped_pointers(&kernel("%p = OpTypeUntypedPointerKHR Function", "%v = OpUntypedVariableKHR %p Function"))),
    rule!("types.masked-access", "Accesses under a mask have as many pointers, conditions and values; the mask's components say which are made.",
        masked("%r = OpMaskedGatherINTEL %uint2 %ptrs 4 %mask %fill"), masked("%r = OpMaskedGatherINTEL %uint2 %ptrs 3 %mask %fill")),
    rule!("types.bfloat16", "bfloat16 is moved and converted; dot products and arithmetic need their capabilities.",
        bfloat16("%r = OpFConvert %bf %f1"), bfloat16("%r = OpFAdd %bf %one %one")),
    rule!("types.operands", "Operands and results have the types that the instruction takes and gives.",
        kernel("", "%r = OpIAdd %uint %u1 %u1"), kernel("", "%r = OpIAdd %uint %u1 %f1")),

    rule!("constants.well-formed", "Constants have values of their types.",
        kernel("%c = OpConstantComposite %uint2 %u1 %u1", ""), kernel("%c = OpConstantComposite %uint2 %u1", "")),
    rule!("variables.well-formed", "Variables are pointers to their storage class with a constant of their type; local ones begin undefined or as zeros.",
        kernel("%p = OpTypePointer CrossWorkgroup %uint\n%v = OpVariable %p CrossWorkgroup %u1", ""),
        kernel("%p = OpTypePointer Workgroup %uint\n%v = OpVariable %p Workgroup %u1", "")),
    rule!("variables.import", "A variable that is imported has no initializer.", imported(""), imported("%u1")),

    rule!("functions.well-formed", "A function has the result and the parameters of its type.",
        KERNEL, KERNEL.replace("%main = OpFunction %void", "%main = OpFunction %fn")),
    rule!("functions.address", "What a function's address is taken of is a function of the pointer's type, and no entry point.",
        addressed("%f"), addressed("%main")),
    rule!("functions.linkage", "A function has a body or is imported.", KERNEL, KERNEL.replace("%entry = OpLabel\nOpReturn\n", "")),
    rule!("blocks.well-formed", "A block begins with a label and ends with a branch or a return.", KERNEL, KERNEL.replace("OpReturn\n", "OpReturn\nOpReturn\n")),
    rule!("flow.target", "Branches go to blocks of their function.",
        kernel("", "OpBranch %a\n%a = OpLabel"), kernel("", "OpBranch %nowhere\n%a = OpLabel")),
    rule!("flow.entry", "Nothing branches to the first block.",
        kernel("", "OpBranch %a\n%a = OpLabel"), kernel("", "OpBranchConditional %true %a %entry\n%a = OpLabel")),
    rule!("flow.phi", "Phis begin their block, and have each predecessor once.",
        kernel("", "OpBranch %a\n%a = OpLabel\n%x = OpPhi %uint %u1 %entry"), kernel("", "OpBranch %a\n%a = OpLabel\n%x = OpPhi %uint %u1 %a")),
    rule!("flow.variable", "Variables are in the first block.",
        kernel("%p = OpTypePointer Function %uint", "%v = OpVariable %p Function"),
        kernel("%p = OpTypePointer Function %uint", "OpBranch %a\n%a = OpLabel\n%v = OpVariable %p Function")),
    rule!("flow.dominance", "Definitions come before uses on every path.",
        kernel("", "%x = OpIAdd %uint %u1 %u1\n%y = OpIAdd %uint %x %x"), kernel("", "%y = OpIAdd %uint %x %x\n%x = OpIAdd %uint %u1 %u1")),

    rule!("memory.order", "Memory semantics name at most one order.",
        kernel("%sem = OpConstant %uint 0x108", "OpMemoryBarrier %u1 %sem"), kernel("%sem = OpConstant %uint 0x106", "OpMemoryBarrier %u1 %sem")),
    rule!("memory.flag-order", "A flag is not cleared with an order that acquires.", flag("%u4"), flag("%u2")),
    rule!("memory.copy-size", "A copy of a constant number of bytes copies some.", copy("%ul1"), copy("%ul0")),

    rule!("kernels.entry-point", "An entry point is a function with a body and a name of its own.",
        KERNEL, KERNEL.replace("OpEntryPoint Kernel %main", "OpEntryPoint Kernel %void")),
    rule!("kernels.execution-mode", "Execution modes have their literals.",
        KERNEL.replace("%void = ", "OpExecutionMode %main LocalSize 8 1 1\n%void = "),
        KERNEL.replace("%void = ", "OpExecutionMode %main LocalSize 0 1 1\n%void = ")),
    rule!("kernels.mode-target", "Execution modes are of entry points.",
        KERNEL.replace("%void = ", "OpExecutionMode %main LocalSize 8 1 1\n%void = "),
        KERNEL.replace("%void = ", "OpExecutionMode %fn LocalSize 8 1 1\n%void = ")),
    rule!("kernels.mode-twice", "An entry point has one work-group size, one hint of each kind and one sub-group size.",
        KERNEL.replace("%void = ", "OpExecutionMode %main LocalSize 8 1 1\n%void = "),
        KERNEL.replace("%void = ", "OpExecutionMode %main LocalSize 8 1 1\nOpExecutionMode %main LocalSize 4 1 1\n%void = ")),
    rule!("kernels.interface", "An entry point's interface lists module-scope variables.",
        KERNEL, KERNEL.replace("\"main\"", "\"main\" %void")),
    rule!("kernels.linkage", "Entry points have no linkage.",
        kernel("", ""), kernel("", "").replace("%void = ", "OpDecorate %main LinkageAttributes \"main\" Export\n%void = ")),
    rule!("kernels.called", "Entry points are not called.",
        KERNEL, format!("{KERNEL}%f = OpFunction %void None %fn\n%l = OpLabel\n%c = OpFunctionCall %void %main\nOpReturn\nOpFunctionEnd\n")),

    rule!("link.duplicate", "A name is exported once.", library("f", "%uint"), Case::from(library("f", "%uint")).with(library("f", "%uint"))),
    rule!("link.type", "What is defined under one name is of one type.", library("f", "%uint"), Case::from(library("f", "%uint")).with(library("f", "%float"))),
];

#[cfg(any(test, feature = "catalogue"))]
fn decorated(annotation: &str) -> String {
    kernel("%s = OpTypeStruct %uint", "").replace("%void = ", &format!("{annotation}\n%void = "))
}

#[cfg(any(test, feature = "catalogue"))]
fn forward(class: &str) -> String {
    let list = "%s = OpTypeStruct %p\n%p = OpTypePointer CrossWorkgroup %s";
    kernel(&format!("OpTypeForwardPointer %p {class}\n{list}"), "")
}

#[cfg(any(test, feature = "catalogue"))]
fn imported(initializer: &str) -> String {
    let variable =
        format!("%p = OpTypePointer CrossWorkgroup %uint\n%v = OpVariable %p CrossWorkgroup {initializer}");
    kernel(&variable, "").replace("%void = ", "OpDecorate %v LinkageAttributes \"v\" Import\n%void = ")
}

#[cfg(any(test, feature = "catalogue"))]
fn flag(semantics: &str) -> String {
    kernel(
        "%p = OpTypePointer CrossWorkgroup %uint\n%nil = OpConstantNull %p",
        &format!("OpAtomicFlagClear %nil %u1 {semantics}"),
    )
}

#[cfg(any(test, feature = "catalogue"))]
fn copy(size: &str) -> String {
    kernel(
        "%p = OpTypePointer CrossWorkgroup %uchar\n%nil = OpConstantNull %p\n%ul0 = OpConstantNull %ulong",
        &format!("OpCopyMemorySized %nil %nil {size}"),
    )
}

#[cfg(any(test, feature = "catalogue"))]
fn library(name: &str, ty: &str) -> String {
    format!(
        "OpCapability Addresses\nOpCapability Kernel\nOpCapability Linkage\nOpMemoryModel Physical64 OpenCL\n\
         OpDecorate %f LinkageAttributes \"{name}\" Export\n%uint = OpTypeInt 32 0\n%float = OpTypeFloat 32\n\
         %fn = OpTypeFunction {ty}\n%zero = OpConstantNull {ty}\n\
         %f = OpFunction {ty} None %fn\n%l = OpLabel\nOpReturnValue %zero\nOpFunctionEnd\n"
    )
}

#[cfg(any(test, feature = "catalogue"))]
fn pointers(declarations: &str, body: &str) -> String {
    use crate::test_support::declaring;
    declaring("FunctionPointersINTEL", &kernel(declarations, body)).replacen(
        "%std = ",
        "OpExtension \"SPV_INTEL_function_pointers\"\n%std = ",
        1,
    )
}

/// A kernel that calls a function whose address is taken.
#[cfg(any(test, feature = "catalogue"))]
fn addressed(function: &str) -> String {
    let declarations = format!(
        "%p = OpTypePointer CodeSectionINTEL %fn\n%address = OpConstantFunctionPointerINTEL %p {function}"
    );
    pointers(&declarations, "%call = OpFunctionPointerCallINTEL %void %address")
        + "%f = OpFunction %void None %fn\n%l = OpLabel\nOpReturn\nOpFunctionEnd\n"
}

#[cfg(any(test, feature = "catalogue"))]
fn masked(body: &str) -> String {
    let types = "%p = OpTypePointer CrossWorkgroup %uint\n%v = OpTypeVector %p 2\n%bool2 = OpTypeVector %bool 2\n\
        %ptrs = OpConstantNull %v\n%mask = OpConstantNull %bool2\n%fill = OpConstantNull %uint2";
    let extension = "OpExtension \"SPV_INTEL_masked_gather_scatter\"\n%std = ";
    declaring("MaskedGatherScatterINTEL", &kernel(types, body).replacen("%std = ", extension, 1))
}

#[cfg(any(test, feature = "catalogue"))]
fn bfloat16(body: &str) -> String {
    let types = "%bf = OpTypeFloat 16 0\n%one = OpConstant %bf 0x3F80";
    let extension = "OpExtension \"SPV_KHR_bfloat16\"\n%std = ";
    declaring("BFloat16TypeKHR", &kernel(types, body).replacen("%std = ", extension, 1))
}
