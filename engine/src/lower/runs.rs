//! Runs: lanes whose objects are a few equal elements and follow each other without a gap, such as a `float4` a lane.
//!
//! They are structures (`structures`), unless the elements are so small that one vector has several of all lanes: LLVM knows
//! how to shift and truncate those.

use super::Lowerer;
use super::access::{from_memory, in_memory, to_memory};
use super::builder::{Builder, Value};
use super::structures::Structures;
use super::values::{Mask, Reg, Val};
use crate::analysis::leaves::{Leaf, Scalar};

/// Elements from lane to lane, if the leaves are a run of equal elements that fills the step, but for one behind
/// three: the padding of a 3-component vector, or something else.
pub(super) fn stride(leaves: &[Leaf], step: i64) -> Option<usize> {
    const MOST: usize = 8;
    let first = leaves.first()?;
    let memory = in_memory(first.scalar);
    let size = memory.bytes();
    let regular = leaves
        .iter()
        .enumerate()
        .all(|(at, leaf)| leaf.scalar == first.scalar && leaf.offset == at as u64 * size);
    let stride = if leaves.len() == 3 && step == 4 * size as i64 { 4 } else { leaves.len() };
    let whole = !matches!(memory, Scalar::Int(_));
    (whole && regular && leaves.len() > 1 && stride <= MOST && step == (stride as u64 * size) as i64)
        .then_some(stride)
}

/// Vectors of less than so many bytes are loaded and stored several at once. It has to be the same for both, for then LLVM finds
/// that what is only copied needs no shuffles.
const SHORT: u64 = 64;

pub(super) fn load(this: &Lowerer<'_, '_>, base: Value, leaves: &[Leaf], stride: usize, align: u64) -> Val {
    let (b, memory) = (&this.b, in_memory(leaves[0].scalar));
    let elements: Vec<usize> = (0..leaves.len()).collect();
    let mask = match this.mask() {
        Mask::All => None,
        Mask::Lanes(mask) => Some(mask),
    };
    let values: Vec<Value> = if u64::from(this.w) * memory.bytes() < SHORT && stride == leaves.len() {
        let lanes = this.w * stride as u32;
        let all = match mask {
            None => b.load(memory, lanes, base, align),
            Some(mask) => b.masked_load(memory, lanes, base, align, repeated(b, mask, stride)),
        };
        let lane = |element: usize| move |lane: usize| (lane * stride + element) as i32;
        let indices = |element: usize| (0..this.w as usize).map(lane(element)).collect::<Vec<i32>>();
        elements.iter().map(|element| b.shuffle(all, all, &indices(*element))).collect()
    } else {
        let structures = Structures { memory, lanes: this.w, step: stride, elements: &elements };
        let vectors = structures.load(this, base, align, mask);
        elements.iter().map(|element| structures.take(b, &vectors, *element)).collect()
    };
    values
        .iter()
        .zip(leaves)
        .map(|(value, leaf)| Reg::varying(from_memory(this, *value, leaf.scalar)))
        .collect()
}

pub(super) fn store(this: &Lowerer<'_, '_>, base: Value, leaves: &[Leaf], val: &Val, align: u64) {
    let (b, memory) = (&this.b, in_memory(leaves[0].scalar));
    let elements: Vec<usize> = (0..leaves.len()).collect();
    let values: Vec<(usize, Value)> =
        (0..).zip(val).map(|(element, reg)| (element, to_memory(this, this.vector(*reg)))).collect();
    let mask = match this.mask() {
        Mask::All => None,
        Mask::Lanes(mask) => Some(mask),
    };
    if u64::from(this.w) * memory.bytes() < SHORT {
        let all = interleaved(b, values.into_iter().map(|(_, value)| value).collect());
        match mask {
            None => b.store(all, base, align),
            Some(mask) => b.masked_store(all, base, align, repeated(b, mask, leaves.len())),
        }
        return;
    }
    let structures = Structures { memory, lanes: this.w, step: leaves.len(), elements: &elements };
    structures.store(b, base, align, &values, mask);
}

/// One vector with the first lanes of all values, then the second ones, and so on.
fn interleaved(b: &Builder, mut values: Vec<Value>) -> Value {
    let (stride, w) = (values.len(), b.lanes(values[0]) as usize);
    let poison = b.poison(b.scalar_of(values[0]), w as u32);
    values.resize(stride.next_power_of_two(), poison);
    while values.len() > 1 {
        let indices: Vec<i32> = (0..2 * b.lanes(values[0]) as i32).collect();
        values = values.chunks_exact(2).map(|pair| b.shuffle(pair[0], pair[1], &indices)).collect();
    }
    let indices: Vec<i32> = (0..w * stride).map(|at| ((at % stride) * w + at / stride) as i32).collect();
    b.shuffle(values[0], values[0], &indices)
}

/// Each lane of a mask so many times.
fn repeated(b: &Builder, mask: Value, times: usize) -> Value {
    let indices: Vec<i32> = (0..b.lanes(mask) as usize * times).map(|at| (at / times) as i32).collect();
    b.shuffle(mask, mask, &indices)
}
