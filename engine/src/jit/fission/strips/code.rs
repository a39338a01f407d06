//! The code of a loop that is cut into strips: loops in a loop, a buffer, and sums that wait in memory between them.

use super::super::super::blocks::{
    blocks, called_intrinsic, calls, instructions, intrinsic_number, opcode, room,
};
use super::super::super::pieces::shuffled;
use super::super::{Body, NAME, incoming};
use super::{Piece, Strips, Way, memory_bits, shape};
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMIntPredicate, LLVMOpcode};
use rustc_hash::FxHashMap;

/// Intrinsics that compute each lane from the same lanes of their operands, all of which have the result's type.
pub(super) const BY_LANE: [&str; 12] = [
    "llvm.fma",
    "llvm.fmuladd",
    "llvm.fabs",
    "llvm.minnum",
    "llvm.maxnum",
    "llvm.minimum",
    "llvm.maximum",
    "llvm.smin",
    "llvm.smax",
    "llvm.umin",
    "llvm.umax",
    "llvm.copysign",
];

/// Memory on a function's stack that its loops use, one after the other.
pub(in super::super) struct Room {
    place: Option<(LLVMValueRef, u64)>,
}

impl Room {
    pub fn new() -> Room {
        Room { place: None }
    }

    /// So many bytes of it, aligned as a register is.
    ///
    /// # Safety
    /// Context, builder and function belong together and are alive, and the room has been used for no other function.
    unsafe fn of_bytes(
        &mut self,
        context: LLVMContextRef,
        builder: LLVMBuilderRef,
        function: LLVMValueRef,
        bytes: u64,
        align: u32,
    ) -> LLVMValueRef {
        // SAFETY: the caller's promise; a smaller place is not used once another has taken all of its uses.
        unsafe {
            if let Some((place, size)) = self.place
                && size >= bytes
            {
                return place;
            }
            let ty = LLVMArrayType2(LLVMInt8TypeInContext(context), bytes);
            let place = room(builder, function, ty);
            LLVMSetAlignment(place, align);
            if let Some((smaller, _)) = self.place.replace((place, bytes)) {
                LLVMReplaceAllUsesWith(smaller, place);
                LLVMInstructionEraseFromParent(smaller);
            }
            place
        }
    }
}

/// The operands of an instruction, without the function that it calls.
pub(super) fn operands(inst: LLVMValueRef) -> u32 {
    // SAFETY: an instruction that is alive.
    unsafe {
        match opcode(inst) {
            LLVMOpcode::LLVMCall => LLVMGetNumArgOperands(inst),
            _ => LLVMGetNumOperands(inst) as u32,
        }
    }
}

/// Whether an operation takes two values of its result's type.
pub(super) fn is_binary(operation: LLVMOpcode) -> bool {
    use LLVMOpcode::*;
    matches!(
        operation,
        LLVMAdd
            | LLVMFAdd
            | LLVMSub
            | LLVMFSub
            | LLVMMul
            | LLVMFMul
            | LLVMFDiv
            | LLVMShl
            | LLVMLShr
            | LLVMAShr
            | LLVMAnd
            | LLVMOr
            | LLVMXor
    )
}

/// Whether a function calls others.
///
/// # Safety
/// The function is alive.
pub(super) unsafe fn calls_functions(function: LLVMValueRef) -> bool {
    // SAFETY: the caller's promise; a call's callee is alive with it.
    let is_call = |inst: LLVMValueRef| unsafe {
        opcode(inst) == LLVMOpcode::LLVMCall
            && called_intrinsic(inst).is_none()
            && LLVMIsAInlineAsm(LLVMGetCalledValue(inst)).is_null()
    };
    blocks(function).into_iter().any(|block| instructions(block).into_iter().any(is_call))
}

/// Where values wait between loops, in bytes from the room's beginning.
#[derive(Default)]
struct Places {
    /// What is carried, by its phi.
    carried: FxHashMap<usize, u64>,
    /// What else sums are computed by and is used behind the loop.
    last: FxHashMap<usize, u64>,
    /// By a phi's next value, the phi.
    phi_of: FxHashMap<usize, usize>,
    /// Where the last one ends.
    end: u64,
}

