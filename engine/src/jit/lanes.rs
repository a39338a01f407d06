//! Gathers and scatters that no fast instruction does, taken apart.
//!
//! No processor gathers bytes and halves, and some have no scatters or slow gathers. LLVM takes those apart, too: it widens indices of 32
//! bits to addresses and moves each to a general register, of which most processors do one in a cycle. Here two indices are moved
//! at once, and added to the base by the load or store itself. Steps that are known are not computed at all.
//!
//! Under a mask LLVM makes a branch around each lane's access. Masks come from data, and what data decides is mispredicted: sixteen bytes
//! took thirty nanoseconds. Here lanes that are off access a place of the function's own.

use super::addresses::{self, Intrinsic};
use super::blocks::{blocks, functions, instructions, room};
use super::context::IrModule;
use super::pieces::{self, splat};
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
        for function in functions(module) {
            let mut nowhere = None;
            for inst in blocks(function).into_iter().flat_map(instructions) {
                let Some(operands) = addresses::called_of(&intrinsics, inst) else { continue };
                let access = Access { builder, context: module.context().raw(), inst, operands };
                if access.is_of_all_lanes() {
                    if access.is_slow(target) {
                        access.take_apart(None);
                    }
                } else if access.is_branches(target) {
                    let place = *nowhere.get_or_insert_with(|| access.place(function));
                    access.take_apart(Some(place));
                }
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

    /// Whether elements are smaller than what processors gather and scatter.
    unsafe fn is_narrow(&self) -> bool {
        // SAFETY: the type is alive.
        unsafe {
            let element = LLVMGetElementType(self.ty());
            match LLVMGetTypeKind(element) {
                LLVMTypeKind::LLVMHalfTypeKind => true,
                LLVMTypeKind::LLVMIntegerTypeKind => LLVMGetIntTypeWidth(element) < u32::BITS,
                _ => false,
            }
        }
    }

    /// Whether there is no instruction for it, or a slow one.
    unsafe fn is_slow(&self, target: &Target) -> bool {
        let slow =
            if self.operands.value.is_some() { !target.has_avx512() } else { target.gathers_by_lane() };
        // SAFETY: as above.
        slow || unsafe { self.is_narrow() }
    }

    /// Whether there is no instruction for it, so that under a mask it is a branch a lane.
    unsafe fn is_branches(&self, target: &Target) -> bool {
        // SAFETY: as above.
        !target.has_feature(self.operands.feature) || unsafe { self.is_narrow() }
    }

    /// Memory of a function that lanes may access which are off.
    unsafe fn place(&self, function: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: as above; a function with instructions has a first one.
        unsafe {
            let bytes = LLVMVectorType(LLVMInt64TypeInContext(self.context), 2);
            let place = room(self.builder, function, bytes);
            LLVMBuildStore(self.builder, LLVMConstNull(bytes), place);
            place
        }
    }

    /// Makes an access of each lane. Those that are off have theirs at a place where nothing is, if there is a mask.
    unsafe fn take_apart(&self, nowhere: Option<LLVMValueRef>) {
        // SAFETY: as above.
        unsafe {
            LLVMPositionBuilderBefore(self.builder, self.inst);
            let addresses = match nowhere {
                None => self.displaced().or_else(|| self.indexed()).unwrap_or_else(|| self.extracted()),
                Some(place) => {
                    let addresses = self.operand(self.operands.addresses);
                    let places = splat(self.builder, place, LLVMTypeOf(addresses));
                    let mask = self.operand(self.operands.mask);
                    self.lanes_of(LLVMBuildSelect(self.builder, mask, addresses, places, NAME))
                }
            };
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
                if nowhere.is_some() {
                    // What lanes that are off have stands behind the mask.
                    let [mask, others] = [0, 1].map(|at| self.operand(self.operands.mask + at));
                    all = LLVMBuildSelect(self.builder, mask, all, others, NAME);
                }
                LLVMReplaceAllUsesWith(self.inst, all);
            }
            LLVMInstructionEraseFromParent(self.inst);
        }
    }

    unsafe fn extracted(&self) -> Vec<LLVMValueRef> {
        // SAFETY: as above.
        unsafe { self.lanes_of(self.operand(self.operands.addresses)) }
    }

    unsafe fn lanes_of(&self, addresses: LLVMValueRef) -> Vec<LLVMValueRef> {
        // SAFETY: as above.
        unsafe {
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
            // What LLVM 19 knows of some of a pair's bits has it take the pair for its lower half where it matches an address.
            let mut parameter = double;
            let hidden = LLVMFunctionType(double, &raw mut parameter, 1, 0);
            let hide = pieces::empty_assembly(hidden, "=r,0", false);
            let element = LLVMGetGEPSourceElementType(addresses);
            let half = LLVMConstInt(double, u64::from(u32::BITS), 0);
            let mut of_lanes = Vec::with_capacity(lanes as usize);
            for pair in 0..lanes / 2 {
                let at = LLVMConstInt(word, pair.into(), 0);
                let mut both = LLVMBuildExtractElement(self.builder, pairs, at, NAME);
                both = LLVMBuildCall2(self.builder, hidden, hide, &raw mut both, 1, NAME);
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
