//! Sums of outer products, which products of matrices are: in each step of the depth a row of B times an element of A in all
//! lanes, added to a row of the accumulator.
//!
//! Elements of A go through memory on their way into all lanes: a load puts a number into all lanes of a register, or an FMA
//! takes it so from memory, as fast as if it were in one, while processors of Intel have one unit for shuffles of 512 bits, and
//! each step of each row would want one.
//!
//! One product is a row of instructions. Where a block has many, each is a loop over its depth, for which rows of B go through memory, too:
//! the code stays small enough to be optimised, and only accumulators are wanted in registers.

use super::Lowerer;
use super::builder::{Builder, IntPred, Value};
use super::dot::Dots;
use super::opencl_std::element::Element;
use crate::analysis::leaves::Scalar;
use rustc_hash::FxHashMap;

/// A matrix whose elements a product takes, from vectors that hold them.
pub(super) struct Source<'s> {
    vectors: Vec<Value>,
    /// The vector and the lane of a row's column.
    holder: &'s dyn Fn(u32, u32) -> (u32, u32),
    picked: FxHashMap<Vec<(u32, u32)>, Value>,
}

impl<'s> Source<'s> {
    pub fn new(vectors: Vec<Value>, holder: &'s dyn Fn(u32, u32) -> (u32, u32)) -> Self {
        Source { vectors, holder, picked: FxHashMap::default() }
    }

    /// These elements, by row and column, one behind the other.
    fn pick(&mut self, b: &Builder, places: &[(u32, u32)]) -> Value {
        let from: Vec<(u32, u32)> = places.iter().map(|(row, column)| (self.holder)(*row, *column)).collect();
        if let Some(&value) = self.picked.get(&from) {
            return value;
        }
        let value = self.shuffled(b, &from);
        self.picked.insert(from, value);
        value
    }

    /// Where in memory these elements are that are the same for each of so many lanes, if the vectors lie one behind the other.
    fn offset(&self, b: &Builder, places: &[(u32, u32)], lanes: usize) -> Option<u64> {
        let each = places.len() / lanes;
        let (first, lane) = (self.holder)(places[0].0, places[0].1);
        let in_row = (0..each as u32).all(|at| {
            let (row, column) = places[at as usize];
            (self.holder)(row, column) == (first, lane + at)
        });
        let same = places.chunks(each).all(|of_lane| of_lane == &places[..each]);
        let vector = self.vectors[0];
        let at = u64::from(first * b.lanes(vector) + lane);
        (in_row && same).then(|| at * b.scalar_of(vector).bytes())
    }

    /// The elements in these lanes of these vectors.
    fn shuffled(&self, b: &Builder, from: &[(u32, u32)]) -> Value {
        /// So many vectors are joined before their elements are chosen, which keeps them in a register.
        const JOINED: usize = 4;
        let mut vectors: Vec<u32> = from.iter().map(|(vector, _)| *vector).collect();
        vectors.dedup();
        vectors.sort_unstable();
        vectors.dedup();
        let of = |vector: u32| self.vectors[vector as usize];
        let lanes = b.lanes(of(vectors[0]));
        let in_place = from.iter().enumerate().all(|(at, (_, lane))| at as u32 == *lane);
        if lanes == 1 || (vectors.len() == 1 && in_place && from.len() as u32 == lanes) {
            return of(vectors[0]);
        }
        if vectors.len() <= JOINED {
            let mut parts: Vec<Value> = vectors.iter().map(|vector| of(*vector)).collect();
            let pair = |parts: &[Value]| {
                (
                    parts[0],
                    parts
                        .get(1)
                        .copied()
                        .unwrap_or_else(|| b.poison(b.scalar_of(parts[0]), b.lanes(parts[0]))),
                )
            };
            while parts.len() > 2 {
                let both: Vec<i32> = (0..2 * b.lanes(parts[0]) as i32).collect();
                let joined = parts.chunks(2).map(pair).map(|(first, second)| b.shuffle(first, second, &both));
                parts = joined.collect();
            }
            let at =
                |vector: &u32| vectors.iter().position(|other| other == vector).unwrap_or_default() as u32;
            let indices: Vec<i32> =
                from.iter().map(|(vector, lane)| (at(vector) * lanes + lane) as i32).collect();
            let (first, second) = pair(&parts);
            return b.shuffle(first, second, &indices);
        }
        // One after the other, in vectors that hold what is chosen and what it is chosen from.
        let wide = (from.len() as u32).max(lanes);
        let fitted = |value: Value, from: u32, to: u32| match from == to {
            true => value,
            false => {
                let indices: Vec<i32> = (0..to).map(|at| if at < from { at as i32 } else { -1 }).collect();
                b.shuffle(value, b.poison(b.scalar_of(value), from), &indices)
            }
        };
        let mut value = b.poison(b.scalar_of(of(vectors[0])), wide);
        for next in &vectors {
            let chosen = |(at, (vector, lane)): (usize, &(u32, u32))| {
                if vector == next { (wide + lane) as i32 } else { at as i32 }
            };
            let mut indices: Vec<i32> = from.iter().enumerate().map(chosen).collect();
            indices.resize(wide as usize, -1);
            value = b.shuffle(value, fitted(of(*next), lanes, wide), &indices);
        }
        fitted(value, wide, from.len() as u32)
    }
}

