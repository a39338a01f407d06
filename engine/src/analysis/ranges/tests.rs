//! The bound of every operation, exactly, and the first operand at which nothing is known any more.

use super::super::testing::{VARIANT, of_blocks, of_last};
use crate::abi::{Ids, Variant};

/// The local id, at most 1023, of which all bounds are made, and values of a few widths that are at most 64 or 63.
const VALUES: &str = "
    %ids = OpLoad %ulong3 %LocalInvocationId
    %l = OpCompositeExtract %ulong %ids 0
    %c64 = OpUMod %uchar %any_uchar %uchar_65
    %c63 = OpUMod %uchar %any_uchar %uchar_64
    %c127 = OpUMod %uchar %any_uchar %uchar_128
    %c128 = OpUMod %uchar %any_uchar %uchar_129
    %s127 = OpUMod %ushort %any_ushort %ushort_128
    %s128 = OpUMod %ushort %any_ushort %ushort_129";

fn upper_under(variant: Variant, body: &str) -> Option<u64> {
    let body = format!("{VALUES}\n{body}");
    of_last(&body, variant, |analysis, inst| analysis.upper(inst.result.expect("a result"), 0))
}

fn upper(body: &str) -> Option<u64> {
    upper_under(VARIANT, body)
}

/// Whether lowering may take the last instruction for its first operand, `x` being below `bound`.
fn is_identity(bound: u32, operation: &str) -> bool {
    let body = format!("%x = OpUMod %uint %any_uint %uint_{bound}\n{operation}");
    of_last(&body, VARIANT, |analysis, inst| analysis.is_identity(inst))
}

fn trailing_zeros(body: &str) -> u32 {
    let body = format!(
        "%x2 = OpShiftLeftLogical %uint %any_uint %uint_1
         %x8 = OpShiftLeftLogical %uint %any_uint %uint_3
         %b8 = OpShiftLeftLogical %uchar %any_uchar %uchar_3
         {body}"
    );
    of_last(&body, VARIANT, |analysis, inst| analysis.trailing_zeros(inst.result.expect("a result"), 0))
}

/// A value copied as often as `length` says.
fn copies(ty: &str, value: &str, length: usize) -> String {
    let mut body = String::new();
    let mut of = value.to_owned();
    for at in 1..length {
        body += &format!("%copy{at} = OpCopyObject %{ty} %{of}\n");
        of = format!("copy{at}");
    }
    format!("{body}OpCopyObject %{ty} %{of}")
}

#[test]
fn a_constant_is_its_own_bound() {
    assert_eq!(upper("OpCopyObject %uint %uint_8"), Some(8));
    assert_eq!(upper("OpCopyObject %uint %uint_null"), Some(0));
    assert_eq!(upper("OpCopyObject %ulong %l"), Some(1023));
    assert_eq!(upper("OpCopyObject %uint %any_uint"), None);
}

#[test]
fn built_ins_are_bounded_by_the_variant() {
    let component = |builtin: &str, variant: Variant| {
        let body = format!("%whole = OpLoad %ulong3 %{builtin}\nOpCompositeExtract %ulong %whole 1");
        let whole = upper_under(variant, &format!("OpLoad %ulong3 %{builtin}"));
        assert_eq!(whole, upper_under(variant, &body), "{builtin}");
        whole
    };
    let scalar = |ty: &str, builtin: &str| upper(&format!("OpLoad %{ty} %{builtin}"));
    let large = Variant { ids: Ids { large: true, ..Ids::SMALL }, ..VARIANT };
    for builtin in ["GlobalInvocationId", "GlobalSize", "GlobalOffset"] {
        assert_eq!(component(builtin, VARIANT), Some((1 << 31) - 1), "{builtin}");
        assert_eq!(component(builtin, large), None, "{builtin}");
    }
    assert_eq!(scalar("ulong", "GlobalLinearId"), None);
    assert_eq!(component("LocalInvocationId", VARIANT), Some(1023));
    assert_eq!(scalar("ulong", "LocalInvocationIndex"), Some(1023));
    assert_eq!(scalar("uint", "SubgroupId"), Some(1023));
    assert_eq!(component("WorkgroupSize", VARIANT), Some(1024));
    assert_eq!(scalar("uint", "NumSubgroups"), Some(1024));
    assert_eq!(scalar("uint", "SubgroupLocalInvocationId"), Some(15));
    assert_eq!(scalar("uint", "SubgroupMaxSize"), Some(16));
    assert_eq!(component("WorkgroupId", VARIANT), Some(u64::from(u32::MAX)));
    assert_eq!(component("NumWorkgroups", VARIANT), Some(u64::from(u32::MAX)));
    assert_eq!(scalar("uint", "WorkDim"), Some(3));
}

