//! Loops over the bits of a number that are one instruction or a few.
//!
//! `while (x) { x &= x - 1; ++n; }` counts the ones of `x`, and so do `n += x & 1; x >>= 1` and `n += (x >> i) & 1`; with `^` in the place of `+` it
//! is their parity; `while (x >>= 1) ++n;` is the place of the highest one, `while (!(x & 1)) { x >>= 1; ++n; }` that of the lowest one, and
//! `r = r << 1 | (x & 1); x >>= 1` is the bits in reverse, as a fast Fourier transform orders its input. C has no
//! operator for any of them and compilers for one work-item know such loops (LLVM's LoopIdiomRecognize), but in lanes each is a loop
//! that waits for the number with the most bits, or one that LLVM does not see through any more.

use super::super::branches;
use super::super::cfg::{self, Cfg, Dominators};
use super::super::exits::{self, Exit};
use super::super::func::{BlockId, Func, Phi, Terminator};
use super::super::joins::{self, Plain};
use super::super::loops::{self, Loop, LoopId, Loops};
use super::super::order::Order;
use super::super::simplify;
use super::iterations;
use rustc_hash::FxHashSet;
use spirv::{Op, OpenclStd100Op};
use spirv_env::{ExtSet, Id, Inst, Operand, Type, TypeId};

/// Instructions of such a loop, at most.
const MOST_INSTS: usize = 16;
/// Iterations of those that are counted, at most: the bits of the largest number.
const MOST_ITERATIONS: usize = 64;

/// Computes what such loops do without them. Loops are canonical, and stay so.
pub fn compute_bits(func: &mut Func<'_>) {
    let cfg = Cfg::new(func);
    let loops = Loops::new(&cfg, &Dominators::new(&cfg));
    if loops.loops.is_empty() {
        return;
    }
    let plain = joins::plain_insts(func);
    let innermost = loops.innermost();
    let mut changed = false;
    for (id, this) in loops.loops.iter().filter(|(id, _)| innermost.contains(*id)) {
        let Some(end) = end_of(func, &cfg, &loops, &plain, id) else { continue };
        let over = Over::of(func, &cfg, &plain, this, &end);
        let Some(made) = over.and_then(|over| values_behind(func, &plain, this, over)) else { continue };
        changed = true;
        func.blocks[this.preheader].insts.extend(made);
        func.blocks[this.preheader].term = Terminator::Branch(end.leave);
        for (pred, _) in func.blocks[end.leave].phis.iter_mut().flat_map(|phi| &mut phi.incoming) {
            if *pred == this.header {
                *pred = this.preheader;
            }
        }
    }
    if changed {
        cfg::remove_unreachable(func);
        simplify::propagate_copies(func);
        cfg::join_rows(func);
        // What asked whether such a loop is entered chooses between two numbers.
        branches::ask_at_once(func);
        loops::canonicalize(func);
    }
}

/// The end of a loop that is one block, which does nothing but compute, and its latch.
fn end_of(func: &Func<'_>, cfg: &Cfg, loops: &Loops, plain: &Plain, id: LoopId) -> Option<Exit> {
    let this = loops.get(id);
    let code = &func.blocks[this.header];
    let is_plain = |inst: &Inst| {
        let is_selection = inst.op == Op::Select;
        is_selection || inst.result.is_some_and(|id| plain.contains_key(&id))
    };
    let is_one_block = this.blocks.len() == 2
        && cfg.preds[this.latch].as_slice() == [this.header]
        && func.blocks[this.latch].insts.is_empty()
        && code.insts.len() <= MOST_INSTS
        && code.insts.iter().all(is_plain)
        && !code.phis.iter().any(|phi| func.selectors.contains(&phi.result));
    exits::exit_of(func, loops, id, this.header).filter(|end| is_one_block && end.stay == this.latch)
}

/// What a loop goes over.
#[derive(Clone, Copy)]
enum Over {
    /// The ones of what this phi begins with: each iteration clears one. That it is not zero may be known.
    Ones { phi: Id, number: Id, is_some: bool },
    /// Bits of what this phi begins with: each iteration shifts it, until something is met.
    Shifts { phi: Id, shift: Shift, until: Until },
    /// As many bits.
    Count(u32),
    /// As many as this bound says, if this counter, from zero on, is compared with it so.
    UpTo { bound: Id, op: Op },
}

/// A shift by so many bits, zeros coming in.
#[derive(Clone, Copy, PartialEq)]
struct Shift {
    to_left: bool,
    by: u32,
}

