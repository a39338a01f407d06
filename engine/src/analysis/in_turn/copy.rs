//! Puts the turns of lanes beside a loop.

use super::super::func::{Block, BlockId, Func, Incoming, Phi, Taken, Terminator};
use super::super::twice;
use super::Plan;
use rustc_hash::FxHashMap;
use smallvec::smallvec;
use spirv_env::{Id, Type, TypeId};

/// Gives what stands behind the loop for what the loop has made.
pub(super) fn apply(func: &mut Func<'_>, mut plan: Plan) -> FxHashMap<Id, Id> {
    if plan.others_come {
        plan.exits.1 = place_of_its_own(func, &plan);
    }
    let plan = &plan;
    let made = Turns::new(func, plan);
    made.enter(func);
    let values = made.copy(func);
    made.leave(func, &values)
}

/// A block between the loop and the place to which it is left, where others do not come.
fn place_of_its_own(func: &mut Func<'_>, plan: &Plan) -> BlockId {
    let (from, to) = &plan.exits;
    let own = func.push(Block::forward(*to));
    from.iter().for_each(|from| func.blocks[*from].term.retarget(*to, own));
    let mut phis = std::mem::take(&mut func.blocks[*to].phis);
    for phi in &mut phis {
        let (of_loop, mut others): (Incoming, Incoming) =
            phi.incoming.iter().copied().partition(|(pred, _)| from.contains(pred));
        let result = func.fresh_of(phi.ty);
        func.blocks[own].phis.push(Phi { result, ty: phi.ty, incoming: of_loop });
        others.push((own, result));
        phi.incoming = others;
    }
    func.blocks[*to].phis = phis;
    own
}

/// The blocks beside a loop.
struct Turns<'p> {
    plan: &'p Plan,
    bool_type: TypeId,
    /// Where it turns out how many lanes are on.
    asked: BlockId,
    /// Where a turn begins, with what the lane brings that has it, and where it ends.
    turn: BlockId,
    done: BlockId,
    /// Where the lane leaves the loop of turns, and where to; others go back.
    next: BlockId,
    left: BlockId,
    /// The copies of the loop's blocks.
    blocks: FxHashMap<BlockId, BlockId>,
}

impl<'p> Turns<'p> {
    fn new(func: &mut Func<'_>, plan: &'p Plan) -> Self {
        let to = plan.exits.1;
        let bool_type = func.module.types.find(&Type::Bool).expect("lanes decide by Booleans");
        let [asked, turn, done, next, left] = [(); 5].map(|()| func.push(Block::forward(to)));
        let mut blocks = FxHashMap::default();
        for block in &plan.blocks {
            blocks.insert(*block, func.push(Block::forward(done)));
        }
        Turns { plan, bool_type, asked, turn, done, next, left, blocks }
    }

    /// Asks in front of the loop.
    fn enter(&self, func: &mut Func<'_>) {
        let Plan { header, preheader, most, .. } = *self.plan;
        func.blocks[self.asked].term = Terminator::IfFew { most, then: self.turn, els: header };
        func.blocks[preheader].term.retarget(header, self.asked);
        for (pred, _) in func.blocks[header].phis.iter_mut().flat_map(|phi| &mut phi.incoming) {
            if *pred == preheader {
                *pred = self.asked;
            }
        }
    }

