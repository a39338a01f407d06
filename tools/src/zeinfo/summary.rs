//! One screen: what people look for first.

use serde_json::Value;

use crate::tree::Node;

/// Bytes for people.
fn bytes(value: &Value) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let Some(count) = value.as_u64() else { return "?".into() };
    let mut unit = 0;
    while unit + 1 < UNITS.len() && count >> (10 * unit) >= 1024 {
        unit += 1;
    }
    let amount = count as f64 / (1u64 << (10 * unit)) as f64;
    if amount.fract() == 0.0 {
        format!("{amount} {}", UNITS[unit])
    } else {
        format!("{amount:.1} {}", UNITS[unit])
    }
}

/// A value in a line; the names of an array with spaces between, and the reason where there is no value.
fn line(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "none".into(),
        Value::Array(items) => items.iter().map(line).collect::<Vec<_>>().join(" "),
        Value::Object(map) => map.get("error").map_or_else(|| "?".into(), line),
        Value::Null => "?".into(),
        other => other.to_string(),
    }
}

fn hexadecimal(value: &Value) -> String {
    value.as_u64().map_or_else(|| "?".into(), |number| format!("{number:#06x}"))
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

pub fn summary(report: &Value) -> Node {
    let components = report["loader"]["components"].as_object();
    let components = components.into_iter().flatten();
    let versions =
        components.map(|(name, version)| format!(", {name} {}", line(version))).collect::<String>();
    let mut root = Node::new("Loader", line(&report["loader"]["library"]) + &versions);
    if let Some(reason) = report["drivers"].get("error") {
        root.push("error", line(reason));
    }
    for (index, value) in items(&report["drivers"]).iter().enumerate() {
        root.children.push(driver(index, value));
    }
    if items(&report["drivers"]).is_empty() && root.children.is_empty() {
        root.push("error", "no driver");
    }
    root
}

fn driver(index: usize, value: &Value) -> Node {
    let extensions = value["extensions"].as_object().map_or(0, |extensions| extensions.len());
    let api = line(&value["apiVersion"]);
    let mut node = Node::new(format!("Driver {index}"), format!("API {api}, {extensions} extensions"));
    for (index, value) in items(&value["devices"]).iter().enumerate() {
        node.children.push(device(&format!("Device {index}"), value));
    }
    node
}

fn device(key: &str, value: &Value) -> Node {
    let [properties, compute, module] = ["properties", "compute", "module"].map(|part| &value[part]);
    let mut node = Node::new(key, line(&properties["name"]));
    node.push("type", format!("{} {}", line(&properties["type"]), line(&properties["flags"])));
    node.push(
        "identity",
        format!(
            "vendor {}, device {}, IP {}, {}",
            hexadecimal(&properties["vendorId"]),
            hexadecimal(&properties["deviceId"]),
            hexadecimal(&properties["ipVersion"]),
            line(&properties["uuid"]),
        ),
    );
    node.push(
        "topology",
        format!(
            "{} slices x {} sub-slices x {} EUs x {} threads x SIMD {}, {} MHz",
            properties["numSlices"],
            properties["numSubslicesPerSlice"],
            properties["numEUsPerSubslice"],
            properties["numThreadsPerEU"],
            properties["physicalEUSimdWidth"],
            properties["coreClockRate"],
        ),
    );
    node.push(
        "groups",
        format!(
            "up to {} work-items ({} x {} x {}), sub-groups of {}, {} of local memory",
            compute["maxTotalGroupSize"],
            compute["maxGroupSizeX"],
            compute["maxGroupSizeY"],
            compute["maxGroupSizeZ"],
            line(&compute["subGroupSizes"]),
            bytes(&compute["maxSharedLocalMemory"]),
        ),
    );
    node.push(
        "modules",
        format!("SPIR-V {}, {}", line(&module["spirvVersionSupported"]), line(&module["flags"])),
    );
    for width in ["16", "32", "64"] {
        node.push(format!("fp{width}"), line(&module[format!("fp{width}flags")]));
    }
    for memory in items(&value["memories"]) {
        node.push(
            "memory",
            format!(
                "{} {}, {} usable now, allocations of up to {}",
                bytes(&memory["totalSize"]),
                line(&memory["name"]),
                bytes(&value["now"]["currUsableMemSize"]),
                bytes(&properties["maxMemAllocSize"]),
            ),
        );
    }
    let caches = items(&value["caches"]).iter().map(|cache| bytes(&cache["cacheSize"]));
    node.push("caches", caches.collect::<Vec<_>>().join(", "));
    for group in items(&value["queueGroups"]) {
        node.push("queues", format!("{} of {}", group["numQueues"], line(&group["flags"])));
    }
    for (index, value) in items(&value["subDevices"]).iter().enumerate() {
        node.children.push(device(&format!("sub-device {index}"), value));
    }
    node.children.push(sysman(&value["sysman"]));
    node
}

fn sysman(value: &Value) -> Node {
    let mut node = Node::new("system", "");
    if let Some(reason) = value.get("error") {
        node.push("error", line(reason));
        return node;
    }
    node.text =
        format!("{}, {}", line(&value["properties"]["vendorName"]), line(&value["properties"]["modelName"]));
    node.push("PCI", value["pci"].get("address").map_or_else(|| line(&value["pci"]), line));
    for memory in items(&value["memories"]) {
        let state = &memory["now"]["state"];
        let text = format!(
            "{} free of {}, health {}",
            bytes(&state["free"]),
            bytes(&state["size"]),
            line(&state["health"])
        );
        node.push("memory", text);
    }
    let busy = items(&value["engines"]).iter().map(|engine| {
        let microseconds = engine["now"]["activeTime"].as_f64().unwrap_or(0.0);
        format!("{} {:.3} s", line(&engine["type"]), microseconds / 1e6)
    });
    node.push("engines", busy.collect::<Vec<_>>().join(", "));
    for domain in items(&value["frequencies"]) {
        let actual = &domain["now"]["state"]["actual"];
        node.push("frequency", format!("{actual} MHz of {} to {}", domain["min"], domain["max"]));
    }
    for domain in items(&value["powers"]) {
        let joules = domain["now"]["energy"].as_f64().unwrap_or(0.0) / 1e6;
        node.push("power", format!("{} {joules:.1} J", line(&domain["domain"])));
    }
    for sensor in items(&value["temperatures"]) {
        node.push("temperature", format!("{} {} °C", line(&sensor["type"]), sensor["now"]));
    }
    for set in items(&value["errors"]) {
        let counters = set["now"].as_object().into_iter().flatten();
        let counters = counters.map(|(category, count)| format!("{} {category}", line(count)));
        node.push("errors", format!("{} {}", line(&set["type"]), counters.collect::<Vec<_>>().join(", ")));
    }
    for process in items(&value["now"]["processes"]) {
        let (id, size) = (&process["processId"], bytes(&process["memSize"]));
        node.push("process", format!("{id} with {size}, engines {}", line(&process["engines"])));
    }
    let absent = ["frequencies", "powers", "temperatures", "errors"];
    let absent: Vec<_> = absent.into_iter().filter(|part| items(&value[*part]).is_empty()).collect();
    if !absent.is_empty() {
        node.push("not known", absent.join(", "));
    }
    node
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn bytes_have_the_largest_unit_that_leaves_a_whole() {
        let read = |count: u64| bytes(&Value::from(count));
        assert_eq!([read(0), read(1023), read(1024), read(1 << 17)], ["0 B", "1023 B", "1 KiB", "128 KiB"]);
        assert_eq!([read(3 << 29), read(5 << 40)], ["1.5 GiB", "5 TiB"]);
    }

    #[test]
    fn a_loader_without_driver_is_said_to_have_none() {
        let report = json!({"loader": {"library": "l.so", "components": {}}, "drivers": {"error": "E"}});
        let root = summary(&report);
        assert_eq!((root.text.as_str(), root.children[0].text.as_str()), ("l.so", "E"));
    }
}
