//! Uniformity and strides: how a value varies over the lanes of a sub-group.
//!
//! A forward data-flow analysis from optimistic assumptions (Karrenberg and Hack, "Improving Performance
//! of OpenCL on CPUs", CC 2012; strides as in their "Whole-Function Vectorization"). Control
//! divergence comes from [`Control`]: a phi at a join of masks is varying, and a value that leaves a
//! divergent loop is varying outside of it (temporal divergence), whatever it is inside.

use super::builtins::{self, BuiltinPointer};
use super::cfg::{Cfg, Dominators};
use super::common::Differing;
use super::func::{BlockId, ChainStep, Func, Synthetic};
use super::leaves::LeafTable;
use super::linear::{Control, Graph};
use super::loops::Loops;
use super::private::{Placement, Private};
use super::regions::Regions;
use super::uniform_objects::{Candidates, Holds};
use crate::abi::Variant;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};
use spirv::{Decoration, GroupOperation, Op};
use spirv_env::opcodes::{Derives, Memory, Uniformity};
use spirv_env::{Id, Inst, Type, TypeId};
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
    fn strided(step: i64) -> Self {
        match step {
            0 => Shape::Uniform,
            // A step that only wraps around is no use for addresses.
            _ if step.unsigned_abs() > MAX_STEP => Shape::Varying,
            _ => Shape::Strided(step),
        }
    }

    fn join(self, other: Self) -> Self {
        match (self, other) {
            (Shape::Undefined, shape) | (shape, Shape::Undefined) => shape,
            (a, b) if a == b => a,
            _ => Shape::Varying,
        }
    }

    pub fn is_uniform(self) -> bool {
        matches!(self, Shape::Uniform | Shape::Undefined)
    }

    fn step(self) -> Option<i64> {
        match self {
            Shape::Uniform | Shape::Undefined => Some(0),
            Shape::Strided(step) => Some(step),
            Shape::Varying => None,
        }
    }
}

