//! Accesses to interleaved private variables (`analysis::private`): each leaf of the object is a *row*, which all lanes access
//! at once where the offset is the same for them. Where it is not, each row of few is blended in, or a gather or scatter finds
//! the lanes.

use super::builder::{IntPred, Opcode, Value};
use super::values::{Mask, Reg};
use super::{Lowerer, narrow};
use crate::analysis::leaves::Scalar;
use spirv_env::{Id, TypeId};

/// Vector registers whose rows are all accessed where lanes access different ones. Up to about as many, a comparison and a blend
/// each are as fast as a gather or scatter, and nothing keeps SROA from making registers of the variable.
const MOST: u64 = 6;

/// The same for elements of less than 32 bits, which no instruction gathers.
const MOST_NARROW: u64 = 16;

/// The same for writing where all lanes read the same row. A vector that is stored is forwarded to the loads behind it, as when
/// an insertion moves other elements; what a scatter writes has to reach the cache first.
const MOST_READ_BY_ROWS: u64 = 10;

/// The objects of all lanes.
#[derive(Clone, Copy, Debug)]
pub struct Object {
    base: Value,
    /// Of the object of one lane.
    bytes: u64,
    /// Of its leaves, if all have as many. Larger ones are several of them then.
    leaf_bytes: Option<u64>,
    /// Lanes read different rows somewhere.
    gathered: bool,
}

/// Where a leaf is that all lanes access.
enum Place {
    /// Side by side, at this address.
    Row(Value),
    /// At these addresses, or in one of the object's rows: of how many, and each lane's offset in bytes.
    Lanes { addresses: Value, offsets: Value, rows: Option<Rows> },
}

/// All rows of an object, where its leaves are alike.
#[derive(Clone, Copy)]
struct Rows {
    count: u64,
    /// Registers that they take.
    vectors: u64,
}

fn most(memory: Scalar) -> u64 {
    if memory.bytes() < 4 { MOST_NARROW } else { MOST }
}

impl Object {
    /// The objects of a variable.
    pub fn new(this: &Lowerer<'_, '_>, variable: Id, pointee: TypeId, base: Value) -> Object {
        let private = &this.a.private;
        Object {
            base,
            bytes: this.a.func.module.types.layout(pointee).size,
            leaf_bytes: private.leaf_bytes.get(&variable).copied(),
            gathered: private.gathered.contains(&variable),
        }
    }

    /// The address of what begins at an offset in the object of the only lane.
    pub fn only(&self, this: &Lowerer<'_, '_>, offset: Reg) -> Value {
        this.b.offset(self.base, this.vector(offset))
    }

    /// Loads the leaf at `offset + leaf` of each lane's object, for lanes that are on.
    pub fn load(&self, this: &Lowerer<'_, '_>, offset: Reg, leaf: u64, memory: Scalar) -> Value {
        let Some((part, whole)) = self.parts(memory) else {
            return self.load_one(this, offset, leaf, memory);
        };
        let starts = (0..memory.bytes()).step_by(part.bytes() as usize);
        let parts = starts.map(|at| (at, self.load_one(this, offset, leaf + at, part)));
        this.b.cast(Opcode::LLVMBitCast, this.b.of_bytes(whole, parts), memory)
    }

    /// Stores to that leaf, for lanes that are on.
    pub fn store(&self, this: &Lowerer<'_, '_>, offset: Reg, leaf: u64, memory: Scalar, value: Value) {
        let Some((part, whole)) = self.parts(memory) else {
            return self.store_one(this, offset, leaf, memory, value);
        };
        let bits = this.b.cast(Opcode::LLVMBitCast, value, whole);
        for at in (0..memory.bytes()).step_by(part.bytes() as usize) {
            self.store_one(this, offset, leaf + at, part, this.b.bytes_from(bits, at, part));
        }
    }

    /// The integer that is a leaf of the object, and the one of as many bytes as `memory`, if that is several leaves.
    fn parts(&self, memory: Scalar) -> Option<(Scalar, Scalar)> {
        let bytes = self.leaf_bytes.filter(|bytes| *bytes < memory.bytes())?;
        Some((Scalar::int(8 * bytes as u32)?, Scalar::int(8 * memory.bytes() as u32)?))
    }

