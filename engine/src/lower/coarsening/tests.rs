//! The bundle that is chosen for loops of known chains, sizes and registers.

use super::best;
use crate::abi::{Coarsening, Variant};
use crate::analysis::testing::{VARIANT, a_loop, counted_loop, of_blocks};
use crate::jit::target::{Isa, Target};

/// What is chosen where up to 8 sub-groups side by side may make a bundle.
fn chosen(isa: Isa, body: &str) -> u32 {
    chosen_of(8, isa, body)
}

fn chosen_of(most: u32, isa: Isa, body: &str) -> u32 {
    chosen_for(Variant { coarsening: Coarsening::AlongX(most), ..VARIANT }, isa, body)
}

fn chosen_for(variant: Variant, isa: Isa, body: &str) -> u32 {
    let ids = "%ids = OpLoad %ulong3 %GlobalInvocationId\n%x = OpCompositeExtract %ulong %ids 0\n\
               %i = OpUConvert %uint %x\n%own = OpIMul %uint %i %i\n";
    let target = Target::limited(isa).expect("a target machine");
    of_blocks(&format!("{ids}{body}"), variant, |analysis| best(analysis, &target).factor())
}

/// A loop that all leave together, around these instructions; `%sum` begins with `first` and goes on with `last`.
fn counted(first: &str, body: &str, last: &str) -> String {
    counted_loop(&format!("%sum = OpPhi %uint {first} %entry {last} %inside"), body)
}

#[test]
fn a_loop_whose_iterations_wait_for_each_other_wants_as_many_as_hide_the_latency() {
    // Of two vector instructions both are in the chain: 2 * 4 * 2 / 2.
    let chain = "%m = OpIMul %uint %sum %own\n%s = OpIAdd %uint %m %own";
    assert_eq!(chosen(Isa::Avx512, &counted("%own", chain, "%s")), 8);
    // One of four: 1 * 4 * 2 / 4.
    let side = "%a = OpIMul %uint %own %n\n%b = OpIMul %uint %a %own\n%c = OpIMul %uint %b %own\n\
                %s = OpIAdd %uint %sum %c";
    assert_eq!(chosen(Isa::Avx512, &counted("%own", side, "%s")), 2);
    // Nothing is handed on that sub-groups have of their own: only the counter.
    let none = "%a = OpIMul %uint %own %n\n%b = OpIMul %uint %a %own\nOpStore %pointer %b";
    assert_eq!(chosen(Isa::Avx512, &counted("%any_uint", none, "%sum")), 1);
}

#[test]
fn what_iterations_only_hand_on_to_a_sum_is_no_chain() {
    // The counter's part is one addition of its own, and a sum of what four products make of it another: 1 * 4 * 2 / 6. Together they
    // would be six instructions in a row.
    let phis =
        "%sum = OpPhi %uint %own %entry %added %inside\n%place = OpPhi %uint %own %entry %place_next %inside";
    let body = "%first = OpIMul %uint %place %own\n%second = OpIMul %uint %first %own\n%third = OpIMul %uint %second %own\n\
                %fourth = OpIMul %uint %third %own\n%added = OpIAdd %uint %sum %fourth\n%place_next = OpIAdd %uint %place %own";
    assert_eq!(chosen(Isa::Avx512, &counted_loop(phis, body)), 1);
    // Two values that take turns are a chain through both.
    let phis =
        "%sum = OpPhi %uint %own %entry %other %inside\n%other = OpPhi %uint %own %entry %second %inside";
    let body = "%first = OpIMul %uint %sum %own\n%second = OpIAdd %uint %first %own";
    assert_eq!(chosen(Isa::Avx512, &counted_loop(phis, body)), 4);
}

#[test]
fn a_kernel_without_a_loop_or_barrier_is_not_coarsened() {
    assert_eq!(chosen(Isa::Avx512, "%s = OpIAdd %uint %own %own\nOpStore %pointer %s"), 1);
}

