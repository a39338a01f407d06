//! Blocks, edges and masks: emits the plan that `analysis::linearization` made.
//!
//! A block that owns a mask collects it in a slot from its incoming edges, takes it over when it begins
//! and leaves the slot empty for the next time. Phis are slots that edges write.

use super::access::in_memory;
use super::arithmetic::int_compare;
use super::builder::{IntPred, Label, Value};
use super::entry::meets_at_barrier;
use super::invariant_loads::InvariantLoads;
use super::iterations::Counter;
use super::opencl_std::table;
use super::read_ahead::ReadAhead;
use super::values::{Mask, Reg, Slot};
use super::{Lowerer, bounds, coarsening, rows, speculation, tables};
use crate::abi::LaneMapping;
use crate::analysis::Analysis;
use crate::analysis::atomic_runs::AtomicRuns;
use crate::analysis::carried::Move;
use crate::analysis::func::{BlockId, Terminator};
use crate::analysis::guards::Part;
use crate::analysis::leaves::{Leaf, Scalar};
use crate::analysis::linearization::Exit;
use crate::analysis::loops::LoopId;
use crate::analysis::members::Members;
use crate::analysis::shapes::Shape;
use crate::error::EngineError;
use cranelift_entity::{EntitySet, PrimaryMap};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use spirv::{Op, StorageClass};
use spirv_env::opcodes::{Cost, Derives, Family};
use spirv_env::{Id, Inst};
use std::rc::Rc;

const OWNS: &str = "a divergent loop's header owns a mask";

/// Blocks of the function as LLVM's, and how masks are handed on between them.
pub(super) struct Flow {
    blocks: PrimaryMap<BlockId, BlockCode>,
    /// The others that share a block's mask.
    borrowers: FxHashMap<BlockId, SmallVec<[BlockId; 2]>>,
    /// Loops with a work-group barrier in them. All sub-groups of the group take turns in such a one: lines that are asked
    /// for several iterations ahead, for each of them, would push one another out of the cache before their time.
    pub(super) with_barriers: EntitySet<LoopId>,
    /// Where loops count their iterations.
    pub(super) iterations: FxHashMap<LoopId, Counter>,
    pub(super) read_ahead: ReadAhead,
    pub(super) invariant_loads: InvariantLoads,
    /// Parts that are there twice (`analysis::guards`).
    guarded: Vec<Part>,
    /// By the blocks where such parts begin.
    full_entries: FxHashMap<BlockId, FullEntry>,
    /// The part that is being made for sub-groups all of whose lanes are on.
    full: Option<Full>,
    /// A mask of all lanes that LLVM does not take for one before products and sums are fused.
    ones: Option<Value>,
}

/// Where parts begin that are there twice.
#[derive(Clone, Copy)]
struct FullEntry {
    /// Where sub-groups go all of whose lanes are on.
    full: Label,
    /// Where a loop goes on for the others: whoever has left it does not come back, so that nobody asks whether all lanes are on again.
    again: Option<Label>,
}

/// A guarded part for sub-groups all of whose lanes are on.
#[derive(Clone, Copy)]
pub(super) struct Full {
    /// The block whose mask is full.
    owner: BlockId,
    /// See `coarsening::Subgroup::blended`, for what is made for all sub-groups of a bundle.
    pub(super) blended: Mask,
    /// Whether all lanes go on with the loop that it is, if the block that asks for each of them knows that at once.
    all_stay: Option<Value>,
}

/// Which of a mask's slots has the lanes that a block runs for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arrival {
    /// What edges have brought, which the block takes over.
    Incoming,
    Current,
}

impl Flow {
    pub fn new(a: &Analysis<'_>, guarded: Vec<Part>) -> Self {
        Flow {
            blocks: PrimaryMap::new(),
            borrowers: borrowers(a),
            with_barriers: with_barriers(a),
            iterations: FxHashMap::default(),
            read_ahead: ReadAhead::new(a.read_ahead()),
            invariant_loads: InvariantLoads::new(a.invariant_loads()),
            guarded,
            full_entries: FxHashMap::default(),
            full: None,
            ones: None,
        }
    }

    pub(super) fn full(&self) -> Option<Full> {
        self.full
    }
}

/// The LLVM blocks of a block, and the mask slots of each sub-group of the bundle if it owns a mask.
#[derive(Clone, Debug)]
struct BlockCode {
    /// Where jumps to the block go.
    enter: Label,
    /// Where its instructions begin; differs from `enter` if empty masks skip it.
    body: Label,
    masks: SmallVec<[MaskSlots; 1]>,
}

#[derive(Clone, Copy, Debug)]
struct MaskSlots {
    /// Collects the lanes that come in.
    incoming: Value,
    /// The lanes that the block was entered with, for the blocks that share its mask.
    current: Value,
}

