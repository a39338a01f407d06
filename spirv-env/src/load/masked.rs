//! Accesses under a mask and vectors of pointers (`SPV_INTEL_masked_gather_scatter`, `SPV_INTEL_predicated_io`): an access
//! that a condition permits is one behind a branch, and what is done with a vector of pointers is done with each of them.
//!
//! A vector of pointers stays a composite that is passed, stored and put together like others. Everything behind the
//! loading sees instructions on single pointers and branches only.

use super::functions::FunctionSource;
use super::rewriting::{Operands, Rewriting};
use super::{Loader, operand_id};
use crate::defs::Def;
use crate::diagnostics::{Fault, RuleId};
use crate::grammar::op_name;
use crate::module::{Block, ConstantValue, Function, Id, Inst, Operand, Type, TypeId};
use crate::own_opcodes::{PREDICATED_LOAD, PREDICATED_STORE};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::smallvec;
use spirv::{Capability, MemoryAccess, Op};
use ze_extensions::CapabilityId;

const MASKED: RuleId = RuleId { id: "types.masked-access", source: "SPV_INTEL_masked_gather_scatter" };

/// A function whose blocks are split.
struct Splitting {
    done: Vec<(Block, Vec<u32>)>,
    /// Of the block on its way.
    label: Id,
    /// The block that ends what a block of the module begins, of those that were split.
    tails: FxHashMap<Id, Id>,
    /// Phis of the new joins.
    joins: FxHashSet<Id>,
}

impl Rewriting<Splitting> {
    /// Ends the block, and begins another one.
    fn begin(&mut self, next: Id) {
        let (insts, offsets) = self.take();
        let label = std::mem::replace(&mut self.function.label, next);
        self.function.done.push((Block { label, insts }, offsets));
    }
}

/// An access through one pointer.
struct Access<'a> {
    pointer: Id,
    does: Does,
    /// Its memory operands.
    operands: &'a [Operand],
}

enum Does {
    /// Reads a value of a type; the other one is the result where nothing is read.
    Load {
        ty: TypeId,
        other: Id,
    },
    Store {
        object: Id,
    },
}

/// Whether a condition holds, as far as the module says so.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Condition {
    Always,
    Never,
    If(Id),
}

