//! Which addresses may turn out to follow each other when the kernel runs.
//!
//! What is computed from ids and values that all lanes share, by integer arithmetic alone, is often a row of elements
//! although no step can be proven: remainders and quotients of an id by the width of an image, indices clamped at an
//! edge, multiples of a stride that is an argument. What depends on data, as the places of a search or a table do, is not.
//! Nor are places that lie further apart than their elements are large, whoever's they are: those of one member of structures.
//! Nothing relies on this: who asks compares the addresses of all lanes.

use super::Analysis;
use super::func::{BlockId, ChainStep};
use super::shapes::{Shape, Trust};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use spirv::{Op, StorageClass};
use spirv_env::opcodes::{Derives, Family, Memory};
use spirv_env::{Id, Inst};

/// Values that one question follows back.
const MOST_VALUES: usize = 256;
/// How deep an index is looked into for the distances of lanes.
const DEPTH: u32 = 8;
/// That of what all lanes share.
const ANY_GRAIN: u64 = 1 << 63;

/// The grain of so many times what has a grain.
fn times(grain: u64, factor: u64) -> u64 {
    grain.saturating_mul(1 << factor.trailing_zeros().min(63)).min(ANY_GRAIN)
}

impl Analysis<'_> {
    /// Whether an address, which has no step that holds, may be one of a row all the same.
    pub fn may_be_row(&self, at: BlockId, pointer: Id) -> bool {
        let elsewhere = self.func.class_of(pointer).is_some_and(|class| class != StorageClass::Function);
        self.variant.width > 1
            && !self.variant.mapping.crosses_rows()
            && elsewhere
            && !self.is_temporal(at, pointer)
            && self.grain_of_address(at, pointer) <= self.func.pointee_bytes(pointer).unwrap_or(u64::MAX)
            && self.is_regular(pointer, &mut FxHashMap::default())
    }

    /// Whether lanes' addresses are as far from each other as a number says that all of them share: rows of a matrix, one a lane.
    pub fn is_by_shared_step(&self, at: BlockId, pointer: Id) -> bool {
        let indices = self.indices_of(at, pointer);
        indices.is_some_and(|indices| indices.iter().all(|(index, _)| self.is_shared_multiple(at, *index, 0)))
    }

    /// Whether lanes' integers differ by multiples of a number that is known when the kernel runs, if at all.
    fn is_shared_multiple(&self, at: BlockId, id: Id, depth: u32) -> bool {
        if self.shape(at, id)[0].is_uniform() {
            return true;
        }
        let Some(inst) = self.definition(id).filter(|_| depth < DEPTH) else { return false };
        let of = |operand: usize| self.is_shared_multiple(at, inst.id(operand), depth + 1);
        let is_constant = |operand: usize| self.func.constant_bits(inst.id(operand)).is_some();
        match inst.op {
            Op::UConvert | Op::SConvert if self.saturates(inst) => false,
            Op::UConvert | Op::SConvert | Op::CopyObject => of(0),
            Op::IAdd | Op::ISub | Op::BitwiseOr => of(0) && of(1),
            Op::ShiftLeftLogical => is_constant(1) && of(0),
            Op::IMul if is_constant(0) || is_constant(1) => of(0) && of(1),
            Op::IMul => self.is_uniform_product(at, inst),
            _ => false,
        }
    }

    /// A power of two of which the distances of lanes' addresses are multiples.
    fn grain_of_address(&self, at: BlockId, pointer: Id) -> u64 {
        let Some(indices) = self.indices_of(at, pointer) else { return 1 };
        let grain = |(index, size): (Id, u64)| times(self.grain(at, index, 0), size);
        indices.into_iter().map(grain).min().unwrap_or(ANY_GRAIN)
    }

    /// The indices behind an address that all lanes share, and the sizes of what they count, if a pointer is made of nothing else.
    fn indices_of(&self, at: BlockId, pointer: Id) -> Option<SmallVec<[(Id, u64); 4]>> {
        let (mut indices, mut root) = (SmallVec::new(), pointer);
        while !self.shape(at, root)[0].is_uniform() {
            let inst = self.definition(root)?;
            match inst.row().derives {
                Derives::Chain | Derives::ElementChain => {
                    indices.extend(self.func.chain(inst).into_iter().filter_map(|step| match step {
                        ChainStep::Constant(_) => None,
                        ChainStep::Scaled { index, size } => Some((index, size)),
                    }));
                }
                _ if matches!(inst.op, Op::Bitcast | Op::CopyObject) => {}
                _ => return None,
            }
            root = inst.id(0);
        }
        Some(indices)
    }

    /// A power of two of which the differences of lanes' integers are multiples, modulo two to the number of their bits.
    fn grain(&self, at: BlockId, id: Id, depth: u32) -> u64 {
        if self.shape(at, id)[0].is_uniform() {
            return ANY_GRAIN;
        }
        let Some(inst) = self.definition(id).filter(|_| depth < DEPTH) else { return 1 };
        let of = |operand: Id| self.grain(at, operand, depth + 1);
        let constant = |operand: Id| self.func.constant_bits(operand);
        match inst.op {
            Op::UConvert | Op::SConvert if self.saturates(inst) => 1,
            Op::UConvert | Op::SConvert | Op::CopyObject => of(inst.id(0)),
            // What all lanes share has the same low bits in all of them.
            Op::IAdd | Op::ISub | Op::BitwiseOr | Op::BitwiseXor => of(inst.id(0)).min(of(inst.id(1))),
            Op::BitwiseAnd => {
                let cleared = inst.ids().filter_map(constant).map(|mask| 1 << mask.trailing_zeros().min(63));
                of(inst.id(0)).min(of(inst.id(1))).max(cleared.max().unwrap_or(1))
            }
            Op::IMul => {
                let factor = inst.ids().find_map(constant).unwrap_or(1);
                let least = of(inst.id(0)).min(of(inst.id(1)));
                if self.is_uniform_product(at, inst) { times(least, factor) } else { 1 }
            }
            Op::ShiftLeftLogical => match constant(inst.id(1)) {
                Some(by @ 0..64) => times(of(inst.id(0)), 1 << by),
                _ => 1,
            },
            _ => 1,
        }
    }

    fn is_uniform_product(&self, at: BlockId, product: &Inst) -> bool {
        product.ids().any(|factor| self.shape(at, factor)[0].is_uniform())
    }

    /// Whether a value is made from ids and uniform values by arithmetic.
    pub(super) fn is_regular(&self, id: Id, known: &mut FxHashMap<Id, bool>) -> bool {
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
