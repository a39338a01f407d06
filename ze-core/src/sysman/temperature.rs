//! Temperature sensors: those of the CPU and its memory, from `/sys/class/hwmon`, or the package's thermal zone.

use crate::error::{Error, Result};
use crate::handle::object;
use crate::sysman::roots::{Roots, entries, number, text};
use std::path::{Path, PathBuf};
use ze_headers::*;

/// Drivers of the sensors inside a CPU: Intel, AMD (the kernel's and the other one), ARM and others.
const CPU_DRIVERS: [&str; 4] = ["coretemp", "k10temp", "zenpower", "cpu_thermal"];
/// Drivers of the sensors on memory modules: DDR3 and DDR4, and DDR5.
const MEMORY_DRIVERS: [&str; 2] = ["jc42", "spd5118"];
/// Thermal zones of a CPU.
const CPU_ZONES: [&str; 3] = ["x86_pkg_temp", "cpu-thermal", "cpu_thermal"];
const MILLI: f64 = 1000.0;

/// Something that measures: files in thousandths of a degree.
struct Probe {
    input: PathBuf,
    critical: Option<f64>,
}

impl Probe {
    fn read(&self) -> Option<f64> {
        celsius(&self.input)
    }
}

fn celsius(path: &Path) -> Option<f64> {
    number::<f64>(path).map(|value| value / MILLI)
}

/// A sensor of the API: the hottest of some probes.
pub struct TemperatureSensor {
    kind: zes_temp_sensors_t,
    probes: Vec<Probe>,
}

object!(TemperatureSensor, TemperatureSensor, zes_temp_handle_t);

/// The probes of the hardware monitors with these drivers.
fn monitors(roots: &Roots, drivers: &[&str]) -> Vec<Probe> {
    let monitors = entries(&roots.sys("class/hwmon"), "hwmon");
    let wanted =
        |monitor: &PathBuf| text(&monitor.join("name")).is_some_and(|name| drivers.contains(&name.as_str()));
    monitors.iter().filter(|monitor| wanted(monitor)).flat_map(|monitor| probes(monitor)).collect()
}

fn probes(monitor: &Path) -> Vec<Probe> {
    let inputs = entries(monitor, "temp");
    let inputs = inputs.iter().filter_map(|path| {
        let name = path.file_name()?.to_str()?.strip_suffix("_input")?;
        // AMD's control value is offset from the temperature on some processors.
        if text(&monitor.join(format!("{name}_label"))).as_deref() == Some("Tctl") && has_die(monitor) {
            return None;
        }
        let critical = celsius(&monitor.join(format!("{name}_crit")))
            .or_else(|| celsius(&monitor.join(format!("{name}_max"))));
        Some(Probe { input: path.clone(), critical })
    });
    inputs.filter(|probe| probe.read().is_some()).collect()
}

/// Whether the temperature of the die is there beside the control value.
fn has_die(monitor: &Path) -> bool {
    entries(monitor, "temp").iter().any(|path| {
        path.to_str().is_some_and(|path| path.ends_with("_label")) && text(path).as_deref() == Some("Tdie")
    })
}

fn zones(roots: &Roots) -> Vec<Probe> {
    let zones = entries(&roots.sys("class/thermal"), "thermal_zone");
    let wanted =
        |zone: &&PathBuf| text(&zone.join("type")).is_some_and(|kind| CPU_ZONES.contains(&kind.as_str()));
    let probes = zones.iter().filter(wanted).map(|zone| {
        let critical = entries(zone, "trip_point_").iter().find_map(|path| {
            let point = path.to_str()?.strip_suffix("_type")?;
            (text(path)? == "critical").then(|| celsius(Path::new(&format!("{point}_temp"))))?
        });
        Probe { input: zone.join("temp"), critical }
    });
    probes.filter(|probe| probe.read().is_some()).collect()
}

/// The sensors: the device's, that is the CPU's, and that of the memory modules. What does not measure is not there.
pub fn discover(roots: &Roots) -> Vec<TemperatureSensor> {
    let inside = || {
        let probes = monitors(roots, &CPU_DRIVERS);
        if probes.is_empty() { zones(roots) } else { probes }
    };
    let sensors = [
        (ZES_TEMP_SENSORS_GLOBAL, inside()),
        (ZES_TEMP_SENSORS_GPU, inside()),
        (ZES_TEMP_SENSORS_MEMORY, monitors(roots, &MEMORY_DRIVERS)),
    ];
    let sensors = sensors.into_iter().filter(|(_, probes)| !probes.is_empty());
    sensors.map(|(kind, probes)| TemperatureSensor { kind, probes }).collect()
}

