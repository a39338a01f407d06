//! Blocks of IR: lists of what is in them, large ones cut to pieces, and rows of them made one.

use super::context::IrModule;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAtomicOrdering, LLVMAttributeFunctionIndex, LLVMOpcode};
use rustc_hash::{FxHashMap, FxHashSet};

/// Instructions of a block for instruction selection.
const BLOCK_INSTRUCTIONS: usize = 400;
/// Those of them that have a constant operand: selection moves constants along chains of instructions, one at a time.
const BLOCK_CONSTANTS: usize = 20;

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
    let constants = || insts.iter().filter(|inst| moves_constants(**inst)).count();
    if insts.len() <= 2 * BLOCK_INSTRUCTIONS && constants() <= 2 * BLOCK_CONSTANTS {
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
        let pieces = pieces(&rest);
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

/// Instructions as they are dealt out to blocks.
fn pieces(mut rest: &[LLVMValueRef]) -> Vec<&[LLVMValueRef]> {
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let mut left = BLOCK_CONSTANTS;
        let fits = |inst: &&LLVMValueRef| {
            left -= usize::from(moves_constants(**inst));
            left > 0
        };
        let (piece, behind) =
            rest.split_at(rest.iter().take(BLOCK_INSTRUCTIONS).take_while(fits).count().max(1));
        pieces.push(piece);
        rest = behind;
    }
    pieces
}

/// Whether an instruction is one of a sum, a product or a logical operation, with a constant, which can change places with others.
pub(super) fn moves_constants(inst: LLVMValueRef) -> bool {
    use LLVMOpcode::{LLVMAdd, LLVMAnd, LLVMGetElementPtr, LLVMMul, LLVMOr, LLVMXor};
    // SAFETY: the instruction is alive, and its operands with it.
    matches!(opcode(inst), LLVMAdd | LLVMAnd | LLVMGetElementPtr | LLVMMul | LLVMOr | LLVMXor)
        && unsafe {
            let mut operands = (0..LLVMGetNumOperands(inst) as u32).map(|at| LLVMGetOperand(inst, at));
            operands.any(|operand| LLVMIsConstant(operand) != 0)
        }
}

/// Makes one block of blocks that only follow each other. LLVM's simplification of the graph does that, too, in any order,
/// and with some orders moves what it has joined again and again.
pub fn merge_rows(module: &IrModule) {
    // SAFETY: the module's context lives; the builder is ours and used by this thread only.
    unsafe {
        let builder = LLVMCreateBuilderInContext(module.context().raw());
        for function in functions(module) {
            let all = blocks(function);
            let next: FxHashMap<LLVMBasicBlockRef, LLVMBasicBlockRef> =
                all.iter().filter_map(|block| Some((*block, only_follower(*block)?))).collect();
            let inside: FxHashSet<LLVMBasicBlockRef> = next.values().copied().collect();
            for &head in all.iter().filter(|block| !inside.contains(*block)) {
                let row: Vec<LLVMBasicBlockRef> =
                    std::iter::successors(Some(head), |block| next.get(block).copied()).collect();
                merge(builder, &row);
            }
        }
        LLVMDisposeBuilder(builder);
    }
}

/// The block that follows this one, if that has no other way in and this one no other way out.
///
/// # Safety
/// The block is alive.
unsafe fn only_follower(block: LLVMBasicBlockRef) -> Option<LLVMBasicBlockRef> {
    // SAFETY: the caller's promise; blocks that are finished have a terminator, and its operands are alive.
    unsafe {
        let last = LLVMGetBasicBlockTerminator(block);
        if opcode(last) != LLVMOpcode::LLVMBr || LLVMGetNumSuccessors(last) != 1 {
            return None;
        }
        let next = LLVMGetSuccessor(last, 0);
        let first_use = LLVMGetFirstUse(LLVMBasicBlockAsValue(next));
        (next != block && LLVMGetNextUse(first_use).is_null()).then_some(next)
    }
}

