use super::super::cfg;
use super::super::func::Func;
use super::super::inlining::{Inlining, Plan};
use super::super::testing::module;
use super::compute_behind;
use spirv::Op;
use std::rc::Rc;

/// The phis that are left of a join of two branches, and how many conversions there are.
fn left(then: &str, els: &str, wanted: &str) -> (usize, usize) {
    let body = format!(
        "OpBranchConditional %any_bool %then %else\n%then = OpLabel\n{then}\nOpBranch %join\n\
         %else = OpLabel\n{els}\nOpBranch %join\n%join = OpLabel\n{wanted}"
    );
    let module = module(&body);
    let kernel = module.kernel("main").expect("the module has it");
    let plan = Rc::new(Plan::new(&module, kernel, Inlining::default()).expect("a kernel without calls"));
    let mut func: Func<'_> = Func::build(&module, kernel, &plan).expect("it is small");
    cfg::remove_unreachable(&mut func);
    compute_behind(&mut func);
    let phis = func.blocks.values().map(|block| block.phis.len()).sum();
    let insts = func.blocks.values().flat_map(|block| &block.insts);
    (phis, insts.filter(|inst| matches!(inst.op, Op::SConvert | Op::UConvert)).count())
}

const JOIN: &str =
    "%j = OpPhi %ulong %a %then %b %else\n%to = OpPtrAccessChain %to_uint %pointer %j\nOpStore %to %uint_7";

#[test]
fn what_both_branches_compute_is_computed_behind_them() {
    assert_eq!(left("%a = OpSConvert %ulong %any_uint", "%b = OpSConvert %ulong %any_uint", JOIN), (0, 3));
}

#[test]
fn what_it_is_computed_of_comes_along() {
    let of = |name: &str, number: &str| {
        format!("%{name}_sum = OpIAdd %uint %any_uint %{number}\n%{name} = OpSConvert %ulong %{name}_sum")
    };
    assert_eq!(left(&of("a", "uint_2"), &of("b", "uint_2"), JOIN), (0, 3));
    assert_eq!(left(&of("a", "uint_2"), &of("b", "uint_3"), JOIN), (1, 2));
}

#[test]
fn other_instructions_and_values_of_memory_stay_apart() {
    assert_eq!(left("%a = OpSConvert %ulong %any_uint", "%b = OpUConvert %ulong %any_uint", JOIN), (1, 2));
    let load = |name: &str| {
        format!("%{name}_read = OpLoad %uint %pointer Aligned 4\n%{name} = OpSConvert %ulong %{name}_read")
    };
    assert_eq!(left(&load("a"), &load("b"), JOIN), (1, 2));
    let read = |name: &str| {
        format!(
            "%{name}_ids = OpLoad %ulong3 %GlobalInvocationId\n%{name} = OpCompositeExtract %ulong %{name}_ids 0"
        )
    };
    assert_eq!(left(&read("a"), &read("b"), JOIN), (0, 0), "built-ins never change");
}

#[test]
fn a_phi_of_one_value_is_that() {
    let join = "%j = OpPhi %ulong %any_ulong %then %any_ulong %else\n%to = OpPtrAccessChain %to_uint %pointer %j\nOpStore %to %uint_7";
    assert_eq!(left("", "", join), (0, 0));
}
