//! How large IR is, and what LLVM is asked to do with it because of that.
//!
//! Several of LLVM's passes take more than linear time: promotion of variables where there are many blocks,
//! selection and scheduling of instructions where a block is large, register allocation where many vectors are live.
//! Above a size kernels get the fast tier, whose time is linear, with their large blocks cut into pieces.

use super::blocks::{
    blocks, called_intrinsic, functions, instructions, list, moves_constants, opcode, users,
};
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
/// The same before passes, which allocate none and leave fewer: sums of loops that are split wait in memory.
const PASSES_PRESSURE: usize = 64;
/// Instructions of one block that its code generator takes, about a second for each of its passes: selection of instructions looks from
/// each at those that it depends on, and allocation of registers cuts what lives in a block at every call.
const OPTIMISED_BLOCK: usize = 3000;
/// Registers that a larger block may compute where it is arithmetic on vectors, which takes linear time, such as products by the hundred that measure a
/// processor's peak: these, these times its accesses to memory and calls, and those that are wanted at once, in units of those that the CPU has.
/// It takes three seconds at most.
const OPTIMISED_ARITHMETIC: usize = 20_000;
const OPTIMISED_LOOKS: usize = 1_200_000;
const ARITHMETIC_PRESSURE: usize = 8;
/// Instructions that one on a vector of other integers than those of 32 bits may be, or one that is no arithmetic of the processor's.
const SLOW_ARITHMETIC: usize = 8;
/// Accesses to memory in one block that it takes: scheduling compares them with each other.
const OPTIMISED_ACCESSES: usize = 800;
/// Constants that a chain of one operation may have in one block: selection of instructions moves each of them to the end of the chain, past
/// all others.
const OPTIMISED_CONSTANTS: usize = 300;
/// Operands of calls beyond those that registers have: each is a copy of its own, and copies of one value are joined one after the other.
const OPTIMISED_ARGUMENTS: usize = 3000;
/// Operands of a call that count as the call.
const FEW_ARGUMENTS: usize = 8;
/// Stores of one block that are compared with each other to find those that a call of `memset` could do.
const COMPARED_STORES: usize = 400;
/// Pairs of a block and a variable that promotion of variables may have to look at.
const PROMOTED_PAIRS: usize = 60_000_000;
/// Instructions of a block, times variables, that promotion may have to look at.
const SEARCHED_INSTRUCTIONS: usize = 20_000_000;
/// Instructions that promotion looks at to find out whether a block reads a variable before it writes it.
const SEARCHED_FOR_READS: usize = 40_000_000;
/// Ways into a block for which the graph is simplified: each of them is compared with the others.
const SIMPLIFIED_WAYS: usize = 500;
/// Blocks for which it is: empty ones that follow each other hand on all their ways, one block at a time.
const SIMPLIFIED_BLOCKS: usize = 10_000;

/// What the cost of passes and code generation depends on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Size {
    pub instructions: usize,
    /// The most of all functions.
    pub blocks: usize,
    pub variables: usize,
    /// Pairs of a block and a variable of its function.
    pub pairs: usize,
    /// The most of all blocks: instructions beside variables, loads from and stores to other than variables, those stores, and ways into it.
    pub block: usize,
    pub accesses: usize,
    /// The most accesses to memory, with those to variables, and those under masks: what is left of them when passes have run.
    pub touches: usize,
    /// Whether a block of more instructions than [`OPTIMISED_BLOCK`] is more than arithmetic.
    is_slow_block: bool,
    pub stores: usize,
    pub ways: usize,
    /// Of all blocks and the variables that they read and write: the instructions before the first of these accesses.
    pub searched: usize,
    /// The most constants of one chain of operations.
    pub constants: usize,
    /// Operands of all calls that have many.
    pub arguments: usize,
    /// Vector registers that are live at once, if blocks run in the order in which they are.
    pub pressure: usize,
    registers: usize,
}

