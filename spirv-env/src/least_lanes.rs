//! How many lanes the sub-groups of a function have at least for what it exchanges to mean anything.
//!
//! A kernel that does not say how large its sub-groups are may be written for one size all the same: XLA and what was written for CUDA
//! sum up a row of 32 by shuffles 16, 8, 4, 2 and 1 lanes down, and llama.cpp rows of 16 by lanes whose numbers differ in one bit. What is
//! shuffled from beyond the end of a sub-group is undefined (SPIR-V 1.3 §3.32.24), so the size is one that has no such end.

use crate::Id;
use crate::module::{Function, Inst, Module, Operand};
use crate::opcodes::Convergence;
use crate::reflect::constant_scalar;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use spirv::{GroupOperation, Op};

/// Values that a number is made of, as far as they are followed.
const MOST_VALUES: usize = 64;

/// Lanes that a sub-group has at most: larger numbers are none of a lane.
const MOST_LANES: u64 = 32;

/// Lanes of a sub-group that a function counts on, by the constants in what it exchanges; 0 where there are none.
pub(crate) fn least_lanes(module: &Module, function: &Function) -> u32 {
    let insts = || function.blocks.iter().flat_map(|block| &block.insts);
    if !insts().any(|inst| number_at(inst).is_some()) {
        return 0;
    }
    let defs: FxHashMap<_, _> = insts().filter_map(|inst| Some((inst.result?, inst))).collect();
    let of_inst = |inst: &Inst| {
        let (at, beyond) = number_at(inst)?;
        let lanes = largest(module, &defs, inst.id(at))? + beyond;
        u32::try_from(lanes).ok().filter(|lanes| u64::from(*lanes) <= MOST_LANES)
    };
    insts().filter_map(of_inst).max().unwrap_or(0)
}

/// The operand that numbers lanes, and how many more than that there are at least.
fn number_at(inst: &Inst) -> Option<(usize, u64)> {
    let clustered = Operand::Lit(GroupOperation::ClusteredReduce as u64);
    let is_clustered = || {
        inst.row().convergence == Convergence::Subgroup
            && inst.operands.get(1) == Some(&clustered)
            && inst.operands.len() > 3
    };
    match inst.op {
        Op::GroupNonUniformShuffle
        | Op::GroupNonUniformShuffleXor
        | Op::GroupNonUniformShuffleUp
        | Op::GroupNonUniformShuffleDown
        | Op::GroupNonUniformRotateKHR
        | Op::GroupNonUniformBroadcast => Some((2, 1)),
        Op::SubgroupShuffleINTEL | Op::SubgroupShuffleXorINTEL | Op::SubgroupReadInvocationKHR => {
            Some((1, 1))
        }
        // Behind the lanes of one value come those of the other.
        Op::SubgroupShuffleUpINTEL | Op::SubgroupShuffleDownINTEL => Some((2, 0)),
        _ if is_clustered() => Some((3, 0)),
        _ => None,
    }
}

/// The largest constant that a number is or begins as, or that is in it: of a lane in its row, the last one of the row.
fn largest(module: &Module, defs: &FxHashMap<Id, &Inst>, id: Id) -> Option<u64> {
    let constant = |id| constant_scalar(module, id).filter(|number| *number <= MOST_LANES);
    let (mut open, mut seen, mut most) = (vec![id], FxHashSet::from_iter([id]), None);
    while let Some(id) = open.pop() {
        let Some(inst) = defs.get(&id) else {
            most = most.max(constant(id));
            continue;
        };
        let of: SmallVec<[Id; 4]> = match inst.op {
            Op::UConvert | Op::SConvert | Op::Bitcast | Op::CopyObject => [inst.id(0)].into_iter().collect(),
            Op::Phi | Op::BitwiseOr | Op::BitwiseXor | Op::IAdd => inst.ids().collect(),
            Op::Select => inst.ids().skip(1).collect(),
            Op::BitwiseAnd => {
                let mask = inst.ids().filter_map(constant).max();
                most = most.max(mask.filter(|mask| (mask + 1).is_power_of_two()));
                continue;
            }
            Op::UMod | Op::SRem | Op::SMod => {
                most = most.max(constant(inst.id(1)).and_then(|divisor| divisor.checked_sub(1)));
                continue;
            }
            _ => continue,
        };
        let room = MOST_VALUES.saturating_sub(seen.len());
        open.extend(of.into_iter().take(room).filter(|id| seen.insert(*id)));
    }
    most
}
