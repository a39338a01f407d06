//! `printf`, and what is reported like it: the arguments of all lanes go to the runtime in one call.

use super::super::Lowerer;
use super::super::builder::Value;
use super::super::values::Val;
use crate::abi::LaunchInfo;
use crate::analysis::func::Func;
use crate::analysis::leaves::{Leaf, LeafTable, Scalar};
use crate::error::EngineError;
use crate::jit::symbols::{ASSERT, PRINT};
use crate::print::{ArgumentType, PrintKind};
use smallvec::smallvec;
use spirv_env::{Id, Inst, Type};
use std::mem::offset_of;

const WORD: u64 = 8;

/// 0 for each lane for which there was room, -1 for the others.
pub fn printf(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Val, EngineError> {
    let refused = call(this, inst, PRINT)?;
    let b = &this.b;
    // One lane is a scalar, and in bit 0.
    let lanes = b.splat(refused, this.w);
    let bits = if this.w == 1 { lanes } else { b.lshr(lanes, b.lane_numbers(Scalar::I64)) };
    let one = b.zext_or_trunc(b.and(bits, b.int(Scalar::I64, this.w, 1)), Scalar::I32);
    let results = b.sub(b.zero(Scalar::I32, this.w), one);
    Ok(smallvec![this.lanes(results)])
}

pub fn assert_fail(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Option<Val>, EngineError> {
    call(this, inst, ASSERT).map(|_| None)
}

/// Stores the operands as `print::Call` says, and calls a function of `builtins::print` with them.
fn call(this: &mut Lowerer<'_, '_>, inst: &Inst, function: &str) -> Result<Value, EngineError> {
    let words = memory(this)?;
    let (mut types, mut rows) = (Vec::new(), Vec::new());
    for (at, id) in inst.ids().skip(1).enumerate() {
        // The first operand is the format, which is no argument; of an assertion nobody asks the types.
        if at > 0 {
            types.extend(argument_types(this, id)?);
        }
        rows.extend(this.value(id)?);
    }
    let w = u64::from(this.w);
    let b = &this.b;
    for (ty, at) in types.iter().zip(0..) {
        b.store(b.i64(ty.to_word()), b.offset_const(words, at * WORD), WORD);
    }
    for (reg, row) in rows.iter().zip(0..) {
        let place = b.offset_const(words, (types.len() as u64 + row * w) * WORD);
        b.store(bits(this, this.vector(*reg)), place, WORD);
    }
    let field = b.offset_const(this.items().info, offset_of!(LaunchInfo, print) as u64);
    let buffer = b.load_invariant(Scalar::Ptr, field, WORD);
    let mask = b.mask_bits(this.mask_vector());
    let counts = [types.len() as u64, rows.len() as u64, w].map(|count| b.i64(count));
    Ok(b.call_engine(function, Scalar::I64, &[buffer, words, counts[0], counts[1], counts[2], mask]))
}

/// A value's bits as a 64-bit number.
fn bits(this: &Lowerer<'_, '_>, value: Value) -> Value {
    let scalar = this.b.scalar_of(value);
    let as_int = Scalar::int(scalar.bits()).expect("scalars have the widths of integers");
    this.b.zext_or_trunc(this.b.reinterpret(value, as_int), Scalar::I64)
}

/// What a value is as an argument: a vector is one, a structure or array one for each leaf.
fn argument_types(this: &Lowerer<'_, '_>, id: Id) -> Result<Vec<ArgumentType>, EngineError> {
    let leaves = this.leaves_of(id)?;
    let is_vector = this
        .a
        .func
        .type_of(id)
        .is_some_and(|ty| matches!(this.a.func.module.types.get(ty), Type::Vector { .. }));
    let of = |leaf: &Leaf, components: usize| {
        let kind = match leaf.scalar {
            Scalar::Ptr => PrintKind::Pointer,
            scalar if scalar.is_float() => PrintKind::Float,
            _ => PrintKind::Int,
        };
        ArgumentType { kind, bits: leaf.scalar.bits(), components: components as u32 }
    };
    Ok(match leaves.first() {
        Some(first) if is_vector => vec![of(first, leaves.len())],
        _ => leaves.iter().map(|leaf| of(leaf, 1)).collect(),
    })
}

/// Memory for the operands of any instruction of the function that prints.
fn memory(this: &mut Lowerer<'_, '_>) -> Result<Value, EngineError> {
    if let Some(words) = this.storage.print_words {
        return Ok(words);
    }
    let bytes = most_words(&this.a.func, &this.a.leaves, u64::from(this.w)) * WORD;
    let words = this.in_prologue(|b| b.alloca_bytes(bytes, WORD as u32));
    this.storage.print_words = Some(words);
    Ok(words)
}

fn most_words(func: &Func<'_>, leaves: &LeafTable<'_>, lanes: u64) -> u64 {
    let insts = func.blocks.values().flat_map(|block| &block.insts);
    let count = |id: Id| func.type_of(id).map_or(1, |ty| leaves.count(ty)) as u64;
    let words = |inst: &Inst| inst.ids().skip(1).map(count).sum::<u64>() * (1 + lanes);
    insts.filter(|inst| inst.prints(func.module)).map(words).max().unwrap_or(0)
}
