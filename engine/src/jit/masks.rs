//! Masks that are always empty, or always full, become constants.
//!
//! In code for a whole work-group it is known which sub-groups take part in `if (get_sub_group_id() == 0)`, but a loop inside takes along the
//! masks of all of them: empty at its beginning, and what stays of an empty mask in each iteration. LLVM's propagation of constants
//! does not see that a selection by a vector of zeros is its other operand, and so executes the loop for everybody.
//!
//! This is that propagation (Wegman and Zadeck, TOPLAS 1991) for two constants of integers and vectors of them, all bits zero and all
//! bits set: no block is executed until something says that it is.

use super::blocks::{blocks, functions, instructions, opcode, users};
use super::context::IrModule;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMIntPredicate, LLVMOpcode, LLVMTypeKind, LLVMValueKind};
use rustc_hash::{FxHashMap, FxHashSet};

/// Replaces masks that are always empty or always full, and integers that are zero or all ones for that.
pub fn constant(module: &IrModule) {
    for function in functions(module) {
        let Some(&entry) = blocks(function).first() else { continue };
        let mut state = State::default();
        state.enter(None, entry);
        while let Some(inst) = state.work.pop() {
            state.visit(inst);
        }
        for inst in blocks(function).into_iter().flat_map(instructions).filter(|inst| is_followed(*inst)) {
            // SAFETY: an instruction of the module that is alive, has no effect, and is used by nothing when it is erased.
            unsafe {
                let ty = LLVMTypeOf(inst);
                let constant = match state.known.get(&inst) {
                    Some(Bits::None) => LLVMConstNull(ty),
                    Some(Bits::All) => LLVMConstAllOnes(ty),
                    _ => continue,
                };
                LLVMReplaceAllUsesWith(inst, constant);
                LLVMInstructionEraseFromParent(inst);
            }
        }
    }
}

/// Which bits of an integer, or of all of a vector, are set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Bits {
    None,
    All,
    /// At least one.
    Some,
    Unknown,
}

impl Bits {
    fn join(self, other: Bits) -> Bits {
        match (self, other) {
            (a, b) if a == b => a,
            (Bits::All | Bits::Some, Bits::All | Bits::Some) => Bits::Some,
            _ => Bits::Unknown,
        }
    }

    fn or(self, other: Bits) -> Bits {
        match (self, other) {
            (Bits::None, of) | (of, Bits::None) => of,
            (Bits::All, _) | (_, Bits::All) => Bits::All,
            (Bits::Some, _) | (_, Bits::Some) => Bits::Some,
            _ => Bits::Unknown,
        }
    }

    fn and(self, other: Bits) -> Bits {
        match (self, other) {
            (Bits::None, _) | (_, Bits::None) => Bits::None,
            (Bits::All, of) | (of, Bits::All) => of,
            _ => Bits::Unknown,
        }
    }

    fn xor(self, other: Bits) -> Bits {
        match (self, other) {
            (Bits::None, of) | (of, Bits::None) => of,
            (Bits::All, Bits::All) => Bits::None,
            _ => Bits::Unknown,
        }
    }

    /// Whether two are the same number, if that is certain.
    fn equals(self, other: Bits) -> Option<bool> {
        match (self, other) {
            (Bits::None, Bits::None) | (Bits::All, Bits::All) => Some(true),
            (Bits::None, Bits::All | Bits::Some) | (Bits::All | Bits::Some, Bits::None) => Some(false),
            _ => None,
        }
    }
}

#[derive(Default)]
struct State {
    /// Edges that are taken, as far as is known.
    edges: FxHashSet<(LLVMBasicBlockRef, LLVMBasicBlockRef)>,
    blocks: FxHashSet<LLVMBasicBlockRef>,
    /// Of instructions that are executed, as far as is known.
    known: FxHashMap<LLVMValueRef, Bits>,
    work: Vec<LLVMValueRef>,
}

impl State {
    /// Notes that an edge is taken.
    fn enter(&mut self, from: Option<LLVMBasicBlockRef>, to: LLVMBasicBlockRef) {
        if from.is_some_and(|from| !self.edges.insert((from, to))) {
            return;
        }
        let is_new = self.blocks.insert(to);
        // Looked at in their order, last in first out.
        let first = self.work.len();
        let all = instructions(to).into_iter();
        self.work.extend(all.take_while(|inst| is_new || opcode(*inst) == LLVMOpcode::LLVMPHI));
        self.work[first..].reverse();
    }

