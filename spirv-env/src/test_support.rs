//! Modules to vary in tests.

#[cfg(test)]
use crate::environment::{Environment, ModuleInput};
#[cfg(test)]
use crate::module::Module;
#[cfg(test)]
use crate::{BuildError, build};
use ze_extensions::DeviceProfile;
pub use ze_tests::assembler::assemble;

/// The smallest module with a kernel.
pub const KERNEL: &str = "\
OpCapability Addresses
OpCapability Kernel
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %main \"main\"
%void = OpTypeVoid
%fn = OpTypeFunction %void
%main = OpFunction %void None %fn
%entry = OpLabel
OpReturn
OpFunctionEnd
";

/// A kernel `main` with declarations in front of it and instructions inside.
pub fn kernel(declarations: &str, body: &str) -> String {
    format!(
        "OpCapability Addresses
OpCapability Kernel
OpCapability Linkage
OpCapability Int8
OpCapability Int16
OpCapability Int64
OpCapability Int64Atomics
OpCapability Float16
OpCapability Float64
OpCapability Vector16
OpCapability Groups
OpCapability GenericPointer
%std = OpExtInstImport \"OpenCL.std\"
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %main \"main\"
OpSource OpenCL_C 200000
%file = OpString \"kernel.cl\"
%void = OpTypeVoid
%bool = OpTypeBool
%uchar = OpTypeInt 8 0
%ushort = OpTypeInt 16 0
%uint = OpTypeInt 32 0
%ulong = OpTypeInt 64 0
%half = OpTypeFloat 16
%float = OpTypeFloat 32
%double = OpTypeFloat 64
%uint2 = OpTypeVector %uint 2
%uint4 = OpTypeVector %uint 4
%float2 = OpTypeVector %float 2
%float4 = OpTypeVector %float 4
%fn = OpTypeFunction %void
%true = OpConstantTrue %bool
%u0 = OpConstant %uint 0
%u1 = OpConstant %uint 1
%u2 = OpConstant %uint 2
%u3 = OpConstant %uint 3
%u4 = OpConstant %uint 4
%u5 = OpConstant %uint 5
%ul1 = OpConstant %ulong 1
%f1 = OpConstant %float 0x3F800000
{declarations}
%main = OpFunction %void None %fn
%entry = OpLabel
{body}
OpReturn
OpFunctionEnd
"
    )
}

/// A kernel with one parameter.
pub fn with_parameter(declarations: &str, ty: &str) -> String {
    kernel(declarations, "")
        .replace("%fn = OpTypeFunction %void\n", "")
        .replace("%main = OpFunction", &format!("%fn = OpTypeFunction %void {ty}\n%main = OpFunction"))
        .replace("%entry = OpLabel", &format!("%param = OpFunctionParameter {ty}\n%entry = OpLabel"))
}

/// With a capability declared in front of `Kernel`.
pub fn declaring(capability: &str, text: &str) -> String {
    text.replacen("OpCapability Kernel", &format!("OpCapability {capability}\nOpCapability Kernel"), 1)
}

/// With the capability and the extension of untyped pointers.
pub fn untyped_pointers(text: &str) -> String {
    let extension = "OpExtension \"SPV_KHR_untyped_pointers\"\n%std = ";
    declaring("UntypedPointersKHR", &text.replacen("%std = ", extension, 1))
}

/// A kernel with a parameter `%img` of an image type.
pub fn in_image_kernel(
    capability: &str,
    image: &str,
    declarations: &str,
    body: &str,
) -> crate::catalogue::Case {
    let text = with_parameter(&format!("%image = OpTypeImage {image}\n{declarations}"), "%image")
        .replace("%param", "%img")
        .replace("%entry = OpLabel\n", &format!("%entry = OpLabel\n{body}\n"));
    declaring(capability, &text).into()
}

/// A device without optional arithmetic.
pub fn profile_without_flags() -> DeviceProfile {
    let mut profile = DeviceProfile::host();
    profile.module.flags = ze_extensions::ModuleFlags::empty();
    profile
}

/// A device whose single precision has no denormals and rounds to nearest only.
pub fn profile_without_denormals() -> DeviceProfile {
    use ze_extensions::FpFlags;
    let mut profile = DeviceProfile::host();
    profile.module.fp32 = FpFlags::INF_NAN | FpFlags::ROUND_TO_NEAREST | FpFlags::FMA;
    profile
}

pub fn profile_without_images() -> DeviceProfile {
    DeviceProfile { images: ze_extensions::Images::default(), ..DeviceProfile::host() }
}

pub fn profile_without_image_arguments() -> DeviceProfile {
    let mut profile = DeviceProfile::host();
    profile.images.max_read_args = 0;
    profile
}

#[cfg(test)]
pub fn build_on(text: &str, profile: &DeviceProfile) -> Result<Module, BuildError> {
    let bytes = assemble(text);
    build(&[ModuleInput::new(&bytes)], &Environment::new(profile))
}

#[cfg(test)]
pub fn build_text(text: &str) -> Result<Module, BuildError> {
    build_on(text, &DeviceProfile::host())
}

/// The rules that a module breaks on a device.
#[cfg(test)]
pub fn rejected_on(text: &str, profile: &DeviceProfile) -> Vec<&'static str> {
    match build_on(text, profile) {
        Ok(_) => Vec::new(),
        Err(error) => error.diagnostics.iter().map(|diagnostic| diagnostic.rule).collect(),
    }
}

#[cfg(test)]
#[track_caller]
pub fn assert_accepted(text: &str) {
    if let Err(error) = build_text(text) {
        panic!("{error}\n{text}");
    }
}

#[cfg(test)]
#[track_caller]
pub fn assert_rejected(text: &str, rule: &str) {
    match build_text(text) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(error) => assert_eq!(error.diagnostics[0].rule, rule, "{error}\n{text}"),
    }
}
