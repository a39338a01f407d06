//! Uniformity and strides: how a value varies over the lanes of a sub-group.
//!
//! A forward data-flow analysis from optimistic assumptions (Karrenberg and Hack, "Improving Performance
//! of OpenCL on CPUs", CC 2012; strides as in their "Whole-Function Vectorization"). Control
//! divergence comes from [`Control`]: a phi at a join of masks is varying, and a value that leaves a
//! divergent loop is varying outside of it (temporal divergence), whatever it is inside.

use super::builtins::{self, BuiltinPointer};
use super::bundles::Differing;
use super::calls::Interface;
use super::cfg::{Cfg, Dominators};
use super::func::{BlockId, Func, Synthetic};
use super::leaves::LeafTable;
use super::linearization::{Control, Graph};
use super::loops::Loops;
use super::private::{Placement, Private};
use super::regions::Regions;
use super::uniform_objects::{Candidates, Holds};
use crate::abi::Variant;
use cranelift_entity::EntitySet;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};
use spirv_env::{Id, Inst, TypeId};
use std::cell::OnceCell;

/// How one leaf of a value varies over lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// No definition seen yet, or undefined: anything will do.
    Undefined,
    /// The same in all lanes.
    Uniform,
    /// Lane `l` has the value of lane 0 plus `l` times this (bytes for a pointer), modulo the type's width.
    Strided(i64),
    Varying,
}

impl Shape {
    pub(super) fn strided(step: i64) -> Self {
        match step {
            0 => Shape::Uniform,
            // A step that only wraps around is no use for addresses.
            _ if step.unsigned_abs() > MAX_STEP => Shape::Varying,
            _ => Shape::Strided(step),
        }
    }

    pub(super) fn join(self, other: Self) -> Self {
        match (self, other) {
            (Shape::Undefined, shape) | (shape, Shape::Undefined) => shape,
            (a, b) if a == b => a,
            _ => Shape::Varying,
        }
    }

    pub fn is_uniform(self) -> bool {
        matches!(self, Shape::Uniform | Shape::Undefined)
    }

    pub(super) fn step(self) -> Option<i64> {
        match self {
            Shape::Uniform | Shape::Undefined => Some(0),
            Shape::Strided(step) => Some(step),
            Shape::Varying => None,
        }
    }
}

const MAX_STEP: u64 = 1 << 30;

/// Rounds in which one thing turns out to vary because another one does. Hostile kernels have thousands; what is left
/// then is taken to vary.
const PATIENCE: u32 = 64;

pub type Leaves = SmallVec<[Shape; 2]>;

/// All facts about a kernel that lowering asks for.
pub struct Analysis<'m> {
    pub func: Func<'m>,
    pub variant: Variant,
    pub cfg: Cfg,
    pub doms: Dominators,
    pub loops: Loops,
    pub regions: Regions,
    pub leaves: LeafTable<'m>,
    pub private: Private,
    pub builtins: FxHashMap<Id, BuiltinPointer>,
    pub control: Control,
    /// How the function is called, and how what it calls itself behaves.
    pub(super) interface: Interface,
    shapes: FxHashMap<Id, Leaves>,
    /// Strided values whose step holds for addresses only (see [`Analysis::convert_shape`]).
    pub(super) assumed: FxHashSet<Id>,
    pub(super) differing: Differing,
    /// What private objects that may be uniform hold.
    pub(super) holds: FxHashMap<Id, Holds>,
    /// The block that defines a value; module-scope values and parameters have none.
    pub def: FxHashMap<Id, BlockId>,
    /// The index of the defining instruction in its block.
    at: FxHashMap<Id, (BlockId, usize)>,
    /// Values that something uses, found when first asked for.
    used: OnceCell<FxHashSet<Id>>,
}

impl<'m> Analysis<'m> {
    /// Runs all analyses over a kernel whose loops are canonical and that has no calls left.
    pub fn new(func: Func<'m>, variant: Variant) -> Self {
        Self::with_calls(func, variant, Interface::default())
    }

