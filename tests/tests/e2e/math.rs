//! The mathematical functions against MPFR, within the bounds of OpenCL SPIR-V Env 3.0 §6.6.1.

use ze_tests::mpfr::{self, Reference};
use ze_tests::ulp::{assert_same, ulp_f32, ulp_f64};
use ze_tests::{Argument, Module, Random, platform};

/// Values a function is asked for.
#[derive(Clone, Copy)]
enum Domain {
    /// Every bit pattern, and the special values.
    All,
    /// Positive numbers of every magnitude.
    Positive,
    /// Uniform between two numbers.
    Range(f64, f64),
}

use Domain::{All, Positive, Range};

/// A function, what computes its reference, its error bound for float and double, and where it is asked.
struct Function {
    name: &'static str,
    reference: fn(&[f64]) -> Reference,
    /// Units in the last place; none where the function does not exist for the type.
    single: Option<f64>,
    double: Option<f64>,
    domains: &'static [Domain],
}

/// A reference that is exact in double arithmetic.
fn exact(value: f64) -> Reference {
    Reference { high: value, low: 0.0 }
}

macro_rules! mpfr_function {
    ($name:literal) => {
        |x| mpfr::evaluate($name, x)
    };
}

const fn function(
    name: &'static str,
    reference: fn(&[f64]) -> Reference,
    single: f64,
    double: f64,
    domains: &'static [Domain],
) -> Function {
    Function { name, reference, single: Some(single), double: Some(double), domains }
}

const COMMON: &[Function] = &[
    function("sin", mpfr_function!("sin"), 4.0, 4.0, &[All]),
    function("cos", mpfr_function!("cos"), 4.0, 4.0, &[All]),
    function("tan", mpfr_function!("tan"), 5.0, 5.0, &[All]),
    function("exp", mpfr_function!("exp"), 3.0, 3.0, &[All]),
    function("exp2", mpfr_function!("exp2"), 3.0, 3.0, &[All]),
    function("exp10", mpfr_function!("exp10"), 3.0, 3.0, &[All]),
    function("log", mpfr_function!("log"), 3.0, 3.0, &[All]),
    function("log2", mpfr_function!("log2"), 3.0, 3.0, &[All]),
    function("log10", mpfr_function!("log10"), 3.0, 3.0, &[All]),
    function("sqrt", mpfr_function!("sqrt"), 3.0, 0.5, &[All]),
    function("rsqrt", mpfr_function!("rec_sqrt"), 2.0, 2.0, &[Positive]),
    function("fabs", |x| exact(x[0].abs()), 0.0, 0.0, &[All]),
    function("floor", |x| exact(x[0].floor()), 0.0, 0.0, &[All]),
    function("ceil", |x| exact(x[0].ceil()), 0.0, 0.0, &[All]),
    function("trunc", |x| exact(x[0].trunc()), 0.0, 0.0, &[All]),
    function("round", |x| exact(x[0].round()), 0.0, 0.0, &[All]),
    function("rint", |x| exact(x[0].round_ties_even()), 0.0, 0.0, &[All]),
    function("sign", |x| exact(sign(x[0])), 0.0, 0.0, &[All]),
    function("pow", |x| power(x[0], x[1]), 16.0, 16.0, &[All, All]),
    function("fmin", |x| exact(x[0].min(x[1])), 0.0, 0.0, &[All, All]),
    function("fmax", |x| exact(x[0].max(x[1])), 0.0, 0.0, &[All, All]),
    function(
        "min",
        |x| exact(if x[1] < x[0] { x[1] } else { x[0] }),
        0.0,
        0.0,
        &[Range(-9.0, 9.0), Range(-9.0, 9.0)],
    ),
    function(
        "max",
        |x| exact(if x[0] < x[1] { x[1] } else { x[0] }),
        0.0,
        0.0,
        &[Range(-9.0, 9.0), Range(-9.0, 9.0)],
    ),
    function("fmod", mpfr_function!("fmod"), 0.0, 0.0, &[All, All]),
    function(
        "step",
        |x| exact(if x[1] < x[0] { 0.0 } else { 1.0 }),
        0.0,
        0.0,
        &[Range(-9.0, 9.0), Range(-9.0, 9.0)],
    ),
    function("fma", fused, 0.5, 0.5, &[All, All, All]),
    function(
        "clamp",
        |x| exact(x[0].max(x[1]).min(x[2])),
        0.0,
        0.0,
        &[Range(-9.0, 9.0), Range(-5.0, 0.0), Range(0.0, 5.0)],
    ),
];

