//! What commands do: copies, fills, launches, looks at clocks, and calls of the program.

use crate::clock;
use crate::copy::{self, Region};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::fault;
use crate::image::ImageCopy;
use crate::metrics::query::QueryCommand;
use crate::metrics::streamer::Marker;
use crate::metrics::usage::Usage;
use crate::region;
use crate::signal::{Signal, Timestamps};
use crate::sysman::activity::Work;
use crate::virtual_memory;
use smallvec::SmallVec;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use ze_engine::Launch;
use ze_engine::exec::fault::{Fault, catch};
use ze_headers::{ze_group_count_t, ze_kernel_timestamp_data_t, ze_kernel_timestamp_result_t};

/// Launches up to this time, too: to wake a thread costs the one that wakes half of it, and the work waits longer still.
const INSTANT_TIME: Duration = Duration::from_micros(10);
/// Copies and fills up to this size take less time than to wake another thread.
const INSTANT_BYTES: usize = 32 << 10;

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
    /// Between images, or an image and memory.
    CopyImage(Box<ImageCopy>),
    Fill {
        dst: usize,
        pattern: SmallVec<[u8; 16]>,
        len: usize,
    },
    Launch(Box<Launch>),
    /// Group counts are read when the command executes.
    LaunchIndirect {
        launch: Box<Launch>,
        group_count: usize,
    },
    /// As many of the launches as the number at `count` says, each with its group count of the array.
    LaunchMultipleIndirect {
        launches: Box<[Launch]>,
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
        queries: Vec<TimestampQuery>,
    },
    /// Writes a value at once.
    Store {
        dst: usize,
        value: u64,
    },
    HostFunction {
        function: unsafe extern "C" fn(*mut c_void),
        data: usize,
    },
    /// The beginning or end of a metric query.
    MetricQuery(QueryCommand),
    /// A report of a metric streamer, with a value of the program's.
    MetricMarker(Marker),
    /// One of a graph, which all its instances execute.
    Shared(Arc<Operation>),
}

/// What one event's timestamps are written to.
#[derive(Clone)]
pub struct TimestampQuery {
    pub event: Arc<Event>,
    /// What the event stands for.
    pub signal: Arc<Signal>,
    pub timescale: Timescale,
    pub dst: usize,
}

impl Operation {
    /// One of a graph, for an instance in which `signal` says what events stand for.
    pub(crate) fn shared(
        operation: &Arc<Operation>,
        signal: impl Fn(*const Event) -> Option<Arc<Signal>>,
    ) -> Self {
        let Operation::QueryKernelTimestamps { device, queries } = &**operation else {
            return Operation::Shared(Arc::clone(operation));
        };
        let mut queries = queries.clone();
        for query in &mut queries {
            if let Some(own) = signal(Arc::as_ptr(&query.event)) {
                query.signal = own;
            }
        }
        Operation::QueryKernelTimestamps { device: Arc::clone(device), queries }
    }

    /// Itself, also where it is shared.
    fn own(&self) -> &Operation {
        match self {
            Operation::Shared(shared) => shared,
            own => own,
        }
    }

    /// Whether it runs kernels.
    pub fn is_launch(&self) -> bool {
        self.work() == Some(Work::Compute)
    }

    /// The event's signal that it takes back.
    pub(crate) fn reset(&self) -> Option<&Arc<Signal>> {
        match self.own() {
            Operation::ResetEvent(signal) => Some(signal),
            _ => None,
        }
    }

    /// Whether it calls back into the program.
    pub(crate) fn is_host_function(&self) -> bool {
        matches!(self.own(), Operation::HostFunction { .. })
    }

    /// Whether it takes less time than to wake another thread.
    pub(crate) fn is_instant(&self) -> bool {
        match self.own() {
            Operation::Barrier
            | Operation::ResetEvent(_)
            | Operation::WriteGlobalTimestamp { .. }
            | Operation::QueryKernelTimestamps { .. }
            | Operation::Store { .. }
            | Operation::MetricQuery(_)
            | Operation::MetricMarker(_) => true,
            Operation::Copy { .. }
            | Operation::Fill { .. }
            | Operation::CopyRegion { .. }
            | Operation::CopyImage(_) => self.written().is_some_and(|bytes| bytes <= INSTANT_BYTES),
            Operation::Launch(launch) => launch.expected_time().is_some_and(|time| time <= INSTANT_TIME),
            Operation::LaunchIndirect { .. }
            | Operation::LaunchMultipleIndirect { .. }
            | Operation::HostFunction { .. }
            | Operation::Shared(_) => false,
        }
    }

