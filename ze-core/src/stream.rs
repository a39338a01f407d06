//! A stream executes what is submitted to it, in order: the engine behind a queue or an immediate list.
//!
//! One thread at a time executes: the stream's own worker, which starts with the first submission that needs
//! it, or a program's thread that waits for the stream without a time limit and so has nothing better to do.
//! A program's thread executes no command that waits for an event, as it may be the one who is to signal it:
//! from there on the worker goes on. A stream that waits for an event blocks nobody else.
//!
//! After a command failed, those behind it are not executed, but signal, and fail for the same reason, until somebody
//! who waits for the stream has learned of it: what they would work on is not there.

use crate::clock;
use crate::command::{Command, Targets};
use crate::error::{Error, Result};
use crate::futex::{Counter, Deadline};
use crate::signal::{Reason, Signal, Timestamps};
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

/// Kernels run on the worker's stack too.
const WORKER_STACK: usize = 8 << 20;
/// Rounds in which an idle worker looks for work before it sleeps: about 20 µs.
const IDLE_SPINS: u32 = 512;
/// Nanoseconds after which a thread that waits for a stream looks again whether the stream waits for an event.
const BLOCKED_CHECK: u64 = 1_000_000;

/// What is submitted in one piece.
pub enum Work {
    One(Arc<Command>),
    List {
        commands: Arc<[Arc<Command>]>,
        /// Signalled after the commands and everything before.
        signal: Option<Arc<Signal>>,
    },
}

impl Work {
    /// A closed command list.
    pub fn list(commands: Arc<[Arc<Command>]>) -> Self {
        Work::List { commands, signal: None }
    }

    /// A fence after everything before.
    pub fn fence(signal: Arc<Signal>) -> Self {
        Work::List { commands: [].into(), signal: Some(signal) }
    }

    fn commands(&self) -> &[Arc<Command>] {
        match self {
            Work::One(command) => std::slice::from_ref(command),
            Work::List { commands, .. } => commands,
        }
    }

    fn signal(&self) -> Option<&Arc<Signal>> {
        match self {
            Work::One(_) => None,
            Work::List { signal, .. } => signal.as_ref(),
        }
    }

    /// Whether it is done in about the time that waking another thread takes.
    fn is_instant(&self) -> bool {
        self.commands().iter().all(|command| command.is_instant())
    }
}

/// A place in a stream's order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position(u32);

impl Position {
    fn is_reached(self, completed: u32) -> bool {
        completed.wrapping_sub(self.0) as i32 >= 0
    }

    fn is_behind(self, other: Position) -> bool {
        !self.is_reached(other.0)
    }
}

/// Submitted work, and how far it is.
struct Item {
    work: Work,
    position: Position,
    /// Of all waits of all commands, in their order.
    targets: Targets,
    /// Commands that are done, and the targets of these.
    done: usize,
    done_targets: usize,
    /// Host time when the first command started.
    start: Option<u64>,
}

impl Item {
    /// The commands that are not done, each with its targets.
    fn left(&self) -> impl Iterator<Item = (&Arc<Command>, &[u32])> {
        let mut targets = &self.targets[self.done_targets..];
        self.work.commands()[self.done..].iter().map(move |command| {
            let (own, rest) = targets.split_at(command.waits());
            targets = rest;
            (command, own)
        })
    }

    fn will_signal(&self, signal: &Arc<Signal>) -> bool {
        self.work.signal().is_some_and(|own| Arc::ptr_eq(own, signal))
            || self.left().any(|(command, _)| command.signals(signal))
    }
}

/// Why commands are not executed any more.
struct Failure {
    reason: Reason,
    /// Where it happened.
    position: Position,
}

#[derive(Default)]
struct State {
    /// The front stays here while it is executed.
    queue: VecDeque<Item>,
    /// Some thread executes.
    running: bool,
    has_worker: bool,
    closing: bool,
    /// The first one that nobody who waited for the stream has learned of.
    failure: Option<Failure>,
}

impl State {
    fn lost(&self) -> Option<Reason> {
        self.failure.as_ref().map(|failure| Arc::clone(&failure.reason))
    }
}

/// Which thread executes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Executor {
    Worker,
    /// A thread of the program, inside an API call: it neither waits for events nor calls the program back.
    Program,
}

/// An in-order execution unit.
pub struct Stream {
    state: Mutex<State>,
    work: Condvar,
    /// Length of the queue, for the worker's look without the lock.
    queued: AtomicU32,
    /// Pieces submitted and completed; both wrap around.
    submitted: AtomicU32,
    completed: Counter,
}

