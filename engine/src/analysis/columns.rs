//! Accesses by which the sub-groups of a bundle go through columns: lanes are rows apart, and each sub-group's elements lie behind those
//! of the one before.
//!
//! Transposes have them: `tile[get_local_id(0)][get_local_id(1)]` and `out[x * height + y]`. A sub-group alone gathers or
//! scatters, an element of each row at a time; a bundle of them has a piece of each row, which is one access a lane (`lower::columns`).
//! That an index does not wrap around in between is looked at there.

use super::Analysis;
use super::func::BlockId;
use super::shapes::Shape;
use super::steps::{Changes, Step, Unit};
use crate::abi::Coarsening;
use rustc_hash::FxHashSet;
use spirv::Op;
use spirv_env::opcodes::{Derives, Family, Memory};
use spirv_env::{Id, Inst};

/// Lanes that are so many elements apart are no row with gaps.
const FAR: u64 = 4;

impl Analysis<'_> {
    /// The pointers of such accesses, if bundles are along y.
    pub fn columns(&self) -> &FxHashSet<Id> {
        self.columns.get_or_init(|| match self.variant.coarsening {
            Coarsening::AlongY(_) => self.find_columns(),
            Coarsening::AlongX(_) | Coarsening::Whole(_) | Coarsening::Off => FxHashSet::default(),
        })
    }

    /// Whether there would be some, were bundles along y.
    pub fn has_columns_along_y(&self) -> bool {
        !self.find_columns().is_empty()
    }

    fn find_columns(&self) -> FxHashSet<Id> {
        let mut changes = Changes::new(self, Unit::WorkItem);
        let mut found = FxHashSet::default();
        for (block, code) in &self.func.blocks {
            for inst in code.insts.iter().filter(|inst| matches!(inst.op, Op::Load | Op::Store)) {
                let pointer = inst.id(0);
                if self.may_be_column(block, inst) && changes.of(pointer)[1] == self.element_step(pointer) {
                    found.insert(pointer);
                }
            }
        }
        found
    }

    /// Whether a branch, a choice or a bound has a part in an address, so that it goes on from one sub-group to the next only where that makes the
    /// same of it in all of them.
    pub fn is_chosen(&self, pointer: Id) -> bool {
        /// Values that are followed back.
        const MOST: usize = 64;
        let (mut seen, mut work) = (FxHashSet::default(), vec![pointer]);
        while let Some(id) = work.pop() {
            if !self.def.contains_key(&id) || !seen.insert(id) {
                continue;
            }
            let Some(inst) = self.definition(id).filter(|_| seen.len() <= MOST) else { return true };
            let row = inst.row();
            let is_made_alike = matches!(row.family, Family::Arithmetic | Family::Conversion)
                || matches!(inst.op, Op::CopyObject | Op::CompositeExtract | Op::Load)
                || row.derives != Derives::Nothing;
            if !is_made_alike || inst.op == Op::Select {
                return true;
            }
            // What is loaded is a built-in variable's, or as unknown as ever.
            if inst.op != Op::Load {
                work.extend(inst.ids());
            }
        }
        false
    }

    fn element_step(&self, pointer: Id) -> Step {
        self.func.pointee_bytes(pointer).map_or(Step::Unknown, |bytes| Step::Known(bytes as i64))
    }

    /// Whether lanes access single elements that are far apart.
    fn may_be_column(&self, block: BlockId, inst: &Inst) -> bool {
        let pointer = inst.id(0);
        let is_single = match inst.row().memory {
            Memory::Read { .. } => inst.ty,
            _ => self.func.type_of(inst.id(1)),
        };
        let is_far = || match self.shape(block, pointer).first() {
            Some(Shape::Varying) => true,
            Some(Shape::Strided(step)) => {
                self.func.pointee_bytes(pointer).is_some_and(|bytes| step.unsigned_abs() > FAR * bytes)
            }
            _ => false,
        };
        is_single.and_then(|ty| self.leaves.get(ty)).is_some_and(|leaves| leaves.len() == 1)
            && !inst.is_volatile()
            && self.is_in_memory(pointer)
            && !self.private.interleaved.contains_key(&pointer)
            && is_far()
    }
}
