//! Accesses through a pointer that is chosen from two private variables, or from two members of one: both are loaded, and one of the values is chosen; both are
//! stored to, one of them what it had.
//!
//! `c ? a : b` of two structures is a selection of their addresses, as compilers leave it where what follows reads members: so are the operations
//! of reductions that look for a largest element and its place. A variable whose address is chosen stays in memory, and lanes that chose
//! differently gather each member right behind the stores that wrote it. What is a value in registers otherwise is one here, too. Two rows that change their places
//! with each iteration, as dynamic programming has them, are chosen by phis (`objects.rs`).

use super::func::{ChainStep, Func};
use super::simplify;
use rustc_hash::FxHashMap;
use smallvec::smallvec;
use spirv::{Op, StorageClass};
use spirv_env::{Id, Inst, Operand, Type, TypeId};

/// Instructions between a variable and what is loaded, and selections, at most.
const MOST_STEPS: usize = 16;

mod objects;

/// What makes pointers, by the result.
type Made = FxHashMap<Id, Inst>;

/// Has accesses through a chosen pointer be accesses of all that it may lead to.
pub fn access_both(func: &mut Func<'_>) {
    objects::choose(func);
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
    let sizes = sizes(func);
    for block in func.block_ids() {
        let before = std::mem::take(&mut func.blocks[block].insts);
        let mut insts = Vec::with_capacity(before.len());
        for inst in before {
            let both = match inst.op {
                Op::Load => loads(func, &made, &sizes, &inst),
                Op::Store => stores(func, &made, &sizes, &inst),
                _ => None,
            };
            match both {
                Some(accesses) => insts.extend(accesses),
                None => insts.push(inst),
            }
        }
        func.blocks[block].insts = insts;
    }
    // They would keep variables in memory.
    simplify::forget_unused(func, |result| made.contains_key(&result));
}

/// Private variables, and their sizes in bytes.
fn sizes(func: &Func<'_>) -> FxHashMap<Id, u64> {
    let size = |inst: &Inst| {
        let variable = inst.result.filter(|_| inst.op == Op::Variable)?;
        let Type::Pointer { pointee, .. } = func.module.types.get(func.type_of(variable)?) else {
            return None;
        };
        let is_private = func.class_of(variable) == Some(StorageClass::Function);
        is_private.then(|| (variable, func.module.types.layout(*pointee).size))
    };
    func.blocks.values().flat_map(|block| &block.insts).filter_map(size).collect()
}

