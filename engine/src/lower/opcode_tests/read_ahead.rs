//! Loops in which each lane goes through memory of its own (`lower::read_ahead`): rows whose last element is the last one that can be
//! read, of equal and of different lengths.

use super::guarded::Guarded;
use super::{SUBGROUPS, kernel, run_on};
use crate::jit::target::Isa;

/// Elements from row to row.
const ROW: usize = 83;

const TYPES: [(&str, usize); 4] = [("uchar", 1), ("ushort", 2), ("uint", 4), ("ulong", 8)];

/// How the index of an element is made of a row's first one and a counter of 32 bits, and whether a piece is read by it.
const INDICES: [&str; 5] = [
    "%i64 = OpUConvert %ulong %i\n%at = OpIAdd %ulong %start %i64",
    "%start32 = OpUConvert %uint %start\n%at32 = OpIAdd %uint %start32 %i\n%at = OpSConvert %ulong %at32",
    "%start32 = OpUConvert %uint %start\n%at32 = OpIAdd %uint %start32 %i\n%at = OpUConvert %ulong %at32",
    // Every other element, and backwards from one iteration to the next: nothing is ahead.
    "%twice = OpIMul %uint %i %u2\n%i64 = OpUConvert %ulong %twice\n%at = OpIAdd %ulong %start %i64",
    "%back = OpISub %uint %u31 %i\n%i64 = OpUConvert %ulong %back\n%at = OpIAdd %ulong %start %i64",
];

/// Which element an iteration reads.
fn element(index: usize, i: usize) -> usize {
    match index {
        3 => 2 * i,
        4 => 31 - i,
        _ => i,
    }
}

