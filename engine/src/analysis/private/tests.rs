//! What divides an index, by every operation that it may be made with, and where the objects of lanes lie.

use super::super::testing::{VARIANT, of_blocks, of_last};
use super::{Placement, Uses, index_unit, private_stride};
use spirv_env::{Id, Layout};

/// The number whose lowest set bit divides the last value.
fn unit(body: &str) -> u64 {
    let values = "%x8 = OpShiftLeftLogical %uint %any_uint %uint_3\n%b8 = OpShiftLeftLogical %uchar %any_uchar %uchar_3\n";
    of_last(&format!("{values}{body}"), VARIANT, |analysis, inst| {
        index_unit(&analysis.func, &Uses::new(&analysis.func), inst.result.expect("a result"), 0)
    })
}

#[test]
fn an_index_is_a_multiple_of_what_its_parts_are() {
    assert_eq!(unit("OpShiftLeftLogical %uint %any_uint %uint_4"), 16);
    assert_eq!(unit("OpShiftLeftLogical %uint %x8 %uint_4"), 128);
    assert_eq!(unit("OpShiftLeftLogical %ulong %any_ulong %ulong_63"), 1 << 63);
    assert_eq!(unit("OpShiftLeftLogical %ulong %any_ulong %ulong_64"), 1);
    assert_eq!(unit("OpShiftLeftLogical %uint %x8 %any_uint"), 1);
    assert_eq!(unit("OpIMul %uint %x8 %uint_6"), 48);
    assert_eq!(unit("OpIMul %uint %any_uint %any_uint"), 1);
    for sum in ["OpIAdd", "OpISub", "OpBitwiseOr"] {
        assert_eq!(unit(&format!("{sum} %uint %x8 %uint_4")), 12, "{sum}");
        assert_eq!(unit(&format!("{sum} %uint %uint_4 %x8")), 12, "{sum}");
        assert_eq!(unit(&format!("{sum} %uint %x8 %any_uint")), 9, "{sum}");
    }
    assert_eq!(unit("OpUDiv %uint %x8 %uint_1"), 1);
}

#[test]
fn a_conversion_keeps_low_bits_unless_it_saturates() {
    for convert in ["OpUConvert", "OpSConvert"] {
        assert_eq!(unit(&format!("{convert} %ulong %x8")), 8, "{convert}");
        assert_eq!(unit(&format!("{convert} %uint %b8")), 8, "{convert}");
    }
    let saturated = "%saturated = OpUConvert %uchar %x8\n";
    assert_eq!(unit(&format!("{saturated}OpIAdd %uchar %saturated %uchar_0")), 1);
}

#[test]
fn an_index_is_looked_into_eight_operations_deep() {
    let sums = |length: usize| {
        let mut body = "%s0 = OpIAdd %uint %x8 %uint_0\n".to_owned();
        (1..length).for_each(|at| body += &format!("%s{at} = OpIAdd %uint %s{} %uint_0\n", at - 1));
        unit(body.replace(&format!("%s{} = ", length - 1), "").trim_end())
    };
    assert_eq!(sums(7), 8);
    assert_eq!(sums(8), 1);
}

#[test]
fn objects_of_lanes_lie_at_powers_of_two_or_multiples_of_16_bytes() {
    let strides = [
        (0, 1),
        (1, 1),
        (2, 2),
        (3, 4),
        (4, 4),
        (5, 8),
        (9, 16),
        (15, 16),
        (16, 16),
        (17, 32),
        (48, 48),
        (49, 64),
        (1008, 1008),
        // Not in the same set of a cache.
        (1024, 1088),
        (4096, 4160),
    ];
    assert_eq!(private_stride(Layout { size: 1024, align: 128 }), 1152, "as a long16 is aligned");
    assert_eq!(private_stride(Layout { size: 20, align: 64 }), 64, "as a variable asks for");
    for (size, stride) in strides {
        assert_eq!(private_stride(Layout { size, align: 1 }), stride, "{size} bytes");
    }
}

