//! Integer and float instructions on every width and vector length, and the integer built-ins.

use ze_tests::ulp::{assert_same, assert_ulp_f32, ulp_f64};
use ze_tests::{Module, Random, mpfr, platform};

const LENGTHS: [usize; 6] = [1, 2, 3, 4, 8, 16];

fn suffix(length: usize) -> String {
    if length == 1 { String::new() } else { length.to_string() }
}

/// Operands: random bits, with small and extreme values mixed in.
trait Operand: Copy + PartialEq + std::fmt::Debug {
    fn draw(random: &mut Random) -> Self;
}

macro_rules! integer_tests {
    ($($test:ident $builtins:ident $type:ident $name:literal $unsigned:ident $wide:ident;)*) => {$(
        impl Operand for $type {
            fn draw(random: &mut Random) -> $type {
                match random.below(8) {
                    0 => random.below(7) as $type,
                    1 => $type::MAX,
                    2 => $type::MIN,
                    3 => $type::MAX >> random.below($type::BITS),
                    _ => random.next_u64() as $type,
                }
            }
        }

        #[test]
        fn $test() {
            let module = Module::named("integers");
            for length in LENGTHS {
                let name = format!("int_{}{}", $name, suffix(length));
                let kernel = module.kernel(&name);
                for (count, group_size) in [(1usize, 1u32), (13, 8), (100, 32), (33, 16)] {
                    let n = count * length;
                    let mut random = Random::new(length as u64 * 1000 + count as u64);
                    let shift: Vec<$type> = (0..n).map(|_| random.below($type::BITS) as $type).collect();
                    let a: Vec<$type> = (0..n).map(|_| $type::draw(&mut random)).collect();
                    // Neither division by zero nor the one overflowing quotient, for `a` and for `a + shift`.
                    let b: Vec<$type> = (0..n)
                        .map(|i| match $type::draw(&mut random) {
                            0 => 3,
                            b if a[i].checked_div(b).is_none() => 5,
                            b if a[i].wrapping_add(shift[i]).checked_rem(b).is_none() => 5,
                            b => b,
                        })
                        .collect();
                    let out = platform().filled(0 as $type, 15 * n);
                    kernel.run_1d(count, group_size, &[
                        &platform().buffer(&a), &platform().buffer(&b), &platform().buffer(&shift), &out,
                        &(count as u32),
                    ]);
                    type Operation = (&'static str, fn($type, $type, $type) -> $type);
                    let operations: [Operation; 15] = [
                        ("+", |x, y, _| x.wrapping_add(y)),
                        ("-", |x, y, _| x.wrapping_sub(y)),
                        ("*", |x, y, _| x.wrapping_mul(y)),
                        ("/", |x, y, _| x / y),
                        ("%", |x, y, z| x.wrapping_add(z) % y),
                        ("&", |x, y, _| x & y),
                        ("|", |x, y, _| x | y),
                        ("^", |x, y, _| x ^ y),
                        ("~", |x, _, _| !x),
                        ("negate", |x, _, _| x.wrapping_neg()),
                        ("<<", |x, _, z| x << z),
                        (">>", |x, _, z| x >> z),
                        ("<", |x, y, _| if x < y { x } else { y }),
                        (">=", |x, y, _| if x >= y { x.wrapping_sub(y) } else { y.wrapping_sub(x) }),
                        ("==", |x, y, z| if x == y { x } else { z }),
                    ];
                    for (slot, (operation, want)) in operations.iter().enumerate() {
                        // OpenCL promotes scalar char and short to int before it adds for the remainder.
                        if *operation == "%" && length == 1 && $type::BITS < 32 {
                            let want: Vec<$type> = (0..n)
                                .map(|i| ((a[i] as i64 + shift[i] as i64) % b[i] as i64) as $type)
                                .collect();
                            assert_same(&format!("{name} %"), &out[slot * n..][..n], &want);
                            continue;
                        }
                        let want: Vec<$type> = (0..n).map(|i| want(a[i], b[i], shift[i])).collect();
                        assert_same(&format!("{name} {operation}, {count} items"), &out[slot * n..][..n], &want);
                    }
                }
            }
        }

        #[test]
        fn $builtins() {
            let module = Module::named("integer_builtins");
            let kernel = module.kernel(concat!("builtins_", $name));
            for (n, group_size) in [(1usize, 1u32), (257, 32), (1000, 17)] {
                let mut random = Random::new(n as u64);
                let mut draw = || (0..n).map(|_| $type::draw(&mut random)).collect::<Vec<$type>>();
                let (a, b, c) = (draw(), draw(), draw());
                let out = platform().filled(0 as $type, 16 * n);
                kernel.run_1d(n, group_size, &[
                    &platform().buffer(&a), &platform().buffer(&b), &platform().buffer(&c), &out, &(n as u32),
                ]);
                let saturate = |value: $wide| value.clamp($type::MIN as $wide, $type::MAX as $wide) as $type;
                let high = |x: $type, y: $type| ((x as $wide * y as $wide) >> $type::BITS) as $type;
                type Function<'a> = (&'static str, &'a dyn Fn($type, $type, $type) -> $type);
                let functions: [Function; 16] = [
                    ("abs", &|x, _, _| (x as $wide).unsigned_abs() as $type),
                    ("abs_diff", &|x, y, _| (x as $wide).abs_diff(y as $wide) as $type),
                    ("add_sat", &|x, y, _| x.saturating_add(y)),
                    ("sub_sat", &|x, y, _| x.saturating_sub(y)),
                    ("hadd", &|x, y, _| ((x as $wide + y as $wide) >> 1) as $type),
                    ("rhadd", &|x, y, _| ((x as $wide + y as $wide + 1) >> 1) as $type),
                    ("clz", &|x, _, _| x.leading_zeros() as $type),
                    ("ctz", &|x, _, _| x.trailing_zeros() as $type),
                    ("popcount", &|x, _, _| x.count_ones() as $type),
                    ("mul_hi", &|x, y, _| high(x, y)),
                    ("mad_hi", &|x, y, z| high(x, y).wrapping_add(z)),
                    ("mad_sat", &|x, y, z| saturate(x as $wide * y as $wide + z as $wide)),
                    ("rotate", &|x, y, _| x.rotate_left((y as $unsigned % $type::BITS as $unsigned) as u32)),
                    ("min", &|x, y, _| x.min(y)),
                    ("max", &|x, y, _| x.max(y)),
                    ("clamp", &|x, y, z| x.clamp(y.min(z), y.max(z))),
                ];
                for (slot, (function, want)) in functions.iter().enumerate() {
                    let want: Vec<$type> = (0..n).map(|i| want(a[i], b[i], c[i])).collect();
                    assert_same(&format!("{}({})", function, $name), &out[slot * n..][..n], &want);
                }
            }
        }
    )*};
}
integer_tests! {
    char_arithmetic char_builtins i8 "char" u8 i32;
    uchar_arithmetic uchar_builtins u8 "uchar" u8 i32;
    short_arithmetic short_builtins i16 "short" u16 i64;
    ushort_arithmetic ushort_builtins u16 "ushort" u16 i64;
    int_arithmetic int_builtins i32 "int" u32 i128;
    uint_arithmetic uint_builtins u32 "uint" u32 i128;
    long_arithmetic long_builtins i64 "long" u64 i128;
}

/// `ulong` apart: products of two do not fit `i128`.
mod ulong {
    use super::*;

    #[test]
    fn ulong_arithmetic() {
        let module = Module::named("integers");
        for length in LENGTHS {
            let name = format!("int_ulong{}", suffix(length));
            let kernel = module.kernel(&name);
            let (count, n) = (45, 45 * length);
            let mut random = Random::new(length as u64);
            let a: Vec<u64> = (0..n).map(|_| random.next_u64() >> random.below(64)).collect();
            let b: Vec<u64> = (0..n).map(|_| (random.next_u64() >> random.below(64)).max(1)).collect();
            let shift: Vec<u64> = (0..n).map(|_| u64::from(random.below(64))).collect();
            let out = platform().filled(0u64, 15 * n);
            kernel.run_1d(
                count,
                16,
                &[
                    &platform().buffer(&a),
                    &platform().buffer(&b),
                    &platform().buffer(&shift),
                    &out,
                    &(count as u32),
                ],
            );
            type Operation = (&'static str, fn(u64, u64, u64) -> u64);
            let operations: [Operation; 15] = [
                ("+", |x, y, _| x.wrapping_add(y)),
                ("-", |x, y, _| x.wrapping_sub(y)),
                ("*", |x, y, _| x.wrapping_mul(y)),
                ("/", |x, y, _| x / y),
                ("%", |x, y, z| x.wrapping_add(z) % y),
                ("&", |x, y, _| x & y),
                ("|", |x, y, _| x | y),
                ("^", |x, y, _| x ^ y),
                ("~", |x, _, _| !x),
                ("negate", |x, _, _| x.wrapping_neg()),
                ("<<", |x, _, z| x << z),
                (">>", |x, _, z| x >> z),
                ("<", |x, y, _| x.min(y)),
                (">=", |x, y, _| x.abs_diff(y)),
                ("==", |x, y, z| if x == y { x } else { z }),
            ];
            for (slot, (operation, want)) in operations.iter().enumerate() {
                let want: Vec<u64> = (0..n).map(|i| want(a[i], b[i], shift[i])).collect();
                assert_same(&format!("{name} {operation}"), &out[slot * n..][..n], &want);
            }
        }
    }

    #[test]
    fn ulong_builtins() {
        let n = 1000;
        let mut random = Random::new(5);
        let mut draw = || (0..n).map(|_| random.next_u64() >> random.below(64)).collect::<Vec<u64>>();
        let (a, b, c) = (draw(), draw(), draw());
        let out = platform().filled(0u64, 16 * n);
        let module = Module::named("integer_builtins");
        module.kernel("builtins_ulong").run_1d(
            n,
            32,
            &[&platform().buffer(&a), &platform().buffer(&b), &platform().buffer(&c), &out, &(n as u32)],
        );
        let wide = u128::from;
        let high = |x: u64, y: u64| ((wide(x) * wide(y)) >> 64) as u64;
        type Function<'a> = (&'static str, &'a dyn Fn(u64, u64, u64) -> u64);
        let functions: [Function; 16] = [
            ("abs", &|x, _, _| x),
            ("abs_diff", &|x, y, _| x.abs_diff(y)),
            ("add_sat", &|x, y, _| x.saturating_add(y)),
            ("sub_sat", &|x, y, _| x.saturating_sub(y)),
            ("hadd", &|x, y, _| ((wide(x) + wide(y)) >> 1) as u64),
            ("rhadd", &|x, y, _| ((wide(x) + wide(y) + 1) >> 1) as u64),
            ("clz", &|x, _, _| u64::from(x.leading_zeros())),
            ("ctz", &|x, _, _| u64::from(x.trailing_zeros())),
            ("popcount", &|x, _, _| u64::from(x.count_ones())),
            ("mul_hi", &|x, y, _| high(x, y)),
            ("mad_hi", &|x, y, z| high(x, y).wrapping_add(z)),
            ("mad_sat", &|x, y, z| (wide(x) * wide(y)).saturating_add(wide(z)).min(wide(u64::MAX)) as u64),
            ("rotate", &|x, y, _| x.rotate_left((y % 64) as u32)),
            ("min", &|x, y, _| x.min(y)),
            ("max", &|x, y, _| x.max(y)),
            ("clamp", &|x, y, z| x.clamp(y.min(z), y.max(z))),
        ];
        for (slot, (function, want)) in functions.iter().enumerate() {
            let want: Vec<u64> = (0..n).map(|i| want(a[i], b[i], c[i])).collect();
            assert_same(&format!("{function}(ulong)"), &out[slot * n..][..n], &want);
        }
    }
}

#[test]
fn multiplication_of_24_bits() {
    let module = Module::named("integer_builtins");
    let n = 500;
    let mut random = Random::new(24);
    let signed: Vec<i32> = random.ints(2 * n, -(1 << 23), (1 << 23) - 1);
    let add: Vec<i32> = (0..n).map(|_| random.next_u32() as i32).collect();
    let (a, b) = signed.split_at(n);
    let out = platform().filled(0i32, 2 * n);
    module.kernel("multiply24_int").run_1d(
        n,
        64,
        &[&platform().buffer(a), &platform().buffer(b), &platform().buffer(&add), &out, &(n as u32)],
    );
    let product: Vec<i32> = (0..n).map(|i| a[i].wrapping_mul(b[i])).collect();
    assert_same("mul24(int)", &out[..n], &product);
    let sum: Vec<i32> = (0..n).map(|i| product[i].wrapping_add(add[i])).collect();
    assert_same("mad24(int)", &out[n..], &sum);

    let unsigned: Vec<u32> = (0..2 * n).map(|_| random.below(1 << 24)).collect();
    let (a, b) = unsigned.split_at(n);
    let add: Vec<u32> = add.iter().map(|&v| v as u32).collect();
    let out = platform().filled(0u32, 2 * n);
    module.kernel("multiply24_uint").run_1d(
        n,
        64,
        &[&platform().buffer(a), &platform().buffer(b), &platform().buffer(&add), &out, &(n as u32)],
    );
    let product: Vec<u32> = (0..n).map(|i| a[i].wrapping_mul(b[i])).collect();
    assert_same("mul24(uint)", &out[..n], &product);
    let sum: Vec<u32> = (0..n).map(|i| product[i].wrapping_add(add[i])).collect();
    assert_same("mad24(uint)", &out[n..], &sum);
}

#[test]
fn upsample_joins_halves() {
    macro_rules! check {
        ($module:expr, $name:literal, $high:ty, $low:ty, $wide:ty) => {
            let n = 100;
            let mut random = Random::new(8);
            let high: Vec<$high> = (0..n).map(|_| random.next_u64() as $high).collect();
            let low: Vec<$low> = (0..n).map(|_| random.next_u64() as $low).collect();
            let out = platform().filled(0 as $wide, n);
            $module.kernel($name).run_1d(
                n,
                32,
                &[&platform().buffer(&high), &platform().buffer(&low), &out, &(n as u32)],
            );
            let want: Vec<$wide> =
                (0..n).map(|i| ((high[i] as $wide) << <$low>::BITS) | low[i] as $wide).collect();
            assert_same($name, &out, &want);
        };
    }
    let module = Module::named("integer_builtins");
    check!(module, "upsample_char", i8, u8, i16);
    check!(module, "upsample_uchar", u8, u8, u16);
    check!(module, "upsample_short", i16, u16, i32);
    check!(module, "upsample_ushort", u16, u16, u32);
    check!(module, "upsample_int", i32, u32, i64);
    check!(module, "upsample_uint", u32, u32, u64);
}

#[test]
fn integer_builtins_on_vectors() {
    let module = Module::named("integer_builtins");
    let n = 75;
    let mut random = Random::new(4);
    let a: Vec<i32> = (0..4 * n).map(|_| random.next_u32() as i32).collect();
    let b: Vec<i32> = (0..4 * n).map(|_| random.next_u32() as i32 >> random.below(31)).collect();
    let out = platform().filled(0i32, 12 * n);
    module.kernel("builtin_vectors").run_1d(
        n,
        32,
        &[&platform().buffer(&a), &platform().buffer(&b), &out, &(n as u32)],
    );
    let mut want = Vec::new();
    for i in 0..n {
        let each =
            |f: &dyn Fn(i32, i32) -> i32| (0..4).map(|k| f(a[4 * i + k], b[4 * i + k])).collect::<Vec<i32>>();
        want.extend(each(&|x, y| x.saturating_add(y)));
        want.extend(each(&|x, y| (x.count_ones() + y.leading_zeros()) as i32));
        want.extend(each(&|x, _| x.max(7)));
    }
    assert_same("vectors", &out, &want);
}

/// Interesting floats: zeros, infinities, not-a-numbers, extremes and random bits. Subnormal numbers only where the
/// device keeps them.
fn special_floats(random: &mut Random, count: usize, subnormals: bool) -> Vec<f32> {
    let special =
        [0.0, -0.0, 1.0, -1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX, f32::MIN_POSITIVE];
    (0..count)
        .map(|_| {
            loop {
                let value = match random.below(4) {
                    0 => special[random.below(9) as usize],
                    1 => random.between(-10, 10) as f32,
                    2 => random.float(-100.0, 100.0),
                    _ => f32::from_bits(random.next_u32()),
                };
                if subnormals || !value.is_subnormal() {
                    return value;
                }
            }
        })
        .collect()
}

fn special_doubles(random: &mut Random, count: usize) -> Vec<f64> {
    let special =
        [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MAX, f64::MIN_POSITIVE];
    (0..count)
        .map(|_| match random.below(4) {
            0 => special[random.below(9) as usize],
            1 => f64::from(random.between(-10, 10)),
            2 => f64::from(random.float(-100.0, 100.0)) * 1.1,
            _ => f64::from_bits(random.next_u64()),
        })
        .collect()
}

/// The comparison slots of floats.cl, from slot 5.
const RELATIONS: usize = 14;
fn relations(x: f64, y: f64, normal: bool) -> [bool; RELATIONS] {
    [
        x == y,
        x != y,
        x < y,
        x <= y,
        x > y,
        x >= y,
        x.is_nan(),
        x.is_infinite(),
        x.is_finite(),
        normal,
        x.is_sign_negative(),
        x.is_nan() || y.is_nan(),
        !(x.is_nan() || y.is_nan()),
        x != y && !x.is_nan() && !y.is_nan(),
    ]
}

#[test]
fn float_arithmetic_and_comparison() {
    let module = Module::named("floats");
    for length in LENGTHS {
        let name = format!("float_float{}", suffix(length));
        let kernel = module.kernel(&name);
        for (count, group_size) in [(1usize, 1u32), (100, 16), (333, 32)] {
            let n = count * length;
            let mut random = Random::new(n as u64);
            let a = special_floats(&mut random, n, false);
            let b = special_floats(&mut random, n, false);
            let out = platform().filled(0.0f32, 19 * n);
            kernel.run_1d(
                count,
                group_size,
                &[&platform().buffer(&a), &platform().buffer(&b), &out, &(count as u32)],
            );
            type Operation = (&'static str, fn(f64, f64) -> f64, f64);
            let operations: [Operation; 4] = [
                ("+", |x, y| x + y, 0.5),
                ("-", |x, y| x - y, 0.5),
                ("*", |x, y| x * y, 0.5),
                ("/", |x, y| x / y, 2.5),
            ];
            for (slot, (operation, want, bound)) in operations.into_iter().enumerate() {
                let want: Vec<f64> = (0..n).map(|i| want(f64::from(a[i]), f64::from(b[i]))).collect();
                assert_ulp_f32(&format!("{name} {operation}"), &out[slot * n..][..n], &want, bound);
            }
            let bits = |values: &[f32]| {
                values.iter().map(|v| if v.is_nan() { 0 } else { v.to_bits() }).collect::<Vec<_>>()
            };
            let negated: Vec<f32> = a.iter().map(|x| -x).collect();
            assert_same(&format!("{name} negate"), &bits(&out[4 * n..][..n]), &bits(&negated));
            for slot in 0..RELATIONS {
                let want: Vec<f32> = (0..n)
                    .map(|i| {
                        let all = relations(f64::from(a[i]), f64::from(b[i]), a[i].is_normal());
                        f32::from(u8::from(all[slot]))
                    })
                    .collect();
                // The sign of a not-a-number is not kept by all of the operations that made it.
                let known = |i: &usize| slot != 10 || !a[*i].is_nan();
                let got: Vec<f32> = (0..n).filter(known).map(|i| out[(5 + slot) * n + i]).collect();
                let want: Vec<f32> = (0..n).filter(known).map(|i| want[i]).collect();
                assert_same(&format!("{name} relation {slot}"), &got, &want);
            }
        }
    }
}

#[test]
fn double_arithmetic_and_comparison() {
    let module = Module::named("floats");
    for length in LENGTHS {
        let name = format!("float_double{}", suffix(length));
        let kernel = module.kernel(&name);
        let (count, group_size) = (100, 16);
        let n = count * length;
        let mut random = Random::new(n as u64);
        let (a, b) = (special_doubles(&mut random, n), special_doubles(&mut random, n));
        let out = platform().filled(0.0f64, 19 * n);
        kernel.run_1d(
            count,
            group_size,
            &[&platform().buffer(&a), &platform().buffer(&b), &out, &(count as u32)],
        );
        for (slot, operation) in ["add", "sub", "mul", "div"].into_iter().enumerate() {
            for i in 0..n {
                let want = mpfr::evaluate(operation, &[a[i], b[i]]);
                let got = out[slot * n + i];
                let error = ulp_f64(got, want);
                assert!(
                    error <= 0.5,
                    "{name} {operation}({:e}, {:e}) is {got:e}, not {:e}",
                    a[i],
                    b[i],
                    want.high
                );
            }
        }
        for slot in 0..RELATIONS {
            for i in (0..n).filter(|&i| slot != 10 || !a[i].is_nan()) {
                let want = relations(a[i], b[i], a[i].is_normal())[slot];
                let got = out[(5 + slot) * n + i];
                assert_eq!(
                    got,
                    f64::from(u8::from(want)),
                    "{name} relation {slot} of {:e} and {:e}",
                    a[i],
                    b[i]
                );
            }
        }
    }
}
