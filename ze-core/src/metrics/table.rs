//! The groups of metrics and their counters, as data.

use super::usage::Counted;
use crate::sysman::activity::Work;
use ze_headers::*;

/// Where a counter is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// The time that the device's commands of a kind have run, in nanoseconds.
    Busy(Work),
    Engine(Counted),
    /// The process, as the system accounts it.
    Process(Accounted),
    /// `perf_event_open` with this type and configuration.
    Perf {
        kind: u32,
        config: u64,
    },
}

/// What the system accounts of a process (`getrusage`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accounted {
    UserTime,
    SystemTime,
    MinorFaults,
    MajorFaults,
    VoluntarySwitches,
    InvoluntarySwitches,
}

/// A metric as a program reads of it.
#[derive(Clone, Copy, Debug)]
pub struct Description {
    pub name: &'static str,
    pub description: &'static str,
    pub unit: &'static str,
    pub metric_type: zet_metric_type_t,
    pub value_type: zet_value_type_t,
}

/// A counter of a group.
#[derive(Clone, Copy, Debug)]
pub struct CounterRow {
    pub shown: Description,
    pub source: Source,
}

/// A quotient of two counters of its group.
#[derive(Clone, Copy, Debug)]
pub struct RatioRow {
    pub shown: Description,
    pub of: &'static str,
    pub to: &'static str,
}

/// A group.
#[derive(Clone, Copy, Debug)]
pub struct GroupRow {
    pub name: &'static str,
    pub description: &'static str,
    /// Groups of one domain compete for the same counters of the processor.
    pub domain: u32,
    pub counters: &'static [CounterRow],
    pub ratios: &'static [RatioRow],
}

const fn shown(name: &'static str, unit: &'static str, description: &'static str) -> Description {
    Description {
        name,
        description,
        unit,
        metric_type: ZET_METRIC_TYPE_EVENT,
        value_type: ZET_VALUE_TYPE_UINT64,
    }
}

const fn event(name: &'static str, unit: &'static str, source: Source, text: &'static str) -> CounterRow {
    CounterRow { shown: shown(name, unit, text), source }
}

const fn duration(name: &'static str, source: Source, text: &'static str) -> CounterRow {
    let shown = Description { metric_type: ZET_METRIC_TYPE_DURATION, ..shown(name, "ns", text) };
    CounterRow { shown, source }
}

/// First of every group: when the report was made.
pub const TIME: Description = Description {
    metric_type: ZET_METRIC_TYPE_TIMESTAMP,
    ..shown("ReportTime", "ns", "When the report was made, in the host's time (CLOCK_MONOTONIC_RAW).")
};
/// Second: how long it counted.
pub const ELAPSED: Description = Description {
    metric_type: ZET_METRIC_TYPE_DURATION,
    ..shown("ElapsedTime", "ns", "The time that the report is about, which ends when it was made.")
};
/// Last: what a command list marked it with.
pub const MARKER: Description = Description {
    metric_type: ZET_METRIC_TYPE_RAW,
    ..shown(
        "StreamMarker",
        "",
        "The value of zetCommandListAppendMetricStreamerMarker that made the report; else 0.",
    )
};

/// `PERF_TYPE_HARDWARE` of linux/perf_event.h.
const HARDWARE: u32 = 0;

const fn hardware(name: &'static str, config: u64, text: &'static str) -> CounterRow {
    event(name, "events", Source::Perf { kind: HARDWARE, config }, text)
}

const fn accounted(
    name: &'static str,
    unit: &'static str,
    which: Accounted,
    text: &'static str,
) -> CounterRow {
    event(name, unit, Source::Process(which), text)
}

/// All groups. The place of a row is in exported data: rows are added at the end.
pub const GROUPS: &[GroupRow] = &[
    GroupRow {
        name: "Kernels",
        description: "What the device's engine executed of kernels, for all queues of this process.",
        domain: 0,
        counters: &[
            duration("KernelTime", Source::Busy(Work::Compute), "The time in which a kernel ran."),
            event("KernelLaunches", "launches", Source::Engine(Counted::Launches), "Kernels that ended."),
            event(
                "WorkGroups",
                "work-groups",
                Source::Engine(Counted::WorkGroups),
                "Work-groups of kernels that ended.",
            ),
            event(
                "WorkItems",
                "work-items",
                Source::Engine(Counted::WorkItems),
                "Work-items of kernels that ended.",
            ),
        ],
        ratios: &[],
    },
    GroupRow {
        name: "Copies",
        description: "What the device's engine copied and filled, for all queues of this process.",
        domain: 1,
        counters: &[
            duration("CopyTime", Source::Busy(Work::Copy), "The time in which a copy or fill ran."),
            event("Copies", "copies", Source::Engine(Counted::Copies), "Copies and fills that ended."),
            event("BytesCopied", "bytes", Source::Engine(Counted::CopiedBytes), "Bytes that they wrote."),
        ],
        ratios: &[],
    },
    GroupRow {
        name: "Process",
        description: "What the system accounts of this process, all of its threads and also what the host does.",
        domain: 2,
        counters: &[
            duration(
                "UserTime",
                Source::Process(Accounted::UserTime),
                "CPU time of threads in their own code.",
            ),
            duration(
                "SystemTime",
                Source::Process(Accounted::SystemTime),
                "CPU time of threads in the system.",
            ),
            accounted(
                "MinorPageFaults",
                "faults",
                Accounted::MinorFaults,
                "Page faults that no device was read for.",
            ),
            accounted(
                "MajorPageFaults",
                "faults",
                Accounted::MajorFaults,
                "Page faults that a device was read for.",
            ),
            accounted(
                "VoluntaryContextSwitches",
                "switches",
                Accounted::VoluntarySwitches,
                "How often a thread waited.",
            ),
            accounted(
                "InvoluntaryContextSwitches",
                "switches",
                Accounted::InvoluntarySwitches,
                "How often a thread had to make room for another one.",
            ),
        ],
        ratios: &[],
    },
    GroupRow {
        name: "Processor",
        description: "What the processor counts of this process, all of its threads in their own code and also what the host does.",
        domain: 3,
        counters: &[
            hardware("Cycles", 0, "Processor cycles."),
            hardware("Instructions", 1, "Instructions that retired."),
            hardware("CacheReferences", 2, "Accesses that reached the last level of caches."),
            hardware("CacheMisses", 3, "Accesses that the caches did not have."),
            hardware("Branches", 4, "Branches that retired."),
            hardware("BranchMisses", 5, "Branches that were predicted wrongly."),
        ],
        ratios: &[RatioRow {
            shown: Description {
                metric_type: ZET_METRIC_TYPE_RATIO,
                value_type: ZET_VALUE_TYPE_FLOAT64,
                ..shown("InstructionsPerCycle", "instructions/cycle", "Instructions by cycles.")
            },
            of: "Instructions",
            to: "Cycles",
        }],
    },
];
