//! The masks that `SPV_KHR_shader_ballot` has as built-in variables, in every lane.

use super::{SUBGROUPS, kernel, run};

/// What a mask is in a lane: from the bits of the lane, of those before it, and of all.
type Mask = fn(u64, u64, u64) -> u64;

const MASKS: [(&str, Mask); 5] = [
    ("SubgroupEqMask", |own, _, _| own),
    ("SubgroupGeMask", |_, before, all| all & !before),
    ("SubgroupGtMask", |own, before, all| all & !before & !own),
    ("SubgroupLeMask", |own, before, _| before | own),
    ("SubgroupLtMask", |_, before, _| before),
];

#[test]
fn lane_masks_are_of_the_lanes_equal_above_and_below() {
    let mut body = "%first = OpIMul %ulong %gx %ul5\n%out4 = OpBitcast %pg_uint4 %out\n".to_owned();
    let (mut decorations, mut variables, mut interface) = (String::new(), String::new(), String::new());
    for (at, (name, _)) in MASKS.iter().enumerate() {
        decorations += &format!("OpDecorate %{name} BuiltIn {name}\n");
        variables += &format!("\n%{name} = OpVariable %pi_uint4 Input");
        interface += &format!(" %{name}");
        body += &format!(
            "%mask{at} = OpLoad %uint4 %{name}\n%place{at} = OpIAdd %ulong %first %ul{at}\n\
             %to{at} = OpInBoundsPtrAccessChain %pg_uint4 %out4 %place{at}\nOpStore %to{at} %mask{at} Aligned 4\n"
        );
    }
    let id = "%gid = OpVariable %pi_ulong3 Input";
    // A kernel that looks at its sub-groups has none of one lane.
    for (width, count) in SUBGROUPS.into_iter().filter(|(width, _)| *width > 1) {
        let text = kernel((width > 1).then_some(width), "", &body)
            .replace("\"main\" %gid", &format!("\"main\" %gid{interface}"))
            .replace("OpDecorate %gid", &format!("{decorations}OpDecorate %gid"))
            .replace(id, &format!("{id}\n%pi_uint4 = OpTypePointer Input %uint4{variables}"));
        let group_size = width * count;
        let unused = vec![0; 2 * group_size as usize];
        let found = run(&text, group_size, &unused, &unused, 4 * MASKS.len());
        for (item, masks) in found.chunks_exact(4 * MASKS.len()).enumerate() {
            let own = 1u64 << (item as u32 % width);
            for ((name, of), mask) in MASKS.iter().zip(masks.chunks_exact(4)) {
                let expected = of(own, own - 1, (1 << width) - 1) as u32;
                assert_eq!(mask, [expected, 0, 0, 0], "{name} of work-item {item} in sub-groups of {width}");
            }
        }
    }
}
