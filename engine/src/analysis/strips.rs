//! Kernels whose work-groups are better executed in strips: a few of one column, then those of the next one.
//!
//! Work-groups are executed along x, where most kernels have their rows of memory. One that transposes has the rows of one side
//! along y: work-groups that follow each other write to as many pages and leave a line of the cache in each, which is gone
//! when its neighbour comes. A few work-groups along y first make pieces of rows that are worth a page. (On GPUs this is
//! known as swizzling thread blocks.)
//!
//! How addresses change from one work-group to the next is found as loops find induction variables: ids change by known
//! amounts, sums and products by constants keep that, and products by numbers that are known at run time are far.

use super::Analysis;
use super::func::ChainStep;
use rustc_hash::FxHashMap;
use spirv::{BuiltIn, Op, StorageClass};
use spirv_env::opcodes::{Family, Memory};
use spirv_env::{Id, Inst};

/// Bytes of a row that the work-groups of a strip access together.
const PIECE: u64 = 512;
/// More work-groups than this make no difference.
const HIGHEST: u64 = 8;
/// Neighbours in a row are no further apart, in bytes.
const NEAR: u64 = 256;
/// Work-items of a work-group along a dimension, where the kernel does not say.
const USUAL_SIZE: i64 = 16;
/// Values that are followed back.
const MOST_VALUES: usize = 1024;

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

/// How a number changes from a work-group to the next one along a dimension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Known(i64),
    /// By a multiple of a number that only the launch knows, such as the length of a row.
    Far,
    Unknown,
}

/// Along x and along y.
type Steps = [Step; 2];

const SAME: Steps = [Step::Known(0); 2];
const UNKNOWN: Steps = [Step::Unknown; 2];

impl Step {
    fn plus(self, other: Step) -> Step {
        match (self, other) {
            (Step::Known(a), Step::Known(b)) => a.checked_add(b).map_or(Step::Unknown, Step::Known),
            (Step::Unknown, _) | (_, Step::Unknown) => Step::Unknown,
            (Step::Far, _) | (_, Step::Far) => Step::Far,
        }
    }

    fn times(self, factor: i64) -> Step {
        match self {
            Step::Known(step) => step.checked_mul(factor).map_or(Step::Unknown, Step::Known),
            Step::Far if factor == 0 => Step::Known(0),
            other => other,
        }
    }

    /// Times a number that is the same in all work-groups.
    fn times_some(self) -> Step {
        match self {
            Step::Known(step) if step != 0 => Step::Far,
            other => other,
        }
    }

    fn near(self) -> Option<i64> {
        match self {
            Step::Known(step) => Some(step).filter(|step| (1..=NEAR).contains(&step.unsigned_abs())),
            Step::Far | Step::Unknown => None,
        }
    }
}

fn sum(a: Steps, b: Steps) -> Steps {
    [a[0].plus(b[0]), a[1].plus(b[1])]
}

