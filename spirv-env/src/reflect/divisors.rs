//! What of its arguments a kernel divides something by: such numbers are the lengths of rows where a grid has one dimension.

use super::constant_scalar;
use crate::module::{Divisor, Function, Id, Inst, Module, Type, TypeId};
use crate::opcodes::{Derives, divides_integers};
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Op, StorageClass};

/// Such numbers of a function, at most.
const MOST: usize = 8;
/// Conversions of one, and products with it, that are followed back, and what makes a pointer to one.
const STEPS: usize = 4;
const POINTERS: usize = 16;
/// How deep calls are followed: translators put a function around each kernel.
const DEPTH: usize = 64;

/// Those of functions that have been looked at.
pub type Known = FxHashMap<Id, Vec<Divisor>>;

/// The integers among a function's parameters, and in the structures that they point to, that it, or a function that it calls, divides something by
/// ([`crate::Kernel::divisors`]).
pub fn divisors(module: &Module, function: &Function, known: &mut Known) -> Vec<Divisor> {
    of_function(module, function, known, 0)
}

fn of_function(module: &Module, function: &Function, known: &mut Known, depth: usize) -> Vec<Divisor> {
    if let Some(known) = known.get(&function.id) {
        return known.clone();
    }
    // Until it is known, which is all that a function that calls itself finds.
    known.insert(function.id, Vec::new());
    let insts = || function.blocks.iter().flat_map(|block| &block.insts);
    let mut divisors: FxHashSet<Id> = FxHashSet::default();
    // What is pointed to, so many bytes from there, so large.
    let mut pointed: Vec<(Id, u64, u64)> = Vec::new();
    for inst in insts() {
        match inst.op {
            op if divides_integers(op) => _ = divisors.insert(inst.id(1)),
            Op::FunctionCall if depth < DEPTH => {
                let Some(callee) = module.function(inst.id(0)) else { continue };
                for divisor in of_function(module, callee, known, depth + 1) {
                    let Some(argument) = inst.ids().nth(1 + divisor.argument) else { continue };
                    let is_pointer =
                        callee.params.get(divisor.argument).is_some_and(|(_, ty)| is_object(module, *ty));
                    match is_pointer {
                        true => pointed.push((argument, divisor.offset, divisor.bytes)),
                        false => _ = divisors.insert(argument),
                    }
                }
            }
            _ => {}
        }
    }
    if divisors.is_empty() && pointed.is_empty() {
        return Vec::new();
    }
    let made: FxHashMap<Id, &Inst> = insts().filter_map(|inst| Some((inst.result?, inst))).collect();
    let mut new: Vec<Id> = divisors.iter().copied().collect();
    for _ in 0..STEPS {
        let is_step =
            |inst: &&&Inst| matches!(inst.op, Op::UConvert | Op::SConvert | Op::CopyObject | Op::IMul);
        let from = new.iter().filter_map(|id| made.get(id)).filter(is_step).flat_map(|inst| inst.ids());
        new = from.filter(|id| divisors.insert(*id)).collect();
    }
    let bytes_of = |ty: TypeId| match module.types.get(ty) {
        Type::Int { width: width @ (32 | 64), .. } => Some(u64::from(*width / 8)),
        _ => None,
    };
    let loads =
        insts().filter(|inst| inst.op == Op::Load && inst.result.is_some_and(|id| divisors.contains(&id)));
    pointed.extend(loads.filter_map(|load| Some((load.id(0), 0, bytes_of(load.ty?)?))));
    let place = |id: Id| function.params.iter().position(|(param, _)| *param == id);
    let mut found: Vec<Divisor> = Vec::new();
    for (argument, (id, ty)) in function.params.iter().enumerate() {
        if let Some(bytes) = bytes_of(*ty).filter(|_| divisors.contains(id)) {
            found.push(Divisor { argument, offset: 0, bytes });
        }
    }
    for (pointer, offset, bytes) in pointed {
        let Some((object, from)) = object_of(module, function, &made, pointer) else { continue };
        let argument = place(object).filter(|at| is_object(module, function.params[*at].1));
        found.extend(argument.map(|argument| Divisor { argument, offset: from.wrapping_add(offset), bytes }));
    }
    found.sort_unstable();
    found.dedup();
    found.truncate(MOST);
    known.insert(function.id, found.clone());
    found
}

/// Whether a type is a pointer to what a caller passes by value.
fn is_object(module: &Module, ty: TypeId) -> bool {
    matches!(module.types.get(ty), Type::Pointer { class: StorageClass::Function, .. })
}

/// Where a pointer of known offsets leads: into what, and how many bytes from its beginning.
fn object_of(
    module: &Module,
    function: &Function,
    made: &FxHashMap<Id, &Inst>,
    pointer: Id,
) -> Option<(Id, u64)> {
    let (mut at, mut offset) = (pointer, 0u64);
    for _ in 0..POINTERS {
        let Some(inst) = made.get(&at) else { return Some((at, offset)) };
        match inst.row().derives {
            Derives::Nothing => return None,
            Derives::Address | Derives::AddressIfPointer => {}
            Derives::Chain | Derives::ElementChain => {
                let base = inst.id(0);
                let of_param = function.params.iter().find(|(param, _)| *param == base).map(|(_, ty)| *ty);
                let ty = of_param.or_else(|| made.get(&base)?.ty)?;
                offset = offset.wrapping_add(chain_offset(module, inst, ty)?);
            }
        }
        at = inst.id(0);
    }
    None
}

/// The bytes that an access chain of constants adds to a pointer of this type.
fn chain_offset(module: &Module, inst: &Inst, pointer: TypeId) -> Option<u64> {
    let types = &module.types;
    let Type::Pointer { pointee, .. } = types.get(pointer) else { return None };
    let mut ty = *pointee;
    let mut indices = inst.ids().skip(1).map(|id| constant_scalar(module, id));
    let mut offset = 0u64;
    if inst.row().derives == Derives::ElementChain {
        offset = indices.next()??.wrapping_mul(types.layout(ty).size);
    }
    for index in indices {
        let index = index?;
        match types.get(ty) {
            Type::Struct { members, .. } => {
                offset = offset.wrapping_add(*types.member_offsets(ty).get(index as usize)?);
                ty = *members.get(index as usize)?;
            }
            Type::Array { elem, .. } | Type::Vector { elem, .. } => {
                ty = *elem;
                offset = offset.wrapping_add(index.wrapping_mul(types.layout(ty).size));
            }
            _ => return None,
        }
    }
    Some(offset)
}
