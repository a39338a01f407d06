//! Objects of a few elements, one a lane, by indices from memory (`lower::apart`): loaded and stored, by all lanes and by some.

use super::{Random, SUBGROUPS, kernel, run_on};
use crate::jit::target::Isa;

/// Types, and the words of an object.
const TYPES: [(&str, usize); 7] =
    [("uint2", 2), ("uint4", 4), ("float2", 2), ("float4", 4), ("half4", 2), ("ulong2", 4), ("ulong4", 8)];

/// Objects that are read.
const TABLE: usize = 300;

fn check(isa: Option<Isa>) {
    let mut random = Random(5);
    let table: Vec<u32> = (0..8 * TABLE).map(|_| random.next()).collect();
    for (ty, words) in TYPES {
        for (width, subgroups) in SUBGROUPS {
            let items = (2 * width * subgroups) as usize;
            // Where each is read, with repetitions, and where it is stored, without.
            let from: Vec<u32> = (0..items).map(|_| random.next() % TABLE as u32).collect();
            let mut to: Vec<u32> = (0..items as u32).collect();
            for at in (1..items).rev() {
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
            let whole = format!(
                "{}OpStore %result %all\n",
                &body[..body.find("OpBranchConditional").expect("it has one")]
            );
            for (text, all) in [(whole, true), (body, false)] {
                let text = kernel((width > 1).then_some(width), "", &text);
                let found = run_on(isa, &text, width * subgroups, &table, &index, words);
                for item in 0..items {
                    let result = &found[to[item] as usize * words..][..words];
                    let object = &table[from[item] as usize * words..][..words];
                    let expected = if all || item % 3 < 2 { object } else { &[0; 8][..words] };
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
