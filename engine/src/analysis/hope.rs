//! Which addresses may turn out to follow each other when the kernel runs.
//!
//! What is computed from ids and values that all lanes share, by integer arithmetic alone, is often a row of elements
//! although no step can be proven: remainders and quotients of an id by the width of an image, indices clamped at an
//! edge, multiples of a stride that is an argument. What depends on data, as the places of a search or a table do, is not.
//! Nothing relies on this: who asks compares the addresses of all lanes.

use super::Analysis;
use super::func::BlockId;
use super::shapes::{Shape, Trust};
use crate::abi::LaneMapping;
use rustc_hash::FxHashMap;
use spirv::{Op, StorageClass};
use spirv_env::opcodes::{Derives, Family, Memory};
use spirv_env::{Id, Inst};

/// Values that one question follows back.
const MOST_VALUES: usize = 256;

impl Analysis<'_> {
    /// Whether an address, which has no step that holds, may be one of a row all the same.
    pub fn may_be_row(&self, at: BlockId, pointer: Id) -> bool {
        let elsewhere = self.func.class_of(pointer).is_some_and(|class| class != StorageClass::Function);
        self.variant.width > 1
            && self.variant.mapping != LaneMapping::Any
            && elsewhere
            && !self.is_temporal(at, pointer)
            && self.is_regular(pointer, &mut FxHashMap::default())
    }

    /// Whether a value is made from ids and uniform values by arithmetic.
    fn is_regular(&self, id: Id, known: &mut FxHashMap<Id, bool>) -> bool {
        if let Some(known) = known.get(&id) {
            return *known;
        }
        if known.len() >= MOST_VALUES {
            return false;
        }
        // A value that is made from itself is as regular as the rest of what makes it.
        known.insert(id, true);
        let regular = self.shape_at_definition(id).iter().all(|shape| *shape != Shape::Varying)
            && self.trust(id) < Trust::Unknown
            || self.is_made_regularly(id, known);
        known.insert(id, regular);
        regular
    }

    fn is_made_regularly(&self, id: Id, known: &mut FxHashMap<Id, bool>) -> bool {
        let Some(inst) = self.definition(id) else { return self.is_regular_phi(id, known) };
        let first = match inst.op {
            _ if inst.row().family == Family::Extended => 1,
            _ => 0,
        };
        is_arithmetic(self, inst) && inst.ids().skip(first).all(|operand| self.is_regular(operand, known))
    }

    /// Work-items that bring different values to a phi chose them, for all that is known, by data.
    fn is_regular_phi(&self, id: Id, known: &mut FxHashMap<Id, bool>) -> bool {
        let Some(&block) = self.def.get(&id) else { return false };
        let phis = &self.func.blocks[block].phis;
        let Some(place) = phis.iter().position(|phi| phi.result == id) else { return false };
        !self.blends(block, place)
            && phis[place].incoming.iter().all(|(_, incoming)| self.is_regular(*incoming, known))
    }
}

fn is_arithmetic(a: &Analysis<'_>, inst: &Inst) -> bool {
    let row = inst.row();
    match row.family {
        Family::Extended => inst
            .opencl_std(a.func.module)
            .is_some_and(|function| function.family == spirv_env::opcodes::opencl_std::Family::Integer),
        Family::Memory => row.memory == Memory::None && row.derives != Derives::Nothing,
        Family::Composite | Family::Reinterpretation => true,
        Family::Arithmetic | Family::Conversion => {
            let is_int = |id: Id| {
                let scalar = a.func.type_of(id).and_then(|ty| a.leaves.scalar(ty));
                scalar.is_some_and(|scalar| !scalar.is_float())
            };
            inst.op == Op::Select || inst.ids().all(is_int)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
