//! What is known in the interior, and what has to be asked for it.

use super::super::Analysis;
use super::super::func::{BlockId, ENTRY, Terminator};
use super::super::joins::COMPARISONS;
use super::super::order;
use super::super::repetition;
use super::super::shapes::Shape;
use super::counters::{self, Range};
use super::sources::{Counted, Sources};
use cranelift_entity::EntitySet;
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Op, OpenclStd100Op as StdOp};
use spirv_env::opcodes::Memory;
use spirv_env::{Id, Inst, Type};

/// Instructions of the processor that the interior has at most.
const MOST_INSTS: usize = 700;
/// What is asked at most.
const MOST_FACTS: usize = 48;
/// Accesses that have to be rows in the interior, or conditions of lanes' that have to be known in it, at least, for it to be worth its place.
pub(super) const LEAST: usize = 2;
/// What an access in a loop counts for.
const IN_LOOP: usize = 4;
/// Instructions of a kernel that is looked through at all.
const MOST_LOOKED_THROUGH: usize = 4 * MOST_INSTS;
/// How far uses of a condition are followed, and how many of them at most.
const MOST_DEPTH: u32 = 6;
const MOST_USES: usize = 64;
/// Numbers that are a distance from an edge, rather than the size of a grid.
const MOST_OF_EDGE: u64 = 16;

/// What a value is in the interior.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Known {
    /// The bits of an integer or a Boolean.
    Number(u64),
    Same(Id),
    /// The first integer less the second one.
    Difference(Id, Id),
}

/// What a fact is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Term {
    /// A value, of the first iteration of a loop or of the last one if it depends on its counter.
    Value(Id, Option<(Id, End)>),
    /// The last number of a counter's range.
    Last(Range),
    /// A number of the type of a value.
    Number(u64, Id),
    /// Of the bits that are set in a number, those that are set in the next one, too: none for numbers which are one less than a power of two.
    Carry(Id),
}

/// An end of a range.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum End {
    First(Range),
    Last(Range),
}

/// A comparison that is true for all work-items in the interior.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Fact {
    pub op: Op,
    pub terms: [Term; 2],
}

/// The interior of a kernel.
#[derive(Debug)]
pub(super) struct Plan {
    pub known: FxHashMap<Id, Known>,
    pub facts: Vec<Fact>,
    /// The blocks that are executed in it, and the ways that control goes.
    pub blocks: Vec<BlockId>,
    pub edges: FxHashSet<(BlockId, BlockId)>,
    /// Whether enough is decided in it that lanes decide elsewhere.
    pub is_decided: bool,
}

/// Whether a kernel has what interiors may be made for, and nothing that may not be there twice. Cheap, and asked of all.
pub(super) fn may_be_split(a: &Analysis<'_>) -> bool {
    let insts = || a.func.blocks.values().flat_map(|block| &block.insts);
    let may_be_copied = |inst: &Inst| {
        // A chosen structure would hide which of its members are products.
        let is_structure = || {
            let ty = inst.ty.map(|ty| a.func.module.types.get(ty));
            inst.op == Op::Select && matches!(ty, Some(Type::Struct { .. } | Type::Array { .. }))
        };
        let meets = inst.waits_for_work_group(a.func.module) || inst.waits_for_launch(a.func.module);
        repetition::may_be_there_twice(inst) && !meets && !is_structure()
    };
    let varying = || a.func.block_ids().filter(|block| a.control.varying.contains(*block)).nth(1).is_some();
    let hoped = || {
        a.func.block_ids().any(|block| {
            let mut insts = a.func.blocks[block].insts.iter();
            insts.any(|inst| is_varying_access(a, block, inst) && a.may_be_row(block, inst.id(0)))
        })
    };
    !a.func.kernel.prints
        && insts().nth(MOST_LOOKED_THROUGH).is_none()
        && a.func.selectors.is_empty()
        && insts().all(may_be_copied)
        && a.func.blocks[ENTRY].phis.is_empty()
        && (varying() || hoped())
}

/// Accesses that are no rows, those in loops counted as several.
pub(super) fn gathers(a: &Analysis<'_>) -> usize {
    let of_block = |block: BlockId| {
        let insts = a.func.blocks[block].insts.iter();
        insts.filter(|inst| is_varying_access(a, block, inst)).count() * weight(a, block)
    };
    a.func.block_ids().map(of_block).sum()
}

