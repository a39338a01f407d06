//! Mathematical functions with integers, through pointers, in half turns, and on halves. The engine's own tests
//! measure how accurate they are; these see that each instruction is the right function and stores where it shall.

use half::f16;
use ze_tests::mpfr::evaluate;
use ze_tests::{Module, Random, platform};

const N: usize = 1003;

/// A float type: its name in kernels and the relative error that is allowed.
trait Float: Copy + Into<f64> + 'static {
    const NAME: &'static str;
    const TOLERANCE: f64;
    const ZERO: Self;
    fn narrow(value: f64) -> Self;
    /// The next number after `x` towards `y`.
    fn next(x: Self, y: Self) -> f64;
}

macro_rules! float {
    ($type:ident $tolerance:literal) => {
        impl Float for $type {
            const NAME: &'static str = stringify!($type);
            const TOLERANCE: f64 = $tolerance;
            const ZERO: $type = 0.0;
            fn narrow(value: f64) -> $type {
                value as $type
            }
            fn next(x: $type, y: $type) -> f64 {
                (if y > x { x.next_up() } else { x.next_down() }).into()
            }
        }
    };
}
float!(f32 2e-6);
float!(f64 1e-14);

fn kernel_name<T: Float>(name: &str) -> String {
    format!("{name}_{}", if T::NAME == "f32" { "float" } else { "double" })
}

