//! Events that processes share: their state in memory that all of them map.
//!
//! A page begins with what is true of all events, and a slot each follows. Whoever signals or resets an event writes its slot,
//! and rings the bell of the page if somebody listens. In each process the state of the slot is taken over into the
//! [`Signal`] of the event, which everything else looks at: when it is asked for, and, where something waits for it, by a thread
//! that sleeps until the bell rings. There is one such thread for a pool that something waits for.
//!
//! The other processes are of the same user, but may write anything at any time: nothing is read here but numbers, once.

use crate::error::{Error, Result};
use crate::external_memory::{AllShared, Shared};
use crate::fork::{Mutex, PerProcess};
use crate::ipc::Contents;
use crate::memfd::{self, Memfd};
use crate::memory::PAGE_SIZE;
use crate::signal::{Outcome, Signal, Timestamps};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::{ptr, thread};

/// The thread that listens does next to nothing.
const STACK: usize = 128 << 10;
/// Marks handles of event pools.
const MAGIC: u32 = u32::from_le_bytes(*b"zCe1");

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
    /// Bit 0: whether it is signalled; the others count changes.
    word: AtomicU32,
    /// Whether the command that signalled it failed.
    failed: AtomicU32,
    /// Host times of that command.
    start: AtomicU64,
    end: AtomicU64,
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
    pub fn open(contents: &Contents) -> Result<Arc<Self>> {
        let shared = Shared::of(contents.find(MAGIC)?)?;
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
    pub fn contents(&self, all: &AllShared) -> Result<Contents> {
        let exported = self.page.shared.exported(all)?;
        Ok(Contents::of(MAGIC, &self.page.shared, exported))
    }

    /// Whether a handle is one of a pool.
    pub fn is_named_by(contents: &Contents) -> bool {
        contents.magic == MAGIC
    }

    /// The signal of an event. One that begins anew is not signalled.
    pub fn signal(self: &Arc<Self>, index: usize, anew: bool) -> Arc<Signal> {
        let link = Link { events: Arc::clone(self), index, seen: AtomicU32::new(0) };
        if anew {
            link.publish(None);
        }
        let signal = Signal::linked(link);
        let mut signals = self.signals.lock();
        signals.retain(|signal| signal.strong_count() != 0);
        signals.push(Arc::downgrade(&signal));
        signal
    }

    /// Has changes that others make noticed from now on.
    fn watch(self: &Arc<Self>) {
        self.listener.get_or_init(|| {
            let (page, events) = (Arc::clone(&self.page), Arc::downgrade(self));
            page.header().listeners.fetch_add(1, Ordering::SeqCst);
            let builder = thread::Builder::new().name("ze_cpu events".into()).stack_size(STACK);
            if let Err(error) = builder.spawn(move || listen(&page, &events)) {
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
pub struct Link {
    events: Arc<SharedEvents>,
    index: usize,
    /// The slot's word that the signal's state is of.
    seen: AtomicU32,
}

impl Link {
    fn slot(&self) -> &Slot {
        self.events.page.slot(self.index)
    }

    /// Whether the slot was changed by somebody else since the last [`take`](Self::take).
    pub fn has_changed(&self) -> bool {
        self.slot().word.load(Ordering::Acquire) != self.seen.load(Ordering::Relaxed)
    }

    /// The slot's state, if somebody else has changed it: how the command ended that signalled it, if it is signalled.
    /// Called by who has the signal's lock.
    pub fn take(&self) -> Option<Option<Outcome>> {
        let slot = self.slot();
        let word = slot.word.load(Ordering::Acquire);
        if self.seen.swap(word, Ordering::Relaxed) == word {
            return None;
        }
        if word & SIGNALLED == 0 {
            return Some(None);
        }
        if slot.failed.load(Ordering::Relaxed) != 0 {
            return Some(Some(Err("a command of another process failed".into())));
        }
        let times = [&slot.start, &slot.end].map(|time| time.load(Ordering::Relaxed));
        Some(Some(Ok(Timestamps { start: times[0], end: times[1] })))
    }

    /// Changes the slot: how a command ended that signals, or nothing for a reset. Called by who has the signal's lock.
    pub fn publish(&self, outcome: Option<&Outcome>) {
        let slot = self.slot();
        if let Some(outcome) = outcome {
            let times = outcome.as_ref().copied().unwrap_or_default();
            slot.failed.store(outcome.is_err().into(), Ordering::Relaxed);
            slot.start.store(times.start, Ordering::Relaxed);
            slot.end.store(times.end, Ordering::Relaxed);
        }
        let change = |word: u32| ((word & !SIGNALLED) | u32::from(outcome.is_some())).wrapping_add(CHANGE);
        let before = slot.word.fetch_update(Ordering::AcqRel, Ordering::Acquire, |word| Some(change(word)));
        self.seen.store(change(before.unwrap_or_default()), Ordering::Relaxed);
        self.events.page.ring();
    }

    /// Has the signal told of changes that others make.
    pub fn watch(&self) {
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
        let contents = events.contents(&all).expect("a descriptor");
        let again = SharedEvents::open(&contents).expect("it is of this process");
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
