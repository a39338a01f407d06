//! Functions of f64 against MPFR, within the bounds of OpenCL SPIR-V Env 3.0 §6.6.1.

use super::{
    SPARSE, asked_for, call, compile, flushing, flushing_forms, form, forms, is_flushed, report, worst,
};
use crate::analysis::leaves::Scalar;
use spirv::OpenclStd100Op as StdOp;
use ze_tests::Random;
use ze_tests::mpfr::{Reference, evaluate};
use ze_tests::ulp::ulp_f64;

/// Random numbers of every magnitude, of ordinary ones, and near 1; half of them positive; and special values.
pub fn sweep() -> Vec<f64> {
    let special =
        [0.0, 1.0, 0.5, 1.5, 2.0, 3.0, 1e300, 5e-324, f64::MIN_POSITIVE, f64::MAX, f64::INFINITY, f64::NAN];
    let mut all: Vec<f64> = special.into_iter().flat_map(|x| [x, -x]).collect();
    let mut random = Random::new(2024);
    let mut next = || random.next_u64();
    for _ in 0..1500 * SPARSE / asked_for().unwrap_or(SPARSE) {
        all.push(f64::from_bits(next()));
        all.push((next() as i64 as f64) * f64::powi(2.0, -56));
        all.push((next() as i64 as f64) * f64::powi(2.0, -63));
        all.push(1.0 + (next() as i64 as f64) * f64::powi(2.0, -72));
    }
    all.resize(all.len().next_multiple_of(32), 0.25);
    all
}

/// Functions of one number of the type of their result.
pub fn functions() -> Vec<(StdOp, usize)> {
    UNARY.iter().map(|(op, ..)| (*op, 1)).collect()
}

/// A function, its name in MPFR, and its bound.
const UNARY: &[(StdOp, &str, f64)] = &[
    (StdOp::acos, "acos", 4.0),
    (StdOp::acosh, "acosh", 4.0),
    (StdOp::acospi, "acospi", 5.0),
    (StdOp::asin, "asin", 4.0),
    (StdOp::asinh, "asinh", 4.0),
    (StdOp::asinpi, "asinpi", 5.0),
    (StdOp::atan, "atan", 5.0),
    (StdOp::atanh, "atanh", 5.0),
    (StdOp::atanpi, "atanpi", 5.0),
    (StdOp::cbrt, "cbrt", 2.0),
    (StdOp::cos, "cos", 4.0),
    (StdOp::cosh, "cosh", 4.0),
    (StdOp::cospi, "cospi", 4.0),
    (StdOp::erf, "erf", 16.0),
    (StdOp::erfc, "erfc", 16.0),
    (StdOp::exp, "exp", 3.0),
    (StdOp::exp2, "exp2", 3.0),
    (StdOp::exp10, "exp10", 3.0),
    (StdOp::expm1, "expm1", 3.0),
    (StdOp::log, "log", 3.0),
    (StdOp::log2, "log2", 3.0),
    (StdOp::log10, "log10", 3.0),
    (StdOp::log1p, "log1p", 2.0),
    (StdOp::rsqrt, "rec_sqrt", 2.0),
    (StdOp::sin, "sin", 4.0),
    (StdOp::sinh, "sinh", 4.0),
    (StdOp::sinpi, "sinpi", 4.0),
    (StdOp::sqrt, "sqrt", 0.5),
    (StdOp::tan, "tan", 5.0),
    (StdOp::tanh, "tanh", 5.0),
    (StdOp::tanpi, "tanpi", 6.0),
    (StdOp::tgamma, "gamma", 16.0),
    (StdOp::lgamma, "lngamma", f64::INFINITY),
];

