//! Accesses by unsigned indices that wrap around at 0 within a sub-group (`lower::speculation`).

use super::{SUBGROUPS, kernel, run_on};
use crate::jit::target::Isa;

/// Neighbours in front, by an unsigned index that wraps around for those who have none.
fn check_neighbours(isa: Option<Isa>) {
    for (width, subgroups) in SUBGROUPS {
        let items = (2 * width * subgroups) as usize;
        let input: Vec<u32> = (0..items as u32).map(|item| item * 3 + 1).collect();
        for back in [1, 2, 7, 8, 15, 16, 17, 31, 32, 40] {
            let body = "%gx32 = OpUConvert %uint %gx
                 %mine = OpInBoundsPtrAccessChain %pg_uint %out %gx
                 OpStore %mine %u7
                 %has = OpUGreaterThanEqual %bool %gx32 %back
                 OpBranchConditional %has %inside %end
                 %inside = OpLabel
                 %in_front = OpISub %uint %gx32 %back
                 %wide = OpUConvert %ulong %in_front
                 %p = OpInBoundsPtrAccessChain %pg_uint %in %wide
                 %v = OpLoad %uint %p
                 OpStore %mine %v
                 OpBranch %end
                 %end = OpLabel\n";
            let text = kernel((width > 1).then_some(width), "", body).replace(
                "%fn = OpTypeFunction",
                &format!("%back = OpConstant %uint {back}\n%fn = OpTypeFunction"),
            );
            let found = run_on(isa, &text, width * subgroups, &input, &input, 1);
            let expected: Vec<u32> =
                (0..items).map(|item| item.checked_sub(back).map_or(7, |at| input[at])).collect();
            assert_eq!(found, expected, "{back} in front, sub-groups of {width}");
        }
    }
}

#[test]
fn neighbours_by_indices_that_wrap_around_for_those_who_have_none() {
    check_neighbours(None);
}

#[test]
fn neighbours_by_indices_that_wrap_around_for_those_who_have_none_by_avx2() {
    check_neighbours(Some(Isa::Avx2));
}

#[test]
fn neighbours_by_indices_that_wrap_around_for_those_who_have_none_by_sse() {
    check_neighbours(Some(Isa::Sse));
}
