//! Accesses of elements with small gaps between them: a member of an array of structures, every other element.
//!
//! A few vector loads and shuffles, or masked stores, take a fraction of the time of a gather or scatter. Nothing is
//! accessed before the first element and behind the last one, and nothing in a gap is written. What is read in gaps lies
//! between two elements that the kernel reads, less than a page apart, so it is there to be read.

use super::Lowerer;
use super::access::Access;
use super::builder::Value;
use super::values::Mask;
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

/// Whether vectors of these elements are loaded and stored under masks by one instruction.
pub(super) fn has_masks(target: &Target, memory: Scalar) -> bool {
    target.has_avx512() || (memory.bytes() >= 4 && target.simd_bits() >= 256)
}

/// Whether elements so many bytes apart are accessed in this way, whatever the mask.
pub(super) fn is_worth_it(target: &Target, step: i64, memory: Scalar) -> bool {
    gap(step, memory).is_some() && has_masks(target, memory)
}

/// Where vectors begin that cover all elements, in elements. The last one ends with the last element.
fn starts(this: &Lowerer<'_, '_>, gap: usize) -> Vec<usize> {
    let w = this.w as usize;
    let all = (w - 1) * gap + 1;
    (0..all.div_ceil(w)).map(|at| (at * w).min(all - w)).collect()
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
    let (b, w, starts) = (&this.b, this.w as usize, starts(this, gap));
    let masked = matches!(this.mask(), Mask::Lanes(_));
    if masked && !has_masks(this.target, memory) {
        return None;
    }
    // The vector that each lane's element comes from: the first that has it.
    let source = |lane: usize| starts.iter().position(|start| (*start..start + w).contains(&(lane * gap)));
    let sources: Vec<usize> = (0..w).map(|lane| source(lane).expect("all are covered")).collect();
    let mut joined: Option<Value> = None;
    for (at, start) in starts.iter().enumerate() {
        let address = b.offset_const(base, *start as u64 * memory.bytes());
        let vector = match this.mask() {
            Mask::All => b.load(memory, this.w, address, align),
            Mask::Lanes(mask) => {
                b.masked_load(memory, this.w, address, align, spread(this, mask, *start, gap))
            }
        };
        // Lanes before come from vectors before.
        let place = |lane: usize, own: i32| match sources[lane].cmp(&at) {
            std::cmp::Ordering::Less => lane as i32,
            std::cmp::Ordering::Equal => own + (lane * gap - start) as i32,
            std::cmp::Ordering::Greater => -1,
        };
        joined = Some(match joined {
            None => b.shuffle(vector, vector, &(0..w).map(|lane| place(lane, 0)).collect::<Vec<_>>()),
            Some(before) => {
                b.shuffle(before, vector, &(0..w).map(|lane| place(lane, w as i32)).collect::<Vec<_>>())
            }
        });
    }
    joined
}

/// Stores one element for each lane that is on; whether it did, where lane by lane is not as good.
pub(super) fn store(
    this: &Lowerer<'_, '_>,
    base: Value,
    step: i64,
    value: Value,
    align: u64,
    access: Access,
) -> bool {
    let (b, w) = (&this.b, this.w as usize);
    let memory = b.scalar_of(value);
    let possible = !access.volatile && this.w > 1 && has_masks(this.target, memory);
    let Some(gap) = gap(step, memory).filter(|_| possible) else { return false };
    let on = this.mask_vector();
    for start in (0..(w - 1) * gap + 1).step_by(w) {
        let lanes: Vec<i32> = (start..start + w).map(|at| lane_at(at, gap, w)).collect();
        let vector = b.shuffle(value, value, &lanes);
        let mask = spread(this, on, start, gap);
        b.masked_store(vector, b.offset_const(base, start as u64 * memory.bytes()), align, mask);
    }
    true
}

/// The lane whose element is this far behind the first, or -1.
fn lane_at(element: usize, gap: usize, w: usize) -> i32 {
    if element.is_multiple_of(gap) && element / gap < w { (element / gap) as i32 } else { -1 }
}

/// The mask of a vector that begins at an element: on where a lane's element is, and the lane is on.
fn spread(this: &Lowerer<'_, '_>, mask: Value, start: usize, gap: usize) -> Value {
    let w = this.w as usize;
    let lanes = (start..start + w).map(|at| match lane_at(at, gap, w) {
        -1 => w as i32,
        lane => lane,
    });
    this.b.shuffle(mask, this.b.zero(Scalar::Bool, this.w), &lanes.collect::<Vec<_>>())
}
