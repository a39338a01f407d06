//! Tests of streams.

use super::*;
use crate::operation::Operation;
use std::sync::atomic::AtomicUsize;
use std::thread;
use std::time::Duration;

fn engine() -> EngineId {
    EngineId::of_tests()
}

fn stream() -> Arc<Stream> {
    Stream::new(engine(), &Arc::default())
}

fn command(waits: &[&Arc<Signal>], signal: Option<&Arc<Signal>>) -> Work {
    let waits = waits.iter().map(|&wait| Arc::clone(wait)).collect();
    Work::One(Command::new(Operation::Barrier, waits, signal.map(Arc::clone)))
}

fn list<const N: usize>(commands: [Command; N]) -> Work {
    // Each in a piece of its own.
    Work::list(commands.into_iter().map(|command| Arc::new([command].into())).collect())
}

fn host_function(function: unsafe extern "C" fn(*mut std::ffi::c_void), data: *mut u32) -> Work {
    let operation = Operation::HostFunction { function, data: data as usize };
    Work::One(Command::new(operation, Default::default(), None))
}

unsafe extern "C" fn append_digit(data: *mut std::ffi::c_void) {
    // SAFETY: the tests pass a live number that nobody else touches meanwhile.
    unsafe { *data.cast::<u32>() += 1 };
}

#[test]
fn submissions_execute_in_order() {
    let stream = stream();
    let first = Signal::flag();
    let mut count = 0u32;
    let blocker = Signal::flag();
    let position = stream.submit(command(&[&blocker], None));
    stream.submit(host_function(append_digit, &raw mut count));
    stream.submit(command(&[], Some(&first)));
    assert!(!stream.is_reached(position) && !first.is_signalled() && !stream.reach(position));
    assert!(matches!(stream.synchronize(1000), Err(Error::NotReady)));
    blocker.raise();
    assert!(stream.synchronize(u64::MAX).is_ok());
    assert!(first.is_signalled() && stream.reach(position));
    assert_eq!(count, 1);
}

#[test]
fn a_blocked_stream_blocks_no_other() {
    let (slow, fast) = (stream(), stream());
    let (from_fast, from_host) = (Signal::flag(), Signal::flag());
    slow.submit(command(&[&from_fast, &from_host], None));
    fast.submit(command(&[], Some(&from_fast)));
    assert!(fast.synchronize(u64::MAX).is_ok());
    let helper = {
        let slow = Arc::clone(&slow);
        thread::spawn(move || slow.synchronize(u64::MAX).is_ok())
    };
    thread::sleep(Duration::from_millis(2));
    from_host.raise();
    assert!(helper.join().is_ok_and(|done| done));
}

#[test]
fn a_helping_thread_never_waits_for_an_event_that_it_is_to_signal_itself() {
    let stream = stream();
    let (done, gate, after) = (Signal::flag(), Signal::flag(), Signal::flag());
    let barrier = |waits: &[&Arc<Signal>], signal: &Arc<Signal>| {
        let waits = waits.iter().map(|&wait| Arc::clone(wait)).collect();
        Command::new(Operation::Barrier, waits, Some(Arc::clone(signal)))
    };
    stream.submit(list([barrier(&[], &done), barrier(&[&gate], &after)]));
    stream.help_until(&done);
    assert!(done.is_signalled() && !after.is_signalled());
    let position = stream.latest();
    stream.help(position);
    assert!(!stream.is_reached(position));
    gate.raise();
    assert!(stream.wait(position, u64::MAX).is_ok() && after.is_signalled());
}

#[test]
fn instant_work_on_an_idle_stream_needs_no_worker() {
    // No other test's stream is of its engine, or more urgent, and so before it.
    let stream = Stream::with_priority(EngineId::new(), &Arc::default(), Priority::High);
    let done = Signal::flag();
    stream.submit(command(&[], Some(&done)));
    assert!(done.is_signalled());
    assert!(stream.submit_and_wait(command(&[&done], None)).is_ok());
}

