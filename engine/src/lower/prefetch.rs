//! Prefetching for loops that walk through global memory in long strides.
//!
//! `for (i = get_global_id(0); i < n; i += get_global_size(0))` is how kernels go over large arrays. Each iteration
//! of a sub-group is then a page or more away from the last one, where no hardware prefetcher follows: every load
//! would wait for memory. The step is known in the loop, so lines are asked for some iterations ahead, for the second level of
//! caches: reductions and transposes take 0.7 of the time that they take with lines in the first (Zen 4), which is hardly less than without.

use super::Lowerer;
use super::builder::Value;
use crate::abi::LaneMapping;
use crate::analysis::func::ChainStep;
use crate::analysis::leaves::Scalar;
use crate::analysis::lengths::Length;
use crate::analysis::loops::LoopId;
use crate::analysis::shapes::Shape;
use crate::error::EngineError;
use spirv::{Op, StorageClass};
use spirv_env::opcodes::Derives;
use spirv_env::{Id, TypeId};

/// Iterations ahead: measured, and few enough for the ways of one cache set, which all lines share that are a
/// power of two apart.
const AHEAD: i64 = 8;
/// Steps that are known to be shorter are left to the hardware, in bytes.
const SHORT: u64 = 2048;
/// Strips ahead.
const STRIPS_AHEAD: i64 = 2;
const LINE: u64 = 64;
/// Most lines for one load.
const LINES: u64 = 4;
/// How deep an index expression is looked into.
const DEPTH: u32 = 8;

/// By how much a value changes with each iteration.
#[derive(Clone, Copy)]
enum Step {
    Constant(i64),
    /// A 64-bit scalar.
    Value(Value),
}

/// Asks for what a load through `pointer` will want some iterations of the innermost loop later, if the load is
/// in a loop and moves on by an amount that all lanes share; or for what the work-groups of the next strips will want.
pub fn ahead(this: &mut Lowerer<'_, '_>, pointer: Id, ty: TypeId) -> Result<(), EngineError> {
    // A work-item that walks on its own does so in small steps, and LLVM makes vectors of loads only.
    if this.a.variant.mapping == LaneMapping::Iterations {
        return Ok(());
    }
    let Some(inside) = this.a.loops.of(this.current_block()) else {
        return for_next_strips(this, pointer, ty);
    };
    // A loop that is over by then wants none of it.
    let is_short = matches!(this.a.length(inside), Some(Length::Constant(length)) if length <= AHEAD as u64);
    if this.flow.with_barriers.contains(inside) || is_short {
        return Ok(());
    }
    if this.a.func.class_of(pointer) != Some(StorageClass::CrossWorkgroup) {
        return Ok(());
    }
    let Some(bytes) = accessed_bytes(this, pointer, ty) else { return Ok(()) };
    let Some(step) = pointer_step(this, inside, pointer)? else { return Ok(()) };
    let distance = match step {
        Step::Constant(step) if step.unsigned_abs() < SHORT => return Ok(()),
        Step::Constant(step) => this.b.i64(step.wrapping_mul(AHEAD) as u64),
        Step::Value(step) => this.b.mul(step, this.b.i64(AHEAD as u64)),
    };
    ask(this, pointer, distance, bytes)
}

/// Where work-groups are executed in strips, those of the next strips along x.
fn for_next_strips(this: &mut Lowerer<'_, '_>, pointer: Id, ty: TypeId) -> Result<(), EngineError> {
    let Some(step) = this.a.strips().along_x.get(&pointer).copied() else { return Ok(()) };
    let Some(bytes) = accessed_bytes(this, pointer, ty) else { return Ok(()) };
    let distance = this.b.i64(step.wrapping_mul(STRIPS_AHEAD) as u64);
    ask(this, pointer, distance, bytes)
}

/// Bytes that the lanes of a sub-group load together.
fn accessed_bytes(this: &Lowerer<'_, '_>, pointer: Id, ty: TypeId) -> Option<u64> {
    let lanes = match this.a.shape(this.current_block(), pointer).first()? {
        shape if shape.is_uniform() => 0,
        Shape::Strided(step) => step.unsigned_abs() * u64::from(this.w - 1),
        _ => return None,
    };
    Some(lanes + this.a.func.module.types.layout(ty).size)
}

/// Asks for lines at a distance from where the first lane's pointer leads.
fn ask(this: &mut Lowerer<'_, '_>, pointer: Id, distance: Value, bytes: u64) -> Result<(), EngineError> {
    let Some(first) = this.leaf(pointer)?.scalar() else { return Ok(()) };
    for line in 0..bytes.div_ceil(LINE).min(LINES) {
        let address = this.b.offset_const(this.b.offset(first, distance), line * LINE);
        this.b.prefetch(address);
    }
    Ok(())
}

