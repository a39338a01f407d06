//! Private variables: which can be laid out lane-interleaved, and which kernel arguments are read only.
//!
//! A `Function` variable whose address goes nowhere but into loads and stores of matching leaves is laid
//! out *interleaved*: the leaf at byte offset `o` of size `s` of lane `l` lies at `o * W + l * s`. Access at
//! a uniform offset is then one contiguous vector, and SROA turns constant offsets into registers. Where an object is seen
//! under several types, the least leaf is everybody's, and larger ones are several of it. All
//! others keep each lane's object contiguous, so that their pointers are ordinary addresses.

use super::func::{ChainStep, Func};
use super::leaves::{LeafTable, Scalar};
use super::pointers::Pointers;
use crate::abi::PRIVATE_ALIGN;
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Decoration, Op, StorageClass};
use spirv_env::opcodes::{Derives, Memory};
use spirv_env::{Id, Inst, Layout, Module, Type, TypeId};

/// How a private object is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placement {
    /// Lane-interleaved; pointers to it are offsets.
    Interleaved,
    /// Each lane's object is contiguous; pointers to it are addresses.
    PerLane,
    /// One object for all lanes, which write and read the same (`uniform_objects`).
    Uniform,
    /// A by-value argument that the kernel only reads: its bytes in the argument block.
    Argument,
}

#[derive(Clone, Debug, Default)]
pub struct Private {
    /// Variables and by-value parameters.
    pub placement: FxHashMap<Id, Placement>,
    /// Pointers that lead into an interleaved variable, and which.
    pub interleaved: FxHashMap<Id, Id>,
    /// Bytes of the leaves of an interleaved variable, where all have as many or are made of such.
    pub leaf_bytes: FxHashMap<Id, u64>,
    /// Interleaved variables of which lanes read different leaves at once.
    pub gathered: FxHashSet<Id>,
}

/// Copies of more bytes into or out of a variable are left to memory.
pub const MOST_COPIED: u64 = 1024;

/// Bytes between the private objects of neighbouring lanes, of such a size and alignment. Where lanes that use the same element would use
/// the same set of a cache, they lie a line further apart.
pub fn private_stride(Layout { size, align }: Layout) -> u64 {
    const LINE: u64 = 64;
    /// What the first-level cache has of each way, and a quarter of it: sixteen lanes use four sets then.
    const LEAST_ALIASING: u64 = 1024;
    let stride = match size {
        0..16 => size.max(1).next_power_of_two(),
        _ if size.is_multiple_of(LEAST_ALIASING) => size + LINE,
        _ => size.next_multiple_of(16),
    };
    stride.next_multiple_of(align.max(1))
}

/// Size and alignment of a private object: what its pointer leads to, and what a variable asks for, as far as any type does.
pub fn object_layout(func: &Func<'_>, object: Id, pointer: TypeId) -> Option<Layout> {
    let Type::Pointer { pointee, .. } = func.module.types.get(pointer) else { return None };
    let Layout { size, align } = func.module.types.layout(*pointee);
    let wanted = func.decoration(object, Decoration::Alignment).and_then(|values| values.first());
    let wanted = wanted.map_or(1, |wanted| u64::from(*wanted)).min(PRIVATE_ALIGN);
    Some(Layout { size, align: if wanted.is_power_of_two() { align.max(wanted) } else { align } })
}

/// Whether a kernel's parameter is a structure passed by value (behind a pointer).
pub fn is_by_value(func: &Func<'_>, param: Id, ty: TypeId) -> bool {
    let types = &func.module.types;
    let is_private = match types.get(ty) {
        // A function's address is a number.
        Type::Pointer { pointee, .. } if matches!(types.get(*pointee), Type::Function { .. }) => {
            return false;
        }
        Type::Pointer { class, .. } => *class == StorageClass::Function,
        _ => false,
    };
    func.is_kernel() && (is_private || has_by_val(func.module, param))
}

/// Whether a parameter has `FunctionParameterAttribute` `ByVal` (SPIR-V 1.2 §3.25).
pub(super) fn has_by_val(module: &Module, param: Id) -> bool {
    const BY_VAL: u32 = 2;
    let decorations = module.decorations_of(param);
    decorations.iter().any(|d| d.kind == Decoration::FuncParamAttr && d.literals.as_slice() == [BY_VAL])
}

