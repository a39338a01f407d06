//! The sub-groups of a work-group with barriers: one coroutine for each bundle, in a ring on one thread.
//!
//! A bundle is one sub-group, or several that run side by side (`abi::Coarsening`).
//!
//! A barrier resumes the next coroutine of the ring. Since every one goes on only when its turn comes again,
//! none passes a barrier before all have reached it, and a barrier costs each sub-group one switch.
//!
//! The coroutines are made once and serve one run of work-groups after the other, of whichever kernel: each waits, in
//! the ring, until there is a new run. Within one, compiled code goes from group to group: beginning it anew for each of
//! them took a quarter of the time of a group of 256 work-items. Whoever finishes a group last begins the next.

use super::fault::{self, Recovery};
use super::order::{Order, Run};
use super::switch::{StackPointer, Together, next_group, prepare, switch_stack, switch_to_next};
use crate::abi::{BundleEntry, LaunchInfo, Worker};
use crate::pages::{Pages, page_size};
use std::ffi::c_void;
use std::io;
use std::ops::Range;

/// Stack beyond what the kernel's own code takes: for the math library. Only what is touched takes
/// memory.
pub(super) const STACK_RESERVE: u64 = 256 << 10;
/// Coroutines that are made at a time.
const STACKS_A_REGION: usize = 16;
/// The tops of neighbouring stacks are this far apart modulo the page size, so that they share neither cache
/// sets nor the low address bits by which the CPU tells loads and stores apart.
const COLOUR_STRIDE: usize = 7 * 64;

/// What the coroutines of a ring share. They hold its address, so it is boxed.
#[repr(C)]
struct RingState {
    together: Together,
    /// The thread's own stack while coroutines run.
    main: StackPointer,
    entry: BundleEntry,
    info: *const LaunchInfo,
    order: Order,
    /// Of the work-groups behind the run, in the order.
    places: Range<u64>,
    run: Run,
    /// Bundles that have reached the launch's barrier.
    arrived: u32,
    /// All have, and the last one is suspended there.
    waits: bool,
    waiting: StackPointer,
}

impl RingState {
    /// Where the thread goes on after a fault of a coroutine.
    ///
    /// # Safety
    /// The state is there.
    unsafe fn recovery(state: *mut RingState) -> Recovery {
        // SAFETY: up to the caller.
        unsafe { Recovery { escape: &raw const (*state).main, failure: (*state).together.worker.failure } }
    }

    /// Takes the next run of work-groups, if there is one.
    fn begin_run(&mut self) -> bool {
        let Some(run) = self.order.run(self.places.clone()) else { return false };
        self.places.start += run.count;
        self.run = run;
        self.together.epoch += 1;
        true
    }
}

/// Coroutines that belong to a thread, suspended between launches.
pub struct Ring {
    state: Box<RingState>,
    /// Of the coroutines that are not in `ring`; the places of those that are hold nothing of use.
    suspended: Vec<StackPointer>,
    /// The stack pointers of the first `linked` coroutines, as `switch_to_next` wants them.
    ring: Vec<StackPointer>,
    linked: usize,
    regions: Vec<Region>,
    /// Stacks that are made at a time.
    stacks_a_region: usize,
    stack_bytes: usize,
}

// SAFETY: what the pointers lead to belongs to the ring. Compiled code keeps nothing of the thread that runs it, so a
// suspended coroutine goes on on any other.
unsafe impl Send for Ring {}

/// How far a ring has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// All work-groups have ended.
    Ended,
    /// The work-group waits for others of the launch.
    Waits,
}

/// The work-groups that a ring is to run.
pub struct Groups<'a> {
    pub entry: BundleEntry,
    pub info: &'a LaunchInfo,
    /// Bundles of a work-group.
    pub bundles: u32,
    pub order: Order,
    /// From the first to before the last.
    pub places: Range<u64>,
}

impl Ring {
    /// A ring with at least `count` coroutines of `stack_bytes` for the kernel's code.
    pub fn new(count: u32, stack_bytes: u64) -> io::Result<Ring> {
        Self::with_regions(count, stack_bytes, STACKS_A_REGION)
    }

    /// A ring with exactly `count` coroutines.
    pub fn exact(count: u32, stack_bytes: u64) -> io::Result<Ring> {
        Self::with_regions(count, stack_bytes, count.max(1) as usize)
    }

