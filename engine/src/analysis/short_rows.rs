//! Rows of a work-group that are shorter than a sub-group: how values vary within each of them.
//!
//! Where the x size is a part of the sub-group's, a sub-group is a few whole rows ([`LaneMapping::short_rows`]). Ids have no step over its
//! lanes then, and so nothing that is made of them. Within a row they have: the analysis is made once more as if the row were the
//! sub-group, and what it finds decides how memory is accessed (`lower::short_rows`), one access a row. What looks beyond the row, as shuffles
//! do, is no more alike in a row than it is in the sub-group.

use super::Analysis;
use super::func::BlockId;
use super::linearization::Control;
use super::loops::LoopId;
use super::shapes::{Shapes, Trust};
use crate::abi::{LaneMapping, Variant};
use cranelift_entity::EntitySet;
use rustc_hash::FxHashMap;
use spirv_env::opcodes::{Memory, Uniformity};
use spirv_env::{Id, Inst};

/// What was found of rows.
pub struct ShortRows {
    /// Lanes of a row.
    pub lanes: u32,
    shapes: FxHashMap<Id, Shapes>,
    trusts: FxHashMap<Id, Trust>,
    divergent_loops: EntitySet<LoopId>,
}

impl Analysis<'_> {
    /// Finds how values vary within short rows, once it is known how they do over the sub-group.
    pub(super) fn find_short_rows(&mut self) {
        let Some(rows) = self.variant.mapping.short_rows() else { return };
        let lanes = self.variant.width / rows;
        let variant = self.variant;
        self.variant = Variant { width: lanes, mapping: LaneMapping::Rows, ..variant };
        let fresh = Control::new(&self.graph(), EntitySet::new());
        let control = std::mem::replace(&mut self.control, fresh);
        let trusts = std::mem::take(&mut self.trusts);
        self.of_subgroup = Some(std::mem::take(&mut self.shapes));
        self.solve_shapes();
        let of_subgroup = self.of_subgroup.take().unwrap_or_default();
        let shapes = std::mem::replace(&mut self.shapes, of_subgroup);
        let trusts = std::mem::replace(&mut self.trusts, trusts);
        let control = std::mem::replace(&mut self.control, control);
        self.variant = variant;
        let divergent_loops = control.divergent_loops;
        self.short_rows = Some(Box::new(ShortRows { lanes, shapes, trusts, divergent_loops }));
    }

    /// The lanes of a row and the bytes from lane to lane in it, with how far that can be trusted, of a pointer that has no step
    /// over the sub-group.
    pub fn step_in_short_rows(&self, at: BlockId, pointer: Id) -> Option<(u32, i64, Trust)> {
        let rows = self.short_rows.as_ref()?;
        let def = self.def.get(&pointer)?;
        if self.loops.left_by(*def, at).any(|this| rows.divergent_loops.contains(this)) {
            return None;
        }
        let step = rows.shapes.get(&pointer)?.first()?.step()?;
        Some((rows.lanes, step, rows.trusts.get(&pointer).copied().unwrap_or(Trust::Proven)))
    }

    /// What a result is in a row if that is what it is in the sub-group: it depends on lanes of others, or on when each lane is executed.
    pub(super) fn shape_beyond_row(&self, inst: &Inst, count: usize) -> Option<Shapes> {
        let of_subgroup = self.of_subgroup.as_ref()?;
        let is_own = match inst.row().uniformity {
            Uniformity::Loaded => !inst.is_volatile() && matches!(inst.row().memory, Memory::Read { .. }),
            Uniformity::Nothing
            | Uniformity::Uniform
            | Uniformity::Varying
            | Uniformity::Elementwise
            | Uniformity::Strided
            | Uniformity::Rearranged
            | Uniformity::Object
            | Uniformity::Extended => true,
            Uniformity::Called
            | Uniformity::UniformIf(_)
            | Uniformity::ByOperation
            | Uniformity::CountByOperation => false,
        };
        let known = || inst.result.and_then(|result| of_subgroup.get(&result)).cloned();
        (!is_own).then(|| known().filter(|shapes| shapes.len() == count).unwrap_or_else(|| varying(count)))
    }
}

fn varying(count: usize) -> Shapes {
    smallvec::smallvec![super::shapes::Shape::Varying; count]
}

#[cfg(test)]
mod tests;
