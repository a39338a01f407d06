//! Addresses of lanes that are only taken out of their vectors, computed as scalars.
//!
//! Objects that lie apart are accessed lane by lane (`lower/apart.rs`), each at an element of a vector of addresses. Where several of a
//! lane's objects are the same distance away for all lanes, as the sixteen tiles of a Winograd transform are, a vector for each of them
//! would be computed and taken apart, at an instruction or two a lane. What tells lanes apart is taken out once instead, and the rest is
//! added by the accesses' own addressing.

use super::addresses::is_element;
use super::blocks::{blocks, functions, instructions, users};
use super::context::IrModule;
use llvm_sys::LLVMTypeKind;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::target::{LLVMABISizeOfType, LLVMGetModuleDataLayout, LLVMTargetDataRef};
use rustc_hash::FxHashMap;

const NAME: *const std::ffi::c_char = c"".as_ptr();

/// Computes addresses lane by lane where no vector of them is used.
pub fn by_lanes(module: &IrModule) {
    // SAFETY: everything is the module's, and alive; what is made is in front of what it replaces, which nothing uses then.
    unsafe {
        let builder = LLVMCreateBuilderInContext(module.context().raw());
        let layout = LLVMGetModuleDataLayout(module.raw());
        for function in functions(module) {
            let mut taken = FxHashMap::default();
            // What is made of a vector comes behind it: when its turn comes, only what takes lanes out of it is left.
            for inst in
                blocks(function).into_iter().rev().flat_map(|block| instructions(block).into_iter().rev())
            {
                if is_vector(inst) && is_element(inst) && is_added_by_accesses(inst, layout) {
                    compute_lanes(builder, inst, &mut taken);
                }
            }
        }
        LLVMDisposeBuilder(builder);
    }
}

unsafe fn is_vector(value: LLVMValueRef) -> bool {
    // SAFETY: the caller's value is alive.
    unsafe { LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMTypeKind::LLVMVectorTypeKind }
}

/// Whether the base or the index is the same for all lanes, and an access adds one to the other by itself.
unsafe fn is_added_by_accesses(addresses: LLVMValueRef, layout: LLVMTargetDataRef) -> bool {
    // SAFETY: the caller's value is an address and an index, and the layout its module's.
    unsafe {
        let [base, index] = [0, 1].map(|operand| is_vector(LLVMGetOperand(addresses, operand)));
        let bytes = LLVMABISizeOfType(layout, LLVMGetGEPSourceElementType(addresses));
        base != index && (!index || matches!(bytes, 1 | 2 | 4 | 8))
    }
}

/// The lane that an instruction takes out of a vector.
unsafe fn lane(inst: LLVMValueRef, vector: LLVMValueRef) -> Option<u64> {
    // SAFETY: the caller's instruction is alive.
    unsafe {
        let is_extract = !LLVMIsAExtractElementInst(inst).is_null() && LLVMGetOperand(inst, 0) == vector;
        let at =
            is_extract.then(|| LLVMIsAConstantInt(LLVMGetOperand(inst, 1))).filter(|at| !at.is_null())?;
        Some(LLVMConstIntGetZExtValue(at))
    }
}

/// Makes each lane's address of what is taken out of base and index.
unsafe fn compute_lanes(
    builder: LLVMBuilderRef,
    addresses: LLVMValueRef,
    taken: &mut FxHashMap<(LLVMValueRef, u64), LLVMValueRef>,
) {
    // SAFETY: the caller's instruction is alive; a lane of an operand is taken out where the operand is made, so for all that use it.
    unsafe {
        let users = users(addresses);
        let Some(lanes) = users.iter().map(|user| lane(*user, addresses)).collect::<Option<Vec<_>>>() else {
            return;
        };
        for (user, lane) in users.into_iter().zip(lanes) {
            let [base, mut index] = [0, 1].map(|operand| {
                let of = LLVMGetOperand(addresses, operand);
                match is_vector(of) {
                    true => {
                        *taken.entry((of, lane)).or_insert_with(|| take_out(builder, of, lane, addresses))
                    }
                    false => of,
                }
            });
            LLVMPositionBuilderBefore(builder, user);
            let element = LLVMGetGEPSourceElementType(addresses);
            let address = LLVMBuildGEP2(builder, element, base, &raw mut index, 1, NAME);
            LLVMSetIsInBounds(address, LLVMIsInBounds(addresses));
            LLVMReplaceAllUsesWith(user, address);
            LLVMInstructionEraseFromParent(user);
        }
        LLVMInstructionEraseFromParent(addresses);
        taken.retain(|(of, _), _| *of != addresses);
    }
}

/// A lane of a vector, behind what makes that; of what no instruction makes, in front of `user`'s function.
unsafe fn take_out(
    builder: LLVMBuilderRef,
    vector: LLVMValueRef,
    lane: u64,
    user: LLVMValueRef,
) -> LLVMValueRef {
    // SAFETY: the caller's values are alive.
    unsafe {
        let block = LLVMGetInstructionParent(user);
        let next = if LLVMIsAInstruction(vector).is_null() {
            LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(LLVMGetBasicBlockParent(block)))
        } else {
            let mut next = LLVMGetNextInstruction(vector);
            while !LLVMIsAPHINode(next).is_null() {
                next = LLVMGetNextInstruction(next);
            }
            next
        };
        LLVMPositionBuilderBefore(builder, next);
        let context = LLVMGetTypeContext(LLVMTypeOf(vector));
        let at = LLVMConstInt(LLVMInt64TypeInContext(context), lane, 0);
        LLVMBuildExtractElement(builder, vector, at, NAME)
    }
}
