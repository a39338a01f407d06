//! Numbers that a condition of all lanes leaves out, by a number instead of a mask.
//!
//! `if (rule >> k & 1) next |= term` is the same for all lanes and all iterations of a loop. LLVM makes a mask of it, and selects the term or zero under
//! that: registers of masks are eight, and what is selected under one is no part of the instruction that joins three operands by any logical operation
//! (`vpternlogd`). With all bits of a lane in the place of a mask it is a conjunction like others.

use super::blocks::{functions, in_order, instructions, opcode};
use super::context::IrModule;
use super::pieces::{splat, splatted};
use super::target::Target;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMOpcode, LLVMTypeKind};
use rustc_hash::FxHashMap;

const NAME: *const std::ffi::c_char = c"".as_ptr();

/// Has conditions that all lanes share, and that come from other blocks, leave out integers without masks, on processors that have registers for
/// masks. (Others have none of that kind, see `wide_masks`.)
pub fn conjoin(module: &IrModule, target: &Target) {
    if !target.has_avx512() {
        return;
    }
    // SAFETY: everything is the module's, and alive; what is made of a condition stands behind it, and the rest in front of what it takes the place of.
    unsafe {
        let builder = LLVMCreateBuilderInContext(module.context().raw());
        for function in functions(module) {
            let mut made = FxHashMap::default();
            let all: Vec<_> = in_order(function).into_iter().flat_map(instructions).collect();
            let choices = all.into_iter().filter(|inst| opcode(*inst) == LLVMOpcode::LLVMSelect);
            for choice in choices.filter_map(|inst| Choice::of(inst)) {
                choice.replace(builder, &mut made);
            }
        }
        LLVMDisposeBuilder(builder);
    }
}

/// Masks of numbers: by condition, type, and whether all bits are set where the condition holds.
type Made = FxHashMap<(LLVMValueRef, LLVMTypeRef, bool), LLVMValueRef>;

/// A selection between a number and zero, or all ones, by what lanes share.
struct Choice {
    inst: LLVMValueRef,
    /// The vector of it that another block has made.
    condition: LLVMValueRef,
    number: LLVMValueRef,
    /// The number is taken where the condition holds.
    where_it_holds: bool,
    /// The other one is all ones.
    or_ones: bool,
}

impl Choice {
    unsafe fn of(inst: LLVMValueRef) -> Option<Choice> {
        // SAFETY: the caller's instruction is alive, and its operands with it.
        unsafe {
            let ty = LLVMTypeOf(inst);
            let is_vector = LLVMGetTypeKind(ty) == LLVMTypeKind::LLVMVectorTypeKind;
            let has_numbers = is_vector
                && LLVMGetTypeKind(LLVMGetElementType(ty)) == LLVMTypeKind::LLVMIntegerTypeKind
                && LLVMGetIntTypeWidth(LLVMGetElementType(ty)) > 1;
            let [condition, then, otherwise] = [0, 1, 2].map(|at| LLVMGetOperand(inst, at));
            if !has_numbers
                || splatted(condition).is_none()
                || LLVMGetInstructionParent(condition) == LLVMGetInstructionParent(inst)
            {
                return None;
            }
            let ones = LLVMConstAllOnes(ty);
            let constant = |of: LLVMValueRef| (LLVMIsNull(of) != 0 || of == ones).then_some(of == ones);
            let (number, where_it_holds, or_ones) = match (constant(then), constant(otherwise)) {
                (None, Some(or_ones)) => (then, true, or_ones),
                (Some(or_ones), None) => (otherwise, false, or_ones),
                _ => return None,
            };
            Some(Choice { inst, condition, number, where_it_holds, or_ones })
        }
    }

    unsafe fn replace(&self, builder: LLVMBuilderRef, made: &mut Made) {
        // SAFETY: the caller's promise: the condition is an instruction that dominates the selection, and so does what is made right behind it.
        unsafe {
            let ty = LLVMTypeOf(self.inst);
            let set_where_it_holds = self.where_it_holds != self.or_ones;
            let mask = *made.entry((self.condition, ty, set_where_it_holds)).or_insert_with(|| {
                LLVMPositionBuilderBefore(builder, LLVMGetNextInstruction(self.condition));
                let shared = splatted(self.condition).expect("it was looked at");
                let bit = LLVMBuildFreeze(builder, shared, NAME);
                let set = if set_where_it_holds { bit } else { LLVMBuildNot(builder, bit, NAME) };
                let bits = LLVMBuildSExt(builder, set, LLVMGetElementType(ty), NAME);
                splat(builder, bits, ty)
            });
            LLVMPositionBuilderBefore(builder, self.inst);
            // What is left out may be nothing at all.
            let number = LLVMBuildFreeze(builder, self.number, NAME);
            let new = match self.or_ones {
                true => LLVMBuildOr(builder, number, mask, NAME),
                false => LLVMBuildAnd(builder, number, mask, NAME),
            };
            LLVMReplaceAllUsesWith(self.inst, new);
            LLVMInstructionEraseFromParent(self.inst);
        }
    }
}

#[cfg(test)]
mod tests;