fn weight(a: &Analysis<'_>, block: BlockId) -> usize {
    if a.loops.of(block).is_some() { IN_LOOP } else { 1 }
}

fn is_varying_access(a: &Analysis<'_>, block: BlockId, inst: &Inst) -> bool {
    matches!(inst.row().memory, Memory::Read { .. } | Memory::Write { .. })
        && a.is_in_memory(inst.id(0))
        && a.shape(block, inst.id(0))[0] == Shape::Varying
}

#[derive(Clone, Copy)]
enum Use {
    Inst(BlockId, usize),
    Branch(BlockId),
}

struct Planner<'a, 'm> {
    a: &'a Analysis<'m>,
    sources: Sources<'a, 'm>,
    uses: FxHashMap<Id, Vec<Use>>,
    plan: Plan,
    /// Values that are rows, or may be, in the interior only.
    gained: FxHashSet<Id>,
    rows: usize,
    decided: usize,
}

impl Plan {
    /// The interior of a kernel, where it is worth its place.
    pub fn of(a: &Analysis<'_>) -> Option<Plan> {
        let plan = Plan {
            known: FxHashMap::default(),
            facts: Vec::new(),
            blocks: Vec::new(),
            edges: FxHashSet::default(),
            is_decided: false,
        };
        let mut planner = Planner {
            a,
            sources: Sources::new(a),
            uses: uses(a),
            plan,
            gained: FxHashSet::default(),
            rows: 0,
            decided: 0,
        };
        let mut reached: EntitySet<BlockId> = EntitySet::new();
        reached.insert(ENTRY);
        for &block in &a.regions.order {
            if reached.contains(block) {
                planner.plan.blocks.push(block);
                let next = planner.block(block);
                planner.plan.edges.extend(next.iter().map(|to| (block, *to)));
                reached.extend(next);
            }
        }
        planner.plan.facts = planner.strongest();
        let Planner { mut plan, rows, decided, .. } = planner;
        plan.is_decided = decided >= LEAST;
        let insts: usize = plan.blocks.iter().map(|block| a.processor_insts(*block)).sum();
        let is_worth_it = rows >= LEAST || plan.is_decided;
        let is_small = insts <= MOST_INSTS;
        tracing::trace!(rows, decided, insts, facts = plan.facts.len(), "interior of {}", a.func.kernel.name);
        (is_worth_it && is_small && (1..=MOST_FACTS).contains(&plan.facts.len())).then_some(plan)
    }
}

fn uses(a: &Analysis<'_>) -> FxHashMap<Id, Vec<Use>> {
    let mut uses: FxHashMap<Id, Vec<Use>> = FxHashMap::default();
    for (at, block) in &a.func.blocks {
        for (place, inst) in block.insts.iter().enumerate() {
            inst.ids().for_each(|id| uses.entry(id).or_default().push(Use::Inst(at, place)));
        }
        if let Some(id) = block.term.used() {
            uses.entry(id).or_default().push(Use::Branch(at));
        }
    }
    uses
}

impl Planner<'_, '_> {
    /// Finds what is known behind a block, and returns where it leads.
    fn block(&mut self, block: BlockId) -> Vec<BlockId> {
        let a = self.a;
        let code = &a.func.blocks[block];
        if a.loops.headed_by(block).is_none() {
            for phi in &code.phis {
                let mut incoming =
                    phi.incoming.iter().filter(|(pred, _)| self.plan.edges.contains(&(*pred, block)));
                let first = incoming.next().map(|(_, id)| self.end_of(*id));
                // Products are not fused with sums through a phi.
                if let Some(first) = first.filter(|_| !self.is_float(phi.result))
                    && incoming.all(|(_, id)| self.end_of(*id) == first)
                {
                    self.know(block, phi.result, self.as_known(first));
                }
            }
        }
        for inst in &code.insts {
            self.inst(block, inst);
        }
        match &code.term {
            Terminator::Cond { cond, then, els } => match self.number(*cond) {
                Some(number) => {
                    let (to, other) = if number != 0 { (*then, *els) } else { (*els, *then) };
                    self.decided += usize::from(a.control.varying.contains(block) && !self.leads_out(other));
                    vec![to]
                }
                None => vec![*then, *els],
            },
            Terminator::Switch { selector, cases, default } => match self.number(*selector) {
                Some(number) => {
                    let case = cases.iter().find(|(of, _)| *of == number);
                    vec![case.map_or(*default, |(_, to)| *to)]
                }
                None => code.term.successors().to_vec(),
            },
            term => term.successors().to_vec(),
        }
    }

