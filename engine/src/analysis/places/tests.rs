use super::super::cfg;
use super::super::func::Func;
use super::super::inlining::{Inlining, Plan};
use super::super::testing::module;
use super::choose_indices;
use spirv::Op;
use std::rc::Rc;

/// How many phis, selections and chains a kernel has then.
fn left(body: &str) -> [usize; 3] {
    // The arrays are there where they are named.
    let module = module(&format!("%z = OpBitcast %private_uchar %zeros\n{body}"));
    let kernel = module.kernel("main").expect("the module has it");
    let plan = Rc::new(Plan::new(&module, kernel, Inlining::default()).expect("a kernel without calls"));
    let mut func: Func<'_> = Func::build(&module, kernel, &plan).expect("it is small");
    cfg::remove_unreachable(&mut func);
    choose_indices(&mut func);
    let insts = || func.blocks.values().flat_map(|block| &block.insts);
    let places = insts().filter(|inst| matches!(inst.op, Op::AccessChain | Op::InBoundsAccessChain));
    for inst in places.clone() {
        assert!(inst.ids().all(|id| func.type_of(id).is_some()), "{inst:?}");
    }
    let phis = func.blocks.values().map(|block| block.phis.len()).sum();
    [phis, insts().filter(|inst| inst.op == Op::Select).count(), places.count()]
}

fn joined(first: &str, second: &str, pointer: &str) -> [usize; 3] {
    left(&format!(
        "%a = {first}\n%b = {second}\nOpBranchConditional %any_bool %then %else\n%then = OpLabel\nOpBranch %join\n\
         %else = OpLabel\nOpBranch %join\n%join = OpLabel\n%p = OpPhi {pointer} %a %then %b %else\nOpStore %p %any_uint"
    ))
}

#[test]
fn elements_of_one_array_are_one_place() {
    let [first, second] = [1, 3].map(|at| format!("OpAccessChain %private_uint %words %ulong_{at}"));
    assert_eq!(joined(&first, &second, "%private_uint"), [1, 0, 3]);
    let selected = format!(
        "%a = {first}\n%b = {second}\n%p = OpSelect %private_uint %any_bool %a %b\n%v = OpLoad %uint %p\nOpStore %pointer %v"
    );
    assert_eq!(left(&selected), [0, 1, 3]);
}

#[test]
fn a_choice_of_chosen_elements_is_one_place_too() {
    let places =
        [0, 1, 2].map(|at| format!("%e{at} = OpAccessChain %private_uint %words %ulong_{at}\n")).concat();
    let body = format!(
        "{places}%p = OpSelect %private_uint %any_bool %e0 %e1\n%q = OpSelect %private_uint %any_bool %p %e2\nOpStore %q %any_uint"
    );
    assert_eq!(left(&body), [0, 2, 5]);
}

#[test]
fn other_objects_and_other_steps_stay_apart() {
    let element = "OpAccessChain %private_uint %words %ulong_1";
    assert_eq!(joined(element, "OpCopyObject %private_uint %object", "%private_uint"), [1, 0, 1]);
    let index = "OpAccessChain %private_uint %words %uint_2";
    assert_eq!(joined(element, index, "%private_uint"), [1, 0, 2], "an index of another type");
}

#[test]
fn members_of_structures_are_not_chosen_by_numbers() {
    let chain = |of: &str, member: u32| format!("OpAccessChain %private_uint %{of} %ulong_{member}");
    let text = joined(&chain("by_value", 1), &chain("by_value", 2), "%private_uint");
    assert_eq!(text, [1, 0, 2]);
}
