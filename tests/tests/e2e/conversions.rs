//! Conversions between all scalar types, with saturation and rounding modes, and reinterpretations of bits.

use ze_tests::ulp::assert_same;
use ze_tests::{Module, Random, platform};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Rounding {
    /// What a conversion without a suffix does: toward zero to integers, to nearest to floats.
    Default,
    NearestEven,
    TowardZero,
    Up,
    Down,
}

use Rounding::{Default as Plain, Down, NearestEven, TowardZero, Up};

const ROUNDINGS: [Rounding; 5] = [Plain, NearestEven, TowardZero, Up, Down];

/// A scalar type as the host's conversions see it: an exact integer, or a double.
#[derive(Clone, Copy, Debug)]
enum Exact {
    Integer(i128),
    Real(f64),
}

trait Scalar: Copy + PartialEq + std::fmt::Debug + 'static {
    const NAME: &'static str;
    const IS_INTEGER: bool;
    fn exact(self) -> Exact;
    fn draw(random: &mut Random) -> Self;
    /// The conversion, or nothing where OpenCL C 2.0 §6.2.3.3 leaves the result open.
    fn convert(value: Exact, rounding: Rounding, saturate: bool) -> Option<Self>;
    fn same(self, other: Self) -> bool;
    const ZERO: Self;
}

fn round_real(value: f64, rounding: Rounding) -> f64 {
    match rounding {
        NearestEven => value.round_ties_even(),
        Plain | TowardZero => value.trunc(),
        Up => value.ceil(),
        Down => value.floor(),
    }
}

macro_rules! integer {
    ($($type:ident $name:literal;)*) => {$(
        impl Scalar for $type {
            const NAME: &'static str = $name;
            const IS_INTEGER: bool = true;
            const ZERO: $type = 0;
            fn exact(self) -> Exact {
                Exact::Integer(self as i128)
            }
            fn draw(random: &mut Random) -> $type {
                match random.below(6) {
                    0 => $type::MIN,
                    1 => $type::MAX,
                    2 => random.below(300) as $type,
                    _ => random.next_u64() as $type >> random.below($type::BITS),
                }
            }
            fn convert(value: Exact, rounding: Rounding, saturate: bool) -> Option<$type> {
                let (low, high) = ($type::MIN as i128, $type::MAX as i128);
                match value {
                    // A conversion to a narrower integer keeps the low bits.
                    Exact::Integer(value) if !saturate => Some(value as $type),
                    Exact::Integer(value) => Some(value.clamp(low, high) as $type),
                    Exact::Real(value) if value.is_nan() => saturate.then_some(0),
                    Exact::Real(value) => {
                        let rounded = round_real(value, rounding).clamp(-1e30, 1e30) as i128;
                        if saturate {
                            Some(rounded.clamp(low, high) as $type)
                        } else {
                            (low..=high).contains(&rounded).then_some(rounded as $type)
                        }
                    }
                }
            }
            fn same(self, other: $type) -> bool {
                self == other
            }
        }
    )*};
}
integer! { i8 "char"; u8 "uchar"; i16 "short"; u16 "ushort"; i32 "int"; u32 "uint"; i64 "long"; u64 "ulong"; }

