//! Private objects, pointers and accesses.

use super::assembler::{Assembler, put};
use spirv::{Capability, Op, StorageClass};

pub(super) fn variables(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item) = (a.uint(), a.item);
    let variables = a.variables(uint, n);
    for (at, variable) in variables.iter().enumerate() {
        let constant = a.constant(at as u32 % 100);
        let value = a.add(item, constant);
        a.act(Op::Store, &[*variable, value]);
    }
    let mut sum = item;
    for variable in variables.into_iter().rev() {
        let value = a.value(Op::Load, uint, &[variable]);
        sum = a.value(Op::IMul, uint, &[sum, value]);
    }
    a.finish(sum)
}

/// Arrays with indices that only the running kernel knows.
pub(super) fn private_arrays(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item) = (a.uint(), a.item);
    let array = a.array(uint, 16);
    let arrays = a.variables(array, n);
    let element = a.pointer(StorageClass::Function, uint);
    let (mask, mut sum) = (a.constant(15), item);
    for array in arrays {
        let index = a.value(Op::BitwiseAnd, uint, &[sum, mask]);
        let place = a.value(Op::InBoundsAccessChain, element, &[array, index]);
        a.act(Op::Store, &[place, sum]);
        let other = a.add(sum, item);
        let index = a.value(Op::BitwiseAnd, uint, &[other, mask]);
        let place = a.value(Op::InBoundsAccessChain, element, &[array, index]);
        sum = a.value(Op::Load, uint, &[place]);
    }
    a.finish(sum)
}

pub(super) fn gathers(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, mut index) = (a.uint(), a.item);
    for at in 0..n {
        let loaded = a.load(index);
        let constant = a.constant(at % 1000);
        index = a.value(Op::BitwiseXor, uint, &[loaded, constant]);
    }
    a.finish(index)
}

pub(super) fn atomics(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, mut index) = (a.uint(), a.item);
    let (scope, semantics) = (a.constant(1), a.constant(0));
    for _ in 0..n {
        let place = a.element(index);
        index = a.value(Op::AtomicIAdd, uint, &[place, scope, semantics, index]);
    }
    a.finish(index)
}

pub(super) fn builtins(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, ulong, builtin) = (a.uint(), a.ulong(), a.builtin);
    let ids = a.ty(Op::TypeVector, &[ulong, 3]);
    let mut sum = a.item;
    for at in 0..n {
        let all = a.value(Op::Load, ids, &[builtin]);
        let one = a.value(Op::CompositeExtract, ulong, &[all, at % 3]);
        let one = a.value(Op::UConvert, uint, &[one]);
        sum = a.value(Op::IMul, uint, &[sum, one]);
    }
    a.finish(sum)
}

/// Insertions into an array of 4,096.
pub(super) fn insertions(n: u32) -> Vec<u8> {
    const WIDE: u32 = 4096;
    let mut a = Assembler::new();
    let (uint, item) = (a.uint(), a.item);
    let array = a.array(uint, WIDE);
    let mut all = a.value(Op::Undef, array, &[]);
    for at in 0..n {
        all = a.value(Op::CompositeInsert, array, &[item, all, at * 7 % WIDE]);
    }
    let sum = a.value(Op::CompositeExtract, uint, &[all, 7]);
    a.finish(sum)
}

/// An array of `n` that is loaded, put through a phi and stored.
pub(super) fn wide_arrays(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item, out) = (a.uint(), a.item, a.out);
    let array = a.array(uint, n);
    let pointer = a.pointer(StorageClass::CrossWorkgroup, array);
    let source = a.value(Op::Bitcast, pointer, &[out]);
    let [before, yes, join] = [a.id(), a.id(), a.id()];
    a.act(Op::Branch, &[before]);
    a.label(before);
    let first = a.value(Op::Load, array, &[source]);
    let five = a.constant(5);
    let condition = a.compare(Op::UGreaterThan, item, five);
    a.act(Op::BranchConditional, &[condition, yes, join]);
    a.label(yes);
    let second = a.value(Op::CompositeInsert, array, &[item, first, 3]);
    a.act(Op::Branch, &[join]);
    a.label(join);
    let either = a.value(Op::Phi, array, &[first, before, second, yes]);
    a.act(Op::Store, &[source, either]);
    let value = a.value(Op::CompositeExtract, uint, &[either, n - 1]);
    a.finish(value)
}

/// Pointers, each made from the one before.
pub(super) fn pointer_chain(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item, out, one) = (a.uint(), a.item, a.out, a.constant(1));
    let pointer = a.pointer(StorageClass::CrossWorkgroup, uint);
    let mut place = out;
    for at in 0..n {
        let step = if at % 2 == 0 { one } else { item };
        place = a.value(Op::InBoundsPtrAccessChain, pointer, &[place, step]);
    }
    let value = a.value(Op::Load, uint, &[place]);
    a.finish(value)
}

