//! Masks that come from other blocks, in lanes as wide as the numbers that they are about, where masks have no registers of their own.
//!
//! AVX-512 has registers for vectors of bits. For other processors LLVM's code generator, which looks at one block at a time, keeps such a vector
//! in the narrowest lanes there are between blocks: eight bits in eight lanes of 16 bits each. A loop that carries a mask along packs
//! what each comparison has made, and spreads it out again for each selection, half of the time of a loop that has little else to do. What compares
//! and selects numbers of 32 bits makes and takes 32 bits for each lane, all zero or all one.
//!
//! So masks that live from block to block become vectors of such numbers, with all that is computed of them, and bits once more
//! only in front of what takes bits: selections and accesses look at the highest bit of a lane, which costs nothing. Whether any lane is on, or
//! all are, is asked of one register, to which the others are joined: LLVM would pack the bits of all of them together.

use super::addresses::is;
use super::blocks::{followers, functions, in_order, instructions, opcode, users};
use super::context::IrModule;
use super::pieces::{bits_of, splat, splatted};
use super::target::Target;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMIntPredicate, LLVMOpcode, LLVMTypeKind};
use rustc_hash::{FxHashMap, FxHashSet};

const NAME: *const std::ffi::c_char = c"".as_ptr();

/// The lanes that masks may have, in bits.
const WIDTHS: [u32; 4] = [8, 16, 32, 64];

/// Those that accesses under a mask have.
const WORDS: [u32; 2] = [32, 64];

/// How much more often the code of a loop is executed than what is around it, and of how many loops that counts.
const TURNS: u64 = 8;
const LOOPS: u32 = 4;

/// Bits of the smallest vector register.
const LEAST_REGISTER: u32 = 128;

/// Widens masks that live from block to block.
pub fn widen(module: &IrModule, target: &Target) {
    if target.has_avx512() {
        return;
    }
    // SAFETY: the module is alive, and used by this thread only.
    unsafe {
        let builder = LLVMCreateBuilderInContext(module.context().raw());
        for function in functions(module) {
            let masks = Masks::of(function);
            if !masks.all.is_empty() {
                masks.widen(module.context().raw(), builder, target);
            }
        }
        LLVMDisposeBuilder(builder);
    }
}

/// What is computed of masks in a function.
struct Masks {
    /// In an order in which what is used comes first, but for phis.
    all: Vec<LLVMValueRef>,
    numbers: FxHashMap<LLVMValueRef, usize>,
    /// For each the number of another that must have the same lanes, or its own.
    same: Vec<usize>,
    /// How often blocks are executed, as far as the loops around them say.
    turns: FxHashMap<LLVMBasicBlockRef, u64>,
}

/// What is known of masks that must have the same lanes.
#[derive(Clone, Copy, Default)]
struct Web {
    /// Whether one of them is used in another block than its own.
    is_carried: bool,
    /// Whether a question about all lanes is asked.
    is_tested: bool,
    /// What comparisons make and selections take, for each of the widths.
    wanted: [u64; WIDTHS.len()],
}

impl Masks {
    unsafe fn of(function: LLVMValueRef) -> Masks {
        let order = in_order(function);
        let all: Vec<LLVMValueRef> =
            // SAFETY: the caller's function is alive, and its instructions with it.
            order.iter().flat_map(|block| instructions(*block)).filter(|inst| unsafe { is_logic(*inst) }).collect();
        let numbers = all.iter().enumerate().map(|(at, inst)| (*inst, at)).collect();
        let mut masks = Masks { same: (0..all.len()).collect(), all, numbers, turns: FxHashMap::default() };
        if masks.all.is_empty() {
            return masks;
        }
        masks.turns = turns(&order);
        for at in 0..masks.all.len() {
            // SAFETY: as above.
            for operand in unsafe { operands(masks.all[at]) } {
                if let Some(&other) = masks.numbers.get(&operand) {
                    let (a, b) = (masks.root(at), masks.root(other));
                    masks.same[a.max(b)] = a.min(b);
                }
            }
        }
        for at in 0..masks.all.len() {
            masks.same[at] = masks.root(at);
        }
        masks
    }

