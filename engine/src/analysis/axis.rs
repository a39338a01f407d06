//! The dimension that lanes go along, and the shape of work-groups.
//!
//! That is x as a rule: `get_global_id(0)` counts the elements of a row in most kernels, so that lanes access neighbours. In others it counts
//! rows (`a[get_global_id(0) * width + get_global_id(1)]`): lanes along y have neighbours there, and lanes along x gather and scatter. A
//! kernel that cannot tell is compiled with the dimensions exchanged in all ids (`Axis`), and launched so.
//!
//! Where all accesses are of neighbours along x, long rows are the best groups: lines are fetched in their order, before they are asked for, and
//! few groups begin. Where some are of neighbours along y or z, tiles are.
//!
//! How addresses change along each dimension is `steps`' to say.

use super::Analysis;
use super::func::BlockId;
use super::loops::{ITERATIONS, MOST_LOOPS};
use super::steps::{Changes, Step, Steps, Unit, sum};
use crate::abi::Axis;
use rustc_hash::FxHashMap;
use spirv::{BuiltIn, StorageClass};
use spirv_env::opcodes::opencl_std::Through;
use spirv_env::opcodes::{Convergence, Family, Memory};
use spirv_env::{Id, Inst, TypeId};

/// What an access of a sub-group costs: one of a vector, or of a scalar.
const ONE: u64 = 2;
/// One of elements with small gaps between them.
const SPACED: u64 = 3 * ONE;
/// One along x of rows that lie along y: sub-groups side by side have a piece of each, and transpose them (`columns`).
const COLUMN: u64 = 5 * ONE;
/// One that goes from lane to lane, in memory that is surely in the cache, and elsewhere: each lane has a line of its own, and where rows are as
/// long as a page all of these are in one set of the cache.
const LANES: u64 = 16 * ONE;
const LINES: u64 = 2 * LANES;
/// Elements at most from one lane to the next of an access with small gaps.
const GAP: u64 = 4;
/// Another dimension has to cost less than so many quarters of what x does.
const WORTH: u64 = 3;

/// A shape of work-groups, for kernels that cannot tell which work-items are of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// As the launch has them.
    Own,
    /// Long rows: all accesses are of neighbours along x.
    Rows,
    /// The same, and rows above each other share what loops load.
    SharedRows,
    /// As many rows as a vector has lanes: others are of neighbours along y.
    Tiles,
    /// As many layers, of few short rows: others are of neighbours along z.
    Layers,
}

impl Shape {
    pub const ALL: [Shape; 5] = [Shape::Own, Shape::Rows, Shape::SharedRows, Shape::Tiles, Shape::Layers];
}

