//! Loops in loops over the elements of a private array, of which each runs as often as the ones around it say: networks that sort, factors of
//! small matrices, triangles of them.
//!
//! From the inside nothing is known of them, as the counter of the outer loop decides where the inner one ends, or which elements it is about. So the whole nest is executed
//! here: what is made of counters is computed, the rest is written down in the order in which it would be done, and its array's elements are values.
//! Data may choose between two blocks that meet again, and nothing else. Where the outer loop decides nothing of that, as the rounds of a cipher, inner ones
//! are laid out by themselves: ten times the code of a round takes longer to make, and is too much for tables in registers (`lower::tables`).

use super::super::cfg::{self, Cfg, Dominators};
use super::super::func::{Block, BlockId, Func, Incoming, Phi, Terminator};
use super::super::loops::{self, Loop, LoopId, Loops};
use super::super::mem2reg;
use super::super::unrolling::MOST_BYTES;
use super::{MOST_LOOPS, MOST_OF_FUNCTION, cost, decided, may_be_copied};
use cranelift_entity::EntitySet;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::smallvec;
use spirv::{Op, StorageClass};
use spirv_env::{Id, Inst};
use std::rc::Rc;

/// Blocks and instructions that are executed here, at most, those included that nothing becomes of.
const MOST_BLOCKS: usize = 2000;
const MOST_STEPS: usize = 30_000;
/// How often a nest is looked through for what is made of a counter.
const MOST_ROUNDS: usize = 16;

/// Lays out such nests. Loops are canonical, and stay so.
pub fn lay_out_nests(func: &mut Func<'_>) {
    let mut left = MOST_OF_FUNCTION;
    let mut tried: FxHashSet<BlockId> = FxHashSet::default();
    let mut laid_out = false;
    while tried.len() < MOST_LOOPS {
        let cfg = Cfg::new(func);
        let loops = Loops::new(&cfg, &Dominators::new(&cfg));
        let has_loop = |id: LoopId| loops.loops.values().any(|inner| inner.parent == Some(id));
        let next = (loops.loops.iter())
            .find(|(id, this)| !tried.contains(&this.header) && has_loop(*id) && uses_array(func, this));
        let Some((id, this)) = next else { break };
        tried.insert(this.header);
        if !decides_inside(func, &loops, id) {
            continue;
        }
        let blocks = func.blocks.len();
        let made = Nest::of(func, &cfg, this, left);
        if let Some(nest) = made {
            left -= nest.cost;
            laid_out = true;
            nest.put(func, this);
        }
        if func.blocks.len() > blocks {
            cfg::remove_unreachable(func);
            cfg::join_rows(func);
            loops::canonicalize(func);
        }
    }
    if laid_out {
        mem2reg::promote(func);
    }
}

/// Whether an instruction is a place in a small private array, and one of which only the loop knows which.
fn array_place(func: &Func<'_>, inst: &Inst) -> bool {
    matches!(
        inst.op,
        Op::AccessChain | Op::InBoundsAccessChain | Op::PtrAccessChain | Op::InBoundsPtrAccessChain
    ) && inst.result.is_some_and(|result| func.class_of(result) == Some(StorageClass::Function))
        && func.pointee_bytes(inst.id(0)).is_some_and(|bytes| bytes <= MOST_BYTES)
        && inst.ids().skip(1).any(|index| func.constant_bits(index).is_none())
}

fn uses_array(func: &Func<'_>, this: &Loop) -> bool {
    may_be_copied(func, this)
        && this
            .blocks
            .iter()
            .any(|block| func.blocks[*block].insts.iter().any(|inst| array_place(func, inst)))
}

/// Whether it depends on a loop's counters where loops inside of it end, or which elements of arrays are meant.
fn decides_inside(func: &Func<'_>, loops: &Loops, id: LoopId) -> bool {
    let this = loops.get(id);
    let phis = |block: BlockId| func.blocks[block].phis.iter();
    let mut made: FxHashSet<Id> = phis(this.header).map(|phi| phi.result).collect();
    // A value that comes round through a phi takes a round of this.
    for round in 0.. {
        if round == MOST_ROUNDS {
            return true;
        }
        let before = made.len();
        for block in &this.blocks {
            let is_made = |id: &Id| made.contains(id);
            let of_phis = phis(*block).filter(|phi| phi.incoming.iter().any(|(_, id)| is_made(id)));
            let of_phis: Vec<Id> = of_phis.map(|phi| phi.result).collect();
            made.extend(of_phis);
            for inst in func.blocks[*block].insts.iter().filter(|inst| inst.row().is_pure()) {
                if inst.ids().any(|id| made.contains(&id)) {
                    made.extend(inst.result);
                }
            }
        }
        if made.len() == before {
            break;
        }
    }
    this.blocks.iter().any(|block| {
        let code = &func.blocks[*block];
        let decides = loops.of(*block) != Some(id) && code.term.used().is_some_and(|id| made.contains(&id));
        let is_meant =
            |inst: &Inst| array_place(func, inst) && inst.ids().skip(1).any(|id| made.contains(&id));
        decides || code.insts.iter().any(is_meant)
    })
}

