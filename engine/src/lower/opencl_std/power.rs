//! Powers and roots.

use super::super::builder::{IntPred, Opcode, Value};
use super::element::{Avx512, Class, Element, Response};
use super::exponential::{SCALE, Sixteenths, exp2, has_sixteenths, or_zero, two_to, two_to_sixteenths};
use super::logarithm::{EXPONENT, log2, mantissa_and_exponent};
use super::pair_logarithm::{self, Logarithm};
use super::table_power;
use crate::analysis::leaves::Scalar;

/// `log2(1 + f) / f` for `f` in -0.25..0.5, relative error below 2^-33.
const LOG2: [f64; 12] = [
    1.442_695_040_994_546,
    -0.721_347_516_856_152_6,
    0.480_898_282_226_840_83,
    -0.360_674_359_353_667,
    0.288_546_023_435_599_65,
    -0.240_428_212_376_503_88,
    0.205_820_395_379_899_32,
    -0.180_314_634_668_325_67,
    0.164_657_127_612_268_83,
    -0.152_870_291_253_053_9,
    0.115_503_099_691_201_9,
    -0.044_954_122_187_175_64,
];

/// `2^(y * log2(x))` of f32 lanes with `x` not negative, [in place](Element::is_in_place); `y` is f64. Where `x` is 1, it is for a finite `y`.
///
/// The logarithm is f64, for the product magnifies its error by up to 150. What is left of the product behind its integer is
/// small enough for f32.
fn power_of_magnitude(m: &Element<'_>, x: Value, y: Value) -> Value {
    let wide = Element { ty: Scalar::F64, rounded_to: Scalar::F64, ..*m };
    let widened = |x: Value| m.b.cast(Opcode::LLVMFPExt, x, Scalar::F64);
    let (mantissa, exponent) = mantissa_and_exponent(m, x);
    let f = widened(m.sub(mantissa, m.c(1.0)));
    let mut exponent = widened(exponent);
    if !m.has_avx512() {
        exponent = wide.select(m.eq(x, m.inf()), wide.inf(), exponent);
        exponent = wide.select(m.is_zero(x), wide.c(f64::NEG_INFINITY), exponent);
    }
    let logarithm = wide.fma(f, wide.polynomial(f, &LOG2), exponent);
    // Beyond, the result is 0 or infinite.
    let product = wide.limited(wide.mul(y, logarithm), -151.0, 129.0);
    let shift = wide.shift_to_integer();
    let n = wide.sub(wide.add(product, shift), shift);
    let narrowed = |x: Value| m.b.cast(Opcode::LLVMFPTrunc, x, Scalar::F32);
    let left = narrowed(wide.sub(product, n));
    let n = narrowed(n);
    let power = two_to(m, n, left);
    if m.has_avx512() { or_zero(m, n, power) } else { m.select(m.is_nan(x), x, power) }
}

/// The operand of lesser magnitude, with the sign of the first; the other one where one is not a number.
const LESSER: Avx512 = Avx512 { name: "mask.range", immediate: Some(0b0010), merges: true, rounds: true };

/// Whether logarithms of values of this form are pairs of numbers of their own type.
fn has_pairs(m: &Element<'_>) -> bool {
    table_power::serves(m) || pair_logarithm::serves(m)
}