const SPECIAL: &[Function] = &[
    function("asin", mpfr_function!("asin"), 4.0, 4.0, &[Range(-1.0, 1.0)]),
    function("acos", mpfr_function!("acos"), 4.0, 4.0, &[Range(-1.0, 1.0)]),
    function("atan", mpfr_function!("atan"), 5.0, 5.0, &[All]),
    function("sinh", mpfr_function!("sinh"), 4.0, 4.0, &[All]),
    function("cosh", mpfr_function!("cosh"), 4.0, 4.0, &[All]),
    function("tanh", mpfr_function!("tanh"), 5.0, 5.0, &[All]),
    function("asinh", mpfr_function!("asinh"), 4.0, 4.0, &[All]),
    function("acosh", mpfr_function!("acosh"), 4.0, 4.0, &[Positive]),
    function("atanh", mpfr_function!("atanh"), 5.0, 5.0, &[Range(-1.0, 1.0)]),
    function("cbrt", mpfr_function!("cbrt"), 2.0, 2.0, &[All]),
    function("expm1", mpfr_function!("expm1"), 3.0, 3.0, &[All]),
    function("log1p", mpfr_function!("log1p"), 2.0, 2.0, &[Positive]),
    function("erf", mpfr_function!("erf"), 16.0, 16.0, &[All]),
    function("erfc", mpfr_function!("erfc"), 16.0, 16.0, &[All]),
    function("degrees", |x| exact(x[0] * (180.0 / std::f64::consts::PI)), 2.0, 3.0, &[Range(-9.0, 9.0)]),
    function("radians", |x| exact(x[0] * (std::f64::consts::PI / 180.0)), 2.0, 3.0, &[Range(-900.0, 900.0)]),
    function("atan2", mpfr_function!("atan2"), 6.0, 6.0, &[All, All]),
    function("hypot", mpfr_function!("hypot"), 4.0, 4.0, &[All, All]),
    function("copysign", |x| exact(x[0].copysign(x[1])), 0.0, 0.0, &[Range(-9.0, 9.0), Range(-9.0, 9.0)]),
    function("fdim", mpfr_function!("dim"), 0.5, 0.5, &[All, All]),
];

const fn single(
    name: &'static str,
    reference: fn(&[f64]) -> Reference,
    bound: f64,
    domains: &'static [Domain],
) -> Function {
    Function { name, reference, single: Some(bound), double: None, domains }
}

