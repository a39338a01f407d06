//! Engine groups: what the device's commands keep busy.

use crate::handle::object;
use crate::pnext::Outputs;
use crate::sysman::activity::{Activity, Sample, Work};
use crate::sysman::structures;
use std::sync::Arc;
use ze_headers::*;

structures! {
    zes_engine_properties_t = ZES_STRUCTURE_TYPE_ENGINE_PROPERTIES;
    zes_engine_ext_properties_t = ZES_STRUCTURE_TYPE_ENGINE_EXT_PROPERTIES;
}

/// The groups and what they count. The device has one queue that computes and copies, so a "single" engine is all of its kind.
const GROUPS: [(zes_engine_group_t, Option<Work>); 5] = [
    (ZES_ENGINE_GROUP_ALL, None),
    (ZES_ENGINE_GROUP_COMPUTE_ALL, Some(Work::Compute)),
    (ZES_ENGINE_GROUP_COPY_ALL, Some(Work::Copy)),
    (ZES_ENGINE_GROUP_COMPUTE_SINGLE, Some(Work::Compute)),
    (ZES_ENGINE_GROUP_COPY_SINGLE, Some(Work::Copy)),
];

/// An engine group.
pub struct EngineGroup {
    kind: zes_engine_group_t,
    work: Option<Work>,
    activity: Arc<Activity>,
}

object!(EngineGroup, EngineGroup, zes_engine_handle_t);

/// The device's engine groups.
pub fn discover(activity: &Arc<Activity>) -> Vec<EngineGroup> {
    GROUPS.map(|(kind, work)| EngineGroup { kind, work, activity: Arc::clone(activity) }).into()
}

impl EngineGroup {
    /// `zesEngineGetProperties`.
    ///
    /// # Safety
    /// The structure's `pNext` is a valid chain.
    pub unsafe fn properties(&self, out: &mut zes_engine_properties_t) {
        out.type_ = self.kind;
        out.onSubdevice = 0;
        out.subdeviceId = 0;
        // SAFETY: the caller's promise.
        unsafe { Outputs::of(out) }.for_each(|mut link| {
            if let Some(out) = link.get::<zes_engine_ext_properties_t>() {
                out.countOfVirtualFunctionInstance = 0;
            }
        });
    }

    /// `zesEngineGetActivity`: what this process executed on the device, in microseconds.
    pub fn activity(&self) -> zes_engine_stats_t {
        let Sample { active, timestamp } = self.activity.sample(self.work);
        zes_engine_stats_t { activeTime: active, timestamp }
    }
}
