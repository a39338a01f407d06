//! Loops over bits that are no loops any more, and such as stay.

use super::super::super::cfg::{Cfg, Dominators};
use super::super::super::loops::{self, Loops};
use super::super::super::testing::of_func;
use super::compute_bits;
use spirv::Op;

/// Whether a loop over `%x` is left of a function where that is `next` in the next iteration and the loop goes on while `more`, with `%n` that begins as
/// `%any_uint` and becomes `%next_n`; and whether a function of bits is there. `behind` says what is used.
fn left(body: &str, behind: &str) -> (bool, bool) {
    let text = format!(
        "OpBranch %head\n%head = OpLabel\n%x = OpPhi %uint %any_uint %entry %next_x %head\n\
         %n = OpPhi %uint %uint_0 %entry %next_n %head\n%i = OpPhi %uint %uint_0 %entry %next_i %head\n\
         %next_i = OpIAdd %uint %i %uint_1\n{body}\nOpBranchConditional %more %head %left\n%left = OpLabel\n\
         {behind}"
    );
    of_func(&text, |mut func| {
        loops::canonicalize(&mut func);
        compute_bits(&mut func);
        let cfg = Cfg::new(&func);
        let is_left = !Loops::new(&cfg, &Dominators::new(&cfg)).loops.is_empty();
        let mut insts = func.blocks.values().flat_map(|block| &block.insts);
        (is_left, insts.any(|inst| matches!(inst.op, Op::BitCount | Op::BitReverse)))
    })
}

const CLEARED: &str = "%less = OpISub %uint %x %uint_1\n%next_x = OpBitwiseAnd %uint %x %less";
const SHIFTED: &str = "%next_x = OpShiftRightLogical %uint %x %uint_1\n%bit = OpBitwiseAnd %uint %x %uint_1";
const WHILE: &str = "%more = OpINotEqual %bool %next_x %uint_0";
const TIMES: &str = "%more = OpULessThan %bool %next_i %uint_12";
const GIVEN: &str = "%more = OpULessThan %bool %next_i %any_uint";
const USED: &str = "%r = OpIAdd %uint %next_n %uint_1";
const DOUBLED: &str = "%twice = OpShiftLeftLogical %uint %n %uint_1\n%next_n = OpBitwiseOr %uint %twice %bit";

#[test]
fn loops_over_bits_are_functions_of_them() {
    let (gone, counted) = ("%next_n = OpIAdd %uint %n %uint_3", "%next_n = OpIAdd %uint %n %bit");
    let parity = "%next_n = OpBitwiseXor %uint %bit %n";
    for body in [
        format!("{CLEARED}\n{gone}\n{WHILE}"),
        format!("{SHIFTED}\n{counted}\n{WHILE}"),
        format!("{SHIFTED}\n{counted}\n{TIMES}"),
        format!("{SHIFTED}\n{parity}\n{TIMES}"),
        format!("{SHIFTED}\n{DOUBLED}\n{TIMES}"),
        format!("{SHIFTED}\n{DOUBLED}\n{GIVEN}"),
        format!("{SHIFTED}\n{counted}\n%more = OpUGreaterThan %bool %x %uint_1"),
    ] {
        assert_eq!(left(&body, USED), (false, true), "{body}");
    }
}

#[test]
fn other_loops_stay() {
    let stays = (true, false);
    let counted = "%next_n = OpIAdd %uint %n %bit";
    // Another number in each iteration; a number that stays; what is no bit; a bound that each iteration has of its own; more than is made here.
    let doubled = "%next_n = OpIAdd %uint %n %x";
    assert_eq!(left(&format!("{CLEARED}\n{doubled}\n{WHILE}"), USED), stays);
    let kept = "%next_x = OpBitwiseAnd %uint %x %x\n%next_n = OpIAdd %uint %n %uint_1";
    assert_eq!(left(&format!("{kept}\n{WHILE}"), USED), stays);
    let two = SHIFTED.replace(
        "%x %uint_1\n%bit = OpBitwiseAnd %uint %x %uint_1",
        "%x %uint_1\n%bit = OpBitwiseAnd %uint %x %uint_3",
    );
    assert_eq!(left(&format!("{two}\n{counted}\n{TIMES}"), USED), stays);
    let own = "%more = OpULessThan %bool %next_i %next_x";
    assert_eq!(left(&format!("{SHIFTED}\n{DOUBLED}\n{own}"), USED), stays);
    assert_eq!(left(&format!("{SHIFTED}\n{counted}\n{GIVEN}"), USED), stays);
    let signed = SHIFTED.replace("Logical", "Arithmetic");
    assert_eq!(left(&format!("{signed}\n{DOUBLED}\n{GIVEN}"), USED), stays);
    // Conditions that compare nothing.
    let negated = "%done = OpIEqual %bool %next_x %uint_0\n%more = OpLogicalNot %bool %done";
    assert_eq!(left(&format!("{SHIFTED}\n{counted}\n{negated}"), USED), stays);
    let copied = "%more = OpCopyObject %bool %any_bool";
    assert_eq!(left(&format!("{SHIFTED}\n{counted}\n{copied}"), USED), stays);
    // What the last iteration began with.
    assert_eq!(
        left(
            &format!("{CLEARED}\n%next_n = OpIAdd %uint %n %uint_3\n{WHILE}"),
            "%r = OpIAdd %uint %x %uint_1"
        ),
        stays
    );
}
