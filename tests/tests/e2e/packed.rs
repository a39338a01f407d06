//! Vectors that are held as they are in memory: kernels with vectors leave what the same ones with numbers do, bit by bit.

use ze_tests::ulp::assert_same;
use ze_tests::{Module, Random, platform};

/// Work-items that take part, and groups and their size: whole sub-groups, partial ones, groups whose rows lanes cross.
const LAUNCHES: [(usize, [u32; 2], [u32; 2]); 8] = [
    (1, [1, 1], [1, 1]),
    (6, [3, 2], [1, 1]),
    (9, [3, 1], [4, 1]),
    (256, [4, 1], [64, 1]),
    (301, [19, 1], [16, 1]),
    (250, [2, 5], [5, 5]),
    (77, [2, 3], [7, 2]),
    (1024, [1, 8], [64, 2]),
];

/// Bytes of each work-item.
const BYTES: usize = 64;

const KERNELS: [&str; 17] = [
    "saturation",
    "neighbours",
    "blending",
    "votes",
    "wide_votes",
    "bits",
    "halves",
    "loops",
    "apart",
    "threes",
    "scalars",
    "edges",
    "choices",
    "wide_choices",
    "long_choices",
    "long_choices_of_32",
    "steps",
];

#[test]
fn vectors_are_what_their_components_are() {
    let module = Module::named("packed");
    for kernel in KERNELS {
        let vectors = module.kernel(kernel);
        let numbers = module.kernel(&format!("{kernel}_by_components"));
        for (n, groups, size) in LAUNCHES {
            let mut random = Random::new(n as u64);
            let mut bytes =
                || -> Vec<u8> { (0..BYTES * n + BYTES).map(|_| random.next_u32() as u8).collect() };
            let (a, b) = (platform().buffer(&bytes()), platform().buffer(&bytes()));
            let outputs = [&vectors, &numbers].map(|kernel| {
                let out = platform().filled(0xA5u8, BYTES * n + BYTES);
                kernel.run([groups[0], groups[1], 1], [size[0], size[1], 1], &[&a, &b, &out, &(n as i32)]);
                out
            });
            assert_same(&format!("{kernel}, {n} items in groups of {size:?}"), &outputs[0], &outputs[1]);
        }
    }
}

#[test]
fn quotients_of_small_numbers_and_a_large_one_are_right() {
    const COUNT: usize = 48;
    let kernel = Module::named("packed").kernel("quotients");
    let takes_part = |item: usize| item & 4 == 0;
    for (n, size) in [(COUNT, 8), (COUNT, 16), (COUNT, 7), (29, 48), (5, 1)] {
        for large in (0..16 * n).step_by(3) {
            let number = |at: usize| if at == large { 0xEC02_646C_F8FA_3160 - at as u64 } else { at as u64 };
            let long_in: Vec<u64> = (0..16 * n).map(number).collect();
            let input = &long_in[..2 * n];
            let long_out = platform().filled(1u64, 16 * n);
            let (wide, narrow) = (platform().filled(1u64, 2 * n), platform().filled(1u32, 2 * n));
            let (input_buffer, long_in_buffer) = (platform().buffer(input), platform().buffer(&long_in));
            kernel.run_1d(n, size, &[&input_buffer, &wide, &narrow, &long_in_buffer, &long_out, &(n as i32)]);
            let what = format!("{n} items in groups of {size}, the large one at {large}");
            let of = |in_item: usize, of: &dyn Fn(u64) -> u64| -> Vec<u64> {
                let all = long_in[..in_item * n].iter().enumerate();
                all.map(|(at, number)| if takes_part(at / in_item) { of(*number) } else { 1 }).collect()
            };
            assert_same(&what, &wide, &of(2, &|number| number / 10));
            let rests: Vec<u32> =
                of(2, &|number| number % 1000).into_iter().map(|rest| rest as u32).collect();
            assert_same(&what, &narrow, &rests);
            assert_same(&what, &long_out, &of(16, &|number| number / 7));
        }
    }
}
