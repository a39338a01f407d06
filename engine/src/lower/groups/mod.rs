//! Sub-group and work-group instructions. A sub-group is one vector, so most of what it does together is a few
//! vector instructions; a work-group combines what its sub-groups have computed.
//!
//! | file | what |
//! |---|---|
//! | `lanes` | lanes that are on, single lanes, permutations |
//! | `combine` | associative operations: reductions, scans |
//! | `vote` | votes and ballots |
//! | `shuffle` | shuffles, broadcasts, block access |
//! | `collective` | the same for work-groups; barriers; asynchronous copies |

pub mod collective;
pub mod combine;
mod lanes;
mod shuffle;
mod vote;

pub use lanes::first_bit;

use super::Lowerer;
use super::builder::IntPred;
use super::values::{Mask, Reg, Val};
use crate::analysis::func::Func;
use crate::analysis::leaves::Scalar;
use crate::error::EngineError;
use combine::{Combine, narrow, widen};
use smallvec::smallvec;
use spirv::{GroupOperation, Op, Scope};
use spirv_env::{ConstantValue, Id, Inst, Module};

/// Whether this file lowers an instruction.
pub fn supports(inst: &Inst, module: &Module) -> bool {
    if has_any_scope(inst.op) {
        return match scope(inst, module) {
            Some(Scope::Workgroup) => true,
            Some(Scope::Subgroup) => !is_copy(inst.op),
            _ => false,
        };
    }
    let known = combine::of(inst.op).is_some() || vote::supports(inst.op) || shuffle::supports(inst.op);
    // Instructions that exist for sub-groups only have no scope, or this one.
    known && (!has_scope(inst.op) || scope(inst, module) == Some(Scope::Subgroup))
}

/// Whether the sub-groups of a work-group wait for each other in an instruction.
pub fn is_workgroup_collective(inst: &Inst, func: &Func<'_>) -> bool {
    match inst.op {
        Op::ControlBarrier | Op::ControlBarrierArriveINTEL | Op::ControlBarrierWaitINTEL => {
            scope(inst, func.module) != Some(Scope::Subgroup)
        }
        op => has_any_scope(op) && scope(inst, func.module) == Some(Scope::Workgroup),
    }
}

/// Instructions that work-groups execute as well as sub-groups.
fn has_any_scope(op: Op) -> bool {
    let core = matches!(
        op,
        Op::GroupAll
            | Op::GroupAny
            | Op::GroupBroadcast
            | Op::GroupIAdd
            | Op::GroupFAdd
            | Op::GroupFMin
            | Op::GroupUMin
            | Op::GroupSMin
            | Op::GroupFMax
            | Op::GroupUMax
            | Op::GroupSMax
    );
    let uniform = matches!(
        op,
        Op::GroupIMulKHR
            | Op::GroupFMulKHR
            | Op::GroupBitwiseAndKHR
            | Op::GroupBitwiseOrKHR
            | Op::GroupBitwiseXorKHR
            | Op::GroupLogicalAndKHR
            | Op::GroupLogicalOrKHR
            | Op::GroupLogicalXorKHR
    );
    core || uniform || is_copy(op)
}

fn is_copy(op: Op) -> bool {
    matches!(op, Op::GroupAsyncCopy | Op::GroupWaitEvents)
}

/// Extensions that were there before `GroupNonUniform` have no scope operand.
fn has_scope(op: Op) -> bool {
    !matches!(
        op,
        Op::SubgroupAllKHR
            | Op::SubgroupAnyKHR
            | Op::SubgroupAllEqualKHR
            | Op::SubgroupBallotKHR
            | Op::SubgroupFirstInvocationKHR
            | Op::SubgroupReadInvocationKHR
            | Op::SubgroupShuffleINTEL
            | Op::SubgroupShuffleXorINTEL
            | Op::SubgroupShuffleUpINTEL
            | Op::SubgroupShuffleDownINTEL
            | Op::SubgroupBlockReadINTEL
            | Op::SubgroupBlockWriteINTEL
    )
}

/// The execution scope, operand 0, if it is a constant.
pub(super) fn scope(inst: &Inst, module: &Module) -> Option<Scope> {
    match module.constants.get(&inst.ids().next()?)?.value {
        ConstantValue::Scalar(bits) => Scope::from_u32(u32::try_from(bits).ok()?),
        ConstantValue::Null => Some(Scope::CrossDevice),
        _ => None,
    }
}