    /// As [`new`](Self::new), for a function that is called or has calls itself.
    pub fn with_calls(func: Func<'m>, variant: Variant, interface: Interface) -> Self {
        let cfg = Cfg::new(&func);
        let doms = Dominators::new(&cfg);
        let loops = Loops::new(&cfg, &doms);
        let regions = Regions::new(&cfg, &loops);
        let leaves = LeafTable::new(func.module);
        let private = Private::new(&func, &leaves);
        let builtins = builtins::pointers(&func);
        let graph = Graph { func: &func, cfg: &cfg, doms: &doms, loops: &loops, regions: &regions };
        let control = Control::new(&graph, EntitySet::new());
        let (mut def, mut at) = (FxHashMap::default(), FxHashMap::default());
        for (id, block) in &func.blocks {
            def.extend(block.phis.iter().map(|phi| (phi.result, id)));
            for (place, inst) in block.insts.iter().enumerate() {
                if let Some(result) = inst.result {
                    def.insert(result, id);
                    at.insert(result, (id, place));
                }
            }
        }
        let mut analysis = Self {
            func,
            variant,
            cfg,
            doms,
            loops,
            regions,
            leaves,
            private,
            builtins,
            control,
            interface,
            shapes: FxHashMap::default(),
            assumed: FxHashSet::default(),
            differing: Differing::default(),
            holds: FxHashMap::default(),
            def,
            at,
            used: OnceCell::new(),
        };
        analysis.solve_objects();
        analysis
    }

    fn graph(&self) -> Graph<'_, 'm> {
        Graph {
            func: &self.func,
            cfg: &self.cfg,
            doms: &self.doms,
            loops: &self.loops,
            regions: &self.regions,
        }
    }

    /// Finds all shapes, and the private objects that are uniform, which depend on each other.
    fn solve_objects(&mut self) {
        if self.variant.width == 1 {
            return self.solve();
        }
        let candidates = Candidates::new(&self.func, &self.private);
        let private = self.private.clone();
        self.holds = candidates.all();
        for round in 0.. {
            if round == PATIENCE {
                // Objects that hold what others hold, one after the other.
                self.holds.values_mut().for_each(|holds| *holds = Holds::Varying);
            }
            self.private = private.clone();
            let holds = &self.holds;
            let uniform = |object: &Id| holds.get(object).is_some_and(|holds| *holds >= Holds::Uniform);
            let placements = self.private.placement.iter_mut().filter(|(object, _)| uniform(object));
            placements.for_each(|(_, placement)| *placement = Placement::Uniform);
            self.private.interleaved.retain(|_, object| !uniform(object));
            self.solve();
            let mut holds = std::mem::take(&mut self.holds);
            let changed = candidates.contradict(self, &mut holds);
            self.holds = holds;
            if !changed {
                return;
            }
            self.shapes.clear();
            self.differing.clear();
            self.assumed.clear();
            self.control = Control::new(&self.graph(), EntitySet::new());
        }
    }

    fn solve(&mut self) {
        for &(param, ty) in &self.func.params.clone() {
            let shape = match self.private.placement.get(&param) {
                Some(Placement::PerLane) => self.lane_stride(ty),
                _ => Shape::Uniform,
            };
            let passed = self.interface.params.get(&param).cloned();
            let shapes = passed.unwrap_or_else(|| smallvec![shape; self.leaves.count(ty).max(1)]);
            self.shapes.insert(param, shapes);
        }
        self.params_differ();
        for round in 0.. {
            while self.sweep() {}
            if self.variant.width == 1 {
                return;
            }
            let impatient = round >= PATIENCE;
            let mut varying = self.control.varying.clone();
            let mut changed = false;
            for block in self.func.block_ids() {
                if let Some(condition) = self.func.blocks[block].term.condition()
                    && !varying.contains(block)
                    && (impatient
                        || !(self.shape(block, condition)[0].is_uniform()
                            && self.is_common(block, condition)))
                {
                    varying.insert(block);
                    changed = true;
                }
            }
            if !changed {
                return;
            }
            self.control = Control::new(&self.graph(), varying);
        }
    }

    /// One pass over all blocks; whether some shape changed.
    fn sweep(&mut self) -> bool {
        let mut changed = false;
        let bundles = self.factor() > 1;
        for index in 0..self.regions.order.len() {
            let block = self.regions.order[index];
            for place in 0..self.func.blocks[block].phis.len() {
                let phi = &self.func.blocks[block].phis[place];
                let result = phi.result;
                let blends = self.blends(block, place);
                let new = self.phi_shape(block, place, blends);
                let assumed = phi.incoming.iter().any(|(_, id)| self.assumed.contains(id));
                let differs = bundles.then(|| self.phi_differs(block, place, new.len()));
                changed |= self.update(result, new);
                changed |= assumed && self.assumed.insert(result);
                changed |= differs.is_some_and(|differs| self.update_differing(result, differs));
            }
            for place in 0..self.func.blocks[block].insts.len() {
                let inst = &self.func.blocks[block].insts[place];
                let (Some(result), Some(_)) = (inst.result, inst.ty) else { continue };
                let new = self.inst_shape(block, inst);
                let differs = bundles.then(|| self.inst_differs(block, inst));
                let assumed = self.assumes(block, inst);
                changed |= self.update(result, new);
                changed |= assumed && self.assumed.insert(result);
                changed |= differs.is_some_and(|differs| self.update_differing(result, differs));
            }
        }
        changed
    }