impl Analysis<'_> {
    /// The dimension that lanes go along best; none if it has to be x. The analysis is that of lanes along x.
    pub fn best_axis(&self) -> Option<Axis> {
        if !self.cannot_tell_axis() {
            return None;
        }
        let along = self.costs_along();
        let is_better = |axis: &Axis| {
            let other = along[axis.place()];
            other.has_rows && other.cost * 4 < along[0].cost * WORTH
        };
        let best = Axis::OTHERS.into_iter().filter(is_better).min_by_key(|axis| along[axis.place()].cost);
        Some(best.unwrap_or_default())
    }

    /// The shape of work-groups that serves the kernel best with lanes along this dimension, in the order that exchanging it with x makes.
    pub fn best_shape(&self, axis: Axis) -> Shape {
        let [x, y, z] = axis.exchange([0, 1, 2]);
        let mut changes = Changes::new(self, Unit::WorkItem);
        let [mut has_columns, mut has_layers, mut shares, mut diverges] = [false; 4];
        for (block, code) in &self.func.blocks {
            let is_loop = self.loops.around(block).next().is_some();
            for inst in &code.insts {
                let row = inst.row();
                if row.family == Family::Call || row.memory.is_of_images() {
                    return Shape::Own;
                }
                let Some(access) = self.accessed(inst, &mut changes) else { continue };
                match [access.steps[x], access.steps[y]] {
                    [along_x, along_y] if !access.is_far(x) => {
                        shares |= is_loop && along_x != Step::Known(0) && along_y == Step::Known(0);
                    }
                    [Step::Unknown, _] => return Shape::Own,
                    _ if access.is_row(y) => has_columns = true,
                    _ if access.is_row(z) => has_layers = true,
                    _ => return Shape::Own,
                }
            }
            if let Some(condition) = code.term.condition() {
                diverges |= is_loop && changes.of(condition)[y] != Step::Known(0);
            }
        }
        match () {
            () if has_columns => Shape::Tiles,
            () if has_layers => Shape::Layers,
            () if shares && !diverges => Shape::SharedRows,
            () => Shape::Rows,
        }
    }

    /// Whether objects are so large that a row of a picture of them, and those above and below, are more than the first cache has.
    pub fn accesses_large_objects(&self) -> bool {
        const LARGE: u64 = 16;
        let mut changes = Changes::new(self, Unit::WorkItem);
        let mut insts = self.func.blocks.values().flat_map(|code| &code.insts);
        insts.any(|inst| {
            self.accessed(inst, &mut changes).is_some_and(|access| !access.is_local && access.bytes >= LARGE)
        })
    }

    /// The type of what `vloadn`, `vstoren` and the like load or store.
    pub(super) fn vector_type(&self, inst: &Inst, through: Through) -> Option<TypeId> {
        match through {
            Through::Reads => inst.ty,
            Through::Writes => self.func.type_of(inst.argument(0)),
        }
    }

    /// Whether it does the same with dimensions exchanged: work-items that are of one work-group stay that, and nothing
    /// else goes by the order that they have in it, or work-groups have among each other.
    fn cannot_tell_axis(&self) -> bool {
        let kernel = self.func.kernel;
        let counts = |builtin: BuiltIn| {
            matches!(
                builtin,
                BuiltIn::LocalInvocationIndex
                    | BuiltIn::GlobalLinearId
                    | BuiltIn::WorkDim
                    | BuiltIn::SubgroupId
            )
        };
        let is_free = |inst: &Inst| {
            let row = inst.row();
            let meets = match row.convergence {
                Convergence::None => true,
                Convergence::Barrier => inst.waits_for_work_group(self.func.module),
                _ => false,
            };
            let reads = matches!(row.memory, Memory::Read { .. });
            let builtin = if reads { self.builtins.get(&inst.id(0)) } else { None };
            let counts = builtin.is_some_and(|pointer| counts(pointer.builtin));
            // Rows of images lie along x in all kernels that somebody has thought about.
            meets && row.family != Family::Call && !row.memory.is_of_images() && !counts
        };
        !kernel.sees_width()
            && !kernel.prints
            && !kernel.may_wait
            && self.func.blocks.values().flat_map(|block| &block.insts).all(is_free)
    }

    /// Memory accesses with lanes along each dimension. Those of which nothing is known along x have no say: there, looks at run time may find
    /// rows.
    fn costs_along(&self) -> [Along; 3] {
        let mut changes = Changes::new(self, Unit::WorkItem);
        let iterations = self.iterations_along(&mut changes);
        let mut along = [Along::default(); 3];
        for (block, code) in &self.func.blocks {
            let times = iterations.get(&block).copied().unwrap_or([1; 3]);
            for inst in &code.insts {
                let Some(access) = self.accessed(inst, &mut changes) else { continue };
                if access.steps[0] == Step::Unknown {
                    continue;
                }
                for (at, along) in along.iter_mut().enumerate() {
                    let cost = access.cost_along(at).saturating_mul(times[at]);
                    along.cost = along.cost.saturating_add(cost);
                    along.has_rows |= access.is_row(at) && access.is_far(0);
                }
            }
        }
        along
    }

    /// How often a block is executed, with lanes along each dimension: where they leave a loop at different times, those that are
    /// through wait for the others.
    fn iterations_along(&self, changes: &mut Changes<'_, '_>) -> FxHashMap<BlockId, [u64; 3]> {
        let mut diverges = FxHashMap::default();
        for (block, code) in &self.func.blocks {
            let Some(condition) = code.term.condition() else { continue };
            let differs = changes.of(condition).map(|step| step != Step::Known(0));
            for left in self.cfg.succs[block].iter().flat_map(|to| self.loops.left_by(block, *to)) {
                let of_loop = diverges.entry(left).or_insert([false; 3]);
                (0..3).for_each(|at| of_loop[at] |= differs[at]);
            }
        }
        let of_block = |block: BlockId| {
            let around = self.loops.around(block).take(MOST_LOOPS);
            around.fold([1; 3], |times: [u64; 3], around| {
                let differs = diverges.get(&around).copied().unwrap_or_default();
                std::array::from_fn(|at| times[at] * if differs[at] { 2 * ITERATIONS } else { ITERATIONS })
            })
        };
        self.func.block_ids().map(|block| (block, of_block(block))).collect()
    }

    /// What an instruction does that loads, stores or changes something in memory.
    fn accessed(&self, inst: &Inst, changes: &mut Changes<'_, '_>) -> Option<Access> {
        let is_local = |pointer: Id| self.func.class_of(pointer) == Some(StorageClass::Workgroup);
        let bytes_at = |pointer: Id| self.func.pointee_bytes(pointer).unwrap_or(1).max(1);
        let memory = inst.row().memory;
        if matches!(memory, Memory::Read { .. } | Memory::Write { .. }) || memory.is_atomic() {
            let pointer = Some(inst.id(0)).filter(|pointer| self.is_in_memory(*pointer))?;
            let (steps, bytes) = (changes.of(pointer), bytes_at(pointer));
            return Some(Access { steps, bytes, is_local: is_local(pointer) });
        }
        // `vload4(offset, pointer)`, `vstore4(vector, offset, pointer)`.
        let (place, through) = inst.opencl_std(self.func.module)?.pointer()?;
        let pointer =
            Some(inst.argument(place)).filter(|pointer| place > 0 && self.is_in_memory(*pointer))?;
        let vector = self.vector_type(inst, through)?;
        let bytes = bytes_at(pointer) * self.leaves.count(vector).max(1) as u64;
        let by_offset = changes.of(inst.argument(place - 1)).map(|step| step.times(bytes as i64));
        let steps = sum(changes.of(pointer), by_offset);
        Some(Access { steps, bytes, is_local: is_local(pointer) })
    }
}

