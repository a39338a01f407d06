//! Thread coarsening: one instruction stream for several sub-groups, a *bundle* (`abi::Coarsening`).
//!
//! Where a kernel goes through loops or barriers, sub-groups side by side share what they have in common (loop
//! counters, addresses, loads of the same elements), their independent work hides each other's latencies, and
//! a barrier switches stacks once for all of them. To memory it looks like any order in which sub-groups may run.
//!
//! Most blocks are run in lockstep (`analysis::lockstep`). Others under a mask are run for one sub-group after the other as a whole, each
//! only if some lane of it is on, or for a few of them, where a work-group has barriers and so the others may be idle.

mod choice;
mod width;

pub use choice::{best, vector_insts};
pub use width::best as best_width;

use super::builder::{Builder, Opcode, Value};
use super::values::{Mask, Reg, Val, Values};
use super::work_item::WorkItems;
use super::{Lowerer, interleaved};
use crate::abi::{Coarsening, Variant};
use crate::analysis::Analysis;
use crate::analysis::func::{BlockId, Taken};
use crate::analysis::guards::Part;
use crate::analysis::leaves::Scalar;
use crate::error::EngineError;
use crate::jit::target::Target;
use choice::{alike, extent, fills_gaps, has_barriers, has_column};
use cranelift_entity::EntitySet;
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};
use spirv_env::opcodes::Memory;
use spirv_env::{Id, Inst};
use std::collections::VecDeque;

/// Sub-groups of a larger bundle that run a block under a mask together.
const PIECE: usize = 4;

/// Blocks under a mask that a large bundle runs in pieces.
#[derive(Default)]
struct Pieces {
    /// Those that [`PIECE`] sub-groups run together.
    together: EntitySet<BlockId>,
    /// Those that each runs by itself: guarded parts, which are there once more for a bundle that has all of its lanes on.
    alone: EntitySet<BlockId>,
}

impl Pieces {
    /// How many sub-groups run a block together, if not all of them do.
    fn of(&self, block: BlockId) -> Option<usize> {
        let alone = self.alone.contains(block).then_some(1);
        alone.or_else(|| self.together.contains(block).then_some(PIECE))
    }
}

/// The state of lowering one sub-group of a bundle.
pub struct Subgroup {
    pub items: WorkItems,
    /// The lanes that stand for work-items.
    pub entered: Mask,
    /// The mask of the block being lowered.
    pub mask: Mask,
    /// The lanes whose values change where those of others stay in registers or private variables. They are those of the mask, but in
    /// code for full masks, too: products and sums are fused by what lies next to each other, and a blend lies between.
    pub blended: Mask,
    pub(super) values: Values,
    /// Its interleaved private variables.
    pub(super) interleaved: FxHashMap<Id, interleaved::Object>,
    /// Private objects that pointers may lead to.
    pub(super) private_base: FxHashMap<Id, Value>,
    /// Accesses of the block being lowered that are made together.
    pub(super) members: super::members::Known,
    /// Those of the run of atomic instructions being lowered.
    pub(super) turns: Vec<super::turns::Turn>,
}

/// The sub-groups that one instruction stream is made for.
pub(super) struct Bundle {
    pub subgroups: Vec<Subgroup>,
    /// Which of them is being lowered.
    pub at: usize,
    /// The values that they have in common.
    pub common: Values,
    /// The lanes that are on in any of them, while code for all of them is made.
    pub mask_of_all: Option<Mask>,
    /// The blocks that they all run in lockstep.
    pub lockstep: EntitySet<BlockId>,
    /// The blocks that they run in lockstep with their neighbours ([`Bundle::piece`]).
    in_pieces: Pieces,
    /// They run side by side so that their chains of instructions, which have no loop around them, fill each other's gaps.
    pub fills_gaps: bool,
    /// What an instruction gives the members after the one being lowered, if one of them made it for all.
    pub ahead: VecDeque<Val>,
    /// Memory for loads that are for nobody.
    nowhere: Value,
}

