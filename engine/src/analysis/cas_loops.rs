//! Loops that compare and exchange until nobody was faster, and add a float so: they become the atomic addition that they are.
//!
//! OpenCL C had no atomic operations on floats for long, so programs load a sum, add to it, and exchange it if it is still the same, again and again.
//! Lanes of a sub-group do that together: where several want one place, all but one try once more, each time under a mask. As an atomic
//! addition each lane adds once, and in local memory, which one thread has to itself, nothing is compared.
//!
//! Such a loop is one block. The sum that it begins an attempt with is what it loads (`do { old = *p; .. } while (..)`), or what the
//! attempt before has found there (`do { assumed = old; old = cmpxchg(..); } while (..)`).

use super::func::{BlockId, Func, Terminator};
use super::simplify;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::smallvec;
use spirv::{Decoration, Op};
use spirv_env::{Id, Inst, Operand, Type, TypeId};

/// Reinterpretations that are looked through.
const MOST_CASTS: usize = 4;

/// What only reinterprets a value, by the result.
type Made = FxHashMap<Id, Inst>;

/// What such a loop does.
struct Addition {
    /// The sum's value when it succeeds: the load's result, or the phi's.
    old: Id,
    float: TypeId,
    pointer: Id,
    addend: Id,
    /// Result, scope and semantics of the exchange.
    exchange: Inst,
    exit: BlockId,
}

fn is_exchange(inst: &Inst) -> bool {
    matches!(inst.op, Op::AtomicCompareExchange | Op::AtomicCompareExchangeWeak)
}

/// Makes atomic additions of such loops.
pub fn add_at_once(func: &mut Func<'_>) {
    let has_exchange = |block: &BlockId| func.blocks[*block].insts.iter().any(is_exchange);
    let candidates: Vec<BlockId> = func.block_ids().filter(has_exchange).collect();
    if candidates.is_empty() {
        return;
    }
    let insts = func.blocks.values().flat_map(|block| &block.insts);
    let is_looked_through = |inst: &&Inst| matches!(inst.op, Op::Bitcast | Op::CopyObject);
    let made: Made =
        insts.filter(is_looked_through).filter_map(|inst| Some((inst.result?, inst.clone()))).collect();
    for block in candidates {
        if let Some(addition) = addition(func, &made, block) {
            replace(func, block, addition);
        }
    }
}

/// What a value is a reinterpretation of.
fn origin(made: &Made, id: Id) -> Id {
    let step = |id: &Id| made.get(id).map(|inst| inst.id(0));
    std::iter::successors(Some(id), step).take(MOST_CASTS).last().unwrap_or(id)
}

