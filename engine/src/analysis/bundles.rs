//! What the sub-groups of a bundle have in common (thread coarsening: Magni, Dubach and O'Boyle, SC 2013).
//!
//! A value that is the same in all sub-groups of a bundle, lane by lane, is computed once for all of them, and a
//! branch on it stays a branch. The analysis is to sub-groups what uniformity is to lanes: a forward data flow
//! from the optimistic assumption that nothing differs.

use super::Analysis;
use super::builtins::{BuiltinPointer, Part};
use super::func::{BlockId, Taken};
use super::leaves::Leaf;
use super::private::Placement;
use super::rearrangement::Source;
use super::uniform_objects::Holds;
use crate::abi::Coarsening;
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};
use spirv::{BuiltIn, GroupOperation, Op};
use spirv_env::opcodes::{Common, Convergence, Family, Memory, Uniformity};
use spirv_env::{Id, Inst};

/// Whether each leaf of a value differs between the sub-groups of a bundle.
pub type Differs = SmallVec<[bool; 4]>;

/// The leaves that are known to differ; what is missing is common.
pub type Differing = FxHashMap<Id, Differs>;

impl Analysis<'_> {
    /// Sub-groups of a bundle.
    pub fn factor(&self) -> u32 {
        self.variant.coarsening.factor()
    }

    /// Whether all sub-groups of a bundle see the same value in block `at`.
    pub fn is_common(&self, at: BlockId, id: Id) -> bool {
        self.factor() == 1 || !self.any_differs(at, id)
    }

    /// Whether one instruction serves all sub-groups of a bundle.
    pub fn is_shared(&self, block: BlockId, inst: &Inst) -> bool {
        let row = inst.row();
        match (row.convergence, row.memory) {
            (Convergence::Barrier, _) | (_, Memory::Fence) => true,
            _ if self.is_the_same_for_work_group(inst) => true,
            // Writing the same to the same place again changes nothing.
            (_, Memory::Write { .. } | Memory::Copy { .. }) => {
                inst.ids().all(|id| self.is_common(block, id)) && !inst.is_volatile()
            }
            _ => inst.result.is_some_and(|id| self.is_common(block, id)),
        }
    }

    /// Whether all work-items of a work-group get the same of an instruction that their sub-groups meet in.
    fn is_the_same_for_work_group(&self, inst: &Inst) -> bool {
        inst.waits_for_work_group(self.func.module)
            && match inst.row().family {
                Family::Reduction => inst.lit(1) == GroupOperation::Reduce as u64,
                // An asynchronous copy has its wait behind it.
                Family::Collective => inst.op != Op::GroupAsyncCopy,
                _ => false,
            }
    }

    fn differs(&self, at: BlockId, id: Id, leaves: usize) -> Differs {
        match self.differing.get(&id) {
            Some(differs) if self.is_temporal(at, id) => smallvec![true; differs.len()],
            Some(differs) => differs.clone(),
            None => smallvec![self.is_temporal(at, id); leaves],
        }
    }

    fn any_differs(&self, at: BlockId, id: Id) -> bool {
        self.differs(at, id, 1).contains(&true)
    }

    /// Notes what is known of a value now; whether that is news.
    pub(super) fn update_differing(&mut self, id: Id, new: Differs) -> bool {
        if !new.contains(&true) {
            return false;
        }
        match self.differing.get_mut(&id) {
            None => {
                self.differing.insert(id, new);
                true
            }
            Some(old) => {
                let before = old.clone();
                old.iter_mut().zip(new).for_each(|(old, new)| *old |= new);
                *old != before
            }
        }
    }

    pub(super) fn phi_differs(&self, block: BlockId, place: usize, leaves: usize) -> Differs {
        let phi = &self.func.blocks[block].phis[place];
        let mut joined: Differs = smallvec![self.control.blended.contains(block); leaves];
        for (pred, id) in &phi.incoming {
            join(&mut joined, &self.differs(*pred, *id, leaves));
        }
        joined
    }

    pub(super) fn inst_differs(&self, block: BlockId, inst: &Inst) -> Differs {
        let count = inst.ty.map_or(1, |ty| self.leaves.count(ty).max(1));
        let all = |differs: bool| -> Differs { smallvec![differs; count] };
        let any_operand = || inst.ids().any(|id| self.any_differs(block, id));
        let row = inst.row();
        match (row.memory, inst.op) {
            _ if self.is_the_same_for_work_group(inst) || self.func.taken(inst) == Some(Taken::OfFirst) => {
                all(false)
            }
            _ if row.common == Common::Own => all(true),
            (Memory::Object, _) => all(inst.result.is_none_or(|object| !self.is_common_object(object))),
            (Memory::Read { .. }, _) => {
                let pointer = inst.id(0);
                match self.builtins.get(&pointer) {
                    Some(builtin) => self.builtin_differs(block, builtin, inst),
                    None => all(self.private.interleaved.contains_key(&pointer)
                        || inst.is_volatile()
                        || self.any_differs(block, pointer)),
                }
            }
            _ if row.uniformity == Uniformity::Rearranged && inst.op != Op::Select => {
                let Some(sources) = self.sources(inst) else { return all(any_operand()) };
                let mut last: Option<(Id, Differs)> = None;
                let of = |source| match source {
                    Source::Undefined => false,
                    Source::Leaf(id, leaf) => {
                        // Leaves of an operand mostly come one after the other.
                        let known = last.take().filter(|(known, _)| *known == id);
                        let (_, differs) =
                            last.insert(known.unwrap_or_else(|| (id, self.differs(block, id, leaf + 1))));
                        differs.get(leaf).copied().unwrap_or_else(|| differs.contains(&true))
                    }
                };
                sized(sources.into_iter().map(of).collect(), count)
            }
            _ => {
                // Leaf by leaf of operands that have as many leaves, else all alike.
                if !inst.is_componentwise(self.func.module) {
                    return all(any_operand());
                }
                let mut joined = all(false);
                for id in inst.ids() {
                    let operand = self.differs(block, id, count);
                    if operand.len() == count {
                        join(&mut joined, &operand);
                    } else if operand.contains(&true) {
                        return all(true);
                    }
                }
                joined
            }
        }
    }

    fn is_common_object(&self, object: Id) -> bool {
        self.holds.get(&object) == Some(&Holds::Common)
    }

    fn builtin_differs(&self, block: BlockId, pointer: &BuiltinPointer, load: &Inst) -> Differs {
        let component =
            |at: u32| differs_between(pointer.builtin, pointer.in_code(at), self.variant.coarsening);
        let leaves = load.ty.and_then(|ty| self.leaves.get(ty)).unwrap_or_default();
        let differs = |leaf: &Leaf| match pointer.part(*leaf) {
            Part::Low(at) => component(at),
            Part::Bytes(first, end) => (first..end).any(component),
            Part::Indexed => {
                (0..pointer.components).any(component)
                    || pointer.indices.iter().any(|(index, _)| self.any_differs(block, *index))
            }
        };
        leaves.iter().map(differs).collect()
    }

    /// The parameters that each sub-group has an object of its own for.
    pub(super) fn params_differ(&mut self) {
        for (param, ty) in self.func.params.clone() {
            let own = match self.private.placement.get(&param) {
                Some(Placement::PerLane | Placement::Interleaved) => true,
                Some(Placement::Uniform) => !self.is_common_object(param),
                Some(Placement::Argument) | None => false,
            };
            if own {
                let leaves = self.leaves.count(ty).max(1);
                self.differing.insert(param, smallvec![true; leaves]);
            }
        }
    }
}

/// Whether a component of a built-in, in the variant's code, differs between the sub-groups of a bundle.
fn differs_between(builtin: BuiltIn, component: u32, coarsening: Coarsening) -> bool {
    let is_along =
        |component: u32| coarsening.count().get(component as usize).is_some_and(|count| *count > 1);
    match builtin {
        BuiltIn::LocalInvocationId | BuiltIn::GlobalInvocationId => is_along(component),
        BuiltIn::LocalInvocationIndex | BuiltIn::GlobalLinearId | BuiltIn::SubgroupId => {
            coarsening.factor() > 1
        }
        _ => false,
    }
}

fn join(joined: &mut Differs, with: &Differs) {
    if joined.len() == with.len() {
        joined.iter_mut().zip(with).for_each(|(joined, with)| *joined |= with);
    } else if with.contains(&true) {
        joined.iter_mut().for_each(|joined| *joined = true);
    }
}

/// As many leaves as the result has; if they are not, all leaves alike.
fn sized(differs: Differs, count: usize) -> Differs {
    if differs.len() == count { differs } else { smallvec![differs.contains(&true); count] }
}

#[cfg(test)]
mod tests;
