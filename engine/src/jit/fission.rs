//! Loops that carry more vectors than the processor has registers, split into several that carry a part of them each.
//!
//! A work-item that computes a tile of a matrix has a sum for each element of it, and in vector code each sum is a register. Tiles
//! are made for GPUs: 64 sums are common, and of those three quarters wait in memory, loaded and stored in each iteration. What
//! is loaded to be multiplied is little beside that, and it costs less to load it again in a second loop.
//!
//! Loops of one block that do nothing but load and compute are split: what they carry and is its own next value is dealt out so
//! that what shares operands stays together, and each loop gets what its part is computed from, counters included. Each value is
//! computed by the same instructions as before.

use super::blocks::{blocks, called_intrinsic, functions, instructions, opcode, users};
use super::context::IrModule;
use super::target::Target;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMAtomicOrdering, LLVMAttributeFunctionIndex, LLVMOpcode, LLVMTypeKind};
use rustc_hash::FxHashMap;

/// Of a processor's registers, those that sums may have. The others are for operands.
const SUMS: u32 = 3;
const OF: u32 = 4;
/// What a sum in memory costs in each iteration: it is loaded and stored.
const SPILLED: u32 = 8;
/// What an instruction on a vector costs, and one on a number, of which most are part of an address.
const VECTOR: u32 = 4;
const SCALAR: u32 = 1;
/// Loops of more instructions than this, times the square of their sums, are left alone: that is the time that dealing out takes.
const MOST_STEPS: usize = 1 << 25;

/// Splits loops that carry too much.
pub fn split_loops(module: &IrModule, target: &Target) {
    // SAFETY: the module's context lives; the builder is ours and used by this thread only.
    unsafe {
        let builder = LLVMCreateBuilderInContext(module.context().raw());
        for block in functions(module).into_iter().flat_map(blocks) {
            if let Some(body) = Body::of(block, target)
                && let Some(parts) = body.parts()
            {
                body.split(module.context().raw(), builder, &parts);
            }
        }
        LLVMDisposeBuilder(builder);
    }
}

/// A loop of one block, whose instructions go by number.
struct Body<'t> {
    block: LLVMBasicBlockRef,
    /// The only block outside that leads here.
    entering: LLVMBasicBlockRef,
    insts: Vec<LLVMValueRef>,
    /// What an instruction needs of this iteration, and a phi of the one before.
    operands: Vec<Vec<usize>>,
    target: &'t Target,
}

/// A set of a body's instructions.
type Set = Vec<bool>;

/// What one loop computes.
#[derive(Default)]
struct Part {
    needs: Set,
    registers: u32,
}

impl<'t> Body<'t> {
    /// The loop of this block, if it can be split and carries more than there are registers.
    ///
    /// # Safety
    /// The block is alive and finished.
    unsafe fn of(block: LLVMBasicBlockRef, target: &'t Target) -> Option<Self> {
        // SAFETY: the caller's promise; a finished block has a terminator, and operands are as alive as what uses them.
        unsafe {
            let last = LLVMGetBasicBlockTerminator(block);
            if opcode(last) != LLVMOpcode::LLVMBr || LLVMGetNumSuccessors(last) != 2 {
                return None;
            }
            let is_back = [0, 1].map(|at| LLVMGetSuccessor(last, at) == block);
            if is_back[0] == is_back[1] {
                return None;
            }
            let insts = instructions(block);
            let carried = insts.iter().take_while(|inst| opcode(**inst) == LLVMOpcode::LLVMPHI);
            if carried.map(|phi| registers(*phi, target)).sum::<u32>() as usize <= target.vector_registers() {
                return None;
            }
            let phi = *insts.first()?;
            if LLVMCountIncoming(phi) != 2 {
                return None;
            }
            let entering =
                [0, 1].map(|at| LLVMGetIncomingBlock(phi, at)).into_iter().find(|of| *of != block)?;
            if !insts.iter().all(|inst| *inst == last || is_kept(*inst) || is_dropped(*inst)) {
                return None;
            }
            let numbers: FxHashMap<LLVMValueRef, usize> =
                insts.iter().enumerate().map(|(number, inst)| (*inst, number)).collect();
            let operands = insts.iter().map(|inst| {
                let values: Vec<LLVMValueRef> = match opcode(*inst) {
                    LLVMOpcode::LLVMPHI => vec![incoming(*inst, block)],
                    _ => (0..LLVMGetNumOperands(*inst) as u32).map(|at| LLVMGetOperand(*inst, at)).collect(),
                };
                values.iter().filter_map(|value| numbers.get(value).copied()).collect()
            });
            let operands = operands.collect();
            Some(Body { block, entering, insts, operands, target })
        }
    }

