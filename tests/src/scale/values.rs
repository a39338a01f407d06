//! Instructions in a row, and values that live long.

use super::assembler::{Assembler, put};
use spirv::{Capability, Op, OpenclStd100Op, StorageClass};

pub(super) fn multiplications(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item) = (a.uint(), a.item);
    let mut value = item;
    for at in 0..n {
        let other = if at % 2 == 0 { item } else { value };
        value = a.value(Op::IMul, uint, &[value, other]);
    }
    a.finish(value)
}

pub(super) fn independent_additions(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let item = a.item;
    let mut all = vec![item];
    for at in 0..n {
        let constant = a.constant(at % 5000);
        let (x, y) = (all[at as usize / 2], all[at as usize / 3]);
        let sum = if at % 2 == 0 { a.add(x, constant) } else { a.add(x, y) };
        all.push(sum);
    }
    let last = *all.last().expect("some");
    a.finish(last)
}

/// Vectors of 16 that are all made before the first is used.
pub(super) fn live_vectors(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, float16) = (a.uint(), a.float16());
    let pointer = a.pointer(StorageClass::CrossWorkgroup, float16);
    let (out, item) = (a.out, a.item);
    let base = a.value(Op::Bitcast, pointer, &[out]);
    let vectors: Vec<u32> = (0..n)
        .map(|at| {
            let offset = a.constant(at);
            let index = a.value(Op::BitwiseXor, uint, &[item, offset]);
            let place = a.value(Op::InBoundsPtrAccessChain, pointer, &[base, index]);
            a.value(Op::Load, float16, &[place])
        })
        .collect();
    let sum = vectors.into_iter().rev().reduce(|x, y| a.value(Op::FMul, float16, &[x, y])).expect("some");
    let place = a.value(Op::InBoundsPtrAccessChain, pointer, &[base, item]);
    a.act(Op::Store, &[place, sum]);
    a.finish(item)
}

pub(super) fn live_across_a_loop(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item, zero, one) = (a.uint(), a.item, a.constant(0), a.constant(1));
    let values: Vec<u32> = (0..n)
        .map(|at| {
            let constant = a.constant(at);
            let index = a.value(Op::BitwiseXor, uint, &[item, constant]);
            a.load(index)
        })
        .collect();
    let [before, head, body, done, count, next] = [a.id(), a.id(), a.id(), a.id(), a.id(), a.id()];
    a.act(Op::Branch, &[before]);
    a.label(before);
    a.act(Op::Branch, &[head]);
    a.label(head);
    put(&mut a.body, Op::Phi, &[uint, count, zero, before, next, body]);
    let more = a.compare(Op::ULessThan, count, item);
    a.act(Op::BranchConditional, &[more, body, done]);
    a.label(body);
    for value in &values {
        let pointer = a.element(*value);
        a.act(Op::Store, &[pointer, count]);
    }
    put(&mut a.body, Op::IAdd, &[uint, next, count, one]);
    a.act(Op::Branch, &[head]);
    a.label(done);
    let sum = values.into_iter().reduce(|x, y| a.add(x, y)).expect("some");
    a.finish(sum)
}

/// Copies of copies.
pub(super) fn copies(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, mut value) = (a.uint(), a.item);
    for _ in 0..n {
        value = a.value(Op::CopyObject, uint, &[value]);
    }
    a.finish(value)
}

pub(super) fn divisions(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item, mut value) = (a.uint(), a.item, a.n);
    for at in 0..n {
        let constant = a.constant(at % 77);
        let divisor = a.add(item, constant);
        value = a.value(Op::UDiv, uint, &[value, divisor]);
    }
    a.finish(value)
}

/// A function of floating-point numbers, of itself.
pub(super) fn math_functions(n: u32, function: OpenclStd100Op, width: u32, vector: bool) -> Vec<u8> {
    let mut a = Assembler::new();
    if width == 64 {
        a.capabilities.push(Capability::Float64);
    }
    let (uint, item) = (a.uint(), a.item);
    let mut float = a.ty(Op::TypeFloat, &[width]);
    let scalar = float;
    let mut value = a.value(Op::ConvertUToF, float, &[item]);
    if vector {
        float = a.ty(Op::TypeVector, &[float, 16]);
        value = a.value(Op::CompositeConstruct, float, &[value; 16]);
    }
    // The set's id is the last of all, which is not known yet.
    let first = a.body.len();
    for _ in 0..n {
        value = a.value(Op::ExtInst, float, &[u32::MAX, function as u32, value]);
    }
    let end = a.body.len();
    if vector {
        value = a.value(Op::CompositeExtract, scalar, &[value, 7]);
    }
    let bits = a.value(Op::ConvertFToU, uint, &[value]);
    a.end(bits);
    let set = a.next;
    a.body[first..end].iter_mut().filter(|word| **word == u32::MAX).for_each(|word| *word = set);
    a.bytes()
}

