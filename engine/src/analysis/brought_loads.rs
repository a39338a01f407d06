//! Loads of what the ways to a block bring: where it was loaded or stored on all of them, or nearly all, a phi has it.
//!
//! Whoever lets an element sink in a heap loads both children, chooses one and loads that once more, and begins the next iteration with what
//! this one has stored. Where lanes go ways of their own, each such load is a gather, which the next iteration waits for. The address of such a load is made of
//! a phi, so each way to the phi's block has an address of its own, which is looked for among what that way has loaded and stored last (partial redundancy elimination of loads, with addresses
//! translated through phis; Chow et al., PLDI 1997). Where a way chooses one of two numbers for the address and brings both elements, the element is chosen. On one way that does not bring it, as in front of a loop, it is loaded there: the load comes on all ways from the
//! phi's block, with nothing in between that writes or waits. What other work-items store is a race.

use super::cfg::{Cfg, Dominators};
use super::func::{BlockId, Func, Phi, Terminator};
use super::handed_on::{waits, writes};
use super::joins::{self, Plain};
use super::loops::Loops;
use super::simplify;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use spirv::{Op, StorageClass};
use spirv_env::{Id, Inst, Operand};
use std::collections::BTreeSet;

/// Blocks behind a block that are looked through for such loads, at most, and loads.
const MOST_BLOCKS: usize = 16;
const MOST_LOADS: usize = 16;
/// Ways to a block, at most.
const MOST_WAYS: usize = 6;
/// Blocks of a way that are looked through.
const MOST_OF_WAY: usize = 6;
/// Instructions that an address is made of, at most, from operand to operand.
const MOST_DEPTH: u32 = 8;
/// Instructions and values that are looked at in all, so that hostile modules take no longer than others.
const MOST_LOOKS: usize = 1 << 20;

/// Replaces such loads by phis.
pub fn take_from_ways(func: &mut Func<'_>) {
    if func.blocks.values().all(|block| block.phis.is_empty()) {
        return;
    }
    let cfg = Cfg::new(func);
    let doms = Dominators::new(&cfg);
    let loops = Loops::new(&cfg, &doms);
    let (plain, def) = (joins::plain_insts(func), func.definitions());
    let insts = func.blocks.values().flat_map(|block| &block.insts);
    let choices: FxHashMap<Id, Inst> = insts
        .filter(|inst| inst.op == Op::Select && inst.result.is_some_and(|id| func.index_width(id).is_some()))
        .filter_map(|inst| Some((inst.result?, inst.clone())))
        .collect();
    let mut ways =
        Ways { cfg: &cfg, doms: &doms, plain: &plain, choices: &choices, def: &def, left: MOST_LOOKS };
    let mut same: FxHashMap<Id, Id> = FxHashMap::default();
    for &join in &cfg.rpo {
        let preds = &cfg.preds[join];
        if func.blocks[join].phis.is_empty() || !(2..=MOST_WAYS).contains(&preds.len()) {
            continue;
        }
        let latch = loops.headed_by(join).map(|id| loops.get(id).latch);
        for load in ways.loads_behind(func, join) {
            ways.replace(func, &load, join, latch, &mut same);
        }
    }
    simplify::replace_by_ends(func, same);
}

/// A way to a block.
#[derive(Clone, Copy)]
struct Way {
    join: BlockId,
    pred: BlockId,
    /// What is taken for a number that is chosen on it.
    chosen: Option<(Id, Id)>,
}

impl Way {
    /// What a phi of the block is on this way.
    fn from(&self, func: &Func<'_>, id: Id) -> Option<Id> {
        let phi = func.blocks[self.join].phis.iter().find(|phi| phi.result == id)?;
        let from = phi.from(self.pred)?;
        Some(self.chosen.filter(|(choice, _)| *choice == from).map_or(from, |(_, chosen)| chosen))
    }
}

struct Ways<'a> {
    cfg: &'a Cfg,
    doms: &'a Dominators,
    plain: &'a Plain,
    /// Choices of one of two integers.
    choices: &'a FxHashMap<Id, Inst>,
    def: &'a FxHashMap<Id, BlockId>,
    left: usize,
}

