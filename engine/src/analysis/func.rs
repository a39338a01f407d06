//! The engine's own form of a kernel, or of a function that stays a function: one flat control-flow graph, with
//! the calls inlined that `inlining` says.
//!
//! SPIR-V forbids recursion (L0 SPIR-V Guide, Validation Rules), so inlining always ends, and analyses see through
//! what is inlined. The form stays close to SPIR-V: instructions keep their opcode and
//! operands; only phis, terminators and block names are typed, because passes rewrite those.

mod by_value;
mod chain;

pub use chain::ChainStep;

use crate::analysis::inlining::Plan;
use crate::analysis::private::has_by_val;
use crate::error::EngineError;
use cranelift_entity::{EntityRef, PrimaryMap, entity_impl};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use spirv::{Decoration, Op, StorageClass};
use spirv_env::{
    ConstantValue, GlobalVariable, Id, Inst, Kernel, Module, Operand, Type, TypeId, fold_numbers,
};
use std::rc::Rc;
use ze_extensions::limits::KERNEL_INSTRUCTIONS;

/// A block of a [`Func`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(u32);
entity_impl!(BlockId, "b");

/// The block where a kernel begins.
pub const ENTRY: BlockId = BlockId(0);

/// Operands of a phi: predecessors with the values that they bring.
pub type Incoming = SmallVec<[(BlockId, Id); 2]>;

#[derive(Clone, Debug)]
pub struct Phi {
    pub result: Id,
    pub ty: TypeId,
    pub incoming: Incoming,
}

impl Phi {
    /// What it is if control comes from a block.
    pub fn from(&self, block: BlockId) -> Option<Id> {
        self.incoming.iter().find(|(pred, _)| *pred == block).map(|(_, id)| *id)
    }
}

#[derive(Clone, Debug)]
pub enum Terminator {
    Branch(BlockId),
    Cond {
        cond: Id,
        then: BlockId,
        els: BlockId,
    },
    Switch {
        selector: Id,
        cases: Vec<(u64, BlockId)>,
        default: BlockId,
    },
    /// Dispatch on an integer that the engine made itself, when it removed irreducible control flow: the
    /// value picks the target with that index.
    Dispatch {
        selector: Id,
        targets: Vec<BlockId>,
    },
    /// On to `to` if any work-item of those that are executed together needs that. Else nothing that follows has an effect, and
    /// they leave the kernel.
    IfNeeded {
        needed: Id,
        to: BlockId,
    },
    /// On to `then` if a value is true for all work-items of those that are executed together, and none of them is missing; else on to `els`. All of
    /// them go the same way, nearly always to `then` if that is what is expected.
    IfAll {
        holds: Id,
        then: BlockId,
        els: BlockId,
        is_expected: bool,
    },
    /// On to `then` if no more than so many lanes of a sub-group are on; else on to `els`. All of them go the same way.
    IfFew {
        most: u32,
        then: BlockId,
        els: BlockId,
    },
    /// The end of the function; only the exit block has it.
    Return,
}

impl Terminator {
    /// Successors in order, possibly with repetitions.
    pub fn successors(&self) -> SmallVec<[BlockId; 2]> {
        match self {
            Terminator::Branch(to) | Terminator::IfNeeded { to, .. } => SmallVec::from_slice(&[*to]),
            Terminator::Cond { then, els, .. }
            | Terminator::IfAll { then, els, .. }
            | Terminator::IfFew { then, els, .. } => SmallVec::from_slice(&[*then, *els]),
            Terminator::Switch { cases, default, .. } => {
                cases.iter().map(|(_, to)| *to).chain([*default]).collect()
            }
            Terminator::Dispatch { targets, .. } => targets.iter().copied().collect(),
            Terminator::Return => SmallVec::new(),
        }
    }

