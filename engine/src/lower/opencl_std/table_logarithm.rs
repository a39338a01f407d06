//! Logarithms of f64 lanes with AVX-512: those of the mantissa's first four digits from a table, that of what is left by a polynomial.
//!
//! `log(x) = e * log(2) - log(c) + log(1 + r)` with `x = 2^e * m`, `c` an approximation of `1 / m` that a table gives for the first four digits
//! of `m`, and `r = m * c - 1`, which is exact: `c` has up to five binary digits, or six where `r` is below 2^-5. On both sides of 1, `c` is a
//! power of two, and `e * log(2) - log(c)` vanishes exactly, so that the result has its full relative accuracy there. Tables are registers:
//! `vpermi2pd` looks eight numbers up.

use super::super::builder::Value;
use super::element::{Class, Element, Response};
use super::exponential::{LN_2_WIDE, LOG2_E_REST, LOG10_2_WIDE, SCALE};
use super::logarithm::{EXPONENT, MANTISSA, one_more};
use crate::analysis::leaves::Scalar;
use std::f64::consts::{LOG2_E, LOG10_E};

/// The `c` of each sixteenth of the mantissas, at least from 1 upwards.
pub const RECIPROCALS: [f64; 16] = [
    1.0, 0.906_25, 0.875, 0.812_5, 0.781_25, 0.75, 0.718_75, 0.687_5, 0.656_25, 0.625, 0.609_375, 0.578_125,
    0.562_5, 0.546_875, 0.531_25, 0.5,
];

/// A logarithm to some base.
pub struct Table {
    /// The logarithm of 2 in two parts; `e * high` plus a `first` is exact.
    pub high: f64,
    pub low: f64,
    /// The logarithms of `1 / c` in two parts.
    pub first: [f64; 16],
    pub second: [f64; 16],
    /// The logarithm of the natural base in two parts; none where that is 1.
    pub scale: Option<(f64, f64)>,
}

pub const LOG: Table = Table {
    high: LN_2_WIDE[0],
    low: LN_2_WIDE[1],
    first: [
        0.0,
        0.098_440_072_812_991_27,
        0.133_531_392_624_263_4,
        0.207_639_364_778_060_55,
        0.246_860_077_931_160_05,
        0.287_682_072_451_389_1,
        0.330_241_686_870_522_24,
        0.374_693_449_441_110_7,
        0.421_213_465_076_107_24,
        0.470_003_629_245_638_9,
        0.495_321_437_229_904_4,
        0.547_965_170_715_087_9,
        0.575_364_144_903_233,
        0.603_535_021_869_902_3,
        0.632_522_558_743_403_4,
        LN_2_WIDE[0],
    ],
    second: [
        0.0,
        2.612_449_164_724_734_6e-13,
        2.592_334_117_923_104e-13,
        1.839_482_528_479_895e-13,
        3.657_488_373_208_597e-13,
        3.918_237_769_963_822e-13,
        5.461_214_448_992_021_5e-14,
        2.999_783_369_424_884_5e-13,
        1.963_098_379_022_284_4e-13,
        9.667_719_603_235_566e-14,
        1.210_246_789_579_075_4e-13,
        3.595_329_189_985_967_6e-13,
        3.289_002_031_063_002_4e-13,
        3.559_106_078_246_660_7e-13,
        1.071_154_365_784_487_6e-13,
        LN_2_WIDE[1],
    ],
    scale: None,
};

pub const LOG2: Table = Table {
    high: 1.0,
    low: 0.0,
    first: [
        0.0,
        0.142_019_004_872_281_58,
        0.192_645_077_942_188_44,
        0.299_560_281_858_703_1,
        0.356_143_810_225_148_6,
        0.415_037_499_278_696_5,
        0.476_438_043_942_835_07,
        0.540_568_381_362_618_3,
        0.607_682_577_221_112_3,
        0.678_071_905_112_574_3,
        0.714_597_781_137_627,
        0.790_546_634_370_912_2,
        0.830_074_998_557_620_3,
        0.870_716_983_054_990_1,
        0.912_537_158_749_501,
        1.0,
    ],
    second: [
        0.0,
        1.462_947_407_759_703_2e-13,
        2.074_562_761_633_574_6e-13,
        2.047_471_640_871_994_4e-13,
        1.266_771_905_137_232e-13,
        1.473_318_198_578_196_6e-13,
        1.520_621_696_507_556e-13,
        8.443_284_155_858_175e-14,
        1.274_144_205_779_450_7e-13,
        6.333_859_525_686_16e-14,
        1.247_053_085_017_870_4e-13,
        1.380_024_697_624_460_8e-13,
        6.728_996_427_240_727e-14,
        4.342_119_597_698_699_5e-14,
        1.595_600_388_930_236_2e-13,
        0.0,
    ],
    scale: Some((LOG2_E, LOG2_E_REST)),
};

