//! Masked accesses that no instruction does, in functions of their own where there are many.
//!
//! LLVM's code generator makes a branch for each lane of such an access, and looks at the function from its beginning after each one:
//! its time is quadratic in their number. An array of 1,280 floats that is copied under a mask took 48 s with SSE, where no type has
//! masked accesses, and one of 640 bytes 16 s with AVX2. Each kind of access is a small function that is called for it then, which
//! costs little beside the branches.

use super::blocks::{blocks, called_intrinsic, functions, instructions, intrinsic_number};
use super::context::IrModule;
use super::pipeline;
use super::target::Target;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAttributeFunctionIndex, LLVMLinkage, LLVMTypeKind};
use rustc_hash::FxHashMap;

/// Such accesses that a function has at most: the code generator takes some 10 ms for as many.
const MOST: usize = 48;

const NAME: *const std::ffi::c_char = c"".as_ptr();

/// An intrinsic that accesses lanes under a mask: its operands, and the features of processors that have instructions for it, by the
/// size of what it accesses.
struct Intrinsic {
    name: &'static str,
    align: u32,
    mask: u32,
    /// What is stored.
    value: Option<u32>,
    /// For elements of 32 bits and more.
    words: &'static str,
    /// For smaller ones, if there are any.
    narrow: Option<&'static str>,
}

const INTRINSICS: [Intrinsic; 4] = [
    Intrinsic {
        name: "llvm.masked.load",
        align: 1,
        mask: 2,
        value: None,
        words: "avx2",
        narrow: Some("avx512bw"),
    },
    Intrinsic {
        name: "llvm.masked.store",
        align: 2,
        mask: 3,
        value: Some(0),
        words: "avx2",
        narrow: Some("avx512bw"),
    },
    Intrinsic { name: "llvm.masked.gather", align: 1, mask: 2, value: None, words: "avx2", narrow: None },
    Intrinsic {
        name: "llvm.masked.scatter",
        align: 2,
        mask: 3,
        value: Some(0),
        words: "avx512f",
        narrow: None,
    },
];

/// Has functions call others for their masked accesses that are branches for each lane, if they have many of them.
pub fn outline(module: &IrModule, target: &Target) {
    let intrinsics = INTRINSICS.map(|intrinsic| (intrinsic_number(intrinsic.name), intrinsic));
    let slow = |inst: &LLVMValueRef| {
        // SAFETY: an intrinsic of the module, and an instruction that calls it.
        unsafe {
            let number = LLVMGetIntrinsicID(called_intrinsic(*inst)?);
            let (_, intrinsic) = intrinsics.iter().find(|(of, _)| *of == number)?;
            is_branches(*inst, intrinsic, target).then_some((*inst, intrinsic.align))
        }
    };
    let mut outlined = FxHashMap::default();
    for function in functions(module) {
        let accesses: Vec<(LLVMValueRef, u32)> =
            blocks(function).into_iter().flat_map(instructions).filter_map(|inst| slow(&inst)).collect();
        if accesses.len() > MOST {
            for (access, align) in accesses {
                // SAFETY: a call of the module, whose operand of this number is a constant.
                unsafe {
                    let key = (LLVMGetCalledValue(access), LLVMGetOperand(access, align));
                    let callee =
                        *outlined.entry(key).or_insert_with(|| define(module, target, access, align));
                    LLVMSetOperand(access, LLVMGetNumOperands(access) as u32 - 1, callee);
                }
            }
        }
    }
}

/// Whether an access becomes a branch for each lane. Where the mask is a constant there are none.
///
/// # Safety
/// The call is alive and calls this intrinsic.
unsafe fn is_branches(call: LLVMValueRef, intrinsic: &Intrinsic, target: &Target) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        let accessed = LLVMTypeOf(intrinsic.value.map_or(call, |at| LLVMGetOperand(call, at)));
        let element = LLVMGetElementType(accessed);
        let is_narrow = match LLVMGetTypeKind(element) {
            LLVMTypeKind::LLVMIntegerTypeKind => LLVMGetIntTypeWidth(element) < u32::BITS,
            LLVMTypeKind::LLVMHalfTypeKind | LLVMTypeKind::LLVMBFloatTypeKind => true,
            _ => false,
        };
        let feature = if is_narrow { intrinsic.narrow } else { Some(intrinsic.words) };
        LLVMIsConstant(LLVMGetOperand(call, intrinsic.mask)) == 0
            && !feature.is_some_and(|feature| target.has_feature(feature))
    }
}

/// A function that does what a call does, with the alignment that it has.
///
/// # Safety
/// The call is alive, and of the module.
unsafe fn define(module: &IrModule, target: &Target, call: LLVMValueRef, align: u32) -> LLVMValueRef {
    const NOINLINE: &str = "noinline";
    // SAFETY: the caller's promise; what is made is the module's.
    unsafe {
        let context = module.context().raw();
        let (ty, callee) = (LLVMGetCalledFunctionType(call), LLVMGetCalledValue(call));
        let function = LLVMAddFunction(module.raw(), c"masked".as_ptr(), ty);
        pipeline::set_up_stack(module, target, function);
        LLVMSetLinkage(function, LLVMLinkage::LLVMInternalLinkage);
        let kind = LLVMGetEnumAttributeKindForName(NOINLINE.as_ptr().cast(), NOINLINE.len());
        let noinline = LLVMCreateEnumAttribute(context, kind, 0);
        LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, noinline);
        let builder = LLVMCreateBuilderInContext(context);
        LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(context, function, NAME));
        let parameter = |at: u32| match at == align {
            true => LLVMGetOperand(call, at),
            false => LLVMGetParam(function, at),
        };
        let mut operands: Vec<LLVMValueRef> = (0..LLVMCountParams(function)).map(parameter).collect();
        let count = operands.len() as u32;
        let result = LLVMBuildCall2(builder, ty, callee, operands.as_mut_ptr(), count, NAME);
        match LLVMGetTypeKind(LLVMTypeOf(result)) {
            LLVMTypeKind::LLVMVoidTypeKind => LLVMBuildRetVoid(builder),
            _ => LLVMBuildRet(builder, result),
        };
        LLVMDisposeBuilder(builder);
        function
    }
}
