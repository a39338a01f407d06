//! Module-scope variables: their storage class, what they begin as, and the types of built-in ones.

use super::Loader;
use super::types::memory_of_class;
use crate::defs::Def;
use crate::diagnostics::{Fault, RuleId};
use crate::grammar::Cursor;
use crate::module::{ConstantValue, GlobalVariable, Id, Type, TypeId};
use rustc_hash::FxHashSet;
use spirv::{BuiltIn, Decoration, LinkageType, StorageClass};

const BUILTIN: RuleId = RuleId { id: "env.builtin", source: "OpenCL SPIR-V Env 3.0, Built-in Variables" };
const VARIABLES: RuleId = RuleId { id: "variables.well-formed", source: "SPIR-V 1.2 §3.32.8" };

/// No type or page needs more.
const MAX_ALIGNMENT: u64 = 4096;

impl Loader<'_> {
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
        let (mut ty, mut pointee) = (ty, pointee);
        if class == StorageClass::Input
            && builtin.and_then(builtin_type).is_some_and(BuiltInType::is_of_sizes)
        {
            (ty, pointee) = self.widened_builtin(id, ty, pointee)?;
        }
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

impl BuiltInType {
    fn is_of_sizes(self) -> bool {
        matches!(self, BuiltInType::Sizes | BuiltInType::Size)
    }
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

#[cfg(test)]
mod tests {
    use crate::test_support::{assert_accepted, assert_rejected, build_text, kernel};

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
