//! Vectors that are loaded and narrowed, kept apart from what is loaded where LLVM would forget that they are.
//!
//! LLVM 19's code generator for x86 looks for elements that lie next to each other in memory, of which a vector can be loaded at once
//! (`EltsFromConsecutiveLoads`). On its way from an element to a load it goes through a narrowing of the whole vector and counts offsets in narrow elements from there on
//! (`findEltLoadSrc`): `ushort4 y = convert_ushort4(in[i]); out[2 * i] = y; out[2 * i + 1] = y` stored halves of the words in memory. A piece of empty
//! assembly between load and narrowing, which has no instructions, ends the way. Narrowing takes a register anyway.

use super::blocks::{functions, in_order, instructions, opcode};
use super::context::IrModule;
use super::pieces::{is_register, passed_on, shuffled};
use super::target::Target;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMOpcode, LLVMTypeKind};
use rustc_hash::FxHashMap;

/// Bits of the smallest register.
const LEAST_BITS: u32 = 128;

/// Hides from what is narrowed that it has been loaded.
pub fn hide(module: &IrModule, target: &Target) {
    // SAFETY: everything is the module's, and alive; what is made stands in front of what uses it, behind what it is made of.
    unsafe {
        let builder = LLVMCreateBuilderInContext(module.context().raw());
        for function in functions(module) {
            let mut hidden: FxHashMap<LLVMValueRef, LLVMValueRef> = FxHashMap::default();
            let all: Vec<_> = in_order(function).into_iter().flat_map(instructions).collect();
            for narrowed in all.into_iter().filter(|inst| opcode(*inst) == LLVMOpcode::LLVMTrunc) {
                let wide = LLVMGetOperand(narrowed, 0);
                if !is_loaded(wide) {
                    continue;
                }
                let other = match hidden.get(&wide) {
                    Some(other) => *other,
                    None => {
                        LLVMPositionBuilderBefore(builder, LLVMGetNextInstruction(wide));
                        let Some(other) = hide_one(builder, wide, target.simd_bits()) else { continue };
                        hidden.insert(wide, other);
                        other
                    }
                };
                LLVMSetOperand(narrowed, 0, other);
            }
        }
        LLVMDisposeBuilder(builder);
    }
}

/// Whether a vector is loaded, as the code generator sees it.
unsafe fn is_loaded(mut value: LLVMValueRef) -> bool {
    // SAFETY: the caller's value is alive, and operands with it.
    unsafe {
        if LLVMGetTypeKind(LLVMTypeOf(value)) != LLVMTypeKind::LLVMVectorTypeKind {
            return false;
        }
        while !LLVMIsAInstruction(value).is_null() {
            match opcode(value) {
                LLVMOpcode::LLVMLoad => return true,
                LLVMOpcode::LLVMBitCast | LLVMOpcode::LLVMFreeze | LLVMOpcode::LLVMTrunc => {
                    value = LLVMGetOperand(value, 0);
                }
                _ => return false,
            }
        }
        false
    }
}

