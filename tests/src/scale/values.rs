//! Instructions in a row, and values that live long.

use super::assembler::{Assembler, put};
use spirv::{Op, StorageClass};

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

/// `sin` of `sin`.
pub(super) fn math_functions(n: u32) -> Vec<u8> {
    const SIN: u32 = 57;
    let mut a = Assembler::new();
    let (uint, item) = (a.uint(), a.item);
    let float = a.ty(Op::TypeFloat, &[32]);
    let mut value = a.value(Op::ConvertUToF, float, &[item]);
    // The set's id is the last of all, which is not known yet.
    let first = a.body.len();
    for _ in 0..n {
        value = a.value(Op::ExtInst, float, &[u32::MAX, SIN, value]);
    }
    let end = a.body.len();
    let bits = a.value(Op::Bitcast, uint, &[value]);
    a.end(bits);
    let set = a.next;
    a.body[first..end].iter_mut().filter(|word| **word == u32::MAX).for_each(|word| *word = set);
    a.bytes()
}
