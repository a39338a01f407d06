//! Loops that are known to end soon are laid out, iteration by iteration.
//!
//! Compilers that optimise do that (full unrolling), and what depends on the counter is then a constant: which row of a filter, which element of
//! a private array. LLVM does it here as well, but behind all that is asked about accesses, lanes and masks. So modules that nobody has
//! optimised are laid out before. What is larger than what compilers lay out by themselves stays, since whoever left it knew why.

mod bits;
mod nests;
mod once;

pub use bits::compute_bits;
pub use nests::lay_out_nests;
pub use once::run_once;

use super::cfg::{self, Cfg, Dominators};
use super::exits::{self, Exit};
use super::func::{Block, BlockId, Func, Phi, Terminator};
use super::loops::{self, Loop, LoopId, Loops};
use super::mem2reg;
use cranelift_entity::EntitySet;
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Op, OpenclStd100Op as StdOp, StorageClass};
use spirv_env::opcodes::{Convergence, Family, Memory, divides_integers};
use spirv_env::{Id, Inst};

/// Iterations that are laid out, at most.
const MOST_ITERATIONS: usize = 16;
/// Instructions that become of a loop, at most, each counted as what it costs, and blocks.
const MOST_INSTS: usize = 320;
const MOST_BLOCKS: usize = 96;
/// The same of a loop that data may end before: lanes that are through wait for the others then, as they do in the loop, but for all iterations.
const MOST_INSTS_IN_VAIN: usize = 96;
/// An access to memory, and a function or a division.
const ACCESS: usize = 2;
const FUNCTION: usize = 4;
/// A product and a sum in one.
const PRODUCT_AND_SUM: usize = 2;
/// An access to a private object at a place that lanes differ in: each row is asked for.
const LOOKED_UP: usize = 24;
/// What becomes of all loops of a function, at most.
const MOST_OF_FUNCTION: usize = 2400;
/// A branch that lanes may take or not, and each case of a switch.
const BRANCH: usize = 2;
const CASE: usize = 8;
/// Loops in each other that are laid out, at most, and loops of a function, counted again for each that is around them.
const MOST_ROUNDS: usize = 3;
const MOST_LOOPS: usize = 64;

/// Lays out loops that are short. Loops are canonical, and stay so.
pub fn lay_out(func: &mut Func<'_>) {
    lay_out_up_to(func, MOST_INSTS);
}

/// The same of loops that become so many instructions at most, each counted as what it costs.
pub fn lay_out_up_to(func: &mut Func<'_>, most: usize) {
    let mut left = MOST_OF_FUNCTION;
    for _ in 0..MOST_ROUNDS {
        let cfg = Cfg::new(func);
        let loops = Loops::new(&cfg, &Dominators::new(&cfg));
        let innermost = loops.innermost();
        let headers: Vec<BlockId> = (loops.loops.iter())
            .filter(|(id, _)| innermost.contains(*id) && Short::of(func, &cfg, &loops, *id, most).is_some())
            .map(|(_, this)| this.header)
            .take(MOST_LOOPS)
            .collect();
        let laid_out =
            headers.into_iter().filter(|header| lay_out_loop(func, *header, most, &mut left)).count();
        if laid_out == 0 {
            break;
        }
        decide(func);
        cfg::remove_unreachable(func);
        cfg::join_rows(func);
        loops::canonicalize(func);
    }
    if left < MOST_OF_FUNCTION {
        // Elements of arrays are now at known places.
        mem2reg::promote(func);
    }
}

/// A loop with a known number of iterations, or no more than so many.
struct Short {
    iterations: usize,
    /// Whether data may end it before, where it is asked whether it is over.
    ends_early: bool,
    /// What becomes of it.
    cost: usize,
    /// The only block that leads to the latch, and where it goes when the loop is over.
    last: BlockId,
    leave: BlockId,
}

