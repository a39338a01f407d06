//! Which thread runs which work-groups of a launch.
//!
//! The launching thread always takes part and can finish alone, so a launch makes progress whatever the pool is
//! busy with, and launches may nest. Others join when the work left is worth waking them for: compiled code
//! remembers what a work-group costs, and where that is not known yet the launching thread measures as it goes.
//! Each thread has a share of the work-groups, the same one in every launch: what it reads was written by the thread of that share in the
//! launch before, and is in its caches (affinity scheduling: Markatos and LeBlanc, 1994). It takes guided chunks
//! (Polychronopoulos and Kuck, 1987) of it, a fixed part of what is left, and then of what others have left, so that few are
//! taken and all threads end together.

use super::caller_stack::with_room;
use super::failure::Failure;
use super::float_mode::KernelMode;
use super::launch::Code;
use super::order::Order;
use super::placement::{LATE, Placement};
use super::promotion::Promotion;
use super::trial::{Plan, Side};
use super::workgroup::{self, Needs, Workspace};
use crate::abi::LaunchInfo;
use crate::error::EngineError;
use crate::fork::{self, PerProcess};
use crate::futex::{Counter, Deadline};
use crate::sync::computing;
use rayon::{ThreadBuilder, ThreadPool, ThreadPoolBuilder};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use ze_extensions::last_level_cache;

/// Work that is worth waking other threads for. A wake-up costs 5 to 50 µs, on virtual machines more.
pub(super) const SHARED_FROM: Duration = Duration::from_micros(20);
/// Work for each thread that is woken.
const SHARE: Duration = Duration::from_micros(10);
/// Work that is done before the clock is read again, at least.
const CHUNK: Duration = Duration::from_micros(1);
/// Time between two looks for better code.
const LOOK: Duration = Duration::from_micros(500);
/// A launch that has taken so long in code of the fast tier is likely to take much longer: a thread of it makes room for who makes better code.
const LONG: Duration = Duration::from_millis(10);
/// A chunk is this part of what is left of a share.
const CHUNK_DIVISOR: u64 = 4;
/// How long the launching thread spins for the others' last chunks before it sleeps.
pub(super) const SPIN: Duration = Duration::from_micros(50);
/// Kernels may have private variables on the stack of the thread that runs them.
const WORKER_STACK_BYTES: usize = 8 << 20;

/// What a work-group costs.
#[derive(Default, Debug)]
pub struct Cost {
    /// Zero while unknown.
    picoseconds: AtomicU64,
    /// The [`numbers`](Job::numbers) of the launch that was measured last.
    numbers: AtomicU64,
}

impl Cost {
    fn get(&self) -> Option<u64> {
        Some(self.picoseconds.load(Ordering::Relaxed)).filter(|cost| *cost > 0)
    }

    /// What this many work-groups cost that do as much as those that were measured last.
    pub(super) fn of_same(&self, groups: u64, numbers: u64) -> Option<Duration> {
        self.of(groups).filter(|_| self.numbers.load(Ordering::Relaxed) == numbers)
    }

    /// What this many work-groups cost.
    fn of(&self, groups: u64) -> Option<Duration> {
        self.get().map(|cost| Duration::from_nanos(cost.saturating_mul(groups) / 1000))
    }

    /// Half of what was known of as much, half of what was just seen.
    fn update(&self, time: Duration, groups: u64, numbers: u64) {
        let Some(seen) = picoseconds(time).checked_div(groups) else { return };
        let same = self.get().filter(|_| self.numbers.load(Ordering::Relaxed) == numbers);
        let cost = same.map_or(seen, |known| known / 2 + seen / 2);
        self.picoseconds.store(cost.max(1), Ordering::Relaxed);
        self.numbers.store(numbers, Ordering::Relaxed);
    }
}

fn picoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).saturating_mul(1000)
}

/// A launch to run.
pub struct Job<'a> {
    pub code: &'a Code,
    pub info: &'a LaunchInfo,
    pub needs: Needs,
    pub kernel: &'a str,
    /// Work-groups in all dimensions together.
    pub groups: u64,
    /// Stand for what tells how much a work-group does, which nothing does of a kernel that always does the same: that is zero.
    pub numbers: u64,
    /// Which of them are executed after which. Better code has the same.
    pub order: Order,
    /// Why the launch ends early, if it does.
    pub failure: &'a Failure,
}

