//! Promotion of private variables to values, as LLVM's SROA and mem2reg do it, before anything else is asked.
//!
//! Code that nobody has optimised keeps every index in a variable, where its step between lanes is lost; others keep
//! pointers in structures. A variable whose address goes nowhere but into loads and stores of whole parts at known
//! offsets, always of the same type, becomes a value for each of the parts. Phis go where the frontiers of the stores'
//! blocks meet (Cytron, Ferrante, Rosen, Wegman and Zadeck, "Efficiently Computing Static Single Assignment Form
//! and the Control Dependence Graph", 1991) and a load wants them.

use super::cfg::{Cfg, Dominators};
use super::func::{BlockId, ChainStep, ENTRY, Func, Phi};
use super::leaves::LeafTable;
use super::pointers::Pointers;
use cranelift_entity::{EntitySet, SecondaryMap};
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Decoration, Op};
use spirv_env::opcodes::{Derives, Memory};
use spirv_env::{Id, Inst, Operand, Type, TypeId};
use std::collections::BTreeMap;

/// Scalars of a part that becomes a value.
const MOST_LEAVES: usize = 16;
/// Parts of one variable: an array with an access for each element is better left in memory.
const MOST_PARTS: usize = 64;
/// Parts times blocks that are looked at.
const MOST_PAIRS: usize = 1 << 22;

/// A part of a variable.
struct Part {
    ty: TypeId,
    /// Blocks that store it, also those where its variable begins.
    stores: EntitySet<BlockId>,
    /// Blocks that load it before they store it.
    wanted: EntitySet<BlockId>,
}

/// What an instruction has to do with parts.
#[derive(Clone, Copy)]
enum Access {
    Load(usize),
    Store(usize),
}

/// Which instructions access parts, and which go away.
#[derive(Default)]
struct Plan {
    parts: Vec<Part>,
    /// By variable: its parts.
    variables: FxHashMap<Id, Vec<usize>>,
    /// By pointer: the variable, and the bytes from its beginning.
    pointers: FxHashMap<Id, (Id, i64)>,
    by_place: FxHashMap<(Id, i64), usize>,
}

/// Makes values of private variables.
pub fn promote(func: &mut Func<'_>) {
    let mut plan = Plan::of(func);
    if plan.parts.is_empty() {
        return;
    }
    let cfg = Cfg::new(func);
    let doms = Dominators::new(&cfg);
    plan.note_blocks(func);
    let phis = plan.place_phis(func, &cfg, &doms);
    plan.rename(func, &cfg, &doms, phis);
}

impl Plan {
    fn of(func: &Func<'_>) -> Plan {
        let mut plan = Plan::default();
        // Variables and the pointers into them at known offsets, in the order of the code.
        let (mut variables, mut set_up) = (Vec::new(), FxHashSet::default());
        for inst in func.blocks.values().flat_map(|block| &block.insts) {
            if let (Op::Variable, Some(result)) = (inst.op, inst.result) {
                variables.push(result);
                set_up.extend((inst.operands.len() > 1).then_some(result));
                plan.pointers.insert(result, (result, 0));
            }
        }
        if variables.is_empty() {
            return plan;
        }
        let mut lost: FxHashSet<Id> = FxHashSet::default();
        for derived in Pointers::new(func).iter() {
            let Some(&(root, base)) = plan.pointers.get(&derived.base) else { continue };
            match offset(func, derived.inst) {
                Some(offset) => {
                    plan.pointers.insert(derived.pointer, (root, base.wrapping_add(offset)));
                }
                None => {
                    lost.insert(root);
                }
            }
        }
        // The type of each place that is accessed.
        let leaves = LeafTable::new(func.module);
        let mut places: FxHashMap<Id, BTreeMap<i64, TypeId>> = FxHashMap::default();
        for block in func.blocks.values() {
            let phis = block.phis.iter().flat_map(|phi| &phi.incoming);
            lost.extend(phis.filter_map(|(_, id)| plan.pointers.get(id)).map(|(root, _)| *root));
            for inst in &block.insts {
                let mut access = |pointer: Id, ty: Option<TypeId>| {
                    let Some(&(root, at)) = plan.pointers.get(&pointer) else { return };
                    let fits = ty.filter(|ty| {
                        !inst.is_volatile() && (1..=MOST_LEAVES).contains(&leaves.count(*ty)) && at >= 0
                    });
                    let known = fits.map(|ty| *places.entry(root).or_default().entry(at).or_insert(ty) == ty);
                    if known != Some(true) {
                        lost.insert(root);
                    }
                };
                let escaping = match inst.row().memory {
                    Memory::Read { .. } => {
                        access(inst.id(0), inst.ty);
                        1
                    }
                    Memory::Write { .. } => {
                        access(inst.id(0), func.type_of(inst.id(1)));
                        1
                    }
                    Memory::Lifetime => 1,
                    _ if inst.result.is_some_and(|id| plan.pointers.contains_key(&id)) => 1,
                    _ => 0,
                };
                let of = inst.ids().skip(escaping).filter_map(|id| plan.pointers.get(&id));
                lost.extend(of.map(|(root, _)| *root));
            }
        }
        let blocks = func.blocks.len();
        for variable in variables {
            let places = places.remove(&variable).unwrap_or_default();
            if lost.contains(&variable)
                || places.len() > MOST_PARTS
                || overlap(func, &places)
                || (plan.parts.len() + places.len()).saturating_mul(blocks) > MOST_PAIRS
                || func.decoration(variable, Decoration::Volatile).is_some()
                || (set_up.contains(&variable) && !is_whole(func, variable, &places))
            {
                continue;
            }
            let parts = plan.variables.entry(variable).or_default();
            for (at, ty) in places {
                parts.push(plan.parts.len());
                plan.by_place.insert((variable, at), plan.parts.len());
                plan.parts.push(Part { ty, stores: EntitySet::new(), wanted: EntitySet::new() });
            }
        }
        let variables = &plan.variables;
        plan.pointers.retain(|_, (root, _)| variables.contains_key(root));
        plan
    }

