//! Values that are too large for registers go through memory.
//!
//! A result with more than [`VALUE_SCALARS`] scalars becomes a variable of its function, and what uses it reads that: a load
//! becomes a copy, an extraction an access chain and a load, a phi copies at the ends of its predecessors (LLVM's
//! `DemoteRegToStack` and `DemotePHIToStack`). A constant becomes a variable of the module, a parameter a pointer, and what
//! a function returns is written to where one more parameter says. Who comes behind sees no large values, and counts
//! these variables as private memory.
//!
//! What is used in its own block only shares its memory with others of its type, and an insertion into such a value, if
//! that has no other use, happens in place.

mod function;
#[cfg(test)]
mod tests;

use crate::defs::ID_RANGE;
use crate::diagnostics::Fault;
use crate::module::{Constant, ConstantValue, Decorated, GlobalVariable, Id, Module, Type, TypeId};
use function::Rewriter;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::smallvec;
use spirv::{Decoration, FunctionParameterAttribute, Op, StorageClass};
use ze_extensions::limits::VALUE_SCALARS;

/// Whether an instruction may take and give values that are too large for registers.
pub(crate) fn takes_large_values(op: Op) -> bool {
    matches!(
        op,
        Op::Undef
            | Op::Variable
            | Op::Load
            | Op::Store
            | Op::CompositeConstruct
            | Op::CompositeExtract
            | Op::CompositeInsert
            | Op::CopyObject
            | Op::CopyLogical
            | Op::Select
            | Op::Phi
            | Op::FunctionCall
            | Op::ReturnValue
            | Op::ExtInst
    )
}

/// Whether values of two types, which match but for decorations, look the same in memory.
pub(crate) fn same_layout(module: &Module, a: TypeId, b: TypeId) -> bool {
    let types = &module.types;
    let mut pairs = vec![(a, b)];
    let mut seen = FxHashSet::default();
    while let Some((a, b)) = pairs.pop() {
        if a == b || !seen.insert((a, b)) {
            continue;
        }
        if types.layout(a) != types.layout(b) {
            return false;
        }
        match (types.get(a), types.get(b)) {
            (Type::Array { elem: a, .. }, Type::Array { elem: b, .. }) => pairs.push((*a, *b)),
            (Type::Struct { members: of_a, .. }, Type::Struct { members: of_b, .. }) => {
                if types.member_offsets(a) != types.member_offsets(b) {
                    return false;
                }
                pairs.extend(of_a.iter().copied().zip(of_b.iter().copied()));
            }
            _ => return false,
        }
    }
    true
}

/// Takes all large values out of a module's functions. `leaves` has the scalars of a value by type, for as many types as
/// there are.
pub(crate) fn large_values(module: &mut Module, leaves: &[u64], kernels: &[Id]) -> Result<(), Fault> {
    let large: Vec<bool> = leaves.iter().map(|&leaves| leaves > VALUE_SCALARS).collect();
    if !large.contains(&true) {
        return Ok(());
    }
    let mut demotion = Demotion {
        void: intern(module, Type::Void)?,
        index: intern(module, Type::Int { width: u64::BITS })?,
        module,
        large,
        indices: FxHashMap::default(),
        constants: FxHashMap::default(),
    };
    let kernels: FxHashSet<Id> = kernels.iter().copied().collect();
    for at in 0..demotion.module.functions.len() {
        demotion.function(at, &kernels)?;
    }
    Ok(())
}

fn intern(module: &mut Module, ty: Type) -> Result<TypeId, Fault> {
    module.types.intern(ty, false).ok_or_else(|| Fault::new(ID_RANGE, "more types than can be counted"))
}

/// The module, and what is added to it.
struct Demotion<'m> {
    module: &'m mut Module,
    /// By type; types that are added here are none of them.
    large: Vec<bool>,
    void: TypeId,
    /// The type of indices.
    index: TypeId,
    indices: FxHashMap<u64, Id>,
    /// The variables that hold large constants.
    constants: FxHashMap<Id, Id>,
}

