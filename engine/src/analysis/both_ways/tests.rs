use super::super::cfg;
use super::super::func::Func;
use super::super::inlining::{Inlining, Plan};
use super::super::testing::module;
use super::do_in_front;
use spirv::Op;
use std::rc::Rc;

/// How many instructions of a kind are left of two ways that go on to one place, in all of its blocks and in the one with the branch.
fn left(then: &str, els: &str, op: Op) -> (usize, usize) {
    let body = format!(
        "OpBranchConditional %any_bool %then %else\n%then = OpLabel\n{then}\nOpBranch %join\n\
         %else = OpLabel\n{els}\nOpBranch %join\n%join = OpLabel\n%j = OpPhi %uint %a %then %b %else\nOpStore %pointer %j"
    );
    let module = module(&body);
    let kernel = module.kernel("main").expect("the module has it");
    let plan = Rc::new(Plan::new(&module, kernel, Inlining::default()).expect("a kernel without calls"));
    let mut func: Func<'_> = Func::build(&module, kernel, &plan).expect("it is small");
    cfg::remove_unreachable(&mut func);
    let count = |insts: &[spirv_env::Inst]| insts.iter().filter(|inst| inst.op == op).count();
    let of_all = |func: &Func<'_>| func.blocks.values().map(|block| count(&block.insts)).sum::<usize>();
    let first = |func: &Func<'_>| count(&func.blocks[super::super::func::ENTRY].insts);
    let before = first(&func);
    do_in_front(&mut func);
    (of_all(&func) - before, first(&func) - before)
}

/// Loads a number, at a place of its own making, and combines it.
fn loads(result: &str, place: &str, what: &str) -> String {
    format!(
        "%{result}_wide = OpUConvert %ulong %{place}\n%{result}_at = OpInBoundsPtrAccessChain %to_uint %pointer %{result}_wide\n\
         %{result}_read = OpLoad %uint %{result}_at Aligned 4\n%{result} = {what} %uint %any_uint %{result}_read"
    )
}

#[test]
fn what_both_ways_load_is_loaded_in_front() {
    let [then, els] = [loads("a", "any_uint", "OpIAdd"), loads("b", "any_uint", "OpISub")];
    assert_eq!(left(&then, &els, Op::Load), (1, 1));
    assert_eq!(left(&then, &els, Op::InBoundsPtrAccessChain), (1, 1));
    assert_eq!(left(&then, &els, Op::IAdd), (1, 0));
}

#[test]
fn other_places_stay() {
    let [then, els] = [loads("a", "any_uint", "OpIAdd"), loads("b", "uint_2", "OpISub")];
    assert_eq!(left(&then, &els, Op::Load), (2, 0));
}

#[test]
fn loads_behind_writes_and_volatile_ones_stay() {
    let store = "OpStore %pointer %uint_7 Aligned 4\n";
    let [then, els] = [loads("a", "any_uint", "OpIAdd"), loads("b", "any_uint", "OpISub")];
    assert_eq!(left(&format!("{store}{then}"), &els, Op::Load), (2, 0));
    assert_eq!(left(&then, &format!("{store}{els}"), Op::Load), (2, 0));
    assert_eq!(left(&format!("{then}\n{store}"), &els, Op::Load), (1, 1));
    let volatile = |text: &str| text.replace("Aligned 4", "Volatile");
    assert_eq!(left(&volatile(&then), &volatile(&els), Op::Load), (2, 0));
}
