use super::super::func::ENTRY;
use super::super::testing::{VARIANT, of_blocks};
use super::{Extension, Members, index_of};

/// The global id `%x`, and pointers `%pN` to the elements N of structures of four.
fn members(body: &str) -> Vec<(Vec<usize>, usize)> {
    let mut text = "%ids = OpLoad %ulong3 %GlobalInvocationId\n%x = OpCompositeExtract %ulong %ids 0\n\
        %x4 = OpIMul %ulong %x %ulong_4\n"
        .to_owned();
    for element in 0..8 {
        text += &format!("%i{element} = OpIAdd %ulong %x4 %ulong_{element}\n");
        text += &format!("%p{element} = OpPtrAccessChain %to_uint %pointer %i{element}\n");
    }
    of_blocks(&(text + body), VARIANT, |a| {
        let found = Members::of(a, ENTRY);
        let mut groups: Vec<_> =
            found.groups.iter().map(|group| (group.elements.to_vec(), group.pointers.len())).collect();
        groups.sort_unstable();
        groups
    })
}

#[test]
fn loads_of_the_same_structures_are_a_group() {
    let body = "%a = OpLoad %uint %p1\n%b = OpLoad %uint %p3\n%c = OpLoad %uint %p1";
    assert_eq!(members(body), [(vec![0, 2], 3)]);
    // Of one member alone there is nothing to share, and five do not fit into four.
    assert_eq!(members("%a = OpLoad %uint %p1\n%c = OpLoad %uint %p1"), []);
    let body = "%a = OpLoad %uint %p0\n%b = OpLoad %uint %p2\n%c = OpLoad %uint %p5\n%d = OpLoad %uint %p6";
    assert_eq!(members(body), [(vec![0, 1], 2), (vec![0, 2], 2)]);
}

#[test]
fn what_is_read_is_as_new_as_it_must_be() {
    // Another member may be written between the loads, the same one may not.
    let other = "%a = OpLoad %uint %p1\nOpStore %p3 %uint_7\n%b = OpLoad %uint %p2";
    assert_eq!(members(other), [(vec![0, 1], 2)]);
    let same = "%a = OpLoad %uint %p1\nOpStore %p2 %uint_7\n%b = OpLoad %uint %p2";
    assert_eq!(members(same), []);
    let loaded = "%a = OpLoad %uint %p1\nOpStore %p1 %uint_7\n%b = OpLoad %uint %p2";
    assert_eq!(members(loaded), [(vec![0, 1], 2)], "what was loaded before may be written");
    let again = format!("{loaded}\n%c = OpLoad %uint %p1");
    assert_eq!(members(&again), [(vec![0, 1], 2)], "but is not what is loaded behind that");
    let neighbour = "%a = OpLoad %uint %p1\nOpStore %p6 %uint_7\n%b = OpLoad %uint %p2";
    assert_eq!(members(neighbour), [], "it is this member of the next lane's structure");
    let elsewhere = "%q = OpPtrAccessChain %to_uint %pointer %any_uint\n\
        %a = OpLoad %uint %p1\nOpStore %q %uint_7\n%b = OpLoad %uint %p2";
    assert_eq!(members(elsewhere), []);
    let private = "%a = OpLoad %uint %p1\nOpStore %object %uint_7\n%b = OpLoad %uint %p2";
    assert_eq!(members(private), [(vec![0, 1], 2)]);
    let barrier = "%a = OpLoad %uint %p1\nOpMemoryBarrier %uint_1 %uint_8\n%b = OpLoad %uint %p2";
    assert_eq!(members(barrier), []);
    let volatile = "%a = OpLoad %uint %p1\n%v = OpLoad %uint %p3 Volatile\n%b = OpLoad %uint %p2";
    assert_eq!(members(volatile), []);
}

