//! Exponentials and logarithms.
//!
//! f32 lanes are computed in place, and exponentials of f64 lanes: libmvec's `exp10`, `log` and `log10` of f32 miss OpenCL's bounds, and
//! a call spills every live vector register. Other forms call the C library.

use super::super::builder::{Opcode, Value};
use super::element::{Avx512, Element};
use crate::analysis::leaves::Scalar;
use std::f64::consts::{LN_2, LN_10, LOG2_10, LOG2_E, LOG10_2, LOG10_E};

/// `x * 2^floor(n)`, rounded once.
pub const SCALE: Avx512 = Avx512 { name: "mask.scalef", immediate: None, merges: true, rounds: true };

/// `base^x = 2^n * base^r` with `n` the nearest integer to `x * log2(base)`.
struct Exponential {
    libm: &'static str,
    log2_base: f64,
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
const LN_2_HIGH: f64 = 0.693_145_751_953_125;
const LOG10_2_HIGH: f64 = 0.301_025_390_625;
/// `ln(2)` and `log10(2)` to 41 bits, and what is missing.
const LN_2_WIDE: [f64; 2] = [0.693_147_180_560_117_7, -1.723_944_452_561_483_5e-13];
const LOG10_2_WIDE: [f64; 2] = [0.301_029_995_664_066_5, -8.532_344_317_057_107e-14];

const EXP: Exponential = Exponential {
    libm: "exp",
    log2_base: LOG2_E,
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
    exponential(m, x[0], &EXP)
}

pub fn exp2(m: &Element<'_>, x: &[Value]) -> Value {
    exponential(m, x[0], &EXP2)
}

pub fn exp10(m: &Element<'_>, x: &[Value]) -> Value {
    exponential(m, x[0], &EXP10)
}

fn exponential(m: &Element<'_>, x: Value, of: &Exponential) -> Value {
    let form = match m.ty {
        Scalar::F32 if m.lanes > 1 => &of.f32,
        Scalar::F64 if m.lanes > 1 && m.has_fma() => &of.f64,
        _ => return m.libm(of.libm, &[x]),
    };
    let x = m.limited(x, form.least, form.most);
    let n = m.rint(if of.log2_base == 1.0 { x } else { m.mul(x, m.c(of.log2_base)) });
    let minus_n = m.neg(n);
    let mut r = m.mad(minus_n, m.c(form.high), x);
    if form.low != 0.0 {
        r = m.mad(minus_n, m.c(form.low), r);
    }
    scaled(m, m.mad(m.polynomial(r, form.polynomial), r, m.c(1.0)), n)
}

/// `2^n * 2^r` of an integer and a rest up to a half.
pub fn two_to(m: &Element<'_>, n: Value, r: Value) -> Value {
    scaled(m, m.mad(m.polynomial(r, EXP2.f32.polynomial), r, m.c(1.0)), n)
}

/// `power * 2^n`, rounded once where that is fast.
fn scaled(m: &Element<'_>, power: Value, n: Value) -> Value {
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

/// Below it, `exp(x) - 1` is `x`.
pub const TINY: f64 = 1e-30;

pub fn expm1(m: &Element<'_>, x: &[Value]) -> Value {
    let quarter = exp_minus_1(m, m.limited(x[0], -20.0, 88.75), Growth::Quarter);
    // A quarter of a subnormal number has not all of its bits.
    let is_tiny = m.lt(m.abs(x[0]), m.c(TINY));
    m.copysign(m.select(is_tiny, x[0], m.mul(quarter, m.c(4.0))), x[0])
}

/// `exp(x) - 1` for an `x` that is no less than -80 and whose result is finite, [in place](Element::is_in_place).
pub fn exp_minus_1(m: &Element<'_>, x: Value, growth: Growth) -> Value {
    let shift = m.shift_to_integer();
    let shifted = m.fma(x, m.c(LOG2_E), shift);
    let minus_n = m.sub(shift, shifted);
    let r = m.fma(minus_n, m.c(LN_2 - LN_2_HIGH), m.fma(minus_n, m.c(LN_2_HIGH), x));
    let power = m.fma(m.polynomial(r, &EXPM1), m.mul(r, r), r);
    let (less, part) = match growth {
        Growth::Whole => (0, 1.0),
        Growth::Quarter => (2, 0.25),
    };
    let exponent = m.b.shl(m.bits(shifted), m.i(i64::from(m.digits())));
    let scale = m.float(m.b.add(exponent, m.i((m.bias() - less) << m.digits())));
    m.fma(power, scale, m.sub(scale, m.c(part)))
}

/// `log(x) = e * log(2) + log(m)` with `x = 2^e * m` and `m` in 0.75..1.5.
struct Logarithm {
    libm: &'static str,
    /// The logarithm of 2 in two parts; `e * high` is exact. Both are positive, so that an infinite `e` works.
    high: f64,
    low: f64,
    /// The logarithm of the natural base in two parts; none where that is 1.
    scale: Option<(f64, f64)>,
}

/// `log2(e)` and `log10(e)` cut to 12 bits.
const LOG2_E_HIGH: f64 = 1.442_382_812_5;
const LOG10_E_HIGH: f64 = 0.434_204_101_562_5;

const LOG: Logarithm = Logarithm { libm: "log", high: LN_2_HIGH, low: LN_2 - LN_2_HIGH, scale: None };
const LOG2: Logarithm =
    Logarithm { libm: "log2", high: 1.0, low: 0.0, scale: Some((LOG2_E_HIGH, LOG2_E - LOG2_E_HIGH)) };
const LOG10: Logarithm = Logarithm {
    libm: "log10",
    high: LOG10_2_HIGH,
    low: LOG10_2 - LOG10_2_HIGH,
    scale: Some((LOG10_E_HIGH, LOG10_E - LOG10_E_HIGH)),
};

/// `(log(1 + f) - f + f^2 / 2) / f^3` for `f` in -0.25..0.5, relative error under 2^-26 of the whole.
const LOG_POLYNOMIAL: [f64; 8] = [
    0.333_334_506,
    -0.250_000_954,
    0.199_908_614,
    -0.166_473_12,
    0.144_783_959,
    -0.131_611_943,
    0.104_630_21,
    -0.045_074_783_3,
];

pub fn log(m: &Element<'_>, x: &[Value]) -> Value {
    logarithm(m, x[0], &LOG)
}

pub fn log2(m: &Element<'_>, x: &[Value]) -> Value {
    logarithm(m, x[0], &LOG2)
}

pub fn log10(m: &Element<'_>, x: &[Value]) -> Value {
    logarithm(m, x[0], &LOG10)
}

fn logarithm(m: &Element<'_>, x: Value, of: &Logarithm) -> Value {
    if m.ty != Scalar::F32 || m.lanes == 1 {
        return m.libm(of.libm, &[x]);
    }
    let (mantissa, exponent) = mantissa_and_exponent(m, x);
    // log(m) = f + rest; f is exact.
    let f = m.sub(mantissa, m.c(1.0));
    let square = m.mul(f, f);
    let inner = m.mad(m.polynomial(f, &LOG_POLYNOMIAL), f, m.c(-0.5));
    let rest = m.mul(square, inner);
    let (first, second) = match of.scale {
        None => (f, rest),
        Some((high, low)) => {
            let second = m.mad(rest, m.c(high), m.mul(m.add(f, rest), m.c(low)));
            (m.mul(f, m.c(high)), second)
        }
    };
    let second = if of.low == 0.0 { second } else { m.mad(exponent, m.c(of.low), second) };
    let result = match of.scale {
        // The product `f * high` is not rounded on its own.
        Some((high, _)) if m.has_fma() => {
            let e = m.mul(exponent, m.c(of.high));
            let sum = m.mad(f, m.c(high), e);
            // What rounding the sum lost; nothing where it is infinite.
            let lost = m.mad(f, m.c(high), m.sub(e, sum));
            m.add(sum, m.add(second, m.select(m.is_nan(lost), m.c(0.0), lost)))
        }
        _ => m.mad(exponent, m.c(of.high), m.add(first, second)),
    };
    if m.has_avx512() {
        return result;
    }
    // Infinity and what is not a number stay.
    let result = m.select(m.lt(x, m.inf()), result, x);
    let result = m.select(m.lt(x, m.c(0.0)), m.nan(), result);
    m.select(m.is_zero(x), m.c(f64::NEG_INFINITY), result)
}

pub fn log1p(m: &Element<'_>, x: &[Value]) -> Value {
    // Zeros keep their sign.
    m.copysign(log_of_1_plus(m, x[0], None), x[0])
}

/// `log(1 + x)` and so many times `log(2)`, [in place](Element::is_in_place).
pub fn log_of_1_plus(m: &Element<'_>, x: Value, doublings: Option<Value>) -> Value {
    let sum = m.add(x, m.c(1.0));
    // What rounding the sum lost.
    let above = m.gt(x, m.c(1.0));
    let (more, less) = (m.select(above, x, m.c(1.0)), m.select(above, m.c(1.0), x));
    let lost = m.sub(less, m.sub(sum, more));
    let (mantissa, exponent) = mantissa_and_exponent(m, sum);
    // Where the exponent is larger, nothing was lost that counts.
    let shift = m.power_of_two(m.neg(m.limited(exponent, -64.0, 64.0)));
    let f = m.fma(lost, shift, m.sub(mantissa, m.c(1.0)));
    let exponent = doublings.map_or(exponent, |doublings| m.add(exponent, doublings));
    let inner = m.fma(m.polynomial(f, &LOG_POLYNOMIAL), f, m.c(-0.5));
    let rest = m.fma(m.mul(f, f), inner, m.mul(exponent, m.c(LN_2 - LN_2_HIGH)));
    let result = m.fma(exponent, m.c(LN_2_HIGH), m.add(f, rest));
    let result = m.select(m.lt(x, m.inf()), result, x);
    if m.has_avx512() {
        return result;
    }
    let result = m.select(m.lt(sum, m.c(0.0)), m.nan(), result);
    m.select(m.is_zero(sum), m.c(f64::NEG_INFINITY), result)
}

/// [`split_avx512`], or what does for finite numbers what that does.
pub fn mantissa_and_exponent(m: &Element<'_>, x: Value) -> (Value, Value) {
    if m.has_avx512() { split_avx512(m, x) } else { split(m, x) }
}

/// The mantissa in 0.75..1.5 and the exponent. The exponent of zero and infinity is infinite and their mantissa 1;
/// a negative number has none.
fn split_avx512(m: &Element<'_>, x: Value) -> (Value, Value) {
    /// The interval 0.75..1.5; not a number if negative.
    const MANTISSA: Avx512 =
        Avx512 { name: "mask.getmant", immediate: Some(0b1011), merges: true, rounds: true };
    const EXPONENT: Avx512 = Avx512 { name: "mask.getexp", immediate: None, merges: true, rounds: true };
    let mantissa = m.avx512(&MANTISSA, &[x]);
    let exponent = m.avx512(&EXPONENT, &[x]);
    // The mantissa's own exponent is 0 or -1.
    let own = m.avx512(&EXPONENT, &[mantissa]);
    (mantissa, m.sub(exponent, own))
}

/// As [`split_avx512`] for positive finite numbers.
fn split(m: &Element<'_>, x: Value) -> (Value, Value) {
    let digits = i64::from(m.digits());
    let tiny = m.lt(x, m.c(f64::from(f32::MIN_POSITIVE)));
    let normal = m.select(tiny, m.mul(x, m.c(f64::powi(2.0, digits as i32))), x);
    let three_quarters = m.bits(m.c(0.75));
    let above = m.b.sub(m.bits(normal), three_quarters);
    let exponent = m.b.ashr(above, m.i(digits));
    let mantissa = m.float(m.b.add(m.b.and(above, m.i((1 << digits) - 1)), three_quarters));
    let exponent = m.b.cast(Opcode::LLVMSIToFP, exponent, m.ty);
    (mantissa, m.sub(exponent, m.select(tiny, m.c(digits as f64), m.c(0.0))))
}