/// What ends a loop that shifts a number.
#[derive(Clone, Copy, PartialEq)]
enum Until {
    /// The number is less than two to this power.
    Below(u32),
    /// Its lowest bit is set, or nothing is left of it.
    LowestOrNone,
    /// Its lowest bit is set. Without end for zero, for which any answer is better than none.
    Lowest,
    /// Its highest bit is set. The same.
    Highest,
}

impl Over {
    fn of(func: &Func<'_>, cfg: &Cfg, plain: &Plain, this: &Loop, end: &Exit) -> Option<Over> {
        if let Some((count, false)) = iterations(func, this, end, MOST_ITERATIONS) {
            return Some(Over::Count(count as u32));
        }
        let phis = &func.blocks[this.header].phis;
        let phi_of = |next: Id| phis.iter().find(|phi| phi.from(this.latch) == Some(next));
        let is_zero = |id: Id| func.constant_bits(id) == Some(0);
        if let Some(over) = phis.iter().find_map(|phi| Over::shifts(func, plain, this, end, phi)) {
            return Some(over);
        }
        let asked = plain.get(&end.condition).filter(|inst| joins::COMPARISONS.contains(&inst.op))?;
        let order = Order::of(asked, end.stays_if);
        let asks_zero = match (asked.op, end.stays_if) {
            (Op::INotEqual, true) | (Op::IEqual, false) => true,
            _ => order.is_some_and(|order| order.is_strict && !order.is_signed && is_zero(order.lesser)),
        };
        let [a, b] = [asked.id(0), asked.id(1)];
        if let Some(next) = [(a, b), (b, a)].into_iter().find(|(_, zero)| asks_zero && is_zero(*zero)) {
            let phi = phi_of(next.0)?;
            let (grown, number) = (plain.get(&next.0)?, phi.from(this.preheader)?);
            let is_cleared = grown.op == Op::BitwiseAnd
                && grown.ids().any(|id| id == phi.result)
                && grown.ids().any(|id| is_one_less(func, plain, id, phi));
            let is_some = is_entered_with(func, cfg, plain, this.preheader, number);
            return is_cleared.then_some(Over::Ones { phi: phi.result, number, is_some });
        }
        // The counter stands at either side.
        let (op, next, bound) = match (asked.op, end.stays_if) {
            _ if order.is_some_and(|order| order.is_strict) => {
                let order = order?;
                let op = if order.is_signed { Op::SLessThan } else { Op::ULessThan };
                (op, order.lesser, order.greater)
            }
            (Op::INotEqual, true) | (Op::IEqual, false) if phi_of(a).is_some() => (Op::INotEqual, a, b),
            (Op::INotEqual, true) | (Op::IEqual, false) => (Op::INotEqual, b, a),
            _ => return None,
        };
        let is_inside = |id: Id| func.blocks[this.header].insts.iter().any(|inst| inst.result == Some(id));
        let is_given = !is_inside(bound) && phis.iter().all(|phi| phi.result != bound);
        (is_counter(func, plain, this, phi_of(next)?) && is_given).then_some(Over::UpTo { bound, op })
    }
}

/// How an instruction shifts this, if it does.
fn shift_of(func: &Func<'_>, inst: &Inst, id: Id) -> Option<Shift> {
    let number = |at: usize| func.constant_bits(inst.id(at));
    let power = |number: u64| number.is_power_of_two().then(|| number.trailing_zeros());
    let right = |by| Shift { to_left: false, by };
    let left = |by| Shift { to_left: true, by };
    let Type::Int { width } = *func.module.types.get(inst.ty?) else { return None };
    let shift = match inst.op {
        Op::ShiftRightLogical if inst.id(0) == id => right(number(1)?.try_into().ok()?),
        Op::UDiv if inst.id(0) == id => right(power(number(1)?)?),
        Op::ShiftLeftLogical if inst.id(0) == id => left(number(1)?.try_into().ok()?),
        Op::IMul if inst.id(0) == id => left(power(number(1)?)?),
        Op::IAdd if inst.ids().all(|of| of == id) => left(1),
        _ => return None,
    };
    (1..width).contains(&shift.by).then_some(shift)
}

impl Over {
    /// A loop that goes on until what it has shifted is as it should be.
    fn shifts(func: &Func<'_>, plain: &Plain, this: &Loop, end: &Exit, phi: &Phi) -> Option<Over> {
        let next = phi.from(this.latch)?;
        let shift = shift_of(func, plain.get(&next)?, phi.result)?;
        let Type::Int { width } = *func.module.types.get(phi.ty) else { return None };
        let shifted = Shifted { func, plain, phi: phi.result, next, shift, width };
        let until = shifted.until(end)?;
        Some(Over::Shifts { phi: phi.result, shift, until })
    }
}

