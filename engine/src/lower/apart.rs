//! Objects of a few equal elements, one a lane, that lie apart: a `float4` by an index that depends on data, or in a structure that is
//! larger.
//!
//! Each lane's object is one access. The vectors of them, put together as if the objects followed each other, and vectors of one
//! element of all lanes are turned into each other as structures are (`structures`): 16 loads, 12 insertions and 8 permutations for
//! four elements of 16 lanes, where gathers load 64 times. Objects of 4 and 8 bytes are gathered as such. What is off accesses memory that is
//! nobody's.

use super::access::{Place, align_at, from_memory, in_memory, lane_addresses};
use super::builder::{Builder, Opcode, Value};
use super::groups::lanes::parts;
use super::structures::Structures;
use super::values::{Reg, Val};
use super::{Lowerer, narrow, runs};
use crate::analysis::leaves::{Leaf, Scalar};
use crate::analysis::members::{Group, LEAST_LANES, WORD};
use std::array::from_fn;

/// Bytes of an object that one instruction accesses: what registers of any size have.
const SIZES: std::ops::RangeInclusive<u64> = 16..=64;
/// Those of the blocks of a register that instructions permute in.
const BLOCK: u64 = 16;
/// Words of a block.
const OF_BLOCK: usize = (BLOCK / WORD) as usize;
/// Those of what gathers and scatters do, where there are such. Words are gathered and scattered lane by lane elsewhere, which is still
/// better than their bytes.
const GATHERED: u64 = 8;
/// Elements that vectors are put together of.
pub(super) const MOST_ELEMENTS: usize = 16;

/// Where objects are.
#[derive(Clone, Copy)]
pub(super) enum Addresses {
    /// The first one's address, and the bytes from one to the next.
    Strided(Value, i64),
    Varying(Value),
}

impl Addresses {
    /// Those of a place in memory that is not interleaved.
    pub(super) fn of(place: Place) -> Option<Addresses> {
        match place {
            Place::Uniform(address) => Some(Addresses::Strided(address, 0)),
            Place::Strided { base, step, .. } => Some(Addresses::Strided(base, step)),
            Place::Varying(addresses) => Some(Addresses::Varying(addresses)),
            Place::Hoped(hope) => Some(Addresses::Varying(hope.addresses)),
            Place::ShortRows(rows) => Some(Addresses::Varying(rows.addresses)),
            Place::Interleaved { .. } => None,
        }
    }

    /// What they are made of.
    pub(super) fn value(self) -> Value {
        match self {
            Addresses::Strided(value, _) | Addresses::Varying(value) => value,
        }
    }

    /// The same kind of addresses, made of the value that these are made of.
    pub(super) fn map(self, with: impl FnOnce(Value) -> Value) -> Addresses {
        match self {
            Addresses::Strided(base, step) => Addresses::Strided(with(base), step),
            Addresses::Varying(all) => Addresses::Varying(with(all)),
        }
    }

    pub(super) fn vector(self, this: &Lowerer<'_, '_>) -> Value {
        match self {
            Addresses::Strided(base, step) => lane_addresses(this, base, step),
            Addresses::Varying(all) => all,
        }
    }

    /// So many bytes further.
    pub(super) fn moved(self, this: &Lowerer<'_, '_>, bytes: i64) -> Addresses {
        self.map(|address| {
            this.b.offset(address, this.b.int(Scalar::I64, this.b.lanes(address), bytes as u64))
        })
    }
}

/// Whether leaves are an object of that kind.
pub(super) fn fits(lanes: u32, has_gathers: bool, leaves: &[Leaf]) -> bool {
    let Some(memory) = runs::element(leaves) else { return false };
    let count = leaves.len();
    let all = count as u64 * memory.bytes();
    lanes >= LEAST_LANES
        && count.is_power_of_two()
        && (2..=MOST_ELEMENTS.min(lanes as usize)).contains(&count)
        && (SIZES.contains(&all) || all == WORD || (has_gathers && all == GATHERED))
}

/// Objects of all lanes.
struct Objects<'e> {
    structures: Structures<'e>,
    align: u64,
    /// Elements, from the first one on, that are surely there to be read.
    there: usize,
}