/// The threads that run kernels.
pub struct Scheduler {
    threads: usize,
    /// Bytes of what a launch reads and writes that the caches keep for whoever is next; 0 until that is known.
    kept: AtomicU64,
    /// A forked child has none of its parent's threads, and starts its own.
    pool: PerProcess<Option<Pool>>,
}

/// The threads beside the launching ones.
struct Pool {
    threads: ThreadPool,
    placement: Arc<Placement>,
}

impl Scheduler {
    /// `threads` includes the one that launches. None is started before a launch is worth it.
    pub fn new(threads: usize) -> Scheduler {
        Scheduler { threads: threads.max(1), kept: AtomicU64::new(0), pool: PerProcess::default() }
    }

    /// The same where the caches keep so many bytes.
    pub fn keeping(self, bytes: u64) -> Scheduler {
        Scheduler { kept: AtomicU64::new(bytes), ..self }
    }

    /// Bytes that each of so many work-items reads and writes at least where the last cache has no room for all of them and anything else.
    pub(super) fn streams_from(&self, items: u64) -> u32 {
        let kept = match self.kept.load(Ordering::Relaxed) {
            0 => {
                let kept = last_level_cache(self.threads).map_or(u64::MAX, |bytes| bytes.max(1));
                self.kept.store(kept, Ordering::Relaxed);
                kept
            }
            kept => kept,
        };
        u32::try_from(kept.div_ceil(items.max(1))).unwrap_or(u32::MAX)
    }

    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Runs `work` on the pool some time, if the pool has been started; else gives it back.
    pub fn in_background<F: FnOnce() + Send + 'static>(&self, work: F) -> Result<(), F> {
        match self.pool.get() {
            Some(Some(pool)) => {
                pool.threads.spawn(work);
                Ok(())
            }
            _ => Err(work),
        }
    }

    pub(super) fn pool(&self) -> Option<&ThreadPool> {
        self.pool_in_place().map(|pool| &pool.threads)
    }

    fn pool_in_place(&self) -> Option<&Pool> {
        let start = || start_pool(self.threads - 1, spawn_worker);
        if self.threads == 1 { None } else { self.pool.get_or_init(start).as_ref() }
    }

    /// Runs all work-groups of a launch and returns when the last has ended.
    ///
    /// # Safety
    /// `info` describes a launch of the code with valid arguments.
    pub unsafe fn run(&self, job: &Job) -> Result<(), EngineError> {
        let mut workspace = Workspace::acquire(&job.needs, job.kernel)?;
        let run = || {
            let _mode = KernelMode::enter();
            // SAFETY: the workspace has what the job needs; the rest is up to the caller.
            unsafe {
                let done = self.run_alone(job, &mut workspace);
                if done < job.groups {
                    self.run_shared(job, &mut workspace, done);
                }
            }
        };
        let result = with_room(workgroup::stack_bytes(job.code, &job.needs), run);
        workspace.release();
        result.map_err(|error| {
            let reason = format!("a stack to run on: {error}");
            EngineError::OutOfHostMemory { kernel: job.kernel.to_owned(), reason }
        })
    }

    /// Runs work-groups until the rest is worth sharing. Returns how many it ran.
    unsafe fn run_alone(&self, job: &Job, workspace: &mut Workspace) -> u64 {
        let Job { code, info, groups, numbers, order, failure, .. } = *job;
        if groups == 1 || (self.threads == 1 && code.promotion().is_none()) {
            // What is known to be cheap, and always is, is not measured: the clock would cost as much.
            let known = code.cost.of(groups);
            let start = known.is_none_or(|time| time > CHUNK || numbers != 0).then(Instant::now);
            // SAFETY: up to the caller.
            unsafe { run_faster(workspace, code, info, order, 0..groups, failure) };
            let time = start.map_or(known.unwrap_or_default(), |start| start.elapsed());
            if start.is_some() {
                code.cost.update(time, groups, numbers);
            }
            if let Some(promotion) = code.promotion() {
                promotion.spend(time);
            }
            return groups;
        }
        let worth_sharing = |cost: u64, left: u64| cost.saturating_mul(left) >= picoseconds(SHARED_FROM);
        let known = code.cost.get();
        if known.is_some_and(|cost| worth_sharing(cost, groups)) && self.pool().is_some() {
            return 0;
        }
        let mut chunk = known.map_or(1, |cost| (picoseconds(CHUNK) / cost).max(1));
        let (start, mut done) = (Instant::now(), 0u64);
        let mut running = Running::new(job);
        loop {
            let end = groups.min(done.saturating_add(chunk));
            // SAFETY: up to the caller.
            unsafe { running.run(workspace, info, order, done..end, failure) };
            done = end;
            let elapsed = start.elapsed();
            let cost = picoseconds(elapsed) / done;
            let share = done < groups && worth_sharing(cost, groups - done) && self.pool().is_some();
            if share || done == groups {
                code.cost.update(elapsed, done, numbers);
                return done;
            }
            chunk = chunk.saturating_mul(2).min(most_groups(code, cost));
        }
    }

    /// Runs the work-groups from `first` on together with the pool.
    unsafe fn run_shared(&self, job: &Job, workspace: &mut Workspace, first: u64) {
        let left = job.groups - first;
        let cost = job.code.cost.get().unwrap_or(1);
        let worth = cost.saturating_mul(left) / picoseconds(SHARE);
        let pool = self.pool_in_place();
        let threads = pool.map_or(0, |pool| pool.threads.current_num_threads()) as u64;
        let helpers = worth.min(left - 1).min(threads);
        let shared = Arc::new(ParallelLaunch {
            shares: Share::of(first..job.groups, helpers + 1),
            left: AtomicU64::new(left),
            order: job.order,
            least: (picoseconds(CHUNK) / cost).max(1),
            most: most_groups(job.code, cost),
            needs: job.needs,
            stack_bytes: workgroup::stack_bytes(job.code, &job.needs),
            code: job.code,
            info: job.info,
            failure: job.failure,
            start: Instant::now(),
            done: Counter::new(0),
        });
        let _computing = computing(helpers as usize);
        if let Some(pool) = pool {
            shared.recruit(helpers as usize, &|work| pool.threads.spawn(work));
        }
        let start = Instant::now();
        // SAFETY: the job lives until the last group has ended, which is waited for below.
        let ran = unsafe { shared.take_part(workspace, 0) };
        let time = start.elapsed();
        job.code.cost.update(time, ran, job.numbers);
        if let Some(pool) = pool.filter(|_| time > LATE && helpers == threads) {
            // Each share is that of one thread of the pool.
            let late =
                (1..shared.shares.len()).find(|at| !shared.shares[*at].claimed.load(Ordering::Relaxed));
            late.into_iter().for_each(|at| pool.placement.move_away(at - 1));
        }
        shared.wait();
    }
}