/// What a loop has of a number that each iteration shifts.
struct Shifted<'f, 'm> {
    func: &'f Func<'m>,
    plain: &'f Plain,
    phi: Id,
    next: Id,
    shift: Shift,
    width: u32,
}

impl Shifted<'_, '_> {
    /// What ends its loop.
    fn until(&self, end: &Exit) -> Option<Until> {
        let asked = self.plain.get(&end.condition)?;
        match self.shift {
            Shift { to_left: true, by: 1 } => self.is_high(asked, end.stays_if).then_some(Until::Highest),
            Shift { to_left: true, .. } => None,
            Shift { by, .. } => {
                if let Some(below) = self.below(asked, end.stays_if) {
                    return Some(Until::Below(below));
                }
                if by == 1 && self.is_even(asked, end.stays_if) {
                    return Some(Until::Lowest);
                }
                let [a, b] = match (asked.op, end.stays_if) {
                    (Op::LogicalAnd, true) | (Op::LogicalOr, false) => [asked.id(0), asked.id(1)],
                    _ => return None,
                };
                let (a, b) = (self.plain.get(&a)?, self.plain.get(&b)?);
                let is_either = [(a, b), (b, a)].into_iter().any(|(some, even)| {
                    self.below(some, end.stays_if) == Some(0) && self.is_even(even, end.stays_if)
                });
                (by == 1 && is_either).then_some(Until::LowestOrNone)
            }
        }
    }

    /// The power of two that the shifted number is below where this comparison does not hold as it should.
    fn below(&self, asked: &Inst, holds: bool) -> Option<u32> {
        if matches!(asked.op, Op::INotEqual | Op::IEqual) {
            let is_asked = asked.id(0) == self.next && holds == (asked.op == Op::INotEqual);
            // A loop until one is left has no end for zero.
            let against = self.func.constant_bits(asked.id(1)).filter(|bits| is_asked && *bits < 2);
            return against.map(|bits| bits as u32);
        }
        let order = Order::of(asked, holds)?;
        let bits = self.func.constant_bits(order.lesser)?;
        let least = if order.is_strict { bits.checked_add(1)? } else { bits };
        let power = least.is_power_of_two().then(|| least.trailing_zeros())?;
        match order.greater {
            _ if power >= self.width => None,
            // What has been shifted has no sign, nor has such a bound.
            id if id == self.next && (!order.is_signed || power + 1 < self.width) => Some(power),
            id if id == self.phi && !order.is_signed => power.checked_sub(self.shift.by),
            _ => None,
        }
    }

    /// Whether this comparison holds as it should where the lowest bit of the shifted number is zero.
    fn is_even(&self, asked: &Inst, holds: bool) -> bool {
        self.is_zero_bit(asked, holds, 0)
    }

    /// Whether this comparison holds as it should where the highest bit of the shifted number is zero.
    fn is_high(&self, asked: &Inst, holds: bool) -> bool {
        let Some(order) = Order::of(asked, holds).filter(|order| order.is_signed) else {
            return self.is_zero_bit(asked, holds, self.width - 1);
        };
        let least = if order.is_strict { -1 } else { 0 };
        order.greater == self.next && self.func.constant_int(order.lesser) == Some(least)
    }

    /// Whether this comparison holds as it should where a bit of the shifted number is zero.
    fn is_zero_bit(&self, asked: &Inst, holds: bool, at: u32) -> bool {
        let is_equal = match asked.op {
            Op::IEqual => holds,
            Op::INotEqual => !holds,
            _ => return false,
        };
        let Some(masked) = self.plain.get(&asked.id(0)).filter(|inst| inst.op == Op::BitwiseAnd) else {
            return false;
        };
        let Some(mask) = self.func.constant_bits(masked.id(1)) else { return false };
        // It may be asked whether the bit is zero, or whether it is not one.
        let is_zero = match self.func.constant_bits(asked.id(1)) {
            Some(0) => is_equal,
            Some(bits) => bits == mask && !is_equal,
            None => false,
        };
        let bit = |at: u32| if at < self.width { 1_u64 << at } else { 0 };
        let before = if self.shift.to_left { at.wrapping_sub(self.shift.by) } else { at + self.shift.by };
        let is_bit = match masked.id(0) {
            id if id == self.next => mask == bit(at),
            id if id == self.phi => mask == bit(before) && mask != 0,
            _ => false,
        };
        is_zero && is_bit
    }
}

