//! A stream executes what is submitted to it, in order: what stands behind a queue or an immediate list.
//!
//! One thread at a time executes: a worker of those that all streams share ([`workers`]), or a program's thread that
//! waits for the stream without a time limit and so has nothing better to do. A stream that waits for an event
//! holds no thread and blocks nobody: the event's signal makes it ready again. A program's thread calls no function of the
//! program back, which is left to a worker.
//!
//! All streams of an engine, which is what an ordinal and an index name, act on events in the order in which their commands
//! were submitted ([`crate::signal`]). What else they do is ordered by events and by the order in one stream
//! only; but what one thread submits first begins first, and is done before the next begins if it is short ([`workers`]).
//!
//! After a command failed, those behind it are not executed, but signal, and fail for the same reason, until somebody
//! who waits for the stream has learned of it: what they would work on is not there. In a forked child that is what
//! becomes of the commands that its parent executes: they signal, and nothing of them is executed.

mod work;
mod workers;

pub use work::{Lists, Position, Work};

use crate::clock;
use crate::command::{Command, Targets};
use crate::error::{Error, Result};
use crate::fork::{self, Mutex, MutexGuard};
use crate::futex::{Counter, Deadline};
use crate::signal::{EngineId, Outcome, Reason, Signal, Target, Waiter, Waiters};
use crate::sync::{AtomicU32, AtomicUsize, Ordering};
use crate::sysman::activity::Activity;
use std::collections::VecDeque;
use std::sync::Arc;
use work::{Item, Next};
use workers::workers;

/// Nanoseconds after which a thread that waits for a stream looks again whether the stream waits for an event.
const BLOCKED_CHECK: u64 = 1_000_000;
/// Nanoseconds after which a worker turns to another stream that is ready.
const TURN: u64 = 2_000_000;

/// A command that is executed without having been in the queue.
struct Direct {
    position: Position,
    signal: Option<(Arc<Signal>, Target)>,
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
    /// What it executes, if that is not the front of the queue.
    direct: Option<Direct>,
    /// The stream is among those that workers take.
    ready: bool,
    /// A signal that the front waits for will make the stream ready.
    notified: bool,
    /// Of the process whose threads these are.
    generation: u32,
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
    /// A thread of the program, inside an API call: it does not call the program back.
    Program,
    /// One that waits for another stream: what it executes here must not wait for the program.
    Passer,
}

impl Executor {
    fn may_execute(self, command: &Command) -> bool {
        match self {
            Executor::Worker => true,
            Executor::Program => !command.is_host_function(),
            Executor::Passer => command.surely_ends(),
        }
    }
}

/// Why a thread stops executing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// There is nothing left.
    Empty,
    /// The front waits for a signal, which makes the stream ready again.
    Blocked,
    /// Another thread is to go on.
    HandOver,
}

/// Which of several streams that are ready is executed first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Priority {
    Low,
    #[default]
    Normal,
    High,
}

/// A number that no other live thread has.
fn this_thread() -> usize {
    thread_local! {
        static OWN: u8 = const { 0 };
    }
    OWN.with(|own| std::ptr::from_ref(own).addr())
}

/// An in-order execution unit.
pub struct Stream {
    engine: EngineId,
    priority: Priority,
    /// The thread that submitted last.
    submitter: AtomicUsize,
    state: Mutex<State>,
    /// Pieces submitted and completed; both wrap around.
    submitted: AtomicU32,
    completed: Counter,
    /// The device's counters, which the commands switch on and off.
    activity: Arc<Activity>,
}

impl Stream {
    /// A stream of an engine, and the counters that its commands switch on and off.
    pub fn new(engine: EngineId, activity: &Arc<Activity>) -> Arc<Self> {
        Self::with_priority(engine, activity, Priority::default())
    }

    /// As [`new`](Self::new), with a priority among the streams that wait for a thread.
    pub fn with_priority(engine: EngineId, activity: &Arc<Activity>, priority: Priority) -> Arc<Self> {
        fork::watch();
        Arc::new(Self {
            engine,
            priority,
            submitter: AtomicUsize::new(0),
            state: Mutex::new(State { generation: fork::generation(), ..State::default() }),
            submitted: AtomicU32::new(0),
            completed: Counter::new(0),
            activity: Arc::clone(activity),
        })
    }

    /// The thread that submitted last, as a number that no other live thread has.
    fn submitter(&self) -> usize {
        self.submitter.load(Ordering::Relaxed)
    }

