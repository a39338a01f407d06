//! Makes a kernel of two: what it is, and its interior, after the question which of them is executed.

use super::super::func::{Block, BlockId, ENTRY, Func, Phi, Terminator};
use super::super::joins;
use super::counters::Range;
use super::plan::{End, Fact, Known, Plan, Term};
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Op, StorageClass};
use spirv_env::opcodes::Memory;
use spirv_env::{Id, Inst, Type, TypeId};

/// Splits a kernel by a plan for it.
pub(super) fn apply(func: &mut Func<'_>, plan: Plan) {
    let bool_type = func.module.types.find(&Type::Bool).expect("each module has it");
    let definitions = definitions(func);
    let body = move_body(func, &plan);
    let end = add_end(func);
    let blocks: FxHashMap<BlockId, BlockId> =
        plan.blocks.iter().map(|block| (*block, func.push(Block::forward(end)))).collect();
    let mut asked =
        Asked { plan: &plan, definitions, bool_type, insts: Vec::new(), made: FxHashMap::default() };
    let facts: Vec<Id> = plan.facts.iter().map(|fact| asked.fact(func, fact)).collect();
    let and = |func: &mut Func<'_>, asked: &mut Asked<'_>, a: Id, b: Id| {
        asked.add(func, Op::LogicalAnd, bool_type, &[a, b])
    };
    let holds = facts.into_iter().reduce(|all, fact| and(func, &mut asked, all, fact));
    let insts = asked.insts;
    let Some(holds) = holds else { return };
    Interior { plan: &plan, blocks: &blocks, values: FxHashMap::default(), body, end }.copy(func);
    let code = &mut func.blocks[ENTRY];
    code.insts.extend(insts);
    code.term = Terminator::IfAll { holds, then: blocks[&ENTRY], els: body, is_expected: true };
}

fn definitions(func: &Func<'_>) -> FxHashMap<Id, Inst> {
    let insts = func.blocks.values().flat_map(|block| &block.insts);
    insts.filter_map(|inst| Some((inst.result?, inst.clone()))).collect()
}

/// Takes everything out of the first block but for what both have in common: variables, and what is made of arguments and ids and is the same
/// in the interior. Returns the block where the rest is.
fn move_body(func: &mut Func<'_>, plan: &Plan) -> BlockId {
    let plain = joins::plain_insts(func);
    let (mut common, mut rest) = (Vec::new(), Vec::new());
    let mut moved: FxHashSet<Id> = FxHashSet::default();
    for inst in std::mem::take(&mut func.blocks[ENTRY].insts) {
        let is_input = || inst.op == Op::Load && func.class_of(inst.id(0)) == Some(StorageClass::Input);
        let is_plain = |id: Id| plain.contains_key(&id) || func.structure_of(id).is_some();
        let is_same =
            inst.result.is_some_and(|id| (is_plain(id) || is_input()) && !plan.known.contains_key(&id))
                && !inst.ids().any(|id| moved.contains(&id));
        // Objects are there as long as the kernel runs.
        if is_same || matches!(inst.row().memory, Memory::Object) {
            common.push(inst);
        } else {
            moved.extend(inst.result);
            rest.push(inst);
        }
    }
    let term = func.blocks[ENTRY].term.clone();
    let successors = term.successors();
    let body = func.push(Block { phis: Vec::new(), insts: rest, term });
    for to in successors {
        let incoming = func.blocks[to].phis.iter_mut().flat_map(|phi| &mut phi.incoming);
        incoming.filter(|(pred, _)| *pred == ENTRY).for_each(|(pred, _)| *pred = body);
    }
    func.blocks[ENTRY].insts = common;
    body
}

/// Gives both a block where they end.
fn add_end(func: &mut Func<'_>) -> BlockId {
    let end = func.push(Block { phis: Vec::new(), insts: Vec::new(), term: Terminator::Return });
    for block in func.block_ids().filter(|block| *block != end) {
        if matches!(func.blocks[block].term, Terminator::Return) {
            func.blocks[block].term = Terminator::Branch(end);
        }
    }
    end
}

