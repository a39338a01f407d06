//! `zeGraph*`, `zeExecutableGraph*`, and what command lists have to do with them (`ZE_extension_record_replay_graph`).

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use ze_core::command_list::CommandList;
use ze_core::context::Context;
use ze_core::error::{Error, Result};
use ze_core::graph::{ExecutableGraph, Graph, Style};
use ze_core::handle;
use ze_core::pnext::Inputs;
use ze_headers::*;

use crate::args::{address, events, output, text};

/// Fails where a chain has something: no extension of graphs is known. The code is that of Intel's driver.
fn no_chain(next: *const c_void) -> Result<()> {
    if next.is_null() {
        Ok(())
    } else {
        Err(Error::InvalidArgument("an extension of graphs in pNext".into()))
    }
}

/// `zeGraphCreateExt`.
pub unsafe fn zeGraphCreateExt(
    hContext: ze_context_handle_t,
    pNext: *const c_void,
    phGraph: *mut ze_graph_handle_t,
) -> Result<()> {
    let context = handle::get::<Context>(hContext)?;
    // SAFETY: the caller passes null or a valid pointer.
    let out = unsafe { output(phGraph, "phGraph") }?;
    no_chain(pNext)?;
    *out = handle::publish(Graph::new(context.clone(), true))?;
    Ok(())
}

/// `zeCommandListBeginGraphCaptureExt`.
pub unsafe fn zeCommandListBeginGraphCaptureExt(
    hCommandList: ze_command_list_handle_t,
    pNext: *const c_void,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    no_chain(pNext)?;
    let graph = Graph::new(Arc::clone(list.context()), false);
    let handle = handle::publish(Arc::clone(&graph))?;
    let begun = list.begin_capture(hCommandList, &graph, handle);
    if begun.is_err() {
        handle::release::<Graph>(handle)?;
    }
    begun
}

/// `zeCommandListBeginCaptureIntoGraphExt`.
pub unsafe fn zeCommandListBeginCaptureIntoGraphExt(
    hCommandList: ze_command_list_handle_t,
    hGraph: ze_graph_handle_t,
    pNext: *const c_void,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    let graph = handle::get::<Graph>(hGraph)?;
    no_chain(pNext)?;
    list.begin_capture(hCommandList, &graph, hGraph)
}

/// `zeCommandListIsGraphCaptureEnabledExt`.
pub unsafe fn zeCommandListIsGraphCaptureEnabledExt(hCommandList: ze_command_list_handle_t) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    Err(Error::Answer(list.is_captured()))
}

/// `zeCommandListEndGraphCaptureExt`. A program that created the graph itself may leave out the output, as with Intel's
/// driver.
pub unsafe fn zeCommandListEndGraphCaptureExt(
    hCommandList: ze_command_list_handle_t,
    pNext: *const c_void,
    phGraph: *mut ze_graph_handle_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    no_chain(pNext)?;
    if list.captures_new_graph()? {
        address(phGraph, "phGraph")?;
    }
    let ended = list.end_capture()?;
    // SAFETY: the caller passes null or a valid pointer.
    if let Some(out) = unsafe { phGraph.as_mut() } {
        *out = ended.graph;
    }
    // ZE_RESULT_ERROR_GRAPH_UNJOINED_FORKS: the capture has ended all the same, with a graph that is not valid
    if ended.joined { Ok(()) } else { Err(Error::GraphUnjoined) }
}

/// `zeCommandListGetGraphExt`.
pub unsafe fn zeCommandListGetGraphExt(
    hCommandList: ze_command_list_handle_t,
    phGraph: *mut ze_graph_handle_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    // SAFETY: the caller passes null or a valid pointer.
    let out = unsafe { output(phGraph, "phGraph") }?;
    *out = std::ptr::null_mut();
    *out = list.captured_graph()?;
    Ok(())
}

/// `zeGraphGetPrimaryCommandListExt`.
pub unsafe fn zeGraphGetPrimaryCommandListExt(
    hGraph: ze_graph_handle_t,
    phCommandList: *mut ze_command_list_handle_t,
) -> Result<()> {
    let graph = handle::get::<Graph>(hGraph)?;
    // SAFETY: the caller passes null or a valid pointer.
    let out = unsafe { output(phCommandList, "phCommandList") }?;
    *out = graph.primary()?;
    Ok(())
}