/// Members that are taken out of a structure of 4000.
pub(super) fn members(n: u32) -> Vec<u8> {
    const MEMBERS: u32 = 4000;
    let mut a = Assembler::new();
    let (uint, mut value) = (a.uint(), a.item);
    let ty = a.id();
    let of: Vec<u32> = (0..MEMBERS).map(|_| uint).collect();
    put(&mut a.declarations, Op::TypeStruct, &[&[ty], &of[..]].concat());
    let variable = a.variables(ty, 1)[0];
    let whole = a.value(Op::Load, ty, &[variable]);
    for at in 0..n {
        let member = a.value(Op::CompositeExtract, uint, &[whole, at.wrapping_mul(2_654_435_761) % MEMBERS]);
        value = a.add(value, member);
    }
    a.finish(value)
}

/// Arrays that are too large for registers: loaded, changed and stored.
pub(super) fn large_arrays(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item) = (a.uint(), a.item);
    let array = a.array(uint, 5000);
    let variable = a.variables(array, 1)[0];
    for at in 0..n / 3 {
        let whole = a.value(Op::Load, array, &[variable]);
        let changed = a.value(Op::CompositeInsert, array, &[item, whole, at % 5000]);
        a.act(Op::Store, &[variable, changed]);
    }
    let whole = a.value(Op::Load, array, &[variable]);
    let value = a.value(Op::CompositeExtract, uint, &[whole, 7]);
    a.finish(value)
}

pub(super) fn large_phis(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item) = (a.uint(), a.item);
    let array = a.array(uint, 5000);
    let variable = a.variables(array, 1)[0];
    let mut value = a.value(Op::Load, array, &[variable]);
    let mut before = a.id();
    a.act(Op::Branch, &[before]);
    a.label(before);
    for at in 0..n {
        let [yes, join] = [a.id(), a.id()];
        let constant = a.constant(at);
        let condition = a.compare(Op::ULessThan, item, constant);
        a.act(Op::BranchConditional, &[condition, yes, join]);
        a.label(yes);
        let changed = a.value(Op::CompositeInsert, array, &[item, value, at % 5000]);
        a.act(Op::Branch, &[join]);
        a.label(join);
        value = a.value(Op::Phi, array, &[value, before, changed, yes]);
        before = join;
    }
    let value = a.value(Op::CompositeExtract, uint, &[value, 7]);
    a.finish(value)
}

/// Loads and stores in turn, of which nothing is known.
pub(super) fn loads_and_stores(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let item = a.item;
    for at in 0..n {
        let constant = a.constant(at * 7 % 1000);
        let loaded = a.load(constant);
        let place = a.element(loaded);
        a.act(Op::Store, &[place, item]);
    }
    a.finish(item)
}

/// Stores to one row of memory, each lane beside the other.
pub(super) fn contiguous(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let item = a.item;
    for at in 0..n {
        let (to, from) = (a.constant(at * 1024), a.constant((at + n) * 1024));
        let (to, from) = (a.add(item, to), a.add(item, from));
        let loaded = a.load(from);
        let place = a.element(to);
        a.act(Op::Store, &[place, loaded]);
    }
    a.finish(item)
}

/// Copies of 4 KiB from one private object to another.
pub(super) fn object_copies(n: u32, bytes: u32, sized: bool) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item) = (a.uint(), a.item);
    let array = a.array(uint, bytes / 4);
    let objects = a.variables(array, 8);
    let size = a.constant(bytes);
    for at in 0..n as usize {
        let (to, from) = (objects[(at * 3 + 1) % 8], objects[at % 8]);
        match sized {
            true => a.act(Op::CopyMemorySized, &[to, from, size]),
            false => a.act(Op::CopyMemory, &[to, from]),
        }
    }
    a.finish(item)
}

/// Pointers that are one of two objects' each, and accesses through them.
pub(super) fn pointers_to_either(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item) = (a.uint(), a.item);
    let objects = a.variables(uint, n);
    let pointer = a.pointer(StorageClass::Function, uint);
    let mut value = item;
    for at in 0..n as usize {
        let constant = a.constant(at as u32);
        let condition = a.compare(Op::ULessThan, value, constant);
        let (x, y) = (objects[at], objects[at * 7 % objects.len()]);
        let place = a.value(Op::Select, pointer, &[condition, x, y]);
        a.act(Op::Store, &[place, value]);
        let loaded = a.value(Op::Load, uint, &[place]);
        value = a.add(value, loaded);
    }
    a.finish(value)
}

