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
use super::func::{Block, BlockId, Func, Incoming, Phi, Synthetic, Terminator};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, EntitySet, PrimaryMap, SecondaryMap, entity_impl};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use spirv_env::Id;

/// Iterations of a loop, where nobody knows: more than one access outside is worth.
pub const ITERATIONS: u64 = 8;
/// Nested loops that are counted.
pub const MOST_LOOPS: usize = 4;

/// A loop of [`Loops`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LoopId(u32);
entity_impl!(LoopId, "loop");

#[derive(Debug)]
pub struct Loop {
    pub header: BlockId,
    pub preheader: BlockId,
    pub latch: BlockId,
    pub parent: Option<LoopId>,
    /// All blocks, those of inner loops included.
    pub blocks: Vec<BlockId>,
    /// The edges from its blocks to others.
    pub exits: Vec<(BlockId, BlockId)>,
}

/// The loop forest of a function in canonical form.
#[derive(Debug)]
pub struct Loops {
    pub loops: PrimaryMap<LoopId, Loop>,
    innermost: SecondaryMap<BlockId, PackedOption<LoopId>>,
    /// Each loop's part of the loop forest in depth-first order, as the first number and the end.
    interval: PrimaryMap<LoopId, (u32, u32)>,
}

impl Loops {
    pub fn new(cfg: &Cfg, doms: &Dominators) -> Self {
        let mut loops: PrimaryMap<LoopId, Loop> = PrimaryMap::new();
        let mut innermost: SecondaryMap<BlockId, PackedOption<LoopId>> = SecondaryMap::new();
        let mut found_for: LastHeader = SecondaryMap::new();
        // Headers in reverse post-order: outer loops come before inner ones.
        for &header in &cfg.rpo {
            let Some(blocks) = natural_loop(cfg, doms, header, &mut found_for) else { continue };
            let parent = innermost[header].expand();
            blocks.iter().for_each(|block| innermost[*block] = loops.next_key().into());
            let is_back = |pred: &&BlockId| doms.dominates(header, **pred);
            let preds = &cfg.preds[header];
            let latch = *preds.iter().find(is_back).expect("a loop has a back edge");
            let preheader = *preds.iter().find(|pred| !is_back(pred)).expect("a loop is entered");
            loops.push(Loop { header, preheader, latch, parent, blocks, exits: Vec::new() });
        }
        let parents: Vec<usize> = loops.iter().map(|(id, this)| this.parent.unwrap_or(id).index()).collect();
        let mut this = Self { interval: tree_intervals(&parents).into(), loops, innermost };
        for &from in &cfg.rpo {
            for &to in &cfg.succs[from] {
                let left: SmallVec<[LoopId; 4]> = this.left_by(from, to).collect();
                left.into_iter().for_each(|id| this.loops[id].exits.push((from, to)));
            }
        }
        this
    }

    pub fn get(&self, id: LoopId) -> &Loop {
        &self.loops[id]
    }

    /// The innermost loop around a block.
    pub fn of(&self, block: BlockId) -> Option<LoopId> {
        self.innermost[block].expand()
    }

    /// The loop that begins with a block.
    pub fn headed_by(&self, block: BlockId) -> Option<LoopId> {
        self.of(block).filter(|id| self.get(*id).header == block)
    }

    /// The loops that have no others inside.
    pub fn innermost(&self) -> EntitySet<LoopId> {
        let mut found = EntitySet::new();
        found.extend(self.loops.keys());
        self.loops.values().filter_map(|this| this.parent).for_each(|outer| {
            found.remove(outer);
        });
        found
    }

    /// Whether `outer` is `inner` or around it. `None` is the whole function.
    pub fn encloses(&self, outer: Option<LoopId>, inner: Option<LoopId>) -> bool {
        match (outer, inner) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(outer), Some(inner)) => {
                let (first, end) = self.interval[outer];
                (first..end).contains(&self.interval[inner].0)
            }
        }
    }

    /// The loops around a block, innermost first.
    pub fn around(&self, block: BlockId) -> impl Iterator<Item = LoopId> + '_ {
        std::iter::successors(self.of(block), |id| self.get(*id).parent)
    }

    /// The loops around a block without another one, innermost first: those that an edge between the two leaves.
    pub fn left_by(&self, from: BlockId, to: BlockId) -> impl Iterator<Item = LoopId> + '_ {
        let to = self.of(to);
        self.around(from).take_while(move |id| !self.encloses(Some(*id), to))
    }

    /// Whether the edge `from -> to` is a back edge.
    pub fn is_back_edge(&self, from: BlockId, to: BlockId) -> bool {
        self.of(from).is_some_and(|id| self.get(id).header == to && self.get(id).latch == from)
    }
}

