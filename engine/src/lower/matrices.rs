//! Matrices of sub-groups (`SPV_KHR_cooperative_matrix`): each element of a value is a vector with an element of the matrix
//! in each lane, a row of it where it has as many columns as there are lanes (`spirv_env::Matrix`).
//!
//! Products of them are `products`.

use super::Lowerer;
use super::builder::{Builder, IntPred, Opcode, Value};
use super::products;
use super::values::{Mask, Reg, Val};
use crate::analysis::leaves::Scalar;
use crate::error::EngineError;
use rustc_hash::FxHashMap;
use smallvec::smallvec;
use spirv::{CooperativeMatrixUse, Op};
use spirv_env::{Id, Inst, Matrix, Type, TypeId, own_opcodes};

pub fn lower(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Option<Val>, EngineError> {
    match inst.op {
        Op::CooperativeMatrixLengthKHR => {
            let leaves = this.leaves(inst.ty.expect("a length has a type"))?;
            Ok(Some(smallvec![Reg::uniform(this.b.int(leaves[0].scalar, 1, inst.lit(0)))]))
        }
        Op::CooperativeMatrixLoadKHR | own_opcodes::LOAD_CHECKED | own_opcodes::LOAD_OFFSET => {
            load(this, inst).map(Some)
        }
        Op::CooperativeMatrixStoreKHR | own_opcodes::STORE_CHECKED | own_opcodes::STORE_OFFSET => {
            store(this, inst).map(|()| None)
        }
        own_opcodes::CONSTRUCT_CHECKED => construct(this, inst).map(Some),
        own_opcodes::GET_ELEMENT_COORD => coordinate(this, inst).map(Some),
        Op::CooperativeMatrixMulAddKHR => products::multiply_add(this, inst).map(Some),
        Op::SubgroupMatrixMultiplyAccumulateINTEL => products::multiply_accumulate(this, inst).map(Some),
        Op::Subgroup2DBlockLoadINTEL
        | Op::Subgroup2DBlockLoadTransformINTEL
        | Op::Subgroup2DBlockLoadTransposeINTEL
        | Op::Subgroup2DBlockStoreINTEL => super::block_io::lower(this, inst),
        _ => Err(this.no_lowering(inst)),
    }
}

/// The matrix that a type is, of sub-groups of the size that code is made for.
pub(super) fn matrix(this: &Lowerer<'_, '_>, ty: Option<TypeId>) -> Result<Matrix, EngineError> {
    let matrix = ty.and_then(|ty| this.a.func.module.types.matrix(ty)).copied();
    match matrix {
        Some(matrix) if matrix.lanes == this.w => Ok(matrix),
        Some(matrix) => {
            Err(this.unsupported(format!("a matrix of sub-groups of {} in one of {}", matrix.lanes, this.w)))
        }
        None => Err(this.unsupported("a matrix instruction without a matrix".into())),
    }
}

/// `MemoryLayout` of loads and stores.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    Rows,
    Columns,
    /// As many rows as fit 32 bits are interleaved.
    Packed(u32),
}

impl Layout {
    fn of(number: u64, matrix: &Matrix, bytes: u64) -> Layout {
        const WORD: u64 = 4;
        match number {
            0 => Layout::Rows,
            1 => Layout::Columns,
            // What is packed is the product's depth, along which the rows of A lie as they are.
            _ if matrix.usage == CooperativeMatrixUse::MatrixAKHR || bytes >= WORD => Layout::Rows,
            _ => Layout::Packed((WORD / bytes) as u32),
        }
    }

    /// An address so many rows and columns behind another; `stride` is in bytes.
    fn behind(self, b: &Builder, base: Value, stride: Value, bytes: u64, place: (Value, Value)) -> Value {
        let (row, column) = place;
        let (strides, elements) = match self {
            Layout::Rows => (row, column),
            Layout::Columns => (column, row),
            Layout::Packed(rows) => {
                let rows = b.i64(u64::from(rows));
                let first = b.bin(Opcode::LLVMSDiv, row, rows);
                (first, b.add(b.mul(column, rows), b.sub(row, b.mul(first, rows))))
            }
        };
        b.offset(base, b.add(b.mul(strides, stride), b.mul(elements, b.i64(bytes))))
    }

    /// Strides in front of an element, and elements in front of it there.
    fn place(self, row: u32, column: u32) -> (u32, u32) {
        match self {
            Layout::Rows => (row, column),
            Layout::Columns => (column, row),
            Layout::Packed(rows) => (row / rows, column * rows + row % rows),
        }
    }
}

/// Which part of a larger matrix is there: its place, and the larger one's height and width. All are scalars of 64 bits.
struct Bounds {
    row: Value,
    column: Value,
    height: Value,
    width: Value,
}