/// What the code of a loop is made with.
struct Maker<'a, 't> {
    body: &'a Body<'t>,
    strips: &'a Strips,
    places: Places,
    context: LLVMContextRef,
    builder: LLVMBuilderRef,
    room: LLVMValueRef,
}

/// A part's loop while it is made.
struct Loop {
    before: LLVMBasicBlockRef,
    block: LLVMBasicBlockRef,
    /// The record of an iteration.
    record: LLVMValueRef,
    /// Values by number and register.
    made: FxHashMap<(usize, Option<u32>), LLVMValueRef>,
    /// Operands, which may be values of several types.
    loaded: FxHashMap<(usize, LLVMTypeRef), LLVMValueRef>,
    /// Registers of what the loop does not change.
    outer: FxHashMap<(LLVMValueRef, u32), LLVMValueRef>,
}

impl Strips {
    /// Makes the loops, in front of the last block, which stays as the one behind them.
    ///
    /// # Safety
    /// Context and builder are of the body's module, and alive; the room is its function's.
    pub unsafe fn split(
        &self,
        body: &Body,
        context: LLVMContextRef,
        builder: LLVMBuilderRef,
        room: &mut Room,
    ) {
        // SAFETY: the caller's promise. What is made dominates what uses it: each loop is behind the one before in a loop around all of
        // them, which is left behind the last one.
        unsafe {
            let align = body.target.simd_bits() / 8;
            let places = self.places(body, u64::from(align));
            let function = LLVMGetBasicBlockParent(body.entering);
            let bytes = places.end + self.iterations * self.record_bytes;
            let room = room.of_bytes(context, builder, function, bytes, align);
            let made = Maker { body, strips: self, places, context, builder, room }.make();
            body.replace(builder, &made);
        }
    }

    fn places(&self, body: &Body, align: u64) -> Places {
        let mut places = Places::default();
        // SAFETY: the body's instructions are alive.
        unsafe {
            let bytes = |at: usize| {
                let (element, lanes) = shape(LLVMTypeOf(body.insts[at]));
                u64::from(memory_bits(element).unwrap_or(0) / 8 * lanes).next_multiple_of(align)
            };
            for phi in body.phis().filter(|phi| self.of_sums[*phi]) {
                places.carried.insert(phi, places.end);
                places.end += bytes(phi);
                for &next in &body.operands[phi] {
                    places.phi_of.entry(next).or_insert(phi);
                }
            }
            for at in (0..body.insts.len()).filter(|at| self.of_sums[*at]) {
                if !places.phi_of.contains_key(&at) && body.is_used_outside(at) {
                    places.last.insert(at, places.end);
                    places.end += bytes(at);
                }
            }
        }
        places
    }
}

