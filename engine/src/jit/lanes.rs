//! Gathers and scatters of all lanes that no fast instruction does, taken apart.
//!
//! No processor gathers bytes and halves, and some have no scatters or slow gathers. LLVM takes those apart, too: it widens indices of 32
//! bits to addresses and moves each to a general register, of which most processors do one in a cycle. Here two indices are moved
//! at once, and added to the base by the load or store itself. Steps that are known are not computed at all.

use super::addresses::{self, Intrinsic};
use super::blocks::{blocks, functions, instructions};
use super::context::IrModule;
use super::target::Target;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMOpcode, LLVMTypeKind};

const NAME: *const std::ffi::c_char = c"".as_ptr();

/// Takes accesses apart that are not left to the code generator.
pub fn take_apart(module: &IrModule, target: &Target) {
    let intrinsics = addresses::intrinsics();
    // SAFETY: everything is the module's, and alive; what is made is in front of what it replaces.
    unsafe {
        let builder = LLVMCreateBuilderInContext(module.context().raw());
        for inst in functions(module).into_iter().flat_map(blocks).flat_map(instructions) {
            let Some(operands) = addresses::called_of(&intrinsics, inst) else { continue };
            let access = Access { builder, context: module.context().raw(), inst, operands };
            if access.is_of_all_lanes() && access.is_slow(target) {
                access.take_apart();
            }
        }
        LLVMDisposeBuilder(builder);
    }
}

struct Access<'o> {
    builder: LLVMBuilderRef,
    context: LLVMContextRef,
    inst: LLVMValueRef,
    operands: &'o Intrinsic,
}