impl<'e> Objects<'e> {
    /// Objects of these leaves, of which some elements are wanted as vectors of their own.
    fn new(this: &Lowerer<'_, '_>, leaves: &[Leaf], elements: &'e [usize], align: Option<u64>) -> Self {
        let memory = in_memory(leaves[0].scalar);
        let structures = Structures { memory, lanes: this.w, step: leaves.len(), elements };
        Objects { structures, align: align_at(align, 0, memory), there: leaves.len() }
    }

    fn count(&self) -> usize {
        self.structures.step
    }

    /// What an object is gathered as.
    fn gathered(&self) -> Option<Scalar> {
        match self.count() as u64 * self.structures.memory.bytes() {
            WORD => Some(Scalar::I32),
            GATHERED => Some(Scalar::I64),
            _ => None,
        }
    }

    /// Their addresses, each a scalar. Lanes that are off have one of their own.
    fn addresses(&self, this: &Lowerer<'_, '_>, addresses: Addresses) -> Vec<Value> {
        let b = &this.b;
        let all = match (addresses, this.mask().lanes()) {
            (Addresses::Strided(base, step), None) => {
                let at = |lane: u32| b.offset(base, b.i64(step.wrapping_mul(i64::from(lane)) as u64));
                return (0..this.w).map(at).collect();
            }
            (_, None) => addresses.vector(this),
            (_, Some(mask)) => {
                let (memory, count) = (self.structures.memory, self.count() as u32);
                let nowhere = this.in_prologue(|b| b.nowhere(memory, count));
                b.select(mask, addresses.vector(this), b.splat(nowhere, this.w))
            }
        };
        (0..this.w).map(|lane| b.extract(all, b.i32(lane))).collect()
    }

    /// The vectors of all objects, one behind the other, or their words: what a `Structures` takes elements of.
    fn load(&self, this: &Lowerer<'_, '_>, addresses: Addresses) -> Vec<Value> {
        let (b, memory, count) = (&this.b, self.structures.memory, self.count() as u32);
        if let Some(whole) = self.gathered() {
            let all = b.gather(whole, addresses.vector(this), self.align, this.mask_vector());
            if self.structures.word() == Some(whole) {
                return vec![all];
            }
            return parts(b, b.reshape(all, memory, this.w * count), this.w);
        }
        let is_there = |at: u32| u64::from((at as usize) < self.there);
        let load = |address: Value| match self.there == self.count() {
            true => b.load(memory, count, address, self.align),
            false => {
                let mask = b.int_vector(Scalar::Bool, (0..count).map(is_there));
                b.masked_load(memory, count, address, self.align, mask)
            }
        };
        let objects: Vec<Value> = self.addresses(this, addresses).into_iter().map(load).collect();
        objects.chunks((this.w / count) as usize).map(|objects| b.concat(objects.to_vec())).collect()
    }

    /// Whether objects are blocks of words, and lanes whole registers of two blocks. (Two elements of 8 bytes are as soon permuted in
    /// registers that are loaded whole.)
    fn are_blocks(&self, this: &Lowerer<'_, '_>) -> bool {
        let Structures { memory, lanes, .. } = self.structures;
        memory.bytes() == WORD
            && self.count().is_multiple_of(OF_BLOCK)
            && this.target.simd_bits() == 8 * 2 * BLOCK as u32
            && lanes as usize >= 2 * OF_BLOCK
    }

    /// Loads the elements of objects, vectors of one element of all lanes, block by block. Of a register, each block is from an object as many lanes
    /// further as a block has elements: what is in a block stays in it, and nothing is permuted from one to another.
    fn load_transposed(&self, this: &Lowerer<'_, '_>, addresses: Addresses) -> Vec<Value> {
        let (b, memory) = (&this.b, self.structures.memory);
        let addresses = self.addresses(this, addresses);
        let mut elements = vec![Vec::new(); self.count()];
        for lanes in addresses.chunks(2 * OF_BLOCK) {
            for (number, elements) in elements.chunks_mut(OF_BLOCK).enumerate() {
                let load = |lane: usize| {
                    let address = b.offset_const(lanes[lane], number as u64 * BLOCK);
                    b.load(memory, OF_BLOCK as u32, address, self.align.min(BLOCK))
                };
                let columns =
                    transposed(b, from_fn(|lane| b.concat(vec![load(lane), load(lane + OF_BLOCK)])));
                elements.iter_mut().zip(columns).for_each(|(parts, part)| parts.push(part));
            }
        }
        elements.into_iter().map(|parts| b.concat(parts)).collect()
    }

