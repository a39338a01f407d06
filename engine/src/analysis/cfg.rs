//! The control-flow graph: predecessors, orders, unreachable blocks, dominators.
//!
//! Dominators: Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001).

use super::func::{BlockId, ENTRY, Func};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, EntitySet, SecondaryMap};
use smallvec::SmallVec;

/// Edges and a reverse post-order of a function whose blocks are all reachable.
#[derive(Debug)]
pub struct Cfg {
    pub succs: SecondaryMap<BlockId, Edges>,
    pub preds: SecondaryMap<BlockId, Edges>,
    /// Blocks in reverse post-order.
    pub rpo: Vec<BlockId>,
    /// Position of each block in `rpo`.
    pub number: SecondaryMap<BlockId, u32>,
}

/// The blocks at the other ends of a block's edges.
pub type Edges = SmallVec<[BlockId; 2]>;

/// The number of blocks that the entry does not reach.
const UNREACHABLE: u32 = u32::MAX;

impl Cfg {
    /// Successor and predecessor lists have no repetitions.
    pub fn new(func: &Func<'_>) -> Self {
        let count = func.blocks.len();
        let mut succs: SecondaryMap<BlockId, Edges> = SecondaryMap::with_capacity(count);
        let mut preds: SecondaryMap<BlockId, Edges> = SecondaryMap::with_capacity(count);
        for (from, block) in &func.blocks {
            for succ in block.term.successors() {
                // Blocks come in order, so one that this block is known to lead to has it last.
                if preds[succ].last() != Some(&from) {
                    succs[from].push(succ);
                    preds[succ].push(from);
                }
            }
        }
        let rpo = reverse_post_order(&succs, count);
        let mut number = SecondaryMap::with_default(UNREACHABLE);
        for (position, &block) in rpo.iter().enumerate() {
            number[block] = position as u32;
        }
        Self { succs, preds, rpo, number }
    }

    pub fn is_reachable(&self, block: BlockId) -> bool {
        self.number[block] != UNREACHABLE
    }
}

fn reverse_post_order(succs: &SecondaryMap<BlockId, Edges>, count: usize) -> Vec<BlockId> {
    let mut order = Vec::with_capacity(count);
    let mut seen = EntitySet::with_capacity(count);
    let mut stack = vec![(ENTRY, 0usize)];
    seen.insert(ENTRY);
    while let Some((block, next)) = stack.last_mut() {
        // The last successor first, so that the first one (the `then` side) comes first in the order.
        let list = &succs[*block];
        if *next < list.len() {
            let succ = list[list.len() - 1 - *next];
            *next += 1;
            if seen.insert(succ) {
                stack.push((succ, 0));
            }
        } else {
            order.push(*block);
            stack.pop();
        }
    }
    order.reverse();
    order
}

/// Drops blocks that the entry does not reach, and phi operands that come from them.
pub fn remove_unreachable(func: &mut Func<'_>) {
    let cfg = Cfg::new(func);
    if cfg.rpo.len() == func.blocks.len() {
        return;
    }
    let mut renumber: SecondaryMap<BlockId, Option<BlockId>> = SecondaryMap::new();
    let reachable = func.block_ids().filter(|block| cfg.is_reachable(*block));
    for (kept, block) in reachable.enumerate() {
        renumber[block] = Some(BlockId::new(kept));
    }
    for (old, mut block) in std::mem::take(&mut func.blocks) {
        if renumber[old].is_none() {
            continue;
        }
        for phi in &mut block.phis {
            phi.incoming.retain(|(pred, _)| renumber[*pred].is_some());
            phi.incoming.iter_mut().for_each(|(pred, _)| {
                *pred = renumber[*pred].expect("operands from dropped blocks are gone");
            });
        }
        // All targets of a reachable block are reachable. Two steps, since old and new numbers overlap.
        let map = |target: &mut BlockId| *target = renumber[*target].expect("reachable");
        use super::func::Terminator as T;
        match &mut block.term {
            T::Branch(to) => map(to),
            T::Cond { then, els, .. } => {
                map(then);
                map(els);
            }
            T::Switch { cases, default, .. } => {
                cases.iter_mut().for_each(|(_, to)| map(to));
                map(default);
            }
            T::Dispatch { targets, .. } => targets.iter_mut().for_each(map),
            T::Return => {}
        }
        func.blocks.push(block);
    }
}