    /// What some instructions are computed from, with themselves.
    fn needs(&self, roots: impl IntoIterator<Item = usize>) -> Set {
        let mut needs = vec![false; self.insts.len()];
        let mut work: Vec<usize> = roots.into_iter().collect();
        while let Some(at) = work.pop() {
            if !std::mem::replace(&mut needs[at], true) {
                work.extend(&self.operands[at]);
            }
        }
        needs
    }

    /// What an instruction costs.
    fn cost(&self, at: usize) -> u32 {
        let inst = self.insts[at];
        // SAFETY: the body's instructions are alive.
        unsafe {
            let ty = LLVMTypeOf(inst);
            match opcode(inst) {
                LLVMOpcode::LLVMPHI => 0,
                LLVMOpcode::LLVMCall if is_call_of(inst, "llvm.masked.gather") => {
                    VECTOR * LLVMGetVectorSize(ty)
                }
                _ => match registers_of(ty, self.target) {
                    0 => SCALAR,
                    registers => VECTOR * registers,
                },
            }
        }
    }

    fn cost_of(&self, needs: &Set) -> u32 {
        (0..needs.len()).filter(|at| needs[*at]).map(|at| self.cost(at)).sum()
    }

    /// What each of several loops computes, if that is faster than one loop.
    fn parts(&self) -> Option<Vec<Part>> {
        let last = self.insts.len() - 1;
        let shared = self.needs([last]);
        let sums = self.sums(&shared)?;
        let registers = self.target.vector_registers() as u32;
        let all: u32 = sums.iter().map(|sum| sum.registers).sum();
        if all <= registers || sums.len().pow(2) * self.insts.len() > MOST_STEPS {
            return None;
        }
        let mut parts = self.deal_out(&shared, sums, registers * SUMS / OF);
        let alone: Set = (0..self.insts.len()).map(|at| parts.iter().any(|part| part.needs[at])).collect();
        let together: u32 = parts.iter().map(|part| self.cost_of(&part.needs)).sum();
        if parts.len() < 2 || together - self.cost_of(&alone) > SPILLED * (all - registers) {
            return None;
        }
        // What else is used behind the loop, or has an effect, is the first one's.
        for at in self.wanted().filter(|at| !alone[*at]) {
            parts[0].add(&Part { needs: self.needs([at]), registers: 0 });
        }
        Some(parts)
    }

    /// What the loop carries that is its own next value, those together that cannot be computed apart. `None` if the loop's end needs
    /// one.
    fn sums(&self, shared: &Set) -> Option<Vec<Part>> {
        let mut sums: Vec<Part> = Vec::new();
        let mut phis = Vec::new();
        for at in self.phis() {
            // SAFETY: the body's instructions are alive.
            let registers = unsafe { registers(self.insts[at], self.target) };
            let needs = self.needs(self.operands[at].iter().copied());
            if registers > 0 && needs[at] {
                if shared[at] {
                    return None;
                }
                phis.push(at);
                sums.push(Part { needs, registers });
            }
        }
        // Those of which one needs the other are one, and those that something is made of that is used behind the loop.
        let wanted = self.wanted().map(|at| self.needs([at]));
        let together: Vec<Set> = sums.iter().map(|sum| sum.needs.clone()).chain(wanted).collect();
        let mut groups: Vec<usize> = (0..sums.len()).collect();
        for needs in together {
            let mut members = (0..phis.len()).filter(|sum| needs[phis[*sum]]);
            let Some(first) = members.next() else { continue };
            for other in members {
                let (to, from) = (groups[first], groups[other]);
                groups.iter_mut().filter(|group| **group == from).for_each(|group| *group = to);
            }
        }
        for (at, group) in groups.iter().enumerate().filter(|(at, group)| at != *group) {
            let member = std::mem::take(&mut sums[at]);
            sums[*group].add(&member);
        }
        sums.retain(|sum| sum.registers > 0);
        Some(sums)
    }

    fn phis(&self) -> impl Iterator<Item = usize> {
        (0..self.insts.len()).take_while(|at| opcode(self.insts[*at]) == LLVMOpcode::LLVMPHI)
    }

    /// What is used behind the loop, and what has an effect.
    fn wanted(&self) -> impl Iterator<Item = usize> {
        // SAFETY: the body's instructions are alive.
        (0..self.insts.len() - 1)
            .filter(|at| unsafe { is_prefetch(self.insts[*at]) || self.is_used_outside(*at) })
    }

