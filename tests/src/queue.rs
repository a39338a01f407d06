//! Command queues, command lists, events and fences.

use std::ffi::c_void;
use std::ptr;

use ze_headers::*;

use crate::platform::{Platform, Result, platform};
use crate::program::Kernel;

/// How an immediate list or a queue behaves.
#[derive(Clone, Copy)]
pub struct ListOptions {
    pub mode: ze_command_queue_mode_t,
    pub in_order: bool,
}

impl ListOptions {
    /// Every append returns when the work is done.
    pub fn synchronous() -> ListOptions {
        ListOptions { mode: ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS, in_order: false }
    }

    /// Appends return at once; commands may overlap unless events or barriers order them.
    pub fn asynchronous() -> ListOptions {
        ListOptions { mode: ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS, in_order: false }
    }

    /// Appends return at once; commands run one after the other.
    pub fn in_order() -> ListOptions {
        ListOptions { mode: ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS, in_order: true }
    }

    fn queue_desc(self) -> ze_command_queue_desc_t {
        ze_command_queue_desc_t {
            stype: ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
            flags: if self.in_order { ZE_COMMAND_QUEUE_FLAG_IN_ORDER as _ } else { 0 },
            mode: self.mode,
            ..Default::default()
        }
    }
}

pub struct Queue {
    pub handle: ze_command_queue_handle_t,
}

impl Queue {
    pub fn new(options: ListOptions) -> Result<Queue> {
        let platform = platform();
        // The in-order flag of a queue's descriptor is for immediate lists only.
        let desc = ListOptions { in_order: false, ..options }.queue_desc();
        let mut handle = ptr::null_mut();
        // SAFETY: live handles.
        let code = unsafe {
            platform.api.zeCommandQueueCreate(platform.context, platform.device, &desc, &mut handle)
        };
        platform.check("zeCommandQueueCreate", code).map(|()| Queue { handle })
    }

    pub fn execute(&self, lists: &[&CommandList], fence: Option<&Fence>) -> Result<()> {
        let mut handles: Vec<_> = lists.iter().map(|list| list.handle).collect();
        let fence = fence.map_or(ptr::null_mut(), |fence| fence.handle);
        // SAFETY: live, closed lists.
        let code = unsafe {
            platform().api.zeCommandQueueExecuteCommandLists(
                self.handle,
                handles.len() as u32,
                handles.as_mut_ptr(),
                fence,
            )
        };
        platform().check("zeCommandQueueExecuteCommandLists", code)
    }

    /// Waits for at most this many nanoseconds.
    pub fn synchronize(&self, timeout: u64) -> Result<()> {
        // SAFETY: a live queue.
        let code = unsafe { platform().api.zeCommandQueueSynchronize(self.handle, timeout) };
        platform().check("zeCommandQueueSynchronize", code)
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: tests synchronise before they drop.
        unsafe { platform().api.zeCommandQueueDestroy(self.handle) };
    }
}

pub struct CommandList {
    pub handle: ze_command_list_handle_t,
}

/// The handles of a wait list, as the API takes them.
fn handles(events: &[&Event]) -> Vec<ze_event_handle_t> {
    events.iter().map(|event| event.handle).collect()
}

fn signal(event: Option<&Event>) -> ze_event_handle_t {
    event.map_or(ptr::null_mut(), |event| event.handle)
}

impl CommandList {
    /// A list that is recorded, closed and executed by a queue.
    pub fn regular(in_order: bool) -> Result<CommandList> {
        let platform = platform();
        let desc = ze_command_list_desc_t {
            stype: ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC,
            flags: if in_order { ZE_COMMAND_LIST_FLAG_IN_ORDER as _ } else { 0 },
            ..Default::default()
        };
        let mut handle = ptr::null_mut();
        // SAFETY: live handles.
        let code = unsafe {
            platform.api.zeCommandListCreate(platform.context, platform.device, &desc, &mut handle)
        };
        platform.check("zeCommandListCreate", code).map(|()| CommandList { handle })
    }

    /// A list that executes what is appended.
    pub fn immediate(options: ListOptions) -> Result<CommandList> {
        CommandList::immediate_on(platform(), options)
    }

