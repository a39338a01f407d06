use super::super::testing::{VARIANT, a_loop, of_blocks};
use super::plans;

/// A search for a key of each work-item's own, which begins with these values, and does this in each step beside what it has to.
fn search(begin: &str, length: &str, more: &str) -> String {
    let before = "%ids = OpLoad %ulong3 %GlobalInvocationId\n%x = OpCompositeExtract %ulong %ids 0\n\
        %mine = OpPtrAccessChain %to_uint %pointer %x\n%key = OpLoad %uint %mine\n\
        %row = OpUDiv %ulong %x %any_ulong\n%rest = OpUMod %ulong %x %any_ulong\n%of_row = OpISub %ulong %x %rest\n\
        %far = OpFOrdLessThan %bool %any_float %any_float\n";
    let phis = format!(
        "%begin = OpPhi %ulong {begin} %entry %next_begin %inside\n%length = OpPhi %ulong {length} %entry %next_length %inside"
    );
    let body = format!(
        "%half = OpShiftRightLogical %ulong %length %ulong_1\n%middle = OpIAdd %ulong %begin %half\n\
         %place = OpPtrAccessChain %to_uint %pointer %middle\n%found = OpLoad %uint %place\n\
         %is_less = OpULessThan %bool %found %key\n%behind = OpIAdd %ulong %middle %ulong_1\n{more}\n\
         %left = OpISub %ulong %length %half\n%shorter = OpISub %ulong %left %ulong_1\n\
         %next_begin = OpSelect %ulong %is_less %behind %begin\n%next_length = OpSelect %ulong %is_less %shorter %half"
    );
    let condition = "%more = OpINotEqual %bool %length %ulong_0";
    format!("{before}{}\n%out = OpUConvert %uint %begin\nOpStore %mine %out", a_loop(&phis, condition, &body))
}

/// The decisions of each loop that gets a copy, and the phis that are asked about in front of it.
fn found(body: &str) -> Vec<(usize, usize)> {
    of_blocks(body, VARIANT, |a| {
        plans(a).iter().map(|plan| (plan.decisions.len() + plan.decided.len(), plan.asked.len())).collect()
    })
}

#[test]
fn a_search_that_all_begin_alike_goes_together() {
    assert_eq!(found(&search("%ulong_0", "%any_ulong", "")), [(1, 0)]);
}

#[test]
fn a_search_that_many_begin_alike_is_asked_about() {
    assert_eq!(found(&search("%row", "%any_ulong", "")), [(1, 1)]);
    assert_eq!(found(&search("%of_row", "%any_ulong", "")), [(1, 1)]);
}

#[test]
fn a_search_that_each_begins_elsewhere_does_not() {
    assert_eq!(found(&search("%x", "%any_ulong", "")), []);
    assert_eq!(found(&search("%rest", "%any_ulong", "")), []);
    let loaded = "%wide = OpUConvert %ulong %key\nOpBranch %on\n%on = OpLabel";
    let text =
        search("%wide", "%any_ulong", "").replacen("OpBranch %head", &format!("{loaded}\nOpBranch %head"), 1);
    assert_eq!(found(&text.replace("%entry %next", "%on %next")), []);
}

/// Its iterations begin once more where lanes part.
#[test]
fn a_loop_that_does_more_than_look_does_not() {
    assert_eq!(found(&search("%ulong_0", "%any_ulong", "OpStore %mine %found")), []);
    assert_eq!(
        found(&search("%ulong_0", "%any_ulong", "%old = OpAtomicIAdd %uint %mine %uint_1 %uint_0 %key")),
        []
    );
    assert_eq!(
        found(&search("%ulong_0", "%any_ulong", "%float_sum = OpFAdd %float %any_float %any_float")),
        []
    );
    assert_eq!(found(&search("%ulong_0", "%any_ulong", "%sum = OpIAdd %uint %key %found")), [(1, 0)]);
}

/// Nobody's lanes decide anything in it.
#[test]
fn a_search_for_one_key_of_all_does_not() {
    let text = search("%ulong_0", "%any_ulong", "").replace("%found %key", "%found %any_uint");
    assert_eq!(found(&text), []);
}

/// What lanes beside each other have in common is not one number: where it decides, lanes are asked.
#[test]
fn what_some_have_in_common_is_a_decision() {
    let place = "%place = OpPtrAccessChain %to_uint %pointer %middle";
    let of_row = place.replace("%middle", "%of_place");
    let of_row = format!("%of_place = OpIAdd %ulong %middle %of_row\n{of_row}");
    let text = search("%ulong_0", "%any_ulong", "").replace(place, &of_row);
    assert_eq!(found(&text), [], "it is gathered all the same");
    let more = "%their = OpULessThan %bool %of_row %middle\n%it = OpSelect %ulong %their %middle %begin";
    let text = search("%ulong_0", "%any_ulong", more).replace("%behind %begin\n", "%behind %it\n");
    assert_eq!(found(&text), [(2, 0)]);
}
