//! Loops that all work-items leave at once are left in one place.
//!
//! Compilers that know, in front of a loop's condition, what comes behind the loop ask that condition in each branch and leave the loop there
//! (jump threading): `for (...) { barrier(); if (i < n) ... } if (i < n) ...` is left by those with `i < n` in one place, by the others in another. Work-items
//! that leave a loop in different places leave it one after the other, for all that is known of masks: what they take along is blended in each
//! iteration, and the loop runs until the last one has left. Where conditions are the same, they are asked once behind both branches, and who
//! goes where is decided outside.

use super::Analysis;
use super::cfg::{Cfg, Dominators};
use super::func::{Block, BlockId, Func, Incoming, Phi, Synthetic, Terminator};
use super::joins::{self, Plain};
use super::loops::{self, Loop, LoopId, Loops};
use cranelift_entity::EntitySet;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use spirv_env::{Id, Inst, Type, TypeId};

/// Exits of one loop that go on in one place, at most: they are compared.
const MOST: usize = 8;

/// A block that asks whether a loop goes on.
pub(super) struct Exit {
    block: BlockId,
    pub condition: Id,
    /// Where the loop goes on.
    pub stay: BlockId,
    /// Whether it does so where the condition is true.
    pub stays_if: bool,
    /// Where it is left to.
    pub leave: BlockId,
}

/// Blocks that ask the same whether a loop goes on.
struct Exits {
    /// Each with where it leaves to.
    blocks: Vec<(BlockId, BlockId)>,
    stay: BlockId,
    stays_if: bool,
    condition: Id,
    /// What makes the condition behind all of them.
    made: Vec<Inst>,
}

/// Makes exits of loops by the same condition one. Loops are canonical, and stay so.
pub fn leave_together(func: &mut Func<'_>) {
    let cfg = Cfg::new(func);
    let doms = Dominators::new(&cfg);
    let loops = Loops::new(&cfg, &doms);
    if loops.loops.values().all(|this| this.exits.len() < 2) {
        return;
    }
    let plain = joins::plain_insts(func);
    for (id, this) in loops.loops.iter().filter(|(_, this)| this.exits.len() > 1) {
        let mut by_stay: FxHashMap<(BlockId, bool), SmallVec<[Exit; 2]>> = FxHashMap::default();
        for exit in this.exits.iter().filter_map(|(block, _)| exit_of(func, &loops, id, *block)) {
            by_stay.entry((exit.stay, exit.stays_if)).or_default().push(exit);
        }
        let mut groups: Vec<_> =
            by_stay.into_values().filter(|group| (2..=MOST).contains(&group.len())).collect();
        // Ids that are made do not depend on how the map is ordered.
        groups.sort_unstable_by_key(|group| group[0].block);
        for group in groups {
            if let Some(exits) = alike(func, &plain, &group) {
                merge(func, exits);
            }
        }
    }
}

/// Gives loops with one exit a block behind it where others come to the same place: what they carry from one iteration to the next and bring
/// there is then taken out of the loop, which asks for no more than the place where the loop keeps it (`carried`), and blended with what others
/// bring once, outside. Loops are canonical, and stay so.
pub fn bring_out(func: &mut Func<'_>) {
    let cfg = Cfg::new(func);
    let doms = Dominators::new(&cfg);
    let loops = Loops::new(&cfg, &doms);
    for this in loops.loops.values() {
        let [(block, to)] = this.exits[..] else { continue };
        if cfg.preds[to].len() > 1 && brings_what_it_carries(func, this, block, to) {
            loops::merge_edges(func, &[block], to);
        }
    }
}

/// Whether an exit brings a phi of the loop, or what that is in the next iteration.
fn brings_what_it_carries(func: &Func<'_>, this: &Loop, block: BlockId, to: BlockId) -> bool {
    let carries = |value: Id| {
        let mut phis = func.blocks[this.header].phis.iter();
        phis.any(|phi| phi.result == value || phi.from(this.latch) == Some(value))
    };
    // Small values are packed, which lanes that leave on their own are not.
    let scalar = |ty: TypeId| match func.module.types.get(ty) {
        Type::Vector { elem, .. } => func.module.types.get(*elem),
        scalar => scalar,
    };
    let is_wide = |ty: TypeId| match scalar(ty) {
        Type::Int { width } | Type::Float { width } => *width >= u32::BITS,
        _ => false,
    };
    // Numbers of the engine's own have no type.
    let mut phis = func.blocks[to].phis.iter().filter(|phi| !func.selectors.contains(&phi.result));
    phis.any(|phi| is_wide(phi.ty) && phi.from(block).is_some_and(carries))
}

impl Analysis<'_> {
    /// What a block of the loop itself asks in each iteration, and whether the loop goes on where that is true.
    pub(super) fn asked_in_each_iteration(&self, inside: LoopId, block: BlockId) -> Option<(&Inst, bool)> {
        let exit = exit_of_each_iteration(&self.func, &self.doms, &self.loops, inside, block)?;
        self.definition(exit.condition).map(|asked| (asked, exit.stays_if))
    }
}

