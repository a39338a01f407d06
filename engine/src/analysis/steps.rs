//! How addresses change from one work-group or work-item to the next, along each dimension of the code.
//!
//! That is found as loops find induction variables: ids change by known amounts, sums and products by constants keep that, and
//! products by numbers that are known at run time are far. Integers that wrap around are not followed: who needs to be sure, looks.

use super::Analysis;
use super::func::ChainStep;
use super::private::Placement;
use rustc_hash::FxHashMap;
use spirv::{BuiltIn, Op, StorageClass};
use spirv_env::opcodes::Memory;
use spirv_env::{Id, Inst};

/// Neighbours in a row are no further apart, in bytes.
const NEAR: u64 = 256;
/// Work-items of a work-group along a dimension, where the kernel does not say.
const USUAL_SIZE: i64 = 16;
/// Values that are followed back.
const MOST_VALUES: usize = 1024;

/// What is done once for each of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unit {
    WorkGroup,
    WorkItem,
}

/// How a number changes from one unit to the next one along a dimension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    Known(i64),
    /// By a multiple of a number that only the launch knows, such as the length of a row.
    Far,
    Unknown,
}

/// Along x, y and z.
pub(super) type Steps = [Step; 3];

const SAME: Steps = [Step::Known(0); 3];
const UNKNOWN: Steps = [Step::Unknown; 3];

impl Step {
    fn plus(self, other: Step) -> Step {
        match (self, other) {
            (Step::Known(a), Step::Known(b)) => a.checked_add(b).map_or(Step::Unknown, Step::Known),
            (Step::Unknown, _) | (_, Step::Unknown) => Step::Unknown,
            (Step::Far, _) | (_, Step::Far) => Step::Far,
        }
    }

    pub fn times(self, factor: i64) -> Step {
        match self {
            Step::Known(step) => step.checked_mul(factor).map_or(Step::Unknown, Step::Known),
            Step::Far if factor == 0 => Step::Known(0),
            other => other,
        }
    }

    /// Divided by a factor of what it was made of.
    fn over(self, factor: i64) -> Step {
        match self {
            Step::Known(step) if step % factor == 0 => Step::Known(step / factor),
            Step::Far => Step::Far,
            Step::Known(_) | Step::Unknown => Step::Unknown,
        }
    }

    /// Times a number that is the same in all units.
    fn times_some(self) -> Step {
        match self {
            Step::Known(step) if step != 0 => Step::Far,
            other => other,
        }
    }

    pub fn near(self) -> Option<i64> {
        match self {
            Step::Known(step) => Some(step).filter(|step| (1..=NEAR).contains(&step.unsigned_abs())),
            Step::Far | Step::Unknown => None,
        }
    }
}

/// Whether a constant has the lower bytes of a number.
fn is_low_half(mask: i64) -> bool {
    matches!(mask, 0xff | 0xffff | 0xffff_ffff)
}

pub(super) fn sum(a: Steps, b: Steps) -> Steps {
    std::array::from_fn(|at| a[at].plus(b[at]))
}

/// How numbers of a kernel change.
pub(super) struct Changes<'a, 'm> {
    a: &'a Analysis<'m>,
    unit: Unit,
    known: FxHashMap<Id, Steps>,
}

impl<'a, 'm> Changes<'a, 'm> {
    pub fn new(a: &'a Analysis<'m>, unit: Unit) -> Self {
        Changes { a, unit, known: FxHashMap::default() }
    }

    /// Those of a number.
    pub fn of(&mut self, id: Id) -> Steps {
        if let Some(steps) = self.known.get(&id) {
            return *steps;
        }
        if self.known.len() >= MOST_VALUES {
            return UNKNOWN;
        }
        // What a loop adds to a value does not depend on how it began.
        self.known.insert(id, SAME);
        let steps = self.of_id(id).unwrap_or_else(|| match self.a.definition(id) {
            Some(inst) => self.of_result(inst),
            None => self.of_phi(id),
        });
        self.known.insert(id, steps);
        steps
    }

    /// Those of the ids of work-groups and work-items.
    fn of_id(&self, id: Id) -> Option<Steps> {
        let (builtin, dimension) = self.a.whole_component(id)?;
        let at = dimension as usize;
        let group = || {
            let size = self.a.func.kernel.required_group_size;
            size.map(|size| self.a.variant.axis.exchange(size))
        };
        let step = match (builtin, self.unit) {
            (BuiltIn::WorkgroupId, Unit::WorkGroup) => 1,
            (BuiltIn::GlobalInvocationId, Unit::WorkGroup) => {
                group().map_or(USUAL_SIZE, |size| i64::from(size[at.min(2)]))
            }
            (BuiltIn::GlobalInvocationId | BuiltIn::LocalInvocationId, Unit::WorkItem) => 1,
            (BuiltIn::GlobalLinearId, _)
            | (
                BuiltIn::LocalInvocationIndex | BuiltIn::SubgroupId | BuiltIn::SubgroupLocalInvocationId,
                Unit::WorkItem,
            ) => return Some(UNKNOWN),
            _ => return Some(SAME),
        };
        let mut steps = SAME;
        if at < steps.len() {
            steps[at] = Step::Known(step);
        }
        Some(steps)
    }

