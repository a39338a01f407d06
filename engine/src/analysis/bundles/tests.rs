//! Which leaves of every kind of value differ between the sub-groups of a bundle, exactly.

use super::super::func::ENTRY;
use super::super::testing::{VARIANT, of_last};
use crate::abi::{Coarsening, Variant};

/// Components of the global id.
const IDS: &str = "
    %ids = OpLoad %ulong3 %GlobalInvocationId
    %x = OpCompositeExtract %ulong %ids 0
    %y = OpCompositeExtract %ulong %ids 1
    %x32 = OpUConvert %uint %x";

fn along(coarsening: Coarsening, body: &str) -> Vec<bool> {
    of_last(&format!("{IDS}\n{body}"), Variant { coarsening, ..VARIANT }, |analysis, inst| {
        let leaves = inst.ty.map_or(1, |ty| analysis.leaves.count(ty).max(1));
        analysis.differs(ENTRY, inst.result.expect("a result"), leaves).to_vec()
    })
}

/// In bundles of sub-groups that are neighbours in x.
fn differs(body: &str) -> Vec<bool> {
    along(Coarsening::AlongX(2), body)
}

#[test]
fn ids_differ_in_the_direction_of_the_bundle() {
    for id in ["GlobalInvocationId", "LocalInvocationId"] {
        let whole = format!("OpLoad %ulong3 %{id}");
        assert_eq!(differs(&whole), [true, false, false], "{id}");
        assert_eq!(along(Coarsening::AlongY(2), &whole), [false, true, false], "{id}");
        assert_eq!(along(Coarsening::Off, &whole), [false; 3], "{id}");
    }
}

#[test]
fn what_numbers_sub_groups_or_all_work_items_differs_in_every_direction() {
    for coarsening in [Coarsening::AlongX(2), Coarsening::AlongY(4)] {
        for (ty, builtin) in
            [("ulong", "LocalInvocationIndex"), ("ulong", "GlobalLinearId"), ("uint", "SubgroupId")]
        {
            assert_eq!(along(coarsening, &format!("OpLoad %{ty} %{builtin}")), [true], "{builtin}");
        }
    }
}

#[test]
fn what_a_work_group_or_every_sub_group_has_is_common() {
    for builtin in ["GlobalSize", "GlobalOffset", "WorkgroupSize", "WorkgroupId", "NumWorkgroups"] {
        assert_eq!(differs(&format!("OpLoad %ulong3 %{builtin}")), [false; 3], "{builtin}");
    }
    for builtin in ["NumSubgroups", "SubgroupLocalInvocationId", "SubgroupMaxSize", "WorkDim"] {
        assert_eq!(differs(&format!("OpLoad %uint %{builtin}")), [false], "{builtin}");
    }
}

#[test]
fn composites_differ_leaf_by_leaf() {
    let pair = "%pair = OpCompositeConstruct %ulong2 %y %x\n";
    assert_eq!(differs("OpCompositeConstruct %ulong2 %x %y"), [true, false]);
    assert_eq!(differs("OpCompositeConstruct %ulong2 %y %x"), [false, true]);
    assert_eq!(differs(&format!("{pair}OpCompositeConstruct %ulong_and_two %y %pair")), [false, false, true]);
    assert_eq!(differs(&format!("{pair}OpCompositeConstruct %ulong_and_two %x %pair")), [true, false, true]);
    assert_eq!(differs(&format!("{pair}OpCompositeExtract %ulong %pair 0")), [false]);
    assert_eq!(differs(&format!("{pair}OpCompositeExtract %ulong %pair 1")), [true]);
    let nested = format!("{pair}%nested = OpCompositeConstruct %ulong_and_two %y %pair\n");
    assert_eq!(differs(&format!("{nested}OpCompositeExtract %ulong2 %nested 1")), [false, true]);
    assert_eq!(differs(&format!("{nested}OpCompositeExtract %ulong %nested 1 0")), [false]);
    assert_eq!(differs(&format!("{nested}OpCompositeExtract %ulong %nested 1 1")), [true]);
}

#[test]
fn an_insertion_changes_the_leaves_that_it_replaces() {
    let pairs = "%own = OpCompositeConstruct %ulong2 %x %x\n%common = OpCompositeConstruct %ulong2 %y %y\n";
    let insert = |what: &str| differs(&format!("{pairs}OpCompositeInsert {what}"));
    assert_eq!(insert("%ulong2 %x %common 0"), [true, false]);
    assert_eq!(insert("%ulong2 %x %common 1"), [false, true]);
    assert_eq!(insert("%ulong2 %y %own 0"), [false, true]);
    assert_eq!(insert("%ulong2 %y %own 1"), [true, false]);
    let nested = "%mixed = OpCompositeConstruct %ulong2 %y %x\n\
                  %nested = OpCompositeConstruct %ulong_and_two %y %common\n";
    let insert = |what: &str| differs(&format!("{pairs}{nested}OpCompositeInsert {what}"));
    assert_eq!(insert("%ulong_and_two %mixed %nested 1"), [false, false, true]);
    assert_eq!(insert("%ulong_and_two %own %nested 1"), [false, true, true]);
    assert_eq!(insert("%ulong_and_two %x %nested 1 1"), [false, false, true]);
    assert_eq!(insert("%ulong_and_two %x %nested 0"), [true, false, false]);
}

