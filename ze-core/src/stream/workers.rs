//! The threads that execute streams: few, whatever the number of streams.
//!
//! A stream that has something to execute is *ready* and waits for a worker; one that is empty, or waits for an event, holds
//! none. Workers start when they are needed and end when they have had nothing to do for a while. A worker that runs a
//! function of the program does not count, as that may wait for what another stream does.
//!
//! A worker whose command makes another stream ready does not wake anybody for it before it knows that it has something else to execute:
//! mostly it would wait for the same thing that it has just done. What goes from stream to stream by events, as the lists of an unordered queue do,
//! so stays in one thread, which takes a sixteenth of the time.
//!
//! What one thread submits to several streams of an engine begins in the order of submission, as on a device whose engine
//! executes one thing after the other; and what is short is done before the next one begins: who would overtake what a worker
//! has just taken waits for [`HEAD_START`] at most. No longer, as streams may wait for each other by way of memory.

use super::{Executor, Priority, Stream};
use crate::clock;
use crate::fork::{self, Mutex, MutexGuard, PerProcess};
use crate::futex::{Counter, Deadline};
use crate::signal::EngineId;
use crate::sync::{AtomicUsize, MOST_ACTIVE, Ordering, computing, thread, thread_local};
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;

/// Kernels run on a worker's stack, too.
const STACK: usize = 8 << 20;
/// Nanoseconds without work after which a worker ends.
const IDLE_TIME: u64 = 500_000_000;
/// Nanoseconds for which a stream that a worker has taken has its engine for itself, among those of one submitter.
const HEAD_START: u64 = 50_000;

thread_local! {
    /// In a worker: how many streams it has made ready without waking anybody.
    static OWED: Cell<Option<usize>> = Cell::default();
}

/// A stream that a worker executes.
struct Turn {
    /// Only to be compared.
    stream: usize,
    engine: EngineId,
    priority: Priority,
    submitter: usize,
    began: u64,
}

impl Turn {
    fn of(stream: &Stream, began: u64) -> Turn {
        let (engine, submitter) = (stream.engine, stream.submitter());
        let priority = stream.priority;
        Turn { stream: std::ptr::from_ref(stream).addr(), engine, priority, submitter, began }
    }
}

#[derive(Default)]
struct State {
    ready: VecDeque<Arc<Stream>>,
    /// What workers have taken, in that order.
    turns: Vec<Turn>,
    workers: usize,
    /// Workers that wait for work.
    idle: usize,
    /// Workers inside functions of the program.
    away: usize,
}

impl State {
    /// Whether there is work that no worker is about to take.
    fn wants_worker(&self) -> bool {
        self.ready.len() > self.idle && self.workers.saturating_sub(self.away) < MOST_ACTIVE
    }

    /// The place of the first ready stream that is to be executed before another one.
    fn before(&self, other: &Stream) -> Option<usize> {
        let mut before = self.ready.iter().take_while(|stream| !std::ptr::eq(Arc::as_ptr(stream), other));
        before.position(|stream| stream.priority > other.priority || stream.engine == other.engine)
    }

    /// Whether a worker has just taken a stream to which this one's submitter gave work of this one's engine before, and which is as urgent.
    fn is_ahead(&self, other: &Stream, now: u64) -> bool {
        let mut ahead = self.turns.iter().take_while(|turn| turn.stream != std::ptr::from_ref(other).addr());
        ahead.any(|turn| {
            turn.engine == other.engine
                && turn.priority >= other.priority
                && turn.submitter == other.submitter()
                && now.saturating_sub(turn.began) < HEAD_START
        })
    }
}

#[derive(Default)]
pub(super) struct Workers {
    state: Mutex<State>,
    /// Streams that are ready, to be looked at without the lock.
    ready: AtomicUsize,
    /// And those that workers have taken, which are counted before they are not ready any more.
    taken: AtomicUsize,
    /// Advanced when there is work. A word, not a condition variable: that keeps lists of threads, which a fork invalidates.
    wake: Counter,
}

