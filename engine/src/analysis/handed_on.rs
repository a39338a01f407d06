//! What a loop loads that it stored in the iteration before is handed on as a value: running sums and filters that go along an array, `x[i] += x[i - 1]`.
//!
//! Each iteration would wait until what the last one stored can be loaded: lanes that scatter and gather again stand still for it, and one work-item after the
//! other has the way through memory in the chain of all its iterations. Compilers leave such loads where indices of 32 bits are widened. Here
//! the two addresses are compared as [sums](sums) over the loop's counters, the load's an iteration later; a phi takes the place of the load, and what the first
//! iteration finds is loaded in front of the loop. Where a load is of what another load of this kind found an iteration ago (a filter of second order), it gets that.
//!
//! Nothing else in the loop may write there in between: other stores stand between such a load and its store, or are known to be elsewhere. What other work-items store is
//! a race, as long as the loop waits for nobody.

mod sums;

use super::cfg::{Cfg, Dominators};
use super::func::{BlockId, Func, Phi};
use super::joins::{self, Plain};
use super::loops::{Loop, LoopId, Loops};
use super::simplify;
use rustc_hash::FxHashMap;
use spirv::Op;
use spirv_env::opcodes::opencl_std::Through;
use spirv_env::opcodes::{Convergence, Memory};
use spirv_env::{Id, Inst, Operand};
use sums::{Place, Sums, When};

/// Loads of a loop that are looked at, at most, and stores.
const MOST_LOADS: usize = 16;
const MOST_STORES: usize = 8;
/// Instructions that the address of one is made of, at most.
const MOST_INSTS: usize = 24;

/// Replaces such loads.
pub fn hand_on(func: &mut Func<'_>) {
    let cfg = Cfg::new(func);
    let doms = Dominators::new(&cfg);
    let loops = Loops::new(&cfg, &doms);
    if loops.loops.is_empty() {
        return;
    }
    let plain = joins::plain_insts(func);
    let def = func.definitions();
    let mut same: FxHashMap<Id, Id> = FxHashMap::default();
    for (id, this) in &loops.loops {
        // An inner loop's iterations are no part of an order of this one's instructions.
        if this.blocks.iter().any(|block| loops.of(*block) != Some(id)) {
            continue;
        }
        let looked_at = InLoop { plain: &plain, cfg: &cfg, doms: &doms, def: &def, loops: &loops, id, this };
        looked_at.replace(func, &mut same);
    }
    simplify::replace_by_ends(func, same);
}

/// A load or a store.
struct Access {
    inst: Inst,
    /// None is in front of what leads to it without another iteration.
    at: (u32, usize),
    block: BlockId,
    place: Place,
}

/// A load, and where it is in the next iteration.
struct Load {
    now: Access,
    next: Place,
}

/// What is known of the loop's memory.
struct Known<'a> {
    sums: Sums<'a>,
    /// All that writes there.
    stores: Vec<Access>,
    /// What was loaded, and the phis in its place.
    handed_on: Vec<(Place, Id)>,
}

struct InLoop<'a> {
    plain: &'a Plain,
    cfg: &'a Cfg,
    doms: &'a Dominators,
    def: &'a FxHashMap<Id, BlockId>,
    loops: &'a Loops,
    id: LoopId,
    this: &'a Loop,
}