    fn with_regions(count: u32, stack_bytes: u64, stacks_a_region: usize) -> io::Result<Ring> {
        let bytes = usize::try_from(stack_bytes.saturating_add(STACK_RESERVE)).ok();
        // Few sizes, so that most kernels can use the ring of another.
        let bytes = bytes.and_then(usize::checked_next_power_of_two);
        let stack_bytes = bytes.ok_or(io::ErrorKind::OutOfMemory)?;
        let mut ring = Ring {
            state: Box::new(RingState {
                together: Together { worker: idle_worker(), bundles: 0, finished: 0, epoch: 0 },
                main: std::ptr::null_mut(),
                entry: no_entry,
                info: std::ptr::null(),
                order: Order::linear(),
                places: 0..0,
                run: Run { first: 0, count: 0, along_y: false },
                arrived: 0,
                waits: false,
                waiting: std::ptr::null_mut(),
            }),
            suspended: Vec::new(),
            ring: Vec::new(),
            linked: 0,
            regions: Vec::new(),
            stacks_a_region,
            stack_bytes,
        };
        ring.reserve(count)?;
        Ok(ring)
    }

    /// Whether the stacks have room for code that takes this many bytes.
    pub fn has_stack(&self, stack_bytes: u64) -> bool {
        stack_bytes.saturating_add(STACK_RESERVE) <= self.stack_bytes as u64
    }

    /// Makes coroutines until there are `count`.
    pub fn reserve(&mut self, count: u32) -> io::Result<()> {
        while self.suspended.len() < count as usize {
            let region = Region::new(self.stacks_a_region, self.stack_bytes)?;
            for at in 0..self.stacks_a_region {
                let index = self.suspended.len();
                let top = region.top(at, index * COLOUR_STRIDE % page_size());
                // SAFETY: there is a stack below `top`. The body never returns, and `state` lives as long as
                // the region.
                let stack = unsafe { prepare(top, body, (&raw mut *self.state).cast(), index) };
                self.suspended.push(stack);
            }
            self.regions.push(region);
        }
        Ok(())
    }

    /// Runs work-groups one after the other. `worker` has the thread's memory. If the launch fails, the ring is of no
    /// more use: its coroutines are in the middle of the kernel.
    ///
    /// # Safety
    /// The entry is code with barriers for this launch, and the worker's memory is as large as it needs.
    pub unsafe fn run(&mut self, groups: &Groups, worker: &Worker) -> Progress {
        let bundles = groups.bundles;
        assert!(bundles >= 1 && bundles as usize <= self.suspended.len());
        if groups.places.is_empty() {
            return Progress::Ended;
        }
        self.link(bundles as usize);
        let first = self.ring.as_mut_ptr();
        let state = &raw mut *self.state;
        // SAFETY: all coroutines are suspended in the ring or new; they run on this thread only, until the
        // last one switches back here.
        unsafe {
            (*state).together.worker = Worker {
                local_memory: worker.local_memory,
                local_bytes: worker.local_bytes,
                private_memory: worker.private_memory,
                collective_scratch: worker.collective_scratch,
                barrier: switch_to_next,
                launch_barrier: wait_for_launch,
                next_group,
                scheduler: first.cast::<c_void>(),
                call_room: worker.call_room,
                failure: worker.failure,
                escape: &raw mut (*state).main,
            };
            (*state).entry = groups.entry;
            (*state).info = groups.info;
            (*state).order = groups.order;
            (*state).places = groups.places.clone();
            (*state).together.bundles = bundles;
            (*state).begin_run();
            (*state).arrived = 0;
            (*state).waits = false;
            let recovery = RingState::recovery(state);
            fault::with(&recovery, || switch_stack(&raw mut (*state).main, *first));
        }
        self.progress()
    }

    /// Goes on behind the launch's barrier, which all its work-groups have reached or will not.
    ///
    /// # Safety
    /// The ring waits at that barrier, and what [`run`](Self::run) was given is still there.
    pub unsafe fn resume(&mut self) -> Progress {
        let state = &raw mut *self.state;
        // SAFETY: where it waits is suspended, and nobody else resumes it.
        unsafe {
            if std::mem::take(&mut (*state).waits) {
                let recovery = RingState::recovery(state);
                fault::with(&recovery, || switch_stack(&raw mut (*state).main, (*state).waiting));
            }
        }
        self.progress()
    }

    fn progress(&self) -> Progress {
        if self.state.waits { Progress::Waits } else { Progress::Ended }
    }