/// Loops in which the sub-groups of a work-group wait for each other.
fn with_barriers(a: &Analysis<'_>) -> EntitySet<LoopId> {
    let mut found = EntitySet::new();
    for block in a.func.block_ids().filter(|block| meets_at_barrier(&a.func, *block)) {
        found.extend(a.loops.around(block));
    }
    found
}

/// The blocks that share the mask of another one, by that one.
fn borrowers(a: &Analysis<'_>) -> FxHashMap<BlockId, SmallVec<[BlockId; 2]>> {
    let mut found: FxHashMap<BlockId, SmallVec<[BlockId; 2]>> = FxHashMap::default();
    for block in a.func.block_ids() {
        if let Some(owner) = a.control.class[block].filter(|owner| *owner != block) {
            found.entry(owner).or_default().push(block);
        }
    }
    found
}

impl Lowerer<'_, '_> {
    /// Lowers all blocks; the end of the kernel goes to `end`.
    pub(super) fn body(&mut self, end: Label) -> Result<(), EngineError> {
        let a = self.a;
        for block in a.func.block_ids() {
            let code = self.new_block(block);
            self.flow.blocks.push(code);
        }
        let guarded = std::mem::take(&mut self.flow.guarded);
        self.announce(&guarded);
        for &block in &a.regions.order {
            self.block(block, end)?;
        }
        // Most sub-groups run these, so what is limited is not used up by the others.
        self.storage.speculations.set(speculation::MOST);
        self.storage.table_registers.set(tables::MOST_OF_FUNCTION);
        guarded.iter().try_for_each(|part| self.full_part(part, end))?;
        self.b.at_end(self.position.prologue);
        self.b.br(self.flow.blocks[crate::analysis::func::ENTRY].enter);
        Ok(())
    }

    /// Has blocks lead to the codes of guarded parts that begin with them, where all lanes are on.
    fn announce(&mut self, parts: &[Part]) {
        for part in parts {
            let first = part.blocks[0];
            let full = self.label(&format!("{first}.full"));
            let again = self.a.loops.headed_by(first).map(|_| self.label(&format!("{first}.again")));
            self.flow.full_entries.insert(first, FullEntry { full, again });
        }
    }

    /// Lowers a guarded part once more, for sub-groups all of whose lanes are on, and so what is guarded in it. Where it ends, control goes where it does from
    /// the other.
    fn full_part(&mut self, part: &Part, end: Label) -> Result<(), EngineError> {
        let Part { blocks: part, inner } = part;
        let owner = part[0];
        let around = self.flow.full.replace(Full { owner, blended: Mask::All, all_stay: None });
        // Where masks are looked at is there once.
        let others = &part[1..];
        let masked: Vec<BlockCode> = others.iter().map(|block| self.flow.blocks[*block].clone()).collect();
        for &block in others {
            self.flow.blocks[block] = self.new_block(block);
        }
        self.announce(inner);
        // Nobody is idle here.
        let taking_turns: Vec<BlockId> =
            part.iter().copied().filter(|block| self.bundle.runs_alone(*block)).collect();
        taking_turns.iter().for_each(|block| _ = self.bundle.lockstep.insert(*block));
        part.iter().try_for_each(|block| self.block(*block, end))?;
        inner.iter().try_for_each(|part| self.full_part(part, end))?;
        taking_turns.iter().for_each(|block| _ = self.bundle.lockstep.remove(*block));
        others.iter().zip(masked).for_each(|(block, code)| self.flow.blocks[*block] = code);
        inner.iter().for_each(|part| _ = self.flow.full_entries.remove(&part.blocks[0]));
        self.flow.full = around;
        Ok(())
    }

    fn new_block(&self, block: BlockId) -> BlockCode {
        let control = &self.a.control;
        let enter = self.label(&block.to_string());
        let owns = control.class[block] == Some(block);
        let guarded = owns
            && control.skip[block].is_some()
            && !matches!(control.exit[block], Exit::Latch { .. })
            && !self.is_cheap(block);
        let body = if guarded { self.label(&format!("{block}.body")) } else { enter };
        let new_slots = |_| {
            let slots = MaskSlots {
                incoming: self.prologue_alloca(Scalar::Bool, self.w),
                current: self.prologue_alloca(Scalar::Bool, self.w),
            };
            self.in_prologue(|b| {
                let none = b.zero(Scalar::Bool, self.w);
                b.store(none, slots.incoming, 1);
                b.store(none, slots.current, 1);
            });
            slots
        };
        let masks = self.bundle.subgroups.iter().filter(|_| owns).map(new_slots).collect();
        BlockCode { enter, body, masks }
    }

