use super::super::testing::of_func;
use super::add_at_once;
use spirv::Op;

/// What an attempt is made of, its old value first.
const LOAD: &str = "%old = OpLoad %uint %pointer Volatile\n";
const ADD: &str =
    "%f = OpBitcast %float %old\n%sum = OpFAdd %float %f %any_float\n%new = OpBitcast %uint %sum\n";
const EXCHANGE: &str = "%found = OpAtomicCompareExchange %uint %pointer %uint_1 %uint_0 %uint_0 %new %old\n";
const ASK: &str = "%is = OpIEqual %bool %found %old\nOpBranchConditional %is %exit %head\n";

/// The opcodes of what atomic and other instructions are left of a loop of attempts, and of what is behind it.
fn left(attempt: &str, behind: &str) -> Vec<Op> {
    let body = format!("OpBranch %head\n%head = OpLabel\n{attempt}%exit = OpLabel\n{behind}");
    of_func(&body, |mut func| {
        add_at_once(&mut func);
        let insts = func.blocks.values().flat_map(|block| &block.insts);
        insts.map(|inst| inst.op).filter(|op| *op != Op::IEqual).collect()
    })
}

#[test]
fn a_loop_of_attempts_is_an_atomic_addition() {
    assert_eq!(left(&format!("{LOAD}{ADD}{EXCHANGE}{ASK}"), ""), [Op::AtomicFAddEXT]);
    let carried = "%first = OpLoad %uint %pointer\nOpBranch %attempt\n%attempt = OpLabel\n\
        %old = OpPhi %uint %first %head %found %attempt\n";
    let ask = "%is = OpINotEqual %bool %old %found\nOpBranchConditional %is %attempt %exit\n";
    assert_eq!(left(&format!("{carried}{ADD}{EXCHANGE}{ask}"), ""), [Op::Load, Op::AtomicFAddEXT]);
}

#[test]
fn what_was_there_before_is_still_known() {
    let attempt = format!("{LOAD}{ADD}{EXCHANGE}{ASK}");
    assert_eq!(left(&attempt, "OpStore %pointer %old\n"), [Op::AtomicFAddEXT, Op::Bitcast, Op::Store]);
    assert_eq!(left(&attempt, "OpStore %pointer %found\n"), [Op::AtomicFAddEXT, Op::Bitcast, Op::Store]);
    let new = [Op::AtomicFAddEXT, Op::Bitcast, Op::Bitcast, Op::FAdd, Op::Bitcast, Op::Store];
    assert_eq!(left(&attempt, "OpStore %pointer %new\n"), new);
}

#[test]
fn other_loops_stay() {
    let is_left = |attempt: &str| left(attempt, "").contains(&Op::AtomicCompareExchange);
    let elsewhere = LOAD.replace("%pointer", "%other");
    let other = "%other = OpInBoundsPtrAccessChain %to_uint %pointer %ulong_1\n";
    assert!(is_left(&format!("{other}{elsewhere}{ADD}{EXCHANGE}{ASK}")), "loaded elsewhere");
    assert!(is_left(&format!("{LOAD}{ADD}{EXCHANGE}{ASK}").replace("FAdd", "FMul")), "a product");
    let counted = format!("{LOAD}%n = OpIAdd %uint %old %uint_1\n{ADD}{EXCHANGE}{ASK}");
    assert!(is_left(&counted), "more is done");
    let both = format!("{LOAD}{ADD}{EXCHANGE}{ASK}").replace("%any_float\n", "%f\n");
    assert!(is_left(&both), "doubled");
    let turned = ASK.replace("%exit %head", "%head %exit");
    assert!(is_left(&format!("{LOAD}{ADD}{EXCHANGE}{turned}")), "goes on until it fails");
    let stored = format!("{LOAD}{ADD}OpStore %pointer %uint_1\n{EXCHANGE}{ASK}");
    assert!(is_left(&stored), "stores");
}