    pub fn immediate_on(platform: &Platform, options: ListOptions) -> Result<CommandList> {
        let desc = options.queue_desc();
        let mut handle = ptr::null_mut();
        // SAFETY: live handles.
        let code = unsafe {
            platform.api.zeCommandListCreateImmediate(platform.context, platform.device, &desc, &mut handle)
        };
        platform.check("zeCommandListCreateImmediate", code).map(|()| CommandList { handle })
    }

    /// An asynchronous list of the copy queues.
    pub fn copies() -> CommandList {
        let platform = platform();
        let desc = ze_command_queue_desc_t { ordinal: 1, ..ListOptions::in_order().queue_desc() };
        let mut handle = ptr::null_mut();
        // SAFETY: live handles.
        let code = unsafe {
            platform.api.zeCommandListCreateImmediate(platform.context, platform.device, &desc, &mut handle)
        };
        platform.check("zeCommandListCreateImmediate", code).unwrap_or_else(|error| panic!("{error:?}"));
        CommandList { handle }
    }

    pub fn close(&self) -> Result<()> {
        // SAFETY: a live list.
        let code = unsafe { platform().api.zeCommandListClose(self.handle) };
        platform().check("zeCommandListClose", code)
    }

    pub fn reset(&self) -> Result<()> {
        // SAFETY: a live list that is not executing.
        let code = unsafe { platform().api.zeCommandListReset(self.handle) };
        platform().check("zeCommandListReset", code)
    }

    /// Waits for an immediate list for at most this many nanoseconds.
    pub fn synchronize(&self, timeout: u64) -> Result<()> {
        // SAFETY: a live immediate list.
        let code = unsafe { platform().api.zeCommandListHostSynchronize(self.handle, timeout) };
        platform().check("zeCommandListHostSynchronize", code)
    }

    pub fn launch(
        &self,
        kernel: &Kernel,
        groups: [u32; 3],
        done: Option<&Event>,
        wait: &[&Event],
    ) -> Result<()> {
        let count =
            ze_group_count_t { groupCountX: groups[0], groupCountY: groups[1], groupCountZ: groups[2] };
        let mut wait = handles(wait);
        // SAFETY: live handles; the kernel's arguments were set by the caller.
        let code = unsafe {
            platform().api.zeCommandListAppendLaunchKernel(
                self.handle,
                kernel.handle,
                &count,
                signal(done),
                wait.len() as u32,
                wait.as_mut_ptr(),
            )
        };
        platform().check("zeCommandListAppendLaunchKernel", code)
    }

    pub fn barrier(&self, done: Option<&Event>, wait: &[&Event]) -> Result<()> {
        let mut wait = handles(wait);
        // SAFETY: live handles.
        let code = unsafe {
            platform().api.zeCommandListAppendBarrier(
                self.handle,
                signal(done),
                wait.len() as u32,
                wait.as_mut_ptr(),
            )
        };
        platform().check("zeCommandListAppendBarrier", code)
    }

    /// # Safety
    /// `to` and `from` are valid for `bytes` until the command has run.
    pub unsafe fn copy(
        &self,
        to: *mut c_void,
        from: *const c_void,
        bytes: usize,
        done: Option<&Event>,
        wait: &[&Event],
    ) -> Result<()> {
        let mut wait = handles(wait);
        // SAFETY: the caller's.
        let code = unsafe {
            platform().api.zeCommandListAppendMemoryCopy(
                self.handle,
                to,
                from,
                bytes,
                signal(done),
                wait.len() as u32,
                wait.as_mut_ptr(),
            )
        };
        platform().check("zeCommandListAppendMemoryCopy", code)
    }

    /// # Safety
    /// `to` is valid for `bytes` until the command has run.
    pub unsafe fn fill(
        &self,
        to: *mut c_void,
        pattern: &[u8],
        bytes: usize,
        done: Option<&Event>,
        wait: &[&Event],
    ) -> Result<()> {
        let mut wait = handles(wait);
        // SAFETY: the caller's.
        let code = unsafe {
            platform().api.zeCommandListAppendMemoryFill(
                self.handle,
                to,
                pattern.as_ptr().cast(),
                pattern.len(),
                bytes,
                signal(done),
                wait.len() as u32,
                wait.as_mut_ptr(),
            )
        };
        platform().check("zeCommandListAppendMemoryFill", code)
    }

