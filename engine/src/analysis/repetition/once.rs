//! Loops over a launch's work-items that most launches run once are there twice: as a loop, and as one iteration.
//!
//! `for (i = id; i < n; i += global size)` runs once in launches of at least `n` work-items. DPC++ makes such a loop of each kernel whose
//! range it rounds up to whole work-groups. The launch knows which it is, by two numbers that all work-items share; a counter of 64 bits that each
//! lane adds to and compares, and masks for a second iteration, cost more than what many such kernels do.

use super::super::cfg::{self, Cfg, Dominators};
use super::super::exits;
use super::super::func::{Block, BlockId, Func, Terminator};
use super::super::joins::{self, Plain};
use super::super::loops::{self, LoopId, Loops};
use super::super::order::Order;
use super::{End, bring_out_by_phis, copy, in_order, may_be_copied};
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{BuiltIn, Decoration, Op};
use spirv_env::{Id, Operand, Type};

/// Instructions of such loops of a function, at most, and blocks of one.
const MOST_INSTS: usize = 256;
const MOST_BLOCKS: usize = 16;
/// How deep ids and sizes are looked into.
const DEPTH: u32 = 6;
/// No sum of two numbers of so many bits wraps around in 64.
const MOST_BITS: u32 = 62;

/// Gives such loops code for launches that run them once. Loops are canonical, and stay so.
pub fn run_once(func: &mut Func<'_>) {
    let cfg = Cfg::new(func);
    let loops = Loops::new(&cfg, &Dominators::new(&cfg));
    if loops.loops.is_empty() {
        return;
    }
    let plain = joins::plain_insts(func);
    let innermost = loops.innermost();
    let candidates = loops.loops.iter().filter(|(id, _)| innermost.contains(*id));
    let is_once = |(id, _): &(LoopId, &_)| Once::of(func, &cfg, &loops, &plain, *id).is_some();
    let headers: Vec<BlockId> = candidates.filter(is_once).map(|(_, this)| this.header).collect();
    let mut left = MOST_INSTS;
    let made = headers.into_iter().filter(|header| run_loop_once(func, &plain, *header, &mut left)).count();
    if made > 0 {
        cfg::join_rows(func);
        loops::canonicalize(func);
    }
}

/// A loop that runs once in some launches.
struct Once {
    /// The only block that leads to the latch, and where it goes when the loop is over.
    last: BlockId,
    leave: BlockId,
    insts: usize,
    /// What says, in front of it, whether it runs once: a comparison of these.
    op: Op,
    bound: Id,
    step: Id,
    condition: Id,
}

impl Once {
    fn of(func: &Func<'_>, cfg: &Cfg, loops: &Loops, plain: &Plain, id: LoopId) -> Option<Once> {
        let this = loops.get(id);
        let [last] = *cfg.preds[this.latch].as_slice() else { return None };
        let end = exits::exit_of(func, loops, id, last).filter(|end| end.stay == this.latch)?;
        if this.exits.len() != 1 || this.blocks.len() > MOST_BLOCKS || !may_be_copied(func, this) {
            return None;
        }
        let asked = plain.get(&end.condition)?;
        let Order { lesser: next, greater: bound, is_signed, .. } =
            Order::of(asked, end.stays_if).filter(|order| order.is_strict)?;
        let op = if is_signed { Op::SLessThanEqual } else { Op::ULessThanEqual };
        let grown = plain.get(&next).filter(|inst| inst.op == Op::IAdd)?;
        let mut phis = func.blocks[this.header].phis.iter();
        let phi = phis.find(|phi| phi.from(this.latch) == Some(next))?;
        let step = grown.ids().find(|id| *id != phi.result)?;
        let first = phi.from(this.preheader)?;
        let is_wide = matches!(func.module.types.get(phi.ty), Type::Int { width: 64, .. });
        let sizes = |id: Id| bits(func, plain, id, DEPTH).filter(|bits| *bits <= MOST_BITS);
        let is_of_launch = is_wide
            && grown.ids().any(|id| id == phi.result)
            && sizes(first).is_some()
            && sizes(step).is_some()
            && has_size(func, plain, step, DEPTH)
            && is_given(func, plain, bound, DEPTH);
        let insts = this.blocks.iter().map(|block| func.blocks[*block].insts.len()).sum();
        is_of_launch.then_some(Once {
            last,
            leave: end.leave,
            insts,
            op,
            bound,
            step,
            condition: end.condition,
        })
    }
}

/// The built-in that a value is a component of.
fn builtin(func: &Func<'_>, plain: &Plain, id: Id) -> Option<BuiltIn> {
    let inst = plain.get(&id)?;
    match inst.op {
        Op::CompositeExtract => builtin(func, plain, inst.id(0)),
        Op::Load => {
            let number = *func.decoration(inst.id(0), Decoration::BuiltIn)?.first()?;
            BuiltIn::from_u32(number)
        }
        _ => None,
    }
}

