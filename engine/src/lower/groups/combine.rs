//! Associative operations over lanes: reductions, scans and clusters, as log-step shuffles.
//!
//! The order of combination is fixed, so floating-point results are the same in every run.

use crate::analysis::leaves::Scalar;
use crate::lower::builder::{Builder, Opcode, Value};
use spirv::Op;

/// An associative operation with an identity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Combine {
    IAdd,
    FAdd,
    IMul,
    FMul,
    SMin,
    UMin,
    FMin,
    SMax,
    UMax,
    FMax,
    And,
    Or,
    Xor,
}

/// The operation of a group arithmetic instruction.
pub fn of(op: Op) -> Option<Combine> {
    Some(match op {
        Op::GroupIAdd | Op::GroupNonUniformIAdd => Combine::IAdd,
        Op::GroupFAdd | Op::GroupNonUniformFAdd => Combine::FAdd,
        Op::GroupIMulKHR | Op::GroupNonUniformIMul => Combine::IMul,
        Op::GroupFMulKHR | Op::GroupNonUniformFMul => Combine::FMul,
        Op::GroupSMin | Op::GroupNonUniformSMin => Combine::SMin,
        Op::GroupUMin | Op::GroupNonUniformUMin => Combine::UMin,
        Op::GroupFMin | Op::GroupNonUniformFMin => Combine::FMin,
        Op::GroupSMax | Op::GroupNonUniformSMax => Combine::SMax,
        Op::GroupUMax | Op::GroupNonUniformUMax => Combine::UMax,
        Op::GroupFMax | Op::GroupNonUniformFMax => Combine::FMax,
        Op::GroupBitwiseAndKHR
        | Op::GroupLogicalAndKHR
        | Op::GroupNonUniformBitwiseAnd
        | Op::GroupNonUniformLogicalAnd => Combine::And,
        Op::GroupBitwiseOrKHR
        | Op::GroupLogicalOrKHR
        | Op::GroupNonUniformBitwiseOr
        | Op::GroupNonUniformLogicalOr => Combine::Or,
        Op::GroupBitwiseXorKHR
        | Op::GroupLogicalXorKHR
        | Op::GroupNonUniformBitwiseXor
        | Op::GroupNonUniformLogicalXor => Combine::Xor,
        _ => return None,
    })
}

impl Combine {
    /// Whether doing it again changes nothing.
    pub fn is_idempotent(self) -> bool {
        use Combine::{And, FMax, FMin, Or, SMax, SMin, UMax, UMin};
        matches!(self, SMin | UMin | FMin | SMax | UMax | FMax | And | Or)
    }

    /// Whether the result is the same in any order, bit for bit. Of zeros with signs, the minimum is either.
    pub fn has_any_order(self) -> bool {
        !matches!(self, Combine::FAdd | Combine::FMul | Combine::FMin | Combine::FMax)
    }

    pub fn apply(self, b: &Builder, x: Value, y: Value) -> Value {
        match self {
            Combine::IAdd => b.add(x, y),
            Combine::FAdd => b.fadd(x, y),
            Combine::IMul => b.mul(x, y),
            Combine::FMul => b.fmul(x, y),
            Combine::SMin => b.intrinsic("llvm.smin", &[x, y]),
            Combine::UMin => b.intrinsic("llvm.umin", &[x, y]),
            Combine::FMin => b.intrinsic("llvm.minnum", &[x, y]),
            Combine::SMax => b.intrinsic("llvm.smax", &[x, y]),
            Combine::UMax => b.intrinsic("llvm.umax", &[x, y]),
            Combine::FMax => b.intrinsic("llvm.maxnum", &[x, y]),
            Combine::And => b.and(x, y),
            Combine::Or => b.or(x, y),
            Combine::Xor => b.xor(x, y),
        }
    }

    /// The identity (SPIR-V 1.2 §3.32.21: what an exclusive scan gives the first work-item).
    pub fn identity(self, b: &Builder, scalar: Scalar, lanes: u32) -> Value {
        let sign = 1u64 << (scalar.bits() - 1);
        match self {
            Combine::IAdd | Combine::UMax | Combine::Or | Combine::Xor => b.int(scalar, lanes, 0),
            Combine::IMul => b.int(scalar, lanes, 1),
            Combine::UMin | Combine::And => b.int(scalar, lanes, u64::MAX),
            Combine::SMin => b.int(scalar, lanes, sign - 1),
            Combine::SMax => b.int(scalar, lanes, sign),
            Combine::FAdd => b.zero(scalar, lanes),
            Combine::FMul => b.float(scalar, lanes, 1.0),
            Combine::FMin => b.float(scalar, lanes, f64::INFINITY),
            Combine::FMax => b.float(scalar, lanes, f64::NEG_INFINITY),
        }
    }

