//! Powers of lanes with AVX-512, in their own type: logarithms are pairs of numbers.
//!
//! `log2(x) = e - log2(c) + log2(1 + r)` as in [`table_logarithm`](super::table_logarithm), with 32 pieces of the mantissas: `c` has up to
//! six binary digits, so that `r = m * c - 1` is exact and below 2^-5. What the logarithm's error is multiplied by may be 128, or 1024 of f64, so the
//! sum is made of what is exact: `e - log2(c)` cut to some digits behind the point, `r - r^2 / 2` as a pair, and the product of that with
//! the logarithm of e; the rest is small enough for one number. For f32 that is three quarters of the
//! instructions that it takes in f64, without conversions; for f64 half of the time of the library's call.

use super::super::builder::Value;
use super::element::Element;
use super::exponential::two_to;
use super::logarithm::{EXPONENT, MANTISSA};
use crate::analysis::leaves::Scalar;

/// The `c` of each piece of the mantissas, from 1 upwards.
const RECIPROCALS: [f64; 32] = [
    1.0, 0.953_125, 0.921_875, 0.906_25, 0.875, 0.859_375, 0.828_125, 0.812_5, 0.796_875, 0.765_625, 0.75,
    0.734_375, 0.718_75, 0.703_125, 0.687_5, 0.671_875, 0.656_25, 0.640_625, 0.640_625, 0.625, 0.609_375,
    0.593_75, 0.593_75, 0.578_125, 0.562_5, 0.562_5, 0.546_875, 0.531_25, 0.531_25, 0.515_625, 0.515_625,
    0.5,
];

/// What the numbers of a type need.
struct Form {
    /// The logarithms of `1 / c`, cut so that a sum with any exponent is exact, and what is missing.
    first: [f64; 32],
    second: [f64; 32],
    /// The logarithm of e in two parts.
    log2_e: [f64; 2],
    /// `(log2(1 + r) - log2(e) * (r - r^2 / 2)) / r^3` for `r` in -0.0206..0.03125.
    polynomial: &'static [f64],
    /// Beyond, the result is 0 or infinite.
    most: f64,
}

