//! Exponentials.
//!
//! Lanes of f32 and f64 are computed in place: libmvec's `exp10` of f32 misses OpenCL's bound, and a call spills every live vector register.
//! Those of f64 with AVX-512, whose registers hold a table, by [sixteenths of an octave](two_to_sixteenths): that is two thirds of the instructions.
//! Other forms call the C library.

use super::super::builder::Value;
use super::element::{Avx512, Element};
use crate::analysis::leaves::Scalar;
use std::f64::consts::{LN_2, LN_10, LOG2_10, LOG2_E, LOG10_2, SQRT_2};

/// `x * 2^floor(n)`, rounded once.
pub const SCALE: Avx512 = Avx512 { name: "mask.scalef", immediate: None, merges: true, rounds: true };

/// `base^x = 2^n * base^r` with `n` the nearest integer to `x * log2(base)`.
struct Exponential {
    libm: &'static str,
    log2_base: f64,
    /// What is missing from it.
    log2_base_rest: f64,
    f32: Form,
    f64: Form,
}

/// What an exponential is computed from in one type.
struct Form {
    /// The logarithm of 2 to the base in two parts; `n * high` is exact.
    high: f64,
    low: f64,
    /// `(base^r - 1) / r` for the `r` that are left. The relative error of the whole is under 2^-28 in f32 and 2^-56 in f64.
    polynomial: &'static [f64],
    /// Beyond these, the result is 0 or infinite.
    least: f64,
    most: f64,
}

/// `ln(2)` and `log10(2)` cut to 15 bits.
pub const LN_2_HIGH: f64 = 0.693_145_751_953_125;
pub const LOG10_2_HIGH: f64 = 0.301_025_390_625;
/// `ln(2)` and `log10(2)` cut to 41 bits, and what is missing.
pub const LN_2_WIDE: [f64; 2] = [0.693_147_180_559_663, 2.823_529_056_303_157_7e-13];
pub const LOG10_2_WIDE: [f64; 2] = [0.301_029_995_663_839_14, 1.420_502_322_726_61e-13];

/// What is missing from the logarithm of e to the base 2.
pub const LOG2_E_REST: f64 = 2.035_527_374_093_103_3e-17;

const EXP: Exponential = Exponential {
    libm: "exp",
    log2_base: LOG2_E,
    log2_base_rest: LOG2_E_REST,
    f32: Form {
        high: LN_2_HIGH,
        low: LN_2 - LN_2_HIGH,
        polynomial: &[1.0, 0.499_999_94, 0.166_664_302, 0.041_668_005_3, 0.008_374_230_94, 0.001_384_356_52],
        least: -105.0,
        most: 89.0,
    },
    f64: Form {
        high: LN_2_WIDE[0],
        low: LN_2_WIDE[1],
        polynomial: &[
            1.0,
            0.500_000_000_000_000_6,
            0.166_666_666_666_666_07,
            0.041_666_666_666_573_86,
            0.008_333_333_333_377_17,
            0.001_388_888_893_227_887_5,
            0.000_198_412_697_469_786_6,
            2.480_150_457_529_864e-5,
            2.755_738_178_935_990_4e-6,
            2.762_627_438_936_584e-7,
            2.506_211_201_451_714_4e-8,
        ],
        least: -746.0,
        most: 710.0,
    },
};

const EXP2: Exponential = Exponential {
    libm: "exp2",
    log2_base: 1.0,
    log2_base_rest: 0.0,
    f32: Form {
        high: 1.0,
        low: 0.0,
        polynomial: &[
            0.693_147_182,
            0.240_226_477,
            0.055_503_319_9,
            0.009_618_438_78,
            0.001_339_900_31,
            0.000_153_532_572,
        ],
        least: -151.0,
        most: 129.0,
    },
    f64: Form {
        high: 1.0,
        low: 0.0,
        polynomial: &[
            LN_2,
            0.240_226_506_959_100_97,
            0.055_504_108_664_823_22,
            0.009_618_129_107_607_341,
            0.001_333_355_814_608_935_7,
            0.000_154_035_304_411_556,
            1.525_273_410_409_409_8e-5,
            1.321_544_287_543_069_7e-6,
            1.017_796_060_993_712_7e-7,
            7.072_537_477_364_993e-9,
            4.468_856_329_289_779_6e-10,
        ],
        least: -1076.0,
        most: 1025.0,
    },
};

