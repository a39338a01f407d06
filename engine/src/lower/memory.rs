//! Memory instructions: addresses and private objects; `access` has loads and stores, `copy` copies.

use super::access::{Access, Place, load_from, store_place, store_to, strided_place};
use super::builder::{Builder, IntPred, Value};
use super::copy::{Size, copy};
use super::private::{Home, object_align, object_bytes};
use super::values::{Mask, Reg, Val};
use super::{Lowerer, interleaved, speculation};
use crate::abi::Worker;
use crate::analysis::func::ChainStep;
use crate::analysis::leaves::Scalar;
use crate::analysis::private::Placement;
use crate::analysis::private::{object_layout, private_stride};
use crate::analysis::sides;
use crate::error::EngineError;
use smallvec::{SmallVec, smallvec};
use spirv::{MemorySemantics, Op, StorageClass};
use spirv_env::opcodes::Derives;
use spirv_env::{Id, Inst, Type, TypeId};
use std::mem::offset_of;

pub fn lower(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Option<Val>, EngineError> {
    match inst.op {
        Op::Variable => variable(this, inst).map(Some),
        Op::Load => {
            let ty = inst.ty.expect("a load has a type");
            if let Some(builtin) = this.a.builtins.get(&inst.id(0)) {
                return this.load_builtin(builtin, ty).map(Some);
            }
            super::prefetch::ahead(this, inst.id(0), ty)?;
            if let Some(val) = super::columns::load(this, inst, ty)? {
                return Ok(Some(val));
            }
            if let Some(val) = super::tables::load(this, inst, ty)? {
                return Ok(Some(val));
            }
            if let Some(val) = super::members::load(this, inst, ty)? {
                return Ok(Some(val));
            }
            if let Some(val) = super::read_ahead::load(this, inst)? {
                return Ok(Some(val));
            }
            if let Some(val) = super::invariant_loads::load(this, inst)? {
                return Ok(Some(val));
            }
            // LLVM keeps in registers what no store of the kernel's can change, and what is computed of it.
            let param = inst.result.and_then(|load| this.a.func.structure_of(load));
            let placement = param.and_then(|param| this.a.private.placement.get(&param));
            let constant = matches!(placement, Some(Placement::Argument)) && !inst.is_volatile();
            load_from(this, inst.id(0), ty, Access { constant, ..accesses(inst)[1] }).map(Some)
        }
        Op::Store => {
            let ty = this
                .a
                .func
                .type_of(inst.id(1))
                .ok_or_else(|| this.unsupported("a store of something without a type".into()))?;
            if super::packed::store(this, inst)? {
                return Ok(None);
            }
            let val = this.value(inst.id(1))?;
            if super::columns::store(this, inst, ty)? {
                return Ok(None);
            }
            super::read_ahead::store(this, inst)?;
            if super::members::store(this, inst, &val)? {
                return Ok(None);
            }
            let streams = this.target.streams_stores && this.a.streaming().pointers.contains(&inst.id(0));
            store_to(this, inst.id(0), ty, val, Access { streams, ..accesses(inst)[0] })?;
            Ok(None)
        }
        Op::CopyMemory => {
            let ty = pointee(this, inst.id(1))?;
            let size = this.a.func.module.types.layout(ty);
            let accesses = accesses(inst).map(|access| Access {
                align: Some(access.align.map_or(size.align, |align| align.min(size.align))),
                ..access
            });
            copy(this, inst.id(0), inst.id(1), Size::Bytes(size.size), accesses)?;
            Ok(None)
        }
        Op::CopyMemorySized => {
            let size = match this.a.func.constant_bits(inst.id(2)) {
                Some(bytes) => Size::Bytes(bytes),
                None => Size::Value(inst.id(2)),
            };
            let accesses = accesses(inst).map(|access| Access { align: access.align.or(Some(1)), ..access });
            copy(this, inst.id(0), inst.id(1), size, accesses)?;
            Ok(None)
        }
        Op::SizeOf => {
            let size = this.a.func.module.types.layout(pointee(this, inst.id(0))?).size;
            let bytes =
                u32::try_from(size).map_err(|_| this.unsupported(format!("a size of {size} bytes")))?;
            Ok(Some(smallvec![Reg::uniform(this.b.i32(bytes))]))
        }
        Op::LifetimeStart | Op::LifetimeStop => Ok(None),
        Op::PtrCastToGeneric | Op::GenericCastToPtr => this.value(inst.id(0)).map(Some),
        Op::GenericCastToPtrExplicit => explicit_cast(this, inst).map(|reg| Some(smallvec![reg])),
        Op::GenericPtrMemSemantics => semantics_of(this, inst).map(|reg| Some(smallvec![reg])),
        Op::AccessChain | Op::InBoundsAccessChain | Op::PtrAccessChain | Op::InBoundsPtrAccessChain => {
            chain(this, inst).map(|reg| Some(smallvec![reg]))
        }
        _ => Err(this.no_lowering(inst)),
    }
}

fn pointee(this: &Lowerer<'_, '_>, pointer: Id) -> Result<TypeId, EngineError> {
    match this.a.func.type_of(pointer).map(|ty| this.a.func.module.types.get(ty)) {
        Some(Type::Pointer { pointee, .. }) => Ok(*pointee),
        _ => Err(this.unsupported(format!("an access through {pointer}, which is no pointer"))),
    }
}

/// What the memory operands say of what is written and of what is read.
pub(super) fn accesses(inst: &Inst) -> [Access; 2] {
    inst.memory_operands().map(|of| Access {
        align: of.align,
        volatile: of.is_volatile(),
        streams: false,
        constant: false,
    })
}

// Addresses.

fn chain(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Reg, EngineError> {
    let base = this.leaf(inst.id(0))?;
    let steps = this.a.func.chain(inst);
    let constant: i64 = steps
        .iter()
        .map(|step| if let ChainStep::Constant(bytes) = step { *bytes } else { 0 })
        .fold(0, i64::wrapping_add);
    let mut scaled: SmallVec<[(Reg, u64); 2]> = SmallVec::new();
    for step in &steps {
        if let ChainStep::Scaled { index, size } = step {
            scaled.push((this.index(*index)?, *size));
        }
    }
    // Lane by lane, but what is uniform is added up as scalars: the base of a gather should be one register.
    let emit = |this: &Lowerer<'_, '_>, base: Value, pick: &dyn Fn(Reg) -> Value| {
        let b = &this.b;
        let mut address =
            if constant == 0 { base } else { b.offset(base, b.int(Scalar::I64, 1, constant as u64)) };
        let order = scaled
            .iter()
            .filter(|(reg, _)| reg.is_uniform())
            .chain(scaled.iter().filter(|(reg, _)| !reg.is_uniform()));
        for (reg, size) in order {
            address = b.element(address, b.sext_or_trunc(pick(*reg), Scalar::I64), *size);
        }
        address
    };
    let scalars_known = base.scalar().is_some() && scaled.iter().all(|(reg, _)| reg.scalar().is_some());
    let uniform = base.is_uniform() && scaled.iter().all(|(reg, _)| reg.is_uniform());
    let first = |reg: Reg| reg.scalar().expect("checked: all have scalars");
    let scalar = scalars_known.then(|| emit(this, first(base), &first));
    if uniform {
        return Ok(Reg::uniform(scalar.expect("uniform leaves are scalars")));
    }
    let lanes = |reg: Reg| if reg.is_uniform() { first(reg) } else { this.vector(reg) };
    let vector = emit(this, lanes(base), &lanes);
    Ok(match scalar {
        Some(scalar) => Reg::strided(scalar, vector),
        None => Reg::varying(vector),
    })
}

/// The instruction that makes a value, if that is one of this block: what it uses is known here then.
fn made_here<'a>(this: &Lowerer<'a, '_>, id: Id) -> Option<&'a Inst> {
    this.a.definition(id).filter(|_| this.a.def.get(&id) == Some(&this.current_block()))
}

/// What this block makes a pointer of: one that all lanes share, and the chain that adds to it.
fn chain_from_uniform<'a>(
    this: &mut Lowerer<'a, '_>,
    pointer: Id,
) -> Result<Option<(Value, &'a Inst)>, EngineError> {
    let is_chain = |inst: &&Inst| matches!(inst.row().derives, Derives::Chain | Derives::ElementChain);
    // A pointer to something else is the same address.
    let cast = |inst: &&'a Inst| made_here(this, inst.id(0)).filter(|_| inst.op == Op::Bitcast);
    let last = std::iter::successors(made_here(this, pointer), cast).last();
    let Some(inst) = last.filter(is_chain) else { return Ok(None) };
    let base = this.leaf(inst.id(0))?;
    let base = base.of_all_lanes();
    Ok(base.map(|base| (base, inst)))
}

/// The address that a chain of this block leads to where one of its indices is zero, if the chain's other operands are the same for all
/// lanes.
pub(super) fn first_element(
    this: &mut Lowerer<'_, '_>,
    pointer: Id,
    zero: Id,
) -> Result<Option<Value>, EngineError> {
    let Some((mut base, inst)) = chain_from_uniform(this, pointer)? else { return Ok(None) };
    for step in this.a.func.chain(inst) {
        match step {
            ChainStep::Constant(bytes) => base = this.b.offset(base, this.b.i64(bytes as u64)),
            ChainStep::Scaled { index, .. } if index == zero => {}
            ChainStep::Scaled { index, size } => {
                let Some(index) = this.leaf(index)?.of_all_lanes() else { return Ok(None) };
                base = this.b.element(base, this.b.sext_or_trunc(index, Scalar::I64), size);
            }
        }
    }
    Ok(Some(base))
}

/// An address to which lanes add nothing but an index, times a size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Indexed {
    /// The address at index 0, which all lanes share.
    pub base: Value,
    /// Of 32 or of 64 bits.
    pub index: Reg,
    /// An index of 32 bits as a sum of what all lanes share and what they do not, where it is one. (The base has what they share of
    /// one of 64.)
    pub parts: Option<(Value, Reg)>,
    /// How an index of 32 bits grows from lane to lane, modulo 2^32, where that is proven.
    pub step: Option<i64>,
    pub is_wide: bool,
    /// Whether an index of 32 bits is.
    pub is_signed: bool,
    pub size: u64,
    /// Whether lanes swap places by an exclusive or, as in networks that sort or transform.
    pub is_exchange: bool,
    /// Whether it may be one of a side of butterflies.
    pub may_be_side: bool,
    /// Whether it is in local memory, whose beginning each work-group has.
    pub is_local: bool,
}

