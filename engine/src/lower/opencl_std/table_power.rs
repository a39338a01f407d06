//! Logarithms of lanes with AVX-512 for powers of their own type: pairs of numbers.
//!
//! `log2(x) = e - log2(c) + log2(1 + r)` as in [`table_logarithm`](super::table_logarithm), of which f64 takes the numbers; f32 has 32 pieces of the
//! mantissas: `c` has up to six binary digits, so that `r = m * c - 1` is exact and below 2^-5. What the logarithm's error is multiplied by may be 128, or
//! 1024 of f64, so the sum is made of what is exact: `e - log2(c)` cut to some digits behind the point, `r - r^2 / 2` as a pair, and the product of that with
//! the logarithm of e; the rest is small enough for one number. For f32 that is three quarters of the instructions that it takes in f64, without
//! conversions.

use super::super::builder::Value;
use super::element::Element;
use super::exponential::{LOG2_E_REST, SCALE};
use super::logarithm::{EXPONENT, MANTISSA};
use super::pair_logarithm::Logarithm;
use super::table_logarithm;
use crate::analysis::leaves::Scalar;

/// Those of f32, from 1 upwards.
const RECIPROCALS: [f64; 32] = [
    1.0, 0.953_125, 0.921_875, 0.906_25, 0.875, 0.859_375, 0.828_125, 0.812_5, 0.796_875, 0.765_625, 0.75,
    0.734_375, 0.718_75, 0.703_125, 0.687_5, 0.671_875, 0.656_25, 0.640_625, 0.640_625, 0.625, 0.609_375,
    0.593_75, 0.593_75, 0.578_125, 0.562_5, 0.562_5, 0.546_875, 0.531_25, 0.531_25, 0.515_625, 0.515_625,
    0.5,
];

/// What the numbers of a type need.
struct Form {
    /// The `c` of each piece of the mantissas.
    reciprocals: &'static [f64],
    /// The logarithms of `1 / c`, cut so that a sum with any exponent is exact, and what is missing.
    first: &'static [f64],
    second: &'static [f64],
    /// The logarithm of e in two parts.
    log2_e: [f64; 2],
    /// `(log2(1 + r) - log2(e) * (r - r^2 / 2)) / r^3` for `r` in -0.0206..0.03125.
    polynomial: &'static [f64],
}

/// Cut to 16 digits behind the point; the polynomial's error is below 2^-36 of the whole.
const F32: Form = Form {
    reciprocals: &RECIPROCALS,
    first: &[
        0.0,
        0.069_259_643_554_687_5,
        0.117_355_346_679_687_5,
        0.142_013_549_804_687_5,
        0.192_642_211_914_062_5,
        0.218_643_188_476_562_5,
        0.272_079_467_773_437_5,
        0.299_560_546_875,
        0.327_575_683_593_75,
        0.385_284_423_828_125,
        0.415_039_062_5,
        0.445_404_052_734_375,
        0.476_440_429_687_5,
        0.508_148_193_359_375,
        0.540_573_120_117_187_5,
        0.573_730_468_75,
        0.607_681_274_414_062_5,
        0.642_440_795_898_437_5,
        0.642_440_795_898_437_5,
        0.678_070_068_359_375,
        0.714_599_609_375,
        0.752_075_195_312_5,
        0.752_075_195_312_5,
        0.790_542_602_539_062_5,
        0.830_078_125,
        0.830_078_125,
        0.870_712_280_273_437_5,
        0.912_536_621_093_75,
        0.912_536_621_093_75,
        0.955_612_182_617_187_5,
        0.955_612_182_617_187_5,
        1.0,
    ],
    second: &[
        0.0,
        3.018_882_35e-6,
        1.603_958_48e-6,
        5.455_067_82e-6,
        2.866_028_35e-6,
        -2.902_001_14e-6,
        7.766_336_55e-8,
        -2.650_160_98e-7,
        -1.025_565_21e-6,
        5.732_056_71e-6,
        -1.563_221_19e-6,
        7.095_587_99e-6,
        -2.385_744_44e-6,
        -1.289_689_07e-6,
        -4.738_754_34e-6,
        4.776_547_94e-6,
        1.302_807_16e-6,
        7.199_483_66e-6,
        7.199_483_66e-6,
        1.836_753_31e-6,
        -1.828_237_26e-6,
        -2.708_756_03e-6,
        -2.708_756_03e-6,
        4.031_831_85e-6,
        -3.126_442_38e-6,
        -3.126_442_38e-6,
        4.702_781_55e-6,
        5.376_559_22e-7,
        5.376_559_22e-7,
        -6.301_975_65e-6,
        -6.301_975_65e-6,
        0.0,
    ],
    log2_e: [1.442_695_021_629_333_5, 1.925_963_033_500_011e-8],
    polynomial: &[
        0.480_898_350_477_218_6,
        -0.360_675_275_325_775_15,
        0.288_610_666_990_280_15,
        -0.235_421_314_835_548_4,
    ],
};