// Context, builder, room and body are alive and belong together, as `split` was promised: that is the maker's promise below.
impl Maker<'_, '_> {
    /// Makes the loops; what stands for which instructions behind them.
    unsafe fn make(&self) -> FxHashMap<usize, LLVMValueRef> {
        let (body, builder) = (self.body, self.builder);
        let (first, latch) = (body.blocks[0], body.blocks[body.blocks.len() - 1]);
        // SAFETY: the maker's promise; what is made is made of values that dominate it.
        unsafe {
            let [before, outer, filled] = [(); 3].map(|()| self.block());
            body.lead(builder, body.entering, before);
            LLVMPositionBuilderAtEnd(builder, before);
            for (&phi, &at) in &self.places.carried {
                self.store(incoming(body.insts[phi], body.entering), self.room, at);
            }
            let buffer = self.at(self.room, self.places.end);
            let end = self.at(buffer, self.strips.iterations * self.strips.record_bytes);
            LLVMBuildBr(builder, outer);
            let (head, own) = body.copy(self.context, builder, &self.strips.before, outer, filled);
            LLVMMoveBasicBlockAfter(filled, LLVMGetPreviousBasicBlock(first));
            let made = own.iter().enumerate().filter_map(|(at, value)| Some((at, (*value)?)));
            let mut made: FxHashMap<usize, LLVMValueRef> = made.collect();
            let Some(branch) = made.remove(&(body.insts.len() - 1)) else { return made };
            let tail = LLVMGetInstructionParent(branch);

            // The strip ends where the loop does, or the buffer.
            LLVMPositionBuilderBefore(builder, LLVMGetFirstInstruction(head));
            let record = LLVMBuildPhi(builder, LLVMTypeOf(buffer), NAME);
            LLVMPositionBuilderBefore(builder, branch);
            for (at, offset) in &self.strips.record {
                if let Some(value) = made.get(at) {
                    self.store(*value, record, *offset);
                }
            }
            let next = self.at(record, self.strips.record_bytes);
            let condition = LLVMGetCondition(branch);
            let goes_on = match LLVMGetSuccessor(branch, 0) == head {
                true => condition,
                false => LLVMBuildNot(builder, condition, NAME),
            };
            let has_room = LLVMBuildICmp(builder, LLVMIntPredicate::LLVMIntNE, next, end, NAME);
            let stays = LLVMBuildAnd(builder, goes_on, has_room, NAME);
            LLVMBuildCondBr(builder, stays, head, filled);
            LLVMInstructionEraseFromParent(branch);
            add_incoming(record, buffer, outer);
            add_incoming(record, next, tail);

            let mut from = filled;
            for part in &self.strips.parts {
                from = self.part(part, from, buffer, next);
            }
            LLVMPositionBuilderAtEnd(builder, from);
            LLVMBuildCondBr(builder, goes_on, outer, latch);

            // What is carried to the next strip.
            LLVMPositionBuilderAtEnd(builder, outer);
            let carried = body.phis().filter_map(|phi| Some((phi, *made.get(&phi)?)));
            for (phi, copy) in carried {
                let carried = LLVMBuildPhi(builder, LLVMTypeOf(copy), NAME);
                add_incoming(carried, incoming(body.insts[phi], body.entering), before);
                add_incoming(carried, incoming(copy, tail), from);
                let edge = (0..LLVMCountIncoming(copy)).find(|at| LLVMGetIncomingBlock(copy, *at) == outer);
                edge.into_iter().for_each(|edge| LLVMSetOperand(copy, edge, carried));
            }
            LLVMBuildBr(builder, head);

            // The last block's own instructions are erased.
            LLVMPositionBuilderAtEnd(builder, latch);
            for at in (0..body.insts.len()).filter(|at| self.strips.of_sums[*at]) {
                let of_next = self.places.phi_of.get(&at).and_then(|phi| self.places.carried.get(phi));
                let place = of_next.or(self.places.last.get(&at));
                if let Some(place) = place.filter(|_| body.is_used_outside(at)) {
                    made.insert(at, self.load(LLVMTypeOf(body.insts[at]), self.room, *place));
                }
            }
            made
        }
    }