    pub fn retarget(&mut self, from: BlockId, to: BlockId) {
        let fix = |target: &mut BlockId| {
            if *target == from {
                *target = to;
            }
        };
        match self {
            Terminator::Branch(target) | Terminator::IfNeeded { to: target, .. } => fix(target),
            Terminator::Cond { then, els, .. }
            | Terminator::IfAll { then, els, .. }
            | Terminator::IfFew { then, els, .. } => {
                fix(then);
                fix(els);
            }
            Terminator::Switch { cases, default, .. } => {
                cases.iter_mut().for_each(|(_, target)| fix(target));
                fix(default);
            }
            Terminator::Dispatch { targets, .. } => targets.iter_mut().for_each(fix),
            Terminator::Return => {}
        }
    }

    pub(super) fn used_mut(&mut self) -> Option<&mut Id> {
        match self {
            Terminator::Cond { cond, .. } => Some(cond),
            Terminator::Switch { selector, .. } | Terminator::Dispatch { selector, .. } => Some(selector),
            Terminator::IfNeeded { needed, .. } => Some(needed),
            Terminator::IfAll { holds, .. } => Some(holds),
            Terminator::Branch(_) | Terminator::IfFew { .. } | Terminator::Return => None,
        }
    }

    /// The value that decides between successors, for each work-item.
    pub fn condition(&self) -> Option<Id> {
        self.used().filter(|_| !matches!(self, Terminator::IfNeeded { .. } | Terminator::IfAll { .. }))
    }

    /// The value that it looks at.
    pub fn used(&self) -> Option<Id> {
        match self {
            Terminator::Cond { cond, .. } => Some(*cond),
            Terminator::Switch { selector, .. } | Terminator::Dispatch { selector, .. } => Some(*selector),
            Terminator::IfNeeded { needed, .. } => Some(*needed),
            Terminator::IfAll { holds, .. } => Some(*holds),
            Terminator::Branch(_) | Terminator::IfFew { .. } | Terminator::Return => None,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Block {
    pub phis: Vec<Phi>,
    pub insts: Vec<Inst>,
    pub term: Terminator,
}

impl Block {
    /// An empty block that goes on to `to`.
    pub fn forward(to: BlockId) -> Self {
        Self { phis: Vec::new(), insts: Vec::new(), term: Terminator::Branch(to) }
    }

    /// What it uses, but for what its phis bring.
    pub(super) fn used_mut(&mut self) -> impl Iterator<Item = &mut Id> {
        let operands = self.insts.iter_mut().flat_map(|inst| &mut inst.operands);
        let ids = operands.filter_map(|operand| match operand {
            Operand::Id(id) => Some(id),
            Operand::Lit(_) => None,
        });
        ids.chain(self.term.used_mut())
    }
}

/// Constants that the engine adds to a function.
#[derive(Clone, Copy, Debug)]
pub enum Synthetic {
    /// A 32-bit integer.
    Int(u32),
    /// The bits of an integer or a Boolean of a type of the module.
    Number(u64),
    Undef,
}

/// What lanes have of a value that the engine copies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taken {
    /// All that of the first work-item of those that are executed together.
    OfFirst,
    /// All that of the first lane that is on.
    OfTurn,
    /// Of a Boolean that is true, whether they are the first lane that is on.
    HasTurn,
}

/// A kernel, or a function that it calls, with everything that is inlined into it.
#[derive(Clone, Debug)]
pub struct Func<'m> {
    pub module: &'m Module,
    pub kernel: &'m Kernel,
    /// The function itself: the kernel's, or one that stays a function.
    pub function: Id,
    pub blocks: PrimaryMap<BlockId, Block>,
    /// The function's parameters.
    pub params: Vec<(Id, TypeId)>,
    /// Types of parameters and of all results.
    pub types: FxHashMap<Id, TypeId>,
    /// Values that are members of structures which the kernel is passed by value and leaves as they are: the parameter, and bytes from its beginning.
    pub(super) members: FxHashMap<Id, (Id, u64)>,
    /// Values of the engine's own, of type `u32` where they are integers.
    pub synthetic: FxHashMap<Id, Synthetic>,
    /// Phis of the engine's own that hold a dispatch number; they have no SPIR-V type.
    pub selectors: rustc_hash::FxHashSet<Id>,
    /// Copies of the engine's own of which lanes have something else than what is copied.
    taken: FxHashMap<Id, Taken>,
    /// What a result of an inlined function is called in the module: decorations are kept under that id.
    origins: FxHashMap<Id, Id>,
    next_id: u32,
    /// Module-scope variables, of which there may be as many as instructions.
    globals: FxHashMap<Id, &'m GlobalVariable>,
    insts: u64,
    pub(super) plan: Rc<Plan>,
    /// Objects of by-value parameters of the functions called, until they are resolved.
    copies: Vec<by_value::Copy>,
}

impl<'m> Func<'m> {
    /// Flattens `kernel`: its function and, in place, every function that `plan` inlines.
    pub fn build(module: &'m Module, kernel: &'m Kernel, plan: &Rc<Plan>) -> Result<Self, EngineError> {
        Self::of(module, kernel, kernel.function, plan)
    }