#[test]
fn components_of_what_is_no_built_in_have_no_bound() {
    let pair = "%pair = OpCompositeConstruct %uint2 %any_uint %uint_8\nOpCompositeExtract %uint %pair 1";
    assert_eq!(upper(pair), None);
    assert_eq!(upper("OpLoad %uint %pointer"), None);
}

#[test]
fn a_remainder_is_below_its_divisor() {
    assert_eq!(upper("OpUMod %uint %any_uint %uint_8"), Some(7));
    assert_eq!(upper("OpUMod %uint %any_uint %uint_1"), Some(0));
    assert_eq!(upper("OpUMod %uint %any_uint %uint_0"), None);
    assert_eq!(upper("OpUMod %uint %uint_8 %any_uint"), None);
}

#[test]
fn a_quotient_is_the_bound_divided() {
    assert_eq!(upper("OpUDiv %ulong %l %ulong_8"), Some(127));
    assert_eq!(upper("OpUDiv %ulong %l %ulong_1"), Some(1023));
    assert_eq!(upper("OpUDiv %ulong %l %ulong_0"), None);
    assert_eq!(upper("OpUDiv %ulong %any_ulong %ulong_8"), Some(u64::MAX / 8));
    assert_eq!(upper("OpUDiv %ulong %l %any_ulong"), None);
}

#[test]
fn a_right_shift_is_the_bound_shifted() {
    assert_eq!(upper("OpShiftRightLogical %ulong %l %ulong_3"), Some(127));
    assert_eq!(upper("OpShiftRightLogical %ulong %l %ulong_9"), Some(1));
    assert_eq!(upper("OpShiftRightLogical %ulong %l %ulong_70"), Some(0));
    assert_eq!(upper("OpShiftRightLogical %ulong %any_ulong %ulong_3"), Some(u64::MAX >> 3));
    assert_eq!(upper("OpShiftRightLogical %ulong %l %any_ulong"), None);
}

#[test]
fn a_sum_has_a_bound_below_the_sign_bit() {
    assert_eq!(upper("OpIAdd %uchar %c64 %uchar_63"), Some(127));
    assert_eq!(upper("OpIAdd %uchar %c64 %uchar_64"), None);
    assert_eq!(upper("OpIAdd %ulong %l %ulong_1"), Some(1024));
    assert_eq!(upper("OpIAdd %ulong %l %any_ulong"), None);
    assert_eq!(upper("OpIAdd %ulong %any_ulong %l"), None);
}

#[test]
fn a_product_has_a_bound_below_the_sign_bit() {
    assert_eq!(upper("OpIMul %uchar %c63 %uchar_2"), Some(126));
    assert_eq!(upper("OpIMul %uchar %c127 %uchar_1"), Some(127));
    assert_eq!(upper("OpIMul %uchar %c64 %uchar_2"), None);
    assert_eq!(upper("OpIMul %ulong %l %ulong_3"), Some(3069));
    assert_eq!(upper("OpIMul %ulong %l %any_ulong"), None);
}

#[test]
fn a_left_shift_has_a_bound_below_the_sign_bit() {
    assert_eq!(upper("OpShiftLeftLogical %uchar %c63 %uchar_1"), Some(126));
    assert_eq!(upper("OpShiftLeftLogical %uchar %c127 %uchar_0"), Some(127));
    assert_eq!(upper("OpShiftLeftLogical %uchar %c64 %uchar_1"), None);
    assert_eq!(upper("OpShiftLeftLogical %ulong %l %ulong_3"), Some(8184));
    assert_eq!(upper("OpShiftLeftLogical %ulong %l %ulong_63"), None);
    assert_eq!(upper("OpShiftLeftLogical %ulong %l %ulong_64"), None);
    assert_eq!(upper("OpShiftLeftLogical %ulong %l %any_ulong"), None);
}

