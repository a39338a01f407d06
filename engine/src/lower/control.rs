//! Blocks, edges and masks: emits the plan that `analysis::linear` made.
//!
//! A block that owns a mask collects it in a slot from its incoming edges, takes it over when it begins
//! and leaves the slot empty for the next time. Phis are slots that edges write.

use super::Lowerer;
use super::builder::{IntPred, Label, Value};
use super::values::{Mask, Reg, Slot};
use crate::analysis::func::{BlockId, Terminator};
use crate::analysis::leaves::Scalar;
use crate::analysis::linear::Exit;
use crate::error::EngineError;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use spirv::Op;
use spirv_env::{Id, Inst};
use std::rc::Rc;

/// The LLVM blocks of a block, and its mask slots if it owns a mask.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockCode {
    /// Where jumps to the block go.
    enter: Label,
    /// Where its instructions begin; differs from `enter` if empty masks skip it.
    body: Label,
    mask: Option<MaskSlots>,
}

#[derive(Clone, Copy, Debug)]
struct MaskSlots {
    /// Collects the lanes that come in.
    incoming: Value,
    /// The lanes that the block was entered with, for the blocks that share its mask.
    current: Value,
}

/// Control-flow and other instructions that the engine handles outside the instruction families.
pub fn supports(op: Op) -> bool {
    matches!(
        op,
        Op::Phi
            | Op::Branch
            | Op::BranchConditional
            | Op::Switch
            | Op::Return
            | Op::ReturnValue
            | Op::Unreachable
            | Op::FunctionCall
            | Op::AssumeTrueKHR
            | Op::NoLine
            | Op::Line
            | Op::Label
            | Op::LoopMerge
            | Op::SelectionMerge
    )
}

/// Values that are used outside the block that makes them: (within reach, after a divergent loop).
pub(super) fn uses_across_blocks(
    a: &crate::analysis::shapes::Analysis<'_>,
) -> (FxHashSet<Id>, FxHashSet<Id>) {
    let (mut crossing, mut temporal) = (FxHashSet::default(), FxHashSet::default());
    let mut note = |block: BlockId, id: Id| match a.def.get(&id) {
        None => {}
        Some(_) if a.is_temporal(block, id) => {
            temporal.insert(id);
        }
        Some(def) if *def != block => {
            crossing.insert(id);
        }
        Some(_) => {}
    };
    for block in a.func.block_ids() {
        let code = &a.func.blocks[block.index()];
        for phi in &code.phis {
            phi.incoming.iter().for_each(|(pred, id)| note(*pred, *id));
        }
        code.insts.iter().flat_map(|inst| inst.ids()).for_each(|id| note(block, id));
        code.term.condition().into_iter().for_each(|id| note(block, id));
    }
    // A dynamic component index is used where the built-in is loaded.
    for (block, inst) in a
        .func
        .block_ids()
        .flat_map(|block| a.func.blocks[block.index()].insts.iter().map(move |inst| (block, inst)))
    {
        if inst.op == Op::Load
            && let Some(pointer) = a.builtins.get(&inst.id(0))
            && let Some(crate::analysis::builtins::Component::Dynamic(index)) = pointer.component
        {
            note(block, index);
        }
    }
    (crossing, temporal)
}

impl Lowerer<'_, '_> {
    /// Lowers all blocks; the end of the kernel goes to `end`.
    pub(super) fn body(&mut self, end: Label) -> Result<(), EngineError> {
        let a = self.a;
        for block in a.func.block_ids() {
            let code = self.new_block(block);
            self.blocks.push(code);
        }
        for &block in &a.regions.order {
            self.block(block, end)?;
        }
        self.b.at_end(self.prologue);
        self.b.br(self.blocks[crate::analysis::func::ENTRY.index()].enter);
        Ok(())
    }

    fn new_block(&self, block: BlockId) -> BlockCode {
        let control = &self.a.control;
        let enter = self.b.block(self.function, &format!("b{}", block.0));
        let owns = control.class[block.index()] == Some(block);
        let guarded = owns
            && control.skip[block.index()].is_some()
            && !matches!(control.exit[block.index()], Exit::Latch { .. })
            && !self.is_cheap(block);
        let body = if guarded { self.b.block(self.function, &format!("b{}.body", block.0)) } else { enter };
        let mask = owns.then(|| {
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
        });
        BlockCode { enter, body, mask }
    }