    /// # Safety
    /// The function may be called with `data` until the list is destroyed.
    pub unsafe fn host_function(
        &self,
        function: unsafe extern "C" fn(*mut c_void),
        data: *mut c_void,
        done: Option<&Event>,
        wait: &[&Event],
    ) -> Result<()> {
        let mut wait = handles(wait);
        // SAFETY: the caller's.
        let code = unsafe {
            platform().api.zeCommandListAppendHostFunction(
                self.handle,
                Some(function),
                data,
                ptr::null(),
                signal(done),
                wait.len() as u32,
                wait.as_mut_ptr(),
            )
        };
        platform().check("zeCommandListAppendHostFunction", code)
    }

    pub fn signal_event(&self, event: &Event) -> Result<()> {
        // SAFETY: live handles.
        let code = unsafe { platform().api.zeCommandListAppendSignalEvent(self.handle, event.handle) };
        platform().check("zeCommandListAppendSignalEvent", code)
    }

    pub fn reset_event(&self, event: &Event) -> Result<()> {
        // SAFETY: live handles.
        let code = unsafe { platform().api.zeCommandListAppendEventReset(self.handle, event.handle) };
        platform().check("zeCommandListAppendEventReset", code)
    }

    pub fn wait_on_events(&self, events: &[&Event]) -> Result<()> {
        let mut events = handles(events);
        // SAFETY: live handles.
        let code = unsafe {
            platform().api.zeCommandListAppendWaitOnEvents(
                self.handle,
                events.len() as u32,
                events.as_mut_ptr(),
            )
        };
        platform().check("zeCommandListAppendWaitOnEvents", code)
    }

    /// # Safety
    /// `to` is valid until the command has run.
    pub unsafe fn write_timestamp(&self, to: *mut u64, done: Option<&Event>) -> Result<()> {
        // SAFETY: the caller's.
        let code = unsafe {
            platform().api.zeCommandListAppendWriteGlobalTimestamp(
                self.handle,
                to,
                signal(done),
                0,
                ptr::null_mut(),
            )
        };
        platform().check("zeCommandListAppendWriteGlobalTimestamp", code)
    }
}

impl Drop for CommandList {
    fn drop(&mut self) {
        // SAFETY: tests synchronise before they drop.
        unsafe { platform().api.zeCommandListDestroy(self.handle) };
    }
}

pub struct EventPool {
    pub handle: ze_event_pool_handle_t,
}

impl EventPool {
    pub fn new(count: u32, flags: ze_event_pool_flags_t) -> Result<EventPool> {
        let platform = platform();
        let desc = ze_event_pool_desc_t {
            stype: ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
            flags,
            count,
            ..Default::default()
        };
        let mut handle = ptr::null_mut();
        // SAFETY: live handles; no device list means all devices.
        let code = unsafe {
            platform.api.zeEventPoolCreate(platform.context, &desc, 0, ptr::null_mut(), &mut handle)
        };
        platform.check("zeEventPoolCreate", code).map(|()| EventPool { handle })
    }

    /// Events that the host can see.
    pub fn host_visible(count: u32) -> EventPool {
        EventPool::new(count, ZE_EVENT_POOL_FLAG_HOST_VISIBLE as _)
            .unwrap_or_else(|error| panic!("{error:?}"))
    }

    /// Events that the host can see and that keep kernel timestamps.
    pub fn timestamps(count: u32) -> EventPool {
        let flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP;
        EventPool::new(count, flags as _).unwrap_or_else(|error| panic!("{error:?}"))
    }

    pub fn try_event(&self, index: u32) -> Result<Event> {
        let desc = ze_event_desc_t {
            stype: ZE_STRUCTURE_TYPE_EVENT_DESC,
            index,
            signal: ZE_EVENT_SCOPE_FLAG_HOST as _,
            wait: ZE_EVENT_SCOPE_FLAG_HOST as _,
            ..Default::default()
        };
        let mut handle = ptr::null_mut();
        // SAFETY: a live pool.
        let code = unsafe { platform().api.zeEventCreate(self.handle, &desc, &mut handle) };
        platform().check("zeEventCreate", code).map(|()| Event { handle })
    }

    pub fn event(&self, index: u32) -> Event {
        self.try_event(index).unwrap_or_else(|error| panic!("{error:?}"))
    }
}

impl Drop for EventPool {
    fn drop(&mut self) {
        // SAFETY: its events are gone before it, by the order in which tests declare them.
        unsafe { platform().api.zeEventPoolDestroy(self.handle) };
    }
}

