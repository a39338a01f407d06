//! What LLVM's loop vectoriser has done.

use super::blocks::{blocks, functions, instructions};
use super::context::IrModule;
use llvm_sys::LLVMTypeKind;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

/// Of branches back to where loops begin.
const LOOP: &str = "llvm.loop";
/// What the vectoriser says of the loops that it has made.
const VECTORISED: &[u8] = b"llvm.loop.isvectorized";

/// Whether there is a loop whose vectors were made of iterations. The vectoriser says the same of a loop in which it put several
/// iterations side by side without vectors.
pub fn of_iterations(module: &IrModule) -> bool {
    // SAFETY: everything is the module's, and alive.
    unsafe {
        let kind = LLVMGetMDKindIDInContext(module.context().raw(), LOOP.as_ptr().cast(), LOOP.len() as u32);
        let ends_loop = |block: &LLVMBasicBlockRef| {
            let end = LLVMGetBasicBlockTerminator(*block);
            let node = if end.is_null() { end } else { LLVMGetMetadata(end, kind) };
            !node.is_null() && operands(node).into_iter().any(|of| is_note(of))
        };
        let all: Vec<LLVMBasicBlockRef> = functions(module).into_iter().flat_map(blocks).collect();
        all.iter().any(ends_loop) && all.into_iter().flat_map(instructions).any(|inst| has_vector(inst))
    }
}

/// Whether an instruction makes a vector or takes one.
unsafe fn has_vector(inst: LLVMValueRef) -> bool {
    // SAFETY: the caller's instruction is alive, and so are its operands.
    unsafe {
        let is_vector = |value| LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMTypeKind::LLVMVectorTypeKind;
        let count = LLVMGetNumOperands(inst) as u32;
        is_vector(inst) || (0..count).any(|at| is_vector(LLVMGetOperand(inst, at)))
    }
}

/// Whether metadata is a node that begins with the vectoriser's word.
unsafe fn is_note(of: LLVMValueRef) -> bool {
    // SAFETY: the caller's metadata is alive, and so is what it consists of.
    unsafe {
        let Some(word) = operands(of).first().copied().filter(|word| !word.is_null()) else { return false };
        let mut length = 0;
        let text = LLVMGetMDString(word, &raw mut length);
        !text.is_null() && std::slice::from_raw_parts(text.cast::<u8>(), length as usize) == VECTORISED
    }
}

/// What a metadata node consists of; nothing for other metadata.
unsafe fn operands(node: LLVMValueRef) -> Vec<LLVMValueRef> {
    // SAFETY: the caller's metadata is alive; there is room for all operands.
    unsafe {
        if node.is_null() || LLVMIsAMDNode(node).is_null() {
            return Vec::new();
        }
        let mut all = vec![std::ptr::null_mut(); LLVMGetMDNodeNumOperands(node) as usize];
        LLVMGetMDNodeOperands(node, all.as_mut_ptr());
        all
    }
}