    /// Whether nothing is done from a block on.
    fn leads_out(&self, mut block: BlockId) -> bool {
        for _ in 0..MOST_DEPTH {
            let code = &self.a.func.blocks[block];
            match code.term {
                _ if !code.insts.is_empty() => return false,
                Terminator::Return => return true,
                Terminator::Branch(to) => block = to,
                _ => return false,
            }
        }
        false
    }

    fn is_float(&self, id: Id) -> bool {
        let leaves = self.a.func.type_of(id).and_then(|ty| self.a.leaves.get(ty));
        leaves.is_none_or(|leaves| leaves.iter().any(|leaf| leaf.scalar.is_float()))
    }

    /// What stands for a value.
    fn end_of(&self, mut id: Id) -> Id {
        while let Some(Known::Same(other)) = self.plan.known.get(&id) {
            id = *other;
        }
        id
    }

    fn as_known(&self, id: Id) -> Known {
        match self.plan.known.get(&id) {
            Some(Known::Number(bits)) => Known::Number(*bits),
            _ => Known::Same(id),
        }
    }

    fn number(&self, id: Id) -> Option<u64> {
        match self.plan.known.get(&self.end_of(id)) {
            Some(Known::Number(bits)) => Some(*bits),
            _ => self.a.func.constant_bits(self.end_of(id)),
        }
    }

    fn know(&mut self, block: BlockId, result: Id, known: Known) {
        if !matches!(known, Known::Number(_)) && self.a.shape(block, result)[0] == Shape::Varying {
            self.gained.insert(result);
        }
        self.plan.known.insert(result, known);
    }

    fn inst(&mut self, block: BlockId, inst: &Inst) {
        if is_varying_access(self.a, block, inst) && self.gained.contains(&self.end_of(inst.id(0))) {
            self.rows += weight(self.a, block);
        }
        let Some(result) = inst.result.filter(|_| inst.ty.is_some()) else { return };
        if let Some(bits) = self.a.func.number_of(inst, |id| self.number(id)) {
            self.know(block, result, Known::Number(bits));
        } else if let Some(known) = self.selected(inst).or_else(|| self.within_bounds(block, inst)) {
            self.know(block, result, known);
        } else if COMPARISONS.contains(&inst.op) {
            if let Some(is_true) = self.compared(block, inst, result) {
                self.know(block, result, Known::Number(is_true.into()));
            }
        } else if self.sources.is_plain(inst) && inst.ids().any(|id| self.gained.contains(&id)) {
            self.gained.insert(result);
        }
    }

    /// What a selection or a junction is one of whose conditions is known.
    fn selected(&self, inst: &Inst) -> Option<Known> {
        let known = |at: usize| self.number(inst.id(at)).map(|number| number != 0);
        let chosen = match inst.op {
            Op::Select => {
                let chosen = inst.id(if known(0)? { 1 } else { 2 });
                if inst.result.is_none_or(|result| self.is_float(result)) {
                    return None;
                }
                chosen
            }
            Op::LogicalAnd if known(0) == Some(true) => inst.id(1),
            Op::LogicalAnd if known(1) == Some(true) => inst.id(0),
            Op::LogicalOr if known(0) == Some(false) => inst.id(1),
            Op::LogicalOr if known(1) == Some(false) => inst.id(0),
            Op::LogicalAnd if known(0).or(known(1)) == Some(false) => return Some(Known::Number(0)),
            Op::LogicalOr if known(0).or(known(1)) == Some(true) => return Some(Known::Number(1)),
            _ => return None,
        };
        Some(self.as_known(self.end_of(chosen)))
    }

