//! Constants with specialization applied, and module-scope variables.

use super::types::memory_of_class;
use super::{Loader, OPCODE};
use crate::binary::RawInst;
use crate::defs::Def;
use crate::diagnostics::{Fault, RuleId};
use crate::fold::{self, Folded};
use crate::grammar::{Cursor, format, op_name, operands};
use crate::module::{Constant, ConstantValue, GlobalVariable, Id, Operand, SpecConstant, Type, TypeId};
use crate::opcodes::{self, Family};
use rustc_hash::FxHashSet;
use spirv::{BuiltIn, Decoration, LinkageType, Op, SamplerAddressingMode, SamplerFilterMode, StorageClass};
use ze_extensions::limits::NESTING;

const CONSTANTS: RuleId = RuleId { id: "constants.well-formed", source: "SPIR-V 1.2 §3.32.7" };
const SPECIALIZATION: RuleId =
    RuleId { id: "constants.specialization", source: "SPIR-V 1.2 §2.12; Level Zero, ze_module_constants_t" };
const BUILTIN: RuleId = RuleId { id: "env.builtin", source: "OpenCL SPIR-V Env 3.0, Built-in Variables" };
const VARIABLES: RuleId = RuleId { id: "variables.well-formed", source: "SPIR-V 1.2 §3.32.8" };

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

    fn not_void(&self, ty: TypeId) -> Result<(), Fault> {
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

    pub(super) fn global_variable(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        let ty = self.ty(cursor)?;
        let id = self.id(cursor.word()?)?;
        let class = cursor.word()?;
        let class = StorageClass::from_u32(class)
            .map(memory_of_class)
            .ok_or_else(|| Fault::new(VARIABLES, format!("storage class {class} is unknown")))?;
        match *self.module.types.get(ty) {
            Type::Pointer { class: StorageClass::Generic, .. } if class == StorageClass::Generic => {
                self.generic_global(ty, id, cursor)
            }
            _ => self.variable(ty, id, class, cursor),
        }
    }

    /// A variable, of which the initializer is still to be read.
    pub(super) fn variable(
        &mut self,
        ty: TypeId,
        id: Id,
        class: StorageClass,
        cursor: &mut Cursor<'_>,
    ) -> Result<(), Fault> {
        let initializer = match cursor.is_empty() {
            true => None,
            false => {
                let initializer = self.id(cursor.word()?)?;
                Some(self.constant_operand(initializer)?)
            }
        };
        cursor.end()?;
        let Type::Pointer { class: declared, pointee } = *self.module.types.get(ty) else {
            return Err(Fault::new(VARIABLES, "a variable's type is a pointer"));
        };
        if declared != class {
            return Err(Fault::new(VARIABLES, format!("a {class:?} variable has a pointer to {declared:?}")));
        }
        if !matches!(
            class,
            StorageClass::UniformConstant
                | StorageClass::Input
                | StorageClass::Workgroup
                | StorageClass::CrossWorkgroup
        ) {
            return Err(Fault::new(
                VARIABLES,
                format!("a variable outside of a function in storage class {class:?}"),
            ));
        }
        self.not_void(pointee)?;
        if let Some(initializer) = initializer {
            self.check_initializer(initializer, pointee, class)?;
            self.universal_import(id);
        }
        let builtin = self.builtin(id)?;
        if let Some(builtin) = builtin {
            self.check_builtin(builtin, class, pointee)?;
        }
        if class == StorageClass::Input && builtin.is_none() {
            return Err(Fault::new(VARIABLES, "an Input variable is a built-in"));
        }
        let linkage = self.out.linkage.get(&id);
        let name = linkage.map(|linkage| &linkage.name).or_else(|| self.module.names.get(&id)).cloned();
        let exported = linkage.is_some_and(|linkage| linkage.kind != LinkageType::Import);
        let align = self.alignment(id, pointee)?;
        // Local memory begins undefined, unless zeros are asked for.
        let initializer = initializer
            .filter(|init| class != StorageClass::Workgroup || self.contents(*init) == Some(Contents::Zero));
        self.module.globals.push(GlobalVariable {
            id,
            ty,
            class,
            initializer,
            builtin,
            name,
            exported,
            align,
        });
        self.out.defs.define(id, Def::Global(ty))
    }

    /// The decoration's alignment in bytes, and at least the type's.
    fn alignment(&self, id: Id, ty: TypeId) -> Result<u64, Fault> {
        let natural = self.module.types.layout(ty).align;
        match self.module.decoration(id, Decoration::Alignment) {
            None | Some([] | [0]) => Ok(natural),
            Some(&[align, ..]) if align.is_power_of_two() && u64::from(align) <= MAX_ALIGNMENT => {
                Ok(natural.max(u64::from(align)))
            }
            Some([align, ..]) => Err(Fault::new(VARIABLES, format!("an alignment of {align} bytes"))),
        }
    }

    fn check_initializer(&self, id: Id, pointee: TypeId, class: StorageClass) -> Result<(), Fault> {
        let def = self.out.defs.get(id);
        let (Def::Constant(ty) | Def::Global(ty)) = def else {
            return Err(self.out.defs.wrong(id, def, "a constant"));
        };
        if class == StorageClass::Workgroup && self.contents(id).is_none() {
            return Err(Fault::new(VARIABLES, "a Workgroup variable begins undefined or as zeros"));
        }
        if ty != pointee {
            return Err(Fault::new(VARIABLES, "the initializer is of another type than the variable"));
        }
        Ok(())
    }

    /// What a constant is that says nothing of its own, which is what compilers initialise local memory with: the LLVM
    /// translator makes composites of `OpUndef` for structures, and `OpConstantNull` where C++ says nothing.
    fn contents(&self, id: Id) -> Option<Contents> {
        // A constituent may be shared by many composites: each is looked at once.
        let (mut work, mut seen) = (vec![id], FxHashSet::default());
        let mut contents = Contents::Undefined;
        while let Some(id) = work.pop() {
            match self.module.constants.get(&id).map(|constant| &constant.value) {
                Some(ConstantValue::Undef) => {}
                Some(ConstantValue::Null | ConstantValue::Scalar(0) | ConstantValue::Bool(false)) => {
                    contents = Contents::Zero;
                }
                Some(ConstantValue::Composite(parts)) => {
                    work.extend(parts.iter().filter(|part| seen.insert(**part)));
                }
                _ => return None,
            }
        }
        Some(contents)
    }

    fn check_builtin(&self, builtin: BuiltIn, class: StorageClass, ty: TypeId) -> Result<(), Fault> {
        let wanted = builtin_type(builtin).ok_or_else(|| {
            Fault::new(BUILTIN, format!("built-in {builtin:?} is not supported in kernels"))
        })?;
        // Some producers declare them as imported global memory.
        if !matches!(
            class,
            StorageClass::Input | StorageClass::CrossWorkgroup | StorageClass::UniformConstant
        ) {
            return Err(Fault::new(BUILTIN, format!("built-in {builtin:?} in storage class {class:?}")));
        }
        let types = &self.module.types;
        let is_int = |ty: TypeId, bits: u32| *types.get(ty) == Type::Int { width: bits };
        let fits = match (wanted, types.get(ty)) {
            (BuiltInType::Sizes, Type::Vector { elem, len: 3 }) => is_int(*elem, 64),
            (BuiltInType::Size, _) => is_int(ty, 64),
            (BuiltInType::Word, _) => is_int(ty, 32),
            (BuiltInType::Mask, Type::Vector { elem, len: 4 }) => is_int(*elem, 32),
            _ => false,
        };
        if fits {
            Ok(())
        } else {
            Err(Fault::new(BUILTIN, format!("built-in {builtin:?} is not of the type it has")))
        }
    }

    fn builtin(&self, id: Id) -> Result<Option<BuiltIn>, Fault> {
        let Some(&[number]) = self.module.decoration(id, Decoration::BuiltIn) else { return Ok(None) };
        let unknown = || Fault::new(VARIABLES, format!("built-in {number} is unknown"));
        BuiltIn::from_u32(number).ok_or_else(unknown).map(Some)
    }
}

