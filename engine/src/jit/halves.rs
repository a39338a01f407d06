//! Vectors of halves on CPUs that compute in floats.
//!
//! LLVM's passes shorten a comparison of two widened halves to one of halves, and rounding of one to rounding of halves. Without
//! instructions for them its code generator then takes vectors apart, lane by lane: 200 instructions instead of four. Here they are
//! widened again, behind all passes. Each result is exact, or rounded to the same half.

use super::blocks::{blocks, functions, instructions, opcode};
use super::context::IrModule;
use super::target::Target;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMOpcode, LLVMTypeKind};

const NAME: *const std::ffi::c_char = c"".as_ptr();

/// Functions of halves that are taken apart. A root of a float has more than twice the digits of a half, so that rounding
/// it once more is harmless; the others are exact.
const FUNCTIONS: [&str; 12] = [
    "llvm.ceil",
    "llvm.floor",
    "llvm.maximum",
    "llvm.maxnum",
    "llvm.minimum",
    "llvm.minnum",
    "llvm.nearbyint",
    "llvm.rint",
    "llvm.round",
    "llvm.roundeven",
    "llvm.sqrt",
    "llvm.trunc",
];

/// Has a module's vectors of halves compared and rounded as vectors of floats, unless the CPU has instructions for halves.
pub fn widen(module: &IrModule, target: &Target) {
    if target.has_feature("avx512fp16") {
        return;
    }
    // SAFETY: everything is the module's, and alive; what is made is in front of what it replaces.
    unsafe {
        let functions_of_halves =
            FUNCTIONS.map(|name| LLVMLookupIntrinsicID(name.as_ptr().cast(), name.len()));
        let context = module.context().raw();
        let widening = Widening { module, context, builder: LLVMCreateBuilderInContext(context) };
        for inst in functions(module).into_iter().flat_map(blocks).flat_map(instructions) {
            let new = match opcode(inst) {
                LLVMOpcode::LLVMFCmp if is_halves(LLVMTypeOf(LLVMGetOperand(inst, 0))) => {
                    widening.compare(inst)
                }
                LLVMOpcode::LLVMCall if is_halves(LLVMTypeOf(inst)) => {
                    let id = LLVMGetIntrinsicID(LLVMGetCalledValue(inst));
                    if id == 0 || !functions_of_halves.contains(&id) {
                        continue;
                    }
                    widening.call(inst, id)
                }
                _ => continue,
            };
            LLVMReplaceAllUsesWith(inst, new);
            LLVMInstructionEraseFromParent(inst);
        }
        LLVMDisposeBuilder(widening.builder);
    }
}

/// Whether it is the type of vectors of halves.
unsafe fn is_halves(ty: LLVMTypeRef) -> bool {
    // SAFETY: the type is alive.
    unsafe {
        LLVMGetTypeKind(ty) == LLVMTypeKind::LLVMVectorTypeKind
            && LLVMGetTypeKind(LLVMGetElementType(ty)) == LLVMTypeKind::LLVMHalfTypeKind
    }
}

struct Widening<'m> {
    module: &'m IrModule,
    context: LLVMContextRef,
    builder: LLVMBuilderRef,
}

impl Widening<'_> {
    /// The same comparison of floats.
    unsafe fn compare(&self, inst: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: a comparison that is alive.
        unsafe {
            LLVMPositionBuilderBefore(self.builder, inst);
            let [a, b] = [0, 1].map(|operand| self.widened(LLVMGetOperand(inst, operand)));
            LLVMBuildFCmp(self.builder, LLVMGetFCmpPredicate(inst), a, b, NAME)
        }
    }

    /// What the function of floats gives, rounded.
    unsafe fn call(&self, inst: LLVMValueRef, id: u32) -> LLVMValueRef {
        // SAFETY: a call that is alive, of a function that takes as many floats.
        unsafe {
            LLVMPositionBuilderBefore(self.builder, inst);
            let count = LLVMGetNumArgOperands(inst);
            let mut arguments: Vec<LLVMValueRef> =
                (0..count).map(|at| self.widened(LLVMGetOperand(inst, at))).collect();
            let mut wide = LLVMTypeOf(arguments[0]);
            let function = LLVMGetIntrinsicDeclaration(self.module.raw(), id, &raw mut wide, 1);
            let ty = LLVMGlobalGetValueType(function);
            let result = LLVMBuildCall2(self.builder, ty, function, arguments.as_mut_ptr(), count, NAME);
            LLVMBuildFPTrunc(self.builder, result, LLVMTypeOf(inst), NAME)
        }
    }

    unsafe fn widened(&self, halves: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: a vector of halves that is alive.
        unsafe {
            let lanes = LLVMGetVectorSize(LLVMTypeOf(halves));
            let floats = LLVMVectorType(LLVMFloatTypeInContext(self.context), lanes);
            LLVMBuildFPExt(self.builder, halves, floats, NAME)
        }
    }
}
