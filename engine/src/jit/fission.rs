//! Loops that carry more vectors than the processor has registers, split into several that carry a part of them each.
//!
//! A work-item that computes a tile of a matrix has a sum for each element of it, and in vector code each sum is a register. Tiles
//! are made for GPUs: 64 sums are common, and of those three quarters wait in memory, loaded and stored in each iteration. What
//! is loaded to be multiplied is little beside that, and it costs less to load it again in a second loop.
//!
//! Loops that do nothing but load and compute are split, where no other is inside: what they carry and is its own next value is dealt out so
//! that what shares operands stays together, and each loop gets what its part is computed from, counters included. Where that costs more than
//! the sums in memory, operands wait there, for strips of iterations (`strips.rs`). Each value is computed by the same instructions as before.

use super::blocks::{
    blocks, calls, functions, instructions, is_prefetch, only_makes_a_value, opcode, room, users,
};
use super::context::IrModule;
use super::pieces::{bits_of, is_register, passed_on};
use super::target::Target;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMOpcode, LLVMTypeKind};
use rustc_hash::{FxHashMap, FxHashSet};
use strips::{Room, Strips};

mod origins;
mod strips;

const NAME: *const std::ffi::c_char = c"".as_ptr();

/// Of a processor's registers, those that sums may have. The others are for operands, of which some loops have more.
const SUMS: [u32; 4] = [12, 10, 8, 6];
/// Those that values may have at once in the order in which they stand. LLVM has another order, and constants.
const ORDERED: u32 = 15;
const OF: u32 = 16;
/// Half as many registers as there are, so often, are what a loop carries that is worth being split: a few values in memory do not matter, least of
/// all where a loop waits for what it loads.
const MANY: u32 = 3;
/// What a sum in memory costs in each iteration: it is loaded and stored, and waited for. (On a Zen 4, 48 of them cost ten cycles each.)
const SPILLED: u32 = 16;
/// What an instruction on a vector costs, and one on a number, of which most are part of an address.
const VECTOR: u32 = 4;
const SCALAR: u32 = 1;
/// How much more a vector from memory costs.
const LOADED: u32 = 3;
/// What may cost so much at most is rather computed by each loop that needs it: indices of lanes that grow in each iteration.
const OPERAND: u32 = 16;
/// Loops of more instructions than this, times the square of their sums, are left alone: that is the time that dealing out takes.
const MOST_STEPS: usize = 1 << 25;

/// Blocks of a loop, at most, and its instructions.
const MOST_BLOCKS: usize = 32;
const MOST_INSTS: usize = 4096;

/// Splits loops that carry too much; whether branches are left that lead nowhere.
pub fn split_loops(module: &IrModule, target: &Target) -> bool {
    let mut leaves_branches = false;
    // SAFETY: the module's context lives; the builder is ours and used by this thread only.
    unsafe {
        let builder = LLVMCreateBuilderInContext(module.context().raw());
        for function in functions(module) {
            let (mut gone, mut room) = (FxHashSet::default(), Room::new());
            for block in blocks(function) {
                if !gone.contains(&block)
                    && let Some(body) = Body::of(block, target)
                    && let Some(plan) = body.plan()
                {
                    let context = module.context().raw();
                    match plan {
                        Plan::Parts(parts) => body.split(context, builder, &parts),
                        Plan::Strips(strips) => strips.split(&body, context, builder, &mut room),
                    }
                    gone.extend(body.blocks.iter().copied());
                    leaves_branches |= body.blocks.len() > 1;
                }
            }
        }
        LLVMDisposeBuilder(builder);
    }
    leaves_branches
}

/// What becomes of a loop.
enum Plan {
    /// Loops one behind the other, each with what these compute.
    Parts(Vec<Set>),
    Strips(Strips),
}

/// A loop whose last block is the only one that leads back and out of it, and that has no loop inside. Instructions go by number.
struct Body<'t> {
    /// Those that lead to a block are in front of it.
    blocks: Vec<LLVMBasicBlockRef>,
    /// The only block outside that leads here.
    entering: LLVMBasicBlockRef,
    insts: Vec<LLVMValueRef>,
    numbers: FxHashMap<LLVMValueRef, usize>,
    /// The number of the block that an instruction is in.
    at: Vec<usize>,
    /// What an instruction needs of this iteration, and a phi of the first block of the one before.
    operands: Vec<Vec<usize>>,
    /// Whether a block is on the cheapest way through: accesses are there twice, for what is expected and for the rest.
    is_usual: Vec<bool>,
    /// Whether each iteration runs a block.
    is_always_there: Vec<bool>,
    target: &'t Target,
}

