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
use super::exits::{self, Exit};
use super::func::{Block, BlockId, Func, Phi, Terminator};
use super::loops::{self, Loop, LoopId, Loops};
use cranelift_entity::EntitySet;
use rustc_hash::{FxHashMap, FxHashSet};
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
    let asks = |(id, this): &(LoopId, &Loop)| question(func, &loops, *id).is_some() && !has_end(this);
    let headers: Vec<BlockId> = loops.loops.iter().filter(asks).map(|(_, this)| this.header).collect();
    let size: usize = func.blocks.values().map(|block| 1 + block.phis.len() + block.insts.len()).sum();
    if headers.is_empty() || headers.len().saturating_mul(size) > MOST_STEPS {
        return;
    }
    headers.into_iter().for_each(|header| rotate(func, header));
    cfg::join_rows(func);
    loops::canonicalize(func);
}

/// How a loop is left in its header, if that does little else and is not all of the loop.
fn question(func: &Func<'_>, loops: &Loops, id: LoopId) -> Option<Exit> {
    let this = loops.get(id);
    let header = &func.blocks[this.header];
    let is_little = header.insts.len() <= MOST_INSTS && header.insts.iter().all(may_be_copied);
    // Numbers of the engine's own are where they are made.
    let is_of_program = header.phis.iter().all(|phi| !func.selectors.contains(&phi.result));
    exits::exit_of(func, loops, id, this.header)
        .filter(|exit| exit.stay != this.latch && is_little && is_of_program)
}

/// Goes on by a condition, or leaves as an exit does.
fn ask(exit: &Exit, condition: Id, stay: BlockId) -> Terminator {
    let (then, els) = if exit.stays_if { (stay, exit.leave) } else { (exit.leave, stay) };
    Terminator::Cond { cond: condition, then, els }
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
    asked: &'a Exit,
    /// The new header.
    top: BlockId,
    /// What asks in front of the loop, if it may not be entered.
    guard: Option<BlockId>,
    /// See [`exits::exits_to_uses`].
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
        let result = func.fresh_of(ty);
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
    let id = loops.headed_by(header);
    let Some((id, asked)) = id.and_then(|id| Some((id, question(func, &loops, id)?))) else { return };
    let this = loops.get(id);
    let mut inside: EntitySet<BlockId> = EntitySet::new();
    inside.extend(this.blocks.iter().copied());
    let code = &func.blocks[header];
    let own = code.phis.iter().map(|phi| phi.result).chain(code.insts.iter().filter_map(|inst| inst.result));
    let own: FxHashSet<Id> = own.collect();
    let Some(left_by) = exits::exits_to_uses(func, &cfg, &doms, &inside, &own) else { return };

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
    let known = |id: Id| func.constant_bits(id);
    let makes_first = func.blocks[guard].insts.iter().find(|inst| inst.result == Some(first));
    let first_bits = known(first).or_else(|| func.number_of(makes_first?, known));
    let is_sure = first_bits.is_some_and(|bits| (bits != 0) == asked.stays_if);
    func.blocks[guard].term =
        if is_sure { Terminator::Branch(preheader) } else { ask(&asked, first, preheader) };
    let (left_by, preds_of_leave) = (&left_by, cfg.preds[asked.leave].as_slice());
    let asking = (!is_sure).then_some(guard);
    let places = Places { header, asked: &asked, top, guard: asking, left_by, preds_of_leave };
    rename(func, &mut rotation, &places);
    for mut inst in rotation.insts.clone() {
        for operand in &mut inst.operands {
            if let Operand::Id(id) = operand {
                *id = rotation.at_end(func, *id);
            }
        }
        func.blocks[header].insts.push(inst);
    }
    let condition = rotation.at_end(func, asked.condition);
    func.blocks[header].term = ask(&asked, condition, end);
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

#[cfg(test)]
mod tests;
