//! The same bits as another type: `OpBitcast`, and pointers as numbers.

use super::builder::Value;
use super::values::Val;
use super::{Lowerer, packed};
use crate::analysis::leaves::Scalar;
use crate::error::EngineError;
use smallvec::SmallVec;
use spirv::Op;
use spirv_env::Inst;

pub fn lower(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Val, EngineError> {
    let convert = match inst.op {
        Op::Bitcast => reinterpret,
        Op::ConvertPtrToU | Op::ConvertUToPtr => resize,
        _ => return Err(this.no_lowering(inst)),
    };
    if let Some(val) = packed::bits_of_packed(this, inst)? {
        return Ok(val);
    }
    let leaves = this.leaves(inst.ty.expect("a cast has a type"))?;
    let val = this.value(inst.id(0))?;
    let to: SmallVec<[Scalar; 4]> = leaves.iter().map(|leaf| leaf.scalar).collect();
    Ok(bitcast(this, convert, &val, &to))
}

fn reinterpret(this: &Lowerer<'_, '_>, value: Value, to: Scalar) -> Value {
    this.b.reinterpret(value, to)
}

/// A pointer as a number or back: the width may change.
fn resize(this: &Lowerer<'_, '_>, value: Value, to: Scalar) -> Value {
    let value =
        this.b.reinterpret(value, if to == Scalar::Ptr { this.b.scalar_of(value) } else { Scalar::I64 });
    let sized = this.b.zext_or_trunc(value, if to == Scalar::Ptr { Scalar::I64 } else { to });
    this.b.reinterpret(sized, to)
}

type Convert = fn(&Lowerer<'_, '_>, Value, Scalar) -> Value;

/// Reinterprets the bits of a value as leaves of other types, little-endian.
fn bitcast(this: &Lowerer<'_, '_>, convert: Convert, val: &Val, to: &[Scalar]) -> Val {
    if val.len() == to.len() {
        return val
            .iter()
            .zip(to)
            .map(|(reg, to)| this.apply(&[*reg], |this, v| convert(this, v[0], *to)))
            .collect();
    }
    let ints: Val = val
        .iter()
        .map(|reg| {
            this.apply(&[*reg], |this, v| {
                let int = Scalar::int(this.b.scalar_of(v[0]).bits()).expect("leaves have integer widths");
                this.b.reinterpret(v[0], int)
            })
        })
        .collect();
    let to_int = Scalar::int(to[0].bits()).expect("leaves have integer widths");
    let merged: Val = if to.len() < ints.len() {
        // Several leaves make one.
        let each = ints.len() / to.len();
        ints.chunks(each)
            .map(|parts| {
                this.apply(parts, |this, v| {
                    let b = &this.b;
                    let (bits, lanes) = (u64::from(b.scalar_of(v[0]).bits()), b.lanes(v[0]));
                    v.iter().enumerate().fold(b.zero(to_int, lanes), |all, (at, part)| {
                        let part = b.zext_or_trunc(*part, to_int);
                        b.or(all, b.shl(part, b.int(to_int, lanes, at as u64 * bits)))
                    })
                })
            })
            .collect()
    } else {
        let each = to.len() / ints.len().max(1);
        ints.iter()
            .flat_map(|reg| (0..each).map(move |at| (reg, at)))
            .map(|(reg, at)| {
                this.apply(&[*reg], |this, v| {
                    let b = &this.b;
                    let (scalar, lanes) = (b.scalar_of(v[0]), b.lanes(v[0]));
                    let amount = b.int(scalar, lanes, at as u64 * u64::from(to_int.bits()));
                    b.zext_or_trunc(b.lshr(v[0], amount), to_int)
                })
            })
            .collect()
    };
    merged
        .iter()
        .zip(to)
        .map(|(reg, to)| this.apply(&[*reg], |this, v| this.b.reinterpret(v[0], *to)))
        .collect()
}