#[test]
fn host_functions_run_in_workers() {
    let stream = stream();
    let mut count = 0u32;
    for _ in 0..100 {
        stream.submit(host_function(append_digit, &raw mut count));
    }
    assert!(stream.submit_and_wait(host_function(append_digit, &raw mut count)).is_ok());
    assert_eq!(count, 101);
    let thread = AtomicUsize::new(0);
    let operation = Operation::HostFunction { function: note_thread, data: (&raw const thread) as usize };
    let work = Work::One(Command::new(operation, Default::default(), None));
    assert!(stream.submit_and_wait(work).is_ok());
    assert!(![0, this_thread()].contains(&thread.load(Ordering::Acquire)));
}

fn this_thread() -> usize {
    // SAFETY: asks who calls.
    unsafe { libc::pthread_self() as usize }
}

unsafe extern "C" fn note_thread(data: *mut std::ffi::c_void) {
    // SAFETY: the test passes a live word.
    unsafe { (*data.cast::<AtomicUsize>()).store(this_thread(), Ordering::Release) };
}

#[test]
fn streams_that_wait_hold_no_thread() {
    let gate = Signal::flag();
    let streams: Vec<_> = (0..2000).map(|_| stream()).collect();
    let mut count = 0u32;
    for stream in &streams {
        stream.submit(command(&[&gate], None));
    }
    streams[0].submit(host_function(append_digit, &raw mut count));
    assert!(streams.iter().all(|stream| matches!(stream.synchronize(0), Err(Error::NotReady))));
    assert!(workers().count() < 100, "{} threads", workers().count());
    gate.raise();
    assert!(streams.iter().all(|stream| stream.synchronize(u64::MAX).is_ok()));
    assert_eq!(count, 1);
}

/// Functions of the program that wait for each other.
struct Meeting {
    arrived: AtomicU32,
    expected: u32,
}

unsafe extern "C" fn meet(data: *mut std::ffi::c_void) {
    // SAFETY: the test passes a meeting that outlives its streams' commands.
    let meeting = unsafe { &*data.cast::<Meeting>() };
    meeting.arrived.fetch_add(1, Ordering::AcqRel);
    while meeting.arrived.load(Ordering::Acquire) < meeting.expected {
        thread::yield_now();
    }
}

#[test]
fn functions_of_the_program_may_wait_for_each_other() {
    let meeting = Meeting { arrived: AtomicU32::new(0), expected: 50 };
    let streams: Vec<_> = (0..meeting.expected).map(|_| stream()).collect();
    for stream in &streams {
        let operation = Operation::HostFunction { function: meet, data: (&raw const meeting) as usize };
        stream.submit(Work::One(Command::new(operation, Default::default(), None)));
    }
    assert!(streams.iter().all(|stream| stream.synchronize(u64::MAX).is_ok()));
}

#[test]
fn a_wait_in_one_stream_is_behind_the_reset_that_another_one_got_before() {
    let (resetting, waiting) = (stream(), stream());
    let (gate, event) = (Signal::flag(), Signal::raised());
    resetting.submit(command(&[&gate], None));
    resetting.submit(Work::One(Command::new(
        Operation::ResetEvent(Arc::clone(&event)),
        Default::default(),
        None,
    )));
    resetting.submit(command(&[], Some(&event)));
    let position = waiting.submit(command(&[&event], None));
    assert!(matches!(waiting.wait(position, 1_000_000), Err(Error::NotReady)), "the signal is an older one");
    gate.raise();
    assert!(waiting.wait(position, u64::MAX).is_ok() && resetting.synchronize(u64::MAX).is_ok());
}

#[test]
fn what_failed_is_not_executed_but_resets_are() {
    let (stream, other) = (stream(), stream());
    let event = Signal::raised();
    stream.submit(command(&[&failed()], None));
    let reset = Command::new(Operation::ResetEvent(Arc::clone(&event)), Default::default(), None);
    stream.submit(Work::One(reset));
    assert!(is_lost(stream.synchronize(u64::MAX)));
    assert!(!event.is_signalled());
    let position = other.submit(command(&[&event], None));
    stream.submit(command(&[], Some(&event)));
    assert!(other.wait(position, u64::MAX).is_ok());
}