impl Loader<'_> {
    /// Puts branches and accesses through single pointers into a function.
    pub(super) fn resolve_masked(&mut self, function: &mut Function, source: &mut FunctionSource) {
        let masked = self.module.capabilities.contains(&Capability::MaskedGatherScatterINTEL);
        let is_replaced = |inst: &Inst| {
            matches!(
                inst.op,
                Op::MaskedGatherINTEL | Op::MaskedScatterINTEL | PREDICATED_LOAD | PREDICATED_STORE
            )
        };
        let has_any = || function.blocks.iter().flat_map(|block| &block.insts).any(is_replaced);
        if function.blocks.is_empty() || !(masked || has_any()) {
            return;
        }
        let mut to = Rewriting::new(Splitting {
            done: Vec::new(),
            label: function.id,
            tails: FxHashMap::default(),
            joins: FxHashSet::default(),
        });
        let blocks = std::mem::take(&mut function.blocks).into_iter().zip(source.blocks.drain(..));
        for (Block { label, insts }, offsets) in blocks {
            to.function.label = label;
            self.replace_each(function.id, (insts, offsets), &mut to, Self::resolve_access);
            if to.function.label != label {
                to.function.tails.insert(label, to.function.label);
            }
            to.begin(function.id);
        }
        let Splitting { mut done, tails, joins, .. } = to.function;
        let phis = done.iter_mut().flat_map(|(block, _)| &mut block.insts).filter(|inst| inst.op == Op::Phi);
        for phi in phis.filter(|phi| phi.result.is_none_or(|id| !joins.contains(&id))) {
            for pair in phi.operands.chunks_mut(2) {
                if let [_, Operand::Id(from)] = pair {
                    *from = tails.get(from).copied().unwrap_or(*from);
                }
            }
        }
        (function.blocks, source.blocks) = done.into_iter().unzip();
    }

    fn resolve_access(&mut self, inst: Inst, to: &mut Rewriting<Splitting>) -> Result<(), Fault> {
        match inst.op {
            Op::MaskedGatherINTEL => self.gather(&inst, to),
            Op::MaskedScatterINTEL => self.scatter(&inst, to),
            PREDICATED_LOAD | PREDICATED_STORE => self.predicated(&inst, to),
            _ if self.is_on_pointers(&inst) => self.each_pointer(&inst, to),
            _ => {
                to.keep(inst);
                Ok(())
            }
        }
    }

    /// Component and length of a vector of pointers.
    fn pointers(&self, ty: TypeId) -> Option<(TypeId, u32)> {
        match *self.module.types.get(ty) {
            Type::Vector { elem, len } if matches!(self.module.types.get(elem), Type::Pointer { .. }) => {
                Some((elem, len))
            }
            _ => None,
        }
    }

    fn pointers_of(&self, id: Id) -> Option<(TypeId, u32)> {
        self.pointers(self.out.defs.type_of(id)?)
    }

    /// Whether an instruction takes or gives a vector of pointers where others take and give single ones.
    fn is_on_pointers(&self, inst: &Inst) -> bool {
        let vector = |ty: TypeId| matches!(self.module.types.get(ty), Type::Vector { .. });
        match inst.op {
            Op::AccessChain
            | Op::InBoundsAccessChain
            | Op::PtrAccessChain
            | Op::InBoundsPtrAccessChain
            | Op::PtrEqual
            | Op::PtrNotEqual
            | Op::PtrDiff
            | Op::ConvertPtrToU
            | Op::ConvertUToPtr
            | Op::PtrCastToGeneric
            | Op::GenericCastToPtr
            | Op::GenericCastToPtrExplicit
            | Op::Bitcast => {}
            // One condition chooses whole objects, of any type.
            Op::Select => {
                let condition = inst.ids().next().and_then(|id| self.out.defs.type_of(id));
                if !condition.is_some_and(vector) {
                    return false;
                }
            }
            _ => return false,
        }
        inst.ty.is_some_and(|ty| self.pointers(ty).is_some())
            || inst.ids().any(|id| self.pointers_of(id).is_some())
    }

    /// The components of a vector; of anything else, itself as often.
    fn components(&mut self, id: Id, len: u32, to: &mut Rewriting<Splitting>) -> Result<Vec<Id>, Fault> {
        let ty = self.out.defs.type_of(id);
        let ty = ty.ok_or_else(|| self.out.defs.wrong(id, self.out.defs.get(id), "a value"))?;
        let Type::Vector { elem, len: found } = *self.module.types.get(ty) else {
            return Ok(vec![id; len as usize]);
        };
        if found != len {
            return Err(Fault::new(MASKED, format!("vectors of {found} and of {len} components")));
        }
        let extract = |at: u32| {
            let part = self.fresh(Def::Value(elem))?;
            let operands = smallvec![Operand::Id(id), Operand::Lit(u64::from(at))];
            to.push(Op::CompositeExtract, Some(elem), Some(part), operands);
            Ok(part)
        };
        (0..len).map(extract).collect()
    }

    /// Makes an instruction's result of what is computed for each component.
    fn construct(inst: &Inst, parts: &[Id], to: &mut Rewriting<Splitting>) {
        to.push(
            Op::CompositeConstruct,
            inst.ty,
            inst.result,
            parts.iter().copied().map(Operand::Id).collect(),
        );
    }

    fn each_pointer(&mut self, inst: &Inst, to: &mut Rewriting<Splitting>) -> Result<(), Fault> {
        let (Some(ty), Some(_)) = (inst.ty, inst.result) else { return Ok(()) };
        let Type::Vector { elem, len } = *self.module.types.get(ty) else {
            let name = op_name(inst.op);
            return Err(Fault::new(MASKED, format!("{name} of a vector of pointers gives no vector")));
        };
        let mut columns = Vec::with_capacity(inst.operands.len());
        for operand in &inst.operands {
            columns.push(match operand {
                Operand::Id(id) => self.components(*id, len, to)?.into_iter().map(Operand::Id).collect(),
                literal => vec![*literal; len as usize],
            });
        }
        let mut parts = Vec::with_capacity(len as usize);
        for at in 0..len as usize {
            let part = self.fresh(Def::Value(elem))?;
            let operands = columns.iter().map(|column| column[at]).collect();
            to.push(inst.op, Some(elem), Some(part), operands);
            parts.push(part);
        }
        Self::construct(inst, &parts, to);
        Ok(())
    }

    fn gather(&mut self, inst: &Inst, to: &mut Rewriting<Splitting>) -> Result<(), Fault> {
        let ty = inst.ty.ok_or_else(|| Fault::new(MASKED, "a gather without a result"))?;
        let Type::Vector { elem, len } = *self.module.types.get(ty) else {
            return Err(Fault::new(MASKED, "the result of a gather is not a vector"));
        };
        let pointers = self.pointers_to(operand_id(&inst.operands, 0, MASKED)?, len, to)?;
        let align = aligned(inst.operands.get(1))?;
        let mask = self.mask(operand_id(&inst.operands, 2, MASKED)?, len, to)?;
        let fill = operand_id(&inst.operands, 3, MASKED)?;
        if self.out.defs.type_of(fill) != Some(ty) {
            return Err(Fault::new(MASKED, "what fills the result of a gather is not of its type"));
        }
        let fill = self.components(fill, len, to)?;
        let mut parts = Vec::with_capacity(len as usize);
        for ((pointer, condition), other) in pointers.into_iter().zip(mask).zip(fill) {
            let part = self.fresh(Def::Value(elem))?;
            let access = Access { pointer, does: Does::Load { ty: elem, other }, operands: &align };
            self.access(condition, &access, Some(part), to)?;
            parts.push(part);
        }
        Self::construct(inst, &parts, to);
        Ok(())
    }

    fn scatter(&mut self, inst: &Inst, to: &mut Rewriting<Splitting>) -> Result<(), Fault> {
        let object = operand_id(&inst.operands, 0, MASKED)?;
        let ty = self.out.defs.type_of(object).map(|ty| self.module.types.get(ty));
        let Some(&Type::Vector { len, .. }) = ty else {
            return Err(Fault::new(MASKED, "what is scattered is not a vector"));
        };
        let pointers = self.pointers_to(operand_id(&inst.operands, 1, MASKED)?, len, to)?;
        let align = aligned(inst.operands.get(2))?;
        let mask = self.mask(operand_id(&inst.operands, 3, MASKED)?, len, to)?;
        let objects = self.components(object, len, to)?;
        // In order: of components for one place the last one stays.
        for ((pointer, condition), object) in pointers.into_iter().zip(mask).zip(objects) {
            let access = Access { pointer, does: Does::Store { object }, operands: &align };
            self.access(condition, &access, None, to)?;
        }
        Ok(())
    }

    fn predicated(&mut self, inst: &Inst, to: &mut Rewriting<Splitting>) -> Result<(), Fault> {
        const SOURCE: RuleId = RuleId { id: MASKED.id, source: "SPV_INTEL_predicated_io" };
        let name = op_name(inst.op);
        if !self.module.own_capabilities.contains(&CapabilityId::PREDICATED_IO_INTEL) {
            return Err(Fault::new(SOURCE, format!("{name} needs capability PredicatedIOINTEL")));
        }
        let id = |at: usize| operand_id(&inst.operands, at, SOURCE);
        let is_load = inst.op == PREDICATED_LOAD;
        let predicate = id(if is_load { 1 } else { 2 })?;
        let condition = self.condition(predicate, self.constant_bits(predicate));
        let does = match inst.ty {
            Some(ty) if is_load => {
                let other = id(2)?;
                if self.out.defs.type_of(other) != Some(ty) {
                    return Err(Fault::new(SOURCE, format!("the default of {name} is not of its type")));
                }
                Does::Load { ty, other }
            }
            _ => Does::Store { object: id(1)? },
        };
        let access = Access { pointer: id(0)?, does, operands: &inst.operands[3..] };
        self.access(condition, &access, inst.result, to)
    }

    /// The pointers of a vector of as many.
    fn pointers_to(&mut self, id: Id, len: u32, to: &mut Rewriting<Splitting>) -> Result<Vec<Id>, Fault> {
        if self.pointers_of(id).is_none() {
            return Err(Fault::new(MASKED, "the addresses are not a vector of pointers"));
        }
        self.components(id, len, to)
    }

    /// Of each component of a mask, whether it is set.
    fn mask(&mut self, id: Id, len: u32, to: &mut Rewriting<Splitting>) -> Result<Vec<Condition>, Fault> {
        match self.out.defs.type_of(id).map(|ty| self.module.types.get(ty)) {
            Some(Type::Vector { elem, .. }) if *self.module.types.get(*elem) == Type::Bool => {}
            _ => return Err(Fault::new(MASKED, "a mask is not a vector of Booleans")),
        }
        let known: Option<Vec<Id>> = match self.module.constants.get(&id).map(|constant| &constant.value) {
            Some(ConstantValue::Composite(parts)) => Some(parts.clone()),
            _ => None,
        };
        let none = self.constant_bits(id);
        let parts = match known {
            Some(parts) if parts.len() == len as usize => parts,
            _ => self.components(id, len, to)?,
        };
        let bits = |part: &Id| none.or_else(|| self.constant_bits(*part));
        Ok(parts.iter().map(|part| self.condition(*part, bits(part))).collect())
    }

    /// A constant Boolean; false for a null of any type.
    fn constant_bits(&self, id: Id) -> Option<bool> {
        match self.module.constants.get(&id)?.value {
            ConstantValue::Bool(value) => Some(value),
            ConstantValue::Null => Some(false),
            _ => None,
        }
    }

    fn condition(&self, id: Id, known: Option<bool>) -> Condition {
        match known {
            Some(true) => Condition::Always,
            Some(false) => Condition::Never,
            None => Condition::If(id),
        }
    }

    /// An access where a condition holds.
    fn access(
        &mut self,
        condition: Condition,
        access: &Access<'_>,
        result: Option<Id>,
        to: &mut Rewriting<Splitting>,
    ) -> Result<(), Fault> {
        let condition = match condition {
            Condition::Always => return self.perform(access, result, to),
            Condition::Never => {
                if let Does::Load { ty, other } = access.does {
                    to.push(Op::CopyObject, Some(ty), result, smallvec![Operand::Id(other)]);
                }
                return Ok(());
            }
            Condition::If(condition) => condition,
        };
        let (head, then, join) = (to.function.label, self.fresh(Def::Label)?, self.fresh(Def::Label)?);
        let targets = [condition, then, join].map(Operand::Id);
        to.push(Op::BranchConditional, None, None, targets.into_iter().collect());
        to.begin(then);
        let loaded = match access.does {
            Does::Load { ty, .. } => Some(self.fresh(Def::Value(ty))?),
            Does::Store { .. } => None,
        };
        self.perform(access, loaded, to)?;
        to.push(Op::Branch, None, None, smallvec![Operand::Id(join)]);
        to.begin(join);
        if let (Some(loaded), Does::Load { ty, other }) = (loaded, &access.does) {
            let pairs = [loaded, then, *other, head].map(Operand::Id);
            to.push(Op::Phi, Some(*ty), result, pairs.into_iter().collect());
            to.function.joins.extend(result);
        }
        Ok(())
    }

    /// The access itself. Compilers whose pointers have no types guess what those lead to.
    fn perform(
        &mut self,
        access: &Access<'_>,
        result: Option<Id>,
        to: &mut Rewriting<Splitting>,
    ) -> Result<(), Fault> {
        let accessed = match access.does {
            Does::Load { ty, .. } => ty,
            Does::Store { object } => {
                let ty = self.out.defs.type_of(object);
                ty.ok_or_else(|| self.out.defs.wrong(object, self.out.defs.get(object), "a value"))?
            }
        };
        let ty = self.out.defs.type_of(access.pointer).map(|ty| self.module.types.get(ty));
        let pointer = match ty {
            Some(&Type::Pointer { class, pointee }) if pointee != accessed => {
                let wanted = self.intern(Type::Pointer { class, pointee: accessed }, false)?;
                let cast = self.fresh(Def::Value(wanted))?;
                to.push(Op::Bitcast, Some(wanted), Some(cast), smallvec![Operand::Id(access.pointer)]);
                cast
            }
            _ => access.pointer,
        };
        let mut operands: Operands = smallvec![Operand::Id(pointer)];
        if let Does::Store { object } = access.does {
            operands.push(Operand::Id(object));
        }
        operands.extend_from_slice(access.operands);
        match access.does {
            Does::Load { ty, .. } => to.push(Op::Load, Some(ty), result, operands),
            Does::Store { .. } => to.push(Op::Store, None, None, operands),
        }
        Ok(())
    }
}

/// Memory operands with the alignment that a literal names; 0 is the type's own.
fn aligned(literal: Option<&Operand>) -> Result<Operands, Fault> {
    match literal {
        Some(Operand::Lit(0)) => Ok(Operands::new()),
        Some(&Operand::Lit(align)) if align.is_power_of_two() => {
            Ok(smallvec![Operand::Lit(u64::from(MemoryAccess::ALIGNED.bits())), Operand::Lit(align)])
        }
        _ => Err(Fault::new(MASKED, "an alignment is a power of two")),
    }
}

#[cfg(test)]
mod tests;
