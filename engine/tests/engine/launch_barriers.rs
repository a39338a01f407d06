//! Barriers of the device: all work-groups of a launch wait for each other, on one thread and on several.

use std::sync::Arc;
use ze_engine::{Dispatch, Engine, EngineConfig, EngineError, LaunchFault, Program, Setup};
use ze_tests::assembler::assemble;

use crate::support;

const STEPS: u32 = 5;

/// A kernel that passes numbers from work-item to work-item, through barriers in a loop: `next[i] = numbers[i + 1] + 1`,
/// and back. `inside` stands in the loop, in front of the second barrier, and sees `%step` and `%x`.
fn module(width: u32, inside: &str) -> String {
    let mode =
        if width > 1 { format!("OpExecutionMode %main SubgroupSize {width}\n") } else { String::new() };
    format!(
        "OpCapability Addresses\nOpCapability Kernel\nOpCapability Int64\nOpCapability SubgroupDispatch\n\
         OpCapability FunctionPointersINTEL\nOpExtension \"SPV_INTEL_function_pointers\"\n\
         OpMemoryModel Physical64 OpenCL\nOpEntryPoint Kernel %main \"main\" %gid %gsize %lid\n{mode}\
         OpDecorate %gid BuiltIn GlobalInvocationId\nOpDecorate %gsize BuiltIn GlobalSize\nOpDecorate %lid BuiltIn LocalInvocationId\n\
         %void = OpTypeVoid\n%bool = OpTypeBool\n%uint = OpTypeInt 32 0\n%ulong = OpTypeInt 64 0\n%ulong3 = OpTypeVector %ulong 3\n\
         %p_in = OpTypePointer Input %ulong3\n%p_uint = OpTypePointer CrossWorkgroup %uint\n%fn = OpTypeFunction %void %p_uint %p_uint\n\
         %unary = OpTypeFunction %uint %uint\n%to_unary = OpTypePointer CodeSectionINTEL %unary\n%nobody = OpConstantNull %to_unary\n\
         %p_local = OpTypePointer Workgroup %uint\n%u0 = OpConstant %uint 0\n%u1 = OpConstant %uint 1\n%u2 = OpConstant %uint 2\n\
         %u3 = OpConstant %uint 3\n%steps = OpConstant %uint {STEPS}\n%ul1 = OpConstant %ulong 1\n%global = OpConstant %uint 0x210\n\
         %local_order = OpConstant %uint 0x110\n%n1024 = OpConstant %uint 1024\n%array = OpTypeArray %uint %n1024\n\
         %p_array = OpTypePointer Workgroup %array\n%local = OpVariable %p_array Workgroup\n\
         %gid = OpVariable %p_in Input\n%gsize = OpVariable %p_in Input\n%lid = OpVariable %p_in Input\n\
         %main = OpFunction %void None %fn\n%numbers = OpFunctionParameter %p_uint\n%next = OpFunctionParameter %p_uint\n\
         %entry = OpLabel\n%ids = OpLoad %ulong3 %gid\n%i = OpCompositeExtract %ulong %ids 0\n%sizes = OpLoad %ulong3 %gsize\n\
         %size = OpCompositeExtract %ulong %sizes 0\n%lids = OpLoad %ulong3 %lid\n%l64 = OpCompositeExtract %ulong %lids 0\n\
         %l = OpUConvert %uint %l64\n%i1 = OpIAdd %ulong %i %ul1\n%neighbour = OpUMod %ulong %i1 %size\n\
         %mine = OpInBoundsPtrAccessChain %p_uint %numbers %i\n%theirs = OpInBoundsPtrAccessChain %p_uint %numbers %neighbour\n\
         %kept = OpInBoundsPtrAccessChain %p_uint %next %i\nOpBranch %head\n%head = OpLabel\n\
         %step = OpPhi %uint %u0 %entry %step1 %latch\n%more = OpULessThan %bool %step %steps\n\
         OpBranchConditional %more %body %end\n%body = OpLabel\n%x = OpLoad %uint %theirs\n%y = OpIAdd %uint %x %u1\n\
         OpStore %kept %y\nOpControlBarrier %u1 %u1 %global\n{inside}\n%z = OpLoad %uint %kept\nOpStore %mine %z\n\
         OpControlBarrier %u1 %u1 %global\nOpBranch %latch\n%latch = OpLabel\n%step1 = OpIAdd %uint %step %u1\nOpBranch %head\n\
         %end = OpLabel\nOpReturn\nOpFunctionEnd\n"
    )
}

fn load(text: &str, threads: usize) -> Arc<Program> {
    support::load(&Engine::new(EngineConfig { threads, ..EngineConfig::default() }), &assemble(text))
}

fn launch(program: &Arc<Program>, groups: u32, size: u32) -> Result<Vec<u32>, EngineError> {
    let count = (groups * size) as usize;
    let (mut numbers, mut next): (Vec<u32>, Vec<u32>) =
        ((0..groups * size).map(|at| 7 * at).collect(), vec![0; count]);
    let args: Vec<u8> = [numbers.as_mut_ptr() as u64, next.as_mut_ptr() as u64]
        .iter()
        .flat_map(|at| at.to_le_bytes())
        .collect();
    let dispatch = Dispatch {
        group_count: [groups, 1, 1],
        group_size: [size, 1, 1],
        global_offset: [0; 3],
        args: &args,
    };
    program.kernel("main").expect("the kernel").launch(&dispatch).map(|()| numbers)
}

