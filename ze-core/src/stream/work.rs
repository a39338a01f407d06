//! What is submitted to a stream in one piece, and how far its execution is.

use crate::command::{Command, Targets};
use crate::signal::{EngineId, Outcome, Reason, Signal, Target, Timestamps, Waiters};
use smallvec::SmallVec;
use std::sync::Arc;

/// Lists with more commands than this take longer than to wake another thread, whatever the commands are.
const INSTANT_COMMANDS: usize = 8;

/// Commands in their order, a piece of a closed list that all its executions share.
pub type Commands = Arc<SmallVec<[Command; 1]>>;

/// Pieces of a list, or of several, one after the other.
pub type Lists = SmallVec<[Commands; 1]>;

/// What is submitted in one piece.
pub enum Work {
    /// A command of an immediate list.
    One(Command),
    Lists {
        lists: Lists,
        /// Signalled after the commands and everything before.
        signal: Option<Arc<Signal>>,
    },
}

impl Work {
    /// A closed command list.
    pub fn list(lists: Lists) -> Self {
        Work::Lists { lists, signal: None }
    }

    /// A fence after everything before.
    pub fn fence(signal: Arc<Signal>) -> Self {
        Work::Lists { lists: Lists::new(), signal: Some(signal) }
    }

    fn into_parts(self) -> (Lists, Option<Arc<Signal>>) {
        match self {
            Work::One(command) => ([Arc::new([command].into())].into(), None),
            Work::Lists { lists, signal } => (lists, signal),
        }
    }

    /// Whether it is done in about the time that waking another thread takes.
    pub(super) fn is_instant(&self) -> bool {
        match self {
            Work::One(command) => command.is_instant(),
            Work::Lists { lists, .. } => {
                lists.iter().map(|list| list.len()).sum::<usize>() <= INSTANT_COMMANDS
                    && lists.iter().flat_map(|list| list.iter()).all(Command::is_instant)
            }
        }
    }
}

/// A place in a stream's order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position(pub(super) u32);

impl Position {
    pub(super) fn is_reached(self, completed: u32) -> bool {
        completed.wrapping_sub(self.0) as i32 >= 0
    }

    pub(super) fn is_behind(self, other: Position) -> bool {
        !self.is_reached(other.0)
    }
}

/// Submitted work, and how far it is.
pub(super) struct Item {
    pub position: Position,
    lists: Lists,
    /// Signalled at the end.
    signal: Option<(Arc<Signal>, Target)>,
    /// Of all commands, in their order.
    targets: Targets,
    /// Lists that are done, commands of the next one, and the targets of all these.
    done_lists: usize,
    done: usize,
    done_targets: usize,
    /// Host time when the first command started.
    start: Option<u64>,
}

/// The first command of an item that is not done: which one of a list, and where its targets are.
pub(super) struct Next {
    pub list: Commands,
    pub at: usize,
}

impl Item {
    /// Work that is being submitted to an engine.
    pub fn submit(work: Work, engine: EngineId) -> Self {
        let (lists, signal) = work.into_parts();
        let mut targets = Targets::new();
        let commands = lists.iter().flat_map(|list| list.iter());
        commands.for_each(|command| command.submit(engine, &mut targets));
        let signal = signal.map(|signal| {
            let target = signal.submit_signal(engine);
            (signal, target)
        });
        let position = Position(0);
        Self { position, lists, signal, targets, done_lists: 0, done: 0, done_targets: 0, start: None }
    }

    /// The commands that are not done, each with its targets.
    pub fn left(&self) -> impl Iterator<Item = (&Command, &[Target])> {
        let mut targets = &self.targets[self.done_targets..];
        let commands = self.lists[self.done_lists..].iter().flat_map(|list| list.iter());
        commands.skip(self.done).map(move |command| {
            let (own, rest) = targets.split_at(command.targets());
            targets = rest;
            (command, own)
        })
    }

    /// The first command that is not done.
    pub fn next(&mut self) -> Option<Next> {
        while self.lists.get(self.done_lists).is_some_and(|list| list.len() == self.done) {
            (self.done_lists, self.done) = (self.done_lists + 1, 0);
        }
        let list = self.lists.get(self.done_lists)?;
        Some(Next { list: Arc::clone(list), at: self.done })
    }

    /// The targets of the [next](Self::next) command.
    pub fn next_targets(&self, command: &Command) -> &[Target] {
        &self.targets[self.done_targets..][..command.targets()]
    }

    /// So many commands more are done, with so many targets.
    pub fn advance(&mut self, commands: usize, targets: usize) {
        self.done += commands;
        self.done_targets += targets;
    }

    /// Whether the time matters when the first command starts, and is not known.
    pub fn wants_start(&self) -> bool {
        self.signal.is_some() && self.start.is_none()
    }

    pub fn started(&mut self, start: Option<u64>) {
        self.start = self.start.or(start);
    }

    /// Signals that everything is done, or why not.
    pub fn complete(&self, engine: EngineId, lost: Option<Reason>, now: impl FnOnce() -> u64) {
        if let Some((signal, target)) = &self.signal {
            let outcome: Outcome = match lost {
                Some(reason) => Err(reason),
                None => {
                    let end = now();
                    Ok(Timestamps { start: self.start.unwrap_or(end), end })
                }
            };
            signal.complete(engine, target, outcome);
        }
    }

    /// Signals what is left, none of which will be executed. Who waits for it is to be told.
    pub fn abandon(&self, engine: EngineId, reason: &Reason) -> Waiters {
        let mut waiters = Waiters::default();
        for (command, targets) in self.left() {
            waiters.extend(command.abandon(engine, targets, Arc::clone(reason)));
        }
        if let Some((signal, target)) = &self.signal {
            waiters.extend(signal.completed(engine, target, Err(Arc::clone(reason))));
        }
        waiters
    }

    pub fn will_signal(&self, signal: &Arc<Signal>) -> bool {
        self.signal.as_ref().is_some_and(|(own, _)| Arc::ptr_eq(own, signal))
            || self.left().any(|(command, _)| command.signals(signal))
    }
}
