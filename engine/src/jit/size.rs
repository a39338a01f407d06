//! How large IR is, and what LLVM is asked to do with it because of that.
//!
//! Several of LLVM's passes take more than linear time: promotion of variables where there are many blocks,
//! selection and scheduling of instructions where a block is large, register allocation where many vectors are live.
//! Above a size kernels get the fast tier, whose time is linear, with their large blocks cut into pieces.

use super::context::IrModule;
use super::pipeline::Tier;
use super::target::Target;
use llvm_sys::LLVMOpcode;
use llvm_sys::LLVMTypeKind;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use rustc_hash::FxHashMap;

/// Instructions that the optimising tier takes: about two seconds of passes and code generation.
const OPTIMISED_INSTRUCTIONS: usize = 16_000;
/// Blocks, and variables, that it takes: passes over loops and over memory look at each from several others.
const OPTIMISED_BLOCKS: usize = 1000;
const OPTIMISED_VARIABLES: usize = 1000;
/// Vector registers that may be wanted at once, in units of those that the CPU has: greedy allocation of 32 takes two seconds, of
/// more minutes, and the code is loads and stores of spilled registers anyway. Values that live on in blocks far below count
/// as live in all blocks between, so that real kernels, such as merging sorts, have eight and more.
const OPTIMISED_PRESSURE: usize = 32;
/// Instructions of one block that its code generator takes: selection of instructions looks from each at those that it depends on.
const OPTIMISED_BLOCK: usize = 8000;
/// Accesses to memory in one block that it takes: scheduling compares them with each other.
const OPTIMISED_ACCESSES: usize = 2000;
/// Stores of one block that are compared with each other to find those that a call of `memset` could do.
const COMPARED_STORES: usize = 400;
/// Pairs of a block and a variable that promotion of variables may have to look at.
const PROMOTED_PAIRS: usize = 1_000_000;
/// Instructions of a block, times variables, that promotion may have to look at.
const SEARCHED_INSTRUCTIONS: usize = 20_000_000;
/// Ways into a block for which the graph is simplified: each of them is compared with the others.
const SIMPLIFIED_WAYS: usize = 500;
/// Instructions of a block for instruction selection.
const BLOCK_INSTRUCTIONS: usize = 400;

/// What the cost of passes and code generation depends on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Size {
    pub instructions: usize,
    /// The most of all functions.
    pub blocks: usize,
    pub variables: usize,
    /// The most of all blocks: instructions beside variables, loads from and stores to other than variables, those stores, and ways into it.
    pub block: usize,
    pub accesses: usize,
    pub stores: usize,
    pub ways: usize,
    /// Vector registers that are live at once, if blocks run in the order in which they are.
    pub pressure: usize,
    registers: usize,
}

impl Size {
    pub fn of(module: &IrModule, target: &Target) -> Size {
        let mut size = Size { registers: target.vector_registers(), ..Size::default() };
        for function in functions(module) {
            let blocks = blocks(function);
            blocks.iter().for_each(|block| size.note(*block));
            let insts: Vec<LLVMValueRef> = blocks.iter().copied().flat_map(instructions).collect();
            let is_alloca = |inst: &&LLVMValueRef| opcode(**inst) == LLVMOpcode::LLVMAlloca;
            size.instructions += insts.len();
            size.blocks = size.blocks.max(blocks.len());
            size.variables = size.variables.max(insts.iter().filter(is_alloca).count());
            if size.instructions <= OPTIMISED_INSTRUCTIONS {
                size.pressure = size.pressure.max(pressure(&insts, target.simd_bits() as usize));
            }
        }
        size
    }

