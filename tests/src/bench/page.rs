//! The page that reports of `ci/bench` make: `docs/performance.md`, with a picture for each table. It is a function of the
//! reports alone, so that a test can tell whether somebody changed it by hand.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::Result;
use super::pictures::{Bar, bars};

const INTRODUCTION: &str = "# Performance

Written by `ci/bench`; the numbers behind it are in `performance/`. One run measures the driver and its competitors in turns,
in one process, each with checked results. Times are the best of many launches, from the call to the end of the wait. *Intel* is
Intel's OpenCL CPU runtime with the same SPIR-V, *PoCL* is Debian's PoCL with the OpenCL C that the SPIR-V was built from (it
takes no SPIR-V). The *limit* is what a loop with the processor's vectors needs on as many threads: for a case that memory bounds, the same
traffic; for a matrix product or a filter, its multiplications in registers; else a loop that computes the same. Above 1, the driver is
faster. Cases marked *int* compute their indices in 32 bits, as people write them.
";

/// How many times as fast as Intel's runtime each kernel is to be.
const LEAST: f64 = 0.95;

/// The mean of ratios.
pub fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

fn list<'a>(report: &'a Value, key: &str) -> &'a [Value] {
    report[key].as_array().map_or(&[], Vec::as_slice)
}

/// The time of a competitor in a row, of a kind of time.
fn time(row: &Value, who: &str, what: &str) -> Option<f64> {
    row[who][what].as_f64()
}

/// How often faster the driver is than another: a number that has a logarithm, whatever a report says.
fn ratio(row: &Value, who: &str, what: &str) -> Option<f64> {
    let ratio = time(row, who, what)? / time(row, "driver", what)?;
    ratio.is_normal().then_some(ratio).filter(|&ratio| ratio > 0.0)
}

/// Times with three digits that count.
fn short(value: Option<f64>) -> String {
    match value {
        None => "–".to_owned(),
        Some(value) if value >= 100.0 => format!("{value:.0}"),
        Some(value) if value >= 10.0 => format!("{value:.1}"),
        Some(value) if value >= 1.0 => format!("{value:.2}"),
        Some(value) => format!("{value:.3}"),
    }
}

fn factor(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:.2}"))
}

/// A line of the summary: what, the goal, and what was reached.
fn against(page: &mut String, what: &str, goals: (f64, f64), ratios: &[(String, f64)]) {
    let Some((name, worst)) = ratios.iter().min_by(|a, b| a.1.total_cmp(&b.1)) else { return };
    let values: Vec<f64> = ratios.iter().map(|ratio| ratio.1).collect();
    let behind = values.iter().filter(|&&value| value < goals.0).count();
    let _ = writeln!(
        page,
        "| {what} | none below {}, geometric mean {} | {:.2} ({name}), {behind} of {} below; geometric mean {:.2} |",
        goals.0,
        goals.1,
        worst,
        values.len(),
        geometric_mean(&values),
    );
}

fn ratios(rows: &[Value], who: &str, what: &str) -> Vec<(String, f64)> {
    let name = |row: &Value| row["name"].as_str().unwrap_or_default().to_owned();
    rows.iter().filter_map(|row| Some((name(row), ratio(row, who, what)?))).collect()
}

/// How many times as fast as a competitor the driver was on kernels of a report, for the terminal: their mean, and where it was slower.
pub fn comparison(kernels: &[Value], who: &str) -> Option<String> {
    let mut ratios = ratios(kernels, who, "best");
    ratios.sort_by(|a, b| a.1.total_cmp(&b.1));
    let values: Vec<f64> = ratios.iter().map(|ratio| ratio.1).collect();
    let behind = ratios.iter().take_while(|ratio| ratio.1 < LEAST);
    let behind: Vec<String> = behind.map(|(name, ratio)| format!("{name} {ratio:.2}")).collect();
    let behind = if behind.is_empty() { "none".to_owned() } else { behind.join(", ") };
    (ratios.len() > 1).then(|| {
        let (mean, of) = (geometric_mean(&values), ratios.len());
        format!("{who} / driver: geometric mean {mean:.2} of {of} kernels; below {LEAST}: {behind}")
    })
}