    /// What changes nothing when it is combined with any value, a NaN or a negative zero included. It fills the
    /// places of lanes that bring nothing, so that they do not show in the result.
    pub fn neutral(self, b: &Builder, scalar: Scalar, lanes: u32) -> Value {
        match self {
            Combine::FAdd => b.float(scalar, lanes, -0.0),
            // The number wins over the NaN.
            Combine::FMin | Combine::FMax => b.float(scalar, lanes, f64::NAN),
            _ => self.identity(b, scalar, lanes),
        }
    }

    /// Whether [`Self::neutral`] and [`Self::identity`] differ.
    pub fn has_neutral(self) -> bool {
        matches!(self, Combine::FAdd | Combine::FMin | Combine::FMax)
    }

    /// All lanes together, as a scalar: halves the vector until one lane is left.
    pub fn reduce(self, b: &Builder, value: Value) -> Value {
        let mut value = value;
        let mut lanes = b.lanes(value);
        while lanes > 1 {
            let half = lanes as i32 / 2;
            let poison = b.poison(b.scalar_of(value), lanes);
            let (low, high) = if half == 1 {
                (b.extract(value, b.i32(0)), b.extract(value, b.i32(1)))
            } else {
                let part = |first: i32| b.shuffle(value, poison, &(first..first + half).collect::<Vec<_>>());
                (part(0), part(half))
            };
            value = self.apply(b, low, high);
            lanes /= 2;
        }
        value
    }

    /// [`Self::reduce`] for each of some vectors, with the same results: vectors become halves of one until all
    /// are in one, so that it takes few instructions more than for a single one.
    pub fn reduce_each(self, b: &Builder, values: &[Value]) -> Vec<Value> {
        let mut vectors = values.to_vec();
        vectors
            .resize(values.len().next_power_of_two(), b.poison(b.scalar_of(values[0]), b.lanes(values[0])));
        // Lanes that are left of each of the values, which lie one behind the other in the vectors.
        let mut left = b.lanes(vectors[0]) as i32;
        while left > 1 {
            let lanes = b.lanes(vectors[0]) as i32;
            vectors = vectors
                .chunks(2)
                .map(|pair| {
                    let second = pair.get(1).copied();
                    let other = second.unwrap_or_else(|| b.poison(b.scalar_of(pair[0]), lanes as u32));
                    let all = if second.is_some() { 2 * lanes } else { lanes };
                    let half = |first: i32| {
                        let indices: Vec<i32> =
                            (0..all).filter(|at| at % left / (left / 2) == first).collect();
                        match indices.as_slice() {
                            [only] => b.extract(pair[0], b.i32(*only as u32)),
                            _ => b.shuffle(pair[0], other, &indices),
                        }
                    };
                    self.apply(b, half(0), half(1))
                })
                .collect();
            left /= 2;
        }
        let lanes = |vector: &Value| (0..b.lanes(*vector)).map(|lane| (*vector, lane)).collect::<Vec<_>>();
        let all = vectors.iter().flat_map(lanes).take(values.len());
        all.map(|(vector, lane)| b.extract(vector, b.i32(lane))).collect()
    }

    /// Values together, each lane for itself: halves of them, as [`Self::reduce`] does with lanes.
    pub fn across(self, b: &Builder, mut values: Vec<Value>) -> Value {
        let neutral = self.neutral(b, b.scalar_of(values[0]), b.lanes(values[0]));
        values.resize(values.len().next_power_of_two(), neutral);
        while values.len() > 1 {
            let high = values.split_off(values.len() / 2);
            values = self.pairwise(b, values, &high);
        }
        values[0]
    }

    /// Each of some values with the one at the same place of others.
    fn pairwise(self, b: &Builder, values: Vec<Value>, others: &[Value]) -> Vec<Value> {
        values.into_iter().zip(others).map(|(value, other)| self.apply(b, value, *other)).collect()
    }