/// `2^(y * log2(x))` with `x` not negative and a `y` of the [own type](has_pairs), from which something may be missing.
fn power_by_pair(m: &Element<'_>, x: Value, y: Value, missing: Option<Value>) -> Value {
    let Logarithm { sum, rest, whole } = match pair_logarithm::serves(m) {
        true => pair_logarithm::log2(m, x, None),
        false => table_power::log2(m, x, None),
    };
    // Beyond, the result is 0 or infinite.
    let most = if m.ty == Scalar::F64 { 1100.0 } else { 152.0 };
    // What the sum lacks may be much beside 1 when it is multiplied by as much as f64 has.
    let about = if m.ty == Scalar::F64 { whole } else { sum };
    let product = m.mul(y, about);
    let product = match m.has_avx512() {
        true => m.at_most(product, most),
        false => m.limited(product, -most, most),
    };
    let left_behind = |n: Value| {
        let left = m.fma(y, rest, m.fma(y, sum, m.neg(n)));
        missing.map_or(left, |missing| m.fma(missing, sum, left))
    };
    // Beyond, what is left may be anything, or not a number.
    let at_most_1 = |left: Value| m.avx512(&LESSER, &[left, m.c(1.0)]);
    if has_sixteenths(m) {
        let n = Sixteenths::of(m, |shift| m.add(product, shift));
        let left = at_most_1(left_behind(n.value));
        return or_zero(m, product, two_to_sixteenths(m, n, left));
    }
    let n = m.rint(product);
    let left = left_behind(n);
    if m.has_avx512() {
        return or_zero(m, product, two_to(m, n, at_most_1(left)));
    }
    let left = m.select(m.lt(left, m.c(1.0)), left, m.c(1.0));
    let power = two_to(m, n, m.select(m.gt(left, m.c(-1.0)), left, m.c(-1.0)));
    m.select(m.is_nan(n), n, power)
}

/// The same of a `y` of the own type, where that is [computed here](computes). 1 where `x` is, whatever `y` is.
fn power_to_own_type(m: &Element<'_>, x: Value, y: Value) -> Value {
    let power = match has_pairs(m) {
        true => power_by_pair(m, x, y, None),
        false => power_of_magnitude(m, x, m.b.cast(Opcode::LLVMFPExt, y, Scalar::F64)),
    };
    m.select(m.eq(x, m.c(1.0)), m.c(1.0), power)
}

/// Whether powers are computed by the functions above.
fn computes(m: &Element<'_>) -> bool {
    m.is_in_place() || has_pairs(m)
}

/// `x` to the power that a constant is, where that is a product of few factors. `constant` makes the exponent's constant of a
/// number: equal constants are the same value.
fn by_products(m: &Element<'_>, x: Value, y: Value, constant: impl Fn(u32) -> Value) -> Option<Value> {
    let square = || m.mul(x, x);
    let fourth = || m.mul(square(), square());
    match (1..=MOST_FACTORS).find(|n| constant(*n) == y)? {
        1 => Some(x),
        2 => Some(square()),
        3 => Some(m.mul(square(), x)),
        4 => Some(fourth()),
        5 => Some(m.mul(fourth(), x)),
        6 => Some(m.mul(fourth(), square())),
        7 => Some(m.mul(m.mul(x, square()), fourth())),
        _ => Some(m.mul(fourth(), fourth())),
    }
}

pub fn pow(m: &Element<'_>, x: &[Value]) -> Value {
    let (base, y) = (x[0], x[1]);
    if let Some(product) = by_products(m, base, y, |n| m.c(n.into())) {
        return product;
    }
    if !computes(m) {
        return m.libm("pow", x);
    }
    let power = power_to_own_type(m, m.abs(base), y);
    let half = m.mul(y, m.c(0.5));
    let is_whole = m.eq(m.floor(y), y);
    let is_odd = m.b.and(is_whole, m.ne(m.floor(half), half));
    let power = m.select(is_odd, m.copysign(power, base), power);
    // By their bits, from those of -0 on. As comparisons of floats, LLVM makes more of them than that.
    let below = |x: Value| m.b.sub(m.bits(x), m.i(1));
    let most = below(m.c(f64::NEG_INFINITY));
    let finite_and_negative = m.b.icmp(IntPred::LLVMIntSLT, below(base), most);
    let power = m.select(m.b.and(finite_and_negative, m.b.not(is_whole)), m.nan(), power);
    m.select(m.is_zero(y), m.c(1.0), power)
}

