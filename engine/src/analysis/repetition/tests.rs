//! Which loops are laid out, and what is left of them.

use super::super::cfg::{Cfg, Dominators};
use super::super::func::Terminator;
use super::super::loops::{self, Loops};
use super::super::testing::of_func;
use super::lay_out;
use spirv::Op;

/// What a kernel has once its loops are laid out.
#[derive(PartialEq, Eq, Debug)]
struct Left {
    loops: usize,
    branches: usize,
    stores: usize,
}

fn left(body: &str) -> Left {
    of_func(body, |mut func| {
        loops::canonicalize(&mut func);
        lay_out(&mut func);
        let cfg = Cfg::new(&func);
        let loops = Loops::new(&cfg, &Dominators::new(&cfg));
        let branches =
            func.blocks.values().filter(|block| matches!(block.term, Terminator::Cond { .. })).count();
        let insts = func.blocks.values().flat_map(|block| &block.insts);
        Left { loops: loops.loops.len(), branches, stores: insts.filter(|inst| inst.op == Op::Store).count() }
    })
}

/// A loop over `%i` that is asked for at its end, around `inside`, whose last block is `last`.
fn a_loop(condition: &str, step: &str, inside: &str, last: &str, behind: &str) -> String {
    format!(
        "OpBranch %loop\n%loop = OpLabel\n%i = OpPhi %uint %uint_1 %entry %next %{last}\n{inside}\n\
         %next = {step}\n%more = {condition}\nOpBranchConditional %more %loop %left\n%left = OpLabel\n{behind}"
    )
}

const STORE: &str = "%at = OpInBoundsPtrAccessChain %to_uint %pointer %i\nOpStore %at %i";

#[test]
fn a_loop_of_few_iterations_becomes_straight_code() {
    let add = "OpIAdd %uint %i %uint_1";
    let to = |bound: &str| a_loop(&format!("OpULessThan %bool %next %uint_{bound}"), add, STORE, "loop", "");
    assert_eq!(left(&to("5")), Left { loops: 0, branches: 0, stores: 4 });
    assert_eq!(left(&to("1")), Left { loops: 0, branches: 0, stores: 1 });
    assert_eq!(left(&to("33")), Left { loops: 1, branches: 1, stores: 1 });
    let doubled = a_loop("OpULessThan %bool %next %uint_64", "OpIAdd %uint %i %i", STORE, "loop", "");
    assert_eq!(left(&doubled), Left { loops: 0, branches: 0, stores: 6 });
    let unknown = a_loop("OpULessThan %bool %next %any_uint", add, STORE, "loop", "");
    assert_eq!(left(&unknown), Left { loops: 1, branches: 1, stores: 1 });
}

/// Data may end it before its counter does.
#[test]
fn a_loop_of_at_most_a_few_cheap_iterations_becomes_straight_code() {
    let add = "OpIAdd %uint %i %uint_1";
    let asked = "%on = OpULessThan %bool %i %any_uint\n%few = OpULessThan %bool %i %uint_4";
    let behind = "%at = OpInBoundsPtrAccessChain %to_uint %pointer %next\nOpStore %at %i";
    let early = |condition: &str, inside: &str| {
        left(&a_loop(condition, add, &format!("{asked}\n{inside}"), "loop", behind))
    };
    let laid_out = Left { loops: 0, branches: 3, stores: 1 };
    assert_eq!(early("OpLogicalAnd %bool %on %few", ""), laid_out);
    assert_eq!(early("OpLogicalAnd %bool %few %on", ""), laid_out);
    let stays = Left { loops: 1, branches: 1, stores: 1 };
    assert_eq!(early("OpLogicalOr %bool %few %on", ""), stays, "it goes on where either says so");
    assert_eq!(early("OpLogicalAnd %bool %on %on", ""), stays, "nobody knows when");
    assert_eq!(early("OpLogicalAnd %bool %on %few", STORE.replace("%at", "%in_loop").as_str()).loops, 1);
    let many: String = (0..30).map(|at| format!("%sum{at} = OpIAdd %uint %i %any_uint\n")).collect();
    assert_eq!(
        early("OpLogicalAnd %bool %on %few", &many),
        stays,
        "lanes would wait for what they do not need"
    );
}

