//! What is known of integers in every lane: upper bounds and zero low bits.
//!
//! Facts are found on demand by following operands a few steps back. They prove that index arithmetic does
//! not wrap around, so that strides live through it.

use super::Analysis;
use super::builtins;
use spirv::{BuiltIn, Op};
use spirv_env::{Id, Inst};

/// The greatest id of launches that code for small ids is for.
pub(super) const GREATEST_ID: u64 = (1 << 31) - 1;

impl Analysis<'_> {
    /// An upper bound of an unsigned integer value in any lane, where one is known.
    pub fn upper(&self, id: Id, depth: u32) -> Option<u64> {
        if depth > 12 {
            return None;
        }
        if let Some(bits) = self.func.constant_bits(id) {
            return Some(bits);
        }
        let Some(inst) = self.definition(id) else { return self.upper_of_counter(id, depth) };
        let of = |at: usize| self.upper(inst.id(at), depth + 1);
        let width = |id: Id| self.index_width(id).filter(|width| *width <= u64::BITS);
        let widest = |id: Id| width(id).map(|width| u64::MAX >> (u64::BITS - width));
        match inst.op {
            Op::Load => self.upper_of_load(inst),
            Op::CompositeExtract => {
                let source = self.definition(inst.id(0)).filter(|source| source.op == Op::Load);
                self.upper_of_load(source?)
            }
            Op::UConvert | Op::SConvert | Op::Bitcast => {
                let (from, to) = (width(inst.id(0))?, width(id)?);
                let widest = widest(inst.id(0)).filter(|_| inst.op == Op::UConvert && to > from);
                let upper = of(0).or(widest)?;
                let fits = upper < 1u64.checked_shl(from.min(to) - 1).unwrap_or(u64::MAX);
                (fits || (inst.op == Op::UConvert && to > from)).then_some(upper)
            }
            Op::BitwiseAnd => match (of(0), of(1)) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            },
            Op::UMod => {
                let divisor = self.func.constant_bits(inst.id(1))?;
                divisor.checked_sub(1)
            }
            Op::UDiv => {
                let divisor = self.func.constant_bits(inst.id(1)).filter(|divisor| *divisor > 0)?;
                Some(of(0).or(widest(inst.id(0)))? / divisor)
            }
            Op::SDiv => {
                let divisor = self.func.constant_int(inst.id(1)).filter(|divisor| *divisor > 0)?;
                self.upper_of_signed(inst.id(0), depth).map(|upper| upper / divisor as u64)
            }
            Op::SRem | Op::SMod => {
                let divisor = self.func.constant_int(inst.id(1)).filter(|divisor| *divisor > 0)?;
                self.upper_of_signed(inst.id(0), depth).map(|upper| upper.min(divisor as u64 - 1))
            }
            Op::ShiftRightArithmetic => {
                let amount = self.func.constant_bits(inst.id(1))?.min(63);
                self.upper_of_signed(inst.id(0), depth).map(|upper| upper >> amount)
            }
            Op::ShiftRightLogical => {
                Some(of(0).or(widest(inst.id(0)))? >> self.func.constant_bits(inst.id(1))?.min(63))
            }
            Op::IAdd if self.is_global_id(inst) => Some(GREATEST_ID),
            Op::IAdd => {
                let sum = of(0)?.checked_add(of(1)?)?;
                (sum < 1u64 << (width(id)? - 1)).then_some(sum)
            }
            Op::IMul => {
                let product = of(0)?.checked_mul(of(1)?)?;
                (product < 1u64 << (width(id)? - 1)).then_some(product)
            }
            Op::ShiftLeftLogical => {
                let shifted =
                    of(0)?.checked_mul(1u64.checked_shl(self.func.constant_bits(inst.id(1))? as u32)?)?;
                (shifted < 1u64 << (width(id)? - 1)).then_some(shifted)
            }
            Op::Select => Some(of(1)?.max(of(2)?)),
            Op::CopyObject => of(0),
            _ => None,
        }
    }

    /// An upper bound of a value that is not negative as a signed integer.
    pub(super) fn upper_of_signed(&self, id: Id, depth: u32) -> Option<u64> {
        let width = self.index_width(id).filter(|width| (1..=u64::BITS).contains(width))?;
        self.upper(id, depth + 1).filter(|upper| *upper < 1u64 << (width - 1))
    }

    /// `get_group_id(d) * get_local_size(d) + get_local_id(d)`: the global id but for the offset, and no greater than it.
    fn is_global_id(&self, sum: &Inst) -> bool {
        let either = |first: Id, second: Id| {
            let Some(product) = self.definition(first).filter(|inst| inst.op == Op::IMul) else {
                return false;
            };
            let [group, size, local] = [product.id(0), product.id(1), second].map(|id| self.id_component(id));
            let (Some(group), Some(size), Some(local)) = (group, size, local) else { return false };
            let pair = match (group.0, size.0) {
                (BuiltIn::WorkgroupId, of) | (of, BuiltIn::WorkgroupId) => builtins::is_group_size(of),
                _ => false,
            };
            pair && local.0 == BuiltIn::LocalInvocationId && group.1 == size.1 && size.1 == local.1
        };
        !self.variant.ids.large && (either(sum.id(0), sum.id(1)) || either(sum.id(1), sum.id(0)))
    }

    /// The component of a built-in that a value is, or has the low bits of, which are no greater.
    pub(super) fn id_component(&self, id: Id) -> Option<(BuiltIn, u32)> {
        let mut id = id;
        loop {
            let inst = self.definition(id)?;
            match inst.op {
                Op::UConvert | Op::CopyObject => id = inst.id(0),
                _ => return self.whole_component(id),
            }
        }
    }

    /// An upper bound of all leaves of what is loaded.
    fn upper_of_load(&self, load: &Inst) -> Option<u64> {
        let builtin = self.builtins.get(&load.id(0))?;
        builtins::upper(builtin, &self.leaves.get(load.ty?)?, self.variant)
    }

    /// `x & mask` or `x % n` where x is below either anyway.
    pub(super) fn is_identity(&self, inst: &Inst) -> bool {
        let (Some(upper), Some(limit)) = (self.upper(inst.id(0), 0), self.func.constant_bits(inst.id(1)))
        else {
            return false;
        };
        match inst.op {
            Op::UMod => upper < limit,
            _ => {
                // Bits that are zero anyway may be left out of the mask.
                let zeros = self.trailing_zeros(inst.id(0), 0).min(63);
                let limit = limit | ((1 << zeros) - 1);
                limit & limit.wrapping_add(1) == 0 && upper <= limit
            }
        }
    }

    /// `x | y` where one has only bits below those that the other has.
    pub(super) fn or_is_add(&self, inst: &Inst) -> bool {
        let disjoint = |value: Id, low: Id| {
            self.upper(low, 0).is_some_and(|bits| 64 - bits.leading_zeros() <= self.trailing_zeros(value, 0))
        };
        disjoint(inst.id(0), inst.id(1)) || disjoint(inst.id(1), inst.id(0))
    }

    /// A number of low bits that are zero in every lane.
    pub(super) fn trailing_zeros(&self, id: Id, depth: u32) -> u32 {
        if let Some(bits) = self.func.constant_bits(id) {
            return bits.trailing_zeros();
        }
        if depth >= 8 {
            return 0;
        }
        let Some(inst) = self.definition(id) else { return self.zeros_of_counter(id, depth).unwrap_or(0) };
        self.zeros_of_result(inst, |at| self.trailing_zeros(inst.id(at), depth + 1))
    }

    /// The same of a phi: what begins at a multiple and goes on by multiples stays one.
    fn zeros_of_counter(&self, id: Id, depth: u32) -> Option<u32> {
        /// A phi leads to several values, each of which may be one of others.
        const OF_A_PHI: u32 = 3;
        let block = *self.def.get(&id)?;
        let phi = self.func.blocks[block].phis.iter().find(|phi| phi.result == id)?;
        let of = |value: Id| self.trailing_zeros(value, depth + OF_A_PHI);
        let of_next = |value: Id| {
            let inst = self.definition(value).filter(|inst| matches!(inst.op, Op::IAdd | Op::ISub))?;
            match [inst.id(0), inst.id(1)] {
                [own, by] if own == id => Some(of(by)),
                [by, own] if own == id => Some(of(by)),
                _ => None,
            }
        };
        let values = phi.incoming.iter().map(|(_, value)| *value).filter(|value| *value != id);
        values.map(|value| of_next(value).unwrap_or_else(|| of(value))).min()
    }

    /// The same of a result, given those of the operands: in the lanes that they are of.
    pub(super) fn zeros_of_result(&self, inst: &Inst, of: impl Fn(usize) -> u32) -> u32 {
        match inst.op {
            Op::ShiftLeftLogical => {
                of(0).saturating_add(self.func.constant_bits(inst.id(1)).unwrap_or(0).min(63) as u32)
            }
            Op::IMul => of(0).saturating_add(of(1)),
            Op::IAdd | Op::ISub | Op::BitwiseOr | Op::BitwiseXor => of(0).min(of(1)),
            Op::BitwiseAnd => of(0).max(of(1)),
            Op::UConvert | Op::SConvert if self.saturates(inst) => 0,
            Op::UConvert | Op::SConvert | Op::CopyObject => of(0),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests;