const EXP10: Exponential = Exponential {
    libm: "exp10",
    log2_base: LOG2_10,
    log2_base_rest: 1.661_617_516_973_592e-16,
    f32: Form {
        high: LOG10_2_HIGH,
        low: LOG10_2 - LOG10_2_HIGH,
        polynomial: &[2.302_585_12, 2.650_948_76, 2.034_649_61, 1.171_292_9, 0.542_031_586, 0.206_319_958],
        least: -46.0,
        most: 39.0,
    },
    f64: Form {
        high: LOG10_2_WIDE[0],
        low: LOG10_2_WIDE[1],
        polynomial: &[
            LN_10,
            2.650_949_055_239_202,
            2.034_678_592_293_277_5,
            1.171_255_148_909_686_7,
            0.539_382_929_245_678_8,
            0.206_995_849_339_804_67,
            0.068_089_359_988_486_77,
            0.019_597_629_450_837_616,
            0.005_014_150_207_506_574,
            0.001_157_385_170_711_010_4,
            0.000_238_395_764_416_200_5,
        ],
        least: -324.0,
        most: 309.0,
    },
};

pub fn exp(m: &Element<'_>, x: &[Value]) -> Value {
    exponential(m, x[0], &EXP, Tiny::Denormal)
}

pub fn exp2(m: &Element<'_>, x: &[Value]) -> Value {
    exponential(m, x[0], &EXP2, Tiny::Denormal)
}

pub fn exp10(m: &Element<'_>, x: &[Value]) -> Value {
    exponential(m, x[0], &EXP10, Tiny::Denormal)
}

pub fn native_exp(m: &Element<'_>, x: &[Value]) -> Value {
    exponential(m, x[0], &EXP, Tiny::Zero)
}

pub fn native_exp2(m: &Element<'_>, x: &[Value]) -> Value {
    exponential(m, x[0], &EXP2, Tiny::Zero)
}

pub fn native_exp10(m: &Element<'_>, x: &[Value]) -> Value {
    exponential(m, x[0], &EXP10, Tiny::Zero)
}

/// What results are that are less than normal numbers. Native functions may choose (OpenCL C, section 6.15.2), and an Intel processor takes over a hundred
/// cycles for a vector with a denormal one in it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tiny {
    Denormal,
    Zero,
}

fn exponential(m: &Element<'_>, x: Value, of: &Exponential, tiny: Tiny) -> Value {
    let form = match m.ty {
        Scalar::F32 if m.lanes > 1 => &of.f32,
        Scalar::F64 if m.lanes > 1 && m.has_fma() => &of.f64,
        _ => return m.libm(of.libm, &[x]),
    };
    let is_zero_apart = tiny == Tiny::Zero || m.has_avx512();
    let x = match is_zero_apart {
        true => m.at_most(x, form.most),
        false => m.limited(x, form.least, form.most),
    };
    let (n, result) = if has_sixteenths(m) {
        let (n, left) = in_sixteenths(m, x, of);
        (n.value, two_to_sixteenths(m, n, left))
    } else {
        let n = nearest_power(m, x, of);
        let r = rest_of_log2(m, x, n, form);
        (n, scaled(m, m.mad(m.polynomial(r, form.polynomial), r, m.c(1.0)), n))
    };
    match tiny {
        _ if !is_zero_apart => result,
        Tiny::Zero => m.select(m.lt(x, m.c(least_normal(m) / of.log2_base)), m.c(0.0), result),
        Tiny::Denormal => or_zero(m, n, result),
    }
}

/// The sixteenths of an octave.
const SIXTEENTHS: [f64; 16] = [
    1.0,
    1.044_273_782_427_413_8,
    1.090_507_732_665_257_7,
    1.138_788_634_756_691_6,
    1.189_207_115_002_721,
    1.241_857_812_073_484,
    1.296_839_554_651_009_6,
    1.354_255_546_936_892_7,
    SQRT_2,
    1.476_826_145_939_499_3,
    1.542_210_825_407_940_7,
    1.610_490_331_949_254_3,
    1.681_792_830_507_429,
    1.756_252_160_373_299_5,
    1.834_008_086_409_342_4,
    1.915_206_561_397_147_4,
];
/// `(2^r - 1) / r` for `r` up to half of one, relative error of the whole below 2^-55.
const WITHIN_SIXTEENTH: [f64; 6] = [
    0.693_147_180_559_945_7,
    0.240_226_506_959_100_17,
    0.055_504_108_656_733_67,
    0.009_618_129_109_319_968,
    0.001_333_378_080_324_251_5,
    0.000_154_035_270_551_874_5,
];

/// Whether exponentials of values of this form are made of sixteenths of an octave.
pub fn has_sixteenths(m: &Element<'_>) -> bool {
    m.ty == Scalar::F64 && m.has_avx512()
}

