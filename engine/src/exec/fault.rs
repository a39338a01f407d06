//! Faults: what the processor refuses while a kernel, a copy or a compilation runs ends that, and not the process.
//!
//! A GPU that meets an address where nothing is tells its driver, and the program learns that the device is lost. A processor tells the
//! process by a signal, which ends it. So the driver has a handler for those signals. Where a thread is in the middle of what can be
//! ended (it has a [`Recovery`]), the handler notes what was refused and has the thread go on behind it: nothing in between owns
//! anything. Every other signal is the program's, and its handler is called, or what the system does without one is done.
//!
//! The handler runs at any instruction. It reads what [`with`] has written, by way of the places of `fork/sections.rs` and not by
//! thread-local storage, which may have to be allocated, and it writes a few words.

use super::failure::{Failure, Reason};
use super::switch::{StackPointer, escapable};
use crate::fork::{recovery_place, recovery_place_of, this_thread};
use libc::{c_int, c_void, sigaction, siginfo_t, ucontext_t};
use std::cell::Cell;
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering, compiler_fence};

/// What processors refuse: accesses, instructions, and operations on numbers.
const SIGNALS: [c_int; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE];
/// Addresses below it are those of members of what a null pointer does not lead to.
const NULL_BYTES: usize = 64 << 10;
/// An access that faults so near below the stack's end is one of the stack's.
const BELOW_STACK: usize = 1 << 20;
/// Of the stack that a compilation's handler runs on: its frame, with all registers that a processor may have, and a few calls.
const ALTERNATE_BYTES: usize = 48 << 10;

/// What was to be done where the processor refused it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    Read,
    Write,
    Execute,
    /// A push or a variable beyond the end of the stack.
    Stack,
    /// No access, or one whose address the processor does not tell: one that no memory can have.
    Other,
}

/// What the processor refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault {
    pub access: Access,
    pub address: usize,
    pub signal: c_int,
}

impl Fault {
    /// In one word, beside the address.
    pub(super) fn code(self) -> u64 {
        self.access as u64 | (self.signal as u64) << 8
    }

    pub(super) fn from_code(code: u64, address: u64) -> Fault {
        let all = [Access::Read, Access::Write, Access::Execute, Access::Stack];
        let access = all.into_iter().find(|access| *access as u64 == code & 0xff).unwrap_or(Access::Other);
        Fault { access, address: address as usize, signal: (code >> 8) as c_int }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = self.address;
        let what = match (self.signal, self.access) {
            (libc::SIGILL, _) => {
                return write!(f, "an instruction at {address:#x} that the processor does not have");
            }
            (libc::SIGFPE, _) => return write!(f, "an operation on numbers that the processor does not do"),
            (_, Access::Other) => return write!(f, "an access to an address that no memory can have"),
            (_, Access::Stack) => return write!(f, "its stack ran over, at {address:#x}"),
            (_, Access::Read) => "a read from",
            (_, Access::Write) => "a write to",
            (_, Access::Execute) => "a call of",
        };
        match self.signal {
            libc::SIGBUS => write!(f, "{what} {address:#x}, which has lost its memory or file"),
            _ if address < NULL_BYTES => write!(f, "{what} {address:#x}, through a null pointer"),
            _ => write!(f, "{what} {address:#x}, where the process has no memory that allows it"),
        }
    }
}

/// Where a thread goes on after a fault.
pub struct Recovery {
    /// The suspended stack to resume; null while there is none yet.
    pub escape: *const StackPointer,
    /// Where the fault is noted.
    pub failure: *const Failure,
}

static IS_ENABLED: AtomicBool = AtomicBool::new(false);

/// What the program did with a signal before the driver's handler was there. Handlers read it at any time.
struct Before {
    handler: AtomicUsize,
    flags: AtomicI32,
}

static BEFORE: [Before; SIGNALS.len()] =
    [const { Before { handler: AtomicUsize::new(libc::SIG_DFL), flags: AtomicI32::new(0) } }; SIGNALS.len()];

/// Commands of a thread from one [`look`] to the next: it takes as long as a small kernel.
const COMMANDS: u32 = 256;

thread_local! {
    /// Commands that the thread has yet to execute before it looks again.
    static LEFT: Cell<u32> = const { Cell::new(0) };
}

