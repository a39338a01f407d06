//! Rows of elements that only some lanes load, on processors that have no instruction for that.
//!
//! AVX2 loads under a mask 32 and 64 bits only, SSE nothing. LLVM makes a branch, a load and an insertion of each lane, which are
//! mispredicted where the mask depends on data. Here the whole row is loaded if it is in one page: a lane that is on proves that page to
//! be there to be read.

use super::Lowerer;
use super::builder::{Builder, IntPred, Value};
use super::values::Mask;
use crate::analysis::leaves::Scalar;
use crate::jit::target::Target;

/// No processor of this kind has smaller pages.
const PAGE: u64 = 4096;

/// Whether vectors of these elements are loaded and stored under masks by one instruction.
pub(super) fn has_masks(target: &Target, memory: Scalar) -> bool {
    target.has_avx512() || (memory.bytes() >= 4 && target.simd_bits() >= 256)
}

/// Whether vectors of these elements are stored under masks as fast as without.
pub(super) fn stores_under_masks(target: &Target, memory: Scalar) -> bool {
    has_masks(target, memory) && (target.has_avx512() || target.make.stores_masked_fast())
}

/// Whether so many bytes from an address on, or from each of several, are in one page, so that all of them can be read where one can.
pub(super) fn is_in_page(b: &Builder, address: Value, bytes: u64) -> Value {
    let number = |number: u64| b.int(Scalar::I64, b.lanes(address), number);
    let place = b.and(b.reinterpret(address, Scalar::I64), number(PAGE - 1));
    b.icmp(IntPred::LLVMIntULE, place, number(PAGE - bytes))
}

/// Whether so many bytes from an address on can be read, if a lane that is on reads one of them: then there has to be one.
pub(super) fn can_be_read(this: &Lowerer<'_, '_>, address: Value, bytes: u64) -> Value {
    let b = &this.b;
    let in_page = is_in_page(b, b.freeze(address), bytes);
    match this.mask() {
        Mask::All => in_page,
        Mask::Lanes(on) => b.and(in_page, b.any(on)),
    }
}

/// Loads a row for the lanes of a mask. What the others get is nobody's.
pub(super) fn load(this: &Lowerer<'_, '_>, memory: Scalar, low: Value, align: u64, mask: Value) -> Value {
    let b = &this.b;
    let bytes = memory.bytes() * u64::from(this.w);
    let under_mask = || b.masked_load(memory, this.w, low, align, mask);
    if has_masks(this.target, memory) || this.w == 1 || bytes > PAGE {
        return under_mask();
    }
    // Where no lane is on it may be anything.
    let whole = b.and(is_in_page(b, b.freeze(low), bytes), b.any(mask));
    b.branch(whole, || b.load(memory, this.w, low, align), under_mask)
}
