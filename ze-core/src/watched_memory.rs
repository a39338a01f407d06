//! Counters in the program's memory that events stand for (`ze_event_counter_based_external_*_desc_t`), and memory that lists wait for
//! (`zexCommandListAppendWaitOnMemory`).
//!
//! Kernels and hosts change such a counter by writing to it, and tell nobody. Where something waits for one, a thread of this
//! process looks at it now and then, and at nothing else.

use crate::clock;
use crate::error::{Error, Result};
use crate::fork::{self, Mutex, PerProcess};
use crate::signal::{Outcome, Outside, Signal, Timestamps};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;
use ze_engine::exec::fault::catch;

/// The thread that looks does next to nothing, but a stream may go on in it where there is no other thread.
const STACK: usize = 512 << 10;
/// Between two looks, at first; each time more, up to the second.
const PAUSES: [Duration; 2] = [Duration::from_micros(10), Duration::from_millis(1)];

/// How memory compares with a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

/// What is waited for: a value of 4 bytes or 8, an unsigned number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Condition {
    pub comparison: Comparison,
    pub value: Value,
}

/// A number of the program's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value {
    Word(u32),
    Long(u64),
}

impl Condition {
    /// Whether it holds for the memory at an address.
    ///
    /// # Safety
    /// The address is aligned for the value. Memory that cannot be read is an error of the system's.
    unsafe fn holds(self, address: usize) -> bool {
        let (there, value) = match self.value {
            Value::Word(value) => {
                // SAFETY: the caller's promise.
                let there = unsafe { &*std::ptr::with_exposed_provenance::<AtomicU32>(address) };
                (there.load(Ordering::Acquire).into(), value.into())
            }
            Value::Long(value) => {
                // SAFETY: as above.
                let there = unsafe { &*std::ptr::with_exposed_provenance::<AtomicU64>(address) };
                (there.load(Ordering::Acquire), value)
            }
        };
        match self.comparison {
            Comparison::Equal => there == value,
            Comparison::NotEqual => there != value,
            Comparison::Greater => there > value,
            Comparison::GreaterOrEqual => there >= value,
            Comparison::Less => there < value,
            Comparison::LessOrEqual => there <= value,
        }
    }

    fn alignment(self) -> usize {
        match self.value {
            Value::Word(_) => align_of::<u32>(),
            Value::Long(_) => align_of::<u64>(),
        }
    }
}

/// A signal that is set while memory fulfils a condition.
pub fn wait(address: usize, condition: Condition) -> Result<Arc<Signal>> {
    if address == 0 || !address.is_multiple_of(condition.alignment()) {
        return Err(Error::InvalidArgument(format!("a wait for memory at {address:#x}")));
    }
    Ok(Counter::linked(address, condition, None).1)
}

/// What a counter does for an event.
pub struct Counter {
    address: usize,
    /// The event is signalled while the counter has at least some value.
    condition: Condition,
    /// Added by each command that signals; without one, commands do not change the counter.
    increment: Option<u64>,
    /// Whether the program's memory may be looked at: until the event is destroyed.
    open: Mutex<bool>,
    /// The state that the signal has taken over.
    seen: AtomicBool,
    signal: Weak<Signal>,
}

impl Counter {
    /// A counter, and the signal that is set while it has reached its value.
    pub fn new(
        address: *mut u64,
        completion: u64,
        increment: Option<u64>,
    ) -> Result<(Arc<Self>, Arc<Signal>)> {
        // ZE_RESULT_ERROR_INVALID_ARGUMENT, as Intel's driver says
        if address.is_null() || !address.is_aligned() {
            return Err(Error::InvalidArgument(format!("an event's counter at {address:p}")));
        }
        let value = Value::Long(completion);
        let condition = Condition { comparison: Comparison::GreaterOrEqual, value };
        Ok(Self::linked(address as usize, condition, increment))
    }

    fn linked(address: usize, condition: Condition, increment: Option<u64>) -> (Arc<Self>, Arc<Signal>) {
        let mut made = None;
        let signal = Signal::linked(|signal| {
            let counter = Arc::new(Self {
                address,
                condition,
                increment,
                open: Mutex::new(true),
                seen: AtomicBool::new(false),
                signal: signal.clone(),
            });
            Arc::clone(made.insert(counter)) as Arc<dyn Outside>
        });
        (made.expect("the closure above has made it"), signal)
    }

    /// Its place, and the value that counts.
    pub fn place(&self) -> (u64, u64) {
        let (Value::Long(completion), at) = (self.condition.value, self.address as u64) else {
            unreachable!("counters of events have 8 bytes")
        };
        (at, completion)
    }

    /// Whether commands add to it.
    pub fn is_aggregate(&self) -> bool {
        self.increment.is_some()
    }

    /// Whether it has its value; nothing once the event is destroyed, or the memory gone.
    fn is_reached(&self) -> Option<bool> {
        let (open, mut holds) = (self.open.lock(), false);
        // SAFETY: aligned memory of the program, which it keeps until the event is destroyed or the wait is over. Nothing is owned.
        let looked = open.then(|| unsafe { catch(|| holds = self.condition.holds(self.address)) });
        looked.is_some_and(|looked| looked.is_ok()).then_some(holds)
    }

    /// Adds to it, as a command does that signals.
    fn add(&self, increment: u64) {
        let open = self.open.lock();
        if *open {
            // SAFETY: as above; what is added to has 8 bytes.
            let counter = unsafe { &*std::ptr::with_exposed_provenance::<AtomicU64>(self.address) };
            counter.fetch_add(increment, Ordering::AcqRel);
        }
    }

