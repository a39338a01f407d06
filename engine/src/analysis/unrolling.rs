//! Loops that are worth being straight code.
//!
//! A private array is registers where all its accesses are to elements that are known, and an array of constants is constants. A loop over
//! their elements keeps both in memory. LLVM unrolls such loops as long as they are short; it does not see what comes of it, as the array's
//! other accesses are elsewhere. Where each of a few iterations reads and writes an element of its own, it is told to (`lower::control`).

use super::Analysis;
use super::lengths::Length;
use super::loops::LoopId;
use rustc_hash::FxHashSet;
use spirv_env::Id;
use spirv_env::opcodes::Memory;

/// Iterations of such a loop, at most.
const MOST_ITERATIONS: u64 = 64;
/// Instructions of the processor that it becomes, at most, counted for each sub-group of a bundle.
const MOST_INSTS: u64 = 400;
/// Bytes of a work-item's private arrays, at most: twice what the registers have room for, of 16 lanes with AVX-512. More than that is
/// spilled, and memory that is accessed by an index does better.
const MOST_BYTES: u64 = 256;

impl Analysis<'_> {
    /// Whether all iterations of a loop shall be code of their own.
    pub fn unrolls(&self, id: LoopId) -> bool {
        let this = self.loops.get(id);
        let is_innermost = this.blocks.iter().all(|block| self.loops.of(*block) == Some(id));
        if !is_innermost || self.control.divergent_loops.contains(id) {
            return false;
        }
        let Some(Length::Constant(iterations)) = self.length(id) else { return false };
        let insts: usize = this.blocks.iter().map(|block| self.processor_insts(*block)).sum();
        let of_bundle = iterations.saturating_mul(insts as u64).saturating_mul(self.factor().into());
        let is_short = (2..=MOST_ITERATIONS).contains(&iterations) && of_bundle <= MOST_INSTS;
        is_short && self.goes_through_array(id) && self.array_bytes() <= MOST_BYTES
    }

    /// Bytes of the private objects that may be registers.
    fn array_bytes(&self) -> u64 {
        let objects: FxHashSet<Id> = self.private.interleaved.values().copied().collect();
        objects.iter().filter_map(|object| self.func.pointee_bytes(*object)).sum()
    }

    /// Whether iterations read and write a private array that may be in registers, at indices that each makes anew. What is only read or only
    /// written is as well in memory, as one waits for nothing there.
    fn goes_through_array(&self, id: LoopId) -> bool {
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
        !read.is_disjoint(&written)
    }

    /// Whether loads from a variable of constants are worth being known: a loop that is straight code goes through it.
    pub fn is_gone_through(&self, variable: Id) -> bool {
        self.gone_through.get_or_init(|| self.find_gone_through()).contains(&variable)
    }

    /// What loops that are straight code read, and what that was copied from.
    fn find_gone_through(&self) -> FxHashSet<Id> {
        let unrolled = self.loops.loops.iter().filter(|(id, _)| self.unrolls(*id));
        let insts =
            unrolled.flat_map(|(_, this)| &this.blocks).flat_map(|block| &self.func.blocks[*block].insts);
        let reads = insts.filter(|inst| matches!(inst.row().memory, Memory::Read { .. }));
        let mut found: FxHashSet<Id> = reads.map(|inst| self.root_of(inst.id(0))).collect();
        if found.is_empty() {
            return found;
        }
        let all = self.func.blocks.values().flat_map(|block| &block.insts);
        let copies = all.filter(|inst| matches!(inst.row().memory, Memory::Copy { .. }));
        let roots = copies.map(|inst| [0, 1].map(|at| self.root_of(inst.id(at))));
        let sources: Vec<Id> = roots.filter(|[to, _]| found.contains(to)).map(|[_, from]| from).collect();
        found.extend(sources);
        found
    }

    /// What a pointer is made of by access chains and casts.
    fn root_of(&self, pointer: Id) -> Id {
        let base = |pointer: &Id| self.definition(*pointer).and_then(|inst| self.func.derived_from(inst));
        std::iter::successors(Some(pointer), base).last().unwrap_or(pointer)
    }
}

#[cfg(test)]
mod tests;
