//! Which parts of kernels are guarded.

use super::super::testing::{VARIANT, a_loop, block, of_blocks};
use super::Worth;
use crate::abi::{Coarsening, Variant};

const IDS: &str = "%ids = OpLoad %ulong3 %GlobalInvocationId\n%x = OpCompositeExtract %ulong %ids 0\n";
/// A row of elements.
const ROW: &str = "%at = OpInBoundsPtrAccessChain %to_uint %pointer %x\nOpStore %at %uint_1\n";

/// The numbers of the blocks of the first part, where `inside` is executed if `%is`.
fn guarded(condition: &str, inside: &str) -> Vec<u32> {
    let body = format!(
        "{IDS}{condition}\nOpBranchConditional %is %inner %behind\n%inner = OpLabel\n{inside}\nOpBranch %behind\n%behind = OpLabel"
    );
    first_part(&body)
}

fn first_part(body: &str) -> Vec<u32> {
    of_blocks(body, VARIANT, |analysis| {
        let parts = analysis.guarded(Worth::More);
        let first = parts.first().map(|part| part.blocks.as_slice()).unwrap_or_default();
        (0..analysis.func.blocks.len() as u32).filter(|number| first.contains(&block(*number))).collect()
    })
}

#[test]
fn a_comparison_of_ids_with_a_bound_is_a_guard() {
    assert_eq!(guarded("%is = OpULessThan %bool %x %any_ulong", ROW), [1]);
    assert_eq!(guarded("%is = OpSGreaterThanEqual %bool %any_ulong %x", ROW), [1]);
    let both = "%low = OpUGreaterThan %bool %x %ulong_1\n%high = OpULessThan %bool %x %any_ulong\n";
    assert_eq!(guarded(&format!("{both}%is = OpLogicalAnd %bool %low %high"), ROW), [1]);
}

#[test]
fn what_is_guarded_in_a_part_is_a_part_of_it() {
    let inner = |condition: &str| {
        format!(
            "{IDS}%is = OpULessThan %bool %x %any_ulong\nOpBranchConditional %is %outer %behind\n%outer = OpLabel\n{condition}\n\
             OpBranchConditional %inside %inner %join\n%inner = OpLabel\n{ROW}OpBranch %join\n%join = OpLabel\n\
             OpStore %at2 %uint_1\nOpBranch %behind\n%behind = OpLabel"
        )
    };
    let inner = |condition: &str| {
        let row = "%at2 = OpInBoundsPtrAccessChain %to_uint %pointer %x\n";
        of_blocks(&inner(&format!("{row}{condition}")), VARIANT, |analysis| {
            let parts = analysis.guarded(Worth::More);
            let [part] = &parts[..] else { panic!("{parts:?}") };
            part.inner.iter().map(|part| part.blocks.len()).collect::<Vec<_>>()
        })
    };
    assert_eq!(inner("%inside = OpINotEqual %bool %x %ulong_1"), [1]);
    let data = "%data = OpLoad %uint %at2\n%inside = OpULessThan %bool %data %any_uint";
    assert!(inner(data).is_empty());
}

#[test]
fn what_depends_on_data_or_is_for_one_work_item_is_none() {
    let loaded = format!("{ROW}%data = OpLoad %uint %at\n%is = OpULessThan %bool %data %any_uint");
    assert!(
        guarded(&loaded, "%next = OpInBoundsPtrAccessChain %to_uint %at %ulong_1\nOpStore %next %uint_1")
            .is_empty()
    );
    assert!(guarded("%is = OpIEqual %bool %x %any_ulong", ROW).is_empty());
    // All lanes of a sub-group or none.
    assert!(guarded("%is = OpULessThan %bool %ulong_8 %any_ulong", ROW).is_empty());
}

#[test]
fn there_have_to_be_rows_and_nothing_in_which_lanes_meet() {
    let is = "%is = OpULessThan %bool %x %any_ulong";
    assert!(guarded(is, "OpStore %pointer %uint_1").is_empty());
    let atomic = "%old = OpAtomicIAdd %uint %pointer %uint_1 %uint_0 %uint_1";
    assert!(guarded(is, &format!("{ROW}{atomic}")).is_empty());
    let vote = "%all = OpGroupAll %bool %uint_3 %any_bool";
    assert!(guarded(is, &format!("{ROW}{vote}")).is_empty());
}

