//! Sums over the iterations of two loops, of which the inner one has become vectors.
//!
//! LLVM's vectoriser begins an inner loop with a vector of the sum so far and zeros, and adds up its lanes when it is over. In the next iteration of the outer
//! loop that waits for it: five shuffles and sums one after the other, where an iteration may be three instructions. Who puts the number into a
//! vector and takes it out again can as well keep the vector: its lanes are added up when the outer loop is over. So it is with disjunctions, the least and the
//! greatest; integers are the same in any order.

use super::blocks::{blocks, called_intrinsic, functions, instructions, intrinsic_number, opcode, users};
use super::context::IrModule;
use super::pieces::{splat, splatted};
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use rustc_hash::FxHashSet;

const NAME: *const std::ffi::c_char = c"".as_ptr();
/// Values between the beginning of a sum and its end, at most.
const MOST_VALUES: usize = 64;

/// How numbers are put together.
#[derive(Clone, Copy)]
enum Joins {
    By(LLVMOpcode),
    /// The intrinsic of this number.
    Function(u32),
}

/// The intrinsic that puts lanes together, and how two vectors are.
struct Reduction {
    reduces: u32,
    joins: Joins,
}

/// Keeps vectors of sums from one iteration of an outer loop to the next.
pub fn keep(module: &IrModule) {
    let of = |of: &str| intrinsic_number(&format!("llvm.vector.reduce.{of}"));
    let operation =
        |name: &str, opcode: LLVMOpcode| Reduction { reduces: of(name), joins: Joins::By(opcode) };
    let function = |name: &str| Reduction {
        reduces: of(name),
        joins: Joins::Function(intrinsic_number(&format!("llvm.{name}"))),
    };
    let reductions = [
        operation("add", LLVMOpcode::LLVMAdd),
        operation("or", LLVMOpcode::LLVMOr),
        operation("xor", LLVMOpcode::LLVMXor),
        function("smin"),
        function("smax"),
        function("umin"),
        function("umax"),
    ];
    // SAFETY: everything is the module's, and alive until nothing uses it.
    unsafe {
        let builder = LLVMCreateBuilderInContext(module.context().raw());
        for function in functions(module) {
            let is_phi = |inst: &LLVMValueRef| opcode(*inst) == LLVMOpcode::LLVMPHI;
            let phis: Vec<_> = blocks(function).into_iter().flat_map(instructions).filter(is_phi).collect();
            for phi in phis {
                if let Some(sum) = Sum::of(phi, &reductions) {
                    sum.keep(builder, module.context().raw());
                }
            }
        }
        LLVMDisposeBuilder(builder);
    }
}

/// A number that an outer loop carries, and the vector that an inner one makes of it.
struct Sum {
    /// The number, and what it begins with, from which block.
    phi: LLVMValueRef,
    first: LLVMValueRef,
    before: LLVMBasicBlockRef,
    /// The block that the next number comes from.
    latch: LLVMBasicBlockRef,
    /// The vector of the number and of what changes nothing.
    start: Start,
    /// What is made of that.
    joined: Vec<LLVMValueRef>,
    /// The vector whose lanes are the next number together.
    end: LLVMValueRef,
}

enum Start {
    /// The number in the first lane of this constant.
    Lane { vector: LLVMValueRef, constant: LLVMValueRef },
    /// The number in all lanes.
    All { vector: LLVMValueRef },
}

impl Start {
    fn vector(&self) -> LLVMValueRef {
        match self {
            Start::Lane { vector, .. } | Start::All { vector } => *vector,
        }
    }
}

impl Sum {
    unsafe fn of(phi: LLVMValueRef, reductions: &[Reduction]) -> Option<Sum> {
        // SAFETY: the caller's phi is alive, and what is made of it with it.
        unsafe {
            if LLVMCountIncoming(phi) != 2 {
                return None;
            }
            let [user] = *users(phi) else { return None };
            let incoming = [0, 1].map(|at| (LLVMGetIncomingValue(phi, at), LLVMGetIncomingBlock(phi, at)));
            incoming.iter().enumerate().find_map(|(at, (next, latch))| {
                let (first, before) = incoming[1 - at];
                let reduction = reductions.iter().find(|reduction| {
                    !LLVMIsAInstruction(*next).is_null()
                        && called_intrinsic(*next)
                            .is_some_and(|callee| LLVMGetIntrinsicID(callee) == reduction.reduces)
                })?;
                let end = LLVMGetOperand(*next, 0);
                let start = start(user, phi, reduction.joins)?;
                let joined = joined(start.vector(), *next, reduction.joins)?;
                Some(Sum { phi, first, before, latch: *latch, start, joined, end })
            })
        }
    }

