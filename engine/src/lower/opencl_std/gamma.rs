//! The gamma function and its logarithm.
//!
//! Lanes are computed in place where products and sums are fused: the gamma function of f32 in f64, since its logarithm is up to 89, which f32 has
//! not the bits for, that of f64 by logarithms that are pairs of numbers, and the logarithm of f32. Others, and the logarithm of f64, which is near
//! 0 at 1 and 2 and has to be right there, call the C library lane by lane.

use super::super::builder::{IntPred, Opcode, Value};
use super::circular::sinpi;
use super::element::Element;
use super::exponential::{LOG2_E_REST, exp, scaled, two_to_rest};
use super::logarithm::{logarithm_less_1_where, mantissa_and_exponent};
use super::pair_logarithm;
use crate::analysis::leaves::Scalar;
use std::f64::consts::{LN_2, LOG2_E, PI};

/// `gamma(y) = p(y) / q(y) * t^(y - 1/2) * exp(-t)` with `t = y + SHIFT`, as Lanczos has it (1964), for `y` from 1/2 to 45. The relative error
/// is under 2^-29; `q(y) = y (y + 1) (y + 2) (y + 3)`.
const SHIFT: f64 = 4.0;
const P: [f64; 5] = [
    655.177_798_707_729_5,
    651.786_152_964_644_2,
    243.151_663_300_584_8,
    40.314_936_752_457_11,
    2.506_628_303_130_041,
];
/// `(log(1 + f) - f) / f^2` for `f` in -0.25..0.5, absolute error of the whole under 2^-35.
const LOG: [f64; 12] = [
    -0.500_000_000_057_906_4,
    0.333_333_330_716_054_85,
    -0.249_999_962_875_987_2,
    0.200_000_440_064_395_07,
    -0.166_670_906_813_307_45,
    0.142_840_823_299_980_5,
    -0.124_823_677_023_446_82,
    0.111_153_138_056_063_01,
    -0.102_859_708_047_910_39,
    0.096_095_613_177_896_32,
    -0.072_401_941_907_667_72,
    0.027_973_492_350_227_58,
];
/// `sin(pi r) / r` by the square of `r`, which is up to a half; relative error under 2^-35.
const SIN_PI: [f64; 6] = [
    3.141_592_653_536_132,
    -5.167_712_764_593,
    2.550_163_317_938_427,
    -0.599_252_186_531_583,
    0.082_050_350_201_472_47,
    -0.007_028_303_855_203_096,
];
/// Beyond it, to both sides, the result is infinite, or 0.
const MOST: f64 = 60.0;

pub fn tgamma(m: &Element<'_>, x: &[Value]) -> Value {
    let x = x[0];
    if pair_logarithm::serves(m) {
        return tgamma_f64(m, x);
    }
    if !m.is_in_place() {
        return m.libm("tgamma", &[x]);
    }
    let w = &Element { ty: Scalar::F64, ..*m };
    let widened = |value: Value| m.b.cast(Opcode::LLVMFPExt, value, Scalar::F64);
    let bounded = m.limited(x, -MOST, MOST);
    // gamma(x) = pi / (sin(pi x) gamma(1 - x))
    let mirrored = m.lt(bounded, m.c(0.5));
    let wide = widened(bounded);
    let y = w.select(mirrored, w.sub(w.c(1.0), wide), wide);
    let t = w.add(y, w.c(SHIFT));
    let (_, exponent) = mantissa_and_exponent(m, m.b.cast(Opcode::LLVMFPTrunc, t, Scalar::F32));
    let f = w.fma(t, widened(m.power_of_two(m.neg(exponent))), w.c(-1.0));
    let rest = w.fma(w.polynomial(f, &LOG), w.mul(f, f), f);
    let log = w.fma(widened(exponent), w.c(LN_2), rest);
    let power = exp(w, &[w.fma(w.sub(y, w.c(0.5)), log, w.neg(t))]);
    let p = w.mul(w.polynomial(y, &P), power);
    // y (y + 3) and (y + 1) (y + 2) differ by 2.
    let pair = w.mul(y, w.add(y, w.c(3.0)));
    let q = w.mul(pair, w.add(pair, w.c(2.0)));
    let nearest = m.rint(x);
    let r = widened(m.sub(x, nearest));
    let sine = w.mul(w.polynomial(w.mul(r, r), &SIN_PI), r);
    let half = m.mul(nearest, m.c(0.5));
    let sine = w.select(m.ne(half, m.floor(half)), w.neg(sine), sine);
    let over = w.select(mirrored, w.mul(q, w.c(PI)), p);
    let under = w.select(mirrored, w.mul(sine, p), q);
    let result = m.b.cast(Opcode::LLVMFPTrunc, w.div(over, under), Scalar::F32);
    let pole = m.b.and(m.lt(x, m.c(0.0)), m.eq(x, m.floor(x)));
    let result = m.select(pole, m.nan(), result);
    m.select(m.is_zero(x), m.copysign(m.inf(), x), result)
}

