//! Kernels and copies that access memory which is not there: they are lost, who waits for them is told why, and the process, its
//! list and its device go on. What the program does with the signals stays its own.

use std::ffi::c_void;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use ze_headers::*;
use ze_tests::{Buffer, CommandList, Error, ListOptions, Local, Module, platform};

use crate::virtual_memory::{PAGE, Physical, release, reserve};

const COUNT: usize = 1 << 16;

fn assert_lost(error: &Error, reasons: &[&str]) {
    assert_eq!(error.code, ZE_RESULT_ERROR_DEVICE_LOST, "{error:?}");
    assert!(reasons.iter().all(|reason| error.reason.contains(reason)), "{error:?} without {reasons:?}");
}

/// Addresses of the program with nothing behind them.
struct Hole(*mut c_void);

impl Hole {
    const BYTES: usize = 64 * PAGE;

    fn new() -> Hole {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), Hole::BYTES, libc::PROT_NONE, flags, -1, 0) };
        assert_ne!(at, libc::MAP_FAILED);
        Hole(at)
    }
}

impl Drop for Hole {
    fn drop(&mut self) {
        // SAFETY: its own mapping.
        unsafe { libc::munmap(self.0, Hole::BYTES) };
    }
}

/// A list is of use after a fault, and so is the kernel.
fn runs_still(y: &Buffer<f32>) {
    let kernel = Module::named("saxpy").kernel("saxpy");
    let before = y[5];
    kernel.run_1d(COUNT, 64, &[&1.0f32, &platform().filled(2.0f32, COUNT), y, &(COUNT as u32)]);
    assert_eq!(y[5], before + 2.0);
}

#[test]
fn a_kernel_that_follows_a_wrong_pointer_is_lost_and_nothing_else() {
    let (x, y) = (platform().filled(1.0f32, COUNT), platform().filled(0.0f32, COUNT));
    let (hole, kernel) = (Hole::new(), Module::named("saxpy").kernel("saxpy"));
    // Few enough that all of what a null pointer leads to is seen to be that.
    let n = 4096;
    let groups = [n / 64, 1, 1];
    let cases: [(u64, &str); 4] = [
        (0, "null pointer"),
        (256, "null pointer"),
        (hole.0 as u64, "no memory that allows it"),
        (1 << 63, "no memory can have"),
    ];
    for (bad, reason) in cases {
        for of_x in [true, false] {
            let run = || match of_x {
                true => kernel.try_run(groups, [64, 1, 1], &[&1.0f32, &bad, &y, &n]),
                false => kernel.try_run(groups, [64, 1, 1], &[&1.0f32, &x, &bad, &n]),
            };
            assert_lost(&run().unwrap_err(), &["kernel 'saxpy'", reason]);
            // Asynchronously, the wait tells it; and the list goes on.
            let list = CommandList::immediate(ListOptions::asynchronous()).unwrap();
            list.launch(&kernel, groups, None, &[]).unwrap();
            assert_lost(&list.synchronize(u64::MAX).unwrap_err(), &["kernel 'saxpy'", reason]);
            kernel.set_arguments(&[&1.0f32, &x, &y, &n]).unwrap();
            list.launch(&kernel, groups, None, &[]).unwrap();
            list.synchronize(u64::MAX).unwrap();
            runs_still(&y);
        }
    }
}

#[test]
fn what_is_near_is_told() {
    let bytes = 64 * PAGE;
    let (at, memory) = (reserve(2 * bytes), Physical::device(bytes));
    memory.map(at, bytes, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE).unwrap();
    let y = platform().filled(0.0f32, bytes / 2);
    let kernel = Module::named("saxpy").kernel("saxpy");
    let n = (bytes / 2) as u32;
    // Twice as many elements as there are, by threads beside each other.
    let error = kernel.try_run([n / 64, 1, 1], [64, 1, 1], &[&1.0f32, &(at as u64), &y, &n]).unwrap_err();
    let size = format!("{bytes} bytes of device memory");
    assert_lost(&error, &["a read from", "behind the end of", &size]);
    // SAFETY: in the reservation.
    let upper = unsafe { at.add(bytes) };
    memory.map(upper, bytes, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY).unwrap();
    let error = kernel.try_run([n / 64, 1, 1], [64, 1, 1], &[&1.0f32, &y, &(at as u64), &n]).unwrap_err();
    assert_lost(&error, &["a write to", "of device memory"]);
    kernel.try_run([n / 64, 1, 1], [64, 1, 1], &[&1.0f32, &(at as u64), &y, &n]).unwrap();
    drop(memory);
    crate::virtual_memory::unmap(at, bytes).unwrap();
    crate::virtual_memory::unmap(upper, bytes).unwrap();
    release(at, 2 * bytes).unwrap();
}

