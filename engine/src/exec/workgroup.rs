//! One thread's part of a launch: its memory, and running a range of work-groups with it.

use super::coroutine::{Groups, Progress, Ring, STACK_RESERVE, idle_worker, no_barrier};
use super::failure::{self, Failure};
use super::launch::{Code, CompiledEntry};
use super::order::{Order, Run};
use crate::abi::{LaunchInfo, Worker};
use crate::error::EngineError;
use crate::pages::{Pages, page_size};
use std::cell::Cell;
use std::ops::Range;

/// Of local memory (`abi::Worker::local_memory`).
pub const LOCAL_ALIGN: usize = 128;
/// Scratch for each sub-group, and once more (`abi::Worker::collective_scratch`).
const SCRATCH_BYTES: u64 = 128;
/// Memory beyond this is given back after the launch that needed it.
const KEEP_BYTES: usize = 16 << 20;

/// Whether bundles need stacks of their own.
fn needs_ring(code: &Code, bundles: u32) -> bool {
    let info = code.info();
    info.has_launch_barrier || (info.has_barrier && bundles > 1)
}

/// What code is given for its own frames at least, so that better code, which may have a buffer on the stack, can go on in the middle of a launch.
const LEAST_STACK: u64 = 32 << 10;

/// Stack that running work-groups takes of the thread that does it: what the code takes, if it runs there, and as much for
/// the math library and `printf` as coroutines have.
pub(super) fn stack_bytes(code: &Code, needs: &Needs) -> usize {
    let own = if needs.stack_bytes.is_some() { 0 } else { code.info().stack_bytes.max(LEAST_STACK) };
    usize::try_from(own.saturating_add(STACK_RESERVE)).unwrap_or(usize::MAX)
}

/// What each thread needs to run a work-group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Needs {
    pub local_bytes: u64,
    pub private_bytes: u64,
    pub subgroups: u32,
    /// Sub-groups that run side by side count once.
    pub bundles: u32,
    /// Stack of each coroutine; `None` without coroutines.
    pub stack_bytes: Option<u64>,
}

impl Needs {
    /// What `code` needs for a group with `local_bytes` of local memory.
    pub fn of(code: &Code, local_bytes: u64, subgroups: u32) -> Needs {
        let info = code.info();
        let bundles = subgroups / info.factor;
        Needs {
            local_bytes,
            private_bytes: info.private_bytes.saturating_mul(u64::from(subgroups)),
            subgroups,
            bundles,
            stack_bytes: needs_ring(code, bundles).then_some(info.stack_bytes),
        }
    }
}

/// A thread's memory for work-groups, kept between launches.
#[derive(Default)]
pub struct Workspace {
    local: Block,
    private: Block,
    scratch: Block,
    ring: Option<Ring>,
}

thread_local! {
    static IDLE: Cell<Option<Box<Workspace>>> = const { Cell::new(None) };
}

impl Workspace {
    /// The calling thread's workspace, with at least what is needed. Give it back with [`release`](Self::release).
    pub fn acquire(needs: &Needs, kernel: &str) -> Result<Box<Workspace>, EngineError> {
        // None if the thread is in the middle of another launch, or is ending.
        let kept = IDLE.try_with(Cell::take).ok().flatten();
        let mut workspace = kept.unwrap_or_default();
        workspace.provide(needs).map_err(|(what, bytes)| EngineError::OutOfMemory {
            kernel: kernel.to_owned(),
            what,
            bytes,
        })?;
        Ok(workspace)
    }

    /// A workspace for one work-group that runs beside others, with what is needed and no more.
    pub fn alone(needs: &Needs, kernel: &str) -> Result<Workspace, EngineError> {
        let mut workspace = Workspace::default();
        let stack_bytes = needs.stack_bytes.unwrap_or(0);
        let stacks = Ring::exact(needs.bundles, stack_bytes)
            .map_err(|_| ("stacks", stack_bytes.saturating_mul(u64::from(needs.bundles))));
        let provided = stacks.and_then(|ring| {
            workspace.ring = Some(ring);
            workspace.provide(needs)
        });
        provided.map(|()| workspace).map_err(|(what, bytes)| EngineError::OutOfMemory {
            kernel: kernel.to_owned(),
            what,
            bytes,
        })
    }

