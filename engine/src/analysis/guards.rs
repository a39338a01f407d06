//! Guards: parts of a kernel that work-items run whose ids are within a bound, as in `if (i < n)`, and loops that go on for those,
//! as in `for (i = id; i < n; i += size)`.
//!
//! Nearly always all lanes of a sub-group are within it, or none. Where masks cost something, such a part is worth being there
//! twice: once for sub-groups all of whose lanes are on, without a mask, and once for the others (`lower::control`). What a part says of edges, as stencils do
//! (`if (x < w) { if (x > 0 && x < w - 1) ... }`), is a guard for those that are in the part together.

use super::Analysis;
use super::func::{BlockId, Terminator};
use super::linearization::Exit;
use super::loops::LoopId;
use super::shapes::Shape;
use crate::lower::opencl_std::table;
use rustc_hash::FxHashSet;
use spirv::{Op, StorageClass};
use spirv_env::opcodes::{Convergence, Family, Memory, divides_integers};
use spirv_env::{Id, Inst};

/// Instructions that such parts have at most, all together, counted for each sub-group of a bundle: those of the processor, roughly.
const MOST_INSTS: usize = 700;
/// How much more they may be where sub-groups meet in them.
const IF_MET_IN: usize = 3;
/// Of these, what each lane does for itself: divisions of integers, accesses that are no rows.
const LANE_BY_LANE: usize = 40;
/// Blocks of a part that is looked through for others in it.
const MOST_BLOCKS: usize = 64;
/// Lanes that a stride is as long as, at least.
const LEAST_STRIDE: u64 = 64;
/// Comparisons, and what joins them, that are looked through from a condition.
const MOST_DEPTH: u32 = 8;

/// A guarded part: blocks in the order in which they are visited, the first of which owns the mask. Nothing leads to the others but from blocks of the part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    pub blocks: Vec<BlockId>,
    /// Parts of it that are guarded by more than that. They are there without masks where the whole of it is.
    pub inner: Vec<Part>,
}

/// What guarded parts are worth that are there without masks, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Worth {
    /// More than that sub-groups do not wait for each other: bundles are no larger than all of them can be there.
    More,
    /// Less than that: what is one bundle stays that, and has them if there is room.
    Less,
}

