//! Private objects that hold the same in all lanes.
//!
//! Kernels written in SYCL copy their closure into private memory, and parts of it into further objects: pointers,
//! sizes and strides that all work-items have in common. One copy serves a sub-group then, and what is read from it
//! is uniform. An object whose address goes nowhere is taken for uniform until a write contradicts: one of varying
//! data, to a varying place, or one that work-items do not see who read the object later.

use super::Analysis;
use super::func::{BlockId, ENTRY, Func};
use super::pointers::Pointers;
use super::private::{Placement, Private};
use rustc_hash::{FxHashMap, FxHashSet};
use spirv_env::Id;
use spirv_env::opcodes::Memory;

/// The objects that may be uniform.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// The object that a pointer leads into.
    object_of: FxHashMap<Id, Id>,
    objects: FxHashMap<Id, Accesses>,
}

#[derive(Debug, Default)]
struct Accesses {
    /// Instructions that write: their block and place in it.
    writes: Vec<(BlockId, usize)>,
    reads: Vec<BlockId>,
    /// Blocks that read it and then write it.
    changes: Vec<BlockId>,
}

/// What the writes of an object allow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Holds {
    /// Something else in each lane.
    Varying,
    /// The same in all lanes of a sub-group.
    Uniform,
    /// The same in all lanes of a bundle.
    Common,
}

impl Candidates {
    pub(super) fn new(func: &Func<'_>, private: &Private) -> Self {
        let mut candidates = Candidates::default();
        let is_root =
            |id: &Id| matches!(private.placement.get(id), Some(Placement::Interleaved | Placement::PerLane));
        for (param, _) in func.params.iter().filter(|(param, _)| is_root(param)) {
            candidates.object_of.insert(*param, *param);
            candidates
                .objects
                .insert(*param, Accesses { writes: vec![(ENTRY, SET_UP)], ..Accesses::default() });
        }
        let mut lost: FxHashSet<Id> = FxHashSet::default();
        for inst in func.blocks.values().flat_map(|block| &block.insts) {
            if inst.row().memory == Memory::Object {
                candidates.object_of.extend(inst.result.filter(is_root).map(|object| (object, object)));
            }
        }
        for derived in Pointers::new(func).iter() {
            if let Some(&object) = candidates.object_of.get(&derived.base) {
                candidates.object_of.insert(derived.pointer, object);
            }
        }
        for block in func.block_ids() {
            let code = &func.blocks[block];
            let objects = &candidates.object_of;
            let of_phis =
                code.phis.iter().flat_map(|phi| &phi.incoming).filter_map(|(_, id)| objects.get(id));
            lost.extend(of_phis);
            for (place, inst) in code.insts.iter().enumerate() {
                let object =
                    |at: usize| inst.ids().nth(at).and_then(|id| candidates.object_of.get(&id).copied());
                let mut note = |object: Option<Id>, write: bool| {
                    let Some(object) = object else { return };
                    let accesses = candidates.objects.entry(object).or_default();
                    if write {
                        accesses.writes.push((block, place));
                        if accesses.reads.last() == Some(&block) && accesses.changes.last() != Some(&block) {
                            accesses.changes.push(block);
                        }
                    } else {
                        // Once a block is enough to know which blocks read.
                        if accesses.reads.last() != Some(&block) {
                            accesses.reads.push(block);
                        }
                    }
                };
                match inst.row().memory {
                    Memory::Object if inst.operands.len() > 1 => note(inst.result.filter(is_root), true),
                    Memory::Object | Memory::Lifetime => {}
                    Memory::Read { .. } => note(object(0), false),
                    Memory::Write { .. } if object(1).is_none() => note(object(0), true),
                    Memory::Copy { .. } if object(0) != object(1) => {
                        note(object(0), true);
                        note(object(1), false);
                    }
                    _ if func.derived_from(inst).is_some()
                        && !inst.ids().skip(1).any(|id| objects.contains_key(&id)) => {}
                    _ => lost.extend(inst.ids().filter_map(|id| objects.get(&id))),
                }
            }
        }
        let many =
            |accesses: &Accesses| accesses.reads.len().saturating_mul(accesses.writes.len()) > MOST_PAIRS;
        candidates.objects.retain(|object, accesses| !lost.contains(object) && !many(accesses));
        candidates
    }

