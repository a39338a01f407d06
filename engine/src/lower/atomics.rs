//! Atomic instructions.
//!
//! A lane is a work-item, so an atomic instruction runs once for each lane that is on. Where all lanes have one
//! address and the operation is associative, they combine first and touch memory once; the old value of each
//! lane is then that of memory combined with the lanes before it. A work-group runs on one thread, so atomics
//! on local and private memory need no lock.

use super::builder::{Builder, IntPred, Rmw, Value};
use super::groups::combine::Combine;
use super::groups::contributions;
use super::speculation::needs_look;
use super::turns::{self, Place, Small, Turn};
use super::values::{Mask, Reg, Val};
use super::{Lowerer, memory};
use crate::analysis::leaves::Scalar;
use crate::analysis::shapes::Shape;
use crate::error::EngineError;
use smallvec::{SmallVec, smallvec};
use spirv::{MemorySemantics, Op, StorageClass};
use spirv_env::{Id, Inst};
use std::rc::Rc;

pub fn lower(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Option<Val>, EngineError> {
    match inst.op {
        Op::AtomicLoad => load(this, inst).map(|reg| Some(smallvec![reg])),
        Op::AtomicStore => {
            let value = this.leaf(inst.id(3))?;
            store(this, inst, value).map(|()| None)
        }
        Op::AtomicFlagClear => {
            let zero = Reg::uniform(this.b.i32(0));
            store(this, inst, zero).map(|()| None)
        }
        op => {
            let update = Update::of(op).ok_or_else(|| this.no_lowering(inst))?;
            read_modify_write(this, inst, update)
        }
    }
}

/// What a read-modify-write instruction does to memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Update {
    Exchange,
    CompareExchange,
    TestAndSet,
    /// Combines memory with the operand.
    Combine(Combine),
    /// Subtracts the operand.
    Subtract,
    /// Adds this.
    Step(i8),
}

impl Update {
    fn of(op: Op) -> Option<Self> {
        Some(match op {
            Op::AtomicExchange => Update::Exchange,
            Op::AtomicCompareExchange | Op::AtomicCompareExchangeWeak => Update::CompareExchange,
            Op::AtomicFlagTestAndSet => Update::TestAndSet,
            Op::AtomicIIncrement => Update::Step(1),
            Op::AtomicIDecrement => Update::Step(-1),
            Op::AtomicISub => Update::Subtract,
            Op::AtomicIAdd => Update::Combine(Combine::IAdd),
            Op::AtomicSMin => Update::Combine(Combine::SMin),
            Op::AtomicUMin => Update::Combine(Combine::UMin),
            Op::AtomicSMax => Update::Combine(Combine::SMax),
            Op::AtomicUMax => Update::Combine(Combine::UMax),
            Op::AtomicAnd => Update::Combine(Combine::And),
            Op::AtomicOr => Update::Combine(Combine::Or),
            Op::AtomicXor => Update::Combine(Combine::Xor),
            Op::AtomicFAddEXT => Update::Combine(Combine::FAdd),
            Op::AtomicFMinEXT => Update::Combine(Combine::FMin),
            Op::AtomicFMaxEXT => Update::Combine(Combine::FMax),
            _ => return None,
        })
    }
}

/// What is left of [`Update`] for one access to memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Exchange,
    /// Operands: the new value, the expected one.
    CompareExchange,
    Combine(Combine),
    /// The same, but nothing is written where that would change nothing.
    CombineIfItMatters(Combine),
}

/// How the work-items of other threads see the memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sharing {
    /// Private objects.
    WorkItem,
    /// Local memory, which one thread has to itself.
    WorkGroup,
    Threads,
}

