//! Instances of graphs, which lists execute.
//!
//! A regular event is one flag for all instances. Of each counter-based event that the graph signals, an instance has a completion
//! of its own: those behind it in the graph wait for that, and an event that is used outside too
//! (`ZE_EVENT_COUNTER_BASED_FLAG_GRAPH_EXTERNAL`) stands for it from the moment that the instance is appended. What a
//! counter-based event stands for that the graph waits for, but does not signal, is found anew each time.

use super::{Graph, Node, Recording};
use crate::command::{Command, Waits};
use crate::command_list::{CommandList, Events};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::fallible::{self, check_memory};
use crate::fork::Mutex;
use crate::graph::check_outside;
use crate::handle::{self, object};
use crate::mutable::Signalled;
use crate::operation::Operation;
use crate::signal::Signal;
use crate::stream::{Lists, Stream, Work};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use ze_headers::{ze_executable_graph_handle_t, ze_graph_handle_t};

/// A part of an instance.
enum Step {
    Commands(Arc<SmallVec<[Command; 1]>>),
    /// A wait for what these events stand for when the instance is appended.
    Wait(Vec<Arc<Event>>),
}

/// An executable graph.
pub struct ExecutableGraph {
    source: Arc<Graph>,
    /// The handle by which the program knows the source.
    source_handle: usize,
    recording: Arc<Recording>,
    steps: Vec<Step>,
    /// What commands signal, in their order.
    signalled: Vec<Signalled>,
    /// Where it was appended last, and what tells the end of that.
    previous: Mutex<Option<(Weak<Stream>, Arc<Signal>)>>,
}

object!(ExecutableGraph, ExecutableGraph, ze_executable_graph_handle_t);

/// What an instance is made of, as it grows.
#[derive(Default)]
struct Builder {
    steps: Vec<Step>,
    commands: Vec<Command>,
    signalled: Vec<Signalled>,
    /// What counter-based events stand for, by their addresses.
    completions: HashMap<*const Event, Arc<Signal>>,
}

impl Builder {
    fn add(&mut self, node: &Node) -> Result<()> {
        let (mut waits, mut outside) = (Waits::new(), Vec::new());
        for event in &node.waits {
            match self.completions.get(&Arc::as_ptr(event)) {
                Some(own) => waits.push(Arc::clone(own)),
                None if event.is_counter_based() => outside.push(Arc::clone(event)),
                None => waits.push(event.current()),
            }
        }
        if !outside.is_empty() {
            self.finish_commands()?;
            fallible::push(&mut self.steps, "steps of a graph", Step::Wait(outside))?;
        }
        let operation = Operation::shared(&node.operation, |event| self.completions.get(&event).cloned());
        let signal = node.signal.as_ref().map(|event| self.signal(event)).transpose()?;
        let command = Command::new(operation, waits, signal);
        fallible::push(&mut self.commands, "commands of a graph", command)
    }

    fn signal(&mut self, event: &Arc<Event>) -> Result<Arc<Signal>> {
        let signal = if event.is_counter_based() && !event.is_aggregate() {
            let completion = Signal::completion();
            self.completions.insert(Arc::as_ptr(event), Arc::clone(&completion));
            completion
        } else {
            event.current()
        };
        if !event.is_of_one_graph() {
            let signalled = (Arc::clone(event), Arc::clone(&signal));
            fallible::push(&mut self.signalled, "events of a graph", signalled)?;
        }
        Ok(signal)
    }

    fn finish_commands(&mut self) -> Result<()> {
        if self.commands.is_empty() {
            return Ok(());
        }
        let commands = Arc::new(SmallVec::from_vec(std::mem::take(&mut self.commands)));
        fallible::push(&mut self.steps, "steps of a graph", Step::Commands(commands))
    }
}

impl ExecutableGraph {
    /// `zeGraphInstantiateExt`.
    pub fn new(source: &Arc<Graph>, source_handle: ze_graph_handle_t) -> Result<Arc<Self>> {
        check_memory()?;
        let recording = source.recorded()?;
        let mut builder = Builder::default();
        recording.nodes.iter().try_for_each(|node| builder.add(node))?;
        builder.finish_commands()?;
        Ok(Arc::new(Self {
            source: Arc::clone(source),
            source_handle: source_handle as usize,
            recording,
            steps: builder.steps,
            signalled: builder.signalled,
            previous: Mutex::default(),
        }))
    }

    /// `zeExecutableGraphGetSourceGraphExt`.
    pub fn source(&self) -> Result<ze_graph_handle_t> {
        let handle = self.source_handle as ze_graph_handle_t;
        let source = handle::get::<Graph>(handle).ok().filter(|graph| Arc::ptr_eq(graph, &self.source));
        source.map(|_| handle).ok_or_else(|| Error::InvalidArgument("the source graph is destroyed".into()))
    }
}

impl CommandList {
    /// `zeCommandListAppendGraphExt`.
    pub fn append_graph(&self, graph: &ExecutableGraph, events: &Events) -> Result<()> {
        check_memory()?;
        let Ok((_, stream)) = self.queue() else {
            return Err(Error::InvalidCommandListType("a graph is executed by immediate lists only"));
        };
        self.check_group(graph.recording.group)?;
        check_outside(self, events, "a graph inside of a graph")?;
        let wait = |waits: Waits| Arc::new(SmallVec::from([Command::new(Operation::Barrier, waits, None)]));
        let mut lists = Lists::new();
        if !events.waits.is_empty() {
            lists.push(wait(events.waits.iter().map(|event| event.current()).collect()));
        }
        // One execution of an instance comes after the other.
        let done = Signal::completion();
        let latest = (Arc::downgrade(stream), Arc::clone(&done));
        let previous = graph.previous.lock().replace(latest);
        if let Some((other, previous)) = previous
            && !std::ptr::eq(other.as_ptr(), Arc::as_ptr(stream))
            && !previous.is_signalled()
        {
            lists.push(wait([previous].into_iter().collect()));
        }
        for step in &graph.steps {
            lists.push(match step {
                Step::Commands(commands) => Arc::clone(commands),
                Step::Wait(events) => wait(events.iter().map(|event| event.current()).collect()),
            });
        }
        lists.push(Arc::new([Command::new(Operation::Barrier, Waits::new(), Some(done))].into()));
        for (event, signal) in &graph.signalled {
            event.executed(signal, stream);
        }
        let signal = events.signal.as_ref().map(|event| event.signalled_by(Some(stream)));
        self.submit(Work::Lists { lists, signal })
    }
}