impl Private {
    pub fn new(func: &Func<'_>, leaves: &LeafTable<'_>) -> Self {
        let mut roots: Vec<(Id, TypeId, bool)> = Vec::new();
        for &(param, ty) in &func.params {
            if is_by_value(func, param, ty) {
                roots.push((param, ty, true));
            }
        }
        for block in func.blocks.values() {
            for inst in &block.insts {
                if let (Op::Variable, Some(result), Some(ty)) = (inst.op, inst.result, inst.ty) {
                    roots.push((result, ty, false));
                }
            }
        }
        let mut private = Private::default();
        if roots.is_empty() {
            return private;
        }
        let uses = Uses::new(func);
        let facts_of = |(root, ty, _): &(Id, TypeId, bool)| Facts::of(func, leaves, &uses, *root, *ty);
        let mut facts: Vec<Facts<'_>> = roots.iter().map(facts_of).collect();
        give_leaves_to_copied(&mut facts);
        let mut unwritten: FxHashSet<Id> = FxHashSet::default();
        for ((root, _, argument), facts) in roots.into_iter().zip(facts) {
            let placement = match (argument, facts.written, facts.is_regular()) {
                (true, false, _) => Placement::Argument,
                (false, _, true) => Placement::Interleaved,
                _ => Placement::PerLane,
            };
            if placement == Placement::Interleaved {
                private.interleaved.extend(facts.pointers.iter().map(|pointer| (*pointer, root)));
                private.leaf_bytes.extend(facts.leaf_bytes.map(|bytes| (root, bytes)));
            }
            private.placement.insert(root, placement);
            if !facts.written {
                unwritten.insert(root);
            }
        }
        private.separate_copies(func, &unwritten);
        private
    }

    /// Gives up interleaving two variables that are copied to each other and have leaves of different sizes: only the one that nothing
    /// writes, if there is one. Such are the bytes that compilers initialise arrays with, of which lanes need no copies.
    fn separate_copies(&mut self, func: &Func<'_>, unwritten: &FxHashSet<Id>) {
        let mut separated: FxHashSet<Id> = FxHashSet::default();
        for inst in func.blocks.values().flat_map(|block| &block.insts) {
            if !matches!(inst.row().memory, Memory::Copy { .. }) {
                continue;
            }
            let [to, from] = [0, 1].map(|at| self.interleaved.get(&inst.id(at)).copied());
            if let (Some(to), Some(from)) = (to, from)
                && self.leaf_bytes.get(&to) != self.leaf_bytes.get(&from)
                && !separated.contains(&to)
                && !separated.contains(&from)
            {
                separated.insert(from);
                if !unwritten.contains(&from) {
                    separated.insert(to);
                }
            }
        }
        self.interleaved.retain(|_, of| !separated.contains(of));
        self.placement.extend(separated.into_iter().map(|object| (object, Placement::PerLane)));
    }
}

/// Those of some objects that nothing writes and whose address goes nowhere.
pub(super) fn unchanged(func: &Func<'_>, objects: &[(Id, TypeId)]) -> impl Iterator<Item = Id> {
    let (uses, leaves) = (Uses::new(func), LeafTable::new(func.module));
    objects
        .iter()
        .filter(move |(id, ty)| !Facts::of(func, &leaves, &uses, *id, *ty).written)
        .map(|(id, _)| *id)
}

/// Instructions and phis that use each id, and the one that makes it.
struct Uses<'f> {
    pointers: Pointers<'f>,
    definitions: FxHashMap<Id, &'f Inst>,
    insts: FxHashMap<Id, Vec<&'f Inst>>,
    phis: FxHashSet<Id>,
}

impl<'f> Uses<'f> {
    fn new(func: &'f Func<'_>) -> Self {
        let mut uses = Uses {
            pointers: Pointers::new(func),
            definitions: FxHashMap::default(),
            insts: FxHashMap::default(),
            phis: FxHashSet::default(),
        };
        for block in func.blocks.values() {
            uses.phis.extend(block.phis.iter().flat_map(|phi| phi.incoming.iter().map(|(_, id)| *id)));
            for inst in &block.insts {
                uses.definitions.extend(inst.result.map(|result| (result, inst)));
                for id in inst.ids() {
                    uses.insts.entry(id).or_default().push(inst);
                }
            }
        }
        uses
    }
}

