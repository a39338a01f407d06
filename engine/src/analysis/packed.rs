//! Vectors of the kernel that stay as they are in memory.
//!
//! A value of a vector type is a register for each component, with a lane for each work-item: what arithmetic among components wants
//! (`x * x + y * y`), and a transpose behind each load and in front of each store. Kernels of images and of signals often do the same to all
//! components, and little more: `c[i] = add_sat(a[i], b[i])` for `uchar16`. There the vectors of all work-items, one behind the
//! other as in memory, serve as well: nothing is transposed, and registers are full however small components are.
//!
//! One work-item after the other has nothing to transpose: its vectors are registers, and those of three components have room for a fourth.
//! Where components are what it computes with, they are scalars.
//!
//! Which values are held so is found for all at once that meet in instructions on components, since such an instruction takes its operands in
//! one form: where that takes fewer instructions (`worth`). `lower::packed` makes the code.

use super::Analysis;
use super::func::BlockId;
use super::leaves::Scalar;
use super::members::LEAST_LANES;
use super::shapes::{Shape, Trust};
use crate::abi::LaneMapping;
use cranelift_entity::SecondaryMap;
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Op, OpenclStd100Op as StdOp};
use spirv_env::opcodes::{Family, Memory, divides_integers};
use spirv_env::{Id, Inst, Type};

mod worth;

/// How a packed value is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packing {
    /// Components of a work-item's vector.
    pub components: u32,
    /// Components in a register.
    pub lanes: u32,
    pub registers: u32,
}

impl Packing {
    /// Vectors of so many components of work-items of a sub-group, in registers that have room for so many.
    pub fn new(components: u32, width: u32, room: u32) -> Self {
        if width == 1 {
            return Packing { components, lanes: components.next_power_of_two(), registers: 1 };
        }
        let all = components * width;
        let lanes = if components.is_power_of_two() { room.max(components).min(all) } else { width };
        Packing { components, lanes, registers: all / lanes }
    }

    /// The work-item and the component at a place of a register. Behind three of a single work-item is the last one again.
    pub fn at(self, register: u32, lane: u32) -> (u32, u32) {
        match self.is_behind(register, lane) {
            true => (0, self.components - 1),
            false => {
                let place = register * self.lanes + lane;
                (place / self.components, place % self.components)
            }
        }
    }

    /// Whether nobody wants to know what is at a place.
    pub fn is_behind(self, register: u32, lane: u32) -> bool {
        let is_of_one = self.registers == 1 && !self.lanes.is_multiple_of(self.components);
        is_of_one && register * self.lanes + lane >= self.components
    }
}

/// The bits of a register: those that the smallest components fill. Where registers are smaller it is no loss, as LLVM
/// makes several of one.
const REGISTER_BITS: u32 = 512;

/// The bits of the smallest registers.
const LEAST_BITS: u32 = 128;

/// More than this no vector has.
const MOST_COMPONENTS: usize = 16;

/// Whether an object of so many bytes is accessed at once where it does not follow others (`lower::apart`).
fn is_accessed_apart(bytes: u64) -> bool {
    matches!(bytes, 4 | 8 | 16..=64)
}

/// What an instruction does to vectors that may be packed.
#[derive(Clone, Debug)]
pub enum Packed {
    Load,
    /// The value that is stored.
    Store(Id),
    /// The same to each component, and nothing else, so that components may lie anywhere.
    ByComponent,
    /// It puts components of one or two vectors into another order, or leaves some out: where each of the result is from.
    Shuffle(Vec<Option<Source>>),
    /// It takes each component from where a mask says, in one or two vectors with as many as the result.
    Choose(Choice),
    /// It puts a scalar in the place of a component.
    Insert(u32),
    /// It takes the bits for components of another size, or for a scalar.
    Bitcast,
    /// It asks whether any or all components are true.
    Vote,
}

/// The operands of the builtin function `shuffle`, or `shuffle2`, by a mask that is computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Choice {
    pub first: Id,
    /// What is behind the first.
    pub second: Option<Id>,
    pub mask: Id,
}

/// A component of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Source {
    pub operand: Id,
    pub component: u32,
}

