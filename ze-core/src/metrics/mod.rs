//! Metrics (`zet*`): what the engine and the processor count while commands run.
//!
//! A *group* is a row of a table ([`table`]); its counters are the engine's own ([`usage`]), the system's of the process, or
//! the processor's ([`perf`]). What a system does not let a process count is not there. An *activation* reads them; queries and
//! streamers make *reports* of two readings ([`report`]), each of which says all that is needed to calculate its metrics.
//! Nothing is counted while no group is active.

mod activation;
mod perf;
pub mod query;
pub mod report;
pub mod streamer;
mod table;
pub mod usage;

use crate::clock::{self, DeviceClock};
use crate::error::{Error, Result};
use crate::fork::Mutex;
use crate::handle::object;
use crate::parts::Parts;
use crate::pnext::Outputs;
use crate::sysman::{activity::Activity, structures};
use crate::text;
use activation::Activation;
use report::{Layout, Shown};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use ze_headers::*;

structures! {
    zet_metric_group_properties_t = ZET_STRUCTURE_TYPE_METRIC_GROUP_PROPERTIES;
    zet_metric_properties_t = ZET_STRUCTURE_TYPE_METRIC_PROPERTIES;
    // The second is what it was announced by before API 1.7.
    zet_metric_global_timestamps_resolution_exp_t =
        ZET_STRUCTURE_TYPE_METRIC_GLOBAL_TIMESTAMPS_RESOLUTION_EXP
        | ZET_STRUCTURE_TYPE_GLOBAL_METRICS_TIMESTAMPS_EXP_PROPERTIES;
    zet_metric_group_type_exp_t = ZET_STRUCTURE_TYPE_METRIC_GROUP_TYPE_EXP;
    zet_metric_source_id_exp_t = ZET_STRUCTURE_TYPE_METRIC_SOURCE_ID_EXP;
}

/// Set to 1 by programs that measure, before they initialise the driver.
const ENABLE_VARIABLE: &str = "ZET_ENABLE_METRICS";

/// Times of reports are nanoseconds.
const TIMER_HZ: u64 = 1_000_000_000;

/// A metric of a group.
pub struct Metric {
    layout: Layout,
    shown: Shown,
}

object!(Metric, Metric, zet_metric_handle_t);

impl Metric {
    /// `zetMetricGetProperties`.
    ///
    /// # Safety
    /// The structure's `pNext` is a valid chain.
    pub unsafe fn properties(&self, out: &mut zet_metric_properties_t) {
        let row = self.layout.describe(self.shown);
        text::write(&mut out.name, row.name);
        text::write(&mut out.description, row.description);
        text::write(&mut out.component, self.layout.row().name);
        text::write(&mut out.resultUnits, row.unit);
        out.tierNumber = 1;
        out.metricType = row.metric_type;
        out.resultType = row.value_type;
    }
}

/// A group of metrics that are measured together.
pub struct MetricGroup {
    layout: Layout,
    metrics: Parts<Metric>,
    clock: DeviceClock,
}

object!(MetricGroup, MetricGroup, zet_metric_group_handle_t);

impl MetricGroup {
    fn new(layout: Layout, clock: DeviceClock) -> Self {
        let metrics = layout.metrics().map(|shown| Metric { layout, shown }).collect();
        Self { layout, metrics: Parts::new(metrics), clock }
    }

    pub fn metrics(&self) -> &Parts<Metric> {
        &self.metrics
    }

    pub fn layout(&self) -> Layout {
        self.layout
    }

    fn domain(&self) -> u32 {
        self.layout.row().domain
    }

    /// `zetMetricGroupGetProperties`.
    ///
    /// # Safety
    /// The structure's `pNext` is a valid chain.
    pub unsafe fn properties(&self, out: &mut zet_metric_group_properties_t) {
        let row = self.layout.row();
        text::write(&mut out.name, row.name);
        text::write(&mut out.description, row.description);
        out.samplingType =
            ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_EVENT_BASED | ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_TIME_BASED;
        out.domain = row.domain;
        out.metricCount = self.metrics.count() as u32;
        // SAFETY: the caller's promise.
        unsafe { Outputs::of(out) }.for_each(|mut link| {
            if let Some(out) = link.get::<zet_metric_global_timestamps_resolution_exp_t>() {
                out.timerResolution = TIMER_HZ;
                out.timestampValidBits = u64::BITS.into();
            } else if let Some(out) = link.get::<zet_metric_group_type_exp_t>() {
                out.type_ = ZET_METRIC_GROUP_TYPE_EXP_FLAG_OTHER;
            } else if let Some(out) = link.get::<zet_metric_source_id_exp_t>() {
                // One domain, one source.
                out.sourceId = row.domain;
            }
        });
    }

