//! Loops that ask at their beginning whether they go on ask at their end instead, and once in front of it.
//!
//! `for (i = id; i < n; i += size)` asks before each iteration. Compilers that optimise leave such loops as `if (i < n) do ... while (i < n)`
//! (loop rotation); those that do not leave them as they were written. Where lanes are told apart, that is another loop: what is done in an
//! iteration is under a mask of its own within the loop's, which all sub-groups compute anew and join behind it. All that is said about loops
//! elsewhere is about those that ask at their end.
//!
//! What the header computes is computed in front of the loop and at its end, for the question, and by the iterations that use it. Loops are
//! canonical, and stay so.

use super::cfg::{self, Cfg, Dominators};
use super::func::{Block, BlockId, Func, Phi, Terminator};
use super::loops::{self, Loop, Loops};
use cranelift_entity::EntitySet;
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::Op;
use spirv_env::opcodes::{Convergence, Cost, Memory};
use spirv_env::{Id, Inst, Operand};

/// Instructions of a header, at most.
const MOST_INSTS: usize = 8;
/// Loops times instructions that are looked at.
const MOST_STEPS: usize = 1 << 22;

/// Turns loops that are left in their header into such that are left at their end.
pub fn ask_at_end(func: &mut Func<'_>) {
    let cfg = Cfg::new(func);
    let loops = Loops::new(&cfg, &Dominators::new(&cfg));
    // One that is left at its end by some stays as it is.
    let has_end = |this: &Loop| {
        let is_exit = |of: &BlockId| *of != this.header && this.exits.iter().any(|(block, _)| block == of);
        cfg.preds[this.latch].iter().all(is_exit)
    };
    let asks = |this: &&Loop| Question::of(func, this).is_some() && !has_end(this);
    let headers: Vec<BlockId> = loops.loops.values().filter(asks).map(|this| this.header).collect();
    let size: usize = func.blocks.values().map(|block| 1 + block.phis.len() + block.insts.len()).sum();
    if headers.is_empty() || headers.len().saturating_mul(size) > MOST_STEPS {
        return;
    }
    headers.into_iter().for_each(|header| rotate(func, header));
    cfg::join_rows(func);
    loops::canonicalize(func);
}

/// Whether a loop goes on, as its header asks it.
#[derive(Clone, Copy)]
struct Question {
    condition: Id,
    /// Where it goes on.
    stay: BlockId,
    /// Whether it does so where the condition is true.
    stays_if: bool,
    leave: BlockId,
}

impl Question {
    /// That of a loop that has more than a header which asks.
    fn of(func: &Func<'_>, this: &Loop) -> Option<Question> {
        let header = &func.blocks[this.header];
        let Terminator::Cond { cond: condition, then, els } = header.term else { return None };
        let is_inside = |to: BlockId| this.blocks.contains(&to);
        let (stay, leave, stays_if) = match (is_inside(then), is_inside(els)) {
            (true, false) => (then, els, true),
            (false, true) => (els, then, false),
            _ => return None,
        };
        let is_little = header.insts.len() <= MOST_INSTS && header.insts.iter().all(may_be_copied);
        // Numbers of the engine's own are where they are made.
        let is_of_program = header.phis.iter().all(|phi| !func.selectors.contains(&phi.result));
        (stay != this.latch && is_little && is_of_program).then_some(Question {
            condition,
            stay,
            stays_if,
            leave,
        })
    }

    fn ask(&self, condition: Id, stay: BlockId) -> Terminator {
        let (then, els) = if self.stays_if { (stay, self.leave) } else { (self.leave, stay) };
        Terminator::Cond { cond: condition, then, els }
    }
}

/// Whether an instruction may be in several places in the stead of one.
fn may_be_copied(inst: &Inst) -> bool {
    let row = inst.row();
    inst.result.is_some()
        && row.convergence == Convergence::None
        && (is_load(inst) && !inst.is_volatile() || row.is_pure() && row.cost == Cost::Low)
}

fn is_load(inst: &Inst) -> bool {
    matches!(inst.row().memory, Memory::Read { .. })
}

/// A loop's header on its way to the end of the loop.
struct Rotation {
    /// The old header's.
    phis: Vec<Phi>,
    insts: Vec<Inst>,
    /// What its values are in front of the loop.
    before: FxHashMap<Id, Id>,
    /// What its phis are in the next iteration, by the names of this one.
    next: FxHashMap<Id, Id>,
    /// What its values are in an iteration, as far as that was asked for, and the new header that makes them.
    now: FxHashMap<Id, Id>,
    top: Block,
    /// The old header's values that are phis of the new one.
    carried: Vec<Id>,
}

/// Where a header was, and where it goes.
struct Places<'a> {
    header: BlockId,
    asked: Question,
    /// The new header.
    top: BlockId,
    /// What asks in front of the loop, if it may not be entered.
    guard: Option<BlockId>,
    /// See [`exits_to_uses`].
    left_by: &'a FxHashMap<BlockId, BlockId>,
    preds_of_leave: &'a [BlockId],
}