impl Size {
    pub fn of(module: &IrModule, target: &Target) -> Size {
        let mut size = Size { registers: target.vector_registers(), ..Size::default() };
        let simd_bits = target.simd_bits() as usize;
        for function in functions(module) {
            let blocks = blocks(function);
            blocks.iter().for_each(|block| size.note(*block, simd_bits));
            let insts: Vec<LLVMValueRef> = blocks.iter().copied().flat_map(instructions).collect();
            let is_alloca = |inst: &&LLVMValueRef| opcode(**inst) == LLVMOpcode::LLVMAlloca;
            size.instructions += insts.iter().map(|inst| pieces(*inst)).sum::<usize>();
            size.blocks = size.blocks.max(blocks.len());
            let variables = insts.iter().filter(is_alloca).count();
            size.variables = size.variables.max(variables);
            size.pairs = size.pairs.saturating_add(blocks.len().saturating_mul(variables));
            if size.instructions <= OPTIMISED_INSTRUCTIONS {
                size.pressure = size.pressure.max(pressure(&insts, simd_bits));
            }
        }
        size
    }

    fn note(&mut self, block: LLVMBasicBlockRef, simd_bits: usize) {
        let insts = instructions(block);
        // What becomes registers is none, before the passes.
        let count = |of: LLVMOpcode, place: u32| {
            // SAFETY: loads and stores, which are alive and have their place as this operand.
            let in_memory =
                |inst: LLVMValueRef| unsafe { LLVMIsAAllocaInst(LLVMGetOperand(inst, place)).is_null() };
            insts.iter().filter(|inst| opcode(**inst) == of && in_memory(**inst)).count()
        };
        let (loads, stores) = (count(LLVMOpcode::LLVMLoad, 0), count(LLVMOpcode::LLVMStore, 1));
        let variables = insts.iter().filter(|inst| opcode(**inst) == LLVMOpcode::LLVMAlloca).count();
        self.block = self.block.max(insts.len() - variables);
        if insts.len() > OPTIMISED_CONSTANTS {
            self.constants = self.constants.max(constants(&insts));
        }
        self.arguments += insts.iter().map(|inst| arguments(*inst)).sum::<usize>();
        self.accesses = self.accesses.max(loads + stores);
        self.stores = self.stores.max(stores);
        self.searched += searched(&insts);
        let touches = insts.iter().filter(|inst| touches(**inst)).count();
        self.touches = self.touches.max(touches);
        self.is_slow_block |= insts.len() - variables > OPTIMISED_BLOCK && {
            let computed = insts.iter().map(|inst| arithmetic(*inst, simd_bits)).sum::<usize>();
            let looks = touches + insts.iter().filter(|inst| calls_function(**inst)).count();
            computed > OPTIMISED_ARITHMETIC || computed * looks > OPTIMISED_LOOKS
        };
        // SAFETY: the block is alive, and its uses with it.
        let ways = unsafe {
            let first = LLVMGetFirstUse(LLVMBasicBlockAsValue(block));
            list(first, |of| LLVMGetNextUse(of)).len()
        };
        self.ways = self.ways.max(ways);
    }

    /// The tier that code is generated in when passes have made it this large.
    pub fn code_tier(&self, wanted: Tier) -> Tier {
        let fits = !self.is_slow_to_select() && self.pressure <= OPTIMISED_PRESSURE * self.registers;
        if fits { self.tier(wanted) } else { Tier::Fast }
    }

    /// Whether a block is so large that selection of its instructions, or their scheduling, would take too long.
    pub fn is_slow_to_select(&self) -> bool {
        let has_large_block = self.block > OPTIMISED_BLOCK;
        self.is_slow_block
            || has_large_block && self.pressure > ARITHMETIC_PRESSURE * self.registers
            || self.touches > OPTIMISED_ACCESSES
            || self.constants > OPTIMISED_CONSTANTS
    }

