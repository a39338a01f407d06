//! Blocks of memory with two dimensions (`SPV_INTEL_2d_block_io`): where each lane's elements are is known but for where the
//! block begins, so an element of all lanes is a row of memory, or a gather.

use super::Lowerer;
use super::builder::{Builder, IntPred, Opcode, Value};
use super::values::{Mask, Reg, Val};
use crate::analysis::leaves::Scalar;
use crate::error::EngineError;
use spirv::Op;
use spirv_env::{Arrangement, Block, Inst};

/// Operands behind the four sizes.
mod place {
    pub const MEMORY: usize = 4;
    pub const WIDTH: usize = 5;
    pub const HEIGHT: usize = 6;
    pub const PITCH: usize = 7;
    pub const COORDINATE: usize = 8;
    pub const VALUE: usize = 9;
}

pub fn lower(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Option<Val>, EngineError> {
    let block = inst.block(this.a.func.module);
    let block = block.ok_or_else(|| this.unsupported("a block of sizes that are no constants".into()))?;
    let lanes = this.a.func.module.matrix_lanes;
    if lanes != Some(this.w) {
        return Err(this.unsupported(format!("a block of sub-groups of {lanes:?} in one of {}", this.w)));
    }
    let moving = Moving::new(this, inst, block)?;
    if inst.op != Op::Subgroup2DBlockStoreINTEL {
        return Ok(Some(moving.load(this)));
    }
    for (at, reg) in this.value(inst.id(place::VALUE))?.into_iter().enumerate() {
        let value = this.vector(reg);
        let (rows, count) = (moving.elements(at as u32, 0), moving.lanes());
        moving.store(&this.b, value, &rows, count);
    }
    Ok(None)
}

/// A block on its way, and where it is. All values are scalars of 64 bits.
struct Moving {
    block: Block,
    arrangement: Arrangement,
    base: Value,
    width: Value,
    height: Value,
    pitch: Value,
    /// Of the first element, in bytes and in rows.
    x: Value,
    y: Value,
    /// Whether any lane is on, where that is not known.
    on: Option<Value>,
    w: u32,
}

/// Columns of all blocks together, and rows, of an element of each lane.
type Elements = Vec<Option<(u32, u32)>>;

impl Moving {
    fn new(this: &mut Lowerer<'_, '_>, inst: &Inst, block: Block) -> Result<Moving, EngineError> {
        let pointer = this.leaf(inst.id(place::MEMORY))?;
        let base = this.same(pointer);
        let mut extent = |at: usize| {
            let reg = this.leaf(inst.id(at))?;
            Ok::<Value, EngineError>(this.b.zext_or_trunc(this.same(reg), Scalar::I64))
        };
        let (width, height, pitch) = (extent(place::WIDTH)?, extent(place::HEIGHT)?, extent(place::PITCH)?);
        let coordinate = this.value(inst.id(place::COORDINATE))?;
        let signed = |reg: Reg| this.b.sext_or_trunc(this.same(reg), Scalar::I64);
        let (x, y) = (signed(coordinate[0]), signed(coordinate[1]));
        let x = this.b.mul(x, this.b.i64(u64::from(block.bytes)));
        let on = match this.mask() {
            Mask::Lanes(mask) if this.w > 1 => Some(this.b.any(mask)),
            _ => None,
        };
        let arrangement = Arrangement::of(inst.op);
        Ok(Moving { block, arrangement, base, width, height, pitch, x, y, on, w: this.w })
    }

    fn lanes(&self) -> u32 {
        self.w
    }

    /// The elements of all lanes at a place of what a work-item has; of those that are packed there the one `below` rows
    /// behind the first.
    fn elements(&self, at: u32, below: u32) -> Elements {
        let each = self.block.elements(self.arrangement, self.w);
        let (number, element) = (at / each, at % each);
        (0..self.w)
            .map(|lane| {
                let (column, row) = self.block.place(self.arrangement, self.w, element, lane)?;
                let row = row + below;
                (row < self.block.height).then_some((column + number * self.block.width, row))
            })
            .collect()
    }

    fn unit(&self) -> Scalar {
        Scalar::int(8 * self.block.bytes).expect("elements have widths of integers")
    }

    /// Offsets from the memory's beginning, and which of them are in bounds.
    fn offsets(&self, b: &Builder, elements: &Elements) -> (Value, Value) {
        let lanes = elements.len() as u32;
        let known = || elements.iter().map(|place| place.unwrap_or_default());
        let bytes = u64::from(self.block.bytes);
        let columns = b.int_vector(Scalar::I64, known().map(|(column, _)| u64::from(column) * bytes));
        let rows = b.int_vector(Scalar::I64, known().map(|(_, row)| u64::from(row)));
        let all = |value: Value| b.splat(value, lanes);
        let (x, y) = (b.add(all(self.x), columns), b.add(all(self.y), rows));
        // A coordinate below 0 is large: whole elements are below it.
        let last = b.add(x, b.int(Scalar::I64, lanes, bytes - 1));
        let inside = b.and(
            b.icmp(IntPred::LLVMIntULT, last, all(self.width)),
            b.icmp(IntPred::LLVMIntULT, y, all(self.height)),
        );
        let there = b.int_vector(Scalar::Bool, elements.iter().map(|place| u64::from(place.is_some())));
        let mask = b.and(inside, there);
        let mask = self.on.map_or(mask, |on| b.and(mask, all(on)));
        (b.add(b.mul(y, all(self.pitch)), x), mask)
    }

    /// Whether the lanes' elements are one row of memory.
    fn is_row(elements: &Elements) -> bool {
        elements.windows(2).all(|pair| match pair {
            [Some((a, row)), Some((b, other))] => a + 1 == *b && row == other,
            _ => false,
        })
    }

    fn load(&self, this: &Lowerer<'_, '_>) -> Val {
        let b = &*this.b;
        let packed = match self.arrangement {
            Arrangement::Packed => self.block.packed_rows(),
            _ => 1,
        };
        let result = Scalar::int(8 * self.block.bytes * packed).expect("words are integers");
        let each = self.block.elements(self.arrangement, self.w);
        (0..self.block.count * each)
            .map(|at| {
                let mut whole = b.zero(result, self.w);
                for below in 0..packed {
                    let part = b.zext_or_trunc(self.load_element(b, &self.elements(at, below)), result);
                    let shift = b.int(result, self.w, u64::from(8 * self.block.bytes * below));
                    whole = if below == 0 { part } else { b.or(whole, b.bin(Opcode::LLVMShl, part, shift)) };
                }
                this.lanes(whole)
            })
            .collect()
    }

    fn load_element(&self, b: &Builder, elements: &Elements) -> Value {
        let (unit, align) = (self.unit(), self.unit().bytes());
        let (offsets, mask) = self.offsets(b, elements);
        if self.w == 1 {
            let load = || b.load(unit, 1, b.offset(self.base, offsets), align);
            return b.branch(mask, load, || b.zero(unit, 1));
        }
        if Self::is_row(elements) {
            let address = b.offset(self.base, b.extract(offsets, b.i32(0)));
            return b.masked_load(unit, self.w, address, align, mask);
        }
        b.gather(unit, b.offset(self.base, offsets), align, mask)
    }

    fn store(&self, b: &Builder, value: Value, elements: &Elements, lanes: u32) {
        let align = self.unit().bytes();
        let (offsets, mask) = self.offsets(b, elements);
        if lanes == 1 {
            b.branch(
                mask,
                || {
                    b.store(value, b.offset(self.base, offsets), align);
                    b.i32(0)
                },
                || b.i32(0),
            );
        } else if Self::is_row(elements) {
            let address = b.offset(self.base, b.extract(offsets, b.i32(0)));
            b.masked_store(value, address, align, mask);
        } else {
            b.scatter(value, b.offset(self.base, offsets), align, mask);
        }
    }
}
