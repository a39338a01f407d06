//! What commands signal and wait for: the state behind events and fences.

use crate::clock;
use crate::futex::{Counter, Deadline};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Host times in nanoseconds of the command that signalled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Timestamps {
    pub start: u64,
    pub end: u64,
}

/// A completion that can be waited for.
///
/// A *flag* is signalled once and reset explicitly. A *completion* is what a counter-based event stands for after
/// one append: each submission asks for one more signal, so a list that is executed again makes the event
/// wait again, without a reset.
#[derive(Debug)]
pub struct Signal {
    done: Counter,
    /// Signalled while `done` is at least this.
    wanted: AtomicU32,
    submissions: AtomicU32,
    counting: bool,
    start: AtomicU64,
    end: AtomicU64,
}

impl Signal {
    fn new(done: u32, counting: bool) -> Arc<Self> {
        Arc::new(Self {
            done: Counter::new(done),
            wanted: AtomicU32::new(1),
            submissions: AtomicU32::new(0),
            counting,
            start: AtomicU64::new(0),
            end: AtomicU64::new(0),
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
            let submissions = self.submissions.fetch_add(1, Ordering::Relaxed) + 1;
            self.wanted.store(submissions, Ordering::Release);
        }
    }

    /// The command is done.
    pub fn complete(&self, times: Timestamps) {
        self.start.store(times.start, Ordering::Relaxed);
        self.end.store(times.end, Ordering::Relaxed);
        if self.counting {
            self.done.advance();
        } else {
            self.done.set(1);
        }
    }

    /// Signals from outside any command.
    pub fn raise(&self) {
        let now = clock::now();
        self.complete(Timestamps { start: now, end: now });
    }

    /// Takes a flag back. A completion is not reset.
    pub fn reset(&self) {
        if !self.counting {
            self.done.set(0);
        }
    }

    fn reached(&self, done: u32) -> bool {
        done >= self.wanted.load(Ordering::Acquire)
    }

    pub fn is_signalled(&self) -> bool {
        self.reached(self.done.get())
    }

    /// False: the deadline came first.
    pub fn wait(&self, deadline: Deadline) -> bool {
        self.done.wait(deadline, |done| self.reached(done))
    }

    /// When the command that signalled ran.
    pub fn timestamps(&self) -> Timestamps {
        Timestamps { start: self.start.load(Ordering::Relaxed), end: self.end.load(Ordering::Relaxed) }
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
        assert!(flag.is_signalled() && flag.wait(Deadline::after(0)));
        flag.reset();
        assert!(!flag.is_signalled() && !flag.wait(Deadline::after(0)));
        assert!(Signal::raised().is_signalled());
    }

    #[test]
    fn a_completion_waits_for_the_latest_submission() {
        let completion = Signal::completion();
        assert!(!completion.is_signalled());
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
    fn timestamps_are_those_of_the_command() {
        let flag = Signal::flag();
        flag.complete(Timestamps { start: 5, end: 9 });
        assert_eq!(flag.timestamps(), Timestamps { start: 5, end: 9 });
    }
}