    /// Whether running a block for no lane at all is harmless and cheaper than a test and a jump. Where others share its mask, it is the step
    /// of a loop: if that were jumped over, the next iteration would wait for whether anybody is left. (Branches that share one: a conversion of
    /// colours took 1.16 of the time.)
    fn is_cheap(&self, block: BlockId) -> bool {
        // What may lie between two jumps is worth more: one that is mispredicted takes as long as forty of these.
        const FEW: usize = 12;
        // What is loaded takes longer, and who searches goes on from one letter to the next: with twelve, a search took 1.7 of the time.
        const FEW_WITH_LOADS: usize = 6;
        let others = || self.flow.borrowers.get(&block).into_iter().flatten().copied();
        let leads_back = |block: BlockId| {
            let latch = self.a.loops.of(block).map(|id| self.a.loops.get(id).latch);
            let Terminator::Branch(to) = self.a.func.blocks[block].term else { return false };
            latch == Some(to) || latch == Some(block)
        };
        if others().next().is_some() && !others().any(leads_back) {
            return false;
        }
        // Nobody would run a loop for ever that is never left.
        if others().any(|block| self.a.loops.headed_by(block).is_some()) {
            return false;
        }
        let (mut count, mut insts_in_all, mut loads) = (0, 0, false);
        std::iter::once(block).chain(others()).all(|block| {
            let code = &self.a.func.blocks[block];
            let leads_on = matches!(
                (&code.term, &self.a.control.exit[block]),
                (Terminator::Branch(_), Exit::Uniform(_) | Exit::Latch { .. }) | (_, Exit::Linear(_))
            );
            // What is part of an address of a row is for nothing.
            for inst in code.insts.iter().filter(|inst| inst.row().derives == Derives::Nothing) {
                count += coarsening::vector_insts(self.a, inst, self.target.simd_bits());
                insts_in_all += 1;
                loads |= inst.op == Op::Load;
            }
            let is_short = if loads { insts_in_all <= FEW_WITH_LOADS } else { count <= FEW };
            leads_on && is_short && code.insts.iter().all(|inst| self.is_harmless_for_nobody(block, inst))
        })
    }

    fn is_harmless_for_nobody(&self, block: BlockId, inst: &Inst) -> bool {
        use Family::{Arithmetic, Composite, Conversion, Hint, Reinterpretation};
        let row = inst.row();
        let is_computed = matches!(row.family, Arithmetic | Composite | Conversion | Hint | Reinterpretation)
            && row.is_pure()
            && row.cost == Cost::Low;
        let is_function = || {
            let function = inst.opencl_std(self.a.func.module);
            function.is_some_and(|function| table::is_an_instruction(function.op, self.target))
        };
        is_computed || is_function() || row.derives != Derives::Nothing || self.is_row_in_cache(block, inst)
    }

    /// Whether an instruction loads a row beside one that is loaded before: a mispredicted jump over it takes longer, and what depends on
    /// data, as whether the letter before was the right one, is mispredicted.
    fn is_row_in_cache(&self, block: BlockId, inst: &Inst) -> bool {
        let a = self.a;
        let Some(leaves) = inst.ty.filter(|_| inst.op == Op::Load).and_then(|ty| a.leaves.get(ty)) else {
            return false;
        };
        let pointer = inst.id(0);
        let [Leaf { scalar, .. }] = *leaves else { return false };
        let memory = in_memory(scalar);
        !matches!(scalar, Scalar::Int(_))
            && !inst.is_volatile()
            && a.func.class_of(pointer).is_some_and(|class| class != StorageClass::Function)
            && a.shape(block, pointer)[0] == Shape::Strided(memory.bytes() as i64)
            && speculation::needs_look(a.trust(pointer)).is_none()
            && rows::has_masks(self.target, memory)
            && a.is_beside_what_is_loaded(block, pointer)
    }

    /// Where there is the mask of all lanes.
    fn ones(&mut self) -> Value {
        if let Some(ones) = self.flow.ones {
            return ones;
        }
        let ones = self.prologue_alloca(Scalar::Bool, self.w);
        self.in_prologue(|b| b.store(b.int(Scalar::Bool, self.w, 1), ones, 1));
        self.flow.ones = Some(ones);
        ones
    }

    fn is_full(&self, owner: BlockId) -> bool {
        self.flow.full.is_some_and(|full| full.owner == owner)
    }

    /// Gives the sub-groups the mask of a block that they have come to, and returns who is on in any of them, and who in all of them if
    /// anybody may not be.
    fn take_mask(&mut self, block: BlockId, from: Arrival) -> (Mask, Option<Value>) {
        let (mut any, mut every) = (self.bundle.entered(), None);
        let owner = self.a.control.class[block];
        let full = self.flow.full.filter(|full| owner == Some(full.owner));
        for at in 0..self.bundle.subgroups.len() {
            let mut mask = self.bundle.subgroups[at].entered;
            if let Some(owner) = owner.filter(|_| full.is_none()) {
                let slots = self.flow.blocks[owner].masks[at];
                let slot = if from == Arrival::Incoming { slots.incoming } else { slots.current };
                let lanes = self.b.load(Scalar::Bool, self.w, slot, 1);
                if from == Arrival::Incoming {
                    // Taken over even if nobody is in: LLVM then knows that the slot is empty from here on.
                    self.b.store(self.b.zero(Scalar::Bool, self.w), slots.incoming, 1);
                    self.b.store(lanes, slots.current, 1);
                }
                any = match any {
                    Mask::Lanes(others) if at > 0 => Mask::Lanes(self.b.or(others, lanes)),
                    _ => Mask::Lanes(lanes),
                };
                every = Some(every.map_or(lanes, |others| self.b.and(others, lanes)));
                mask = Mask::Lanes(lanes);
            }
            let of = &mut self.bundle.subgroups[at];
            (of.mask, of.blended) = (mask, mask);
            if let Some(full) = full {
                (of.mask, of.blended) = (Mask::All, full.blended);
            }
        }
        (if full.is_some() { Mask::All } else { any }, every)
    }