/// The numbers have moved by as many places as there are steps.
fn assert_moved(numbers: &[u32], what: &str) {
    for (at, found) in numbers.iter().enumerate() {
        let wanted = 7 * ((at as u32 + STEPS) % numbers.len() as u32) + STEPS;
        assert_eq!(*found, wanted, "work-item {at} of {}, {what}", numbers.len());
    }
}

const SHAPES: [(u32, u32); 7] = [(1, 1), (1, 5), (8, 8), (8, 21), (16, 64), (32, 45), (8, 128)];

#[test]
fn all_work_groups_wait_for_each_other() {
    for threads in [1, 3] {
        for (width, size) in SHAPES {
            let program = load(&module(width, ""), threads);
            for groups in [1, 2, 7, 31] {
                let numbers = launch(&program, groups, size).unwrap_or_else(|error| panic!("{error}"));
                assert_moved(&numbers, &format!("groups of {size}, {width} lanes, {threads} threads"));
            }
        }
    }
}

#[test]
fn barriers_of_work_groups_stay_their_own() {
    // Between the launch's barriers, work-items of a group exchange twice what they have: the sum stays.
    let inside = "%place = OpInBoundsPtrAccessChain %p_local %local %u0 %l\n%was = OpLoad %uint %kept\nOpStore %place %was\n\
        OpControlBarrier %u2 %u2 %local_order\n%back = OpLoad %uint %place\nOpControlBarrier %u2 %u2 %local_order\nOpStore %kept %back";
    for (width, size) in SHAPES {
        let program = load(&module(width, inside), 2);
        assert_moved(
            &launch(&program, 9, size).expect("it runs"),
            &format!("groups of {size}, {width} lanes"),
        );
    }
}

#[test]
fn as_many_work_groups_are_in_flight_as_the_engine_says() {
    for (width, size) in [(1, 1), (16, 64), (8, 256)] {
        let program = load(&module(width, ""), 2);
        let mut setup = Setup::new(program.kernel("main").expect("the kernel")).expect("memory");
        setup.set_group_size([size, 1, 1]).expect("a good size");
        let most = setup.most_cooperative_groups().expect("it compiles");
        assert!(most >= 64, "{most}");
        assert_moved(&launch(&program, most, size).expect("it runs"), "as many as there may be");
        // More than there may be stacks, one for each.
        let error = launch(&program, 4097, size).expect_err("too many");
        assert!(
            matches!(&error, EngineError::InvalidLaunch { fault: LaunchFault::InFlight(_), .. }),
            "{error}"
        );
        let mut launch = |groups| setup.launch([groups, 1, 1]).map(|launch| launch.check_cooperative());
        assert!(launch(most).is_ok_and(|checked| checked.is_ok()));
    }
}

#[test]
fn as_many_work_groups_are_in_flight_with_the_dimensions_in_another_order() {
    let program = load(&module(8, ""), 2);
    let mut setup = Setup::new(program.kernel("main").expect("the kernel")).expect("memory");
    for size in [[6, 4, 1], [32, 2, 1], [1, 1, 64], [3, 5, 7]] {
        let [x, y, z] = size;
        setup.set_group_size(size).expect("a good size");
        let most = setup.most_cooperative_groups().expect("it compiles");
        assert!(most >= 16, "{most} of {size:?}");
        for size in [[x, z, y], [y, x, z], [y, z, x], [z, x, y], [z, y, x]] {
            setup.set_group_size(size).expect("a good size");
            let launch = setup.launch([most, 1, 1]).expect("they can be in flight");
            assert!(launch.check_cooperative().is_ok(), "{most} of {size:?}");
        }
    }
}

#[test]
fn only_one_work_group_surely_has_a_thread_for_itself() {
    let text = module(8, "").replace("OpControlBarrier %u1 %u1 %global", "OpControlBarrier %u2 %u2 %global");
    let program = load(&text, 4);
    let mut setup = Setup::new(program.kernel("main").expect("the kernel")).expect("memory");
    setup.set_group_size([64, 1, 1]).expect("a good size");
    assert_eq!(setup.most_cooperative_groups().expect("it compiles"), 1);
    assert!(setup.launch([1, 1, 1]).expect("it is captured").check_cooperative().is_ok());
    assert!(setup.launch([2, 1, 1]).expect("it is captured").check_cooperative().is_err());
}

#[test]
fn a_work_group_that_fails_keeps_no_other_waiting() {
    // The third step of one work-item calls nothing.
    let inside = "%third = OpIEqual %bool %step %u3\n%bad = OpIEqual %bool %y %nine\n%both = OpLogicalAnd %bool %third %bad\n\
        OpBranchConditional %both %fail %go_on\n%fail = OpLabel\n%none = OpFunctionPointerCallINTEL %uint %nobody %x\nOpBranch %go_on\n\
        %go_on = OpLabel";
    for (width, size) in [(1, 1), (8, 21), (16, 64)] {
        let text = module(width, inside)
            .replace("%u0 = OpConstant", "%nine = OpConstant %uint 39\n%u0 = OpConstant");
        let program = load(&text, 3);
        for _ in 0..2 {
            let error = launch(&program, 40, size).expect_err("it calls through null");
            assert!(
                matches!(&error, EngineError::Failed { reason, .. } if reason.to_string().contains("null")),
                "{error}"
            );
        }
    }
}