/// A number of sixteenths, of f64 lanes with AVX-512.
#[derive(Clone, Copy)]
pub struct Sixteenths {
    pub value: Value,
    /// A number whose last bits are how many there are.
    index: Value,
}

impl Sixteenths {
    /// Those next to a number, to which something large is to be added.
    pub fn of(m: &Element<'_>, plus: impl FnOnce(Value) -> Value) -> Self {
        // They are the last digits of such a sum.
        let shift = Self::shift(m);
        let index = plus(shift);
        Sixteenths { value: m.sub(index, shift), index }
    }

    fn shift(m: &Element<'_>) -> Value {
        m.c(1.5 * f64::powi(2.0, m.digits() as i32 - 4))
    }

    fn negated(self, m: &Element<'_>) -> Self {
        Sixteenths { value: m.neg(self.value), index: m.sub(Self::shift(m), self.value) }
    }

    /// `2^self * (1 + grown)`, of which the integer is left to a [scaling](SCALE), which takes it so.
    fn with(self, m: &Element<'_>, grown: Value) -> Value {
        let sixteenth = m.looked_up(&SIXTEENTHS, m.bits(self.index));
        m.fma(sixteenth, grown, sixteenth)
    }
}

/// `2^n * 2^left` of a rest up to half a sixteenth.
pub fn two_to_sixteenths(m: &Element<'_>, n: Sixteenths, left: Value) -> Value {
    let grown = m.mul(m.polynomial_in_halves(left, &WITHIN_SIXTEENTH), left);
    m.avx512(&SCALE, &[n.with(m, grown), n.value])
}

/// The sixteenths next to `x * log2(base)`, and what is left.
fn in_sixteenths(m: &Element<'_>, x: Value, of: &Exponential) -> (Sixteenths, Value) {
    let base = m.c(of.log2_base);
    if of.log2_base == 1.0 {
        let n = Sixteenths::of(m, |shift| m.add(x, shift));
        return (n, m.sub(x, n.value));
    }
    let n = Sixteenths::of(m, |shift| m.fma(x, base, shift));
    let left = m.fma(x, base, m.neg(n.value));
    (n, m.fma(x, m.c(of.log2_base_rest), left))
}

/// Half of `exp(x)` and of `exp(-x)` with AVX-512, for an `x` that is not negative.
pub fn halves_both_ways(m: &Element<'_>, x: Value) -> [Value; 2] {
    let one = |grown: Value| m.add(grown, m.c(1.0));
    let (n, ways, coefficients, left) = if has_sixteenths(m) {
        let (n, left) = in_sixteenths(m, x, &EXP);
        (n.value, Some([n, n.negated(m)]), &WITHIN_SIXTEENTH[..], left)
    } else {
        let n = nearest_power(m, x, &EXP);
        (n, None, EXP.f32.polynomial, rest_of_log2(m, x, n, &EXP.f32))
    };
    // The even powers of what is left are the same both ways.
    let [evens, odds] = m.halves_of_polynomial(left, coefficients);
    let (square, odd) = (m.mul(left, left), m.mul(left, evens));
    let grown = [odd, m.neg(odd)].map(|odd| m.fma(square, odds, odd));
    let factors = match ways {
        Some(ways) => [0, 1].map(|way| ways[way].with(m, grown[way])),
        None => grown.map(one),
    };
    let up = m.sub(n, m.c(1.0));
    // To round to 0 takes an Intel processor two hundred cycles.
    let down = m.sub(m.c(-1.0), m.at_most(n, 100.0));
    [m.avx512(&SCALE, &[factors[0], up]), m.avx512(&SCALE, &[factors[1], down])]
}

/// The integer next to `x * log2(base)`. That is two instructions, where a product and its rounding are three.
fn nearest_power(m: &Element<'_>, x: Value, of: &Exponential) -> Value {
    let shift = m.shift_to_integer();
    let shifted = if of.log2_base == 1.0 { m.add(x, shift) } else { m.mad(x, m.c(of.log2_base), shift) };
    m.sub(shifted, shift)
}

/// `x` without `n` times the logarithm of 2.
fn rest_of_log2(m: &Element<'_>, x: Value, n: Value, form: &Form) -> Value {
    let minus_n = m.neg(n);
    let r = m.mad(minus_n, m.c(form.high), x);
    if form.low == 0.0 { r } else { m.mad(minus_n, m.c(form.low), r) }
}

/// The logarithm of the least normal number to the base 2.
fn least_normal(m: &Element<'_>) -> f64 {
    if m.ty == Scalar::F64 { -1022.0 } else { -126.0 }
}