    fn access(&self, inst: &Inst) -> Option<Access> {
        let part = |pointer: Id| self.by_place.get(self.pointers.get(&pointer)?).copied();
        match inst.row().memory {
            Memory::Read { .. } => part(inst.id(0)).map(Access::Load),
            Memory::Write { .. } => part(inst.id(0)).map(Access::Store),
            _ => None,
        }
    }

    fn note_blocks(&mut self, func: &Func<'_>) {
        for (block, code) in &func.blocks {
            for inst in &code.insts {
                match self.access(inst) {
                    Some(Access::Load(part)) => {
                        if !self.parts[part].stores.contains(block) {
                            self.parts[part].wanted.insert(block);
                        }
                    }
                    Some(Access::Store(part)) => {
                        self.parts[part].stores.insert(block);
                    }
                    None => {
                        let variable = inst.result.and_then(|result| self.variables.get(&result));
                        for part in variable.into_iter().flatten() {
                            self.parts[*part].stores.insert(block);
                        }
                    }
                }
            }
        }
    }

    /// Adds phis to blocks; by block, the parts that they are for.
    fn place_phis(
        &self,
        func: &mut Func<'_>,
        cfg: &Cfg,
        doms: &Dominators,
    ) -> SecondaryMap<BlockId, Vec<(usize, Id)>> {
        let frontiers = frontiers(cfg, doms);
        let mut placed: SecondaryMap<BlockId, Vec<(usize, Id)>> = SecondaryMap::new();
        for (at, part) in self.parts.iter().enumerate() {
            // Where the value that comes in is wanted.
            let mut wanted = part.wanted.clone();
            let mut work: Vec<BlockId> = part.wanted.iter().collect();
            while let Some(block) = work.pop() {
                for &pred in &cfg.preds[block] {
                    if !part.stores.contains(pred) && wanted.insert(pred) {
                        work.push(pred);
                    }
                }
            }
            let mut has_phi: EntitySet<BlockId> = EntitySet::new();
            let mut work: Vec<BlockId> = part.stores.iter().collect();
            while let Some(block) = work.pop() {
                for &join in &frontiers[block] {
                    if wanted.contains(join) && has_phi.insert(join) {
                        let result = func.fresh_of(part.ty);
                        placed[join].push((at, result));
                        work.push(join);
                    }
                }
            }
        }
        placed
    }

    /// Follows each part's value down the dominator tree: loads become it, and phis get their operands.
    fn rename(
        &self,
        func: &mut Func<'_>,
        cfg: &Cfg,
        doms: &Dominators,
        phis: SecondaryMap<BlockId, Vec<(usize, Id)>>,
    ) {
        let mut children: SecondaryMap<BlockId, Vec<BlockId>> = SecondaryMap::new();
        for &block in &cfg.rpo[1..] {
            children[doms.idom(block)].push(block);
        }
        let undefined: Vec<Id> = self.parts.iter().map(|part| func.undefined(part.ty)).collect();
        let mut current = undefined.clone();
        let mut same: FxHashMap<Id, Id> = FxHashMap::default();
        let mut incoming: FxHashMap<Id, Vec<(BlockId, Id)>> = FxHashMap::default();
        enum Visit {
            Enter(BlockId),
            Leave(Vec<(usize, Id)>),
        }
        let mut work = vec![Visit::Enter(ENTRY)];
        while let Some(visit) = work.pop() {
            let block = match visit {
                Visit::Leave(before) => {
                    before.into_iter().rev().for_each(|(part, value)| current[part] = value);
                    continue;
                }
                Visit::Enter(block) => block,
            };
            let mut before = Vec::new();
            let mut set = |current: &mut Vec<Id>, part: usize, value: Id| {
                before.push((part, std::mem::replace(&mut current[part], value)));
            };
            for &(part, result) in &phis[block] {
                set(&mut current, part, result);
            }
            for inst in &func.blocks[block].insts {
                match self.access(inst) {
                    Some(Access::Load(part)) => {
                        same.extend(inst.result.map(|result| (result, current[part])));
                    }
                    Some(Access::Store(part)) => {
                        let value = inst.id(1);
                        set(&mut current, part, same.get(&value).copied().unwrap_or(value));
                    }
                    None => {
                        let Some(parts) = inst.result.and_then(|result| self.variables.get(&result)) else {
                            continue;
                        };
                        let value = match inst.operands.get(1) {
                            Some(Operand::Id(value)) => Some(*value),
                            _ => None,
                        };
                        for &part in parts {
                            set(&mut current, part, value.unwrap_or(undefined[part]));
                        }
                    }
                }
            }
            for &succ in &cfg.succs[block] {
                for &(part, result) in &phis[succ] {
                    incoming.entry(result).or_default().push((block, current[part]));
                }
            }
            work.push(Visit::Leave(before));
            work.extend(children[block].iter().rev().map(|child| Visit::Enter(*child)));
        }
        self.replace(func, &same, &incoming, &phis);
    }

