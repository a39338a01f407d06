//! Counters of 8 and 16 bits: `for (ushort i = 0; i < n; i++) sum += row[i];`.
//!
//! What such a counter is widened to for an address is no number that grows by one for all who look for rows and columns of memory: it might wrap
//! around. Where the loop ends before it does, because it goes on only below a bound, or counts from zero until it meets one, the
//! widened number is made a counter itself.

use super::cfg::{Cfg, Dominators};
use super::exits;
use super::func::{BlockId, Func, Phi};
use super::joins::{self, Plain};
use super::loops::{Loop, Loops};
use super::order::Order;
use super::simplify;
use spirv::Op;
use spirv_env::{Id, Inst, Operand, Type, TypeId};

/// Counters of a function that are widened, and questions of a loop that are looked at: each is compared with all counters, or instructions.
const MOST: usize = 64;
const MOST_ASKED: usize = 8;

/// What a counter is widened to.
struct Widened {
    header: BlockId,
    preheader: BlockId,
    latch: BlockId,
    counter: Id,
    /// What it begins with, in the wider type.
    first: u64,
    op: Op,
    ty: TypeId,
}

/// Makes such counters. Loops are canonical, and stay so.
pub fn widen(func: &mut Func<'_>) {
    let is_narrow = |phi: &Phi| bits_of(func, phi.result, phi.ty).is_some();
    if !func.blocks.values().flat_map(|block| &block.phis).any(is_narrow) {
        return;
    }
    let cfg = Cfg::new(func);
    let doms = Dominators::new(&cfg);
    let loops = Loops::new(&cfg, &doms);
    let plain = joins::plain_insts(func);
    let mut found: Vec<Widened> = Vec::new();
    for (id, this) in &loops.loops {
        let exits = this.exits.iter();
        let asked: Vec<(&Inst, bool)> = exits
            .filter_map(|(block, _)| exits::exit_of_each_iteration(func, &doms, &loops, id, *block))
            .filter_map(|exit| Some((plain.get(&exit.condition)?, exit.stays_if)))
            .take(MOST_ASKED)
            .collect();
        for phi in &func.blocks[this.header].phis {
            let counter = Counter::of(func, &plain, this, phi);
            let Some(counter) = counter.filter(|_| found.len() < MOST) else { continue };
            for op in [Op::UConvert, Op::SConvert] {
                let stays =
                    |(asked, holds): &(&Inst, bool)| counter.stays(func, &plain, this, (asked, *holds), op);
                if asked.iter().any(stays) {
                    found.extend(counter.widened_by(func, &plain, this, op));
                }
            }
        }
    }
    if found.is_empty() {
        return;
    }
    for of in found.into_iter().take(MOST) {
        make(func, &of);
    }
    simplify::propagate_copies(func);
}

/// Bits of a value of a type, if that is an integer that is narrower than indices are. Numbers of the engine's own have no type.
fn bits_of(func: &Func<'_>, id: Id, ty: TypeId) -> Option<u32> {
    if func.selectors.contains(&id) {
        return None;
    }
    match func.module.types.get(ty) {
        Type::Int { width: width @ (8 | 16) } => Some(*width),
        _ => None,
    }
}

/// Whether a conversion of an integer is to more bits than it has.
fn is_widening(func: &Func<'_>, inst: &Inst) -> bool {
    let width = |ty: TypeId| match func.module.types.get(ty) {
        Type::Int { width } => Some(*width),
        _ => None,
    };
    matches!(inst.op, Op::UConvert | Op::SConvert)
        && !func.selectors.contains(&inst.id(0))
        && func.type_of(inst.id(0)).and_then(width) < inst.ty.and_then(width)
}

/// Whether a loop makes a value.
fn is_made_in(func: &Func<'_>, this: &Loop, id: Id) -> bool {
    this.blocks.iter().map(|block| &func.blocks[*block]).any(|block| {
        block.phis.iter().any(|phi| phi.result == id)
            || block.insts.iter().any(|inst| inst.result == Some(id))
    })
}

/// A narrow number that grows by one in each iteration, from a constant on.
struct Counter {
    phi: Id,
    next: Id,
    first: u64,
    bits: u32,
}

impl Counter {
    fn of(func: &Func<'_>, plain: &Plain, this: &Loop, phi: &Phi) -> Option<Counter> {
        let bits = bits_of(func, phi.result, phi.ty)?;
        let first = func.constant_bits(phi.from(this.preheader)?)?;
        let next = phi.from(this.latch)?;
        let counter = Counter { phi: phi.result, next, first, bits };
        // Without optimisation it is widened to be added to, and cut again.
        let mut sum = plain.get(&next)?;
        if matches!(sum.op, Op::UConvert | Op::SConvert) && !is_widening(func, sum) {
            sum = plain.get(&sum.id(0))?;
        }
        let is_counter = |id: Id| {
            let widened = || plain.get(&id).filter(|inst| is_widening(func, inst));
            id == phi.result || widened().is_some_and(|inst| inst.id(0) == phi.result)
        };
        let [one, other] = [sum.operands.first(), sum.operands.get(1)].map(|operand| match operand {
            Some(Operand::Id(id)) => Some(*id),
            _ => None,
        });
        let grows = |from: Option<Id>, by: Option<Id>| {
            from.is_some_and(is_counter) && by.and_then(|id| func.constant_bits(id)) == Some(1)
        };
        (sum.op == Op::IAdd && (grows(one, other) || grows(other, one))).then_some(counter)
    }

