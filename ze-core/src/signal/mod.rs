//! What commands signal and wait for: the state behind events and fences.

use crate::clock;
use crate::error::{Error, Result};
use crate::fork::{Mutex, MutexGuard};
use crate::futex::{Counter, Deadline};
use crate::stream::Priority;
use crate::sync::{self, AtomicBool, AtomicU32, AtomicU64, Ordering};
use smallvec::SmallVec;
use std::sync::{Arc, Weak};

/// Host times in nanoseconds of the command that signalled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Timestamps {
    pub start: u64,
    pub end: u64,
}

/// Why a command was not executed, or not to its end.
pub type Reason = Arc<str>;

/// How a command ended.
pub type Outcome = std::result::Result<Timestamps, Reason>;

/// One order of submission: that of an engine, which is what all queues and immediate lists of one ordinal and index share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EngineId(u32);

impl EngineId {
    /// An engine that no other device has.
    pub fn new() -> Self {
        // The standard library's: no thread learns anything from another one by it.
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

#[cfg(test)]
impl EngineId {
    /// Stands for the one engine of a test.
    pub fn of_tests() -> Self {
        Self(u32::MAX)
    }
}

impl Default for EngineId {
    fn default() -> Self {
        Self::new()
    }
}

/// What is told when a signal has changed, so that it looks again.
pub trait Waiter: Send + Sync {
    /// Who is told first.
    fn priority(&self) -> Priority {
        Priority::default()
    }

    fn look_again(self: Arc<Self>);
}

/// What others know of a signal, and do to it: other processes, and who writes to the program's memory. A signal calls it under its
/// lock, but for [`has_changed`](Self::has_changed) and [`watch`](Self::watch).
pub trait Outside: Send + Sync {
    /// Whether others have changed a flag since the last [`take`](Self::take).
    fn has_changed(&self) -> bool;

    /// The state of a flag, if others have changed it: how the command ended that signalled it, if it is signalled.
    fn take(&self) -> Option<Option<Outcome>>;

    /// A command that signals is submitted.
    fn submit(&self) {}

    /// How a command has ended that signals, or nothing for a reset. Whether a flag is signalled then.
    fn publish(&self, outcome: Option<&Outcome>) -> bool;

    /// Has the signal [refreshed](Signal::refresh) when others change it.
    fn watch(&self);
}

/// A completion that can be waited for.
///
/// A *flag* is signalled once and reset explicitly. A *completion* is what a counter-based event stands for after
/// one append: each submission asks for one more signal, so a list that is executed again makes the event
/// wait again, without a reset.
///
/// The commands of an engine execute in several streams at once, but act on a flag as if they came one after the other, as they
/// were submitted. For that, submission divides them into *epochs*: one more begins with each reset. A command waits
/// for a signal of its own epoch: not for an older one whose reset has yet to be executed, and not for ever where the next
/// reset has been executed already. A signal that comes before the reset of its epoch stays, and one that comes after a later
/// reset is seen by the commands of its epoch only. Hosts and other engines, whose order relative to this one nobody
/// knows, act at once.
pub struct Signal {
    /// Of a flag: bit 0 whether it is signalled, the others count changes. Of a completion: the number of signals.
    done: Counter,
    /// How often a completion was submitted.
    submissions: AtomicU32,
    counting: bool,
    /// Some engine has submitted a reset, so there are epochs.
    has_epochs: AtomicBool,
    /// Of what others have too.
    outside: Option<Arc<dyn Outside>>,
    /// Somebody has taken what others changed, and it is not here yet. Written under the lock.
    taking_over: AtomicBool,
    /// What others changed was taken over by somebody who could not tell those who wait: the next who looks does.
    untold: AtomicBool,
    /// As much of `done` as programs look at by its address: of a flag 1 while it is signalled, of a completion the number of
    /// signals.
    word: AtomicU64,
    state: Mutex<State>,
}

/// Who waits for a change that has been made. They are told when the caller holds no lock: they call back and take locks of their own.
#[must_use]
#[derive(Default)]
pub struct Waiters(SmallVec<[Arc<dyn Waiter>; 2]>);

impl Waiters {
    fn of(mut state: MutexGuard<'_, State>) -> Waiters {
        Waiters(std::mem::take(&mut state.waiters))
    }

    pub fn extend(&mut self, others: Waiters) {
        self.0.extend(others.0);
    }

    pub fn tell(mut self) {
        self.0.sort_by_key(|waiter| std::cmp::Reverse(waiter.priority()));
        self.0.into_iter().for_each(Waiter::look_again);
    }
}

struct State {
    /// Of the latest command that signalled.
    outcome: Outcome,
    engines: SmallVec<[Engine; 1]>,
    waiters: SmallVec<[Arc<dyn Waiter>; 2]>,
}

/// The epochs of one engine's commands.
struct Engine {
    id: EngineId,
    /// Of what was submitted before the first reset.
    first: Arc<Epoch>,
    /// Of what is submitted now.
    submitted: Arc<Epoch>,
    /// The latest one whose reset was executed: the one that the flag shows.
    visible: Arc<Epoch>,
}

/// What lies between two resets that an engine submitted.
#[derive(Debug)]
pub struct Epoch {
    /// Place in the order of submission.
    number: u64,
    signalled: AtomicBool,
    /// How a command ended that signalled before the epoch was visible.
    early: Mutex<Option<Outcome>>,
}

impl Epoch {
    fn new(number: u64, signalled: bool) -> Arc<Self> {
        Arc::new(Self { number, signalled: AtomicBool::new(signalled), early: Mutex::new(None) })
    }
}

/// What a submitted command waits for, or signals, or where its reset leads to.
#[derive(Clone, Debug)]
pub enum Target {
    /// This many signals of a completion.
    Signals(u32),
    /// The flag of a signal that no command of the engine had reset.
    Flag,
    Epoch(Arc<Epoch>),
}

const SIGNALLED: u32 = 1;
const CHANGE: u32 = 2;

impl std::fmt::Debug for Signal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signal").field("counting", &self.counting).field("done", &self.done).finish()
    }
}

