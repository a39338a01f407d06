use super::super::func::{Func, Synthetic};
use super::super::inlining::{Inlining, Plan};
use super::super::shapes::Shape;
use super::super::testing::{VARIANT, module, of_func};
use super::promote;
use spirv::Op;
use std::rc::Rc;

/// A kernel after promotion.
fn promoted<T>(body: &str, judge: impl FnOnce(&Func<'_>) -> T) -> T {
    of_func(body, |mut func| {
        promote(&mut func);
        judge(&func)
    })
}

fn count(func: &Func<'_>, op: Op) -> usize {
    func.blocks.values().flat_map(|block| &block.insts).filter(|inst| inst.op == op).count()
}

/// What each store to memory stores.
fn stored(func: &Func<'_>) -> Vec<spirv_env::Id> {
    let insts = func.blocks.values().flat_map(|block| &block.insts);
    insts.filter(|inst| inst.op == Op::Store).map(|inst| inst.id(1)).collect()
}

#[test]
fn a_load_becomes_what_was_stored_last() {
    let body = "OpStore %object %any_uint\n%a = OpLoad %uint %object\nOpStore %object %uint_8\n\
                %b = OpLoad %uint %object\nOpStore %pointer %a\nOpStore %pointer %b";
    promoted(body, |func| {
        assert_eq!([count(func, Op::Variable), count(func, Op::Load), count(func, Op::Store)], [0, 0, 2]);
        let [a, b] = stored(func)[..] else { panic!("two stores") };
        assert_eq!(func.constant_bits(b), Some(8));
        assert!(func.params.iter().any(|(param, _)| *param == a));
    });
}

#[test]
fn what_was_never_stored_is_undefined() {
    promoted("%a = OpLoad %uint %object\nOpStore %pointer %a", |func| {
        assert!(matches!(func.synthetic.get(&stored(func)[0]), Some(Synthetic::Undef)));
    });
}

#[test]
fn a_join_of_two_stores_has_a_phi_where_the_value_is_wanted() {
    let hammock = |wanted: &str| {
        format!(
            "OpBranchConditional %any_bool %then %else\n%then = OpLabel\n\
             OpStore %object %uint_8\nOpBranch %join\n%else = OpLabel\nOpStore %object %any_uint\nOpBranch %join\n\
             %join = OpLabel\n{wanted}"
        )
    };
    let phis = |func: &Func<'_>| func.blocks.values().map(|block| block.phis.len()).sum::<usize>();
    promoted(&hammock("%a = OpLoad %uint %object\nOpStore %pointer %a"), |func| {
        assert_eq!(phis(func), 1);
        let phi = func.blocks.values().find_map(|block| block.phis.first()).expect("a phi");
        assert_eq!(stored(func), [phi.result]);
        assert_eq!(phi.incoming.len(), 2);
        let bits: Vec<Option<u64>> = phi.incoming.iter().map(|(_, id)| func.constant_bits(*id)).collect();
        assert!(bits.contains(&Some(8)) && bits.contains(&None));
    });
    promoted(&hammock(""), |func| assert_eq!(phis(func), 0));
}

/// A counter that is kept in a variable: it has the same step in each iteration.
#[test]
fn a_loop_that_only_loads_has_no_phi() {
    let body = "OpStore %object %any_uint\nOpBranch %head\n%head = OpLabel\n%a = OpLoad %uint %object\n\
                OpStore %pointer %a\nOpBranchConditional %any_bool %head %done\n%done = OpLabel\n\
                %b = OpLoad %uint %object\nOpStore %pointer %b";
    promoted(body, |func| {
        assert_eq!(count(func, Op::Load), 0);
        assert_eq!(func.blocks.values().map(|block| block.phis.len()).sum::<usize>(), 0);
    });
}

#[test]
fn a_counter_in_a_variable_keeps_its_step() {
    let body = "%ids = OpLoad %ulong3 %GlobalInvocationId\n%x = OpCompositeExtract %ulong %ids 0\n\
        %i = OpUConvert %uint %x\nOpStore %object %i\nOpBranch %head\n%head = OpLabel\n\
        %now = OpLoad %uint %object\n%next = OpIAdd %uint %now %any_uint\nOpStore %object %next\n\
        OpBranchConditional %any_bool %done %head\n%done = OpLabel\n\
        %last = OpLoad %uint %object\n%kept = OpIAdd %uint %last %uint_1";
    let module = module(body);
    let kernel = module.kernel("main").expect("the module has it");
    let plan = Rc::new(Plan::new(&module, kernel, Inlining::default()).expect("a kernel without calls"));
    let func = crate::lower::prepared(Func::build(&module, kernel, &plan).expect("it is small"));
    let analysis = crate::analysis::Analysis::new(func, VARIANT);
    let sums =
        analysis.func.blocks.values().flat_map(|block| &block.insts).filter(|inst| inst.op == Op::IAdd);
    let shapes: Vec<Shape> =
        sums.map(|inst| analysis.shape_at_definition(inst.result.expect("a result"))[0]).collect();
    assert_eq!(shapes, [Shape::Strided(1), Shape::Strided(1)]);
}

#[test]
fn what_goes_elsewhere_stays_a_variable() {
    for body in [
        "OpStore %object %any_uint\n%number = OpConvertPtrToU %ulong %object",
        "OpStore %object %any_uint\n%a = OpLoad %uint %object Volatile",
        "OpCopyMemory %object %pointer\n%a = OpLoad %uint %object",
        "%second = OpPtrAccessChain %private_uint %object %any_uint\n%a = OpLoad %uint %second",
    ] {
        promoted(body, |func| assert_eq!(count(func, Op::Variable), 1, "{body}"));
    }
}
