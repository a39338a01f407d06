//! Accesses of one block to members of the same structures, of which each lane has one.
//!
//! `p[i].x += dt * p[i].vx` reads two members, each at the same step from lane to lane. Together they are a few vectors that
//! cover all lanes' structures, from which each member is taken by shuffles (interleaved accesses: Nuzman, Rosen and Zaks, PLDI
//! 2006). A load of such a group is made as early as the group's first, so nothing between them may write what it reads; a store
//! as late as the group's last, so nothing between them may read or write what it writes.
//!
//! Structures that are larger, or lie anywhere, are *apart*: their members are loaded together where they follow each other, a piece of each
//! lane's structure at a time (`lower::apart`).

use super::Analysis;
use super::func::{BlockId, ChainStep};
use super::leaves::{Leaf, Scalar};
use super::shapes::{Shape, Trust};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use spirv::{Op, StorageClass};
use spirv_env::opcodes::{Convergence, Derives, Memory};
use spirv_env::{Id, Inst, Operand};

/// Elements from one structure to the next, at most.
const MOST_ELEMENTS: u64 = 8;
/// The same of what gathers know as well: two registers are as many lanes.
const MOST_WIDE_ELEMENTS: u64 = 4;
/// Members that follow each other in structures that lie apart, in bytes: what is loaded at once. Three words are as soon, where the fourth may be left out.
const PIECE: u64 = 16;
const WORDS: usize = 3;
/// The same of members that are smaller than this.
pub const WORD: u64 = 4;
/// Bytes between the first and the last member that are looked at together.
const MOST_SPAN: i64 = 256;
/// Bytes from what an address is made of, at most: programs have no object that is larger.
const FARTHEST: u64 = 1 << 47;
/// Lanes from which on what lies apart is better accessed lane by lane, as much as follows there, than gathered.
pub const LEAST_LANES: u32 = 8;
/// Groups that a block may have open at a time, and accesses of a group: what is looked at for each access.
const MOST_OPEN: usize = 8;
const MOST_ACCESSES: usize = 16;
/// How deep two indices are compared.
const DEPTH: u32 = 6;
/// How deep an address is looked into for who its lanes are.
const KNOWN_DEPTH: u32 = 12;

/// Which group; counted in the block.
pub type GroupId = usize;

/// Accesses that are made together.
#[derive(Debug)]
pub struct Group {
    /// Bytes of an element, the same for all members.
    pub bytes: u64,
    /// Elements from one lane's structure to the next one's, unless they are apart.
    pub step: usize,
    pub is_apart: bool,
    /// The elements that are accessed, ascending: of loads behind the first of them, of stores behind the start of a structure.
    pub elements: SmallVec<[usize; 8]>,
    /// The pointers of its accesses, in the order of the block.
    pub pointers: SmallVec<[Id; 8]>,
}

/// Where an access is in its group.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    pub group: GroupId,
    /// The element that its value begins with.
    pub element: usize,
}

/// The groups of a block. An access is known by what it loads, or by the pointer that it stores through.
#[derive(Default, Debug)]
pub struct Members {
    pub groups: Vec<Group>,
    pub loads: FxHashMap<Id, Member>,
    pub stores: FxHashMap<Id, Member>,
}

/// A pointer as what it is made of: a root, indices times sizes, and bytes.
#[derive(Clone)]
pub(super) struct Address {
    pub root: Id,
    pub scaled: SmallVec<[Scaled; 2]>,
    pub constant: i64,
}

/// An index, without constants that are added to it, times a size.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Scaled {
    index: Id,
    /// Whether the index is extended by zeros, where that tells it from others.
    is_unsigned: bool,
    size: u64,
}

/// Which extensions of an index are looked through, as if additions were made behind them: where an index of 32 bits wraps around, two
/// accesses are 4 GiB apart, which no object is that either index is made for. Unsigned ones wrap around at 0, where both may be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extension {
    Signed,
    Any,
}

/// An index without what is added to it: `4 * i` of `4 * i + 1`.
struct Index {
    id: Id,
    is_unsigned: bool,
    constant: i64,
}