/// Cut to 16 digits behind the point; the polynomial's error is below 2^-36 of the whole.
const F32: Form = Form {
    first: [
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
    second: [
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
    most: 152.0,
};

/// Cut to 40 digits; the polynomial's error is below 2^-70.
const F64: Form = Form {
    first: [
        0.0,
        0.069_262_662_436_813_12,
        0.117_356_950_638_168_2,
        0.142_019_004_872_054_2,
        0.192_645_077_941_961_06,
        0.218_640_286_475_42,
        0.272_079_545_437_009_1,
        0.299_560_281_859_157_84,
        0.327_574_658_028_424_9,
        0.385_290_155_884_831_6,
        0.415_037_499_278_696_5,
        0.445_411_148_321_909_4,
        0.476_438_043_942_835_07,
        0.508_146_903_670_422,
        0.540_568_381_362_390_9,
        0.573_735_245_297_939_4,
        0.607_682_577_221_567,
        0.642_447_995_382_099_2,
        0.642_447_995_382_099_2,
        0.678_071_905_113_029_1,
        0.714_597_781_137_854_3,
        0.752_072_486_556_244_3,
        0.752_072_486_556_244_3,
        0.790_546_634_370_912_2,
        0.830_074_998_557_393,
        0.830_074_998_557_393,
        0.870_716_983_054_990_1,
        0.912_537_158_749_728_4,
        0.912_537_158_749_728_4,
        0.955_605_880_641_996_9,
        0.955_605_880_641_996_9,
        1.0,
    ],
    second: [
        0.0,
        3.006_074_541_893_785_5e-13,
        -9.459_192_232_399_996e-15,
        3.736_684_162_192_024e-13,
        4.348_299_516_065_895e-13,
        -7.960_223_862_778_872e-14,
        -2.082_530_746_661_105_7e-13,
        -2.500_001_867_992_647e-13,
        7.951_818_330_761_124e-14,
        -3.983_479_855_974_919e-14,
        1.473_318_198_578_196_6e-13,
        4.532_053_086_411_405e-13,
        1.520_621_696_507_556e-13,
        -9.674_511_591_396_32e-14,
        3.118_065_170_018_138_3e-13,
        -3.733_907_276_649_932e-14,
        -3.273_329_303_085_191e-13,
        -1.828_727_169_766_71e-13,
        -1.828_727_169_766_71e-13,
        -3.914_087_556_296_025e-13,
        -1.026_683_669_414_45e-13,
        1.702_488_346_079_135_8e-13,
        1.702_488_346_079_135_8e-13,
        1.380_024_697_624_460_8e-13,
        2.946_636_397_156_393_3e-13,
        2.946_636_397_156_393_3e-13,
        4.342_119_597_698_699_5e-14,
        -6.781_363_655_020_842e-14,
        -6.781_363_655_020_842e-14,
        -4.503_563_649_132_947_7e-13,
        -4.503_563_649_132_947_7e-13,
        0.0,
    ],
    log2_e: [std::f64::consts::LOG2_E, 2.035_527_374_093_103_3e-17],
    polynomial: &[
        0.480_898_346_962_987_8,
        -0.360_673_760_222_242,
        0.288_539_008_178_065_4,
        -0.240_449_173_468_744_36,
        0.206_099_289_431_636_47,
        -0.180_336_908_077_837_03,
        0.160_305_737_262_490_53,
        -0.144_310_215_964_075_2,
        0.124_839_129_622_978_73,
    ],
    most: 1100.0,
};

/// Whether this is for values of this form.
pub fn serves(m: &Element<'_>) -> bool {
    matches!(m.ty, Scalar::F32 | Scalar::F64) && m.lanes > 1 && m.has_avx512()
}

fn form(m: &Element<'_>) -> &'static Form {
    if m.ty == Scalar::F64 { &F64 } else { &F32 }
}

/// `2^(y * log2(x))` with `x` not negative.
pub fn power(m: &Element<'_>, x: Value, y: Value) -> Value {
    let (sum, rest) = logarithm(m, x);
    let most = form(m).most;
    let product = m.mul(y, sum);
    let lost = m.fma(y, rest, m.fma(y, sum, m.neg(product)));
    // What is infinite has lost nothing.
    let lost = m.select(m.lt(m.abs(product), m.c(most)), lost, m.c(0.0));
    let product = m.limited(product, -most, most);
    let n = m.rint(product);
    two_to(m, n, m.add(m.sub(product, n), lost))
}

/// The logarithm in two parts; the second one of what is infinite is not a number.
fn logarithm(m: &Element<'_>, x: Value) -> (Value, Value) {
    const INDEX_BITS: i64 = 5;
    let form = form(m);
    let mantissa = m.avx512(&MANTISSA, &[x]);
    let index = m.b.lshr(m.bits(mantissa), m.i(i64::from(m.digits()) - INDEX_BITS));
    let r = m.fma(mantissa, m.looked_up(&RECIPROCALS, index), m.c(-1.0));
    let first = m.add(m.avx512(&EXPONENT, &[x]), m.looked_up(&form.first, index));
    // r - r^2 / 2.
    let minus_half = m.mul(r, m.c(-0.5));
    let high = m.fma(minus_half, r, r);
    let low = m.fma(minus_half, r, m.sub(r, high));
    let sum = m.fma(high, m.c(form.log2_e[0]), first);
    let lost = m.fma(high, m.c(form.log2_e[0]), m.sub(first, sum));
    let small = m.fma(high, m.c(form.log2_e[1]), m.looked_up(&form.second, index));
    let small = m.fma(low, m.c(form.log2_e[0]), small);
    let cube = m.mul(m.mul(r, r), r);
    (sum, m.add(lost, m.fma(cube, m.polynomial(r, form.polynomial), small)))
}