pub struct Event {
    pub handle: ze_event_handle_t,
}

// SAFETY: the API allows every thread to signal and query an event.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// A counter-based event without a pool, for both kinds of lists and the host.
    pub fn counter_based(flags: ze_event_counter_based_flags_t) -> Event {
        let both = ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE | ZE_EVENT_COUNTER_BASED_FLAG_NON_IMMEDIATE;
        let desc = ze_event_counter_based_desc_t {
            stype: ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_DESC,
            flags: flags | both | ZE_EVENT_COUNTER_BASED_FLAG_HOST_VISIBLE,
            ..Default::default()
        };
        Event::of_counter(&desc).unwrap_or_else(|error| panic!("{error:?}"))
    }

    pub fn of_counter(desc: &ze_event_counter_based_desc_t) -> Result<Event> {
        let (platform, mut handle) = (platform(), ptr::null_mut());
        // SAFETY: live handles, and a descriptor with a valid chain.
        let code = unsafe {
            platform.api.zeEventCounterBasedCreate(platform.context, platform.device, desc, &mut handle)
        };
        platform.check("zeEventCounterBasedCreate", code).map(|()| Event { handle })
    }

    /// Waits for at most this many nanoseconds; `ZE_RESULT_NOT_READY` is an error whose code says so.
    pub fn wait(&self, timeout: u64) -> Result<()> {
        // SAFETY: a live event.
        let code = unsafe { platform().api.zeEventHostSynchronize(self.handle, timeout) };
        platform().check("zeEventHostSynchronize", code)
    }

    pub fn is_signalled(&self) -> bool {
        // SAFETY: a live event.
        unsafe { platform().api.zeEventQueryStatus(self.handle) == ZE_RESULT_SUCCESS }
    }

    pub fn signal(&self) -> Result<()> {
        // SAFETY: a live event.
        let code = unsafe { platform().api.zeEventHostSignal(self.handle) };
        platform().check("zeEventHostSignal", code)
    }

    pub fn reset(&self) -> Result<()> {
        // SAFETY: a live event.
        let code = unsafe { platform().api.zeEventHostReset(self.handle) };
        platform().check("zeEventHostReset", code)
    }

    pub fn kernel_timestamp(&self) -> Result<ze_kernel_timestamp_result_t> {
        let mut result = ze_kernel_timestamp_result_t::default();
        // SAFETY: a live event.
        let code = unsafe { platform().api.zeEventQueryKernelTimestamp(self.handle, &mut result) };
        platform().check("zeEventQueryKernelTimestamp", code).map(|()| result)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: tests synchronise before they drop.
        unsafe { platform().api.zeEventDestroy(self.handle) };
    }
}

pub struct Fence {
    pub handle: ze_fence_handle_t,
}

impl Fence {
    pub fn new(queue: &Queue, signalled: bool) -> Result<Fence> {
        let desc = ze_fence_desc_t {
            stype: ZE_STRUCTURE_TYPE_FENCE_DESC,
            flags: if signalled { ZE_FENCE_FLAG_SIGNALED as _ } else { 0 },
            ..Default::default()
        };
        let mut handle = ptr::null_mut();
        // SAFETY: a live queue.
        let code = unsafe { platform().api.zeFenceCreate(queue.handle, &desc, &mut handle) };
        platform().check("zeFenceCreate", code).map(|()| Fence { handle })
    }

    pub fn wait(&self, timeout: u64) -> Result<()> {
        // SAFETY: a live fence.
        let code = unsafe { platform().api.zeFenceHostSynchronize(self.handle, timeout) };
        platform().check("zeFenceHostSynchronize", code)
    }

    pub fn is_signalled(&self) -> bool {
        // SAFETY: a live fence.
        unsafe { platform().api.zeFenceQueryStatus(self.handle) == ZE_RESULT_SUCCESS }
    }

    pub fn reset(&self) -> Result<()> {
        // SAFETY: a live fence.
        let code = unsafe { platform().api.zeFenceReset(self.handle) };
        platform().check("zeFenceReset", code)
    }
}

impl Drop for Fence {
    fn drop(&mut self) {
        // SAFETY: tests synchronise before they drop.
        unsafe { platform().api.zeFenceDestroy(self.handle) };
    }
}
