//! Ends in one of several ways while the driver is at work. The argument says how; see [`main`].

use std::ffi::c_void;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ze_headers::*;
use ze_tests::{Buffer, CommandList, Kernel, ListOptions, Module, platform};

const ITEMS: usize = 1 << 20;
const SECONDS: u32 = 60;
/// Modules with many kernels.
const MODULES: [&str; 3] = ["math_f32", "conversions", "integers"];

/// A kernel that has run on all threads: what is created from now on is compiled in the background.
struct Program {
    kernel: Kernel,
    _x: Buffer<f32>,
    y: Buffer<f32>,
    _module: Module,
}

impl Program {
    fn new() -> Program {
        let module = Module::named("saxpy");
        let kernel = module.kernel("saxpy");
        let (x, y) = (platform().filled(1.0f32, ITEMS), platform().filled(0.0f32, ITEMS));
        for _ in 0..3 {
            kernel.run_1d(ITEMS, 64, &[&1.0f32, &x, &y, &(ITEMS as u32)]);
        }
        Program { kernel, _x: x, y, _module: module }
    }
}

/// Creates kernels without end or until there are this many.
fn create_kernels(most: usize) {
    let mut created = 0;
    loop {
        for name in MODULES {
            let module = Module::named(name);
            for name in module.kernel_names().unwrap() {
                // They stay, as in a program that ends without tidying up.
                std::mem::forget(module.kernel(&name));
                created += 1;
                if created == most {
                    return std::mem::forget(module);
                }
            }
            std::mem::forget(module);
        }
    }
}

/// Launches what is still running when the process ends.
fn launch_forever(program: &Program) -> ! {
    let list = CommandList::immediate(ListOptions::in_order()).unwrap();
    loop {
        list.launch(&program.kernel, [ITEMS as u32 / 64, 1, 1], None, &[]).unwrap();
        list.synchronize(u64::MAX).unwrap();
    }
}

/// What an exit handler uses.
static LEFT: Mutex<Option<Program>> = Mutex::new(None);
static USED: AtomicBool = AtomicBool::new(false);

/// Uses the driver in every way, after everything that was registered later has been destroyed.
extern "C" fn use_driver() {
    let program = LEFT.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(program) = program else { return };
    let before = program.y[ITEMS - 1];
    let list = CommandList::immediate(ListOptions::in_order()).unwrap();
    for _ in 0..3 {
        list.launch(&program.kernel, [ITEMS as u32 / 64, 1, 1], None, &[]).unwrap();
    }
    list.synchronize(u64::MAX).unwrap();
    assert!(program.y.iter().all(|&y| y == before + 3.0));
    // A kernel that has to be compiled.
    let (x, y) = (platform().filled(1.0f32, ITEMS), platform().filled(0.0f32, ITEMS));
    let module = Module::named("saxpy");
    module.kernel("saxpy").run_1d(ITEMS, 32, &[&2.0f32, &x, &y, &(ITEMS as u32)]);
    assert!(y.iter().all(|&y| y == 2.0));
    drop((list, program, x, y, module));
    // SAFETY: nothing of the context is used afterwards.
    assert_eq!(unsafe { platform().api.zeContextDestroy(platform().context) }, ZE_RESULT_SUCCESS);
    USED.store(true, Ordering::Relaxed);
}

/// Registered first, so the last: the process fails unless the driver could be used.
extern "C" fn check_used() {
    if !USED.load(Ordering::Relaxed) {
        // SAFETY: ends the process.
        unsafe { libc::_exit(9) };
    }
}

/// Gives the driver's threads time to meet what was destroyed: everything that was registered after this handler.
extern "C" fn linger() {
    std::thread::sleep(Duration::from_millis(100));
}

unsafe extern "C" fn exit_now(_: *mut c_void) {
    // SAFETY: ends the process, from a thread of the driver.
    unsafe { libc::exit(0) };
}

fn main() -> ExitCode {
    // SAFETY: the default action ends the process.
    unsafe { libc::alarm(SECONDS) };
    let way = std::env::args().nth(1).unwrap_or_default();
    // SAFETY: a function of this program.
    unsafe { libc::atexit(linger) };
    if way == "handler" {
        // SAFETY: functions of this program.
        unsafe { (libc::atexit(check_used), libc::atexit(use_driver)) };
    }
    let program = Program::new();
    match way.as_str() {
        // Returns from `main` at once.
        "return" => create_kernels(60),
        // Another thread ends the process.
        "thread" => {
            static STARTED: AtomicU32 = AtomicU32::new(0);
            std::thread::spawn(|| {
                while STARTED.load(Ordering::Relaxed) == 0 {
                    std::thread::yield_now();
                }
                std::thread::sleep(Duration::from_millis(20));
                // SAFETY: ends the process.
                unsafe { libc::exit(0) };
            });
            STARTED.store(1, Ordering::Relaxed);
            create_kernels(usize::MAX);
        }
        // The process ends with a launch in flight, and compilations.
        "launch" => {
            std::thread::spawn(move || launch_forever(&program));
            create_kernels(20);
            return ExitCode::SUCCESS;
        }
        // A host function ends the process, on a thread of the driver, while another waits for it.
        "callback" => {
            create_kernels(20);
            let list = CommandList::immediate(ListOptions::in_order()).unwrap();
            // SAFETY: the function takes no data.
            let code = unsafe {
                platform().api.zeCommandListAppendHostFunction(
                    list.handle,
                    Some(exit_now),
                    std::ptr::null_mut(),
                    std::ptr::null(),
                    std::ptr::null_mut(),
                    0,
                    std::ptr::null_mut(),
                )
            };
            assert_eq!(code, ZE_RESULT_SUCCESS);
            let _ = list.synchronize(u64::MAX);
            return ExitCode::FAILURE;
        }
        // An exit handler goes on using the driver.
        "handler" => {
            create_kernels(20);
            *LEFT.lock().unwrap_or_else(PoisonError::into_inner) = Some(program);
            return ExitCode::SUCCESS;
        }
        other => panic!("no such way to end: '{other}'"),
    }
    std::mem::forget(program);
    ExitCode::SUCCESS
}