    fn of_result(&mut self, inst: &Inst) -> Steps {
        let constant = |id: Id| self.a.func.constant_bits(id).map(|bits| bits as i64);
        match inst.op {
            Op::IAdd => sum(self.of(inst.id(0)), self.of(inst.id(1))),
            Op::ISub => {
                let minus = self.of(inst.id(1)).map(|step| step.times(-1));
                sum(self.of(inst.id(0)), minus)
            }
            Op::IMul => {
                let [a, b] = [0, 1].map(|at| self.of(inst.id(at)));
                match (constant(inst.id(0)), constant(inst.id(1))) {
                    (_, Some(factor)) => a.map(|step| step.times(factor)),
                    (Some(factor), _) => b.map(|step| step.times(factor)),
                    _ => std::array::from_fn(|at| match (a[at], b[at]) {
                        (step, Step::Known(0)) | (Step::Known(0), step) => step.times_some(),
                        _ => Step::Unknown,
                    }),
                }
            }
            Op::ShiftLeftLogical => match constant(inst.id(1)) {
                Some(bits @ 0..63) => self.of(inst.id(0)).map(|step| step.times(1 << bits)),
                _ => self.of_operands(inst),
            },
            // Compilers extend 32-bit numbers within a register: to the left, and back.
            Op::ShiftRightArithmetic => match constant(inst.id(1)) {
                Some(bits @ 0..63) => self.of(inst.id(0)).map(|step| step.over(1 << bits)),
                _ => self.of_operands(inst),
            },
            // Extended without a sign.
            Op::BitwiseAnd if (0..2).any(|at| constant(inst.id(at)).is_some_and(is_low_half)) => {
                let at = usize::from(constant(inst.id(0)).is_some());
                self.of(inst.id(at))
            }
            Op::UConvert
            | Op::SConvert
            | Op::CopyObject
            | Op::Bitcast
            | Op::PtrCastToGeneric
            | Op::ConvertUToPtr
            | Op::ConvertPtrToU => self.of(inst.id(0)),
            Op::ExtInst if self.a.bounding(inst).is_some() => self.of_one(inst.ids().skip(1)),
            Op::Select if self.of(inst.id(1)) == SAME || self.of(inst.id(2)) == SAME => {
                self.of_one(inst.ids().skip(1))
            }
            // What this work-group has written there.
            _ if matches!(inst.row().memory, Memory::Read { .. })
                && matches!(
                    self.a.func.class_of(inst.id(0)),
                    Some(StorageClass::Function | StorageClass::Workgroup)
                )
                && !self.is_of_argument(inst.id(0)) =>
            {
                UNKNOWN
            }
            _ if self.a.func.derived_from(inst).is_some() => {
                let base = self.of(inst.id(0));
                self.a.func.chain(inst).into_iter().fold(base, |steps, part| match part {
                    ChainStep::Constant(_) => steps,
                    ChainStep::Scaled { index, size } => {
                        let index = self.of(index);
                        sum(steps, index.map(|step| step.times(size as i64)))
                    }
                })
            }
            _ => self.of_operands(inst),
        }
    }

    /// Whether a pointer leads into a structure that is passed by value and only read.
    fn is_of_argument(&self, mut pointer: Id) -> bool {
        while let Some(from) = self.a.definition(pointer).and_then(|inst| self.a.func.derived_from(inst)) {
            pointer = from;
        }
        self.a.private.placement.get(&pointer) == Some(&Placement::Argument)
    }

    /// A result of which nothing is known but that it is the same where all operands are.
    fn of_operands(&mut self, inst: &Inst) -> Steps {
        inst.ids().fold(SAME, |steps, id| {
            let operand = self.of(id);
            std::array::from_fn(|at| match (steps[at], operand[at]) {
                (Step::Known(0), Step::Known(0)) => Step::Known(0),
                _ => Step::Unknown,
            })
        })
    }

    fn of_phi(&mut self, id: Id) -> Steps {
        // Constants, variables of the module and parameters.
        let Some(&block) = self.a.def.get(&id) else { return SAME };
        let Some(phi) = self.a.func.blocks[block].phis.iter().find(|phi| phi.result == id) else {
            return SAME;
        };
        // From before a loop, and from its end, which the loop made of what came from before.
        self.of_one(phi.incoming.iter().map(|(_, incoming)| *incoming))
    }

    /// A number that is one of these, of which some may be bounds.
    fn of_one(&mut self, of: impl Iterator<Item = Id>) -> Steps {
        let mut all = of.map(|id| self.of(id));
        let first = all.next().unwrap_or(SAME);
        all.fold(first, |steps, other| {
            std::array::from_fn(|at| match (steps[at], other[at]) {
                (step, other) if step == other => step,
                (Step::Known(0), step) | (step, Step::Known(0)) => step,
                _ => Step::Unknown,
            })
        })
    }
}