#[test]
fn a_kernel_with_barriers_is_lost_as_well() {
    let kernel = Module::named("reduction").kernel("reduce_float");
    let (hole, partial) = (Hole::new(), platform().filled(0.0f32, COUNT));
    let x = platform().filled(1.0f32, COUNT);
    let n = COUNT as u32;
    for size in [16, 64, 256, 1024] {
        let groups = [n / size, 1, 1];
        let scratch = Local(4 * size as usize);
        for bad in [hole.0 as u64, 0] {
            let result = kernel.try_run(groups, [size, 1, 1], &[&bad, &partial, &scratch, &n]);
            assert_lost(&result.unwrap_err(), &["kernel 'reduce_float'", "a read from"]);
            let result = kernel.try_run(groups, [size, 1, 1], &[&x, &bad, &scratch, &n]);
            assert_lost(&result.unwrap_err(), &["kernel 'reduce_float'", "a write to"]);
        }
        kernel.run(groups, [size, 1, 1], &[&x, &partial, &scratch, &n]);
        let sum: f32 = partial[..groups[0] as usize].iter().sum();
        assert_eq!(sum, COUNT as f32);
    }
}

/// GPUs give local memory in pieces of a kilobyte and more, which some programs use up.
#[test]
fn local_memory_ends_in_pages_of_its_own() {
    let kernel = Module::named("faults").kernel("beyond_local");
    let out = platform().filled(0u32, 4 * 64);
    let run = |count: u32| kernel.try_run([4, 1, 1], [64, 1, 1], &[&Local(64), &out, &count]);
    for _ in 0..4 {
        run(256).unwrap();
        assert!((0..4 * 64).all(|at| out[at] == 255 - at as u32 % 64));
        for count in [1 << 20, 1 << 28] {
            assert_lost(&run(count).unwrap_err(), &["kernel 'beyond_local'", "a write to"]);
        }
    }
}

/// Where compiling it takes as much memory as there is between the two, it is not the launch that fails.
#[test]
fn accesses_that_are_far_apart_are_two() {
    let (x, y) = (platform().filled(1.0f32, 2 * 64), platform().filled(0.0f32, 64));
    let kernel = Module::named("faults").kernel("far_away");
    let error = kernel.try_run([1, 1, 1], [64, 1, 1], &[&x, &y]).unwrap_err();
    assert_lost(&error, &["kernel 'far_away'", "no memory can have"]);
}

#[test]
fn copies_and_fills_are_lost() {
    let (hole, y) = (Hole::new(), platform().filled(3.0f32, COUNT));
    let list = CommandList::immediate(ListOptions::synchronous()).unwrap();
    let own = y.pointer() as *mut c_void;
    // SAFETY: the driver looks at what is accessed.
    unsafe {
        for bytes in [1, 4096, Hole::BYTES] {
            let error = list.copy(hole.0, own, bytes, None, &[]).unwrap_err();
            assert_lost(&error, &["a copy", "a write to"]);
            let error = list.copy(own, hole.0, bytes, None, &[]).unwrap_err();
            assert_lost(&error, &["a copy", "a read from"]);
        }
        let code = platform().api.zeCommandListAppendMemoryFill(
            list.handle,
            hole.0,
            (&raw const own).cast(),
            8,
            4096,
            std::ptr::null_mut(),
            0,
            std::ptr::null_mut(),
        );
        let error = platform().check("zeCommandListAppendMemoryFill", code).unwrap_err();
        assert_lost(&error, &["a fill", "a write to"]);
        list.copy(own, own.add(64), 64, None, &[]).unwrap();
    }
    runs_still(&y);
}

/// What a program ends with that does this (see `src/bin/faults.rs`).
fn ended(what: &str, variables: &[(&str, &str)]) -> (Option<i32>, Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_faults"));
    let output = command.arg(what).envs(variables.iter().copied()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code(), output.status.signal(), text)
}

#[test]
fn signals_of_the_program_stay_its_own() {
    // Its own fault ends it, before and after one of a kernel.
    assert_eq!(ended("own", &[]).1, Some(libc::SIGSEGV));
    assert_eq!(ended("kernel own", &[]), (None, Some(libc::SIGSEGV), "lost\n".into()));
    // One that is sent to it, as well.
    assert_eq!(ended("kernel sent", &[]), (None, Some(libc::SIGSEGV), "lost\n".into()));
    // Its own handler is called for its own faults, and not for those of kernels.
    assert_eq!(ended("handler kernel own", &[]), (Some(7), None, "lost\n".into()));
    assert_eq!(ended("plain-handler kernel own", &[]), (Some(7), None, "lost\n".into()));
    assert_eq!(ended("handler kernel sent", &[]), (Some(7), None, "lost\n".into()));
    // Where the driver is to leave faults alone, a kernel's are the program's.
    let signal = [("ZE_CPU_FAULTS", "signal")];
    assert_eq!(ended("kernel", &signal).1, Some(libc::SIGSEGV));
    assert_eq!(ended("handler kernel", &signal), (Some(7), None, String::new()));
    // A handler that is there for a while, as around a test, and takes the driver's away when it goes, is gone then, and kernels' faults are
    // caught.
    assert_eq!(ended("handler good back kernel", &[]), (Some(0), None, "lost\n".into()));
    assert_eq!(
        ended("handler kernel back kernel own", &[]),
        (None, Some(libc::SIGSEGV), "lost\nlost\n".into())
    );
    // A thread that has blocked all signals would be killed by one that the processor raises.
    assert_eq!(ended("block kernel", &[]), (Some(0), None, "lost\n".into()));
    assert_eq!(ended("good block kernel", &[]), (Some(0), None, "lost\n".into()));
    // A child of a program that had such a fault has them caught, too.
    assert_eq!(ended("kernel fork kernel", &[]), (Some(0), None, "lost\nlost\n".into()));
}
