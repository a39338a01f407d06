//! Whether the answers agree with each other.

use serde_json::Value;
use std::ptr::null_mut;
use ze_headers::*;

use crate::api::{Answer, Api};
use crate::diff::differences;
use crate::{core, report, sysman};

/// What was found.
#[derive(Default)]
pub struct Checked {
    pub checks: usize,
    pub contradictions: Vec<String>,
}

impl Checked {
    fn that(&mut self, holds: bool, contradiction: impl FnOnce() -> String) {
        self.checks += 1;
        if !holds {
            self.contradictions.push(contradiction());
        }
    }

    pub fn text(&self) -> String {
        let found = self.contradictions.len();
        let end = format!("{} checks, {found} contradictions", self.checks);
        self.contradictions.iter().map(|line| format!("contradiction: {line}\n")).collect::<String>() + &end
    }
}

/// Asks everything, most of it twice.
pub fn check(api: &Api, library: &str) -> Result<Checked, String> {
    let mut checked = Checked::default();
    let first = report::report(api, library);
    let second = report::report(api, library);
    checked.that(true, String::new);
    for line in differences(&first, &second) {
        checked.contradictions.push(format!("asked twice, answered differently: {}", line.trim()));
    }
    let drivers = core::drivers(api).map_err(|result| format!("no driver: {result}"))?;
    counts(api, &drivers, &mut checked)?;
    for driver in first["drivers"].as_array().into_iter().flatten() {
        for value in driver["devices"].as_array().into_iter().flatten() {
            device(value, &mut checked);
        }
    }
    Ok(checked)
}

/// Whether a list keeps the count protocol: 0 asks for the number, too many is corrected, fewer is kept.
fn protocol<T: Clone>(name: &str, item: T, ask: impl Fn(*mut u32, *mut T) -> Answer, checked: &mut Checked) {
    let number = || {
        let mut count = 0;
        ask(&mut count, null_mut()).map(|()| count)
    };
    let read = |mut count: u32| {
        let mut items = vec![item.clone(); count as usize];
        ask(&mut count, items.as_mut_ptr()).map(|()| count)
    };
    let total = number();
    checked.that(total == number(), || format!("{name}: two numbers, one after the other, differ"));
    let Ok(total) = total else { return };
    let more = read(total + 3);
    checked
        .that(more == Ok(total), || format!("{name}: asked for {} of {total}, it says {more:?}", total + 3));
    if total > 1 {
        let fewer = read(total - 1);
        checked.that(fewer == Ok(total - 1), || {
            format!("{name}: asked for {} of {total}, it says {fewer:?}", total - 1)
        });
    }
}

fn counts(api: &Api, drivers: &[ze_driver_handle_t], checked: &mut Checked) -> Result<(), String> {
    macro_rules! protocol {
        ($function:ident($($handle:expr)?), $item:expr) => {
            // SAFETY: a live handle, and as many items as are asked for.
            protocol(stringify!($function), $item, |count, out| unsafe { api.$function($($handle,)? count, out) }, checked)
        };
    }
    protocol!(zeDriverGet(), null_mut());
    for &driver in drivers {
        protocol!(zeDeviceGet(driver), null_mut());
        protocol!(zeDriverGetExtensionProperties(driver), Default::default());
        for device in core::devices(api, driver)? {
            protocol!(zeDeviceGetSubDevices(device), null_mut());
            let item = ze_command_queue_group_properties_t {
                stype: ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES,
                ..Default::default()
            };
            protocol!(zeDeviceGetCommandQueueGroupProperties(device), item);
            let item = ze_device_memory_properties_t {
                stype: ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES,
                ..Default::default()
            };
            protocol!(zeDeviceGetMemoryProperties(device), item);
            let item = ze_device_cache_properties_t {
                stype: ZE_STRUCTURE_TYPE_DEVICE_CACHE_PROPERTIES,
                ..Default::default()
            };
            protocol!(zeDeviceGetCacheProperties(device), item);
        }
    }
    // Without system management there is nothing of it to check.
    for (driver, device) in sysman::devices(api).unwrap_or_default() {
        protocol!(zesDriverGetExtensionProperties(driver), Default::default());
        protocol!(zesDeviceEnumEngineGroups(device), null_mut());
        protocol!(zesDeviceEnumMemoryModules(device), null_mut());
        protocol!(zesDeviceEnumFrequencyDomains(device), null_mut());
        protocol!(zesDeviceEnumPowerDomains(device), null_mut());
        protocol!(zesDeviceEnumTemperatureSensors(device), null_mut());
        protocol!(zesDeviceEnumRasErrorSets(device), null_mut());
        protocol!(zesDeviceEnumFans(device), null_mut());
        protocol!(zesDeviceEnumFabricPorts(device), null_mut());
        protocol!(zesDeviceEnumSchedulers(device), null_mut());
        protocol!(zesDeviceEnumStandbyDomains(device), null_mut());
    }
    Ok(())
}

