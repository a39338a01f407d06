//! Values under lowering: leaves held as scalars, vectors or both; slots for values that cross blocks.
//!
//! A uniform leaf is one scalar. A strided leaf is a vector and the scalar of lane 0, both computed by the
//! same operations; addresses use the scalar, everything else the vector, and LLVM drops what nobody
//! uses. A varying leaf is a vector.
//!
//! Linearized control flow has no useful dominance, so a value that is used outside its block goes through
//! stack slots, which LLVM's SROA turns back into SSA form.

use super::builder::{Label, Value};
use super::{Lowerer, packed};
use crate::analysis::Analysis;
use crate::analysis::carried::Carried;
use crate::analysis::func::{BlockId, ENTRY, Synthetic};
use crate::analysis::leaves::{Leaf, Scalar};
use crate::analysis::loops::LoopId;
use crate::analysis::packed::Packing;
use crate::analysis::shapes::Shape;
use crate::constant_bytes;
use crate::error::EngineError;
use crate::image::Sampler;
use cranelift_entity::EntitySet;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};
use spirv::StorageClass;
use spirv_env::opcodes::Memory;
use spirv_env::{ConstantValue, Id, Inst, TypeId};
use std::rc::Rc;

/// One leaf of a value: the scalar (uniform: of all lanes; strided: of lane 0), the lanes, or both.
#[derive(Clone, Copy, Debug)]
pub struct Reg {
    scalar: Option<Value>,
    vector: Option<Value>,
}

/// All leaves of a value.
pub type Val = SmallVec<[Reg; 1]>;

impl Reg {
    /// Whether two leaves are held in the same LLVM values.
    pub fn is_same(&self, other: &Self) -> bool {
        (self.scalar, self.vector) == (other.scalar, other.vector)
    }

    /// The same in all lanes.
    pub fn uniform(scalar: Value) -> Self {
        Reg { scalar: Some(scalar), vector: None }
    }

    pub fn varying(vector: Value) -> Self {
        Reg { scalar: None, vector: Some(vector) }
    }

    /// All lanes, and the scalar of lane 0.
    pub fn strided(scalar: Value, vector: Value) -> Self {
        Reg { scalar: Some(scalar), vector: Some(vector) }
    }

    pub fn is_uniform(&self) -> bool {
        self.vector.is_none()
    }

    /// The lanes of a leaf that is no more than that.
    pub fn only_vector(&self) -> Option<Value> {
        self.vector.filter(|_| self.scalar.is_none())
    }

    /// The scalar of a uniform leaf.
    pub fn of_all_lanes(&self) -> Option<Value> {
        self.scalar.filter(|_| self.is_uniform())
    }

    /// The scalar of lane 0 of a uniform or strided leaf.
    pub fn scalar(&self) -> Option<Value> {
        self.scalar
    }
}

/// The values of a sub-group, or those that a bundle has in common.
#[derive(Default)]
pub(super) struct Values {
    /// What the block being lowered has seen.
    pub block: FxHashMap<Id, Val>,
    /// What the edge being lowered has seen beside that, and other edges do not see.
    pub edge: FxHashMap<Id, Val>,
    /// Parameters and values of the entry block: they dominate everything.
    pub entry: FxHashMap<Id, Val>,
    pub slots: FxHashMap<Id, Rc<[Slot]>>,
    pub phi_slots: FxHashMap<Id, Rc<[Slot]>>,
    pub temporal_slots: FxHashMap<Id, Rc<[Value]>>,
}

impl Values {
    /// What was made in a block that is being lowered.
    pub fn made_in(&self, block: BlockId) -> &FxHashMap<Id, Val> {
        if block == ENTRY { &self.entry } else { &self.block }
    }
}

/// Stack slots of one leaf.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    scalar: Option<Value>,
    vector: Option<Value>,
    /// Lanes of the vector.
    lanes: u32,
}

impl Slot {
    pub(super) fn has_scalar(&self) -> bool {
        self.scalar.is_some()
    }
}

