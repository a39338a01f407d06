//! Sub-groups that compute what nobody stores leave the kernel in front of the loops that compute it.
//!
//! A kernel of tiles adds up products in a loop that all work-items run, and asks behind it which elements there are: `if (n > 0) c[0] = sum;`.
//! Where a matrix is smaller than the tiles of a work-group, most of its sub-groups add up for nothing. A GPU has nothing better to do
//! meanwhile, a processor has. Where all that a kernel still does to memory is guarded by conditions that are known in front of the loop, they
//! are asked there as well. Lanes are not told apart: a sub-group goes on as a whole, without a mask, if any of its lanes has to.

use super::cfg::{Cfg, Dominators};
use super::func::{Block, BlockId, ENTRY, Func, Terminator};
use super::joins::{self, Plain};
use super::loops::{LoopId, Loops};
use super::regions::Regions;
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Op, StorageClass};
use spirv_env::opcodes::opencl_std::{Family as StdFamily, Through};
use spirv_env::opcodes::{Family, Memory};
use spirv_env::{Id, Inst, Operand};

/// Conditions that are asked, at most: all of them are, whatever the first one says.
const MOST_CONDITIONS: usize = 4;
/// Instructions that are computed for a condition in front of the loop, at most.
const MOST_INSTS: usize = 8;

/// A condition, and whether it is true where something is stored.
type Guard = (Id, bool);

/// What is known of a function while guards are looked for.
struct Search<'a> {
    cfg: &'a Cfg,
    doms: &'a Dominators,
    plain: Plain,
    /// The blocks that define values.
    def: FxHashMap<Id, BlockId>,
    /// Where sub-groups may leave.
    at: BlockId,
}

/// Lets sub-groups leave a kernel in front of a loop where what follows has no effect for any of their lanes. Loops are canonical, and stay so.
pub fn leave_where_idle(func: &mut Func<'_>) {
    // Others may wait for them there, or in what is called.
    let meets = |inst: &Inst| {
        let waits = inst.waits_for_work_group(func.module) || inst.waits_for_launch(func.module);
        waits || inst.row().family == Family::Call
    };
    if !func.is_kernel() || func.blocks.values().flat_map(|block| &block.insts).any(meets) {
        return;
    }
    let cfg = Cfg::new(func);
    let doms = Dominators::new(&cfg);
    let loops = Loops::new(&cfg, &doms);
    if loops.loops.is_empty() {
        return;
    }
    let regions = Regions::new(&cfg, &loops);
    let effects: Vec<BlockId> = func.block_ids().filter(|block| has_effect(func, *block)).collect();
    let def = func.definitions();
    let mut search = Search { cfg: &cfg, doms: &doms, plain: joins::plain_insts(func), def, at: ENTRY };
    let mut asked = FxHashSet::default();
    let found = regions.order.iter().find_map(|header| {
        let id = loops.headed_by(*header)?;
        search.at = in_front_of(&loops, &regions, &doms, id)?;
        // What was in front of one loop and did not do is not looked at again for the next.
        if !asked.insert(search.at) {
            return None;
        }
        let position = |block: BlockId| regions.position[block];
        let behind = effects.iter().filter(|block| position(**block) > position(search.at));
        let guards: Option<Vec<(Guard, BlockId)>> = behind.map(|block| search.guard(func, *block)).collect();
        // A loop that is guarded itself is entered by those that have to.
        let guards = guards.filter(|all| {
            !all.is_empty() && all.iter().any(|(_, guarded)| !doms.dominates(*guarded, *header))
        })?;
        let guards = weakest(func, &search.plain, guards.into_iter().map(|(guard, _)| guard));
        (guards.len() <= MOST_CONDITIONS).then_some((search.at, guards))
    });
    if let Some((at, guards)) = found {
        leave(func, &search, at, &guards);
    }
}

/// Where all work-items of a kernel are in front of an outermost loop, whatever they do there.
fn in_front_of(loops: &Loops, regions: &Regions, doms: &Dominators, id: LoopId) -> Option<BlockId> {
    let this = loops.get(id);
    if this.parent.is_some() {
        return None;
    }
    let mut at = this.preheader;
    loop {
        if loops.of(at).is_none() && regions.post_dominates(loops, at, ENTRY) {
            return Some(at);
        }
        let up = doms.idom(at);
        if up == at {
            return None;
        }
        at = up;
    }
}

/// Whether somebody else may notice that a block was executed.
fn has_effect(func: &Func<'_>, block: BlockId) -> bool {
    func.blocks[block].insts.iter().any(|inst| is_noticed(func, inst))
}

/// Whether somebody else may notice that an instruction was executed: it is more than computing, reading, and writing to private memory.
pub(super) fn is_noticed(func: &Func<'_>, inst: &Inst) -> bool {
    let is_private = |id: Id| func.class_of(id) == Some(StorageClass::Function);
    match inst.row().memory {
        Memory::None | Memory::Object | Memory::Lifetime | Memory::BlockRead | Memory::ImageRead => false,
        Memory::Read { .. } => inst.is_volatile(),
        Memory::Write { .. } | Memory::Copy { .. } => inst.is_volatile() || !is_private(inst.id(0)),
        Memory::ByCallee => inst.opencl_std(func.module).is_none_or(|function| match function.pointer() {
            None => false,
            Some((_, Through::Reads)) => function.family == StdFamily::Print,
            Some((at, Through::Writes)) => !is_private(inst.argument(at)),
        }),
        _ => true,
    }
}

/// Whether memory that others see may be another behind an instruction, as that changes it or waits for others.
pub(super) fn orders_memory(func: &Func<'_>, inst: &Inst) -> bool {
    inst.row().synchronizes() || inst.waits_for_work_group(func.module) || is_noticed(func, inst)
}