    fn root(&mut self, mut at: usize) -> usize {
        while self.same[at] != at {
            self.same[at] = self.same[self.same[at]];
            at = self.same[at];
        }
        at
    }

    /// What is known of each web, by its root.
    unsafe fn webs(&self) -> Vec<Web> {
        let mut webs = vec![Web::default(); self.all.len()];
        for (at, &mask) in self.all.iter().enumerate() {
            let web = &mut webs[self.same[at]];
            // SAFETY: the caller's masks are alive, and what makes and uses them with them.
            unsafe {
                let block = LLVMGetInstructionParent(mask);
                let mut want = |bits: Option<u32>, inst: LLVMValueRef| {
                    if let Some(width) = bits.and_then(|bits| WIDTHS.iter().position(|width| *width == bits))
                    {
                        web.wanted[width] += self.turns.get(&LLVMGetInstructionParent(inst)).unwrap_or(&1);
                    }
                };
                for operand in operands(mask).filter(|operand| !self.numbers.contains_key(operand)) {
                    want(made_by(operand), mask);
                }
                let users = users(mask);
                for user in users.iter().filter(|user| !self.numbers.contains_key(user)) {
                    want(taken_by(*user), *user);
                }
                web.is_carried |= opcode(mask) == LLVMOpcode::LLVMPHI
                    || users.iter().any(|user| LLVMGetInstructionParent(*user) != block);
                web.is_tested |= users.iter().any(|user| is_tested(*user));
            }
        }
        webs
    }

    /// The type of each mask's wide form, if it gets one.
    unsafe fn types(&self, context: LLVMContextRef, target: &Target) -> Vec<Option<LLVMTypeRef>> {
        // SAFETY: the caller's masks are alive.
        unsafe {
            let webs = self.webs();
            let of = |(mask, root): (&LLVMValueRef, &usize)| {
                let (web, lanes) = (webs[*root], LLVMGetVectorSize(LLVMTypeOf(*mask)));
                let bits = web.bits(lanes, target);
                let is_worth_it = web.is_carried || (web.is_tested && lanes * bits > target.simd_bits());
                is_worth_it.then(|| LLVMVectorType(LLVMIntTypeInContext(context, bits), lanes))
            };
            self.all.iter().zip(&self.same).map(of).collect()
        }
    }

    unsafe fn widen(&self, context: LLVMContextRef, builder: LLVMBuilderRef, target: &Target) {
        // SAFETY: the caller's masks are alive. What is made of one is in front of it, or in front of what uses it, and what it is made of
        // comes before it in the list, but for phis, which are filled at the end. Nothing uses a mask any more when it is erased.
        unsafe {
            let types = self.types(context, target);
            let widened = || self.all.iter().zip(&types).filter_map(|(mask, ty)| ty.map(|ty| (*mask, ty)));
            let mut wide = Wide { builder, made: FxHashMap::default(), register: target.simd_bits() };
            for (mask, ty) in widened() {
                let new = wide.of_logic(mask, ty);
                wide.made.insert((mask, ty), new);
            }
            for (mask, ty) in widened() {
                let new = wide.made[&(mask, ty)];
                if opcode(mask) == LLVMOpcode::LLVMPHI {
                    for at in 0..LLVMCountIncoming(mask) {
                        let mut value = wide.of(LLVMGetIncomingValue(mask, at), ty);
                        let mut from = LLVMGetIncomingBlock(mask, at);
                        LLVMAddIncoming(new, &raw mut value, &raw mut from, 1);
                    }
                }
                for user in users(mask) {
                    // Phis of masks are among them, but for those of blocks that are never reached.
                    let is_bits = opcode(user) != LLVMOpcode::LLVMPHI
                        && self.numbers.get(&user).is_none_or(|at| types[*at].is_none());
                    if is_bits {
                        wide.give(new, mask, user);
                    }
                }
            }
            for (mask, _) in widened() {
                LLVMReplaceAllUsesWith(mask, LLVMGetPoison(LLVMTypeOf(mask)));
                LLVMInstructionEraseFromParent(mask);
            }
        }
    }
}

