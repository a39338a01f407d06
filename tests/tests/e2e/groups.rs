//! Sub-group instructions of every type and sub-group size, under full, partial and divergent masks.

use half::f16;
use std::fmt::Debug;
use ze_tests::ulp::assert_same;
use ze_tests::{Buffer, Module, Random, platform};

const WIDTHS: [u32; 3] = [8, 16, 32];

/// Groups in x and their size in x and y: rows of full sub-groups, partial last ones, sub-groups across rows.
const SHAPES: [(u32, [u32; 2]); 7] =
    [(1, [64, 1]), (2, [32, 1]), (3, [1, 1]), (2, [17, 1]), (1, [100, 1]), (2, [5, 7]), (1, [16, 3])];

/// The work-items of each sub-group by lane, as indices of the linear global id.
fn sub_groups(width: u32, groups: u32, [x, y]: [u32; 2]) -> Vec<Vec<usize>> {
    let index = |group: u32, local: u32| (local / x * groups * x + group * x + local % x) as usize;
    (0..groups)
        .flat_map(|group| {
            let lanes: Vec<usize> = (0..x * y).map(|local| index(group, local)).collect();
            lanes.chunks(width as usize).map(<[usize]>::to_vec).collect::<Vec<_>>()
        })
        .collect()
}

/// Masks over `n` work-items: everything, half at random, a few, all but a few, one.
fn masks(n: usize) -> Vec<Vec<u8>> {
    let mut random = Random::new(n as u64);
    let mut some = |share: u32| (0..n).map(|_| u8::from(random.below(16) < share)).collect::<Vec<u8>>();
    let (half, few, most) = (some(8), some(2), some(14));
    let mut one = vec![0; n];
    one[n / 2] = 1;
    vec![vec![1; n], half, few, most, one]
}

/// What one work-item of a sub-group is to find: the work-items that are on, by lane, and its own lane.
struct View<'a> {
    /// Work-item at each lane, for lanes that are there and on.
    on: &'a [(u32, usize)],
    lane: u32,
}

/// Runs `check` for each shape and mask, with all that its kernels need.
fn for_each_mask(width: u32, mut run: impl FnMut(usize, &[u8], u32, [u32; 2], &[Vec<usize>])) {
    for (groups, size) in SHAPES {
        let members = sub_groups(width, groups, size);
        let n = (groups * size[0] * size[1]) as usize;
        for on in masks(n) {
            run(n, &on, groups, size, &members);
        }
    }
}

