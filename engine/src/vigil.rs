//! Staying awake while waiting, where that takes nothing from anybody.
//!
//! A thread that sleeps is woken in 20 to 40 µs on a virtual machine, one that watches the word sees it change in half a microsecond.
//! A driver of a GPU watches all the time, but here the processors that waiting would use are those that compute. So a host thread keeps a
//! *vigil* before it sleeps: not for long, and only while this process leaves processors idle. After a vigil in vain, or one that lost its
//! processor to somebody else for long, there is none for a while, so they cost a twentieth of a processor at most. (How often the system
//! takes a processor away says little: its own threads do that a hundred times a second, for microseconds.) To yield instead was tried:
//! beside other programs a signal is then seen after the turn of one of them, 3.8 ms, where a wake-up still takes 23 µs.

use crate::fork::PerProcess;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A vigil ends after so much time: who has waited for longer is not in a hurry.
const LONGEST: Duration = Duration::from_millis(2);
/// Between two questions whether to go on, a thread that has its processor does not take so long.
const AWAY: Duration = Duration::from_micros(250);
/// After a vigil in vain nobody keeps one for so long.
const REST: Duration = Duration::from_millis(50);
/// The end of a wait is near if it is no further away.
const NEAR: Duration = Duration::from_millis(16);
/// Who has taken the processor from a vigil has it for so many times as long before somebody stays awake for the end of a wait
/// again: for a moment's disturbance a moment, for the turn of another program, which is some milliseconds, a long time.
const TURNS: u32 = 64;

/// What the threads of a process do.
#[derive(Debug)]
struct Census {
    processors: usize,
    /// Threads of the driver that compute, without those of the program.
    computing: AtomicUsize,
    /// Threads that keep a vigil.
    awake: AtomicUsize,
    begin: Instant,
    /// Nanoseconds from the beginning up to which nobody keeps a vigil.
    rest: AtomicU64,
    /// The same for vigils to the near end of a wait.
    long_rest: AtomicU64,
}

impl Census {
    fn of_this_process() -> &'static Census {
        // A forked child has none of its parent's threads.
        static CENSUS: PerProcess<Census> = PerProcess::new();
        CENSUS.get_or_init(|| Census::new(thread::available_parallelism().map_or(1, usize::from)))
    }

    fn new(processors: usize) -> Census {
        let (computing, awake) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let [rest, long_rest] = [const { AtomicU64::new(0) }; 2];
        Census { processors, computing, awake, begin: Instant::now(), rest, long_rest }
    }

    fn nanoseconds(&self, time: Instant) -> u64 {
        u64::try_from(time.saturating_duration_since(self.begin).as_nanos()).unwrap_or(u64::MAX)
    }

    /// Whether nobody who computes lacks a processor. Half of them stay free for the threads of the program, of which one is to signal.
    fn has_room(&self) -> bool {
        let awake = self.awake.load(Ordering::Relaxed);
        awake <= self.processors / 2 && awake + self.computing.load(Ordering::Relaxed) <= self.processors
    }

    /// A vigil, of a wait that ends at some time if that is known.
    fn vigil(&'static self, now: Instant, wait_ends: Option<Instant>) -> Option<Vigil> {
        let near = wait_ends.filter(|end| end.saturating_duration_since(now) <= NEAR);
        let rest = if near.is_some() { &self.long_rest } else { &self.rest };
        if self.nanoseconds(now) < rest.load(Ordering::Relaxed) {
            return None;
        }
        self.awake.fetch_add(1, Ordering::Relaxed);
        Some(Vigil { census: self, end: near.unwrap_or(now + LONGEST), last: now })
    }

    /// Nobody keeps a vigil for a while.
    fn rest(&self, now: Instant) {
        self.rest.store(self.nanoseconds(now + REST), Ordering::Relaxed);
    }
}

/// Threads of the driver compute until this is dropped.
#[derive(Debug)]
#[must_use]
pub struct Computing {
    census: &'static Census,
    threads: usize,
}

/// So many threads of the driver begin to compute.
pub fn computing(threads: usize) -> Computing {
    let census = Census::of_this_process();
    census.computing.fetch_add(threads, Ordering::Relaxed);
    Computing { census, threads }
}

impl Drop for Computing {
    fn drop(&mut self) {
        self.census.computing.fetch_sub(self.threads, Ordering::Relaxed);
    }
}

/// A thread that stays awake.
#[derive(Debug)]
pub struct Vigil {
    census: &'static Census,
    end: Instant,
    /// When it was asked last whether to go on.
    last: Instant,
}