/// Bytes of each structure, behind the address that all accesses of a group have but for a constant.
#[derive(Clone, Copy)]
struct Bytes {
    from: i64,
    to: i64,
}

struct Access {
    /// What it is known by.
    key: Id,
    pointer: Id,
    bytes: Bytes,
}

/// What accesses of a group have in common.
#[derive(Clone)]
struct Form {
    stores: bool,
    address: Address,
    class: StorageClass,
    /// Bytes from lane to lane; 0 if nobody knows.
    step: i64,
    is_apart: bool,
    /// Bytes of an element.
    element: i64,
    /// Whether one access is for all sub-groups of a bundle.
    shared: bool,
}

/// A group that may still grow.
struct Open {
    form: Form,
    accesses: Vec<Access>,
    /// What has been stored since the first load, or was before it by groups that might be made behind it.
    written: Vec<Bytes>,
}

/// What one instruction accesses, if it may be a member.
struct Candidate {
    form: Form,
    access: Access,
}

impl Members {
    /// Finds the groups of a block.
    pub fn of(a: &Analysis<'_>, block: BlockId) -> Members {
        let mut found = Members::default();
        if a.variant.width == 1 {
            return found;
        }
        let insts = &a.func.blocks[block].insts;
        // A store is known by its pointer, so what is stored through again stays out.
        let mut stores: FxHashMap<Id, u32> = FxHashMap::default();
        for inst in insts.iter().filter(|inst| matches!(inst.row().memory, Memory::Write { .. })) {
            *stores.entry(inst.id(0)).or_default() += 1;
        }
        let mut open: Vec<Open> = Vec::new();
        for inst in insts {
            let row = inst.row();
            let stays = row.synchronizes() || row.convergence != Convergence::None || inst.is_volatile();
            match a.memory_of(inst) {
                _ if stays => found.close(&mut open, |_| true),
                Memory::None | Memory::Object | Memory::Lifetime => {}
                Memory::Read { .. } if a.builtins.contains_key(&inst.id(0)) => {}
                Memory::Read { .. } => match candidate(a, block, inst) {
                    Some(candidate) => {
                        found.close(&mut open, |group| group.form.stores && candidate.meets(a, group));
                        found.add(a, &mut open, candidate);
                    }
                    None => {
                        let class = class(a, inst.id(0));
                        found.close(&mut open, |group| {
                            group.form.stores && may_alias(class, group.form.class)
                        });
                    }
                },
                Memory::Write { .. } => {
                    match candidate(a, block, inst).filter(|_| stores[&inst.id(0)] == 1) {
                        Some(candidate) => {
                            found.close(&mut open, |group| {
                                // What is written beside what was loaded before may keep only later loads out.
                                let stays = !group.form.stores && candidate.is_beside(a, group);
                                !stays && candidate.meets(a, group)
                            });
                            for group in open.iter_mut().filter(|group| !group.form.stores) {
                                group.written.push(candidate.access.bytes);
                            }
                            found.add(a, &mut open, candidate);
                        }
                        None => {
                            let class = class(a, inst.id(0));
                            found.close(&mut open, |group| may_alias(class, group.form.class));
                        }
                    }
                }
                _ => found.close(&mut open, |_| true),
            }
        }
        found.close(&mut open, |_| true);
        found
    }

    /// Ends the groups for which something holds.
    fn close(&mut self, open: &mut Vec<Open>, ends: impl Fn(&Open) -> bool) {
        open.retain(|group| {
            let ends = ends(group);
            if ends {
                self.keep(group);
            }
            !ends
        });
    }

    /// Adds an access to the group that it belongs to, or begins one.
    fn add(&mut self, a: &Analysis<'_>, open: &mut Vec<Open>, candidate: Candidate) {
        if let Some(group) = open.iter_mut().find(|group| candidate.fits(a, group)) {
            group.accesses.push(candidate.access);
            return;
        }
        if open.len() == MOST_OPEN {
            self.keep(&open.remove(0));
        }
        // What such a group has taken so far is stored as late as what it may yet take.
        let later = open
            .iter()
            .filter(|group| group.form.stores && !candidate.form.stores && candidate.is_beside(a, group));
        let written = later.flat_map(|group| group.accesses.iter().map(|access| access.bytes)).collect();
        let Candidate { form, access } = candidate;
        open.push(Open { form, accesses: vec![access], written });
    }