/// The gamma function of f64 as `2^exponent * over / under`; `y`, which `under` is multiplied by, is left out of it.
///
/// `gamma(y) = p(y) / q(y) * t^(y - 1/2) * exp(-t)` with `t = y + SHIFT_F64`, relative error under 2^-60 for all `y`, and
/// `q(y) = y (y + 1) ... (y + 9)`.
struct Parts {
    over: Value,
    under: Value,
    exponent: Value,
    /// What the exponent lacks.
    rest: Value,
}

const SHIFT_F64: f64 = 6.0;
/// Taken from the exponent and put into `p`, so that the exponent is 0 for the least `y`, whose gamma function may be as large as a number can be.
const EXPONENT_OF_P: f64 = -10.0;
const P_F64: [f64; 11] = [
    350_191.493_837_113_5,
    540_459.796_114_636_5,
    374_669.993_859_983_34,
    153_627.933_079_828_9,
    41_257.455_816_813_66,
    7_581.922_652_773_515,
    965.500_543_459_098_5,
    84.116_720_495_279_82,
    4.797_851_681_491_366,
    0.161_764_015_444_529_9,
    0.002_447_879_174_444_336_6,
];
/// `q(y) / y`.
const Q_F64: [f64; 10] =
    [362_880.0, 1_026_576.0, 1_172_700.0, 723_680.0, 269_325.0, 63_273.0, 9_450.0, 870.0, 45.0, 1.0];

impl Parts {
    /// Of a number that is not negative.
    fn of(m: &Element<'_>, y: Value) -> Parts {
        let t = m.add(y, m.c(SHIFT_F64));
        let missing = m.sub(y, m.sub(t, m.c(SHIFT_F64)));
        let log = pair_logarithm::log2(m, t, Some(missing));
        let less = m.sub(y, m.c(0.5));
        // Both products as pairs, and their difference; what is taken from the second is exact.
        let power = m.mul(less, log.sum);
        let power_rest = m.fma(less, log.rest, m.fma(less, log.sum, m.neg(power)));
        let scale = m.mul(t, m.c(LOG2_E));
        let scale_rest = m.fma(t, m.c(LOG2_E), m.neg(scale));
        let scale_rest = m.fma(t, m.c(LOG2_E_REST), m.fma(missing, m.c(LOG2_E), scale_rest));
        let scale = m.add(scale, m.c(EXPONENT_OF_P));
        let sum = m.sub(power, scale);
        let taken = m.sub(power, sum);
        let lost = m.add(m.sub(power, m.add(sum, taken)), m.sub(taken, scale));
        let rest = m.add(lost, m.sub(power_rest, scale_rest));
        let [over, under] = [&P_F64[..], &Q_F64].map(|polynomial| m.polynomial_in_halves(y, polynomial));
        Parts { over, under, exponent: sum, rest }
    }
}

fn tgamma_f64(m: &Element<'_>, x: Value) -> Value {
    // Beyond it, to both sides, the result is infinite, or 0.
    const MOST: f64 = 200.0;
    let y = m.limited(m.abs(x), 0.0, MOST);
    let Parts { over, under, exponent, rest } = Parts::of(m, y);
    let n = m.rint(exponent);
    let over = m.mul(over, two_to_rest(m, m.add(m.sub(exponent, n), rest)));
    // gamma(x) = pi / (sin(pi x) y gamma(y)) of y = -x, and y gamma(y) is what the parts are of.
    let mirrored = m.b.icmp(IntPred::LLVMIntSLT, m.bits(x), m.i(0));
    let above = m.select(mirrored, m.mul(under, m.c(PI)), over);
    let below = m.mul(m.select(mirrored, over, under), m.select(mirrored, sinpi(m, &[x]), y));
    let result = scaled(m, m.div(above, below), m.select(mirrored, m.neg(n), n));
    let pole = m.b.and(m.lt(x, m.c(0.0)), m.eq(x, m.floor(x)));
    m.select(pole, m.nan(), result)
}

/// `lgamma(1 + a) / (a (a - 1))` for `a` in 0..2 as a quotient of polynomials, relative error below 2^-25.
const NEAR_OVER: [f64; 4] =
    [0.577_215_671_539_306_6, 0.698_333_323_001_861_6, 0.210_835_814_476_013_18, 0.012_586_425_058_543_682];
