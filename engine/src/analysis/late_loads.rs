//! Loads that an iteration of a loop makes for the next one are made by the iteration that uses them.
//!
//! Kernels for GPUs load what they multiply an iteration ahead, so that it has come when it is wanted (software pipelining). A
//! processor that executes out of order does that by itself, and what waits for its iteration is a register for each component
//! in each sub-group. In the product of matrices that oneMKL has for GPUs, those were the registers that its sums were to be in.
//!
//! Such a load is one whose value only a phi of the header takes. Its address is that of an iteration ago, which is known where it
//! is made of counters. What the last iteration loads for nobody, behind the end of an array as a rule, is not loaded any more.
//! Loops are canonical, and stay so.

use super::cfg::{Cfg, Dominators};
use super::func::{BlockId, Func, Phi};
use super::idle;
use super::joins::{self, Plain};
use super::loops::{Loop, LoopId, Loops};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use spirv::Op;
use spirv_env::{Id, Inst, Operand};

/// Such loads of a function, at most.
const MOST_LOADS: usize = 64;
/// Instructions that the address of one is made of, at most.
const MOST_INSTS: usize = 16;
/// Blocks between the first such load and the loop, at most.
const MOST_BLOCKS: usize = 4;

/// Moves such loads to the headers of their loops.
pub fn load_late(func: &mut Func<'_>) {
    let cfg = Cfg::new(func);
    let loops = Loops::new(&cfg, &Dominators::new(&cfg));
    if loops.loops.is_empty() {
        return;
    }
    let (plain, values) = (joins::plain_insts(func), Values::new(func));
    let mut left = MOST_LOADS;
    for (id, this) in &loops.loops {
        let phis = func.blocks[this.header].phis.clone();
        let late = Late { cfg: &cfg, loops: &loops, plain: &plain, values: &values, id, this, phis: &phis };
        let loads = phis.iter().filter_map(|phi| late.loads(func, phi));
        let loads: Vec<_> = loads.take(left).collect();
        if loads.is_empty() || this.blocks.iter().any(|block| is_noticed(func, *block, 0)) {
            continue;
        }
        let mut made = Made::default();
        for ahead in loads {
            let before = (made.insts.len(), made.phis.len());
            match late.ago(func, ahead.first.id(0), ahead.next.id(0), &mut made) {
                Some(pointer) => {
                    let mut load = ahead.next.clone();
                    load.operands[0] = Operand::Id(pointer);
                    load.result = Some(ahead.phi);
                    made.insts.push(load);
                    made.instead_of.extend([Some(ahead.phi), ahead.next.result].into_iter().flatten());
                    left -= 1;
                }
                None => {
                    made.insts.truncate(before.0);
                    made.phis.truncate(before.1);
                    made.known.clear();
                }
            }
        }
        made.put(func, this);
    }
}

/// Where values are made, and how often they are used.
struct Values {
    def: FxHashMap<Id, (BlockId, usize)>,
    uses: FxHashMap<Id, u32>,
}

impl Values {
    fn new(func: &Func<'_>) -> Self {
        let mut values = Values { def: FxHashMap::default(), uses: FxHashMap::default() };
        for (at, block) in &func.blocks {
            values.def.extend(block.phis.iter().map(|phi| (phi.result, (at, 0))));
            let insts = block.insts.iter().enumerate();
            values.def.extend(insts.filter_map(|(number, inst)| Some((inst.result?, (at, number)))));
            let brought = block.phis.iter().flat_map(|phi| &phi.incoming).map(|(_, id)| *id);
            let used = block.insts.iter().flat_map(Inst::ids).chain(block.term.used());
            used.chain(brought).for_each(|id| *values.uses.entry(id).or_default() += 1);
        }
        values
    }

    fn load<'f>(&self, func: &'f Func<'_>, id: Id) -> Option<&'f Inst> {
        let (block, number) = *self.def.get(&id)?;
        func.blocks[block].insts.get(number).filter(|inst| inst.op == Op::Load && inst.result == Some(id))
    }
}

