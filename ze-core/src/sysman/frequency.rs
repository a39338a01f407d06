//! Frequency domains: the clock of the CPU's cores, from `/sys/devices/system/cpu/cpufreq`.

use crate::error::{Error, Result};
use crate::handle::object;
use crate::host_time;
use crate::sysman::roots::{Roots, entries, number, text};
use std::path::{Path, PathBuf};
use ze_headers::*;

const KHZ_A_MHZ: f64 = 1000.0;
const NANOSECONDS_A_MICROSECOND: u64 = 1000;
/// Of the API: the value is not known.
const UNKNOWN: f64 = -1.0;

/// The clock of all cores: one domain over all of the kernel's policies.
pub struct FrequencyDomain {
    policies: Vec<PathBuf>,
    cpus: PathBuf,
    min: f64,
    max: f64,
}

object!(FrequencyDomain, FrequencyDomain, zes_freq_handle_t);

fn mhz(path: &Path) -> Option<f64> {
    number::<f64>(path).map(|khz| khz / KHZ_A_MHZ)
}

/// One domain, or none where the kernel does not say what the clocks are, as in most virtual machines.
pub fn discover(roots: &Roots) -> Vec<FrequencyDomain> {
    let policies = entries(&roots.sys("devices/system/cpu/cpufreq"), "policy");
    let limit = |name: &str, choose: fn(f64, f64) -> f64| {
        policies.iter().filter_map(|policy| mhz(&policy.join(name))).reduce(choose)
    };
    let limits = limit("cpuinfo_min_freq", f64::min).zip(limit("cpuinfo_max_freq", f64::max));
    let cpus = roots.sys("devices/system/cpu");
    limits.map(|(min, max)| FrequencyDomain { policies, cpus, min, max }).into_iter().collect()
}

impl FrequencyDomain {
    /// `zesFrequencyGetProperties`.
    pub fn properties(&self, out: &mut zes_freq_properties_t) {
        out.type_ = ZES_FREQ_DOMAIN_GPU;
        out.onSubdevice = 0;
        out.subdeviceId = 0;
        out.canControl = 0;
        out.isThrottleEventSupported = 0;
        out.min = self.min;
        out.max = self.max;
    }

    fn values(&self, name: &str) -> impl Iterator<Item = f64> {
        self.policies.iter().filter_map(move |policy| mhz(&policy.join(name)))
    }

    /// `zesFrequencyGetAvailableClocks`, in MHz, ascending. Where the kernel has no table the ends of the range are known.
    pub fn clocks(&self) -> Vec<f64> {
        let tables =
            self.policies.iter().filter_map(|policy| text(&policy.join("scaling_available_frequencies")));
        let listed = tables.flat_map(|table| {
            table.split_whitespace().filter_map(|khz| khz.parse::<f64>().ok()).collect::<Vec<_>>()
        });
        let mut clocks: Vec<f64> = listed.map(|khz| khz / KHZ_A_MHZ).collect();
        if clocks.is_empty() {
            clocks.extend([self.min, self.max]);
        }
        clocks.sort_by(f64::total_cmp);
        clocks.dedup();
        clocks
    }

    /// `zesFrequencyGetRange`: between which frequencies the kernel chooses now.
    pub fn range(&self) -> zes_freq_range_t {
        zes_freq_range_t {
            min: self.values("scaling_min_freq").reduce(f64::min).unwrap_or(self.min),
            max: self.values("scaling_max_freq").reduce(f64::max).unwrap_or(self.max),
        }
    }

    /// `zesFrequencyGetState`. The frequency is the mean over the cores.
    pub fn state(&self, out: &mut zes_freq_state_t) {
        let current: Vec<f64> = self.values("scaling_cur_freq").collect();
        out.actual =
            if current.is_empty() { UNKNOWN } else { current.iter().sum::<f64>() / current.len() as f64 };
        out.currentVoltage = UNKNOWN;
        out.request = UNKNOWN;
        out.tdp = UNKNOWN;
        out.efficient = UNKNOWN;
        out.throttleReasons = 0;
    }