/// Integers of 128 bits.
pub(super) fn wide_integers(n: u32, op: Op) -> Vec<u8> {
    let mut a = Assembler::new();
    a.capabilities.push(Capability::ArbitraryPrecisionIntegersINTEL);
    a.extensions.push("SPV_INTEL_arbitrary_precision_integers");
    let (uint, item) = (a.uint(), a.item);
    let wide = a.ty(Op::TypeInt, &[128, 0]);
    let other = a.value(Op::UConvert, wide, &[item]);
    let mut value = other;
    for _ in 0..n {
        value = a.value(op, wide, &[value, other]);
    }
    let value = a.value(Op::UConvert, uint, &[value]);
    a.finish(value)
}

/// Selections, each of what the two before it were.
pub(super) fn selections(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item) = (a.uint(), a.item);
    let (mut x, mut y) = (item, a.n);
    for at in 0..n {
        let constant = a.constant(at % 1000);
        let condition = a.compare(Op::ULessThan, x, constant);
        let next = a.value(Op::Select, uint, &[condition, x, y]);
        (x, y) = (y, next);
    }
    a.finish(y)
}

/// Arithmetic of what is the same in all lanes.
pub(super) fn uniform_arithmetic(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, n_argument, mut value) = (a.uint(), a.n, a.n);
    for at in 0..n {
        let op = [Op::IMul, Op::IAdd, Op::BitwiseXor, Op::ISub][at as usize % 4];
        value = a.value(op, uint, &[n_argument, value]);
    }
    a.finish(value)
}

/// Elements of vectors at indices that only the running kernel knows.
pub(super) fn dynamic_elements(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, mut value) = (a.uint(), a.item);
    let vector = a.ty(Op::TypeVector, &[uint, 16]);
    let mut whole = a.value(Op::CompositeConstruct, vector, &[value; 16]);
    for _ in 0..n {
        whole = a.value(Op::VectorInsertDynamic, vector, &[whole, value, value]);
        value = a.value(Op::VectorExtractDynamic, uint, &[whole, value]);
    }
    a.finish(value)
}

/// Vectors of 16 in another order.
pub(super) fn vector_shuffles(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, value) = (a.uint(), a.item);
    let vector = a.ty(Op::TypeVector, &[uint, 16]);
    let mut whole = a.value(Op::CompositeConstruct, vector, &[value; 16]);
    for at in 0..n {
        let mut operands = vec![whole, whole];
        operands.extend((0..16).map(|i| (i * 5 + at) % 32));
        let other = a.value(Op::VectorShuffle, vector, &operands);
        whole = a.value(Op::IMul, vector, &[other, whole]);
    }
    let value = a.value(Op::CompositeExtract, uint, &[whole, 3]);
    a.finish(value)
}

/// Structures with 1,000 members in registers.
pub(super) fn structures_in_registers(n: u32) -> Vec<u8> {
    const MEMBERS: usize = 1000;
    let mut a = Assembler::new();
    let (uint, item, out) = (a.uint(), a.item, a.out);
    let ty = a.id();
    put(&mut a.declarations, Op::TypeStruct, &[&[ty], &[uint; MEMBERS][..]].concat());
    let pointer = a.pointer(StorageClass::CrossWorkgroup, ty);
    let source = a.value(Op::Bitcast, pointer, &[out]);
    for at in 0..n {
        let whole = a.value(Op::Load, ty, &[source]);
        let changed = a.value(Op::CompositeInsert, ty, &[item, whole, at % MEMBERS as u32]);
        a.act(Op::Store, &[source, changed]);
    }
    a.finish(item)
}

/// Conversions there and back, and other cheap instructions of floating-point numbers.
pub(super) fn conversions(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, ulong, mut value) = (a.uint(), a.ulong(), a.item);
    let float = a.ty(Op::TypeFloat, &[32]);
    for _ in 0..n {
        let x = a.value(Op::ConvertUToF, float, &[value]);
        let y = a.value(Op::FDiv, float, &[x, x]);
        let z = a.value(Op::ConvertFToU, ulong, &[y]);
        value = a.value(Op::UConvert, uint, &[z]);
    }
    a.finish(value)
}

/// Instructions without a use.
pub(super) fn unused_values(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item) = (a.uint(), a.item);
    for _ in 0..n {
        a.value(Op::IMul, uint, &[item, item]);
    }
    a.finish(item)
}
