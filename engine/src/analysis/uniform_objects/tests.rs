//! What a private object holds, by who writes it where, and who reads it where.

use super::super::testing::{VARIANT, of_blocks};
use super::Holds;
use crate::abi::{Coarsening, Variant};

/// What `%object` holds in a kernel of these instructions. `%x` and `%varying` differ between work-items.
fn holds(body: &str) -> Holds {
    let before = "%ids = OpLoad %ulong3 %GlobalInvocationId
        %wide = OpCompositeExtract %ulong %ids 0
        %group = OpCompositeExtract %ulong %ids 1
        %x = OpUConvert %uint %wide
        %y = OpUConvert %uint %group
        %varying = OpULessThan %bool %x %uint_8";
    let variant = Variant { coarsening: Coarsening::AlongY(2), ..VARIANT };
    of_blocks(&format!("{before}\n{body}"), variant, |analysis| {
        analysis.holds.values().copied().next().expect("there is one object")
    })
}

#[test]
fn an_object_holds_what_is_written_to_it() {
    let then_read = |value: &str| holds(&format!("OpStore %object {value}\n%r = OpLoad %uint %object"));
    assert_eq!(then_read("%any_uint"), Holds::Common);
    assert_eq!(then_read("%y"), Holds::Uniform);
    assert_eq!(then_read("%x"), Holds::Varying);
    assert_eq!(
        holds("OpStore %object %any_uint\nOpStore %object %x\n%r = OpLoad %uint %object"),
        Holds::Varying
    );
}

#[test]
fn who_reads_behind_a_branch_that_not_all_took_has_not_seen_its_write() {
    let branch = |inside: &str, behind: &str| {
        holds(&format!(
            "OpStore %object %any_uint
             OpBranchConditional %varying %b1 %b2
             %b1 = OpLabel
             OpStore %object %uint_1
             {inside}
             OpBranch %b2
             %b2 = OpLabel
             {behind}"
        ))
    };
    assert_eq!(branch("", "%r = OpLoad %uint %object"), Holds::Varying);
    assert_eq!(branch("%r = OpLoad %uint %object", ""), Holds::Common);
}

/// Under a mask, a write on one side of a uniform branch, and a read behind both.
const AMONG: &str = "
    OpBranchConditional %any_bool %write %other
    %write = OpLabel
    OpStore %object %uint_1
    OpBranch %behind
    %other = OpLabel
    OpBranch %behind
    %behind = OpLabel
    %r = OpLoad %uint %object";

#[test]
fn who_runs_under_one_mask_sees_the_writes_under_it() {
    let found = holds(&format!(
        "OpBranchConditional %varying %b1 %end
         %b1 = OpLabel
         {AMONG}
         OpBranch %end
         %end = OpLabel"
    ));
    assert_eq!(found, Holds::Common);
}

/// A loop, left at its head where `more` is false, around what is given.
fn in_loop(more: &str, inside: &str, last: &str, behind: &str) -> Holds {
    holds(&format!(
        "OpStore %object %any_uint
         OpBranch %head
         %head = OpLabel
         %n = OpPhi %uint %uint_0 %entry %next %{last}
         %more = OpULessThan %bool %n {more}
         OpBranchConditional %more %inside %exit
         %inside = OpLabel
         {inside}
         %next = OpIAdd %uint %n %uint_1
         OpBranch %head
         %exit = OpLabel
         {behind}"
    ))
}

#[test]
fn one_mask_that_a_loop_changes_from_one_iteration_to_the_next_is_not_one() {
    // Who is in the loop now reads what all wrote that were in it when the branch went the other way.
    assert_eq!(in_loop("%x", AMONG, "behind", ""), Holds::Varying);
    assert_eq!(in_loop("%any_uint", AMONG, "behind", ""), Holds::Common);
}

#[test]
fn who_left_a_loop_has_not_seen_what_the_others_went_on_to_write() {
    let (write, read) = ("OpStore %object %n", "%r = OpLoad %uint %object");
    assert_eq!(in_loop("%x", write, "inside", read), Holds::Varying);
    assert_eq!(in_loop("%any_uint", write, "inside", read), Holds::Common);
    assert_eq!(in_loop("%x", &format!("{write}\n{read}"), "inside", ""), Holds::Common);
}

/// What an object holds whose value is changed under a mask, where so much else is done.
fn changed(beside: &str) -> Holds {
    holds(&format!(
        "OpStore %object %any_uint
         OpBranchConditional %varying %b1 %end
         %b1 = OpLabel
         %r = OpLoad %uint %object
         {beside}
         %sum = OpIAdd %uint %r %uint_1
         OpStore %object %sum
         %again = OpLoad %uint %object
         OpBranch %end
         %end = OpLabel"
    ))
}

#[test]
fn who_changes_what_it_holds_behind_others_has_it_for_itself() {
    assert_eq!(changed(""), Holds::Common);
    // Sub-groups divide one after the other, where they have a lane on.
    assert_eq!(changed("%quotient = OpUDiv %uint %x %any_uint"), Holds::Uniform);
    // What is written anew stays the same.
    let written = "%quotient = OpUDiv %uint %x %any_uint\nOpStore %object %uint_1";
    let body = format!(
        "OpBranchConditional %varying %b1 %end\n%b1 = OpLabel\n{written}\n%r = OpLoad %uint %object\nOpBranch %end\n%end = OpLabel"
    );
    assert_eq!(holds(&body), Holds::Common);
}
