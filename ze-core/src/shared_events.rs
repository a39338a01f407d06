//! Events that processes share: their state in memory that all of them map.
//!
//! A page begins with what is true of all events, and a slot each follows. Whoever signals or resets an event writes its slot,
//! and rings the bell of the page if somebody listens. In each process the state of the slot is taken over into the
//! [`Signal`] of the event, which everything else looks at: when it is asked for, and, where something waits for it, by a thread
//! that sleeps until the bell rings. There is one such thread for a pool that something waits for.
//!
//! A counter-based event is a page of its own. Its slot numbers the commands that any process submits with it, the *points*, and
//! says which of the latest ones are reached. A process waits for the point that was the latest when it looked.
//!
//! The other processes are of the same user, but may write anything at any time: nothing is read here but numbers, once.

use crate::error::{Error, Result};
use crate::external_memory::{AllShared, Shared};
use crate::fork::{self, Mutex, PerProcess};
use crate::ipc::Contents;
use crate::memfd::{self, Memfd};
use crate::memory::PAGE_SIZE;
use crate::signal::{Outcome, Outside, Signal, Timestamps};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::{ptr, thread};

/// The thread that listens does next to nothing.
const STACK: usize = 128 << 10;
/// Marks handles of event pools.
pub const POOL: u32 = u32::from_le_bytes(*b"zCe1");
/// Marks handles of counter-based events.
pub const COUNTER: u32 = u32::from_le_bytes(*b"zCc1");
/// Points of a counter-based event that are told apart: what is older is taken for reached when the one this many behind it is.
const POINTS: usize = 8;

const SIGNALLED: u32 = 1;
const CHANGE: u32 = 2;

/// What the page begins with.
#[repr(C, align(64))]
struct Header {
    count: AtomicU32,
    flags: AtomicU32,
    /// Counts changes of all slots; who listens sleeps on it.
    bell: AtomicU32,
    listeners: AtomicU32,
}

/// One event.
#[repr(C, align(64))]
struct Slot {
    /// Bit 0: whether it is signalled; the others count changes. Of a counter-based event the latest point.
    word: AtomicU32,
    /// Whether the command that signalled it failed.
    failed: AtomicU32,
    /// Host times of that command.
    start: AtomicU64,
    end: AtomicU64,
    /// Points of a counter-based event that are reached, each at its number's remainder.
    reached: [AtomicU32; POINTS],
}

impl Slot {
    fn write_outcome(&self, outcome: &Outcome) {
        let times = outcome.as_ref().copied().unwrap_or_default();
        self.failed.store(outcome.is_err().into(), Ordering::Relaxed);
        self.start.store(times.start, Ordering::Relaxed);
        self.end.store(times.end, Ordering::Relaxed);
    }

    fn read_outcome(&self) -> Outcome {
        if self.failed.load(Ordering::Relaxed) != 0 {
            return Err("a command of another process failed".into());
        }
        let times = [&self.start, &self.end].map(|time| time.load(Ordering::Relaxed));
        Ok(Timestamps { start: times[0], end: times[1] })
    }

    fn has_reached(&self, point: u32) -> bool {
        let latest = self.reached[point as usize % POINTS].load(Ordering::Acquire);
        latest.wrapping_sub(point) as i32 >= 0
    }
}

/// The pages, mapped.
struct Page {
    shared: Arc<Shared>,
    at: usize,
    len: usize,
    count: usize,
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: the mapping was made for this, and references to it end with the page's own.
        unsafe { memfd::unmap(self.at, self.len) };
    }
}

impl Page {
    fn map(shared: Arc<Shared>, count: impl FnOnce(&Header) -> u32) -> Result<Arc<Self>> {
        let len = shared.memory().len();
        let at = shared.memory().map(0, len, PAGE_SIZE)?;
        let mut page = Self { shared, at, len, count: 0 };
        page.count = count(page.header()) as usize;
        if page.count == 0 || bytes_for(page.count).is_none_or(|bytes| bytes > len) {
            return Err(Error::InvalidArgument("the shared memory is none of events".into()));
        }
        Ok(Arc::new(page))
    }