fn addition(func: &Func<'_>, made: &Made, at: BlockId) -> Option<Addition> {
    let block = &func.blocks[at];
    let Terminator::Cond { cond, then, els } = block.term else { return None };
    let (stays_if, exit) = match (then == at, els == at) {
        (true, false) => (true, els),
        (false, true) => (false, then),
        _ => return None,
    };
    let one = |wanted: &dyn Fn(&Inst) -> bool| {
        let mut found = block.insts.iter().filter(|inst| wanted(inst));
        found.next().filter(|_| found.next().is_none())
    };
    let exchange = one(&is_exchange)?;
    let sum = one(&|inst| inst.op == Op::FAdd)?;
    let (found, float) = (exchange.result?, sum.ty?);
    let number = func.module.types.get(exchange.ty?);
    let is_alike = match (func.module.types.get(float), number) {
        (Type::Float { width }, Type::Int { width: bits }) => width == bits && [32, 64].contains(bits),
        _ => false,
    };
    let old = origin(made, exchange.id(5));
    let (place, is_new) = (origin(made, exchange.id(0)), origin(made, exchange.id(4)) == sum.result?);
    let addend = match (origin(made, sum.id(0)) == old, origin(made, sum.id(1)) == old) {
        (true, false) => sum.id(1),
        (false, true) => sum.id(0),
        _ => return None,
    };
    let is_begun = match *block.phis.as_slice() {
        [] => {
            let load = one(&|inst| matches!(inst.op, Op::Load | Op::AtomicLoad))?;
            load.result == Some(old) && origin(made, load.id(0)) == place
        }
        [ref phi] => phi.result == old && phi.from(at).is_some_and(|next| origin(made, next) == found),
        _ => false,
    };
    let compared = block.insts.iter().find(|inst| inst.result == Some(cond))?;
    let is_asked = match compared.op {
        Op::IEqual => !stays_if,
        Op::INotEqual => stays_if,
        _ => false,
    };
    let is_of_both = {
        let sides = [0, 1].map(|side| origin(made, compared.id(side)));
        sides == [found, old] || sides == [old, found]
    };
    let own: FxHashSet<Id> = block.insts.iter().filter_map(|inst| inst.result).collect();
    let is_part = |inst: &Inst| match inst.op {
        Op::Load | Op::AtomicLoad => inst.result == Some(old),
        Op::Bitcast | Op::CopyObject => true,
        _ => inst.result == Some(found) || inst.result == sum.result || inst.result == Some(cond),
    };
    // The addend is from outside, and nobody else asks how the comparison went.
    let is_asked_elsewhere = func.blocks.iter().any(|(other, block)| {
        let uses = block.insts.iter().flat_map(|inst| inst.ids()).chain(block.term.used());
        let brings = block.phis.iter().flat_map(|phi| phi.incoming.iter().map(|(_, id)| *id));
        other != at && uses.chain(brings).any(|id| id == cond)
    });
    let is_rounded = sum.result.is_some_and(|sum| func.decoration(sum, Decoration::FPRoundingMode).is_some());
    let is_one = is_alike
        && !is_rounded
        && is_new
        && is_begun
        && is_asked
        && is_of_both
        && !own.contains(&addend)
        && block.insts.iter().all(is_part)
        && !is_asked_elsewhere;
    let pointer = if points_to(func, place, float) { place } else { exchange.id(0) };
    is_one.then(|| Addition { old, float, pointer, addend, exchange: exchange.clone(), exit })
}

fn points_to(func: &Func<'_>, pointer: Id, ty: TypeId) -> bool {
    let of = func.type_of(pointer).map(|of| func.module.types.get(of));
    matches!(of, Some(Type::Pointer { pointee, .. }) if *pointee == ty)
}

/// Has a block add once and go on. What others want of its values is made of the old one.
fn replace(func: &mut Func<'_>, at: BlockId, addition: Addition) {
    let Addition { old, float, pointer, addend, exchange, exit } = addition;
    let is_float = func.type_of(old) == Some(float);
    let before = if is_float { old } else { func.fresh() };
    func.types.insert(before, float);
    let line = exchange.line;
    let operands = [pointer, exchange.id(1), exchange.id(2), addend].map(Operand::Id);
    let mut insts = vec![Inst {
        op: Op::AtomicFAddEXT,
        ty: Some(float),
        result: Some(before),
        operands: operands.into_iter().collect(),
        line,
    }];
    let reinterpreted = |result: Id, ty: Option<TypeId>, of: Id| Inst {
        op: Op::Bitcast,
        ty,
        result: Some(result),
        operands: smallvec![Operand::Id(of)],
        line,
    };
    if !is_float {
        insts.push(reinterpreted(old, func.type_of(old), before));
    }
    let block = &mut func.blocks[at];
    block.phis.clear();
    block.term = Terminator::Branch(exit);
    let is_kept = |inst: &Inst| inst.result != Some(before) && inst.result != Some(old);
    for inst in std::mem::take(&mut block.insts).into_iter().filter(is_kept) {
        match inst.op {
            // Where it succeeds, it finds what was expected.
            _ if inst.result == exchange.result => {
                insts.extend(inst.result.map(|result| reinterpreted(result, inst.ty, before)));
            }
            Op::IEqual | Op::INotEqual => {}
            _ => insts.push(inst),
        }
    }
    // An old value that nobody wants need not be known.
    let own: FxHashSet<Id> = insts[1..].iter().filter_map(|inst| inst.result).collect();
    func.blocks[at].insts = insts;
    simplify::forget_unused(func, |result| own.contains(&result));
}

#[cfg(test)]
mod tests;