/// Most work-groups of a cost that are run without looking for better code.
fn most_groups(code: &Code, cost: u64) -> u64 {
    match code.promotion() {
        Some(_) => (picoseconds(LOOK) / cost.max(1)).max(1),
        None => u64::MAX,
    }
}

/// Runs work-groups with a code or its rival, whichever is faster, or finds out which that is.
///
/// # Safety
/// As for [`Workspace::run`].
unsafe fn run_faster(
    workspace: &mut Workspace,
    code: &Code,
    info: &LaunchInfo,
    order: Order,
    places: Range<u64>,
    failure: &Failure,
) {
    let mut run = |code: &Code, places: Range<u64>| {
        // SAFETY: passed on to the caller; a rival needs no more memory.
        unsafe { workspace.run(code, info, order, places, failure) };
    };
    let Some(trial) = code.trial().filter(|trial| !trial.is_over()) else { return run(code, places) };
    // Codes are compared by what the thread computes: on a busy machine others have its processor in between, now in one's turn and now in the other's.
    let mut timed = |code: &Code, places: Range<u64>| {
        let start = computed();
        run(code, places);
        computed().saturating_sub(start)
    };
    let of = |round: usize, side: Side| trial.code(trial.number(round, side), code);
    let (first, last) = (places.start, places.end);
    match trial.plan(last - first) {
        Plan::One { side, turn, round } => {
            trial.note_one(round, side, turn, timed(of(round, side), places), last - first);
        }
        Plan::Pair { of: count, first: side, pieces, round } => {
            let [mut own, mut other] = [Duration::ZERO; 2];
            let mut at = first;
            for &is_own in pieces {
                let (side, time) = if is_own { (side, &mut own) } else { (side.other(), &mut other) };
                *time += timed(of(round, side), at..at + count);
                at += count;
            }
            trial.note(round, side, own, other);
            run(of(round, Side::Best), at..last);
        }
        Plan::All(number) => run(trial.code(number, code), places),
        Plan::Until { code: number, round } => {
            // Each launch comes here, so it is the clock that takes no call of the system.
            let start = Instant::now();
            run(trial.code(number, code), places);
            trial.spend(round, start.elapsed());
        }
    }
}

