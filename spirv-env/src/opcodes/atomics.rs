//! Atomic instructions (SPIR-V 1.2 §3.32.18).

use super::{Family, Memory, Opcode, Signature, Uniformity};
use spirv::Op;

/// Each lane has a turn of its own at memory.
const fn update(op: Op, signature: Signature) -> Opcode {
    Opcode::new(op, Family::Atomic, signature, Uniformity::Varying).memory(Memory::AtomicUpdate).own()
}

const fn write(op: Op, signature: Signature) -> Opcode {
    Opcode::new(op, Family::Atomic, signature, Uniformity::Nothing).memory(Memory::AtomicWrite).own()
}

pub(super) const ROWS: &[Opcode] = {
    use Signature as S;
    &[
        // One load serves the lanes that read one place.
        Opcode::new(Op::AtomicLoad, Family::Atomic, S::AtomicLoad, Uniformity::Elementwise)
            .memory(Memory::AtomicRead)
            .own(),
        write(Op::AtomicStore, S::AtomicStore),
        write(Op::AtomicFlagClear, S::AtomicFlagClear),
        update(Op::AtomicExchange, S::AtomicExchange),
        update(Op::AtomicCompareExchange, S::AtomicCompareExchange),
        update(Op::AtomicCompareExchangeWeak, S::AtomicCompareExchange),
        update(Op::AtomicIIncrement, S::AtomicStep),
        update(Op::AtomicIDecrement, S::AtomicStep),
        update(Op::AtomicIAdd, S::AtomicInt),
        update(Op::AtomicISub, S::AtomicInt),
        update(Op::AtomicSMin, S::AtomicInt),
        update(Op::AtomicUMin, S::AtomicInt),
        update(Op::AtomicSMax, S::AtomicInt),
        update(Op::AtomicUMax, S::AtomicInt),
        update(Op::AtomicAnd, S::AtomicInt),
        update(Op::AtomicOr, S::AtomicInt),
        update(Op::AtomicXor, S::AtomicInt),
        update(Op::AtomicFAddEXT, S::AtomicFloat),
        update(Op::AtomicFMinEXT, S::AtomicFloat),
        update(Op::AtomicFMaxEXT, S::AtomicFloat),
        update(Op::AtomicFlagTestAndSet, S::AtomicFlagTest),
    ]
};
