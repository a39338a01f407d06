//! Event pools and events.
//!
//! An event of a normal pool is one flag. A counter-based event stands for the latest command that was appended
//! with it: each append gives it a completion of its own, and who waits captures the one that is current. Some begin as a counter
//! that the program has, and some are shared with other processes, whose commands they may then stand for.

use crate::context::Context;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::fallible::out_of_memory;
use crate::fork::Mutex;
use crate::futex::Deadline;
use crate::graph::{self, Mark};
use crate::handle::object;
use crate::ipc::Contents;
use crate::operation::{Operation, Timescale, kernel_timestamps};
use crate::pnext::{Inputs, structures};
use crate::shared_events::{self, Points, SharedEvents};
use crate::signal::Signal;
use crate::stream::Stream;
use crate::watched_memory::Counter;
use std::collections::VecDeque;
use std::sync::Arc;
use ze_headers::*;

mod state;

use state::EventState;

structures! {
    ze_event_pool_desc_t = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
    ze_event_counter_based_desc_t = ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_DESC;
    ze_event_pool_counter_based_exp_desc_t = ZE_STRUCTURE_TYPE_COUNTER_BASED_EVENT_POOL_EXP_DESC;
    ze_event_counter_based_external_sync_allocation_desc_t =
        ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_EXTERNAL_SYNC_ALLOCATION_DESC
            | ZEX_STRUCTURE_COUNTER_BASED_EVENT_EXTERNAL_SYNC_ALLOC_PROPERTIES;
    ze_event_counter_based_external_aggregate_storage_desc_t =
        ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_EXTERNAL_AGGREGATE_STORAGE_DESC
            | ZEX_STRUCTURE_COUNTER_BASED_EVENT_EXTERNAL_STORAGE_ALLOC_PROPERTIES;
}

/// An event pool.
pub struct EventPool {
    context: Arc<Context>,
    /// The handle that the program created it with.
    context_handle: usize,
    flags: ze_event_pool_flags_t,
    count: u32,
    counter_based: bool,
    /// The events' state where other processes can have them too.
    shared: Option<Arc<SharedEvents>>,
    /// Another process has made the pool.
    opened: bool,
}

object!(EventPool, EventPool, ze_event_pool_handle_t);

impl EventPool {
    /// `zeEventPoolCreate`.
    pub fn new(
        context: Arc<Context>,
        context_handle: ze_context_handle_t,
        desc: &ze_event_pool_desc_t,
        counter_based: bool,
    ) -> Result<Arc<Self>> {
        // ZE_RESULT_ERROR_INVALID_SIZE: 0 == desc->count
        if desc.count == 0 {
            return Err(Error::InvalidSize("an event pool of no events".into()));
        }
        let flags = desc.flags;
        let is_shared = flags & ZE_EVENT_POOL_FLAG_IPC != 0 && !counter_based;
        let shared = is_shared.then(|| SharedEvents::new(desc.count, flags)).transpose()?;
        Ok(Arc::new(Self {
            context,
            context_handle: context_handle as usize,
            flags,
            count: desc.count,
            counter_based,
            shared,
            opened: false,
        }))
    }

    /// `zeEventPoolOpenIpcHandle`.
    pub fn open(
        context: Arc<Context>,
        context_handle: ze_context_handle_t,
        handle: &ze_ipc_event_pool_handle_t,
    ) -> Result<Arc<Self>> {
        // SAFETY: an array of bytes.
        let shared = SharedEvents::open(&unsafe { Contents::read(handle) }, shared_events::POOL)?;
        Ok(Arc::new(Self {
            context,
            context_handle: context_handle as usize,
            flags: shared.flags(),
            count: shared.count(),
            counter_based: false,
            shared: Some(shared),
            opened: true,
        }))
    }

