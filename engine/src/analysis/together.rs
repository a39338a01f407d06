//! Loops that lanes go through together until they part: binary searches, ways down a tree.
//!
//! Lanes that search in the same place begin with the same index, and keep it as long as their comparisons turn out alike, though nothing proves
//! that they do: data decides. Kernels are often written so that work-items beside each other look for things beside each other, as those which merge
//! sorted rows do, and GPUs want that, too. Of a search in a million elements by lanes that end up within a few hundred, thirteen steps of twenty are
//! alike.
//!
//! So such a loop is there twice. In front of it is a copy in which everything is one number for all lanes that is so as long as they decide alike: one load
//! in place of a gather, and none of the blends. Where they decide is asked for all lanes of a bundle at once; when they part, the copy is
//! left for the loop, which begins its iteration once more. No result depends on it: an iteration does nothing but load and compute, and no
//! floating-point numbers, which are fused by what lies next to each other.

mod copy;

use super::Analysis;
use super::cfg;
use super::exits;
use super::func::{BlockId, Func, Phi, Terminator};
use super::loops::{self, Loop, LoopId};
use super::twice::Most;
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Op, StorageClass};
use spirv_env::opcodes::{Convergence, Family, Memory};
use spirv_env::{Id, Inst, Type};

/// Values that one question follows back.
const MOST_VALUES: usize = 256;
const MOST: Most = Most { insts: 64, blocks: 12, of_all: 320 };
/// Decisions of lanes in an iteration.
const MOST_DECISIONS: usize = 3;

/// What lanes have in common of a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Way {
    /// It is the same for many lanes beside each other.
    Shared,
    /// So it is as long as lanes have decided alike in each iteration of a loop.
    Carried,
    /// It is each lane's own.
    Own,
}

/// What one question has found.
#[derive(Default)]
struct Known {
    ways: FxHashMap<Id, Way>,
    /// What is made of ids.
    regular: FxHashMap<Id, bool>,
    /// What is one number in the loop's copy, and the phis of its header that are.
    ones: FxHashMap<Id, bool>,
    phis: FxHashSet<Id>,
}

/// A loop that gets a copy.
struct Plan {
    header: BlockId,
    preheader: BlockId,
    /// All its blocks, those that lead to others first.
    blocks: Vec<BlockId>,
    /// The blocks by which it is left, and where to.
    exits: (Vec<BlockId>, BlockId),
    /// What lanes decide by, made in the loop.
    decisions: FxHashSet<Id>,
    /// The same, made in front of it.
    decided: Vec<Id>,
    /// The phis of its header whose first value is one for all lanes only if that turns out to be so.
    asked: FxHashSet<Id>,
}

/// The function with a copy in front of each such loop, or the analysis as it was.
pub fn split(a: Analysis<'_>) -> Result<Func<'_>, Box<Analysis<'_>>> {
    let plans = plans(&a);
    for plan in &plans {
        tracing::trace!("{}: the loop of {} is there twice", a.func.kernel.name, plan.header);
    }
    if plans.is_empty() {
        return Err(Box::new(a));
    }
    let mut func = a.func;
    for plan in plans {
        copy::apply(&mut func, plan);
    }
    cfg::remove_unreachable(&mut func);
    loops::canonicalize(&mut func);
    exits::bring_out(&mut func);
    func.sort_phis();
    Ok(func)
}

fn plans(a: &Analysis<'_>) -> Vec<Plan> {
    a.planned(&MOST, |id, this| plan(a, id, this))
}

