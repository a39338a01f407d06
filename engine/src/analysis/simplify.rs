//! Copy propagation: uses of an instruction that only passes on one of its operands become uses of the operand.
//!
//! SYCL's compilers guard each component of a built-in with a selection whose condition is the constant `true`.
//! A selection between an id and zero has no stride, so what is known of ids would end there.

use super::func::Func;
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::Op;
use spirv_env::{ConstantValue, Id, Inst, Operand};

/// Replaces and removes the instructions of a function that only pass on a value.
pub fn propagate_copies(func: &mut Func<'_>) {
    let insts = func.blocks.values().flat_map(|block| &block.insts);
    let mut same: FxHashMap<Id, Id> =
        insts.filter_map(|inst| Some((inst.result?, passed_on(func, inst)?))).collect();
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
        for operand in block.insts.iter_mut().flat_map(|inst| &mut inst.operands) {
            if let Operand::Id(id) = operand {
                replace(id);
            }
        }
        if let Some(condition) = block.term.used_mut() {
            replace(condition);
        }
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