fn numbers<T: Float>(seed: u64, low: f64, high: f64) -> Vec<T> {
    let mut random = Random::new(seed);
    let mut fraction = || (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    (0..N).map(|_| T::narrow(low + (high - low) * fraction())).collect()
}

#[track_caller]
fn close<T: Float>(what: &str, got: T, want: f64) {
    let got: f64 = got.into();
    let same = got == want || (got.is_nan() && want.is_nan());
    let bound = T::TOLERANCE * want.abs().max(1e-3);
    assert!(same || (got - want).abs() <= bound, "{} {what}: {got:e}, not {want:e}", T::NAME);
}

fn unary<T: Float>() {
    let x: Vec<T> = numbers(1, -1.0, 1.0);
    let out = platform().filled(T::ZERO, 9 * N);
    let kernel = Module::named("math_signatures").kernel(&kernel_name::<T>("unary"));
    kernel.run_1d(N, 64, &[&platform().buffer(&x), &out, &(N as u32)]);
    let functions = ["acospi", "asinpi", "atanpi", "cospi", "sinpi", "tanpi", "gamma"];
    for (i, x) in x.into_iter().map(Into::<f64>::into).enumerate() {
        for (slot, function) in functions.iter().enumerate() {
            close(&format!("{function}({x})"), out[slot * N + i], evaluate(function, &[x]).high);
        }
        // Near its zeros and poles, the logarithm of the gamma function has no relative error bound.
        let lgamma = evaluate("gamma", &[x]).high.abs().ln();
        let got: f64 = out[7 * N + i].into();
        assert!((got - lgamma).abs() < T::TOLERANCE * lgamma.abs().max(1.0) * 10.0, "lgamma({x}) is {got}");
        close(&format!("logb({x})"), out[8 * N + i], x.abs().log2().floor());
    }
}

fn binary<T: Float>() {
    let (x, y): (Vec<T>, Vec<T>) = (numbers(2, -9.0, 9.0), numbers(3, -3.0, 3.0));
    let out = platform().filled(T::ZERO, 8 * N);
    let kernel = Module::named("math_signatures").kernel(&kernel_name::<T>("binary"));
    kernel.run_1d(N, 64, &[&platform().buffer(&x), &platform().buffer(&y), &out, &(N as u32)]);
    for i in 0..N {
        let (a, b): (f64, f64) = (x[i].into(), y[i].into());
        let smooth = ((a + 1.0) / 2.0).clamp(0.0, 1.0);
        let want = [
            evaluate("atan2pi", &[a, b]).high,
            evaluate("remainder", &[a, b]).high,
            T::next(x[i], y[i]),
            if a.abs() > b.abs() { a } else { b },
            if a.abs() < b.abs() { a } else { b },
            a.abs().powf(b),
            a % b,
            smooth * smooth * (3.0 - 2.0 * smooth),
        ];
        for (slot, want) in want.into_iter().enumerate() {
            if matches!(slot, 1..=4 | 6) {
                assert_eq!(Into::<f64>::into(out[slot * N + i]), want, "slot {slot} of {a}, {b}");
            } else {
                close(&format!("slot {slot} of {a}, {b}"), out[slot * N + i], want);
            }
        }
    }
}

fn with_integers<T: Float>() {
    let x: Vec<T> = numbers(4, -4.0, 4.0);
    let k: Vec<i32> = (0..N as i32).map(|i| i % 25 - 12).collect();
    let (out, exponents) = (platform().filled(T::ZERO, 3 * N), platform().filled(0i32, N));
    let kernel = Module::named("math_signatures").kernel(&kernel_name::<T>("with_integers"));
    let buffers = (platform().buffer(&x), platform().buffer(&k));
    kernel.run_1d(N, 64, &[&buffers.0, &buffers.1, &out, &exponents, &(N as u32)]);
    for (i, (x, k)) in x.into_iter().map(Into::<f64>::into).zip(k).enumerate() {
        let pown = evaluate("pow", &[x, k.into()]).high;
        let got: f64 = out[i].into();
        assert!((got - pown).abs() <= T::TOLERANCE * pown.abs(), "pown({x}, {k}) is {got}, not {pown}");
        let rootn = if k == 0 { f64::NAN } else { x.abs().powf(1.0 / f64::from(k)) };
        close(&format!("rootn({x}, {k})"), out[N + i], rootn);
        assert_eq!(Into::<f64>::into(out[2 * N + i]), x * f64::powi(2.0, k), "ldexp({x}, {k})");
        assert_eq!(exponents[i], x.abs().log2().floor() as i32, "ilogb({x})");
    }
}

/// Powers and roots of zeros, infinities and numbers that are no number (OpenCL C 3.0 §7.5.1).
fn edges<T: Float>() {
    let bases = [0.0, f64::INFINITY, 1.0, f64::NAN, 4.0];
    let signed = bases.into_iter().flat_map(|x| [x, -x]);
    let (x, k): (Vec<f64>, Vec<i32>) =
        signed.flat_map(|x| [-5, -2, -1, 0, 1, 2, 3, 6].map(|k| (x, k))).unzip();
    let n = x.len();
    let out = platform().filled(T::ZERO, 2 * n);
    let kernel = Module::named("math_signatures").kernel(&kernel_name::<T>("edges"));
    let of_type: Vec<T> = x.iter().map(|x| T::narrow(*x)).collect();
    kernel.run_1d(n, 64, &[&platform().buffer(&of_type), &platform().buffer(&k), &out, &(n as u32)]);
    let rootn = |x: f64, k: i32| {
        let is_odd = k % 2 != 0;
        match () {
            () if k == 0 || x.is_nan() || (x < 0.0 && !is_odd) => f64::NAN,
            () if is_odd => x.abs().powf(1.0 / f64::from(k)).copysign(x),
            () => x.abs().powf(1.0 / f64::from(k)),
        }
    };
    for (i, (x, k)) in x.into_iter().zip(k).enumerate() {
        for (slot, want) in [x.powi(k), rootn(x, k)].into_iter().enumerate() {
            let got: f64 = out[slot * n + i].into();
            let is_same =
                if want.is_nan() { got.is_nan() } else { got.is_sign_positive() == want.is_sign_positive() };
            let is_near = want.is_nan() || got == want || (got - want).abs() <= T::TOLERANCE * want.abs();
            assert!(is_same && is_near, "slot {slot} of {x} and {k} is {got}, not {want}");
        }
    }
}

fn fraction_and_exponent(x: f64) -> (f64, i32) {
    let exponent = x.abs().log2().floor() as i32 + 1;
    (x / f64::powi(2.0, exponent), exponent)
}

fn through_pointers<T: Float>() {
    let (x, y): (Vec<T>, Vec<T>) = (numbers(5, -40.0, 40.0), numbers(6, 0.5, 3.0));
    let (out, seconds) = (platform().filled(T::ZERO, 6 * N), platform().filled(T::ZERO, 3 * N));
    let integers = platform().filled(77i32, 3 * N);
    let kernel = Module::named("math_signatures").kernel(&kernel_name::<T>("through_pointers"));
    let buffers = (platform().buffer(&x), platform().buffer(&y));
    kernel.run_1d(N, 64, &[&buffers.0, &buffers.1, &out, &seconds, &integers, &(N as u32)]);
    for i in 0..N {
        let (x, y): (f64, f64) = (x[i].into(), y[i].into());
        close("sine", out[i], x.sin());
        close("cosine", seconds[i], x.cos());
        close("fraction", out[N + i], x - x.floor());
        close("floor", seconds[N + i], x.floor());
        close("fraction", out[2 * N + i], x.fract());
        close("integer", seconds[2 * N + i], x.trunc());
        let (fraction, exponent) = fraction_and_exponent(x);
        close("fraction", out[3 * N + i], fraction);
        assert_eq!(integers[i], exponent, "exponent of {x}");
        let remainder = evaluate("remainder", &[x, y]).high;
        close("remainder", out[4 * N + i], remainder);
        assert_eq!(integers[N + i], ((x - remainder) / y).round() as i32, "quotient of {x} and {y}");
        if x > 0.0 {
            let want = evaluate("lngamma", &[x]).high;
            let got: f64 = out[5 * N + i].into();
            assert!((got - want).abs() <= T::TOLERANCE * want.abs().max(1.0), "lgamma_r({x}) is {got}");
        }
        assert_eq!(integers[2 * N + i], if x > 0.0 { 1 } else { 77 }, "sign of the gamma function at {x}");
    }
}

fn vectors_through_pointers<T: Float>() {
    let items = N / 4;
    let x: Vec<T> = numbers(7, -40.0, 40.0);
    let (out, seconds) = (platform().filled(T::ZERO, 7 * items), platform().filled(T::ZERO, 4 * items));
    let integers = platform().filled(0i32, 3 * items);
    let kernel = Module::named("math_signatures").kernel(&kernel_name::<T>("vectors_through_pointers"));
    kernel.run_1d(items, 64, &[&platform().buffer(&x), &out, &seconds, &integers, &(items as u32)]);
    for i in 0..4 * items {
        let x: f64 = x[i].into();
        close("fraction", out[i], x.fract());
        close("integer", seconds[i], x.trunc());
    }
    for i in 0..3 * items {
        let (fraction, exponent) = fraction_and_exponent(x[i].into());
        close("fraction", out[4 * items + i], fraction);
        assert_eq!(integers[i], exponent);
    }
}

#[test]
fn functions_of_one_number() {
    unary::<f32>();
    unary::<f64>();
}

#[test]
fn functions_of_two_numbers() {
    binary::<f32>();
    binary::<f64>();
}

#[test]
fn functions_with_integers() {
    with_integers::<f32>();
    with_integers::<f64>();
    edges::<f32>();
    edges::<f64>();
}

#[test]
fn second_results_through_pointers() {
    through_pointers::<f32>();
    through_pointers::<f64>();
    vectors_through_pointers::<f32>();
    vectors_through_pointers::<f64>();
}

#[test]
fn numbers_that_are_none_keep_their_payload() {
    let codes: Vec<u32> = (0..N as u32).map(|i| i * 4001).collect();
    let out = platform().filled(0f32, N);
    let kernel = Module::named("math_signatures").kernel("nans");
    kernel.run_1d(N, 64, &[&platform().buffer(&codes), &out, &(N as u32)]);
    for (got, code) in out.iter().zip(codes) {
        assert!(got.is_nan() && got.to_bits() & 0x3f_ffff == code & 0x3f_ffff, "nan({code:#x})");
    }
}

#[test]
fn arithmetic_on_halves() {
    let numbers =
        |seed| -> Vec<f16> { numbers::<f32>(seed, -9.0, 9.0).into_iter().map(f16::from_f32).collect() };
    let (x, y) = (numbers(8), numbers(9));
    let (out, integers) = (platform().filled(f16::ZERO, 10 * N), platform().filled(0i32, N));
    let kernel = Module::named("math_signatures").kernel("halves");
    let buffers = (platform().buffer(&x), platform().buffer(&y));
    kernel.run_1d(N, 64, &[&buffers.0, &buffers.1, &out, &integers, &(N as u32)]);
    for i in 0..N {
        let (x, y) = (x[i].to_f32(), y[i].to_f32());
        let exact = [
            x + y,
            x * y,
            x / y,
            x.abs().sqrt(),
            f32::NAN,
            f32::NAN,
            x.mul_add(y, x),
            x.max(y),
            (x.trunc() as i32 + 1) as f32,
            if x < y { x.floor() } else { y.ceil() },
        ];
        for (slot, want) in exact.into_iter().enumerate().filter(|(_, want)| !want.is_nan()) {
            assert_eq!(out[slot * N + i], f16::from_f32(want), "slot {slot} of {x}, {y}");
        }
        for (slot, want) in [(4, x.sin()), (5, y.exp())] {
            let got = out[slot * N + i].to_f32();
            assert!((got - want).abs() <= want.abs().max(1e-4) * 2e-3, "slot {slot} of {x}, {y}: {got}");
        }
        assert_eq!(integers[i], x.round_ties_even() as i32);
    }
}