    /// Shapes only ever move up the lattice, so that sweeping ends.
    fn update(&mut self, id: Id, new: Leaves) -> bool {
        match self.shapes.get_mut(&id) {
            None => {
                self.shapes.insert(id, new);
                true
            }
            Some(old) => {
                let mut changed = false;
                for (old, new) in old.iter_mut().zip(new) {
                    let joined = old.join(new);
                    changed |= joined != *old;
                    *old = joined;
                }
                changed
            }
        }
    }

    /// Whether anything uses a value.
    pub fn is_used(&self, id: Id) -> bool {
        let used = self.used.get_or_init(|| {
            let blocks = &self.func.blocks;
            let of_phis = blocks.values().flat_map(|block| &block.phis).flat_map(|phi| &phi.incoming);
            let of_insts = blocks.values().flat_map(|block| &block.insts).flat_map(|inst| inst.ids());
            let of_terms = blocks.values().filter_map(|block| block.term.condition());
            of_phis.map(|(_, id)| *id).chain(of_insts).chain(of_terms).collect()
        });
        used.contains(&id)
    }

    /// The shapes of a value's leaves, as an instruction in block `at` sees them.
    pub fn shape(&self, at: BlockId, id: Id) -> Leaves {
        let Some(shapes) = self.shapes.get(&id) else {
            if self.def.contains_key(&id) {
                let leaves = self.func.type_of(id).map_or(1, |ty| self.leaves.count(ty).max(1));
                return smallvec![Shape::Undefined; leaves];
            }
            let leaves = self.func.type_of(id).map_or(1, |ty| self.leaves.count(ty).max(1));
            let undefined = matches!(self.func.synthetic.get(&id), Some(Synthetic::Undef));
            return smallvec![if undefined { Shape::Undefined } else { Shape::Uniform }; leaves];
        };
        if self.is_temporal(at, id) {
            return smallvec![Shape::Varying; shapes.len()];
        }
        shapes.clone()
    }

    /// The shapes of a value's leaves where it is defined.
    pub fn shape_at_definition(&self, id: Id) -> Leaves {
        match self.def.get(&id) {
            Some(block) => self.shape(*block, id),
            None => self.shape(super::func::ENTRY, id),
        }
    }

    /// Whether `at` sees a value that work-items took out of a divergent loop in different iterations.
    pub fn is_temporal(&self, at: BlockId, id: Id) -> bool {
        self.variant.width > 1
            && self.def.get(&id).is_some_and(|def| {
                self.loops.around(*def).any(|this| {
                    self.control.divergent_loops.contains(this)
                        && !self.loops.encloses(Some(this), self.loops.of(at))
                })
            })
    }

    /// Whether work-items bring different values to a phi.
    fn blends(&self, block: BlockId, place: usize) -> bool {
        if self.variant.width == 1 || !self.control.blended.contains(block) {
            return false;
        }
        let phi = &self.func.blocks[block].phis[place];
        let first = phi.incoming.first().map(|(_, id)| *id);
        !phi.incoming.iter().all(|(_, id)| Some(*id) == first)
            || self.cfg.preds[block]
                .iter()
                .any(|pred| self.control.leaves_divergent(&self.graph(), *pred, block))
    }

    fn phi_shape(&self, block: BlockId, place: usize, blends: bool) -> Leaves {
        let phi = &self.func.blocks[block].phis[place];
        let mut joined: Option<Leaves> = None;
        for (pred, id) in &phi.incoming {
            let shape = self.shape(*pred, *id);
            match &mut joined {
                None => joined = Some(shape),
                Some(joined) => joined.iter_mut().zip(shape).for_each(|(a, b)| *a = a.join(b)),
            }
        }
        let mut joined = joined.unwrap_or_default();
        if blends {
            joined.iter_mut().for_each(|shape| *shape = Shape::Varying);
        }
        joined
    }

    /// The first leaf and the type that literal indices lead to.
    pub fn path(&self, ty: Option<TypeId>, indices: &[spirv_env::Operand]) -> (usize, TypeId) {
        let mut ty = ty.expect("validated: a composite has a type");
        let mut first = 0;
        for index in indices {
            if let spirv_env::Operand::Lit(index) = index
                && let Some((leaf, part)) = self.leaves.part(ty, *index)
            {
                first += leaf;
                ty = part;
            }
        }
        (first, ty)
    }

    /// The instruction that makes a value.
    pub fn definition(&self, id: Id) -> Option<&Inst> {
        self.at.get(&id).map(|(block, place)| &self.func.blocks[*block].insts[*place])
    }
}