/// Values that are used outside the block that makes them.
pub(super) struct DistantUses {
    /// Where control flow brings them.
    pub(super) crossing: FxHashSet<Id>,
    /// After a divergent loop that made them.
    temporal: FxHashSet<Id>,
    /// Those of them that share a place with a phi of the loop.
    pub(super) carried: Carried,
    /// The crossing ones that are made and used in each iteration of a loop, by its header, if they are made under masks of their own.
    of_iterations: FxHashMap<BlockId, Rc<[Id]>>,
}

impl DistantUses {
    /// `may_share` says which values are held so that they may share a place with another one, and `has_masks` whether the processor blends as it computes.
    pub(super) fn new(
        a: &Analysis<'_>,
        lockstep: &EntitySet<BlockId>,
        has_masks: bool,
        may_share: impl Fn(BlockId, Id) -> bool,
    ) -> Self {
        let [mut crossing, mut temporal, mut far] = [(); 3].map(|()| FxHashSet::default());
        let mut of_iterations: FxHashMap<BlockId, FxHashSet<Id>> = FxHashMap::default();
        let mut note = |block: BlockId, id: Id, use_is_exit: bool| match a.def.get(&id) {
            None => {}
            Some(def) if a.is_temporal(block, id) => {
                temporal.insert(id);
                let left = a.loops.left_by(*def, block);
                if left.filter(|this| a.control.divergent_loops.contains(*this)).count() > 1 {
                    far.insert(id);
                }
            }
            // The edges of a block that sub-groups run one by one see nothing of what each of them did.
            Some(def) if *def != block || (use_is_exit && !lockstep.contains(block)) => {
                crossing.insert(id);
                let is_around = |this: &LoopId| a.loops.encloses(Some(*this), a.loops.of(block));
                let header = a.loops.around(*def).find(is_around).map(|this| a.loops.get(this).header);
                let is_masked = |header: &BlockId| a.control.class[*def] != a.control.class[*header];
                if let Some(header) = header.filter(is_masked) {
                    of_iterations.entry(header).or_default().insert(id);
                }
            }
            Some(_) => {}
        };
        for block in a.func.block_ids() {
            let code = &a.func.blocks[block];
            for phi in &code.phis {
                phi.incoming.iter().for_each(|(pred, id)| note(*pred, *id, true));
            }
            code.insts.iter().flat_map(|inst| inst.ids()).for_each(|id| note(block, id, false));
            code.term.used().into_iter().for_each(|id| note(block, id, true));
        }
        // Indices of components are used where the built-in is loaded.
        for (block, inst) in a
            .func
            .block_ids()
            .flat_map(|block| a.func.blocks[block].insts.iter().map(move |inst| (block, inst)))
        {
            if matches!(inst.row().memory, Memory::Read { .. })
                && let Some(pointer) = a.builtins.get(&inst.id(0))
            {
                pointer.indices.iter().for_each(|(index, _)| note(block, *index, false));
            }
        }
        let carried = Carried::new(a, &temporal, &far, has_masks, may_share);
        temporal.extend(carried.values());
        // In an order that is the same each time.
        let sorted = |ids: FxHashSet<Id>| {
            let mut ids: Vec<Id> = ids.into_iter().collect();
            ids.sort_unstable();
            Rc::from(ids)
        };
        let of_iterations = of_iterations.into_iter().map(|(header, ids)| (header, sorted(ids))).collect();
        DistantUses { crossing, temporal, carried, of_iterations }
    }
}

/// The mask that code runs under.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mask {
    /// All lanes are on, known at compile time.
    All,
    Lanes(Value),
}

impl Mask {
    /// The lanes that are on, where those are not known to be all.
    pub fn lanes(self) -> Option<Value> {
        match self {
            Mask::All => None,
            Mask::Lanes(mask) => Some(mask),
        }
    }
}

impl Lowerer<'_, '_> {
    /// The lanes of a leaf; a scalar where W is 1.
    pub fn vector(&self, reg: Reg) -> Value {
        self.spread(reg, self.packing.map_or(self.w, |packing| packing.lanes))
    }

