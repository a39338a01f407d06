//! Accesses of sub-groups that are several rows of their work-group: one a row, where lanes of a row follow each other.
//!
//! What the rows load is put together as if they lay one behind the other, and so are structures of a few elements; what is stored
//! is taken apart in the same way. Rows of which nobody knows whether an index wraps around within them are looked at.

use super::access::{Access, Place, align_at, from_memory, in_memory, load_leaves, store_leaves, to_memory};
use super::builder::{IntPred, Value};
use super::memory::Indexed;
use super::speculation::{Look, none_on};
use super::values::{Mask, Reg, Val};
use super::{Lowerer, memory, runs, speculation};
use crate::analysis::leaves::{Leaf, Scalar};
use crate::error::EngineError;
use spirv_env::Id;

/// Elements from lane to lane at most, where others lie between.
const MOST_APART: u64 = 4;

/// Lanes in rows that are shorter than the sub-group.
#[derive(Clone, Copy, Debug)]
pub struct ShortRows {
    /// The address of each lane.
    pub addresses: Value,
    /// Lanes of a row.
    lanes: u32,
    /// Bytes from lane to lane in a row.
    step: i64,
    /// Whether it is to be looked whether that is so, and at what if that is not the addresses.
    look: Option<Option<Indexed>>,
}

/// Where a pointer leads that has a step in rows alone.
pub(super) fn place(this: &mut Lowerer<'_, '_>, pointer: Id) -> Result<Option<ShortRows>, EngineError> {
    let Some((lanes, step, trust)) = this.a.step_in_short_rows(this.current_block(), pointer) else {
        return Ok(None);
    };
    let look = match speculation::needs_look(trust) {
        None => None,
        Some(Look::LastLane) => {
            let is_narrow = |of: &Indexed| {
                !of.is_wide && !of.is_signed && step > 0 && (step as u64).is_multiple_of(of.size)
            };
            Some(memory::indexed(this, pointer)?.filter(is_narrow))
        }
        Some(Look::AllLanes) => Some(None),
    };
    let reg = this.leaf(pointer)?;
    Ok(Some(ShortRows { addresses: this.vector(reg), lanes, step, look }))
}

impl ShortRows {
    /// What loading leaves gives. Objects have so many bytes.
    pub(super) fn load(&self, this: &Lowerer<'_, '_>, leaves: &[Leaf], bytes: u64, access: Access) -> Val {
        let apart = || load_leaves(this, &Place::Varying(self.addresses), leaves, bytes, access);
        if !self.are_useful(this, leaves, access) && !self.are_uniform(this, leaves, access) {
            return apart();
        }
        let by_row = || match self.step {
            0 => self.load_uniform(this, leaves, access),
            _ => self.parts_of(this, leaves, self.load_rows(this, leaves, access)),
        };
        let apart = || apart().into_iter().map(|reg| this.vector(reg)).collect();
        self.either(this, by_row, apart).into_iter().map(Reg::varying).collect()
    }

    /// What rows give where lanes follow each other, as they are in memory, or else what `apart` does.
    pub(super) fn as_rows(
        &self,
        this: &Lowerer<'_, '_>,
        leaves: &[Leaf],
        access: Access,
        rows: impl FnOnce(Vec<Value>) -> Vec<Value>,
        apart: impl FnOnce() -> Vec<Value>,
    ) -> Vec<Value> {
        if !self.are_useful(this, leaves, access) {
            return apart();
        }
        self.either(this, || rows(self.load_rows(this, leaves, access)), apart)
    }

    fn either(
        &self,
        this: &Lowerer<'_, '_>,
        by_row: impl FnOnce() -> Vec<Value>,
        apart: impl FnOnce() -> Vec<Value>,
    ) -> Vec<Value> {
        let holds = self.look.map(|indexed| self.hold(this, indexed));
        let have_firsts = this.mask().lanes().map(|mask| self.have_firsts(this, mask));
        match (holds.into_iter().chain(have_firsts).reduce(|a, b| this.b.and(a, b)), self.look) {
            (None, _) => by_row(),
            (Some(condition), Some(None)) => this.b.branch_of_many(condition, by_row, apart),
            // An index hardly ever wraps around.
            (Some(condition), _) => this.b.branch_usually(condition, by_row, apart),
        }
    }