impl Bounds {
    fn new(
        this: &mut Lowerer<'_, '_>,
        inst: &Inst,
        [row, column]: [usize; 2],
        [height, width]: [usize; 2],
    ) -> Result<Bounds, EngineError> {
        let mut number = |at: usize| {
            let reg = this.leaf(inst.id(at))?;
            Ok::<Value, EngineError>(this.b.sext_or_trunc(this.same(reg), Scalar::I64))
        };
        Ok(Bounds {
            row: number(row)?,
            column: number(column)?,
            height: number(height)?,
            width: number(width)?,
        })
    }

    /// Which lanes' elements are inside; numbers below 0 are large.
    fn inside(&self, b: &Builder, places: &[Option<(u32, u32)>]) -> Value {
        let lanes = places.len() as u32;
        let known = || places.iter().map(|place| place.unwrap_or_default());
        let rows = b.int_vector(Scalar::I64, known().map(|(row, _)| u64::from(row)));
        let columns = b.int_vector(Scalar::I64, known().map(|(_, column)| u64::from(column)));
        let below = |first: Value, more: Value, end: Value| {
            b.icmp(IntPred::LLVMIntULT, b.add(b.splat(first, lanes), more), b.splat(end, lanes))
        };
        b.and(below(self.row, rows, self.height), below(self.column, columns, self.width))
    }
}

/// A matrix in memory.
struct InMemory {
    bounds: Option<Bounds>,
    matrix: Matrix,
    layout: Layout,
    base: Value,
    /// In bytes.
    stride: Value,
    scalar: Scalar,
    /// What is moved: the integer of the scalar's width.
    unit: Scalar,
    /// Whether any lane is on, where that is not known.
    on: Option<Value>,
    strides: FxHashMap<u32, Value>,
}

impl InMemory {
    fn new(this: &mut Lowerer<'_, '_>, inst: &Inst, ty: Option<TypeId>) -> Result<InMemory, EngineError> {
        let matrix = matrix(this, ty)?;
        let access = inst.matrix_access().ok_or_else(|| this.no_lowering(inst))?;
        let scalar = this.leaves(matrix.component)?[0].scalar;
        let number = this.a.func.constant_bits(inst.id(access.layout));
        let number = number.ok_or_else(|| this.unsupported("a layout that is no constant".into()))?;
        let layout = Layout::of(number, &matrix, scalar.bytes());
        let pointer = this.leaf(inst.id(0))?;
        let mut base = this.same(pointer);
        let stride = this.leaf(inst.id(access.stride))?;
        let stride = this.b.sext_or_trunc(this.same(stride), Scalar::I64);
        let each = unit_of_stride(this, inst.id(0), scalar.bytes());
        let stride = this.b.mul(stride, this.b.i64(each));
        let mut bounds = None;
        if let Some(place) = access.place {
            // Without extents there is nothing outside of them: what is compared is not used.
            let found = Bounds::new(this, inst, place, access.extents.unwrap_or(place))?;
            base = layout.behind(&this.b, base, stride, scalar.bytes(), (found.row, found.column));
            bounds = access.extents.map(|_| found);
        }
        let on = match this.mask() {
            Mask::Lanes(mask) if this.w > 1 => Some(this.b.any(mask)),
            _ => None,
        };
        let unit = Scalar::int(scalar.bits()).expect("components have integer widths");
        Ok(InMemory { bounds, matrix, layout, base, stride, scalar, unit, on, strides: FxHashMap::default() })
    }

    /// The lanes that access memory, of those whose element is one of the matrix; none where all do.
    fn mask(&self, b: &Builder, element: u32) -> Option<Value> {
        let lanes = self.matrix.lanes;
        let places: Vec<_> = (0..lanes).map(|lane| self.matrix.place(element, lane)).collect();
        let inside = self.bounds.as_ref().map(|bounds| bounds.inside(b, &places));
        match (inside, self.on.map(|on| b.splat(on, lanes))) {
            (Some(inside), Some(on)) => Some(b.and(inside, on)),
            (inside, on) => inside.or(on),
        }
    }

    /// The places of an element of all lanes.
    fn places(&self, element: u32) -> Vec<Option<(u32, u32)>> {
        let place =
            |lane| self.matrix.place(element, lane).map(|(row, column)| self.layout.place(row, column));
        (0..self.matrix.lanes).map(place).collect()
    }

    fn address(&mut self, b: &Builder, (strides, elements): (u32, u32)) -> Value {
        let (base, stride) = (self.base, self.stride);
        let of_stride = self.strides.entry(strides).or_insert_with(|| match strides {
            0 => base,
            _ => b.offset(base, b.mul(stride, b.i64(u64::from(strides)))),
        });
        b.offset_const(*of_stride, u64::from(elements) * self.unit.bytes())
    }