    /// The same with so many lanes, which a leaf that has any has anyway.
    pub(super) fn spread(&self, reg: Reg, lanes: u32) -> Value {
        match reg.vector {
            Some(vector) => vector,
            None => self.b.splat(reg.scalar.expect("a leaf has a scalar or lanes"), lanes),
        }
    }

    /// The mask as a vector of bools (one bool where W is 1).
    pub fn mask_vector(&self) -> Value {
        self.vector_of(self.mask())
    }

    pub(super) fn vector_of(&self, mask: Mask) -> Value {
        match mask {
            Mask::All => self.b.int(Scalar::Bool, self.w, 1),
            Mask::Lanes(mask) => mask,
        }
    }

    /// Leaf types of a type; where values are read packed, one a register.
    pub fn leaves(&self, ty: TypeId) -> Result<Rc<[Leaf]>, EngineError> {
        let leaves =
            self.a.leaves.get(ty).ok_or_else(|| {
                self.unsupported(format!("a value of {:?}", self.a.func.module.types.get(ty)))
            })?;
        Ok(match self.packing {
            Some(packing) => std::iter::repeat_n(leaves[0], packing.registers as usize).collect(),
            None => leaves,
        })
    }

    /// Leaf types of a value as it is held.
    pub(super) fn held_leaves(&mut self, id: Id) -> Result<Rc<[Leaf]>, EngineError> {
        self.packed(self.packing_of(id), |this| this.leaves_of(id))
    }

    /// Leaf types of a value.
    pub fn leaves_of(&self, id: Id) -> Result<Rc<[Leaf]>, EngineError> {
        if self.a.func.selectors.contains(&id) || !self.has_type(id) {
            return Ok(Rc::new([Leaf { scalar: Scalar::I32, offset: 0 }]));
        }
        match self.a.func.type_of(id) {
            Some(ty) => self.leaves(ty),
            None => Err(self.unsupported(format!("a use of {id}, which is no value"))),
        }
    }

    fn has_type(&self, id: Id) -> bool {
        !matches!(self.a.func.synthetic.get(&id), Some(Synthetic::Int(_)))
    }

    /// A value as the current block sees it.
    pub fn value(&mut self, id: Id) -> Result<Val, EngineError> {
        let held = self.packed(None, |this| this.held_value(id))?;
        self.in_form(id, held)
    }

    /// A value as it is held.
    fn held_value(&mut self, id: Id) -> Result<Val, EngineError> {
        let (own, shared) = (&self.subgroup().values, &self.bundle.common);
        let known = [&own.block, &shared.block, &own.edge, &shared.edge, &own.entry, &shared.entry];
        if let Some(val) = known.into_iter().find_map(|values| values.get(&id)) {
            return Ok(val.clone());
        }
        let common = self.is_common(self.position.block, id);
        let val = if self.a.is_temporal(self.position.block, id) {
            let slots = own.temporal_slots.get(&id).cloned().unwrap_or_default();
            let leaves = self.leaves_of(id)?;
            slots
                .iter()
                .zip(leaves.iter())
                .map(|(slot, leaf)| Reg::varying(self.b.load(leaf.scalar, self.w, *slot, 1)))
                .collect()
        } else if let Some(slots) = if common { shared } else { own }.slots.get(&id).cloned() {
            let leaves = self.held_leaves(id)?;
            slots.iter().zip(leaves.iter()).map(|(slot, leaf)| self.load_slot(*slot, leaf.scalar)).collect()
        } else {
            self.module_value(id)?
        };
        // What one sub-group reads under a condition of its own, the others do not see.
        let seen_by_all = common && self.bundle.lockstep.contains(self.position.block);
        let on_edge = self.position.on_edge;
        let values = self.values_mut(seen_by_all);
        let seen = if on_edge { &mut values.edge } else { &mut values.block };
        seen.insert(id, val.clone());
        Ok(val)
    }

