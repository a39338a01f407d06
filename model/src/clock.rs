//! The clock of the model: a look at it takes a microsecond, and now and then time leaps. In half of the executions it stands still
//! for who sleeps: whoever is not woken sleeps for ever, also where it would have looked again after a while.

use crate::once_in;
use std::cell::Cell;
use std::time::Duration;

/// As long as a worker's turn, and longer.
const LEAP: u64 = 3_000_000;

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(0) };
    static STANDS_STILL: Cell<bool> = const { Cell::new(false) };
}

/// An execution begins.
pub(crate) fn begin() {
    NOW.set(1_000_000_000);
    STANDS_STILL.set(once_in(2));
}

/// The program is over: threads that wait for more to do end after their time.
pub(crate) fn end() {
    STANDS_STILL.set(false);
}

/// Whether no sleep ends by itself.
pub(crate) fn stands_still() -> bool {
    STANDS_STILL.get()
}

/// Time in nanoseconds.
pub fn now() -> u64 {
    pass(if once_in(20) { LEAP } else { 1000 });
    NOW.get()
}

/// So much time goes by.
pub fn pass(nanoseconds: u64) {
    NOW.set(NOW.get() + nanoseconds);
}

/// A moment, as `std::time::Instant` is one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Instant(u64);

impl Instant {
    pub fn now() -> Self {
        Self(now())
    }

    pub fn checked_add(self, time: Duration) -> Option<Self> {
        self.0.checked_add(u64::try_from(time.as_nanos()).ok()?).map(Self)
    }

    pub fn checked_sub(self, time: Duration) -> Option<Self> {
        self.0.checked_sub(u64::try_from(time.as_nanos()).ok()?).map(Self)
    }

    pub fn checked_duration_since(self, earlier: Self) -> Option<Duration> {
        self.0.checked_sub(earlier.0).map(Duration::from_nanos)
    }

    pub fn saturating_duration_since(self, earlier: Self) -> Duration {
        self.checked_duration_since(earlier).unwrap_or_default()
    }
}

impl std::ops::Add<Duration> for Instant {
    type Output = Self;
    fn add(self, time: Duration) -> Self {
        self.checked_add(time).expect("the model's clock does not come to its end")
    }
}
