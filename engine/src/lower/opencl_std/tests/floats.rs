//! Functions of f32 and f16 against the C library's f64, within the bounds of OpenCL SPIR-V Env 3.0 §6.6.1.

use super::super::element::Element;
use super::super::table;
use super::{
    SPARSE, asked_for, call, compile, flushing, flushing_forms, form, forms, is_flushed, report, worst,
};
use crate::analysis::leaves::Scalar;
use crate::jit::symbols;
use half::f16;
use spirv::OpenclStd100Op as StdOp;

/// `ZE_CPU_TEST_SPARSE` overrides [`SPARSE`] for a closer look.
fn sparse() -> usize {
    asked_for().unwrap_or(SPARSE)
}

pub fn sweep_f32() -> Vec<f32> {
    let special =
        [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX, f32::MIN];
    let tiny = [f32::MIN_POSITIVE, 1e-45, -1e-45, 1.175_494_2e-38];
    let near_one = (-2000..2000).map(|i| f32::from_bits((0x3f80_0000 + i) as u32));
    let mut all: Vec<f32> = (0..=u32::MAX)
        .step_by(sparse())
        .map(f32::from_bits)
        .chain(special)
        .chain(tiny)
        .chain(near_one)
        .collect();
    all.resize(all.len().next_multiple_of(32), 0.25);
    all
}

fn sweep_f16() -> Vec<f16> {
    (0..=u16::MAX).map(f16::from_bits).collect()
}

/// Units in the last place of `want` as a number with `digits` bits and this least exponent. Infinity stands for a
/// wrong special value.
fn ulp(got: f64, want: f64, digits: i32, least: i32, most: f64) -> f64 {
    if want.is_nan() || got.is_nan() {
        return if want.is_nan() == got.is_nan() { 0.0 } else { f64::INFINITY };
    }
    let beyond = most * (1.0 + f64::powi(2.0, -digits));
    let (got, want) = (got.clamp(-beyond, beyond), want.clamp(-beyond, beyond));
    if got == want {
        let zero_sign = want == 0.0 && got.is_sign_negative() != want.is_sign_negative();
        return if zero_sign { f64::INFINITY } else { 0.0 };
    }
    let exponent = if want == 0.0 { least } else { (want.abs().log2().floor() as i32).max(least) };
    (got - want).abs() / f64::powi(2.0, exponent + 1 - digits)
}

fn ulp_f32(got: f32, want: f64) -> f64 {
    ulp(got.into(), want, 24, -126, f32::MAX.into())
}

fn ulp_f16(got: f16, want: f64) -> f64 {
    ulp(got.into(), want, 11, -14, 65504.0)
}

/// A number of a format whose least normal one is 2^`least`, where denormals are zeros.
fn flushed(x: f64, least: i32) -> f64 {
    if x.abs() < f64::powi(2.0, least) { 0f64.copysign(x) } else { x }
}

/// The error of a function of which denormals are flushed: its results are none, and are zeros where they would be or
/// nearly.
fn ulp_flushed(got: f64, want: f64, digits: i32, least: i32, most: f64) -> f64 {
    let tiny = |x: f64| x.abs() < f64::powi(2.0, least);
    if got != 0.0 && tiny(got) {
        return f64::INFINITY;
    }
    let units = f64::powi(2.0, least + 1 - digits);
    if got == 0.0 && want.abs() <= f64::powi(2.0, least) + 16.0 * units {
        return 0.0;
    }
    ulp(got, want, digits, least, most)
}

fn rsqrt(x: f64) -> f64 {
    1.0 / x.sqrt()
}

fn sinpi(x: f64) -> f64 {
    let r = x % 2.0;
    if r.fract() == 0.0 {
        return if x.is_infinite() { f64::NAN } else { 0f64.copysign(x) };
    }
    (r * std::f64::consts::PI).sin()
}

fn cospi(x: f64) -> f64 {
    let r = x.abs() % 2.0;
    if (r - 0.5).fract() == 0.0 {
        return 0.0;
    }
    if x.is_infinite() { f64::NAN } else { (r * std::f64::consts::PI).cos() }
}