impl Signal {
    fn new(done: u32, counting: bool) -> Arc<Self> {
        Arc::new(Self::with(done, counting, None))
    }

    fn with(done: u32, counting: bool, outside: Option<Arc<dyn Outside>>) -> Self {
        let outcome = Ok(Timestamps::default());
        Self {
            done: Counter::new(done),
            submissions: AtomicU32::new(0),
            counting,
            has_epochs: AtomicBool::new(false),
            outside,
            taking_over: AtomicBool::new(false),
            untold: AtomicBool::new(false),
            word: AtomicU64::new(done.into()),
            state: Mutex::new(State { outcome, engines: SmallVec::new(), waiters: SmallVec::new() }),
        }
    }

    /// A flag that others have too, in the state that it has there.
    pub fn linked(outside: impl FnOnce(&Weak<Self>) -> Arc<dyn Outside>) -> Arc<Self> {
        let signal = Arc::new_cyclic(|signal| Self::with(0, false, Some(outside(signal))));
        signal.refresh();
        signal
    }

    /// A completion that others are told of.
    pub fn published(outside: Arc<dyn Outside>) -> Arc<Self> {
        Arc::new(Self::with(0, true, Some(outside)))
    }

    /// Takes over what others have done to the flag.
    pub fn refresh(&self) {
        let Some(outside) = &self.outside else { return };
        if !self.has_changed(outside) && !self.untold.load(Ordering::Acquire) {
            return;
        }
        let mut state = self.state.lock();
        let is_set = self.take_over(outside, &mut state);
        if self.untold.swap(false, Ordering::AcqRel) || is_set {
            Waiters::of(state).tell();
        }
    }