    fn submitted_by(&self, thread: usize) {
        self.submitter.store(thread, Ordering::Relaxed);
    }

    /// The state. What a forked child finds there is its parent's: threads that it does not have, and commands that are
    /// executed elsewhere.
    fn lock(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock();
        self.notice_fork(&mut state);
        state
    }

    /// Whether this is a forked child that sees the stream for the first time. Then it [gives up](Self::give_up) what is queued, and tells who
    /// waits for that: streams, which may be this one, so the lock is given up meanwhile.
    fn notice_fork(&self, state: &mut MutexGuard<'_, State>) -> bool {
        let waiters = self.give_up(state);
        let is_first = waiters.is_some();
        if let Some(waiters) = waiters {
            MutexGuard::unlocked(state, || waiters.tell());
        }
        is_first
    }

    /// In a forked child that sees the stream for the first time, has all that is queued signal that it failed; who waits for it is
    /// to be told. That is done under the lock, so that no other thread of the child executes any of it.
    fn give_up(&self, state: &mut State) -> Option<Waiters> {
        let generation = fork::generation();
        if state.generation == generation {
            return None;
        }
        let mut waiters = Waiters::default();
        state.generation = generation;
        (state.running, state.ready, state.notified) = (false, false, false);
        let items = std::mem::take(&mut state.queue);
        let direct = state.direct.take();
        let last = items.back().map(|last| last.position);
        let Some(position) = last.or(direct.as_ref().map(|direct| direct.position)) else {
            return Some(waiters);
        };
        let reason: Reason =
            "the process that submitted the command has forked, and this is not that process".into();
        state.failure = Some(Failure { reason: Arc::clone(&reason), position });
        if let Some(direct) = direct {
            if let Some((signal, target)) = &direct.signal {
                waiters.extend(signal.completed(self.engine, target, Err(Arc::clone(&reason))));
            }
            self.completed.advance();
        }
        for item in &items {
            waiters.extend(item.abandon(self.engine, &reason));
            self.completed.advance();
        }
        Some(waiters)
    }

    /// In a forked child, gives up what the parent executes.
    pub fn settle(&self) {
        if fork::generation() != 0 {
            drop(self.lock());
        }
    }

    /// Submits work and returns its place. Work that takes next to no time is executed at once where nothing
    /// is before it; everything else goes to a worker.
    pub fn submit(self: &Arc<Self>, work: Work) -> Position {
        self.submitted_by(this_thread());
        let instant = work.is_instant() && !workers().has_before(self);
        if instant && let Some(position) = self.execute_now(&work) {
            return position;
        }
        let (position, state) = self.push(work);
        if instant && !state.running && state.queue.len() == 1 {
            drop(state);
            self.help(position);
        } else {
            self.make_ready(state);
        }
        position
    }

    /// Submits work and waits for it, in the caller's thread where the stream is idle.
    pub fn submit_and_wait(self: &Arc<Self>, work: Work) -> Result<()> {
        self.submitted_by(this_thread());
        self.help_those_before();
        if let Some(position) = self.execute_now(&work) {
            return self.told(position);
        }
        let (position, state) = self.push(work);
        drop(state);
        // Helping hands over what it leaves.
        self.wait(position, u64::MAX)
    }

    /// Executes a command in the calling thread without queueing it, if nothing is before it and it has nothing to wait
    /// for.
    fn execute_now(self: &Arc<Self>, work: &Work) -> Option<Position> {
        let Work::One(command) = work else { return None };
        if command.is_host_function() {
            return None;
        }
        let mut state = self.lock();
        if state.running || !state.queue.is_empty() || !command.is_ready_now(self.engine) {
            return None;
        }
        let mut targets = Targets::new();
        command.submit(self.engine, &mut targets);
        let position = self.next_position();
        state.direct = Some(Direct { position, signal: command.signal(&targets) });
        state.running = true;
        let lost = state.lost();
        let (result, _section) = MutexGuard::unlocked(&mut state, || {
            let outcome = self.execute(command, &targets, lost);
            // A child finds a command that signalled to be done.
            let section = fork::section();
            let result = outcome.as_ref().map(drop).map_err(Arc::clone);
            command.complete(self.engine, &targets, outcome);
            (result, section)
        });
        if self.notice_fork(&mut state) {
            return Some(position);
        }
        self.completed.advance();
        state.running = false;
        state.direct = None;
        if let Err(reason) = result {
            state.failure.get_or_insert(Failure { reason, position });
        }
        self.make_ready(state);
        Some(position)
    }