pub fn lower(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Option<Val>, EngineError> {
    if vote::supports(inst.op) {
        return vote::lower(this, inst).map(Some);
    }
    if shuffle::supports(inst.op) {
        return shuffle::lower(this, inst);
    }
    if let Some(combine) = combine::of(inst.op) {
        return arithmetic(this, inst, combine).map(|reg| Some(smallvec![reg]));
    }
    let workgroup = scope(inst, this.a.func.module) == Some(Scope::Workgroup);
    match inst.op {
        Op::GroupAll => group_vote(this, inst.id(1), Combine::And, workgroup).map(|reg| Some(smallvec![reg])),
        Op::GroupAny => group_vote(this, inst.id(1), Combine::Or, workgroup).map(|reg| Some(smallvec![reg])),
        Op::GroupBroadcast if workgroup => collective::broadcast(this, inst.id(1), inst.id(2)).map(Some),
        Op::GroupBroadcast => {
            // A sub-group is one row of lanes, so of a local id of several dimensions the first counts.
            let lane = this.value(inst.id(2))?[0];
            let lane = this.same_i32(lane);
            Ok(Some(shuffle::broadcast_lane(this, inst.id(1), lane)?))
        }
        Op::GroupAsyncCopy => collective::async_copy(this, inst).map(Some),
        Op::GroupWaitEvents => {
            collective::barrier(this);
            Ok(None)
        }
        op => Err(this.unsupported(format!("Op{op:?}"))),
    }
}

fn group_vote(
    this: &mut Lowerer<'_, '_>,
    predicate: Id,
    combine: Combine,
    workgroup: bool,
) -> Result<Reg, EngineError> {
    let of_subgroup = match combine {
        Combine::And => vote::all_of(this, predicate)?,
        _ => vote::any_of(this, predicate)?,
    };
    if workgroup { collective::vote(this, combine, this.same(of_subgroup)) } else { Ok(of_subgroup) }
}

/// Reductions and scans. Operands: scope, group operation, value, and the size of clusters.
fn arithmetic(this: &mut Lowerer<'_, '_>, inst: &Inst, combine: Combine) -> Result<Reg, EngineError> {
    let operation = inst.lit(1);
    let reg = this.leaf(inst.id(2))?;
    let scalar = this.b.scalar_of(this.vector(reg));
    let lanes = contributions(this, combine, reg);
    let result = if has_any_scope(inst.op) && scope(inst, this.a.func.module) == Some(Scope::Workgroup) {
        collective::arithmetic(this, combine, operation, lanes)?
    } else {
        within_subgroup(this, inst, combine, lanes)?
    };
    Ok(this.apply(&[result], |this, values| narrow(&this.b, values[0], scalar)))
}

fn within_subgroup(
    this: &mut Lowerer<'_, '_>,
    inst: &Inst,
    combine: Combine,
    lanes: super::builder::Value,
) -> Result<Reg, EngineError> {
    let b = &this.b;
    Ok(match GroupOperation::from_u32(inst.lit(1) as u32) {
        Some(GroupOperation::Reduce) => Reg::uniform(combine.reduce(b, lanes)),
        Some(GroupOperation::InclusiveScan) => this.lanes(combine.inclusive_scan(b, lanes)),
        Some(GroupOperation::ExclusiveScan) => {
            let identity = combine.identity(b, b.scalar_of(lanes), 1);
            let scan = combine.exclusive_scan(b, lanes, identity);
            match this.mask() {
                // Of the lanes that are on, the first may have others before it.
                Mask::Lanes(_) if combine.has_neutral() && this.w > 1 => {
                    let first = b.splat(this.first_active(), this.w);
                    let is_first = b.icmp(IntPred::LLVMIntEQ, b.lane_numbers(Scalar::I32), first);
                    this.lanes(b.select(is_first, b.splat(identity, this.w), scan))
                }
                _ => this.lanes(scan),
            }
        }
        Some(GroupOperation::ClusteredReduce) => {
            let size = inst.operands.get(3).and_then(|_| this.a.func.constant_bits(inst.id(3)));
            match size {
                Some(size) if size.is_power_of_two() => {
                    this.lanes(combine.cluster(b, lanes, size.min(u64::from(this.w)) as u32))
                }
                _ => {
                    let what = "with a cluster size that is no constant power of two";
                    return Err(this.unsupported(format!("Op{:?} {what}", inst.op)));
                }
            }
        }
        _ => return Err(this.unsupported(format!("Op{:?} with a partition", inst.op))),
    })
}

/// What each lane brings to a reduction: its value, or what changes nothing if it is off.
pub(super) fn contributions(this: &Lowerer<'_, '_>, combine: Combine, reg: Reg) -> super::builder::Value {
    let lanes = widen(&this.b, this.vector(reg));
    match this.mask() {
        Mask::All => lanes,
        Mask::Lanes(mask) => {
            let neutral = combine.neutral(&this.b, this.b.scalar_of(lanes), this.w);
            this.b.select(mask, lanes, neutral)
        }
    }
}
