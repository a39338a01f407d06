//! Functions, blocks and control flow (SPIR-V 1.2 §3.32.9, §3.32.17).

use super::{Family, Memory, Opcode, Signature, Uniformity};
use spirv::Op;

const fn terminator(op: Op, signature: Signature) -> Opcode {
    Opcode::new(op, Family::Terminator, signature, Uniformity::Nothing)
}

const fn structure(op: Op) -> Opcode {
    Opcode::new(op, Family::Structure, Signature::Layout, Uniformity::Nothing)
}

const fn merge(op: Op) -> Opcode {
    Opcode::new(op, Family::Merge, Signature::Layout, Uniformity::Nothing)
}

pub(super) const ROWS: &[Opcode] = {
    use Signature as S;
    &[
        terminator(Op::Branch, S::Branch),
        terminator(Op::BranchConditional, S::BranchConditional),
        terminator(Op::Switch, S::Switch),
        terminator(Op::Return, S::Return),
        terminator(Op::ReturnValue, S::ReturnValue),
        terminator(Op::Unreachable, S::Unreachable),
        // Linearization knows how phis vary.
        Opcode::new(Op::Phi, Family::Phi, S::Phi, Uniformity::Nothing),
        Opcode::new(Op::FunctionCall, Family::Call, S::Call, Uniformity::Called)
            .memory(Memory::ByCallee)
            .own(),
        Opcode::new(Op::FunctionPointerCallINTEL, Family::Call, S::PointerCall, Uniformity::Varying)
            .memory(Memory::ByCallee)
            .own(),
        structure(Op::Function),
        structure(Op::FunctionParameter),
        structure(Op::FunctionEnd),
        structure(Op::Label),
        structure(Op::Nop),
        structure(Op::Line),
        structure(Op::NoLine),
        structure(Op::AsmCallINTEL),
        merge(Op::LoopMerge),
        merge(Op::SelectionMerge),
        merge(Op::LoopControlINTEL),
    ]
};
