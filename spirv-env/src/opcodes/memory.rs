//! Objects, pointers, loads, stores and copies (SPIR-V 1.2 §3.32.8).

use super::{Derives, Family, Memory, Opcode, Section, Signature, Uniformity};
use crate::own_opcodes as own;
use spirv::Op;

const fn effect(op: Op, signature: Signature, memory: Memory) -> Opcode {
    Opcode::new(op, Family::Memory, signature, Uniformity::Nothing).memory(memory)
}

const fn chain(op: Op, signature: Signature, derives: Derives) -> Opcode {
    Opcode::new(op, Family::Memory, signature, Uniformity::Strided).derives(derives)
}

const fn untyped(op: Op, uniformity: Uniformity) -> Opcode {
    Opcode::new(op, Family::Untyped, Signature::Untyped, uniformity)
}

pub(super) const fn replaced(op: Op, uniformity: Uniformity) -> Opcode {
    Opcode::new(op, Family::Replaced, Signature::Replaced, uniformity)
}

pub(super) const ROWS: &[Opcode] = {
    use Signature as S;
    &[
        Opcode::new(Op::Variable, Family::Memory, S::Variable, Uniformity::Object)
            .memory(Memory::Object)
            .also_outside(Section::Declarations),
        Opcode::new(Op::Load, Family::Memory, S::Load, Uniformity::Loaded).memory(Memory::Read { access: 1 }),
        effect(Op::Store, S::Store, Memory::Write { access: 2 }),
        effect(Op::CopyMemory, S::CopyMemory, Memory::Copy { access: 2 }),
        effect(Op::CopyMemorySized, S::CopyMemorySized, Memory::Copy { access: 3 }),
        chain(Op::AccessChain, S::AccessChain, Derives::Chain).in_constants(),
        chain(Op::InBoundsAccessChain, S::AccessChain, Derives::Chain).in_constants(),
        chain(Op::PtrAccessChain, S::ElementAccessChain, Derives::ElementChain).in_constants(),
        chain(Op::InBoundsPtrAccessChain, S::ElementAccessChain, Derives::ElementChain).in_constants(),
        Opcode::new(Op::SizeOf, Family::Memory, S::SizeOf, Uniformity::Uniform).since(1, 1),
        // They become variables before anyone looks at them.
        Opcode::new(
            Op::VariableLengthArrayINTEL,
            Family::VariableArray,
            S::VariableLengthArray,
            Uniformity::Varying,
        ),
        Opcode::new(Op::SaveMemoryINTEL, Family::VariableArray, S::SaveMemory, Uniformity::Varying),
        Opcode::new(Op::RestoreMemoryINTEL, Family::VariableArray, S::RestoreMemory, Uniformity::Nothing),
        // Typed ones take their place before anyone looks at them.
        untyped(Op::UntypedVariableKHR, Uniformity::Object).also_outside(Section::Declarations),
        untyped(Op::UntypedAccessChainKHR, Uniformity::Strided).in_constants(),
        untyped(Op::UntypedInBoundsAccessChainKHR, Uniformity::Strided).in_constants(),
        untyped(Op::UntypedPtrAccessChainKHR, Uniformity::Strided).in_constants(),
        untyped(Op::UntypedInBoundsPtrAccessChainKHR, Uniformity::Strided).in_constants(),
        untyped(Op::UntypedVariableLengthArrayINTEL, Uniformity::Varying),
        untyped(Op::UntypedGroupAsyncCopyKHR, Uniformity::Uniform),
        untyped(Op::UntypedPrefetchKHR, Uniformity::Nothing),
        // Branches take their place before anyone looks at them.
        replaced(Op::MaskedGatherINTEL, Uniformity::Varying),
        replaced(Op::MaskedScatterINTEL, Uniformity::Nothing),
        replaced(own::PREDICATED_LOAD, Uniformity::Varying),
        replaced(own::PREDICATED_STORE, Uniformity::Nothing),
        effect(Op::LifetimeStart, S::Lifetime, Memory::Lifetime),
        effect(Op::LifetimeStop, S::Lifetime, Memory::Lifetime),
        Opcode::new(Op::GenericPtrMemSemantics, Family::Memory, S::GenericSemantics, Uniformity::Elementwise)
            .own()
            .locates(),
        // Nobody but the clock changes it, and each reading is one.
        Opcode::new(Op::ReadClockKHR, Family::Clock, S::Clock, Uniformity::Uniform).own(),
        Opcode::new(Op::SubgroupBlockPrefetchINTEL, Family::Hint, S::BlockPrefetch, Uniformity::Nothing),
    ]
};