impl Stream {
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            work: Condvar::new(),
            queued: AtomicU32::new(0),
            submitted: AtomicU32::new(0),
            completed: Counter::new(0),
        })
    }

    /// Submits work and returns its place. Work that takes next to no time is executed at once where nothing
    /// is before it; everything else goes to the worker.
    pub fn submit(self: &Arc<Self>, work: Work) -> Position {
        let instant = work.is_instant();
        let (position, state) = self.push(work);
        if instant && !state.running && state.queue.len() == 1 {
            drop(state);
            self.help(position);
        } else {
            self.wake_worker(state);
        }
        position
    }

    /// Submits work and waits for it, in the caller's thread where the stream is idle.
    pub fn submit_and_wait(self: &Arc<Self>, work: Work) -> Result<()> {
        let (position, state) = self.push(work);
        drop(state);
        // Helping wakes the worker for what it leaves.
        self.wait(position, u64::MAX)
    }

    fn push(&self, work: Work) -> (Position, MutexGuard<'_, State>) {
        let mut targets = Targets::new();
        for command in work.commands() {
            command.submit(&mut targets);
        }
        if let Some(signal) = work.signal() {
            signal.submit();
        }
        let mut state = self.state.lock();
        let position = Position(self.submitted.fetch_add(1, Ordering::Relaxed).wrapping_add(1));
        state.queue.push_back(Item { work, position, targets, done: 0, done_targets: 0, start: None });
        self.queued.fetch_add(1, Ordering::Release);
        (position, state)
    }

    /// The place of the latest submission.
    pub fn latest(&self) -> Position {
        Position(self.submitted.load(Ordering::Relaxed))
    }

    pub fn is_reached(&self, position: Position) -> bool {
        position.is_reached(self.completed.get())
    }

    /// Waits for a place in the order; `timeout` is in nanoseconds, `u64::MAX` for no limit. A command up to there that
    /// failed since the last wait makes this fail; then the stream executes again what is submitted to it.
    pub fn wait(self: &Arc<Self>, position: Position, timeout: u64) -> Result<()> {
        let deadline = Deadline::after(timeout);
        if matches!(deadline, Deadline::Never) {
            self.help(position);
        }
        if !self.completed.wait(deadline, |completed| position.is_reached(completed)) {
            return Err(Error::NotReady);
        }
        let failure = self.state.lock().failure.take_if(|failure| !failure.position.is_behind(position));
        failure.map_or(Ok(()), |failure| Err(Error::DeviceLost(failure.reason.to_string())))
    }

    /// Waits for everything that is submitted.
    pub fn synchronize(self: &Arc<Self>, timeout: u64) -> Result<()> {
        self.wait(self.latest(), timeout)
    }

    /// Waits for a place in the order and leaves failures for the next [`wait`](Self::wait). False: something up to
    /// there waits for an event, and it may be the caller who is to signal it.
    pub fn reach(self: &Arc<Self>, position: Position) -> bool {
        while !self.is_reached(position) {
            if self.waits_for_events(position) {
                return false;
            }
            self.help(position);
            // Any thread may reset an event at any time, and commands too, so one look is not enough.
            self.completed.wait(Deadline::after(BLOCKED_CHECK), |completed| position.is_reached(completed));
        }
        true
    }

    fn waits_for_events(&self, position: Position) -> bool {
        let state = self.state.lock();
        let mut left =
            state.queue.iter().take_while(|item| !item.position.is_behind(position)).flat_map(Item::left);
        state.failure.is_none() && left.any(|(command, targets)| !command.is_ready(targets))
    }

    /// Executes in the calling thread up to a place, unless another thread executes already.
    pub fn help(self: &Arc<Self>, position: Position) {
        if !self.is_reached(position) {
            self.run_in_program(self.state.lock(), || !self.is_reached(position));
        }
    }

    /// As [`help`](Self::help), up to the command that signals this; without one, what is here does not concern the
    /// caller.
    pub fn help_until(self: &Arc<Self>, signal: &Arc<Signal>) {
        let state = self.state.lock();
        if state.queue.iter().any(|item| item.will_signal(signal)) {
            self.run_in_program(state, || !signal.is_signalled());
        }
    }

    fn run_in_program(self: &Arc<Self>, state: MutexGuard<'_, State>, wanted: impl Fn() -> bool) {
        if state.running {
            return;
        }
        let state = self.run(state, Executor::Program, wanted);
        if !state.queue.is_empty() {
            self.wake_worker(state);
        } else if state.closing {
            // The worker has heard of that while the queue was not empty.
            self.work.notify_one();
        }
    }

    /// Executes command by command while `wanted` holds. Nobody else executes.
    fn run<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        executor: Executor,
        wanted: impl Fn() -> bool,
    ) -> MutexGuard<'a, State> {
        state.running = true;
        while wanted() && self.step(&mut state, executor) {}
        state.running = false;
        state
    }

    /// Executes one command. False: there is none, or none that this thread may execute.
    fn step(&self, state: &mut MutexGuard<'_, State>, executor: Executor) -> bool {
        let Some(item) = state.queue.front() else { return false };
        let (next, timed) = (item.left().next(), item.work.signal().is_some() && item.start.is_none());
        if let Some((command, targets)) = next {
            let lost = state.lost();
            let runs_anywhere = lost.is_some() || (command.is_ready(targets) && !command.is_host_function());
            if executor == Executor::Program && !runs_anywhere {
                return false;
            }
            let (command, targets) = (Arc::clone(command), Targets::from_slice(targets));
            let (start, result) = MutexGuard::unlocked(state, || {
                if executor == Executor::Worker && lost.is_none() {
                    command.wait(&targets);
                }
                (timed.then(clock::now), command.execute(lost))
            });
            let Some(item) = state.queue.front_mut() else { return false };
            item.start = item.start.or(start);
            item.done += 1;
            item.done_targets += targets.len();
            let position = item.position;
            if let Err(reason) = result {
                state.failure.get_or_insert(Failure { reason, position });
            }
        }
        if state.queue.front().is_some_and(|item| item.done == item.work.commands().len()) {
            self.finish(state);
        }
        true
    }

    /// Takes the front out of the queue, all of whose commands are done.
    fn finish(&self, state: &mut MutexGuard<'_, State>) {
        let Some(item) = state.queue.pop_front() else { return };
        self.queued.fetch_sub(1, Ordering::Relaxed);
        let lost = state.lost();
        // What the work owns may be the last reference to an object whose destructor takes time.
        MutexGuard::unlocked(state, || {
            if let Some(signal) = item.work.signal() {
                let end = clock::now();
                let times = Timestamps { start: item.start.unwrap_or(end), end };
                signal.complete(lost.map_or(Ok(times), Err));
            }
            self.completed.advance();
            drop(item);
        });
    }

    fn wake_worker(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        if state.has_worker {
            drop(state);
            self.work.notify_one();
            return;
        }
        state.has_worker = true;
        let stream = Arc::clone(self);
        let spawned = thread::Builder::new()
            .name("ze_cpu queue".into())
            .stack_size(WORKER_STACK)
            .spawn(move || stream.work());
        if let Err(error) = spawned {
            // Without a thread to be had, the submitting one does the work.
            tracing::warn!("no thread for a queue ({error}): executing in the caller's");
            state.has_worker = false;
            if !state.running {
                drop(self.run(state, Executor::Worker, || true));
            }
        }
    }

    fn work(&self) {
        let mut state = self.state.lock();
        loop {
            if !state.running && !state.queue.is_empty() {
                state = self.run(state, Executor::Worker, || true);
                MutexGuard::unlocked(&mut state, || self.look_for_work());
            } else if state.closing && state.queue.is_empty() {
                return;
            } else {
                self.work.wait(&mut state);
            }
        }
    }

    fn look_for_work(&self) {
        for _ in 0..IDLE_SPINS {
            if self.queued.load(Ordering::Relaxed) != 0 {
                return;
            }
            std::hint::spin_loop();
        }
    }

    /// Lets the worker end once the queue is empty. Nothing is submitted afterwards.
    pub fn close(&self) {
        self.state.lock().closing = true;
        self.work.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Operation;
    use std::time::Duration;

    fn command(waits: &[&Arc<Signal>], signal: Option<&Arc<Signal>>) -> Work {
        Work::One(Arc::new(Command::new(
            Operation::Barrier,
            waits.iter().map(|&wait| Arc::clone(wait)).collect(),
            signal.map(Arc::clone),
        )))
    }

    fn host_function(function: unsafe extern "C" fn(*mut std::ffi::c_void), data: *mut u32) -> Work {
        let operation = Operation::HostFunction { function, data: data as usize };
        Work::One(Arc::new(Command::new(operation, Default::default(), None)))
    }

    unsafe extern "C" fn append_digit(data: *mut std::ffi::c_void) {
        // SAFETY: the tests pass a live number that nobody else touches meanwhile.
        unsafe { *data.cast::<u32>() += 1 };
    }

    #[test]
    fn submissions_execute_in_order() {
        let stream = Stream::new();
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
        stream.close();
    }

    #[test]
    fn a_blocked_stream_blocks_no_other() {
        let (slow, fast) = (Stream::new(), Stream::new());
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
        let stream = Stream::new();
        let (done, gate, after) = (Signal::flag(), Signal::flag(), Signal::flag());
        let barrier = |waits: &[&Arc<Signal>], signal: &Arc<Signal>| {
            let waits = waits.iter().map(|&wait| Arc::clone(wait)).collect();
            Arc::new(Command::new(Operation::Barrier, waits, Some(Arc::clone(signal))))
        };
        stream.submit(Work::list([barrier(&[], &done), barrier(&[&gate], &after)].into()));
        stream.help_until(&done);
        assert!(done.is_signalled() && !after.is_signalled());
        let position = stream.latest();
        stream.help(position);
        assert!(!stream.is_reached(position));
        gate.raise();
        assert!(stream.wait(position, u64::MAX).is_ok() && after.is_signalled());
        stream.close();
    }

    #[test]
    fn instant_work_on_an_idle_stream_needs_no_worker() {
        let stream = Stream::new();
        let done = Signal::flag();
        stream.submit(command(&[], Some(&done)));
        assert!(done.is_signalled());
        assert!(!stream.state.lock().has_worker);
        assert!(stream.submit_and_wait(command(&[&done], None)).is_ok());
        assert!(!stream.state.lock().has_worker);
    }

    #[test]
    fn host_functions_run_on_the_worker() {
        let stream = Stream::new();
        let mut count = 0u32;
        for _ in 0..100 {
            stream.submit(host_function(append_digit, &raw mut count));
        }
        assert!(stream.submit_and_wait(host_function(append_digit, &raw mut count)).is_ok());
        assert!(stream.state.lock().has_worker);
        assert_eq!(count, 101);
        stream.close();
    }

    fn failed() -> Arc<Signal> {
        let signal = Signal::flag();
        signal.complete(Err("no memory".into()));
        signal
    }

    fn is_lost<T>(result: Result<T>) -> bool {
        matches!(result, Err(Error::DeviceLost(reason)) if reason == "no memory")
    }

    #[test]
    fn what_waits_for_a_failed_command_or_is_behind_it_fails_too() {
        let (stream, other) = (Stream::new(), Stream::new());
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
        stream.close();
    }

    #[test]
    fn a_failure_is_told_to_who_waits_for_it_only() {
        let stream = Stream::new();
        let before = stream.submit(command(&[], None));
        let failing = stream.submit(command(&[&failed()], None));
        assert!(stream.wait(before, u64::MAX).is_ok());
        assert!(is_lost(stream.wait(failing, u64::MAX)));
        assert!(stream.wait(failing, u64::MAX).is_ok(), "it was told");
    }

    #[test]
    fn a_submitted_command_waits_for_what_was_submitted_before_it() {
        let stream = Stream::new();
        let (gate, completion) = (Signal::flag(), Signal::completion());
        completion.submit();
        stream.submit(command(&[&gate], None));
        let position = stream.submit(command(&[&completion], None));
        completion.submit();
        gate.raise();
        assert!(matches!(stream.wait(position, 1_000_000), Err(Error::NotReady)));
        completion.raise();
        assert!(stream.wait(position, u64::MAX).is_ok() && !completion.is_signalled());
        stream.close();
    }

    #[test]
    fn nobody_helps_a_stream_that_will_not_signal() {
        let stream = Stream::new();
        let unrelated = Signal::flag();
        drop(stream.push(command(&[], Some(&unrelated))));
        stream.help_until(&Signal::flag());
        assert!(!unrelated.is_signalled());
        stream.help_until(&unrelated);
        assert!(unrelated.is_signalled());
    }

    #[test]
    fn a_stream_that_will_wait_for_an_event_that_it_resets_is_not_waited_for() {
        let stream = Stream::new();
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
        stream.submit(Work::One(Arc::new(Command::new(operation, Default::default(), None))));
        let position = stream.submit(Work::list([Arc::new(reset), Arc::new(wait)].into()));
        assert!(event.is_signalled() || !stream.is_reached(position));
        assert!(!stream.reach(position));
        event.raise();
        assert!(stream.reach(position));
        stream.close();
    }

    #[test]
    fn a_stream_that_is_closed_while_a_host_thread_executes_lets_its_worker_go() {
        let stream = Stream::new();
        let mut count = 0u32;
        assert!(stream.submit_and_wait(host_function(append_digit, &raw mut count)).is_ok());
        let mut memory = vec![0u8; 64 << 20];
        let operation = Operation::Fill {
            dst: memory.as_mut_ptr() as usize,
            pattern: [1, 2].into_iter().collect(),
            len: 64 << 20,
        };
        drop(stream.push(Work::One(Arc::new(Command::new(operation, Default::default(), None)))));
        let closer = {
            let stream = Arc::clone(&stream);
            thread::spawn(move || {
                while !stream.state.lock().running {
                    thread::yield_now();
                }
                stream.close();
            })
        };
        stream.help(stream.latest());
        assert!(closer.join().is_ok());
        let end = std::time::Instant::now() + Duration::from_secs(10);
        while Arc::strong_count(&stream) != 1 {
            assert!(std::time::Instant::now() < end, "the worker is still there");
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn many_threads_submit_and_wait() {
        let stream = Stream::new();
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
}
