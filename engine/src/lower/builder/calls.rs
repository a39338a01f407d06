//! Calls: of intrinsics, of library functions, through pointers.

use super::{Builder, Function, NAME, Value, symbol};
use crate::analysis::leaves::Scalar;
use llvm_sys::LLVMFastMathAllowContract;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

impl Builder {
    /// A call of an LLVM intrinsic that is overloaded on the type of its first operand.
    pub fn intrinsic(&self, name: &str, operands: &[Value]) -> Value {
        let ty = llvm!(LLVMTypeOf(operands[0].0));
        self.intrinsic_typed(name, &[ty], operands)
    }

    /// A call of an LLVM intrinsic that is overloaded on these types of its operands.
    pub fn intrinsic_on(&self, name: &str, overloads: &[(Scalar, u32)], operands: &[Value]) -> Value {
        let types: Vec<LLVMTypeRef> =
            overloads.iter().map(|(scalar, lanes)| self.ty(*scalar, *lanes)).collect();
        self.intrinsic_typed(name, &types, operands)
    }

    /// A call of an intrinsic without overloads, such as those of one architecture.
    pub fn intrinsic_plain(&self, name: &str, operands: &[Value]) -> Value {
        self.intrinsic_typed(name, &[], operands)
    }

    pub(super) fn intrinsic_typed(&self, name: &str, types: &[LLVMTypeRef], operands: &[Value]) -> Value {
        let mut types = types.to_vec();
        let function = llvm!({
            let id = LLVMLookupIntrinsicID(name.as_ptr().cast(), name.len());
            assert_ne!(id, 0, "{name} is no intrinsic of this LLVM");
            let value = LLVMGetIntrinsicDeclaration(self.module, id, types.as_mut_ptr(), types.len());
            Function { value, ty: LLVMIntrinsicGetType(self.context, id, types.as_mut_ptr(), types.len()) }
        });
        let call = self.call(function, operands);
        if self.contract && matches!(name, "llvm.fma" | "llvm.sqrt" | "llvm.fmuladd") {
            llvm!(LLVMSetFastMathFlags(call.0, LLVMFastMathAllowContract));
        }
        call
    }

    pub fn call(&self, function: Function, operands: &[Value]) -> Value {
        let mut operands: Vec<LLVMValueRef> = operands.iter().map(|value| value.0).collect();
        Value(llvm!(LLVMBuildCall2(
            self.raw,
            function.ty,
            function.value,
            operands.as_mut_ptr(),
            operands.len() as u32,
            NAME
        )))
    }

    /// A function of the C library or a vector math library that only computes: its result depends on its
    /// operands alone. All operands and the result have the same type.
    pub fn call_math(&self, name: &str, operands: &[Value]) -> Value {
        let ty = llvm!(LLVMTypeOf(operands[0].0));
        let mut params = vec![ty; operands.len()];
        let function = self.extern_function(name, ty, &mut params);
        llvm!({
            for attribute in ["nounwind", "willreturn", "nofree", "nosync"] {
                self.add_attribute(function, attribute, 0);
            }
            // `memory(none)`: LLVM encodes no effects as 0.
            self.add_attribute(function, "memory", 0);
        });
        self.call(function, operands)
    }

    /// A call of a function of the engine (`jit::symbols`).
    pub fn call_engine(&self, name: &str, result: Scalar, operands: &[Value]) -> Value {
        let mut params: Vec<LLVMTypeRef> = operands.iter().map(|value| llvm!(LLVMTypeOf(value.0))).collect();
        let function = self.extern_function(name, self.ty(result, 1), &mut params);
        llvm!(self.add_attribute(function, "nounwind", 0));
        self.call(function, operands)
    }

    /// The address of the running function's frame.
    pub fn frame_address(&self) -> Value {
        self.intrinsic_on("llvm.frameaddress", &[(Scalar::Ptr, 1)], &[self.i32(0)])
    }

    /// The stack pointer. All objects of the stack that are alive are above.
    pub fn stack_pointer(&self) -> Value {
        self.intrinsic_on("llvm.stacksave", &[(Scalar::Ptr, 1)], &[])
    }

    /// A call through a pointer to a C function that takes and returns nothing but `operands`.
    pub fn call_pointer(&self, pointer: Value, operands: &[Value]) {
        let mut params: Vec<LLVMTypeRef> = operands.iter().map(|value| llvm!(LLVMTypeOf(value.0))).collect();
        let ty = llvm!(LLVMFunctionType(self.void, params.as_mut_ptr(), params.len() as u32, 0));
        self.call(Function { value: pointer.0, ty }, operands);
    }

    fn extern_function(&self, name: &str, result: LLVMTypeRef, params: &mut [LLVMTypeRef]) -> Function {
        let name = symbol(name);
        llvm!({
            let ty = LLVMFunctionType(result, params.as_mut_ptr(), params.len() as u32, 0);
            let found = LLVMGetNamedFunction(self.module, name.as_ptr());
            let value = if found.is_null() { LLVMAddFunction(self.module, name.as_ptr(), ty) } else { found };
            Function { value, ty }
        })
    }
}
