//! From code that was made soon to code that runs fast: when it is worth making, and how launches get it.
//!
//! Code of the fast tier counts the time that threads run it. Once that is about what better code would have saved, it asks for
//! that, once; whoever makes it leaves it here. Launches look here at their beginning and between work-groups, so
//! a long launch does not end in the code that it began with.

use super::launch::Code;
use crate::fork::OnceLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Time in code of the fast tier that better code is made for. It takes some 10 to 50 ms to make, and is one to six times as
/// fast: kernels that ran for so long often run for much longer.
const WORTH: Duration = Duration::from_millis(1);

/// What code of the fast tier knows of better code.
pub struct Promotion {
    spent: AtomicU64,
    asked: AtomicBool,
    ask: Box<dyn Fn() + Send + Sync>,
    better: OnceLock<Arc<Code>>,
}

impl Promotion {
    /// `ask` has better code made, without waiting for it, which is then [given](Self::give).
    pub fn new(ask: impl Fn() + Send + Sync + 'static) -> Promotion {
        Promotion {
            spent: AtomicU64::new(0),
            asked: AtomicBool::new(false),
            ask: Box::new(ask),
            better: OnceLock::new(),
        }
    }

    /// Counts time that a thread has run the code for.
    pub fn spend(&self, time: Duration) {
        if self.asked.load(Ordering::Relaxed) {
            return;
        }
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let spent = self.spent.fetch_add(time, Ordering::Relaxed).saturating_add(time);
        if Duration::from_nanos(spent) >= WORTH && !self.asked.swap(true, Ordering::Relaxed) {
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