/// `pow` for a base that is not negative, with the edge cases of OpenCL SPIR-V Env 3.0 §6.7.1.
pub fn powr(m: &Element<'_>, x: &[Value]) -> Value {
    let (base, y) = (x[0], x[1]);
    let power =
        if computes(m) { power_to_own_type(m, m.abs(base), y) } else { m.libm("pow", &[m.abs(base), y]) };
    let or = |a, b| m.b.or(a, b);
    let edge = or(m.is_zero(base), m.eq(base, m.inf()));
    let undefined = or(m.lt(base, m.c(0.0)), m.unordered(base, y));
    let undefined = or(undefined, m.b.and(m.is_zero(y), edge));
    let undefined = or(undefined, m.b.and(m.eq(base, m.c(1.0)), m.is_inf(y)));
    m.select(undefined, m.nan(), power)
}

/// `powr` through f32 logarithms: a relative error of about `2^-16` at the ends of the range.
pub fn half_powr(m: &Element<'_>, x: &[Value]) -> Value {
    exp2(m, &[m.mul(x[1], log2(m, &x[..1]))])
}

/// The largest exponent whose power is a product of the base and its squares: of a negative one, each of up to 7 roundings and the quotient's
/// own error, which the power multiplies by 8, are half a unit.
const MOST_FACTORS: u32 = 8;

/// `x` to an integer power. Lanes whose exponents are small multiply, whatever the others do: what a lane gets depends on nothing but its
/// own operands.
pub fn pown(m: &Element<'_>, x: &[Value]) -> Value {
    let (base, n) = (x[0], x[1]);
    let whole = |n: u32| m.b.int(Scalar::I32, m.lanes, n.into());
    if let Some(product) = by_products(m, base, n, whole) {
        return product;
    }
    // Lanes that are off may be poison, which no branch may depend on.
    let exponent = m.b.freeze(n);
    let above = m.b.add(exponent, whole(MOST_FACTORS));
    let is_large = m.b.icmp(IntPred::LLVMIntUGT, above, whole(2 * MOST_FACTORS));
    let some_large = || {
        let power = by_logarithm(m, base, n);
        let some_small = m.b.any(m.b.not(is_large));
        let products = || m.select(is_large, power, small_power(m, base, exponent));
        m.b.branch(some_small, products, || power)
    };
    m.b.branch(m.b.any(is_large), some_large, || small_power(m, base, exponent))
}

/// `x` to a power of at most [`MOST_FACTORS`], by products.
fn small_power(m: &Element<'_>, x: Value, n: Value) -> Value {
    let word = |n: u32| m.b.int(Scalar::I32, m.lanes, n.into());
    let is_negative = m.b.icmp(IntPred::LLVMIntSLT, n, word(0));
    // The quotient is as good as the base: where it is infinite or subnormal, so is the power, or nothing is left of it.
    let inverse = || m.select(is_negative, m.div(m.c(1.0), x), x);
    let x = m.b.branch(m.b.any(is_negative), inverse, || x);
    let count = m.b.select(is_negative, m.b.sub(word(0), n), n);
    let has = |bit: u32| m.b.icmp(IntPred::LLVMIntNE, m.b.and(count, word(bit)), word(0));
    let square = m.mul(x, x);
    let fourth = m.mul(square, square);
    let first = m.select(has(1), x, m.c(1.0));
    let third = m.select(has(2), m.mul(first, square), first);
    let seventh = m.select(has(4), m.mul(third, fourth), third);
    m.select(has(MOST_FACTORS), m.mul(fourth, fourth), seventh)
}

/// `x` to an integer power by its logarithm. f32 computes in f64, which holds every 32-bit exponent.
fn by_logarithm(m: &Element<'_>, x: Value, n: Value) -> Value {
    let whole = m.b.cast(Opcode::LLVMSIToFP, n, Scalar::F64);
    if computes(m) {
        let power = match m.ty {
            Scalar::F64 => power_to_own_type(m, m.abs(x), whole),
            _ => power_of_magnitude(m, m.abs(x), whole),
        };
        m.select(is_odd(m, n), m.copysign(power, x), power)
    } else if m.ty == Scalar::F64 {
        m.libm("pow", &[x, whole])
    } else {
        m.in_f64(&[x, whole], |m, x| m.libm("pow", x))
    }
}