    fn header(&self) -> &Header {
        // SAFETY: the page is mapped, aligned and larger than this; all fields are atomic, and any bits are a value.
        unsafe { &*ptr::with_exposed_provenance::<Header>(self.at) }
    }

    fn slot(&self, index: usize) -> &Slot {
        assert!(index < self.count);
        let at = self.at + size_of::<Header>() + index * size_of::<Slot>();
        // SAFETY: the index is below the count, all of whose slots were found to be in the mapping; else as above.
        unsafe { &*ptr::with_exposed_provenance::<Slot>(at) }
    }

    /// Tells other processes of a change, and this one's listener.
    fn ring(&self) {
        let header = self.header();
        header.bell.fetch_add(1, Ordering::SeqCst);
        if header.listeners.load(Ordering::SeqCst) != 0 {
            // SAFETY: a word that is mapped; waking reads nothing else.
            unsafe { libc::syscall(libc::SYS_futex, header.bell.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
        }
    }

    /// Sleeps until the bell has another value. It may return at any time.
    fn listen(&self, seen: u32) {
        let (bell, forever) = (self.header().bell.as_ptr(), ptr::null::<libc::timespec>());
        // SAFETY: a word that is mapped as long as this is borrowed.
        unsafe { libc::syscall(libc::SYS_futex, bell, libc::FUTEX_WAIT, seen, forever) };
    }
}

/// Bytes of a page of so many events.
fn bytes_for(count: usize) -> Option<usize> {
    count.checked_mul(size_of::<Slot>())?.checked_add(size_of::<Header>())
}

/// The shared events of a pool.
pub struct SharedEvents {
    page: Arc<Page>,
    /// The events of this process.
    signals: Mutex<Vec<Weak<Signal>>>,
    listener: PerProcess<()>,
}

impl Drop for SharedEvents {
    fn drop(&mut self) {
        // The listener finds nothing to listen for, and ends.
        self.page.ring();
    }
}

impl SharedEvents {
    /// Events of a new pool, none of them signalled.
    pub fn new(count: u32, flags: u32) -> Result<Arc<Self>> {
        let bytes = bytes_for(count as usize).and_then(|bytes| bytes.checked_next_multiple_of(PAGE_SIZE));
        let bytes = bytes.ok_or_else(|| Error::OutOfHostMemory(format!("{count} shared events")))?;
        let shared = Shared::of(Memfd::new("ze_cpu events", bytes)?)?;
        Ok(Self::of(Page::map(shared, |header| {
            header.count.store(count, Ordering::Relaxed);
            header.flags.store(flags, Ordering::Relaxed);
            count
        })?))
    }

    /// The events that a handle names, of another process or of this one.
    pub fn open(contents: &Contents, magic: u32) -> Result<Arc<Self>> {
        let shared = Shared::of(contents.find(magic)?)?;
        Ok(Self::of(Page::map(shared, |header| header.count.load(Ordering::Relaxed))?))
    }

    fn of(page: Arc<Page>) -> Arc<Self> {
        Arc::new(Self { page, signals: Mutex::new(Vec::new()), listener: PerProcess::new() })
    }

    pub fn count(&self) -> u32 {
        self.page.count as u32
    }

    /// What the pool was created with.
    pub fn flags(&self) -> u32 {
        self.page.header().flags.load(Ordering::Relaxed)
    }

    /// What an IPC handle says.
    pub fn contents(&self, magic: u32, all: &AllShared) -> Result<Contents> {
        let exported = self.page.shared.exported(all)?;
        Ok(Contents::of(magic, &self.page.shared, exported))
    }

    /// The signal of an event. One that begins anew is not signalled.
    pub fn signal(self: &Arc<Self>, index: usize, anew: bool) -> Arc<Signal> {
        let link = Link { events: Arc::clone(self), index, seen: AtomicU32::new(0) };
        if anew {
            link.publish(None);
        }
        self.noticed(Arc::new(link))
    }

    /// A signal that is refreshed when others change what is here.
    fn noticed(&self, outside: Arc<dyn Outside>) -> Arc<Signal> {
        let signal = Signal::linked(|_| outside);
        let mut signals = self.signals.lock();
        signals.retain(|signal| signal.strong_count() != 0);
        signals.push(Arc::downgrade(&signal));
        signal
    }

    /// What a command that is being appended with a counter-based event signals. Each submission of it is a point.
    pub fn points(self: &Arc<Self>) -> Arc<Points> {
        Arc::new(Points { events: Arc::clone(self), submitted: Mutex::default(), latest: AtomicU32::new(0) })
    }

    /// The latest point of a counter-based event; 0 where nothing was submitted with it yet.
    pub fn latest_point(&self) -> u32 {
        self.page.slot(0).word.load(Ordering::Acquire)
    }

    /// The signal of a point, of whichever process.
    pub fn point(self: &Arc<Self>, point: u32) -> Arc<Signal> {
        self.noticed(Arc::new(Point { events: Arc::clone(self), point, taken: AtomicBool::new(false) }))
    }

    /// Has changes that others make noticed from now on.
    fn watch(self: &Arc<Self>) {
        self.listener.get_or_init(|| {
            let (page, events) = (Arc::clone(&self.page), Arc::downgrade(self));
            page.header().listeners.fetch_add(1, Ordering::SeqCst);
            let builder = thread::Builder::new().name("ze_cpu events".into()).stack_size(STACK);
            if let Err(error) = fork::spawn(builder, move || listen(&page, &events)) {
                tracing::error!("no thread to notice the events of other processes: {error}");
            }
        });
    }

    fn refresh(&self) {
        let signals: Vec<_> = self.signals.lock().iter().filter_map(Weak::upgrade).collect();
        signals.iter().for_each(|signal| signal.refresh());
    }
}

fn listen(page: &Page, events: &Weak<SharedEvents>) {
    loop {
        let seen = page.header().bell.load(Ordering::SeqCst);
        let Some(events) = events.upgrade() else { break };
        events.refresh();
        drop(events);
        page.listen(seen);
    }
    page.header().listeners.fetch_sub(1, Ordering::SeqCst);
}

/// A signal's connection to its slot.
struct Link {
    events: Arc<SharedEvents>,
    index: usize,
    /// The slot's word that the signal's state is of.
    seen: AtomicU32,
}

impl Link {
    fn slot(&self) -> &Slot {
        self.events.page.slot(self.index)
    }
}

impl Outside for Link {
    fn has_changed(&self) -> bool {
        self.slot().word.load(Ordering::Acquire) != self.seen.load(Ordering::Acquire)
    }

    fn take(&self) -> Option<Option<Outcome>> {
        let slot = self.slot();
        let word = slot.word.load(Ordering::Acquire);
        if self.seen.swap(word, Ordering::AcqRel) == word {
            return None;
        }
        Some((word & SIGNALLED != 0).then(|| slot.read_outcome()))
    }

    fn publish(&self, outcome: Option<&Outcome>) -> bool {
        let slot = self.slot();
        if let Some(outcome) = outcome {
            slot.write_outcome(outcome);
        }
        let change = |word: u32| ((word & !SIGNALLED) | u32::from(outcome.is_some())).wrapping_add(CHANGE);
        let before = slot.word.fetch_update(Ordering::AcqRel, Ordering::Acquire, |word| Some(change(word)));
        self.seen.store(change(before.unwrap_or_default()), Ordering::Relaxed);
        self.events.page.ring();
        outcome.is_some()
    }

    fn watch(&self) {
        self.events.watch();
    }
}

/// The submissions of one command with a counter-based event: each is a point, and they are reached in their order.
pub struct Points {
    events: Arc<SharedEvents>,
    submitted: Mutex<VecDeque<u32>>,
    /// The latest of them; 0 before the first.
    latest: AtomicU32,
}

impl Points {
    pub fn latest(&self) -> u32 {
        self.latest.load(Ordering::Acquire)
    }
}

impl Outside for Points {
    fn has_changed(&self) -> bool {
        false
    }

    fn take(&self) -> Option<Option<Outcome>> {
        None
    }

    fn submit(&self) {
        let point = self.events.page.slot(0).word.fetch_add(1, Ordering::AcqRel).wrapping_add(1);
        self.submitted.lock().push_back(point);
        self.latest.store(point, Ordering::Release);
    }

    fn publish(&self, outcome: Option<&Outcome>) -> bool {
        if let (Some(outcome), Some(point)) = (outcome, self.submitted.lock().pop_front()) {
            let slot = self.events.page.slot(0);
            slot.write_outcome(outcome);
            slot.reached[point as usize % POINTS].store(point, Ordering::Release);
            self.events.page.ring();
        }
        true
    }

    fn watch(&self) {}
}

/// A point that some process's command reaches.
struct Point {
    events: Arc<SharedEvents>,
    point: u32,
    taken: AtomicBool,
}

impl Outside for Point {
    fn has_changed(&self) -> bool {
        !self.taken.load(Ordering::Acquire) && self.events.page.slot(0).has_reached(self.point)
    }

    fn take(&self) -> Option<Option<Outcome>> {
        let is_new = self.has_changed() && !self.taken.swap(true, Ordering::AcqRel);
        is_new.then(|| Some(self.events.page.slot(0).read_outcome()))
    }

    fn publish(&self, outcome: Option<&Outcome>) -> bool {
        outcome.is_some()
    }

    fn watch(&self) {
        self.events.watch();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::futex::Deadline;
    use crate::signal::EngineId;

    fn pool() -> (AllShared, Arc<SharedEvents>, Arc<SharedEvents>) {
        let (all, events) = (AllShared::default(), SharedEvents::new(100, 5).expect("memory is there"));
        let contents = events.contents(POOL, &all).expect("a descriptor");
        let again = SharedEvents::open(&contents, POOL).expect("it is of this process");
        assert_eq!((again.count(), again.flags()), (100, 5));
        (all, events, again)
    }

    #[test]
    fn what_one_signals_and_resets_the_other_sees() {
        let (_all, here, there) = pool();
        let (one, two) = (here.signal(99, true), there.signal(99, false));
        let other = there.signal(98, false);
        for _ in 0..3 {
            assert!(!one.is_signalled() && !two.is_signalled());
            one.complete(
                EngineId::of_tests(),
                &one.submit_signal(EngineId::of_tests()),
                Ok(Timestamps { start: 3, end: 7 }),
            );
            assert_eq!(two.query().expect("signalled"), Timestamps { start: 3, end: 7 });
            two.reset();
            assert!(!one.is_signalled());
            two.raise();
            assert!(one.is_signalled() && !other.is_signalled());
            one.reset();
        }
        one.complete(EngineId::of_tests(), &one.submit_signal(EngineId::of_tests()), Err("broken".into()));
        assert!(matches!(two.query(), Err(Error::DeviceLost(_))));
        assert!(there.signal(99, false).is_signalled(), "it was before it was opened");
        assert!(!here.signal(99, true).is_signalled(), "the pool's owner makes it anew");
        assert!(!one.is_signalled());
    }

    #[test]
    fn who_waits_is_woken_by_the_other() {
        let (_all, here, there) = pool();
        let (one, two) = (here.signal(0, true), there.signal(0, false));
        assert!(matches!(two.wait(Deadline::after(2_000_000)), Err(Error::NotReady)));
        let waiter = thread::spawn({
            let two = Arc::clone(&two);
            move || two.wait(Deadline::after(60_000_000_000))
        });
        thread::sleep(std::time::Duration::from_millis(20));
        one.raise();
        assert!(waiter.join().is_ok_and(|result| result.is_ok()));
    }

    #[test]
    fn listeners_end_with_their_pool() {
        let (_all, here, there) = pool();
        let (one, two) = (here.signal(1, true), there.signal(1, false));
        let listening = || here.page.header().listeners.load(Ordering::SeqCst);
        assert_eq!(listening(), 0, "nobody waits");
        for signal in [&one, &two] {
            assert!(signal.wait(Deadline::after(1_000_000)).is_err());
        }
        assert_eq!(listening(), 2);
        drop((two, there));
        for _ in 0..10_000 {
            if listening() == 1 {
                return;
            }
            thread::sleep(std::time::Duration::from_millis(1));
        }
        panic!("the thread goes on");
    }
}