    /// The event is destroyed: the memory is not looked at any more. What waits is told that nothing will come.
    pub fn close(&self) {
        *self.open.lock() = false;
        if let Some(signal) = self.signal.upgrade() {
            signal.refresh();
        }
    }
}

impl Outside for Counter {
    fn has_changed(&self) -> bool {
        self.is_reached().unwrap_or(true) != self.seen.load(Ordering::Acquire)
    }

    fn take(&self) -> Option<Option<Outcome>> {
        let reached = self.is_reached();
        if self.seen.swap(reached.unwrap_or(true), Ordering::AcqRel) == reached.unwrap_or(true) {
            return None;
        }
        Some(match reached {
            Some(true) => {
                let now = clock::now();
                Some(Ok(Timestamps { start: now, end: now }))
            }
            Some(false) => None,
            None => Some(Err("the event was destroyed, or its memory, before that had its value".into())),
        })
    }

    fn publish(&self, outcome: Option<&Outcome>) -> bool {
        if let (Some(_), Some(increment)) = (outcome, self.increment) {
            self.add(increment);
        }
        let reached = self.is_reached().unwrap_or(true);
        self.seen.store(reached, Ordering::Relaxed);
        reached
    }

    fn watch(&self) {
        static WATCHER: PerProcess<Watcher> = PerProcess::new();
        WATCHER.get_or_init(Watcher::default).add(&self.signal);
    }
}

/// The signals that something waits for.
#[derive(Default)]
struct Watcher(Mutex<Watching>);

#[derive(Default)]
struct Watching {
    signals: Vec<Watched>,
    /// A thread looks.
    running: bool,
}

struct Watched {
    signal: Weak<Signal>,
    /// Something has begun to wait since the thread's latest look.
    anew: bool,
}

impl Watcher {
    fn add(&'static self, signal: &Weak<Signal>) {
        let mut watching = self.0.lock();
        if let Some(own) = watching.signals.iter_mut().find(|own| own.signal.ptr_eq(signal)) {
            own.anew = true;
            return;
        }
        watching.signals.push(Watched { signal: signal.clone(), anew: true });
        if watching.running {
            return;
        }
        watching.running = true;
        drop(watching);
        let builder = thread::Builder::new().name("ze_cpu counters".into()).stack_size(STACK);
        if let Err(error) = fork::spawn(builder, move || self.look()) {
            tracing::error!("no thread to look at the counters of events: {error}");
            self.0.lock().running = false;
        }
    }

    fn look(&self) {
        let mut pause = PAUSES[0];
        loop {
            let mut signals = Vec::new();
            for own in &mut self.0.lock().signals {
                own.anew = false;
                signals.extend(own.signal.upgrade());
            }
            // Who is told may wait for another counter, so the lock is not held.
            signals.retain(|signal| signal.is_signalled());
            let mut watching = self.0.lock();
            let is_over = |own: &Watched| signals.iter().any(|over| own.signal.as_ptr() == Arc::as_ptr(over));
            watching.signals.retain(|own| own.signal.strong_count() != 0 && (own.anew || !is_over(own)));
            if watching.signals.is_empty() {
                watching.running = false;
                return;
            }
            let anew = watching.signals.iter().any(|own| own.anew);
            drop(watching);
            pause = if anew { PAUSES[0] } else { (pause * 5 / 4).min(PAUSES[1]) };
            thread::sleep(pause);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::futex::Deadline;
    use crate::signal::EngineId;

    #[test]
    fn a_signal_follows_its_counter() {
        let mut memory = Box::new(0u64);
        let at = &raw mut *memory;
        // SAFETY: the box lives to the end of the test.
        let counter_at = unsafe { AtomicU64::from_ptr(at) };
        let (counter, signal) = Counter::new(at, 5, None).expect("aligned");
        assert!(!signal.is_signalled() && !counter.is_aggregate());
        counter_at.store(5, Ordering::Release);
        assert!(signal.is_signalled());
        counter_at.store(4, Ordering::Release);
        assert!(!signal.is_signalled());
        let waiter = Arc::clone(&signal);
        let waits = thread::spawn(move || waiter.wait(Deadline::Never).is_ok());
        thread::sleep(Duration::from_millis(5));
        counter_at.store(9, Ordering::Release);
        assert!(waits.join().expect("it does not panic"));
    }

    #[test]
    fn commands_add_to_an_aggregate() {
        let mut memory = Box::new(1u64);
        let (_, signal) = Counter::new(&raw mut *memory, 7, Some(3)).expect("aligned");
        let engine = EngineId::of_tests();
        let complete = || signal.complete(engine, &signal.submit_signal(engine), Ok(Timestamps::default()));
        complete();
        assert!(!signal.is_signalled());
        complete();
        assert!(signal.is_signalled() && *memory == 7);
    }

    #[test]
    fn nothing_waits_for_the_counter_of_a_destroyed_event() {
        let mut memory = Box::new(0u64);
        let (counter, signal) = Counter::new(&raw mut *memory, 1, None).expect("aligned");
        counter.close();
        drop(memory);
        assert!(matches!(signal.wait(Deadline::Never), Err(Error::DeviceLost(_))));
    }

    #[test]
    fn a_counter_has_an_aligned_place() {
        assert!(Counter::new(std::ptr::null_mut(), 1, None).is_err());
        assert!(Counter::new(std::ptr::without_provenance_mut(0x1004), 1, None).is_err());
    }
}
