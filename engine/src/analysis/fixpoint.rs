//! Uniformity and strides: finds how every value varies over the lanes of a sub-group, and over the sub-groups of a bundle.
//!
//! A forward data-flow analysis from optimistic assumptions (Karrenberg and Hack, "Improving Performance
//! of OpenCL on CPUs", CC 2012; strides as in their "Whole-Function Vectorization"). Control
//! divergence comes from [`Control`]: a phi at a join of masks is varying, and a value that leaves a
//! divergent loop is varying outside of it (temporal divergence), whatever it is inside.

use super::Analysis;
use super::func::BlockId;
use super::linearization::Control;
use super::private::Placement;
use super::shapes::{Shape, Shapes, Trust};
use super::uniform_objects::{Candidates, Holds};
use cranelift_entity::EntitySet;
use rustc_hash::FxHashSet;
use smallvec::smallvec;
use spirv_env::opcodes::Memory;
use spirv_env::{Id, Inst};

/// Rounds in which one thing turns out to vary because another one does. Hostile kernels have thousands; what is left
/// then is taken to vary.
const PATIENCE: u32 = 64;

impl Analysis<'_> {
    /// Finds all shapes, and the private objects that are uniform, which depend on each other.
    pub(super) fn solve(&mut self) {
        if self.variant.width == 1 {
            return self.solve_shapes();
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
            self.solve_shapes();
            let mut holds = std::mem::take(&mut self.holds);
            let changed = candidates.contradict(self, &mut holds);
            self.holds = holds;
            if !changed {
                self.private.gathered = self.gathered();
                return;
            }
            self.shapes.clear();
            self.differing.clear();
            self.trusts.clear();
            self.control = Control::new(&self.graph(), EntitySet::new());
        }
    }

    /// The interleaved variables that are read where lanes have different offsets.
    fn gathered(&self) -> FxHashSet<Id> {
        if self.private.interleaved.is_empty() {
            return FxHashSet::default();
        }
        let of_inst = |(block, inst): (BlockId, &Inst)| {
            let is_read = matches!(inst.row().memory, Memory::Read { .. });
            let pointer = is_read.then(|| inst.id(0))?;
            let variable = self.private.interleaved.get(&pointer)?;
            (!self.shape(block, pointer)[0].is_uniform()).then_some(*variable)
        };
        let insts = |block| self.func.blocks[block].insts.iter().map(move |inst| (block, inst));
        self.func.block_ids().flat_map(insts).filter_map(of_inst).collect()
    }

    /// Finds the shapes that the private objects, taken to hold what they are taken to hold, leave possible.
    pub(super) fn solve_shapes(&mut self) {
        for &(param, ty) in &self.func.params.clone() {
            let shape = match self.private.placement.get(&param) {
                Some(Placement::PerLane) => self.lane_stride(param, ty),
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
                let trust = phi.incoming.iter().map(|(_, id)| self.trust(*id)).max();
                let differs = bundles.then(|| self.phi_differs(block, place, new.len()));
                changed |= self.update(result, new);
                changed |= self.distrust(result, trust.unwrap_or(Trust::Proven));
                changed |= differs.is_some_and(|differs| self.update_differing(result, differs));
            }
            for place in 0..self.func.blocks[block].insts.len() {
                let inst = &self.func.blocks[block].insts[place];
                let (Some(result), Some(_)) = (inst.result, inst.ty) else { continue };
                let new = self.inst_shape(block, inst);
                let differs = bundles.then(|| self.inst_differs(block, inst));
                let trust = self.trust_in(block, inst);
                changed |= self.update(result, new);
                changed |= self.distrust(result, trust);
                changed |= differs.is_some_and(|differs| self.update_differing(result, differs));
            }
        }
        changed
    }

    /// Trust only ever gets less.
    fn distrust(&mut self, id: Id, trust: Trust) -> bool {
        let less = trust > self.trust(id);
        if less {
            self.trusts.insert(id, trust);
        }
        less
    }

    /// Shapes only ever move up the lattice, so that sweeping ends.
    fn update(&mut self, id: Id, new: Shapes) -> bool {
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

    /// Whether work-items bring different values to a phi.
    pub fn blends(&self, block: BlockId, place: usize) -> bool {
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

    fn phi_shape(&self, block: BlockId, place: usize, blends: bool) -> Shapes {
        let phi = &self.func.blocks[block].phis[place];
        let mut joined: Option<Shapes> = None;
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
}