impl Bundle {
    /// The bundle whose first sub-group is given; the last one of a row has the lanes of this mask.
    pub fn new(
        a: &Analysis<'_>,
        b: &Builder,
        target: &Target,
        first: WorkItems,
        mask: Mask,
        guarded: &[Part],
    ) -> Self {
        let mut lockstep = a.lockstep();
        let may_be_idle = has_barriers(a) && a.factor() > alike(a, target);
        let in_pieces = if may_be_idle { in_pieces(a, &lockstep, guarded) } else { Pieces::default() };
        for block in a.func.block_ids().filter(|block| in_pieces.of(*block).is_some()) {
            lockstep.remove(block);
        }
        Bundle {
            subgroups: members(b, first, a.variant, mask),
            at: 0,
            common: Values::default(),
            mask_of_all: None,
            lockstep,
            in_pieces,
            fills_gaps: a.factor() > 1 && fills_gaps(a, target),
            ahead: VecDeque::new(),
            nowhere: b.nowhere(Scalar::I64, 1),
        }
    }

    /// The lanes that stand for work-items in any sub-group.
    pub fn entered(&self) -> Mask {
        // Only the last one of a row may have fewer than all.
        self.subgroups[0].entered
    }

    /// Whether each sub-group runs a guarded part by itself, unless all lanes of the bundle are on.
    pub fn runs_alone(&self, block: BlockId) -> bool {
        self.in_pieces.alone.contains(block)
    }

    /// How many sub-groups run a block, which not all of them run in lockstep, if any of these has a lane on.
    pub fn piece(&self, block: BlockId) -> usize {
        self.in_pieces.of(block).unwrap_or(1)
    }
}

/// The sub-groups of a bundle, given the first of them.
fn members(b: &Builder, first: WorkItems, variant: Variant, mask: Mask) -> Vec<Subgroup> {
    let width = u64::from(variant.width);
    let [x, y, z] = first.local;
    let of_row = || b.bin(Opcode::LLVMUDiv, b.next_multiple(first.size[0], width), b.i64(width));
    let [row, rows, _] = variant.coarsening.count().map(u64::from);
    let member = |at: u64| {
        let mask = if (at + 1).is_multiple_of(row) { mask } else { Mask::All };
        let by = [at % row * width, at / row % rows, at / (row * rows)];
        // A row of sub-groups is a part of the work-group's, or all of it.
        let subgroup = match variant.coarsening {
            Coarsening::AlongY(_) => b.mul(of_row(), b.i64(at)),
            _ => b.i64(at),
        };
        let moved = |to: Value, by: u64| if by == 0 { to } else { b.add(to, b.i64(by)) };
        let local = [moved(x, by[0]), moved(y, by[1]), moved(z, by[2])];
        let subgroup = if at == 0 { first.subgroup } else { b.add(first.subgroup, subgroup) };
        let items = WorkItems { local, subgroup, cache: FxHashMap::default(), ..first };
        Subgroup {
            items,
            entered: mask,
            mask,
            blended: mask,
            values: Values::default(),
            interleaved: FxHashMap::default(),
            private_base: FxHashMap::default(),
            members: Default::default(),
            turns: Vec::new(),
        }
    };
    (0..u64::from(variant.coarsening.factor())).map(member).collect()
}

/// The blocks under a mask that a large bundle runs in pieces. Where a work-group meets at barriers, work-items of few sub-groups often do
/// something between two of them that others have no part in, as in trees of sums: for those it would be done in vain. Memory that is accessed
/// once for all of them is not: by itself, a sub-group that is not there would read anything, and leave it to the others. Nor is what all of them take
/// from the first one.
fn in_pieces(a: &Analysis<'_>, lockstep: &EntitySet<BlockId>, guarded: &[Part]) -> Pieces {
    let is_for_all = |block: BlockId, inst: &Inst| match inst.row().memory {
        Memory::None | Memory::Object | Memory::Lifetime => false,
        Memory::Read { .. } if a.builtins.contains_key(&inst.id(0)) => false,
        _ => a.is_shared(block, inst),
    };
    let may_be_idle = |block: BlockId| {
        let mut insts = a.func.blocks[block].insts.iter();
        lockstep.contains(block)
            && a.control.class[block].is_some()
            && !has_column(a, block)
            && !insts.any(|inst| {
                is_for_all(block, inst)
                    || inst.waits_for_work_group(a.func.module)
                    || a.func.taken(inst) == Some(Taken::OfFirst)
            })
    };
    let mut found = Pieces::default();
    for block in a.func.block_ids().filter(|block| may_be_idle(*block)) {
        match guarded.iter().map(|part| part.blocks.as_slice()).find(|part| part.contains(&block)) {
            Some([_]) => _ = found.alone.insert(block),
            None if a.factor() as usize > PIECE => _ = found.together.insert(block),
            _ => {}
        }
    }
    found
}

