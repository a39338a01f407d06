//! Sine, cosine and tangent.
//!
//! f32 lanes are computed in place where products and sums are fused: a call of libmvec spills every live vector register.
//! Angles of more than [`FAR`] are reduced in double precision, in a branch that is seldom taken, and those of more than [`FARTHEST`] are the
//! library's, which computes them lane by lane: phases that grow with time and hashes by sines took twenty times as long so.

use super::super::builder::{IntPred, Opcode, RealPred, Value};
use super::element::Element;
use crate::analysis::leaves::Scalar;
use std::f64::consts::FRAC_2_PI;

/// Up to here, what rounding loses in the reduction is below a part in 2^24 of the least angle that is left, over all
/// f32: measured, sines are within 1.5 units in the last place, tangents within 3.2.
pub const FAR: f64 = 30_000.0;

/// Up to here, double precision loses less of an angle, of a quarter turn in two parts and by rounding, than a part in 2^24 of 2e-9, which is
/// the least that any f32 leaves: measured over all of them, errors are those of near angles.
const FARTHEST: f64 = (1u64 << 48) as f64;

/// A quarter turn in two parts of double precision.
const QUARTER_TURN_F64: [f64; 2] = [std::f64::consts::FRAC_PI_2, 6.123_233_995_736_766e-17];

/// A quarter turn in three parts of 24 bits. What a whole number below 2^15 times the first leaves of an f32 is exact.
const QUARTER_TURN: [f64; 3] =
    [1.570_796_370_506_286_6, -4.371_138_828_673_793e-8, -1.715_124_510_005_881_9e-15];

/// `(sin(r) - r) / r^3` and `(cos(r) - 1 + r^2 / 2) / r^4` in `r^2`, for `r` in -0.8..0.8: relative errors of the whole below 2^-32.
const SINE: [f64; 4] = [
    -0.166_666_671_633_720_4,
    0.008_333_329_111_337_662,
    -0.000_198_391_877_347_603_44,
    2.716_916_696_954_285_7e-6,
];
const COSINE: [f64; 3] = [0.041_666_645_556_688_31, -0.001_388_725_126_162_171_4, 2.442_492_223_053_705e-5];

/// An angle less its whole quarter turns.
struct Quadrant {
    sine: Value,
    cosine: Value,
    /// The number of quarter turns taken off, of which the two lowest bits count.
    turns: Value,
}

/// What is left of an angle, and the bits of a number whose lowest are those of the number of quarter turns.
fn taken_off(m: &Element<'_>, x: Value, quarter_turn: &[f64]) -> (Value, Value) {
    let shift = m.shift_to_integer();
    let shifted = m.fma(x, m.c(FRAC_2_PI), shift);
    let minus_n = m.neg(m.sub(shifted, shift));
    let rest = quarter_turn.iter().fold(x, |rest, part| m.fma(minus_n, m.c(*part), rest));
    (rest, m.bits(shifted))
}

fn reduce(m: &Element<'_>, x: Value) -> Quadrant {
    let (rest, turns) = taken_off(m, x, &QUARTER_TURN);
    quadrant(m, rest, turns)
}

/// The same of angles up to [`FARTHEST`].
fn reduce_far(m: &Element<'_>, x: Value) -> Quadrant {
    let wide = Element { ty: Scalar::F64, rounded_to: Scalar::F64, ..*m };
    let (rest, turns) = taken_off(&wide, m.b.cast(Opcode::LLVMFPExt, x, Scalar::F64), &QUARTER_TURN_F64);
    let [rest, turns] = [(Opcode::LLVMFPTrunc, rest, m.ty), (Opcode::LLVMTrunc, turns, m.int_ty())]
        .map(|(op, of, to)| m.b.cast(op, of, to));
    quadrant(m, rest, turns)
}

fn quadrant(m: &Element<'_>, rest: Value, turns: Value) -> Quadrant {
    let square = m.mul(rest, rest);
    let sine = m.fma(m.mul(m.polynomial(square, &SINE), square), rest, rest);
    let cosine = m.fma(m.polynomial(square, &COSINE), square, m.c(-0.5));
    Quadrant { sine, cosine: m.fma(cosine, square, m.c(1.0)), turns }
}

impl Quadrant {
    fn is_odd(&self, m: &Element<'_>) -> Value {
        let odd = m.b.and(self.turns, m.i(1));
        m.b.icmp(IntPred::LLVMIntNE, odd, m.i(0))
    }

    /// A value with the other sign where the second lowest bit of an integer is set.
    fn signed(m: &Element<'_>, value: Value, turns: Value) -> Value {
        let sign = m.b.shl(m.b.and(turns, m.i(2)), m.i(30));
        m.float(m.b.xor(m.bits(value), sign))
    }

    fn sine(&self, m: &Element<'_>, x: Value) -> Value {
        let value = m.select(self.is_odd(m), self.cosine, self.sine);
        // A zero keeps its sign.
        m.select(m.is_zero(x), x, Self::signed(m, value, self.turns))
    }

    fn cosine(&self, m: &Element<'_>) -> Value {
        let value = m.select(self.is_odd(m), self.sine, self.cosine);
        Self::signed(m, value, m.b.add(self.turns, m.i(1)))
    }

    fn tangent(&self, m: &Element<'_>, x: Value) -> Value {
        let odd = self.is_odd(m);
        let above = m.select(odd, m.neg(self.cosine), self.sine);
        let below = m.select(odd, self.sine, self.cosine);
        m.select(m.is_zero(x), x, m.div(above, below))
    }
}

/// The library's function, or in its place what `near` makes of angles that are not far.
fn function(
    m: &Element<'_>,
    libm: &str,
    x: Value,
    near: impl Fn(&Element<'_>, &Quadrant, Value) -> Value,
) -> Value {
    if !m.is_in_place() {
        return m.libm(libm, &[x]);
    }
    // Lanes that are off may have anything, and the branch must not depend on what is undefined.
    let x = m.b.freeze(x);
    let value = near(m, &reduce(m, x), x);
    let lies_beyond = |far: f64| m.b.fcmp(RealPred::LLVMRealOGT, m.abs(x), m.c(far));
    let (far, farthest) = (lies_beyond(FAR), lies_beyond(FARTHEST));
    // By fours, however many there are: libmvec's functions of different numbers of lanes do not agree to the last bit.
    let by_library = || m.in_chunks(super::LANES_OF_UNIFORM, &[x], |m, x| m.libm(libm, x));
    let of_farthest =
        |value| m.b.branch_rarely(m.b.any(farthest), || m.select(farthest, by_library(), value), value);
    let of_far = || m.select(far, of_farthest(near(m, &reduce_far(m, x), x)), value);
    m.b.branch_rarely(m.b.any(far), of_far, value)
}

pub fn sin(m: &Element<'_>, x: &[Value]) -> Value {
    function(m, "sin", x[0], |m, q, x| q.sine(m, x))
}

pub fn cos(m: &Element<'_>, x: &[Value]) -> Value {
    function(m, "cos", x[0], |m, q, _| q.cosine(m))
}

pub fn tan(m: &Element<'_>, x: &[Value]) -> Value {
    function(m, "tan", x[0], |m, q, x| q.tangent(m, x))
}

/// What both have in common is computed once.
pub fn sincos(m: &Element<'_>, x: &[Value]) -> [Value; 2] {
    [sin(m, x), cos(m, x)]
}
