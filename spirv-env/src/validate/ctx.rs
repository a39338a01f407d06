//! What a check of one instruction can ask about its function and module.

use crate::defs::{Def, Defs};
use crate::demote::takes_large_values;
use crate::environment::Environment;
use crate::module::{Function, Id, Inst, Module, Operand, Type, TypeId};
use spirv::StorageClass;
use ze_extensions::limits::{PRIVATE_BYTES, VALUE_SCALARS};

/// A scalar type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scalar {
    Bool,
    Int(u32),
    Float(u32),
}

/// One function and all that its instructions may refer to.
#[derive(Clone, Copy)]
pub(crate) struct Ctx<'a> {
    pub module: &'a Module,
    pub defs: &'a Defs,
    pub function: &'a Function,
    /// By type: scalars in a value.
    pub leaves: &'a [u64],
    pub env: &'a Environment<'a>,
}

impl<'a> Ctx<'a> {
    pub fn get(&self, ty: TypeId) -> &'a Type {
        self.module.types.get(ty)
    }

    /// The operand at `at` as an id.
    pub fn id(&self, inst: &Inst, at: usize) -> Result<Id, String> {
        match inst.operands.get(at) {
            Some(Operand::Id(id)) => Ok(*id),
            Some(Operand::Lit(_)) => Err(format!("operand {at} is a literal where an id belongs")),
            None => Err(format!("operand {at} is missing")),
        }
    }

    /// The operand at `at` as a literal.
    pub fn lit(&self, inst: &Inst, at: usize) -> Result<u64, String> {
        match inst.operands.get(at) {
            Some(Operand::Lit(literal)) => Ok(*literal),
            Some(Operand::Id(_)) => Err(format!("operand {at} is an id where a literal belongs")),
            None => Err(format!("operand {at} is missing")),
        }
    }

    /// The type of the value that is the operand at `at`.
    pub fn ty(&self, inst: &Inst, at: usize) -> Result<TypeId, String> {
        self.value(self.id(inst, at)?)
    }

    /// The type of a value.
    pub fn value(&self, id: Id) -> Result<TypeId, String> {
        match self.defs.get(id) {
            Def::Constant(ty) | Def::Global(ty) | Def::Value(ty) => Ok(ty),
            _ => Err(format!("{} is not a value", self.defs.raw(id))),
        }
    }

    pub fn result(&self, inst: &Inst) -> Result<TypeId, String> {
        inst.ty.ok_or_else(|| "the instruction has no result".to_owned())
    }

    /// A scalar type, or a vector's components, with the component count.
    pub fn lanes(&self, ty: TypeId) -> Option<(Scalar, u32)> {
        let scalar = |ty: TypeId| match self.get(ty) {
            Type::Bool => Some(Scalar::Bool),
            Type::Int { width } => Some(Scalar::Int(*width)),
            Type::Float { width } => Some(Scalar::Float(*width)),
            _ => None,
        };
        match self.get(ty) {
            Type::Vector { elem, len } => scalar(*elem).map(|scalar| (scalar, *len)),
            _ => scalar(ty).map(|scalar| (scalar, 1)),
        }
    }

    /// The type of an operand that is a scalar or a vector.
    pub fn operand_lanes(&self, inst: &Inst, at: usize) -> Result<(Scalar, u32), String> {
        let ty = self.ty(inst, at)?;
        self.lanes(ty).ok_or_else(|| format!("operand {at} is {}, not a scalar or vector", self.show(ty)))
    }

    pub fn result_lanes(&self, inst: &Inst) -> Result<(Scalar, u32), String> {
        let ty = self.result(inst)?;
        self.lanes(ty).ok_or_else(|| format!("the result is {}, not a scalar or vector", self.show(ty)))
    }

    pub fn pointer(&self, inst: &Inst, at: usize) -> Result<(StorageClass, TypeId), String> {
        let ty = self.ty(inst, at)?;
        self.as_pointer(ty).ok_or_else(|| format!("operand {at} is {}, not a pointer", self.show(ty)))
    }

    pub fn as_pointer(&self, ty: TypeId) -> Option<(StorageClass, TypeId)> {
        match self.get(ty) {
            Type::Pointer { class, pointee } => Some((*class, *pointee)),
            _ => None,
        }
    }

    /// The value of a constant integer operand.
    pub fn constant(&self, inst: &Inst, at: usize) -> Result<u64, String> {
        let id = self.id(inst, at)?;
        crate::reflect::constant_scalar(self.module, id)
            .filter(|_| matches!(self.defs.type_of(id).map(|ty| self.get(ty)), Some(Type::Int { .. })))
            .ok_or_else(|| format!("operand {at}, {}, is not a constant integer", self.defs.raw(id)))
    }

    pub fn operand_is(&self, inst: &Inst, at: usize, wanted: TypeId) -> Result<(), String> {
        let found = self.ty(inst, at)?;
        if found == wanted {
            Ok(())
        } else {
            Err(format!("operand {at} is {} instead of {}", self.show(found), self.show(wanted)))
        }
    }

    /// Fails for a wrong number of operands.
    pub fn count(&self, inst: &Inst, wanted: usize) -> Result<(), String> {
        let found = inst.operands.len();
        if found == wanted { Ok(()) } else { Err(format!("{found} operands instead of {wanted}")) }
    }

    /// Fails for operands and results that are too large for memory, and for those that go through memory where the
    /// instruction is none that can.
    pub fn value_sizes(&self, inst: &Inst) -> Result<(), String> {
        let operands = inst.ids().filter_map(|id| self.value(id).ok());
        for ty in operands.chain(inst.ty) {
            let leaves = self.leaves(ty);
            if leaves > VALUE_SCALARS {
                self.size(ty)?;
                require(takes_large_values(inst.op), || {
                    format!("a value of {leaves} scalars; {VALUE_SCALARS} are supported here")
                })?;
            }
        }
        Ok(())
    }

    /// Scalars in a value of a type.
    fn leaves(&self, ty: TypeId) -> u64 {
        self.leaves.get(ty.0 as usize).copied().unwrap_or(1)
    }

    /// Whether a value goes through memory.
    pub fn is_large(&self, ty: TypeId) -> bool {
        self.leaves(ty) > VALUE_SCALARS
    }

    /// Fails for values that do not fit a work-item's memory.
    pub fn size(&self, ty: TypeId) -> Result<(), String> {
        let bytes = self.module.types.layout(ty).size;
        require(!self.is_large(ty) || bytes <= PRIVATE_BYTES, || {
            format!("a value of {bytes} bytes; {PRIVATE_BYTES} are supported for all of a work-item")
        })
    }

    /// Arrays of arrays of arrays are only counted.
    fn show_element(&self, ty: TypeId) -> String {
        match self.get(ty) {
            Type::Array { len, .. } => format!("an array of {len}"),
            Type::Pointer { class, .. } => format!("a {class:?} pointer"),
            _ => self.show(ty),
        }
    }

    /// A type for a message.
    pub fn show(&self, ty: TypeId) -> String {
        let scalar = |ty: TypeId| match self.get(ty) {
            Type::Bool => "bool".to_owned(),
            Type::Int { width } => format!("i{width}"),
            Type::Float { width } => format!("f{width}"),
            _ => "?".to_owned(),
        };
        match self.get(ty) {
            Type::Void => "void".into(),
            Type::Bool | Type::Int { .. } | Type::Float { .. } => scalar(ty),
            Type::Vector { elem, len } => format!("{len} x {}", scalar(*elem)),
            Type::Array { elem, len } => format!("an array of {len} x {}", self.show_element(*elem)),
            Type::Struct { id, .. } => format!("structure {}", self.defs.raw(*id)),
            Type::Pointer { class, pointee } => match self.get(*pointee) {
                // Of pointers to pointers the last is enough to tell them apart, and they may be cyclic.
                Type::Pointer { class: inner, .. } => format!("a {class:?} pointer to a {inner:?} pointer"),
                _ => format!("a {class:?} pointer to {}", self.show(*pointee)),
            },
            Type::Function { .. } => "a function".into(),
            Type::Image(_) => "an image".into(),
            Type::Sampler => "a sampler".into(),
            Type::SampledImage(_) => "a sampled image".into(),
            Type::Event => "an event".into(),
            Type::Opaque { op } => format!("{op:?}"),
        }
    }
}

/// Turns a condition into a check's result.
pub(crate) fn require(holds: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(message()) }
}