#[test]
fn unary_functions_are_within_their_bounds() {
    let inputs = sweep();
    let forms = forms();
    let mut failures = Vec::new();
    for (op, name, bound) in UNARY {
        let wanted: Vec<(f64, Reference)> = inputs
            .iter()
            // MPFR sees no sign in zeros here, and poles of the gamma function at infinity.
            .filter(|x| !matches!(op, StdOp::tgamma | StdOp::rsqrt) || (x.is_finite() && **x != 0.0))
            .map(|x| (*x, evaluate(name, &[*x])))
            .collect();
        let x: Vec<f64> = wanted.iter().map(|(x, _)| *x).collect();
        for (target, lanes) in &forms {
            for &lanes in lanes {
                let code = compile(target, lanes, &[Scalar::F64], call(*op));
                let got: Vec<f64> = code.map(&x, &[0u8; 0], &[0u8; 0]);
                let found = worst(&wanted, &got, |(_, want), got| ulp_f64(got, want));
                let what = form(*op, target, lanes, "f64");
                report(&mut failures, &what, found, *bound);
            }
        }
        if !is_flushed(*op) {
            continue;
        }
        // Denormals are zeros, of which the reference has no sign for two of the functions.
        let (tiny, zeros) =
            (|x: f64| x.abs() < f64::MIN_POSITIVE, !matches!(op, StdOp::tgamma | StdOp::rsqrt));
        let wanted: Vec<(f64, Reference)> = wanted
            .into_iter()
            .filter(|(x, _)| zeros || !tiny(*x))
            .map(|(x, want)| (x, if tiny(x) { evaluate(name, &[0f64.copysign(x)]) } else { want }))
            .collect();
        let x: Vec<f64> = wanted.iter().map(|(x, _)| *x).collect();
        for (target, lanes) in flushing_forms() {
            let code = compile(&target, lanes, &[Scalar::F64], flushing(call(*op)));
            let got: Vec<f64> = code.map(&x, &[0u8; 0], &[0u8; 0]);
            let found = worst(&wanted, &got, |(_, want), got| match got {
                _ if got != 0.0 && tiny(got) => f64::INFINITY,
                0.0 if want.high.abs() < f64::MIN_POSITIVE * (1.0 + 16.0 * f64::EPSILON) => 0.0,
                _ => ulp_f64(got, want),
            });
            report(&mut failures, &form(*op, &target, lanes, "f64").flushing(), found, *bound);
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn pairs() -> (Vec<f64>, Vec<f64>) {
    let special = [0.0, 1.0, 2.0, 3.0, 0.5, 1.5, 1e-310, 5e-324, 1e300, 1e10, 9e15, f64::INFINITY, f64::NAN];
    let special: Vec<f64> = special.into_iter().flat_map(|x| [x, -x]).collect();
    let mut pairs: Vec<(f64, f64)> = special.iter().flat_map(|x| special.iter().map(|y| (*x, *y))).collect();
    let mut random = Random::new(7);
    for _ in 0..1500 {
        let mut next = || random.next_u64();
        pairs.push((f64::from_bits(next()), f64::from_bits(next())));
        let mut near = |power: i32| (next() as i64 as f64) * f64::powi(2.0, power);
        pairs.push((near(-60).abs(), near(-56)));
    }
    // Powers in range of numbers next to 1, whose exponents are large.
    for _ in 0..1500 {
        let mut near = |power: i32| (random.next_u64() as i64 as f64) * f64::powi(2.0, power);
        let x = 1.0 + near(-67);
        pairs.push((x, near(-53) / x.log2()));
    }
    let length = pairs.len().next_multiple_of(32);
    pairs.resize(length, (1.0, 1.0));
    // Remainders have a way for vectors without large quotients.
    for at in 0..640 {
        let mut near = || (random.next_u64() as i64 as f64) * f64::powi(2.0, -60);
        let (x, y) = (near(), near() * f64::powi(2.0, -(at % 40)));
        pairs.push(if at % 7 == 0 { ((y * 2.0).round() * x * 0.5, x) } else { (x, y) });
    }
    pairs.into_iter().unzip()
}

/// `x^(1/n)` as `exp(log(x) / n)` with about 100 bits.
fn rootn(x: f64, n: f64) -> Reference {
    let log = evaluate("log", &[x.abs()]);
    let high = log.high / n;
    let low = ((-high).mul_add(n, log.high) + log.low) / n;
    let root = evaluate("exp", &[high]);
    let correction = root.high * low;
    let sum = root.high + correction;
    let sign = if n % 2.0 != 0.0 { 1f64.copysign(x) } else { 1.0 };
    Reference { high: sign * sum, low: sign * ((root.high - sum) + correction + root.low) }
}

#[test]
fn binary_functions_are_within_their_bounds() {
    type Function = (StdOp, fn(f64, f64) -> Reference, f64);
    const FUNCTIONS: &[Function] = &[
        (StdOp::atan2, |y, x| evaluate("atan2", &[y, x]), 6.0),
        (StdOp::atan2pi, |y, x| evaluate("atan2pi", &[y, x]), 6.0),
        (StdOp::hypot, |x, y| evaluate("hypot", &[x, y]), 4.0),
        (StdOp::pow, |x, y| evaluate("pow", &[x, y]), 16.0),
        (StdOp::fmod, |x, y| evaluate("fmod", &[x, y]), 0.0),
        (StdOp::remainder, |x, y| evaluate("remainder", &[x, y]), 0.0),
    ];
    let (a, b) = pairs();
    let mut failures = Vec::new();
    for (op, reference, bound) in FUNCTIONS {
        let wanted: Vec<(f64, f64, Reference)> =
            a.iter().zip(&b).map(|(a, b)| (*a, *b, reference(*a, *b))).collect();
        for (target, lanes) in forms() {
            for lanes in lanes {
                let code = compile(&target, lanes, &[Scalar::F64; 2], call(*op));
                let got: Vec<f64> = code.map(&a, &b, &[0u8; 0]);
                let found = worst(&wanted, &got, |(_, _, want), got| ulp_f64(got, want));
                let what = form(*op, &target, lanes, "f64");
                report(&mut failures, &what, found, *bound);
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn functions_of_a_float_and_an_integer_are_within_their_bounds() {
    let (a, _) = pairs();
    let integers = [
        0, 1, -1, 2, -2, 3, -3, 5, -6, 7, -7, 8, -8, 9, 10, -11, 24, 100, -126, 1023, -1030, -1074, 2000,
        -2200,
    ];
    let n: Vec<i32> = (0..a.len()).map(|at| integers[at % integers.len()]).collect();
    type Function = (StdOp, fn(f64, f64) -> Reference, f64);
    const FUNCTIONS: &[Function] = &[
        (StdOp::pown, |x, n| evaluate("pow", &[x, n]), 16.0),
        (StdOp::rootn, rootn, 16.0),
        (StdOp::ldexp, |x, n| evaluate("mul", &[x, f64::powi(2.0, n as i32)]), 0.5),
    ];
    let mut failures = Vec::new();
    for (op, reference, bound) in FUNCTIONS {
        let inputs: Vec<(f64, i32)> = a
            .iter()
            .copied()
            .zip(n.iter().copied())
            .filter(|(x, n)| match op {
                // The reference is finite.
                StdOp::rootn => (1e-300..1e300).contains(&x.abs()) && (*x > 0.0 || n % 2 != 0),
                // The reference's factor is one double.
                StdOp::ldexp => (-1022..1023).contains(n),
                _ => true,
            })
            .collect();
        let (x, n): (Vec<f64>, Vec<i32>) = inputs.iter().copied().unzip();
        let wanted: Vec<(f64, i32, Reference)> =
            inputs.iter().map(|(x, n)| (*x, *n, reference(*x, f64::from(*n)))).collect();
        for (target, lanes) in forms() {
            for lanes in lanes {
                let code = compile(&target, lanes, &[Scalar::F64, Scalar::I32], call(*op));
                let got: Vec<f64> = code.map(&x, &n, &[0u8; 0]);
                let found = worst(&wanted, &got, |(_, _, want), got| ulp_f64(got, want));
                let what = form(*op, &target, lanes, "f64");
                report(&mut failures, &what, found, *bound);
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The root of what is nearly zero is infinite, and an infinity is longer than what is no number, signalling or not.
#[test]
fn what_is_infinite_is_so_in_every_form() {
    let [tiny, nan, signalling] = [f64::from_bits(0xfff), f64::NAN, f64::from_bits(0x7ff0_0000_0000_0001)];
    let roots = [(tiny, f64::INFINITY), (-tiny, f64::NEG_INFINITY), (4.0, 0.25), (f64::INFINITY, 0.0)];
    let inf = f64::INFINITY;
    let sides = [(inf, nan), (-inf, signalling), (nan, -inf), (signalling, inf), (inf, 1.0), (-2.0, -inf)];
    for (target, lanes) in forms() {
        for lanes in lanes {
            let code = compile(&target, lanes, &[Scalar::F64, Scalar::I32], call(StdOp::rootn));
            let x: Vec<f64> = roots.iter().map(|(x, _)| *x).cycle().take(64).collect();
            let got: Vec<f64> = code.map(&x, &[-1i32; 64], &[0u8; 0]);
            let wanted: Vec<f64> = roots.iter().map(|(_, root)| *root).cycle().take(64).collect();
            assert_eq!(got, wanted, "rootn, {lanes} lanes of {} bits", target.simd_bits());
            let code = compile(&target, lanes, &[Scalar::F64, Scalar::F64], call(StdOp::hypot));
            let [a, b]: [Vec<f64>; 2] = [|of: &(f64, f64)| of.0, |of: &(f64, f64)| of.1]
                .map(|of| sides.iter().map(of).cycle().take(64).collect());
            let got: Vec<f64> = code.map(&a, &b, &[0u8; 0]);
            assert_eq!(got, [inf; 64], "hypot, {lanes} lanes of {} bits", target.simd_bits());
        }
    }
}