/// Whether somebody else may notice that what stands in a block from some instruction on was executed, or whether that waits for others.
fn is_noticed(func: &Func<'_>, block: BlockId, from: usize) -> bool {
    func.blocks[block].insts[from..].iter().any(|inst| idle::orders_memory(func, inst))
}

/// A load for the next iteration.
struct Ahead {
    /// What takes it there.
    phi: Id,
    /// That for the first iteration.
    first: Inst,
    next: Inst,
}

/// What takes the place of such loads in a header.
#[derive(Default)]
struct Made {
    phis: Vec<Phi>,
    insts: Vec<Inst>,
    /// Phis and loads that are not needed any more.
    instead_of: Vec<Id>,
    /// See [`Late::ago`].
    known: FxHashMap<(Id, Id), Id>,
}

impl Made {
    fn put(self, func: &mut Func<'_>, this: &Loop) {
        let is_needed = |id: Id| !self.instead_of.contains(&id);
        for block in &this.blocks {
            func.blocks[*block].insts.retain(|inst| inst.result.is_none_or(is_needed));
        }
        let header = &mut func.blocks[this.header];
        header.phis.retain(|phi| is_needed(phi.result));
        header.phis.extend(self.phis);
        header.insts.splice(0..0, self.insts);
    }
}

/// Looks for loads that a loop makes an iteration ahead.
struct Late<'a> {
    cfg: &'a Cfg,
    loops: &'a Loops,
    plain: &'a Plain,
    values: &'a Values,
    id: LoopId,
    this: &'a Loop,
    /// The header's, as they were.
    phis: &'a [Phi],
}

