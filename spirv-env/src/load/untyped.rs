//! Untyped pointers (`SPV_KHR_untyped_pointers`): each access says what it accesses, so they become typed pointers here.
//!
//! An untyped pointer is a pointer to bytes, of a type of its own. An access casts it to a pointer to what it accesses; a
//! variable and a chain of indices are typed, and their result is cast to be untyped. A cast of such a cast starts
//! from what that was made of, and casts that nobody uses are left out: nothing is left of them where a module accesses its
//! objects by their own types. Everything behind the loading sees typed pointers only.
//!
//! A module-scope variable of storage class Generic, which the compiler in SYCL's runtime makes, is one of global memory
//! whose address is cast in the same way.

use super::functions::FunctionSource;
use super::{Loader, lead_with_variables};
use crate::defs::Def;
use crate::diagnostics::{Fault, RuleId};
use crate::grammar::{Cursor, op_name};
use crate::module::{Constant, ConstantValue, ExtSet, Function, Id, Inst, Operand, Type, TypeId};
use crate::opcodes::opencl_std::{self, Signature as Extended};
use crate::opcodes::{self, Signature};
use crate::reflect::constant_scalar;
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};
use spirv::{Decoration, Op, StorageClass};

const UNTYPED: RuleId = RuleId { id: "types.untyped-pointer", source: "SPV_KHR_untyped_pointers" };
const BYTE: Type = Type::Int { width: 8 };
const WORD: Type = Type::Int { width: 32 };

/// What is known of a module's untyped pointers.
#[derive(Default, Debug)]
pub(super) struct Untyped {
    /// Module-scope variables that were declared to be pointers of another type than they are here, with that type and the cast
    /// to it.
    globals: FxHashMap<Id, (TypeId, Op)>,
    /// The constants that are their addresses as pointers of that type.
    addresses: FxHashMap<Id, Id>,
}

/// Operands that are pointers, each with the type that is accessed; with none where it may be anything.
type Accessed = SmallVec<[(usize, Option<TypeId>); 2]>;

/// A function on its way.
#[derive(Default)]
struct Rewriting {
    /// The block so far.
    insts: Vec<(Inst, u32)>,
    /// Casts of module-scope variables, which begin the function, by the variable.
    addresses: FxHashMap<Id, Id>,
    first: Vec<Inst>,
    /// The pointer that an untyped one is a cast of, and its type.
    origins: FxHashMap<Id, (Id, TypeId)>,
    /// Casts in the order in which they were made, with what they cast.
    casts: Vec<(Id, Id)>,
    line: Option<u32>,
    offset: u32,
}

impl Rewriting {
    fn push(&mut self, op: Op, ty: TypeId, result: Id, operands: SmallVec<[Operand; 4]>) {
        let inst = Inst { op, ty: Some(ty), result: Some(result), operands, line: self.line };
        self.insts.push((inst, self.offset));
    }
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

/// Types, variables and constants.
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

/// Functions.
impl Loader<'_> {
    /// Makes all pointers of a function typed.
    pub(super) fn resolve_untyped(&mut self, function: &mut Function, source: &mut FunctionSource) {
        if self.module.types.untyped.is_empty() && self.untyped.globals.is_empty() {
            return;
        }
        let mut to = Rewriting::default();
        for (block, offsets) in function.blocks.iter_mut().zip(&mut source.blocks) {
            let insts = std::mem::take(&mut block.insts);
            to.insts.reserve(insts.len());
            for (inst, offset) in insts.into_iter().zip(offsets.drain(..)) {
                (to.line, to.offset) = (inst.line, offset);
                let result = inst.result;
                if let Err(fault) = self.resolve(inst, &mut to) {
                    // Whatever uses it is not to blame.
                    if let Some(result) = result {
                        self.out.defs.replace(result, Def::Poison);
                    }
                    self.replaced_faults.push((function.id, offset, fault));
                }
            }
            (block.insts, *offsets) = std::mem::take(&mut to.insts).into_iter().unzip();
        }
        if let (Some(entry), Some(offsets)) = (function.blocks.first_mut(), source.blocks.first_mut()) {
            lead_with_variables(entry, offsets);
            let variables = entry.insts.partition_point(|inst| inst.op == Op::Variable);
            let offset = offsets.get(variables).copied().unwrap_or(source.offset);
            offsets.splice(variables..variables, to.first.iter().map(|_| offset));
            entry.insts.splice(variables..variables, std::mem::take(&mut to.first));
        }
        drop_unused(function, source, &to.casts);
    }

