//! How results vary over the lanes of a sub-group, given how operands do: by the rows of opcodes, and strides.

use super::Analysis;
use super::builtins;
use super::func::{BlockId, ChainStep, Taken};
use super::private::{Placement, object_layout, private_stride};
use super::rearrangement::Source;
use super::shapes::{Shape, Shapes, Trust};
use smallvec::{SmallVec, smallvec};
use spirv::{GroupOperation, Op};
use spirv_env::opcodes::{Derives, Memory, Uniformity};
use spirv_env::{Id, Inst, Type, TypeId};

impl Analysis<'_> {
    pub(super) fn lane_stride(&self, object: Id, pointer: TypeId) -> Shape {
        if self.variant.width == 1 {
            return Shape::Uniform;
        }
        let layout = object_layout(&self.func, object, pointer);
        layout.map_or(Shape::Varying, |layout| Shape::strided(private_stride(layout) as i64))
    }

    pub(super) fn inst_shape(&self, block: BlockId, inst: &Inst) -> Shapes {
        let ty = inst.ty.expect("only instructions with a type have a shape");
        let count = self.leaves.count(ty);
        if self.variant.width == 1 {
            return smallvec![Shape::Uniform; count];
        }
        if let Some(shapes) = self.shape_beyond_row(inst, count) {
            return shapes;
        }
        let all = |shape: Shape| -> Shapes { smallvec![shape; count] };
        match self.func.taken(inst) {
            Some(Taken::OfFirst | Taken::OfTurn) => return all(Shape::Uniform),
            Some(Taken::HasTurn) => return all(Shape::Varying),
            None => {}
        }
        let one = |at: usize| self.shape(block, inst.id(at)).first().copied().unwrap_or(Shape::Uniform);
        match inst.row().uniformity {
            Uniformity::Nothing | Uniformity::Uniform => all(Shape::Uniform),
            Uniformity::Varying => all(Shape::Varying),
            Uniformity::Called => self.call_shape(block, inst, count),
            Uniformity::Elementwise => self.elementwise(block, inst, count),
            Uniformity::Strided => self.strided(block, inst, ty, count),
            Uniformity::Rearranged => self.rearranged(block, inst, count),
            Uniformity::Object => {
                all(match self.private.placement.get(&inst.result.expect("variables have ids")) {
                    Some(Placement::Interleaved | Placement::Uniform) => Shape::Uniform,
                    _ => self.lane_stride(inst.result.expect("variables have ids"), ty),
                })
            }
            Uniformity::Loaded => {
                let pointer = inst.id(0);
                if let Some(builtin) = self.builtins.get(&pointer) {
                    let leaves = self.leaves.get(ty).unwrap_or_default();
                    return builtins::shapes(builtin, &leaves, self.variant);
                }
                if self.private.interleaved.contains_key(&pointer) {
                    return all(Shape::Varying);
                }
                all(if one(0).is_uniform() { Shape::Uniform } else { Shape::Varying })
            }
            Uniformity::Extended => {
                // Some lanes may have found no room for what they print.
                let uniform = !inst.prints(self.func.module)
                    && inst.ids().skip(1).all(|id| {
                        !self.private.interleaved.contains_key(&id)
                            && self.shape(block, id).iter().all(|shape| shape.is_uniform())
                    });
                all(if uniform { Shape::Uniform } else { Shape::Varying })
            }
            Uniformity::UniformIf(at) if one(at).is_uniform() => all(Shape::Uniform),
            Uniformity::UniformIf(_) => self.elementwise(block, inst, count),
            Uniformity::ByOperation => all(if self.reduces(inst) { Shape::Uniform } else { Shape::Varying }),
            Uniformity::CountByOperation => {
                all(if self.reduces(inst) && one(2).is_uniform() { Shape::Uniform } else { Shape::Varying })
            }
        }
    }

    /// Whether the group operation, operand 1, is a reduction of the whole group.
    fn reduces(&self, inst: &Inst) -> bool {
        inst.lit(1) == GroupOperation::Reduce as u64
    }

    /// Results that equal steps between lanes may go through; a case that is not looked at knows no step.
    fn strided(&self, block: BlockId, inst: &Inst, ty: TypeId, count: usize) -> Shapes {
        let operand = |at: usize| self.shape(block, inst.id(at));
        let one = |at: usize| operand(at).first().copied().unwrap_or(Shape::Uniform);
        if matches!(inst.row().derives, Derives::Chain | Derives::ElementChain) {
            return smallvec![self.chain_shape(block, inst)];
        }
        // Steps are counted modulo 2^64 at most.
        if self.leaves.scalar(ty).is_some_and(|scalar| scalar.bits() > u64::BITS) {
            return self.elementwise(block, inst, count);
        }
        if count == 1
            && let Some(shape) = self.part_of_run(block, inst)
        {
            return smallvec![shape];
        }
        match inst.op {
            Op::Bitcast
            | Op::PtrCastToGeneric
            | Op::GenericCastToPtr
            | Op::ConvertPtrToU
            | Op::ConvertUToPtr
                if operand(0).len() == count && self.keeps_stride(block, inst, ty) =>
            {
                operand(0)
            }
            Op::IAdd => self.zip(block, inst, count, i64::checked_add),
            Op::ISub => self.zip(block, inst, count, i64::checked_sub),
            // `~x` is `-x - 1`.
            Op::SNegate | Op::Not => negated(operand(0)),
            Op::BitwiseXor if count == 1 && self.func.constant_int(inst.id(1)) == Some(-1) => {
                negated(operand(0))
            }
            Op::BitwiseOr if count == 1 && self.or_is_add(inst) => {
                self.zip(block, inst, count, i64::checked_add)
            }
            Op::IMul if count == 1 => {
                match (self.func.constant_int(inst.id(0)), self.func.constant_int(inst.id(1))) {
                    (_, Some(factor)) => smallvec![scale(one(0), factor)],
                    (Some(factor), _) => smallvec![scale(one(1), factor)],
                    _ => self.elementwise(block, inst, count),
                }
            }
            Op::ShiftLeftLogical if count == 1 => match self.func.constant_bits(inst.id(1)) {
                Some(amount) if amount <= 30 || (amount < 56 && self.index_width(inst.id(0)) == Some(64)) => {
                    smallvec![scale(one(0), 1 << amount)]
                }
                _ => self.elementwise(block, inst, count),
            },
            Op::ShiftRightArithmetic | Op::ShiftRightLogical if count == 1 => {
                match self.shifted_right(block, inst) {
                    Some((step, _)) => smallvec![Shape::strided(step)],
                    None => self.elementwise(block, inst, count),
                }
            }
            Op::UDiv | Op::SDiv if count == 1 => match self.divided_exactly(block, inst) {
                Some(step) => smallvec![Shape::strided(step)],
                None => self.elementwise(block, inst, count),
            },
            Op::BitwiseAnd | Op::UMod if count == 1 && self.is_identity(inst) => operand(0),
            Op::BitwiseAnd if count == 1 && self.keeps_low_half(inst) && self.is_near(one(0)) => operand(0),
            Op::UConvert | Op::SConvert if count == 1 && !self.saturates(inst) => {
                smallvec![self.convert_shape(inst, one(0))]
            }
            _ => self.elementwise(block, inst, count),
        }
    }

    /// Results whose leaves are those of operands.
    fn rearranged(&self, block: BlockId, inst: &Inst, count: usize) -> Shapes {
        if inst.op == Op::Select {
            let condition = self.shape(block, inst.id(0));
            if !condition.iter().all(|shape| shape.is_uniform()) {
                return smallvec![Shape::Varying; count];
            }
            let (a, b) = (self.shape(block, inst.id(1)), self.shape(block, inst.id(2)));
            return a.iter().zip(b).map(|(a, b)| a.join(b)).collect();
        }
        // Where leaves go is not known, so nothing is.
        let Some(sources) = self.sources(inst) else { return smallvec![Shape::Varying; count] };
        let mut known: SmallVec<[(Id, Shapes); 4]> = SmallVec::new();
        let of = |source| match source {
            Source::Undefined => Shape::Undefined,
            Source::Leaf(id, leaf) => {
                // Leaves of an operand mostly come one after the other.
                if known.last().is_none_or(|(last, _)| *last != id) {
                    known.push((id, self.shape(block, id)));
                }
                let shapes = known.last().map(|(_, shapes)| shapes);
                shapes.and_then(|shapes| shapes.get(leaf)).copied().unwrap_or(Shape::Varying)
            }
        };
        sources.into_iter().map(of).collect()
    }

    /// Leaf by leaf where operands have as many leaves as the result, else all leaves alike.
    fn elementwise(&self, block: BlockId, inst: &Inst, count: usize) -> Shapes {
        let operands: SmallVec<[Shapes; 4]> = inst.ids().map(|id| self.shape(block, id)).collect();
        let varies = |shape: &Shape| !shape.is_uniform();
        if operands.iter().all(|shapes| shapes.len() == count) {
            (0..count)
                .map(|leaf| {
                    let any = operands.iter().any(|shapes| varies(&shapes[leaf]));
                    if any { Shape::Varying } else { Shape::Uniform }
                })
                .collect()
        } else {
            let any = operands.iter().any(|shapes| shapes.iter().any(varies));
            smallvec![if any { Shape::Varying } else { Shape::Uniform }; count]
        }
    }

    fn zip(&self, block: BlockId, inst: &Inst, count: usize, f: impl Fn(i64, i64) -> Option<i64>) -> Shapes {
        let (a, b) = (self.shape(block, inst.id(0)), self.shape(block, inst.id(1)));
        if a.len() != count || b.len() != count {
            return smallvec![Shape::Varying; count];
        }
        let assumed = self.trust(inst.id(0)).max(self.trust(inst.id(1))) > Trust::Proven;
        a.iter()
            .zip(b)
            .map(|(a, b)| match (a.step(), b.step()) {
                (Some(a), Some(b)) => match f(a, b) {
                    // Two steps that cancel out make a uniform value, which is more than an address.
                    None | Some(0) if a != 0 && assumed => Shape::Varying,
                    step => step.map_or(Shape::Varying, Shape::strided),
                },
                _ => Shape::Varying,
            })
            .collect()
    }

    /// How far the step of a result can be trusted, if it has one.
    pub(super) fn trust_in(&self, block: BlockId, inst: &Inst) -> Trust {
        let row = inst.row();
        // Loads make values of their own.
        if matches!(row.memory, Memory::Read { .. }) {
            return Trust::Proven;
        }
        let is_strided = |id: Id| {
            self.shapes.get(&id).is_some_and(|shapes| shapes.iter().any(|s| matches!(s, Shape::Strided(_))))
        };
        let of = |id: Id| if is_strided(id) { self.trust(id) } else { Trust::Proven };
        let operands = match inst.op {
            // It is one of them.
            Op::Select => of(inst.id(1)).max(of(inst.id(2))),
            _ if self.trusts.is_empty() => Trust::Proven,
            _ => inst.ids().map(of).fold(Trust::Proven, Trust::both),
        };
        let widens = |id: Id| match (self.shape(block, id)[0], self.index_width(id)) {
            (Shape::Strided(step), Some(width)) => {
                width < 64 && !self.never_wraps(id, step, width, inst.op != Op::UConvert)
            }
            _ => false,
        };
        let own = match inst.op {
            Op::SConvert if widens(inst.id(0)) => Trust::Addresses,
            Op::UConvert if widens(inst.id(0)) => Trust::LastLane,
            Op::UConvert | Op::SConvert if operands == Trust::LastLane && self.is_narrow(inst) => {
                // Where the wrap was, all that is left of it is above.
                return Trust::Proven;
            }
            _ if self.part_of_run(block, inst).is_some() => Trust::Proven,
            Op::BitwiseAnd if is_strided(inst.id(0)) && !self.is_identity(inst) => Trust::LastLane,
            Op::ShiftRightArithmetic | Op::ShiftRightLogical => {
                self.shifted_right(block, inst).map_or(Trust::Proven, |(_, trust)| trust)
            }
            _ => {
                let is_chain = matches!(row.derives, Derives::Chain | Derives::ElementChain);
                if is_chain && inst.ids().skip(1).any(widens) { Trust::Addresses } else { Trust::Proven }
            }
        };
        operands.both(own)
    }

    fn is_narrow(&self, inst: &Inst) -> bool {
        inst.result.and_then(|id| self.index_width(id)).is_some_and(|width| width <= u32::BITS)
    }

    /// Whether a cast leaves lane differences as they are: between pointers and 64-bit integers, or nothing at all.
    fn keeps_stride(&self, block: BlockId, inst: &Inst, ty: TypeId) -> bool {
        let uniform = self.shape(block, inst.id(0)).iter().all(|shape| shape.is_uniform());
        let whole = |ty: TypeId| {
            matches!(self.func.module.types.get(ty), Type::Pointer { .. } | Type::Int { width: 64 })
        };
        uniform || (whole(ty) && self.func.type_of(inst.id(0)).is_some_and(whole))
    }

    fn chain_shape(&self, block: BlockId, inst: &Inst) -> Shape {
        let steps = self.func.chain(inst);
        let base = inst.id(0);
        let mut total = match self.shape(block, base)[0].step() {
            Some(step) => step,
            None => return Shape::Varying,
        };
        for step in steps {
            if let ChainStep::Scaled { index, size } = step {
                let Some(lane) = self.shape(block, index)[0].step() else { return Shape::Varying };
                // Indices are sign-extended to 64 bits; see `convert_shape` for the step across that.
                if lane != 0 && self.index_width(index).is_some_and(|width| width < 32) {
                    return Shape::Varying;
                }
                match lane.checked_mul(size as i64).and_then(|lane| total.checked_add(lane)) {
                    Some(sum) => total = sum,
                    None => return Shape::Varying,
                }
            }
        }
        Shape::strided(total)
    }

    pub fn index_width(&self, id: Id) -> Option<u32> {
        self.func.index_width(id)
    }

    /// Whether a conversion keeps to the range of its result.
    pub fn saturates(&self, inst: &Inst) -> bool {
        self.func.saturates(inst)
    }

    /// Narrowing keeps a stride (it is modular). Widening does where no lane wraps around.
    ///
    /// For addresses, a sign extension of a 32-bit value with a small step is taken not to wrap: a sub-group whose indices
    /// cross 2^31 would address bytes on both sides of a pointer that are 4 GiB apart or more, so lanes on
    /// the far side have no memory there. A zero extension wraps at 0, where both sides can be in use
    /// (`a[i - 1]` with lane 0 masked off): without a proof, accesses look where the last lane is.
    fn convert_shape(&self, inst: &Inst, shape: Shape) -> Shape {
        let (Some(step), Some(from), Some(to)) = (
            shape.step(),
            self.index_width(inst.id(0)),
            match self.func.module.types.get(inst.ty.expect("a conversion has a type")) {
                Type::Int { width } => Some(*width),
                _ => None,
            },
        ) else {
            return Shape::Varying;
        };
        if step == 0 || to <= from {
            return Shape::strided(step);
        }
        let wide = from == 32 && to == 64 && self.is_near(Shape::Strided(step));
        let keeps = self.never_wraps(inst.id(0), step, from, inst.op != Op::UConvert)
            || (from == 32 && inst.op == Op::SConvert && self.is_near(Shape::Strided(step)))
            || wide;
        if keeps { Shape::strided(step) } else { Shape::Varying }
    }

    /// Whether the lanes of a strided index are near to each other, so that they are on one side of a wrap or, at
    /// one place in a range of 2^32, on both.
    fn is_near(&self, shape: Shape) -> bool {
        let reach = |step: i64| step.unsigned_abs().saturating_mul(u64::from(self.variant.width));
        shape.step().is_some_and(|step| reach(step) < 1 << 16)
    }

    /// The step of a strided 64-bit value, of which the lowest bits are zero, shifted right by as many or fewer, and how
    /// far it can be trusted. That is how compilers extend a part of a register, and scale it at once: by `shl 32` and `ashr 30`.
    fn shifted_right(&self, block: BlockId, inst: &Inst) -> Option<(i64, Trust)> {
        let (value, amount) = (inst.id(0), self.func.constant_bits(inst.id(1))?);
        let Shape::Strided(step) = *self.shape(block, value).first()? else { return None };
        let width = self.index_width(value)?;
        let zeros = self.trailing_zeros(value, 0);
        let fits = amount > 0 && amount <= u64::from(zeros) && amount < u64::from(width);
        if !fits || step.trailing_zeros() < amount as u32 || self.trust(value) >= Trust::LastLane {
            return None;
        }
        let shifted = step >> amount;
        let signed = inst.op == Op::ShiftRightArithmetic;
        // The value that a shift left has moved up is one of fewer bits.
        let proven = self.definition(value).is_some_and(|left| {
            let by = match left.op {
                Op::ShiftLeftLogical => self.func.constant_bits(left.id(1)),
                _ => None,
            };
            let step = self.shape(block, left.id(0)).first().and_then(|shape| shape.step());
            match (by, step) {
                (Some(by), Some(step)) if by < u64::from(width) => {
                    self.never_wraps(left.id(0), step, width - by as u32, signed)
                }
                _ => false,
            }
        });
        if proven {
            return Some((shifted, Trust::Proven));
        }
        // As for conversions: the two sides of a wrap are 2^32 units apart.
        let far = width == 64 && amount <= 32 && self.is_near(Shape::Strided(shifted));
        far.then_some((shifted, if signed { Trust::Addresses } else { Trust::LastLane }))
    }

    /// The step of a strided value, which never wraps around, divided by a power of two that all lanes are multiples of.
    fn divided_exactly(&self, block: BlockId, inst: &Inst) -> Option<i64> {
        let (value, divisor) = (inst.id(0), self.func.constant_bits(inst.id(1))?);
        let Shape::Strided(step) = *self.shape(block, value).first()? else { return None };
        let amount = divisor.trailing_zeros();
        let is_exact = divisor.is_power_of_two()
            && amount <= self.trailing_zeros(value, 0)
            && amount <= step.trailing_zeros();
        let fits = is_exact
            && self.trust(value) < Trust::LastLane
            && self.never_wraps(value, step, self.index_width(value)?, inst.op == Op::SDiv);
        fits.then_some(step >> amount)
    }

    /// `x & 0xffffffff` on 64 bits, also where some of the lowest bits are zero in `x` and left out of the mask.
    fn keeps_low_half(&self, inst: &Inst) -> bool {
        let zeros = self.trailing_zeros(inst.id(0), 0).min(u32::BITS);
        let mask = self.func.constant_bits(inst.id(1)).map(|mask| mask | ((1 << zeros) - 1));
        self.index_width(inst.id(0)) == Some(64) && mask == Some(u64::from(u32::MAX))
    }

    /// Whether no lane of a value of `width` bits with this step wraps around, or is negative if it is `signed`.
    fn never_wraps(&self, id: Id, step: i64, width: u32, signed: bool) -> bool {
        let reach = step.unsigned_abs().saturating_mul(u64::from(self.variant.width));
        let bound = 1u64.checked_shl(width - u32::from(signed)).unwrap_or(u64::MAX);
        let below = |upper: u64| upper.checked_add(reach).is_some_and(|top| top < bound);
        // A run that is far from the others when it is zero-extended is that for lanes which are off, too: `if (i >= n) x = a[i - n];` would
        // ask for memory that nobody has, which is slow under the emptiest mask.
        let is_run = || signed && self.run(id, step).is_some();
        step > 0 && (is_run() || self.upper(id, 0).is_some_and(below))
    }
}