impl Rotation {
    fn is_own(&self, id: Id) -> bool {
        self.before.contains_key(&id)
    }

    /// What a value is in an iteration.
    fn now(&mut self, func: &mut Func<'_>, id: Id) -> Id {
        if let Some(now) = self.now.get(&id) {
            return *now;
        }
        let inst = self.insts.iter().find(|inst| inst.result == Some(id)).cloned();
        let phi = self.phis.iter().find(|phi| phi.result == id);
        let ty = match (&inst, phi) {
            (None, None) => return id,
            (Some(inst), _) if !is_load(inst) => {
                let ids: Vec<Id> = inst.ids().collect();
                let operands: FxHashMap<Id, Id> =
                    ids.into_iter().map(|id| (id, self.now(func, id))).collect();
                let copy = func.copied(inst, |id| operands[&id]);
                let now = copy.result.expect("instructions of the header have results");
                self.top.insts.push(copy);
                self.now.insert(id, now);
                return now;
            }
            // What was loaded when it was asked for is not loaded again.
            (Some(inst), _) => inst.ty.expect("what is loaded has a type"),
            (None, Some(phi)) => phi.ty,
        };
        let result = func.fresh();
        func.types.insert(result, ty);
        self.top.phis.push(Phi { result, ty, incoming: Default::default() });
        self.carried.push(id);
        self.now.insert(id, result);
        result
    }

    /// What a value is in front of the loop, where it is asked for the first time.
    fn before(&self, id: Id) -> Id {
        self.before.get(&id).copied().unwrap_or(id)
    }

    /// What a value is where it is asked for again.
    fn at_end(&mut self, func: &mut Func<'_>, id: Id) -> Id {
        match self.next.get(&id) {
            Some(next) => self.now(func, *next),
            None => id,
        }
    }
}

fn rotate(func: &mut Func<'_>, header: BlockId) {
    let cfg = Cfg::new(func);
    let doms = Dominators::new(&cfg);
    let loops = Loops::new(&cfg, &doms);
    let this = loops.of(header).map(|id| loops.get(id)).filter(|this| this.header == header);
    let Some((this, asked)) = this.and_then(|this| Some((this, Question::of(func, this)?))) else { return };
    let mut inside: EntitySet<BlockId> = EntitySet::new();
    inside.extend(this.blocks.iter().copied());
    let code = &func.blocks[header];
    let own = code.phis.iter().map(|phi| phi.result).chain(code.insts.iter().filter_map(|inst| inst.result));
    let own: FxHashSet<Id> = own.collect();
    let Some(left_by) = exits_to_uses(func, &cfg, &doms, &inside, &own) else { return };

    // Blocks behind `top` use none of the header's values.
    let [top, guard, preheader, end] = [(); 4].map(|()| func.push(Block::forward(asked.stay)));
    let code = std::mem::replace(&mut func.blocks[header], Block::forward(end));
    let of = |from: BlockId| move |phi: &Phi| Some((phi.result, phi.from(from)?));
    let mut rotation = Rotation {
        before: code.phis.iter().filter_map(of(this.preheader)).collect(),
        next: code.phis.iter().filter_map(of(this.latch)).collect(),
        phis: code.phis,
        insts: code.insts,
        now: FxHashMap::default(),
        top: Block::forward(asked.stay),
        carried: Vec::new(),
    };
    for inst in rotation.insts.clone() {
        let copy = func.copied(&inst, |id| rotation.before(id));
        rotation.before.extend(inst.result.zip(copy.result));
        func.blocks[guard].insts.push(copy);
    }
    func.blocks[this.preheader].term.retarget(header, guard);
    for block in [preheader, end] {
        func.blocks[block].term = Terminator::Branch(top);
    }
    let first = rotation.before(asked.condition);
    let is_sure = is_always(func, &func.blocks[guard].insts, first) == Some(asked.stays_if);
    func.blocks[guard].term =
        if is_sure { Terminator::Branch(preheader) } else { asked.ask(first, preheader) };
    let (left_by, preds_of_leave) = (&left_by, cfg.preds[asked.leave].as_slice());
    let asking = (!is_sure).then_some(guard);
    rename(func, &mut rotation, &Places { header, asked, top, guard: asking, left_by, preds_of_leave });
    for mut inst in rotation.insts.clone() {
        for operand in &mut inst.operands {
            if let Operand::Id(id) = operand {
                *id = rotation.at_end(func, *id);
            }
        }
        func.blocks[header].insts.push(inst);
    }
    let condition = rotation.at_end(func, asked.condition);
    func.blocks[header].term = asked.ask(condition, end);
    // What one is next may be what another is now.
    let mut at = 0;
    while let Some(&id) = rotation.carried.get(at) {
        let again = rotation.at_end(func, id);
        let incoming = [(preheader, rotation.before(id)), (end, again)];
        rotation.top.phis[at].incoming = incoming.into_iter().collect();
        at += 1;
    }
    func.blocks[top] = rotation.top;
    if !is_sure {
        loops::merge_edges(func, &[header, guard], asked.leave);
    }
}

