//! Constants with specialization applied.

use super::{Loader, OPCODE};
use crate::binary::RawInst;
use crate::defs::Def;
use crate::diagnostics::{Fault, RuleId};
use crate::fold::{self, Folded};
use crate::grammar::{Cursor, format, op_name, operands};
use crate::module::{Constant, ConstantValue, Id, Operand, SpecConstant, Type, TypeId};
use crate::opcodes::{self, Family};
use spirv::{Decoration, Op, SamplerAddressingMode, SamplerFilterMode};
use ze_extensions::limits::NESTING;

const CONSTANTS: RuleId = RuleId { id: "constants.well-formed", source: "SPIR-V 1.2 §3.32.7" };
const SPECIALIZATION: RuleId =
    RuleId { id: "constants.specialization", source: "SPIR-V 1.2 §2.12; Level Zero, ze_module_constants_t" };

/// The value with these bits of a type with this width.
fn scalar(width: u32, bits: u128) -> ConstantValue {
    if width > u64::BITS { ConstantValue::Wide(bits) } else { ConstantValue::Scalar(bits as u64) }
}

impl Loader<'_> {
    pub(super) fn constant(&mut self, inst: &RawInst<'_>) -> Result<(), Fault> {
        use Op::*;
        if !matches!(
            inst.op,
            ConstantTrue
                | ConstantFalse
                | SpecConstantTrue
                | SpecConstantFalse
                | Constant
                | SpecConstant
                | ConstantComposite
                | SpecConstantComposite
                | ConstantNull
                | ConstantSampler
                | SpecConstantOp
                | ConstantFunctionPointerINTEL
                | Undef
        ) {
            return Err(Fault::new(
                OPCODE,
                format!("{} is not supported outside of a function", op_name(inst.op)),
            ));
        }
        let cursor = &mut Cursor::new(inst.operands);
        let ty = self.ty(cursor)?;
        let id = self.id(cursor.word()?)?;
        let value = match inst.op {
            ConstantTrue => self.boolean(ty, true)?,
            ConstantFalse => self.boolean(ty, false)?,
            SpecConstantTrue => self.spec_boolean(id, ty, true)?,
            SpecConstantFalse => self.spec_boolean(id, ty, false)?,
            Constant => {
                let width = self.scalar_width(ty)?;
                scalar(width, cursor.wide_number(width)?)
            }
            SpecConstant => {
                let width = self.scalar_width(ty)?;
                let default = cursor.wide_number(width)?;
                let size = self.module.types.layout(ty).size;
                let given = self.specialized(id, ty, size as u32)?;
                scalar(width, given.map_or(default, |bits| bits & u128::MAX >> (u128::BITS - width)))
            }
            ConstantComposite | SpecConstantComposite => self.composite(ty, cursor)?,
            ConstantNull => {
                self.not_void(ty)?;
                ConstantValue::Null
            }
            Undef => {
                self.not_void(ty)?;
                ConstantValue::Undef
            }
            ConstantSampler => self.sampler(ty, cursor)?,
            ConstantFunctionPointerINTEL => self.function_pointer(ty, cursor)?,
            SpecConstantOp => self.spec_constant_op(id, ty, cursor)?,
            _ => unreachable!("the opcodes are those of the match above"),
        };
        cursor.end()?;
        self.out.defs.define(id, Def::Constant(ty))?;
        self.module.constants.insert(id, crate::module::Constant { ty, value });
        Ok(())
    }

    pub(super) fn not_void(&self, ty: TypeId) -> Result<(), Fault> {
        match self.module.types.get(ty) {
            Type::Void | Type::Function { .. } => {
                Err(Fault::new(CONSTANTS, "a constant has no void or function type"))
            }
            _ => Ok(()),
        }
    }

    fn boolean(&self, ty: TypeId, value: bool) -> Result<ConstantValue, Fault> {
        match self.module.types.get(ty) {
            Type::Bool => Ok(ConstantValue::Bool(value)),
            _ => Err(Fault::new(CONSTANTS, "true and false are of OpTypeBool")),
        }
    }

    fn spec_boolean(&mut self, id: Id, ty: TypeId, default: bool) -> Result<ConstantValue, Fault> {
        self.boolean(ty, default)?;
        Ok(ConstantValue::Bool(self.specialized(id, ty, 1)?.map_or(default, |value| value != 0)))
    }

    fn scalar_width(&self, ty: TypeId) -> Result<u32, Fault> {
        match self.module.types.get(ty) {
            Type::Int { width } | Type::Float { width } => Ok(*width),
            _ => Err(Fault::new(CONSTANTS, "a literal constant is an integer or a floating-point number")),
        }
    }

    /// Registers a specialization constant of `size` bytes; the value that the application gave for it.
    fn specialized(&mut self, id: Id, ty: TypeId, size: u32) -> Result<Option<u128>, Fault> {
        let Some(&[spec_id]) = self.module.decoration(id, Decoration::SpecId) else { return Ok(None) };
        self.module.spec_constants.push(SpecConstant { spec_id, ty, id });
        let Some(bytes) = self.spec_values.get(&spec_id) else { return Ok(None) };
        if bytes.len() != size as usize {
            let message =
                format!("specialization constant {spec_id} has {size} bytes, its value has {}", bytes.len());
            return Err(Fault::new(SPECIALIZATION, message));
        }
        let mut value = [0; size_of::<u128>()];
        value[..bytes.len()].copy_from_slice(bytes);
        Ok(Some(u128::from_le_bytes(value)))
    }

    fn composite(&mut self, ty: TypeId, cursor: &mut Cursor<'_>) -> Result<ConstantValue, Fault> {
        let mut parts = Vec::with_capacity(cursor.rest().len());
        while !cursor.is_empty() {
            let part = self.id(cursor.word()?)?;
            parts.push(self.constant_operand(part)?);
        }
        let types = &self.module.types;
        let wanted = |at: usize| match types.get(ty) {
            Type::Vector { elem, .. } | Type::Array { elem, .. } => Some(*elem),
            Type::Struct { members, .. } => members.get(at).copied(),
            _ => None,
        };
        let count = match types.get(ty) {
            Type::Vector { len, .. } => u64::from(*len),
            Type::Array { len, .. } => *len,
            Type::Struct { members, .. } => members.len() as u64,
            _ => return Err(Fault::new(CONSTANTS, "a composite constant is a vector, array or structure")),
        };
        if let (&[all], Some(matrix)) = (parts.as_slice(), types.matrix(ty)) {
            parts = vec![all; matrix.length() as usize];
        }
        if parts.len() as u64 != count {
            let message = format!("{} constituents for a type of {count}", parts.len());
            return Err(Fault::new(CONSTANTS, message));
        }
        for (at, &part) in parts.iter().enumerate() {
            let def = self.out.defs.get(part);
            let (Def::Constant(found) | Def::Global(found)) = def else {
                return Err(self.out.defs.wrong(part, def, "a constant"));
            };
            if Some(found) != wanted(at) {
                let part = self.out.defs.raw(part);
                return Err(Fault::new(
                    CONSTANTS,
                    format!("constituent {at}, {part}, is of another type than the member"),
                ));
            }
        }
        Ok(ConstantValue::Composite(parts))
    }

    fn sampler(&self, ty: TypeId, cursor: &mut Cursor<'_>) -> Result<ConstantValue, Fault> {
        if *self.module.types.get(ty) != Type::Sampler {
            return Err(Fault::new(CONSTANTS, "a constant sampler is of OpTypeSampler"));
        }
        let unknown = || Fault::new(CONSTANTS, "a sampler's mode is unknown");
        Ok(ConstantValue::Sampler {
            addressing: SamplerAddressingMode::from_u32(cursor.word()?).ok_or_else(unknown)?,
            normalized: cursor.word()? == 1,
            filter: SamplerFilterMode::from_u32(cursor.word()?).ok_or_else(unknown)?,
        })
    }

    /// The function comes later: that it is one, of the pointee's type, is seen at the module's end.
    fn function_pointer(&mut self, ty: TypeId, cursor: &mut Cursor<'_>) -> Result<ConstantValue, Fault> {
        let function = self.id(cursor.word()?)?;
        match *self.module.types.get(ty) {
            Type::Pointer { pointee, .. }
                if matches!(self.module.types.get(pointee), Type::Function { .. }) =>
            {
                self.references.pointers.push((function, pointee, self.at));
                Ok(ConstantValue::FunctionPointer(function))
            }
            _ => Err(Fault::new(CONSTANTS, "a function's address is a pointer to its type")),
        }
    }

    fn spec_constant_op(
        &mut self,
        id: Id,
        ty: TypeId,
        cursor: &mut Cursor<'_>,
    ) -> Result<ConstantValue, Fault> {
        self.not_void(ty)?;
        let number = cursor.word()?;
        let op = Op::from_u32(number).filter(|&op| opcodes::row(op).is_some_and(|row| row.in_constants));
        let op = op.ok_or_else(|| {
            let name = Op::from_u32(number).map_or_else(|| number.to_string(), op_name);
            Fault::new(CONSTANTS, format!("opcode {name} is not one that OpSpecConstantOp has"))
        })?;
        let row = opcodes::row(op);
        let format = format(op).ok_or_else(|| Fault::new(CONSTANTS, "opcode without a grammar"))?;
        let defs = &self.out.defs;
        let chain = row.is_some_and(|row| row.family == Family::Untyped);
        let mut operands = operands(format, cursor, 32, &mut |raw| {
            let id = defs.id(raw)?;
            match defs.get(id) {
                Def::Constant(_) | Def::Global(_) => Ok(id),
                Def::Type(_) if chain => Ok(id),
                def => Err(defs.wrong(id, def, "a constant")),
            }
        })?;
        for operand in &mut operands {
            if let Operand::Id(id) = operand {
                *id = self.constant_operand(*id)?;
            }
        }
        if chain {
            return self.untyped_constant_chain(op, id, ty, &operands);
        }
        self.constant_of_bfloat(op, ty, &operands)?;
        let defs = &self.out.defs;
        match fold::fold(self.module, &|id| defs.type_of(id), op, ty, &operands)
            .map_err(|reason| Fault::new(CONSTANTS, reason))?
        {
            Folded::Value(value) => self.materialize(ty, value),
            Folded::Expression => {
                self.nest(id, &operands)?;
                Ok(ConstantValue::Expression { op, operands: operands.into_vec() })
            }
        }
    }

    /// Expressions are evaluated by recursion: their depth is limited.
    pub(super) fn nest(&mut self, id: Id, operands: &[Operand]) -> Result<(), Fault> {
        let depth_of = |operand: &Operand| match operand {
            Operand::Id(id) => self.expression_depths.get(id).copied().unwrap_or(0),
            Operand::Lit(_) => 0,
        };
        let depth = 1 + operands.iter().map(depth_of).max().unwrap_or(0);
        if depth > NESTING {
            return Err(Fault::new(CONSTANTS, format!("constant expressions nest more than {NESTING} deep")));
        }
        self.expression_depths.insert(id, depth);
        self.out.expressions.push((id, self.at));
        Ok(())
    }

    /// Turns a folded value into one that refers to its parts by id, with new ids for new parts.
    fn materialize(&mut self, ty: TypeId, value: fold::Value) -> Result<ConstantValue, Fault> {
        Ok(match value {
            fold::Value::Scalar(bits) if *self.module.types.get(ty) == Type::Bool => {
                ConstantValue::Bool(bits != 0)
            }
            fold::Value::Scalar(bits) => scalar(self.scalar_width(ty)?, bits),
            fold::Value::Vector(lanes) => {
                let Type::Vector { elem, .. } = *self.module.types.get(ty) else {
                    return Err(Fault::new(CONSTANTS, "a vector value of another type"));
                };
                let mut parts = Vec::with_capacity(lanes.len());
                for bits in lanes {
                    let value = self.materialize(elem, fold::Value::Scalar(bits))?;
                    let id = Id(self.next_id);
                    self.next_id =
                        self.next_id.checked_add(1).ok_or_else(|| Fault::new(CONSTANTS, "too many ids"))?;
                    self.module.constants.insert(id, Constant { ty: elem, value });
                    parts.push(id);
                }
                ConstantValue::Composite(parts)
            }
            fold::Value::Existing(value) => value,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::environment::{Environment, ModuleInput};
    use crate::module::{ConstantValue, Id, Module};
    use crate::test_support::{assemble, assert_rejected, build_text, kernel};
    use crate::{BuildError, SpecConstantInfo, build, spec_constants};
    use ze_extensions::DeviceProfile;

    #[test]
    fn constants_are_of_their_types() {
        for (declaration, rule) in [
            ("%c = OpConstantTrue %uint", "constants.well-formed"),
            ("%c = OpConstant %uint2 1", "constants.well-formed"),
            ("%c = OpConstantNull %void", "constants.well-formed"),
            ("%c = OpConstantComposite %uint2 %u1", "constants.well-formed"),
            ("%c = OpConstantComposite %uint2 %u1 %f1", "constants.well-formed"),
            ("%c = OpConstantComposite %uint2 %u1 %c2", "ids.defined"),
            ("%c = OpConstantComposite %uint2 %u1 %uint", "ids.kind"),
            ("%c = OpSpecConstantOp %uint IAdd %u1 %f1", "constants.well-formed"),
            ("%c = OpSpecConstantOp %uint FunctionCall %u1", "constants.well-formed"),
            ("%c = OpIAdd %uint %u1 %u1", "module.opcode"),
        ] {
            assert_rejected(&kernel(declaration, ""), rule);
        }
    }

    fn specialized(text: &str, constants: &[(u32, &[u8])]) -> Result<Module, BuildError> {
        let bytes = assemble(text);
        let constants = constants.iter().map(|(id, value)| (*id, value.to_vec())).collect();
        let profile = DeviceProfile::host();
        build(&[ModuleInput { constants, ..ModuleInput::new(&bytes) }], &Environment::new(&profile))
    }

    fn named(module: &Module, name: &str) -> ConstantValue {
        let id: Id = *module.names.iter().find(|(_, found)| *found == name).unwrap().0;
        module.constants[&id].value.clone()
    }

    fn with_spec_constants(declarations: &str) -> String {
        kernel(declarations, "").replace(
            "%void = OpTypeVoid",
            "OpName %r \"r\"\nOpDecorate %a SpecId 7\nOpDecorate %b SpecId 9\n%void = OpTypeVoid",
        )
    }

    #[test]
    fn specialization_replaces_defaults_and_what_follows_from_them() {
        let text = with_spec_constants(
            "%a = OpSpecConstant %uint 5\n%b = OpSpecConstantTrue %bool\n\
             %s = OpSpecConstantOp %uint IMul %a %u3\n%r = OpSpecConstantOp %uint Select %b %s %u1",
        );
        assert_eq!(named(&specialized(&text, &[]).unwrap(), "r"), ConstantValue::Scalar(15));
        let module = specialized(&text, &[(7, &8u32.to_ne_bytes()), (12345, &[1, 2, 3])]).unwrap();
        assert_eq!(named(&module, "r"), ConstantValue::Scalar(24));
        assert_eq!(named(&specialized(&text, &[(9, &[0])]).unwrap(), "r"), ConstantValue::Scalar(1));
        assert_eq!(module.spec_constants.iter().map(|constant| constant.spec_id).collect::<Vec<_>>(), [7, 9]);
        let listed = [SpecConstantInfo { spec_id: 7, size: 4 }, SpecConstantInfo { spec_id: 9, size: 1 }];
        assert_eq!(spec_constants(&assemble(&text)), listed);
    }

    #[test]
    fn integers_of_odd_widths_are_specialized() {
        let text = with_spec_constants(
            "%i33 = OpTypeInt 33 0\n%i100 = OpTypeInt 100 0\n%a = OpSpecConstant %i33 0x1FFFFFFFF\n\
             %b = OpSpecConstant %i100 0x123456789ABCDEF01\n%s = OpSpecConstantOp %i100 SConvert %a\n\
             %r = OpSpecConstantOp %i100 IAdd %b %s",
        )
        .replace("OpCapability Kernel", "OpCapability Kernel\nOpCapability ArbitraryPrecisionIntegersALTERA")
        .replace("%std = ", "OpExtension \"SPV_INTEL_arbitrary_precision_integers\"\n%std = ");
        let result = |values| named(&specialized(&text, values).unwrap(), "r");
        assert_eq!(result(&[]), ConstantValue::Wide(0x1_2345_6789_ABCD_EF00));
        // Bits that the type does not have do not count.
        let (two, seven) = ((u64::MAX << 33 | 2).to_le_bytes(), (u128::MAX << 100 | 7).to_le_bytes());
        assert_eq!(result(&[(7, &two), (9, &seven)]), ConstantValue::Wide(9));
        let listed = [SpecConstantInfo { spec_id: 7, size: 8 }, SpecConstantInfo { spec_id: 9, size: 16 }];
        assert_eq!(spec_constants(&assemble(&text)), listed);
    }

    #[test]
    fn a_value_of_another_size_is_an_error() {
        let text = with_spec_constants(
            "%a = OpSpecConstant %uint 5\n%b = OpSpecConstant %ulong 5\n%r = OpUndef %uint",
        );
        let error = specialized(&text, &[(7, &8u64.to_ne_bytes())]).unwrap_err();
        assert_eq!(error.diagnostics[0].rule, "constants.specialization", "{error}");
    }

    #[test]
    fn array_lengths_may_be_specialized() {
        let text = with_spec_constants(
            "%a = OpSpecConstant %uint 4\n%b = OpTypeArray %uint %a\n%r = OpConstantNull %b",
        );
        let text = text.replace("OpDecorate %b SpecId 9\n", "");
        let size = |module: Module| {
            let ty = module.constants.values().find(|c| c.value == ConstantValue::Null).unwrap().ty;
            module.types.layout(ty).size
        };
        assert_eq!(size(specialized(&text, &[]).unwrap()), 16);
        assert_eq!(size(specialized(&text, &[(7, &10u32.to_ne_bytes())]).unwrap()), 40);
    }

    #[test]
    fn vectors_fold_by_component() {
        let text = with_spec_constants(
            "%a = OpSpecConstant %uint 5\n%b = OpConstantComposite %uint2 %a %u2\n\
             %c = OpSpecConstantOp %uint2 IAdd %b %b\n%d = OpSpecConstantOp %uint2 VectorShuffle %c %b 3 0\n\
             %e = OpSpecConstantOp %uint2 CompositeInsert %u4 %d 0\n%f = OpSpecConstantOp %ulong Bitcast %e\n\
             %r = OpSpecConstantOp %uint CompositeExtract %e 1",
        );
        let module = build_text(
            &text.replace("OpDecorate %b SpecId 9\n", "").replace("OpName", "OpName %f \"f\"\nOpName"),
        )
        .unwrap();
        assert_eq!(named(&module, "r"), ConstantValue::Scalar(10));
        assert_eq!(named(&module, "f"), ConstantValue::Scalar(10 << 32 | 4));
    }

    #[test]
    fn addresses_stay_expressions_and_are_checked() {
        let address = |result: &str| {
            kernel(
                &format!(
                    "%arr = OpTypeArray %uint %u4\n%pa = OpTypePointer CrossWorkgroup %arr\n\
                     %p = OpTypePointer CrossWorkgroup %uint\n%pp = OpTypePointer CrossWorkgroup %p\n\
                     %v = OpVariable %pa CrossWorkgroup\n\
                     %e = OpSpecConstantOp {result} InBoundsPtrAccessChain %v %u0 %u2"
                ),
                "",
            )
        };
        let module = build_text(&address("%p")).unwrap();
        assert!(module.constants.values().any(|c| matches!(c.value, ConstantValue::Expression { .. })));
        assert_rejected(&address("%pp"), "types.operands");
    }
}