impl Web {
    /// Bits of each lane of the wide form.
    fn bits(&self, lanes: u32, target: &Target) -> u32 {
        let most = *self.wanted.iter().max().unwrap_or(&0);
        let bits = match self.wanted.iter().position(|wanted| *wanted == most) {
            Some(width) if most > 0 => WIDTHS[width],
            _ => target.simd_bits() / lanes,
        };
        // There are no registers of less than 128 bits.
        bits.max(LEAST_REGISTER / lanes).clamp(WIDTHS[0], WIDTHS[WIDTHS.len() - 1])
    }
}

/// Wide forms as they are made.
struct Wide {
    builder: LLVMBuilderRef,
    made: FxHashMap<(LLVMValueRef, LLVMTypeRef), LLVMValueRef>,
    /// Bits of a register.
    register: u32,
}

impl Wide {
    /// What is computed of masks, of their wide forms. Phis are empty as yet.
    unsafe fn of_logic(&mut self, mask: LLVMValueRef, ty: LLVMTypeRef) -> LLVMValueRef {
        // SAFETY: the caller's mask is alive, and its operands with it; the builder is put behind them.
        unsafe {
            let kind = opcode(mask);
            if kind == LLVMOpcode::LLVMPHI {
                LLVMPositionBuilderBefore(self.builder, mask);
                return LLVMBuildPhi(self.builder, ty, NAME);
            }
            let given: Vec<LLVMValueRef> = (0..LLVMGetNumOperands(mask) as u32)
                .map(|at| LLVMGetOperand(mask, at))
                .map(|operand| if is_mask(operand) { self.of(operand, ty) } else { operand })
                .collect();
            LLVMPositionBuilderBefore(self.builder, mask);
            match (kind, given.as_slice()) {
                (LLVMOpcode::LLVMAnd, &[a, b]) => LLVMBuildAnd(self.builder, a, b, NAME),
                (LLVMOpcode::LLVMOr, &[a, b]) => LLVMBuildOr(self.builder, a, b, NAME),
                (LLVMOpcode::LLVMXor, &[a, b]) => LLVMBuildXor(self.builder, a, b, NAME),
                (LLVMOpcode::LLVMSelect, &[of, then, other]) => self.select(of, then, other),
                (_, &[of, ..]) => LLVMBuildFreeze(self.builder, of, NAME),
                (_, []) => LLVMConstNull(ty),
            }
        }
    }

    /// A selection between masks, by a mask or by one bit.
    unsafe fn select(&self, of: LLVMValueRef, then: LLVMValueRef, other: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: the caller's values are alive.
        unsafe {
            let ty = LLVMTypeOf(then);
            if LLVMTypeOf(of) != ty {
                return LLVMBuildSelect(self.builder, of, then, other, NAME);
            }
            // What is not selected may be poison, which logic would keep.
            if other == LLVMConstNull(ty) {
                let then = LLVMBuildFreeze(self.builder, then, NAME);
                LLVMBuildAnd(self.builder, of, then, NAME)
            } else if then == LLVMConstAllOnes(ty) {
                let other = LLVMBuildFreeze(self.builder, other, NAME);
                LLVMBuildOr(self.builder, of, other, NAME)
            } else {
                LLVMBuildSelect(self.builder, self.bits(of), then, other, NAME)
            }
        }
    }

    /// A mask's bits, where the builder is.
    unsafe fn bits(&self, wide: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: the caller's value is alive.
        unsafe {
            let none = LLVMConstNull(LLVMTypeOf(wide));
            LLVMBuildICmp(self.builder, LLVMIntPredicate::LLVMIntSLT, wide, none, NAME)
        }
    }

    /// A mask's wide form: what was made of it, or its bits spread out behind it.
    unsafe fn of(&mut self, mask: LLVMValueRef, ty: LLVMTypeRef) -> LLVMValueRef {
        if let Some(made) = self.made.get(&(mask, ty)) {
            return *made;
        }
        // SAFETY: the caller's mask is alive: an instruction that is in a block, an argument or a constant.
        unsafe {
            // A constant is folded.
            if LLVMIsConstant(mask) == 0 {
                self.go_behind(mask);
            }
            let new = match splatted(mask) {
                Some(bit) => {
                    let bit = LLVMBuildSExt(self.builder, bit, LLVMGetElementType(ty), NAME);
                    splat(self.builder, bit, ty)
                }
                None => LLVMBuildSExt(self.builder, mask, ty, NAME),
            };
            self.made.insert((mask, ty), new);
            new
        }
    }