/// The number at a path, where there is one.
fn number(value: &Value, path: &str) -> Option<f64> {
    value.pointer(path)?.as_f64()
}

fn has(value: &Value, path: &str, name: &str) -> bool {
    value.pointer(path).and_then(Value::as_array).is_some_and(|names| names.iter().any(|item| item == name))
}

fn is_empty(value: &Value, path: &str) -> bool {
    value.pointer(path).and_then(Value::as_array).is_none_or(Vec::is_empty)
}

/// Numbers that must not be greater than another one.
const AT_MOST: [(&str, &str); 10] = [
    ("/compute/maxGroupSizeX", "/compute/maxTotalGroupSize"),
    ("/compute/maxGroupSizeY", "/compute/maxTotalGroupSize"),
    ("/compute/maxGroupSizeZ", "/compute/maxTotalGroupSize"),
    ("/properties/maxMemAllocSize", "/memories/0/totalSize"),
    ("/now/currUsableMemSize", "/memories/0/totalSize"),
    ("/memories/0/totalSize", "/memories/0/physicalSize"),
    ("/properties/timestampValidBits", "/bits"),
    ("/properties/kernelTimestampValidBits", "/properties/timestampValidBits"),
    ("/sysman/memories/0/now/state/free", "/sysman/memories/0/now/state/size"),
    ("/sysman/memories/0/now/state/size", "/sysman/memories/0/physicalSize"),
];

/// Numbers that cannot be 0.
const POSITIVE: [&str; 14] = [
    "/properties/numSlices",
    "/properties/numSubslicesPerSlice",
    "/properties/numEUsPerSubslice",
    "/properties/numThreadsPerEU",
    "/properties/physicalEUSimdWidth",
    "/properties/maxHardwareContexts",
    "/properties/timerResolution",
    "/properties/timestampValidBits",
    "/properties/kernelTimestampValidBits",
    "/properties/maxMemAllocSize",
    "/compute/maxTotalGroupSize",
    "/compute/maxGroupCountX",
    "/module/maxArgumentsSize",
    "/memories/0/totalSize",
];

/// Values of both APIs that are one.
const SAME: [(&str, &str); 4] = [
    ("/properties/uuid", "/sysman/properties/uuid"),
    ("/properties/type", "/sysman/properties/type"),
    ("/properties/flags", "/sysman/properties/flags"),
    ("/properties/name", "/sysman/properties/modelName"),
];

/// What a device's flags must be beside: the flag, and a list that is empty exactly where it is not set.
const FLAGS: [(&str, &str); 2] = [("FP16", "/module/fp16flags"), ("FP64", "/module/fp64flags")];

