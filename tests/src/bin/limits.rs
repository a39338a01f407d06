//! Uses the driver where there is little: memory (`limits address-space|data BYTES`: as much more than the process has when
//! the driver is opened) or stack (`limits stack BYTES`: on a thread with one of this size). Every call succeeds or says that
//! memory ran out, and what is computed is right; else the program fails. It prints how far it came.
//! With the name of a pattern and a size, the kernel is the pattern's (`scale.rs`), which is compiled and launched with no group.

use std::ffi::c_void;
use std::ptr::null_mut;

use ze_headers::*;
use ze_tests::loader::{Api, driver_path};
use ze_tests::process::status;
use ze_tests::scale::PATTERNS;
use ze_tests::spirv;

const ITEMS: u32 = 1000;
const BYTES: usize = 4 * ITEMS as usize;

/// What the run needs of its own, made before there is a limit.
struct Given {
    api: Api,
    spirv: Vec<u8>,
    is_saxpy: bool,
}

/// A call that memory ran out for.
struct Exhausted(&'static str);

fn check(function: &'static str, code: ze_result_t) -> Result<(), Exhausted> {
    match code {
        ZE_RESULT_SUCCESS => Ok(()),
        ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY | ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY => Err(Exhausted(function)),
        // What a command could not have is told to who waits for it.
        ZE_RESULT_ERROR_DEVICE_LOST => Err(Exhausted(function)),
        code => fail(function, code.0),
    }
}

fn say(text: &str) {
    // SAFETY: the text's bytes. Nothing is allocated.
    unsafe { libc::write(1, text.as_ptr().cast(), text.len()) };
}

fn fail(function: &str, code: u32) -> ! {
    let digit = |at: u32| b"0123456789abcdef"[(code >> (4 * at) & 15) as usize];
    let digits = [7, 6, 5, 4, 3, 2, 1, 0].map(digit);
    say(function);
    say(" returned 0x");
    say(std::str::from_utf8(&digits).unwrap_or_default());
    say("\n");
    // SAFETY: ends the process.
    unsafe { libc::_exit(1) }
}

/// A saxpy, from the first call of the API on.
fn run(Given { api, spirv, is_saxpy }: &Given) -> Result<(), Exhausted> {
    // SAFETY: live handles, valid descriptors, and room for what is written.
    unsafe {
        check("zeInit", api.zeInit(0))?;
        let (mut driver, mut device, mut context) = (null_mut(), null_mut(), null_mut());
        check("zeDriverGet", api.zeDriverGet(&mut 1, &mut driver))?;
        check("zeDeviceGet", api.zeDeviceGet(driver, &mut 1, &mut device))?;
        check("zeContextCreate", api.zeContextCreate(driver, &ze_context_desc_t::default(), &mut context))?;
        let (device_desc, host_desc) =
            (ze_device_mem_alloc_desc_t::default(), ze_host_mem_alloc_desc_t::default());
        let mut buffers = [null_mut::<c_void>(); 2];
        for buffer in &mut buffers {
            let code = api.zeMemAllocShared(context, &device_desc, &host_desc, BYTES, 0, device, buffer);
            check("zeMemAllocShared", code)?;
            std::slice::from_raw_parts_mut(buffer.cast::<f32>(), ITEMS as usize).fill(1.0);
        }
        // Larger and larger until it fails, and all of it back.
        let mut large = [null_mut(); 32];
        for (at, pointer) in large.iter_mut().enumerate() {
            if check("", api.zeMemAllocDevice(context, &device_desc, 4096 << at, 0, device, pointer)).is_err()
            {
                break;
            }
        }
        for pointer in large.into_iter().filter(|pointer| !pointer.is_null()) {
            check("zeMemFree", api.zeMemFree(context, pointer))?;
        }
        let desc = ze_module_desc_t {
            format: ZE_MODULE_FORMAT_IL_SPIRV,
            inputSize: spirv.len(),
            pInputModule: spirv.as_ptr(),
            ..Default::default()
        };
        let (mut module, mut kernel, mut list) = (null_mut(), null_mut(), null_mut());
        check("zeModuleCreate", api.zeModuleCreate(context, device, &desc, &mut module, null_mut()))?;
        let desc = ze_kernel_desc_t {
            pKernelName: if *is_saxpy { c"saxpy" } else { c"main" }.as_ptr(),
            ..Default::default()
        };
        check("zeKernelCreate", api.zeKernelCreate(module, &desc, &mut kernel))?;
        check("zeKernelSetGroupSize", api.zeKernelSetGroupSize(kernel, 50, 1, 1))?;
        let (factor, items) = (2.0f32, ITEMS);
        let values: [(usize, *const c_void); 4] = [
            (4, (&raw const factor).cast()),
            (8, (&raw const buffers[0]).cast()),
            (8, (&raw const buffers[1]).cast()),
            (4, (&raw const items).cast()),
        ];
        let values = if *is_saxpy { &values[..] } else { &[values[1], values[3]] };
        for (at, &(size, value)) in values.iter().enumerate() {
            let code = api.zeKernelSetArgumentValue(kernel, at as u32, size, value);
            check("zeKernelSetArgumentValue", code)?;
        }
        let desc = ze_command_queue_desc_t { mode: ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS, ..Default::default() };
        let code = api.zeCommandListCreateImmediate(context, device, &desc, &mut list);
        check("zeCommandListCreateImmediate", code)?;
        let count = if *is_saxpy { ITEMS / 50 } else { 0 };
        let groups = ze_group_count_t { groupCountX: count, groupCountY: 1, groupCountZ: 1 };
        let code = api.zeCommandListAppendLaunchKernel(list, kernel, &groups, null_mut(), 0, null_mut());
        check("zeCommandListAppendLaunchKernel", code)?;
        let result = std::slice::from_raw_parts(buffers[1].cast::<f32>(), ITEMS as usize);
        if *is_saxpy && result.iter().any(|&y| y != 3.0) {
            fail("a wrong result", 0);
        }
        check("zeCommandListDestroy", api.zeCommandListDestroy(list))?;
        check("zeKernelDestroy", api.zeKernelDestroy(kernel))?;
        check("zeModuleDestroy", api.zeModuleDestroy(module))?;
        for pointer in buffers {
            check("zeMemFree", api.zeMemFree(context, pointer))?;
        }
        check("zeContextDestroy", api.zeContextDestroy(context))
    }
}

extern "C" fn report(given: *mut c_void) -> *mut c_void {
    // SAFETY: `main` passes its own and waits.
    let reached = match run(unsafe { &*given.cast::<Given>() }) {
        Ok(()) => "done",
        Err(Exhausted(function)) => function,
    };
    say(reached);
    say("\n");
    // Without what ends a process in order, which is the runtime's and may want memory too.
    // SAFETY: ends the process.
    unsafe { libc::_exit(0) }
}

/// Bytes of a line of `/proc/self/status`.
fn used(line: &str) -> u64 {
    status(line) << 10
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let bytes: u64 = arguments[2].parse().expect("a number of bytes");
    let api = Api::open(&driver_path()).expect("the driver opens");
    let spirv = match &arguments[3..] {
        [name, size] => {
            let pattern = PATTERNS.iter().find(|pattern| pattern.name == name).expect("a pattern");
            (pattern.module)(size.parse().expect("a number"))
        }
        _ => spirv("saxpy"),
    };
    let mut given = Given { api, spirv, is_saxpy: arguments.len() == 3 };
    let given = (&raw mut given).cast::<c_void>();
    if arguments[1] == "stack" {
        // SAFETY: the thread ends the process.
        unsafe {
            let (mut attributes, mut thread) = (std::mem::zeroed(), 0);
            libc::pthread_attr_init(&mut attributes);
            assert_eq!(libc::pthread_attr_setstacksize(&mut attributes, bytes as usize), 0);
            assert_eq!(libc::pthread_create(&mut thread, &attributes, report, given), 0);
            libc::pthread_join(thread, null_mut());
        }
    }
    let (resource, line) = match arguments[1].as_str() {
        "address-space" => (libc::RLIMIT_AS, "VmSize"),
        _ => (libc::RLIMIT_DATA, "VmData"),
    };
    let limit = used(line) + bytes;
    // SAFETY: a valid structure.
    assert_eq!(unsafe { libc::setrlimit(resource, &libc::rlimit { rlim_cur: limit, rlim_max: limit }) }, 0);
    report(given);
}
