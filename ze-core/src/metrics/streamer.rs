//! Metric streamers: what a group counts from one moment to the next, until the program closes the streamer.

use super::activation::{Activation, Reading};
use super::{MetricGroup, Metrics, User};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::fallible;
use crate::fork::{self, Mutex};
use crate::futex::{Counter, Deadline};
use crate::handle::object;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use ze_headers::*;

/// The thread makes reports and signals an event; a stream may go on in it where there is no other thread.
const STACK: usize = 512 << 10;
/// The shortest time between two reports: about what one takes with the counters of dozens of threads.
const LEAST_PERIOD: Duration = Duration::from_micros(100);
/// Reports that wait for the program to read them, unless it wants to be notified of more.
const REPORTS: usize = 1 << 14;
/// The most that it may want to be notified of.
const MOST_REPORTS: u32 = 1 << 17;
/// Where the thread comes later than this, as on a machine that was asleep, it goes on from there instead of making up for the
/// reports that it owes.
const MOST_LATE: Duration = Duration::from_secs(1);

struct State {
    latest: Reading,
    /// Whole reports, the oldest first.
    reports: VecDeque<u8>,
    /// Reports since the event was signalled.
    unannounced: u32,
    /// Reports found no room.
    dropped: bool,
}

/// What the streamer, its thread and its markers have.
struct Sampling {
    activation: Arc<Activation>,
    /// In reports.
    room: usize,
    notify: u32,
    event: Option<Arc<Event>>,
    state: Mutex<State>,
    closed: AtomicBool,
    /// Advanced when it is closed.
    wake: Counter,
}

/// A streamer.
pub struct Streamer {
    sampling: Arc<Sampling>,
    _user: User,
}

object!(Streamer, MetricStreamer, zet_metric_streamer_handle_t);

/// The command that marks a streamer's reports.
pub struct Marker {
    sampling: Arc<Sampling>,
    value: u32,
}

/// Reports, and whether others were lost.
pub struct Read {
    pub reports: Vec<u8>,
    pub dropped: bool,
}

impl Streamer {
    /// `zetMetricStreamerOpen`; the descriptor gets what is done instead of what it asks for.
    pub fn open(
        metrics: &Metrics,
        group: &Arc<MetricGroup>,
        desc: &mut zet_metric_streamer_desc_t,
        event: Option<Arc<Event>>,
    ) -> Result<Arc<Self>> {
        let activation = metrics.activation(group)?;
        // ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT: an event that the host cannot signal
        event.as_ref().map_or(Ok(()), |event| event.flag().map(drop))?;
        let least = LEAST_PERIOD.as_nanos() as u32;
        let (period, notify) =
            (desc.samplingPeriod.max(least), desc.notifyEveryNReports.clamp(1, MOST_REPORTS));
        let room = REPORTS.max(2 * notify as usize);
        let mut reports = VecDeque::new();
        let bytes = room * group.layout().report_size();
        reports.try_reserve_exact(bytes).map_err(|_| fallible::out_of_memory("metric reports", bytes))?;
        let state = State { latest: activation.read(), reports, unannounced: 0, dropped: false };
        let sampling = Arc::new(Sampling {
            activation,
            room,
            notify,
            event,
            state: Mutex::new(state),
            closed: AtomicBool::new(false),
            wake: Counter::default(),
        });
        let own = Arc::clone(&sampling);
        let builder = thread::Builder::new().name("ze_cpu metrics".into()).stack_size(STACK);
        let started = fork::spawn(builder, move || own.sample(Duration::from_nanos(period.into())));
        started
            .map_err(|error| Error::OutOfHostMemory(format!("no thread for a metric streamer: {error}")))?;
        (desc.samplingPeriod, desc.notifyEveryNReports) = (period, notify);
        Ok(Arc::new(Self { sampling, _user: metrics.user() }))
    }

