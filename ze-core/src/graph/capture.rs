//! The rules of a capture: which list takes part, and what may be appended meanwhile.
//!
//! Neither lists nor events are told when a capture ends. Each refers to the session, and what refers to one that is over
//! says nothing. Locks are taken in the order list, session, event.

use super::{Graph, Node, Recording, Session, Track};
use crate::command_list::{CommandList, Events};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::fallible;
use crate::operation::Operation;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use ze_headers::{ze_command_list_handle_t, ze_graph_handle_t};

/// Whether the process has begun a capture: most never do, and append at full speed.
static IN_USE: AtomicBool = AtomicBool::new(false);

pub(crate) fn in_use() -> bool {
    IN_USE.load(Ordering::Relaxed)
}

/// A list's part in a session.
#[derive(Clone)]
pub(crate) struct Capture {
    session: Arc<Session>,
    track: usize,
}

/// The captured command that signals an event.
#[derive(Clone)]
pub(crate) struct Mark {
    session: Weak<Session>,
    track: usize,
    node: usize,
}

/// A mark whose session goes on.
struct OpenMark {
    session: Arc<Session>,
    track: usize,
    node: usize,
}

impl Mark {
    fn open(&self) -> Option<OpenMark> {
        let session = self.session.upgrade().filter(|session| session.is_open())?;
        Some(OpenMark { session, track: self.track, node: self.node })
    }

    /// Whether the session goes on.
    pub fn is_open(&self) -> bool {
        self.open().is_some()
    }
}

fn open_mark(event: &Event) -> Option<OpenMark> {
    event.mark()?.open()
}

fn is_internal(event: &Event) -> bool {
    event.is_of_one_graph() && open_mark(event).is_some()
}

const INTERNAL: Error =
    Error::GraphInternalEvent("a counter-based event that is captured is used outside of its graph");

/// How a capture ended.
pub struct Ended {
    pub graph: ze_graph_handle_t,
    /// Every fork was joined.
    pub joined: bool,
}

impl CommandList {
    /// `zeCommandListBeginGraphCaptureExt` and `zeCommandListBeginCaptureIntoGraphExt`: both handles are those by which the
    /// program knows list and graph.
    pub fn begin_capture(
        &self,
        handle: ze_command_list_handle_t,
        graph: &Arc<Graph>,
        graph_handle: ze_graph_handle_t,
    ) -> Result<()> {
        let capture = self.capture().ok_or_else(|| {
            Error::InvalidArgument("only an immediate, asynchronous command list can be captured".into())
        })?;
        let mut capture = capture.lock();
        if capture.as_ref().is_some_and(|capture| capture.session.goes_on()) {
            return Err(Error::InvalidArgument("the command list is captured already".into()));
        }
        IN_USE.store(true, Ordering::Relaxed);
        let session = graph.begin(graph_handle, (self.address(), handle), self.group())?;
        *capture = Some(Capture { session, track: 0 });
        Ok(())
    }

    /// Its part in a capture that goes on.
    fn open_capture(&self) -> Option<Capture> {
        self.capture()?.lock().clone().filter(|capture| capture.session.is_open())
    }

    /// `zeCommandListIsGraphCaptureEnabledExt`.
    pub fn is_captured(&self) -> bool {
        in_use() && self.open_capture().is_some()
    }

    /// `zeCommandListGetGraphExt`.
    pub fn captured_graph(&self) -> Result<ze_graph_handle_t> {
        let capture = self.open_capture().ok_or(Error::NotCapturing)?;
        Ok(capture.session.graph_handle as ze_graph_handle_t)
    }

    /// Whether `zeCommandListEndGraphCaptureExt` returns a graph that the program has no handle of yet.
    pub fn captures_new_graph(&self) -> Result<bool> {
        let capture = self.open_capture().ok_or(Error::NotCapturing)?;
        Ok(capture.session.graph.upgrade().is_some_and(|graph| !graph.preallocated))
    }

    /// `zeCommandListEndGraphCaptureExt`.
    pub fn end_capture(&self) -> Result<Ended> {
        let session = self.open_capture().ok_or(Error::NotCapturing)?.session;
        if session.primary != self.address() {
            let reason = "the capture did not begin on this command list";
            return Err(Error::InvalidArgument(reason.into()));
        }
        let recording = Arc::new(session.recording.lock().take().ok_or(Error::NotCapturing)?);
        let joined = recording.is_joined();
        if let Some(graph) = session.graph.upgrade() {
            graph.finish(recording);
        }
        Ok(Ended { graph: session.graph_handle as ze_graph_handle_t, joined })
    }

