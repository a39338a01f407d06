//! Fences: how a program learns that a queue has executed what it was given.

use crate::error::Result;
use crate::fork::Mutex;
use crate::futex::Deadline;
use crate::handle::object;
use crate::queue::CommandQueue;
use crate::signal::Signal;
use std::sync::Arc;
use ze_headers::{ZE_FENCE_FLAG_SIGNALED, ze_fence_flags_t, ze_fence_handle_t};

/// A fence of a command queue.
pub struct Fence {
    queue: Arc<CommandQueue>,
    /// What executions signal that are submitted from now on. A reset puts a new one in its place, so that an execution from
    /// before it cannot signal the fence any more: a program may know from an event that the execution is over, and reset
    /// the fence, before the queue comes to signalling it. SYCL's graphs do.
    signal: Mutex<Arc<Signal>>,
}

object!(Fence, Fence, ze_fence_handle_t);

impl Fence {
    /// `zeFenceCreate`.
    pub fn new(queue: Arc<CommandQueue>, flags: ze_fence_flags_t) -> Arc<Self> {
        let signal = if flags & ZE_FENCE_FLAG_SIGNALED != 0 { Signal::raised() } else { Signal::flag() };
        Arc::new(Self { queue, signal: Mutex::new(signal) })
    }

    pub fn queue(&self) -> &Arc<CommandQueue> {
        &self.queue
    }

    pub(crate) fn signal(&self) -> Arc<Signal> {
        Arc::clone(&self.signal.lock())
    }

    /// `zeFenceHostSynchronize`; `timeout` in nanoseconds.
    pub fn wait(&self, timeout: u64) -> Result<()> {
        let deadline = Deadline::after(timeout);
        self.queue.stream().settle();
        let signal = self.signal();
        if matches!(deadline, Deadline::Never) {
            self.queue.stream().help_until(&signal);
        }
        signal.wait(deadline)
    }

    /// `zeFenceQueryStatus`.
    pub fn status(&self) -> Result<()> {
        self.queue.stream().settle();
        self.signal().query().map(drop)
    }

    /// `zeFenceReset`.
    pub fn reset(&self) {
        *self.signal.lock() = Signal::flag();
    }
}
