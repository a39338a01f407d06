//! Branches that only choose: what they choose is selected, and conditions that are asked one after the other are asked at once.
//!
//! `if (x < 0 || y < 0 || x >= w || y >= h)` is four branches in modules that nobody has optimised, and `a && b` one with a phi of its
//! two ends. Each of them would have a mask of its own, which its blocks are run under and which is joined behind it. Compilers that
//! optimise make one branch of them (LLVM's SimplifyCFG folds branches to a common destination, and speculates cheap instructions).
//! What is executed for nobody then depends on nothing but its operands, and is little.

use super::cfg::{self, Cfg};
use super::func::{BlockId, Func, Phi, Terminator};
use super::joins::{self, Plain};
use cranelift_entity::EntitySet;
use smallvec::SmallVec;
use spirv::Op;
use spirv_env::{Id, Inst, Type, TypeId};

/// Instructions that are executed whether they are wanted or not, at most.
const MOST_INSTS: usize = 4;
/// Selections in the place of a branch, at most.
const MOST_SELECTIONS: usize = 4;
/// Rounds in which one branch less makes another one go away.
const MOST_ROUNDS: usize = 8;

/// Has conditions asked at once where that is all that lies between them.
pub fn ask_at_once(func: &mut Func<'_>) {
    for _ in 0..MOST_ROUNDS {
        let cfg = Cfg::new(func);
        let plain = joins::plain_insts(func);
        let mut changed = false;
        // From the end: what is asked last is joined to what is asked before it. What has changed is looked at in the next round.
        let mut touched: EntitySet<BlockId> = EntitySet::new();
        for &block in cfg.rpo.iter().rev() {
            let Terminator::Cond { then, els, .. } = func.blocks[block].term else { continue };
            if [block, then, els].iter().any(|at| touched.contains(*at)) {
                continue;
            }
            if ask_with_next(func, &cfg, &plain, block) || select(func, &cfg, &plain, block) {
                touched.extend([block, then, els]);
                changed = true;
            }
        }
        if !changed {
            return;
        }
        cfg::remove_unreachable(func);
        cfg::join_rows(func);
    }
}

/// Whether a block is reached from one other only, and does nothing that it might not do for nobody.
fn is_for_nobody(func: &Func<'_>, cfg: &Cfg, plain: &Plain, from: BlockId, block: BlockId) -> bool {
    let code = &func.blocks[block];
    let is_plain =
        |inst: &Inst| inst.result.is_some_and(|id| plain.contains_key(&id)) && is_defined(func, inst);
    cfg.preds[block].as_slice() == [from]
        && code.phis.is_empty()
        && code.insts.len() <= MOST_INSTS
        && code.insts.iter().all(is_plain)
}

/// Whether an instruction has a result whatever its operands are.
fn is_defined(func: &Func<'_>, inst: &Inst) -> bool {
    match inst.op {
        Op::ShiftLeftLogical | Op::ShiftRightLogical | Op::ShiftRightArithmetic => {
            func.constant_bits(inst.id(1)).is_some()
        }
        _ => true,
    }
}

