//! What is known of counters, and what has to hold for it.

use super::super::testing::{VARIANT, of_blocks};

/// A loop's phis, what makes `%more` of them, and the body.
struct Parts {
    phi: &'static str,
    next: &'static str,
    more: &'static str,
}

const USUAL: Parts = Parts {
    phi: "%i = OpPhi %ulong %global %entry %next %inside",
    next: "%next = OpIAdd %ulong %i %size",
    more: "%more = OpULessThan %bool %i %n",
};

/// Ids and sizes, of 31 bits, and a bound of 32.
const VALUES: &str = "
    %ids = OpLoad %ulong3 %GlobalInvocationId
    %global = OpCompositeExtract %ulong %ids 0
    %sizes = OpLoad %ulong3 %GlobalSize
    %size = OpCompositeExtract %ulong %sizes 0
    %n = OpUConvert %ulong %any_uint";

/// The bound of the counter in a loop that asks in front of each iteration.
fn upper(parts: &Parts) -> Option<u64> {
    let Parts { phi, next, more } = parts;
    let body = format!(
        "{VALUES}
         OpBranch %before
         %before = OpLabel
         OpBranch %head
         %head = OpLabel
         {phi}
         %counter = OpCopyObject %ulong %i
         {more}
         OpBranchConditional %more %inside %exit
         %inside = OpLabel
         {next}
         OpBranch %head
         %exit = OpLabel"
    )
    .replace("%entry %next", "%before %next");
    of_blocks(&body, VARIANT, |a| {
        let copies = a.func.blocks.values().flat_map(|block| &block.insts);
        let copy = copies.into_iter().find(|inst| inst.op == spirv::Op::CopyObject).expect("the counter's");
        a.upper(copy.id(0), 0)
    })
}

#[test]
fn counters_are_bounded_by_where_they_begin_their_bound_and_a_step() {
    let id = (1 << 31) - 1;
    let narrow = u64::from(u32::MAX);
    assert_eq!(upper(&USUAL), Some(id + narrow + id));
    let swapped = Parts { more: "%more = OpUGreaterThanEqual %bool %n %i", ..USUAL };
    assert_eq!(upper(&swapped), Some(id + narrow + id));
    let by_two = Parts { next: "%next = OpIAdd %ulong %ulong_2 %i", ..USUAL };
    assert_eq!(upper(&by_two), Some(id + narrow + 2));
    let signed = "%m = OpSConvert %ulong %any_uint\n%more = OpSLessThan %bool %i %m";
    assert_eq!(upper(&Parts { more: signed, ..USUAL }), Some(id + id + id));
}

#[test]
fn nothing_is_known_without_a_bound_or_with_steps_that_differ() {
    let unbounded = "%more = OpULessThan %bool %i %any_ulong";
    assert_eq!(upper(&Parts { more: unbounded, ..USUAL }), None);
    let negated = "%more = OpUGreaterThan %bool %i %n";
    assert_eq!(upper(&Parts { more: negated, ..USUAL }), None);
    let unequal = "%more = OpINotEqual %bool %i %n";
    assert_eq!(upper(&Parts { more: unequal, ..USUAL }), None);
    let negative = "%m = OpSConvert %ulong %any_uint\n%more = OpULessThan %bool %i %m";
    assert_eq!(upper(&Parts { more: negative, ..USUAL }), None);
    let by_lane = Parts { next: "%next = OpIAdd %ulong %i %global", ..USUAL };
    assert_eq!(upper(&by_lane), None);
    let by_any = Parts { next: "%next = OpIAdd %ulong %i %any_ulong", ..USUAL };
    assert_eq!(upper(&by_any), None);
    let down = Parts { next: "%next = OpISub %ulong %i %size", ..USUAL };
    assert_eq!(upper(&down), None);
    let anywhere = Parts { phi: "%i = OpPhi %ulong %any_ulong %entry %next %inside", ..USUAL };
    assert_eq!(upper(&anywhere), None);
    // What is compared is neither the counter nor what it is next.
    let other = "%further = OpIAdd %ulong %i %any_ulong\n%more = OpULessThan %bool %further %n";
    assert_eq!(upper(&Parts { more: other, ..USUAL }), None);
}
