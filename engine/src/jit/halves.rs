//! Halves on CPUs that compute in floats.
//!
//! LLVM's passes shorten a comparison of two widened halves to one of halves, and rounding of one to rounding of halves. Without
//! instructions for them its code generator then takes vectors apart, lane by lane: 200 instructions instead of four. Here they are
//! widened again, behind all passes. Each result is exact, or rounded to the same half. What is exact goes on as a float: most of the time
//! of a chain of minima was conversions. The least of two single halves would be a call of the C library, before which everything else is saved.

use super::blocks::{blocks, functions, instructions, opcode};
use super::context::IrModule;
use super::target::Target;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMOpcode, LLVMTypeKind};
use rustc_hash::FxHashSet;

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

const SQRT: &str = "llvm.sqrt";

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
        let sqrt = LLVMLookupIntrinsicID(SQRT.as_ptr().cast(), SQRT.len());
        let mut widening = Widening {
            module,
            context,
            builder: LLVMCreateBuilderInContext(context),
            exact: FxHashSet::default(),
        };
        for inst in functions(module).into_iter().flat_map(blocks).flat_map(instructions) {
            let new = match opcode(inst) {
                LLVMOpcode::LLVMFCmp if is_halves(LLVMTypeOf(LLVMGetOperand(inst, 0))) => {
                    widening.compare(inst)
                }
                LLVMOpcode::LLVMFPExt => match widening.known(LLVMGetOperand(inst, 0)) {
                    Some(float) if LLVMTypeOf(float) == LLVMTypeOf(inst) => float,
                    _ => continue,
                },
                LLVMOpcode::LLVMCall if is_half(LLVMTypeOf(inst)) || is_halves(LLVMTypeOf(inst)) => {
                    let id = LLVMGetIntrinsicID(LLVMGetCalledValue(inst));
                    if id == 0 || !functions_of_halves.contains(&id) {
                        continue;
                    }
                    widening.call(inst, id, id != sqrt)
                }
                _ => continue,
            };
            LLVMReplaceAllUsesWith(inst, new);
            LLVMInstructionEraseFromParent(inst);
        }
        LLVMDisposeBuilder(widening.builder);
    }
}

unsafe fn is_half(ty: LLVMTypeRef) -> bool {
    // SAFETY: the type is alive.
    unsafe { LLVMGetTypeKind(ty) == LLVMTypeKind::LLVMHalfTypeKind }
}

/// Whether it is the type of vectors of halves.
unsafe fn is_halves(ty: LLVMTypeRef) -> bool {
    // SAFETY: the type is alive.
    unsafe { LLVMGetTypeKind(ty) == LLVMTypeKind::LLVMVectorTypeKind && is_half(LLVMGetElementType(ty)) }
}

struct Widening<'m> {
    module: &'m IrModule,
    context: LLVMContextRef,
    builder: LLVMBuilderRef,
    /// Halves made of floats that are no others.
    exact: FxHashSet<LLVMValueRef>,
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

    /// What the function of floats gives, rounded if it is not exact.
    unsafe fn call(&mut self, inst: LLVMValueRef, id: u32, is_exact: bool) -> LLVMValueRef {
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
            let halves = LLVMBuildFPTrunc(self.builder, result, LLVMTypeOf(inst), NAME);
            if is_exact && LLVMIsAFPTruncInst(halves) == halves {
                self.exact.insert(halves);
            }
            halves
        }
    }

    unsafe fn widened(&self, halves: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: a half or a vector of them that is alive.
        unsafe {
            if let Some(floats) = self.known(halves) {
                return floats;
            }
            let float = LLVMFloatTypeInContext(self.context);
            let ty = match is_half(LLVMTypeOf(halves)) {
                true => float,
                false => LLVMVectorType(float, LLVMGetVectorSize(LLVMTypeOf(halves))),
            };
            LLVMBuildFPExt(self.builder, halves, ty, NAME)
        }
    }

    /// The floats that halves were made of, if they are the same.
    unsafe fn known(&self, halves: LLVMValueRef) -> Option<LLVMValueRef> {
        // SAFETY: only what is alive is in the set, and it is a conversion.
        self.exact.contains(&halves).then(|| unsafe { LLVMGetOperand(halves, 0) })
    }
}
