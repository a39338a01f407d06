//! Loops that are worth being straight code.
//!
//! A private array is registers where all its accesses are to elements that are known, and an array of constants is constants. A loop over
//! their elements keeps both in memory. LLVM unrolls such loops as long as they are short; it does not see what comes of it, as the array's
//! other accesses are elsewhere. Where each of a few iterations reads and writes an element of its own, it is told to (`lower::control`).
//! So are the steps of trees and scans of a work-group that is one bundle, in which ever fewer sub-groups have a part.

use super::Analysis;
use super::builtins::is_group_size;
use super::func::{BlockId, Phi};
use super::lengths::Length;
use super::loops::LoopId;
use rustc_hash::FxHashSet;
use spirv::{BuiltIn, Op};
use spirv_env::opcodes::{Family, Memory};
use spirv_env::{Id, Inst};

/// Iterations of such a loop, at most.
const MOST_ITERATIONS: u64 = 64;
/// Instructions of the processor that it becomes, at most, counted for each sub-group of a bundle.
const MOST_INSTS: u64 = 400;
/// The same of the steps of a tree.
const MOST_OF_TREE: u64 = 1500;
/// How far a number is followed back.
const MOST_DEPTH: u32 = 8;
/// Bytes of a work-item's private arrays, at most: four times what the registers have room for, of 16 lanes with AVX-512. Loops that add up
/// more sums than that are split (`jit::fission`); what else is spilled does no better than memory that is accessed by an index.
pub(super) const MOST_BYTES: u64 = 512;
/// The same of an array whose elements move on: as many registers as there are.
const MOST_BYTES_THAT_MOVE: u64 = 128;
/// The same of all sub-groups of a bundle.
const MOST_BYTES_OF_BUNDLE: u64 = 256;