/// What local memory may begin as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Contents {
    Undefined,
    Zero,
}

/// The type of a built-in variable (OpenCL SPIR-V Env 3.0, Built-in Variables).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BuiltInType {
    /// Three `size_t`.
    Sizes,
    Size,
    Word,
    /// Four 32-bit words.
    Mask,
}

fn builtin_type(builtin: BuiltIn) -> Option<BuiltInType> {
    use BuiltIn as B;
    Some(match builtin {
        B::NumWorkgroups
        | B::WorkgroupSize
        | B::WorkgroupId
        | B::LocalInvocationId
        | B::GlobalInvocationId
        | B::GlobalSize
        | B::EnqueuedWorkgroupSize
        | B::GlobalOffset => BuiltInType::Sizes,
        B::GlobalLinearId | B::LocalInvocationIndex => BuiltInType::Size,
        B::WorkDim
        | B::SubgroupSize
        | B::SubgroupMaxSize
        | B::NumSubgroups
        | B::NumEnqueuedSubgroups
        | B::SubgroupId
        | B::SubgroupLocalInvocationId => BuiltInType::Word,
        B::SubgroupEqMask | B::SubgroupGeMask | B::SubgroupGtMask | B::SubgroupLeMask | B::SubgroupLtMask => {
            BuiltInType::Mask
        }
        _ => return None,
    })
}

