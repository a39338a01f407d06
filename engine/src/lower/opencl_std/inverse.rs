//! Inverse functions of angles, in radians and in half turns.
//!
//! Lanes are computed in place where products and sums are fused: f32 from polynomials on an eighth of a turn, f64 on a fourteenth. Other forms
//! call the C library.

use super::super::builder::{IntPred, Value};
use super::element::Element;
use super::table;
use crate::analysis::leaves::Scalar;
use spirv::OpenclStd100Op as StdOp;
use std::f64::consts::{FRAC_1_PI, FRAC_PI_2};

/// `(atan(t) - t) / t^3` in `t^2` for `t` in 0..1, relative error of the whole below 2^-26.
const ATAN: [f64; 9] = [
    -0.333_333_313_465_118_4,
    0.199_997_514_486_312_87,
    -0.142_790_704_965_591_43,
    0.110_385_827_720_165_25,
    -0.086_774_773_895_740_51,
    0.062_962_602_549_791_34,
    -0.036_433_029_919_862_75,
    0.013_860_541_395_843_03,
    -0.002_476_515_946_909_785,
];

/// `(asin(s) - s) / s^3` in `s^2` for `s` in 0..0.5, relative error of the whole below 2^-25.
const ASIN: [f64; 5] = [
    0.166_666_731_238_365_17,
    0.074_987_620_115_280_15,
    0.045_020_174_235_105_515,
    0.026_433_536_782_860_756,
    0.038_328_044_116_497_04,
];

/// The same for `t` up to 0.23, relative error below 2^-57.
const ATAN_F64: [f64; 8] = [
    -0.333_333_333_333_333_26,
    0.199_999_999_999_821_13,
    -0.142_857_142_785_102_11,
    0.111_111_100_018_306_01,
    -0.090_908_249_639_400_67,
    0.076_888_286_061_918_96,
    -0.065_863_388_401_270_69,
    0.048_982_006_491_872_1,
];

/// Angles of f64 are counted from the first whose piece of tangents they are in: a tangent and its angle, which is that much to the last place and ten
/// bits beyond.
struct Piece {
    beyond: f64,
    tangent: f64,
    angle: f64,
}
const PIECES: [Piece; 3] = [
    Piece { beyond: 0.227_9, tangent: 0.480_773_925_781_25, angle: 0.448_148_788_620_164_55 },
    Piece { beyond: 0.799_1, tangent: 1.260_681_152_343_75, angle: 0.900_202_010_016_041_3 },
    Piece { beyond: 2.085_7, tangent: 4.398_071_289_062_5, angle: 1.347_224_955_753_468 },
];

/// `(asin(s) - s) / s^3` in `s^2` for `s` in 0..0.5, relative error of the whole below 2^-53.
const ASIN_F64: [f64; 12] = [
    0.166_666_666_666_666_46,
    0.075_000_000_000_223_82,
    0.044_642_857_101_020_22,
    0.030_381_947_512_665_645,
    0.022_372_043_041_378_46,
    0.017_355_344_968_917_07,
    0.013_928_668_015_958_354,
    0.011_882_835_887_838_748,
    0.007_767_755_922_983_424,
    0.016_140_344_536_126_325,
    -0.010_925_585_660_137_503,
    0.028_297_630_267_462_508,
];

/// What is missing from a quarter turn of f64.
const QUARTER_TURN_REST: f64 = 6.123_233_995_736_766e-17;

/// What angles are counted in.
#[derive(Clone, Copy)]
enum Unit {
    Radians,
    HalfTurns,
}

/// A constant as an f32 and what is missing from it.
fn in_two_parts(value: f64) -> [f64; 2] {
    let first = f64::from(value as f32);
    [first, value - first]
}

impl Unit {
    fn quarter_turn(self, m: &Element<'_>) -> [f64; 2] {
        match self {
            Unit::Radians if m.ty == Scalar::F64 => [FRAC_PI_2, QUARTER_TURN_REST],
            Unit::Radians => in_two_parts(FRAC_PI_2),
            Unit::HalfTurns => [0.5, 0.0],
        }
    }

    /// The angle of so many radians, given as a sum of which the second is much smaller.
    fn angle(self, m: &Element<'_>, first: Value, second: Value) -> Value {
        match self {
            Unit::Radians => m.add(first, second),
            Unit::HalfTurns => {
                let [high, low] = in_two_parts(FRAC_1_PI);
                let rest = m.fma(first, m.c(low), m.mul(second, m.c(high)));
                m.fma(first, m.c(high), rest)
            }
        }
    }

    /// An angle, or what is left of it to some quarter turns: `quarters[0]` of them, or `quarters[1]` where the condition
    /// does not hold.
    fn beyond_quarters(self, m: &Element<'_>, angle: Value, condition: Value, quarters: [f64; 2]) -> Value {
        let part = |at: usize| {
            let [yes, no] = quarters.map(|quarters| m.c(quarters * self.quarter_turn(m)[at]));
            m.select(condition, yes, no)
        };
        m.add(part(0), m.add(part(1), angle))
    }
}