/// Has faults caught from now on. Nothing is done before a kernel, a copy or a compilation runs.
pub fn enable() {
    IS_ENABLED.store(true, Ordering::Relaxed);
}

/// Has faults of this thread come to the driver's handler. Programs may take it away, as those do that set their own and put back what was there
/// before they knew of the driver (frameworks for tests do, around each of them); what came after the driver stays. And threads that have
/// blocked all signals, as servers' do, would be killed by a fault: who blocks those that the processor raises gains nothing.
#[cold]
pub fn look() {
    if !IS_ENABLED.load(Ordering::Relaxed) {
        return;
    }
    static IS_KNOWN: AtomicBool = AtomicBool::new(false);
    accept();
    // Threads that look at the same time do the same. What the program did is read by a handler only once that is there.
    let is_known = IS_KNOWN.swap(true, Ordering::Relaxed);
    for (signal, before) in SIGNALS.into_iter().zip(&BEFORE) {
        let mut now = MaybeUninit::<sigaction>::zeroed();
        // SAFETY: places of the right types. The handler takes what a handler of this kind is given.
        unsafe {
            if sigaction(signal, ptr::null(), now.as_mut_ptr()) != 0 {
                continue;
            }
            let mut own = now.assume_init();
            let is_handled = ![libc::SIG_DFL, libc::SIG_IGN].contains(&own.sa_sigaction);
            if own.sa_sigaction == on_signal as *const () as usize || (is_known && is_handled) {
                continue;
            }
            before.flags.store(own.sa_flags, Ordering::Relaxed);
            before.handler.store(own.sa_sigaction, Ordering::Release);
            // What the program has blocked in its handler stays blocked there.
            own.sa_flags &= libc::SA_NODEFER | libc::SA_RESTART;
            own.sa_flags |= libc::SA_SIGINFO | libc::SA_ONSTACK;
            own.sa_sigaction = on_signal as *const () as usize;
            sigaction(signal, &own, ptr::null_mut());
        }
    }
}

/// Has the thread take these signals.
fn accept() {
    let mut signals = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: a set of this thread's, which is made first.
    unsafe {
        libc::sigemptyset(signals.as_mut_ptr());
        for signal in SIGNALS {
            libc::sigaddset(signals.as_mut_ptr(), signal);
        }
        libc::pthread_sigmask(libc::SIG_UNBLOCK, signals.as_ptr(), ptr::null_mut());
    }
}

/// Runs `work`. What it makes the processor refuse is noted, and resumes what is suspended at `recovery.escape`, which is in `work`
/// or around it but not around this call.
///
/// # Safety
/// What is between that and whatever is refused owns nothing, and what `recovery` leads to lives as long as this call.
#[inline]
pub(super) unsafe fn with<R>(recovery: &Recovery, work: impl FnOnce() -> R) -> R {
    if !IS_ENABLED.load(Ordering::Relaxed) {
        return work();
    }
    // A thread that is about to end has neither.
    _ = LEFT.try_with(|left| match left.get() {
        0 => {
            left.set(COMMANDS);
            look();
        }
        more => left.set(more - 1),
    });
    let Some(place) = recovery_place() else { return work() };
    let before = place.load(Ordering::Relaxed);
    place.store(ptr::from_ref(recovery).cast_mut().cast(), Ordering::Relaxed);
    compiler_fence(Ordering::SeqCst);
    let result = work();
    compiler_fence(Ordering::SeqCst);
    place.store(before, Ordering::Relaxed);
    result
}

/// Runs `work`, or as much of it as the processor does.
///
/// # Safety
/// As far as `work` may be refused, it owns nothing.
pub unsafe fn catch(work: impl FnOnce()) -> Result<(), Fault> {
    let failure = Failure::default();
    // SAFETY: passed on to the caller.
    unsafe { catch_into(&failure, |_| work()) };
    match failure.get() {
        Some(Reason::Fault(fault)) => Err(fault),
        _ => Ok(()),
    }
}

