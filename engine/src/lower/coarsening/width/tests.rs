//! The width that is chosen for a few instructions. Whole kernels are `engine/tests/engine/widths.rs`'.

use super::best;
use crate::abi::Variant;
use crate::analysis::testing::{VARIANT, counted_loop, of_blocks};
use crate::jit::target::{Isa, Target};

/// What is chosen of up to 64 lanes for a kernel of bytes (`%small`) and words (`%own`) that differ.
fn chosen(isa: Isa, body: &str) -> u32 {
    chosen_on(&Target::limited(isa).expect("a target machine"), body)
}

fn chosen_on(target: &Target, body: &str) -> u32 {
    let ids = "%ids = OpLoad %ulong3 %GlobalInvocationId\n%x = OpCompositeExtract %ulong %ids 0\n\
               %i = OpUConvert %uint %x\n%own = OpIMul %uint %i %i\n%small = OpUConvert %uchar %own\n";
    let variant = VARIANT.up_to(64);
    of_blocks(&format!("{ids}{body}"), variant, |analysis| best(analysis, target))
}

fn repeated(times: u32, inst: impl Fn(u32) -> String) -> String {
    (0..times).map(inst).collect()
}

fn of_bytes(times: u32) -> String {
    repeated(times, |at| format!("%b{at} = OpIAdd %uchar %small %small\n"))
}

fn of_words(times: u32) -> String {
    repeated(times, |at| format!("%w{at} = OpIAdd %uint %own %own\n"))
}

#[test]
fn bytes_fill_registers_if_there_are_more_of_them_than_words() {
    assert_eq!(chosen(Isa::Avx512, &of_bytes(20)), 64);
    assert_eq!(chosen(Isa::Avx512, &(of_bytes(5) + &of_words(20))), 16);
    assert_eq!(chosen(Isa::Avx512, &of_words(20)), 16);
    assert_eq!(chosen(Isa::Sse, &of_bytes(20)), 16, "16 bytes are a register of SSE");
}

#[test]
fn loops_count_more_than_what_is_around_them() {
    let sum = |ty: &str, first: &str| {
        let phi = format!("%sum = OpPhi %{ty} {first} %entry %s %inside");
        counted_loop(&phi, &format!("%s = OpIMul %{ty} %sum {first}"))
    };
    assert!(chosen(Isa::Avx512, &(of_words(4) + &sum("uchar", "%small"))) > 16);
    assert_eq!(chosen(Isa::Avx512, &(of_bytes(4) + &sum("uint", "%own"))), 16);
}

#[test]
fn wider_registers_pay_less_in_loops_where_data_paths_are_narrower() {
    use crate::jit::tuning::Make;
    let chain = counted_loop(
        "%sum = OpPhi %ushort %half %entry %s %inside",
        "%t = OpIMul %ushort %sum %half\n%s = OpIAdd %ushort %t %half",
    );
    let body = format!("%half = OpUConvert %ushort %own\n{chain}");
    assert_eq!(chosen(Isa::Avx512, &body), 32);
    let mut target = Target::limited(Isa::Avx512).expect("a target machine");
    target.make = Make::Zen4;
    assert_eq!(chosen_on(&target, &body), 16);
    assert_eq!(chosen_on(&target, &of_bytes(20)), 64);
}

#[test]
fn words_of_a_line_are_two_registers_where_nothing_speaks_against_it() {
    let target = Target::limited(Isa::Avx2).expect("a target machine");
    let chosen = |body: &str| {
        let ids = "%ids = OpLoad %ulong3 %GlobalInvocationId\n%x = OpCompositeExtract %ulong %ids 0\n\
                   %i = OpUConvert %uint %x\n%own = OpIMul %uint %i %i\n%long = OpIMul %ulong %x %x\n";
        let variant = Variant { width: 8, ..VARIANT }.up_to(16);
        of_blocks(&format!("{ids}{body}"), variant, |analysis| best(analysis, &target))
    };
    let of_longs = repeated(20, |at| format!("%l{at} = OpIAdd %ulong %long %long\n"));
    let with_masks = repeated(20, |at| {
        format!("%c{at} = OpULessThan %bool %own %any_uint\n%w{at} = OpSelect %uint %c{at} %own %any_uint\n")
    });
    let uniform = repeated(40, |at| format!("%u{at} = OpIAdd %uint %any_uint %any_uint\n"));
    assert_eq!(chosen(&(of_words(20) + &uniform)), 16);
    assert_eq!(chosen(&of_longs), 8, "they fill a line without that");
    assert_eq!(chosen(&with_masks), 8);
    let waits = counted_loop("", "").replace("%bool %n %any_uint", "%bool %n %own");
    assert_eq!(chosen(&(of_words(20) + &waits)), 8, "lanes leave the loop at different times");
}