/// What a pointer is made of, if it is of that kind and this block makes it: what other blocks use need not be known here.
pub(super) fn indexed(this: &mut Lowerer<'_, '_>, pointer: Id) -> Result<Option<Indexed>, EngineError> {
    let (a, block) = (this.a, this.current_block());
    let Some((mut base, inst)) = chain_from_uniform(this, pointer)? else { return Ok(None) };
    let mut varying = None;
    for step in this.a.func.chain(inst) {
        match step {
            ChainStep::Constant(bytes) => base = this.b.offset(base, this.b.i64(bytes as u64)),
            ChainStep::Scaled { index, size } => {
                let reg = this.leaf(index)?;
                match reg.of_all_lanes() {
                    Some(index) => {
                        base = this.b.element(base, this.b.sext_or_trunc(index, Scalar::I64), size);
                    }
                    None if varying.is_none() => {
                        let is_wide = a.index_width(index) == Some(u64::BITS);
                        let (shared, own) = if is_wide { shared_part(this, index)? } else { (None, index) };
                        base = shared.map_or(base, |shared| this.b.element(base, shared, size));
                        varying = Some((own, size));
                    }
                    None => return Ok(None),
                }
            }
        }
    }
    let Some((index, size)) = varying else { return Ok(None) };
    let widens = |inst: &&Inst| {
        [Some(inst.id(0)), inst.result].map(|id| a.index_width(id?)) == [Some(u32::BITS), Some(u64::BITS)]
    };
    let (id, is_signed) = match made_here(this, index).filter(widens) {
        Some(widened) if widened.op == Op::SConvert && !a.saturates(widened) => (widened.id(0), true),
        Some(widened) if widened.op == Op::UConvert && !a.saturates(widened) => (widened.id(0), false),
        _ => (index, true),
    };
    let is_wide = match a.index_width(id) {
        Some(u32::BITS) => false,
        Some(u64::BITS) => true,
        _ => return Ok(None),
    };
    if a.is_temporal(block, id) {
        return Ok(None);
    }
    let step = a.proven_step(block, id).filter(|_| !is_wide);
    let is_exchange = is_exchange(this, id, EXCHANGE_DEPTH);
    let may_be_side = sides::may_be_of_side(id, &|id| a.definition(id));
    let (shared, own) = if is_wide { (None, id) } else { shared_part(this, id)? };
    let parts = match shared {
        Some(shared) => Some((shared, this.leaf(own)?)),
        None => None,
    };
    let is_local = a.func.class_of(pointer) == Some(StorageClass::Workgroup);
    let index = this.leaf(id)?;
    Ok(Some(Indexed {
        base,
        index,
        parts,
        step,
        is_wide,
        is_signed,
        size,
        is_exchange,
        may_be_side,
        is_local,
    }))
}

