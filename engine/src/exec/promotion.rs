//! From code that was made soon to code that runs fast: when it is worth making, and how launches get it.
//! The same finds out when it is worth making another code that may run faster ([`trial`](super::trial)).
//!
//! Code of the fast tier counts the time that threads run it. Once that is about what better code would have saved, it asks for
//! that, once; whoever makes it leaves it here. Launches look here at their beginning and between work-groups, so
//! a long launch does not end in the code that it began with.

use super::launch::Code;
use crate::fork::{self, OnceLock};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// Time in code of the fast tier that better code is made for. It takes some 10 to 50 ms to make, and is one to six times as
/// fast: kernels that ran for so long often run for much longer.
const WORTH: Duration = Duration::from_millis(1);

/// What code of the fast tier knows of better code.
pub struct Promotion {
    worth: Duration,
    spent: AtomicU64,
    /// One more than the generation that asked: a forked child is given nothing that its parent asked for.
    asked: AtomicU32,
    ask: Box<dyn Fn() + Send + Sync>,
    better: OnceLock<Arc<Code>>,
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
}