/// The workers of this process.
pub(super) fn workers() -> &'static Workers {
    static WORKERS: PerProcess<Workers> = PerProcess::new();
    WORKERS.get_or_init(Workers::default)
}

impl Workers {
    /// Has a ready stream executed. False: there is no worker, nor can one be had.
    pub fn execute(&'static self, stream: Arc<Stream>) -> bool {
        let mut state = self.state.lock();
        // Behind those of its own priority.
        let urgent = |other: &Arc<Stream>| other.priority >= stream.priority;
        let at = state.ready.iter().rposition(urgent).map_or(0, |last| last + 1);
        let kept = Arc::clone(&stream);
        state.ready.insert(at, stream);
        self.publish(&state);
        if OWED.with(|owed| owed.get().map(|count| owed.set(Some(count + 1)))).is_some() {
            return true;
        }
        if self.summon(state) {
            return true;
        }
        let mut state = self.state.lock();
        if state.workers > state.away {
            return true;
        }
        // Without a worker the caller executes it.
        state.ready.retain(|other| !Arc::ptr_eq(other, &kept));
        self.publish(&state);
        false
    }

    /// Has one more worker look for what is ready. False: it could not be started.
    fn summon(&'static self, mut state: MutexGuard<'_, State>) -> bool {
        if !state.wants_worker() {
            drop(state);
            self.wake.advance_one();
            return true;
        }
        state.workers += 1;
        drop(state);
        let started = self.start();
        if !started {
            self.state.lock().workers -= 1;
        }
        started
    }

    /// Wakes others for what a worker has made ready and does not take itself, as it has something else to do.
    pub fn pay(&'static self) {
        let owed = OWED.with(|owed| owed.get().filter(|count| *count > 0).inspect(|_| owed.set(Some(0))));
        for _ in 0..owed.unwrap_or(0) {
            let state = self.state.lock();
            if state.ready.is_empty() {
                return;
            }
            self.summon(state);
        }
    }

    /// Lets [`has_before`](Self::has_before) see what has changed.
    fn publish(&self, state: &State) {
        self.taken.store(state.turns.len(), Ordering::Relaxed);
        self.ready.store(state.ready.len(), Ordering::Release);
    }

    /// Whether there is what [`take_before`](Self::take_before) would take, or [`let_begin`](Self::let_begin) wait for.
    pub fn has_before(&self, other: &Stream) -> bool {
        (self.ready.load(Ordering::Acquire) != 0 && self.state.lock().before(other).is_some())
            || self.is_ahead(other)
    }

    fn is_ahead(&self, other: &Stream) -> bool {
        self.taken.load(Ordering::Relaxed) != 0 && self.state.lock().is_ahead(other, clock::now())
    }

    /// Waits until what workers took before this stream and should begin before it is done, or has had its head start.
    pub fn let_begin(&self, other: &Stream) {
        while self.is_ahead(other) {
            // The worker may want this processor.
            thread::yield_now();
        }
    }

    /// Takes the first ready stream that is to be executed before another one: a more urgent one, or one of the same engine
    /// that was ready before.
    pub fn take_before(&self, other: &Stream) -> Option<Arc<Stream>> {
        if self.ready.load(Ordering::Acquire) == 0 {
            return None;
        }
        let mut state = self.state.lock();
        let at = state.before(other)?;
        let stream = state.ready.remove(at);
        self.publish(&state);
        stream
    }

    fn start(&'static self) -> bool {
        let builder = thread::Builder::new().name("ze_cpu queue".into()).stack_size(STACK);
        let started = fork::spawn(builder, move || self.work());
        if let Err(error) = &started {
            tracing::warn!("no thread to execute commands: {error}");
        }
        started.is_ok()
    }

    /// Whether a worker that has executed a stream for a while should take another one.
    pub fn is_awaited(&self) -> bool {
        let state = self.state.lock();
        state.ready.len() > state.idle
    }