    pub(super) fn store(&self, this: &Lowerer<'_, '_>, leaves: &[Leaf], val: &Val, access: Access) {
        let apart = || store_leaves(this, &Place::Varying(self.addresses), leaves, val, access);
        if !self.are_useful(this, leaves, access) {
            return apart();
        }
        let by_row = || {
            self.store_rows(this, leaves, val, access);
            Vec::new()
        };
        let apart = || {
            apart();
            Vec::new()
        };
        self.either(this, by_row, apart);
    }

    /// Whether lanes of a row access one run of elements, or elements near each other, by instructions that there are.
    fn are_useful(&self, this: &Lowerer<'_, '_>, leaves: &[Leaf], access: Access) -> bool {
        let (Some(element), Ok(step)) = (runs::element(leaves), u64::try_from(self.step)) else {
            return false;
        };
        let is_run = step == element.bytes() * leaves.len() as u64;
        let is_near =
            leaves.len() == 1 && step.is_multiple_of(element.bytes()) && step <= MOST_APART * element.bytes();
        let needs_masks = this.mask() != Mask::All || !is_run;
        !access.volatile
            && (is_run || is_near && step > 0)
            && (!needs_masks || this.target.has_avx512())
            && (leaves.len() == 1 || runs::stride(leaves, self.step).is_some())
    }

    /// Elements from lane to lane in a row, of which the leaves are the first.
    fn elements(&self, leaves: &[Leaf]) -> usize {
        (self.step as u64 / in_memory(leaves[0].scalar).bytes()) as usize
    }

    /// Whether all lanes of a row load the same, and all rows have lanes that are on.
    fn are_uniform(&self, this: &Lowerer<'_, '_>, leaves: &[Leaf], access: Access) -> bool {
        let are_whole = leaves.iter().all(|leaf| !matches!(leaf.scalar, Scalar::Int(_)));
        !access.volatile && self.step == 0 && this.mask() == Mask::All && are_whole
    }

    fn rows(&self, this: &Lowerer<'_, '_>) -> impl Iterator<Item = u32> {
        (0..this.w).step_by(self.lanes as usize)
    }

    /// The address of a row's first lane, by that lane's number.
    fn first(&self, this: &Lowerer<'_, '_>, lane: u32, offset: u64) -> Value {
        let b = &this.b;
        let address = match self.look {
            Some(Some(indexed)) => {
                let index = self.first_index(this, indexed, lane);
                b.element(indexed.base, indexed.widened(b, index), indexed.size)
            }
            _ => b.extract(self.addresses, b.i32(lane)),
        };
        b.offset_const(address, offset)
    }

    /// The mask of a row's elements, given its first lane's number, if not all of them are accessed.
    fn mask(&self, this: &Lowerer<'_, '_>, first: u32, leaves: &[Leaf]) -> Option<Value> {
        let (b, each) = (&this.b, self.elements(leaves));
        let all = || 0..self.lanes as usize * each;
        let lanes = this.mask().lanes().map(|mask| {
            let lanes: Vec<i32> = all().map(|at| (first as usize + at / each) as i32).collect();
            b.shuffle(mask, mask, &lanes)
        });
        let is_accessed = |at: usize| u64::from(at % each < leaves.len());
        let near = (leaves.len() < each).then(|| b.int_vector(Scalar::Bool, all().map(is_accessed)));
        lanes.into_iter().chain(near).reduce(|a, c| b.and(a, c))
    }

    /// Whether each row that has lanes which are on has its first one among them: that one's address is known to be right.
    fn have_firsts(&self, this: &Lowerer<'_, '_>, mask: Value) -> Value {
        let b = &this.b;
        let bits = b.mask_bits(mask);
        let firsts = self.rows(this).map(|lane| 1 << lane).sum();
        let firsts = b.and(bits, b.i64(firsts));
        let of_rows = b.sub(b.shl(firsts, b.i64(self.lanes.into())), firsts);
        b.icmp(IntPred::LLVMIntEQ, b.and(bits, b.not(of_rows)), b.i64(0))
    }

