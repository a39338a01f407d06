//! Loads and stores: one scalar access (uniform), one contiguous vector access (strided by the element's size), one
//! access of all lanes' elements and shuffles (`runs`, `spaced`),
//! else a gather or scatter.

use super::apart::Addresses;
use super::builder::{IntPred, Opcode, Value};
use super::short_rows::ShortRows;
use super::speculation::{Hope, Look};
use super::values::{Mask, Reg, Val};
use super::{
    Lowerer, apart, interleaved, memory, narrow, rows, runs, short_rows, spaced, speculation, streaming,
};
use crate::analysis::leaves::{Leaf, Scalar};
use crate::analysis::shapes::Shape;
use crate::error::EngineError;
use spirv_env::{Id, TypeId};

/// What an instruction says of its access.
#[derive(Clone, Copy, Default, Debug)]
pub struct Access {
    /// The alignment that it promises, in bytes; that of each scalar if it promises none.
    pub align: Option<u64>,
    /// The access is neither left out nor repeated, nor moved across other volatile ones.
    pub volatile: bool,
    /// The store may go past the caches.
    pub streams: bool,
    /// What is loaded stays what it is as long as the kernel runs.
    pub constant: bool,
}

/// Where an access goes.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    Uniform(Value),
    /// The address of lane 0, the bytes from lane to lane, and of these the ones that lie in front of an access, if steps
    /// begin where the pointer's root does: a guess, which decides only what lines of the cache an access touches.
    Strided {
        base: Value,
        step: i64,
        into: u64,
    },
    Varying(Value),
    /// Addresses that may follow each other.
    Hoped(Hope),
    /// Lanes of several rows, which follow each other within each.
    ShortRows(ShortRows),
    /// A byte offset (64-bit) in each lane's object of an interleaved variable.
    Interleaved {
        object: interleaved::Object,
        offset: Reg,
    },
}

pub(super) fn strided_place(this: &Lowerer<'_, '_>, reg: Reg, step: i64) -> Place {
    match reg.scalar() {
        Some(scalar) if this.w == 1 => Place::Uniform(scalar),
        Some(base) => Place::Strided { base, step, into: 0 },
        None => Place::Varying(this.vector(reg)),
    }
}

/// The same place where a single lane's objects, which follow each other in memory, are not looked for by lanes.
pub(super) fn of_one(this: &Lowerer<'_, '_>, place: Place) -> Place {
    match place {
        Place::Interleaved { object, offset } if this.w == 1 => Place::Uniform(object.only(this, offset)),
        place => place,
    }
}

/// Where a pointer leads.
pub fn place(this: &mut Lowerer<'_, '_>, pointer: Id) -> Result<Place, EngineError> {
    let reg = this.leaf(pointer)?;
    if let Some(variable) = this.a.private.interleaved.get(&pointer) {
        let object = *this
            .subgroup()
            .interleaved
            .get(variable)
            .ok_or_else(|| this.unsupported(format!("a use of {variable} before its OpVariable")))?;
        let offset = this.apply(&[reg], |this, v| this.b.reinterpret(v[0], Scalar::I64));
        return Ok(Place::Interleaved { object, offset });
    }
    let shape = this.a.shape(this.current_block(), pointer)[0];
    Ok(match (shape, reg.scalar()) {
        (Shape::Strided(step), Some(base)) => match speculation::needs_look(this.a.trust(pointer)) {
            None => Place::Strided { base, step, into: this.a.bytes_into_structure(pointer, step) },
            Some(look) => {
                let indexed = memory::indexed(this, pointer)?;
                speculation::place(this, this.vector(reg), Some((base, step)), indexed, look)
            }
        },
        (_, Some(scalar)) if reg.is_uniform() => Place::Uniform(scalar),
        _ if this.a.may_be_row(this.current_block(), pointer) => {
            let indexed = memory::indexed(this, pointer)?;
            speculation::place(this, this.vector(reg), None, indexed, Look::AllLanes)
        }
        _ => match short_rows::place(this, pointer)? {
            Some(rows) => Place::ShortRows(rows),
            None => Place::Varying(this.vector(reg)),
        },
    })
}

