//! Dot products of integers (`SPV_KHR_integer_dot_product`).
//!
//! Products and their sum are computed in the result's width, modulo which they are defined. Only what is accumulated
//! saturates.

use super::Lowerer;
use super::builder::Value;
use super::values::{Reg, Val};
use crate::analysis::leaves::Scalar;
use crate::error::EngineError;
use smallvec::{SmallVec, smallvec};
use spirv::Op;
use spirv_env::{Id, Inst};

/// Which operands have a sign, and how the accumulator is added.
struct DotForm {
    first_signed: bool,
    second_signed: bool,
    accumulate: Option<&'static str>,
}

impl DotForm {
    fn of(op: Op) -> Option<Self> {
        let (first_signed, second_signed, accumulate) = match op {
            Op::SDot => (true, true, None),
            Op::UDot => (false, false, None),
            Op::SUDot => (true, false, None),
            Op::SDotAccSat => (true, true, Some("llvm.sadd.sat")),
            Op::UDotAccSat => (false, false, Some("llvm.uadd.sat")),
            Op::SUDotAccSat => (true, false, Some("llvm.sadd.sat")),
            _ => return None,
        };
        Some(Self { first_signed, second_signed, accumulate })
    }
}

pub fn lower(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Val, EngineError> {
    let form = DotForm::of(inst.op).ok_or_else(|| this.no_lowering(inst))?;
    let to = this.leaves(inst.ty.expect("a dot product has a type"))?[0].scalar;
    let (x, y) = (components(this, inst.id(0))?, components(this, inst.id(1))?);
    let extend = |this: &Lowerer<'_, '_>, value: Value, signed: bool| match signed {
        true => this.b.sext_or_trunc(value, to),
        false => this.b.zext_or_trunc(value, to),
    };
    let mut sum: Option<Reg> = None;
    for (x, y) in x.into_iter().zip(y) {
        let product = this.apply(&[x, y], |this, v| {
            this.b.mul(extend(this, v[0], form.first_signed), extend(this, v[1], form.second_signed))
        });
        sum = Some(match sum {
            None => product,
            Some(sum) => this.apply(&[sum, product], |this, v| this.b.add(v[0], v[1])),
        });
    }
    let sum = sum.ok_or_else(|| this.unsupported("a dot product of nothing".into()))?;
    let Some(add) = form.accumulate else { return Ok(smallvec![sum]) };
    let accumulator = this.leaf(inst.id(2))?;
    Ok(smallvec![this.apply(&[sum, accumulator], |this, v| this.b.intrinsic(add, v))])
}

/// The components of a vector, or the four bytes that are packed into a 32-bit number.
fn components(this: &mut Lowerer<'_, '_>, id: Id) -> Result<SmallVec<[Reg; 4]>, EngineError> {
    const BYTES: u64 = 4;
    let val = this.value(id)?;
    let &[packed] = val.as_slice() else { return Ok(val.into_iter().collect()) };
    let byte = |at: u64| {
        this.apply(&[packed], |this, v| {
            let b = &this.b;
            b.zext_or_trunc(b.lshr(v[0], b.int(Scalar::I32, b.lanes(v[0]), 8 * at)), Scalar::I8)
        })
    };
    Ok((0..BYTES).map(byte).collect())
}