impl Short {
    fn of(func: &Func<'_>, cfg: &Cfg, loops: &Loops, id: LoopId, most_insts: usize) -> Option<Short> {
        let this = loops.get(id);
        let [last] = *cfg.preds[this.latch].as_slice() else { return None };
        let end = exits::exit_of(func, loops, id, last).filter(|end| end.stay == this.latch)?;
        if !may_be_copied(func, this) {
            return None;
        }
        let insts = || this.blocks.iter().flat_map(|block| &func.blocks[*block].insts);
        let of_insts: usize = insts().map(|inst| cost(func, this, inst)).sum();
        // Its end is none that is left.
        let inner = this.blocks.iter().filter(|block| **block != last);
        let of_branches = inner.map(|block| match &func.blocks[*block].term {
            Terminator::Cond { .. } => BRANCH,
            Terminator::Switch { cases, .. } => CASE * cases.len(),
            _ => 0,
        });
        let cost = of_insts + of_branches.sum::<usize>();
        let most = [MOST_ITERATIONS, most_insts / cost.max(1), MOST_BLOCKS / this.blocks.len()];
        let most = most.into_iter().min().unwrap_or(0);
        let (iterations, ends_early) = iterations(func, this, &end, most)?;
        let cost = iterations * cost;
        let accesses = || insts().any(|inst| inst.row().memory != Memory::None);
        if ends_early && (cost > MOST_INSTS_IN_VAIN || accesses()) {
            return None;
        }
        Some(Short { iterations, ends_early, cost, last, leave: end.leave })
    }
}

/// Whether there may be more of an instruction in the code: it neither meets others nor is large.
pub(super) fn may_be_there_twice(inst: &Inst) -> bool {
    let row = inst.row();
    row.convergence == Convergence::None && !matches!(row.family, Family::Call | Family::Matrix)
}

/// Whether a loop does nothing of which there may not be more in the code, and is small.
fn may_be_copied(func: &Func<'_>, this: &Loop) -> bool {
    let may_be_copied =
        |inst: &Inst| may_be_there_twice(inst) && !matches!(inst.row().memory, Memory::Object);
    let insts = || this.blocks.iter().flat_map(|block| &func.blocks[*block].insts);
    let is_whole = this.blocks.iter().all(|block| {
        let code = &func.blocks[*block];
        !code.phis.iter().any(|phi| func.selectors.contains(&phi.result))
            && matches!(
                code.term,
                Terminator::Branch(_) | Terminator::Cond { .. } | Terminator::Switch { .. }
            )
    });
    let is_small = insts().nth(MOST_INSTS).is_none();
    !func.kernel.prints && is_small && is_whole && insts().all(may_be_copied)
}

/// What an instruction of a loop costs, roughly, where the loop's counters are known.
fn cost(func: &Func<'_>, this: &Loop, inst: &Inst) -> usize {
    let pointer = match (inst.row().memory, inst.row().family) {
        (Memory::Read { .. } | Memory::Write { .. }, _) => inst.id(0),
        (Memory::Copy { .. }, _) => return FUNCTION,
        (_, Family::Extended) => {
            let function = inst.opencl_std(func.module).map(|function| function.op);
            return if matches!(function, Some(StdOp::fma | StdOp::mad)) {
                PRODUCT_AND_SUM
            } else {
                FUNCTION
            };
        }
        _ if divides_integers(inst.op) => return FUNCTION,
        _ => return 1,
    };
    if func.class_of(pointer) != Some(StorageClass::Function) {
        return ACCESS;
    }
    let insts = || this.blocks.iter().flat_map(|block| &func.blocks[*block].insts);
    let chain = insts().find(|inst| inst.result == Some(pointer));
    let is_loaded = |id: Id| insts().any(|inst| inst.result == Some(id) && inst.row().memory != Memory::None);
    // What is made of counters alone is known; what was loaded is not, nor is what was made of that.
    let is_known = |id: Id| {
        let mut work = vec![id];
        let mut steps = 0;
        while let Some(id) = work.pop() {
            steps += 1;
            if is_loaded(id) || steps > MOST_INSTS {
                return false;
            }
            work.extend(insts().filter(|inst| inst.result == Some(id)).flat_map(Inst::ids));
        }
        true
    };
    let is_known = chain.is_none_or(|chain| chain.ids().skip(1).all(is_known));
    if is_known { 1 } else { LOOKED_UP }
}

