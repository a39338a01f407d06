//! Members of structures that a kernel is passed by value are loaded once, where it begins.
//!
//! SYCL's compilers pass so what an accessor says of its buffer (`range<2>`), and what a lambda captures that is no number. A kernel that only
//! reads such a structure has members that are as much the same for all work-items as any argument. Where they are loaded where they are used,
//! nobody knows that of a step or of a bound: they would be loads within a loop, of private memory.

use super::func::{ChainStep, ENTRY, Func};
use super::private::{is_by_value, unchanged};
use super::simplify;
use rustc_hash::FxHashMap;
use spirv::Op;
use spirv_env::{Id, Inst, Operand, Type, TypeId};

/// Members that are loaded so, at most.
const MOST_MEMBERS: usize = 256;
/// Bytes of one.
const MOST_BYTES: u64 = 64;
/// Instructions between the structure and a member.
const MOST_STEPS: usize = 32;

/// A member's structure, where it is there, and what it is loaded as.
type Member = (Id, i64, TypeId);

/// Moves such loads to the beginning.
pub fn load_first(func: &mut Func<'_>) {
    let params: Vec<(Id, TypeId)> =
        func.params.iter().copied().filter(|(param, ty)| is_by_value(func, *param, *ty)).collect();
    if params.is_empty() {
        return;
    }
    let sizes: FxHashMap<Id, u64> = unchanged(func, &params)
        .filter_map(|param| {
            let Type::Pointer { pointee, .. } = func.module.types.get(func.type_of(param)?) else {
                return None;
            };
            Some((param, func.module.types.layout(*pointee).size))
        })
        .collect();
    let insts = || func.blocks.values().flat_map(|block| &block.insts);
    let made: FxHashMap<Id, Inst> = insts()
        .filter(|inst| func.derived_from(inst).is_some())
        .filter_map(|inst| Some((inst.result?, inst.clone())))
        .collect();
    let is_load = |inst: &&Inst| inst.op == Op::Load && !inst.is_volatile();
    let loads: Vec<Inst> = insts().filter(is_load).cloned().collect();
    let mut members: FxHashMap<Member, Id> = FxHashMap::default();
    let (mut same, mut first) = (FxHashMap::default(), Vec::new());
    for load in loads {
        let (Some(result), Some(ty)) = (load.result, load.ty) else { continue };
        let Some((param, offset, steps)) = place(func, &made, load.id(0)) else { continue };
        let bytes = func.module.types.layout(ty).size;
        let is_inside = |size: &u64| u64::try_from(offset).is_ok_and(|offset| offset + bytes <= *size);
        if bytes > MOST_BYTES || !sizes.get(&param).is_some_and(is_inside) {
            continue;
        }
        let known = members.get(&(param, offset, ty)).copied();
        if known.is_none() && members.len() >= MOST_MEMBERS {
            break;
        }
        let member = known.unwrap_or_else(|| {
            let mut pointer = param;
            for step in steps.into_iter().rev() {
                let mut step = func.copied(&made[&step], |id| id);
                step.operands[0] = Operand::Id(pointer);
                pointer = step.result.expect("what makes a pointer has a result");
                first.push(step);
            }
            let mut load = func.copied(&load, |id| id);
            load.operands[0] = Operand::Id(pointer);
            let member = load.result.expect("a load has a result");
            first.push(load);
            members.insert((param, offset, ty), member);
            func.members.insert(member, (param, offset as u64));
            member
        });
        same.insert(result, member);
    }
    simplify::replace(func, &same);
    let entry = &mut func.blocks[ENTRY].insts;
    let at = entry.iter().take_while(|inst| inst.op == Op::Variable).count();
    entry.splice(at..at, first);
}

/// The parameter that a pointer leads into, how far from its beginning, and what makes the pointer of it, last things first.
fn place(func: &Func<'_>, made: &FxHashMap<Id, Inst>, pointer: Id) -> Option<(Id, i64, Vec<Id>)> {
    let (mut at, mut offset, mut steps) = (pointer, 0i64, Vec::new());
    while let Some(inst) = made.get(&at) {
        if steps.len() == MOST_STEPS {
            return None;
        }
        for step in func.chain(inst) {
            let ChainStep::Constant(bytes) = step else { return None };
            offset = offset.checked_add(bytes)?;
        }
        steps.push(at);
        at = func.derived_from(inst)?;
    }
    Some((at, offset, steps))
}

#[cfg(test)]
mod tests;
