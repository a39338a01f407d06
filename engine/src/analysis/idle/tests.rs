use super::super::cfg;
use super::super::func::{Func, Terminator};
use super::super::inlining::{Inlining, Plan};
use super::super::loops;
use super::super::testing::{counted_loop, module};
use super::leave_where_idle;
use spirv::Op;
use spirv_env::{Id, Module};
use std::rc::Rc;

const IDS: &str = "%ids = OpLoad %ulong3 %GlobalInvocationId\n%x = OpCompositeExtract %ulong %ids 0";
const STORE: &str = "%at = OpInBoundsPtrAccessChain %to_uint %pointer %x\nOpStore %at %sum";
const IS_INSIDE: &str = "%is = OpULessThan %bool %x %any_ulong";

/// What is done behind a loop that adds up.
fn behind(inside: &str, text: &str) -> String {
    let sum = format!("{inside}\n%more_of_it = OpIAdd %uint %sum %n");
    let sums = counted_loop("%sum = OpPhi %uint %uint_0 %entry %more_of_it %inside", &sum);
    format!("{IDS}\n{sums}\n{text}")
}

fn guarded(name: &str, condition: &str, text: &str) -> String {
    format!(
        "OpBranchConditional %{condition} %{name} %{name}_end\n%{name} = OpLabel\n{text}\nOpBranch %{name}_end\n%{name}_end = OpLabel"
    )
}

/// The instructions that make what sub-groups go on for, if they may leave: each with its operands, the last one last.
fn asked(body: &str) -> Option<Vec<Op>> {
    asked_of(&module(body), Inlining::default())
}

fn asked_of(module: &Module, inlining: Inlining) -> Option<Vec<Op>> {
    let kernel = module.kernel("main").expect("the module has it");
    let plan = Rc::new(Plan::new(module, kernel, inlining).expect("a small kernel"));
    let mut func: Func<'_> = Func::build(module, kernel, &plan).expect("it is small");
    cfg::remove_unreachable(&mut func);
    loops::canonicalize(&mut func);
    leave_where_idle(&mut func);
    let leaves = func.blocks.values().find_map(|block| match block.term {
        Terminator::IfNeeded { needed, .. } => Some((block, needed)),
        _ => None,
    });
    let (block, needed) = leaves?;
    fn collect(block: &super::super::func::Block, id: Id, found: &mut Vec<Op>) {
        let inst = block.insts.iter().find(|inst| inst.result == Some(id));
        if let Some(inst) = inst.filter(|inst| inst.op != Op::CompositeExtract) {
            inst.ids().for_each(|id| collect(block, id, found));
            found.push(inst.op);
        }
    }
    let mut found = Vec::new();
    collect(block, needed, &mut found);
    Some(found)
}

#[test]
fn what_is_stored_for_some_is_not_added_up_for_others() {
    let body = behind("", &format!("{IS_INSIDE}\n{}", guarded("part", "is", STORE)));
    assert_eq!(asked(&body), Some(vec![Op::ULessThan]));
    // The other way round.
    let others = format!(
        "{IS_INSIDE}\nOpBranchConditional %is %part_end %part\n%part = OpLabel\n{STORE}\nOpBranch %part_end\n%part_end = OpLabel"
    );
    assert_eq!(asked(&behind("", &others)), Some(vec![Op::ULessThan, Op::LogicalNot]));
}

#[test]
fn the_outermost_condition_that_is_known_is_asked() {
    let inner = format!(
        "%sees = OpULessThan %bool %sum %any_uint\n{}",
        guarded("inner", "sees", &format!("{IS_INSIDE}\n{}", guarded("part", "is", STORE)))
    );
    assert_eq!(asked(&behind("", &inner)), Some(vec![Op::ULessThan]));
    let by_sum = format!("%sees = OpULessThan %bool %sum %any_uint\n{}", guarded("part", "sees", STORE));
    assert_eq!(asked(&behind("", &by_sum)), None);
}

#[test]
fn of_several_limits_the_widest_is_asked() {
    let store = |name: &str, limit: &str| {
        let text = format!(
            "%{name}_at = OpInBoundsPtrAccessChain %to_uint %pointer %ulong_{limit}\nOpStore %{name}_at %sum"
        );
        format!(
            "%{name}_is = OpSGreaterThan %bool %x %ulong_{limit}\n{}",
            guarded(name, &format!("{name}_is"), &text)
        )
    };
    let three = [store("a", "2"), store("b", "0"), store("c", "7")].join("\n");
    assert_eq!(asked(&behind("", &three)), Some(vec![Op::SGreaterThan]));
    // Neither says more than the other.
    let other = format!("{IS_INSIDE}\n{}", guarded("part", "is", STORE));
    let both = format!("{}\n{other}", store("a", "2"));
    assert_eq!(asked(&behind("", &both)), Some(vec![Op::SGreaterThan, Op::ULessThan, Op::LogicalOr]));
}

#[test]
fn who_does_anything_else_stays() {
    let part = format!("{IS_INSIDE}\n{}", guarded("part", "is", STORE));
    assert_eq!(asked(&behind("", &format!("{part}\nOpStore %pointer %uint_1"))), None);
    assert_eq!(asked(&behind("%old = OpAtomicIAdd %uint %pointer %uint_1 %uint_0 %uint_1", &part)), None);
    assert_eq!(asked(&behind("%read = OpLoad %uint %pointer Volatile", &part)), None);
    assert_eq!(asked(&behind("", &format!("{part}\nOpControlBarrier %uint_2 %uint_2 %uint_0"))), None);
    assert_eq!(asked(&behind("%read = OpLoad %uint %pointer", &part)), Some(vec![Op::ULessThan]));
}

/// There may be a barrier in it.
#[test]
fn who_calls_a_function_stays() {
    let part = format!("{IS_INSIDE}\n{}", guarded("part", "is", STORE));
    let called = "%called = OpFunctionCall %uint %callee %n";
    let module = module(&behind(called, &part));
    assert_eq!(asked_of(&module, Inlining::Never), None);
    assert_eq!(asked_of(&module, Inlining::default()), Some(vec![Op::ULessThan]));
}

#[test]
fn what_is_in_front_of_the_loop_is_done_by_all() {
    let part = format!("{IS_INSIDE}\n{}", guarded("part", "is", STORE));
    let body = behind("", &part).replacen("OpBranch %head", "OpStore %pointer %uint_1\nOpBranch %head", 1);
    assert_eq!(asked(&body), Some(vec![Op::ULessThan]));
}

#[test]
fn a_loop_that_is_guarded_itself_is_left_alone() {
    let sums = counted_loop(
        "%sum = OpPhi %uint %uint_0 %start %more_of_it %inside",
        "%more_of_it = OpIAdd %uint %sum %n",
    )
    .replace("%entry", "%start");
    let inside = format!("OpBranch %start\n%start = OpLabel\n{sums}\n{STORE}");
    assert_eq!(asked(&format!("{IDS}\n{IS_INSIDE}\n{}", guarded("part", "is", &inside))), None);
}
