//! The rewriting of one function.

use super::{Demotion, Place};
use crate::diagnostics::Fault;
use crate::module::{Block, ExtSet, Id, Inst, Operand, Type, TypeId};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};
use spirv::{MemoryAccess, Op, StorageClass};
use std::collections::hash_map::Entry;

/// What is known of a large result.
struct Value {
    ty: TypeId,
    block: usize,
    /// It is used in its own block only, and where for the last time.
    local: bool,
    last: usize,
    uses: u32,
}

/// The rewriting of one function.
pub(super) struct Rewriter<'d, 'm> {
    demotion: &'d mut Demotion<'m>,
    params: FxHashMap<Id, TypeId>,
    /// Where a large result is written to.
    out: Option<Id>,
    values: FxHashMap<Id, Value>,
    /// Results that are the same as another value, and those that may be anything.
    same: FxHashMap<Id, Id>,
    undefined: FxHashMap<Id, TypeId>,
    /// The variables of values that have one now.
    variables: FxHashMap<Id, Id>,
    /// By type: variables that hold nothing now.
    free: FxHashMap<TypeId, Vec<Id>>,
    /// For the value of one instruction.
    temporary: Vec<(TypeId, Id)>,
    /// By predecessor: what phis take from there, and where to.
    edges: FxHashMap<Id, Vec<(Id, Id, TypeId)>>,
    /// By phi: where its predecessors leave the value.
    incoming: FxHashMap<Id, Id>,
    declared: Vec<Inst>,
    new: Vec<Inst>,
    line: Option<u32>,
}

impl<'d, 'm> Rewriter<'d, 'm> {
    pub(super) fn new(
        demotion: &'d mut Demotion<'m>,
        blocks: &[Block],
        params: FxHashMap<Id, TypeId>,
        out: Option<Id>,
    ) -> Self {
        let mut this = Self {
            demotion,
            params,
            out,
            values: FxHashMap::default(),
            same: FxHashMap::default(),
            undefined: FxHashMap::default(),
            variables: FxHashMap::default(),
            free: FxHashMap::default(),
            temporary: Vec::new(),
            edges: FxHashMap::default(),
            incoming: FxHashMap::default(),
            declared: Vec::new(),
            new: Vec::new(),
            line: None,
        };
        this.find_values(blocks);
        this
    }

    /// Blocks stand behind those that dominate them, so a definition comes before its uses, but for those of phis.
    fn find_values(&mut self, blocks: &[Block]) {
        for (block, insts) in blocks.iter().enumerate() {
            for (at, inst) in insts.insts.iter().enumerate() {
                if inst.op != Op::Phi && inst.op != Op::CopyObject {
                    for id in inst.ids() {
                        let id = self.same.get(&id).copied().unwrap_or(id);
                        if let Some(value) = self.values.get_mut(&id) {
                            value.uses += 1;
                            value.local &= value.block == block;
                            value.last = at;
                        }
                    }
                }
                let (Some(result), Some(ty)) = (inst.result, inst.ty) else { continue };
                if !self.demotion.is_large(ty) {
                    continue;
                }
                match inst.op {
                    Op::CopyObject => {
                        let source = inst.id(0);
                        self.same.insert(result, self.same.get(&source).copied().unwrap_or(source));
                    }
                    Op::Undef => {
                        self.undefined.insert(result, ty);
                    }
                    op => {
                        let local = op != Op::Phi;
                        self.values.insert(result, Value { ty, block, local, last: at, uses: 0 });
                    }
                }
            }
        }
        let insts = blocks.iter().flat_map(|block| &block.insts);
        for id in insts.filter(|inst| inst.op == Op::Phi).flat_map(Inst::ids) {
            let id = self.same.get(&id).copied().unwrap_or(id);
            if let Some(value) = self.values.get_mut(&id) {
                value.uses += 1;
                value.local = false;
            }
        }
    }

