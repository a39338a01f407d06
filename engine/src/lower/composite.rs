//! Vectors, structures and arrays as values: leaves are picked and put, no code is made for most of it.

use super::Lowerer;
use super::builder::{IntPred, Value};
use super::groups::lanes::first_bit;
use super::values::{Reg, Val};
use crate::analysis::func::Taken;
use crate::analysis::leaves::Scalar;
use crate::error::EngineError;
use smallvec::smallvec;
use spirv::Op;
use spirv_env::{Id, Inst};

/// What lanes have of a value that the engine copies.
fn taken(this: &mut Lowerer<'_, '_>, of: Id, taken: Taken) -> Result<Val, EngineError> {
    let member = if taken == Taken::OfFirst { 0 } else { this.bundle.at };
    let val = this.of_member(member, |this| this.value(of))?;
    let b = &this.b;
    // The first lane that is on, or some lane.
    let turn = || first_bit(b, this.active_bits(), this.w);
    Ok(match taken {
        Taken::OfFirst => {
            let first = |reg: Reg| reg.scalar().unwrap_or_else(|| b.extract(this.vector(reg), b.i32(0)));
            // Nobody needs it unless the first work-item is there.
            val.into_iter().map(|reg| Reg::uniform(b.freeze(first(reg)))).collect()
        }
        Taken::OfTurn => {
            let lane = turn();
            let own = |reg: Reg| reg.of_all_lanes().unwrap_or_else(|| b.extract(this.vector(reg), lane));
            val.into_iter().map(|reg| Reg::uniform(own(reg))).collect()
        }
        Taken::HasTurn => {
            let lane = b.splat(turn(), this.w);
            smallvec![Reg::varying(b.icmp(IntPred::LLVMIntEQ, b.lane_numbers(Scalar::I32), lane))]
        }
    })
}

pub fn lower(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Val, EngineError> {
    let ty = inst.ty.expect("composite instructions have a type");
    match inst.op {
        Op::Undef => {
            let leaves = this.leaves(ty)?;
            Ok(leaves.iter().map(|leaf| Reg::uniform(this.b.zero(leaf.scalar, 1))).collect())
        }
        Op::CopyObject | Op::CopyLogical | Op::FPGARegALTERA => match this.a.func.taken(inst) {
            Some(taken) => self::taken(this, inst.id(0), taken),
            None => this.value(inst.id(0)),
        },
        Op::CompositeConstruct => {
            let mut val = Val::new();
            for id in inst.ids().collect::<Vec<_>>() {
                val.extend(this.value(id)?);
            }
            Ok(val)
        }
        Op::CompositeExtract => {
            let (first, part) = this.a.leaves.path(this.a.func.type_of(inst.id(0)), &inst.operands[1..]);
            let count = this.leaves(part)?.len();
            let val = this.value(inst.id(0))?;
            Ok(val[first..first + count].iter().copied().collect())
        }
        Op::CompositeInsert => {
            let (first, _) = this.a.leaves.path(Some(ty), &inst.operands[2..]);
            let mut val = this.value(inst.id(1))?;
            for (at, reg) in this.value(inst.id(0))?.into_iter().enumerate() {
                val[first + at] = reg;
            }
            Ok(val)
        }
        Op::VectorShuffle => {
            let mut all = this.value(inst.id(0))?;
            all.extend(this.value(inst.id(1))?);
            let scalar = this.leaves(ty)?[0].scalar;
            Ok((2..inst.operands.len())
                .map(|at| match all.get(inst.lit(at) as usize) {
                    Some(reg) => *reg,
                    // The literal 0xFFFFFFFF: any value.
                    None => Reg::uniform(this.b.zero(scalar, 1)),
                })
                .collect())
        }
        Op::VectorExtractDynamic => {
            let (vector, index) = (this.value(inst.id(0))?, this.leaf(inst.id(1))?);
            let mut result = vector[0];
            for (at, component) in vector.iter().enumerate().skip(1) {
                result = this.apply(&[index, *component, result], |this, values| {
                    let hit = equals(this, values[0], at);
                    this.b.select(hit, values[1], values[2])
                });
            }
            Ok(smallvec![result])
        }
        Op::VectorInsertDynamic => {
            let (vector, new) = (this.value(inst.id(0))?, this.leaf(inst.id(1))?);
            let index = this.leaf(inst.id(2))?;
            Ok(vector
                .iter()
                .enumerate()
                .map(|(at, component)| {
                    this.apply(&[index, new, *component], |this, values| {
                        let hit = equals(this, values[0], at);
                        this.b.select(hit, values[1], values[2])
                    })
                })
                .collect())
        }
        _ => Err(this.no_lowering(inst)),
    }
}

fn equals(this: &Lowerer<'_, '_>, index: Value, at: usize) -> Value {
    let (scalar, lanes) = (this.b.scalar_of(index), this.b.lanes(index));
    debug_assert!(scalar != Scalar::Bool);
    this.b.icmp(IntPred::LLVMIntEQ, index, this.b.int(scalar, lanes, at as u64))
}