#[test]
fn sub_groups_go_through_columns_together() {
    let body = |index: &str| {
        format!(
            "%ids = OpLoad %ulong3 %GlobalInvocationId\n%x = OpCompositeExtract %ulong %ids 0\n\
             %y = OpCompositeExtract %ulong %ids 1\n{index}\
             %to = OpPtrAccessChain %to_uint %pointer %index\nOpStore %to %uint_7\n"
        )
    };
    let target = Target::limited(Isa::Avx512).expect("a target machine");
    let chosen = |coarsening: Coarsening, index: &str| {
        of_blocks(&body(index), Variant { coarsening, ..VARIANT }, |analysis| {
            best(analysis, &target).factor()
        })
    };
    let column = "%from = OpIMul %ulong %x %any_ulong\n%index = OpIAdd %ulong %from %y\n";
    assert_eq!(chosen(Coarsening::AlongY(8), column), 8);
    assert_eq!(chosen(Coarsening::AlongX(8), column), 1, "no neighbours in y");
    let row = "%from = OpIMul %ulong %y %any_ulong\n%index = OpIAdd %ulong %from %x\n";
    assert_eq!(chosen(Coarsening::AlongY(8), row), 1);
    let apart = "%from = OpIMul %ulong %x %any_ulong\n%twice = OpIMul %ulong %y %ulong_16\n\
                 %index = OpIAdd %ulong %from %twice\n";
    assert_eq!(chosen(Coarsening::AlongY(8), apart), 1, "elements that do not follow each other");
}

#[test]
fn what_iterations_hand_on_through_memory_is_a_chain() {
    // Many instructions that do not wait for each other, and a sum of the element that the iteration before has stored.
    let side = (0..8).map(|at| format!("%a{at} = OpIMul %uint %own %n\n%b{at} = OpIAdd %uint %own %a{at}\n"));
    let side = side.collect::<String>();
    let place = "%q = OpPtrAccessChain %to_uint %pointer %x\n";
    let of = |loads: &str, stores: &str| {
        let body = format!(
            "{side}%old = OpLoad %uint %{loads}\n%new = OpIAdd %uint %old %b7\nOpStore %{stores} %new"
        );
        format!("{place}{}", counted("%any_uint", &body, "%sum"))
    };
    // (1 + 2) * 4 * 2 / 18.
    assert_eq!(chosen(Isa::Avx512, &of("q", "q")), 1);
    let short = "%old = OpLoad %uint %q\n%new = OpIAdd %uint %old %own\nOpStore %q %new";
    assert_eq!(chosen(Isa::Avx512, &format!("{place}{}", counted("%any_uint", short, "%sum"))), 8);
    // Another element of the same memory.
    let wide = "%wide = OpUConvert %ulong %n\n%at = OpIMul %ulong %wide %any_ulong\n%to = OpIAdd %ulong %at %x\n\
                %after = OpIAdd %ulong %to %ulong_1\n%r = OpPtrAccessChain %to_uint %pointer %to\n\
                %s = OpPtrAccessChain %to_uint %pointer %after\n";
    let before = format!("{wide}%old = OpLoad %uint %r\n%new = OpIMul %uint %old %old\nOpStore %s %new");
    assert_eq!(chosen(Isa::Avx512, &counted("%any_uint", &before, "%sum")), 4);
}

#[test]
fn loops_down_columns_want_pieces_that_are_worth_a_look_ahead() {
    let row = "%wide = OpUConvert %ulong %n\n%at = OpIMul %ulong %wide %any_ulong\n%to = OpIAdd %ulong %at %x\n\
               %q = OpPtrAccessChain %to_uint %pointer %to\n%a = OpLoad %uint %q\n";
    // Four rows of 64 bytes.
    let sum = |load: &str| counted("%own", &format!("{load}%s = OpIAdd %uint %sum %a"), "%s");
    let much = (0..3).map(|at| format!("%m{at} = OpIMul %uint %a %a\n")).collect::<String>();
    assert_eq!(chosen(Isa::Avx512, &counted("%any_uint", &format!("{row}{much}"), "%sum")), 4);
    // Among instructions without operands, too.
    let undefined = format!("%none = OpUndef %uint\n{row}{much}");
    assert_eq!(chosen(Isa::Avx512, &counted("%any_uint", &undefined, "%sum")), 4);
    // Where there is much else to do, memory is no reason.
    let more = (0..30).map(|at| format!("%m{at} = OpIMul %uint %a %a\n")).collect::<String>();
    assert_eq!(chosen(Isa::Avx512, &counted("%any_uint", &format!("{row}{more}"), "%sum")), 1);
    // Each lane has a row of its own: side by side they would be more than the cache has room for.
    let own = row
        .replace("%ulong %at %x", "%ulong %far %wide")
        .replace("%ulong %wide %any_ulong", "%ulong %wide %ulong_1");
    let own = format!("%far = OpIMul %ulong %x %any_ulong\n{}", sum(&own));
    assert!(chosen(Isa::Avx512, &own) <= 2);
}

