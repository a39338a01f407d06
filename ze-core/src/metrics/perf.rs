//! Counters of the kernel's `perf_event_open` for all threads of the process.
//!
//! Every thread that is there has descriptors of its own, and threads that it starts later count for it (`inherit`). Only code
//! of the process is counted, which needs no privilege unless the system forbids all counting.

use crate::error::{Error, Result};
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::FromRawFd;

/// `struct perf_event_attr` as its first version had it, which every kernel takes.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
}

// Bits of `flags` in the order of the kernel's header.
const INHERIT: u64 = 1 << 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
/// Only threads, not forked children. Linux 5.13.
const INHERIT_THREAD: u64 = 1 << 35;
/// Each reading has the times that the counter was wanted and that it counted.
const TOTAL_TIMES: u64 = 1 << 0 | 1 << 1;
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;

/// An event to count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    pub kind: u32,
    pub config: u64,
}

impl Event {
    /// Opens a counter of a thread; 0 is the calling one.
    fn open(self, thread: libc::pid_t) -> std::io::Result<File> {
        let open = |more| {
            let attributes = Attributes {
                kind: self.kind,
                size: size_of::<Attributes>() as u32,
                config: self.config,
                read_format: TOTAL_TIMES,
                flags: INHERIT | EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR | more,
                ..Attributes::default()
            };
            // SAFETY: the structure has the size that it says; the kernel reads it.
            let file = unsafe {
                libc::syscall(libc::SYS_perf_event_open, &attributes, thread, -1, -1, CLOSE_ON_EXEC)
            };
            // SAFETY: a new descriptor that nobody else has.
            if file >= 0 { Some(unsafe { File::from_raw_fd(file as i32) }) } else { None }
        };
        open(INHERIT_THREAD).or_else(|| open(0)).ok_or_else(std::io::Error::last_os_error)
    }

    /// Whether the system counts it for this process.
    pub fn is_there(self) -> bool {
        self.open(0).is_ok()
    }
}

/// Counters of events: one for each event and thread.
pub struct Counters {
    /// Those of each event, in the order of the events.
    events: Vec<Vec<File>>,
}

impl Counters {
    /// Begins to count.
    pub fn open(events: &[Event]) -> Result<Self> {
        let failed = |error| Error::NotAvailable(format!("perf_event_open: {error}"));
        let mut counters = Self { events: Vec::new() };
        if events.is_empty() {
            return Ok(counters);
        }
        let threads: Vec<libc::pid_t> = fs::read_dir("/proc/self/task")
            .map_err(failed)?
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .collect();
        for event in events {
            let open = |&thread: &libc::pid_t| match event.open(thread) {
                // It has ended meanwhile.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => None,
                opened => Some(opened.map_err(failed)),
            };
            counters.events.push(threads.iter().filter_map(open).collect::<Result<_>>()?);
        }
        Ok(counters)
    }

    /// What an event has counted so far: where the processor counts events in turns, as much as that lets expect.
    pub fn read(&self, event: usize) -> u64 {
        self.events[event].iter().map(read).fold(0, u64::wrapping_add)
    }
}

fn read(mut file: &File) -> u64 {
    let mut words = [[0; 8]; 3];
    if file.read_exact(words.as_flattened_mut()).is_err() {
        return 0;
    }
    let [value, wanted, counted] = words.map(u64::from_ne_bytes);
    if counted == 0 || counted >= wanted {
        return value;
    }
    (u128::from(value) * u128::from(wanted) / u128::from(counted)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `PERF_TYPE_SOFTWARE`, `PERF_COUNT_SW_PAGE_FAULTS`: kernels have it without any counter of a processor.
    const PAGE_FAULTS: Event = Event { kind: 1, config: 2 };

    /// Touches pages that were never touched.
    fn touch(pages: usize) {
        // SAFETY: a new mapping of this function's own, which it unmaps.
        unsafe {
            let size = pages << 12;
            let memory = libc::mmap(
                std::ptr::null_mut(),
                size,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            assert_ne!(memory, libc::MAP_FAILED);
            libc::madvise(memory, size, libc::MADV_NOHUGEPAGE);
            for page in 0..pages {
                memory.cast::<u8>().add(page << 12).write_volatile(1);
            }
            libc::munmap(memory, size);
        }
    }

    #[test]
    fn all_threads_are_counted_also_those_that_begin_later() {
        if !PAGE_FAULTS.is_there() {
            return; // The system lets nobody count.
        }
        let (begin, begun) = std::sync::mpsc::channel::<()>();
        let old = std::thread::spawn(move || {
            begun.recv().expect("the test sends");
            touch(500);
        });
        let counters = Counters::open(&[PAGE_FAULTS]).expect("it is there");
        let before = counters.read(0);
        begin.send(()).expect("the thread waits");
        old.join().expect("no panic");
        let middle = counters.read(0);
        assert!(middle - before >= 500, "{before} {middle}");
        std::thread::spawn(|| touch(700)).join().expect("no panic");
        assert!(counters.read(0) - middle >= 700, "{middle} {}", counters.read(0));
    }

    #[test]
    fn an_event_that_no_processor_has_is_not_there() {
        assert!(!Event { kind: 0, config: 0xffff }.is_there());
        assert!(matches!(Counters::open(&[Event { kind: 0, config: 0xffff }]), Err(Error::NotAvailable(_))));
    }
}
