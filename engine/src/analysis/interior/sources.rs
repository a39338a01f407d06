//! What numbers are made of that can be computed where a kernel begins: ids, arguments, and counters of loops.

use super::super::Analysis;
use super::super::joins::{self, Plain};
use super::plan::Known;
use crate::analysis::func::{ENTRY, Synthetic};
use rustc_hash::FxHashMap;
use spirv::{BuiltIn, Op, OpenclStd100Op as StdOp};
use spirv_env::{Id, Inst};

/// Instructions that a number is made of, at most.
const MOST_INSTS: usize = 24;

/// What a number is made of.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Source {
    /// It differs among the work-items of a launch.
    pub has_id: bool,
    /// The counter of a loop, if there is one in it.
    pub counter: Option<Counted>,
}

/// A counter that is a part of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Counted {
    pub phi: Id,
    /// Whether the number grows when the counter does.
    pub grows: bool,
    /// How the counter is widened before, if it is: whether as one with a sign.
    pub widened: Option<bool>,
}

/// Instructions that may be computed where a kernel begins.
pub(super) struct Sources<'a, 'm> {
    a: &'a Analysis<'m>,
    plain: Plain,
}

impl<'a, 'm> Sources<'a, 'm> {
    pub fn new(a: &'a Analysis<'m>) -> Self {
        Self { a, plain: joins::plain_insts(&a.func) }
    }

    /// Whether an instruction may be computed where the kernel begins if its operands are there.
    pub fn is_plain(&self, inst: &Inst) -> bool {
        let is_number =
            || inst.ty.and_then(|ty| self.a.leaves.scalar(ty)).is_some_and(|scalar| !scalar.is_float());
        match inst.op {
            Op::Select => is_number(),
            Op::ExtInst => self.bounded(inst).is_some(),
            _ => inst.result.is_some_and(|result| self.plain.contains_key(&result)),
        }
    }

    /// The function that keeps an integer within bounds, if the instruction is one and no vector.
    pub fn bounded(&self, inst: &Inst) -> Option<StdOp> {
        self.a.bounding(inst).filter(|_| inst.ty.and_then(|ty| self.a.leaves.scalar(ty)).is_some())
    }

    /// What a number is made of, if it can be computed where the kernel begins; `counts` says which phis are counters.
    pub fn of(&self, id: Id, known: &FxHashMap<Id, Known>, counts: &dyn Fn(Id) -> bool) -> Option<Source> {
        self.follow(id, known, counts, &mut { MOST_INSTS })
    }

    fn follow(
        &self,
        id: Id,
        known: &FxHashMap<Id, Known>,
        counts: &dyn Fn(Id) -> bool,
        left: &mut usize,
    ) -> Option<Source> {
        *left = left.checked_sub(1)?;
        match known.get(&id) {
            Some(Known::Number(_)) => return Some(Source::default()),
            Some(Known::Same(other)) => return self.follow(*other, known, counts, left),
            Some(Known::Difference(a, b)) => {
                let (a, b) = (self.follow(*a, known, counts, left)?, self.follow(*b, known, counts, left)?);
                return difference(a, b);
            }
            None => {}
        }
        if matches!(self.a.func.synthetic.get(&id), Some(Synthetic::Undef)) {
            return None;
        }
        let Some(block) = self.a.def.get(&id).copied() else { return Some(Source::default()) };
        let Some(inst) = self.a.definition(id) else {
            let counter = Counted { phi: id, grows: true, widened: None };
            return counts(id).then_some(Source { has_id: false, counter: Some(counter) });
        };
        if inst.op == Op::Load {
            if let Some(pointer) = self.a.builtins.get(&inst.id(0)) {
                return Some(Source { has_id: is_id(pointer.builtin), counter: None });
            }
            // Members of arguments, which are loaded there.
            let is_member = block == ENTRY && self.a.func.structure_of(id).is_some();
            return is_member.then(Source::default);
        }
        if !self.is_plain(inst) {
            return None;
        }
        // The function's name is no operand.
        let operands = inst.ids().skip(usize::from(inst.op == Op::ExtInst));
        let operands: Vec<Id> = operands.collect();
        let sources = operands.iter().map(|id| self.follow(*id, known, counts, left));
        let sources: Vec<Source> = sources.collect::<Option<_>>()?;
        match (inst.op, sources.as_slice()) {
            (Op::IAdd, [a, b]) => sum(*a, *b),
            (Op::ISub, [a, b]) => difference(*a, *b),
            (Op::CopyObject, [only]) => Some(*only),
            // A number that a counter is added to may wrap around before it is widened.
            (Op::SConvert | Op::UConvert, [Source { has_id: false, counter: Some(counter) }])
                if self.is_same(inst.id(0), counter.phi, known) && self.widens(inst) =>
            {
                let widened = Some(inst.op == Op::SConvert);
                Some(Source { has_id: false, counter: Some(Counted { widened, ..*counter }) })
            }
            _ if sources.iter().any(|source| source.counter.is_some()) => None,
            _ => Some(Source { has_id: sources.iter().any(|source| source.has_id), counter: None }),
        }
    }

    fn is_same(&self, mut id: Id, other: Id, known: &FxHashMap<Id, Known>) -> bool {
        while let Some(Known::Same(to)) = known.get(&id) {
            id = *to;
        }
        id == other
    }

    fn widens(&self, inst: &Inst) -> bool {
        let width = |id: Id| self.a.index_width(id);
        inst.result.and_then(width) >= width(inst.id(0))
    }
}

/// Whether work-items of a launch have different ones, or work-groups.
fn is_id(builtin: BuiltIn) -> bool {
    use BuiltIn::*;
    matches!(
        builtin,
        GlobalInvocationId
            | GlobalLinearId
            | LocalInvocationId
            | LocalInvocationIndex
            | WorkgroupId
            | SubgroupId
            | SubgroupLocalInvocationId
    )
}

fn sum(a: Source, b: Source) -> Option<Source> {
    let counter = match (a.counter, b.counter) {
        (Some(_), Some(_)) => return None,
        (counter, None) | (None, counter) => counter,
    };
    Some(Source { has_id: a.has_id || b.has_id, counter })
}

fn difference(a: Source, b: Source) -> Option<Source> {
    let counter = b.counter.map(|counter| Counted { grows: !counter.grows, ..counter });
    sum(a, Source { counter, ..b })
}
