//! Numbers that are taken apart by a division and put together again.
//!
//! Kernels of neural networks find their place in a tensor by `x / w` and `x % w`, and the place of what they read by
//! `(c * h + x / w) * w + x % w`. That is `c * h * w + x`, whatever the numbers are and however the sum wraps around: lanes beside each other
//! in `x` read beside each other, of which nothing is to be seen while quotient and remainder are apart.

use super::func::Func;
use super::simplify;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use spirv::Op;
use spirv_env::{Id, Inst, Type, TypeId};

/// A remainder, which makes a number of a quotient times the divisor.
struct Remainder {
    of: Id,
    kind: Kind,
    /// What quotient, remainder and divisor are widened by before they meet.
    widened: Option<(Op, TypeId)>,
    /// Bits of the number.
    bits: u32,
}

enum Kind {
    /// By an instruction, of this divisor.
    Inst { division: Op, divisor: Id },
    /// By taking away a product of these.
    Difference([Id; 2]),
}

/// Puts numbers together.
pub fn put_together(func: &mut Func<'_>) {
    let is_part = |inst: &Inst| matches!(inst.op, Op::SRem | Op::UMod | Op::SDiv | Op::UDiv);
    if !func.blocks.values().flat_map(|block| &block.insts).any(is_part) {
        return;
    }
    let mut parts = Parts::of(func);
    for block in func.block_ids() {
        let mut insts = Vec::with_capacity(func.blocks[block].insts.len());
        for inst in std::mem::take(&mut func.blocks[block].insts) {
            let Some((Sum { number, widened, product, term }, (ty, result))) =
                parts.sum(func, &inst).zip(inst.ty.zip(inst.result))
            else {
                insts.push(inst);
                continue;
            };
            let first = insts.len();
            let mut whole = match widened {
                None => number,
                Some((op, ty)) => add(func, &mut insts, op, ty, &[number]),
            };
            let product = product.map(|factors| add(func, &mut insts, Op::IMul, ty, &factors));
            for term in product.into_iter().chain(term) {
                whole = add(func, &mut insts, Op::IAdd, ty, &[whole, term]);
            }
            insts[first..].iter().for_each(|inst| parts.note(inst));
            parts.same.insert(result, whole);
        }
        func.blocks[block].insts = insts;
    }
    simplify::replace_by_ends(func, parts.same);
}

/// A new instruction behind others.
fn add(func: &mut Func<'_>, insts: &mut Vec<Inst>, op: Op, ty: TypeId, operands: &[Id]) -> Id {
    let (inst, result) = func.computed(op, ty, operands);
    insts.push(inst);
    result
}

/// What a sum is: a number, widened, and what is beside it.
struct Sum {
    number: Id,
    widened: Option<(Op, TypeId)>,
    /// What was beside the quotient, and the divisor.
    product: Option<[Id; 2]>,
    /// What was beside the product.
    term: Option<Id>,
}

/// The instructions that numbers are taken apart and put together by.
struct Parts {
    insts: FxHashMap<Id, (Op, TypeId, SmallVec<[Id; 2]>)>,
    /// What sums were put together as.
    same: FxHashMap<Id, Id>,
}

impl Parts {
    fn of(func: &Func<'_>) -> Parts {
        let mut parts = Parts { insts: FxHashMap::default(), same: FxHashMap::default() };
        func.blocks.values().flat_map(|block| &block.insts).for_each(|inst| parts.note(inst));
        parts
    }

    fn note(&mut self, inst: &Inst) {
        use Op::*;
        let is_part = matches!(inst.op, IAdd | ISub | IMul | SDiv | UDiv | SRem | UMod | SConvert | UConvert);
        if let (true, Some(result), Some(ty)) = (is_part, inst.result, inst.ty) {
            self.insts.insert(result, (inst.op, ty, inst.ids().collect()));
        }
    }

    fn get(&self, id: Id) -> Option<(Op, TypeId, &[Id])> {
        let id = self.same.get(&id).copied().unwrap_or(id);
        self.insts.get(&id).map(|(op, ty, operands)| (*op, *ty, operands.as_slice()))
    }

    /// The two operands of an instruction of this kind.
    fn pair(&self, id: Id, op: Op) -> Option<[Id; 2]> {
        self.get(id).filter(|(of, ..)| *of == op).and_then(|(_, _, operands)| operands.try_into().ok())
    }

