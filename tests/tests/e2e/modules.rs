//! Modules and kernels as objects: names, properties, globals, native binaries and specialization.

use std::ffi::CStr;
use std::ptr;

use ze_headers::*;
use ze_tests::{Module, platform};

#[test]
fn a_module_lists_its_kernels() {
    let module = Module::named("matmul");
    let mut names = module.kernel_names().unwrap();
    names.sort();
    assert_eq!(names, ["matmul_naive", "matmul_tiled", "matmul_tiled_square"]);
}

#[test]
fn a_kernel_tells_its_name_and_argument_count() {
    let module = Module::named("matmul");
    for (name, arguments, group) in [("matmul_naive", 6, [0, 0, 0]), ("matmul_tiled", 6, [16, 16, 1])] {
        let kernel = module.kernel(name);
        let properties = kernel.properties().unwrap();
        assert_eq!(properties.numKernelArgs, arguments);
        assert_eq!(
            [properties.requiredGroupSizeX, properties.requiredGroupSizeY, properties.requiredGroupSizeZ],
            group
        );
        assert_eq!(properties.localMemSize, if name == "matmul_tiled" { 2 * 16 * 16 * 4 } else { 0 });
        assert!([8, 16, 32].contains(&properties.maxSubgroupSize), "{}", properties.maxSubgroupSize);
        let mut size = 0;
        // SAFETY: a live kernel, then room for `size` bytes.
        let bytes = unsafe {
            let code = platform().api.zeKernelGetName(kernel.handle, &mut size, ptr::null_mut());
            platform().check("zeKernelGetName", code).unwrap();
            let mut bytes = vec![0u8; size];
            let code = platform().api.zeKernelGetName(kernel.handle, &mut size, bytes.as_mut_ptr().cast());
            platform().check("zeKernelGetName", code).unwrap();
            bytes
        };
        assert_eq!(CStr::from_bytes_with_nul(&bytes).unwrap().to_str().unwrap(), name);
    }
}

#[test]
fn a_suggested_group_size_divides_the_global_size_and_obeys_the_limits() {
    let module = Module::named("vector_add");
    let kernel = module.kernel("vector_add");
    let limits = platform().compute_properties().unwrap();
    for global in
        [[1, 1, 1], [7, 1, 1], [1000, 1, 1], [1 << 20, 1, 1], [640, 480, 1], [64, 64, 64], [13, 17, 19]]
    {
        let size = kernel.suggest_group_size(global).unwrap();
        assert!((0..3).all(|d| size[d] > 0 && global[d] % size[d] == 0), "{size:?} for {global:?}");
        assert!(size.iter().product::<u32>() <= limits.maxTotalGroupSize, "{size:?} for {global:?}");
    }
    let required = Module::named("matmul");
    assert_eq!(required.kernel("matmul_tiled").suggest_group_size([64, 64, 1]).unwrap(), [16, 16, 1]);
}

#[test]
fn a_group_size_beyond_the_limit_or_the_requirement_is_rejected() {
    let limits = platform().compute_properties().unwrap();
    let module = Module::named("vector_add");
    let kernel = module.kernel("vector_add");
    for size in [[0, 1, 1], [limits.maxTotalGroupSize + 1, 1, 1], [1, limits.maxGroupSizeY + 1, 1]] {
        let error = kernel.set_group_size(size).unwrap_err();
        assert_eq!(error.code, ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION, "{size:?}");
        assert!(!error.reason.is_empty());
    }
}

#[test]
fn indirect_access_flags_are_kept() {
    let module = Module::named("memory_access");
    let kernel = module.kernel("pointer_chase");
    let flags = ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST | ZE_KERNEL_INDIRECT_ACCESS_FLAG_SHARED;
    let mut got = 0;
    // SAFETY: a live kernel.
    unsafe {
        let code = platform().api.zeKernelSetIndirectAccess(kernel.handle, flags);
        platform().check("zeKernelSetIndirectAccess", code).unwrap();
        let code = platform().api.zeKernelGetIndirectAccess(kernel.handle, &mut got);
        platform().check("zeKernelGetIndirectAccess", code).unwrap();
    }
    assert_eq!(got, flags);
}

#[test]
fn two_kernel_objects_of_one_function_keep_their_own_arguments() {
    let module = Module::named("saxpy");
    let (first, second) = (module.kernel("saxpy"), module.kernel("saxpy"));
    let x = platform().filled(1.0f32, 10);
    let (y, z) = (platform().filled(0.0f32, 10), platform().filled(0.0f32, 10));
    first.set_arguments(&[&2.0f32, &x, &y, &10u32]).unwrap();
    second.run([1, 1, 1], [10, 1, 1], &[&5.0f32, &x, &z, &10u32]);
    let list = ze_tests::CommandList::immediate(ze_tests::ListOptions::synchronous()).unwrap();
    first.set_group_size([10, 1, 1]).unwrap();
    list.launch(&first, [1, 1, 1], None, &[]).unwrap();
    assert_eq!((y[3], z[3]), (2.0, 5.0));
}

#[test]
fn modules_are_built_from_many_threads() {
    std::thread::scope(|scope| {
        for name in ["saxpy", "matmul", "reduction", "nbody"] {
            scope.spawn(move || {
                for _ in 0..5 {
                    let module = Module::named(name);
                    for kernel in module.kernel_names().unwrap() {
                        module.kernel(&kernel);
                    }
                }
            });
        }
    });
}

/// Only where every option is known to be harmless does a build accept it.
#[test]
fn build_options_of_compilers_are_accepted() {
    let words = ze_tests::spirv("saxpy");
    for flags in ["-ze-opt-disable", "-ze-opt-level 2", "-ze-opt-greater-than-4GB-buffer-required", "-g"] {
        Module::with_flags(&words, flags).unwrap_or_else(|error| panic!("{flags}: {error:?}"));
    }
}