#[test]
fn loops_in_a_part_are_of_it_and_others_are_parts_of_their_own() {
    let counted = "OpBranch %start\n%start = OpLabel\nOpBranch %head\n%head = OpLabel\n%n = OpPhi %uint %uint_0 %start %more %head\n";
    let counted = format!(
        "{counted}{ROW}%more = OpIAdd %uint %n %uint_1\n%again = OpULessThan %bool %more %any_uint\n\
         OpBranchConditional %again %head %done\n%done = OpLabel"
    );
    let part = guarded("%is = OpULessThan %bool %x %any_ulong", &counted);
    assert!(part.len() >= 4, "{part:?}");
    // `for (i = x; i < n; i += size)`.
    let strided = a_loop(
        "%i = OpPhi %ulong %x %entry %next %inside",
        "%more = OpULessThan %bool %i %any_ulong",
        "%at = OpInBoundsPtrAccessChain %to_uint %pointer %i\nOpStore %at %uint_1\n%next = OpIAdd %ulong %i %any_ulong",
    );
    assert_eq!(first_part(&format!("{IDS}{strided}")), [2]);
    // The same with its condition behind the body.
    let rotated = "OpBranch %head\n%head = OpLabel\n%i = OpPhi %ulong %x %entry %next %head\n\
         %at = OpInBoundsPtrAccessChain %to_uint %pointer %i\nOpStore %at %uint_1\n\
         %next = OpIAdd %ulong %i %any_ulong\n%more = OpULessThan %bool %next %any_ulong\n\
         OpBranchConditional %more %head %exit\n%exit = OpLabel";
    assert!(first_part(&format!("{IDS}{rotated}")).contains(&1));
    // Lanes leave this one when their data says so.
    let of_data = a_loop(
        "%i = OpPhi %ulong %x %entry %next %inside",
        "%at = OpInBoundsPtrAccessChain %to_uint %pointer %i\n%data = OpLoad %uint %at\n\
         %more = OpULessThan %bool %data %any_uint",
        "%next = OpIAdd %ulong %i %any_ulong",
    );
    assert!(first_part(&format!("{IDS}{of_data}")).is_empty());
}

/// A loop of `for (i = x; i < n; i += by)` as compilers have it, behind the question whether there is an iteration.
fn strided_behind_a_guard(by: &str) -> String {
    let rotated = format!(
        "OpBranch %head\n%head = OpLabel\n%i = OpPhi %ulong %x %inner %next %head\n\
         %at = OpInBoundsPtrAccessChain %to_uint %pointer %i\nOpStore %at %uint_1\n\
         %next = OpIAdd %ulong %i {by}\n%more = OpULessThan %bool %next %any_ulong\n\
         OpBranchConditional %more %head %done\n%done = OpLabel"
    );
    format!(
        "{IDS}%is = OpULessThan %bool %x %any_ulong\nOpBranchConditional %is %inner %behind\n%inner = OpLabel\n\
         {rotated}\nOpBranch %behind\n%behind = OpLabel"
    )
}

#[test]
fn what_is_one_bundle_keeps_masks_for_which_there_is_no_room_where_they_cost_less() {
    // Two parts, of which there is room for one, or for both.
    let body = |insts: usize| {
        let part = |at: usize| {
            let sums: String =
                (0..insts).map(|sum| format!("%sum{at}_{sum} = OpIAdd %uint %any_uint %uint_1\n")).collect();
            let row = ROW.replace("%at", &format!("%at{at}"));
            format!(
                "OpBranchConditional %is %inner{at} %behind{at}\n%inner{at} = OpLabel\n{row}{sums}OpBranch %behind{at}\n\
                 %behind{at} = OpLabel\n"
            )
        };
        format!("{IDS}%is = OpULessThan %bool %x %any_ulong\n{}{}", part(1), part(2))
    };
    let parts = |insts: usize, one_bundle: bool, worth: Worth| {
        let variant = Variant { coarsening: Coarsening::AlongX(4), one_bundle, ..VARIANT };
        of_blocks(&body(insts), variant, |analysis| analysis.guarded(worth).len())
    };
    for one_bundle in [false, true] {
        for worth in [Worth::More, Worth::Less] {
            assert_eq!(parts(10, one_bundle, worth), 2);
            let has_some = worth == Worth::More || !one_bundle;
            assert_eq!(parts(120, one_bundle, worth), usize::from(has_some), "{one_bundle} {worth:?}");
        }
    }
}

#[test]
fn a_loop_of_strides_is_a_part_rather_than_what_asks_in_front_of_it() {
    let part = first_part(&strided_behind_a_guard("%any_ulong"));
    assert!(part.contains(&2) && !part.contains(&1), "{part:?}");
}

#[test]
fn lanes_that_stride_leave_together() {
    let strides = |body: &str| {
        of_blocks(body, VARIANT, |analysis| {
            analysis.control.divergent_loops.iter().map(|id| analysis.is_grid_stride(id)).collect::<Vec<_>>()
        })
    };
    assert_eq!(strides(&strided_behind_a_guard("%any_ulong")), [true]);
    assert_eq!(strides(&strided_behind_a_guard("%ulong_1")), [false], "one after the other");
    assert_eq!(strides(&strided_behind_a_guard("%x")), [false], "each by its own steps");
    // `for (j = 0; j < x; j += n)`.
    let triangle = a_loop(
        "%j = OpPhi %ulong %ulong_0 %entry %next %inside",
        "%more = OpULessThan %bool %j %x",
        "%next = OpIAdd %ulong %j %any_ulong",
    );
    assert_eq!(strides(&format!("{IDS}{triangle}")), [false], "the later, the more");
}