    fn resolve(&mut self, mut inst: Inst, to: &mut Rewriting) -> Result<(), Fault> {
        match inst.op {
            Op::UntypedVariableKHR => return self.function_variable(&inst, to),
            Op::UntypedPrefetchKHR => return self.prefetch(&inst),
            Op::UntypedGroupAsyncCopyKHR => return self.async_copy(&inst, to),
            Op::UntypedVariableLengthArrayINTEL => return self.variable_array(&inst, to),
            op if chain_op(op).is_some() => return self.chain(&inst, to),
            _ => {}
        }
        let accessed = self.accessed(&inst)?;
        for at in 0..inst.operands.len() {
            let Operand::Id(id) = inst.operands[at] else { continue };
            let access = accessed.iter().find(|(operand, _)| *operand == at);
            let id = match access {
                Some(&(_, Some(pointee))) => self.typed(id, pointee, to)?,
                Some((_, None)) => to.origins.get(&id).map_or(id, |(origin, _)| *origin),
                None => self.address(id, to)?,
            };
            inst.operands[at] = Operand::Id(id);
        }
        if matches!(inst.op, Op::PtrEqual | Op::PtrNotEqual | Op::PtrDiff) {
            self.same_type(&mut inst, to)?;
        }
        if let (Op::Bitcast, Some(ty), Some(result)) = (inst.op, inst.ty, inst.result)
            && self.is_untyped(ty)
            && let Some(&Operand::Id(id)) = inst.operands.first()
            && let Some(from) = self.out.defs.type_of(id)
            && matches!(self.module.types.get(from), Type::Pointer { .. })
        {
            let origin = to.origins.get(&id).copied().unwrap_or((id, from));
            to.origins.insert(result, origin);
        }
        to.insts.push((inst, to.offset));
        Ok(())
    }

    fn type_of(&self, id: Id) -> Result<TypeId, Fault> {
        let ty = self.out.defs.type_of(id);
        ty.ok_or_else(|| self.out.defs.wrong(id, self.out.defs.get(id), "a value"))
    }

    fn pointee_of(&self, ty: TypeId) -> Option<TypeId> {
        match *self.module.types.get(ty) {
            Type::Pointer { pointee, .. } => Some(pointee),
            _ => None,
        }
    }

    /// The component of a vector, or the type itself.
    fn component(&self, ty: TypeId) -> TypeId {
        match *self.module.types.get(ty) {
            Type::Vector { elem, .. } => elem,
            _ => ty,
        }
    }

    /// The pointer operands of an instruction that are untyped, each with the type that is accessed; with none where the
    /// instruction takes a pointer to anything.
    fn accessed(&mut self, inst: &Inst) -> Result<Accessed, Fault> {
        let value = |at: usize| operand_id(&inst.operands, at).and_then(|id| self.type_of(id));
        let result = || inst.ty.ok_or_else(|| Fault::new(UNTYPED, "an instruction without a result"));
        let Some(row) = opcodes::row(inst.op) else { return Ok(Accessed::new()) };
        let mut found = Accessed::new();
        match inst.op {
            Op::Load => found.push((0, Some(result()?))),
            Op::Store => found.push((0, Some(value(1)?))),
            Op::CopyMemory => {
                let typed = |at: usize| {
                    let id = operand_id(&inst.operands, at).ok()?;
                    let ty = self.out.defs.type_of(id)?;
                    (!self.is_untyped(ty)).then(|| self.pointee_of(ty)).flatten()
                };
                let copied = typed(0).or_else(|| typed(1));
                let copied = copied.ok_or_else(|| {
                    Fault::new(UNTYPED, "a copy of unknown size: neither of its pointers is typed")
                })?;
                found.extend([(0, Some(copied)), (1, Some(copied))]);
            }
            Op::CopyMemorySized => found.extend([(0, None), (1, None)]),
            Op::LifetimeStart | Op::LifetimeStop => found.push((0, None)),
            Op::PtrCastToGeneric | Op::GenericCastToPtr | Op::GenericCastToPtrExplicit => {
                found.push((0, self.pointee_of(result()?)));
            }
            Op::SubgroupBlockReadINTEL => found.push((0, Some(self.component(result()?)))),
            Op::SubgroupBlockWriteINTEL => found.push((0, Some(self.component(value(1)?)))),
            Op::ExtInst => found.extend(self.accessed_by_function(inst)?),
            _ if row.memory.is_atomic() => {
                let ty = match row.signature {
                    Signature::AtomicFlagTest | Signature::AtomicFlagClear => self.intern(WORD, false)?,
                    Signature::AtomicStore => value(3)?,
                    _ => result()?,
                };
                found.push((0, Some(ty)));
            }
            _ => {}
        }
        // Of typed pointers the validation says what is wrong.
        found.retain(|(at, _)| {
            let id = operand_id(&inst.operands, *at).ok();
            id.is_some_and(|id| {
                self.untyped.globals.contains_key(&id)
                    || self.out.defs.type_of(id).is_some_and(|ty| self.is_untyped(ty))
            }) || matches!(
                inst.op,
                Op::PtrCastToGeneric | Op::GenericCastToPtr | Op::GenericCastToPtrExplicit
            ) && inst.ty.is_some_and(|ty| self.is_untyped(ty))
        });
        Ok(found)
    }

