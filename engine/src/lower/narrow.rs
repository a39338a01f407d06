//! Gathers of bytes and halves.
//!
//! Processors gather 32 and 64 bits only. For smaller elements LLVM makes a branch, a load and an insertion of each lane, which under a
//! mask that depends on data is mispredicted lane after lane. Here the aligned word that an element lies in is gathered, which is in
//! the same page and so there to be read, and the element shifted down.

use super::Lowerer;
use super::builder::{Opcode, Value};
use super::values::Mask;
use crate::analysis::leaves::Scalar;

const WORD: u64 = 4;

/// Loads one element for each lane that is on from the lane's address.
pub(super) fn gather(this: &Lowerer<'_, '_>, memory: Scalar, addresses: Value, align: u64) -> Value {
    let (b, bytes) = (&this.b, memory.bytes());
    let in_words = bytes < WORD && align >= bytes && this.target.simd_bits() >= 256 && this.w > 1;
    // Without a mask nothing is mispredicted, and a load and an insertion a lane are as fast.
    if !in_words || matches!(this.mask(), Mask::All) {
        return b.gather(memory, addresses, align, this.mask_vector());
    }
    let lanes = |bits: u64| b.int(Scalar::I64, this.w, bits);
    let place = b.and(b.reinterpret(addresses, Scalar::I64), lanes(WORD - 1));
    let words = b.offset(addresses, b.sub(lanes(0), place));
    let words = b.gather(Scalar::I32, words, WORD, this.mask_vector());
    let shift = b.cast(Opcode::LLVMTrunc, b.shl(place, lanes(3)), Scalar::I32);
    let raw = Scalar::int(8 * bytes as u32).expect("a byte or two");
    b.reinterpret(b.cast(Opcode::LLVMTrunc, b.lshr(words, shift), raw), memory)
}