/// What a [scaling](SCALE) by `2^power` resulted in, but 0 where that is less than all numbers: to round to 0 takes an Intel processor two hundred cycles, and
/// lanes whose result is given do not do it.
pub fn or_zero(m: &Element<'_>, power: Value, result: Value) -> Value {
    let least = if m.ty == Scalar::F64 { -1075.0 } else { -150.0 };
    m.select(m.lt(power, m.c(least)), m.c(0.0), result)
}

/// `2^n * 2^r` of an integer and a rest up to a half.
pub fn two_to(m: &Element<'_>, n: Value, r: Value) -> Value {
    scaled(m, two_to_rest(m, r), n)
}

/// `2^r` of a rest up to a half.
pub fn two_to_rest(m: &Element<'_>, r: Value) -> Value {
    let form = if m.ty == Scalar::F64 { &EXP2.f64 } else { &EXP2.f32 };
    m.mad(m.polynomial_in_halves(r, form.polynomial), r, m.c(1.0))
}

/// `power * 2^n`, rounded once where that is fast.
pub fn scaled(m: &Element<'_>, power: Value, n: Value) -> Value {
    if m.has_avx512() {
        return m.avx512(&SCALE, &[power, n]);
    }
    // In two steps, because 2^n need not be a normal number.
    let half = m.rint(m.mul(n, m.c(0.5)));
    let scaled = m.mul(power, m.power_of_two(half));
    m.mul(scaled, m.power_of_two(m.sub(n, half)))
}

/// How much of what an exponential grows to is given.
#[derive(Clone, Copy)]
pub enum Growth {
    Whole,
    Quarter,
}

/// `(exp(r) - 1 - r) / r^2` for `r` up to half the logarithm of 2, relative error of the whole below 2^-30.
const EXPM1: [f64; 6] = [
    0.5,
    0.166_666_671_633_720_4,
    0.041_666_507_720_947_266,
    0.008_333_177_305_757_523,
    0.001_393_086_509_779_095_6,
    0.000_199_723_000_720_001_76,
];

/// The same of f64, relative error of the whole below 2^-54.
const EXPM1_F64: [f64; 10] = [
    0.500_000_000_000_000_1,
    0.166_666_666_666_666_44,
    0.041_666_666_666_623_19,
    0.008_333_333_333_356_315,
    0.001_388_888_891_749_154,
    0.000_198_412_697_847_658_78,
    2.480_152_098_400_787e-5,
    2.755_735_509_575_498_4e-6,
    2.762_020_668_089_239_6e-7,
    2.506_840_010_253_340_3e-8,
];

/// Below it, `exp(x) - 1` is `x`.
pub const TINY: f64 = 1e-30;

pub fn expm1(m: &Element<'_>, x: &[Value]) -> Value {
    let (least, most) = if m.ty == Scalar::F64 { (-40.0, 709.8) } else { (-20.0, 88.75) };
    let quarter = exp_minus_1(m, m.limited(x[0], least, most), Growth::Quarter);
    // A quarter of a subnormal number has not all of its bits.
    let is_tiny = m.lt(m.abs(x[0]), m.c(TINY));
    m.copysign(m.select(is_tiny, x[0], m.mul(quarter, m.c(4.0))), x[0])
}

/// `exp(x) - 1` for an `x` that is no less than -80 and whose result is finite, [in place](Element::is_in_place_or_f64).
pub fn exp_minus_1(m: &Element<'_>, x: Value, growth: Growth) -> Value {
    let shift = m.shift_to_integer();
    let shifted = m.fma(x, m.c(LOG2_E), shift);
    let minus_n = m.sub(shift, shifted);
    let [high, low] = if m.ty == Scalar::F64 { LN_2_WIDE } else { [LN_2_HIGH, LN_2 - LN_2_HIGH] };
    let r = m.fma(minus_n, m.c(low), m.fma(minus_n, m.c(high), x));
    let polynomial = match m.ty {
        Scalar::F64 => m.polynomial_in_halves(r, &EXPM1_F64),
        _ => m.polynomial(r, &EXPM1),
    };
    let power = m.fma(polynomial, m.mul(r, r), r);
    let (less, part) = match growth {
        Growth::Whole => (0, 1.0),
        Growth::Quarter => (2, 0.25),
    };
    let exponent = m.b.shl(m.bits(shifted), m.i(i64::from(m.digits())));
    let scale = m.float(m.b.add(exponent, m.i((m.bias() - less) << m.digits())));
    m.fma(power, scale, m.sub(scale, m.c(part)))
}