macro_rules! float {
    ($($type:ident $name:literal $bits:ident;)*) => {$(
        impl Scalar for $type {
            const NAME: &'static str = $name;
            const IS_INTEGER: bool = false;
            const ZERO: $type = 0.0;
            fn exact(self) -> Exact {
                Exact::Real(f64::from(self))
            }
            fn draw(random: &mut Random) -> $type {
                match random.below(9) {
                    0 => random.between(-300, 300) as $type,
                    1 => random.between(-300, 300) as $type + 0.5,
                    2 => random.float(-3.0, 3.0) as $type,
                    3 => random.float(-4e9, 4e9) as $type,
                    4 => random.float(-2e19, 2e19) as $type,
                    5 => [$type::INFINITY, -$type::INFINITY, $type::MAX, -$type::MAX, $type::NAN][random.below(5) as usize],
                    6 => random.between(-70_000, 70_000) as $type + 0.25,
                    7 => [-128.5, 127.5, 255.5, -0.5, 32767.5, 65535.5, 2147483647.5, 0.0, -0.0][random.below(9) as usize],
                    _ => {
                        // No subnormal numbers: whether they are kept is the device's choice.
                        let value = $type::from_bits(random.next_u64() as $bits);
                        if value.is_subnormal() || value.abs() < 1e-30 { 1.5 } else { value }
                    }
                }
            }
            fn convert(value: Exact, rounding: Rounding, _: bool) -> Option<$type> {
                let rounding = if rounding == Plain { NearestEven } else { rounding };
                // `as` rounds to nearest even; the neighbours decide the directed modes.
                match value {
                    Exact::Integer(value) => {
                        let nearest = value as $type;
                        let compare = |candidate: $type| (candidate as i128).cmp(&value);
                        Some(directed(nearest, rounding, value < 0, compare(nearest), $type::next_up, $type::next_down))
                    }
                    Exact::Real(value) => {
                        let nearest = value as $type;
                        if value.is_nan() || value.is_infinite() {
                            return Some(nearest);
                        }
                        let order = f64::from(nearest).partial_cmp(&value)?;
                        Some(directed(nearest, rounding, value < 0.0, order, $type::next_up, $type::next_down))
                    }
                }
            }
            fn same(self, other: $type) -> bool {
                self.to_bits() == other.to_bits() || (self.is_nan() && other.is_nan())
            }
        }
    )*};
}
float! { f32 "float" u32; f64 "double" u64; }

/// Corrects the nearest value to a directed rounding, from how it compares with the exact one.
fn directed<T>(
    nearest: T,
    rounding: Rounding,
    negative: bool,
    order: std::cmp::Ordering,
    up: fn(T) -> T,
    down: fn(T) -> T,
) -> T {
    match (rounding, order) {
        (NearestEven, _) | (_, std::cmp::Ordering::Equal) => nearest,
        (Up, std::cmp::Ordering::Less) => up(nearest),
        (Down, std::cmp::Ordering::Greater) => down(nearest),
        (TowardZero, std::cmp::Ordering::Greater) if !negative => down(nearest),
        (TowardZero, std::cmp::Ordering::Less) if negative => up(nearest),
        _ => nearest,
    }
}

fn check<From: Scalar, To: Scalar>(module: &Module, failures: &mut Vec<String>) {
    let name = format!("{}_to_{}", From::NAME, To::NAME);
    let n = 500;
    let mut random = Random::new(17);
    let input: Vec<From> = (0..n).map(|_| From::draw(&mut random)).collect();
    let variants = if To::IS_INTEGER { 10 } else { 5 };
    let out = platform().filled(To::ZERO, variants * n);
    if let Err(error) = module.try_kernel(&name).and_then(|kernel| {
        kernel.try_run(
            [(n as u32).div_ceil(32), 1, 1],
            [32, 1, 1],
            &[&platform().buffer(&input), &out, &(n as u32)],
        )
    }) {
        failures.push(format!("{name}: {error:?}"));
        return;
    }
    for variant in 0..variants {
        let (rounding, saturate) = (ROUNDINGS[variant % 5], variant >= 5);
        let wrong = (0..n).find_map(|i| {
            let got = out[variant * n + i];
            let want = To::convert(input[i].exact(), rounding, saturate)?;
            (!got.same(want)).then(|| format!("{:?} gives {got:?}, not {want:?}", input[i]))
        });
        if let Some(wrong) = wrong {
            failures.push(format!("{name}, {rounding:?}, saturating: {saturate}: {wrong}"));
        }
    }
}

