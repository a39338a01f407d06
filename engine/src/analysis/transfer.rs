//! How results vary over the lanes of a sub-group, given how operands do: by the rows of opcodes, and strides.

use super::Analysis;
use super::builtins;
use super::func::{BlockId, ChainStep};
use super::private::{Placement, private_stride};
use super::rearrangement::Source;
use super::shapes::{Shape, Shapes};
use smallvec::{SmallVec, smallvec};
use spirv::{Decoration, GroupOperation, Op};
use spirv_env::opcodes::{Derives, Memory, Uniformity};
use spirv_env::{Id, Inst, Type, TypeId};

impl Analysis<'_> {
    pub(super) fn lane_stride(&self, pointer: TypeId) -> Shape {
        if self.variant.width == 1 {
            return Shape::Uniform;
        }
        match self.func.module.types.get(pointer) {
            Type::Pointer { pointee, .. } => {
                Shape::strided(private_stride(self.func.module.types.layout(*pointee).size) as i64)
            }
            _ => Shape::Varying,
        }
    }

    pub(super) fn inst_shape(&self, block: BlockId, inst: &Inst) -> Shapes {
        let ty = inst.ty.expect("only instructions with a type have a shape");
        let count = self.leaves.count(ty);
        if self.variant.width == 1 {
            return smallvec![Shape::Uniform; count];
        }
        let all = |shape: Shape| -> Shapes { smallvec![shape; count] };
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
                    _ => self.lane_stride(ty),
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
            Op::SNegate => operand(0)
                .iter()
                .map(|shape| shape.step().map_or(Shape::Varying, |step| Shape::strided(-step)))
                .collect(),
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
            Op::ShiftLeftLogical if count == 1 => match self.func.constant_int(inst.id(1)) {
                Some(amount @ 0..=30) => smallvec![scale(one(0), 1 << amount)],
                _ => self.elementwise(block, inst, count),
            },
            Op::BitwiseAnd | Op::UMod if count == 1 && self.is_identity(inst) => operand(0),
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
        let assumed = self.assumed.contains(&inst.id(0)) || self.assumed.contains(&inst.id(1));
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

    /// Whether the step of a strided result holds for addresses only.
    pub(super) fn assumes(&self, block: BlockId, inst: &Inst) -> bool {
        let widens = |id: Id| match (self.shape(block, id)[0], self.index_width(id)) {
            (Shape::Strided(step), Some(width)) => width < 64 && !self.never_wraps(id, step, width),
            _ => false,
        };
        let row = inst.row();
        match row.memory {
            // Loads make values of their own.
            Memory::Read { .. } => false,
            _ if inst.op == Op::SConvert => widens(inst.id(0)),
            _ => {
                let is_chain = matches!(row.derives, Derives::Chain | Derives::ElementChain);
                (is_chain && inst.ids().skip(1).any(widens))
                    || inst.ids().any(|id| self.assumed.contains(&id))
            }
        }
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

    pub(super) fn index_width(&self, id: Id) -> Option<u32> {
        match self.func.module.types.get(self.func.type_of(id)?) {
            Type::Int { width } => Some(*width),
            _ => None,
        }
    }

    fn saturates(&self, inst: &Inst) -> bool {
        inst.result.is_some_and(|id| self.func.decoration(id, Decoration::SaturatedConversion).is_some())
    }

    /// Narrowing keeps a stride (it is modular). Widening does where no lane wraps around.
    ///
    /// For addresses, a sign extension of a 32-bit value with a small step is taken not to wrap: a sub-group whose indices
    /// cross 2^31 would address bytes on both sides of a pointer that are 4 GiB apart or more, so lanes on
    /// the far side have no memory there. A zero extension wraps at 0, where both sides can be in use
    /// (`a[i - 1]` with lane 0 masked off), so it needs a proof.
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
        let small = || step.unsigned_abs() * u64::from(self.variant.width) < 1 << 16;
        let keeps =
            self.never_wraps(inst.id(0), step, from) || (inst.op == Op::SConvert && from == 32 && small());
        if keeps { Shape::strided(step) } else { Shape::Varying }
    }

    /// Whether no lane of a value of `width` bits with this step is negative or wraps around.
    fn never_wraps(&self, id: Id, step: i64, width: u32) -> bool {
        let reach = step.unsigned_abs() * u64::from(self.variant.width);
        let below = |upper: u64| upper.checked_add(reach).is_some_and(|top| top < 1u64 << (width - 1));
        step > 0 && self.upper(id, 0).is_some_and(below)
    }
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
        // 1023 * 64 + 16 * 64 is no 16-bit number without a sign bit.
        let far = format!("{local}%f = OpIMul %ushort %s %ushort_64\n");
        assert_eq!(shape(&format!("{far}OpUConvert %ulong %f")), Shape::Varying);
        assert_eq!(shape(&format!("{far}OpSConvert %ulong %f")), Shape::Varying);
        assert_eq!(shape("OpIAdd %uint %i %any_uint"), Shape::Strided(1));
        let sum = "%sum = OpIAdd %uint %i %any_uint\n";
        assert_eq!(shape(&format!("{sum}OpUConvert %ulong %sum")), Shape::Varying);
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
}
