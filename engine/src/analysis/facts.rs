//! All facts about a kernel, or a function that stays a function: the analyses' results in one place, and questions to them.

use super::beside::Beside;
use super::builtins::{self, BuiltinPointer};
use super::bundles::Differing;
use super::calls::Interface;
use super::cfg::{Cfg, Dominators};
use super::func::{BlockId, ENTRY, Func, Synthetic};
use super::handed_on;
use super::leaves::LeafTable;
use super::linearization::{Control, Graph};
use super::loops::Loops;
use super::packed::Packing;
use super::private::Private;
use super::regions::Regions;
use super::shapes::{Shape, Shapes, Trust};
use super::short_rows::ShortRows;
use super::streaming::Streaming;
use super::strips::Strips;
use super::uniform_objects::Holds;
use crate::abi::Variant;
use cranelift_entity::EntitySet;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::smallvec;
use spirv::{Op, OpenclStd100Op as StdOp, StorageClass};
use spirv_env::opcodes::Memory;
use spirv_env::{Id, Inst};
use std::cell::OnceCell;

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
    pub(super) shapes: FxHashMap<Id, Shapes>,
    /// Strided values whose step is not proven (see [`Analysis::convert_shape`]).
    pub(super) trusts: FxHashMap<Id, Trust>,
    pub(super) differing: Differing,
    /// How values vary within rows that are shorter than a sub-group.
    pub(super) short_rows: Option<Box<ShortRows>>,
    /// How they do over the sub-group, while that is found.
    pub(super) of_subgroup: Option<FxHashMap<Id, Shapes>>,
    /// What private objects that may be uniform hold.
    pub(super) holds: FxHashMap<Id, Holds>,
    /// The block that defines a value; module-scope values and parameters have none.
    pub def: FxHashMap<Id, BlockId>,
    /// The block and the index in it of the instruction that defines a value.
    at: FxHashMap<Id, (BlockId, usize)>,
    /// How often values are used, found when first asked for.
    uses: OnceCell<FxHashMap<Id, u32>>,
    /// Products that nothing takes but a sum or a difference of their own block.
    summed_in_place: OnceCell<FxHashSet<Id>>,
    pub(super) strips: OnceCell<Strips>,
    pub(super) columns: OnceCell<FxHashSet<Id>>,
    pub(super) streaming: OnceCell<Streaming>,
    pub(super) gone_through: OnceCell<FxHashSet<Id>>,
    pub(super) beside: OnceCell<Beside>,
    pub(super) packed: OnceCell<FxHashMap<Id, Packing>>,
}

impl<'m> Analysis<'m> {
    /// Runs all analyses over a kernel whose loops are canonical and that has no calls left.
    pub fn new(func: Func<'m>, variant: Variant) -> Self {
        let mut analysis = Self::with_calls(func, variant, Interface::default());
        analysis.find_short_rows();
        analysis
    }