/// For how long the calling thread has computed.
fn computed() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place is there; where there is no such clock it stays as it is, and nothing that is measured is long enough to count.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// What a thread runs of a launch: the launch's code, or better code since there is some.
struct Running<'a> {
    code: &'a Code,
    needs: Needs,
    /// Stack that there is.
    stack_bytes: usize,
}

impl<'a> Running<'a> {
    fn new(job: &Job<'a>) -> Running<'a> {
        let stack_bytes = workgroup::stack_bytes(job.code, &job.needs);
        Running { code: job.code, needs: job.needs, stack_bytes }
    }

    /// Runs work-groups.
    ///
    /// # Safety
    /// As for [`Workspace::run`].
    unsafe fn run(
        &mut self,
        workspace: &mut Workspace,
        info: &LaunchInfo,
        order: Order,
        places: Range<u64>,
        failure: &Failure,
    ) {
        self.improve(workspace, info);
        let start = self.code.promotion().map(|promotion| (promotion, Instant::now()));
        // SAFETY: passed on to the caller; the workspace has what better code needs, too.
        unsafe { run_faster(workspace, self.code, info, order, places, failure) };
        if let Some((promotion, start)) = start {
            promotion.spend(start.elapsed());
        }
    }

    fn improve(&mut self, workspace: &mut Workspace, info: &LaunchInfo) {
        let Some(better) = self.code.promotion().and_then(Promotion::better) else { return };
        // Code with wider sub-groups has fewer of them, and what the launch says of them is for all of its work-groups.
        let subgroups = better.variant().subgroups(info.group_size);
        if self.code.info().has_barrier && subgroups != u64::from(info.subgroups) {
            return;
        }
        let needs = Needs::of(better, self.needs.local_bytes, self.needs.subgroups);
        let stack_bytes = workgroup::stack_bytes(better, &needs);
        if stack_bytes <= self.stack_bytes && workspace.provide(&needs).is_ok() {
            *self = Running { code: better, needs, ..*self };
        }
    }
}

/// Starts a pool of `wanted` threads, or of as many as the system gives.
fn start_pool(wanted: usize, spawn: impl Fn(ThreadBuilder) -> io::Result<JoinHandle<()>>) -> Option<Pool> {
    let mut count = wanted;
    while count > 0 {
        let mut started = Vec::new();
        let placement = Arc::new(Placement::new(count));
        let own = Arc::clone(&placement);
        let pool = ThreadPoolBuilder::new()
            .num_threads(count)
            .start_handler(move |at| own.begin(at))
            .thread_name(|at| format!("ze-cpu-worker {at}"))
            .stack_size(WORKER_STACK_BYTES)
            .spawn_handler(|thread| spawn(thread).map(|thread| started.push(thread)))
            .build();
        match pool {
            Ok(threads) => return Some(Pool { threads, placement }),
            Err(error) => {
                let got = started.len();
                tracing::warn!("kernels run on {} threads instead of {}: {error}", got + 1, wanted + 1);
                // The pool that was not made lets its threads go. The next is for as many, which the system then has.
                started.into_iter().for_each(|thread| drop(thread.join()));
                count = got.min(count - 1);
            }
        }
    }
    None
}

fn spawn_worker(thread: ThreadBuilder) -> io::Result<JoinHandle<()>> {
    let mut builder = std::thread::Builder::new();
    if let Some(name) = thread.name() {
        builder = builder.name(name.to_owned());
    }
    if let Some(bytes) = thread.stack_size() {
        builder = builder.stack_size(bytes);
    }
    fork::spawn(builder, || thread.run())
}

/// The work-groups that are one thread's until others have nothing left to do. Apart from others', which other threads write.
#[repr(align(128))]
struct Share {
    /// The first that nobody has taken.
    next: AtomicU64,
    end: u64,
    /// Whether a thread has come for it.
    claimed: AtomicBool,
}

impl Share {
    /// `count` shares, at least one, of equal sizes. The first is the launching thread's.
    fn of(groups: Range<u64>, count: u64) -> Box<[Share]> {
        let (part, rest) = ((groups.end - groups.start) / count, (groups.end - groups.start) % count);
        let start = |at: u64| groups.start + at * part + at.min(rest);
        let share = |at: u64| Share {
            next: AtomicU64::new(start(at)),
            end: start(at + 1),
            claimed: AtomicBool::new(at == 0),
        };
        (0..count).map(share).collect()
    }

