//! Power domains and energy counters: RAPL, as `/sys/class/powercap` shows it. Most systems let only the administrator read the
//! counters, and a domain that cannot be read is not there.

use crate::error::{Error, Result};
use crate::handle::object;
use crate::host_time;
use crate::pnext::Outputs;
use crate::sysman::roots::{Roots, entries, number, text};
use crate::sysman::structures;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use ze_headers::*;

structures! {
    zes_power_properties_t = ZES_STRUCTURE_TYPE_POWER_PROPERTIES;
    zes_power_ext_properties_t = ZES_STRUCTURE_TYPE_POWER_EXT_PROPERTIES;
    zes_power_domain_exp_properties_t = ZES_STRUCTURE_TYPE_POWER_DOMAIN_EXP_PROPERTIES;
}

const NANOSECONDS_A_MICROSECOND: u64 = 1000;
/// Microwatts a milliwatt, and microseconds a millisecond.
const MICRO_A_MILLI: u64 = 1000;
/// Of the API: the value is not known.
const UNKNOWN: i32 = -1;

/// The limits that the kernel names, and the API's levels.
const LEVELS: [(&str, zes_power_level_t); 3] = [
    ("long_term", ZES_POWER_LEVEL_SUSTAINED),
    ("short_term", ZES_POWER_LEVEL_BURST),
    ("peak_power", ZES_POWER_LEVEL_PEAK),
];

/// A part of the CPU whose energy is counted.
pub struct PowerDomain {
    folder: PathBuf,
    kind: zes_power_domain_t,
    /// Where the kernel's counter starts anew, in microjoules.
    range: u64,
    /// The counter without its turns. Its remainder by the range is what was last read.
    total: AtomicU64,
}

object!(PowerDomain, PowerDomain, zes_pwr_handle_t);

/// A limit of the kernel's, in the API's units; -1 is unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limit {
    level: zes_power_level_t,
    milliwatts: i32,
    milliseconds: i32,
}

fn kind(name: &str) -> Option<zes_power_domain_t> {
    match name {
        "core" => Some(ZES_POWER_DOMAIN_GPU),
        "dram" => Some(ZES_POWER_DOMAIN_MEMORY),
        name if name.starts_with("package") => Some(ZES_POWER_DOMAIN_PACKAGE),
        // A GPU beside the cores, and the whole platform, are no parts of this device.
        _ => None,
    }
}

/// Packages and their parts, each package before its own.
pub fn discover(roots: &Roots) -> Vec<PowerDomain> {
    let zones = entries(&roots.sys("class/powercap"), "intel-rapl:");
    let domains = zones.into_iter().filter_map(|folder| {
        let kind = kind(&text(&folder.join("name"))?)?;
        let total = AtomicU64::new(number(&folder.join("energy_uj"))?);
        let range = number(&folder.join("max_energy_range_uj")).filter(|&range| range != 0)?;
        Some(PowerDomain { folder, kind, range, total })
    });
    let mut domains: Vec<_> = domains.collect();
    domains.sort_by(|a, b| a.folder.cmp(&b.folder));
    domains
}

/// The total after the counter was read: the least that is not before the last one.
fn advance(total: u64, raw: u64, range: u64) -> u64 {
    let (last, raw) = (total % range, raw % range);
    total + if raw >= last { raw - last } else { range - last + raw }
}

fn milli(micro: u64) -> i32 {
    i32::try_from(micro / MICRO_A_MILLI).unwrap_or(i32::MAX)
}

impl PowerDomain {
    /// `zesPowerGetProperties`.
    ///
    /// # Safety
    /// The structure's `pNext` is a valid chain.
    pub unsafe fn properties(&self, out: &mut zes_power_properties_t) {
        out.onSubdevice = 0;
        out.subdeviceId = 0;
        out.canControl = 0;
        out.isEnergyThresholdSupported = 0;
        out.defaultLimit = UNKNOWN;
        out.minLimit = UNKNOWN;
        out.maxLimit = number(&self.folder.join("constraint_0_max_power_uw")).map_or(UNKNOWN, milli);
        // SAFETY: the caller's promise.
        unsafe { Outputs::of(out) }.for_each(|mut link| {
            if let Some(out) = link.get::<zes_power_ext_properties_t>() {
                out.domain = self.kind;
                // SAFETY: null or a structure of the program's.
                if let Some(limit) = unsafe { out.defaultLimit.as_mut() } {
                    let level = ZES_POWER_LEVEL_UNKNOWN;
                    Limit { level, milliwatts: UNKNOWN, milliseconds: UNKNOWN }.describe(false, limit);
                }
            } else if let Some(out) = link.get::<zes_power_domain_exp_properties_t>() {
                out.powerDomain = self.kind;
            }
        });
    }