fn failed() -> Arc<Signal> {
    let signal = Signal::flag();
    signal.complete(engine(), &Target::Flag, Err("no memory".into()));
    signal
}

fn is_lost<T>(result: Result<T>) -> bool {
    matches!(result, Err(Error::DeviceLost(reason)) if reason == "no memory")
}

#[test]
fn what_waits_for_a_failed_command_or_is_behind_it_fails_too() {
    let (stream, other) = (stream(), stream());
    let [waits, behind, fence, elsewhere] = [(); 4].map(|()| Signal::flag());
    let mut count = 0u32;
    stream.submit(command(&[&failed()], Some(&waits)));
    stream.submit(host_function(append_digit, &raw mut count));
    stream.submit(command(&[&Signal::flag()], Some(&behind)));
    stream.submit(Work::fence(Arc::clone(&fence)));
    other.submit(command(&[&waits], Some(&elsewhere)));
    for signal in [waits, behind, fence, elsewhere] {
        assert!(is_lost(signal.wait(Deadline::Never)));
    }
    assert!(is_lost(stream.synchronize(u64::MAX)) && is_lost(other.synchronize(u64::MAX)));
    assert_eq!(count, 0, "nothing is called back that would rely on what failed");
    let again = Signal::flag();
    stream.submit(command(&[], Some(&again)));
    assert!(again.wait(Deadline::Never).is_ok() && stream.synchronize(u64::MAX).is_ok());
}

#[test]
fn a_failure_is_told_to_who_waits_for_it_only() {
    let stream = stream();
    let before = stream.submit(command(&[], None));
    let failing = stream.submit(command(&[&failed()], None));
    assert!(stream.wait(before, u64::MAX).is_ok());
    assert!(is_lost(stream.wait(failing, u64::MAX)));
    assert!(stream.wait(failing, u64::MAX).is_ok(), "it was told");
}

#[test]
fn a_submitted_command_waits_for_what_was_submitted_before_it() {
    let stream = stream();
    let (gate, completion) = (Signal::flag(), Signal::completion());
    completion.submit_signal(engine());
    stream.submit(command(&[&gate], None));
    let position = stream.submit(command(&[&completion], None));
    completion.submit_signal(engine());
    gate.raise();
    assert!(matches!(stream.wait(position, 1_000_000), Err(Error::NotReady)));
    completion.raise();
    assert!(stream.wait(position, u64::MAX).is_ok() && !completion.is_signalled());
}

#[test]
fn nobody_helps_a_stream_that_will_not_signal() {
    let stream = stream();
    let unrelated = Signal::flag();
    drop(stream.push(command(&[], Some(&unrelated))));
    stream.help_until(&Signal::flag());
    assert!(!unrelated.is_signalled());
    stream.help_until(&unrelated);
    assert!(unrelated.is_signalled());
}

#[test]
fn a_stream_that_will_wait_for_an_event_that_it_resets_is_not_waited_for() {
    let stream = stream();
    let (started, event) = (Signal::flag(), Signal::raised());
    let reset = Command::new(Operation::ResetEvent(Arc::clone(&event)), Default::default(), None);
    let waits = [Arc::clone(&event)].into_iter().collect();
    let wait = Command::new(Operation::Barrier, waits, None);
    let mut memory = vec![0u8; 64 << 20];
    let operation = Operation::Fill {
        dst: memory.as_mut_ptr() as usize,
        pattern: [1, 2].into_iter().collect(),
        len: 64 << 20,
    };
    stream.submit(command(&[], Some(&started)));
    stream.submit(Work::One(Command::new(operation, Default::default(), None)));
    let position = stream.submit(list([reset, wait]));
    assert!(event.is_signalled() || !stream.is_reached(position));
    assert!(!stream.reach(position));
    // A signal before the reset is one that the reset takes back.
    while event.is_signalled() {
        thread::yield_now();
    }
    event.raise();
    assert!(stream.reach(position));
}

