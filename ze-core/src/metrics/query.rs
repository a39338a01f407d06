//! Metric queries: what a group counts between two commands of a list.

use super::activation::{Activation, Reading};
use super::{MetricGroup, Metrics, User};
use crate::error::{Error, Result};
use crate::fork::Mutex;
use crate::handle::object;
use std::collections::BTreeMap;
use std::sync::Arc;
use ze_headers::*;

/// The place of a query in its pool.
#[derive(Default)]
struct Slot(Mutex<State>);

#[derive(Default)]
struct State {
    /// Executed, and no end of it yet.
    begun: Option<(Arc<Activation>, Reading)>,
    report: Option<Vec<u8>>,
}

/// A pool of queries. Places come into being with their first query.
pub struct QueryPool {
    group: Arc<MetricGroup>,
    count: u32,
    slots: Mutex<BTreeMap<u32, Arc<Slot>>>,
    _user: User,
}

object!(QueryPool, MetricQueryPool, zet_metric_query_pool_handle_t);

/// A query.
pub struct Query {
    pool: Arc<QueryPool>,
    slot: Arc<Slot>,
}

object!(Query, MetricQuery, zet_metric_query_handle_t);

/// What a command does with a query.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Edge {
    Begin,
    End,
}

/// The command at an end of a query.
#[derive(Clone)]
pub struct QueryCommand {
    slot: Arc<Slot>,
    activation: Arc<Activation>,
    edge: Edge,
}

impl QueryPool {
    /// `zetMetricQueryPoolCreate`.
    pub fn new(
        metrics: &Metrics,
        group: &Arc<MetricGroup>,
        desc: &zet_metric_query_pool_desc_t,
    ) -> Result<Arc<Self>> {
        metrics.check(group)?;
        match desc.type_ {
            ZET_METRIC_QUERY_POOL_TYPE_PERFORMANCE => {}
            // Its queries would have the commands between them not executed.
            ZET_METRIC_QUERY_POOL_TYPE_EXECUTION => {
                return Err(Error::UnsupportedEnumeration { what: "query pool type", value: 1 });
            }
            other => {
                return Err(Error::InvalidEnumeration { what: "query pool type", value: other.0.into() });
            }
        }
        if desc.count == 0 {
            return Err(Error::InvalidSize("a pool of no queries".into()));
        }
        let (group, count) = (Arc::clone(group), desc.count);
        Ok(Arc::new(Self { group, count, slots: Mutex::default(), _user: metrics.user() }))
    }

    /// `zetMetricQueryCreate`.
    pub fn query(self: &Arc<Self>, index: u32) -> Result<Arc<Query>> {
        if index >= self.count {
            return Err(Error::InvalidArgument(format!("query {index} of a pool of {}", self.count)));
        }
        let slot = Arc::clone(self.slots.lock().entry(index).or_default());
        Ok(Arc::new(Query { pool: Arc::clone(self), slot }))
    }
}

impl Query {
    /// The command of `zetCommandListAppendMetricQueryBegin` or `End`. The group has to be active.
    pub fn command(&self, metrics: &Metrics, edge: Edge) -> Result<QueryCommand> {
        let activation = metrics.activation(&self.pool.group)?;
        Ok(QueryCommand { slot: Arc::clone(&self.slot), activation, edge })
    }

    /// `zetMetricQueryReset`.
    pub fn reset(&self) {
        *self.slot.0.lock() = State::default();
    }

    /// Bytes of its report.
    pub fn size(&self) -> usize {
        self.pool.group.layout().report_size()
    }

    /// Its report, once its end was executed.
    pub fn report(&self) -> Result<Vec<u8>> {
        self.slot.0.lock().report.clone().ok_or(Error::NotReady)
    }
}

impl QueryCommand {
    pub fn edge(&self) -> Edge {
        self.edge
    }