/// Whether a 32-bit integer is odd.
fn is_odd(m: &Element<'_>, n: Value) -> Value {
    let odd = m.b.and(n, m.b.int(Scalar::I32, m.lanes, 1));
    m.b.icmp(IntPred::LLVMIntNE, odd, m.b.zero(Scalar::I32, m.lanes))
}

pub fn rootn(m: &Element<'_>, x: &[Value]) -> Value {
    let (base, n) = (x[0], x[1]);
    let lanes = m.lanes;
    let count = m.b.cast(Opcode::LLVMSIToFP, n, Scalar::F64);
    let in_place = || {
        let y = m.b.bin_exact(Opcode::LLVMFDiv, m.b.float(Scalar::F64, lanes, 1.0), count);
        power_of_magnitude(m, m.abs(base), y)
    };
    let by_pair = || {
        let y = m.div(m.c(1.0), count);
        // 1/n is not exact, and the power magnifies its error by the logarithm.
        let missing = m.mul(m.fma(m.neg(y), count, m.c(1.0)), y);
        power_by_pair(m, m.abs(base), y, Some(missing))
    };
    let by_library = || {
        m.in_f64(&[m.abs(base), count], |wide, x| {
            let (base, n) = (x[0], x[1]);
            let y = wide.div(wide.c(1.0), n);
            let root = wide.libm("pow", &[base, y]);
            if m.ty != Scalar::F64 {
                return root;
            }
            // A correction of first order for what the quotient lacks.
            let missing = wide.div(wide.fma(wide.neg(y), n, wide.c(1.0)), n);
            let correction = wide.mul(missing, wide.libm("log", &[base]));
            // That of zero and infinity is none, and these are what they are. So is an infinite root of what is nearly zero.
            let sound = wide.lt(wide.abs(correction), wide.c(1.0));
            let sound = wide.b.and(sound, wide.lt(root, wide.inf()));
            wide.select(sound, wide.fma(root, correction, root), root)
        })
    };
    let root = match () {
        () if m.is_in_place() => in_place(),
        () if pair_logarithm::serves(m) => by_pair(),
        () => by_library(),
    };
    let odd = is_odd(m, n);
    let none = m.b.icmp(IntPred::LLVMIntEQ, n, m.b.zero(Scalar::I32, lanes));
    let signed = m.select(odd, m.copysign(root, base), root);
    let undefined = m.b.or(none, m.b.and(m.b.not(odd), m.lt(base, m.c(0.0))));
    m.select(undefined, m.nan(), signed)
}

/// The library's forms for lanes miss the bound of 2 units in the last place: in f32 everywhere, and in f64 for some
/// subnormal numbers, where a step of Newton's method mends it.
pub fn cbrt(m: &Element<'_>, x: &[Value]) -> Value {
    if m.is_in_place_or_f64() {
        return cbrt_in_place(m, x[0]);
    }
    if m.rounded_to == Scalar::F32 && m.lanes > 1 {
        return m.in_f64(x, |m, x| m.libm("cbrt", x));
    }
    let root = m.libm_relaxed("cbrt", x);
    if m.ty != Scalar::F64 || m.lanes == 1 {
        return root;
    }
    let missing = m.sub(m.div(x[0], m.mul(root, root)), root);
    let refined = m.add(root, m.mul(missing, m.c(1.0 / 3.0)));
    // Of zeros and infinities, the step is not a number.
    m.select(m.is_nan(refined), root, refined)
}