#[test]
fn lanes_that_go_through_rows_of_their_own_are_few_in_either_direction() {
    let recurrence = |by: &str| {
        let phis =
            "%sum = OpPhi %uint %own %entry %s %inside\n%at = OpPhi %uint %any_uint %entry %after %inside";
        let body = format!(
            "%after = OpIAdd %uint %at {by}\n%place = OpIAdd %uint %row %at\n%wide = OpSConvert %ulong %place\n\
             %q = OpPtrAccessChain %to_uint %pointer %wide\n%a = OpLoad %uint %q\n%m = OpIMul %uint %sum %own\n\
             %s = OpIAdd %uint %m %a\nOpStore %q %s"
        );
        format!("%row = OpIMul %uint %i %any_uint\n{}", counted_loop(phis, &body))
    };
    for by in ["%uint_1", "%uint_minus_1"] {
        assert_eq!(chosen(Isa::Avx512, &recurrence(by)), 1, "{by}");
    }
    assert_eq!(chosen(Isa::Avx512, &recurrence("%uint_255")), 4, "no line is come back to");
}

#[test]
fn what_rows_above_each_other_have_in_common_is_shared() {
    let target = Target::limited(Isa::Avx512).expect("a target machine");
    let chosen = |load: &str| {
        let body = format!(
            "%ids = OpLoad %ulong3 %GlobalInvocationId\n%x = OpCompositeExtract %ulong %ids 0\n\
             %y = OpCompositeExtract %ulong %ids 1\n%far = OpIMul %ulong %x %any_ulong\n{}",
            counted_loop("", &format!("%wide = OpUConvert %ulong %n\n{load}"))
        );
        let variant = Variant { coarsening: Coarsening::AlongY(8), ..VARIANT };
        of_blocks(&body, variant, |analysis| best(analysis, &target).factor())
    };
    let gather =
        "%at = OpIAdd %ulong %far %wide\n%q = OpPtrAccessChain %to_uint %pointer %at\n%a = OpLoad %uint %q\n";
    let own = "%low = OpUConvert %uint %y\n%b = OpIMul %uint %a %low\n%c = OpIAdd %uint %b %a\n";
    assert_eq!(chosen(&format!("{gather}{own}")), 4);
    let row = gather.replace("%far", "%x");
    assert_eq!(chosen(&format!("{row}{own}")), 1, "one load is not worth it");
}

#[test]
fn a_work_group_with_barriers_is_one_bundle_where_its_registers_are_enough() {
    let barrier = "OpControlBarrier %uint_2 %uint_2 %uint_0\n";
    assert_eq!(chosen_of(16, Isa::Avx512, barrier), 16);
    // As many values at once as there are products.
    let products = |count: u32| {
        let made = (0..count).map(|at| format!("%p{at} = OpIMul %uint %own %own\n")).collect::<String>();
        let used = (0..count).map(|at| format!("OpStore %pointer %p{at}\n")).collect::<String>();
        format!("{barrier}{made}{used}")
    };
    assert_eq!(chosen_of(16, Isa::Avx512, &products(1)), 16);
    assert_eq!(chosen_of(16, Isa::Avx512, &products(2)), 8);
    assert_eq!(chosen_of(16, Isa::Avx512, &products(4)), 4);
    assert_eq!(chosen_of(16, Isa::Avx2, &products(1)), 4, "a value is two registers");
}

