//! Loads by which each lane goes through memory of its own, element by element: sums of rows, hashes of texts.
//!
//! Such a load gathers in each iteration. What the next iterations load lies behind it, so a piece of a few elements a lane is loaded
//! at once, and is good for as many iterations (`lower::read_ahead`). That needs a load that every lane of the loop makes in each
//! iteration, and a loop that waits for nobody. What a lane stores there itself must go through memory in the same way, and each
//! store looks whether it is into what has been read (running sums of rows); what others store meanwhile is a race. (Where all that
//! a kernel does are such loops, and their results do not depend on an order, lanes are iterations instead: `walks`.)

use super::Analysis;
use super::func::BlockId;
use super::leaves::Scalar;
use super::lengths::Length;
use super::loops::LoopId;
use super::members::LEAST_LANES;
use super::order::Order;
use crate::abi::LaneMapping;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use spirv::{Op, StorageClass};
use spirv_env::opcodes::{Convergence, Family, Memory};
use spirv_env::{Id, Inst, TypeId};

/// Words of a piece.
pub const WORDS: u32 = 4;
/// Loads of a function: each has code for both ways.
const MOST_LOADS: usize = 6;
/// Stores of a loop to such memory, each of which looks at all loads.
const MOST_STORES: usize = 2;
/// How deep an index expression is looked into.
const DEPTH: u32 = 8;
/// Bytes of the caches' lines.
pub(super) const LINE: u64 = 64;

/// A load of the header of a loop.
#[derive(Clone, Debug)]
pub struct Ahead {
    pub inside: LoopId,
    pub preheader: BlockId,
    pub scalar: Scalar,
    /// Pointers through which the loop may store into what has been read.
    pub stores: SmallVec<[Id; MOST_STORES]>,
    /// What is widened to 64 bits on the way to the address.
    pub widened: SmallVec<[Widened; 2]>,
    /// What tells how many iterations are left.
    pub left: Option<Left>,
}

/// How many iterations a loop has left, with the current one, if it goes on for as long as a counter that grows by one is below a bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Left {
    /// The counter, a phi of the header.
    pub counter: Id,
    pub bound: Id,
    pub until: Until,
}

/// What the counter's next value is compared by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    /// They are equal.
    Equal,
    /// It is not less, as signed numbers or as others.
    NotLess { signed: bool },
}

/// An integer of 32 bits that changes by so much with each iteration. Where it wraps around, the next element is elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Widened {
    pub id: Id,
    pub is_signed: bool,
    pub step: i32,
}

impl Ahead {
    /// What a piece is loaded as four of.
    pub fn word(&self) -> Scalar {
        if self.scalar.bytes() == 8 { Scalar::I64 } else { Scalar::I32 }
    }

    /// Iterations that a piece is good for.
    pub fn elements(&self) -> u64 {
        self.bytes() / self.scalar.bytes()
    }

    /// Bytes of a piece.
    pub fn bytes(&self) -> u64 {
        u64::from(WORDS) * self.word().bytes()
    }

    /// Pieces that wait at once, at most: a line of the caches, where so many iterations are known to be left. (Rows that lie a power of two
    /// apart have few places in the nearest cache, and a line that is read piece by piece would not stay there.)
    pub fn pieces(&self) -> u64 {
        let is_long = self.left.is_some() && self.stores.is_empty();
        if is_long { LINE / self.bytes() } else { 1 }
    }
}

