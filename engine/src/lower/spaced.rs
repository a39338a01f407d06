//! Accesses of elements with small gaps between them: a member of an array of structures, every other element.
//!
//! A few vector loads and shuffles, or masked stores, take a fraction of the time of a gather or scatter.

use super::access::Access;
use super::builder::Value;
use super::structures::Structures;
use super::values::Mask;
use super::{Lowerer, rows};
use crate::analysis::leaves::Scalar;
use crate::jit::target::Target;

/// Steps, in elements, up to which this is faster than lane by lane: elements that gathers know, and smaller ones.
const MOST_WORDS: u64 = 4;
const MOST_BYTES: u64 = 8;

/// The step in elements, if such accesses are worth it.
fn gap(step: i64, memory: Scalar) -> Option<usize> {
    let bytes = memory.bytes();
    let most = if bytes >= 4 { MOST_WORDS } else { MOST_BYTES };
    let fits = step > 0 && (step as u64).is_multiple_of(bytes) && !matches!(memory, Scalar::Int(_));
    let step = step as u64 / bytes;
    (fits && (2..=most).contains(&step)).then_some(step as usize)
}

/// Whether elements so many bytes apart are accessed in this way, whatever the mask.
pub(super) fn is_worth_it(target: &Target, step: i64, memory: Scalar) -> bool {
    gap(step, memory).is_some() && rows::has_masks(target, memory)
}

/// Loads one element for each lane that is on; `None` where lane by lane is as good.
pub(super) fn load(
    this: &Lowerer<'_, '_>,
    base: Value,
    step: i64,
    memory: Scalar,
    align: u64,
    access: Access,
) -> Option<Value> {
    let gap = gap(step, memory).filter(|_| !access.volatile && this.w > 1)?;
    let mask = match this.mask() {
        Mask::All => None,
        Mask::Lanes(_) if !rows::has_masks(this.target, memory) => return None,
        Mask::Lanes(mask) => Some(mask),
    };
    let structures = Structures { memory, lanes: this.w, step: gap, elements: &[0] };
    let vectors = structures.load(this, base, align, mask);
    Some(structures.take(&this.b, &vectors, 0))
}

/// Stores one element for each lane that is on; whether it did, where lane by lane is not as good. `into` is the place's.
pub(super) fn store(
    this: &Lowerer<'_, '_>,
    base: Value,
    step: i64,
    into: u64,
    value: Value,
    align: u64,
    access: Access,
) -> bool {
    let memory = this.b.scalar_of(value);
    let possible = !access.volatile && this.w > 1 && rows::stores_under_masks(this.target, memory);
    let Some(gap) = gap(step, memory).filter(|_| possible) else { return false };
    // Vectors begin where structures do, which are aligned: those that begin at a member in the middle would each lie in two
    // lines of the cache.
    let bytes = memory.bytes();
    let element = if into.is_multiple_of(bytes) { (into / bytes) as usize % gap } else { 0 };
    let structures = Structures { memory, lanes: this.w, step: gap, elements: &[element] };
    let first = this.b.offset_const(base, (element as u64 * bytes).wrapping_neg());
    structures.store_lanes(&this.b, first, align, &[(element, value)], this.mask().lanes());
    true
}
