//! Pieces of IR that take several calls to make: vectors of one number, empty assembly and what it takes, and nodes that are like no other; and how wide values are.

use llvm_sys::core::*;
use llvm_sys::debuginfo::{LLVMMetadataReplaceAllUsesWith, LLVMTemporaryMDNode};
use llvm_sys::prelude::*;
use llvm_sys::{LLVMInlineAsmDialect, LLVMTypeKind};

const NAME: *const std::ffi::c_char = c"".as_ptr();

/// A vector of this type whose lanes are all the same.
///
/// # Safety
/// Builder, value and type belong together and are alive.
pub unsafe fn splat(builder: LLVMBuilderRef, value: LLVMValueRef, ty: LLVMTypeRef) -> LLVMValueRef {
    // SAFETY: the caller's promise.
    unsafe {
        let word = LLVMInt32TypeInContext(LLVMGetTypeContext(ty));
        let first = LLVMConstInt(word, 0, 0);
        let one = LLVMBuildInsertElement(builder, LLVMGetPoison(ty), value, first, NAME);
        let all = LLVMConstNull(LLVMVectorType(word, LLVMGetVectorSize(ty)));
        LLVMBuildShuffleVector(builder, one, LLVMGetPoison(ty), all, NAME)
    }
}

/// The number that a vector has in all lanes, if it is made so.
///
/// # Safety
/// The value is alive.
pub unsafe fn splatted(vector: LLVMValueRef) -> Option<LLVMValueRef> {
    // SAFETY: the caller's promise; an instruction's operands are alive with it.
    unsafe {
        if LLVMIsAShuffleVectorInst(vector).is_null() {
            return None;
        }
        let one = LLVMGetOperand(vector, 0);
        let takes_first = (0..LLVMGetNumMaskElements(vector)).all(|lane| LLVMGetMaskValue(vector, lane) == 0);
        let is_first = takes_first
            && !LLVMIsAInsertElementInst(one).is_null()
            && LLVMIsNull(LLVMGetOperand(one, 2)) != 0;
        is_first.then(|| LLVMGetOperand(one, 1))
    }
}

/// A function of no instructions, as a piece of assembly. What has an effect stays where it is called.
///
/// # Safety
/// The type is a function's, and alive.
pub unsafe fn empty_assembly(ty: LLVMTypeRef, constraints: &str, has_effect: bool) -> LLVMValueRef {
    let (text, operands) = (c"".as_ptr().cast_mut(), constraints.as_ptr().cast_mut().cast());
    let dialect = LLVMInlineAsmDialect::LLVMInlineAsmDialectATT;
    // SAFETY: the caller's promise; both texts have the lengths that are passed with them.
    unsafe { LLVMGetInlineAsm(ty, text, 0, operands, constraints.len(), has_effect.into(), 0, dialect, 0) }
}

/// The same value, a register, by a piece of assembly: LLVM does not know what it is. What has an effect is not computed later than here.
///
/// # Safety
/// Builder and value belong together and are alive.
pub unsafe fn passed_on(builder: LLVMBuilderRef, value: LLVMValueRef, has_effect: bool) -> LLVMValueRef {
    // SAFETY: the caller's promise.
    unsafe {
        let of = LLVMTypeOf(value);
        let ty = LLVMFunctionType(of, [of].as_mut_ptr(), 1, 0);
        let nothing = empty_assembly(ty, "=v,0", has_effect);
        LLVMBuildCall2(builder, ty, nothing, [value].as_mut_ptr(), 1, NAME)
    }
}

/// These lanes of two vectors, one behind the other, or anything.
///
/// # Safety
/// Builder and vectors belong together and are alive; the vectors are of one type.
pub unsafe fn shuffled(
    builder: LLVMBuilderRef,
    [a, b]: [LLVMValueRef; 2],
    lanes: impl Iterator<Item = Option<u32>>,
) -> LLVMValueRef {
    // SAFETY: the caller's promise.
    unsafe {
        let word = LLVMInt32TypeInContext(LLVMGetTypeContext(LLVMTypeOf(a)));
        let number = |lane: Option<u32>| match lane {
            Some(lane) => LLVMConstInt(word, lane.into(), 0),
            None => LLVMGetPoison(word),
        };
        let mut numbers: Vec<LLVMValueRef> = lanes.map(number).collect();
        let mask = LLVMConstVector(numbers.as_mut_ptr(), numbers.len() as u32);
        LLVMBuildShuffleVector(builder, a, b, mask, NAME)
    }
}

/// Whether values of a type are a register of vectors, all of it or a part that has instructions, for which assembly may ask (`v`). Vectors of
/// halves are none for LLVM unless the CPU computes with halves.
///
/// # Safety
/// The type is alive.
pub unsafe fn is_register(ty: LLVMTypeRef, simd_bits: u32) -> bool {
    const LEAST_BITS: u32 = 128;
    // SAFETY: the caller's promise; an element's type is alive with its vector's.
    unsafe {
        if LLVMGetTypeKind(ty) != LLVMTypeKind::LLVMVectorTypeKind {
            return false;
        }
        let element = LLVMGetElementType(ty);
        let bits = match LLVMGetTypeKind(element) {
            LLVMTypeKind::LLVMFloatTypeKind => 32,
            LLVMTypeKind::LLVMDoubleTypeKind => 64,
            LLVMTypeKind::LLVMIntegerTypeKind => LLVMGetIntTypeWidth(element),
            _ => return false,
        };
        let all = bits * LLVMGetVectorSize(ty);
        matches!(bits, 8 | 16 | 32 | 64) && all.is_power_of_two() && (LEAST_BITS..=simd_bits).contains(&all)
    }
}

/// Bits of a number or a pointer; 0 of anything else. (There are no bfloats: they are integers until they are floats.)
///
/// # Safety
/// The type is alive.
pub unsafe fn bits_of(ty: LLVMTypeRef) -> u32 {
    // SAFETY: the caller's promise.
    unsafe {
        match LLVMGetTypeKind(ty) {
            LLVMTypeKind::LLVMHalfTypeKind => 16,
            LLVMTypeKind::LLVMFloatTypeKind => 32,
            LLVMTypeKind::LLVMDoubleTypeKind | LLVMTypeKind::LLVMPointerTypeKind => 64,
            LLVMTypeKind::LLVMIntegerTypeKind => LLVMGetIntTypeWidth(ty),
            _ => 0,
        }
    }
}

/// A node of metadata that names itself first, so that it is no other.
///
/// # Safety
/// The context is alive, and so is what stands behind the node's own name.
pub unsafe fn distinct_node(context: LLVMContextRef, behind: &[LLVMMetadataRef]) -> LLVMMetadataRef {
    // SAFETY: the caller's promise; the temporary node is replaced at once.
    unsafe {
        let this = LLVMTemporaryMDNode(context, std::ptr::null_mut(), 0);
        let mut parts: Vec<LLVMMetadataRef> = [this].iter().chain(behind).copied().collect();
        let node = LLVMMDNodeInContext2(context, parts.as_mut_ptr(), parts.len());
        LLVMMetadataReplaceAllUsesWith(this, node);
        node
    }
}