/// The last header whose loop a block was found in.
type LastHeader = SecondaryMap<BlockId, PackedOption<BlockId>>;

/// The blocks of the natural loop with this header; `None` if no back edge leads there.
fn natural_loop(
    cfg: &Cfg,
    doms: &Dominators,
    header: BlockId,
    found_for: &mut LastHeader,
) -> Option<Vec<BlockId>> {
    let mut work: Vec<BlockId> =
        cfg.preds[header].iter().copied().filter(|pred| doms.dominates(header, *pred)).collect();
    if work.is_empty() {
        return None;
    }
    found_for[header] = header.into();
    let mut blocks = vec![header];
    while let Some(block) = work.pop() {
        if found_for[block] != header.into() {
            found_for[block] = header.into();
            blocks.push(block);
            work.extend(cfg.preds[block].iter().copied());
        }
    }
    Some(blocks)
}

/// Makes all cycles natural loops with a preheader and a pure latch.
pub fn canonicalize(func: &mut Func<'_>) {
    let cfg = Cfg::new(func);
    // No block is an entry of two cycles, so none changes the edges into another one's entries.
    for entries in irreducible_cycles(&cfg) {
        insert_dispatch(func, &cfg, &entries);
    }
    let cfg = Cfg::new(func);
    let doms = Dominators::new(&cfg);
    for &header in &cfg.rpo {
        let (back, outside): (Vec<BlockId>, Vec<BlockId>) =
            cfg.preds[header].iter().partition(|pred| doms.dominates(header, **pred));
        if back.is_empty() {
            continue;
        }
        for preds in [outside, back] {
            let pure = |pred: BlockId| {
                let block = &func.blocks[pred];
                cfg.succs[pred].len() == 1 && block.insts.is_empty() && block.phis.is_empty()
            };
            if preds.len() == 1 && pure(preds[0]) && pred_is_unshared(&cfg, preds[0]) {
                continue;
            }
            merge_edges(func, &preds, header);
        }
    }
}

/// A block that is reached from several places may not double as preheader and latch.
fn pred_is_unshared(cfg: &Cfg, pred: BlockId) -> bool {
    cfg.preds[pred].len() <= 1
}

/// Puts a new block on all edges from `preds` to `to`, and merges their phi operands in it.
pub(super) fn merge_edges(func: &mut Func<'_>, preds: &[BlockId], to: BlockId) -> BlockId {
    let middle = func.push(Block::forward(to));
    for &pred in preds {
        func.blocks[pred].term.retarget(to, middle);
    }
    let merged: FxHashSet<BlockId> = preds.iter().copied().collect();
    let mut phis = std::mem::take(&mut func.blocks[to].phis);
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
                func.blocks[middle].phis.push(Phi { result, ty: phi.ty, incoming: moved });
                result
            }
        };
        phi.incoming.push((middle, value));
    }
    func.blocks[to].phis = phis;
    middle
}

/// The entries of the cycles that have more than one each, outer cycles first.
fn irreducible_cycles(cfg: &Cfg) -> Vec<Vec<BlockId>> {
    let doms = Dominators::new(cfg);
    // Cheap test first: a retreating edge whose target does not dominate its source.
    let irreducible = cfg.rpo.iter().any(|&block| {
        cfg.succs[block].iter().any(|&to| cfg.number[to] <= cfg.number[block] && !doms.dominates(to, block))
    });
    let mut found = Vec::new();
    if irreducible {
        for_each_cycle(cfg, |_, entries| {
            if entries.len() > 1 {
                found.push(entries);
            }
            true
        });
    }
    found
}

/// Whether the blocks of all cycles, counted again for each cycle around them, are at most so many.
pub fn nested_blocks_fit(cfg: &Cfg, most: u64) -> bool {
    let mut left = most;
    for_each_cycle(cfg, |blocks, _| match left.checked_sub(blocks as u64) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    })
}

