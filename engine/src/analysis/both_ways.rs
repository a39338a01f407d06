//! What both ways of a branch do is done in front of it.
//!
//! `if (y > 0) a += t[k]; else a -= t[k];` loads in both branches, each under a mask of its own, and is no choice of two sums as long as it does. Compilers
//! leave that in modules: what they hoist are rows of the same instructions, one behind the other, at the beginning of both branches, and late. Here
//! it is whatever has the same operands (value numbering, with what has been found so far), loads among it as long as nothing in front of them writes or
//! waits. Floats stay where they are: what is fused is decided by what lies next to each other.

use super::cfg::Cfg;
use super::func::{BlockId, Func, Terminator};
use super::handed_on::{waits, writes};
use super::joins::{self, Plain};
use super::numbering::{Key, key};
use super::simplify;
use rustc_hash::FxHashMap;
use spirv::Op;
use spirv_env::{Id, Inst};

/// Rounds in which what has come in front of one branch comes in front of the one around it.
const MOST_ROUNDS: usize = 4;

/// Brings in front of branches what both of their ways do.
pub fn do_in_front(func: &mut Func<'_>) {
    for _ in 0..MOST_ROUNDS {
        let cfg = Cfg::new(func);
        let plain = joins::plain_insts(func);
        let mut same: FxHashMap<Id, Id> = FxHashMap::default();
        for &block in cfg.rpo.iter().rev() {
            let Terminator::Cond { then, els, .. } = func.blocks[block].term else { continue };
            let is_way =
                |way: BlockId| cfg.preds[way].as_slice() == [block] && func.blocks[way].phis.is_empty();
            if then == els || then == block || els == block || !is_way(then) || !is_way(els) {
                continue;
            }
            let known: FxHashMap<Key, Id> = movable(func, &plain, els)
                .filter_map(|inst| Some((key(inst, &FxHashMap::default()), inst.result?)))
                .collect();
            // What is in front, by how it is called in the first way, and as the other way calls it.
            let mut found: FxHashMap<Id, Id> = FxHashMap::default();
            for inst in movable(func, &plain, then) {
                if let (Some(result), Some(other)) = (inst.result, known.get(&key(inst, &found))) {
                    found.insert(result, *other);
                }
            }
            let is_found = |inst: &Inst| inst.result.is_some_and(|id| found.contains_key(&id));
            let insts = std::mem::take(&mut func.blocks[then].insts);
            let (moved, left): (Vec<Inst>, Vec<Inst>) = insts.into_iter().partition(is_found);
            func.blocks[then].insts = left;
            func.blocks[block].insts.extend(moved);
            same.extend(found.into_iter().map(|(result, other)| (other, result)));
        }
        if same.is_empty() {
            return;
        }
        simplify::replace_by_ends(func, same);
    }
}

/// The instructions of a block that might as well be in front of it.
fn movable<'f>(func: &'f Func<'_>, plain: &'f Plain, block: BlockId) -> impl Iterator<Item = &'f Inst> {
    let mut may_load = true;
    func.blocks[block].insts.iter().filter(move |inst| {
        may_load &= !writes(func, inst) && !waits(func, inst);
        let is_load = || inst.op == Op::Load && !inst.is_volatile() && may_load;
        inst.result.is_some_and(|id| plain.contains_key(&id)) || is_load()
    })
}

#[cfg(test)]
mod tests;