    /// All objects, taken for uniform.
    pub(super) fn all(&self) -> FxHashMap<Id, Holds> {
        self.objects.keys().map(|object| (*object, Holds::Common)).collect()
    }

    /// Lowers what objects are taken to hold to what an analysis says of their writes; whether anything changed.
    pub(super) fn contradict(&self, a: &Analysis<'_>, holds: &mut FxHashMap<Id, Holds>) -> bool {
        let mut changed = false;
        for (object, accesses) in &self.objects {
            let now = holds[object];
            let of_write = |write: &(BlockId, usize)| self.allows(a, holds, accesses, *write);
            // A sub-group that runs such a block behind another one would read what that one has written.
            let takes_turns =
                |block: &BlockId| if a.is_in_lockstep(*block) { Holds::Common } else { Holds::Uniform };
            let of_changes = accesses.changes.iter().map(takes_turns);
            let least = accesses.writes.iter().map(of_write).chain(of_changes).min().unwrap_or(now).min(now);
            if least < now {
                holds.insert(*object, least);
                changed = true;
            }
        }
        changed
    }

    /// What a write allows its object to hold.
    fn allows(
        &self,
        a: &Analysis<'_>,
        holds: &FxHashMap<Id, Holds>,
        accesses: &Accesses,
        (block, place): (BlockId, usize),
    ) -> Holds {
        if !accesses.reads.iter().all(|read| seen_by(a, block, *read)) {
            return Holds::Varying;
        }
        let inst = match a.func.blocks[block].insts.get(place) {
            Some(inst) if inst.row().memory != Memory::Object => inst,
            // What an object is set up with is a constant, or an argument.
            _ => return Holds::Common,
        };
        let of_operand = |id: Id| match (
            a.shape(block, id).iter().all(|shape| shape.is_uniform()),
            a.is_common(block, id),
        ) {
            (false, _) => Holds::Varying,
            (true, false) => Holds::Uniform,
            (true, true) => Holds::Common,
        };
        // A copy is as uniform as what it copies from.
        let source = match inst.row().memory {
            Memory::Write { .. } => Holds::Common,
            _ => match self.object_of.get(&inst.id(1)) {
                Some(object) => holds.get(object).copied().unwrap_or(Holds::Varying),
                None => Holds::Common,
            },
        };
        inst.ids().map(of_operand).min().unwrap_or(Holds::Common).min(source)
    }
}

/// Pairs of a write and a block that reads which are looked at for one object.
const MOST_PAIRS: usize = 1 << 16;

/// The place of a write that is no instruction: an argument's object is set up before the first one.
const SET_UP: usize = usize::MAX;

/// Whether work-items that read an object in one block took part in the last write of the other block before.
///
/// They did if every way to the read leads through the write. They did, too, if both run under one mask, which no
/// loop around both changes from one iteration to the next. In a loop that they left, others may have gone on writing.
fn seen_by(a: &Analysis<'_>, write: BlockId, read: BlockId) -> bool {
    let class = |block: BlockId| a.control.class[block];
    let goes_on = |this| a.loops.encloses(Some(this), a.loops.of(read));
    let left_behind =
        a.loops.around(write).any(|this| a.control.divergent_loops.contains(this) && !goes_on(this));
    let one_mask = || {
        let mut around = a.loops.around(write).filter(|this| goes_on(*this));
        class(write) == class(read) && around.all(|this| class(a.loops.get(this).header) == class(write))
    };
    !left_behind && (a.doms.dominates(write, read) || one_mask())
}

#[cfg(test)]
mod tests;
