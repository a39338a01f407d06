//! Commands: what a list records and a stream executes.

use crate::clock;
use crate::copy::{self, Region};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::futex::Deadline;
use crate::signal::{Signal, Timestamps};
use smallvec::SmallVec;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use ze_headers::{ze_group_count_t, ze_kernel_timestamp_data_t, ze_kernel_timestamp_result_t};

/// Signals that a command waits for.
pub type Waits = SmallVec<[Arc<Signal>; 2]>;

/// Copies and fills up to this size take less time than to wake another thread.
const INSTANT_BYTES: usize = 32 << 10;

/// A kernel with everything that was set when it was appended.
pub struct Launch {
    pub kernel: Arc<ze_engine::Kernel>,
    pub args: Box<[u8]>,
    pub group_size: [u32; 3],
    pub global_offset: [u64; 3],
}

impl Launch {
    fn execute(&self, group_count: [u32; 3]) -> Result<()> {
        if group_count.contains(&0) {
            return Ok(());
        }
        self.kernel.launch(&ze_engine::Dispatch {
            group_count,
            group_size: self.group_size,
            global_offset: self.global_offset,
            args: &self.args,
        })?;
        Ok(())
    }
}

/// What a command does. Addresses are those of the program's memory, valid until the command is done.
pub enum Operation {
    Barrier,
    Copy {
        dst: usize,
        src: usize,
        len: usize,
    },
    CopyRegion {
        dst: usize,
        to: Region,
        src: usize,
        from: Region,
    },
    Fill {
        dst: usize,
        pattern: SmallVec<[u8; 16]>,
        len: usize,
    },
    Launch {
        launch: Launch,
        group_count: [u32; 3],
    },
    /// Group counts are read when the command executes.
    LaunchIndirect {
        launch: Launch,
        group_count: usize,
    },
    /// As many of the launches as the number at `count` says, each with its group count of the array.
    LaunchMultipleIndirect {
        launches: Vec<Launch>,
        count: usize,
        group_counts: usize,
    },
    ResetEvent(Arc<Signal>),
    WriteGlobalTimestamp {
        device: Arc<Device>,
        dst: usize,
    },
    QueryKernelTimestamps {
        device: Arc<Device>,
        events: Vec<Arc<Signal>>,
        dst: usize,
        offsets: Option<Vec<usize>>,
    },
    HostFunction {
        function: unsafe extern "C" fn(*mut c_void),
        data: usize,
    },
    /// Closed lists, one after the other.
    Lists(Vec<Arc<[Arc<Command>]>>),
}

/// One command of a list.
pub struct Command {
    operation: Operation,
    waits: Waits,
    signal: Option<Arc<Signal>>,
}

impl Command {
    pub fn new(operation: Operation, waits: Waits, signal: Option<Arc<Signal>>) -> Self {
        Self { operation, waits, signal }
    }

    /// Tells what the command signals that it is submitted.
    pub fn submitted(&self) {
        if let Some(signal) = &self.signal {
            signal.submit();
        }
        if let Operation::Lists(lists) = &self.operation {
            lists.iter().flat_map(|list| list.iter()).for_each(|command| command.submitted());
        }
    }

    /// Whether it, or a command inside it, waits for something that is not signalled.
    pub fn has_open_waits(&self) -> bool {
        let inside = match &self.operation {
            Operation::Lists(lists) => {
                lists.iter().flat_map(|list| list.iter()).any(|command| command.has_open_waits())
            }
            _ => false,
        };
        inside || self.waits.iter().any(|wait| !wait.is_signalled())
    }

    /// Whether it calls back into the program.
    pub fn is_host_function(&self) -> bool {
        match &self.operation {
            Operation::HostFunction { .. } => true,
            Operation::Lists(lists) => {
                lists.iter().flat_map(|list| list.iter()).any(|command| command.is_host_function())
            }
            _ => false,
        }
    }

    /// Whether it needs not wait, and takes less time than to wake another thread.
    pub fn is_instant(&self) -> bool {
        let quick = match &self.operation {
            Operation::Copy { len, .. } | Operation::Fill { len, .. } => *len <= INSTANT_BYTES,
            Operation::CopyRegion { to, .. } => to.extent.iter().product::<usize>() <= INSTANT_BYTES,
            Operation::Barrier
            | Operation::ResetEvent(_)
            | Operation::WriteGlobalTimestamp { .. }
            | Operation::QueryKernelTimestamps { .. } => true,
            Operation::Launch { .. }
            | Operation::LaunchIndirect { .. }
            | Operation::LaunchMultipleIndirect { .. }
            | Operation::HostFunction { .. }
            | Operation::Lists(_) => false,
        };
        quick && self.waits.iter().all(|wait| wait.is_signalled())
    }

