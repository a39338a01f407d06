//! Launches of small work-groups, which are executed together where the kernel cannot tell.

use crate::support::load;
use ze_engine::exec::Range;
use ze_engine::{Dispatch, Engine, EngineConfig};
use ze_tests::assembler::assemble;

/// Each work-item writes to its place in the launch: `x + 1000 * y + seen` with its global id without the offset, and what it has `seen`.
fn text(interface: &str, decorations: &str, variables: &str, seen: &str) -> String {
    format!(
        "OpCapability Addresses\nOpCapability Kernel\nOpCapability Int64\n\
         OpMemoryModel Physical64 OpenCL\n\
         OpEntryPoint Kernel %main \"main\" %gid %size %offset {interface}\n\
         OpDecorate %gid BuiltIn GlobalInvocationId\nOpDecorate %size BuiltIn GlobalSize\n\
         OpDecorate %offset BuiltIn GlobalOffset\n{decorations}\
         %void = OpTypeVoid\n%ulong = OpTypeInt 64 0\n%v3 = OpTypeVector %ulong 3\n\
         %pi = OpTypePointer Input %v3\n%pg = OpTypePointer CrossWorkgroup %ulong\n\
         %thousand = OpConstant %ulong 1000\n%million = OpConstant %ulong 1000000\n%zero = OpConstant %ulong 0\n\
         %fn = OpTypeFunction %void %pg\n\
         %gid = OpVariable %pi Input\n%size = OpVariable %pi Input\n%offset = OpVariable %pi Input\n{variables}\
         %main = OpFunction %void None %fn\n%out = OpFunctionParameter %pg\n%start = OpLabel\n\
         %ids = OpLoad %v3 %gid\n%sizes = OpLoad %v3 %size\n%offsets = OpLoad %v3 %offset\n\
         %id_x = OpCompositeExtract %ulong %ids 0\n%offset_x = OpCompositeExtract %ulong %offsets 0\n\
         %x = OpISub %ulong %id_x %offset_x\n\
         %id_y = OpCompositeExtract %ulong %ids 1\n%offset_y = OpCompositeExtract %ulong %offsets 1\n\
         %y = OpISub %ulong %id_y %offset_y\n\
         %id_z = OpCompositeExtract %ulong %ids 2\n%offset_z = OpCompositeExtract %ulong %offsets 2\n\
         %z = OpISub %ulong %id_z %offset_z\n\
         %width = OpCompositeExtract %ulong %sizes 0\n%height = OpCompositeExtract %ulong %sizes 1\n\
         %planes = OpIMul %ulong %z %height\n%rows = OpIAdd %ulong %planes %y\n\
         %before = OpIMul %ulong %rows %width\n%at = OpIAdd %ulong %before %x\n\
         {seen}\
         %far = OpIMul %ulong %y %thousand\n%place = OpIAdd %ulong %far %x\n%value = OpIAdd %ulong %place %seen\n\
         %to = OpInBoundsPtrAccessChain %pg %out %at\nOpStore %to %value Aligned 8\n\
         OpReturn\nOpFunctionEnd\n"
    )
}

#[test]
fn work_items_are_those_of_the_launch_whatever_groups_they_are_executed_in() {
    let blind = text("", "", "", "%seen = OpIAdd %ulong %zero %zero\n");
    let sees = text(
        "%wid %lid",
        "OpDecorate %wid BuiltIn WorkgroupId\nOpDecorate %lid BuiltIn LocalInvocationId\n",
        "%wid = OpVariable %pi Input\n%lid = OpVariable %pi Input\n",
        "%wids = OpLoad %v3 %wid\n%lids = OpLoad %v3 %lid\n\
         %w = OpCompositeExtract %ulong %wids 0\n%l = OpCompositeExtract %ulong %lids 0\n\
         %ws = OpIMul %ulong %w %thousand\n%wl = OpIAdd %ulong %ws %l\n%seen = OpIMul %ulong %wl %million\n",
    );
    let engine = Engine::new(EngineConfig { threads: 2, ..EngineConfig::default() });
    for (text, sees_groups) in [(blind, false), (sees, true)] {
        let kernel = load(&engine, &assemble(&text)).kernel("main").expect("the module has it");
        assert_eq!(kernel.reflection().sees_groups, sees_groups);
        let executed = |group_size, group_count| {
            kernel.executed(Range { group_count, group_size, global_offset: [5, 0, 7] }).range.group_size
        };
        let own = [[16, 16, 1], [10, 10, 1], [100, 1, 1]];
        let shaped = if sees_groups { own } else { [[192, 4, 1], [240, 2, 1], [256, 1, 1]] };
        let counts = [[24, 24, 1], [24, 24, 1], [1600, 1, 1]];
        assert_eq!([0, 1, 2].map(|at| executed(own[at], counts[at])), shaped);
        for group_size in [
            [1, 1, 1],
            [2, 3, 1],
            [4, 1, 1],
            [8, 1, 1],
            [7, 1, 1],
            [3, 2, 4],
            [16, 2, 2],
            [10, 10, 1],
            [100, 1, 1],
        ] {
            for group_count in [[1, 1, 1], [64, 1, 1], [97, 2, 1], [24, 24, 1], [256, 3, 2], [0, 1, 1]] {
                let global: [u64; 3] = std::array::from_fn(|at| u64::from(group_size[at] * group_count[at]));
                let items = global.iter().product::<u64>() as usize;
                let mut out = vec![u64::MAX; items + 1];
                let args = (out.as_mut_ptr() as u64).to_le_bytes();
                let dispatch = Dispatch { group_count, group_size, global_offset: [5, 0, 7], args: &args };
                kernel.launch(&dispatch).expect("launches");
                for (at, value) in out[..items].iter().enumerate() {
                    let at = at as u64;
                    let (x, y) = (at % global[0], at / global[0] % global[1]);
                    let (group, local) = (x / u64::from(group_size[0]), x % u64::from(group_size[0]));
                    let seen = if sees_groups { (group * 1000 + local) * 1_000_000 } else { 0 };
                    assert_eq!(
                        *value,
                        x + 1000 * y + seen,
                        "{group_count:?} groups of {group_size:?}, item {at}"
                    );
                }
                assert_eq!(out[items], u64::MAX);
            }
        }
    }
}
