//! A stream executes what is submitted to it, in order: the engine behind a queue or an immediate list.
//!
//! One thread at a time executes: the stream's own worker, which starts with the first submission that needs
//! it, or a program's thread that waits for the stream without a time limit and so has nothing better to do.
//! A program's thread executes no command that waits for an event, as it may be the one who is to signal it:
//! from there on the worker goes on. A stream that waits for an event blocks nobody else.
//!
//! After a command failed, those behind it are not executed, but signal, and fail for the same reason, until somebody
//! who waits for the stream has learned of it: what they would work on is not there. In a forked child that is what
//! becomes of the commands that its parent executes: they signal, and nothing of them is executed.

use crate::clock;
use crate::command::{Command, Targets};
use crate::error::{Error, Result};
use crate::fork;
use crate::fork::{Mutex, MutexGuard};
use crate::futex::{Counter, Deadline};
use crate::signal::{Outcome, Reason, Signal, Timestamps};
use crate::sysman::activity::Activity;
use smallvec::SmallVec;
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

/// Lists with more commands than this take longer than to wake another thread, whatever the commands are.
const INSTANT_COMMANDS: usize = 8;

/// Commands in their order, a piece of a closed list that all its executions share.
pub type Commands = Arc<SmallVec<[Command; 1]>>;

/// What is submitted in one piece.
pub enum Work {
    /// A command of an immediate list.
    One(Command),
    Lists {
        lists: Lists,
        /// Signalled after the commands and everything before.
        signal: Option<Arc<Signal>>,
    },
}

/// Pieces of a list, or of several, one after the other.
pub type Lists = SmallVec<[Commands; 1]>;

impl Work {
    /// A closed command list.
    pub fn list(lists: Lists) -> Self {
        Work::Lists { lists, signal: None }
    }

    /// A fence after everything before.
    pub fn fence(signal: Arc<Signal>) -> Self {
        Work::Lists { lists: Lists::new(), signal: Some(signal) }
    }

    fn into_parts(self) -> (Lists, Option<Arc<Signal>>) {
        match self {
            Work::One(command) => ([Arc::new([command].into())].into(), None),
            Work::Lists { lists, signal } => (lists, signal),
        }
    }

    /// Whether it is done in about the time that waking another thread takes.
    fn is_instant(&self) -> bool {
        match self {
            Work::One(command) => command.is_instant(),
            Work::Lists { lists, .. } => {
                lists.iter().map(|list| list.len()).sum::<usize>() <= INSTANT_COMMANDS
                    && lists.iter().flat_map(|list| list.iter()).all(Command::is_instant)
            }
        }
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
    lists: Lists,
    signal: Option<Arc<Signal>>,
    position: Position,
    /// Of all waits of all commands, in their order.
    targets: Targets,
    /// Lists that are done, commands of the next one, and the targets of all these.
    done_lists: usize,
    done: usize,
    done_targets: usize,
    /// Host time when the first command started.
    start: Option<u64>,
}

impl Item {
    /// The commands that are not done, each with its targets.
    fn left(&self) -> impl Iterator<Item = (&Command, &[u32])> {
        let mut targets = &self.targets[self.done_targets..];
        let commands = self.lists[self.done_lists..].iter().flat_map(|list| list.iter());
        commands.skip(self.done).map(move |command| {
            let (own, rest) = targets.split_at(command.waits());
            targets = rest;
            (command, own)
        })
    }

    /// The list and the place in it of the first command that is not done.
    fn next(&mut self) -> Option<(&Commands, usize)> {
        while self.lists.get(self.done_lists).is_some_and(|list| list.len() == self.done) {
            (self.done_lists, self.done) = (self.done_lists + 1, 0);
        }
        self.lists.get(self.done_lists).map(|list| (list, self.done))
    }

    fn will_signal(&self, signal: &Arc<Signal>) -> bool {
        self.signal.as_ref().is_some_and(|own| Arc::ptr_eq(own, signal))
            || self.left().any(|(command, _)| command.signals(signal))
    }
}

/// A command that is executed without having been in the queue.
struct Direct {
    position: Position,
    signal: Option<Arc<Signal>>,
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
    has_worker: bool,
    closing: bool,
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
    /// A thread of the program, inside an API call: it neither waits for events nor calls the program back.
    Program,
}

/// An in-order execution unit.
pub struct Stream {
    state: Mutex<State>,
    /// Advanced to wake the worker. It sleeps on a word of the stream's own: the lists of threads that a condition
    /// variable keeps are those of the parent after a fork.
    wake: Counter,
    /// Length of the queue, for the worker's look without the lock.
    queued: AtomicU32,
    /// Pieces submitted and completed; both wrap around.
    submitted: AtomicU32,
    completed: Counter,
    /// The device's counters, which the commands switch on and off.
    activity: Arc<Activity>,
}

impl Stream {
    /// A stream of a device.
    pub fn counted(activity: &Arc<Activity>) -> Arc<Self> {
        fork::watch();
        Arc::new(Self {
            state: Mutex::new(State { generation: fork::generation(), ..State::default() }),
            wake: Counter::new(0),
            queued: AtomicU32::new(0),
            submitted: AtomicU32::new(0),
            completed: Counter::new(0),
            activity: Arc::clone(activity),
        })
    }

