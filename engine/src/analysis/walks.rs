//! Loops in which each work-item walks through a piece of memory of its own: a piece of a text, a row of a table.
//!
//! From one work-item to the next it is far, from one iteration to the next it is an element. Lanes that are work-items would
//! gather; lanes that are iterations load and store vectors. Who wrote such a kernel thinks of threads with a range each, and a
//! compiler for threads vectorises its loops.

use super::Analysis;
use super::func::{BlockId, ChainStep, Terminator};
use super::leaves::Scalar;
use super::lengths::Length;
use super::loops::{Loop, LoopId};
use super::shapes::Shape;
use cranelift_entity::EntitySet;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use spirv::{Op, OpenclStd100Op, StorageClass};
use spirv_env::opcodes::{Convergence, Cost, Derives, Family, Memory};
use spirv_env::{Id, Inst, Type};

/// How deep an index expression is looked into.
const DEPTH: u32 = 8;
/// Elements from one work-item to the next from which on it is far: up to here a few vectors have those of all lanes.
const FAR: u64 = 8;
/// Instructions outside of such loops that a kernel may have: they are executed for one work-item at a time.
const MOST_OUTSIDE: usize = 60;
/// Iterations that a walk has at least, and bytes of the smallest elements that it goes through: what is left of a vector's iterations
/// is executed one by one (Sapphire Rapids; rows of 8 numbers of 4 bytes were as fast in either way, and pieces of 32 bytes).
const LEAST: u64 = 8;
const HALF_A_VECTOR: u64 = 32;
/// So many times that where iterations see what the one before them had: LLVM leaves all that a vector would go beyond to iterations one by one,
/// which are one whole vector where nothing would be left (on a Zen 4, words in rows of 64 letters took four times as long).
const WITH_LOOKS_BACK: u64 = 8;

/// Functions of floats that are an instruction.
const ARITHMETIC: [OpenclStd100Op; 3] = [OpenclStd100Op::fma, OpenclStd100Op::mad, OpenclStd100Op::fabs];

/// Values that are followed back.
const MOST_VALUES: usize = 256;

/// How a value is made of another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Use {
    None,
    Itself,
    /// By one operation, in any order.
    By(Op),
    Mixed,
}

impl Use {
    /// Of one that is made in either way.
    fn or(self, other: Use) -> Use {
        match (self, other) {
            (Use::None, one) | (one, Use::None) => one,
            (Use::Itself, Use::By(op)) | (Use::By(op), Use::Itself) => Use::By(op),
            (one, other) if one == other => one,
            _ => Use::Mixed,
        }
    }

    fn by(self, op: Op) -> Use {
        match self {
            Use::Itself => Use::By(op),
            Use::By(other) if other == op => self,
            _ => Use::Mixed,
        }
    }
}

/// How an index goes on from one work-item to the next.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Distance {
    None,
    Far,
    /// Near by, or nobody knows.
    Near,
}

/// A loop whose iterations may become lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Walk {
    pub length: Length,
    /// The length from which on vectors of iterations promise more than vectors of work-items.
    pub least: u64,
}