    /// One address a lane, and whether there is something.
    fn addresses(&self, b: &Builder, places: &[Option<(u32, u32)>], mask: Option<Value>) -> (Value, Value) {
        let lanes = places.len() as u32;
        let known = || places.iter().map(|place| place.unwrap_or_default());
        let strides = b.int_vector(Scalar::I64, known().map(|(strides, _)| u64::from(strides)));
        let bytes = self.unit.bytes();
        let offsets = b.int_vector(Scalar::I64, known().map(|(_, elements)| u64::from(elements) * bytes));
        let offsets = b.add(b.mul(b.splat(self.stride, lanes), strides), offsets);
        let there = b.int_vector(Scalar::Bool, places.iter().map(|place| u64::from(place.is_some())));
        let mask = mask.map_or(there, |mask| b.and(there, mask));
        (b.offset(self.base, offsets), mask)
    }
}

/// Bytes that a stride counts: elements of the pointee's type, and of the matrix where that is a byte, to which
/// compilers cast their pointers.
fn unit_of_stride(this: &Lowerer<'_, '_>, pointer: Id, component: u64) -> u64 {
    let types = &this.a.func.module.types;
    match this.a.func.type_of(pointer).map(|ty| types.get(ty)) {
        Some(Type::Pointer { pointee, .. }) if types.layout(*pointee).size > 1 => types.layout(*pointee).size,
        _ => component,
    }
}

/// Lanes that begin at multiples of this many lie one behind the other.
fn run(places: &[Option<(u32, u32)>]) -> usize {
    let follows = |pair: &[Option<(u32, u32)>]| match pair {
        [Some((a, x)), Some((b, y))] => a == b && x + 1 == *y,
        _ => false,
    };
    let mut run = places.len();
    let in_runs = |run: usize| {
        places.chunks(run).all(|chunk| chunk.iter().all(Option::is_some) && chunk.windows(2).all(follows))
    };
    while run > 1 && !in_runs(run) {
        run /= 2;
    }
    run
}

/// Runs of fewer lanes are not worth putting together.
const SHORT: usize = 4;