fn check_from<From: Scalar>() {
    let module = Module::named("conversions");
    let mut failures = Vec::new();
    check::<From, i8>(&module, &mut failures);
    check::<From, u8>(&module, &mut failures);
    check::<From, i16>(&module, &mut failures);
    check::<From, u16>(&module, &mut failures);
    check::<From, i32>(&module, &mut failures);
    check::<From, u32>(&module, &mut failures);
    check::<From, i64>(&module, &mut failures);
    check::<From, u64>(&module, &mut failures);
    check::<From, f32>(&module, &mut failures);
    check::<From, f64>(&module, &mut failures);
    assert!(failures.is_empty(), "{} conversions are wrong:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn conversions_from_char() {
    check_from::<i8>();
}

#[test]
fn conversions_from_uchar() {
    check_from::<u8>();
}

#[test]
fn conversions_from_short() {
    check_from::<i16>();
}

#[test]
fn conversions_from_ushort() {
    check_from::<u16>();
}

#[test]
fn conversions_from_int() {
    check_from::<i32>();
}

#[test]
fn conversions_from_uint() {
    check_from::<u32>();
}

#[test]
fn conversions_from_long() {
    check_from::<i64>();
}

#[test]
fn conversions_from_ulong() {
    check_from::<u64>();
}

#[test]
fn conversions_from_float() {
    check_from::<f32>();
}

#[test]
fn conversions_from_double() {
    check_from::<f64>();
}

#[test]
fn conversions_of_vectors() {
    let module = Module::named("conversions");
    let count = 77;
    let input = Random::new(2).floats(16 * count, -20.0, 300.0);
    let ints = platform().filled(0i32, 3 * count);
    let bytes = platform().filled(0u8, 16 * count);
    let doubles = platform().filled(0.0f64, 4 * count);
    module.kernel("vector_conversions").run_1d(
        count,
        16,
        &[&platform().buffer(&input), &ints, &bytes, &doubles, &(count as u32)],
    );
    let want: Vec<i32> = input[..3 * count].iter().map(|v| v.floor() as i32).collect();
    assert_same("convert_int3_rtn", &ints, &want);
    let want: Vec<u8> = input.iter().map(|v| v.round_ties_even() as u8).collect();
    assert_same("convert_uchar16_sat_rte", &bytes, &want);
    let want: Vec<f64> = input[..4 * count].iter().map(|&v| f64::from(v)).collect();
    assert_same("convert_double4", &doubles, &want);
}

#[test]
fn bits_survive_reinterpretation() {
    let module = Module::named("conversions");
    let count = 50;
    let mut random = Random::new(3);
    let input: Vec<f32> = (0..4 * count).map(|_| f32::from_bits(random.next_u32())).collect();
    let bits = platform().filled(0u32, 4 * count);
    let halves = platform().filled(0u16, 8 * count);
    let pairs = platform().filled(0u64, 2 * count);
    module.kernel("bit_casts").run_1d(
        count,
        8,
        &[&platform().buffer(&input), &bits, &halves, &pairs, &(count as u32)],
    );
    let want: Vec<u32> = input.iter().map(|v| v.to_bits()).collect();
    assert_same("as_uint4", &bits, &want);
    let want_halves: Vec<u16> = want.iter().flat_map(|&w| [w as u16, (w >> 16) as u16]).collect();
    assert_same("as_ushort8", &halves, &want_halves);
    let want_pairs: Vec<u64> = want.chunks(2).map(|w| u64::from(w[0]) | u64::from(w[1]) << 32).collect();
    assert_same("as_ulong2", &pairs, &want_pairs);
}

#[test]
fn conversions_that_a_loop_goes_on_with() {
    let kernel = Module::named("conversions").kernel("saturated_sums");
    let (count, steps) = (96, 7i32);
    let input: Vec<i32> = Random::new(3).ints(count, 0, 30_000);
    let out = platform().filled(0u16, 2 * count);
    let rounded = platform().filled(0i32, count);
    kernel.run_1d(count, 32, &[&platform().buffer(&input), &out, &rounded, &steps]);
    let of_item = |own: &i32| {
        let (mut sum, mut chars, mut whole) = (0u16, 0i8, 0i32);
        for _ in 0..steps {
            sum = (u64::from(sum) + *own as u64).min(u16::MAX.into()) as u16;
            chars = (i32::from(chars) + (own & 63)).clamp(i8::MIN.into(), i8::MAX.into()) as i8;
            whole = (whole as f32).mul_add(0.75, *own as f32 * 0.125).ceil() as i32;
        }
        (sum, chars as u16, whole)
    };
    let want: Vec<_> = input.iter().map(of_item).collect();
    let both: Vec<u16> = want.iter().flat_map(|(sum, chars, _)| [*sum, *chars]).collect();
    assert!(both.contains(&u16::MAX) && both.contains(&(i8::MAX as u16)), "some are saturated");
    assert_same("convert_ushort_sat and convert_char_sat", &out, &both);
    let whole: Vec<i32> = want.iter().map(|(.., whole)| *whole).collect();
    assert_same("convert_int_rtp", &rounded, &whole);
}

/// Vectors of numbers that are narrowed, and stored twice.
fn check_twice<From: Scalar + TryFrom<u64>, To: Scalar + TryFrom<u64> + PartialEq>(
    names: [&str; 2],
    components: usize,
) where
    <From as TryFrom<u64>>::Error: std::fmt::Debug,
    <To as TryFrom<u64>>::Error: std::fmt::Debug,
{
    let of = |random: &mut Random| u64::from(random.next_u32()) << 32 | u64::from(random.next_u32());
    let number = |wide: u64, bytes: usize| wide & (u64::MAX >> (64 - 8 * bytes));
    // Three components take the place of four.
    let place = components.next_power_of_two();
    let kernel = Module::named("conversions").kernel(&format!("twice_{}_{}", names[0], names[1]));
    for (n, group_size) in [(64, 16), (257, 257), (7, 7)] {
        let mut random = Random::new(n as u64);
        let wide: Vec<u64> = (0..n * place).map(|_| of(&mut random)).collect();
        let input: Vec<From> =
            wide.iter().map(|w| From::try_from(number(*w, size_of::<From>())).expect("fits")).collect();
        let zero = To::try_from(0).expect("zero");
        let out = platform().filled(zero, 2 * n * place);
        kernel.run_1d(n, group_size, &[&platform().buffer(&input), &out]);
        let want: Vec<To> = (0..2 * n * place)
            .map(|at| match at % place < components {
                true => {
                    let from = wide[at / place / 2 * place + at % place];
                    To::try_from(number(from, size_of::<To>())).expect("fits")
                }
                false => zero,
            })
            .collect();
        let mut got = out.to_vec();
        // The fourth of three is nobody's.
        got.iter_mut()
            .enumerate()
            .filter(|(at, _)| at % place >= components)
            .for_each(|(_, number)| *number = zero);
        assert!(got == want, "{names:?} of {n}");
    }
}

#[test]
fn vectors_that_are_narrowed_and_stored_twice() {
    check_twice::<u32, u16>(["uint4", "ushort4"], 4);
    check_twice::<u64, u32>(["ulong4", "uint4"], 4);
    check_twice::<u64, u8>(["ulong4", "uchar4"], 4);
    check_twice::<u64, u16>(["ulong2", "ushort2"], 2);
    check_twice::<u32, u16>(["uint2", "ushort2"], 2);
    check_twice::<u32, u8>(["uint4", "uchar4"], 4);
    check_twice::<u16, u8>(["ushort4", "uchar4"], 4);
    check_twice::<u16, u8>(["ushort3", "uchar3"], 3);
    check_twice::<u32, u16>(["uint8", "ushort8"], 8);
}
