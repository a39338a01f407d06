//! What commands signal and wait for: the state behind events and fences.

use crate::clock;
use crate::error::{Error, Result};
use crate::fork::Mutex;
use crate::futex::{Counter, Deadline};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

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

/// A completion that can be waited for.
///
/// A *flag* is signalled once and reset explicitly. A *completion* is what a counter-based event stands for after
/// one append: each submission asks for one more signal, so a list that is executed again makes the event
/// wait again, without a reset.
#[derive(Debug)]
pub struct Signal {
    /// 0 or 1 of a flag, the number of signals of a completion.
    done: Counter,
    /// How often a completion was submitted.
    submissions: AtomicU32,
    counting: bool,
    /// Of the latest command that signalled.
    outcome: Mutex<Outcome>,
}

impl Signal {
    fn new(done: u32, counting: bool) -> Arc<Self> {
        Arc::new(Self {
            done: Counter::new(done),
            submissions: AtomicU32::new(0),
            counting,
            outcome: Mutex::new(Ok(Timestamps::default())),
        })
    }

    /// A flag that is not signalled.
    pub fn flag() -> Arc<Self> {
        Self::new(0, false)
    }

    /// A flag that is signalled from the start.
    pub fn raised() -> Arc<Self> {
        Self::new(1, false)
    }

    /// A completion of a command that is being appended.
    pub fn completion() -> Arc<Self> {
        Self::new(0, true)
    }

    /// A command that signals this is submitted.
    pub fn submit(&self) {
        if self.counting {
            self.submissions.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// What is to be reached for everything that is submitted now. A command that was appended, but never
    /// submitted, is waited for too.
    pub fn target(&self) -> u32 {
        self.submissions.load(Ordering::Acquire).max(1)
    }

    /// The command is done, or failed: either way, nobody waits any longer.
    pub fn complete(&self, outcome: Outcome) {
        *self.outcome.lock() = outcome;
        if self.counting {
            self.done.advance();
        } else {
            self.done.set(1);
        }
    }

    /// Signals from outside any command.
    pub fn raise(&self) {
        let now = clock::now();
        self.complete(Ok(Timestamps { start: now, end: now }));
    }

    /// Takes a flag back. A completion is not reset.
    pub fn reset(&self) {
        if !self.counting {
            self.done.set(0);
        }
    }

    /// Whether a [`target`](Self::target) is reached.
    pub fn is_reached(&self, target: u32) -> bool {
        self.done.get() >= target
    }

    /// Waits for a [`target`](Self::target). False: the deadline came first.
    pub fn reach(&self, target: u32, deadline: Deadline) -> bool {
        self.done.wait(deadline, |done| done >= target)
    }

    pub fn is_signalled(&self) -> bool {
        self.is_reached(self.target())
    }

    /// Waits for the host, who learns of a failure.
    pub fn wait(&self, deadline: Deadline) -> Result<()> {
        if self.reach(self.target(), deadline) { self.times().map(drop) } else { Err(Error::NotReady) }
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
        self.outcome.lock().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_signalled_until_it_is_reset() {
        let flag = Signal::flag();
        assert!(!flag.is_signalled());
        flag.raise();
        flag.raise();
        assert!(flag.is_signalled() && flag.wait(Deadline::after(0)).is_ok());
        flag.reset();
        assert!(!flag.is_signalled() && matches!(flag.wait(Deadline::after(0)), Err(Error::NotReady)));
        assert!(Signal::raised().is_signalled());
    }

    #[test]
    fn a_completion_waits_for_the_latest_submission() {
        let completion = Signal::completion();
        assert!(!completion.is_signalled(), "it was appended, if not submitted");
        completion.submit();
        completion.submit();
        completion.raise();
        assert!(!completion.is_signalled());
        completion.raise();
        assert!(completion.is_signalled());
        completion.submit();
        assert!(!completion.is_signalled());
    }

    #[test]
    fn a_target_is_that_of_its_time() {
        let completion = Signal::completion();
        completion.submit();
        let first = completion.target();
        completion.submit();
        completion.raise();
        assert!(completion.is_reached(first) && !completion.is_signalled());
    }

    #[test]
    fn submissions_from_many_threads_are_all_counted() {
        let completion = Signal::completion();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1000).for_each(|_| completion.submit()));
            }
        });
        assert_eq!(completion.target(), 4000);
    }

    #[test]
    fn timestamps_are_those_of_the_command() {
        let flag = Signal::flag();
        assert!(matches!(flag.query(), Err(Error::NotReady)));
        flag.complete(Ok(Timestamps { start: 5, end: 9 }));
        assert_eq!(flag.query().expect("signalled"), Timestamps { start: 5, end: 9 });
    }

    #[test]
    fn a_failure_ends_the_wait_and_is_told_until_the_next_signal() {
        let flag = Signal::flag();
        flag.complete(Err("no memory".into()));
        for _ in 0..2 {
            assert!(
                matches!(flag.wait(Deadline::Never), Err(Error::DeviceLost(reason)) if reason == "no memory")
            );
            assert!(matches!(flag.query(), Err(Error::DeviceLost(_))));
        }
        flag.reset();
        assert!(matches!(flag.query(), Err(Error::NotReady)));
        flag.raise();
        assert!(flag.wait(Deadline::Never).is_ok() && flag.query().is_ok());
    }
}