/// What all lanes share of a sum that this block makes, and the rest.
fn shared_part(this: &mut Lowerer<'_, '_>, id: Id) -> Result<(Option<Value>, Id), EngineError> {
    let (mut shared, mut rest) = (None, id);
    while let Some(inst) = made_here(this, rest).filter(|inst| matches!(inst.op, Op::IAdd | Op::ISub)) {
        let [left, right] = [this.leaf(inst.id(0))?, this.leaf(inst.id(1))?];
        let b = &this.b;
        let sum = |more: Value| shared.map_or(more, |shared| b.add(shared, more));
        let (all, next) = match (left.of_all_lanes(), right.of_all_lanes()) {
            (None, Some(right)) if inst.op == Op::ISub => {
                (sum(b.sub(b.zero(b.scalar_of(right), 1), right)), inst.id(0))
            }
            (None, Some(right)) => (sum(right), inst.id(0)),
            (Some(left), None) if inst.op == Op::IAdd => (sum(left), inst.id(1)),
            _ => break,
        };
        if this.a.is_temporal(this.current_block(), next) {
            break;
        }
        (shared, rest) = (Some(all), next);
    }
    Ok((shared, rest))
}

impl Indexed {
    /// An index as a 64-bit integer.
    pub fn widened(&self, b: &Builder, index: Value) -> Value {
        match self.is_signed {
            true => b.sext_or_trunc(index, Scalar::I64),
            false => b.zext_or_trunc(index, Scalar::I64),
        }
    }
}

