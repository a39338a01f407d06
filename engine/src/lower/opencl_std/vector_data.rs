//! Vector loads and stores through element pointers, of the element's type or of halves (OpenCL C 2.0 §6.13.7).

use super::super::Lowerer;
use super::super::access::{self, Access, Place};
use super::super::builder::{Opcode, Value};
use super::super::conversion::float_to_float;
use super::super::values::{Reg, Val};
use super::super::{packed, speculation};
use crate::analysis::leaves::{Leaf, Scalar};
use crate::analysis::shapes::Shape;
use crate::error::EngineError;
use spirv::{FPRoundingMode, OpenclStd100Op as StdOp};
use spirv_env::opcodes::opencl_std::{Function, Through};
use spirv_env::{Id, Inst};

/// `vloada_halfn` and `vstorea_halfn` address whole vectors: three components take the place of four. The
/// vector's alignment, which they promise, is more than an access is ever given.
fn is_aligned(op: StdOp) -> bool {
    matches!(op, StdOp::vloada_halfn | StdOp::vstorea_halfn | StdOp::vstorea_halfn_r)
}

pub fn lower(
    this: &mut Lowerer<'_, '_>,
    inst: &Inst,
    function: &Function,
) -> Result<Option<Val>, EngineError> {
    match function.pointer() {
        Some((_, Through::Reads)) => load(this, inst, function.op).map(Some),
        Some((_, Through::Writes)) => store(this, inst, function.op).map(|()| None),
        None => Err(this.no_lowering(inst)),
    }
}

fn load(this: &mut Lowerer<'_, '_>, inst: &Inst, op: StdOp) -> Result<Val, EngineError> {
    let types = this.leaves(inst.ty.expect("a load has a type"))?;
    let scalar = if op == StdOp::vloadn { types[0].scalar } else { Scalar::F16 };
    let leaves = Leaf::consecutive(scalar, types.len());
    let place = place(this, inst.id(3), inst.id(2), unit(op, types.len()) * scalar.bytes())?;
    let bytes = leaves.len() as u64 * scalar.bytes();
    let val = access::load_leaves(this, &place, &leaves, bytes, Access::default());
    if scalar == types[0].scalar {
        return Ok(val);
    }
    Ok(val
        .into_iter()
        .map(|reg| this.apply(&[reg], |this, v| this.b.cast(Opcode::LLVMFPExt, v[0], types[0].scalar)))
        .collect())
}

/// Where a `vloadn` leads.
pub(in crate::lower) fn place_of_load(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Place, EngineError> {
    let types = this.leaves(inst.ty.expect("a load has a type"))?;
    place(this, inst.id(3), inst.id(2), types.len() as u64 * types[0].scalar.bytes())
}

/// Where a `vstoren` leads.
pub(in crate::lower) fn place_of_store(
    this: &mut Lowerer<'_, '_>,
    inst: &Inst,
) -> Result<Place, EngineError> {
    let types = this.leaves_of(inst.id(2))?;
    place(this, inst.id(4), inst.id(3), types.len() as u64 * types[0].scalar.bytes())
}

fn store(this: &mut Lowerer<'_, '_>, inst: &Inst, op: StdOp) -> Result<(), EngineError> {
    if op == StdOp::vstoren && packed::store(this, inst)? {
        return Ok(());
    }
    let mut val = this.value(inst.id(2))?;
    let own = this.leaves_of(inst.id(2))?[0].scalar;
    let scalar = if op == StdOp::vstoren { own } else { Scalar::F16 };
    if scalar != own {
        let rounding = inst.operands.get(5).and_then(|_| FPRoundingMode::from_u32(inst.lit(5) as u32));
        let rounding = rounding.unwrap_or(FPRoundingMode::RTE);
        val = val
            .into_iter()
            .map(|reg| this.apply(&[reg], |this, v| float_to_float(&this.b, v[0], scalar, rounding)))
            .collect();
    }
    let leaves = Leaf::consecutive(scalar, val.len());
    let place = place(this, inst.id(4), inst.id(3), unit(op, val.len()) * scalar.bytes())?;
    access::store_leaves(this, &place, &leaves, &val, Access::default());
    Ok(())
}

/// Elements from one offset to the next.
fn unit(op: StdOp, components: usize) -> u64 {
    match components {
        3 if is_aligned(op) => 4,
        _ => components as u64,
    }
}

/// Where `pointer` leads when `offset` units of `size` bytes are added.
fn place(this: &mut Lowerer<'_, '_>, pointer: Id, offset: Id, size: u64) -> Result<Place, EngineError> {
    let base = access::place(this, pointer)?;
    let index = this.leaf(offset)?;
    let shape = this.a.shape(this.current_block(), offset)[0];
    let bytes = |this: &Lowerer<'_, '_>, index: Value| {
        let index = this.b.sext_or_trunc(index, Scalar::I64);
        this.b.mul(index, this.b.int(Scalar::I64, this.b.lanes(index), size))
    };
    if let Place::Interleaved { object, offset } = base {
        let offset = this.apply(&[offset, index], |this, v| this.b.add(v[0], bytes(this, v[1])));
        return Ok(Place::Interleaved { object, offset });
    }
    if let (Place::Hoped(hope), Some(index)) = (base, index.of_all_lanes())
        && hope.has_step(size as i64)
    {
        return Ok(Place::Hoped(hope.moved(this, bytes(this, index))));
    }
    // As for access chains, narrow indices may wrap around between lanes.
    let wide = this.leaves_of(offset)?[0].scalar.bits() >= 32;
    let index_step = match shape {
        Shape::Uniform | Shape::Undefined => Some(0),
        Shape::Strided(step) if wide => step.checked_mul(size as i64),
        _ => None,
    };
    let (address, step) = match base {
        Place::Uniform(address) => (Some(address), 0),
        Place::Strided { base, step, .. } => (Some(base), step),
        _ => (None, 0),
    };
    let step = index_step.and_then(|index_step| index_step.checked_add(step));
    let first = match (address, step, index.scalar()) {
        (Some(address), Some(step), Some(first)) => Some((this.b.offset(address, bytes(this, first)), step)),
        _ => None,
    };
    let look = speculation::needs_look(this.a.trust(offset));
    match first {
        Some((address, 0)) if look.is_none() => return Ok(Place::Uniform(address)),
        Some((base, step)) if look.is_none() => return Ok(Place::Strided { base, step, into: 0 }),
        _ => {}
    }
    let base: Reg = this.leaf(pointer)?;
    let addresses = this.apply_once(&[base, index], |this, v| this.b.offset(v[0], bytes(this, v[1])));
    let addresses = this.vector(addresses);
    Ok(match (first, look) {
        (Some(first), Some(look)) if first.1 != 0 => {
            speculation::place(this, addresses, Some(first), None, look)
        }
        _ => Place::Varying(addresses),
    })
}