/// Loads a value of type `ty` through a pointer.
pub fn load_from(
    this: &mut Lowerer<'_, '_>,
    pointer: Id,
    ty: TypeId,
    access: Access,
) -> Result<Val, EngineError> {
    let place = place(this, pointer)?;
    load_place(this, &place, ty, access)
}

/// Stores a value of type `ty` through a pointer.
pub fn store_to(
    this: &mut Lowerer<'_, '_>,
    pointer: Id,
    ty: TypeId,
    val: Val,
    access: Access,
) -> Result<(), EngineError> {
    let place = place(this, pointer)?;
    store_place(this, &place, ty, val, access)
}

pub fn load_place(
    this: &mut Lowerer<'_, '_>,
    place: &Place,
    ty: TypeId,
    access: Access,
) -> Result<Val, EngineError> {
    let leaves = this.leaves(ty)?;
    let bytes = this.a.func.module.types.layout(ty).size;
    Ok(load_leaves(this, place, &leaves, bytes, access))
}

/// Loads leaves that need not be those of a type of the module, from objects of so many bytes.
pub fn load_leaves(
    this: &Lowerer<'_, '_>,
    place: &Place,
    leaves: &[Leaf],
    bytes: u64,
    access: Access,
) -> Val {
    if let Place::Hoped(hope) = place {
        return speculation::load(this, *hope, leaves, bytes, access);
    }
    if let Place::ShortRows(rows) = place {
        return rows.load(this, leaves, bytes, access);
    }
    if let Place::Strided { base, step, .. } = place
        && !access.volatile
        && let Some(stride) = runs::stride(leaves, step.saturating_abs())
    {
        return runs::load(this, (*base, *step), leaves, stride, access.align);
    }
    if let Some(addresses) = apart_addresses(this, place, leaves, access) {
        return apart::load(this, addresses, leaves, access.align);
    }
    leaves.iter().map(|leaf| load_leaf(this, place, *leaf, access)).collect()
}

pub fn store_place(
    this: &mut Lowerer<'_, '_>,
    place: &Place,
    ty: TypeId,
    val: Val,
    access: Access,
) -> Result<(), EngineError> {
    let leaves = this.leaves(ty)?;
    store_leaves(this, place, &leaves, &val, access);
    Ok(())
}

/// Stores leaves that need not be those of a type of the module.
pub fn store_leaves(this: &Lowerer<'_, '_>, place: &Place, leaves: &[Leaf], val: &Val, access: Access) {
    if let Place::Hoped(hope) = place {
        return speculation::store(this, *hope, leaves, val, access);
    }
    if let Place::ShortRows(rows) = place {
        return rows.store(this, leaves, val, access);
    }
    if streaming::store(this, place, leaves, val, access) {
        return;
    }
    if let Place::Strided { base, step, .. } = place
        && !access.volatile
        && runs::stride(leaves, step.saturating_abs()) == Some(leaves.len())
    {
        runs::store(this, (*base, *step), leaves, val, access.align);
        return;
    }
    if let Some(addresses) = apart_addresses(this, place, leaves, access) {
        apart::store(this, addresses, leaves, val, access.align);
        return;
    }
    for (leaf, reg) in leaves.iter().zip(val) {
        store_leaf(this, place, *leaf, *reg, access);
    }
}

/// Where objects are that are better accessed one by one.
fn apart_addresses(
    this: &Lowerer<'_, '_>,
    place: &Place,
    leaves: &[Leaf],
    access: Access,
) -> Option<Addresses> {
    if access.volatile || !apart::fits(this.w, this.target.has_avx512(), leaves) {
        return None;
    }
    match *place {
        Place::Varying(addresses) => Some(Addresses::Varying(addresses)),
        Place::Strided { base, step, .. } => Some(Addresses::Strided(base, step)),
        _ => None,
    }
}

/// Alignment of the access at `offset` of an object with this alignment (natural if it names none).
pub(super) fn align_at(align: Option<u64>, offset: u64, scalar: Scalar) -> u64 {
    let natural = scalar.bytes();
    match align {
        None => natural,
        Some(align) => {
            let at = if offset == 0 { align } else { align.min(1 << offset.trailing_zeros()) };
            at.min(natural)
        }
    }
}

/// The type that a leaf has in memory.
pub(super) fn in_memory(scalar: Scalar) -> Scalar {
    if scalar == Scalar::Bool { Scalar::I8 } else { scalar }
}

