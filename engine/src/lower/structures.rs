//! Structures that follow each other in memory, one a lane: vectors that cover all of them, and the shuffles between those and vectors
//! of one member (interleaved accesses: Nuzman, Rosen and Zaks, PLDI 2006).
//!
//! Nothing is read before the first member of the first lane and behind the last one of the last lane. What is read between them
//! lies between two elements that the kernel reads, less than a page apart, so it is there to be read. What lies before, between and
//! behind members that are stored is not written.

use super::Lowerer;
use super::builder::{Builder, Value};
use super::values::Mask;
use crate::analysis::leaves::Scalar;

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
        (self.lanes as usize - 1) * self.step + self.elements.last().map_or(0, |last| last + 1)
    }

    /// Where vectors begin that cover all elements, in elements. The last one ends with the last element.
    fn starts(&self) -> Vec<usize> {
        let (all, w) = (self.all(), self.lanes as usize);
        (0..all.div_ceil(w)).map(|at| (at * w).min(all - w)).collect()
    }

    /// The lane that has an element so far behind the first, and the element of its structure.
    fn place(&self, at: usize) -> Option<(usize, usize)> {
        let (lane, element) = (at / self.step, at % self.step);
        (lane < self.lanes as usize && self.elements.contains(&element)).then_some((lane, element))
    }

    /// The mask of a vector that begins at an element: on where a lane's member is, and the lane is on.
    fn spread(&self, b: &Builder, mask: Value, start: usize) -> Value {
        let w = self.lanes as usize;
        let lane = |at: usize| self.place(at).map_or(w, |(lane, _)| lane) as i32;
        let lanes: Vec<i32> = (start..start + w).map(lane).collect();
        b.shuffle(mask, b.zero(Scalar::Bool, self.lanes), &lanes)
    }

    fn address(&self, b: &Builder, first: Value, start: usize) -> Value {
        b.offset_const(first, start as u64 * self.memory.bytes())
    }

    /// Vectors with all that the lanes that are on load; without a mask, with all.
    pub fn load(&self, b: &Builder, first: Value, align: u64, mask: Option<Value>) -> Vec<Value> {
        let vector = |start: usize| {
            let address = self.address(b, first, start);
            match mask {
                None => b.load(self.memory, self.lanes, address, align),
                Some(mask) => {
                    b.masked_load(self.memory, self.lanes, address, align, self.spread(b, mask, start))
                }
            }
        };
        self.starts().into_iter().map(vector).collect()
    }

    /// One element of each lane's structure, out of what was loaded.
    pub fn take(&self, b: &Builder, vectors: &[Value], element: usize) -> Value {
        let (w, starts) = (self.lanes as usize, self.starts());
        // Each lane's element comes from the first vector that has it.
        let place = |lane: usize| {
            let at = lane * self.step + element;
            let vector = starts.iter().position(|start| (*start..start + w).contains(&at));
            let vector = vector.expect("all are covered");
            (vector, at - starts[vector])
        };
        let places: Vec<(usize, usize)> = (0..w).map(place).collect();
        let used = |at: &usize| places.iter().any(|(vector, _)| vector == at);
        let joined = join(b, (0..vectors.len()).filter(used).map(|at| (at, vectors[at])), &|lane| {
            let (vector, place) = places[lane];
            Some((vector, place))
        });
        joined.expect("each lane has an element")
    }

    /// What is stored where, of the values of members in ascending order.
    fn arrange(&self, b: &Builder, values: &[(usize, Value)]) -> Vec<Part> {
        let w = self.lanes as usize;
        let mut parts = Vec::new();
        for start in (0..self.all()).step_by(w) {
            // Which of the values each element is, and of which lane.
            let of = |at: usize| {
                let (lane, element) = self.place(at)?;
                Some((values.iter().position(|value| value.0 == element)?, lane))
            };
            let elements: Vec<Option<(usize, usize)>> = (start..start + w).map(of).collect();
            let used = |at: &usize| elements.iter().flatten().any(|(value, _)| value == at);
            let sources = (0..values.len()).filter(used).map(|at| (at, values[at].1));
            if let Some(vector) = join(b, sources, &|at| elements[at]) {
                parts.push(Part { start, vector, is_whole: elements.iter().all(Option::is_some) });
            }
        }
        parts
    }

    /// Stores the values of members, in ascending order, in the lanes that are on.
    pub fn store_lanes(&self, this: &Lowerer<'_, '_>, first: Value, align: u64, values: &[(usize, Value)]) {
        let b = &*this.b;
        let parts = self.arrange(b, values);
        let masked = |mask: Value, part: &Part| {
            let mask = self.spread(b, mask, part.start);
            b.masked_store(part.vector, self.address(b, first, part.start), align, mask);
        };
        let all_lanes = || {
            let on = b.int(Scalar::Bool, self.lanes, 1);
            for part in &parts {
                match part.is_whole {
                    true => b.store(part.vector, self.address(b, first, part.start), align),
                    false => masked(on, part),
                }
            }
            Vec::new()
        };
        match this.mask() {
            Mask::All => {
                all_lanes();
            }
            Mask::Lanes(mask) => {
                b.branch_of_many(this.all_on(mask), all_lanes, || {
                    parts.iter().for_each(|part| masked(mask, part));
                    Vec::new()
                });
            }
        }
    }
}

/// Joins vectors to one. Of each of its places is known which vector it comes from, and from which place there. The vectors
/// ascend.
fn join(
    b: &Builder,
    vectors: impl Iterator<Item = (usize, Value)>,
    source: &dyn Fn(usize) -> Option<(usize, usize)>,
) -> Option<Value> {
    vectors.fold(None, |joined, (at, vector)| {
        let w = b.lanes(vector) as usize;
        let index = |place: usize, own: usize| match source(place) {
            Some((of, from)) if of == at => (own + from) as i32,
            // It is there already.
            Some((of, _)) if of < at => place as i32,
            _ => -1,
        };
        let indices = |own: usize| (0..w).map(|place| index(place, own)).collect::<Vec<i32>>();
        Some(match joined {
            None => b.shuffle(vector, vector, &indices(0)),
            Some(before) => b.shuffle(before, vector, &indices(w)),
        })
    })
}
