//! What a launch captures when it is appended, and what is wrong with one when.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use ze_headers::*;
use ze_tests::ulp::assert_same;
use ze_tests::{Argument, CommandList, Error, Kernel, ListOptions, Local, Module, Queue, platform};

fn synchronous() -> CommandList {
    CommandList::immediate(ListOptions::synchronous()).unwrap()
}

#[track_caller]
fn assert_code<T>(result: Result<T, Error>, code: ze_result_t, reason: &str) {
    let Err(error) = result else { panic!("it succeeds") };
    assert_eq!(error.code, code, "{error:?}");
    assert!(error.reason.contains(reason), "{error:?}");
}

fn local_limit() -> usize {
    platform().compute_properties().unwrap().maxSharedLocalMemory as usize
}

#[test]
fn a_kernel_whose_variables_need_more_local_memory_than_there_is_cannot_be_created() {
    let module = Module::named("launches");
    let result = module.try_kernel("too_much_local_memory");
    assert_code(result, ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, "4194304 bytes of local memory");
    module.kernel("arguments_0").run([1, 1, 1], [1, 1, 1], &[]);
}

/// 14 bytes of variables, and two arrays that begin at multiples of 128.
#[test]
fn local_arguments_are_checked_with_their_alignment_when_a_launch_is_appended() {
    let module = Module::named("arguments");
    let kernel = module.kernel("local_arguments");
    let out = platform().filled(0u64, 4);
    let list = CommandList::regular(false).unwrap();
    kernel.set_group_size([4, 1, 1]).unwrap();
    let set = |bytes: usize| {
        let arguments: [&dyn Argument; 5] = [&out, &Local(1), &Local(bytes), &1u32, &1u32];
        kernel.set_arguments(&arguments).unwrap();
    };
    set(local_limit() - 256 + 1);
    let appended = list.launch(&kernel, [1, 1, 1], None, &[]);
    assert_code(appended, ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, "bytes of local memory");
    set(usize::MAX);
    let appended = list.launch(&kernel, [1, 1, 1], None, &[]);
    assert_code(appended, ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, "bytes of local memory");
    set(local_limit() - 256);
    list.launch(&kernel, [1, 1, 1], None, &[]).unwrap();
    list.close().unwrap();
    let queue = Queue::new(ListOptions::asynchronous()).unwrap();
    queue.execute(&[&list], None).unwrap();
    queue.synchronize(u64::MAX).unwrap();
    assert_same("what was accepted runs", &out, &[1 + (500..507).sum::<u64>(); 4]);
}

#[test]
fn more_work_groups_than_can_be_counted_are_refused_when_they_are_appended() {
    let module = Module::named("launches");
    let kernel = module.kernel("arguments_0");
    for list in [CommandList::regular(false).unwrap(), synchronous()] {
        let appended = list.launch(&kernel, [1 << 31, 1 << 31, 4], None, &[]);
        assert_code(appended, ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION, "work-groups");
        list.launch(&kernel, [u32::MAX, u32::MAX, 0], None, &[]).unwrap();
        list.launch(&kernel, [1, 1, 1], None, &[]).unwrap();
    }
}

#[test]
fn arguments_that_are_not_set_are_all_named() {
    let module = Module::named("saxpy");
    let kernel = module.kernel("saxpy");
    kernel.set_bytes(1, &[0; 8]).unwrap();
    let appended = synchronous().launch(&kernel, [1, 1, 1], None, &[]);
    assert_code(appended, ZE_RESULT_ERROR_INVALID_ARGUMENT, "0 (");
    let appended = synchronous().launch(&kernel, [1, 1, 1], None, &[]);
    assert_code(appended, ZE_RESULT_ERROR_INVALID_ARGUMENT, "3 (");
}