/// No type or page needs more.
const MAX_ALIGNMENT: u64 = 4096;

#[cfg(test)]
mod tests {
    use crate::environment::{Environment, ModuleInput};
    use crate::module::{ConstantValue, Id, Module};
    use crate::test_support::{assemble, assert_accepted, assert_rejected, build_text, kernel};
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

    #[test]
    fn variables_are_well_formed() {
        let pointer = |class: &str| format!("%p = OpTypePointer {class} %uint\n");
        assert_accepted(&kernel(&(pointer("CrossWorkgroup") + "%v = OpVariable %p CrossWorkgroup %u1"), ""));
        for (class, variable) in [
            ("CrossWorkgroup", "%v = OpVariable %p Workgroup"),
            ("CrossWorkgroup", "%v = OpVariable %p CrossWorkgroup %f1"),
            ("Workgroup", "%v = OpVariable %p Workgroup %u1"),
            ("Function", "%v = OpVariable %p Function"),
            ("Input", "%v = OpVariable %p Input"),
        ] {
            assert_rejected(&kernel(&(pointer(class) + variable), ""), "variables.well-formed");
        }
        assert_rejected(&kernel("%v = OpVariable %uint CrossWorkgroup", ""), "variables.well-formed");
    }

    #[test]
    fn built_ins_have_their_types() {
        let built_in = |ty: &str, name: &str| {
            let text = format!(
                "%t = OpTypeVector %ulong 3\n%p = OpTypePointer Input {ty}\n%v = OpVariable %p Input"
            );
            kernel(&text, "")
                .replace("%void = OpTypeVoid", &format!("OpDecorate %v BuiltIn {name}\n%void = OpTypeVoid"))
        };
        assert_accepted(&built_in("%t", "GlobalInvocationId"));
        assert_accepted(&built_in("%uint", "SubgroupSize"));
        assert_rejected(&built_in("%uint", "GlobalInvocationId"), "env.builtin");
        assert_rejected(&built_in("%uint", "VertexIndex"), "env.builtin");
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

    #[test]
    fn local_variables_begin_undefined_or_as_zeros() {
        let variable = |initializer: &str| {
            kernel(
                &format!(
                    "%undef = OpUndef %uint\n%pair = OpTypeStruct %uint %uint\n%p = OpTypePointer Workgroup %pair\n\
                     {initializer}\n%v = OpVariable %p Workgroup %init"
                ),
                "",
            )
        };
        assert_accepted(&variable("%init = OpUndef %pair"));
        assert_accepted(&variable("%init = OpConstantComposite %pair %undef %undef"));
        assert_accepted(&variable("%init = OpConstantNull %pair"));
        assert_accepted(&variable("%init = OpConstantComposite %pair %undef %u0"));
        assert_rejected(&variable("%init = OpConstantComposite %pair %undef %u1"), "variables.well-formed");
        let zeroed = |initializer: &str| {
            let module = build_text(&variable(initializer)).unwrap();
            module.globals.iter().any(|global| global.initializer.is_some())
        };
        assert!(zeroed("%init = OpConstantNull %pair"));
        assert!(zeroed("%init = OpConstantComposite %pair %undef %u0"));
        assert!(!zeroed("%init = OpConstantComposite %pair %undef %undef"));
    }

    #[test]
    fn tables_of_generic_strings_are_made_of_arrays() {
        let table = |class: &str| {
            kernel(
                &format!(
                    "%text = OpTypeArray %uchar %u4\n%pt = OpTypePointer {class} %text\n\
                     %ps = OpTypePointer Generic %uchar\n%table = OpTypeArray %ps %u2\n\
                     %pp = OpTypePointer CrossWorkgroup %table\n%none = OpConstantNull %text\n\
                     %a = OpVariable %pt {class} %none\n%b = OpVariable %pt {class} %none\n\
                     %ga = OpSpecConstantOp %ps PtrCastToGeneric %a\n%gb = OpSpecConstantOp %ps PtrCastToGeneric %b\n\
                     %c = OpConstantComposite %table %ga %gb\n%v = OpVariable %pp CrossWorkgroup %c"
                ),
                "",
            )
        };
        assert_accepted(&table("CrossWorkgroup"));
        assert_rejected(&table("UniformConstant"), "types.operands");
    }
}
