//! Command lists: regular ones record, immediate ones submit.

use crate::command::{Command, Waits};
use crate::context::Context;
use crate::device::{Device, QueueGroup};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::fallible::{self, check_memory, out_of_memory};
use crate::fork::{Mutex, MutexGuard};
use crate::graph::{self, Capture};
use crate::handle::object;
use crate::kernel::Kernel;
use crate::mutable::{Change, Mutable, MutableCommand, Signalled};
use crate::operation::{Operation, TimestampQuery};
use crate::queue::QueueDesc;
use crate::stream::{Lists, Stream, Work};
use smallvec::SmallVec;
use std::sync::Arc;
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

/// Commands that a regular list keeps together: what is recorded neither moves nor is a piece of memory so large that it
/// goes back to the system with each reset.
const COMMANDS_TOGETHER: usize = 64;
/// The first of them: most lists are short.
const FIRST_COMMANDS: usize = 8;

/// What a regular list has recorded.
#[derive(Default)]
struct Recording {
    /// The latest commands.
    commands: Vec<Command>,
    /// Those before.
    full: Lists,
    /// The events that its commands signal, each with what it stands for once the list is executed.
    signalled: Vec<Signalled>,
    /// What can be changed later, of a mutable list.
    mutable: Mutable,
    closed: Option<Lists>,
}

impl Recording {
    /// Makes room for one more command, and for its signal. False: there is no memory for that.
    fn reserve(&mut self) -> bool {
        if self.commands.len() == self.commands.capacity() {
            let first = self.full.is_empty() && self.commands.is_empty();
            let mut next = Vec::new();
            let more = next.try_reserve_exact(if first { FIRST_COMMANDS } else { COMMANDS_TOGETHER });
            if more.is_err() || self.full.try_reserve(1).is_err() {
                return false;
            }
            self.finish_commands();
            self.commands = next;
        }
        self.signalled.try_reserve(1).is_ok()
    }

    /// Makes room for a piece of its own, behind one of what was recorded before it.
    fn reserve_piece(&mut self) -> bool {
        self.full.try_reserve(2).is_ok()
    }

    /// Adds a command as a piece of its own, which another one can take the place of.
    fn push_mutable(&mut self, command: Command, mutable: impl FnOnce(usize) -> (u64, MutableCommand)) {
        self.finish_commands();
        self.mutable.add(mutable(self.full.len()));
        self.full.push(Arc::new([command].into()));
    }

    /// Puts a changed command in the place of an old one. Executions that are under way keep the old one.
    fn replace(&mut self, piece: usize, command: Command) {
        let pieces = self.closed.as_mut().unwrap_or(&mut self.full);
        if let Some(old) = pieces.get_mut(piece) {
            *old = Arc::new([command].into());
        }
    }

    fn finish_commands(&mut self) {
        if !self.commands.is_empty() {
            self.full.push(Arc::new(SmallVec::from_vec(std::mem::take(&mut self.commands))));
        }
    }
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
    mode: ListMode,
}

