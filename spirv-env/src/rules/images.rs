//! Rules about image types and image instructions.

use super::{DeclarationRule, Declarations, GUIDE, InstructionRule};
use crate::diagnostics::RuleId;
use crate::module::{Inst, Type};
use crate::validate::{Ctx, Scalar};
use spirv::{AccessQualifier, Capability, Dim, ImageFormat, ImageOperands, Op};

const INTEL: &str = "L0 SPIR-V Guide, Intel Subgroups";
const TYPES: &str = "L0 SPIR-V Guide, Image-Related Data Types";

/// Words of `OpTypeImage`.
const SAMPLED_TYPE: usize = 1;
const DIM: usize = 2;
const DEPTH: usize = 3;
const ARRAYED: usize = 4;
const MULTISAMPLED: usize = 5;
const SAMPLED: usize = 6;
const FORMAT: usize = 7;
const ACCESS: usize = 8;

const fn about_types(id: &'static str, source: &'static str, check: Check) -> DeclarationRule {
    DeclarationRule { id: RuleId { id, source }, ops: &[Op::TypeImage], check }
}

type Check = fn(&Declarations<'_>, &[u32]) -> Result<(), String>;

pub(super) const DECLARATIONS: &[DeclarationRule] = &[
    DeclarationRule {
        id: RuleId { id: "env.image-support", source: "L0 SPIR-V Guide, Required Capabilities" },
        ops: &[Op::TypeImage, Op::TypeSampler, Op::TypeSampledImage],
        check: supported,
    },
    about_types("env.image-sampled-type", GUIDE, sampled_type),
    about_types("env.image-dimension", TYPES, dimension),
    about_types("env.image-arrayed", GUIDE, arrayed),
    about_types("env.image-multisampled", GUIDE, multisampled),
    about_types("env.image-sampled", GUIDE, sampled),
    about_types("env.image-format", GUIDE, format),
    about_types("env.image-access", GUIDE, access),
    about_types("env.image-capability", "SPIR-V 1.2 §3.31", capabilities),
];

pub(super) const INSTRUCTIONS: &[InstructionRule] = &[
    InstructionRule {
        id: RuleId { id: "env.image-write-operands", source: GUIDE },
        applies: |op| op == Op::ImageWrite,
        check: write_operands,
    },
    InstructionRule {
        id: RuleId { id: "env.image-read-offset", source: GUIDE },
        applies: |op| matches!(op, Op::ImageRead | Op::ImageSampleExplicitLod),
        check: read_offset,
    },
    InstructionRule {
        id: RuleId { id: "env.image-access-use", source: "SPIR-V 1.2 §3.18" },
        applies: |op| {
            matches!(op, Op::ImageRead | Op::ImageFetch | Op::ImageSampleExplicitLod | Op::ImageWrite)
        },
        check: access_use,
    },
    InstructionRule {
        id: RuleId { id: "env.media-block-type", source: "SPV_INTEL_media_block_io" },
        applies: |op| {
            matches!(op, Op::SubgroupImageMediaBlockReadINTEL | Op::SubgroupImageMediaBlockWriteINTEL)
        },
        check: media_block_type,
    },
    InstructionRule {
        id: RuleId { id: "env.block-image", source: INTEL },
        applies: is_image_block,
        check: block_image,
    },
    InstructionRule {
        id: RuleId { id: "env.block-coordinate", source: INTEL },
        applies: is_image_block,
        check: block_coordinate,
    },
];

fn is_image_block(op: Op) -> bool {
    matches!(
        op,
        Op::SubgroupImageBlockReadINTEL
            | Op::SubgroupImageBlockWriteINTEL
            | Op::SubgroupImageMediaBlockReadINTEL
            | Op::SubgroupImageMediaBlockWriteINTEL
    )
}

fn supported(context: &Declarations<'_>, _: &[u32]) -> Result<(), String> {
    if context.env.profile.images.supported() { Ok(()) } else { Err("the device has no images".into()) }
}

fn word(words: &[u32], at: usize) -> u32 {
    words.get(at).copied().unwrap_or(0)
}

fn sampled_type(context: &Declarations<'_>, words: &[u32]) -> Result<(), String> {
    let ty = context.defs.id(word(words, SAMPLED_TYPE)).and_then(|id| context.defs.ty(id));
    match ty.map_err(|fault| fault.message)? {
        ty if *context.module.types.get(ty) == Type::Void => Ok(()),
        _ => Err("the sampled type is not void".into()),
    }
}

fn dimension(_: &Declarations<'_>, words: &[u32]) -> Result<(), String> {
    let (dim, depth) = (Dim::from_u32(word(words, DIM)), word(words, DEPTH));
    match (dim, depth) {
        (Some(Dim::Dim2D), 0 | 1) | (Some(Dim::Dim1D | Dim::Dim3D | Dim::DimBuffer), 0) => Ok(()),
        (Some(dim), depth) => Err(format!("an image of dimension {dim:?} and depth {depth}")),
        (None, _) => Err("an image of an unknown dimension".into()),
    }
}

fn arrayed(_: &Declarations<'_>, words: &[u32]) -> Result<(), String> {
    match (Dim::from_u32(word(words, DIM)), word(words, ARRAYED)) {
        (_, 0) | (Some(Dim::Dim1D | Dim::Dim2D), 1) => Ok(()),
        (_, arrayed) => Err(format!("arrayed is {arrayed}; only 1D and 2D images may be arrays")),
    }
}

fn zero(words: &[u32], at: usize, name: &str) -> Result<(), String> {
    match word(words, at) {
        0 => Ok(()),
        value => Err(format!("{name} is {value}, it must be 0")),
    }
}

fn multisampled(_: &Declarations<'_>, words: &[u32]) -> Result<(), String> {
    zero(words, MULTISAMPLED, "MS")
}

fn sampled(_: &Declarations<'_>, words: &[u32]) -> Result<(), String> {
    zero(words, SAMPLED, "Sampled")
}

fn format(_: &Declarations<'_>, words: &[u32]) -> Result<(), String> {
    if word(words, FORMAT) == ImageFormat::Unknown as u32 {
        Ok(())
    } else {
        Err("the image has a format".into())
    }
}

fn access(_: &Declarations<'_>, words: &[u32]) -> Result<(), String> {
    if words.len() > ACCESS { Ok(()) } else { Err("the image type has no access qualifier".into()) }
}

/// The LLVM translator declares `Sampled1D` and `SampledBuffer` for all one-dimensional images and buffers; `Image1D`
/// and `ImageBuffer` imply them.
fn capabilities(context: &Declarations<'_>, words: &[u32]) -> Result<(), String> {
    let needed = [
        Some(Capability::ImageBasic),
        match Dim::from_u32(word(words, DIM)) {
            Some(Dim::Dim1D) => Some(Capability::Sampled1D),
            Some(Dim::DimBuffer) => Some(Capability::SampledBuffer),
            _ => None,
        },
        (words.get(ACCESS) == Some(&(AccessQualifier::ReadWrite as u32)))
            .then_some(Capability::ImageReadWrite),
    ];
    match needed.into_iter().flatten().find(|needed| !context.module.capabilities.contains(needed)) {
        Some(missing) => Err(format!("the image type needs capability {missing:?}")),
        None => Ok(()),
    }
}

fn block_image(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    match ctx.get(ctx.ty(inst, 0)?) {
        Type::Image(image) if image.dim == Dim::Dim2D && !image.depth && !image.arrayed => Ok(()),
        _ => Err("a block of an image that is not two-dimensional, or is a depth image or an array".into()),
    }
}

/// OpenCL's `cl_intel_media_block_io` has these.
fn media_block_type(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    let found = match inst.op {
        Op::SubgroupImageMediaBlockReadINTEL => ctx.result_lanes(inst)?,
        _ => ctx.operand_lanes(inst, 4)?,
    };
    match found {
        (Scalar::Int(8 | 16 | 32), 1 | 2 | 4 | 8) | (Scalar::Int(8 | 16), 16) => Ok(()),
        (scalar, lanes) => Err(format!("a media block of {lanes} x {scalar:?}")),
    }
}

fn block_coordinate(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    match ctx.operand_lanes(inst, 1)? {
        (Scalar::Int(32), 2) => Ok(()),
        (scalar, lanes) => {
            Err(format!("a coordinate of {lanes} x {scalar:?} instead of two 32-bit integers"))
        }
    }
}

/// Producers of SPIR-V 1.4 say with `SignExtend` and `ZeroExtend` what the type of an integer texel does not, and those of 1.6
/// with `Nontemporal` that nobody will read the texel soon.
fn write_operands(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    const MASK: usize = 3;
    if inst.operands.len() <= MASK {
        return Ok(());
    }
    let mask = ImageOperands::from_bits_retain(ctx.lit(inst, MASK)? as u32);
    if (ImageOperands::SIGN_EXTEND | ImageOperands::ZERO_EXTEND | ImageOperands::NONTEMPORAL).contains(mask) {
        Ok(())
    } else {
        Err("an image is written with image operands".into())
    }
}

fn access_use(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    let (Type::Image(image) | Type::SampledImage(image)) = ctx.get(ctx.ty(inst, 0)?) else {
        return Ok(());
    };
    match (inst.op, image.access) {
        (Op::ImageWrite, AccessQualifier::ReadOnly) => Err("a read-only image is written".into()),
        (Op::ImageWrite, _) | (_, AccessQualifier::ReadOnly | AccessQualifier::ReadWrite) => Ok(()),
        (_, AccessQualifier::WriteOnly) => Err("a write-only image is read".into()),
    }
}

fn read_offset(ctx: &Ctx<'_>, inst: &Inst) -> Result<(), String> {
    const MASK: usize = 2;
    if inst.operands.len() <= MASK {
        return Ok(());
    }
    let mask = ImageOperands::from_bits_truncate(ctx.lit(inst, MASK)? as u32);
    if mask.contains(ImageOperands::CONST_OFFSET) {
        Err("an image is read with ConstOffset".into())
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::test_support::{kernel, profile_without_images, rejected_on};
    use ze_extensions::DeviceProfile;

    /// Sampled type, dimension, depth, arrayed, multisampled, sampled, format, access.
    const FIELDS: [&str; 8] = ["%void", "2D", "0", "0", "0", "0", "Unknown", "ReadOnly"];

    fn with(at: usize, value: &str) -> String {
        let mut fields = FIELDS;
        fields[at] = value;
        kernel(&format!("%image = OpTypeImage {}", fields.join(" ")), "")
            .replace("OpCapability Kernel", "OpCapability Kernel\nOpCapability ImageBasic")
    }

    fn rules(module: &str) -> Vec<&'static str> {
        rejected_on(module, &DeviceProfile::host())
    }

    #[test]
    fn image_types_are_those_of_the_guide() {
        assert!(rules(&with(0, "%void")).is_empty());
        assert!(rules(&with(2, "1")).is_empty(), "2D depth images exist");
        for (at, value, rule) in [
            (0, "%float", "env.image-sampled-type"),
            (1, "Cube", "env.image-dimension"),
            (4, "1", "env.image-multisampled"),
            (5, "1", "env.image-sampled"),
            (6, "Rgba32f", "env.image-format"),
            (7, "", "env.image-access"),
        ] {
            assert_eq!(rules(&with(at, value)), [rule], "{value}");
        }
        assert_eq!(rules(&with(3, "1").replace(" 2D ", " 3D ")), ["env.image-arrayed"]);
        let depth = with(2, "1").replace("ImageBasic", "ImageBasic\nOpCapability Sampled1D");
        assert_eq!(rules(&depth.replace(" 2D ", " 1D ")), ["env.image-dimension"]);
    }

    #[test]
    fn images_need_a_device_that_has_them() {
        let module = with(0, "%void");
        assert!(rules(&module).is_empty());
        assert_eq!(rejected_on(&module, &profile_without_images()), ["env.capability", "env.image-support"]);
    }

    fn body(access: &str, types: &str, body: &str) -> String {
        let types = format!("%image = OpTypeImage %void 2D 0 0 0 0 Unknown {access}\n{types}");
        kernel(&types, body)
            .replace("OpCapability Kernel", "OpCapability Kernel\nOpCapability ImageBasic")
            .replace("%fn = OpTypeFunction %void", "")
            .replace("%main = OpFunction", "%fn = OpTypeFunction %void %image\n%main = OpFunction")
            .replace("%entry = OpLabel", "%img = OpFunctionParameter %image\n%entry = OpLabel")
    }

    #[test]
    fn image_types_need_their_capabilities() {
        for (at, value, capability) in [
            (1, "2D", "ImageBasic"),
            (1, "1D", "Sampled1D"),
            (1, "1D", "Image1D"),
            (1, "Buffer", "SampledBuffer"),
            (1, "Buffer", "ImageBuffer"),
            (7, "ReadWrite", "ImageReadWrite"),
        ] {
            let module = with(at, value).replace("OpCapability ImageBasic\n", "");
            assert_eq!(rules(&module), ["env.image-capability"]);
            let declare = |capability: &str| format!("OpCapability Kernel\nOpCapability {capability}");
            let declared = with(at, value).replace("OpCapability Kernel", &declare(capability));
            assert!(rules(&declared).is_empty(), "{value} with {capability}");
        }
    }

    #[test]
    fn image_blocks_are_of_two_dimensions() {
        let block = |read: &str| {
            body("ReadOnly", "%at = OpConstantNull %uint2\n%far = OpConstantNull %uint4", read)
                .replace("OpCapability Kernel", "OpCapability Kernel\nOpCapability SubgroupImageBlockIOINTEL")
        };
        let read = block("%r = OpSubgroupImageBlockReadINTEL %uint4 %img %at");
        assert!(rules(&read).is_empty(), "{:?}", rules(&read));
        assert_eq!(rules(&read.replace(" 2D 0 0 ", " 2D 1 0 ")), ["env.block-image"]);
        assert_eq!(rules(&read.replace(" 2D 0 0 ", " 2D 0 1 ")), ["env.block-image"]);
        assert_eq!(rules(&read.replace("%img %at", "%img %far")), ["env.block-coordinate"]);
        assert_eq!(rules(&read.replace("INTEL %uint4", "INTEL %float4")), ["env.block-type"]);
        let write = block("OpSubgroupImageBlockWriteINTEL %img %at %u1");
        assert!(rules(&write).is_empty(), "{:?}", rules(&write));
        assert_eq!(rules(&write.replace("%img %at", "%at %at")), ["types.operands"]);
    }

    #[test]
    fn the_capability_of_image_blocks_needs_no_images() {
        let module = kernel("", "")
            .replace("OpCapability Kernel", "OpCapability Kernel\nOpCapability SubgroupImageBlockIOINTEL")
            .replace("%std = ", "OpExtension \"SPV_INTEL_subgroups\"\n%std = ");
        assert!(rejected_on(&module, &DeviceProfile::host()).is_empty());
    }

    #[test]
    fn images_are_written_without_operands() {
        let write = |operands: &str| {
            body(
                "WriteOnly",
                "%at = OpConstantNull %uint2\n%texel = OpConstantNull %float4",
                &format!("OpImageWrite %img %at %texel {operands}"),
            )
        };
        assert!(rules(&write("")).is_empty());
        assert!(rules(&write("ZeroExtend")).is_empty());
        assert!(rules(&write("Nontemporal")).is_empty());
        assert_eq!(rules(&write("Lod %u0")), ["env.image-write-operands"]);
    }

    #[test]
    fn images_are_read_without_constant_offsets() {
        let read = |operands: &str| {
            body(
                "ReadOnly",
                "%at = OpConstantNull %uint2",
                &format!("%r = OpImageRead %float4 %img %at {operands}"),
            )
        };
        assert!(rules(&read("")).is_empty());
        assert!(rules(&read("Nontemporal")).is_empty());
        assert_eq!(rules(&read("ConstOffset %at")), ["env.image-read-offset"]);
    }

    #[test]
    fn images_are_used_as_their_access_qualifier_says() {
        let read = |access| body(access, "%at = OpConstantNull %uint2", "%r = OpImageRead %float4 %img %at");
        let write = |access| {
            let constants = "%at = OpConstantNull %uint2\n%texel = OpConstantNull %float4";
            body(access, constants, "OpImageWrite %img %at %texel")
        };
        let both = |text: String| text.replace("ImageBasic", "ImageBasic\nOpCapability ImageReadWrite");
        assert!(rules(&read("ReadOnly")).is_empty() && rules(&write("WriteOnly")).is_empty());
        assert!(rules(&both(read("ReadWrite"))).is_empty() && rules(&both(write("ReadWrite"))).is_empty());
        assert_eq!(rules(&read("WriteOnly")), ["env.image-access-use"]);
        assert_eq!(rules(&write("ReadOnly")), ["env.image-access-use"]);
        let sample = read("WriteOnly")
            .replace("%r = OpImageRead %float4 %img %at", "%s = OpSampledImage %sampled %img %smp\n%r = OpImageSampleExplicitLod %float4 %s %at Lod %f1")
            .replace("%at = ", "%sampler = OpTypeSampler\n%sampled = OpTypeSampledImage %image\n%smp = OpConstantSampler %sampler None 0 Nearest\n%at = ")
            .replace("ImageBasic", "ImageBasic\nOpCapability LiteralSampler");
        assert_eq!(rules(&sample), ["env.image-access-use"]);
        assert!(rules(&sample.replace("WriteOnly", "ReadOnly")).is_empty());
    }
}
