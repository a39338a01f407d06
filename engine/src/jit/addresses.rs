//! Addresses of gathers and scatters, computed in the block that uses them.
//!
//! LLVM's code generator looks at one block at a time. Where it sees that addresses are one base and indices of 32 bits, the
//! instruction takes both as they are; addresses from another block are vectors of 64 bits to it, which take twice the registers
//! and twice the gathers. Passes put them there: what is loaded, tested and stored has its addresses in front of the test.

use super::blocks::{blocks, called_intrinsic, functions, instructions, opcode};
use super::context::IrModule;
use super::target::Target;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

/// Intrinsics that take a vector of addresses, the feature of CPUs that have such an instruction, and the operand.
const ACCESSES: [(&str, &str, u32); 2] =
    [("llvm.masked.gather", "avx2", 0), ("llvm.masked.scatter", "avx512f", 1)];

/// Has gathers and scatters compute their addresses from a scalar base where they are. What no one uses any more is left to the
/// code generator, which makes nothing of it.
pub fn sink(module: &IrModule, target: &Target) {
    let accesses: Vec<_> =
        ACCESSES.into_iter().filter(|(_, feature, _)| target.has_feature(feature)).map(identified).collect();
    let operand_of = |inst: LLVMValueRef| {
        // SAFETY: a function of the module.
        let intrinsic = unsafe { LLVMGetIntrinsicID(called_intrinsic(inst)?) };
        accesses.iter().find(|(id, _)| *id == intrinsic).map(|(_, operand)| *operand)
    };
    // SAFETY: everything is the module's, and alive; a copy is put in front of its one user, which what is copied dominates.
    unsafe {
        let builder = LLVMCreateBuilderInContext(module.context().raw());
        for inst in functions(module).into_iter().flat_map(blocks).flat_map(instructions) {
            if let Some(operand) = operand_of(inst) {
                sink_operand(builder, inst, operand);
            }
        }
        LLVMDisposeBuilder(builder);
    }
}

/// An intrinsic's number and the operand of its addresses.
fn identified((name, _, operand): (&str, &str, u32)) -> (u32, u32) {
    // SAFETY: a name with its length.
    (unsafe { LLVMLookupIntrinsicID(name.as_ptr().cast(), name.len()) }, operand)
}

/// Copies the addresses of an access from another block to it, with the widening of their indices.
unsafe fn sink_operand(builder: LLVMBuilderRef, access: LLVMValueRef, operand: u32) {
    // SAFETY: the caller's access is alive, and its operands with it.
    unsafe {
        let addresses = LLVMGetOperand(access, operand);
        if !is(addresses, &[LLVMOpcode::LLVMGetElementPtr]) || LLVMGetNumOperands(addresses) != 2 {
            return;
        }
        let has_scalar_base = LLVMTypeOf(LLVMGetOperand(addresses, 0)) != LLVMTypeOf(addresses);
        if has_scalar_base {
            let own = copy_in_front(builder, access, operand);
            if is(LLVMGetOperand(own, 1), &[LLVMOpcode::LLVMSExt, LLVMOpcode::LLVMZExt]) {
                copy_in_front(builder, own, 1);
            }
        }
    }
}

/// Whether a value is an instruction of one of these kinds.
unsafe fn is(value: LLVMValueRef, kinds: &[LLVMOpcode]) -> bool {
    // SAFETY: the caller's value is alive.
    unsafe { !LLVMIsAInstruction(value).is_null() && kinds.contains(&opcode(value)) }
}

/// Has an instruction use a copy of an operand in its own block, and returns what it uses.
unsafe fn copy_in_front(builder: LLVMBuilderRef, inst: LLVMValueRef, operand: u32) -> LLVMValueRef {
    // SAFETY: the caller's instruction is alive, and its operand is one.
    unsafe {
        let value = LLVMGetOperand(inst, operand);
        if LLVMGetInstructionParent(value) == LLVMGetInstructionParent(inst) {
            return value;
        }
        let copy = LLVMInstructionClone(value);
        LLVMPositionBuilderBefore(builder, inst);
        LLVMInsertIntoBuilder(builder, copy);
        LLVMSetOperand(inst, operand, copy);
        copy
    }
}
