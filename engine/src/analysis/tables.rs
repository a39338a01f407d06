//! Small indices and tables: accesses at an address that all lanes share plus an index that is known to be small, such as a byte's.
//!
//! An index is small where what makes it says so (`x & 255`, `x >> 24`), or where the table is a variable that is no larger. Such a
//! table fits into a few registers, from which lanes take their elements by permutations (`lower::tables`).

use super::Analysis;
use super::func::{BlockId, ChainStep};
use super::leaves::{Leaf, Scalar};
use super::members::{Address, Extension, address, size};
use super::shapes::Shape;
use spirv::{Op, StorageClass};
use spirv_env::opcodes::Derives;
use spirv_env::{Id, Inst};

/// Words of a table at most.
const MOST_WORDS: u64 = 512;

/// What a load's lanes take their elements from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Table {
    /// An integer of which elements have one or more, and leaves no more than one.
    pub word: Scalar,
    /// What lanes do not share of the address.
    pub index: Id,
    /// Words from one index to the next.
    pub step: u64,
    /// Words from the address at index 0 on.
    pub words: u64,
    /// Whether all of them are there to be read, as they are in a variable.
    pub is_there: bool,
}

/// An index with a bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SmallIndex {
    pub index: Id,
    /// Bytes from one element to the next.
    pub step: u64,
    /// No index is greater.
    pub last: u64,
    /// Whether all elements up to there are in a variable.
    pub is_there: bool,
}

impl Table {
    pub fn bytes(&self) -> u64 {
        self.words * self.word.bytes()
    }

    /// The word of an element that a leaf is in.
    pub fn word_of(&self, leaf: Leaf) -> u64 {
        leaf.offset / self.word.bytes()
    }
}

/// The integer that elements of equal leaves, which are so many bytes apart, are made of.
fn word(leaves: &[Leaf], bytes: u64, step: u64) -> Option<Scalar> {
    let [first, ..] = leaves else { return None };
    let of_leaf = size(first)?;
    let are_equal =
        leaves.iter().all(|leaf| size(leaf) == Some(of_leaf) && leaf.offset.is_multiple_of(of_leaf));
    let is_made_of = |word: &u64| bytes.is_multiple_of(*word) && step.is_multiple_of(*word);
    let word = [of_leaf.max(4), of_leaf.max(2), of_leaf].into_iter().find(is_made_of)?;
    Scalar::int(8 * word as u32).filter(|_| are_equal)
}

impl Analysis<'_> {
    /// The table that a block loads from.
    pub fn table(&self, at: BlockId, load: &Inst) -> Option<Table> {
        if load.op != Op::Load || load.is_volatile() {
            return None;
        }
        let (leaves, bytes) = (self.leaves.get(load.ty?)?, self.func.module.types.layout(load.ty?).size);
        let SmallIndex { index, step, last, is_there } = self.small_index(at, load.id(0), bytes)?;
        let word = word(&leaves, bytes, step)?;
        let words = last.checked_mul(step)?.checked_add(bytes)? / word.bytes();
        let most = if word == Scalar::I8 { 1 << 8 } else { MOST_WORDS };
        (words <= most).then_some(Table { word, index, step: step / word.bytes(), words, is_there })
    }

    /// What lanes do not share of an address, where that is an index which is known to be small, for elements of so many bytes. The block
    /// makes the address itself: what others make one of need not be known there.
    pub fn small_index(&self, at: BlockId, pointer: Id, bytes: u64) -> Option<SmallIndex> {
        let is_chain = |inst: &&Inst| matches!(inst.row().derives, Derives::Chain | Derives::ElementChain);
        let chain = self.definition(pointer).filter(is_chain)?;
        // What work-items have for themselves may lie elsewhere for each.
        let is_shared = |class: StorageClass| {
            matches!(
                class,
                StorageClass::CrossWorkgroup | StorageClass::UniformConstant | StorageClass::Workgroup
            )
        };
        let is_uniform = |id: Id| self.shape(at, id)[0].is_uniform();
        if self.def.get(&pointer) != Some(&at)
            || !self.func.class_of(pointer).is_some_and(is_shared)
            || self.builtins.contains_key(&pointer)
            || self.shape(at, pointer)[0] != Shape::Varying
            || !is_uniform(chain.id(0))
        {
            return None;
        }
        let (mut offset, mut is_constant, mut varying) = (0i64, true, None);
        for step in self.func.chain(chain) {
            match step {
                ChainStep::Constant(bytes) => offset = offset.checked_add(bytes)?,
                ChainStep::Scaled { index, .. } if is_uniform(index) => is_constant = false,
                ChainStep::Scaled { index, size } if varying.is_none() => varying = Some((index, size)),
                ChainStep::Scaled { .. } => return None,
            }
        }
        let (index, step) = varying.filter(|(index, _)| !self.is_temporal(at, *index))?;
        // Indices of chains are signed.
        let is_positive =
            |upper: &u64| self.index_width(index).is_some_and(|width| upper >> (width - 1) == 0);
        let upper = self.upper(index, 0).filter(is_positive);
        let object = self.bytes_behind(chain.id(0)).filter(|_| is_constant);
        let there = object.and_then(|all| all.checked_sub(u64::try_from(offset).ok()?)?.checked_sub(bytes));
        let there = there.and_then(|behind_first| behind_first.checked_div(step));
        let last = upper.into_iter().chain(there).min()?;
        Some(SmallIndex { index, step, last, is_there: there.is_some() })
    }

    /// How many bytes there are from an address on to the end of the variable that it leads into.
    fn bytes_behind(&self, pointer: Id) -> Option<u64> {
        let Address { root, scaled, constant } = address(self, pointer, Extension::Signed);
        let variable = self.func.global(root).filter(|_| scaled.is_empty())?;
        self.func.pointee_bytes(variable.id)?.checked_sub(u64::try_from(constant).ok()?)
    }
}
