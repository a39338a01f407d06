//! Runs: lanes whose objects are a few equal elements and follow each other without a gap, such as a `float4` a lane.
//!
//! They are structures (`structures`), unless the elements are so small that one vector has several of all lanes: LLVM knows
//! how to shift and truncate those, if they are no more than eight.

use super::access::{align_at, from_memory, in_memory, to_memory};
use super::apart::MOST_ELEMENTS;
use super::builder::{Builder, Value};
use super::structures::Structures;
use super::values::{Reg, Val};
use super::{Lowerer, rows};
use crate::analysis::leaves::{Leaf, Scalar};

/// What an element is in memory, if leaves are equal ones that follow each other.
pub(super) fn element(leaves: &[Leaf]) -> Option<Scalar> {
    let first = leaves.first()?;
    let memory = in_memory(first.scalar);
    let follows =
        |(at, leaf): (usize, &Leaf)| leaf.scalar == first.scalar && leaf.offset == at as u64 * memory.bytes();
    (!matches!(memory, Scalar::Int(_)) && leaves.iter().enumerate().all(follows)).then_some(memory)
}

/// The values of elements as they are in memory, by their numbers.
pub(super) fn to_elements(this: &Lowerer<'_, '_>, val: &Val) -> Vec<(usize, Value)> {
    (0..).zip(val).map(|(element, reg)| (element, to_memory(this, this.vector(*reg)))).collect()
}

/// Elements from lane to lane, if the leaves are a run of equal elements that fills the step, but for one behind
/// three: the padding of a 3-component vector, or something else.
pub(super) fn stride(leaves: &[Leaf], step: i64) -> Option<usize> {
    let size = element(leaves)?.bytes();
    let stride = if leaves.len() == 3 && step == 4 * size as i64 { 4 } else { leaves.len() };
    (leaves.len() > 1 && stride <= MOST_ELEMENTS && step == (stride as u64 * size) as i64).then_some(stride)
}

/// Vectors of less than so many bytes are loaded and stored several at once. It has to be the same for both, for then LLVM finds
/// that what is only copied needs no shuffles.
const SHORT: u64 = 64;
const MOST_OF_SHORT: usize = 8;

fn is_short(this: &Lowerer<'_, '_>, memory: Scalar, stride: usize) -> bool {
    u64::from(this.w) * memory.bytes() < SHORT && stride <= MOST_OF_SHORT
}

/// Loads what lanes have that are so many elements apart, for those that are on. What lies in memory of lanes that go down, as in `z[n - i]`,
/// is that of the lanes in reverse.
pub(super) fn load(
    this: &Lowerer<'_, '_>,
    (base, step): (Value, i64),
    leaves: &[Leaf],
    stride: usize,
    align: Option<u64>,
) -> Val {
    let b = &this.b;
    let in_lanes = |value: Value| if step < 0 { b.reversed(value) } else { value };
    let low = lowest(this, base, step);
    let values = load_under(this, low, leaves, stride, align, this.mask().lanes().map(in_lanes));
    let of_lanes = |value: Value, leaf: &Leaf| from_memory(this, in_lanes(value), leaf.scalar);
    leaves.iter().zip(values).map(|(leaf, value)| Reg::varying(of_lanes(value, leaf))).collect()
}

/// The address of the lane that has the lowest.
fn lowest(this: &Lowerer<'_, '_>, first: Value, step: i64) -> Value {
    let last = || this.b.i64(step.wrapping_mul(i64::from(this.w) - 1) as u64);
    if step < 0 { this.b.offset(first, last()) } else { first }
}

fn load_under(
    this: &Lowerer<'_, '_>,
    base: Value,
    leaves: &[Leaf],
    stride: usize,
    align: Option<u64>,
    mask: Option<Value>,
) -> Vec<Value> {
    let (b, memory) = (&this.b, in_memory(leaves[0].scalar));
    let align = align_at(align, 0, memory);
    let elements: Vec<usize> = (0..leaves.len()).collect();
    if is_short(this, memory, stride) && stride == leaves.len() {
        let lanes = this.w * stride as u32;
        let all = match mask {
            None => b.load(memory, lanes, base, align),
            Some(mask) => b.masked_load(memory, lanes, base, align, repeated(b, mask, stride)),
        };
        return b.deinterleave(all, stride);
    }
    let structures = Structures { memory, lanes: this.w, step: stride, elements: &elements };
    let vectors = structures.load(this, base, align, mask);
    elements.iter().map(|element| structures.take(b, &vectors, *element)).collect()
}