    /// Begins a work-group that waits for others of its launch.
    ///
    /// # Safety
    /// As [`run`](Self::run); and what it is given stays where it is until the work-group has ended.
    pub unsafe fn begin(
        &mut self,
        code: &Code,
        info: &LaunchInfo,
        group: u64,
        failure: &Failure,
    ) -> Progress {
        let bundles = info.subgroups / code.info().factor;
        self.zero_local(code);
        let worker = self.worker(code, failure);
        match (code.entry(), &mut self.ring) {
            (CompiledEntry::Bundle(entry), Some(ring)) => {
                let groups =
                    Groups { entry, info, bundles, order: Order::linear(), places: group..group + 1 };
                // SAFETY: passed on to the caller.
                unsafe { ring.run(&groups, &worker) }
            }
            _ => unreachable!("code with such a barrier runs in a ring"),
        }
    }

    /// Goes on with the work-group that was begun.
    ///
    /// # Safety
    /// As [`begin`](Self::begin), which returned that it waits, as did this since.
    pub unsafe fn resume(&mut self) -> Progress {
        // SAFETY: passed on to the caller.
        self.ring.as_mut().map_or(Progress::Ended, |ring| unsafe { ring.resume() })
    }

    fn worker(&mut self, code: &Code, failure: &Failure) -> Worker {
        Worker {
            local_memory: self.local.as_ptr(),
            local_bytes: self.local.len as u64,
            private_memory: self.private.as_ptr(),
            collective_scratch: self.scratch.as_ptr(),
            barrier: no_barrier,
            call_room: code.info().call_room,
            failure,
            ..idle_worker()
        }
    }

    /// Keeps the workspace for the thread's next launch.
    pub fn release(mut self: Box<Self>) {
        for block in [&mut self.local, &mut self.private, &mut self.scratch] {
            if block.len > KEEP_BYTES {
                *block = Block::default();
            }
        }
        let _ = IDLE.try_with(|idle| idle.set(Some(self)));
    }

    /// Has at least what is needed; contents are lost.
    pub(super) fn provide(&mut self, needs: &Needs) -> Result<(), (&'static str, u64)> {
        let scratch = (u64::from(needs.subgroups) + 1) * SCRATCH_BYTES;
        self.local
            .provide(needs.local_bytes.max(1), Edge::Readable)
            .ok_or(("local memory", needs.local_bytes))?;
        self.private
            .provide(needs.private_bytes, Edge::Guard)
            .ok_or(("private memory", needs.private_bytes))?;
        self.scratch.provide(scratch, Edge::Guard).ok_or(("scratch", scratch))?;
        let Some(stack_bytes) = needs.stack_bytes else { return Ok(()) };
        let failed = |_| ("stacks", stack_bytes.saturating_mul(u64::from(needs.bundles)));
        match self.ring.as_mut().filter(|ring| ring.has_stack(stack_bytes)) {
            Some(ring) => ring.reserve(needs.bundles).map_err(failed),
            None => {
                self.ring = Some(Ring::new(needs.bundles, stack_bytes).map_err(failed)?);
                Ok(())
            }
        }
    }

    /// Runs the work-groups in these places of an order, unless the launch has failed; `failure` says if it does.
    ///
    /// # Safety
    /// `info` describes a launch of `code` with valid arguments, `order` is one of its work-groups, and the workspace was acquired
    /// with the code's needs.
    pub unsafe fn run(
        &mut self,
        code: &Code,
        info: &LaunchInfo,
        order: Order,
        places: Range<u64>,
        failure: &Failure,
    ) {
        let begins_as_zeros = code.info().zeroed_local[0] < code.info().zeroed_local[1];
        if begins_as_zeros && code.info().has_barrier {
            for place in places {
                self.zero_local(code);
                // SAFETY: passed on to the caller.
                unsafe { self.run_undefined(code, info, order, place..place + 1, failure) };
            }
        } else {
            // Code without barriers makes zeros of what a work-group has written.
            if begins_as_zeros {
                self.zero_local(code);
            }
            // SAFETY: passed on to the caller.
            unsafe { self.run_undefined(code, info, order, places, failure) };
        }
        if code.info().streams {
            // Stores past the caches are ordered by nothing less, and somebody is told of the work-groups' end next.
            #[cfg(target_arch = "x86_64")]
            // SAFETY: every such processor has the instruction.
            unsafe {
                std::arch::x86_64::_mm_sfence()
            };
        }
    }

