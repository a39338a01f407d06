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