/// Memory accesses with lanes along a dimension.
#[derive(Clone, Copy, Default, Debug)]
struct Along {
    cost: u64,
    /// Some go from lane to lane along x, and are of neighbours here.
    has_rows: bool,
}

/// What a load or store does.
struct Access {
    /// How its address changes from lane to lane.
    steps: Steps,
    bytes: u64,
    /// It goes to local memory.
    is_local: bool,
}

impl Access {
    /// Whether lanes along a dimension access neighbours.
    fn is_row(&self, at: usize) -> bool {
        matches!(self.steps[at], Step::Known(step) if step.unsigned_abs() == self.bytes)
    }

    /// Whether they go from lane to lane.
    fn is_far(&self, at: usize) -> bool {
        match self.steps[at] {
            Step::Known(step) => step.unsigned_abs() > GAP * self.bytes,
            Step::Far | Step::Unknown => true,
        }
    }

    fn cost_along(&self, at: usize) -> u64 {
        match self.steps[at] {
            step if step == Step::Known(0) || self.is_row(at) => ONE,
            _ if !self.is_far(at) => SPACED,
            _ if at == 0 && self.is_row(1) => COLUMN,
            _ if self.is_local => LANES,
            _ => LINES,
        }
    }
}

#[cfg(test)]
mod tests;