    /// Scalars together: in the order in which vectors of `lanes` of them are added up, and then the lanes.
    pub fn in_rounds(self, b: &Builder, parts: &[Value], lanes: u32) -> Value {
        let neutral = self.neutral(b, b.scalar_of(parts[0]), 1);
        let rounds = Self::rounds(parts, neutral, lanes).into_iter().map(|round| b.collected(&round));
        let sum = rounds.reduce(|sum, round| self.apply(b, sum, round)).expect("there are parts");
        self.reduce(b, sum)
    }

    /// Parts in rounds of `lanes`, or of a power of two if there are fewer, with what changes nothing behind the last.
    fn rounds(parts: &[Value], neutral: Value, lanes: u32) -> Vec<Vec<Value>> {
        let round = parts.len().next_power_of_two().min(lanes as usize);
        let padded = |part: &[Value]| {
            let mut part = part.to_vec();
            part.resize(round, neutral);
            part
        };
        parts.chunks(round).map(padded).collect()
    }

    /// For each of some scalars, those before it together, in the order of [`Self::in_rounds`]: lanes of a vector.
    pub fn before_each(self, b: &Builder, parts: &[Value], lanes: u32) -> Value {
        let count = parts.len() as u32;
        let neutral = self.neutral(b, b.scalar_of(parts[0]), count);
        if count == 1 {
            return neutral;
        }
        // Each part for whom it is before.
        let for_those_behind = |(at, part): (u32, &Value)| {
            let lane_of = |lane: u32| (lane + if lane > at { 0 } else { count }) as i32;
            b.shuffle(b.splat(*part, count), neutral, &(0..count).map(lane_of).collect::<Vec<_>>())
        };
        let brought: Vec<Value> = (0..).zip(parts).map(for_those_behind).collect();
        let rounds = Self::rounds(&brought, neutral, lanes).into_iter();
        let sums = rounds.reduce(|sums, round| self.pairwise(b, sums, &round)).expect("there are parts");
        self.across(b, sums)
    }

    /// All lanes of each run of `cluster` lanes together, in each of them. `cluster` is a power of two.
    pub fn cluster(self, b: &Builder, value: Value, cluster: u32) -> Value {
        let mut value = value;
        let lanes = b.lanes(value);
        let mut step = 1;
        while step < cluster.min(lanes) {
            let indices: Vec<i32> = (0..lanes).map(|lane| (lane ^ step) as i32).collect();
            let other = b.shuffle(value, b.poison(b.scalar_of(value), lanes), &indices);
            value = self.apply(b, value, other);
            step *= 2;
        }
        value
    }

    /// Each lane together with all before it.
    pub fn inclusive_scan(self, b: &Builder, value: Value) -> Value {
        let mut value = value;
        let lanes = b.lanes(value);
        let mut step = 1;
        while step < lanes {
            let before = self.shift(b, value, step, self.neutral(b, b.scalar_of(value), lanes));
            value = self.apply(b, before, value);
            step *= 2;
        }
        value
    }

    /// All lanes before each lane; the scalar `first` is for lane 0, which has none.
    pub fn exclusive_scan(self, b: &Builder, value: Value, first: Value) -> Value {
        if b.lanes(value) == 1 {
            return first;
        }
        let inclusive = self.inclusive_scan(b, value);
        self.shift(b, inclusive, 1, b.splat(first, b.lanes(value)))
    }

    /// Moves lanes up by `step`; those of `fill` follow.
    fn shift(self, b: &Builder, value: Value, step: u32, fill: Value) -> Value {
        let lanes = b.lanes(value);
        let indices: Vec<i32> = (0..lanes).map(|lane| (lane + lanes - step) as i32).collect();
        b.shuffle(fill, value, &indices)
    }
}

/// Bools are combined as bytes, which every CPU can shuffle; true is all ones.
pub fn widen(b: &Builder, value: Value) -> Value {
    match b.scalar_of(value) {
        Scalar::Bool => b.cast(Opcode::LLVMSExt, value, Scalar::I8),
        _ => value,
    }
}

/// Undoes [`widen`].
pub fn narrow(b: &Builder, value: Value, to: Scalar) -> Value {
    match to {
        Scalar::Bool => b.cast(Opcode::LLVMTrunc, value, Scalar::Bool),
        _ => value,
    }
}
