use super::super::testing::{VARIANT, a_loop, of_blocks};
use super::plans;
use crate::abi::{Coarsening, Variant};
use crate::jit::target::{Isa, Target};

/// A loop over a list of each work-item's own, which does this with each entry, for those of a kind.
fn list(each: &str) -> String {
    let asked = "%is_chosen = OpULessThan %bool %begin %any_uint\nOpBranchConditional %is_chosen %front %away\n\
        %away = OpLabel\nOpReturn\n%front = OpLabel\nOpBranch %head";
    let text = list_of_all(each).replacen("OpBranch %head", asked, 1);
    text.replace("%entry %next", "%front %next").replace("%entry %more_of", "%front %more_of")
}

/// The same for all.
fn list_of_all(each: &str) -> String {
    let before = "%ids = OpLoad %ulong3 %GlobalInvocationId\n%x = OpCompositeExtract %ulong %ids 0\n\
        %mine = OpPtrAccessChain %to_uint %pointer %x\n%begin = OpLoad %uint %mine\n%end = OpIAdd %uint %begin %any_uint\n";
    let phis =
        "%at = OpPhi %uint %begin %entry %next %inside\n%count = OpPhi %uint %uint_0 %entry %more_of %inside";
    let body = format!(
        "%place = OpPtrAccessChain %to_uint %pointer %at\n%entry_of = OpLoad %uint %place\n{each}\n\
         %more_of = OpIAdd %uint %count %entry_of\n%next = OpIAdd %uint %at %uint_1"
    );
    let condition = "%more = OpULessThan %bool %at %end";
    format!("{before}{}\nOpStore %mine %count", a_loop(phis, condition, &body))
}

/// How many values a lane brings to each loop that has turns.
fn found_with(settled: Variant, body: &str) -> Vec<usize> {
    let target = Target::limited(Isa::Avx512).unwrap();
    of_blocks(body, VARIANT, |a| plans(a, settled, &target).iter().map(|plan| plan.brought.len()).collect())
}

fn found(body: &str) -> Vec<usize> {
    found_with(VARIANT, body)
}

const NAMED: &str = "%there = OpPtrAccessChain %to_uint %pointer %entry_of\n";

#[test]
fn lists_of_lanes_are_gone_through_in_turn() {
    assert_eq!(found(&list("")), [2]);
    assert_eq!(
        found(&list(&format!("{NAMED}%old = OpAtomicIAdd %uint %there %uint_1 %uint_0 %uint_7"))),
        [2]
    );
    assert_eq!(found(&list(&format!("{NAMED}OpStore %there %count"))), [2]);
}

/// Where lists are asked for being empty, others come to where the loop is left.
#[test]
fn a_loop_may_be_left_to_where_others_come() {
    let asked = "%is_empty = OpUGreaterThanEqual %bool %begin %end\nOpBranchConditional %is_empty %exit %inner\n\
        %inner = OpLabel\nOpBranch %head";
    let text = list("").replacen("OpBranch %head", asked, 1);
    let text = text.replace("%front %next", "%inner %next").replace("%front %more_of", "%inner %more_of");
    let joined = "%exit = OpLabel\n%all = OpPhi %uint %uint_0 %front %count %head";
    let text = text.replace("%exit = OpLabel", joined).replace("OpStore %mine %count", "OpStore %mine %all");
    assert_eq!(found(&text), [2]);
}

#[test]
fn where_all_have_a_list_nobody_waits_for_a_turn() {
    assert!(found(&list_of_all("")).is_empty());
}

#[test]
fn sub_groups_side_by_side_take_no_turns() {
    let two = Variant { coarsening: Coarsening::AlongX(2), ..VARIANT };
    assert!(found_with(two, &list("")).is_empty());
}

#[test]
fn what_lies_beside_each_other_is_no_list() {
    let beside = "%beside = OpPtrAccessChain %to_uint %pointer %x\n%also = OpLoad %uint %beside";
    assert!(found(&list(beside)).is_empty());
    assert!(found(&list("OpStore %object %entry_of")).is_empty());
    let id = "%own_ids = OpLoad %ulong3 %GlobalInvocationId\n";
    assert!(found(&list(id)).is_empty());
}

/// Others may wait for it, or it is computed with more than it costs to gather.
#[test]
fn what_is_done_by_several_or_takes_long_is_done_by_all() {
    assert!(found(&list("OpControlBarrier %uint_2 %uint_2 %uint_0")).is_empty());
    let products: String = (0..4)
        .map(|at| {
            format!(
                "%product{at} = OpIMul %uint %entry_of %count\n%sum{at} = OpIAdd %uint %product{at} %at\n"
            )
        })
        .collect();
    assert!(found(&list(&products)).is_empty());
}
