//! Functions: their signatures, attributes, parameters and results.

use super::{Builder, Function, NAME, Value, symbol};
use crate::analysis::leaves::Scalar;
use llvm_sys::LLVMLinkage;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

/// Whether LLVM shall inline a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inline {
    Always,
    Never,
    /// Never, and calls of it are not what code is to be fast for.
    Cold,
    Free,
}

impl Builder {
    /// A function that returns nothing. `internal` ones are not seen from outside.
    pub fn function(&self, name: &str, params: &[(Scalar, u32)], internal: bool, inline: Inline) -> Function {
        self.any_function(name, params, self.void, internal, inline)
    }

    /// An internal function that returns these values: [`ret_values`](Self::ret_values) ends it, and
    /// [`call_with_results`](Self::call_with_results) calls it.
    pub fn function_with_results(
        &self,
        name: &str,
        params: &[(Scalar, u32)],
        results: &[(Scalar, u32)],
        inline: Inline,
    ) -> Function {
        let mut types: Vec<LLVMTypeRef> =
            results.iter().map(|(scalar, lanes)| self.ty(*scalar, *lanes)).collect();
        let result = match types.as_mut_slice() {
            [] => self.void,
            [only] => *only,
            all => llvm!(LLVMStructTypeInContext(self.context, all.as_mut_ptr(), all.len() as u32, 0)),
        };
        self.any_function(name, params, result, true, inline)
    }

    /// The function of a name that returns these values, which `body` makes the first time that somebody asks.
    pub fn shared_function(
        &self,
        name: &str,
        params: &[(Scalar, u32)],
        results: &[(Scalar, u32)],
        inline: Inline,
        body: impl FnOnce(Function) -> Vec<Value>,
    ) -> Function {
        let found = llvm!(LLVMGetNamedFunction(self.module, symbol(name).as_ptr()));
        if !found.is_null() {
            return Function { value: found, ty: llvm!(LLVMGlobalGetValueType(found)) };
        }
        let here = self.here();
        let function = self.function_with_results(name, params, results, inline);
        self.at_end(self.block(function, "entry"));
        let values = body(function);
        self.ret_values(&values);
        self.at_end(here);
        function
    }

    fn any_function(
        &self,
        name: &str,
        params: &[(Scalar, u32)],
        result: LLVMTypeRef,
        internal: bool,
        inline: Inline,
    ) -> Function {
        let mut types: Vec<LLVMTypeRef> =
            params.iter().map(|(scalar, lanes)| self.ty(*scalar, *lanes)).collect();
        let name = symbol(name);
        let function = llvm!({
            let ty = LLVMFunctionType(result, types.as_mut_ptr(), types.len() as u32, 0);
            let value = LLVMAddFunction(self.module, name.as_ptr(), ty);
            if internal {
                LLVMSetLinkage(value, LLVMLinkage::LLVMInternalLinkage);
            }
            Function { value, ty }
        });
        self.add_attribute(function, "nounwind", 0);
        // LLVM otherwise limits itself to 256-bit registers on some CPUs.
        self.add_string_attribute(function, "prefer-vector-width", "512");
        self.add_string_attribute(function, "min-legal-vector-width", "512");
        match inline {
            Inline::Always => self.add_attribute(function, "alwaysinline", 0),
            Inline::Never => self.add_attribute(function, "noinline", 0),
            Inline::Cold => {
                self.add_attribute(function, "noinline", 0);
                self.add_attribute(function, "cold", 0);
            }
            Inline::Free => {}
        }
        function
    }

    /// Marks a pointer parameter: what it points to is reached through it alone and only read.
    pub fn param_read_only(&self, function: Function, at: u32) {
        for name in ["noalias", "readonly", "nocapture"] {
            llvm!({
                let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
                let attribute = LLVMCreateEnumAttribute(self.context, kind, 0);
                LLVMAddAttributeAtIndex(function.value, at + 1, attribute);
            });
        }
    }

    pub fn param(&self, function: Function, at: u32) -> Value {
        Value(llvm!(LLVMGetParam(function.value, at)))
    }

    /// The end of a [function with results](Self::function_with_results).
    pub fn ret_values(&self, values: &[Value]) {
        let mut values: Vec<LLVMValueRef> = values.iter().map(|value| value.0).collect();
        match values.as_mut_slice() {
            [] => self.ret(),
            [only] => {
                llvm!(LLVMBuildRet(self.raw, *only));
            }
            all => {
                llvm!(LLVMBuildAggregateRet(self.raw, all.as_mut_ptr(), all.len() as u32));
            }
        }
    }

    /// Calls a [function with](Self::function_with_results) `count` results.
    pub fn call_with_results(&self, function: Function, operands: &[Value], count: usize) -> Vec<Value> {
        let result = self.call(function, operands);
        match count {
            0 => Vec::new(),
            1 => vec![result],
            _ => (0..count as u32)
                .map(|at| Value(llvm!(LLVMBuildExtractValue(self.raw, result.0, at, NAME))))
                .collect(),
        }
    }

    pub(super) fn add_attribute(&self, function: Function, name: &str, value: u64) {
        llvm!({
            let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
            let attribute = LLVMCreateEnumAttribute(self.context, kind, value);
            LLVMAddAttributeAtIndex(function.value, llvm_sys::LLVMAttributeFunctionIndex, attribute);
        });
    }

    fn add_string_attribute(&self, function: Function, name: &str, value: &str) {
        llvm!({
            let attribute = LLVMCreateStringAttribute(
                self.context,
                name.as_ptr().cast(),
                name.len() as u32,
                value.as_ptr().cast(),
                value.len() as u32,
            );
            LLVMAddAttributeAtIndex(function.value, llvm_sys::LLVMAttributeFunctionIndex, attribute);
        });
    }
}