    pub(super) fn run(mut self, blocks: Vec<Block>) -> Result<Vec<Block>, Fault> {
        for inst in blocks.iter().flat_map(|block| &block.insts).filter(|inst| inst.op == Op::Phi) {
            self.prepare_phi(inst)?;
        }
        let mut rewritten = Vec::with_capacity(blocks.len());
        for Block { label, insts } in blocks {
            self.new = Vec::with_capacity(insts.len());
            for (at, inst) in insts.into_iter().enumerate() {
                if matches!(inst.op, Op::Branch | Op::BranchConditional | Op::Switch) {
                    self.line = inst.line;
                    for (to, value, ty) in self.edges.remove(&label).unwrap_or_default() {
                        self.copy(to, value, ty, &[])?;
                    }
                }
                self.line = inst.line;
                let used: SmallVec<[Id; 4]> =
                    inst.ids().map(|id| self.same.get(&id).copied().unwrap_or(id)).collect();
                let result = inst.result;
                self.inst(inst)?;
                for (ty, variable) in std::mem::take(&mut self.temporary) {
                    self.free.entry(ty).or_default().push(variable);
                }
                used.into_iter().chain(result).for_each(|id| self.release(id, at));
            }
            rewritten.push(Block { label, insts: std::mem::take(&mut self.new) });
        }
        if let Some(entry) = rewritten.first_mut() {
            entry.insts.splice(0..0, self.declared);
        }
        Ok(rewritten)
    }

    /// Gives the variable of a value back where it is of no more use.
    fn release(&mut self, id: Id, at: usize) {
        let Some(value) = self.values.get(&id).filter(|value| value.local && value.last == at) else {
            return;
        };
        if let Some(variable) = self.variables.remove(&id) {
            self.free.entry(value.ty).or_default().push(variable);
        }
    }

    fn prepare_phi(&mut self, phi: &Inst) -> Result<(), Fault> {
        let (Some(result), Some(ty)) = (phi.result, phi.ty) else { return Ok(()) };
        if !self.demotion.is_large(ty) {
            return Ok(());
        }
        let incoming = self.variable(ty)?;
        self.incoming.insert(result, incoming);
        let ids: Vec<Id> = phi.ids().collect();
        let mut seen = FxHashSet::default();
        for pair in ids.chunks_exact(2).filter(|pair| seen.insert(pair[1])) {
            self.edges.entry(pair[1]).or_default().push((incoming, pair[0], ty));
        }
        Ok(())
    }

    /// A variable that holds nothing.
    fn variable(&mut self, ty: TypeId) -> Result<Id, Fault> {
        if let Some(variable) = self.free.get_mut(&ty).and_then(Vec::pop) {
            return Ok(variable);
        }
        let (id, ty) = (self.demotion.fresh()?, self.demotion.pointer(StorageClass::Function, ty)?);
        let operands = smallvec![Operand::Lit(StorageClass::Function as u64)];
        self.declared.push(Inst { op: Op::Variable, ty: Some(ty), result: Some(id), operands, line: None });
        Ok(id)
    }

    /// The variable that a result goes to.
    fn define(&mut self, result: Id, ty: TypeId) -> Result<Id, Fault> {
        let variable = self.variable(ty)?;
        self.variables.insert(result, variable);
        Ok(variable)
    }

    /// Where a large value is; `None` for one that is not large.
    fn place(&mut self, id: Id) -> Result<Option<Place>, Fault> {
        let id = self.same.get(&id).copied().unwrap_or(id);
        if self.undefined.contains_key(&id) {
            return Ok(Some(Place::Nowhere));
        }
        let ty = self.values.get(&id).map(|value| value.ty).or_else(|| self.params.get(&id).copied());
        let Some(ty) = ty else { return self.demotion.constant(id) };
        let align = self.demotion.module.types.layout(ty).align;
        // A parameter's id is its pointer's now.
        let pointer = self.variables.get(&id).copied().unwrap_or(id);
        Ok(Some(Place::Memory { pointer, class: StorageClass::Function, align, offset: 0 }))
    }

    fn is_large(&mut self, id: Id) -> Result<bool, Fault> {
        Ok(self.place(id)?.is_some())
    }