    /// The first line that it has, as an index into the module's. That may be a line of a function called: translators make
    /// entry points that only call the kernel.
    pub fn first_line(&self) -> Option<u32> {
        self.blocks.values().flat_map(|block| &block.insts).find_map(|inst| inst.line)
    }

    /// Flattens a function that `kernel` reaches, as [`build`](Self::build) does the kernel itself. What it returns is
    /// the operand of an `OpReturnValue` in the exit block.
    pub fn of(
        module: &'m Module,
        kernel: &'m Kernel,
        function: Id,
        plan: &Rc<Plan>,
    ) -> Result<Self, EngineError> {
        let mut func = Func {
            module,
            kernel,
            function,
            blocks: PrimaryMap::new(),
            params: Vec::new(),
            types: FxHashMap::default(),
            members: FxHashMap::default(),
            synthetic: FxHashMap::default(),
            selectors: Default::default(),
            taken: FxHashMap::default(),
            origins: FxHashMap::default(),
            next_id: module.bound,
            insts: 0,
            plan: Rc::clone(plan),
            copies: Vec::new(),
            globals: module.globals.iter().map(|global| (global.id, global)).collect(),
        };
        let source = module
            .function(function)
            .ok_or_else(|| func.unsupported("a call of something that is not a function".into()))?;
        func.params = source.params.clone();
        func.types.extend(source.params.iter().copied());
        let mut map = FxHashMap::default();
        func.copy_by_value(&mut map);
        // The block that all returns lead to. Its number is only known at the end, so returns are collected.
        let body = func.splice(source, &mut map, true)?;
        let exit = func.push(Block { phis: Vec::new(), insts: Vec::new(), term: Terminator::Return });
        for &(block, _) in &body.returns {
            func.blocks[block].term = Terminator::Branch(exit);
        }
        if !matches!(module.types.get(source.result), Type::Void) {
            let result = func.fresh();
            func.merge_results(exit, result, source.result, &body.returns);
            func.blocks[exit].insts.push(Inst {
                op: Op::ReturnValue,
                ty: None,
                result: None,
                operands: std::iter::once(Operand::Id(result)).collect(),
                line: None,
            });
        }
        let copies = std::mem::take(&mut func.copies);
        if !copies.is_empty() {
            by_value::resolve(&mut func, &copies);
        }
        Ok(func)
    }

    /// Whether this is the kernel itself, and not a function that it calls.
    pub fn is_kernel(&self) -> bool {
        self.function == self.kernel.function
    }

    /// Gives a called function objects of its own for what it is passed by value, before anything else happens.
    fn copy_by_value(&mut self, map: &mut FxHashMap<Id, Id>) {
        let module = self.module;
        let by_value = |(param, _): &(Id, TypeId)| has_by_val(module, *param);
        let params: Vec<_> = self.params.iter().copied().filter(by_value).collect();
        if self.is_kernel() || params.is_empty() {
            return;
        }
        let at = self.push(Block::forward(BlockId::new(ENTRY.index() + 1)));
        for (param, ty) in params {
            let object = self.fresh();
            self.copies.push(by_value::Copy { object, ty, from: param, at });
            map.insert(param, object);
        }
    }

    /// The argument that a value is, or is a member of, and the bytes from its beginning.
    pub fn given(&self, id: Id) -> Option<(usize, u64)> {
        let (param, offset) = self.members.get(&id).copied().unwrap_or((id, 0));
        Some((self.params.iter().position(|(of, _)| *of == param)?, offset))
    }