/// `-x` where a condition holds.
fn negated_where(m: &Element<'_>, condition: Value, x: Value) -> Value {
    m.select(condition, m.neg(x), x)
}

/// `t + t^3 * p(t^2)` as the unit's angle, of f64 in radians.
fn odd(m: &Element<'_>, unit: Unit, t: Value, square: Value, polynomial: &[f64]) -> Value {
    let cubed = m.mul(t, square);
    if m.ty == Scalar::F64 {
        return m.fma(cubed, m.polynomial_in_halves(square, polynomial), t);
    }
    unit.angle(m, t, m.mul(cubed, m.polynomial(square, polynomial)))
}

/// The angle of an f64's tangent, in radians.
fn arctangent_f64(m: &Element<'_>, x: Value) -> Value {
    // What is infinite would be no number as a quotient.
    let magnitude = m.abs(x);
    let far = m.c(f64::powi(2.0, 60));
    let magnitude = m.select(m.gt(magnitude, far), far, magnitude);
    let (mut tangent, mut angle) = (m.c(0.0), m.c(0.0));
    for piece in &PIECES {
        let lies_beyond = m.gt(magnitude, m.c(piece.beyond));
        tangent = m.select(lies_beyond, m.c(piece.tangent), tangent);
        angle = m.select(lies_beyond, m.c(piece.angle), angle);
    }
    let t = m.div(m.sub(magnitude, tangent), m.fma(magnitude, tangent, m.c(1.0)));
    let rest = odd(m, Unit::Radians, t, m.mul(t, t), &ATAN_F64);
    m.copysign(m.add(angle, rest), x)
}

fn arctangent(m: &Element<'_>, unit: Unit, x: Value) -> Value {
    let magnitude = m.abs(x);
    let steep = m.gt(magnitude, m.c(1.0));
    let t = m.div(m.select(steep, m.c(-1.0), magnitude), m.select(steep, magnitude, m.c(1.0)));
    let angle = odd(m, unit, t, m.mul(t, t), &ATAN);
    m.copysign(unit.beyond_quarters(m, angle, steep, [1.0, 0.0]), x)
}

/// The angle of an f64 point, in radians.
fn arctangent2_f64(m: &Element<'_>, y: Value, x: Value) -> Value {
    /// The greater coordinate of points that need no scale: nothing overflows, and what is subtracted has all of its digits.
    const ORDINARY: [f64; 2] = [f64::from_bits(0x200 << 52), f64::from_bits(0x700 << 52)];
    // Lanes that are off may have anything, and the branch must not depend on what is undefined.
    let (y, x) = (m.b.freeze(y), m.b.freeze(x));
    let (rise, run) = (m.abs(y), m.abs(x));
    let steep = m.gt(rise, run);
    let (above, below) = (m.select(steep, run, rise), m.select(steep, rise, run));
    let least = ORDINARY[0].to_bits() as i64;
    let beyond = m.b.add(m.bits(below), m.i(i64::MIN.wrapping_sub(least)));
    let count = ORDINARY[1].to_bits() as i64 - least;
    let is_special = m.b.icmp(IntPred::LLVMIntSGE, beyond, m.i(i64::MIN + count));
    let value = arctangent_of_quotient(m, above, below);
    let special = || {
        let factor = m.select(m.lt(below, m.c(ORDINARY[0])), m.c(f64::powi(2.0, 512)), m.c(1.0));
        let factor = m.select(m.lt(below, m.c(ORDINARY[1])), factor, m.c(f64::powi(2.0, -512)));
        let (rise, run) = (m.mul(above, factor), m.mul(below, factor));
        // Two zeros are no step, two infinities are a diagonal, and one is straight on.
        let (is_zero, is_inf) = (m.is_zero(below), m.is_inf(below));
        let straight = m.select(m.eq(above, below), m.c(1.0), m.mul(above, m.c(0.0)));
        let rise = m.select(is_inf, straight, rise);
        let run = m.select(m.b.or(is_zero, is_inf), m.c(1.0), run);
        arctangent_of_quotient(m, rise, run)
    };
    let angle = m.b.branch_rarely(m.b.any(is_special), special, value);
    let backward = m.b.icmp(IntPred::LLVMIntSLT, m.bits(x), m.i(0));
    let angle = negated_where(m, m.b.xor(steep, backward), angle);
    let quarters = m.select(steep, m.c(1.0), m.select(backward, m.c(2.0), m.c(0.0)));
    let rest = m.fma(quarters, m.c(QUARTER_TURN_REST), angle);
    m.copysign(m.fma(quarters, m.c(FRAC_PI_2), rest), y)
}

/// The angle whose tangent is the quotient of two f64 that are not negative, the second at least the first.
fn arctangent_of_quotient(m: &Element<'_>, above: Value, below: Value) -> Value {
    let (mut tangent, mut angle) = (m.c(0.0), m.c(0.0));
    // Beyond 1 there is the last.
    for piece in &PIECES[..2] {
        let lies_beyond = m.gt(above, m.mul(below, m.c(piece.beyond)));
        tangent = m.select(lies_beyond, m.c(piece.tangent), tangent);
        angle = m.select(lies_beyond, m.c(piece.angle), angle);
    }
    let t = m.div(m.fma(m.neg(below), tangent, above), m.fma(above, tangent, below));
    m.add(angle, odd(m, Unit::Radians, t, m.mul(t, t), &ATAN_F64))
}

