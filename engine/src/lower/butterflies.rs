//! Stores to one side of butterflies: `s[2 * l - (l & (stride - 1))]`, where the other side is `stride` elements behind. Networks that sort,
//! Fourier and Walsh transforms exchange such pairs.
//!
//! Where the stride is a sub-group or more, a side is a row. Where it is less, lanes are in blocks of `stride` elements, with room
//! for as many of the other side behind each: all of them are in two registers, whatever the stride. A load of that is one of a piece
//! (`speculation`). A store spreads lanes over each register (`vpexpandd`) and writes those alone: two stores, where a scatter writes each lane
//! for itself. The stride is known when the kernel runs, so the first lane that is not behind the one before tells it.

use super::Lowerer;
use super::builder::{IntPred, Value};
use super::memory::Indexed;
use super::speculation::{none_on, places_behind_first, stays};
use super::values::Mask;
use crate::analysis::leaves::Scalar;

/// Lanes of a sub-group that is one register of words.
const LANES: u32 = 16;
/// Where the lanes that are on have their elements, if they have them so.
pub(super) struct Side {
    /// Whether they have.
    pub is_it: Value,
    /// That of the first lane.
    address: Value,
    /// Elements of a block.
    stride: Value,
}

impl Side {
    /// The look at indices of elements of so many bytes, where it is worth one.
    pub fn of(this: &Lowerer<'_, '_>, indexed: Indexed) -> Option<Side> {
        let fits = indexed.may_be_side && indexed.size == Scalar::I32.bytes() && this.w == LANES;
        if !fits || !this.target.has_avx512() || !this.target.has_feature("bmi2") {
            return None;
        }
        let b = &this.b;
        let (places, first) = places_behind_first(this, indexed);
        let scalar = b.scalar_of(places);
        let lanes = b.lane_numbers(scalar);
        let is_behind_gap = b.icmp(IntPred::LLVMIntNE, places, lanes);
        // A row is none.
        let bits = b.or(b.mask_bits(is_behind_gap), b.i64(1 << LANES));
        let no = b.int(Scalar::Bool, 1, 0);
        let stride = b.zext_or_trunc(b.intrinsic("llvm.cttz", &[bits, no]), Scalar::I32);
        let low_bits = b.sub(b.zext_or_trunc(stride, scalar), b.int(scalar, 1, 1));
        let expected = b.sub(b.add(lanes, lanes), b.and(lanes, b.splat(low_bits, LANES)));
        let are_so = none_on(this, b.icmp(IntPred::LLVMIntNE, places, expected));
        let has_gaps = b.icmp(IntPred::LLVMIntULT, stride, b.i32(LANES));
        let stays = stays(b, indexed, first, 2 * LANES - 1);
        let address = b.element(indexed.base, indexed.widened(b, first), indexed.size);
        Some(Side { is_it: b.and(b.and(are_so, has_gaps), stays), address, stride })
    }

    /// Stores words of the lanes that are on.
    pub fn store(&self, this: &Lowerer<'_, '_>, words: Value) {
        let b = &this.b;
        // Of a register's elements, those with this bit are the other side's. The second one has the second half of the lanes.
        let with_bit = b.and(b.lane_numbers(Scalar::I32), b.splat(self.stride, LANES));
        let is_here = b.icmp(IntPred::LLVMIntEQ, with_bit, b.zero(Scalar::I32, LANES));
        let are_on = match this.mask() {
            Mask::All => [is_here; 2],
            Mask::Lanes(on) => {
                let [here, on] = [is_here, on].map(|mask| b.zext_or_trunc(b.mask_bits(mask), Scalar::I32));
                let both = b.or(here, b.shl(here, b.i32(LANES)));
                let on = b.intrinsic_plain("llvm.x86.bmi.pdep.32", &[on, both]);
                [on, b.lshr(on, b.i32(LANES))]
                    .map(|bits| b.reshape(b.zext_or_trunc(bits, Scalar::I16), Scalar::Bool, LANES))
            }
        };
        let rest: Vec<i32> = (0..LANES as i32).map(|lane| (lane + LANES as i32 / 2) % LANES as i32).collect();
        let halves = [words, b.shuffle(words, words, &rest)];
        let bytes = Scalar::I32.bytes();
        for (number, (half, on)) in halves.into_iter().zip(are_on).enumerate() {
            let spread =
                b.intrinsic("llvm.x86.avx512.mask.expand", &[half, b.zero(Scalar::I32, LANES), is_here]);
            let address = b.offset_const(self.address, number as u64 * u64::from(LANES) * bytes);
            b.masked_store(spread, address, bytes, on);
        }
    }
}