#[test]
fn what_is_used_behind_a_loop_comes_from_its_last_iteration() {
    let body = a_loop(
        "OpULessThan %bool %next %uint_4",
        "OpIAdd %uint %i %uint_1",
        STORE,
        "loop",
        "%behind = OpInBoundsPtrAccessChain %to_uint %pointer %next\nOpStore %behind %i",
    );
    assert_eq!(left(&body), Left { loops: 0, branches: 0, stores: 4 });
}

#[test]
fn branches_by_the_counter_are_decided_and_others_are_there_for_each_iteration() {
    let inside = |condition: &str| {
        format!(
            "{condition}\nOpBranchConditional %is %then %join\n%then = OpLabel\n{STORE}\nOpBranch %join\n%join = OpLabel"
        )
    };
    let of = |condition: &str| {
        let next = "OpIAdd %uint %i %uint_1";
        left(&a_loop("OpULessThan %bool %next %uint_5", next, &inside(condition), "join", ""))
    };
    assert_eq!(of("%is = OpIEqual %bool %i %uint_2"), Left { loops: 0, branches: 0, stores: 1 });
    assert_eq!(of("%is = OpIEqual %bool %i %any_uint"), Left { loops: 0, branches: 4, stores: 4 });
}

#[test]
fn a_break_leaves_from_each_iteration() {
    let inside = "%is = OpIEqual %bool %i %any_uint\nOpBranchConditional %is %left %on\n%on = OpLabel\nOpStore %pointer %i";
    let body = a_loop(
        "OpULessThan %bool %next %uint_4",
        "OpIAdd %uint %i %uint_1",
        inside,
        "on",
        "%at = OpInBoundsPtrAccessChain %to_uint %pointer %i\nOpStore %at %i",
    );
    assert_eq!(left(&body), Left { loops: 0, branches: 3, stores: 4 });
}

#[test]
fn loops_in_each_other_are_laid_out_as_long_as_that_is_little() {
    let nested = |outer: &str| {
        let inner = "OpBranch %inner\n%inner = OpLabel\n%j = OpPhi %uint %uint_0 %loop %next_j %inner\n\
            %sum = OpIAdd %uint %i %j\n%at = OpInBoundsPtrAccessChain %to_uint %pointer %sum\nOpStore %at %j\n\
            %next_j = OpIAdd %uint %j %uint_1\n%more_j = OpULessThan %bool %next_j %uint_5\n\
            OpBranchConditional %more_j %inner %done\n%done = OpLabel";
        let condition = format!("OpULessThan %bool %next %uint_{outer}");
        left(&a_loop(&condition, "OpIAdd %uint %i %uint_1", inner, "done", ""))
    };
    assert_eq!(nested("4"), Left { loops: 0, branches: 0, stores: 15 });
    assert_eq!(nested("129"), Left { loops: 1, branches: 1, stores: 5 });
}

#[test]
fn what_saturates_or_is_undefined_is_no_number() {
    let of = |inside: &str, bound: &str| {
        let next = "OpIAdd %uint %i %uint_64";
        left(&a_loop(&format!("OpULessThan %bool {bound}"), next, &format!("{STORE}\n{inside}"), "loop", ""))
    };
    assert_eq!(
        of("%undefined = OpUndef %uint", "%next %uint_255"),
        Left { loops: 0, branches: 0, stores: 4 }
    );
    // 257 becomes 255, and would be 1.
    let saturated = "%saturated = OpUConvert %uchar %i\n%wide = OpUConvert %uint %saturated";
    assert_eq!(of(saturated, "%wide %uint_255"), Left { loops: 1, branches: 1, stores: 1 });
    let cut = "%cut = OpUConvert %uchar %i\n%wide = OpUConvert %uint %cut";
    assert_eq!(of(cut, "%wide %uint_128"), Left { loops: 0, branches: 0, stores: 3 });
}