/// Memory of a function that factors go through.
#[derive(Clone, Copy)]
pub(super) struct Factors {
    stored: Value,
    /// The same memory: LLVM would make shuffles of loads of what it knows to be in registers.
    loaded: Value,
}

impl Factors {
    /// For both factors. Larger ones stay in registers, or where LLVM puts them. So many bytes have no two places that processors take for
    /// one when they look for what a load may wait for: they compare twelve bits.
    const BYTES: u64 = 4096;
    const CACHE_LINE: u32 = 64;

    fn of(this: &mut Lowerer<'_, '_>) -> Factors {
        if let Some(factors) = this.storage.factors {
            return factors;
        }
        let factors = this.in_prologue(|b| {
            let stored = b.alloca_bytes(Factors::BYTES, Factors::CACHE_LINE);
            Factors { stored, loaded: b.opaque(stored) }
        });
        this.storage.factors = Some(factors);
        factors
    }

    fn bytes(b: &Builder, vectors: &[Value]) -> u64 {
        vectors.iter().map(|vector| b.scalar_of(*vector).bytes() * u64::from(b.lanes(*vector))).sum()
    }

    /// Stores vectors one behind the other.
    fn store(self, b: &Builder, vectors: &[Value], at: u64) {
        let mut at = at;
        for vector in vectors {
            b.store(*vector, b.offset_const(self.stored, at), b.scalar_of(*vector).bytes());
            at += Factors::bytes(b, &[*vector]);
        }
    }
}

/// A product that is added to sums.
pub(super) struct Product<'p> {
    depth: u32,
    /// How words of integers are added that hold several steps; otherwise a step is an element.
    dots: Option<Dots>,
    left: Source<'p>,
    right: Source<'p>,
    /// Row and column of each lane of each sum.
    places: &'p [Vec<(u32, u32)>],
}

/// How factors are loaded in a loop over words of the depth.
struct Strides {
    /// In bytes from one word of the first factor to the next.
    left: u64,
    /// Where the first one is for each sum.
    first: Vec<u64>,
}