impl Analysis<'_> {
    /// The guarded parts, none of which is in another but as that one's.
    pub fn guarded(&self, worth: Worth) -> Vec<Part> {
        let has_room = || self.all_guarded().1 >= self.factor() as usize;
        if worth == Worth::Less && self.variant.one_bundle && !has_room() {
            return Vec::new();
        }
        let (mut parts, insts) = self.guards(&self.regions.order, MOST_INSTS);
        let mut left = MOST_INSTS - insts;
        parts.iter_mut().for_each(|part| self.find_inner(part, &mut left));
        parts
    }

    fn find_inner(&self, part: &mut Part, left: &mut usize) {
        if part.blocks.len() > MOST_BLOCKS {
            return;
        }
        let (inner, insts) = self.guards(&part.blocks[1..], *left);
        *left -= insts;
        part.inner = inner;
        part.inner.iter_mut().for_each(|part| self.find_inner(part, left));
    }

    /// Those that there would be if code cost nothing, without what is in them, and the largest bundle that has them all.
    pub fn all_guarded(&self) -> (Vec<Part>, usize) {
        let (parts, insts) = self.guards(&self.regions.order, usize::MAX);
        (parts, MOST_INSTS / (insts / self.factor() as usize).max(1))
    }

    /// The guarded parts among blocks in the order of visits, with no more than so many instructions, and how many they have.
    fn guards(&self, order: &[BlockId], most: usize) -> (Vec<Part>, usize) {
        let mut parts: Vec<Part> = Vec::new();
        let (mut end, mut left) = (0, most);
        for (at, &block) in order.iter().enumerate() {
            if at >= end
                && let Some((blocks, insts)) = self.guarded_from(block, left)
                && order[at..].starts_with(&blocks)
                && !self.has_guarded_loop(&blocks, left)
            {
                end = at + blocks.len();
                left -= insts;
                parts.push(Part { blocks, inner: Vec::new() });
            }
        }
        (parts, most - left)
    }

    /// Whether a loop in a part is one itself: who goes through it in strides has masks in each iteration, were it not there twice. Compilers ask in front of
    /// such a loop whether it is gone through at all, which makes a part of it.
    fn has_guarded_loop(&self, part: &[BlockId], most: usize) -> bool {
        part[1..]
            .iter()
            .any(|block| self.loops.headed_by(*block).is_some() && self.guarded_from(*block, most).is_some())
    }

    /// The part that begins with a block, if it has no more than so many instructions, and how many it has.
    fn guarded_from(&self, first: BlockId, most: usize) -> Option<(Vec<BlockId>, usize)> {
        let control = &self.control;
        let is_latch = matches!(control.exit[first], Exit::Latch { .. });
        if self.variant.width == 1 || control.class[first] != Some(first) || is_latch {
            return None;
        }
        let at = self.position(first);
        let this = self.loops.headed_by(first).map(|id| self.loops.get(id));
        let (decides, end) = match this {
            // The one block that the loop is left from.
            Some(this) => (this.exits.as_slice(), at + this.blocks.len()),
            None => (&[(self.only_pred(first)?, first)][..], self.position(control.skip[first].expand()?)),
        };
        let [(decides, _)] = *decides else { return None };
        let Terminator::Cond { cond, then, .. } = self.func.blocks[decides].term else { return None };
        let part = self.regions.order.get(at..end)?;
        let is_worth_it = self.is_guard(decides, cond, part.contains(&then), MOST_DEPTH)
            && !self.is_of_known_items(cond, MOST_DEPTH)
            && self.is_plain(part)
            && part.iter().any(|block| {
                control.class[*block] == Some(first) && (self.has_rows(*block) || self.has_objects(*block))
            })
            && self.is_entered_first(part);
        let count = || {
            let of_blocks: usize = part.iter().map(|block| self.processor_insts(*block)).sum();
            let insts = of_blocks * self.factor() as usize;
            // Who meets under a mask saves it with all that is in registers.
            if self.meets_in(part) { insts / IF_MET_IN } else { insts }
        };
        is_worth_it.then(count).filter(|insts| *insts <= most).map(|insts| (part.to_vec(), insts))
    }

    fn only_pred(&self, block: BlockId) -> Option<BlockId> {
        match *self.cfg.preds[block].as_slice() {
            [pred] => Some(pred),
            _ => None,
        }
    }

    fn position(&self, block: BlockId) -> usize {
        self.regions.position[block] as usize
    }

    /// Whether a condition is this for all lanes of nearly every sub-group, or for none: it says on which side of bounds ids are, or that they are not
    /// a certain one.
    fn is_guard(&self, at: BlockId, condition: Id, wanted: bool, depth: u32) -> bool {
        let is_uniform = |id: Id| self.shape(at, id).iter().all(|shape| shape.is_uniform());
        if is_uniform(condition) {
            return true;
        }
        let Some(inst) = self.definition(condition).filter(|_| depth > 0) else { return false };
        match inst.op {
            Op::LogicalNot => inst.ids().all(|part| self.is_guard(at, part, !wanted, depth - 1)),
            Op::LogicalAnd | Op::LogicalOr | Op::Select => {
                inst.ids().all(|part| self.is_guard(at, part, wanted, depth - 1))
            }
            Op::IEqual if wanted => false,
            Op::INotEqual if !wanted => false,
            Op::ULessThan
            | Op::ULessThanEqual
            | Op::UGreaterThan
            | Op::UGreaterThanEqual
            | Op::SLessThan
            | Op::SLessThanEqual
            | Op::SGreaterThan
            | Op::SGreaterThanEqual
            | Op::IEqual
            | Op::INotEqual => inst.ids().all(|id| {
                let shape = self.shape(at, id);
                matches!(*shape, [Shape::Strided(_)]) || is_uniform(id)
            }),
            _ => false,
        }
    }

    /// Whether lanes go through a range in strides that are longer than a bundle, as in `for (i = id; i < n; i += size)`: all leave that loop in one iteration or
    /// in the next.
    pub fn is_grid_stride(&self, id: LoopId) -> bool {
        let [(decides, _)] = *self.loops.get(id).exits else { return false };
        let Terminator::Cond { cond, then, .. } = self.func.blocks[decides].term else { return false };
        let stays_if = self.loops.encloses(Some(id), self.loops.of(then));
        let strides = |of: Id| match *self.shape(decides, of) {
            [Shape::Strided(step)] => self.grows_by_strides(id, of, step, MOST_DEPTH),
            _ => false,
        };
        self.is_guard(decides, cond, stays_if, MOST_DEPTH)
            && self.definition(cond).is_some_and(|inst| inst.ids().any(strides))
    }

    /// Whether a number grows by so many lanes' steps in each iteration.
    fn grows_by_strides(&self, inside: LoopId, id: Id, step: i64, depth: u32) -> bool {
        if let Some(by) = self.induction(inside, id) {
            return match self.func.constant_int(by) {
                Some(by) => by.unsigned_abs() >= LEAST_STRIDE.saturating_mul(step.unsigned_abs()),
                None => self.is_invariant(inside, by) && self.shape_at_definition(by)[0] == Shape::Uniform,
            };
        }
        let Some(inst) = self.definition(id).filter(|_| depth > 0) else { return false };
        match inst.op {
            Op::IAdd | Op::SConvert | Op::UConvert | Op::CopyObject => {
                inst.ids().any(|part| self.grows_by_strides(inside, part, step, depth - 1))
            }
            _ => false,
        }
    }

    /// Whether blocks are instructions that each do the same for a sub-group, whoever else is there, or in which those meet that are there.
    fn is_plain(&self, part: &[BlockId]) -> bool {
        let insts = || part.iter().flat_map(|block| &self.func.blocks[*block].insts);
        let is_plain = |inst: &Inst| {
            let row = inst.row();
            let is_alone =
                row.convergence == Convergence::None && !inst.waits_for_work_group(self.func.module);
            (is_alone || self.meets_under_masks(inst))
                && !matches!(row.family, Family::Atomic | Family::Call | Family::Image | Family::Matrix)
                && !inst.waits_for_launch(self.func.module)
        };
        insts().all(is_plain)
    }

    /// Instructions of the processor that a block is, roughly, for one sub-group.
    pub fn processor_insts(&self, block: BlockId) -> usize {
        let of_inst = |inst: &Inst| match (inst.row().family, inst.row().memory) {
            (Family::Extended, _) => {
                let function = inst.opencl_std(self.func.module);
                function.map_or(table::LENGTH, |function| table::length(function.op)).0
            }
            (_, Memory::Read { .. } | Memory::Write { .. })
                if !self.builtins.contains_key(&inst.id(0))
                    && self.shape(block, inst.id(0)).contains(&Shape::Varying) =>
            {
                LANE_BY_LANE
            }
            _ if divides_integers(inst.op) => LANE_BY_LANE,
            _ => 1,
        };
        self.func.blocks[block].insts.iter().map(of_inst).sum()
    }

    /// Whether a block accesses memory for lanes side by side.
    fn has_rows(&self, block: BlockId) -> bool {
        self.func.blocks[block].insts.iter().any(|inst| {
            let pointer = match inst.row().memory {
                Memory::Read { .. } | Memory::Write { .. } => inst.id(0),
                _ => return false,
            };
            !self.builtins.contains_key(&pointer)
                && self.func.class_of(pointer).is_some_and(|class| class != StorageClass::Function)
                && (matches!(*self.shape(block, pointer), [Shape::Strided(_)])
                    || self.may_be_row(block, pointer))
        })
    }

    /// Whether a block accesses vectors that each lane has for itself: lanes that are off need another address for each.
    fn has_objects(&self, block: BlockId) -> bool {
        self.func.blocks[block].insts.iter().any(|inst| self.is_apart(block, inst))
    }

    /// Whether control enters blocks by the first of them only, and no loop is partly there.
    fn is_entered_first(&self, part: &[BlockId]) -> bool {
        let first = part[0];
        let inside: FxHashSet<BlockId> = part.iter().copied().collect();
        let is_inner = |block: &BlockId| *block != first && inside.contains(block);
        self.func.block_ids().all(|block| {
            let is_of_part = inside.contains(&block);
            let leads_to: Vec<BlockId> = match &self.control.exit[block] {
                Exit::Uniform(targets) => targets.to_vec(),
                Exit::Linear(next) => vec![*next],
                Exit::Latch { header, next } => next.iter().chain([header]).copied().collect(),
                Exit::Return => Vec::new(),
            };
            let skip = self.control.skip[block].expand();
            let succs = &self.cfg.succs[block];
            let mut all = leads_to.iter().chain(&skip).chain(succs);
            match is_of_part {
                true => all.all(|to| inside.contains(to) || !self.loops.is_back_edge(block, *to)),
                false => !all.any(is_inner),
            }
        })
    }
}

#[cfg(test)]
mod tests;