    /// The same for an instruction of OpenCL.std.
    fn accessed_by_function(&mut self, inst: &Inst) -> Result<Option<(usize, Option<TypeId>)>, Fault> {
        /// Operands begin behind the set and the instruction's number.
        const FIRST: usize = 2;
        let (Some(Operand::Id(set)), Some(&Operand::Lit(number))) =
            (inst.operands.first(), inst.operands.get(1))
        else {
            return Ok(None);
        };
        let known = self.module.ext_sets.get(set) == Some(&ExtSet::OpenClStd);
        let function = opencl_std::of_number(number).filter(|_| known);
        let Some((function, (pointer, _))) =
            function.and_then(|function| Some((function, function.pointer()?)))
        else {
            return Ok(None);
        };
        let result = inst.ty.ok_or_else(|| Fault::new(UNTYPED, "an instruction without a result"))?;
        let pointee = match function.signature {
            Extended::FloatAndPointer(_) => Some(result),
            Extended::FloatAndIntPointer(_) => {
                let elem = self.intern(WORD, false)?;
                match *self.module.types.get(result) {
                    Type::Vector { len, .. } => Some(self.intern(Type::Vector { elem, len }, false)?),
                    _ => Some(elem),
                }
            }
            Extended::VectorLoad => Some(self.component(result)),
            Extended::VectorStore => {
                Some(self.component(operand_id(&inst.operands, FIRST).and_then(|id| self.type_of(id))?))
            }
            Extended::HalfLoad
            | Extended::HalfVectorLoad
            | Extended::HalfStore
            | Extended::HalfVectorStore
            | Extended::HalfStoreRounded
            | Extended::HalfVectorStoreRounded => Some(self.intern(Type::Float { width: 16 }, false)?),
            _ => None,
        };
        Ok(Some((FIRST + pointer, pointee)))
    }

    /// The pointer, as one to `pointee`.
    fn typed(&mut self, id: Id, pointee: TypeId, to: &mut Rewriting) -> Result<Id, Fault> {
        let (origin, ty) = match to.origins.get(&id) {
            Some(&origin) => origin,
            None => (id, self.type_of(id)?),
        };
        let Type::Pointer { class, pointee: found } = *self.module.types.get(ty) else {
            return Err(Fault::new(UNTYPED, format!("{} is not a pointer", self.out.defs.raw(id))));
        };
        if found == pointee {
            return Ok(origin);
        }
        let wanted = self.intern(Type::Pointer { class, pointee }, false)?;
        self.cast(origin, wanted, to)
    }

    fn cast(&mut self, id: Id, ty: TypeId, to: &mut Rewriting) -> Result<Id, Fault> {
        let result = self.fresh(Def::Value(ty))?;
        to.push(Op::Bitcast, ty, result, smallvec![Operand::Id(id)]);
        to.casts.push((result, id));
        Ok(result)
    }

