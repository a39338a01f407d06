//! Command queues.

use crate::command_list::CommandList;
use crate::context::Context;
use crate::device::Device;
use crate::error::Result;
use crate::fence::Fence;
use crate::handle::object;
use crate::stream::{Stream, Work};
use std::sync::Arc;
use ze_headers::*;

/// What a queue, and an immediate command list, are created from.
#[derive(Clone, Copy, Debug)]
pub struct QueueDesc {
    pub ordinal: u32,
    pub index: u32,
    pub flags: ze_command_queue_flags_t,
    pub mode: ze_command_queue_mode_t,
    pub priority: ze_command_queue_priority_t,
}

impl QueueDesc {
    /// Checks a descriptor against the device.
    pub fn new(device: &Device, desc: &ze_command_queue_desc_t) -> Result<Self> {
        device.check_queue_ordinal(desc.ordinal)?;
        device.check_queue_index(desc.index)?;
        Ok(Self {
            ordinal: desc.ordinal,
            index: desc.index,
            flags: desc.flags,
            mode: desc.mode,
            priority: desc.priority,
        })
    }

    /// The host waits for each submission.
    pub fn is_synchronous(&self) -> bool {
        self.mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS
    }
}

/// A command queue.
pub struct CommandQueue {
    context: Arc<Context>,
    desc: QueueDesc,
    stream: Arc<Stream>,
}

object!(CommandQueue, CommandQueue, ze_command_queue_handle_t);

impl CommandQueue {
    /// `zeCommandQueueCreate`.
    pub fn new(context: Arc<Context>, device: &Device, desc: &ze_command_queue_desc_t) -> Result<Arc<Self>> {
        let desc = QueueDesc::new(device, desc)?;
        Ok(Arc::new(Self { context, desc, stream: device.new_stream() }))
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
        let closed = lists.iter().map(|list| list.closed()).collect::<Result<Vec<_>>>()?;
        for (list, commands) in lists.iter().zip(closed) {
            list.executed_on(&self.stream);
            self.stream.submit(Work::list(commands));
        }
        if let Some(fence) = fence {
            self.stream.submit(Work::fence(Arc::clone(fence.signal())));
        }
        if self.desc.is_synchronous() { self.synchronize(u64::MAX) } else { Ok(()) }
    }

    /// `zeCommandQueueSynchronize`; `timeout` in nanoseconds.
    pub fn synchronize(&self, timeout: u64) -> Result<()> {
        self.stream.synchronize(timeout)
    }
}