    /// Whether it ends whatever the program does meanwhile.
    pub(crate) fn surely_ends(&self) -> bool {
        let surely_ends = |launch: &Launch| !launch.kernel().reflection().has_loops;
        match self.own() {
            Operation::Launch(launch) if surely_ends(launch) => true,
            // A loop may be long, and whoever asks has something else to do.
            Operation::Launch(_) => self.is_instant(),
            Operation::LaunchIndirect { launch, .. } => surely_ends(launch),
            Operation::LaunchMultipleIndirect { launches, .. } => launches.iter().all(surely_ends),
            Operation::HostFunction { .. } => false,
            _ => true,
        }
    }

    /// `zexCommandListAppendWriteToMemory`.
    pub fn store(dst: usize, value: u64) -> Result<Self> {
        if !dst.is_multiple_of(align_of::<u64>()) {
            return Err(Error::InvalidArgument(format!("a value of 8 bytes written to {dst:#x}")));
        }
        Ok(Operation::Store { dst, value })
    }

    /// Whether it is more than synchronisation and looks at clocks: what a graph's fork has to be joined behind.
    pub(crate) fn is_work(&self) -> bool {
        let stores = matches!(self.own(), Operation::Store { .. });
        self.work().is_some() || stores || self.is_host_function()
    }

    /// What it keeps busy; nothing where it only signals or calls back.
    pub(crate) fn work(&self) -> Option<Work> {
        match self {
            Operation::Shared(shared) => shared.work(),
            Operation::Launch(_)
            | Operation::LaunchIndirect { .. }
            | Operation::LaunchMultipleIndirect { .. } => Some(Work::Compute),
            Operation::Copy { .. }
            | Operation::CopyRegion { .. }
            | Operation::CopyImage(_)
            | Operation::Fill { .. } => Some(Work::Copy),
            Operation::Barrier
            | Operation::ResetEvent(_)
            | Operation::WriteGlobalTimestamp { .. }
            | Operation::QueryKernelTimestamps { .. }
            | Operation::MetricQuery(_)
            | Operation::MetricMarker(_)
            | Operation::Store { .. }
            | Operation::HostFunction { .. } => None,
        }
    }

    /// The bytes that a copy or fill writes.
    fn written(&self) -> Option<usize> {
        match self.own() {
            Operation::Copy { len, .. } | Operation::Fill { len, .. } => Some(*len),
            Operation::CopyRegion { to, .. } => Some(to.extent.into_iter().fold(1, usize::saturating_mul)),
            Operation::CopyImage(copy) => Some(copy.bytes()),
            _ => None,
        }
    }

    /// Checks what is in reservations of virtual memory: who accesses what is not mapped there ends the process.
    fn check_access(&self) -> Result<()> {
        let check = virtual_memory::check_access;
        match self {
            Operation::Copy { dst, src, len } => check(*src, *len, false).and(check(*dst, *len, true)),
            Operation::CopyRegion { dst, to, src, from } => {
                let (read, written) = (region::span(*src, from)?, region::span(*dst, to)?);
                check(read.start, read.len(), false).and(check(written.start, written.len(), true))
            }
            Operation::Fill { dst, len, .. } => check(*dst, *len, true),
            Operation::LaunchIndirect { group_count, .. } => {
                check(*group_count, size_of::<ze_group_count_t>(), false)
            }
            Operation::LaunchMultipleIndirect { count, .. } => check(*count, size_of::<u32>(), false),
            Operation::WriteGlobalTimestamp { dst, .. } | Operation::Store { dst, .. } => {
                check(*dst, size_of::<u64>(), true)
            }
            Operation::QueryKernelTimestamps { queries, .. } => queries
                .iter()
                .try_for_each(|query| check(query.dst, size_of::<ze_kernel_timestamp_result_t>(), true)),
            Operation::Shared(shared) => shared.check_access(),
            Operation::CopyImage(copy) => copy.check_access(),
            Operation::Barrier
            | Operation::Launch(_)
            | Operation::ResetEvent(_)
            | Operation::MetricQuery(_)
            | Operation::MetricMarker(_)
            | Operation::HostFunction { .. } => Ok(()),
        }
    }