    fn visit(&mut self, inst: LLVMValueRef) {
        // SAFETY: an instruction that is alive.
        unsafe {
            if !LLVMIsATerminatorInst(inst).is_null() {
                return self.leave(inst);
            }
            if !is_integer(inst) {
                return;
            }
            let (old, new) = (self.known.get(&inst).copied(), self.bits_of(inst));
            // Nothing gets better: what is known is of ever more edges.
            let Some(new) = new.map(|new| old.map_or(new, |old| old.join(new))) else { return };
            if old != Some(new) {
                self.known.insert(inst, new);
                let is_executed =
                    |user: &LLVMValueRef| self.blocks.contains(&LLVMGetInstructionParent(*user));
                self.work.extend(users(inst).into_iter().filter(is_executed));
            }
        }
    }

    /// Takes the edges behind a block.
    unsafe fn leave(&mut self, terminator: LLVMValueRef) {
        // SAFETY: a terminator that is alive, and its operands and successors with it.
        unsafe {
            let from = LLVMGetInstructionParent(terminator);
            let mut taken = 0..LLVMGetNumSuccessors(terminator);
            if opcode(terminator) == LLVMOpcode::LLVMBr && taken.end == 2 {
                match self.get(LLVMGetCondition(terminator)) {
                    Some(Bits::None) => taken.start = 1,
                    Some(Bits::All | Bits::Some) => taken.end = 1,
                    Some(Bits::Unknown) => {}
                    None => return,
                }
            }
            for at in taken {
                self.enter(Some(from), LLVMGetSuccessor(terminator, at));
            }
        }
    }

    /// What is known of a value; nothing yet, if it was not made yet.
    unsafe fn get(&self, value: LLVMValueRef) -> Option<Bits> {
        // SAFETY: a value that is alive.
        unsafe {
            if !LLVMIsAInstruction(value).is_null() {
                return self.known.get(&value).copied();
            }
            let is_number = LLVMGetValueKind(value) == LLVMValueKind::LLVMConstantIntValueKind;
            Some(if LLVMIsConstant(value) == 0 || !is_integer(value) {
                Bits::Unknown
            } else if LLVMIsNull(value) != 0 {
                Bits::None
            } else if value == LLVMConstAllOnes(LLVMTypeOf(value)) {
                Bits::All
            } else if is_number {
                Bits::Some
            } else {
                Bits::Unknown
            })
        }
    }

    /// What an instruction gives.
    unsafe fn bits_of(&self, inst: LLVMValueRef) -> Option<Bits> {
        use LLVMOpcode::*;
        if !is_followed(inst) {
            return Some(Bits::Unknown);
        }
        // SAFETY: an instruction that is alive and has these operands.
        unsafe {
            let operand = |at: u32| self.get(LLVMGetOperand(inst, at));
            let of_both = |join: fn(Bits, Bits) -> Bits| Some(join(operand(0)?, operand(1)?));
            match opcode(inst) {
                LLVMPHI => {
                    let to = LLVMGetInstructionParent(inst);
                    let taken = (0..LLVMCountIncoming(inst))
                        .filter(|at| self.edges.contains(&(LLVMGetIncomingBlock(inst, *at), to)));
                    taken.filter_map(|at| self.get(LLVMGetIncomingValue(inst, at))).reduce(Bits::join)
                }
                LLVMSelect => match operand(0)? {
                    Bits::All => operand(1),
                    Bits::None => operand(2),
                    _ => {
                        let joined = operand(1)?.join(operand(2)?);
                        // Lanes come from either.
                        let is_whole = joined != Bits::Some || !is_vector(inst);
                        Some(if is_whole { joined } else { Bits::Unknown })
                    }
                },
                LLVMAnd => of_both(Bits::and),
                LLVMOr => of_both(Bits::or),
                LLVMXor => of_both(Bits::xor),
                LLVMICmp => {
                    // Of vectors, some bit that is set says nothing about each lane.
                    let of_lanes = |bits: Bits| match bits {
                        Bits::Some if is_vector(inst) => Bits::Unknown,
                        bits => bits,
                    };
                    let equal = of_lanes(operand(0)?).equals(of_lanes(operand(1)?));
                    let holds = match LLVMGetICmpPredicate(inst) {
                        LLVMIntPredicate::LLVMIntEQ => equal,
                        LLVMIntPredicate::LLVMIntNE => equal.map(|equal| !equal),
                        _ => None,
                    };
                    Some(holds.map_or(Bits::Unknown, |holds| if holds { Bits::All } else { Bits::None }))
                }
                LLVMZExt => Some(match operand(0)? {
                    Bits::All => Bits::Some,
                    bits => bits,
                }),
                LLVMTrunc => Some(match operand(0)? {
                    Bits::Some => Bits::Unknown,
                    bits => bits,
                }),
                // Sign extensions, casts and freezes.
                _ => operand(0),
            }
        }
    }
}

