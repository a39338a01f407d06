//! Control flow under masks: which branches stay branches, which blocks share a mask, and the order in
//! which one instruction stream visits the blocks of divergent regions.
//!
//! The method is partial control-flow linearization (Moll and Hack, "Partial Control-Flow Linearization",
//! PLDI 2018): blocks are visited in a topological order with contiguous loops; where a varying branch
//! has several targets, the first in the order is taken and the others are *deferred* to it. A uniform
//! branch stays a branch.
//!
//! A block's *mask class* names the mask it runs under. Most blocks share the class of another block:
//! behind a uniform branch the class of the branch, at a join that post-dominates a branch the class of
//! the branch. The others own a mask, collected from their incoming edges.

use super::cfg::{Cfg, Dominators, GrowingTree, tree_intervals};
use super::func::Func;
use super::func::{BlockId, ENTRY, Terminator};
use super::loops::{LoopId, Loops};
use super::regions::Regions;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntitySet, SecondaryMap};
use smallvec::SmallVec;
use std::rc::Rc;

/// The mask that a block runs under: the entry mask, or the mask that a block owns.
pub type Class = Option<BlockId>;

/// How control leaves a block.
#[derive(Clone, Debug)]
pub enum Exit {
    /// The terminator stays; each successor (as listed by `Cfg::succs`) is reached through this block.
    Uniform(SmallVec<[BlockId; 2]>),
    /// Masks decide; the next block to visit.
    Linear(BlockId),
    /// The latch of a divergent loop: to the header while any work-item is in the loop, then on.
    Latch { header: BlockId, next: Option<BlockId> },
    /// The end of the kernel.
    Return,
}

#[derive(Debug)]
pub struct Control {
    /// Blocks whose terminator different work-items leave in different directions.
    pub varying: EntitySet<BlockId>,
    pub class: SecondaryMap<BlockId, Class>,
    /// Loops that work-items leave in different iterations.
    pub divergent_loops: EntitySet<LoopId>,
    /// Blocks whose phis have to keep the values of work-items that came by another edge.
    pub blended: EntitySet<BlockId>,
    pub exit: SecondaryMap<BlockId, Exit>,
    /// Where to go on if the mask of a block that owns one is empty.
    pub skip: SecondaryMap<BlockId, PackedOption<BlockId>>,
}

pub struct Graph<'a, 'm> {
    pub func: &'a Func<'m>,
    pub cfg: &'a Cfg,
    pub doms: &'a Dominators,
    pub loops: &'a Loops,
    pub regions: &'a Regions,
}

impl Control {
    /// Plans the control flow, given which terminators have a condition that differs between work-items.
    /// More terminators may become varying where a uniform branch cannot be kept.
    pub fn new(graph: &Graph<'_, '_>, mut varying: EntitySet<BlockId>) -> Self {
        let mut owners = EntitySet::new();
        for round in 0.. {
            // One block at a time, since a change for one may make that for another needless; all at once where there
            // would be no end to it.
            let most = if round < PATIENCE { 1 } else { usize::MAX };
            let mut control = Self::classify(graph, varying.clone(), &owners);
            let unkept = control.linearize(graph, most);
            if !unkept.is_empty() {
                varying.extend(unkept);
                continue;
            }
            let borrowers = control.borrowers_without_mask(graph, most);
            if borrowers.is_empty() {
                return control;
            }
            owners.extend(borrowers);
        }
        unreachable!("each round marks a block, and there are finitely many")
    }

