//! Handles: one table of slots for every object that a program can hold.
//!
//! A handle is the address of a slot. A slot begins with a [`HandleHeader`], says what it holds, and
//! owns a reference to the object. All slots lie in one range of reserved memory that is never returned, so
//! a null, foreign, destroyed or wrongly typed handle is told from a live one by a range check and one load:
//! nothing outside the table is ever read.

use crate::error::{Error, Result};
use crate::fallible::check_memory;
use crate::fork::Mutex;
use crate::fork::OnceLock;
use std::collections::VecDeque;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use ze_engine::pages;
use ze_headers::HandleHeader;

/// What a slot holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum HandleKind {
    Driver = 1,
    Device,
    Context,
    CommandQueue,
    CommandList,
    Fence,
    EventPool,
    Event,
    Module,
    ModuleBuildLog,
    Kernel,
    Image,
    Sampler,
    PhysicalMemory,
    FabricVertex,
    FabricEdge,
    EngineGroup,
    FrequencyDomain,
    MemoryModule,
    PowerDomain,
    RasErrorSet,
    TemperatureSensor,
    DiagnosticTestSuite,
    FabricPort,
    Fan,
    Firmware,
    Led,
    OverclockDomain,
    PerformanceFactor,
    PowerSupply,
    Scheduler,
    StandbyDomain,
    VirtualFunction,
    Graph,
    ExecutableGraph,
    MetricGroup,
    Metric,
    MetricQueryPool,
    MetricQuery,
    MetricStreamer,
}

impl HandleKind {
    const NAMES: [&'static str; 40] = [
        "driver",
        "device",
        "context",
        "command queue",
        "command list",
        "fence",
        "event pool",
        "event",
        "module",
        "module build log",
        "kernel",
        "image",
        "sampler",
        "physical memory object",
        "fabric vertex",
        "fabric edge",
        "engine group",
        "frequency domain",
        "memory module",
        "power domain",
        "RAS error set",
        "temperature sensor",
        "diagnostic test suite",
        "fabric port",
        "fan",
        "firmware",
        "LED",
        "overclock domain",
        "performance factor",
        "power supply",
        "scheduler",
        "standby domain",
        "virtual function",
        "graph",
        "executable graph",
        "metric group",
        "metric",
        "metric query pool",
        "metric query",
        "metric streamer",
    ];

    fn name(self) -> &'static str {
        Self::NAMES[self as usize - 1]
    }

    fn name_of(tag: u32) -> &'static str {
        match tag {
            0 => "it was never created, or is destroyed",
            tag => Self::NAMES.get(tag as usize - 1).copied().unwrap_or("it is something else"),
        }
    }
}

/// An object behind a handle.
pub trait Object: Send + Sync + 'static {
    const KIND: HandleKind;
    /// The C handle type.
    type Handle: Copy;
    /// The handle's address.
    fn address(handle: Self::Handle) -> usize;
    /// The handle at an address.
    fn handle(address: usize) -> Self::Handle;
}

/// Implements [`Object`] for a type and its C handle.
macro_rules! object {
    ($type:ty, $kind:ident, $handle:ty) => {
        impl $crate::handle::Object for $type {
            const KIND: $crate::handle::HandleKind = $crate::handle::HandleKind::$kind;
            type Handle = $handle;
            fn address(handle: $handle) -> usize {
                handle as usize
            }
            fn handle(address: usize) -> $handle {
                address as $handle
            }
        }
    };
}
pub(crate) use object;

#[repr(C, align(64))]
struct Slot {
    /// What the loader dispatches through.
    header: HandleHeader,
    /// A [`HandleKind`], or 0 for a free slot.
    tag: AtomicU32,
    /// From `Arc::into_raw`.
    object: AtomicPtr<()>,
}

/// Slots of the table: 16 Mi handles, 1 GiB of addresses of which only touched pages take memory. Then what is tried where
/// addresses are limited.
const CAPACITIES: [usize; 3] = [1 << 24, 1 << 18, 1 << 14];
/// A destroyed slot is used again only after this many others, so that stale handles are noticed.
const QUARANTINE: usize = 1024;

struct Table {
    memory: pages::Table,
    free: Mutex<FreeSlots>,
}

#[derive(Default)]
struct FreeSlots {
    /// Slots below this were handed out at least once.
    used: usize,
    /// Destroyed, the oldest first.
    recycled: VecDeque<usize>,
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| Table {
        memory: pages::Table::new(&CAPACITIES.map(|capacity| capacity * size_of::<Slot>())),
        free: Mutex::default(),
    })
}

impl Table {
    /// A slot, if it is one that was handed out, or could be without more memory.
    #[inline]
    fn slot(&self, index: usize) -> Option<&'static Slot> {
        let is_there = index < self.memory.usable() / size_of::<Slot>();
        // SAFETY: the table's memory can be read that far, for ever; page alignment is enough for slots, and zero bytes are a
        // valid free one.
        is_there.then(|| unsafe { &*(self.memory.start() as *const Slot).add(index) })
    }
}