    /// `zetMetricGroupGetGlobalTimestampsExp`: a moment in the host's or the device's time, and in that of reports.
    pub fn timestamps(&self, of_host: bool) -> (u64, u64) {
        let now = clock::now();
        (if of_host { now } else { self.clock.global(now) }, now)
    }
}

/// The metrics of a root device and its parts.
pub struct Metrics {
    activity: Arc<Activity>,
    groups: Parts<MetricGroup>,
    /// Collection is enabled now.
    enabled: AtomicBool,
    /// It has been at some time: then groups are listed.
    listed: AtomicBool,
    active: Mutex<Vec<Arc<Activation>>>,
    /// Pools and streamers that are alive.
    users: Arc<AtomicUsize>,
}

/// Counts as a user while it lives.
struct User(Arc<AtomicUsize>);

impl Drop for User {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

const DISABLED: Error = Error::DependencyUnavailable(
    "metrics are not enabled: set ZET_ENABLE_METRICS=1 before the driver is initialised, or call zetDeviceEnableMetricsExp",
);

impl Metrics {
    pub fn discover(activity: &Arc<Activity>, clock: DeviceClock) -> Self {
        let enabled = std::env::var_os(ENABLE_VARIABLE).is_some_and(|value| value == "1");
        let groups = Layout::discover().map(|layout| MetricGroup::new(layout, clock)).collect();
        Self {
            activity: Arc::clone(activity),
            groups: Parts::new(groups),
            enabled: enabled.into(),
            listed: enabled.into(),
            active: Mutex::default(),
            users: Arc::default(),
        }
    }

    /// `zetMetricGroupGet`. Errors: [`Error::DependencyUnavailable`] where nobody has asked for metrics.
    pub fn groups(&self) -> Result<&Parts<MetricGroup>> {
        if self.listed.load(Ordering::Relaxed) { Ok(&self.groups) } else { Err(DISABLED) }
    }

    /// `zetDeviceEnableMetricsExp`.
    pub fn enable(&self) {
        self.listed.store(true, Ordering::Relaxed);
        self.enabled.store(true, Ordering::Relaxed);
    }

    /// `zetDeviceDisableMetricsExp`.
    pub fn disable(&self) -> Result<()> {
        if !self.active.lock().is_empty() || self.users.load(Ordering::Relaxed) != 0 {
            // ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE: metric operations in progress or resources that are not released
            return Err(Error::ObjectInUse("metric groups are active, or a query pool or streamer is open"));
        }
        self.enabled.store(false, Ordering::Relaxed);
        Ok(())
    }

    fn check(&self, group: &Arc<MetricGroup>) -> Result<()> {
        if self.groups.contains(group) {
            return Ok(());
        }
        Err(Error::InvalidArgument("the metric group is of another device".into()))
    }

    /// `zetContextActivateMetricGroups`: these and no others.
    pub fn activate(&self, groups: &[Arc<MetricGroup>]) -> Result<()> {
        if !groups.is_empty() && !self.enabled.load(Ordering::Relaxed) {
            return Err(DISABLED);
        }
        for (index, group) in groups.iter().enumerate() {
            self.check(group)?;
            // ZE_RESULT_ERROR_INVALID_ARGUMENT: multiple metric groups share the same domain
            if groups[..index].iter().any(|other| other.domain() == group.domain()) {
                return Err(Error::InvalidArgument(format!(
                    "two metric groups are of domain {}",
                    group.domain()
                )));
            }
        }
        let mut active = self.active.lock();
        let mut next = Vec::new();
        for group in groups {
            // One that stays active goes on counting.
            let old = active.iter().find(|old| old.layout() == group.layout);
            next.push(match old {
                Some(old) => Arc::clone(old),
                None => Activation::new(group.layout, &self.activity)?,
            });
        }
        *active = next;
        Ok(())
    }

    /// The activation of a group.
    fn activation(&self, group: &Arc<MetricGroup>) -> Result<Arc<Activation>> {
        self.check(group)?;
        let active = self.active.lock();
        let of_group = active.iter().find(|active| active.layout() == group.layout);
        of_group.cloned().ok_or_else(|| {
            let name = group.layout.row().name;
            Error::NotAvailable(format!("metric group {name} is not active: zetContextActivateMetricGroups"))
        })
    }