    /// Keeps a group that is one.
    fn keep(&mut self, open: &Open) {
        let form = &open.form;
        let Some(first) = open.accesses.iter().map(|access| access.bytes.from).min() else { return };
        // Vectors that are stored begin where structures do, which are aligned (`bytes_into_structure`).
        let end = open.accesses.iter().map(|access| access.bytes.to).max().unwrap_or(first);
        let before = if form.stores { first.rem_euclid(form.step) } else { 0 };
        let fits = before % form.element == 0 && end - first <= form.step - before;
        let first = if form.stores && fits { first - before } else { first };
        let element = |at: i64| ((at - first) / form.element) as usize;
        let mut elements: SmallVec<[usize; 8]> = (open.accesses.iter())
            .flat_map(|access| element(access.bytes.from)..element(access.bytes.to))
            .collect();
        elements.sort_unstable();
        elements.dedup();
        if open.accesses.len() < 2 || elements.len() < 2 {
            return;
        }
        if form.is_apart && !has_piece(&elements, form.element as u64) {
            return;
        }
        let group = self.groups.len();
        let list = if form.stores { &mut self.stores } else { &mut self.loads };
        for access in &open.accesses {
            list.insert(access.key, Member { group, element: element(access.bytes.from) });
        }
        let pointers = open.accesses.iter().map(|access| access.pointer).collect();
        let step = if form.is_apart { 0 } else { (form.step / form.element) as usize };
        let (bytes, is_apart) = (form.element as u64, form.is_apart);
        self.groups.push(Group { bytes, step, is_apart, elements, pointers });
    }
}

/// Whether so many of these elements follow each other that they make a piece.
fn has_piece(elements: &[usize], bytes: u64) -> bool {
    let count = match bytes {
        WORD => WORDS,
        ..WORD => WORD.div_ceil(bytes) as usize,
        _ => PIECE.div_ceil(bytes) as usize,
    };
    elements.windows(count).any(|run| run[count - 1] - run[0] == count - 1)
}

impl Candidate {
    /// Whether both are at constant distances in the same structures.
    fn is_beside(&self, a: &Analysis<'_>, group: &Open) -> bool {
        let (mine, other) = (&self.form.address, &group.form.address);
        (self.form.step, self.form.is_apart) == (group.form.step, group.form.is_apart)
            && mine.root == other.root
            && mine.scaled.len() == other.scaled.len()
            && mine.scaled.iter().zip(&other.scaled).all(|(x, y)| {
                (x.size, x.is_unsigned) == (y.size, y.is_unsigned) && a.same(x.index, y.index, DEPTH)
            })
    }

    /// Whether this may access what the group does.
    fn meets(&self, a: &Analysis<'_>, group: &Open) -> bool {
        let overlaps = |access: &Access| self.access.bytes.overlap(access.bytes, self.form.step);
        may_alias(self.form.class, group.form.class)
            && (!self.is_beside(a, group) || group.accesses.iter().any(overlaps))
    }

    /// Whether this can be made together with the group.
    fn fits(&self, a: &Analysis<'_>, group: &Open) -> bool {
        let (mine, other) = (&self.form, &group.form);
        if (mine.stores, mine.element, mine.shared) != (other.stores, other.element, other.shared)
            || group.accesses.len() == MOST_ACCESSES
            || !self.is_beside(a, group)
            || group.written.iter().any(|written| written.overlap(self.access.bytes, mine.step))
        {
            return false;
        }
        // One element behind the other, and no more of them than a structure has.
        let all = || group.accesses.iter().chain([&self.access]).map(|access| access.bytes);
        let (from, to) =
            all().fold((i64::MAX, i64::MIN), |(from, to), of| (from.min(of.from), to.max(of.to)));
        let most = if mine.is_apart { MOST_SPAN } else { mine.step };
        to - from <= most && all().all(|of| (of.from - from) % mine.element == 0)
    }
}

