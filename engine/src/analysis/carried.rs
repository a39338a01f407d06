//! What a loop hands on to its next iteration and lanes take along when they leave it: sums, counters, the best so far.
//!
//! Lanes leave a divergent loop in different iterations. What they take out is blended, in each iteration, into a place of its own, while
//! the loop's phi goes on with whatever lanes that have left compute. That is each sum twice, in every sub-group of a bundle. Where lanes take out
//! the phi, or what it is next, one place is both: lanes that are off keep what they had. Processors with registers of masks
//! blend as they add.
//!
//! A loop that is left in several places (`break`) takes out the phi in one and what it is next in another, and a phi behind the loop joins them: it
//! has the same place. Whatever else an exit takes there is blended in for lanes that leave, which need the loop's phi no more. And what is next is often a phi
//! that joins ways through an iteration, some of which leave a variable as it was: they have nothing to do then.

use super::Analysis;
use super::func::BlockId;
use super::loops::LoopId;
use super::shapes::Shape;
use rustc_hash::{FxHashMap, FxHashSet};
use spirv_env::Id;
use std::cell::LazyCell;

/// Phis of loops and what lanes take out, in one place.
#[derive(Default)]
pub struct Carried {
    /// The phi, of the loop's header, that a value shares its place with. A phi that is taken out itself is there with itself.
    phis: FxHashMap<Id, (BlockId, Id)>,
    /// The value of each phi.
    values: FxHashMap<Id, Id>,
    /// Phis of other blocks that have the place of a loop's phi.
    joins: FxHashMap<Id, Place>,
    /// The phis of loops whose place has what lanes that have left take along.
    kept: FxHashSet<Id>,
}

/// The place of one of a loop's phis.
#[derive(Clone, Copy)]
struct Place {
    inside: LoopId,
    header: BlockId,
    phi: Id,
    /// Whether lanes that come to other blocks behind the loop read it there.
    is_taken_out: bool,
}

/// What an edge does with the place of a phi.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Move {
    /// Nothing: it has the value.
    Held,
    /// It blends the value in: other lanes need what they have there.
    Blended,
    /// It stores the value as it would if the place were the phi's alone.
    Free,
}

impl Carried {
    /// Finds them among what is taken out of loops. `may_share` says which values are held as lanes of a sub-group's own; none of those
    /// in `far` is: they are taken out of a loop that itself is in one, where the place is overwritten before they are used. Without registers of
    /// masks, what is blended each time waits for the blend, so nothing is that need not be.
    pub fn new(
        a: &Analysis<'_>,
        taken_out: &FxHashSet<Id>,
        far: &FxHashSet<Id>,
        has_masks: bool,
        may_share: impl Fn(BlockId, Id) -> bool,
    ) -> Self {
        let mut found = Carried::default();
        let may_share = |block: BlockId, id: Id| {
            a.shape_at_definition(id).iter().all(|shape| *shape == Shape::Varying)
                && !far.contains(&id)
                && may_share(block, id)
        };
        let last_uses = LazyCell::new(|| last_uses(a));
        for (id, this) in a.loops.loops.iter().filter(|(id, _)| a.control.divergent_loops.contains(*id)) {
            for phi in &a.func.blocks[this.header].phis {
                let next = phi.from(this.latch);
                let own = taken_out.contains(&phi.result).then_some(phi.result);
                let Some(value) = own.or_else(|| next.filter(|next| found.is_made_in(a, id, *next))) else {
                    continue;
                };
                if !may_share(this.header, phi.result) || !may_share(a.def[&value], value) {
                    continue;
                }
                let is_taken_out = taken_out.contains(&value);
                let place = Place { inside: id, header: this.header, phi: phi.result, is_taken_out };
                let behind =
                    own.is_none().then(|| found.behind(a, place, value, &last_uses, may_share)).flatten();
                let is_selected =
                    own.is_none() && !found.joins.contains_key(&value) && is_selected(a, value, phi.result);
                let is_kept = is_taken_out || behind.is_some();
                if !is_kept && !is_selected || is_kept && !has_masks {
                    continue;
                }
                found.phis.insert(value, (this.header, phi.result));
                found.values.insert(phi.result, value);
                found.joins.extend(behind.map(|behind| (behind, place)));
                found.joins.extend(is_selected.then_some((value, place)));
                found.kept.extend(is_kept.then_some(phi.result));
            }
        }
        found
    }

    /// The phi behind a loop to which most exits bring what is in a phi's place anyway. Behind a loop around this one, the place would be overwritten
    /// before it is read.
    fn behind(
        &self,
        a: &Analysis<'_>,
        place: Place,
        next: Id,
        last_uses: &FxHashMap<Id, u32>,
        may_share: impl Fn(BlockId, Id) -> bool,
    ) -> Option<Id> {
        let this = a.loops.get(place.inside);
        let left = |to| a.loops.left_by(this.header, to).filter(|id| a.control.divergent_loops.contains(*id));
        let mut targets: Vec<BlockId> = this.exits.iter().map(|(_, to)| *to).collect();
        targets.sort_unstable();
        targets.dedup();
        targets.retain(|to| left(*to).count() == 1);
        let joins = targets.iter().flat_map(|to| a.func.blocks[*to].phis.iter().map(move |join| (*to, join)));
        // Who comes there with something else has that in the place from then on.
        let is_needed =
            |to: BlockId, of: Id| last_uses.get(&of).is_some_and(|at| *at >= a.regions.position[to]);
        let joins = joins.filter(|(to, join)| {
            !self.joins.contains_key(&join.result)
                && may_share(*to, join.result)
                && !is_needed(*to, next)
                && !is_needed(*to, place.phi)
        });
        let held = joins.map(|(to, join)| {
            let from_inside = this.exits.iter().filter(|(_, target)| *target == to);
            let is_held =
                |from: BlockId| join.from(from).is_some_and(|value| is_held(a, from, value, place.phi, next));
            (from_inside.filter(|(from, _)| is_held(*from)).count(), join.result)
        });
        held.filter(|(count, _)| *count > 0).rev().max_by_key(|(count, _)| *count).map(|(_, join)| join)
    }