/// How often a loop runs, if that is known and no more than so often, or at most, if data may end it before.
fn iterations(func: &Func<'_>, this: &Loop, end: &Exit, most: usize) -> Option<(usize, bool)> {
    let insts = this.blocks.iter().flat_map(|block| &func.blocks[*block].insts);
    let insts: FxHashMap<Id, &Inst> = insts.filter_map(|inst| Some((inst.result?, inst))).collect();
    let phis = &func.blocks[this.header].phis;
    let first = |phi: &Phi| Some((phi.result, func.constant_bits(phi.from(this.preheader)?)?));
    let mut known: FxHashMap<Id, u64> = phis.iter().filter_map(first).collect();
    let mut ends_early = false;
    for iteration in 1..=most {
        let mut of_iteration = known.clone();
        let mut is_true = |id| Some(value_of(func, &insts, &mut of_iteration, id, MOST_INSTS)? != 0);
        match is_true(end.condition) {
            Some(is_true) if is_true != end.stays_if => return Some((iteration, ends_early)),
            Some(_) => {}
            None => {
                // It goes on where both conditions say so.
                let both = parts(func, &insts, end)?;
                if both.into_iter().any(|part| is_true(part) == Some(!end.stays_if)) {
                    return Some((iteration, true));
                }
                ends_early = true;
            }
        }
        let mut next = |phi: &Phi| {
            let value = value_of(func, &insts, &mut of_iteration, phi.from(this.latch)?, MOST_INSTS)?;
            Some((phi.result, value))
        };
        known = phis.iter().filter_map(&mut next).collect();
    }
    None
}

/// The two conditions of which each ends a loop.
fn parts(func: &Func<'_>, insts: &FxHashMap<Id, &Inst>, end: &Exit) -> Option<[Id; 2]> {
    let inst = insts.get(&end.condition)?;
    let is = |id: Id, bits: u64| func.constant_bits(id) == Some(bits);
    match (inst.op, end.stays_if) {
        (Op::LogicalAnd, true) | (Op::LogicalOr, false) => Some([inst.id(0), inst.id(1)]),
        (Op::Select, true) if is(inst.id(2), 0) => Some([inst.id(0), inst.id(1)]),
        (Op::Select, false) if is(inst.id(1), 1) => Some([inst.id(0), inst.id(2)]),
        _ => None,
    }
}

/// The number that a value is in an iteration, given what is known of its phis.
fn value_of(
    func: &Func<'_>,
    insts: &FxHashMap<Id, &Inst>,
    known: &mut FxHashMap<Id, u64>,
    id: Id,
    depth: usize,
) -> Option<u64> {
    if let Some(bits) = known.get(&id).copied().or_else(|| func.constant_bits(id)) {
        return Some(bits);
    }
    let inst = insts.get(&id).filter(|_| depth > 0)?;
    let mut operands: FxHashMap<Id, u64> = FxHashMap::default();
    for operand in inst.ids() {
        operands.insert(operand, value_of(func, insts, known, operand, depth / 2)?);
    }
    let bits = func.number_of(inst, |id| operands.get(&id).copied())?;
    known.insert(id, bits);
    Some(bits)
}