    /// Whether one value serves all sub-groups of a bundle. Alone, a sub-group has all values for itself.
    pub(super) fn is_common(&self, at: BlockId, id: Id) -> bool {
        self.bundle.subgroups.len() > 1 && self.a.is_common(at, id)
    }

    pub(super) fn values_mut(&mut self, common: bool) -> &mut Values {
        if common { &mut self.bundle.common } else { &mut self.bundle.subgroups[self.bundle.at].values }
    }

    /// The only leaf of a value.
    pub fn leaf(&mut self, id: Id) -> Result<Reg, EngineError> {
        let val = self.value(id)?;
        match val.as_slice() {
            [reg] => Ok(*reg),
            _ => Err(self.unsupported(format!("{id} with {} leaves where a scalar is needed", val.len()))),
        }
    }

    /// A constant, a module-scope variable, or a value of the engine's own.
    fn module_value(&mut self, id: Id) -> Result<Val, EngineError> {
        if let Some(synthetic) = self.a.func.synthetic.get(&id).copied() {
            return match synthetic {
                Synthetic::Int(value) => Ok(smallvec![Reg::uniform(self.b.i32(value))]),
                Synthetic::Number(bits) => {
                    let leaves = self.leaves_of(id)?;
                    Ok(leaves.iter().map(|leaf| Reg::uniform(self.b.int(leaf.scalar, 1, bits))).collect())
                }
                Synthetic::Undef => {
                    let leaves = self.leaves_of(id)?;
                    Ok(leaves.iter().map(|leaf| Reg::uniform(self.b.zero(leaf.scalar, 1))).collect())
                }
            };
        }
        if let Some(constant) = self.a.func.module.constants.get(&id) {
            return self.constant(constant);
        }
        if let Some(global) = self.a.func.global(id) {
            let address = match global.class {
                StorageClass::Workgroup => {
                    let place = self.storage.local_offsets.get(&id).copied();
                    let offset = place.ok_or_else(|| self.unsupported(format!("a use of {id} here")))?;
                    let base = self.local_memory();
                    self.b.offset_const(base, offset)
                }
                _ => {
                    let known = || {
                        let module = self.a.func.module;
                        self.a.is_gone_through(id).then(|| constant_bytes::known(module, global)).flatten()
                    };
                    self.b.external_of(&crate::jit::symbols::global_symbol(id), known)
                }
            };
            return Ok(smallvec![Reg::uniform(address)]);
        }
        Err(self.unsupported(format!("a use of {id}, which has no value here")))
    }

    fn constant(&mut self, constant: &spirv_env::Constant) -> Result<Val, EngineError> {
        let leaves = self.leaves(constant.ty)?;
        Ok(match &constant.value {
            ConstantValue::Null | ConstantValue::Undef => {
                leaves.iter().map(|leaf| Reg::uniform(self.b.zero(leaf.scalar, 1))).collect()
            }
            ConstantValue::Bool(value) => {
                smallvec![Reg::uniform(self.b.int(Scalar::Bool, 1, u64::from(*value)))]
            }
            ConstantValue::Scalar(bits) => {
                let scalar = leaves[0].scalar;
                smallvec![Reg::uniform(if scalar.is_float() {
                    self.b.float_bits(scalar, 1, *bits)
                } else {
                    self.b.int(scalar, 1, *bits)
                })]
            }
            ConstantValue::Wide(bits) => {
                smallvec![Reg::uniform(self.b.wide_int(leaves[0].scalar, 1, *bits))]
            }
            ConstantValue::Composite(parts) => {
                let mut val = Val::new();
                for part in parts {
                    val.extend(self.value(*part)?);
                }
                val
            }
            ConstantValue::Expression { op, operands } => {
                let inst = Inst {
                    op: *op,
                    ty: Some(constant.ty),
                    result: None,
                    operands: operands.iter().copied().collect(),
                    line: None,
                };
                self.compute(&inst)?.ok_or_else(|| self.unsupported(format!("a constant made by {op:?}")))?
            }
            ConstantValue::Sampler { .. } => {
                let sampler = Sampler::literal(&constant.value);
                smallvec![Reg::uniform(self.b.i64(sampler.bits()))]
            }
            ConstantValue::FunctionPointer(function) => {
                smallvec![Reg::uniform(self.b.external(&crate::jit::symbols::pointer_symbol(*function)))]
            }
        })
    }