object!(CommandList, CommandList, ze_command_list_handle_t);

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
        Ok(Arc::new(Self {
            context_handle: context_handle as usize,
            device_handle: device_handle as usize,
            device: Arc::clone(device),
            context: Arc::clone(context),
            ordinal: desc.commandQueueGroupOrdinal,
            group,
            flags: desc.flags,
            is_mutable,
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
        Ok(Arc::new(Self {
            context_handle: context_handle as usize,
            device_handle: device_handle as usize,
            device: Arc::clone(device),
            context: Arc::clone(context),
            ordinal: desc.ordinal,
            group: desc.group,
            flags: list_flags(desc.flags),
            is_mutable: false,
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
        self.append_with(operation, events, || {
            Err(Error::UnsupportedFeature("a mutable command that is no launch"))
        })
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
            ListMode::Regular(recording) => {
                let mut recording = recording.lock();
                if recording.closed.is_some() {
                    // The specification names no error. Intel's driver writes such commands behind the end of the list,
                    // where nothing executes them, and the conformance tests expect that.
                    tracing::warn!(
                        "a command was appended to a closed command list and will not be executed"
                    );
                    return Ok(());
                }
                let mutable = recording.mutable.take_next().map(|next| Ok::<_, Error>((next, dispatch()?)));
                let mutable = mutable.transpose()?;
                if !recording.reserve() || mutable.is_some() && !recording.reserve_piece() {
                    return Err(Error::OutOfHostMemory("one more command could not be recorded".into()));
                }
                let signal = events.signal.as_ref().map(|event| event.signalled_by(None));
                let signalled = events.signal.clone().zip(signal.clone());
                let command = Command::new(operation, waits, signal);
                if let Some((next, dispatch)) = mutable {
                    recording.signalled.extend(signalled.clone());
                    let mutable = |piece| next.command(piece, dispatch, signalled, &events.waits);
                    recording.push_mutable(command, mutable);
                } else {
                    recording.signalled.extend(signalled);
                    recording.commands.push(command);
                }
                Ok(())
            }
            ListMode::Immediate { stream, .. } => {
                let signal = events.signal.as_ref().map(|event| event.signalled_by(Some(stream)));
                self.submit(Work::One(Command::new(operation, waits, signal)))
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
        let mut recording = self.mutable()?;
        if recording.closed.is_some() {
            return Err(Error::InvalidArgument("the command list is closed".into()));
        }
        Ok(recording.mutable.announce(flags, kernels))
    }

    /// Changes mutable commands: all of them, or none and an error.
    pub fn update(&self, changes: Vec<(u64, Change<'_>)>) -> Result<()> {
        let mut recording = self.mutable()?;
        let changed = recording.mutable.changed(changes)?;
        let room = recording.signalled.try_reserve(changed.len());
        room.map_err(|_| out_of_memory("events", changed.len() * size_of::<Signalled>()))?;
        for (id, mutable, command) in changed {
            let (piece, signal) = (mutable.piece, mutable.signal.clone());
            recording.replace(piece, command);
            let old = recording.mutable.keep(id, mutable);
            let same = |old: &Signalled| {
                let is_old =
                    |(event, signal): &Signalled| Arc::ptr_eq(event, &old.0) && Arc::ptr_eq(signal, &old.1);
                recording.signalled.iter().position(is_old)
            };
            if let Some(at) = old.as_ref().and_then(same) {
                recording.signalled.swap_remove(at);
            }
            recording.signalled.extend(signal);
        }
        Ok(())
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
            let mut recording = recording.lock();
            if recording.closed.is_none() {
                recording.finish_commands();
                recording.closed = Some(std::mem::take(&mut recording.full));
            }
        }
        Ok(())
    }

    /// `zeCommandListReset`. An immediate list is always ready to be appended to.
    pub fn reset(&self) -> Result<()> {
        if let ListMode::Regular(recording) = &self.mode {
            *recording.lock() = Recording::default();
        }
        Ok(())
    }

    /// `zeCommandListCreateCloneExp`: a closed list of the same commands.
    pub fn duplicate(&self) -> Result<Arc<Self>> {
        let closed = self.closed()?;
        let signalled = self.recording()?.lock().signalled.clone();
        let recording = Recording { signalled, closed: Some(closed), ..Recording::default() };
        Ok(Arc::new(Self {
            context_handle: self.context_handle,
            device_handle: self.device_handle,
            device: Arc::clone(&self.device),
            context: Arc::clone(&self.context),
            ordinal: self.ordinal,
            group: self.group,
            flags: self.flags,
            is_mutable: false,
            mode: ListMode::Regular(Mutex::new(recording)),
        }))
    }

    /// The commands of a closed regular list.
    pub(crate) fn closed(&self) -> Result<Lists> {
        let recording = self.recording()?.lock();
        let closed = recording.closed.clone();
        closed.ok_or_else(|| Error::InvalidArgument("the command list is not closed".into()))
    }

    /// Tells the events of a regular list which stream will signal them.
    pub(crate) fn executed_on(&self, stream: &Arc<Stream>) {
        if let ListMode::Regular(recording) = &self.mode {
            for (event, signal) in &recording.lock().signalled {
                event.executed(signal, stream);
            }
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
mod tests {
    use super::*;
    use crate::driver::Driver;
    use crate::event::EventPool;
    use crate::queue::CommandQueue;
    use std::ptr::{null, null_mut};

    struct Fixture {
        context: Arc<Context>,
        device: Arc<Device>,
    }

    impl Fixture {
        fn new() -> Self {
            let driver = Driver::for_tests();
            Self { device: Arc::clone(driver.device()), context: Context::new(driver) }
        }

        fn regular(&self) -> Arc<CommandList> {
            let desc = ze_command_list_desc_t::default();
            CommandList::regular((&self.context, null_mut()), (&self.device, null_mut()), &desc, false)
                .expect("a valid descriptor")
        }

        fn queue_desc(&self, mode: ze_command_queue_mode_t) -> ze_command_queue_desc_t {
            ze_command_queue_desc_t { mode, ..Default::default() }
        }

        fn immediate(&self, mode: ze_command_queue_mode_t) -> Arc<CommandList> {
            let desc = self.queue_desc(mode);
            CommandList::immediate((&self.context, null_mut()), (&self.device, null_mut()), &desc)
                .expect("a valid descriptor")
        }

        fn queue(&self) -> Arc<CommandQueue> {
            let desc = self.queue_desc(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
            CommandQueue::new(Arc::clone(&self.context), &self.device, &desc).expect("a valid descriptor")
        }

        fn event(&self) -> Arc<Event> {
            self.event_of_pool(0)
        }

        fn event_of_pool(&self, flags: ze_event_pool_flags_t) -> Arc<Event> {
            let desc = ze_event_pool_desc_t { pNext: null(), flags, count: 1, ..Default::default() };
            let pool = EventPool::new(Arc::clone(&self.context), null_mut(), &desc, false).expect("valid");
            Event::new(pool, null_mut(), &ze_event_desc_t::default()).expect("in the pool")
        }
    }

    fn counter_based() -> Arc<Event> {
        let (context, desc) = (Context::new(Driver::for_tests()), ze_event_counter_based_desc_t::default());
        // SAFETY: there is no chain.
        unsafe { Event::new_counter_based(&context, &desc) }.expect("valid")
    }

    fn waiting_for(event: &Arc<Event>) -> Events {
        Events { signal: None, waits: [Arc::clone(event)].into_iter().collect() }
    }

    fn signalling(event: &Arc<Event>) -> Events {
        Events { signal: Some(Arc::clone(event)), waits: SmallVec::new() }
    }

    fn fill(target: &mut [u8], value: u8) -> Operation {
        let pattern = [value].into_iter().collect();
        Operation::Fill { dst: target.as_mut_ptr() as usize, pattern, len: target.len() }
    }

    #[test]
    fn a_regular_list_executes_as_often_as_it_is_submitted() {
        let fixture = Fixture::new();
        let (list, queue) = (fixture.regular(), fixture.queue());
        let mut memory = [0u8; 64];
        list.append(fill(&mut memory, 7), &Events::default()).expect("open");
        assert!(queue.execute(&[&list], None).is_err(), "it is not closed");
        list.close().expect("regular");
        list.append(fill(&mut memory, 9), &Events::default()).expect("it is closed: this is not executed");
        for _ in 0..2 {
            memory.fill(0);
            queue.execute(&[&list], None).expect("closed");
            queue.synchronize(u64::MAX).expect("nothing fails");
            assert_eq!(memory, [7; 64]);
        }
        list.reset().expect("regular");
        assert!(queue.execute(&[&list], None).is_err());
    }

    #[test]
    fn lists_of_different_queues_wait_for_each_others_events() {
        let fixture = Fixture::new();
        let (first, second) = (fixture.queue(), fixture.queue());
        let event = fixture.event();
        let (waiter, signaller) = (fixture.regular(), fixture.regular());
        let mut memory = vec![0u8; 1 << 20];
        waiter.append(fill(&mut memory, 2), &waiting_for(&event)).expect("open");
        signaller.append(Operation::Barrier, &signalling(&event)).expect("open");
        waiter.close().expect("regular");
        signaller.close().expect("regular");
        first.execute(&[&waiter], None).expect("closed");
        assert!(matches!(first.synchronize(1_000_000), Err(Error::NotReady)));
        second.execute(&[&signaller], None).expect("closed");
        first.synchronize(u64::MAX).expect("the event came");
        assert!(memory.iter().all(|&byte| byte == 2));
    }

    #[test]
    fn an_immediate_list_keeps_its_order_in_both_modes() {
        let fixture = Fixture::new();
        for mode in [ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS] {
            let list = fixture.immediate(mode);
            let mut memory = vec![0u8; 256 << 10];
            for value in 1..=9 {
                list.append(fill(&mut memory, value), &Events::default()).expect("immediate");
            }
            list.synchronize(u64::MAX).expect("nothing fails");
            assert!(memory.iter().all(|&byte| byte == 9));
            assert!(list.close().is_ok() && list.reset().is_ok());
            assert!(list.append(Operation::Barrier, &Events::default()).is_ok(), "it is never closed");
        }
    }

    /// What SYCL's adapter does for each replay of a graph: on a queue, a list that resets an event and one that works and
    /// signals it; then, on an immediate list of the same ordinal and index, a wait for it.
    #[test]
    fn replays_of_a_graph_stay_in_step_with_the_immediate_list_that_waits_for_them() {
        unsafe extern "C" fn work(count: *mut std::ffi::c_void) {
            // SAFETY: the test passes a number that only this queue's functions change.
            unsafe { *count.cast::<u64>() += 1 };
            std::thread::sleep(std::time::Duration::from_micros(200));
        }
        const REPLAYS: usize = 100;
        let fixture = Fixture::new();
        let (queue, immediate) = (fixture.queue(), fixture.immediate(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS));
        let (event, reset, signal) = (fixture.event(), fixture.regular(), fixture.regular());
        let mut count = 0u64;
        reset.append(event.reset_command().expect("a flag"), &Events::default()).expect("open");
        let function = Operation::HostFunction { function: work, data: (&raw mut count) as usize };
        signal.append(function, &Events::default()).expect("open");
        signal.append(Operation::Barrier, &signalling(&event)).expect("open");
        reset.close().expect("regular");
        signal.close().expect("regular");
        let mut seen = [0u64; REPLAYS];
        for seen in &mut seen {
            queue.execute(&[&reset], None).expect("closed");
            queue.execute(&[&signal], None).expect("closed");
            immediate.append(Operation::Barrier, &waiting_for(&event)).expect("immediate");
            let (dst, src) = (std::ptr::from_mut(seen) as usize, (&raw const count) as usize);
            let copy = Operation::Copy { dst, src, len: size_of::<u64>() };
            immediate.append(copy, &Events::default()).expect("immediate");
        }
        immediate.synchronize(u64::MAX).expect("nothing fails");
        queue.synchronize(u64::MAX).expect("nothing fails");
        for (replay, seen) in seen.into_iter().enumerate() {
            assert!(seen > replay as u64, "replay {replay} saw the work of {seen}");
        }
    }

    #[test]
    fn lists_can_be_appended_to_an_immediate_list() {
        let fixture = Fixture::new();
        let (list, immediate) = (fixture.regular(), fixture.immediate(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS));
        let (event, done) = (fixture.event(), fixture.event());
        let mut memory = [0u8; 64];
        list.append(fill(&mut memory, 4), &signalling(&event)).expect("open");
        list.close().expect("regular");
        immediate.append_lists(&[&list, &list], &signalling(&done)).expect("closed");
        done.wait(u64::MAX).expect("it is signalled");
        assert!(event.status().is_ok());
        assert_eq!(memory, [4; 64]);
    }

    #[test]
    fn appended_lists_wait_in_no_thread_of_the_program() {
        let fixture = Fixture::new();
        let (list, immediate) = (fixture.regular(), fixture.immediate(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS));
        let (reached, gate, after) = (fixture.event(), fixture.event(), fixture.event());
        list.append(Operation::Barrier, &signalling(&reached)).expect("open");
        list.append(gate.reset_command().expect("a flag"), &Events::default()).expect("open");
        list.append(Operation::Barrier, &waiting_for(&gate)).expect("open");
        list.close().expect("regular");
        gate.host_signal().expect("a flag");
        immediate.append_lists(&[&list], &signalling(&after)).expect("closed");
        reached.wait(u64::MAX).expect("it is signalled");
        assert!(matches!(after.wait(1_000_000), Err(Error::NotReady)));
        gate.host_signal().expect("a flag");
        immediate.synchronize(u64::MAX).expect("nothing fails");
        after.status().expect("all is done");
    }

    #[test]
    fn appended_lists_come_after_their_events_and_before_their_signal() {
        let fixture = Fixture::new();
        let (list, immediate) = (fixture.regular(), fixture.immediate(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS));
        let (gate, done) = (fixture.event(), fixture.event());
        let mut memory = [0u8; 64];
        list.append(fill(&mut memory, 4), &Events::default()).expect("open");
        list.close().expect("regular");
        let events = Events { signal: Some(Arc::clone(&done)), ..waiting_for(&gate) };
        immediate.append_lists(&[&list, &list], &events).expect("closed");
        assert!(matches!(immediate.synchronize(1_000_000), Err(Error::NotReady)));
        assert_eq!(memory, [0; 64]);
        gate.host_signal().expect("a flag");
        done.wait(u64::MAX).expect("it is signalled");
        assert_eq!(memory, [4; 64]);
    }

    #[test]
    fn a_counter_based_event_stands_for_the_list_that_was_executed_last() {
        let fixture = Fixture::new();
        let queue = fixture.queue();
        let event = counter_based();
        let lists = [fixture.regular(), fixture.regular()];
        for list in &lists {
            list.append(Operation::Barrier, &signalling(&event)).expect("open");
            list.close().expect("regular");
        }
        assert!(matches!(event.status(), Err(Error::NotReady)));
        for list in [&lists[0], &lists[1], &lists[0]] {
            queue.execute(&[list], None).expect("closed");
            event.wait(10_000_000_000).expect("that list signals it");
        }
    }

    #[test]
    fn a_clone_signals_as_its_original_does() {
        let fixture = Fixture::new();
        let (event, gate) = (counter_based(), fixture.event());
        let list = fixture.regular();
        list.append(Operation::Barrier, &Events { signal: Some(Arc::clone(&event)), ..waiting_for(&gate) })
            .expect("open");
        list.close().expect("regular");
        let clone = list.duplicate().expect("closed");
        let queues = [fixture.queue(), fixture.queue()];
        queues[0].execute(&[&list], None).expect("closed");
        queues[1].execute(&[&clone], None).expect("closed");
        assert!(matches!(event.wait(1_000_000), Err(Error::NotReady)));
        gate.host_signal().expect("a flag");
        event.wait(u64::MAX).expect("both are done");
        assert!(
            queues.iter().all(|queue| queue.synchronize(0).is_ok() || queue.synchronize(u64::MAX).is_ok())
        );
    }

    #[test]
    fn queries_write_the_timestamps_that_the_host_would_get() {
        let driver = Driver::for_tests();
        let mut profile = driver.device().profile().as_ref().clone();
        profile.limits.timer_frequency_hz = 12_500_000;
        let fixture = Fixture { device: Device::new(profile), context: Context::new(driver) };
        let list = fixture.immediate(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
        let flags = [ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP, ZE_EVENT_POOL_FLAG_KERNEL_MAPPED_TIMESTAMP];
        let events = flags.map(|flags| fixture.event_of_pool(flags));
        for event in &events {
            list.append(Operation::Barrier, &signalling(event)).expect("immediate");
        }
        let mut results = [ze_kernel_timestamp_result_t::default(); 2];
        let size = size_of::<ze_kernel_timestamp_result_t>();
        let dst = results.as_mut_ptr() as usize;
        for offsets in [None, Some([0, size].as_slice())] {
            let query = list.query_timestamps(&events, dst, offsets).expect("in the array");
            list.append(query, &Events::default()).expect("immediate");
            for (event, result) in events.iter().zip(&results) {
                let want = event.kernel_timestamp(&fixture.device).expect("signalled");
                assert_eq!(result.global.kernelStart, want.global.kernelStart);
                assert_eq!(result.context.kernelEnd, want.context.kernelEnd);
            }
            results = Default::default();
        }
        assert!(list.query_timestamps(&events, dst, Some(&[0, usize::MAX])).is_err());
    }

    #[test]
    fn what_only_immediate_lists_have_is_an_invalid_argument_of_others() {
        let list = Fixture::new().regular();
        assert!(matches!(list.synchronize(0), Err(Error::InvalidArgument(_))));
        assert!(matches!(list.queue_desc(), Err(Error::InvalidArgument(_))));
        assert!(matches!(list.append_lists(&[], &Events::default()), Err(Error::InvalidArgument(_))));
    }

    #[test]
    fn an_immediate_list_has_the_flags_of_its_creation() {
        let fixture = Fixture::new();
        let desc = ze_command_queue_desc_t {
            flags: ZE_COMMAND_QUEUE_FLAG_EXPLICIT_ONLY | ZE_COMMAND_QUEUE_FLAG_COPY_OFFLOAD_HINT,
            ..fixture.queue_desc(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS)
        };
        let device = (&fixture.device, null_mut());
        let list = CommandList::immediate((&fixture.context, null_mut()), device, &desc).expect("valid");
        assert_eq!(list.flags(), ZE_COMMAND_LIST_FLAG_EXPLICIT_ONLY | ZE_COMMAND_LIST_FLAG_COPY_OFFLOAD_HINT);
    }

    #[test]
    fn events_may_be_destroyed_while_commands_refer_to_them() {
        let fixture = Fixture::new();
        let list = fixture.immediate(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
        let gate = fixture.event();
        let signal = gate.current();
        list.append(Operation::Barrier, &waiting_for(&gate)).expect("immediate");
        drop(gate);
        assert!(matches!(list.synchronize(1_000_000), Err(Error::NotReady)));
        signal.raise();
        list.synchronize(u64::MAX).expect("the wait is over");
    }
}
