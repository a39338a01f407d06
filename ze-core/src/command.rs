//! Commands: what a list records and a stream executes. What they wait for, signal and reset is here; what they do, in
//! [`crate::operation`].

use crate::clock;
use crate::error::Error;
use crate::metrics::usage::Usage;
use crate::operation::Operation;
use crate::signal::{EngineId, Outcome, Reason, Signal, Target, Timestamps, Waiter, Waiters};
use crate::sysman::activity::Work;
use smallvec::SmallVec;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Signals that a command waits for.
pub type Waits = SmallVec<[Arc<Signal>; 2]>;
/// Where a submitted command is in the order of each of its signals.
pub type Targets = SmallVec<[Target; 2]>;

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

    /// It is submitted to an engine: adds the targets of its waits, of its signal and of its reset, in this order.
    pub fn submit(&self, engine: EngineId, targets: &mut Targets) {
        targets.extend(self.waits.iter().map(|wait| wait.submit_wait(engine)));
        targets.extend(self.signal.iter().map(|signal| signal.submit_signal(engine)));
        targets.extend(self.reset().map(|signal| signal.submit_reset(engine)));
    }

    /// How many targets it has.
    pub fn targets(&self) -> usize {
        self.waits.len() + usize::from(self.signal.is_some()) + usize::from(self.reset().is_some())
    }

    fn reset(&self) -> Option<&Arc<Signal>> {
        self.operation.reset()
    }

    /// Whether it is ready if it is submitted now.
    pub fn is_ready_now(&self, engine: EngineId) -> bool {
        self.waits.iter().all(|wait| wait.is_reached(engine, &wait.submit_wait(engine)))
    }

    /// Whether nobody but the stream has to do with it: it waits for nothing, signals and resets nothing, and calls nobody.
    pub fn is_plain(&self) -> bool {
        self.targets() == 0 && !self.is_host_function()
    }

    /// What it signals, and the target of that.
    pub fn signal(&self, targets: &[Target]) -> Option<(Arc<Signal>, Target)> {
        let signal = self.signal.as_ref()?;
        Some((Arc::clone(signal), targets.get(self.waits.len())?.clone()))
    }

    /// Whether nothing that it waits for is missing.
    pub fn is_ready(&self, engine: EngineId, targets: &[Target]) -> bool {
        self.waits.iter().zip(targets).all(|(wait, target)| wait.is_reached(engine, target))
    }

    /// Has a waiter told when something has come that it waits for. False: nothing is missing.
    pub fn notify(&self, engine: EngineId, targets: &[Target], waiter: &Arc<dyn Waiter>) -> bool {
        self.waits.iter().zip(targets).any(|(wait, target)| wait.notify(engine, target, waiter))
    }

    pub fn signals(&self, signal: &Arc<Signal>) -> bool {
        self.signal.as_ref().is_some_and(|own| Arc::ptr_eq(own, signal))
    }

    /// Whether it calls back into the program.
    pub fn is_host_function(&self) -> bool {
        self.operation.is_host_function()
    }

    /// What it keeps busy; nothing where it only signals or calls back.
    pub fn work(&self) -> Option<Work> {
        self.operation.work()
    }

    /// Whether it takes less time than to wake another thread.
    pub fn is_instant(&self) -> bool {
        self.operation.is_instant()
    }

    /// Whether it ends whatever the program does meanwhile.
    pub fn surely_ends(&self) -> bool {
        self.operation.surely_ends()
    }

    /// Executes; whoever calls this then [`complete`](Self::complete)s the command, also where execution fails. A command
    /// that waited for a failed one, or that the stream must not execute any more (`lost` says why), fails for the same
    /// reason. What it does is counted where somebody measures.
    pub fn execute(
        &self,
        engine: EngineId,
        targets: &[Target],
        lost: Option<Reason>,
        usage: Option<&Usage>,
    ) -> Outcome {
        let start = self.signal.as_ref().map(|_| clock::now());
        // Resets are executed whatever failed: later commands count on them.
        if let (Some(signal), Some(target)) = (self.reset(), targets.last()) {
            signal.reset_by(engine, target);
        }
        let lost = lost.or_else(|| self.waits.iter().find_map(|wait| wait.outcome().err()));
        lost.map_or_else(|| self.operate(usage), Err)?;
        Ok(start.map_or_else(Timestamps::default, |start| Timestamps { start, end: clock::now() }))
    }

    /// Signals how the command ended: nobody is to wait for ever.
    pub fn complete(&self, engine: EngineId, targets: &[Target], outcome: Outcome) {
        if let (Some(signal), Some(target)) = (&self.signal, targets.get(self.waits.len())) {
            signal.complete(engine, target, outcome);
        }
    }

    /// It will not be executed. Who waits for what it signals is to be told.
    pub fn abandon(&self, engine: EngineId, targets: &[Target], reason: Reason) -> Waiters {
        let mut waiters = Waiters::default();
        if let (Some(signal), Some(target)) = (self.reset(), targets.last()) {
            waiters.extend(signal.taken_back(engine, target));
        }
        if let (Some(signal), Some(target)) = (&self.signal, targets.get(self.waits.len())) {
            waiters.extend(signal.completed(engine, target, Err(reason)));
        }
        waiters
    }

    fn operate(&self, usage: Option<&Usage>) -> std::result::Result<(), Reason> {
        // Destructors and locks of the interrupted code are the engine's to keep sound; a stream that stays
        // locked would hang the program instead.
        let result = catch_unwind(AssertUnwindSafe(|| self.operation.execute(usage)))
            .unwrap_or_else(|_| Err(Error::Unknown("a command panicked; see the log".into())));
        result.map_err(|error| {
            tracing::error!("a command failed: {error}");
            error.to_string().into()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" fn wait_for_the_program(_: *mut std::ffi::c_void) {}

    #[test]
    fn what_calls_back_into_the_program_may_wait_for_it() {
        let surely_ends = |operation| Command::new(operation, Waits::new(), None).surely_ends();
        assert!(surely_ends(Operation::Barrier));
        assert!(!surely_ends(Operation::HostFunction { function: wait_for_the_program, data: 0 }));
    }
}