    /// The same for a stream that holds its lock, and so tells nobody: who waits is perhaps that stream. Those who wait have had the signal
    /// watched, and who watches it tells them.
    fn refresh_untold(&self) {
        let Some(outside) = self.outside.as_ref().filter(|outside| self.has_changed(outside)) else { return };
        let mut state = self.state.lock();
        if self.take_over(outside, &mut state) && !state.waiters.is_empty() {
            self.untold.store(true, Ordering::Release);
        }
    }

    fn has_changed(&self, outside: &Arc<dyn Outside>) -> bool {
        outside.has_changed() || self.taking_over.load(Ordering::Acquire)
    }

    /// Makes the flag what others have made it, if they have; whether they have set it.
    fn take_over(&self, outside: &Arc<dyn Outside>, state: &mut State) -> bool {
        self.taking_over.store(true, Ordering::Release);
        let taken = outside.take();
        let is_set = matches!(taken, Some(Some(_)));
        match taken {
            Some(Some(outcome)) => self.mark_set(state, outcome),
            Some(None) => self.clear_here(state),
            None => self.taking_over.store(false, Ordering::Release),
        }
        is_set
    }

    /// Has this process notice what others do to the flag: something waits for it.
    fn watch(&self) {
        if let Some(outside) = &self.outside {
            outside.watch();
            self.refresh();
        }
    }

    /// Where programs see how far it is, and what they find there once it is as far as the host now waits for. It stays valid
    /// as long as the signal lives.
    pub fn address(&self) -> (u64, u64) {
        self.watch();
        let wanted = if self.counting { u64::from(self.wanted()) } else { 1 };
        (sync::address(&self.word), wanted)
    }

    /// A flag that is not signalled.
    pub fn flag() -> Arc<Self> {
        Self::new(0, false)
    }

    /// A flag that is signalled from the start.
    pub fn raised() -> Arc<Self> {
        Self::new(SIGNALLED, false)
    }

    /// A completion of a command that is being appended.
    pub fn completion() -> Arc<Self> {
        Self::new(0, true)
    }

    /// A command that signals this is submitted: the target of [`complete`](Self::complete).
    pub fn submit_signal(&self, engine: EngineId) -> Target {
        if self.counting {
            if let Some(outside) = &self.outside {
                let _state = self.state.lock();
                outside.submit();
            }
            return Target::Signals(self.submissions.fetch_add(1, Ordering::AcqRel) + 1);
        }
        self.target(engine)
    }

    /// A command that waits for this is submitted: the target of [`is_reached`](Self::is_reached). A command that was
    /// appended, but never submitted, is waited for too.
    pub fn submit_wait(&self, engine: EngineId) -> Target {
        if self.counting { Target::Signals(self.wanted()) } else { self.target(engine) }
    }

    /// A command that resets this is submitted: the target of [`reset_by`](Self::reset_by).
    pub fn submit_reset(&self, engine: EngineId) -> Target {
        if self.counting {
            return Target::Flag;
        }
        let mut state = self.state.lock();
        self.has_epochs.store(true, Ordering::Release);
        if state.of(engine).is_none() {
            let first = Epoch::new(0, self.flag_is_set());
            let (submitted, visible) = (Arc::clone(&first), Arc::clone(&first));
            state.engines.push(Engine { id: engine, first, submitted, visible });
        }
        state.of(engine).map_or(Target::Flag, |engine| {
            engine.submitted = Epoch::new(engine.submitted.number + 1, false);
            Target::Epoch(Arc::clone(&engine.submitted))
        })
    }

    /// The epoch that an engine's submissions are in.
    fn target(&self, engine: EngineId) -> Target {
        if !self.has_epochs.load(Ordering::Acquire) {
            return Target::Flag;
        }
        let mut state = self.state.lock();
        state.of(engine).map_or(Target::Flag, |engine| Target::Epoch(Arc::clone(&engine.submitted)))
    }

    fn flag_is_set(&self) -> bool {
        self.done.get() & SIGNALLED != 0
    }

