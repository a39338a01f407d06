//! Counter-based events: who waits, waits for what was submitted last, also where a list is executed again and again.

use crate::{Log, command, stream, work};
use shuttle::thread;
use std::sync::Arc;
use ze_model::event::EventState;
use ze_model::futex::Deadline;
use ze_model::signal::{EngineId, Signal};
use ze_model::stream::Work;
use ze_model::{below, explore, once_in};

#[test]
fn a_list_that_is_executed_again_makes_its_event_wait_again() {
    explore(2000, || {
        let engine = EngineId::new();
        let (queue, other) = (stream(engine), stream(if once_in(2) { engine } else { EngineId::new() }));
        let event = EventState::counter_based(Signal::raised());
        let log = Log::default();
        let signal = event.signalled_by(None, |_| Signal::completion());
        let own = log.clone();
        let piece = Arc::new([command(work(move || own.add(0)), None, Some(&signal))].into());
        let helper = once_in(2).then(|| {
            let queue = Arc::clone(&queue);
            thread::spawn(move || assert!(queue.synchronize(u64::MAX).is_ok()))
        });
        let executed = |log: &Log| log.entries().iter().filter(|entry| **entry == 0).count();
        for round in 1..=3 {
            event.executed(&signal, &queue);
            queue.submit(Work::list([Arc::clone(&piece)].into()));
            // A command elsewhere sees this execution, and the ones before.
            let own = log.clone();
            let count = Arc::new(move || own.entries().iter().filter(|entry| **entry == 0).count());
            other.submit(Work::One(command(
                work(move || assert!(count() >= round)),
                [&event.current()],
                None,
            )));
            if once_in(2) {
                assert!(event.wait(&event.current(), Deadline::Never).is_ok());
                assert_eq!(executed(&log), round);
            }
        }
        assert!(event.wait(&event.current(), Deadline::Never).is_ok());
        assert_eq!(executed(&log), 3);
        assert!(other.synchronize(u64::MAX).is_ok());
        helper.into_iter().for_each(|helper| helper.join().expect("no failure"));
    });
}

#[test]
fn a_fence_comes_after_everything_before_it() {
    explore(2000, || {
        let queue = stream(EngineId::new());
        let log = Log::default();
        let gate = Signal::flag();
        let mut fences = Vec::new();
        for round in 0..3 {
            let own = log.clone();
            let waits = once_in(2).then_some(&gate);
            queue.submit(Work::One(command(work(move || own.add(round)), waits, None)));
            let fence = Signal::flag();
            queue.submit(Work::fence(Arc::clone(&fence)));
            fences.push(fence);
        }
        let raiser = thread::spawn(move || gate.raise());
        let first = below(3);
        assert!(fences[first].wait(Deadline::Never).is_ok());
        assert!(log.entries().len() > first);
        assert!(queue.synchronize(u64::MAX).is_ok() && fences.iter().all(|fence| fence.is_signalled()));
        assert_eq!(log.entries(), [0, 1, 2]);
        raiser.join().expect("no panic");
    });
}