fn device(value: &Value, checked: &mut Checked) {
    let name = value["properties"]["name"].as_str().unwrap_or("a device").to_owned();
    let mut value = value.clone();
    value["bits"] = Value::from(64);
    let value = &value;
    let mut that = |holds: bool, text: String| checked.that(holds, || format!("{name}: {text}"));
    for path in POSITIVE {
        that(number(value, path) != Some(0.0), format!("{path} is 0"));
    }
    for (less, more) in AT_MOST {
        if let (Some(a), Some(b)) = (number(value, less), number(value, more)) {
            // Sizes that are not known are 0.
            that(a <= b || b == 0.0, format!("{less} is {a}, more than {more}, {b}"));
        }
    }
    for (flag, list) in FLAGS {
        let (flagged, empty) = (has(value, "/module/flags", flag), is_empty(value, list));
        that(
            flagged != empty,
            format!("module flag {flag} is {flagged}, and {list} has {} entries", u8::from(!empty)),
        );
    }
    for (flag, list) in [("FP16", "/module/fp16Atomics"), ("FP64", "/module/fp64Atomics")] {
        let flagged = has(value, "/module/flags", flag);
        that(flagged || is_empty(value, list), format!("{list} has entries without module flag {flag}"));
    }
    let parts = ["numSlices", "numSubslicesPerSlice", "numEUsPerSubslice"];
    let product: f64 =
        parts.iter().filter_map(|part| number(value, &format!("/properties/{part}"))).product();
    if let Some(total) = number(value, "/properties/numTotalEUs") {
        that(total == product, format!("numTotalEUs is {total}, its factors give {product}"));
    }
    let timer = number(value, "/properties/timerResolution").zip(number(value, "/properties/timerFrequency"));
    if let Some((resolution, frequency)) = timer {
        // The resolution is a whole number of nanoseconds.
        let agrees = (1e9 / frequency - resolution).abs() < 1.0;
        that(agrees, format!("a timer of {frequency} cycles a second, and {resolution} ns a cycle"));
    }
    sub_groups(value, &mut that);
    let groups = value["queueGroups"].as_array().map_or(&[][..], Vec::as_slice);
    let computes = groups.iter().any(|group| has(group, "/flags", "COMPUTE"));
    that(computes, "no queue group computes".into());
    that(
        groups.iter().all(|group| number(group, "/numQueues") != Some(0.0)),
        "a queue group has no queue".into(),
    );
    let images = ["maxImageDims1D", "maxImageDims2D", "maxImageDims3D"];
    let dims = images.map(|part| number(value, &format!("/images/{part}")).unwrap_or(0.0) != 0.0);
    that(dims == [dims[0]; 3], "images of some numbers of dimensions and not of others".into());
    if value["sysman"]["properties"].get("error").is_none() && value["sysman"]["properties"].is_object() {
        managed(value, &mut that);
    }
}

