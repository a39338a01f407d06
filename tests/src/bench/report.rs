//! What a run measured, as JSON: the machine, the versions, kernels, operations of dpnp and other figures. All times are
//! milliseconds.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::{Case, Limit, Outcome, Result};

/// What bounds a case, as the report says it.
pub fn bound(limit: &Limit) -> Option<&'static str> {
    match limit {
        Limit::Unknown => None,
        Limit::Memory { .. } => Some("memory"),
        _ => Some("arithmetic"),
    }
}

/// To the nanosecond: an empty kernel takes less than a microsecond, and nothing takes no time.
fn milliseconds(time: std::time::Duration) -> Value {
    json!(time.as_nanos().max(1) as f64 / 1e6)
}

/// A row of the report: what each competitor, by name, needed for a case.
pub fn kernel(case: &Case, names: &[&str], outcomes: &[Outcome]) -> Value {
    let mut row = Map::new();
    row.insert("name".into(), json!(case.name));
    row.insert("int_indices".into(), json!(case.int_indices));
    row.insert("bound".into(), json!(bound(&case.limit)));
    for (name, outcome) in names.iter().zip(outcomes) {
        let value = match outcome {
            Ok(None) => continue,
            Ok(Some(times)) => json!({
                "best": milliseconds(times.best()),
                "median": milliseconds(times.median()),
                "first": milliseconds(times.first()),
            }),
            Err(reason) => json!({ "error": reason }),
        };
        row.insert((*name).to_owned(), value);
    }
    Value::Object(row)
}

/// A line of `/proc/cpuinfo`.
fn cpuinfo(key: &str) -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(found, _)| found.trim() == key)
        .map_or_else(|| "unknown".to_owned(), |(_, value)| value.trim().to_owned())
}

/// The processor, as a name of a file.
pub fn processor_key() -> String {
    let vendor = match cpuinfo("vendor_id").as_str() {
        "AuthenticAMD" => "amd",
        "GenuineIntel" => "intel",
        _ => "other",
    };
    format!("{vendor}-{}-{}", cpuinfo("cpu family"), cpuinfo("model"))
}

/// The machine that this runs on.
pub fn machine() -> Value {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let system = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let system = system.lines().find_map(|line| line.strip_prefix("PRETTY_NAME=")).unwrap_or("unknown");
    let vectors = cpuinfo("flags");
    let has = |flag: &str| vectors.split(' ').any(|found| found == flag);
    let widest = ["avx512f", "avx2"].into_iter().find(|flag| has(flag)).unwrap_or("sse");
    json!({
        "processor": cpuinfo("model name"),
        "family": format!("{}, family {}, model {}", cpuinfo("vendor_id"), cpuinfo("cpu family"), cpuinfo("model")),
        "threads": threads,
        "vectors": widest,
        "system": system.trim_matches('"'),
    })
}

/// Writes a report into a folder, under the processor's name.
pub fn write(folder: &Path, report: &Value) -> Result<()> {
    fs::create_dir_all(folder)?;
    let path = folder.join(processor_key()).with_extension("json");
    fs::write(&path, serde_json::to_string_pretty(report)? + "\n")?;
    println!("wrote {}", path.display());
    Ok(())
}