/// The step of an address, in bytes.
fn pointer_step(
    this: &mut Lowerer<'_, '_>,
    inside: LoopId,
    pointer: Id,
) -> Result<Option<Step>, EngineError> {
    let a = this.a;
    let Some(inst) = a.definition(pointer) else { return Ok(None) };
    let is_chain = matches!(inst.row().derives, Derives::Chain | Derives::ElementChain);
    if !is_chain || !this.a.is_invariant(inside, inst.id(0)) {
        return Ok(None);
    }
    let mut total = Step::Constant(0);
    for step in a.func.chain(inst) {
        if let ChainStep::Scaled { index, size } = step {
            let Some(step) = value_step(this, inside, index, 0)? else { return Ok(None) };
            let bytes = times(this, step, Step::Constant(size as i64));
            total = plus(this, total, bytes);
        }
    }
    Ok(Some(total))
}

/// The step of an integer, if it is the same for all lanes and in each iteration.
fn value_step(
    this: &mut Lowerer<'_, '_>,
    inside: LoopId,
    id: Id,
    depth: u32,
) -> Result<Option<Step>, EngineError> {
    if this.a.is_invariant(inside, id) {
        return Ok(Some(Step::Constant(0)));
    }
    if depth > DEPTH {
        return Ok(None);
    }
    let a = this.a;
    if let Some(by) = a.induction(inside, id) {
        return fixed_value(this, inside, by, depth);
    }
    let Some(inst) = a.definition(id) else { return Ok(None) };
    let mut of = |at: usize| value_step(this, inside, inst.id(at), depth + 1);
    match inst.op {
        Op::UConvert | Op::SConvert | Op::CopyObject => of(0),
        Op::IAdd | Op::ISub => {
            let (Some(x), Some(y)) = (of(0)?, of(1)?) else { return Ok(None) };
            let y = if inst.op == Op::ISub { times(this, y, Step::Constant(-1)) } else { y };
            Ok(Some(plus(this, x, y)))
        }
        Op::IMul => {
            for (changing, factor) in [(0, 1), (1, 0)] {
                if let Some(factor) = fixed_value(this, inside, inst.id(factor), depth + 1)? {
                    let step = value_step(this, inside, inst.id(changing), depth + 1)?;
                    return Ok(step.map(|step| times(this, step, factor)));
                }
            }
            Ok(None)
        }
        Op::ShiftLeftLogical => match a.func.constant_bits(inst.id(1)) {
            Some(bits @ 0..=30) => Ok(of(0)?.map(|step| times(this, step, Step::Constant(1 << bits)))),
            _ => Ok(None),
        },
        _ => Ok(None),
    }
}

/// An integer that neither lanes nor iterations change. Compilers leave sizes of the launch in the loop; they are
/// made again here, since the loop may do so only behind the load.
fn fixed_value(
    this: &mut Lowerer<'_, '_>,
    inside: LoopId,
    id: Id,
    depth: u32,
) -> Result<Option<Step>, EngineError> {
    let a = this.a;
    if let Some(constant) = a.func.constant_int(id) {
        return Ok(Some(Step::Constant(constant)));
    }
    if this.a.is_invariant(inside, id) {
        let reg = this.leaf(id)?;
        let value = reg.of_all_lanes();
        return Ok(value.map(|value| Step::Value(this.b.sext_or_trunc(value, Scalar::I64))));
    }
    let Some(inst) = a.definition(id).filter(|_| depth <= DEPTH) else { return Ok(None) };
    match (a.whole_component(id), inst.op) {
        (Some((builtin, at)), _) => {
            let reg = this.builtin(builtin, at)?;
            Ok(reg.of_all_lanes().map(Step::Value))
        }
        (None, Op::UConvert | Op::SConvert) => fixed_value(this, inside, inst.id(0), depth + 1),
        (None, Op::IMul) => {
            let x = fixed_value(this, inside, inst.id(0), depth + 1)?;
            let y = fixed_value(this, inside, inst.id(1), depth + 1)?;
            Ok(x.zip(y).map(|(x, y)| times(this, x, y)))
        }
        _ => Ok(None),
    }
}

fn plus(this: &Lowerer<'_, '_>, x: Step, y: Step) -> Step {
    match (x, y) {
        (Step::Constant(x), Step::Constant(y)) => Step::Constant(x.wrapping_add(y)),
        (Step::Constant(0), other) | (other, Step::Constant(0)) => other,
        _ => Step::Value(this.b.add(value(this, x), value(this, y))),
    }
}

fn times(this: &Lowerer<'_, '_>, x: Step, y: Step) -> Step {
    match (x, y) {
        (Step::Constant(x), Step::Constant(y)) => Step::Constant(x.wrapping_mul(y)),
        (Step::Constant(0), _) | (_, Step::Constant(0)) => Step::Constant(0),
        _ => Step::Value(this.b.mul(value(this, x), value(this, y))),
    }
}

fn value(this: &Lowerer<'_, '_>, step: Step) -> Value {
    match step {
        Step::Constant(step) => this.b.i64(step as u64),
        Step::Value(value) => value,
    }
}
