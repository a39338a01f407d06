//! What is computed once.

use super::super::testing::of_func;
use super::compute_once;
use spirv::Op;

/// How many products are left.
fn products(body: &str) -> usize {
    of_func(body, |mut func| {
        compute_once(&mut func);
        func.blocks.values().flat_map(|block| &block.insts).filter(|inst| inst.op == Op::IMul).count()
    })
}

const PRODUCT: &str = "%a = OpIAdd %uint %any_uint %uint_1\n%p = OpIMul %uint %a %a\n";
const AGAIN: &str = "%b = OpIAdd %uint %any_uint %uint_1\n%q = OpIMul %uint %b %b\nOpStore %pointer %q\n";

#[test]
fn what_has_the_same_operands_is_computed_once() {
    assert_eq!(products(&format!("{PRODUCT}{AGAIN}")), 1);
    let below = format!(
        "{PRODUCT}OpBranchConditional %any_bool %one %two\n%one = OpLabel\n{AGAIN}OpBranch %two\n%two = OpLabel"
    );
    assert_eq!(products(&below), 1);
    assert_eq!(products(&format!("{PRODUCT}%q = OpIMul %uint %a %any_uint")), 2);
}

#[test]
fn what_another_branch_computes_is_not_known() {
    let apart = format!(
        "OpBranchConditional %any_bool %one %two\n%one = OpLabel\n{PRODUCT}OpBranch %end\n\
         %two = OpLabel\n{AGAIN}OpBranch %end\n%end = OpLabel"
    );
    assert_eq!(products(&apart), 2);
}