#[test]
fn what_is_written_is_there_when_it_is_read() {
    assert_eq!(members("OpStore %p0 %uint_7\nOpStore %p2 %uint_8"), [(vec![0, 2], 2)]);
    let other = "OpStore %p0 %uint_7\n%a = OpLoad %uint %p1\nOpStore %p2 %uint_8";
    assert_eq!(members(other), [(vec![0, 2], 2)]);
    let same = "OpStore %p0 %uint_7\n%a = OpLoad %uint %p0\nOpStore %p2 %uint_8";
    assert_eq!(members(same), []);
    let twice = "OpStore %p0 %uint_7\nOpStore %p2 %uint_8\nOpStore %p0 %uint_9";
    assert_eq!(members(twice), [], "a store through a pointer is one of a group, or another one");
    let others = "OpStore %p0 %uint_7\nOpStore %p1 %uint_8\nOpStore %p3 %uint_8\nOpStore %p0 %uint_9";
    assert_eq!(members(others), [(vec![1, 3], 2)]);
}

/// A store that is made behind the first load of a group is no store in front of all of them.
#[test]
fn what_is_written_later_than_a_group_is_read_is_not_read_with_it() {
    let body = "OpStore %p3 %uint_7\n%a = OpLoad %uint %p0\n%b = OpLoad %uint %p1\nOpStore %p1 %a\n";
    let both = [(vec![0, 1], 2), (vec![1, 3], 2)];
    assert_eq!(members(&format!("{body}%d = OpLoad %uint %p3\nOpStore %p0 %d")), both);
    // What nobody has stored is read with the others.
    assert_eq!(members(&format!("{body}%d = OpLoad %uint %p2")), [(vec![0, 1, 2], 3), (vec![1, 3], 2)]);
}

#[test]
fn what_is_stored_begins_where_structures_do() {
    assert_eq!(members("OpStore %p1 %uint_7\nOpStore %p2 %uint_8"), [(vec![1, 2], 2)]);
    assert_eq!(members("OpStore %p6 %uint_7\nOpStore %p5 %uint_8"), [(vec![1, 2], 2)]);
    assert_eq!(members("OpStore %p3 %uint_7\nOpStore %p4 %uint_8"), [(vec![0, 1], 2)], "they are of two");
    assert_eq!(
        members("%a = OpLoad %uint %p1\n%b = OpLoad %uint %p2"),
        [(vec![0, 1], 2)],
        "nothing else is read"
    );
}

#[test]
fn an_index_is_known_without_its_constants() {
    let body = "%low = OpUConvert %uint %x4\n%doubled = OpShiftLeftLogical %uint %low %uint_1\n\
        %odd = OpBitwiseOr %uint %doubled %uint_1\n%less = OpISub %uint %odd %uint_4\n%wide = OpSConvert %ulong %less\n\
        %carry = OpBitwiseOr %uint %doubled %uint_8\n%cut = OpSConvert %uint %x4\n%byte = OpUConvert %uchar %low\n\
        %byte1 = OpIAdd %uchar %byte %uchar_1\n%end = OpIAdd %ulong %wide %ulong_8";
    let text = "%ids = OpLoad %ulong3 %GlobalInvocationId\n%x = OpCompositeExtract %ulong %ids 0\n\
        %x4 = OpIMul %ulong %x %ulong_4\n";
    of_blocks(&format!("{text}{body}"), VARIANT, |a| {
        let insts = &a.func.blocks[ENTRY].insts;
        // The place of an index among the instructions, and the place and constant of what it is made of.
        let at = |place: usize| insts[insts.len() - 10 + place].result.expect("a result");
        let found = |place: usize| {
            let of = index_of(a, at(place), Extension::Signed);
            ((0..10).find(|place| at(*place) == of.id), of.constant)
        };
        assert_eq!(found(2), (Some(1), 1), "or without a carry");
        assert_eq!(found(9), (Some(1), 1 - 4 + 8), "through sign extension");
        assert_eq!(found(5), (Some(5), 0), "or with a carry");
        assert_eq!(found(6), (Some(6), 0), "a conversion that cuts");
        assert_eq!(found(8), (Some(8), 0), "bytes wrap around");
    });
}