fn tanpi(x: f64) -> f64 {
    if x.is_infinite() {
        return f64::NAN;
    }
    let floor = x.abs().floor();
    let odd = floor % 2.0 == 1.0;
    if x == x.floor() {
        return if (x % 2.0).abs() == 1.0 { 0f64.copysign(-x) } else { 0f64.copysign(x) };
    }
    if (x.abs() - floor) == 0.5 {
        let pole = if odd { f64::NEG_INFINITY } else { f64::INFINITY };
        // For negative numbers, the whole number below is the other parity.
        return if x < 0.0 { -pole } else { pole };
    }
    ((x % 1.0) * std::f64::consts::PI).tan()
}

fn over_pi(x: f64) -> f64 {
    x / std::f64::consts::PI
}

fn sign(x: f64) -> f64 {
    if x.is_nan() {
        0.0
    } else if x == 0.0 {
        x
    } else {
        x.signum()
    }
}

fn logb(x: f64) -> f64 {
    match x {
        _ if x.is_nan() => x,
        _ if x.is_infinite() => f64::INFINITY,
        0.0 => f64::NEG_INFINITY,
        _ => x.abs().log2().floor(),
    }
}

/// A function of the C library.
fn libm(name: &str, x: f64) -> f64 {
    let address = symbols::function_address(name).expect("in the table");
    // SAFETY: all names that tests pass are functions of one double.
    unsafe { std::mem::transmute::<usize, extern "C" fn(f64) -> f64>(address)(x) }
}

/// A function, its reference, and its bound for f32 and f16 (OpenCL SPIR-V Env 3.0 §6.6.1).
type Unary = (StdOp, fn(f64) -> f64, f64, f64);

const UNARY: &[Unary] = &[
    (StdOp::acos, f64::acos, 4.0, 2.0),
    (StdOp::acosh, f64::acosh, 4.0, 2.0),
    (StdOp::acospi, |x| over_pi(x.acos()), 5.0, 2.0),
    (StdOp::asin, f64::asin, 4.0, 2.0),
    (StdOp::asinh, |x| if x.is_infinite() { x } else { x.asinh() }, 4.0, 2.0),
    (StdOp::asinpi, |x| over_pi(x.asin()), 5.0, 2.0),
    (StdOp::atan, f64::atan, 5.0, 2.0),
    (StdOp::atanh, f64::atanh, 5.0, 2.0),
    (StdOp::atanpi, |x| over_pi(x.atan()), 5.0, 2.0),
    (StdOp::cbrt, f64::cbrt, 2.0, 2.0),
    (StdOp::ceil, f64::ceil, 0.0, 0.0),
    (StdOp::cos, f64::cos, 4.0, 2.0),
    (StdOp::cosh, f64::cosh, 4.0, 2.0),
    (StdOp::cospi, cospi, 4.0, 2.0),
    (StdOp::erf, |x| libm("erf", x), 16.0, 4.0),
    (StdOp::erfc, |x| libm("erfc", x), 16.0, 4.0),
    (StdOp::exp, f64::exp, 3.0, 2.0),
    (StdOp::exp2, f64::exp2, 3.0, 2.0),
    (StdOp::exp10, |x| libm("exp10", x), 3.0, 2.0),
    (StdOp::expm1, f64::exp_m1, 3.0, 2.0),
    (StdOp::fabs, f64::abs, 0.0, 0.0),
    (StdOp::floor, f64::floor, 0.0, 0.0),
    // OpenCL has no bound for this one.
    (StdOp::lgamma, |x| libm("lgamma", x), 5.0, 2.0),
    (StdOp::log, f64::ln, 3.0, 2.0),
    (StdOp::log2, f64::log2, 3.0, 2.0),
    (StdOp::log10, f64::log10, 3.0, 2.0),
    (StdOp::log1p, f64::ln_1p, 2.0, 2.0),
    (StdOp::logb, logb, 0.0, 0.0),
    (StdOp::rint, f64::round_ties_even, 0.0, 0.0),
    (StdOp::round, f64::round, 0.0, 0.0),
    (StdOp::rsqrt, rsqrt, 2.0, 1.0),
    (StdOp::sin, f64::sin, 4.0, 2.0),
    (StdOp::sinh, f64::sinh, 4.0, 2.0),
    (StdOp::sinpi, sinpi, 4.0, 2.0),
    (StdOp::sqrt, f64::sqrt, 0.5, 0.5),
    (StdOp::tan, f64::tan, 5.0, 2.0),
    (StdOp::tanh, f64::tanh, 5.0, 2.0),
    (StdOp::tanpi, tanpi, 6.0, 2.0),
    (StdOp::tgamma, |x| libm("tgamma", x), 16.0, 4.0),
    (StdOp::trunc, f64::trunc, 0.0, 0.0),
    (StdOp::half_cos, f64::cos, 8192.0, 8192.0),
    (StdOp::half_recip, |x| 1.0 / x, 8192.0, 8192.0),
    (StdOp::native_recip, |x| 1.0 / x, 4.0, 4.0),
    (StdOp::degrees, f64::to_degrees, 2.0, 2.0),
    (StdOp::radians, f64::to_radians, 2.0, 2.0),
    (StdOp::sign, sign, 0.0, 0.0),
];

