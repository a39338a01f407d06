use super::super::func::ENTRY;
use super::super::testing::{VARIANT, of_blocks};
use super::AtomicRuns;
use spirv_env::opcodes::Family;

/// Lanes' own places in local memory, `%p` and `%q`, one that all share, `%same`, one in global memory, `%mine`, and a loaded number.
const VALUES: &str = "%ids = OpLoad %ulong3 %GlobalInvocationId\n%x = OpCompositeExtract %ulong %ids 0\n\
    %i = OpBitwiseAnd %ulong %x %ulong_31\n%mine = OpPtrAccessChain %to_uint %pointer %x\n%data = OpLoad %uint %mine\n\
    %p = OpInBoundsAccessChain %to_local %tile %i\n%q = OpInBoundsAccessChain %to_local %tile %data\n\
    %same = OpInBoundsAccessChain %to_local %tile %ulong_3\n";

/// How many instructions each run has, in their order; those that are none count as runs of one.
fn runs(body: &str) -> Vec<usize> {
    of_blocks(&format!("{VALUES}{body}"), VARIANT, |a| {
        let found = AtomicRuns::of_block(a, ENTRY);
        let (mut runs, mut length) = (Vec::new(), 0);
        let atomics = a.func.blocks[ENTRY].insts.iter().filter(|inst| inst.row().family == Family::Atomic);
        for inst in atomics {
            length += 1;
            if found.of(inst).is_none_or(|run| run.is_last) {
                runs.push(std::mem::take(&mut length));
            }
        }
        assert_eq!(length, 0, "a run has a last instruction");
        runs
    })
}

fn add(result: &str, pointer: &str) -> String {
    format!("%{result} = OpAtomicIAdd %uint %{pointer} %uint_2 %uint_0 %data\n")
}

#[test]
fn those_next_to_each_other_are_a_run() {
    assert_eq!(runs(&(add("a", "p") + &add("b", "q"))), [2]);
    let between = "%sum = OpIAdd %uint %data %uint_1\n%more = OpLoad %uint %mine\n";
    assert_eq!(
        runs(&(add("a", "p") + between + &add("b", "q"))),
        [2],
        "arithmetic, and loads of global memory"
    );
    let all: String = (0..6).map(|at| add(&format!("a{at}"), "p")).collect();
    assert_eq!(runs(&all), [4, 2], "no more than four");
}

#[test]
fn what_is_ordered_or_asked_for_ends_a_run() {
    for between in [
        "%more = OpLoad %uint %p\n",
        "OpStore %mine %data\n",
        "OpControlBarrier %uint_2 %uint_2 %uint_0\n",
        "%old = OpAtomicIAdd %uint %p %uint_2 %uint_0 %data\nOpStore %mine %old\n",
        "%old = OpAtomicIAdd %uint %mine %uint_2 %uint_0 %data\n",
        "%old = OpAtomicIAdd %uint %same %uint_2 %uint_0 %data\n",
    ] {
        let found = runs(&(add("a", "p") + between + &add("b", "q")));
        assert!(found.iter().all(|length| *length == 1), "{between}: {found:?}");
    }
}

#[test]
fn an_order_is_kept() {
    let ordered = "%a = OpAtomicIAdd %uint %p %uint_2 %uint_8 %data\n";
    let load = "%more = OpLoad %uint %mine\n";
    assert_eq!(runs(&(ordered.to_owned() + &add("b", "q"))), [2]);
    assert_eq!(runs(&(ordered.to_owned() + load + &add("b", "q"))), [1, 1]);
    assert_eq!(runs(&(add("b", "q") + load + ordered)), [2], "those before need not wait for it");
    // Of memory alone, as SYCL's relaxed ones are.
    let relaxed = ordered.replace("%uint_8 ", "%uint_128 ");
    assert_eq!(runs(&(relaxed + load + &add("b", "q"))), [2]);
}