    /// The loop for the lane whose turn it is. Gives what its values are there.
    fn copy(&self, func: &mut Func<'_>) -> FxHashMap<Id, Id> {
        let mut values: FxHashMap<Id, Id> = FxHashMap::default();
        let on = func.number(1, self.bool_type);
        let (inst, is_on) = func.take(Taken::HasTurn, self.bool_type, on);
        func.blocks[self.turn].insts.push(inst);
        for id in &self.plan.brought {
            let ty = func.type_of(*id).expect("what is brought has a type");
            let (inst, own) = func.take(Taken::OfTurn, ty, *id);
            func.blocks[self.turn].insts.push(inst);
            values.insert(*id, own);
        }
        let begin = self.blocks[&self.plan.header];
        func.blocks[self.turn].term = Terminator::Cond { cond: is_on, then: begin, els: self.next };
        for block in &self.plan.blocks {
            let code = func.blocks[*block].clone();
            let copy = self.blocks[block];
            for phi in &code.phis {
                values.insert(phi.result, func.fresh_of(phi.ty));
            }
            for inst in &code.insts {
                let own = func.copied(inst, |id| values.get(&id).copied().unwrap_or(id));
                values.extend(inst.result.zip(own.result));
                func.blocks[copy].insts.push(own);
            }
            let mut term = code.term;
            if let Some(used) = term.used_mut() {
                *used = values.get(used).copied().unwrap_or(*used);
            }
            // Old and new blocks are others.
            for to in term.successors() {
                term.retarget(to, self.blocks.get(&to).copied().unwrap_or(self.done));
            }
            func.blocks[copy].term = term;
        }
        for block in &self.plan.blocks {
            let of = |(pred, id): &(BlockId, Id)| {
                let pred = self.blocks.get(pred).copied().unwrap_or(self.turn);
                (pred, values.get(id).copied().unwrap_or(*id))
            };
            let phis = func.blocks[*block].phis.iter();
            let copies = phis.map(|phi| Phi {
                result: values[&phi.result],
                ty: phi.ty,
                incoming: phi.incoming.iter().map(of).collect(),
            });
            func.blocks[self.blocks[block]].phis = copies.collect();
        }
        func.blocks[self.done].term = Terminator::Branch(self.next);
        func.blocks[self.next].term = Terminator::Cond { cond: is_on, then: self.left, els: self.turn };
        values
    }

    /// What a lane's turn has made, where the loop of turns is left: for each block by which the loop itself is left, what it hands on.
    fn handed_on(&self, func: &mut Func<'_>, ty: TypeId, of: impl Fn(BlockId) -> Id) -> Id {
        let ends = self.plan.exits.0.iter().map(|from| (self.blocks[from], of(*from))).collect();
        let done = func.fresh_of(ty);
        func.blocks[self.done].phis.push(Phi { result: done, ty, incoming: ends });
        let nothing = func.undefined(ty);
        let result = func.fresh_of(ty);
        let incoming: Incoming = smallvec![(self.done, done), (self.turn, nothing)];
        func.blocks[self.next].phis.push(Phi { result, ty, incoming });
        result
    }

    /// Behind the loop, values come from it or from the turns.
    fn leave(&self, func: &mut Func<'_>, values: &FxHashMap<Id, Id>) -> FxHashMap<Id, Id> {
        let (from, to) = &self.plan.exits;
        let own = |id: Id| values.get(&id).copied().unwrap_or(id);
        let mut phis = func.blocks[*to].phis.clone();
        for phi in &mut phis {
            let of = |from| own(phi.from(from).expect("nobody else comes there"));
            let handed_on = self.handed_on(func, phi.ty, of);
            phi.incoming.push((self.left, handed_on));
        }
        let is_behind =
            |block: BlockId| block.as_u32() < self.asked.as_u32() && !self.plan.blocks.contains(&block);
        let is_made = |id: Id| values.contains_key(&id) && !self.plan.brought.contains(&id);
        let is_exit = |pred: BlockId| from.contains(&pred);
        let joined = twice::join_uses(func, is_behind, is_exit, is_made, |func, id, ty| {
            let handed_on = self.handed_on(func, ty, |_| own(id));
            let result = func.fresh_of(ty);
            let incoming = from.iter().map(|from| (*from, id)).chain([(self.left, handed_on)]);
            phis.push(Phi { result, ty, incoming: incoming.collect() });
            result
        });
        func.blocks[*to].phis = phis;
        joined
    }
}