fn load(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Val, EngineError> {
    let mut memory = InMemory::new(this, inst, inst.ty)?;
    let b = this.b.clone();
    let length = memory.matrix.length();
    let mut found: Vec<Option<Value>> = vec![None; length as usize];
    for element in 0..length {
        if found[element as usize].is_some() {
            continue;
        }
        if unpack(&b, &mut memory, element, &mut found) {
            continue;
        }
        found[element as usize] = Some(load_element(&b, &mut memory, element));
    }
    let found = found.into_iter().flatten();
    Ok(found.map(|value| this_lanes(this, b.reinterpret(value, memory.scalar))).collect())
}

/// What lanes hold, as a value of this width.
pub(super) fn this_lanes(this: &Lowerer<'_, '_>, value: Value) -> Reg {
    if this.w == 1 { Reg::uniform(value) } else { Reg::varying(value) }
}

fn load_element(b: &Builder, memory: &mut InMemory, element: u32) -> Value {
    let places = memory.places(element);
    let (lanes, unit, mask) = (places.len() as u32, memory.unit, memory.mask(b, element));
    let run = run(&places);
    match (places[0], mask) {
        (Some(first), None) if lanes == 1 => b.load(unit, 1, memory.address(b, first), unit.bytes()),
        (Some(first), Some(mask)) if lanes == 1 => {
            let address = memory.address(b, first);
            b.branch(mask, || b.load(unit, 1, address, unit.bytes()), || b.zero(unit, 1))
        }
        (Some(first), None) if run == places.len() => {
            b.load(unit, lanes, memory.address(b, first), unit.bytes())
        }
        (Some(first), Some(mask)) if run == places.len() => {
            b.masked_load(unit, lanes, memory.address(b, first), unit.bytes(), mask)
        }
        (Some(_), None) if run >= SHORT => {
            let firsts = places.iter().step_by(run).flatten();
            let mut parts: Vec<Value> = firsts
                .map(|first| b.load(unit, run as u32, memory.address(b, *first), unit.bytes()))
                .collect();
            while parts.len() > 1 {
                let both: Vec<i32> = (0..2 * b.lanes(parts[0]) as i32).collect();
                parts = parts.chunks(2).map(|pair| b.shuffle(pair[0], pair[1], &both)).collect();
            }
            parts[0]
        }
        _ => {
            let (addresses, mask) = memory.addresses(b, &places, mask);
            b.gather(unit, addresses, unit.bytes(), mask)
        }
    }
}

/// The elements of rows that are interleaved, where they fill a vector each; `element` is the first row's.
fn unpack(b: &Builder, memory: &mut InMemory, element: u32, found: &mut [Option<Value>]) -> bool {
    let Matrix { rows, columns, lanes, .. } = memory.matrix;
    let Layout::Packed(packed) = memory.layout else { return false };
    let fits = lanes > 1
        && columns.is_multiple_of(lanes)
        && rows.is_multiple_of(packed)
        && memory.on.is_none()
        && memory.bounds.is_none();
    let Some((row, column)) = memory.matrix.place(element, 0).filter(|_| fits) else { return false };
    let address = memory.address(b, memory.layout.place(row, column));
    let all = b.load(memory.unit, lanes * packed, address, memory.unit.bytes());
    for at in 0..packed {
        let indices: Vec<i32> = (0..lanes).map(|lane| (lane * packed + at) as i32).collect();
        let (holder, _) = memory.matrix.holder(row + at, column);
        found[holder as usize] = Some(b.shuffle(all, b.poison(memory.unit, lanes * packed), &indices));
    }
    true
}

fn store(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<(), EngineError> {
    let object = inst.matrix_access().and_then(|access| access.object);
    let object = inst.id(object.ok_or_else(|| this.no_lowering(inst))?);
    let mut memory = InMemory::new(this, inst, this.a.func.type_of(object))?;
    let b = this.b.clone();
    for (element, reg) in this.value(object)?.into_iter().enumerate() {
        let value = b.reinterpret(this.vector(reg), memory.unit);
        store_element(&b, &mut memory, value, element as u32);
    }
    Ok(())
}

fn store_element(b: &Builder, memory: &mut InMemory, value: Value, element: u32) {
    let places = memory.places(element);
    let (lanes, align, mask) = (places.len() as u32, memory.unit.bytes(), memory.mask(b, element));
    let run = run(&places);
    match (places[0], mask) {
        (Some(first), None) if lanes == 1 => b.store(value, memory.address(b, first), align),
        (Some(first), Some(mask)) if lanes == 1 => {
            let address = memory.address(b, first);
            let store = || {
                b.store(value, address, align);
                b.i32(0)
            };
            b.branch(mask, store, || b.i32(0));
        }
        (Some(first), None) if run == places.len() => b.store(value, memory.address(b, first), align),
        (Some(first), Some(mask)) if run == places.len() => {
            b.masked_store(value, memory.address(b, first), align, mask);
        }
        (Some(_), None) if run >= SHORT => {
            for (at, first) in places.iter().enumerate().step_by(run) {
                let Some(first) = *first else { continue };
                let indices: Vec<i32> = (at..at + run).map(|lane| lane as i32).collect();
                let part = b.shuffle(value, b.poison(memory.unit, lanes), &indices);
                b.store(part, memory.address(b, first), align);
            }
        }
        _ => {
            let (addresses, mask) = memory.addresses(b, &places, mask);
            b.scatter(value, addresses, align, mask);
        }
    }
}

/// A value in the elements that are inside of a larger matrix, and zeros.
fn construct(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Val, EngineError> {
    const VALUE: usize = 4;
    let matrix = matrix(this, inst.ty)?;
    let bounds = Bounds::new(this, inst, [0, 1], [2, 3])?;
    let value = this.leaf(inst.id(VALUE))?;
    let (b, value) = (this.b.clone(), this.vector(value));
    let zero = b.zero(b.scalar_of(value), this.w);
    let element = |element: u32| {
        let places: Vec<_> = (0..matrix.lanes).map(|lane| matrix.place(element, lane)).collect();
        b.select(bounds.inside(&b, &places), value, zero)
    };
    Ok((0..matrix.length()).map(|at| this_lanes(this, element(at))).collect())
}

/// Row and column of an element that a work-item has: its number among all elements, divided by the length of a row.
fn coordinate(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Val, EngineError> {
    let matrix = matrix(this, this.a.func.type_of(inst.id(0)))?;
    let element = this.leaf(inst.id(1))?;
    let b = this.b.clone();
    let element = b.zext_or_trunc(this.vector(element), Scalar::I32);
    let number = |value: u32| b.int(Scalar::I32, this.w, u64::from(value));
    let lane = if this.w == 1 { b.i32(0) } else { b.lane_numbers(Scalar::I32) };
    let at = b.add(b.mul(element, number(matrix.lanes)), lane);
    let row = b.bin(Opcode::LLVMUDiv, at, number(matrix.columns));
    let column = b.sub(at, b.mul(row, number(matrix.columns)));
    Ok([row, column].into_iter().map(|value| this_lanes(this, value)).collect())
}
