//! Command lists: regular ones record ([`recording`]), immediate ones submit.

mod recording;

use self::recording::Recording;
use crate::callback::Callbacks;
use crate::command::{Command, Waits};
use crate::context::Context;
use crate::device::{Device, QueueGroup};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::fallible::{self, check_memory};
use crate::fork::{Mutex, MutexGuard};
use crate::graph::{self, Capture};
use crate::handle::object;
use crate::kernel::Kernel;
use crate::mutable::Change;
use crate::operation::{Operation, TimestampQuery};
use crate::queue::QueueDesc;
use crate::stream::{Lists, Stream, Work};
use crate::watched_memory::{self, Condition};
use smallvec::SmallVec;
use std::ffi::c_void;
use std::sync::Arc;
use ze_engine::exec::fault;
use ze_engine::{Launch, Setup};
use ze_headers::*;

/// The flags of an immediate list, which is created with a queue's.
fn list_flags(queue_flags: ze_command_queue_flags_t) -> ze_command_list_flags_t {
    const SAME: [(u32, u32); 3] = [
        (ZE_COMMAND_QUEUE_FLAG_EXPLICIT_ONLY, ZE_COMMAND_LIST_FLAG_EXPLICIT_ONLY),
        (ZE_COMMAND_QUEUE_FLAG_IN_ORDER, ZE_COMMAND_LIST_FLAG_IN_ORDER),
        (ZE_COMMAND_QUEUE_FLAG_COPY_OFFLOAD_HINT, ZE_COMMAND_LIST_FLAG_COPY_OFFLOAD_HINT),
    ];
    SAME.iter().filter(|(queue, _)| queue_flags & queue != 0).map(|(_, list)| list).sum()
}

enum ListMode {
    Regular(Mutex<Recording>),
    Immediate {
        desc: QueueDesc,
        stream: Arc<Stream>,
        /// Its part in the capture of a graph.
        capture: Mutex<Option<Capture>>,
    },
}

/// A command list.
pub struct CommandList {
    /// The handles that the program created it with.
    context_handle: usize,
    device_handle: usize,
    device: Arc<Device>,
    context: Arc<Context>,
    ordinal: u32,
    group: QueueGroup,
    flags: ze_command_list_flags_t,
    is_mutable: bool,
    /// Called when what it has recorded is dropped.
    callbacks: Callbacks,
    mode: ListMode,
}

object!(CommandList, CommandList, ze_command_list_handle_t);

const NOT_MUTABLE: Error = Error::UnsupportedFeature("a mutable command that is no launch");

/// Events around a command that is being appended.
#[derive(Default)]
pub struct Events {
    pub signal: Option<Arc<Event>>,
    pub waits: SmallVec<[Arc<Event>; 2]>,
}

/// A context or device with the handle by which the program knows it.
pub type Named<'a, T, H> = (&'a Arc<T>, H);

impl CommandList {
    /// `zeCommandListCreate`.
    pub fn regular(
        (context, context_handle): Named<'_, Context, ze_context_handle_t>,
        (device, device_handle): Named<'_, Device, ze_device_handle_t>,
        desc: &ze_command_list_desc_t,
        is_mutable: bool,
    ) -> Result<Arc<Self>> {
        let group = device.queue_group(desc.commandQueueGroupOrdinal)?;
        fault::look();
        Ok(Arc::new(Self {
            context_handle: context_handle as usize,
            device_handle: device_handle as usize,
            device: Arc::clone(device),
            context: Arc::clone(context),
            ordinal: desc.commandQueueGroupOrdinal,
            group,
            flags: desc.flags,
            is_mutable,
            callbacks: Callbacks::default(),
            mode: ListMode::Regular(Mutex::default()),
        }))
    }

