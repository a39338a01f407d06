//! Loads through a pointer that a selection chooses from two private variables: both are loaded, and one of the values is chosen.
//!
//! `c ? a : b` of two structures is a selection of their addresses, as compilers leave it where what follows reads members: so are the operations
//! of reductions that look for a largest element and its place. A variable whose address is chosen stays in memory, and lanes that chose
//! differently gather each member right behind the stores that wrote it. What is a value in registers otherwise is one here, too.

use super::func::{ChainStep, Func};
use super::simplify;
use rustc_hash::FxHashMap;
use smallvec::smallvec;
use spirv::{Op, StorageClass};
use spirv_env::{Id, Inst, Operand, Type};

/// Instructions between a variable and what is loaded, and selections, at most.
const MOST_STEPS: usize = 16;

/// What makes pointers, by the result.
type Made = FxHashMap<Id, Inst>;

/// Has loads behind a selection of private variables be selections of loads.
pub fn load_both(func: &mut Func<'_>) {
    let is_pointer = |func: &Func<'_>, id: Id| {
        func.type_of(id).is_some_and(|ty| matches!(func.module.types.get(ty), Type::Pointer { .. }))
    };
    let insts = || func.blocks.values().flat_map(|block| &block.insts);
    let is_choice =
        |inst: &&Inst| inst.op == Op::Select && inst.result.is_some_and(|result| is_pointer(func, result));
    if !insts().any(|inst| is_choice(&inst)) {
        return;
    }
    let made: Made = insts()
        .filter(|inst| is_choice(inst) || func.derived_from(inst).is_some())
        .filter_map(|inst| Some((inst.result?, inst.clone())))
        .collect();
    let sizes: FxHashMap<Id, u64> = insts()
        .filter(|inst| inst.op == Op::Variable)
        .filter_map(|inst| {
            let variable = inst.result?;
            let Type::Pointer { pointee, .. } = func.module.types.get(func.type_of(variable)?) else {
                return None;
            };
            let is_private = func.class_of(variable) == Some(StorageClass::Function);
            is_private.then(|| (variable, func.module.types.layout(*pointee).size))
        })
        .collect();
    for block in func.block_ids() {
        let before = std::mem::take(&mut func.blocks[block].insts);
        let mut insts = Vec::with_capacity(before.len());
        for inst in before {
            match both(func, &made, &sizes, &inst) {
                Some(loads) => insts.extend(loads),
                None => insts.push(inst),
            }
        }
        func.blocks[block].insts = insts;
    }
    // They would keep variables in memory.
    simplify::forget_unused(func, |result| made.contains_key(&result));
}

/// What takes the place of a load through a chosen pointer.
fn both(func: &mut Func<'_>, made: &Made, sizes: &FxHashMap<Id, u64>, load: &Inst) -> Option<Vec<Inst>> {
    if load.op != Op::Load || load.is_volatile() {
        return None;
    }
    let is_scalar = matches!(func.module.types.get(load.ty?), Type::Int { .. } | Type::Float { .. });
    let bytes = func.module.types.layout(load.ty?).size;
    if !is_scalar || !is_within(func, made, sizes, load.id(0), 0..bytes, MOST_STEPS) {
        return None;
    }
    let mut insts = Vec::new();
    let chosen = load_of(func, made, load, load.id(0), &mut Vec::new(), &mut insts);
    // The last one that was made is of the value; nothing but a load has been made where nothing is chosen.
    let last: &mut Inst = insts.last_mut().filter(|inst| inst.op == Op::Select)?;
    debug_assert_eq!(last.result, Some(chosen));
    last.result = load.result;
    Some(insts)
}

/// Whether bytes behind a pointer are those of a private variable, whichever it leads to.
fn is_within(
    func: &Func<'_>,
    made: &Made,
    sizes: &FxHashMap<Id, u64>,
    pointer: Id,
    at: std::ops::Range<u64>,
    steps: usize,
) -> bool {
    if let Some(size) = sizes.get(&pointer) {
        return at.end <= *size;
    }
    let Some(inst) = made.get(&pointer).filter(|_| steps > 0) else { return false };
    if inst.op == Op::Select {
        let is_one = func.type_of(inst.id(0)).is_some_and(|ty| *func.module.types.get(ty) == Type::Bool);
        return is_one
            && [1, 2].iter().all(|side| is_within(func, made, sizes, inst.id(*side), at.clone(), steps / 2));
    }
    let mut from = at.start as i64;
    for step in func.chain(inst) {
        match step {
            ChainStep::Constant(bytes) => from = from.saturating_add(bytes),
            _ => return false,
        }
    }
    let (Ok(from), Some(base)) = (u64::try_from(from), func.derived_from(inst)) else { return false };
    let Some(to) = from.checked_add(at.end - at.start) else { return false };
    is_within(func, made, sizes, base, from..to, steps - 1)
}

/// The value behind a pointer and these steps from it on, the last ones first.
fn load_of(
    func: &mut Func<'_>,
    made: &Made,
    load: &Inst,
    pointer: Id,
    steps: &mut Vec<Id>,
    insts: &mut Vec<Inst>,
) -> Id {
    match made.get(&pointer) {
        Some(choice) if choice.op == Op::Select => {
            let condition = choice.operands[0];
            let [a, b] = [1, 2].map(|side| {
                let mut steps = steps.clone();
                load_of(func, made, load, choice.id(side), &mut steps, insts)
            });
            let mut value = func.copied(load, |id| id);
            value.op = Op::Select;
            value.operands = smallvec![condition, Operand::Id(a), Operand::Id(b)];
            let result = value.result.expect("a copy of what has a result has one");
            insts.push(value);
            result
        }
        Some(step) => {
            let base = func.derived_from(step).expect("no choice, but what is derived");
            steps.push(pointer);
            load_of(func, made, load, base, steps, insts)
        }
        None => {
            let mut pointer = pointer;
            for step in steps.iter().rev() {
                let mut step = func.copied(&made[step], |id| id);
                step.operands[0] = Operand::Id(pointer);
                pointer = step.result.expect("what makes a pointer has a result");
                insts.push(step);
            }
            let mut load = func.copied(load, |id| id);
            load.operands[0] = Operand::Id(pointer);
            let result = load.result.expect("a load has a result");
            insts.push(load);
            result
        }
    }
}

#[cfg(test)]
mod tests;
