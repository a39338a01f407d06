//! Loops that few lanes go through, which do so one after the other: the edges of the nodes that a frontier has, what few particles meet.
//!
//! Such a loop does little but load, from places that each lane has for itself, and store or count there. A gather takes as long for one lane as
//! for all of them, on some processors as long as that many loads, and what is on depends on the data. Kernels in which nobody waits are
//! executed one work-item after the other where that is faster (`analysis::alone`). Where work-items meet, as those that have a count
//! of their group, only the loop can be. Where all lanes have a list, they go through it together.
//!
//! So there is a copy of such a loop, in which everything is one number: that of the lane whose turn it is. Where the loop begins, few lanes go there, and
//! more to the loop itself. Around the copy is a loop of turns, which the first of the lanes that are on leaves after its own.

mod copy;

use super::Analysis;
use super::exits;
use super::func::{BlockId, ENTRY, Func, Phi, Terminator};
use super::loops::{self, Loop, LoopId};
use super::shapes::Shape;
use super::twice::Most;
use crate::abi::Variant;
use crate::jit::target::Target;
use rustc_hash::FxHashMap;
use spirv::Op;
use spirv_env::opcodes::{Derives, Family, Memory};
use spirv_env::{Id, Inst};

const MOST: Most = Most { insts: 64, blocks: 12, of_all: 192 };
/// Values that a lane brings.
const MOST_BROUGHT: usize = 16;
/// Instructions for each access, beside those of addresses, up to which a loop does little.
const FEW: usize = 8;
/// Those of a function.
const FUNCTION: usize = 8;
/// Instructions that are looked at for what brings lanes to a loop.
const MOST_LOOKED_AT: usize = 128;

/// A loop that gets a copy.
struct Plan {
    header: BlockId,
    preheader: BlockId,
    /// All its blocks, those that lead to others first.
    blocks: Vec<BlockId>,
    /// The blocks by which it is left, and where to.
    exits: (Vec<BlockId>, BlockId),
    /// Whether others come there, too.
    others_come: bool,
    /// What lanes have for themselves that the loop uses.
    brought: Vec<Id>,
    /// As many lanes take turns at most.
    most: u32,
}

/// The function with a copy beside each such loop, or the analysis as it was.
pub fn split<'m>(a: Analysis<'m>, settled: Variant, target: &Target) -> Result<Func<'m>, Box<Analysis<'m>>> {
    let plans = plans(&a, settled, target);
    for plan in &plans {
        tracing::trace!("{}: few lanes go through the loop of {} in turn", a.func.kernel.name, plan.header);
    }
    if plans.is_empty() {
        return Err(Box::new(a));
    }
    let mut func = a.func;
    // What is used behind a loop is another value then.
    let mut joined: FxHashMap<Id, Id> = FxHashMap::default();
    for mut plan in plans {
        plan.brought.iter_mut().for_each(|id| *id = joined.get(id).copied().unwrap_or(*id));
        joined.extend(copy::apply(&mut func, plan));
    }
    loops::canonicalize(&mut func);
    exits::bring_out(&mut func);
    func.sort_phis();
    Ok(func)
}

fn plans(a: &Analysis<'_>, settled: Variant, target: &Target) -> Vec<Plan> {
    // Side by side with others, a sub-group's turns are no loop of its own.
    if settled.coarsening.factor() > 1 {
        return Vec::new();
    }
    a.planned(&MOST, |id, this| plan(a, id, this, target))
}

