//! Loads and stores of packed vectors: rows of them, and objects that lie apart.

use super::super::access::{self, Access, Place, align_at};
use super::super::apart::{self, Addresses};
use super::super::builder::Value;
use super::super::opencl_std::vector_data;
use super::super::values::{Mask, Reg, Val};
use super::super::{Lowerer, memory, prefetch, rows, speculation, streaming};
use super::{pack, registers, unpack};
use crate::analysis::leaves::{Leaf, Scalar};
use crate::analysis::packed::Packing;
use crate::error::EngineError;
use spirv::Op;
use spirv_env::Inst;

/// A row of vectors in memory.
#[derive(Clone, Copy)]
struct Row {
    scalar: Scalar,
    packing: Packing,
    align: u64,
}

impl Row {
    fn leaves(self) -> Vec<Leaf> {
        Leaf::consecutive(self.scalar, self.packing.components as usize)
    }

    fn object_bytes(self) -> u64 {
        u64::from(self.packing.components) * self.scalar.bytes()
    }

    fn register_bytes(self) -> u64 {
        u64::from(self.packing.lanes) * self.scalar.bytes()
    }

    fn offsets(self) -> impl Iterator<Item = u64> {
        (0..u64::from(self.packing.registers)).map(move |register| register * self.register_bytes())
    }

    /// What masks are for: the largest words that objects consist of.
    fn word(self) -> Scalar {
        match self.object_bytes().trailing_zeros() {
            0 => Scalar::I8,
            1 => Scalar::I16,
            2 => Scalar::I32,
            _ => Scalar::I64,
        }
    }

    /// The mask of a register's words.
    fn mask(self, this: &Lowerer<'_, '_>, mask: Value, register: u64) -> Value {
        let words = self.register_bytes() / self.word().bytes();
        let work_item =
            |word: u64| (register * self.register_bytes() + word * self.word().bytes()) / self.object_bytes();
        let indices: Vec<i32> = (0..words).map(|word| work_item(word) as i32).collect();
        this.b.shuffle(mask, mask, &indices)
    }

    /// Whether objects that do not follow each other are accessed one by one.
    fn is_apart(self, this: &Lowerer<'_, '_>) -> bool {
        apart::fits(this.w, this.target.has_avx512(), &self.leaves())
    }

    /// Whether such rows are accessed under masks by instructions.
    fn has_masks(self, this: &Lowerer<'_, '_>) -> bool {
        this.mask() == Mask::All || rows::has_masks(this.target, self.word())
    }

    fn load(self, this: &Lowerer<'_, '_>, base: Value) -> Vec<Value> {
        let (b, word) = (&this.b, self.word());
        let load = |(register, offset): (u64, u64)| {
            let address = b.offset_const(base, offset);
            let Mask::Lanes(mask) = this.mask() else {
                return b.load(self.scalar, self.packing.lanes, address, self.align);
            };
            let mask = self.mask(this, mask, register);
            let words = b.masked_load(word, b.lanes(mask), address, self.align, mask);
            b.reshape(words, self.scalar, self.packing.lanes)
        };
        (0..).zip(self.offsets()).map(load).collect()
    }

    /// The vector of a single work-item, of which nothing is read that it does not have.
    fn load_one(self, this: &Lowerer<'_, '_>, address: Value) -> Value {
        let vector = this.b.load(self.scalar, self.packing.components, address, self.align);
        let lane = |lane: u32| if self.packing.is_behind(0, lane) { -1 } else { lane as i32 };
        self.with_lanes(this, vector, self.packing.lanes, lane)
    }

    fn store_one(self, this: &Lowerer<'_, '_>, address: Value, register: Value) {
        let vector = self.with_lanes(this, register, self.packing.components, |lane| lane as i32);
        this.b.store(vector, address, self.align);
    }

    fn with_lanes(
        self,
        this: &Lowerer<'_, '_>,
        vector: Value,
        lanes: u32,
        from: impl Fn(u32) -> i32,
    ) -> Value {
        if this.b.lanes(vector) == lanes {
            return vector;
        }
        this.b.shuffle(vector, vector, &(0..lanes).map(from).collect::<Vec<_>>())
    }

    fn store(self, this: &Lowerer<'_, '_>, base: Value, registers: &[Value]) {
        let (b, word) = (&this.b, self.word());
        for ((register, offset), value) in (0..).zip(self.offsets()).zip(registers) {
            let address = b.offset_const(base, offset);
            match this.mask() {
                Mask::All => b.store(*value, address, self.align),
                Mask::Lanes(mask) => {
                    let mask = self.mask(this, mask, register);
                    b.masked_store(b.reshape(*value, word, b.lanes(mask)), address, self.align, mask);
                }
            }
        }
    }
}