fn check(isa: Option<Isa>) {
    for (ty, size) in TYPES {
        for (width, subgroups) in SUBGROUPS {
            let items = (2 * width * subgroups) as usize;
            // The last row ends with its last element.
            let elements = (items * ROW).next_multiple_of(8);
            let count = elements * size / 4;
            let mut memory = Guarded::new(count);
            let table = memory.words(count);
            for (at, word) in table.iter_mut().enumerate() {
                *word = (at as u32).wrapping_mul(0x9E37_79B9) ^ 0x5A5A_1234;
            }
            let bytes: Vec<u8> = table.iter().flat_map(|word| word.to_le_bytes()).collect();
            let value = |at: usize| {
                let mut value = [0; 8];
                value[..size].copy_from_slice(&bytes[at * size..][..size]);
                u64::from_le_bytes(value) as u32
            };
            for (form, index) in INDICES.iter().enumerate() {
                // The same length for all, and one for each. Rows that are read to their ends are longer than a line of the caches.
                let whole = (form < 3).then_some([ROW; 2]);
                for lengths in [[7; 2], [1; 2], [16, 16], [18, 13], [3, 2]].into_iter().chain(whole) {
                    let length = |item: usize| 1 + (item * lengths[1] + lengths[0]) % (lengths[0] + 1).max(2);
                    let equal = lengths[0] == lengths[1];
                    let length = |item: usize| if equal { lengths[0] } else { length(item) };
                    let number: Vec<u32> = (0..items).map(|item| length(item) as u32).collect();
                    let of = if equal { "%ul0" } else { "%gx" };
                    let convert = match ty {
                        "uint" => "%v = OpCopyObject %uint %read".to_owned(),
                        _ => "%v = OpUConvert %uint %read".to_owned(),
                    };
                    let body = format!(
                        "%table = OpBitcast %pg_{ty} %in
                         %number_at = OpInBoundsPtrAccessChain %pg_uint %index {of}
                         %number = OpLoad %uint %number_at
                         %mine = OpInBoundsPtrAccessChain %pg_uint %out %gx
                         %start = OpIMul %ulong %gx %row
                         OpBranch %before
                         %before = OpLabel
                         %round = OpPhi %uint %u0 %entry %next_round %behind
                         %total = OpPhi %uint %u0 %entry %more %behind
                         OpBranch %head
                         %head = OpLabel
                         %i = OpPhi %uint %u0 %before %next %head
                         %sum = OpPhi %uint %total %before %more %head
                         {index}
                         %p = OpInBoundsPtrAccessChain %pg_{ty} %table %at
                         %read = OpLoad %{ty} %p
                         {convert}
                         %scaled = OpIMul %uint %sum %u31
                         %more = OpIAdd %uint %scaled %v
                         %next = OpIAdd %uint %i %u1
                         %goes_on = OpULessThan %bool %next %number
                         OpBranchConditional %goes_on %head %behind
                         %behind = OpLabel
                         %next_round = OpIAdd %uint %round %u1
                         %again = OpULessThan %bool %next_round %u2
                         OpBranchConditional %again %before %end
                         %end = OpLabel
                         OpStore %mine %more\n"
                    );
                    let text = kernel((width > 1).then_some(width), "", &body).replace(
                        "%fn = OpTypeFunction",
                        &format!("%row = OpConstant %ulong {ROW}\n%fn = OpTypeFunction"),
                    );
                    let found = run_on(isa, &text, width * subgroups, memory.words(count), &number, 1);
                    for (item, found) in found.into_iter().enumerate() {
                        let pieces = (0..2).flat_map(|_| 0..length(item));
                        let expected = pieces.fold(0u32, |sum, i| {
                            sum.wrapping_mul(31).wrapping_add(value(item * ROW + element(form, i)))
                        });
                        assert_eq!(
                            found, expected,
                            "{ty}, {index}, lengths {lengths:?}, work-item {item}, sub-groups of {width}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn pieces_of_rows_are_read_ahead() {
    check(None);
}

#[test]
fn pieces_of_rows_are_read_ahead_by_avx2() {
    check(Some(Isa::Avx2));
}

/// Words of a row that is written.
const WORDS: usize = 74;
/// The element that an iteration 0 reads.
const FIRST: usize = 8;

/// What is read, what is stored, and how many bytes behind what was read.
const STORES: [(&str, usize, &str, usize, isize); 14] = [
    ("uint", 4, "uint", 4, 0),
    ("uint", 4, "uint", 4, 4),
    ("uint", 4, "uint", 4, 8),
    ("uint", 4, "uint", 4, 12),
    ("uint", 4, "uint", 4, 16),
    ("uint", 4, "uint", 4, -4),
    ("uint", 4, "uchar", 1, 3),
    ("uint", 4, "uchar", 1, 7),
    ("uchar", 1, "uint", 4, 0),
    ("uchar", 1, "uint", 4, -4),
    ("uchar", 1, "uint", 4, 12),
    ("uchar", 1, "uchar", 1, 15),
    ("ulong", 8, "uint", 4, 4),
    ("ulong", 8, "uint", 4, 28),
];

/// A loop that stores into rows of which it reads ahead: as many bytes further on.
fn check_stores(isa: Option<Isa>) {
    for (ty, size, stored, stored_size, behind) in STORES {
        for (width, subgroups) in SUBGROUPS {
            // Pointers with a stride, and such as depend on data.
            for (of, index) in [("%ul0", "%gx"), ("%gx", "%gx"), ("%ul0", "%shuffled"), ("%gx", "%shuffled")]
            {
                let items = (2 * width * subgroups) as usize;
                let table: Vec<u32> = (0..(items * WORDS) as u32)
                    .map(|at| at.wrapping_mul(0x9E37_79B9) ^ 0x5A5A_1234)
                    .collect();
                let number: Vec<u32> = (0..items as u32).map(|item| 1 + (item * 5 + 12) % 17).collect();
                // A store is looked at if it goes on by what it is indexed by, so what is wider than its steps goes by bytes.
                let is_wider = stored_size > size;
                let (unit, unit_size) = if is_wider { ("uchar", 1) } else { (stored, stored_size) };
                let chain = format!("OpInBoundsPtrAccessChain %pg_{unit} %units %unit_at");
                let (chain, align) = match is_wider {
                    true => (format!("%unit = {chain}\n%q = OpBitcast %pg_{stored} %unit"), "Aligned 1"),
                    false => (format!("%q = {chain}"), ""),
                };
                let converted = |from: &str, to: &str, result: &str, id: &str| match from == to {
                    true => format!("{result} = OpCopyObject %{to} {id}"),
                    false => format!("{result} = OpUConvert %{to} {id}"),
                };
                let body = format!(
                    "%table = OpBitcast %pg_{ty} %out
                     %units = OpBitcast %pg_{unit} %out
                     %number_at = OpInBoundsPtrAccessChain %pg_uint %index {of}
                     %number = OpLoad %uint %number_at
                     %mirrored = OpBitwiseXor %ulong %gx %ul1
                     %shuffled = OpUMod %ulong %mirrored %items
                     %word = OpIMul %ulong {index} %row_words
                     %start = OpIMul %ulong {index} %row
                     %unit_start = OpIMul %ulong {index} %row_units
                     OpBranch %copy
                     %copy = OpLabel
                     %k = OpPhi %ulong %ul0 %entry %next_k %copy
                     %copied = OpIAdd %ulong %word %k
                     %from = OpInBoundsPtrAccessChain %pg_uint %in %copied
                     %to = OpInBoundsPtrAccessChain %pg_uint %out %copied
                     %one = OpLoad %uint %from
                     OpStore %to %one
                     %next_k = OpIAdd %ulong %k %ul1
                     %copies = OpULessThan %bool %next_k %row_words
                     OpBranchConditional %copies %copy %before
                     %before = OpLabel
                     OpBranch %head
                     %head = OpLabel
                     %i = OpPhi %uint %u0 %before %next %head
                     %sum = OpPhi %uint %u1 %before %more %head
                     %i64 = OpUConvert %ulong %i
                     %i_first = OpIAdd %ulong %i64 %first
                     %at = OpIAdd %ulong %start %i_first
                     %p = OpInBoundsPtrAccessChain %pg_{ty} %table %at
                     %read = OpLoad %{ty} %p
                     {read}
                     %scaled = OpIMul %uint %sum %u31
                     %more = OpIAdd %uint %scaled %v
                     {store}
                     %i_units = OpIMul %ulong %i_first %element_units
                     %behind_it = OpIAdd %ulong %i_units %behind
                     %unit_at = OpIAdd %ulong %unit_start %behind_it
                     {chain}
                     OpStore %q %narrow {align}
                     %next = OpIAdd %uint %i %u1
                     %goes_on = OpULessThan %bool %next %number
                     OpBranchConditional %goes_on %head %end
                     %end = OpLabel\n",
                    read = converted(ty, "uint", "%v", "%read"),
                    store = converted("uint", stored, "%narrow", "%more"),
                );
                let constants = [
                    ("items", items),
                    ("row_words", WORDS),
                    ("row_units", 4 * WORDS / unit_size),
                    ("row", 4 * WORDS / size),
                    ("first", FIRST),
                    ("element_units", size / unit_size),
                    ("behind", (behind / unit_size as isize) as usize),
                ];
                let constants: String = constants
                    .iter()
                    .map(|(name, value)| format!("%{name} = OpConstant %ulong {value}\n"))
                    .collect();
                let text = kernel((width > 1).then_some(width), "", &body)
                    .replace("%fn = OpTypeFunction", &format!("{constants}%fn = OpTypeFunction"));
                let found = run_on(isa, &text, width * subgroups, &table, &number, WORDS);
                let mut expected: Vec<u8> = table.iter().flat_map(|word| word.to_le_bytes()).collect();
                for (item, number) in number.iter().enumerate() {
                    let row = if index == "%gx" { item } else { (item ^ 1) % items } * 4 * WORDS;
                    let mut sum = 1u32;
                    for i in 0..if of == "%gx" { *number } else { 13 } as usize {
                        let at = row + (FIRST + i) * size;
                        let mut read = [0; 8];
                        read[..size].copy_from_slice(&expected[at..][..size]);
                        sum = sum.wrapping_mul(31).wrapping_add(u64::from_le_bytes(read) as u32);
                        let at = at.wrapping_add_signed(behind);
                        expected[at..][..stored_size].copy_from_slice(&sum.to_le_bytes()[..stored_size]);
                    }
                }
                let found: Vec<u8> = found.iter().flat_map(|word| word.to_le_bytes()).collect();
                assert!(
                    found == expected,
                    "{ty}, {stored} {behind} bytes behind it, row {index}, sub-groups of {width}"
                );
            }
        }
    }
}

#[test]
fn what_a_loop_stores_into_pieces_is_read() {
    check_stores(None);
}

#[test]
fn what_a_loop_stores_into_pieces_is_read_by_avx2() {
    check_stores(Some(Isa::Avx2));
}