/// What a block of the loop itself asks, if each iteration that another one follows comes there.
pub(super) fn exit_of_each_iteration(
    func: &Func<'_>,
    doms: &Dominators,
    loops: &Loops,
    id: LoopId,
    block: BlockId,
) -> Option<Exit> {
    exit_of(func, loops, id, block).filter(|_| doms.dominates(block, loops.get(id).latch))
}

/// What a block of the loop itself asks.
pub(super) fn exit_of(func: &Func<'_>, loops: &Loops, id: LoopId, block: BlockId) -> Option<Exit> {
    let Terminator::Cond { cond, then, els } = func.blocks[block].term else { return None };
    let is_inside = |to: BlockId| loops.around(to).any(|around| around == id);
    let (stay, leave, stays_if) = match (is_inside(then), is_inside(els)) {
        (true, false) => (then, els, true),
        (false, true) => (els, then, false),
        _ => return None,
    };
    (loops.of(block) == Some(id)).then_some(Exit { block, condition: cond, stay, stays_if, leave })
}

/// The blocks that values of a loop are used in, or handed on from, outside of it, each with the block that the loop was left to
/// then. None where that may be several, or is reached in other ways.
pub(super) fn exits_to_uses(
    func: &Func<'_>,
    cfg: &Cfg,
    doms: &Dominators,
    inside: &EntitySet<BlockId>,
    own: &FxHashSet<Id>,
) -> Option<FxHashMap<BlockId, BlockId>> {
    let mut found = FxHashMap::default();
    let mut note = |at: BlockId| -> Option<()> {
        if inside.contains(at) || found.contains_key(&at) {
            return Some(());
        }
        let mut left = at;
        while !inside.contains(doms.idom(left)) {
            let up = doms.idom(left);
            left = (up != left).then_some(up)?;
        }
        found.insert(at, left);
        cfg.preds[left].iter().all(|pred| inside.contains(*pred)).then_some(())
    };
    for (at, block) in &func.blocks {
        for phi in &block.phis {
            phi.incoming.iter().filter(|(_, id)| own.contains(id)).try_for_each(|(pred, _)| note(*pred))?;
        }
        let is_used =
            block.insts.iter().flat_map(Inst::ids).chain(block.term.used()).any(|id| own.contains(&id));
        if is_used {
            note(at)?;
        }
    }
    Some(found)
}

/// The exits that ask what the first one does, and go on in the same place.
fn alike(func: &mut Func<'_>, plain: &Plain, group: &[Exit]) -> Option<Exits> {
    let (first, others) = group.split_first()?;
    let mut same = Exits {
        blocks: vec![(first.block, first.leave)],
        stay: first.stay,
        stays_if: first.stays_if,
        condition: first.condition,
        made: Vec::new(),
    };
    for other in others {
        // Who leaves to one place brings one value there.
        if same.blocks.iter().any(|(_, leave)| *leave == other.leave) {
            continue;
        }
        // What makes the first condition makes all of them.
        let mut made = Vec::new();
        if let Some(condition) = joins::same(func, plain, &[first.condition, other.condition], &mut made) {
            (same.condition, same.made) = (condition, made);
            same.blocks.push((other.block, other.leave));
        }
    }
    (same.blocks.len() > 1).then_some(same)
}

fn merge(func: &mut Func<'_>, exits: Exits) {
    let selector = func.fresh();
    func.selectors.insert(selector);
    let incoming: Incoming = exits
        .blocks
        .iter()
        .enumerate()
        .map(|(number, (block, _))| (*block, func.synthetic(Synthetic::Int(number as u32))))
        .collect();
    // Who stays brings the values that it brought, and the others bring theirs out.
    let from: SmallVec<[BlockId; 4]> = exits.blocks.iter().map(|(block, _)| *block).collect();
    let join = loops::merge_edges(func, &from, exits.stay);
    func.blocks[join].phis.push(Phi { result: selector, ty: TypeId(u32::MAX), incoming });
    func.blocks[join].insts = exits.made;
    let targets: Vec<BlockId> = exits.blocks.iter().map(|(_, leave)| *leave).collect();
    let outside = func.push(Block::forward(targets[0]));
    func.blocks[outside].term = Terminator::Dispatch { selector, targets };
    let (then, els) = if exits.stays_if { (exits.stay, outside) } else { (outside, exits.stay) };
    func.blocks[join].term = Terminator::Cond { cond: exits.condition, then, els };
    for (block, leave) in &exits.blocks {
        func.blocks[*block].term = Terminator::Branch(join);
        for phi in &mut func.blocks[*leave].phis {
            phi.incoming.iter_mut().filter(|(pred, _)| pred == block).for_each(|(pred, _)| *pred = outside);
        }
    }
}

#[cfg(test)]
mod tests;