    /// An operand that is a value: of a module-scope variable that is an untyped pointer, its address as one.
    fn address(&mut self, id: Id, to: &mut Rewriting) -> Result<Id, Fault> {
        let Some(&(ty, cast)) = self.untyped.globals.get(&id) else { return Ok(id) };
        if let Some(&address) = to.addresses.get(&id) {
            return Ok(address);
        }
        let typed = self.type_of(id)?;
        let address = self.fresh(Def::Value(ty))?;
        to.first.push(Inst {
            op: cast,
            ty: Some(ty),
            result: Some(address),
            operands: smallvec![Operand::Id(id)],
            line: None,
        });
        to.casts.push((address, id));
        if cast == Op::Bitcast {
            to.origins.insert(address, (id, typed));
        }
        to.addresses.insert(id, address);
        Ok(address)
    }

    /// Pointers that are compared may be typed and untyped.
    fn same_type(&mut self, inst: &mut Inst, to: &mut Rewriting) -> Result<(), Fault> {
        let ids = [operand_id(&inst.operands, 0)?, operand_id(&inst.operands, 1)?];
        let types = [self.type_of(ids[0])?, self.type_of(ids[1])?];
        for (at, other) in [(0, 1), (1, 0)] {
            if self.is_untyped(types[other])
                && !self.is_untyped(types[at])
                && self.pointee_of(types[at]).is_some()
            {
                inst.operands[at] = Operand::Id(self.cast(ids[at], types[other], to)?);
            }
        }
        Ok(())
    }

    /// The result of `inst` as the untyped form of a pointer.
    fn untyped_result(
        &mut self,
        inst: &Inst,
        made: Id,
        pointer: TypeId,
        to: &mut Rewriting,
    ) -> Result<(), Fault> {
        let (Some(result), Some(ty)) = (inst.result, inst.ty) else { return Ok(()) };
        if !self.is_untyped(ty) {
            return Err(Fault::new(UNTYPED, format!("{} gives no untyped pointer", op_name(inst.op))));
        }
        let class = |ty: TypeId| match *self.module.types.get(ty) {
            Type::Pointer { class, .. } => Some(class),
            _ => None,
        };
        if class(ty) != class(pointer) {
            let name = op_name(inst.op);
            return Err(Fault::new(UNTYPED, format!("the result of {name} has another storage class")));
        }
        to.push(Op::Bitcast, ty, result, smallvec![Operand::Id(made)]);
        to.casts.push((result, made));
        to.origins.insert(result, (made, pointer));
        Ok(())
    }

    fn function_variable(&mut self, inst: &Inst, to: &mut Rewriting) -> Result<(), Fault> {
        let (Some(result), Some(untyped)) = (inst.result, inst.ty) else { return Ok(()) };
        let Some(&Operand::Lit(class)) = inst.operands.first() else { return Ok(()) };
        let class = u32::try_from(class).ok().and_then(StorageClass::from_u32);
        let class = class.filter(|class| *class == StorageClass::Function);
        let class = class
            .ok_or_else(|| Fault::new(UNTYPED, "a variable in a function is of storage class Function"))?;
        let data = match inst.operands.get(1) {
            Some(Operand::Id(ty)) => Some(self.out.defs.ty(*ty)?),
            _ => None,
        };
        let pointer = self.variable_pointer(untyped, class, data)?;
        let variable = self.fresh(Def::Value(pointer))?;
        if let Some(alignment) = self.module.decorations.get(&result).cloned() {
            let alignment = alignment.into_iter().filter(|of| of.kind == Decoration::Alignment);
            self.module.decorations.insert(variable, alignment.collect());
        }
        let mut operands: SmallVec<[Operand; 4]> = smallvec![Operand::Lit(class as u64)];
        if let Some(&Operand::Id(initializer)) = inst.operands.get(2) {
            operands.push(Operand::Id(self.constant_operand(initializer)?));
        }
        to.push(Op::Variable, pointer, variable, operands);
        self.untyped_result(inst, variable, pointer, to)
    }