    /// Makes `val` the value of `id`, in the form that its shape asks for.
    pub fn define(&mut self, id: Id, val: Val) -> Result<(), EngineError> {
        let val = match self.packing_of(id) {
            Some(packing) => packed::pack(self, &val, packing),
            None => val,
        };
        self.define_held(id, val)
    }

    /// The same of what is packed already if it is to be.
    pub(super) fn define_held(&mut self, id: Id, val: Val) -> Result<(), EngineError> {
        let shapes = self.a.shape_at_definition(id);
        let packing = self.packing_of(id);
        let conform = |(at, reg)| match packing {
            Some(packing) => Reg::varying(self.spread(reg, packing.lanes)),
            None => self.conform(reg, shapes.get(at).copied().unwrap_or(Shape::Varying)),
        };
        let val: Val = val.into_iter().enumerate().map(conform).collect();
        let common = self.is_common(self.position.block, id);
        if self.position.block == ENTRY {
            self.values_mut(common).entry.insert(id, val);
            return Ok(());
        }
        if self.uses.crossing.contains(&id) {
            let slots = self.slots_of(id, common)?;
            // One sub-group after the other makes what they have in common, each for its own lanes.
            let lanes =
                self.mask().lanes().filter(|_| common && !self.bundle.lockstep.contains(self.position.block));
            let leaves = self.held_leaves(id)?;
            for (at, ((reg, slot), leaf)) in (0..).zip(val.iter().zip(slots.iter()).zip(leaves.iter())) {
                match lanes {
                    Some(lanes) if reg.only_vector().is_some() => {
                        let lanes = packing.map_or(lanes, |packing| self.packed_mask(lanes, packing, at));
                        self.blend_slot(*slot, *reg, lanes, leaf.scalar);
                    }
                    _ => self.store_slot(*slot, *reg),
                }
            }
        }
        if self.uses.temporal.contains(&id) {
            // Lanes leave the loop in their own time, whatever the sub-groups have in common inside of it.
            let takers = if self.bundle.mask_of_all.is_some() {
                0..self.bundle.subgroups.len()
            } else {
                self.bundle.at..self.bundle.at + 1
            };
            for at in takers {
                self.take_out(at, id, &val)?;
            }
        }
        let seen_by_all = common && self.bundle.lockstep.contains(self.position.block);
        self.values_mut(seen_by_all).block.insert(id, val);
        Ok(())
    }

    /// Blends what a value is now into what the lanes of a sub-group take out of a divergent loop.
    fn take_out(&mut self, at: usize, id: Id, val: &Val) -> Result<(), EngineError> {
        let slots = self.temporal_slots_of(at, id)?;
        if self.uses.carried.is_there(id) {
            return Ok(());
        }
        let leaves = self.leaves_of(id)?;
        for ((reg, slot), leaf) in val.iter().zip(slots.iter()).zip(leaves.iter()) {
            let mut new = self.vector(*reg);
            if let Mask::Lanes(mask) = self.bundle.subgroups[at].blended {
                let old = self.b.load(leaf.scalar, self.w, *slot, 1);
                new = self.b.select(mask, new, old);
            }
            self.b.store(new, *slot, 1);
        }
        Ok(())
    }

    /// Where a sub-group has what its lanes take out of a divergent loop: where a phi of the loop is, if the two share a place.
    fn temporal_slots_of(&mut self, at: usize, id: Id) -> Result<Rc<[Value]>, EngineError> {
        if let Some(slots) = self.bundle.subgroups[at].values.temporal_slots.get(&id) {
            return Ok(slots.clone());
        }
        let slots: Rc<[Value]> = match self.uses.carried.phi_of(id) {
            Some((header, phi)) => {
                let slots = self.of_member(at, |this| this.phi_slots_of(header, phi))?;
                slots.iter().map(|slot| slot.vector.expect("what shares a place is held as lanes")).collect()
            }
            None => {
                let leaves = self.leaves_of(id)?;
                leaves.iter().map(|leaf| self.prologue_alloca(leaf.scalar, self.w)).collect()
            }
        };
        self.bundle.subgroups[at].values.temporal_slots.insert(id, slots.clone());
        Ok(slots)
    }