fn sub_groups(value: &Value, that: &mut impl FnMut(bool, String)) {
    let sizes: Vec<u64> = value["compute"]["subGroupSizes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_u64)
        .collect();
    that(!sizes.is_empty(), "no sub-group size".into());
    that(
        sizes.iter().all(|size| size.is_power_of_two()),
        format!("sub-group sizes {sizes:?} are not powers of two"),
    );
    let largest = sizes.iter().max().copied().unwrap_or(0);
    let group = value["compute"]["maxTotalGroupSize"].as_u64().unwrap_or(u64::MAX);
    that(largest <= group, format!("sub-groups of {largest} in groups of up to {group}"));
}

fn managed(value: &Value, that: &mut impl FnMut(bool, String)) {
    for (core, sysman) in SAME {
        let (a, b) = (value.pointer(core), value.pointer(sysman));
        that(
            a == b,
            format!("{core} is {}, {sysman} is {}", a.unwrap_or(&Value::Null), b.unwrap_or(&Value::Null)),
        );
    }
    let sub_devices = value["subDevices"].as_array().map_or(0, Vec::len) as f64;
    let number_of = number(value, "/sysman/properties/numSubdevices").unwrap_or(0.0);
    that(sub_devices == number_of, format!("{sub_devices} sub-devices, and numSubdevices is {number_of}"));
    let (ecc, available) =
        (has(value, "/properties/flags", "ECC"), value["sysman"]["ecc"]["available"] == true);
    that(ecc == available, format!("device flag ECC is {ecc}, and zesDeviceEccAvailable says {available}"));
    let integrated = has(value, "/properties/flags", "INTEGRATED");
    for memory in value["sysman"]["memories"].as_array().into_iter().flatten() {
        let system = memory["location"] == "SYSTEM";
        that(
            integrated == system,
            format!("device flag INTEGRATED is {integrated}, and its memory is in {}", memory["location"]),
        );
    }
    for engine in value["sysman"]["engines"].as_array().into_iter().flatten() {
        if let (Some(active), Some(time)) =
            (number(engine, "/now/activeTime"), number(engine, "/now/timestamp"))
        {
            that(active <= time, format!("engine {} was active for {active} of {time} µs", engine["type"]));
        }
    }
    for domain in value["sysman"]["frequencies"].as_array().into_iter().flatten() {
        let read = |path: &str| number(domain, path).unwrap_or(0.0);
        let range = [read("/min"), read("/now/range/min"), read("/now/range/max"), read("/max")];
        that(range.is_sorted(), format!("frequencies {range:?} MHz are not in order"));
        let clocks = domain["availableClocks"].as_array().into_iter().flatten().filter_map(Value::as_f64);
        that(clocks.is_sorted(), "available clocks are not in order".into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn contradictions(value: &Value) -> Vec<String> {
        let mut checked = Checked::default();
        device(value, &mut checked);
        checked.contradictions
    }

    /// A device without contradictions.
    fn sound() -> Value {
        json!({
            "properties": {"name": "d", "uuid": "u", "type": "GPU", "flags": ["INTEGRATED"], "numSlices": 2,
                "numSubslicesPerSlice": 3, "numEUsPerSubslice": 4, "numTotalEUs": 24, "maxMemAllocSize": 100,
                "timerResolution": 53, "timerFrequency": 19_200_000},
            "compute": {"maxTotalGroupSize": 1024, "maxGroupSizeX": 1024, "subGroupSizes": [8, 16]},
            "module": {"flags": ["FP64"], "fp16flags": [], "fp64flags": ["FMA"], "fp16Atomics": [], "fp64Atomics": []},
            "queueGroups": [{"numQueues": 1, "flags": ["COMPUTE"]}],
            "memories": [{"totalSize": 100, "physicalSize": 0}],
            "images": {"maxImageDims1D": 0, "maxImageDims2D": 0, "maxImageDims3D": 0},
            "subDevices": [],
            "sysman": {
                "properties": {"uuid": "u", "type": "GPU", "flags": ["INTEGRATED"], "modelName": "d", "numSubdevices": 0},
                "ecc": {"available": false},
                "memories": [{"location": "SYSTEM", "physicalSize": 0, "now": {"state": {"free": 5, "size": 6}}}],
                "engines": [{"type": "ALL", "now": {"activeTime": 3, "timestamp": 9}}],
                "frequencies": [{"min": 1.0, "max": 4.0, "availableClocks": [1.0, 4.0],
                    "now": {"range": {"min": 2.0, "max": 3.0}}}],
            },
        })
    }

    #[test]
    fn a_sound_device_has_no_contradiction() {
        assert_eq!(contradictions(&sound()), [""; 0]);
    }

    #[test]
    fn every_contradiction_is_found() {
        let cases = [
            ("/module/flags", json!(["FP64", "FP16"])),
            ("/module/fp64flags", json!([])),
            ("/module/fp16Atomics", json!(["GLOBAL_ADD"])),
            ("/properties/numTotalEUs", json!(23)),
            ("/properties/numSlices", json!(0)),
            ("/properties/timerFrequency", json!(12_000_000)),
            ("/properties/maxMemAllocSize", json!(101)),
            ("/compute/maxGroupSizeX", json!(2048)),
            ("/compute/subGroupSizes", json!([])),
            ("/compute/subGroupSizes", json!([12])),
            ("/compute/subGroupSizes", json!([2048])),
            ("/queueGroups/0/flags", json!(["COPY"])),
            ("/queueGroups/0/numQueues", json!(0)),
            ("/images/maxImageDims2D", json!(16)),
            ("/sysman/properties/uuid", json!("v")),
            ("/sysman/properties/numSubdevices", json!(1)),
            ("/sysman/ecc/available", json!(true)),
            ("/sysman/memories/0/location", json!("DEVICE")),
            ("/sysman/memories/0/now/state/free", json!(7)),
            ("/sysman/engines/0/now/activeTime", json!(10)),
            ("/sysman/frequencies/0/now/range/min", json!(0.5)),
            ("/sysman/frequencies/0/availableClocks", json!([4.0, 1.0])),
        ];
        for (path, changed) in cases {
            let mut value = sound();
            *value.pointer_mut(path).expect("the sound device has it") = changed.clone();
            assert!(!contradictions(&value).is_empty(), "{path} = {changed}");
        }
    }

    #[test]
    fn lists_that_break_the_count_protocol_are_found() {
        let found = |ask: fn(*mut u32, *mut u32) -> Answer| {
            let mut checked = Checked::default();
            protocol("list", 0u32, ask, &mut checked);
            checked.contradictions.len()
        };
        // SAFETY: `protocol` passes a valid count.
        let sound = found(|count, items| unsafe {
            *count = if items.is_null() { 3 } else { 3.min(*count) };
            Ok(())
        });
        // SAFETY: as above.
        let not_corrected = found(|count, items| unsafe {
            *count = if items.is_null() { 3 } else { *count };
            Ok(())
        });
        // SAFETY: as above.
        let always_all = found(|count, _| unsafe {
            *count = 3;
            Ok(())
        });
        assert_eq!([sound, not_corrected, always_all], [0, 1, 1]);
    }
}
