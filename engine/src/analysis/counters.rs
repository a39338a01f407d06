//! How far the counters of loops go: `for (size_t i = get_global_id(0); i < n; i += get_global_size(0))`.
//!
//! A phi that grows by the same amount for all work-items in each iteration is, in all lanes, no further from where it began than in one
//! that is still in the loop, and that one is below what it is compared with. So what is known of the bound, of the beginning and of the step
//! is known of the counter, in lanes that have left the loop and in neighbours that never were in it, too.

use super::Analysis;
use super::builtins;
use super::loops::{Loop, LoopId};
use super::order::Order;
use spirv::{BuiltIn, Op};
use spirv_env::{Id, Inst};

/// How many steps back what a counter is made of is from it: there are three of them, and each may be a counter, too.
const STEPS_BACK: u32 = 4;

/// What is compared with a bound in each iteration: the counter, or what it is next.
struct Counter {
    phi: Id,
    next: Id,
}

impl Analysis<'_> {
    /// An upper bound of a phi of a loop's header, where it is a counter and one is known.
    pub(super) fn upper_of_counter(&self, id: Id, depth: u32) -> Option<u64> {
        let header = *self.def.get(&id)?;
        let inside = self.loops.headed_by(header)?;
        let step = self.induction(inside, id).filter(|step| self.is_the_same_for_all(*step, depth))?;
        let of = self.loops.get(inside);
        let phi = self.func.blocks[header].phis.iter().find(|phi| phi.result == id)?;
        let counter = Counter { phi: id, next: self.passed_on(inside, phi.from(of.latch)?)? };
        let depth = depth + STEPS_BACK;
        let (begin, step) = (self.upper(phi.from(of.preheader)?, depth)?, self.upper(step, depth)?);
        let inside = self.upper_inside(inside, of, &counter, depth)?;
        // In front of the comparison it is a step further, and others began elsewhere.
        let upper = begin.checked_add(inside)?.checked_add(step)?;
        (upper < 1u64 << (self.index_width(id)? - 1)).then_some(upper)
    }

    /// What a counter, or its next value, is no more than for work-items that go on.
    fn upper_inside(&self, inside: LoopId, of: &Loop, counter: &Counter, depth: u32) -> Option<u64> {
        of.exits.iter().find_map(|&(block, _)| {
            let (comparison, goes_on) = self.asked_in_each_iteration(inside, block)?;
            self.upper_where(comparison, goes_on, counter, depth)
        })
    }

    /// What a counter is no more than where a comparison is true, or where it is false.
    fn upper_where(&self, comparison: &Inst, holds: bool, counter: &Counter, depth: u32) -> Option<u64> {
        let Order { lesser, greater: bound, is_signed, .. } = Order::of(comparison, holds)?;
        if lesser != counter.phi && lesser != counter.next {
            return None;
        }
        // A counter is not negative, so it is below no negative bound.
        let of_signed = || self.upper_of_signed(bound, depth).or_else(|| self.greatest_of_narrower(bound));
        if is_signed { of_signed() } else { self.upper(bound, depth) }
    }

    /// The greatest number that a widened one can be.
    fn greatest_of_narrower(&self, id: Id) -> Option<u64> {
        let inst = self.definition(id).filter(|inst| inst.op == Op::SConvert)?;
        let (from, to) = (self.index_width(inst.id(0))?, self.index_width(id)?);
        (from < to).then(|| (1u64 << (from - 1)) - 1)
    }

    /// Whether a step is one that work-items and iterations do not change.
    fn is_the_same_for_all(&self, step: Id, depth: u32) -> bool {
        use BuiltIn::{GlobalSize, NumWorkgroups};
        if depth > 12 || self.func.constant_bits(step).is_some() {
            return depth <= 12;
        }
        if let Some((builtin, _)) = self.id_component(step) {
            return builtins::is_group_size(builtin) || matches!(builtin, GlobalSize | NumWorkgroups);
        }
        // Work-items that call a function give it what each has.
        let is_kernel = self.func.function == self.func.kernel.function;
        let is_parameter = is_kernel && self.func.params.iter().any(|(parameter, _)| *parameter == step);
        is_parameter
            || self.definition(step).is_some_and(|inst| {
                let is_computed =
                    matches!(inst.op, Op::UConvert | Op::IMul | Op::ShiftLeftLogical | Op::IAdd);
                is_computed && inst.ids().all(|id| self.is_the_same_for_all(id, depth + 1))
            })
    }
}

#[cfg(test)]
mod tests;
