//! What does not change in a loop is computed in front of it, once.
//!
//! LLVM does that as well, but late: whether an address goes on by an element in each iteration is asked before, and modules that nobody has
//! optimised compute `y * width` in each. Only what is in nobody's way is moved: instructions that depend on nothing but their operands, and
//! what is loaded at the beginning of each iteration of a loop that changes no memory but private one, as `i < *n` is.

use super::cfg::{Cfg, Dominators};
use super::func::{BlockId, Func};
use super::idle;
use super::joins;
use super::loops::{Loop, LoopId, Loops};
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::Op;
use spirv_env::{Id, Inst};

/// Loops in each other that an instruction is brought out of, at most.
const MOST_LOOPS: usize = 8;

/// Moves instructions to the preheaders of the loops that they are the same in all iterations of. Loops are canonical, and stay so but for
/// what is in those blocks.
pub fn bring_in_front(func: &mut Func<'_>) {
    let cfg = Cfg::new(func);
    let loops = Loops::new(&cfg, &Dominators::new(&cfg));
    if loops.loops.is_empty() {
        return;
    }
    let plain = joins::plain_insts(func);
    let mut def = func.definitions();
    let changes =
        |block: &BlockId| func.blocks[*block].insts.iter().any(|inst| idle::orders_memory(func, inst));
    let changed: FxHashSet<LoopId> =
        (loops.loops.iter()).filter(|(_, this)| this.blocks.iter().any(changes)).map(|(id, _)| id).collect();
    // Operands are moved before what uses them is looked at.
    for &block in cfg.rpo.iter().filter(|block| loops.of(**block).is_some()) {
        let (mut kept, mut moved): (Vec<Inst>, Vec<(BlockId, Inst)>) = (Vec::new(), Vec::new());
        for inst in std::mem::take(&mut func.blocks[block].insts) {
            let is_plain = inst.result.is_some_and(|id| plain.contains_key(&id));
            let around = if is_plain {
                outermost(&loops, &def, block, &inst)
            } else {
                loops.of(block).filter(|id| {
                    is_kept(func, loops.get(*id), block, &inst)
                        && !changed.contains(id)
                        && outermost(&loops, &def, block, &inst).is_some()
                })
            };
            match around {
                Some(outermost) => {
                    let to = loops.get(outermost).preheader;
                    def.extend(inst.result.map(|id| (id, to)));
                    moved.push((to, inst));
                }
                None => kept.push(inst),
            }
        }
        func.blocks[block].insts = kept;
        moved.into_iter().for_each(|(to, inst)| func.blocks[to].insts.push(inst));
    }
}

/// Whether an instruction of a block loads what a loop does not change if it changes nothing that others see. The header is executed by all
/// who come to the loop, and so is what it loads.
fn is_kept(func: &Func<'_>, this: &Loop, block: BlockId, inst: &Inst) -> bool {
    inst.op == Op::Load
        && block == this.header
        && !inst.is_volatile()
        && func.class_of(inst.id(0)).is_some_and(idle::is_shared)
}

/// The outermost loop around a block that nothing which an instruction is made of changes in.
fn outermost(loops: &Loops, def: &FxHashMap<Id, BlockId>, block: BlockId, inst: &Inst) -> Option<LoopId> {
    let is_outside = |id: &LoopId| {
        let is_inside = |operand: Id| {
            let at = def.get(&operand).and_then(|at| loops.of(*at));
            at.is_some() && loops.encloses(Some(*id), at)
        };
        !inst.ids().any(is_inside)
    };
    loops.around(block).take(MOST_LOOPS).take_while(is_outside).last()
}

#[cfg(test)]
mod tests;