    /// A stream of no device.
    #[cfg(test)]
    pub fn new() -> Arc<Self> {
        Self::counted(&Arc::default())
    }

    /// The state. What a forked child finds there is its parent's: threads that it does not have, and commands that are
    /// executed elsewhere.
    fn lock(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock();
        self.notice_fork(&mut state);
        state
    }

    /// Whether this is a forked child that sees the stream for the first time. Then it gives up what is queued: everything
    /// signals that it failed. That is done under the lock, so that no other thread of the child executes any of it.
    fn notice_fork(&self, state: &mut State) -> bool {
        let generation = fork::generation();
        if state.generation == generation {
            return false;
        }
        state.generation = generation;
        (state.running, state.has_worker) = (false, false);
        let (items, direct) = (std::mem::take(&mut state.queue), state.direct.take());
        self.queued.store(0, Ordering::Relaxed);
        let last = items.back().map(|last| last.position);
        let Some(position) = last.or(direct.as_ref().map(|direct| direct.position)) else { return true };
        let reason: Reason =
            "the process that submitted the command has forked, and this is not that process".into();
        state.failure = Some(Failure { reason: Arc::clone(&reason), position });
        if let Some(direct) = direct {
            direct.signal.inspect(|signal| signal.complete(Err(Arc::clone(&reason))));
            self.completed.advance();
        }
        for item in &items {
            item.left().for_each(|(command, _)| command.complete(Err(Arc::clone(&reason))));
            if let Some(signal) = &item.signal {
                signal.complete(Err(Arc::clone(&reason)));
            }
            self.completed.advance();
        }
        true
    }

    /// In a forked child, gives up what the parent executes.
    pub fn settle(&self) {
        if fork::generation() != 0 {
            drop(self.lock());
        }
    }