impl Analysis<'_> {
    /// Whether all iterations of a loop shall be code of their own.
    pub fn unrolls(&self, id: LoopId) -> bool {
        self.is_tree(id) || self.unrolls_array(id, self.factor())
    }

    /// Whether there is no loop in a loop, and all lanes go through it together.
    fn is_plain_loop(&self, id: LoopId) -> bool {
        let is_own = |block: &BlockId| self.loops.of(*block) == Some(id);
        self.loops.get(id).blocks.iter().all(is_own) && !self.control.divergent_loops.contains(id)
    }

    /// The largest bundle in which all private arrays are registers that are so for a sub-group alone, if there are some.
    pub fn largest_with_arrays(&self) -> Option<u32> {
        let alone: Vec<LoopId> = self.loops.loops.keys().filter(|id| self.unrolls_array(*id, 1)).collect();
        let fits = |factor: &u32| {
            self.array_bytes().saturating_mul((*factor).into()) <= MOST_BYTES_OF_BUNDLE
                && alone.iter().all(|id| self.unrolls_array(*id, *factor))
        };
        (!alone.is_empty()).then(|| self.variant.coarsening.factors().find(fits).unwrap_or(1))
    }

    /// Whether a short loop goes through a private array of so many sub-groups.
    fn unrolls_array(&self, id: LoopId, factor: u32) -> bool {
        let this = self.loops.get(id);
        if !self.is_plain_loop(id) {
            return false;
        }
        let Some(Length::Constant(iterations)) = self.length(id) else { return false };
        let insts: usize = this.blocks.iter().map(|block| self.processor_insts(*block)).sum();
        let of_bundle = iterations.saturating_mul(insts as u64).saturating_mul(factor.into());
        let is_short = (2..=MOST_ITERATIONS).contains(&iterations) && of_bundle <= MOST_INSTS;
        is_short && self.goes_through_array(id) && self.array_bytes() <= MOST_BYTES
    }

    /// Whether a loop is the steps of a tree or a scan of a work-group's items: half as many in each, or twice as far apart, from what is known
    /// when the code of a work-group is made. Which of them have a part in each step is known, too, where each step is code of its own.
    fn is_tree(&self, id: LoopId) -> bool {
        let this = self.loops.get(id);
        let insts = || this.blocks.iter().flat_map(|block| &self.func.blocks[*block].insts);
        if !self.knows_items()
            || !self.is_plain_loop(id)
            || !insts().any(|inst| inst.waits_for_work_group(self.func.module))
        {
            return false;
        }
        let is_step = |phi: &Phi| {
            let (Some(first), Some(next)) = (phi.from(this.preheader), phi.from(this.latch)) else {
                return false;
            };
            self.is_known_number(first, MOST_DEPTH)
                && self.definition(next).is_some_and(|next| {
                    let by = || self.func.constant_bits(next.id(1)).is_some();
                    match next.op {
                        Op::ShiftLeftLogical
                        | Op::ShiftRightLogical
                        | Op::ShiftRightArithmetic
                        | Op::UDiv
                        | Op::SDiv
                        | Op::IMul => next.id(0) == phi.result && by(),
                        _ => false,
                    }
                })
        };
        let of_blocks = |is_masked: bool| -> usize {
            let blocks =
                this.blocks.iter().filter(|block| self.control.class[**block].is_some() == is_masked);
            blocks.map(|block| self.processor_insts(*block)).sum()
        };
        let items = u64::from(self.factor()) * u64::from(self.variant.width);
        // All have a part in what is under no mask, and twice as many as there are in all steps of what is.
        let insts = of_blocks(true) as u64 * 2
            + of_blocks(false) as u64 * u64::from(items.next_power_of_two().ilog2());
        insts * u64::from(self.factor()) <= MOST_OF_TREE
            && self.func.blocks[this.header].phis.iter().any(is_step)
    }

    /// Whether a number is made of constants and the sizes of a work-group.
    fn is_known_number(&self, id: Id, depth: u32) -> bool {
        if self.func.constant_bits(id).is_some() {
            return true;
        }
        let is_size = |builtin| {
            is_group_size(builtin) || matches!(builtin, BuiltIn::NumSubgroups | BuiltIn::SubgroupMaxSize)
        };
        if self.id_component(id).is_some_and(|(builtin, _)| is_size(builtin)) {
            return true;
        }
        let Some(inst) = self.definition(id).filter(|_| depth > 0) else { return false };
        let is_number =
            matches!(inst.row().family, Family::Arithmetic | Family::Conversion) && inst.row().is_pure();
        is_number && inst.ids().all(|part| self.is_known_number(part, depth / 2))
    }

    /// Bytes of the private objects that may be registers. What is only copied is there for a moment.
    fn array_bytes(&self) -> u64 {
        let insts = self.func.blocks.values().flat_map(|block| &block.insts);
        let accesses =
            insts.filter(|inst| matches!(inst.row().memory, Memory::Read { .. } | Memory::Write { .. }));
        let objects: FxHashSet<Id> =
            accesses.filter_map(|inst| self.private.interleaved.get(&inst.id(0)).copied()).collect();
        objects.iter().filter_map(|object| self.func.pointee_bytes(*object)).sum()
    }

    /// Whether iterations read and write a private array that may be in registers, at indices that each makes anew. What is only read or only
    /// written is as well in memory, as one waits for nothing there, unless its elements move on in a loop around that one: a shift register
    /// costs a load and a store for each element in memory, and nothing in registers.
    fn goes_through_array(&self, id: LoopId) -> bool {
        let [read, written] = self.gone_through_by(id);
        let mut either = read.union(&written);
        !read.is_disjoint(&written) || either.any(|object| self.moves_on(*object, id))
    }

    /// The private arrays that may be in registers which iterations read, and those that they write, at indices that each makes anew.
    fn gone_through_by(&self, id: LoopId) -> [FxHashSet<Id>; 2] {
        let (mut read, mut written): (FxHashSet<Id>, FxHashSet<Id>) = Default::default();
        for inst in self.loops.get(id).blocks.iter().flat_map(|block| &self.func.blocks[*block].insts) {
            let objects = match inst.row().memory {
                Memory::Read { .. } => &mut read,
                Memory::Write { .. } => &mut written,
                _ => continue,
            };
            let pointer = inst.id(0);
            let is_new = || match self.definition(pointer) {
                Some(chain) => chain.ids().any(|operand| !self.is_invariant(id, operand)),
                None => false,
            };
            let own = self.private.interleaved.get(&pointer).filter(|_| is_new());
            objects.extend(own);
        }
        [read, written]
    }

    /// Whether the elements of a private array that has room in registers move on in each iteration of a loop around this one: it is copied
    /// into, or another loop in there reads and writes it.
    fn moves_on(&self, object: Id, inner: LoopId) -> bool {
        let Some(around) = self.loops.get(inner).parent else { return false };
        let is_inside = |of: Option<LoopId>| self.loops.encloses(Some(around), of);
        let is_moved = |inst: &Inst| {
            matches!(inst.row().memory, Memory::Copy { .. })
                && self.private.interleaved.get(&inst.id(0)) == Some(&object)
        };
        let mut blocks = self.func.block_ids().filter(|block| is_inside(self.loops.of(*block)));
        let by_loop = |id: LoopId| {
            id != inner
                && id != around
                && is_inside(Some(id))
                && self.is_plain_loop(id)
                && self.gone_through_by(id).iter().all(|objects| objects.contains(&object))
        };
        self.func.pointee_bytes(object).is_some_and(|bytes| bytes <= MOST_BYTES_THAT_MOVE)
            && (blocks.any(|block| self.func.blocks[block].insts.iter().any(is_moved))
                || self.loops.loops.keys().any(by_loop))
    }

    /// Whether loads from a variable of constants are worth being known: a loop that is straight code goes through it, or each lane copies it.
    pub fn is_gone_through(&self, variable: Id) -> bool {
        self.gone_through.get_or_init(|| self.find_gone_through()).contains(&variable)
    }

    /// What loops that are straight code read, and what that or memory of lanes was copied from.
    fn find_gone_through(&self) -> FxHashSet<Id> {
        let unrolled = self.loops.loops.iter().filter(|(id, _)| self.unrolls(*id));
        let insts =
            unrolled.flat_map(|(_, this)| &this.blocks).flat_map(|block| &self.func.blocks[*block].insts);
        let reads = insts.filter(|inst| matches!(inst.row().memory, Memory::Read { .. }));
        let mut found: FxHashSet<Id> = reads.map(|inst| self.root_of(inst.id(0))).collect();
        let all = self
            .func
            .block_ids()
            .flat_map(|block| self.func.blocks[block].insts.iter().map(move |inst| (block, inst)));
        let copies = all.filter(|(_, inst)| matches!(inst.row().memory, Memory::Copy { .. }));
        let is_of_lanes = |block: BlockId, to: Id| !self.shape(block, to)[0].is_uniform();
        let is_known = |block: BlockId, to: Id| found.contains(&self.root_of(to)) || is_of_lanes(block, to);
        let sources: Vec<Id> = (copies.filter(|(block, inst)| is_known(*block, inst.id(0))))
            .map(|(_, inst)| self.root_of(inst.id(1)))
            .collect();
        found.extend(sources);
        found
    }

    /// What a pointer is made of by access chains and casts.
    pub(super) fn root_of(&self, pointer: Id) -> Id {
        let base = |pointer: &Id| self.definition(*pointer).and_then(|inst| self.func.derived_from(inst));
        std::iter::successors(Some(pointer), base).last().unwrap_or(pointer)
    }
}

#[cfg(test)]
mod tests;