/// Moves what is in a row of blocks to the front of the last one, which keeps its terminator, so that phis behind it need no
/// change.
///
/// # Safety
/// The builder is of the blocks' context, and each block but the first is the only follower of the one before.
unsafe fn merge(builder: LLVMBuilderRef, row: &[LLVMBasicBlockRef]) {
    let [head, inner @ .., last] = row else { return };
    // SAFETY: the caller's promise. Instructions are moved from one list to another in their order; what has been
    // emptied but for its terminator is in nobody's use when it is deleted.
    unsafe {
        for &block in inner.iter().chain([last]) {
            for phi in instructions(block).into_iter().take_while(|inst| opcode(*inst) == LLVMOpcode::LLVMPHI)
            {
                LLVMReplaceAllUsesWith(phi, LLVMGetIncomingValue(phi, 0));
                LLVMInstructionEraseFromParent(phi);
            }
        }
        LLVMPositionBuilderBefore(builder, LLVMGetFirstInstruction(*last));
        for &block in [head].into_iter().chain(inner) {
            let insts = instructions(block);
            for &inst in insts.split_last().map_or(&[][..], |(_, insts)| insts) {
                LLVMInstructionRemoveFromParent(inst);
                LLVMInsertIntoBuilder(builder, inst);
            }
        }
        for branch in users(LLVMBasicBlockAsValue(*head)) {
            for at in 0..LLVMGetNumSuccessors(branch) {
                if LLVMGetSuccessor(branch, at) == *head {
                    LLVMSetSuccessor(branch, at, *last);
                }
            }
        }
        // A function begins with its first block.
        LLVMMoveBasicBlockBefore(*last, *head);
        for &block in [head].into_iter().chain(inner) {
            LLVMDeleteBasicBlock(block);
        }
    }
}

pub(super) fn opcode(inst: LLVMValueRef) -> LLVMOpcode {
    // SAFETY: an instruction that is alive.
    unsafe { LLVMGetInstructionOpcode(inst) }
}

/// The intrinsic that an instruction calls.
pub(super) fn called_intrinsic(inst: LLVMValueRef) -> Option<LLVMValueRef> {
    if opcode(inst) != LLVMOpcode::LLVMCall {
        return None;
    }
    // SAFETY: a call that is alive, and what it calls with it.
    unsafe {
        let callee = LLVMGetCalledValue(inst);
        (!LLVMIsAFunction(callee).is_null() && LLVMGetIntrinsicID(callee) != 0).then_some(callee)
    }
}

/// The number that LLVM knows an intrinsic by.
pub(super) fn intrinsic_number(name: &str) -> u32 {
    // SAFETY: a name with its length.
    unsafe { LLVMLookupIntrinsicID(name.as_ptr().cast(), name.len()) }
}

/// Whether an instruction calls the intrinsic of this name.
pub(super) fn calls(inst: LLVMValueRef, name: &str) -> bool {
    // SAFETY: a function of the module.
    called_intrinsic(inst)
        .is_some_and(|callee| unsafe { LLVMGetIntrinsicID(callee) } == intrinsic_number(name))
}

/// Whether an instruction does nothing but make a value, of memory at most, and makes the same one when it is there twice.
pub(super) fn only_makes_a_value(inst: LLVMValueRef) -> bool {
    use LLVMOpcode::*;
    // SAFETY: an instruction that is alive.
    unsafe {
        match opcode(inst) {
            LLVMLoad => {
                LLVMGetVolatile(inst) == 0
                    && LLVMGetOrdering(inst) == LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic
            }
            LLVMCall => is_prefetch(inst) || called_intrinsic(inst).is_some_and(|callee| !writes(callee)),
            LLVMPHI | LLVMFNeg | LLVMAdd | LLVMFAdd | LLVMSub | LLVMFSub | LLVMMul | LLVMFMul | LLVMUDiv
            | LLVMSDiv | LLVMFDiv | LLVMURem | LLVMSRem | LLVMFRem | LLVMShl | LLVMLShr | LLVMAShr
            | LLVMAnd | LLVMOr | LLVMXor | LLVMGetElementPtr | LLVMTrunc | LLVMZExt | LLVMSExt
            | LLVMFPToUI | LLVMFPToSI | LLVMUIToFP | LLVMSIToFP | LLVMFPTrunc | LLVMFPExt | LLVMPtrToInt
            | LLVMIntToPtr | LLVMBitCast | LLVMICmp | LLVMFCmp | LLVMSelect | LLVMExtractElement
            | LLVMInsertElement | LLVMShuffleVector | LLVMExtractValue | LLVMInsertValue | LLVMBr
            // What is frozen twice may be two values, but only where anything would do.
            | LLVMFreeze => true,
            _ => false,
        }
    }
}