    /// The handle of a graph that nobody could destroy if the list, which is destroyed, were captured into it.
    pub fn abandoned_graph(&self) -> Option<ze_graph_handle_t> {
        let capture = self.capture().filter(|_| in_use())?.lock().clone();
        let capture = capture.filter(|capture| capture.session.goes_on())?;
        let is_primary = capture.session.primary == self.address();
        let graph = capture.session.graph.upgrade().filter(|graph| is_primary && !graph.preallocated)?;
        graph.destroy();
        Some(capture.session.graph_handle as ze_graph_handle_t)
    }
}

/// Records a command, if the list is captured or the command makes it so. Otherwise the operation comes back.
pub(crate) fn record(list: &CommandList, operation: Operation, events: &Events) -> Result<Option<Operation>> {
    let marks: Vec<Option<OpenMark>> = events.waits.iter().map(|event| open_mark(event)).collect();
    let first = marks.iter().flatten().next();
    let outside = |operation| {
        let internal = events.signal.as_ref().is_some_and(|event| is_internal(event));
        if internal { Err(INTERNAL) } else { Ok(Some(operation)) }
    };
    let Some(capture) = list.capture() else {
        // ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE: a fork to a list that can't be captured
        if first.is_some() {
            return Err(Error::InvalidCommandListType(
                "an event of a graph capture is waited for by a list that is not immediate and asynchronous",
            ));
        }
        return outside(operation);
    };
    let mut capture = capture.lock();
    let own = capture.as_ref().filter(|capture| capture.session.is_open()).cloned();
    if first.is_some() && capture.as_ref().is_some_and(|own| own.session.is_paused() && own.session.goes_on())
    {
        return Err(Error::GraphUnsupported("a fork to a list whose own capture is paused"));
    }
    let session = own.as_ref().map(|own| &own.session).or(first.map(|mark| &mark.session));
    let Some(session) = session else { return outside(operation) };
    // ZE_RESULT_ERROR_GRAPH_CAPTURE_MERGE_ATTEMPT: a wait for an event of another capture
    if marks.iter().flatten().any(|mark| !Arc::ptr_eq(&mark.session, session)) {
        return Err(Error::GraphMerge);
    }
    // ZE_RESULT_ERROR_GRAPH_CAPTURE_UNSUPPORTED: events of graphs and other processes
    if events.waits.iter().chain(&events.signal).any(|event| event.is_of_graphs_and_processes()) {
        return Err(Error::GraphUnsupported("an event of other processes"));
    }
    let mut recording = session.recording.lock();
    let Some(recording) = recording.as_mut() else { return Ok(Some(operation)) };
    let track = match (&own, first) {
        (Some(own), _) => own.track,
        (None, Some(fork)) => {
            let track = Track { parent: Some(fork.track), join: None, work: None };
            fallible::push(&mut recording.tracks, "lists of a capture", track)?;
            recording.tracks.len() - 1
        }
        (None, None) => return Ok(Some(operation)),
    };
    add(recording, session, track, &marks, operation, events)?;
    *capture = Some(Capture { session: Arc::clone(session), track });
    Ok(None)
}

/// Adds a node to a track.
fn add(
    recording: &mut Recording,
    session: &Arc<Session>,
    track: usize,
    marks: &[Option<OpenMark>],
    operation: Operation,
    events: &Events,
) -> Result<()> {
    let node = recording.nodes.len();
    let is_work = operation.is_work();
    let after = marks.iter().flatten().map(|mark| mark.node).collect();
    let new = Node {
        track,
        operation: Arc::new(operation),
        waits: events.waits.to_vec(),
        signal: events.signal.clone(),
        after,
    };
    fallible::push(&mut recording.nodes, "commands of a graph", new)?;
    for mark in marks.iter().flatten() {
        let from = &mut recording.tracks[mark.track];
        if from.parent == Some(track) {
            from.join = Some(mark.node);
        }
    }
    if is_work {
        recording.tracks[track].work = Some(node);
    }
    if let Some(event) = &events.signal {
        event.set_mark(Mark { session: Arc::downgrade(session), track, node });
    }
    Ok(())
}

/// Fails where an append that no capture knows has to do with one.
pub(crate) fn check_outside(list: &CommandList, events: &Events, what: &'static str) -> Result<()> {
    if !in_use() {
        return Ok(());
    }
    let is_marked = |event: &Arc<Event>| open_mark(event).is_some();
    if list.open_capture().is_some() || events.waits.iter().any(is_marked) {
        return Err(Error::GraphUnsupported(what));
    }
    if events.signal.as_ref().is_some_and(|event| is_internal(event)) { Err(INTERNAL) } else { Ok(()) }
}