impl Analysis<'_> {
    /// The values that are held so.
    pub fn packed(&self) -> &FxHashMap<Id, Packing> {
        // Loops whose iterations become vectors have no others.
        self.packed.get_or_init(|| match self.variant.mapping {
            LaneMapping::Iterations => FxHashMap::default(),
            _ => self.find_packed(),
        })
    }

    /// Whether vectors are those of one work-item.
    fn is_alone(&self) -> bool {
        self.variant.width == 1
    }

    fn find_packed(&self) -> FxHashMap<Id, Packing> {
        let mut classes = Classes::default();
        for (block, code) in &self.func.blocks {
            let results = code.insts.iter().filter(|inst| self.may_give_packed(block, inst));
            let phis = code.phis.iter().map(|phi| phi.result).filter(|id| self.may_be_packed_phi(*id));
            results.filter_map(|inst| inst.result).chain(phis).for_each(|id| classes.add(id));
        }
        if classes.numbers.is_empty() {
            return FxHashMap::default();
        }
        let mut kinds = Kinds::default();
        for (block, code) in &self.func.blocks {
            kinds[block] = code.insts.iter().map(|inst| self.packed_kind(block, inst)).collect();
            for phi in &code.phis {
                phi.incoming.iter().for_each(|(pred, id)| classes.meet(self, Some(phi.result), *id, *pred));
            }
            for (inst, kind) in code.insts.iter().zip(&kinds[block]) {
                for id in inst.ids() {
                    let with = match kind {
                        Some(Packed::Store(value)) => Some(*value),
                        _ => inst.result.filter(|_| kind.is_some()),
                    };
                    classes.meet(self, with, id, block);
                }
            }
        }
        let banned = classes.settle();
        let worth = self.worth_of_packing(&classes, &kinds);
        let is_worth_it = |root: &usize| worth.get(root).is_some_and(|worth| *worth > 0);
        let members: Vec<(Id, usize)> =
            classes.iter().filter(|(_, root)| !banned.contains(root) && is_worth_it(root)).collect();
        let mut least_bits: FxHashMap<usize, u32> = FxHashMap::default();
        for (id, root) in &members {
            let bits = self.component(*id).map_or(REGISTER_BITS, |(scalar, _)| scalar.bits());
            // Bools are as wide as what they were compared from.
            let least = least_bits.entry(*root).or_insert(REGISTER_BITS / self.variant.width);
            *least = if bits > 1 { bits.min(*least) } else { *least };
        }
        let packing = |(id, root): (Id, usize)| {
            let room = REGISTER_BITS / least_bits[&root];
            Some((id, Packing::new(self.component(id)?.1, self.variant.width, room)))
        };
        members.into_iter().filter_map(packing).collect()
    }

    /// What a component of a vector is, and how many it has.
    pub(super) fn component(&self, id: Id) -> Option<(Scalar, u32)> {
        let ty = self.func.type_of(id)?;
        let Type::Vector { len, .. } = self.func.module.types.get(ty) else { return None };
        let first = self.leaves.get(ty)?.first()?.scalar;
        (!matches!(first, Scalar::Ptr | Scalar::Int(_))).then_some((first, *len))
    }

    fn may_be_packed_phi(&self, id: Id) -> bool {
        let is_varying = || self.shape_at_definition(id).iter().all(|shape| *shape == Shape::Varying);
        self.component(id).is_some() && (self.is_alone() || is_varying())
    }

    /// Whether an instruction's result may be packed. Some components may be the same for all work-items, such as an alpha of 255.
    fn may_give_packed(&self, block: BlockId, inst: &Inst) -> bool {
        let Some(id) = inst.result.filter(|id| self.component(*id).is_some()) else { return false };
        let shapes = self.shape_at_definition(id);
        let is_held = |shape: &Shape| *shape == Shape::Varying || shape.is_uniform();
        (self.is_alone() || shapes.contains(&Shape::Varying))
            && shapes.iter().all(is_held)
            && self.packed_kind(block, inst).is_some()
    }

    /// What an instruction does, if it may do so to packed vectors.
    pub fn packed_kind(&self, block: BlockId, inst: &Inst) -> Option<Packed> {
        if let Some(row) = self.access_of_vectors(block, inst) {
            return Some(row);
        }
        if matches!(inst.op, Op::Any | Op::All) {
            // As many bits as integers have.
            let (_, components) = self.component(inst.id(0))?;
            return (self.is_alone() || matches!(components, 8 | 16)).then_some(Packed::Vote);
        }
        let components = self.component(inst.result?).map(|(_, components)| components);
        if let Some(shuffle) = self.constant_shuffle(inst).or_else(|| self.computed_shuffle(inst)) {
            return Some(shuffle);
        }
        let vector = |id: Id| self.component(id);
        match inst.op {
            Op::Bitcast if components.is_none() => {
                let (scalar, of) = vector(inst.id(0))?;
                let is_number =
                    matches!(self.func.module.types.get(inst.ty?), Type::Int { .. } | Type::Float { .. });
                (is_number && scalar != Scalar::Bool && of.is_power_of_two()).then_some(Packed::Bitcast)
            }
            Op::Bitcast => {
                let of = self.func.type_of(inst.id(0)).map(|ty| self.func.module.types.get(ty))?;
                let from = match of {
                    Type::Vector { len, .. } => *len,
                    Type::Int { .. } | Type::Float { .. } => 1,
                    _ => return None,
                };
                (from.is_power_of_two() && components?.is_power_of_two()).then_some(Packed::Bitcast)
            }
            Op::CompositeInsert if inst.operands.len() == 3 && !self.is_put_together(inst.id(1)) => {
                Some(Packed::Insert(inst.lit(2) as u32)).filter(|_| components.is_some())
            }
            Op::VectorShuffle => {
                let places = (2..inst.operands.len()).map(|at| inst.lit(at));
                self.shuffle_of([inst.id(0), inst.id(1)], places)
            }
            _ if self.is_by_component(inst, components?) => Some(Packed::ByComponent),
            _ => None,
        }
    }

    /// The builtin function of OpenCL C, by a mask that is known.
    fn constant_shuffle(&self, inst: &Inst) -> Option<Packed> {
        let (operands, mask) = match inst.opencl_std(self.func.module)?.op {
            StdOp::shuffle => ([inst.id(2); 2], inst.id(3)),
            StdOp::shuffle2 => ([inst.id(2), inst.id(3)], inst.id(4)),
            _ => return None,
        };
        let all = operands.iter().map(|id| Some(self.component(*id)?.1));
        let all: u32 = all.sum::<Option<u32>>().filter(|all| all.is_power_of_two())?;
        let all = if operands[0] == operands[1] && inst.operands.len() == 4 { all / 2 } else { all };
        let components = self.component(mask)?.1 as usize;
        let place = |at: usize| Some(self.func.constant_component(mask, at)? as u64 & u64::from(all - 1));
        let places: Vec<u64> = (0..components).map(place).collect::<Option<_>>()?;
        self.shuffle_of(operands, places.into_iter())
    }

    /// The same by a mask that is not known. All operands have the form of the result.
    fn computed_shuffle(&self, inst: &Inst) -> Option<Packed> {
        let choice = match inst.opencl_std(self.func.module)?.op {
            StdOp::shuffle => Choice { first: inst.id(2), second: None, mask: inst.id(3) },
            StdOp::shuffle2 => Choice { first: inst.id(2), second: Some(inst.id(3)), mask: inst.id(4) },
            _ => return None,
        };
        let components = |id: Id| self.component(id).map(|(_, components)| components);
        let own = components(inst.result?).filter(|own| own.is_power_of_two())?;
        let mut operands = [choice.first, choice.mask].into_iter().chain(choice.second);
        operands.all(|id| components(id) == Some(own)).then_some(Packed::Choose(choice))
    }

    /// A shuffle by places in two vectors, one behind the other.
    fn shuffle_of(&self, operands: [Id; 2], places: impl Iterator<Item = u64>) -> Option<Packed> {
        let is_regular = |components: usize| self.is_alone() || components.is_power_of_two();
        let is_regular_operand =
            |id: &Id| self.component(*id).is_some_and(|(_, len)| is_regular(len as usize));
        if !operands.iter().all(is_regular_operand) {
            return None;
        }
        let first = u64::from(self.component(operands[0])?.1);
        let all = first + u64::from(self.component(operands[1])?.1);
        let sources: Vec<Option<Source>> = places
            .map(|place| match place {
                place if place < first => Some(Source { operand: operands[0], component: place as u32 }),
                place if place < all => {
                    Some(Source { operand: operands[1], component: (place - first) as u32 })
                }
                _ => None,
            })
            .collect();
        // Of a scalar that is put into a vector for that, it is one for all components.
        let is_spread =
            self.is_put_together(operands[0]) && sources.windows(2).all(|pair| pair[0] == pair[1]);
        (is_regular(sources.len()) && !is_spread).then_some(Packed::Shuffle(sources))
    }

    /// An access of whole vectors that follow each other without a gap from work-item to work-item, or may do so, or of such that one instruction
    /// accesses of each.
    fn access_of_vectors(&self, block: BlockId, inst: &Inst) -> Option<Packed> {
        self.row_or_apart(block, inst).map(|(kind, _)| kind)
    }

    /// Whether an instruction accesses a vector of each work-item for itself.
    pub(super) fn is_apart(&self, block: BlockId, inst: &Inst) -> bool {
        self.variant.width > 1 && matches!(self.row_or_apart(block, inst), Some((_, false)))
    }

    /// Such an access, and whether the vectors follow each other.
    fn row_or_apart(&self, block: BlockId, inst: &Inst) -> Option<(Packed, bool)> {
        let function = inst.opencl_std(self.func.module).map(|function| function.op);
        let (kind, value, pointer, offset) = match (inst.row().memory, function) {
            (Memory::Read { .. }, _) => (Packed::Load, inst.result?, inst.id(0), None),
            (Memory::Write { .. }, _) => (Packed::Store(inst.id(1)), inst.id(1), inst.id(0), None),
            (_, Some(StdOp::vloadn)) => (Packed::Load, inst.result?, inst.id(3), Some(inst.id(2))),
            (_, Some(StdOp::vstoren)) => {
                (Packed::Store(inst.id(2)), inst.id(2), inst.id(4), Some(inst.id(3)))
            }
            _ => return None,
        };
        let (scalar, components) = self.component(value)?;
        if scalar == Scalar::Bool || inst.is_volatile() || self.builtins.contains_key(&pointer) {
            return None;
        }
        if self.is_alone() {
            return Some((kind, true));
        }
        if self.private.interleaved.contains_key(&pointer)
            // They take the place of four in memory, but for loads and stores of elements.
            || (offset.is_none() && components == 3)
        {
            return None;
        }
        let bytes = i64::from(components) * scalar.bytes() as i64;
        let step = |id: Id| self.shape(block, id)[0].step();
        let all = match offset {
            None => step(pointer),
            Some(offset) => {
                let of_offset = step(offset).and_then(|step| step.checked_mul(bytes));
                of_offset.and_then(|offset| step(pointer)?.checked_add(offset))
            }
        };
        // Of what has to be looked at, only a pointer may be in doubt.
        let is_proven =
            offset.is_none_or(|offset| step(offset) == Some(0)) || self.trust(pointer) <= Trust::Addresses;
        let may_be_row = || offset.is_none() && all.is_none() && self.may_be_row(block, pointer);
        let is_row = all == Some(bytes) && is_proven || may_be_row();
        let is_apart = is_accessed_apart(bytes as u64)
            && components.is_power_of_two()
            && self.variant.width >= LEAST_LANES.max(components)
            && all != Some(0);
        (is_row || is_apart).then_some((kind, is_row))
    }

    fn is_by_component(&self, inst: &Inst, components: u32) -> bool {
        // Scalars serve all components.
        let is_alike = |id: Id| match self.func.type_of(id).map(|ty| self.func.module.types.get(ty)) {
            Some(Type::Vector { len, .. }) => *len == components,
            Some(Type::Bool | Type::Int { .. } | Type::Float { .. }) => true,
            _ => false,
        };
        match inst.row().family {
            Family::Arithmetic if divides_integers(inst.op) => {
                let divisor = self.func.constant_of_all_components(inst.id(1));
                divisor.is_some_and(|divisor| divisor != 0 && divisor != -1) && inst.ids().all(is_alike)
            }
            Family::Arithmetic => is_arithmetic_by_component(inst.op) && inst.ids().all(is_alike),
            Family::Conversion => inst.ids().all(is_alike),
            Family::Composite => inst.op == Op::CopyObject,
            Family::Extended => inst.opencl_std(self.func.module).is_some_and(|function| {
                let by_component = function.is_componentwise() && function.is_pure();
                by_component && self.fills_register(inst) && inst.ids().skip(1).all(is_alike)
            }),
            _ => false,
        }
    }

    /// Whether a result is no smaller than the least vectors that instructions for functions know.
    fn fills_register(&self, inst: &Inst) -> bool {
        let result = inst.result.and_then(|id| self.component(id));
        let bits = result.map_or(0, |(scalar, components)| scalar.bits() * components.next_power_of_two());
        !self.is_alone() || bits >= LEAST_BITS
    }

    /// Whether a vector is made of scalars one by one, as compilers write what the source has in one expression.
    fn is_put_together(&self, mut vector: Id) -> bool {
        for _ in 0..=MOST_COMPONENTS {
            match self.definition(vector) {
                Some(inst) if inst.op == Op::CompositeInsert => vector = inst.id(1),
                made => return made.is_none_or(|inst| inst.op == Op::Undef),
            }
        }
        false
    }
}