fn read_modify_write(
    this: &mut Lowerer<'_, '_>,
    inst: &Inst,
    update: Update,
) -> Result<Option<Val>, EngineError> {
    let address = this.leaf(inst.id(0))?;
    let sharing = sharing(this, inst.id(0));
    let scalar = match update {
        Update::TestAndSet => Scalar::I32,
        _ => this.leaves(inst.ty.expect("the old value has a type"))?[0].scalar,
    };
    let of_combine = |combine: Combine| match sharing {
        Sharing::Threads if combine.is_idempotent() && !is_release(semantics(this, inst.id(2))) => {
            Step::CombineIfItMatters(combine)
        }
        _ => Step::Combine(combine),
    };
    let (step, operands): (Step, SmallVec<[Reg; 2]>) = match update {
        Update::Exchange => (Step::Exchange, smallvec![this.leaf(inst.id(3))?]),
        Update::TestAndSet => (Step::Exchange, smallvec![Reg::uniform(this.b.i32(1))]),
        Update::CompareExchange => {
            (Step::CompareExchange, smallvec![this.leaf(inst.id(4))?, this.leaf(inst.id(5))?])
        }
        Update::Combine(combine) => (of_combine(combine), smallvec![this.leaf(inst.id(3))?]),
        Update::Subtract => {
            let operand = this.leaf(inst.id(3))?;
            let negated = this.apply(&[operand], |this, values| {
                let zero = this.b.zero(scalar, this.b.lanes(values[0]));
                this.b.sub(zero, values[0])
            });
            (Step::Combine(Combine::IAdd), smallvec![negated])
        }
        Update::Step(by) => {
            let by = this.b.int(scalar, 1, i64::from(by) as u64);
            (Step::Combine(Combine::IAdd), smallvec![Reg::uniform(by)])
        }
    };
    let used = inst.result.is_some_and(|result| this.a.uses(result) > 0);
    let old = match step {
        // Adding in another order rounds differently, so old values would contradict each other.
        Step::Combine(combine) | Step::CombineIfItMatters(combine)
            if address.is_uniform()
                && !(combine == Combine::FAdd && used)
                && this.position.atomic_runs.of(inst).is_none() =>
        {
            merged(this, address, operands[0], (Access { step, sharing }, combine), used)
        }
        _ => {
            let mut all: SmallVec<[Reg; 3]> = smallvec![address];
            all.extend(operands);
            let used = used.then_some(scalar);
            let access = Access { step, sharing };
            if let Step::CombineIfItMatters(combine) = step
                && Looked::is_worth_it(this, address, scalar)
            {
                let looked = Looked::at(this, inst.id(0), combine, &all);
                looked.change(this, Turn { access, operands: all, place: Place::Own }, used)
            } else {
                let turn = turn(this, inst, scalar, access, all)?;
                match this.position.atomic_runs.of(inst) {
                    Some(run) => {
                        this.subgroup_mut().turns.push(turn);
                        if run.is_last {
                            let turns = std::mem::take(&mut this.subgroup_mut().turns);
                            turns::take(this, &turns, None);
                        }
                        None
                    }
                    None => turns::take(this, &[turn], used),
                }
            }
        }
    };
    Ok(old.map(|old| {
        smallvec![this.lanes(match update {
            Update::TestAndSet => this.b.icmp(IntPred::LLVMIntNE, old, this.b.zero(scalar, this.w)),
            _ => old,
        })]
    }))
}

/// What lanes do in turn, by the addresses that are least work. The operands are the address, and what it is combined with.
fn turn(
    this: &mut Lowerer<'_, '_>,
    inst: &Inst,
    scalar: Scalar,
    access: Access,
    mut operands: SmallVec<[Reg; 3]>,
) -> Result<Turn, EngineError> {
    let is_local = access.sharing == Sharing::WorkGroup && this.w > 1;
    let place = match is_local {
        true if let Some((small, index)) = Small::of(this, inst, scalar)? => {
            operands[0] = index;
            Place::Small(small)
        }
        true if this.target.make.prefers_turns() => {
            let (base, offset) = local_offset(this, inst.id(0), operands[0])?;
            operands[0] = offset;
            Place::Behind(base)
        }
        _ => Place::Own,
    };
    Ok(Turn { access, operands, place })
}

/// An address in local memory as a scalar and an offset of 32 bits from there.
fn local_offset(this: &mut Lowerer<'_, '_>, pointer: Id, address: Reg) -> Result<(Value, Reg), EngineError> {
    if let Some(split) = memory::split(this, pointer)? {
        return Ok(split);
    }
    let base = this.local_memory();
    let offset = this.apply_once(&[address], |this, v| {
        let b = &this.b;
        let (address, base) = (b.reinterpret(v[0], Scalar::I64), b.reinterpret(base, Scalar::I64));
        b.sext_or_trunc(b.sub(address, b.splat(base, b.lanes(address))), Scalar::I32)
    });
    Ok((base, offset))
}

