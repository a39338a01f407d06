//! Which blocks the sub-groups of a bundle run in lockstep, each instruction for one of them after the other: those that run for all
//! work-items, and those that do no harm to a sub-group that is not there.

use super::Analysis;
use super::func::BlockId;
use super::shapes::Shape;
use cranelift_entity::EntitySet;
use spirv::Op;
use spirv_env::opcodes::{Convergence, Cost, Family, Memory};
use spirv_env::{Id, Inst};

impl Analysis<'_> {
    /// The blocks that a bundle runs in lockstep.
    pub fn lockstep(&self) -> EntitySet<BlockId> {
        let mut lockstep = EntitySet::new();
        lockstep.extend(self.func.block_ids().filter(|block| self.is_in_lockstep(*block)));
        lockstep
    }

    pub(crate) fn is_in_lockstep(&self, block: BlockId) -> bool {
        let mut insts = self.func.blocks[block].insts.iter();
        self.factor() == 1
            || self.control.class[block].is_none()
            || insts.all(|inst| is_harmless(self, block, inst))
    }

    /// Whether sub-groups wait for each other in some of these blocks.
    pub(crate) fn meets_in<'b>(&self, blocks: impl IntoIterator<Item = &'b BlockId>) -> bool {
        let mut insts = blocks.into_iter().flat_map(|block| &self.func.blocks[*block].insts);
        insts.any(|inst| inst.waits_for_work_group(self.func.module))
    }

    /// Whether sub-groups meet in an instruction that may be under a mask. Those that are on do, as a sub-group does with the lanes that it has: if
    /// some of a bundle's work-items are there, it is, and brings nothing for the others.
    pub(super) fn meets_under_masks(&self, inst: &Inst) -> bool {
        inst.waits_for_work_group(self.func.module)
            && !inst.waits_for_launch(self.func.module)
            && inst.op != Op::GroupAsyncCopy
    }
}

/// Whether an instruction does nothing, not even fault, for a sub-group without a lane that is on.
fn is_harmless(a: &Analysis<'_>, block: BlockId, inst: &Inst) -> bool {
    let pointer_is_masked =
        |pointer: Id| matches!(a.shape(block, pointer)[0], Shape::Strided(_) | Shape::Varying);
    let private = |pointer: Id| a.private.interleaved.contains_key(&pointer);
    let row = inst.row();
    if inst.waits_for_work_group(a.func.module) {
        return a.meets_under_masks(inst);
    }
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