/// How many bits an id or a size has at most, or what is made of such.
fn bits(func: &Func<'_>, plain: &Plain, id: Id, depth: u32) -> Option<u32> {
    if let Some(bits) = func.constant_bits(id) {
        return Some(u64::BITS - bits.leading_zeros());
    }
    match builtin(func, plain, id) {
        // Work-groups in a dimension are counted in 32 bits, work-items of one in fewer than 16.
        Some(BuiltIn::GlobalInvocationId | BuiltIn::GlobalSize) => return Some(48),
        Some(BuiltIn::WorkgroupId | BuiltIn::NumWorkgroups) => return Some(32),
        Some(BuiltIn::LocalInvocationId | BuiltIn::WorkgroupSize) => return Some(16),
        _ => {}
    }
    let inst = plain.get(&id).filter(|_| depth > 0)?;
    let of = |at: usize| bits(func, plain, inst.id(at), depth - 1);
    match inst.op {
        Op::IAdd => Some(of(0)?.max(of(1)?) + 1),
        Op::IMul => Some(of(0)? + of(1)?),
        Op::UConvert | Op::CopyObject => of(0),
        _ => None,
    }
}

/// Whether a step is made of the size of the launch.
fn has_size(func: &Func<'_>, plain: &Plain, id: Id, depth: u32) -> bool {
    let is_size = matches!(builtin(func, plain, id), Some(BuiltIn::GlobalSize | BuiltIn::NumWorkgroups));
    is_size
        || depth > 0
            && plain.get(&id).is_some_and(|inst| {
                inst.op != Op::CompositeExtract && inst.ids().any(|id| has_size(func, plain, id, depth - 1))
            })
}

/// Whether a value is an argument, a member of one, or made of such.
fn is_given(func: &Func<'_>, plain: &Plain, id: Id, depth: u32) -> bool {
    if func.constant_bits(id).is_some() || func.given(id).is_some() {
        return func.is_kernel();
    }
    let Some(inst) = plain.get(&id).filter(|_| depth > 0) else { return false };
    matches!(inst.op, Op::UConvert | Op::SConvert | Op::IAdd | Op::ISub | Op::IMul | Op::CopyObject)
        && inst.ids().all(|id| is_given(func, plain, id, depth - 1))
}

fn run_loop_once(func: &mut Func<'_>, plain: &Plain, header: BlockId, left: &mut usize) -> bool {
    let cfg = Cfg::new(func);
    let doms = Dominators::new(&cfg);
    let loops = Loops::new(&cfg, &doms);
    let id = loops.headed_by(header);
    let once = id.and_then(|id| Some((id, Once::of(func, &cfg, &loops, plain, id)?)));
    let Some((id, once)) = once.filter(|(_, once)| once.insts <= *left) else { return false };
    let this = loops.get(id);
    let is_inside = |id: Id| {
        let made = |block: &BlockId| func.blocks[*block].insts.iter().any(|inst| inst.result == Some(id));
        this.blocks.iter().any(made)
    };
    if is_inside(once.bound) || is_inside(once.step) || !bring_out_by_phis(func, &cfg, &doms, this) {
        return false;
    }
    *left -= once.insts;
    let again = func.push(Block::forward(header));
    let order = in_order(&cfg, this);
    let blocks: FxHashMap<BlockId, BlockId> =
        order.iter().map(|block| (*block, func.push(Block::forward(*block)))).collect();
    let phis = func.blocks[header].phis.iter();
    let mut map: FxHashMap<Id, Id> =
        phis.filter_map(|phi| Some((phi.result, phi.from(this.preheader)?))).collect();
    copy(func, &order, &blocks, &mut map, header, (once.last, End::Known(once.leave)));
    let outside: FxHashSet<BlockId> = this.exits.iter().map(|(_, to)| *to).collect();
    for to in outside {
        for phi in &mut func.blocks[to].phis {
            let copied = |(pred, value): &(BlockId, Id)| {
                Some((*blocks.get(pred)?, map.get(value).copied().unwrap_or(*value)))
            };
            let more: Vec<_> = phi.incoming.iter().filter_map(copied).collect();
            phi.incoming.extend(more);
        }
    }
    for (pred, _) in func.blocks[header].phis.iter_mut().flat_map(|phi| &mut phi.incoming) {
        if *pred == this.preheader {
            *pred = again;
        }
    }
    let mut runs_once = func.copied(&plain[&once.condition], |id| id);
    runs_once.op = once.op;
    runs_once.operands = [once.bound, once.step].map(Operand::Id).into_iter().collect();
    let condition = runs_once.result.expect("a comparison has a result");
    func.blocks[this.preheader].insts.push(runs_once);
    func.blocks[this.preheader].term =
        Terminator::Cond { cond: condition, then: blocks[&header], els: again };
    true
}

#[cfg(test)]
mod tests;