    /// As [`new`](Self::new), for a function that is called or has calls itself.
    pub fn with_calls(func: Func<'m>, variant: Variant, interface: Interface) -> Self {
        let cfg = Cfg::new(&func);
        let doms = Dominators::new(&cfg);
        let loops = Loops::new(&cfg, &doms);
        let regions = Regions::new(&cfg, &loops);
        let leaves = LeafTable::new(func.module);
        let private = Private::new(&func, &leaves);
        let builtins = builtins::pointers(&func, variant.axis);
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
            trusts: FxHashMap::default(),
            differing: Differing::default(),
            short_rows: None,
            of_subgroup: None,
            holds: FxHashMap::default(),
            def,
            at,
            uses: OnceCell::new(),
            summed_in_place: OnceCell::new(),
            strips: OnceCell::new(),
            columns: OnceCell::new(),
            streaming: OnceCell::new(),
            gone_through: OnceCell::new(),
            beside: OnceCell::new(),
            packed: OnceCell::new(),
        };
        analysis.solve();
        analysis
    }

    pub(super) fn graph(&self) -> Graph<'_, 'm> {
        Graph {
            func: &self.func,
            cfg: &self.cfg,
            doms: &self.doms,
            loops: &self.loops,
            regions: &self.regions,
        }
    }

    /// Whether a pointer leads to memory, and not to a built-in or a private variable.
    pub fn is_in_memory(&self, pointer: Id) -> bool {
        let class = self.func.class_of(pointer);
        class.is_some_and(|class| class != StorageClass::Function) && !self.builtins.contains_key(&pointer)
    }

    /// How often the function uses a value.
    pub fn uses(&self, id: Id) -> u32 {
        let uses = self.uses.get_or_init(|| {
            let blocks = &self.func.blocks;
            let of_phis = blocks.values().flat_map(|block| &block.phis).flat_map(|phi| &phi.incoming);
            let of_insts = blocks.values().flat_map(|block| &block.insts).flat_map(|inst| inst.ids());
            let of_terms = blocks.values().filter_map(|block| block.term.used());
            let mut uses = FxHashMap::default();
            for id in of_phis.map(|(_, id)| *id).chain(of_insts).chain(of_terms) {
                *uses.entry(id).or_default() += 1;
            }
            uses
        });
        uses.get(&id).copied().unwrap_or(0)
    }

    /// Whether nothing takes a value but one sum or difference of floats in its own block. What forms of a kernel do with blocks differs: where a product
    /// and its sum are of two, they lie next to each other in one form, and there is a mask or a loop between them in another. So only
    /// those of one block may be fused, and all forms give the same bits.
    pub fn is_summed_in_place(&self, id: Id) -> bool {
        let summed = self.summed_in_place.get_or_init(|| {
            let is_sum = |inst: &&Inst| matches!(inst.op, Op::FAdd | Op::FSub);
            let mut summed = FxHashSet::default();
            for (at, block) in &self.func.blocks {
                let of_sums = block.insts.iter().filter(is_sum).flat_map(Inst::ids);
                summed.extend(of_sums.filter(|id| self.def.get(id) == Some(&at) && self.uses(*id) == 1));
            }
            summed
        });
        summed.contains(&id)
    }

    /// The shapes of a value's leaves, as an instruction in block `at` sees them.
    pub fn shape(&self, at: BlockId, id: Id) -> Shapes {
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
    pub fn shape_at_definition(&self, id: Id) -> Shapes {
        match self.def.get(&id) {
            Some(block) => self.shape(*block, id),
            None => self.shape(ENTRY, id),
        }
    }

    /// Whether `at` sees a value that work-items took out of a divergent loop in different iterations.
    pub fn is_temporal(&self, at: BlockId, id: Id) -> bool {
        self.variant.width > 1
            && self.def.get(&id).is_some_and(|def| {
                self.loops.left_by(*def, at).any(|this| self.control.divergent_loops.contains(this))
            })
    }

    /// How far the step of a strided value can be trusted.
    pub fn trust(&self, id: Id) -> Trust {
        self.trusts.get(&id).copied().unwrap_or(Trust::Proven)
    }

    /// The step of a scalar from lane to lane, where it holds in all of them.
    pub fn proven_step(&self, at: BlockId, id: Id) -> Option<i64> {
        match (self.shape(at, id)[0], self.trust(id)) {
            (Shape::Strided(step), Trust::Proven) => Some(step),
            _ => None,
        }
    }

    /// The function that keeps integers within bounds, if an instruction is one: its result is one of its operands.
    pub(super) fn bounding(&self, inst: &Inst) -> Option<StdOp> {
        use StdOp::{s_clamp, s_max, s_min, u_clamp, u_max, u_min};
        let function = inst.opencl_std(self.func.module)?.op;
        matches!(function, s_clamp | s_max | s_min | u_clamp | u_max | u_min).then_some(function)
    }

    /// What an instruction does to memory: functions of numbers alone do nothing.
    pub(super) fn memory_of(&self, inst: &Inst) -> Memory {
        match inst.opencl_std(self.func.module) {
            Some(function) if function.is_pure() => Memory::None,
            _ => inst.row().memory,
        }
    }

    /// Whether nothing in a block changes memory, nor waits for others who may, from what makes one value to what makes another.
    pub fn is_memory_the_same(&self, from: Id, to: Id) -> bool {
        let (Some((block, first)), Some((other, end))) = (self.at.get(&from), self.at.get(&to)) else {
            return false;
        };
        let between = self.func.blocks[*block].insts.get(*first..*end);
        let stays = |inst: &Inst| !handed_on::writes(&self.func, inst) && !handed_on::waits(&self.func, inst);
        block == other && between.is_some_and(|insts| insts.iter().all(stays))
    }

    /// The instruction that makes a value.
    pub fn definition(&self, id: Id) -> Option<&Inst> {
        self.at.get(&id).map(|(block, place)| &self.func.blocks[*block].insts[*place])
    }
}
