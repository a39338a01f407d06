//! Lanes that are moved by indices which no compiler knows, on every instruction set and for every width of a lane.

use super::{Random, kernel, run_on};
use crate::jit::target::{Isa, Target};

/// Types of a lane: the name, and how many of the low bits of a `ulong` it has.
const TYPES: [(&str, u32); 4] = [("uchar", 8), ("ushort", 16), ("uint", 32), ("ulong", 64)];

/// Sub-group sizes that kernels may ask for.
const WIDTHS: [u32; 3] = [8, 16, 32];

fn instruction_sets() -> impl Iterator<Item = Isa> {
    let host = Target::host().expect("a target machine").simd_bits();
    [(Isa::Sse, 128), (Isa::Avx2, 256), (Isa::Avx512, 512)]
        .into_iter()
        .filter(move |(_, bits)| *bits <= host)
        .map(|(isa, _)| isa)
}

/// What a work-item brings: a number that tells it from others in each byte.
fn value(item: u32) -> u64 {
    u64::from(item + 1).wrapping_mul(0x0102_0408_1020_4081) ^ 0x9000_0000_0000_0000
}

#[test]
fn lanes_take_the_values_of_those_that_their_indices_name() {
    let mut random = Random(77);
    for isa in instruction_sets() {
        for width in WIDTHS {
            let items = 2 * 2 * width;
            // From one sub-group of the pair, and the other: see `SPV_INTEL_subgroups`.
            let indices: Vec<u32> = (0..items).map(|_| random.next() % width).collect();
            let deltas: Vec<u32> = (0..items).map(|_| random.next() % (width + 1)).collect();
            for (ty, bits) in TYPES {
                let one = check(isa, width, ty, "%r = OpSubgroupShuffleINTEL %TYPE %own %i", &indices);
                let two =
                    check(isa, width, ty, "%r = OpSubgroupShuffleDownINTEL %TYPE %own %other %i", &deltas);
                let cut = |value: u64| if bits == 64 { value } else { value & ((1 << bits) - 1) };
                for item in 0..items {
                    let (first, lane) = (item / width * width, item % width);
                    let (index, delta) = (indices[item as usize], deltas[item as usize]);
                    let what = format!("{ty} of work-item {item}, {width} lanes, {isa:?}");
                    assert_eq!(one[item as usize], cut(value(first + index)), "{what}");
                    let from = lane + delta;
                    let shifted =
                        if from < width { value(first + from) } else { !value(first + from - width) };
                    assert_eq!(two[item as usize], cut(shifted), "{what}, down by {delta}");
                }
            }
        }
    }
}

/// A lane's value for each round of a loop that does not make the values: with as many rounds as the first work-item's index says, which no
/// compiler knows.
#[test]
fn all_lanes_take_the_value_of_the_one_that_a_counter_names() {
    let mut random = Random(78);
    for isa in instruction_sets() {
        for width in WIDTHS {
            let rounds = 3 * width + random.next() % width;
            let rest = (1..4 * width).map(|_| random.next());
            let indices: Vec<u32> = [rounds].into_iter().chain(rest).collect();
            for (ty, bits) in TYPES {
                let of_type = |number: u64| match bits {
                    32 => format!("%u{number}"),
                    64 => format!("%ul{number}"),
                    _ => format!("%few{number}"),
                };
                // `%few` numbers are converted ones.
                let converted = |number: u64| match bits {
                    32 | 64 => String::new(),
                    _ => format!("%few{number} = OpUConvert %TYPE %u{number}\n"),
                };
                let inst = format!(
                    "{}%rounds = OpLoad %uint %index\nOpBranch %head\n%head = OpLabel\n\
                     %n = OpPhi %uint %u0 %entry %next %head\n%sum = OpPhi %TYPE %own %entry %more %head\n\
                     %modulo = OpUMod %uint %n %width\n\
                     %from = OpSubgroupShuffleINTEL %TYPE %other %modulo\n\
                     %scaled = OpIMul %TYPE %sum {}\n%more = OpIAdd %TYPE %scaled %from\n\
                     %next = OpIAdd %uint %n %u1\n%goes_on = OpULessThan %bool %next %rounds\n\
                     OpBranchConditional %goes_on %head %behind\n%behind = OpLabel\n\
                     %r = OpCopyObject %TYPE %more",
                    converted(31),
                    of_type(31),
                );
                let inst = inst.replace("%width", &format!("%u{width}"));
                let found = check(isa, width, ty, &inst, &indices);
                let cut = |value: u64| if bits == 64 { value } else { value & ((1 << bits) - 1) };
                for (item, found) in (0..).zip(found) {
                    let other = |lane: u32| !value(item / width * width + lane);
                    let add = |sum: u64, n: u32| sum.wrapping_mul(31).wrapping_add(other(n % width));
                    let expected = cut((0..rounds).fold(value(item), add));
                    assert_eq!(found, expected, "{ty} of work-item {item}, {width} lanes, {isa:?}");
                }
            }
        }
    }
}