#[test]
fn nobody_keeps_a_stream_that_has_nothing_to_execute() {
    let stream = stream();
    let mut count = 0u32;
    assert!(stream.submit_and_wait(host_function(append_digit, &raw mut count)).is_ok());
    let end = std::time::Instant::now() + Duration::from_secs(10);
    while Arc::strong_count(&stream) != 1 {
        assert!(std::time::Instant::now() < end, "a worker still has it");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn many_threads_submit_and_wait() {
    let stream = stream();
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let stream = Arc::clone(&stream);
            thread::spawn(move || {
                for round in 0..500 {
                    let done = Signal::flag();
                    stream.submit(command(&[], Some(&done)));
                    if round % 3 == 0 {
                        assert!(stream.synchronize(u64::MAX).is_ok());
                        assert!(done.is_signalled());
                    }
                }
                stream.synchronize(u64::MAX).is_ok()
            })
        })
        .collect();
    assert!(threads.into_iter().all(|thread| thread.join().is_ok_and(|done| done)));
}

/// What parent and child share: how often a host function ran, in whichever process.
struct ForkingProgram {
    calls: AtomicU32,
    child: std::sync::atomic::AtomicI32,
}

unsafe extern "C" fn fork_and_return(data: *mut std::ffi::c_void) {
    // SAFETY: the test passes memory that outlives the stream's commands. The child ends by itself.
    unsafe {
        let child = libc::fork();
        match child {
            0 => drop(libc::alarm(20)),
            child => (*data.cast::<ForkingProgram>()).child.store(child, Ordering::Relaxed),
        }
    }
}

unsafe extern "C" fn count_call(data: *mut std::ffi::c_void) {
    // SAFETY: as above.
    unsafe { (*data.cast::<ForkingProgram>()).calls.fetch_add(1, Ordering::Relaxed) };
}

#[test]
fn a_child_that_a_host_function_forks_executes_nothing_of_what_is_behind_it() {
    // SAFETY: a new mapping, zeroed, which both processes see; atomics may be zero.
    let shared = unsafe {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        let memory = libc::mmap(std::ptr::null_mut(), size_of::<ForkingProgram>(), protection, flags, -1, 0);
        assert_ne!(memory, libc::MAP_FAILED);
        &*memory.cast::<ForkingProgram>()
    };
    let data = std::ptr::from_ref(shared).cast_mut().cast();
    let stream = stream();
    stream.submit(host_function(fork_and_return, data));
    stream.submit(host_function(count_call, data));
    stream.submit(host_function(count_call, data));
    assert!(stream.synchronize(u64::MAX).is_ok());
    let mut status = -1;
    let child = shared.child.load(Ordering::Relaxed);
    // SAFETY: a child of this process.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert!(libc::WIFEXITED(status), "how the child ended: {status}");
    assert_eq!(shared.calls.load(Ordering::Relaxed), 2, "in the parent only");
}

/// What a child gives up wakes up who waits for it, which may be the stream that it is given up in.
#[test]
fn a_child_gives_up_streams_that_wait_for_each_other() {
    for count in [1, 2] {
        let streams: Vec<_> = (0..count).map(|_| stream()).collect();
        let flags: Vec<_> = (0..count).map(|_| Signal::flag()).collect();
        for (at, stream) in streams.iter().enumerate() {
            stream.submit(command(&[&flags[at]], None));
            stream.submit(command(&[], Some(&flags[(at + 1) % count])));
        }
        // They wait, and no thread is busy with them.
        assert!(matches!(streams[0].synchronize(10_000_000), Err(Error::NotReady)));
        let mut status = -1;
        // SAFETY: the child ends by itself, and is this process's.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                libc::alarm(20);
                let is_given_up = |result| matches!(result, Err(Error::DeviceLost(reason)) if reason.contains("has forked"));
                let all = streams.iter().all(|stream| is_given_up(stream.synchronize(u64::MAX)));
                libc::_exit(i32::from(!all));
            }
            assert_eq!(libc::waitpid(child, &mut status, 0), child);
        }
        assert_eq!(status, 0, "how the child ended");
        flags[0].raise();
        assert!(streams.iter().all(|stream| stream.synchronize(u64::MAX).is_ok()));
    }
}
