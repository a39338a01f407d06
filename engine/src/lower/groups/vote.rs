//! Votes and ballots of a sub-group. A ballot is four 32-bit words, of which W lanes fill at most the first.

use crate::analysis::leaves::Scalar;
use crate::error::EngineError;
use crate::lower::Lowerer;
use crate::lower::builder::{IntPred, Opcode, RealPred, Value};
use crate::lower::values::{Mask, Reg, Val};
use smallvec::smallvec;
use spirv::{GroupOperation, Op};
use spirv_env::{Id, Inst};

pub fn lower(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Val, EngineError> {
    let result = match inst.op {
        Op::GroupNonUniformElect => {
            let first = this.b.splat(this.first_active(), this.w);
            let hit = this.b.icmp(IntPred::LLVMIntEQ, lane_numbers(this), first);
            this.lanes(hit)
        }
        Op::GroupNonUniformAll => all_of(this, inst.id(1))?,
        Op::SubgroupAllKHR => all_of(this, inst.id(0))?,
        Op::GroupNonUniformAny => any_of(this, inst.id(1))?,
        Op::SubgroupAnyKHR => any_of(this, inst.id(0))?,
        Op::GroupNonUniformAllEqual => all_equal(this, inst.id(1))?,
        Op::SubgroupAllEqualKHR => all_equal(this, inst.id(0))?,
        Op::GroupNonUniformBallot => return ballot(this, inst.id(1)),
        Op::SubgroupBallotKHR => return ballot(this, inst.id(0)),
        Op::GroupNonUniformInverseBallot => {
            let word = this.value(inst.id(1))?[0];
            let (b, lanes) = (&this.b, lane_numbers(this));
            let bit = b.shl(b.int(Scalar::I32, this.w, 1), lanes);
            let hit = b.and(this.vector(word), bit);
            this.lanes(b.icmp(IntPred::LLVMIntNE, hit, b.int(Scalar::I32, this.w, 0)))
        }
        Op::GroupNonUniformBallotBitExtract => {
            let words = this.value(inst.id(1))?;
            let index = this.leaf(inst.id(2))?;
            let mut word = words[0];
            for (at, other) in words.iter().enumerate().skip(1) {
                word = this.apply(&[index, *other, word], |this, values| {
                    let b = &this.b;
                    let (scalar, lanes) = (b.scalar_of(values[0]), b.lanes(values[0]));
                    let number = b.lshr(values[0], b.int(scalar, lanes, 5));
                    let hit = b.icmp(IntPred::LLVMIntEQ, number, b.int(scalar, lanes, at as u64));
                    b.select(hit, values[1], values[2])
                });
            }
            this.apply(&[word, index], |this, values| {
                let (b, lanes) = (&this.b, this.b.lanes(values[0]));
                let index = b.and(b.zext_or_trunc(values[1], Scalar::I32), b.int(Scalar::I32, lanes, 31));
                b.cast(Opcode::LLVMTrunc, b.lshr(values[0], index), Scalar::Bool)
            })
        }
        Op::GroupNonUniformBallotBitCount => bit_count(this, inst)?,
        Op::GroupNonUniformBallotFindLSB | Op::GroupNonUniformBallotFindMSB => {
            let word = this.value(inst.id(1))?[0];
            let lsb = inst.op == Op::GroupNonUniformBallotFindLSB;
            let all = this.all_bits();
            let to = this.leaves(inst.ty.expect("a number"))?[0].scalar;
            this.apply(&[word], |this, values| {
                let (b, lanes) = (&this.b, this.b.lanes(values[0]));
                let bits = b.and(values[0], b.int(Scalar::I32, lanes, all));
                let name = if lsb { "llvm.cttz" } else { "llvm.ctlz" };
                let zeros = b.intrinsic_on(name, &[(Scalar::I32, lanes)], &[bits, b.int(Scalar::Bool, 1, 0)]);
                let number = if lsb { zeros } else { b.sub(b.int(Scalar::I32, lanes, 31), zeros) };
                b.zext_or_trunc(number, to)
            })
        }
        _ => return Err(this.no_lowering(inst)),
    };
    Ok(smallvec![result])
}

/// Whether a predicate holds in all lanes that are on.
pub fn all_of(this: &mut Lowerer<'_, '_>, predicate: Id) -> Result<Reg, EngineError> {
    let reg = this.leaf(predicate)?;
    if reg.is_uniform() {
        return Ok(reg);
    }
    let fails = this.b.not(this.vector(reg));
    Ok(Reg::uniform(this.b.not(any_active(this, fails))))
}

/// Whether a predicate holds in some lane that is on.
pub fn any_of(this: &mut Lowerer<'_, '_>, predicate: Id) -> Result<Reg, EngineError> {
    let reg = this.leaf(predicate)?;
    if reg.is_uniform() {
        return Ok(reg);
    }
    Ok(Reg::uniform(any_active(this, this.vector(reg))))
}

fn any_active(this: &Lowerer<'_, '_>, lanes: Value) -> Value {
    this.b.any(active(this, lanes))
}

/// Those of the lanes that are on. What is off may be poison, which a selection keeps out.
fn active(this: &Lowerer<'_, '_>, lanes: Value) -> Value {
    match this.mask() {
        Mask::All => lanes,
        Mask::Lanes(mask) => this.b.select(mask, lanes, this.b.zero(Scalar::Bool, this.w)),
    }
}

fn all_equal(this: &mut Lowerer<'_, '_>, id: Id) -> Result<Reg, EngineError> {
    let mut differ: Option<Value> = None;
    for reg in this.value(id)? {
        let (b, values) = (&this.b, this.vector(reg));
        let first = b.splat(this.same(reg), this.w);
        let differs = if b.scalar_of(values).is_float() {
            // Unordered or unequal: a NaN equals nothing, itself included.
            b.fcmp(RealPred::LLVMRealUNE, values, first)
        } else {
            b.icmp(IntPred::LLVMIntNE, values, first)
        };
        differ = Some(differ.map_or(differs, |differ| b.or(differ, differs)));
    }
    let differ = differ.ok_or_else(|| this.unsupported("a vote on a value without components".into()))?;
    Ok(Reg::uniform(this.b.not(any_active(this, differ))))
}

fn ballot(this: &mut Lowerer<'_, '_>, predicate: Id) -> Result<Val, EngineError> {
    let reg = this.leaf(predicate)?;
    let bits = this.b.mask_bits(active(this, this.vector(reg)));
    let zero = Reg::uniform(this.b.i32(0));
    let word = Reg::uniform(this.b.zext_or_trunc(bits, Scalar::I32));
    Ok(smallvec![word, zero, zero, zero])
}

fn bit_count(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Reg, EngineError> {
    let operation = inst.lit(1);
    let word = this.value(inst.id(2))?[0];
    let to = this.leaves(inst.ty.expect("a number"))?[0].scalar;
    let all = this.all_bits();
    let count = |this: &Lowerer<'_, '_>, bits: Value| {
        this.b.zext_or_trunc(this.b.intrinsic("llvm.ctpop", &[bits]), to)
    };
    if operation == GroupOperation::Reduce as u64 {
        return Ok(this.apply(&[word], |this, values| {
            let bits = this.b.and(values[0], this.b.int(Scalar::I32, this.b.lanes(values[0]), all));
            count(this, bits)
        }));
    }
    let inclusive = u32::from(operation == GroupOperation::InclusiveScan as u64);
    let below = lane_masks(this, inclusive);
    let bits = this.b.and(this.vector(word), below);
    Ok(this.lanes(count(this, bits)))
}

/// For each lane, the bits of the lanes before it, and with `inclusive` 1 its own.
pub(in crate::lower) fn lane_masks(this: &Lowerer<'_, '_>, inclusive: u32) -> Value {
    let masks = (0..this.w).map(|lane| (1u64 << (lane + inclusive)) - 1);
    match this.w {
        1 => this.b.i32(inclusive),
        _ => this.b.int_vector(Scalar::I32, masks),
    }
}

fn lane_numbers(this: &Lowerer<'_, '_>) -> Value {
    match this.w {
        1 => this.b.i32(0),
        _ => this.b.lane_numbers(Scalar::I32),
    }
}
