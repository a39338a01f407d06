//! Loads that are the same in each iteration of a loop (`lower::invariant_loads`), which lanes come to in different iterations, or never.

use super::guarded::Guarded;
use super::{SUBGROUPS, kernel, run_on};
use crate::jit::target::Isa;

const TYPES: [(&str, usize); 4] = [("uchar", 1), ("ushort", 2), ("uint", 4), ("ulong", 8)];
const ROUNDS: u32 = 3;
/// Of a work-item that has no element: it must not load.
const NOWHERE: u32 = 0x4000_0000;

/// A work-item's element, the iteration from which on it is wanted, and the number of iterations.
#[derive(Clone, Copy)]
struct Item {
    element: u32,
    from: u32,
    length: u32,
}

fn item(at: usize, elements: usize) -> Item {
    let hash = (at as u32).wrapping_mul(0x9E37_79B9) >> 8;
    let length = 1 + hash % 9;
    match hash % 5 {
        // None of its iterations is that late.
        0 => Item { element: NOWHERE, from: length, length },
        _ => Item { element: hash % (elements as u32 - ROUNDS + 1), from: hash / 5 % length, length },
    }
}

/// In each round of an outer loop, work-items take another element, which an inner loop adds to a sum in all iterations from one of its
/// own on. A work-item may also change what it sums up meanwhile: then it has to load again.
fn check(isa: Option<Isa>, stores: bool) {
    for (ty, size) in TYPES {
        for (width, subgroups) in SUBGROUPS {
            let items = (2 * width * subgroups) as usize;
            let count = 2 * items.max(8);
            let mut memory = Guarded::new(count);
            let table = memory.words(count);
            for (at, word) in table.iter_mut().enumerate() {
                *word = (at as u32).wrapping_mul(0x85EB_CA6B) ^ 0x1234_5A5A;
            }
            let mut bytes: Vec<u8> = table.iter().flat_map(|word| word.to_le_bytes()).collect();
            let elements = count * 4 / size;
            // What is stored is of one work-item alone.
            let item = |at: usize| match stores {
                true => Item { element: at as u32, ..item(at, elements) },
                false => item(at, elements),
            };
            let packed: Vec<u32> = (0..items)
                .flat_map(|at| {
                    let Item { element, from, length } = item(at);
                    [element, from << 16 | length]
                })
                .collect();
            let (widen, narrow) = match ty {
                "uint" => ("OpCopyObject %uint", "OpCopyObject %uint".to_owned()),
                _ => ("OpUConvert %uint", format!("OpUConvert %{ty}")),
            };
            let store = match stores {
                true => format!("%changed = {narrow} %more\nOpStore %p %changed\n"),
                false => String::new(),
            };
            let rounds = if stores { 1 } else { ROUNDS };
            let body = format!(
                "%table = OpBitcast %pg_{ty} %in
                 %first_at = OpIMul %ulong %gx %ul2
                 %element_at = OpInBoundsPtrAccessChain %pg_uint %index %first_at
                 %element = OpLoad %uint %element_at
                 %second_at = OpIAdd %ulong %first_at %ul1
                 %packed_at = OpInBoundsPtrAccessChain %pg_uint %index %second_at
                 %packed = OpLoad %uint %packed_at
                 %from = OpShiftRightLogical %uint %packed %u16
                 %length = OpUConvert %ushort %packed
                 %number = OpUConvert %uint %length
                 %mine = OpInBoundsPtrAccessChain %pg_uint %out %gx
                 OpBranch %before
                 %before = OpLabel
                 %round = OpPhi %uint %u0 %entry %next_round %behind
                 %total = OpPhi %uint %u0 %entry %added %behind
                 %own = OpIAdd %uint %element %round
                 %at = OpUConvert %ulong %own
                 OpBranch %head
                 %head = OpLabel
                 %i = OpPhi %uint %u0 %before %next %latch
                 %sum = OpPhi %uint %total %before %added %latch
                 %is_late = OpUGreaterThanEqual %bool %i %from
                 OpBranchConditional %is_late %late %latch
                 %late = OpLabel
                 %p = OpInBoundsPtrAccessChain %pg_{ty} %table %at
                 %read = OpLoad %{ty} %p
                 %v = {widen} %read
                 %scaled = OpIMul %uint %sum %u31
                 %more = OpIAdd %uint %scaled %v
                 {store}OpBranch %latch
                 %latch = OpLabel
                 %added = OpPhi %uint %sum %head %more %late
                 %next = OpIAdd %uint %i %u1
                 %goes_on = OpULessThan %bool %next %number
                 OpBranchConditional %goes_on %head %behind
                 %behind = OpLabel
                 %next_round = OpIAdd %uint %round %u1
                 %again = OpULessThan %bool %next_round %u{rounds}
                 OpBranchConditional %again %before %end
                 %end = OpLabel
                 OpStore %mine %added\n"
            );
            let text = kernel((width > 1).then_some(width), "", &body);
            let found = run_on(isa, &text, width * subgroups, memory.words(count), &packed, 1);
            for (at, found) in found.into_iter().enumerate() {
                let Item { element, from, length } = item(at);
                let mut sum = 0u32;
                for (round, i) in (0..rounds).flat_map(|round| (0..length).map(move |i| (round, i))) {
                    if i >= from {
                        let place = (element + round) as usize * size;
                        let mut value = [0; 8];
                        value[..size].copy_from_slice(&bytes[place..][..size]);
                        sum = sum.wrapping_mul(31).wrapping_add(u64::from_le_bytes(value) as u32);
                        if stores {
                            let changed = u64::from(sum).to_le_bytes();
                            bytes[place..][..size].copy_from_slice(&changed[..size]);
                        }
                    }
                }
                assert_eq!(found, sum, "{ty}, work-item {at}, sub-groups of {width}, stores: {stores}");
            }
        }
    }
}

#[test]
fn elements_that_stay_are_loaded_once() {
    check(None, false);
}

#[test]
fn elements_that_stay_are_loaded_once_by_avx2() {
    check(Some(Isa::Avx2), false);
}

#[test]
fn elements_that_a_loop_changes_are_loaded_again() {
    check(None, true);
}