/// One access to memory for all lanes; the old values, if they are used.
fn merged(
    this: &Lowerer<'_, '_>,
    address: Reg,
    operand: Reg,
    (access, combine): (Access, Combine),
    used: bool,
) -> Option<Value> {
    let (b, w) = (&this.b, this.w);
    let bits = this.active_bits();
    let all_lanes = contributions(this, combine, operand);
    let scalar = b.scalar_of(all_lanes);
    let uniform = operand.of_all_lanes();
    let total = match (uniform, combine) {
        // A sum of equal numbers is a product with the number of lanes.
        (Some(value), Combine::IAdd) => {
            let lanes = b.intrinsic("llvm.ctpop", &[bits]);
            b.mul(value, b.zext_or_trunc(lanes, scalar))
        }
        _ => combine.reduce(b, all_lanes),
    };
    let address = this.same(address);
    let old = match this.mask() {
        Mask::All => access.make(this, address, &[total]),
        Mask::Lanes(_) => {
            let before = b.here();
            let (some, done) = (this.label("some"), this.label("done"));
            b.cond_br(b.icmp(IntPred::LLVMIntNE, bits, b.i64(0)), some, done);
            b.at_end(some);
            let old = access.make(this, address, &[total]);
            let some = b.here();
            b.br(done);
            b.at_end(done);
            let result = b.phi(scalar, 1);
            b.add_incoming(result, b.zero(scalar, 1), before);
            b.add_incoming(result, old, some);
            result
        }
    };
    used.then(|| {
        let before = match (uniform, combine) {
            (Some(value), Combine::IAdd) if w > 1 => {
                let word = if w <= u32::BITS { Scalar::I32 } else { Scalar::I64 };
                let below = b.int_vector(word, (0..w).map(|lane| (1u64 << lane) - 1));
                let bits = b.and(b.splat(b.zext_or_trunc(bits, word), w), below);
                let lanes = b.intrinsic("llvm.ctpop", &[bits]);
                b.mul(b.splat(value, w), b.zext_or_trunc(lanes, scalar))
            }
            _ => combine.exclusive_scan(b, all_lanes, combine.neutral(b, scalar, 1)),
        };
        combine.apply(b, b.splat(old, w), before)
    })
}

/// One access to one place in memory.
#[derive(Clone, Copy)]
pub(super) struct Access {
    step: Step,
    sharing: Sharing,
}

impl Access {
    /// Whether other threads may see it.
    pub fn is_atomic(self) -> bool {
        self.sharing == Sharing::Threads
    }

    /// Reads, modifies and writes; the old value.
    pub fn make(self, this: &Lowerer<'_, '_>, address: Value, operands: &[Value]) -> Value {
        let b = &this.b;
        if self.is_atomic() {
            return match self.step {
                Step::Exchange => b.atomic_rmw(Rmw::LLVMAtomicRMWBinOpXchg, address, operands[0]),
                Step::CompareExchange => compare_exchange(this, address, operands[1], operands[0]),
                Step::Combine(combine) => b.atomic_rmw(machine_operation(combine), address, operands[0]),
                Step::CombineIfItMatters(combine) => {
                    combine_if_it_matters(this, combine, address, operands[0])
                }
            };
        }
        let scalar = b.scalar_of(operands[0]);
        let old = b.load(scalar, 1, address, scalar.bytes());
        let new = match self.step {
            Step::Exchange => operands[0],
            Step::CompareExchange => {
                let hit = b.icmp(IntPred::LLVMIntEQ, old, operands[1]);
                b.select(hit, operands[0], old)
            }
            Step::Combine(combine) | Step::CombineIfItMatters(combine) => combine.apply(b, old, operands[0]),
        };
        b.store(new, address, scalar.bytes());
        old
    }
}

/// A minimum that is there already need not be written, and a line of the cache that nobody writes is in all of them.
fn combine_if_it_matters(this: &Lowerer<'_, '_>, combine: Combine, address: Value, operand: Value) -> Value {
    let b = &this.b;
    let scalar = b.scalar_of(operand);
    let bits = Scalar::int(scalar.bits()).expect("atomics have whole bytes");
    let seen = b.reinterpret(look(b, bits, address), scalar);
    let number = |value: Value| b.reinterpret(value, bits);
    let changes = b.icmp(IntPred::LLVMIntNE, number(combine.apply(b, seen, operand)), number(seen));
    b.branch(changes, || b.atomic_rmw(machine_operation(combine), address, operand), || seen)
}

/// What all lanes see at once of places where a minimum, or a bit, may be there already: nearly all of the least distances, labels or bounds that are
/// found again and again are. What a lane saw is its old value then, as if it had come before the others.
struct Looked {
    seen: Value,
    /// The lanes that are on and change something.
    changes: Value,
}

impl Looked {
    /// Whether lanes look together: at words of their own, by an instruction for that.
    fn is_worth_it(this: &Lowerer<'_, '_>, address: Reg, scalar: Scalar) -> bool {
        let has_gathers = this.target.simd_bits() >= 256;
        has_gathers && this.w > 1 && !address.is_uniform() && matches!(scalar.bits(), 32 | 64)
    }

