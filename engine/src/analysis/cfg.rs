//! The control-flow graph: predecessors, orders, unreachable blocks, dominators.
//!
//! Dominators: Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001).

use super::func::{BlockId, ENTRY, Func};
use smallvec::SmallVec;

/// Edges and a reverse post-order of a function whose blocks are all reachable.
#[derive(Debug)]
pub struct Cfg {
    pub succs: Vec<SmallVec<[BlockId; 2]>>,
    pub preds: Vec<SmallVec<[BlockId; 2]>>,
    /// Blocks in reverse post-order.
    pub rpo: Vec<BlockId>,
    /// Position of each block in `rpo`.
    pub number: Vec<u32>,
}

impl Cfg {
    /// Successor and predecessor lists have no repetitions.
    pub fn new(func: &Func<'_>) -> Self {
        let count = func.blocks.len();
        let mut succs: Vec<SmallVec<[BlockId; 2]>> = Vec::with_capacity(count);
        let mut preds: Vec<SmallVec<[BlockId; 2]>> = vec![SmallVec::new(); count];
        for (index, block) in func.blocks.iter().enumerate() {
            let mut unique: SmallVec<[BlockId; 2]> = SmallVec::new();
            let from = BlockId(index as u32);
            for succ in block.term.successors() {
                // Blocks come in order, so one that this block is known to lead to has it last.
                if preds[succ.index()].last() != Some(&from) {
                    unique.push(succ);
                    preds[succ.index()].push(from);
                }
            }
            succs.push(unique);
        }
        let rpo = reverse_post_order(&succs);
        let mut number = vec![u32::MAX; count];
        for (position, block) in rpo.iter().enumerate() {
            number[block.index()] = position as u32;
        }
        Self { succs, preds, rpo, number }
    }

    pub fn is_reachable(&self, block: BlockId) -> bool {
        self.number[block.index()] != u32::MAX
    }
}

fn reverse_post_order(succs: &[SmallVec<[BlockId; 2]>]) -> Vec<BlockId> {
    let mut order = Vec::with_capacity(succs.len());
    let mut seen = vec![false; succs.len()];
    let mut stack = vec![(ENTRY, 0usize)];
    seen[ENTRY.index()] = true;
    while let Some((block, next)) = stack.last_mut() {
        // The last successor first, so that the first one (the `then` side) comes first in the order.
        let list = &succs[block.index()];
        if *next < list.len() {
            let succ = list[list.len() - 1 - *next];
            *next += 1;
            if !seen[succ.index()] {
                seen[succ.index()] = true;
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
    let mut renumber = vec![None; func.blocks.len()];
    let mut kept = 0;
    for block in func.block_ids() {
        if cfg.is_reachable(block) {
            renumber[block.index()] = Some(BlockId(kept));
            kept += 1;
        }
    }
    let blocks = std::mem::take(&mut func.blocks);
    for (index, mut block) in blocks.into_iter().enumerate() {
        if renumber[index].is_none() {
            continue;
        }
        for phi in &mut block.phis {
            phi.incoming.retain(|(pred, _)| renumber[pred.index()].is_some());
            phi.incoming.iter_mut().for_each(|(pred, _)| {
                *pred = renumber[pred.index()].expect("operands from dropped blocks are gone");
            });
        }
        // All targets of a reachable block are reachable. Two steps, since old and new numbers overlap.
        let map = |target: &mut BlockId| *target = renumber[target.index()].expect("reachable");
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

/// Immediate dominators of all blocks.
#[derive(Debug)]
pub struct Dominators {
    idom: Vec<BlockId>,
    /// By block: its part of the dominator tree in depth-first order, as the first number and the end.
    interval: Vec<(u32, u32)>,
}

impl Dominators {
    pub fn new(cfg: &Cfg) -> Self {
        let undefined = BlockId(u32::MAX);
        let mut idom = vec![undefined; cfg.succs.len()];
        idom[ENTRY.index()] = ENTRY;
        let mut changed = true;
        while changed {
            changed = false;
            for &block in &cfg.rpo[1..] {
                let mut new = undefined;
                // The last predecessors first: where many leave a long chain for one block, the common dominator then
                // moves up the chain once, and not from each of them.
                let mut preds = cfg.preds[block.index()].clone();
                preds.sort_unstable_by_key(|pred| std::cmp::Reverse(cfg.number[pred.index()]));
                for &pred in &preds {
                    if idom[pred.index()] == undefined {
                        continue;
                    }
                    new = if new == undefined { pred } else { intersect(&idom, &cfg.number, new, pred) };
                }
                if idom[block.index()] != new {
                    idom[block.index()] = new;
                    changed = true;
                }
            }
        }
        let interval = intervals(cfg, &idom);
        Self { idom, interval }
    }

    /// The immediate dominator; the entry is its own.
    pub fn idom(&self, block: BlockId) -> BlockId {
        self.idom[block.index()]
    }

    /// Whether every path from the entry to `b` goes through `a`.
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        let ((first, end), (at, _)) = (self.interval[a.index()], self.interval[b.index()]);
        (first..end).contains(&at)
    }
}

/// The dominator tree in depth-first order. A dominator comes before its blocks in reverse post-order.
fn intervals(cfg: &Cfg, idom: &[BlockId]) -> Vec<(u32, u32)> {
    let parents: Vec<usize> =
        cfg.rpo.iter().map(|block| cfg.number[idom[block.index()].index()] as usize).collect();
    let of_rpo = tree_intervals(&parents);
    // What the entry does not reach is dominated by nothing, and dominates nothing.
    let mut interval = vec![(u32::MAX, u32::MAX); idom.len()];
    for (block, of) in cfg.rpo.iter().zip(of_rpo) {
        interval[block.index()] = of;
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

fn intersect(idom: &[BlockId], number: &[u32], mut a: BlockId, mut b: BlockId) -> BlockId {
    while a != b {
        while number[a.index()] > number[b.index()] {
            a = idom[a.index()];
        }
        while number[b.index()] > number[a.index()] {
            b = idom[b.index()];
        }
    }
    a
}
