//! Kernels whose lanes go through lists of their own, and from each entry to what it names: rows of sparse matrices, the neighbours of a
//! graph's nodes.
//!
//! Their loops do little but gather, as long as the longest list of the lanes that are on. Where a gather takes longer than as many loads, as on
//! AMD's processors, one work-item after the other is faster: sparse products take 0.8 and searches in breadth 0.6 of the time (Zen 4). Loops that
//! compute more, that go through rows which lanes share, or in which each step waits for the one before, are better off as vectors.

use super::Analysis;
use super::func::{BlockId, Terminator};
use super::loops::LoopId;
use super::shapes::Shape;
use rustc_hash::FxHashSet;
use spirv::{Op, StorageClass};
use spirv_env::opcodes::{Derives, Family, Memory};
use spirv_env::{Id, Inst};

/// Vector instructions for each access, beside those of addresses, up to which a loop does little.
const FEW: usize = 2;
/// How often a loop's instructions are looked through for what is made of entries: once, but where blocks are not in order.
const ROUNDS: usize = 4;

/// What a loop's access is.
enum Access {
    /// One that all lanes share.
    Uniform,
    /// Of a lane's own list.
    Entry,
    /// Of what an entry names.
    Named,
    /// Somewhere that is the same in each iteration.
    Fixed,
    Other,
}

impl Analysis<'_> {
    /// Whether all loops of a kernel, and there are some, go through lists of lanes' own.
    pub fn goes_through_lists(&self) -> bool {
        let mut insts = self.func.blocks.values().flat_map(|block| &block.insts);
        !self.loops.loops.is_empty()
            && insts.all(|inst| inst.row().family != Family::Call)
            && self.loops.loops.keys().all(|inside| self.is_list(inside))
    }

    /// Whether lanes go different ways inside of a loop's iteration.
    pub fn decides_in_loops(&self) -> bool {
        self.loops.loops.values().any(|this| {
            let blocks = &this.blocks;
            blocks.iter().any(|block| match self.func.blocks[*block].term {
                Terminator::Cond { cond, then, els } => {
                    let is_shared = self.shape(*block, cond).iter().all(|shape| shape.is_uniform());
                    !is_shared && blocks.contains(&then) && blocks.contains(&els)
                }
                _ => false,
            })
        })
    }

    fn is_list(&self, inside: LoopId) -> bool {
        if !self.control.divergent_loops.contains(inside) {
            return false;
        }
        let insts = || {
            let blocks = self.loops.get(inside).blocks.iter();
            blocks.flat_map(|block| self.func.blocks[*block].insts.iter().map(move |inst| (*block, inst)))
        };
        // Whatever is made of an entry.
        let mut named: FxHashSet<Id> = FxHashSet::default();
        let [mut entries, mut others, mut computed] = [0; 3];
        // Blocks need not be in an order in which definitions come first, so entries are found before what they name.
        for (block, inst) in insts() {
            if let (Some(Access::Entry), Some(result)) =
                (self.access_of(inside, block, inst, &named), inst.result)
            {
                named.insert(result);
            }
        }
        for _ in 0..ROUNDS {
            let before = named.len();
            for (_, inst) in insts().filter(|(_, inst)| inst.row().is_pure()) {
                if inst.ids().any(|id| named.contains(&id)) {
                    named.extend(inst.result);
                }
            }
            if named.len() == before {
                break;
            }
        }
        for (block, inst) in insts() {
            match self.access_of(inside, block, inst, &named) {
                Some(Access::Entry) => entries += 1,
                Some(Access::Named) => others += 1,
                Some(Access::Uniform | Access::Fixed) => {}
                Some(Access::Other) => return false,
                None => {
                    let is_vector =
                        inst.result.is_some_and(|id| !self.shape(block, id).iter().all(|s| s.is_uniform()));
                    let widens = matches!(inst.op, Op::SConvert | Op::UConvert);
                    computed += usize::from(is_vector && inst.row().derives == Derives::Nothing && !widens);
                }
            }
        }
        entries > 0 && others > 0 && computed <= FEW * (entries + others)
    }

    /// What an instruction accesses, if it does, in memory that lanes do not have of their own.
    fn access_of(
        &self,
        inside: LoopId,
        block: BlockId,
        inst: &Inst,
        named: &FxHashSet<Id>,
    ) -> Option<Access> {
        match inst.row().memory {
            Memory::None | Memory::Lifetime | Memory::Object => return None,
            Memory::Read { .. } | Memory::Write { .. } => {}
            _ if inst.opencl_std(self.func.module).is_some_and(|function| function.is_pure()) => return None,
            memory if memory.is_atomic() => {}
            _ => return Some(Access::Other),
        }
        let pointer = inst.id(0);
        if self.builtins.contains_key(&pointer) {
            return None;
        }
        Some(match self.shape(block, pointer).first() {
            _ if self.func.class_of(pointer).is_none_or(|class| class == StorageClass::Function) => {
                Access::Other
            }
            Some(shape) if shape.is_uniform() => Access::Uniform,
            _ if self.is_invariant(inside, pointer) => Access::Fixed,
            _ if named.contains(&pointer) => Access::Named,
            Some(Shape::Varying) if self.goes_along_lines(inside, pointer) => Access::Entry,
            _ => Access::Other,
        })
    }
}
