//! Who owns a mask, who shares one, and which joins blend, in small graphs.
//!
//! Blocks have their number in the text; what is made for loops comes behind them.

use super::super::func::BlockId;
use super::super::testing::{VARIANT, block, of_blocks};
use super::Class;

/// A condition that differs between work-items; `%any_bool` is the same for all.
const VARYING: &str = "
    %ids = OpLoad %ulong3 %GlobalInvocationId
    %x = OpCompositeExtract %ulong %ids 0
    %varying = OpULessThan %bool %x %ulong_8";

#[derive(PartialEq, Eq, Debug)]
struct Plan {
    class: Vec<Class>,
    blended: Vec<bool>,
    divergent_loops: Vec<bool>,
}

/// The plan of the blocks of the text.
fn plan(body: &str) -> Plan {
    let count = 1 + body.matches("OpLabel").count() as u32;
    of_blocks(&format!("{VARYING}\n{body}"), VARIANT, |analysis| {
        let control = &analysis.control;
        Plan {
            class: (0..count).map(|at| control.class[block(at)]).collect(),
            blended: (0..count).map(|at| control.blended.contains(block(at))).collect(),
            divergent_loops: analysis
                .loops
                .loops
                .keys()
                .map(|at| control.divergent_loops.contains(at))
                .collect(),
        }
    })
}

fn owned_by(number: u32) -> Option<BlockId> {
    Some(block(number))
}

#[test]
fn uniform_branches_need_no_masks() {
    let found = plan(
        "OpBranchConditional %any_bool %b1 %b2
         %b1 = OpLabel
         OpBranch %b3
         %b2 = OpLabel
         OpBranch %b3
         %b3 = OpLabel",
    );
    assert_eq!(found.class, [None; 4]);
    assert_eq!(found.blended, [false; 4]);
}

#[test]
fn the_sides_of_a_varying_branch_own_masks_and_its_join_has_that_of_the_branch() {
    let found = plan(
        "OpBranchConditional %varying %b1 %b2
         %b1 = OpLabel
         OpBranch %b3
         %b2 = OpLabel
         OpBranch %b3
         %b3 = OpLabel",
    );
    assert_eq!(found.class, [None, owned_by(1), owned_by(2), None]);
    assert_eq!(found.blended, [false, false, false, true]);
}

#[test]
fn blocks_behind_a_uniform_branch_share_the_mask_around_it() {
    let found = plan(
        "OpBranchConditional %varying %b1 %b5
         %b1 = OpLabel
         OpBranchConditional %any_bool %b2 %b3
         %b2 = OpLabel
         OpBranch %b4
         %b3 = OpLabel
         OpBranch %b4
         %b4 = OpLabel
         OpBranch %b5
         %b5 = OpLabel",
    );
    let shared = owned_by(1);
    assert_eq!(found.class, [None, shared, shared, shared, shared, None]);
    assert_eq!(found.blended, [false, false, false, false, false, true]);
}

#[test]
fn a_loop_that_all_leave_together_shares_the_mask_around_it() {
    let found = plan(
        "OpBranchConditional %varying %b1 %b5
         %b1 = OpLabel
         OpBranch %b2
         %b2 = OpLabel
         %i = OpPhi %uint %uint_0 %b1 %next %b3
         %more = OpULessThan %bool %i %any_uint
         OpBranchConditional %more %b3 %b4
         %b3 = OpLabel
         %next = OpIAdd %uint %i %uint_1
         OpBranch %b2
         %b4 = OpLabel
         OpBranch %b5
         %b5 = OpLabel",
    );
    let shared = owned_by(1);
    assert_eq!(found.class, [None, shared, shared, shared, shared, None]);
    assert_eq!(found.divergent_loops, [false]);
}

#[test]
fn a_loop_that_some_leave_before_others_owns_the_mask_of_who_is_in_it() {
    let found = plan(
        "OpBranch %b1
         %b1 = OpLabel
         %i = OpPhi %ulong %ulong_0 %entry %next %b2
         %more = OpULessThan %bool %i %x
         OpBranchConditional %more %b2 %b3
         %b2 = OpLabel
         %next = OpIAdd %ulong %i %ulong_1
         OpBranch %b1
         %b3 = OpLabel",
    );
    assert_eq!(found.class, [None, owned_by(1), owned_by(2), None]);
    assert_eq!(found.divergent_loops, [true]);
    // Values come out of the loop in different iterations: its exit blends, though one edge leads there.
    assert_eq!(found.blended, [false, false, false, true]);
}

#[test]
fn a_loop_that_is_left_by_a_varying_branch_in_its_middle_diverges() {
    let found = plan(
        "OpBranch %b1
         %b1 = OpLabel
         %i = OpPhi %ulong %ulong_0 %entry %next %b3
         %more = OpULessThan %bool %i %any_ulong
         OpBranchConditional %more %b2 %b4
         %b2 = OpLabel
         OpBranchConditional %varying %b3 %b5
         %b3 = OpLabel
         %next = OpIAdd %ulong %i %ulong_1
         OpBranch %b1
         %b4 = OpLabel
         OpBranch %b5
         %b5 = OpLabel",
    );
    assert_eq!(found.divergent_loops, [true]);
    assert_eq!(found.class[1], owned_by(1));
    assert_eq!(found.class[5], None);
    assert!(found.blended[5] && !found.blended[1]);
}

#[test]
fn a_varying_branch_within_a_loop_that_all_leave_together_does_not_make_it_diverge() {
    let found = plan(
        "OpBranch %b1
         %b1 = OpLabel
         %i = OpPhi %ulong %ulong_0 %entry %next %b4
         %more = OpULessThan %bool %i %any_ulong
         OpBranchConditional %more %b2 %b5
         %b2 = OpLabel
         OpBranchConditional %varying %b3 %b4
         %b3 = OpLabel
         OpBranch %b4
         %b4 = OpLabel
         %next = OpIAdd %ulong %i %ulong_1
         OpBranch %b1
         %b5 = OpLabel",
    );
    assert_eq!(found.divergent_loops, [false]);
    assert_eq!(found.class, [None, None, None, owned_by(3), None, None]);
    assert_eq!(found.blended, [false, false, false, false, true, false]);
}

#[test]
fn an_edge_leaves_all_loops_between_its_ends() {
    let exits = of_blocks(
        "OpBranch %b1
         %b1 = OpLabel
         OpBranch %b2
         %b2 = OpLabel
         OpBranchConditional %any_bool %b3 %b4
         %b3 = OpLabel
         OpBranchConditional %any_bool %b2 %b5
         %b4 = OpLabel
         OpBranchConditional %any_bool %b1 %b5
         %b5 = OpLabel",
        VARIANT,
        |analysis| {
            let of = |header| analysis.loops.loops.values().find(|this| this.header == block(header));
            [1, 2].map(|header| {
                let mut exits = of(header).expect("a loop").exits.clone();
                exits.sort_unstable();
                exits
            })
        },
    );
    let [b2, b3, b4, b5] = [2, 3, 4, 5].map(block);
    assert_eq!(exits, [vec![(b3, b5), (b4, b5)], vec![(b2, b4), (b3, b5)]]);
}
