//! Loads that give a lane the same in each iteration of a loop, but are not made in front of it: a search that compares with an element
//! under a condition, or in a loop that lanes leave one after the other.
//!
//! Nobody can tell whether a lane will want such a load before it does. Where lanes have it from anywhere, it would be a gather in each
//! iteration; so it is made for lanes that come to it for the first time (`lower::invariant_loads`).

use super::Analysis;
use super::func::BlockId;
use super::leaves::Scalar;
use super::loops::LoopId;
use super::members::LEAST_LANES;
use super::shapes::Shape;
use crate::abi::LaneMapping;
use rustc_hash::FxHashMap;
use spirv::{Op, StorageClass};
use spirv_env::opcodes::Memory;
use spirv_env::{Id, Inst};

/// Loads of a function: each takes two registers in its loop.
const MOST_LOADS: usize = 4;
/// How deep an address is looked into.
const DEPTH: u32 = 8;

/// Such a load.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InvariantLoad {
    /// In front of the outermost loop in whose iterations it is the same.
    pub preheader: BlockId,
    pub scalar: Scalar,
}

impl Analysis<'_> {
    /// Such loads, by their results.
    pub fn invariant_loads(&self) -> FxHashMap<Id, InvariantLoad> {
        let mut found = FxHashMap::default();
        if self.variant.width < LEAST_LANES || self.variant.mapping == LaneMapping::Iterations {
            return found;
        }
        for block in self.func.block_ids().filter(|block| self.control.class[*block].is_some()) {
            for inst in &self.func.blocks[block].insts {
                if found.len() == MOST_LOADS {
                    return found;
                }
                if let (Some(result), Some(load)) = (inst.result, self.invariant_load(block, inst)) {
                    found.insert(result, load);
                }
            }
        }
        found
    }

    fn invariant_load(&self, block: BlockId, inst: &Inst) -> Option<InvariantLoad> {
        if inst.op != Op::Load || self.shape(block, inst.id(0))[0] != Shape::Varying {
            return None;
        }
        let scalar = self.number(inst.ty?)?;
        let outermost =
            self.loops.around(block).take_while(|this| self.loads_the_same(*this, inst, 0)).last()?;
        Some(InvariantLoad { preheader: self.loops.get(outermost).preheader, scalar })
    }

    /// Whether a load gives the same in each iteration of a loop: its address does not change, nor does the loop what is there.
    fn loads_the_same(&self, inside: LoopId, load: &Inst, depth: u32) -> bool {
        let Some(class) = self.func.class_of(load.id(0)) else { return false };
        let is_of_memory = matches!(
            class,
            StorageClass::CrossWorkgroup
                | StorageClass::Workgroup
                | StorageClass::UniformConstant
                | StorageClass::Generic
        );
        is_of_memory
            && !load.is_volatile()
            && self.stays(inside, load.id(0), depth + 1)
            && self.leaves_alone(inside, class)
    }

    /// Whether a value is made of nothing that changes from one iteration of a loop to the next.
    fn stays(&self, inside: LoopId, id: Id, depth: u32) -> bool {
        if self.is_invariant(inside, id) {
            return true;
        }
        let Some(inst) = self.definition(id).filter(|_| depth < DEPTH) else { return false };
        if inst.op == Op::Load {
            return self.loads_the_same(inside, inst, depth);
        }
        inst.row().is_pure() && inst.ids().all(|id| self.stays(inside, id, depth + 1))
    }

    /// Whether a loop writes to no memory of a class, and does nothing that makes others' writes there seen.
    fn leaves_alone(&self, inside: LoopId, class: StorageClass) -> bool {
        let mut insts =
            self.loops.get(inside).blocks.iter().flat_map(|block| &self.func.blocks[*block].insts);
        insts.all(|inst| match self.quiet_memory(inst) {
            Some(Memory::None | Memory::Object | Memory::Lifetime | Memory::Read { .. }) => true,
            Some(Memory::Write { .. }) => self.func.is_stored_elsewhere(inst.id(0), class),
            _ => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::testing::{VARIANT, a_loop, of_blocks};

    /// Such loads where a loop that lanes leave one after the other has this in front of it, and inside.
    fn found(before: &str, inside: &str) -> Vec<Scalar> {
        let before = format!(
            "%id = OpLoad %ulong %GlobalLinearId
             %odd = OpIMul %ulong %id %id
             {before}"
        );
        let phis = "%n = OpPhi %ulong %id %entry %next %inside";
        let inside = format!("{inside}\n%next = OpIAdd %ulong %n %ulong_1");
        let body = a_loop(phis, "%more = OpULessThan %bool %n %ulong_64", &inside);
        of_blocks(&format!("{before}\n{body}"), VARIANT, |a| {
            a.invariant_loads().into_values().map(|load| load.scalar).collect()
        })
    }

    const PLACE: &str = "%place = OpInBoundsPtrAccessChain %to_uint %pointer %odd";
    const LOAD: &str = "%loaded = OpLoad %uint %place";

    #[test]
    fn loads_from_where_others_are_made_once_a_lane() {
        let expected = [Scalar::I32];
        assert_eq!(found(PLACE, LOAD), expected);
        assert_eq!(found("", &format!("{PLACE}\n{LOAD}")), expected);
        let chained = format!(
            "{PLACE}\n{LOAD}
             %other = OpUConvert %ulong %loaded
             %there = OpInBoundsPtrAccessChain %to_uint %pointer %other
             %value = OpLoad %uint %there"
        );
        assert_eq!(found("", &chained).len(), 2);
    }

    #[test]
    fn what_changes_or_is_cheap_is_loaded_in_each_iteration() {
        let moves = "%place = OpInBoundsPtrAccessChain %to_uint %pointer %n";
        assert_eq!(found("", &format!("{moves}\n{LOAD}")), []);
        let row = "%place = OpInBoundsPtrAccessChain %to_uint %pointer %id";
        assert_eq!(found(row, LOAD), []);
        assert_eq!(found("%place = OpCopyObject %to_uint %pointer", LOAD), []);
        assert_eq!(found(PLACE, &format!("{LOAD}\nOpStore %place %uint_1")), []);
        assert_eq!(found(PLACE, "%loaded = OpLoad %uint %place Volatile"), []);
        let fence = "OpMemoryBarrier %uint_1 %uint_8";
        assert_eq!(found(PLACE, &format!("{LOAD}\n{fence}")), []);
    }
}