    /// Executes a command, whose time counts for the device's engines.
    fn execute(&self, command: &Command, targets: &[Target], lost: Option<Reason>) -> Outcome {
        let _busy = command.work().map(|work| self.activity.begin(work));
        command.execute(self.engine, targets, lost, self.activity.usage())
    }

    fn push(&self, work: Work) -> (Position, MutexGuard<'_, State>) {
        // A child finds what is submitted in the queue.
        let _section = fork::section();
        let mut item = Item::submit(work, self.engine);
        let mut state = self.lock();
        let position = self.next_position();
        item.position = position;
        state.queue.push_back(item);
        (position, state)
    }

    /// The place of what is being submitted, by who has the state.
    fn next_position(&self) -> Position {
        Position(self.submitted.fetch_add(1, Ordering::Relaxed).wrapping_add(1))
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
        self.settle();
        if matches!(deadline, Deadline::Never) && !self.is_reached(position) {
            self.help_those_before();
            self.help(position);
        }
        if !self.completed.wait_awake(deadline, |completed| position.is_reached(completed)) {
            return Err(Error::NotReady);
        }
        self.told(position)
    }

    /// Whether a command up to a place failed: who has waited learns of it.
    fn told(&self, position: Position) -> Result<()> {
        let failure = self.lock().failure.take_if(|failure| !failure.position.is_behind(position));
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
            self.completed.wait(Deadline::about(BLOCKED_CHECK), |completed| position.is_reached(completed));
        }
        true
    }

    fn waits_for_events(&self, position: Position) -> bool {
        let state = self.lock();
        let mut left =
            state.queue.iter().take_while(|item| !item.position.is_behind(position)).flat_map(Item::left);
        state.failure.is_none() && left.any(|(command, targets)| !command.is_ready(self.engine, targets))
    }

    /// Executes in the calling thread up to a place, unless another thread executes already.
    pub fn help(self: &Arc<Self>, position: Position) {
        if !self.is_reached(position) {
            self.run_in_program(self.lock(), || !self.is_reached(position));
        }
    }

    /// As [`help`](Self::help), up to the command that signals this; without one, what is here does not concern the
    /// caller.
    pub fn help_until(self: &Arc<Self>, signal: &Arc<Signal>) {
        self.help_those_before();
        let state = self.lock();
        if state.queue.iter().any(|item| item.will_signal(signal)) {
            self.run_in_program(state, || !signal.is_signalled_untold());
        }
    }

    fn run_in_program(self: &Arc<Self>, mut state: MutexGuard<'_, State>, wanted: impl Fn() -> bool) {
        if state.running {
            return;
        }
        if self.run(&mut state, Executor::Program, wanted) == Stop::HandOver {
            self.make_ready(state);
        }
    }

    /// Has a worker execute what is queued, unless somebody is to do so anyway.
    fn make_ready(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        if state.running || state.ready || state.notified || state.queue.is_empty() {
            return;
        }
        state.ready = true;
        drop(state);
        if !workers().execute(Arc::clone(self)) {
            // Without a thread to be had, this one does the work.
            self.take_turn(Executor::Worker);
        }
    }

    /// What a thread does with a stream that was ready and is its own to execute now.
    fn take_turn(self: &Arc<Self>, executor: Executor) -> Stop {
        let mut state = self.lock();
        state.ready = false;
        if state.running {
            // That thread goes on, or makes the stream ready again.
            return Stop::Empty;
        }
        let begin = clock::now();
        let goes_on = || executor == Executor::Worker && !workers().is_awaited();
        let wanted = || clock::now().saturating_sub(begin) < TURN || goes_on();
        let stop = self.run(&mut state, executor, wanted);
        if stop == Stop::HandOver {
            self.make_ready(state);
        }
        stop
    }

    /// Executes what waits for a thread and comes before this stream: a program's thread is at hand for it. Streams of one
    /// engine are not ordered, but there programs expect what they submitted first to begin first, which what a worker has just
    /// taken may do, too.
    fn help_those_before(&self) {
        while let Some(before) = workers().take_before(self)
            && before.take_turn(Executor::Passer) != Stop::HandOver
        {}
        workers().let_begin(self);
    }

    /// Executes command by command while `wanted` holds. Nobody else executes.
    fn run(
        self: &Arc<Self>,
        state: &mut MutexGuard<'_, State>,
        executor: Executor,
        wanted: impl Fn() -> bool,
    ) -> Stop {
        state.running = true;
        let stop = loop {
            if !wanted() {
                break Stop::HandOver;
            }
            if let Some(stop) = self.step(state, executor, &wanted) {
                break stop;
            }
        };
        state.running = false;
        stop
    }

    /// Executes a command, and those behind it that are plain, while `wanted` holds. Otherwise, why not.
    fn step(
        self: &Arc<Self>,
        state: &mut MutexGuard<'_, State>,
        executor: Executor,
        wanted: &impl Fn() -> bool,
    ) -> Option<Stop> {
        let lost = state.lost();
        let Some(item) = state.queue.front_mut() else { return Some(Stop::Empty) };
        let timed = item.wants_start();
        if let Some(Next { list, at }) = item.next() {
            let command = &list[at];
            let targets = Targets::from(item.next_targets(command));
            if lost.is_none() {
                if let Some(stop) = self.blocked(state, command, &targets) {
                    return Some(stop);
                }
                if !executor.may_execute(command) {
                    return Some(Stop::HandOver);
                }
            }
            let (start, done, result, _section) = MutexGuard::unlocked(state, || {
                if executor == Executor::Worker {
                    workers().pay();
                }
                let start = timed.then(clock::now);
                let mut kind = command.work();
                let mut busy = kind.map(|kind| self.activity.begin(kind));
                let more = command.is_plain() && lost.is_none();
                let usage = self.activity.usage();
                let execute = || command.execute(self.engine, &targets, lost, usage);
                let outcome = if command.is_host_function() { workers().away(execute) } else { execute() };
                if !more {
                    drop(busy);
                    // A child finds a command that signalled to be done.
                    let section = fork::section();
                    let result = outcome.as_ref().map(drop).map_err(Arc::clone);
                    command.complete(self.engine, &targets, outcome);
                    return (start, 1, result, section);
                }
                // Nobody else has to know how many of the plain ones are done, nor when each begins.
                let (mut done, mut result) = (1, outcome.map(drop));
                let mut plain = list[at + 1..].iter().take_while(|next| next.is_plain());
                while result.is_ok()
                    && let Some(next) = plain.next().filter(|next| next.is_instant() || wanted())
                    && executor.may_execute(next)
                {
                    if next.work() != kind {
                        drop(busy.take());
                        kind = next.work();
                        busy = kind.map(|kind| self.activity.begin(kind));
                    }
                    done += 1;
                    result = next.execute(self.engine, &[], None, usage).map(drop);
                }
                drop(busy);
                (start, done, result, fork::section())
            });
            // A function of the program may fork, and its child returns from it.
            if self.notice_fork(state) {
                return Some(Stop::Empty);
            }
            let Some(item) = state.queue.front_mut() else { return Some(Stop::Empty) };
            item.started(start);
            item.advance(done, targets.len());
            let position = item.position;
            if let Err(reason) = result {
                state.failure.get_or_insert(Failure { reason, position });
            }
        }
        if state.queue.front_mut().is_some_and(|item| item.next().is_none()) {
            self.finish(state);
        }
        None
    }

    /// Whether a command waits for a signal, which then makes the stream ready.
    fn blocked(self: &Arc<Self>, state: &mut State, command: &Command, targets: &[Target]) -> Option<Stop> {
        if command.is_ready(self.engine, targets) {
            // Told of it or not: what the stream waits for next is to tell it.
            state.notified = false;
            return None;
        }
        if !state.notified {
            let waiter: Arc<dyn Waiter> = Arc::clone(self) as Arc<dyn Waiter>;
            if !command.notify(self.engine, targets, &waiter) {
                return None;
            }
            state.notified = true;
        }
        Some(Stop::Blocked)
    }

    /// Takes the front out of the queue, all of whose commands are done.
    fn finish(&self, state: &mut MutexGuard<'_, State>) {
        // A child finds it in the queue, or completed.
        let section = fork::section();
        let Some(item) = state.queue.pop_front() else { return };
        let lost = state.lost();
        // What the work owns may be the last reference to an object whose destructor takes time.
        MutexGuard::unlocked(state, || {
            item.complete(self.engine, lost, clock::now);
            self.completed.advance();
            drop(section);
            drop(item);
        });
    }
}

impl Waiter for Stream {
    fn priority(&self) -> Priority {
        self.priority
    }

    fn look_again(self: Arc<Self>) {
        let mut state = self.lock();
        state.notified = false;
        self.make_ready(state);
    }
}

#[cfg(test)]
mod tests;
