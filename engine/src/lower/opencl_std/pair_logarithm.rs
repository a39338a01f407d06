//! Logarithms to the base 2 as pairs of numbers, for f64 lanes where products and sums are fused: what is raised to a power, or a gamma function,
//! multiplies their error by up to 1024.
//!
//! AVX-512 looks them up ([`table_power`](super::table_power)). Elsewhere `log2(x) = e + 2 / ln(2) * atanh(s)` with `x = 2^e * m` and
//! `s = (m - 1) / (m + 1)`, of which the quotient and its cube are pairs: a table's numbers would be loaded lane by lane.

use super::super::builder::Value;
use super::element::Element;
use super::table_power;
use crate::analysis::leaves::Scalar;
use std::f64::consts::FRAC_1_SQRT_2;

/// `2 / ln(2)` and a third of it in two parts.
const SCALE: [f64; 2] = [2.885_390_081_777_926_8, 4.071_054_748_186_207e-17];
const THIRD: [f64; 2] = [0.961_796_693_925_975_6, 5.057_761_664_881_257e-17];

/// `(atanh(s) - s - s^3 / 3) / s^5` in `s^2` for `s` up to a fifth, relative error below 2^-53.
const ATANH: [f64; 8] = [
    0.199_999_999_999_999_98,
    0.142_857_142_857_183_93,
    0.111_111_111_090_908_93,
    0.090_909_094_818_229_36,
    0.076_922_701_776_482_53,
    0.066_686_264_394_584_29,
    0.058_258_026_765_823_714,
    0.061_019_524_128_632_055,
];

/// A logarithm that is not rounded to its type.
pub struct Logarithm {
    pub sum: Value,
    /// What the sum lacks: up to a part in 2^11 of it. Where the sum is infinite, it may be anything.
    pub rest: Value,
    /// The sum of both, rounded.
    pub whole: Value,
}

/// Whether these functions are for values of this form.
pub fn serves(m: &Element<'_>) -> bool {
    m.ty == Scalar::F64 && m.lanes > 1 && m.has_fma()
}

/// The logarithm of a number that is not negative, or of the sum of that and what is missing from it.
pub fn log2(m: &Element<'_>, x: Value, missing: Option<Value>) -> Logarithm {
    if table_power::serves(m) { table_power::log2(m, x, missing) } else { log2_by_division(m, x, missing) }
}

fn log2_by_division(m: &Element<'_>, x: Value, missing: Option<Value>) -> Logarithm {
    // Numbers from which something is missing are the sums of others, and never tiny.
    let (mantissa, exponent, missing) = match missing {
        Some(missing) => {
            let (mantissa, exponent, shift) = split_normal(m, x);
            (mantissa, exponent, Some(m.mul(missing, shift)))
        }
        None => {
            let (mantissa, exponent) = split(m, x);
            (mantissa, exponent, None)
        }
    };
    let f = m.sub(mantissa, m.c(1.0));
    let inverse = m.div(m.c(1.0), m.add(f, m.c(2.0)));
    let s = m.mul(f, inverse);
    // f - s * (2 + f); the difference of f and twice the quotient is exact.
    let mut left = m.fma(m.neg(s), f, m.fma(s, m.c(-2.0), f));
    if let Some(missing) = missing {
        // The quotient's derivative is 2 / (2 + f)^2.
        left = m.fma(m.sub(m.c(1.0), s), missing, left);
    }
    let s_rest = m.mul(left, inverse);
    let square = m.mul(s, s);
    let square_rest = m.fma(s, s, m.neg(square));
    let cube = m.mul(s, square);
    let cube_rest = m.fma(s, square_rest, m.fma(s, square, m.neg(cube)));
    // At most a half, so that the differences are exact.
    let first = m.fma(s, m.c(SCALE[0]), exponent);
    let first_rest = m.fma(s, m.c(SCALE[0]), m.sub(exponent, first));
    let sum = m.fma(cube, m.c(THIRD[0]), first);
    let sum_rest = m.fma(cube, m.c(THIRD[0]), m.sub(first, sum));
    // What is left of atanh(s), times its scale.
    let fifth = m.mul(m.mul(cube, square), m.polynomial_in_halves(square, &ATANH));
    let small = m.add(fifth, m.fma(s_rest, square, s_rest));
    let small = m.mul(small, m.c(SCALE[0]));
    let small = m.fma(s, m.c(SCALE[1]), small);
    let small = m.fma(cube_rest, m.c(THIRD[0]), m.fma(cube, m.c(THIRD[1]), small));
    let rest = m.add(first_rest, m.add(sum_rest, small));
    // Infinite for zero and infinity, and no number for what is none.
    let sum = m.select(m.lt(x, m.inf()), sum, x);
    let sum = m.select(m.is_zero(x), m.c(f64::NEG_INFINITY), sum);
    Logarithm { sum, rest, whole: m.add(sum, small) }
}

/// The mantissa, from the root of a half to that of 2, and the exponent of a positive finite f64.
pub fn split(m: &Element<'_>, x: Value) -> (Value, Value) {
    let digits = f64::from(m.digits());
    let is_tiny = m.lt(x, m.c(f64::MIN_POSITIVE));
    let normal = m.select(is_tiny, m.mul(x, m.c(digits.exp2())), x);
    let (mantissa, exponent, _) = split_normal(m, normal);
    (mantissa, m.sub(exponent, m.select(is_tiny, m.c(digits), m.c(0.0))))
}

/// The same of a normal number, and two to the power of less the exponent: 0 where that is 1023, and anything negative where it is 1024.
pub fn split_normal(m: &Element<'_>, x: Value) -> (Value, Value, Value) {
    let digits = i64::from(m.digits());
    let least = m.bits(m.c(FRAC_1_SQRT_2));
    // The exponent is made positive, and a number by being a large number's last digits: there is no conversion from so many bits.
    const BIAS: i64 = 1024;
    let above = m.b.add(m.bits(x), m.b.sub(m.i(BIAS << digits), least));
    let large = f64::powi(2.0, digits as i32);
    let exponent = m.float(m.b.or(m.b.lshr(above, m.i(digits)), m.bits(m.c(large))));
    let exponent = m.sub(exponent, m.c(large + BIAS as f64));
    let mask = (1 << digits) - 1;
    let mantissa = m.float(m.b.add(m.b.and(above, m.i(mask)), least));
    let shift = m.float(m.b.sub(m.i((m.bias() + BIAS) << digits), m.b.and(above, m.i(!mask))));
    (mantissa, exponent, shift)
}
