//! Loads of what the iteration before stored.

use super::super::cfg::{Cfg, Dominators};
use super::super::func::Func;
use super::super::loops::{self, Loops};
use super::super::testing::of_func;
use super::hand_on;
use spirv::Op;

/// A loop that counts in `%i` from 1 on.
fn a_loop(body: &str) -> String {
    format!(
        "OpBranch %head\n%head = OpLabel\n%i = OpPhi %uint %uint_1 %entry %next %head\n{body}\n\
         %next = OpIAdd %uint %i %uint_1\n%more = OpULessThan %bool %next %any_uint\n\
         OpBranchConditional %more %head %exit\n%exit = OpLabel"
    )
}

/// The loads of a function's loop, the phis of its header, and the loads in front.
fn counted(func: &mut Func<'_>) -> (usize, usize, usize) {
    loops::canonicalize(func);
    hand_on(func);
    let cfg = Cfg::new(func);
    let loops = Loops::new(&cfg, &Dominators::new(&cfg));
    let this = loops.loops.values().next().expect("there is a loop");
    let loads = |block| func.blocks[block].insts.iter().filter(|inst| inst.op == Op::Load).count();
    let phis = func.blocks[this.header].phis.len();
    (this.blocks.iter().map(|block| loads(*block)).sum(), phis, loads(this.preheader))
}

fn after(body: &str) -> (usize, usize, usize) {
    of_func(&a_loop(body), |mut func| counted(&mut func))
}

/// `x[at]` as `name`, and its address.
fn load(name: &str, at: &str) -> String {
    format!(
        "%to_{name} = OpInBoundsPtrAccessChain %to_uint %pointer {at}\n%{name} = OpLoad %uint %to_{name} Aligned 4\n"
    )
}

const BEFORE: &str = "%last = OpISub %uint %i %uint_1\n";
const STORE: &str = "%sum = OpIAdd %uint %before %now\nOpStore %to_now %sum Aligned 4";

#[test]
fn what_was_stored_is_a_phi() {
    let text = format!("{BEFORE}{}{}{STORE}", load("before", "%last"), load("now", "%i"));
    assert_eq!(after(&text), (1, 2, 1));
    // However the index is written.
    let row = "%row = OpIMul %uint %any_uint %any_uint\n%at = OpIAdd %uint %row %i\n\
        %at_last = OpISub %uint %at %uint_1\n%wide = OpSConvert %ulong %at\n%wide_last = OpSConvert %ulong %at_last\n";
    let text = format!("{row}{}{}{STORE}", load("before", "%wide_last"), load("now", "%wide"));
    assert_eq!(after(&text), (1, 2, 1));
    let product = "%last = OpISub %uint %i %uint_1\n%at = OpIMul %uint %i %any_uint\n%at_last = OpIMul %uint %last %any_uint\n";
    let text = format!("{product}{}{}{STORE}", load("before", "%at_last"), load("now", "%at"));
    assert_eq!(after(&text), (1, 2, 1));
}

#[test]
fn what_was_found_before_is_another_one() {
    let text = format!(
        "{BEFORE}%second = OpISub %uint %i %uint_2\n{}{}{}%own = OpIAdd %uint %before %first\n\
         %sum = OpIAdd %uint %own %now\nOpStore %to_now %sum Aligned 4",
        load("first", "%second"),
        load("before", "%last"),
        load("now", "%i")
    );
    assert_eq!(after(&text), (1, 3, 2));
}

#[test]
fn loads_stay_where_something_else_may_be_there() {
    let (before, now) = (load("before", "%last"), load("now", "%i"));
    let stays = (2, 1, 0);
    // Another distance.
    let text = format!("%last = OpISub %uint %i %uint_3\n{before}{now}{STORE}");
    assert_eq!(after(&text), stays);
    // Behind the store, which may be of the same place in this iteration.
    let text =
        format!("{BEFORE}{now}OpStore %to_now %any_uint Aligned 4\n{before}%sum = OpIAdd %uint %before %now");
    assert_eq!(after(&text), stays);
    // Somebody else stores behind it, anywhere or there.
    let other = "%where = OpInBoundsPtrAccessChain %to_uint %pointer %now\n";
    let text = format!("{BEFORE}{before}{now}{other}{STORE}\nOpStore %where %now Aligned 4");
    assert_eq!(after(&text), stays);
    let text = format!("{BEFORE}{before}{now}{STORE}\nOpStore %to_now %now Aligned 4");
    assert_eq!(after(&text), stays);
    // Others' stores are to be seen.
    let barrier = "OpControlBarrier %uint_2 %uint_2 %uint_129\n";
    let text = format!("{BEFORE}{before}{now}{barrier}{STORE}");
    assert_eq!(after(&text), stays);
    let text = format!("{BEFORE}{before}{now}{STORE}").replace("%to_before Aligned 4", "%to_before Volatile");
    assert_eq!(after(&text), stays);
}

#[test]
fn stores_elsewhere_are_no_matter() {
    let (before, now) = (load("before", "%last"), load("now", "%i"));
    // In between.
    let text = format!("{BEFORE}{before}{now}OpStore %to_before %now Aligned 4\n{STORE}");
    assert_eq!(after(&text), (1, 2, 1));
    // A place that is known to be another one.
    let text = format!(
        "{BEFORE}{before}{now}{STORE}\n%third = OpIAdd %uint %i %uint_3\n\
         %to_third = OpInBoundsPtrAccessChain %to_uint %pointer %third\nOpStore %to_third %now Aligned 4"
    );
    assert_eq!(after(&text), (1, 2, 1));
    let text = format!("{BEFORE}{before}{now}{STORE}\nOpStore %object %now Aligned 4");
    assert_eq!(after(&text), (1, 2, 1));
}
