//! What is computed twice of the same operands is computed once.
//!
//! LLVM finds that as well, but late: whether a load is of what a store of the same iteration changes, or of a neighbour, is asked before, and
//! modules that nobody has optimised compute `y * width + x` for each access. Two instructions are the same where they have the same
//! operands and one is in front of the other on all ways to it (value numbering by dominators; Briggs, Cooper and Simpson, "Value Numbering",
//! 1997). Only instructions that depend on nothing but their operands are looked at.

use super::cfg::{Cfg, Dominators};
use super::func::{BlockId, ENTRY, Func};
use super::joins;
use super::simplify;
use cranelift_entity::SecondaryMap;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use spirv::Op;
use spirv_env::{Id, Inst, Operand, TypeId};

/// What makes two instructions the same.
pub(super) type Key = (Op, Option<TypeId>, SmallVec<[Operand; 4]>);

/// Removes what was computed before.
pub fn compute_once(func: &mut Func<'_>) {
    let cfg = Cfg::new(func);
    let doms = Dominators::new(&cfg);
    let plain = joins::plain_insts(func);
    let mut children: SecondaryMap<BlockId, Vec<BlockId>> = SecondaryMap::new();
    for &block in &cfg.rpo[1..] {
        children[doms.idom(block)].push(block);
    }
    let mut same: FxHashMap<Id, Id> = FxHashMap::default();
    let mut known: FxHashMap<Key, Id> = FxHashMap::default();
    enum Visit {
        Enter(BlockId),
        Leave(Vec<Key>),
    }
    let mut work = vec![Visit::Enter(ENTRY)];
    while let Some(visit) = work.pop() {
        let block = match visit {
            Visit::Leave(keys) => {
                keys.iter().for_each(|key| {
                    known.remove(key);
                });
                continue;
            }
            Visit::Enter(block) => block,
        };
        let mut added = Vec::new();
        for inst in &func.blocks[block].insts {
            let Some(result) = inst.result.filter(|id| plain.contains_key(id)) else { continue };
            let key = key(inst, &same);
            match known.get(&key) {
                Some(before) => {
                    same.insert(result, *before);
                }
                None => {
                    known.insert(key.clone(), result);
                    added.push(key);
                }
            }
        }
        work.push(Visit::Leave(added));
        work.extend(children[block].iter().rev().map(|child| Visit::Enter(*child)));
    }
    simplify::replace(func, &same);
}

/// That of an instruction, with what its operands are the same as.
pub(super) fn key(inst: &Inst, same: &FxHashMap<Id, Id>) -> Key {
    let known = |operand: &Operand| match operand {
        Operand::Id(id) => Operand::Id(same.get(id).copied().unwrap_or(*id)),
        Operand::Lit(_) => *operand,
    };
    (inst.op, inst.ty, inst.operands.iter().map(known).collect())
}

#[cfg(test)]
mod tests;
