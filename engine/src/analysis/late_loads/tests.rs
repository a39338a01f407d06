//! Loads that are made an iteration ahead.

use super::super::cfg::{Cfg, Dominators};
use super::super::func::{BlockId, Func};
use super::super::loops::{self, Loops};
use super::super::testing::of_func;
use super::load_late;
use spirv::Op;

/// A loop that counts in `%i` from `first` on in steps of 16, has `%x` from `%before` and then from the load of `address`, which it does `with` more.
fn a_loop(first: &str, before: &str, address: &str, with: &str) -> String {
    format!(
        "%first = OpIAdd %uint %any_uint %uint_16\n{before}\n%before = OpLoad %uint %p Aligned 4\nOpBranch %head\n\
         %head = OpLabel\n%i = OpPhi %uint {first} %entry %next %head\n%x = OpPhi %uint %before %entry %ahead %head\n\
         %sum = OpPhi %uint %uint_0 %entry %more_sum %head\n%more_sum = OpIAdd %uint %sum %x\n\
         {address}\n%ahead = OpLoad %uint %q Aligned 4\n{with}\n\
         %next = OpIAdd %uint %i %uint_16\n%more = OpULessThan %bool %next %any_uint\n\
         OpBranchConditional %more %head %exit\n%exit = OpLabel"
    )
}

/// How many phis the loop of a function has left, and what its header does first.
fn header(func: &mut Func<'_>) -> (usize, Vec<Op>) {
    loops::canonicalize(func);
    load_late(func);
    let cfg = Cfg::new(func);
    let loops = Loops::new(&cfg, &Dominators::new(&cfg));
    let header: BlockId = loops.loops.values().next().expect("there is a loop").header;
    let header = &func.blocks[header];
    (header.phis.len(), header.insts.iter().map(|inst| inst.op).take_while(|op| *op != Op::IAdd).collect())
}

const BEFORE: &str = "%p = OpInBoundsPtrAccessChain %to_uint %pointer %any_uint";
const ADDRESS: &str = "%q = OpInBoundsPtrAccessChain %to_uint %pointer %i";

fn after(body: &str) -> (usize, Vec<Op>) {
    of_func(body, |mut func| header(&mut func))
}

#[test]
fn a_load_for_the_next_iteration_is_made_by_that() {
    let late = vec![Op::ISub, Op::InBoundsPtrAccessChain, Op::Load];
    assert_eq!(after(&a_loop("%first", BEFORE, ADDRESS, "")), (2, late));
}

#[test]
fn an_address_that_grows_in_front_of_the_load_is_the_counter() {
    let address = "%then = OpIAdd %uint %i %uint_16\n%q = OpInBoundsPtrAccessChain %to_uint %pointer %then";
    let text = a_loop("%any_uint", BEFORE, address, "").replace("%next %head\n%x", "%then %head\n%x");
    assert_eq!(after(&text), (2, vec![Op::InBoundsPtrAccessChain, Op::Load]));
}

#[test]
fn an_address_that_is_another_one_in_front_of_the_loop_is_handed_on() {
    let (phis, insts) = after(&a_loop("%uint_0", BEFORE, ADDRESS, ""));
    assert_eq!((phis, insts), (3, vec![Op::InBoundsPtrAccessChain, Op::Load]));
    let (phis, insts) = after(&a_loop("%first", "%p = OpCopyObject %to_uint %pointer", ADDRESS, ""));
    assert_eq!((phis, insts), (3, vec![Op::Load]));
}

#[test]
fn loads_stay_where_memory_may_change_or_data_decides() {
    let stays = (3, vec![]);
    assert_eq!(after(&a_loop("%first", BEFORE, ADDRESS, "OpStore %q %sum")), stays);
    assert_eq!(after(&a_loop("%first", BEFORE, ADDRESS, "%again = OpIMul %uint %ahead %ahead")), stays);
    let chases = "%q = OpInBoundsPtrAccessChain %to_uint %pointer %x";
    assert_eq!(after(&a_loop("%first", BEFORE, chases, "")), stays);
    let stored = a_loop("%first", BEFORE, ADDRESS, "");
    let stored = stored.replace(
        "%before = OpLoad %uint %p Aligned 4\n",
        "%before = OpLoad %uint %p Aligned 4\nOpStore %p %any_uint\n",
    );
    assert_eq!(after(&stored), stays);
    let volatile = a_loop("%first", BEFORE, ADDRESS, "").replace("Aligned 4", "Volatile");
    assert_eq!(after(&volatile), stays);
}