    /// `zesPowerGetEnergyCounter`: it never goes back, though the kernel's starts anew now and then.
    pub fn energy(&self) -> Result<zes_power_energy_counter_t> {
        let mut total = self.total.load(Ordering::Acquire);
        loop {
            // Read after the total, so that it is not older than what the total was made from.
            let raw = number(&self.folder.join("energy_uj"))
                .ok_or_else(|| Error::NotAvailable("the energy counter cannot be read any more".into()))?;
            let next = advance(total, raw, self.range);
            match self.total.compare_exchange(total, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    let timestamp = host_time() / NANOSECONDS_A_MICROSECOND;
                    return Ok(zes_power_energy_counter_t { energy: next, timestamp });
                }
                Err(seen) => total = seen,
            }
        }
    }

    /// Whether the kernel enforces the limits.
    pub fn is_limited(&self) -> bool {
        number::<u32>(&self.folder.join("enabled")) == Some(1)
    }

    /// The limits that the kernel has for the domain. They are the administrator's to change.
    pub fn limits(&self) -> Vec<Limit> {
        let limits = (0..LEVELS.len()).filter_map(|index| {
            let file = |name: &str| self.folder.join(format!("constraint_{index}_{name}"));
            let name = text(&file("name"))?;
            let (_, level) = LEVELS.into_iter().find(|(level, _)| *level == name)?;
            let milliwatts = milli(number(&file("power_limit_uw"))?);
            let milliseconds = number(&file("time_window_us")).map_or(UNKNOWN, milli);
            Some(Limit { level, milliwatts, milliseconds })
        });
        limits.collect()
    }

    fn limit(&self, level: zes_power_level_t) -> Option<Limit> {
        self.limits().into_iter().find(|limit| limit.level == level)
    }

    /// `zesPowerGetLimits`, each where it is asked for. An unknown limit is not enabled.
    pub fn older_limits(
        &self,
        sustained: Option<&mut zes_power_sustained_limit_t>,
        burst: Option<&mut zes_power_burst_limit_t>,
        peak: Option<&mut zes_power_peak_limit_t>,
    ) {
        let enabled = self.is_limited();
        if let Some(out) = sustained {
            let limit = self.limit(ZES_POWER_LEVEL_SUSTAINED);
            out.enabled = (enabled && limit.is_some()).into();
            out.power = limit.map_or(UNKNOWN, |limit| limit.milliwatts);
            out.interval = limit.map_or(UNKNOWN, |limit| limit.milliseconds);
        }
        if let Some(out) = burst {
            let limit = self.limit(ZES_POWER_LEVEL_BURST);
            out.enabled = (enabled && limit.is_some()).into();
            out.power = limit.map_or(UNKNOWN, |limit| limit.milliwatts);
        }
        if let Some(out) = peak {
            out.powerAC = self.limit(ZES_POWER_LEVEL_PEAK).map_or(UNKNOWN, |limit| limit.milliwatts);
            out.powerDC = UNKNOWN;
        }
    }

    /// `zesPowerGetLimitsExt2`: the sustained limit, in milliwatts.
    pub fn sustained_limit(&self) -> Result<u32> {
        let limit = self.limit(ZES_POWER_LEVEL_SUSTAINED);
        let limit = limit.and_then(|limit| u32::try_from(limit.milliwatts).ok());
        limit.ok_or(Error::UnsupportedFeature("a sustained power limit of this domain"))
    }
}