/// With the numbers of logarithms that are not pairs; the polynomial's error is below 2^-66 of the whole.
const F64: Form = Form {
    reciprocals: &table_logarithm::RECIPROCALS,
    first: &table_logarithm::LOG2.first,
    second: &table_logarithm::LOG2.second,
    log2_e: [std::f64::consts::LOG2_E, LOG2_E_REST],
    polynomial: &[
        0.480_898_346_962_987_8,
        -0.360_673_760_222_238_8,
        0.288_539_008_178_172_96,
        -0.240_449_173_498_400_23,
        0.206_099_290_473_154_34,
        -0.180_336_838_672_535_44,
        0.160_300_352_091_595_38,
        -0.144_309_087_291_328_38,
        0.131_082_302_842_840_56,
        -0.107_493_480_400_630_85,
    ],
};

/// Whether this is for values of this form.
pub fn serves(m: &Element<'_>) -> bool {
    matches!(m.ty, Scalar::F32 | Scalar::F64) && m.lanes > 1 && m.has_avx512()
}

fn form(m: &Element<'_>) -> &'static Form {
    if m.ty == Scalar::F64 { &F64 } else { &F32 }
}

/// The logarithm to the base 2 of a number that is not negative, or of the sum of that and what is missing from it.
pub fn log2(m: &Element<'_>, x: Value, missing: Option<Value>) -> Logarithm {
    let form = form(m);
    let index_bits = i64::from(form.reciprocals.len().ilog2());
    let mantissa = m.avx512(&MANTISSA, &[x]);
    let exponent = m.avx512(&EXPONENT, &[x]);
    let index = m.b.lshr(m.bits(mantissa), m.i(i64::from(m.digits()) - index_bits));
    let reciprocal = m.looked_up(form.reciprocals, index);
    let r = m.fma(mantissa, reciprocal, m.c(-1.0));
    let first = m.add(exponent, m.looked_up(form.first, index));
    // r - r^2 / 2.
    let minus_half = m.mul(r, m.c(-0.5));
    let high = m.fma(minus_half, r, r);
    let mut low = m.fma(minus_half, r, m.sub(r, high));
    if let Some(missing) = missing {
        let missing = m.mul(m.avx512(&SCALE, &[missing, m.neg(exponent)]), reciprocal);
        // Its quotient by 1 + r is as long as it has to be.
        low = m.add(low, m.fma(missing, m.neg(high), missing));
    }
    let sum = m.fma(high, m.c(form.log2_e[0]), first);
    let lost = m.fma(high, m.c(form.log2_e[0]), m.sub(first, sum));
    let small = m.fma(high, m.c(form.log2_e[1]), m.looked_up(form.second, index));
    let small = m.fma(low, m.c(form.log2_e[0]), small);
    let cube = m.mul(m.mul(r, r), r);
    let small = m.fma(cube, m.polynomial_in_halves(r, form.polynomial), small);
    Logarithm { sum, rest: m.add(lost, small), whole: m.add(sum, small) }
}