impl Access<'_> {
    unsafe fn operand(&self, number: u32) -> LLVMValueRef {
        // SAFETY: the instruction is alive and has that many.
        unsafe { LLVMGetOperand(self.inst, number) }
    }

    unsafe fn is_of_all_lanes(&self) -> bool {
        // SAFETY: as above.
        unsafe {
            let mask = self.operand(self.operands.mask);
            mask == LLVMConstAllOnes(LLVMTypeOf(mask))
        }
    }

    /// The type of what is accessed, a vector.
    unsafe fn ty(&self) -> LLVMTypeRef {
        // SAFETY: as above.
        unsafe { LLVMTypeOf(self.operands.value.map_or(self.inst, |value| self.operand(value))) }
    }

    /// Whether there is no instruction for it, or a slow one.
    unsafe fn is_slow(&self, target: &Target) -> bool {
        // SAFETY: the type is alive.
        unsafe {
            let element = LLVMGetElementType(self.ty());
            let narrow = match LLVMGetTypeKind(element) {
                LLVMTypeKind::LLVMHalfTypeKind => true,
                LLVMTypeKind::LLVMIntegerTypeKind => LLVMGetIntTypeWidth(element) < u32::BITS,
                _ => false,
            };
            narrow
                || if self.operands.value.is_some() { !target.has_avx512() } else { target.gathers_by_lane() }
        }
    }

    unsafe fn take_apart(&self) {
        // SAFETY: as above.
        unsafe {
            LLVMPositionBuilderBefore(self.builder, self.inst);
            let addresses = self.displaced().or_else(|| self.indexed()).unwrap_or_else(|| self.extracted());
            let (ty, word) = (self.ty(), LLVMInt32TypeInContext(self.context));
            let mut all = LLVMGetPoison(ty);
            for (lane, address) in addresses.into_iter().enumerate() {
                let lane = LLVMConstInt(word, lane as u64, 0);
                let access = match self.operands.value {
                    None => LLVMBuildLoad2(self.builder, LLVMGetElementType(ty), address, NAME),
                    Some(value) => {
                        let value = LLVMBuildExtractElement(self.builder, self.operand(value), lane, NAME);
                        LLVMBuildStore(self.builder, value, address)
                    }
                };
                let align = LLVMConstIntGetZExtValue(self.operand(self.operands.addresses + 1));
                LLVMSetAlignment(access, align as u32);
                if self.operands.value.is_none() {
                    all = LLVMBuildInsertElement(self.builder, all, access, lane, NAME);
                }
            }
            if self.operands.value.is_none() {
                LLVMReplaceAllUsesWith(self.inst, all);
            }
            LLVMInstructionEraseFromParent(self.inst);
        }
    }

    unsafe fn extracted(&self) -> Vec<LLVMValueRef> {
        // SAFETY: as above.
        unsafe {
            let addresses = self.operand(self.operands.addresses);
            let word = LLVMInt32TypeInContext(self.context);
            let lane = |lane: u32| LLVMConstInt(word, lane.into(), 0);
            let of_lane = |at: u32| LLVMBuildExtractElement(self.builder, addresses, lane(at), NAME);
            (0..LLVMGetVectorSize(LLVMTypeOf(addresses))).map(of_lane).collect()
        }
    }

    /// The address of each lane, where they are a base and indices that are known: displacements, which a load or store has room for.
    unsafe fn displaced(&self) -> Option<Vec<LLVMValueRef>> {
        // SAFETY: as above.
        unsafe {
            let addresses = self.operand(self.operands.addresses);
            if !addresses::has_scalar_base(addresses) {
                return None;
            }
            let (base, indices) = (LLVMGetOperand(addresses, 0), LLVMGetOperand(addresses, 1));
            if LLVMIsAConstantDataVector(indices).is_null() {
                return None;
            }
            let element = LLVMGetGEPSourceElementType(addresses);
            let of_lane = |lane: u32| {
                let mut index = LLVMGetAggregateElement(indices, lane);
                LLVMBuildGEP2(self.builder, element, base, &raw mut index, 1, NAME)
            };
            Some((0..LLVMGetVectorSize(LLVMTypeOf(addresses))).map(of_lane).collect())
        }
    }

    /// The address of each lane, where they are a base and an even number of indices of 32 bits.
    unsafe fn indexed(&self) -> Option<Vec<LLVMValueRef>> {
        // SAFETY: as above.
        unsafe {
            let addresses = self.operand(self.operands.addresses);
            if !addresses::has_scalar_base(addresses) {
                return None;
            }
            let (base, widened) = (LLVMGetOperand(addresses, 0), LLVMGetOperand(addresses, 1));
            let is_signed = addresses::is(widened, &[LLVMOpcode::LLVMSExt]);
            if !is_signed && !addresses::is(widened, &[LLVMOpcode::LLVMZExt]) {
                return None;
            }
            let indices = LLVMGetOperand(widened, 0);
            let (ty, lanes) = (LLVMTypeOf(indices), LLVMGetVectorSize(LLVMTypeOf(indices)));
            let word = LLVMInt32TypeInContext(self.context);
            if LLVMGetElementType(ty) != word || lanes % 2 != 0 {
                return None;
            }
            let double = LLVMInt64TypeInContext(self.context);
            let pairs = LLVMBuildBitCast(self.builder, indices, LLVMVectorType(double, lanes / 2), NAME);
            let element = LLVMGetGEPSourceElementType(addresses);
            let half = LLVMConstInt(double, u64::from(u32::BITS), 0);
            let mut of_lanes = Vec::with_capacity(lanes as usize);
            for pair in 0..lanes / 2 {
                let at = LLVMConstInt(word, pair.into(), 0);
                let both = LLVMBuildExtractElement(self.builder, pairs, at, NAME);
                let low = LLVMBuildTrunc(self.builder, both, word, NAME);
                let (low, high) = match is_signed {
                    true => (
                        LLVMBuildSExt(self.builder, low, double, NAME),
                        LLVMBuildAShr(self.builder, both, half, NAME),
                    ),
                    false => (
                        LLVMBuildZExt(self.builder, low, double, NAME),
                        LLVMBuildLShr(self.builder, both, half, NAME),
                    ),
                };
                for mut index in [low, high] {
                    of_lanes.push(LLVMBuildGEP2(self.builder, element, base, &raw mut index, 1, NAME));
                }
            }
            Some(of_lanes)
        }
    }
}
