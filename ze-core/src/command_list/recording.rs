//! What a regular command list has recorded: its commands in pieces that executions share, what they signal, and what can be
//! changed later.

use super::Events;
use crate::command::{Command, Waits};
use crate::error::{Error, Result};
use crate::fallible::out_of_memory;
use crate::kernel::Kernel;
use crate::mutable::{Change, Mutable, MutableCommand, Signalled};
use crate::operation::Operation;
use crate::stream::{Lists, Stream};
use smallvec::SmallVec;
use std::sync::Arc;
use ze_engine::Setup;
use ze_headers::*;

/// Commands that a regular list keeps together: what is recorded neither moves nor is a piece of memory so large that it
/// goes back to the system with each reset.
const COMMANDS_TOGETHER: usize = 64;
/// The first of them: most lists are short.
const FIRST_COMMANDS: usize = 8;

/// What a regular list has recorded.
#[derive(Default)]
pub(super) struct Recording {
    /// The latest commands.
    commands: Vec<Command>,
    /// Those before.
    full: Lists,
    /// The events that its commands signal, each with what it stands for once the list is executed.
    signalled: Vec<Signalled>,
    /// What can be changed later, of a mutable list.
    mutable: Mutable,
    closed: Option<Lists>,
}

impl Recording {
    /// Adds a command behind all others. `dispatch` is what a mutable launch needs to be changed.
    pub fn append(
        &mut self,
        operation: Operation,
        waits: Waits,
        events: &Events,
        dispatch: impl FnOnce() -> Result<(Setup, [u32; 3])>,
    ) -> Result<()> {
        if self.closed.is_some() {
            // The specification names no error. Intel's driver writes such commands behind the end of the list,
            // where nothing executes them, and the conformance tests expect that.
            tracing::warn!("a command was appended to a closed command list and will not be executed");
            return Ok(());
        }
        let mutable = self.mutable.take_next().map(|next| Ok::<_, Error>((next, dispatch()?)));
        let mutable = mutable.transpose()?;
        if !self.reserve() || mutable.is_some() && !self.reserve_piece() {
            return Err(Error::OutOfHostMemory("one more command could not be recorded".into()));
        }
        let signal = events.signal.as_ref().map(|event| event.signalled_by(None));
        let signalled = events.signal.clone().zip(signal.clone());
        let command = Command::new(operation, waits, signal);
        if let Some((next, dispatch)) = mutable {
            self.signalled.extend(signalled.clone());
            self.push_mutable(command, |piece| next.command(piece, dispatch, signalled, &events.waits));
        } else {
            self.signalled.extend(signalled);
            self.commands.push(command);
        }
        Ok(())
    }

    /// The id of the next command, which will be mutable.
    pub fn announce(
        &mut self,
        flags: ze_mutable_command_exp_flags_t,
        kernels: Vec<Arc<Kernel>>,
    ) -> Result<u64> {
        if self.closed.is_some() {
            return Err(Error::InvalidArgument("the command list is closed".into()));
        }
        Ok(self.mutable.announce(flags, kernels))
    }

    /// Changes mutable commands: all of them, or none and an error.
    pub fn update(&mut self, changes: Vec<(u64, Change<'_>)>) -> Result<()> {
        let changed = self.mutable.changed(changes)?;
        let room = self.signalled.try_reserve(changed.len());
        room.map_err(|_| out_of_memory("events", changed.len() * size_of::<Signalled>()))?;
        for (id, mutable, command) in changed {
            let (piece, signal) = (mutable.piece, mutable.signal.clone());
            self.replace(piece, command);
            let old = self.mutable.keep(id, mutable);
            let same = |old: &Signalled| {
                let is_old =
                    |(event, signal): &Signalled| Arc::ptr_eq(event, &old.0) && Arc::ptr_eq(signal, &old.1);
                self.signalled.iter().position(is_old)
            };
            if let Some(at) = old.as_ref().and_then(same) {
                self.signalled.swap_remove(at);
            }
            self.signalled.extend(signal);
        }
        Ok(())
    }

    /// Ends the recording. What is closed stays as it is.
    pub fn close(&mut self) {
        if self.closed.is_none() {
            self.finish_commands();
            self.closed = Some(std::mem::take(&mut self.full));
        }
    }

    /// The commands, once it is closed.
    pub fn closed(&self) -> Result<Lists> {
        let closed = self.closed.clone();
        closed.ok_or_else(|| Error::InvalidArgument("the command list is not closed".into()))
    }

    /// A closed one of the same commands, none of which is mutable.
    pub fn duplicate(&self) -> Result<Recording> {
        let signalled = self.signalled.clone();
        Ok(Recording { signalled, closed: Some(self.closed()?), ..Recording::default() })
    }

    /// Tells the events which stream will signal them.
    pub fn executed_on(&self, stream: &Arc<Stream>) {
        for (event, signal) in &self.signalled {
            event.executed(signal, stream);
        }
    }

    /// Makes room for one more command, and for its signal. False: there is no memory for that.
    fn reserve(&mut self) -> bool {
        if self.commands.len() == self.commands.capacity() {
            let first = self.full.is_empty() && self.commands.is_empty();
            let mut next = Vec::new();
            let more = next.try_reserve_exact(if first { FIRST_COMMANDS } else { COMMANDS_TOGETHER });
            if more.is_err() || self.full.try_reserve(1).is_err() {
                return false;
            }
            self.finish_commands();
            self.commands = next;
        }
        self.signalled.try_reserve(1).is_ok()
    }

    /// Makes room for a piece of its own, behind one of what was recorded before it.
    fn reserve_piece(&mut self) -> bool {
        self.full.try_reserve(2).is_ok()
    }

    /// Adds a command as a piece of its own, which another one can take the place of.
    fn push_mutable(&mut self, command: Command, mutable: impl FnOnce(usize) -> (u64, MutableCommand)) {
        self.finish_commands();
        self.mutable.add(mutable(self.full.len()));
        self.full.push(Arc::new([command].into()));
    }

    /// Puts a changed command in the place of an old one. Executions that are under way keep the old one.
    fn replace(&mut self, piece: usize, command: Command) {
        let pieces = self.closed.as_mut().unwrap_or(&mut self.full);
        if let Some(old) = pieces.get_mut(piece) {
            *old = Arc::new([command].into());
        }
    }

    fn finish_commands(&mut self) {
        if !self.commands.is_empty() {
            self.full.push(Arc::new(SmallVec::from_vec(std::mem::take(&mut self.commands))));
        }
    }
}