pub(super) fn from_memory(this: &Lowerer<'_, '_>, value: Value, scalar: Scalar) -> Value {
    if scalar != Scalar::Bool {
        return value;
    }
    let zero = this.b.zero(Scalar::I8, this.b.lanes(value));
    this.b.icmp(IntPred::LLVMIntNE, value, zero)
}

pub(super) fn to_memory(this: &Lowerer<'_, '_>, value: Value) -> Value {
    if this.b.scalar_of(value) == Scalar::Bool {
        return this.b.cast(Opcode::LLVMZExt, value, Scalar::I8);
    }
    value
}

/// The addresses of all lanes of a strided access.
pub(super) fn lane_addresses(this: &Lowerer<'_, '_>, base: Value, step: i64) -> Value {
    this.b.offset(base, this.b.steps(Scalar::I64, this.w, step))
}

/// Emits an access that LLVM has no volatile form of.
fn in_order<T>(this: &Lowerer<'_, '_>, access: Access, emit: impl FnOnce() -> T) -> T {
    if !access.volatile {
        return emit();
    }
    this.b.fence_compiler();
    let result = emit();
    this.b.fence_compiler();
    result
}

/// Loads one leaf for all lanes. Interleaved memory is nobody else's, so volatile means nothing there.
pub fn load_leaf(this: &Lowerer<'_, '_>, place: &Place, leaf: Leaf, access: Access) -> Reg {
    if let Scalar::Int(_) = leaf.scalar {
        return load_parts(this, place, leaf, access);
    }
    let b = &this.b;
    let memory = in_memory(leaf.scalar);
    let align = align_at(access.align, leaf.offset, memory);
    let size = memory.bytes() as i64;
    let load = |lanes, address| match access.volatile {
        true => b.load_volatile(memory, lanes, address, align),
        false => b.load(memory, lanes, address, align),
    };
    let value = match *place {
        Place::Uniform(address) => {
            let address = this.readable(b.offset_const(address, leaf.offset));
            let value = match access.constant {
                true => b.load_invariant(memory, address, align),
                false => load(1, address),
            };
            return Reg::uniform(from_memory(this, value, leaf.scalar));
        }
        Place::Strided { base, step, .. } => {
            let base = b.offset_const(base, leaf.offset);
            if step == size || step == -size {
                let low = if step > 0 { base } else { lowest(this, base, size) };
                let value = match this.mask() {
                    Mask::All => load(this.w, low),
                    Mask::Lanes(mask) => {
                        let mask = if step > 0 { mask } else { b.reversed(mask) };
                        in_order(this, access, || match access.volatile {
                            true => b.masked_load(memory, this.w, low, align, mask),
                            false => rows::load(this, memory, low, align, mask),
                        })
                    }
                };
                if step > 0 { value } else { b.reversed(value) }
            } else if let Some(value) = spaced::load(this, base, step, memory, align, access) {
                value
            } else {
                let addresses = lane_addresses(this, base, step);
                in_order(this, access, || narrow::gather(this, memory, addresses, align))
            }
        }
        Place::Varying(addresses)
        | Place::Hoped(Hope { addresses, .. })
        | Place::ShortRows(ShortRows { addresses, .. }) => {
            let at = b.offset_const(addresses, leaf.offset);
            in_order(this, access, || narrow::gather(this, memory, at, align))
        }
        Place::Interleaved { object, offset } => {
            let value = object.load(this, offset, leaf.offset, memory);
            if this.w == 1 {
                return Reg::uniform(from_memory(this, value, leaf.scalar));
            }
            value
        }
    };
    Reg::varying(from_memory(this, value, leaf.scalar))
}

/// The lowest address of lanes that go downwards.
fn lowest(this: &Lowerer<'_, '_>, base: Value, size: i64) -> Value {
    let back = -size * (i64::from(this.w) - 1);
    this.b.offset(base, this.b.i64(back as u64))
}