    fn conform(&self, reg: Reg, shape: Shape) -> Reg {
        match shape {
            Shape::Uniform | Shape::Undefined => {
                debug_assert!(reg.scalar.is_some(), "a uniform leaf was computed as lanes");
                let first = || self.b.extract(self.vector(reg), self.b.i32(0));
                Reg::uniform(reg.scalar.unwrap_or_else(first))
            }
            Shape::Strided(_) => {
                let vector = self.vector(reg);
                Reg::strided(reg.scalar.unwrap_or_else(|| self.b.extract(vector, self.b.i32(0))), vector)
            }
            Shape::Varying => Reg::varying(self.vector(reg)),
        }
    }

    /// The slots of a value that crosses blocks.
    pub(super) fn slots_of(&mut self, id: Id, common: bool) -> Result<Rc<[Slot]>, EngineError> {
        if let Some(slots) = self.values_mut(common).slots.get(&id) {
            return Ok(slots.clone());
        }
        let slots = self.new_slots(id)?;
        self.values_mut(common).slots.insert(id, slots.clone());
        Ok(slots)
    }

    pub(super) fn new_slots(&mut self, id: Id) -> Result<Rc<[Slot]>, EngineError> {
        let leaves = self.held_leaves(id)?;
        if let Some(Packing { lanes, .. }) = self.packing_of(id) {
            let vector = |leaf: &Leaf| Some(self.prologue_alloca(leaf.scalar, lanes));
            return Ok(leaves
                .iter()
                .map(|leaf| Slot { scalar: None, vector: vector(leaf), lanes })
                .collect());
        }
        let shapes = self.a.shape_at_definition(id);
        Ok(leaves
            .iter()
            .zip(shapes)
            .map(|(leaf, shape)| Slot {
                scalar: (shape != Shape::Varying).then(|| self.prologue_alloca(leaf.scalar, 1)),
                vector: (!shape.is_uniform()).then(|| self.prologue_alloca(leaf.scalar, self.w)),
                lanes: self.w,
            })
            .collect())
    }

    pub(super) fn load_slot(&self, slot: Slot, scalar: Scalar) -> Reg {
        Reg {
            scalar: slot.scalar.map(|slot| self.b.load(scalar, 1, slot, 1)),
            vector: slot.vector.map(|vector| self.b.load(scalar, slot.lanes, vector, 1)),
        }
    }

    pub(super) fn store_slot(&self, slot: Slot, reg: Reg) {
        if let (Some(slot), Some(scalar)) = (slot.scalar, reg.scalar) {
            self.b.store(scalar, slot, 1);
        }
        if let Some(vector) = slot.vector {
            self.b.store(self.spread(reg, slot.lanes), vector, 1);
        }
    }