/// Compares every result of every work-item that is on; the others must have written nothing.
fn compare<T: Copy + PartialEq + Debug>(
    what: &str,
    got: &Buffer<T>,
    untouched: T,
    (on, members): (&[u8], &[Vec<usize>]),
    results: usize,
    want: impl Fn(&View<'_>, usize) -> Vec<Option<T>>,
) {
    let n = on.len();
    for lanes in members {
        let there: Vec<(u32, usize)> =
            (0u32..).zip(lanes.iter().copied()).filter(|(_, item)| on[*item] != 0).collect();
        for (lane, &item) in (0u32..).zip(lanes) {
            let want = match on[item] {
                0 => vec![Some(untouched); results],
                _ => want(&View { on: &there, lane }, item),
            };
            assert_eq!(want.len(), results);
            for (result, want) in want.into_iter().enumerate() {
                let got = got[result * n + item];
                // NaN of a half or float compares unequal to itself; no test computes one.
                if let Some(want) = want {
                    assert!(
                        got == want,
                        "{what}: result {result} of work-item {item}, lane {lane}: {got:?}, expected {want:?}; on: {there:?}"
                    );
                }
            }
        }
    }
}

/// An associative operation and its identity.
pub(super) type Operation<T> = (fn(T, T) -> T, T);

pub(super) trait Number: Copy + PartialEq + PartialOrd + Debug {
    const ZERO: Self;
    const ONE: Self;
    const LOWEST: Self;
    const HIGHEST: Self;
    /// What buffers hold before a kernel writes.
    const UNTOUCHED: Self;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    /// Bitwise operations: and, or, xor. Floats have none.
    const BITS: Option<[Operation<Self>; 3]>;
    /// A value with which sums and products are exact in any order.
    fn random(random: &mut Random) -> Self;
}

macro_rules! integer {
    ($($type:ty)*) => {$(
        impl Number for $type {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const LOWEST: Self = <$type>::MIN;
            const HIGHEST: Self = <$type>::MAX;
            const UNTOUCHED: Self = 77;
            const BITS: Option<[Operation<Self>; 3]> =
                Some([(|a, b| a & b, !0), (|a, b| a | b, 0), (|a, b| a ^ b, 0)]);
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            fn random(random: &mut Random) -> Self {
                random.next_u64() as $type
            }
        }
    )*};
}
integer!(i8 u8 i16 u16 i32 u32 i64 u64);

macro_rules! float {
    ($($type:ty: $from:expr;)*) => {$(
        impl Number for $type {
            const ZERO: Self = $from(0.0);
            const ONE: Self = $from(1.0);
            const LOWEST: Self = <$type>::NEG_INFINITY;
            const HIGHEST: Self = <$type>::INFINITY;
            const UNTOUCHED: Self = $from(77.0);
            const BITS: Option<[Operation<Self>; 3]> = None;
            fn plus(self, other: Self) -> Self {
                self + other
            }
            fn times(self, other: Self) -> Self {
                self * other
            }
            fn random(random: &mut Random) -> Self {
                match random.below(128) {
                    0 | 1 => $from(2.0),
                    2 | 3 => $from(0.5),
                    other => $from(if other % 2 == 0 { 1.0 } else { -1.0 }),
                }
            }
        }
    )*};
}
const fn half(value: f32) -> f16 {
    f16::from_f32_const(value)
}
const fn single(value: f32) -> f32 {
    value
}
const fn double(value: f32) -> f64 {
    value as f64
}
float! {
    f16: half;
    f32: single;
    f64: double;
}

fn arithmetic<T: Number>(name: &str) {
    let module = Module::named("groups_arithmetic");
    let results = 25;
    for width in WIDTHS {
        let kernel = module.kernel(&format!("{name}_{width}"));
        for_each_mask(width, |n, on, groups, size, members| {
            let mut random = Random::new(n as u64 + u64::from(width));
            let input: Vec<T> = (0..n).map(|_| T::random(&mut random)).collect();
            let out = platform().filled(T::UNTOUCHED, results * n);
            let (data, mask) = (platform().buffer(&input), platform().buffer(on));
            kernel.run([groups, 1, 1], [size[0], size[1], 1], &[&data, &mask, &out]);
            let min = |a: T, b: T| if b < a { b } else { a };
            let max = |a: T, b: T| if b > a { b } else { a };
            let what = format!("{name}, width {width}, {groups} groups of {size:?}");
            compare(&what, &out, T::UNTOUCHED, (on, members), results, |view, _| {
                let mut want = Vec::new();
                let fold = |keep: &dyn Fn(u32) -> bool, f: &dyn Fn(T, T) -> T, identity: T| {
                    let kept = view.on.iter().filter(|(lane, _)| keep(*lane));
                    kept.fold(identity, |sum, (_, item)| f(sum, input[*item]))
                };
                let mut three = |f: &dyn Fn(T, T) -> T, identity: T| {
                    want.push(Some(fold(&|_| true, f, identity)));
                    want.push(Some(fold(&|lane| lane <= view.lane, f, identity)));
                    want.push(Some(fold(&|lane| lane < view.lane, f, identity)));
                };
                three(&T::plus, T::ZERO);
                three(&T::times, T::ONE);
                three(&min, T::HIGHEST);
                three(&max, T::LOWEST);
                match T::BITS {
                    Some(operations) => operations.iter().for_each(|(f, identity)| three(f, *identity)),
                    None => want.extend([Some(T::UNTOUCHED); 9]),
                }
                let cluster = |size: u32| move |lane: u32| lane / size == view.lane / size;
                want.push(Some(fold(&cluster(4), &T::plus, T::ZERO)));
                want.push(Some(fold(&cluster(2), &max, T::LOWEST)));
                want.push(Some(fold(&cluster(8), &min, T::HIGHEST)));
                want.push(Some(fold(&cluster(1), &T::plus, T::ZERO)));
                want
            });
        });
    }
}

macro_rules! arithmetic {
    ($($test:ident $type:ty, $name:literal;)*) => {$(
        #[test]
        fn $test() {
            arithmetic::<$type>($name);
        }
    )*};
}
arithmetic! {
    arithmetic_of_char i8, "char";
    arithmetic_of_uchar u8, "uchar";
    arithmetic_of_short i16, "short";
    arithmetic_of_ushort u16, "ushort";
    arithmetic_of_int i32, "int";
    arithmetic_of_uint u32, "uint";
    arithmetic_of_long i64, "long";
    arithmetic_of_ulong u64, "ulong";
    arithmetic_of_half f16, "half";
    arithmetic_of_float f32, "float";
    arithmetic_of_double f64, "double";
}

#[test]
fn logical_reductions_and_scans() {
    let module = Module::named("groups_arithmetic");
    for width in WIDTHS {
        let kernel = module.kernel(&format!("logical_{width}"));
        for_each_mask(width, |n, on, groups, size, members| {
            let mut random = Random::new(n as u64);
            let input: Vec<i32> = (0..n).map(|_| i32::from(random.below(8) != 0)).collect();
            let out = platform().filled(i32::UNTOUCHED, 9 * n);
            let (data, mask) = (platform().buffer(&input), platform().buffer(on));
            kernel.run([groups, 1, 1], [size[0], size[1], 1], &[&data, &mask, &out]);
            compare(&format!("width {width}"), &out, i32::UNTOUCHED, (on, members), 9, |view, _| {
                let mut want = Vec::new();
                let mut three = |f: fn(bool, bool) -> bool, identity: bool| {
                    for keep in [view.lane + width, view.lane + 1, view.lane] {
                        let kept = view.on.iter().filter(|(lane, _)| *lane < keep);
                        let result = kept.fold(identity, |sum, (_, item)| f(sum, input[*item] != 0));
                        want.push(Some(i32::from(result)));
                    }
                };
                three(|a, b| a & b, true);
                three(|a, b| a | b, false);
                three(|a, b| a ^ b, false);
                want
            });
        });
    }
}

fn shuffles<T: Number>(name: &str) {
    let module = Module::named("groups_lanes");
    let results = 12;
    for width in WIDTHS {
        let kernel = module.kernel(&format!("shuffle_{name}_{width}"));
        let mut uniform = 0;
        for_each_mask(width, |n, on, groups, size, members| {
            uniform = (uniform + 5) % width;
            let mut random = Random::new(n as u64);
            let input: Vec<T> = (0..n).map(|_| T::random(&mut random)).collect();
            let lanes: Vec<u32> = (0..n).map(|_| random.below(width)).collect();
            let out = platform().filled(T::UNTOUCHED, results * n);
            let (data, mask) = (platform().buffer(&input), platform().buffer(on));
            let arguments: [&dyn ze_tests::Argument; 5] =
                [&data, &mask, &platform().buffer(&lanes), &out, &uniform];
            kernel.run([groups, 1, 1], [size[0], size[1], 1], &arguments);
            let what = format!("{name}, width {width}, {groups} groups of {size:?}, all by {uniform}");
            compare(&what, &out, T::UNTOUCHED, (on, members), results, |view, item| {
                // The value of a lane that is not on is undefined.
                let of = |lane: u32| {
                    view.on.iter().find(|(there, _)| *there == lane).map(|(_, item)| input[*item])
                };
                let (lane, to) = (view.lane, lanes[item]);
                vec![
                    of(to),
                    of(uniform),
                    of(3),
                    of(lane ^ uniform),
                    of(lane ^ 5),
                    of(lane ^ to),
                    of(lane.wrapping_sub(uniform)),
                    of(lane.wrapping_sub(2)),
                    of(lane + uniform),
                    of(lane + 3),
                    of(2),
                    Some(input[view.on[0].1]),
                ]
            });
        });
    }
}

macro_rules! shuffles {
    ($($test:ident $type:ty, $name:literal;)*) => {$(
        #[test]
        fn $test() {
            shuffles::<$type>($name);
        }
    )*};
}
shuffles! {
    shuffles_of_char i8, "char";
    shuffles_of_ushort u16, "ushort";
    shuffles_of_int i32, "int";
    shuffles_of_ulong u64, "ulong";
    shuffles_of_half f16, "half";
    shuffles_of_float f32, "float";
    shuffles_of_double f64, "double";
}

#[test]
fn votes_and_ballots() {
    let module = Module::named("groups_lanes");
    let results = 17;
    for width in WIDTHS {
        let kernel = module.kernel(&format!("votes_{width}"));
        for_each_mask(width, |n, on, groups, size, members| {
            let mut random = Random::new(n as u64);
            let equal = random.below(2) == 0;
            let input: Vec<i32> = (0..n).map(|_| if equal { 17 } else { random.between(-99, 100) }).collect();
            let lanes: Vec<u32> = (0..n).map(|_| random.next_u32() >> 8).collect();
            let out = platform().filled(u32::UNTOUCHED, results * n);
            let (data, mask) = (platform().buffer(&input), platform().buffer(on));
            let arguments: [&dyn ze_tests::Argument; 5] =
                [&data, &mask, &platform().buffer(&lanes), &out, &0u32];
            kernel.run([groups, 1, 1], [size[0], size[1], 1], &arguments);
            let what = format!("width {width}, {groups} groups of {size:?}");
            compare(&what, &out, u32::UNTOUCHED, (on, members), results, |view, item| {
                let bit = |(lane, item): &(u32, usize)| u32::from(input[*item] > 0) << lane;
                let bits: u32 = view.on.iter().map(bit).sum();
                let own = [lanes[item].wrapping_mul(0x0123_4567), 1, 2, 3];
                let at = lanes[item] % 40;
                let all = |holds: &dyn Fn(i32) -> bool| view.on.iter().all(|(_, item)| holds(input[*item]));
                let first = input[view.on[0].1];
                let lane = view.lane;
                let upto = (1u64 << (lane + 1)) - 1;
                let below = (1u32 << lane) - 1;
                [
                    bits,
                    0,
                    u32::from(view.on[0].0 == lane),
                    u32::from(all(&|v| v > -90)),
                    u32::from(!all(&|v| v <= 90)),
                    u32::from(all(&|v| v >> 8 == first >> 8)),
                    bits >> lane & 1,
                    bits >> (lanes[item] % width) & 1,
                    own[at as usize / 32] >> (at % 32) & 1,
                    bits.count_ones(),
                    (bits & upto as u32).count_ones(),
                    (bits & below).count_ones(),
                    if bits == 0 { 99 } else { bits.trailing_zeros() },
                    if bits == 0 { 99 } else { 31 - bits.leading_zeros() },
                    1 << lane,
                    below,
                    u32::from(all(&|v| v == first)),
                ]
                .map(Some)
                .to_vec()
            });
        });
    }
}

/// Elements of private arrays whose addresses lanes choose.
#[test]
fn blocks_are_transposed_by_lanes_that_choose_elements() {
    let kernel = Module::named("groups_intel").kernel("transposed");
    for (groups, size) in [(3, 64), (5, 8), (4, 24)] {
        let n = (groups * size) as usize;
        let input = Random::new(n as u64).ints(8 * n, -1000, 1000);
        let out = platform().filled(0i32, 8 * n);
        kernel.run([groups, 1, 1], [size, 1, 1], &[&platform().buffer(&input), &out]);
        let place = |at: usize| at / 64 * 64 + at % 8 * 8 + at / 8 % 8;
        let want: Vec<i32> = (0..8 * n).map(|at| input[place(at)]).collect();
        assert_same(&format!("groups of {size}"), &out, &want);
    }
}

/// `T` has `N` components of `S`.
fn intel_shuffles<S: Number, const N: usize>(name: &str) {
    let module = Module::named("groups_intel");
    for width in WIDTHS {
        let kernel = module.kernel(&format!("shuffle_{name}_{width}"));
        let mut uniform = 0;
        for (groups, size) in [(2, 64), (3, 32)] {
            let n = (groups * size) as usize;
            for _ in 0..3 {
                uniform = (uniform + 5) % width;
                let mut random = Random::new(n as u64);
                let mut values =
                    || -> Vec<[S; N]> { (0..n).map(|_| [(); N].map(|()| S::random(&mut random))).collect() };
                let (a, b) = (values(), values());
                let lanes: Vec<u32> = (0..n).map(|_| random.below(width)).collect();
                let out = platform().filled([S::UNTOUCHED; N], 8 * n);
                let (x, y) = (platform().buffer(&a), platform().buffer(&b));
                let arguments: [&dyn ze_tests::Argument; 5] =
                    [&x, &y, &platform().buffer(&lanes), &out, &uniform];
                kernel.run([groups, 1, 1], [size, 1, 1], &arguments);
                let (on, members) = (vec![1; n], sub_groups(width, groups, [size, 1]));
                let what = format!("{name}, width {width}, all by {uniform}");
                compare(&what, &out, [S::UNTOUCHED; N], (&on, &members), 8, |view, item| {
                    let first = item - view.lane as usize;
                    let of = |lane: u32| Some(a[first + lane as usize]);
                    // Lanes of `low`, and then those of `high`.
                    let both = |low: &[[S; N]], high: &[[S; N]], at: u32| {
                        let from = if at < width { low } else { high };
                        Some(from[first + (at % width) as usize])
                    };
                    let lane = view.lane;
                    vec![
                        of(lanes[item]),
                        of(uniform),
                        of(lane ^ 3),
                        both(&a, &b, width + lane - uniform),
                        both(&a, &b, width + lane - 2),
                        both(&a, &b, lane + uniform),
                        both(&a, &b, lane + 5),
                        both(&a, &b, lane + lanes[item]),
                    ]
                });
            }
        }
    }
}

macro_rules! intel_shuffles {
    ($($test:ident $type:ty, $components:literal, $name:literal;)*) => {$(
        #[test]
        fn $test() {
            intel_shuffles::<$type, $components>($name);
        }
    )*};
}
intel_shuffles! {
    intel_shuffles_of_int i32, 1, "int";
    intel_shuffles_of_float f32, 1, "float";
    intel_shuffles_of_ulong u64, 1, "ulong";
    intel_shuffles_of_double f64, 1, "double";
    intel_shuffles_of_short i16, 1, "short";
    intel_shuffles_of_half f16, 1, "half";
    intel_shuffles_of_int2 i32, 2, "int2";
    intel_shuffles_of_float4 f32, 4, "float4";
}

fn blocks<T: Number>(suffix: &str, count: usize) {
    let module = Module::named("groups_intel");
    for width in WIDTHS {
        let kernel = module.kernel(&format!("block{suffix}_{width}"));
        for (groups, size) in [(2u32, 64u32), (1, 32), (3, 40), (1, 5)] {
            let subgroups = size.div_ceil(width);
            let n = (groups * subgroups * width) as usize * count;
            let mut random = Random::new(n as u64);
            let input: Vec<T> = (0..n).map(|_| T::random(&mut random)).collect();
            let out = platform().filled(T::UNTOUCHED, n);
            kernel.run([groups, 1, 1], [size, 1, 1], &[&platform().buffer(&input), &out]);
            for (at, &value) in input.iter().enumerate() {
                let (sub_group, lane) = (at / width as usize / count, at as u32 % width);
                let exists = sub_group as u32 % subgroups * width + lane < size;
                let want = if exists { value.plus(T::ONE) } else { T::UNTOUCHED };
                assert_eq!(
                    out[at], want,
                    "block{suffix}, width {width}, {groups} groups of {size}, element {at}"
                );
            }
        }
    }
}

#[test]
fn block_reads_and_writes() {
    blocks::<u32>("", 1);
    blocks::<u32>("2", 2);
    blocks::<u32>("4", 4);
    blocks::<u32>("8", 8);
    blocks::<u16>("_us", 1);
    blocks::<u16>("_us4", 4);
    blocks::<u8>("_uc", 1);
    blocks::<u8>("_uc16", 16);
    blocks::<u64>("_ul", 1);
    blocks::<u64>("_ul2", 2);
}

fn rotations<T: Number>(name: &str) {
    let module = Module::named("groups_rotate");
    for width in WIDTHS {
        let kernel = module.kernel(&format!("rotate_{name}_{width}"));
        for (groups, size, uniform) in [(1, 64, 1), (3, 32, 7), (2, 64, width as i32 - 1), (1, 128, 2)] {
            let n = (groups * size) as usize;
            let mut random = Random::new(n as u64);
            let input: Vec<T> = (0..n).map(|_| T::random(&mut random)).collect();
            let out = platform().filled(T::UNTOUCHED, 4 * n);
            kernel.run([groups, 1, 1], [size, 1, 1], &[&platform().buffer(&input), &out, &uniform]);
            let (on, members) = (vec![1; n], sub_groups(width, groups, [size, 1]));
            let what = format!("{name}, width {width}, by {uniform}");
            compare(&what, &out, T::UNTOUCHED, (&on, &members), 4, |view, item| {
                let first = item - view.lane as usize;
                let rotated = |by: u32, cluster: u32| {
                    let start = view.lane / cluster * cluster;
                    Some(input[first + (start + (view.lane + by) % cluster) as usize])
                };
                let uniform = uniform as u32;
                vec![rotated(uniform, width), rotated(3, width), rotated(uniform, 4), rotated(5, 8)]
            });
        }
    }
}

#[test]
fn rotations_within_sub_groups_and_clusters() {
    rotations::<i8>("char");
    rotations::<i32>("int");
    rotations::<f32>("float");
    rotations::<u64>("ulong");
}

/// `SPV_KHR_shader_ballot` and `SPV_KHR_subgroup_vote`, with one sub-group of which the device says how wide it is.
#[test]
fn older_votes_and_ballots() {
    let kernel = Module::named("groups_khr").kernel("votes");
    for n in [2usize, 5, 8] {
        for case in 0..4 {
            let mut random = Random::new(n as u64 + case);
            let input: Vec<u32> = match case {
                0 => vec![91; n],
                1 => vec![7; n],
                _ => (0..n).map(|_| random.below(180)).collect(),
            };
            let out = platform().filled(99u32, 6 * n);
            kernel.run([1, 1, 1], [n as u32, 1, 1], &[&platform().buffer(&input), &out]);
            let tests: Vec<bool> = input.iter().map(|v| *v > 90).collect();
            let bits = tests.iter().rev().fold(0, |bits, test| bits << 1 | u32::from(*test));
            let (all, any) = (tests.iter().all(|test| *test), tests.iter().any(|test| *test));
            let want = [bits, all.into(), any.into(), (all || !any).into(), input[1], input[0]];
            for (result, want) in want.into_iter().enumerate() {
                assert_eq!(
                    out[result * n..][..n],
                    vec![want; n],
                    "case {case}, {n} work-items, result {result}"
                );
            }
        }
    }
}

#[test]
fn a_split_barrier_is_a_barrier() {
    let kernel = Module::named("groups_khr").kernel("split");
    for (groups, size) in [(1u32, 1u32), (2, 64), (3, 17), (1, 256)] {
        let n = (groups * size) as usize;
        let input: Vec<u32> = (0..n as u32).collect();
        let out = platform().filled(0u32, n);
        kernel.run([groups, 1, 1], [size, 1, 1], &[&platform().buffer(&input), &out]);
        for (item, got) in out.iter().enumerate() {
            let first = item - item % size as usize;
            let mirror = first + size as usize - 1 - item % size as usize;
            assert_eq!(*got, input[mirror] + 1000, "{groups} groups of {size}, work-item {item}");
        }
    }
}

/// XLA's and CUDA's kernels sum up rows of 32 so, and say nothing of sub-groups.
#[test]
fn sub_groups_have_the_lanes_that_exchanges_count_on() {
    let module = Module::named("groups_lanes");
    let n = 1024usize;
    let input: Vec<u32> = (0..n as u32).map(|at| at * at % 1009).collect();
    for (name, row) in [("rows_of_32", 32), ("rows_of_16", 16)] {
        let kernel = module.kernel(name);
        for group_size in [row as u32, 64, 256] {
            let (out, size) = (platform().filled(0u32, n / row), platform().filled(0u32, n));
            kernel.run_1d(n, group_size, &[&platform().buffer(&input), &out, &size]);
            let sums: Vec<u32> = input.chunks(row).map(|row| row.iter().sum()).collect();
            assert!(size.iter().all(|size| *size >= row as u32), "{name}: sub-groups of {}", size[0]);
            assert!(size.iter().all(|size| *size == kernel.properties().unwrap().maxSubgroupSize), "{name}");
            assert_eq!(&out[..], &sums[..], "{name} in groups of {group_size}");
        }
    }
}
