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

use super::cfg::{Cfg, Dominators};
use super::func::Func;
use super::func::{BlockId, ENTRY, Terminator};
use super::loops::{LoopId, Loops};
use super::regions::Regions;
use smallvec::SmallVec;
use std::collections::BTreeSet;

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
    pub varying: Vec<bool>,
    pub class: Vec<Class>,
    /// Loops that work-items leave in different iterations.
    pub divergent_loop: Vec<bool>,
    /// Blocks whose phis have to keep the values of work-items that came by another edge.
    pub blended: Vec<bool>,
    pub exit: Vec<Exit>,
    /// Where to go on if the mask of a block that owns one is empty.
    pub skip: Vec<Option<BlockId>>,
    /// The block can be reached although none of its edges was taken.
    pub deferred: Vec<bool>,
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
    pub fn new(graph: &Graph<'_, '_>, mut varying: Vec<bool>) -> Self {
        let mut owners = vec![false; graph.cfg.succs.len()];
        loop {
            let mut control = Self::classify(graph, varying.clone(), &owners);
            match control.linearize(graph) {
                Err(block) => varying[block.index()] = true,
                Ok(()) => match control.borrower_without_mask(graph) {
                    Some(block) => owners[block.index()] = true,
                    None => return control,
                },
            }
        }
    }

    fn classify(graph: &Graph<'_, '_>, varying: Vec<bool>, owners: &[bool]) -> Self {
        let blocks = graph.cfg.succs.len();
        let mut control = Control {
            varying,
            class: vec![None; blocks],
            divergent_loop: vec![false; graph.loops.loops.len()],
            blended: vec![false; blocks],
            exit: vec![Exit::Return; blocks],
            skip: vec![None; blocks],
            deferred: vec![false; blocks],
        };
        // Divergence of a loop depends on classes inside of it, which depend on divergence: to a fixed point.
        loop {
            for &block in &graph.regions.order {
                control.class[block.index()] =
                    if owners[block.index()] { Some(block) } else { control.class_of(graph, block) };
            }
            let mut changed = false;
            for (at, this) in graph.loops.loops.iter().enumerate() {
                if control.divergent_loop[at] {
                    continue;
                }
                let inside = control.class[this.header.index()];
                let diverges = control.class[this.latch.index()] != inside
                    || this.blocks.iter().any(|&block| {
                        let exits = graph.cfg.succs[block.index()]
                            .iter()
                            .any(|to| !graph.loops.encloses(Some(LoopId(at as u32)), graph.loops.of(*to)));
                        exits && (control.varying[block.index()] || control.class[block.index()] != inside)
                    });
                if diverges {
                    control.divergent_loop[at] = true;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        for &block in &graph.regions.order {
            let preds = &graph.cfg.preds[block.index()];
            let header = preds.iter().any(|pred| graph.loops.is_back_edge(*pred, block));
            control.blended[block.index()] = !header
                && !control.enters_uniformly(graph, block)
                && (preds.len() > 1
                    || preds.iter().any(|pred| control.leaves_divergent(graph, *pred, block)));
        }
        control
    }

    /// Whether the edge leaves a loop that work-items leave in different iterations.
    pub fn leaves_divergent(&self, graph: &Graph<'_, '_>, from: BlockId, to: BlockId) -> bool {
        graph
            .loops
            .around(from)
            .any(|id| self.divergent_loop[id.index()] && !graph.loops.encloses(Some(id), graph.loops.of(to)))
    }

    /// Whether exactly one edge into `block` is taken, by all work-items of one mask.
    fn enters_uniformly(&self, graph: &Graph<'_, '_>, block: BlockId) -> bool {
        let preds = &graph.cfg.preds[block.index()];
        preds.first().is_some_and(|first| {
            preds.iter().all(|pred| {
                !self.varying[pred.index()]
                    && self.class[pred.index()] == self.class[first.index()]
                    && !self.leaves_divergent(graph, *pred, block)
            })
        })
    }

    fn class_of(&self, graph: &Graph<'_, '_>, block: BlockId) -> Class {
        if block == ENTRY {
            return None;
        }
        if let Some(id) = graph.loops.of(block)
            && graph.loops.get(id).header == block
        {
            let this = graph.loops.get(id);
            return if self.divergent_loop[id.index()] {
                Some(block)
            } else {
                self.class[this.preheader.index()]
            };
        }
        if let Some(id) = graph.loops.of(block)
            && graph.loops.get(id).latch == block
            && self.divergent_loop[id.index()]
        {
            // Work-items that left the loop come by here too, on their way out.
            return Some(block);
        }
        if self.enters_uniformly(graph, block) {
            return self.class[graph.cfg.preds[block.index()][0].index()];
        }
        let idom = graph.doms.idom(block);
        if graph.regions.post_dominates(graph.loops, block, idom) {
            let region = graph.loops.of(block);
            // A dominator in an inner loop stands for the loop: who enters it, leaves it.
            let inner = graph.loops.around(idom).take_while(|id| Some(*id) != region).last();
            let origin = inner.map_or(idom, |id| graph.loops.get(id).preheader);
            return self.class[origin.index()];
        }
        Some(block)
    }

    /// A block that shares the mask of another one, which a path of the linearized graph skips.
    fn borrower_without_mask(&self, graph: &Graph<'_, '_>) -> Option<BlockId> {
        let blocks = graph.cfg.succs.len();
        // Two nodes a block: entered, and run. Their numbers are visiting positions, so most edges go forward.
        let enter = |block: BlockId| 2 * graph.regions.position[block.index()] as usize;
        let mut preds: Vec<SmallVec<[usize; 4]>> = vec![SmallVec::new(); 2 * blocks];
        for &block in &graph.regions.order {
            let run = enter(block) + 1;
            preds[run].push(enter(block));
            if let Some(skip) = self.skip[block.index()] {
                preds[enter(skip)].push(enter(block));
            }
            match &self.exit[block.index()] {
                Exit::Uniform(targets) => targets.iter().for_each(|to| preds[enter(*to)].push(run)),
                Exit::Linear(next) => preds[enter(*next)].push(run),
                // The way back does not matter: the header dominates all of its loop.
                Exit::Latch { next, .. } => next.iter().for_each(|to| preds[enter(*to)].push(run)),
                Exit::Return => {}
            }
        }
        const UNKNOWN: usize = usize::MAX;
        let mut idom = vec![UNKNOWN; 2 * blocks];
        idom[0] = 0;
        for node in 1..2 * blocks {
            for &pred in preds[node].iter().filter(|pred| **pred < node) {
                let (mut a, mut b) = (pred, idom[node]);
                if idom[a] == UNKNOWN {
                    continue;
                }
                if b == UNKNOWN {
                    b = a;
                }
                while a != b {
                    if a > b {
                        a = idom[a];
                    } else {
                        b = idom[b];
                    }
                }
                idom[node] = a;
            }
        }
        graph.regions.order.iter().copied().find(|&block| match self.class[block.index()] {
            Some(owner) if owner != block => {
                let (mut at, goal) = (enter(block), enter(owner) + 1);
                while at > goal && idom[at] != UNKNOWN {
                    at = idom[at];
                }
                at != goal
            }
            _ => false,
        })
    }

    /// Finds the visiting order. Fails with a block whose uniform branch cannot be kept.
    fn linearize(&mut self, graph: &Graph<'_, '_>) -> Result<(), BlockId> {
        let blocks = graph.cfg.succs.len();
        let position = &graph.regions.position;
        let order = &graph.regions.order;
        // Blocks by their position in the order: the least is the next to visit.
        let mut relay: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); blocks];
        let mut at_entry: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); graph.loops.loops.len()];
        for &block in order {
            let mut pending = std::mem::take(&mut relay[block.index()]);
            pending.remove(&position[block.index()]);
            if let Some(id) = graph.loops.of(block)
                && graph.loops.get(id).header == block
            {
                // What waits behind the loop waits until the loop is left.
                at_entry[id.index()] = std::mem::take(&mut pending);
            }
            // The next of `targets` and all that is pending, and the rest deferred to it.
            let mut go = |this: &mut Self, targets: &[BlockId]| -> Option<BlockId> {
                let mut set = pending.clone();
                set.extend(targets.iter().map(|to| position[to.index()]));
                loop {
                    let next = order[*set.first()? as usize];
                    let before = set.len();
                    for id in graph.loops.around(block) {
                        if graph.loops.encloses(Some(id), graph.loops.of(next)) {
                            break;
                        }
                        let latch = graph.loops.get(id).latch;
                        if this.divergent_loop[id.index()] && latch != block {
                            set.insert(position[latch.index()]);
                        } else {
                            set.extend(at_entry[id.index()].iter().copied());
                        }
                    }
                    if set.len() == before {
                        set.remove(&position[next.index()]);
                        for &other in &set {
                            this.deferred[order[other as usize].index()] = true;
                        }
                        relay[next.index()].extend(set);
                        return Some(next);
                    }
                }
            };
            if self.class[block.index()] == Some(block) && !pending.is_empty() {
                self.skip[block.index()] = go(self, &[]);
            }
            let succs = &graph.cfg.succs[block.index()];
            let latch_of = graph.loops.of(block).filter(|id| graph.loops.get(*id).latch == block);
            self.exit[block.index()] = match latch_of {
                Some(id) if self.divergent_loop[id.index()] => {
                    Exit::Latch { header: graph.loops.get(id).header, next: go(self, &[]) }
                }
                Some(id) => {
                    debug_assert!(pending.is_empty());
                    Exit::Uniform(SmallVec::from_slice(&[graph.loops.get(id).header]))
                }
                None if matches!(graph.func.blocks[block.index()].term, Terminator::Return) => Exit::Return,
                None if self.varying[block.index()] => {
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
                            return Err(block);
                        }
                        targets.push(next);
                    }
                    Exit::Uniform(targets)
                }
            };
        }
        Ok(())
    }
}