    /// What a number is that is kept within bounds, and within them in the interior.
    fn within_bounds(&mut self, block: BlockId, inst: &Inst) -> Option<Known> {
        use StdOp::{s_clamp, s_max, s_min, u_clamp, u_max, u_min};
        let scalar = inst.ty.and_then(|ty| self.a.leaves.scalar(ty))?;
        if scalar.is_float() || scalar.bytes() > 8 {
            return None;
        }
        match inst.op {
            Op::ExtInst => {
                let function = self.sources.bounded(inst)?;
                let arguments: Vec<Id> = inst.ids().skip(1).map(|id| self.end_of(id)).collect();
                let (number, bounds) = match (function, arguments.as_slice()) {
                    (s_clamp | u_clamp, [number, bounds @ ..]) => (*number, bounds.to_vec()),
                    (_, [a, b]) if self.has_id(*a) => (*a, vec![*b]),
                    (_, [a, b]) => (*b, vec![*a]),
                    _ => return None,
                };
                let [above, below] = match function {
                    s_clamp | s_max | s_min => [Op::SGreaterThanEqual, Op::SLessThanEqual],
                    _ => [Op::UGreaterThanEqual, Op::ULessThanEqual],
                };
                let ops = match function {
                    s_clamp | u_clamp => vec![above, below],
                    s_max | u_max => vec![above],
                    s_min | u_min => vec![below],
                    _ => return None,
                };
                let orders: Vec<(Op, Id)> = ops.into_iter().zip(bounds).collect();
                self.is_within(block, number, &orders, &[])?;
                Some(Known::Same(number))
            }
            Op::UMod | Op::SRem | Op::SMod => {
                let (number, divisor) = (self.end_of(inst.id(0)), self.end_of(inst.id(1)));
                let is_signed = inst.op != Op::UMod;
                let positive = Fact {
                    op: Op::SGreaterThan,
                    terms: [Term::Value(divisor, None), Term::Number(0, divisor)],
                };
                let positive: &[Fact] = if is_signed { &[positive] } else { &[] };
                if !self.is_step(number) {
                    return None;
                }
                if !self.has_addend(number, divisor, MOST_DEPTH) {
                    self.is_within(block, number, &[(Op::ULessThan, divisor)], positive)?;
                    return Some(Known::Same(number));
                }
                let [above, below] = match is_signed {
                    true => [Op::SGreaterThanEqual, Op::SLessThan],
                    false => [Op::UGreaterThanEqual, Op::ULessThan],
                };
                // Of what depends on a counter nothing is said once the divisor is taken away.
                if self.source(block, number)?.counter.is_some() {
                    return None;
                }
                let result = inst.result?;
                let less = Fact { op: below, terms: [Term::Value(result, None), Term::Value(divisor, None)] };
                let facts: Vec<Fact> = positive.iter().copied().chain([less]).collect();
                self.is_within(block, number, &[(above, divisor)], &facts)?;
                Some(Known::Difference(number, divisor))
            }
            Op::BitwiseAnd => {
                let [a, b] = [0, 1].map(|at| self.end_of(inst.id(at)));
                let (number, mask) = if self.has_id(a) { (a, b) } else { (b, a) };
                if !self.is_step(number)
                    || self.number(mask).is_some_and(|mask| mask & mask.wrapping_add(1) != 0)
                {
                    return None;
                }
                let whole = Fact { op: Op::IEqual, terms: [Term::Carry(mask), Term::Number(0, mask)] };
                self.is_within(block, number, &[(Op::ULessThanEqual, mask)], &[whole])?;
                Some(Known::Same(number))
            }
            _ => None,
        }
    }

    /// Whether a number is a step from one that depends on ids, and kept on a grid: the number of an element is taken apart.
    fn is_step(&self, id: Id) -> bool {
        let sum = self.a.definition(id).filter(|inst| matches!(inst.op, Op::IAdd | Op::ISub));
        sum.is_some_and(|inst| inst.ids().any(|id| !self.has_id(self.end_of(id))))
    }

    fn has_addend(&self, id: Id, addend: Id, depth: u32) -> bool {
        let sum = self.a.definition(id).filter(|inst| depth > 0 && inst.op == Op::IAdd);
        sum.is_some_and(|inst| {
            inst.ids()
                .map(|id| self.end_of(id))
                .any(|id| id == addend || self.has_addend(id, addend, depth - 1))
        })
    }

    fn source(&self, block: BlockId, id: Id) -> Option<super::sources::Source> {
        let counts = |phi: Id| counters::range(self.a, phi, block).is_some();
        self.sources.of(id, &self.plan.known, &counts)
    }

    /// Whether a number depends on ids, and can be computed where the kernel begins.
    fn has_id(&self, id: Id) -> bool {
        let anywhere = |phi: Id| self.a.func.type_of(phi).is_some();
        self.sources.of(id, &self.plan.known, &anywhere).is_some_and(|source| source.has_id)
    }