/// Joins a block's question to the one that comes next, if both have a way to the same place.
fn ask_with_next(func: &mut Func<'_>, cfg: &Cfg, plain: &Plain, block: BlockId) -> bool {
    let Terminator::Cond { cond, then, els } = func.blocks[block].term else { return false };
    if then == els {
        return false;
    }
    for (next, shared, shared_if) in [(els, then, true), (then, els, false)] {
        let Terminator::Cond { cond: second, then: a, els: b } = func.blocks[next].term else { continue };
        let (other, second_shared_if) = match (a == shared, b == shared) {
            (true, false) => (b, true),
            (false, true) => (a, false),
            _ => continue,
        };
        if other == next || shared == next || !is_for_nobody(func, cfg, plain, block, next) {
            continue;
        }
        // What comes from either must be the same.
        let is_same = |phi: &Phi| phi.from(block) == phi.from(next);
        if !func.blocks[shared].phis.iter().all(is_same) {
            continue;
        }
        let Some(ty) = func.type_of(cond) else { continue };
        let insts = std::mem::take(&mut func.blocks[next].insts);
        func.blocks[block].insts.extend(insts);
        // Who goes to the other place is who is told to by both.
        let first = if shared_if { negated(func, block, ty, cond) } else { cond };
        let second = if second_shared_if { negated(func, block, ty, second) } else { second };
        let both = made(func, block, Op::LogicalAnd, ty, &[first, second]);
        func.blocks[block].term = Terminator::Cond { cond: both, then: other, els: shared };
        for phi in &mut func.blocks[shared].phis {
            phi.incoming.retain(|(pred, _)| *pred != next);
        }
        for phi in &mut func.blocks[other].phis {
            phi.incoming.iter_mut().filter(|(pred, _)| *pred == next).for_each(|(pred, _)| *pred = block);
        }
        return true;
    }
    false
}

/// Selects what two ways from a block to the same place bring there, if they do nothing else.
fn select(func: &mut Func<'_>, cfg: &Cfg, plain: &Plain, block: BlockId) -> bool {
    let Terminator::Cond { cond, then, els } = func.blocks[block].term else { return false };
    let leads_to = |func: &Func<'_>, way: BlockId| match func.blocks[way].term {
        Terminator::Branch(to) if to != way && is_for_nobody(func, cfg, plain, block, way) => Some(to),
        _ => None,
    };
    let (join, ways): (BlockId, [BlockId; 2]) = match (leads_to(func, then), leads_to(func, els)) {
        (Some(a), Some(b)) if a == b => (a, [then, els]),
        (Some(a), _) if a == els => (a, [then, block]),
        (_, Some(b)) if b == then => (b, [block, els]),
        _ => return false,
    };
    if join == block {
        return false;
    }
    let brought: Option<Vec<(Id, Id, TypeId)>> = (func.blocks[join].phis.iter())
        .map(|phi| Some((phi.from(ways[0])?, phi.from(ways[1])?, phi.ty)))
        .collect();
    let Some(brought) = brought else { return false };
    let differs = || brought.iter().filter(|(a, b, _)| a != b);
    let is_scalar = |(_, _, ty): &(Id, Id, TypeId)| {
        matches!(func.module.types.get(*ty), Type::Bool | Type::Int { .. } | Type::Float { .. })
    };
    // Numbers of the engine's own have no type.
    let mut phis = func.blocks[join].phis.iter();
    if phis.any(|phi| func.selectors.contains(&phi.result))
        || differs().count() > MOST_SELECTIONS
        || !differs().all(is_scalar)
    {
        return false;
    }
    for way in ways.into_iter().filter(|way| *way != block) {
        let insts = std::mem::take(&mut func.blocks[way].insts);
        func.blocks[block].insts.extend(insts);
    }
    let selected: SmallVec<[Id; 2]> = brought
        .into_iter()
        .map(|(a, b, ty)| if a == b { a } else { made(func, block, Op::Select, ty, &[cond, a, b]) })
        .collect();
    for (phi, value) in func.blocks[join].phis.iter_mut().zip(selected) {
        phi.incoming.retain(|(pred, _)| !ways.contains(pred));
        phi.incoming.push((block, value));
    }
    func.blocks[block].term = Terminator::Branch(join);
    true
}

fn negated(func: &mut Func<'_>, block: BlockId, ty: TypeId, condition: Id) -> Id {
    made(func, block, Op::LogicalNot, ty, &[condition])
}

/// An instruction at the end of a block.
fn made(func: &mut Func<'_>, block: BlockId, op: Op, ty: TypeId, operands: &[Id]) -> Id {
    let (inst, result) = func.computed(op, ty, operands);
    func.blocks[block].insts.push(inst);
    result
}

#[cfg(test)]
mod tests;