    /// Deals sums out to loops of at most so many registers: next is always the one that needs the least beside what is there.
    fn deal_out(&self, shared: &Set, mut sums: Vec<Part>, most: u32) -> Vec<Part> {
        let mut parts = Vec::new();
        while !sums.is_empty() {
            let mut part = Part { needs: shared.clone(), registers: 0 };
            loop {
                let fits = |sum: &Part| part.registers == 0 || part.registers + sum.registers <= most;
                let added = |sum: &Part| -> u32 {
                    let new = (0..sum.needs.len()).filter(|at| sum.needs[*at] && !part.needs[*at]);
                    new.map(|at| self.cost(at)).sum()
                };
                let candidates = sums.iter().enumerate().filter(|(_, sum)| fits(sum));
                let Some((next, _)) = candidates.min_by_key(|(_, sum)| added(sum)) else { break };
                part.add(&sums.remove(next));
            }
            parts.push(part);
        }
        parts
    }

    unsafe fn is_used_outside(&self, at: usize) -> bool {
        // SAFETY: the body's instructions are alive, and what uses them with them.
        unsafe { users(self.insts[at]).into_iter().any(|user| LLVMGetInstructionParent(user) != self.block) }
    }

    /// Makes a loop of each part, one behind the other. The block itself stays as the one behind the last, so that phis there need
    /// no change.
    ///
    /// # Safety
    /// Context and builder are of the block's module, and alive.
    unsafe fn split(&self, context: LLVMContextRef, builder: LLVMBuilderRef, parts: &[Part]) {
        let none = c"".as_ptr();
        // SAFETY: the caller's promise. What is made is used in loops that follow each other, where it dominates its users; what is
        // erased has no users any more.
        unsafe {
            let last = LLVMGetBasicBlockTerminator(self.block);
            let outside = [0, 1]
                .map(|at| LLVMGetSuccessor(last, at))
                .into_iter()
                .find(|successor| *successor != self.block)
                .unwrap_or(self.block);
            let mut made: FxHashMap<usize, LLVMValueRef> = FxHashMap::default();
            let mut from = self.entering;
            for part in parts {
                let head = LLVMInsertBasicBlockInContext(context, self.block, none);
                let behind = LLVMInsertBasicBlockInContext(context, self.block, none);
                self.lead(builder, from, head);
                let own = self.copy(builder, part, head, from);
                let end = own[self.insts.len() - 1].unwrap_or(last);
                for at in [0, 1] {
                    let to = if LLVMGetSuccessor(end, at) == self.block { head } else { behind };
                    LLVMSetSuccessor(end, at, to);
                }
                made.extend(own.into_iter().enumerate().filter_map(|(at, own)| Some((at, own?))));
                from = behind;
            }
            self.lead(builder, from, self.block);
            for (at, inst) in self.insts.iter().enumerate() {
                let ty = LLVMTypeOf(*inst);
                if LLVMGetTypeKind(ty) != LLVMTypeKind::LLVMVoidTypeKind {
                    LLVMReplaceAllUsesWith(
                        *inst,
                        made.get(&at).copied().unwrap_or_else(|| LLVMGetPoison(ty)),
                    );
                }
            }
            for inst in self.insts.iter().rev() {
                LLVMInstructionEraseFromParent(*inst);
            }
            LLVMPositionBuilderAtEnd(builder, self.block);
            LLVMBuildBr(builder, outside);
        }
    }

    /// Has a block lead to another: the one in front of the loop by changing where it leads, one that was made by a branch.
    unsafe fn lead(&self, builder: LLVMBuilderRef, from: LLVMBasicBlockRef, to: LLVMBasicBlockRef) {
        // SAFETY: blocks that are alive.
        unsafe {
            let last = LLVMGetBasicBlockTerminator(from);
            if last.is_null() {
                LLVMPositionBuilderAtEnd(builder, from);
                LLVMBuildBr(builder, to);
                return;
            }
            for at in (0..LLVMGetNumSuccessors(last)).filter(|at| LLVMGetSuccessor(last, *at) == self.block) {
                LLVMSetSuccessor(last, at, to);
            }
        }
    }

