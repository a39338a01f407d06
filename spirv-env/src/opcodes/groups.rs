//! Barriers and what work-groups and sub-groups do together (SPIR-V 1.2 §3.32.20, §3.32.21; SPIR-V 1.4 §3.32.24).
//!
//! Each row states how the result varies over lanes: nothing of it follows from the operands being alike.

use super::{Convergence, Family, Memory, Opcode, Signature, Uniformity};
use spirv::Op;

const fn barrier(op: Op) -> Opcode {
    Opcode::new(op, Family::Barrier, Signature::ControlBarrier, Uniformity::Nothing)
        .converges(Convergence::Barrier)
}

/// Of work-groups and sub-groups, or of sub-groups only. Lanes that are off make a difference, so each sub-group
/// has a result of its own.
const fn reduction(op: Op, signature: Signature, convergence: Convergence) -> Opcode {
    Opcode::new(op, Family::Reduction, signature, Uniformity::ByOperation).converges(convergence).own()
}

const fn vote(op: Op, signature: Signature, convergence: Convergence, uniformity: Uniformity) -> Opcode {
    Opcode::new(op, Family::Vote, signature, uniformity).converges(convergence).own()
}

/// Looks at a ballot, and at no other lane.
const fn of_ballot(op: Op, signature: Signature) -> Opcode {
    Opcode::new(op, Family::Vote, signature, Uniformity::Elementwise).converges(Convergence::Subgroup)
}

const fn shuffle(op: Op, signature: Signature, convergence: Convergence, uniformity: Uniformity) -> Opcode {
    Opcode::new(op, Family::Shuffle, signature, uniformity).converges(convergence)
}

const fn collective(op: Op, signature: Signature, convergence: Convergence) -> Opcode {
    Opcode::new(op, Family::Collective, signature, Uniformity::Uniform).converges(convergence).own()
}