    /// The value that a comparison has in the interior, which it then has for all that is asked.
    fn compared(&mut self, block: BlockId, inst: &Inst, result: Id) -> Option<bool> {
        let [a, b] = [0, 1].map(|at| self.end_of(inst.id(at)));
        let (number, bound, op) = match (self.has_id(a), self.has_id(b)) {
            (true, false) => (a, b, inst.op),
            (false, true) => (b, a, order::mirrored(inst.op)),
            _ => return None,
        };
        self.a.index_width(number)?;
        // Whether a loop goes on is no question of where an element is.
        let exits = |block: BlockId| {
            self.a
                .loops
                .of(block)
                .is_some_and(|id| self.a.loops.get(id).exits.iter().any(|(from, _)| *from == block))
        };
        let leaves = |used: &Use| matches!(used, Use::Branch(at) if exits(*at));
        if self.uses.get(&result).into_iter().flatten().any(leaves) {
            return None;
        }
        if let Some(known) = self.implied(op, number, bound) {
            return Some(known);
        }
        // Small numbers are below, and others above.
        let is_near =
            self.a.func.constant_int(bound).is_some_and(|bound| bound.unsigned_abs() <= MOST_OF_EDGE);
        let is_true = match op {
            Op::IEqual => false,
            Op::INotEqual => true,
            _ if is_near => !is_below(op),
            _ => self.wanted(result, MOST_DEPTH, &mut { MOST_USES }).unwrap_or(is_below(op)),
        };
        let holds = if is_true { op } else { order::inverse(op) };
        self.is_within(block, number, &[(holds, bound)], &[])?;
        Some(is_true)
    }

    /// What a comparison is for all for which what has been asked is true, if that says so: people ask about one edge again and again.
    fn implied(&self, op: Op, number: Id, bound: Id) -> Option<bool> {
        let [of_number, of_bound] = [number, bound].map(|id| Term::Value(id, None));
        let number_of = |term: Term| match term {
            Term::Value(id, None) => self.a.func.constant_int(self.end_of(id)),
            _ => None,
        };
        // The numbers that the comparison is true for begin or end at the bound.
        let (is_above, is_signed) = sides(op)?;
        let facts = self.plan.facts.iter().filter(|fact| fact.terms[0] == of_number);
        facts.filter_map(|fact| Some((fact, sides(fact.op)?))).find_map(|(fact, of)| {
            if of.1 != is_signed {
                return None;
            }
            if fact.terms[1] == of_bound {
                return (fact.op == op).then_some(true).or((fact.op == order::inverse(op)).then_some(false));
            }
            let (known, asked) = (number_of(fact.terms[1])?, number_of(of_bound)?);
            let is_small = is_signed || known >= 0 && asked >= 0;
            // Of two different bounds on one side, what is beyond the farther one is beyond the other.
            match (of.0, is_above) {
                (true, true) => (known > asked).then_some(true),
                (false, false) => (known < asked).then_some(true),
                (true, false) => (known > asked).then_some(false),
                (false, true) => (known < asked).then_some(false),
            }
            .filter(|_| is_small)
        })
    }

