//! The streams of an engine act on events as if their commands came one after the other, in the order of submission.

use crate::{Log, command, stream, work};
use shuttle::thread;
use std::sync::Arc;
use ze_model::operation::Operation;
use ze_model::signal::{EngineId, Signal};
use ze_model::stream::{Stream, Work};
use ze_model::{below, explore};

const STREAMS: usize = 3;
const FLAGS: usize = 2;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Act {
    Signal(usize),
    Wait(usize),
    Reset(usize),
}

/// A command, and the stream that it goes to.
type Step = (usize, Act);

/// For each wait of a program, the signals of its epoch that it may see; `None` if a real engine would wait for ever.
fn seen(program: &[Step]) -> Option<Vec<Vec<usize>>> {
    let wait = |at: usize, flag| {
        let is_reset = |&(_, act): &Step| act == Act::Reset(flag);
        let begin = program[..at].iter().rposition(is_reset).map_or(0, |at| at + 1);
        let end = program[at..].iter().position(is_reset).map_or(program.len(), |end| at + end);
        let signals: Vec<usize> = (begin..end).filter(|&at| program[at].1 == Act::Signal(flag)).collect();
        signals.first().is_some_and(|first| *first < at).then_some(signals)
    };
    let seen = program.iter().enumerate().map(|(at, (_, act))| match *act {
        Act::Wait(flag) => wait(at, flag),
        Act::Signal(_) | Act::Reset(_) => Some(Vec::new()),
    });
    seen.collect()
}

/// A program that a real engine executes to its end, in which there is a reset and a wait.
fn draw() -> (Vec<Step>, Vec<Vec<usize>>) {
    loop {
        let program: Vec<Step> = (0..3 + below(6))
            .map(|_| {
                let flag = below(FLAGS);
                (below(STREAMS), [Act::Signal(flag), Act::Wait(flag), Act::Reset(flag)][below(3)])
            })
            .collect();
        let resets = program.iter().any(|(_, act)| matches!(act, Act::Reset(_)));
        if let Some(seen) = seen(&program)
            && resets
            && seen.iter().any(|signals| !signals.is_empty())
        {
            return (program, seen);
        }
    }
}

/// Submits a program, some neighbours of a stream as one list, while other threads wait for streams; checks what was executed when.
fn run(program: &[Step], seen: &[Vec<usize>]) {
    let engine = EngineId::new();
    let streams: Vec<Arc<Stream>> = (0..STREAMS).map(|_| stream(engine)).collect();
    let flags: Vec<Arc<Signal>> = (0..FLAGS).map(|_| Signal::flag()).collect();
    let log = Log::default();
    let step = |at: usize| {
        let own = log.clone();
        match program[at].1 {
            Act::Signal(flag) => command(work(move || own.add(at)), None, Some(&flags[flag])),
            Act::Wait(flag) => command(work(move || own.add(at)), [&flags[flag]], None),
            Act::Reset(flag) => command(Operation::ResetEvent(Arc::clone(&flags[flag])), None, None),
        }
    };
    let helpers: Vec<_> = (0..below(3))
        .map(|_| {
            let stream = Arc::clone(&streams[below(STREAMS)]);
            thread::spawn(move || assert!(stream.synchronize(u64::MAX).is_ok()))
        })
        .collect();
    let mut at = 0;
    while at < program.len() {
        let own = program[at].0;
        let same = program[at..].iter().take_while(|(stream, _)| *stream == own).count();
        let length = 1 + below(same);
        if length == 1 && below(2) == 0 {
            streams[own].submit(Work::One(step(at)));
        } else {
            // Each command in a piece of its own, as those of mutable lists are.
            let pieces = (at..at + length).map(|at| Arc::new([step(at)].into())).collect();
            streams[own].submit(Work::list(pieces));
        }
        at += length;
    }
    helpers.into_iter().for_each(|helper| helper.join().expect("no failure"));
    streams.iter().for_each(|stream| assert!(stream.synchronize(u64::MAX).is_ok()));
    for (at, signals) in seen.iter().enumerate().filter(|(_, signals)| !signals.is_empty()) {
        let own = log.place(at);
        assert!(
            signals.iter().any(|&signal| log.place(signal) < own),
            "{program:?}: {at} did not wait: {:?}",
            log.entries()
        );
    }
    for stream in 0..STREAMS {
        let own: Vec<usize> = log.entries().into_iter().filter(|&at| program[at].0 == stream).collect();
        assert!(own.is_sorted(), "{program:?}: a stream is executed in its order, not {own:?}");
    }
    for (flag, signal) in flags.iter().enumerate() {
        let acts = program.iter().rev().map(|(_, act)| *act);
        let last =
            acts.into_iter().find(|act| matches!(act, Act::Signal(own) | Act::Reset(own) if *own == flag));
        assert_eq!(
            signal.is_signalled(),
            last == Some(Act::Signal(flag)),
            "{program:?}: flag {flag} at the end"
        );
    }
}

#[test]
fn every_program_acts_on_events_as_if_its_commands_came_one_after_the_other() {
    explore(6000, || {
        let (program, seen) = draw();
        run(&program, &seen);
    });
}

/// What a replayed SYCL graph does: each time a list on a queue resets an event, one signals it, and an immediate list waits for it.
#[test]
fn replays_whose_waits_are_in_another_stream_stay_in_step() {
    explore(1000, || {
        let replay = [(0, Act::Reset(0)), (0, Act::Signal(0)), (1, Act::Wait(0))];
        let program: Vec<Step> = replay.iter().cycle().take(3 * replay.len()).copied().collect();
        let seen = seen(&program).expect("an engine executes it");
        run(&program, &seen);
    });
}
