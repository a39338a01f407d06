//! `zeGraphDumpContentsExt`: a recording in DOT, the language of Graphviz.
//!
//! Each list is a cluster, and each command a node that follows the one before it in its list and those for whose signals it waits.

use super::{Graph, Phase, Recording};
use crate::error::{Error, Result};
use crate::operation::Operation;
use std::fmt::{self, Write};
use ze_engine::Launch;

/// What a node tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// What the command is.
    Simple,
    /// And its parameters: of a kernel its arguments, each with type and value.
    Detailed,
}

/// Bytes of a value that are shown.
const SHOWN_BYTES: usize = 32;

impl Graph {
    /// The recording, as a text.
    pub fn dot(&self, style: Style) -> Result<String> {
        let state = self.state.lock();
        let mut text = String::new();
        let written = match &state.phase {
            Phase::Empty => write_dot(None, style, &mut text),
            Phase::Recorded(recording) => write_dot(Some(recording), style, &mut text),
            Phase::Capturing(session) => {
                let recording = session.recording.lock();
                write_dot(recording.as_ref(), style, &mut text)
            }
        };
        written.map_err(|_| Error::Unknown("the graph could not be written as text".into()))?;
        Ok(text)
    }

    /// `zeGraphDumpContentsExt`.
    pub fn dump(&self, path: &str, style: Style) -> Result<()> {
        let written = std::fs::write(path, self.dot(style)?);
        written.map_err(|error| Error::InvalidArgument(format!("{path} could not be written: {error}")))
    }
}

fn write_dot(recording: Option<&Recording>, style: Style, out: &mut impl Write) -> fmt::Result {
    writeln!(out, "digraph graph_1 {{\n  node [shape=box];")?;
    let Some(recording) = recording else { return writeln!(out, "}}") };
    for track in 0..recording.tracks.len() {
        writeln!(out, "  subgraph cluster_{track} {{\n    label=\"command list {track}\";")?;
        for (index, node) in recording.nodes.iter().enumerate().filter(|(_, node)| node.track == track) {
            let lines = describe(&node.operation, style);
            let label: Vec<String> = lines.iter().map(|line| escaped(line)).collect();
            writeln!(out, "    n{index} [label=\"{}\"];", label.join("\\l"))?;
        }
        writeln!(out, "  }}")?;
    }
    let mut latest = vec![None; recording.tracks.len()];
    for (index, node) in recording.nodes.iter().enumerate() {
        let before = latest[node.track].replace(index);
        for from in before.iter().chain(node.after.iter().filter(|&&from| Some(from) != before)) {
            writeln!(out, "  n{from} -> n{index};")?;
        }
    }
    writeln!(out, "}}")
}

/// A text as it stands in a quoted string of DOT.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for char in text.chars() {
        match char {
            '"' | '\\' => escaped.extend(['\\', char]),
            char if char.is_control() => escaped.push(' '),
            char => escaped.push(char),
        }
    }
    escaped
}