/// Creates the handle of an object. The handle keeps the object alive until [`release`].
pub fn publish<T: Object>(object: Arc<T>) -> Result<T::Handle> {
    check_memory()?;
    let table = table();
    let slot = {
        let mut free = table.free.lock();
        let is_new =
            free.recycled.len() <= QUARANTINE && table.memory.grow_to((free.used + 1) * size_of::<Slot>());
        if is_new {
            free.used += 1;
            Some(free.used - 1)
        } else {
            free.recycled.pop_front()
        }
    }
    .and_then(|index| table.slot(index))
    .ok_or_else(|| Error::OutOfHostMemory("the table of handles is full".into()))?;
    // SAFETY: the slot is free and this thread took it. Only the loader reads the header, through a handle that
    // is not handed out yet.
    unsafe { (&raw const slot.header).cast_mut().write(HandleHeader::new()) };
    slot.object.store(Arc::into_raw(object).cast_mut().cast(), Ordering::Relaxed);
    slot.tag.store(T::KIND as u32, Ordering::Release);
    Ok(T::handle(std::ptr::from_ref(slot) as usize))
}

/// An object borrowed from its handle for the length of an API call.
pub struct Ref<T>(ManuallyDrop<Arc<T>>);

impl<T> Deref for Ref<T> {
    type Target = Arc<T>;
    fn deref(&self) -> &Arc<T> {
        &self.0
    }
}

fn find<T: Object>(handle: T::Handle) -> Result<(usize, &'static Slot)> {
    let address = T::address(handle);
    if address == 0 {
        return Err(Error::NullHandle(T::KIND.name()));
    }
    let table = table();
    let offset = address.wrapping_sub(table.memory.start());
    let invalid = |found| Error::InvalidHandle { handle: address, expected: T::KIND.name(), found };
    if !offset.is_multiple_of(size_of::<Slot>()) {
        return Err(invalid("this driver did not create it"));
    }
    let index = offset / size_of::<Slot>();
    let slot = table.slot(index).ok_or_else(|| invalid("this driver did not create it"))?;
    let tag = slot.tag.load(Ordering::Acquire);
    if tag != T::KIND as u32 {
        return Err(invalid(HandleKind::name_of(tag)));
    }
    Ok((index, slot))
}

/// The object behind a handle. As the specification demands, the program must not destroy the handle during
/// the call.
pub fn get<T: Object>(handle: T::Handle) -> Result<Ref<T>> {
    let (_, slot) = find::<T>(handle)?;
    let object = slot.object.load(Ordering::Relaxed).cast_const().cast::<T>();
    // SAFETY: the tag says that the slot holds a `T` from `Arc::into_raw`; `ManuallyDrop` keeps its count.
    Ok(Ref(ManuallyDrop::new(unsafe { Arc::from_raw(object) })))
}

/// As [`get`], with `None` for a null handle.
pub fn get_optional<T: Object>(handle: T::Handle) -> Result<Option<Ref<T>>> {
    if T::address(handle) == 0 { Ok(None) } else { get(handle).map(Some) }
}

/// Destroys a handle and gives back the reference that it owned.
pub fn release<T: Object>(handle: T::Handle) -> Result<Arc<T>> {
    let (index, slot) = find::<T>(handle)?;
    slot.tag.compare_exchange(T::KIND as u32, 0, Ordering::AcqRel, Ordering::Relaxed).map_err(|tag| {
        Error::InvalidHandle {
            handle: T::address(handle),
            expected: T::KIND.name(),
            found: HandleKind::name_of(tag),
        }
    })?;
    let object = slot.object.swap(std::ptr::null_mut(), Ordering::Relaxed).cast_const().cast::<T>();
    table().free.lock().recycled.push_back(index);
    // SAFETY: the exchange made this call the only one that takes the slot's reference.
    Ok(unsafe { Arc::from_raw(object) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ze_headers::{ze_context_handle_t, ze_event_handle_t};

    struct Thing(u32);
    object!(Thing, Context, ze_context_handle_t);
    struct Other;
    object!(Other, Event, ze_event_handle_t);

    #[test]
    fn a_live_handle_gives_its_object() {
        let handle = publish(Arc::new(Thing(7))).expect("a slot is free");
        assert_eq!(get::<Thing>(handle).expect("live").0.0, 7);
        assert_eq!(release::<Thing>(handle).expect("live").0, 7);
    }

    #[test]
    fn null_foreign_stale_and_wrong_handles_are_rejected() {
        assert!(matches!(get::<Thing>(std::ptr::null_mut()), Err(Error::NullHandle(_))));
        let mut local = [0u64; 16];
        assert!(matches!(get::<Thing>(local.as_mut_ptr().cast()), Err(Error::InvalidHandle { .. })));
        assert!(matches!(get::<Thing>(0xdead_beef_usize as _), Err(Error::InvalidHandle { .. })));
        let other = publish(Arc::new(Other)).expect("a slot is free");
        assert!(matches!(get::<Thing>(other.cast()), Err(Error::InvalidHandle { found: "event", .. })));
        release::<Other>(other).expect("live");
        assert!(get::<Other>(other).is_err());
        assert!(release::<Other>(other).is_err());
    }

    #[test]
    fn the_object_outlives_its_handle_while_referenced() {
        let handle = publish(Arc::new(Thing(3))).expect("a slot is free");
        let kept = Arc::clone(&get::<Thing>(handle).expect("live"));
        drop(release::<Thing>(handle));
        assert_eq!(kept.0, 3);
        assert_eq!(Arc::strong_count(&kept), 1);
    }
}