impl Ways<'_> {
    /// Loads that are made on all ways from a block, with nothing in front of them that writes or waits.
    fn loads_behind(&self, func: &Func<'_>, join: BlockId) -> Vec<Inst> {
        let number = |block: BlockId| self.cfg.number[block];
        let mut ahead: BTreeSet<(u32, BlockId)> = BTreeSet::from([(number(join), join)]);
        let mut loads = Vec::new();
        for _ in 0..MOST_BLOCKS {
            let Some((_, block)) = ahead.pop_first() else { break };
            if !self.doms.dominates(join, block) {
                break;
            }
            for inst in &func.blocks[block].insts {
                if writes(func, inst) || waits(func, inst) || inst.is_volatile() {
                    return loads;
                }
                let is_memory = || {
                    let class = func.class_of(inst.id(0));
                    matches!(
                        class,
                        Some(
                            StorageClass::Function
                                | StorageClass::Workgroup
                                | StorageClass::CrossWorkgroup
                                | StorageClass::Generic
                        )
                    )
                };
                // All ways lead to this block.
                if ahead.is_empty() && inst.op == Op::Load && loads.len() < MOST_LOADS && is_memory() {
                    loads.push(inst.clone());
                }
            }
            let next = func.blocks[block].term.successors();
            if next.is_empty() || next.iter().any(|to| number(*to) <= number(block)) {
                break;
            }
            ahead.extend(next.iter().map(|to| (number(*to), *to)));
        }
        loads
    }

    fn replace(
        &mut self,
        func: &mut Func<'_>,
        load: &Inst,
        join: BlockId,
        latch: Option<BlockId>,
        same: &mut FxHashMap<Id, Id>,
    ) {
        let (Some(result), Some(ty)) = (load.result, load.ty) else { return };
        if same.contains_key(&result) || !self.depends(func, load.id(0), join, MOST_DEPTH) {
            return;
        }
        let preds: SmallVec<[BlockId; 4]> = self.cfg.preds[join].iter().copied().collect();
        // What one iteration loads another one may, too, but it would have a register in between.
        let mut chosen = Vec::new();
        let brought: SmallVec<[Option<Id>; 4]> = preds
            .iter()
            .map(|&pred| {
                let way = Way { join, pred, chosen: None };
                let is_latch = latch == Some(pred);
                self.brought(func, load, way, is_latch).or_else(|| {
                    let choice = self.choice(func, load.id(0), way, MOST_DEPTH).filter(|_| !is_latch)?;
                    let of = choice.result?;
                    let ways = [1, 2].map(|at| Way { chosen: Some((of, choice.id(at))), ..way });
                    let [a, b] = ways.map(|way| self.brought(func, load, way, false));
                    let (inst, value) = func.computed(Op::Select, ty, &[choice.id(0), a?, b?]);
                    chosen.push((pred, inst));
                    Some(value)
                })
            })
            .collect();
        let missing: SmallVec<[BlockId; 1]> =
            preds.iter().zip(&brought).filter(|(_, value)| value.is_none()).map(|(pred, _)| *pred).collect();
        let is_enough = match (latch, missing.as_slice()) {
            (_, []) => true,
            (Some(latch), [pred]) => *pred != latch,
            // Where there are but two ways, a row would be as good as what takes its place, but what is chosen is none.
            (None, [_]) => preds.len() > 2 || !chosen.is_empty(),
            _ => false,
        };
        if !is_enough {
            return;
        }
        let mut incoming: SmallVec<[(BlockId, Id); 4]> = SmallVec::new();
        for (pred, value) in preds.iter().zip(brought) {
            let value = match value {
                Some(value) => value,
                None => match self.load_there(func, load, join, *pred) {
                    Some(value) => value,
                    None => return,
                },
            };
            incoming.push((*pred, value));
        }
        for (pred, inst) in chosen {
            func.blocks[pred].insts.push(inst);
        }
        let mut others = incoming.iter().map(|(_, id)| *id).filter(|id| *id != result);
        let Some(first) = others.next() else { return };
        let value = if others.all(|id| id == first) {
            first
        } else {
            let phi = func.fresh_of(ty);
            func.blocks[join].phis.push(Phi { result: phi, ty, incoming: incoming.into_iter().collect() });
            phi
        };
        same.insert(result, value);
    }

    /// Whether a value is made of one of a block's phis.
    fn depends(&mut self, func: &Func<'_>, id: Id, join: BlockId, depth: u32) -> bool {
        if func.blocks[join].phis.iter().any(|phi| phi.result == id) {
            return true;
        }
        let Some(inst) = self.plain.get(&id).filter(|_| depth > 0 && self.is_behind(id, join)) else {
            return false;
        };
        self.left = self.left.saturating_sub(1);
        self.left > 0 && inst.ids().any(|operand| self.depends(func, operand, join, depth - 1))
    }

    fn is_behind(&self, id: Id, join: BlockId) -> bool {
        self.def.get(&id).is_some_and(|block| self.doms.dominates(join, *block))
    }

    /// The choice of a number that an address is made of on a way.
    fn choice(&self, func: &Func<'_>, id: Id, way: Way, depth: u32) -> Option<Inst> {
        if let Some(from) = way.from(func, id) {
            return self.choices.get(&from).cloned();
        }
        let inst = self.plain.get(&id).filter(|_| depth > 0 && self.is_behind(id, way.join))?;
        inst.ids().find_map(|operand| self.choice(func, operand, way, depth - 1))
    }

    /// What was loaded or stored last on a way where a load behind it finds it.
    fn brought(&mut self, func: &Func<'_>, load: &Inst, way: Way, is_latch: bool) -> Option<Id> {
        let class = func.class_of(load.id(0))?;
        let mut block = way.pred;
        for _ in 0..MOST_OF_WAY {
            for inst in func.blocks[block].insts.iter().rev() {
                self.left = self.left.checked_sub(1)?;
                let is_load = inst.op == Op::Load && !inst.is_volatile();
                let is_store = inst.op == Op::Store && !inst.is_volatile();
                if is_load && !is_latch && inst.ty == load.ty || is_store {
                    if self.is_same(func, load.id(0), Some(way), inst.id(0), MOST_DEPTH) {
                        let value = if is_load { inst.result } else { Some(inst.id(1)) };
                        return value.filter(|value| func.type_of(*value) == load.ty);
                    }
                    if is_load || func.is_stored_elsewhere(inst.id(0), class) {
                        continue;
                    }
                }
                if is_store || writes(func, inst) || waits(func, inst) {
                    return None;
                }
            }
            // The phi's block has several in front of it, so nothing is looked for beyond that.
            let [before] = *self.cfg.preds[block].as_slice() else { return None };
            block = before;
        }
        None
    }

    /// Whether a value, as it is in a block behind this way to it, is the same as another one that is there.
    fn is_same(&mut self, func: &Func<'_>, id: Id, way: Option<Way>, other: Id, depth: u32) -> bool {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 || depth == 0 {
            return false;
        }
        if let Some(from) = way.and_then(|way| way.from(func, id)) {
            return self.is_same(func, from, None, other, depth - 1);
        }
        let way = way.filter(|way| self.is_behind(id, way.join));
        if way.is_none() && id == other {
            return true;
        }
        let Some(inst) = self.plain.get(&id) else { return false };
        let Some(of) = self.plain.get(&other) else {
            return self.is_constant(func, inst, way, other);
        };
        if (inst.op, inst.ty, inst.operands.len()) != (of.op, of.ty, of.operands.len()) {
            return false;
        }
        inst.operands.iter().zip(&of.operands).all(|pair| match pair {
            (Operand::Id(id), Operand::Id(other)) => self.is_same(func, *id, way, *other, depth - 1),
            (operand, other) => operand == other,
        })
    }

    /// Whether what is widened is a constant on this way, the one that another value is.
    fn is_constant(&self, func: &Func<'_>, inst: &Inst, way: Option<Way>, other: Id) -> bool {
        let from = way.and_then(|way| way.from(func, inst.id(0)));
        let of = match (from, inst.op) {
            (Some(from), Op::SConvert) => func.constant_int(from),
            (Some(from), Op::UConvert) => func.constant_bits(from).and_then(|bits| i64::try_from(bits).ok()),
            _ => None,
        };
        of.is_some() && of == func.constant_int(other)
    }

    /// Makes a load at the end of a way that leads nowhere else.
    fn load_there(&mut self, func: &mut Func<'_>, load: &Inst, join: BlockId, pred: BlockId) -> Option<Id> {
        if !matches!(func.blocks[pred].term, Terminator::Branch(_)) {
            return None;
        }
        let mut made = Vec::new();
        let pointer = self.made_there(func, load.id(0), join, pred, &mut made, MOST_DEPTH)?;
        let mut there = func.copied(load, |id| id);
        there.operands[0] = Operand::Id(pointer);
        let result = there.result;
        made.push(there);
        func.blocks[pred].insts.extend(made);
        result
    }

    fn made_there(
        &mut self,
        func: &mut Func<'_>,
        id: Id,
        join: BlockId,
        pred: BlockId,
        made: &mut Vec<Inst>,
        depth: u32,
    ) -> Option<Id> {
        if let Some(phi) = func.blocks[join].phis.iter().find(|phi| phi.result == id) {
            return phi.from(pred);
        }
        if !self.is_behind(id, join) {
            return Some(id);
        }
        self.left = self.left.saturating_sub(1);
        let inst = self.plain.get(&id).filter(|_| depth > 0 && self.left > 0)?;
        let mut moved: FxHashMap<Id, Id> = FxHashMap::default();
        for operand in inst.ids() {
            moved.insert(operand, self.made_there(func, operand, join, pred, made, depth - 1)?);
        }
        let copy = func.copied(inst, |id| moved.get(&id).copied().unwrap_or(id));
        let result = copy.result;
        made.push(copy);
        result
    }
}

#[cfg(test)]
mod tests;
