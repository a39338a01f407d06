//! Loops that shift a number until something is met: the place of its highest one, of its lowest one, and what is shifted beside it.

use ze_tests::ulp::assert_same;
use ze_tests::{Module, Random, platform};

/// What `shifted_<type>` computes for a number of so many bits.
fn want(given: u64, width: u32) -> [i32; 12] {
    let length = 64 - given.leading_zeros();
    let cut = |bits: u64| (bits & u64::MAX >> (64 - width)) as i32;
    let places = length.saturating_sub(1);
    let pairs = length.saturating_sub(1) / 2;
    let digits = length.div_ceil(3).max(1);
    let zeros = if given == 0 { 0 } else { given.trailing_zeros() };
    let some = given.max(1);
    let leading = some.leading_zeros() - (64 - width);
    [
        places as i32,
        (width - length) as i32,
        cut(3 << places),
        5 * pairs as i32,
        (given >> (2 * pairs)) as i32,
        digits as i32,
        (u64::MAX >> (64 - width)).checked_shr(digits).unwrap_or(0) as i32,
        zeros as i32,
        (given >> zeros) as i32,
        some.trailing_zeros() as i32,
        leading as i32,
        (some << leading >> (width / 2)) as i32,
    ]
}

fn check<T: Copy + 'static>(name: &str, width: u32, of: impl Fn(u64) -> T) {
    let mut random = Random::new(u64::from(width));
    let ones = (0..=width).map(|bits| u64::MAX.checked_shr(64 - bits).unwrap_or(0));
    let mut numbers: Vec<u64> = ones.flat_map(|ones| [ones, ones >> 1 ^ ones, ones ^ 1]).collect();
    numbers.extend((0..400).map(|at| random.next_u64() >> (64 - width) >> (at % width)));
    for file in ["shifted_bits", "shifted_bits_o0"] {
        let kernel = Module::named(file).kernel(&format!("shifted_{name}"));
        for (n, size) in [(numbers.len(), 64), (100, 100), (33, 3), (5, 1)] {
            let numbers = &numbers[..n];
            let given: Vec<T> = numbers.iter().map(|number| of(*number)).collect();
            let (given, out) = (platform().buffer(&given), platform().filled(-1, 12 * n));
            kernel.run_1d(n, size, &[&given, &out, &(n as u32)]);
            let want: Vec<i32> = numbers.iter().flat_map(|number| want(*number, width)).collect();
            assert_same(&format!("{file} {name}: {n} in groups of {size}"), &out, &want);
        }
    }
}

#[test]
fn loops_that_shift_end_where_they_should() {
    check("uchar", 8, |bits| bits as u8);
    check("ushort", 16, |bits| bits as u16);
    check("uint", 32, |bits| bits as u32);
    check("ulong", 64, |bits| bits);
}