    /// `zesFrequencyGetThrottleTime`: that of the package which was throttled longest.
    pub fn throttle_time(&self) -> Result<zes_freq_throttle_time_t> {
        let cpus = entries(&self.cpus, "cpu");
        let times = cpus
            .iter()
            .filter_map(|cpu| number::<u64>(&cpu.join("thermal_throttle/package_throttle_total_time_ms")));
        let milliseconds =
            times.max().ok_or(Error::UnsupportedFeature("the time for which this CPU was throttled"))?;
        Ok(zes_freq_throttle_time_t {
            throttleTime: milliseconds.saturating_mul(1000),
            timestamp: host_time() / NANOSECONDS_A_MICROSECOND,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysman::roots::Tree;

    const CPUFREQ: &str = "sys/devices/system/cpu/cpufreq";

    fn tree(files: &[(&str, &str)]) -> Tree {
        let tree = Tree::new(&[]);
        for (name, text) in files {
            tree.write(&format!("{CPUFREQ}/{name}"), text);
        }
        tree
    }

    const TWO_POLICIES: &[(&str, &str)] = &[
        ("policy0/cpuinfo_min_freq", "800000\n"),
        ("policy0/cpuinfo_max_freq", "4500000\n"),
        ("policy0/scaling_min_freq", "1000000\n"),
        ("policy0/scaling_max_freq", "4000000\n"),
        ("policy0/scaling_cur_freq", "2000000\n"),
        ("policy4/cpuinfo_min_freq", "600000\n"),
        ("policy4/cpuinfo_max_freq", "3500000\n"),
        ("policy4/scaling_min_freq", "600000\n"),
        ("policy4/scaling_max_freq", "3500000\n"),
        ("policy4/scaling_cur_freq", "1000000\n"),
    ];

    #[test]
    fn a_cpu_without_cpufreq_has_no_domain() {
        assert!(discover(&Tree::new(&[]).roots()).is_empty());
        assert!(discover(&tree(&[("policy0/cpuinfo_min_freq", "800000")]).roots()).is_empty());
    }

    #[test]
    fn the_domain_spans_all_policies() {
        let tree = tree(TWO_POLICIES);
        let domains = discover(&tree.roots());
        let [domain] = domains.as_slice() else { panic!("one domain") };
        let mut properties = zes_freq_properties_t::default();
        domain.properties(&mut properties);
        assert_eq!([properties.min, properties.max], [600.0, 4500.0]);
        assert_eq!(domain.clocks(), [600.0, 4500.0]);
        let range = domain.range();
        assert_eq!([range.min, range.max], [600.0, 4000.0]);
        let mut state = zes_freq_state_t::default();
        domain.state(&mut state);
        assert_eq!([state.actual, state.request, state.currentVoltage], [1500.0, UNKNOWN, UNKNOWN]);
    }

    #[test]
    fn a_table_of_clocks_is_sorted_and_has_no_clock_twice() {
        let tree = tree(TWO_POLICIES);
        for policy in ["policy0", "policy4"] {
            tree.write(
                &format!("{CPUFREQ}/{policy}/scaling_available_frequencies"),
                "3500000 800000 1600000 \n",
            );
        }
        assert_eq!(discover(&tree.roots())[0].clocks(), [800.0, 1600.0, 3500.0]);
    }

    #[test]
    fn throttle_time_is_what_the_kernel_counted_or_unsupported() {
        let tree = tree(TWO_POLICIES);
        let domains = discover(&tree.roots());
        assert!(matches!(domains[0].throttle_time(), Err(Error::UnsupportedFeature(_))));
        for (cpu, time) in [("cpu0", "12"), ("cpu1", "40")] {
            tree.write(
                &format!("sys/devices/system/cpu/{cpu}/thermal_throttle/package_throttle_total_time_ms"),
                time,
            );
        }
        assert_eq!(domains[0].throttle_time().expect("counted").throttleTime, 40_000);
    }
}