    /// The tier of the passes that this much code gets.
    pub fn tier(&self, wanted: Tier) -> Tier {
        let fits = self.instructions <= OPTIMISED_INSTRUCTIONS
            && self.accesses <= OPTIMISED_ACCESSES
            && self.constants <= OPTIMISED_CONSTANTS
            && self.arguments <= OPTIMISED_ARGUMENTS
            && self.ways <= SIMPLIFIED_WAYS
            && self.pressure <= PASSES_PRESSURE * self.registers
            && self.blocks <= OPTIMISED_BLOCKS
            && self.variables <= OPTIMISED_VARIABLES;
        if fits { wanted } else { Tier::Fast }
    }

    /// Whether variables can become registers in a reasonable time.
    pub fn can_promote(&self) -> bool {
        self.pairs <= PROMOTED_PAIRS && !self.has_large_blocks()
    }

    /// Whether the graph can be simplified in a reasonable time.
    pub fn can_simplify(&self) -> bool {
        self.ways <= SIMPLIFIED_WAYS && self.blocks <= SIMPLIFIED_BLOCKS
    }

    /// Whether stores can be compared with each other.
    pub fn can_compare_stores(&self) -> bool {
        self.stores <= COMPARED_STORES
    }

    /// Whether there are blocks that are too large for a variable to be looked for in them.
    pub fn has_large_blocks(&self) -> bool {
        self.block.saturating_mul(self.variables) > SEARCHED_INSTRUCTIONS
            || self.searched > SEARCHED_FOR_READS
    }
}

/// Whether an instruction calls what is none of LLVM's own.
fn calls_function(inst: LLVMValueRef) -> bool {
    opcode(inst) == LLVMOpcode::LLVMCall && called_intrinsic(inst).is_none()
}

/// Instructions that code generation makes of one that computes.
fn arithmetic(inst: LLVMValueRef, simd_bits: usize) -> usize {
    use LLVMOpcode::*;
    let is_fast = match opcode(inst) {
        LLVMAdd | LLVMSub | LLVMMul | LLVMAnd | LLVMOr | LLVMXor | LLVMFAdd | LLVMFSub | LLVMFMul
        | LLVMFNeg | LLVMShl | LLVMLShr | LLVMAShr | LLVMPHI | LLVMBitCast => true,
        LLVMCall => called_intrinsic(inst).is_some(),
        _ => false,
    };
    // SAFETY: the instruction is alive, and so are its type and that one's element.
    let takes_more = unsafe {
        match element_and_lanes(LLVMTypeOf(inst)) {
            (element, Some(_)) => {
                LLVMGetTypeKind(element) == LLVMTypeKind::LLVMIntegerTypeKind
                    && LLVMGetIntTypeWidth(element) != 32
            }
            _ => true,
        }
    };
    registers(inst, simd_bits).max(1) * if is_fast && !takes_more { 1 } else { SLOW_ARITHMETIC }
}

/// Whether an instruction loads or stores.
fn touches(inst: LLVMValueRef) -> bool {
    match opcode(inst) {
        LLVMOpcode::LLVMLoad | LLVMOpcode::LLVMStore => true,
        _ => called_intrinsic(inst).is_some_and(|callee| {
            let mut len = 0;
            // SAFETY: a function that is alive, whose name is text of the length that is said.
            unsafe {
                let name = LLVMGetValueName2(callee, &mut len);
                std::slice::from_raw_parts(name.cast::<u8>(), len).starts_with(b"llvm.masked.")
            }
        }),
    }
}

/// The instructions of a block before the first access to each variable that it reads and writes.
fn searched(insts: &[LLVMValueRef]) -> usize {
    // By variable: the first access, and whether it is read and written.
    let mut accesses: FxHashMap<LLVMValueRef, (usize, bool, bool)> = FxHashMap::default();
    for (at, &inst) in insts.iter().enumerate() {
        let (place, reads) = match opcode(inst) {
            LLVMOpcode::LLVMLoad => (0, true),
            LLVMOpcode::LLVMStore => (1, false),
            _ => continue,
        };
        // SAFETY: a load or a store that is alive, which has its place as this operand.
        let place = unsafe { LLVMIsAAllocaInst(LLVMGetOperand(inst, place)) };
        if !place.is_null() {
            let access = accesses.entry(place).or_insert((at, false, false));
            access.1 |= reads;
            access.2 |= !reads;
        }
    }
    accesses.values().filter(|(_, read, written)| *read && *written).map(|(first, ..)| first).sum()
}

