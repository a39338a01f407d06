//! Natural loops in canonical form, and the removal of irreducible control flow.
//!
//! After [`canonicalize`] every cycle is a natural loop with one preheader (an outside block whose only
//! successor is the header) and one pure latch (an empty block whose only successor is the header).
//! Lowering hangs masks on exactly these two blocks.
//!
//! A cycle with several entries gets a dispatch block in front of its entries, as LLVM's FixIrreducible
//! does. That keeps the code's size linear, where node splitting may grow it exponentially. Dominance
//! of values over their uses can be lost statically (never on a path that a program takes), which is
//! fine here because lowering keeps values that cross blocks in slots.

use super::cfg::{Cfg, Dominators, tree_intervals};
use super::func::{Block, BlockId, ENTRY, Func, Incoming, Phi, Synthetic, Terminator};
use crate::error::EngineError;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use spirv_env::Id;

/// An index into [`Loops::loops`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct LoopId(pub u32);

impl LoopId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Debug)]
pub struct Loop {
    pub header: BlockId,
    pub preheader: BlockId,
    pub latch: BlockId,
    pub parent: Option<LoopId>,
    /// All blocks, those of inner loops included.
    pub blocks: Vec<BlockId>,
}

/// The loop forest of a function in canonical form.
#[derive(Debug)]
pub struct Loops {
    pub loops: Vec<Loop>,
    innermost: Vec<Option<LoopId>>,
    /// By loop: its part of the loop forest in depth-first order, as the first number and the end.
    interval: Vec<(u32, u32)>,
}

impl Loops {
    pub fn new(cfg: &Cfg, doms: &Dominators) -> Self {
        let mut loops = Vec::new();
        let mut innermost: Vec<Option<LoopId>> = vec![None; cfg.succs.len()];
        // By block: the last header whose loop it was found in.
        let mut found_for = vec![ENTRY; cfg.succs.len()];
        // Headers in reverse post-order: outer loops come before inner ones.
        for &header in &cfg.rpo {
            let Some(blocks) = natural_loop(cfg, doms, header, &mut found_for) else { continue };
            let id = LoopId(loops.len() as u32);
            let parent = innermost[header.index()];
            blocks.iter().for_each(|block| innermost[block.index()] = Some(id));
            let is_back = |pred: &&BlockId| doms.dominates(header, **pred);
            let preds = &cfg.preds[header.index()];
            let latch = *preds.iter().find(is_back).expect("a loop has a back edge");
            let preheader = *preds.iter().find(|pred| !is_back(pred)).expect("a loop is entered");
            loops.push(Loop { header, preheader, latch, parent, blocks });
        }
        let parent = |(at, this): (usize, &Loop)| this.parent.map_or(at, LoopId::index);
        let parents: Vec<usize> = loops.iter().enumerate().map(parent).collect();
        Self { interval: tree_intervals(&parents), loops, innermost }
    }

    pub fn get(&self, id: LoopId) -> &Loop {
        &self.loops[id.index()]
    }

    /// The innermost loop around a block.
    pub fn of(&self, block: BlockId) -> Option<LoopId> {
        self.innermost[block.index()]
    }

    /// Whether `outer` is `inner` or around it. `None` is the whole function.
    pub fn encloses(&self, outer: Option<LoopId>, inner: Option<LoopId>) -> bool {
        match (outer, inner) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(outer), Some(inner)) => {
                let (first, end) = self.interval[outer.index()];
                (first..end).contains(&self.interval[inner.index()].0)
            }
        }
    }

    /// The loops around a block, innermost first.
    pub fn around(&self, block: BlockId) -> impl Iterator<Item = LoopId> + '_ {
        std::iter::successors(self.of(block), |id| self.get(*id).parent)
    }

    /// Whether the edge `from -> to` is a back edge.
    pub fn is_back_edge(&self, from: BlockId, to: BlockId) -> bool {
        self.of(from).is_some_and(|id| self.get(id).header == to && self.get(id).latch == from)
    }
}

/// The blocks of the natural loop with this header; `None` if no back edge leads there.
fn natural_loop(
    cfg: &Cfg,
    doms: &Dominators,
    header: BlockId,
    found_for: &mut [BlockId],
) -> Option<Vec<BlockId>> {
    let mut work: Vec<BlockId> =
        cfg.preds[header.index()].iter().copied().filter(|pred| doms.dominates(header, *pred)).collect();
    if work.is_empty() {
        return None;
    }
    found_for[header.index()] = header;
    let mut blocks = vec![header];
    while let Some(block) = work.pop() {
        if found_for[block.index()] != header {
            found_for[block.index()] = header;
            blocks.push(block);
            work.extend(cfg.preds[block.index()].iter().copied());
        }
    }
    Some(blocks)
}