const MAX_STEP: u64 = 1 << 30;

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
    shapes: FxHashMap<Id, Leaves>,
    /// Strided values whose step holds for addresses only (see [`Analysis::convert_shape`]).
    assumed: FxHashSet<Id>,
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
    /// Runs all analyses over a function whose loops are canonical.
    pub fn new(func: Func<'m>, variant: Variant) -> Self {
        let cfg = Cfg::new(&func);
        let doms = Dominators::new(&cfg);
        let loops = Loops::new(&cfg, &doms);
        let regions = Regions::new(&cfg, &loops);
        let leaves = LeafTable::new(func.module);
        let private = Private::new(&func, &leaves);
        let builtins = builtins::pointers(&func);
        let graph = Graph { func: &func, cfg: &cfg, doms: &doms, loops: &loops, regions: &regions };
        let control = Control::new(&graph, vec![false; func.blocks.len()]);
        let (mut def, mut at) = (FxHashMap::default(), FxHashMap::default());
        for (index, block) in func.blocks.iter().enumerate() {
            let id = BlockId(index as u32);
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
        loop {
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
            self.control = Control::new(&self.graph(), vec![false; self.func.blocks.len()]);
        }
    }

    fn solve(&mut self) {
        for &(param, ty) in &self.func.params.clone() {
            let shape = match self.private.placement.get(&param) {
                Some(Placement::PerLane) => self.lane_stride(ty),
                _ => Shape::Uniform,
            };
            self.shapes.insert(param, smallvec![shape; self.leaves.count(ty).max(1)]);
        }
        self.params_differ();
        loop {
            while self.sweep() {}
            if self.variant.width == 1 {
                return;
            }
            let mut varying = self.control.varying.clone();
            let mut changed = false;
            for block in self.func.block_ids() {
                if let Some(condition) = self.func.blocks[block.index()].term.condition()
                    && !varying[block.index()]
                    && !(self.shape(block, condition)[0].is_uniform() && self.is_common(block, condition))
                {
                    varying[block.index()] = true;
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
        let teams = self.team() > 1;
        for index in 0..self.regions.order.len() {
            let block = self.regions.order[index];
            for place in 0..self.func.blocks[block.index()].phis.len() {
                let phi = &self.func.blocks[block.index()].phis[place];
                let result = phi.result;
                let blends = self.blends(block, place);
                let new = self.phi_shape(block, place, blends);
                let assumed = phi.incoming.iter().any(|(_, id)| self.assumed.contains(id));
                let differs = teams.then(|| self.phi_differs(block, place, new.len()));
                changed |= self.update(result, new);
                changed |= assumed && self.assumed.insert(result);
                changed |= differs.is_some_and(|differs| self.update_differing(result, differs));
            }
            for place in 0..self.func.blocks[block.index()].insts.len() {
                let inst = &self.func.blocks[block.index()].insts[place];
                let (Some(result), Some(_)) = (inst.result, inst.ty) else { continue };
                let new = self.inst_shape(block, inst);
                let differs = teams.then(|| self.inst_differs(block, inst));
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
            let of_phis = blocks.iter().flat_map(|block| &block.phis).flat_map(|phi| &phi.incoming);
            let of_insts = blocks.iter().flat_map(|block| &block.insts).flat_map(|inst| inst.ids());
            let of_terms = blocks.iter().filter_map(|block| block.term.condition());
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
                    self.control.divergent_loop[this.index()]
                        && !self.loops.encloses(Some(this), self.loops.of(at))
                })
            })
    }

    /// Whether work-items bring different values to a phi.
    fn blends(&self, block: BlockId, place: usize) -> bool {
        if self.variant.width == 1 || !self.control.blended[block.index()] {
            return false;
        }
        let phi = &self.func.blocks[block.index()].phis[place];
        let first = phi.incoming.first().map(|(_, id)| *id);
        !phi.incoming.iter().all(|(_, id)| Some(*id) == first)
            || self.cfg.preds[block.index()]
                .iter()
                .any(|pred| self.control.leaves_divergent(&self.graph(), *pred, block))
    }

    fn phi_shape(&self, block: BlockId, place: usize, blends: bool) -> Leaves {
        let phi = &self.func.blocks[block.index()].phis[place];
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

    fn lane_stride(&self, pointer: TypeId) -> Shape {
        if self.variant.width == 1 {
            return Shape::Uniform;
        }
        match self.func.module.types.get(pointer) {
            Type::Pointer { pointee, .. } => {
                Shape::strided(private_stride(self.func.module.types.layout(*pointee).size) as i64)
            }
            _ => Shape::Varying,
        }
    }

    fn inst_shape(&self, block: BlockId, inst: &Inst) -> Leaves {
        let ty = inst.ty.expect("only instructions with a type have a shape");
        let count = self.leaves.count(ty);
        if self.variant.width == 1 {
            return smallvec![Shape::Uniform; count];
        }
        let all = |shape: Shape| -> Leaves { smallvec![shape; count] };
        let one = |at: usize| self.shape(block, inst.id(at)).first().copied().unwrap_or(Shape::Uniform);
        match inst.row().uniformity {
            Uniformity::Nothing | Uniformity::Uniform => all(Shape::Uniform),
            Uniformity::Varying => all(Shape::Varying),
            Uniformity::Elementwise => self.elementwise(block, inst, count),
            Uniformity::Strided => self.strided(block, inst, ty, count),
            Uniformity::Rearranged => self.rearranged(block, inst, ty, count),
            Uniformity::Object => {
                all(match self.private.placement.get(&inst.result.expect("variables have ids")) {
                    Some(Placement::Interleaved | Placement::Uniform) => Shape::Uniform,
                    _ => self.lane_stride(ty),
                })
            }
            Uniformity::Loaded => {
                let pointer = inst.id(0);
                if let Some(builtin) = self.builtins.get(&pointer) {
                    return builtins::shapes(*builtin, count, self.variant);
                }
                if self.private.interleaved.contains_key(&pointer) {
                    return all(Shape::Varying);
                }
                all(if one(0).is_uniform() { Shape::Uniform } else { Shape::Varying })
            }
            Uniformity::Extended => {
                let uniform = inst.ids().skip(1).all(|id| {
                    !self.private.interleaved.contains_key(&id)
                        && self.shape(block, id).iter().all(|shape| shape.is_uniform())
                });
                all(if uniform { Shape::Uniform } else { Shape::Varying })
            }
            Uniformity::UniformIf(at) if one(at).is_uniform() => all(Shape::Uniform),
            Uniformity::UniformIf(_) => self.elementwise(block, inst, count),
            Uniformity::ByOperation => all(if self.reduces(inst) { Shape::Uniform } else { Shape::Varying }),
            Uniformity::CountByOperation => {
                all(if self.reduces(inst) && one(2).is_uniform() { Shape::Uniform } else { Shape::Varying })
            }
        }
    }

    /// Whether the group operation, operand 1, is a reduction of the whole group.
    fn reduces(&self, inst: &Inst) -> bool {
        inst.lit(1) == GroupOperation::Reduce as u64
    }

    /// Results that equal steps between lanes may go through; a case that is not looked at knows no step.
    fn strided(&self, block: BlockId, inst: &Inst, ty: TypeId, count: usize) -> Leaves {
        let operand = |at: usize| self.shape(block, inst.id(at));
        let one = |at: usize| operand(at).first().copied().unwrap_or(Shape::Uniform);
        if matches!(inst.row().derives, Derives::Chain | Derives::ElementChain) {
            return smallvec![self.chain_shape(block, inst)];
        }
        match inst.op {
            Op::Bitcast
            | Op::PtrCastToGeneric
            | Op::GenericCastToPtr
            | Op::ConvertPtrToU
            | Op::ConvertUToPtr
                if operand(0).len() == count && self.keeps_stride(block, inst, ty) =>
            {
                operand(0)
            }
            Op::IAdd => self.zip(block, inst, count, i64::checked_add),
            Op::ISub => self.zip(block, inst, count, i64::checked_sub),
            Op::SNegate => operand(0)
                .iter()
                .map(|shape| shape.step().map_or(Shape::Varying, |step| Shape::strided(-step)))
                .collect(),
            Op::BitwiseOr if count == 1 && self.or_is_add(inst) => {
                self.zip(block, inst, count, i64::checked_add)
            }
            Op::IMul if count == 1 => {
                match (self.func.constant_int(inst.id(0)), self.func.constant_int(inst.id(1))) {
                    (_, Some(factor)) => smallvec![scale(one(0), factor)],
                    (Some(factor), _) => smallvec![scale(one(1), factor)],
                    _ => self.elementwise(block, inst, count),
                }
            }
            Op::ShiftLeftLogical if count == 1 => match self.func.constant_int(inst.id(1)) {
                Some(amount @ 0..=30) => smallvec![scale(one(0), 1 << amount)],
                _ => self.elementwise(block, inst, count),
            },
            Op::BitwiseAnd | Op::UMod if count == 1 && self.is_identity(inst) => operand(0),
            Op::UConvert | Op::SConvert if count == 1 && !self.saturates(inst) => {
                smallvec![self.convert_shape(inst, one(0))]
            }
            _ => self.elementwise(block, inst, count),
        }
    }

    /// Results whose leaves are those of operands.
    fn rearranged(&self, block: BlockId, inst: &Inst, ty: TypeId, count: usize) -> Leaves {
        let operand = |at: usize| self.shape(block, inst.id(at));
        match inst.op {
            Op::Undef => smallvec![Shape::Undefined; count],
            Op::CopyObject | Op::CopyLogical | Op::ExpectKHR => operand(0),
            Op::Select => {
                let condition = operand(0);
                if condition.iter().all(|shape| shape.is_uniform()) {
                    operand(1).iter().zip(operand(2)).map(|(a, b)| a.join(b)).collect()
                } else {
                    smallvec![Shape::Varying; count]
                }
            }
            Op::CompositeConstruct => inst.ids().flat_map(|id| self.shape(block, id)).collect(),
            Op::CompositeExtract => {
                let (first, _) = self.path(self.func.type_of(inst.id(0)), &inst.operands[1..]);
                operand(0)[first..first + count].iter().copied().collect()
            }
            Op::CompositeInsert => {
                let (first, _) = self.path(Some(ty), &inst.operands[2..]);
                let mut shapes = operand(1);
                for (at, shape) in operand(0).into_iter().enumerate() {
                    shapes[first + at] = shape;
                }
                shapes
            }
            Op::VectorShuffle => {
                let (a, b) = (operand(0), operand(1));
                let pick = |at: u64| {
                    let at = at as usize;
                    a.get(at).or_else(|| b.get(at.wrapping_sub(a.len()))).copied().unwrap_or(Shape::Undefined)
                };
                (2..inst.operands.len()).map(|at| pick(inst.lit(at))).collect()
            }
            // Where leaves go is not known, so nothing is.
            _ => smallvec![Shape::Varying; count],
        }
    }

    /// Leaf by leaf where operands have as many leaves as the result, else all leaves alike.
    fn elementwise(&self, block: BlockId, inst: &Inst, count: usize) -> Leaves {
        let operands: SmallVec<[Leaves; 4]> = inst.ids().map(|id| self.shape(block, id)).collect();
        let varies = |shape: &Shape| !shape.is_uniform();
        if operands.iter().all(|shapes| shapes.len() == count) {
            (0..count)
                .map(|leaf| {
                    let any = operands.iter().any(|shapes| varies(&shapes[leaf]));
                    if any { Shape::Varying } else { Shape::Uniform }
                })
                .collect()
        } else {
            let any = operands.iter().any(|shapes| shapes.iter().any(varies));
            smallvec![if any { Shape::Varying } else { Shape::Uniform }; count]
        }
    }

    fn zip(&self, block: BlockId, inst: &Inst, count: usize, f: impl Fn(i64, i64) -> Option<i64>) -> Leaves {
        let (a, b) = (self.shape(block, inst.id(0)), self.shape(block, inst.id(1)));
        if a.len() != count || b.len() != count {
            return smallvec![Shape::Varying; count];
        }
        let assumed = self.assumed.contains(&inst.id(0)) || self.assumed.contains(&inst.id(1));
        a.iter()
            .zip(b)
            .map(|(a, b)| match (a.step(), b.step()) {
                (Some(a), Some(b)) => match f(a, b) {
                    // Two steps that cancel out make a uniform value, which is more than an address.
                    None | Some(0) if a != 0 && assumed => Shape::Varying,
                    step => step.map_or(Shape::Varying, Shape::strided),
                },
                _ => Shape::Varying,
            })
            .collect()
    }

    /// Whether the step of a strided result holds for addresses only.
    fn assumes(&self, block: BlockId, inst: &Inst) -> bool {
        let widens = |id: Id| match (self.shape(block, id)[0], self.index_width(id)) {
            (Shape::Strided(step), Some(width)) => width < 64 && !self.never_wraps(id, step, width),
            _ => false,
        };
        let row = inst.row();
        match row.memory {
            // Loads make values of their own.
            Memory::Read { .. } => false,
            _ if inst.op == Op::SConvert => widens(inst.id(0)),
            _ => {
                let is_chain = matches!(row.derives, Derives::Chain | Derives::ElementChain);
                (is_chain && inst.ids().skip(1).any(widens))
                    || inst.ids().any(|id| self.assumed.contains(&id))
            }
        }
    }

    /// Whether a cast leaves lane differences as they are: between pointers and 64-bit integers, or nothing at all.
    fn keeps_stride(&self, block: BlockId, inst: &Inst, ty: TypeId) -> bool {
        let uniform = self.shape(block, inst.id(0)).iter().all(|shape| shape.is_uniform());
        let whole = |ty: TypeId| {
            matches!(self.func.module.types.get(ty), Type::Pointer { .. } | Type::Int { width: 64 })
        };
        uniform || (whole(ty) && self.func.type_of(inst.id(0)).is_some_and(whole))
    }

    fn chain_shape(&self, block: BlockId, inst: &Inst) -> Shape {
        let steps = self.func.chain(inst);
        let base = inst.id(0);
        let mut total = match self.shape(block, base)[0].step() {
            Some(step) => step,
            None => return Shape::Varying,
        };
        for step in steps {
            if let ChainStep::Scaled { index, size } = step {
                let Some(lane) = self.shape(block, index)[0].step() else { return Shape::Varying };
                // Indices are sign-extended to 64 bits; see `convert_shape` for the step across that.
                if lane != 0 && self.index_width(index).is_some_and(|width| width < 32) {
                    return Shape::Varying;
                }
                match lane.checked_mul(size as i64).and_then(|lane| total.checked_add(lane)) {
                    Some(sum) => total = sum,
                    None => return Shape::Varying,
                }
            }
        }
        Shape::strided(total)
    }

    pub(super) fn index_width(&self, id: Id) -> Option<u32> {
        match self.func.module.types.get(self.func.type_of(id)?) {
            Type::Int { width } => Some(*width),
            _ => None,
        }
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

    fn saturates(&self, inst: &Inst) -> bool {
        inst.result.is_some_and(|id| self.func.decoration(id, Decoration::SaturatedConversion).is_some())
    }

    /// Narrowing keeps a stride (it is modular). Widening does where no lane wraps around.
    ///
    /// For addresses, a sign extension of a 32-bit value with a small step is taken not to wrap: a sub-group whose indices
    /// cross 2^31 would address bytes on both sides of a pointer that are 4 GiB apart or more, so lanes on
    /// the far side have no memory there. A zero extension wraps at 0, where both sides can be in use
    /// (`a[i - 1]` with lane 0 masked off), so it needs a proof.
    fn convert_shape(&self, inst: &Inst, shape: Shape) -> Shape {
        let (Some(step), Some(from), Some(to)) = (
            shape.step(),
            self.index_width(inst.id(0)),
            match self.func.module.types.get(inst.ty.expect("a conversion has a type")) {
                Type::Int { width } => Some(*width),
                _ => None,
            },
        ) else {
            return Shape::Varying;
        };
        if step == 0 || to <= from {
            return Shape::strided(step);
        }
        let small = || step.unsigned_abs() * u64::from(self.variant.width) < 1 << 16;
        let keeps =
            self.never_wraps(inst.id(0), step, from) || (inst.op == Op::SConvert && from == 32 && small());
        if keeps { Shape::strided(step) } else { Shape::Varying }
    }

    /// Whether no lane of a value of `width` bits with this step is negative or wraps around.
    fn never_wraps(&self, id: Id, step: i64, width: u32) -> bool {
        let reach = step.unsigned_abs() * u64::from(self.variant.width);
        let below = |upper: u64| upper.checked_add(reach).is_some_and(|top| top < 1u64 << (width - 1));
        step > 0 && self.upper(id, 0).is_some_and(below)
    }

    /// The instruction that makes a value.
    pub fn definition(&self, id: Id) -> Option<&Inst> {
        self.at.get(&id).map(|(block, place)| &self.func.blocks[block.index()].insts[*place])
    }
}

/// Bytes between the private objects of neighbouring lanes, for an object of `size` bytes.
pub fn private_stride(size: u64) -> u64 {
    if size >= 16 { size.next_multiple_of(16) } else { size.max(1).next_power_of_two() }
}

fn scale(shape: Shape, factor: i64) -> Shape {
    match shape.step().map(|step| step.checked_mul(factor)) {
        Some(Some(step)) => Shape::strided(step),
        _ => Shape::Varying,
    }
}