    /// Makes a part's loop over the records of a buffer up to `end`, behind a block; the block behind it.
    unsafe fn part(
        &self,
        part: &[Piece],
        before: LLVMBasicBlockRef,
        buffer: LLVMValueRef,
        end: LLVMValueRef,
    ) -> LLVMBasicBlockRef {
        let (body, builder) = (self.body, self.builder);
        // SAFETY: the maker's promise; what is made is made of values that dominate it.
        unsafe {
            let [block, behind] = [(); 2].map(|()| self.block());
            LLVMPositionBuilderAtEnd(builder, block);
            let record = LLVMBuildPhi(builder, LLVMTypeOf(buffer), NAME);
            let (made, loaded, outer) = Default::default();
            let mut this = Loop { before, block, record, made, loaded, outer };
            let phis = |piece: &Piece| {
                let is_phi = |at: &usize| opcode(body.insts[*at]) == LLVMOpcode::LLVMPHI;
                piece.insts.iter().copied().filter(is_phi).collect::<Vec<usize>>()
            };
            for piece in part {
                for at in phis(piece) {
                    let ty = self.narrow(LLVMTypeOf(body.insts[at]), piece.register);
                    LLVMPositionBuilderAtEnd(builder, before);
                    let waits = self.load(ty, self.room, self.place(self.places.carried[&at], piece));
                    LLVMPositionBuilderAtEnd(builder, block);
                    let phi = LLVMBuildPhi(builder, ty, NAME);
                    add_incoming(phi, waits, before);
                    this.made.insert((at, piece.register), phi);
                }
            }
            for piece in part {
                for &at in &piece.insts {
                    if opcode(body.insts[at]) != LLVMOpcode::LLVMPHI {
                        let value = match piece.register {
                            None => self.whole(at, &mut this),
                            Some(register) => self.lanes(at, register, &mut this),
                        };
                        this.made.insert((at, piece.register), value);
                    }
                }
            }
            let next = self.at(record, self.strips.record_bytes);
            let is_last = LLVMBuildICmp(builder, LLVMIntPredicate::LLVMIntEQ, next, end, NAME);
            LLVMBuildCondBr(builder, is_last, behind, block);
            add_incoming(record, buffer, before);
            add_incoming(record, next, block);
            LLVMPositionBuilderAtEnd(builder, before);
            LLVMBuildBr(builder, block);

            LLVMPositionBuilderAtEnd(builder, behind);
            for piece in part {
                for phi in phis(piece) {
                    let next =
                        body.operands[phi].first().and_then(|next| this.made.get(&(*next, piece.register)));
                    let (Some(&next), Some(&phi_made)) = (next, this.made.get(&(phi, piece.register))) else {
                        continue;
                    };
                    add_incoming(phi_made, next, block);
                    self.store(next, self.room, self.place(self.places.carried[&phi], piece));
                }
                for at in &piece.insts {
                    if let (Some(&place), Some(&value)) =
                        (self.places.last.get(at), this.made.get(&(*at, piece.register)))
                    {
                        self.store(value, self.room, self.place(place, piece));
                    }
                }
            }
            behind
        }
    }

    /// An instruction as it is, of a loop's values.
    unsafe fn whole(&self, at: usize, this: &mut Loop) -> LLVMValueRef {
        // SAFETY: the maker's promise; what is made is made of values that dominate it.
        unsafe {
            let copy = LLVMInstructionClone(self.body.insts[at]);
            for number in 0..operands(copy) {
                let operand = LLVMGetOperand(copy, number);
                if let Some(value) = self.inside(operand, None, this) {
                    LLVMSetOperand(copy, number, value);
                }
            }
            LLVMPositionBuilderAtEnd(self.builder, this.block);
            LLVMInsertIntoBuilder(self.builder, copy);
            copy
        }
    }

    /// One register of what an instruction computes lane by lane.
    unsafe fn lanes(&self, at: usize, register: u32, this: &mut Loop) -> LLVMValueRef {
        let (inst, builder) = (self.body.insts[at], self.builder);
        // SAFETY: the maker's promise; what is made is made of values that dominate it.
        unsafe {
            let mut values = Vec::new();
            for number in 0..operands(inst) {
                let operand = LLVMGetOperand(inst, number);
                values.push(match self.inside(operand, Some(register), this) {
                    Some(value) => value,
                    None => self.outside(operand, register, this),
                });
            }
            LLVMPositionBuilderAtEnd(builder, this.block);
            let mut ty = self.narrow(LLVMTypeOf(inst), Some(register));
            let value = match (opcode(inst), &mut values[..]) {
                (LLVMOpcode::LLVMBitCast, [value]) => LLVMBuildBitCast(builder, *value, ty, NAME),
                (LLVMOpcode::LLVMFNeg, [value]) => LLVMBuildFNeg(builder, *value, NAME),
                (LLVMOpcode::LLVMCall, values) => {
                    let name = BY_LANE.iter().find(|name| calls(inst, name)).copied().unwrap_or_default();
                    let id = intrinsic_number(name);
                    let module = LLVMGetGlobalParent(LLVMGetBasicBlockParent(this.block));
                    let function = LLVMGetIntrinsicDeclaration(module, id, &raw mut ty, 1);
                    let of = LLVMIntrinsicGetType(self.context, id, &raw mut ty, 1);
                    let count = values.len() as u32;
                    LLVMBuildCall2(builder, of, function, values.as_mut_ptr(), count, NAME)
                }
                (operation, [a, b]) => LLVMBuildBinOp(builder, operation, *a, *b, NAME),
                _ => LLVMGetPoison(ty),
            };
            let has_flags =
                |value| !LLVMIsAInstruction(value).is_null() && LLVMCanValueUseFastMathFlags(value) != 0;
            if has_flags(inst) && has_flags(value) {
                LLVMSetFastMathFlags(value, LLVMGetFastMathFlags(inst));
            }
            value
        }
    }

