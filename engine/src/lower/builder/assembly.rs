//! Empty pieces of assembly: no instructions, but limits to what LLVM knows.

use super::{Builder, Function, NAME, Value};
use crate::jit::pieces::{empty_assembly, is_register};
use llvm_sys::LLVMOpcode;
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

    /// Whether a value is a register that assembly may ask for.
    pub fn is_register(&self, value: Value, simd_bits: u32) -> bool {
        llvm!(is_register(LLVMTypeOf(value.0), simd_bits))
    }

    /// The same vectors, each of them [a register](Self::is_register), of which LLVM does not take one without having made the others.
    pub fn together(&self, vectors: &[Value]) -> Vec<Value> {
        let outputs = vec!["=v"; vectors.len()];
        let inputs: Vec<String> = (0..vectors.len()).map(|at| at.to_string()).collect();
        let constraints = format!("{},{}", outputs.join(","), inputs.join(","));
        llvm!({
            let mut types: Vec<LLVMTypeRef> = vectors.iter().map(|value| LLVMTypeOf(value.0)).collect();
            let count = types.len() as u32;
            let all = LLVMStructTypeInContext(self.context, types.as_mut_ptr(), count, 0);
            let ty = LLVMFunctionType(all, types.as_mut_ptr(), count, 0);
            let made = self.call(self.empty_assembly(ty, &constraints), vectors);
            let part = |at| Value(LLVMBuildExtractValue(self.raw, made.0, at, NAME));
            (0..count).map(part).collect()
        })
    }

    /// The same address in a register of its own, of which LLVM does not know what other addresses it is a constant away from.
    pub fn in_register(&self, address: Value) -> Value {
        llvm!({
            let mut ty = LLVMTypeOf(address.0);
            let ty = LLVMFunctionType(ty, &raw mut ty, 1, 0);
            self.call(self.empty_assembly(ty, "=r,0"), &[address])
        })
    }

    /// Whether a value is a product, which a sum may be fused with.
    pub fn is_product(&self, value: Value) -> bool {
        llvm!(
            !LLVMIsAInstruction(value.0).is_null()
                && LLVMGetInstructionOpcode(value.0) == LLVMOpcode::LLVMFMul
        )
    }

    /// # Safety
    /// `ty` is a function type of the builder's context.
    unsafe fn empty_assembly(&self, ty: LLVMTypeRef, constraints: &str) -> Function {
        // SAFETY: the caller's promise.
        let value = unsafe { empty_assembly(ty, constraints, false) };
        Function { value, ty }
    }
}