fn summary(page: &mut String, report: &Value) {
    let (kernels, operations) = (list(report, "kernels"), list(report, "operations"));
    page.push_str("\n| figure | goal | measured |\n|---|---|---|\n");
    against(page, "kernels against Intel's runtime", (LEAST, 2.0), &ratios(kernels, "Intel", "best"));
    against(page, "kernels against PoCL", (1.0, 4.0), &ratios(kernels, "PoCL", "best"));
    for (bound, goal) in [("memory", 0.9), ("arithmetic", 0.7)] {
        let rows: Vec<Value> = kernels.iter().filter(|row| row["bound"] == bound).cloned().collect();
        let ratios = ratios(&rows, "limit", "best");
        let Some((name, worst)) = ratios.iter().min_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
        let behind = ratios.iter().filter(|ratio| ratio.1 < goal).count();
        let of = ratios.len();
        let _ = writeln!(
            page,
            "| bound by {bound}, of the native limit | at least {goal} | {worst:.2} ({name}), {behind} of {of} below |"
        );
    }
    let firsts: Vec<f64> = ratios(kernels, "Intel", "first").into_iter().map(|ratio| ratio.1).collect();
    if !firsts.is_empty() {
        let _ = writeln!(
            page,
            "| from SPIR-V to the first result, cold, against Intel's runtime | median 4 | median {:.2} |",
            median(&firsts)
        );
    }
    let named: Vec<Value> = operations
        .iter()
        .map(|row| {
            let mut row = row.clone();
            row["name"] = format!("{}, {}", text(&row["name"]), text(&row["size"])).into();
            row
        })
        .collect();
    against(page, "operations of dpnp", (0.9, 1.8), &ratios(&named, "peer", "best"));
    for figure in list(report, "figures") {
        let [name, goal, value] = ["name", "goal", "value"].map(|key| text(&figure[key]));
        let _ = writeln!(page, "| {name} | {goal} | {value} |");
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn kernels(page: &mut String, report: &Value) {
    let rows = list(report, "kernels");
    page.push_str(
        "\n| kernel | indices | driver, ms | Intel, ms | Intel / driver | PoCL, ms | PoCL / driver | limit, ms | of the limit |\n",
    );
    page.push_str("|---|---|---|---|---|---|---|---|---|\n");
    for row in rows {
        let best = |who| time(row, who, "best");
        let of_limit = ratio(row, "limit", "best")
            .map(|share| format!("{share:.2} ({})", row["bound"].as_str().unwrap_or_default()));
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            text(&row["name"]),
            if row["int_indices"] == true { "int" } else { "" },
            short(best("driver")),
            short(best("Intel")),
            factor(ratio(row, "Intel", "best")),
            short(best("PoCL")),
            factor(ratio(row, "PoCL", "best")),
            short(best("limit")),
            of_limit.unwrap_or("–".to_owned()),
        );
    }
    for row in rows {
        for who in ["driver", "Intel", "PoCL", "limit"] {
            if let Some(reason) = row[who]["error"].as_str() {
                let reason: String = reason.split_whitespace().collect::<Vec<_>>().join(" ");
                let short: String = reason.chars().take(160).collect();
                let _ = writeln!(page, "\n{who} gave no result for {}: {short}", text(&row["name"]));
            }
        }
    }
}

fn firsts(page: &mut String, report: &Value) {
    page.push_str(
        "\n| kernel | driver, ms | Intel, ms | Intel / driver | PoCL, ms |\n|---|---|---|---|---|\n",
    );
    for row in list(report, "kernels") {
        let first = |who| time(row, who, "first");
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} |",
            text(&row["name"]),
            short(first("driver")),
            short(first("Intel")),
            factor(ratio(row, "Intel", "first")),
            short(first("PoCL")),
        );
    }
}

fn operations(page: &mut String, report: &Value) {
    page.push_str(
        "\n| operation | size | driver, ms | Intel, ms | Intel / driver | first call: driver, ms | Intel, ms |\n|---|---|---|---|---|---|---|\n",
    );
    for row in list(report, "operations") {
        if let Some(reason) = row["error"].as_str() {
            let _ = writeln!(page, "| {} | {} | {reason} | | | | |", text(&row["name"]), text(&row["size"]));
            continue;
        }
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} | {} | {} |",
            text(&row["name"]),
            text(&row["size"]),
            short(time(row, "driver", "best")),
            short(time(row, "peer", "best")),
            factor(ratio(row, "peer", "best")),
            short(time(row, "driver", "first")),
            short(time(row, "peer", "first")),
        );
    }
}

/// A report's picture of the ratios of its kernels or operations.
fn picture(report: &Value, of: &str, who: &str, title: &str) -> Option<String> {
    let all: Vec<Bar> = list(report, of)
        .iter()
        .filter_map(|row| {
            let size = row["size"].as_str().map_or(String::new(), |size| format!(", {size}"));
            Some(Bar { name: text(&row["name"]) + &size, value: ratio(row, who, "best")? })
        })
        .collect();
    (!all.is_empty()).then(|| bars(title, &all))
}

