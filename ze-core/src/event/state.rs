//! What an event stands for, and the stream that signals it.

use crate::error::{Error, Result};
use crate::fork::Mutex;
use crate::futex::Deadline;
use crate::signal::Signal;
use crate::stream::Stream;
use std::sync::{Arc, Weak};

/// The part of an event that commands and waiting threads act on.
pub struct EventState {
    stands_for: StandsFor,
    /// The stream that signals it: who waits can execute that stream.
    producer: Mutex<Weak<Stream>>,
}

enum StandsFor {
    /// One flag, as long as the event lives.
    Flag(Arc<Signal>),
    /// The completion of the command that was appended, or executed, with the event last.
    Latest(Mutex<Arc<Signal>>),
}

impl EventState {
    fn new(stands_for: StandsFor) -> Self {
        Self { stands_for, producer: Mutex::default() }
    }

    /// Of an event that is signalled and reset.
    pub fn flag(signal: Arc<Signal>) -> Self {
        Self::new(StandsFor::Flag(signal))
    }

    /// Of a counter-based event, and what it stands for until a command is appended with it.
    pub fn counter_based(signal: Arc<Signal>) -> Self {
        Self::new(StandsFor::Latest(Mutex::new(signal)))
    }

    pub fn is_counter_based(&self) -> bool {
        matches!(self.stands_for, StandsFor::Latest(_))
    }

    /// What it stands for now.
    pub fn current(&self) -> Arc<Signal> {
        match &self.stands_for {
            StandsFor::Flag(signal) => Arc::clone(signal),
            StandsFor::Latest(current) => Arc::clone(&current.lock()),
        }
    }

    /// What a command signals that is being appended: of a counter-based event, something new. `producer` is the stream that it
    /// will execute on, if known.
    pub fn signalled_by(
        &self,
        producer: Option<&Arc<Stream>>,
        completion: impl FnOnce(&Arc<Signal>) -> Arc<Signal>,
    ) -> Arc<Signal> {
        if let Some(stream) = producer {
            self.produced_by(stream);
        }
        match &self.stands_for {
            StandsFor::Flag(signal) => Arc::clone(signal),
            StandsFor::Latest(current) => {
                let mut current = current.lock();
                *current = completion(&current);
                Arc::clone(&current)
            }
        }
    }

    /// A list is executed on a stream, of whose commands the one with this signal was appended with the event: that is
    /// again what the event stands for.
    pub fn executed(&self, signal: &Arc<Signal>, stream: &Arc<Stream>) {
        self.produced_by(stream);
        if let StandsFor::Latest(current) = &self.stands_for {
            *current.lock() = Arc::clone(signal);
        }
    }

    fn produced_by(&self, stream: &Arc<Stream>) {
        *self.producer.lock() = Arc::downgrade(stream);
    }

    fn producer(&self) -> Option<Arc<Stream>> {
        self.producer.lock().upgrade()
    }

    /// The flag that resets and host signals act on.
    pub fn as_flag(&self) -> Result<&Arc<Signal>> {
        match &self.stands_for {
            StandsFor::Flag(signal) => Ok(signal),
            StandsFor::Latest(_) => Err(Error::InvalidSynchronizationObject(
                "a counter-based event is signalled and reset by appending commands only",
            )),
        }
    }

    /// The host is about to look at what the event stands for.
    pub fn settle(&self, signal: &Signal) {
        if !signal.is_signalled()
            && let Some(stream) = self.producer()
        {
            stream.settle();
        }
    }

    /// The host waits for what the event stands for. Without a time limit it has nothing better to do than to execute
    /// the stream that signals it.
    pub fn wait(&self, signal: &Arc<Signal>, deadline: Deadline) -> Result<()> {
        self.settle(signal);
        if matches!(deadline, Deadline::Never)
            && !signal.is_signalled()
            && let Some(stream) = self.producer()
        {
            stream.help_until(signal);
        }
        signal.wait(deadline)
    }
}