/// Whether the difference of a phi and one is this.
fn is_one_less(func: &Func<'_>, plain: &Plain, id: Id, phi: &Phi) -> bool {
    plain.get(&id).is_some_and(|inst| {
        let number = |at: usize| func.constant_int(inst.id(at));
        match inst.op {
            Op::ISub => inst.id(0) == phi.result && number(1) == Some(1),
            Op::IAdd => {
                [(0, 1), (1, 0)].iter().any(|(of, by)| inst.id(*of) == phi.result && number(*by) == Some(-1))
            }
            _ => false,
        }
    })
}

/// Whether a phi is the number of the iteration.
fn is_counter(func: &Func<'_>, plain: &Plain, this: &Loop, phi: &Phi) -> bool {
    let next = phi.from(this.latch).and_then(|next| plain.get(&next));
    let begins = phi.from(this.preheader).and_then(|first| func.constant_bits(first));
    let is_next = |inst: &Inst| {
        inst.op == Op::IAdd
            && inst.ids().any(|id| id == phi.result)
            && inst.ids().any(|id| func.constant_bits(id) == Some(1))
    };
    begins == Some(0) && next.is_some_and(is_next)
}

/// Whether a block is only reached where a number is not zero.
fn is_entered_with(func: &Func<'_>, cfg: &Cfg, plain: &Plain, block: BlockId, number: Id) -> bool {
    let [pred] = *cfg.preds[block].as_slice() else { return false };
    let Terminator::Cond { cond, then, els } = func.blocks[pred].term else { return false };
    let Some(asked) = plain.get(&cond).filter(|_| then != els) else { return false };
    let is_of_number = asked.ids().any(|id| id == number);
    let is_with_zero = asked.ids().any(|id| func.constant_bits(id) == Some(0));
    let some_if = match asked.op {
        Op::INotEqual => Some(true),
        Op::IEqual => Some(false),
        _ => None,
    };
    is_of_number && is_with_zero && some_if == Some(block == then)
}

/// Makes what is used behind a loop, under the names that it has; in front of the loop there is all that it is made of.
fn values_behind(func: &mut Func<'_>, plain: &Plain, this: &Loop, over: Over) -> Option<Vec<Inst>> {
    let code = func.blocks[this.header].clone();
    let own: FxHashSet<Id> = (code.phis.iter().map(|phi| phi.result))
        .chain(code.insts.iter().filter_map(|inst| inst.result))
        .collect();
    let mut used: Vec<Id> = Vec::new();
    for at in func.block_ids().filter(|at| !this.blocks.contains(at)) {
        let block = &func.blocks[at];
        let brought = block.phis.iter().flat_map(|phi| &phi.incoming).map(|(_, id)| *id);
        let of_insts = block.insts.iter().flat_map(Inst::ids).chain(block.term.used());
        used.extend(of_insts.chain(brought).filter(|id| own.contains(id)));
    }
    used.sort_unstable();
    used.dedup();
    let mut behind =
        Behind { func, plain, this, over, own, phis: &code.phis, selections: &code.insts, made: Vec::new() };
    for id in used {
        let phi = code.phis.iter().find(|phi| phi.from(this.latch) == Some(id))?;
        behind.make(phi, id)?;
    }
    Some(behind.made)
}

/// Makes values that a loop has when it is over.
struct Behind<'f, 'm> {
    func: &'f mut Func<'m>,
    plain: &'f Plain,
    this: &'f Loop,
    over: Over,
    /// What the loop makes.
    own: FxHashSet<Id>,
    phis: &'f [Phi],
    selections: &'f [Inst],
    made: Vec<Inst>,
}

impl Behind<'_, '_> {
    fn inst(&self, id: Id) -> Option<&Inst> {
        let selection =
            || self.selections.iter().find(|inst| inst.op == Op::Select && inst.result == Some(id));
        self.plain.get(&id).or_else(selection)
    }

    fn width(&self, ty: TypeId) -> Option<u32> {
        match self.func.module.types.get(ty) {
            Type::Int { width } => Some(*width),
            _ => None,
        }
    }

    fn width_of(&self, id: Id) -> Option<u32> {
        self.width(self.func.type_of(id)?)
    }

    fn is_number(&self, id: Id, bits: u64) -> bool {
        self.func.constant_bits(id) == Some(bits)
    }

    fn begin(&self, phi: &Phi) -> Option<Id> {
        phi.from(self.this.preheader)
    }

    fn number(&mut self, ty: TypeId, bits: u64) -> Id {
        self.func.number(bits, ty)
    }

    fn push(&mut self, op: Op, ty: TypeId, operands: &[Id], result: Option<Id>) -> Id {
        let result = result.unwrap_or_else(|| self.func.fresh());
        self.func.types.insert(result, ty);
        let operands = operands.iter().map(|id| Operand::Id(*id)).collect();
        self.made.push(Inst { op, ty: Some(ty), result: Some(result), operands, line: None });
        result
    }

