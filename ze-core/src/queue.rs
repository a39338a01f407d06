//! Command queues.

use crate::command_list::CommandList;
use crate::context::Context;
use crate::device::{Device, QueueGroup};
use crate::error::Result;
use crate::fence::Fence;
use crate::handle::object;
use crate::pnext::structures;
use crate::stream::{Priority, Stream, Work};
use std::sync::Arc;
use ze_headers::*;

structures! {
    ze_command_queue_desc_t = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
    ze_queue_priority_desc_t = ZE_STRUCTURE_TYPE_QUEUE_PRIORITY_DESC;
}

/// The priorities that a queue can have by number (`zeDeviceGetPriorityLevels`), from the lowest to the highest.
pub const PRIORITY_LEVELS: [i32; 2] = [1, -1];

/// The priority that a number stands for: what lies outside of the levels is taken for the nearest.
pub fn priority_of_level(level: i32) -> ze_command_queue_priority_t {
    match level {
        ..0 => ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH,
        0 => ZE_COMMAND_QUEUE_PRIORITY_NORMAL,
        1.. => ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW,
    }
}

/// What a queue, and an immediate command list, are created from.
#[derive(Clone, Copy, Debug)]
pub struct QueueDesc {
    pub ordinal: u32,
    pub group: QueueGroup,
    pub index: u32,
    pub flags: ze_command_queue_flags_t,
    pub mode: ze_command_queue_mode_t,
    pub priority: ze_command_queue_priority_t,
}

impl QueueDesc {
    /// Checks a descriptor against the device.
    pub fn new(device: &Device, desc: &ze_command_queue_desc_t) -> Result<Self> {
        let group = device.queue_group(desc.ordinal)?;
        device.check_queue_index(desc.index)?;
        Ok(Self {
            ordinal: desc.ordinal,
            group,
            index: desc.index,
            flags: desc.flags,
            mode: desc.mode,
            priority: desc.priority,
        })
    }

    /// Which of the streams that are ready is executed first.
    pub(crate) fn stream_priority(&self) -> Priority {
        match self.priority {
            ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW => Priority::Low,
            ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH => Priority::High,
            _ => Priority::Normal,
        }
    }

    /// A stream for what is created from this.
    pub(crate) fn new_stream(&self, device: &Device) -> Arc<Stream> {
        device.new_stream(self.group, self.stream_priority())
    }

    /// The host waits for each submission.
    pub fn is_synchronous(&self) -> bool {
        self.mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS
    }
}

/// A command queue.
pub struct CommandQueue {
    context: Arc<Context>,
    device: Arc<Device>,
    desc: QueueDesc,
    stream: Arc<Stream>,
}

object!(CommandQueue, CommandQueue, ze_command_queue_handle_t);

impl CommandQueue {
    /// `zeCommandQueueCreate`.
    pub fn new(
        context: Arc<Context>,
        device: &Arc<Device>,
        desc: &ze_command_queue_desc_t,
    ) -> Result<Arc<Self>> {
        let desc = QueueDesc::new(device, desc)?;
        Ok(Arc::new(Self { context, device: Arc::clone(device), desc, stream: desc.new_stream(device) }))
    }

    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    pub fn desc(&self) -> &QueueDesc {
        &self.desc
    }

    pub(crate) fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    /// `zeCommandQueueExecuteCommandLists`.
    pub fn execute(&self, lists: &[&CommandList], fence: Option<&Fence>) -> Result<()> {
        lists.iter().try_for_each(|list| list.check_queue(&self.device, self.desc.group))?;
        let closed = lists.iter().map(|list| list.closed()).collect::<Result<Vec<_>>>()?;
        for (list, commands) in lists.iter().zip(closed) {
            list.executed_on(&self.stream);
            self.stream.submit(Work::list(commands));
        }
        if let Some(fence) = fence {
            self.stream.submit(Work::fence(fence.signal()));
        }
        if self.desc.is_synchronous() { self.synchronize(u64::MAX) } else { Ok(()) }
    }

    /// `zeCommandQueueSynchronize`; `timeout` in nanoseconds.
    pub fn synchronize(&self, timeout: u64) -> Result<()> {
        self.stream.synchronize(timeout)
    }
}
