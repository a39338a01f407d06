//! Logarithms.
//!
//! f32 lanes are computed in place, and those of f64 with AVX-512 by tables ([`table_logarithm`](super::table_logarithm)), elsewhere by a division where
//! products and sums are fused: libmvec's `log` and `log10` of f32 miss OpenCL's bounds, and a call spills every live vector register. Other forms
//! call the C library.

use super::super::builder::{IntPred, Opcode, Value};
use super::element::{Avx512, Element};
use super::exponential::{LN_2_HIGH, LN_2_WIDE, LOG10_2_HIGH};
use super::pair_logarithm;
use super::table_logarithm::{self, Table};
use crate::analysis::leaves::Scalar;
use std::f64::consts::{LN_2, LOG2_E, LOG10_2, LOG10_E};

/// `log(x) = e * log(2) + log(m)` with `x = 2^e * m` and `m` in 0.75..1.5.
struct Logarithm {
    libm: &'static str,
    /// The logarithm of 2 in two parts; `e * high` is exact. Both are positive, so that an infinite `e` works.
    high: f64,
    low: f64,
    /// The logarithm of the natural base in two parts; none where that is 1.
    scale: Option<(f64, f64)>,
    f64: &'static Table,
}

/// `log2(e)` and `log10(e)` cut to 12 bits.
const LOG2_E_HIGH: f64 = 1.442_382_812_5;
const LOG10_E_HIGH: f64 = 0.434_204_101_562_5;