fn plan(a: &Analysis<'_>, id: LoopId, this: &Loop) -> Option<Plan> {
    // It may be left by several blocks, but to one place, where nobody else comes to.
    let to = this.exits.first()?.1;
    let from: Vec<BlockId> = this.exits.iter().map(|(from, _)| *from).collect();
    let is_only_exit = this.exits.iter().all(|exit| exit.1 == to)
        && a.cfg.preds[to].len() == from.len()
        && a.cfg.preds[to].iter().all(|pred| from.contains(pred));
    if !a.control.divergent_loops.contains(id) || !is_only_exit {
        return None;
    }
    let insts = || {
        let blocks = this.blocks.iter();
        blocks.flat_map(|block| a.func.blocks[*block].insts.iter().map(move |inst| (*block, inst)))
    };
    if !insts().all(|(_, inst)| a.may_be_done_again(inst)) {
        return None;
    }
    let mut known = Known::default();
    a.find_phis_of_one(this, &mut known);
    let mut is_gathered_together = |(block, inst): (BlockId, &Inst)| {
        matches!(inst.row().memory, Memory::Read { .. })
            && a.is_in_memory(inst.id(0))
            && !a.shape(block, inst.id(0))[0].is_uniform()
            && a.way(inst.id(0), &mut known) == Way::Carried
            && a.is_one(inst.id(0), this, &mut known)
    };
    if !insts().any(&mut is_gathered_together) {
        return None;
    }
    // What lanes decide by: they must do so alike where control goes two ways, or where a value is chosen that is to be one for all.
    let mut by: Vec<Id> = Vec::new();
    for block in &this.blocks {
        match &a.func.blocks[*block].term {
            Terminator::Branch(_) => {}
            Terminator::Cond { cond, .. } => by.push(*cond),
            _ => return None,
        }
    }
    for (_, inst) in insts().filter(|(_, inst)| inst.op == Op::Select) {
        if a.way(inst.result?, &mut known) != Way::Own {
            by.push(inst.id(0));
        }
    }
    let inside = |id: Id| a.def.get(&id).is_some_and(|block| this.blocks.contains(block));
    let (mut decisions, mut decided) = (FxHashSet::default(), Vec::new());
    for id in by {
        let is_scalar = a.func.type_of(id).is_some_and(|ty| *a.func.module.types.get(ty) == Type::Bool);
        if a.is_one(id, this, &mut known) {
            continue;
        }
        // What goes from iteration to iteration is not asked for again.
        let is_of_header = a.def.get(&id) == Some(&this.header) && a.definition(id).is_none();
        if !is_scalar || is_of_header {
            return None;
        }
        if inside(id) {
            decisions.insert(id);
        } else if !decided.contains(&id) {
            decided.push(id);
        }
    }
    if decisions.len() + decided.len() > MOST_DECISIONS {
        return None;
    }
    let mut asked = FxHashSet::default();
    for phi in &a.func.blocks[this.header].phis {
        let first = phi.from(this.preheader)?;
        if !known.phis.contains(&phi.result) {
            continue;
        }
        let is_one = a.shape(this.preheader, first).iter().all(|shape| shape.is_uniform());
        if !is_one || !a.is_common(this.preheader, first) {
            if !matches!(a.func.module.types.get(phi.ty), Type::Int { .. }) {
                return None;
            }
            asked.insert(phi.result);
        }
    }
    let mut blocks = this.blocks.clone();
    blocks.sort_unstable_by_key(|block| a.regions.position[*block]);
    let (header, preheader) = (this.header, this.preheader);
    let exits = (from, to);
    Some(Plan { header, preheader, blocks, exits, decisions, decided, asked })
}