/// Lays out one loop if there is so much left for it; whether it did.
fn lay_out_loop(func: &mut Func<'_>, header: BlockId, most: usize, left: &mut usize) -> bool {
    let cfg = Cfg::new(func);
    let doms = Dominators::new(&cfg);
    let loops = Loops::new(&cfg, &doms);
    let id = loops.headed_by(header);
    let Some((id, short)) = id.and_then(|id| Some((id, Short::of(func, &cfg, &loops, id, most)?))) else {
        return false;
    };
    let this = loops.get(id);
    if short.cost > *left || !bring_out_by_phis(func, &cfg, &doms, this) {
        return false;
    }
    *left -= short.cost;
    let order = in_order(&cfg, this);
    let copies: Vec<FxHashMap<BlockId, BlockId>> = (0..short.iterations)
        .map(|_| order.iter().map(|block| (*block, func.push(Block::forward(*block)))).collect())
        .collect();
    let mut before: FxHashMap<Id, Id> = FxHashMap::default();
    let mut maps: Vec<FxHashMap<Id, Id>> = Vec::new();
    for (iteration, blocks) in copies.iter().enumerate() {
        let from = if iteration == 0 { this.preheader } else { this.latch };
        let phis = func.blocks[header].phis.iter();
        let mut map: FxHashMap<Id, Id> = phis
            .filter_map(|phi| Some((phi.result, phi.from(from)?)))
            .map(|(id, value)| (id, before.get(&value).copied().unwrap_or(value)))
            .collect();
        let next = copies.get(iteration + 1).map(|next| next[&header]);
        let end = match next {
            Some(next) if short.ends_early => End::Asked { latch: this.latch, next },
            next => End::Known(next.unwrap_or(short.leave)),
        };
        copy(func, &order, blocks, &mut map, header, (short.last, end));
        maps.push(map.clone());
        before = map;
    }
    // What comes out comes from all copies of an exit, and at the end from the last one.
    let outside: FxHashSet<BlockId> = this.exits.iter().map(|(_, to)| *to).collect();
    for to in outside {
        let mut phis = std::mem::take(&mut func.blocks[to].phis);
        for phi in &mut phis {
            let (inside, mut incoming): (Vec<_>, Vec<_>) =
                phi.incoming.drain(..).partition(|(pred, _)| copies[0].contains_key(pred));
            for (pred, value) in inside {
                let is_end = pred == short.last && to == short.leave;
                let first = if is_end && !short.ends_early { short.iterations - 1 } else { 0 };
                incoming.extend((first..short.iterations).map(|iteration| {
                    let value = maps[iteration].get(&value).copied().unwrap_or(value);
                    (copies[iteration][&pred], value)
                }));
            }
            phi.incoming = incoming.into_iter().collect();
        }
        func.blocks[to].phis = phis;
    }
    func.blocks[this.preheader].term.retarget(header, copies[0][&header]);
    true
}

/// Where the last block of an iteration leads to.
#[derive(Clone, Copy)]
enum End {
    Known(BlockId),
    /// To the next iteration in place of the latch, or out of the loop.
    Asked {
        latch: BlockId,
        next: BlockId,
    },
}

/// Copies blocks of a loop, without the header's phis, by the names that are known; numbers are computed.
fn copy(
    func: &mut Func<'_>,
    order: &[BlockId],
    blocks: &FxHashMap<BlockId, BlockId>,
    map: &mut FxHashMap<Id, Id>,
    header: BlockId,
    (last, end): (BlockId, End),
) {
    for block in order {
        let code = &func.blocks[*block];
        let (phis, insts) = (code.phis.clone(), code.insts.clone());
        for phi in phis.into_iter().filter(|_| *block != header) {
            let result = func.fresh_of(phi.ty);
            map.insert(phi.result, result);
            func.blocks[blocks[block]].phis.push(Phi { result, ..phi });
        }
        for inst in insts {
            let of = |id: Id| map.get(&id).copied().unwrap_or(id);
            let bits = func.number_of(&inst, |id| func.constant_bits(of(id)));
            if let (Some(bits), Some(result), Some(ty)) = (bits, inst.result, inst.ty) {
                map.insert(result, func.number(bits, ty));
                continue;
            }
            let copy = func.copied(&inst, of);
            map.extend(inst.result.zip(copy.result));
            func.blocks[blocks[block]].insts.push(copy);
        }
    }
    for block in order.iter().filter(|block| **block != header) {
        for phi in &mut func.blocks[blocks[block]].phis {
            for (pred, value) in &mut phi.incoming {
                *pred = blocks.get(pred).copied().unwrap_or(*pred);
                *value = map.get(value).copied().unwrap_or(*value);
            }
        }
    }
    for block in order {
        let mut term = func.blocks[*block].term.clone();
        if let Some(used) = term.used_mut() {
            *used = map.get(used).copied().unwrap_or(*used);
        }
        blocks.iter().for_each(|(old, new)| term.retarget(*old, *new));
        match end {
            End::Known(next) if *block == last => term = Terminator::Branch(next),
            End::Asked { latch, next } if *block == last => term.retarget(latch, next),
            _ => {}
        }
        func.blocks[blocks[block]].term = term;
    }
}

