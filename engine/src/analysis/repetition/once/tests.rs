//! Loops that launches of enough work-items run once.

use super::super::super::func::{Block, Terminator};
use super::super::super::testing::of_func;
use super::super::super::{cfg, invariants, loops};
use super::run_once;
use spirv::Op;

/// How often a kernel multiplies, and whether it asks in front of its loop whether that runs once. The loop goes on while `more`, from `first` on in
/// steps of `step`: `%x` is the global id, `%size` that of the launch.
fn after(first: &str, step: &str, more: &str) -> (usize, bool) {
    let body = format!(
        "%ids = OpLoad %ulong3 %GlobalInvocationId\n%x = OpCompositeExtract %ulong %ids 0\n\
         %sizes = OpLoad %ulong3 %GlobalSize\n%size = OpCompositeExtract %ulong %sizes 0\n\
         %enters = OpULessThan %bool %x %any_ulong\nOpBranchConditional %enters %before %end\n\
         %before = OpLabel\nOpBranch %head\n%head = OpLabel\n\
         %i = OpPhi %ulong {first} %before %next %head\n%sum = OpPhi %ulong %ulong_0 %before %more_sum %head\n\
         %square = OpIMul %ulong %i %i\n%more_sum = OpIAdd %ulong %sum %square\n%next = OpIAdd %ulong %i {step}\n\
         %goes_on = {more}\nOpBranchConditional %goes_on %head %left\n%left = OpLabel\n\
         OpBranch %end\n%end = OpLabel\n%r = OpPhi %ulong %ulong_0 %entry %more_sum %left"
    );
    of_func(&body, |mut func| {
        loops::canonicalize(&mut func);
        invariants::bring_in_front(&mut func);
        run_once(&mut func);
        cfg::remove_unreachable(&mut func);
        let is_asked = |block: &Block| {
            matches!(block.term, Terminator::Cond { .. })
                && block.insts.last().is_some_and(|inst| inst.op == Op::ULessThanEqual)
        };
        let insts = func.blocks.values().flat_map(|block| &block.insts);
        let joined = func.blocks.values().flat_map(|block| &block.phis).filter(|phi| phi.incoming.len() > 2);
        assert_eq!(joined.count(), 0);
        (insts.filter(|inst| inst.op == Op::IMul).count(), func.blocks.values().any(is_asked))
    })
}

const LESS: &str = "OpULessThan %bool %next %any_ulong";

#[test]
fn loops_over_work_items_have_code_for_one_iteration() {
    assert_eq!(after("%x", "%size", LESS), (2, true));
    assert_eq!(after("%x", "%size", "OpUGreaterThan %bool %any_ulong %next"), (2, true));
}

#[test]
fn other_loops_stay() {
    let stays = (1, false);
    // A step that launches do not make larger, a beginning that may be anything, and bounds that lanes differ in or that are no bounds.
    assert_eq!(after("%x", "%ulong_16", LESS), stays);
    assert_eq!(after("%any_ulong", "%size", LESS), stays);
    assert_eq!(after("%x", "%size", "OpULessThan %bool %next %x"), stays);
    assert_eq!(after("%x", "%size", "OpINotEqual %bool %next %any_ulong"), stays);
}
