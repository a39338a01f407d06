//! Conversions between types of numbers, pointers and bits (SPIR-V 1.2 §3.32.11).

use super::memory::replaced;
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
        Opcode::new(Op::UConvert, Family::Conversion, S::IntToInt, Uniformity::Strided).in_constants(),
        Opcode::new(Op::SConvert, Family::Conversion, S::IntToInt, Uniformity::Strided).in_constants(),
        convert(Op::SatConvertSToU, S::IntToInt),
        convert(Op::SatConvertUToS, S::IntToInt),
        convert(Op::FConvert, S::FloatToFloat).in_constants(),
        convert(Op::ConvertFToU, S::FloatToInt).in_constants(),
        convert(Op::ConvertFToS, S::FloatToInt).in_constants(),
        convert(Op::ConvertUToF, S::IntToFloat).in_constants(),
        convert(Op::ConvertSToF, S::IntToFloat).in_constants(),
        convert(Op::ConvertFToBF16INTEL, S::FloatToBFloat16),
        convert(Op::ConvertBF16ToFINTEL, S::BFloat16ToFloat),
        convert(Op::RoundFToTF32INTEL, S::RoundToTf32),
        reinterpret(Op::Bitcast, S::Bitcast).derives(Derives::AddressIfPointer).in_constants(),
        reinterpret(Op::ConvertPtrToU, S::PointerToInt).in_constants(),
        reinterpret(Op::ConvertUToPtr, S::IntToPointer).in_constants(),
        Opcode::new(Op::PtrCastToGeneric, Family::Memory, S::PointerToGeneric, Uniformity::Strided)
            .derives(Derives::Address)
            .in_constants(),
        Opcode::new(Op::GenericCastToPtr, Family::Memory, S::GenericToPointer, Uniformity::Strided)
            .derives(Derives::Address)
            .in_constants(),
        // Device and host memory are global memory.
        replaced(Op::PtrCastToCrossWorkgroupALTERA, Uniformity::Strided),
        replaced(Op::CrossWorkgroupCastToPtrALTERA, Uniformity::Strided),
        // A pointer into the objects of one sub-group is null to another.
        Opcode::new(
            Op::GenericCastToPtrExplicit,
            Family::Memory,
            S::GenericToPointerExplicit,
            Uniformity::Elementwise,
        )
        .own()
        .locates(),
    ]
};
