use super::super::testing::{VARIANT, a_loop, counted_loop, of_blocks};
use crate::abi::{Coarsening, Variant};

/// Whether a loop of so many iterations over the private array `%words` of four `uint` is straight code. The array's name `%zeros` has the
/// types declared.
fn unrolls(iterations: &str, body: &str) -> bool {
    let body = counted_loop("", &format!("%place = OpAccessChain %private_uint %words %n\n{body}"))
        .replace("%n %any_uint", &format!("%n {iterations}"));
    let ids = "%ids = OpLoad %ulong3 %GlobalInvocationId\n%x = OpCompositeExtract %ulong %ids 0\n%own = OpUConvert %uint %x\n";
    of_blocks(&format!("{ids}{body}\n%seen = OpLoad %bytes_type %zeros"), VARIANT, |analysis| {
        let all = analysis.loops.loops.keys().map(|id| analysis.unrolls(id));
        all.collect::<Vec<_>>() == [true]
    })
}

const CHANGED: &str = "%old = OpLoad %uint %place\n%new = OpIAdd %uint %old %own\nOpStore %place %new";

#[test]
fn a_loop_that_reads_and_writes_each_element_is_straight_code() {
    assert!(unrolls("%uint_4", CHANGED));
    assert!(!unrolls("%any_uint", CHANGED), "nobody knows how long it is");
    assert!(!unrolls("%uint_255", CHANGED), "it is long");
}

#[test]
fn what_is_only_read_or_always_the_same_element_stays_a_loop() {
    assert!(!unrolls("%uint_4", "%old = OpLoad %uint %place\nOpStore %pointer %old"));
    assert!(!unrolls("%uint_4", "OpStore %place %own"));
    let same = "%first = OpAccessChain %private_uint %words %uint_0\n%old = OpLoad %uint %first\n\
                %new = OpIAdd %uint %old %own\nOpStore %first %new";
    assert!(!unrolls("%uint_4", same));
}

#[test]
fn what_an_array_was_copied_from_is_gone_through_as_well() {
    let gone_through = |copy: &str| {
        let ids = "%ids = OpLoad %ulong3 %GlobalInvocationId\n%x = OpCompositeExtract %ulong %ids 0\n%own = OpUConvert %uint %x\n\
                   %to = OpBitcast %private_uchar %words\n%from = OpBitcast %private_uchar %zeros";
        let body = counted_loop("", &format!("%place = OpAccessChain %private_uint %words %n\n{CHANGED}"))
            .replace("%n %any_uint", "%n %uint_4");
        of_blocks(&format!("{ids}\n{copy}\n{body}"), VARIANT, |analysis| {
            analysis.private.placement.keys().filter(|id| analysis.is_gone_through(**id)).count()
        })
    };
    assert_eq!(gone_through("OpCopyMemorySized %to %from %ulong_16"), 2);
    assert_eq!(gone_through("OpCopyMemorySized %from %to %ulong_16"), 1);
}

/// Whether a loop over a `%step` that begins at `first` and goes on with `next` is straight code in a work-group of 16 sub-groups.
fn steps_unroll(first: &str, next: &str, inside: &str, one_bundle: bool) -> bool {
    let sizes = "%sizes = OpLoad %ulong3 %WorkgroupSize\n%size = OpCompositeExtract %ulong %sizes 0\n\
        %half = OpShiftRightLogical %ulong %size %ulong_1\n%narrow = OpUConvert %uint %half\n";
    let body = a_loop(
        &format!("%step = OpPhi %uint {first} %entry %next %inside"),
        "%more = OpUGreaterThan %bool %step %uint_0",
        &format!("{inside}\n%next = {next}"),
    );
    let variant = Variant { coarsening: Coarsening::AlongX(16), one_bundle, ..VARIANT };
    of_blocks(&format!("{sizes}{body}"), variant, |analysis| {
        analysis.loops.loops.keys().map(|id| analysis.unrolls(id)).collect::<Vec<_>>() == [true]
    })
}