/// A third of the bits of a number are, but for a constant, those of `x^(-1/3)` to 3 percent. A step of fourth order makes that exact to 2^-16, and
/// one of the root itself sets its last places right.
fn cbrt_in_place(m: &Element<'_>, x: Value) -> Value {
    /// `(1 - e)^(-1/3)` and `(1 - e)^(-2/3)`, less 1 and divided by `e`.
    const INVERSE: [f64; 3] = [1.0 / 3.0, 2.0 / 9.0, 14.0 / 81.0];
    const SQUARE: [f64; 3] = [2.0 / 3.0, 5.0 / 9.0, 40.0 / 81.0];
    let magnitude = m.abs(x);
    let (least, thirds, terms) = match m.ty {
        Scalar::F64 => (f64::MIN_POSITIVE, 18, 3),
        _ => (f64::from(f32::MIN_POSITIVE), 8, 1),
    };
    // Subnormal numbers are scaled by the third power of a power of two.
    let is_small = m.lt(magnitude, m.c(least));
    let a = m.select(is_small, m.mul(magnitude, m.c(f64::powi(2.0, 3 * thirds))), magnitude);
    let y = about_inverse_root(m, a);
    let error = m.fma(m.neg(a), m.mul(m.mul(y, y), y), m.c(1.0));
    let y = m.fma(m.mul(y, error), m.polynomial(error, &INVERSE), y);
    let root = m.mul(a, m.mul(y, y));
    let error = m.fma(m.neg(root), y, m.c(1.0));
    let root = m.fma(m.mul(root, error), m.polynomial(error, &SQUARE[..terms]), root);
    let root = m.select(is_small, m.mul(root, m.c(f64::powi(2.0, -thirds))), root);
    let root = m.copysign(root, x);
    if m.has_avx512() {
        return m.fixed_up(root, x, &[(Class::Infinity, Response::SignedInfinity)]);
    }
    // Infinities and what is no number are their own root.
    m.select(m.lt(magnitude, m.inf()), root, x)
}

/// `x^(-1/3)` to 3 percent.
fn about_inverse_root(m: &Element<'_>, x: Value) -> Value {
    /// Four thirds of the exponent's bias, and a fraction by which the error is least at both ends.
    const BITS_OF_ONE: f64 = 1_419_967_116.0;
    let b = m.b;
    let third = m.c(-1.0 / 3.0);
    if m.ty != Scalar::F64 {
        let bits = b.cast(Opcode::LLVMSIToFP, m.bits(x), m.ty);
        return m.float(b.cast(Opcode::LLVMFPToSI, m.fma(bits, third, m.c(BITS_OF_ONE)), m.int_ty()));
    }
    // Of the upper half of the bits, as the last digits of a large number: there are no conversions of so many bits.
    let large = f64::powi(2.0, 52);
    let bits_of_one = BITS_OF_ONE / 8.0 + f64::powi(2.0, 20) * (896.0 * 4.0 / 3.0);
    let bits = m.float(b.or(b.lshr(m.bits(x), m.i(32)), m.bits(m.c(large))));
    m.float(b.shl(m.bits(m.fma(bits, third, m.c(bits_of_one + large * (4.0 / 3.0)))), m.i(32)))
}

/// Scaled so that squares neither overflow nor vanish. Those of f64 are libmvec's with AVX-512, which take less than a root alone.
pub fn hypot(m: &Element<'_>, x: &[Value]) -> Value {
    // Of an infinity also beside what is no number, which the library asks whether it signals.
    let infinite = |length: Value| m.select(m.b.or(m.is_inf(x[0]), m.is_inf(x[1])), m.inf(), length);
    match m.ty {
        Scalar::F32 if m.has_avx512() => return hypot_by_estimate(m, x),
        Scalar::F64 if m.has_avx512() => return infinite(m.libm("hypot", x)),
        _ if !m.is_in_place_or_f64() => return infinite(m.libm("hypot", x)),
        _ => {}
    }
    let (a, b) = (m.abs(x[0]), m.abs(x[1]));
    let longer = m.gt(a, b);
    let (long, short) = (m.select(longer, a, b), m.select(longer, b, a));
    let (most, up) = if m.ty == Scalar::F64 { (500, 600) } else { (60, 100) };
    let chosen = |[large, small]: [f64; 2]| {
        let scale = m.select(m.lt(long, m.c(f64::powi(2.0, -most))), m.c(small), m.c(1.0));
        m.select(m.gt(long, m.c(f64::powi(2.0, most))), m.c(large), scale)
    };
    let scale = chosen([f64::powi(2.0, -up), f64::powi(2.0, up)]);
    let back = chosen([f64::powi(2.0, up), f64::powi(2.0, -up)]);
    let (a, b) = (m.mul(long, scale), m.mul(short, scale));
    infinite(m.mul(m.sqrt(m.fma(a, a, m.mul(b, b))), back))
}