    /// A command that [signals](Self::submit_signal) this is done, or failed: either way, nobody waits any longer.
    pub fn complete(&self, engine: EngineId, target: &Target, outcome: Outcome) {
        self.completed(engine, target, outcome).tell();
    }

    /// The same, for a caller that tells those who wait.
    pub fn completed(&self, engine: EngineId, target: &Target, outcome: Outcome) -> Waiters {
        let mut state = self.state.lock();
        if self.counting {
            return self.count(state, outcome);
        }
        let Some(engine) = state.of(engine) else { return self.set(state, outcome) };
        let epoch = engine.epoch(target);
        if epoch.number == engine.visible.number {
            return self.set(state, outcome);
        }
        if epoch.number > engine.visible.number {
            *epoch.early.lock() = Some(outcome);
        }
        epoch.signalled.store(true, Ordering::Release);
        Waiters::of(state)
    }

    /// One more signal of a completion.
    fn count(&self, mut state: MutexGuard<'_, State>, outcome: Outcome) -> Waiters {
        if let Some(outside) = &self.outside {
            outside.publish(Some(&outcome));
        }
        state.outcome = outcome;
        self.word.fetch_add(1, Ordering::Release);
        self.done.advance();
        Waiters::of(state)
    }

    /// Sets the flag now, for everybody.
    fn set(&self, mut state: MutexGuard<'_, State>, outcome: Outcome) -> Waiters {
        if self.outside.as_ref().is_none_or(|outside| outside.publish(Some(&outcome))) {
            return self.set_here(state, outcome);
        }
        state.outcome = outcome;
        self.clear_here(&state);
        Waiters::default()
    }

    /// Sets the flag for everybody of this process.
    fn set_here(&self, mut state: MutexGuard<'_, State>, outcome: Outcome) -> Waiters {
        self.mark_set(&mut state, outcome);
        Waiters::of(state)
    }

    fn mark_set(&self, state: &mut State, outcome: Outcome) {
        state.outcome = outcome;
        for engine in &state.engines {
            engine.visible.signalled.store(true, Ordering::Release);
        }
        self.word.store(1, Ordering::Release);
        self.done.set((self.done.get() | SIGNALLED).wrapping_add(CHANGE));
        self.taking_over.store(false, Ordering::Release);
    }

    /// Signals from outside any command.
    pub fn raise(&self) {
        let now = clock::now();
        let outcome = Ok(Timestamps { start: now, end: now });
        let state = self.state.lock();
        let waiters = if self.counting { self.count(state, outcome) } else { self.set(state, outcome) };
        waiters.tell();
    }

    /// Takes a flag back at once, from outside any command. A completion is not reset.
    pub fn reset(&self) {
        if !self.counting {
            self.clear(&self.state.lock());
        }
    }

    /// A reset that an engine [submitted](Self::submit_reset) is executed.
    pub fn reset_by(&self, engine: EngineId, target: &Target) {
        self.taken_back(engine, target).tell();
    }

    /// The same, for a caller that tells those who wait for a signal that came before it.
    pub fn taken_back(&self, engine: EngineId, target: &Target) -> Waiters {
        let Target::Epoch(epoch) = target else { return Waiters::default() };
        let mut state = self.state.lock();
        let Some(own) = state.of(engine) else { return Waiters::default() };
        if epoch.number <= own.visible.number {
            // A later reset was executed before this one.
            return Waiters::default();
        }
        own.visible = Arc::clone(epoch);
        let early = epoch.signalled.load(Ordering::Acquire).then(|| epoch.early.lock().take()).flatten();
        self.clear(&state);
        match early {
            Some(outcome) => self.set(state, outcome),
            None => Waiters::default(),
        }
    }

    /// Takes the flag back for everybody.
    fn clear(&self, state: &State) {
        if let Some(outside) = &self.outside {
            outside.publish(None);
        }
        self.clear_here(state);
    }

