//! What no kernel and no exported function reaches is dropped: blocks, then functions.

use crate::indirect;
use crate::load::FunctionSource;
use crate::module::{Block, Function, Id, Module, Operand};
use crate::validate::Dominators;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use spirv::{LinkageType, Op};

/// The labels that a terminator may go to.
pub(crate) fn successors(block: &Block) -> SmallVec<[Id; 2]> {
    let Some(last) = block.insts.last() else { return SmallVec::new() };
    // The condition comes first; literals of OpSwitch and branch weights are no ids.
    let skip = usize::from(last.op != Op::Branch);
    match last.op {
        Op::Branch | Op::BranchConditional | Op::Switch => last.ids().skip(skip).collect(),
        _ => SmallVec::new(),
    }
}

/// Drops blocks that the entry does not reach, with their places, and what phis have from them.
pub(crate) fn unreachable_blocks(function: &mut Function, source: &mut FunctionSource) {
    let at: FxHashMap<Id, usize> =
        function.blocks.iter().enumerate().map(|(at, block)| (block.label, at)).collect();
    let mut reached = vec![false; function.blocks.len()];
    let mut work: Vec<usize> = (0..function.blocks.len().min(1)).collect();
    while let Some(block) = work.pop() {
        if !std::mem::replace(&mut reached[block], true) {
            work.extend(successors(&function.blocks[block]).iter().filter_map(|label| at.get(label)));
        }
    }
    if reached.iter().all(|&reached| reached) {
        return;
    }
    let mut keep = reached.iter();
    function.blocks.retain(|_| *keep.next().unwrap_or(&true));
    let mut keep = reached.iter();
    source.blocks.retain(|_| *keep.next().unwrap_or(&true));
    let labels: FxHashSet<Id> = function.blocks.iter().map(|block| block.label).collect();
    for phi in function.blocks.iter_mut().flat_map(|block| &mut block.insts).filter(|inst| inst.op == Op::Phi)
    {
        let from_kept = |pair: &&[Operand]| matches!(pair, [_, Operand::Id(label)] if labels.contains(label));
        phi.operands = phi.operands.chunks(2).filter(from_kept).flatten().copied().collect();
    }
}

/// Puts blocks behind those that dominate them (SPIR-V 1.2 §2.16.1). The LLVM translator did so only from LLVM 16 on:
/// modules of earlier ones, which every driver takes, have the order of the source's blocks.
pub(crate) fn order_blocks(function: &mut Function, source: &mut FunctionSource) {
    let at: FxHashMap<Id, usize> =
        function.blocks.iter().enumerate().map(|(at, block)| (block.label, at)).collect();
    let edges: Vec<Vec<usize>> = function
        .blocks
        .iter()
        .map(|block| successors(block).iter().filter_map(|label| at.get(label).copied()).collect())
        .collect();
    // Where each block has a predecessor in front of it, a path of such leads to it, with all that dominates it.
    let mut led_to = vec![false; edges.len()];
    let mut doubtful = false;
    for (from, targets) in edges.iter().enumerate() {
        doubtful |= from > 0 && !led_to[from];
        targets.iter().filter(|&&to| to > from).for_each(|&to| led_to[to] = true);
    }
    if !doubtful {
        return;
    }
    if Dominators::new(&edges).follow_order() {
        return;
    }
    // In reverse postorder all paths without a branch back lead forwards.
    let mut postorder = Vec::with_capacity(edges.len());
    let mut seen = vec![false; edges.len()];
    let mut stack = vec![(0, edges[0].len())];
    seen[0] = true;
    while let Some((block, left)) = stack.pop() {
        if left == 0 {
            postorder.push(block);
            continue;
        }
        stack.push((block, left - 1));
        // The last first, so that the first comes first in the end.
        let to = edges[block][left - 1];
        if !std::mem::replace(&mut seen[to], true) {
            stack.push((to, edges[to].len()));
        }
    }
    let mut blocks: Vec<Option<Block>> = function.blocks.drain(..).map(Some).collect();
    let mut places: Vec<Option<Vec<u32>>> = source.blocks.drain(..).map(Some).collect();
    for block in postorder.into_iter().rev() {
        function.blocks.extend(blocks[block].take());
        source.blocks.extend(places[block].take());
    }
}

/// Functions that `function` calls, as often as it does.
pub(crate) fn callees(function: &Function) -> impl Iterator<Item = Id> + '_ {
    let insts = function.blocks.iter().flat_map(|block| &block.insts);
    insts.filter(|inst| inst.op == Op::FunctionCall).filter_map(|call| call.ids().next())
}

/// Drops functions that neither kernels nor exports nor pointers reach, and lists what is still imported.
pub(crate) fn unused_functions(module: &mut Module, kernels: &[Id], imported: &FxHashMap<Id, String>) {
    let exported = module
        .functions
        .iter()
        .filter(|function| function.linkage == Some(LinkageType::Export))
        .map(|f| f.id);
    let mut work: Vec<Id> = kernels.iter().copied().chain(exported).chain(indirect::roots(module)).collect();
    let mut used = vec![false; module.functions.len()];
    while let Some(id) = work.pop() {
        if let Some(function) = module.functions.place(id)
            && !std::mem::replace(&mut used[function], true)
        {
            work.extend(callees(&module.functions[function]));
        }
    }
    let mut keep = used.iter();
    module.functions.retain(|_| *keep.next().unwrap_or(&true));
    let functions = module.functions.iter().map(|function| function.id);
    // Imports of built-in variables are how producers declare them.
    let variables = module.globals.iter().filter(|global| global.builtin.is_none()).map(|global| global.id);
    let variables: Vec<Id> = variables.filter(|id| imported.contains_key(id)).collect();
    let open = functions.chain(variables.iter().copied());
    module.unresolved = open.filter_map(|id| imported.get(&id).cloned()).collect();
    module.unresolved_variables = variables;
}

#[cfg(test)]
mod tests {
    use crate::test_support::{build_text, kernel};
    use spirv::Op;

    /// The LLVM translator before LLVM 16 kept the order of the source's blocks.
    #[test]
    fn blocks_are_put_behind_their_dominators() {
        let body = "OpBranch %loop\n%end = OpLabel\n%y = OpIAdd %uint %x %u1\nOpReturn\n\
            %loop = OpLabel\n%x = OpIAdd %uint %u1 %u1\nOpBranchConditional %true %loop %last\n\
            %last = OpLabel\nOpBranch %end\n%unreached = OpLabel";
        let module = build_text(&kernel("", body)).unwrap();
        let ends: Vec<Op> =
            module.functions[0].blocks.iter().map(|block| block.insts.last().unwrap().op).collect();
        assert_eq!(ends, [Op::Branch, Op::BranchConditional, Op::Branch, Op::Return]);
        assert!(module.kernels[0].has_loops);
    }

    #[test]
    fn blocks_in_a_valid_order_stay_where_they_are() {
        let body = "OpBranchConditional %true %a %b\n%d = OpLabel\nOpBranch %e\n%a = OpLabel\nOpBranch %d\n\
            %b = OpLabel\nOpBranch %d\n%e = OpLabel";
        let module = build_text(&kernel("", body)).unwrap();
        let insts = |at: usize| module.functions[0].blocks[at].insts.last().unwrap().ids().next();
        assert_eq!(insts(1), Some(module.functions[0].blocks[4].label));
    }
}
