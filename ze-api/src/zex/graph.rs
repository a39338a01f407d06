//! Graphs by the functions that Intel's driver had before the specification: what they do is the same, but some take their arguments in
//! another order, and some answer with other numbers. SYCL's adapters of that time and profilers look them up, also with loaders that do not
//! know the newer ones. What the specification has no name for yet is here, too.

use std::ffi::{c_char, c_void};
use std::fmt::{self, Display, Formatter};

use ze_core::error::Error;
use ze_core::graph::Graph;
use ze_core::handle;
use ze_headers::*;

use crate::args::output;
use crate::entry::{Failure, entry};
use crate::graph;

/// An error, or an answer, with the number that these functions have for it.
struct Older(Error);

impl Display for Older {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Failure for Older {
    fn result(&self) -> ze_result_t {
        match self.0.result() {
            ZE_RESULT_QUERY_TRUE => ZE_RESULT_QUERY_TRUE_EXP,
            ZE_RESULT_QUERY_FALSE => ZE_RESULT_QUERY_FALSE_EXP,
            ZE_RESULT_ERROR_INVALID_GRAPH => ZE_RESULT_ERROR_INVALID_GRAPH_EXP,
            other => other,
        }
    }

    fn is_error(&self) -> bool {
        self.0.is_error()
    }
}

// SAFETY, for all blocks below: the contract is that of the function which is called.
functions! {
    /// `zeGraphCreateExp`.
    fn zeGraphCreateExp(hContext: ze_context_handle_t, phGraph: *mut ze_graph_handle_t, pNext: *mut c_void) {
        // SAFETY: see above.
        unsafe { graph::zeGraphCreateExt(hContext, pNext, phGraph) }
    }

    /// `zeCommandListBeginGraphCaptureExp`.
    fn zeCommandListBeginGraphCaptureExp(hCommandList: ze_command_list_handle_t, pNext: *mut c_void) {
        // SAFETY: see above.
        unsafe { graph::zeCommandListBeginGraphCaptureExt(hCommandList, pNext) }
    }

    /// `zeCommandListBeginCaptureIntoGraphExp`.
    fn zeCommandListBeginCaptureIntoGraphExp(
        hCommandList: ze_command_list_handle_t,
        hGraph: ze_graph_handle_t,
        pNext: *mut c_void
    ) {
        // SAFETY: see above.
        unsafe { graph::zeCommandListBeginCaptureIntoGraphExt(hCommandList, hGraph, pNext) }
    }

    /// `zeCommandListEndGraphCaptureExp`.
    fn zeCommandListEndGraphCaptureExp(
        hCommandList: ze_command_list_handle_t,
        phGraph: *mut ze_graph_handle_t,
        pNext: *mut c_void
    ) {
        // SAFETY: see above.
        unsafe { graph::zeCommandListEndGraphCaptureExt(hCommandList, pNext, phGraph) }
    }

    /// `zeCommandListInstantiateGraphExp`.
    fn zeCommandListInstantiateGraphExp(
        hGraph: ze_graph_handle_t,
        phExecutableGraph: *mut ze_executable_graph_handle_t,
        pNext: *mut c_void
    ) {
        // SAFETY: see above.
        unsafe { graph::zeGraphInstantiateExt(hGraph, pNext, phExecutableGraph) }
    }

    /// `zeCommandListAppendGraphExp`.
    fn zeCommandListAppendGraphExp(
        hCommandList: ze_command_list_handle_t,
        hGraph: ze_executable_graph_handle_t,
        pNext: *mut c_void,
        hSignalEvent: ze_event_handle_t,
        numWaitEvents: u32,
        phWaitEvents: *mut ze_event_handle_t
    ) {
        // SAFETY: see above.
        unsafe {
            graph::zeCommandListAppendGraphExt(
                hCommandList, hGraph, pNext, hSignalEvent, numWaitEvents, phWaitEvents,
            )
        }
    }

    /// `zeGraphDestroyExp`.
    fn zeGraphDestroyExp(hGraph: ze_graph_handle_t) {
        // SAFETY: see above.
        unsafe { graph::zeGraphDestroyExt(hGraph) }
    }

    /// `zeExecutableGraphDestroyExp`.
    fn zeExecutableGraphDestroyExp(hGraph: ze_executable_graph_handle_t) {
        // SAFETY: see above.
        unsafe { graph::zeExecutableGraphDestroyExt(hGraph) }
    }

    /// `zeCommandListIsGraphCaptureEnabledExp`.
    fn zeCommandListIsGraphCaptureEnabledExp(hCommandList: ze_command_list_handle_t) or Older {
        // SAFETY: see above.
        unsafe { graph::zeCommandListIsGraphCaptureEnabledExt(hCommandList) }.map_err(Older)
    }

    /// `zeGraphIsEmptyExp`.
    fn zeGraphIsEmptyExp(hGraph: ze_graph_handle_t) or Older {
        // SAFETY: see above.
        unsafe { graph::zeGraphIsEmptyExt(hGraph) }.map_err(Older)
    }

    /// `zeGraphDumpContentsExp`.
    fn zeGraphDumpContentsExp(hGraph: ze_graph_handle_t, filePath: *const c_char, pNext: *mut c_void) {
        // SAFETY: see above.
        unsafe { graph::zeGraphDumpContentsExt(hGraph, filePath, pNext) }
    }

    /// `zeCommandListGetGraphExp`.
    fn zeCommandListGetGraphExp(hCommandList: ze_command_list_handle_t, phGraph: *mut ze_graph_handle_t) {
        // SAFETY: see above.
        unsafe { graph::zeCommandListGetGraphExt(hCommandList, phGraph) }
    }

    /// `zeGraphSetDestructionCallbackExp`.
    fn zeGraphSetDestructionCallbackExp(
        hGraph: ze_graph_handle_t,
        pfnCallback: zex_mem_graph_free_callback_fn_t,
        pUserData: *mut c_void,
        pNext: *mut c_void
    ) {
        // SAFETY: see above.
        unsafe { graph::zeGraphSetDestructionCallbackExt(hGraph, pfnCallback, pUserData, pNext) }
    }

    /// `zeGraphGetIdExt`: a number that no other graph has.
    fn zeGraphGetIdExt(hGraph: ze_graph_handle_t, pGraphId: *mut u64) {
        let graph = handle::get::<Graph>(hGraph)?;
        // SAFETY: the caller passes null or a valid pointer.
        *unsafe { output(pGraphId, "pGraphId") }? = graph.id();
        Ok(())
    }

    /// `zeGraphPauseCaptureExt`: lists that are captured into the graph execute what is appended to them, until it is resumed.
    fn zeGraphPauseCaptureExt(hGraph: ze_graph_handle_t) {
        handle::get::<Graph>(hGraph)?.set_paused(true)
    }

    /// `zeGraphResumeCaptureExt`.
    fn zeGraphResumeCaptureExt(hGraph: ze_graph_handle_t) {
        handle::get::<Graph>(hGraph)?.set_paused(false)
    }
}
