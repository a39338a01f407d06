use super::super::func::Terminator;
use super::super::loops;
use super::super::testing::of_func;
use super::leave_together;

/// A loop that is left behind either of two branches, by these conditions: how many of its blocks ask one, and how many blocks behind it
/// decide who goes where.
fn exits(conditions: [&str; 2]) -> (usize, usize) {
    let [first, second] = conditions;
    let body = format!(
        "OpBranch %loop\n%loop = OpLabel\n%i = OpPhi %uint %uint_0 %entry %next %again\n\
         OpBranchConditional %any_bool %one %other\n\
         %one = OpLabel\n%a = OpIMul %uint %i %i\n{first}\n\
         %other = OpLabel\n%b = OpIMul %uint %i %uint_3\n{second}\n\
         %again = OpLabel\n%sum = OpPhi %uint %a %one %b %other\nOpStore %pointer %sum Aligned 4\n\
         %next = OpIAdd %uint %i %uint_1\nOpBranch %loop\n\
         %left = OpLabel\nOpStore %pointer %a Aligned 4\nOpBranch %end\n\
         %gone = OpLabel\n%last = OpPhi %uint %b %other\nOpStore %pointer %last Aligned 4\nOpBranch %end\n%end = OpLabel"
    );
    of_func(&body, |mut func| {
        loops::canonicalize(&mut func);
        leave_together(&mut func);
        let count =
            |is: fn(&Terminator) -> bool| func.blocks.values().filter(|block| is(&block.term)).count();
        (
            count(|term| matches!(term, Terminator::Cond { .. })) - 1,
            count(|term| matches!(term, Terminator::Dispatch { .. })),
        )
    })
}

fn asks(name: &str, limit: &str, to: &str) -> String {
    format!("%{name} = OpULessThan %bool %i %{limit}\nOpBranchConditional %{name} %again %{to}")
}

#[test]
fn exits_by_the_same_condition_become_one() {
    assert_eq!(exits([&asks("p", "uint_8", "left"), &asks("q", "uint_8", "gone")]), (1, 1));
}

#[test]
fn exits_by_other_conditions_stay_two() {
    assert_eq!(exits([&asks("p", "uint_8", "left"), &asks("q", "uint_9", "gone")]), (2, 0));
    let turned = "%q = OpULessThan %bool %i %uint_8\nOpBranchConditional %q %gone %again";
    assert_eq!(exits([&asks("p", "uint_8", "left"), turned]), (2, 0));
}
