//! Atomic instructions on local memory that stand next to each other, and whose old values nobody asks for.
//!
//! A table of groups has a count, a sum, and extrema for each, and a picture a histogram for each colour: a work-item changes several places, one
//! behind the other. What lies between is arithmetic, or loads of what no work-group writes for another that it could wait for, so a lane may do all of
//! it before the next lane begins (`lower::turns`).

use super::Analysis;
use super::func::BlockId;
use rustc_hash::FxHashMap;
use spirv::{Op, StorageClass};
use spirv_env::opcodes::{Convergence, Family, Memory, ORDERS};
use spirv_env::{Id, Inst};

/// Instructions of a run, at most: each lane's code is all of them.
const MOST: usize = 4;

/// What is known of an instruction of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InRun {
    /// Whether it is the run's last one.
    pub is_last: bool,
}

/// The runs of a block, by the old values of their instructions.
#[derive(Default, Debug)]
pub struct AtomicRuns {
    by_result: FxHashMap<Id, InRun>,
}

impl AtomicRuns {
    pub fn of_block(a: &Analysis<'_>, block: BlockId) -> AtomicRuns {
        let mut found = AtomicRuns::default();
        if a.variant.width == 1 {
            return found;
        }
        let (mut run, mut is_ordered): (Vec<Id>, bool) = (Vec::new(), false);
        for inst in &a.func.blocks[block].insts {
            match member(a, block, inst) {
                Some(result) => {
                    is_ordered = orders_others(a, inst) || !run.is_empty() && is_ordered;
                    run.push(result);
                    if run.len() == MOST {
                        found.keep(&mut run);
                    }
                }
                None if run.is_empty() || may_lie_between(a, inst, is_ordered) => {}
                None => found.keep(&mut run),
            }
        }
        found.keep(&mut run);
        found
    }

    fn keep(&mut self, run: &mut Vec<Id>) {
        if let [first @ .., last] = run.as_slice()
            && !first.is_empty()
        {
            self.by_result.extend(first.iter().map(|id| (*id, InRun { is_last: false })));
            self.by_result.insert(*last, InRun { is_last: true });
        }
        run.clear();
    }

    /// Whether an instruction is one of a run.
    pub fn of(&self, inst: &Inst) -> Option<InRun> {
        self.by_result.get(&inst.result?).copied()
    }
}

/// The old value of an instruction that may be one of a run: lanes have addresses of their own, and nobody asks for it.
fn member(a: &Analysis<'_>, block: BlockId, inst: &Inst) -> Option<Id> {
    let result = inst.result?;
    let is_update = inst.row().family == Family::Atomic
        && !matches!(inst.op, Op::AtomicLoad | Op::AtomicCompareExchange | Op::AtomicCompareExchangeWeak);
    (is_update
        && a.func.class_of(inst.id(0)) == Some(StorageClass::Workgroup)
        && a.uses(result) == 0
        && !a.shape(block, inst.id(0))[0].is_uniform())
    .then_some(result)
}

/// Whether what else a work-item accesses is ordered by an atomic instruction, or may be.
fn orders_others(a: &Analysis<'_>, inst: &Inst) -> bool {
    a.func.constant_bits(inst.id(2)).is_none_or(|bits| bits & u64::from(ORDERS.bits()) != 0)
}

/// Whether the run goes on behind an instruction: it is made as late as the last of its own, which is no other order for anybody where nothing else
/// is accessed in between. What is loaded from other memory may be loaded first, unless one of the run asks for an order.
fn may_lie_between(a: &Analysis<'_>, inst: &Inst, is_ordered: bool) -> bool {
    let row = inst.row();
    let leaves_it = match a.memory_of(inst) {
        Memory::None => true,
        // Local memory is what the run changes, and a generic pointer may lead there.
        Memory::Read { .. } if !inst.is_volatile() && !is_ordered => matches!(
            a.func.class_of(inst.id(0)),
            Some(StorageClass::CrossWorkgroup | StorageClass::UniformConstant | StorageClass::Input)
        ),
        _ => false,
    };
    leaves_it && !row.synchronizes() && row.convergence == Convergence::None
}

#[cfg(test)]
mod tests;
