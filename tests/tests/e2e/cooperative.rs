//! Cooperative launches: how many work-groups they may have, and that these wait for each other.

use std::ptr;

use ze_headers::*;
use ze_tests::assembler::assemble;
use ze_tests::{CommandList, Kernel, ListOptions, Module, Result, platform};

/// `out[i] = in[n - 1 - i]`, by way of `in` itself: everybody reads in front of a barrier of the device, and writes
/// behind it.
const REVERSE: &str = "\
OpCapability Addresses
OpCapability Kernel
OpCapability Int64
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %main \"reverse\" %gid %gsize
OpDecorate %gid BuiltIn GlobalInvocationId
OpDecorate %gsize BuiltIn GlobalSize
%void = OpTypeVoid
%uint = OpTypeInt 32 0
%ulong = OpTypeInt 64 0
%ulong3 = OpTypeVector %ulong 3
%p_in = OpTypePointer Input %ulong3
%p_uint = OpTypePointer CrossWorkgroup %uint
%fn = OpTypeFunction %void %p_uint
%u1 = OpConstant %uint 1
%ul1 = OpConstant %ulong 1
%order = OpConstant %uint 0x210
%gid = OpVariable %p_in Input
%gsize = OpVariable %p_in Input
%main = OpFunction %void None %fn
%data = OpFunctionParameter %p_uint
%entry = OpLabel
%ids = OpLoad %ulong3 %gid
%i = OpCompositeExtract %ulong %ids 0
%sizes = OpLoad %ulong3 %gsize
%n = OpCompositeExtract %ulong %sizes 0
%last = OpISub %ulong %n %ul1
%j = OpISub %ulong %last %i
%from = OpInBoundsPtrAccessChain %p_uint %data %j
%to = OpInBoundsPtrAccessChain %p_uint %data %i
%x = OpLoad %uint %from
OpControlBarrier %u1 %u1 %order
OpStore %to %x
OpReturn
OpFunctionEnd
";

fn most_groups(kernel: &Kernel) -> u32 {
    let mut count = 0;
    // SAFETY: a live kernel and a place for the answer.
    let code = unsafe { platform().api.zeKernelSuggestMaxCooperativeGroupCount(kernel.handle, &mut count) };
    platform().check("zeKernelSuggestMaxCooperativeGroupCount", code).unwrap();
    count
}

fn launch(list: &CommandList, kernel: &Kernel, groups: u32) -> Result<()> {
    let count = ze_group_count_t { groupCountX: groups, groupCountY: 1, groupCountZ: 1 };
    // SAFETY: live handles.
    let code = unsafe {
        platform().api.zeCommandListAppendLaunchCooperativeKernel(
            list.handle,
            kernel.handle,
            &count,
            ptr::null_mut(),
            0,
            ptr::null_mut(),
        )
    };
    platform().check("zeCommandListAppendLaunchCooperativeKernel", code)
}

#[test]
fn the_work_groups_of_a_cooperative_launch_wait_for_each_other() {
    let module = Module::new(&assemble(REVERSE)).unwrap();
    let kernel = module.kernel("reverse");
    let list = CommandList::immediate(ListOptions::synchronous()).unwrap();
    for size in [1, 32, 100] {
        kernel.set_group_size([size, 1, 1]).unwrap();
        let most = most_groups(&kernel);
        assert!(most >= 16, "{most}");
        for groups in [1, 2, 13, most] {
            let items = (groups * size) as usize;
            let data = platform().buffer(&(0..items as u32).collect::<Vec<_>>());
            kernel.set_arguments(&[&data]).unwrap();
            launch(&list, &kernel, groups).unwrap();
            assert!((0..items).all(|at| data[at] as usize == items - 1 - at), "{groups} groups of {size}");
            // So they do where nobody says that they will.
            kernel.run([groups, 1, 1], [size, 1, 1], &[&data]);
            assert!((0..items).all(|at| data[at] as usize == at), "{groups} groups of {size}");
        }
    }
}

#[test]
fn a_cooperative_launch_has_at_most_as_many_work_groups_as_suggested() {
    let module = Module::new(&assemble(REVERSE)).unwrap();
    let barrier = module.kernel("reverse");
    let data = platform().filled(0u32, 1);
    barrier.set_arguments(&[&data]).unwrap();
    // Without a barrier of the device, work-groups that wait for each other need a thread each.
    let module = Module::named("empty");
    let names = module.kernel_names().unwrap();
    let plain = module.kernel(&names[0]);
    assert_eq!(most_groups(&plain), 1);
    let list = CommandList::immediate(ListOptions::synchronous()).unwrap();
    for kernel in [&barrier, &plain] {
        kernel.set_group_size([1, 1, 1]).unwrap();
        let error = launch(&list, kernel, most_groups(kernel) + 1).unwrap_err();
        assert_eq!(error.code, ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION, "{error:?}");
        assert!(error.reason.contains("in flight"), "{error:?}");
    }
    launch(&list, &plain, 1).unwrap();
}