/// What a load that gives a packed value loads, if it is made so.
pub(super) fn load(
    this: &mut Lowerer<'_, '_>,
    inst: &Inst,
    packing: Packing,
) -> Result<Option<Val>, EngineError> {
    let ty = inst.ty.expect("a load has a type");
    let leaves = this.leaves(ty)?;
    let (place, access) = if inst.op == Op::Load {
        let (pointer, members) = (inst.id(0), &this.position.members);
        if inst.result.is_some_and(|id| members.loads.contains_key(&id)) {
            return Ok(None);
        }
        prefetch::ahead(this, pointer, ty)?;
        (access::place(this, pointer)?, memory::accesses(inst)[1])
    } else {
        (vector_data::place_of_load(this, inst)?, Access::default())
    };
    let row = row_of(leaves[0].scalar, packing, access);
    if let Some(address) = place_of_one(this, &place) {
        return Ok(Some(Val::from_elem(Reg::varying(row.load_one(this, address)), 1)));
    }
    let bytes = row.object_bytes();
    let apart = |addresses: Addresses| {
        let vectors = apart::load_vectors(this, addresses, &leaves, access.align);
        this.b.regrouped(vectors, packing.lanes)
    };
    let by_lanes = |place: &Place| {
        let val = access::load_leaves(this, place, &leaves, bytes, access);
        registers(this, &pack(this, &val, packing), packing)
    };
    let no_row = |addresses| match row.is_apart(this) {
        true => apart(Addresses::Varying(addresses)),
        false => by_lanes(&Place::Varying(addresses)),
    };
    let registers = match place {
        Place::Strided { base, step, .. } if step == bytes as i64 && row.has_masks(this) => {
            row.load(this, base)
        }
        Place::Hoped(hope) if row.has_masks(this) => {
            let otherwise = || no_row(hope.addresses);
            speculation::as_row(this, hope, &leaves, bytes, |base| row.load(this, base), otherwise)
        }
        Place::Strided { base, step, .. } if row.is_apart(this) => apart(Addresses::Strided(base, step)),
        Place::Varying(addresses) => no_row(addresses),
        Place::ShortRows(rows) => {
            let whole = |vectors| this.b.regrouped(vectors, packing.lanes);
            rows.as_rows(this, &leaves, access, whole, || no_row(rows.addresses))
        }
        place => by_lanes(&place),
    };
    Ok(Some(registers.into_iter().map(Reg::varying).collect()))
}

/// Where the vector of a single work-item is.
fn place_of_one(this: &Lowerer<'_, '_>, place: &Place) -> Option<Value> {
    match access::of_one(this, *place) {
        Place::Uniform(address) if this.w == 1 && this.mask() == Mask::All => Some(address),
        _ => None,
    }
}

fn row_of(scalar: Scalar, packing: Packing, access: Access) -> Row {
    Row { scalar, packing, align: align_at(access.align, 0, scalar) }
}

/// Stores a packed value, if it is one and the place a row of vectors.
pub(in crate::lower) fn store(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<bool, EngineError> {
    let is_store = inst.op == Op::Store;
    let value = inst.id(if is_store { 1 } else { 2 });
    let Some(packing) = this.packing_of(value) else { return Ok(false) };
    if is_store && this.position.members.stores.contains_key(&inst.id(0)) {
        return Ok(false);
    }
    let (place, access) = match is_store {
        true => {
            let streams = this.target.streams_stores && this.a.streaming().pointers.contains(&inst.id(0));
            (access::place(this, inst.id(0))?, Access { streams, ..memory::accesses(inst)[0] })
        }
        false => (vector_data::place_of_store(this, inst)?, Access::default()),
    };
    let scalar = this.leaves_of(value)?[0].scalar;
    let row = row_of(scalar, packing, access);
    if access.volatile || !row.has_masks(this) {
        return Ok(false);
    }
    let val = this.packed(Some(packing), |this| this.value(value))?;
    let all = registers(this, &val, packing);
    if let Some(address) = place_of_one(this, &place) {
        row.store_one(this, address, all[0]);
        return Ok(true);
    }
    let apart = |addresses: Addresses| {
        let vectors = this.b.regrouped(all.clone(), this.w);
        apart::store_vectors(this, addresses, &row.leaves(), vectors, access.align);
    };
    match place {
        Place::Strided { base, step, .. } if step == row.object_bytes() as i64 => {
            let vectors = || row.offsets().zip(all.iter().copied()).collect();
            let usual = || row.store(this, base, &all);
            if !access.streams || !streaming::store_row(this, base, row.object_bytes(), vectors, usual) {
                usual();
            }
            Ok(true)
        }
        Place::Hoped(hope) => {
            let leaves = row.leaves();
            let by_lanes = || {
                if row.is_apart(this) {
                    apart(Addresses::Varying(hope.addresses));
                } else {
                    let lanes = unpack(this, &val, packing, scalar);
                    access::store_leaves(this, &Place::Varying(hope.addresses), &leaves, &lanes, access);
                }
                Vec::new()
            };
            let in_row = |base| {
                row.store(this, base, &all);
                Vec::new()
            };
            speculation::as_row(this, hope, &leaves, row.object_bytes(), in_row, by_lanes);
            Ok(true)
        }
        Place::Strided { base, step, .. } if row.is_apart(this) => {
            apart(Addresses::Strided(base, step));
            Ok(true)
        }
        Place::Varying(addresses) if row.is_apart(this) => {
            apart(Addresses::Varying(addresses));
            Ok(true)
        }
        _ => Ok(false),
    }
}
