//! Copy propagation: uses of an instruction that only passes on one of its operands become uses of the operand.
//!
//! SYCL's compilers guard each component of a built-in with a selection whose condition is the constant `true`.
//! A selection between an id and zero has no stride, so what is known of ids would end there.

use super::func::Func;
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Op, OpenclStd100Op as StdOp};
use spirv_env::{ConstantValue, Id, Inst, Operand};

/// Makes products of 24 bits products and sums. Results are defined for operands of 24 bits only (OpenCL Extended Instruction Set §2.2), and
/// there a full product is right as well.
pub fn expand_products(func: &mut Func<'_>) {
    let module = func.module;
    let kind = |inst: &Inst| match inst.opencl_std(module)?.op {
        StdOp::s_mul24 | StdOp::u_mul24 => Some(false),
        StdOp::s_mad24 | StdOp::u_mad24 => Some(true),
        _ => None,
    };
    for block in func.block_ids() {
        if !func.blocks[block].insts.iter().any(|inst| kind(inst).is_some()) {
            continue;
        }
        let mut insts = Vec::new();
        for inst in std::mem::take(&mut func.blocks[block].insts) {
            let Some(has_sum) = kind(&inst) else {
                insts.push(inst);
                continue;
            };
            let binary = |op, result, operands: [Operand; 2]| Inst {
                op,
                result,
                operands: operands.into_iter().collect(),
                ..inst.clone()
            };
            if has_sum {
                let product = func.fresh();
                func.types.extend(inst.ty.map(|ty| (product, ty)));
                insts.push(binary(Op::IMul, Some(product), [inst.operands[2], inst.operands[3]]));
                insts.push(binary(Op::IAdd, inst.result, [Operand::Id(product), inst.operands[4]]));
            } else {
                insts.push(binary(Op::IMul, inst.result, [inst.operands[2], inst.operands[3]]));
            }
        }
        func.blocks[block].insts = insts;
    }
}

/// Replaces and removes the instructions of a function that only pass on a value.
pub fn propagate_copies(func: &mut Func<'_>) {
    let insts = func.blocks.values().flat_map(|block| &block.insts);
    let same: FxHashMap<Id, Id> =
        insts.filter_map(|inst| Some((inst.result?, passed_on(func, inst)?))).collect();
    replace_by_ends(func, same);
}

/// Takes away instructions whose results nobody uses any more, of those that may go.
pub(super) fn forget_unused(func: &mut Func<'_>, may_go: impl Fn(Id) -> bool) {
    loop {
        let mut used: FxHashSet<Id> = FxHashSet::default();
        for block in func.blocks.values() {
            used.extend(block.insts.iter().flat_map(|inst| inst.ids()));
            used.extend(block.phis.iter().flat_map(|phi| phi.incoming.iter().map(|(_, id)| *id)));
            used.extend(block.term.used());
        }
        let is_wanted =
            |inst: &Inst| inst.result.is_none_or(|result| used.contains(&result) || !may_go(result));
        let mut are_all = true;
        for block in func.blocks.values_mut() {
            let before = block.insts.len();
            block.insts.retain(is_wanted);
            are_all &= block.insts.len() == before;
        }
        if are_all {
            return;
        }
    }
}

/// As [`replace`], where what stands for a value may itself be replaced.
pub(super) fn replace_by_ends(func: &mut Func<'_>, mut same: FxHashMap<Id, Id>) {
    if same.is_empty() {
        return;
    }
    // Chains of copies lead to what the first one copies. In SSA form they have an end. Each link is followed once:
    // a chain ends where one begins that was followed before.
    let copies: Vec<Id> = same.keys().copied().collect();
    let mut ended: FxHashSet<Id> = FxHashSet::default();
    for copy in copies {
        let (mut end, mut chain) = (copy, Vec::new());
        while let Some(source) = same.get(&end).copied().filter(|_| chain.len() <= same.len()) {
            chain.push(end);
            let is_end = ended.contains(&end);
            end = source;
            if is_end {
                break;
            }
        }
        ended.extend(&chain);
        same.extend(chain.into_iter().map(|link| (link, end)));
    }
    replace(func, &same);
}

/// Has values used in the stead of others, whose instructions go away.
pub(super) fn replace(func: &mut Func<'_>, same: &FxHashMap<Id, Id>) {
    let replace = |id: &mut Id| {
        if let Some(source) = same.get(id) {
            *id = *source;
        }
    };
    for block in func.blocks.values_mut() {
        block.insts.retain(|inst| inst.result.is_none_or(|result| !same.contains_key(&result)));
        for phi in &mut block.phis {
            phi.incoming.iter_mut().for_each(|(_, id)| replace(id));
        }
        block.used_mut().for_each(replace);
    }
}

/// The operand that an instruction passes on unchanged.
fn passed_on(func: &Func<'_>, inst: &Inst) -> Option<Id> {
    match inst.op {
        Op::CopyObject => Some(inst.id(0)),
        Op::Select if inst.id(1) == inst.id(2) => Some(inst.id(1)),
        Op::Select => match func.module.constants.get(&inst.id(0))?.value {
            ConstantValue::Bool(condition) => Some(inst.id(if condition { 1 } else { 2 })),
            _ => None,
        },
        _ => None,
    }
}
