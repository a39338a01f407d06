//! Products of numbers that have 16 bits, by the instruction for words.
//!
//! Samples and coefficients are words, and their products have 32 bits. A processor of Intel's multiplies lanes of 32 bits by two
//! instructions, one after the other, of five cycles each. `vpmaddwd` multiplies words, and adds the product of an upper word to that of the lower one:
//! where one factor has zeros there, that is the product, by one instruction, and the sum that it is added to may be part of it (`vpdpwssd`).
//! LLVM knows that of factors without a sign. One that is widened with its sign is widened without one here, if nobody needs it in another way.

use super::blocks::{blocks, functions, instructions, intrinsic_number, opcode, users};
use super::context::IrModule;
use super::pieces::{bits_of, splat, splatted};
use super::target::Target;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMOpcode, LLVMTypeKind};

const NAME: *const std::ffi::c_char = c"".as_ptr();
/// Bits of the numbers that are multiplied.
const WORD: u32 = 16;
/// Instructions, one of the other, that a factor is looked through.
const MOST_DEPTH: u32 = 4;
/// Products of one factor that are looked at.
const MOST_PRODUCTS: usize = 64;

/// Has words multiplied as words.
pub fn multiply(module: &IrModule, target: &Target) {
    // SAFETY: everything is the module's, and alive; what is made of a factor stands behind it, and of a product in front of it.
    unsafe {
        let words = Words {
            module,
            builder: LLVMCreateBuilderInContext(module.context().raw()),
            simd_bits: target.simd_bits(),
            has_256: target.has_feature("avx2"),
            has_512: target.has_feature("avx512bw"),
        };
        let all = functions(module).into_iter().flat_map(blocks).flat_map(instructions);
        let may_be = |inst: &LLVMValueRef| {
            matches!(opcode(*inst), LLVMOpcode::LLVMSExt | LLVMOpcode::LLVMShuffleVector)
        };
        let factors: Vec<_> = all.filter(may_be).collect();
        let taken: Vec<_> = factors.into_iter().filter(|factor| words.take(*factor)).collect();
        taken.into_iter().for_each(|factor| forget(factor));
        LLVMDisposeBuilder(words.builder);
    }
}

struct Words<'m> {
    module: &'m IrModule,
    builder: LLVMBuilderRef,
    simd_bits: u32,
    has_256: bool,
    has_512: bool,
}

impl Words<'_> {
    /// Has a factor multiplied so, if it is only multiplied, by words. Nobody uses it then.
    unsafe fn take(&self, factor: LLVMValueRef) -> bool {
        // SAFETY: the caller's instruction is alive, and what uses it with it.
        unsafe {
            let ty = LLVMTypeOf(factor);
            let Some(name) = self.intrinsic(ty) else { return false };
            let products = users(factor);
            let is_product = |inst: &LLVMValueRef| {
                let others = [0, 1].map(|at| LLVMGetOperand(*inst, at)).into_iter();
                opcode(*inst) == LLVMOpcode::LLVMMul
                    && others.filter(|other| *other != factor).any(|other| bits(other, MOST_DEPTH) <= WORD)
            };
            if products.is_empty() || products.len() > MOST_PRODUCTS || !products.iter().all(is_product) {
                return false;
            }
            let Some(unsigned) = self.unsigned(factor) else { return false };
            let id = intrinsic_number(name);
            let function = LLVMGetIntrinsicDeclaration(self.module.raw(), id, std::ptr::null_mut(), 0);
            let function_type = LLVMGlobalGetValueType(function);
            let context = self.module.context().raw();
            let word = LLVMIntTypeInContext(context, WORD);
            let halves = LLVMVectorType(word, 2 * LLVMGetVectorSize(ty));
            for product in products {
                let other = usize::from(LLVMGetOperand(product, 0) == factor);
                let other = LLVMGetOperand(product, other as u32);
                LLVMPositionBuilderBefore(self.builder, product);
                let mut factors =
                    [other, unsigned].map(|of| LLVMBuildBitCast(self.builder, of, halves, NAME));
                let new =
                    LLVMBuildCall2(self.builder, function_type, function, factors.as_mut_ptr(), 2, NAME);
                LLVMReplaceAllUsesWith(product, new);
                LLVMInstructionEraseFromParent(product);
            }
            true
        }
    }

    /// The instruction for vectors of this type, if there is one.
    unsafe fn intrinsic(&self, ty: LLVMTypeRef) -> Option<&'static str> {
        // SAFETY: the caller's type is alive.
        unsafe {
            if LLVMGetTypeKind(ty) != LLVMTypeKind::LLVMVectorTypeKind || width(ty) != 2 * WORD {
                return None;
            }
            let bits = 2 * WORD * LLVMGetVectorSize(ty);
            match bits {
                128 => Some("llvm.x86.sse2.pmadd.wd"),
                256 if self.has_256 => Some("llvm.x86.avx2.pmadd.wd"),
                512 if self.has_512 && self.simd_bits == bits => Some("llvm.x86.avx512.pmaddw.d.512"),
                _ => None,
            }
        }
    }

    /// A factor that has been widened with its sign, widened without it: by one instruction in the place of another.
    unsafe fn unsigned(&self, factor: LLVMValueRef) -> Option<LLVMValueRef> {
        // SAFETY: the caller's instruction is alive, and what it is made of with it.
        unsafe {
            if opcode(factor) == LLVMOpcode::LLVMSExt {
                let from = LLVMGetOperand(factor, 0);
                return (width(LLVMTypeOf(from)) == WORD).then(|| {
                    LLVMPositionBuilderBefore(self.builder, factor);
                    LLVMBuildZExt(self.builder, from, LLVMTypeOf(factor), NAME)
                });
            }
            // One number for all lanes.
            let number = splatted(factor).filter(|number| !LLVMIsASExtInst(*number).is_null())?;
            let from = LLVMGetOperand(number, 0);
            if width(LLVMTypeOf(from)) != WORD {
                return None;
            }
            LLVMPositionBuilderBefore(self.builder, number);
            let unsigned = LLVMBuildZExt(self.builder, from, LLVMTypeOf(number), NAME);
            LLVMPositionBuilderBefore(self.builder, factor);
            Some(splat(self.builder, unsigned, LLVMTypeOf(factor)))
        }
    }
}