    /// Which value of a condition leads to where more is done, or to a number that depends on ids.
    fn wanted(&self, condition: Id, depth: u32, left: &mut usize) -> Option<bool> {
        let uses = self.uses.get(&condition).filter(|_| depth > 0)?;
        uses.iter().take(MOST_USES).find_map(|used| match *used {
            _ if *left == 0 => None,
            Use::Branch(at) => {
                let Terminator::Cond { then, els, .. } = self.a.func.blocks[at].term else { return None };
                let [then, els] = [then, els].map(|to| self.done_in(to));
                (then != els).then_some(then > els)
            }
            Use::Inst(at, place) => {
                *left -= 1;
                let inst = &self.a.func.blocks[at].insts[place];
                let mut joined = || self.wanted(inst.result?, depth - 1, left);
                let constant = |at: usize| self.a.func.constant_bits(inst.id(at));
                match inst.op {
                    Op::LogicalNot => joined().map(|wanted| !wanted),
                    Op::LogicalAnd => joined().filter(|wanted| *wanted),
                    Op::LogicalOr => joined().filter(|wanted| !wanted),
                    // `a && b`, `a || b`
                    Op::Select if constant(2) == Some(0) && self.is_condition(inst) => {
                        joined().filter(|wanted| *wanted)
                    }
                    Op::Select if constant(1) == Some(1) && self.is_condition(inst) => {
                        joined().filter(|wanted| !wanted)
                    }
                    Op::Select if inst.id(0) == condition => {
                        let is_row = |id: Id| matches!(self.a.shape(at, id)[0], Shape::Strided(_));
                        let is_number = |id: Id| self.a.func.module.constants.contains_key(&id);
                        // What is the same for all lanes is as little of a neighbour as a constant is: `at - (at >= n ? n : 0)`.
                        let is_same = |place: usize| self.a.shape(at, inst.id(place))[0].is_uniform();
                        let is_offset = !self.is_float(inst.result?) && is_same(1) && is_same(2);
                        match [1, 2].map(|at| is_row(inst.id(at))) {
                            [a, b] if a != b => Some(a),
                            _ if is_offset => None,
                            _ => match [1, 2].map(|at| is_number(inst.id(at))) {
                                [a, b] if a != b => Some(b),
                                _ => None,
                            },
                        }
                    }
                    _ => None,
                }
            }
        })
    }

    fn is_condition(&self, inst: &Inst) -> bool {
        inst.ty.is_some_and(|ty| matches!(self.a.func.module.types.get(ty), Type::Bool))
    }

    /// How much is done in a block: accesses to memory before all.
    fn done_in(&self, block: BlockId) -> usize {
        if self.leads_out(block) {
            return 0;
        }
        let accesses = |inst: &&Inst| inst.row().memory != Memory::None;
        1 + self.a.func.blocks[block].insts.iter().filter(accesses).count()
    }

    /// Asks whether a number is on these sides of bounds, and what else; `None` where that cannot be asked, or is more than is asked.
    fn is_within(&mut self, block: BlockId, number: Id, bounds: &[(Op, Id)], also: &[Fact]) -> Option<()> {
        let source = self.source(block, number).filter(|source| source.has_id)?;
        for (_, bound) in bounds {
            let of = self.source(block, *bound)?;
            if of.has_id || of.counter.is_some() {
                return None;
            }
        }
        let mut facts = also.to_vec();
        let ends = match source.counter {
            None => vec![None],
            Some(counter) => self.ends(block, counter, bounds, number, &mut facts)?,
        };
        for end in ends {
            let of_bound = |(op, bound): &(Op, Id)| Fact {
                op: *op,
                terms: [Term::Value(number, end), Term::Value(*bound, None)],
            };
            facts.extend(bounds.iter().map(of_bound));
        }
        for fact in facts {
            if !self.plan.facts.contains(&fact) {
                self.plan.facts.push(fact);
            }
        }
        (self.plan.facts.len() <= MOST_FACTS).then_some(())
    }

    /// The facts that all follow from. Of numbers that are constants from each other, as `x - 1` and `x + 1` are, the least is asked whether it is above a
    /// bound, the greatest whether it is below one, and both whether they wrap around on the way from one to the other: none does then.
    fn strongest(&self) -> Vec<Fact> {
        type Row = (Id, Option<(Id, End)>, bool);
        let mut rows: FxHashMap<Row, Vec<(i64, Id)>> = FxHashMap::default();
        let mut kept: Vec<(Fact, Option<(Row, i64)>)> = Vec::new();
        for fact in &self.plan.facts {
            let [Term::Value(number, end), _] = fact.terms else {
                kept.push((*fact, None));
                continue;
            };
            let Some((is_above, is_signed)) = sides(fact.op) else {
                kept.push((*fact, None));
                continue;
            };
            let (base, by) = self.base(number);
            let row = (base, end, is_signed);
            let numbers = rows.entry(row).or_default();
            if !numbers.contains(&(by, number)) {
                numbers.push((by, number));
            }
            // What numbers of a row are in another iteration is as far from each other.
            let of_row = |[number, bound]: [Term; 2]| match (number, bound) {
                (Term::Value(number, _), Term::Value(of, other)) if of == number => Term::Value(base, other),
                (_, bound) => bound,
            };
            let same = kept.iter_mut().find(|(other, of)| {
                let is_alike = other.op == fact.op && of_row(other.terms) == of_row(fact.terms);
                is_alike && of.is_some_and(|(of, _)| of == row)
            });
            match same {
                Some((other, Some((_, stronger)))) => {
                    if (by < *stronger) == is_above && by != *stronger {
                        (*other, *stronger) = (*fact, by);
                    }
                }
                _ => kept.push((*fact, Some((row, by)))),
            }
        }
        let mut facts: Vec<Fact> = kept.into_iter().map(|(fact, _)| fact).collect();
        let mut rows: Vec<(Row, Vec<(i64, Id)>)> = rows.into_iter().collect();
        rows.sort_unstable_by_key(|((base, _, is_signed), numbers)| (*base, *is_signed, numbers[0].1));
        for ((_, end, is_signed), numbers) in rows {
            let (least, greatest) = (numbers.iter().min(), numbers.iter().max());
            if let (Some(least), Some(greatest)) = (least, greatest)
                && least.0 < greatest.0
            {
                let terms = [greatest, least].map(|(_, number)| Term::Value(*number, end));
                facts.push(Fact { op: not_less(is_signed), terms });
            }
        }
        facts
    }

