//! Lanes whose numbers are computed, taken out of vectors by way of memory.
//!
//! A broadcast by a loop's counter, of which kernels for sub-groups make their products of matrices, takes one lane out of a vector that the loop does not
//! change. The vector is stored where it is made, and in the loop its lane is loaded, into all lanes of a register at the same cost. LLVM stores
//! it each time.

use super::blocks::{blocks, functions, instructions, opcode, room};
use super::context::IrModule;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMOpcode, LLVMTypeKind};
use rustc_hash::FxHashMap;

const NAME: *const std::ffi::c_char = c"".as_ptr();

/// Vectors of a function that get a place of their own: others are stored each time.
const MOST_PLACES: usize = 64;

/// Stores vectors behind what makes them, if lanes are taken out of them by numbers that are computed.
pub fn load_lanes(module: &IrModule) {
    // SAFETY: everything is the module's, and alive; what is made dominates what uses it, which the vector dominated.
    unsafe {
        let builder = LLVMCreateBuilderInContext(module.context().raw());
        for function in functions(module) {
            let mut places = FxHashMap::default();
            for inst in blocks(function).into_iter().flat_map(instructions) {
                if let Some(lanes) = picked_lanes(inst)
                    && let Some(place) = place(builder, LLVMGetOperand(inst, 0), &mut places)
                {
                    load(builder, inst, place, lanes);
                }
            }
        }
        LLVMDisposeBuilder(builder);
    }
}

/// The lanes of the vector that an instruction takes one out of, by a number that is not constant.
unsafe fn picked_lanes(inst: LLVMValueRef) -> Option<u32> {
    if opcode(inst) != LLVMOpcode::LLVMExtractElement {
        return None;
    }
    // SAFETY: the caller's instruction is alive, and its operands with it.
    unsafe {
        let lanes = LLVMGetVectorSize(LLVMTypeOf(LLVMGetOperand(inst, 0)));
        let ty = LLVMTypeOf(inst);
        let is_in_memory = match LLVMGetTypeKind(ty) {
            LLVMTypeKind::LLVMFloatTypeKind | LLVMTypeKind::LLVMDoubleTypeKind => true,
            LLVMTypeKind::LLVMIntegerTypeKind => matches!(LLVMGetIntTypeWidth(ty), 32 | 64),
            _ => false,
        };
        let is_computed = LLVMIsConstant(LLVMGetOperand(inst, 1)) == 0;
        (is_computed && is_in_memory && lanes.is_power_of_two()).then_some(lanes)
    }
}

/// Where a vector is in memory.
unsafe fn place(
    builder: LLVMBuilderRef,
    vector: LLVMValueRef,
    places: &mut FxHashMap<LLVMValueRef, LLVMValueRef>,
) -> Option<LLVMValueRef> {
    if let Some(place) = places.get(&vector) {
        return Some(*place);
    }
    // SAFETY: the caller's vector is alive, and its function with it.
    unsafe {
        if LLVMIsAInstruction(vector).is_null() || places.len() == MOST_PLACES {
            return None;
        }
        let function = LLVMGetBasicBlockParent(LLVMGetInstructionParent(vector));
        let place = room(builder, function, LLVMTypeOf(vector));
        let mut next = LLVMGetNextInstruction(vector);
        while !LLVMIsAPHINode(next).is_null() {
            next = LLVMGetNextInstruction(next);
        }
        LLVMPositionBuilderBefore(builder, next);
        LLVMBuildStore(builder, vector, place);
        places.insert(vector, place);
        Some(place)
    }
}

/// Loads the lane that an instruction takes out.
unsafe fn load(builder: LLVMBuilderRef, inst: LLVMValueRef, place: LLVMValueRef, lanes: u32) {
    // SAFETY: the caller's values are alive.
    unsafe {
        LLVMPositionBuilderBefore(builder, inst);
        // No address is made of what is undefined, nor of what is beyond the vector.
        let number = LLVMBuildFreeze(builder, LLVMGetOperand(inst, 1), NAME);
        let last = LLVMConstInt(LLVMTypeOf(number), u64::from(lanes - 1), 0);
        let number = LLVMBuildAnd(builder, number, last, NAME);
        let wide = LLVMInt64TypeInContext(LLVMGetTypeContext(LLVMTypeOf(inst)));
        let mut number = LLVMBuildIntCast2(builder, number, wide, 0, NAME);
        let address = LLVMBuildInBoundsGEP2(builder, LLVMTypeOf(inst), place, &raw mut number, 1, NAME);
        let lane = LLVMBuildLoad2(builder, LLVMTypeOf(inst), address, NAME);
        LLVMReplaceAllUsesWith(inst, lane);
        LLVMInstructionEraseFromParent(inst);
    }
}

#[cfg(test)]
mod tests {
    use super::super::pipeline::{self, Tier};
    use super::super::target::{Isa, Target};
    use super::super::tests::{compile, function};
    use super::super::{Context, IrModule};

    /// Stores lanes of a vector, by a counter that goes round.
    const LANES: &str = "define void @f(ptr %in, ptr %out, i64 %n) {
        entry:
          %v = load <16 x float>, ptr %in, align 4
          %d = fadd <16 x float> %v, %v
          br label %loop
        loop:
          %i = phi i64 [ 0, %entry ], [ %j, %loop ]
          %lane = and i64 %i, 15
          %x = extractelement <16 x float> %d, i64 %lane
          %a = getelementptr float, ptr %out, i64 %i
          store float %x, ptr %a, align 4
          %j = add i64 %i, 1
          %end = icmp eq i64 %j, %n
          br i1 %end, label %behind, label %loop
        behind:
          ret void
        }";

    #[test]
    fn a_vector_is_stored_once_in_front_of_the_loop_that_takes_its_lanes() {
        let target = Target::limited(Isa::Avx2).expect("a target machine");
        let context = Context::new();
        let ir = IrModule::parse(&context, LANES, &target).expect("IR");
        pipeline::optimise(&ir, &target, Tier::Optimising).expect("passes");
        ir.verify().expect("valid");
        let text = ir.text();
        assert!(!text.contains("extractelement") && text.matches("store <16 x float>").count() == 1);
        let store = text.find("store <16 x float>").expect("a store");
        assert!(store < text.find("phi i64").expect("a loop"));
    }

    #[test]
    fn lanes_are_those_of_the_vector() {
        let input: Vec<f32> = (0..16).map(|lane| lane as f32 * 1.5).collect();
        for tier in [Tier::Fast, Tier::Optimising] {
            let code = compile(LANES, tier).expect("code");
            let f: extern "C" fn(*const f32, *mut f32, u64) = function(&code, "f");
            let mut out = vec![0.0; 40];
            f(input.as_ptr(), out.as_mut_ptr(), out.len() as u64);
            let expected: Vec<f32> = (0..out.len()).map(|at| 2.0 * input[at % 16]).collect();
            assert_eq!(out, expected);
        }
    }
}
