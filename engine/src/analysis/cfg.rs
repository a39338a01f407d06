//! The control-flow graph: predecessors, orders, unreachable blocks, dominators.
//!
//! Dominators: Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001).

use super::func::{Block, BlockId, ENTRY, Func, Phi, Terminator};
use super::simplify;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, EntitySet, SecondaryMap};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use spirv::Op;
use spirv_env::{Id, Inst, Operand};

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

/// Drops blocks that the entry does not reach, and phi operands that come from them. What is made in them is undefined where it is used: on ways through
/// a loop with several entries, phis take what is made on others ([`super::loops`]).
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
    let mut dropped: FxHashSet<Id> = FxHashSet::default();
    for (old, mut block) in std::mem::take(&mut func.blocks) {
        if renumber[old].is_none() {
            dropped.extend(block.phis.iter().map(|phi| phi.result));
            dropped.extend(block.insts.iter().filter_map(|inst| inst.result));
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
            T::Branch(to) | T::IfNeeded { to, .. } => map(to),
            T::Cond { then, els, .. } | T::IfAll { then, els, .. } | T::IfFew { then, els, .. } => {
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
    if !func.selectors.is_empty() {
        forget(func, &dropped);
    }
}

/// Makes what phis take of values that nobody makes undefined.
fn forget(func: &mut Func<'_>, dropped: &FxHashSet<Id>) {
    for block in func.block_ids() {
        let mut phis = std::mem::take(&mut func.blocks[block].phis);
        for phi in phis.iter_mut() {
            let is_of_program = !func.selectors.contains(&phi.result);
            for (_, id) in phi.incoming.iter_mut().filter(|(_, id)| is_of_program && dropped.contains(id)) {
                *id = func.undefined(phi.ty);
            }
        }
        func.blocks[block].phis = phis;
    }
}

/// Makes one block of blocks that only follow each other.
pub fn join_rows(func: &mut Func<'_>) {
    let cfg = Cfg::new(func);
    let mut joined: EntitySet<BlockId> = EntitySet::new();
    for &block in cfg.rpo.iter() {
        if joined.contains(block) {
            continue;
        }
        let mut last = block;
        while let Terminator::Branch(to) = func.blocks[block].term
            && to != ENTRY
            && cfg.preds[to].as_slice() == [last]
            && !func.blocks[to].phis.iter().any(|phi| func.selectors.contains(&phi.result))
        {
            let behind = std::mem::replace(&mut func.blocks[to], Block::forward(to));
            let copy = |phi: Phi| Inst {
                op: Op::CopyObject,
                ty: Some(phi.ty),
                result: Some(phi.result),
                operands: phi.from(block).map(Operand::Id).into_iter().collect(),
                line: None,
            };
            let copies = behind.phis.into_iter().map(copy);
            let code = &mut func.blocks[block];
            code.insts.extend(copies.chain(behind.insts));
            code.term = behind.term;
            for succ in &cfg.succs[to] {
                let of_phis = func.blocks[*succ].phis.iter_mut().flat_map(|phi| &mut phi.incoming);
                of_phis.filter(|(pred, _)| *pred == to).for_each(|(pred, _)| *pred = block);
            }
            joined.insert(to);
            last = to;
        }
    }
    if !joined.is_empty() {
        remove_unreachable(func);
        simplify::propagate_copies(func);
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

/// A tree that grows at its leaves, in which two nodes' nearest common ancestor is found in logarithmic time: next to its
/// parent, each node knows one ancestor further up (Myers, "An applicative random-access stack", 1983). The dominators of
/// a graph without cycles are found with it in one walk, also where many leave a long chain for one block.
#[derive(Debug, Default)]
pub(super) struct GrowingTree {
    nodes: Vec<TreeNode>,
}

#[derive(Clone, Copy, Debug)]
struct TreeNode {
    parent: usize,
    /// Twice as far up as the parent's own, or the parent.
    jump: usize,
    depth: u32,
}

impl GrowingTree {
    /// Adds a node, whose number is the next. The root is its own parent.
    pub fn push(&mut self, parent: usize) {
        let node = self.nodes.len();
        if parent == node {
            self.nodes.push(TreeNode { parent, jump: node, depth: 0 });
            return;
        }
        let up = self.nodes[parent];
        let further = self.nodes[up.jump];
        // Two jumps of equal length become one.
        let is_even = up.depth - further.depth == further.depth - self.nodes[further.jump].depth;
        let jump = if is_even { further.jump } else { parent };
        self.nodes.push(TreeNode { parent, jump, depth: up.depth + 1 });
    }

    pub fn parent(&self, node: usize) -> usize {
        self.nodes[node].parent
    }

    pub fn common_ancestor(&self, a: usize, b: usize) -> usize {
        let depth = |node: usize| self.nodes[node].depth;
        let (mut a, mut b) = if depth(a) < depth(b) { (b, a) } else { (a, b) };
        while depth(a) > depth(b) {
            let jump = self.nodes[a].jump;
            a = if depth(jump) >= depth(b) { jump } else { self.nodes[a].parent };
        }
        while a != b {
            let (x, y) = (self.nodes[a], self.nodes[b]);
            // Nodes of one depth jump equally far.
            (a, b) = if x.jump == y.jump { (x.parent, y.parent) } else { (x.jump, y.jump) };
        }
        a
    }
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

#[cfg(test)]
mod tests {
    use super::GrowingTree;

    #[test]
    fn common_ancestors_are_those_that_walking_up_finds() {
        // A long chain, a star, and trees between them: how far up of the last node a parent may be.
        for spread in [1, 2, 7, 50, 1000] {
            let (mut tree, mut parents, mut random) = (GrowingTree::default(), vec![0], 1usize);
            tree.push(0);
            for node in 1..1000usize {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let parent = node - 1 - (random >> 33) % spread.min(node);
                tree.push(parent);
                parents.push(parent);
                assert_eq!(tree.parent(node), parent);
            }
            let above = |node: usize| {
                let mut all: Vec<usize> =
                    std::iter::successors(Some(node), |at| (*at != 0).then(|| parents[*at])).collect();
                all.reverse();
                all
            };
            for (a, b) in (0..1000).map(|at| (at * 7 % 1000, at * 13 % 991)).chain([(0, 999), (999, 999)]) {
                let last = above(a).into_iter().zip(above(b)).take_while(|(a, b)| a == b).last();
                assert_eq!(Some(tree.common_ancestor(a, b)), last.map(|(node, _)| node), "{a} and {b}");
            }
        }
    }

    #[test]
    fn jumps_go_up_in_logarithmic_time() {
        let mut tree = GrowingTree::default();
        (0..100_000usize).for_each(|node| tree.push(node.saturating_sub(1)));
        let mut at = 99_999;
        let mut steps = 0;
        while at != 0 {
            at = tree.nodes[at].jump;
            steps += 1;
        }
        assert!(steps < 40, "{steps} jumps");
    }
}
