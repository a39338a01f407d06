//! How values vary over the lanes of a sub-group: the lattice of uniformity and strides.
//!
//! `fixpoint` finds the shapes of all values; `transfer` says what an instruction makes of those of its operands.

use smallvec::SmallVec;

/// How one leaf of a value varies over lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// No definition seen yet, or undefined: anything will do.
    Undefined,
    /// The same in all lanes.
    Uniform,
    /// Lane `l` has the value of lane 0 plus `l` times this (bytes for a pointer), modulo the type's width.
    Strided(i64),
    Varying,
}

impl Shape {
    pub(super) fn strided(step: i64) -> Self {
        match step {
            0 => Shape::Uniform,
            // A step that only wraps around is no use for addresses.
            _ if step.unsigned_abs() > MAX_STEP => Shape::Varying,
            _ => Shape::Strided(step),
        }
    }

    pub(super) fn join(self, other: Self) -> Self {
        match (self, other) {
            (Shape::Undefined, shape) | (shape, Shape::Undefined) => shape,
            (a, b) if a == b => a,
            _ => Shape::Varying,
        }
    }

    pub fn is_uniform(self) -> bool {
        matches!(self, Shape::Uniform | Shape::Undefined)
    }

    pub(super) fn step(self) -> Option<i64> {
        match self {
            Shape::Uniform | Shape::Undefined => Some(0),
            Shape::Strided(step) => Some(step),
            Shape::Varying => None,
        }
    }
}

/// Steps of more than this are of no use. What is shifted up by 32 bits and down again has large ones between.
const MAX_STEP: u64 = 1 << 56;

/// How far the step of a strided value can be trusted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Trust {
    /// It holds.
    Proven,
    /// It holds for addresses that are accessed.
    Addresses,
    /// It holds for addresses that are accessed, if it does between the first lane and the last one: where a 32-bit index wraps
    /// around within the sub-group, the last lane is elsewhere.
    LastLane,
    /// It may hold for some lanes, the last one among them, and not for others.
    Unknown,
}

impl Trust {
    /// What is made of two values. Two wraps may cancel out where the last lane is, and not before.
    pub(super) fn both(self, other: Self) -> Self {
        match self.min(other) {
            Trust::LastLane => Trust::Unknown,
            _ => self.max(other),
        }
    }
}

/// The shapes of a value's leaves.
pub type Shapes = SmallVec<[Shape; 2]>;