    /// Submits work and returns its place. Work that takes next to no time is executed at once where nothing
    /// is before it; everything else goes to the worker.
    pub fn submit(self: &Arc<Self>, work: Work) -> Position {
        let instant = work.is_instant();
        if instant && let Some(position) = self.execute_now(&work) {
            return position;
        }
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
        if let Some(position) = self.execute_now(&work) {
            return self.told(position);
        }
        let (position, state) = self.push(work);
        drop(state);
        // Helping wakes the worker for what it leaves.
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
        if state.running || !state.queue.is_empty() || !command.is_ready_now() {
            return None;
        }
        command.submit(&mut Targets::new());
        let position = self.next_position();
        state.direct = Some(Direct { position, signal: command.signal().cloned() });
        state.running = true;
        let lost = state.lost();
        let (result, _section) = MutexGuard::unlocked(&mut state, || {
            let outcome = self.execute(command, lost);
            // As in `step`.
            let section = fork::section();
            let result = outcome.as_ref().map(drop).map_err(Arc::clone);
            command.complete(outcome);
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
        self.hand_over(state);
        Some(position)
    }

    /// Executes a command, whose time counts for the device's engines.
    fn execute(&self, command: &Command, lost: Option<Reason>) -> Outcome {
        let _busy = command.work().map(|work| self.activity.begin(work));
        command.execute(lost)
    }

    fn push(&self, work: Work) -> (Position, MutexGuard<'_, State>) {
        let (lists, signal) = work.into_parts();
        // A child finds what is submitted in the queue.
        let _section = fork::section();
        let mut targets = Targets::new();
        lists.iter().flat_map(|list| list.iter()).for_each(|command| command.submit(&mut targets));
        if let Some(signal) = &signal {
            signal.submit();
        }
        let mut state = self.lock();
        let position = self.next_position();
        let (done_lists, done, done_targets, start) = (0, 0, 0, None);
        let item = Item { lists, signal, position, targets, done_lists, done, done_targets, start };
        state.queue.push_back(item);
        self.queued.fetch_add(1, Ordering::Release);
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
        if matches!(deadline, Deadline::Never) {
            self.help(position);
        }
        if !self.completed.wait(deadline, |completed| position.is_reached(completed)) {
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
            self.completed.wait(Deadline::after(BLOCKED_CHECK), |completed| position.is_reached(completed));
        }
        true
    }

    fn waits_for_events(&self, position: Position) -> bool {
        let state = self.lock();
        let mut left =
            state.queue.iter().take_while(|item| !item.position.is_behind(position)).flat_map(Item::left);
        state.failure.is_none() && left.any(|(command, targets)| !command.is_ready(targets))
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
        let state = self.lock();
        if state.queue.iter().any(|item| item.will_signal(signal)) {
            self.run_in_program(state, || !signal.is_signalled());
        }
    }

    fn run_in_program(self: &Arc<Self>, state: MutexGuard<'_, State>, wanted: impl Fn() -> bool) {
        if state.running {
            return;
        }
        let state = self.run(state, Executor::Program, wanted);
        self.hand_over(state);
    }

    /// A thread of the program has executed and does so no longer.
    fn hand_over(self: &Arc<Self>, state: MutexGuard<'_, State>) {
        if !state.queue.is_empty() {
            self.wake_worker(state);
        } else if state.closing {
            // The worker has heard of that while the queue was not empty.
            self.wake.advance();
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
        while wanted() && self.step(&mut state, executor, &wanted) {}
        state.running = false;
        state
    }

    /// Executes a command, and those behind it that are plain, while `wanted` holds. False: there is none, or none that
    /// this thread may execute.
    fn step(
        &self,
        state: &mut MutexGuard<'_, State>,
        executor: Executor,
        wanted: &impl Fn() -> bool,
    ) -> bool {
        // A host function may fork, and its child returns from it.
        if self.notice_fork(state) {
            return false;
        }
        let lost = state.lost();
        let Some(item) = state.queue.front_mut() else { return false };
        let timed = item.signal.is_some() && item.start.is_none();
        if let Some((list, at)) = item.next().map(|(list, at)| (Arc::clone(list), at)) {
            let command = &list[at];
            let targets = &item.targets[item.done_targets..][..command.waits()];
            let runs_anywhere = lost.is_some() || (command.is_ready(targets) && !command.is_host_function());
            if executor == Executor::Program && !runs_anywhere {
                return false;
            }
            let targets = Targets::from_slice(targets);
            let (start, done, result, _section) = MutexGuard::unlocked(state, || {
                if executor == Executor::Worker && lost.is_none() {
                    command.wait(&targets);
                }
                let start = timed.then(clock::now);
                let (mut done, mut outcome) = (1, self.execute(command, lost.clone()));
                if command.is_plain() && lost.is_none() {
                    // Nobody else has to know how many of the plain ones are done.
                    let mut plain = list[at + 1..].iter().take_while(|next| next.is_plain() && wanted());
                    while outcome.is_ok()
                        && let Some(next) = plain.next()
                    {
                        (done, outcome) = (done + 1, self.execute(next, None));
                    }
                }
                // A child finds a command that signalled to be done. Plain ones signal nothing.
                let section = fork::section();
                let result = outcome.as_ref().map(drop).map_err(Arc::clone);
                command.complete(outcome);
                (start, done, result, section)
            });
            if self.notice_fork(state) {
                return false;
            }
            let Some(item) = state.queue.front_mut() else { return false };
            item.start = item.start.or(start);
            item.done += done;
            item.done_targets += targets.len();
            let position = item.position;
            if let Err(reason) = result {
                state.failure.get_or_insert(Failure { reason, position });
            }
        }
        if state.queue.front_mut().is_some_and(|item| item.next().is_none()) {
            self.finish(state);
        }
        true
    }

    /// Takes the front out of the queue, all of whose commands are done.
    fn finish(&self, state: &mut MutexGuard<'_, State>) {
        // A child finds it in the queue, or completed.
        let section = fork::section();
        let Some(item) = state.queue.pop_front() else { return };
        self.queued.fetch_sub(1, Ordering::Relaxed);
        let lost = state.lost();
        // What the work owns may be the last reference to an object whose destructor takes time.
        MutexGuard::unlocked(state, || {
            if let Some(signal) = &item.signal {
                let end = clock::now();
                let times = Timestamps { start: item.start.unwrap_or(end), end };
                signal.complete(lost.map_or(Ok(times), Err));
            }
            self.completed.advance();
            drop(section);
            drop(item);
        });
    }

    fn wake_worker(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        if state.has_worker {
            drop(state);
            self.wake.advance();
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
        let mut state = self.lock();
        let generation = fork::generation();
        loop {
            if fork::generation() != generation {
                // Forked by a host function: the child's streams have workers of their own.
                return;
            }
            if !state.running && !state.queue.is_empty() {
                state = self.run(state, Executor::Worker, || true);
                MutexGuard::unlocked(&mut state, || self.look_for_work());
            } else if state.closing && state.queue.is_empty() {
                return;
            } else {
                // Whoever changes the state from here on advances it afterwards.
                let seen = self.wake.get();
                MutexGuard::unlocked(&mut state, || self.wake.wait(Deadline::Never, |now| now != seen));
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
        self.lock().closing = true;
        self.wake.advance();
    }
}

#[cfg(test)]
mod tests;
