//! Kernels whose work-groups are better executed in strips: a few of one column, then those of the next one.
//!
//! Work-groups are executed along x, where most kernels have their rows of memory. One that transposes has the rows of one side
//! along y: work-groups that follow each other write to as many pages and leave a line of the cache in each, which is gone
//! when its neighbour comes. A few work-groups along y first make pieces of rows that are worth a page. (On GPUs this is
//! known as swizzling thread blocks.)
//!
//! How addresses change from one work-group to the next is `steps`' to say.

use super::Analysis;
use super::steps::{Changes, Step, Unit};
use rustc_hash::FxHashMap;
use spirv::StorageClass;
use spirv_env::opcodes::{Family, Memory};
use spirv_env::{Id, Inst};

/// Bytes of a row that the work-groups of a strip access together.
const PIECE: u64 = 512;
/// More work-groups than this make no difference.
const HIGHEST: u64 = 8;

/// Whether a kernel's work-groups are executed in strips.
#[derive(Clone, Debug)]
pub struct Strips {
    /// Work-groups along y that are executed before the next one along x; 1 for kernels that gain nothing by more.
    pub height: u32,
    /// Of these, the pointers that go along x, and by how many bytes they change with each work-group: accesses of a strip
    /// are in more rows than hardware looks ahead in.
    pub along_x: FxHashMap<Id, i64>,
}

impl Default for Strips {
    fn default() -> Strips {
        Strips { height: 1, along_x: FxHashMap::default() }
    }
}

impl Analysis<'_> {
    pub fn strips(&self) -> &Strips {
        self.strips.get_or_init(|| self.find_strips().unwrap_or_default())
    }

    /// Whether the code may tell other work-groups something while they run.
    pub(super) fn may_wait_for_groups(&self) -> bool {
        let may_wait = |inst: &Inst| {
            let waits = inst.row().family == Family::Atomic || inst.is_volatile();
            waits && self.func.class_of(inst.id(0)) != Some(StorageClass::Workgroup)
        };
        self.func.blocks.values().flat_map(|block| &block.insts).any(may_wait)
    }

    fn find_strips(&self) -> Option<Strips> {
        let insts = || self.func.blocks.values().flat_map(|block| &block.insts);
        // Who waits for another work-group relies on those before it, if on anything.
        if self.may_wait_for_groups() {
            return None;
        }
        let (mut changes, mut strips) = (Changes::new(self, Unit::WorkGroup), Strips::default());
        for inst in insts() {
            let is_access = matches!(inst.row().memory, Memory::Read { .. } | Memory::Write { .. });
            let class = is_access.then(|| self.func.class_of(inst.id(0))).flatten();
            if !matches!(class, Some(StorageClass::CrossWorkgroup | StorageClass::Generic)) {
                continue;
            }
            match changes.of(inst.id(0)) {
                [Step::Far, along_y, _] => {
                    let high = along_y.near().map(|step| (PIECE / step.unsigned_abs()).clamp(2, HIGHEST));
                    strips.height = strips.height.max(high.unwrap_or(1) as u32);
                }
                [along_x, Step::Far, _] => {
                    strips.along_x.extend(along_x.near().map(|step| (inst.id(0), step)));
                }
                _ => {}
            }
        }
        (strips.height > 1).then_some(strips)
    }
}

#[cfg(test)]
mod tests;