    /// The parameter whose member a value is, as the kernel is passed it (`analysis::arguments`).
    pub fn structure_of(&self, member: Id) -> Option<Id> {
        self.members.get(&member).map(|(param, _)| *param)
    }

    pub fn unsupported(&self, what: String) -> EngineError {
        EngineError::Unsupported { kernel: self.kernel.name.clone(), what }
    }

    pub fn push(&mut self, block: Block) -> BlockId {
        self.blocks.push(block)
    }

    pub fn fresh(&mut self) -> Id {
        let id = Id(self.next_id);
        self.next_id += 1;
        id
    }

    /// A new id for a value of this type.
    pub(super) fn fresh_of(&mut self, ty: TypeId) -> Id {
        let id = self.fresh();
        self.types.insert(id, ty);
        id
    }

    /// The same instruction once more, of other operands.
    pub fn copied(&mut self, inst: &Inst, of: impl Fn(Id) -> Id) -> Inst {
        let mut copy = inst.clone();
        for operand in &mut copy.operands {
            if let Operand::Id(id) = operand {
                *id = of(*id);
            }
        }
        copy.result = inst.result.map(|result| {
            let fresh = self.fresh();
            self.origins.insert(fresh, self.origins.get(&result).copied().unwrap_or(result));
            self.types.extend(inst.ty.map(|ty| (fresh, ty)));
            fresh
        });
        copy
    }

    /// A new instruction of these values.
    pub(super) fn computed(&mut self, op: Op, ty: TypeId, operands: &[Id]) -> (Inst, Id) {
        let result = self.fresh_of(ty);
        let operands = operands.iter().map(|id| Operand::Id(*id)).collect();
        (Inst { op, ty: Some(ty), result: Some(result), operands, line: None }, result)
    }

    /// A number of a type of the module, by its bits.
    pub(super) fn number(&mut self, bits: u64, ty: TypeId) -> Id {
        let number = self.synthetic(Synthetic::Number(bits));
        self.types.insert(number, ty);
        number
    }

    /// Brings the operands of phis into the order in which edges look for theirs.
    pub fn sort_phis(&mut self) {
        let phis = self.blocks.values_mut().flat_map(|block| &mut block.phis);
        phis.for_each(|phi| phi.incoming.sort_unstable_by_key(|(pred, _)| *pred));
    }

    pub fn synthetic(&mut self, value: Synthetic) -> Id {
        let id = self.fresh();
        self.synthetic.insert(id, value);
        id
    }

    /// A copy of which lanes have this.
    pub(super) fn take(&mut self, taken: Taken, ty: TypeId, of: Id) -> (Inst, Id) {
        let (inst, copy) = self.computed(Op::CopyObject, ty, &[of]);
        self.taken.insert(copy, taken);
        (inst, copy)
    }

    /// What lanes have of a value, if an instruction is such a copy.
    pub fn taken(&self, inst: &Inst) -> Option<Taken> {
        inst.result.filter(|_| inst.op == Op::CopyObject).and_then(|id| self.taken.get(&id).copied())
    }

    pub fn block_ids(&self) -> impl Iterator<Item = BlockId> + use<> {
        self.blocks.keys()
    }

    /// The type of a value: a result, a parameter, a constant or a module-scope variable.
    pub fn type_of(&self, id: Id) -> Option<TypeId> {
        self.types
            .get(&id)
            .copied()
            .or_else(|| self.module.constants.get(&id).map(|constant| constant.ty))
            .or_else(|| self.global(id).map(|global| global.ty))
    }

    /// A value that nobody has made.
    pub(super) fn undefined(&mut self, ty: TypeId) -> Id {
        let id = self.synthetic(Synthetic::Undef);
        self.types.insert(id, ty);
        id
    }

    /// The storage class that a pointer leads to.
    pub fn class_of(&self, pointer: Id) -> Option<StorageClass> {
        match self.module.types.get(self.type_of(pointer)?) {
            Type::Pointer { class, .. } => Some(*class),
            _ => None,
        }
    }

