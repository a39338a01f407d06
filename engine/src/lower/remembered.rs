//! Functions of numbers that are the same for all work-items of a launch, as far as anybody can see when it runs.
//!
//! `1 - pown(options->beta, step)` is a power for each sub-group, which takes as long as all the rest of what it does: `options` might be anything's,
//! so nobody can load from there before the first work-item does, nor leave it to LLVM. So the code remembers the last numbers and what the function
//! made of them, from one sub-group to the next: to compare them is a load or two.
//!
//! A body runs for one sub-group after the other, and keeps nothing. The memory is the entry point's (`lower::entry`), and LLVM makes registers of it. In a loop, and of
//! what is made of ids and arguments alone, nothing is remembered: the former is another number each time, the latter LLVM moves in front of all sub-groups.

use super::Lowerer;
use super::builder::{IntPred, Value};
use crate::analysis::Analysis;
use crate::analysis::leaves::Scalar;
use spirv_env::Id;
use spirv_env::opcodes::{Convergence, Memory};
use std::cell::Cell;
use std::rc::Rc;

/// Functions of a kernel.
const MOST: u64 = 8;
/// Instructions, one of the other's operands, that are looked at for what is loaded.
const MOST_LOOKED_AT: usize = 64;
/// Bytes of a number.
const NUMBER: u64 = 8;
/// Operands of a function, at most.
const OPERANDS: usize = 3;
/// A flag, operands and a result.
const ONE: u64 = (2 + OPERANDS as u64) * NUMBER;

/// The memory of an entry point's bodies.
pub(super) struct Remembered {
    base: Value,
    /// Bytes in use, by all bodies.
    bytes: Rc<Cell<u64>>,
}

impl Remembered {
    pub fn new(base: Value, bytes: Rc<Cell<u64>>) -> Remembered {
        Remembered { base, bytes }
    }

    /// Memory for one more function.
    fn take(&self) -> Option<u64> {
        let at = self.bytes.get();
        (at < MOST * ONE).then(|| {
            self.bytes.set(at + ONE);
            at
        })
    }
}

/// Whether any of these numbers comes from memory.
fn are_loaded(a: &Analysis<'_>, ids: &[Id]) -> bool {
    let mut work: Vec<Id> = ids.to_vec();
    for _ in 0..MOST_LOOKED_AT {
        let Some(id) = work.pop() else { return false };
        let Some(inst) = a.definition(id) else { continue };
        match inst.row().memory {
            Memory::Read { .. } if !a.builtins.contains_key(&inst.id(0)) && !inst.is_volatile() => {
                return true;
            }
            Memory::None if inst.row().convergence == Convergence::None => work.extend(inst.ids()),
            _ => {}
        }
    }
    false
}

/// Whether what a function makes of these is worth being remembered.
pub(super) fn is_worth_it(this: &Lowerer<'_, '_>, operands: &[Id]) -> bool {
    this.storage.remembered.is_some()
        && this.w > 1
        && operands.len() <= OPERANDS
        && this.a.loops.of(this.current_block()).is_none()
        && are_loaded(this.a, operands)
}

/// What `make` makes of scalars, or made of the same ones the last time.
pub(super) fn of(
    this: &Lowerer<'_, '_>,
    result: Scalar,
    scalars: &[Value],
    make: impl FnOnce() -> Value,
) -> Value {
    let b = &this.b;
    let Some((memory, at)) = this.storage.remembered.as_ref().and_then(|of| Some((of.base, of.take()?)))
    else {
        return make();
    };
    let place = |number: usize| b.offset_const(memory, at + NUMBER * number as u64);
    let bits = |value: Value| {
        let scalar = b.scalar_of(value);
        b.reinterpret(value, Scalar::int(scalar.bits()).expect("a number of a function"))
    };
    let load = |scalar: Scalar, number| b.load(scalar, 1, place(number), NUMBER);
    let scalars: Vec<Value> = scalars.iter().map(|value| b.freeze(bits(*value))).collect();
    let is_there = b.icmp(IntPred::LLVMIntNE, load(Scalar::I64, 0), b.i64(0));
    let is_same = scalars.iter().enumerate().fold(is_there, |is_same, (number, value)| {
        let before = load(b.scalar_of(*value), 1 + number);
        b.and(is_same, b.icmp(IntPred::LLVMIntEQ, before, *value))
    });
    let last = 1 + scalars.len();
    let anew = || {
        let made = make();
        b.store(b.i64(1), place(0), NUMBER);
        for (number, value) in scalars.iter().enumerate() {
            b.store(*value, place(1 + number), NUMBER);
        }
        b.store(made, place(last), NUMBER);
        made
    };
    b.branch(is_same, || load(result, last), anew)
}
