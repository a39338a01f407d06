//! Fuzzer of linking: damages instructions of either module, or copies some of one into the other.

#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use ze_fuzz::mutate::{Random, mutate};
use ze_fuzz::subjects::{self, halves};

fuzz_target!(|bytes: &[u8]| subjects::linking(bytes));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if seed.is_multiple_of(4) {
        return fuzzer_mutate(data, size, max_size);
    }
    let mut random = Random(seed.into());
    let (first, second) = halves(&data[..size]);
    let damaged = match seed % 2 {
        0 => [&mutate(&mut random, first, second), second].concat(),
        _ => [first, &mutate(&mut random, second, first)].concat(),
    };
    let length = damaged.len().min(max_size);
    data[..length].copy_from_slice(&damaged[..length]);
    length
});