#[test]
fn a_shuffle_differs_where_the_parts_that_it_picks_do() {
    let pairs = "%mixed = OpCompositeConstruct %ulong2 %y %x\n%common = OpCompositeConstruct %ulong2 %y %y\n";
    let shuffle = |picks: &str| differs(&format!("{pairs}OpVectorShuffle %ulong2 {picks}"));
    assert_eq!(shuffle("%mixed %common 2 3"), [false, false]);
    assert_eq!(shuffle("%mixed %common 1 3"), [true, false]);
    assert_eq!(shuffle("%common %mixed 0 3"), [false, true]);
    assert_eq!(shuffle("%common %common 0 3"), [false, false]);
}

#[test]
fn other_results_differ_where_an_operand_does() {
    assert_eq!(differs("OpIAdd %ulong %y %any_ulong"), [false]);
    assert_eq!(differs("OpIAdd %ulong %x %any_ulong"), [true]);
    assert_eq!(differs("OpIAdd %ulong %any_ulong %x"), [true]);
    let pairs = "%mixed = OpCompositeConstruct %ulong2 %y %x\n%common = OpCompositeConstruct %ulong2 %y %y\n\
                 %left = OpCompositeConstruct %ulong2 %x %y\n";
    assert_eq!(differs(&format!("{pairs}OpIAdd %ulong2 %mixed %common")), [false, true]);
    assert_eq!(differs(&format!("{pairs}OpIAdd %ulong2 %mixed %left")), [true, true]);
    // A scalar with a vector: one for all leaves.
    assert_eq!(
        differs(&format!("{pairs}%own = OpIEqual %bool %x %y\nOpSelect %ulong2 %own %common %common")),
        [true, true]
    );
    assert_eq!(
        differs(&format!("{pairs}%all = OpIEqual %bool %y %y\nOpSelect %ulong2 %all %mixed %common")),
        [false, true]
    );
}

#[test]
fn a_load_differs_if_its_address_does_or_if_somebody_else_may_change_it() {
    assert_eq!(differs("OpLoad %uint %pointer"), [false]);
    assert_eq!(differs("OpLoad %uint %pointer Volatile"), [true]);
    assert_eq!(differs("%at = OpInBoundsPtrAccessChain %to_uint %pointer %x\nOpLoad %uint %at"), [true]);
    assert_eq!(differs("%at = OpInBoundsPtrAccessChain %to_uint %pointer %y\nOpLoad %uint %at"), [false]);
}

#[test]
fn every_sub_group_updates_memory_for_itself() {
    assert_eq!(differs("OpAtomicIIncrement %uint %pointer %uint_1 %uint_0"), [true]);
}

#[test]
fn what_a_work_group_computes_together_is_common_but_for_scans() {
    let group = |operation: &str| differs(&format!("OpGroupIAdd %ulong %uint_2 {operation} %x"));
    assert_eq!(group("Reduce"), [false]);
    assert_eq!(group("InclusiveScan"), [true]);
    assert_eq!(group("ExclusiveScan"), [true]);
    // A sub-group has its own.
    assert_eq!(differs("OpGroupIAdd %ulong %uint_3 Reduce %x"), [true]);
    let vote =
        |scope: u32| differs(&format!("%own = OpIEqual %bool %x %y\nOpGroupAny %bool %uint_{scope} %own"));
    assert_eq!((vote(2), vote(3)), (vec![false], vec![true]));
    assert_eq!(differs("OpGroupBroadcast %ulong %uint_2 %x %ulong_0"), [false]);
}

#[test]
fn what_is_made_of_all_components_differs_in_all_of_them() {
    let vectors = "%xf = OpConvertUToF %float %x\n%one = OpConvertUToF %float %y\n\
        %mixed = OpCompositeConstruct %float4 %xf %one %one %one\n\
        %common = OpCompositeConstruct %float4 %one %one %one %one\n";
    let call = |function: &str| differs(&format!("{vectors}OpExtInst %float4 %std {function}"));
    for function in
        ["normalize %mixed", "fast_normalize %mixed", "cross %mixed %common", "cross %common %mixed"]
    {
        assert_eq!(call(function), [true; 4], "{function}");
    }
    for function in ["normalize %common", "cross %common %common"] {
        assert_eq!(call(function), [false; 4], "{function}");
    }
    for function in ["sqrt %mixed", "fmax %common %mixed", "mad %mixed %common %common"] {
        assert_eq!(call(function), [true, false, false, false], "{function}");
    }
    let shuffled = |operands: &str| {
        let vectors = "%mixed = OpCompositeConstruct %uint2 %x32 %uint_1\n\
            %common = OpCompositeConstruct %uint2 %any_uint %uint_1\n";
        differs(&format!("{vectors}OpExtInst %uint2 %std {operands}"))
    };
    assert_eq!(shuffled("shuffle %mixed %common"), [true; 2]);
    assert_eq!(shuffled("shuffle %common %mixed"), [true; 2]);
    assert_eq!(shuffled("shuffle2 %common %common %mixed"), [true; 2]);
    assert_eq!(shuffled("shuffle %common %common"), [false; 2]);
}