    fn classify(graph: &Graph<'_, '_>, varying: EntitySet<BlockId>, owners: &EntitySet<BlockId>) -> Self {
        let mut control = Control {
            varying,
            class: SecondaryMap::new(),
            divergent_loops: EntitySet::new(),
            blended: EntitySet::new(),
            exit: SecondaryMap::with_default(Exit::Return),
            skip: SecondaryMap::new(),
        };
        // Divergence of a loop depends on classes inside of it, which depend on divergence: to a fixed point.
        loop {
            for &block in &graph.regions.order {
                control.class[block] =
                    if owners.contains(block) { Some(block) } else { control.class_of(graph, block) };
            }
            let mut changed = false;
            for (id, this) in &graph.loops.loops {
                if control.divergent_loops.contains(id) {
                    continue;
                }
                let inside = control.class[this.header];
                let diverges = control.class[this.latch] != inside
                    || this
                        .exits
                        .iter()
                        .any(|&(block, _)| control.varying.contains(block) || control.class[block] != inside);
                if diverges {
                    control.divergent_loops.insert(id);
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        for &block in &graph.regions.order {
            let preds = &graph.cfg.preds[block];
            let header = preds.iter().any(|pred| graph.loops.is_back_edge(*pred, block));
            if !header
                && !control.enters_uniformly(graph, block)
                && (preds.len() > 1 || preds.iter().any(|pred| control.leaves_divergent(graph, *pred, block)))
            {
                control.blended.insert(block);
            }
        }
        control
    }

    /// Whether the edge leaves a loop that work-items leave in different iterations.
    pub fn leaves_divergent(&self, graph: &Graph<'_, '_>, from: BlockId, to: BlockId) -> bool {
        graph.loops.left_by(from, to).any(|id| self.divergent_loops.contains(id))
    }

    /// Whether exactly one edge into `block` is taken, by all work-items of one mask.
    fn enters_uniformly(&self, graph: &Graph<'_, '_>, block: BlockId) -> bool {
        let preds = &graph.cfg.preds[block];
        preds.first().is_some_and(|first| {
            preds.iter().all(|pred| {
                !self.varying.contains(*pred)
                    && self.class[*pred] == self.class[*first]
                    && !self.leaves_divergent(graph, *pred, block)
            })
        })
    }

    fn class_of(&self, graph: &Graph<'_, '_>, block: BlockId) -> Class {
        if block == ENTRY {
            return None;
        }
        if let Some(id) = graph.loops.headed_by(block) {
            let this = graph.loops.get(id);
            return if self.divergent_loops.contains(id) { Some(block) } else { self.class[this.preheader] };
        }
        if let Some(id) = graph.loops.of(block)
            && graph.loops.get(id).latch == block
            && self.divergent_loops.contains(id)
        {
            // Work-items that left the loop come by here too, on their way out.
            return Some(block);
        }
        if self.enters_uniformly(graph, block) {
            return self.class[graph.cfg.preds[block][0]];
        }
        let idom = graph.doms.idom(block);
        if graph.regions.post_dominates(graph.loops, block, idom) {
            let region = graph.loops.of(block);
            // A dominator in an inner loop stands for the loop: who enters it, leaves it.
            let inner = graph.loops.around(idom).take_while(|id| Some(*id) != region).last();
            let origin = inner.map_or(idom, |id| graph.loops.get(id).preheader);
            return self.class[origin];
        }
        Some(block)
    }

    /// Blocks, at most so many, that share the mask of another one, which a path of the linearized graph skips.
    fn borrowers_without_mask(&self, graph: &Graph<'_, '_>, most: usize) -> Vec<BlockId> {
        let blocks = graph.regions.order.len();
        // Two nodes a block: entered, and run. Their numbers are visiting positions, so most edges go forward.
        let enter = |block: BlockId| 2 * graph.regions.position[block] as usize;
        let mut preds: Vec<SmallVec<[usize; 4]>> = vec![SmallVec::new(); 2 * blocks];
        for &block in &graph.regions.order {
            let run = enter(block) + 1;
            preds[run].push(enter(block));
            if let Some(skip) = self.skip[block].expand() {
                preds[enter(skip)].push(enter(block));
            }
            match &self.exit[block] {
                Exit::Uniform(targets) => targets.iter().for_each(|to| preds[enter(*to)].push(run)),
                Exit::Linear(next) => preds[enter(*next)].push(run),
                // The way back does not matter: the header dominates all of its loop.
                Exit::Latch { next, .. } => next.iter().for_each(|to| preds[enter(*to)].push(run)),
                Exit::Return => {}
            }
        }
        let mut tree = GrowingTree::default();
        // Nodes that nothing leads to dominate nothing.
        let mut reached = vec![false; 2 * blocks];
        for node in 0..2 * blocks {
            let before = preds[node].iter().copied().filter(|pred| *pred < node && reached[*pred]);
            let idom = before.reduce(|a, b| tree.common_ancestor(a, b));
            reached[node] = node == 0 || idom.is_some();
            tree.push(idom.unwrap_or(node));
        }
        let parents: Vec<usize> = (0..2 * blocks).map(|node| tree.parent(node)).collect();
        let tree = tree_intervals(&parents);
        let skipped = |block: &BlockId| match self.class[*block] {
            Some(owner) if owner != *block => {
                let ((first, end), (at, _)) = (tree[enter(owner) + 1], tree[enter(*block)]);
                !(first..end).contains(&at)
            }
            _ => false,
        };
        graph.regions.order.iter().copied().filter(skipped).take(most).collect()
    }

    /// Finds the visiting order. Returns blocks, at most so many, whose uniform branch cannot be kept.
    fn linearize(&mut self, graph: &Graph<'_, '_>, most: usize) -> Vec<BlockId> {
        let position = &graph.regions.position;
        let order = &graph.regions.order;
        let mut unkept = Vec::new();
        // Blocks by their position in the order: the least is the next to visit.
        let mut relay: SecondaryMap<BlockId, Waiting> = SecondaryMap::new();
        let mut at_entry: SecondaryMap<LoopId, Waiting> = SecondaryMap::new();
        for &block in order {
            let mut pending = std::mem::take(&mut relay[block]);
            pending.remove(position[block]);
            if let Some(id) = graph.loops.headed_by(block) {
                // What waits behind the loop waits until the loop is left.
                at_entry[id] = std::mem::take(&mut pending);
            }
            // The next of `targets` and all that is pending, and the rest deferred to it.
            let mut go = |this: &Self, targets: &[BlockId]| -> Option<BlockId> {
                let mut set = pending.clone();
                set.add(targets.iter().map(|to| position[*to]));
                loop {
                    let next = order[set.first()? as usize];
                    let before = set.len();
                    for id in graph.loops.around(block) {
                        if graph.loops.encloses(Some(id), graph.loops.of(next)) {
                            break;
                        }
                        let latch = graph.loops.get(id).latch;
                        if this.divergent_loops.contains(id) && latch != block {
                            set.add([position[latch]].into_iter());
                        } else {
                            set.merge(&at_entry[id]);
                        }
                    }
                    if set.len() == before {
                        set.remove(position[next]);
                        relay[next].merge(&set);
                        return Some(next);
                    }
                }
            };
            if self.class[block] == Some(block) && !pending.is_empty() {
                self.skip[block] = go(self, &[]).into();
            }
            let succs = &graph.cfg.succs[block];
            let latch_of = graph.loops.of(block).filter(|id| graph.loops.get(*id).latch == block);
            self.exit[block] = match latch_of {
                Some(id) if self.divergent_loops.contains(id) => {
                    Exit::Latch { header: graph.loops.get(id).header, next: go(self, &[]) }
                }
                Some(id) => {
                    debug_assert!(pending.is_empty());
                    Exit::Uniform(SmallVec::from_slice(&[graph.loops.get(id).header]))
                }
                None if matches!(graph.func.blocks[block].term, Terminator::Return) => Exit::Return,
                None if self.varying.contains(block) => {
                    let next = go(self, succs).expect("a varying branch has targets");
                    Exit::Linear(next)
                }
                None => {
                    let mut targets = SmallVec::new();
                    for &succ in succs {
                        let next = go(self, &[succ]).expect("the successor at least");
                        if next != succ
                            && !self.leaves_divergent(graph, block, succ)
                            && self.enters_uniformly(graph, succ)
                        {
                            unkept.push(block);
                            if unkept.len() >= most {
                                return unkept;
                            }
                        }
                        targets.push(next);
                    }
                    Exit::Uniform(targets)
                }
            };
        }
        unkept
    }
}

/// Rounds of planning that change one block each.
const PATIENCE: u32 = 64;

/// Positions of blocks that wait to be visited. Most paths hand on the set that they came with, so it is shared until
/// it changes.
#[derive(Clone, Default)]
struct Waiting {
    /// The greatest first, so that the least is taken away without moving the others.
    positions: Rc<Vec<u32>>,
}

impl Waiting {
    fn len(&self) -> usize {
        self.positions.len()
    }

    fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    fn first(&self) -> Option<u32> {
        self.positions.last().copied()
    }

    fn remove(&mut self, position: u32) {
        if self.first() == Some(position) {
            Rc::make_mut(&mut self.positions).pop();
        } else if let Ok(at) = self.positions.binary_search_by(|other| position.cmp(other)) {
            Rc::make_mut(&mut self.positions).remove(at);
        }
    }

    fn add(&mut self, positions: impl ExactSizeIterator<Item = u32>) {
        const FEW: usize = 4;
        if positions.len() <= FEW {
            for position in positions {
                if let Err(at) = self.positions.binary_search_by(|other| position.cmp(other)) {
                    Rc::make_mut(&mut self.positions).insert(at, position);
                }
            }
            return;
        }
        let mut sorted: Vec<u32> = positions.collect();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        sorted.dedup();
        self.merge(&Waiting { positions: Rc::new(sorted) });
    }

    fn merge(&mut self, other: &Waiting) {
        if other.is_empty()
            || Rc::ptr_eq(&self.positions, &other.positions)
            || self.positions == other.positions
        {
            return;
        }
        if self.is_empty() {
            self.positions = Rc::clone(&other.positions);
            return;
        }
        let (mut a, mut b) = (self.positions.iter().peekable(), other.positions.iter().peekable());
        let mut all = Vec::with_capacity(self.len().max(other.len()));
        loop {
            let next = match (a.peek(), b.peek()) {
                (Some(x), Some(y)) => **x.max(y),
                (Some(x), None) => **x,
                (None, Some(y)) => **y,
                (None, None) => break,
            };
            a.next_if(|x| **x == next);
            b.next_if(|y| **y == next);
            all.push(next);
        }
        self.positions = Rc::new(all);
    }
}

#[cfg(test)]
mod tests;