/// Calls `visit` with the number of blocks and the entries of each cycle, outer cycles first, for as long as it says so.
/// Whether it always did.
fn for_each_cycle(cfg: &Cfg, mut visit: impl FnMut(usize, Vec<BlockId>) -> bool) -> bool {
    let mut search = Search::new(cfg);
    let mut regions: Vec<Vec<BlockId>> = vec![cfg.rpo.clone()];
    while let Some(region) = regions.pop() {
        for component in search.strongly_connected(&region) {
            let inside: FxHashSet<BlockId> = component.iter().copied().collect();
            let is_in = |block: &BlockId| inside.contains(block);
            let entries: Vec<BlockId> = component
                .iter()
                .copied()
                .filter(|block| cfg.preds[*block].iter().any(|pred| !is_in(pred)))
                .collect();
            // Look inside, without the edges that lead back: to the header of a natural loop, or to a dispatch block, from
            // which alone the entries are reached then.
            let is_entry: FxHashSet<BlockId> = entries.iter().copied().collect();
            let blocks = component.len();
            regions.push(component.into_iter().filter(|block| !is_entry.contains(block)).collect());
            if !visit(blocks, entries) {
                return false;
            }
        }
    }
    true
}

/// The search for strongly connected components of subgraphs (Tarjan 1972, iterative).
struct Search<'a> {
    cfg: &'a Cfg,
    /// What a search touches, it restores at its end.
    inside: EntitySet<BlockId>,
    index: SecondaryMap<BlockId, u32>,
    low: SecondaryMap<BlockId, u32>,
    on_stack: EntitySet<BlockId>,
}

const UNSEEN: u32 = u32::MAX;

impl<'a> Search<'a> {
    fn new(cfg: &'a Cfg) -> Self {
        Self {
            cfg,
            inside: EntitySet::new(),
            index: SecondaryMap::with_default(UNSEEN),
            low: SecondaryMap::new(),
            on_stack: EntitySet::new(),
        }
    }

    /// The components with a cycle of the subgraph that `region` spans.
    fn strongly_connected(&mut self, region: &[BlockId]) -> Vec<Vec<BlockId>> {
        self.inside.extend(region.iter().copied());
        let components = self.components(region);
        for &block in region {
            self.inside.remove(block);
            self.index[block] = UNSEEN;
        }
        components
    }

    fn components(&mut self, region: &[BlockId]) -> Vec<Vec<BlockId>> {
        let Search { cfg, inside, index, low, on_stack } = self;
        let (mut next, mut stack, mut components) = (0, Vec::new(), Vec::new());
        for &root in region {
            if index[root] != UNSEEN {
                continue;
            }
            let mut work = vec![(root, 0usize)];
            while let Some(&mut (block, ref mut edge)) = work.last_mut() {
                if *edge == 0 {
                    index[block] = next;
                    low[block] = next;
                    next += 1;
                    stack.push(block);
                    on_stack.insert(block);
                }
                if let Some(&succ) = cfg.succs[block].get(*edge) {
                    *edge += 1;
                    if !inside.contains(succ) {
                        // `edge` moved on; a first visit with no inside successor must not look unvisited again.
                        continue;
                    }
                    if index[succ] == UNSEEN {
                        work.push((succ, 0));
                    } else if on_stack.contains(succ) {
                        low[block] = low[block].min(index[succ]);
                    }
                    continue;
                }
                work.pop();
                if let Some(&(parent, _)) = work.last() {
                    low[parent] = low[parent].min(low[block]);
                }
                if low[block] == index[block] {
                    let mut component = Vec::new();
                    while let Some(member) = stack.pop() {
                        on_stack.remove(member);
                        component.push(member);
                        if member == block {
                            break;
                        }
                    }
                    let cyclic = component.len() > 1 || cfg.succs[block].contains(&block);
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
        for &pred in &cfg.preds[entry] {
            let arm = func.push(Block::forward(dispatch));
            func.blocks[pred].term.retarget(entry, arm);
            let value = func.synthetic(Synthetic::Int(number as u32));
            selected.push((arm, value));
            arms.push((arm, number, pred));
        }
    }
    // The arms that lead to an entry: they stand one behind the other.
    let mut phis = vec![Phi { result: selector, ty: spirv_env::TypeId(u32::MAX), incoming: selected }];
    for (arms, &entry) in arms.chunk_by(|a, b| a.1 == b.1).zip(entries) {
        for phi in std::mem::take(&mut func.blocks[entry].phis) {
            let of_pred: FxHashMap<BlockId, Id> = phi.incoming.iter().copied().collect();
            // Who comes through another arm has no use for it: that brings nothing.
            let incoming =
                arms.iter().filter_map(|(arm, _, pred)| Some((*arm, *of_pred.get(pred)?))).collect();
            phis.push(Phi { incoming, ..phi });
        }
    }
    let block = &mut func.blocks[dispatch];
    block.phis = phis;
    block.term = Terminator::Dispatch { selector, targets: entries.to_vec() };
}