/// How deep cycles with several entries may nest: each level takes a look at the whole function.
const IRREDUCIBLE_NESTING: u32 = 64;

/// Makes all cycles natural loops with a preheader and a pure latch.
pub fn canonicalize(func: &mut Func<'_>) -> Result<(), EngineError> {
    // Each round removes the outermost multiple-entry cycles and creates cycle nests that are shallower.
    let mut rounds = 0;
    loop {
        let cfg = Cfg::new(func);
        let cycles = irreducible_cycles(&cfg);
        if cycles.is_empty() {
            break;
        }
        rounds += 1;
        if rounds > IRREDUCIBLE_NESTING {
            let what = format!("irreducible control flow that nests more than {IRREDUCIBLE_NESTING} deep");
            return Err(func.unsupported(what));
        }
        // They have no block in common, so none changes the edges into another one's entries.
        for entries in cycles {
            insert_dispatch(func, &cfg, &entries);
        }
    }
    let cfg = Cfg::new(func);
    let doms = Dominators::new(&cfg);
    for &header in &cfg.rpo {
        let (back, outside): (Vec<BlockId>, Vec<BlockId>) =
            cfg.preds[header.index()].iter().partition(|pred| doms.dominates(header, **pred));
        if back.is_empty() {
            continue;
        }
        for preds in [outside, back] {
            let pure = |pred: BlockId| {
                let block = &func.blocks[pred.index()];
                cfg.succs[pred.index()].len() == 1 && block.insts.is_empty() && block.phis.is_empty()
            };
            if preds.len() == 1 && pure(preds[0]) && pred_is_unshared(&cfg, preds[0]) {
                continue;
            }
            merge_edges(func, &preds, header);
        }
    }
    Ok(())
}

/// A block that is reached from several places may not double as preheader and latch.
fn pred_is_unshared(cfg: &Cfg, pred: BlockId) -> bool {
    cfg.preds[pred.index()].len() <= 1
}

/// Puts a new block on all edges from `preds` to `to`, and merges their phi operands in it.
fn merge_edges(func: &mut Func<'_>, preds: &[BlockId], to: BlockId) -> BlockId {
    let middle = func.push(Block::forward(to));
    for pred in preds {
        func.blocks[pred.index()].term.retarget(to, middle);
    }
    let merged: FxHashSet<BlockId> = preds.iter().copied().collect();
    let mut phis = std::mem::take(&mut func.blocks[to.index()].phis);
    for phi in &mut phis {
        let (moved, kept): (Incoming, Incoming) =
            phi.incoming.drain(..).partition(|(pred, _)| merged.contains(pred));
        phi.incoming = kept;
        let value = match moved.as_slice() {
            [] => continue,
            [(_, value), rest @ ..] if rest.iter().all(|(_, other)| other == value) => *value,
            _ => {
                let result = func.fresh();
                if func.selectors.contains(&phi.result) {
                    func.selectors.insert(result);
                } else {
                    func.types.insert(result, phi.ty);
                }
                func.blocks[middle.index()].phis.push(Phi { result, ty: phi.ty, incoming: moved });
                result
            }
        };
        phi.incoming.push((middle, value));
    }
    func.blocks[to.index()].phis = phis;
    middle
}

/// The entries of the outermost cycles that have more than one each.
fn irreducible_cycles(cfg: &Cfg) -> Vec<Vec<BlockId>> {
    let doms = Dominators::new(cfg);
    // Cheap test first: a retreating edge whose target does not dominate its source.
    let irreducible = cfg.rpo.iter().any(|&block| {
        cfg.succs[block.index()]
            .iter()
            .any(|&to| cfg.number[to.index()] <= cfg.number[block.index()] && !doms.dominates(to, block))
    });
    let mut found = Vec::new();
    if !irreducible {
        return found;
    }
    let mut search = Search::new(cfg);
    let mut regions: Vec<Vec<BlockId>> = vec![cfg.rpo.clone()];
    while let Some(region) = regions.pop() {
        for component in search.strongly_connected(&region) {
            let inside: FxHashSet<BlockId> = component.iter().copied().collect();
            let is_in = |block: &BlockId| inside.contains(block);
            let entries: Vec<BlockId> = component
                .iter()
                .copied()
                .filter(|block| cfg.preds[block.index()].iter().any(|pred| !is_in(pred)))
                .collect();
            if entries.len() > 1 {
                found.push(entries);
                continue;
            }
            // A natural loop: look inside, without the edges back to its header.
            let header = entries.first().copied();
            regions.push(component.into_iter().filter(|block| Some(*block) != header).collect());
        }
    }
    found
}

