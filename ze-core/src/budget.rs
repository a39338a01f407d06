//! How much memory is allocated, of how much there is.
//!
//! Addresses cost nothing, so the system gives out far more memory than it has, and ends the process that uses it. A
//! device has only so much: who asks for more than is left is told so, as on any device.

use std::sync::atomic::{AtomicU64, Ordering};

/// Memory of one kind, in bytes.
pub struct Budget {
    limit: u64,
    taken: AtomicU64,
}

impl Budget {
    pub fn new(limit: u64) -> Self {
        Self { limit, taken: AtomicU64::new(0) }
    }

    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Takes memory, all or nothing. The error is how much others have.
    pub fn take(&self, bytes: u64) -> Result<(), u64> {
        let more = |taken: u64| taken.checked_add(bytes).filter(|all| *all <= self.limit);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).map(drop)
    }

    /// Gives back what was taken.
    pub fn give_back(&self, bytes: u64) {
        self.taken.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_taken_than_there_is() {
        let budget = Budget::new(100);
        assert_eq!(budget.take(60), Ok(()));
        assert_eq!(budget.take(41), Err(60));
        assert_eq!(budget.take(u64::MAX), Err(60));
        assert_eq!(budget.take(40), Ok(()));
        budget.give_back(60);
        assert_eq!(budget.take(60), Ok(()));
        assert_eq!(budget.take(1), Err(100));
    }

    #[test]
    fn threads_together_take_no_more_than_there_is() {
        let budget = Budget::new(1000);
        let taken: u64 = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| (0..1000).filter(|_| budget.take(3).is_ok()).count() as u64))
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
        });
        assert_eq!(taken, 333);
    }
}