#[test]
fn words_that_are_set_from_constant_bytes_are_interleaved_all_the_same() {
    let placements = |bytes: &str, between: &str| {
        let body = format!(
            "%ids = OpLoad %ulong3 %GlobalInvocationId\n%x = OpCompositeExtract %ulong %ids 0\n\
             %own_uint = OpUConvert %uint %x\n%own_uchar = OpUConvert %uchar %x\n\
             %to = OpBitcast %private_uchar %words\n%from = OpBitcast %private_uchar %zeros\n{between}\
             OpCopyMemorySized %to %from {bytes}\n%at = OpPtrAccessChain %private_words %words %any_uint\n\
             %own = OpInBoundsPtrAccessChain %private_uint %words %uint_0 %any_uint\nOpStore %own %own_uint"
        );
        of_blocks(&body, VARIANT, |a| {
            let mut placements: Vec<_> = a.private.placement.values().copied().collect();
            placements.sort_unstable_by_key(|placement| *placement as u32);
            placements
        })
    };
    // The bytes are the same for all lanes.
    assert_eq!(placements("%ulong_16", ""), [Placement::Interleaved, Placement::Uniform]);
    let written = placements("%ulong_16", "OpStore %from %own_uchar\n");
    assert_eq!(written, [Placement::PerLane, Placement::PerLane]);
    // A part of a word is not where words of lanes beside each other have it.
    assert!(!placements("%ulong_7", "").contains(&Placement::Interleaved));
}

/// Where three objects of 16 bytes are kept: words that some lanes write, and two variables of bytes that are only copied, `bytes` of them
/// from the words to the first, to the second, and to the words again.
fn placements_on_a_way_of_bytes(bytes: &str, between: &str) -> Vec<(Placement, Option<u64>)> {
    let body = format!(
        "%way = OpVariable %private_bytes Function\n%ids = OpLoad %ulong3 %GlobalInvocationId\n\
         %x = OpCompositeExtract %ulong %ids 0\n%own_uint = OpUConvert %uint %x\n%own_uchar = OpUConvert %uchar %x\n\
         %word = OpInBoundsPtrAccessChain %private_uint %words %uint_0 %any_uint\nOpStore %word %own_uint\n\
         %from = OpBitcast %private_uchar %words\n%first = OpBitcast %private_uchar %way\n\
         %second = OpBitcast %private_uchar %zeros\n{between}OpCopyMemorySized %first %from {bytes}\n\
         OpCopyMemorySized %second %first {bytes}\nOpCopyMemorySized %from %second {bytes}"
    );
    of_blocks(&body, VARIANT, |a| {
        let private = &a.private;
        let of = |(id, placement): (&Id, &Placement)| (*placement, private.leaf_bytes.get(id).copied());
        private.placement.iter().map(of).collect()
    })
}

#[test]
fn what_is_only_copied_has_the_leaves_of_what_it_is_copied_to() {
    let words = (Placement::Interleaved, Some(4));
    assert_eq!(placements_on_a_way_of_bytes("%ulong_12", ""), [words; 3]);
    // A part of a word, and a variable that is accessed as the bytes it is declared as.
    assert!(!placements_on_a_way_of_bytes("%ulong_7", "").contains(&words));
    assert!(!placements_on_a_way_of_bytes("%ulong_12", "OpStore %first %own_uchar\n").contains(&words));
}

#[test]
fn an_object_of_several_types_has_the_least_of_their_leaves() {
    let leaves = |accesses: &str| {
        let body = format!(
            "%ids = OpLoad %ulong3 %GlobalInvocationId\n%x = OpCompositeExtract %ulong %ids 0\n%own_uint = OpUConvert %uint %x\n\
             %own_uchar = OpUConvert %uchar %x\n%bytes = OpBitcast %private_uchar %words\n\
             %byte = OpInBoundsPtrAccessChain %private_uchar %bytes %any_uint\nOpStore %byte %own_uchar\n\
             %word = OpInBoundsPtrAccessChain %private_uint %words %uint_0 {accesses}\nOpStore %word %own_uint\n\
             %other = OpBitcast %private_uchar %zeros"
        );
        of_blocks(&body, VARIANT, |a| {
            let private = &a.private;
            let mut of = private.placement.iter().filter(|(_, placement)| **placement != Placement::Uniform);
            let (id, placement) = of.next().expect("the words");
            (*placement, private.leaf_bytes.get(id).copied())
        })
    };
    assert_eq!(leaves("%uint_1"), (Placement::Interleaved, Some(1)));
    // No instruction gathers four bytes of a lane's word from four rows.
    assert_eq!(leaves("%any_uint"), (Placement::PerLane, None));
}
