//! Loads, stores, addresses and private objects.
//!
//! What a pointer looks like over the lanes decides the code: one scalar access (uniform), one contiguous
//! vector access (strided by the element's size), one vector access and shuffles (strided by a run of equal
//! elements, such as a `float4` a lane), else a gather or scatter.

use super::builder::{IntPred, Opcode, Value};
use super::private::{Home, object_bytes};
use super::values::{Mask, Reg, Val};
use super::{Lowerer, private};
use crate::abi::Worker;
use crate::analysis::leaves::{Leaf, Scalar};
use crate::analysis::private::Placement;
use crate::analysis::shapes::{ChainStep, Shape, private_stride};
use crate::error::EngineError;
use smallvec::{SmallVec, smallvec};
use spirv::{Op, StorageClass};
use spirv_env::{Id, Inst, Operand, Type, TypeId};
use std::mem::offset_of;

/// Whether this file lowers an instruction.
pub fn supports(op: Op) -> bool {
    matches!(
        op,
        Op::Variable
            | Op::Load
            | Op::Store
            | Op::CopyMemory
            | Op::CopyMemorySized
            | Op::AccessChain
            | Op::InBoundsAccessChain
            | Op::PtrAccessChain
            | Op::InBoundsPtrAccessChain
            | Op::PtrCastToGeneric
            | Op::GenericCastToPtr
            | Op::GenericCastToPtrExplicit
            | Op::LifetimeStart
            | Op::LifetimeStop
    )
}