    /// Puts the builder behind what makes a value.
    unsafe fn go_behind(&self, value: LLVMValueRef) {
        // SAFETY: the caller's value is alive and no constant.
        unsafe {
            if LLVMIsAInstruction(value).is_null() {
                let entry = LLVMGetEntryBasicBlock(LLVMGetParamParent(value));
                return LLVMPositionBuilderBefore(self.builder, LLVMGetFirstInstruction(entry));
            }
            let mut next = LLVMGetNextInstruction(value);
            while opcode(next) == LLVMOpcode::LLVMPHI {
                next = LLVMGetNextInstruction(next);
            }
            LLVMPositionBuilderBefore(self.builder, next);
        }
    }

    /// Gives a user the bits, or what it makes of bits.
    unsafe fn give(&self, wide: LLVMValueRef, mask: LLVMValueRef, user: LLVMValueRef) {
        // SAFETY: the caller's values are alive, and the user uses the mask.
        unsafe {
            LLVMPositionBuilderBefore(self.builder, user);
            if opcode(user) == LLVMOpcode::LLVMSExt && LLVMTypeOf(user) == LLVMTypeOf(wide) {
                LLVMReplaceAllUsesWith(user, wide);
                return;
            }
            if opcode(user) == LLVMOpcode::LLVMBitCast {
                for test in users(user) {
                    if let Some(of) = Test::of(test) {
                        self.test(wide, test, of);
                    }
                }
                if LLVMGetFirstUse(user).is_null() {
                    return;
                }
                LLVMPositionBuilderBefore(self.builder, user);
            }
            let bits = self.bits(self.as_taken(wide, user));
            for at in 0..LLVMGetNumOperands(user) as u32 {
                if LLVMGetOperand(user, at) == mask {
                    LLVMSetOperand(user, at, bits);
                }
            }
        }
    }

    /// A mask as wide as what an access under it moves, which takes the mask as it is: bits would be packed and spread out on the way.
    unsafe fn as_taken(&self, wide: LLVMValueRef, user: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: the caller's values are alive.
        unsafe {
            let ty = LLVMTypeOf(wide);
            let taken = taken_by(user).filter(|_| opcode(user) == LLVMOpcode::LLVMCall);
            let Some(taken) = taken.filter(|taken| WORDS.contains(taken)) else { return wide };
            let element = LLVMIntTypeInContext(LLVMGetTypeContext(ty), taken);
            let new = LLVMVectorType(element, LLVMGetVectorSize(ty));
            if elements(ty) > Some(taken) {
                LLVMBuildTrunc(self.builder, wide, new, NAME)
            } else {
                // The same, if it is as wide.
                LLVMBuildSExtOrBitCast(self.builder, wide, new, NAME)
            }
        }
    }

    /// Asks a question about all lanes of one register, if the mask has more of them.
    unsafe fn test(&self, mut wide: LLVMValueRef, test: LLVMValueRef, of: Test) {
        // SAFETY: the caller's values are alive, and what is made of the mask is in front of the question.
        unsafe {
            let mut lanes = LLVMGetVectorSize(LLVMTypeOf(wide));
            let bits = elements(LLVMTypeOf(wide)).unwrap_or_default();
            if lanes * bits <= self.register {
                return;
            }
            LLVMPositionBuilderBefore(self.builder, test);
            let context = LLVMGetTypeContext(LLVMTypeOf(wide));
            let number = LLVMInt32TypeInContext(context);
            while lanes * bits > self.register {
                lanes /= 2;
                let half = |first: u32| {
                    let mut from: Vec<_> =
                        (first..first + lanes).map(|lane| LLVMConstInt(number, lane.into(), 0)).collect();
                    let from = LLVMConstVector(from.as_mut_ptr(), lanes);
                    LLVMBuildShuffleVector(self.builder, wide, LLVMGetPoison(LLVMTypeOf(wide)), from, NAME)
                };
                let [low, high] = [half(0), half(lanes)];
                wide = match of {
                    Test::Any => LLVMBuildOr(self.builder, low, high, NAME),
                    Test::All => LLVMBuildAnd(self.builder, low, high, NAME),
                };
            }
            let ty = LLVMIntTypeInContext(context, lanes);
            let bits = LLVMBuildBitCast(self.builder, self.bits(wide), ty, NAME);
            let with = match of {
                Test::Any => LLVMConstNull(ty),
                Test::All => LLVMConstAllOnes(ty),
            };
            let new = LLVMBuildICmp(self.builder, LLVMGetICmpPredicate(test), bits, with, NAME);
            LLVMReplaceAllUsesWith(test, new);
            LLVMInstructionEraseFromParent(test);
        }
    }
}