    fn user(&self) -> User {
        self.users.fetch_add(1, Ordering::Relaxed);
        User(Arc::clone(&self.users))
    }

    /// `zetDeviceGetConcurrentMetricGroupsExp`: puts groups that can be measured together behind each other, and says how many
    /// each such set has.
    pub fn concurrent(&self, groups: &[Arc<MetricGroup>]) -> Result<Vec<Vec<usize>>> {
        groups.iter().try_for_each(|group| self.check(group))?;
        let mut sets: Vec<Vec<usize>> = Vec::new();
        for (index, group) in groups.iter().enumerate() {
            let free = |set: &&mut Vec<usize>| set.iter().all(|&of| groups[of].domain() != group.domain());
            match sets.iter_mut().find(free) {
                Some(set) => set.push(index),
                None => sets.push(vec![index]),
            }
        }
        Ok(sets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ze_extensions::DeviceProfile;

    pub(super) fn metrics() -> Metrics {
        let metrics = Metrics::discover(&Arc::default(), DeviceClock::new(&DeviceProfile::host()));
        metrics.enable();
        metrics
    }

    pub(super) fn group(metrics: &Metrics, name: &str) -> Arc<MetricGroup> {
        let groups = metrics.groups().expect("enabled");
        let mut all = (0..groups.count()).map(|index| groups.object(index));
        Arc::clone(all.find(|group| group.layout.row().name == name).expect("every system has it"))
    }

    #[test]
    fn nothing_is_listed_before_somebody_asks_for_metrics() {
        let metrics = Metrics::discover(&Arc::default(), DeviceClock::new(&DeviceProfile::host()));
        assert!(matches!(metrics.groups(), Err(Error::DependencyUnavailable(_))));
        metrics.enable();
        assert!(metrics.groups().expect("enabled").count() >= 3);
        metrics.disable().expect("nothing is active");
        assert!(metrics.groups().is_ok(), "what is known stays known");
        let groups = [group(&metrics, "Kernels")];
        assert!(matches!(metrics.activate(&groups), Err(Error::DependencyUnavailable(_))));
        metrics.activate(&[]).expect("there is nothing to deactivate");
    }

    #[test]
    fn groups_of_one_domain_are_not_active_together() {
        let metrics = metrics();
        let [kernels, copies] = ["Kernels", "Copies"].map(|name| group(&metrics, name));
        let twice = [Arc::clone(&kernels), Arc::clone(&kernels)];
        assert!(matches!(metrics.activate(&twice), Err(Error::InvalidArgument(_))));
        metrics.activate(&[Arc::clone(&kernels), Arc::clone(&copies)]).expect("two domains");
        assert!(metrics.activation(&copies).is_ok());
        metrics.activate(&[Arc::clone(&kernels)]).expect("one of them");
        assert!(matches!(metrics.activation(&copies), Err(Error::NotAvailable(_))));
        assert!(matches!(metrics.disable(), Err(Error::ObjectInUse(_))));
        metrics.activate(&[]).expect("none");
        metrics.disable().expect("nothing is active");
    }

    #[test]
    fn a_group_of_another_device_is_refused() {
        let (metrics, other) = (metrics(), metrics());
        let group = group(&other, "Kernels");
        assert!(matches!(metrics.activate(&[Arc::clone(&group)]), Err(Error::InvalidArgument(_))));
        assert!(matches!(metrics.concurrent(&[group]), Err(Error::InvalidArgument(_))));
    }

    #[test]
    fn concurrent_sets_have_a_group_of_a_domain_once() {
        let metrics = metrics();
        let [kernels, copies] = ["Kernels", "Copies"].map(|name| group(&metrics, name));
        let groups = [&kernels, &kernels, &copies].map(Arc::clone);
        assert_eq!(metrics.concurrent(&groups).expect("its own"), [vec![0, 2], vec![1]]);
    }

    #[test]
    fn work_is_counted_while_a_group_is_active() {
        let metrics = metrics();
        assert!(metrics.activity.usage().is_none());
        metrics.activate(&[group(&metrics, "Kernels")]).expect("there");
        assert!(metrics.activity.usage().is_some());
        metrics.activate(&[]).expect("none");
        assert!(metrics.activity.usage().is_none());
    }
}