    /// What an operand is in a loop, if it was computed in the body.
    unsafe fn inside(
        &self,
        operand: LLVMValueRef,
        register: Option<u32>,
        this: &mut Loop,
    ) -> Option<LLVMValueRef> {
        let at = *self.body.numbers.get(&operand)?;
        if self.strips.of_sums[at] {
            return this.made.get(&(at, register)).copied();
        }
        let number = *self.strips.operand_of.get(&(at, register))?;
        // SAFETY: the maker's promise; what is made is made of values that dominate it.
        unsafe {
            let ty = self.narrow(LLVMTypeOf(operand), register);
            if let Some(&loaded) = this.loaded.get(&(number, ty)) {
                return Some(loaded);
            }
            LLVMPositionBuilderAtEnd(self.builder, this.block);
            let value = self.operand(number, ty, this.record);
            this.loaded.insert((number, ty), value);
            Some(value)
        }
    }

    /// A register of a value that the body does not compute.
    unsafe fn outside(&self, operand: LLVMValueRef, register: u32, this: &mut Loop) -> LLVMValueRef {
        if let Some(&known) = this.outer.get(&(operand, register)) {
            return known;
        }
        // SAFETY: the maker's promise; what is made is made of values that dominate it.
        unsafe {
            LLVMPositionBuilderAtEnd(self.builder, this.before);
            let (_, count) = shape(self.narrow(LLVMTypeOf(operand), Some(register)));
            let lanes: Vec<u32> = (register * count..).take(count as usize).collect();
            let value = self.shuffle(operand, operand, &lanes);
            this.outer.insert((operand, register), value);
            value
        }
    }

    /// Loads an operand.
    unsafe fn operand(&self, number: usize, ty: LLVMTypeRef, record: LLVMValueRef) -> LLVMValueRef {
        let operand = &self.strips.operands[number];
        let origin = &operand.origin;
        let start = self.strips.record.iter().find(|(at, _)| *at == origin.of).map_or(0, |(_, start)| *start);
        // SAFETY: the maker's promise; what is made is made of values that dominate it.
        unsafe {
            let (element, lanes) = shape(ty);
            let bytes = u64::from(memory_bits(element).unwrap_or(0) / 8);
            let count = lanes / operand.ways.len() as u32;
            let of_way = if operand.ways.len() == 1 { ty } else { LLVMVectorType(element, count) };
            let wanted = origin.lanes.chunks(count as usize);
            let mut registers: Vec<LLVMValueRef> = Vec::new();
            for (way, wanted) in operand.ways.iter().zip(wanted) {
                let place = |lane: u32| start + u64::from(lane) * bytes;
                registers.push(match *way {
                    Way::Row(lane) => self.load(of_way, record, place(lane)),
                    Way::All(lane) => {
                        let value = self.load(element, record, place(lane));
                        let zero = LLVMConstInt(LLVMInt32TypeInContext(self.context), 0, 0);
                        let first =
                            LLVMBuildInsertElement(self.builder, LLVMGetPoison(of_way), value, zero, NAME);
                        self.shuffle(first, LLVMGetPoison(of_way), &vec![0; count as usize])
                    }
                    Way::Permuted(from) => {
                        let value = self.load(of_way, record, place(from));
                        let lanes: Vec<u32> =
                            wanted.iter().map(|lane| lane.map_or(0, |lane| lane - from)).collect();
                        self.shuffle(value, LLVMGetPoison(of_way), &lanes)
                    }
                });
            }
            while registers.len() > 1 {
                let join = |pair: &[LLVMValueRef]| match *pair {
                    [low, high] => {
                        let (_, count) = shape(LLVMTypeOf(low));
                        let lanes: Vec<u32> = (0..2 * count).collect();
                        self.shuffle(low, high, &lanes)
                    }
                    _ => pair[0],
                };
                registers = registers.chunks(2).map(join).collect();
            }
            registers[0]
        }
    }