    fn chain(&mut self, inst: &Inst, to: &mut Rewriting) -> Result<(), Fault> {
        let op = chain_op(inst.op).ok_or_else(|| super::not_supported(inst.op))?;
        let (base_type, pointee) = self.walk(inst.op, &inst.operands)?;
        let base = operand_id(&inst.operands, 1)?;
        let class = self.class_of(base)?;
        let base = self.typed(base, base_type, to)?;
        let pointer = self.intern(Type::Pointer { class, pointee }, false)?;
        let made = self.fresh(Def::Value(pointer))?;
        let mut operands: SmallVec<[Operand; 4]> = smallvec![Operand::Id(base)];
        operands.extend_from_slice(&inst.operands[2..]);
        to.push(op, pointer, made, operands);
        self.untyped_result(inst, made, pointer, to)
    }

    /// An array of variable length: the type of its elements, and their number.
    fn variable_array(&mut self, inst: &Inst, to: &mut Rewriting) -> Result<(), Fault> {
        let pointee = self.out.defs.ty(operand_id(&inst.operands, 0)?)?;
        let class = StorageClass::Function;
        let pointer = self.intern(Type::Pointer { class, pointee }, false)?;
        let made = self.fresh(Def::Value(pointer))?;
        to.push(Op::VariableLengthArrayINTEL, pointer, made, inst.operands[1..].into());
        self.untyped_result(inst, made, pointer, to)
    }

    /// Caches are the processor's to manage.
    fn prefetch(&self, inst: &Inst) -> Result<(), Fault> {
        match self.class_of(operand_id(&inst.operands, 0)?)? {
            StorageClass::CrossWorkgroup => Ok(()),
            class => Err(Fault::new(UNTYPED, format!("{class:?} memory is not prefetched"))),
        }
    }

    /// Sizes and strides are in bytes; those of `OpGroupAsyncCopy` count elements.
    fn async_copy(&mut self, inst: &Inst, to: &mut Rewriting) -> Result<(), Fault> {
        let (Some(result), Some(ty)) = (inst.result, inst.ty) else { return Ok(()) };
        let [scope, target, from, size, count, stride, event] = {
            let mut ids = [Id(0); 7];
            for (at, id) in ids.iter_mut().enumerate() {
                *id = operand_id(&inst.operands, at)?;
            }
            ids
        };
        let bytes = constant_scalar(self.module, size).filter(|bytes| (1..=16).contains(bytes));
        let bytes = bytes.filter(|bytes| bytes.is_power_of_two()).ok_or_else(|| {
            Fault::new(UNTYPED, "an asynchronous copy of elements that are not 1, 2, 4, 8 or 16 bytes")
        })?;
        let width = u32::try_from(8 * bytes.min(8)).unwrap_or(u32::BITS);
        let mut element = self.intern(Type::Int { width }, false)?;
        if bytes > 8 {
            element = self.intern(Type::Vector { elem: element, len: 2 }, false)?;
        }
        let (target, from) = (self.typed(target, element, to)?, self.typed(from, element, to)?);
        let stride_type = self.type_of(stride)?;
        let elements = self.fresh(Def::Value(stride_type))?;
        to.push(Op::UDiv, stride_type, elements, smallvec![Operand::Id(stride), Operand::Id(size)]);
        let operands = [scope, target, from, count, elements, event].map(Operand::Id);
        to.push(Op::GroupAsyncCopy, ty, result, SmallVec::from_slice(&operands));
        Ok(())
    }
}

/// Leaves out the casts that nothing uses.
fn drop_unused(function: &mut Function, source: &mut FunctionSource, casts: &[(Id, Id)]) {
    let mut uses: FxHashMap<Id, u32> = casts.iter().map(|(cast, _)| (*cast, 0)).collect();
    for id in function.blocks.iter().flat_map(|block| &block.insts).flat_map(Inst::ids) {
        if let Some(count) = uses.get_mut(&id) {
            *count += 1;
        }
    }
    // A cast of a cast was made behind it, but for those of variables, which cast no cast.
    for (cast, of) in casts.iter().rev() {
        if uses.get(cast) == Some(&0)
            && let Some(count) = uses.get_mut(of)
        {
            *count -= 1;
        }
    }
    let is_unused = |inst: &Inst| inst.result.is_some_and(|id| uses.get(&id) == Some(&0));
    for (block, offsets) in function.blocks.iter_mut().zip(&mut source.blocks) {
        let mut keep = block.insts.iter().map(|inst| !is_unused(inst));
        offsets.retain(|_| keep.next().unwrap_or(true));
        block.insts.retain(|inst| !is_unused(inst));
    }
}

#[cfg(test)]
mod tests;
