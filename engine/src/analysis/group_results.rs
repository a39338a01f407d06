//! How the results of group and atomic instructions vary over lanes.

use spirv::{GroupOperation, Op};
use spirv_env::{Id, Inst};

pub(super) enum GroupResult {
    Uniform,
    Varying,
    /// Uniform if this operand is, whatever the others are.
    UniformIf(usize),
}

/// How the results of group and atomic instructions vary, whatever their operands are.
pub(super) fn group_shape(inst: &Inst, constant: &dyn Fn(Id) -> Option<u64>) -> Option<GroupResult> {
    use GroupResult::{Uniform, UniformIf, Varying};
    // Operand 1 is the group operation of instructions that have one.
    let operation = || match inst.operands.get(1) {
        Some(spirv_env::Operand::Lit(lit)) if *lit == GroupOperation::Reduce as u64 => Uniform,
        Some(spirv_env::Operand::Id(id)) if constant(*id) == Some(0) => Uniform,
        _ => Varying,
    };
    Some(match inst.op {
        Op::GroupAll
        | Op::GroupAny
        | Op::GroupBroadcast
        | Op::GroupNonUniformAll
        | Op::GroupNonUniformAny
        | Op::GroupNonUniformAllEqual
        | Op::GroupNonUniformBroadcast
        | Op::GroupNonUniformBroadcastFirst
        | Op::GroupNonUniformBallot
        | Op::SubgroupAllKHR
        | Op::SubgroupAnyKHR
        | Op::SubgroupAllEqualKHR
        | Op::SubgroupFirstInvocationKHR
        | Op::SubgroupReadInvocationKHR
        | Op::SubgroupBallotKHR => Uniform,
        // A lane number that all lanes agree on.
        Op::GroupNonUniformShuffle => UniformIf(2),
        Op::SubgroupShuffleINTEL => UniformIf(1),
        // The number of bits up to each lane; of a whole ballot it varies as the ballot does.
        Op::GroupNonUniformBallotBitCount if inst.lit(1) == GroupOperation::Reduce as u64 => UniformIf(2),
        Op::GroupIAdd
        | Op::GroupFAdd
        | Op::GroupFMin
        | Op::GroupUMin
        | Op::GroupSMin
        | Op::GroupFMax
        | Op::GroupUMax
        | Op::GroupSMax
        | Op::GroupIMulKHR
        | Op::GroupFMulKHR
        | Op::GroupBitwiseAndKHR
        | Op::GroupBitwiseOrKHR
        | Op::GroupBitwiseXorKHR
        | Op::GroupLogicalAndKHR
        | Op::GroupLogicalOrKHR
        | Op::GroupLogicalXorKHR
        | Op::GroupNonUniformIAdd
        | Op::GroupNonUniformFAdd
        | Op::GroupNonUniformIMul
        | Op::GroupNonUniformFMul
        | Op::GroupNonUniformSMin
        | Op::GroupNonUniformUMin
        | Op::GroupNonUniformFMin
        | Op::GroupNonUniformSMax
        | Op::GroupNonUniformUMax
        | Op::GroupNonUniformFMax
        | Op::GroupNonUniformBitwiseAnd
        | Op::GroupNonUniformBitwiseOr
        | Op::GroupNonUniformBitwiseXor
        | Op::GroupNonUniformLogicalAnd
        | Op::GroupNonUniformLogicalOr
        | Op::GroupNonUniformLogicalXor => operation(),
        Op::GroupNonUniformElect
        | Op::GroupNonUniformInverseBallot
        | Op::GroupNonUniformBallotBitCount
        | Op::SubgroupShuffleUpINTEL
        | Op::SubgroupShuffleDownINTEL
        | Op::SubgroupBlockReadINTEL
        | Op::AtomicExchange
        | Op::AtomicCompareExchange
        | Op::AtomicCompareExchangeWeak
        | Op::AtomicIIncrement
        | Op::AtomicIDecrement
        | Op::AtomicIAdd
        | Op::AtomicISub
        | Op::AtomicSMin
        | Op::AtomicUMin
        | Op::AtomicSMax
        | Op::AtomicUMax
        | Op::AtomicAnd
        | Op::AtomicOr
        | Op::AtomicXor
        | Op::AtomicFAddEXT
        | Op::AtomicFMinEXT
        | Op::AtomicFMaxEXT
        | Op::AtomicFlagTestAndSet => Varying,
        _ => return None,
    })
}
