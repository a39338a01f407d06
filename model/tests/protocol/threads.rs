//! Threads of a program that append, wait and help each other: every command is executed once, behind what it waits for, and nobody
//! waits for ever.

use crate::{Log, command, stream, work};
use shuttle::thread;
use std::sync::Arc;
use ze_model::event::EventState;
use ze_model::futex::Deadline;
use ze_model::operation::Operation;
use ze_model::signal::{EngineId, Signal};
use ze_model::stream::{Stream, Work};
use ze_model::sync::{AtomicUsize, Ordering};
use ze_model::{below, explore, once_in};

const COMMANDS: usize = 7;
const THREADS: usize = 3;

/// Commands in an order in which they could be executed one after the other: each waits for earlier ones only, so a program that hangs
/// does so by the driver's fault.
struct Program {
    events: Vec<EventState>,
    steps: Vec<Step>,
    log: Log,
}

struct Step {
    thread: usize,
    waits: Vec<usize>,
    /// What the thread waits for before it appends.
    host_waits: Option<usize>,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Barrier,
    Work,
    /// A function of the program that waits for an earlier command, if there is one.
    Waiting,
    /// A function of the program that does not.
    Function,
    Failing,
}

impl Program {
    fn draw(failures: bool) -> Arc<Self> {
        let steps = (0..COMMANDS).map(|at| {
            let earlier = |most: usize| (0..below(most + 1).min(at)).map(|_| below(at)).collect::<Vec<_>>();
            let kind = [Kind::Barrier, Kind::Work, Kind::Work, Kind::Waiting, Kind::Function][below(5)];
            let kind = if failures && once_in(5) { Kind::Failing } else { kind };
            Step { thread: below(THREADS), waits: earlier(2), host_waits: earlier(1).pop(), kind }
        });
        let events = (0..COMMANDS).map(|_| {
            if once_in(2) {
                EventState::flag(Signal::flag())
            } else {
                EventState::counter_based(Signal::completion())
            }
        });
        Arc::new(Self { events: events.collect(), steps: steps.collect(), log: Log::default() })
    }

    /// A host waits for a command that perhaps is not appended yet.
    fn wait(&self, at: usize) -> bool {
        let event = &self.events[at];
        let signal = event.current();
        if once_in(3) {
            while event.wait(&signal, Deadline::after(1_000_000)).is_err() && signal.outcome().is_ok() {
                thread::yield_now();
            }
        }
        if once_in(4) {
            // As who does not help: a thread that knows no stream.
            return signal.wait(Deadline::Never).is_ok();
        }
        event.wait(&signal, Deadline::Never).is_ok()
    }

    /// Whether nothing failed that the thread has learned of.
    fn append(self: &Arc<Self>, at: usize, stream: &Arc<Stream>) -> bool {
        let step = &self.steps[at];
        let program = Arc::clone(self);
        let operation = match step.kind {
            Kind::Barrier => Operation::Barrier,
            Kind::Failing => Operation::Failing,
            Kind::Work => work(move || program.log.add(at)),
            Kind::Function => Operation::HostFunction(Arc::new(move || {
                assert_eq!(
                    thread::current().name(),
                    Some("ze_cpu queue"),
                    "a thread that waits calls nobody back"
                );
                program.log.add(at);
            })),
            Kind::Waiting => {
                let earlier = (at > 0).then(|| below(at));
                Operation::HostFunction(Arc::new(move || {
                    if let Some(earlier) = earlier {
                        program.wait(earlier);
                    }
                    program.log.add(at);
                }))
            }
        };
        let waits: Vec<Arc<Signal>> = step.waits.iter().map(|&at| self.events[at].current()).collect();
        // What waiting threads have looked at already stays what the event stands for.
        let signal = self.events[at].signalled_by(Some(stream), Arc::clone);
        let command = command(operation, &waits, Some(&signal));
        if once_in(3) {
            return stream.submit_and_wait(Work::One(command)).is_ok();
        }
        let work =
            if once_in(2) { Work::One(command) } else { Work::list([Arc::new([command].into())].into()) };
        stream.submit(work);
        true
    }

    /// Each thread appends its commands to a stream of its own.
    fn run(self: &Arc<Self>) -> bool {
        let engines = [EngineId::new(), EngineId::new()];
        let streams: Vec<_> = (0..THREADS).map(|_| stream(engines[below(2)])).collect();
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (program, stream) = (Arc::clone(self), Arc::clone(&streams[thread]));
                thread::spawn(move || {
                    let own = (0..COMMANDS).filter(|&at| program.steps[at].thread == thread);
                    let waited = own.map(|at| {
                        let waited = program.steps[at].host_waits.is_none_or(|earlier| program.wait(earlier));
                        program.append(at, &stream) & waited
                    });
                    let waited = waited.fold(true, |all, one| all & one);
                    stream.synchronize(u64::MAX).is_ok() & waited
                })
            })
            .collect();
        let done = threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .fold(true, |all, one| all & one);
        for at in 0..COMMANDS {
            self.wait(at);
        }
        streams.iter().fold(done, |all, stream| stream.synchronize(u64::MAX).is_ok() & all)
    }

    /// Whether a command leaves an entry in the log.
    fn is_logged(&self, at: usize) -> bool {
        !matches!(self.steps[at].kind, Kind::Barrier | Kind::Failing)
    }
}

#[test]
fn every_command_is_executed_once_and_behind_what_it_waits_for() {
    explore(6000, || {
        let program = Program::draw(false);
        assert!(program.run(), "nothing fails");
        for (at, step) in program.steps.iter().enumerate().filter(|(at, _)| program.is_logged(*at)) {
            let place = program.log.place(at);
            let before = step.waits.iter().filter(|&&earlier| program.is_logged(earlier));
            before.for_each(|&earlier| {
                assert!(program.log.place(earlier) < place, "{at} did not wait for {earlier}")
            });
        }
    });
}

#[test]
fn what_fails_is_told_and_keeps_nobody_waiting() {
    explore(3000, || {
        let program = Program::draw(true);
        let failing = program.steps.iter().any(|step| step.kind == Kind::Failing);
        assert_eq!(program.run(), !failing);
        let entries = program.log.entries();
        assert!((0..COMMANDS).all(|at| entries.iter().filter(|&&own| own == at).count() <= 1));
    });
}

#[test]
fn a_stream_executes_one_command_at_a_time_whoever_submits() {
    explore(3000, || {
        let shared = stream(EngineId::new());
        let inside = Arc::new(AtomicUsize::new(0));
        let log = Log::default();
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (shared, inside, log) = (Arc::clone(&shared), Arc::clone(&inside), log.clone());
                thread::spawn(move || {
                    // Who waits without helping relies on who executes at the moment.
                    let helps = once_in(2);
                    for round in 0..2 {
                        let (inside, log) = (Arc::clone(&inside), log.clone());
                        let operation = work(move || {
                            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two at a time");
                            log.add(2 * thread + round);
                            inside.fetch_sub(1, Ordering::SeqCst);
                        });
                        let done = Signal::flag();
                        shared.submit(Work::One(command(operation, None, Some(&done))));
                        if helps {
                            assert!(shared.synchronize(u64::MAX).is_ok());
                        }
                        assert!(done.wait(Deadline::Never).is_ok());
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().expect("no failure"));
        (0..THREADS).for_each(|thread| assert!(log.place(2 * thread) < log.place(2 * thread + 1)));
    });
}