    fn replace(
        &self,
        func: &mut Func<'_>,
        same: &FxHashMap<Id, Id>,
        incoming: &FxHashMap<Id, Vec<(BlockId, Id)>>,
        phis: &SecondaryMap<BlockId, Vec<(usize, Id)>>,
    ) {
        let is_gone = |inst: &Inst| {
            self.access(inst).is_some()
                || inst.result.is_some_and(|result| self.pointers.contains_key(&result))
                || (inst.row().memory == Memory::Lifetime && self.pointers.contains_key(&inst.id(0)))
        };
        let value = |id: &mut Id| {
            if let Some(value) = same.get(id) {
                *id = *value;
            }
        };
        let blocks: Vec<BlockId> = func.block_ids().collect();
        for block in blocks {
            let code = &mut func.blocks[block];
            code.insts.retain(|inst| !is_gone(inst));
            for operand in code.insts.iter_mut().flat_map(|inst| &mut inst.operands) {
                if let Operand::Id(id) = operand {
                    value(id);
                }
            }
            code.phis.iter_mut().flat_map(|phi| &mut phi.incoming).for_each(|(_, id)| value(id));
            if let Some(condition) = code.term.used_mut() {
                value(condition);
            }
            for &(part, result) in &phis[block] {
                let mut operands = incoming.get(&result).cloned().unwrap_or_default();
                operands.sort_unstable_by_key(|(pred, _)| *pred);
                let ty = self.parts[part].ty;
                code.phis.push(Phi { result, ty, incoming: operands.into_iter().collect() });
            }
        }
    }
}

/// The bytes that a pointer is behind the one that it is made from, if that is known.
fn offset(func: &Func<'_>, inst: &Inst) -> Option<i64> {
    match inst.row().derives {
        Derives::Chain | Derives::ElementChain => {
            func.chain(inst).into_iter().try_fold(0i64, |sum, step| match step {
                ChainStep::Constant(bytes) => Some(sum.wrapping_add(bytes)),
                ChainStep::Scaled { .. } => None,
            })
        }
        Derives::Address | Derives::AddressIfPointer => Some(0),
        Derives::Nothing => None,
    }
}

/// Whether places overlap.
fn overlap(func: &Func<'_>, places: &BTreeMap<i64, TypeId>) -> bool {
    let mut end = 0i64;
    for (at, ty) in places {
        if *at < end {
            return true;
        }
        end = at.saturating_add(func.module.types.layout(*ty).size as i64);
    }
    false
}

/// Whether the only place, if there is one, is all of the variable.
fn is_whole(func: &Func<'_>, variable: Id, places: &BTreeMap<i64, TypeId>) -> bool {
    match func.type_of(variable).map(|ty| func.module.types.get(ty)) {
        Some(Type::Pointer { pointee, .. }) => places.iter().all(|place| place == (&0, pointee)),
        _ => false,
    }
}

/// Dominance frontiers.
fn frontiers(cfg: &Cfg, doms: &Dominators) -> SecondaryMap<BlockId, Vec<BlockId>> {
    let mut frontiers: SecondaryMap<BlockId, Vec<BlockId>> = SecondaryMap::new();
    for &join in cfg.rpo.iter().filter(|block| cfg.preds[**block].len() > 1) {
        for &pred in &cfg.preds[join] {
            let mut block = pred;
            // Where it is known already, those above have it, too.
            while block != doms.idom(join) && frontiers[block].last() != Some(&join) {
                frontiers[block].push(join);
                block = doms.idom(block);
            }
        }
    }
    frontiers
}

#[cfg(test)]
mod tests;