/// What takes the place of a load through a chosen pointer.
fn loads(func: &mut Func<'_>, made: &Made, sizes: &FxHashMap<Id, u64>, load: &Inst) -> Option<Vec<Inst>> {
    if !may_be_both(func, made, sizes, load, load.ty?) {
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

/// What takes the place of a store through one: a store to each that it may lead to, of what was there where another one is chosen. They follow each other, load
/// and store, as two may be the same.
fn stores(func: &mut Func<'_>, made: &Made, sizes: &FxHashMap<Id, u64>, store: &Inst) -> Option<Vec<Inst>> {
    let ty = func.type_of(store.id(1))?;
    if !may_be_both(func, made, sizes, store, ty) {
        return None;
    }
    let mut insts = Vec::new();
    let mut stores = Stores { func, made, store, ty, insts: &mut insts };
    stores.to(store.id(0), &[], &[]);
    insts.iter().any(|inst| inst.op == Op::Select).then_some(insts)
}

/// Whether all that a chosen pointer may lead to can be accessed in the place of one, for a value of this type.
fn may_be_both(func: &Func<'_>, made: &Made, sizes: &FxHashMap<Id, u64>, access: &Inst, ty: TypeId) -> bool {
    let is_scalar = matches!(func.module.types.get(ty), Type::Int { .. } | Type::Float { .. });
    let (pointer, bytes) = (access.id(0), func.module.types.layout(ty).size);
    is_scalar
        && !access.is_volatile()
        && (is_within(func, made, sizes, pointer, 0..bytes, MOST_STEPS)
            || is_within_either(func, made, sizes, pointer, bytes))
}

/// Whether a pointer is chosen from two places of which one has what is accessed if the other one has: variables of the same size, or members
/// of one structure, wherever that is.
fn is_within_either(
    func: &Func<'_>,
    made: &Made,
    sizes: &FxHashMap<Id, u64>,
    pointer: Id,
    bytes: u64,
) -> bool {
    let (mut at, mut end) = (pointer, Some(bytes as i64));
    for _ in 0..MOST_STEPS {
        let Some(inst) = made.get(&at) else { return false };
        if inst.op != Op::Select {
            for step in func.chain(inst) {
                end = match step {
                    ChainStep::Constant(bytes) => {
                        end.filter(|_| bytes >= 0).and_then(|end| end.checked_add(bytes))
                    }
                    _ => None,
                };
            }
            let Some(base) = func.derived_from(inst) else { return false };
            at = base;
            continue;
        }
        let is_one = func.type_of(inst.id(0)).is_some_and(|ty| *func.module.types.get(ty) == Type::Bool);
        let [a, b] = [1, 2].map(|side| inst.id(side));
        let size = |of: Id| objects::place_of(func, sizes, made, of).map(|(variable, _)| sizes[&variable]);
        let are_alike = size(a).is_some() && size(a) == size(b);
        return is_one && (are_alike || (are_members(func, made, a, b) && fits(func, a, end)));
    }
    false
}

/// Whether two pointers are made by the same steps, but for members of structures.
fn are_members(func: &Func<'_>, made: &Made, a: Id, b: Id) -> bool {
    let (Some(a), Some(b)) = (made.get(&a), made.get(&b)) else { return false };
    let is_alike = a.op == b.op && a.ty == b.ty && a.id(0) == b.id(0) && a.operands.len() == b.operands.len();
    let members = func.member_operands(a);
    is_alike
        && a.op != Op::Select
        && (1..a.operands.len()).all(|at| a.operands[at] == b.operands[at] || members.contains(&at))
        && func.class_of(a.id(0)) == Some(StorageClass::Function)
        && is_not_chosen(func, made, a.id(0))
}

/// Whether nothing is chosen on the way to a pointer.
fn is_not_chosen(func: &Func<'_>, made: &Made, pointer: Id) -> bool {
    let next =
        |at: &Id| made.get(at).filter(|inst| inst.op != Op::Select).and_then(|inst| func.derived_from(inst));
    let last = std::iter::successors(Some(pointer), next).take(MOST_STEPS).last();
    last.is_some_and(|last| !made.contains_key(&last))
}

/// Whether what ends so many bytes behind a pointer, if that is known, is in what it points to.
fn fits(func: &Func<'_>, pointer: Id, end: Option<i64>) -> bool {
    let pointee = func.type_of(pointer).map(|ty| func.module.types.get(ty));
    let Some(Type::Pointer { pointee, .. }) = pointee else { return false };
    end.is_some_and(|end| end as u64 <= func.module.types.layout(*pointee).size)
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
            let pointer = follow(func, made, pointer, steps, insts);
            let mut load = func.copied(load, |id| id);
            load.operands[0] = Operand::Id(pointer);
            let result = load.result.expect("a load has a result");
            insts.push(load);
            result
        }
    }
}

/// Stores to all that a pointer may lead to.
struct Stores<'f, 'm> {
    func: &'f mut Func<'m>,
    made: &'f Made,
    store: &'f Inst,
    ty: TypeId,
    insts: &'f mut Vec<Inst>,
}

impl Stores<'_, '_> {
    /// Stores behind a pointer and these steps from it on, the last ones first, where these conditions are as they are said to be.
    fn to(&mut self, pointer: Id, steps: &[Id], conditions: &[(Id, bool)]) {
        match self.made.get(&pointer) {
            Some(choice) if choice.op == Op::Select => {
                for (side, holds) in [(1, true), (2, false)] {
                    let conditions: Vec<_> =
                        conditions.iter().copied().chain([(choice.id(0), holds)]).collect();
                    self.to(choice.id(side), steps, &conditions);
                }
            }
            Some(step) => {
                let base = self.func.derived_from(step).expect("no choice, but what is derived");
                let steps: Vec<Id> = steps.iter().copied().chain([pointer]).collect();
                self.to(base, &steps, conditions);
            }
            None => {
                let pointer = follow(self.func, self.made, pointer, steps, self.insts);
                let (mut load, before) = self.func.computed(Op::Load, self.ty, &[pointer]);
                // Its alignment is that of the store.
                load.operands.extend(self.store.operands.iter().skip(2).copied());
                self.insts.push(load);
                let mut value = self.store.id(1);
                for (condition, holds) in conditions {
                    let [then, otherwise] = if *holds { [value, before] } else { [before, value] };
                    let (choice, chosen) =
                        self.func.computed(Op::Select, self.ty, &[*condition, then, otherwise]);
                    self.insts.push(choice);
                    value = chosen;
                }
                let mut store = self.store.clone();
                (store.operands[0], store.operands[1]) = (Operand::Id(pointer), Operand::Id(value));
                self.insts.push(store);
            }
        }
    }
}

/// The same steps from another pointer on, the last ones first.
fn follow(func: &mut Func<'_>, made: &Made, pointer: Id, steps: &[Id], insts: &mut Vec<Inst>) -> Id {
    let mut pointer = pointer;
    for step in steps.iter().rev() {
        let mut step = func.copied(&made[step], |id| id);
        step.operands[0] = Operand::Id(pointer);
        pointer = step.result.expect("what makes a pointer has a result");
        insts.push(step);
    }
    pointer
}

#[cfg(test)]
mod tests;