    fn note(&mut self, block: LLVMBasicBlockRef) {
        let insts = instructions(block);
        // What becomes registers is none.
        let count = |of: LLVMOpcode, place: u32| {
            // SAFETY: loads and stores, which are alive and have their place as this operand.
            let in_memory =
                |inst: LLVMValueRef| unsafe { LLVMIsAAllocaInst(LLVMGetOperand(inst, place)).is_null() };
            insts.iter().filter(|inst| opcode(**inst) == of && in_memory(**inst)).count()
        };
        let (loads, stores) = (count(LLVMOpcode::LLVMLoad, 0), count(LLVMOpcode::LLVMStore, 1));
        let variables = insts.iter().filter(|inst| opcode(**inst) == LLVMOpcode::LLVMAlloca).count();
        self.block = self.block.max(insts.len() - variables);
        self.accesses = self.accesses.max(loads + stores);
        self.stores = self.stores.max(stores);
        // SAFETY: the block is alive, and its uses with it.
        let ways = unsafe {
            let first = LLVMGetFirstUse(LLVMBasicBlockAsValue(block));
            list(first, |of| LLVMGetNextUse(of)).len()
        };
        self.ways = self.ways.max(ways);
    }

    /// The tier that code is generated in when passes have made it this large.
    pub fn code_tier(&self, wanted: Tier) -> Tier {
        if self.block <= OPTIMISED_BLOCK { self.tier(wanted) } else { Tier::Fast }
    }

    /// The tier that this much code gets.
    pub fn tier(&self, wanted: Tier) -> Tier {
        let fits = self.instructions <= OPTIMISED_INSTRUCTIONS
            && self.accesses <= OPTIMISED_ACCESSES
            && self.ways <= SIMPLIFIED_WAYS
            && self.pressure <= OPTIMISED_PRESSURE * self.registers
            && self.blocks <= OPTIMISED_BLOCKS
            && self.variables <= OPTIMISED_VARIABLES;
        if fits { wanted } else { Tier::Fast }
    }

    /// Whether variables can become registers in a reasonable time.
    pub fn can_promote(&self) -> bool {
        self.blocks.saturating_mul(self.variables) <= PROMOTED_PAIRS
            && self.block.saturating_mul(self.variables) <= SEARCHED_INSTRUCTIONS
    }

    /// Whether the graph can be simplified in a reasonable time.
    pub fn can_simplify(&self) -> bool {
        self.ways <= SIMPLIFIED_WAYS
    }

    /// Whether stores can be compared with each other.
    pub fn can_compare_stores(&self) -> bool {
        self.stores <= COMPARED_STORES
    }

    /// Whether there are blocks that are too large for a variable to be looked for in them.
    pub fn has_large_blocks(&self) -> bool {
        self.block.saturating_mul(self.variables) > SEARCHED_INSTRUCTIONS
    }
}

/// The most vector registers that are live at once, from definitions to last uses in the order of the instructions.
fn pressure(insts: &[LLVMValueRef], simd_bits: usize) -> usize {
    let place: FxHashMap<usize, usize> =
        insts.iter().enumerate().map(|(at, inst)| (*inst as usize, at)).collect();
    let mut change = vec![0isize; insts.len() + 1];
    for (at, &inst) in insts.iter().enumerate() {
        let registers = registers(inst, simd_bits) as isize;
        if registers == 0 {
            continue;
        }
        let last = users(inst).into_iter().filter_map(|user| place.get(&(user as usize)).copied()).max();
        if let Some(last) = last.filter(|last| *last > at) {
            change[at] += registers;
            change[last] -= registers;
        }
    }
    let mut live = 0isize;
    let most = change.into_iter().map(|change| {
        live += change;
        live
    });
    most.max().unwrap_or(0).max(0) as usize
}

/// Vector registers that a value takes.
fn registers(value: LLVMValueRef, simd_bits: usize) -> usize {
    // SAFETY: the value is alive, and so are its type and that one's element.
    unsafe {
        let ty = LLVMTypeOf(value);
        if LLVMGetTypeKind(ty) != LLVMTypeKind::LLVMVectorTypeKind {
            return 0;
        }
        let element = LLVMGetElementType(ty);
        let bits = match LLVMGetTypeKind(element) {
            LLVMTypeKind::LLVMIntegerTypeKind => LLVMGetIntTypeWidth(element) as usize,
            LLVMTypeKind::LLVMHalfTypeKind => 16,
            LLVMTypeKind::LLVMFloatTypeKind => 32,
            _ => 64,
        };
        (LLVMGetVectorSize(ty) as usize * bits).div_ceil(simd_bits)
    }
}