/// 8192 units for the half forms over their whole domain; the native forms' errors are the implementation's choice, and
/// these are the ones this driver promises.
const HALF: f64 = 8192.0;
const HALF_RANGE: &[Domain] = &[Range(-65536.0, 65536.0)];
const HALF_AND_NATIVE: &[Function] = &[
    single("half_sin", mpfr_function!("sin"), HALF, HALF_RANGE),
    single("half_cos", mpfr_function!("cos"), HALF, HALF_RANGE),
    single("half_tan", mpfr_function!("tan"), HALF, HALF_RANGE),
    single("half_exp", mpfr_function!("exp"), HALF, &[All]),
    single("half_exp2", mpfr_function!("exp2"), HALF, &[All]),
    single("half_exp10", mpfr_function!("exp10"), HALF, &[All]),
    single("half_log", mpfr_function!("log"), HALF, &[All]),
    single("half_log2", mpfr_function!("log2"), HALF, &[All]),
    single("half_log10", mpfr_function!("log10"), HALF, &[All]),
    single("half_sqrt", mpfr_function!("sqrt"), HALF, &[All]),
    single("half_rsqrt", mpfr_function!("rec_sqrt"), HALF, &[Positive]),
    single("half_recip", |x| mpfr::evaluate("div", &[1.0, x[0]]), HALF, &[Range(-1e30, 1e30)]),
    single("half_divide", mpfr_function!("div"), HALF, &[Range(-1e10, 1e10), Range(-1e10, 1e10)]),
    single("half_powr", |x| power(x[0], x[1]), HALF, &[Range(1e-3, 1e3), Range(-9.0, 9.0)]),
    single("native_sin", mpfr_function!("sin"), HALF, &[Range(-3.0, 3.0)]),
    single("native_cos", mpfr_function!("cos"), HALF, &[Range(-1.5, 1.5)]),
    single("native_tan", mpfr_function!("tan"), HALF, &[Range(-1.5, 1.5)]),
    single("native_exp", mpfr_function!("exp"), HALF, &[Range(-80.0, 80.0)]),
    single("native_exp2", mpfr_function!("exp2"), HALF, &[Range(-100.0, 100.0)]),
    single("native_exp10", mpfr_function!("exp10"), HALF, &[Range(-30.0, 30.0)]),
    single("native_log", mpfr_function!("log"), HALF, &[Range(2.0, 1e6)]),
    single("native_log2", mpfr_function!("log2"), HALF, &[Range(2.0, 1e6)]),
    single("native_log10", mpfr_function!("log10"), HALF, &[Range(2.0, 1e6)]),
    single("native_sqrt", mpfr_function!("sqrt"), HALF, &[Range(1e-30, 1e30)]),
    single("native_rsqrt", mpfr_function!("rec_sqrt"), HALF, &[Range(1e-30, 1e30)]),
    single("native_recip", |x| mpfr::evaluate("div", &[1.0, x[0]]), HALF, &[Range(1e-3, 1e30)]),
    single("native_divide", mpfr_function!("div"), HALF, &[Range(-1e10, 1e10), Range(1e-3, 1e10)]),
    single("native_powr", |x| power(x[0], x[1]), HALF, &[Range(1e-3, 1e3), Range(-9.0, 9.0)]),
];

fn sign(x: f64) -> f64 {
    if x.is_nan() {
        0.0
    } else if x == 0.0 {
        x
    } else {
        x.signum()
    }
}

/// `pow` of C: MPFR's, whose special values are the same.
fn power(x: f64, y: f64) -> Reference {
    mpfr::evaluate("pow", &[x, y])
}

fn fused(x: &[f64]) -> Reference {
    mpfr::evaluate("fma", x)
}

/// A float type under test.
trait Float: Copy + std::fmt::LowerExp + 'static {
    const PREFIX: &'static str;
    const SPECIAL: [Self; 12];
    const ZERO: Self;
    fn wide(self) -> f64;
    fn narrow(value: f64) -> Self;
    fn from_random(bits: u64) -> Self;
    fn bound(function: &Function) -> Option<f64>;
    fn error(got: Self, want: Reference) -> f64;
    fn is_subnormal(self) -> bool;
    /// Whether a result with this exact value may be flushed or rounded among the subnormal numbers.
    fn is_tiny(want: f64) -> bool;
}

macro_rules! float {
    ($type:ident $prefix:literal $bits:ident $bound:ident $error:expr) => {
        impl Float for $type {
            const PREFIX: &'static str = $prefix;
            const ZERO: $type = 0.0;
            const SPECIAL: [$type; 12] = [
                0.0,
                -0.0,
                1.0,
                -1.0,
                0.5,
                2.5,
                -3.5,
                $type::INFINITY,
                $type::NEG_INFINITY,
                $type::NAN,
                $type::MAX,
                $type::MIN_POSITIVE,
            ];
            fn wide(self) -> f64 {
                f64::from(self)
            }
            fn narrow(value: f64) -> $type {
                value as $type
            }
            fn from_random(bits: u64) -> $type {
                $type::from_bits(bits as $bits)
            }
            fn bound(function: &Function) -> Option<f64> {
                function.$bound
            }
            fn error(got: $type, want: Reference) -> f64 {
                $error(got, want)
            }
            fn is_subnormal(self) -> bool {
                $type::is_subnormal(self)
            }
            fn is_tiny(want: f64) -> bool {
                want.abs() < f64::from($type::MIN_POSITIVE)
            }
        }
    };
}
float!(f32 "f32" u32 single |got, want: Reference| ulp_f32(got, want.high));
float!(f64 "f64" u64 double ulp_f64);