pub fn lower(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Option<Val>, EngineError> {
    match inst.op {
        Op::Variable => variable(this, inst).map(Some),
        Op::Load => {
            let ty = inst.ty.expect("a load has a type");
            if let Some(builtin) = this.a.builtins.get(&inst.id(0)).copied() {
                return this.load_builtin(builtin, ty).map(Some);
            }
            load_from(this, inst.id(0), ty, alignment(inst, 1)).map(Some)
        }
        Op::Store => {
            let ty = this
                .a
                .func
                .type_of(inst.id(1))
                .ok_or_else(|| this.unsupported("a store of something without a type".into()))?;
            let val = this.value(inst.id(1))?;
            store_to(this, inst.id(0), ty, val, alignment(inst, 2))?;
            Ok(None)
        }
        Op::CopyMemory => {
            let ty = pointee(this, inst.id(1))?;
            let size = this.a.func.module.types.layout(ty);
            copy(this, inst.id(0), inst.id(1), Size::Bytes(size.size), size.align)?;
            Ok(None)
        }
        Op::CopyMemorySized => {
            let size = match this.a.func.constant_bits(inst.id(2)) {
                Some(bytes) => Size::Bytes(bytes),
                None => Size::Value(inst.id(2)),
            };
            copy(this, inst.id(0), inst.id(1), size, alignment(inst, 3).unwrap_or(1))?;
            Ok(None)
        }
        Op::LifetimeStart | Op::LifetimeStop => Ok(None),
        // A pointer to a built-in is no value; its loads are recognized.
        _ if this.a.builtins.contains_key(&inst.id(0)) => Ok(None),
        Op::PtrCastToGeneric | Op::GenericCastToPtr => this.value(inst.id(0)).map(Some),
        Op::GenericCastToPtrExplicit => explicit_cast(this, inst).map(|reg| Some(smallvec![reg])),
        _ => chain(this, inst).map(|reg| Some(smallvec![reg])),
    }
}

fn pointee(this: &Lowerer<'_, '_>, pointer: Id) -> Result<TypeId, EngineError> {
    match this.a.func.type_of(pointer).map(|ty| this.a.func.module.types.get(ty)) {
        Some(Type::Pointer { pointee, .. }) => Ok(*pointee),
        _ => Err(this.unsupported(format!("an access through {pointer}, which is no pointer"))),
    }
}

/// The alignment that the memory operands from `at` on name, in bytes.
fn alignment(inst: &Inst, at: usize) -> Option<u64> {
    match (inst.operands.get(at), inst.operands.get(at + 1)) {
        (Some(Operand::Lit(mask)), Some(Operand::Lit(align)))
            if mask & u64::from(spirv::MemoryAccess::ALIGNED.bits()) != 0 && align.is_power_of_two() =>
        {
            Some(*align)
        }
        _ => None,
    }
}

/// Alignment of the access at `offset` of an object with this alignment (natural if it names none).
fn align_at(align: Option<u64>, offset: u64, scalar: Scalar) -> u64 {
    let natural = scalar.bytes();
    match align {
        None => natural,
        Some(align) => {
            let at = if offset == 0 { align } else { align.min(1 << offset.trailing_zeros()) };
            at.min(natural)
        }
    }
}

// Addresses.

fn chain(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Reg, EngineError> {
    let base = this.leaf(inst.id(0))?;
    let steps = this.a.chain(inst);
    let constant: i64 = steps
        .iter()
        .map(|step| if let ChainStep::Constant(bytes) = step { *bytes } else { 0 })
        .fold(0, i64::wrapping_add);
    let mut scaled: SmallVec<[(Reg, u64); 2]> = SmallVec::new();
    for step in &steps {
        if let ChainStep::Scaled { index, size } = step {
            scaled.push((this.leaf(*index)?, *size));
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
            let index = pick(*reg);
            let index = b.sext_or_trunc(index, Scalar::I64);
            address = match Scalar::int(u32::try_from(size * 8).unwrap_or(0)).filter(|s| *s != Scalar::Bool) {
                Some(element) => b.gep(address, index, element),
                None => {
                    let size = b.int(Scalar::I64, b.lanes(index), *size);
                    b.offset(address, b.mul(index, size))
                }
            };
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

/// The pointer if it leads into the storage class that the instruction names, else null (SPIR-V 1.2 §3.32.11).
fn explicit_cast(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Reg, EngineError> {
    let pointer = this.leaf(inst.id(0))?;
    let wanted = inst.lit(1);
    // What is in no other class is global memory.
    let mut ranges: Vec<(Value, Value)> = Vec::new();
    if wanted != StorageClass::Function as u64 {
        let worker = this.items.worker;
        let base = this.local_memory();
        let size = this.in_prologue(|b| {
            b.load_invariant(Scalar::I64, b.offset_const(worker, offset_of!(Worker, local_bytes) as u64), 8)
        });
        ranges.push((base, size));
    }
    if wanted != StorageClass::Workgroup as u64 {
        let func = &this.a.func;
        ranges.extend(this.private_base.iter().filter_map(|(id, base)| {
            let bytes = object_bytes(func, func.type_of(*id)?, this.w)?;
            Some((*base, this.b.i64(bytes)))
        }));
    }
    Ok(this.apply(&[pointer], |this, v| {
        let b = &this.b;
        let lanes = b.lanes(v[0]);
        let address = b.reinterpret(v[0], Scalar::I64);
        let mut inside = b.int(Scalar::Bool, lanes, 0);
        for (base, size) in &ranges {
            let base = b.splat(b.reinterpret(*base, Scalar::I64), lanes);
            let distance = b.sub(address, base);
            inside = b.or(inside, b.icmp(IntPred::LLVMIntULT, distance, b.splat(*size, lanes)));
        }
        let keep = if wanted == StorageClass::CrossWorkgroup as u64 { b.not(inside) } else { inside };
        b.select(keep, v[0], b.zero(Scalar::Ptr, lanes))
    }))
}

// Private objects.

impl Lowerer<'_, '_> {
    /// The address of an object that every lane has one of, `private_stride` bytes apart.
    pub(super) fn private_object(&mut self, id: Id, pointer: TypeId) -> Result<Reg, EngineError> {
        let base = self.private_memory(id, pointer)?;
        self.private_base.push((id, base));
        let size = self.a.func.module.types.layout(pointee_of(self, pointer)?).size;
        if self.w == 1 {
            return Ok(Reg::uniform(base));
        }
        let w = u64::from(self.w);
        let lanes = self.in_prologue(|b| {
            let offsets = b.int_vector(Scalar::I64, (0..w).map(|lane| lane * private_stride(size)));
            b.offset(base, offsets)
        });
        Ok(Reg::strided(base, lanes))
    }

    /// Memory for a private variable of all lanes.
    fn private_memory(&mut self, id: Id, pointer: TypeId) -> Result<Value, EngineError> {
        let bytes = object_bytes(&self.a.func, pointer, self.w)
            .ok_or_else(|| self.unsupported("a private variable without a size".into()))?;
        let home = self.private.homes.get(&id).copied().unwrap_or(Home::Stack);
        let total = self.private.memory_bytes;
        let (worker, subgroup) = (self.items.worker, self.items.subgroup);
        Ok(self.in_prologue(|b| match home {
            Home::Stack => b.alloca_bytes(bytes, private::ALIGN as u32),
            Home::Memory(at) => {
                let field = b.offset_const(worker, offset_of!(Worker, private_memory) as u64);
                let base = b.load_invariant(Scalar::Ptr, field, 8);
                let mine = b.offset(base, b.mul(subgroup, b.i64(total)));
                b.offset_const(mine, at)
            }
        }))
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
    let reg = if this.a.private.placement.get(&id) == Some(&Placement::Interleaved) {
        let base = this.private_memory(id, ty)?;
        this.interleaved_base.insert(id, base);
        // A pointer into an interleaved object is an offset.
        Reg::uniform(this.b.zero(Scalar::Ptr, 1))
    } else {
        this.private_object(id, ty)?
    };
    if inst.operands.len() > 1 {
        let pointee = pointee_of(this, ty)?;
        let val = this.value(inst.id(1))?;
        let place = match this.a.private.placement.get(&id) {
            Some(Placement::Interleaved) => {
                Place::Interleaved { base: this.interleaved_base[&id], offset: Reg::uniform(this.b.i64(0)) }
            }
            _ => {
                strided_place(this, reg, private_stride(this.a.func.module.types.layout(pointee).size) as i64)
            }
        };
        // Lanes that are off do not care what their object holds.
        let mask = std::mem::replace(&mut this.mask, Mask::All);
        let result = store_place(this, &place, pointee, val, None);
        this.mask = mask;
        result?;
    }
    Ok(smallvec![reg])
}

// Accesses.

/// Where an access goes.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    Uniform(Value),
    /// The address of lane 0, and the bytes from lane to lane.
    Strided {
        base: Value,
        step: i64,
    },
    Varying(Value),
    /// A byte offset (64-bit) in each lane's object of an interleaved variable.
    Interleaved {
        base: Value,
        offset: Reg,
    },
}

fn strided_place(this: &Lowerer<'_, '_>, reg: Reg, step: i64) -> Place {
    match reg.scalar() {
        Some(scalar) if this.w == 1 => Place::Uniform(scalar),
        Some(base) => Place::Strided { base, step },
        None => Place::Varying(this.vector(reg)),
    }
}

/// Where a pointer leads.
pub fn place(this: &mut Lowerer<'_, '_>, pointer: Id) -> Result<Place, EngineError> {
    let reg = this.leaf(pointer)?;
    if let Some(variable) = this.a.private.interleaved.get(&pointer) {
        let base = *this
            .interleaved_base
            .get(variable)
            .ok_or_else(|| this.unsupported(format!("a use of {variable} before its OpVariable")))?;
        let offset = this.apply(&[reg], |this, v| this.b.reinterpret(v[0], Scalar::I64));
        return Ok(Place::Interleaved { base, offset });
    }
    let shape = this.a.shape(this.current_block(), pointer)[0];
    Ok(match (shape, reg.scalar()) {
        (Shape::Strided(step), Some(base)) => Place::Strided { base, step },
        (_, Some(scalar)) if reg.is_uniform() => Place::Uniform(scalar),
        _ => Place::Varying(this.vector(reg)),
    })
}

/// The storage class of a pointer.
pub fn storage_class(this: &Lowerer<'_, '_>, pointer: Id) -> Option<StorageClass> {
    match this.a.func.module.types.get(this.a.func.type_of(pointer)?) {
        Type::Pointer { class, .. } => Some(*class),
        _ => None,
    }
}

/// Loads a value of type `ty` through a pointer. `align` is what the instruction promises, in bytes.
pub fn load_from(
    this: &mut Lowerer<'_, '_>,
    pointer: Id,
    ty: TypeId,
    align: Option<u64>,
) -> Result<Val, EngineError> {
    let place = place(this, pointer)?;
    load_place(this, &place, ty, align)
}

/// Stores a value of type `ty` through a pointer.
pub fn store_to(
    this: &mut Lowerer<'_, '_>,
    pointer: Id,
    ty: TypeId,
    val: Val,
    align: Option<u64>,
) -> Result<(), EngineError> {
    let place = place(this, pointer)?;
    store_place(this, &place, ty, val, align)
}

pub fn load_place(
    this: &mut Lowerer<'_, '_>,
    place: &Place,
    ty: TypeId,
    align: Option<u64>,
) -> Result<Val, EngineError> {
    let leaves = this.leaves(ty)?;
    Ok(load_leaves(this, place, &leaves, align))
}

/// Loads leaves that need not be those of a type of the module.
pub fn load_leaves(this: &Lowerer<'_, '_>, place: &Place, leaves: &[Leaf], align: Option<u64>) -> Val {
    if let Place::Strided { base, step } = place
        && let Some(stride) = run_stride(leaves, *step)
    {
        return load_run(this, *base, leaves, stride, align);
    }
    leaves.iter().map(|leaf| load_leaf(this, place, *leaf, align)).collect()
}

pub fn store_place(
    this: &mut Lowerer<'_, '_>,
    place: &Place,
    ty: TypeId,
    val: Val,
    align: Option<u64>,
) -> Result<(), EngineError> {
    let leaves = this.leaves(ty)?;
    store_leaves(this, place, &leaves, &val, align);
    Ok(())
}

/// Stores leaves that need not be those of a type of the module.
pub fn store_leaves(this: &Lowerer<'_, '_>, place: &Place, leaves: &[Leaf], val: &Val, align: Option<u64>) {
    if let Place::Strided { base, step } = place
        && run_stride(leaves, *step) == Some(leaves.len())
    {
        store_run(this, *base, leaves, val, align);
        return;
    }
    for (leaf, reg) in leaves.iter().zip(val) {
        store_leaf(this, place, *leaf, *reg, align);
    }
}

/// The type that a leaf has in memory.
fn in_memory(scalar: Scalar) -> Scalar {
    if scalar == Scalar::Bool { Scalar::I8 } else { scalar }
}

fn from_memory(this: &Lowerer<'_, '_>, value: Value, scalar: Scalar) -> Value {
    if scalar != Scalar::Bool {
        return value;
    }
    let zero = this.b.zero(Scalar::I8, this.b.lanes(value));
    this.b.icmp(IntPred::LLVMIntNE, value, zero)
}

fn to_memory(this: &Lowerer<'_, '_>, value: Value) -> Value {
    if this.b.scalar_of(value) == Scalar::Bool {
        return this.b.cast(Opcode::LLVMZExt, value, Scalar::I8);
    }
    value
}

/// Lane numbers in reverse.
fn reversed(this: &Lowerer<'_, '_>, value: Value) -> Value {
    let indices: Vec<i32> = (0..this.w as i32).rev().collect();
    this.b.shuffle(value, value, &indices)
}

/// The addresses of all lanes of a strided access.
fn lane_addresses(this: &Lowerer<'_, '_>, base: Value, step: i64) -> Value {
    let steps = (0..i64::from(this.w)).map(|lane| lane.wrapping_mul(step) as u64);
    this.b.offset(base, this.b.int_vector(Scalar::I64, steps))
}

/// Loads one leaf for all lanes.
pub fn load_leaf(this: &Lowerer<'_, '_>, place: &Place, leaf: Leaf, align: Option<u64>) -> Reg {
    let b = &this.b;
    let memory = in_memory(leaf.scalar);
    let align = align_at(align, leaf.offset, memory);
    let size = memory.bytes() as i64;
    let value = match *place {
        Place::Uniform(address) => {
            let value = b.load(memory, 1, b.offset_const(address, leaf.offset), align);
            return Reg::uniform(from_memory(this, value, leaf.scalar));
        }
        Place::Strided { base, step } => {
            let base = b.offset_const(base, leaf.offset);
            if step == size || step == -size {
                let low = if step > 0 { base } else { lowest(this, base, size) };
                let value = match this.mask {
                    Mask::All => b.load(memory, this.w, low, align),
                    Mask::Lanes(mask) => {
                        let mask = if step > 0 { mask } else { reversed(this, mask) };
                        b.masked_load(memory, this.w, low, align, mask)
                    }
                };
                if step > 0 { value } else { reversed(this, value) }
            } else {
                b.gather(memory, lane_addresses(this, base, step), align, this.mask_vector())
            }
        }
        Place::Varying(addresses) => {
            let at = b.offset_const(addresses, leaf.offset);
            b.gather(memory, at, align, this.mask_vector())
        }
        Place::Interleaved { base, offset } => match interleaved(this, base, offset, leaf.offset, memory) {
            Interleaved::Row(address) => {
                let value = b.load(memory, this.w, address, memory.bytes());
                if this.w == 1 {
                    return Reg::uniform(from_memory(this, value, leaf.scalar));
                }
                value
            }
            Interleaved::Lanes(addresses) => b.gather(memory, addresses, memory.bytes(), this.mask_vector()),
        },
    };
    Reg::varying(from_memory(this, value, leaf.scalar))
}

/// The lowest address of lanes that go downwards.
fn lowest(this: &Lowerer<'_, '_>, base: Value, size: i64) -> Value {
    let back = -size * (i64::from(this.w) - 1);
    this.b.offset(base, this.b.i64(back as u64))
}

/// Stores one leaf of all lanes that are on.
pub fn store_leaf(this: &Lowerer<'_, '_>, place: &Place, leaf: Leaf, reg: Reg, align: Option<u64>) {
    let b = &this.b;
    let memory = in_memory(leaf.scalar);
    let align = align_at(align, leaf.offset, memory);
    let size = memory.bytes() as i64;
    match *place {
        Place::Uniform(address) => {
            let value = match reg.scalar() {
                Some(scalar) if reg.is_uniform() => scalar,
                // All lanes write the same place: as in a scatter, the last one stays.
                _ => last_active(this, this.vector(reg)),
            };
            b.store(to_memory(this, value), b.offset_const(address, leaf.offset), align);
        }
        Place::Strided { base, step } => {
            let base = b.offset_const(base, leaf.offset);
            let value = to_memory(this, this.vector(reg));
            if step == size || step == -size {
                let low = if step > 0 { base } else { lowest(this, base, size) };
                let value = if step > 0 { value } else { reversed(this, value) };
                match this.mask {
                    Mask::All => b.store(value, low, align),
                    Mask::Lanes(mask) => {
                        let mask = if step > 0 { mask } else { reversed(this, mask) };
                        b.masked_store(value, low, align, mask);
                    }
                }
            } else {
                b.scatter(value, lane_addresses(this, base, step), align, this.mask_vector());
            }
        }
        Place::Varying(addresses) => {
            let value = to_memory(this, this.vector(reg));
            b.scatter(value, b.offset_const(addresses, leaf.offset), align, this.mask_vector());
        }
        Place::Interleaved { base, offset } => {
            let value = to_memory(this, this.vector(reg));
            match interleaved(this, base, offset, leaf.offset, memory) {
                Interleaved::Row(address) => {
                    // A blend instead of a masked store: the memory is ours, and SROA sees through it.
                    let value = match this.mask {
                        Mask::All => value,
                        Mask::Lanes(mask) => {
                            let old = b.load(memory, this.w, address, memory.bytes());
                            b.select(mask, value, old)
                        }
                    };
                    b.store(value, address, memory.bytes());
                }
                Interleaved::Lanes(addresses) => {
                    b.scatter(value, addresses, memory.bytes(), this.mask_vector());
                }
            }
        }
    }
}

enum Interleaved {
    /// All lanes, side by side.
    Row(Value),
    Lanes(Value),
}

fn interleaved(this: &Lowerer<'_, '_>, base: Value, offset: Reg, leaf: u64, memory: Scalar) -> Interleaved {
    let b = &this.b;
    let w = u64::from(this.w);
    let base = b.offset_const(base, leaf * w);
    match offset.scalar() {
        Some(offset) if this.w == 1 => Interleaved::Row(b.offset(base, offset)),
        Some(scalar) if offset.is_uniform() => Interleaved::Row(b.offset(base, b.mul(scalar, b.i64(w)))),
        _ => {
            let rows = b.mul(this.vector(offset), b.int(Scalar::I64, this.w, w));
            let lanes = b.int_vector(Scalar::I64, (0..w).map(|lane| lane * memory.bytes()));
            Interleaved::Lanes(b.offset(base, b.add(rows, lanes)))
        }
    }
}

/// The value of the last lane that is on.
pub fn last_active(this: &Lowerer<'_, '_>, vector: Value) -> Value {
    let b = &this.b;
    match this.mask {
        Mask::All => b.extract(vector, b.i32(this.w - 1)),
        Mask::Lanes(mask) => {
            let bits = b.mask_bits(mask);
            let no = b.int(Scalar::Bool, 1, 0);
            let zeros = b.intrinsic("llvm.ctlz", &[bits, no]);
            b.extract(vector, b.sub(b.i64(63), zeros))
        }
    }
}

// Runs: lanes whose objects are a few equal elements and follow each other without a gap.

/// Elements from lane to lane, if the leaves are a run of equal elements that fills the step (but for the
/// padding of a 3-component vector).
fn run_stride(leaves: &[Leaf], step: i64) -> Option<usize> {
    const MOST: usize = 8;
    let first = leaves.first()?;
    let memory = in_memory(first.scalar);
    let size = memory.bytes();
    let regular = leaves
        .iter()
        .enumerate()
        .all(|(at, leaf)| leaf.scalar == first.scalar && leaf.offset == at as u64 * size);
    let stride = if leaves.len() == 3 && step == 4 * size as i64 { 4 } else { leaves.len() };
    (regular && leaves.len() > 1 && stride <= MOST && step == (stride as u64 * size) as i64).then_some(stride)
}

fn load_run(this: &Lowerer<'_, '_>, base: Value, leaves: &[Leaf], stride: usize, align: Option<u64>) -> Val {
    let b = &this.b;
    let memory = in_memory(leaves[0].scalar);
    let lanes = this.w * stride as u32;
    let align = align_at(align, 0, memory);
    let all = match this.mask {
        Mask::All => b.load(memory, lanes, base, align),
        Mask::Lanes(mask) => b.masked_load(memory, lanes, base, align, repeated(this, mask, stride)),
    };
    leaves
        .iter()
        .enumerate()
        .map(|(at, leaf)| {
            let indices: Vec<i32> = (0..this.w as usize).map(|lane| (lane * stride + at) as i32).collect();
            Reg::varying(from_memory(this, b.shuffle(all, all, &indices), leaf.scalar))
        })
        .collect()
}

fn store_run(this: &Lowerer<'_, '_>, base: Value, leaves: &[Leaf], val: &Val, align: Option<u64>) {
    let b = &this.b;
    let (w, stride) = (this.w as usize, leaves.len());
    let memory = in_memory(leaves[0].scalar);
    let align = align_at(align, 0, memory);
    // Concatenates all leaves, then picks lane by lane.
    let mut parts: Vec<Value> = val.iter().map(|reg| to_memory(this, this.vector(*reg))).collect();
    while !parts.len().is_power_of_two() {
        parts.push(b.poison(memory, this.w));
    }
    while parts.len() > 1 {
        let lanes = b.lanes(parts[0]) as i32;
        let indices: Vec<i32> = (0..2 * lanes).collect();
        parts = parts.chunks_exact(2).map(|pair| b.shuffle(pair[0], pair[1], &indices)).collect();
    }
    let indices: Vec<i32> = (0..w * stride).map(|at| ((at % stride) * w + at / stride) as i32).collect();
    let all = b.shuffle(parts[0], parts[0], &indices);
    match this.mask {
        Mask::All => b.store(all, base, align),
        Mask::Lanes(mask) => b.masked_store(all, base, align, repeated(this, mask, stride)),
    }
}

/// Each lane of a mask `times` times.
fn repeated(this: &Lowerer<'_, '_>, mask: Value, times: usize) -> Value {
    let indices: Vec<i32> = (0..this.w as usize * times).map(|at| (at / times) as i32).collect();
    this.b.shuffle(mask, mask, &indices)
}

// Copies.

enum Size {
    Bytes(u64),
    Value(Id),
}

/// Copies memory for each lane that is on.
fn copy(this: &mut Lowerer<'_, '_>, to: Id, from: Id, size: Size, align: u64) -> Result<(), EngineError> {
    /// Copies up to this size become loads and stores.
    const SMALL: u64 = 256;
    let (target, source) = (place(this, to)?, place(this, from)?);
    let uniform_size = match size {
        Size::Bytes(bytes) => Some(this.b.i64(bytes)),
        Size::Value(id) => {
            let reg = this.leaf(id)?;
            reg.scalar().filter(|_| reg.is_uniform()).map(|size| this.b.zext_or_trunc(size, Scalar::I64))
        }
    };
    if let (Place::Uniform(target), Place::Uniform(source), Some(size)) = (target, source, uniform_size) {
        this.b.memcpy(target, source, size, align.min(16) as u32);
        return Ok(());
    }
    if let Size::Bytes(bytes) = size
        && bytes <= SMALL
    {
        let mut at = 0;
        while at < bytes {
            let unit = [8, 4, 2, 1].into_iter().find(|unit| at + unit <= bytes && align % unit == 0);
            let unit = unit.unwrap_or(1);
            let scalar = Scalar::int(unit as u32 * 8).expect("units are integer sizes");
            let leaf = Leaf { scalar, offset: at };
            let reg = load_leaf(this, &source, leaf, Some(align));
            store_leaf(this, &target, leaf, reg, Some(align));
            at += unit;
        }
        return Ok(());
    }
    // One lane after the other.
    let (target, source) = (this.leaf(to)?, this.leaf(from)?);
    let size = match size {
        Size::Bytes(bytes) => Reg::uniform(this.b.i64(bytes)),
        Size::Value(id) => this.leaf(id)?,
    };
    this.for_each_lane(|this, lane| {
        let pick = |reg: Reg| {
            if reg.is_uniform() { this.vector_or_scalar(reg) } else { this.b.extract(this.vector(reg), lane) }
        };
        let bytes = this.b.zext_or_trunc(pick(size), Scalar::I64);
        this.b.memcpy(pick(target), pick(source), bytes, align.min(16) as u32);
    });
    Ok(())
}

impl Lowerer<'_, '_> {
    /// The scalar of a uniform leaf.
    fn vector_or_scalar(&self, reg: Reg) -> Value {
        reg.scalar().unwrap_or_else(|| self.vector(reg))
    }

    /// Runs code once for each lane that is on, with the lane's number (32 bits).
    pub fn for_each_lane(&self, emit: impl FnOnce(&Self, Value)) {
        let b = &self.b;
        if self.w == 1 {
            return emit(self, b.i32(0));
        }
        let bits = b.mask_bits(self.mask_vector());
        let (head, inside, done) = (
            b.block(self.function, "lanes"),
            b.block(self.function, "lane"),
            b.block(self.function, "lanes.done"),
        );
        let before = b.here();
        b.br(head);
        b.at_end(head);
        let rest = b.phi(Scalar::I64, 1);
        b.add_incoming(rest, bits, before);
        b.cond_br(b.icmp(IntPred::LLVMIntNE, rest, b.i64(0)), inside, done);
        b.at_end(inside);
        let lane = b.intrinsic("llvm.cttz", &[rest, b.int(Scalar::Bool, 1, 1)]);
        emit(self, b.zext_or_trunc(lane, Scalar::I32));
        let next = b.and(rest, b.sub(rest, b.i64(1)));
        b.add_incoming(rest, next, b.here());
        b.br(head);
        b.at_end(done);
    }
}
