//! Matrices of sub-groups: as values (`SPV_KHR_cooperative_matrix`), in the vectors of work-items
//! (`SPV_INTEL_subgroup_matrix_multiply_accumulate`), and as blocks in memory (`SPV_INTEL_2d_block_io`).

use super::{Convergence, Family, Memory, Opcode, Signature, Uniformity};
use crate::own_opcodes as own;
use spirv::Op;

const fn of_subgroup(op: Op, signature: Signature, uniformity: Uniformity) -> Opcode {
    Opcode::new(op, Family::Matrix, signature, uniformity).converges(Convergence::ImplicitSubgroup).own()
}

pub(super) const ROWS: &[Opcode] = {
    use Signature as S;
    use Uniformity::{Nothing, Uniform, Varying};
    &[
        of_subgroup(Op::CooperativeMatrixLoadKHR, S::MatrixLoad, Varying).memory(Memory::BlockRead),
        of_subgroup(Op::CooperativeMatrixStoreKHR, S::MatrixStore, Nothing).memory(Memory::BlockWrite),
        of_subgroup(Op::CooperativeMatrixMulAddKHR, S::MatrixMultiplyAdd, Varying),
        of_subgroup(own::LOAD_CHECKED, S::MatrixLoad, Varying).memory(Memory::BlockRead),
        of_subgroup(own::STORE_CHECKED, S::MatrixStore, Nothing).memory(Memory::BlockWrite),
        of_subgroup(own::LOAD_OFFSET, S::MatrixLoad, Varying).memory(Memory::BlockRead),
        of_subgroup(own::STORE_OFFSET, S::MatrixStore, Nothing).memory(Memory::BlockWrite),
        of_subgroup(own::CONSTRUCT_CHECKED, S::MatrixConstruct, Varying),
        Opcode::new(own::GET_ELEMENT_COORD, Family::Matrix, S::MatrixCoordinate, Varying).own(),
        Opcode::new(own::PREFETCH, Family::Hint, S::MatrixPrefetch, Nothing),
        Opcode::new(Op::CooperativeMatrixLengthKHR, Family::Matrix, S::MatrixLength, Uniform),
        of_subgroup(Op::SubgroupMatrixMultiplyAccumulateINTEL, S::SubgroupMultiplyAdd, Varying),
        of_subgroup(Op::Subgroup2DBlockLoadINTEL, S::BlockLoad2D, Varying).memory(Memory::BlockRead),
        of_subgroup(Op::Subgroup2DBlockLoadTransformINTEL, S::BlockLoad2D, Varying).memory(Memory::BlockRead),
        of_subgroup(Op::Subgroup2DBlockLoadTransposeINTEL, S::BlockLoad2D, Varying).memory(Memory::BlockRead),
        of_subgroup(Op::Subgroup2DBlockStoreINTEL, S::BlockStore2D, Nothing).memory(Memory::BlockWrite),
        Opcode::new(Op::Subgroup2DBlockPrefetchINTEL, Family::Hint, S::BlockPrefetch2D, Nothing),
        Opcode::new(Op::MatrixTimesScalar, Family::Arithmetic, S::MatrixTimesScalar, Uniformity::Elementwise),
    ]
};