    /// Zeroes what a work-group finds to be zeros.
    fn zero_local(&mut self, code: &Code) {
        let [start, end] = code.info().zeroed_local.map(|bound| (bound as usize).min(self.local.len));
        if start < end {
            // SAFETY: within the block; no work-group uses it at the moment.
            unsafe { self.local.as_ptr().add(start).write_bytes(0, end - start) };
        }
    }

    /// Runs work-groups whose local memory begins as whatever it is.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    unsafe fn run_undefined(
        &mut self,
        code: &Code,
        info: &LaunchInfo,
        order: Order,
        places: Range<u64>,
        failure: &Failure,
    ) {
        if failure.is_set() {
            return;
        }
        let bundles = info.subgroups / code.info().factor;
        let mut worker = self.worker(code, failure);
        // SAFETY: passed on to the caller. Compiled code owns nothing.
        unsafe {
            if let (CompiledEntry::Bundle(entry), Some(ring)) = (code.entry(), &mut self.ring)
                && needs_ring(code, bundles)
            {
                ring.run(&Groups { entry, info, bundles, order, places }, &worker);
                if failure.is_set() {
                    self.ring = None;
                }
                return;
            }
            let run = |worker: *mut Worker| {
                for Run { first, count, along_y } in order.runs(places) {
                    match code.entry() {
                        CompiledEntry::Range(entry) => entry(info, worker, first, count, along_y.into()),
                        CompiledEntry::Bundle(entry) => entry(info, worker, first, count, along_y.into(), 0),
                    }
                }
            };
            failure::enter(&mut worker, run);
        }
    }
}

/// Memory that only grows, between pages that nobody can access: what a kernel writes beyond its local or private memory is a fault of its own, and
/// no damage to what the process keeps beside it. GPUs give local memory in pieces of a kilobyte and more, and programs have come to rely on
/// those, so it is whole pages here.
#[derive(Default)]
struct Block {
    pages: Option<Pages>,
    /// Where it begins in its pages.
    start: usize,
    len: usize,
}

/// What lies next to a block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Edge {
    Guard,
    /// A page that can be read, and then the guard. Lanes that are off want nothing, but where they lie in a page that is not there, a processor
    /// takes hundreds of cycles to find that out: scans of a work-group (`if (l >= d) x = s[l - d];`) took 2 to 14 times as long.
    Readable,
}

impl Block {
    /// Makes it at least this large; contents are lost when it grows.
    fn provide(&mut self, bytes: u64, edge: Edge) -> Option<()> {
        let bytes = usize::try_from(bytes).ok()?;
        if bytes <= self.len {
            return Some(());
        }
        let page = page_size();
        let readable = if edge == Edge::Readable { page } else { 0 };
        let (start, len) = (page + readable, bytes.max(page).checked_next_power_of_two()?);
        *self = Block::default();
        let pages = Pages::new(len.checked_add(2 * start)?).ok()?;
        let end = start + len;
        for (edge, guard) in [(page..start, 0..page), (end..end + readable, end + readable..pages.len())] {
            pages.protect(edge.clone(), libc::PROT_READ).ok()?;
            pages.protect(guard, libc::PROT_NONE).ok()?;
            if !edge.is_empty() {
                // It is there once somebody has read it.
                // SAFETY: inside of the pages, which are ours, and can be read.
                unsafe { pages.base().add(edge.start).read_volatile() };
            }
        }
        *self = Block { pages: Some(pages), start, len };
        Some(())
    }

    fn as_ptr(&mut self) -> *mut u8 {
        // SAFETY: inside of the pages.
        self.pages
            .as_ref()
            .map_or(std::ptr::null_mut(), |pages| unsafe { pages.base().add(self.start) }.as_ptr())
    }
}

#[cfg(test)]
mod tests {
    use super::{Block, Edge};
    use crate::pages::page_size;

    #[test]
    fn lanes_that_are_off_may_lie_next_to_a_readable_block() {
        let mut block = Block::default();
        for bytes in [1, 5000, 3 * page_size() as u64] {
            block.provide(bytes, Edge::Readable).expect("there is room");
            let start = block.as_ptr();
            // SAFETY: the pages are there, and can be read.
            let around = unsafe {
                start.write_bytes(7, block.len);
                [
                    start.sub(1),
                    start.sub(page_size()),
                    start.add(block.len),
                    start.add(block.len + page_size() - 1),
                ]
                .map(|at| at.read_volatile())
            };
            assert_eq!(around, [0; 4]);
        }
    }
}
