//! Which kernels have an interior, what it is, and what is asked for it.

use super::super::func::Terminator;
use super::super::shapes::Shape;
use super::super::testing::{VARIANT, a_loop, of_blocks};
use super::*;
use spirv_env::opcodes::Memory;

/// `%x` and `%y` are ids of 32 bits, `%left` and `%right` the numbers next to `%x`, and `%end` is what follows them.
const IDS: &str = "%ids = OpLoad %ulong3 %GlobalInvocationId
    %wide = OpCompositeExtract %ulong %ids 0\n%high = OpCompositeExtract %ulong %ids 1
    %x = OpUConvert %uint %wide\n%y = OpUConvert %uint %high
    %left = OpIAdd %uint %x %uint_minus_1\n%right = OpIAdd %uint %x %uint_1
    %end = OpIAdd %uint %any_uint %uint_minus_1\n";

/// What an interior has: accesses that are rows, others, and branches; and how many comparisons are asked for it.
#[derive(PartialEq, Eq, Debug)]
struct Inside {
    rows: usize,
    others: usize,
    branches: usize,
    facts: usize,
}

fn inside(body: &str) -> Option<Inside> {
    of_blocks(&format!("{IDS}{body}"), VARIANT, |a| {
        let plan = plan(a)?;
        let facts = plan.facts.len();
        let mut func = a.func.clone();
        copy::apply(&mut func, plan);
        let inner = Analysis::new(alone(&canonical(func)), VARIANT);
        let accesses = |is_wanted: fn(Shape) -> bool| {
            let of_block = |block| {
                let insts = inner.func.blocks[block].insts.iter();
                let accesses = insts
                    .filter(|inst| matches!(inst.row().memory, Memory::Read { .. } | Memory::Write { .. }))
                    .filter(|inst| inner.is_in_memory(inst.id(0)));
                accesses.filter(|inst| is_wanted(inner.shape(block, inst.id(0))[0])).count()
            };
            inner.func.block_ids().map(of_block).sum()
        };
        let branches =
            inner.func.blocks.values().filter(|block| matches!(block.term, Terminator::Cond { .. })).count();
        Some(Inside {
            rows: accesses(|shape| matches!(shape, Shape::Strided(4))),
            others: accesses(|shape| shape == Shape::Varying),
            branches,
            facts,
        })
    })
}

fn rows(rows: usize, facts: usize) -> Option<Inside> {
    Some(Inside { rows, others: 0, branches: 0, facts })
}

/// Loads of the elements with these numbers, and a store of what they sum up to.
fn loads(indices: &[&str]) -> String {
    let mut text = String::from("%sum0 = OpIAdd %uint %x %x\n");
    for (at, index) in indices.iter().enumerate() {
        text += &format!(
            "%p{at} = OpInBoundsPtrAccessChain %to_uint %pointer %{index}\n%v{at} = OpLoad %uint %p{at} Aligned 4\n\
             %sum{} = OpIAdd %uint %sum{at} %v{at}\n",
            at + 1
        );
    }
    text + &format!(
        "%out = OpInBoundsPtrAccessChain %to_uint %pointer %x\nOpStore %out %sum{} Aligned 4",
        indices.len()
    )
}

#[test]
fn clamped_neighbours_are_rows() {
    let clamped = "%low = OpExtInst %uint %std s_max %left %uint_0\n%a = OpExtInst %uint %std s_min %low %end
        %b = OpExtInst %uint %std s_clamp %right %uint_0 %end\n";
    // The least is not below, the greatest not above, and there is no way around between the two.
    assert_eq!(inside(&format!("{clamped}{}", loads(&["a", "b"]))), rows(3, 3));
    // One access is not worth it.
    assert_eq!(inside(&format!("{clamped}{}", loads(&["a"]))), None);
}

#[test]
fn chosen_and_wrapped_neighbours_are_rows() {
    let chosen = "%is_first = OpIEqual %bool %x %uint_0\n%a = OpSelect %uint %is_first %end %left
        %is_inside = OpULessThan %bool %right %any_uint\n%b = OpSelect %uint %is_inside %right %uint_0\n";
    assert_eq!(inside(&format!("{chosen}{}", loads(&["a", "b"]))), rows(3, 2));
    let taken_off = chosen.replace("%is_inside = OpULessThan", "%is_behind = OpUGreaterThanEqual").replace(
        "%b = OpSelect %uint %is_inside %right %uint_0",
        "%off = OpSelect %uint %is_behind %any_uint %uint_0\n%b = OpISub %uint %right %off",
    );
    assert_eq!(inside(&format!("{taken_off}{}", loads(&["a", "b"]))), rows(3, 2));
    let wrapped = "%back = OpIAdd %uint %x %end\n%a = OpUMod %uint %back %any_uint\n%b = OpUMod %uint %right %any_uint\n";
    assert_eq!(inside(&format!("{wrapped}{}", loads(&["a", "b"]))), rows(3, 3));
    let signed = wrapped.replace("UMod", "SRem");
    assert_eq!(inside(&format!("{signed}{}", loads(&["a", "b"]))), rows(3, 4), "a side may be negative");
    let masked = "%a = OpBitwiseAnd %uint %left %end\n%b = OpBitwiseAnd %uint %end %right\n";
    // It may be no mask.
    assert_eq!(inside(&format!("{masked}{}", loads(&["a", "b"]))), rows(3, 3));
}