    /// The command of `zetCommandListAppendMetricStreamerMarker`. It outlives the streamer, and then does nothing.
    pub fn marker(&self, value: u32) -> Marker {
        Marker { sampling: Arc::clone(&self.sampling), value }
    }

    /// Bytes that so many reports take, as far as the streamer keeps so many.
    pub fn size(&self, reports: u32) -> usize {
        (reports as usize).min(self.sampling.room) * self.sampling.activation.layout().report_size()
    }

    /// Takes the oldest reports: at most so many, and no more than fit so many bytes.
    pub fn read(&self, reports: u32, bytes: usize) -> Read {
        let size = self.sampling.activation.layout().report_size();
        let mut state = self.sampling.state.lock();
        let there = state.reports.len() / size;
        let taken = there.min(reports as usize).min(bytes / size) * size;
        Read { reports: state.reports.drain(..taken).collect(), dropped: std::mem::take(&mut state.dropped) }
    }
}

impl Marker {
    pub fn value(&self) -> u32 {
        self.value
    }

    /// Makes a report now, with a value that tells it from others.
    pub(crate) fn execute(&self) {
        self.sampling.report(self.value);
    }
}

impl Drop for Streamer {
    /// `zetMetricStreamerClose`: no report is made, and nothing signalled, behind it.
    fn drop(&mut self) {
        let _state = self.sampling.state.lock();
        self.sampling.closed.store(true, Ordering::Relaxed);
        self.sampling.wake.advance();
    }
}

impl Sampling {
    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    fn sample(&self, period: Duration) {
        let mut next = Instant::now() + period;
        loop {
            let seen = self.wake.get();
            if self.is_closed() || self.wake.wait(Deadline::About(next), |now| now != seen) {
                return;
            }
            self.report(0);
            next += period;
            let now = Instant::now();
            if now.saturating_duration_since(next) > MOST_LATE {
                next = now;
            }
        }
    }

