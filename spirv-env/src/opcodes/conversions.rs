//! Conversions between types of numbers, pointers and bits (SPIR-V 1.2 §3.32.11).

use super::{Derives, Family, Opcode, Signature, Uniformity};
use spirv::Op;

const fn convert(op: Op, signature: Signature) -> Opcode {
    Opcode::new(op, Family::Conversion, signature, Uniformity::Elementwise)
}

const fn reinterpret(op: Op, signature: Signature) -> Opcode {
    Opcode::new(op, Family::Reinterpretation, signature, Uniformity::Strided)
}

pub(super) const ROWS: &[Opcode] = {
    use Signature as S;
    &[
        Opcode::new(Op::UConvert, Family::Conversion, S::IntToInt, Uniformity::Strided),
        Opcode::new(Op::SConvert, Family::Conversion, S::IntToInt, Uniformity::Strided),
        convert(Op::SatConvertSToU, S::IntToInt),
        convert(Op::SatConvertUToS, S::IntToInt),
        convert(Op::FConvert, S::FloatToFloat),
        convert(Op::ConvertFToU, S::FloatToInt),
        convert(Op::ConvertFToS, S::FloatToInt),
        convert(Op::ConvertUToF, S::IntToFloat),
        convert(Op::ConvertSToF, S::IntToFloat),
        convert(Op::ConvertFToBF16INTEL, S::FloatToBFloat16),
        convert(Op::ConvertBF16ToFINTEL, S::BFloat16ToFloat),
        convert(Op::RoundFToTF32INTEL, S::RoundToTf32),
        reinterpret(Op::Bitcast, S::Bitcast).derives(Derives::AddressIfPointer),
        reinterpret(Op::ConvertPtrToU, S::PointerToInt),
        reinterpret(Op::ConvertUToPtr, S::IntToPointer),
        Opcode::new(Op::PtrCastToGeneric, Family::Memory, S::PointerToGeneric, Uniformity::Strided)
            .derives(Derives::Address),
        Opcode::new(Op::GenericCastToPtr, Family::Memory, S::GenericToPointer, Uniformity::Strided)
            .derives(Derives::Address),
        // A pointer into the objects of one sub-group is null to another.
        Opcode::new(
            Op::GenericCastToPtrExplicit,
            Family::Memory,
            S::GenericToPointerExplicit,
            Uniformity::Elementwise,
        )
        .own(),
    ]
};
