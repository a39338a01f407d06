//! How long the device's engines were busy: counters that commands switch on and off, without a lock.
//!
//! An engine's counter is one word: how many commands run, and the time it was busy. While commands run the second part is
//! kept relative to the clock (`busy − now`, at the moment the first began), so that a reader adds the time of its own look, and
//! commands that overlap count once. A reader may come between a command's look at the clock and its change of the word, at
//! both ends. So readers keep what they told, and between two of them the busy time grows by nothing at least, and by the time
//! that passed at most.

use crate::clock;
use crate::fork::{self, Mutex};
use crate::futex::{self, Deadline};
use crate::metrics::usage::Usage;
use crate::sync::{AtomicU32, AtomicU64, Instant, Ordering, thread};
use std::time::Duration;

/// Bits of the word that count running commands: more than a process can have threads.
const COUNT_BITS: u32 = 16;
const COUNT: u64 = (1 << COUNT_BITS) - 1;
/// A tick is 256 ns, so that the other 48 bits wrap around after 2.2 years.
const TICK_SHIFT: u32 = 8;
const TICKS: u64 = u64::MAX >> COUNT_BITS;
const NANOSECONDS_A_MICROSECOND: u64 = 1000;

/// What a command keeps busy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// Kernels.
    Compute,
    /// Copies and fills.
    Copy,
}

/// A moment's look at a counter, in microseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    pub active: u64,
    pub timestamp: u64,
}

fn pack(time: u64, count: u64) -> u64 {
    (time & TICKS) << COUNT_BITS | count
}

/// The word after a command began.
fn begun(word: u64, now: u64) -> u64 {
    match word & COUNT {
        0 => pack((word >> COUNT_BITS).wrapping_sub(now), 1),
        count => pack(word >> COUNT_BITS, (count + 1).min(COUNT)),
    }
}

/// The word after a command ended. A count of 0 stays: in a forked child, the parent's commands never end.
fn ended(word: u64, now: u64) -> u64 {
    match word & COUNT {
        0 => word,
        1 => pack((word >> COUNT_BITS).wrapping_add(now), 0),
        count => pack(word >> COUNT_BITS, count - 1),
    }
}

/// The word when nothing runs any more.
fn idle(word: u64, now: u64) -> u64 {
    pack(busy(word, now), 0)
}

/// Ticks that the engine was busy until now.
fn busy(word: u64, now: u64) -> u64 {
    let time = word >> COUNT_BITS;
    if word & COUNT == 0 { time } else { time.wrapping_add(now) & TICKS }
}

/// Whether nothing but the number of commands has changed between two words: the engine has been busy, or idle, all the time.
fn same_stretch(a: u64, b: u64) -> bool {
    a >> COUNT_BITS == b >> COUNT_BITS && (a & COUNT == 0) == (b & COUNT == 0)
}

fn ticks() -> u64 {
    clock::now() >> TICK_SHIFT
}

fn microseconds(ticks: u64) -> u64 {
    (ticks << TICK_SHIFT) / NANOSECONDS_A_MICROSECOND
}

#[derive(Debug, Default)]
struct Counter {
    word: AtomicU64,
    /// What the last reader was told.
    told: Mutex<Told>,
}

/// A moment's look at a counter, in ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Told {
    active: u64,
    at: u64,
}

impl Told {
    /// What the next reader is told, who finds a busy time now.
    fn next(self, active: u64, now: u64) -> Self {
        let grown = active.wrapping_sub(self.active) & TICKS;
        let grown = if grown > TICKS / 2 { 0 } else { grown.min(now.saturating_sub(self.at)) };
        Self { active: (self.active + grown) & TICKS, at: now }
    }
}

impl Counter {
    fn load(&self) -> u64 {
        self.word.load(Ordering::SeqCst)
    }

    /// Applies a change to the word as it was when `now` was read. Time never runs backwards in the word: where another thread
    /// was faster, the clock is read again.
    fn change(&self, mut word: u64, mut now: u64, change: impl Fn(u64, u64) -> u64) {
        while let Err(seen) =
            self.word.compare_exchange_weak(word, change(word, now), Ordering::SeqCst, Ordering::Acquire)
        {
            word = seen;
            now = ticks();
        }
    }

    fn sample(&self) -> Sample {
        let told = self.tell();
        Sample { active: microseconds(told.active), timestamp: microseconds(told.at) }
    }

    /// Tells the busy time, and when that was so.
    fn tell(&self) -> Told {
        let mut told = self.told.lock();
        let mut word = self.load();
        loop {
            let now = ticks();
            // A thread that sleeps here finds a clock that is ahead of its word, and would take a pause for work.
            let seen = self.load();
            if same_stretch(word, seen) {
                *told = told.next(busy(word, now), now);
                return *told;
            }
            word = seen;
        }
    }