/// The page and the pictures of reports, by the files' names without extensions. Pictures are named relative to the page.
pub fn render(reports: &[(String, Value)]) -> (String, Vec<(String, String)>) {
    let mut page = INTRODUCTION.to_owned();
    let mut pictures = Vec::new();
    for (key, report) in reports {
        let machine = &report["machine"];
        let _ = writeln!(page, "\n## {}", text(&machine["processor"]));
        let _ = writeln!(
            page,
            "\n{}; {} threads, {}; {}. Measured on {}.",
            text(&machine["family"]),
            machine["threads"],
            text(&machine["vectors"]),
            text(&machine["system"]),
            text(&report["date"]),
        );
        page.push_str("\n| | version |\n|---|---|\n");
        for (name, version) in report["versions"].as_object().into_iter().flatten() {
            let _ = writeln!(page, "| {name} | {} |", text(version));
        }
        summary(&mut page, report);
        let mut section = |page: &mut String, title: &str, file: &str, svg: Option<String>| {
            let _ = writeln!(page, "\n### {title}");
            if let Some(svg) = svg {
                let name = format!("performance/{key}-{file}.svg");
                let _ = writeln!(page, "\n![{title}]({name})");
                pictures.push((name, svg));
            }
        };
        let svg = picture(report, "kernels", "Intel", "speed of the driver, Intel's OpenCL CPU runtime = 1");
        section(&mut page, "Kernels", "kernels", svg);
        kernels(&mut page, report);
        section(&mut page, "From SPIR-V to the first result, without a cache", "", None);
        firsts(&mut page, report);
        if !list(report, "operations").is_empty() {
            let svg = picture(report, "operations", "peer", "speed of the driver, Intel's CPU device = 1");
            section(&mut page, "Operations of dpnp, through SYCL", "dpnp", svg);
            operations(&mut page, report);
        }
    }
    (page, pictures)
}

/// All reports of a folder, in the order of their names.
pub fn read(folder: &Path) -> Result<Vec<(String, Value)>> {
    let mut reports = Vec::new();
    for entry in fs::read_dir(folder)?.flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let key = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            reports.push((key, serde_json::from_str(&fs::read_to_string(&path)?)?));
        }
    }
    reports.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(reports)
}

/// Writes the page and the pictures of all reports in `docs/performance`.
pub fn write(docs: &Path) -> Result<()> {
    let (page, pictures) = render(&read(&docs.join("performance"))?);
    fs::write(docs.join("performance.md"), page)?;
    for (name, picture) in pictures {
        fs::write(docs.join(name), picture)?;
    }
    println!("wrote {}", docs.join("performance.md").display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_page_and_its_pictures_are_what_the_reports_say() {
        let docs = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs"));
        if !docs.join("performance").exists() {
            assert!(!docs.join("performance.md").exists(), "a page without reports");
            return;
        }
        let (page, pictures) = render(&read(&docs.join("performance")).expect("reports"));
        assert!(
            fs::read_to_string(docs.join("performance.md")).expect("the page") == page,
            "ci/bench --page"
        );
        for (name, picture) in pictures {
            assert!(
                fs::read_to_string(docs.join(&name)).expect("a picture") == picture,
                "{name}: ci/bench --page"
            );
        }
    }

    #[test]
    fn a_summary_names_the_slowest_and_counts_what_is_behind() {
        let row = |name: &str, driver: f64, intel: f64| json!({ "name": name, "driver": { "best": driver, "first": 1.0 }, "Intel": { "best": intel, "first": 8.0 } });
        let failed = json!({ "name": "d", "driver": { "best": 1.0 }, "Intel": { "error": "no" } });
        let report = json!({
            "machine": {},
            // A report of a clock that stood still has no ratio, and pictures no end.
            "kernels": [row("a", 1.0, 8.0), row("b", 2.0, 1.0), row("c", 1.0, 2.0), row("e", 0.0, 1.0), failed],
        });
        let (page, pictures) = render(&[("key".to_owned(), report)]);
        let line = "| kernels against Intel's runtime | none below 0.95, geometric mean 2 | 0.50 (b), 1 of 3 below; geometric mean 2.00 |";
        assert!(page.contains(line), "{page}");
        assert!(page.contains("median 4 | median 8.00 |"), "{page}");
        assert!(page.contains("Intel gave no result for d: no"), "{page}");
        assert_eq!(pictures[0].0, "performance/key-kernels.svg");
        assert_eq!(pictures[0].1.matches("#c0504d").count(), 1);
    }
}