pub(super) const ROWS: &[Opcode] = {
    use Convergence::{Group, ImplicitSubgroup, Subgroup, Workgroup};
    use Signature as S;
    use Uniformity::{CountByOperation, Elementwise, Nothing, Uniform, UniformIf, Varying};
    &[
        barrier(Op::ControlBarrier),
        barrier(Op::ControlBarrierArriveINTEL),
        barrier(Op::ControlBarrierWaitINTEL),
        Opcode::new(Op::MemoryBarrier, Family::Barrier, S::MemoryBarrier, Nothing).memory(Memory::Fence),
        // Work-groups and sub-groups.
        collective(Op::GroupAll, S::GroupVote, Group),
        collective(Op::GroupAny, S::GroupVote, Group),
        collective(Op::GroupBroadcast, S::GroupBroadcast, Group),
        collective(Op::GroupAsyncCopy, S::AsyncCopy, Workgroup).memory(Memory::AsyncCopy),
        Opcode::new(Op::GroupWaitEvents, Family::Collective, S::WaitEvents, Nothing).converges(Workgroup),
        reduction(Op::GroupIAdd, S::GroupInt, Group),
        reduction(Op::GroupFAdd, S::GroupFloat, Group),
        reduction(Op::GroupFMin, S::GroupFloat, Group),
        reduction(Op::GroupUMin, S::GroupInt, Group),
        reduction(Op::GroupSMin, S::GroupInt, Group),
        reduction(Op::GroupFMax, S::GroupFloat, Group),
        reduction(Op::GroupUMax, S::GroupInt, Group),
        reduction(Op::GroupSMax, S::GroupInt, Group),
        reduction(Op::GroupIMulKHR, S::GroupInt, Group),
        reduction(Op::GroupFMulKHR, S::GroupFloat, Group),
        reduction(Op::GroupBitwiseAndKHR, S::GroupInt, Group),
        reduction(Op::GroupBitwiseOrKHR, S::GroupInt, Group),
        reduction(Op::GroupBitwiseXorKHR, S::GroupInt, Group),
        reduction(Op::GroupLogicalAndKHR, S::GroupBool, Group),
        reduction(Op::GroupLogicalOrKHR, S::GroupBool, Group),
        reduction(Op::GroupLogicalXorKHR, S::GroupBool, Group),
        // Sub-groups.
        reduction(Op::GroupNonUniformIAdd, S::GroupInt, Subgroup),
        reduction(Op::GroupNonUniformFAdd, S::GroupFloat, Subgroup),
        reduction(Op::GroupNonUniformIMul, S::GroupInt, Subgroup),
        reduction(Op::GroupNonUniformFMul, S::GroupFloat, Subgroup),
        reduction(Op::GroupNonUniformSMin, S::GroupInt, Subgroup),
        reduction(Op::GroupNonUniformUMin, S::GroupInt, Subgroup),
        reduction(Op::GroupNonUniformFMin, S::GroupFloat, Subgroup),
        reduction(Op::GroupNonUniformSMax, S::GroupInt, Subgroup),
        reduction(Op::GroupNonUniformUMax, S::GroupInt, Subgroup),
        reduction(Op::GroupNonUniformFMax, S::GroupFloat, Subgroup),
        reduction(Op::GroupNonUniformBitwiseAnd, S::GroupInt, Subgroup),
        reduction(Op::GroupNonUniformBitwiseOr, S::GroupInt, Subgroup),
        reduction(Op::GroupNonUniformBitwiseXor, S::GroupInt, Subgroup),
        reduction(Op::GroupNonUniformLogicalAnd, S::GroupBool, Subgroup),
        reduction(Op::GroupNonUniformLogicalOr, S::GroupBool, Subgroup),
        reduction(Op::GroupNonUniformLogicalXor, S::GroupBool, Subgroup),
        vote(Op::GroupNonUniformElect, S::Elect, Subgroup, Varying),
        vote(Op::GroupNonUniformAll, S::GroupVote, Subgroup, Uniform),
        vote(Op::GroupNonUniformAny, S::GroupVote, Subgroup, Uniform),
        vote(Op::GroupNonUniformAllEqual, S::AllEqual, Subgroup, Uniform),
        vote(Op::GroupNonUniformBallot, S::Ballot, Subgroup, Uniform),
        vote(Op::GroupNonUniformInverseBallot, S::InverseBallot, Subgroup, Varying),
        vote(Op::GroupNonUniformBallotBitCount, S::BallotBitCount, Subgroup, CountByOperation),
        of_ballot(Op::GroupNonUniformBallotBitExtract, S::BallotBitExtract),
        of_ballot(Op::GroupNonUniformBallotFindLSB, S::BallotFind),
        of_ballot(Op::GroupNonUniformBallotFindMSB, S::BallotFind),
        shuffle(Op::GroupNonUniformBroadcast, S::GroupBroadcast, Subgroup, Uniform).own(),
        shuffle(Op::GroupNonUniformBroadcastFirst, S::BroadcastFirst, Subgroup, Uniform).own(),
        // A lane number that all lanes agree on; or else values that move between lanes that hold the same.
        shuffle(Op::GroupNonUniformShuffle, S::Shuffle, Subgroup, UniformIf(2)).own(),
        shuffle(Op::GroupNonUniformShuffleXor, S::Shuffle, Subgroup, Elementwise),
        shuffle(Op::GroupNonUniformShuffleUp, S::Shuffle, Subgroup, Elementwise),
        shuffle(Op::GroupNonUniformShuffleDown, S::Shuffle, Subgroup, Elementwise),
        shuffle(Op::GroupNonUniformRotateKHR, S::Rotate, Subgroup, Elementwise),
        // Before there was `GroupNonUniform`.
        vote(Op::SubgroupAllKHR, S::KhrVote, ImplicitSubgroup, Uniform),
        vote(Op::SubgroupAnyKHR, S::KhrVote, ImplicitSubgroup, Uniform),
        vote(Op::SubgroupAllEqualKHR, S::KhrVote, ImplicitSubgroup, Uniform),
        vote(Op::SubgroupBallotKHR, S::KhrBallot, ImplicitSubgroup, Uniform),
        shuffle(Op::SubgroupFirstInvocationKHR, S::KhrFirst, ImplicitSubgroup, Uniform).own(),
        shuffle(Op::SubgroupReadInvocationKHR, S::IntelShuffle, ImplicitSubgroup, Uniform).own(),
        shuffle(Op::SubgroupShuffleINTEL, S::IntelShuffle, ImplicitSubgroup, UniformIf(1)).own(),
        shuffle(Op::SubgroupShuffleXorINTEL, S::IntelShuffle, ImplicitSubgroup, Elementwise),
        shuffle(Op::SubgroupShuffleUpINTEL, S::IntelShufflePair, ImplicitSubgroup, Varying).own(),
        shuffle(Op::SubgroupShuffleDownINTEL, S::IntelShufflePair, ImplicitSubgroup, Varying).own(),
        shuffle(Op::SubgroupBlockReadINTEL, S::BlockRead, ImplicitSubgroup, Varying)
            .memory(Memory::BlockRead)
            .own(),
        shuffle(Op::SubgroupBlockWriteINTEL, S::BlockWrite, ImplicitSubgroup, Nothing)
            .memory(Memory::BlockWrite),
    ]
};
