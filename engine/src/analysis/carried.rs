//! What a loop hands on to its next iteration and lanes take along when they leave it: sums, counters, the best so far.
//!
//! Lanes leave a divergent loop in different iterations. What they take out is blended, in each iteration, into a place of its own, while
//! the loop's phi goes on with whatever lanes that have left compute. That is each sum twice, in every sub-group of a bundle. Where lanes take out
//! the phi, or what it is next, one place is both: lanes that are off keep what they had. Processors with registers of masks
//! blend as they add.

use super::Analysis;
use super::func::BlockId;
use super::loops::LoopId;
use super::shapes::Shape;
use rustc_hash::{FxHashMap, FxHashSet};
use spirv_env::Id;

/// Phis of loops and what lanes take out, in one place.
#[derive(Default)]
pub struct Carried {
    /// The phi, of the loop's header, that a value shares its place with. A phi that is taken out itself is there with itself.
    phis: FxHashMap<Id, (BlockId, Id)>,
    /// The value of each phi.
    values: FxHashMap<Id, Id>,
}

impl Carried {
    /// Finds them among what is taken out of loops. `may_share` says which values are held as lanes of a sub-group's own; none of those
    /// in `far` is: they are taken out of a loop that itself is in one, where the place is overwritten before they are used.
    pub fn new(
        a: &Analysis<'_>,
        taken_out: &FxHashSet<Id>,
        far: &FxHashSet<Id>,
        may_share: impl Fn(BlockId, Id) -> bool,
    ) -> Self {
        let mut found = Carried::default();
        let is_taken = |id: Id| taken_out.contains(&id) && !far.contains(&id);
        let may_share = |block: BlockId, id: Id| {
            a.shape_at_definition(id).iter().all(|shape| *shape == Shape::Varying) && may_share(block, id)
        };
        for (id, this) in a.loops.loops.iter().filter(|(id, _)| a.control.divergent_loops.contains(*id)) {
            for phi in &a.func.blocks[this.header].phis {
                let next = phi.from(this.latch);
                let own = (taken_out.contains(&phi.result)).then_some(phi.result);
                let Some(value) = own.or_else(|| next.filter(|next| found.is_made_in(a, id, *next))) else {
                    continue;
                };
                if is_taken(value) && may_share(this.header, phi.result) && may_share(a.def[&value], value) {
                    found.phis.insert(value, (this.header, phi.result));
                    found.values.insert(phi.result, value);
                }
            }
        }
        found
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

    /// The value that a phi shares its place with.
    pub fn value_of(&self, phi: Id) -> Option<Id> {
        self.values.get(&phi).copied()
    }
}
