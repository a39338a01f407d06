//! Mutable command lists: kernel launches that are changed between executions.
//!
//! A mutable launch keeps the kernel's setup, so that changes are checked as on a kernel, and is recorded as a piece of its own in the
//! list. A change makes a new command, which takes the place of the old one; executions under way keep that. All changes of a call
//! are made, or none.

use crate::command::Command;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::kernel::{self, Kernel};
use crate::operation::Operation;
use crate::pnext::structures;
use crate::signal::Signal;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::marker::PhantomData;
use std::sync::Arc;
use ze_engine::Setup;
use ze_headers::*;

structures! {
    ze_command_list_desc_t = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC;
    ze_mutable_command_list_exp_desc_t = ZE_STRUCTURE_TYPE_MUTABLE_COMMAND_LIST_EXP_DESC;
    ze_mutable_kernel_argument_exp_desc_t = ZE_STRUCTURE_TYPE_MUTABLE_KERNEL_ARGUMENT_EXP_DESC;
    ze_mutable_group_count_exp_desc_t = ZE_STRUCTURE_TYPE_MUTABLE_GROUP_COUNT_EXP_DESC;
    ze_mutable_group_size_exp_desc_t = ZE_STRUCTURE_TYPE_MUTABLE_GROUP_SIZE_EXP_DESC;
    ze_mutable_global_offset_exp_desc_t = ZE_STRUCTURE_TYPE_MUTABLE_GLOBAL_OFFSET_EXP_DESC;
    ze_mutable_graph_argument_exp_desc_t = ZE_STRUCTURE_TYPE_MUTABLE_GRAPH_ARGUMENT_EXP_DESC;
}

/// A value of an argument as the API passes it.
pub struct ArgumentValue<'a> {
    size: usize,
    value: *const u8,
    owner: PhantomData<&'a u8>,
}

/// What can be changed, where a program says nothing: all but the kernel.
const USUAL: ze_mutable_command_exp_flags_t = ZE_MUTABLE_COMMAND_EXP_FLAG_KERNEL_ARGUMENTS
    | ZE_MUTABLE_COMMAND_EXP_FLAG_GROUP_COUNT
    | ZE_MUTABLE_COMMAND_EXP_FLAG_GROUP_SIZE
    | ZE_MUTABLE_COMMAND_EXP_FLAG_GLOBAL_OFFSET
    | ZE_MUTABLE_COMMAND_EXP_FLAG_SIGNAL_EVENT
    | ZE_MUTABLE_COMMAND_EXP_FLAG_WAIT_EVENTS;
/// `mutableCommandFlags` of the device.
pub const SUPPORTED: ze_mutable_command_exp_flags_t = USUAL | ZE_MUTABLE_COMMAND_EXP_FLAG_KERNEL_INSTRUCTION;

/// A change of a launch.
pub enum Change<'a> {
    Argument(u32, ArgumentValue<'a>),
    GroupCount([u32; 3]),
    GroupSize([u32; 3]),
    GlobalOffset([u32; 3]),
    Signal(Option<Arc<Event>>),
    /// None at all, or one for each of those that the launch was appended with, perhaps none.
    Waits(Option<Vec<Option<Arc<Event>>>>),
    Kernel(Arc<Kernel>),
}

impl Change<'_> {
    /// An argument as the API passes it.
    ///
    /// # Safety
    /// `value` is null or points to `size` bytes that live as long as the change.
    pub unsafe fn argument(index: u32, size: usize, value: *const u8) -> Self {
        Change::Argument(index, ArgumentValue { size, value, owner: PhantomData })
    }

    /// The flag of commands that can be changed so.
    fn flag(&self) -> ze_mutable_command_exp_flags_t {
        match self {
            Change::Argument(..) => ZE_MUTABLE_COMMAND_EXP_FLAG_KERNEL_ARGUMENTS,
            Change::GroupCount(_) => ZE_MUTABLE_COMMAND_EXP_FLAG_GROUP_COUNT,
            Change::GroupSize(_) => ZE_MUTABLE_COMMAND_EXP_FLAG_GROUP_SIZE,
            Change::GlobalOffset(_) => ZE_MUTABLE_COMMAND_EXP_FLAG_GLOBAL_OFFSET,
            Change::Signal(_) => ZE_MUTABLE_COMMAND_EXP_FLAG_SIGNAL_EVENT,
            Change::Waits(_) => ZE_MUTABLE_COMMAND_EXP_FLAG_WAIT_EVENTS,
            Change::Kernel(_) => ZE_MUTABLE_COMMAND_EXP_FLAG_KERNEL_INSTRUCTION,
        }
    }
}

/// An event and what stands for it in a list.
pub type Signalled = (Arc<Event>, Arc<Signal>);

/// A mutable launch.
pub struct MutableCommand {
    /// Its place in the list.
    pub piece: usize,
    flags: ze_mutable_command_exp_flags_t,
    kernels: Vec<Arc<Kernel>>,
    setup: Setup,
    group_count: [u32; 3],
    pub signal: Option<Signalled>,
    waits: Vec<Option<Arc<Event>>>,
}

