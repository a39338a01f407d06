//! Two codes of a kernel of which its arguments choose.

use super::JitError;
use super::context::IrModule;
use crate::abi::{ENTRY_SYMBOL, LaunchInfo};
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAttributeFunctionIndex, LLVMIntPredicate, LLVMLinkage};
use std::ffi::CString;
use std::mem::offset_of;

/// An integer argument, in a launch's argument block, that is this large or larger.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AtLeast {
    pub offset: u64,
    /// 4 or 8.
    pub bytes: u64,
    pub least: u64,
}

/// Makes one module of two of the same context, which have an entry point each (`RangeEntry`): it executes the second one's code where
/// all conditions hold, and the first one's else.
pub fn join(usual: IrModule, chosen: IrModule, conditions: &[AtLeast]) -> Result<IrModule, JitError> {
    let names = ["usual", "chosen"];
    // SAFETY: the modules are alive, and have the entry point; strings live through the calls.
    unsafe {
        let entry = name(ENTRY_SYMBOL);
        for (module, to) in [&usual, &chosen].into_iter().zip(names) {
            LLVMSetValueName2(
                LLVMGetNamedFunction(module.raw(), entry.as_ptr()),
                to.as_ptr().cast(),
                to.len(),
            );
        }
    }
    usual.take_in(chosen)?;
    let context = usual.context().raw();
    // SAFETY: the module is alive and has both functions, which take the parameters of an entry point; the builder is disposed of.
    unsafe {
        let [first, second] = names.map(|to| LLVMGetNamedFunction(usual.raw(), name(to).as_ptr()));
        let ty = LLVMGlobalGetValueType(first);
        let function = LLVMAddFunction(usual.raw(), name(ENTRY_SYMBOL).as_ptr(), ty);
        copy_attributes(first, function);
        for entry in [first, second] {
            LLVMSetLinkage(entry, LLVMLinkage::LLVMInternalLinkage);
        }
        let builder = LLVMCreateBuilderInContext(context);
        let block = || LLVMAppendBasicBlockInContext(context, function, c"".as_ptr());
        let (start, blocks) = (block(), [block(), block()]);
        LLVMPositionBuilderAtEnd(builder, start);
        let condition = hold(builder, context, LLVMGetParam(function, 0), conditions);
        LLVMBuildCondBr(builder, condition, blocks[1], blocks[0]);
        for (block, callee) in blocks.into_iter().zip([first, second]) {
            LLVMPositionBuilderAtEnd(builder, block);
            let mut params: Vec<LLVMValueRef> =
                (0..LLVMCountParams(function)).map(|at| LLVMGetParam(function, at)).collect();
            let count = params.len() as u32;
            let call = LLVMBuildCall2(builder, ty, callee, params.as_mut_ptr(), count, c"".as_ptr());
            LLVMSetTailCall(call, 1);
            LLVMBuildRetVoid(builder);
        }
        LLVMDisposeBuilder(builder);
    }
    Ok(usual)
}

/// Whether all conditions hold for the launch that a pointer leads to.
unsafe fn hold(
    builder: LLVMBuilderRef,
    context: LLVMContextRef,
    info: LLVMValueRef,
    conditions: &[AtLeast],
) -> LLVMValueRef {
    // SAFETY: the caller's builder is at the end of a block, where the pointer is alive.
    unsafe {
        let none = c"".as_ptr();
        let (byte, long) = (LLVMInt8TypeInContext(context), LLVMInt64TypeInContext(context));
        let at = |base: LLVMValueRef, offset: u64| {
            let mut offset = LLVMConstInt(long, offset, 0);
            LLVMBuildGEP2(builder, byte, base, &raw mut offset, 1, none)
        };
        let pointer = LLVMPointerTypeInContext(context, 0);
        let args = LLVMBuildLoad2(builder, pointer, at(info, offset_of!(LaunchInfo, args) as u64), none);
        let mut all = LLVMConstInt(LLVMInt1TypeInContext(context), 1, 0);
        for condition in conditions {
            let ty = LLVMIntTypeInContext(context, 8 * condition.bytes as u32);
            let value = LLVMBuildLoad2(builder, ty, at(args, condition.offset), none);
            LLVMSetAlignment(value, 1);
            let least = LLVMConstInt(ty, condition.least, 0);
            let holds = LLVMBuildICmp(builder, LLVMIntPredicate::LLVMIntSGE, value, least, none);
            all = LLVMBuildAnd(builder, all, holds, none);
        }
        all
    }
}

unsafe fn copy_attributes(from: LLVMValueRef, to: LLVMValueRef) {
    // SAFETY: the caller's functions are alive; there is room for all attributes.
    unsafe {
        let count = LLVMGetAttributeCountAtIndex(from, LLVMAttributeFunctionIndex);
        let mut all = vec![std::ptr::null_mut(); count as usize];
        LLVMGetAttributesAtIndex(from, LLVMAttributeFunctionIndex, all.as_mut_ptr());
        all.into_iter().for_each(|one| LLVMAddAttributeAtIndex(to, LLVMAttributeFunctionIndex, one));
    }
}

fn name(text: &str) -> CString {
    CString::new(text).expect("names have no null bytes")
}