/// A nest over `%words`, with this number as the outer loop's end, this index of an element, and this behind the element's change.
fn nest(end: &str, index: &str, more: &str) -> String {
    format!(
        "%others = OpCopyObject %private_bytes %zeros\nOpBranch %outer\n%outer = OpLabel\n%i = OpPhi %uint %uint_0 %entry %next_i %behind\nOpBranch %inner\n\
         %inner = OpLabel\n%j = OpPhi %uint %uint_0 %outer %next_j %last\n\
         %at = OpInBoundsPtrAccessChain %private_uint %words %uint_0 %{index}\n%old = OpLoad %uint %at\n\
         %new = OpIAdd %uint %old %i\n{more}\nOpBranch %last\n%last = OpLabel\nOpStore %at %new\n\
         %next_j = OpIAdd %uint %j %uint_1\n%goes_on = OpULessThanEqual %bool %next_j %i\n\
         OpBranchConditional %goes_on %inner %behind\n%behind = OpLabel\n%next_i = OpIAdd %uint %i %uint_1\n\
         %again = OpULessThan %bool %next_i %{end}\nOpBranchConditional %again %outer %left\n%left = OpLabel\n\
         %found = OpInBoundsPtrAccessChain %private_uint %words %uint_0 %uint_1\n%result = OpLoad %uint %found\n\
         OpStore %pointer %result\nOpStore %pointer %j"
    )
}

#[test]
fn loops_that_end_where_the_outer_one_says_become_straight_code() {
    let laid_out = |body: &str| {
        of_func(body, |mut func| {
            loops::canonicalize(&mut func);
            super::lay_out_nests(&mut func);
            let cfg = Cfg::new(&func);
            let loops = Loops::new(&cfg, &Dominators::new(&cfg)).loops.len();
            let count =
                |of: fn(&Terminator) -> bool| func.blocks.values().filter(|block| of(&block.term)).count();
            let branches = count(|term| matches!(term, Terminator::Cond { .. }));
            let insts = func.blocks.values().flat_map(|block| &block.insts);
            (loops, branches, insts.filter(|inst| inst.op == Op::IAdd).count())
        })
    };
    // Ten sums, of which four add nothing: who computes numbers knows what a variable is that nobody has stored only at run time.
    assert_eq!(laid_out(&nest("uint_4", "j", "")), (0, 0, 10));
    let (loops, ..) = laid_out(&nest("any_uint", "j", ""));
    assert_eq!(loops, 2, "nobody knows its end");
    let (loops, ..) = laid_out(&nest("uint_4", "any_uint", ""));
    assert_eq!(loops, 2, "nobody knows the place");
    let (loops, ..) = laid_out(&nest("uint_255", "j", ""));
    assert_eq!(loops, 2, "that is too long");
    let rounds = nest("uint_4", "j", "").replace("%next_j %i\n", "%next_j %uint_3\n");
    assert_eq!(laid_out(&rounds).0, 2, "the inner loop does the same in each round");
    let turned = rounds
        .replace("%at = ", "%sum = OpIAdd %uint %i %j\n%place = OpBitwiseAnd %uint %sum %uint_3\n%at = ");
    assert_eq!(
        laid_out(&turned.replace("%uint_0 %j\n", "%uint_0 %place\n")).0,
        0,
        "it is about other elements in each"
    );
    // Data may choose what is done in one block, and not where the loop ends.
    let choice = "%is_odd = OpULessThan %bool %new %any_uint\nOpBranchConditional %is_odd %odd %even\n%odd = OpLabel\n\
        OpStore %at %any_uint\nOpBranch %even\n%even = OpLabel";
    assert_eq!(laid_out(&nest("uint_4", "j", choice)).0, 0);
    assert_eq!(laid_out(&nest("uint_4", "j", choice)).1, 10);
    let leaves = choice.replace("OpBranch %even", "OpBranch %left");
    assert_eq!(laid_out(&nest("uint_4", "j", &leaves)).0, 2);
}