    fn left(&self) -> u64 {
        self.end.saturating_sub(self.next.load(Ordering::Relaxed))
    }

    /// Takes a part of what is left, if anything is, of a number of work-groups between two bounds.
    fn take(&self, divisor: u64, [least, most]: [u64; 2]) -> Option<Range<u64>> {
        let mut first = self.next.load(Ordering::Relaxed);
        loop {
            let left = self.end.checked_sub(first).filter(|left| *left > 0)?;
            let last = first + (left / divisor).max(least).min(most).min(left);
            match self.next.compare_exchange_weak(first, last, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(first..last),
                Err(now) => first = now,
            }
        }
    }
}

/// A launch that several threads run. `code`, `info` and `failure` may be used only while a taken chunk is not reported
/// as done: the launching thread waits for it.
struct ParallelLaunch {
    /// One for each thread.
    shares: Box<[Share]>,
    /// Work-groups that are not done.
    left: AtomicU64,
    order: Order,
    /// Least and most work-groups of a chunk.
    least: u64,
    most: u64,
    needs: Needs,
    /// Of each thread.
    stack_bytes: usize,
    code: *const Code,
    info: *const LaunchInfo,
    failure: *const Failure,
    start: Instant,
    /// 1 when none is left. Not a handle of the launching thread: it may be one that ends, or whose process exits,
    /// without thread-local storage.
    done: Counter,
}

// SAFETY: the pointers are used only as the structure says; what they point to is `Sync` (atomics and data
// that does not change during a launch).
unsafe impl Send for ParallelLaunch {}
// SAFETY: as above.
unsafe impl Sync for ParallelLaunch {}

impl ParallelLaunch {
    /// Starts `helpers` jobs, half of them from the jobs themselves: with many threads, the launching one is
    /// not kept from its work by waking them one by one.
    fn recruit(self: &Arc<Self>, mut helpers: usize, spawn: &dyn Fn(Box<dyn FnOnce() + Send>)) {
        while helpers > 0 {
            let theirs = (helpers - 1) / 2;
            let shared = Arc::clone(self);
            spawn(Box::new(move || {
                shared.recruit(theirs, &|work| rayon::spawn(work));
                shared.help();
            }));
            helpers -= theirs + 1;
        }
    }

    /// What a thread of the pool does for the launch.
    fn help(&self) {
        if self.fullest().is_none() {
            return;
        }
        // Without memory for one more thread, the others do the work.
        let Ok(mut workspace) = Workspace::acquire(&self.needs, "") else { return };
        // Nor without memory for a stack where the thread's own is too small.
        let _ = with_room(self.stack_bytes, || {
            // SAFETY: chunks are only taken before the launch has ended.
            unsafe { self.take_part(&mut workspace, self.claim(rayon::current_thread_index())) }
        });
        workspace.release();
    }

    /// The share of a thread of the pool: always the same one where all of them take part, and nobody else's.
    fn claim(&self, thread: Option<usize>) -> usize {
        let (count, first) = (self.shares.len(), thread.map_or(0, |thread| thread + 1));
        let mut from_own = (0..count).map(|at| (first + at) % count);
        from_own.find(|at| !self.shares[*at].claimed.swap(true, Ordering::Relaxed)).unwrap_or(0)
    }