    fn store(&self, this: &Lowerer<'_, '_>, addresses: Addresses, vectors: Vec<Value>) {
        let (b, count) = (&this.b, self.count());
        if let Some(whole) = self.gathered() {
            let all = b.reshape(b.concat(vectors), whole, this.w);
            b.scatter(all, addresses.vector(this), self.align, this.mask_vector());
            return;
        }
        let addresses = self.addresses(this, addresses);
        for (vector, addresses) in vectors.into_iter().zip(addresses.chunks(this.w as usize / count)) {
            for (at, address) in addresses.iter().enumerate() {
                let lanes: Vec<i32> = (at * count..(at + 1) * count).map(|lane| lane as i32).collect();
                b.store(b.shuffle(vector, vector, &lanes), *address, self.align);
            }
        }
    }
}

/// Vectors whose blocks are the columns of the matrices that blocks of rows are.
fn transposed(b: &Builder, [first, second, third, fourth]: [Value; OF_BLOCK]) -> [Value; OF_BLOCK] {
    // Of each block halves of two vectors, in turns piece by piece.
    let both = |low: Value, high: Value, piece: usize| {
        let lanes = b.lanes(low) as usize;
        [0, OF_BLOCK / 2].map(|half| {
            let of = |at: usize| {
                let (block, at) = (at / OF_BLOCK * OF_BLOCK, at % OF_BLOCK);
                let vector = at / piece % 2;
                (vector * lanes + block + half + at / (2 * piece) * piece + at % piece) as i32
            };
            b.shuffle(low, high, &(0..lanes).map(of).collect::<Vec<i32>>())
        })
    };
    let [low, high] = both(first, second, 1);
    let [other_low, other_high] = both(third, fourth, 1);
    let ([a, b], [c, d]) = (both(low, other_low, 2), both(high, other_high, 2));
    [a, b, c, d]
}

/// Loads objects that [fit](fits).
pub(super) fn load(this: &Lowerer<'_, '_>, addresses: Addresses, leaves: &[Leaf], align: Option<u64>) -> Val {
    let elements: Vec<usize> = (0..leaves.len()).collect();
    let objects = Objects::new(this, leaves, &elements, align);
    let value = |(element, leaf): (Value, &Leaf)| Reg::varying(from_memory(this, element, leaf.scalar));
    if objects.are_blocks(this) {
        let elements = objects.load_transposed(this, addresses);
        return elements.into_iter().zip(leaves).map(value).collect();
    }
    let (structures, vectors) = (objects.structures, objects.load(this, addresses));
    let elements = elements.iter().map(|element| structures.take(&this.b, &vectors, *element));
    elements.zip(leaves).map(value).collect()
}

/// The vectors of objects that [fit](fits), one behind the other.
pub(super) fn load_vectors(
    this: &Lowerer<'_, '_>,
    addresses: Addresses,
    leaves: &[Leaf],
    align: Option<u64>,
) -> Vec<Value> {
    let objects = Objects::new(this, leaves, &[], align);
    match objects.gathered() {
        None => objects.load(this, addresses),
        Some(word) => {
            let words = this.b.gather(word, addresses.vector(this), objects.align, this.mask_vector());
            vec![this.b.reshape(words, objects.structures.memory, this.w * leaves.len() as u32)]
        }
    }
}

/// Stores objects, of which the vectors have one behind the other.
pub(super) fn store_vectors(
    this: &Lowerer<'_, '_>,
    addresses: Addresses,
    leaves: &[Leaf],
    vectors: Vec<Value>,
    align: Option<u64>,
) {
    Objects::new(this, leaves, &[], align).store(this, addresses, vectors);
}