impl Analysis<'_> {
    /// Such loads, by their results.
    pub fn read_ahead(&self) -> FxHashMap<Id, Ahead> {
        let mut found = FxHashMap::default();
        if self.variant.width < LEAST_LANES || self.variant.mapping == LaneMapping::Iterations {
            return found;
        }
        for inside in self.loops.loops.keys() {
            for inst in &self.func.blocks[self.loops.get(inside).header].insts {
                if found.len() == MOST_LOADS {
                    return found;
                }
                if let (Some(result), Some(ahead)) = (inst.result, self.ahead(inside, inst)) {
                    found.insert(result, ahead);
                }
            }
        }
        found
    }

    fn ahead(&self, inside: LoopId, inst: &Inst) -> Option<Ahead> {
        if inst.op != Op::Load || inst.is_volatile() {
            return None;
        }
        let (pointer, this) = (inst.id(0), self.loops.get(inside));
        let class = self.class_of_global_memory(pointer)?;
        let scalar = self.number(inst.ty?)?;
        let mut widened = SmallVec::new();
        let step = self.row_step(inside, pointer, &mut widened)?;
        let stores = self.stores_into(inside, inst, class)?;
        let has = |elements: u64| match self.length(inside) {
            Some(Length::Constant(length)) => length >= elements,
            _ => true,
        };
        let left = self.left(inside).filter(|_| has(LINE / scalar.bytes()));
        let ahead = Ahead { inside, preheader: this.preheader, scalar, stores, widened, left };
        let is_there = |of: &Widened| of.step > 0 && self.def.get(&of.id) == Some(&this.header);
        (has(ahead.elements())
            && step == scalar.bytes() as i64
            && self.is_far(inside, this.header, pointer, scalar.bytes())
            && ahead.widened.iter().all(is_there))
        .then_some(ahead)
    }

    /// What tells how many iterations a loop has left, if there is one way out of it, at which each of them looks.
    fn left(&self, inside: LoopId) -> Option<Left> {
        let of = self.loops.get(inside);
        let &[(block, _)] = of.exits.as_slice() else { return None };
        let (comparison, goes_on) = self.asked_in_each_iteration(inside, block)?;
        let order = Order::of(comparison, goes_on).filter(|order| order.is_strict);
        let differs = matches!((comparison.op, goes_on), (Op::INotEqual, true) | (Op::IEqual, false));
        let bound_of = |next: Id| match order {
            Some(order) => {
                (order.lesser == next).then_some((order.greater, Until::NotLess { signed: order.is_signed }))
            }
            None if differs => {
                let other = comparison.ids().find(|id| *id != next)?;
                comparison.ids().any(|id| id == next).then_some((other, Until::Equal))
            }
            None => None,
        };
        self.func.blocks[of.header].phis.iter().find_map(|phi| {
            let next = self.passed_on(inside, phi.from(of.latch)?)?;
            let step = self.induction(inside, phi.result)?;
            let (bound, until) = bound_of(next).filter(|(bound, _)| self.is_invariant(inside, *bound))?;
            (self.func.constant_int(step) == Some(1)).then_some(Left { counter: phi.result, bound, until })
        })
    }

    /// What a type is, if it is one number that is in memory as in registers.
    pub(super) fn number(&self, ty: TypeId) -> Option<Scalar> {
        let [leaf] = *self.leaves.get(ty)? else { return None };
        let is_whole = !matches!(leaf.scalar, Scalar::Bool | Scalar::Ptr | Scalar::Int(_));
        is_whole.then_some(leaf.scalar)
    }

    /// The class of a pointer to what is in memory for all work-items, and is no builtin variable.
    fn class_of_global_memory(&self, pointer: Id) -> Option<StorageClass> {
        let class = self.func.class_of(pointer)?;
        let is_global = matches!(class, StorageClass::CrossWorkgroup | StorageClass::UniformConstant);
        (is_global && !self.builtins.contains_key(&pointer)).then_some(class)
    }

    /// Through what a loop stores to memory of a class behind a load of its header, if that is all that it does to it, and it does
    /// nothing that makes others' writes there seen.
    fn stores_into(
        &self,
        inside: LoopId,
        load: &Inst,
        class: StorageClass,
    ) -> Option<SmallVec<[Id; MOST_STORES]>> {
        let writes_elsewhere = |inst: &Inst| self.func.is_stored_elsewhere(inst.id(0), class);
        let this = self.loops.get(inside);
        let mut before =
            self.func.blocks[this.header].insts.iter().take_while(|inst| !std::ptr::eq(*inst, load));
        if before.any(|inst| inst.op == Op::Store && !writes_elsewhere(inst)) {
            return None;
        }
        let mut stores = SmallVec::new();
        for inst in this.blocks.iter().flat_map(|block| &self.func.blocks[*block].insts) {
            match self.quiet_memory(inst)? {
                Memory::None | Memory::Object | Memory::Lifetime | Memory::Read { .. } => {}
                Memory::Write { .. } if writes_elsewhere(inst) => {}
                // A lane that stores anywhere has no rows that are worth the looks: breadth-first search took 1.15 of the time.
                Memory::Write { .. }
                    if inst.op == Op::Store
                        && stores.len() < MOST_STORES
                        && self.row_step(inside, inst.id(0), &mut SmallVec::new()).is_some() =>
                {
                    stores.push(inst.id(0));
                }
                _ => return None,
            }
        }
        Some(stores)
    }

    /// What an instruction does to memory, if it does nothing that makes others' writes seen.
    pub(super) fn quiet_memory(&self, inst: &Inst) -> Option<Memory> {
        let row = inst.row();
        let is_quiet = !row.synchronizes()
            && !inst.is_volatile()
            && row.convergence == Convergence::None
            && row.family != Family::Call;
        let is_pure = inst.opencl_std(self.func.module).is_some_and(|function| function.is_pure());
        is_quiet.then_some(if is_pure { Memory::None } else { row.memory })
    }

    /// Accesses of a loop by which each lane goes through memory of its own, and comes to the same line of a cache again and again.
    pub fn lines_of_a_lane(&self, inside: LoopId) -> usize {
        let is_one = |block: BlockId, inst: &Inst| {
            let (Op::Load | Op::Store) = inst.op else { return false };
            let pointer = inst.id(0);
            self.class_of_global_memory(pointer).is_some()
                && self.is_far(inside, block, pointer, 1)
                && self.goes_along_lines(inside, pointer)
        };
        let blocks = self.loops.get(inside).blocks.iter();
        blocks
            .flat_map(|block| self.func.blocks[*block].insts.iter().map(move |inst| (*block, inst)))
            .filter(|(block, inst)| is_one(*block, inst))
            .count()
    }

    /// Whether an access goes on by less than a line of a cache with each iteration, but on.
    pub(super) fn goes_along_lines(&self, inside: LoopId, pointer: Id) -> bool {
        let step = self.row_step(inside, pointer, &mut SmallVec::new());
        step.is_some_and(|step| step != 0 && step.unsigned_abs() < LINE)
    }

    /// Bytes that an access goes on by with each iteration, unless something that is widened wraps around.
    fn row_step(&self, inside: LoopId, pointer: Id, widened: &mut SmallVec<[Widened; 2]>) -> Option<i64> {
        self.pointer_step(inside, pointer, &mut |index| match self.index_width(index) {
            Some(u64::BITS) => self.index_grows_by(inside, index, widened, 0),
            _ => self.widened_grows_by(inside, index, true, widened),
        })
    }

    /// By how much an index of 64 bits grows with each iteration, unless something that is widened wraps around.
    fn index_grows_by(
        &self,
        inside: LoopId,
        id: Id,
        widened: &mut SmallVec<[Widened; 2]>,
        depth: u32,
    ) -> Option<i64> {
        if self.is_invariant(inside, id) {
            return Some(0);
        }
        if depth > DEPTH {
            return None;
        }
        if self.induction(inside, id).is_some() {
            return self.iteration_step(inside, id);
        }
        let inst = self.definition(id)?;
        match inst.op {
            Op::SConvert | Op::UConvert if !self.saturates(inst) => {
                self.widened_grows_by(inside, inst.id(0), inst.op == Op::SConvert, widened)
            }
            _ => self.sum_step(inst, &mut |id| self.index_grows_by(inside, id, widened, depth + 1)),
        }
    }

    /// The same of an integer of 32 bits that is widened.
    fn widened_grows_by(
        &self,
        inside: LoopId,
        id: Id,
        is_signed: bool,
        widened: &mut SmallVec<[Widened; 2]>,
    ) -> Option<i64> {
        let step = self.iteration_step(inside, id)?;
        if step != 0 {
            let step = i32::try_from(step).ok().filter(|step| step.unsigned_abs() < 1 << 16)?;
            if self.index_width(id) != Some(u32::BITS) {
                return None;
            }
            widened.push(Widened { id, is_signed, step });
        }
        Some(step)
    }
}
