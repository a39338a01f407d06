//! Products of matrices of sub-groups: of their values (`SPV_KHR_cooperative_matrix`), and of what work-items hold in vectors
//! (`SPV_INTEL_subgroup_matrix_multiply_accumulate`), which says which element is where.
//!
//! Numbers of 16 bits are multiplied and added as f32 and rounded once at the end. Small integers are taken in words of two
//! or four steps, whose products one instruction multiplies and adds (`dot::Dots`).

use super::Lowerer;
use super::builder::{Builder, Opcode, Value};
use super::conversion;
use super::dot::Dots;
use super::matrices::{matrix, this_lanes};
use super::outer_products::{Product, Source};
use super::values::Val;
use crate::analysis::leaves::Scalar;
use crate::error::EngineError;
use spirv_env::Inst;
use spirv_env::opcodes::{DotFlags, MatrixFlags};

/// How a component's bits are read and written where its type does not say it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reading {
    Plain,
    Signed,
    BFloat16,
    Tf32,
}

/// A number as products compute with it.
fn widened(b: &Builder, value: Value, reading: Reading, to: Scalar) -> Value {
    /// What TF32 has of an f32's bits.
    const TF32: u64 = 0xFFFF_E000;
    let from = b.scalar_of(value);
    match reading {
        Reading::BFloat16 => {
            let float = conversion::from_bfloat16(b, b.reinterpret(value, Scalar::I16));
            conversion::float_to_float(b, float, to, spirv::FPRoundingMode::RTE)
        }
        Reading::Tf32 => {
            let bits = b.reinterpret(value, Scalar::I32);
            b.reinterpret(b.and(bits, b.int(Scalar::I32, b.lanes(bits), TF32)), Scalar::F32)
        }
        _ if from.is_float() => b.cast_float(value, to),
        Reading::Signed => b.sext_or_trunc(value, to),
        Reading::Plain => b.zext_or_trunc(value, to),
    }
}

/// A result in its own type.
fn narrowed(b: &Builder, value: Value, reading: Reading, to: Scalar) -> Value {
    match reading {
        Reading::BFloat16 => {
            let float = conversion::float_to_float(b, value, Scalar::F32, spirv::FPRoundingMode::RTE);
            b.reinterpret(conversion::to_bfloat16(b, float), to)
        }
        _ if to.is_float() => b.cast_float(value, to),
        _ => value,
    }
}

/// What a product of these types is computed in.
fn computed_in(scalars: &[Scalar], bfloat16: bool, result: Scalar) -> Scalar {
    match () {
        () if scalars.contains(&Scalar::F64) => Scalar::F64,
        () if bfloat16 || result.is_float() => Scalar::F32,
        () => result,
    }
}