/// Loads the elements of a group's structures, as unsigned integers: pieces of what follows each other, and the rest one by one. The
/// addresses are the first element's.
pub(super) fn load_elements(this: &Lowerer<'_, '_>, addresses: Addresses, group: &Group) -> Vec<Value> {
    let size = group.bytes;
    let mut values = Vec::new();
    let mut rest = group.elements.as_slice();
    while let [first, ..] = *rest {
        let count = (1..rest.len()).find(|at| rest[*at] != first + at).unwrap_or(rest.len());
        let (run, behind) = rest.split_at(count);
        rest = behind;
        let mut at = 0;
        while at < run.len() {
            let from = addresses.moved(this, (run[at] as u64 * size) as i64);
            let loaded = load_some(this, from, size, run.len() - at);
            at += loaded.len();
            values.extend(loaded);
        }
    }
    values
}

/// The first of `count` elements that follow each other: as many as one access of each lane has.
fn load_some(this: &Lowerer<'_, '_>, addresses: Addresses, size: u64, count: usize) -> Vec<Value> {
    let left = size * count as u64;
    let word = if size == 8 { Scalar::I64 } else { Scalar::I32 };
    let words = match left / word.bytes() {
        4.. => 4,
        3 if size == WORD && this.target.has_avx512() => return load_three(this, addresses),
        2.. if size == 8 || this.target.has_avx512() => 2,
        1.. if size < WORD => {
            let words = this.b.gather(word, addresses.vector(this), size, this.mask_vector());
            return (0..WORD / size).map(|at| part(&this.b, words, size, this.b.i32(at as u32))).collect();
        }
        _ => {
            let memory = Scalar::int(8 * size as u32).expect("elements of 1, 2, 4 and 8 bytes");
            return vec![narrow::gather(this, memory, addresses.vector(this), size)];
        }
    };
    let words = load_words(this, addresses, word, words, size);
    let of_word = (word.bytes() / size) as u32;
    let parts = |reg: Reg| (0..of_word).map(move |at| part(&this.b, this.vector(reg), size, this.b.i32(at)));
    words.into_iter().flat_map(parts).collect()
}

/// Loads three words that follow each other: four of each lane, the last of which is left out, as nobody knows whether it is there.
fn load_three(this: &Lowerer<'_, '_>, addresses: Addresses) -> Vec<Value> {
    let elements = [0, 1, 2];
    let leaves = Leaf::consecutive(Scalar::I32, OF_BLOCK);
    let objects = Objects { there: elements.len(), ..Objects::new(this, &leaves, &elements, Some(WORD)) };
    let vectors = objects.load(this, addresses);
    elements.iter().map(|element| objects.structures.take(&this.b, &vectors, *element)).collect()
}

/// Loads words that follow each other, aligned as the elements that they are made of.
pub(super) fn load_words(
    this: &Lowerer<'_, '_>,
    addresses: Addresses,
    word: Scalar,
    count: u32,
    align: u64,
) -> Val {
    load(this, addresses, &Leaf::consecutive(word, count as usize), Some(align))
}

/// The parts of words that have a number, as integers of so many bytes.
pub(super) fn part(b: &Builder, words: Value, size: u64, at: Value) -> Value {
    let (word, bits) = (b.scalar_of(words), 8 * size as u32);
    if size >= word.bytes() {
        return words;
    }
    let shift = b.zext_or_trunc(b.mul(at, b.i32(bits)), word);
    let words = b.lshr(words, b.splat(shift, b.lanes(words)));
    b.cast(Opcode::LLVMTrunc, words, Scalar::int(bits).expect("parts of 1 and 2 bytes"))
}

/// Stores such objects. Where lanes have one address, the last one's stays, as in a scatter.
pub(super) fn store(
    this: &Lowerer<'_, '_>,
    addresses: Addresses,
    leaves: &[Leaf],
    val: &Val,
    align: Option<u64>,
) {
    let elements: Vec<usize> = (0..leaves.len()).collect();
    let objects = Objects::new(this, leaves, &elements, align);
    let vectors = objects.structures.in_memory_order(&this.b, &runs::to_elements(this, val));
    objects.store(this, addresses, vectors);
}
