//! How many iterations loops have, where a parameter of the kernel says so.
//!
//! Nothing counts on it: it decides which of two codes promises more. An exit of the loop compares what goes on by one with each
//! iteration with a value that stays, and the difference of that and of where the loop begins is a parameter, give or take a constant.

use super::Analysis;
use super::func::{BlockId, Terminator};
use super::loops::LoopId;
use rustc_hash::FxHashMap;
use spirv::Op;
use spirv_env::{Id, Inst, Type};

/// How deep a sum or a condition is looked into.
const DEPTH: u32 = 8;

/// The most iterations that a loop has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Length {
    Constant(u64),
    /// The integer parameter of the kernel at this place.
    Parameter(usize),
}

/// A sum of values with their factors, and a constant.
#[derive(Clone, Default)]
struct Sum {
    terms: FxHashMap<Id, i64>,
    constant: i64,
}

impl Sum {
    fn add(&mut self, other: &Sum, factor: i64) {
        self.constant = self.constant.wrapping_add(other.constant.wrapping_mul(factor));
        for (id, by) in &other.terms {
            let of = self.terms.entry(*id).or_default();
            *of = of.wrapping_add(by.wrapping_mul(factor));
        }
        self.terms.retain(|_, factor| *factor != 0);
    }
}

impl Analysis<'_> {
    /// How long a loop is, if one of its exits tells. What it says may be more than that.
    pub fn length(&self, inside: LoopId) -> Option<Length> {
        let this = self.loops.get(inside);
        // Nothing is behind it, but perhaps a block that leads back.
        let ends = |block: BlockId| {
            block == this.latch
                || self.cfg.succs[block].contains(&this.latch)
                    && self.func.blocks[this.latch].insts.is_empty()
        };
        this.blocks.iter().find_map(|block| {
            let Terminator::Cond { cond, then, els } = self.func.blocks[*block].term else { return None };
            let leaves = [then, els].iter().any(|to| !self.loops.encloses(Some(inside), self.loops.of(*to)));
            match self.length_by(inside, cond, 0).filter(|_| leaves)? {
                // Where the end is looked for behind an iteration, there is one before the first look.
                Length::Constant(length) if ends(*block) => Some(Length::Constant(length + 1)),
                length => Some(length),
            }
        })
    }

    /// What a condition says that the loop goes on with, or ends with.
    fn length_by(&self, inside: LoopId, cond: Id, depth: u32) -> Option<Length> {
        let inst = self.definition(cond).filter(|_| depth <= DEPTH)?;
        let of = |at: usize| self.length_by(inside, inst.id(at), depth + 1);
        match inst.op {
            Op::LogicalNot | Op::CopyObject => of(0),
            Op::LogicalAnd | Op::LogicalOr => of(0).or_else(|| of(1)),
            Op::Select => of(0).or_else(|| of(1)).or_else(|| of(2)),
            Op::SLessThan
            | Op::SLessThanEqual
            | Op::SGreaterThan
            | Op::SGreaterThanEqual
            | Op::ULessThan
            | Op::ULessThanEqual
            | Op::UGreaterThan
            | Op::UGreaterThanEqual
            | Op::IEqual
            | Op::INotEqual => self.length_between(inside, inst),
            _ => None,
        }
    }

    fn length_between(&self, inside: LoopId, comparison: &Inst) -> Option<Length> {
        let (one, other) = (comparison.id(0), comparison.id(1));
        let (counter, end) = if self.is_invariant(inside, other) { (one, other) } else { (other, one) };
        let step = self.iteration_step(inside, counter).filter(|step| step.abs() == 1)?;
        if !self.is_invariant(inside, end) {
            return None;
        }
        let mut distance = self.sum(end, 0);
        distance.add(&self.first(inside, counter), -1);
        let mut length = Sum::default();
        length.add(&distance, step);
        let mut terms = length.terms.iter();
        match (terms.next(), terms.next()) {
            (None, _) => u64::try_from(length.constant).ok().map(Length::Constant),
            (Some((id, 1)), None) => {
                let place = self.func.params.iter().position(|(parameter, _)| parameter == id)?;
                let ty = self.func.module.types.get(self.func.params[place].1);
                matches!(ty, Type::Int { width: 32 | 64 }).then_some(Length::Parameter(place))
            }
            _ => None,
        }
    }

    /// What a value is in the first iteration.
    fn first(&self, inside: LoopId, id: Id) -> Sum {
        let of = self.loops.get(inside);
        let mut sum = self.sum(id, 0);
        for phi in &self.func.blocks[of.header].phis {
            let Some(factor) = sum.terms.remove(&phi.result) else { continue };
            let begin = phi.from(of.preheader);
            begin.into_iter().for_each(|begin| sum.add(&self.sum(begin, 0), factor));
        }
        sum
    }

    /// A value as a sum of others. Where it wraps around is not looked at.
    fn sum(&self, id: Id, depth: u32) -> Sum {
        if let Some(constant) = self.func.constant_int(id) {
            return Sum { constant, ..Sum::default() };
        }
        let alone = || Sum { terms: [(id, 1)].into_iter().collect(), constant: 0 };
        let Some(inst) = self.definition(id).filter(|_| depth <= DEPTH) else { return alone() };
        let of = |at: usize| self.sum(inst.id(at), depth + 1);
        match inst.op {
            Op::SConvert | Op::UConvert | Op::CopyObject => of(0),
            Op::IAdd | Op::ISub => {
                let mut sum = of(0);
                sum.add(&of(1), if inst.op == Op::IAdd { 1 } else { -1 });
                sum
            }
            _ => alone(),
        }
    }
}

#[cfg(test)]
mod tests;
