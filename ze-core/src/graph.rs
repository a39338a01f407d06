//! Graphs (`ZE_extension_record_replay_graph`): what immediate lists record, to be executed as often as a program likes.
//!
//! A capture begins on one immediate list, the primary one. What is appended to it becomes a *node* of a recording and is
//! not executed. An immediate list that is told to wait for an event which a node signals takes part from then on: it is
//! a *track* of its own, forked from that node's. Each fork is to be joined again, by a wait of its parent.
//!
//! Nodes keep the order in which the program appended them, and an instance executes them in this order, in one stream. That
//! order has every command behind those that it waits for, so forks and joins cost nothing there; what a node runs uses all
//! of the CPU anyway. Intel's driver does the same where a device has one engine.

mod capture;
mod dot;
mod executable;

pub(crate) use capture::{Capture, Mark, check_outside, in_use, record};
pub use dot::Style;
pub use executable::ExecutableGraph;

use crate::callback::Callbacks;
use crate::context::Context;
use crate::device::QueueGroup;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::fork::Mutex;
use crate::handle::object;
use crate::operation::Operation;
use crate::pnext::structures;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use ze_headers::*;

structures! {
    ze_record_replay_graph_ext_dump_desc_t = ZE_STRUCTURE_TYPE_RECORD_REPLAY_GRAPH_EXT_DUMP_DESC
        | ZE_STRUCTURE_TYPE_RECORD_REPLAY_GRAPH_EXP_DUMP_DESC;
}

/// A captured command.
struct Node {
    track: usize,
    operation: Arc<Operation>,
    waits: Vec<Arc<Event>>,
    signal: Option<Arc<Event>>,
    /// Nodes whose signals it waits for.
    after: Vec<usize>,
}

/// A list that takes part in a capture.
struct Track {
    /// The track that it was forked from; the primary list's has none.
    parent: Option<usize>,
    /// The latest of its nodes that the parent waits for.
    join: Option<usize>,
    /// The latest of its nodes that is work, and not only synchronisation.
    work: Option<usize>,
}

/// What was captured.
struct Recording {
    /// The queue group of the primary list.
    group: QueueGroup,
    nodes: Vec<Node>,
    tracks: Vec<Track>,
}

impl Recording {
    fn new(group: QueueGroup) -> Self {
        Self { group, nodes: Vec::new(), tracks: vec![Track { parent: None, join: None, work: None }] }
    }

    /// Whether each fork was joined, and no work came behind that.
    fn is_joined(&self) -> bool {
        let joined = |track: &Track| track.join.is_some() && track.work <= track.join;
        self.tracks.iter().all(|track| track.parent.is_none() || joined(track))
    }
}

/// A capture, from its beginning to its end.
pub(crate) struct Session {
    graph: Weak<Graph>,
    graph_handle: usize,
    /// The primary list, by its address.
    primary: usize,
    /// What is appended meanwhile is not captured.
    paused: AtomicBool,
    /// Gone when the capture has ended.
    recording: Mutex<Option<Recording>>,
}

impl Session {
    /// Whether what is appended is captured.
    fn is_open(&self) -> bool {
        !self.is_paused() && self.goes_on()
    }

    fn is_paused(&self) -> bool {
        self.paused.load(Ordering::Acquire)
    }

    /// Whether the capture has not ended, also where it is paused.
    fn goes_on(&self) -> bool {
        self.recording.lock().is_some()
    }
}

enum Phase {
    Empty,
    Capturing(Arc<Session>),
    Recorded(Arc<Recording>),
}

struct State {
    phase: Phase,
    /// The list that a capture began on, by its handle.
    primary: Option<usize>,
}

/// A graph.
pub struct Graph {
    _context: Arc<Context>,
    /// The program created it before the capture.
    preallocated: bool,
    id: u64,
    state: Mutex<State>,
    /// Called when it is destroyed.
    callbacks: Callbacks,
}

object!(Graph, Graph, ze_graph_handle_t);

impl Graph {
    /// `zeGraphCreateExt`, and for a capture without that its own graph.
    pub fn new(context: Arc<Context>, preallocated: bool) -> Arc<Self> {
        let state = Mutex::new(State { phase: Phase::Empty, primary: None });
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Arc::new(Self { _context: context, preallocated, id, state, callbacks: Callbacks::default() })
    }