    /// A variable of the function that has the value, for who needs one.
    fn private(&mut self, id: Id, ty: TypeId) -> Result<Id, Fault> {
        if let Some(Place::Memory { pointer, class: StorageClass::Function, .. }) = self.place(id)? {
            return Ok(pointer);
        }
        let variable = self.variable(ty)?;
        self.copy(variable, id, ty, &[])?;
        self.temporary.push((ty, variable));
        Ok(variable)
    }

    fn push(&mut self, op: Op, ty: Option<TypeId>, result: Option<Id>, operands: SmallVec<[Operand; 4]>) {
        self.new.push(Inst { op, ty, result, operands, line: self.line });
    }

    /// Copies a large value to a variable.
    fn copy(&mut self, to: Id, value: Id, ty: TypeId, access: &[Operand]) -> Result<(), Fault> {
        let align = self.demotion.module.types.layout(ty).align;
        match self.place(value)? {
            Some(from) => {
                let to = Place::Memory { pointer: to, class: StorageClass::Function, align, offset: 0 };
                self.copy_memory(to, from, access);
            }
            None => debug_assert!(false, "{value} is not large"),
        }
        Ok(())
    }

    fn copy_memory(&mut self, to: Place, from: Place, access: &[Operand]) {
        // What may be anything is what is there already.
        let (Place::Memory { pointer: to, .. }, Place::Memory { pointer: from, .. }) = (to, from) else {
            return;
        };
        let mut operands: SmallVec<[Operand; 4]> = smallvec![Operand::Id(to), Operand::Id(from)];
        operands.extend(access.iter().copied());
        self.push(Op::CopyMemory, None, None, operands);
    }

    /// What a memory access of a part says of its alignment.
    fn aligned(place: Place) -> [Operand; 2] {
        let Place::Memory { align, offset, .. } = place else {
            return [Operand::Lit(MemoryAccess::ALIGNED.bits().into()), Operand::Lit(1)];
        };
        let align = if offset == 0 { align } else { align.min(1 << offset.trailing_zeros().min(63)) };
        [MemoryAccess::ALIGNED.bits().into(), align.max(1)].map(Operand::Lit)
    }

    /// The part of a large value, of type `ty`, that literal indices lead to, and its type.
    fn part(&mut self, whole: Place, ty: TypeId, path: &[u64]) -> Result<(Place, TypeId), Fault> {
        let types = &self.demotion.module.types;
        let (mut part, mut at) = (ty, 0u64);
        for &index in path {
            let (offset, next) = match types.get(part) {
                Type::Struct { members, .. } => {
                    (types.member_offsets(part)[index as usize], members[index as usize])
                }
                Type::Array { elem, .. } | Type::Vector { elem, .. } => {
                    (index.wrapping_mul(types.layout(*elem).size), *elem)
                }
                _ => break,
            };
            (at, part) = (at.wrapping_add(offset), next);
        }
        let Place::Memory { pointer, class, align, offset } = whole else { return Ok((whole, part)) };
        let mut operands: SmallVec<[Operand; 4]> = smallvec![Operand::Id(pointer)];
        for &index in path {
            operands.push(Operand::Id(self.demotion.index(index)?));
        }
        let (result, ty) = (self.demotion.fresh()?, self.demotion.pointer(class, part)?);
        self.push(Op::InBoundsAccessChain, Some(ty), Some(result), operands);
        Ok((Place::Memory { pointer: result, class, align, offset: offset.wrapping_add(at) }, part))
    }

    /// Writes a value, large or not, to a place.
    fn put(&mut self, to: Place, value: Id) -> Result<(), Fault> {
        let access = Self::aligned(to);
        if let Some(from) = self.place(value)? {
            self.copy_memory(to, from, &access);
        } else if let Place::Memory { pointer, .. } = to {
            let [mask, align] = access;
            let operands = smallvec![Operand::Id(pointer), Operand::Id(value), mask, align];
            self.push(Op::Store, None, None, operands);
        }
        Ok(())
    }