const NEAR_UNDER: [f64; 5] = [
    1.0,
    1.634_716_987_609_863_3,
    0.790_559_828_281_402_6,
    0.116_939_142_346_382_14,
    0.003_258_893_499_150_872_2,
];
/// Where Stirling's series begins, and that from its second term on: `y (lgamma(y) - (y - 1/2) (log(y) - 1)) - CONSTANT y` by the square of `1 / y`, relative
/// error below 2^-22, of the whole below 2^-26.
const FAR: f64 = 3.0;
const STIRLING: [f64; 3] =
    [0.083_333_313_790_657_04, -0.002_774_471_930_802_711_6, 0.000_709_349_055_164_841_1];
/// Half the logarithm of 2 pi, less a half.
const CONSTANT: f64 = 0.418_938_533_204_672_7;

pub fn lgamma(m: &Element<'_>, x: &[Value]) -> Value {
    if !m.is_in_place() {
        return m.libm("lgamma", x);
    }
    // Lanes that are off may have anything, and the branch must not depend on what is undefined.
    let x = m.b.freeze(x[0]);
    let value = lgamma_of_magnitude(m, m.abs(x));
    let is_negative = m.lt(x, m.c(0.0));
    let mirrored = || m.select(is_negative, lgamma_of_negative(m, x), value);
    m.b.branch_rarely(m.b.any(is_negative), mirrored, value)
}

/// The logarithm of the gamma function of f32 lanes that are not negative.
fn lgamma_of_magnitude(m: &Element<'_>, y: Value) -> Value {
    let (is_far, is_below_1) = (m.b.not(m.lt(y, m.c(FAR))), m.lt(y, m.c(1.0)));
    // Below 1, the logarithm of gamma(1 + y) / y.
    let a = m.select(is_below_1, y, m.sub(y, m.c(1.0)));
    let near = m.mul(m.mul(a, m.sub(a, m.c(1.0))), m.polynomial(a, &NEAR_OVER));
    let over = m.select(is_far, m.c(1.0), near);
    let under = m.select(is_far, y, m.polynomial(a, &NEAR_UNDER));
    let quotient = m.div(over, under);
    let stirling = m.polynomial(m.mul(quotient, quotient), &STIRLING);
    let rest = m.select(is_far, m.fma(stirling, quotient, m.c(CONSTANT)), quotient);
    let log = logarithm_less_1_where(m, y, is_far);
    let times = m.select(is_below_1, m.c(-1.0), m.c(0.0));
    let times = m.select(is_far, m.sub(y, m.c(0.5)), times);
    let result = m.fma(times, log, rest);
    m.select(m.is_zero(y), m.inf(), result)
}

/// The same of negative f32 lanes, in f64: near the zeros between the poles, there is little left of its parts.
fn lgamma_of_negative(m: &Element<'_>, x: Value) -> Value {
    /// From here on there are poles only.
    const MOST: f64 = (1 << 24) as f64;
    let w = &Element { ty: Scalar::F64, rounded_to: Scalar::F64, ..*m };
    let wide = m.b.cast(Opcode::LLVMFPExt, m.limited(x, -MOST, 0.0), Scalar::F64);
    let Parts { over, under, exponent, rest } = Parts::of(w, w.abs(wide));
    let sine = w.abs(sinpi(w, &[wide]));
    let ratio = w.div(w.mul(under, w.c(PI)), w.mul(over, sine));
    let log = pair_logarithm::log2(w, ratio, None);
    let sum = w.add(w.sub(log.sum, exponent), w.sub(log.rest, rest));
    let result = m.b.cast(Opcode::LLVMFPTrunc, w.mul(sum, w.c(LN_2)), Scalar::F32);
    m.select(m.eq(x, m.floor(x)), m.inf(), result)
}

/// [`lgamma`] and the sign of the gamma function: that of a zero, and 1 at the other poles, where it has both.
pub fn lgamma_r(m: &Element<'_>, x: &[Value]) -> [Value; 2] {
    let b = &m.b;
    let sign = |value: i32| b.int(Scalar::I32, m.lanes, value as u32 as u64);
    let floor = m.floor(x[0]);
    let half = m.mul(floor, m.c(0.5));
    let odd = m.ne(half, m.floor(half));
    let between = b.and(m.lt(x[0], m.c(0.0)), b.and(odd, m.ne(x[0], floor)));
    let bits = m.bits(x[0]);
    let below = b.icmp(IntPred::LLVMIntSLT, bits, b.zero(b.scalar_of(bits), m.lanes));
    let zero = b.and(m.eq(x[0], m.c(0.0)), below);
    let negative = b.or(zero, between);
    [lgamma(m, x), m.select(negative, sign(-1), sign(1))]
}
