//! Fuzzer of the intake: of every two mutations one is of instructions, as most others do not get past the decoder.

#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use ze_fuzz::mutate::{Random, mutate};
use ze_fuzz::subjects;

fuzz_target!(|bytes: &[u8]| subjects::intake(bytes));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if seed.is_multiple_of(4) {
        return fuzzer_mutate(data, size, max_size);
    }
    let module = data[..size].to_vec();
    let damaged = mutate(&mut Random(seed.into()), &module, &module);
    let length = damaged.len().min(max_size);
    data[..length].copy_from_slice(&damaged[..length]);
    length
});
