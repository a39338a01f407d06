//! Native functions of f32 lanes with AVX-512: how exact they are is the implementation's choice (OpenCL C, section 6.15.2.3).
//!
//! They are within a few units in the last place where their results are neither tiny nor of far angles, as those of GPUs are, for half to two thirds of
//! the instructions of functions that OpenCL bounds. Estimates of 14 bits alone are not good enough: programs compare their results with the host's. Other
//! forms are what those functions are.

use super::super::builder::{RealPred, Value};
use super::element::{Avx512, Element};
use super::exponential::{self, SCALE};
use super::logarithm;
use super::trigonometric;
use crate::analysis::leaves::Scalar;
use std::f64::consts::{FRAC_1_PI, LN_2, LOG2_10, LOG2_E, LOG10_2};

/// What is left of a number above the next lower integer.
const REST: Avx512 = Avx512 { name: "mask.reduce", immediate: Some(0b1001), merges: true, rounds: true };

/// `(2^f - 1) / f` for `f` in 0..1, relative error of the whole below 2^-23.4.
const EXP2: [f64; 5] = [
    0.693_151_295_185_089_1,
    0.240_164_443_850_517_27,
    0.055_799_912_661_314_01,
    0.009_017_030_708_491_802,
    0.001_867_130_049_504_339_7,
];

/// `log(1 + f) / f` to the bases 2, e and 10 for `f` in -0.25..0.5, relative error below 2^-22.4.
const LOG2: [f64; 8] = [
    1.442_695_260_047_912_6,
    -0.721_350_610_256_195_1,
    0.480_846_852_064_132_7,
    -0.360_338_926_315_307_6,
    0.290_097_594_261_169_43,
    -0.250_628_173_351_287_84,
    0.203_879_684_209_823_6,
    -0.095_882_333_815_097_81,
];
const LOG: [f64; 8] = [
    1.000_000_119_209_289_6,
    -0.500_002_145_767_211_9,
    0.333_297_640_085_220_34,
    -0.249_767_914_414_405_82,
    0.201_080_337_166_786_2,
    -0.173_722_222_447_395_32,
    0.141_318_634_152_412_4,
    -0.066_460_564_732_551_57,
];
const LOG10: [f64; 8] = [
    0.434_294_551_610_946_66,
    -0.217_148_169_875_144_96,
    0.144_749_328_494_071_96,
    -0.108_472_824_096_679_69,
    0.087_328_083_813_190_46,
    -0.075_446_598_231_792_45,
    0.061_373_900_622_129_44,
    -0.028_863_457_962_870_598,
];

/// `(sin(r) - r) / r^3` in `r^2` for `r` up to a quarter turn, relative error of the whole below 2^-27.
const SINE: [f64; 4] = [
    -0.166_666_597_127_914_43,
    0.008_333_064_615_726_471,
    -0.000_198_094_756_342_470_65,
    2.605_481_540_740_584e-6,
];

/// Half a turn in two parts. What a whole number below 2^14 times the first leaves of an f32 is exact.
const HALF_TURN: [f64; 2] = [3.141_592_741_012_573, -8.742_277_657_347_586e-8];

fn serves(m: &Element<'_>) -> bool {
    m.ty == Scalar::F32 && m.has_avx512()
}

/// `2^power`: 0 where that is less than all normal numbers, as an Intel processor takes over a hundred cycles for a vector with another one in it.
fn two_to(m: &Element<'_>, power: Value) -> Value {
    let rest = m.avx512(&REST, &[power]);
    let grown = m.mad(m.polynomial(rest, &EXP2), rest, m.c(1.0));
    // By the integer below: that is how the instruction takes it.
    m.select(m.lt(power, m.c(-126.0)), m.c(0.0), m.avx512(&SCALE, &[grown, power]))
}

pub fn exp(m: &Element<'_>, x: &[Value]) -> Value {
    if serves(m) { two_to(m, m.mul(x[0], m.c(LOG2_E))) } else { exponential::native_exp(m, x) }
}

