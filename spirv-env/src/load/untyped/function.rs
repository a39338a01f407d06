//! Functions with untyped pointers: what an instruction accesses says which type its pointer is cast to.

use super::super::functions::{FunctionSource, lead_with_variables};
use super::super::rewriting::{Operands, Rewriting};
use super::super::{Loader, not_supported};
use super::{UNTYPED, chain_op, operand_id};
use crate::defs::Def;
use crate::diagnostics::Fault;
use crate::grammar::op_name;
use crate::module::{ExtSet, Function, Id, Inst, Operand, Type, TypeId};
use crate::opcodes::opencl_std::{self, Signature as Extended};
use crate::opcodes::{self, Signature};
use crate::reflect::constant_scalar;
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};
use spirv::{Decoration, Op, StorageClass};

const WORD: Type = Type::Int { width: 32 };

/// Operands that are pointers, each with the type that is accessed; with none where it may be anything.
type Accessed = SmallVec<[(usize, Option<TypeId>); 2]>;

/// A function whose pointers become typed.
#[derive(Default)]
struct Pointers {
    /// Casts of module-scope variables, which begin the function, by the variable.
    addresses: FxHashMap<Id, Id>,
    first: Vec<Inst>,
    /// The pointer that an untyped one is a cast of, and its type.
    origins: FxHashMap<Id, (Id, TypeId)>,
    /// Casts in the order in which they were made, with what they cast.
    casts: Vec<(Id, Id)>,
}

impl Loader<'_> {
    /// Makes all pointers of a function typed.
    pub(in crate::load) fn resolve_untyped(&mut self, function: &mut Function, source: &mut FunctionSource) {
        if self.module.types.untyped.is_empty() && self.untyped.globals.is_empty() {
            return;
        }
        let mut to = Rewriting::<Pointers>::default();
        for (block, offsets) in function.blocks.iter_mut().zip(&mut source.blocks) {
            let whole = (std::mem::take(&mut block.insts), std::mem::take(offsets));
            self.replace_each(function.id, whole, &mut to, Self::resolve);
            (block.insts, *offsets) = to.take();
        }
        let Pointers { first, casts, .. } = to.function;
        if let (Some(entry), Some(offsets)) = (function.blocks.first_mut(), source.blocks.first_mut()) {
            lead_with_variables(entry, offsets);
            let variables = entry.insts.partition_point(|inst| inst.op == Op::Variable);
            let offset = offsets.get(variables).copied().unwrap_or(source.offset);
            offsets.splice(variables..variables, first.iter().map(|_| offset));
            entry.insts.splice(variables..variables, first);
        }
        drop_unused(function, source, &casts);
    }

    fn resolve(&mut self, mut inst: Inst, to: &mut Rewriting<Pointers>) -> Result<(), Fault> {
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
                Some((_, None)) => to.function.origins.get(&id).map_or(id, |(origin, _)| *origin),
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
            let origin = to.function.origins.get(&id).copied().unwrap_or((id, from));
            to.function.origins.insert(result, origin);
        }
        to.keep(inst);
        Ok(())
    }

    fn type_of(&self, id: Id) -> Result<TypeId, Fault> {
        let ty = self.out.defs.type_of(id);
        ty.ok_or_else(|| self.out.defs.wrong(id, self.out.defs.get(id), "a value"))
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
    fn typed(&mut self, id: Id, pointee: TypeId, to: &mut Rewriting<Pointers>) -> Result<Id, Fault> {
        let (origin, ty) = match to.function.origins.get(&id) {
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

    fn cast(&mut self, id: Id, ty: TypeId, to: &mut Rewriting<Pointers>) -> Result<Id, Fault> {
        let result = self.fresh(Def::Value(ty))?;
        to.push(Op::Bitcast, Some(ty), Some(result), smallvec![Operand::Id(id)]);
        to.function.casts.push((result, id));
        Ok(result)
    }

    /// An operand that is a value: of a module-scope variable that is an untyped pointer, its address as one.
    fn address(&mut self, id: Id, to: &mut Rewriting<Pointers>) -> Result<Id, Fault> {
        let Some(&(ty, cast)) = self.untyped.globals.get(&id) else { return Ok(id) };
        if let Some(&address) = to.function.addresses.get(&id) {
            return Ok(address);
        }
        let typed = self.type_of(id)?;
        let address = self.fresh(Def::Value(ty))?;
        to.function.first.push(Inst {
            op: cast,
            ty: Some(ty),
            result: Some(address),
            operands: smallvec![Operand::Id(id)],
            line: None,
        });
        to.function.casts.push((address, id));
        if cast == Op::Bitcast {
            to.function.origins.insert(address, (id, typed));
        }
        to.function.addresses.insert(id, address);
        Ok(address)
    }

    /// Pointers that are compared may be typed and untyped.
    fn same_type(&mut self, inst: &mut Inst, to: &mut Rewriting<Pointers>) -> Result<(), Fault> {
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
        to: &mut Rewriting<Pointers>,
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
        to.push(Op::Bitcast, Some(ty), Some(result), smallvec![Operand::Id(made)]);
        to.function.casts.push((result, made));
        to.function.origins.insert(result, (made, pointer));
        Ok(())
    }

    fn function_variable(&mut self, inst: &Inst, to: &mut Rewriting<Pointers>) -> Result<(), Fault> {
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
        let mut operands: Operands = smallvec![Operand::Lit(class as u64)];
        if let Some(&Operand::Id(initializer)) = inst.operands.get(2) {
            operands.push(Operand::Id(self.constant_operand(initializer)?));
        }
        to.push(Op::Variable, Some(pointer), Some(variable), operands);
        self.untyped_result(inst, variable, pointer, to)
    }

    fn chain(&mut self, inst: &Inst, to: &mut Rewriting<Pointers>) -> Result<(), Fault> {
        let op = chain_op(inst.op).ok_or_else(|| not_supported(inst.op))?;
        let (base_type, pointee) = self.walk(inst.op, &inst.operands)?;
        let base = operand_id(&inst.operands, 1)?;
        let class = self.class_of(base)?;
        let base = self.typed(base, base_type, to)?;
        let pointer = self.intern(Type::Pointer { class, pointee }, false)?;
        let made = self.fresh(Def::Value(pointer))?;
        let mut operands: Operands = smallvec![Operand::Id(base)];
        operands.extend_from_slice(&inst.operands[2..]);
        to.push(op, Some(pointer), Some(made), operands);
        self.untyped_result(inst, made, pointer, to)
    }

    /// An array of variable length: the type of its elements, and their number.
    fn variable_array(&mut self, inst: &Inst, to: &mut Rewriting<Pointers>) -> Result<(), Fault> {
        let pointee = self.out.defs.ty(operand_id(&inst.operands, 0)?)?;
        let class = StorageClass::Function;
        let pointer = self.intern(Type::Pointer { class, pointee }, false)?;
        let made = self.fresh(Def::Value(pointer))?;
        let operands = inst.operands[1..].into();
        to.push(Op::VariableLengthArrayINTEL, Some(pointer), Some(made), operands);
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
    fn async_copy(&mut self, inst: &Inst, to: &mut Rewriting<Pointers>) -> Result<(), Fault> {
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
        let operands = smallvec![Operand::Id(stride), Operand::Id(size)];
        to.push(Op::UDiv, Some(stride_type), Some(elements), operands);
        let operands = [scope, target, from, count, elements, event].map(Operand::Id);
        to.push(Op::GroupAsyncCopy, Some(ty), Some(result), SmallVec::from_slice(&operands));
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
