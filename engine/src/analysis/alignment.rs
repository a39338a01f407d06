//! Where sub-groups begin: low bits of lane 0 that are zero, and what follows for lanes behind it.
//!
//! Sub-groups of full rows begin at multiples of their lanes. The lanes of an index with a small step are then a *run* between two neighbouring
//! multiples of a power of two, so that rows and columns of a matrix, blocks of a grid and whatever else is a quotient or a remainder by such
//! a multiple is the same in all lanes, or has the index's step; and no lane wraps around.

use super::Analysis;
use super::func::BlockId;
use super::shapes::{Shape, Trust};
use crate::abi::LaneMapping;
use spirv::{BuiltIn, Op};
use spirv_env::{Divisor, Id, Inst};

/// Operations that are followed back, at most.
const DEPTH: u32 = 12;
/// Low bits of what is zero.
const ALL: u32 = 64;

impl Analysis<'_> {
    /// The shape of a quotient or a remainder of a run, or of its high or low bits; `None` where nothing is known.
    pub(super) fn part_of_run(&self, block: BlockId, inst: &Inst) -> Option<Shape> {
        use Op::{BitwiseAnd, SDiv, SMod, SRem, ShiftRightArithmetic, ShiftRightLogical, UDiv, UMod};
        let (UDiv | SDiv | UMod | SRem | SMod | BitwiseAnd | ShiftRightArithmetic | ShiftRightLogical) =
            inst.op
        else {
            return None;
        };
        let (value, by) = (inst.id(0), inst.id(1));
        let Shape::Strided(step) = *self.shape(block, value).first()? else { return None };
        let run = self.run(value, step)?;
        let (is_high, is_low) = (Some(Shape::Uniform), Some(Shape::Strided(step)));
        let divides = || {
            let is_uniform = self.shape(block, by).iter().all(|shape| shape.is_uniform());
            is_uniform && self.first_zeros(by, 0) >= run
        };
        // Quotients of negative numbers are cut off upwards.
        let is_positive = || self.upper_of_signed(value, 0).is_some();
        match inst.op {
            UDiv => is_high.filter(|_| divides()),
            UMod => is_low.filter(|_| divides()),
            SDiv => is_high.filter(|_| is_positive() && divides()),
            SRem => is_low.filter(|_| is_positive() && divides()),
            // What is as negative as the divisor jumps at zero.
            SMod => is_low.filter(|_| is_positive() && divides() && self.is_positive(by, 0)),
            ShiftRightArithmetic | ShiftRightLogical => {
                let amount = self.func.constant_bits(by)?;
                is_high.filter(|_| amount >= u64::from(run))
            }
            BitwiseAnd => {
                let mask = self.func.constant_bits(by)?;
                let low = 1u64.checked_shl(run)?.wrapping_sub(1);
                match mask & low {
                    0 => is_high,
                    bits if bits == low => is_low,
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// How many bits the lanes of a value with this step differ in: they are the lowest, and zero in lane 0.
    pub(super) fn run(&self, id: Id, step: i64) -> Option<u32> {
        let step = u64::try_from(step).ok().filter(|_| self.trust(id) == Trust::Proven)?;
        let reach = step.checked_mul(u64::from(self.variant.width) - 1)?;
        let bits = u64::BITS - reach.leading_zeros();
        (self.first_zeros(id, 0) >= bits).then_some(bits)
    }

    /// A number of low bits that are zero in lane 0.
    fn first_zeros(&self, id: Id, depth: u32) -> u32 {
        if let Some(bits) = self.func.constant_bits(id) {
            return bits.trailing_zeros();
        }
        if self.is_row_length(id) {
            return self.variant.ids.rows.zeros.into();
        }
        let Some(inst) = self.definition(id).filter(|_| depth < DEPTH) else { return 0 };
        let of = |at: usize| self.first_zeros(inst.id(at), depth + 1);
        match inst.op {
            Op::Load | Op::CompositeExtract => {
                self.whole_component(id).map_or(0, |(builtin, at)| self.zeros_of(builtin, at))
            }
            Op::ISub if self.is_without_offset(inst) => self.zeros_of(BuiltIn::GlobalLinearId, 0),
            Op::Select => of(1).min(of(2)),
            _ => self.zeros_of_result(inst, of),
        }
    }

    /// Whether an argument, or a member of one, is known to be a positive multiple of the lanes.
    fn is_row_length(&self, id: Id) -> bool {
        let rows = self.variant.ids.rows;
        if rows.of == 0 || !self.func.is_kernel() {
            return false;
        }
        let bytes = self.index_width(id).map_or(0, |bits| u64::from(bits / 8));
        let divisor = self.func.given(id).and_then(|(argument, offset)| {
            let divisor = Divisor { argument, offset, bytes };
            self.func.kernel.divisors.iter().position(|of| *of == divisor)
        });
        divisor.is_some_and(|bit| rows.of >> bit & 1 != 0)
    }

    /// Whether a signed number is the same for all lanes and known to be greater than zero.
    fn is_positive(&self, id: Id, depth: u32) -> bool {
        if let Some(number) = self.func.constant_int(id) {
            return number > 0;
        }
        let of_same = |inst: &Inst| {
            let is_kept =
                matches!(inst.op, Op::SConvert | Op::UConvert | Op::CopyObject) && !self.saturates(inst);
            is_kept && self.is_widened(inst) && self.is_positive(inst.id(0), depth + 1)
        };
        self.is_row_length(id) || self.definition(id).filter(|_| depth < DEPTH).is_some_and(of_same)
    }

    /// Whether a conversion keeps all bits.
    fn is_widened(&self, inst: &Inst) -> bool {
        let width = |id: Id| self.index_width(id);
        inst.result.and_then(width).zip(width(inst.id(0))).is_some_and(|(to, from)| to >= from)
    }

    /// The same for a component of a built-in.
    fn zeros_of(&self, builtin: BuiltIn, component: u32) -> u32 {
        let lanes = self.variant.width.trailing_zeros();
        let is_rows = self.variant.mapping == LaneMapping::Rows;
        let known = match builtin {
            BuiltIn::SubgroupLocalInvocationId => return ALL,
            BuiltIn::SubgroupMaxSize => true,
            BuiltIn::LocalInvocationIndex => self.variant.mapping != LaneMapping::Ragged,
            BuiltIn::LocalInvocationId => component == 0 && !self.variant.mapping.crosses_rows(),
            BuiltIn::GlobalInvocationId => component == 0 && is_rows && !self.variant.ids.odd,
            BuiltIn::GlobalOffset => component == 0 && !self.variant.ids.odd,
            BuiltIn::WorkgroupSize | BuiltIn::EnqueuedWorkgroupSize | BuiltIn::GlobalSize => {
                component == 0 && is_rows
            }
            BuiltIn::GlobalLinearId | BuiltIn::SubgroupSize => is_rows,
            _ => false,
        };
        if known { lanes } else { 0 }
    }

    /// `get_global_id(0) - get_global_offset(0)`.
    fn is_without_offset(&self, difference: &Inst) -> bool {
        let component = |at: usize| self.whole_component(difference.id(at));
        component(0) == Some((BuiltIn::GlobalInvocationId, 0))
            && component(1) == Some((BuiltIn::GlobalOffset, 0))
    }
}

#[cfg(test)]
mod tests;
