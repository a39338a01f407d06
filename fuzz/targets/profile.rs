//! Fuzzer of `subjects::profile`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ze_fuzz::subjects::profile(bytes));
