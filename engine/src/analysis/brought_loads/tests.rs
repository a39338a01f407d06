//! Loads of what ways bring.

use super::super::func::Func;
use super::super::loops;
use super::super::testing::of_func;
use super::take_from_ways;
use spirv::Op;

/// How many loads a function has after that where blocks have phis, how many elsewhere, and how many phis.
fn after(body: &str) -> (usize, usize, usize) {
    let counted = |func: &Func<'_>| {
        let loads = |joins: bool| {
            let blocks = func.blocks.values().filter(move |block| block.phis.is_empty() != joins);
            blocks.flat_map(|block| &block.insts).filter(|inst| inst.op == Op::Load).count()
        };
        (loads(true), loads(false), func.blocks.values().map(|block| block.phis.len()).sum())
    };
    of_func(body, |mut func| {
        loops::canonicalize(&mut func);
        take_from_ways(&mut func);
        counted(&func)
    })
}

/// Loads an element as `name`.
fn load(name: &str, at: &str) -> String {
    format!(
        "%to_{name} = OpInBoundsPtrAccessChain %to_uint %pointer {at}\n%{name} = OpLoad %uint %to_{name} Aligned 4\n"
    )
}

/// Loads the elements `%i` and `%j`, or one of them and something else, and then the greater one. What is done in between is given.
fn greater(between: &str) -> String {
    format!(
        "%i = OpIAdd %uint %any_uint %uint_1\n%j = OpIAdd %uint %i %uint_1\n%is = OpULessThan %bool %j %uint_8\n\
         OpBranchConditional %is %both %one\n\
         %one = OpLabel\nOpBranch %join\n\
         %both = OpLabel\n{}{}%more = OpUGreaterThan %bool %x %y\nOpBranchConditional %more %first %second\n\
         %first = OpLabel\nOpBranch %join\n%second = OpLabel\nOpBranch %join\n\
         %join = OpLabel\n%k = OpPhi %uint %i %one %i %first %j %second\n{between}{}%kept = OpIAdd %uint %z %uint_1\n\
         OpStore %pointer %kept Aligned 4\nOpBranch %exit\n%exit = OpLabel",
        load("x", "%i"),
        load("y", "%j"),
        load("z", "%k"),
    )
}

#[test]
fn what_all_ways_but_one_load_is_a_phi() {
    // The load is made on the way that does not bring it.
    assert_eq!(after(&greater("")), (0, 3, 2));
}

#[test]
fn what_a_way_chooses_is_chosen_of_what_it_loads() {
    let body = greater("").replace(
        "OpBranchConditional %more %first %second\n%first = OpLabel\nOpBranch %join\n%second = OpLabel\nOpBranch %join",
        "%chosen = OpSelect %uint %more %i %j\nOpBranch %join",
    );
    let body = body.replace("%i %first %j %second", "%chosen %both");
    assert_eq!(after(&body), (0, 3, 2));
    // There are but two ways.
    let first = body.replace("%chosen %both", "%i %both");
    assert_eq!(after(&first), (1, 2, 1));
}

#[test]
fn what_is_written_in_between_is_loaded() {
    assert_eq!(after(&greater("OpStore %pointer %k Aligned 4\n")), (1, 2, 1));
    assert_eq!(after(&greater("OpMemoryBarrier %uint_1 %uint_0\n")), (1, 2, 1));
}

/// A loop that goes from element to element, given what it stores at the end of an iteration.
fn sinking(stored: &str) -> String {
    format!(
        "OpBranch %head\n%head = OpLabel\n%r = OpPhi %uint %uint_1 %entry %next %again\n{}\
         %twice = OpIMul %uint %r %uint_8\n%next = OpIAdd %uint %twice %any_uint\n{}\
         %more = OpULessThan %bool %x %y\nOpBranchConditional %more %again %exit\n\
         %again = OpLabel\n{stored}OpBranch %head\n%exit = OpLabel",
        load("x", "%r"),
        load("y", "%next"),
    )
}

#[test]
fn what_an_iteration_stores_for_the_next_one_is_handed_on() {
    let [here, there] = ["OpStore %to_x %y Aligned 4\n", "OpStore %to_y %x Aligned 4\n"];
    // What sinks is what it was in front of the loop.
    assert_eq!(after(&sinking(&format!("{here}{there}"))), (1, 1, 1));
    // The other store may be of the same element.
    assert_eq!(after(&sinking(&format!("{there}{here}"))), (2, 0, 1));
    // What is loaded for the next iteration would be one more thing to keep.
    assert_eq!(after(&sinking(here)), (2, 0, 1));
    let sum = "%sum = OpIAdd %uint %x %y\nOpStore %to_y %sum Aligned 4\n";
    assert_eq!(after(&sinking(sum)), (1, 1, 2));
}