const LOG: Logarithm = Logarithm {
    libm: "log",
    high: LN_2_HIGH,
    low: LN_2 - LN_2_HIGH,
    scale: None,
    f64: &table_logarithm::LOG,
};
const LOG2: Logarithm = Logarithm {
    libm: "log2",
    high: 1.0,
    low: 0.0,
    scale: Some((LOG2_E_HIGH, LOG2_E - LOG2_E_HIGH)),
    f64: &table_logarithm::LOG2,
};
const LOG10: Logarithm = Logarithm {
    libm: "log10",
    high: LOG10_2_HIGH,
    low: LOG10_2 - LOG10_2_HIGH,
    scale: Some((LOG10_E_HIGH, LOG10_E - LOG10_E_HIGH)),
    f64: &table_logarithm::LOG10,
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
    if table_logarithm::serves(m) {
        return table_logarithm::logarithm(m, x, of.f64);
    }
    if pair_logarithm::serves(m) {
        return logarithm_f64(m, x, of.f64);
    }
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

/// The logarithm of f64 lanes where products and sums are fused and there are no tables.
fn logarithm_f64(m: &Element<'_>, x: Value, of: &Table) -> Value {
    // Lanes that are off may have anything, and the branch must not depend on what is undefined.
    let x = m.b.freeze(x);
    // By their bits, as signed numbers, from the least that is normal on.
    let least = f64::MIN_POSITIVE.to_bits() as i64;
    let above = m.b.add(m.bits(x), m.i(i64::MIN.wrapping_sub(least)));
    let count = f64::INFINITY.to_bits() as i64 - least;
    let is_special = m.b.icmp(IntPred::LLVMIntSGE, above, m.i(i64::MIN + count));
    let (mantissa, exponent, _) = pair_logarithm::split_normal(m, x);
    let value = of_mantissa_and_exponent(m, mantissa, exponent, of);
    let special = || {
        let (mantissa, exponent) = pair_logarithm::split(m, x);
        let result = of_mantissa_and_exponent(m, mantissa, exponent, of);
        // Infinity and what is not a number stay.
        let result = m.select(m.lt(x, m.inf()), result, x);
        let result = m.select(m.lt(x, m.c(0.0)), m.nan(), result);
        m.select(m.is_zero(x), m.c(f64::NEG_INFINITY), result)
    };
    m.b.branch_rarely(m.b.any(is_special), special, value)
}

/// The logarithm of an f64 in these parts, the mantissa about 1.
fn of_mantissa_and_exponent(m: &Element<'_>, mantissa: Value, exponent: Value, of: &Table) -> Value {
    let f = m.sub(mantissa, m.c(1.0));
    let low = (of.low != 0.0).then(|| m.mul(exponent, m.c(of.low)));
    let sum = match of.scale {
        None => m.add(f, beyond_first(m, f, low)),
        Some((scale, _)) => {
            let rest = beyond_first(m, f, None);
            let rest = match low {
                Some(low) => m.fma(rest, m.c(scale), low),
                None => m.mul(rest, m.c(scale)),
            };
            m.fma(f, m.c(scale), rest)
        }
    };
    if of.high == 1.0 { m.add(exponent, sum) } else { m.fma(exponent, m.c(of.high), sum) }
}

/// The logarithm of f32 lanes that are not negative, [in place](Element::is_in_place), and where a condition holds that less 1, before it is rounded. That
/// of zero is any.
pub fn logarithm_less_1_where(m: &Element<'_>, x: Value, condition: Value) -> Value {
    let (mantissa, exponent) = mantissa_and_exponent(m, x);
    let f = m.sub(mantissa, m.c(1.0));
    let inner = m.fma(m.polynomial(f, &LOG_POLYNOMIAL), f, m.c(-0.5));
    let rest = m.fma(m.mul(f, f), inner, m.mul(exponent, m.c(LN_2 - LN_2_HIGH)));
    // Exact.
    let large = m.fma(exponent, m.c(LN_2_HIGH), m.select(condition, m.c(-1.0), m.c(0.0)));
    m.add(large, m.add(f, rest))
}

pub fn log1p(m: &Element<'_>, x: &[Value]) -> Value {
    if !m.is_in_place_or_f64() {
        return m.libm("log1p", x);
    }
    // Zeros keep their sign.
    m.copysign(log_of_1_plus(m, x[0], None), x[0])
}

/// `1 + x` and what rounding it lost.
pub fn one_more(m: &Element<'_>, x: Value) -> (Value, Value) {
    let sum = m.add(x, m.c(1.0));
    let above = m.gt(x, m.c(1.0));
    let (more, less) = (m.select(above, x, m.c(1.0)), m.select(above, m.c(1.0), x));
    (sum, m.sub(less, m.sub(sum, more)))
}

/// `log(1 + x)` and so many times `log(2)`, [in place](Element::is_in_place_or_f64).
pub fn log_of_1_plus(m: &Element<'_>, x: Value, doublings: Option<Value>) -> Value {
    if table_logarithm::serves(m) {
        return table_logarithm::log_of_1_plus(m, x, doublings);
    }
    let (sum, lost) = one_more(m, x);
    let (f, exponent) = if m.ty == Scalar::F64 {
        let (mantissa, exponent, shift) = pair_logarithm::split_normal(m, sum);
        // That of the largest numbers is negative.
        let shift = m.select(m.gt(shift, m.c(0.0)), shift, m.c(0.0));
        (m.fma(lost, shift, m.sub(mantissa, m.c(1.0))), exponent)
    } else {
        let (mantissa, exponent) = mantissa_and_exponent(m, sum);
        // Where the exponent is larger, nothing was lost that counts.
        let shift = m.power_of_two(m.neg(m.limited(exponent, -64.0, 64.0)));
        (m.fma(lost, shift, m.sub(mantissa, m.c(1.0))), exponent)
    };
    let exponent = doublings.map_or(exponent, |doublings| m.add(exponent, doublings));
    let result = if m.ty == Scalar::F64 {
        let [high, low] = LN_2_WIDE;
        let rest = beyond_first(m, f, Some(m.mul(exponent, m.c(low))));
        m.fma(exponent, m.c(high), m.add(f, rest))
    } else {
        let inner = m.fma(m.polynomial(f, &LOG_POLYNOMIAL), f, m.c(-0.5));
        let rest = m.fma(m.mul(f, f), inner, m.mul(exponent, m.c(LN_2 - LN_2_HIGH)));
        m.fma(exponent, m.c(LN_2_HIGH), m.add(f, rest))
    };
    let result = m.select(m.lt(x, m.inf()), result, x);
    if m.has_avx512() {
        return result;
    }
    let result = m.select(m.lt(sum, m.c(0.0)), m.nan(), result);
    m.select(m.is_zero(sum), m.c(f64::NEG_INFINITY), result)
}

/// `(log((1 + s) / (1 - s)) - 2 s) / s^3` in `s^2` for `s` up to a fifth, relative error of the whole below 2^-53.
const ATANH: [f64; 7] = [
    0.666_666_666_666_669_4,
    0.399_999_999_993_324_14,
    0.285_714_288_369_480_7,
    0.222_221_826_810_854_84,
    0.181_846_148_337_863_92,
    0.152_836_021_751_213_33,
    0.151_193_309_541_379_8,
];

/// `log(1 + f) - f` and perhaps a number much smaller, of f64: from the quotient of `f` and `2 + f`, whose logarithm's series has odd powers only.
fn beyond_first(m: &Element<'_>, f: Value, more: Option<Value>) -> Value {
    let s = m.div(f, m.add(f, m.c(2.0)));
    let square = m.mul(s, s);
    // f - 2 s is f^2 / 2 * (1 - s).
    let half_square = m.mul(m.mul(f, m.c(0.5)), f);
    let inner = m.fma(square, m.polynomial_in_halves(square, &ATANH), half_square);
    let sum = more.map_or_else(|| m.mul(s, inner), |more| m.fma(s, inner, more));
    m.sub(sum, half_square)
}

/// The exponent as a number.
pub const EXPONENT: Avx512 = Avx512 { name: "mask.getexp", immediate: None, merges: true, rounds: true };
/// The mantissa in 1..2; not a number if negative.
pub const MANTISSA: Avx512 =
    Avx512 { name: "mask.getmant", immediate: Some(0b1000), merges: true, rounds: true };

/// [`split_avx512`], or what does for finite numbers what that does.
pub fn mantissa_and_exponent(m: &Element<'_>, x: Value) -> (Value, Value) {
    if m.has_avx512() { split_avx512(m, x) } else { split(m, x) }
}

/// The mantissa in 0.75..1.5 and the exponent. The exponent of zero and infinity is infinite and their mantissa 1;
/// a negative number has none.
fn split_avx512(m: &Element<'_>, x: Value) -> (Value, Value) {
    /// The interval 0.75..1.5; not a number if negative.
    const AROUND_ONE: Avx512 =
        Avx512 { name: "mask.getmant", immediate: Some(0b1011), merges: true, rounds: true };
    let mantissa = m.avx512(&AROUND_ONE, &[x]);
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
