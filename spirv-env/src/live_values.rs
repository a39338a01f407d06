//! How many bytes of values a work-item holds at once: what does not fit into registers is spilled.
//!
//! The live intervals of linear-scan register allocation (Poletto and Sarkar, TOPLAS 1999): a value is taken to live from where it is
//! made to its last use in the order of the blocks, and to the end of each loop that it is used in and was made before. That is
//! a bound and no more: what a compiler moves, computes again or keeps once for all lanes is not known here.

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::Op;

use crate::module::{Function, Id, Kernel, Module, TypeId};
use crate::prune::{callees, successors};

/// The most bytes that a work-item of the kernel holds at once, in the kernel or in a function that it calls.
pub fn most_live_bytes(module: &Module, kernel: &Kernel) -> u64 {
    let (mut work, mut seen, mut most) = (vec![kernel.function], FxHashSet::default(), 0);
    work.extend(&kernel.indirect);
    while let Some(function) = work.pop() {
        if let (true, Some(function)) = (seen.insert(function), module.functions.find(function)) {
            most = most.max(of_function(module, function));
            work.extend(callees(function));
        }
    }
    most
}

/// First and last place of a value.
struct Interval {
    made: usize,
    used: usize,
    bytes: u64,
}

fn of_function(module: &Module, function: &Function) -> u64 {
    // Where each block begins, and the place behind the last.
    let mut begins = vec![1];
    begins.extend(function.blocks.iter().scan(1, |at, block| {
        *at += block.insts.len();
        Some(*at)
    }));
    let blocks: FxHashMap<Id, usize> =
        function.blocks.iter().enumerate().map(|(at, block)| (block.label, at)).collect();
    let end_of = |block: usize| begins[block + 1] - 1;

    let bytes = |ty: TypeId| module.types.layout(ty).size;
    let mut intervals: FxHashMap<Id, Interval> = FxHashMap::default();
    let mut make = |id, made, ty| intervals.insert(id, Interval { made, used: made, bytes: bytes(ty) });
    for &(id, ty) in &function.params {
        make(id, 0, ty);
    }
    for (block, begin) in function.blocks.iter().zip(&begins) {
        for (at, inst) in block.insts.iter().enumerate() {
            // A variable is memory and no value.
            if let (Some(id), Some(ty), true) = (inst.result, inst.ty, inst.op != Op::Variable) {
                make(id, begin + at, ty);
            }
        }
    }
    let mut uses = |id, at| {
        if let Some(interval) = intervals.get_mut(&id) {
            interval.used = interval.used.max(at);
        }
    };
    for (block, begin) in function.blocks.iter().zip(&begins) {
        for (at, inst) in block.insts.iter().enumerate() {
            if inst.op == Op::Phi {
                // A phi reads at the end of the block that its value comes from.
                let pairs: Vec<Id> = inst.ids().collect();
                for &[value, from] in pairs.as_chunks::<2>().0 {
                    uses(value, blocks.get(&from).map_or(begin + at, |&from| end_of(from)));
                }
            } else {
                inst.ids().for_each(|id| uses(id, begin + at));
            }
        }
    }

    // Inner loops first, so that what they lengthen is seen by those around them.
    let mut loops: Vec<(usize, usize)> = Vec::new();
    for (at, block) in function.blocks.iter().enumerate() {
        let back = successors(block).into_iter().filter_map(|to| blocks.get(&to)).filter(|&&to| to <= at);
        loops.extend(back.map(|&to| (begins[to], end_of(at))));
    }
    loops.sort_unstable_by_key(|&(begin, end)| (end - begin, begin));
    loops.dedup();
    let mut changes = vec![(0u64, 0u64); begins[function.blocks.len()] + 1];
    for interval in intervals.into_values() {
        let used = loops.iter().fold(interval.used, |used, &(begin, end)| {
            if interval.made < begin && (begin..=end).contains(&used) { end } else { used }
        });
        changes[interval.made].0 += interval.bytes;
        changes[used].1 += interval.bytes;
    }
    let live = changes.iter().scan(0u64, |live, (made, gone)| {
        let here = *live + made;
        *live = here - gone;
        Some(here)
    });
    live.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{build_text, kernel};

    fn of(body: &str) -> u64 {
        let pointer = "%pf = OpTypePointer Function %uint";
        let module = build_text(&kernel(pointer, body)).unwrap();
        most_live_bytes(&module, &module.kernels[0])
    }

    #[test]
    fn values_live_from_where_they_are_made_to_their_last_use() {
        let in_turn = "%a = OpIAdd %uint %u1 %u2\n%b = OpIAdd %uint %a %u1\n%c = OpIAdd %uint %b %u1";
        assert_eq!(of(in_turn), 8);
        let at_once = "%a = OpIAdd %uint %u1 %u2\n%b = OpIAdd %ulong %ul1 %ul1\n%c = OpIAdd %ulong %b %ul1\n\
            %d = OpIAdd %uint %a %u1";
        assert_eq!(of(at_once), 20, "%a is behind %b and %c");
        assert_eq!(of(""), 0);
    }

    #[test]
    fn variables_are_memory() {
        assert_eq!(of("%x = OpVariable %pf Function\nOpStore %x %u1\n%y = OpLoad %uint %x"), 4);
    }

    #[test]
    fn what_a_loop_uses_lives_through_all_of_it() {
        let with_use = |used: &str| {
            format!(
                "%a = OpIAdd %ulong %ul1 %ul1\nOpBranch %head\n%head = OpLabel\n\
                 %i = OpPhi %uint %u0 %entry %next %head\n%b = OpIAdd %ulong {used} %ul1\n%next = OpIAdd %uint %i %u1\n\
                 %end = OpIEqual %bool %next %u5\nOpBranchConditional %end %exit %head\n%exit = OpLabel"
            )
        };
        // %a is needed again in the next turn, so it is there beside %next and %end.
        assert_eq!(of(&with_use("%a")), of(&with_use("%ul1")) + 8);
    }
}