/// Indices that a compiler knows.
#[test]
fn lanes_take_the_values_of_those_that_constants_name() {
    for width in WIDTHS {
        let unused = vec![0; 4 * width as usize];
        let lane_of = |inst: &str, of: &dyn Fn(u32) -> u32| {
            let found = check(Isa::Sse, width, "uint", inst, &unused);
            for (item, found) in found.into_iter().enumerate() {
                let (first, lane) = (item as u32 / width * width, item as u32 % width);
                assert_eq!(
                    found,
                    value(first + of(lane)) & 0xffff_ffff,
                    "{inst}, work-item {item}, {width} lanes"
                );
            }
        };
        for (name, number) in [("%u0", 0), ("%u1", 1), ("%u2", 2), ("%u3", 3), ("%u5", 5), ("%u7", 7)] {
            lane_of(&format!("%r = OpSubgroupShuffleINTEL %TYPE %own {name}"), &|_| number);
            lane_of(&format!("%r = OpSubgroupShuffleXorINTEL %TYPE %own {name}"), &|lane| lane ^ number);
            let down = format!("%r = OpSubgroupShuffleDownINTEL %TYPE %own %own {name}");
            lane_of(&down, &|lane| (lane + number) % width);
            let up = format!("%r = OpSubgroupShuffleUpINTEL %TYPE %own %own {name}");
            lane_of(&up, &|lane| (lane + width - number) % width);
        }
    }
}

/// The results of all work-items: `%own` is [`value`], `%other` its complement, `%i` the index.
fn check(isa: Isa, width: u32, ty: &str, inst: &str, indices: &[u32]) -> Vec<u64> {
    let convert = |to: &str, from: &str| match ty {
        "ulong" => format!("OpCopyObject %{to} {from}"),
        _ => format!("OpUConvert %{to} {from}"),
    };
    let body = format!(
        "%pi = OpInBoundsPtrAccessChain %pg_uint %index %gx\n%i = OpLoad %uint %pi\n\
         %in8 = OpBitcast %pg_ulong %in\n%pv = OpInBoundsPtrAccessChain %pg_ulong %in8 %gx\n\
         %whole = OpLoad %ulong %pv Aligned 4\n%turned = OpNot %ulong %whole\n\
         %own = {}\n%other = {}\n{}\n%wide = {}\n\
         %out8 = OpBitcast %pg_ulong %out\n%po = OpInBoundsPtrAccessChain %pg_ulong %out8 %gx\n\
         OpStore %po %wide Aligned 4\n",
        convert(ty, "%whole"),
        convert(ty, "%turned"),
        inst.replace("TYPE", ty),
        convert("ulong", "%r"),
    );
    let values: Vec<u32> =
        (0..indices.len() as u32).flat_map(|item| [value(item) as u32, (value(item) >> 32) as u32]).collect();
    let words = run_on(Some(isa), &kernel(Some(width), "", &body), 2 * width, &values, indices, 2);
    words.chunks_exact(2).map(|pair| u64::from(pair[0]) | u64::from(pair[1]) << 32).collect()
}
