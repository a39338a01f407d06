//! Moves: two copies by way of a variable of their own become one.
//!
//! Where a structure is read into a variable and written elsewhere, in between which nothing happens, compilers make one `memmove` of it, as the
//! two places may overlap, and the LLVM translator makes that two copies again, by way of a variable of bytes. Copies of few elements load all
//! of them before they store the first (`lower::copy`), so one copy does.

use super::func::{BlockId, Func};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use spirv::{Op, StorageClass};
use spirv_env::{Id, Inst, Operand};

/// Elements that a copy loads before it stores them, at most.
pub const MOST_LOADED_FIRST: u64 = 16;

/// Where an instruction is: its block, and its place there.
type At = (BlockId, usize);

/// What is done with a variable, and with casts of its address.
#[derive(Default)]
struct Uses {
    /// Casts and lifetimes.
    idle: SmallVec<[At; 6]>,
    into: SmallVec<[At; 1]>,
    out_of: SmallVec<[At; 1]>,
    /// Something else is.
    others: bool,
}

/// Makes one copy of two, and removes the variable between them.
pub fn join_copies(func: &mut Func<'_>) {
    let mut insts = func.blocks.values().flat_map(|block| &block.insts);
    if !insts.any(|inst| inst.op == Op::CopyMemorySized) {
        return;
    }
    let mut of: FxHashMap<Id, Id> = FxHashMap::default();
    let mut uses: FxHashMap<Id, Uses> = FxHashMap::default();
    for (block, code) in &func.blocks {
        for (place, inst) in code.insts.iter().enumerate() {
            if inst.op == Op::Variable && inst.operands.len() == 1 {
                let result = inst.result.expect("a variable has a result");
                of.insert(result, result);
                uses.entry(result).or_default().idle.push((block, place));
            }
        }
    }
    // Blocks are in no order, so a cast of a cast may not be found.
    for (block, code) in &func.blocks {
        for (place, inst) in code.insts.iter().enumerate().filter(|(_, inst)| inst.op == Op::Bitcast) {
            if let (Some(result), Some(variable)) = (inst.result, of.get(&inst.id(0)).copied()) {
                of.insert(result, variable);
                uses.entry(variable).or_default().idle.push((block, place));
            }
        }
    }
    for (block, code) in &func.blocks {
        let ids = code.phis.iter().flat_map(|phi| &phi.incoming).map(|(_, id)| *id);
        for id in ids.chain(code.term.used()) {
            if let Some(variable) = of.get(&id) {
                uses.entry(*variable).or_default().others = true;
            }
        }
        for (place, inst) in code.insts.iter().enumerate() {
            let at = (block, place);
            for (operand, id) in inst.ids().enumerate() {
                let Some(uses) = of.get(&id).and_then(|variable| uses.get_mut(variable)) else { continue };
                match (inst.op, operand) {
                    // One of a cast that stands in a later block has not been seen.
                    (Op::Bitcast, _) => uses.others |= inst.result.is_none_or(|cast| !of.contains_key(&cast)),
                    (Op::LifetimeStart | Op::LifetimeStop, _) => uses.idle.push(at),
                    (Op::CopyMemorySized, 0) => uses.into.push(at),
                    (Op::CopyMemorySized, 1) => uses.out_of.push(at),
                    _ => uses.others = true,
                }
            }
        }
    }
    let mut removed: FxHashSet<At> = FxHashSet::default();
    let mut joined: Vec<(At, Id)> = Vec::new();
    for uses in uses.values().filter(|uses| !uses.others) {
        let (&[into], &[out_of]) = (uses.into.as_slice(), uses.out_of.as_slice()) else { continue };
        if let Some(from) = joins(func, into, out_of) {
            joined.push((out_of, from));
            removed.insert(into);
            removed.extend(&uses.idle);
        }
    }
    for ((block, place), from) in joined {
        func.blocks[block].insts[place].operands[1] = Operand::Id(from);
    }
    let blocks: FxHashSet<BlockId> = removed.iter().map(|(block, _)| *block).collect();
    for block in blocks {
        let mut place = 0..;
        let stays = |_: &Inst| place.next().is_some_and(|place| !removed.contains(&(block, place)));
        func.blocks[block].insts.retain(stays);
    }
}

/// Where the first of two copies takes from, if the second may take it from there.
fn joins(func: &Func<'_>, (block, first): At, (other, second): At) -> Option<Id> {
    let insts = &func.blocks[block].insts;
    let between = (block == other).then(|| insts.get(first + 1..second)).flatten()?;
    let (into, out_of) = (&insts[first], &insts[second]);
    let is_idle = |inst: &Inst| matches!(inst.op, Op::Bitcast | Op::LifetimeStart | Op::LifetimeStop);
    let (from, to) = (into.id(1), out_of.id(0));
    // Private variables are looked at as a whole, and what is moved in one of them is none.
    let is_private = |id: Id| func.class_of(id) == Some(StorageClass::Function);
    let align = out_of.memory_operands()[0].align?.min(8);
    let elements = func.constant_bits(out_of.id(2))?.div_ceil(align.max(1));
    let is_same = into.operands[2..] == out_of.operands[2..];
    let joins = is_same
        && between.iter().all(is_idle)
        && !(is_private(from) && is_private(to))
        && !into.is_volatile()
        && elements <= MOST_LOADED_FIRST;
    joins.then_some(from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::inlining::{Inlining, Plan};
    use crate::analysis::testing::module;
    use std::rc::Rc;

    /// How many copies are left of two, and variables, with these instructions between and behind them.
    fn left(between: &str, behind: &str) -> (usize, usize) {
        let body = format!(
            "%there = OpInBoundsPtrAccessChain %to_uint %pointer %ulong_3\n\
             OpCopyMemorySized %object %pointer %ulong_4 Aligned 4\n{between}\n\
             OpCopyMemorySized %there %object %ulong_4 Aligned 4\n{behind}"
        );
        let module = module(&body);
        let kernel = module.kernel("main").expect("the module has it");
        let plan = Rc::new(Plan::new(&module, kernel, Inlining::default()).expect("a kernel without calls"));
        let mut func = Func::build(&module, kernel, &plan).expect("it is small");
        join_copies(&mut func);
        let insts = || func.blocks.values().flat_map(|block| &block.insts);
        let count = |op: Op| insts().filter(|inst| inst.op == op).count();
        let params: Vec<Id> = func.params.iter().map(|(id, _)| *id).collect();
        let from = insts().find(|inst| inst.op == Op::CopyMemorySized).map(|inst| inst.id(1));
        assert!(from.is_some_and(|from| params.contains(&from)), "the first source is the argument");
        (count(Op::CopyMemorySized), count(Op::Variable))
    }

    #[test]
    fn two_copies_by_way_of_a_variable_are_one() {
        assert_eq!(left("", ""), (1, 0));
        assert_eq!(left("OpLifetimeStart %object 0", "OpLifetimeStop %object 0"), (1, 0));
    }

    #[test]
    fn what_is_stored_between_or_read_again_keeps_them() {
        assert_eq!(left("OpStore %pointer %uint_1", ""), (2, 1));
        assert_eq!(left("", "%again = OpLoad %uint %object"), (2, 1));
        assert_eq!(left("", "OpCopyMemorySized %pointer %object %ulong_4 Aligned 4"), (3, 1));
        assert_eq!(left("OpBranch %next\n%next = OpLabel", ""), (2, 1));
        assert_eq!(left("", "OpStore %object %uint_1"), (2, 1));
    }
}