pub const LOG10: Table = Table {
    high: LOG10_2_WIDE[0],
    low: LOG10_2_WIDE[1],
    first: [
        0.0,
        0.042_751_980_420_916_88,
        0.057_991_946_977_608_68,
        0.090_176_630_348_878_46,
        0.107_209_969_647_783_51,
        0.124_938_736_608_100_95,
        0.143_422_142_302_142_67,
        0.162_727_297_497_667_68,
        0.182_930_683_585_937,
        0.204_119_982_655_811_33,
        0.215_115_366_957_206_8,
        0.237_978_249_916_750_43,
        0.249_877_473_216_429_28,
        0.262_111_929_633_42,
        0.274_701_056_941_466_96,
        LOG10_2_WIDE[0],
    ],
    second: [
        0.0,
        3.300_906_980_985_312e-14,
        7.807_781_277_774_597e-14,
        2.095_501_301_255_093_5e-13,
        8.485_692_413_569_872e-14,
        1.989_999_698_021_024_4e-13,
        1.704_227_482_921_463_2e-13,
        3.206_228_782_072_406e-14,
        4.970_410_713_661_634_3e-14,
        1.134_535_782_041_798_6e-13,
        1.811_764_244_843_797_3e-13,
        1.417_460_907_440_652e-13,
        1.706_262_641_609_728_3e-13,
        1.915_313_909_819_258_2e-13,
        1.650_885_680_063_383_6e-13,
        LOG10_2_WIDE[1],
    ],
    scale: Some((LOG10_E, 1.098_319_650_216_765e-17)),
};

/// `(log(1 + r) - r) / r^2` for `r` in -0.0372..0.0625, relative error of the whole under 2^-60.
const POLYNOMIAL: [f64; 10] = [
    -0.5,
    0.333_333_333_333_331_6,
    -0.250_000_000_000_166_7,
    0.200_000_000_013_283_05,
    -0.166_666_666_064_386_74,
    0.142_857_111_849_864_77,
    -0.125_000_531_776_429_78,
    0.111_140_007_247_895_48,
    -0.099_981_953_206_833_85,
    0.081_707_531_793_070_57,
];

/// Whether these functions are for values of this form.
pub fn serves(m: &Element<'_>) -> bool {
    m.ty == Scalar::F64 && m.lanes > 1 && m.has_avx512()
}

pub fn logarithm(m: &Element<'_>, x: Value, of: &Table) -> Value {
    sum(m, &Parts::of(m, x), x, of)
}

/// `log(1 + x)` and so many times `log(2)`.
pub fn log_of_1_plus(m: &Element<'_>, x: Value, doublings: Option<Value>) -> Value {
    let (one_more, lost) = one_more(m, x);
    let mut parts = Parts::of(m, one_more);
    // Of sums with exponents below -1 nothing is lost.
    let shift = m.neg(parts.exponent);
    let shift = m.select(m.lt(shift, m.c(64.0)), shift, m.c(64.0));
    let missing = m.mul(m.avx512(&SCALE, &[lost, shift]), parts.reciprocal);
    // Its quotient by 1 + r is as long as it has to be.
    parts.rest = Some(m.fma(missing, m.neg(parts.r), missing));
    parts.exponent = doublings.map_or(parts.exponent, |doublings| m.add(parts.exponent, doublings));
    sum(m, &parts, one_more, &LOG)
}

/// What a logarithm is computed from.
struct Parts {
    /// Infinite where the number is, and for zero.
    exponent: Value,
    /// The mantissa's first digits.
    index: Value,
    reciprocal: Value,
    r: Value,
    /// What the logarithm of `1 + r` lacks.
    rest: Option<Value>,
}

impl Parts {
    fn of(m: &Element<'_>, x: Value) -> Parts {
        let mantissa = m.avx512(&MANTISSA, &[x]);
        let index = m.b.lshr(m.bits(mantissa), m.i(i64::from(m.digits()) - 4));
        let reciprocal = m.looked_up(&RECIPROCALS, index);
        let r = m.fma(mantissa, reciprocal, m.c(-1.0));
        Parts { exponent: m.avx512(&EXPONENT, &[x]), index, reciprocal, r, rest: None }
    }
}

/// The logarithm of what the parts are of.
fn sum(m: &Element<'_>, parts: &Parts, x: Value, of: &Table) -> Value {
    let Parts { exponent, index, r, rest, .. } = *parts;
    let scale = of.scale.map_or(1.0, |(high, _)| high);
    // Exact, and zero or larger than what is added.
    let large = m.fma(exponent, m.c(of.high), m.looked_up(&of.first, index));
    let sum = m.fma(r, m.c(scale), large);
    let lost = m.fma(r, m.c(scale), m.sub(large, sum));
    let mut small = m.looked_up(&of.second, index);
    if of.low != 0.0 {
        small = m.fma(exponent, m.c(of.low), small);
    }
    if let Some((_, low)) = of.scale {
        small = m.fma(r, m.c(low), small);
    }
    if let Some(rest) = rest {
        small = m.add(small, rest);
    }
    let square = m.mul(r, r);
    let small = m.fma(square, m.polynomial(r, &POLYNOMIAL.map(|coefficient| coefficient * scale)), small);
    let result = m.add(sum, m.add(lost, small));
    let special = [(Class::Zero, Response::NegativeInfinity), (Class::Infinity, Response::Infinity)];
    m.fixed_up(result, x, &special)
}
