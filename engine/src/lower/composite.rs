//! Vectors, structures and arrays as values: leaves are picked and put, no code is made for most of it.

use super::Lowerer;
use super::access::{self, Access, Place};
use super::builder::{IntPred, Value};
use super::groups::lanes::first_bit;
use super::values::{Reg, Val};
use crate::analysis::func::Taken;
use crate::analysis::leaves::{Leaf, Scalar};
use crate::error::EngineError;
use smallvec::smallvec;
use spirv::{Op, StorageClass};
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
            if let Some(element) = extracted_from_memory(this, inst)? {
                return Ok(smallvec![element]);
            }
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

/// The element that an index names which all lanes share, of a vector that all of them have loaded from the same place: loaded by itself. Nobody
/// has written there since.
fn extracted_from_memory(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Option<Reg>, EngineError> {
    let a = this.a;
    let Some(load) = a.definition(inst.id(0)).filter(|load| load.op == Op::Load && !load.is_volatile())
    else {
        return Ok(None);
    };
    // What is written in between is no matter of constants, and private objects had better be registers.
    let is_there = match a.func.class_of(load.id(0)) {
        Some(StorageClass::UniformConstant) => true,
        Some(StorageClass::CrossWorkgroup | StorageClass::Workgroup) => {
            load.result.zip(inst.result).is_some_and(|(from, to)| a.is_memory_the_same(from, to))
        }
        _ => false,
    };
    if a.builtins.contains_key(&load.id(0)) || !is_there {
        return Ok(None);
    }
    let (leaves, index) = (this.leaves_of(inst.id(0))?, this.leaf(inst.id(1))?);
    let (Some(index), Place::Uniform(address)) = (index.of_all_lanes(), access::place(this, load.id(0))?)
    else {
        return Ok(None);
    };
    let size = leaves[0].scalar.bytes();
    if !leaves.len().is_power_of_two() || leaves[0].scalar == Scalar::Bool {
        return Ok(None);
    }
    let b = &this.b;
    // What is not in the vector is any of its elements.
    let last = b.int(b.scalar_of(index), 1, leaves.len() as u64 - 1);
    let at = b.mul(b.zext_or_trunc(b.and(index, last), Scalar::I64), b.i64(size));
    let place = Place::Uniform(b.offset(address, at));
    let element = Leaf::consecutive(leaves[0].scalar, 1);
    Ok(access::load_leaves(this, &place, &element, size, Access::default()).first().copied())
}

fn equals(this: &Lowerer<'_, '_>, index: Value, at: usize) -> Value {
    let (scalar, lanes) = (this.b.scalar_of(index), this.b.lanes(index));
    debug_assert!(scalar != Scalar::Bool);
    this.b.icmp(IntPred::LLVMIntEQ, index, this.b.int(scalar, lanes, at as u64))
}