/// The same vector, as an instruction that nobody knows. Of numbers that have no registers there is none.
unsafe fn hide_one(builder: LLVMBuilderRef, vector: LLVMValueRef, simd_bits: u32) -> Option<LLVMValueRef> {
    // SAFETY: the caller's promise; what is made is used in the order in which it is made.
    unsafe {
        let ty = LLVMTypeOf(vector);
        let element = LLVMGetElementType(ty);
        let (lanes, width) = (LLVMGetVectorSize(ty), LLVMGetIntTypeWidth(element));
        if !matches!(width, 8 | 16 | 32 | 64) {
            return None;
        }
        let whole = lanes.next_power_of_two().max(LEAST_BITS / width);
        let of_piece = whole.min(simd_bits / width);
        debug_assert!(is_register(LLVMVectorType(element, of_piece), simd_bits));
        let pieces = (0..whole).step_by(of_piece as usize).map(|from| {
            let piece = if of_piece == lanes {
                vector
            } else {
                shuffled(
                    builder,
                    [vector; 2],
                    (from..from + of_piece).map(|lane| (lane < lanes).then_some(lane)),
                )
            };
            passed_on(builder, piece, false)
        });
        let mut pieces: Vec<LLVMValueRef> = pieces.collect();
        while pieces.len() > 1 {
            let both = |pair: &[LLVMValueRef]| {
                let all = 2 * LLVMGetVectorSize(LLVMTypeOf(pair[0]));
                shuffled(builder, [pair[0], pair[1]], (0..all).map(Some))
            };
            pieces = pieces.chunks_exact(2).map(both).collect();
        }
        let all = pieces[0];
        Some(if whole == lanes { all } else { shuffled(builder, [all; 2], (0..lanes).map(Some)) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::pipeline::Tier;
    use super::super::tests::{compile, function};

    /// Vectors of four, narrowed and stored twice.
    #[test]
    fn what_is_narrowed_is_not_what_is_loaded() {
        let numbers = |list: &[usize]| {
            let all: Vec<String> = list.iter().map(|at| format!("i32 {at}")).collect();
            all.join(", ")
        };
        let mut text = String::from(
            "define void @f(ptr %out, ptr %in) {
               %low = load <32 x i32>, ptr %in, align 4
               %behind = getelementptr i8, ptr %in, i64 128
               %high = load <32 x i32>, ptr %behind, align 4
               %a = trunc <32 x i32> %low to <32 x i16>
               %b = trunc <32 x i32> %high to <32 x i16>\n",
        );
        for part in 0..4 {
            let lanes: Vec<usize> = (0..16).map(|item| 4 * item + part).collect();
            text += &format!(
                "%part{part} = shufflevector <32 x i16> %a, <32 x i16> %b, <16 x i32> <{}>\n",
                numbers(&lanes)
            );
        }
        // Pairs of parts side by side, then all four, of each half.
        for half in [0, 8] {
            let pairs: Vec<usize> = (0..16).map(|at| half + at / 2 + at % 2 * 16).collect();
            for (name, of) in [("x", [0, 1]), ("y", [2, 3])] {
                text += &format!(
                    "%{name}{half} = shufflevector <16 x i16> %part{}, <16 x i16> %part{}, <16 x i32> <{}>\n",
                    of[0],
                    of[1],
                    numbers(&pairs)
                );
            }
            for quarter in [0, 8] {
                let all: Vec<usize> =
                    (0..16).map(|at| quarter + at / 4 * 2 + at % 2 + at % 4 / 2 * 16).collect();
                text += &format!(
                    "%all{half}_{quarter} = shufflevector <16 x i16> %x{half}, <16 x i16> %y{half}, <16 x i32> <{}>\n",
                    numbers(&all)
                );
                for last in [0, 8] {
                    let twice: Vec<usize> = (0..16).map(|at| last + at / 8 * 4 + at % 4).collect();
                    let place = 8 * half + 4 * quarter + 2 * last;
                    text += &format!(
                        "%twice{place} = shufflevector <16 x i16> %all{half}_{quarter}, <16 x i16> poison, <16 x i32> <{}>
                         %to{place} = getelementptr i16, ptr %out, i64 {place}
                         store <16 x i16> %twice{place}, ptr %to{place}, align 2\n",
                        numbers(&twice)
                    );
                }
            }
        }
        text += "ret void\n}\n";
        let input: [u32; 64] = std::array::from_fn(|at| (at as u32 + 1).wrapping_mul(0x9E37_79B9));
        for tier in [Tier::Optimising, Tier::Fast] {
            let code = compile(&text, tier).expect("compiled");
            let f: extern "C" fn(*mut u16, *const u32) = function(&code, "f");
            let mut out = [0u16; 128];
            f(out.as_mut_ptr(), input.as_ptr());
            let want: [u16; 128] = std::array::from_fn(|at| input[at / 8 * 4 + at % 4] as u16);
            assert_eq!(out, want, "{tier:?}");
        }
    }
}