fn draw<T: Float>(random: &mut Random, domain: Domain) -> T {
    loop {
        let value = match domain {
            All => match random.below(8) {
                0 => T::SPECIAL[random.below(12) as usize],
                1 => T::narrow(f64::from(random.between(-20, 20))),
                2..5 => T::narrow(f64::from(random.float(-40.0, 40.0)) * 1.000_000_01),
                _ => T::from_random(random.next_u64()),
            },
            Positive => {
                let value = T::from_random(random.next_u64() >> 1 & !(1 << 31));
                if value.wide() > 0.0 { value } else { T::narrow(1.0) }
            }
            Range(low, high) => {
                let fraction = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
                T::narrow(low + (high - low) * fraction)
            }
        };
        // A signalling not-a-number may be passed on or quieted: only quiet ones are asked for.
        if value.wide().is_nan() {
            return T::narrow(f64::NAN);
        }
        if !value.is_subnormal() {
            return value;
        }
    }
}

/// Checks every function of a list for one type and reports all that are out of bounds.
fn check<T: Float>(module: &str, functions: &[Function]) {
    let module = Module::named(module);
    let n = 4001usize;
    let mut failures = Vec::new();
    for function in functions {
        let Some(bound) = T::bound(function) else { continue };
        let mut random = Random::new(function.name.len() as u64);
        let inputs: Vec<Vec<T>> = function
            .domains
            .iter()
            .map(|&domain| (0..n).map(|_| draw(&mut random, domain)).collect())
            .collect();
        let buffers: Vec<_> = inputs.iter().map(|input| platform().buffer(input)).collect();
        let (out, count) = (platform().filled(T::ZERO, n), n as u32);
        let mut arguments: Vec<&dyn Argument> =
            buffers.iter().map(|buffer| buffer as &dyn Argument).collect();
        arguments.extend([&out as &dyn Argument, &count]);
        let name = format!("{}_{}", T::PREFIX, function.name);
        let ran = module
            .try_kernel(&name)
            .and_then(|kernel| kernel.try_run([count.div_ceil(64), 1, 1], [64, 1, 1], &arguments));
        if let Err(error) = ran {
            failures.push(format!("{name}: {error:?}"));
            continue;
        }
        let (mut worst, mut worst_at) = (0.0f64, 0);
        for i in 0..n {
            let x: Vec<f64> = inputs.iter().map(|input| input[i].wide()).collect();
            let want = (function.reference)(&x);
            // Tiny results are one rounding or one flush away from the exact value.
            if T::is_tiny(want.high) && want.high != 0.0 && T::is_tiny(out[i].wide()) {
                continue;
            }
            let error = T::error(out[i], want);
            if error > worst {
                (worst, worst_at) = (error, i);
            }
        }
        if worst > bound {
            let x: Vec<String> = inputs.iter().map(|input| format!("{:e}", input[worst_at])).collect();
            let all: Vec<f64> = inputs.iter().map(|input| input[worst_at].wide()).collect();
            failures.push(format!(
                "{name}({}) is {:e}, not {:e}: {worst:.2} ULP of {bound}",
                x.join(", "),
                out[worst_at],
                (function.reference)(&all).high
            ));
        }
    }
    assert!(failures.is_empty(), "{} functions fail:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn common_functions_on_float() {
    check::<f32>("math_f32", COMMON);
}

#[test]
fn common_functions_on_double() {
    check::<f64>("math_f64", COMMON);
}

#[test]
fn half_and_native_functions() {
    check::<f32>("math_f32", HALF_AND_NATIVE);
}

/// How exact native functions are is the driver's choice, but not what they are of numbers at the ends, and how near they come to 0 where they
/// begin there: programs clamp by infinities, and take logarithms of numbers near 1.
#[test]
fn native_functions_keep_the_ends() {
    const INF: f32 = f32::INFINITY;
    let module = Module::named("math_f32");
    let of = |name: &str, x: &[f32]| {
        // As many as fill sub-groups, of which the last one is partial.
        let x: Vec<f32> = x.iter().copied().cycle().take(100).collect();
        let out = platform().filled(0.0f32, x.len());
        let kernel = module.kernel(&format!("f32_{name}"));
        kernel.run_1d(128, 64, &[&platform().buffer(&x), &out, &(x.len() as u32)]);
        out.to_vec()
    };
    for name in ["native_exp", "native_exp2", "native_exp10"] {
        let got = of(name, &[INF, -INF, 0.0, -0.0, 1e6, -1e6, f32::NAN, 1e38, -1e38]);
        assert_eq!(got[..6], [INF, 0.0, 1.0, 1.0, INF, 0.0], "{name}");
        assert!(got[6].is_nan() && got[7..9] == [INF, 0.0], "{name}: {got:?}");
    }
    for name in ["native_log", "native_log2", "native_log10"] {
        let got = of(name, &[INF, 0.0, 1.0, -1.0, f32::NAN, -INF, 1.0 + f32::EPSILON, 1e-40]);
        assert_eq!(got[..3], [INF, -INF, 0.0], "{name}");
        assert!(got[3..6].iter().all(|of| of.is_nan()), "{name}: {got:?}");
        let per_unit = got[6] / f32::EPSILON;
        assert!((0.43..1.45).contains(&per_unit) && (-133.0..-39.0).contains(&got[7]), "{name}: {got:?}");
    }
    for (name, exact) in [("native_sin", f64::sin as fn(f64) -> f64), ("native_cos", f64::cos)] {
        let angles = [0.0, 1e-6, -1e-6, 100.0, -100.0, 29_999.0, 30_001.0, 1e6, -3e9, 1e30];
        let got = of(name, &angles);
        for (angle, got) in angles.iter().zip(&got) {
            let want = exact(f64::from(*angle));
            assert!((f64::from(*got) - want).abs() < 1e-6, "{name} of {angle}: {got}, not {want}");
        }
        assert!(of(name, &[INF, f32::NAN]).iter().all(|of| of.is_nan()), "{name}");
    }
}

#[test]
fn inverse_hyperbolic_and_special_functions_on_float() {
    check::<f32>("math_special_f32", SPECIAL);
}

#[test]
fn inverse_hyperbolic_and_special_functions_on_double() {
    check::<f64>("math_special_f64", SPECIAL);
}

/// `mad` may round once or twice; `mix` has an absolute tolerance.
#[test]
fn mad_and_mix() {
    let module = Module::named("math_f32");
    let n = 1000;
    let mut random = Random::new(3);
    let (x, y, z) =
        (random.floats(n, -10.0, 10.0), random.floats(n, -10.0, 10.0), random.floats(n, 0.0, 1.0));
    let buffers = [&x, &y, &z].map(|values| platform().buffer(values));
    for name in ["f32_mad", "f32_mix"] {
        let out = platform().filled(0.0f32, n);
        module.kernel(name).run_1d(n, 64, &[&buffers[0], &buffers[1], &buffers[2], &out, &(n as u32)]);
        for i in 0..n {
            let [x, y, z] = [x[i], y[i], z[i]].map(f64::from);
            let (want, tolerance) = match name {
                "f32_mad" => (x * y + z, 1.5e-5),
                _ => (x + (y - x) * z, 1e-3),
            };
            assert!((f64::from(out[i]) - want).abs() <= tolerance, "{name}: {} is not {want}", out[i]);
        }
    }
}

fn vector_forms<T: Float>(module: &str, tolerance: f64) {
    let module = Module::named(module);
    let n = 101;
    let mut random = Random::new(3);
    let input: Vec<T> = (0..4 * n).map(|_| draw(&mut random, Range(-6.0, 6.0))).collect();
    let out = platform().filled(T::ZERO, 16 * n);
    let kernel = module.kernel(&format!("{}_vectors", T::PREFIX));
    kernel.run_1d(n, 32, &[&platform().buffer(&input), &out, &(n as u32)]);
    for i in 0..n {
        let v: Vec<f64> = input[4 * i..][..4].iter().map(|v| v.wide()).collect();
        let mut want: Vec<f64> = v.iter().map(|v| v.sin()).collect();
        want.extend(v.iter().map(|v| v.clamp(-1.0, 1.0)));
        want.extend(v.iter().map(|v| v.max(0.25)));
        want.extend(v.iter().map(|x| if v[0] > 0.0 { (-x.abs()).exp() + x.abs().sqrt() } else { *x }));
        for (k, want) in want.into_iter().enumerate() {
            let got = out[16 * i + k].wide();
            assert!(
                (got - want).abs() <= tolerance * want.abs().max(0.1),
                "item {i}, slot {k}: {got}, not {want}"
            );
        }
    }
}

#[test]
fn vector_forms_and_divergence() {
    vector_forms::<f32>("math_f32", 6e-7);
    vector_forms::<f64>("math_f64", 1.5e-15);
}

/// The last lanes of a partial sub-group compute nothing that the host can see, and the first are not disturbed.
#[test]
fn results_do_not_depend_on_the_lane() {
    let module = Module::named("math_f32");
    let kernel = module.kernel("f32_exp");
    for n in 1..=40usize {
        let out = platform().filled(0.0f32, n);
        kernel.run_1d(n, 64, &[&platform().filled(1.5f32, n), &out, &(n as u32)]);
        assert_same(&format!("{n} items"), &out, &vec![out[0]; n]);
    }
}

/// What is the same for a sub-group is not computed for each anew, unless its numbers are others.
#[test]
fn functions_of_loaded_numbers_follow_them() {
    let module = Module::named("remembered");
    for (n, group) in [(1usize, 1u32), (100, 32), (1000, 64), (1000, 17), (4096, 256)] {
        let groups = n.div_ceil(group as usize);
        let base = Random::new(n as u64).floats(groups.max(6), 0.5, 2.0);
        let times = [7, 3];
        let own: Vec<f32> = (0..n)
            .flat_map(|i| {
                let of_group = i / group as usize;
                [base[0], base[of_group], base[of_group / 2], times[0] as f32]
            })
            .collect();
        let [shared, alone] = [0, 1].map(|_| platform().filled(0.0f32, n));
        let arguments: [&dyn Argument; 6] = [
            &(n as u32),
            &platform().buffer(&base),
            &platform().buffer(&times),
            &platform().buffer(&own),
            &shared,
            &alone,
        ];
        module.kernel("powers").run_1d(n, group, &arguments);
        assert_same(&format!("{n} items in groups of {group}"), &shared, &alone);
        for (i, value) in shared.iter().enumerate() {
            let [x, y, z, times] = [0, 1, 2, 3].map(|at| f64::from(own[4 * i + at]));
            let want = x.powf(times) + y.exp() * z.powf(base[1].into()) - 3f64.cos();
            assert!(
                (f64::from(*value) - want).abs() <= 1e-4 * want.abs().max(1.0),
                "item {i}: {value}, not {want}"
            );
        }

        let out = platform().filled(0.0f32, groups * group as usize);
        module.kernel("in_loops").run_1d(groups * group as usize, group, &[&platform().buffer(&base), &out]);
        let sum = base[..4].iter().map(|x| f64::from(*x).exp2()).sum::<f64>() + f64::from(base[5]).ln();
        for (i, value) in out.iter().enumerate() {
            let want = sum + f64::from(base[i / group as usize]).ln();
            assert!((f64::from(*value) - want).abs() <= 1e-4, "item {i}: {value}, not {want}");
        }
    }
}