/// What is asked where a kernel begins.
struct Asked<'a> {
    plan: &'a Plan,
    definitions: FxHashMap<Id, Inst>,
    bool_type: TypeId,
    insts: Vec<Inst>,
    made: FxHashMap<(Id, Option<(Id, End)>), Id>,
}

impl Asked<'_> {
    fn add(&mut self, func: &mut Func<'_>, op: Op, ty: TypeId, operands: &[Id]) -> Id {
        let (inst, result) = func.computed(op, ty, operands);
        self.insts.push(inst);
        result
    }

    fn fact(&mut self, func: &mut Func<'_>, fact: &Fact) -> Id {
        let terms = fact.terms.map(|term| self.term(func, term));
        self.add(func, fact.op, self.bool_type, &terms)
    }

    fn term(&mut self, func: &mut Func<'_>, term: Term) -> Id {
        match term {
            Term::Value(id, end) => self.value(func, id, end),
            Term::Last(range) => self.last(func, range),
            Term::Number(bits, like) => func.number(bits, type_of(func, like)),
            Term::Carry(id) => {
                let ty = type_of(func, id);
                let id = self.value(func, id, None);
                let one = func.number(1, ty);
                let next = self.add(func, Op::IAdd, ty, &[id, one]);
                self.add(func, Op::BitwiseAnd, ty, &[id, next])
            }
        }
    }

    fn last(&mut self, func: &mut Func<'_>, range: Range) -> Id {
        let ty = type_of(func, range.bound);
        let bound = self.value(func, range.bound, None);
        let beyond = func.number(range.beyond as u64, ty);
        self.add(func, Op::IAdd, ty, &[bound, beyond])
    }

    /// A value as it is in the interior, in an iteration of a loop.
    fn value(&mut self, func: &mut Func<'_>, id: Id, end: Option<(Id, End)>) -> Id {
        if let Some((_, of)) = end.filter(|(counter, _)| *counter == id) {
            return match of {
                End::First(range) => self.value(func, range.first, None),
                End::Last(range) => self.last(func, range),
            };
        }
        if let Some(made) = self.made.get(&(id, end)) {
            return *made;
        }
        let made = match (self.plan.known.get(&id), self.definitions.get(&id).cloned()) {
            (Some(Known::Number(bits)), _) => func.number(*bits, type_of(func, id)),
            (Some(Known::Same(other)), _) => self.value(func, *other, end),
            (Some(Known::Difference(a, b)), _) => {
                let ty = type_of(func, id);
                let operands = [*a, *b].map(|id| self.value(func, id, end));
                self.add(func, Op::ISub, ty, &operands)
            }
            (None, Some(inst)) => {
                let mut operands: FxHashMap<Id, Id> = FxHashMap::default();
                for id in inst.ids().skip(usize::from(inst.op == Op::ExtInst)) {
                    operands.insert(id, self.value(func, id, end));
                }
                let is_same = operands.iter().all(|(id, made)| id == made);
                let is_there = func.blocks[ENTRY].insts.iter().any(|inst| inst.result == Some(id));
                match is_same && is_there {
                    true => id,
                    false => {
                        let copy = func.copied(&inst, |id| operands.get(&id).copied().unwrap_or(id));
                        let result = copy.result.expect("what is computed has a result");
                        self.insts.push(copy);
                        result
                    }
                }
            }
            (None, None) => id,
        };
        self.made.insert((id, end), made);
        made
    }
}

fn type_of(func: &Func<'_>, id: Id) -> TypeId {
    func.type_of(id).expect("what is compared has a type")
}

/// The copy that is the interior.
struct Interior<'a> {
    plan: &'a Plan,
    blocks: &'a FxHashMap<BlockId, BlockId>,
    /// By what they are in the kernel itself.
    values: FxHashMap<Id, Id>,
    /// Where the first block's instructions are.
    body: BlockId,
    end: BlockId,
}