    /// Makes the ring out of the first `count` coroutines.
    fn link(&mut self, count: usize) {
        if self.linked == count {
            return;
        }
        self.suspended[..self.linked].copy_from_slice(&self.ring[..self.linked]);
        self.ring.clear();
        self.ring.extend_from_slice(&self.suspended[..count]);
        self.ring.push(std::ptr::null_mut());
        self.ring.reserve(1);
        self.ring.push(self.ring.as_ptr().cast_mut().cast());
        self.linked = count;
    }
}

/// What each coroutine does for ever.
unsafe extern "C" fn body(state: *mut u8, index: usize) -> ! {
    let state: *mut RingState = state.cast();
    let mut epoch = 0;
    loop {
        // SAFETY: the ring outlives its coroutines; only one of them runs at a time, on the ring's thread, and
        // the others read the fields again after every switch.
        unsafe {
            while (*state).together.epoch == epoch {
                switch_to_next(&raw mut (*state).together.worker);
            }
            let worker = &raw mut (*state).together.worker;
            let Run { first, count, along_y } = (*state).run;
            ((*state).entry)((*state).info, worker, first, count, along_y.into(), index as u32);
            // Of the run's last group, which none of the others has left.
            epoch = (*state).together.epoch;
            (*state).together.finished += 1;
            if (*state).together.finished == (*state).together.bundles {
                (*state).together.finished = 0;
                if !(*state).begin_run() {
                    switch_stack((*worker).scheduler.cast::<StackPointer>(), (*state).main);
                }
            }
        }
    }
}

/// The launch's barrier: when all bundles of the work-group have come, the thread goes on with other work-groups.
unsafe extern "C" fn wait_for_launch(worker: *mut Worker) {
    let state: *mut RingState = worker.cast();
    // SAFETY: a ring's worker is where its state begins. Of its coroutines only this one runs.
    unsafe {
        (*state).arrived += 1;
        if (*state).arrived < (*state).together.bundles {
            // Those that come after wait until the last has come, and go on in the order of the ring behind it.
            switch_to_next(worker);
        } else {
            (*state).arrived = 0;
            (*state).waits = true;
            switch_stack(&raw mut (*state).waiting, (*state).main);
        }
    }
}

/// A worker without memory and scheduler.
pub(super) fn idle_worker() -> Worker {
    Worker {
        local_memory: std::ptr::null_mut(),
        local_bytes: 0,
        private_memory: std::ptr::null_mut(),
        collective_scratch: std::ptr::null_mut(),
        barrier: no_barrier,
        next_group: no_barrier,
        scheduler: std::ptr::null_mut(),
        launch_barrier: no_barrier,
        call_room: 0,
        failure: std::ptr::null(),
        escape: std::ptr::null_mut(),
    }
}

/// The barrier of a work-group that is a single sub-group.
pub(super) unsafe extern "C" fn no_barrier(_: *mut Worker) {}

unsafe extern "C" fn no_entry(_: *const LaunchInfo, _: *mut Worker, _: u64, _: u64, _: u32, _: u32) {}

/// Stacks in one mapping, each above a guard page: a kernel that overflows its stack faults instead of
/// writing over its neighbour's.
pub(crate) struct Region {
    pages: Pages,
    stacks: usize,
    stride: usize,
}

impl Region {
    pub fn new(stacks: usize, stack_bytes: usize) -> io::Result<Region> {
        let guard = page_size();
        // Room for the colours, so that every stack has what was asked for.
        let stride = stack_bytes.checked_add(2 * guard).ok_or(io::ErrorKind::OutOfMemory)?;
        // An odd number of pages: tops a power of two apart would share a set of the address translation
        // cache, which doubles the time of a switch from 16 stacks on.
        let stride = stride + if (stride / guard).is_multiple_of(2) { guard } else { 0 };
        let bytes = stride.checked_mul(stacks).ok_or(io::ErrorKind::OutOfMemory)?;
        let pages = Pages::for_stacks(bytes)?;
        for at in 0..stacks {
            pages.protect(at * stride..at * stride + guard, libc::PROT_NONE)?;
        }
        Ok(Region { pages, stacks, stride })
    }

    /// The upper end of a stack, `colour` bytes below the end of its room.
    pub fn top(&self, at: usize, colour: usize) -> *mut u8 {
        assert!(at < self.stacks && colour < page_size());
        // SAFETY: inside the mapping: every stack has a page for the colours.
        unsafe { self.pages.base().add((at + 1) * self.stride - colour).as_ptr() }
    }
}
