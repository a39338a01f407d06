//! Forks a program that uses the driver, and shows that parent and child go on: with a queue that had nothing to do, with
//! one that waited for an event, with one that another thread was inside of, and with a new one. Fails where something does not; an alarm ends it where it hangs.

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ze_headers::*;
use ze_tests::{Buffer, CommandList, Event, EventPool, Kernel, ListOptions, Module, platform};

const ITEMS: usize = 1 << 20;
const SECONDS: u32 = 60;
const NANOSECONDS: u64 = 30_000_000_000;

struct Program {
    kernel: Kernel,
    x: Buffer<f32>,
    y: Buffer<f32>,
    pool: EventPool,
    _module: Module,
}

impl Program {
    fn new() -> Program {
        let module = Module::named("saxpy");
        let kernel = module.kernel("saxpy");
        let (x, y) = (platform().filled(1.0f32, ITEMS), platform().filled(0.0f32, ITEMS));
        kernel.set_group_size([64, 1, 1]).unwrap();
        kernel.set_arguments(&[&1.0f32, &x, &y, &(ITEMS as u32)]).unwrap();
        Program { kernel, x, y, pool: EventPool::host_visible(10), _module: module }
    }

    /// Adds `x` to `y`, which the list's own thread does, as this one only looks whether it is done.
    fn add(&mut self, list: &CommandList, event: u32) {
        let (want, done) = (self.y[0] + 1.0, self.pool.event(event));
        list.launch(&self.kernel, [ITEMS as u32 / 64, 1, 1], Some(&done), &[]).unwrap();
        let end = Instant::now() + Duration::from_nanos(NANOSECONDS);
        while !done.is_signalled() {
            assert!(Instant::now() < end, "the launch does not end");
            std::thread::yield_now();
        }
        assert!(self.y.iter().all(|&y| y == want) && self.x[0] == 1.0);
        list.synchronize(NANOSECONDS).unwrap();
    }
}

/// A kernel that runs until it is told to stop.
struct Spin {
    kernel: Kernel,
    started: Buffer<u32>,
    stop: Buffer<u32>,
    _module: Module,
}

impl Spin {
    fn new() -> Spin {
        let module = Module::named("launches");
        let (started, stop) = (platform().filled(0u32, 1), platform().filled(0u32, 1));
        let kernel = module.kernel("wait_for_host");
        kernel.set_arguments(&[&started, &stop]).unwrap();
        Spin { kernel, started, stop, _module: module }
    }

    /// Runs it in a thread of its own, which waits for it in the driver.
    fn start(&self, list: &CommandList, event: &Event) -> JoinHandle<()> {
        let (list, kernel, event) =
            (list.handle as usize, self.kernel.handle as usize, event.handle as usize);
        let thread = std::thread::spawn(move || {
            let one = ze_group_count_t { groupCountX: 1, groupCountY: 1, groupCountZ: 1 };
            // SAFETY: live handles.
            let code = unsafe {
                platform().api.zeCommandListAppendLaunchKernel(
                    list as _,
                    kernel as _,
                    &one,
                    event as _,
                    0,
                    std::ptr::null_mut(),
                )
            };
            platform().check("zeCommandListAppendLaunchKernel", code).unwrap();
        });
        // SAFETY: the kernel writes it.
        while unsafe { self.started.pointer().read_volatile() } == 0 {
            std::thread::yield_now();
        }
        thread
    }

    fn stop(&mut self) {
        // SAFETY: the kernel reads it.
        unsafe { self.stop.pointer().write_volatile(1) };
    }
}

fn main() {
    // SAFETY: the default action ends the process, and the child has an alarm of its own.
    unsafe { libc::alarm(SECONDS) };
    let mut program = Program::new();
    let list = || CommandList::immediate(ListOptions::in_order()).unwrap();
    let (idle, blocked) = (list(), list());
    let busy = CommandList::immediate(ListOptions::synchronous()).unwrap();
    let (mut spin, spun) = (Spin::new(), program.pool.event(7));
    for _ in 0..10 {
        program.add(&idle, 0);
    }
    let (gate, polled, waited) = (program.pool.event(1), program.pool.event(2), program.pool.event(3));
    blocked.barrier(Some(&polled), &[&gate]).unwrap();
    blocked.barrier(Some(&waited), &[]).unwrap();

    let spinning = spin.start(&busy, &spun);

    // SAFETY: the process has threads of the driver only, and the child ends below.
    let child = unsafe { libc::fork() };
    if child != 0 {
        assert!(child > 0, "the process cannot fork");
        program.add(&idle, 4);
        spin.stop();
        spinning.join().unwrap();
        spun.wait(NANOSECONDS).unwrap();
        gate.signal().unwrap();
        waited.wait(NANOSECONDS).unwrap();
        blocked.synchronize(NANOSECONDS).unwrap();
        let mut status = 0;
        // SAFETY: `status` is a valid place to write to.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!(status, 0, "how the child ended");
        println!("ok: parent and child go on");
        return;
    }
    // SAFETY: as above.
    unsafe { libc::alarm(SECONDS) };
    // SAFETY: a call without pointers.
    assert_eq!(unsafe { platform().api.zeInit(0) }, ZE_RESULT_SUCCESS);
    program.add(&idle, 4);
    program.add(&list(), 5);
    // What the parent executes is lost in the child, and that is told.
    // SAFETY: a live event.
    let status = unsafe { platform().api.zeEventQueryStatus(polled.handle) };
    assert_eq!(status, ZE_RESULT_ERROR_DEVICE_LOST);
    assert_eq!(waited.wait(u64::MAX).unwrap_err().code, ZE_RESULT_ERROR_DEVICE_LOST);
    let error = blocked.synchronize(u64::MAX).unwrap_err();
    assert!(error.code == ZE_RESULT_ERROR_DEVICE_LOST && error.reason.contains("fork"), "{error:?}");
    program.add(&blocked, 6);
    blocked.synchronize(NANOSECONDS).unwrap();
    assert_eq!(spun.wait(u64::MAX).unwrap_err().code, ZE_RESULT_ERROR_DEVICE_LOST);
    let error = busy.synchronize(u64::MAX).unwrap_err();
    assert!(error.code == ZE_RESULT_ERROR_DEVICE_LOST && error.reason.contains("fork"), "{error:?}");
    program.add(&busy, 8);
}