/// How deep an index is looked into for an exclusive or.
const EXCHANGE_DEPTH: u32 = 4;

fn is_exchange(this: &Lowerer<'_, '_>, index: Id, depth: u32) -> bool {
    let Some(inst) = this.a.definition(index).filter(|_| depth > 0) else { return false };
    let of = |at: usize| is_exchange(this, inst.id(at), depth - 1);
    match inst.op {
        // To swap all bits is to count backwards.
        Op::BitwiseXor => {
            let constants = inst.ids().filter_map(|id| this.a.func.constant_bits(id));
            !constants.into_iter().any(|bits| bits.trailing_ones() >= u32::BITS - 1)
        }
        Op::IAdd | Op::ISub | Op::BitwiseOr => of(0) || of(1),
        Op::UConvert | Op::SConvert | Op::CopyObject => of(0),
        _ => false,
    }
}

/// A pointer that this block makes from one that all lanes share: that one, and the bytes from there as 32-bit integers. Both
/// are good for objects of less than 2 GiB.
pub(super) fn split(this: &mut Lowerer<'_, '_>, pointer: Id) -> Result<Option<(Value, Reg)>, EngineError> {
    let Some((base, inst)) = chain_from_uniform(this, pointer)? else { return Ok(None) };
    let mut offset = Reg::uniform(this.b.i32(0));
    for step in this.a.func.chain(inst) {
        let part = match step {
            ChainStep::Constant(bytes) => Reg::uniform(this.b.i32(bytes as u32)),
            ChainStep::Scaled { index, size } => {
                let index = this.leaf(index)?;
                this.apply_once(&[index], |this, v| {
                    let index = this.b.sext_or_trunc(v[0], Scalar::I32);
                    this.b.mul(index, this.b.int(Scalar::I32, this.b.lanes(index), size))
                })
            }
        };
        offset = this.apply_once(&[offset, part], |this, v| this.b.add(v[0], v[1]));
    }
    Ok(Some((base, offset)))
}

