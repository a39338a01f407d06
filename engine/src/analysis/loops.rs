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

use super::cfg::{Cfg, Dominators};
use super::func::{Block, BlockId, Func, Incoming, Phi, Synthetic, Terminator};
use crate::error::EngineError;
use smallvec::SmallVec;

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
}

impl Loops {
    pub fn new(cfg: &Cfg, doms: &Dominators) -> Self {
        let mut loops = Vec::new();
        let mut innermost: Vec<Option<LoopId>> = vec![None; cfg.succs.len()];
        // Headers in reverse post-order: outer loops come before inner ones.
        for &header in &cfg.rpo {
            let Some(blocks) = natural_loop(cfg, doms, header) else { continue };
            let id = LoopId(loops.len() as u32);
            let parent = innermost[header.index()];
            blocks.iter().for_each(|block| innermost[block.index()] = Some(id));
            let is_back = |pred: &&BlockId| doms.dominates(header, **pred);
            let preds = &cfg.preds[header.index()];
            let latch = *preds.iter().find(is_back).expect("a loop has a back edge");
            let preheader = *preds.iter().find(|pred| !is_back(pred)).expect("a loop is entered");
            loops.push(Loop { header, preheader, latch, parent, blocks });
        }
        Self { loops, innermost }
    }

    pub fn get(&self, id: LoopId) -> &Loop {
        &self.loops[id.index()]
    }

    /// The innermost loop around a block.
    pub fn of(&self, block: BlockId) -> Option<LoopId> {
        self.innermost[block.index()]
    }

    /// Whether `outer` is `inner` or around it. `None` is the whole function.
    pub fn encloses(&self, outer: Option<LoopId>, mut inner: Option<LoopId>) -> bool {
        loop {
            if outer == inner {
                return true;
            }
            match inner {
                None => return false,
                Some(id) => inner = self.get(id).parent,
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
fn natural_loop(cfg: &Cfg, doms: &Dominators, header: BlockId) -> Option<Vec<BlockId>> {
    let mut work: Vec<BlockId> =
        cfg.preds[header.index()].iter().copied().filter(|pred| doms.dominates(header, *pred)).collect();
    if work.is_empty() {
        return None;
    }
    let mut inside = vec![false; cfg.succs.len()];
    inside[header.index()] = true;
    let mut blocks = vec![header];
    while let Some(block) = work.pop() {
        if !inside[block.index()] {
            inside[block.index()] = true;
            blocks.push(block);
            work.extend(cfg.preds[block.index()].iter().copied());
        }
    }
    Some(blocks)
}

/// Makes all cycles natural loops with a preheader and a pure latch.
pub fn canonicalize(func: &mut Func<'_>) -> Result<(), EngineError> {
    // Each round removes at least one multiple-entry cycle and creates a cycle nest that is shallower.
    let mut rounds = 0;
    while let Some(entries) = irreducible_entries(func) {
        rounds += 1;
        if rounds > 1000 {
            return Err(func.unsupported("control flow with more than 1000 irreducible regions".into()));
        }
        insert_dispatch(func, &entries);
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
    let mut phis = std::mem::take(&mut func.blocks[to.index()].phis);
    for phi in &mut phis {
        let (moved, kept): (Incoming, Incoming) =
            phi.incoming.drain(..).partition(|(pred, _)| preds.contains(pred));
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

/// The entries of some cycle that has more than one.
fn irreducible_entries(func: &Func<'_>) -> Option<Vec<BlockId>> {
    let cfg = Cfg::new(func);
    let doms = Dominators::new(&cfg);
    // Cheap test first: a retreating edge whose target does not dominate its source.
    let irreducible = cfg.rpo.iter().any(|&block| {
        cfg.succs[block.index()]
            .iter()
            .any(|&to| cfg.number[to.index()] <= cfg.number[block.index()] && !doms.dominates(to, block))
    });
    if !irreducible {
        return None;
    }
    let mut regions: Vec<Vec<BlockId>> = vec![cfg.rpo.clone()];
    while let Some(region) = regions.pop() {
        for component in strongly_connected(&cfg, &region) {
            let is_in = |block: &BlockId| component.contains(block);
            let entries: Vec<BlockId> = component
                .iter()
                .copied()
                .filter(|block| cfg.preds[block.index()].iter().any(|pred| !is_in(pred)))
                .collect();
            if entries.len() > 1 {
                return Some(entries);
            }
            // A natural loop: look inside, without the edges back to its header.
            let header = entries.first().copied();
            regions.push(component.into_iter().filter(|block| Some(*block) != header).collect());
        }
    }
    None
}

/// Strongly connected components with a cycle, of the subgraph that `region` spans (Tarjan 1972, iterative).
fn strongly_connected(cfg: &Cfg, region: &[BlockId]) -> Vec<Vec<BlockId>> {
    const UNSEEN: u32 = u32::MAX;
    let count = cfg.succs.len();
    let mut inside = vec![false; count];
    region.iter().for_each(|block| inside[block.index()] = true);
    let (mut index, mut low, mut on_stack) = (vec![UNSEEN; count], vec![0u32; count], vec![false; count]);
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

/// Makes one block the only entry of the cycle that `entries` lead into.
fn insert_dispatch(func: &mut Func<'_>, entries: &[BlockId]) {
    let cfg = Cfg::new(func);
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
            let incoming = arms
                .iter()
                .map(|(arm, target, pred)| {
                    let value = phi.incoming.iter().find(|(from, _)| from == pred).map(|(_, value)| *value);
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