/// What becomes of a nest.
struct Nest {
    inside: EntitySet<BlockId>,
    /// What each value was the last time.
    map: FxHashMap<Id, Id>,
    /// The blocks that it begins and ends with.
    first: BlockId,
    last: BlockId,
    /// The edge that it is left by.
    left: (BlockId, BlockId),
    cost: usize,
}

/// A nest that is being executed.
struct Execution<'a> {
    cfg: &'a Cfg,
    this: &'a Loop,
    inside: EntitySet<BlockId>,
    map: FxHashMap<Id, Id>,
    /// What each instruction of a block costs, and whether it is a place in an array.
    costs: FxHashMap<BlockId, Rc<[(usize, bool)]>>,
    /// The block that code goes to.
    to: BlockId,
    steps: usize,
    cost: usize,
    most: usize,
    has_known_places: bool,
}

impl Nest {
    /// Executes a nest that becomes so much at most. What has been made stays, unreachable, if it cannot be.
    fn of(func: &mut Func<'_>, cfg: &Cfg, this: &Loop, most: usize) -> Option<Nest> {
        let mut inside: EntitySet<BlockId> = EntitySet::new();
        inside.extend(this.blocks.iter().copied());
        let first = func.push(Block::forward(this.header));
        let map = FxHashMap::default();
        let mut execution = Execution {
            cfg,
            this,
            inside,
            map,
            costs: FxHashMap::default(),
            to: first,
            steps: 0,
            cost: 0,
            most,
            has_known_places: false,
        };
        let left = execution.run(func)?;
        let Execution { inside, map, to: last, cost, has_known_places, .. } = execution;
        has_known_places.then_some(Nest { inside, map, first, last, left, cost })
    }

    /// Puts it in the place of the loop.
    fn put(self, func: &mut Func<'_>, this: &Loop) {
        let (from, to) = self.left;
        func.blocks[this.preheader].term.retarget(this.header, self.first);
        func.blocks[self.last].term = Terminator::Branch(to);
        let of = |id: Id| self.map.get(&id).copied().unwrap_or(id);
        // What else the nest was left for has one way less to it.
        for block in func.block_ids().filter(|block| !self.inside.contains(*block)) {
            for phi in &mut func.blocks[block].phis {
                for (pred, value) in &mut phi.incoming {
                    if *pred == from && block == to {
                        *pred = self.last;
                    }
                    if !self.inside.contains(*pred) {
                        *value = of(*value);
                    }
                }
                phi.incoming.retain(|(pred, _)| !self.inside.contains(*pred));
            }
            func.blocks[block].used_mut().for_each(|id| *id = of(*id));
        }
        // Nobody comes here.
        for block in self.inside.iter() {
            func.blocks[block] = Block::forward(block);
        }
    }
}