/// The blocks that values of a loop are used in, or handed on from, outside of it, each with the block that the loop was left to
/// then. None where that may be several, or is reached in other ways.
pub(super) fn exits_to_uses(
    func: &Func<'_>,
    cfg: &Cfg,
    doms: &Dominators,
    inside: &EntitySet<BlockId>,
    own: &FxHashSet<Id>,
) -> Option<FxHashMap<BlockId, BlockId>> {
    let mut found = FxHashMap::default();
    let mut note = |at: BlockId| -> Option<()> {
        if inside.contains(at) || found.contains_key(&at) {
            return Some(());
        }
        let mut left = at;
        while !inside.contains(doms.idom(left)) {
            let up = doms.idom(left);
            left = (up != left).then_some(up)?;
        }
        found.insert(at, left);
        cfg.preds[left].iter().all(|pred| inside.contains(*pred)).then_some(())
    };
    for (at, block) in &func.blocks {
        for phi in &block.phis {
            phi.incoming.iter().filter(|(_, id)| own.contains(id)).try_for_each(|(pred, _)| note(*pred))?;
        }
        let is_used =
            block.insts.iter().flat_map(Inst::ids).chain(block.term.used()).any(|id| own.contains(&id));
        if is_used {
            note(at)?;
        }
    }
    Some(found)
}

/// Has everybody use what the header's values are there.
fn rename(func: &mut Func<'_>, rotation: &mut Rotation, places: &Places<'_>) {
    let Places { header, asked, top, guard, .. } = *places;
    let from_guard = |rotation: &Rotation, id: Id| guard.map(|guard| (guard, rotation.before(id)));
    let mut brought: Vec<(Id, Phi)> = Vec::new();
    for at in func.block_ids().filter(|at| *at != header && *at < top) {
        let mut code = std::mem::replace(&mut func.blocks[at], Block::forward(at));
        for phi in &mut code.phis {
            let mut first = None;
            for (pred, id) in &mut phi.incoming {
                let old = *id;
                if *pred != header {
                    *id = value(func, rotation, places, &mut brought, *pred, old);
                } else if at == asked.leave {
                    *id = rotation.at_end(func, old);
                    first = from_guard(rotation, old);
                } else {
                    (*pred, *id) = (top, rotation.now(func, old));
                }
            }
            phi.incoming.extend(first);
        }
        code.used_mut().for_each(|id| *id = value(func, rotation, places, &mut brought, at, *id));
        func.blocks[at] = code;
    }
    for (id, mut phi) in brought {
        for &pred in places.preds_of_leave {
            let value = if pred == header { rotation.at_end(func, id) } else { rotation.now(func, id) };
            phi.incoming.push((pred, value));
        }
        phi.incoming.extend(from_guard(rotation, id));
        func.blocks[asked.leave].phis.push(phi);
    }
}

/// What a value is in a block: where the header left the loop to, a phi that is to be.
fn value(
    func: &mut Func<'_>,
    rotation: &mut Rotation,
    places: &Places<'_>,
    brought: &mut Vec<(Id, Phi)>,
    at: BlockId,
    id: Id,
) -> Id {
    if !rotation.is_own(id) {
        return id;
    }
    if places.left_by.get(&at) != Some(&places.asked.leave) {
        return rotation.now(func, id);
    }
    if places.guard.is_none() && places.preds_of_leave.len() == 1 {
        return rotation.at_end(func, id);
    }
    if let Some((_, phi)) = brought.iter().find(|(of, _)| *of == id) {
        return phi.result;
    }
    let (result, ty) = (func.fresh(), func.types[&id]);
    func.types.insert(result, ty);
    brought.push((id, Phi { result, ty, incoming: Default::default() }));
    result
}

/// Whether a condition that is made by these instructions, if by any, is always true, or always false.
fn is_always(func: &Func<'_>, insts: &[Inst], condition: Id) -> Option<bool> {
    use Op::{SGreaterThan, SGreaterThanEqual, SLessThan, SLessThanEqual};
    use Op::{UGreaterThan, UGreaterThanEqual, ULessThan, ULessThanEqual};
    if let Some(bits) = func.constant_bits(condition) {
        return Some(bits != 0);
    }
    let inst = insts.iter().find(|inst| inst.result == Some(condition))?;
    if inst.operands.len() != 2 {
        return None;
    }
    let (a, b) = (inst.id(0), inst.id(1));
    let (bits, numbers) = (|id| func.constant_bits(id), |id| func.constant_int(id));
    Some(match inst.op {
        Op::IEqual => bits(a)? == bits(b)?,
        Op::INotEqual => bits(a)? != bits(b)?,
        ULessThan => bits(a)? < bits(b)?,
        ULessThanEqual => bits(a)? <= bits(b)?,
        UGreaterThan => bits(a)? > bits(b)?,
        UGreaterThanEqual => bits(a)? >= bits(b)?,
        SLessThan => numbers(a)? < numbers(b)?,
        SLessThanEqual => numbers(a)? <= numbers(b)?,
        SGreaterThan => numbers(a)? > numbers(b)?,
        SGreaterThanEqual => numbers(a)? >= numbers(b)?,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