impl Bytes {
    /// Whether two ranges have some in common, in any of structures that follow each other.
    fn overlap(self, other: Bytes, step: i64) -> bool {
        if step == 0 {
            return true;
        }
        let behind = (other.from - self.from).rem_euclid(step);
        behind < self.to - self.from || behind.saturating_add(other.to - other.from) > step
    }
}

/// Whether pointers of two classes may lead to the same memory.
fn may_alias(a: StorageClass, b: StorageClass) -> bool {
    a == b || a == StorageClass::Generic || b == StorageClass::Generic
}

fn class(a: &Analysis<'_>, pointer: Id) -> StorageClass {
    a.func.class_of(pointer).unwrap_or(StorageClass::Generic)
}

/// An access by one step from lane to lane that is worth it, and may be made earlier or later.
fn candidate(a: &Analysis<'_>, block: BlockId, inst: &Inst) -> Option<Candidate> {
    let (stores, ty) = match inst.row().memory {
        Memory::Write { .. } => (true, a.func.type_of(inst.id(1))?),
        _ => (false, inst.ty?),
    };
    let pointer = inst.id(0);
    if a.builtins.contains_key(&pointer) || a.private.interleaved.contains_key(&pointer) {
        return None;
    }
    // Whether an index wraps around is the same question for all that are at constant distances.
    let is_looked_at = a.trust(pointer) == Trust::LastLane;
    let step = match a.shape(block, pointer)[0] {
        Shape::Strided(step) if is_looked_at || a.trust(pointer) <= Trust::Addresses => step,
        // What each lane reads of its own row follows there, and rows are not one element long.
        Shape::Varying if !a.may_be_row(block, pointer) || a.is_by_shared_step(block, pointer) => 0,
        _ => return None,
    };
    let leaves = a.leaves.get(ty)?;
    let element = size(leaves.first()?)?;
    let regular =
        |(at, leaf): (usize, &Leaf)| size(leaf) == Some(element) && leaf.offset == at as u64 * element;
    let most = if element == 8 { MOST_WIDE_ELEMENTS } else { MOST_ELEMENTS };
    let bytes = leaves.len() as u64 * element;
    let is_small = step > 0
        && (step as u64).is_multiple_of(element)
        && (2..=most).contains(&(step as u64 / element))
        && bytes <= step as u64;
    // What lanes store to one place is in their order, which is known of one store at a time.
    let is_apart = !is_small
        && !is_looked_at
        && !stores
        && step.unsigned_abs() != element
        && class(a, pointer) != StorageClass::Function
        && a.variant.width >= LEAST_LANES
        // LLVM knows better where it sees who accesses what.
        && !(step == 0 && a.differs_by_known_items(block, pointer, KNOWN_DEPTH));
    if !(is_small || is_apart) || !leaves.iter().enumerate().all(regular) {
        return None;
    }
    let step = step.saturating_abs();
    let address = address(a, pointer, Extension::Signed);
    // No distance of two of these is too large for its number.
    if address.constant.unsigned_abs() > FARTHEST {
        return None;
    }
    let bytes = Bytes { from: address.constant, to: address.constant.checked_add(bytes as i64)? };
    let access = Access { key: if stores { pointer } else { inst.result? }, pointer, bytes };
    let (class, shared) = (class(a, pointer), a.is_shared(block, inst));
    let form = Form { stores, address, class, step, is_apart, element: element as i64, shared };
    Some(Candidate { form, access })
}

/// Bytes of a leaf that may be an element.
pub(super) fn size(leaf: &Leaf) -> Option<u64> {
    let whole = !matches!(leaf.scalar, Scalar::Int(_) | Scalar::Ptr | Scalar::Bool);
    whole.then(|| leaf.scalar.bytes())
}