impl InLoop<'_> {
    fn is_inside(&self, id: Id) -> bool {
        self.def.get(&id).and_then(|block| self.loops.of(*block)) == Some(self.id)
    }

    fn replace(&self, func: &mut Func<'_>, same: &mut FxHashMap<Id, Id>) {
        let header = self.this.header;
        let has = |op: Op, blocks: &[BlockId]| {
            let mut insts = blocks.iter().flat_map(|block| &func.blocks[*block].insts);
            insts.any(|inst| inst.op == op)
        };
        let all = || self.this.blocks.iter().flat_map(|block| &func.blocks[*block].insts);
        if !has(Op::Load, &[header])
            || !has(Op::Store, &self.this.blocks)
            || all().any(|inst| waits(func, inst))
        {
            return;
        }
        let phis = func.blocks[header].phis.clone();
        let is_inside = |id: Id| self.is_inside(id);
        let mut sums = Sums::new(self.plain, &phis, self.this.latch, &is_inside);
        let Some(stores) = self.stores(func, &mut sums) else { return };
        let mut loads = self.loads(func, &mut sums);
        let mut known = Known { sums, stores, handed_on: Vec::new() };
        let mut made = Made::default();
        // What one of them finds may be what another one had.
        loop {
            let before = loads.len();
            loads.retain(|load| {
                let value = self.stored(func, &known, load).or_else(|| self.found_before(func, &known, load));
                let Some(value) = value else { return true };
                let inst = &load.now.inst;
                let (Some(result), Some(ty)) = (inst.result, inst.ty) else { return true };
                let Some(first) = self.first(func, inst, &phis, &mut made) else { return true };
                let phi = func.fresh_of(ty);
                let incoming = [(self.this.preheader, first), (self.this.latch, value)].into_iter().collect();
                made.phis.push(Phi { result: phi, ty, incoming });
                same.insert(result, phi);
                known.handed_on.push((load.now.place.clone(), phi));
                false
            });
            if loads.len() == before {
                break;
            }
        }
        func.blocks[header].phis.extend(made.phis);
        func.blocks[self.this.preheader].insts.extend(made.insts);
    }

    fn access(&self, func: &Func<'_>, sums: &mut Sums<'_>, block: BlockId, number: usize) -> Option<Access> {
        let inst = func.blocks[block].insts[number].clone();
        let place = sums.place(func, inst.id(0), When::Now)?;
        Some(Access { inst, at: (self.cfg.number[block], number), block, place })
    }

    /// What writes to memory in the loop, if all of it is stores.
    fn stores(&self, func: &Func<'_>, sums: &mut Sums<'_>) -> Option<Vec<Access>> {
        let mut stores = Vec::new();
        for &block in &self.this.blocks {
            for (number, inst) in func.blocks[block].insts.iter().enumerate() {
                if inst.op == Op::Store && stores.len() < MOST_STORES {
                    stores.push(self.access(func, sums, block, number)?);
                } else if writes(func, inst) {
                    return None;
                }
            }
        }
        Some(stores)
    }

    /// Loads of the header: each iteration makes them, the first one, too.
    fn loads(&self, func: &Func<'_>, sums: &mut Sums<'_>) -> Vec<Load> {
        let insts = func.blocks[self.this.header].insts.iter().enumerate();
        insts
            .filter(|(_, inst)| inst.op == Op::Load && !inst.is_volatile())
            .take(MOST_LOADS)
            .filter_map(|(number, inst)| {
                let now = self.access(func, sums, self.this.header, number)?;
                let next = sums.place(func, inst.id(0), When::Next)?;
                Some(Load { now, next })
            })
            .collect()
    }

    /// What each iteration stores where the next one loads, if nothing else is stored there in between.
    fn stored(&self, func: &Func<'_>, known: &Known<'_>, load: &Load) -> Option<Id> {
        let now = &load.now;
        let mut there = known.stores.iter().filter(|store| {
            let value = store.inst.id(1);
            store.place == load.next
                && func.type_of(value) == now.inst.ty
                && !store.inst.is_volatile()
                && now.at < store.at
                && self.doms.dominates(store.block, self.this.latch)
        });
        let (store, None) = (there.next()?, there.next()) else { return None };
        let is_no_matter = |other: &Access| {
            other.at == store.at
                || (now.at < other.at && other.at < store.at)
                || is_elsewhere(func, &known.sums, other, load)
        };
        known.stores.iter().all(is_no_matter).then_some(store.inst.id(1))
    }

    /// What was found an iteration ago where the next one loads, and is still there.
    fn found_before(&self, func: &Func<'_>, known: &Known<'_>, load: &Load) -> Option<Id> {
        let (_, phi) = known.handed_on.iter().find(|(place, _)| *place == load.next)?;
        let is_kept = known.stores.iter().all(|store| is_elsewhere(func, &known.sums, store, load));
        (is_kept && func.type_of(*phi) == load.now.inst.ty).then_some(*phi)
    }

    /// The load in front of the loop, of what the header's phis are there.
    fn first(&self, func: &mut Func<'_>, load: &Inst, phis: &[Phi], made: &mut Made) -> Option<Id> {
        let before = made.insts.len();
        let mut left = MOST_INSTS;
        let Some(pointer) = self.in_front(func, load.id(0), phis, made, &mut left) else {
            made.insts.truncate(before);
            made.known.clear();
            return None;
        };
        let mut first = func.copied(load, |id| id);
        first.operands[0] = Operand::Id(pointer);
        let result = first.result;
        made.insts.push(first);
        result
    }

    fn in_front(
        &self,
        func: &mut Func<'_>,
        id: Id,
        phis: &[Phi],
        made: &mut Made,
        left: &mut usize,
    ) -> Option<Id> {
        if !self.is_inside(id) {
            return Some(id);
        }
        if let Some(phi) = phis.iter().find(|phi| phi.result == id) {
            return phi.from(self.this.preheader);
        }
        if let Some(known) = made.known.get(&id) {
            return Some(*known);
        }
        *left = left.checked_sub(1)?;
        let inst = self.plain.get(&id)?;
        let operands: Vec<Id> = inst.ids().collect();
        let mut moved: FxHashMap<Id, Id> = FxHashMap::default();
        for operand in operands {
            moved.insert(operand, self.in_front(func, operand, phis, made, left)?);
        }
        let copy = func.copied(inst, |id| moved.get(&id).copied().unwrap_or(id));
        let result = copy.result?;
        made.insts.push(copy);
        made.known.insert(id, result);
        Some(result)
    }
}

