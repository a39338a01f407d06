//! Objects of a few elements, one a lane, by indices from memory (`lower::apart`) and in a row (`lower::runs`): loaded and stored, by all
//! lanes and by some.

use super::{Random, SUBGROUPS, kernel, run_on};
use crate::jit::target::Isa;

/// Types, and the words of an object.
const TYPES: [(&str, usize); 13] = [
    ("uint2", 2),
    ("uint4", 4),
    ("uint16", 16),
    ("float2", 2),
    ("float4", 4),
    ("half4", 2),
    ("ulong2", 4),
    ("ulong4", 8),
    ("uchar4", 1),
    ("uchar8", 2),
    ("uchar16", 4),
    ("ushort2", 1),
    ("ushort16", 8),
];

/// Those of the types that kernels do not have anyway.
const OWN_TYPES: [(&str, u32); 5] =
    [("uchar", 8), ("uchar", 16), ("ushort", 2), ("ushort", 16), ("uint", 16)];

/// Objects that are read.
const TABLE: usize = 300;

fn check(isa: Option<Isa>) {
    let mut random = Random(5);
    let table: Vec<u32> = (0..16 * TABLE).map(|_| random.next()).collect();
    for ((ty, words), in_row) in TYPES.into_iter().flat_map(|ty| [(ty, false), (ty, true)]) {
        for (width, subgroups) in SUBGROUPS {
            let items = (2 * width * subgroups) as usize;
            // Where each is read, with repetitions, and where it is stored, without.
            let mut from: Vec<u32> = (0..items).map(|_| random.next() % TABLE as u32).collect();
            let mut to: Vec<u32> = (0..items as u32).collect();
            if in_row {
                from.copy_from_slice(&to);
            }
            for at in (1..items).rev().filter(|_| !in_row) {
                to.swap(at, random.next() as usize % (at + 1));
            }
            let index: Vec<u32> = from.iter().zip(&to).flat_map(|(from, to)| [*from, *to]).collect();
            // A third of the objects is loaded and stored under a mask, another one is loaded for all and stored under it.
            let body = format!(
                "%gx32 = OpUConvert %uint %gx
                 %objects = OpBitcast %pg_{ty} %in\n%results = OpBitcast %pg_{ty} %out
                 %twice = OpIMul %ulong %gx %ul2\n%second = OpIAdd %ulong %twice %ul1
                 %from_at = OpInBoundsPtrAccessChain %pg_uint %index %twice\n%from = OpLoad %uint %from_at
                 %to_at = OpInBoundsPtrAccessChain %pg_uint %index %second\n%to = OpLoad %uint %to_at
                 %from_wide = OpUConvert %ulong %from\n%to_wide = OpUConvert %ulong %to
                 %object = OpInBoundsPtrAccessChain %pg_{ty} %objects %from_wide
                 %result = OpInBoundsPtrAccessChain %pg_{ty} %results %to_wide
                 %third = OpUMod %uint %gx32 %u3
                 %is_all = OpIEqual %bool %third %u0\n%is_some = OpIEqual %bool %third %u1
                 %all = OpLoad %{ty} %object
                 OpBranchConditional %is_all %store_all %behind_all
                 %store_all = OpLabel\nOpStore %result %all\nOpBranch %behind_all
                 %behind_all = OpLabel\nOpBranchConditional %is_some %inside %behind
                 %inside = OpLabel\n%some = OpLoad %{ty} %object\nOpStore %result %some\nOpBranch %behind
                 %behind = OpLabel\n"
            );
            let body = match in_row {
                true => body
                    .replace("%objects %from_wide", "%objects %gx")
                    .replace("%results %to_wide", "%results %gx"),
                false => body,
            };
            let whole = format!(
                "{}OpStore %result %all\n",
                &body[..body.find("OpBranchConditional").expect("it has one")]
            );
            for (text, all) in [(whole, true), (body, false)] {
                let own: String = OWN_TYPES
                    .iter()
                    .map(|(ty, count)| {
                        format!(
                            "%{ty}{count} = OpTypeVector %{ty} {count}\n\
                             %pg_{ty}{count} = OpTypePointer CrossWorkgroup %{ty}{count}\n"
                        )
                    })
                    .collect();
                let text = kernel((width > 1).then_some(width), "", &text)
                    .replace("%fn = OpTypeFunction", &format!("{own}%fn = OpTypeFunction"));
                let found = run_on(isa, &text, width * subgroups, &table, &index, words);
                for item in 0..items {
                    let result = &found[to[item] as usize * words..][..words];
                    let object = &table[from[item] as usize * words..][..words];
                    let expected = if all || item % 3 < 2 { object } else { &[0; 16][..words] };
                    assert_eq!(result, expected, "{ty}, work-item {item} of {items}, sub-groups of {width}");
                }
            }
        }
    }
}

