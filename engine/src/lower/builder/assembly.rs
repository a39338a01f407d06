//! Empty pieces of assembly: no instructions, but limits to what LLVM knows.

use super::{Builder, Function, NAME, Value};
use llvm_sys::LLVMInlineAsmDialect;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

impl Builder {
    /// An address that is the same, which LLVM does not know: what is stored by the one is loaded by the other, and not taken
    /// from registers.
    pub fn opaque(&self, address: Value) -> Value {
        llvm!({
            let pointer = LLVMTypeOf(address.0);
            let ty = LLVMFunctionType(pointer, [pointer].as_mut_ptr(), 1, 0);
            self.call(self.empty_assembly(ty, "=r,0"), &[address])
        })
    }

    /// # Safety
    /// `ty` is a function type of the builder's context.
    unsafe fn empty_assembly(&self, ty: LLVMTypeRef, constraints: &str) -> Function {
        let (text, operands) = (NAME.cast_mut(), constraints.as_ptr().cast_mut().cast());
        let dialect = LLVMInlineAsmDialect::LLVMInlineAsmDialectATT;
        // SAFETY: both texts have the lengths that are passed with them.
        let value = unsafe { LLVMGetInlineAsm(ty, text, 0, operands, constraints.len(), 0, 0, dialect, 0) };
        Function { value, ty }
    }
}