/// What is asked about all lanes.
#[derive(Clone, Copy)]
enum Test {
    Any,
    All,
}

impl Test {
    /// What an instruction asks about a mask's bits, as a number.
    unsafe fn of(inst: LLVMValueRef) -> Option<Test> {
        use LLVMIntPredicate::{LLVMIntEQ, LLVMIntNE};
        // SAFETY: the caller's instruction is alive, and its operands with it: a comparison has two.
        unsafe {
            if opcode(inst) != LLVMOpcode::LLVMICmp
                || !matches!(LLVMGetICmpPredicate(inst), LLVMIntEQ | LLVMIntNE)
            {
                return None;
            }
            let with = LLVMGetOperand(inst, 1);
            match with {
                _ if LLVMIsConstant(with) == 0 => None,
                _ if LLVMIsNull(with) != 0 => Some(Test::Any),
                _ if with == LLVMConstAllOnes(LLVMTypeOf(with)) => Some(Test::All),
                _ => None,
            }
        }
    }
}

/// Whether an instruction makes a number of a mask's bits, of which something is asked.
unsafe fn is_tested(user: LLVMValueRef) -> bool {
    // SAFETY: the caller's instruction is alive.
    unsafe {
        opcode(user) == LLVMOpcode::LLVMBitCast
            && users(user).into_iter().any(|test| Test::of(test).is_some())
    }
}

/// Whether a value is a vector of bits.
unsafe fn is_mask(value: LLVMValueRef) -> bool {
    // SAFETY: the caller's value is alive.
    unsafe { elements(LLVMTypeOf(value)) == Some(1) }
}

/// How wide the elements of a vector of integers, floats or addresses are.
unsafe fn elements(ty: LLVMTypeRef) -> Option<u32> {
    // SAFETY: the caller's type is alive.
    unsafe {
        if LLVMGetTypeKind(ty) != LLVMTypeKind::LLVMVectorTypeKind {
            return None;
        }
        Some(bits_of(LLVMGetElementType(ty))).filter(|bits| *bits > 0)
    }
}

/// Whether an instruction makes a mask of masks.
unsafe fn is_logic(inst: LLVMValueRef) -> bool {
    use LLVMOpcode::*;
    // SAFETY: the caller's instruction is alive.
    matches!(opcode(inst), LLVMPHI | LLVMAnd | LLVMOr | LLVMXor | LLVMSelect | LLVMFreeze)
        && unsafe {
            is_mask(inst)
                && LLVMGetVectorSize(LLVMTypeOf(inst)).is_power_of_two()
                && LLVMGetVectorSize(LLVMTypeOf(inst)) > 1
        }
}

/// The masks that a mask is made of.
unsafe fn operands(mask: LLVMValueRef) -> impl Iterator<Item = LLVMValueRef> {
    // SAFETY: the caller's mask is alive, and its operands with it.
    unsafe {
        (0..LLVMGetNumOperands(mask) as u32)
            .map(move |at| LLVMGetOperand(mask, at))
            .filter(|operand| is_mask(*operand))
    }
}