    fn clear_here(&self, state: &State) {
        self.word.store(0, Ordering::Release);
        self.done.set((self.done.get() & !SIGNALLED).wrapping_add(CHANGE));
        for engine in &state.engines {
            engine.visible.signalled.store(false, Ordering::Release);
        }
        self.taking_over.store(false, Ordering::Release);
    }

    /// Whether what a command of an engine [waits for](Self::submit_wait) is there. Nobody is told meanwhile.
    pub fn is_reached(&self, engine: EngineId, target: &Target) -> bool {
        self.refresh_untold();
        match target {
            Target::Signals(signals) => self.done.get() >= *signals,
            Target::Epoch(epoch) => epoch.signalled.load(Ordering::Acquire),
            Target::Flag if !self.has_epochs.load(Ordering::Acquire) => self.flag_is_set(),
            Target::Flag => self.is_reached_locked(&mut self.state.lock(), engine, target),
        }
    }

    fn is_reached_locked(&self, state: &mut State, engine: EngineId, target: &Target) -> bool {
        match (target, state.of(engine)) {
            (Target::Signals(signals), _) => self.done.get() >= *signals,
            (Target::Flag, None) => self.flag_is_set(),
            (target, Some(engine)) => engine.epoch(target).signalled.load(Ordering::Acquire),
            (Target::Epoch(epoch), None) => epoch.signalled.load(Ordering::Acquire),
        }
    }

    /// Has a waiter told of the next change. False: what it waits for is there already, and it is not told. Nobody is told meanwhile.
    pub fn notify(&self, engine: EngineId, target: &Target, waiter: &Arc<dyn Waiter>) -> bool {
        if let Some(outside) = &self.outside {
            outside.watch();
            self.refresh_untold();
        }
        let mut state = self.state.lock();
        let reached = self.is_reached_locked(&mut state, engine, target);
        if !reached {
            state.waiters.push(Arc::clone(waiter));
        }
        !reached
    }

    /// Whether the host sees it signalled.
    pub fn is_signalled(&self) -> bool {
        self.refresh();
        self.shows_signalled()
    }

    /// The same for a stream that holds its lock: nobody is told.
    pub fn is_signalled_untold(&self) -> bool {
        self.refresh_untold();
        self.shows_signalled()
    }

    fn shows_signalled(&self) -> bool {
        if self.counting { self.done.get() >= self.wanted() } else { self.flag_is_set() }
    }

    /// Whether it counts the signals of one command.
    pub fn is_completion(&self) -> bool {
        self.counting
    }

    fn wanted(&self) -> u32 {
        self.submissions.load(Ordering::Acquire).max(1)
    }

    /// Waits for the host, who learns of a failure.
    pub fn wait(&self, deadline: Deadline) -> Result<()> {
        if !self.is_signalled() {
            self.watch();
        }
        let reached = if self.counting {
            let wanted = self.wanted();
            self.done.wait_awake(deadline, |done| done >= wanted)
        } else {
            self.done.wait_awake(deadline, |done| done & SIGNALLED != 0)
        };
        if reached { self.times().map(drop) } else { Err(Error::NotReady) }
    }

    /// When the command that signalled ran, for the host, who learns of a failure.
    pub fn query(&self) -> Result<Timestamps> {
        if self.is_signalled() { self.times() } else { Err(Error::NotReady) }
    }

    fn times(&self) -> Result<Timestamps> {
        self.outcome().map_err(|reason| Error::DeviceLost(reason.to_string()))
    }

    /// How the latest command that signalled ended.
    pub fn outcome(&self) -> Outcome {
        self.refresh();
        self.state.lock().outcome.clone()
    }
}

impl State {
    fn of(&mut self, engine: EngineId) -> Option<&mut Engine> {
        self.engines.iter_mut().find(|own| own.id == engine)
    }
}

impl Engine {
    fn epoch<'a>(&'a self, target: &'a Target) -> &'a Arc<Epoch> {
        match target {
            Target::Epoch(epoch) => epoch,
            Target::Flag | Target::Signals(_) => &self.first,
        }
    }
}

#[cfg(test)]
mod tests;