/// Operands of a call, if they are many.
fn arguments(inst: LLVMValueRef) -> usize {
    let count = match opcode(inst) {
        // SAFETY: a call that is alive.
        LLVMOpcode::LLVMCall => unsafe { LLVMGetNumArgOperands(inst) as usize },
        _ => 0,
    };
    if count > FEW_ARGUMENTS { count } else { 0 }
}

/// Instructions that code generation makes of one: integers that no register has are taken apart, lane by lane.
fn pieces(inst: LLVMValueRef) -> usize {
    const REGISTER: usize = 64;
    // SAFETY: the instruction is alive, and so are its type and that one's element.
    unsafe {
        let (element, lanes) = element_and_lanes(LLVMTypeOf(inst));
        if LLVMGetTypeKind(element) != LLVMTypeKind::LLVMIntegerTypeKind {
            return 1;
        }
        match (LLVMGetIntTypeWidth(element) as usize).div_ceil(REGISTER) {
            0 | 1 => 1,
            words => words * words * lanes.unwrap_or(1),
        }
    }
}

/// The most constants of a chain of one operation, in which they can change places with what is no constant.
fn constants(insts: &[LLVMValueRef]) -> usize {
    use LLVMOpcode::{LLVMAdd, LLVMAnd, LLVMGetElementPtr, LLVMMul, LLVMOr, LLVMXor};
    // By operation and result: the constants in front of it.
    let mut counts: FxHashMap<(u32, usize), usize> = FxHashMap::default();
    let mut most = 0;
    for &inst in insts {
        // Addresses are sums.
        let operation = match opcode(inst) {
            LLVMGetElementPtr => LLVMAdd,
            other @ (LLVMAdd | LLVMAnd | LLVMMul | LLVMOr | LLVMXor) => other,
            _ => continue,
        } as u32;
        // SAFETY: the instruction is alive, and its operands with it.
        let operands: Vec<LLVMValueRef> =
            unsafe { (0..LLVMGetNumOperands(inst) as u32).map(|at| LLVMGetOperand(inst, at)).collect() };
        let before = operands.iter().filter_map(|operand| counts.get(&(operation, *operand as usize))).max();
        let count = before.copied().unwrap_or(0) + usize::from(moves_constants(inst));
        counts.insert((operation, inst as usize), count);
        most = most.max(count);
    }
    most
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

/// What a type's values are made of, and how many of that if they are vectors.
///
/// # Safety
/// The type is alive.
unsafe fn element_and_lanes(ty: LLVMTypeRef) -> (LLVMTypeRef, Option<usize>) {
    // SAFETY: the caller's promise.
    unsafe {
        match LLVMGetTypeKind(ty) {
            LLVMTypeKind::LLVMVectorTypeKind => {
                (LLVMGetElementType(ty), Some(LLVMGetVectorSize(ty) as usize))
            }
            _ => (ty, None),
        }
    }
}

/// Vector registers that a value takes.
fn registers(value: LLVMValueRef, simd_bits: usize) -> usize {
    // SAFETY: the value is alive, and so are its type and that one's element.
    unsafe {
        let (element, Some(lanes)) = element_and_lanes(LLVMTypeOf(value)) else { return 0 };
        let bits = match LLVMGetTypeKind(element) {
            LLVMTypeKind::LLVMIntegerTypeKind => LLVMGetIntTypeWidth(element) as usize,
            LLVMTypeKind::LLVMHalfTypeKind => 16,
            LLVMTypeKind::LLVMFloatTypeKind => 32,
            _ => 64,
        };
        (lanes * bits).div_ceil(simd_bits)
    }
}