/// Where a large value is.
#[derive(Clone, Copy)]
enum Place {
    Memory {
        pointer: Id,
        class: StorageClass,
        /// Of the value, or of the whole that it is a part of at `offset`.
        align: u64,
        offset: u64,
    },
    /// It may be anything.
    Nowhere,
}

impl Demotion<'_> {
    fn function(&mut self, at: usize, kernels: &FxHashSet<Id>) -> Result<(), Fault> {
        let function = &mut self.module.functions[at];
        let blocks = std::mem::take(&mut function.blocks);
        let (id, result, params) = (function.id, function.result, function.params.clone());
        let large = params.iter().copied().filter(|(_, ty)| self.is_large(*ty)).collect();
        let mut params = self.parameters(params, kernels.contains(&id))?;
        let out = match self.is_large(result) {
            true => Some((self.fresh()?, self.pointer(StorageClass::Function, result)?)),
            false => None,
        };
        let blocks = Rewriter::new(self, &blocks, large, out.map(|(id, _)| id)).run(blocks)?;
        let result = if out.is_some() { self.void } else { result };
        params.extend(out);
        let function = &mut self.module.functions[at];
        (function.blocks, function.params, function.result) = (blocks, params, result);
        Ok(())
    }

    fn is_large(&self, ty: TypeId) -> bool {
        self.large.get(ty.0 as usize).copied().unwrap_or(false)
    }

    fn fresh(&mut self) -> Result<Id, Fault> {
        let id = Id(self.module.bound);
        let next = self.module.bound.checked_add(1);
        self.module.bound = next.ok_or_else(|| Fault::new(ID_RANGE, "more ids than can be counted"))?;
        Ok(id)
    }

    fn pointer(&mut self, class: StorageClass, pointee: TypeId) -> Result<TypeId, Fault> {
        intern(self.module, Type::Pointer { class, pointee })
    }

    /// A function's parameters with pointers for those that are large. A kernel's are then what it is passed behind a
    /// pointer.
    fn parameters(
        &mut self,
        mut params: Vec<(Id, TypeId)>,
        is_kernel: bool,
    ) -> Result<Vec<(Id, TypeId)>, Fault> {
        for (id, ty) in &mut params {
            if !self.is_large(*ty) {
                continue;
            }
            *ty = self.pointer(StorageClass::Function, *ty)?;
            if is_kernel {
                let literals = smallvec![FunctionParameterAttribute::ByVal as u32];
                let by_value = Decorated { kind: Decoration::FuncParamAttr, literals };
                self.module.decorations.entry(*id).or_default().push(by_value);
            }
        }
        Ok(params)
    }

    fn index(&mut self, value: u64) -> Result<Id, Fault> {
        if let Some(id) = self.indices.get(&value) {
            return Ok(*id);
        }
        let id = self.fresh()?;
        let constant = Constant { ty: self.index, value: ConstantValue::Scalar(value) };
        self.module.constants.insert(id, constant);
        self.indices.insert(value, id);
        Ok(id)
    }

    /// The place of a constant; `None` for what is none, or not large.
    fn constant(&mut self, id: Id) -> Result<Option<Place>, Fault> {
        let Some((ty, value)) = self.module.constants.get(&id).map(|constant| (constant.ty, &constant.value))
        else {
            return Ok(None);
        };
        if !self.is_large(ty) {
            return Ok(None);
        }
        let initializer = match value {
            ConstantValue::Undef => return Ok(Some(Place::Nowhere)),
            // Memory begins as zeros.
            ConstantValue::Null => None,
            _ => Some(id),
        };
        let (class, align) = (StorageClass::UniformConstant, self.module.types.layout(ty).align);
        let variable = match self.constants.get(&id) {
            Some(variable) => *variable,
            None => {
                let (variable, ty) = (self.fresh()?, self.pointer(class, ty)?);
                let (builtin, name, exported) = (None, None, false);
                let global =
                    GlobalVariable { id: variable, ty, class, initializer, builtin, name, exported, align };
                self.module.globals.push(global);
                self.constants.insert(id, variable);
                variable
            }
        };
        Ok(Some(Place::Memory { pointer: variable, class, align, offset: 0 }))
    }
}