impl TemperatureSensor {
    /// `zesTemperatureGetProperties`. The maximum is the lowest at which a probe is critical, 0 where none says so.
    pub fn properties(&self, out: &mut zes_temp_properties_t) {
        out.type_ = self.kind;
        out.onSubdevice = 0;
        out.subdeviceId = 0;
        out.maxTemperature =
            self.probes.iter().filter_map(|probe| probe.critical).reduce(f64::min).unwrap_or(0.0);
        out.isCriticalTempSupported = 0;
        out.isThreshold1Supported = 0;
        out.isThreshold2Supported = 0;
    }

    /// `zesTemperatureGetState`, in degrees Celsius.
    pub fn state(&self) -> Result<f64> {
        let hottest = self.probes.iter().filter_map(Probe::read).reduce(f64::max);
        hottest.ok_or_else(|| Error::NotAvailable("the sensor cannot be read any more".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysman::roots::Tree;

    fn maximum(sensor: &TemperatureSensor) -> f64 {
        let mut properties = zes_temp_properties_t::default();
        sensor.properties(&mut properties);
        properties.maxTemperature
    }

    #[test]
    fn the_hottest_core_and_the_memory_are_told_apart() {
        let tree = Tree::new(&[
            ("sys/class/hwmon/hwmon0/name", "nvme\n"),
            ("sys/class/hwmon/hwmon0/temp1_input", "90000\n"),
            ("sys/class/hwmon/hwmon1/name", "coretemp\n"),
            ("sys/class/hwmon/hwmon1/temp1_input", "51000\n"),
            ("sys/class/hwmon/hwmon1/temp1_label", "Package id 0\n"),
            ("sys/class/hwmon/hwmon1/temp1_crit", "100000\n"),
            ("sys/class/hwmon/hwmon1/temp2_input", "53500\n"),
            ("sys/class/hwmon/hwmon1/temp3_input", "broken\n"),
            ("sys/class/hwmon/hwmon2/name", "jc42\n"),
            ("sys/class/hwmon/hwmon2/temp1_input", "38000\n"),
        ]);
        let sensors = discover(&tree.roots());
        let kinds: Vec<_> = sensors.iter().map(|sensor| sensor.kind).collect();
        assert_eq!(kinds, [ZES_TEMP_SENSORS_GLOBAL, ZES_TEMP_SENSORS_GPU, ZES_TEMP_SENSORS_MEMORY]);
        assert_eq!(sensors[0].state().expect("measured"), 53.5);
        assert_eq!(sensors[2].state().expect("measured"), 38.0);
        assert_eq!([maximum(&sensors[0]), maximum(&sensors[2])], [100.0, 0.0]);
    }

    #[test]
    fn the_offset_control_value_of_amd_is_no_temperature_where_the_dies_is_known() {
        let files = [
            ("sys/class/hwmon/hwmon0/name", "k10temp\n"),
            ("sys/class/hwmon/hwmon0/temp1_input", "77000\n"),
            ("sys/class/hwmon/hwmon0/temp1_label", "Tctl\n"),
            ("sys/class/hwmon/hwmon0/temp2_input", "50000\n"),
            ("sys/class/hwmon/hwmon0/temp2_label", "Tdie\n"),
        ];
        assert_eq!(discover(&Tree::new(&files).roots())[0].state().expect("measured"), 50.0);
        assert_eq!(discover(&Tree::new(&files[..3]).roots())[0].state().expect("measured"), 77.0);
    }

    #[test]
    fn without_monitors_the_zone_of_the_package_measures() {
        let tree = Tree::new(&[
            ("sys/class/thermal/thermal_zone0/type", "acpitz\n"),
            ("sys/class/thermal/thermal_zone0/temp", "20000\n"),
            ("sys/class/thermal/thermal_zone1/type", "x86_pkg_temp\n"),
            ("sys/class/thermal/thermal_zone1/temp", "44000\n"),
            ("sys/class/thermal/thermal_zone1/trip_point_0_type", "passive\n"),
            ("sys/class/thermal/thermal_zone1/trip_point_0_temp", "80000\n"),
            ("sys/class/thermal/thermal_zone1/trip_point_1_type", "critical\n"),
            ("sys/class/thermal/thermal_zone1/trip_point_1_temp", "105000\n"),
        ]);
        let sensors = discover(&tree.roots());
        assert_eq!((sensors[0].state().expect("measured"), maximum(&sensors[0])), (44.0, 105.0));
        tree.remove("sys/class/thermal/thermal_zone1/temp");
        assert!(matches!(sensors[0].state(), Err(Error::NotAvailable(_))));
        assert!(discover(&tree.roots()).is_empty());
    }
}