    fn at(this: &mut Lowerer<'_, '_>, pointer: Id, combine: Combine, operands: &[Reg]) -> Self {
        let b = Rc::clone(&this.b);
        let operand = this.vector(operands[1]);
        let scalar = b.scalar_of(operand);
        let bits = Scalar::int(scalar.bits()).expect("atomics have whole bytes");
        let seen = b.freeze(b.reinterpret(look_for_all(this, pointer, operands[0], bits, true), scalar));
        let number = |value: Value| b.reinterpret(value, bits);
        let is_other = b.icmp(IntPred::LLVMIntNE, number(combine.apply(&b, seen, operand)), number(seen));
        let changes = match this.mask() {
            Mask::All => b.freeze(is_other),
            Mask::Lanes(mask) => b.select(mask, b.freeze(is_other), b.zero(Scalar::Bool, this.w)),
        };
        Looked { seen, changes }
    }

    /// Has the lanes that change something take their turns; the old values of all.
    fn change(&self, this: &mut Lowerer<'_, '_>, turn: Turn, result: Option<Scalar>) -> Option<Value> {
        let before = this.replace_mask(Mask::Lanes(self.changes));
        let b = &this.b;
        let change = || turns::one_by_one(this, &[turn], result).into_iter().collect();
        let unchanged = || result.map(|scalar| b.zero(scalar, this.w)).into_iter().collect();
        let old = b.branch_of_many(b.any(self.changes), change, unchanged).pop();
        let old = old.map(|old| b.select(self.changes, old, self.seen));
        this.replace_mask(before);
        old
    }
}

/// What is there for other threads to see.
fn look(b: &Builder, scalar: Scalar, address: Value) -> Value {
    let seen = b.load(scalar, 1, address, scalar.bytes());
    b.set_atomic(seen, false);
    seen
}

/// Whether others may rely on what was written before an access, by seeing the access.
fn is_release(semantics: MemorySemantics) -> bool {
    semantics.intersects(
        MemorySemantics::RELEASE
            | MemorySemantics::ACQUIRE_RELEASE
            | MemorySemantics::SEQUENTIALLY_CONSISTENT,
    )
}

/// Stores a value where the expected one is found; what was found. Behind one that failed, an exchange that would fail, too, is only a load:
/// the lanes of a sub-group try in step, and where all want one place one of them succeeds each time. Where each has a place of its
/// own, a look would have the line of the cache come twice if another thread has it: to be read, and to be written.
fn compare_exchange(this: &Lowerer<'_, '_>, address: Value, expected: Value, new: Value) -> Value {
    let b = &this.b;
    let scalar = b.scalar_of(expected);
    let looks = this.prologue_alloca(Scalar::I32, 1);
    this.in_prologue(|b| b.store(b.i32(0), looks, 4));
    let left = b.load(Scalar::I32, 1, looks, 4);
    let is_equal = |found: Value| b.icmp(IntPred::LLVMIntEQ, found, expected);
    let does_look = b.icmp(IntPred::LLVMIntNE, left, b.i32(0));
    let seen = b.branch(does_look, || look(b, scalar, address), || expected);
    let exchange = || b.compare_exchange(address, expected, new);
    let found = b.branch(is_equal(seen), exchange, || seen);
    let less = b.select(does_look, b.sub(left, b.i32(1)), left);
    b.store(b.select(is_equal(found), less, b.i32(LOOKS)), looks, 4);
    found
}

/// Exchanges behind one that failed that look first, unless another one fails.
const LOOKS: u32 = 16;

fn machine_operation(combine: Combine) -> Rmw {
    match combine {
        Combine::IAdd => Rmw::LLVMAtomicRMWBinOpAdd,
        Combine::FAdd => Rmw::LLVMAtomicRMWBinOpFAdd,
        Combine::SMin => Rmw::LLVMAtomicRMWBinOpMin,
        Combine::UMin => Rmw::LLVMAtomicRMWBinOpUMin,
        Combine::FMin => Rmw::LLVMAtomicRMWBinOpFMin,
        Combine::SMax => Rmw::LLVMAtomicRMWBinOpMax,
        Combine::UMax => Rmw::LLVMAtomicRMWBinOpUMax,
        Combine::FMax => Rmw::LLVMAtomicRMWBinOpFMax,
        Combine::And => Rmw::LLVMAtomicRMWBinOpAnd,
        Combine::Or => Rmw::LLVMAtomicRMWBinOpOr,
        Combine::Xor => Rmw::LLVMAtomicRMWBinOpXor,
        Combine::IMul | Combine::FMul => unreachable!("SPIR-V has no atomic multiplication"),
    }
}

