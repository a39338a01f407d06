//! Structures that follow each other in memory, one a lane: vectors that cover all of them, and the shuffles between those and vectors
//! of one member (interleaved accesses: Nuzman, Rosen and Zaks, PLDI 2006).
//!
//! With a step of an odd number of elements, the members of one name are at different places of all vectors that cover the structures:
//! blends bring them together, which processors do on several ports, and one permutation puts them in order. With a power of two
//! they are at the same few places of each, and vectors are permuted pair by pair, as in a transpose: log2(step) levels of one
//! permutation a vector. Any other step is both (`Node`): six members of 16 lanes take 12 blends and 6 permutations, where
//! gathering each from the vectors that have it would take 30.
//!
//! Structures that are as large as a word of 4 or 8 bytes are loaded as words, one a lane: a member of 1 or 2 bytes is its word, shifted
//! down, and what widens it again behind that a mask.
//!
//! Nothing is read before the first member of the first lane and behind the last one of the last lane. What is read between them
//! lies between two elements that the kernel reads, less than a page apart, so it is there to be read. What lies before, between and
//! behind members that are stored is not written.

use super::builder::{Builder, Value};
use super::{Lowerer, apart};
use crate::analysis::leaves::Scalar;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::ops::Range;

/// One structure a lane, of equal elements.
#[derive(Clone, Copy)]
pub(super) struct Structures<'e> {
    /// What an element is in memory.
    pub memory: Scalar,
    pub lanes: u32,
    /// Elements from one structure to the next.
    pub step: usize,
    /// The elements that are accessed, ascending; the first one is 0 if they are read.
    pub elements: &'e [usize],
}

/// A vector between memory and members.
///
/// The lanes are in 2^`levels` blocks, and elements in groups of as many. At level 0 a node has a group of a block's structures, at
/// the places that they have in memory; at each level it has the lanes of twice as many blocks, and half of the elements; at the
/// last one an element of all lanes, in order.
#[derive(Clone, Copy, Debug)]
struct Node {
    level: u32,
    /// Which of the level's ranges of lanes.
    range: usize,
    /// Which of the level's classes of a group's elements.
    class: usize,
    group: usize,
}

impl Node {
    /// What no other node has. (A derived comparison of its members crashes the optimiser of rustc 1.95.)
    fn number(self) -> [usize; 4] {
        [self.level as usize, self.range, self.class, self.group]
    }
}

/// A vector that is stored.
#[derive(Clone, Copy)]
struct Part {
    /// Where it begins, in elements.
    start: usize,
    vector: Value,
    /// All of its elements are stored, if all lanes are on.
    is_whole: bool,
}