    /// Whether running a block for no lane at all is harmless and cheaper than a test and a jump.
    fn is_cheap(&self, block: BlockId) -> bool {
        const FEW: usize = 6;
        let code = &self.a.func.blocks[block.index()];
        let harmless = |inst: &Inst| {
            (super::arithmetic::supports(inst.op) && !super::arithmetic::is_division(inst.op))
                || super::composite::supports(inst.op)
        };
        let leads_on = matches!(
            (&code.term, &self.a.control.exit[block.index()]),
            (Terminator::Branch(_), Exit::Uniform(_)) | (_, Exit::Linear(_))
        );
        // A preheader would lead into a loop that runs for nobody.
        let to_loop = self.a.cfg.succs[block.index()]
            .iter()
            .any(|to| self.a.loops.of(*to).is_some_and(|id| self.a.loops.get(id).header == *to));
        leads_on && !to_loop && code.insts.len() <= FEW && code.insts.iter().all(harmless)
    }

    fn block(&mut self, block: BlockId, end: Label) -> Result<(), EngineError> {
        let a = self.a;
        let code = self.blocks[block.index()];
        self.block = block;
        self.values.clear();
        self.b.at_end(code.enter);
        self.mask = match a.control.class[block.index()] {
            None => self.entry_mask,
            Some(owner) => {
                let slots = self.blocks[owner.index()].mask.expect("an owner has mask slots");
                let lanes = if owner == block {
                    // Taken over even if nobody is in: LLVM then knows that the slot is empty from here on.
                    let lanes = self.b.load(Scalar::Bool, self.w, slots.incoming, 1);
                    self.b.store(self.b.zero(Scalar::Bool, self.w), slots.incoming, 1);
                    self.b.store(lanes, slots.current, 1);
                    lanes
                } else {
                    self.b.load(Scalar::Bool, self.w, slots.current, 1)
                };
                Mask::Lanes(lanes)
            }
        };
        if code.body != code.enter
            && let (Mask::Lanes(lanes), Some(skip)) = (self.mask, a.control.skip[block.index()])
        {
            let any = self.b.any(lanes);
            self.b.cond_br(any, code.body, self.blocks[skip.index()].enter);
            self.b.at_end(code.body);
        }
        let func = &a.func.blocks[block.index()];
        for phi in &func.phis {
            let slots = self.phi_slots_of(phi.result)?;
            let leaves = self.leaves_of(phi.result)?;
            let val = slots.iter().zip(leaves.iter()).map(|(slot, leaf)| self.load_slot(*slot, leaf.scalar));
            let val = val.collect();
            if a.control.blended[block.index()] {
                // Nobody reads the old values again; saying so spares the next round its blend.
                slots.iter().zip(leaves.iter()).for_each(|(slot, leaf)| self.forget_slot(*slot, leaf.scalar));
            }
            self.define(phi.result, val)?;
        }
        for inst in &func.insts {
            self.inst(inst)?;
        }
        self.leave(block, end)
    }

    fn phi_slots_of(&mut self, id: Id) -> Result<Rc<[Slot]>, EngineError> {
        if let Some(slots) = self.phi_slots.get(&id) {
            return Ok(slots.clone());
        }
        let slots = self.new_slots(id)?;
        self.phi_slots.insert(id, slots.clone());
        Ok(slots)
    }

    fn enter(&self, block: BlockId) -> Label {
        self.blocks[block.index()].enter
    }

    fn leave(&mut self, block: BlockId, end: Label) -> Result<(), EngineError> {
        let a = self.a;
        let term = &a.func.blocks[block.index()].term;
        match &a.control.exit[block.index()] {
            Exit::Return => self.b.br(end),
            Exit::Latch { header, next } => {
                self.edge(*header, None)?;
                let slots = self.blocks[header.index()].mask.expect("a divergent loop's header owns a mask");
                let stay = self.b.load(Scalar::Bool, self.w, slots.incoming, 1);
                let any = self.b.any(stay);
                match next {
                    Some(next) => self.b.cond_br(any, self.enter(*header), self.enter(*next)),
                    None => self.b.br(self.enter(*header)),
                }
            }
            Exit::Linear(next) => {
                let edges = self.varying_edges(term)?;
                for (to, mask) in edges {
                    self.edge(to, Some(mask))?;
                }
                self.b.br(self.enter(*next));
            }
            Exit::Uniform(targets) => {
                let targets = targets.clone();
                self.uniform_exit(block, term, &targets)?;
            }
        }
        Ok(())
    }