/// The greater magnitude; where one operand is not a number, the other's.
const GREATER: Avx512 = Avx512 { name: "mask.range", immediate: Some(0b1011), merges: true, rounds: true };

/// Of f32 lanes with AVX-512: by a root from an estimate, which takes half as long as the instruction for roots. Where no square is near an end of
/// f32's range, nor would be if the longer side were one, the same bits come of them without a scale.
fn hypot_by_estimate(m: &Element<'_>, x: &[Value]) -> Value {
    const LEAST: f32 = f32::from_bits((127 - 30) << 23);
    const END: f32 = f32::from_bits((127 + 30) << 23);
    let is_beyond = |x: Value| {
        let above = m.b.sub(m.bits(m.abs(x)), m.i(LEAST.to_bits().into()));
        m.b.icmp(IntPred::LLVMIntUGE, above, m.i((END.to_bits() - LEAST.to_bits()).into()))
    };
    // Lanes that are off may be poison, which no branch may depend on.
    let is_any_beyond = m.b.any(m.b.freeze(m.b.or(is_beyond(x[0]), is_beyond(x[1]))));
    m.b.branch(is_any_beyond, || hypot_by_exponent(m, x), || root_of_squares(m, x[0], x[1]))
}

/// The root of a sum of two squares that is no zero.
fn root_of_squares(m: &Element<'_>, a: Value, b: Value) -> Value {
    let square = m.fma(a, a, m.mul(b, b));
    let estimate = m.avx512(&RSQRT_ESTIMATE, &[square]);
    let (root, half) = (m.mul(square, estimate), m.mul(estimate, m.c(0.5)));
    m.fma(m.fma(m.neg(root), root, square), half, root)
}

/// Of any sides: they are divided by a power of two that is as large as the longer one.
fn hypot_by_exponent(m: &Element<'_>, x: &[Value]) -> Value {
    let long = m.avx512(&GREATER, &[x[0], x[1]]);
    // Of zero it is infinite, by which even what is no number becomes zero.
    let least = m.c(f64::from(f32::MIN_POSITIVE));
    let exponent = m.avx512(&EXPONENT, &[m.select(m.gt(long, least), long, least)]);
    let down = m.neg(exponent);
    let [a, b] = [x[0], x[1]].map(|x| m.avx512(&SCALE, &[x, down]));
    let length = m.avx512(&SCALE, &[root_of_squares(m, a, b), exponent]);
    // Both are zero, and not only one that stands beside what is no number.
    let both = m.float(m.b.or(m.bits(x[0]), m.bits(x[1])));
    let length = m.fixed_up(length, both, &[(Class::Zero, Response::Zero)]);
    let infinite = [(Class::Infinity, Response::Infinity), (Class::NegativeInfinity, Response::Infinity)];
    x.iter().fold(length, |length, x| m.fixed_up(length, *x, &infinite))
}

pub fn sqrt(m: &Element<'_>, x: &[Value]) -> Value {
    m.sqrt(x[0])
}

