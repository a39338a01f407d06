//! Arithmetic, bits, comparisons, logic, and hints about values (SPIR-V 1.2 §3.32.13 to §3.32.15).

use super::{Family, Opcode, Signature, Uniformity};
use spirv::Op;

const fn each(op: Op, signature: Signature) -> Opcode {
    Opcode::new(op, Family::Arithmetic, signature, Uniformity::Elementwise)
}

/// Equal steps between lanes may stay such.
const fn strided(op: Op, signature: Signature) -> Opcode {
    Opcode::new(op, Family::Arithmetic, signature, Uniformity::Strided)
}

const fn dot(op: Op, signature: Signature) -> Opcode {
    Opcode::new(op, Family::IntegerDot, signature, Uniformity::Elementwise)
}

pub(super) const ROWS: &[Opcode] = {
    use Signature as S;
    &[
        strided(Op::IAdd, S::IntBinary).in_constants(),
        strided(Op::ISub, S::IntBinary).in_constants(),
        strided(Op::IMul, S::IntBinary).in_constants(),
        strided(Op::SNegate, S::IntUnary).in_constants(),
        strided(Op::UDiv, S::IntBinary).high_cost().in_constants(),
        strided(Op::SDiv, S::IntBinary).high_cost().in_constants(),
        strided(Op::UMod, S::IntBinary).high_cost().in_constants(),
        strided(Op::SRem, S::IntBinary).high_cost().in_constants(),
        strided(Op::SMod, S::IntBinary).high_cost().in_constants(),
        each(Op::FNegate, S::FloatUnary).in_constants(),
        each(Op::FAdd, S::FloatBinary).in_constants(),
        each(Op::FSub, S::FloatBinary).in_constants(),
        each(Op::FMul, S::FloatBinary).in_constants(),
        each(Op::FDiv, S::FloatBinary).in_constants(),
        each(Op::FRem, S::FloatBinary).in_constants(),
        each(Op::FMod, S::FloatBinary).in_constants(),
        each(Op::FmaKHR, S::FloatTernary),
        each(Op::VectorTimesScalar, S::VectorTimesScalar),
        each(Op::Dot, S::FloatDot),
        each(Op::IAddCarry, S::TwoInts),
        each(Op::ISubBorrow, S::TwoInts),
        each(Op::UMulExtended, S::TwoInts),
        each(Op::SMulExtended, S::TwoInts),
        // A barrier to algebra, not to lanes.
        each(Op::ArithmeticFenceEXT, S::FloatUnary),
        // Bits.
        strided(Op::ShiftLeftLogical, S::Shift).in_constants(),
        strided(Op::ShiftRightLogical, S::Shift).in_constants(),
        strided(Op::ShiftRightArithmetic, S::Shift).in_constants(),
        strided(Op::BitwiseOr, S::IntBinary).in_constants(),
        strided(Op::BitwiseXor, S::IntBinary).in_constants(),
        strided(Op::BitwiseAnd, S::IntBinary).in_constants(),
        strided(Op::Not, S::IntUnary).in_constants(),
        each(Op::BitReverse, S::IntUnary),
        each(Op::BitCount, S::BitCount),
        each(Op::BitFieldInsert, S::BitFieldInsert),
        each(Op::BitFieldSExtract, S::BitFieldExtract),
        each(Op::BitFieldUExtract, S::BitFieldExtract),
        each(Op::BitwiseFunctionINTEL, S::BitwiseFunction),
        // Comparisons and logic.
        each(Op::IEqual, S::IntCompare).in_constants(),
        each(Op::INotEqual, S::IntCompare).in_constants(),
        each(Op::ULessThan, S::IntCompare).in_constants(),
        each(Op::SLessThan, S::IntCompare).in_constants(),
        each(Op::UGreaterThan, S::IntCompare).in_constants(),
        each(Op::SGreaterThan, S::IntCompare).in_constants(),
        each(Op::ULessThanEqual, S::IntCompare).in_constants(),
        each(Op::SLessThanEqual, S::IntCompare).in_constants(),
        each(Op::UGreaterThanEqual, S::IntCompare).in_constants(),
        each(Op::SGreaterThanEqual, S::IntCompare).in_constants(),
        each(Op::FOrdEqual, S::FloatCompare),
        each(Op::FUnordEqual, S::FloatCompare),
        each(Op::FOrdNotEqual, S::FloatCompare),
        each(Op::FUnordNotEqual, S::FloatCompare),
        each(Op::FOrdLessThan, S::FloatCompare),
        each(Op::FUnordLessThan, S::FloatCompare),
        each(Op::FOrdGreaterThan, S::FloatCompare),
        each(Op::FUnordGreaterThan, S::FloatCompare),
        each(Op::FOrdLessThanEqual, S::FloatCompare),
        each(Op::FUnordLessThanEqual, S::FloatCompare),
        each(Op::FOrdGreaterThanEqual, S::FloatCompare),
        each(Op::FUnordGreaterThanEqual, S::FloatCompare),
        each(Op::LessOrGreater, S::FloatCompare),
        each(Op::Ordered, S::FloatCompare),
        each(Op::Unordered, S::FloatCompare),
        each(Op::IsNan, S::FloatClassify),
        each(Op::IsInf, S::FloatClassify),
        each(Op::IsFinite, S::FloatClassify),
        each(Op::IsNormal, S::FloatClassify),
        each(Op::SignBitSet, S::FloatClassify),
        each(Op::LogicalEqual, S::BoolBinary).in_constants(),
        each(Op::LogicalNotEqual, S::BoolBinary).in_constants(),
        each(Op::LogicalOr, S::BoolBinary).in_constants(),
        each(Op::LogicalAnd, S::BoolBinary).in_constants(),
        each(Op::LogicalNot, S::BoolUnary).in_constants(),
        each(Op::Any, S::BoolReduce),
        each(Op::All, S::BoolReduce),
        Opcode::new(Op::Select, Family::Arithmetic, S::Select, Uniformity::Rearranged).in_constants(),
        // Pointers as numbers.
        each(Op::PtrEqual, S::PointerCompare).since(1, 4),
        each(Op::PtrNotEqual, S::PointerCompare).since(1, 4),
        each(Op::PtrDiff, S::PointerDifference).since(1, 4),
        // SPV_KHR_integer_dot_product.
        dot(Op::SDot, S::IntDot),
        dot(Op::UDot, S::IntDot),
        dot(Op::SUDot, S::IntDot),
        dot(Op::SDotAccSat, S::IntDotAccumulate),
        dot(Op::UDotAccSat, S::IntDotAccumulate),
        dot(Op::SUDotAccSat, S::IntDotAccumulate),
        // SPV_KHR_expect_assume.
        Opcode::new(Op::ExpectKHR, Family::Hint, S::Expect, Uniformity::Rearranged),
        Opcode::new(Op::AssumeTrueKHR, Family::Hint, S::Assume, Uniformity::Nothing),
    ]
};