pub fn exp2(m: &Element<'_>, x: &[Value]) -> Value {
    if serves(m) { two_to(m, x[0]) } else { exponential::native_exp2(m, x) }
}

pub fn exp10(m: &Element<'_>, x: &[Value]) -> Value {
    if serves(m) { two_to(m, m.mul(x[0], m.c(LOG2_10))) } else { exponential::native_exp10(m, x) }
}

/// `exponent * of_two + f * polynomial(f)`. Of zero and infinity the exponent is infinite, and `f` is 0.
fn logarithm(m: &Element<'_>, x: Value, of_two: f64, polynomial: &[f64]) -> Value {
    let (mantissa, exponent) = logarithm::mantissa_and_exponent(m, x);
    let f = m.sub(mantissa, m.c(1.0));
    let of_mantissa = m.polynomial(f, polynomial);
    match of_two == 1.0 {
        true => m.mad(of_mantissa, f, exponent),
        false => m.mad(exponent, m.c(of_two), m.mul(of_mantissa, f)),
    }
}

pub fn log(m: &Element<'_>, x: &[Value]) -> Value {
    if serves(m) { logarithm(m, x[0], LN_2, &LOG) } else { logarithm::log(m, x) }
}

pub fn log2(m: &Element<'_>, x: &[Value]) -> Value {
    if serves(m) { logarithm(m, x[0], 1.0, &LOG2) } else { logarithm::log2(m, x) }
}

pub fn log10(m: &Element<'_>, x: &[Value]) -> Value {
    if serves(m) { logarithm(m, x[0], LOG10_2, &LOG10) } else { logarithm::log10(m, x) }
}

pub fn powr(m: &Element<'_>, x: &[Value]) -> Value {
    exp2(m, &[m.mul(x[1], log2(m, &x[..1]))])
}

/// The sine of what is left of an angle when so many half turns are taken off, each of which changes the sign; `odd` has their number's last bit.
fn sine_of_rest(m: &Element<'_>, x: Value, half_turns: Value, odd: Value) -> Value {
    let rest = HALF_TURN.iter().fold(x, |rest, part| m.fma(m.neg(half_turns), m.c(*part), rest));
    let square = m.mul(rest, rest);
    let sine = m.fma(m.mul(m.polynomial(square, &SINE), square), rest, rest);
    m.float(m.b.xor(m.bits(sine), m.b.shl(odd, m.i(31))))
}

pub fn sin(m: &Element<'_>, x: &[Value]) -> Value {
    near(m, x, trigonometric::sin, |x| {
        let shift = m.shift_to_integer();
        let shifted = m.fma(x, m.c(FRAC_1_PI), shift);
        sine_of_rest(m, x, m.sub(shifted, shift), m.bits(shifted))
    })
}

pub fn cos(m: &Element<'_>, x: &[Value]) -> Value {
    near(m, x, trigonometric::cos, |x| {
        let shift = m.shift_to_integer();
        let shifted = m.add(m.fma(x, m.c(FRAC_1_PI), m.c(-0.5)), shift);
        // A quarter turn more is a cosine, of the other sign.
        let half_turns = m.add(m.sub(shifted, shift), m.c(0.5));
        sine_of_rest(m, x, half_turns, m.b.add(m.bits(shifted), m.i(1)))
    })
}

/// What `of_near` makes of angles, but what the function itself does where one is far.
fn near(
    m: &Element<'_>,
    x: &[Value],
    function: super::element::Function,
    of_near: impl Fn(Value) -> Value,
) -> Value {
    if !serves(m) {
        return function(m, x);
    }
    // Lanes that are off may have anything, and the branch must not depend on what is undefined.
    let x = m.b.freeze(x[0]);
    let is_far = m.b.fcmp(RealPred::LLVMRealOGT, m.abs(x), m.c(trigonometric::FAR));
    let value = of_near(x);
    m.b.branch_rarely(m.b.any(is_far), || m.select(is_far, function(m, &[x]), value), value)
}