impl Interior<'_> {
    fn value(&self, id: Id) -> Id {
        self.values.get(&id).copied().unwrap_or(id)
    }

    fn copy(mut self, func: &mut Func<'_>) {
        for block in &self.plan.blocks {
            self.block(func, *block);
        }
        for block in &self.plan.blocks {
            for phi in &mut func.blocks[self.blocks[block]].phis {
                for (pred, value) in &mut phi.incoming {
                    *pred = self.blocks[pred];
                    *value = self.values.get(value).copied().unwrap_or(*value);
                }
            }
        }
    }

    fn block(&mut self, func: &mut Func<'_>, block: BlockId) {
        let code = func.blocks[if block == ENTRY { self.body } else { block }].clone();
        let mut copy = Block::forward(self.end);
        for phi in code.phis {
            if self.known(func, phi.result, phi.ty, &mut copy) {
                continue;
            }
            let result = func.fresh_of(phi.ty);
            self.values.insert(phi.result, result);
            // Edges out of the first block begin where its instructions are.
            let from = |pred: BlockId| if pred == self.body { ENTRY } else { pred };
            let incoming = phi.incoming.into_iter().map(|(pred, id)| (from(pred), id));
            let incoming = incoming.filter(|(pred, _)| self.plan.edges.contains(&(*pred, block))).collect();
            copy.phis.push(Phi { result, incoming, ..phi });
        }
        for inst in code.insts {
            if let (Some(result), Some(ty)) = (inst.result, inst.ty)
                && self.known(func, result, ty, &mut copy)
            {
                continue;
            }
            let mut made = func.copied(&inst, |id| self.value(id));
            if inst.op == Op::Select
                && let Some(condition) = func.constant_bits(made.id(0))
            {
                // A product stays apart from sums behind: a selection lies between them elsewhere.
                let chosen = made.operands[if condition != 0 { 1 } else { 2 }];
                made.op = Op::ArithmeticFenceEXT;
                made.operands = std::iter::once(chosen).collect();
            }
            self.values.extend(inst.result.zip(made.result));
            copy.insts.push(made);
        }
        copy.term = self.term(func, block, code.term);
        func.blocks[self.blocks[&block]] = copy;
    }

    /// Whether it is known what a value is; it is there then.
    fn known(&mut self, func: &mut Func<'_>, result: Id, ty: TypeId, copy: &mut Block) -> bool {
        let value = match self.plan.known.get(&result) {
            None => return false,
            Some(Known::Number(bits)) => func.number(*bits, ty),
            Some(Known::Same(other)) => self.value(*other),
            Some(Known::Difference(a, b)) => {
                let operands = [*a, *b].map(|id| self.value(id));
                let (inst, result) = func.computed(Op::ISub, ty, &operands);
                copy.insts.push(inst);
                result
            }
        };
        self.values.insert(result, value);
        true
    }

    fn term(&self, func: &Func<'_>, block: BlockId, mut term: Terminator) -> Terminator {
        if let Some(used) = term.used_mut() {
            *used = self.value(*used);
        }
        let goes_to = |to: BlockId| self.plan.edges.contains(&(block, to));
        term = match term {
            Terminator::Cond { then, els, .. } if then != els && goes_to(then) != goes_to(els) => {
                Terminator::Branch(if goes_to(then) { then } else { els })
            }
            Terminator::Switch { selector, cases, default } if func.constant_bits(selector).is_some() => {
                let to = cases.iter().map(|(_, to)| *to).chain([default]).find(|to| goes_to(*to));
                Terminator::Branch(to.unwrap_or(default))
            }
            term => term,
        };
        // All at once, since old and new blocks are others.
        for to in term.successors() {
            if let Some(copy) = self.blocks.get(&to) {
                term.retarget(to, *copy);
            }
        }
        term
    }
}