fn arctangent2(m: &Element<'_>, unit: Unit, y: Value, x: Value) -> Value {
    let (rise, run) = (m.abs(y), m.abs(x));
    let steep = m.gt(rise, run);
    let (above, below) = (m.select(steep, run, rise), m.select(steep, rise, run));
    // Two zeros are no step, and two infinities are a diagonal.
    let diagonal = m.select(m.is_zero(below), below, m.c(1.0));
    let t = m.select(m.eq(above, below), diagonal, m.div(above, below));
    let angle = odd(m, unit, t, m.mul(t, t), &ATAN);
    let backward = m.b.icmp(IntPred::LLVMIntSLT, m.bits(x), m.i(0));
    let angle = negated_where(m, m.b.xor(steep, backward), angle);
    let flat = m.b.and(m.b.not(steep), backward);
    let quarter = unit.beyond_quarters(m, angle, steep, [1.0, 0.0]);
    let half = unit.beyond_quarters(m, angle, flat, [2.0, 0.0]);
    m.copysign(m.select(flat, half, quarter), y)
}

/// The arc of a sine's magnitude, or half of what is missing from it to a quarter turn; and whether it is the first.
fn arc(m: &Element<'_>, unit: Unit, magnitude: Value) -> (Value, Value) {
    let near = m.le(magnitude, m.c(0.5));
    let half = m.fma(magnitude, m.c(-0.5), m.c(0.5));
    let square = m.select(near, m.mul(magnitude, magnitude), half);
    let s = m.select(near, magnitude, m.sqrt(half));
    let polynomial = if m.ty == Scalar::F64 { &ASIN_F64[..] } else { &ASIN };
    (odd(m, unit, s, square, polynomial), near)
}

fn arcsine(m: &Element<'_>, unit: Unit, x: Value) -> Value {
    let (arc, near) = arc(m, unit, m.abs(x));
    let rest = m.select(near, arc, m.mul(arc, m.c(-2.0)));
    m.copysign(unit.beyond_quarters(m, rest, near, [0.0, 1.0]), x)
}

fn arccosine(m: &Element<'_>, unit: Unit, x: Value) -> Value {
    let (arc, near) = arc(m, unit, m.abs(x));
    let negative = m.lt(x, m.c(0.0));
    let rest = m.select(near, arc, m.add(arc, arc));
    let rest = negated_where(m, m.b.xor(near, negative), rest);
    let far = unit.beyond_quarters(m, rest, negative, [2.0, 0.0]);
    m.select(near, unit.beyond_quarters(m, rest, near, [1.0, 1.0]), far)
}

pub fn acos(m: &Element<'_>, x: &[Value]) -> Value {
    arccosine(m, Unit::Radians, x[0])
}

pub fn asin(m: &Element<'_>, x: &[Value]) -> Value {
    arcsine(m, Unit::Radians, x[0])
}

pub fn atan(m: &Element<'_>, x: &[Value]) -> Value {
    if m.ty == Scalar::F64 { arctangent_f64(m, x[0]) } else { arctangent(m, Unit::Radians, x[0]) }
}

pub fn atan2(m: &Element<'_>, x: &[Value]) -> Value {
    match m.ty {
        Scalar::F64 => arctangent2_f64(m, x[0], x[1]),
        _ => arctangent2(m, Unit::Radians, x[0], x[1]),
    }
}

/// An inverse function divided by pi. f32 goes through f64, because the library's error and that of the
/// product together exceed the bound.
fn over_pi(m: &Element<'_>, function: StdOp, x: &[Value]) -> Value {
    let of = |m: &Element<'_>, x: &[Value]| {
        let function = table::function(function).expect("in the table");
        m.mul(function.call(m, x), m.c(FRAC_1_PI))
    };
    if m.rounded_to == Scalar::F16 { of(m, x) } else { m.in_f64(x, of) }
}

pub fn acospi(m: &Element<'_>, x: &[Value]) -> Value {
    if m.is_in_place() { arccosine(m, Unit::HalfTurns, x[0]) } else { over_pi(m, StdOp::acos, x) }
}

pub fn asinpi(m: &Element<'_>, x: &[Value]) -> Value {
    if m.is_in_place() { arcsine(m, Unit::HalfTurns, x[0]) } else { over_pi(m, StdOp::asin, x) }
}

pub fn atanpi(m: &Element<'_>, x: &[Value]) -> Value {
    if m.is_in_place() { arctangent(m, Unit::HalfTurns, x[0]) } else { over_pi(m, StdOp::atan, x) }
}

pub fn atan2pi(m: &Element<'_>, x: &[Value]) -> Value {
    if m.is_in_place() { arctangent2(m, Unit::HalfTurns, x[0], x[1]) } else { over_pi(m, StdOp::atan2, x) }
}