    /// A number as another one and a constant that is small for it.
    fn base(&self, number: Id) -> (Id, i64) {
        const FAR: u64 = 1 << 30;
        let (mut id, mut by) = (self.end_of(number), 0i64);
        for _ in 0..MOST_DEPTH {
            let Some(inst) = self.a.definition(id).filter(|_| !self.plan.known.contains_key(&id)) else {
                break;
            };
            let constant = |at: usize| self.a.func.constant_int(self.end_of(inst.id(at)));
            let (of, more) = match inst.op {
                Op::IAdd if self.a.index_width(id) >= Some(u32::BITS) => match (constant(0), constant(1)) {
                    (_, Some(more)) => (0, more),
                    (Some(more), None) => (1, more),
                    _ => break,
                },
                _ => break,
            };
            let sum = by.saturating_add(more);
            if sum.unsigned_abs() >= FAR || more.unsigned_abs() >= FAR {
                break;
            }
            (id, by) = (self.end_of(inst.id(of)), sum);
        }
        (id, by)
    }

    /// The ends of what a counter goes through, with what has to be asked for a number to be between the two in all iterations.
    fn ends(
        &self,
        block: BlockId,
        counter: Counted,
        bounds: &[(Op, Id)],
        number: Id,
        facts: &mut Vec<Fact>,
    ) -> Option<Vec<Option<(Id, End)>>> {
        let (range, is_signed) = counters::range(self.a, counter.phi, block)?;
        let is_order = |op: Op| !matches!(op, Op::IEqual | Op::INotEqual);
        let given = |id: Id| self.source(block, id).is_some_and(|of| of.counter.is_none());
        if !bounds.iter().all(|(op, _)| is_order(*op))
            || counter.widened.is_some_and(|widened| widened != is_signed)
            || !given(range.first)
            || !given(range.bound)
        {
            return None;
        }
        let ends = [End::First(range), End::Last(range)].map(|end| Some((counter.phi, end)));
        let [first, last] = ends.map(|end| Term::Value(number, end));
        let greater = if counter.grows { [last, first] } else { [first, last] };
        for (_, is_signed) in bounds.iter().filter_map(|(op, _)| sides(*op)) {
            facts.push(Fact { op: not_less(is_signed), terms: greater });
        }
        facts.push(Fact {
            op: not_less(is_signed),
            terms: [Term::Last(range), Term::Value(range.first, None)],
        });
        Some(ends.to_vec())
    }
}

/// Whether an order says that the first of two numbers is above the second one, and whether they have signs.
fn sides(op: Op) -> Option<(bool, bool)> {
    Some(match op {
        Op::ULessThan | Op::ULessThanEqual => (false, false),
        Op::UGreaterThan | Op::UGreaterThanEqual => (true, false),
        Op::SLessThan | Op::SLessThanEqual => (false, true),
        Op::SGreaterThan | Op::SGreaterThanEqual => (true, true),
        _ => return None,
    })
}

fn not_less(is_signed: bool) -> Op {
    if is_signed { Op::SGreaterThanEqual } else { Op::UGreaterThanEqual }
}

fn is_below(op: Op) -> bool {
    matches!(op, Op::ULessThan | Op::ULessThanEqual | Op::SLessThan | Op::SLessThanEqual)
}