impl Late<'_> {
    /// The loads that a phi takes to the next iteration, if nobody else has what the loop loads, and what the first iteration finds is not
    /// changed before it could load that itself.
    fn loads(&self, func: &Func<'_>, phi: &Phi) -> Option<Ahead> {
        let [first, next] = [self.this.preheader, self.this.latch].map(|from| phi.from(from));
        let [first, next] = [first?, next?];
        let [from, of] = [first, next].map(|id| self.values.load(func, id));
        let [from, of] = [from?, of?];
        let class = func.class_of(of.id(0))?;
        let is_alike = from.ty == of.ty
            && from.operands[1..] == of.operands[1..]
            && func.class_of(from.id(0)) == Some(class);
        let is_found = is_alike
            && idle::is_shared(class)
            && !of.is_volatile()
            && self.is_inside(next)
            && self.values.uses.get(&next) == Some(&1)
            && self.is_kept(func, first);
        is_found.then(|| Ahead { phi: phi.result, first: from.clone(), next: of.clone() })
    }

    /// Whether nobody changes memory between a load in front of the loop and the loop.
    fn is_kept(&self, func: &Func<'_>, load: Id) -> bool {
        let Some(&(block, number)) = self.values.def.get(&load) else { return false };
        let mut at = self.this.preheader;
        for _ in 0..MOST_BLOCKS {
            if at == block {
                return !is_noticed(func, at, number);
            }
            match *self.cfg.preds[at].as_slice() {
                [pred] if !is_noticed(func, at, 0) => at = pred,
                _ => return false,
            }
        }
        false
    }

    fn is_inside(&self, id: Id) -> bool {
        let at = self.values.def.get(&id).and_then(|(at, _)| self.loops.of(*at));
        at.is_some() && self.loops.encloses(Some(self.id), at)
    }

    fn phi(&self, id: Id) -> Option<&Phi> {
        self.phis.iter().find(|phi| phi.result == id)
    }

    /// What grows by the same in each iteration, by how much, and what made it grow.
    fn counter(&self, phi: &Phi) -> Option<(&Inst, Id)> {
        let grown = self.plain.get(&phi.from(self.this.latch)?)?;
        let is_step = matches!(grown.op, Op::IAdd | Op::PtrAccessChain | Op::InBoundsPtrAccessChain);
        let by: SmallVec<[Id; 2]> = grown.ids().filter(|id| *id != phi.result).collect();
        match by[..] {
            [by] if is_step && grown.operands.len() == 2 && !self.is_inside(by) => Some((grown, by)),
            _ => None,
        }
    }

    /// Whether a value is made of counters and of what the loop does not change.
    fn is_regular(&self, id: Id, left: &mut usize) -> bool {
        if !self.is_inside(id) {
            return true;
        }
        if let Some(phi) = self.phi(id) {
            return self.counter(phi).is_some();
        }
        let Some(inst) = self.plain.get(&id).filter(|_| *left > 0) else { return false };
        *left -= 1;
        inst.ids().all(|operand| self.is_regular(operand, left))
    }

    /// What a value of the loop was an iteration ago, and something else in front of it.
    fn ago(&self, func: &mut Func<'_>, first: Id, next: Id, made: &mut Made) -> Option<Id> {
        if !self.is_inside(next) && first == next {
            return Some(next);
        }
        if let Some(known) = made.known.get(&(first, next)) {
            return Some(*known);
        }
        let (before, after) = (self.this.preheader, self.this.latch);
        let is_same = |phi: &&Phi| {
            phi.from(before) == Some(first) && phi.from(after) == Some(next) && self.counter(phi).is_some()
        };
        if let Some(phi) = self.phis.iter().find(is_same) {
            return Some(phi.result);
        }
        let types = [first, next].map(|id| func.type_of(id));
        let is_known = types[0].is_some() && types[0] == types[1];
        if !is_known
            || made.insts.len() >= MOST_LOADS + MOST_INSTS
            || !self.is_regular(next, &mut { MOST_INSTS })
        {
            return None;
        }
        let known = self
            .step_back(func, first, next, made)
            .or_else(|| self.computed(func, first, next, made))
            .unwrap_or_else(|| {
                let (result, ty) =
                    (func.fresh(), func.type_of(next).expect("what is made by instructions has a type"));
                func.types.insert(result, ty);
                made.phis.push(Phi {
                    result,
                    ty,
                    incoming: [(before, first), (after, next)].into_iter().collect(),
                });
                result
            });
        made.known.insert((first, next), known);
        Some(known)
    }

    /// A counter, if it was so an iteration ago in the first iteration, too.
    fn step_back(&self, func: &mut Func<'_>, first: Id, next: Id, made: &mut Made) -> Option<Id> {
        let phi = self.phi(next)?;
        let (grown, by) = self.counter(phi)?;
        let begin = self.plain.get(&phi.from(self.this.preheader)?)?;
        let is_step = |inst: &Inst| inst.op == Op::IAdd && inst.ids().any(|id| id == by);
        if !is_step(grown) || !is_step(begin) || !begin.ids().any(|id| id == first) || first == by {
            return None;
        }
        let mut back = func.copied(grown, |id| id);
        back.op = Op::ISub;
        back.operands = [next, by].map(Operand::Id).into_iter().collect();
        let result = back.result;
        made.insts.push(back);
        result
    }

    /// What is computed by the same instruction in front of the loop and in it.
    fn computed(&self, func: &mut Func<'_>, first: Id, next: Id, made: &mut Made) -> Option<Id> {
        let [from, of] = [first, next].map(|id| self.plain.get(&id));
        let [from, of] = [from?, of?];
        if !self.is_inside(next)
            || (from.op, from.ty, from.operands.len()) != (of.op, of.ty, of.operands.len())
        {
            return None;
        }
        let members = match func.derived_from(of) {
            Some(_) => func.member_operands(of),
            None => SmallVec::new(),
        };
        let mut operands = SmallVec::new();
        for (at, pair) in from.operands.iter().zip(&of.operands).enumerate() {
            operands.push(match pair {
                (Operand::Id(first), Operand::Id(next)) if members.contains(&at) => {
                    let is_same = func.constant_bits(*first) == func.constant_bits(*next);
                    Operand::Id(Some(*next).filter(|_| is_same)?)
                }
                (Operand::Id(first), Operand::Id(next)) => Operand::Id(self.ago(func, *first, *next, made)?),
                (Operand::Lit(one), Operand::Lit(other)) if one == other => *pair.0,
                _ => return None,
            });
        }
        let mut again = func.copied(of, |id| id);
        again.operands = operands;
        let result = again.result;
        made.insts.push(again);
        result
    }
}

#[cfg(test)]
mod tests;
