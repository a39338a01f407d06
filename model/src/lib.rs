//! The model of what threads do with signals, events and streams: the driver's own source files, compiled with atomics, locks and
//! threads whose interleaving `shuttle` decides.
//!
//! `signal`, `stream`, `command`, `event`, `activity` and `futex` are the files of `ze-core` and `engine`, not copies. What stands in
//! their place here is what they rest on: [`sync`] and [`fork`] (the same names over `shuttle`'s types), [`clock`] (time passes when
//! the exploration says so) and [`operation`] (what commands do is to be seen by the test). Sequential consistency is assumed, as
//! `shuttle` does: the orderings of single atomics are `ThreadSanitizer`'s to judge.
//!
//! [`explore`] runs a program of the tests many times, each time with other choices of which thread goes on, and of everything the
//! program draws by [`below`]. A thread that waits for ever is a failure, and `shuttle` prints a schedule that repeats it.
// The driver's files have tests of their own, for real threads: not here.
#![cfg(not(test))]
#![allow(dead_code, reason = "of the driver's files, the model needs a part only")]

pub mod clock;
pub mod error;
pub mod fork;
pub mod operation;
pub mod sync;

#[path = "../../ze-core/src/command.rs"]
pub mod command;
#[path = "../../ze-core/src/event/state.rs"]
pub mod event;
#[path = "../../engine/src/futex.rs"]
pub mod futex;
#[path = "../../ze-core/src/signal/mod.rs"]
pub mod signal;
#[path = "../../ze-core/src/stream/mod.rs"]
pub mod stream;

#[path = "../../ze-core/src/sysman/activity.rs"]
pub mod activity;
#[path = "../../ze-core/src/metrics/usage.rs"]
pub mod usage;

mod metrics {
    pub(crate) use crate::usage;
}

mod sysman {
    pub(crate) use crate::activity;
}

use shuttle::rand::Rng;
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};

/// Bytes of a thread's stack.
const STACK: usize = 256 << 10;
/// Switches after which an execution is taken to go on for ever.
const MOST_STEPS: usize = 1_000_000;
/// Bugs need few preemptions in the right places (Burckhardt et al., ASPLOS 2010): this many.
const PREEMPTIONS: usize = 3;

/// Runs `program` so many times: one half with threads chosen at random, one half with random priorities that change a few times.
/// `ZE_MODEL_FACTOR` makes it more.
pub fn explore(executions: usize, program: impl Fn() + Send + Sync + Copy + 'static) {
    let factor = std::env::var("ZE_MODEL_FACTOR").ok().and_then(|factor| factor.parse().ok()).unwrap_or(1);
    let half = (executions * factor).div_ceil(2);
    run(RandomScheduler::new_from_seed(1, half), program);
    run(PctScheduler::new_from_seed(2, PREEMPTIONS, half), program);
}

fn run(scheduler: impl Scheduler + 'static, program: impl Fn() + Send + Sync + 'static) {
    let mut config = Config::new();
    config.stack_size = STACK;
    config.max_steps = MaxSteps::FailAfter(MOST_STEPS);
    config.failure_persistence = FailurePersistence::Print;
    config.silence_warnings = true;
    let program = move || {
        sync::begin();
        fork::begin();
        clock::begin();
        program();
        clock::end();
        sync::end();
    };
    Runner::new(scheduler, config).run(program);
}

/// A number below `end`, part of what is explored.
pub fn below(end: usize) -> usize {
    shuttle::rand::thread_rng().gen_range(0..end)
}

/// A choice that is taken once in so many times.
pub fn once_in(times: usize) -> bool {
    below(times) == 0
}