#[test]
fn objects_that_lie_apart_are_accessed_one_by_one() {
    check(None);
}

#[test]
fn objects_that_lie_apart_are_accessed_one_by_one_without_scatters() {
    check(Some(Isa::Avx2));
}

/// Elements from one structure to the next.
const STRUCTURE: usize = 37;

/// Which elements of a structure are read, in this order.
const ELEMENTS: [&[usize]; 6] = [
    &[0, 1, 2, 3],
    &[5, 4, 3, 2, 1, 0],
    &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16],
    &[7, 0, 2, 1, 3, 20, 21, 22, 23, 24, 25],
    &[0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15],
    &[3, 30, 31, 0, 32, 1, 33, 2],
];

fn check_members(isa: Option<Isa>) {
    const STRUCTURES: usize = 130;
    let mut random = Random(9);
    let table: Vec<u32> = (0..2 * STRUCTURE * STRUCTURES).map(|_| random.next()).collect();
    let bytes: Vec<u8> = table.iter().flat_map(|word| word.to_le_bytes()).collect();
    for (ty, size) in [("uchar", 1), ("ushort", 2), ("uint", 4), ("ulong", 8)] {
        let value = |at: usize| {
            let mut value = [0; 8];
            value[..size].copy_from_slice(&bytes[at * size..][..size]);
            u64::from_le_bytes(value) as u32
        };
        for elements in ELEMENTS {
            for (width, subgroups) in SUBGROUPS {
                let items = (2 * width * subgroups) as usize;
                let index: Vec<u32> = (0..items).map(|_| random.next() % STRUCTURES as u32).collect();
                let mut loads = String::new();
                let mut sum = "%u0".to_owned();
                for (at, element) in elements.iter().enumerate() {
                    let convert = if size == 4 { "OpCopyObject" } else { "OpUConvert" };
                    loads += &format!(
                        "%e{at} = OpIAdd %ulong %start %element{element}
                         %p{at} = OpInBoundsPtrAccessChain %pg_{ty} %table %e{at}\n%r{at} = OpLoad %{ty} %p{at}
                         %v{at} = {convert} %uint %r{at}
                         %scaled{at} = OpIMul %uint {sum} %u31\n%sum{at} = OpIAdd %uint %scaled{at} %v{at}\n"
                    );
                    sum = format!("%sum{at}");
                }
                let constants: String =
                    (0..STRUCTURE).map(|at| format!("%element{at} = OpConstant %ulong {at}\n")).collect();
                let constants =
                    format!("{constants}%structure = OpConstant %ulong {STRUCTURE}\n%fn = OpTypeFunction");
                for (by_index, masked) in [(false, false), (false, true), (true, false), (true, true)] {
                    let which = if by_index { "%own_wide" } else { "%gx" };
                    let inside = format!("{loads}OpStore %mine {sum}\n");
                    let inside = match masked {
                        false => inside,
                        true => format!(
                            "OpBranchConditional %some %inside %behind\n%inside = OpLabel\n{inside}OpBranch %behind\n\
                             %behind = OpLabel\n"
                        ),
                    };
                    let body = format!(
                        "%table = OpBitcast %pg_{ty} %in\n%mine = OpInBoundsPtrAccessChain %pg_uint %out %gx
                         %own_at = OpInBoundsPtrAccessChain %pg_uint %index %gx\n%own = OpLoad %uint %own_at
                         %own_wide = OpUConvert %ulong %own\n%start = OpIMul %ulong {which} %structure
                         %gx32 = OpUConvert %uint %gx\n%third = OpUMod %uint %gx32 %u3
                         %some = OpIEqual %bool %third %u1\n{inside}"
                    );
                    let text = kernel((width > 1).then_some(width), "", &body)
                        .replace("%fn = OpTypeFunction", &constants);
                    let found = run_on(isa, &text, width * subgroups, &table, &index, 1);
                    for (item, found) in found.into_iter().enumerate() {
                        let structure = if by_index { index[item] as usize } else { item };
                        let hash = elements.iter().fold(0u32, |sum, element| {
                            sum.wrapping_mul(31).wrapping_add(value(structure * STRUCTURE + element))
                        });
                        let expected = if masked && item % 3 != 1 { 0 } else { hash };
                        assert_eq!(
                            found, expected,
                            "{ty}, {elements:?}, by index {by_index}, masked {masked}, work-item {item}, sub-groups of {width}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn members_of_structures_that_lie_apart_are_loaded_in_pieces() {
    check_members(None);
}

#[test]
fn members_of_structures_that_lie_apart_are_loaded_in_pieces_by_avx2() {
    check_members(Some(Isa::Avx2));
}
