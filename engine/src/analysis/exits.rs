//! Loops that all work-items leave at once are left in one place.
//!
//! Compilers that know, in front of a loop's condition, what comes behind the loop ask that condition in each branch and leave the loop there
//! (jump threading): `for (...) { barrier(); if (i < n) ... } if (i < n) ...` is left by those with `i < n` in one place, by the others in another. Work-items
//! that leave a loop in different places leave it one after the other, for all that is known of masks: what they take along is blended in each
//! iteration, and the loop runs until the last one has left. Where conditions are the same, they are asked once behind both branches, and who
//! goes where is decided outside.

use super::cfg::{Cfg, Dominators};
use super::func::{Block, BlockId, Func, Incoming, Phi, Synthetic, Terminator};
use super::joins::{self, Plain};
use super::loops::{LoopId, Loops};
use smallvec::SmallVec;
use spirv_env::{Id, Inst, TypeId};

/// Blocks that ask the same whether a loop goes on.
struct Exits {
    /// Each with where it leaves to.
    blocks: Vec<(BlockId, BlockId)>,
    /// Where the loop goes on.
    stay: BlockId,
    /// Whether it does so where the condition is true.
    stays_if: bool,
    condition: Id,
    /// What makes the condition behind all of them.
    made: Vec<Inst>,
}

/// Makes exits of loops by the same condition one. Loops are canonical, and stay so.
pub fn leave_together(func: &mut Func<'_>) {
    let cfg = Cfg::new(func);
    let doms = Dominators::new(&cfg);
    let loops = Loops::new(&cfg, &doms);
    if loops.loops.values().all(|this| this.exits.len() < 2) {
        return;
    }
    let plain = joins::plain_insts(func);
    for (id, this) in loops.loops.iter().filter(|(_, this)| this.exits.len() > 1) {
        let mut left: Vec<(BlockId, BlockId)> = this.exits.clone();
        while let Some((first, _)) = left.first().copied() {
            let exits = alike(func, &loops, id, &plain, first, &left);
            left.retain(|(block, _)| {
                *block != first && !exits.iter().any(|exits| exits.blocks.iter().any(|(other, _)| other == block))
            });
            if let Some(exits) = exits {
                merge(func, exits);
            }
        }
    }
}

/// What a block of the loop itself asks: where the loop goes on, whether it does so if the condition is true, the condition, and where it
/// leaves to.
fn exit_of(func: &Func<'_>, loops: &Loops, id: LoopId, block: BlockId) -> Option<(BlockId, bool, Id, BlockId)> {
    let Terminator::Cond { cond, then, els } = func.blocks[block].term else { return None };
    let is_inside = |to: BlockId| loops.around(to).any(|around| around == id);
    let (stay, leave, stays_if) = match (is_inside(then), is_inside(els)) {
        (true, false) => (then, els, true),
        (false, true) => (els, then, false),
        _ => return None,
    };
    (loops.of(block) == Some(id)).then_some((stay, stays_if, cond, leave))
}

/// The exits that ask what the first one does.
fn alike(
    func: &mut Func<'_>,
    loops: &Loops,
    id: LoopId,
    plain: &Plain,
    first: BlockId,
    exits: &[(BlockId, BlockId)],
) -> Option<Exits> {
    let (stay, stays_if, condition, leave) = exit_of(func, loops, id, first)?;
    let mut same = Exits { blocks: vec![(first, leave)], stay, stays_if, condition, made: Vec::new() };
    for (block, _) in exits.iter().filter(|(block, _)| *block != first) {
        let Some((to, if_true, other, leave)) = exit_of(func, loops, id, *block) else { continue };
        let is_new = same.blocks.iter().all(|(_, known)| *known != leave);
        if to != stay || if_true != stays_if || !is_new {
            continue;
        }
        // What makes the first condition makes all of them.
        let mut made = Vec::new();
        if let Some(condition) = joins::same(func, plain, &[same.condition_of_first(func), other], &mut made) {
            (same.condition, same.made) = (condition, made);
            same.blocks.push((*block, leave));
        }
    }
    (same.blocks.len() > 1).then_some(same)
}

impl Exits {
    fn condition_of_first(&self, func: &Func<'_>) -> Id {
        func.blocks[self.blocks[0].0].term.condition().expect("an exit has a condition")
    }
}

fn merge(func: &mut Func<'_>, exits: Exits) {
    let selector = func.fresh();
    func.selectors.insert(selector);
    let incoming: Incoming = exits
        .blocks
        .iter()
        .enumerate()
        .map(|(number, (block, _))| (*block, func.synthetic(Synthetic::Int(number as u32))))
        .collect();
    let mut join = Block::forward(exits.stay);
    join.phis.push(Phi { result: selector, ty: TypeId(u32::MAX), incoming });
    join.insts = exits.made;
    let join = func.push(join);
    // Who stays brings the values that it brought, and the others bring theirs out.
    let from: SmallVec<[BlockId; 4]> = exits.blocks.iter().map(|(block, _)| *block).collect();
    for mut phi in std::mem::take(&mut func.blocks[exits.stay].phis) {
        let (moved, kept): (Incoming, Incoming) =
            phi.incoming.drain(..).partition(|(pred, _)| from.contains(pred));
        let result = func.fresh();
        if func.selectors.contains(&phi.result) {
            func.selectors.insert(result);
        } else {
            func.types.insert(result, phi.ty);
        }
        func.blocks[join].phis.push(Phi { result, ty: phi.ty, incoming: moved });
        phi.incoming = kept;
        phi.incoming.push((join, result));
        func.blocks[exits.stay].phis.push(phi);
    }
    let targets: Vec<BlockId> = exits.blocks.iter().map(|(_, leave)| *leave).collect();
    let outside = func.push(Block::forward(targets[0]));
    func.blocks[outside].term = Terminator::Dispatch { selector, targets };
    let (then, els) = if exits.stays_if { (exits.stay, outside) } else { (outside, exits.stay) };
    func.blocks[join].term = Terminator::Cond { cond: exits.condition, then, els };
    for (block, leave) in &exits.blocks {
        func.blocks[*block].term = Terminator::Branch(join);
        for phi in &mut func.blocks[*leave].phis {
            phi.incoming.iter_mut().filter(|(pred, _)| pred == block).for_each(|(pred, _)| *pred = outside);
        }
    }
}

#[cfg(test)]
mod tests;