#[test]
fn the_steps_of_a_tree_of_a_known_work_group_are_straight_code() {
    const BARRIER: &str = "OpControlBarrier %uint_2 %uint_2 %uint_0";
    let halved = "OpShiftRightLogical %uint %step %uint_1";
    assert!(steps_unroll("%narrow", halved, BARRIER, true));
    assert!(steps_unroll("%uint_1", "OpIMul %uint %step %uint_2", BARRIER, true));
    assert!(!steps_unroll("%narrow", halved, BARRIER, false), "nobody knows how many there are");
    assert!(!steps_unroll("%any_uint", halved, BARRIER, true));
    assert!(!steps_unroll("%narrow", halved, "", true), "nobody meets");
    assert!(!steps_unroll("%narrow", "OpISub %uint %step %uint_1", BARRIER, true), "there are many steps");
}

#[test]
fn bundles_are_no_larger_than_arrays_in_registers_allow() {
    let largest = |iterations: &str, factor: u32| {
        let body = counted_loop("", &format!("%place = OpAccessChain %private_uint %words %n\n{CHANGED}"))
            .replace("%n %any_uint", &format!("%n {iterations}"));
        let ids = "%ids = OpLoad %ulong3 %GlobalInvocationId\n%x = OpCompositeExtract %ulong %ids 0\n%own = OpUConvert %uint %x\n";
        let variant = Variant { coarsening: Coarsening::AlongX(factor), ..VARIANT };
        of_blocks(&format!("{ids}{body}\n%seen = OpLoad %bytes_type %zeros"), variant, |analysis| {
            analysis.largest_with_arrays()
        })
    };
    assert_eq!(largest("%uint_4", 4), Some(4));
    assert_eq!(largest("%uint_4", 32), Some(16), "of 16 bytes each");
    assert_eq!(largest("%any_uint", 16), None);
}

/// Whether a loop of four iterations that read `%words` only is straight code, behind one in the same loop that makes this of each element.
fn reads_unroll(written: &str) -> bool {
    let ids = "%ids = OpLoad %ulong3 %GlobalInvocationId\n%x = OpCompositeExtract %ulong %ids 0\n%own = OpUConvert %uint %x\n\
        %first = OpAccessChain %private_uint %words %uint_0\nOpStore %first %own\n";
    let mover = format!(
        "OpBranch %mover\n%mover = OpLabel\n%m = OpPhi %uint %uint_0 %inside %m_next %mover\n\
         %from = OpAccessChain %private_uint %words %m\n%m_next = OpIAdd %uint %m %uint_1\n\
         %to = OpAccessChain %private_uint %words %m_next\n{written}\n\
         %moves = OpULessThan %bool %m_next %uint_2\nOpBranchConditional %moves %mover %moved\n%moved = OpLabel"
    );
    let reader = "OpBranch %reader\n%reader = OpLabel\n%k = OpPhi %uint %uint_0 %moved %k_next %reader\n\
        %place = OpAccessChain %private_uint %words %k\n%old = OpLoad %uint %place\nOpStore %pointer %old\n\
        %k_next = OpIAdd %uint %k %uint_1\n%again = OpULessThan %bool %k_next %uint_4\n\
        OpBranchConditional %again %reader %last\n%last = OpLabel";
    let outer = counted_loop("", &format!("{mover}\n{reader}")).replace("%next %inside", "%next %last");
    of_blocks(&format!("{ids}{outer}\n%seen = OpLoad %bytes_type %zeros"), VARIANT, |analysis| {
        let last = analysis.loops.loops.keys().max_by_key(|id| analysis.loops.get(*id).header);
        last.is_some_and(|id| analysis.unrolls(id))
    })
}

#[test]
fn what_is_only_read_is_straight_code_where_elements_move_on_around_it() {
    assert!(reads_unroll("%moving = OpLoad %uint %from\nOpStore %to %moving"));
    assert!(!reads_unroll("OpStore %to %own"), "they are new ones");
}