impl Execution<'_> {
    fn of(&self, id: Id) -> Id {
        self.map.get(&id).copied().unwrap_or(id)
    }

    /// Goes through the nest; the edge that it is left by.
    fn run(&mut self, func: &mut Func<'_>) -> Option<(BlockId, BlockId)> {
        let (mut from, mut at) = (self.this.preheader, self.this.header);
        for _ in 0..MOST_BLOCKS {
            if !self.inside.contains(at) {
                return Some((from, at));
            }
            let phis = func.blocks[at].phis.iter();
            let values: Option<Vec<(Id, Id)>> =
                phis.map(|phi| Some((phi.result, self.of(phi.from(from)?)))).collect();
            self.map.extend(values?);
            let mut next = self.block(func, at)?;
            while let Next::Either { condition, then, els } = next {
                at = self.either(func, at, condition, [then, els])?;
                next = self.block(func, at)?;
            }
            let Next::To(to) = next else { return None };
            (from, at) = (at, to);
        }
        None
    }

    /// Executes a block behind its phis, and says where it leads to.
    fn block(&mut self, func: &mut Func<'_>, at: BlockId) -> Option<Next> {
        self.insts(func, at)?;
        let term = &func.blocks[at].term;
        match (decided(func, term, |id| self.of(id)), term) {
            (Some(to), _) => Some(Next::To(to)),
            (None, Terminator::Cond { cond, then, els }) => {
                Some(Next::Either { condition: self.of(*cond), then: *then, els: *els })
            }
            _ => None,
        }
    }

    fn insts(&mut self, func: &mut Func<'_>, at: BlockId) -> Option<()> {
        let insts = func.blocks[at].insts.clone();
        self.steps += insts.len();
        // Found out when the block is first come to: most nests that are none end soon.
        let costs =
            || insts.iter().map(|inst| (cost(func, self.this, inst), array_place(func, inst))).collect();
        let costs = Rc::clone(self.costs.entry(at).or_insert_with(costs));
        for (index, inst) in insts.into_iter().enumerate() {
            let bits = func.number_of(&inst, |id| func.constant_bits(self.of(id)));
            if let (Some(bits), Some(result), Some(ty)) = (bits, inst.result, inst.ty) {
                self.map.insert(result, func.number(bits, ty));
                continue;
            }
            let (cost, is_place) = costs[index];
            let copy = func.copied(&inst, |id| self.of(id));
            if is_place {
                // Else the array stays where it is.
                if copy.ids().skip(1).any(|index| func.constant_bits(index).is_none()) {
                    return None;
                }
                self.has_known_places = true;
            }
            self.cost += cost;
            self.map.extend(inst.result.zip(copy.result));
            func.blocks[self.to].insts.push(copy);
        }
        (self.steps <= MOST_STEPS && self.cost <= self.most).then_some(())
    }

    /// Executes both ways from a block, which meet at once: the block where they do, whose phis are known.
    fn either(
        &mut self,
        func: &mut Func<'_>,
        at: BlockId,
        condition: Id,
        [then, els]: [BlockId; 2],
    ) -> Option<BlockId> {
        let side = |block: BlockId| match func.blocks[block].term {
            Terminator::Branch(to) if *self.cfg.preds[block] == [at] && self.inside.contains(block) => {
                Some(to)
            }
            _ => None,
        };
        let (sides, meet) = match (side(then), side(els)) {
            (Some(meet), _) if meet == els => ([Some(then), None], meet),
            (_, Some(meet)) if meet == then => ([None, Some(els)], meet),
            (Some(meet), Some(other)) if meet == other => ([Some(then), Some(els)], meet),
            _ => return None,
        };
        if then == els || !self.inside.contains(meet) {
            return None;
        }
        let asked = self.to;
        let joined = func.push(Block::forward(meet));
        let mut ways: Vec<BlockId> = Vec::new();
        let mut values: Vec<Vec<Id>> = Vec::new();
        for side in sides {
            self.to = asked;
            if let Some(side) = side {
                self.to = func.push(Block::forward(joined));
                if !func.blocks[side].phis.is_empty() {
                    return None;
                }
                self.insts(func, side)?;
            }
            ways.push(self.to);
            let phis = func.blocks[meet].phis.iter();
            let from = side.unwrap_or(at);
            values.push(phis.map(|phi| Some(self.of(phi.from(from)?))).collect::<Option<_>>()?);
        }
        let to = |way: usize| if ways[way] == asked { joined } else { ways[way] };
        func.blocks[asked].term = Terminator::Cond { cond: condition, then: to(0), els: to(1) };
        for (place, phi) in func.blocks[meet].phis.clone().into_iter().enumerate() {
            let [one, other] = [values[0][place], values[1][place]];
            if one == other {
                self.map.insert(phi.result, one);
                continue;
            }
            let result = func.fresh_of(phi.ty);
            let incoming: Incoming = smallvec![(ways[0], one), (ways[1], other)];
            func.blocks[joined].phis.push(Phi { result, ty: phi.ty, incoming });
            self.map.insert(phi.result, result);
        }
        self.to = joined;
        Some(meet)
    }
}

/// Where a block leads to.
enum Next {
    To(BlockId),
    Either { condition: Id, then: BlockId, els: BlockId },
}