/// How wide the lanes are that a value has before they are bits, if that is known.
unsafe fn made_by(value: LLVMValueRef) -> Option<u32> {
    // SAFETY: the caller's value is alive.
    unsafe {
        let is_made = is(value, &[LLVMOpcode::LLVMICmp, LLVMOpcode::LLVMFCmp, LLVMOpcode::LLVMTrunc]);
        if is_made { elements(LLVMTypeOf(LLVMGetOperand(value, 0))) } else { None }
    }
}

/// How wide the lanes are that an instruction uses a mask for.
unsafe fn taken_by(user: LLVMValueRef) -> Option<u32> {
    // SAFETY: the caller's instruction is alive.
    unsafe {
        match opcode(user) {
            LLVMOpcode::LLVMSelect | LLVMOpcode::LLVMSExt | LLVMOpcode::LLVMZExt => {
                elements(LLVMTypeOf(user))
            }
            // An access under the mask, of what it gives or of its first operand.
            LLVMOpcode::LLVMCall => {
                elements(LLVMTypeOf(user)).or_else(|| elements(LLVMTypeOf(LLVMGetOperand(user, 0))))
            }
            _ => None,
        }
    }
}

/// How often blocks are executed for each time that the function is, by the loops around them.
fn turns(order: &[LLVMBasicBlockRef]) -> FxHashMap<LLVMBasicBlockRef, u64> {
    let place: FxHashMap<LLVMBasicBlockRef, usize> =
        order.iter().enumerate().map(|(at, block)| (*block, at)).collect();
    let mut leading = vec![Vec::new(); order.len()];
    for (at, &block) in order.iter().enumerate() {
        for next in followers(block) {
            leading[place[&next]].push(at);
        }
    }
    let mut loops = vec![0; order.len()];
    for head in 0..order.len() {
        let mut open: Vec<usize> = leading[head].iter().copied().filter(|latch| *latch >= head).collect();
        let mut inside = FxHashSet::from_iter(open.iter().copied());
        if inside.is_empty() {
            continue;
        }
        inside.insert(head);
        while let Some(at) = open.pop() {
            open.extend(leading[at].iter().filter(|from| at != head && inside.insert(**from)));
        }
        for at in inside {
            loops[at] += 1;
        }
    }
    order.iter().zip(loops).map(|(block, loops)| (*block, TURNS.pow(loops.min(LOOPS)))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Context;
    use super::super::target::Isa;
    use super::*;

    fn widened(text: &str, isa: Isa) -> String {
        let context = Context::new();
        let target = Target::limited(isa).expect("a target");
        let module = IrModule::parse(&context, text, &target).expect("valid IR");
        widen(&module, &target);
        module.verify().expect("valid IR");
        module.text()
    }

    /// The IR of a loop over numbers of a type, which goes on for each lane as long as its number stays below a limit.
    fn of_loop(lanes: u32, element: &str) -> String {
        format!(
            "define <{lanes} x {element}> @f(<{lanes} x {element}> %limit, <{lanes} x i1> %some) {{
            entry:
              br label %head
            head:
              %mask = phi <{lanes} x i1> [ %some, %entry ], [ %stay, %head ]
              %at = phi <{lanes} x {element}> [ zeroinitializer, %entry ], [ %new, %head ]
              %next = add <{lanes} x {element}> %at, splat ({element} 3)
              %new = select <{lanes} x i1> %mask, <{lanes} x {element}> %next, <{lanes} x {element}> %at
              %below = icmp ult <{lanes} x {element}> %new, %limit
              %stay = select <{lanes} x i1> %mask, <{lanes} x i1> %below, <{lanes} x i1> zeroinitializer
              %bits = bitcast <{lanes} x i1> %stay to i{lanes}
              %any = icmp ne i{lanes} %bits, 0
              br i1 %any, label %head, label %end
            end:
              ret <{lanes} x {element}> %new
            }}"
        )
    }

    #[test]
    fn loops_carry_masks_as_wide_as_what_they_compare() {
        for (lanes, element) in [(8, "i32"), (4, "i64"), (8, "i64"), (16, "i32"), (16, "i16"), (32, "i8")] {
            let text = widened(&of_loop(lanes, element), Isa::Avx2);
            assert!(text.contains(&format!("sext <{lanes} x i1> %below to <{lanes} x {element}>")), "{text}");
            assert!(!text.contains(&format!("phi <{lanes} x i1>")), "{text}");
            assert_eq!(text.matches(&format!("phi <{lanes} x {element}>")).count(), 2, "{text}");
        }
    }

    #[test]
    fn masks_of_processors_with_mask_registers_stay() {
        if let Ok(target) = Target::limited(Isa::Avx512)
            && target.has_avx512()
        {
            assert!(widened(&of_loop(8, "i32"), Isa::Avx512).contains("phi <8 x i1>"));
        }
    }

    #[test]
    fn masks_of_one_block_stay() {
        let text = "define <8 x i32> @f(<8 x i32> %a, <8 x i32> %b) {
              %less = icmp ult <8 x i32> %a, %b
              %odd = trunc <8 x i32> %a to <8 x i1>
              %both = and <8 x i1> %less, %odd
              %of = select <8 x i1> %both, <8 x i32> %a, <8 x i32> %b
              ret <8 x i32> %of
            }";
        assert!(widened(text, Isa::Avx2).contains("and <8 x i1>"));
    }

    #[test]
    fn what_is_poison_in_lanes_that_are_off_stays_out() {
        let text = widened(&of_loop(8, "i32"), Isa::Avx2);
        let frozen = text.lines().find(|line| line.contains("freeze <8 x i32>")).expect("a freeze");
        let name = frozen.split_whitespace().next().expect("a name");
        assert!(text.lines().any(|line| line.contains("and <8 x i32>") && line.ends_with(name)), "{text}");
    }

    #[test]
    fn all_lanes_are_asked_about_in_one_register() {
        let text = widened(&of_loop(16, "i32"), Isa::Avx2);
        assert!(text.contains("or <8 x i32>") && !text.contains("icmp ne i16"), "{text}");
        assert!(widened(&of_loop(8, "i32"), Isa::Avx2).contains("icmp ne i8"));
        let asks_for_all = of_loop(8, "i32").replace("icmp ne i8 %bits, 0", "icmp ne i8 %bits, -1");
        let text = widened(&asks_for_all, Isa::Sse);
        assert!(text.contains("and <4 x i32>") && text.contains("icmp ne i4"), "{text}");
    }

    #[test]
    fn what_all_lanes_have_is_widened_as_splatted() {
        let text = of_loop(8, "i32").replace("<8 x i1> %some) {", "i1 %some.bit) {").replace(
            "entry:",
            "entry:\n%one = insertelement <8 x i1> poison, i1 %some.bit, i64 0\n\
                %some = shufflevector <8 x i1> %one, <8 x i1> poison, <8 x i32> zeroinitializer",
        );
        assert!(widened(&text, Isa::Avx2).contains("sext i1 %some.bit to i32"));
    }

    #[test]
    fn accesses_take_masks_as_wide_as_what_they_move() {
        let store = "%new = select <8 x i1> %mask, <8 x i64> %next, <8 x i64> %at
              %words = trunc <8 x i64> %new to <8 x i32>
              call void @llvm.masked.store.v8i32.p0(<8 x i32> %words, ptr %to, i32 4, <8 x i1> %mask)";
        let select = "%new = select <8 x i1> %mask, <8 x i64> %next, <8 x i64> %at";
        let text = of_loop(8, "i64").replace(select, store).replace("@f(", "@f(ptr %to, ");
        let text = text + "\ndeclare void @llvm.masked.store.v8i32.p0(<8 x i32>, ptr, i32, <8 x i1>)";
        let text = widened(&text, Isa::Avx2);
        assert!(text.contains("phi <8 x i64>") && text.contains("icmp slt <8 x i32>"), "{text}");
    }

    #[test]
    fn blocks_that_are_never_reached_stay_valid() {
        let text = of_loop(8, "i32")
            .replace("end:\n", "never:\n%dead = phi <8 x i1> [ %mask, %never ]\nbr label %never\nend:\n");
        assert!(text.contains("%dead") && widened(&text, Isa::Avx2).contains("phi <8 x i32>"));
    }
}