    fn inst(&mut self, inst: Inst) -> Result<(), Fault> {
        let large = inst.result.zip(inst.ty).filter(|(_, ty)| self.demotion.is_large(*ty));
        match (inst.op, large) {
            // Their uses are another value's, or of none.
            (Op::CopyObject | Op::Undef, Some(_)) => {}
            (Op::Load, Some((result, ty))) => {
                let to = self.define(result, ty)?;
                let mut operands: SmallVec<[Operand; 4]> = smallvec![Operand::Id(to)];
                operands.extend(inst.operands);
                self.push(Op::CopyMemory, None, None, operands);
            }
            (Op::Phi, Some((result, ty))) => {
                let to = self.define(result, ty)?;
                let from = self.incoming[&result];
                let operands = smallvec![Operand::Id(to), Operand::Id(from)];
                self.push(Op::CopyMemory, None, None, operands);
            }
            (Op::Select, Some((result, ty))) => self.select(&inst, result, ty)?,
            (Op::CopyLogical, Some((result, ty))) => self.copy_logical(&inst, result, ty)?,
            (Op::CompositeConstruct, Some((result, ty))) => {
                let to = self.define(result, ty)?;
                for (at, part) in inst.ids().enumerate() {
                    let whole = self.whole(to, ty);
                    let (to, _) = self.part(whole, ty, &[at as u64])?;
                    self.put(to, part)?;
                }
            }
            (Op::CompositeInsert, Some((result, ty))) => {
                let to = self.insert_into(&inst, result, ty)?;
                let whole = self.whole(to, ty);
                let (to, _) = self.part(whole, ty, &path(&inst, 2))?;
                self.put(to, inst.id(0))?;
            }
            (Op::FunctionCall, _) => self.call(inst, large)?,
            (Op::CompositeExtract, _) if self.is_large(inst.id(0))? => self.extract(&inst)?,
            (Op::Store, _) => match self.place(inst.id(1))? {
                None => self.new.push(inst),
                Some(Place::Nowhere) => {}
                Some(Place::Memory { pointer, .. }) => {
                    let mut inst = inst;
                    inst.op = Op::CopyMemory;
                    inst.operands[1] = Operand::Id(pointer);
                    self.new.push(inst);
                }
            },
            (Op::ReturnValue, _) if self.out.is_some() => {
                if let (Some(out), Some(from)) = (self.out, self.place(inst.id(0))?) {
                    let to =
                        Place::Memory { pointer: out, class: StorageClass::Function, align: 1, offset: 0 };
                    self.copy_memory(to, from, &[]);
                }
                self.push(Op::Return, None, None, SmallVec::new());
            }
            (Op::Variable, _) if inst.operands.len() > 1 && self.is_large(inst.id(1))? => {
                let initializer = self.place(inst.id(1))?;
                let variable = inst.result;
                let mut inst = inst;
                inst.operands.truncate(1);
                self.new.push(inst);
                if let (Some(pointer), Some(from)) = (variable, initializer) {
                    let to = Place::Memory { pointer, class: StorageClass::Function, align: 1, offset: 0 };
                    self.copy_memory(to, from, &[]);
                }
            }
            (Op::ExtInst, _) => {
                // What debuggers are told of a large value.
                let is_debug = self.demotion.module.ext_sets.get(&inst.id(0)) == Some(&ExtSet::NonSemantic);
                let mut about_large = false;
                for id in inst.ids().filter(|_| is_debug) {
                    about_large |= self.is_large(id)?;
                }
                if !about_large {
                    self.new.push(inst);
                }
            }
            _ => self.new.push(inst),
        }
        Ok(())
    }

    fn whole(&self, pointer: Id, ty: TypeId) -> Place {
        let align = self.demotion.module.types.layout(ty).align;
        Place::Memory { pointer, class: StorageClass::Function, align, offset: 0 }
    }

    /// The variable that an insertion changes: a copy, or that of a value which nobody else uses.
    fn insert_into(&mut self, inst: &Inst, result: Id, ty: TypeId) -> Result<Id, Fault> {
        let whole = self.same.get(&inst.id(1)).copied().unwrap_or(inst.id(1));
        let block = self.values.get(&result).map(|value| value.block);
        let is_last = |value: &&Value| value.local && value.uses == 1 && Some(value.block) == block;
        if self.values.get(&whole).filter(is_last).is_some()
            && let Entry::Occupied(variable) = self.variables.entry(whole)
        {
            let variable = variable.remove();
            self.variables.insert(result, variable);
            return Ok(variable);
        }
        let to = self.define(result, ty)?;
        self.copy(to, whole, ty, &[])?;
        Ok(to)
    }

