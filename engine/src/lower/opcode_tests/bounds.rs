//! Comparisons of numbers that grow from lane to lane with a bound (`lower::bounds`), near the bound, far from it and where numbers
//! wrap around.

use super::{Results, SUBGROUPS, run};

/// What is compared: its instructions, and what they compute.
type Row = (&'static str, fn(u64) -> u64);

const ROWS: [Row; 6] = [
    ("%row = OpIAdd %ulong %gx %ul5", |x| x + 5),
    ("%row = OpIMul %ulong %gx %ul7", |x| x * 7),
    // More than 32 bits.
    ("%row = OpIAdd %ulong %gx %far", |x| x + (1 << 32)),
    // Of these, no upper bound is known.
    ("%row = OpISub %ulong %ul16 %gx", |x| 16u64.wrapping_sub(x)),
    ("%row = OpIAdd %ulong %gx %near_wrap", |x| x.wrapping_sub(9)),
    ("%row = OpIAdd %ulong %gx %near_minimum", |x| x.wrapping_add(i64::MAX as u64 - 11)),
];

type Comparison = (&'static str, fn(u64, u64) -> bool);

const COMPARISONS: [Comparison; 10] = [
    ("OpIEqual", |a, b| a == b),
    ("OpINotEqual", |a, b| a != b),
    ("OpULessThan", |a, b| a < b),
    ("OpULessThanEqual", |a, b| a <= b),
    ("OpUGreaterThan", |a, b| a > b),
    ("OpUGreaterThanEqual", |a, b| a >= b),
    ("OpSLessThan", |a, b| (a as i64) < b as i64),
    ("OpSLessThanEqual", |a, b| a as i64 <= b as i64),
    ("OpSGreaterThan", |a, b| a as i64 > b as i64),
    ("OpSGreaterThanEqual", |a, b| a as i64 >= b as i64),
];

const BOUNDS: [u64; 18] = [
    0,
    1,
    4,
    6,
    14,
    20,
    21,
    36,
    140,
    0x7FFF_FFFF,
    0x8000_0003,
    0x1_0000_0010,
    i64::MAX as u64 - 3,
    i64::MAX as u64,
    i64::MIN as u64,
    i64::MIN as u64 + 5,
    u64::MAX - 3,
    u64::MAX,
];

#[test]
fn rows_are_compared_with_bounds() {
    let words = BOUNDS.iter().flat_map(|bound| [*bound as u32, (*bound >> 32) as u32]).collect::<Vec<_>>();
    for (row, compute) in ROWS {
        let mut results = Results::default();
        for at in 0..BOUNDS.len() {
            results.push(&format!(
                "%at{at} = OpInBoundsPtrAccessChain %pg_ulong %bounds %bound_at{at}\n%bound{at} = OpLoad %ulong %at{at}"
            ));
            let mut bits = "%u0".to_owned();
            for (place, (comparison, _)) in COMPARISONS.iter().enumerate() {
                for (side, operands) in
                    [format!("%row %bound{at}"), format!("%bound{at} %row")].iter().enumerate()
                {
                    let name = format!("{at}_{place}_{side}");
                    results.push(&format!(
                        "%is{name} = {comparison} %bool {operands}\n%bit{name} = OpSelect %uint %is{name} %u1 %u0\n\
                         %up{name} = OpShiftLeftLogical %uint {bits} %u1\n%bits{name} = OpBitwiseOr %uint %up{name} %bit{name}"
                    ));
                    bits = format!("%bits{name}");
                }
            }
            results.keep(&bits);
        }
        let constants: String =
            (0..BOUNDS.len()).map(|at| format!("%bound_at{at} = OpConstant %ulong {at}\n")).collect();
        let constants = constants
            + &format!("%far = OpConstant %ulong {}\n", 1u64 << 32)
            + &format!("%near_wrap = OpConstant %ulong {}\n", 0u64.wrapping_sub(9))
            + &format!("%near_minimum = OpConstant %ulong {}\n", i64::MAX as u64 - 11);
        let before = format!("%bounds = OpBitcast %pg_ulong %index\n{row}\n");
        for (width, subgroups) in SUBGROUPS {
            let text = results
                .text(width, &before)
                .replace("%fn = OpTypeFunction", &format!("{constants}%fn = OpTypeFunction"));
            let items = 2 * width * subgroups;
            let found = run(
                &text,
                width * subgroups,
                &[0; 128],
                &[words.as_slice(), &[0; 128]].concat(),
                results.words,
            );
            for (item, found) in found.chunks(results.words).enumerate() {
                let value = compute(item as u64);
                let expected = BOUNDS.map(|bound| {
                    COMPARISONS.iter().fold(0, |bits, (_, compare)| {
                        bits << 2 | u32::from(compare(value, bound)) << 1 | u32::from(compare(bound, value))
                    })
                });
                assert_eq!(found, expected, "{row}, work-item {item} of {items}, sub-groups of {width}");
            }
        }
    }
}