/// Whether what an instruction gives may be known of what it is given.
fn is_followed(inst: LLVMValueRef) -> bool {
    use LLVMOpcode::*;
    let of_integers = || {
        // SAFETY: an instruction that is alive and has an operand.
        is_integer(unsafe { LLVMGetOperand(inst, 0) })
    };
    match opcode(inst) {
        LLVMPHI | LLVMSelect | LLVMAnd | LLVMOr | LLVMXor => is_integer(inst),
        LLVMICmp | LLVMBitCast => is_integer(inst) && of_integers(),
        LLVMZExt | LLVMSExt | LLVMTrunc | LLVMFreeze => is_integer(inst),
        _ => false,
    }
}

/// Whether a value is an integer or a vector of integers.
fn is_integer(value: LLVMValueRef) -> bool {
    // SAFETY: a value that is alive, and its type with it.
    unsafe {
        let ty = LLVMTypeOf(value);
        let scalar = if is_vector(value) { LLVMGetElementType(ty) } else { ty };
        LLVMGetTypeKind(scalar) == LLVMTypeKind::LLVMIntegerTypeKind
    }
}

fn is_vector(value: LLVMValueRef) -> bool {
    // SAFETY: a value that is alive, and its type with it.
    unsafe { LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMTypeKind::LLVMVectorTypeKind }
}

#[cfg(test)]
mod tests {
    use super::super::Context;
    use super::super::target::Target;
    use super::*;

    /// The IR of a loop over a mask that is `mask` at its beginning, with empty masks replaced.
    fn of_loop(mask: &str, next: &str) -> String {
        let text = format!(
            "define <4 x i1> @f(<4 x i1> %some, ptr %p) {{
            entry:
              br label %head
            head:
              %left = phi <4 x i1> [ {mask}, %entry ], [ %stay, %last ]
              %goes = load <4 x i1>, ptr %p
              {next}
              %bits = bitcast <4 x i1> %stay to i4
              %any = icmp ne i4 %bits, 0
              br i1 %any, label %last, label %end
            last:
              br label %head
            end:
              ret <4 x i1> %left
            }}"
        );
        let context = Context::new();
        let module = IrModule::parse(&context, &text, &Target::host().expect("a target")).expect("valid IR");
        constant(&module);
        module.verify().expect("valid IR");
        module.text()
    }

    #[test]
    fn what_a_loop_keeps_of_an_empty_mask_is_empty() {
        let selected = "%stay = select <4 x i1> %left, <4 x i1> %goes, <4 x i1> zeroinitializer";
        let kept = "%both = and <4 x i1> %goes, %left\n%stay = or <4 x i1> %both, zeroinitializer";
        for next in [selected, kept] {
            let text = of_loop("zeroinitializer", next);
            assert!(text.contains("ret <4 x i1> zeroinitializer") && !text.contains("phi"), "{text}");
            assert!(text.contains("br i1 false"), "{text}");
            let text = of_loop("%some", next);
            assert!(text.contains("ret <4 x i1> %left") && text.contains("br i1 %any"), "{text}");
        }
    }

    #[test]
    fn a_mask_that_a_loop_fills_is_not_empty() {
        for next in [
            "%stay = or <4 x i1> %left, %goes",
            "%stay = xor <4 x i1> %left, %goes",
            "%stay = select <4 x i1> %left, <4 x i1> zeroinitializer, <4 x i1> %goes",
        ] {
            let text = of_loop("zeroinitializer", next);
            assert!(text.contains("ret <4 x i1> %left"), "{text}");
        }
    }

    #[test]
    fn what_comes_from_where_nobody_is_does_not_count() {
        let of_branch = |condition: &str| {
            let text = format!(
                "define <4 x i1> @f(<4 x i1> %some) {{
                  %none = and <4 x i1> %some, zeroinitializer
                  %bits = bitcast <4 x i1> %none to i4
                  %wide = zext i4 %bits to i64
                  {condition}
                  br i1 %goes, label %full, label %join
                full:
                  br label %join
                join:
                  %left = phi <4 x i1> [ splat (i1 true), %full ], [ %none, %0 ]
                  ret <4 x i1> %left
                }}"
            );
            let context = Context::new();
            let module =
                IrModule::parse(&context, &text, &Target::host().expect("a target")).expect("valid IR");
            constant(&module);
            module.verify().expect("valid IR");
            module.text()
        };
        let is_none = |condition: &str| of_branch(condition).contains("ret <4 x i1> zeroinitializer");
        let all = "%off = xor <4 x i1> %none, splat (i1 true)
            %bits.off = bitcast <4 x i1> %off to i4
            %any.off = icmp ne i4 %bits.off, 0
            %goes = xor i1 %any.off, true";
        for no in ["%goes = icmp ne i64 %wide, 0", "%goes = icmp eq i64 %wide, 15", all] {
            assert!(is_none(no), "{no}");
        }
        for maybe in ["%goes = icmp eq i64 %wide, 0", "%goes = icmp ult i64 %wide, 1"] {
            assert!(!is_none(maybe), "{maybe}");
        }
    }
}
