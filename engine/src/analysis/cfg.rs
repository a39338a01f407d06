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
            for succ in block.term.successors() {
                if !unique.contains(&succ) {
                    unique.push(succ);
                    preds[succ.index()].push(BlockId(index as u32));
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
    number: Vec<u32>,
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
                for &pred in &cfg.preds[block.index()] {
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
        Self { idom, number: cfg.number.clone() }
    }

    /// The immediate dominator; the entry is its own.
    pub fn idom(&self, block: BlockId) -> BlockId {
        self.idom[block.index()]
    }

    /// Whether every path from the entry to `b` goes through `a`.
    pub fn dominates(&self, a: BlockId, mut b: BlockId) -> bool {
        while self.number[b.index()] > self.number[a.index()] {
            b = self.idom[b.index()];
        }
        a == b
    }
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