/// A set of a body's instructions.
type Set = Vec<bool>;

impl<'t> Body<'t> {
    /// The loop that a block is the last one of, if it can be split and carries more than there are registers.
    ///
    /// # Safety
    /// The block is alive and finished, as are all others of its function.
    unsafe fn of(latch: LLVMBasicBlockRef, target: &'t Target) -> Option<Self> {
        // SAFETY: the caller's promise; a finished block has a terminator, and operands are as alive as what uses them.
        unsafe {
            let last = LLVMGetBasicBlockTerminator(latch);
            if opcode(last) != LLVMOpcode::LLVMBr || LLVMGetNumSuccessors(last) != 2 {
                return None;
            }
            let carries_much = |first: LLVMBasicBlockRef| {
                let phis = instructions(first).into_iter();
                let phis = phis.take_while(|inst| opcode(*inst) == LLVMOpcode::LLVMPHI);
                phis.map(|phi| registers(phi, target)).sum::<u32>()
                    >= MANY * target.vector_registers() as u32 / 2
            };
            let (first, blocks) = [0, 1].into_iter().find_map(|at| {
                let [first, other] = [at, 1 - at].map(|at| LLVMGetSuccessor(last, at));
                let blocks = if first != other && carries_much(first) { between(first, latch) } else { None };
                Some((first, blocks?))
            })?;
            let entering = predecessors(first).into_iter().filter(|of| *of != latch).collect::<Vec<_>>();
            let [entering] = entering[..] else { return None };
            let (mut insts, mut at) = (Vec::new(), Vec::new());
            for (number, block) in blocks.iter().enumerate() {
                insts.extend(instructions(*block));
                at.resize(insts.len(), number);
            }
            if insts.len() > MOST_INSTS
                || !insts.iter().all(|inst| only_makes_a_value(*inst) || is_dropped(*inst))
            {
                return None;
            }
            let numbers: FxHashMap<LLVMValueRef, usize> =
                insts.iter().enumerate().map(|(number, inst)| (*inst, number)).collect();
            let operands = insts.iter().zip(&at).map(|(inst, block)| {
                let values: Vec<LLVMValueRef> = match opcode(*inst) {
                    LLVMOpcode::LLVMPHI if *block == 0 => vec![incoming(*inst, latch)],
                    LLVMOpcode::LLVMPHI => {
                        (0..LLVMCountIncoming(*inst)).map(|at| LLVMGetIncomingValue(*inst, at)).collect()
                    }
                    _ => (0..LLVMGetNumOperands(*inst) as u32).map(|at| LLVMGetOperand(*inst, at)).collect(),
                };
                values.iter().filter_map(|value| numbers.get(value).copied()).collect()
            });
            let operands = operands.collect();
            let is_usual = vec![true; blocks.len()];
            let is_always_there = always_there(&blocks);
            let mut body =
                Body { blocks, entering, insts, numbers, at, operands, is_usual, is_always_there, target };
            body.find_usual();
            Some(body)
        }
    }

    /// Finds the cheapest way from the first block to the last.
    fn find_usual(&mut self) {
        let mut own = vec![0; self.blocks.len()];
        for (at, block) in self.at.iter().enumerate() {
            own[*block] += self.cost(at);
        }
        let mut ways: Vec<(u32, usize)> = Vec::new();
        for (number, block) in self.blocks.iter().enumerate() {
            // SAFETY: the body's blocks are alive.
            let from = unsafe { predecessors(*block) };
            let from =
                from.iter().filter_map(|of| self.blocks[..number].iter().position(|block| block == of));
            let (cost, from) = from.map(|of| (ways[of].0, of)).min().unwrap_or((0, 0));
            ways.push((cost + own[number], from));
        }
        let mut is_usual = vec![false; self.blocks.len()];
        let mut at = self.blocks.len() - 1;
        while !std::mem::replace(&mut is_usual[at], true) {
            at = ways[at].1;
        }
        self.is_usual = is_usual;
    }