impl<'p> Product<'p> {
    pub fn new(
        depth: u32,
        dots: Option<Dots>,
        [left, right]: [Source<'p>; 2],
        places: &'p [Vec<(u32, u32)>],
    ) -> Self {
        Product { depth, dots, left, right, places }
    }

    /// Steps of a word.
    fn each(&self) -> u32 {
        self.dots.map_or(1, Dots::each)
    }

    fn words(&self) -> u32 {
        self.depth.div_ceil(self.each())
    }

    /// The steps of a word; behind the last one it is there again.
    fn steps(&self, word: u32) -> impl Iterator<Item = u32> + Clone + use<> {
        let (each, last) = (self.each(), self.depth - 1);
        (word * each..(word + 1) * each).map(move |k| k.min(last))
    }

    fn left_places(&self, word: u32, sum: usize) -> Vec<(u32, u32)> {
        let steps = self.steps(word);
        self.places[sum].iter().flat_map(|(row, _)| steps.clone().map(|k| (*row, k))).collect()
    }

    /// A word of the first factor for each lane of a sum.
    fn left(&mut self, b: &Builder, factors: Option<Factors>, word: u32, sum: usize) -> Value {
        let (places, lanes) = (self.left_places(word, sum), self.places[sum].len());
        let offset = factors.and_then(|factors| Some((factors, self.left.offset(b, &places, lanes)?)));
        match offset {
            Some((factors, at)) => self.splat(b, b.offset_const(factors.loaded, at), lanes as u32),
            None => {
                let value = self.left.pick(b, &places);
                self.word_of(b, value, lanes as u32)
            }
        }
    }

    fn splat(&self, b: &Builder, address: Value, lanes: u32) -> Value {
        let unit = b.scalar_of(self.left.vectors[0]);
        let scalar = if self.dots.is_some() { Scalar::I32 } else { unit };
        b.splat(b.load(scalar, 1, address, unit.bytes()), lanes)
    }

    fn word_of(&self, b: &Builder, value: Value, lanes: u32) -> Value {
        if self.dots.is_some() { b.reshape(value, Scalar::I32, lanes) } else { value }
    }

    /// A word of the second factor for each lane of a sum. What is behind the last step is 0.
    fn right(&mut self, b: &Builder, word: u32, sum: usize) -> Value {
        let (steps, each) = (self.steps(word), self.each());
        let columns = self.places[sum].iter().map(|(_, column)| *column);
        let places: Vec<(u32, u32)> =
            columns.flat_map(|column| steps.clone().map(move |k| (k, column))).collect();
        let value = self.right.pick(b, &places);
        let words = self.word_of(b, value, self.places[sum].len() as u32);
        match self.depth - word * each {
            steps if steps < each => {
                b.and(words, b.int(Scalar::I32, b.lanes(words), (1 << (steps * 32 / each)) - 1))
            }
            _ => words,
        }
    }

    fn add(&self, this: &Lowerer<'_, '_>, sum: Value, x: Value, y: Value) -> Value {
        let b = &*this.b;
        match self.dots {
            Some(dots) => dots.add(b, sum, x, y),
            None if b.scalar_of(sum).is_float() => Element::of(b, this.target, x).mad(x, y, sum),
            None => b.add(b.mul(x, y), sum),
        }
    }

    /// Adds the product to what `sums` hold. `products`: as large ones in the same block, with this one.
    pub fn add_to(mut self, this: &mut Lowerer<'_, '_>, sums: &mut [Value], products: usize) {
        /// More instructions that add are loops.
        const ADDED_IN_A_ROW: usize = 256;
        let b = this.b.clone();
        let constant = self.left.vectors.iter().all(|value| b.is_constant(*value));
        let fits = Factors::bytes(&b, &self.left.vectors) <= Factors::BYTES;
        let in_all_lanes = self.left.offset(&b, &self.left_places(0, 0), self.places[0].len()).is_some();
        let in_memory = this.w > 1 && this.target.simd_bits() >= 256 && fits && in_all_lanes && !constant;
        let factors = in_memory.then(|| Factors::of(this));
        if let Some(factors) = factors {
            factors.store(&b, &self.left.vectors, 0);
        }
        self.take_excess(&b, sums);
        if products * self.words() as usize * sums.len() > ADDED_IN_A_ROW
            && let (Some(factors), Some(strides)) = (factors, self.strides(&b))
            && self.add_in_a_loop(this, factors, &strides, sums)
        {
            return;
        }
        for word in 0..self.words() {
            for (at, sum) in sums.iter_mut().enumerate() {
                let (x, y) = (self.left(&b, factors, word, at), self.right(&b, word, at));
                *sum = self.add(this, *sum, x, y);
            }
        }
    }

    /// Subtracts what the instructions for words will add too much.
    fn take_excess(&mut self, b: &Builder, sums: &mut [Value]) {
        let Some(dots) = self.dots else { return };
        let mut found: Vec<Option<Value>> = Vec::new();
        for (at, of) in self.rows().into_iter().enumerate() {
            if of == found.len() {
                let words: Vec<Value> = (0..self.words()).map(|word| self.right(b, word, at)).collect();
                found.push(dots.excess(b, &words));
            }
            sums[at] = found[of].map_or(sums[at], |excess| b.sub(sums[at], excess));
        }
    }

    /// For each sum the number of the columns that it has, of all different ones in their order.
    fn rows(&self) -> Vec<usize> {
        let columns =
            |places: &Vec<(u32, u32)>| -> Vec<u32> { places.iter().map(|(_, column)| *column).collect() };
        let mut different: Vec<Vec<u32>> = Vec::new();
        let mut number = |columns: Vec<u32>| {
            different.iter().position(|other| *other == columns).unwrap_or_else(|| {
                different.push(columns);
                different.len() - 1
            })
        };
        self.places.iter().map(|places| number(columns(places))).collect()
    }

    /// How the first factor's words follow each other in memory, if they do so evenly.
    fn strides(&self, b: &Builder) -> Option<Strides> {
        let offset =
            |word: u32, sum: usize| self.left.offset(b, &self.left_places(word, sum), self.places[sum].len());
        let first: Vec<u64> = (0..self.places.len()).map(|sum| offset(0, sum)).collect::<Option<_>>()?;
        let left = offset(1.min(self.words() - 1), 0)?.checked_sub(first[0])?;
        let even = |word: u32| {
            (0..first.len()).all(|sum| offset(word, sum) == Some(first[sum] + u64::from(word) * left))
        };
        (0..self.words()).all(even).then_some(Strides { left, first })
    }

    /// Adds word by word in a loop, if there is room for the second factor in memory.
    fn add_in_a_loop(
        &mut self,
        this: &Lowerer<'_, '_>,
        factors: Factors,
        strides: &Strides,
        sums: &mut [Value],
    ) -> bool {
        /// Words that an iteration takes.
        const UNROLLED: [u32; 3] = [4, 2, 1];
        let (b, words, rows) = (&*this.b, self.words(), self.rows());
        let mut right = Vec::new();
        let mut first_with: Vec<usize> = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            if *row == first_with.len() {
                first_with.push(at);
            }
        }
        for word in 0..words {
            right.extend(first_with.iter().map(|sum| self.right(b, word, *sum)));
        }
        let start = Factors::bytes(b, &self.left.vectors).next_multiple_of(u64::from(Factors::CACHE_LINE));
        if start + Factors::bytes(b, &right) > Factors::BYTES {
            return false;
        }
        factors.store(b, &right, start);
        let (scalar, lanes) = (b.scalar_of(right[0]), b.lanes(right[0]));
        let of_row = Factors::bytes(b, &right[..1]);
        let of_word = of_row * first_with.len() as u64;
        let many = UNROLLED.into_iter().find(|many| words.is_multiple_of(*many)).unwrap_or(1);
        let (before, body, behind) = (b.here(), b.block_here(), b.block_here());
        b.br(body);
        b.at_end(body);
        let word = b.phi(Scalar::I64, 1);
        b.add_incoming(word, b.i64(0), before);
        let phis: Vec<Value> = sums
            .iter()
            .map(|sum| {
                let phi = b.phi(b.scalar_of(*sum), b.lanes(*sum));
                b.add_incoming(phi, *sum, before);
                phi
            })
            .collect();
        sums.copy_from_slice(&phis);
        let of_left = b.offset(factors.loaded, b.mul(word, b.i64(strides.left)));
        let of_right = b.offset(b.offset_const(factors.loaded, start), b.mul(word, b.i64(of_word)));
        for more in 0..u64::from(many) {
            let load = |row: u64| {
                let address = b.offset_const(of_right, more * of_word + row * of_row);
                b.load(scalar, lanes, address, scalar.bytes())
            };
            let right: Vec<Value> = (0..first_with.len() as u64).map(load).collect();
            for (at, sum) in sums.iter_mut().enumerate() {
                let x =
                    self.splat(b, b.offset_const(of_left, strides.first[at] + more * strides.left), lanes);
                *sum = self.add(this, *sum, x, right[rows[at]]);
            }
        }
        let next = b.add(word, b.i64(u64::from(many)));
        let end = b.here();
        b.add_incoming(word, next, end);
        phis.iter().zip(sums.iter()).for_each(|(phi, sum)| b.add_incoming(*phi, *sum, end));
        b.cond_br_back_rolled(b.icmp(IntPred::LLVMIntULT, next, b.i64(u64::from(words))), body, behind);
        b.at_end(behind);
        true
    }
}
