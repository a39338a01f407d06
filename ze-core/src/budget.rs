//! How much memory is allocated, of how much there is.
//!
//! Addresses cost nothing, so the system gives out far more memory than it has, and ends the process that uses it. A
//! device has only so much: who asks for more than is left is told so, as on any device.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Memory of one kind, in bytes.
pub struct Budget {
    limit: u64,
    taken: AtomicU64,
    /// What this memory is part of.
    whole: Option<Arc<Budget>>,
}

impl Budget {
    pub fn new(limit: u64) -> Self {
        Self::within(limit, None)
    }

    /// Memory that is part of other memory: what is taken of it is taken of both.
    pub fn within(limit: u64, whole: Option<Arc<Budget>>) -> Self {
        Self { limit, taken: AtomicU64::new(0), whole }
    }

    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Takes memory, all or nothing. The error is how much others have.
    pub fn take(&self, bytes: u64) -> Result<(), u64> {
        let more = |taken: u64| taken.checked_add(bytes).filter(|all| *all <= self.limit);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)?;
        let Some(whole) = &self.whole else { return Ok(()) };
        whole.take(bytes).inspect_err(|_| {
            self.taken.fetch_sub(bytes, Ordering::Relaxed);
        })
    }

    /// Gives back what was taken.
    pub fn give_back(&self, bytes: u64) {
        self.taken.fetch_sub(bytes, Ordering::Relaxed);
        if let Some(whole) = &self.whole {
            whole.give_back(bytes);
        }
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
    fn what_is_taken_of_a_part_is_taken_of_the_whole() {
        let whole = Arc::new(Budget::new(100));
        let parts = [80, 80].map(|limit| Budget::within(limit, Some(Arc::clone(&whole))));
        assert_eq!(parts[0].take(60), Ok(()));
        assert_eq!(parts[1].take(60), Err(60), "of the whole");
        assert_eq!(parts[1].take(40), Ok(()), "what failed has taken nothing");
        assert_eq!(parts[0].take(30), Err(60), "of the part");
        parts[0].give_back(60);
        assert_eq!(whole.take(60), Ok(()));
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
