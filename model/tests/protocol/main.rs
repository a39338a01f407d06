//! What holds in every interleaving: programs of threads, streams and events, most of them drawn anew for each execution.

mod completions;
mod engine;
mod parts;
mod threads;

use std::sync::{Arc, Mutex};
use ze_model::below;
use ze_model::command::{Command, Waits};
use ze_model::operation::{Function, Operation};
use ze_model::signal::{EngineId, Signal};
use ze_model::stream::{Priority, Stream};

fn stream(engine: EngineId) -> Arc<Stream> {
    let priority = [Priority::Low, Priority::Normal, Priority::High][below(3)];
    Stream::with_priority(engine, &Arc::default(), priority)
}

fn command<'a>(
    operation: Operation,
    waits: impl IntoIterator<Item = &'a Arc<Signal>>,
    signal: Option<&Arc<Signal>>,
) -> Command {
    Command::new(operation, waits.into_iter().map(Arc::clone).collect::<Waits>(), signal.map(Arc::clone))
}

/// Something that a thread can be executing for a while, of any kind that streams tell apart but for functions of the program.
fn work(function: impl Fn() + Send + Sync + 'static) -> Operation {
    let function: Function = Arc::new(function);
    match below(3) {
        0 => Operation::Copy(function),
        1 => Operation::Launch(function),
        _ => Operation::Loop(function),
    }
}

/// What was executed, in its order. Locked by the standard library's lock, so that looking at it is no step of the exploration.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<usize>>>);

impl Log {
    fn add(&self, entry: usize) {
        self.0.lock().expect("no panic").push(entry);
    }

    fn entries(&self) -> Vec<usize> {
        self.0.lock().expect("no panic").clone()
    }

    /// Where in the order something was executed that was executed once.
    fn place(&self, entry: usize) -> usize {
        let entries = self.entries();
        let places: Vec<usize> = (0..entries.len()).filter(|&at| entries[at] == entry).collect();
        assert_eq!(places.len(), 1, "{entry} was executed {} times of {entries:?}", places.len());
        places[0]
    }
}
