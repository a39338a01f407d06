//! Puts the copy of a loop in front of it, for lanes that go through it together.

use super::super::func::{Block, BlockId, Func, Incoming, Phi, Taken, Terminator};
use super::super::twice;
use super::Plan;
use rustc_hash::FxHashMap;
use smallvec::smallvec;
use spirv::Op;
use spirv_env::{Id, Type, TypeId};

pub(super) fn apply(func: &mut Func<'_>, plan: Plan) {
    let bool_type = func.module.types.find(&Type::Bool).expect("lanes decide by Booleans");
    // Where lanes go on that have parted, or never were together: with what each brings for the phis.
    let apart = func.push(Block::forward(plan.header));
    let mut made = Copy {
        bool_type,
        truth: [0, 1].map(|bits| func.number(bits, bool_type)),
        blocks: FxHashMap::default(),
        ends: FxHashMap::default(),
        values: FxHashMap::default(),
        phis: FxHashMap::default(),
        apart,
        left: Vec::new(),
        plan: &plan,
    };
    made.copy(func);
}

struct Copy<'p> {
    bool_type: TypeId,
    /// False and true.
    truth: [Id; 2],
    /// Where the copy of a block begins, and where it ends.
    blocks: FxHashMap<BlockId, BlockId>,
    ends: FxHashMap<BlockId, BlockId>,
    values: FxHashMap<Id, Id>,
    /// The copies of phis, which are others than what stands for them where lanes decide by one.
    phis: FxHashMap<Id, Id>,
    apart: BlockId,
    /// The blocks that lead to `apart`, with the values of the header's phis there.
    left: Vec<(BlockId, Vec<Id>)>,
    plan: &'p Plan,
}