/// Finds the leaves of objects that are only copied: what their declared type says, often that they are bytes, means nothing. They have the
/// leaves of what they are copied to and from, also by way of others. Where nothing is known of that, the largest are the best.
fn give_leaves_to_copied(objects: &mut [Facts<'_>]) {
    const LARGEST: u64 = 8;
    let mut owner: FxHashMap<Id, usize> = FxHashMap::default();
    for (at, facts) in objects.iter().enumerate() {
        owner.extend(facts.pointers.iter().map(|pointer| (*pointer, at)));
    }
    let mut is_open: Vec<bool> = objects.iter().map(|facts| facts.is_only_copied()).collect();
    let mut known: Vec<usize> = (0..objects.len()).filter(|at| !is_open[*at]).collect();
    while let Some(at) = known.pop() {
        let Some(bytes) = objects[at].leaf_bytes else { continue };
        let copied = objects[at].copies.iter().flat_map(|inst| [inst.id(0), inst.id(1)]);
        let others: Vec<usize> = copied.filter_map(|id| owner.get(&id).copied()).collect();
        for other in others {
            if is_open[other] && objects[other].copied.is_multiple_of(bytes) {
                is_open[other] = false;
                objects[other].leaf_bytes = Some(bytes);
                known.push(other);
            }
        }
    }
    for (facts, _) in objects.iter_mut().zip(is_open).filter(|(_, is_open)| *is_open) {
        let lowest = facts.copied & facts.copied.wrapping_neg();
        facts.leaf_bytes = Some(lowest.clamp(1, LARGEST));
    }
}

struct Facts<'f> {
    /// The object may change after it is set up.
    written: bool,
    /// Every access but copies is a load or store of leaves that the object's own leaves line up with.
    regular: bool,
    /// There are such accesses.
    accessed: bool,
    pointers: FxHashSet<Id>,
    /// Bytes of all leaves, if they have as many; of the least, where larger ones are several of them.
    leaf_bytes: Option<u64>,
    /// What copies the object or a part of it.
    copies: Vec<&'f Inst>,
    /// The offsets and sizes of those copies, or'ed.
    copied: u64,
}

impl<'f> Facts<'f> {
    fn of(func: &Func<'_>, leaves: &LeafTable<'_>, uses: &Uses<'f>, root: Id, ty: TypeId) -> Self {
        let mut facts = Facts {
            written: false,
            regular: true,
            accessed: false,
            pointers: FxHashSet::default(),
            leaf_bytes: None,
            copies: Vec::new(),
            copied: 0,
        };
        let types = &func.module.types;
        let Type::Pointer { pointee, .. } = types.get(ty) else {
            return Facts { written: true, regular: false, ..facts };
        };
        // Whether some access may see the object under another type than the declared one.
        let mut reinterpreted = false;
        // Bytes of leaves, and whether some such leaf is at an offset that is known only when the code runs.
        let mut sizes: FxHashMap<u64, bool> = FxHashMap::default();
        // Offsets of leaves, or'ed, whether each is a multiple of the leaf, and whether some leaf is a pointer.
        let (mut offsets, mut aligned, mut has_pointers) = (0, true, false);
        // The lowest set bit of `unit` divides the offset in the object.
        let mut note =
            |facts: &mut Facts<'_>, ty: TypeId, Offset { unit, varies }: Offset| match leaves.get(ty) {
                Some(list) => {
                    for leaf in list.iter().flat_map(|leaf| leaf.scalar.accesses(leaf.offset)) {
                        *sizes.entry(leaf.scalar.bytes()).or_default() |= varies;
                        offsets |= unit | leaf.offset;
                        aligned &= (unit | leaf.offset).is_multiple_of(leaf.scalar.bytes());
                        has_pointers |= leaf.scalar == Scalar::Ptr;
                    }
                }
                None => facts.regular = false,
            };
        // A large array is never loaded whole, so its element's leaves stand for it.
        let mut elem = *pointee;
        while let Type::Array { elem: inner, .. } = types.get(elem) {
            elem = *inner;
        }
        note(&mut facts, elem, Offset::default());
        let mut pointers: Vec<(Id, Offset)> = vec![(root, Offset::default())];
        let mut offset_of: FxHashMap<Id, Offset> = FxHashMap::default();
        for derived in uses.pointers.in_root(root) {
            let before = offset_of.get(&derived.base).copied().unwrap_or_default();
            let offset = match derived.inst.row().derives {
                Derives::Chain | Derives::ElementChain => before.and(chain_offset(func, uses, derived.inst)),
                Derives::Address | Derives::AddressIfPointer | Derives::Nothing => before,
            };
            reinterpreted |= derived.reinterprets(func);
            offset_of.insert(derived.pointer, offset);
            pointers.push((derived.pointer, offset));
        }
        facts.pointers.extend(pointers.iter().map(|(pointer, _)| *pointer));
        for (pointer, offset) in pointers {
            if uses.phis.contains(&pointer) {
                facts.regular = false;
                facts.written = true;
            }
            for inst in uses.insts.get(&pointer).into_iter().flatten() {
                if func.derived_from(inst) == Some(pointer) {
                    continue;
                }
                let memory = inst.row().memory;
                facts.accessed |= !matches!(memory, Memory::Lifetime | Memory::Copy { .. });
                match memory {
                    Memory::Read { .. } => note(&mut facts, inst.ty.expect("a load has a type"), offset),
                    Memory::Write { .. } if inst.id(1) != pointer => {
                        facts.written = true;
                        match func.type_of(inst.id(1)) {
                            Some(ty) => note(&mut facts, ty, offset),
                            None => facts.regular = false,
                        }
                    }
                    Memory::Lifetime => {}
                    Memory::Copy { .. } => {
                        match copy_bytes(func, inst).filter(|bytes| *bytes <= MOST_COPIED) {
                            Some(bytes) => facts.copied |= offset.unit | bytes,
                            None => facts.regular = false,
                        }
                        facts.copies.push(inst);
                        facts.written |= inst.id(0) == pointer;
                    }
                    _ => {
                        facts.regular = false;
                        facts.written = true;
                    }
                }
            }
        }
        let least = sizes.keys().copied().min();
        let is_alone = sizes.len() == 1;
        if !is_alone && (reinterpreted || !facts.copies.is_empty()) {
            // The least leaf is everybody's, and larger ones are several.
            facts.regular &= !has_pointers
                && least.is_some_and(|least| offsets.is_multiple_of(least) && pays(&sizes, least));
            facts.leaf_bytes = least;
        } else {
            facts.regular &= aligned;
            facts.leaf_bytes = least.filter(|_| is_alone);
        }
        facts
    }

    /// Nothing but copies accesses the object.
    fn is_only_copied(&self) -> bool {
        !self.accessed && self.regular && !self.copies.is_empty()
    }

    /// Every access is one to whole leaves, copies as well, and no copy is one within the object.
    fn is_regular(&self) -> bool {
        let whole = self.leaf_bytes.is_some_and(|bytes| self.copied.is_multiple_of(bytes));
        let within = |inst: &&Inst| [0, 1].iter().all(|at| self.pointers.contains(&inst.id(*at)));
        self.regular && (self.copies.is_empty() || (whole && !self.copies.iter().any(within)))
    }
}