/// Stores one leaf of all lanes that are on.
pub fn store_leaf(this: &Lowerer<'_, '_>, place: &Place, leaf: Leaf, reg: Reg, access: Access) {
    if let Scalar::Int(_) = leaf.scalar {
        return store_parts(this, place, leaf, reg, access);
    }
    let b = &this.b;
    let memory = in_memory(leaf.scalar);
    let align = align_at(access.align, leaf.offset, memory);
    let size = memory.bytes() as i64;
    let store = |value, address| match access.volatile {
        true => b.store_volatile(value, address, align),
        false => b.store(value, address, align),
    };
    match *place {
        Place::Uniform(address) => {
            let value = match reg.scalar() {
                Some(scalar) if reg.is_uniform() => scalar,
                // All lanes write the same place: as in a scatter, the last one stays.
                _ => last_active(this, this.vector(reg)),
            };
            store(to_memory(this, value), b.offset_const(address, leaf.offset));
        }
        Place::Strided { base, step, into } => {
            let base = b.offset_const(base, leaf.offset);
            let value = to_memory(this, this.vector(reg));
            if step == size || step == -size {
                let low = if step > 0 { base } else { lowest(this, base, size) };
                let value = if step > 0 { value } else { b.reversed(value) };
                match this.mask() {
                    Mask::All => store(value, low),
                    Mask::Lanes(mask) => {
                        let mask = if step > 0 { mask } else { b.reversed(mask) };
                        in_order(this, access, || b.masked_store(value, low, align, mask));
                    }
                }
            } else if !spaced::store(this, base, step, into + leaf.offset, value, align, access) {
                let addresses = lane_addresses(this, base, step);
                in_order(this, access, || b.scatter(value, addresses, align, this.mask_vector()));
            }
        }
        Place::Varying(addresses)
        | Place::Hoped(Hope { addresses, .. })
        | Place::ShortRows(ShortRows { addresses, .. }) => {
            let value = to_memory(this, this.vector(reg));
            let addresses = b.offset_const(addresses, leaf.offset);
            in_order(this, access, || b.scatter(value, addresses, align, this.mask_vector()));
        }
        Place::Interleaved { object, offset } => {
            object.store(this, offset, leaf.offset, memory, to_memory(this, this.vector(reg)));
        }
    }
}

/// Integers of odd widths: LLVM packs vectors of them bit by bit, and as scalars takes the bits above for zero.
fn load_parts(this: &Lowerer<'_, '_>, place: &Place, leaf: Leaf, access: Access) -> Reg {
    let accesses = leaf.scalar.accesses(leaf.offset);
    let parts: Val = accesses.iter().map(|part| load_leaf(this, place, *part, access)).collect();
    this.apply(&parts, |this, v| join_parts(this, leaf, v))
}

/// The integer whose accesses gave these parts.
pub fn join_parts(this: &Lowerer<'_, '_>, leaf: Leaf, parts: &[Value]) -> Value {
    let b = &this.b;
    let accesses = leaf.scalar.accesses(0).into_iter();
    let parts = accesses.zip(parts).map(|(access, part)| (access.offset, *part));
    b.zext_or_trunc(b.of_bytes(whole_bytes(leaf.scalar), parts), leaf.scalar)
}

fn store_parts(this: &Lowerer<'_, '_>, place: &Place, leaf: Leaf, reg: Reg, access: Access) {
    let whole = whole_bytes(leaf.scalar);
    for part in leaf.scalar.accesses(leaf.offset) {
        let value = this.apply(&[reg], |this, v| {
            let whole = this.b.zext_or_trunc(v[0], whole);
            this.b.bytes_from(whole, part.offset - leaf.offset, part.scalar)
        });
        store_leaf(this, place, part, value, access);
    }
}

/// The integer type with all bits of the bytes that a scalar has in memory.
fn whole_bytes(scalar: Scalar) -> Scalar {
    Scalar::int(8 * scalar.bytes() as u32).expect("no wider than the scalar's bytes")
}

/// The value of the last lane that is on.
pub fn last_active(this: &Lowerer<'_, '_>, vector: Value) -> Value {
    let b = &this.b;
    match this.mask() {
        Mask::All => b.extract(vector, b.i32(this.w - 1)),
        Mask::Lanes(mask) => {
            let bits = b.mask_bits(mask);
            let no = b.int(Scalar::Bool, 1, 0);
            let zeros = b.intrinsic("llvm.ctlz", &[bits, no]);
            b.extract(vector, b.sub(b.i64(63), zeros))
        }
    }
}