/// The search for strongly connected components of subgraphs (Tarjan 1972, iterative).
struct Search<'a> {
    cfg: &'a Cfg,
    /// By block; what a search touches, it restores at its end.
    inside: Vec<bool>,
    index: Vec<u32>,
    low: Vec<u32>,
    on_stack: Vec<bool>,
}

const UNSEEN: u32 = u32::MAX;

impl<'a> Search<'a> {
    fn new(cfg: &'a Cfg) -> Self {
        let count = cfg.succs.len();
        Self {
            cfg,
            inside: vec![false; count],
            index: vec![UNSEEN; count],
            low: vec![0; count],
            on_stack: vec![false; count],
        }
    }

    /// The components with a cycle of the subgraph that `region` spans.
    fn strongly_connected(&mut self, region: &[BlockId]) -> Vec<Vec<BlockId>> {
        region.iter().for_each(|block| self.inside[block.index()] = true);
        let components = self.components(region);
        for block in region {
            self.inside[block.index()] = false;
            self.index[block.index()] = UNSEEN;
        }
        components
    }

    fn components(&mut self, region: &[BlockId]) -> Vec<Vec<BlockId>> {
        let Search { cfg, inside, index, low, on_stack } = self;
        let (mut next, mut stack, mut components) = (0, Vec::new(), Vec::new());
        for &root in region {
            if index[root.index()] != UNSEEN {
                continue;
            }
            let mut work = vec![(root, 0usize)];
            while let Some(&mut (block, ref mut edge)) = work.last_mut() {
                let at = block.index();
                if *edge == 0 {
                    index[at] = next;
                    low[at] = next;
                    next += 1;
                    stack.push(block);
                    on_stack[at] = true;
                }
                if let Some(&succ) = cfg.succs[at].get(*edge) {
                    *edge += 1;
                    if !inside[succ.index()] {
                        // `edge` moved on; a first visit with no inside successor must not look unvisited again.
                        continue;
                    }
                    if index[succ.index()] == UNSEEN {
                        work.push((succ, 0));
                    } else if on_stack[succ.index()] {
                        low[at] = low[at].min(index[succ.index()]);
                    }
                    continue;
                }
                work.pop();
                if let Some((parent, _)) = work.last() {
                    low[parent.index()] = low[parent.index()].min(low[at]);
                }
                if low[at] == index[at] {
                    let mut component = Vec::new();
                    while let Some(member) = stack.pop() {
                        on_stack[member.index()] = false;
                        component.push(member);
                        if member == block {
                            break;
                        }
                    }
                    let cyclic = component.len() > 1 || cfg.succs[at].contains(&block);
                    if cyclic {
                        components.push(component);
                    }
                }
            }
        }
        components
    }
}

/// Makes one block the only entry of the cycle that `entries` lead into. `cfg` is from before any of this.
fn insert_dispatch(func: &mut Func<'_>, cfg: &Cfg, entries: &[BlockId]) {
    let dispatch = func.push(Block::forward(entries[0]));
    let selector = func.fresh();
    func.selectors.insert(selector);
    let mut arms: Vec<(BlockId, usize, BlockId)> = Vec::new();
    let mut selected: Incoming = SmallVec::new();
    for (number, &entry) in entries.iter().enumerate() {
        for &pred in &cfg.preds[entry.index()] {
            let arm = func.push(Block::forward(dispatch));
            func.blocks[pred.index()].term.retarget(entry, arm);
            let value = func.synthetic(Synthetic::Int(number as u32));
            selected.push((arm, value));
            arms.push((arm, number, pred));
        }
    }
    let mut phis = vec![Phi { result: selector, ty: spirv_env::TypeId(u32::MAX), incoming: selected }];
    for (number, &entry) in entries.iter().enumerate() {
        for phi in std::mem::take(&mut func.blocks[entry.index()].phis) {
            let undef = func.synthetic(Synthetic::Undef);
            func.types.insert(undef, phi.ty);
            let of_pred: FxHashMap<BlockId, Id> = phi.incoming.iter().copied().collect();
            let incoming = arms
                .iter()
                .map(|(arm, target, pred)| {
                    let value = of_pred.get(pred).copied();
                    (*arm, if *target == number { value.unwrap_or(undef) } else { undef })
                })
                .collect();
            phis.push(Phi { incoming, ..phi });
        }
    }
    let block = &mut func.blocks[dispatch.index()];
    block.phis = phis;
    block.term = Terminator::Dispatch { selector, targets: entries.to_vec() };
}