impl Analysis<'_> {
    /// Whether an instruction gives the same when an iteration begins once more, and the same for one number as for many.
    fn may_be_done_again(&self, inst: &Inst) -> bool {
        let row = inst.row();
        let is_float = |id: Id| {
            let ty = self.func.type_of(id);
            let leaves = ty.and_then(|ty| self.leaves.get(ty));
            leaves.is_none_or(|leaves| leaves.iter().any(|leaf| leaf.scalar.is_float()))
        };
        let computes_floats = matches!(row.family, Family::Arithmetic | Family::Extended)
            && inst.op != Op::Select
            && inst.result.is_none_or(is_float);
        let is_load = matches!(row.memory, Memory::Read { .. }) && !inst.is_volatile();
        let of_private = is_load && self.func.class_of(inst.id(0)) == Some(StorageClass::Function);
        row.convergence == Convergence::None
            && !computes_floats
            && !of_private
            && (is_load || self.memory_of(inst) == Memory::None)
            && row.family != Family::Call
    }

    fn is_for_all(&self, id: Id) -> bool {
        self.shape_at_definition(id).iter().all(|shape| shape.is_uniform())
    }

    /// Finds the phis of a loop's header that stay one number in its copy if they begin as one.
    fn find_phis_of_one(&self, this: &Loop, known: &mut Known) {
        let phis = &self.func.blocks[this.header].phis;
        known.phis =
            phis.iter().map(|phi| phi.result).filter(|phi| self.way(*phi, known) != Way::Own).collect();
        loop {
            known.ones.clear();
            let stays = |phi: &&Phi, known: &mut Known| {
                let mut next = phi.incoming.iter().filter(|(from, _)| this.blocks.contains(from));
                next.all(|(_, incoming)| self.is_one(*incoming, this, known))
            };
            let others = phis.iter().filter(|phi| known.phis.contains(&phi.result)).collect::<Vec<_>>();
            let lost = others.iter().find(|phi| !stays(phi, known));
            let Some(lost) = lost else { return };
            known.phis.remove(&lost.result);
        }
    }

    /// Whether a value is one number in the copy of a loop, in which lanes decide alike and phis that are asked about are one. What lanes beside each other
    /// have in common of values from elsewhere is not asked about.
    fn is_one(&self, id: Id, this: &Loop, known: &mut Known) -> bool {
        if let Some(known) = known.ones.get(&id) {
            return *known;
        }
        let block = self.def.get(&id).copied().filter(|block| this.blocks.contains(block));
        let is_one = match (block, self.definition(id)) {
            _ if self.is_for_all(id) => true,
            (None, _) => false,
            (Some(block), None) if block == this.header => known.phis.contains(&id),
            _ if known.ones.len() >= MOST_VALUES => false,
            (Some(block), None) => {
                let phi = self.func.blocks[block].phis.iter().find(|phi| phi.result == id);
                phi.is_some_and(|phi| {
                    phi.incoming.iter().all(|(_, incoming)| self.is_one(*incoming, this, known))
                })
            }
            (_, Some(inst)) => {
                let skipped = usize::from(inst.op == Op::Select || inst.row().family == Family::Extended);
                self.way(id, known) != Way::Own
                    && inst.ids().skip(skipped).all(|operand| self.is_one(operand, this, known))
            }
        };
        known.ones.insert(id, is_one);
        is_one
    }

    fn way(&self, id: Id, known: &mut Known) -> Way {
        if let Some(known) = known.ways.get(&id) {
            return *known;
        }
        if known.ways.len() >= MOST_VALUES {
            return Way::Own;
        }
        let way = match self.definition(id) {
            _ if self.is_for_all(id) => Way::Shared,
            Some(inst) => self.way_of_result(inst, known),
            None => self.way_of_phi(id, known),
        };
        known.ways.insert(id, way);
        way
    }

    fn way_of_result(&self, inst: &Inst, known: &mut Known) -> Way {
        let row = inst.row();
        // Lanes that choose otherwise part here. The first operand of an extended instruction is its set.
        let skipped = usize::from(inst.op == Op::Select || row.family == Family::Extended);
        let is_load = matches!(row.memory, Memory::Read { .. }) && !inst.is_volatile();
        match inst.op {
            _ if is_load && self.is_in_memory(inst.id(0)) => self.way(inst.id(0), known),
            _ if is_load || self.memory_of(inst) != Memory::None => Way::Own,
            _ if self.rounds_down(inst, known) => Way::Shared,
            _ => {
                let ways = inst.ids().skip(skipped).map(|operand| self.way(operand, known));
                ways.max().unwrap_or(Way::Own)
            }
        }
    }

    /// Whether an integer is one for lanes beside each other whose numbers are not: a quotient, or a number without its remainder.
    fn rounds_down(&self, inst: &Inst, known: &mut Known) -> bool {
        let mut is_number_of_lane = |id: Id| self.is_regular(id, &mut known.regular);
        match inst.op {
            Op::UDiv | Op::SDiv | Op::ShiftRightLogical | Op::ShiftRightArithmetic => {
                is_number_of_lane(inst.id(0)) && self.is_for_all(inst.id(1))
            }
            Op::ISub => {
                let rest = self.definition(inst.id(1));
                let is_rest = |rest: &&Inst| matches!(rest.op, Op::UMod | Op::SRem | Op::SMod);
                rest.filter(is_rest).is_some_and(|rest| {
                    rest.id(0) == inst.id(0) && is_number_of_lane(rest.id(0)) && self.is_for_all(rest.id(1))
                })
            }
            Op::BitwiseAnd => {
                let masks = |id: Id| self.func.constant_bits(id).is_some_and(|bits| bits & 1 == 0);
                let [a, b] = [inst.id(0), inst.id(1)];
                masks(b) && is_number_of_lane(a) || masks(a) && is_number_of_lane(b)
            }
            _ => false,
        }
    }

    fn way_of_phi(&self, id: Id, known: &mut Known) -> Way {
        let phi = self.def.get(&id).and_then(|block| {
            let phis = &self.func.blocks[*block].phis;
            phis.iter().find(|phi| phi.result == id).map(|phi| (*block, phi))
        });
        let Some((block, phi)) = phi else { return Way::Own };
        let least = if self.loops.headed_by(block).is_some() { Way::Carried } else { Way::Shared };
        known.ways.insert(id, least);
        let ways = phi.incoming.iter().map(|(_, incoming)| self.way(*incoming, known));
        ways.fold(least, Way::max)
    }
}

#[cfg(test)]
mod tests;