/// How many bytes a copy moves, if that is known.
fn copy_bytes(func: &Func<'_>, inst: &Inst) -> Option<u64> {
    match inst.op {
        Op::CopyMemorySized => func.constant_bits(inst.id(2)),
        _ => func.pointee_bytes(inst.id(1)),
    }
}

/// What is known of a pointer's offset in its object.
#[derive(Clone, Copy, Default)]
struct Offset {
    /// A number whose lowest set bit divides it.
    unit: u64,
    /// It depends on an index that is no constant.
    varies: bool,
}

impl Offset {
    /// The sum's.
    fn and(self, other: Offset) -> Offset {
        Offset { unit: self.unit | other.unit, varies: self.varies || other.varies }
    }
}

/// The offset that an access chain adds.
fn chain_offset(func: &Func<'_>, uses: &Uses<'_>, inst: &Inst) -> Offset {
    let of_step = |step: ChainStep| match step {
        ChainStep::Constant(bytes) => Offset { unit: bytes as u64, varies: false },
        ChainStep::Scaled { index, size } => {
            Offset { unit: index_unit(func, uses, index, 0).wrapping_mul(size), varies: true }
        }
    };
    func.chain(inst).into_iter().map(of_step).fold(Offset::default(), Offset::and)
}

/// Whether leaves of some sizes are well kept as several of the least each. Nothing gathers less than four bytes, so those of which lanes may
/// access different ones are not.
fn pays(sizes: &FxHashMap<u64, bool>, least: u64) -> bool {
    const GATHERED: u64 = 4;
    least >= GATHERED || !sizes.iter().any(|(bytes, varies)| *bytes > least && *varies)
}

/// A number whose lowest set bit divides an integer; 0 divides only 0.
fn index_unit(func: &Func<'_>, uses: &Uses<'_>, id: Id, depth: u32) -> u64 {
    const DEPTH: u32 = 8;
    if let Some(bits) = func.constant_bits(id) {
        return bits;
    }
    let Some(inst) = uses.definitions.get(&id).filter(|_| depth < DEPTH) else { return 1 };
    let of = |at: usize| index_unit(func, uses, inst.id(at), depth + 1);
    match inst.op {
        Op::ShiftLeftLogical => match func.constant_bits(inst.id(1)) {
            Some(bits @ 0..64) => of(0) << bits,
            _ => 1,
        },
        Op::IMul => of(0).wrapping_mul(of(1)),
        Op::IAdd | Op::ISub | Op::BitwiseOr => of(0) | of(1),
        Op::UConvert | Op::SConvert if func.decoration(id, Decoration::SaturatedConversion).is_none() => {
            of(0)
        }
        _ => 1,
    }
}

#[cfg(test)]
mod tests;