    /// Runs chunks until none is left, first of a thread's own share. Returns the number of work-groups that it ran.
    unsafe fn take_part(&self, workspace: &mut Workspace, own: usize) -> u64 {
        let mut ran = 0;
        let mut running = None;
        while let Some(Range { start: first, end: last }) = self.take(own) {
            // SAFETY: the chunk is ours and not reported as done, so the launch has not ended.
            unsafe {
                let running = running.get_or_insert_with(|| Running {
                    code: &*self.code,
                    needs: self.needs,
                    stack_bytes: self.stack_bytes,
                });
                running.run(workspace, &*self.info, self.order, first..last, &*self.failure);
                // The launching thread goes on, and ends what there is.
                if own > 0
                    && let Some(promotion) = running.code.promotion()
                    && self.start.elapsed() > LONG
                {
                    promotion.step_aside(|| self.fullest().is_some());
                }
            }
            ran += last - first;
            if self.left.fetch_sub(last - first, Ordering::AcqRel) == last - first {
                self.done.set(1);
            }
        }
        ran
    }

    fn take(&self, own: usize) -> Option<Range<u64>> {
        let bounds = [self.least, self.most];
        let others = || {
            let divisor = CHUNK_DIVISOR.max(self.shares.len() as u64);
            std::iter::from_fn(|| self.fullest()).find_map(|share| share.take(divisor, bounds))
        };
        self.shares[own].take(CHUNK_DIVISOR, bounds).or_else(others)
    }

    /// The share with most work-groups left, if any has some.
    fn fullest(&self) -> Option<&Share> {
        self.shares.iter().max_by_key(|share| share.left()).filter(|share| share.left() > 0)
    }

    /// Waits until all chunks are done.
    fn wait(&self) {
        let start = Instant::now();
        while self.left.load(Ordering::Acquire) > 0 {
            if start.elapsed() < SPIN {
                std::hint::spin_loop();
            } else {
                self.done.wait(Deadline::Never, |done| done != 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn shares_have_every_work_group_once() {
        for (groups, count) in [(0..1, 1), (5..6, 1), (0..10, 3), (7..1000, 4), (3..5, 2), (0..u64::MAX, 7)] {
            let shares = Share::of(groups.clone(), count);
            assert_eq!(shares.len() as u64, count);
            let sizes: Vec<u64> = shares.iter().map(Share::left).collect();
            assert!(sizes.iter().max().unwrap_or(&0) - sizes.iter().min().unwrap_or(&0) <= 1, "{sizes:?}");
            let mut next = groups.start;
            for share in &shares {
                // Parts of what is left, as few as wanted and no more than allowed.
                while let Some(taken) = share.take(4, [2, u64::MAX / 8]) {
                    assert!(taken.start == next && taken.end > next, "{taken:?} behind {next}");
                    assert!(taken.end - taken.start >= 2 || share.left() == 0);
                    next = taken.end;
                }
                assert_eq!((share.left(), next), (0, share.end));
            }
            assert_eq!(next, groups.end);
        }
    }

    #[test]
    fn what_launches_took_is_known_of_others_that_do_as_much() {
        let (cost, time) = (Cost::default(), Duration::from_micros);
        assert_eq!(cost.of_same(1, 7), None);
        cost.update(time(8), 4, 7);
        assert_eq!((cost.of_same(10, 7), cost.of_same(10, 8)), (Some(time(20)), None));
        cost.update(time(24), 4, 7);
        assert_eq!(cost.of_same(1, 7), Some(time(4)), "half of each");
        cost.update(time(1000), 1, 8);
        assert_eq!((cost.of_same(1, 7), cost.of_same(1, 8)), (None, Some(time(1000))));
    }

    #[test]
    fn a_pool_has_as_many_threads_as_the_system_gives() {
        for (most, expected) in [(5, Some(4)), (2, Some(2)), (1, Some(1)), (0, None)] {
            // As under `ulimit -u`: what has ended may be started again.
            let started = Cell::new(0);
            let spawn = |thread: ThreadBuilder| {
                if thread.index() == 0 {
                    started.set(0);
                }
                if started.get() == most {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                started.set(started.get() + 1);
                spawn_worker(thread)
            };
            let pool = start_pool(4, spawn).map(|pool| pool.threads);
            assert_eq!(pool.as_ref().map(ThreadPool::current_num_threads), expected);
            if let Some(pool) = pool {
                assert_eq!(pool.install(|| 7), 7);
            }
        }
    }
}