    /// `zeCommandListCreateImmediate`.
    pub fn immediate(
        (context, context_handle): Named<'_, Context, ze_context_handle_t>,
        (device, device_handle): Named<'_, Device, ze_device_handle_t>,
        desc: &ze_command_queue_desc_t,
    ) -> Result<Arc<Self>> {
        let desc = QueueDesc::new(device, desc)?;
        fault::look();
        Ok(Arc::new(Self {
            context_handle: context_handle as usize,
            device_handle: device_handle as usize,
            device: Arc::clone(device),
            context: Arc::clone(context),
            ordinal: desc.ordinal,
            group: desc.group,
            flags: list_flags(desc.flags),
            is_mutable: false,
            callbacks: Callbacks::default(),
            mode: ListMode::Immediate { desc, stream: desc.new_stream(device), capture: Mutex::default() },
        }))
    }

    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    pub fn device_handle(&self) -> ze_device_handle_t {
        self.device_handle as ze_device_handle_t
    }

    pub fn context_handle(&self) -> ze_context_handle_t {
        self.context_handle as ze_context_handle_t
    }

    pub fn ordinal(&self) -> u32 {
        self.ordinal
    }

    pub fn flags(&self) -> ze_command_list_flags_t {
        self.flags
    }

    pub fn is_immediate(&self) -> bool {
        matches!(self.mode, ListMode::Immediate { .. })
    }

    /// What an immediate list was created from.
    pub fn queue_desc(&self) -> Result<&QueueDesc> {
        Ok(self.queue()?.0)
    }

    pub(crate) fn queue(&self) -> Result<(&QueueDesc, &Arc<Stream>)> {
        match &self.mode {
            ListMode::Immediate { desc, stream, .. } => Ok((desc, stream)),
            // ZE_RESULT_ERROR_INVALID_ARGUMENT: handle does not correspond to an immediate command list
            ListMode::Regular(_) => {
                Err(Error::InvalidArgument("the command list is not an immediate one".into()))
            }
        }
    }

    /// Its part in the capture of a graph, for a list that can be captured.
    pub(crate) fn capture(&self) -> Option<&Mutex<Option<Capture>>> {
        match &self.mode {
            ListMode::Immediate { desc, capture, .. } if !desc.is_synchronous() => Some(capture),
            _ => None,
        }
    }

