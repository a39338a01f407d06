//! Contraction: products and sums that become fused multiply-adds.
//!
//! LLVM's code generator fuses what it finds next to each other in a block, which depends on the passes before. Here it is
//! done once, early, and in the same way in both tiers, so that their results are the same to the last bit. Lowering says
//! which instructions may be fused; of the products only those with one use.

use super::blocks::{blocks, functions, instructions, opcode};
use super::context::IrModule;
use super::target::Target;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMFastMathAllowContract, LLVMOpcode, LLVMTypeKind};

const FMA: &str = "llvm.fma";

/// Fuses the sums of a module with their products, where the CPU does both at once. Nothing is fused after this.
pub fn contract(module: &IrModule, target: &Target) {
    if !target.has_feature("fma") {
        return;
    }
    // SAFETY: everything is the module's, and alive until it is erased below, when nothing uses it.
    unsafe {
        let builder = LLVMCreateBuilderInContext(module.context().raw());
        for function in functions(module) {
            let all: Vec<_> = blocks(function).into_iter().flat_map(instructions).collect();
            let is = |kind: LLVMOpcode| all.iter().copied().filter(move |inst| opcode(*inst) == kind);
            let products: Vec<_> = is(LLVMOpcode::LLVMFMul).filter(|inst| may_contract(*inst)).collect();
            let sums: Vec<_> = is(LLVMOpcode::LLVMFAdd)
                .chain(is(LLVMOpcode::LLVMFSub))
                .filter(|inst| is_sum(*inst))
                .collect();
            for sum in sums {
                fuse(module, builder, sum);
            }
            for product in products {
                match LLVMGetFirstUse(product).is_null() {
                    true => LLVMInstructionEraseFromParent(product),
                    false => forbid(builder, product),
                }
            }
        }
        LLVMDisposeBuilder(builder);
    }
}

/// Has a product stay one, whatever comes to lie beside it: passes move selections out of the way, and the code generator would fuse it then. LLVM adds
/// flags to those that an instruction has and takes none away, so another one takes its place.
unsafe fn forbid(builder: LLVMBuilderRef, product: LLVMValueRef) {
    // SAFETY: the product is alive, and its users are given the other one before it is erased.
    unsafe {
        LLVMPositionBuilderBefore(builder, product);
        let [a, b] = [0, 1].map(|at| LLVMGetOperand(product, at));
        let other = LLVMBuildFMul(builder, a, b, c"".as_ptr());
        if !LLVMIsAInstruction(other).is_null() {
            LLVMSetFastMathFlags(other, LLVMGetFastMathFlags(product) & !LLVMFastMathAllowContract);
        }
        LLVMReplaceAllUsesWith(product, other);
        LLVMInstructionEraseFromParent(product);
    }
}

/// Whether the instruction may be fused with another.
unsafe fn may_contract(inst: LLVMValueRef) -> bool {
    // SAFETY: the caller's instruction is alive.
    unsafe {
        LLVMCanValueUseFastMathFlags(inst) != 0 && LLVMGetFastMathFlags(inst) & LLVMFastMathAllowContract != 0
    }
}

/// Sums and differences that may be fused, of the types that CPUs have fused instructions for.
fn is_sum(inst: LLVMValueRef) -> bool {
    // SAFETY: the instruction is alive.
    unsafe {
        let is_sum = matches!(opcode(inst), LLVMOpcode::LLVMFAdd | LLVMOpcode::LLVMFSub);
        let kind = |ty| match LLVMGetTypeKind(ty) {
            LLVMTypeKind::LLVMVectorTypeKind => LLVMGetTypeKind(LLVMGetElementType(ty)),
            kind => kind,
        };
        let is_fused =
            |ty| matches!(kind(ty), LLVMTypeKind::LLVMFloatTypeKind | LLVMTypeKind::LLVMDoubleTypeKind);
        is_sum && may_contract(inst) && is_fused(LLVMTypeOf(inst))
    }
}

/// Replaces a sum that has a product among its operands.
unsafe fn fuse(module: &IrModule, builder: LLVMBuilderRef, sum: LLVMValueRef) {
    // SAFETY: the sum and its operands are the module's, and alive.
    unsafe {
        let operands = [LLVMGetOperand(sum, 0), LLVMGetOperand(sum, 1)];
        let is_product = |value: LLVMValueRef| {
            !LLVMIsAInstruction(value).is_null()
                && opcode(value) == LLVMOpcode::LLVMFMul
                && may_contract(value)
        };
        let Some(at) = operands.iter().position(|operand| is_product(*operand)) else { return };
        let (product, mut other) = (operands[at], operands[1 - at]);
        let (mut a, b) = (LLVMGetOperand(product, 0), LLVMGetOperand(product, 1));
        LLVMPositionBuilderBefore(builder, sum);
        if opcode(sum) == LLVMOpcode::LLVMFSub {
            let negative = if at == 0 { &mut other } else { &mut a };
            *negative = LLVMBuildFNeg(builder, *negative, c"".as_ptr());
        }
        let mut ty = LLVMTypeOf(sum);
        let id = LLVMLookupIntrinsicID(FMA.as_ptr().cast(), FMA.len());
        let function = LLVMGetIntrinsicDeclaration(module.raw(), id, &mut ty, 1);
        let of_type = LLVMIntrinsicGetType(module.context().raw(), id, &mut ty, 1);
        let mut arguments = [a, b, other];
        let fused = LLVMBuildCall2(builder, of_type, function, arguments.as_mut_ptr(), 3, c"".as_ptr());
        LLVMReplaceAllUsesWith(sum, fused);
        LLVMInstructionEraseFromParent(sum);
    }
}