impl Analysis<'_> {
    pub fn strips(&self) -> &Strips {
        self.strips.get_or_init(|| self.find_strips().unwrap_or_default())
    }

    fn find_strips(&self) -> Option<Strips> {
        let insts = || self.func.blocks.values().flat_map(|block| &block.insts);
        // Who waits for another work-group relies on those before it, if on anything.
        let may_wait = |inst: &Inst| {
            let waits = inst.row().family == Family::Atomic || inst.is_volatile();
            waits && self.func.class_of(inst.id(0)) != Some(StorageClass::Workgroup)
        };
        if insts().any(may_wait) {
            return None;
        }
        let (mut known, mut strips) = (FxHashMap::default(), Strips::default());
        for inst in insts() {
            let is_access = matches!(inst.row().memory, Memory::Read { .. } | Memory::Write { .. });
            let class = is_access.then(|| self.func.class_of(inst.id(0))).flatten();
            if !matches!(class, Some(StorageClass::CrossWorkgroup | StorageClass::Generic)) {
                continue;
            }
            match self.steps(inst.id(0), &mut known) {
                [Step::Far, along_y] => {
                    let high = along_y.near().map(|step| (PIECE / step.unsigned_abs()).clamp(2, HIGHEST));
                    strips.height = strips.height.max(high.unwrap_or(1) as u32);
                }
                [along_x, Step::Far] => {
                    strips.along_x.extend(along_x.near().map(|step| (inst.id(0), step)));
                }
                _ => {}
            }
        }
        (strips.height > 1).then_some(strips)
    }

    fn steps(&self, id: Id, known: &mut FxHashMap<Id, Steps>) -> Steps {
        if let Some(steps) = known.get(&id) {
            return *steps;
        }
        if known.len() >= MOST_VALUES {
            return UNKNOWN;
        }
        // What a loop adds to a value does not depend on how it began.
        known.insert(id, SAME);
        let steps = self.steps_of_id(id).unwrap_or_else(|| match self.definition(id) {
            Some(inst) => self.steps_of_result(inst, known),
            None => self.steps_of_phi(id, known),
        });
        known.insert(id, steps);
        steps
    }

    /// Those of the ids of work-groups and work-items.
    fn steps_of_id(&self, id: Id) -> Option<Steps> {
        let (builtin, dimension) = self.whole_component(id)?;
        let at = dimension as usize;
        let step = match builtin {
            BuiltIn::WorkgroupId => 1,
            BuiltIn::GlobalInvocationId => {
                self.func.kernel.required_group_size.map_or(USUAL_SIZE, |size| i64::from(size[at.min(2)]))
            }
            BuiltIn::GlobalLinearId => return Some(UNKNOWN),
            _ => return Some(SAME),
        };
        let mut steps = SAME;
        if at < steps.len() {
            steps[at] = Step::Known(step);
        }
        Some(steps)
    }

    fn steps_of_result(&self, inst: &Inst, known: &mut FxHashMap<Id, Steps>) -> Steps {
        let constant = |id: Id| self.func.constant_bits(id).map(|bits| bits as i64);
        match inst.op {
            Op::IAdd => sum(self.steps(inst.id(0), known), self.steps(inst.id(1), known)),
            Op::ISub => {
                let minus = self.steps(inst.id(1), known).map(|step| step.times(-1));
                sum(self.steps(inst.id(0), known), minus)
            }
            Op::IMul => {
                let [a, b] = [0, 1].map(|at| self.steps(inst.id(at), known));
                match (constant(inst.id(0)), constant(inst.id(1))) {
                    (_, Some(factor)) => a.map(|step| step.times(factor)),
                    (Some(factor), _) => b.map(|step| step.times(factor)),
                    _ if b == SAME => a.map(Step::times_some),
                    _ if a == SAME => b.map(Step::times_some),
                    _ => UNKNOWN,
                }
            }
            Op::ShiftLeftLogical => match constant(inst.id(1)) {
                Some(bits @ 0..32) => self.steps(inst.id(0), known).map(|step| step.times(1 << bits)),
                _ => self.of_operands(inst, known),
            },
            Op::UConvert | Op::SConvert | Op::CopyObject | Op::Bitcast | Op::PtrCastToGeneric => {
                self.steps(inst.id(0), known)
            }
            // What this work-group has written there.
            _ if matches!(inst.row().memory, Memory::Read { .. })
                && matches!(
                    self.func.class_of(inst.id(0)),
                    Some(StorageClass::Function | StorageClass::Workgroup)
                ) =>
            {
                UNKNOWN
            }
            _ if self.func.derived_from(inst).is_some() => {
                let base = self.steps(inst.id(0), known);
                self.func.chain(inst).into_iter().fold(base, |steps, part| match part {
                    ChainStep::Constant(_) => steps,
                    ChainStep::Scaled { index, size } => {
                        let index = self.steps(index, known);
                        sum(steps, index.map(|step| step.times(size as i64)))
                    }
                })
            }
            _ => self.of_operands(inst, known),
        }
    }

    /// A result of which nothing is known but that it is the same where all operands are.
    fn of_operands(&self, inst: &Inst, known: &mut FxHashMap<Id, Steps>) -> Steps {
        let same = inst.ids().all(|id| self.steps(id, known) == SAME);
        if same { SAME } else { UNKNOWN }
    }

    fn steps_of_phi(&self, id: Id, known: &mut FxHashMap<Id, Steps>) -> Steps {
        // Constants, variables of the module and parameters.
        let Some(&block) = self.def.get(&id) else { return SAME };
        let Some(phi) = self.func.blocks[block].phis.iter().find(|phi| phi.result == id) else { return SAME };
        let mut all = phi.incoming.iter().map(|(_, incoming)| self.steps(*incoming, known));
        let first = all.next().unwrap_or(SAME);
        all.fold(first, |steps, other| match (steps == SAME, other == SAME) {
            _ if steps == other => steps,
            // From before a loop, and from its end, which the loop made of what came from before.
            (true, _) => other,
            (_, true) => steps,
            _ => UNKNOWN,
        })
    }
}

#[cfg(test)]
mod tests;