    /// `zeEventPoolGetIpcHandle`.
    pub fn ipc_handle(&self) -> Result<ze_ipc_event_pool_handle_t> {
        let unshared = "the event pool was created without ZE_EVENT_POOL_FLAG_IPC";
        let shared = self.shared.as_ref().ok_or(Error::InvalidSynchronizationObject(unshared))?;
        let mut handle = ze_ipc_event_pool_handle_t::default();
        let contents = shared.contents(shared_events::POOL, self.context.driver().shared())?;
        // SAFETY: an array of bytes.
        unsafe { contents.write(&mut handle) };
        Ok(handle)
    }

    /// Whether `zeEventPoolCloseIpcHandle` is for this pool.
    pub fn is_opened(&self) -> bool {
        self.opened
    }

    pub fn context_handle(&self) -> ze_context_handle_t {
        self.context_handle as ze_context_handle_t
    }

    pub fn flags(&self) -> ze_event_pool_flags_t {
        self.flags
    }
}

impl Context {
    /// `zeEventPoolPutIpcHandle`.
    pub fn put_event_pool_handle(&self, handle: &ze_ipc_event_pool_handle_t) -> Result<()> {
        // SAFETY: an array of bytes.
        let contents = unsafe { Contents::read(handle) };
        let shared = self.driver().shared().find(contents.inode);
        let shared = shared.filter(|_| contents.magic == shared_events::POOL);
        let shared =
            shared.ok_or_else(|| Error::InvalidArgument("the IPC handle is none of this process".into()))?;
        shared.put();
        Ok(())
    }
}

/// An event.
pub struct Event {
    state: EventState,
    /// Handle of the pool, null for an event without one.
    pool: Option<(Arc<EventPool>, usize)>,
    /// `ze_event_counter_based_flags_t` of an event without a pool.
    counter_flags: ze_event_counter_based_flags_t,
    /// The program's counter that it began as.
    counter: Option<OwnCounter>,
    shared: Option<SharedCounter>,
    signal_scope: ze_event_scope_flags_t,
    wait_scope: ze_event_scope_flags_t,
    /// The captured command that signals it.
    mark: Mutex<Option<Mark>>,
    /// What the program has the address of.
    addressed: Mutex<VecDeque<Arc<Signal>>>,
}

object!(Event, Event, ze_event_handle_t);

/// What a counter-based event has that other processes have too.
struct SharedCounter {
    context: Arc<Context>,
    events: Arc<SharedEvents>,
    /// Those of the command of this process that was appended with it last.
    points: Mutex<Option<Arc<Points>>>,
    /// Another process has made the event.
    opened: bool,
}

impl SharedCounter {
    fn new(context: &Arc<Context>, events: Arc<SharedEvents>, opened: bool) -> Self {
        Self { context: Arc::clone(context), events, points: Mutex::default(), opened }
    }

    /// What the event stands for, if that is not the command of this process that was appended last.
    fn of_others(&self) -> Option<Arc<Signal>> {
        let latest = self.events.latest_point();
        let own = self.points.lock().as_ref().map(|points| points.latest());
        // 0: it was appended here, and not submitted yet.
        let is_own = own.is_some_and(|own| own == latest || own == 0);
        (latest != 0 && !is_own).then(|| self.events.point(latest))
    }
}

/// Signals whose addresses an event keeps valid.
const KEPT_ADDRESSES: usize = 1 << 16;

/// The program's counter that an event began as.
struct OwnCounter(Arc<Counter>);

impl Drop for OwnCounter {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Event {
    /// `zeEventCreate`; `pool_handle` is what `zeEventGetEventPool` gives back.
    pub fn new(
        pool: Arc<EventPool>,
        pool_handle: ze_event_pool_handle_t,
        desc: &ze_event_desc_t,
    ) -> Result<Arc<Self>> {
        // ZE_RESULT_ERROR_INVALID_ARGUMENT: the index is not in the pool
        if desc.index >= pool.count {
            let reason = format!("event {} of a pool of {}", desc.index, pool.count);
            return Err(Error::InvalidArgument(reason));
        }
        let state = match &pool.shared {
            _ if pool.counter_based => EventState::counter_based(Signal::raised()),
            Some(shared) => EventState::flag(shared.signal(desc.index as usize, !pool.opened)),
            None => EventState::flag(Signal::flag()),
        };
        let pool = Some((pool, pool_handle as usize));
        Ok(Arc::new(Self { pool, signal_scope: desc.signal, wait_scope: desc.wait, ..Self::of(state) }))
    }

