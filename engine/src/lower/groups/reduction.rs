//! Reductions and scans of sub-groups and work-groups.

use super::combine::{self, Combine, narrow};
use super::{collective, contributions, contributions_of_each, is_of_work_group};
use crate::analysis::leaves::Scalar;
use crate::error::EngineError;
use crate::lower::Lowerer;
use crate::lower::builder::{IntPred, Value};
use crate::lower::values::{Mask, Reg, Val};
use smallvec::smallvec;
use spirv::GroupOperation;
use spirv_env::Inst;

/// Reductions and scans. Operands: scope, group operation, value, and the size of clusters.
pub fn lower(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Val, EngineError> {
    let combine = combine::of(inst.op).ok_or_else(|| this.no_lowering(inst))?;
    if is_of_work_group(this, inst) {
        return collective::arithmetic(this, inst, combine);
    }
    let reg = this.leaf(inst.id(2))?;
    let scalar = this.b.scalar_of(this.vector(reg));
    let result = match inst.lit(1) == GroupOperation::Reduce as u64 && this.takes_turns() {
        true => of_each_member(this, inst, combine)?,
        false => {
            let lanes = contributions(this, combine, reg);
            within_subgroup(this, inst, combine, lanes)?
        }
    };
    Ok(smallvec![this.apply(&[result], |this, values| narrow(&this.b, values[0], scalar))])
}

/// A sub-group's reduction, of which the first member of a bundle makes those of all at once.
fn of_each_member(this: &mut Lowerer<'_, '_>, inst: &Inst, combine: Combine) -> Result<Reg, EngineError> {
    if this.bundle.at == 0 {
        let lanes = contributions_of_each(this, inst, combine)?;
        let results = combine.reduce_each(&this.b, &lanes).into_iter().map(Reg::uniform);
        this.bundle.ahead = results.map(|reg| smallvec![reg]).collect();
    }
    let made = this.bundle.ahead.pop_front().expect("the first member made one for each");
    Ok(made[0])
}

fn within_subgroup(
    this: &mut Lowerer<'_, '_>,
    inst: &Inst,
    combine: Combine,
    lanes: Value,
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