/// `zeGraphSetDestructionCallbackExt`.
pub unsafe fn zeGraphSetDestructionCallbackExt(
    hGraph: ze_graph_handle_t,
    pfnCallback: zex_mem_graph_free_callback_fn_t,
    pUserData: *mut c_void,
    pNext: *const c_void,
) -> Result<()> {
    let graph = handle::get::<Graph>(hGraph)?;
    let function = pfnCallback.ok_or(Error::NullPointer("pfnCallback"))?;
    crate::args::no_extension(pNext, "an extension of a graph's callback")?;
    graph.call_at_destruction(function, pUserData)
}

/// `zeGraphInstantiateExt`.
pub unsafe fn zeGraphInstantiateExt(
    hGraph: ze_graph_handle_t,
    pNext: *const c_void,
    phExecutableGraph: *mut ze_executable_graph_handle_t,
) -> Result<()> {
    let graph = handle::get::<Graph>(hGraph)?;
    // SAFETY: the caller passes null or a valid pointer.
    let out = unsafe { output(phExecutableGraph, "phExecutableGraph") }?;
    no_chain(pNext)?;
    *out = handle::publish(ExecutableGraph::new(&graph, hGraph)?)?;
    Ok(())
}

/// `zeCommandListAppendGraphExt`.
pub unsafe fn zeCommandListAppendGraphExt(
    hCommandList: ze_command_list_handle_t,
    hGraph: ze_executable_graph_handle_t,
    pNext: *const c_void,
    hSignalEvent: ze_event_handle_t,
    numWaitEvents: u32,
    phWaitEvents: *mut ze_event_handle_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    let graph = handle::get::<ExecutableGraph>(hGraph)?;
    no_chain(pNext)?;
    // SAFETY: the caller passes null or an array of as many events.
    let events = unsafe { events(hSignalEvent, numWaitEvents, phWaitEvents) }?;
    list.append_graph(&graph, &events)
}

/// `zeExecutableGraphGetSourceGraphExt`.
pub unsafe fn zeExecutableGraphGetSourceGraphExt(
    hGraph: ze_executable_graph_handle_t,
    phSourceGraph: *mut ze_graph_handle_t,
) -> Result<()> {
    let graph = handle::get::<ExecutableGraph>(hGraph)?;
    // SAFETY: the caller passes null or a valid pointer.
    let out = unsafe { output(phSourceGraph, "phSourceGraph") }?;
    *out = graph.source()?;
    Ok(())
}

/// `zeGraphIsEmptyExt`.
pub unsafe fn zeGraphIsEmptyExt(hGraph: ze_graph_handle_t) -> Result<()> {
    let graph = handle::get::<Graph>(hGraph)?;
    Err(Error::Answer(graph.is_empty()?))
}

/// `zeGraphDumpContentsExt`.
pub unsafe fn zeGraphDumpContentsExt(
    hGraph: ze_graph_handle_t,
    filePath: *const c_char,
    pNext: *const c_void,
) -> Result<()> {
    let graph = handle::get::<Graph>(hGraph)?;
    // SAFETY: the caller passes null or a text, and a valid chain.
    let (path, chain) = unsafe { (text(filePath, "filePath")?, Inputs::from_next(&pNext)) };
    let mut style = Style::Detailed;
    for link in chain.iter() {
        let desc = link.get::<ze_record_replay_graph_ext_dump_desc_t>();
        let desc = desc.ok_or(Error::UnsupportedFeature("an extension of writing graphs"))?;
        let is_older = desc.stype == ZE_STRUCTURE_TYPE_RECORD_REPLAY_GRAPH_EXP_DUMP_DESC;
        style = match desc.mode {
            ZE_RECORD_REPLAY_GRAPH_EXT_DUMP_MODE_DETAILED => Style::Detailed,
            ZE_RECORD_REPLAY_GRAPH_EXT_DUMP_MODE_SIMPLE => Style::Simple,
            ZE_RECORD_REPLAY_GRAPH_EXP_DUMP_MODE_DETAILED_WITH_EVENT_NODES if is_older => Style::Detailed,
            ZE_RECORD_REPLAY_GRAPH_EXP_DUMP_MODE_SIMPLE_WITH_EVENT_NODES if is_older => Style::Simple,
            mode => return Err(Error::InvalidArgument(format!("mode {:#x} of writing graphs", mode.0))),
        };
    }
    graph.dump(&path, style)
}

/// `zeExecutableGraphDestroyExt`.
pub unsafe fn zeExecutableGraphDestroyExt(hGraph: ze_executable_graph_handle_t) -> Result<()> {
    handle::release::<ExecutableGraph>(hGraph).map(drop)
}

/// `zeGraphDestroyExt`.
pub unsafe fn zeGraphDestroyExt(hGraph: ze_graph_handle_t) -> Result<()> {
    let graph = handle::release::<Graph>(hGraph)?;
    graph.destroy();
    Ok(())
}