#[test]
fn unary_functions_are_within_their_bounds() {
    let (singles, halves) = (sweep_f32(), sweep_f16());
    let forms = forms();
    let mut failures = Vec::new();
    for (op, reference, single, half) in UNARY {
        let wanted: Vec<(f32, f64)> = singles.iter().map(|x| (*x, reference((*x).into()))).collect();
        let wanted_half: Vec<(f16, f64)> = halves.iter().map(|x| (*x, reference((*x).into()))).collect();
        for (target, lanes) in &forms {
            for &lanes in lanes {
                let what = |ty| form(*op, target, lanes, ty);
                let code = compile(target, lanes, &[Scalar::F32], call(*op));
                let got: Vec<f32> = code.map(&singles, &[0u8; 0], &[0u8; 0]);
                let found = worst(&wanted, &got, |(_, want), got| ulp_f32(got, want));
                report(&mut failures, &what("f32"), found, *single);
                if lanes == 4 || lanes == 16 {
                    let code = compile(target, lanes, &[Scalar::F16], call(*op));
                    let got: Vec<f16> = code.map(&halves, &[0u8; 0], &[0u8; 0]);
                    let found = worst(&wanted_half, &got, |(_, want), got| ulp_f16(got, want));
                    report(&mut failures, &what("f16"), found, *half);
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn functions_are_within_their_bounds_where_denormals_are_flushed() {
    let (singles, halves) = (sweep_f32(), sweep_f16());
    let mut failures = Vec::new();
    for (op, reference, single, half) in UNARY.iter().filter(|(op, ..)| is_flushed(*op)) {
        let of = |x: f64, least: i32| reference(flushed(x, least));
        let wanted: Vec<(f32, f64)> = singles.iter().map(|x| (*x, of((*x).into(), -126))).collect();
        let wanted_half: Vec<(f16, f64)> = halves.iter().map(|x| (*x, of((*x).into(), -14))).collect();
        for (target, lanes) in flushing_forms() {
            let what = |ty| form(*op, &target, lanes, ty).flushing();
            let code = compile(&target, lanes, &[Scalar::F32], flushing(call(*op)));
            let got: Vec<f32> = code.map(&singles, &[0u8; 0], &[0u8; 0]);
            let found = worst(&wanted, &got, |(_, want), got| {
                ulp_flushed(got.into(), want, 24, -126, f32::MAX.into())
            });
            report(&mut failures, &what("f32"), found, *single);
            let code = compile(&target, lanes, &[Scalar::F16], flushing(call(*op)));
            let got: Vec<f16> = code.map(&halves, &[0u8; 0], &[0u8; 0]);
            let found =
                worst(&wanted_half, &got, |(_, want), got| ulp_flushed(got.into(), want, 11, -14, 65504.0));
            report(&mut failures, &what("f16"), found, *half);
        }
    }
    // The reference has no signalling NaNs, of which a power of zero is a NaN.
    let quiet = |of: Vec<f32>| of.into_iter().map(|x| if x.is_nan() { f32::NAN } else { x }).collect();
    let (a, b) = pairs();
    let (a, b): (Vec<f32>, Vec<f32>) = (quiet(a), quiet(b));
    let pairs: Vec<(f32, f32)> = a.iter().copied().zip(b.iter().copied()).collect();
    for (op, reference, single, _) in BINARY.iter().filter(|(op, ..)| is_flushed(*op)) {
        for (target, lanes) in flushing_forms() {
            let code = compile(&target, lanes, &[Scalar::F32; 2], flushing(call(*op)));
            let got: Vec<f32> = code.map(&a, &b, &[0u8; 0]);
            let found = worst(&pairs, &got, |(x, y), got| {
                let want = reference(flushed(x.into(), -126), flushed(y.into(), -126));
                ulp_flushed(got.into(), want, 24, -126, f32::MAX.into())
            });
            report(&mut failures, &form(*op, &target, lanes, "f32").flushing(), found, *single);
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Every pair of special values, and random pairs of every and of similar magnitude, these beside others and alone.
fn pairs() -> (Vec<f32>, Vec<f32>) {
    let magnitudes =
        [0.0, 1.0, 2.0, 3.0, 0.5, 1.5, 2.5, 0.1, 7.0, 1e-45, 1e-40, f32::MIN_POSITIVE, 1e-10, 8_388_609.0];
    let large = [16_777_215.0, 1e20, 1e38, f32::MAX, f32::INFINITY, f32::NAN];
    let special: Vec<f32> = magnitudes.into_iter().chain(large).flat_map(|x: f32| [x, -x]).collect();
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for x in &special {
        for y in &special {
            a.push(*x);
            b.push(*y);
        }
    }
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as u32
    };
    for _ in 0..20_000 {
        a.push(f32::from_bits(next()));
        b.push(f32::from_bits(next()));
        a.push((next() as f32 - 2e9) * 1e-7);
        b.push((next() as f32 - 2e9) * 1e-8);
    }
    // Beside each other only such as are not far apart, the half of them multiples and what lies in the middle between two.
    let length = a.len().next_multiple_of(32);
    a.resize(length, 1.0);
    b.resize(length, 1.0);
    for at in 0..20_000 {
        let (x, y) = ((next() as f32 - 2e9) * 1e-7, (next() as f32 - 2e9) * 1e-8);
        let halves = (next() % 64 + 1) as f32 * 0.5;
        let (x, y) = if at % 2 == 0 { (x, y) } else { ((next() % 8192) as f32 * 0.5 * halves, halves) };
        a.push(x);
        b.push(y);
    }
    let length = a.len().next_multiple_of(32);
    a.resize(length, 1.0);
    b.resize(length, 1.0);
    (a, b)
}

fn libm2(name: &str, x: f64, y: f64) -> f64 {
    let address = symbols::function_address(name).expect("in the table");
    // SAFETY: all names that tests pass are functions of two doubles.
    unsafe { std::mem::transmute::<usize, extern "C" fn(f64, f64) -> f64>(address)(x, y) }
}

fn powr(x: f64, y: f64) -> f64 {
    let undefined = x < 0.0
        || x.is_nan()
        || y.is_nan()
        || (y == 0.0 && (x == 0.0 || x.is_infinite()))
        || (x == 1.0 && y.is_infinite());
    if undefined { f64::NAN } else { libm2("pow", x.abs(), y) }
}

fn fmax(x: f64, y: f64) -> f64 {
    if y.is_nan() || x >= y { x } else { y }
}

fn fmin(x: f64, y: f64) -> f64 {
    if y.is_nan() || x <= y { x } else { y }
}

fn magnitudes(x: f64, y: f64, greater: bool) -> f64 {
    let (a, b) = if greater { (x.abs(), y.abs()) } else { (y.abs(), x.abs()) };
    match a.partial_cmp(&b) {
        Some(std::cmp::Ordering::Greater) => x,
        Some(std::cmp::Ordering::Less) => y,
        _ if greater => fmax(x, y),
        _ => fmin(x, y),
    }
}

fn nextafter_f32(x: f64, y: f64) -> f64 {
    let (x, y) = (x as f32, y as f32);
    if x.is_nan() || y.is_nan() {
        return f64::NAN;
    }
    if x == y {
        y.into()
    } else if y > x {
        x.next_up().into()
    } else {
        x.next_down().into()
    }
}

type Binary = (StdOp, fn(f64, f64) -> f64, f64, f64);

/// Signs of zeros are not compared for functions that leave them open.
const BINARY: &[Binary] = &[
    (StdOp::atan2, f64::atan2, 6.0, 2.0),
    (StdOp::atan2pi, |y, x| over_pi(y.atan2(x)), 6.0, 2.0),
    (StdOp::copysign, f64::copysign, 0.0, 0.0),
    (StdOp::fdim, |x, y| if x <= y { 0.0 } else { x - y }, 0.5, 0.5),
    (StdOp::fmod, |x, y| x % y, 0.0, 0.0),
    (StdOp::remainder, |x, y| libm2("remainder", x, y), 0.0, 0.0),
    (StdOp::hypot, |x, y| libm2("hypot", x, y), 4.0, 2.0),
    (StdOp::pow, |x, y| libm2("pow", x, y), 16.0, 4.0),
    (StdOp::powr, powr, 16.0, 4.0),
    (StdOp::nextafter, nextafter_f32, 0.0, f64::INFINITY),
    (StdOp::half_divide, |x, y| x / y, 8192.0, 8192.0),
    (StdOp::step, |edge, x| if x < edge { 0.0 } else { 1.0 }, 0.0, 0.0),
];

/// Functions of numbers of the type of their result, and how many they take.
pub fn functions() -> Vec<(StdOp, usize)> {
    let unary = UNARY.iter().map(|(op, ..)| (*op, 1));
    unary.chain(BINARY.iter().map(|(op, ..)| (*op, 2))).collect()
}

const BINARY_OPEN_ZEROS: &[Binary] = &[
    (StdOp::fmax, fmax, 0.0, 0.0),
    (StdOp::fmin, fmin, 0.0, 0.0),
    (StdOp::maxmag, |x, y| magnitudes(x, y, true), 0.0, 0.0),
    (StdOp::minmag, |x, y| magnitudes(x, y, false), 0.0, 0.0),
];

#[test]
fn binary_functions_are_within_their_bounds() {
    let (a, b) = pairs();
    let (a16, b16): (Vec<f16>, Vec<f16>) =
        (a.iter().map(|x| f16::from_f32(*x)).collect(), b.iter().map(|x| f16::from_f32(*x)).collect());
    let mut failures = Vec::new();
    for (target, lanes) in forms() {
        for lanes in lanes {
            for (at, (op, reference, single, half)) in BINARY.iter().chain(BINARY_OPEN_ZEROS).enumerate() {
                let plus_zero = |x: f64| if at >= BINARY.len() { x + 0.0 } else { x };
                let what = |ty| form(*op, &target, lanes, ty);
                let code = compile(&target, lanes, &[Scalar::F32; 2], call(*op));
                let got: Vec<f32> = code.map(&a, &b, &[0u8; 0]);
                let pairs: Vec<(f32, f32)> = a.iter().copied().zip(b.iter().copied()).collect();
                let found = worst(&pairs, &got, |(x, y), got| {
                    ulp_f32(plus_zero(got.into()) as f32, plus_zero(reference(x.into(), y.into())))
                });
                report(&mut failures, &what("f32"), found, *single);
                let code = compile(&target, lanes, &[Scalar::F16; 2], call(*op));
                let got: Vec<f16> = code.map(&a16, &b16, &[0u8; 0]);
                let pairs: Vec<(f16, f16)> = a16.iter().copied().zip(b16.iter().copied()).collect();
                let found = worst(&pairs, &got, |(x, y), got| {
                    let want = plus_zero(reference(x.into(), y.into()));
                    ulp_f16(f16::from_f64(plus_zero(got.into())), want)
                });
                report(&mut failures, &what("f16"), found, *half);
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn what_is_not_a_number_is_clamped_to_the_least() {
    let (a, b) = pairs();
    let c: Vec<f32> = b.iter().rev().copied().collect();
    for (target, lanes) in forms() {
        for lanes in lanes {
            let code = compile(&target, lanes, &[Scalar::F32; 3], call(StdOp::fclamp));
            let got: Vec<f32> = code.map(&a, &b, &c);
            for (((x, least), most), got) in a.iter().zip(&b).zip(&c).zip(got) {
                let of = |x: f32| f64::from(x);
                let want = fmin(fmax(of(*x), of(*least)), of(*most));
                let is_same = of(got) == want || (got.is_nan() && want.is_nan());
                let what = format!("{lanes} lanes: {x} from {least} to {most} is {got}");
                assert!(is_same || least > most, "{what}");
            }
        }
    }
}

#[test]
fn powers_by_small_constants_are_products() {
    type Product = fn(f32) -> f32;
    let products: [(u32, Product); 8] = [
        (1, |x| x),
        (2, |x| x * x),
        (3, |x| x * x * x),
        (4, |x| (x * x) * (x * x)),
        (5, |x| (x * x) * (x * x) * x),
        (6, |x| (x * x) * (x * x) * (x * x)),
        (7, |x| (x * (x * x)) * ((x * x) * (x * x))),
        (8, |x| ((x * x) * (x * x)) * ((x * x) * (x * x))),
    ];
    let inputs = sweep_f32();
    let power = |op, m: &Element<'_>, x, y| match table::function(op) {
        Some(function) => vec![function.call(m, &[x, y])],
        None => panic!("not in the table"),
    };
    for (target, lanes) in forms().into_iter().filter_map(|(target, lanes)| Some((target, *lanes.last()?))) {
        for (n, product) in products {
            let floats =
                compile(&target, lanes, &[Scalar::F32], |m, x| power(StdOp::pow, m, x[0], m.c(n.into())));
            let integers = compile(&target, lanes, &[Scalar::F32], |m, x| {
                power(StdOp::pown, m, x[0], m.b.int(Scalar::I32, m.lanes, n.into()))
            });
            for code in [floats, integers] {
                let got: Vec<f32> = code.map(&inputs, &[0u8; 0], &[0u8; 0]);
                let differ = |(x, got): (&f32, &f32)| {
                    let want = product(*x);
                    got.to_bits() != want.to_bits() && !(got.is_nan() && want.is_nan())
                };
                let wrong = inputs.iter().zip(&got).find(|pair| differ(*pair));
                assert!(wrong.is_none(), "power {n}: {wrong:?}");
            }
        }
    }
}

fn pown(x: f64, n: i32) -> f64 {
    libm2("pow", x, n.into())
}

fn rootn(x: f64, n: i32) -> f64 {
    if n == 0 || (n % 2 == 0 && x < 0.0) || x.is_nan() {
        return f64::NAN;
    }
    let root = libm2("pow", x.abs(), 1.0 / f64::from(n));
    if n % 2 == 0 { root } else { root.copysign(x) }
}

fn scaled(x: f64, n: i32) -> f64 {
    // Two steps, because f64 holds fewer powers of two than there are results; f32's are exact.
    let n = n.clamp(-900, 900);
    x * f64::powi(2.0, n / 2) * f64::powi(2.0, n - n / 2)
}

#[test]
fn functions_of_a_float_and_an_integer_are_within_their_bounds() {
    type Function = (StdOp, fn(f64, i32) -> f64, f64, f64);
    const FUNCTIONS: &[Function] =
        &[(StdOp::pown, pown, 16.0, 4.0), (StdOp::rootn, rootn, 16.0, 4.0), (StdOp::ldexp, scaled, 0.5, 0.5)];
    let (a, seeds) = pairs();
    let integers = [
        0,
        1,
        -1,
        2,
        -2,
        3,
        -3,
        5,
        -6,
        7,
        -7,
        8,
        -8,
        9,
        -9,
        10,
        -11,
        24,
        100,
        -126,
        127,
        -149,
        -150,
        300,
        -400,
        i32::MAX,
        i32::MIN,
    ];
    let n: Vec<i32> = seeds
        .iter()
        .enumerate()
        .map(|(at, x)| integers.get(at % (integers.len() + 3)).copied().unwrap_or(*x as i32))
        .collect();
    let a16: Vec<f16> = a.iter().map(|x| f16::from_f32(*x)).collect();
    let mut failures = Vec::new();
    for (target, lanes) in forms() {
        for lanes in lanes {
            for (op, reference, single, half) in FUNCTIONS {
                let what = |ty| form(*op, &target, lanes, ty);
                let code = compile(&target, lanes, &[Scalar::F32, Scalar::I32], call(*op));
                let got: Vec<f32> = code.map(&a, &n, &[0u8; 0]);
                let inputs: Vec<(f32, i32)> = a.iter().copied().zip(n.iter().copied()).collect();
                let found = worst(&inputs, &got, |(x, n), got| ulp_f32(got, reference(x.into(), n)));
                report(&mut failures, &what("f32"), found, *single);
                let code = compile(&target, lanes, &[Scalar::F16, Scalar::I32], call(*op));
                let got: Vec<f16> = code.map(&a16, &n, &[0u8; 0]);
                let inputs: Vec<(f16, i32)> = a16.iter().copied().zip(n.iter().copied()).collect();
                let found = worst(&inputs, &got, |(x, n), got| ulp_f16(got, reference(x.into(), n)));
                report(&mut failures, &what("f16"), found, *half);
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The exponent and the fraction in 0.5..1.
fn frexp(x: f64) -> (f64, f64) {
    if x == 0.0 || !x.is_finite() {
        return (x, 0.0);
    }
    let exponent = x.abs().log2().floor() as i32 + 1;
    (x / f64::powi(2.0, exponent), exponent.into())
}

fn remquo(x: f64, y: f64) -> (f64, f64) {
    let rest = libm2("remainder", x, y);
    if rest.is_nan() {
        return (rest, 0.0);
    }
    let reduced = x % (y * 128.0);
    (rest, ((reduced - rest) / y).round() % 128.0 + 0.0)
}

#[test]
fn functions_with_two_results_are_exact() {
    /// Both results of the pair, the second as a number.
    type Reference = fn(f64, f64) -> (f64, f64);
    let modf: Reference = |x, _| ((if x.is_infinite() { 0.0 } else { x - x.trunc() }).copysign(x), x.trunc());
    let fract: Reference = |x, _| {
        let fraction = if x.is_infinite() {
            0f64.copysign(x)
        } else if x == 0.0 {
            x
        } else {
            x - x.floor()
        };
        (fraction.min(if x.is_nan() { x } else { 1.0 - f64::powi(2.0, -24) }), x.floor())
    };
    let lgamma_r: Reference = |x, _| {
        let between = x < 0.0 && x != x.floor() && x.floor() % 2.0 != 0.0;
        let negative = between || (x == 0.0 && x.is_sign_negative());
        (libm("lgamma", x), if negative { -1.0 } else { 1.0 })
    };
    let functions: [(StdOp, Reference, bool, f64); 6] = [
        (StdOp::modf, modf, false, 0.0),
        (StdOp::fract, fract, false, 0.5),
        (StdOp::frexp, |x, _| frexp(x), true, 0.0),
        (StdOp::lgamma_r, lgamma_r, true, 16.0),
        (StdOp::remquo, remquo, true, 0.0),
        (StdOp::sincos, |x, _| (x.sin(), x.cos()), false, 4.0),
    ];
    let (a, b) = pairs();
    let mut failures = Vec::new();
    for (target, lanes) in forms() {
        for lanes in lanes {
            for (op, reference, integer, bound) in functions {
                let function = table::pair_function(op).expect("has two results");
                let code = compile(&target, lanes, &[Scalar::F32; 2], |m, x| function(m, x).to_vec());
                let (mut first, mut second) = (vec![0f32; a.len()], vec![0u32; a.len()]);
                for at in (0..a.len()).step_by(code.lanes) {
                    let part = at..(at + code.lanes).min(a.len());
                    let (first, second) = (&mut first[part.clone()], &mut second[part.clone()]);
                    code.call(&a[part.clone()], &b[part], &[0u8; 0], first, second);
                }
                let inputs: Vec<(f64, f64)> =
                    a.iter().copied().map(f64::from).zip(b.iter().copied().map(f64::from)).collect();
                let what = |ty| form(op, &target, lanes, ty);
                let found = worst(&inputs, &first, |(x, y), got| ulp_f32(got, reference(x, y).0));
                // The library's logarithm of the gamma function has no bound near its zeros.
                let bound = if op == StdOp::lgamma_r { f64::INFINITY } else { bound };
                report(&mut failures, &what("f32"), found, bound);
                let found = worst(&inputs, &second, |(x, y), got| {
                    let want = reference(x, y).1;
                    if !integer {
                        return ulp_f32(f32::from_bits(got), want);
                    }
                    let is_right = x.is_nan() || f64::from(got as i32) == want;
                    if is_right { 0.0 } else { f64::INFINITY }
                });
                report(&mut failures, &what("f32, second result"), found, bound);
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// A multiple of 2^-48 as the nearest half.
fn round_to_half(units: i128) -> f16 {
    let magnitude = units.unsigned_abs();
    let bits = 128 - magnitude.leading_zeros() as i32;
    // Units of the last place: 2^-24 for small numbers, else 11 digits.
    let shift = (bits - 11).max(24) as u32;
    let (kept, rest, half) = (magnitude >> shift, magnitude & ((1 << shift) - 1), 1u128 << (shift - 1));
    let rounded = kept + u128::from(rest > half || (rest == half && kept % 2 == 1));
    let value = rounded as f64 * f64::powi(2.0, shift as i32 - 48);
    f16::from_f64(if units < 0 { -value } else { value })
}

#[test]
fn half_fma_is_rounded_once() {
    let (a, b) = pairs();
    let half = |x: &f32| f16::from_f32(*x);
    let c: Vec<f16> = a.iter().rev().map(half).collect();
    let mut inputs: Vec<[f16; 3]> =
        a.iter().zip(&b).zip(c).map(|((a, b), c)| [half(a), half(b), c]).collect();
    // A tie and a little more or less.
    for tiny in [1u16, 0x8001, 0x0400, 0x8400] {
        inputs.push([0x3c01, 0x3c01, tiny].map(f16::from_bits));
        inputs.push([tiny, 0x2c00, 0x6bff].map(f16::from_bits));
    }
    inputs.retain(|x| x.iter().all(|x| x.is_finite()));
    inputs.resize(inputs.len().next_multiple_of(32), [f16::ONE; 3]);
    let column = |at: usize| inputs.iter().map(|x| x[at]).collect::<Vec<_>>();
    for (target, lanes) in forms() {
        for lanes in lanes {
            let code = compile(&target, lanes, &[Scalar::F16; 3], call(StdOp::fma));
            let got: Vec<f16> = code.map(&column(0), &column(1), &column(2));
            for ([a, b, c], got) in inputs.iter().zip(got) {
                let units = |x: f16| (x.to_f64() * f64::powi(2.0, 24)) as i128;
                let want = round_to_half(units(*a) * units(*b) + (units(*c) << 24));
                assert!(got == want, "fma({a:e}, {b:e}, {c:e}) is {got:e}, not {want:e}: {lanes} lanes");
            }
        }
    }
}