#[test]
fn a_conjunction_is_no_larger_than_either_operand() {
    assert_eq!(upper("OpBitwiseAnd %ulong %l %ulong_12"), Some(12));
    assert_eq!(upper("OpBitwiseAnd %ulong %ulong_12 %l"), Some(12));
    assert_eq!(upper("OpBitwiseAnd %ulong %any_ulong %l"), Some(1023));
    assert_eq!(upper("OpBitwiseAnd %ulong %l %any_ulong"), Some(1023));
    assert_eq!(upper("OpBitwiseAnd %ulong %any_ulong %any_ulong"), None);
    // No other operation of bits is one.
    assert_eq!(upper("OpBitwiseOr %ulong %l %ulong_12"), None);
}

#[test]
fn a_choice_is_no_larger_than_the_larger_one() {
    assert_eq!(upper("OpSelect %ulong %any_bool %l %ulong_8"), Some(1023));
    assert_eq!(upper("OpSelect %ulong %any_bool %ulong_8 %l"), Some(1023));
    assert_eq!(upper("OpSelect %ulong %any_bool %any_ulong %ulong_8"), None);
    assert_eq!(upper("OpSelect %ulong %any_bool %ulong_8 %any_ulong"), None);
}

#[test]
fn a_conversion_keeps_a_bound_that_is_no_sign_bit() {
    assert_eq!(upper("OpUConvert %uchar %s127"), Some(127));
    assert_eq!(upper("OpUConvert %uchar %s128"), None);
    assert_eq!(upper("OpSConvert %uchar %s127"), Some(127));
    assert_eq!(upper("OpSConvert %uchar %s128"), None);
    assert_eq!(upper("OpSConvert %ushort %c127"), Some(127));
    // -128 becomes 65408, zero extended 128 stays what it is.
    assert_eq!(upper("OpSConvert %ushort %c128"), None);
    assert_eq!(upper("OpUConvert %ushort %c128"), Some(128));
    assert_eq!(upper("OpUConvert %uint %l"), Some(1023));
    assert_eq!(upper("OpBitcast %uint %any_float"), None);
}

#[test]
fn operands_are_followed_twelve_steps_back() {
    let chain = |length| upper(&copies("ulong", "l", length));
    assert_eq!(chain(12), Some(1023));
    assert_eq!(chain(13), None);
}

#[test]
fn a_remainder_of_what_is_smaller_is_that() {
    assert!(is_identity(7, "OpUMod %uint %x %uint_8"));
    assert!(is_identity(8, "OpUMod %uint %x %uint_8"));
    assert!(!is_identity(9, "OpUMod %uint %x %uint_8"));
    // (x % 8) % 7 keeps its second remainder.
    assert!(!is_identity(8, "OpUMod %uint %x %uint_7"));
    assert!(!is_identity(8, "OpUMod %uint %any_uint %uint_8"));
    assert!(!is_identity(8, "OpUMod %uint %x %any_uint"));
}

#[test]
fn a_mask_of_what_it_covers_is_that() {
    assert!(is_identity(8, "OpBitwiseAnd %uint %x %uint_7"));
    assert!(is_identity(7, "OpBitwiseAnd %uint %x %uint_7"));
    assert!(!is_identity(9, "OpBitwiseAnd %uint %x %uint_7"));
    // 6 has a hole, which 1 falls through.
    assert!(!is_identity(2, "OpBitwiseAnd %uint %x %uint_6"));
    assert!(!is_identity(8, "OpBitwiseAnd %uint %any_uint %uint_7"));
}