    /// Begins a capture on a list.
    fn begin(
        self: &Arc<Self>,
        own_handle: ze_graph_handle_t,
        (primary, primary_handle): (usize, ze_command_list_handle_t),
        group: QueueGroup,
    ) -> Result<Arc<Session>> {
        let mut state = self.state.lock();
        match &state.phase {
            Phase::Empty => {}
            Phase::Recorded(recording) if recording.nodes.is_empty() => {}
            Phase::Recorded(_) => return Err(Error::InvalidArgument("the graph is not empty".into())),
            Phase::Capturing(_) => {
                return Err(Error::InvalidArgument("another list is captured into the graph".into()));
            }
        }
        let session = Arc::new(Session {
            graph: Arc::downgrade(self),
            graph_handle: own_handle as usize,
            primary,
            paused: AtomicBool::new(false),
            recording: Mutex::new(Some(Recording::new(group))),
        });
        state.phase = Phase::Capturing(Arc::clone(&session));
        state.primary = Some(primary_handle as usize);
        Ok(session)
    }

    /// A capture has ended with this.
    fn finish(&self, recording: Arc<Recording>) {
        self.state.lock().phase = Phase::Recorded(recording);
    }

    /// What is recorded, where that can be instantiated.
    fn recorded(&self) -> Result<Arc<Recording>> {
        match &self.state.lock().phase {
            Phase::Recorded(recording) if recording.is_joined() => Ok(Arc::clone(recording)),
            Phase::Recorded(_) => Err(Error::InvalidGraph("the graph has forks that are not joined")),
            Phase::Empty | Phase::Capturing(_) => Err(Error::InvalidArgument(
                "nothing was captured into the graph, or the capture goes on".into(),
            )),
        }
    }

    /// `zeGraphGetIdExt`: no other graph of the process has it.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// `zeGraphPauseCaptureExt`, and `zeGraphResumeCaptureExt`: lists that are captured into the graph execute what is appended to
    /// them meanwhile.
    pub fn set_paused(&self, paused: bool) -> Result<()> {
        let state = self.state.lock();
        let Phase::Capturing(session) = &state.phase else { return Err(Error::NotCapturing) };
        if session.paused.swap(paused, Ordering::AcqRel) == paused {
            let reason = if paused { "the capture is paused already" } else { "the capture is not paused" };
            return Err(Error::InvalidArgument(reason.into()));
        }
        Ok(())
    }

    /// `zeGraphIsEmptyExt`.
    pub fn is_empty(&self) -> Result<bool> {
        match &self.state.lock().phase {
            Phase::Empty => Ok(true),
            Phase::Capturing(session) => {
                let recording = session.recording.lock();
                Ok(recording.as_ref().is_none_or(|recording| recording.nodes.is_empty()))
            }
            Phase::Recorded(recording) if recording.is_joined() => Ok(recording.nodes.is_empty()),
            Phase::Recorded(_) => Err(Error::InvalidGraph("the graph has forks that are not joined")),
        }
    }

    /// `zeGraphGetPrimaryCommandListExt`.
    pub fn primary(&self) -> Result<ze_command_list_handle_t> {
        let primary = self.state.lock().primary;
        let primary = primary.ok_or_else(|| Error::InvalidArgument("nothing was captured yet".into()))?;
        Ok(primary as ze_command_list_handle_t)
    }

    /// `zeGraphSetDestructionCallbackExt`.
    pub fn call_at_destruction(
        &self,
        function: unsafe extern "C" fn(*mut c_void),
        data: *mut c_void,
    ) -> Result<()> {
        self.callbacks.add("callbacks of a graph", function, data)
    }

    /// `zeGraphDestroyExt`, of a graph whose handle is gone. A capture that goes on ends without a graph.
    pub fn destroy(&self) {
        if let Phase::Capturing(session) = &self.state.lock().phase {
            session.recording.lock().take();
        }
        self.callbacks.call();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording(children: &[(Option<usize>, Option<usize>)]) -> Recording {
        let mut recording = Recording::new(QueueGroup::Compute);
        let track = |&(join, work)| Track { parent: Some(0), join, work };
        recording.tracks.extend(children.iter().map(track));
        recording
    }

    #[test]
    fn a_fork_is_joined_by_the_last_of_its_work() {
        assert!(recording(&[]).is_joined());
        assert!(recording(&[(Some(3), Some(3))]).is_joined(), "the work itself signals");
        assert!(recording(&[(Some(4), Some(3)), (Some(2), None)]).is_joined(), "something behind it does");
        assert!(!recording(&[(Some(3), Some(4))]).is_joined(), "more work came behind");
        assert!(!recording(&[(Some(4), Some(3)), (None, None)]).is_joined(), "nobody waits for it");
    }
}