    /// Does it, and counts it where somebody measures.
    pub(crate) fn execute(&self, usage: Option<&Usage>) -> Result<()> {
        // SAFETY, for all blocks below: the program promised when it appended the command that the memory is
        // accessible, and not accessed otherwise, until the command is done.
        if let Operation::Shared(shared) = self {
            return shared.execute(usage);
        }
        self.check_access()?;
        let launched = |launch: &Launch, group_count| {
            if let Some(usage) = usage {
                usage.launched(group_count, launch.range().group_size);
            }
        };
        let of_copy = |refused| fault::lost("a copy", refused);
        match self {
            Operation::Barrier | Operation::Shared(_) => {}
            // SAFETY: see above.
            Operation::Copy { dst, src, len } => unsafe {
                copy::copy(*dst as *mut u8, *src as *const u8, *len).map_err(of_copy)?
            },
            // SAFETY: see above.
            Operation::CopyRegion { dst, to, src, from } => unsafe {
                copy::copy_region(*dst as *mut u8, to, *src as *const u8, from).map_err(of_copy)?
            },
            // SAFETY: see above.
            Operation::CopyImage(copy) => unsafe { copy.execute().map_err(of_copy)? },
            // SAFETY: see above.
            Operation::Fill { dst, pattern, len } => unsafe {
                copy::fill(*dst as *mut u8, pattern, *len)
                    .map_err(|refused| fault::lost("a fill", refused))?
            },
            Operation::Launch(launch) => {
                launch.run()?;
                launched(launch, launch.range().group_count);
            }
            Operation::LaunchIndirect { launch, group_count } => {
                // SAFETY: see above.
                let groups = unsafe { read_group_count(*group_count)? };
                launch.run_groups(groups)?;
                launched(launch, groups);
            }
            Operation::LaunchMultipleIndirect { launches, count, group_counts } => {
                // SAFETY: see above.
                let count = unsafe { read::<u32>(*count)? } as usize;
                for (index, launch) in launches.iter().enumerate().take(count) {
                    let at = group_counts + index * size_of::<ze_group_count_t>();
                    // SAFETY: see above; the array has as many entries as there are kernels.
                    let groups = unsafe { read_group_count(at)? };
                    launch.run_groups(groups)?;
                    launched(launch, groups);
                }
            }
            // Its epoch begins in `Command::execute`.
            Operation::ResetEvent(_) => {}
            Operation::WriteGlobalTimestamp { device, dst } => {
                let timestamp = device.clock().global(clock::now());
                // SAFETY: see above.
                unsafe { write(*dst, timestamp)? };
            }
            Operation::QueryKernelTimestamps { device, queries } => {
                for query in queries {
                    // What is written for an event that is not signalled, or failed, is undefined.
                    let times = query.signal.outcome().unwrap_or_default();
                    let result = kernel_timestamps(device, times, query.timescale);
                    // SAFETY: see above.
                    unsafe { write(query.dst, result)? };
                }
            }
            Operation::Store { dst, value } => {
                let there = std::ptr::with_exposed_provenance::<AtomicU64>(*dst);
                // SAFETY: see above; the address is aligned. What is written before is seen by whoever sees the value.
                unsafe { catch(|| (*there).store(*value, Ordering::Release)) }.map_err(of_command)?;
            }
            // SAFETY: the program's own function with the program's own argument.
            Operation::HostFunction { function, data } => unsafe { function(*data as *mut c_void) },
            Operation::MetricQuery(command) => command.execute(),
            Operation::MetricMarker(marker) => marker.execute(),
        }
        if let Some((usage, bytes)) = usage.zip(self.written()) {
            usage.copied(bytes);
        }
        Ok(())
    }
}

/// # Safety
/// What is at the address is the program's to be read.
unsafe fn read_group_count(at: usize) -> Result<[u32; 3]> {
    // SAFETY: the caller's promise.
    let count = unsafe { read::<ze_group_count_t>(at)? };
    Ok([count.groupCountX, count.groupCountY, count.groupCountZ])
}

/// Reads what a command is told by memory.
///
/// # Safety
/// What is at the address is the program's to be read, and any bytes are a value.
unsafe fn read<T: Copy>(at: usize) -> Result<T> {
    let mut value = MaybeUninit::uninit();
    // SAFETY: the caller's promise. Nothing is owned.
    unsafe {
        catch(|| _ = value.write((at as *const T).read_unaligned())).map_err(of_command)?;
        Ok(value.assume_init())
    }
}

/// Writes a command's result.
///
/// # Safety
/// What is at the address is the program's to be written.
unsafe fn write<T: Copy>(at: usize, value: T) -> Result<()> {
    // SAFETY: the caller's promise. Nothing is owned.
    unsafe { catch(|| (at as *mut T).write_unaligned(value)) }.map_err(of_command)
}

/// The error of a command that is refused what it is told by memory, or tells.
fn of_command(refused: Fault) -> Error {
    fault::lost("a command", refused)
}

/// What timestamps count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Timescale {
    /// Ticks of the device's clock.
    Device,
    /// Nanoseconds of the host's clock.
    Host,
}

/// A command's times. The device runs one context at a time, so both are the same.
pub fn kernel_timestamps(
    device: &Device,
    times: Timestamps,
    timescale: Timescale,
) -> ze_kernel_timestamp_result_t {
    let at = |time| match timescale {
        Timescale::Device => device.clock().kernel(time),
        Timescale::Host => time,
    };
    let data = ze_kernel_timestamp_data_t { kernelStart: at(times.start), kernelEnd: at(times.end) };
    ze_kernel_timestamp_result_t { global: data, context: data }
}