/// What a loop gets.
#[derive(Default)]
struct Made {
    phis: Vec<Phi>,
    /// In front of it.
    insts: Vec<Inst>,
    /// What is there already, by what it is a copy of.
    known: FxHashMap<Id, Id>,
}

/// Whether a store changes nothing of what the next iteration loads, neither in this iteration nor, in that one, in front of the load.
fn is_elsewhere(func: &Func<'_>, sums: &Sums<'_>, store: &Access, load: &Load) -> bool {
    let [written, read] = [store, &load.now].map(|access| access.inst.id(0));
    if func.class_of(read).is_some_and(|class| func.is_stored_elsewhere(written, class)) {
        return true;
    }
    let [written, read] = [written, read].map(|pointer| func.pointee_bytes(pointer));
    let (Some(written), Some(read)) = (written, read) else { return false };
    let bytes = written.max(read);
    sums.are_apart(&store.place, &load.next, bytes)
        && (load.now.at < store.at || sums.are_apart(&store.place, &load.now.place, bytes))
}

/// Whether behind an instruction something else may be there that others stored.
pub(super) fn waits(func: &Func<'_>, inst: &Inst) -> bool {
    let row = inst.row();
    row.synchronizes() || inst.waits_for_work_group(func.module) || row.convergence != Convergence::None
}

/// Whether an instruction may change memory.
pub(super) fn writes(func: &Func<'_>, inst: &Inst) -> bool {
    match inst.row().memory {
        Memory::None | Memory::Object | Memory::Lifetime | Memory::BlockRead | Memory::ImageRead => false,
        Memory::Read { .. } => false,
        Memory::ByCallee => inst
            .opencl_std(func.module)
            .is_none_or(|function| function.pointer().is_some_and(|(_, through)| through != Through::Reads)),
        _ => true,
    }
}

#[cfg(test)]
mod tests;