#[test]
fn a_launch_with_arguments_that_does_not_fit_leaves_the_kernel_alone() {
    let module = Module::named("arguments");
    let kernel = module.kernel("local_arguments");
    let (out, list) = (platform().filled(0u64, 4), synchronous());
    kernel.set_group_size([4, 1, 1]).unwrap();
    kernel.set_arguments(&[&out, &Local(8), &Local(8), &1u32, &1u32]).unwrap();
    let (address, small, large, one) = (out.pointer(), 8usize, local_limit(), 1u32);
    let place = |value: *const c_void| value.cast_mut();
    let mut arguments = [
        place(ptr::from_ref(&address).cast()),
        place(ptr::from_ref(&small).cast()),
        place(ptr::from_ref(&large).cast()),
        place(ptr::from_ref(&one).cast()),
        place(ptr::from_ref(&one).cast()),
    ];
    // SAFETY: live handles, and an address for each argument.
    let code = unsafe {
        platform().api.zeCommandListAppendLaunchKernelWithArguments(
            list.handle,
            kernel.handle,
            ze_group_count_t { groupCountX: 1, groupCountY: 1, groupCountZ: 1 },
            ze_group_size_t { groupSizeX: 2, groupSizeY: 1, groupSizeZ: 1 },
            arguments.as_mut_ptr(),
            ptr::null(),
            ptr::null_mut(),
            0,
            ptr::null_mut(),
        )
    };
    assert_eq!(code, ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
    list.launch(&kernel, [1, 1, 1], None, &[]).unwrap();
    assert_same("four work-items with what was set", &out, &[1 + (500..507).sum::<u64>(); 4]);
}

#[test]
fn indirect_launches_of_several_kernels_read_all_their_counts_from_memory() {
    let module = Module::named("saxpy");
    let (x, queue) = (platform().filled(1.0f32, 256), Queue::new(ListOptions::asynchronous()).unwrap());
    let y: Vec<_> = (0..3).map(|_| platform().filled(0.0f32, 256)).collect();
    let kernels: Vec<Kernel> = y
        .iter()
        .map(|y| {
            let kernel = module.kernel("saxpy");
            kernel.set_group_size([64, 1, 1]).unwrap();
            kernel.set_arguments(&[&1.0f32, &x, y, &256u32]).unwrap();
            kernel
        })
        .collect();
    let mut handles: Vec<_> = kernels.iter().map(|kernel| kernel.handle).collect();
    let (mut count, mut counts) = (platform().filled(2u32, 1), platform().filled(1u32, 9));
    let list = CommandList::regular(false).unwrap();
    // SAFETY: live handles; the counts are in memory of the driver.
    let code = unsafe {
        platform().api.zeCommandListAppendLaunchMultipleKernelsIndirect(
            list.handle,
            3,
            handles.as_mut_ptr(),
            count.pointer().cast(),
            counts.pointer().cast(),
            ptr::null_mut(),
            0,
            ptr::null_mut(),
        )
    };
    platform().check("zeCommandListAppendLaunchMultipleKernelsIndirect", code).unwrap();
    list.close().unwrap();
    let run = || {
        queue.execute(&[&list], None).unwrap();
        queue.synchronize(u64::MAX).unwrap();
    };
    (counts[0], counts[3], counts[6]) = (2, 0, 4);
    run();
    (count[0], counts[0], counts[3]) = (3, 1, 3);
    run();
    let want = |first: f32, groups: [usize; 2]| -> Vec<f32> {
        (0..256)
            .map(|i| {
                if i < groups[0] * 64 {
                    first
                } else if i < groups[1] * 64 {
                    1.0
                } else {
                    0.0
                }
            })
            .collect()
    };
    assert_same("two groups, then one", &y[0], &want(2.0, [1, 2]));
    assert_same("none, then three", &y[1], &want(1.0, [3, 3]));
    assert_same("not in the first run", &y[2], &want(1.0, [4, 4]));
}

/// A list of 200 launches is executed while the next is recorded with the same kernel.
#[test]
fn a_list_keeps_the_arguments_of_each_of_many_launches() {
    let module = Module::named("saxpy");
    let kernel = module.kernel("saxpy");
    let (x, y) = (platform().filled(1.0f32, 64), platform().filled(0.0f32, 64 * 200));
    let queue = Queue::new(ListOptions::asynchronous()).unwrap();
    let list = CommandList::regular(true).unwrap();
    kernel.set_group_size([64, 1, 1]).unwrap();
    for launch in 0..200usize {
        let target = (y.pointer() as usize + launch * 64 * size_of::<f32>()) as u64;
        kernel.set_arguments(&[&(launch as f32), &x, &target, &64u32]).unwrap();
        list.launch(&kernel, [1, 1, 1], None, &[]).unwrap();
    }
    list.close().unwrap();
    queue.execute(&[&list, &list], None).unwrap();
    kernel.set_arguments(&[&1e9f32, &x, &y, &64u32]).unwrap();
    drop((kernel, module));
    queue.synchronize(u64::MAX).unwrap();
    let want: Vec<f32> = (0..200 * 64).map(|i| (i / 64 * 2) as f32).collect();
    assert_same("each twice", &y, &want);
}

/// The specification forbids it; it must still not end the program.
#[test]
fn a_kernel_that_is_changed_while_another_thread_appends_it_does_no_harm() {
    let module = Module::named("saxpy");
    let kernel = module.kernel("saxpy");
    let (x, y) = (platform().filled(1.0f32, 64), platform().filled(0.0f32, 64));
    kernel.set_arguments(&[&1.0f32, &x, &y, &64u32]).unwrap();
    let handle = kernel.handle as usize;
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (kernel, factor) = (handle as ze_kernel_handle_t, 2.0f32);
            for size in (0..7u32).cycle().take_while(|_| !done.load(Ordering::Relaxed)) {
                // SAFETY: a live kernel.
                unsafe {
                    platform().api.zeKernelSetGroupSize(kernel, 1 << size, 1, 1);
                    platform().api.zeKernelSetArgumentValue(kernel, 0, 4, ptr::from_ref(&factor).cast());
                }
            }
        });
        let list = synchronous();
        for _ in 0..2000 {
            list.launch(&kernel, [64, 1, 1], None, &[]).unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(y[0] >= 2000.0, "each launch has added at least one");
}

#[test]
fn kernels_of_a_module_say_that_they_are_of_one() {
    let (first, second) = (Module::named("saxpy"), Module::named("launches"));
    let ids = |module: &Module, name: &str| {
        let id = module.kernel(name).properties().unwrap().uuid;
        (id.kid, id.mid)
    };
    let (a, b) = (ids(&second, "arguments_0"), ids(&second, "arguments_4"));
    assert!(a.1 == b.1 && a.0 != b.0);
    assert_ne!(ids(&first, "saxpy").1, a.1);
    assert_eq!(ids(&Module::named("launches"), "arguments_0"), a);
}
