//! Untyped pointers (`SPV_KHR_untyped_pointers`): each access says what it accesses, so they become typed pointers here.
//!
//! An untyped pointer is a pointer to bytes, of a type of its own. An access casts it to a pointer to what it accesses; a
//! variable and a chain of indices are typed, and their result is cast to be untyped. A cast of such a cast starts
//! from what that was made of, and casts that nobody uses are left out: nothing is left of them where a module accesses its
//! objects by their own types. Everything behind the loading sees typed pointers only.
//!
//! A module-scope variable of storage class Generic, which the compiler in SYCL's runtime makes, is one of global memory
//! whose address is cast in the same way.

mod function;

use super::Loader;
use crate::defs::Def;
use crate::diagnostics::{Fault, RuleId};
use crate::grammar::{Cursor, op_name};
use crate::module::{Constant, ConstantValue, Id, Operand, Type, TypeId};
use crate::reflect::constant_scalar;
use rustc_hash::FxHashMap;
use spirv::{Op, StorageClass};

const UNTYPED: RuleId = RuleId { id: "types.untyped-pointer", source: "SPV_KHR_untyped_pointers" };
const BYTE: Type = Type::Int { width: 8 };

/// What is known of a module's untyped pointers.
#[derive(Default, Debug)]
pub(super) struct Untyped {
    /// Module-scope variables that were declared to be pointers of another type than they are here, with that type and the cast
    /// to it.
    globals: FxHashMap<Id, (TypeId, Op)>,
    /// The constants that are their addresses as pointers of that type.
    addresses: FxHashMap<Id, Id>,
}

fn chain_op(op: Op) -> Option<Op> {
    Some(match op {
        Op::UntypedAccessChainKHR => Op::AccessChain,
        Op::UntypedInBoundsAccessChainKHR => Op::InBoundsAccessChain,
        Op::UntypedPtrAccessChainKHR => Op::PtrAccessChain,
        Op::UntypedInBoundsPtrAccessChainKHR => Op::InBoundsPtrAccessChain,
        _ => return None,
    })
}

/// Operands of a chain in front of the indices into the type: the base, and the element of `Ptr` chains.
fn indices(op: Op) -> usize {
    match op {
        Op::UntypedPtrAccessChainKHR | Op::UntypedInBoundsPtrAccessChainKHR => 3,
        _ => 2,
    }
}

fn operand_id(operands: &[Operand], at: usize) -> Result<Id, Fault> {
    super::operand_id(operands, at, UNTYPED)
}