    /// The bits of an integer.
    pub fn index_width(&self, id: Id) -> Option<u32> {
        match self.module.types.get(self.type_of(id)?) {
            Type::Int { width } => Some(*width),
            _ => None,
        }
    }

    /// The blocks that values are made in.
    pub(super) fn definitions(&self) -> FxHashMap<Id, BlockId> {
        let mut found = FxHashMap::default();
        for (at, block) in &self.blocks {
            found.extend(block.phis.iter().map(|phi| (phi.result, at)));
            found.extend(block.insts.iter().filter_map(|inst| Some((inst.result?, at))));
        }
        found
    }

    /// Whether what is stored through a pointer is not seen through those of a class.
    pub fn is_stored_elsewhere(&self, pointer: Id, class: StorageClass) -> bool {
        let is_apart = |written| written != class && ![written, class].contains(&StorageClass::Generic);
        class == StorageClass::UniformConstant || self.class_of(pointer).is_some_and(is_apart)
    }

    /// The size of what a pointer points to.
    pub fn pointee_bytes(&self, pointer: Id) -> Option<u64> {
        match self.module.types.get(self.type_of(pointer)?) {
            Type::Pointer { pointee, .. } => Some(self.module.types.layout(*pointee).size),
            _ => None,
        }
    }

    /// The module-scope variable with this id.
    pub fn global(&self, id: Id) -> Option<&'m GlobalVariable> {
        self.globals.get(&id).copied()
    }