    fn block(&mut self, block: BlockId, end: Label) -> Result<(), EngineError> {
        let a = self.a;
        let entry = self.flow.full_entries.get(&block).copied();
        let (enter, body) = match entry {
            Some(entry) if self.is_full(block) => (entry.full, entry.full),
            _ => (self.flow.blocks[block].enter, self.flow.blocks[block].body),
        };
        self.position.block = block;
        // LLVM finds for itself what lies together in the iterations of a loop.
        let apart = a.variant.mapping == LaneMapping::Iterations;
        self.position.members = Rc::new(if apart { Members::default() } else { Members::of(a, block) });
        self.position.atomic_runs = Rc::new(AtomicRuns::of_block(a, block));
        self.bundle.common.block.clear();
        for of in &mut self.bundle.subgroups {
            of.values.block.clear();
            of.members = Default::default();
        }
        self.b.at_line(None);
        self.b.at_end(enter);
        if let Some(full) = self.flow.full.filter(|full| a.control.class[block] == Some(full.owner)) {
            let ones = self.ones();
            let lanes = self.b.load(Scalar::Bool, self.w, ones, 1);
            self.flow.full = Some(Full { blended: Mask::Lanes(lanes), ..full });
        }
        let from = if a.control.class[block] == Some(block) { Arrival::Incoming } else { Arrival::Current };
        let (mut all, every) = self.take_mask(block, from);
        if let (Some(entry), Some(every)) = (entry, every) {
            let others = self.label(&format!("{block}.others"));
            self.b.cond_br(self.b.all(every), entry.full, others);
            if let Some(again) = entry.again {
                self.b.at_end(again);
                self.take_mask(block, Arrival::Incoming);
                self.b.br(others);
            }
            self.b.at_end(others);
            if entry.again.is_some() {
                (all, _) = self.take_mask(block, Arrival::Current);
            }
        }
        if body != enter
            && let (Mask::Lanes(lanes), Some(skip)) = (all, a.control.skip[block].expand())
        {
            let any = self.b.any(lanes);
            self.b.cond_br(any, body, self.flow.blocks[skip].enter);
            self.b.at_end(body);
        }
        self.count_iterations(block);
        self.begin_iteration(block)?;
        self.begin_reading_ahead(block);
        self.begin_invariant_loads(block);
        let func = &a.func.blocks[block];
        let lockstep = self.bundle.lockstep.contains(block);
        for phi in &func.phis {
            let shared = lockstep && a.is_common(block, phi.result);
            self.each_subgroup(shared.then_some(all), |this| this.begin_phi(block, phi.result))?;
        }
        if lockstep {
            for inst in &func.insts {
                let shared = a.is_shared(block, inst);
                self.each_subgroup(shared.then_some(all), |this| this.inst(inst))?;
                self.meet_behind(inst)?;
            }
        } else {
            self.in_pieces(&func.insts, self.bundle.piece(block))?;
        }
        self.leave(block, end)
    }

    /// Runs a block for those sub-groups of the bundle that have a lane on, so many together.
    fn in_pieces(&mut self, insts: &[Inst], size: usize) -> Result<(), EngineError> {
        let members = self.bundle.subgroups.len();
        for first in (0..members).step_by(size) {
            let piece = first..members.min(first + size);
            let [run, next] = ["run", "next"].map(|name| self.label(name));
            let lanes = piece.clone().map(|at| self.of_member(at, |this| this.mask_vector()));
            let any = lanes.collect::<Vec<_>>().into_iter().reduce(|all, lanes| self.b.or(all, lanes));
            let any = self.b.any(any.expect("a piece has members"));
            self.b.cond_br(any, run, next);
            self.b.at_end(run);
            let before = piece.clone().map(|at| self.bundle.subgroups[at].values.block.clone());
            let before: Vec<_> = before.collect();
            for inst in insts {
                piece.clone().try_for_each(|at| self.of_member(at, |this| this.inst(inst)))?;
            }
            for (at, before) in piece.zip(before) {
                self.bundle.subgroups[at].values.block = before;
            }
            self.b.br(next);
            self.b.at_end(next);
        }
        Ok(())
    }

