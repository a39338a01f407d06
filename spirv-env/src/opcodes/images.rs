//! Images (SPIR-V 1.2 §3.32.10).

use super::{Convergence, Family, Memory, Opcode, Signature, Uniformity};
use spirv::Op;

const fn image(op: Op, signature: Signature) -> Opcode {
    Opcode::new(op, Family::Image, signature, Uniformity::Elementwise)
}

pub(super) const ROWS: &[Opcode] = {
    use Signature as S;
    &[
        image(Op::SampledImage, S::SampledImage),
        image(Op::ImageSampleExplicitLod, S::Sample).memory(Memory::ImageRead),
        image(Op::ImageRead, S::ImageRead).memory(Memory::ImageRead),
        Opcode::new(Op::ImageWrite, Family::Image, S::ImageWrite, Uniformity::Nothing)
            .memory(Memory::ImageWrite),
        image(Op::ImageFetch, S::ImageFetch).memory(Memory::ImageRead),
        image(Op::Image, S::ImageOf),
        image(Op::ImageQuerySize, S::QuerySize),
        image(Op::ImageQuerySizeLod, S::QuerySizeLod),
        image(Op::ImageQueryFormat, S::QueryWord),
        image(Op::ImageQueryOrder, S::QueryWord),
        image(Op::ImageQuerySamples, S::QueryWord),
        image(Op::ImageQueryLevels, S::QueryWord),
        Opcode::new(Op::SubgroupImageBlockReadINTEL, Family::Image, S::ImageBlockRead, Uniformity::Varying)
            .memory(Memory::ImageRead)
            .converges(Convergence::ImplicitSubgroup)
            .own(),
        Opcode::new(Op::SubgroupImageBlockWriteINTEL, Family::Image, S::ImageBlockWrite, Uniformity::Nothing)
            .memory(Memory::ImageWrite)
            .converges(Convergence::ImplicitSubgroup),
        Opcode::new(
            Op::SubgroupImageMediaBlockReadINTEL,
            Family::Image,
            S::MediaBlockRead,
            Uniformity::Varying,
        )
        .memory(Memory::ImageRead)
        .converges(Convergence::ImplicitSubgroup)
        .own(),
        Opcode::new(
            Op::SubgroupImageMediaBlockWriteINTEL,
            Family::Image,
            S::MediaBlockWrite,
            Uniformity::Nothing,
        )
        .memory(Memory::ImageWrite)
        .converges(Convergence::ImplicitSubgroup),
        // `SPV_INTEL_bindless_images`.
        image(Op::ConvertHandleToImageINTEL, S::HandleToImage),
        image(Op::ConvertHandleToSamplerINTEL, S::HandleToSampler),
        image(Op::ConvertHandleToSampledImageINTEL, S::HandleToSampledImage),
    ]
};
