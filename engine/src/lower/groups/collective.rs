//! What a work-group does together: barriers, reductions, scans, votes, broadcasts, asynchronous copies.
//!
//! Each sub-group puts its part into `Worker::collective_scratch`, passes a barrier and reads what the others
//! put there. The scratch has two halves that collectives use in turn: who writes a half again has passed the
//! barrier of the collective between, which nobody reaches before he has read that half. The members of a bundle put
//! theirs there at once, and what all sub-groups get is made once for them. Parts are combined in the same order whether
//! there are bundles or not, and however many lanes sub-groups have beyond what is natural: the tiers' code differs in both, and
//! floating-point results may not. So what has an order is combined in parts of so many lanes as are natural, one or more of each sub-group.

use super::combine::{Combine, narrow, widen};
use super::{contributions_of_each, is_of_work_group, shuffle, vote};
use crate::abi::{LaneMapping, Worker};
use crate::analysis::leaves::Scalar;
use crate::error::EngineError;
use crate::lower::Lowerer;
use crate::lower::builder::{IntPred, Opcode, Value};
use crate::lower::values::{Mask, Reg, Val};
use smallvec::{SmallVec, smallvec};
use spirv::{BuiltIn, GroupOperation, Op, StorageClass};
use spirv_env::{Id, Inst, Type};
use std::collections::VecDeque;
use std::mem::offset_of;

/// Bytes of one half of the scratch for each sub-group, and as many more.
const HALF_SLOT: u64 = 64;
/// Bytes between the components of a broadcast: those of the largest scalar. 16 of them fill the smallest half.
const COMPONENT: u64 = 8;
/// Parts that a sub-group may put into its half, at most.
const MOST_PARTS: u32 = (HALF_SLOT / COMPONENT) as u32;

