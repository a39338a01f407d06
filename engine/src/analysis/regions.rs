//! The region tree: for the function and for every loop, its blocks and inner loops in topological order,
//! with post-dominators that hold within one iteration.
//!
//! A region's graph is acyclic: inner loops are single nodes, and edges to the region's own header or out
//! of the region lead to a virtual exit. "b post-dominates a" in it means: every work-item that runs a in
//! an iteration also runs b in that iteration, which is what lets b reuse a's mask.

use super::cfg::Cfg;
use super::func::{BlockId, ENTRY};
use super::loops::{LoopId, Loops};
use cranelift_entity::{PrimaryMap, SecondaryMap};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// A node of a region's graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    Block(BlockId),
    Loop(LoopId),
}

#[derive(Debug)]
struct Region {
    nodes: Vec<Node>,
    position: FxHashMap<Node, usize>,
    /// Immediate post-dominator by position; `nodes.len()` is the virtual exit.
    ipdom: Vec<usize>,
}

#[derive(Debug)]
pub struct Regions {
    root: Region,
    loops: PrimaryMap<LoopId, Region>,
    /// All blocks; those of a loop are contiguous, and an edge that is no back edge goes forward.
    pub order: Vec<BlockId>,
    /// Position of each block in `order`.
    pub position: SecondaryMap<BlockId, u32>,
}

impl Regions {
    pub fn new(cfg: &Cfg, loops: &Loops) -> Self {
        let root = Region::new(cfg, loops, None);
        let inner: PrimaryMap<LoopId, Region> =
            loops.loops.keys().map(|id| Region::new(cfg, loops, Some(id))).collect();
        let mut order = Vec::with_capacity(cfg.rpo.len());
        flatten(&root, &inner, &mut order);
        let mut position = SecondaryMap::new();
        for (at, &block) in order.iter().enumerate() {
            position[block] = at as u32;
        }
        Self { root, loops: inner, order, position }
    }

    fn region(&self, id: Option<LoopId>) -> &Region {
        id.map_or(&self.root, |id| &self.loops[id])
    }

    /// Whether every work-item that runs `a` runs `b` in the same iteration of `b`'s innermost loop. `a` may
    /// lie in loops inside that loop, and then stands for the outermost of them.
    pub fn post_dominates(&self, loops: &Loops, b: BlockId, a: BlockId) -> bool {
        let within = loops.of(b);
        let region = self.region(within);
        let Some(mut at) = region.position_of(loops, within, a) else { return false };
        let goal = region.position[&Node::Block(b)];
        while at < goal {
            at = region.ipdom[at];
        }
        at == goal
    }
}

fn flatten(region: &Region, inner: &PrimaryMap<LoopId, Region>, order: &mut Vec<BlockId>) {
    for node in &region.nodes {
        match node {
            Node::Block(block) => order.push(*block),
            Node::Loop(id) => flatten(&inner[*id], inner, order),
        }
    }
}

/// The node that stands for `block` in the region `within`; `None` if the block is outside of it.
fn node_of(loops: &Loops, within: Option<LoopId>, block: BlockId) -> Option<Node> {
    let mut node = Node::Block(block);
    let mut at = loops.of(block);
    while at != within {
        let id = at?;
        node = Node::Loop(id);
        at = loops.get(id).parent;
    }
    Some(node)
}

impl Region {
    fn new(cfg: &Cfg, loops: &Loops, within: Option<LoopId>) -> Self {
        let header = within.map_or(ENTRY, |id| loops.get(id).header);
        const FEW: usize = 8;
        let start = Node::Block(header);
        // Successors inside the region, and whether an edge leaves it or goes back to the header.
        let successors = |node: Node| {
            let mut inside: SmallVec<[Node; 4]> = SmallVec::new();
            // Only where there are many: most have two.
            let mut known: FxHashSet<Node> = FxHashSet::default();
            let mut leaves = false;
            let mut edge = |to: BlockId| match node_of(loops, within, to) {
                Some(next) if to != header => {
                    let is_new = match inside.len() {
                        0..FEW => !inside.contains(&next),
                        FEW => {
                            known.extend(inside.iter().copied());
                            known.insert(next)
                        }
                        _ => known.insert(next),
                    };
                    if next != node && is_new {
                        inside.push(next);
                    }
                }
                _ => leaves = true,
            };
            match node {
                Node::Block(block) => cfg.succs[block].iter().copied().for_each(&mut edge),
                Node::Loop(id) => loops.get(id).exits.iter().for_each(|(_, to)| edge(*to)),
            }
            (inside, leaves)
        };
        let mut nodes = Vec::new();
        let mut seen: FxHashMap<Node, ()> = FxHashMap::default();
        seen.insert(start, ());
        let mut stack = vec![(start, successors(start).0, 0usize)];
        while let Some((node, list, next)) = stack.last_mut() {
            if *next < list.len() {
                // The last successor first: the first one then comes first in the order.
                let succ = list[list.len() - 1 - *next];
                *next += 1;
                if seen.insert(succ, ()).is_none() {
                    stack.push((succ, successors(succ).0, 0));
                }
            } else {
                nodes.push(*node);
                stack.pop();
            }
        }
        nodes.reverse();
        let position: FxHashMap<Node, usize> =
            nodes.iter().enumerate().map(|(at, node)| (*node, at)).collect();
        let exit = nodes.len();
        let mut ipdom = vec![exit; nodes.len()];
        for at in (0..nodes.len()).rev() {
            let (inside, leaves) = successors(nodes[at]);
            let mut common = if leaves || inside.is_empty() { Some(exit) } else { None };
            for succ in inside {
                let mut b = position[&succ];
                let Some(mut a) = common else {
                    common = Some(b);
                    continue;
                };
                while a != b {
                    if a < b {
                        a = ipdom[a];
                    } else {
                        b = ipdom[b];
                    }
                }
                common = Some(a);
            }
            ipdom[at] = common.unwrap_or(exit);
        }
        Self { nodes, position, ipdom }
    }

    fn position_of(&self, loops: &Loops, within: Option<LoopId>, block: BlockId) -> Option<usize> {
        self.position.get(&node_of(loops, within, block)?).copied()
    }
}