/// Whether others see memory of this class, and nothing else is there: a load of it finds the same until they or this work-item change that.
pub(super) fn is_shared(class: StorageClass) -> bool {
    matches!(class, StorageClass::CrossWorkgroup | StorageClass::UniformConstant | StorageClass::Workgroup)
}

impl Search<'_> {
    /// The outermost condition that a block is under and that can be asked where sub-groups may leave, with the block behind it.
    fn guard(&self, func: &Func<'_>, block: BlockId) -> Option<(Guard, BlockId)> {
        let (mut below, mut found) = (block, None);
        while below != self.at {
            let from = self.doms.idom(below);
            if from == below {
                return None;
            }
            if let Terminator::Cond { cond, then, els } = func.blocks[from].term
                && then != els
                && self.cfg.preds[below].as_slice() == [from]
                && self.can_be_asked(cond, &mut { MOST_INSTS })
            {
                found = Some(((cond, below == then), below));
            }
            below = from;
        }
        found
    }

    /// Whether a value can be computed where sub-groups may leave, of so many instructions.
    fn can_be_asked(&self, id: Id, left: &mut usize) -> bool {
        if self.is_there(id) {
            return true;
        }
        let Some(inst) = self.plain.get(&id).filter(|_| *left > 0) else { return false };
        *left -= 1;
        inst.ids().all(|id| self.can_be_asked(id, left))
    }

    fn is_there(&self, id: Id) -> bool {
        self.def.get(&id).is_none_or(|def| self.doms.dominates(*def, self.at))
    }

    /// A value where sub-groups may leave, and what makes it.
    fn made(&self, func: &mut Func<'_>, id: Id, insts: &mut Vec<Inst>) -> Id {
        let Some(inst) = self.plain.get(&id).filter(|_| !self.is_there(id)) else { return id };
        let mut copy = inst.clone();
        for operand in &mut copy.operands {
            if let Operand::Id(id) = operand {
                *id = self.made(func, *id, insts);
            }
        }
        add(func, insts, copy)
    }
}

/// Adds a copy of an instruction, under a name of its own.
fn add(func: &mut Func<'_>, insts: &mut Vec<Inst>, inst: Inst) -> Id {
    let result = func.fresh();
    func.types.extend(inst.ty.map(|ty| (result, ty)));
    insts.push(Inst { result: Some(result), ..inst });
    result
}

/// Of comparisons of one value with several numbers, the one that is true wherever another one is: `n > 0` of `n > 0`, `n > 1`, ...
fn weakest(func: &Func<'_>, plain: &Plain, guards: impl Iterator<Item = Guard>) -> Vec<Guard> {
    let number_of = |guard: Guard| {
        let inst = plain.get(&guard.0)?;
        let (value, number) = (inst.ids().next()?, func.constant_int(inst.ids().nth(1)?)?);
        let is_larger = match inst.op {
            Op::SGreaterThan | Op::SGreaterThanEqual | Op::UGreaterThan | Op::UGreaterThanEqual => true,
            Op::SLessThan | Op::SLessThanEqual | Op::ULessThan | Op::ULessThanEqual => false,
            _ => return None,
        };
        // Negative numbers are large ones where they have no sign.
        let is_signed =
            matches!(inst.op, Op::SGreaterThan | Op::SGreaterThanEqual | Op::SLessThan | Op::SLessThanEqual);
        let number = if is_signed { i128::from(number) } else { i128::from(number as u64) };
        Some(((inst.op, value, guard.1), if is_larger == guard.1 { number } else { -number }))
    };
    let mut kept: Vec<Guard> = Vec::new();
    for guard in guards {
        if kept.contains(&guard) {
            continue;
        }
        let of = number_of(guard);
        let same = of.and_then(|(key, number)| {
            let is_same = |other: &Guard| number_of(*other).filter(|(of, _)| *of == key);
            kept.iter_mut().find_map(|other| Some((is_same(other)?.1, other))).map(|found| (number, found))
        });
        match same {
            Some((number, (others, other))) if number < others => *other = guard,
            Some(_) => {}
            None => kept.push(guard),
        }
    }
    kept
}

/// Splits a block behind its instructions, to leave the kernel there.
fn leave(func: &mut Func<'_>, search: &Search<'_>, at: BlockId, guards: &[Guard]) {
    let mut insts = Vec::new();
    let mut needed = None;
    for (condition, is_true) in guards {
        let bool_type = func.type_of(*condition);
        let mut holds = search.made(func, *condition, &mut insts);
        let mut inst = |func: &mut Func<'_>, op: Op, ids: &[Id]| {
            let operands = ids.iter().map(|id| Operand::Id(*id)).collect();
            add(func, &mut insts, Inst { op, ty: bool_type, result: None, operands, line: None })
        };
        if !is_true {
            holds = inst(func, Op::LogicalNot, &[holds]);
        }
        needed = Some(match needed {
            Some(others) => inst(func, Op::LogicalOr, &[others, holds]),
            None => holds,
        });
    }
    let Some(needed) = needed else { return };
    let term = std::mem::replace(&mut func.blocks[at].term, Terminator::Return);
    let successors = term.successors();
    let rest = func.push(Block { phis: Vec::new(), insts: Vec::new(), term });
    for to in successors {
        let phis = &mut func.blocks[to].phis;
        let incoming = phis.iter_mut().flat_map(|phi| &mut phi.incoming);
        incoming.filter(|(pred, _)| *pred == at).for_each(|(pred, _)| *pred = rest);
    }
    func.blocks[at].insts.extend(insts);
    func.blocks[at].term = Terminator::IfNeeded { needed, to: rest };
}

#[cfg(test)]
mod tests;
