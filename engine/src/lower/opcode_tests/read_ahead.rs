//! Loops in which each lane goes through memory of its own (`lower::read_ahead`): rows whose last element is the last one that can be
//! read, of equal and of different lengths.

use super::{SUBGROUPS, kernel, run_on};
use crate::jit::target::Isa;
use crate::pages::page_size;

/// Elements from row to row.
const ROW: usize = 37;

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

/// Memory behind which none can be read.
struct Guarded {
    base: *mut libc::c_void,
    bytes: usize,
}

impl Guarded {
    fn new(words: usize) -> Guarded {
        let bytes = (4 * words).next_multiple_of(page_size()) + page_size();
        // SAFETY: a new mapping, whose last page is its own.
        let base = unsafe {
            let base = libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            assert_ne!(base, libc::MAP_FAILED);
            let guard = base.cast::<u8>().add(bytes - page_size());
            assert_eq!(libc::mprotect(guard.cast(), page_size(), libc::PROT_NONE), 0);
            base
        };
        Guarded { base, bytes }
    }

    /// The last words.
    fn words(&mut self, count: usize) -> &mut [u32] {
        let end = self.bytes - page_size();
        assert!(4 * count <= end);
        // SAFETY: within the mapping, in front of its last page, and borrowed as it is.
        unsafe { std::slice::from_raw_parts_mut(self.base.cast::<u8>().add(end - 4 * count).cast(), count) }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the mapping is this object's.
        unsafe { libc::munmap(self.base, self.bytes) };
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
                // The same length for all, and one for each.
                for lengths in [[7; 2], [1; 2], [16, 16], [18, 13], [3, 2]] {
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