    /// Runs a function of the program in a worker.
    pub fn away<T>(&'static self, function: impl FnOnce() -> T) -> T {
        let mut state = self.state.lock();
        state.away += 1;
        if state.wants_worker() {
            self.summon(state);
        } else {
            drop(state);
        }
        // What it makes ready it may wait for.
        let owed = OWED.with(|owed| owed.take());
        let result = function();
        OWED.with(|own| own.set(owed));
        self.state.lock().away -= 1;
        result
    }

    fn work(&'static self) {
        OWED.with(|owed| owed.set(Some(0)));
        let generation = fork::generation();
        let mut state = self.state.lock();
        loop {
            if let Some(stream) = state.ready.pop_front() {
                let turn = Turn::of(&stream, clock::now());
                let own = turn.stream;
                state.turns.push(turn);
                self.publish(&state);
                drop(state);
                // This one it does itself.
                OWED.with(|owed| owed.set(owed.get().map(|count| count.saturating_sub(1))));
                self.pay();
                self.let_begin(&stream);
                let computing = computing(1);
                stream.take_turn(Executor::Worker);
                drop((computing, stream));
                if fork::generation() != generation {
                    // A function of the program has forked, and this is the child: its workers are others.
                    return;
                }
                state = self.state.lock();
                if let Some(at) = state.turns.iter().position(|turn| turn.stream == own) {
                    state.turns.remove(at);
                }
                self.publish(&state);
                continue;
            }
            OWED.with(|owed| owed.set(Some(0)));
            state.idle += 1;
            let seen = self.wake.get();
            drop(state);
            let woken = self.wake.wait(Deadline::about(IDLE_TIME), |now| now != seen);
            state = self.state.lock();
            state.idle -= 1;
            if !woken && state.ready.is_empty() {
                state.workers -= 1;
                return;
            }
        }
    }

    /// How many threads there are.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.state.lock().workers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_more_urgent_or_of_the_same_engine_comes_first() {
        let workers = Workers::default();
        let (own, other) = (EngineId::new(), EngineId::new());
        let stream = |engine, priority| Stream::with_priority(engine, &Arc::default(), priority);
        let waiting = stream(own, Priority::Normal);
        assert!(workers.take_before(&waiting).is_none());
        let urgent = stream(other, Priority::High);
        let earlier = stream(own, Priority::Normal);
        let ready =
            [&urgent, &stream(other, Priority::Normal), &earlier, &waiting, &stream(own, Priority::Normal)];
        let mut state = workers.state.lock();
        state.ready.extend(ready.map(Arc::clone));
        workers.publish(&state);
        drop(state);
        assert!(workers.take_before(&urgent).is_none(), "nothing is before it");
        let takes =
            |want: &Arc<Stream>| workers.take_before(&waiting).is_some_and(|taken| Arc::ptr_eq(&taken, want));
        assert!(takes(&urgent) && takes(&earlier));
        assert!(workers.take_before(&waiting).is_none(), "one of another engine, and one that is behind it");
    }

    #[test]
    fn what_a_worker_has_just_taken_has_a_head_start() {
        let stream = |engine| Stream::new(engine, &Arc::default());
        let (own, other) = (EngineId::new(), EngineId::new());
        let (first, second, unrelated) = (stream(own), stream(own), stream(other));
        let turns = [&first, &second].map(|stream| Turn::of(stream, 1000));
        let state = State { turns: turns.into(), ..State::default() };
        assert!(!state.is_ahead(&first, 1000), "nothing is before it");
        assert!(state.is_ahead(&second, 1000) && state.is_ahead(&second, 999 + HEAD_START));
        assert!(!state.is_ahead(&second, 1000 + HEAD_START), "the head start is over");
        assert!(!state.is_ahead(&unrelated, 1000), "its engine is another");
        assert!(state.is_ahead(&stream(own), 1000));
        let urgent = Stream::with_priority(own, &Arc::default(), Priority::High);
        assert!(!state.is_ahead(&urgent, 1000), "it waits for nothing that is less urgent");
        second.submitted_by(1);
        assert!(!state.is_ahead(&second, 1000), "another thread's order is its own");
    }
}
