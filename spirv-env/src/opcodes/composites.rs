//! Values made of parts (SPIR-V 1.2 §3.32.12).

use super::{Derives, Family, Opcode, Section, Signature, Uniformity};
use spirv::Op;

const fn rearrange(op: Op, signature: Signature) -> Opcode {
    Opcode::new(op, Family::Composite, signature, Uniformity::Rearranged)
}

const fn pick(op: Op, signature: Signature) -> Opcode {
    Opcode::new(op, Family::Composite, signature, Uniformity::Elementwise)
}

pub(super) const ROWS: &[Opcode] = {
    use Signature as S;
    &[
        rearrange(Op::CompositeConstruct, S::Construct),
        rearrange(Op::CompositeExtract, S::Extract).in_constants(),
        rearrange(Op::CompositeInsert, S::Insert).in_constants(),
        rearrange(Op::VectorShuffle, S::VectorShuffle).in_constants(),
        pick(Op::VectorExtractDynamic, S::ExtractDynamic),
        pick(Op::VectorInsertDynamic, S::InsertDynamic),
        rearrange(Op::CopyObject, S::CopyObject).derives(Derives::Address),
        rearrange(Op::FPGARegALTERA, S::CopyObject).derives(Derives::Address),
        rearrange(Op::CopyLogical, S::CopyLogical).since(1, 4),
        rearrange(Op::Undef, S::Undef).also_outside(Section::Declarations),
    ]
};