    /// Tells lists apart while they live.
    pub(crate) fn address(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    pub(crate) fn group(&self) -> QueueGroup {
        self.group
    }

    /// Whether a queue of this device and group executes the list. Devices and their parts execute each other's lists.
    pub(crate) fn check_queue(&self, device: &Device, queue: QueueGroup) -> Result<()> {
        if !self.device.is_of_the_same_root(device) {
            return Err(Error::InvalidArgument(
                "the command list is of another device than what executes it".into(),
            ));
        }
        self.check_group(queue)
    }

    /// Whether a queue of this group executes the list.
    pub(crate) fn check_group(&self, queue: QueueGroup) -> Result<()> {
        // ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE: a copy queue and a compute list, or the other way round
        if self.group == queue {
            return Ok(());
        }
        Err(Error::InvalidCommandListType("the command list and the queue are of different queue groups"))
    }

    /// Checks that the list's device has the code of a kernel: that of the module's device, which its parts share.
    pub fn check_kernel(&self, kernel: &Kernel) -> Result<()> {
        if kernel.module().device().is_of_the_same_root(&self.device) {
            return Ok(());
        }
        Err(Error::InvalidArgument("the kernel's module is of another device than the command list".into()))
    }

    /// Appends a launch that a kernel has captured, with what a mutable list needs to change it.
    pub fn append_launch(
        &self,
        kernel: &Kernel,
        launch: Box<Launch>,
        group_count: [u32; 3],
        events: &Events,
    ) -> Result<()> {
        self.check_kernel(kernel)?;
        let dispatch = || Ok((kernel.setup()?, group_count));
        self.append_with(Operation::Launch(launch), events, dispatch)
    }

    /// Appends a command. On a synchronous immediate list it is done when this returns.
    pub fn append(&self, operation: Operation, events: &Events) -> Result<()> {
        self.append_with(operation, events, || Err(NOT_MUTABLE))
    }

    fn append_with(
        &self,
        operation: Operation,
        events: &Events,
        dispatch: impl FnOnce() -> Result<(Setup, [u32; 3])>,
    ) -> Result<()> {
        check_memory()?;
        // ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE: a kernel on a list of the copy queues
        if self.group == QueueGroup::Copy && operation.is_launch() {
            return Err(Error::InvalidCommandListType(
                "kernels are not for a command list of the copy queues",
            ));
        }
        let operation = if graph::in_use() {
            let Some(operation) = graph::record(self, operation, events)? else { return Ok(()) };
            operation
        } else {
            operation
        };
        let waits = match events.waits.as_slice() {
            [] => Waits::new(),
            waits => waits.iter().map(|event| event.current()).collect(),
        };
        match &self.mode {
            ListMode::Regular(recording) => recording.lock().append(operation, waits, events, dispatch),
            ListMode::Immediate { stream, .. } => {
                let signal = events.signal.as_ref().map(|event| event.signalled_by(Some(stream)));
                self.submit(Work::One(Command::new(operation, waits, signal)))
            }
        }
    }

    /// `zexCommandListAppendWaitOnMemory`: what comes behind it waits for a value of the program's memory.
    pub fn append_wait(&self, place: *const c_void, condition: Condition, events: &Events) -> Result<()> {
        check_memory()?;
        graph::check_outside(self, events, "a wait for memory")?;
        let waits = [watched_memory::wait(place as usize, condition)?].into_iter().collect();
        match &self.mode {
            ListMode::Regular(recording) => {
                recording.lock().append(Operation::Barrier, waits, events, || Err(NOT_MUTABLE))
            }
            ListMode::Immediate { stream, .. } => {
                let signal = events.signal.as_ref().map(|event| event.signalled_by(Some(stream)));
                self.submit(Work::One(Command::new(Operation::Barrier, waits, signal)))
            }
        }
    }

    /// `zeCommandListImmediateAppendCommandListsExp`.
    pub fn append_lists(&self, lists: &[&CommandList], events: &Events) -> Result<()> {
        let (_, stream) = self.queue()?;
        graph::check_outside(self, events, "command lists inside of a graph")?;
        lists.iter().try_for_each(|list| list.check_queue(&self.device, self.group))?;
        let mut closed = Lists::new();
        for list in lists {
            closed.extend(list.closed()?);
        }
        if !events.waits.is_empty() {
            let waits = events.waits.iter().map(|event| event.current()).collect();
            closed.insert(0, Arc::new([Command::new(Operation::Barrier, waits, None)].into()));
        }
        for list in lists {
            list.executed_on(stream);
        }
        let signal = events.signal.as_ref().map(|event| event.signalled_by(Some(stream)));
        self.submit(Work::Lists { lists: closed, signal })
    }

    /// Hands work to an immediate list's stream, and waits for it where the program asks for that.
    pub(crate) fn submit(&self, work: Work) -> Result<()> {
        let (desc, stream) = self.queue()?;
        if desc.is_synchronous() {
            return stream.submit_and_wait(work);
        }
        stream.submit(work);
        Ok(())
    }

    /// The command of `zeCommandListAppendQueryKernelTimestamps`; `dst` is an address, `offsets` are bytes from it.
    pub fn query_timestamps(
        &self,
        events: &[Arc<Event>],
        dst: usize,
        offsets: Option<&[usize]>,
    ) -> Result<Operation> {
        let sequential = |index| index * size_of::<ze_kernel_timestamp_result_t>();
        let query = |(index, event): (usize, &Arc<Event>)| {
            let offset = offsets.map_or_else(|| sequential(index), |offsets| offsets[index]);
            let dst = dst.checked_add(offset);
            let dst =
                dst.ok_or_else(|| Error::InvalidArgument(format!("offset {offset:#x} is no address")))?;
            Ok(TimestampQuery {
                event: Arc::clone(event),
                signal: event.current(),
                timescale: event.timescale(),
                dst,
            })
        };
        let queries = fallible::collect("timestamps", events.iter().enumerate().map(query))?;
        Ok(Operation::QueryKernelTimestamps { device: Arc::clone(&self.device), queries })
    }

    /// Whether it was created as a mutable list.
    pub fn is_mutable(&self) -> bool {
        self.is_mutable
    }

    fn mutable(&self) -> Result<MutexGuard<'_, Recording>> {
        if !self.is_mutable {
            return Err(Error::InvalidArgument("the command list was not created as a mutable one".into()));
        }
        Ok(self.recording()?.lock())
    }