/// As [`catch`], for who looks at the failure later. `work` is told where what is resumed then is suspended, and may resume it itself.
///
/// # Safety
/// As there; and the failure lives as long as this call.
pub unsafe fn catch_into<F: FnOnce(*mut StackPointer)>(failure: *const Failure, work: F) {
    unsafe extern "C" fn run<F: FnOnce(*mut StackPointer)>(call: *mut u8) {
        // SAFETY: what is passed below, once.
        if let Some((work, place)) = unsafe { (*call.cast::<Option<(F, *mut StackPointer)>>()).take() } {
            work(place);
        }
    }
    let mut suspended: StackPointer = ptr::null_mut();
    let place = &raw mut suspended;
    let recovery = Recovery { escape: place, failure };
    let mut call = Some((work, place));
    // SAFETY: `run` gets what it expects, and the rest is up to the caller.
    unsafe { with(&recovery, || escapable(place, run::<F>, (&raw mut call).cast())) };
}

/// Runs `work`, on a thread of the driver's, so that it may use all of the thread's stack: a handler has another.
pub fn with_alternate_stack<R>(work: impl FnOnce() -> R) -> R {
    let mut room = MaybeUninit::<[u8; ALTERNATE_BYTES]>::uninit();
    let stack = libc::stack_t { ss_sp: room.as_mut_ptr().cast(), ss_flags: 0, ss_size: ALTERNATE_BYTES };
    let none = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
    // SAFETY: the room is there until the thread has no such stack any more.
    unsafe { libc::sigaltstack(&stack, ptr::null_mut()) };
    let result = work();
    // SAFETY: as above.
    unsafe { libc::sigaltstack(&none, ptr::null_mut()) };
    result
}

unsafe extern "C" fn on_signal(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: what the system gives a handler.
    unsafe {
        if (*info).si_code <= 0 || !go_on_elsewhere(signal, info, context.cast()) {
            leave_to_program(signal, info, context);
        }
    }
}

/// Has the thread go on where its recovery says when the handler returns. False: it has none.
///
/// # Safety
/// What the system gives a handler of a fault.
#[cfg(target_arch = "x86_64")]
unsafe fn go_on_elsewhere(signal: c_int, info: *const siginfo_t, context: *mut ucontext_t) -> bool {
    // SAFETY: the thread's own; `with` keeps it while it is there.
    let Some(place) = recovery_place_of(this_thread()) else { return false };
    let recovery = place.load(Ordering::Relaxed).cast::<Recovery>();
    // SAFETY: by the contract of `with`, and what is at `escape` is a frame as `switch_stack` leaves it.
    unsafe {
        let Some(recovery) = recovery.as_ref() else { return false };
        let frame = (*recovery.escape).cast::<libc::greg_t>();
        if frame.is_null() || recovery.failure.is_null() {
            return false;
        }
        let registers = &mut (*context).uc_mcontext.gregs;
        let register = |at: c_int| at as usize;
        let stack = registers[register(libc::REG_RSP)] as usize;
        let fault = fault(signal, info, registers[register(libc::REG_ERR)], stack);
        (*recovery.failure).note(fault);
        let kept = [libc::REG_RBP, libc::REG_RBX, libc::REG_R12, libc::REG_R13, libc::REG_R14, libc::REG_R15];
        for (at, name) in kept.into_iter().chain([libc::REG_RIP]).enumerate() {
            registers[register(name)] = frame.add(at).read();
        }
        registers[register(libc::REG_RSP)] = frame.add(kept.len() + 1) as libc::greg_t;
        // The direction of string instructions is forward between functions.
        registers[register(libc::REG_EFL)] &= !0x400;
    }
    true
}

/// What the processor says of a fault.
///
/// # Safety
/// What the system gives a handler of a fault.
unsafe fn fault(signal: c_int, info: *const siginfo_t, error: libc::greg_t, stack: usize) -> Fault {
    /// `SI_KERNEL`: the address is not told.
    const NOT_TOLD: c_int = 0x80;
    /// Bits of a page fault's error code: Intel's manual, volume 3, 4.7.
    const WRITES: libc::greg_t = 1 << 1;
    const FETCHES: libc::greg_t = 1 << 4;
    // SAFETY: up to the caller.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    let access = match signal {
        libc::SIGILL | libc::SIGFPE => Access::Other,
        _ if code == NOT_TOLD => Access::Other,
        // A frame is begun below the stack pointer, or the pointer is moved first.
        _ if address.wrapping_add(BELOW_STACK).wrapping_sub(stack) < BELOW_STACK + 256 => Access::Stack,
        _ if error & FETCHES != 0 => Access::Execute,
        _ if error & WRITES != 0 => Access::Write,
        _ => Access::Read,
    };
    Fault { access, address, signal }
}

