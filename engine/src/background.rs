//! Work that nobody waits for: one thread does it, piece by piece, and exists while there is some.

use crate::fork::{self, Mutex, PerProcess};
use std::collections::VecDeque;
use std::sync::Arc;

/// The thread waits for compilations, which have stacks of their own.
const STACK_BYTES: usize = 256 << 10;

/// Work to be done some time. A forked child has none of its parent's.
#[derive(Default)]
pub struct Background(PerProcess<Mutex<State>>);

#[derive(Default)]
struct State {
    queue: VecDeque<Box<dyn FnOnce() + Send>>,
    has_thread: bool,
}

impl Background {
    /// Has `work` done some time; never, where there is no thread to be had.
    pub fn add(self: &Arc<Self>, work: impl FnOnce() + Send + 'static) {
        let mut state = self.state().lock();
        state.queue.push_back(Box::new(work));
        if std::mem::replace(&mut state.has_thread, true) {
            return;
        }
        drop(state);
        let this = Arc::clone(self);
        let thread = std::thread::Builder::new().name("ze-cpu-background".into()).stack_size(STACK_BYTES);
        if let Err(error) = fork::spawn(thread, move || this.work()) {
            tracing::debug!("no thread for the background: {error}");
            let mut state = self.state().lock();
            state.has_thread = false;
            let forgotten = std::mem::take(&mut state.queue);
            drop(state);
            drop(forgotten);
        }
    }

    fn state(&self) -> &Mutex<State> {
        self.0.get_or_init(Mutex::default)
    }

    fn work(&self) {
        while let Some(work) = self.next() {
            work();
        }
    }

    fn next(&self) -> Option<Box<dyn FnOnce() + Send>> {
        let mut state = self.state().lock();
        let next = state.queue.pop_front();
        state.has_thread = next.is_some();
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn everything_is_done_in_its_order() {
        let background = Arc::new(Background::default());
        for round in 0..20 {
            let (done, all) = channel();
            for number in 0..10 {
                let done = done.clone();
                background.add(move || done.send(round * 10 + number).expect("somebody waits"));
            }
            drop(done);
            assert_eq!(all.iter().collect::<Vec<_>>(), (round * 10..round * 10 + 10).collect::<Vec<_>>());
        }
    }
}