    /// Copies of a part's instructions at the end of a block that another leads to, by number.
    unsafe fn copy(
        &self,
        builder: LLVMBuilderRef,
        part: &Part,
        head: LLVMBasicBlockRef,
        from: LLVMBasicBlockRef,
    ) -> Vec<Option<LLVMValueRef>> {
        // SAFETY: blocks and instructions that are alive; operands in the block are copied before what uses them, since a part
        // has all that it needs, in the order of the block.
        unsafe {
            LLVMPositionBuilderAtEnd(builder, head);
            let mut own: Vec<Option<LLVMValueRef>> = vec![None; self.insts.len()];
            let mut copies: FxHashMap<LLVMValueRef, LLVMValueRef> = FxHashMap::default();
            for (at, &inst) in self.insts.iter().enumerate().filter(|(at, _)| part.needs[*at]) {
                let copy = match opcode(inst) {
                    LLVMOpcode::LLVMPHI => LLVMBuildPhi(builder, LLVMTypeOf(inst), c"".as_ptr()),
                    _ => {
                        let copy = LLVMInstructionClone(inst);
                        for at in 0..LLVMGetNumOperands(copy) as u32 {
                            if let Some(&operand) = copies.get(&LLVMGetOperand(copy, at)) {
                                LLVMSetOperand(copy, at, operand);
                            }
                        }
                        LLVMInsertIntoBuilder(builder, copy);
                        copy
                    }
                };
                copies.insert(inst, copy);
                own[at] = Some(copy);
            }
            for (inst, phi) in self.insts.iter().zip(&own) {
                if let Some(phi) = phi.filter(|_| opcode(*inst) == LLVMOpcode::LLVMPHI) {
                    let next = incoming(*inst, self.block);
                    let mut values =
                        [incoming(*inst, self.entering), copies.get(&next).copied().unwrap_or(next)];
                    LLVMAddIncoming(phi, values.as_mut_ptr(), [from, head].as_mut_ptr(), 2);
                }
            }
            own
        }
    }
}

impl Part {
    fn add(&mut self, other: &Part) {
        self.needs.iter_mut().zip(&other.needs).for_each(|(of, other)| *of |= other);
        self.registers += other.registers;
    }
}

/// How many registers a phi takes, or any other value.
unsafe fn registers(value: LLVMValueRef, target: &Target) -> u32 {
    // SAFETY: the caller's value is alive.
    unsafe { registers_of(LLVMTypeOf(value), target) }
}

/// How many registers of vectors a value of a type takes. Masks take none.
unsafe fn registers_of(ty: LLVMTypeRef, target: &Target) -> u32 {
    // SAFETY: the caller's type is alive, and its element's with it.
    unsafe {
        let bits = |ty: LLVMTypeRef| match LLVMGetTypeKind(ty) {
            LLVMTypeKind::LLVMHalfTypeKind => 16,
            LLVMTypeKind::LLVMFloatTypeKind => 32,
            LLVMTypeKind::LLVMDoubleTypeKind | LLVMTypeKind::LLVMPointerTypeKind => 64,
            LLVMTypeKind::LLVMIntegerTypeKind => LLVMGetIntTypeWidth(ty),
            _ => 0,
        };
        match LLVMGetTypeKind(ty) {
            LLVMTypeKind::LLVMVectorTypeKind => match bits(LLVMGetElementType(ty)) {
                1 => 0,
                bits => (LLVMGetVectorSize(ty) * bits).div_ceil(target.simd_bits()),
            },
            LLVMTypeKind::LLVMFloatTypeKind | LLVMTypeKind::LLVMDoubleTypeKind => 1,
            _ => 0,
        }
    }
}

/// What comes to a phi from a block.
unsafe fn incoming(phi: LLVMValueRef, from: LLVMBasicBlockRef) -> LLVMValueRef {
    // SAFETY: the caller's phi is alive, and has that block.
    unsafe {
        let at = (0..LLVMCountIncoming(phi)).find(|at| LLVMGetIncomingBlock(phi, *at) == from);
        LLVMGetIncomingValue(phi, at.unwrap_or(0))
    }
}

/// Whether an instruction does nothing but make a value, of memory at most, and makes the same one when it is there twice.
unsafe fn is_kept(inst: LLVMValueRef) -> bool {
    use LLVMOpcode::*;
    // SAFETY: the caller's instruction is alive.
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
            | LLVMInsertElement | LLVMShuffleVector | LLVMExtractValue | LLVMInsertValue => true,
            _ => false,
        }
    }
}

/// Whether an instruction only says something that passes may use.
unsafe fn is_dropped(inst: LLVMValueRef) -> bool {
    // SAFETY: the caller's instruction is alive.
    unsafe { is_call_of(inst, "llvm.assume") || is_call_of(inst, "llvm.experimental.noalias.scope.decl") }
}

unsafe fn is_prefetch(inst: LLVMValueRef) -> bool {
    // SAFETY: the caller's instruction is alive.
    unsafe { is_call_of(inst, "llvm.prefetch") }
}

unsafe fn is_call_of(inst: LLVMValueRef, name: &str) -> bool {
    // SAFETY: a function of the module, and a name with its length.
    unsafe {
        let number = LLVMLookupIntrinsicID(name.as_ptr().cast(), name.len());
        called_intrinsic(inst).is_some_and(|callee| LLVMGetIntrinsicID(callee) == number)
    }
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

#[cfg(test)]
mod tests;
