//! Loads from small tables (`lower::tables`): elements of every kind, tables that end where memory does, and such as are smaller than what
//! their indices could reach.

use super::guarded::Guarded;
use super::{Random, SUBGROUPS, kernel, run_on};
use crate::jit::target::Isa;

/// Elements and their bytes.
const TYPES: [(&str, usize); 14] = [
    ("uchar", 1),
    ("ushort", 2),
    ("half", 2),
    ("uint", 4),
    ("float", 4),
    ("uchar4", 4),
    ("ulong", 8),
    ("double", 8),
    ("uint2", 8),
    ("half4", 8),
    ("two", 8),
    ("uint4", 16),
    ("float4", 16),
    ("ulong2", 16),
];

/// Elements of tables.
const COUNTS: [usize; 7] = [1, 3, 16, 17, 64, 100, 256];

/// How an index below a number is made of one below 2^32.
#[derive(Clone, Copy, Debug)]
enum Index {
    Remainder,
    Mask,
    Shift,
    /// By more than the table has: the number itself has none that is beyond.
    MaskOfByte,
    /// The same, and it is at the beginning of a larger one.
    MaskOfFew,
}

fn check_one(isa: Option<Isa>, ty: &str, size: usize, count: usize, index: Index, is_masked: bool) {
    let words = size.div_ceil(4);
    let table_words = (count * size).div_ceil(4);
    let mut random = Random(count as u64 + 99);
    for (width, subgroups) in SUBGROUPS {
        let items = (2 * width * subgroups) as usize;
        let all = items.max(table_words);
        let mut memory = Guarded::new(all);
        let input = memory.words(all);
        input.iter_mut().for_each(|word| *word = random.next());
        let table: Vec<u8> = input[all - table_words..].iter().flat_map(|word| word.to_le_bytes()).collect();
        let numbers: Vec<u32> = (0..items)
            .map(|_| match index {
                Index::MaskOfByte => random.next() % count as u32,
                Index::MaskOfFew => random.next() % (count as u32 / 32 + 1),
                _ => random.next(),
            })
            .collect();
        let bits = count.next_power_of_two().trailing_zeros();
        let (made, by) = match index {
            Index::Remainder => ("OpUMod", count as u32),
            Index::Mask => ("OpBitwiseAnd", count as u32 - 1),
            Index::Shift => ("OpShiftRightLogical", 32 - bits),
            Index::MaskOfByte | Index::MaskOfFew => ("OpBitwiseAnd", 255),
        };
        let at = |number: u32| match index {
            Index::Remainder => number % by,
            Index::Mask | Index::MaskOfByte | Index::MaskOfFew => number & by,
            Index::Shift => number >> by,
        };
        // Lanes that are off have indices that lead anywhere.
        let (condition, is_on): (&str, fn(u32) -> bool) =
            if is_masked { ("%odd", |number| number & 1 == 1) } else { ("%always", |_| true) };
        let body = format!(
            "%bytes = OpBitcast %pg_uchar %in
             %begin = OpInBoundsPtrAccessChain %pg_uchar %bytes %front
             %table = OpBitcast %pg_{ty} %begin
             %number_at = OpInBoundsPtrAccessChain %pg_uint %index %gx
             %number = OpLoad %uint %number_at
             %bit = OpBitwiseAnd %uint %number %u1
             %odd = OpINotEqual %bool %bit %u0
             %always = OpUGreaterThanEqual %bool %number %u0
             %first = OpIMul %ulong %gx %words
             %mine = OpInBoundsPtrAccessChain %pg_uint %out %first
             %to = OpBitcast %pg_{ty} %mine
             OpBranchConditional {condition} %inside %end
             %inside = OpLabel
             %at = {made} %uint %number %by
             %at64 = OpUConvert %ulong %at
             %p = OpInBoundsPtrAccessChain %pg_{ty} %table %at64
             %v = OpLoad %{ty} %p {align}
             OpStore %to %v {align}
             OpBranch %end
             %end = OpLabel\n",
            align = if size > 4 { "Aligned 4" } else { "" },
        );
        let front = 4 * (all - table_words);
        let constants = format!(
            "%by = OpConstant %uint {by}\n%words = OpConstant %ulong {words}\n%front = OpConstant %ulong {front}\n"
        );
        let text = kernel((width > 1).then_some(width), "", &body)
            .replace("%fn = OpTypeFunction", &format!("{constants}%fn = OpTypeFunction"));
        let found = run_on(isa, &text, width * subgroups, memory.words(all), &numbers, words);
        for (item, number) in numbers.iter().enumerate() {
            let mut expected = vec![0u8; 4 * words];
            if is_on(*number) {
                let from = at(*number) as usize * size;
                expected[..size].copy_from_slice(&table[from..from + size]);
            }
            let found: Vec<u8> =
                found[item * words..][..words].iter().flat_map(|word| word.to_le_bytes()).collect();
            assert_eq!(found, expected, "{ty}, {count} of them, {index:?}, work-item {item} of {width}");
        }
    }
}

fn check(isa: Option<Isa>) {
    for (nth, (ty, size)) in TYPES.into_iter().enumerate() {
        for (other, count) in COUNTS.into_iter().enumerate() {
            let index = match (count.is_power_of_two(), (nth + other) % 2) {
                (false, 0) => Index::Remainder,
                (false, _) => Index::MaskOfByte,
                (true, 0) => Index::Mask,
                (true, _) => Index::Shift,
            };
            // A shift by 32 bits is undefined.
            let index = if count == 1 { Index::Remainder } else { index };
            check_one(isa, ty, size, count, index, (nth + other) % 3 == 0);
        }
        check_one(isa, ty, size, 256, Index::MaskOfFew, nth % 2 == 0);
    }
}

#[test]
fn elements_of_small_tables() {
    check(None);
}

#[test]
fn elements_of_small_tables_by_avx2() {
    check(Some(Isa::Avx2));
}