#[test]
fn an_unsigned_index_is_known_where_no_bit_is_carried() {
    let text = "%ids = OpLoad %ulong3 %GlobalInvocationId\n%x = OpCompositeExtract %ulong %ids 0\n\
        %low = OpUConvert %uint %x\n%doubled = OpShiftLeftLogical %uint %low %uint_1\n";
    let body = "%odd = OpBitwiseOr %uint %doubled %uint_1\n%wide = OpUConvert %ulong %odd\n%next = OpIAdd %ulong %wide %ulong_8\n\
        %sum = OpIAdd %uint %doubled %uint_4\n%wide_sum = OpUConvert %ulong %sum\n%signed = OpSConvert %ulong %odd";
    of_blocks(&format!("{text}{body}"), VARIANT, |a| {
        let insts = &a.func.blocks[ENTRY].insts;
        let at = |place: usize| insts[insts.len() - 7 + place].result.expect("a result");
        let found = |place: usize| {
            let of = index_of(a, at(place), Extension::Signed);
            ((0..7).find(|place| at(*place) == of.id), of.is_unsigned, of.constant)
        };
        assert_eq!(found(3), (Some(0), true, 1 + 8), "through zero extension");
        assert_eq!(found(5), (Some(4), true, 0), "a sum may wrap around at 0");
        assert_eq!(found(6), (Some(0), false, 1), "which sign extension is not");
    });
}

/// The groups of loads of so many elements behind an index `%far`, which is made first.
fn apart(index: &str, elements: &[u64]) -> Vec<(Vec<usize>, usize)> {
    let mut body = format!("{index}\n");
    for (at, element) in elements.iter().enumerate() {
        body += &format!(
            "%j{at} = OpIAdd %ulong %far %ulong_{element}\n%q{at} = OpPtrAccessChain %to_uint %pointer %j{at}\n\
             %v{at} = OpLoad %uint %q{at}\n"
        );
    }
    members(&body)
}

#[test]
fn loads_of_structures_that_lie_apart_are_a_group_where_they_make_a_piece() {
    let large = "%far = OpIMul %ulong %x %ulong_16";
    assert_eq!(apart(large, &[0, 1, 2, 3]), [(vec![0, 1, 2, 3], 4)]);
    assert_eq!(apart(large, &[7, 1, 3, 2, 4]), [(vec![0, 1, 2, 3, 6], 5)]);
    assert_eq!(apart(large, &[0, 1, 2, 4]), [(vec![0, 1, 2, 4], 4)], "three words are a piece");
    assert_eq!(apart(large, &[0, 1, 3, 4]), [], "no three follow each other");
    let from_memory =
        "%own = OpLoad %uint %p0\n%wide = OpUConvert %ulong %own\n%far = OpIMul %ulong %wide %ulong_16";
    assert_eq!(apart(from_memory, &[3, 2, 1, 0]), [(vec![0, 1, 2, 3], 4)]);
}

#[test]
fn what_lanes_read_of_their_own_rows_is_a_group() {
    // Rows of a length that is known when the kernel runs, and elements whose places are known to follow each other.
    let rows_of = "%far = OpIMul %ulong %x %any_ulong";
    assert_eq!(apart(rows_of, &[0, 1, 2, 3]), [(vec![0, 1, 2, 3], 4)]);
    assert_eq!(apart(rows_of, &[0, 1, 2]), [(vec![0, 1, 2], 3)]);
    assert_eq!(apart(rows_of, &[0, 1]), [], "no piece");
    // A clamped index may be a row's.
    let clamped = "%is = OpULessThan %bool %x %any_ulong\n%far = OpSelect %ulong %is %x %any_ulong";
    assert_eq!(apart(clamped, &[0, 1, 2, 3]), []);
}
