//! Runs kernels that print, for tests that read this program's standard output.
//!
//! ```text
//! print KERNEL GROUPS GROUP_SIZE [immediate | list | indirect | twice]    a kernel of `tests/kernels/print.cl`
//! print formats       every conversion of `ze_tests::formats`
//! print assert ITEM   an assertion that fails in this work-item and all behind it
//! ```
//!
//! What the kernel writes to its buffer goes to standard error. The program's own text goes before and behind it.

use std::env;
use ze_headers::*;
use ze_tests::assembler::assemble;
use ze_tests::platform::Result;
use ze_tests::{CommandList, Kernel, ListOptions, Module, Queue, formats, platform};

unsafe extern "C" {
    fn printf(format: *const std::ffi::c_char, ...) -> i32;
}

fn main() -> Result<()> {
    let args: Vec<String> = env::args().skip(1).collect();
    let number = |at: usize| args.get(at).and_then(|text| text.parse().ok()).unwrap_or(1u32);
    match args[0].as_str() {
        "formats" => {
            let module = Module::new(&assemble(&formats::module()))?;
            module.kernel("formats").run([1, 1, 1], [number(1), 1, 1], &[]);
        }
        "assert" => {
            let module = Module::new(&assemble(&formats::assertion_module()))?;
            let kernel = module.kernel("assertion");
            kernel.set_arguments(&[&number(1)])?;
            launch(&kernel, [2, 1, 1], [8, 1, 1], "immediate")?;
        }
        name => {
            let module = Module::named("print");
            let kernel = module.kernel(name);
            let out = platform().filled(7u32, 4096);
            let takes_buffer = kernel.properties()?.numKernelArgs > 0;
            if takes_buffer {
                kernel.set_arguments(&[&out])?;
            }
            let how = args.get(3).map_or("immediate", String::as_str);
            launch(&kernel, [number(1), 1, 1], [number(2), 1, 1], how)?;
            if takes_buffer {
                eprintln!("{:?}", &out[..(number(1) * number(2)) as usize]);
            }
        }
    }
    Ok(())
}

fn launch(kernel: &Kernel, groups: [u32; 3], size: [u32; 3], how: &str) -> Result<()> {
    kernel.set_group_size(size)?;
    // SAFETY: a format without conversions.
    unsafe { printf(c"before\n".as_ptr()) };
    match how {
        "list" | "indirect" | "twice" => {
            let (list, queue) = (CommandList::regular(false)?, Queue::new(ListOptions::asynchronous())?);
            let counts = platform().buffer(&groups);
            if how == "indirect" {
                // SAFETY: live handles; the counts live until the queue has been waited for.
                let code = unsafe {
                    platform().api.zeCommandListAppendLaunchKernelIndirect(
                        list.handle,
                        kernel.handle,
                        counts.pointer().cast::<ze_group_count_t>(),
                        std::ptr::null_mut(),
                        0,
                        std::ptr::null_mut(),
                    )
                };
                platform().check("zeCommandListAppendLaunchKernelIndirect", code)?;
            } else {
                list.launch(kernel, groups, None, &[])?;
            }
            list.close()?;
            for _ in 0..if how == "twice" { 2 } else { 1 } {
                queue.execute(&[&list], None)?;
                queue.synchronize(u64::MAX)?;
            }
        }
        _ => {
            let list = CommandList::immediate(ListOptions::in_order())?;
            list.launch(kernel, groups, None, &[])?;
            list.synchronize(u64::MAX)?;
        }
    }
    // SAFETY: as above.
    unsafe { printf(c"after\n".as_ptr()) };
    Ok(())
}
