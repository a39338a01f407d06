//! Functions and calls of them.

use super::assembler::{Assembler, put};
use spirv::{Capability, Op, StorageClass};

/// Functions of few instructions that the kernel calls one after the other.
pub(super) fn tiny_functions(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, mut value) = (a.uint(), a.item);
    for at in 0..n {
        let constant = a.constant(at % 999);
        let (function, parameters) = a.function(uint, &[uint]);
        let product = a.inside(Op::IMul, uint, &[parameters[0], constant]);
        let sum = a.inside(Op::IAdd, uint, &[product, parameters[0]]);
        a.give(sum);
        value = a.value(Op::FunctionCall, uint, &[function, value]);
    }
    a.finish(value)
}

/// Functions that each call the one before.
pub(super) fn chain_of_functions(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item, mut before) = (a.uint(), a.item, None);
    for at in 0..n {
        let constant = a.constant(at % 999);
        let (function, parameters) = a.function(uint, &[uint]);
        let value = a.inside(Op::IMul, uint, &[parameters[0], constant]);
        let value = match before {
            Some(before) => a.inside(Op::FunctionCall, uint, &[before, value]),
            None => value,
        };
        a.give(value);
        before = Some(function);
    }
    let value = before.map_or(item, |function| a.value(Op::FunctionCall, uint, &[function, item]));
    a.finish(value)
}

/// Calls of one function, which has `size` instructions.
pub(super) fn calls(n: u32, size: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, mut value) = (a.uint(), a.item);
    let (function, parameters) = a.function(uint, &[uint]);
    let product = (0..size).fold(parameters[0], |x, _| a.inside(Op::IMul, uint, &[x, parameters[0]]));
    a.give(product);
    for _ in 0..n {
        value = a.value(Op::FunctionCall, uint, &[function, value]);
    }
    a.finish(value)
}

/// Functions with loops and arrays of their own, which stay functions.
pub(super) fn large_functions(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item, mut value) = (a.uint(), a.item, a.item);
    let (array, element) = (a.array(uint, 64), a.pointer(StorageClass::Function, uint));
    let (of_array, mask) = (a.pointer(StorageClass::Function, array), a.constant(63));
    for _ in 0..n {
        let (function, parameters) = a.function(uint, &[uint, uint]);
        let object = a.id();
        put(&mut a.functions, Op::Variable, &[of_array, object, StorageClass::Function as u32]);
        let mut x = parameters[0];
        for _ in 0..20 {
            let index = a.inside(Op::BitwiseAnd, uint, &[x, mask]);
            let place = a.inside(Op::InBoundsAccessChain, element, &[object, index]);
            put(&mut a.functions, Op::Store, &[place, x]);
            x = a.inside(Op::IMul, uint, &[x, parameters[1]]);
        }
        a.give(x);
        for _ in 0..3 {
            value = a.value(Op::FunctionCall, uint, &[function, value, item]);
        }
    }
    a.finish(value)
}

/// Functions that nobody calls.
pub(super) fn unused_functions(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, item) = (a.uint(), a.item);
    for _ in 0..n {
        let (_, parameters) = a.function(uint, &[uint]);
        let product = a.inside(Op::IMul, uint, &[parameters[0], parameters[0]]);
        a.give(product);
    }
    a.finish(item)
}

/// Calls with as many arguments as there may be.
pub(super) fn many_arguments(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let (uint, mut value, item) = (a.uint(), a.item, a.item);
    let types = vec![uint; 200];
    let (function, parameters) = a.function(uint, &types);
    let sum = parameters.iter().fold(parameters[0], |x, y| a.inside(Op::IMul, uint, &[x, *y]));
    a.give(sum);
    for _ in 0..n {
        let mut operands = vec![function, value];
        operands.resize(201, item);
        value = a.value(Op::FunctionCall, uint, &operands);
    }
    a.finish(value)
}

/// `functions` that have an address, and calls through pointers.
pub(super) fn indirect_calls(calls: u32, functions: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    a.capabilities.push(Capability::FunctionPointersINTEL);
    a.extensions.push("SPV_INTEL_function_pointers");
    let (uint, mut value) = (a.uint(), a.item);
    let unary = a.ty(Op::TypeFunction, &[uint, uint]);
    let pointer = a.pointer(StorageClass::CodeSectionINTEL, unary);
    let (bool, limit) = (a.bool(), a.constant(3));
    let mut all = Vec::new();
    for at in 0..functions {
        let constant = a.constant(at % 999);
        let (function, parameters) = a.function(uint, &[uint]);
        let product = a.inside(Op::IMul, uint, &[parameters[0], constant]);
        a.give(product);
        let address = a.id();
        put(&mut a.declarations, Op::ConstantFunctionPointerINTEL, &[pointer, address, function]);
        all.push(address);
    }
    for at in 0..calls as usize {
        let condition = a.value(Op::ULessThan, bool, &[value, limit]);
        let (x, y) = (all[at % all.len()], all[at * 7 % all.len()]);
        let function = a.value(Op::Select, pointer, &[condition, x, y]);
        value = a.value(Op::FunctionPointerCallINTEL, uint, &[function, value]);
    }
    a.finish(value)
}

/// A kernel with as many arguments as the device takes, and kernels of the same function.
pub(super) fn entry_points(n: u32) -> Vec<u8> {
    let mut a = Assembler::new();
    let function = a.entries[2];
    for at in 1..n {
        let name = super::assembler::text(&format!("k{at}"));
        put(&mut a.entries, Op::EntryPoint, &[&[6, function], &name[..], &[a.builtin]].concat());
    }
    let item = a.item;
    a.finish(item)
}
