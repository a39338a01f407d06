//! Which blocks the sub-groups of a bundle run in lockstep, each instruction for one of them after the other: those that run for all
//! work-items, and those that do no harm to a sub-group that is not there.

use super::Analysis;
use super::func::BlockId;
use super::shapes::Shape;
use cranelift_entity::EntitySet;
use spirv_env::opcodes::{Convergence, Cost, Family, Memory};
use spirv_env::{Id, Inst};

impl Analysis<'_> {
    /// The blocks that a bundle runs in lockstep.
    pub fn lockstep(&self) -> EntitySet<BlockId> {
        let mut lockstep = EntitySet::new();
        lockstep.extend(self.func.block_ids().filter(|block| self.is_in_lockstep(*block)));
        lockstep
    }

    pub(super) fn is_in_lockstep(&self, block: BlockId) -> bool {
        let mut insts = self.func.blocks[block].insts.iter();
        self.factor() == 1
            || self.control.class[block].is_none()
            || insts.all(|inst| is_harmless(self, block, inst))
    }
}

/// Whether an instruction does nothing, not even fault, for a sub-group without a lane that is on.
fn is_harmless(a: &Analysis<'_>, block: BlockId, inst: &Inst) -> bool {
    let pointer_is_masked =
        |pointer: Id| matches!(a.shape(block, pointer)[0], Shape::Strided(_) | Shape::Varying);
    let private = |pointer: Id| a.private.interleaved.contains_key(&pointer);
    let row = inst.row();
    match row.memory {
        Memory::Read { .. } if a.builtins.contains_key(&inst.id(0)) => true,
        // Uniform addresses see `Lowerer::readable`.
        Memory::Read { .. } => !private(inst.id(0)),
        Memory::Write { .. } => {
            a.is_shared(block, inst) || (!private(inst.id(0)) && pointer_is_masked(inst.id(0)))
        }
        Memory::Copy { .. } => a.is_shared(block, inst),
        // Every descriptor can be read, and writes are masked; blocks are not.
        Memory::ImageRead | Memory::ImageWrite => row.convergence == Convergence::None,
        Memory::Object | Memory::Lifetime => true,
        Memory::ByCallee if row.family == Family::Extended => {
            inst.opencl_std(a.func.module).is_none_or(|function| function.is_pure())
        }
        _ => row.is_pure() && row.cost == Cost::Low,
    }
}

#[cfg(test)]
mod tests;