    /// `zeCommandListGetNextCommandIdWithKernelsExp`, and without kernels the one that came before it.
    pub fn next_command_id(
        &self,
        flags: ze_mutable_command_exp_flags_t,
        kernels: Vec<Arc<Kernel>>,
    ) -> Result<u64> {
        self.mutable()?.announce(flags, kernels)
    }

    /// Changes mutable commands: all of them, or none and an error.
    pub fn update(&self, changes: Vec<(u64, Change<'_>)>) -> Result<()> {
        self.mutable()?.update(changes)
    }

    fn recording(&self) -> Result<&Mutex<Recording>> {
        match &self.mode {
            ListMode::Regular(recording) => Ok(recording),
            ListMode::Immediate { .. } => {
                Err(Error::InvalidCommandListType("an immediate command list is not recorded"))
            }
        }
    }

    /// `zeCommandListClose`. An immediate list has nothing recorded that could be closed.
    pub fn close(&self) -> Result<()> {
        if let ListMode::Regular(recording) = &self.mode {
            recording.lock().close();
        }
        Ok(())
    }

    /// `zeCommandListReset`. An immediate list is always ready to be appended to.
    pub fn reset(&self) -> Result<()> {
        if let ListMode::Regular(recording) = &self.mode {
            *recording.lock() = Recording::default();
        }
        self.call_back();
        Ok(())
    }

    /// `zexCommandListSetCleanupCallback`: a function that is called once, when the list is reset or destroyed.
    pub fn call_at_cleanup(
        &self,
        function: unsafe extern "C" fn(*mut c_void),
        data: *mut c_void,
    ) -> Result<()> {
        self.callbacks.add("callbacks of a command list", function, data)
    }

    /// Tells the program that the list's commands are gone.
    pub fn call_back(&self) {
        self.callbacks.call();
    }

    /// `zeCommandListCreateCloneExp`: a closed list of the same commands.
    pub fn duplicate(&self) -> Result<Arc<Self>> {
        let recording = self.recording()?.lock().duplicate()?;
        Ok(Arc::new(Self {
            context_handle: self.context_handle,
            device_handle: self.device_handle,
            device: Arc::clone(&self.device),
            context: Arc::clone(&self.context),
            ordinal: self.ordinal,
            group: self.group,
            flags: self.flags,
            is_mutable: false,
            callbacks: Callbacks::default(),
            mode: ListMode::Regular(Mutex::new(recording)),
        }))
    }

    /// The commands of a closed regular list.
    pub(crate) fn closed(&self) -> Result<Lists> {
        self.recording()?.lock().closed()
    }

    /// Tells the events of a regular list which stream will signal them.
    pub(crate) fn executed_on(&self, stream: &Arc<Stream>) {
        if let ListMode::Regular(recording) = &self.mode {
            recording.lock().executed_on(stream);
        }
    }

    /// `zeCommandListHostSynchronize`; `timeout` in nanoseconds.
    pub fn synchronize(&self, timeout: u64) -> Result<()> {
        // ZE_RESULT_ERROR_GRAPH_CAPTURE_UNSUPPORTED: what is captured is not executed
        if self.is_captured() {
            return Err(Error::GraphUnsupported("a wait for a command list that is captured"));
        }
        self.queue()?.1.synchronize(timeout)
    }
}

#[cfg(test)]
mod tests;
