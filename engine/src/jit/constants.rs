//! Vector constants in a table of the module's own, for two reasons.
//!
//! LLVM's code generator keeps the constants of a function in a list, which it searches from its start for each use: with as many
//! constants as instructions, such as the cases of a large switch, that takes quadratic time. What is loaded from a variable is no
//! constant to it, and the same memory operand in the code ([`tabulate`]).
//!
//! And it makes a register of ones to add 1 by subtracting it, with AVX-512 by an instruction that waits for what the register had
//! (`vpternlogd`). Where registers are few it does so in each iteration, and a loop's counter waits for the register's last use:
//! five times as long for one with an exponential ([`hide_ones`]). A constant that is loaded once, at the function's start, stays in a
//! register or is loaded again.

use super::blocks::{blocks, functions, instructions, opcode};
use super::context::IrModule;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMLinkage, LLVMOpcode, LLVMTypeKind, LLVMValueKind};
use rustc_hash::{FxHashMap, FxHashSet};

/// Constants of a function that the code generator's list may have: it takes a few milliseconds.
const LISTED: usize = 2000;

/// The constants of one type, in the order of their first use.
#[derive(Default)]
struct Table {
    values: Vec<LLVMValueRef>,
    places: FxHashMap<LLVMValueRef, usize>,
    uses: Vec<Use>,
}

/// Where constants are loaded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loads {
    OfEachUse,
    /// Each once, where the function begins.
    OfFunction,
}

/// An instruction that uses a constant, as which operand, and the constant's place in its table.
struct Use {
    inst: LLVMValueRef,
    operand: u32,
    place: usize,
}

/// Has functions load their vector constants where they are many.
pub fn tabulate(module: &IrModule) {
    let mut tables: FxHashMap<LLVMTypeRef, Table> = FxHashMap::default();
    for function in functions(module) {
        let used = used(function);
        let distinct: FxHashSet<LLVMValueRef> = used.iter().map(|(_, _, value)| *value).collect();
        if distinct.len() <= LISTED {
            continue;
        }
        for (inst, operand, value) in used {
            // SAFETY: a constant that is alive.
            tables.entry(unsafe { LLVMTypeOf(value) }).or_default().add(inst, operand, value);
        }
    }
    tables.into_iter().for_each(|(ty, mut table)| table.load(module, ty, Loads::OfEachUse));
}

/// Has functions load vectors of ones and of minus ones that are added, if they fill a register of AVX-512.
pub fn hide_ones(module: &IrModule) {
    const REGISTER: u32 = 512;
    let mut tables: FxHashMap<LLVMTypeRef, Table> = FxHashMap::default();
    for inst in functions(module).into_iter().flat_map(blocks).flat_map(instructions) {
        if !matches!(opcode(inst), LLVMOpcode::LLVMAdd | LLVMOpcode::LLVMSub) {
            continue;
        }
        // SAFETY: an instruction of two operands that is alive, and its type and operands with it.
        unsafe {
            let ty = LLVMTypeOf(inst);
            if LLVMGetTypeKind(ty) != LLVMTypeKind::LLVMVectorTypeKind
                || LLVMGetVectorSize(ty) * LLVMGetIntTypeWidth(LLVMGetElementType(ty)) < REGISTER
            {
                continue;
            }
            let ones = LLVMConstAllOnes(ty);
            for (operand, value) in (0..2).map(|operand| (operand, LLVMGetOperand(inst, operand))) {
                if value == ones || value == LLVMConstNeg(ones) {
                    tables.entry(ty).or_default().add(inst, operand, value);
                }
            }
        }
    }
    tables.into_iter().for_each(|(ty, mut table)| table.load(module, ty, Loads::OfFunction));
}

/// The vector constants of a function that the code generator has in its list: instruction, operand, constant.
fn used(function: LLVMValueRef) -> Vec<(LLVMValueRef, u32, LLVMValueRef)> {
    let insts = blocks(function).into_iter().flat_map(instructions);
    let has_place =
        |inst: &LLVMValueRef| !matches!(opcode(*inst), LLVMOpcode::LLVMPHI | LLVMOpcode::LLVMShuffleVector);
    let of_inst = |inst: LLVMValueRef| {
        // SAFETY: an instruction that is alive, and its operands with it.
        let operands = unsafe {
            (0..LLVMGetNumOperands(inst) as u32).map(move |at| (inst, at, LLVMGetOperand(inst, at)))
        };
        operands.filter(|(_, _, value)| is_listed(*value))
    };
    insts.filter(has_place).flat_map(of_inst).collect()
}

/// Whether a value is a constant that takes memory. Zeros do not, nor do all ones.
fn is_listed(value: LLVMValueRef) -> bool {
    // SAFETY: a value that is alive, and its type and elements with it.
    unsafe {
        LLVMGetValueKind(value) == LLVMValueKind::LLVMConstantDataVectorValueKind
            && LLVMIsNull(value) == 0
            && value != LLVMConstAllOnes(LLVMTypeOf(value))
    }
}

impl Table {
    fn add(&mut self, inst: LLVMValueRef, operand: u32, value: LLVMValueRef) {
        let next = self.values.len();
        let place = *self.places.entry(value).or_insert(next);
        if place == next {
            self.values.push(value);
        }
        self.uses.push(Use { inst, operand, place });
    }

    /// Makes the table, and the loads.
    fn load(&mut self, module: &IrModule, ty: LLVMTypeRef, loads: Loads) {
        let mut loaded: FxHashMap<(LLVMValueRef, usize), LLVMValueRef> = FxHashMap::default();
        // SAFETY: the module and its context live, and what is in the table is theirs; the builder is ours and used by this
        // thread only. A load is put in front of the instruction that uses it, or of all that its function has.
        unsafe {
            let context = module.context().raw();
            let builder = LLVMCreateBuilderInContext(context);
            let all = LLVMConstArray2(ty, self.values.as_mut_ptr(), self.values.len() as u64);
            let of_all = LLVMTypeOf(all);
            let table = LLVMAddGlobal(module.raw(), of_all, c"".as_ptr());
            LLVMSetInitializer(table, all);
            LLVMSetGlobalConstant(table, 1);
            LLVMSetLinkage(table, LLVMLinkage::LLVMPrivateLinkage);
            let number = LLVMInt64TypeInContext(context);
            for of in &self.uses {
                let mut at = [0, of.place as u64].map(|at| LLVMConstInt(number, at, 0));
                let place = LLVMConstInBoundsGEP2(of_all, table, at.as_mut_ptr(), at.len() as u32);
                let function = LLVMGetBasicBlockParent(LLVMGetInstructionParent(of.inst));
                let load = |before: LLVMValueRef| {
                    LLVMPositionBuilderBefore(builder, before);
                    LLVMBuildLoad2(builder, ty, place, c"".as_ptr())
                };
                let value = match loads {
                    Loads::OfEachUse => load(of.inst),
                    Loads::OfFunction => *loaded
                        .entry((function, of.place))
                        .or_insert_with(|| load(LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function)))),
                };
                LLVMSetOperand(of.inst, of.operand, value);
            }
            LLVMDisposeBuilder(builder);
        }
    }
}