    pub(crate) fn execute(&self) {
        let mut state = self.slot.0.lock();
        match self.edge {
            Edge::Begin => state.begun = Some((Arc::clone(&self.activation), self.activation.read())),
            Edge::End => {
                // Counters are those that the query began with, whatever was activated meanwhile.
                let Some((activation, from)) = state.begun.take() else { return };
                let (layout, to) = (activation.layout(), activation.read());
                let mut report = Vec::with_capacity(layout.report_size());
                layout.write(&from, &to, 0, |word| report.extend(word));
                state.report = Some(report);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{group, metrics};
    use super::*;

    fn desc(count: u32) -> zet_metric_query_pool_desc_t {
        zet_metric_query_pool_desc_t { count, ..Default::default() }
    }

    /// What the query's only report says.
    fn counted(query: &Query, name: &str) -> u64 {
        let layout = query.pool.group.layout();
        let report = query.report().expect("the query ended");
        let values = layout.calculate(&report, ZET_METRIC_GROUP_CALCULATION_TYPE_METRIC_VALUES);
        let place = layout.metrics().position(|shown| layout.describe(shown).name == name);
        // SAFETY: counters are numbers of 64 bits.
        unsafe { values.expect("a report")[place.expect("of the group")].value.ui64 }
    }

    #[test]
    fn a_query_has_what_was_counted_between_its_ends() {
        let metrics = metrics();
        let kernels = group(&metrics, "Kernels");
        metrics.activate(&[Arc::clone(&kernels)]).expect("there");
        let pool = QueryPool::new(&metrics, &kernels, &desc(2)).expect("a valid descriptor");
        let query = pool.query(1).expect("in the pool");
        let usage = metrics.activity.usage().expect("a group is active");
        usage.launched([100, 1, 1], [1, 1, 1]);
        query.command(&metrics, Edge::Begin).expect("active").execute();
        usage.launched([4, 2, 1], [32, 1, 1]);
        assert!(matches!(query.report(), Err(Error::NotReady)));
        query.command(&metrics, Edge::End).expect("active").execute();
        usage.launched([1, 1, 1], [1, 1, 1]);
        let names = ["KernelLaunches", "WorkGroups", "WorkItems", "StreamMarker"];
        assert_eq!(names.map(|name| counted(&query, name)), [1, 8, 256, 0]);
        let again = pool.query(1).expect("the same place");
        assert_eq!(counted(&again, "WorkItems"), 256);
        assert!(matches!(pool.query(0).expect("another place").report(), Err(Error::NotReady)));
        query.reset();
        assert!(matches!(again.report(), Err(Error::NotReady)));
        assert_eq!(query.size(), kernels.layout().report_size());
    }

    #[test]
    fn pools_are_checked_and_keep_metrics_enabled() {
        let metrics = metrics();
        let kernels = group(&metrics, "Kernels");
        let of = |type_, count| {
            let desc = zet_metric_query_pool_desc_t { type_, count, ..Default::default() };
            QueryPool::new(&metrics, &kernels, &desc)
        };
        let performance = ZET_METRIC_QUERY_POOL_TYPE_PERFORMANCE;
        assert!(matches!(of(performance, 0), Err(Error::InvalidSize(_))));
        let skipped = of(ZET_METRIC_QUERY_POOL_TYPE_EXECUTION, 1);
        assert!(matches!(skipped, Err(Error::UnsupportedEnumeration { .. })));
        let no_type = of(zet_metric_query_pool_type_t(7), 1);
        assert!(matches!(no_type, Err(Error::InvalidEnumeration { .. })));
        // Places are made when they are used: this is not 100 GB.
        let pool = of(performance, u32::MAX).expect("a valid descriptor");
        assert!(matches!(pool.query(u32::MAX), Err(Error::InvalidArgument(_))));
        let query = pool.query(7).expect("in the pool");
        assert!(matches!(query.command(&metrics, Edge::Begin), Err(Error::NotAvailable(_))));
        assert!(matches!(metrics.disable(), Err(Error::ObjectInUse(_))));
        drop((pool, query));
        metrics.disable().expect("no pool is left");
    }
}