impl Vigil {
    /// A vigil of the calling thread, whose wait has a limit that is to be kept exactly or not. `None`: it should sleep.
    pub fn begin(wait_ends: Option<Instant>) -> Option<Vigil> {
        Census::of_this_process().vigil(Instant::now(), wait_ends)
    }

    /// Whether to stay awake for another moment. To be asked every few microseconds.
    pub fn goes_on(&mut self, now: Instant) -> bool {
        let turn = now.saturating_duration_since(self.last);
        let away = turn > AWAY;
        self.last = now;
        if away {
            let until = self.census.nanoseconds(now + turn * TURNS);
            self.census.long_rest.store(until, Ordering::Relaxed);
        }
        if away || now >= self.end {
            self.census.rest(now);
            return false;
        }
        self.census.has_room()
    }
}

impl Drop for Vigil {
    fn drop(&mut self) {
        self.census.awake.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vigil_needs_processors_that_nobody_else_has() {
        let has_room = |processors, computing, awake| {
            let census = Census::new(processors);
            census.computing.store(computing, Ordering::Relaxed);
            census.awake.store(awake, Ordering::Relaxed);
            census.has_room()
        };
        assert!(!has_room(1, 0, 1), "who is to signal needs it");
        assert!(has_room(2, 0, 1) && has_room(2, 1, 1));
        assert!(!has_room(2, 2, 1), "a launch has both");
        assert!(!has_room(2, 0, 2));
        assert!(has_room(8, 4, 4) && !has_room(8, 5, 4) && !has_room(8, 0, 5));
    }

    #[test]
    fn who_computes_and_who_is_awake_is_counted() {
        let census: &'static Census = Box::leak(Box::new(Census::new(2)));
        let now = Instant::now();
        let mut vigil = census.vigil(now, None).expect("nothing disturbs");
        assert!(vigil.goes_on(now));
        census.computing.store(2, Ordering::Relaxed);
        assert!(!vigil.goes_on(now));
        drop(Computing { census, threads: 2 });
        assert!(vigil.goes_on(now));
        let other = census.vigil(now, None);
        assert!(!vigil.goes_on(now), "of two processors one is for who is to signal");
        drop(other);
        assert!(vigil.goes_on(now));
        drop(vigil);
        assert_eq!(census.awake.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn after_a_vigil_in_vain_nobody_keeps_one_for_a_while() {
        let census: &'static Census = Box::leak(Box::new(Census::new(2)));
        let (mut now, mut asked) = (Instant::now(), 0);
        let mut vigil = census.vigil(now, None).expect("it is the first");
        while vigil.goes_on(now) {
            now += AWAY / 2;
            asked += 1;
        }
        assert_eq!(asked, LONGEST.as_nanos().div_ceil((AWAY / 2).as_nanos()));
        drop(vigil);
        assert!(census.vigil(now + REST / 2, None).is_none());
        assert!(census.vigil(now + REST, None).is_some());
    }

    #[test]
    fn a_vigil_ends_where_others_took_the_processor() {
        let census: &'static Census = Box::leak(Box::new(Census::new(2)));
        let now = Instant::now();
        let mut vigil = census.vigil(now, None).expect("it is the first");
        assert!(vigil.goes_on(now));
        let back = now + AWAY * 2;
        assert!(!vigil.goes_on(back));
        assert!(census.vigil(back + REST / 2, None).is_none());
    }

    #[test]
    fn a_wait_with_a_near_end_is_kept_awake_to_it() {
        let census: &'static Census = Box::leak(Box::new(Census::new(2)));
        let begin = Instant::now();
        census.rest(begin);
        assert!(census.vigil(begin, None).is_none() && census.vigil(begin, Some(begin + 2 * NEAR)).is_none());
        let mut vigil = census.vigil(begin, Some(begin + NEAR)).expect("others in vain do not matter");
        let mut now = begin;
        while vigil.goes_on(now) {
            now += AWAY / 2;
        }
        assert!(now >= begin + NEAR && now < begin + NEAR + AWAY, "{:?}", now - begin);
        drop(vigil);
        // Others want the processor.
        let mut vigil = census.vigil(now, Some(now + NEAR)).expect("nor does the end of another one");
        let turn = AWAY * 2;
        now += turn;
        assert!(!vigil.goes_on(now));
        let next = |at: Instant| census.vigil(at, Some(at + NEAR));
        assert!(next(now + turn * (TURNS / 2)).is_none() && next(now + turn * TURNS).is_some());
    }
}