impl Analysis<'_> {
    /// The innermost loops, if all of them walk and it is known how long they are: then vectors of a work-item's iterations may
    /// promise more than vectors of work-items. Only LLVM's vectoriser can tell whether it makes vectors of them.
    pub fn walks(&self) -> Option<Vec<Walk>> {
        let innermost = self.loops.innermost();
        let walks: Vec<Walk> = (self.loops.loops.iter())
            .filter(|(id, _)| innermost.contains(*id))
            .map(|(id, this)| {
                let size = self.walked_by(id, this)?;
                let least = LEAST.max(HALF_A_VECTOR / size);
                let times = if self.looks_back(this) { WITH_LOOKS_BACK } else { 1 };
                Some(Walk { length: self.length(id)?, least: times * least })
            })
            .collect::<Option<_>>()?;
        (!walks.is_empty() && self.has_little_outside(&innermost)).then_some(walks)
    }

    /// Whether little is done outside of the innermost loops, and nothing that is made for lanes.
    fn has_little_outside(&self, innermost: &EntitySet<LoopId>) -> bool {
        let mut count = 0;
        for block in self.func.block_ids() {
            let around = self.loops.of(block);
            if around.is_some_and(|around| innermost.contains(around)) {
                continue;
            }
            for inst in &self.func.blocks[block].insts {
                count += 1;
                // In a loop, work-items may wait for others.
                let waits = around.is_some() && (inst.row().memory.is_atomic() || inst.is_volatile());
                if waits || self.is_of_vectors(inst) {
                    return false;
                }
            }
        }
        count <= MOST_OUTSIDE
    }

    /// Whether an instruction is something that is made for lanes and costs a work-item alone as much as all of them, or
    /// that gives other results there.
    fn is_of_vectors(&self, inst: &Inst) -> bool {
        let row = inst.row();
        (row.family == Family::Extended && !self.is_plain_function(inst))
            || row.family == Family::Call
            || row.convergence != Convergence::None
            || row.memory.is_of_images()
    }

    /// Whether a function of `OpenCL.std` does the same to one number and to a vector, in little time.
    fn is_plain_function(&self, inst: &Inst) -> bool {
        self.is_function_among(inst, &ARITHMETIC)
    }

    /// Whether an instruction is a function of `OpenCL.std` that is not of floats, or one of these, and has no pointer.
    pub(super) fn is_function_among(&self, inst: &Inst, floats: &[OpenclStd100Op]) -> bool {
        let is_float = |id: Id| {
            let leaves = self.func.type_of(id).and_then(|ty| self.leaves.get(ty));
            leaves.is_none_or(|leaves| leaves.iter().any(|leaf| leaf.scalar.is_float()))
        };
        inst.opencl_std(self.func.module).is_some_and(|std| {
            std.pointer().is_none() && (!inst.result.is_none_or(is_float) || floats.contains(&std.op))
        })
    }

    /// The size of the smallest elements that a loop goes through as each is followed by the next one in memory; `None` if it does
    /// not, or does something else that takes long.
    fn walked_by(&self, id: LoopId, this: &Loop) -> Option<u64> {
        let mut smallest = None;
        for &block in &this.blocks {
            let code = &self.func.blocks[block];
            // Sums of floats are in an order.
            let is_number = |id: Id| {
                let leaves = self.func.type_of(id).and_then(|ty| self.leaves.get(ty));
                leaves.is_some_and(
                    |of| matches!(*of, [leaf] if leaf.scalar.is_int() || leaf.scalar == Scalar::Bool),
                )
            };
            let goes_on = |id: Id| is_number(id) && self.is_in_parts(id, this);
            if block == this.header && !code.phis.iter().all(|phi| goes_on(phi.result)) {
                return None;
            }
            if matches!(code.term, Terminator::Switch { .. } | Terminator::Dispatch { .. }) {
                return None;
            }
            for inst in &code.insts {
                let row = inst.row();
                if self.is_of_vectors(inst) || (row.cost == Cost::High && row.memory == Memory::None) {
                    return None;
                }
                match row.memory {
                    Memory::None | Memory::Object | Memory::Lifetime => {}
                    Memory::ByCallee if self.is_plain_function(inst) => {}
                    Memory::Read { .. } if self.builtins.contains_key(&inst.id(0)) => {}
                    Memory::Read { .. } | Memory::Write { .. } if !inst.is_volatile() => {
                        let size = self.steps_over(id, block, inst.id(0))?;
                        smallest = [smallest, size].into_iter().flatten().min();
                    }
                    _ => return None,
                }
            }
        }
        smallest
    }

    /// Whether a phi of the header is something that the iteration before made of nothing that it had itself.
    fn looks_back(&self, this: &Loop) -> bool {
        self.func.blocks[this.header].phis.iter().any(|phi| {
            let next = phi.from(this.latch).filter(|next| *next != phi.result);
            let is_inside = |id: Id| self.def.get(&id).is_some_and(|block| this.blocks.contains(block));
            next.is_some_and(|next| {
                is_inside(next) && self.use_of(phi.result, next, this, &mut FxHashMap::default()) == Use::None
            })
        })
    }

    /// Whether what a phi of the header is from one iteration to the next can be made in parts and put together in the end, as sums
    /// are and hashes are not.
    fn is_in_parts(&self, phi: Id, this: &Loop) -> bool {
        let phis = &self.func.blocks[this.header].phis;
        let incoming = phis.iter().find(|of| of.result == phi).map(|of| &of.incoming);
        let next = incoming.and_then(|all| all.iter().find(|(pred, _)| *pred == this.latch));
        next.is_some_and(|(_, next)| self.use_of(phi, *next, this, &mut FxHashMap::default()) != Use::Mixed)
    }

    /// How a value of an iteration is made of a phi of the loop's header.
    fn use_of(&self, phi: Id, id: Id, this: &Loop, known: &mut FxHashMap<Id, Use>) -> Use {
        if id == phi {
            return Use::Itself;
        }
        if let Some(known) = known.get(&id) {
            return *known;
        }
        let Some(block) = self.def.get(&id).filter(|block| this.blocks.contains(*block)) else {
            return Use::None;
        };
        if known.len() == MOST_VALUES {
            return Use::Mixed;
        }
        // What comes round by another phi of the header is another iteration's.
        known.insert(id, Use::None);
        let Some(inst) = self.definition(id) else {
            let phis = if *block == this.header { &[] } else { self.func.blocks[*block].phis.as_slice() };
            let own = phis.iter().find(|own| own.result == id);
            let incoming = own.into_iter().flat_map(|own| &own.incoming);
            let all = incoming.fold(Use::None, |all, (_, of)| all.or(self.use_of(phi, *of, this, known)));
            known.insert(id, all);
            return all;
        };
        let uses: SmallVec<[Use; 4]> = inst.ids().map(|of| self.use_of(phi, of, this, known)).collect();
        let is_pair = || uses.iter().filter(|of| **of != Use::None).count() == 1;
        let all = match (inst.op, uses.as_slice()) {
            (_, uses) if uses.iter().all(|of| *of == Use::None) => Use::None,
            (Op::CopyObject, [one]) => *one,
            (Op::Select, [Use::None, one, other]) => one.or(*other),
            (Op::ISub, [one, Use::None]) => one.by(Op::IAdd),
            (
                op @ (Op::IAdd
                | Op::IMul
                | Op::BitwiseAnd
                | Op::BitwiseOr
                | Op::BitwiseXor
                | Op::LogicalAnd
                | Op::LogicalOr),
                [one, other],
            ) if is_pair() => one.or(*other).by(op),
            (Op::ExtInst, uses) if is_pair() && self.is_plain_function(inst) => {
                uses.iter().fold(Use::None, |all, of| all.or(*of)).by(Op::ExtInst)
            }
            _ => Use::Mixed,
        };
        known.insert(id, all);
        all
    }

    /// The size of the elements of a work-item's own piece that an access steps over, if it goes through one. `None` where lanes of
    /// work-items serve it, or nothing does.
    fn steps_over(&self, inside: LoopId, block: BlockId, pointer: Id) -> Option<Option<u64>> {
        let types = &self.func.module.types;
        let Type::Pointer { class, pointee } = *types.get(self.func.type_of(pointer)?) else { return None };
        if !matches!(class, StorageClass::CrossWorkgroup | StorageClass::UniformConstant) {
            return None;
        }
        let size = match &*self.leaves.get(pointee)? {
            [leaf] => leaf.scalar.bytes(),
            _ => return None,
        };
        let step = self.pointer_step(inside, pointer, &mut |index| self.iteration_step(inside, index))?;
        match (self.distance_of(inside, block, pointer, size), step.unsigned_abs()) {
            (Distance::Near, _) => None,
            (Distance::None, _) | (_, 0) => Some(None),
            (Distance::Far, step) => (step == size).then_some(Some(size)),
        }
    }

    /// Whether lanes' elements lie far apart.
    pub fn is_far(&self, inside: LoopId, block: BlockId, pointer: Id, size: u64) -> bool {
        self.distance_of(inside, block, pointer, size) == Distance::Far
    }

    fn distance_of(&self, inside: LoopId, block: BlockId, pointer: Id, size: u64) -> Distance {
        match self.shape(block, pointer)[0] {
            Shape::Uniform | Shape::Undefined => Distance::None,
            Shape::Strided(bytes) if bytes.unsigned_abs() <= FAR * size => Distance::Near,
            Shape::Strided(_) => Distance::Far,
            Shape::Varying => self.distance(inside, block, pointer, 0),
        }
    }

    /// How far it is from one work-item to the next.
    fn distance(&self, inside: LoopId, block: BlockId, id: Id, depth: u32) -> Distance {
        match self.shape(block, id)[0] {
            Shape::Uniform | Shape::Undefined => return Distance::None,
            Shape::Strided(step) if step.unsigned_abs() <= FAR => return Distance::Near,
            Shape::Strided(_) => return Distance::Far,
            Shape::Varying if depth > DEPTH => return Distance::Near,
            Shape::Varying => {}
        }
        let all = |ids: &mut dyn Iterator<Item = Id>| {
            ids.map(|id| self.distance(inside, block, id, depth + 1)).max().unwrap_or(Distance::None)
        };
        let header = self.loops.get(inside).header;
        let phi = self.func.blocks[header].phis.iter().find(|phi| phi.result == id);
        if phi.is_some() && self.iteration_step(inside, id).is_some() {
            let preheader = self.loops.get(inside).preheader;
            let mut first =
                phi.into_iter().flat_map(|phi| &phi.incoming).filter(|(pred, _)| *pred == preheader);
            return all(&mut first.by_ref().map(|(_, id)| *id));
        }
        let Some(inst) = self.definition(id) else { return Distance::Near };
        match inst.op {
            Op::UConvert | Op::SConvert | Op::CopyObject | Op::IAdd | Op::ISub => all(&mut inst.ids()),
            Op::IMul if inst.ids().any(|id| self.shape(block, id)[0].is_uniform()) => Distance::Far,
            Op::ShiftLeftLogical => Distance::Far,
            // Where a row begins.
            Op::Load if !self.builtins.contains_key(&inst.id(0)) => Distance::Far,
            _ if matches!(inst.row().derives, Derives::Chain | Derives::ElementChain) => {
                let indices = self.func.chain(inst).into_iter().filter_map(|step| match step {
                    ChainStep::Scaled { index, .. } => Some(index),
                    ChainStep::Constant(_) => None,
                });
                all(&mut std::iter::once(inst.id(0)).chain(indices))
            }
            _ => Distance::Near,
        }
    }

    /// Bytes that an address goes on by with each iteration, if that is a constant, given what indices go on by.
    pub fn pointer_step(
        &self,
        inside: LoopId,
        pointer: Id,
        of_index: &mut dyn FnMut(Id) -> Option<i64>,
    ) -> Option<i64> {
        if self.is_invariant(inside, pointer) {
            return Some(0);
        }
        let inst = self.definition(pointer)?;
        if !matches!(inst.row().derives, Derives::Chain | Derives::ElementChain) {
            return None;
        }
        let base = self.pointer_step(inside, inst.id(0), of_index)?;
        self.func.chain(inst).into_iter().try_fold(base, |sum, step| match step {
            ChainStep::Constant(_) => Some(sum),
            ChainStep::Scaled { index, size } => {
                sum.checked_add(of_index(index)?.checked_mul(i64::try_from(size).ok()?)?)
            }
        })
    }

    /// What an integer goes on by with each iteration, if that is a constant: its low 32 bits, or all if it has fewer, do. Where
    /// they wrap around is not known.
    pub fn iteration_step(&self, inside: LoopId, id: Id) -> Option<i64> {
        self.step_of(inside, id, 0)
    }

    fn step_of(&self, inside: LoopId, id: Id, depth: u32) -> Option<i64> {
        if self.is_invariant(inside, id) {
            return Some(0);
        }
        if depth > DEPTH {
            return None;
        }
        if let Some(by) = self.induction(inside, id) {
            return self.func.constant_int(by);
        }
        if let Some(step) = self.step_behind(inside, id) {
            return Some(step);
        }
        let inst = self.definition(id)?;
        let mut of = |id: Id| self.step_of(inside, id, depth + 1);
        match inst.op {
            // What has fewer bits wraps around by other rules.
            Op::SConvert if self.index_width(inst.id(0)).is_some_and(|width| width >= u32::BITS) => {
                of(inst.id(0))
            }
            _ => self.sum_step(inst, &mut of),
        }
    }

    /// What a sum, or a product by a constant, goes on by, given what its operands do.
    pub fn sum_step(&self, inst: &Inst, of: &mut dyn FnMut(Id) -> Option<i64>) -> Option<i64> {
        let mut of = |at: usize| of(inst.id(at));
        match inst.op {
            Op::CopyObject => of(0),
            Op::IAdd => of(0)?.checked_add(of(1)?),
            Op::ISub => of(0)?.checked_sub(of(1)?),
            Op::IMul => match (self.func.constant_int(inst.id(0)), self.func.constant_int(inst.id(1))) {
                (Some(by), _) => of(1)?.checked_mul(by),
                (_, Some(by)) => of(0)?.checked_mul(by),
                _ => None,
            },
            Op::ShiftLeftLogical => match self.func.constant_bits(inst.id(1)) {
                Some(bits @ 0..=30) => of(0)?.checked_mul(1 << bits),
                _ => None,
            },
            _ => None,
        }
    }

    /// The step of a phi that is another one's value plus a constant, which compilers keep where a loop's condition wants it: the
    /// latch makes it of the other phi as it was, so it began a step and a constant away from where that began.
    fn step_behind(&self, inside: LoopId, id: Id) -> Option<i64> {
        let of = self.loops.get(inside);
        let phis = &self.func.blocks[of.header].phis;
        let from = |id: Id, pred: BlockId| {
            let phi = phis.iter().find(|phi| phi.result == id)?;
            phi.from(pred)
        };
        // What a value is a constant more than.
        let parted = |id: Id| {
            let sum = self.definition(id).filter(|inst| inst.op == Op::IAdd);
            let parts = sum.and_then(|inst| self.func.constant_int(inst.id(1)).map(|by| (inst.id(0), by)));
            parts.unwrap_or((id, 0))
        };
        let (other, ahead) = parted(self.passed_on(inside, from(id, of.latch)?)?);
        let step = self.func.constant_int(self.induction(inside, other)?)?;
        let (first, by) = parted(from(id, of.preheader)?);
        let (other_first, other_by) = parted(from(other, of.preheader)?);
        let begins = (first == other_first).then(|| by.checked_sub(other_by))??;
        (begins == ahead.checked_sub(step)?).then_some(step)
    }

    /// What the latch adds to a phi of the loop's header.
    pub fn induction(&self, inside: LoopId, id: Id) -> Option<Id> {
        let of = self.loops.get(inside);
        let phi = self.func.blocks[of.header].phis.iter().find(|phi| phi.result == id)?;
        let next = self.passed_on(inside, phi.from(of.latch)?)?;
        let inst = self.definition(next).filter(|inst| inst.op == Op::IAdd)?;
        match (inst.id(0), inst.id(1)) {
            (phi, by) | (by, phi) if phi == id => Some(by),
            _ => None,
        }
    }

    /// What a value of the latch is: that may pass one on by a phi of its own.
    pub(super) fn passed_on(&self, inside: LoopId, id: Id) -> Option<Id> {
        let latch = self.loops.get(inside).latch;
        match self.func.blocks[latch].phis.iter().find(|phi| phi.result == id) {
            Some(phi) => match phi.incoming.as_slice() {
                [(_, only)] => Some(*only),
                _ => None,
            },
            None => Some(id),
        }
    }

    /// Whether a loop's iterations all see the same value.
    pub fn is_invariant(&self, inside: LoopId, id: Id) -> bool {
        self.def.get(&id).is_none_or(|block| !self.loops.encloses(Some(inside), self.loops.of(*block)))
    }
}

#[cfg(test)]
mod tests;
