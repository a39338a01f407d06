//! Addresses of gathers and scatters, computed in the block that uses them.
//!
//! LLVM's code generator looks at one block at a time. Where it sees that addresses are one base and indices of 32 bits, the
//! instruction takes both as they are; addresses from another block are vectors of 64 bits to it, which take twice the registers
//! and twice the gathers. Passes put them there: what is loaded, tested and stored has its addresses in front of the test, and what
//! lanes add to a scalar that each iteration of a loop changes is added to the loop's own scalar, in front of it.

use super::blocks::{blocks, called_intrinsic, functions, instructions, intrinsic_number, opcode};
use super::context::IrModule;
use super::target::Target;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMOpcode, LLVMTypeKind};

/// An intrinsic that takes a vector of addresses: the feature of CPUs that have such an instruction, and its operands. The alignment
/// is behind the addresses.
pub(super) struct Intrinsic {
    name: &'static str,
    pub feature: &'static str,
    pub addresses: u32,
    pub mask: u32,
    /// What is stored.
    pub value: Option<u32>,
}

const GATHER: Intrinsic =
    Intrinsic { name: "llvm.masked.gather", feature: "avx2", addresses: 0, mask: 2, value: None };
const SCATTER: Intrinsic =
    Intrinsic { name: "llvm.masked.scatter", feature: "avx512f", addresses: 1, mask: 3, value: Some(0) };

/// Both, each with the number that LLVM knows it by.
pub(super) fn intrinsics() -> [(u32, Intrinsic); 2] {
    [GATHER, SCATTER].map(|intrinsic| (intrinsic_number(intrinsic.name), intrinsic))
}

/// Which of some intrinsics an instruction calls.
pub(super) fn called_of(intrinsics: &[(u32, Intrinsic)], inst: LLVMValueRef) -> Option<&Intrinsic> {
    // SAFETY: a function of the module.
    let number = unsafe { LLVMGetIntrinsicID(called_intrinsic(inst)?) };
    intrinsics.iter().find(|(of, _)| *of == number).map(|(_, intrinsic)| intrinsic)
}

/// Has gathers and scatters compute their addresses from a scalar base where they are. What no one uses any more is left to the
/// code generator, which makes nothing of it.
pub fn sink(module: &IrModule, target: &Target) {
    let intrinsics = intrinsics();
    // SAFETY: everything is the module's, and alive; a copy is put in front of its one user, which what is copied dominates.
    unsafe {
        let builder = LLVMCreateBuilderInContext(module.context().raw());
        for inst in functions(module).into_iter().flat_map(blocks).flat_map(instructions) {
            if let Some(of) = called_of(&intrinsics, inst).filter(|of| target.has_feature(of.feature)) {
                sink_operand(builder, inst, of.addresses);
            }
        }
        LLVMDisposeBuilder(builder);
    }
}

/// Copies the addresses of an access from another block to it, with the widening of their indices.
unsafe fn sink_operand(builder: LLVMBuilderRef, access: LLVMValueRef, operand: u32) {
    // SAFETY: the caller's access is alive, and its operands with it.
    unsafe {
        let addresses = LLVMGetOperand(access, operand);
        if !is_element(addresses) {
            return;
        }
        if has_scalar_base(addresses) || lanes_come_first(builder, access, operand) {
            let own = copy_in_front(builder, access, operand);
            if is(LLVMGetOperand(own, 1), &[LLVMOpcode::LLVMSExt, LLVMOpcode::LLVMZExt]) {
                copy_in_front(builder, own, 1);
            }
        }
    }
}

/// Whether a value is an address and one index from there.
pub(super) unsafe fn is_element(value: LLVMValueRef) -> bool {
    // SAFETY: the caller's value is alive.
    unsafe { is(value, &[LLVMOpcode::LLVMGetElementPtr]) && LLVMGetNumOperands(value) == 2 }
}

/// Whether a value is addresses that are one base and an index each.
///
/// # Safety
/// The value is alive.
pub(super) unsafe fn has_scalar_base(addresses: LLVMValueRef) -> bool {
    // SAFETY: the caller's value is alive, and has a base if it is an element's address.
    unsafe { is_element(addresses) && LLVMTypeOf(LLVMGetOperand(addresses, 0)) != LLVMTypeOf(addresses) }
}

/// Where addresses are a scalar, what lanes add, and a scalar index from there: adds what lanes add last, in front of the access.
unsafe fn lanes_come_first(builder: LLVMBuilderRef, access: LLVMValueRef, operand: u32) -> bool {
    // SAFETY: the caller's access is alive, and its operands with it; what is made of them is behind all of them.
    unsafe {
        let addresses = LLVMGetOperand(access, operand);
        let (lanes, index) = (LLVMGetOperand(addresses, 0), LLVMGetOperand(addresses, 1));
        let is_scalar = LLVMGetTypeKind(LLVMTypeOf(index)) == LLVMTypeKind::LLVMIntegerTypeKind;
        if !is_scalar || !is_element(lanes) || !has_scalar_base(lanes) {
            return false;
        }
        LLVMPositionBuilderBefore(builder, access);
        let none = c"".as_ptr();
        let element = |of: LLVMValueRef, base: LLVMValueRef, mut index: LLVMValueRef| {
            LLVMBuildGEP2(builder, LLVMGetGEPSourceElementType(of), base, &raw mut index, 1, none)
        };
        let base = element(addresses, LLVMGetOperand(lanes, 0), index);
        LLVMSetOperand(access, operand, element(lanes, base, LLVMGetOperand(lanes, 1)));
        true
    }
}

/// Whether a value is an instruction of one of these kinds.
pub(super) unsafe fn is(value: LLVMValueRef, kinds: &[LLVMOpcode]) -> bool {
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