    unsafe fn shuffle(&self, a: LLVMValueRef, b: LLVMValueRef, lanes: &[u32]) -> LLVMValueRef {
        // SAFETY: the maker's promise; what is made is made of values that dominate it.
        unsafe { shuffled(self.builder, [a, b], lanes.iter().map(|lane| Some(*lane))) }
    }

    /// The type of a register of a vector, or the type itself.
    unsafe fn narrow(&self, ty: LLVMTypeRef, register: Option<u32>) -> LLVMTypeRef {
        if register.is_none() {
            return ty;
        }
        // SAFETY: the maker's promise; what is made is made of values that dominate it.
        unsafe {
            let (element, _) = shape(ty);
            let bits = memory_bits(element).unwrap_or(self.body.target.simd_bits());
            LLVMVectorType(element, self.body.target.simd_bits() / bits)
        }
    }

    /// Where a piece's part of a value is that waits.
    fn place(&self, of_value: u64, piece: &Piece) -> u64 {
        of_value + u64::from(piece.register.unwrap_or(0) * self.body.target.simd_bits() / 8)
    }

    fn block(&self) -> LLVMBasicBlockRef {
        // SAFETY: the maker's promise.
        unsafe { LLVMInsertBasicBlockInContext(self.context, self.body.blocks[0], NAME) }
    }

    unsafe fn at(&self, place: LLVMValueRef, bytes: u64) -> LLVMValueRef {
        // SAFETY: the maker's promise; what is made is made of values that dominate it.
        unsafe {
            let mut bytes = LLVMConstInt(LLVMInt64TypeInContext(self.context), bytes, 0);
            LLVMBuildInBoundsGEP2(
                self.builder,
                LLVMInt8TypeInContext(self.context),
                place,
                &raw mut bytes,
                1,
                NAME,
            )
        }
    }

    unsafe fn load(&self, ty: LLVMTypeRef, place: LLVMValueRef, offset: u64) -> LLVMValueRef {
        // SAFETY: the maker's promise; what is made is made of values that dominate it.
        unsafe {
            let load = LLVMBuildLoad2(self.builder, ty, self.at(place, offset), NAME);
            LLVMSetAlignment(load, self.align(offset));
            load
        }
    }

    unsafe fn store(&self, value: LLVMValueRef, place: LLVMValueRef, offset: u64) {
        // SAFETY: the maker's promise; what is made is made of values that dominate it.
        unsafe {
            let store = LLVMBuildStore(self.builder, value, self.at(place, offset));
            LLVMSetAlignment(store, self.align(offset));
        }
    }

    /// The alignment at an offset from where a register may be.
    fn align(&self, offset: u64) -> u32 {
        let register = self.body.target.simd_bits() / 8;
        match offset.trailing_zeros() {
            zeros if zeros < register.trailing_zeros() => 1 << zeros,
            _ => register,
        }
    }
}

unsafe fn add_incoming(phi: LLVMValueRef, mut value: LLVMValueRef, mut from: LLVMBasicBlockRef) {
    // SAFETY: the caller's phi, value and block are alive.
    unsafe { LLVMAddIncoming(phi, &raw mut value, &raw mut from, 1) }
}