    fn of(&mut self, op: Op, ty: TypeId, operands: &[Id]) -> Id {
        self.push(op, ty, operands, None)
    }

    fn by(&mut self, op: Op, ty: TypeId, of: Id, bits: u64) -> Id {
        let number = self.number(ty, bits);
        self.of(op, ty, &[of, number])
    }

    /// A number of bits as one of another type, which has room for it.
    fn as_type(&mut self, id: Id, ty: TypeId) -> Id {
        match self.func.type_of(id) == Some(ty) {
            true => id,
            false => self.of(Op::UConvert, ty, &[id]),
        }
    }

    /// What a phi of the loop has become when the loop is over, under this name.
    fn make(&mut self, phi: &Phi, name: Id) -> Option<()> {
        let width = self.width(phi.ty)?;
        let (first, next) = (self.begin(phi)?, self.inst(name)?.clone());
        let value = match self.over {
            Over::Ones { phi: cleared, .. } if cleared == phi.result => self.number(phi.ty, 0),
            Over::Ones { number, is_some, .. } => {
                let by = self.step(&next, phi)?;
                let ty = self.func.type_of(number)?;
                self.width(ty)?;
                let mut ones = self.of(Op::BitCount, ty, &[number]);
                if !is_some {
                    // An iteration that clears nothing is one, too.
                    let bool = self.bool()?;
                    let zero = self.number(ty, 0);
                    let is_none = self.of(Op::IEqual, bool, &[number, zero]);
                    let one = self.number(ty, 1);
                    ones = self.of(Op::Select, ty, &[is_none, one, ones]);
                }
                self.grown(phi.ty, first, ones, by)
            }
            Over::Shifts { phi: shifted, shift, until } => {
                if let Some(by) = self.step(&next, phi) {
                    let times = self.times(shifted, shift, until)?;
                    self.grown(phi.ty, first, times, by)
                } else if let Some(of_phi) = shift_of(self.func, &next, phi.result) {
                    let times = self.times(shifted, shift, until)?;
                    self.shifted_times(phi.ty, first, of_phi, times)?
                } else {
                    let joined = self.joined(&next, phi)?;
                    let is_of_it = joined.source.shifted == Some(shifted) && !joined.shifts;
                    let is_all = until == Until::Below(0) && shift.by == 1;
                    self.counted(joined.op, phi, first, joined.source.number)
                        .filter(|_| is_of_it && is_all)?
                }
            }
            Over::Count(count) => self.behind_count(phi, first, &next, width, count)?,
            Over::UpTo { bound, op } => self.behind_bound(phi, first, &next, width, bound, op)?,
        };
        // The name that it had.
        self.push(Op::CopyObject, phi.ty, &[value], Some(name));
        Some(())
    }

    /// What so many iterations make of a number that each adds the same to.
    fn grown(&mut self, ty: TypeId, first: Id, times: Id, by: Id) -> Id {
        let times = self.as_type(times, ty);
        let all = if self.is_number(by, 1) { times } else { self.of(Op::IMul, ty, &[times, by]) };
        self.of(Op::IAdd, ty, &[first, all])
    }

    /// How often a loop runs, once at least, that shifts a number until something is met.
    fn times(&mut self, shifted: Id, shift: Shift, until: Until) -> Option<Id> {
        let phi = self.phis.iter().find(|phi| phi.result == shifted)?;
        let (number, ty) = (self.begin(phi)?, phi.ty);
        let width = self.width(ty)?;
        match until {
            Until::Below(power) => {
                // A one at this place also means a bit, and one iteration.
                let least = self.number(ty, 1 << power);
                let number = self.of(Op::BitwiseOr, ty, &[number, least]);
                let length = self.length(ty, width, number);
                // So many bits are shifted away, in so many steps.
                let rounded = u64::from(shift.by) - 1;
                let away = self.by(Op::IAdd, ty, length, cut(rounded.wrapping_sub(power.into()), width));
                Some(self.by(Op::UDiv, ty, away, shift.by.into()))
            }
            Until::Lowest | Until::LowestOrNone => {
                let mut rest = self.by(Op::ShiftRightLogical, ty, number, 1);
                if until == Until::LowestOrNone {
                    // Nothing is left after one.
                    let bool = self.bool()?;
                    let zero = self.number(ty, 0);
                    let is_none = self.of(Op::IEqual, bool, &[rest, zero]);
                    let one = self.number(ty, 1);
                    rest = self.of(Op::Select, ty, &[is_none, one, rest]);
                }
                // The zeros below the lowest one are the ones that it has alone below what is one less.
                let less = self.by(Op::IAdd, ty, rest, cut(u64::MAX, width));
                let not = self.of(Op::Not, ty, &[rest]);
                let below = self.of(Op::BitwiseAnd, ty, &[not, less]);
                let zeros = self.of(Op::BitCount, ty, &[below]);
                Some(self.by(Op::IAdd, ty, zeros, 1))
            }
            Until::Highest => {
                let rest = self.by(Op::ShiftLeftLogical, ty, number, 1);
                let length = self.length(ty, width, rest);
                let all = self.number(ty, u64::from(width) + 1);
                Some(self.of(Op::ISub, ty, &[all, length]))
            }
        }
    }