/// What work-groups do together besides reductions, and some of it sub-groups as well.
pub fn lower(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Option<Val>, EngineError> {
    match inst.op {
        Op::GroupAll => group_vote(this, inst, Combine::And).map(|reg| Some(smallvec![reg])),
        Op::GroupAny => group_vote(this, inst, Combine::Or).map(|reg| Some(smallvec![reg])),
        Op::GroupBroadcast if is_of_work_group(this, inst) => {
            broadcast(this, inst.id(1), inst.id(2)).map(Some)
        }
        Op::GroupBroadcast => {
            // A sub-group is one row of lanes, so of a local id of several dimensions the first counts.
            let lane = this.value(inst.id(2))?[0];
            let lane = this.same_i32(lane);
            Ok(Some(shuffle::broadcast_lane(this, inst.id(1), lane)?))
        }
        Op::GroupAsyncCopy => async_copy(this, inst).map(Some),
        Op::GroupWaitEvents => {
            barrier(this);
            Ok(None)
        }
        _ => Err(this.no_lowering(inst)),
    }
}

fn group_vote(this: &mut Lowerer<'_, '_>, inst: &Inst, combine: Combine) -> Result<Reg, EngineError> {
    let of_subgroup = |this: &mut Lowerer<'_, '_>| match combine {
        Combine::And => vote::all_of(this, inst.id(1)),
        _ => vote::any_of(this, inst.id(1)),
    };
    if !is_of_work_group(this, inst) {
        return of_subgroup(this);
    }
    let votes = this.of_each(|this| {
        let vote = of_subgroup(this)?;
        Ok(widen(&this.b, this.same(vote)))
    })?;
    let result = of_all(this, combine, &votes, this.w)?;
    Ok(Reg::uniform(narrow(&this.b, result, Scalar::Bool)))
}

/// Waits until all sub-groups of the work-group are here.
pub fn barrier(this: &Lowerer<'_, '_>) {
    if this.a.variant.one_bundle {
        return;
    }
    call_worker(this, offset_of!(Worker, barrier));
}

/// Waits for all work-groups of the launch.
pub fn launch_barrier(this: &Lowerer<'_, '_>) {
    call_worker(this, offset_of!(Worker, launch_barrier));
}

/// Calls the function of the worker at this offset.
fn call_worker(this: &Lowerer<'_, '_>, offset: usize) {
    let (b, worker) = (&this.b, this.items().worker);
    let field = b.offset_const(worker, offset as u64);
    let function = b.load_invariant(Scalar::Ptr, field, 8);
    b.call_pointer(function, &[worker]);
}

/// A reduction or scan of one scalar over the work-group.
pub fn arithmetic(this: &mut Lowerer<'_, '_>, inst: &Inst, combine: Combine) -> Result<Val, EngineError> {
    if let Some(made) = this.bundle.ahead.pop_front() {
        return Ok(made);
    }
    let reg = this.leaf(inst.id(2))?;
    let scalar = this.b.scalar_of(this.vector(reg));
    let lanes = contributions_of_each(this, inst, combine)?;
    let results = match inst.lit(1) == GroupOperation::Reduce as u64 {
        true => smallvec![reduction(this, combine, &lanes)?],
        false => scan(this, combine, inst.lit(1) == GroupOperation::InclusiveScan as u64, &lanes)?,
    };
    let narrowed = |result| smallvec![this.apply(&[result], |this, v| narrow(&this.b, v[0], scalar))];
    let mut results = results.into_iter().map(narrowed).collect::<VecDeque<Val>>();
    let own = results.pop_front().expect("a bundle has a first member");
    this.bundle.ahead = results;
    Ok(own)
}

/// The lanes of a part: those of a sub-group, or where there is an order to keep, no more than are natural.
fn lanes_of_a_part(this: &Lowerer<'_, '_>, combine: Combine) -> u32 {
    match combine.has_any_order() {
        true => this.w,
        false => this.target.natural_width().max(this.w / MOST_PARTS).min(this.w),
    }
}

/// A reduction of what the lanes of a bundle's members hold, where those that are off hold what changes nothing.
fn reduction(this: &mut Lowerer<'_, '_>, combine: Combine, lanes: &[Value]) -> Result<Reg, EngineError> {
    let (b, of_part) = (&this.b, lanes_of_a_part(this, combine));
    let parts = if combine.has_any_order() {
        // One reduction is enough for all members; the others bring nothing.
        let sum = combine.reduce(b, combine.across(b, lanes.to_vec()));
        let nothing = combine.neutral(b, b.scalar_of(sum), 1);
        std::iter::once(sum).chain(std::iter::repeat_n(nothing, lanes.len() - 1)).collect()
    } else {
        combine.reduce_each(b, &b.regrouped(lanes.to_vec(), of_part))
    };
    of_all(this, combine, &parts, of_part).map(Reg::uniform)
}

/// The same for a scan.
fn scan(
    this: &mut Lowerer<'_, '_>,
    combine: Combine,
    inclusive: bool,
    lanes: &[Value],
) -> Result<SmallVec<[Reg; 1]>, EngineError> {
    let (b, of_part) = (&this.b, lanes_of_a_part(this, combine));
    let of_each = u64::from(this.w / of_part);
    let own = b.regrouped(lanes.to_vec(), of_part);
    let scans: Vec<Value> = own.iter().map(|lanes| combine.inclusive_scan(b, *lanes)).collect();
    let parts: Vec<Value> = scans.iter().map(|scan| b.extract(*scan, b.i32(of_part - 1))).collect();
    let befores = match this.a.variant.one_bundle {
        true => Befores::Known(combine.before_each(b, &parts, of_part)),
        false => Befores::Published(publish(this, &parts)?),
    };
    let mut parts = own.iter().zip(scans).enumerate();
    this.of_each(|this| {
        let b = &this.b;
        let first = b.mul(this.items().subgroup, b.i64(of_each));
        let through = |number: u64| {
            let (at, (lanes, scan)) = parts.next().expect("as many as members have parts");
            let scalar = b.scalar_of(scan);
            let before = match befores {
                Befores::Known(all) => b.extract(all, b.i32(at as u32)),
                Befores::Published(base) => {
                    gather(this, combine, base, b.add(first, b.i64(number)), scalar, of_part)
                }
            };
            let within = match (inclusive, number) {
                (true, _) => scan,
                (false, 0) => {
                    let is_first = b.icmp(IntPred::LLVMIntEQ, first, b.i64(0));
                    let first =
                        b.select(is_first, combine.identity(b, scalar, 1), combine.neutral(b, scalar, 1));
                    combine.exclusive_scan(b, *lanes, first)
                }
                (false, _) => combine.exclusive_scan(b, *lanes, combine.neutral(b, scalar, 1)),
            };
            combine.apply(b, b.splat(before, of_part), within)
        };
        Ok(this.lanes(b.concat((0..of_each).map(through).collect())))
    })
}

/// Where the parts before one are.
#[derive(Clone, Copy)]
enum Befores {
    /// They are combined, for each part in a lane of this vector.
    Known(Value),
    /// Each is in memory, from here on.
    Published(Value),
}

/// What all sub-groups of the work-group have together, given the parts of the bundle's members, each of so many lanes.
fn of_all(
    this: &mut Lowerer<'_, '_>,
    combine: Combine,
    parts: &[Value],
    of_part: u32,
) -> Result<Value, EngineError> {
    if this.a.variant.one_bundle {
        return Ok(combine.in_rounds(&this.b, parts, of_part));
    }
    let scalar = this.b.scalar_of(parts[0]);
    let subgroups = this.scalar_builtin(BuiltIn::NumSubgroups)?;
    let count = this.b.mul(subgroups, this.b.i64(u64::from(this.w / of_part)));
    let base = publish(this, parts)?;
    Ok(gather(this, combine, base, count, scalar, of_part))
}

/// The value of the work-item with this local id, of one to three dimensions.
fn broadcast(this: &mut Lowerer<'_, '_>, value: Id, local_id: Id) -> Result<Val, EngineError> {
    let id = this.value(local_id)?;
    let width = u64::from(this.w);
    // Lanes of rows that end within a sub-group are more than their work-items.
    let is_ragged = this.a.variant.mapping == LaneMapping::Ragged;
    let mut linear = this.b.i64(0);
    for (dim, reg) in id.iter().enumerate().rev() {
        let size = this.builtin(BuiltIn::WorkgroupSize, dim as u32)?;
        let size = match is_ragged && dim == 0 {
            true => this.b.next_multiple(this.same(size), width),
            false => this.same(size),
        };
        let at = this.b.zext_or_trunc(this.same(*reg), Scalar::I64);
        linear = this.b.add(this.b.mul(linear, size), at);
    }
    let owner = this.b.lshr(linear, this.b.i64(u64::from(width.trailing_zeros())));
    let lane = this.b.zext_or_trunc(linear, Scalar::I32);
    let val = this.value(value)?;
    let base = next_half(this)?;
    this.of_each(|this| {
        let is_owner = this.b.icmp(IntPred::LLVMIntEQ, owner, this.items().subgroup);
        let val = this.value(value)?;
        this.when(is_owner, |this| {
            for (component, reg) in val.iter().enumerate() {
                let scalar = match reg.is_uniform() {
                    true => this.same(*reg),
                    false => this.pick(this.vector(*reg), lane),
                };
                let slot = this.b.offset_const(base, component as u64 * COMPONENT);
                this.b.store(widen(&this.b, scalar), slot, COMPONENT);
            }
        });
        Ok(())
    })?;
    barrier(this);
    let load = |(component, reg): (usize, &Reg)| {
        let scalar = this.b.scalar_of(this.vector(*reg));
        let stored = if scalar == Scalar::Bool { Scalar::I8 } else { scalar };
        let slot = this.b.offset_const(base, component as u64 * COMPONENT);
        Reg::uniform(narrow(&this.b, this.b.load(stored, 1, slot, COMPONENT), scalar))
    };
    Ok(val.iter().enumerate().map(load).collect())
}

/// `OpGroupAsyncCopy`: sub-group 0 copies everything at once; `OpGroupWaitEvents` is a barrier.
fn async_copy(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Val, EngineError> {
    let types = &this.a.func.module.types;
    let destination = this.a.func.type_of(inst.id(1)).map(|ty| types.get(ty));
    let Some(&Type::Pointer { class, pointee }) = destination else {
        return Err(this.unsupported("OpGroupAsyncCopy to something that is no pointer".into()));
    };
    let layout = types.layout(pointee);
    let unit_stride = this.a.func.constant_bits(inst.id(4)) == Some(1);
    let mut operands = [this.b.i64(0); 4];
    for (at, operand) in operands.iter_mut().enumerate() {
        let reg = this.leaf(inst.id(1 + at))?;
        *operand = this.same(reg);
    }
    let [to, from, count, stride] = operands;
    let (count, stride) =
        (this.b.zext_or_trunc(count, Scalar::I64), this.b.zext_or_trunc(stride, Scalar::I64));
    let mut here = this.b.icmp(IntPred::LLVMIntEQ, this.items().subgroup, this.b.i64(0));
    if let Mask::Lanes(mask) = this.mask() {
        here = this.b.and(here, this.b.any(mask));
    }
    this.when(here, |this| {
        let (b, size) = (&this.b, this.b.i64(layout.size));
        let align = layout.align as u32;
        if unit_stride {
            return b.memcpy(to, from, b.mul(count, size), align);
        }
        // The stride is that of the global side.
        let (to_step, from_step) = match class {
            StorageClass::Workgroup => (size, b.mul(stride, size)),
            _ => (b.mul(stride, size), size),
        };
        this.repeat(count, b.i64(1), |this, at| {
            let (to, from) = (b.offset(to, b.mul(at, to_step)), b.offset(from, b.mul(at, from_step)));
            this.b.memcpy(to, from, size, align);
        });
    });
    Ok(smallvec![Reg::uniform(this.b.zero(Scalar::Ptr, 1))])
}

/// The half of the scratch that is free now.
fn next_half(this: &mut Lowerer<'_, '_>) -> Result<Value, EngineError> {
    let count = this.scalar_builtin(BuiltIn::NumSubgroups)?;
    let turn = this.collective_turn();
    let b = &this.b;
    let field = b.offset_const(this.items().worker, offset_of!(Worker, collective_scratch) as u64);
    let scratch = b.load_invariant(Scalar::Ptr, field, 8);
    let now = b.load(Scalar::I64, 1, turn, 8);
    b.store(b.xor(now, b.i64(1)), turn, 8);
    let half = b.mul(b.add(count, b.i64(1)), b.i64(HALF_SLOT));
    Ok(b.offset(scratch, b.mul(now, half)))
}

/// Puts the parts of the bundle's members, as many of each, where all sub-groups read them, one scalar behind the other.
fn publish(this: &mut Lowerer<'_, '_>, parts: &[Value]) -> Result<Value, EngineError> {
    let base = next_half(this)?;
    let of_each = parts.len() / this.bundle.subgroups.len();
    let mut members = parts.chunks(of_each);
    this.of_each(|this| {
        let parts = members.next().expect("parts for each member");
        let b = &this.b;
        let scalar = b.scalar_of(parts[0]);
        let first = b.gep(base, b.mul(this.items().subgroup, b.i64(of_each as u64)), scalar);
        b.store(b.collected(parts), first, scalar.bytes());
        Ok(())
    })?;
    barrier(this);
    Ok(base)
}

/// The first `count` parts together, in rounds of so many.
fn gather(
    this: &Lowerer<'_, '_>,
    combine: Combine,
    base: Value,
    count: Value,
    scalar: Scalar,
    round: u32,
) -> Value {
    let (b, w) = (&this.b, round);
    let neutral = combine.neutral(b, scalar, w);
    let total = this.prologue_alloca(scalar, w);
    b.store(neutral, total, 1);
    this.repeat(count, b.i64(u64::from(w)), |this, first| {
        let address = b.gep(base, first, scalar);
        let parts = if w == 1 {
            b.load(scalar, 1, address, scalar.bytes())
        } else {
            let numbers = b.add(b.splat(first, w), b.int_vector(Scalar::I64, 0..u64::from(w)));
            let there = b.icmp(IntPred::LLVMIntULT, numbers, b.splat(count, w));
            let parts = b.masked_load(scalar, w, address, scalar.bytes(), there);
            b.select(there, parts, neutral)
        };
        let so_far = this.b.load(scalar, w, total, 1);
        this.b.store(combine.apply(b, so_far, parts), total, 1);
    });
    combine.reduce(b, b.load(scalar, w, total, 1))
}

impl Lowerer<'_, '_> {
    fn scalar_builtin(&mut self, builtin: BuiltIn) -> Result<Value, EngineError> {
        let reg = self.builtin(builtin, 0)?;
        Ok(self.same(reg))
    }

    /// Emits code that runs if a scalar condition holds.
    pub(in crate::lower) fn when(&self, condition: Value, then: impl FnOnce(&Self)) {
        let (inside, done) = (self.label("then"), self.label("done"));
        self.b.cond_br(condition, inside, done);
        self.b.at_end(inside);
        then(self);
        self.b.br(done);
        self.b.at_end(done);
    }

    /// Emits a loop over 0, `step`, 2 * `step`, ... below `count` (64-bit scalars).
    fn repeat(&self, count: Value, step: Value, body: impl FnOnce(&Self, Value)) {
        let b = &self.b;
        let before = b.here();
        let [head, inside, done] = ["head", "inside", "done"].map(|name| self.label(name));
        b.br(head);
        b.at_end(head);
        let at = b.phi(Scalar::I64, 1);
        b.add_incoming(at, b.i64(0), before);
        b.cond_br(b.icmp(IntPred::LLVMIntULT, at, count), inside, done);
        b.at_end(inside);
        body(self, at);
        b.add_incoming(at, b.bin(Opcode::LLVMAdd, at, step), b.here());
        b.br(head);
        b.at_end(done);
    }
}