/// Stores what lanes have, which lies without a gap, for those that are on; that of lanes that go down in reverse.
pub(super) fn store(
    this: &Lowerer<'_, '_>,
    (base, step): (Value, i64),
    leaves: &[Leaf],
    val: &Val,
    align: Option<u64>,
) {
    if step < 0 {
        let reversed = |reg: &Reg| Reg::varying(this.b.reversed(this.vector(*reg)));
        let mask = this.mask().lanes().map(|mask| this.b.reversed(mask));
        let val: Val = val.iter().map(reversed).collect();
        return store_under(this, lowest(this, base, step), leaves, &val, align, mask);
    }
    store_under(this, base, leaves, val, align, this.mask().lanes());
}

fn store_under(
    this: &Lowerer<'_, '_>,
    base: Value,
    leaves: &[Leaf],
    val: &Val,
    align: Option<u64>,
    mask: Option<Value>,
) {
    let (b, memory) = (&this.b, in_memory(leaves[0].scalar));
    let align = align_at(align, 0, memory);
    let Some(mask) = mask else {
        for (offset, vector) in whole_vectors(this, leaves, val) {
            b.store(vector, b.offset_const(base, offset), align);
        }
        return;
    };
    let values = to_elements(this, val);
    if is_short(this, memory, leaves.len()) {
        let all = b.interleave(values.into_iter().map(|(_, value)| value).collect());
        b.masked_store(all, base, align, repeated(b, mask, leaves.len()));
        return;
    }
    let elements: Vec<usize> = (0..leaves.len()).collect();
    let structures = Structures { memory, lanes: this.w, step: leaves.len(), elements: &elements };
    if rows::stores_under_masks(this.target, memory) {
        structures.store(b, base, align, &values, mask);
    } else {
        structures.store_lanes(b, base, align, &values, Some(mask));
    }
}

/// The vectors that all lanes store together, and where each begins, in bytes.
pub(super) fn whole_vectors(this: &Lowerer<'_, '_>, leaves: &[Leaf], val: &Val) -> Vec<(u64, Value)> {
    let (b, memory) = (&this.b, in_memory(leaves[0].scalar));
    let values = to_elements(this, val);
    if is_short(this, memory, leaves.len()) {
        return vec![(0, b.interleave(values.into_iter().map(|(_, value)| value).collect()))];
    }
    let elements: Vec<usize> = (0..leaves.len()).collect();
    let structures = Structures { memory, lanes: this.w, step: leaves.len(), elements: &elements };
    structures.whole_vectors(b, &values)
}

/// The components of all lanes' vectors, out of what lies in memory.
pub(super) fn parts(this: &Lowerer<'_, '_>, leaves: &[Leaf], vectors: Vec<Value>) -> Vec<Value> {
    let (b, memory, count) = (&this.b, in_memory(leaves[0].scalar), leaves.len());
    let elements: Vec<usize> = (0..count).collect();
    let structures = Structures { memory, lanes: this.w, step: count, elements: &elements };
    if is_short(this, memory, count) && count.is_power_of_two() {
        return b.deinterleave(b.concat(vectors), count);
    }
    let vectors = match structures.word() {
        Some(word) => vec![b.reshape(b.concat(vectors), word, this.w)],
        None => b.regrouped(vectors, this.w),
    };
    elements.iter().map(|element| structures.take(b, &vectors, *element)).collect()
}

/// Each lane of a mask so many times.
fn repeated(b: &Builder, mask: Value, times: usize) -> Value {
    let indices: Vec<i32> = (0..b.lanes(mask) as usize * times).map(|at| (at / times) as i32).collect();
    b.shuffle(mask, mask, &indices)
}