fn load(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Reg, EngineError> {
    let pointer = inst.id(0);
    let address = this.leaf(pointer)?;
    let scalar = this.leaves(inst.ty.expect("a load has a type"))?[0].scalar;
    let shared = sharing(this, pointer) == Sharing::Threads;
    let (b, align) = (&this.b, scalar.bytes());
    if address.is_uniform() {
        let address = this.same(address);
        let value = if shared { look(b, scalar, address) } else { b.load(scalar, 1, address, align) };
        return Ok(Reg::uniform(value));
    }
    Ok(Reg::varying(look_for_all(this, pointer, address, scalar, shared)))
}

/// What lanes that are on see at addresses of their own.
fn look_for_all(this: &Lowerer<'_, '_>, pointer: Id, address: Reg, scalar: Scalar, shared: bool) -> Value {
    let (b, align) = (&this.b, scalar.bytes());
    // Aligned elements are read whole. The fences keep the compiler from moving what is no atomic to it.
    if shared {
        b.fence_compiler();
    }
    let value = match (address.scalar().filter(|_| is_contiguous(this, pointer, scalar)), this.mask()) {
        (Some(first), Mask::All) => b.load(scalar, this.w, first, align),
        (Some(first), Mask::Lanes(mask)) => b.masked_load(scalar, this.w, first, align, mask),
        _ => b.gather(scalar, this.vector(address), align, this.mask_vector()),
    };
    if shared {
        b.fence_compiler();
    }
    value
}

fn store(this: &mut Lowerer<'_, '_>, inst: &Inst, value: Reg) -> Result<(), EngineError> {
    let pointer = inst.id(0);
    let address = this.leaf(pointer)?;
    let shared = sharing(this, pointer) == Sharing::Threads;
    let in_total_order = semantics(this, inst.id(2)).contains(MemorySemantics::SEQUENTIALLY_CONSISTENT);
    let scalar = this.b.scalar_of(this.vector(value));
    let align = scalar.bytes();
    if address.is_uniform() {
        // Of the lanes that store to one place, any may be the last.
        let (address, value) = (this.same(address), this.same(value));
        let write = |this: &Lowerer<'_, '_>| match (shared, in_total_order) {
            (false, _) => this.b.store(value, address, align),
            (true, false) => this.b.atomic_store_release(value, address, align),
            (true, true) => this.b.atomic_store(value, address, align),
        };
        match this.mask() {
            Mask::All => write(this),
            Mask::Lanes(mask) => this.when(this.b.any(mask), write),
        }
        return Ok(());
    }
    let b = &this.b;
    if shared {
        b.fence_compiler();
    }
    let lanes = this.vector(value);
    match (address.scalar().filter(|_| is_contiguous(this, pointer, scalar)), this.mask()) {
        (Some(first), Mask::All) => b.store(lanes, first, align),
        (Some(first), Mask::Lanes(mask)) => b.masked_store(lanes, first, align, mask),
        _ => b.scatter(lanes, this.vector(address), align, this.mask_vector()),
    }
    match (shared, in_total_order) {
        (false, _) => {}
        (true, false) => b.fence_compiler(),
        (true, true) => b.fence(),
    }
    Ok(())
}

/// Whether the lanes' addresses are those of neighbouring elements.
fn is_contiguous(this: &Lowerer<'_, '_>, pointer: Id, scalar: Scalar) -> bool {
    let shapes = this.a.shape(this.current_block(), pointer);
    shapes.first() == Some(&Shape::Strided(scalar.bytes() as i64))
        && needs_look(this.a.trust(pointer)).is_none()
}

/// A memory semantics operand; everything that it may be if it is no constant.
pub(super) fn semantics(this: &Lowerer<'_, '_>, id: Id) -> MemorySemantics {
    let bits = this.a.func.constant_bits(id);
    bits.map_or(MemorySemantics::all(), |bits| MemorySemantics::from_bits_truncate(bits as u32))
}

/// Whether other threads may see what a pointer leads to.
fn sharing(this: &Lowerer<'_, '_>, pointer: Id) -> Sharing {
    /// Casts and access chains that are looked through.
    const DEPTH: usize = 16;
    let mut pointer = pointer;
    for _ in 0..DEPTH {
        match this.a.func.class_of(pointer) {
            Some(StorageClass::Workgroup) => return Sharing::WorkGroup,
            Some(StorageClass::Function) => return Sharing::WorkItem,
            Some(StorageClass::Generic) => {}
            _ => return Sharing::Threads,
        }
        // A generic pointer may have been made from a local one right here.
        match this.a.definition(pointer).and_then(|made| this.a.func.derived_from(made)) {
            Some(base) => pointer = base,
            None => return Sharing::Threads,
        }
    }
    Sharing::Threads
}