    /// Declares what a loop's last iteration has made to be of no more use where one begins: what lanes that are off leave in a slot would be
    /// kept in a register for the iteration after, in which nobody reads it.
    pub(super) fn begin_iteration(&mut self, block: BlockId) -> Result<(), EngineError> {
        let Some(made) = self.uses.of_iterations.get(&block).map(Rc::clone) else { return Ok(()) };
        for id in made.iter().copied() {
            let common = self.is_common(self.a.def[&id], id);
            let members = if common { 1 } else { self.bundle.subgroups.len() };
            for at in 0..members {
                self.of_member(at, |this| {
                    let (slots, leaves) = (this.slots_of(id, common)?, this.held_leaves(id)?);
                    let each = slots.iter().zip(leaves.iter());
                    each.for_each(|(slot, leaf)| this.forget_slot(*slot, leaf.scalar));
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    /// Declares the lanes of a slot to be of no more use.
    pub(super) fn forget_slot(&self, slot: Slot, scalar: Scalar) {
        if let Some(vector) = slot.vector {
            self.b.store(self.b.poison(scalar, slot.lanes), vector, 1);
        }
    }

    /// Stores the lanes that `mask` selects and keeps the others.
    pub(super) fn blend_slot(&self, slot: Slot, reg: Reg, mask: Value, scalar: Scalar) {
        match slot.vector {
            None => self.store_slot(slot, reg),
            Some(vector) => {
                debug_assert!(!slot.has_scalar(), "what lanes bring of their own has no first lane's number");
                let old = self.b.load(scalar, slot.lanes, vector, 1);
                let new = self.b.select(mask, self.spread(reg, slot.lanes), old);
                self.b.store(new, vector, 1);
            }
        }
    }

    /// Stack memory for one value, in the prologue.
    pub fn prologue_alloca(&self, scalar: Scalar, lanes: u32) -> Value {
        self.in_prologue(|b| b.alloca(scalar, lanes))
    }

    /// Emits code that runs once, before everything else.
    pub fn in_prologue<T>(&self, emit: impl FnOnce(&super::builder::Builder) -> T) -> T {
        let here = self.b.here();
        self.b.at_end(self.position.prologue);
        let result = emit(&self.b);
        self.b.at_end(here);
        result
    }

    /// A value for each leaf of a result from the same leaf of the operands; operands with one leaf serve all.
    /// Computes a scalar where all operands are uniform.
    pub fn map(
        &mut self,
        operands: &[Id],
        leaves: usize,
        mut f: impl FnMut(&Self, usize, &[Value]) -> Value,
    ) -> Result<Val, EngineError> {
        let mut vals: SmallVec<[Val; 3]> = SmallVec::new();
        for operand in operands {
            vals.push(self.value(*operand)?);
        }
        Ok((0..leaves)
            .map(|leaf| {
                let regs: SmallVec<[Reg; 3]> =
                    vals.iter().map(|val| if val.len() == 1 { val[0] } else { val[leaf] }).collect();
                self.apply(&regs, |this, values| f(this, leaf, values))
            })
            .collect())
    }

    /// Applies an operation to leaves: to scalars if all are uniform, else to lanes; and to the scalars of
    /// lane 0 as well where all operands have one, so that strides live on.
    pub fn apply(&self, regs: &[Reg], mut f: impl FnMut(&Self, &[Value]) -> Value) -> Reg {
        let scalars: Option<SmallVec<[Value; 3]>> = regs.iter().map(|reg| reg.scalar).collect();
        let uniform = regs.iter().all(|reg| reg.is_uniform());
        let scalar = scalars.map(|scalars| f(self, &scalars));
        if uniform {
            return Reg { scalar, vector: None };
        }
        let vectors: SmallVec<[Value; 3]> = regs.iter().map(|reg| self.vector(*reg)).collect();
        Reg { scalar, vector: Some(f(self, &vectors)) }
    }

    /// Like [`Self::apply`], without a scalar for strided operands: for operations that keep no stride and
    /// whose calls LLVM may not drop as dead (library calls).
    pub fn apply_once(&self, regs: &[Reg], f: impl FnOnce(&Self, &[Value]) -> Value) -> Reg {
        if regs.iter().all(|reg| reg.is_uniform()) {
            let scalars: SmallVec<[Value; 3]> = regs.iter().filter_map(|reg| reg.scalar).collect();
            return Reg::uniform(f(self, &scalars));
        }
        let vectors: SmallVec<[Value; 3]> = regs.iter().map(|reg| self.vector(*reg)).collect();
        Reg::varying(f(self, &vectors))
    }

    /// The block that is being lowered.
    pub fn current_block(&self) -> BlockId {
        self.position.block
    }

    /// A new LLVM block of the function.
    pub fn label(&self, name: &str) -> Label {
        self.b.block(self.position.function, name)
    }
}