/// What a pointer is made of.
pub(super) fn address(a: &Analysis<'_>, pointer: Id, through: Extension) -> Address {
    let mut address = Address { root: pointer, scaled: SmallVec::new(), constant: 0 };
    while let Some(inst) = a.definition(address.root) {
        match inst.row().derives {
            Derives::Chain | Derives::ElementChain => {
                for step in a.func.chain(inst) {
                    match step {
                        ChainStep::Constant(bytes) => address.constant = address.constant.wrapping_add(bytes),
                        ChainStep::Scaled { index, size } => {
                            let Index { id, is_unsigned, constant } = index_of(a, index, through);
                            let bytes = constant.wrapping_mul(size as i64);
                            address.constant = address.constant.wrapping_add(bytes);
                            address.scaled.push(Scaled { index: id, is_unsigned, size });
                        }
                    }
                }
                address.root = inst.id(0);
            }
            Derives::Address | Derives::AddressIfPointer => match a.func.derived_from(inst) {
                Some(base) => address.root = base,
                None => break,
            },
            Derives::Nothing => break,
        }
    }
    address
}

/// What an index is beside constants. What an unsigned one is added to by a bit that is not carried is the same in more bits.
fn index_of(a: &Analysis<'_>, index: Id, through: Extension) -> Index {
    let mut of = Index { id: index, is_unsigned: false, constant: 0 };
    while let Some(inst) = a.definition(of.id) {
        let constant = |at: usize| a.func.constant_int(inst.id(at));
        let width = a.index_width(of.id).unwrap_or(0);
        let mut is_unsigned = of.is_unsigned;
        let (id, constant) = match inst.op {
            Op::CopyObject => (inst.id(0), 0),
            Op::SConvert if a.index_width(inst.id(0)).is_some_and(|from| from <= width) => (inst.id(0), 0),
            Op::UConvert if a.index_width(inst.id(0)).is_some_and(|from| (32..=width).contains(&from)) => {
                is_unsigned |= through == Extension::Signed;
                (inst.id(0), 0)
            }
            // Narrower ones wrap around within objects.
            _ if width < 32 => break,
            Op::IAdd if !is_unsigned => match (constant(0), constant(1)) {
                (_, Some(constant)) => (inst.id(0), constant),
                (Some(constant), None) => (inst.id(1), constant),
                (None, None) => break,
            },
            Op::ISub if !is_unsigned => match constant(1) {
                Some(constant) => (inst.id(0), constant.wrapping_neg()),
                None => break,
            },
            // Where no bit is carried, the sum is the same in more bits, and compilers may write it as this.
            Op::IAdd | Op::BitwiseOr => match constant(1) {
                Some(constant) if (0..1 << a.trailing_zeros(inst.id(0), 0).min(62)).contains(&constant) => {
                    (inst.id(0), constant)
                }
                _ => break,
            },
            _ => break,
        };
        of = Index { id, is_unsigned, constant: of.constant.wrapping_add(constant) };
    }
    of
}

impl Analysis<'_> {
    /// Bytes of the lane's structure that lie before what a pointer leads to, if structures, of `step` bytes, begin where its root
    /// points.
    pub fn bytes_into_structure(&self, pointer: Id, step: i64) -> u64 {
        address(self, pointer, Extension::Signed)
            .constant
            .checked_rem_euclid(step)
            .unwrap_or(0)
            .unsigned_abs()
    }

    /// Whether two values of one block are the same by what they are computed from.
    fn same(&self, x: Id, y: Id, depth: u32) -> bool {
        if x == y {
            return true;
        }
        if let (Some(x), Some(y)) = (self.whole_component(x), self.whole_component(y)) {
            return x == y;
        }
        let (Some(one), Some(other)) = (self.definition(x), self.definition(y)) else { return false };
        let pure = one.row().memory == Memory::None && one.row().convergence == Convergence::None;
        pure && depth > 0
            && self.def.get(&x) == self.def.get(&y)
            && one.op == other.op
            && one.ty == other.ty
            && one.operands.len() == other.operands.len()
            && one.operands.iter().zip(&other.operands).all(|pair| match pair {
                (Operand::Id(x), Operand::Id(y)) => self.same(*x, *y, depth - 1),
                (Operand::Lit(x), Operand::Lit(y)) => x == y,
                _ => false,
            })
    }
}

#[cfg(test)]
mod tests;
