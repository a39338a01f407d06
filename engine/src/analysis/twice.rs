//! Loops that are there twice: which may be, and what is used behind them.

use super::Analysis;
use super::func::{BlockId, Func};
use super::loops::{Loop, LoopId};
use crate::abi::LaneMapping;
use rustc_hash::FxHashMap;
use spirv_env::{Id, Inst, TypeId};

/// Instructions and blocks of such a loop, and instructions of all of a kernel, at most.
pub(super) struct Most {
    pub insts: usize,
    pub blocks: usize,
    pub of_all: usize,
}

impl Analysis<'_> {
    /// What is planned for the innermost loops of a kernel, as far as there is room for a second time.
    pub(super) fn planned<P>(&self, most: &Most, plan: impl Fn(LoopId, &Loop) -> Option<P>) -> Vec<P> {
        let has_lanes = self.variant.width > 1 && self.variant.mapping != LaneMapping::Iterations;
        // Who looks at sub-groups or waits for others is not asked to do anything twice.
        if !has_lanes || !self.func.is_kernel() || !self.func.selectors.is_empty() {
            return Vec::new();
        }
        let mut left = most.of_all;
        let mut plans = Vec::new();
        for id in self.loops.innermost().iter() {
            let this = self.loops.get(id);
            let insts: usize = this.blocks.iter().map(|block| self.func.blocks[*block].insts.len()).sum();
            if insts > most.insts.min(left) || this.blocks.len() > most.blocks {
                continue;
            }
            if let Some(plan) = plan(id, this) {
                left -= insts;
                plans.push(plan);
            }
        }
        plans
    }
}

/// Has what is used behind a loop be what `join` makes of what the loop and its copy have made, but for what phis take where either is left. Gives
/// what stands for each value.
pub(super) fn join_uses(
    func: &mut Func<'_>,
    is_behind: impl Fn(BlockId) -> bool,
    is_exit: impl Fn(BlockId) -> bool,
    is_made: impl Fn(Id) -> bool,
    mut join: impl FnMut(&mut Func<'_>, Id, TypeId) -> Id,
) -> FxHashMap<Id, Id> {
    let mut joined: FxHashMap<Id, Id> = FxHashMap::default();
    for block in func.block_ids().filter(|block| is_behind(*block)) {
        let code = &func.blocks[block];
        let of_phis = code.phis.iter().flat_map(|phi| phi.incoming.iter());
        let of_phis = of_phis.filter(|(pred, _)| !is_exit(*pred)).map(|(_, id)| *id);
        let of_insts = code.insts.iter().flat_map(Inst::ids);
        let used: Vec<Id> =
            of_phis.chain(of_insts).chain(code.term.used()).filter(|id| is_made(*id)).collect();
        for id in used {
            if let Some(&ty) = func.types.get(&id).filter(|_| !joined.contains_key(&id)) {
                joined.insert(id, join(func, id, ty));
            }
        }
        let code = &mut func.blocks[block];
        for (pred, id) in code.phis.iter_mut().flat_map(|phi| &mut phi.incoming) {
            if !is_exit(*pred) {
                *id = joined.get(id).copied().unwrap_or(*id);
            }
        }
        code.used_mut().for_each(|id| *id = joined.get(id).copied().unwrap_or(*id));
    }
    joined
}
