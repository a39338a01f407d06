//! Accesses by unsigned indices that wrap around at 0 within a sub-group (`lower::speculation`).

use super::{SUBGROUPS, kernel, run_on};
use crate::jit::target::Isa;

/// Neighbours in front, by an unsigned index that wraps around for those who have none, in global memory and in local memory.
fn check_neighbours(isa: Option<Isa>) {
    for (width, subgroups) in SUBGROUPS {
        let group = (width * subgroups) as usize;
        let items = 2 * group;
        let input: Vec<u32> = (0..items as u32).map(|item| item * 3 + 1).collect();
        for (is_local, back) in
            [1, 2, 7, 8, 15, 16, 17, 31, 32, 40].map(|back| [(false, back), (true, back)]).concat()
        {
            let (own, from) = if is_local {
                ("%lx", "OpInBoundsAccessChain %pl_uint %tile")
            } else {
                ("%gx", "OpInBoundsPtrAccessChain %pg_uint %in")
            };
            let body = format!(
                "%mine = OpInBoundsPtrAccessChain %pg_uint %out %gx
                 OpStore %mine %u7
                 %first = OpInBoundsPtrAccessChain %pg_uint %in %gx
                 %given = OpLoad %uint %first
                 %locals = OpLoad %ulong3 %lid
                 %lx = OpCompositeExtract %ulong %locals 0
                 %place = OpInBoundsAccessChain %pl_uint %tile %lx
                 OpStore %place %given
                 OpControlBarrier %u2 %u2 %fence
                 %own = OpUConvert %uint {own}
                 %has = OpUGreaterThanEqual %bool %own %back
                 OpBranchConditional %has %inside %end
                 %inside = OpLabel
                 %in_front = OpISub %uint %own %back
                 %wide = OpUConvert %ulong %in_front
                 %p = {from} %wide
                 %v = OpLoad %uint %p
                 OpStore %mine %v
                 OpBranch %end
                 %end = OpLabel\n"
            );
            let declared = format!(
                "%back = OpConstant %uint {back}
                 %fence = OpConstant %uint 272
                 %items = OpConstant %uint {group}
                 %tile_ty = OpTypeArray %uint %items
                 %pl_tile = OpTypePointer Workgroup %tile_ty
                 %tile = OpVariable %pl_tile Workgroup
                 %lid = OpVariable %pi_ulong3 Input
                 %fn = OpTypeFunction"
            );
            let text = kernel((width > 1).then_some(width), "", &body)
                .replace("\"main\" %gid", "\"main\" %gid %lid")
                .replace(
                    "OpDecorate %gid BuiltIn GlobalInvocationId",
                    "OpDecorate %gid BuiltIn GlobalInvocationId\nOpDecorate %lid BuiltIn LocalInvocationId",
                )
                .replace("%fn = OpTypeFunction", &declared);
            let found = run_on(isa, &text, width * subgroups, &input, &input, 1);
            let expected: Vec<u32> = (0..items)
                .map(|item| {
                    let begin = if is_local { item / group * group } else { 0 };
                    item.checked_sub(back).filter(|at| *at >= begin).map_or(7, |at| input[at])
                })
                .collect();
            assert_eq!(found, expected, "{back} in front, sub-groups of {width}, local {is_local}");
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