    fn of(state: EventState) -> Self {
        Self {
            state,
            pool: None,
            counter_flags: 0,
            counter: None,
            shared: None,
            signal_scope: 0,
            wait_scope: 0,
            mark: Mutex::default(),
            addressed: Mutex::default(),
        }
    }

    /// `zeEventCounterBasedCreate`.
    ///
    /// # Safety
    /// The descriptor's `pNext` is a valid chain, and counters in it are the program's as long as the event lives.
    pub unsafe fn new_counter_based(
        context: &Arc<Context>,
        desc: &ze_event_counter_based_desc_t,
    ) -> Result<Arc<Self>> {
        use {
            ze_event_counter_based_external_aggregate_storage_desc_t as Aggregate,
            ze_event_counter_based_external_sync_allocation_desc_t as External,
        };
        const TIMES: u32 =
            ZE_EVENT_COUNTER_BASED_FLAG_DEVICE_TIMESTAMP | ZE_EVENT_COUNTER_BASED_FLAG_HOST_TIMESTAMP;
        let (times, is_shared) = (desc.flags & TIMES, desc.flags & ZE_EVENT_COUNTER_BASED_FLAG_IPC != 0);
        if times == TIMES || is_shared && times != 0 {
            let reason = "an event has one kind of timestamps, and none where other processes have it too";
            return Err(Error::InvalidArgument(reason.into()));
        }
        // SAFETY: the caller's promise.
        let chain = unsafe { Inputs::of(desc) };
        let counter = match (chain.find::<External>(), chain.find::<Aggregate>()) {
            (Some(_), Some(_)) => {
                return Err(Error::InvalidArgument("an event has one counter of the program's".into()));
            }
            (Some(external), None) if external.deviceAddress.is_null() => {
                return Err(Error::InvalidArgument("an event's counter has no device address".into()));
            }
            (Some(external), None) => {
                Some(Counter::new(external.hostAddress, external.completionValue, None)?)
            }
            (None, Some(aggregate)) => {
                let increment = Some(aggregate.incrementValue);
                Some(Counter::new(aggregate.deviceAddress, aggregate.completionValue, increment)?)
            }
            (None, None) => None,
        };
        let shared = is_shared.then(|| SharedEvents::new(1, desc.flags)).transpose()?;
        let (counter, signal) = counter.unzip();
        let state = EventState::counter_based(signal.unwrap_or_else(Signal::raised));
        Ok(Arc::new(Self {
            counter_flags: desc.flags,
            counter: counter.map(OwnCounter),
            shared: shared.map(|events| SharedCounter::new(context, events, false)),
            signal_scope: desc.signal,
            wait_scope: desc.wait,
            ..Self::of(state)
        }))
    }

    /// `zeEventCounterBasedGetIpcHandle`.
    pub fn ipc_handle(&self) -> Result<ze_ipc_event_counter_based_handle_t> {
        let unshared = "the event was created without ZE_EVENT_COUNTER_BASED_FLAG_IPC";
        let shared = self.shared.as_ref().ok_or(Error::InvalidSynchronizationObject(unshared))?;
        let contents = shared.events.contents(shared_events::COUNTER, shared.context.driver().shared())?;
        let mut handle = ze_ipc_event_counter_based_handle_t::default();
        // SAFETY: an array of bytes.
        unsafe { contents.write(&mut handle) };
        Ok(handle)
    }

    /// `zeEventCounterBasedOpenIpcHandle`.
    pub fn open(context: &Arc<Context>, handle: &ze_ipc_event_counter_based_handle_t) -> Result<Arc<Self>> {
        // SAFETY: an array of bytes.
        let events = SharedEvents::open(&unsafe { Contents::read(handle) }, shared_events::COUNTER)?;
        Ok(Arc::new(Self {
            counter_flags: events.flags(),
            shared: Some(SharedCounter::new(context, events, true)),
            ..Self::of(EventState::counter_based(Signal::raised()))
        }))
    }