    /// The greatest number that a conversion takes for what it is.
    fn most(&self, op: Op) -> u64 {
        (1 << (self.bits - u32::from(op == Op::SConvert))) - 1
    }

    /// Whether the counter, converted so, is what is counted in more bits, since the loop goes on only where a question has this answer.
    fn stays(
        &self,
        func: &Func<'_>,
        plain: &Plain,
        this: &Loop,
        (asked, holds): (&Inst, bool),
        op: Op,
    ) -> bool {
        if self.first >= self.most(Op::SConvert) {
            return false;
        }
        let bits = |id: Id| func.type_of(id).and_then(|ty| bits_of(func, id, ty));
        // A number as the counter's type has it, and how it was widened from there.
        let narrow = |id: Id| -> Option<(Id, Option<Op>)> {
            if bits(id) == Some(self.bits) {
                return Some((id, None));
            }
            let inst = plain.get(&id).filter(|inst| is_widening(func, inst))?;
            (bits(inst.id(0)) == Some(self.bits)).then(|| (inst.id(0), Some(inst.op)))
        };
        let is_own = |id: Id| id == self.phi || id == self.next;
        if let Some(order) = Order::of(asked, holds).filter(|order| order.is_strict) {
            let Some((_, widened)) = narrow(order.lesser).filter(|(id, _)| is_own(*id)) else { return false };
            // What is below as a signed number is below half of all, and not negative if it begins so.
            let conversion = match widened {
                None if order.is_signed => Op::SConvert,
                None => Op::UConvert,
                Some(op) => op,
            };
            let is_bound = match narrow(order.greater) {
                // Negative numbers are large ones where they have no sign.
                Some((_, by)) => by == widened && (order.is_signed || widened != Some(Op::SConvert)),
                None => func.constant_bits(order.greater).is_some_and(|bound| bound <= self.most(conversion)),
            };
            return is_bound && (op == conversion || conversion == Op::SConvert);
        }
        let differs = matches!((asked.op, holds), (Op::INotEqual, true) | (Op::IEqual, false));
        let mut sides = asked.ids().filter_map(narrow);
        let (Some(one), Some(other)) = (sides.next(), sides.next()) else { return false };
        let meets = |own: Id, bound: Id| is_own(own) && !is_made_in(func, this, bound);
        // It counts through all numbers from zero on before it comes to zero again.
        differs
            && op == Op::UConvert
            && self.first == 0
            && one.1 == other.1
            && (meets(one.0, other.0) || meets(other.0, one.0))
    }

    /// What it is widened to in this way, by types.
    fn widened_by(&self, func: &Func<'_>, plain: &Plain, this: &Loop, op: Op) -> Vec<Widened> {
        let mut types: Vec<TypeId> = plain
            .values()
            .filter(|inst| inst.op == op && inst.id(0) == self.phi && is_widening(func, inst))
            .filter_map(|inst| inst.ty)
            .collect();
        types.sort_unstable();
        types.dedup();
        let of = |ty: TypeId| Widened {
            header: this.header,
            preheader: this.preheader,
            latch: this.latch,
            counter: self.phi,
            first: self.first,
            op,
            ty,
        };
        types.into_iter().map(of).collect()
    }
}

