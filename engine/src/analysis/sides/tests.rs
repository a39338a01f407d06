//! Addresses of sides of butterflies that conditional blocks use.

use super::super::func::Func;
use super::super::testing::of_func;
use super::make_where_used;
use spirv::Op;

/// Instructions of the block that stores where a condition holds, given what makes the index and where the block's address is from.
fn behind_branch(index: &str, between: &str) -> Vec<Op> {
    let body = format!(
        "{index}\n%p = OpInBoundsPtrAccessChain %to_uint %pointer %index\n%x = OpLoad %uint %p Aligned 4\n\
         %less = OpULessThan %bool %x %any_uint\n{between}\
         OpBranchConditional %less %then %exit\n%then = OpLabel\nOpStore %p %any_uint Aligned 4\n\
         OpBranch %exit\n%exit = OpLabel"
    );
    let stores = |func: &Func<'_>| {
        let mut blocks = func.blocks.values();
        let block = blocks.find(|block| block.insts.iter().any(|inst| inst.op == Op::Store));
        let insts = &block.expect("it stores").insts;
        let (last, made) = insts.split_last().expect("there is the store");
        assert!(made.last().is_none_or(|made| made.result == Some(last.id(0))), "it is to what was made");
        insts.iter().map(|inst| inst.op).collect()
    };
    of_func(&body, |mut func| {
        make_where_used(&mut func);
        stores(&func)
    })
}

#[test]
fn an_address_of_a_side_is_made_where_it_is_used() {
    let low = "%low = OpBitwiseAnd %uint %any_uint %uint_16\n%index = OpISub %uint %any_uint %low";
    assert_eq!(behind_branch(low, ""), [Op::InBoundsPtrAccessChain, Op::Store]);
    let rest = "%index = OpUMod %uint %any_uint %uint_16";
    assert_eq!(behind_branch(rest, ""), [Op::InBoundsPtrAccessChain, Op::Store]);
}

#[test]
fn other_addresses_stay_where_they_are() {
    let sum = "%low = OpBitwiseAnd %uint %any_uint %uint_16\n%index = OpIAdd %uint %any_uint %uint_16";
    assert_eq!(behind_branch(sum, ""), [Op::Store]);
    let low = "%index = OpBitwiseAnd %uint %any_uint %uint_16";
    assert_eq!(behind_branch(low, "OpBranch %next\n%next = OpLabel\n"), [Op::Store]);
}
