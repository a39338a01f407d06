//! An active group: what reads its counters.

use super::perf;
use super::report::Layout;
use super::table::{Accounted, Source};
use crate::clock;
use crate::error::Result;
use crate::sysman::activity::Activity;
use std::sync::Arc;

const NANOSECONDS_A_SECOND: u64 = 1_000_000_000;
const NANOSECONDS_A_MICROSECOND: u64 = 1000;

/// A group that counts until it is dropped.
pub struct Activation {
    layout: Layout,
    activity: Arc<Activity>,
    /// Of the counters that the processor has, in their order.
    perf: perf::Counters,
}

/// The counters of a group at a moment, in nanoseconds of the host's time.
#[derive(Clone, Debug)]
pub struct Reading {
    pub time: u64,
    pub values: Vec<u64>,
}

impl Activation {
    pub fn new(layout: Layout, activity: &Arc<Activity>) -> Result<Arc<Self>> {
        let events = layout.counters().filter_map(|counter| match counter.source {
            Source::Perf { kind, config } => Some(perf::Event { kind, config }),
            _ => None,
        });
        let perf = perf::Counters::open(&events.collect::<Vec<_>>())?;
        activity.counters().watch();
        Ok(Arc::new(Self { layout, activity: Arc::clone(activity), perf }))
    }

    pub fn layout(&self) -> Layout {
        self.layout
    }

    pub fn read(&self) -> Reading {
        let mut process = None;
        let mut events = 0..;
        let values = self.layout.counters().map(|counter| match counter.source {
            Source::Busy(work) => self.activity.busy_nanoseconds(work),
            Source::Engine(counted) => self.activity.counters().get(counted),
            Source::Process(what) => account(process.get_or_insert_with(account_of_process), what),
            Source::Perf { .. } => events.next().map_or(0, |event| self.perf.read(event)),
        });
        let values = values.collect();
        Reading { time: clock::now(), values }
    }
}

impl Drop for Activation {
    fn drop(&mut self) {
        self.activity.counters().unwatch();
    }
}

fn account_of_process() -> libc::rusage {
    // SAFETY: a structure of numbers, for which zero is a value.
    let mut account: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the call writes the structure.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut account) };
    account
}

fn account(account: &libc::rusage, what: Accounted) -> u64 {
    let nanoseconds = |time: libc::timeval| {
        time.tv_sec as u64 * NANOSECONDS_A_SECOND + time.tv_usec as u64 * NANOSECONDS_A_MICROSECOND
    };
    match what {
        Accounted::UserTime => nanoseconds(account.ru_utime),
        Accounted::SystemTime => nanoseconds(account.ru_stime),
        Accounted::MinorFaults => account.ru_minflt as u64,
        Accounted::MajorFaults => account.ru_majflt as u64,
        Accounted::VoluntarySwitches => account.ru_nvcsw as u64,
        Accounted::InvoluntarySwitches => account.ru_nivcsw as u64,
    }
}