    /// The lanes that leave to each successor.
    fn varying_edges(&mut self, term: &Terminator) -> Result<SmallVec<[(BlockId, Value); 2]>, EngineError> {
        let mask = self.mask_vector();
        let mut edges: SmallVec<[(BlockId, Value); 2]> = SmallVec::new();
        let mut add = |b: &super::builder::Builder, to: BlockId, lanes: Value| match edges
            .iter_mut()
            .find(|(block, _)| *block == to)
        {
            Some((_, all)) => *all = b.or(*all, lanes),
            None => edges.push((to, lanes)),
        };
        match term {
            Terminator::Branch(to) => add(&self.b, *to, mask),
            Terminator::Cond { cond, then, els } => {
                let reg = self.leaf(*cond)?;
                let cond = self.vector(reg);
                add(&self.b, *then, self.both(mask, cond));
                add(&self.b, *els, self.both(mask, self.b.not(cond)));
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
        let succs = &a.cfg.succs[block.index()];
        if let [only] = succs.as_slice() {
            self.edge(*only, None)?;
            self.b.br(self.enter(targets[0]));
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
            let label = self.b.block(self.function, &format!("b{}.to.b{}", block.0, succ.0));
            self.b.at_end(label);
            // What the edge loads from slots may not be taken for values of the block itself.
            let values = self.values.clone();
            self.edge(*succ, None)?;
            self.values = values;
            self.b.br(self.enter(*target));
            labels.push(label);
        }
        self.b.at_end(from);
        let label =
            |to: &BlockId| labels[succs.iter().position(|succ| succ == to).expect("a target is a successor")];
        let selector = term.condition().map(|id| self.leaf(id)).transpose()?;
        let scalar = |this: &Self| {
            let reg = selector.expect("several successors need a condition");
            reg.scalar().unwrap_or_else(|| this.b.extract(this.vector(reg), this.b.i32(0)))
        };
        match term {
            Terminator::Cond { then, els, .. } => {
                self.b.cond_br(scalar(self), label(then), label(els));
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
            Terminator::Branch(_) | Terminator::Return => unreachable!("they have at most one successor"),
        }
        Ok(())
    }

    fn edge_is_empty(&self, to: BlockId) -> bool {
        self.a.func.blocks[to.index()].phis.is_empty() && self.a.control.class[to.index()] != Some(to)
    }

    /// Hands the values of phis and the lanes over to a successor.
    fn edge(&mut self, to: BlockId, lanes: Option<Value>) -> Result<(), EngineError> {
        let a = self.a;
        let from = self.block;
        let blended = a.control.blended[to.index()] && self.w > 1;
        let mut moves: SmallVec<[(Id, super::values::Val); 4]> = SmallVec::new();
        for phi in &a.func.blocks[to.index()].phis {
            // All values are read before any phi changes: phis of a loop may exchange values.
            if let Some((_, id)) = phi.incoming.iter().find(|(pred, _)| *pred == from) {
                moves.push((phi.result, self.value(*id)?));
            }
        }
        for (result, val) in moves {
            let slots = self.phi_slots_of(result)?;
            let leaves = self.leaves_of(result)?;
            for ((slot, reg), leaf) in slots.iter().zip(val).zip(leaves.iter()) {
                let reg = self.with_scalar(reg, *slot);
                if blended {
                    let mask = lanes.unwrap_or_else(|| self.mask_vector());
                    self.blend_slot(*slot, reg, mask, leaf.scalar);
                } else {
                    self.store_slot(*slot, reg);
                }
            }
        }
        if a.control.class[to.index()] == Some(to)
            && let Some(slots) = self.blocks[to.index()].mask
        {
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
