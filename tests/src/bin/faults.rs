//! Does, one after the other, what its argument says, to show whose faults are whose: `kernel` launches one that writes where
//! nothing is, and prints `lost` where that is what it is told; `own` writes there itself; `sent` sends itself the signal;
//! `handler` and `plain-handler` install a handler, which ends the program with status 7; `back` installs what was there before the last of them;
//! `block` blocks all signals; `good` launches a kernel that does nothing wrong; `fork` goes on in a child.

use ze_headers::*;
use ze_tests::{Module, platform};

extern "C" fn end(_: libc::c_int) {
    // SAFETY: ends the process.
    unsafe { libc::_exit(7) };
}

extern "C" fn end_with_context(
    signal: libc::c_int,
    info: *const libc::siginfo_t,
    context: *const libc::c_void,
) {
    // SAFETY: what a handler of this kind is given.
    let told = !context.is_null() && unsafe { (*info).si_signo } == signal;
    // SAFETY: ends the process.
    unsafe { libc::_exit(if told { 7 } else { 8 }) };
}

/// Returns what was there before.
fn install(handler: usize, flags: libc::c_int) -> libc::sigaction {
    // SAFETY: a handler of the kind that the flags say.
    unsafe {
        let [mut action, mut before]: [libc::sigaction; 2] = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = flags;
        assert_eq!(libc::sigaction(libc::SIGSEGV, &action, &mut before), 0);
        before
    }
}

fn block() {
    // SAFETY: a set of this thread's.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        assert_eq!(libc::pthread_sigmask(libc::SIG_BLOCK, &all, std::ptr::null_mut()), 0);
    }
}

fn good() {
    let kernel = Module::named("saxpy").kernel("saxpy");
    let [x, y] = [1.0f32, 2.0].map(|value| platform().filled(value, 1024));
    kernel.run([16, 1, 1], [64, 1, 1], &[&1.0f32, &x, &y, &1024u32]);
}

fn launch() {
    let kernel = Module::named("saxpy").kernel("saxpy");
    let x = platform().filled(1.0f32, 1024);
    let error = kernel.try_run([16, 1, 1], [64, 1, 1], &[&1.0f32, &x, &64u64, &1024u32]).unwrap_err();
    assert_eq!(error.code, ZE_RESULT_ERROR_DEVICE_LOST, "{error:?}");
    // A child has what is in the buffer of standard output, too.
    // SAFETY: the text's bytes.
    unsafe { libc::write(1, "lost\n".as_ptr().cast(), 5) };
}

fn fork() {
    // SAFETY: the child goes on with what is to be done.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "no child");
    if child > 0 {
        let mut status = 0;
        // SAFETY: its own child.
        unsafe { libc::waitpid(child, &mut status, 0) };
        std::process::exit(if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 99 });
    }
}

fn main() {
    // The standard library has a handler of its own, for its message of a stack that runs over.
    install(libc::SIG_DFL, 0);
    let mut before = Vec::new();
    let what = std::env::args().nth(1).unwrap_or_default();
    for what in what.split(' ') {
        match what {
            "kernel" => launch(),
            // SAFETY: it ends here.
            "own" => unsafe { std::hint::black_box(64 as *mut u8).write_volatile(1) },
            // SAFETY: as above.
            "sent" => _ = unsafe { libc::raise(libc::SIGSEGV) },
            "handler" => before.push(install(end_with_context as *const () as usize, libc::SA_SIGINFO)),
            "plain-handler" => before.push(install(end as *const () as usize, 0)),
            "back" => {
                let before: libc::sigaction = before.pop().expect("a handler was installed");
                _ = install(before.sa_sigaction, before.sa_flags);
            }
            "block" => block(),
            "good" => good(),
            "fork" => fork(),
            _ => panic!("{what}: kernel, good, own, sent, handler, plain-handler, back, block or fork"),
        }
    }
}