/// Takes away a factor and what has put a number into all its lanes, which others would still see.
unsafe fn forget(factor: LLVMValueRef) {
    // SAFETY: the caller's instruction is alive; nothing uses what is erased, and each is made of the next one.
    unsafe {
        let mut at = factor;
        loop {
            let of = match opcode(at) {
                LLVMOpcode::LLVMShuffleVector => Some(LLVMGetOperand(at, 0)),
                LLVMOpcode::LLVMInsertElement => Some(LLVMGetOperand(at, 1)),
                _ => None,
            };
            LLVMInstructionEraseFromParent(at);
            let is_unused =
                |of: &LLVMValueRef| !LLVMIsAInstruction(*of).is_null() && LLVMGetFirstUse(*of).is_null();
            match of.filter(is_unused) {
                Some(of) => at = of,
                None => return,
            }
        }
    }
}

/// Bits of a number, or of each one of a vector.
unsafe fn width(ty: LLVMTypeRef) -> u32 {
    // SAFETY: the caller's type is alive.
    unsafe {
        let element = match LLVMGetTypeKind(ty) {
            LLVMTypeKind::LLVMVectorTypeKind => LLVMGetElementType(ty),
            _ => ty,
        };
        bits_of(element)
    }
}

/// Bits that a number of 32 bits needs at most, its sign included.
unsafe fn bits(value: LLVMValueRef, depth: u32) -> u32 {
    use LLVMOpcode::{LLVMAShr, LLVMAdd, LLVMSExt, LLVMSelect, LLVMShuffleVector, LLVMSub, LLVMZExt};
    let all = 2 * WORD;
    // SAFETY: the caller's value is alive, and what it is made of with it.
    unsafe {
        if LLVMIsAInstruction(value).is_null() || depth == 0 {
            return all;
        }
        let of = |at: u32| bits(LLVMGetOperand(value, at), depth - 1);
        let needed = match opcode(value) {
            LLVMSExt => width(LLVMTypeOf(LLVMGetOperand(value, 0))),
            LLVMZExt => width(LLVMTypeOf(LLVMGetOperand(value, 0))) + 1,
            LLVMAdd | LLVMSub => of(0).max(of(1)) + 1,
            LLVMSelect => of(1).max(of(2)),
            LLVMAShr => all - amount(LLVMGetOperand(value, 1)),
            LLVMShuffleVector => splatted(value).map_or(all, |number| bits(number, depth - 1)),
            _ => all,
        };
        needed.min(all)
    }
}

/// By how much all lanes are shifted, or nothing.
unsafe fn amount(by: LLVMValueRef) -> u32 {
    // SAFETY: the caller's value is alive; elements of a constant are asked for where it has some.
    unsafe {
        let is_number = |of: LLVMValueRef| !of.is_null() && !LLVMIsAConstantInt(of).is_null();
        let number = |of: LLVMValueRef| (LLVMConstIntGetZExtValue(of) as u32).min(2 * WORD);
        if is_number(by) {
            return number(by);
        }
        if LLVMIsConstant(by) == 0 || LLVMGetTypeKind(LLVMTypeOf(by)) != LLVMTypeKind::LLVMVectorTypeKind {
            return 0;
        }
        let lanes = LLVMGetVectorSize(LLVMTypeOf(by));
        let of = (0..lanes).map(|lane| LLVMGetAggregateElement(by, lane));
        of.map(|of| if is_number(of) { number(of) } else { 0 }).min().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