impl Lowerer<'_, '_> {
    /// Emits code for each sub-group of the bundle, or once for all if there is a mask for all.
    pub(super) fn each_subgroup(
        &mut self,
        shared: Option<Mask>,
        mut emit: impl FnMut(&mut Self) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        if shared.is_some() && self.bundle.subgroups.len() > 1 {
            self.bundle.mask_of_all = shared;
            let result = emit(self);
            self.bundle.mask_of_all = None;
            return result;
        }
        for at in 0..self.bundle.subgroups.len() {
            self.bundle.at = at;
            emit(self)?;
        }
        self.bundle.at = 0;
        Ok(())
    }

    /// Whether the sub-groups of a bundle do an instruction one after the other, and no other one in between: the first may do it for all.
    pub(super) fn takes_turns(&self) -> bool {
        self.bundle.subgroups.len() > 1
            && self.bundle.mask_of_all.is_none()
            && self.bundle.lockstep.contains(self.current_block())
    }

    /// What `make` makes for each member of the bundle, of an instruction that is lowered for all of them at once.
    pub(super) fn of_each<T>(
        &mut self,
        mut make: impl FnMut(&mut Self) -> Result<T, EngineError>,
    ) -> Result<SmallVec<[T; 1]>, EngineError> {
        let (at, mask) = (self.bundle.at, self.bundle.mask_of_all.take());
        let members = 0..self.bundle.subgroups.len();
        let made = members.map(|member| {
            self.bundle.at = member;
            make(self)
        });
        let made = made.collect();
        (self.bundle.at, self.bundle.mask_of_all) = (at, mask);
        made
    }

    /// Has each sub-group come as far as the others with a long instruction before one goes on. LLVM would put the code of one behind
    /// that of the other, which takes fewer registers.
    pub(super) fn meet_behind(&mut self, inst: &Inst) -> Result<(), EngineError> {
        let is_long = self.bundle.fills_gaps && extent(self.a, inst).1 > 1;
        let lanes = |id: &Id| self.packing_of(*id).is_none();
        let Some(result) = inst.result.filter(|_| is_long).filter(lanes) else { return Ok(()) };
        let values: Option<Vec<Value>> = (self.bundle.subgroups.iter())
            .map(|of| match of.values.made_in(self.current_block()).get(&result)?.as_slice() {
                [reg] => reg.only_vector(),
                _ => None,
            })
            .collect();
        let bits = self.target.simd_bits();
        // What is fused is the same as for one sub-group.
        let fits = |value: &Value| self.b.is_register(*value, bits) && !self.b.is_product(*value);
        let Some(values) = values.filter(|values| values.iter().all(fits)) else { return Ok(()) };
        let together = self.b.together(&values);
        self.each_subgroup(None, |this| {
            this.define(result, smallvec![Reg::varying(together[this.bundle.at])])
        })
    }

    /// An address that can be read: the one given, or another if no lane of the sub-group is on, which runs in
    /// lockstep with others then.
    pub(super) fn readable(&self, address: Value) -> Value {
        match self.mask() {
            // One load for all sub-groups happens only if there is a lane that wants it.
            Mask::Lanes(mask) if self.bundle.subgroups.len() > 1 && self.bundle.mask_of_all.is_none() => {
                self.b.select(self.b.any(mask), address, self.bundle.nowhere)
            }
            _ => address,
        }
    }
}

#[cfg(test)]
mod tests;