#[test]
fn what_barriers_would_save_is_no_reason_against_a_whole_work_group() {
    // Eight values that a loop hands on, which meets others in each iteration: of eight sub-groups more than there are registers.
    let barrier = "OpControlBarrier %uint_2 %uint_2 %uint_0\n";
    let looped = |inside: &str| {
        let phis: String =
            (0..8).map(|at| format!("%v{at} = OpPhi %uint %own %entry %w{at} %inside\n")).collect();
        let next: String =
            (0..8).map(|at| format!("%w{at} = OpIAdd %uint %v{at} %v{}\n", (at + 1) % 8)).collect();
        format!(
            "OpBranch %head
             %head = OpLabel
             %n = OpPhi %uint %uint_0 %entry %next %inside
             {phis}%more = OpULessThan %bool %n %any_uint
             OpBranchConditional %more %inside %exit
             %inside = OpLabel
             {inside}{next}%next = OpIAdd %uint %n %uint_1
             OpBranch %head
             %exit = OpLabel
             OpStore %pointer %v0"
        )
    };
    let whole = Variant { coarsening: Coarsening::AlongX(8), one_bundle: true, ..VARIANT };
    let chosen = |body: &str| chosen_for(whole, Isa::Avx512, body);
    assert_eq!(chosen(&looped(barrier)), 8, "all of them are saved there in any case");
    assert_eq!(chosen(&format!("{barrier}{}", looped(""))), 2, "the loop meets nobody");
}

#[test]
fn what_a_work_group_computes_together_wants_a_large_bundle() {
    assert_eq!(chosen(Isa::Avx512, "%sum = OpGroupIAdd %uint %uint_2 Reduce %own\nOpStore %pointer %sum"), 8);
    // Of sub-groups there is nothing to wait for.
    assert_eq!(chosen(Isa::Avx512, "%sum = OpGroupIAdd %uint %uint_3 Reduce %own\nOpStore %pointer %sum"), 1);
    // Where some may not take part, those come together that do.
    let some = "OpBranchConditional %some %inside %exit\n%inside = OpLabel\n\
                %sum = OpGroupIAdd %uint %uint_2 Reduce %own\nOpBranch %exit\n%exit = OpLabel";
    assert_eq!(chosen(Isa::Avx512, &format!("%some = OpIEqual %bool %own %any_uint\n{some}")), 8);
}

#[test]
fn a_bundle_fits_the_registers() {
    let chain = "%m = OpIMul %uint %sum %own\n%s = OpIAdd %uint %m %own";
    // 16 lanes of 32 bits are one register of 32 with AVX-512, and two of 16 with AVX2; `%sum` and `%own` live.
    assert_eq!(chosen(Isa::Avx512, &counted("%own", chain, "%s")), 8);
    assert_eq!(chosen(Isa::Avx2, &counted("%own", chain, "%s")), 2);
}

#[test]
fn no_sub_group_waits_in_a_loop_for_what_another_one_of_its_bundle_writes() {
    let spin = |read: &str| {
        format!(
            "OpBranch %head
             %head = OpLabel
             %seen = {read}
             %again = OpULessThan %bool %seen %own
             OpBranchConditional %again %inside %exit
             %inside = OpLabel
             OpBranch %head
             %exit = OpLabel
             {}",
            counted("%own", "%m = OpIMul %uint %sum %own\n%s = OpIAdd %uint %m %own", "%s")
                .replace("%head", "%head2")
                .replace("%inside", "%inside2")
                .replace("%exit", "%exit2")
                .replace("%entry", "%exit")
        )
    };
    assert_eq!(chosen(Isa::Avx512, &spin("OpLoad %uint %pointer")), 8);
    assert_eq!(chosen(Isa::Avx512, &spin("OpLoad %uint %pointer Volatile")), 1);
    assert_eq!(chosen(Isa::Avx512, &spin("OpAtomicLoad %uint %pointer %uint_1 %uint_0")), 1);
}

