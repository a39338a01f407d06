//! A stream executes what is submitted to it, in order: the engine behind a queue or an immediate list.
//!
//! One thread at a time executes: the stream's own worker, which starts with the first submission that needs
//! it, or a program's thread that waits for the stream without a time limit and so has nothing better to do.
//! A program's thread executes no command that waits for an event, as it may be the one who is to signal it:
//! from there on the worker goes on. A stream that waits for an event blocks nobody else.

use crate::clock;
use crate::command::Command;
use crate::error::{Error, Result};
use crate::futex::{Counter, Deadline};
use crate::signal::{Signal, Timestamps};
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

/// Kernels run on the worker's stack too.
const WORKER_STACK: usize = 8 << 20;
/// Rounds in which an idle worker looks for work before it sleeps: about 20 µs.
const IDLE_SPINS: u32 = 512;

/// What is submitted in one piece.
#[derive(Clone)]
pub enum Work {
    One(Arc<Command>),
    /// A closed command list.
    List(Arc<[Arc<Command>]>),
    /// A fence after everything before.
    Fence(Arc<Signal>),
}

impl Work {
    fn commands(&self) -> &[Arc<Command>] {
        match self {
            Work::One(command) => std::slice::from_ref(command),
            Work::List(commands) => commands,
            Work::Fence(_) => &[],
        }
    }

    /// Whether it is done in about the time that waking another thread takes.
    fn is_instant(&self) -> bool {
        self.commands().iter().all(|command| command.is_instant())
    }
}

/// Whether a thread of the program may execute a command inside an API call.
fn runs_anywhere(command: Option<&Command>) -> bool {
    command.is_none_or(|command| !command.is_host_function() && !command.has_open_waits())
}

/// Work with the number of its commands that are done.
struct Item {
    work: Work,
    done: usize,
}

impl Item {
    fn next(&self) -> Option<&Arc<Command>> {
        self.work.commands().get(self.done)
    }

    fn left(&self) -> &[Arc<Command>] {
        self.work.commands().get(self.done..).unwrap_or_default()
    }
}

#[derive(Default)]
struct State {
    /// The front stays here while it is executed.
    queue: VecDeque<Item>,
    /// Some thread executes.
    running: bool,
    has_worker: bool,
    closing: bool,
    /// The first failure since the last synchronisation.
    failure: Option<Error>,
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

/// A place in a stream's order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position(u32);

impl Position {
    fn reached(self, completed: u32) -> bool {
        completed.wrapping_sub(self.0) as i32 >= 0
    }
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
        for command in work.commands() {
            command.submitted();
        }
        let mut state = self.state.lock();
        state.queue.push_back(Item { work, done: 0 });
        self.queued.fetch_add(1, Ordering::Release);
        (Position(self.submitted.fetch_add(1, Ordering::Relaxed).wrapping_add(1)), state)
    }

    /// The place of the latest submission.
    pub fn latest(&self) -> Position {
        Position(self.submitted.load(Ordering::Relaxed))
    }

    pub fn is_reached(&self, position: Position) -> bool {
        position.reached(self.completed.get())
    }

    /// Waits for a place in the order; `timeout` is in nanoseconds, `u64::MAX` for no limit. A command that
    /// failed since the last wait makes this fail.
    pub fn wait(self: &Arc<Self>, position: Position, timeout: u64) -> Result<()> {
        let deadline = Deadline::after(timeout);
        if matches!(deadline, Deadline::Never) {
            self.help(position);
        }
        if !self.completed.wait(deadline, |completed| position.reached(completed)) {
            return Err(Error::NotReady);
        }
        self.state.lock().failure.take().map_or(Ok(()), Err)
    }

    /// Waits for everything that is submitted.
    pub fn synchronize(self: &Arc<Self>, timeout: u64) -> Result<()> {
        self.wait(self.latest(), timeout)
    }

    /// Whether something submitted waits for an event that is not signalled: it may be the caller who is to signal it.
    pub fn waits_for_events(&self) -> bool {
        let state = self.state.lock();
        state.queue.iter().flat_map(Item::left).any(|command| command.has_open_waits())
    }

    /// Waits for a place in the order and leaves failures for the next [`wait`](Self::wait).
    pub fn reach(self: &Arc<Self>, position: Position) {
        self.help(position);
        self.completed.wait(Deadline::Never, |completed| position.reached(completed));
    }

    /// Executes in the calling thread up to a place, unless another thread executes already.
    pub fn help(self: &Arc<Self>, position: Position) {
        if self.is_reached(position) {
            return;
        }
        let state = self.state.lock();
        if state.running {
            return;
        }
        let state = self.run(state, |command| !self.is_reached(position) && runs_anywhere(command));
        if !state.queue.is_empty() {
            self.wake_worker(state);
        }
    }

    /// As [`help`](Self::help), up to everything that is submitted, while `wanted` holds.
    pub fn help_while(self: &Arc<Self>, wanted: impl Fn() -> bool) {
        let state = self.state.lock();
        if state.running || state.queue.is_empty() {
            return;
        }
        let state = self.run(state, |command| wanted() && runs_anywhere(command));
        if !state.queue.is_empty() {
            self.wake_worker(state);
        }
    }

    /// Executes command by command while `wanted` holds for the next one; a fence is no command. Nobody else executes.
    fn run<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        wanted: impl Fn(Option<&Command>) -> bool,
    ) -> MutexGuard<'a, State> {
        state.running = true;
        while let Some(item) = state.queue.front() {
            let command = item.next().cloned();
            if !wanted(command.as_deref()) {
                break;
            }
            if let Some(command) = command {
                let result = MutexGuard::unlocked(&mut state, || command.execute());
                if let Err(error) = result {
                    tracing::error!("a command failed: {error}");
                    // A failed command must not keep the rest, and who waits for it, from going on.
                    state.failure.get_or_insert(error);
                }
            }
            let Some(item) = state.queue.front_mut() else { break };
            item.done += 1;
            if item.left().is_empty() {
                self.finish(&mut state);
            }
        }
        state.running = false;
        state
    }

    /// Takes the front out of the queue, all of whose commands are done.
    fn finish(&self, state: &mut MutexGuard<'_, State>) {
        let Some(item) = state.queue.pop_front() else { return };
        self.queued.fetch_sub(1, Ordering::Relaxed);
        // What the work owns may be the last reference to an object whose destructor takes time.
        MutexGuard::unlocked(state, || {
            if let Work::Fence(fence) = &item.work {
                let now = clock::now();
                fence.complete(Timestamps { start: now, end: now });
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
                drop(self.run(state, |_| true));
            }
        }
    }

    fn work(&self) {
        let mut state = self.state.lock();
        loop {
            if !state.running && !state.queue.is_empty() {
                state = self.run(state, |_| true);
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
        assert!(!stream.is_reached(position) && !first.is_signalled() && stream.waits_for_events());
        assert!(matches!(stream.synchronize(1000), Err(Error::NotReady)));
        blocker.raise();
        assert!(stream.synchronize(u64::MAX).is_ok());
        assert!(first.is_signalled() && !stream.waits_for_events());
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
        stream.submit(Work::List([barrier(&[], &done), barrier(&[&gate], &after)].into_iter().collect()));
        stream.help_while(|| !done.is_signalled());
        assert!(done.wait(Deadline::Never) && !after.is_signalled());
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