/// Has the system do with a signal what it does where no program says anything.
fn restore_default(signal: c_int) {
    // SAFETY: no handler, no flags and an empty mask are an action.
    unsafe {
        let mut default: sigaction = std::mem::zeroed();
        default.sa_sigaction = libc::SIG_DFL;
        sigaction(signal, &default, ptr::null_mut());
    }
}

/// Does what would have been done without the driver.
///
/// # Safety
/// What the system gives a handler.
unsafe fn leave_to_program(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let Some(at) = SIGNALS.iter().position(|own| *own == signal) else { return };
    let before = &BEFORE[at];
    let handler = before.handler.load(Ordering::Acquire);
    let flags = before.flags.load(Ordering::Relaxed);
    // SAFETY: what it leads to is the program's, and is called as it would be.
    unsafe {
        let was_sent = (*info).si_code <= 0;
        match handler {
            libc::SIG_IGN if was_sent => {}
            libc::SIG_DFL | libc::SIG_IGN => {
                restore_default(signal);
                // What faulted does it again when this returns; what was sent is sent again.
                if was_sent {
                    libc::raise(signal);
                }
            }
            handler => {
                if flags & libc::SA_RESETHAND != 0 {
                    restore_default(signal);
                }
                if flags & libc::SA_SIGINFO != 0 {
                    let handler: unsafe extern "C" fn(c_int, *mut siginfo_t, *mut c_void) =
                        std::mem::transmute(handler);
                    handler(signal, info, context);
                } else {
                    let handler: unsafe extern "C" fn(c_int) = std::mem::transmute(handler);
                    handler(signal);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fork::spawn;

    /// Reads or writes where nothing is.
    fn refused(address: usize, write: bool) -> Result<(), Fault> {
        let at = std::hint::black_box(address as *mut u8);
        let access = || {
            // SAFETY: it does not come to that; a byte is nobody's.
            unsafe {
                if write {
                    at.write_volatile(1)
                } else {
                    std::hint::black_box(at.read_volatile());
                }
            }
        };
        // SAFETY: the closure owns nothing.
        unsafe { catch(access) }
    }

    #[test]
    fn what_is_refused_is_told_and_the_thread_goes_on() {
        enable();
        let pages = crate::pages::Pages::for_stacks(1 << 16).expect("memory is there");
        pages.protect(0..1 << 16, libc::PROT_READ).expect("its own memory");
        let read_only = pages.base().as_ptr() as usize;
        let fault = |address, access| Err(Fault { address, access, signal: libc::SIGSEGV });
        for _ in 0..3 {
            assert_eq!(refused(16, false), fault(16, Access::Read));
            assert_eq!(refused(40, true), fault(40, Access::Write));
            assert_eq!(refused(read_only + 5, true), fault(read_only + 5, Access::Write));
            assert_eq!(refused(read_only + 5, false), Ok(()));
            assert_eq!(refused(1 << 63, true), fault(0, Access::Other));
        }
        let told = refused(16, false).expect_err("nothing is there").to_string();
        assert_eq!(told, "a read from 0x10, through a null pointer");
    }

    #[test]
    fn the_innermost_work_ends_and_what_is_around_it_goes_on() {
        enable();
        let mut steps = 0;
        // SAFETY: the closure owns nothing.
        let result = unsafe {
            catch(|| {
                assert!(refused(8, true).is_err());
                steps += 1;
                (8 as *mut u8).write_volatile(1);
                steps += 10;
            })
        };
        assert_eq!((steps, result.is_err()), (1, true));
    }

    #[test]
    fn threads_fault_beside_each_other() {
        enable();
        let start = |at: usize| {
            let faults = move || (0..500).all(|_| refused(at, true).is_err_and(|fault| fault.address == at));
            spawn(std::thread::Builder::new(), faults).expect("a thread")
        };
        let threads = [8, 16, 24, 32].map(start);
        assert!(threads.into_iter().all(|thread| thread.join().expect("no panic")));
    }
}