impl Copy<'_> {
    fn value(&self, id: Id) -> Id {
        self.values.get(&id).copied().unwrap_or(id)
    }

    fn copy(&mut self, func: &mut Func<'_>) {
        let plan = self.plan;
        let phis = func.blocks[plan.header].phis.clone();
        let firsts: Vec<Id> = phis.iter().map(|phi| phi.from(plan.preheader).expect("an operand")).collect();
        for block in &plan.blocks {
            let copy = func.push(Block::forward(self.apart));
            self.blocks.insert(*block, copy);
        }
        // In front of it.
        let asked = func.push(Block::forward(self.blocks[&plan.header]));
        func.blocks[plan.preheader].term.retarget(plan.header, asked);
        let mut begins: Vec<Id> = Vec::new();
        let mut alike: Option<Id> = None;
        for (phi, first) in phis.iter().zip(&firsts) {
            if !plan.asked.contains(&phi.result) {
                begins.push(*first);
                continue;
            }
            let (inst, one) = func.take(Taken::OfFirst, phi.ty, *first);
            func.blocks[asked].insts.push(inst);
            let (inst, is_one) = func.computed(Op::IEqual, self.bool_type, &[*first, one]);
            func.blocks[asked].insts.push(inst);
            begins.push(one);
            alike = Some(match alike {
                None => is_one,
                Some(others) => {
                    let (inst, all) = func.computed(Op::LogicalAnd, self.bool_type, &[others, is_one]);
                    func.blocks[asked].insts.push(inst);
                    all
                }
            });
        }
        let mut end = asked;
        if let Some(holds) = alike {
            let then = func.push(Block::forward(self.apart));
            func.blocks[end].term = if_all(holds, then, self.apart);
            self.left.push((end, firsts.clone()));
            end = then;
        }
        for condition in &plan.decided {
            let (next, decided) = self.decide(func, end, *condition, &firsts);
            self.values.insert(*condition, decided);
            end = next;
        }
        func.blocks[end].term = Terminator::Branch(self.blocks[&plan.header]);
        // The iterations.
        for phi in &phis {
            self.phi(func, phi);
        }
        let here: Vec<Id> = phis.iter().map(|phi| self.value(phi.result)).collect();
        for block in &plan.blocks {
            self.block(func, *block, &here);
        }
        for block in &plan.blocks {
            let code = func.blocks[*block].phis.clone();
            let copies: Vec<Phi> = (code.into_iter().enumerate())
                .map(|(at, phi)| {
                    let incoming = phi.incoming.iter().map(|(pred, value)| match self.ends.get(pred) {
                        Some(copy) => (*copy, self.value(*value)),
                        None => (end, begins[at]),
                    });
                    Phi { result: self.phis[&phi.result], ty: phi.ty, incoming: incoming.collect() }
                })
                .collect();
            let begin = self.blocks[block];
            func.blocks[begin].phis.extend(copies);
        }
        self.join(func, &phis);
        self.leave(func);
    }

    /// Goes on where lanes decide alike, with what they decided: from the end of one block to another, which is returned.
    fn decide(&mut self, func: &mut Func<'_>, at: BlockId, condition: Id, here: &[Id]) -> (BlockId, Id) {
        let next = func.push(Block::forward(self.apart));
        let (inst, not) = func.computed(Op::LogicalNot, self.bool_type, &[condition]);
        let or_not = func.push(Block { phis: Vec::new(), insts: vec![inst], term: Terminator::Return });
        func.blocks[at].term = if_all(condition, next, or_not);
        func.blocks[or_not].term = if_all(not, next, self.apart);
        self.left.push((or_not, here.to_vec()));
        let decided = func.fresh_of(self.bool_type);
        let incoming: Incoming = smallvec![(at, self.truth[1]), (or_not, self.truth[0])];
        func.blocks[next].phis.push(Phi { result: decided, ty: self.bool_type, incoming });
        (next, decided)
    }

    fn phi(&mut self, func: &mut Func<'_>, phi: &Phi) {
        let result = func.fresh_of(phi.ty);
        self.values.insert(phi.result, result);
        self.phis.insert(phi.result, result);
    }

    fn block(&mut self, func: &mut Func<'_>, block: BlockId, here: &[Id]) {
        let code = func.blocks[block].clone();
        let mut at = self.blocks[&block];
        if block != self.plan.header {
            for phi in &code.phis {
                self.phi(func, phi);
            }
        }
        for phi in code.phis.iter().filter(|phi| self.plan.decisions.contains(&phi.result)) {
            let (next, decided) = self.decide(func, at, self.value(phi.result), here);
            self.values.insert(phi.result, decided);
            at = next;
        }
        for inst in code.insts {
            let copy = func.copied(&inst, |id| self.value(id));
            let (result, made) = (inst.result, copy.result);
            func.blocks[at].insts.push(copy);
            let Some((result, made)) = result.zip(made) else { continue };
            self.values.insert(result, made);
            if self.plan.decisions.contains(&result) {
                let (next, decided) = self.decide(func, at, made, here);
                self.values.insert(result, decided);
                at = next;
            }
        }
        let mut term = code.term;
        if let Some(used) = term.used_mut() {
            *used = self.value(*used);
        }
        // All at once, since old and new blocks are others.
        for to in term.successors() {
            if let Some(copy) = self.blocks.get(&to) {
                term.retarget(to, *copy);
            }
        }
        func.blocks[at].term = term;
        self.ends.insert(block, at);
    }

    /// The loop itself begins with what those bring that come apart.
    fn join(&self, func: &mut Func<'_>, phis: &[Phi]) {
        for (at, phi) in phis.iter().enumerate() {
            let incoming: Incoming = self.left.iter().map(|(from, values)| (*from, values[at])).collect();
            let result = func.fresh_of(phi.ty);
            func.blocks[self.apart].phis.push(Phi { result, ty: phi.ty, incoming });
            let of_loop = &mut func.blocks[self.plan.header].phis[at].incoming;
            let first = of_loop.iter_mut().find(|(pred, _)| *pred == self.plan.preheader);
            *first.expect("an operand") = (self.apart, result);
        }
    }

    /// Where the loop is left, its copy is, too: what is used behind comes from either.
    fn leave(&self, func: &mut Func<'_>) {
        let (from, to) = &self.plan.exits;
        let is_exit = |pred: BlockId| from.contains(&pred) || from.iter().any(|from| self.ends[from] == pred);
        for phi in &mut func.blocks[*to].phis {
            for from in from {
                let value = phi.from(*from).expect("nobody else comes there");
                phi.incoming.push((self.ends[from], self.value(value)));
            }
        }
        let is_of_loop = |id: Id| self.values.contains_key(&id) && !self.plan.decided.contains(&id);
        let is_inside =
            |block: BlockId| self.plan.blocks.contains(&block) || block.as_u32() >= self.apart.as_u32();
        let mut phis = Vec::new();
        twice::join_uses(
            func,
            |block| !is_inside(block),
            is_exit,
            is_of_loop,
            |func, id, ty| {
                let result = func.fresh_of(ty);
                let of_both = |from: &BlockId| [(*from, id), (self.ends[from], self.values[&id])];
                phis.push(Phi { result, ty, incoming: from.iter().flat_map(of_both).collect() });
                result
            },
        );
        func.blocks[*to].phis.extend(phis);
    }
}

/// Neither way is the usual one: the loop itself is no place to spill registers in.
fn if_all(holds: Id, then: BlockId, els: BlockId) -> Terminator {
    Terminator::IfAll { holds, then, els, is_expected: false }
}