fn is_arithmetic_by_component(op: Op) -> bool {
    // What mixes components or has results of another form.
    !matches!(
        op,
        Op::FRem
            | Op::FMod
            | Op::Any
            | Op::All
            | Op::Dot
            | Op::IAddCarry
            | Op::ISubBorrow
            | Op::UMulExtended
            | Op::SMulExtended
            | Op::PtrDiff
            | Op::PtrEqual
            | Op::PtrNotEqual
            | Op::MatrixTimesScalar
            | Op::BitwiseFunctionINTEL
    )
}

/// What the instructions of each block do.
type Kinds = SecondaryMap<BlockId, Vec<Option<Packed>>>;

/// Values that are held in one form, or in the other, together.
#[derive(Default)]
struct Classes {
    /// Of values that may be packed.
    numbers: FxHashMap<Id, usize>,
    /// The class of a value's own, and of a class that has been joined with another one a lower number.
    parents: Vec<usize>,
    /// Values that cannot be packed.
    banned: Vec<usize>,
}

impl Classes {
    fn add(&mut self, id: Id) {
        self.numbers.insert(id, self.parents.len());
        self.parents.push(self.parents.len());
    }

    /// The class of a value, when all have [settled](Self::settle).
    fn of(&self, id: Id) -> Option<usize> {
        self.numbers.get(&id).map(|number| self.parents[*number])
    }