#[test]
fn a_loop_of_different_lengths_wants_a_few_if_it_is_small() {
    let divergent = |body: &str| {
        format!(
            "OpBranch %head
             %head = OpLabel
             %n = OpPhi %uint %uint_0 %entry %next %inside
             %sum = OpPhi %uint %own %entry %s %inside
             %more = OpULessThan %bool %n %own
             OpBranchConditional %more %inside %exit
             %inside = OpLabel
             {body}
             %next = OpIAdd %uint %n %uint_1
             OpBranch %head
             %exit = OpLabel"
        )
    };
    assert_eq!(chosen(Isa::Avx512, &divergent("%m = OpIMul %uint %sum %own\n%s = OpIAdd %uint %m %own")), 4);
    let mut long = "%m0 = OpIMul %uint %sum %own\n".to_owned();
    for at in 0..40 {
        long += &format!("%m{} = OpIMul %uint %m{at} %own\n", at + 1);
    }
    assert_eq!(chosen(Isa::Avx512, &divergent(&format!("{long}%s = OpIAdd %uint %m40 %own"))), 1);
}

/// A loop with a branch that lanes take or not, by `%asked` or by what they have of their own, before they go on with one sum or another.
fn chosen_in_branches(asked: &str) -> u32 {
    let body = format!(
        "%first = OpIMul %uint %sum %own
         %taken = OpULessThan %bool {asked} %any_uint
         OpBranchConditional %taken %then %behind
         %then = OpLabel
         OpStore %pointer %any_uint
         OpBranch %behind
         %behind = OpLabel
         %s = OpPhi %uint %own %inside %i %then"
    );
    let counted = counted("%own", &body, "%s");
    chosen(
        Isa::Avx512,
        &counted.replace("%next %inside", "%next %behind").replace("%s %inside", "%s %behind"),
    )
}

#[test]
fn what_lanes_choose_waits_for_what_decides() {
    // The product and the blend are in the chain only where the product decides.
    assert_eq!(chosen_in_branches("%own"), 1);
    assert!(chosen_in_branches("%first") > 1);
}

#[test]
fn who_goes_on_waits_for_what_is_loaded_for_those_who_are_in() {
    let until = |place: &str| {
        format!(
            "%at = OpPtrAccessChain %to_uint %pointer {place}
             OpBranch %head
             %head = OpLabel
             %n = OpPhi %uint %uint_0 %entry %next %head
             %next = OpIAdd %uint %n %uint_1
             %wide = OpUConvert %ulong %n
             %here = OpPtrAccessChain %to_uint %at %wide
             %loaded = OpLoad %uint %here
             %half = OpIMul %uint %loaded %own
             %more = OpULessThan %bool %half %any_uint
             OpBranchConditional %more %head %exit
             %exit = OpLabel"
        )
    };
    assert_eq!(chosen(Isa::Avx512, &until("%x")), 4);
}

#[test]
fn what_few_sub_groups_have_a_part_in_takes_their_registers_only() {
    // Four values that a loop hands on: of one sub-group, or of sixteen.
    let for_those_below = |bound: &str| {
        let phis: String =
            (0..4).map(|at| format!("%v{at} = OpPhi %uint %own %part %w{at} %inside\n")).collect();
        let next: String =
            (0..4).map(|at| format!("%w{at} = OpIAdd %uint %v{at} %v{}\n", (at + 1) % 4)).collect();
        let looped = a_loop(
            &format!("%n = OpPhi %uint %uint_0 %part %next %inside\n{phis}"),
            "%more = OpULessThan %bool %n %any_uint",
            &format!("{next}%next = OpIAdd %uint %n %uint_1"),
        );
        format!(
            "%locals = OpLoad %ulong3 %LocalInvocationId\n%l = OpCompositeExtract %ulong %locals 0\n\
             OpControlBarrier %uint_2 %uint_2 %uint_0\n%takes_part = OpULessThan %bool %l {bound}\n\
             OpBranchConditional %takes_part %part %end\n%part = OpLabel\n{looped}\nOpStore %pointer %v0\n\
             OpBranch %end\n%end = OpLabel"
        )
    };
    let whole = Variant { coarsening: Coarsening::AlongX(16), one_bundle: true, ..VARIANT };
    assert_eq!(chosen_for(whole, Isa::Avx512, &for_those_below("%ulong_16")), 16);
    assert_ne!(chosen_for(whole, Isa::Avx512, &for_those_below("%ulong_255")), 16);
}
