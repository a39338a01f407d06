//! Which lanes of which other value each value of a loop consists of, through shuffles, permutations and insertions of lanes.
//!
//! Of a value that waits in memory, lanes are loaded where they are wanted, and one lane is loaded into all lanes of a register at no
//! more cost than a register of them. So what only moves lanes need not be computed before: it is a way to load.

use super::super::blocks::{calls, opcode};
use super::{Body, bits_of};
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMOpcode, LLVMTypeKind};
use std::rc::Rc;

/// Permutations by indices, which are taken modulo the number of lanes: the values, the indices.
const PERMUTATIONS: [&str; 6] = [
    "llvm.x86.avx2.permd",
    "llvm.x86.avx2.permps",
    "llvm.x86.avx512.permvar.si.512",
    "llvm.x86.avx512.permvar.sf.512",
    "llvm.x86.avx512.permvar.df.256",
    "llvm.x86.avx512.permvar.df.512",
];

/// Lanes of one instruction's value, those that matter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Origin {
    pub of: usize,
    pub lanes: Vec<Option<u32>>,
}

impl Origin {
    /// All lanes of a value itself.
    pub fn whole(of: usize, lanes: u32) -> Origin {
        Origin { of, lanes: (0..lanes).map(Some).collect() }
    }
}

/// A vector's element and the number of its lanes; a number is its own only lane.
///
/// # Safety
/// The type is alive.
pub(super) unsafe fn shape(ty: LLVMTypeRef) -> (LLVMTypeRef, u32) {
    // SAFETY: the caller's promise.
    unsafe {
        match LLVMGetTypeKind(ty) {
            LLVMTypeKind::LLVMVectorTypeKind => (LLVMGetElementType(ty), LLVMGetVectorSize(ty)),
            _ => (ty, 1),
        }
    }
}

/// Bits of a number or a pointer as memory has it, if it is whole bytes there.
///
/// # Safety
/// The type is alive.
pub(super) unsafe fn memory_bits(ty: LLVMTypeRef) -> Option<u32> {
    // SAFETY: the caller's promise.
    let bits = unsafe { bits_of(ty) };
    matches!(bits, 8 | 16 | 32 | 64).then_some(bits)
}

/// The origins of a body's values, by number; none where a value has no lanes that memory has. One pass in the order of the instructions.
pub(super) fn origins(body: &Body) -> Vec<Option<Rc<Origin>>> {
    let mut known: Vec<Option<Rc<Origin>>> = Vec::new();
    for at in 0..body.insts.len() {
        // SAFETY: the body's instructions are alive.
        let origin = unsafe {
            let (element, lanes) = shape(LLVMTypeOf(body.insts[at]));
            memory_bits(element).map(|_| match moved(body, &known, at) {
                Some(origin) => Rc::new(origin),
                None => Rc::new(Origin::whole(at, lanes)),
            })
        };
        known.push(origin);
    }
    known
}

/// Where the lanes of an instruction's value come from, if it only moves lanes of one other. What has all lanes of it in order is made of
/// the same memory.
unsafe fn moved(body: &Body, known: &[Option<Rc<Origin>>], at: usize) -> Option<Origin> {
    let inst = body.insts[at];
    // SAFETY: the body's instructions are alive, and their operands with them.
    unsafe {
        let (element, lanes) = shape(LLVMTypeOf(inst));
        let operand = |number| LLVMGetOperand(inst, number);
        let from: Vec<(LLVMValueRef, u32)> = match opcode(inst) {
            LLVMOpcode::LLVMBitCast => {
                let (other, count) = shape(LLVMTypeOf(operand(0)));
                if count != lanes || memory_bits(other) != memory_bits(element) {
                    return None;
                }
                (0..lanes).map(|lane| (operand(0), lane)).collect()
            }
            LLVMOpcode::LLVMShuffleVector => {
                let (_, count) = shape(LLVMTypeOf(operand(0)));
                let lane = |lane: u32| match u32::try_from(LLVMGetMaskValue(inst, lane)) {
                    Ok(lane) if lane < count => (operand(0), lane),
                    Ok(lane) => (operand(1), lane - count),
                    Err(_) => (LLVMGetPoison(LLVMTypeOf(operand(0))), 0),
                };
                (0..lanes).map(lane).collect()
            }
            LLVMOpcode::LLVMExtractElement => vec![(operand(0), constant(operand(1))?)],
            LLVMOpcode::LLVMInsertElement => {
                let to = constant(operand(2))?;
                (0..lanes).map(|lane| if lane == to { (operand(1), 0) } else { (operand(0), lane) }).collect()
            }
            LLVMOpcode::LLVMCall if PERMUTATIONS.iter().any(|name| calls(inst, name)) => {
                let indices = operand(1);
                if LLVMIsConstant(indices) == 0 {
                    return None;
                }
                let index = |lane| constant(LLVMGetAggregateElement(indices, lane));
                let index = |lane| Some((operand(0), index(lane)? % lanes));
                (0..lanes).map(index).collect::<Option<_>>()?
            }
            _ => return None,
        };
        let mut of = None;
        let mut all = Vec::with_capacity(from.len());
        for (value, lane) in from {
            if LLVMIsUndef(value) != 0 || LLVMIsPoison(value) != 0 {
                all.push(None);
                continue;
            }
            let number = body.numbers.get(&value).copied()?;
            // A phi's next value is no part of this iteration.
            let origin = known.get(number)?.as_ref()?;
            let lane = *origin.lanes.get(lane as usize)?;
            if lane.is_some() && *of.get_or_insert(origin.of) != origin.of {
                return None;
            }
            all.push(lane);
        }
        Some(Origin { of: of?, lanes: all })
    }
}

/// A constant number.
unsafe fn constant(value: LLVMValueRef) -> Option<u32> {
    // SAFETY: the caller's value is alive, if there is any.
    unsafe {
        if value.is_null() || LLVMIsAConstantInt(value).is_null() {
            return None;
        }
        u32::try_from(LLVMConstIntGetZExtValue(value)).ok()
    }
}
