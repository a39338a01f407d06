//! Which loops ask at their end, and what becomes of the values of their headers.

use super::super::cfg::{Cfg, Dominators};
use super::super::func::Terminator;
use super::super::loops::{self, Loops};
use super::super::testing::of_func;
use super::ask_at_end;

/// What is made of a kernel: whether its only loop is left in its latch's predecessor alone, how many blocks ask, and how many phis
/// it has where.
#[derive(PartialEq, Eq, Debug)]
struct Found {
    asks_at_end: bool,
    questions: usize,
    phis_of_header: usize,
    phis_behind: usize,
}

fn found(body: &str) -> Found {
    of_func(body, |mut func| {
        loops::canonicalize(&mut func);
        ask_at_end(&mut func);
        let cfg = Cfg::new(&func);
        let loops = Loops::new(&cfg, &Dominators::new(&cfg));
        let this = loops.loops.values().next().expect("there is a loop");
        let asks = |block: &super::Block| matches!(block.term, Terminator::Cond { .. });
        let in_loop: usize = this.blocks.iter().map(|block| func.blocks[*block].phis.len()).sum();
        Found {
            asks_at_end: this.exits.iter().all(|(block, _)| cfg.preds[this.latch].contains(block)),
            questions: func.blocks.values().filter(|block| asks(block)).count(),
            phis_of_header: func.blocks[this.header].phis.len(),
            phis_behind: func.blocks.values().map(|block| block.phis.len()).sum::<usize>() - in_loop,
        }
    })
}

/// A loop over `%i` from `%first`, which does `%header` and asks, and what comes behind it.
fn a_loop(first: &str, header: &str, body: &str, behind: &str) -> String {
    format!(
        "OpBranch %loop\n%loop = OpLabel\n%i = OpPhi %uint {first} %entry %next %inner\n{header}\
         %is = OpULessThan %bool %i %any_uint\nOpBranchConditional %is %inner %left\n\
         %inner = OpLabel\n%at = OpInBoundsPtrAccessChain %to_uint %pointer %i\nOpStore %at %uint_1\n{body}\
         %next = OpIAdd %uint %i %uint_1\nOpBranch %loop\n%left = OpLabel\n{behind}"
    )
}

#[test]
fn a_loop_that_asks_first_asks_at_its_end_and_once_in_front_of_it() {
    let found = found(&a_loop("%uint_0", "", "", ""));
    assert_eq!(found, Found { asks_at_end: true, questions: 2, phis_of_header: 1, phis_behind: 0 });
}

#[test]
fn what_is_used_behind_is_what_it_was_when_it_was_asked() {
    let found = found(&a_loop("%any_uint", "", "", "OpStore %pointer %i"));
    assert_eq!(found, Found { asks_at_end: true, questions: 2, phis_of_header: 1, phis_behind: 1 });
}

#[test]
fn a_loop_that_is_always_entered_is_asked_at_its_end_only() {
    let body = a_loop("%uint_0", "", "", "").replace("%i %any_uint", "%i %uint_8");
    assert_eq!(found(&body), Found { asks_at_end: true, questions: 1, phis_of_header: 1, phis_behind: 0 });
}

#[test]
fn what_is_loaded_for_the_question_is_not_loaded_again_for_the_iteration() {
    let header = "%word = OpLoad %uint %pointer\n%twice = OpIAdd %uint %word %word\n";
    let body = a_loop("%uint_0", header, "OpStore %at %twice\n", "").replace("%i %any_uint", "%i %twice");
    assert_eq!(found(&body), Found { asks_at_end: true, questions: 2, phis_of_header: 2, phis_behind: 0 });
}

#[test]
fn atomic_operations_and_long_headers_stay_where_they_are() {
    let atomic = "%word = OpAtomicIAdd %uint %pointer %uint_1 %uint_0 %uint_1\n";
    assert!(!found(&a_loop("%uint_0", atomic, "", "")).asks_at_end);
    let long: String = (0..9).map(|n| format!("%n{n} = OpIMul %uint %i %uint_{n}\n")).collect();
    assert!(!found(&a_loop("%uint_0", &long, "", "")).asks_at_end);
}

#[test]
fn what_is_brought_out_by_a_break_is_that_of_the_iteration() {
    // Behind both exits it is one value, which the header has.
    let inner = "OpBranchConditional %any_bool %on %left\n%on = OpLabel\n";
    let body = a_loop("%any_uint", "", inner, "OpStore %pointer %i").replace("%next %inner", "%next %on");
    assert_eq!(found(&body), Found { asks_at_end: false, questions: 3, phis_of_header: 1, phis_behind: 2 });
}

#[test]
fn a_value_that_is_used_where_several_exits_meet_again_leaves_the_loop_alone() {
    let inner = "OpBranchConditional %any_bool %on %other\n%on = OpLabel\n";
    let behind = "OpStore %pointer %uint_2\nOpBranch %meet\n%other = OpLabel\nOpStore %pointer %uint_3\nOpBranch %meet\n\
        %meet = OpLabel\nOpStore %pointer %i";
    let body = a_loop("%any_uint", "", inner, behind).replace("%next %inner", "%next %on");
    assert_eq!(found(&body), Found { asks_at_end: false, questions: 2, phis_of_header: 1, phis_behind: 0 });
}

#[test]
fn a_loop_that_some_leave_at_its_end_stays() {
    let inner = "%last = OpIEqual %bool %i %uint_7\n";
    let body = a_loop("%any_uint", "", inner, "OpStore %pointer %i")
        .replace("OpBranch %loop\n%left", "OpBranchConditional %last %left %loop\n%left");
    assert_eq!(found(&body), Found { asks_at_end: false, questions: 2, phis_of_header: 1, phis_behind: 0 });
}