/// The blocks of a loop but for its latch, so that operands are copied before what uses them.
fn in_order(cfg: &Cfg, this: &Loop) -> Vec<BlockId> {
    let mut order: Vec<BlockId> = this.blocks.iter().copied().filter(|block| *block != this.latch).collect();
    order.sort_unstable_by_key(|block| cfg.number[*block]);
    order
}

/// Has what is used behind a loop come out by phis of the blocks that it is left to; whether that is possible.
fn bring_out_by_phis(func: &mut Func<'_>, cfg: &Cfg, doms: &Dominators, this: &Loop) -> bool {
    let mut inside: EntitySet<BlockId> = EntitySet::new();
    inside.extend(this.blocks.iter().copied());
    let code = || this.blocks.iter().map(|block| &func.blocks[*block]);
    let phis = code().flat_map(|code| &code.phis).map(|phi| phi.result);
    let insts = code().flat_map(|code| &code.insts).filter_map(|inst| inst.result);
    let own: FxHashSet<Id> = phis.chain(insts).collect();
    let Some(left_by) = exits::exits_to_uses(func, cfg, doms, &inside, &own) else { return false };
    let mut brought: FxHashMap<(BlockId, Id), Id> = FxHashMap::default();
    let users: Vec<BlockId> = func.block_ids().filter(|block| !inside.contains(*block)).collect();
    for at in users {
        let mut code = std::mem::replace(&mut func.blocks[at], Block::forward(at));
        let mut value = |at: BlockId, id: &mut Id| {
            if let Some(left) = left_by.get(&at).filter(|_| own.contains(id)) {
                *id = *brought.entry((*left, *id)).or_insert_with(|| {
                    let (result, ty) = (func.fresh(), func.types[&*id]);
                    func.types.insert(result, ty);
                    result
                });
            }
        };
        for (pred, id) in code.phis.iter_mut().flat_map(|phi| &mut phi.incoming) {
            if !inside.contains(*pred) {
                value(*pred, id);
            }
        }
        code.used_mut().for_each(|id| value(at, id));
        func.blocks[at] = code;
    }
    let mut brought: Vec<_> = brought.into_iter().collect();
    brought.sort_unstable_by_key(|(_, result)| *result);
    for ((left, id), result) in brought {
        let incoming = cfg.preds[left].iter().map(|pred| (*pred, id)).collect();
        func.blocks[left].phis.push(Phi { result, ty: func.types[&result], incoming });
    }
    true
}

/// Where a block leads to, if that is known, given what stands for values.
fn decided(func: &Func<'_>, term: &Terminator, of: impl Fn(Id) -> Id) -> Option<BlockId> {
    match term {
        Terminator::Branch(to) => Some(*to),
        Terminator::Cond { cond, then, els } => {
            func.constant_bits(of(*cond)).map(|bits| if bits == 0 { *els } else { *then })
        }
        Terminator::Switch { selector, cases, default } => func.constant_bits(of(*selector)).map(|bits| {
            let case = cases.iter().find(|(number, _)| *number == bits);
            case.map_or(*default, |(_, to)| *to)
        }),
        _ => None,
    }
}

/// Makes branches of which it is known where they lead those that lead there.
fn decide(func: &mut Func<'_>) {
    for block in func.block_ids() {
        let term = &func.blocks[block].term;
        let Some(to) = decided(func, term, |id| id) else { continue };
        let others = term.successors();
        func.blocks[block].term = Terminator::Branch(to);
        for other in others.into_iter().filter(|other| *other != to) {
            func.blocks[other]
                .phis
                .iter_mut()
                .for_each(|phi| phi.incoming.retain(|(pred, _)| *pred != block));
        }
    }
}

#[cfg(test)]
mod tests;