    /// How many bits a number has up to its highest one.
    fn length(&mut self, ty: TypeId, width: u32, number: Id) -> Id {
        let sets = &self.func.module.ext_sets;
        if let Some((&set, _)) = sets.iter().find(|(_, set)| **set == ExtSet::OpenClStd) {
            let result = self.func.fresh();
            self.func.types.insert(result, ty);
            let function = Operand::Lit(OpenclStd100Op::clz as u64);
            let operands = [Operand::Id(set), function, Operand::Id(number)].into_iter().collect();
            self.made.push(Inst {
                op: Op::ExtInst,
                ty: Some(ty),
                result: Some(result),
                operands,
                line: None,
            });
            let all = self.number(ty, width.into());
            return self.of(Op::ISub, ty, &[all, result]);
        }
        // All below the highest one are counted.
        let mut all = number;
        for by in (0..).map(|level| 1 << level).take_while(|by| *by < width) {
            let lower = self.by(Op::ShiftRightLogical, ty, all, by.into());
            all = self.of(Op::BitwiseOr, ty, &[all, lower]);
        }
        self.of(Op::BitCount, ty, &[all])
    }

    /// What so many shifts make of a number.
    fn shifted_times(&mut self, ty: TypeId, number: Id, shift: Shift, times: Id) -> Option<Id> {
        let width = self.width(ty)?;
        let most = (u64::from(self.width_of(times)?) + 1) * u64::from(shift.by);
        if most != cut(most, width) {
            return None;
        }
        let times = self.as_type(times, ty);
        let by = if shift.by == 1 { times } else { self.by(Op::IMul, ty, times, shift.by.into()) };
        let op = if shift.to_left { Op::ShiftLeftLogical } else { Op::ShiftRightLogical };
        self.shifted(op, ty, width, number, by)
    }

    fn bool(&self) -> Option<TypeId> {
        let asked = self.func.blocks[self.this.header].term.condition()?;
        self.func.type_of(asked)
    }

    /// What an iteration adds to a phi, the same in each.
    fn step(&self, next: &Inst, phi: &Phi) -> Option<Id> {
        let by = next.ids().find(|id| *id != phi.result)?;
        let is_added = next.op == Op::IAdd && next.ids().any(|id| id == phi.result);
        (is_added && !self.own.contains(&by)).then_some(by)
    }

    /// How an iteration joins a phi to a bit, and that bit: whether it shifts it to the left before, and by which operation. Sums of more bits
    /// than it has are cut to those.
    fn joined(&self, next: &Inst, phi: &Phi) -> Option<Joined> {
        let sum = match next.op {
            Op::UConvert | Op::SConvert => self.inst(next.id(0))?,
            _ => next,
        };
        let is_wide = self.width(sum.ty?)? >= self.width(phi.ty)?;
        if !is_wide || !matches!(sum.op, Op::IAdd | Op::BitwiseXor | Op::BitwiseOr) {
            return None;
        }
        let [a, b] = [sum.id(0), sum.id(1)];
        [(a, b), (b, a)].into_iter().find_map(|(of, bit)| {
            let shifts = self.narrowed(of) != phi.result;
            if shifts && !self.is_doubled(of, phi) {
                return None;
            }
            Some(Joined { op: sum.op, shifts, source: self.source(bit)? })
        })
    }

    /// Whether this is a phi shifted by one to the left.
    fn is_doubled(&self, id: Id, phi: &Phi) -> bool {
        let is_phi = |id: Id| self.narrowed(id) == phi.result;
        self.inst(id).is_some_and(|inst| match inst.op {
            Op::ShiftLeftLogical => is_phi(inst.id(0)) && self.is_number(inst.id(1), 1),
            Op::IAdd => inst.ids().all(is_phi),
            Op::IMul => inst.ids().any(is_phi) && inst.ids().any(|id| self.is_number(id, 2)),
            _ => false,
        })
    }