impl Structures<'_> {
    /// Elements from the start of the first lane's structure to the last lane's last member, with that.
    fn all(&self) -> usize {
        (self.width() - 1) * self.step + self.elements.last().map_or(0, |last| last + 1)
    }

    fn width(&self) -> usize {
        self.lanes as usize
    }

    /// Where vectors begin that cover all elements, in elements. The last one may end behind them.
    fn starts(&self) -> impl Iterator<Item = usize> + use<> {
        (0..self.all()).step_by(self.width())
    }

    /// The word that is as large as a structure of smaller elements: what is loaded is a vector of them then. Where all members of
    /// words of two registers are wanted, permutations are fewer than shifts and narrowing.
    pub fn word(&self) -> Option<Scalar> {
        let bytes = self.memory.bytes();
        let all = self.step as u64 * bytes;
        let is_worth_it = match all {
            4 => true,
            8 => self.elements.len() < self.step,
            _ => false,
        };
        Scalar::int(8 * all as u32).filter(|_| is_worth_it && bytes < 4 && self.lanes >= 4)
    }

    /// All lanes' words. What the last one has behind its last member is not read: the upper half of the lanes is loaded from as many
    /// bytes further in front, and shifted. Under a mask, members are loaded and nothing else.
    fn load_words(&self, b: &Builder, word: Scalar, first: Value, align: u64, mask: Option<Value>) -> Value {
        let has_gaps = self.elements.len() < self.step;
        if let Some(mask) = mask {
            if !has_gaps {
                return b.masked_load(word, self.lanes, first, align, mask);
            }
            let raw = Scalar::int(8 * self.memory.bytes() as u32).expect("elements of 1 or 2 bytes");
            let count = self.width() * self.step;
            let members = b.masked_load(raw, count as u32, first, align, self.spread(b, mask, 0..count));
            return b.reshape(members, word, self.lanes);
        }
        let behind = (self.width() * self.step - self.all()) as u64 * self.memory.bytes();
        if behind == 0 {
            return b.load(word, self.lanes, first, align);
        }
        let half = self.lanes / 2;
        let low = b.load(word, half, first, align);
        let upper = b.offset_const(first, u64::from(half) * word.bytes() - behind);
        let high = b.lshr(b.load(word, half, upper, align), b.int(word, half, 8 * behind));
        b.concat(vec![low, high])
    }

    /// The lane that has an element so far behind the first, and the element of its structure.
    fn place(&self, at: usize) -> Option<(usize, usize)> {
        let (lane, element) = (at / self.step, at % self.step);
        (lane < self.width() && self.elements.contains(&element)).then_some((lane, element))
    }

    /// The mask of some elements: on where a lane's member is, and the lane is on.
    fn spread(&self, b: &Builder, mask: Value, elements: Range<usize>) -> Value {
        let lane = |at: usize| self.place(at).map_or(self.width(), |(lane, _)| lane) as i32;
        let lanes: Vec<i32> = elements.map(lane).collect();
        b.shuffle(mask, b.zero(Scalar::Bool, self.lanes), &lanes)
    }

    fn address(&self, b: &Builder, first: Value, start: usize) -> Value {
        b.offset_const(first, start as u64 * self.memory.bytes())
    }

    fn all_on(&self, b: &Builder) -> Value {
        b.int(Scalar::Bool, self.lanes, 1)
    }

    /// Levels of nodes behind the first.
    fn levels(&self) -> u32 {
        self.step.trailing_zeros().min(self.lanes.trailing_zeros())
    }

    /// The lanes that a node has.
    fn lanes_of(&self, node: Node) -> Range<usize> {
        let count = self.width() >> (self.levels() - node.level);
        node.range * count..(node.range + 1) * count
    }

    /// The members that a node has.
    fn elements_of(&self, node: Node) -> impl Iterator<Item = usize> + '_ {
        let has = move |element: &usize| {
            element >> self.levels() == node.group && self.class(node.level, *element) == node.class
        };
        self.elements.iter().copied().filter(has)
    }

    /// The class of a level that has a member.
    fn class(&self, level: u32, element: usize) -> usize {
        (element % (1 << self.levels())) >> (self.levels() - level)
    }

    /// Where a node has a lane's member.
    fn place_in(&self, node: Node, lane: usize, element: usize) -> usize {
        if node.level == 0 {
            return (lane * self.step + element) % self.width();
        }
        let shift = self.levels() - node.level;
        ((lane - self.lanes_of(node).start) << shift) + element % (1 << shift)
    }

    /// The last level's node of a member.
    fn last_of(&self, element: usize) -> Node {
        let level = self.levels();
        Node { level, range: 0, class: self.class(level, element), group: element >> level }
    }

    /// All lanes' members of a node.
    fn contents(&self, node: Node) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.elements_of(node).flat_map(move |element| self.lanes_of(node).map(move |lane| (lane, element)))
    }

    /// A vector out of two, of whose places the source is known: 0 or 1, and the place there.
    fn pick(
        &self,
        b: &Builder,
        vectors: [Value; 2],
        places: impl Iterator<Item = (usize, (usize, usize))>,
    ) -> Value {
        let w = self.width();
        let mut indices = vec![-1; w];
        places.for_each(|(to, (vector, from))| indices[to] = (vector * w + from) as i32);
        b.shuffle(vectors[0], vectors[1], &indices)
    }

    /// Puts vectors into one. Each of the places is known to come from one of them, where it is at the same place.
    fn blend(
        &self,
        b: &Builder,
        vectors: impl Iterator<Item = (usize, Value)>,
        source: &dyn Fn(usize) -> Option<usize>,
    ) -> Option<Value> {
        let blended = vectors.fold(None, |before: Option<(Vec<usize>, Value)>, (at, vector)| {
            let of_vector = |place: &usize| source(*place) == Some(at);
            let own: Vec<usize> = (0..self.width()).filter(of_vector).collect();
            Some(match before {
                Some(before) if own.is_empty() => before,
                None => (own, vector),
                Some((mut places, blend)) => {
                    let of = |vector: usize| move |place: &usize| (*place, (vector, *place));
                    let kept = places.iter().map(of(0));
                    let blend = self.pick(b, [blend, vector], kept.chain(own.iter().map(of(1))));
                    places.extend(own);
                    (places, blend)
                }
            })
        });
        blended.map(|(_, blend)| blend)
    }

    /// Vectors with all that the lanes that are on load; without a mask, with all.
    pub fn load(&self, this: &Lowerer<'_, '_>, first: Value, align: u64, mask: Option<Value>) -> Vec<Value> {
        let b = &*this.b;
        if let Some(word) = self.word() {
            return vec![self.load_words(b, word, first, align, mask)];
        }
        // Measured: the one mask of bytes costs more than it saves.
        let has_masks = this.target.has_avx512() && self.memory.bytes() >= 4;
        let (all, w) = (self.all(), self.width());
        let load = |start: usize| b.load(self.memory, self.lanes, self.address(b, first, start), align);
        let masked = |start: usize, mask: Value| {
            let address = self.address(b, first, start);
            b.masked_load(self.memory, self.lanes, address, align, self.spread(b, mask, start..start + w))
        };
        let vector = |start: usize| match mask {
            Some(mask) => masked(start, mask),
            None if start + w <= all => load(start),
            None if has_masks => masked(start, self.all_on(b)),
            None => {
                // It ends with the last element, and is turned to where it would begin.
                let back = start + w - all;
                let vector = load(all - w);
                self.pick(b, [vector; 2], (0..w - back).map(|to| (to, (0, to + back))))
            }
        };
        self.starts().map(vector).collect()
    }

    /// One element of each lane's structure, out of what was loaded.
    pub fn take(&self, b: &Builder, vectors: &[Value], element: usize) -> Value {
        if self.word().is_some() {
            let part = apart::part(b, vectors[0], self.memory.bytes(), b.i32(element as u32));
            return b.reinterpret(part, self.memory);
        }
        let node = self.last_of(element);
        let vector = self.gathered(b, vectors, node);
        match node.level {
            0 => self.pick(
                b,
                [vector; 2],
                (0..self.width()).map(|lane| (lane, (0, self.place_in(node, lane, element)))),
            ),
            _ => vector,
        }
    }

    /// A node of what was loaded. Members that have nodes in common have the same instructions, of which LLVM keeps one.
    fn gathered(&self, b: &Builder, vectors: &[Value], node: Node) -> Value {
        if node.level == 0 {
            let w = self.width();
            let mut sources = vec![None; w];
            for (lane, element) in self.contents(node) {
                let at = lane * self.step + element;
                sources[at % w] = Some(at / w);
            }
            let used = (0..vectors.len()).filter(|at| sources.contains(&Some(*at)));
            let blend = self.blend(b, used.map(|at| (at, vectors[at])), &|place| sources[place]);
            return blend.expect("a node has elements");
        }
        let parts = [0, 1].map(|half| Node {
            level: node.level - 1,
            range: 2 * node.range + half,
            class: node.class / 2,
            group: node.group,
        });
        let places = self.contents(node).map(|(lane, element)| {
            let half = usize::from(!self.lanes_of(parts[0]).contains(&lane));
            (self.place_in(node, lane, element), (half, self.place_in(parts[half], lane, element)))
        });
        self.pick(b, parts.map(|part| self.gathered(b, vectors, part)), places)
    }

    /// A node of what is to be stored, if it has any of that.
    fn scattered(
        &self,
        b: &Builder,
        values: &[(usize, Value)],
        node: Node,
        known: &mut FxHashMap<[usize; 4], Value>,
    ) -> Option<Value> {
        if let Some(vector) = known.get(&node.number()) {
            return Some(*vector);
        }
        let of_node = |value: &&(usize, Value)| self.elements_of(node).any(|element| element == value.0);
        let stored: SmallVec<[(usize, Value); 8]> = values.iter().filter(of_node).copied().collect();
        let vector = match stored[..] {
            [] => return None,
            // Of one or two members, it is one permutation from where they are in order.
            [first] | [first, _] => {
                let last = stored[stored.len() - 1].1;
                let from = |lane: usize, element: usize| (usize::from(element != first.0), lane);
                let places = self.contents(node);
                let places =
                    places.map(|(lane, element)| (self.place_in(node, lane, element), from(lane, element)));
                self.pick(b, [first.1, last], places)
            }
            _ => {
                let halves = [0, 1].map(|half| Node {
                    level: node.level + 1,
                    range: node.range / 2,
                    class: 2 * node.class + half,
                    group: node.group,
                });
                let vectors = halves.map(|half| self.scattered(b, values, half, known));
                let some = vectors[0].or(vectors[1]).expect("a node with members has a half with some");
                let places = self.contents(node).map(|(lane, element)| {
                    let half = self.class(node.level + 1, element) % 2;
                    (self.place_in(node, lane, element), (half, self.place_in(halves[half], lane, element)))
                });
                self.pick(b, vectors.map(|vector| vector.unwrap_or(some)), places)
            }
        };
        known.insert(node.number(), vector);
        Some(vector)
    }

    /// What is stored where, of the values of members in ascending order.
    fn arrange(&self, b: &Builder, values: &[(usize, Value)]) -> Vec<Part> {
        if let Some(parts) = self.arrange_equal(b, values) {
            return parts;
        }
        let (w, levels) = (self.width(), self.levels());
        let mut known = FxHashMap::default();
        let mut parts = Vec::new();
        for (at, start) in self.starts().enumerate() {
            let range = at / (self.step >> levels);
            let group = |place: usize| self.place(start + place).map(|(_, element)| element >> levels);
            let groups: Vec<Option<usize>> = (0..w).map(group).collect();
            let mut used: Vec<usize> = groups.iter().flatten().copied().collect();
            used.sort_unstable();
            used.dedup();
            let nodes = used.into_iter().filter_map(|group| {
                let node = Node { level: 0, range, class: 0, group };
                Some((group, self.scattered(b, values, node, &mut known)?))
            });
            if let Some(vector) = self.blend(b, nodes, &|place| groups[place]) {
                parts.push(Part { start, vector, is_whole: groups.iter().all(Option::is_some) });
            }
        }
        parts
    }

    /// The same where all lanes store the same, which takes no permutations: the vectors are the structure, again and again, and equal
    /// where they begin at the same of its elements. (LLVM 19's code for such permutations of words that are loaded from
    /// consecutive places replaces one load by another for ever without optimisation, until the stack is full.)
    fn arrange_equal(&self, b: &Builder, values: &[(usize, Value)]) -> Option<Vec<Part>> {
        let scalars: Option<FxHashMap<usize, Value>> =
            values.iter().map(|(element, value)| Some((*element, b.splatted(*value)?))).collect();
        let scalars = scalars.filter(|scalars| !scalars.is_empty() && self.width() > 1)?;
        let mut known = FxHashMap::default();
        let mut parts = Vec::new();
        for start in self.starts() {
            let stored = (start..start + self.width()).map(|at| self.place(at).map(|(_, element)| element));
            let stored: Vec<Option<usize>> = stored.collect();
            let is_whole = stored.iter().all(Option::is_some);
            let Some(some) = stored.iter().flatten().find_map(|element| scalars.get(element)) else {
                continue;
            };
            let any = b.poison(b.scalar_of(*some), 1);
            let vector = *known.entry(stored).or_insert_with_key(|stored| {
                let scalar = |element: &Option<usize>| element.and_then(|at| scalars.get(&at).copied());
                b.collected(&stored.iter().map(|element| scalar(element).unwrap_or(any)).collect::<Vec<_>>())
            });
            parts.push(Part { start, vector, is_whole });
        }
        Some(parts)
    }

    /// The vectors that cover structures whose elements are all there, given those of each element.
    pub fn in_memory_order(&self, b: &Builder, values: &[(usize, Value)]) -> Vec<Value> {
        self.arrange(b, values).iter().map(|part| part.vector).collect()
    }

    /// Stores parts in the lanes that are on; without a mask, in all.
    fn store_parts(&self, b: &Builder, first: Value, align: u64, parts: &[Part], mask: Option<Value>) {
        for part in parts {
            let address = self.address(b, first, part.start);
            match mask {
                None if part.is_whole => b.store(part.vector, address, align),
                _ => {
                    let mask = self.spread(
                        b,
                        mask.unwrap_or_else(|| self.all_on(b)),
                        part.start..part.start + self.width(),
                    );
                    b.masked_store(part.vector, address, align, mask);
                }
            }
        }
    }

    /// Stores the values of members, in ascending order, in the lanes that are on.
    pub fn store(&self, b: &Builder, first: Value, align: u64, values: &[(usize, Value)], mask: Value) {
        self.store_parts(b, first, align, &self.arrange(b, values), Some(mask));
    }

    /// The vectors that are stored in all lanes where structures have no gaps, and where each begins, in bytes.
    pub fn whole_vectors(&self, b: &Builder, values: &[(usize, Value)]) -> Vec<(u64, Value)> {
        let parts = self.arrange(b, values);
        parts.iter().map(|part| (part.start as u64 * self.memory.bytes(), part.vector)).collect()
    }

    /// The same in the lanes that a mask has on, all if there is none, with a branch for when those are all.
    pub fn store_lanes(
        &self,
        b: &Builder,
        first: Value,
        align: u64,
        values: &[(usize, Value)],
        mask: Option<Value>,
    ) {
        let parts = self.arrange(b, values);
        let store = |mask: Option<Value>| {
            self.store_parts(b, first, align, &parts, mask);
            Vec::new()
        };
        match mask {
            None => {
                store(None);
            }
            Some(mask) => {
                b.branch_of_many(b.all(mask), || store(None), || store(Some(mask)));
            }
        }
    }
}
