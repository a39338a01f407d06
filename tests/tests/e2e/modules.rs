//! Modules and kernels as objects: names, properties, globals, native binaries and specialization.

use std::ffi::CStr;
use std::ptr;

use ze_headers::*;
use ze_tests::{Module, offline, platform, spirv};

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
fn private_memory_that_registers_cannot_hold_is_spilled() {
    let of = |module: &str, kernel: &str| Module::named(module).kernel(kernel).properties().unwrap();
    let large = of("private_memory", "large_private_array");
    assert!(large.privateMemSize >= 4096 && large.spillMemSize >= 3000, "{}", large.spillMemSize);
    assert!(large.spillMemSize < large.privateMemSize);
    assert_eq!(of("saxpy", "saxpy").spillMemSize, 0);
}

#[test]
fn values_that_registers_cannot_hold_are_spilled() {
    let pattern = ze_tests::scale::PATTERNS.iter().find(|pattern| pattern.name == "live vectors").unwrap();
    let kernel = |vectors| Module::new(&(pattern.module)(vectors)).unwrap().kernel("main");
    let spilled = |vectors| kernel(vectors).properties().unwrap().spillMemSize;
    // Each is 64 bytes, and with an item's share of the registers hardly two fit.
    assert!((64 * 90..=64 * 100).contains(&spilled(100)), "{}", spilled(100));
    assert_eq!(spilled(1), 0);
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

/// Links the modules; a failure's reason is the link log.
pub fn link(modules: &[&Module]) -> ze_tests::Result<()> {
    let mut handles: Vec<_> = modules.iter().map(|module| module.handle).collect();
    // SAFETY: live modules, and no log.
    let code = unsafe {
        platform().api.zeModuleDynamicLink(handles.len() as u32, handles.as_mut_ptr(), ptr::null_mut())
    };
    platform().check("zeModuleDynamicLink", code)
}

/// A module-scope variable of four bytes.
fn global(module: &Module, name: &CStr) -> ze_tests::Result<*mut i32> {
    let (mut size, mut pointer) = (0, ptr::null_mut());
    // SAFETY: a live module and places for the answer.
    let code = unsafe {
        platform().api.zeModuleGetGlobalPointer(module.handle, name.as_ptr(), &mut size, &mut pointer)
    };
    platform().check("zeModuleGetGlobalPointer", code)?;
    assert_eq!(size, 4, "{name:?}");
    Ok(pointer.cast())
}

/// What a kernel of the `linked_*` modules writes.
fn state<const N: usize>(module: &Module, kernel: &str) -> [i32; N] {
    let out = platform().filled(-1i32, N);
    module.kernel(kernel).run([1, 1, 1], [1, 1, 1], &[&out]);
    out[..].try_into().unwrap()
}

#[test]
fn linked_modules_share_their_variables() {
    let (library, user) = (Module::named("linked_library"), Module::named("linked_user"));
    let Err(error) = user.try_kernel("user_state") else { panic!("a kernel of a module with open imports") };
    assert_eq!(error.code, ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED);
    let counter = global(&library, c"counter").unwrap();
    // SAFETY: the library's variable, which no kernel uses at this time.
    unsafe { *counter = 7 };
    assert_eq!(state(&library, "library_state"), [7, 1]);
    link(&[&user, &library]).unwrap();
    // The variable's value, the library's count of calls, and the address of the one variable.
    assert_eq!(state(&user, "user_state"), [7, 2, 3, 7]);
    assert_eq!(state(&library, "library_state"), [17, 3]);
    // SAFETY: as above.
    unsafe { *counter = 1000 };
    assert_eq!(state(&user, "user_state"), [1000, 4, 3, 1000]);
    assert_eq!(global(&user, c"counter").unwrap(), counter, "the import's name");
    assert_eq!(global(&library, c"counter").unwrap(), counter);
}

#[test]
fn variables_live_on_when_their_module_is_linked() {
    let (library, user) = (Module::named("linked_library"), Module::named("linked_user"));
    let error = global(&user, c"counter").unwrap_err();
    assert_eq!(error.code, ZE_RESULT_ERROR_INVALID_GLOBAL_NAME, "an import is not there yet");
    let own = global(&user, c"own").unwrap();
    // SAFETY: the module's variable, which no kernel uses.
    unsafe { *own = 44 };
    link(&[&user, &library]).unwrap();
    assert_eq!(global(&user, c"own").unwrap(), own);
    assert_eq!(state(&user, "user_state"), [5, 1, 44, 5]);
    // SAFETY: as above.
    unsafe { *own = 45 };
    // What the program was linked from is kept.
    drop(library);
    assert_eq!(state(&user, "user_state"), [15, 2, 45, 15]);
}

#[test]
fn a_linked_module_is_linked_with_others() {
    let (library, user) = (Module::named("linked_library"), Module::named("linked_user"));
    let chain = Module::named("linked_chain");
    let error = link(&[&chain, &user]).unwrap_err();
    assert_eq!(error.code, ZE_RESULT_ERROR_MODULE_LINK_FAILURE, "the user's imports are open");
    assert!(user.try_kernel("user_state").is_err(), "a failed link links nothing");
    link(&[&user, &library]).unwrap();
    assert_eq!(state(&user, "user_state"), [5, 1, 3, 5]);
    link(&[&chain, &user, &chain]).unwrap();
    assert_eq!(state(&chain, "chain"), [302]);
    assert_eq!(state(&user, "user_state"), [15, 3, 3, 15]);
    // There is nothing left to link.
    link(&[&chain, &user]).unwrap();
    assert_eq!(state(&chain, "chain"), [304]);
}

/// A module whose kernel `both` writes `number` and what the function `value` returns, which it imports, or has itself.
fn module_with_both(number: u32, library: bool) -> Module {
    let (linkage, body) =
        if library { ("Export", "%first = OpLabel\nOpReturnValue %seven\n") } else { ("Import", "") };
    let text = format!(
        "OpCapability Addresses
        OpCapability Linkage
        OpCapability Kernel
        OpMemoryModel Physical64 OpenCL
        OpEntryPoint Kernel %main \"both\"
        OpDecorate %value LinkageAttributes \"value\" {linkage}
        %void = OpTypeVoid
        %uint = OpTypeInt 32 0
        %pointer = OpTypePointer CrossWorkgroup %uint
        %kernel = OpTypeFunction %void %pointer
        %getter = OpTypeFunction %uint
        %seven = OpConstant %uint 7
        %number = OpConstant %uint {number}
        %value = OpFunction %uint None %getter
        {body}OpFunctionEnd
        %main = OpFunction %void None %kernel
        %out = OpFunctionParameter %pointer
        %entry = OpLabel
        %got = OpFunctionCall %uint %value
        %sum = OpIAdd %uint %got %number
        OpStore %out %sum Aligned 4
        OpReturn
        OpFunctionEnd"
    );
    let words = ze_tests::assembler::assemble(&text);
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    Module::new(&bytes).unwrap_or_else(|error| panic!("{error:?}"))
}

#[test]
fn modules_with_kernels_of_one_name_are_linked_and_each_keeps_its_own() {
    let modules =
        [(100, false), (200, false), (300, true)].map(|(number, library)| module_with_both(number, library));
    link(&[&modules[0], &modules[2], &modules[1]]).unwrap();
    assert_eq!([0, 1, 2].map(|at| state::<1>(&modules[at], "both")), [[107], [207], [307]]);
    // And with what was linked so before.
    let more = module_with_both(400, false);
    link(&[&more, &modules[0], &modules[2]]).unwrap();
    assert_eq!(state::<1>(&more, "both"), [407]);
    assert_eq!(state::<1>(&modules[0], "both"), [107]);
}

#[test]
fn modules_that_import_from_each_other_in_one_call() {
    let (library, user) = (Module::named("linked_library"), Module::named("linked_user"));
    let chain = Module::named("linked_chain");
    link(&[&chain, &user, &library]).unwrap();
    assert_eq!(state(&chain, "chain"), [301]);
    assert_eq!(state(&user, "user_state"), [5, 2, 3, 5]);
}

#[test]
fn linkage_is_inspected_before_and_after_linking() {
    let (library, user) = (Module::named("linked_library"), Module::named("linked_user"));
    let inspect = |modules: &[&Module], flags| {
        let mut desc = ze_linkage_inspection_ext_desc_t {
            stype: ZE_STRUCTURE_TYPE_LINKAGE_INSPECTION_EXT_DESC,
            flags,
            ..Default::default()
        };
        let mut handles: Vec<_> = modules.iter().map(|module| module.handle).collect();
        let (count, mut log) = (handles.len() as u32, ptr::null_mut());
        let api = &platform().api;
        // SAFETY: live modules, then a live log and room for its text.
        unsafe {
            let code = api.zeModuleInspectLinkageExt(&mut desc, count, handles.as_mut_ptr(), &mut log);
            platform().check("zeModuleInspectLinkageExt", code).unwrap();
            let mut size = 0;
            api.zeModuleBuildLogGetString(log, &mut size, ptr::null_mut());
            let mut text = vec![0u8; size];
            api.zeModuleBuildLogGetString(log, &mut size, text.as_mut_ptr().cast());
            api.zeModuleBuildLogDestroy(log);
            String::from_utf8(text).unwrap()
        }
    };
    let all = ZE_LINKAGE_INSPECTION_EXT_FLAG_IMPORTS
        | ZE_LINKAGE_INSPECTION_EXT_FLAG_UNRESOLVABLE_IMPORTS
        | ZE_LINKAGE_INSPECTION_EXT_FLAG_EXPORTS;
    let (of_user, of_both) = (inspect(&[&user], all), inspect(&[&user, &library], all));
    assert!(of_user.contains("counter") && of_user.contains("own_and_calls"), "{of_user}");
    let imports = inspect(&[&user], ZE_LINKAGE_INSPECTION_EXT_FLAG_IMPORTS);
    assert!(imports.contains("count_call") && !imports.contains("own"), "{imports}");
    link(&[&user, &library]).unwrap();
    assert_eq!(inspect(&[&user], all), of_user);
    assert_eq!(inspect(&[&user, &library], all), of_both);
}

#[test]
fn scheduling_hints_are_hints() {
    let module = Module::named("saxpy");
    let kernel = module.kernel("saxpy");
    let hint = |flags| {
        let mut hint = ze_scheduling_hint_exp_desc_t {
            stype: ZE_STRUCTURE_TYPE_SCHEDULING_HINT_EXP_DESC,
            flags,
            ..Default::default()
        };
        // SAFETY: a live kernel and a structure of the announced type.
        unsafe { platform().api.zeKernelSchedulingHintExp(kernel.handle, &mut hint) }
    };
    for flags in [
        0,
        ZE_SCHEDULING_HINT_EXP_FLAG_OLDEST_FIRST,
        ZE_SCHEDULING_HINT_EXP_FLAG_ROUND_ROBIN,
        ZE_SCHEDULING_HINT_EXP_FLAG_STALL_BASED_ROUND_ROBIN,
    ] {
        assert_eq!(hint(flags), ZE_RESULT_SUCCESS, "{flags:#x}");
    }
    assert_eq!(hint(1 << 3), ZE_RESULT_ERROR_INVALID_ENUMERATION);
}

/// Creates a module of several binaries of a format.
fn program(format: ze_module_format_t, binaries: &[&[u8]]) -> ze_tests::Result<Module> {
    let platform = platform();
    let sizes: Vec<usize> = binaries.iter().map(|binary| binary.len()).collect();
    let mut starts: Vec<*const u8> = binaries.iter().map(|binary| binary.as_ptr()).collect();
    let several = ze_module_program_exp_desc_t {
        stype: ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC,
        count: binaries.len() as u32,
        inputSizes: sizes.as_ptr(),
        pInputModules: starts.as_mut_ptr(),
        ..Default::default()
    };
    let desc = ze_module_desc_t {
        stype: ZE_STRUCTURE_TYPE_MODULE_DESC,
        pNext: ptr::from_ref(&several).cast(),
        format,
        ..Default::default()
    };
    let mut handle = ptr::null_mut();
    // SAFETY: live handles; the descriptors' arrays outlive the call.
    let code = unsafe {
        platform.api.zeModuleCreate(platform.context, platform.device, &desc, &mut handle, ptr::null_mut())
    };
    platform.check("zeModuleCreate", code).map(|()| Module { handle, log: String::new() })
}

fn native_binary(module: &Module) -> Vec<u8> {
    let mut size = 0;
    // SAFETY: a live module, then room for `size` bytes.
    unsafe {
        platform().api.zeModuleGetNativeBinary(module.handle, &mut size, ptr::null_mut());
        let mut binary = vec![0; size];
        let code = platform().api.zeModuleGetNativeBinary(module.handle, &mut size, binary.as_mut_ptr());
        platform().check("zeModuleGetNativeBinary", code).unwrap();
        binary
    }
}

#[test]
fn a_native_binary_records_the_options_that_it_was_built_with() {
    for (given, recorded) in [
        ("-ze-opt-level=0", "-ze-opt-level=O0"),
        ("-ze-opt-disable -ze-opt-level=2", "-ze-opt-disable -ze-opt-level=O2"),
    ] {
        let binary = native_binary(&Module::with_flags(&spirv("saxpy"), given).unwrap());
        let found = binary.windows(recorded.len()).any(|bytes| bytes == recorded.as_bytes());
        assert!(found, "{given}");
    }
}

/// SYCL's runtime takes what was compiled ahead of time for Intel's GPUs in front of SPIR-V.
#[test]
fn spirv_in_binaries_of_the_offline_compiler_is_used() {
    const SPIRV: u32 = 0xff00_0009;
    const OPTIONS: u32 = 0xff00_0006;
    let generic = offline::file(&[(SPIRV, &spirv("saxpy")), (OPTIONS, b"-cl-mad-enable")]);
    let machine = offline::file(&[(1, b"code")]);
    let fat = offline::archive(&[("64.dg2", &machine), ("generic_ir", &generic)]);
    for binary in [&generic, &fat] {
        let module = program(ZE_MODULE_FORMAT_NATIVE, &[binary]).unwrap();
        let options = b"-cl-mad-enable";
        assert!(native_binary(&module).windows(options.len()).any(|bytes| bytes == options));
        assert_eq!(module.kernel("saxpy").properties().unwrap().numKernelArgs, 4);
    }
    let thin = offline::archive(&[("64.dg2", &machine), ("64.mtl", &machine)]);
    for (binary, word) in [(&machine, "spir64"), (&thin, "64.dg2, 64.mtl")] {
        let Err(error) = program(ZE_MODULE_FORMAT_NATIVE, &[binary]) else {
            panic!("machine code is a module")
        };
        assert_eq!(error.code, ZE_RESULT_ERROR_INVALID_NATIVE_BINARY);
        assert!(error.reason.contains(word), "{}", error.reason);
    }
}

#[test]
fn a_program_is_made_of_spirv_or_of_native_binaries() {
    let (library, user) = (ze_tests::spirv("linked_library"), ze_tests::spirv("linked_user"));
    let whole = program(ZE_MODULE_FORMAT_IL_SPIRV, &[&user, &library]).unwrap();
    assert_eq!(state(&whole, "user_state"), [5, 1, 3, 5]);
    let native =
        [native_binary(&Module::new(&user).unwrap()), native_binary(&Module::new(&library).unwrap())];
    let parts = program(ZE_MODULE_FORMAT_NATIVE, &[&native[0], &native[1]]).unwrap();
    assert_eq!(state(&parts, "user_state"), [5, 1, 3, 5]);
    let again = program(ZE_MODULE_FORMAT_NATIVE, &[&native_binary(&whole)]).unwrap();
    assert_eq!(state(&again, "user_state"), [5, 1, 3, 5]);
    for (format, binary, code) in [
        (ZE_MODULE_FORMAT_NATIVE, &library, ZE_RESULT_ERROR_INVALID_NATIVE_BINARY),
        (ZE_MODULE_FORMAT_IL_SPIRV, &native[1], ZE_RESULT_ERROR_MODULE_BUILD_FAILURE),
        (ze_module_format_t(7), &library, ZE_RESULT_ERROR_INVALID_ENUMERATION),
    ] {
        let Err(error) = program(format, &[binary]) else { panic!("{code:?} is expected") };
        assert_eq!(error.code, code, "{error:?}");
    }
}

#[test]
fn the_log_has_the_reason_of_whatever_is_wrong_with_a_descriptor() {
    let platform = platform();
    let words = spirv("saxpy");
    for format in [2, 3, 7] {
        let desc = ze_module_desc_t {
            stype: ZE_STRUCTURE_TYPE_MODULE_DESC,
            format: ze_module_format_t(format),
            inputSize: words.len(),
            pInputModule: words.as_ptr(),
            ..Default::default()
        };
        let (mut handle, mut log) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: live handles; the descriptor's pointers outlive the call.
        let code = unsafe {
            platform.api.zeModuleCreate(platform.context, platform.device, &desc, &mut handle, &mut log)
        };
        assert_eq!(code, ZE_RESULT_ERROR_INVALID_ENUMERATION, "{format}");
        let mut text = vec![0u8; 400];
        let mut size = text.len();
        // SAFETY: a log, and room for so much of it.
        unsafe {
            let code = platform.api.zeModuleBuildLogGetString(log, &mut size, text.as_mut_ptr().cast());
            assert_eq!(code, ZE_RESULT_SUCCESS);
            assert_eq!(platform.api.zeModuleBuildLogDestroy(log), ZE_RESULT_SUCCESS);
        }
        let text = String::from_utf8_lossy(&text[..size]);
        assert!(text.contains("format") && text.contains(&format.to_string()), "{text}");
    }
}