pub(super) fn multiply_add(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Val, EngineError> {
    let flags = inst.matrix_flags();
    let result = matrix(this, inst.ty)?;
    let mut matrices = [result; 3];
    for (at, of) in matrices.iter_mut().enumerate() {
        *of = matrix(this, this.a.func.type_of(inst.id(at)))?;
    }
    let [left, right, added] = matrices;
    let mut scalars = [Scalar::I32; 4];
    for (scalar, of) in scalars.iter_mut().zip([left, right, added, result]) {
        *scalar = this.leaves(of.component)?[0].scalar;
    }
    let has = |flag| flags.contains(flag);
    let of_input = |signed| match () {
        () if has(MatrixFlags::INPUTS_BFLOAT16) => Reading::BFloat16,
        () if has(MatrixFlags::INPUTS_TF32) => Reading::Tf32,
        () if has(signed) => Reading::Signed,
        () => Reading::Plain,
    };
    let of_sum = |bfloat16, signed| match () {
        () if has(bfloat16) => Reading::BFloat16,
        () if has(signed) => Reading::Signed,
        () => Reading::Plain,
    };
    let readings = [
        of_input(MatrixFlags::A_SIGNED),
        of_input(MatrixFlags::B_SIGNED),
        of_sum(MatrixFlags::C_BFLOAT16, MatrixFlags::C_SIGNED),
        of_sum(MatrixFlags::RESULT_BFLOAT16, MatrixFlags::RESULT_SIGNED),
    ];
    let computed = computed_in(&scalars, readings.contains(&Reading::BFloat16), scalars[3]);
    let b = this.b.clone();
    let signed = [0, 1].map(|at: usize| readings[at] == Reading::Signed);
    let dots = match computed {
        Scalar::I32 => Dots::of(this.target, this.w, [0, 1].map(|at: usize| scalars[at].bits()), signed),
        _ => None,
    };
    let mut operands = Vec::new();
    for (at, reading) in readings[..3].iter().enumerate() {
        let val = this.value(inst.id(at))?;
        let vectors = val.into_iter().map(|reg| match dots {
            Some(dots) if at < 2 => dots.prepared(&b, this.vector(reg), at),
            _ => widened(&b, this.vector(reg), *reading, computed),
        });
        operands.push(vectors.collect::<Vec<Value>>());
    }
    let [x, y, added] = <[Vec<Value>; 3]>::try_from(operands).expect("there are three operands");
    let places: Vec<Vec<(u32, u32)>> = (0..result.length())
        .map(|element| (0..this.w).map(|lane| result.place(element, lane).unwrap_or_default()).collect())
        .collect();
    let (of_left, of_right) =
        (|row, column| left.holder(row, column), |row, column| right.holder(row, column));
    let sources = [Source::new(x, &of_left), Source::new(y, &of_right)];
    let saturates = has(MatrixFlags::SATURATING) && !computed.is_float();
    let mut sums = match saturates {
        true => vec![b.zero(computed, this.w); added.len()],
        false => added.clone(),
    };
    let product = Product::new(left.columns, dots, sources, &places);
    // Many products in a row are too much for LLVM's scheduling, and registers are spilled.
    let products =
        this.a.func.blocks[this.current_block()].insts.iter().filter(|other| other.op == inst.op).count();
    product.add_to(this, &mut sums, products);
    if saturates {
        let signed = has(MatrixFlags::C_SIGNED) || has(MatrixFlags::RESULT_SIGNED);
        let add = if signed { "llvm.sadd.sat" } else { "llvm.uadd.sat" };
        sums = sums.iter().zip(&added).map(|(sum, added)| b.intrinsic(add, &[*sum, *added])).collect();
    }
    let results = sums.into_iter().map(|sum| narrowed(&b, sum, readings[3], scalars[3]));
    Ok(results.map(|sum| this_lanes(this, sum)).collect())
}

/// What the components of a vector hold.
#[derive(Clone, Copy)]
struct Packing {
    /// Bits of an element.
    bits: u32,
    float: bool,
    reading: Reading,
}

impl Packing {
    fn of(flags: DotFlags, component: Scalar, left: bool) -> Packing {
        let either = |of_left: u64, of_right: u64| flags.any(if left { of_left } else { of_right });
        let integer = match either(DotFlags::A_SIGNED, DotFlags::B_SIGNED) {
            true => Reading::Signed,
            false => Reading::Plain,
        };
        let of = |bits, float, reading| Packing { bits, float, reading };
        match () {
            () if either(DotFlags::A_INT4, DotFlags::B_INT4) => of(4, false, integer),
            () if either(DotFlags::A_INT8, DotFlags::B_INT8) => of(8, false, integer),
            () if either(DotFlags::A_HALF, DotFlags::B_HALF) => of(16, true, Reading::Plain),
            () if either(DotFlags::A_BFLOAT16, DotFlags::B_BFLOAT16) => of(16, true, Reading::BFloat16),
            () if either(DotFlags::A_TF32, DotFlags::B_TF32) => of(32, true, Reading::Tf32),
            () => of(component.bits(), component.is_float(), integer),
        }
    }

    /// The number that a component is.
    fn number(&self, b: &Builder, component: Value) -> Value {
        if !self.float || b.scalar_of(component).is_float() {
            return component;
        }
        let bits = b.zext_or_trunc(component, Scalar::int(self.bits).expect("floats have integer widths"));
        match (self.bits, self.reading) {
            (16, Reading::Plain) => b.reinterpret(bits, Scalar::F16),
            (32, Reading::Plain) => b.reinterpret(bits, Scalar::F32),
            _ => bits,
        }
    }

    /// The elements of components as products compute with them.
    fn unpacked(&self, b: &Builder, components: &[Value], to: Scalar) -> Elements {
        let mut elements = Vec::new();
        let mut each = 1;
        for &component in components {
            let (from, lanes) = (b.scalar_of(component), b.lanes(component));
            if from.bits() <= self.bits {
                elements.push(widened(b, self.number(b, component), self.reading, to));
                continue;
            }
            each = from.bits() / self.bits;
            let word =
                b.reinterpret(component, Scalar::int(from.bits()).expect("floats have integer widths"));
            let int = b.scalar_of(word);
            for at in 0..each {
                let amount = |bits: u32| b.int(int, lanes, u64::from(bits));
                if self.float {
                    let bits = b.lshr(word, amount(at * self.bits));
                    let bits =
                        b.zext_or_trunc(bits, Scalar::int(self.bits).expect("floats have integer widths"));
                    let float = if self.bits == 16 { b.reinterpret(bits, Scalar::F16) } else { bits };
                    elements.push(widened(b, float, self.reading, to));
                } else {
                    let high = b.shl(word, amount(from.bits() - (at + 1) * self.bits));
                    let shift = amount(from.bits() - self.bits);
                    let signed = self.reading == Reading::Signed;
                    let element = if signed { b.ashr(high, shift) } else { b.lshr(high, shift) };
                    elements.push(widened(b, element, self.reading, to));
                }
            }
        }
        Elements { vectors: elements, each, of_lane: 1 }
    }

    /// Integers of 8 bits or fewer, as bytes.
    fn integers(&self, b: &Builder, components: &[Value]) -> Elements {
        let byte = Scalar::I8;
        if self.bits < byte.bits() {
            return self.unpacked(b, components, byte);
        }
        let each = components.first().map_or(1, |component| b.scalar_of(*component).bits() / byte.bits());
        let bytes = |component: &Value| b.reshape(*component, byte, each * b.lanes(*component));
        Elements { vectors: components.iter().map(bytes).collect(), each, of_lane: each }
    }
}

/// Elements that the components of vectors hold.
struct Elements {
    vectors: Vec<Value>,
    /// How many a component holds.
    each: u32,
    /// How many elements of a lane are in one vector, one behind the other; the others are in the next ones.
    of_lane: u32,
}

impl Elements {
    fn fill(&mut self, b: &Builder, vectors: u32) {
        let first = self.vectors[0];
        let zero = b.zero(b.scalar_of(first), b.lanes(first));
        self.vectors.resize(self.vectors.len().max(vectors as usize), zero);
    }
}

/// The vector with a lane's element, counted over all components, and where it is in that.
fn in_vectors(element: u32, lane: u32, of_lane: u32) -> (u32, u32) {
    (element / of_lane, lane * of_lane + element % of_lane)
}

pub(super) fn multiply_accumulate(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Val, EngineError> {
    let flags = inst.dot_flags();
    let depth = this.a.func.constant_bits(inst.id(0)).and_then(|depth| u32::try_from(depth).ok());
    let depth = depth.ok_or_else(|| this.unsupported("a product of a depth that is no constant".into()))?;
    let leaves = this.leaves(inst.ty.expect("a product has a type"))?;
    let (rows, result) = (leaves.len() as u32, leaves[0].scalar);
    let b = this.b.clone();
    let mut operands: Vec<Vec<Value>> = Vec::new();
    for at in 1..4 {
        let val = this.value(inst.id(at))?;
        operands.push(val.into_iter().map(|reg| this.vector(reg)).collect());
    }
    let scalars: Vec<Scalar> = operands.iter().map(|values| b.scalar_of(values[0])).chain([result]).collect();
    let packings = [true, false].map(|left| Packing::of(flags, scalars[usize::from(!left)], left));
    let bfloat16 = |flag| if flags.any(flag) { Reading::BFloat16 } else { Reading::Plain };
    let computed = computed_in(&scalars, packings[0].float, result);
    let signed = packings.each_ref().map(|packing| packing.reading == Reading::Signed);
    let dots = match computed {
        Scalar::I32 if packings.iter().all(|packing| packing.bits <= 8) => {
            Dots::of(this.target, this.w, packings.each_ref().map(|packing| packing.bits), signed)
        }
        _ => None,
    };
    let [mut left, mut right] = [0, 1].map(|at: usize| match dots {
        Some(dots) => {
            let mut elements = packings[at].integers(&b, &operands[at]);
            elements.vectors.iter_mut().for_each(|vector| *vector = dots.prepared(&b, *vector, at));
            elements
        }
        None => packings[at].unpacked(&b, &operands[at], computed),
    });
    // Lanes hold columns of A: one each, several in a component, or one of every so many rows.
    let lanes = this.w;
    let (columns, interleaved) = (depth.div_ceil(lanes), (lanes / depth).max(1));
    let (each, of_left, of_right) = (left.each, left.of_lane, right.of_lane);
    let holder = move |row: u32, k: u32| match columns {
        1 => in_vectors(row / interleaved * each, row % interleaved * depth + k, of_left),
        _ => in_vectors(row * each + k % columns, k / columns, of_left),
    };
    // What a program leaves out, which no device has, is zeros.
    let last = (0..rows).flat_map(|row| (0..depth).map(move |k| holder(row, k).0)).max().unwrap_or(0);
    left.fill(&b, last + 1);
    right.fill(&b, in_vectors(depth - 1, 0, of_right).0 + 1);
    let places: Vec<Vec<(u32, u32)>> =
        (0..rows).map(|row| (0..lanes).map(|lane| (row, lane)).collect()).collect();
    let added = bfloat16(DotFlags::C_BFLOAT16);
    let mut sums: Vec<Value> = operands[2].iter().map(|value| widened(&b, *value, added, computed)).collect();
    let of_right = |k, column| in_vectors(k, column, of_right);
    let sources = [Source::new(left.vectors, &holder), Source::new(right.vectors, &of_right)];
    Product::new(depth, dots, sources, &places).add_to(this, &mut sums, 1);
    let reading = bfloat16(DotFlags::RESULT_BFLOAT16);
    let results = sums.into_iter().map(|sum| narrowed(&b, sum, reading, result));
    Ok(results.map(|sum| this_lanes(this, sum)).collect())
}

impl Builder {
    /// A float of another width, rounded to nearest.
    fn cast_float(&self, value: Value, to: Scalar) -> Value {
        match self.scalar_of(value).bits().cmp(&to.bits()) {
            std::cmp::Ordering::Equal => value,
            std::cmp::Ordering::Less => self.cast(Opcode::LLVMFPExt, value, to),
            std::cmp::Ordering::Greater => {
                conversion::float_to_float(self, value, to, spirv::FPRoundingMode::RTE)
            }
        }
    }
}