impl Limit {
    /// `zesPowerGetLimitsExt`: nothing of it can be changed here.
    pub fn describe(self, enabled: bool, out: &mut zes_power_limit_ext_desc_t) {
        out.level = self.level;
        out.source = ZES_POWER_SOURCE_ANY;
        out.limitUnit = ZES_LIMIT_UNIT_POWER;
        out.enabledStateLocked = 1;
        out.enabled = enabled.into();
        out.intervalValueLocked = 1;
        out.interval = self.milliseconds;
        out.limitValueLocked = 1;
        out.limit = self.milliwatts;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysman::roots::Tree;

    const ZONES: &[(&str, &str)] = &[
        ("sys/class/powercap/intel-rapl:0/name", "package-0\n"),
        ("sys/class/powercap/intel-rapl:0/enabled", "1\n"),
        ("sys/class/powercap/intel-rapl:0/energy_uj", "900\n"),
        ("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "1000\n"),
        ("sys/class/powercap/intel-rapl:0/constraint_0_name", "long_term\n"),
        ("sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw", "65000000\n"),
        ("sys/class/powercap/intel-rapl:0/constraint_0_time_window_us", "27983872\n"),
        ("sys/class/powercap/intel-rapl:0/constraint_0_max_power_uw", "65000000\n"),
        ("sys/class/powercap/intel-rapl:0/constraint_1_name", "short_term\n"),
        ("sys/class/powercap/intel-rapl:0/constraint_1_power_limit_uw", "90000000\n"),
        ("sys/class/powercap/intel-rapl:0:0/name", "core\n"),
        ("sys/class/powercap/intel-rapl:0:0/energy_uj", "5\n"),
        ("sys/class/powercap/intel-rapl:0:0/max_energy_range_uj", "1000\n"),
        ("sys/class/powercap/intel-rapl:0:1/name", "uncore\n"),
        ("sys/class/powercap/intel-rapl:0:1/energy_uj", "5\n"),
        ("sys/class/powercap/intel-rapl:0:1/max_energy_range_uj", "1000\n"),
        ("sys/class/powercap/intel-rapl:0:2/name", "dram\n"),
        ("sys/class/powercap/intel-rapl:0:2/max_energy_range_uj", "1000\n"),
    ];

    #[test]
    fn zones_that_can_be_read_are_domains() {
        let tree = Tree::new(ZONES);
        let kinds: Vec<_> = discover(&tree.roots()).iter().map(|domain| domain.kind).collect();
        assert_eq!(kinds, [ZES_POWER_DOMAIN_PACKAGE, ZES_POWER_DOMAIN_GPU]);
        assert!(discover(&Tree::new(&[]).roots()).is_empty());
    }

    #[test]
    fn energy_goes_on_where_the_kernels_counter_starts_anew() {
        let tree = Tree::new(ZONES);
        let domains = discover(&tree.roots());
        let read = |raw: &str| {
            tree.write("sys/class/powercap/intel-rapl:0/energy_uj", raw);
            domains[0].energy().expect("it can be read").energy
        };
        assert_eq!(
            [read("900"), read("950"), read("20"), read("20"), read("10")],
            [900, 950, 1020, 1020, 2010]
        );
        tree.remove("sys/class/powercap/intel-rapl:0/energy_uj");
        assert!(matches!(domains[0].energy(), Err(Error::NotAvailable(_))));
    }

    #[test]
    fn limits_are_the_kernels() {
        let tree = Tree::new(ZONES);
        let domains = discover(&tree.roots());
        let limits = domains[0].limits();
        assert_eq!(
            limits,
            [
                Limit { level: ZES_POWER_LEVEL_SUSTAINED, milliwatts: 65_000, milliseconds: 27_983 },
                Limit { level: ZES_POWER_LEVEL_BURST, milliwatts: 90_000, milliseconds: UNKNOWN },
            ]
        );
        assert_eq!(domains[0].sustained_limit().expect("there is one"), 65_000);
        let (mut sustained, mut peak) = Default::default();
        domains[0].older_limits(Some(&mut sustained), None, Some(&mut peak));
        assert_eq!((sustained.enabled, sustained.power, peak.powerAC), (1, 65_000, UNKNOWN));
        domains[1].older_limits(Some(&mut sustained), None, None);
        assert_eq!((sustained.enabled, sustained.power, sustained.interval), (0, UNKNOWN, UNKNOWN));
        assert!(domains[1].sustained_limit().is_err());
    }

    #[test]
    fn properties_name_the_domain_in_each_structure_of_the_chain() {
        let tree = Tree::new(ZONES);
        let mut limit = zes_power_limit_ext_desc_t::default();
        let mut ext = zes_power_ext_properties_t {
            stype: ZES_STRUCTURE_TYPE_POWER_EXT_PROPERTIES,
            defaultLimit: &mut limit,
            ..Default::default()
        };
        let mut exp = zes_power_domain_exp_properties_t {
            stype: ZES_STRUCTURE_TYPE_POWER_DOMAIN_EXP_PROPERTIES,
            pNext: (&raw mut ext).cast(),
            ..Default::default()
        };
        let mut out = zes_power_properties_t {
            stype: ZES_STRUCTURE_TYPE_POWER_PROPERTIES,
            pNext: (&raw mut exp).cast(),
            ..Default::default()
        };
        // SAFETY: the chain is built above.
        unsafe { discover(&tree.roots())[0].properties(&mut out) };
        assert_eq!([exp.powerDomain, ext.domain], [ZES_POWER_DOMAIN_PACKAGE; 2]);
        assert_eq!((limit.limit, out.maxLimit, out.defaultLimit), (UNKNOWN, 65_000, UNKNOWN));
    }
}