impl MutableCommand {
    fn try_clone(&self) -> Result<Self> {
        let (kernels, setup) = (self.kernels.clone(), self.setup.try_clone()?);
        Ok(Self { kernels, setup, signal: self.signal.clone(), waits: self.waits.clone(), ..*self })
    }

    fn change(&mut self, change: Change<'_>) -> Result<()> {
        if self.flags & change.flag() == 0 {
            let reason = "the command was announced without the flag for this change";
            return Err(Error::InvalidArgument(reason.into()));
        }
        match change {
            Change::Argument(index, ArgumentValue { size, value, .. }) => {
                // SAFETY: whoever made the value promised that it lives.
                let set = unsafe { kernel::set_argument_of(&mut self.setup, index, size, value) };
                // ZE_RESULT_ERROR_INVALID_ARGUMENT: an argument that the kernel does not have, or that is not like this
                set.map_err(|error| match error {
                    Error::InvalidKernelArgumentIndex(reason) | Error::InvalidKernelArgumentSize(reason) => {
                        Error::InvalidArgument(reason)
                    }
                    other => other,
                })?;
            }
            Change::GroupCount(count) => self.group_count = count,
            Change::GroupSize(size) => self.setup.set_group_size(size)?,
            Change::GlobalOffset(offset) => self.setup.set_global_offset(offset.map(u64::from)),
            Change::Signal(event) => {
                self.signal = event.map(|event| {
                    let signal = event.signalled_by(None);
                    (event, signal)
                });
            }
            Change::Waits(None) => self.waits.fill(None),
            // ZE_RESULT_ERROR_INVALID_SIZE: the number does not match that of the original command
            Change::Waits(Some(waits)) if waits.len() != self.waits.len() => {
                let (new, old) = (waits.len(), self.waits.len());
                return Err(Error::InvalidSize(format!("{new} events for a launch that waits for {old}")));
            }
            Change::Waits(Some(waits)) => self.waits = waits,
            Change::Kernel(kernel) => {
                if !self.kernels.iter().any(|own| Arc::ptr_eq(own, &kernel)) {
                    return Err(Error::InvalidKernelHandle("the kernel is not among those of the command"));
                }
                self.setup = kernel.setup()?;
            }
        }
        Ok(())
    }

    /// The command as it is now; code for it is compiled here, so that what fails fails early.
    pub fn command(&mut self) -> Result<Command> {
        let waits = self.waits.iter().flatten().map(|event| event.current()).collect();
        let launch = self.setup.launch(self.group_count)?;
        let signal = self.signal.as_ref().map(|(_, signal)| Arc::clone(signal));
        Ok(Command::new(Operation::Launch(launch), waits, signal))
    }
}

/// What a program has said of the next command.
pub struct Next {
    id: u64,
    flags: ze_mutable_command_exp_flags_t,
    kernels: Vec<Arc<Kernel>>,
}

impl Next {
    /// The command of this launch, which will be at a place in the list.
    pub fn command(
        self,
        piece: usize,
        (setup, group_count): (Setup, [u32; 3]),
        signal: Option<Signalled>,
        waits: &[Arc<Event>],
    ) -> (u64, MutableCommand) {
        let Self { id, flags, kernels } = self;
        let waits = waits.iter().map(|event| Some(Arc::clone(event))).collect();
        (id, MutableCommand { piece, flags, kernels, setup, group_count, signal, waits })
    }
}

/// The mutable commands of a list.
#[derive(Default)]
pub struct Mutable {
    ids: u64,
    next: Option<Next>,
    commands: BTreeMap<u64, MutableCommand>,
}

impl Mutable {
    /// The next command of the list will be mutable; returns its number.
    pub fn announce(&mut self, flags: ze_mutable_command_exp_flags_t, kernels: Vec<Arc<Kernel>>) -> u64 {
        self.ids += 1;
        let flags = if flags == 0 { USUAL } else { flags };
        self.next = Some(Next { id: self.ids, flags, kernels });
        self.ids
    }

    pub fn take_next(&mut self) -> Option<Next> {
        self.next.take()
    }

    pub fn add(&mut self, (id, command): (u64, MutableCommand)) {
        self.commands.insert(id, command);
    }

    /// What becomes of commands by changes, each with its number and the new command.
    pub fn changed(&self, changes: Vec<(u64, Change<'_>)>) -> Result<Vec<(u64, MutableCommand, Command)>> {
        let mut changed = BTreeMap::new();
        for (id, change) in changes {
            let command = match changed.entry(id) {
                Entry::Occupied(command) => command.into_mut(),
                Entry::Vacant(place) => {
                    // ZE_RESULT_ERROR_INVALID_ARGUMENT: not a command of this list
                    let old = self.commands.get(&id);
                    let old = old.ok_or_else(|| {
                        Error::InvalidArgument(format!("{id} is no mutable command of the list"))
                    })?;
                    place.insert(old.try_clone()?)
                }
            };
            command.change(change)?;
        }
        let build = |(id, mut mutable): (u64, MutableCommand)| {
            let command = mutable.command()?;
            Ok((id, mutable, command))
        };
        changed.into_iter().map(build).collect()
    }

    /// Keeps a changed command; returns what the old one signalled.
    pub fn keep(&mut self, id: u64, command: MutableCommand) -> Option<Signalled> {
        self.commands.insert(id, command)?.signal
    }
}