    fn report(&self, marker: u32) {
        let layout = self.activation.layout();
        let mut state = self.state.lock();
        if self.is_closed() {
            return;
        }
        let State { latest, reports, unannounced, dropped } = &mut *state;
        if reports.len() / layout.report_size() >= self.room {
            // What it would have counted is in the next one that finds room.
            *dropped = true;
            return;
        }
        let now = self.activation.read();
        layout.write(latest, &now, marker, |word| reports.extend(word));
        *latest = now;
        *unannounced += 1;
        if *unannounced >= self.notify {
            *unannounced = 0;
            if let Some(Ok(signal)) = self.event.as_ref().map(|event| event.flag()) {
                signal.raise();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{group, metrics};
    use super::*;

    fn values(group: &MetricGroup, raw: &[u8], name: &str) -> Vec<u64> {
        let layout = group.layout();
        let names: Vec<_> = layout.metrics().map(|shown| layout.describe(shown).name).collect();
        let place = names.iter().position(|of| *of == name).expect("of the group");
        let all = layout.calculate(raw, ZET_METRIC_GROUP_CALCULATION_TYPE_METRIC_VALUES).expect("reports");
        // SAFETY: counters are numbers of 64 bits.
        all.chunks(names.len()).map(|report| unsafe { report[place].value.ui64 }).collect()
    }

    fn open(metrics: &Metrics, period: u32, notify: u32) -> Arc<Streamer> {
        let kernels = group(metrics, "Kernels");
        metrics.activate(&[Arc::clone(&kernels)]).expect("there");
        let mut desc = zet_metric_streamer_desc_t {
            samplingPeriod: period,
            notifyEveryNReports: notify,
            ..Default::default()
        };
        Streamer::open(metrics, &kernels, &mut desc, None).expect("the group is active")
    }

    #[test]
    fn reports_follow_each_other_and_lose_nothing() {
        let metrics = metrics();
        let streamer = open(&metrics, 1, 1);
        let kernels = group(&metrics, "Kernels");
        let usage = metrics.activity.usage().expect("a group is active");
        let mut raw = Vec::new();
        for round in 0..50 {
            usage.launched([1, 1, 1], [round, 1, 1]);
            thread::sleep(Duration::from_micros(300));
            raw.extend(streamer.read(u32::MAX, usize::MAX).reports);
        }
        streamer.marker(7).execute();
        raw.extend(streamer.read(u32::MAX, usize::MAX).reports);
        let [launches, items, markers, ends, elapsed] =
            ["KernelLaunches", "WorkItems", "StreamMarker", "ReportTime", "ElapsedTime"]
                .map(|name| values(&kernels, &raw, name));
        assert_eq!(launches.iter().sum::<u64>(), 50);
        assert_eq!(items.iter().sum::<u64>(), (0..50).sum());
        assert_eq!(markers.iter().filter(|&&marker| marker != 0).collect::<Vec<_>>(), [&7]);
        for (report, pair) in ends.windows(2).enumerate() {
            assert_eq!(pair[1] - elapsed[report + 1], pair[0], "each begins where the one before ended");
        }
    }

    #[test]
    fn no_more_is_read_than_is_wanted_and_the_rest_stays() {
        let metrics = metrics();
        let streamer = open(&metrics, u32::MAX, 1);
        let kernels = group(&metrics, "Kernels");
        (1..=5).for_each(|marker| streamer.marker(marker).execute());
        let size = kernels.layout().report_size();
        let read = |reports, bytes| {
            let read = streamer.read(reports, bytes);
            assert!(!read.dropped);
            values(&kernels, &read.reports, "StreamMarker")
        };
        assert_eq!(read(2, usize::MAX), [1, 2]);
        assert!(read(u32::MAX, size - 1).is_empty());
        assert_eq!(read(u32::MAX, 2 * size + 3), [3, 4]);
        assert_eq!(read(u32::MAX, usize::MAX), [5]);
        assert_eq!(streamer.size(3), 3 * size);
        assert_eq!(streamer.size(u32::MAX), REPORTS * size);
    }

    #[test]
    fn reports_without_room_are_dropped_and_what_they_would_count_is_in_the_next() {
        let metrics = metrics();
        let streamer = open(&metrics, u32::MAX, 1);
        let kernels = group(&metrics, "Kernels");
        let usage = metrics.activity.usage().expect("a group is active");
        for _ in 0..REPORTS + 3 {
            usage.launched([1, 1, 1], [1, 1, 1]);
            streamer.marker(1).execute();
        }
        let full = streamer.read(u32::MAX, usize::MAX);
        assert!(full.dropped);
        assert_eq!(values(&kernels, &full.reports, "KernelLaunches").len(), REPORTS);
        streamer.marker(2).execute();
        let next = streamer.read(u32::MAX, usize::MAX);
        assert!(!next.dropped, "it is said once");
        assert_eq!(values(&kernels, &next.reports, "KernelLaunches"), [3]);
    }

    #[test]
    fn descriptors_get_what_is_done() {
        let metrics = metrics();
        let kernels = group(&metrics, "Kernels");
        let mut desc = zet_metric_streamer_desc_t { notifyEveryNReports: u32::MAX, ..Default::default() };
        let refused = Streamer::open(&metrics, &kernels, &mut desc, None);
        assert!(matches!(refused, Err(Error::NotAvailable(_))), "the group is not active");
        metrics.activate(&[Arc::clone(&kernels)]).expect("there");
        let streamer = Streamer::open(&metrics, &kernels, &mut desc, None).expect("active");
        assert_eq!((desc.samplingPeriod, desc.notifyEveryNReports), (100_000, MOST_REPORTS));
        assert!(matches!(metrics.disable(), Err(Error::ObjectInUse(_))));
        let marker = streamer.marker(1);
        drop(streamer);
        marker.execute();
        metrics.activate(&[]).expect("none");
        metrics.disable().expect("nothing is open");
    }
}