    /// Whether `zeEventCounterBasedCloseIpcHandle` is for this event.
    pub fn is_opened(&self) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.opened)
    }

    /// `zeEventCounterBasedGetDeviceAddress`: the address of a counter, and its value from which on the command is done that the
    /// event now stands for. It stays valid for as long as the event lives.
    pub fn device_address(&self) -> Result<(u64, u64)> {
        let signal = self.current();
        if !self.is_counter_based() {
            // As with Intel's driver, a regular event has an address unless it has timestamps.
            if self.has_timestamps() {
                return Err(Error::InvalidArgument("an event with timestamps has no address".into()));
            }
        } else if !signal.is_completion() {
            if let Some(counter) = &self.counter {
                return Ok(counter.0.place());
            }
            if self.shared.as_ref().is_none_or(|it| it.events.latest_point() == 0) {
                return Err(Error::InvalidArgument("no command was appended with the event".into()));
            }
        }
        let address = signal.address();
        let mut addressed = self.addressed.lock();
        if !addressed.iter().rev().take(8).any(|own| Arc::ptr_eq(own, &signal)) {
            if addressed.len() == KEPT_ADDRESSES {
                addressed.pop_front();
            }
            addressed.try_reserve(1).map_err(|_| out_of_memory("addresses of an event", KEPT_ADDRESSES))?;
            addressed.push_back(signal);
        }
        Ok(address)
    }

    fn has_timestamps(&self) -> bool {
        const TIMES: u32 = ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP | ZE_EVENT_POOL_FLAG_KERNEL_MAPPED_TIMESTAMP;
        self.pool.as_ref().is_some_and(|(pool, _)| pool.flags & TIMES != 0)
    }

    /// The pool's handle, `None` for an event that was created without a pool.
    pub fn pool_handle(&self) -> Option<ze_event_pool_handle_t> {
        self.pool.as_ref().map(|(_, handle)| *handle as ze_event_pool_handle_t)
    }

    pub fn signal_scope(&self) -> ze_event_scope_flags_t {
        self.signal_scope
    }

    pub fn wait_scope(&self) -> ze_event_scope_flags_t {
        self.wait_scope
    }

    /// `zeEventGetCounterBasedFlags`; 0 for an event of a pool.
    pub fn counter_flags(&self) -> ze_event_counter_based_flags_t {
        self.counter_flags
    }

    /// The captured command that signals it, perhaps of a capture that is over.
    pub(crate) fn mark(&self) -> Option<Mark> {
        self.mark.lock().clone()
    }

    pub(crate) fn set_mark(&self, mark: Mark) {
        *self.mark.lock() = Some(mark);
    }

    pub(crate) fn is_counter_based(&self) -> bool {
        self.state.is_counter_based()
    }

    /// Whether its signals are counted together, in the program's memory.
    pub(crate) fn is_aggregate(&self) -> bool {
        self.counter.as_ref().is_some_and(|counter| counter.0.is_aggregate())
    }

    /// Whether it is of use only inside of the graph that it is captured in.
    pub(crate) fn is_of_one_graph(&self) -> bool {
        self.is_counter_based()
            && !self.is_aggregate()
            && self.counter_flags & ZE_EVENT_COUNTER_BASED_FLAG_GRAPH_EXTERNAL == 0
    }

    /// Whether it is shared with other processes and connects graphs with what is outside of them.
    pub(crate) fn is_of_graphs_and_processes(&self) -> bool {
        const BOTH: u32 = ZE_EVENT_COUNTER_BASED_FLAG_GRAPH_EXTERNAL | ZE_EVENT_COUNTER_BASED_FLAG_IPC;
        self.counter_flags & BOTH == BOTH
    }

    /// What a command that is being appended signals. `producer` is the stream it will execute on, if known.
    pub(crate) fn signalled_by(&self, producer: Option<&Arc<Stream>>) -> Arc<Signal> {
        self.state.signalled_by(producer, |current| match &self.shared {
            // Signals of an aggregate are counted together: it stays what it is.
            _ if self.is_aggregate() => Arc::clone(current),
            None => Signal::completion(),
            Some(shared) => {
                let points = shared.events.points();
                *shared.points.lock() = Some(Arc::clone(&points));
                Signal::published(points)
            }
        })
    }

    /// What a command that is being appended waits for.
    pub(crate) fn current(&self) -> Arc<Signal> {
        let of_others = self.shared.as_ref().and_then(SharedCounter::of_others);
        of_others.unwrap_or_else(|| self.state.current())
    }

    /// A list is executed on a stream, of whose commands the one with this signal was appended with the event: that is
    /// again what the event stands for.
    pub(crate) fn executed(&self, signal: &Arc<Signal>, stream: &Arc<Stream>) {
        self.state.executed(signal, stream);
    }

    /// The flag that resets and host signals act on.
    pub(crate) fn flag(&self) -> Result<&Arc<Signal>> {
        self.state.as_flag()
    }

    /// The command of `zeCommandListAppendEventReset`.
    pub fn reset_command(&self) -> Result<Operation> {
        Ok(Operation::ResetEvent(Arc::clone(self.flag()?)))
    }

    /// `zeEventHostSignal`.
    pub fn host_signal(&self) -> Result<()> {
        self.flag().map(|signal| signal.raise())
    }

    /// `zeEventHostReset`.
    pub fn host_reset(&self) -> Result<()> {
        self.flag().map(|signal| signal.reset())
    }

    /// `zeEventHostSynchronize`; `timeout` in nanoseconds.
    pub fn wait(&self, timeout: u64) -> Result<()> {
        // ZE_RESULT_ERROR_GRAPH_CAPTURE_UNSUPPORTED: what is captured is not executed
        if graph::in_use() && self.mark().is_some_and(|mark| mark.is_open()) {
            return Err(Error::GraphUnsupported("a wait for an event that a captured command signals"));
        }
        self.state.wait(&self.current(), Deadline::after(timeout))
    }

    /// What the host looks at.
    fn observed(&self) -> Arc<Signal> {
        let signal = self.current();
        self.state.settle(&signal);
        signal
    }

    /// `zeEventQueryStatus`.
    pub fn status(&self) -> Result<()> {
        self.observed().query().map(drop)
    }

    /// In which time the program wants the event's timestamps.
    pub(crate) fn timescale(&self) -> Timescale {
        let pool_flags = self.pool.as_ref().map_or(0, |(pool, _)| pool.flags);
        if pool_flags & ZE_EVENT_POOL_FLAG_KERNEL_MAPPED_TIMESTAMP != 0
            || self.counter_flags & ZE_EVENT_COUNTER_BASED_FLAG_HOST_TIMESTAMP != 0
        {
            Timescale::Host
        } else {
            Timescale::Device
        }
    }

    /// `zeEventQueryKernelTimestamp`. A pool with mapped timestamps gives host time.
    pub fn kernel_timestamp(&self, device: &Device) -> Result<ze_kernel_timestamp_result_t> {
        let times = self.observed().query()?;
        Ok(kernel_timestamps(device, times, self.timescale()))
    }

    /// `zeEventQueryKernelTimestampsExt`: device and host time of the one command that signalled.
    pub fn kernel_timestamps_ext(
        &self,
        device: &Device,
    ) -> Result<(ze_kernel_timestamp_result_t, ze_synchronized_timestamp_result_ext_t)> {
        let times = self.observed().query()?;
        let data = ze_synchronized_timestamp_data_ext_t { kernelStart: times.start, kernelEnd: times.end };
        let host = ze_synchronized_timestamp_result_ext_t { global: data, context: data };
        Ok((kernel_timestamps(device, times, Timescale::Device), host))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Command;
    use crate::driver::Driver;
    use crate::signal::EngineId;
    use crate::stream::Work;
    use std::ptr::null_mut;

    fn pool(counter_based: bool) -> Arc<EventPool> {
        let flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
        let desc = ze_event_pool_desc_t { flags, count: 2, ..Default::default() };
        let context = Context::new(Driver::for_tests());
        EventPool::new(context, null_mut(), &desc, counter_based).expect("a valid descriptor")
    }

    fn event(pool: &Arc<EventPool>, index: u32) -> Result<Arc<Event>> {
        let desc = ze_event_desc_t { index, ..Default::default() };
        Event::new(Arc::clone(pool), null_mut(), &desc)
    }

    #[test]
    fn a_host_signalled_event_is_ready_until_reset() {
        let pool = pool(false);
        let event = event(&pool, 1).expect("in the pool");
        assert!(matches!(event.status(), Err(Error::NotReady)));
        assert!(matches!(event.wait(0), Err(Error::NotReady)));
        event.host_signal().expect("a normal event");
        assert!(event.status().is_ok() && event.wait(u64::MAX).is_ok());
        event.host_reset().expect("a normal event");
        assert!(event.status().is_err());
        assert_eq!(event.counter_flags(), 0);
    }

    #[test]
    fn timestamps_count_what_the_flags_ask_for() {
        let context = Context::new(Driver::for_tests());
        let of_pool = |flags| {
            let desc = ze_event_pool_desc_t { flags, count: 1, ..Default::default() };
            let pool = EventPool::new(Arc::clone(&context), null_mut(), &desc, false);
            event(&pool.expect("a valid descriptor"), 0).expect("in the pool").timescale()
        };
        let counter_based = |flags| {
            let stype = ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_DESC;
            let desc = ze_event_counter_based_desc_t { stype, flags, ..Default::default() };
            // SAFETY: there is no chain.
            unsafe { Event::new_counter_based(&context, &desc) }.expect("valid flags").timescale()
        };
        assert_eq!(of_pool(ZE_EVENT_POOL_FLAG_HOST_VISIBLE), Timescale::Device);
        assert_eq!(of_pool(ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP), Timescale::Device);
        assert_eq!(of_pool(ZE_EVENT_POOL_FLAG_KERNEL_MAPPED_TIMESTAMP), Timescale::Host);
        assert_eq!(counter_based(ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE), Timescale::Device);
        assert_eq!(counter_based(ZE_EVENT_COUNTER_BASED_FLAG_DEVICE_TIMESTAMP), Timescale::Device);
        assert_eq!(counter_based(ZE_EVENT_COUNTER_BASED_FLAG_HOST_TIMESTAMP), Timescale::Host);
    }

    #[test]
    fn an_index_outside_of_the_pool_is_refused() {
        assert!(matches!(event(&pool(false), 2), Err(Error::InvalidArgument(_))));
    }

    #[test]
    fn a_counter_based_event_stands_for_the_latest_append() {
        let pool = pool(true);
        let event = event(&pool, 0).expect("in the pool");
        assert!(event.status().is_ok(), "nothing was appended yet");
        assert!(matches!(event.host_reset(), Err(Error::InvalidSynchronizationObject(_))));
        assert!(matches!(event.host_signal(), Err(Error::InvalidSynchronizationObject(_))));
        assert!(matches!(event.reset_command(), Err(Error::InvalidSynchronizationObject(_))));
        let stream = Stream::new(EngineId::new(), &Arc::default());
        let blocker = Signal::flag();
        let signal = event.signalled_by(Some(&stream));
        let waits = [Arc::clone(&blocker)].into_iter().collect();
        stream.submit(Work::One(Command::new(Operation::Barrier, waits, Some(signal))));
        assert!(matches!(event.status(), Err(Error::NotReady)));
        blocker.raise();
        assert!(event.wait(u64::MAX).is_ok());
        let _second = event.signalled_by(Some(&stream));
        assert!(matches!(event.status(), Err(Error::NotReady)), "the next append makes it wait again");
    }
}