/// The pointer if it leads into the storage class that the instruction names, else null (SPIR-V 1.2 §3.32.11).
fn explicit_cast(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Reg, EngineError> {
    let pointer = this.leaf(inst.id(0))?;
    let wanted = inst.lit(1);
    // What is in no other class is global memory.
    let mut ranges: Vec<(Value, Value)> = Vec::new();
    if wanted != StorageClass::Function as u64 {
        ranges.push(local_range(this));
    }
    if wanted != StorageClass::Workgroup as u64 {
        ranges.extend(private_ranges(this)?);
    }
    Ok(this.apply(&[pointer], |this, v| {
        let b = &this.b;
        let inside = is_inside(this, v[0], &ranges);
        let keep = if wanted == StorageClass::CrossWorkgroup as u64 { b.not(inside) } else { inside };
        b.select(keep, v[0], b.zero(Scalar::Ptr, b.lanes(v[0])))
    }))
}

/// The memory semantics of the storage class that a generic pointer leads into (SPIR-V 1.2 §3.32.8). Private
/// memory has none.
fn semantics_of(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Reg, EngineError> {
    let pointer = this.leaf(inst.id(0))?;
    let local = [local_range(this)];
    let private = private_ranges(this)?;
    Ok(this.apply(&[pointer], |this, v| {
        let b = &this.b;
        let semantics =
            |semantics: MemorySemantics| b.int(Scalar::I32, b.lanes(v[0]), u64::from(semantics.bits()));
        let of_class = b.select(
            is_inside(this, v[0], &local),
            semantics(MemorySemantics::WORKGROUP_MEMORY),
            semantics(MemorySemantics::CROSS_WORKGROUP_MEMORY),
        );
        b.select(is_inside(this, v[0], &private), semantics(MemorySemantics::empty()), of_class)
    }))
}

/// Local memory: where it begins, and its bytes.
fn local_range(this: &mut Lowerer<'_, '_>) -> (Value, Value) {
    let worker = this.items().worker;
    let base = this.local_memory();
    let size = this.in_prologue(|b| {
        b.load_invariant(Scalar::I64, b.offset_const(worker, offset_of!(Worker, local_bytes) as u64), 8)
    });
    (base, size)
}

/// The private objects that pointers may lead to, also those whose variables come later: a loop may bring their
/// pointers here.
fn private_ranges(this: &mut Lowerer<'_, '_>) -> Result<Vec<(Value, Value)>, EngineError> {
    if this.storage.private.tells_objects {
        // Those of callers and callees, too.
        let base = this.private_part();
        let mut ranges = vec![(base, this.b.i64(this.storage.private.memory_bytes))];
        ranges.extend(this.live_stack());
        return Ok(ranges);
    }
    let (func, placement) = (&this.a.func, &this.a.private.placement);
    let mut objects: Vec<Id> =
        placement.iter().filter(|(_, of)| **of == Placement::PerLane).map(|(id, _)| *id).collect();
    objects.sort_unstable();
    let mut ranges = Vec::new();
    for id in objects {
        let Some(ty) = func.type_of(id) else { continue };
        let Some(bytes) = object_bytes(func, id, ty, this.w) else { continue };
        let base = this.private_base(id, ty)?;
        ranges.push((base, this.b.i64(bytes)));
    }
    Ok(ranges)
}

/// Whether addresses are in one of some ranges.
fn is_inside(this: &Lowerer<'_, '_>, pointer: Value, ranges: &[(Value, Value)]) -> Value {
    let b = &this.b;
    let lanes = b.lanes(pointer);
    let address = b.reinterpret(pointer, Scalar::I64);
    ranges.iter().fold(b.int(Scalar::Bool, lanes, 0), |inside, (base, size)| {
        let base = b.splat(b.reinterpret(*base, Scalar::I64), lanes);
        let distance = b.sub(address, base);
        b.or(inside, b.icmp(IntPred::LLVMIntULT, distance, b.splat(*size, lanes)))
    })
}

// Private objects.

impl Lowerer<'_, '_> {
    /// The address of an object that every lane has one of, `private_stride` bytes apart.
    pub(super) fn private_object(&mut self, id: Id, pointer: TypeId) -> Result<Reg, EngineError> {
        let base = self.private_base(id, pointer)?;
        if self.w == 1 {
            return Ok(Reg::uniform(base));
        }
        let (w, stride) = (u64::from(self.w), self.private_stride(id, pointer)?);
        let lanes = self.in_prologue(|b| {
            let offsets = b.int_vector(Scalar::I64, (0..w).map(|lane| lane * stride));
            b.offset(base, offsets)
        });
        Ok(Reg::strided(base, lanes))
    }

    /// Bytes between lanes' objects.
    pub(super) fn private_stride(&self, id: Id, pointer: TypeId) -> Result<u64, EngineError> {
        let layout = object_layout(&self.a.func, id, pointer);
        layout.map(private_stride).ok_or_else(|| self.unsupported("a private variable without a size".into()))
    }

    /// The memory of an object that every lane has one of. It is there from the beginning.
    fn private_base(&mut self, id: Id, pointer: TypeId) -> Result<Value, EngineError> {
        if let Some(base) = self.subgroup().private_base.get(&id) {
            return Ok(*base);
        }
        let base = self.private_memory(id, pointer)?;
        self.subgroup_mut().private_base.insert(id, base);
        Ok(base)
    }

    /// Memory for a private variable: one object for each lane, or for all together.
    pub(super) fn private_memory(&mut self, id: Id, pointer: TypeId) -> Result<Value, EngineError> {
        let uniform = self.a.private.placement.get(&id) == Some(&Placement::Uniform);
        let bytes = object_bytes(&self.a.func, id, pointer, if uniform { 1 } else { self.w })
            .ok_or_else(|| self.unsupported("a private variable without a size".into()))?;
        let home = self.storage.private.homes.get(&id).copied().unwrap_or(Home::Stack);
        Ok(match home {
            Home::Stack => {
                let align = object_align(&self.a.func, id, pointer);
                let room =
                    if self.a.reads_beside(id) { self.room_beside().next_multiple_of(align) } else { 0 };
                self.in_prologue(|b| b.offset_const(b.alloca_bytes(bytes + 2 * room, align as u32), room))
            }
            Home::Memory(at) => {
                let mine = self.private_part();
                self.in_prologue(|b| b.offset_const(mine, at))
            }
        })
    }

    /// Bytes on either side of an object that may be read with it: a row of the largest elements, or a piece that lanes have elements in.
    fn room_beside(&self) -> u64 {
        (u64::from(self.w) * Scalar::I64.bytes()).max(speculation::MOST_PIECE)
    }

    /// The sub-group's part of `Worker::private_memory`.
    fn private_part(&self) -> Value {
        let total = self.storage.private.memory_bytes;
        let (worker, subgroup) = (self.items().worker, self.items().subgroup);
        self.in_prologue(|b| {
            let field = b.offset_const(worker, offset_of!(Worker, private_memory) as u64);
            let base = b.load_invariant(Scalar::Ptr, field, 8);
            b.offset(base, b.mul(subgroup, b.i64(total)))
        })
    }
}

fn pointee_of(this: &Lowerer<'_, '_>, pointer: TypeId) -> Result<TypeId, EngineError> {
    match this.a.func.module.types.get(pointer) {
        Type::Pointer { pointee, .. } => Ok(*pointee),
        _ => Err(this.unsupported("a variable whose type is no pointer".into())),
    }
}

fn variable(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Val, EngineError> {
    let (id, ty) = match (inst.result, inst.ty) {
        (Some(id), Some(ty)) => (id, ty),
        _ => return Err(this.unsupported("OpVariable without a result".into())),
    };
    let reg = match this.a.private.placement.get(&id) {
        Some(Placement::Interleaved) => {
            let base = this.private_memory(id, ty)?;
            let object = interleaved::Object::new(this, id, pointee_of(this, ty)?, base);
            this.subgroup_mut().interleaved.insert(id, object);
            // A pointer into an interleaved object is an offset.
            Reg::uniform(this.b.zero(Scalar::Ptr, 1))
        }
        Some(Placement::Uniform) => Reg::uniform(this.private_memory(id, ty)?),
        _ => this.private_object(id, ty)?,
    };
    if inst.operands.len() > 1 {
        let pointee = pointee_of(this, ty)?;
        let val = this.value(inst.id(1))?;
        let place = match this.subgroup().interleaved.get(&id) {
            Some(&object) => Place::Interleaved { object, offset: Reg::uniform(this.b.i64(0)) },
            None if reg.is_uniform() => Place::Uniform(reg.scalar().expect("a uniform leaf has a scalar")),
            None => strided_place(this, reg, this.private_stride(id, ty)? as i64),
        };
        // Lanes that are off do not care what their object holds.
        let mask = std::mem::replace(&mut this.subgroup_mut().mask, Mask::All);
        let result = store_place(this, &place, pointee, val, Access::default());
        this.subgroup_mut().mask = mask;
        result?;
    }
    Ok(smallvec![reg])
}
