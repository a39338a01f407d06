//! Ids of 32 bits (`spirv-env/src/load/narrow_builtins.rs`) number work-items as those of 64 bits do.

use super::{SUBGROUPS, kernel, run};

#[test]
fn ids_of_32_bits_are_those_of_64_bits() {
    let body = "%narrow = OpLoad %uint3 %gid32\n%x = OpCompositeExtract %uint %narrow 0\n%at = OpUConvert %ulong %x\n\
        %pi = OpInBoundsPtrAccessChain %pg_uint %in %at\n%i = OpLoad %uint %pi\n%sum = OpIAdd %uint %i %x\n\
        %y = OpCompositeExtract %uint %narrow 1\n%all = OpIAdd %uint %sum %y\n\
        %po = OpInBoundsPtrAccessChain %pg_uint %out %at\nOpStore %po %all\n";
    for (width, subgroups) in SUBGROUPS {
        let text = kernel((width > 1).then_some(width), "", body)
            .replace("\"main\" %gid", "\"main\" %gid %gid32")
            .replace(
                "OpDecorate %gid BuiltIn",
                "OpDecorate %gid32 BuiltIn GlobalInvocationId\nOpDecorate %gid BuiltIn",
            )
            .replace(
                "%gid = OpVariable",
                "%uint3 = OpTypeVector %uint 3\n%pi_uint3 = OpTypePointer Input %uint3\n\
                 %gid32 = OpVariable %pi_uint3 Input\n%gid = OpVariable",
            );
        let group_size = width * subgroups;
        let input: Vec<u32> = (0..2 * group_size).map(|at| at * 1000).collect();
        let found = run(&text, group_size, &input, &input, 1);
        let expected: Vec<u32> = (0..2 * group_size).map(|at| at * 1001).collect();
        assert_eq!(found, expected, "sub-groups of {width}");
    }
}