/// Cuts large blocks into several that follow each other.
pub fn split_blocks(module: &IrModule) {
    // SAFETY: the module's context lives; the builder is ours and used by this thread only.
    unsafe {
        let context = module.context().raw();
        let builder = LLVMCreateBuilderInContext(context);
        for function in functions(module) {
            for block in blocks(function) {
                split(context, builder, block);
            }
        }
        LLVMDisposeBuilder(builder);
    }
}

/// Moves all but the last instructions of a block to new blocks in front of it. The block keeps its terminator, so that
/// phis behind it need no change.
///
/// # Safety
/// Context, builder and block are alive and belong together.
unsafe fn split(context: LLVMContextRef, builder: LLVMBuilderRef, block: LLVMBasicBlockRef) {
    let insts = instructions(block);
    if insts.len() <= 2 * BLOCK_INSTRUCTIONS {
        return;
    }
    // Phis stay in front, and so do variables: elsewhere they would be allocated each time round.
    let (front, rest): (Vec<LLVMValueRef>, Vec<LLVMValueRef>) = insts
        .into_iter()
        .partition(|inst| matches!(opcode(*inst), LLVMOpcode::LLVMPHI | LLVMOpcode::LLVMAlloca));
    // SAFETY: the caller's promise; instructions are moved from one list to another, and each use of a block as a
    // target is changed by its terminator.
    unsafe {
        let entering = users(LLVMBasicBlockAsValue(block));
        let pieces: Vec<&[LLVMValueRef]> = rest.chunks(BLOCK_INSTRUCTIONS).collect();
        let Some((_, moved)) = pieces.split_last() else { return };
        let new: Vec<LLVMBasicBlockRef> =
            moved.iter().map(|_| LLVMInsertBasicBlockInContext(context, block, c"".as_ptr())).collect();
        let Some(&first) = new.first() else { return };
        for branch in entering {
            for at in 0..LLVMGetNumSuccessors(branch) {
                if LLVMGetSuccessor(branch, at) == block {
                    LLVMSetSuccessor(branch, at, first);
                }
            }
        }
        for (at, piece) in moved.iter().enumerate() {
            LLVMPositionBuilderAtEnd(builder, new[at]);
            let begin: &[LLVMValueRef] = if at == 0 { &front } else { &[] };
            for inst in begin.iter().chain(*piece) {
                LLVMInstructionRemoveFromParent(*inst);
                LLVMInsertIntoBuilder(builder, *inst);
            }
            LLVMBuildBr(builder, new.get(at + 1).copied().unwrap_or(block));
        }
    }
}

pub(super) fn opcode(inst: LLVMValueRef) -> LLVMOpcode {
    // SAFETY: an instruction that is alive.
    unsafe { LLVMGetInstructionOpcode(inst) }
}

pub(super) fn functions(module: &IrModule) -> Vec<LLVMValueRef> {
    // SAFETY: the module is alive.
    unsafe { list(LLVMGetFirstFunction(module.raw()), |function| LLVMGetNextFunction(function)) }
}

pub(super) fn blocks(function: LLVMValueRef) -> Vec<LLVMBasicBlockRef> {
    // SAFETY: the function is alive.
    unsafe { list(LLVMGetFirstBasicBlock(function), |block| LLVMGetNextBasicBlock(block)) }
}

pub(super) fn instructions(block: LLVMBasicBlockRef) -> Vec<LLVMValueRef> {
    // SAFETY: the block is alive.
    unsafe { list(LLVMGetFirstInstruction(block), |inst| LLVMGetNextInstruction(inst)) }
}

/// The instructions that use a value.
fn users(value: LLVMValueRef) -> Vec<LLVMValueRef> {
    // SAFETY: the value is alive, and its uses with it.
    unsafe {
        let uses = list(LLVMGetFirstUse(value), |of| LLVMGetNextUse(of));
        uses.into_iter().map(|of| LLVMGetUser(of)).collect()
    }
}

fn list<T>(first: *mut T, next: impl Fn(*mut T) -> *mut T) -> Vec<*mut T> {
    let mut all = Vec::new();
    let mut at = first;
    while !at.is_null() {
        all.push(at);
        at = next(at);
    }
    all
}