    fn iter(&self) -> impl Iterator<Item = (Id, usize)> + '_ {
        self.numbers.iter().map(|(id, number)| (*id, self.parents[*number]))
    }

    /// Has each class know its root, and gives those that cannot be packed.
    fn settle(&mut self) -> FxHashSet<usize> {
        for class in 0..self.parents.len() {
            self.parents[class] = self.parents[self.parents[class]];
        }
        self.banned.iter().map(|class| self.parents[*class]).collect()
    }

    /// Notes that a value is used in a block, by an instruction that has its result, or what it stores, in the same form.
    fn meet(&mut self, a: &Analysis<'_>, with: Option<Id>, id: Id, at: BlockId) {
        let Some(number) = self.numbers.get(&id).copied() else { return };
        if a.is_temporal(at, id) {
            self.banned.push(number);
        }
        if let Some(with) = with.and_then(|with| self.numbers.get(&with).copied()) {
            let (own, with) = (self.find(number), self.find(with));
            self.parents[own.max(with)] = own.min(with);
        }
    }

    /// The root of a class, to which the way is half as long from then on.
    fn find(&mut self, mut class: usize) -> usize {
        while self.parents[class] != class {
            self.parents[class] = self.parents[self.parents[class]];
            class = self.parents[class];
        }
        class
    }
}

#[cfg(test)]
mod tests;