    /// What is widened by such an instruction; the number itself where there is none.
    fn narrow(&self, id: Id, widened: Option<(Op, TypeId)>) -> Option<Id> {
        let Some((op, ty)) = widened else { return Some(id) };
        self.get(id).filter(|(of, to, _)| (*of, *to) == (op, ty)).map(|(_, _, operands)| operands[0])
    }

    fn remainder(&self, func: &Func<'_>, id: Id) -> Option<Remainder> {
        let bits = |ty: TypeId| match func.module.types.get(ty) {
            Type::Int { width } => *width,
            _ => 0,
        };
        let (mut op, mut ty, mut operands) = self.get(id)?;
        let mut widened = None;
        if matches!(op, Op::SConvert | Op::UConvert) {
            widened = Some((op, ty));
            let to = bits(ty);
            (op, ty, operands) = self.get(operands[0])?;
            if bits(ty) >= to {
                return None;
            }
        }
        let &[of, by] = operands else { return None };
        // A number of a sign is widened by its sign, one without by zeros.
        let widens = |by: Op| widened.is_none_or(|(op, _)| op == by);
        let kind = match op {
            Op::SRem if widens(Op::SConvert) => Kind::Inst { division: Op::SDiv, divisor: by },
            Op::UMod if widens(Op::UConvert) => Kind::Inst { division: Op::UDiv, divisor: by },
            Op::ISub if widened.is_none() => Kind::Difference(self.pair(by, Op::IMul)?),
            _ => return None,
        };
        Some(Remainder { of, kind, widened, bits: bits(ty) })
    }

    /// The divisor as it is multiplied by, if a product of these is of a remainder's quotient, and what is beside the quotient.
    fn quotient(&self, func: &Func<'_>, remainder: &Remainder, product: [Id; 2]) -> Option<(Id, Option<Id>)> {
        let is_same = |a: Id, b: Id| {
            a == b || func.constant_bits(a).is_some_and(|bits| func.constant_bits(b) == Some(bits))
        };
        let is_divisor = |id: Id| match remainder.kind {
            Kind::Inst { divisor, .. } => match (remainder.widened, func.constant_bits(id)) {
                // One that has no sign is the same in all widths.
                (Some(_), Some(bits)) => {
                    bits >> (remainder.bits - 1) == 0 && func.constant_bits(divisor) == Some(bits)
                }
                (widened, _) => self.narrow(id, widened).is_some_and(|narrow| is_same(narrow, divisor)),
            },
            Kind::Difference(factors) => factors.iter().any(|factor| is_same(*factor, id)),
        };
        let is_quotient = |id: Id, divisor: Id| match remainder.kind {
            Kind::Inst { division, divisor } => {
                let division = self.narrow(id, remainder.widened).and_then(|id| self.pair(id, division));
                division.is_some_and(|[of, by]| of == remainder.of && is_same(by, divisor))
            }
            Kind::Difference([a, b]) => (is_same(a, divisor) && b == id) || (is_same(b, divisor) && a == id),
        };
        for (divisor, quotient) in [(product[0], product[1]), (product[1], product[0])] {
            if !is_divisor(divisor) {
                continue;
            }
            if is_quotient(quotient, divisor) {
                return Some((divisor, None));
            }
            if let Some([a, b]) = self.pair(quotient, Op::IAdd) {
                for (quotient, beside) in [(a, b), (b, a)] {
                    if is_quotient(quotient, divisor) {
                        return Some((divisor, Some(beside)));
                    }
                }
            }
        }
        None
    }