    /// Waits, executes and signals. The signal comes also where execution fails: nobody is to wait for ever.
    pub fn execute(&self) -> Result<()> {
        for wait in &self.waits {
            wait.wait(Deadline::Never);
        }
        let start = self.signal.as_ref().map(|_| clock::now());
        // Destructors and locks of the interrupted code are the engine's to keep sound; a stream that stays
        // locked would hang the program instead.
        let result = catch_unwind(AssertUnwindSafe(|| self.operation.execute()))
            .unwrap_or_else(|_| Err(Error::Unknown("a command panicked; see the log".into())));
        if let (Some(signal), Some(start)) = (&self.signal, start) {
            signal.complete(Timestamps { start, end: clock::now() });
        }
        result.map_err(|error| Error::DeviceLost(error.to_string()))
    }
}

impl Operation {
    fn execute(&self) -> Result<()> {
        // SAFETY, for all blocks below: the program promised when it appended the command that the memory is
        // accessible, and not accessed otherwise, until the command is done.
        match self {
            Operation::Barrier => {}
            // SAFETY: see above.
            Operation::Copy { dst, src, len } => unsafe {
                copy::copy(*dst as *mut u8, *src as *const u8, *len)
            },
            // SAFETY: see above.
            Operation::CopyRegion { dst, to, src, from } => unsafe {
                copy::copy_region(*dst as *mut u8, to, *src as *const u8, from);
            },
            // SAFETY: see above.
            Operation::Fill { dst, pattern, len } => unsafe { copy::fill(*dst as *mut u8, pattern, *len) },
            Operation::Launch { launch, group_count } => launch.execute(*group_count)?,
            Operation::LaunchIndirect { launch, group_count } => {
                // SAFETY: see above.
                launch.execute(unsafe { read_group_count(*group_count) })?;
            }
            Operation::LaunchMultipleIndirect { launches, count, group_counts } => {
                // SAFETY: see above.
                let count = unsafe { (*count as *const u32).read_unaligned() } as usize;
                for (index, launch) in launches.iter().enumerate().take(count) {
                    let at = group_counts + index * size_of::<ze_group_count_t>();
                    // SAFETY: see above; the array has as many entries as there are kernels.
                    launch.execute(unsafe { read_group_count(at) })?;
                }
            }
            Operation::ResetEvent(event) => event.reset(),
            Operation::WriteGlobalTimestamp { device, dst } => {
                let timestamp = device.clock().global(clock::now());
                // SAFETY: see above.
                unsafe { (*dst as *mut u64).write_unaligned(timestamp) };
            }
            Operation::QueryKernelTimestamps { device, events, dst, offsets } => {
                for (index, event) in events.iter().enumerate() {
                    let offset = match offsets {
                        Some(offsets) => offsets[index],
                        None => index * size_of::<ze_kernel_timestamp_result_t>(),
                    };
                    let result = kernel_timestamps(device, event.timestamps());
                    // SAFETY: see above.
                    unsafe { ((dst + offset) as *mut ze_kernel_timestamp_result_t).write_unaligned(result) };
                }
            }
            // SAFETY: the program's own function with the program's own argument.
            Operation::HostFunction { function, data } => unsafe { function(*data as *mut c_void) },
            Operation::Lists(lists) => {
                let commands = lists.iter().flat_map(|list| list.iter());
                commands.map(|command| command.execute()).fold(Ok(()), Result::and)?;
            }
        }
        Ok(())
    }
}

/// # Safety
/// `at` is the address of a readable `ze_group_count_t`.
unsafe fn read_group_count(at: usize) -> [u32; 3] {
    // SAFETY: the caller's promise.
    let count = unsafe { (at as *const ze_group_count_t).read_unaligned() };
    [count.groupCountX, count.groupCountY, count.groupCountZ]
}

/// A command's times as the device reports them. The device runs one context at a time, so both are the same.
pub fn kernel_timestamps(device: &Device, times: Timestamps) -> ze_kernel_timestamp_result_t {
    let data = ze_kernel_timestamp_data_t {
        kernelStart: device.clock().kernel(times.start),
        kernelEnd: device.clock().kernel(times.end),
    };
    ze_kernel_timestamp_result_t { global: data, context: data }
}
