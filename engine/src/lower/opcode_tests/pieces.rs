//! Loads by indices of 32 bits that are no row, within one aligned piece of as many elements as there are lanes and beyond it, and by
//! sums of what all lanes share and rows that end somewhere (`lower::speculation`).

use super::{Random, Results, SUBGROUPS, run_on};
use crate::jit::target::Isa;

/// How an index is made of the work-item's number and a number that all share, and what it is.
type Index = (&'static str, fn(u32, u32) -> u32);

const INDICES: [Index; 12] = [
    ("%i = OpBitwiseXor %uint %gx32 %same", |x, same| x ^ same),
    ("%x = OpBitwiseXor %uint %gx32 %same\n%i = OpIAdd %uint %x %u16", |x, same| (x ^ same) + 16),
    ("%x = OpBitwiseXor %uint %same %gx32\n%i = OpIAdd %uint %x %u3", |x, same| (x ^ same) + 3),
    // Without an exclusive or it may be a row of any place.
    ("%i = OpUMod %uint %gx32 %u5", |x, _| x % 5),
    ("%i = OpShiftRightLogical %uint %gx32 %same", |x, same| if same < 32 { x >> same } else { 0 }),
    ("%x = OpBitwiseAnd %uint %gx32 %u7\n%i = OpISub %uint %u15 %x", |x, _| 15 - (x & 7)),
    ("%x = OpUDiv %uint %gx32 %u3\n%i = OpIAdd %uint %x %same", |x, same| x / 3 + same),
    ("%x = OpUMod %uint %gx32 %u9\n%i = OpIMul %uint %x %u5", |x, _| x % 9 * 5),
    ("%x = OpBitwiseXor %uint %gx32 %u1\n%i = OpBitwiseXor %uint %x %same", |x, same| x ^ 1 ^ same),
    ("%i = OpIAdd %uint %mod31 %same", |x, same| x % 31 + same),
    ("%i = OpISub %uint %above %same", |x, same| x % 31 + 31 - same),
    // Each part is beyond the middle of the range, their sum is small again.
    ("%x = OpIAdd %uint %same %middle\n%i = OpIAdd %uint %beyond %x", |x, same| x % 31 + same),
];

/// Numbers that all work-items share.
const SAME: [u32; 6] = [1, 0, 3, 8, 16, 21];

/// Elements of the table, enough for each index of two groups of the largest sub-groups.
const TABLE: usize = 1024;

fn check(isa: Option<Isa>) {
    let mut random = Random(17);
    let table: Vec<u32> = (0..2 * TABLE).map(|_| random.next()).collect();
    for (made, compute) in INDICES {
        let mut results = Results::default();
        for (at, _) in SAME.iter().enumerate() {
            let own = |text: &str| {
                let named =
                    |text: String, name: &str| text.replace(&format!("%{name} "), &format!("%{name}_{at} "));
                named(named(format!("{text} "), "i"), "x").replace("%same", &format!("%same{at}"))
            };
            results.push(&format!(
                "%p{at} = OpInBoundsPtrAccessChain %pg_uint %in %same_at{at}\n%same{at} = OpLoad %uint %p{at}"
            ));
            let lines: Vec<String> = made.lines().map(own).collect();
            results.push(&lines.join("\n"));
            // A word, half of a long one, and a word for some lanes only.
            results.push(&format!(
                "%wide{at} = OpUConvert %ulong %i_{at}\n\
                 %q{at} = OpInBoundsPtrAccessChain %pg_uint %index %wide{at}\n%read{at} = OpLoad %uint %q{at}\n\
                 %r{at} = OpInBoundsPtrAccessChain %pg_ulong %longs %wide{at}\n%long{at} = OpLoad %ulong %r{at}\n\
                 %high{at} = OpShiftRightLogical %ulong %long{at} %ul32\n%top{at} = OpUConvert %uint %high{at}"
            ));
            results.keep(&format!("%read{at}"));
            results.keep(&format!("%top{at}"));
            results.push(&format!(
                "OpBranchConditional %some %inside{at} %behind{at}\n%inside{at} = OpLabel\n\
                 %s{at} = OpInBoundsPtrAccessChain %pg_uint %index %wide{at}\n%part{at} = OpLoad %uint %s{at}"
            ));
            results.keep(&format!("%part{at}"));
            results.push(&format!("OpBranch %behind{at}\n%behind{at} = OpLabel"));
        }
        let constants: String =
            (0..SAME.len()).map(|at| format!("%same_at{at} = OpConstant %ulong {at}\n")).collect();
        let constants = constants
            + "%middle = OpConstant %uint 2147483648\n%u9 = OpConstant %uint 9\n%u15 = OpConstant %uint 15\n";
        let before = "%gx32 = OpUConvert %uint %gx\n%longs = OpBitcast %pg_ulong %index\n\
                      %mod31 = OpUMod %uint %gx32 %u31\n%above = OpIAdd %uint %mod31 %u31\n\
                      %beyond = OpBitwiseOr %uint %mod31 %middle\n\
                      %third = OpUMod %uint %gx32 %u3\n%some = OpIEqual %bool %third %u1\n";
        for (width, subgroups) in SUBGROUPS {
            let text = results.text(width, before);
            let text = text.replace("%fn = OpTypeFunction", &format!("{constants}%fn = OpTypeFunction"));
            let input = [SAME.as_slice(), &[0; 256]].concat();
            let found = run_on(isa, &text, width * subgroups, &input, &table, results.words);
            for (item, found) in found.chunks(results.words).enumerate() {
                let item = item as u32;
                for (at, same) in SAME.into_iter().enumerate() {
                    let index = compute(item, same) as usize;
                    let part = if item % 3 == 1 { table[index] } else { 0 };
                    let expected = [table[index], table[2 * index + 1], part];
                    assert_eq!(
                        found[3 * at..][..3],
                        expected,
                        "{made}, same {same}, work-item {item}, sub-groups of {width}"
                    );
                }
            }
        }
    }
}

#[test]
fn loads_within_a_piece_are_permuted() {
    check(None);
}

#[test]
fn loads_within_a_piece_are_permuted_by_avx2() {
    check(Some(Isa::Avx2));
}