/// `1 / sqrt(x)`. Vectors start from an estimate: that costs a third of a root and a division.
pub fn rsqrt(m: &Element<'_>, x: &[Value]) -> Value {
    let x = x[0];
    if !m.has_avx512() {
        let by_division = || m.div(m.c(1.0), m.sqrt(x));
        return if m.is_in_place() {
            let special = is_special(m, x);
            // Others get what they get without such a neighbour.
            let of_each = || m.select(special, by_division(), rsqrt_avx(m, x));
            // Lanes that are off may be poison, which no branch may depend on.
            m.b.branch(m.b.any(m.b.freeze(special)), of_each, || rsqrt_avx(m, x))
        } else {
            by_division()
        };
    }
    let estimate = m.avx512(&RSQRT_ESTIMATE, &[x]);
    let error = |y: Value| m.fma(m.neg(m.mul(x, y)), y, m.c(1.0));
    let first = error(estimate);
    let refined = if m.ty == Scalar::F64 {
        // Halley's step, of third order, then Newton's: 14, 42, 84 bits.
        let factor = m.fma(first, m.c(0.375), m.c(0.5));
        let y = m.fma(m.mul(estimate, first), factor, estimate);
        m.fma(m.mul(y, m.c(0.5)), error(y), y)
    } else {
        m.fma(m.mul(estimate, m.c(0.5)), first, estimate)
    };
    // There, the step is not a number.
    m.fixed_up(refined, x, &[(Class::Zero, Response::SignedInfinity), (Class::Infinity, Response::Zero)])
}

/// Which lanes are no positive normal numbers.
fn is_special(m: &Element<'_>, x: Value) -> Value {
    let least = m.bits(m.c(f64::from(f32::MIN_POSITIVE)));
    let above = m.b.sub(m.bits(x), least);
    let span = m.b.sub(m.bits(m.inf()), least);
    m.b.icmp(IntPred::LLVMIntUGE, above, span)
}

/// `1 / sqrt(x)` of positive normal numbers from an estimate good to 11 bits and Halley's step, of third order.
fn rsqrt_avx(m: &Element<'_>, x: Value) -> Value {
    let estimate = m.in_chunks(8, &[x], |m, x| {
        let name = if m.lanes == 8 { "llvm.x86.avx.rsqrt.ps.256" } else { "llvm.x86.sse.rsqrt.ps" };
        m.b.intrinsic_plain(name, x)
    });
    let error = m.fma(m.neg(m.mul(x, estimate)), estimate, m.c(1.0));
    let factor = m.fma(error, m.c(0.375), m.c(0.5));
    m.fma(m.mul(estimate, error), factor, estimate)
}

/// `1 / sqrt(x)` to 14 bits where an instruction gives that.
pub fn half_rsqrt(m: &Element<'_>, x: &[Value]) -> Value {
    if m.has_avx512() && m.ty == Scalar::F32 { m.avx512(&RSQRT_ESTIMATE, x) } else { rsqrt(m, x) }
}

/// `1 / x` to 14 bits where an instruction gives that.
pub fn half_recip(m: &Element<'_>, x: &[Value]) -> Value {
    if m.has_avx512() && m.ty == Scalar::F32 { m.avx512(&RECIP_ESTIMATE, x) } else { recip(m, x) }
}

/// Estimates with an error under 2^-14.
const RSQRT_ESTIMATE: Avx512 = Avx512 { name: "rsqrt14", immediate: None, merges: true, rounds: false };
const RECIP_ESTIMATE: Avx512 = Avx512 { name: "rcp14", immediate: None, merges: true, rounds: false };

/// `1 / x` to the last place or so.
pub fn recip(m: &Element<'_>, x: &[Value]) -> Value {
    let x = x[0];
    if !m.has_avx512() || m.ty != Scalar::F32 {
        return m.div(m.c(1.0), x);
    }
    let estimate = m.avx512(&RECIP_ESTIMATE, &[x]);
    let refined = m.fma(m.fma(m.neg(x), estimate, m.c(1.0)), estimate, estimate);
    // For zeros, infinities and what overflows, the estimate is exact and the step is not a number.
    m.select(m.is_nan(refined), estimate, refined)
}

pub fn divide(m: &Element<'_>, x: &[Value]) -> Value {
    m.div(x[0], x[1])
}