impl Loader<'_> {
    pub(super) fn untyped_pointer_type(&mut self, id: Id, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        let class = super::types::storage_class(cursor)?;
        cursor.end()?;
        let ty = self.untyped_pointer(class)?;
        self.out.defs.define(id, Def::Type(ty))
    }

    /// Linked modules share the types.
    fn untyped_pointer(&mut self, class: StorageClass) -> Result<TypeId, Fault> {
        if let Some(&ty) = self.module.types.untyped.get(&class) {
            return Ok(ty);
        }
        let byte = self.intern(BYTE, false)?;
        let ty = self.reserve_pointer(class)?;
        self.module.types.complete_pointer(ty, byte);
        self.module.types.untyped.insert(class, ty);
        Ok(ty)
    }

    fn is_untyped(&self, ty: TypeId) -> bool {
        self.module.types.is_untyped(ty)
    }

    /// A new id.
    pub(super) fn fresh(&mut self, def: Def) -> Result<Id, Fault> {
        let id = Id(self.next_id);
        self.next_id = self.next_id.checked_add(1).ok_or_else(|| Fault::new(UNTYPED, "too many ids"))?;
        self.out.defs.define(id, def)?;
        Ok(id)
    }

    /// The type of a variable's pointer, from the operands of `OpUntypedVariableKHR`.
    fn variable_pointer(
        &mut self,
        untyped: TypeId,
        class: StorageClass,
        data: Option<TypeId>,
    ) -> Result<TypeId, Fault> {
        if !self.is_untyped(untyped) {
            return Err(Fault::new(UNTYPED, "the type of an untyped variable is no untyped pointer"));
        }
        let needs_type = matches!(class, StorageClass::Function | StorageClass::Workgroup);
        if needs_type && data.is_none() {
            return Err(Fault::new(UNTYPED, format!("a {class:?} variable without a type")));
        }
        let pointee = data.map_or_else(|| self.intern(BYTE, false), Ok)?;
        match *self.module.types.get(untyped) {
            Type::Pointer { class: declared, .. } if declared != class => {
                Err(Fault::new(UNTYPED, format!("a {class:?} variable is a pointer to {declared:?}")))
            }
            _ => self.intern(Type::Pointer { class, pointee }, false),
        }
    }

    /// A module-scope `OpUntypedVariableKHR`.
    pub(super) fn untyped_global(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        let untyped = self.ty(cursor)?;
        let id = self.id(cursor.word()?)?;
        let class = super::types::storage_class(cursor)?;
        let data = if cursor.is_empty() { None } else { Some(self.ty(cursor)?) };
        let ty = self.variable_pointer(untyped, class, data)?;
        self.variable(ty, id, class, cursor)?;
        self.untyped.globals.insert(id, (untyped, Op::Bitcast));
        Ok(())
    }

    /// A module-scope variable of storage class Generic.
    pub(super) fn generic_global(
        &mut self,
        ty: TypeId,
        id: Id,
        cursor: &mut Cursor<'_>,
    ) -> Result<(), Fault> {
        let class = StorageClass::CrossWorkgroup;
        let pointee = self.pointee_of(ty).ok_or_else(|| Fault::new(UNTYPED, "a variable is a pointer"))?;
        let pointer = self.intern(Type::Pointer { class, pointee }, false)?;
        self.variable(pointer, id, class, cursor)?;
        self.untyped.globals.insert(id, (ty, Op::PtrCastToGeneric));
        Ok(())
    }

    /// What a constant refers to by an id: of a variable that is an untyped pointer, the address as one.
    pub(super) fn constant_operand(&mut self, id: Id) -> Result<Id, Fault> {
        let Some(&(ty, cast)) = self.untyped.globals.get(&id) else { return Ok(id) };
        if let Some(&address) = self.untyped.addresses.get(&id) {
            return Ok(address);
        }
        let address = self.constant_expression(cast, ty, vec![Operand::Id(id)])?;
        self.untyped.addresses.insert(id, address);
        Ok(address)
    }

    fn constant_expression(&mut self, op: Op, ty: TypeId, operands: Vec<Operand>) -> Result<Id, Fault> {
        let id = self.fresh(Def::Constant(ty))?;
        self.nest(id, &operands)?;
        self.module.constants.insert(id, Constant { ty, value: ConstantValue::Expression { op, operands } });
        Ok(id)
    }

    /// A chain of indices from an untyped pointer, as a constant.
    pub(super) fn untyped_constant_chain(
        &mut self,
        op: Op,
        id: Id,
        ty: TypeId,
        operands: &[Operand],
    ) -> Result<ConstantValue, Fault> {
        let chain = chain_op(op).ok_or_else(|| super::not_supported(op))?;
        let (base_type, pointee) = self.walk(op, operands)?;
        let base = operand_id(operands, 1)?;
        let class = self.class_of(base)?;
        let wanted = self.intern(Type::Pointer { class, pointee: base_type }, false)?;
        let cast = self.constant_expression(Op::Bitcast, wanted, vec![Operand::Id(base)])?;
        let pointer = self.intern(Type::Pointer { class, pointee }, false)?;
        let mut rest = vec![Operand::Id(cast)];
        rest.extend_from_slice(&operands[2..]);
        let made = self.constant_expression(chain, pointer, rest)?;
        if !self.is_untyped(ty) {
            return Err(Fault::new(UNTYPED, format!("{} gives no untyped pointer", op_name(op))));
        }
        let operands = vec![Operand::Id(made)];
        self.nest(id, &operands)?;
        Ok(ConstantValue::Expression { op: Op::Bitcast, operands })
    }

    fn pointee_of(&self, ty: TypeId) -> Option<TypeId> {
        match *self.module.types.get(ty) {
            Type::Pointer { pointee, .. } => Some(pointee),
            _ => None,
        }
    }

    fn class_of(&self, pointer: Id) -> Result<StorageClass, Fault> {
        match self.out.defs.type_of(pointer).map(|ty| self.module.types.get(ty)) {
            Some(Type::Pointer { class, .. }) => Ok(*class),
            Some(_) => Err(Fault::new(UNTYPED, format!("{} is not a pointer", self.out.defs.raw(pointer)))),
            None => Err(self.out.defs.wrong(pointer, self.out.defs.get(pointer), "a pointer")),
        }
    }

    /// The type that a chain's indices begin in, and the one that they lead to.
    fn walk(&self, op: Op, operands: &[Operand]) -> Result<(TypeId, TypeId), Fault> {
        let base = self.out.defs.ty(operand_id(operands, 0)?)?;
        let mut at = base;
        for operand in indices(op)..operands.len() {
            let index = operand_id(operands, operand)?;
            at = match self.module.types.get(at) {
                Type::Vector { elem, .. } | Type::Array { elem, .. } => *elem,
                Type::Struct { members, .. } => {
                    let member = constant_scalar(self.module, index).and_then(|at| usize::try_from(at).ok());
                    let found = member.and_then(|member| members.get(member));
                    *found.ok_or_else(|| {
                        Fault::new(UNTYPED, format!("operand {operand} is no member of a structure"))
                    })?
                }
                _ => return Err(Fault::new(UNTYPED, format!("operand {operand} indexes what has no parts"))),
            };
        }
        match self.module.types.get(base) {
            Type::Void | Type::Function { .. } => Err(Fault::new(UNTYPED, "the base type has no size")),
            _ => Ok((base, at)),
        }
    }
}

#[cfg(test)]
mod tests;
