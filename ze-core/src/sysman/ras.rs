//! RAS error sets: the errors that the kernel's memory controllers counted (`/sys/devices/system/edac`).

use crate::error::{Error, Result};
use crate::handle::object;
use crate::sysman::roots::{Roots, entries, number};
use std::path::PathBuf;
use ze_headers::*;

/// The one category that is counted, in the newer and the older list: the older has no memory, and counts what is not
/// the cores' there.
pub const CATEGORY: zes_ras_error_category_exp_t = ZES_RAS_ERROR_CATEGORY_EXP_MEMORY_ERRORS;
const OLDER_CATEGORY: zes_ras_error_cat_t = ZES_RAS_ERROR_CAT_NON_COMPUTE_ERRORS;

/// The counters of the memory controllers.
#[derive(Clone, Debug)]
pub struct Counters(Vec<PathBuf>);

impl Counters {
    pub fn new(roots: &Roots) -> Self {
        Self(entries(&roots.sys("devices/system/edac/mc"), "mc"))
    }

    /// Errors of a type on all controllers; `None` where none counts.
    pub fn total(&self, kind: zes_ras_error_type_t) -> Option<u64> {
        let name = if kind == ZES_RAS_ERROR_TYPE_CORRECTABLE { "ce_count" } else { "ue_count" };
        self.0
            .iter()
            .filter_map(|controller| number::<u64>(&controller.join(name)))
            .reduce(u64::saturating_add)
    }
}

/// The errors of a type.
pub struct RasErrorSet {
    kind: zes_ras_error_type_t,
    counters: Counters,
}

object!(RasErrorSet, RasErrorSet, zes_ras_handle_t);

/// The types that the kernel counts.
pub fn discover(roots: &Roots) -> Vec<RasErrorSet> {
    let counters = Counters::new(roots);
    let kinds = [ZES_RAS_ERROR_TYPE_CORRECTABLE, ZES_RAS_ERROR_TYPE_UNCORRECTABLE].into_iter();
    let counted = kinds.filter(|&kind| counters.total(kind).is_some());
    counted.map(|kind| RasErrorSet { kind, counters: counters.clone() }).collect()
}

impl RasErrorSet {
    /// `zesRasGetProperties`.
    pub fn properties(&self, out: &mut zes_ras_properties_t) {
        out.type_ = self.kind;
        out.onSubdevice = 0;
        out.subdeviceId = 0;
    }

    /// How many there were.
    pub fn count(&self) -> Result<u64> {
        self.counters
            .total(self.kind)
            .ok_or_else(|| Error::NotAvailable("the error counters cannot be read any more".into()))
    }

    /// `zesRasGetState`. The counters are the system's: they are not set back for one program.
    pub fn state(&self, clear: bool, out: &mut zes_ras_state_t) -> Result<()> {
        if clear {
            return Err(Error::InsufficientPermissions("error counters are the system's, and not set back"));
        }
        let count = self.count()?;
        out.category = [0; ZES_MAX_RAS_ERROR_CATEGORY_COUNT as usize];
        out.category[OLDER_CATEGORY.0 as usize] = count;
        Ok(())
    }

    /// `zesRasGetConfig`: no threshold is set, and 0 says so.
    pub fn config(&self, out: &mut zes_ras_config_t) {
        out.totalThreshold = 0;
        out.detailedThresholds.category = [0; ZES_MAX_RAS_ERROR_CATEGORY_COUNT as usize];
    }

    /// The counter of a category, for `zesRasGetStateExp2`.
    pub fn count_of(&self, category: zes_ras_error_category_exp_t) -> Result<u64> {
        // ZE_RESULT_ERROR_INVALID_ARGUMENT: Invalid category value in pCategories array
        if category.0 > ZES_RAS_ERROR_CATEGORY_EXP_SOC_INTERNAL_ERRORS.0 {
            return Err(Error::InvalidArgument(format!("{:#x} is no category of errors", category.0)));
        }
        if category == CATEGORY {
            self.count()
        } else {
            Err(Error::UnsupportedFeature("this category of errors"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysman::roots::Tree;

    #[test]
    fn errors_of_all_controllers_are_added() {
        let tree = Tree::new(&[
            ("sys/devices/system/edac/mc/mc0/ce_count", "3\n"),
            ("sys/devices/system/edac/mc/mc0/ue_count", "0\n"),
            ("sys/devices/system/edac/mc/mc1/ce_count", "4\n"),
            ("sys/devices/system/edac/mc/mc1/ue_count", "1\n"),
            ("sys/devices/system/edac/mc/power/x", "1\n"),
        ]);
        let sets = discover(&tree.roots());
        let mut states = [zes_ras_state_t::default(); 2];
        for (set, state) in sets.iter().zip(&mut states) {
            set.state(false, state).expect("it can be read");
        }
        let counted = states.map(|state| state.category[ZES_RAS_ERROR_CAT_NON_COMPUTE_ERRORS.0 as usize]);
        assert_eq!((sets.len(), counted), (2, [7, 1]));
        assert!(states.iter().all(|state| state.category.iter().filter(|&&count| count != 0).count() == 1));
        assert_eq!(sets[0].count_of(CATEGORY).expect("it is counted"), 7);
        assert!(matches!(
            sets[0].count_of(ZES_RAS_ERROR_CATEGORY_EXP_RESET),
            Err(Error::UnsupportedFeature(_))
        ));
        let invalid = zes_ras_error_category_exp_t(99);
        assert!(matches!(sets[0].count_of(invalid), Err(Error::InvalidArgument(_))));
        let cleared = sets[0].state(true, &mut states[0]);
        assert!(matches!(cleared, Err(Error::InsufficientPermissions(_))));
    }

    #[test]
    fn a_system_that_does_not_count_has_no_sets() {
        assert!(discover(&Tree::new(&[]).roots()).is_empty());
    }
}