    /// The literals of a decoration on a value, if it has one of that kind.
    pub fn decoration(&self, id: Id, kind: Decoration) -> Option<&'m [u32]> {
        self.module.decoration(self.origins.get(&id).copied().unwrap_or(id), kind)
    }

    /// Whether a conversion gives the nearest number where it cannot give the same.
    pub fn saturates(&self, inst: &Inst) -> bool {
        inst.result.is_some_and(|id| self.decoration(id, Decoration::SaturatedConversion).is_some())
    }

    /// The integer value of a constant, zero-extended.
    pub fn constant_bits(&self, id: Id) -> Option<u64> {
        if let Some(Synthetic::Number(bits)) = self.synthetic.get(&id) {
            return Some(*bits);
        }
        match &self.module.constants.get(&id)?.value {
            ConstantValue::Scalar(bits) => Some(*bits),
            ConstantValue::Bool(value) => Some(u64::from(*value)),
            ConstantValue::Null => match self.module.types.get(self.module.constants[&id].ty) {
                Type::Int { .. } | Type::Float { .. } | Type::Bool | Type::Pointer { .. } => Some(0),
                _ => None,
            },
            _ => None,
        }
    }

    /// What an instruction makes of integers and Booleans that are known; `of` says which are, and their bits.
    pub(super) fn number_of(&self, inst: &Inst, of: impl Fn(Id) -> Option<u64>) -> Option<u64> {
        let saturates = |id: Id| self.decoration(id, Decoration::SaturatedConversion).is_some();
        if inst.result.is_none_or(saturates) {
            return None;
        }
        let number = |operand: &Operand| match operand {
            Operand::Id(id) => Some((self.type_of(*id)?, of(*id)?)),
            Operand::Lit(_) => None,
        };
        let operands = inst.operands.iter().map(number).collect::<Option<SmallVec<[(TypeId, u64); 2]>>>()?;
        (!operands.is_empty()).then(|| fold_numbers(self.module, inst.op, inst.ty?, &operands)).flatten()
    }

    /// The integer value of a constant, sign-extended from its type's width.
    pub fn constant_int(&self, id: Id) -> Option<i64> {
        let bits = self.constant_bits(id)?;
        Some(match self.module.types.get(self.type_of(id)?) {
            Type::Int { width } => {
                let unused = u64::BITS.saturating_sub(*width);
                ((bits << unused) as i64) >> unused
            }
            _ => bits as i64,
        })
    }

    /// The integer value of a component of a constant vector, or of a constant that is none.
    pub fn constant_component(&self, id: Id, component: usize) -> Option<i64> {
        match &self.module.constants.get(&id)?.value {
            ConstantValue::Composite(parts) => self.constant_int(*parts.get(component)?),
            _ => self.constant_int(id),
        }
    }

    /// The integer value that all components of a constant vector have.
    pub fn constant_of_all_components(&self, id: Id) -> Option<i64> {
        let ConstantValue::Composite(parts) = &self.module.constants.get(&id)?.value else { return None };
        let first = self.constant_int(*parts.first()?)?;
        parts.iter().all(|part| self.constant_int(*part) == Some(first)).then_some(first)
    }

    /// Copies `source` into this function with `map` as the renaming of its ids. The first function keeps its
    /// own ids; copies get fresh ones.
    fn splice(
        &mut self,
        source: &spirv_env::Function,
        map: &mut FxHashMap<Id, Id>,
        keep_ids: bool,
    ) -> Result<Spliced, EngineError> {
        if source.blocks.is_empty() {
            return Err(EngineError::Unresolved {
                kernel: self.kernel.name.clone(),
                symbol: source.name.clone().unwrap_or_else(|| source.id.to_string()),
            });
        }
        if !keep_ids {
            let results = source.blocks.iter().flat_map(|b| b.insts.iter().filter_map(|inst| inst.result));
            for result in results.collect::<Vec<_>>() {
                let fresh = self.fresh();
                map.insert(result, fresh);
                self.origins.insert(fresh, result);
            }
        }
        let rename = |map: &FxHashMap<Id, Id>, id: Id| map.get(&id).copied().unwrap_or(id);
        // `first[label]` is the copy's first block, `last[label]` the one that ends it: a call splits a block.
        let mut first: FxHashMap<Id, BlockId> = FxHashMap::default();
        for block in &source.blocks {
            let id = self.push(Block { phis: Vec::new(), insts: Vec::new(), term: Terminator::Return });
            first.insert(block.label, id);
        }
        let mut last: FxHashMap<Id, BlockId> = FxHashMap::default();
        let mut returns = Vec::new();
        let mut phis: Vec<(BlockId, Inst)> = Vec::new();
        for block in &source.blocks {
            let mut at = first[&block.label];
            for inst in &block.insts {
                self.insts += 1;
                if self.insts > KERNEL_INSTRUCTIONS {
                    return Err(self.unsupported(format!(
                        "a call tree of more than {KERNEL_INSTRUCTIONS} instructions"
                    )));
                }
                let target = |operand: usize| first[&inst.id(operand)];
                match inst.op {
                    Op::Phi => phis.push((at, inst.clone())),
                    Op::Branch => self.blocks[at].term = Terminator::Branch(target(0)),
                    Op::BranchConditional => {
                        let cond = rename(map, inst.id(0));
                        let (then, els) = (target(1), target(2));
                        self.blocks[at].term = if then == els {
                            Terminator::Branch(then)
                        } else {
                            Terminator::Cond { cond, then, els }
                        };
                    }
                    Op::Switch => {
                        let cases = inst.operands[2..]
                            .chunks_exact(2)
                            .map(|pair| match pair {
                                [Operand::Lit(value), Operand::Id(label)] => (*value, first[label]),
                                _ => unreachable!("OpSwitch has literal and label pairs"),
                            })
                            .collect();
                        self.blocks[at].term = Terminator::Switch {
                            selector: rename(map, inst.id(0)),
                            cases,
                            default: target(1),
                        };
                    }
                    Op::Return | Op::Unreachable => returns.push((at, None)),
                    Op::ReturnValue => returns.push((at, Some(rename(map, inst.id(0))))),
                    Op::FunctionCall => at = self.call(inst, at, map)?,
                    Op::FunctionPointerCallINTEL => self.kept_call(inst, at, 0, map),
                    _ => {
                        let mut copy = inst.clone();
                        for operand in &mut copy.operands {
                            if let Operand::Id(id) = operand {
                                *id = rename(map, *id);
                            }
                        }
                        copy.result = copy.result.map(|id| rename(map, id));
                        if let (Some(result), Some(ty)) = (copy.result, copy.ty) {
                            self.types.insert(result, ty);
                        }
                        self.blocks[at].insts.push(copy);
                    }
                }
            }
            last.insert(block.label, at);
        }
        for (at, inst) in phis {
            let result = rename(map, inst.result.expect("a phi has a result"));
            let ty = inst.ty.expect("a phi has a type");
            self.types.insert(result, ty);
            let ids: SmallVec<[Id; 8]> = inst.ids().collect();
            // A block may reach this one by several edges (a switch); the phi then lists it once or more.
            let mut incoming: Incoming = SmallVec::new();
            for pair in ids.chunks_exact(2) {
                if let Some(&pred) = last.get(&pair[1]) {
                    incoming.push((pred, rename(map, pair[0])));
                }
            }
            incoming.sort_by_key(|(pred, _)| *pred);
            incoming.dedup_by_key(|(pred, _)| *pred);
            self.blocks[at].phis.push(Phi { result, ty, incoming });
        }
        Ok(Spliced { entry: first[&source.blocks[0].label], returns })
    }

    /// Inlines the call `inst` that ends `at` so far, or keeps it; returns the block where the caller goes on.
    fn call(&mut self, inst: &Inst, at: BlockId, map: &FxHashMap<Id, Id>) -> Result<BlockId, EngineError> {
        let module = self.module;
        let rename = |id: Id| map.get(&id).copied().unwrap_or(id);
        let returns = inst.ty.filter(|ty| !matches!(module.types.get(*ty), Type::Void));
        if self.plan.keeps(inst.id(0)) {
            self.kept_call(inst, at, 1, map);
            return Ok(at);
        }
        let callee = module
            .function(inst.id(0))
            .ok_or_else(|| self.unsupported("a call of something that is not a function".into()))?;
        let mut inner: FxHashMap<Id, Id> = FxHashMap::default();
        // The intake has cast arguments where modules that were compiled apart disagree about a pointee.
        for (&(param, ty), operand) in callee.params.iter().zip(&inst.operands[1..]) {
            let Operand::Id(id) = operand else { continue };
            let mut value = rename(*id);
            if has_by_val(module, param) {
                let object = self.fresh();
                self.copies.push(by_value::Copy { object, ty, from: value, at });
                value = object;
            }
            inner.insert(param, value);
        }
        let body = self.splice(callee, &mut inner, false)?;
        self.blocks[at].term = Terminator::Branch(body.entry);
        let rest = self.push(Block { phis: Vec::new(), insts: Vec::new(), term: Terminator::Return });
        for &(block, _) in &body.returns {
            self.blocks[block].term = Terminator::Branch(rest);
        }
        if let (Some(result), Some(ty)) = (inst.result, returns) {
            self.merge_results(rest, rename(result), ty, &body.returns);
        }
        Ok(rest)
    }

    /// Copies a call that stays one, and whose operands from `first` on are values.
    fn kept_call(&mut self, inst: &Inst, at: BlockId, first: usize, map: &FxHashMap<Id, Id>) {
        let rename = |id: Id| map.get(&id).copied().unwrap_or(id);
        let mut call = inst.clone();
        for operand in call.operands.iter_mut().skip(first) {
            if let Operand::Id(id) = operand {
                *id = rename(*id);
            }
        }
        call.ty = inst.ty.filter(|ty| !matches!(self.module.types.get(*ty), Type::Void));
        call.result = inst.result.filter(|_| call.ty.is_some()).map(rename);
        self.types.extend(call.result.zip(call.ty));
        self.blocks[at].insts.push(call);
    }

    /// Makes `result`, in the block `at` that all returns lead to, what a function returns.
    fn merge_results(&mut self, at: BlockId, result: Id, ty: TypeId, returns: &[(BlockId, Option<Id>)]) {
        let mut incoming: Incoming = SmallVec::new();
        for (block, value) in returns {
            let value = value.unwrap_or_else(|| {
                // `OpUnreachable` in a function that returns a value.
                let undefined = self.synthetic(Synthetic::Undef);
                self.types.insert(undefined, ty);
                undefined
            });
            incoming.push((*block, value));
        }
        self.types.insert(result, ty);
        self.blocks[at].phis.push(Phi { result, ty, incoming });
    }
}

struct Spliced {
    entry: BlockId,
    returns: Vec<(BlockId, Option<Id>)>,
}
