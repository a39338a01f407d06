//! The limit: what loops with the processor's vectors need, on as many threads, for the same work.

mod functions;
mod images;
mod loops;
mod simd;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Instant;

pub use loops::{black_scholes, histogram, integer_mixing, mandelbrot, nbody, sha256};

use super::{Backend, Case, Limit, Prepared, Result};

/// Computes a part of a case: the buffers, which part, of how many.
pub type Loop = Arc<dyn Fn(&Buffers, usize, usize) + Send + Sync>;

/// Memory with huge pages, where the system has them.
pub struct Buffers(Vec<(*mut u8, usize, usize)>);

// SAFETY: who takes parts of the memory answers for their not overlapping.
unsafe impl Send for Buffers {}
// SAFETY: as above.
unsafe impl Sync for Buffers {}

const HUGE_PAGE: usize = 2 << 20;

impl Buffers {
    fn new(contents: &[Vec<u8>]) -> Result<Buffers> {
        let mut buffers = Buffers(Vec::new());
        for data in contents {
            buffers.add(data.len())?.copy_from_slice(data);
        }
        Ok(buffers)
    }

    /// One more, of zeros.
    fn add(&mut self, len: usize) -> Result<&mut [u8]> {
        let size = len.max(1).next_multiple_of(HUGE_PAGE);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping, of which no other reference exists.
        unsafe {
            let memory = libc::mmap(
                std::ptr::null_mut(),
                size + HUGE_PAGE,
                libc::PROT_READ | libc::PROT_WRITE,
                flags,
                -1,
                0,
            );
            if memory == libc::MAP_FAILED {
                return Err(format!("no memory of {len} bytes").into());
            }
            let aligned = (memory as usize).next_multiple_of(HUGE_PAGE) as *mut u8;
            libc::madvise(aligned.cast(), size, libc::MADV_HUGEPAGE);
            // The pages are there before anything is timed.
            std::ptr::write_bytes(aligned, 0, size);
            self.0.push((memory.cast(), aligned as usize - memory as usize, len));
            Ok(std::slice::from_raw_parts_mut(aligned, len))
        }
    }

    fn pointer(&self, number: usize) -> *mut u8 {
        let (memory, offset, _) = self.0[number];
        memory.wrapping_add(offset)
    }

    /// The numbers of a buffer.
    ///
    /// # Safety
    /// Nobody writes them meanwhile.
    pub unsafe fn read<T: Copy>(&self, number: usize) -> &[T] {
        // SAFETY: the caller's promise; buffers are aligned to pages.
        unsafe { std::slice::from_raw_parts(self.pointer(number).cast(), self.0[number].2 / size_of::<T>()) }
    }

    /// Numbers of a buffer, to change.
    ///
    /// # Safety
    /// Nobody else has them meanwhile.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn write<T: Copy>(&self, number: usize) -> &mut [T] {
        // SAFETY: the caller's promise; buffers are aligned to pages.
        unsafe {
            std::slice::from_raw_parts_mut(self.pointer(number).cast(), self.0[number].2 / size_of::<T>())
        }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        for &(memory, _, len) in &self.0 {
            // SAFETY: mapped with this size.
            unsafe { libc::munmap(memory.cast(), len.max(1).next_multiple_of(HUGE_PAGE) + HUGE_PAGE) };
        }
    }
}

/// A loop's part, as threads run it.
type Job = Arc<dyn Fn(usize, usize) + Send + Sync>;

/// What the threads of a team are told.
#[derive(Default)]
struct Orders {
    job: Option<Job>,
    /// Counts jobs.
    number: u64,
    running: usize,
}

/// Threads that wait for work, one a core but for the caller's.
struct Team {
    state: Arc<(Mutex<Orders>, Condvar, Condvar)>,
    parts: usize,
}

impl Team {
    fn new() -> Team {
        let parts = thread::available_parallelism().map_or(1, usize::from);
        let state = Arc::new((Mutex::new(Orders::default()), Condvar::new(), Condvar::new()));
        for part in 1..parts {
            let state = Arc::clone(&state);
            // They wait until the process ends.
            thread::spawn(move || {
                let (orders, begin, end) = &*state;
                let mut seen = 0;
                loop {
                    let mut orders_now = orders.lock().expect("no thread panics with it");
                    while orders_now.number == seen {
                        orders_now = begin.wait(orders_now).expect("as above");
                    }
                    seen = orders_now.number;
                    let job = orders_now.job.clone();
                    drop(orders_now);
                    if let Some(job) = job {
                        job(part, parts);
                    }
                    orders.lock().expect("as above").running -= 1;
                    end.notify_one();
                }
            });
        }
        Team { state, parts }
    }