    fn extract(&mut self, inst: &Inst) -> Result<(), Fault> {
        let (Some(result), Some(ty)) = (inst.result, inst.ty) else { return Ok(()) };
        let whole = self.same.get(&inst.id(0)).copied().unwrap_or(inst.id(0));
        let whole_ty = self.type_of(whole);
        let (Some(place), Some(whole_ty)) = (self.place(whole)?, whole_ty) else { return Ok(()) };
        let (from, _) = self.part(place, whole_ty, &path(inst, 1))?;
        let access = Self::aligned(from);
        if self.demotion.is_large(ty) {
            let to = self.define(result, ty)?;
            let to = self.whole(to, ty);
            self.copy_memory(to, from, &access);
            return Ok(());
        }
        match from {
            Place::Memory { pointer, .. } => {
                let [mask, align] = access;
                self.push(Op::Load, Some(ty), Some(result), smallvec![Operand::Id(pointer), mask, align]);
            }
            Place::Nowhere => self.push(Op::Undef, Some(ty), Some(result), SmallVec::new()),
        }
        Ok(())
    }

    fn type_of(&self, id: Id) -> Option<TypeId> {
        let constant = || self.demotion.module.constants.get(&id).map(|constant| constant.ty);
        let value = self.values.get(&id).map(|value| value.ty);
        value
            .or_else(|| [&self.params, &self.undefined].into_iter().find_map(|types| types.get(&id).copied()))
            .or_else(constant)
    }

    fn select(&mut self, inst: &Inst, result: Id, ty: TypeId) -> Result<(), Fault> {
        let [one, other] = [self.private(inst.id(1), ty)?, self.private(inst.id(2), ty)?];
        let to = self.define(result, ty)?;
        let (chosen, pointer) = (self.demotion.fresh()?, self.demotion.pointer(StorageClass::Function, ty)?);
        let operands = smallvec![inst.operands[0], Operand::Id(one), Operand::Id(other)];
        self.push(Op::Select, Some(pointer), Some(chosen), operands);
        self.push(Op::CopyMemory, None, None, smallvec![Operand::Id(to), Operand::Id(chosen)]);
        Ok(())
    }

    /// Validation has seen that both look the same in memory.
    fn copy_logical(&mut self, inst: &Inst, result: Id, ty: TypeId) -> Result<(), Fault> {
        let to = self.define(result, ty)?;
        let Some(Place::Memory { pointer, class, .. }) = self.place(inst.id(0))? else { return Ok(()) };
        let (cast, pointer_ty) = (self.demotion.fresh()?, self.demotion.pointer(class, ty)?);
        self.push(Op::Bitcast, Some(pointer_ty), Some(cast), smallvec![Operand::Id(pointer)]);
        self.push(Op::CopyMemory, None, None, smallvec![Operand::Id(to), Operand::Id(cast)]);
        Ok(())
    }

    fn call(&mut self, mut inst: Inst, large: Option<(Id, TypeId)>) -> Result<(), Fault> {
        for at in 1..inst.operands.len() {
            let Operand::Id(id) = inst.operands[at] else { continue };
            if self.is_large(id)? {
                let id = self.same.get(&id).copied().unwrap_or(id);
                let Some(ty) = self.type_of(id) else { continue };
                inst.operands[at] = Operand::Id(self.private(id, ty)?);
            }
        }
        if let Some((result, ty)) = large {
            let to = self.define(result, ty)?;
            inst.operands.push(Operand::Id(to));
            inst.ty = Some(self.demotion.void);
            inst.result = Some(self.demotion.fresh()?);
        }
        self.new.push(inst);
        Ok(())
    }
}

/// The literal indices of an instruction from operand `first` on.
fn path(inst: &Inst, first: usize) -> SmallVec<[u64; 8]> {
    (first..inst.operands.len()).map(|at| inst.lit(at)).collect()
}