/// What a command is, and its parameters, a line each.
fn describe(operation: &Operation, style: Style) -> Vec<String> {
    let (name, parameters) = match operation {
        Operation::Shared(shared) => return describe(shared, style),
        Operation::Barrier => ("barrier".into(), vec![]),
        Operation::ResetEvent(_) => ("event reset".into(), vec![]),
        Operation::Copy { dst, src, len } => ("memory copy".into(), memory(*dst, Some(*src), *len)),
        Operation::CopyRegion { dst, to, src, .. } => {
            let mut lines = memory(*dst, Some(*src), to.extent.into_iter().fold(1, usize::saturating_mul));
            lines.push(format!("extent: {:?}", to.extent));
            ("memory copy of a region".into(), lines)
        }
        Operation::CopyImage(copy) => ("image copy".into(), vec![format!("bytes: {}", copy.bytes())]),
        Operation::Fill { dst, pattern, len } => {
            let mut lines = memory(*dst, None, *len);
            lines.push(format!("pattern: {}", bytes(pattern)));
            ("memory fill".into(), lines)
        }
        Operation::Launch(launch) => (kernel_name(launch), kernel(launch, None)),
        Operation::LaunchIndirect { launch, group_count } => {
            (kernel_name(launch), kernel(launch, Some(*group_count)))
        }
        Operation::LaunchMultipleIndirect { launches, count, group_counts } => {
            let mut lines = vec![format!("count: at {count:#x}")];
            let count = |at: usize| Some(group_counts + at * size_of::<ze_headers::ze_group_count_t>());
            let launch = |(at, launch)| [vec![kernel_name(launch)], kernel(launch, count(at))].concat();
            lines.extend(launches.iter().enumerate().flat_map(launch));
            ("several kernels".into(), lines)
        }
        Operation::WriteGlobalTimestamp { dst, .. } => {
            ("write global timestamp".into(), vec![format!("to: {dst:#x}")])
        }
        Operation::QueryKernelTimestamps { queries, .. } => {
            let lines = queries.iter().map(|query| format!("to: {:#x}", query.dst)).collect();
            ("query kernel timestamps".into(), lines)
        }
        Operation::Store { dst, value } => {
            ("memory write".into(), vec![format!("to: {dst:#x}"), format!("value: {value:#x}")])
        }
        Operation::HostFunction { function, data } => {
            let function = *function as usize;
            ("host function".into(), vec![format!("function: {function:#x}"), format!("data: {data:#x}")])
        }
        Operation::MetricQuery(command) => (format!("metric query: {:?}", command.edge()), vec![]),
        Operation::MetricMarker(marker) => {
            ("metric marker".into(), vec![format!("value: {}", marker.value())])
        }
    };
    let mut lines = vec![name];
    if style == Style::Detailed {
        lines.extend(parameters);
    }
    lines
}

fn memory(to: usize, from: Option<usize>, size: usize) -> Vec<String> {
    let from = from.map(|from| format!("from: {from:#x}"));
    [format!("to: {to:#x}")].into_iter().chain(from).chain([format!("bytes: {size}")]).collect()
}

fn kernel_name(launch: &Launch) -> String {
    format!("kernel {}", launch.kernel().reflection().name)
}

/// What a launch is of; its group count may be read from memory when it executes.
fn kernel(launch: &Launch, group_count: Option<usize>) -> Vec<String> {
    let range = launch.range();
    let count = group_count.map_or_else(|| format!("{:?}", range.group_count), |at| format!("at {at:#x}"));
    let mut lines = vec![format!("group count: {count}"), format!("group size: {:?}", range.group_size)];
    if range.global_offset != [0; 3] {
        lines.push(format!("global offset: {:?}", range.global_offset));
    }
    for (index, arg) in launch.kernel().reflection().args.iter().enumerate() {
        let (kind, name) = (&arg.type_name, &arg.name);
        let value = match launch.local_bytes(index) {
            Some(size) => format!("{size} bytes of local memory"),
            None => bytes(launch.argument(index)),
        };
        lines.push(format!("argument {index}: {kind} {name} = {value}").replace("  ", " "));
    }
    lines
}

/// A value's bytes: a number where that has at most 8, else in the order of memory.
fn bytes(value: &[u8]) -> String {
    if value.len() <= size_of::<u64>() {
        return format!(
            "{:#x}",
            value.iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte))
        );
    }
    let shown: String = value.iter().take(SHOWN_BYTES).map(|byte| format!("{byte:02x}")).collect();
    if value.len() > SHOWN_BYTES { format!("{shown}... ({} bytes)", value.len()) } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_no_string() {
        assert_eq!(escaped("a\"b\\c\nd"), "a\\\"b\\\\c d");
    }

    #[test]
    fn values_are_numbers_or_bytes() {
        assert_eq!(bytes(&[1, 2]), "0x201");
        assert_eq!(bytes(&[0; 9]), "000000000000000000");
        assert!(bytes(&[0xff; 64]).ends_with("ff... (64 bytes)"));
    }
}