pub(super) fn is_prefetch(inst: LLVMValueRef) -> bool {
    calls(inst, "llvm.prefetch")
}

/// Whether a function may write memory, as LLVM's attribute has it: two bits for each kind of memory, one for reads and one for writes.
unsafe fn writes(function: LLVMValueRef) -> bool {
    const NAME: &str = "memory";
    const WRITES: u64 = 0xaaaa_aaaa_aaaa_aaaa;
    // SAFETY: the caller's function is alive; the attribute is LLVM's for functions.
    unsafe {
        let kind = LLVMGetEnumAttributeKindForName(NAME.as_ptr().cast(), NAME.len());
        let attribute = LLVMGetEnumAttributeAtIndex(function, LLVMAttributeFunctionIndex, kind);
        attribute.is_null() || LLVMGetEnumAttributeValue(attribute) & WRITES != 0
    }
}

/// Room for a value of a type on a function's stack, from its beginning on. The builder is moved there.
///
/// # Safety
/// Builder, function and type belong together and are alive, and the function has instructions.
pub(super) unsafe fn room(builder: LLVMBuilderRef, function: LLVMValueRef, ty: LLVMTypeRef) -> LLVMValueRef {
    // SAFETY: the caller's promise.
    unsafe {
        LLVMPositionBuilderBefore(builder, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function)));
        LLVMBuildAlloca(builder, ty, c"".as_ptr())
    }
}

pub(super) fn functions(module: &IrModule) -> Vec<LLVMValueRef> {
    // SAFETY: the module is alive.
    unsafe { list(LLVMGetFirstFunction(module.raw()), |function| LLVMGetNextFunction(function)) }
}

pub(super) fn blocks(function: LLVMValueRef) -> Vec<LLVMBasicBlockRef> {
    // SAFETY: the function is alive.
    unsafe { list(LLVMGetFirstBasicBlock(function), |block| LLVMGetNextBasicBlock(block)) }
}

/// Where a block leads to.
pub(super) fn followers(block: LLVMBasicBlockRef) -> Vec<LLVMBasicBlockRef> {
    // SAFETY: a block of a finished function, which has a terminator.
    unsafe {
        let last = LLVMGetBasicBlockTerminator(block);
        (0..LLVMGetNumSuccessors(last)).map(|at| LLVMGetSuccessor(last, at)).collect()
    }
}

/// The blocks of a function that can be reached, each behind what leads to it, but for edges back.
pub(super) fn in_order(function: LLVMValueRef) -> Vec<LLVMBasicBlockRef> {
    let Some(&entry) = blocks(function).first() else { return Vec::new() };
    let mut seen = FxHashSet::from_iter([entry]);
    let (mut open, mut order) = (vec![(entry, followers(entry))], Vec::new());
    while let Some((block, left)) = open.last_mut() {
        match left.pop() {
            Some(next) if seen.insert(next) => open.push((next, followers(next))),
            Some(_) => {}
            None => {
                order.push(*block);
                open.pop();
            }
        }
    }
    order.reverse();
    order
}

pub(super) fn instructions(block: LLVMBasicBlockRef) -> Vec<LLVMValueRef> {
    // SAFETY: the block is alive.
    unsafe { list(LLVMGetFirstInstruction(block), |inst| LLVMGetNextInstruction(inst)) }
}

/// The instructions that use a value.
pub(super) fn users(value: LLVMValueRef) -> Vec<LLVMValueRef> {
    // SAFETY: the value is alive, and its uses with it.
    unsafe {
        let uses = list(LLVMGetFirstUse(value), |of| LLVMGetNextUse(of));
        uses.into_iter().map(|of| LLVMGetUser(of)).collect()
    }
}

pub(super) fn list<T>(first: *mut T, next: impl Fn(*mut T) -> *mut T) -> Vec<*mut T> {
    let mut all = Vec::new();
    let mut at = first;
    while !at.is_null() {
        all.push(at);
        at = next(at);
    }
    all
}
