//! Launches whose work-groups wait for each other (SYCL's root groups): all of them are in flight at once.
//!
//! Each work-group has memory and a ring of coroutines of its own. The launch goes through phases, from barrier to
//! barrier: in each, every work-group is taken by some thread, which runs it until it waits or ends. Nobody waits for a
//! thread: as in other launches, the launching one can do everything alone, and those of the pool help
//! where they have time, so that launches cannot keep each other from going on. A suspended work-group
//! goes on on whichever thread takes it next.

use super::caller_stack::with_room;
use super::coroutine::Progress;
use super::float_mode::KernelMode;
use super::launch::Code;
use super::scheduler::{Job, SHARED_FROM, SPIN, Scheduler};
use super::workgroup::{self, Needs, Workspace};
use crate::abi::LaunchInfo;
use crate::error::EngineError;
use crate::exec::failure::Failure;
use crate::futex::{Counter, Deadline};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Stacks of a launch at most. Each takes two of the mappings that the system grants a process (65,530 by default), and the memory of its work-group
/// up to eight.
const MOST_STACKS: u64 = 4096;
/// Memory of a launch's work-groups at most, in bytes.
const MOST_BYTES: u64 = 1 << 30;
/// What a stack takes beside the kernel's own frames: the pages that its ends lie in, and the switch's.
const STACK_BYTES: u64 = 16 << 10;

/// Work-groups that can be in flight at once: of code without the launch's barrier one, whatever else the machine does.
pub(crate) fn most_groups(code: &Code, needs: &Needs) -> u32 {
    if !code.info().has_launch_barrier {
        return 1;
    }
    let bundles = u64::from(needs.bundles.max(1));
    let stacks = bundles.saturating_mul(needs.stack_bytes.unwrap_or(0).saturating_add(STACK_BYTES));
    let bytes = stacks.saturating_add(needs.local_bytes).saturating_add(needs.private_bytes);
    let most = (MOST_STACKS / bundles).min(MOST_BYTES / bytes.max(1)).max(1);
    u32::try_from(most).unwrap_or(u32::MAX)
}

/// A work-group in flight.
struct Group {
    workspace: Workspace,
    progress: Option<Progress>,
}

/// Runs all work-groups of a launch, whose number is at most [`most_groups`].
///
/// # Safety
/// As [`Scheduler::run`].
pub(super) unsafe fn run(scheduler: &Scheduler, job: &Job) -> Result<(), EngineError> {
    let mut groups: Vec<Group> = Vec::new();
    for _ in 0..job.groups {
        let workspace = Workspace::alone(&job.needs, job.kernel)?;
        groups.push(Group { workspace, progress: None });
    }
    let phases = || {
        let _mode = KernelMode::enter();
        let mut shared = groups.len() > 1;
        while groups.iter().any(|group| group.progress != Some(Progress::Ended)) && !job.failure.is_set() {
            let start = Instant::now();
            // SAFETY: up to the caller.
            unsafe { phase(scheduler, job, &mut groups, shared) };
            shared = groups.len() > 1 && start.elapsed() >= SHARED_FROM;
        }
    };
    let result = with_room(workgroup::stack_bytes(job.code, &job.needs), phases);
    result.map_err(|error| {
        let reason = format!("a stack to run on: {error}");
        EngineError::OutOfHostMemory { kernel: job.kernel.to_owned(), reason }
    })
}

/// Brings every work-group to the next barrier, or to its end.
unsafe fn phase(scheduler: &Scheduler, job: &Job, groups: &mut [Group], shared: bool) {
    let phase = Arc::new(Phase {
        next: AtomicUsize::new(0),
        left: AtomicUsize::new(groups.len()),
        count: groups.len(),
        groups: groups.as_mut_ptr(),
        code: job.code,
        info: job.info,
        failure: job.failure,
        done: Counter::new(0),
    });
    if let Some(pool) = scheduler.pool().filter(|_| shared) {
        for _ in 0..pool.current_num_threads().min(groups.len() - 1) {
            let phase = Arc::clone(&phase);
            // SAFETY: work-groups are taken only while the launching thread waits for them.
            pool.spawn(move || unsafe { phase.take_part() });
        }
    }
    // SAFETY: up to the caller.
    unsafe { phase.take_part() };
    phase.wait();
}

/// What the threads of a phase share. The pointers may be used only by who has taken a work-group and not reported it:
/// the launching thread waits for that.
struct Phase {
    /// The first work-group that nobody has taken.
    next: AtomicUsize,
    /// Work-groups that have not come to the end of the phase.
    left: AtomicUsize,
    count: usize,
    groups: *mut Group,
    code: *const Code,
    info: *const LaunchInfo,
    failure: *const Failure,
    /// 1 when none is left.
    done: Counter,
}

// SAFETY: the pointers are used only as the structure says, each work-group by one thread.
unsafe impl Send for Phase {}
// SAFETY: as above.
unsafe impl Sync for Phase {}

impl Phase {
    unsafe fn take_part(&self) {
        loop {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            if at >= self.count {
                return;
            }
            // SAFETY: the work-group is ours, and the launch goes on until it is reported.
            unsafe {
                let group = &mut *self.groups.add(at);
                group.progress = Some(match group.progress {
                    None => group.workspace.begin(&*self.code, &*self.info, at as u64, &*self.failure),
                    Some(Progress::Waits) => group.workspace.resume(),
                    Some(Progress::Ended) => Progress::Ended,
                });
            }
            if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
                self.done.set(1);
            }
        }
    }

    /// Waits until all have come to the end of the phase.
    fn wait(&self) {
        let start = Instant::now();
        while self.left.load(Ordering::Acquire) > 0 {
            if start.elapsed() < SPIN {
                std::hint::spin_loop();
            } else {
                self.done.wait(Deadline::Never, |done| done != 0);
            }
        }
    }
}