    /// Whether all rows are what they are taken for.
    fn hold(&self, this: &Lowerer<'_, '_>, indexed: Option<Indexed>) -> Value {
        let b = &this.b;
        match indexed {
            // Indices grow from the first lane's on, until one wraps around.
            Some(indexed) => {
                let span = (u64::from(self.lanes) - 1) * (self.step as u64 / indexed.size);
                let last = b.int(Scalar::I32, 1, u64::from(u32::MAX).saturating_sub(span));
                let stays =
                    |lane| b.icmp(IntPred::LLVMIntULE, b.freeze(self.first_index(this, indexed, lane)), last);
                let all = self.rows(this).map(stays).reduce(|all, stays| b.and(all, stays));
                all.unwrap_or_else(|| b.int(Scalar::Bool, 1, 1))
            }
            None => {
                let number = b.reinterpret(b.freeze(self.addresses), Scalar::I64);
                let firsts: Vec<i32> =
                    (0..this.w).map(|lane| (lane / self.lanes * self.lanes) as i32).collect();
                let steps = (0..this.w).map(|lane| (self.step * i64::from(lane % self.lanes)) as u64);
                let expected = b.add(b.shuffle(number, number, &firsts), b.int_vector(Scalar::I64, steps));
                none_on(this, b.icmp(IntPred::LLVMIntNE, number, expected))
            }
        }
    }

    /// The index of a row's first lane.
    fn first_index(&self, this: &Lowerer<'_, '_>, indexed: Indexed, lane: u32) -> Value {
        this.b.extract(this.vector(indexed.index), this.b.i32(lane))
    }

    fn load_uniform(&self, this: &Lowerer<'_, '_>, leaves: &[Leaf], access: Access) -> Vec<Value> {
        let of_leaf = |leaf: &Leaf| {
            let memory = in_memory(leaf.scalar);
            let align = align_at(access.align, leaf.offset, memory);
            let row = |lane| {
                let value = this.b.load(memory, 1, self.first(this, lane, leaf.offset), align);
                this.b.splat(from_memory(this, value, leaf.scalar), self.lanes)
            };
            this.b.concat(self.rows(this).map(row).collect())
        };
        leaves.iter().map(of_leaf).collect()
    }

    /// The rows as they are in memory.
    fn load_rows(&self, this: &Lowerer<'_, '_>, leaves: &[Leaf], access: Access) -> Vec<Value> {
        let (b, memory) = (&this.b, in_memory(leaves[0].scalar));
        let align = align_at(access.align, 0, memory);
        let elements = self.lanes * self.elements(leaves) as u32;
        let row = |lane| {
            let address = self.first(this, lane, 0);
            match self.mask(this, lane, leaves) {
                Some(mask) => b.masked_load(memory, elements, address, align, mask),
                None => b.load(memory, elements, address, align),
            }
        };
        self.rows(this).map(row).collect()
    }

    /// The leaves in rows as they are in memory.
    fn parts_of(&self, this: &Lowerer<'_, '_>, leaves: &[Leaf], rows: Vec<Value>) -> Vec<Value> {
        let values = match leaves {
            [_] => {
                let (all, each) = (this.b.concat(rows), self.elements(leaves));
                let lanes: Vec<i32> = (0..this.w as usize).map(|lane| (lane * each) as i32).collect();
                vec![if each == 1 { all } else { this.b.shuffle(all, all, &lanes) }]
            }
            _ => runs::parts(this, leaves, rows),
        };
        let values = values.into_iter().zip(leaves);
        values.map(|(value, leaf)| from_memory(this, value, leaf.scalar)).collect()
    }

    fn store_rows(&self, this: &Lowerer<'_, '_>, leaves: &[Leaf], val: &Val, access: Access) {
        let (b, align) = (&this.b, align_at(access.align, 0, in_memory(leaves[0].scalar)));
        let all = match val.as_slice() {
            [reg] => to_memory(this, this.vector(*reg)),
            _ => b.concat(
                runs::whole_vectors(this, leaves, val).into_iter().map(|(_, vector)| vector).collect(),
            ),
        };
        // What is between lanes' leaves is not stored, whatever it is.
        let (each, count) = (self.elements(leaves), leaves.len());
        for lane in self.rows(this) {
            let place = |at: usize| (lane as usize + at / each) * count + (at % each).min(count - 1);
            let own: Vec<i32> = (0..self.lanes as usize * each).map(|at| place(at) as i32).collect();
            let (value, address) = (b.shuffle(all, all, &own), self.first(this, lane, 0));
            match self.mask(this, lane, leaves) {
                Some(mask) => b.masked_store(value, address, align, mask),
                None => b.store(value, address, align),
            }
        }
    }
}