#[test]
fn a_disjunction_with_bits_that_are_zero_is_a_sum() {
    let or_is_add = |operands: &str| {
        let body = format!("%x8 = OpShiftLeftLogical %uint %any_uint %uint_3\nOpBitwiseOr %uint {operands}");
        of_last(&body, VARIANT, |analysis, inst| analysis.or_is_add(inst))
    };
    for operands in ["%x8 %uint_7", "%uint_7 %x8", "%x8 %uint_4", "%x8 %uint_0", "%any_uint %uint_0"] {
        assert!(or_is_add(operands), "{operands}");
    }
    for operands in ["%x8 %uint_8", "%uint_8 %x8", "%x8 %uint_9", "%any_uint %uint_1", "%x8 %any_uint"] {
        assert!(!or_is_add(operands), "{operands}");
    }
}

#[test]
fn low_zeros_of_every_operation() {
    let cases = [
        ("OpCopyObject %uint %uint_8", 3),
        ("OpCopyObject %uint %uint_1", 0),
        ("OpCopyObject %uint %x8", 3),
        ("OpCopyObject %uint %any_uint", 0),
        ("OpShiftLeftLogical %uint %x8 %uint_2", 5),
        ("OpShiftLeftLogical %uint %uint_1 %uint_2", 2),
        ("OpShiftLeftLogical %uint %x8 %any_uint", 3),
        ("OpIMul %uint %x8 %uint_4", 5),
        ("OpIMul %uint %x8 %x2", 4),
        ("OpIMul %uint %x8 %any_uint", 3),
        ("OpIAdd %uint %x8 %uint_16", 3),
        ("OpIAdd %uint %x2 %x8", 1),
        ("OpISub %uint %x8 %x2", 1),
        ("OpISub %uint %x8 %uint_16", 3),
        ("OpBitwiseOr %uint %x8 %x2", 1),
        ("OpBitwiseOr %uint %x8 %uint_16", 3),
        ("OpBitwiseXor %uint %x8 %x2", 1),
        ("OpBitwiseXor %uint %x8 %uint_16", 3),
        ("OpBitwiseAnd %uint %x8 %x2", 3),
        ("OpBitwiseAnd %uint %any_uint %uint_16", 4),
        ("OpUConvert %ulong %x8", 3),
        ("OpSConvert %ulong %x8", 3),
        ("OpUConvert %uchar %x8", 3),
        ("OpSConvert %uint %b8", 3),
        ("%saturated = OpUConvert %uchar %x8\nOpCopyObject %uchar %saturated", 0),
        ("%saturated = OpSConvert %uchar %x8\nOpCopyObject %uchar %saturated", 0),
        ("OpUDiv %uint %x8 %uint_1", 0),
        ("OpShiftRightLogical %uint %x8 %uint_1", 0),
    ];
    for (body, zeros) in cases {
        assert_eq!(trailing_zeros(body), zeros, "{body}");
    }
}

#[test]
fn low_zeros_are_followed_eight_steps_back() {
    let chain = |length| trailing_zeros(&copies("uint", "x8", length));
    assert_eq!(chain(7), 3);
    assert_eq!(chain(8), 0);
}

#[test]
fn counters_keep_the_zeros_that_they_begin_and_go_on_with() {
    let zeros = |first: &str, next: &str| {
        let body = format!(
            "%x8 = OpShiftLeftLogical %uint %any_uint %uint_3\nOpBranch %head\n%head = OpLabel\n\
             %i = OpPhi %uint {first} %entry %next %head\n%next = {next}\n%more = OpULessThan %bool %next %any_uint\n\
             OpBranchConditional %more %head %end\n%end = OpLabel"
        );
        of_blocks(&body, VARIANT, |analysis| {
            let phi = analysis.func.blocks.values().find_map(|block| block.phis.first()).expect("a counter");
            analysis.trailing_zeros(phi.result, 0)
        })
    };
    assert_eq!(zeros("%uint_0", "OpIAdd %uint %i %uint_16"), 4);
    assert_eq!(zeros("%x8", "OpISub %uint %i %uint_16"), 3);
    assert_eq!(zeros("%uint_16", "OpIAdd %uint %x8 %i"), 3);
    assert_eq!(zeros("%uint_0", "OpIAdd %uint %i %uint_1"), 0);
    assert_eq!(zeros("%any_uint", "OpIAdd %uint %i %uint_16"), 0);
    assert_eq!(zeros("%uint_0", "OpUDiv %uint %i %uint_16"), 0, "not looked at");
}