    fn is_busy(&self) -> bool {
        self.load() & COUNT != 0
    }
}

/// The counters of a device.
#[derive(Debug, Default)]
pub struct Activity {
    compute: Counter,
    copy: Counter,
    /// Busy where one of them is.
    all: Counter,
    /// How many threads want no command to run.
    pauses: AtomicU32,
    /// Advanced at the end of each pause.
    resumed: futex::Counter,
    /// Of the process whose commands these are.
    generation: AtomicU32,
    /// What they were, while somebody measures.
    usage: Usage,
}

/// Between two looks at whether the last command has ended.
const LOOK: Duration = Duration::from_micros(50);

impl Activity {
    fn counter(&self, work: Work) -> &Counter {
        match work {
            Work::Compute => &self.compute,
            Work::Copy => &self.copy,
        }
    }

    /// A forked child executes none of the commands that its parent does.
    fn settle(&self) {
        let (own, generation) = (self.generation.load(Ordering::Relaxed), fork::generation());
        if own == generation {
            return;
        }
        let first =
            self.generation.compare_exchange(own, generation, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        for counter in [&self.compute, &self.copy, &self.all] {
            if first {
                counter.change(counter.load(), ticks(), idle);
            }
        }
        if first {
            self.pauses.store(0, Ordering::SeqCst);
        }
    }

    fn change(&self, work: Work, change: fn(u64, u64) -> u64) {
        let own = self.counter(work);
        let (own_word, all_word) = (own.load(), self.all.load());
        let now = ticks();
        own.change(own_word, now, change);
        self.all.change(all_word, now, change);
    }

    /// A command of this kind runs until the result is dropped.
    pub fn begin(&self, work: Work) -> Busy<'_> {
        self.settle();
        self.change(work, begun);
        // Either this thread sees the pause, or the one that pauses sees the command: both orders are sequentially consistent.
        while self.pauses.load(Ordering::SeqCst) != 0 {
            self.change(work, ended);
            let seen = self.resumed.get();
            if self.pauses.load(Ordering::SeqCst) != 0 {
                self.resumed.wait(Deadline::Never, |resumed| resumed != seen);
            }
            self.change(work, begun);
        }
        Busy { activity: self, work }
    }

    /// Does something while no command runs. `None`: one ran for longer than `patience`.
    pub fn pause<T>(&self, patience: Duration, action: impl FnOnce() -> T) -> Option<T> {
        self.settle();
        let deadline = Instant::now() + patience;
        self.pauses.fetch_add(1, Ordering::SeqCst);
        let mut paused = !self.all.is_busy();
        while !paused && Instant::now() < deadline {
            thread::sleep(LOOK);
            paused = !self.all.is_busy();
        }
        let result = paused.then(action);
        self.pauses.fetch_sub(1, Ordering::SeqCst);
        self.resumed.advance();
        result
    }

    /// The counter of commands of a kind, or of all.
    pub fn sample(&self, work: Option<Work>) -> Sample {
        self.settle();
        work.map_or(&self.all, |work| self.counter(work)).sample()
    }

    /// How long commands of a kind have run, in nanoseconds.
    pub(crate) fn busy_nanoseconds(&self, work: Work) -> u64 {
        self.settle();
        self.counter(work).tell().active << TICK_SHIFT
    }

    /// What counts commands, while somebody measures.
    pub(crate) fn usage(&self) -> Option<&Usage> {
        self.usage.if_watched()
    }

    /// What counts commands.
    pub(crate) fn counters(&self) -> &Usage {
        &self.usage
    }

    /// Whether a command of this kind runs now.
    pub fn is_busy(&self, work: Work) -> bool {
        self.settle();
        self.counter(work).is_busy()
    }
}