    /// What an instruction puts together.
    fn sum(&self, func: &Func<'_>, inst: &Inst) -> Option<Sum> {
        if inst.op != Op::IAdd || !matches!(func.module.types.get(inst.ty?), Type::Int { .. }) {
            return None;
        }
        let [a, b] = [inst.id(0), inst.id(1)];
        for (remainder, other) in [(a, b), (b, a)] {
            let Some(remainder) = self.remainder(func, remainder) else { continue };
            let sum = |(divisor, beside): (Id, Option<Id>), term: Option<Id>| Sum {
                number: remainder.of,
                widened: remainder.widened,
                product: beside.map(|beside| [beside, divisor]),
                term,
            };
            let of = |product: Id| self.quotient(func, &remainder, self.pair(product, Op::IMul)?);
            if let Some(found) = of(other) {
                return Some(sum(found, None));
            }
            if let Some([c, d]) = self.pair(other, Op::IAdd) {
                for (product, term) in [(c, d), (d, c)] {
                    if let Some(found) = of(product) {
                        return Some(sum(found, Some(term)));
                    }
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::put_together;
    use crate::analysis::Analysis;
    use crate::analysis::shapes::Shape;
    use crate::analysis::testing::{VARIANT, block, of_func};

    /// The shape of the `%result` of these instructions, a number of 32 or of 64 bits.
    fn shape(body: &str, bits: u32) -> Shape {
        let wide = if bits == 32 { "OpUConvert %ulong %result" } else { "OpIAdd %ulong %result %any_ulong" };
        let store = "%at = OpConvertUToPtr %to_uint %wide\nOpStore %at %uint_1";
        of_func(&format!("{body}\n%wide = {wide}\n{store}"), |mut func| {
            put_together(&mut func);
            let analysis = Analysis::new(func, VARIANT);
            let insts = &analysis.func.blocks[block(0)].insts;
            let store = insts.iter().find(|inst| inst.op == spirv::Op::Store).expect("it stores");
            analysis.shape(block(0), store.id(0))[0]
        })
    }

    #[test]
    fn quotients_and_remainders_are_the_number() {
        let x = "%g = OpLoad %ulong3 %GlobalInvocationId\n%l = OpCompositeExtract %ulong %g 0\n\
             %x = OpUConvert %uint %l\n";
        let of = |text: &str| shape(&format!("{x}{text}"), 32);
        let beside = Shape::Strided(1);
        let signed = "%q = OpSDiv %uint %x %any_uint\n%r = OpSRem %uint %x %any_uint\n";
        let unsigned = signed.replace("SDiv", "UDiv").replace("SRem", "UMod");
        let plain = "%p = OpIMul %uint %any_uint %q\n%result = OpIAdd %uint %r %p";
        for parts in [signed, &unsigned] {
            assert_eq!(of(&format!("{parts}{plain}")), beside);
            // With what is beside the quotient, and beside the product.
            let tensor = "%s = OpIAdd %uint %q %any_uint\n%p = OpIMul %uint %s %any_uint\n\
                 %t = OpIAdd %uint %p %any_uint\n%result = OpIAdd %uint %t %r";
            assert_eq!(of(&format!("{parts}{tensor}")), beside);
        }
        let difference = "%q = OpSDiv %uint %x %any_uint\n%m = OpIMul %uint %q %any_uint\n\
             %r = OpISub %uint %x %m\n%s = OpIAdd %uint %q %uint_9\n%p = OpIMul %uint %s %any_uint\n\
             %result = OpIAdd %uint %p %r";
        assert_eq!(of(difference), beside);
        // Of another number, another kind, or with another factor, they are not.
        assert_eq!(of(&format!("{signed}{}", plain.replace("%any_uint %q", "%uint_9 %q"))), Shape::Varying);
        let mixed = signed.replace("SDiv", "UDiv");
        assert_eq!(of(&format!("{mixed}{plain}")), Shape::Varying);
        let other = signed.replace("OpSRem %uint %x", "OpSRem %uint %any_uint");
        assert_eq!(of(&format!("{other}{plain}")), Shape::Varying);
    }

    #[test]
    fn parts_may_be_widened() {
        let of = |op: &str, divisor: &str| {
            let text = format!(
                "%g = OpLoad %ulong3 %GlobalInvocationId\n%l = OpCompositeExtract %ulong %g 0\n\
                 %x = OpUConvert %uint %l\n%q = OpUDiv %uint %x {divisor}\n%r = OpUMod %uint %x {divisor}\n\
                 %q8 = {op} %ulong %q\n%r8 = {op} %ulong %r\n%d8 = {op} %ulong {divisor}\n\
                 %p = OpIMul %ulong %q8 %d8\n%result = OpIAdd %ulong %p %r8"
            );
            shape(&text, 64)
        };
        assert_eq!(of("OpUConvert", "%any_uint"), Shape::Strided(1));
        assert_eq!(of("OpSConvert", "%any_uint"), Shape::Varying);
    }
}