    /// What a value is made of by a conversion, or itself.
    fn narrowed(&self, id: Id) -> Id {
        match self.inst(id) {
            Some(inst) if matches!(inst.op, Op::UConvert | Op::SConvert) => inst.id(0),
            _ => id,
        }
    }

    /// Which bit of what a value is: that of the iteration's number.
    fn source(&self, bit: Id) -> Option<Source> {
        let inst = self.inst(bit)?;
        match inst.op {
            Op::UConvert | Op::SConvert => self.source(inst.id(0)),
            Op::BitwiseAnd => {
                let [a, b] = [inst.id(0), inst.id(1)];
                let (of, _) = [(a, b), (b, a)].into_iter().find(|(_, one)| self.is_number(*one, 1))?;
                self.lowest_bit(of)
            }
            // Whether that bit is set, as a number.
            Op::Select if self.is_number(inst.id(1), 1) && self.is_number(inst.id(2), 0) => {
                let asked = self.inst(inst.id(0))?;
                let against = match asked.op {
                    Op::INotEqual => 0,
                    Op::IEqual => 1,
                    _ => return None,
                };
                let masked = self.inst(asked.id(0)).filter(|inst| inst.op == Op::BitwiseAnd)?;
                let is_bit = self.is_number(asked.id(1), against) && self.is_number(masked.id(1), 1);
                self.lowest_bit(masked.id(0)).filter(|_| is_bit)
            }
            _ => None,
        }
    }

    /// What has the iteration's bit in the place of its lowest one.
    fn lowest_bit(&self, id: Id) -> Option<Source> {
        if let Some(phi) = self.phis.iter().find(|phi| phi.result == id) {
            let next = self.inst(phi.from(self.this.latch)?)?;
            // The sign comes behind the last bit.
            let may_be_signed = matches!(self.over, Over::Count(_)) && next.op == Op::ShiftRightArithmetic;
            let is_shifted = (next.op == Op::ShiftRightLogical || may_be_signed)
                && next.id(0) == phi.result
                && self.is_number(next.id(1), 1);
            let number = self.begin(phi)?;
            return is_shifted.then_some(Source { number, shifted: Some(phi.result) });
        }
        let inst = self.inst(id)?;
        match inst.op {
            Op::UConvert | Op::SConvert => self.lowest_bit(inst.id(0)),
            Op::ShiftRightLogical | Op::ShiftRightArithmetic => {
                // OpenCL C cuts amounts to those that there are, which those of a loop that is counted are.
                let is_counted = matches!(self.over, Over::Count(_));
                let (mut by, width) = (inst.id(1), u64::from(self.width(inst.ty?)?));
                while let Some(wider) = self.inst(by) {
                    by = match wider.op {
                        Op::UConvert | Op::SConvert => wider.id(0),
                        Op::BitwiseAnd if is_counted && self.is_number(wider.id(1), width - 1) => wider.id(0),
                        _ => break,
                    };
                }
                let is_counter = |phi: &&Phi| is_counter(self.func, self.plain, self.this, phi);
                self.phis.iter().find(|phi| phi.result == by).filter(is_counter)?;
                let number = inst.id(0);
                (!self.own.contains(&number)).then_some(Source { number, shifted: None })
            }
            _ => None,
        }
    }

    /// What a phi that begins so has become by one bit after the other of a number.
    fn counted(&mut self, op: Op, phi: &Phi, first: Id, number: Id) -> Option<Id> {
        let ty = self.func.type_of(number)?;
        self.width(ty)?;
        let ones = self.of(Op::BitCount, ty, &[number]);
        let ones = self.as_type(ones, phi.ty);
        match op {
            Op::IAdd => Some(self.of(Op::IAdd, phi.ty, &[first, ones])),
            Op::BitwiseXor => {
                let parity = self.by(Op::BitwiseAnd, phi.ty, ones, 1);
                Some(self.of(Op::BitwiseXor, phi.ty, &[first, parity]))
            }
            _ => None,
        }
    }