fn plan(a: &Analysis<'_>, id: LoopId, this: &Loop, target: &Target) -> Option<Plan> {
    // It may be left by several blocks, but to one place.
    let to = this.exits.first()?.1;
    let from: Vec<BlockId> = this.exits.iter().map(|(from, _)| *from).collect();
    let is_only_exit = this.exits.iter().all(|exit| exit.1 == to);
    let others_come = a.cfg.preds[to].iter().any(|pred| !from.contains(pred));
    let code = || this.blocks.iter().map(|block| &a.func.blocks[*block]);
    let is_plain = |term: &Terminator| matches!(term, Terminator::Branch(_) | Terminator::Cond { .. });
    if !a.control.divergent_loops.contains(id) || !is_only_exit || !code().all(|code| is_plain(&code.term)) {
        return None;
    }
    if !a.is_chosen_by_data(this.preheader) {
        return None;
    }
    let insts = || {
        let blocks = this.blocks.iter();
        blocks.flat_map(|block| a.func.blocks[*block].insts.iter().map(move |inst| (*block, inst)))
    };
    let [mut scattered, mut computed] = [0; 2];
    for (block, inst) in insts() {
        if !a.does_the_same_alone(block, inst, target) {
            return None;
        }
        match a.scatters(block, inst)? {
            true => scattered += 1,
            false => computed += a.computes(inst),
        }
    }
    if scattered == 0 || computed > FEW * scattered {
        return None;
    }
    let inside = |id: Id| a.def.get(&id).is_some_and(|block| this.blocks.contains(block));
    let is_own = |id: Id| !inside(id) && !a.shape(this.preheader, id).iter().all(|shape| shape.is_uniform());
    let first = |phi: &Phi| phi.from(this.preheader);
    let mut brought: Vec<Id> = a.func.blocks[this.header].phis.iter().filter_map(first).collect();
    for code in code() {
        let of_phis = code.phis.iter().flat_map(|phi| phi.incoming.iter().map(|(_, id)| *id));
        let of_insts = code.insts.iter().flat_map(|inst| inst.ids());
        brought.extend(of_phis.chain(of_insts).chain(code.term.used()));
    }
    brought.retain(|id| is_own(*id) && a.func.type_of(*id).is_some());
    brought.sort_unstable();
    brought.dedup();
    if brought.len() > MOST_BROUGHT {
        return None;
    }
    let mut blocks = this.blocks.clone();
    blocks.sort_unstable_by_key(|block| a.regions.position[*block]);
    let (header, preheader, exits) = (this.header, this.preheader, (from, to));
    Some(Plan { header, preheader, blocks, exits, others_come, brought, most: target.make.lanes_in_turn() })
}

impl Analysis<'_> {
    /// Instructions that an instruction is, roughly, but for addresses.
    fn computes(&self, inst: &Inst) -> usize {
        match inst.row().family {
            Family::Extended => FUNCTION,
            _ => usize::from(inst.row().derives == Derives::Nothing),
        }
    }

    /// Whether lanes come to a block for what they have loaded: their nodes are in the frontier. Of others, nearly all that have a list go through it.
    fn is_chosen_by_data(&self, block: BlockId) -> bool {
        let mut left = MOST_LOOKED_AT;
        let mut at = block;
        while at != ENTRY && left > 0 {
            let above = self.doms.idom(at);
            if let Terminator::Cond { cond, then, els } = self.func.blocks[above].term
                && [then, els].iter().filter(|to| self.doms.dominates(**to, block)).count() == 1
                && self.asks_for_kind(cond, &mut left)
            {
                return true;
            }
            at = above;
            left = left.saturating_sub(1);
        }
        false
    }

    /// Whether a condition compares what each lane has loaded with what all lanes have. (Where lists begin is compared with where they end.)
    fn asks_for_kind(&self, condition: Id, left: &mut usize) -> bool {
        let Some(inst) = self.looked_at(condition, left) else { return false };
        if matches!(inst.op, Op::LogicalAnd | Op::LogicalOr | Op::LogicalNot | Op::Select) {
            return inst.ids().any(|part| self.asks_for_kind(part, left));
        }
        let is_shared = |id: Id| self.shape_at_definition(id).iter().all(|shape| shape.is_uniform());
        let mut own = inst.ids().filter(|id| !is_shared(*id));
        let only = own.next().filter(|_| own.next().is_none() && inst.row().is_pure());
        only.is_some_and(|id| self.is_loaded(id, left))
    }

    /// Whether something that was loaded is part of a value.
    fn is_loaded(&self, id: Id, left: &mut usize) -> bool {
        self.looked_at(id, left).is_some_and(|inst| match inst.row().memory {
            Memory::Read { .. } => self.is_in_memory(inst.id(0)),
            _ => inst.row().is_pure() && inst.ids().any(|id| self.is_loaded(id, left)),
        })
    }

    /// What makes a value, as long as so many are left to be looked at.
    fn looked_at(&self, id: Id, left: &mut usize) -> Option<&Inst> {
        *left = left.checked_sub(1)?;
        self.definition(id)
    }

    /// Whether an instruction accesses memory by an address of each lane's own. `None` if it accesses what lies beside each other, or in a way of
    /// its own.
    fn scatters(&self, block: BlockId, inst: &Inst) -> Option<bool> {
        let memory = self.memory_of(inst);
        let is_access = matches!(memory, Memory::Read { .. } | Memory::Write { .. }) || memory.is_atomic();
        if !is_access {
            return matches!(memory, Memory::None).then_some(false);
        }
        let pointer = inst.id(0);
        if !self.is_in_memory(pointer) || self.private.interleaved.contains_key(&pointer) {
            return None;
        }
        match self.shape(block, pointer)[0] {
            Shape::Varying if !self.may_be_row(block, pointer) => Some(true),
            shape if shape.is_uniform() => Some(false),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