fn negated(shapes: Shapes) -> Shapes {
    let of = |shape: Shape| shape.step().map_or(Shape::Varying, |step| Shape::strided(-step));
    shapes.into_iter().map(of).collect()
}

fn scale(shape: Shape, factor: i64) -> Shape {
    match shape.step().map(|step| step.checked_mul(factor)) {
        Some(Some(step)) => Shape::strided(step),
        _ => Shape::Varying,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{VARIANT, of_last};
    use super::*;

    /// The shape of the last instruction, with the global id as `%x` and its low 32 bits as `%i`.
    fn shape(body: &str) -> Shape {
        let ids = "%ids = OpLoad %ulong3 %GlobalInvocationId\n%x = OpCompositeExtract %ulong %ids 0";
        of_last(&format!("{ids}\n%i = OpUConvert %uint %x\n{body}"), VARIANT, |analysis, inst| {
            analysis.shape_at_definition(inst.result.expect("a result"))[0]
        })
    }

    #[test]
    fn products_and_shifts_scale_a_stride_by_a_signed_constant() {
        assert_eq!(shape("OpIMul %uint %i %uint_12"), Shape::Strided(12));
        assert_eq!(shape("OpIMul %uint %uint_12 %i"), Shape::Strided(12));
        assert_eq!(shape("OpIMul %uint %i %uint_minus_1"), Shape::Strided(-1));
        assert_eq!(shape("OpIMul %uint %i %uint_0"), Shape::Uniform);
        assert_eq!(shape("OpShiftLeftLogical %uint %i %uint_3"), Shape::Strided(8));
        assert_eq!(shape("OpShiftLeftLogical %uint %i %uint_31"), Shape::Varying);
        assert_eq!(shape("OpIMul %uint %i %i"), Shape::Varying);
        assert_eq!(shape("OpNot %uint %i"), Shape::Strided(-1));
        assert_eq!(shape("OpBitwiseXor %uint %i %uint_minus_1"), Shape::Strided(-1));
        assert_eq!(shape("OpBitwiseXor %uint %i %uint_1"), Shape::Varying);
    }

    /// The shapes of all leaves, also with a uniform pair `%same` and one, `%mixed`, of which the second part has a step.
    fn leaves(body: &str) -> Vec<Shape> {
        let values = "%ids = OpLoad %ulong3 %GlobalInvocationId\n%x = OpCompositeExtract %ulong %ids 0\n\
                      %v = OpUMod %ulong %x %any_ulong\n%same = OpCompositeConstruct %ulong2 %any_ulong %any_ulong\n\
                      %mixed = OpCompositeConstruct %ulong2 %any_ulong %x\n";
        of_last(&format!("{values}{body}"), VARIANT, |analysis, inst| {
            analysis.shape_at_definition(inst.result.expect("a result")).to_vec()
        })
    }

    #[test]
    fn parts_of_composites_keep_their_shapes() {
        let (same, step, varying) = (Shape::Uniform, Shape::Strided(1), Shape::Varying);
        assert_eq!(leaves("OpLoad %ulong3 %GlobalInvocationId"), [step, same, same]);
        assert_eq!(leaves("OpCompositeConstruct %ulong2 %v %x"), [varying, step]);
        assert_eq!(leaves("OpCompositeExtract %ulong %mixed 0"), [same]);
        assert_eq!(leaves("OpCompositeExtract %ulong %mixed 1"), [step]);
        assert_eq!(leaves("OpCompositeInsert %ulong2 %x %same 0"), [step, same]);
        assert_eq!(leaves("OpCompositeInsert %ulong2 %v %mixed 0"), [varying, step]);
        assert_eq!(leaves("OpCompositeInsert %ulong2 %any_ulong %mixed 1"), [same, same]);
        let nested = "%nested = OpCompositeConstruct %ulong_and_two %v %same\n";
        assert_eq!(
            leaves(&format!("{nested}OpCompositeInsert %ulong_and_two %mixed %nested 1")),
            [varying, same, step]
        );
        assert_eq!(
            leaves(&format!("{nested}OpCompositeInsert %ulong_and_two %x %nested 1 0")),
            [varying, step, same]
        );
        assert_eq!(leaves(&format!("{nested}OpCompositeExtract %ulong2 %nested 1")), [same, same]);
        assert_eq!(leaves("OpVectorShuffle %ulong2 %mixed %same 1 2"), [step, same]);
        assert_eq!(leaves("OpVectorShuffle %ulong2 %same %mixed 3 0"), [step, same]);
        assert_eq!(leaves("OpVectorShuffle %ulong2 %mixed %mixed 1 4294967295"), [step, Shape::Undefined]);
    }

    #[test]
    fn a_choice_has_a_step_if_all_lanes_choose_alike_between_equal_steps() {
        let (same, step, varying) = (Shape::Uniform, Shape::Strided(1), Shape::Varying);
        let alike = |choice: &str| leaves(&format!("OpSelect %ulong %any_bool {choice}"));
        assert_eq!(alike("%x %x"), [step]);
        assert_eq!(alike("%any_ulong %ulong_1"), [same]);
        assert_eq!(alike("%x %any_ulong"), [varying]);
        let own = "%own = OpULessThan %bool %x %ulong_8\n";
        assert_eq!(leaves(&format!("{own}OpSelect %ulong %own %any_ulong %ulong_1")), [varying]);
        assert_eq!(leaves("OpSelect %ulong2 %any_bool %mixed %same"), [same, varying]);
    }

    #[test]
    fn a_remainder_or_mask_that_does_nothing_keeps_a_stride() {
        let lane = "%lane = OpLoad %uint %SubgroupLocalInvocationId\n";
        assert_eq!(shape(&format!("{lane}OpUMod %uint %lane %uint_16")), Shape::Strided(1));
        assert_eq!(shape(&format!("{lane}OpUMod %uint %lane %uint_12")), Shape::Varying);
        assert_eq!(shape(&format!("{lane}OpBitwiseAnd %uint %lane %uint_31")), Shape::Strided(1));
        assert_eq!(shape(&format!("{lane}OpBitwiseAnd %uint %lane %uint_7")), Shape::Varying);
    }

    #[test]
    fn widening_keeps_a_stride_where_no_lane_wraps_around() {
        let local = "%lids = OpLoad %ulong3 %LocalInvocationId\n%l = OpCompositeExtract %ulong %lids 0\n\
                     %s = OpUConvert %ushort %l\n";
        assert_eq!(shape(&format!("{local}OpUConvert %ulong %s")), Shape::Strided(1));
        // 1023 * 65 + 16 * 65 is no 16-bit number.
        let far = format!("{local}%f = OpIMul %ushort %s %ushort_65\n");
        assert_eq!(shape(&format!("{far}OpUConvert %ulong %f")), Shape::Varying);
        assert_eq!(shape(&format!("{far}OpSConvert %ulong %f")), Shape::Varying);
        assert_eq!(shape("OpIAdd %uint %i %any_uint"), Shape::Strided(1));
        let sum = "%sum = OpIAdd %uint %i %any_uint\n";
        assert_eq!(shape(&format!("{sum}OpSConvert %ulong %sum")), Shape::Strided(1));
    }

    /// A sub-group of which lanes are 64 KiB apart is not taken to lie on one side of a wrap.
    #[test]
    fn signed_widening_keeps_a_stride_below_64_kib_a_sub_group() {
        let sum = "%sum = OpIAdd %uint %i %any_uint\n%far = OpShiftLeftLogical %uint %sum %uint_12\n";
        assert_eq!(shape(&format!("{sum}OpSConvert %ulong %far")), Shape::Varying);
        let near = format!("{sum}%near = OpISub %uint %far %sum\n");
        assert_eq!(shape(&format!("{near}OpSConvert %ulong %near")), Shape::Strided(4095));
        let back = format!("{near}%back = OpSNegate %uint %near\n");
        assert_eq!(shape(&format!("{back}OpSConvert %ulong %back")), Shape::Strided(-4095));
        // What has another width than an index of 32 bits needs a proof.
        let short = "%short = OpUConvert %ushort %i\n%s = OpIAdd %ushort %short %any_ushort\n";
        assert_eq!(shape(&format!("{short}OpSConvert %ulong %s")), Shape::Varying);
    }

    /// The shape of the last instruction, and how far it can be trusted.
    fn trusted(body: &str) -> (Shape, Trust) {
        let ids = "%ids = OpLoad %ulong3 %GlobalInvocationId\n%x = OpCompositeExtract %ulong %ids 0\n\
                   %i = OpUConvert %uint %x\n%sum = OpIAdd %uint %i %any_uint\n\
                   %y = OpShiftLeftLogical %ulong %x %ulong_32\n\
                   %moved = OpShiftLeftLogical %ulong %any_ulong %ulong_32\n%z = OpIAdd %ulong %y %moved\n";
        of_last(&format!("{ids}{body}"), VARIANT, |analysis, inst| {
            let result = inst.result.expect("a result");
            (analysis.shape_at_definition(result)[0], analysis.trust(result))
        })
    }

    #[test]
    fn extension_within_a_register_keeps_a_stride_as_a_conversion_does() {
        // The global id fits 31 bits, but those of lanes behind the last work-item may need one more.
        let proven = |step| (Shape::Strided(step), Trust::Proven);
        assert_eq!(trusted("OpShiftRightLogical %ulong %y %ulong_32"), proven(1));
        assert_eq!(trusted("OpShiftRightLogical %ulong %y %ulong_30"), proven(4));
        let local = "%l3 = OpLoad %ulong3 %LocalInvocationId\n%l = OpCompositeExtract %ulong %l3 0\n\
                     %up = OpShiftLeftLogical %ulong %l %ulong_32\n";
        assert_eq!(trusted(&format!("{local}OpShiftRightArithmetic %ulong %up %ulong_30")), proven(4));
        // Of what is added nothing is known.
        let (signed, unsigned) = (Trust::Addresses, Trust::LastLane);
        assert_eq!(trusted("OpShiftRightArithmetic %ulong %z %ulong_32"), (Shape::Strided(1), signed));
        assert_eq!(trusted("OpShiftRightArithmetic %ulong %z %ulong_30"), (Shape::Strided(4), signed));
        assert_eq!(trusted("OpShiftRightLogical %ulong %z %ulong_30"), (Shape::Strided(4), unsigned));
        // Less than 4 GiB lie between the two sides of a wrap; low bits that are lost; no amount that is known.
        let more = "%w = OpShiftLeftLogical %ulong %z %ulong_7\n";
        assert_eq!(trusted(&format!("{more}OpShiftRightArithmetic %ulong %w %ulong_39")).0, Shape::Varying);
        assert_eq!(trusted("OpShiftRightArithmetic %ulong %z %ulong_33").0, Shape::Varying);
        assert_eq!(trusted("OpShiftRightArithmetic %ulong %z %any_ulong").0, Shape::Varying);
        let low = "%low = OpIAdd %ulong %z %any_ulong\n";
        assert_eq!(trusted(&format!("{low}OpShiftRightArithmetic %ulong %low %ulong_32")).0, Shape::Varying);
    }

    #[test]
    fn addresses_keep_their_stride_as_integers_and_as_other_pointers() {
        let pointer = "%p = OpPtrAccessChain %to_uint %pointer %x\n";
        assert_eq!(shape(&format!("{pointer}OpConvertPtrToU %ulong %p")), Shape::Strided(4));
        assert_eq!(shape("OpConvertUToPtr %to_uint %x"), Shape::Strided(1));
        // Other bits are no number of the same step.
        assert_eq!(shape("OpBitcast %float %i"), Shape::Varying);
    }

    #[test]
    fn the_low_half_keeps_a_stride_with_the_zeros_below_it() {
        let scaled = "%y8 = OpShiftLeftLogical %ulong %x %ulong_3\n";
        assert_eq!(shape(&format!("{scaled}OpBitwiseAnd %ulong %y8 %ulong_low_half")), Shape::Strided(8));
        assert_eq!(shape(&format!("{scaled}OpBitwiseAnd %ulong %y8 %ulong_63")), Shape::Varying);
    }

    #[test]
    fn a_shift_by_more_bits_than_there_are_proves_nothing() {
        let up = "%h = OpUConvert %ushort %x\n%up = OpShiftLeftLogical %ushort %h %ushort_24\n";
        assert_eq!(shape(&format!("{up}OpShiftRightLogical %ushort %up %ushort_8")), Shape::Varying);
    }

    #[test]
    fn zero_extension_without_a_proof_is_trusted_where_the_last_lane_is() {
        let looked_at = |step| (Shape::Strided(step), Trust::LastLane);
        assert_eq!(trusted("OpUConvert %ulong %sum"), looked_at(1));
        assert_eq!(trusted("OpUConvert %ulong %i"), (Shape::Strided(1), Trust::Proven));
        let wide = "%wide = OpUConvert %ulong %sum\n";
        assert_eq!(trusted(&format!("{wide}OpIMul %ulong %wide %ulong_12")), looked_at(12));
        assert_eq!(trusted(&format!("{wide}OpIAdd %ulong %wide %any_ulong")), looked_at(1));
        // Of two wraps one may undo the other, but not in all lanes between.
        let two = format!("{wide}%minus = OpISub %uint %any_uint %i\n%other = OpUConvert %ulong %minus\n");
        assert_eq!(trusted(&format!("{two}OpIAdd %ulong %wide %other")).0, Shape::Varying);
        let two = format!("{two}%twice = OpIMul %ulong %wide %ulong_2\n");
        assert_eq!(
            trusted(&format!("{two}OpIAdd %ulong %twice %other")),
            (Shape::Strided(1), Trust::Unknown)
        );
        // All that a wrap changes is above the low half.
        assert_eq!(trusted(&format!("{wide}OpUConvert %uint %wide")), (Shape::Strided(1), Trust::Proven));
    }

    #[test]
    fn ids_that_a_kernel_computes_itself_are_known_to_be_no_larger() {
        let ids = "%g3 = OpLoad %ulong3 %WorkgroupId\n%g = OpCompositeExtract %ulong %g3 0\n\
                   %s3 = OpLoad %ulong3 %WorkgroupSize\n%s = OpCompositeExtract %ulong %s3 0\n\
                   %s1 = OpCompositeExtract %ulong %s3 1\n\
                   %l3 = OpLoad %ulong3 %LocalInvocationId\n%l = OpCompositeExtract %ulong %l3 0\n\
                   %g32 = OpUConvert %uint %g\n%s32 = OpUConvert %uint %s\n%l32 = OpUConvert %uint %l\n\
                   %s132 = OpUConvert %uint %s1\n";
        let of = |size: &str| {
            let sum = format!("%first = OpIMul %uint %g32 %{size}\n%sum32 = OpIAdd %uint %first %l32\n");
            trusted(&format!("{ids}{sum}OpUConvert %ulong %sum32"))
        };
        assert_eq!(of("s32"), (Shape::Strided(1), Trust::Proven));
        assert_eq!(of("s132"), (Shape::Strided(1), Trust::LastLane));
    }
}