/// Where groups could be long rows but for what is done at edges, they are.
#[test]
fn groups_of_an_interior_have_its_shape() {
    use super::super::axis::Shape as Groups;
    use crate::abi::Axis;
    let wrapped = "%back = OpIAdd %uint %x %end\n%a = OpUMod %uint %back %any_uint\n%b = OpUMod %uint %right %any_uint\n";
    let body = format!("{IDS}{wrapped}{}", loads(&["a", "b"]));
    of_blocks(&body, VARIANT, |a| assert_eq!(a.best_shape(Axis::X), Groups::Own));
    let module = super::super::testing::module(&body);
    let target = crate::jit::target::Target::host().expect("a target machine");
    let kernel = module.kernel("main").expect("the kernel");
    let form =
        crate::lower::best_form(&module, kernel, [16, 16], Default::default(), &target).expect("a form");
    assert_eq!(form.shape, Groups::Rows);
}

#[test]
fn branches_at_edges_are_decided() {
    let guarded = |condition: &str, at: &str| {
        format!(
            "%{at}_is = {condition}\nOpBranchConditional %{at}_is %{at}_then %{at}_behind\n%{at}_then = OpLabel\n\
             {}\nOpBranch %{at}_behind\n%{at}_behind = OpLabel\n",
            loads(&["x"])
                .replace("%sum", &format!("%{at}_sum"))
                .replace("%p", &format!("%{at}_p"))
                .replace(&format!("%{at}_pointer"), "%pointer")
                .replace("%v", &format!("%{at}_v"))
                .replace("%out", &format!("%{at}_out"))
        )
    };
    let last = "%last = OpInBoundsPtrAccessChain %to_uint %pointer %x\nOpStore %last %uint_1 Aligned 4";
    let two = guarded("OpSGreaterThan %bool %x %uint_0", "a") + &guarded("OpSLessThan %bool %x %end", "b");
    assert_eq!(inside(&format!("{two}{last}")), Some(Inside { rows: 5, others: 0, branches: 0, facts: 2 }));
    // A bound of all that is done is a guard, which has code for full masks.
    let one = guarded("OpSLessThan %bool %x %end", "b");
    assert_eq!(inside(&one), None);
    // What depends on data stays.
    let data = "%datum = OpLoad %uint %pointer Aligned 4\n";
    let of_data = guarded("OpSLessThan %bool %x %datum", "c");
    assert_eq!(inside(&format!("{data}{of_data}")), None);
    let both = inside(&format!("{two}{data}{of_data}{last}")).expect("it has one");
    assert_eq!((both.branches, both.facts), (1, 2));
}

#[test]
fn ends_of_counters_stand_for_all_iterations() {
    let body = "%at = OpIAdd %uint %x %n\n%kept = OpExtInst %uint %std s_clamp %at %uint_0 %end
        %p = OpInBoundsPtrAccessChain %to_uint %pointer %kept\n%v = OpLoad %uint %p Aligned 4
        %next = OpIAdd %uint %n %uint_1";
    let counted = |from: &str, more: &str, body: &str| {
        let phis = format!("%n = OpPhi %uint {from} %entry %next %inside");
        inside(&a_loop(&phis, &format!("%more = {more}"), body))
    };
    // Two bounds at two ends, each end after the other, and the counter's own.
    let found = counted("%any_uint", "OpSLessThan %bool %n %uint_64", body).expect("it has one");
    assert_eq!((found.rows, found.others, found.facts), (1, 0, 6));
    assert!(counted("%any_uint", "OpINotEqual %bool %n %uint_64", body).is_some());
    let by_two = body.replace("%n %uint_1", "%n %uint_2");
    assert_eq!(counted("%any_uint", "OpSLessThan %bool %n %uint_64", &by_two), None);
    let scaled = body
        .replace("%at = OpIAdd %uint %x %n", "%far = OpIMul %uint %n %uint_3\n%at = OpIAdd %uint %x %far");
    assert_eq!(counted("%any_uint", "OpSLessThan %bool %n %uint_64", &scaled), None);
    let phis = "%n = OpPhi %uint %any_uint %entry %next %inside";
    let of_data = a_loop(phis, "%more = OpSLessThan %bool %n %datum", body);
    assert_eq!(inside(&format!("%datum = OpLoad %uint %pointer Aligned 4\n{of_data}")), None);
}

#[test]
fn what_meets_others_is_not_there_twice() {
    let clamped =
        "%a = OpExtInst %uint %std s_max %left %uint_0\n%b = OpExtInst %uint %std s_min %right %end\n";
    let meets = "%all = OpGroupAll %bool %uint_3 %any_bool\n";
    assert_eq!(inside(&format!("{clamped}{meets}{}", loads(&["a", "b"]))), None);
    assert!(inside(&format!("{clamped}{}", loads(&["a", "b"]))).is_some());
    let chosen = "%one = OpCompositeConstruct %members %any_ulong %x %y\n%other = OpCompositeConstruct %members %any_ulong %y %x
        %is_inside = OpULessThan %bool %right %end\n%chosen = OpSelect %members %is_inside %one %other\n";
    assert_eq!(inside(&format!("{clamped}{chosen}{}", loads(&["a", "b"]))), None, "members may be products");
}