    fn load_one(&self, this: &Lowerer<'_, '_>, offset: Reg, leaf: u64, memory: Scalar) -> Value {
        let b = &this.b;
        match self.place(this, offset, leaf, memory) {
            Place::Row(address) => b.load(memory, this.w, address, memory.bytes()),
            Place::Lanes { offsets, rows: Some(rows), .. } if rows.vectors <= most(memory) => {
                let all = (0..rows.count).map(|row| (row, self.load_row(this, row, memory)));
                let chosen = all.reduce(|(_, other), (row, value)| {
                    (row, b.select(self.is_in_row(this, offsets, row, memory), value, other))
                });
                chosen.expect("an object that is accessed has a leaf").1
            }
            Place::Lanes { addresses, .. } => narrow::gather(this, memory, addresses, memory.bytes()),
        }
    }

    fn store_one(&self, this: &Lowerer<'_, '_>, offset: Reg, leaf: u64, memory: Scalar, value: Value) {
        let b = &this.b;
        // A blend instead of a masked store: the memory is ours, and SROA sees through it.
        let blend = |mask: Value, address: Value| {
            let old = b.load(memory, this.w, address, memory.bytes());
            b.store(b.select(mask, value, old), address, memory.bytes());
        };
        match (self.place(this, offset, leaf, memory), this.blended()) {
            (Place::Row(address), Mask::All) => b.store(value, address, memory.bytes()),
            (Place::Row(address), Mask::Lanes(mask)) => blend(mask, address),
            (Place::Lanes { offsets, rows: Some(rows), .. }, on)
                if rows.vectors <= self.most_written(memory) =>
            {
                for row in 0..rows.count {
                    let here = self.is_in_row(this, offsets, row, memory);
                    let mask = match on {
                        Mask::All => here,
                        Mask::Lanes(mask) => b.and(mask, here),
                    };
                    blend(mask, self.row(this, row, memory));
                }
            }
            (Place::Lanes { addresses, .. }, _) => {
                b.scatter(value, addresses, memory.bytes(), this.mask_vector());
            }
        }
    }

    fn most_written(&self, memory: Scalar) -> u64 {
        let of_any = most(memory);
        if self.gathered { of_any } else { of_any.max(MOST_READ_BY_ROWS) }
    }

    fn place(&self, this: &Lowerer<'_, '_>, offset: Reg, leaf: u64, memory: Scalar) -> Place {
        let (b, w) = (&this.b, u64::from(this.w));
        let base = b.offset_const(self.base, leaf * w);
        match offset.scalar() {
            Some(scalar) if offset.is_uniform() || w == 1 => {
                return Place::Row(b.offset(base, b.mul(scalar, b.i64(w))));
            }
            _ => {}
        }
        // Offsets beyond the object mean nothing, and gathers and scatters take twice as many indices of 32 bits at once.
        let index = if self.bytes * w < 1 << 31 { Scalar::I32 } else { Scalar::I64 };
        let offsets = b.sext_or_trunc(this.vector(offset), index);
        let first = b.mul(offsets, b.int(index, this.w, w));
        let lanes = b.steps(index, this.w, memory.bytes() as i64);
        let addresses = b.offset(base, b.sext_or_trunc(b.add(first, lanes), Scalar::I64));
        let offsets = b.add(offsets, b.int(index, this.w, leaf));
        let rows = (self.leaf_bytes == Some(memory.bytes())).then(|| {
            let count = self.bytes / memory.bytes();
            let register = u64::from(this.target.simd_bits() / 8);
            Rows { count, vectors: count.saturating_mul((w * memory.bytes()).div_ceil(register)) }
        });
        Place::Lanes { addresses, offsets, rows }
    }

    /// The address of one of the rows of an object whose leaves are all like this one.
    fn row(&self, this: &Lowerer<'_, '_>, row: u64, memory: Scalar) -> Value {
        this.b.offset_const(self.base, row * memory.bytes() * u64::from(this.w))
    }

    fn load_row(&self, this: &Lowerer<'_, '_>, row: u64, memory: Scalar) -> Value {
        this.b.load(memory, this.w, self.row(this, row, memory), memory.bytes())
    }

    /// The lanes whose offset is that of the row.
    fn is_in_row(&self, this: &Lowerer<'_, '_>, offsets: Value, row: u64, memory: Scalar) -> Value {
        let b = &this.b;
        let of_row = b.int(b.scalar_of(offsets), this.w, row * memory.bytes());
        b.icmp(IntPred::LLVMIntEQ, offsets, of_row)
    }
}
