//! Stores that may go past the caches: of whole rows, into memory that the kernel does not read.
//!
//! A store into a line that is in no cache loads the line first, and of what a launch reads and writes beyond the size of the caches, most is gone
//! from them before anybody reads it. Stores with a non-temporal hint write whole lines to memory instead: a copy moves two thirds
//! of the bytes, and a transpose, whose lines are of as many pages, takes less than half of the time (Zen 4). Whether a launch is so
//! large is known when it begins (`LaunchInfo::streams_from`); which stores are of that kind is found here.
//!
//! A kernel that hardly reads gains nothing: loading lines costs it nothing, as processors read faster than they write, and what
//! is in a cache still from the launch before is written there (a fill of twice the caches took 1.2 of its time).
//!
//! Such stores are seen by others later than ordinary ones, until the thread that runs the work-groups orders them (`exec::workgroup`). So the
//! kernel must not tell others that it has stored: it has no atomics and nothing volatile.

use super::Analysis;
use super::func::BlockId;
use super::lengths::Length;
use super::loops::LoopId;
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
    /// What the kernel writes so, and reads in rows, for a work-item, in bytes.
    pub bytes: u32,
}

impl Analysis<'_> {
    pub fn streaming(&self) -> &Streaming {
        self.streaming.get_or_init(|| self.find_streaming().unwrap_or_default())
    }

    fn find_streaming(&self) -> Option<Streaming> {
        let blocks = || self.func.blocks.iter();
        let is_open =
            |inst: &Inst| inst.row().family == Family::Call || inst.waits_for_launch(self.func.module);
        if self.may_wait_for_groups() || blocks().flat_map(|(_, block)| &block.insts).any(is_open) {
            return None;
        }
        let is_global = |pointer: Id| {
            matches!(self.func.class_of(pointer), Some(StorageClass::CrossWorkgroup | StorageClass::Generic))
        };
        let pointers = Pointers::new(&self.func);
        let insts = || blocks().flat_map(|(id, block)| block.insts.iter().map(move |inst| (id, inst)));
        // Roots that are read, and of what lanes read beside each other, or sub-groups, how much and how far apart.
        let mut read: FxHashSet<Id> = FxHashSet::default();
        let mut rows: FxHashMap<Id, Rows> = FxHashMap::default();
        for (block, inst) in insts() {
            match inst.row().memory {
                Memory::Read { .. } => {
                    let (pointer, root) = (inst.id(0), pointers.root(inst.id(0)));
                    read.insert(root);
                    let step = match self.shape(block, pointer).first() {
                        Some(Shape::Strided(step)) => Some(step.unsigned_abs()),
                        _ if self.columns().contains(&pointer) => self.func.pointee_bytes(pointer),
                        _ => None,
                    };
                    if let Some(step) = step.filter(|_| is_global(pointer)) {
                        let row = rows.entry(root).or_default();
                        row.bytes = row.bytes.saturating_add(self.accessed_bytes(block, pointer)?);
                        row.step = row.step.max(step);
                    }
                }
                Memory::Copy { .. } => read.extend([0, 1].map(|at| pointers.root(inst.id(at)))),
                _ => {}
            }
        }
        let mut stores: FxHashMap<Id, u64> = FxHashMap::default();
        for (block, inst) in insts().filter(|(_, inst)| inst.op == Op::Store && !inst.is_volatile()) {
            let (pointer, root) = (inst.id(0), pointers.root(inst.id(0)));
            // What a loop stores to one place again and again stays in a cache.
            let stays = self.loops.of(block).is_some_and(|inside| self.is_invariant(inside, pointer));
            if is_global(pointer) && is_global(root) && !read.contains(&root) && !stays {
                let bytes = self.accessed_bytes(block, pointer)?;
                stores.entry(pointer).and_modify(|of| *of = bytes.max(*of)).or_insert(bytes);
            }
        }
        let written = stores.values().fold(0u64, |sum, bytes| sum.saturating_add(*bytes));
        // A filter reads the same elements again and again: what a work-item reads anew is no more than what it goes on by, or writes.
        let anew = rows.values().map(|row| row.bytes.min(row.step.max(written)));
        let loaded = anew.fold(0u64, u64::saturating_add);
        (loaded >= written).then(|| Streaming {
            pointers: stores.into_keys().collect(),
            bytes: u32::try_from(loaded.saturating_add(written)).unwrap_or(u32::MAX - 1),
        })
    }

    /// Bytes that a lane accesses through a pointer, as far as loops say how long they are.
    fn accessed_bytes(&self, block: BlockId, pointer: Id) -> Option<u64> {
        let repeats = |inside: LoopId| match self.length(inside) {
            Some(Length::Constant(length)) => length.max(1),
            _ => 1,
        };
        let times = self.loops.around(block).map(repeats).fold(1u64, u64::saturating_mul);
        self.func.pointee_bytes(pointer).map(|bytes| bytes.saturating_mul(times))
    }
}

/// What lanes read of an object beside each other.
#[derive(Default)]
struct Rows {
    bytes: u64,
    /// From lane to lane, in bytes.
    step: u64,
}