/// A running command.
#[derive(Debug)]
pub struct Busy<'a> {
    activity: &'a Activity,
    work: Work,
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.activity.change(self.work, ended);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_command_runs_in_a_pause_and_none_pauses_a_long_one() {
        let activity = Activity::default();
        let running = activity.begin(Work::Compute);
        assert_eq!(activity.pause(Duration::from_millis(1), || 1), None);
        drop(running);
        let inside = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..2000 {
                        let _running = activity.begin(Work::Copy);
                        assert!(!inside.load(Ordering::SeqCst));
                    }
                });
            }
            for _ in 0..20 {
                let paused = activity.pause(Duration::from_secs(60), || {
                    inside.store(true, Ordering::SeqCst);
                    std::thread::yield_now();
                    inside.store(false, Ordering::SeqCst);
                });
                assert_eq!(paused, Some(()));
            }
        });
    }

    #[test]
    fn overlapping_commands_count_once() {
        let mut word = 0;
        word = begun(word, 100);
        assert_eq!(busy(word, 150), 50);
        word = begun(word, 160);
        word = ended(word, 170);
        assert_eq!(busy(word, 180), 80);
        word = ended(word, 200);
        assert_eq!([busy(word, 200), busy(word, 900)], [100, 100]);
        word = begun(word, 1000);
        assert_eq!(busy(ended(word, 1001), 5000), 101);
    }

    #[test]
    fn a_look_that_lasts_over_a_pause_is_no_answer() {
        let first = begun(0, 100);
        let more = begun(first, 110);
        assert!(same_stretch(first, more) && same_stretch(more, ended(more, 120)));
        let pause = ended(first, 200);
        assert!(!same_stretch(first, pause));
        // Busy again, and the word would take the pause for work.
        let again = begun(pause, 300);
        assert!(!same_stretch(first, again));
        assert_eq!([busy(first, 310), busy(again, 310)], [210, 110]);
    }

    #[test]
    fn the_clock_may_be_larger_than_the_word() {
        let late = TICKS + 5;
        let word = begun(pack(7, 0), late);
        assert_eq!(busy(word, late + 3), 10);
        assert_eq!(busy(ended(word, late + 4), 0), 11);
    }

    #[test]
    fn what_is_told_grows_and_no_faster_than_the_clock() {
        let looks = [(5, 10), (3, 12), (9, 14), (9, 15), (2, 20)];
        let told = looks.iter().scan(Told::default(), |told, &(active, now)| {
            *told = told.next(active, now);
            Some(told.active)
        });
        assert_eq!(told.collect::<Vec<_>>(), [5, 5, 7, 8, 8]);
        let late = Told { active: TICKS - 1, at: 100 };
        assert_eq!(late.next(3, 200).active, 3, "it wraps around");
    }

    #[test]
    fn commands_that_never_end_are_given_up_and_an_unknown_end_changes_nothing() {
        let word = idle(begun(begun(0, 10), 11), 30);
        assert_eq!([word & COUNT, busy(word, 100)], [0, 20]);
        assert_eq!(ended(word, 50), word);
    }

    #[test]
    fn kinds_are_told_apart_and_all_is_their_union() {
        let activity = Activity::default();
        let copy = activity.begin(Work::Copy);
        let kernel = activity.begin(Work::Compute);
        drop(copy);
        assert!(activity.is_busy(Work::Compute) && !activity.is_busy(Work::Copy));
        let start = activity.sample(None);
        while activity.sample(None).timestamp < start.timestamp + 2000 {
            std::hint::spin_loop();
        }
        drop(kernel);
        let [all, compute, copied] =
            [None, Some(Work::Compute), Some(Work::Copy)].map(|work| activity.sample(work));
        // Less what rounding to whole microseconds takes.
        assert!(compute.active >= 1999 && all.active >= compute.active, "{all:?} {compute:?}");
        assert!(copied.active <= all.active);
        assert_eq!(activity.sample(None).active, all.active);
    }

    #[test]
    fn a_forked_child_executes_nothing_of_what_its_parent_does() {
        fork::watch();
        let activity = Activity::default();
        let busy = activity.begin(Work::Compute);
        // SAFETY: the child reads counters and the clock, and ends without running anything else of this program.
        let status = unsafe {
            let child = libc::fork();
            if child == 0 {
                let idle = !activity.is_busy(Work::Compute) && !activity.all.is_busy();
                drop(activity.begin(Work::Compute));
                let ended = !activity.is_busy(Work::Compute);
                libc::_exit(i32::from(!idle || !ended));
            }
            let mut status = -1;
            assert_eq!(libc::waitpid(child, &mut status, 0), child);
            status
        };
        assert_eq!(status, 0);
        assert!(activity.is_busy(Work::Compute));
        drop(busy);
    }

    #[test]
    fn many_threads_leave_no_command_behind() {
        let activity = Activity::default();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let activity = &activity;
                scope.spawn(move || {
                    let mut before = 0;
                    for round in 0..2000 {
                        let work = if (round + thread) % 2 == 0 { Work::Compute } else { Work::Copy };
                        let _busy = activity.begin(work);
                        let sample = activity.sample(None);
                        assert!(sample.active >= before && sample.active <= sample.timestamp);
                        before = sample.active;
                    }
                });
            }
        });
        assert!(!activity.is_busy(Work::Compute) && !activity.is_busy(Work::Copy) && !activity.all.is_busy());
    }
}