    /// Carries the vector in the place of the number.
    unsafe fn keep(self, builder: LLVMBuilderRef, context: LLVMContextRef) {
        // SAFETY: what is made stands where what it is made of is known, and takes the place of what is erased.
        unsafe {
            let number = LLVMInt64TypeInContext(context);
            let lane = LLVMConstInt(number, 0, 0);
            let ty = LLVMTypeOf(self.end);
            LLVMPositionBuilderBefore(builder, LLVMGetBasicBlockTerminator(self.before));
            let first = match self.start {
                Start::Lane { constant, .. } => {
                    LLVMBuildInsertElement(builder, constant, self.first, lane, NAME)
                }
                Start::All { .. } => splat(builder, self.first, ty),
            };
            LLVMPositionBuilderBefore(builder, self.phi);
            let vector = LLVMBuildPhi(builder, ty, NAME);
            LLVMAddIncoming(
                vector,
                [first, self.end].as_mut_ptr(),
                [self.before, self.latch].as_mut_ptr(),
                2,
            );
            // What was known of the parts of one iteration is not known of parts of all.
            for inst in self.joined {
                match opcode(inst) {
                    LLVMOpcode::LLVMAdd => {
                        LLVMSetNUW(inst, 0);
                        LLVMSetNSW(inst, 0);
                    }
                    LLVMOpcode::LLVMOr => LLVMSetIsDisjoint(inst, 0),
                    _ => {}
                }
            }
            // What the vector was made of goes with it, and the phi that it was made of.
            let start = self.start.vector();
            let inserted = LLVMGetOperand(start, 0);
            LLVMReplaceAllUsesWith(start, vector);
            LLVMInstructionEraseFromParent(start);
            if matches!(self.start, Start::All { .. }) {
                LLVMInstructionEraseFromParent(inserted);
            }
            LLVMInstructionEraseFromParent(self.phi);
        }
    }
}

/// The vector that a user of a number puts it into, beside what changes nothing that is joined so.
unsafe fn start(user: LLVMValueRef, number: LLVMValueRef, joins: Joins) -> Option<Start> {
    // SAFETY: the caller's values are alive, and what is made of them with them.
    unsafe {
        if LLVMIsAInsertElementInst(user).is_null() || LLVMGetOperand(user, 1) != number {
            return None;
        }
        let (constant, place) = (LLVMGetOperand(user, 0), LLVMGetOperand(user, 2));
        if LLVMIsAConstantInt(place).is_null() || LLVMConstIntGetZExtValue(place) != 0 {
            return None;
        }
        if matches!(joins, Joins::Function(_)) {
            let [vector] = *users(user) else { return None };
            let is_splat = splatted(vector) == Some(number) && LLVMTypeOf(vector) == LLVMTypeOf(user);
            return is_splat.then_some(Start::All { vector });
        }
        let is_zero = |lane: u32| {
            let of = LLVMGetAggregateElement(constant, lane);
            !of.is_null() && !LLVMIsAConstantInt(of).is_null() && LLVMConstIntGetZExtValue(of) == 0
        };
        let lanes = LLVMGetVectorSize(LLVMTypeOf(constant));
        let changes_nothing = LLVMIsConstant(constant) != 0 && (1..lanes).all(is_zero);
        changes_nothing.then_some(Start::Lane { vector: user, constant })
    }
}

/// What is made of a vector, if that is joined with something else, again and again, until its lanes are put together to this number, and nothing sees it
/// on the way.
unsafe fn joined(start: LLVMValueRef, end: LLVMValueRef, joins: Joins) -> Option<Vec<LLVMValueRef>> {
    // SAFETY: the caller's values are alive, and what is made of them with them.
    unsafe {
        let mut joined = FxHashSet::from_iter([start]);
        let (mut open, mut ends) = (vec![start], false);
        while let Some(value) = open.pop() {
            for user in users(value) {
                if user == end {
                    ends = true;
                } else if joined.len() > MOST_VALUES {
                    return None;
                } else if joined.insert(user) {
                    open.push(user);
                }
            }
        }
        let is_joined = |value: LLVMValueRef| joined.contains(&value);
        let is_part = |value: LLVMValueRef| match opcode(value) {
            LLVMOpcode::LLVMPHI => {
                (0..LLVMCountIncoming(value)).all(|at| is_joined(LLVMGetIncomingValue(value, at)))
            }
            found => {
                let is_such = match joins {
                    Joins::By(wanted) => found == wanted,
                    Joins::Function(wanted) => {
                        called_intrinsic(value).is_some_and(|callee| LLVMGetIntrinsicID(callee) == wanted)
                    }
                };
                is_such && is_joined(LLVMGetOperand(value, 0)) != is_joined(LLVMGetOperand(value, 1))
            }
        };
        let parts: Vec<_> = joined.iter().copied().filter(|value| *value != start).collect();
        (ends && parts.iter().all(|value| is_part(*value))).then_some(parts)
    }
}

#[cfg(test)]
mod tests;
