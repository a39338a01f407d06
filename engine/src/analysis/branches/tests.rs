//! Which branches go away, and what is in their places.

use super::super::func::Terminator;
use super::super::testing::of_func;
use super::ask_at_once;
use spirv::Op;

/// The branches that are left, and the selections.
fn left(body: &str) -> [usize; 2] {
    of_func(body, |mut func| {
        ask_at_once(&mut func);
        let branches =
            func.blocks.values().filter(|block| matches!(block.term, Terminator::Cond { .. })).count();
        let insts = func.blocks.values().flat_map(|block| &block.insts);
        [branches, insts.filter(|inst| inst.op == Op::Select).count()]
    })
}

/// Two conditions, the second of which is asked where the first one is as said, and something is stored if it is as said.
fn two(first: bool, second: bool, between: &str) -> String {
    let targets = |is: bool, to: &str| if is { format!("%{to} %end") } else { format!("%end %{to}") };
    format!(
        "%a = OpULessThan %bool %any_uint %uint_8\nOpBranchConditional %a {}\n\
         %next = OpLabel\n{between}\n%b = OpULessThan %bool %any_uint %uint_4\nOpBranchConditional %b {}\n\
         %inner = OpLabel\nOpStore %pointer %uint_1\nOpBranch %end\n%end = OpLabel",
        targets(first, "next"),
        targets(second, "inner")
    )
}

#[test]
fn conditions_that_lead_to_one_place_are_asked_at_once() {
    for (first, second) in [(true, true), (true, false), (false, true), (false, false)] {
        assert_eq!(left(&two(first, second, "")), [1, 0], "{first} {second}");
    }
    assert_eq!(left(&two(true, true, "%c = OpIMul %uint %any_uint %any_uint")), [1, 0]);
}

#[test]
fn what_may_fail_or_is_long_is_asked_only_where_it_is_wanted() {
    assert_eq!(left(&two(true, true, "%c = OpUDiv %uint %any_uint %any_uint")), [2, 0]);
    assert_eq!(left(&two(true, true, "%c = OpLoad %uint %pointer")), [2, 0]);
    assert_eq!(left(&two(true, true, "%c = OpShiftLeftLogical %uint %any_uint %any_uint")), [2, 0]);
    let long: String = (0..5).map(|n| format!("%c{n} = OpIMul %uint %any_uint %uint_{n}\n")).collect();
    assert_eq!(left(&two(true, true, &long)), [2, 0]);
}

#[test]
fn what_branches_choose_is_selected() {
    let chosen = |one: &str, other: &str, value: &str| {
        format!(
            "OpBranchConditional %any_bool %one %two\n%one = OpLabel\n{one}OpBranch %end\n\
             %two = OpLabel\n{other}OpBranch %end\n%end = OpLabel\n%v = OpPhi %uint {value}\nOpStore %pointer %v"
        )
    };
    let a = "%a = OpIAdd %uint %any_uint %uint_1\n";
    assert_eq!(left(&chosen(a, "", "%a %one %uint_0 %two")), [0, 1]);
    assert_eq!(left(&chosen("", "", "%uint_1 %one %uint_1 %two")), [0, 0]);
    assert_eq!(left(&chosen(a, "%b = OpLoad %uint %pointer\n", "%a %one %b %two")), [1, 0]);
}

#[test]
fn a_phi_of_conditions_is_no_branch() {
    // `a && b` as compilers leave it.
    let body = "%a = OpULessThan %bool %any_uint %uint_8\nOpBranchConditional %a %rest %ends\n\
        %rest = OpLabel\n%b = OpULessThan %bool %any_uint %uint_4\nOpBranch %ends\n\
        %ends = OpLabel\n%is = OpPhi %bool %any_bool %entry %b %rest\nOpBranchConditional %is %inner %end\n\
        %inner = OpLabel\nOpStore %pointer %uint_1\nOpBranch %end\n%end = OpLabel";
    assert_eq!(left(body), [1, 1]);
}