    /// What is made of one member of the bundle.
    pub(super) fn of_member<T>(&mut self, at: usize, make: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.bundle.at, at);
        let made = make(self);
        self.bundle.at = before;
        made
    }

    fn begin_phi(&mut self, block: BlockId, id: Id) -> Result<(), EngineError> {
        let slots = self.phi_slots_of(block, id)?;
        let leaves = self.held_leaves(id)?;
        let val = slots.iter().zip(leaves.iter()).map(|(slot, leaf)| self.load_slot(*slot, leaf.scalar));
        let val = val.collect();
        if self.a.control.blended.contains(block) && !self.uses.carried.is_read_again(id) {
            // Nobody reads the old values again; saying so spares the next round its blend.
            slots.iter().zip(leaves.iter()).for_each(|(slot, leaf)| self.forget_slot(*slot, leaf.scalar));
        }
        self.define_held(id, val)
    }

    pub(super) fn phi_slots_of(&mut self, block: BlockId, id: Id) -> Result<Rc<[Slot]>, EngineError> {
        let common = self.is_common(block, id);
        if let Some(slots) = self.values_mut(common).phi_slots.get(&id) {
            return Ok(slots.clone());
        }
        let slots = match self.uses.carried.joined(id) {
            Some((header, phi)) => self.phi_slots_of(header, phi)?,
            None => self.new_slots(id)?,
        };
        self.values_mut(common).phi_slots.insert(id, slots.clone());
        Ok(slots)
    }

    fn enter(&self, block: BlockId) -> Label {
        self.flow.blocks[block].enter
    }

    fn leave(&mut self, block: BlockId, end: Label) -> Result<(), EngineError> {
        let a = self.a;
        let term = &a.func.blocks[block].term;
        if let Terminator::IfNeeded { needed, .. } = term
            && a.variant.mapping != LaneMapping::Iterations
        {
            self.leave_unless(*needed, end)?;
        }
        match &a.control.exit[block] {
            Exit::Return => self.b.br(end),
            Exit::Latch { header, next } => {
                self.each_subgroup(None, |this| this.edge(block, *header, None))?;
                let slots: SmallVec<[Value; 1]> =
                    self.flow.blocks[*header].masks.iter().map(|slots| slots.incoming).collect();
                let lanes = || slots.iter().map(|slot| self.b.load(Scalar::Bool, self.w, *slot, 1));
                let entry = self.flow.full_entries.get(header).copied();
                if let Some(entry) = entry.filter(|_| self.is_full(*header)) {
                    let known = self.flow.full.and_then(|full| full.all_stay);
                    let every = || lanes().reduce(|all, lanes| self.b.and(all, lanes)).expect(OWNS);
                    let [all, others] = ["all", "others"].map(|name| self.label(&format!("{block}.{name}")));
                    self.b.cond_br(known.unwrap_or_else(|| self.b.all(every())), all, others);
                    self.b.at_end(all);
                    slots.iter().for_each(|slot| self.b.store(self.b.zero(Scalar::Bool, self.w), *slot, 1));
                    self.b.br(entry.full);
                    self.b.at_end(others);
                }
                let any = self.b.any(lanes().reduce(|any, lanes| self.b.or(any, lanes)).expect(OWNS));
                let again = entry.and_then(|entry| entry.again).unwrap_or_else(|| self.enter(*header));
                match next {
                    Some(next) => self.b.cond_br(any, again, self.enter(*next)),
                    None => self.b.br(again),
                }
            }
            Exit::Linear(next) => {
                let all_stay = self.all_stay(block)?;
                if let Some(full) = self.flow.full.as_mut().filter(|_| all_stay.is_some()) {
                    full.all_stay = all_stay;
                }
                let forwarded = self.forwards_to(block).is_some();
                self.each_subgroup(None, |this| {
                    let edges = if forwarded { SmallVec::new() } else { this.varying_edges(term)? };
                    edges.into_iter().try_for_each(|(to, mask)| {
                        this.edge(block, to, Some(mask))?;
                        match this.forwards_to(to) {
                            Some(join) => this.edge(to, join, Some(mask)),
                            None => Ok(()),
                        }
                    })
                })?;
                self.b.br(self.enter(*next));
            }
            Exit::Uniform(targets) => {
                let targets = targets.clone();
                self.uniform_exit(block, term, &targets)?;
            }
        }
        Ok(())
    }

    /// Whether all lanes stay in the loop that is being made for all of them, if this block decides that for each by a number that grows from lane to lane.
    fn all_stay(&mut self, block: BlockId) -> Result<Option<Value>, EngineError> {
        let a = self.a;
        let Some(header) = self.flow.full.map(|full| full.owner) else { return Ok(None) };
        let Terminator::Cond { cond, then, .. } = a.func.blocks[block].term else { return Ok(None) };
        let Some(id) = a.loops.headed_by(header) else { return Ok(None) };
        let this = a.loops.get(id);
        let decides = matches!(*this.exits, [(from, _)] if from == block)
            && a.control.class[block] == Some(header)
            && a.doms.dominates(block, this.latch);
        let compared = a.definition(cond).filter(|_| decides);
        let Some((inst, predicate)) = compared.and_then(|inst| Some((inst, int_compare(inst.op)?))) else {
            return Ok(None);
        };
        if !inst.ids().all(|id| self.is_at_hand_behind(block, id)) {
            return Ok(None);
        }
        let stays_if = a.loops.encloses(Some(id), a.loops.of(then));
        let predicate = if stays_if { predicate } else { bounds::inverse(predicate) };
        let mut all = None;
        for at in 0..self.bundle.subgroups.len() {
            let one = self.of_member(at, |this| bounds::holds_for_all(this, inst, predicate))?;
            let Some(one) = one else { return Ok(None) };
            all = Some(all.map_or(one, |others| self.b.and(others, one)));
        }
        Ok(all)
    }

    /// Whether a value is there at the end of a block. Of what sub-groups make in it one after the other, that is only what others use, too.
    fn is_at_hand_behind(&self, block: BlockId, id: Id) -> bool {
        let made_here = self.a.def.get(&id) == Some(&block) && self.a.definition(id).is_some();
        !made_here || self.bundle.lockstep.contains(block) || self.uses.crossing.contains(&id)
    }

    /// Goes to the end of the kernel if a condition holds for no lane of any sub-group. (Iterations of a loop of LLVM's are put into
    /// vectors only if they all do the same.)
    fn leave_unless(&mut self, needed: Id, end: Label) -> Result<(), EngineError> {
        let go_on = self.label("needed");
        let mut any = None;
        self.each_subgroup(None, |this| {
            let reg = this.leaf(needed)?;
            let lanes = this.both(this.mask_vector(), this.vector(reg));
            any = Some(any.map_or(lanes, |others| this.b.or(others, lanes)));
            Ok(())
        })?;
        let any = self.b.any(any.expect("a bundle has a sub-group"));
        self.b.cond_br(any, go_on, end);
        self.b.at_end(go_on);
        Ok(())
    }

    /// Whether a condition is true for all lanes of all sub-groups, and all of them are on: one answer for the bundle.
    fn holds_for_all(&mut self, condition: Id) -> Result<Value, EngineError> {
        // The last sub-group of a line is rare, and not worth another body.
        if self.bundle.entered() != Mask::All && self.a.variant.mapping == LaneMapping::Line {
            return Ok(self.b.int(Scalar::Bool, 1, 0));
        }
        let mut all = None;
        for at in 0..self.bundle.subgroups.len() {
            let one = self.of_member(at, |this| match this.mask() {
                Mask::All => this.holds(condition),
                Mask::Lanes(lanes) => {
                    let holds = this.holds(condition)?;
                    Ok(this.b.and(this.b.all(lanes), holds))
                }
            })?;
            all = Some(all.map_or(one, |others| self.b.and(others, one)));
        }
        Ok(all.expect("a bundle has a sub-group"))
    }

    /// Whether no more than so many lanes are on.
    fn are_few(&self, most: u32) -> Value {
        let lanes = self.b.intrinsic("llvm.ctpop", &[self.active_bits()]);
        self.b.icmp(IntPred::LLVMIntULE, lanes, self.b.i64(most.into()))
    }

    /// Whether a condition is true for all lanes of a sub-group; comparisons that are one of its parts are asked for the lane that decides them.
    fn holds(&mut self, condition: Id) -> Result<Value, EngineError> {
        let (a, block) = (self.a, self.current_block());
        // Of what comes from elsewhere nothing but itself is at hand, nor is it at the end of a block that sub-groups run one by one.
        let is_here = a.def.get(&condition) == Some(&block) && self.bundle.lockstep.contains(block);
        if let Some(inst) = a.definition(condition).filter(|_| is_here) {
            if inst.op == Op::LogicalAnd {
                let parts = (self.holds(inst.id(0))?, self.holds(inst.id(1))?);
                return Ok(self.b.and(parts.0, parts.1));
            }
            if let Some(predicate) = int_compare(inst.op)
                && let Some(all) = bounds::holds_for_all(self, inst, predicate)?
            {
                return Ok(self.b.freeze(all));
            }
        }
        let reg = self.leaf(condition)?;
        // Each by itself: what is not asked for, as another part is false, may be anything.
        Ok(match reg.scalar().filter(|_| reg.is_uniform()) {
            Some(all) => self.b.freeze(all),
            None => self.b.all(self.b.freeze(self.vector(reg))),
        })
    }

    /// The lanes that leave to each successor.
    fn varying_edges(&mut self, term: &Terminator) -> Result<SmallVec<[(BlockId, Value); 2]>, EngineError> {
        let mask = self.mask_vector();
        let mut edges: SmallVec<[(BlockId, Value); 2]> = SmallVec::new();
        let mut places: FxHashMap<BlockId, usize> = FxHashMap::default();
        let mut add = |b: &super::builder::Builder, to: BlockId, lanes: Value| match places.get(&to) {
            Some(&at) => edges[at].1 = b.or(edges[at].1, lanes),
            None => {
                places.insert(to, edges.len());
                edges.push((to, lanes));
            }
        };
        match term {
            Terminator::Branch(to) | Terminator::IfNeeded { to, .. } => add(&self.b, *to, mask),
            Terminator::Cond { cond, then, els } => {
                let reg = self.leaf(*cond)?;
                let cond = self.vector(reg);
                add(&self.b, *then, self.both(mask, cond));
                add(&self.b, *els, self.both(mask, self.b.not(cond)));
            }
            Terminator::IfAll { holds, then, els, .. } => {
                let all = self.holds_for_all(*holds)?;
                let none = self.b.zero(Scalar::Bool, self.w);
                add(&self.b, *then, self.b.select(all, mask, none));
                add(&self.b, *els, self.b.select(all, none, mask));
            }
            Terminator::IfFew { most, then, els } => {
                let few = self.are_few(*most);
                let none = self.b.zero(Scalar::Bool, self.w);
                add(&self.b, *then, self.b.select(few, mask, none));
                add(&self.b, *els, self.b.select(few, none, mask));
            }
            Terminator::Switch { selector, cases, default } => {
                let reg = self.leaf(*selector)?;
                let value = self.vector(reg);
                let scalar = self.b.scalar_of(value);
                let mut rest = mask;
                for (number, to) in cases {
                    let number = self.b.int(scalar, self.w, *number);
                    let hit = self.b.icmp(IntPred::LLVMIntEQ, value, number);
                    add(&self.b, *to, self.both(rest, hit));
                    rest = self.both(rest, self.b.not(hit));
                }
                add(&self.b, *default, rest);
            }
            Terminator::Dispatch { selector, targets } => {
                let reg = self.leaf(*selector)?;
                let value = self.vector(reg);
                for (number, to) in targets.iter().enumerate() {
                    let number = self.b.int(Scalar::I32, self.w, number as u64);
                    let hit = self.b.icmp(IntPred::LLVMIntEQ, value, number);
                    add(&self.b, *to, self.both(mask, hit));
                }
            }
            Terminator::Return => {}
        }
        Ok(edges)
    }

    /// The lanes of `mask` for which a condition holds. A condition may be poison in lanes that are off, so this is
    /// a selection, which such lanes do not reach through, and no bitwise operation.
    fn both(&self, mask: Value, condition: Value) -> Value {
        self.b.select(mask, condition, self.b.zero(Scalar::Bool, self.w))
    }

    fn uniform_exit(
        &mut self,
        block: BlockId,
        term: &Terminator,
        targets: &[BlockId],
    ) -> Result<(), EngineError> {
        let a = self.a;
        let succs = &a.cfg.succs[block];
        if let [only] = succs.as_slice() {
            if self.forwards_to(block).is_none() {
                self.each_subgroup(None, |this| this.edge(block, *only, None))?;
            }
            let is_back = a.loops.is_back_edge(block, *only) && targets[0] == *only;
            match a.loops.of(block).filter(|id| is_back && a.unrolls(*id)) {
                Some(_) => self.b.br_back_unrolled(self.enter(targets[0])),
                None => self.b.br(self.enter(targets[0])),
            }
            return Ok(());
        }
        // Each edge that has something to do gets an LLVM block of its own.
        let mut labels: SmallVec<[Label; 2]> = SmallVec::new();
        let from = self.b.here();
        for (succ, target) in succs.iter().zip(targets) {
            if self.edge_is_empty(*succ) {
                labels.push(self.enter(*target));
                continue;
            }
            let label = self.label(&format!("{block}.to.{succ}"));
            self.b.at_end(label);
            // What the edge loads from slots may not be taken for values of the block itself.
            self.position.on_edge = true;
            self.each_subgroup(None, |this| this.edge(block, *succ, None))?;
            self.position.on_edge = false;
            self.bundle.common.edge.clear();
            self.bundle.subgroups.iter_mut().for_each(|of| of.values.edge.clear());
            self.b.br(self.enter(*target));
            labels.push(label);
        }
        self.b.at_end(from);
        let label_of: FxHashMap<BlockId, Label> = succs.iter().copied().zip(labels).collect();
        let label = |to: &BlockId| label_of[to];
        let selector = term.condition().map(|id| self.leaf(id)).transpose()?;
        let scalar = |this: &Self| {
            let reg = selector.expect("several successors need a condition");
            reg.scalar().unwrap_or_else(|| this.b.extract(this.vector(reg), this.b.i32(0)))
        };
        match term {
            Terminator::Cond { then, els, .. } => {
                self.b.cond_br(scalar(self), label(then), label(els));
            }
            Terminator::IfAll { holds, then, els, is_expected } => {
                let all = self.holds_for_all(*holds)?;
                match is_expected {
                    true => self.b.cond_br_usually(all, label(then), label(els)),
                    false => self.b.cond_br(all, label(then), label(els)),
                }
            }
            Terminator::IfFew { most, then, els } => {
                let few = self.are_few(*most);
                self.b.cond_br(few, label(then), label(els));
            }
            Terminator::Switch { cases, default, .. } => {
                let mut seen = FxHashSet::default();
                let cases: Vec<(u64, Label)> = cases
                    .iter()
                    .filter(|(number, _)| seen.insert(*number))
                    .map(|(number, to)| (*number, label(to)))
                    .collect();
                self.b.switch(scalar(self), label(default), &cases);
            }
            Terminator::Dispatch { targets, .. } => {
                let cases: Vec<(u64, Label)> =
                    targets.iter().enumerate().map(|(number, to)| (number as u64, label(to))).collect();
                self.b.switch(scalar(self), cases[0].1, &cases[1..]);
            }
            Terminator::Branch(_) | Terminator::IfNeeded { .. } | Terminator::Return => {
                unreachable!("they have at most one successor")
            }
        }
        Ok(())
    }

    fn edge_is_empty(&self, to: BlockId) -> bool {
        self.a.func.blocks[to].phis.is_empty() && self.a.control.class[to] != Some(to)
    }

    /// The join that a block only hands lanes on to which left a branch for it. The branch does so in its place: the phis of the join have what comes
    /// from there before another side comes to them, which blends over it, or takes their place where it is executed for all lanes.
    fn forwards_to(&self, block: BlockId) -> Option<BlockId> {
        let a = self.a;
        let code = &a.func.blocks[block];
        let Terminator::Branch(join) = code.term else { return None };
        let [branch] = *a.cfg.preds[block].as_slice() else { return None };
        let in_one_loop = a.loops.of(branch) == a.loops.of(block) && a.loops.of(block) == a.loops.of(join);
        let is_empty = code.phis.is_empty() && code.insts.is_empty();
        let goes_back = a.loops.is_back_edge(block, join) || a.loops.is_back_edge(branch, block);
        let leaves = |block: BlockId| matches!(a.control.exit[block], Exit::Linear(_));
        let is_forwarded = is_empty
            && in_one_loop
            && !goes_back
            && self.w > 1
            && leaves(branch)
            && (leaves(block) || matches!(a.control.exit[block], Exit::Uniform(_)))
            && a.control.blended.contains(join);
        is_forwarded.then_some(join)
    }

    /// Hands the values of phis and the lanes of a sub-group over from a block to a successor.
    fn edge(&mut self, from: BlockId, to: BlockId, lanes: Option<Value>) -> Result<(), EngineError> {
        let a = self.a;
        let blended = a.control.blended.contains(to) && self.w > 1;
        let mut moves: SmallVec<[(Id, bool, super::values::Val); 4]> = SmallVec::new();
        for (place, phi) in a.func.blocks[to].phis.iter().enumerate() {
            if self.bundle.at > 0 && a.is_common(to, phi.result) {
                continue;
            }
            // All values are read before any phi changes: phis of a loop may exchange values.
            if let Ok(at) = phi.incoming.binary_search_by_key(&from, |(pred, _)| *pred) {
                let value = phi.incoming[at].1;
                let blended = match self.uses.carried.on_edge(a, [from, to], phi.result, value) {
                    Move::Held => continue,
                    Move::Blended => true,
                    // Of what is the same on all ways, the first lane's number may stand for all.
                    Move::Free => blended && a.blends(to, place),
                };
                let form = self.packing_of(phi.result);
                let val = self.packed(form, |this| this.value(value))?;
                moves.push((phi.result, blended, val));
            }
        }
        for (result, blended, val) in moves {
            let slots = self.phi_slots_of(to, result)?;
            let leaves = self.held_leaves(result)?;
            let packing = self.packing_of(result);
            for (at, ((slot, reg), leaf)) in (0..).zip(slots.iter().zip(val).zip(leaves.iter())) {
                let reg = self.with_scalar(reg, *slot);
                if blended {
                    let mask = lanes.unwrap_or_else(|| self.vector_of(self.blended()));
                    let mask = packing.map_or(mask, |packing| self.packed_mask(mask, packing, at));
                    self.blend_slot(*slot, reg, mask, leaf.scalar);
                } else {
                    self.store_slot(*slot, reg);
                }
            }
        }
        if let Some(slots) = self.flow.blocks[to].masks.get(self.bundle.at).copied() {
            let new = lanes.unwrap_or_else(|| self.mask_vector());
            let old = self.b.load(Scalar::Bool, self.w, slots.incoming, 1);
            self.b.store(self.b.or(old, new), slots.incoming, 1);
        }
        Ok(())
    }

    /// An operand whose lanes are known well enough for its phi's slot.
    fn with_scalar(&self, reg: Reg, slot: Slot) -> Reg {
        if slot.has_scalar() && reg.scalar().is_none() {
            let vector = self.vector(reg);
            let first = self.b.extract(vector, self.b.i32(0));
            return Reg::strided(first, vector);
        }
        reg
    }
}
