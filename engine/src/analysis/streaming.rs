//! Stores that may go past the caches: of whole rows, into memory that the kernel does not read.
//!
//! A store into a line that is in no cache loads the line first, and what a launch writes beyond the size of the caches is gone from them
//! before anybody reads it. Stores with a non-temporal hint write whole lines to memory instead: a copy moves two thirds
//! of the bytes, and a transpose, whose lines are of as many pages, takes less than half of the time (Zen 4). Whether a launch writes so
//! much is known when it begins (`LaunchInfo::streams_from`); which stores are of that kind is found here.
//!
//! A kernel that hardly reads gains nothing: loading lines costs it nothing, as processors read faster than they write, and what
//! is in a cache still from the launch before is written there (a fill of twice the caches took 1.2 of its time).
//!
//! Such stores are seen by others later than ordinary ones, until the thread that runs the work-groups orders them (`exec::workgroup`). So the
//! kernel must not tell others that it has stored: it has no atomics and nothing volatile.

use super::Analysis;
use super::pointers::Pointers;
use super::shapes::Shape;
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Op, StorageClass};
use spirv_env::opcodes::{Family, Memory};
use spirv_env::{Id, Inst};

/// The stores of a kernel that may go past the caches.
#[derive(Clone, Debug, Default)]
pub struct Streaming {
    /// Through which pointers.
    pub pointers: FxHashSet<Id>,
    /// What they write for a work-item, in bytes.
    pub bytes: u32,
}

impl Analysis<'_> {
    pub fn streaming(&self) -> &Streaming {
        self.streaming.get_or_init(|| self.find_streaming().unwrap_or_default())
    }

    fn find_streaming(&self) -> Option<Streaming> {
        let blocks = || self.func.blocks.iter();
        let insts = || blocks().flat_map(|(_, block)| &block.insts);
        let is_open =
            |inst: &Inst| inst.row().family == Family::Call || inst.waits_for_launch(self.func.module);
        if self.may_wait_for_groups() || insts().any(is_open) {
            return None;
        }
        let is_global = |pointer: Id| {
            matches!(self.func.class_of(pointer), Some(StorageClass::CrossWorkgroup | StorageClass::Generic))
        };
        let pointers = Pointers::new(&self.func);
        // Roots that are read, and what lanes read beside each other.
        let mut read: FxHashSet<Id> = FxHashSet::default();
        let mut rows: FxHashMap<Id, u64> = FxHashMap::default();
        for (block, inst) in blocks().flat_map(|(id, block)| block.insts.iter().map(move |inst| (id, inst))) {
            match inst.row().memory {
                Memory::Read { .. } => {
                    let pointer = inst.id(0);
                    read.insert(pointers.root(pointer));
                    let is_row = matches!(self.shape(block, pointer).first(), Some(Shape::Strided(step)) if *step != 0);
                    if is_row && is_global(pointer) {
                        rows.extend(self.func.pointee_bytes(pointer).map(|bytes| (pointer, bytes)));
                    }
                }
                Memory::Copy { .. } => read.extend([0, 1].map(|at| pointers.root(inst.id(at)))),
                _ => {}
            }
        }
        let all = |bytes: &FxHashMap<Id, u64>| bytes.values().fold(0u64, |sum, of| sum.saturating_add(*of));
        let mut bytes: FxHashMap<Id, u64> = FxHashMap::default();
        for (block, of_block) in blocks() {
            for inst in of_block.insts.iter().filter(|inst| inst.op == Op::Store && !inst.is_volatile()) {
                let pointer = inst.id(0);
                // What a loop stores to one place again and again stays in a cache.
                let stays = self.loops.of(block).is_some_and(|inside| self.is_invariant(inside, pointer));
                let root = pointers.root(pointer);
                if is_global(pointer) && is_global(root) && !read.contains(&root) && !stays {
                    let size = self.func.pointee_bytes(pointer)?;
                    bytes.entry(pointer).and_modify(|of| *of = size.max(*of)).or_insert(size);
                }
            }
        }
        let written = all(&bytes);
        (all(&rows) >= written).then(|| Streaming {
            pointers: bytes.into_keys().collect(),
            bytes: u32::try_from(written).unwrap_or(u32::MAX - 1),
        })
    }
}
