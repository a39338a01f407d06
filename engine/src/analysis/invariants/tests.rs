//! What is computed in front of loops.

use super::super::cfg::{Cfg, Dominators};
use super::super::loops::{self, Loops};
use super::super::testing::of_func;
use super::bring_in_front;

/// How many instructions two nested loops over `%i` and `%j` do, the inner one alone, where that one does `inner`.
fn in_loops(inner: &str) -> [usize; 2] {
    let body = format!(
        "OpBranch %outer\n%outer = OpLabel\n%i = OpPhi %uint %uint_0 %entry %next_i %behind\nOpBranch %inner\n\
         %inner = OpLabel\n%j = OpPhi %uint %uint_0 %outer %next_j %inner\n{inner}\n\
         %next_j = OpIAdd %uint %j %uint_1\n%more_j = OpULessThan %bool %next_j %any_uint\n\
         OpBranchConditional %more_j %inner %behind\n%behind = OpLabel\n%next_i = OpIAdd %uint %i %uint_1\n\
         %more_i = OpULessThan %bool %next_i %any_uint\nOpBranchConditional %more_i %outer %left\n%left = OpLabel"
    );
    of_func(&body, |mut func| {
        loops::canonicalize(&mut func);
        bring_in_front(&mut func);
        let cfg = Cfg::new(&func);
        let loops = Loops::new(&cfg, &Dominators::new(&cfg));
        let of = |blocks: &[super::BlockId]| blocks.iter().map(|block| func.blocks[*block].insts.len()).sum();
        let all: Vec<usize> = loops.loops.values().map(|this| of(&this.blocks)).collect();
        [all[0] - 4, all[1] - 2]
    })
}

#[test]
fn what_a_loop_does_not_change_is_computed_in_front_of_it() {
    assert_eq!(in_loops("%a = OpIMul %uint %i %uint_3\n%b = OpIAdd %uint %a %i"), [2, 0]);
    assert_eq!(in_loops("%a = OpIMul %uint %any_uint %uint_3\n%b = OpIAdd %uint %a %uint_1"), [0, 0]);
    assert_eq!(in_loops("%a = OpIMul %uint %i %uint_3\n%b = OpIAdd %uint %a %j"), [2, 1]);
}

#[test]
fn what_may_fail_or_depends_on_memory_stays() {
    assert_eq!(in_loops("%a = OpUDiv %uint %any_uint %any_uint"), [1, 1]);
    assert_eq!(in_loops("%a = OpLoad %uint %pointer\nOpStore %pointer %i"), [2, 2]);
    assert_eq!(in_loops("%a = OpLoad %uint %pointer Volatile"), [1, 1]);
}

#[test]
fn what_a_loop_loads_and_does_not_change_is_loaded_in_front_of_it() {
    assert_eq!(in_loops("%a = OpLoad %uint %pointer\n%b = OpIMul %uint %a %i"), [2, 0]);
    assert_eq!(in_loops("%a = OpLoad %uint %pointer\nOpStore %object %i"), [2, 1]);
    let moves = "%place = OpInBoundsPtrAccessChain %to_uint %pointer %j\n%a = OpLoad %uint %place";
    assert_eq!(in_loops(moves), [2, 2]);
}