/// Immediate dominators, as far as they are known.
type Immediate = SecondaryMap<BlockId, PackedOption<BlockId>>;

/// Immediate dominators of all blocks.
#[derive(Debug)]
pub struct Dominators {
    idom: Immediate,
    /// Each block's part of the dominator tree in depth-first order, as the first number and the end. What the entry does
    /// not reach is dominated by nothing, and dominates nothing.
    interval: SecondaryMap<BlockId, (u32, u32)>,
}

impl Dominators {
    pub fn new(cfg: &Cfg) -> Self {
        let mut idom = Immediate::new();
        idom[ENTRY] = ENTRY.into();
        let mut changed = true;
        while changed {
            changed = false;
            for &block in &cfg.rpo[1..] {
                let mut new: Option<BlockId> = None;
                // The last predecessors first: where many leave a long chain for one block, the common dominator then
                // moves up the chain once, and not from each of them.
                let mut preds = cfg.preds[block].clone();
                preds.sort_unstable_by_key(|pred| std::cmp::Reverse(cfg.number[*pred]));
                for &pred in &preds {
                    if idom[pred].is_none() {
                        continue;
                    }
                    new = Some(new.map_or(pred, |new| intersect(&idom, &cfg.number, new, pred)));
                }
                if idom[block] != new.into() {
                    idom[block] = new.into();
                    changed = true;
                }
            }
        }
        let interval = intervals(cfg, &idom);
        Self { idom, interval }
    }

    /// The immediate dominator of a block that the entry reaches; the entry is its own.
    pub fn idom(&self, block: BlockId) -> BlockId {
        self.idom[block].expect("a reachable block has a dominator")
    }

    /// Whether every path from the entry to `b` goes through `a`.
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        let ((first, end), (at, _)) = (self.interval[a], self.interval[b]);
        (first..end).contains(&at)
    }
}

/// The dominator tree in depth-first order. A dominator comes before its blocks in reverse post-order.
fn intervals(cfg: &Cfg, idom: &Immediate) -> SecondaryMap<BlockId, (u32, u32)> {
    let parent = |block: &BlockId| cfg.number[idom[*block].expect("all of them are reachable")] as usize;
    let parents: Vec<usize> = cfg.rpo.iter().map(parent).collect();
    let of_rpo = tree_intervals(&parents);
    let mut interval = SecondaryMap::with_default((u32::MAX, u32::MAX));
    for (&block, of) in cfg.rpo.iter().zip(of_rpo) {
        interval[block] = of;
    }
    interval
}

/// By node of a tree: where its sub-tree begins and ends in depth-first order. A node's parent has a lower number; a
/// root is its own parent.
pub(super) fn tree_intervals(parents: &[usize]) -> Vec<(u32, u32)> {
    let mut size = vec![1u32; parents.len()];
    for (node, &parent) in parents.iter().enumerate().rev() {
        if parent != node {
            size[parent] += size[node];
        }
    }
    let mut next = 0;
    let mut free: Vec<u32> = vec![0; parents.len()];
    let mut interval = Vec::with_capacity(parents.len());
    for (node, &parent) in parents.iter().enumerate() {
        let place = if parent == node { &mut next } else { &mut free[parent] };
        let first = *place;
        *place += size[node];
        free[node] = first + 1;
        interval.push((first, first + size[node]));
    }
    interval
}

fn intersect(idom: &Immediate, number: &SecondaryMap<BlockId, u32>, a: BlockId, b: BlockId) -> BlockId {
    let up = |block: BlockId| idom[block].expect("the way up goes through known dominators");
    let (mut a, mut b) = (a, b);
    while a != b {
        while number[a] > number[b] {
            a = up(a);
        }
        while number[b] > number[a] {
            b = up(b);
        }
    }
    a
}