    /// The phi of a loop, and its block, that a phi of another block shares its place with.
    pub fn joined(&self, join: Id) -> Option<(BlockId, Id)> {
        self.joins.get(&join).map(|place| (place.header, place.phi))
    }

    /// Whether a value is in the place that it shares with a loop's phi since control came to its block.
    pub fn is_there(&self, value: Id) -> bool {
        let of_loop = self.phis.get(&value).map(|(_, phi)| *phi);
        let of_join = self.joins.get(&value).map(|place| place.phi);
        of_loop.is_some_and(|phi| phi == value || of_join == Some(phi))
    }

    /// Whether a place is read once more when a phi has been read there.
    pub fn is_read_again(&self, phi: Id) -> bool {
        self.is_there(phi) || self.joins.get(&phi).is_some_and(|place| place.is_taken_out)
    }

    /// What an edge does that brings a value to a phi.
    pub fn on_edge(&self, a: &Analysis<'_>, [from, to]: [BlockId; 2], phi: Id, value: Id) -> Move {
        let blended_if = |is_kept: bool| if is_kept { Move::Blended } else { Move::Free };
        if let Some(shared) = self.values.get(&phi) {
            return match a.loops.is_back_edge(from, to) {
                true if *shared == phi => Move::Blended,
                // It is there since it was made.
                true => Move::Held,
                false => blended_if(self.is_passed_by(a, phi)),
            };
        }
        let Some(place) = self.joins.get(&phi) else { return Move::Free };
        let is_inside = |block: BlockId| a.loops.around(block).any(|id| id == place.inside);
        match (is_inside(from), is_inside(to)) {
            (true, true) if value == place.phi => Move::Held,
            (true, true) => blended_if(self.kept.contains(&place.phi)),
            (true, false) if is_held(a, from, value, place.phi, self.values[&place.phi]) => Move::Held,
            (true, false) => Move::Blended,
            (false, _) => Move::Free,
        }
    }

    /// Whether a loop's phi has the place of one behind the loop where lanes come to that do not enter the loop.
    fn is_passed_by(&self, a: &Analysis<'_>, phi: Id) -> bool {
        self.joins.iter().filter(|(_, place)| place.phi == phi).any(|(join, place)| {
            let is_inside = |block: BlockId| a.loops.around(block).any(|id| id == place.inside);
            let behind = a.def[join];
            !is_inside(behind) && !a.cfg.preds[behind].iter().all(|pred| is_inside(*pred))
        })
    }

    /// Whether a value is made in the loop itself, behind its phis, and not shared yet. A phi that is another one's next value is made while
    /// that one's value is still needed: variables that a loop exchanges have a place each.
    fn is_made_in(&self, a: &Analysis<'_>, inside: LoopId, value: Id) -> bool {
        let def = a.def.get(&value).copied();
        let header = a.loops.get(inside).header;
        let is_phi = a.func.blocks[header].phis.iter().any(|phi| phi.result == value);
        !is_phi && !self.phis.contains_key(&value) && def.and_then(|def| a.loops.of(def)) == Some(inside)
    }

    /// The phi that a value shares its place with, and its block.
    pub fn phi_of(&self, value: Id) -> Option<(BlockId, Id)> {
        self.phis.get(&value).copied()
    }

    /// What shares its place with a phi.
    pub fn values(&self) -> impl Iterator<Item = Id> {
        self.phis.keys().copied()
    }

    /// The value that a phi shares its place with.
    pub fn value_of(&self, phi: Id) -> Option<Id> {
        self.values.get(&phi).copied()
    }
}

/// Where in the order of blocks values are used for the last time. A phi uses them where they come from.
fn last_uses(a: &Analysis<'_>) -> FxHashMap<Id, u32> {
    let mut last: FxHashMap<Id, u32> = FxHashMap::default();
    let mut uses = |block: BlockId, id: Id| {
        let at = a.regions.position[block];
        last.entry(id).and_modify(|last| *last = at.max(*last)).or_insert(at);
    };
    for (at, block) in &a.func.blocks {
        let of_insts = block.insts.iter().flat_map(|inst| inst.ids()).chain(block.term.used());
        of_insts.for_each(|id| uses(at, id));
        block.phis.iter().flat_map(|phi| &phi.incoming).for_each(|(pred, id)| uses(*pred, *id));
    }
    last
}

/// Whether what is next for a phi of a loop is, on some ways through an iteration, the phi itself.
fn is_selected(a: &Analysis<'_>, next: Id, phi: Id) -> bool {
    let joins = &a.func.blocks[a.def[&next]].phis;
    joins.iter().any(|join| join.result == next && join.incoming.iter().any(|(_, value)| *value == phi))
}

/// Whether the place of a loop's phi, which has the next value from where that is made, has a value where the loop is left.
fn is_held(a: &Analysis<'_>, from: BlockId, value: Id, phi: Id, next: Id) -> bool {
    // No way from the next value comes here in the same iteration if the order of blocks has it later.
    value == next || value == phi && a.cfg.number[from] < a.cfg.number[a.def[&next]]
}
