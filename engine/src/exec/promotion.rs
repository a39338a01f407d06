//! From code that was made soon to code that runs fast: when it is worth making, and how launches get it.
//! The same finds out when it is worth making another code that may run faster ([`trial`](super::trial)).
//!
//! Code of the fast tier counts the time that threads run it. Once that is about what better code would have saved, it asks for
//! that, once; whoever makes it leaves it here. Launches look here at their beginning and between work-groups, so
//! a long launch does not end in the code that it began with.

use super::launch::Code;
use crate::fork::{self, OnceLock};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Time in code of the fast tier that better code is made for. It takes some 10 to 50 ms to make, and is one to six times as
/// fast: kernels that ran for so long often run for much longer.
const WORTH: Duration = Duration::from_millis(1);

/// How often a thread that has stepped aside looks whether better code is there, and how often all of them do at most: where code is made for longer, or
/// never, they run what there is.
const ASIDE: Duration = Duration::from_micros(250);
const LOOKS: u32 = 2000;

/// What code of the fast tier knows of better code.
pub struct Promotion {
    worth: Duration,
    spent: AtomicU64,
    /// One more than the generation that asked: a forked child is given nothing that its parent asked for.
    asked: AtomicU32,
    ask: Box<dyn Fn() + Send + Sync>,
    better: OnceLock<Arc<Code>>,
    /// Whether a thread has stepped aside.
    is_aside: AtomicBool,
    looks_left: AtomicU32,
}

impl Promotion {
    /// `ask` has better code made, without waiting for it, which is then [given](Self::give).
    pub fn new(ask: impl Fn() + Send + Sync + 'static) -> Promotion {
        Promotion::after(WORTH, ask)
    }

    /// The same for code that is worth making after so much time.
    pub fn after(worth: Duration, ask: impl Fn() + Send + Sync + 'static) -> Promotion {
        Promotion {
            worth,
            spent: AtomicU64::new(0),
            asked: AtomicU32::new(0),
            ask: Box::new(ask),
            better: OnceLock::new(),
            is_aside: AtomicBool::new(false),
            looks_left: AtomicU32::new(LOOKS),
        }
    }

    /// Counts time that a thread has run the code for.
    pub fn spend(&self, time: Duration) {
        let asked = fork::generation() + 1;
        if self.asked.load(Ordering::Relaxed) == asked {
            return;
        }
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let spent = self.spent.fetch_add(time, Ordering::Relaxed).saturating_add(time);
        if Duration::from_nanos(spent) >= self.worth && self.asked.swap(asked, Ordering::Relaxed) != asked {
            (self.ask)();
        }
    }

    /// Has the calling thread wait while better code is being made, and there is work that others do: compilation gets a processor of its own where all of them
    /// run a long launch. One thread does so at a time.
    pub fn step_aside(&self, has_work: impl Fn() -> bool) {
        let is_awaited = || {
            self.asked.load(Ordering::Relaxed) == fork::generation() + 1
                && self.better.get().is_none()
                && self.looks_left.load(Ordering::Relaxed) > 0
        };
        if !is_awaited() || self.is_aside.swap(true, Ordering::Relaxed) {
            return;
        }
        while is_awaited() && has_work() {
            self.looks_left.fetch_sub(1, Ordering::Relaxed);
            thread::sleep(ASIDE);
        }
        self.is_aside.store(false, Ordering::Relaxed);
    }

    /// The better code, for launches from now on.
    pub fn give(&self, code: Arc<Code>) {
        self.better.get_or_init(|| code);
    }

    pub fn better(&self) -> Option<&Arc<Code>> {
        self.better.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn better_code_is_asked_for_once_by_each_process() {
        let count = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&count);
        let promotion = Promotion::new(move || {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        promotion.spend(WORTH / 2);
        assert_eq!(count.load(Ordering::Relaxed), 0);
        promotion.spend(WORTH);
        promotion.spend(WORTH);
        assert_eq!(count.load(Ordering::Relaxed), 1);
        // What a child finds is what its parent asked for.
        promotion.asked.store(fork::generation(), Ordering::Relaxed);
        promotion.spend(Duration::ZERO);
        assert_eq!(count.load(Ordering::Relaxed), 2);
        promotion.spend(WORTH);
        assert_eq!(count.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn who_steps_aside_comes_back() {
        let promotion = Promotion::new(|| {});
        let looks = std::cell::Cell::new(0);
        let has_work = |most: u32| {
            looks.set(looks.get() + 1);
            looks.get() <= most
        };
        promotion.step_aside(|| has_work(3));
        assert_eq!(looks.get(), 0, "nobody has asked");
        promotion.spend(WORTH);
        promotion.step_aside(|| has_work(3));
        assert_eq!(looks.get(), 4, "until there is no work");
        promotion.step_aside(|| has_work(u32::MAX));
        assert_eq!(looks.get(), 1 + LOOKS, "and no longer than that in all");
        promotion.step_aside(|| has_work(u32::MAX));
        assert_eq!(looks.get(), 1 + LOOKS);
    }
}