    /// The instructions that decide where each block leads.
    fn ends(&self) -> impl Iterator<Item = usize> {
        (0..self.insts.len()).filter(|at| self.at.get(at + 1) != Some(&self.at[*at]))
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
        if !self.is_usual[self.at[at]] {
            return 0;
        }
        // SAFETY: the body's instructions are alive.
        unsafe {
            let ty = LLVMTypeOf(inst);
            match opcode(inst) {
                LLVMOpcode::LLVMPHI => 0,
                LLVMOpcode::LLVMLoad => SCALAR.max(LOADED * VECTOR * registers_of(ty, self.target)),
                LLVMOpcode::LLVMCall if calls(inst, "llvm.masked.load") => {
                    LOADED * VECTOR * registers_of(ty, self.target)
                }
                LLVMOpcode::LLVMCall if calls(inst, "llvm.masked.gather") => VECTOR * LLVMGetVectorSize(ty),
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

    /// What is faster than one loop, if anything is.
    fn plan(&self) -> Option<Plan> {
        let shared = self.needs(self.ends());
        let sums = self.sums(&shared);
        let all: Set = {
            let mut all = shared.clone();
            add(&mut all, &self.needs(self.wanted()));
            all
        };
        let spilled = self.registers(|_| true).saturating_sub(self.target.vector_registers() as u32);
        let alone = self.cost_of(&all) + SPILLED * spilled;
        let roots: Vec<usize> = sums.iter().map(|(phi, _)| *phi).collect();
        let parts = self.parts(&shared, sums);
        let strips = Strips::of(self, &roots, &shared).filter(|strips| strips.cost < alone);
        match (parts, strips) {
            // Parts have neither a buffer nor sums in memory, so strips have to be clearly better.
            (Some((cost, _)), Some(strips)) if strips.cost + strips.cost / 4 < cost => {
                Some(Plan::Strips(strips))
            }
            (Some((_, parts)), _) => Some(Plan::Parts(parts)),
            (None, strips) => strips.map(Plan::Strips),
        }
    }

    /// What each of several loops computes, if that is faster than one loop, and what an iteration of all of them costs.
    fn parts(&self, shared: &Set, sums: Vec<(usize, Set)>) -> Option<(u32, Vec<Set>)> {
        let sums = self.joined(sums);
        let (registers, all) = (self.target.vector_registers() as u32, self.registers(|_| true));
        if sums.len().pow(2) * self.insts.len() > MOST_STEPS {
            return None;
        }
        let together = |parts: &[Set]| parts.iter().map(|part| self.cost_of(part)).sum::<u32>();
        let beyond = |part: &Set| self.pressure(part).saturating_sub(registers * ORDERED / OF);
        let spilled = |parts: &[Set]| SPILLED * parts.iter().map(beyond).sum::<u32>();
        let dealt = SUMS.iter().map(|most| self.deal_out(shared, sums.clone(), registers * most / OF));
        let mut parts = dealt.min_by_key(|parts| together(parts) + spilled(parts))?;
        let alone: Set = (0..self.insts.len()).map(|at| parts.iter().any(|part| part[at])).collect();
        if parts.len() < 2 || together(&parts) - self.cost_of(&alone) > SPILLED * (all - registers) {
            return None;
        }
        let cost = together(&parts) + spilled(&parts);
        // What else is used behind the loop, or has an effect, is the first one's.
        for at in self.wanted().filter(|at| !alone[*at]) {
            add(&mut parts[0], &self.needs([at]));
        }
        Some((cost, parts))
    }

    /// Registers that a loop of these instructions wants at once, as they stand one behind the other.
    fn pressure(&self, part: &Set) -> u32 {
        let end = self.insts.len();
        let is_there = |at: &usize| part[*at] && self.is_usual[self.at[*at]];
        let phis = self.phis().count();
        let mut last = vec![0; end];
        for user in (0..end).filter(is_there) {
            let until = if user < phis { end } else { user };
            self.operands[user].iter().for_each(|of| last[*of] = until.max(last[*of]));
        }
        let (mut begins, mut ends) = (vec![0; end + 1], vec![0; end + 1]);
        for at in (0..end).filter(is_there) {
            // SAFETY: the body's instructions are alive.
            let size = unsafe { registers(self.insts[at], self.target) };
            let from = if at < phis { 0 } else { at };
            begins[from] += size;
            ends[last[at].max(from + 1)] += size;
        }
        let (mut live, mut most) = (0, 0);
        for at in 0..end {
            // An operand's register may be the result's.
            live -= ends[at];
            live += begins[at];
            most = most.max(live);
        }
        most
    }

    /// What the loop carries that is its own next value, with what it needs. What the loop's end needs is left out, since each loop has it, and so is what
    /// others need and what is little: each has its own.
    fn sums(&self, shared: &Set) -> Vec<(usize, Set)> {
        let of_phi = |at: usize| {
            // SAFETY: the body's instructions are alive.
            let is_vector = unsafe { registers(self.insts[at], self.target) } > 0;
            let needs = self.needs(self.operands[at].iter().copied());
            (is_vector && needs[at] && !shared[at]).then_some((at, needs))
        };
        let mut sums: Vec<(usize, Set)> = self.phis().filter_map(of_phi).collect();
        let is_operand = |(at, needs): &(usize, Set)| {
            let is_used = sums.iter().any(|(other, of)| of[*at] && !needs[*other]);
            is_used && self.cost_of(needs) <= OPERAND
        };
        let is_sum: Vec<bool> = sums.iter().map(|sum| !is_operand(sum)).collect();
        let mut is_sum = is_sum.into_iter();
        sums.retain(|_| is_sum.next() == Some(true));
        sums
    }

    /// Sums, those together that cannot be computed apart.
    fn joined(&self, sums: Vec<(usize, Set)>) -> Vec<Set> {
        // Those of which one needs the other are one, and those that something is made of that is used behind the loop.
        let wanted = self.wanted().map(|at| self.needs([at]));
        let together: Vec<Set> = sums.iter().map(|(_, needs)| needs.clone()).chain(wanted).collect();
        let mut groups: Vec<usize> = (0..sums.len()).collect();
        for needs in together {
            let mut members = (0..sums.len()).filter(|sum| needs[sums[*sum].0]);
            let Some(first) = members.next() else { continue };
            for other in members {
                let (to, from) = (groups[first], groups[other]);
                groups.iter_mut().filter(|group| **group == from).for_each(|group| *group = to);
            }
        }
        let mut joined: Vec<Set> = vec![Set::new(); sums.len()];
        for ((_, needs), group) in sums.into_iter().zip(groups) {
            match &mut joined[group] {
                empty if empty.is_empty() => *empty = needs,
                joined => add(joined, &needs),
            }
        }
        joined.retain(|needs| !needs.is_empty());
        joined
    }

    fn phis(&self) -> impl Iterator<Item = usize> {
        (0..self.insts.len())
            .take_while(|at| self.at[*at] == 0 && opcode(self.insts[*at]) == LLVMOpcode::LLVMPHI)
    }

    /// Registers of these of what the loop carries.
    fn registers(&self, is_among: impl Fn(usize) -> bool) -> u32 {
        // SAFETY: the body's instructions are alive.
        self.phis()
            .filter(|at| is_among(*at))
            .map(|at| unsafe { registers(self.insts[at], self.target) })
            .sum()
    }

    /// What is used behind the loop, and what has an effect.
    fn wanted(&self) -> impl Iterator<Item = usize> {
        // SAFETY: the body's instructions are alive.
        let is_wanted = |at: &usize| is_prefetch(self.insts[*at]) || unsafe { self.is_used_outside(*at) };
        (0..self.insts.len()).filter(is_wanted)
    }

    /// Deals sums out to loops of at most so many registers: next is always the one that needs the least beside what is there.
    fn deal_out(&self, shared: &Set, mut sums: Vec<Set>, most: u32) -> Vec<Set> {
        let mut parts = Vec::new();
        while !sums.is_empty() {
            let mut part = shared.clone();
            let mut is_empty = true;
            loop {
                let fits = |sum: &Set| is_empty || self.registers(|at| part[at] || sum[at]) <= most;
                let added = |sum: &Set| -> u32 {
                    (0..sum.len()).filter(|at| sum[*at] && !part[*at]).map(|at| self.cost(at)).sum()
                };
                let candidates = sums.iter().enumerate().filter(|(_, sum)| fits(sum));
                let Some((next, _)) = candidates.min_by_key(|(_, sum)| added(sum)) else { break };
                add(&mut part, &sums.remove(next));
                is_empty = false;
            }
            parts.push(part);
        }
        parts
    }

    unsafe fn is_used_outside(&self, at: usize) -> bool {
        // SAFETY: the body's instructions are alive, and what uses them with them.
        unsafe {
            users(self.insts[at])
                .into_iter()
                .any(|user| !self.blocks.contains(&LLVMGetInstructionParent(user)))
        }
    }

    /// Whether an instruction is a sum's next value that LLVM's code generator would move to the last block, since only a phi uses it. What
    /// is loaded for the next iteration would be in registers then before what it replaces is used.
    fn stays(&self, at: usize) -> bool {
        let is_next = |phi: usize| self.operands[phi].contains(&at) && self.needs([at])[phi];
        // SAFETY: the body's instructions are alive.
        let is_register = unsafe { is_register(LLVMTypeOf(self.insts[at]), self.target.simd_bits()) };
        self.blocks.len() > 1
            && self.at[at] == 0
            && opcode(self.insts[at]) != LLVMOpcode::LLVMPHI
            && is_register
            && self.phis().any(is_next)
    }

    /// Makes a loop of each part, one behind the other. The last block itself stays as the one behind the last loop, so that phis there
    /// need no change.
    ///
    /// # Safety
    /// Context and builder are of the blocks' module, and alive.
    unsafe fn split(&self, context: LLVMContextRef, builder: LLVMBuilderRef, parts: &[Set]) {
        let (first, latch) = (self.blocks[0], self.blocks[self.blocks.len() - 1]);
        // SAFETY: the caller's promise. What is made is used in loops that follow each other, where it dominates its users.
        unsafe {
            let mut made: FxHashMap<usize, LLVMValueRef> = FxHashMap::default();
            let mut from = self.entering;
            for (number, part) in parts.iter().enumerate() {
                let behind = LLVMInsertBasicBlockInContext(context, first, NAME);
                let (head, own) = self.copy(context, builder, part, from, behind);
                self.lead(builder, from, head);
                LLVMMoveBasicBlockAfter(behind, LLVMGetPreviousBasicBlock(first));
                made.extend(own.into_iter().enumerate().filter_map(|(at, own)| Some((at, own?))));
                if number + 1 < parts.len() {
                    self.put_aside(builder, part, behind, &mut made);
                }
                from = behind;
            }
            self.lead(builder, from, latch);
            self.replace(builder, &made);
        }
    }

    /// Puts what was made in the place of the loop's instructions, and the last block behind what was made.
    ///
    /// # Safety
    /// The builder is of the blocks' module, and alive; what was made dominates the last block, into which nothing else leads any more.
    unsafe fn replace(&self, builder: LLVMBuilderRef, made: &FxHashMap<usize, LLVMValueRef>) {
        let (first, latch) = (self.blocks[0], self.blocks[self.blocks.len() - 1]);
        // SAFETY: the caller's promise; what is erased has no users any more.
        unsafe {
            // What waited in memory is loaded behind the branch, which goes.
            let last = self.insts[self.insts.len() - 1];
            let outside = [0, 1].map(|at| LLVMGetSuccessor(last, at)).into_iter().find(|of| *of != first);
            let outside = outside.unwrap_or(first);
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
            LLVMPositionBuilderAtEnd(builder, latch);
            LLVMBuildBr(builder, outside);
            for block in self.blocks.iter().filter(|block| **block != latch) {
                LLVMDeleteBasicBlock(*block);
            }
        }
    }

    /// Has what a part's loop made wait in memory for what comes behind the last loop, or LLVM has it wait in registers which other loops want.
    ///
    /// # Safety
    /// The builder is of the blocks' module, and alive, and so are the values; nothing is in `behind` yet.
    unsafe fn put_aside(
        &self,
        builder: LLVMBuilderRef,
        part: &Set,
        behind: LLVMBasicBlockRef,
        made: &mut FxHashMap<usize, LLVMValueRef>,
    ) {
        // SAFETY: the caller's promise. The last block is entered from the last loop, behind all others.
        unsafe {
            let function = LLVMGetBasicBlockParent(behind);
            let latch = self.blocks[self.blocks.len() - 1];
            for at in (0..self.insts.len()).filter(|at| part[*at] && self.is_used_outside(*at)) {
                let Some(value) = made.get_mut(&at) else { continue };
                let ty = LLVMTypeOf(*value);
                // What another loop around this one takes along is in memory already, as far as that has no registers.
                let begins = |phi: usize| incoming(self.insts[phi], self.entering);
                let mut phis = self.phis().filter(|phi| self.operands[*phi].contains(&at));
                let is_begun = phis.all(|phi| LLVMIsConstant(begins(phi)) != 0);
                if registers(*value, self.target) == 0 || !is_begun {
                    continue;
                }
                let place = room(builder, function, ty);
                LLVMPositionBuilderAtEnd(builder, behind);
                LLVMBuildStore(builder, *value, place);
                // The block's own instructions are erased.
                LLVMPositionBuilderAtEnd(builder, latch);
                *value = LLVMBuildLoad2(builder, ty, place, NAME);
            }
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
            for at in
                (0..LLVMGetNumSuccessors(last)).filter(|at| LLVMGetSuccessor(last, *at) == self.blocks[0])
            {
                LLVMSetSuccessor(last, at, to);
            }
        }
    }

    /// A loop of a part's instructions, between two blocks: its first block, and the copies by number.
    unsafe fn copy(
        &self,
        context: LLVMContextRef,
        builder: LLVMBuilderRef,
        part: &Set,
        from: LLVMBasicBlockRef,
        behind: LLVMBasicBlockRef,
    ) -> (LLVMBasicBlockRef, Vec<Option<LLVMValueRef>>) {
        // SAFETY: blocks and instructions that are alive; operands in the loop are copied before what uses them, since a part
        // has all that it needs, in the order of the blocks.
        unsafe {
            let new: Vec<LLVMBasicBlockRef> = self
                .blocks
                .iter()
                .map(|_| LLVMInsertBasicBlockInContext(context, self.blocks[0], NAME))
                .collect();
            let block_of =
                |of: LLVMBasicBlockRef| self.blocks.iter().position(|block| *block == of).map(|at| new[at]);
            let mut own: Vec<Option<LLVMValueRef>> = vec![None; self.insts.len()];
            let mut copies: FxHashMap<LLVMValueRef, LLVMValueRef> = FxHashMap::default();
            for (at, &inst) in self.insts.iter().enumerate().filter(|(at, _)| part[*at]) {
                LLVMPositionBuilderAtEnd(builder, new[self.at[at]]);
                let copy = match opcode(inst) {
                    LLVMOpcode::LLVMPHI => LLVMBuildPhi(builder, LLVMTypeOf(inst), NAME),
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
                let copy = if self.stays(at) { passed_on(builder, copy, true) } else { copy };
                copies.insert(inst, copy);
                own[at] = Some(copy);
            }
            for (inst, copy) in self.insts.iter().zip(&own).filter_map(|(inst, copy)| Some((*inst, (*copy)?)))
            {
                match opcode(inst) {
                    LLVMOpcode::LLVMPHI => {
                        for at in 0..LLVMCountIncoming(inst) {
                            let value = LLVMGetIncomingValue(inst, at);
                            let mut value = copies.get(&value).copied().unwrap_or(value);
                            let mut block = block_of(LLVMGetIncomingBlock(inst, at)).unwrap_or(from);
                            LLVMAddIncoming(copy, &raw mut value, &raw mut block, 1);
                        }
                    }
                    LLVMOpcode::LLVMBr => {
                        for at in 0..LLVMGetNumSuccessors(copy) {
                            LLVMSetSuccessor(
                                copy,
                                at,
                                block_of(LLVMGetSuccessor(copy, at)).unwrap_or(behind),
                            );
                        }
                    }
                    _ => {}
                }
            }
            (new[0], own)
        }
    }
}

fn add(set: &mut Set, other: &Set) {
    set.iter_mut().zip(other).for_each(|(of, other)| *of |= other);
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
        match LLVMGetTypeKind(ty) {
            LLVMTypeKind::LLVMVectorTypeKind => match bits_of(LLVMGetElementType(ty)) {
                1 => 0,
                bits => (LLVMGetVectorSize(ty) * bits).div_ceil(target.simd_bits()),
            },
            LLVMTypeKind::LLVMFloatTypeKind | LLVMTypeKind::LLVMDoubleTypeKind => 1,
            _ => 0,
        }
    }
}

/// The blocks that lead to one.
unsafe fn predecessors(block: LLVMBasicBlockRef) -> Vec<LLVMBasicBlockRef> {
    // SAFETY: the caller's block is alive, and what leads to it with it. (A function may use the address of a block, which leads nowhere.)
    unsafe {
        let users = users(LLVMBasicBlockAsValue(block)).into_iter();
        users
            .filter(|user| !LLVMIsAInstruction(*user).is_null())
            .map(|user| LLVMGetInstructionParent(user))
            .collect()
    }
}

/// The blocks from the first of a loop to the last, those that lead to a block in front of it, if nothing else leads to any but the
/// first, there is no loop among them, and none but the last leads elsewhere.
unsafe fn between(first: LLVMBasicBlockRef, last: LLVMBasicBlockRef) -> Option<Vec<LLVMBasicBlockRef>> {
    // SAFETY: the caller's blocks are alive, and the others of their function with them.
    unsafe {
        let mut all = vec![last];
        let mut next = 0;
        while let Some(&block) = all.get(next) {
            next += 1;
            if block == first {
                continue;
            }
            for of in predecessors(block) {
                if !all.contains(&of) {
                    all.push(of);
                }
            }
            // The block that a function begins with has none, and is no loop's but as its first.
            if all.len() > MOST_BLOCKS || predecessors(block).is_empty() {
                return None;
            }
        }
        let mut order = vec![first];
        let mut next = 0;
        while let Some(&block) = order.get(next) {
            next += 1;
            let end = LLVMGetBasicBlockTerminator(block);
            if opcode(end) != LLVMOpcode::LLVMBr {
                return None;
            }
            if block == last {
                continue;
            }
            for at in 0..LLVMGetNumSuccessors(end) {
                let to = LLVMGetSuccessor(end, at);
                if !all.contains(&to) || to == first {
                    return None;
                }
                if !order.contains(&to) && predecessors(to).iter().all(|of| order[..next].contains(of)) {
                    order.push(to);
                }
            }
        }
        (order.len() == all.len()).then_some(order)
    }
}

/// Of the blocks of a loop, those that every way from the first to the last leads through.
unsafe fn always_there(blocks: &[LLVMBasicBlockRef]) -> Vec<bool> {
    let before = |block: &LLVMBasicBlockRef| {
        // SAFETY: the caller's blocks are alive.
        let from = unsafe { predecessors(*block) };
        from.iter().filter_map(|of| blocks.iter().position(|block| block == of)).collect::<Vec<usize>>()
    };
    let before: Vec<Vec<usize>> = blocks.iter().map(before).collect();
    let is_there = |without: usize| {
        let mut is_reached = vec![false; blocks.len()];
        for at in (0..blocks.len()).filter(|at| *at != without) {
            is_reached[at] = at == 0 || before[at].iter().any(|of| *of < at && is_reached[*of]);
        }
        !is_reached[blocks.len() - 1]
    };
    (0..blocks.len()).map(is_there).collect()
}

/// What comes to a phi from a block.
unsafe fn incoming(phi: LLVMValueRef, from: LLVMBasicBlockRef) -> LLVMValueRef {
    // SAFETY: the caller's phi is alive, and has that block.
    unsafe {
        let at = (0..LLVMCountIncoming(phi)).find(|at| LLVMGetIncomingBlock(phi, *at) == from);
        LLVMGetIncomingValue(phi, at.unwrap_or(0))
    }
}

/// Whether an instruction only says something that passes may use.
fn is_dropped(inst: LLVMValueRef) -> bool {
    calls(inst, "llvm.assume") || calls(inst, "llvm.experimental.noalias.scope.decl")
}

#[cfg(test)]
mod tests;