    fn run(&self, job: &Job) {
        let (orders, begin, end) = &*self.state;
        let mut now = orders.lock().expect("no thread panics with it");
        (now.job, now.number, now.running) = (Some(Arc::clone(job)), now.number + 1, self.parts - 1);
        drop(now);
        begin.notify_all();
        job(0, self.parts);
        let mut now = orders.lock().expect("as above");
        while now.running > 0 {
            now = end.wait(now).expect("as above");
        }
        now.job = None;
    }
}

/// The limit as a competitor.
pub struct Native {
    team: Arc<Team>,
}

impl Native {
    pub fn new() -> Native {
        Native { team: Arc::new(Team::new()) }
    }
}

impl Default for Native {
    fn default() -> Native {
        Native::new()
    }
}

struct Ready {
    team: Arc<Team>,
    job: Job,
    buffers: Arc<Buffers>,
    has_results: bool,
}

/// Reads, changes and writes so much, in pieces that stay in order, with stores past the caches or not.
fn traffic(buffers: &Arc<Buffers>, stream: bool) -> Job {
    let buffers = Arc::clone(buffers);
    Arc::new(move |part, parts| {
        let pieces = [0, 1, 2].map(|number| {
            let len = buffers.0[number].2 / simd::CHUNK / parts;
            (buffers.pointer(number).wrapping_add(part * len * simd::CHUNK), len)
        });
        // SAFETY: parts do not overlap, and lie inside of the buffers.
        unsafe { simd::traffic(pieces, stream) }
    })
}

/// Multiplications and additions in registers.
fn multiplications(count: u64, double: bool) -> Job {
    let never = AtomicBool::new(false);
    Arc::new(move |_, parts| {
        // What is computed is looked at, so that it has to be computed.
        if simd::multiplications(count / parts as u64, double) {
            never.store(true, Ordering::Relaxed);
        }
    })
}

impl Backend for Native {
    fn name(&self) -> &'static str {
        "limit"
    }

    fn version(&self) -> String {
        format!("{} on {} threads", simd::name(), self.team.parts)
    }

    fn prepare(&self, case: &Case) -> Result<Option<(Box<dyn Prepared>, Instant)>> {
        if !simd::supported() {
            return Ok(None);
        }
        let team = Arc::clone(&self.team);
        let start = Instant::now();
        let (job, buffers, has_results) = match &case.limit {
            Limit::Unknown => return Ok(None),
            Limit::Filter => return images::prepare(case),
            Limit::Memory { read, update, write } => {
                let mut buffers = Buffers(Vec::new());
                for size in [read, update, write] {
                    buffers.add(*size)?;
                }
                let buffers = Arc::new(buffers);
                let jobs = [false, true].map(|stream| traffic(&buffers, stream));
                // Whichever is faster here.
                let times = jobs.each_ref().map(|job| {
                    let time = |_| {
                        let start = Instant::now();
                        team.run(job);
                        start.elapsed()
                    };
                    (0..5).map(time).min()
                });
                let [plain, stream] = jobs;
                (if times[1] < times[0] { stream } else { plain }, buffers, false)
            }
            Limit::Multiplications(count) | Limit::DoubleMultiplications(count) => {
                let double = matches!(case.limit, Limit::DoubleMultiplications(_));
                (multiplications(*count, double), Arc::new(Buffers(Vec::new())), false)
            }
            Limit::Loop(work) => {
                let buffers = Arc::new(Buffers::new(&case.buffers)?);
                let (work, on) = (Arc::clone(work), Arc::clone(&buffers));
                let job: Job = Arc::new(move |part, parts| work(&on, part, parts));
                (job, buffers, true)
            }
        };
        Ok(Some((Box::new(Ready { team, job, buffers, has_results }), start)))
    }
}

impl Prepared for Ready {
    fn launch(&self) -> Result<()> {
        self.team.run(&self.job);
        Ok(())
    }

    fn buffers(&self) -> Vec<&[u8]> {
        // SAFETY: the threads of the team wait.
        (0..self.buffers.0.len()).map(|number| unsafe { self.buffers.read(number) }).collect()
    }

    fn has_results(&self) -> bool {
        self.has_results
    }
}
