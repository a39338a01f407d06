//! What this driver and its devices have limits for.

#[cfg(any(test, feature = "catalogue"))]
use super::Case;
use super::{RuleText, rule};
#[cfg(any(test, feature = "catalogue"))]
use crate::test_support::{
    KERNEL, declaring, in_image_kernel, kernel, profile_without_image_arguments, with_parameter,
};
#[cfg(any(test, feature = "catalogue"))]
use ze_extensions::limits::CALL_DEPTH;

#[rustfmt::skip]
pub(super) const RULES: &[RuleText] = &[
    rule!("constants.specialization", "A value for a specialization constant has the constant's size.",
        Case::from(specialized()).specialized(7, &[1, 0, 0, 0]), Case::from(specialized()).specialized(7, &[1])),
    rule!("limits.arguments", "The arguments of a kernel fit the device's maxArgumentsSize.", array_argument(64), array_argument(1025)),
    rule!("limits.image-arguments", "A kernel takes no more images to read, images to write and samplers than the device's maxReadImageArgs, maxWriteImageArgs and maxSamplers.",
        in_image_kernel("ImageBasic", "%void 2D 0 0 0 0 Unknown ReadOnly", "", ""),
        in_image_kernel("ImageBasic", "%void 2D 0 0 0 0 Unknown ReadOnly", "", "").on(profile_without_image_arguments())),
    rule!("limits.group-size", "A required work-group size fits the device.",
        KERNEL.replace("%void = ", "OpExecutionMode %main LocalSize 32 1 1\n%void = "),
        KERNEL.replace("%void = ", "OpExecutionMode %main LocalSize 4096 4096 1\n%void = ")),
    rule!("limits.sub-group-size", "A required sub-group size is one that the device has.",
        declaring("SubgroupDispatch", &KERNEL.replace("%void = ", "OpExecutionMode %main SubgroupSize 16\n%void = ")),
        declaring("SubgroupDispatch", &KERNEL.replace("%void = ", "OpExecutionMode %main SubgroupSize 7\n%void = "))),
    rule!("limits.private-memory", "The variables of a work-item have at most 1 MiB.", variable("Function", 64), variable("Function", 262_145)),
    rule!("limits.global-memory", "The variables of a module outside of local memory have at most 1 GiB.",
        variable("CrossWorkgroup", 64), variable("CrossWorkgroup", 268_435_457)),
    rule!("limits.variable-length", "The length of an array of variable length is constant once the module is specialized, and memory is restored before the next one.",
        variable_array("%u3"), variable_array("%n")),
    rule!("types.matrix", "A matrix type is of numbers, of a sub-group, of 1 to 256 rows and columns, and A, B or an accumulator.",
        matrices("", "%n16", ""), matrices("", "%n257", "")),
    rule!("kernels.matrices", "Kernels that load, store or multiply matrices have sub-groups of the size that holds the module's matrices.",
        matrices("OpExecutionMode %main SubgroupSize 8\n", "%n16", "%r = OpCooperativeMatrixLoadKHR %m %ng %u0 %n16"),
        matrices("OpExecutionMode %main SubgroupSize 8\nOpExecutionMode %more SubgroupSize 16\n", "%n16",
            "%r = OpCooperativeMatrixLoadKHR %m %ng %u0 %n16")),
    rule!("limits.fma-rounding", "OpFmaKHR of doubles rounds to nearest.", fused("RoundingModeRTE"), fused("RoundingModeRTZ")),
    rule!("limits.call-depth", "Calls nest at most 16384 deep.", calls(8), calls(CALL_DEPTH)),
];

#[cfg(any(test, feature = "catalogue"))]
fn specialized() -> String {
    kernel("%c = OpSpecConstant %uint 1", "").replace("%void = ", "OpDecorate %c SpecId 7\n%void = ")
}

#[cfg(any(test, feature = "catalogue"))]
fn array_argument(length: u32) -> String {
    with_parameter(
        &format!("%n = OpConstant %uint {length}\n%a = OpTypeArray %uint %n\n%s = OpTypeStruct %a"),
        "%s",
    )
}

#[cfg(any(test, feature = "catalogue"))]
fn variable(class: &str, length: u32) -> String {
    let types =
        format!("%n = OpConstant %uint {length}\n%a = OpTypeArray %uint %n\n%p = OpTypePointer {class} %a");
    if class == "Function" {
        kernel(&types, "%v = OpVariable %p Function")
    } else {
        kernel(&format!("{types}\n%v = OpVariable %p {class}"), "")
    }
}

#[cfg(any(test, feature = "catalogue"))]
fn variable_array(length: &str) -> String {
    let types = "%pf = OpTypePointer Function %uint\n%p = OpTypePointer CrossWorkgroup %uint\n%v = OpVariable %p CrossWorkgroup";
    let body = format!(
        "%n = OpLoad %uint %v\n%s = OpSaveMemoryINTEL %pf\n%a = OpVariableLengthArrayINTEL %pf {length}"
    );
    declaring("VariableLengthArrayINTEL", &kernel(types, &body))
        .replace("%std = ", "OpExtension \"SPV_INTEL_variable_length_array\"\n%std = ")
}

/// A module with a matrix type of so many columns, and a second kernel.
#[cfg(any(test, feature = "catalogue"))]
fn matrices(modes: &str, columns: &str, body: &str) -> String {
    let types = format!(
        "%n8 = OpConstant %uint 8\n%n16 = OpConstant %uint 16\n%n257 = OpConstant %uint 257\n\
         %m = OpTypeCooperativeMatrixKHR %float %u3 %n8 {columns} %u2\n%pg = OpTypePointer CrossWorkgroup %float\n\
         %ng = OpConstantNull %pg\n%more = OpFunction %void None %fn\n%l = OpLabel\nOpReturn\nOpFunctionEnd"
    );
    declaring("SubgroupDispatch", &declaring("CooperativeMatrixKHR", &kernel(&types, body)))
        .replace("%std = ", "OpExtension \"SPV_KHR_cooperative_matrix\"\n%std = ")
        .replace("OpSource", &format!("OpEntryPoint Kernel %more \"more\"\n{modes}OpSource"))
}

/// A fused operation on doubles in a kernel with a mode for their rounding.
#[cfg(any(test, feature = "catalogue"))]
fn fused(mode: &str) -> String {
    let text = kernel("%d = OpConstant %double 1", "%r = OpFmaKHR %double %d %d %d");
    declaring(&format!("{mode}\nOpCapability FMAKHR"), &text)
        .replace("%std = ", "OpExtension \"SPV_KHR_float_controls\"\nOpExtension \"SPV_KHR_fma\"\n%std = ")
        .replace("OpSource", &format!("OpExecutionMode %main {mode} 64\nOpSource"))
}

#[cfg(any(test, feature = "catalogue"))]
fn calls(length: usize) -> String {
    use std::fmt::Write;
    let mut text = kernel("", "%c = OpFunctionCall %void %g0");
    for at in 0..length {
        let _ = write!(text, "%g{at} = OpFunction %void None %fn\n%l{at} = OpLabel\n");
        if at + 1 < length {
            let _ = writeln!(text, "%c{at} = OpFunctionCall %void %g{}", at + 1);
        }
        text.push_str("OpReturn\nOpFunctionEnd\n");
    }
    text
}