/// Counts in the wider type beside the counter, and has conversions be that.
fn make(func: &mut Func<'_>, of: &Widened) {
    let [counter, next] = [(); 2].map(|()| func.fresh_of(of.ty));
    let [first, one] = [of.first, 1].map(|bits| func.number(bits, of.ty));
    let operands = [counter, one].map(Operand::Id).into_iter().collect();
    let sum = Inst { op: Op::IAdd, ty: Some(of.ty), result: Some(next), operands, line: None };
    func.blocks[of.latch].insts.push(sum);
    let incoming = [(of.preheader, first), (of.latch, next)].into_iter().collect();
    func.blocks[of.header].phis.push(Phi { result: counter, ty: of.ty, incoming });
    for inst in func.blocks.values_mut().flat_map(|block| &mut block.insts) {
        if inst.op == of.op
            && inst.ty == Some(of.ty)
            && inst.operands.first() == Some(&Operand::Id(of.counter))
        {
            inst.op = Op::CopyObject;
            inst.operands = [Operand::Id(counter)].into_iter().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::func::Phi;
    use super::super::loops;
    use super::super::testing::of_func;
    use super::widen;
    use spirv_env::Type;

    /// Whether a counter of a type that begins with a number is counted in 32 bits where it is converted so, if the loop asks this at its end.
    fn is_widened(ty: &str, first: &str, conversion: &str, asks: &str) -> bool {
        let body = format!(
            "%few_uchar = OpUConvert %uchar %any_uint
            %few_ushort = OpUConvert %ushort %any_uint
            OpBranch %loop
            %loop = OpLabel
            %i = OpPhi %{ty} %{ty}_{first} %entry %next %loop
            %wide = {conversion} %uint %i
            %there = OpInBoundsPtrAccessChain %to_uint %pointer %wide
            OpStore %there %wide
            %next = OpIAdd %{ty} %i %{ty}_1
            {asks}
            OpBranchConditional %more %loop %behind
            %behind = OpLabel"
        );
        of_func(&body, |mut func| {
            loops::canonicalize(&mut func);
            widen(&mut func);
            let is_wide = |phi: &Phi| matches!(func.module.types.get(phi.ty), Type::Int { width: 32 });
            func.blocks.values().flat_map(|block| &block.phis).any(is_wide)
        })
    }

    #[test]
    fn counters_that_stay_below_a_bound_are_widened() {
        for ty in ["uchar", "ushort"] {
            let of = |first: &str, op: &str, sides: &str, by: &str| {
                is_widened(
                    ty,
                    first,
                    by,
                    &format!("%more = {op} %bool {}", sides.replace("%few", &format!("%few_{ty}"))),
                )
            };
            assert!(of("5", "OpULessThan", "%next %few", "OpUConvert"));
            assert!(of("0", "OpUGreaterThan", "%few %i", "OpUConvert"));
            assert!(!of("0", "OpULessThan", "%next %few", "OpSConvert"), "beyond half of all");
            assert!(of("1", "OpSLessThan", "%next %few", "OpSConvert"));
            assert!(of("1", "OpSLessThan", "%next %few", "OpUConvert"));
            assert!(
                !of("1", "OpULessThanEqual", "%next %few", "OpUConvert"),
                "the bound may be the last number"
            );
            assert!(of("0", "OpINotEqual", "%next %few", "OpUConvert"));
            assert!(!of("1", "OpINotEqual", "%next %few", "OpUConvert"), "the bound may be below");
            assert!(!of("0", "OpINotEqual", "%next %few", "OpSConvert"), "beyond half of all");
        }
        let varying = "%other = OpIMul %ushort %few_ushort %i\n%more = OpINotEqual %bool %next %other";
        assert!(!is_widened("ushort", "0", "OpUConvert", varying), "a bound that runs away");
        let cut = "%byte = OpUConvert %uchar %next\n%more = OpULessThan %bool %byte %few_uchar";
        assert!(!is_widened("ushort", "0", "OpUConvert", cut), "fewer bits are compared");
        assert!(
            !is_widened("uchar", "127", "OpSConvert", "%more = OpSLessThan %bool %next %few_uchar"),
            "wraps at once"
        );
    }

    #[test]
    fn questions_in_more_bits_are_understood() {
        let of = |compared: &str, bound: &str, op: &str| {
            let asks = format!(
                "%compared = {compared} %uint %next\n%bound = {bound}\n%more = {op} %bool %compared %bound"
            );
            is_widened("ushort", "0", "OpUConvert", &asks)
        };
        assert!(of("OpUConvert", "OpUConvert %uint %few_ushort", "OpSLessThan"));
        assert!(of("OpSConvert", "OpSConvert %uint %few_ushort", "OpSLessThan"));
        assert!(!of("OpUConvert", "OpIAdd %uint %any_uint %uint_1", "OpULessThan"), "more than there are");
        assert!(!of("OpSConvert", "OpSConvert %uint %few_ushort", "OpULessThan"), "below what is negative");
        assert!(is_widened(
            "ushort",
            "0",
            "OpUConvert",
            "%compared = OpUConvert %uint %next\n%more = OpULessThan %bool %compared %uint_255"
        ));
        assert!(!is_widened(
            "uchar",
            "0",
            "OpSConvert",
            "%compared = OpUConvert %uint %next\n%more = OpULessThan %bool %compared %uint_255"
        ));
    }

    #[test]
    fn what_was_added_up_in_more_bits_counts() {
        let asks = "%more = OpULessThan %bool %next %few_ushort";
        let body = |sum: &str| {
            format!(
                "%few_ushort = OpUConvert %ushort %any_uint
                OpBranch %loop
                %loop = OpLabel
                %i = OpPhi %ushort %ushort_0 %entry %next %loop
                %wide = OpUConvert %uint %i
                %cut = OpUConvert %uchar %i
                %there = OpInBoundsPtrAccessChain %to_uint %pointer %wide
                OpStore %there %wide
                %sum = {sum}
                %next = OpUConvert %ushort %sum
                {asks}
                OpBranchConditional %more %loop %behind
                %behind = OpLabel"
            )
        };
        let of = |sum: &str| {
            of_func(&body(sum), |mut func| {
                loops::canonicalize(&mut func);
                widen(&mut func);
                func.blocks.values().map(|block| block.phis.len()).sum::<usize>()
            })
        };
        assert_eq!(of("OpIAdd %uint %wide %uint_1"), 2);
        assert_eq!(of("OpIAdd %uint %wide %uint_2"), 1);
        assert_eq!(of("OpIAdd %uchar %cut %uchar_1"), 1, "it counts in fewer bits");
    }
}