/// A pointer that may lead to any of `n` objects.
pub(super) fn pointer_to_any(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item) = (a.uint(), a.item);
    let objects = a.variables(uint, n);
    let pointer = a.pointer(StorageClass::Function, uint);
    let mut place = objects[0];
    for (at, object) in objects.iter().enumerate() {
        let constant = a.constant(at as u32);
        let condition = a.compare(Op::ULessThan, item, constant);
        place = a.value(Op::Select, pointer, &[condition, *object, place]);
    }
    for object in objects {
        a.act(Op::Store, &[object, item]);
        a.act(Op::Store, &[place, item]);
    }
    let value = a.value(Op::Load, uint, &[place]);
    a.finish(value)
}

/// Private objects that escape: their addresses are in memory.
pub(super) fn escaping_objects(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    a.capabilities.push(Capability::GenericPointer);
    let (uint, ulong, mut value, out) = (a.uint(), a.ulong(), a.item, a.out);
    let array = a.array(uint, 3);
    let of_ulong = a.pointer(StorageClass::CrossWorkgroup, ulong);
    let place = a.value(Op::Bitcast, of_ulong, &[out]);
    let element = a.pointer(StorageClass::Function, uint);
    let (objects, one) = (a.variables(array, n), a.constant(1));
    for object in objects {
        let inside = a.value(Op::InBoundsAccessChain, element, &[object, one]);
        a.act(Op::Store, &[inside, value]);
        let address = a.value(Op::ConvertPtrToU, ulong, &[object]);
        a.act(Op::Store, &[place, address]);
        value = a.value(Op::Load, uint, &[inside]);
    }
    a.finish(value)
}

/// Pointers of the generic class, and questions where they lead.
pub(super) fn generic_pointers(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    a.capabilities.push(Capability::GenericPointer);
    let (uint, mut value) = (a.uint(), a.item);
    let object = a.variables(uint, 1)[0];
    let (generic, private) =
        (a.pointer(StorageClass::Generic, uint), a.pointer(StorageClass::Function, uint));
    for _ in 0..n {
        let place = a.value(Op::PtrCastToGeneric, generic, &[object]);
        let back = a.value(Op::GenericCastToPtrExplicit, private, &[place, StorageClass::Function as u32]);
        a.act(Op::Store, &[place, value]);
        let loaded = a.value(Op::Load, uint, &[back]);
        value = a.add(value, loaded);
    }
    a.finish(value)
}

/// Atomics that compare, and atomics of local memory.
pub(super) fn compare_exchanges(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item) = (a.uint(), a.item);
    let array = a.array(uint, 64);
    let (of_array, element) =
        (a.pointer(StorageClass::Workgroup, array), a.pointer(StorageClass::Workgroup, uint));
    let local = a.id();
    put(&mut a.declarations, Op::Variable, &[of_array, local, StorageClass::Workgroup as u32]);
    let (scope, semantics, mask, mut value) = (a.constant(2), a.constant(0), a.constant(63), item);
    for _ in 0..n {
        let index = a.value(Op::BitwiseAnd, uint, &[value, mask]);
        let place = a.value(Op::InBoundsAccessChain, element, &[local, index]);
        let operands = [place, scope, semantics, semantics, item, value];
        value = a.value(Op::AtomicCompareExchange, uint, &operands);
    }
    a.finish(value)
}

/// Structures of an array with an index of its own in each of many levels.
pub(super) fn deep_accesses(n: u32) -> Vec<u8> {
    const DEEP: usize = 30;
    let mut a = Assembler::new();
    let (uint, item, zero, one) = (a.uint(), a.item, a.constant(0), a.constant(1));
    let mut ty = uint;
    for _ in 0..DEEP / 2 {
        ty = a.array(ty, 2);
        let structure = a.id();
        put(&mut a.declarations, Op::TypeStruct, &[structure, uint, ty]);
        ty = structure;
    }
    let object = a.variables(ty, 1)[0];
    let (pointer, mut value) = (a.pointer(StorageClass::Function, uint), item);
    for _ in 0..n {
        let bit = a.value(Op::BitwiseAnd, uint, &[value, one]);
        let mut operands = vec![object];
        operands.extend((0..DEEP / 2).flat_map(|at| [one, if at % 5 == 0 { bit } else { zero }]));
        let place = a.value(Op::InBoundsAccessChain, pointer, &operands);
        a.act(Op::Store, &[place, value]);
        value = a.value(Op::Load, uint, &[place]);
    }
    a.finish(value)
}