    /// What a phi is after so many iterations.
    fn behind_count(&mut self, phi: &Phi, first: Id, next: &Inst, width: u32, count: u32) -> Option<Id> {
        if let Some(by) = self.step(next, phi).and_then(|by| self.func.constant_bits(by)) {
            return Some(self.by(Op::IAdd, phi.ty, first, cut(by.wrapping_mul(count.into()), width)));
        }
        if next.op == Op::ShiftRightLogical && next.id(0) == phi.result && self.is_number(next.id(1), 1) {
            return Some(match count < width {
                true => self.by(Op::ShiftRightLogical, phi.ty, first, count.into()),
                false => self.number(phi.ty, 0),
            });
        }
        let Joined { op, shifts, source } = self.joined(next, phi)?;
        let bits = self.width_of(source.number)?;
        if count > bits {
            return None;
        }
        if !shifts {
            let ty = self.func.type_of(source.number)?;
            let lowest = match count < bits {
                true => self.by(Op::BitwiseAnd, ty, source.number, (1 << count) - 1),
                false => source.number,
            };
            return self.counted(op, phi, first, lowest);
        }
        if count > width {
            return None;
        }
        let number = self.as_type(source.number, phi.ty);
        let mut reversed = self.of(Op::BitReverse, phi.ty, &[number]);
        if count == width {
            return Some(reversed);
        }
        reversed = self.by(Op::ShiftRightLogical, phi.ty, reversed, (width - count).into());
        if self.is_number(first, 0) {
            return Some(reversed);
        }
        let before = self.by(Op::ShiftLeftLogical, phi.ty, first, count.into());
        Some(self.of(Op::BitwiseOr, phi.ty, &[before, reversed]))
    }

    /// What a phi is after as many iterations as a bound says: the bits of a number in reverse, behind those that it began with.
    fn behind_bound(
        &mut self,
        phi: &Phi,
        first: Id,
        next: &Inst,
        width: u32,
        bound: Id,
        op: Op,
    ) -> Option<Id> {
        let Joined { source, .. } = self.joined(next, phi).filter(|joined| joined.shifts)?;
        let (counts, bool) = (self.func.type_of(bound)?, self.bool()?);
        if self.width_of(source.number)? != width || self.width(counts)? > u64::BITS {
            return None;
        }
        // A loop runs once before it asks, and a bound of zero is never met where it is asked whether the counter is that. All bits are gone
        // after twice as many as there are.
        let most = 2 * u64::from(width);
        let (one, all) = (self.number(counts, 1), self.number(counts, most));
        let (asked, otherwise) = match op {
            Op::SLessThan => (self.of(Op::SLessThan, bool, &[one, bound]), one),
            Op::ULessThan => (self.of(Op::ULessThan, bool, &[one, bound]), one),
            _ => {
                let none = self.number(counts, 0);
                (self.of(Op::INotEqual, bool, &[bound, none]), all)
            }
        };
        let count = self.of(Op::Select, counts, &[asked, bound, otherwise]);
        let is_less = self.of(Op::ULessThan, bool, &[count, all]);
        let count = self.of(Op::Select, counts, &[is_less, count, all]);
        let count = self.as_type(count, phi.ty);
        let reversed = self.of(Op::BitReverse, phi.ty, &[source.number]);
        let bits = self.number(phi.ty, width.into());
        let fits = self.of(Op::ULessThanEqual, bool, &[count, bits]);
        let left = self.of(Op::ISub, phi.ty, &[bits, count]);
        let left = self.by(Op::BitwiseAnd, phi.ty, left, u64::from(width) - 1);
        let lower = self.of(Op::ShiftRightLogical, phi.ty, &[reversed, left]);
        let above = self.of(Op::ISub, phi.ty, &[count, bits]);
        let higher = self.shifted(Op::ShiftLeftLogical, phi.ty, width, reversed, above)?;
        let reversed = self.of(Op::Select, phi.ty, &[fits, lower, higher]);
        if self.is_number(first, 0) {
            return Some(reversed);
        }
        let before = self.shifted(Op::ShiftLeftLogical, phi.ty, width, first, count)?;
        Some(self.of(Op::BitwiseOr, phi.ty, &[before, reversed]))
    }

    /// A number shifted by as many bits as there may be, or more.
    fn shifted(&mut self, op: Op, ty: TypeId, width: u32, number: Id, by: Id) -> Option<Id> {
        let bool = self.bool()?;
        let bits = self.number(ty, width.into());
        let stays = self.of(Op::ULessThan, bool, &[by, bits]);
        let by = self.by(Op::BitwiseAnd, ty, by, u64::from(width) - 1);
        let shifted = self.of(op, ty, &[number, by]);
        let zero = self.number(ty, 0);
        Some(self.of(Op::Select, ty, &[stays, shifted, zero]))
    }
}

/// See [`Behind::joined`].
struct Joined {
    op: Op,
    shifts: bool,
    source: Source,
}

/// A number whose bits a loop takes one after the other, from the lowest one on, and the phi that it shifts for that, if it does.
struct Source {
    number: Id,
    shifted: Option<Id>,
}

/// The lowest bits of a number.
fn cut(bits: u64, width: u32) -> u64 {
    bits & u64::MAX >> (u64::BITS - width.min(u64::BITS)).min(u64::BITS - 1)
}

#[cfg(test)]
mod tests;
