//! Measures kernels on the driver and, in turns in the same process, on its competitors.
//!
//! ```text
//! bench [--quick] [--alone | --only NAME]... [--beside LIBRARY] [--file SOURCE]...
//!       [--docs FOLDER [--operations FILE]] [--page FOLDER] [WORD...]
//! ```
//!
//! Only cases whose name contains one of the words are measured. `--alone` leaves the competitors out, `--only` all whose name
//! is another (driver, other, Intel, PoCL, limit). `--beside` measures another driver, too, and `--file` the kernels of an
//! OpenCL C file that says how they are launched (`ze_tests::bench::own`) instead of the cases. `--docs` writes the report into that folder, with the operations of dpnp that a
//! file of `tests/ecosystem/bench_dpnp.py` has; `--page` only writes the page of reports that are there.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use ze_tests::bench::level_zero::LevelZero;
use ze_tests::bench::native::Native;
use ze_tests::bench::opencl::{OpenCl, Runtime};
use ze_tests::bench::own::File;
use ze_tests::bench::{
    Backend, Case, Effort, Outcome, Result, cases, figures, images, measure, page, report,
};

struct Options {
    effort: Effort,
    only: Vec<String>,
    beside: Option<PathBuf>,
    files: Vec<PathBuf>,
    docs: Option<PathBuf>,
    operations: Option<PathBuf>,
    words: Vec<String>,
}

/// The options, unless the program was called for something else, which is done then.
fn options() -> Result<Option<Options>> {
    let mut options = Options {
        effort: Effort::full(),
        only: Vec::new(),
        beside: None,
        files: Vec::new(),
        docs: None,
        operations: None,
        words: Vec::new(),
    };
    let mut args = env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--quick" => options.effort = Effort::quick(),
            "--alone" => options.only.extend(["driver".into(), "other".into()]),
            "--beside" => options.beside = Some(value()?.into()),
            "--file" => options.files.push(value()?.into()),
            "--only" => options.only.push(value()?),
            "--docs" => options.docs = Some(value()?.into()),
            "--operations" => options.operations = Some(value()?.into()),
            "--page" => return page::write(&PathBuf::from(value()?)).map(|()| None),
            "--child" => return figures::child(&value()?).map(|()| None),
            _ if arg.starts_with("--") => return Err(format!("there is no option {arg}").into()),
            _ => options.words.push(arg.to_lowercase()),
        }
    }
    Ok(Some(options))
}

/// Everybody who takes part. Who is not there is named.
fn competitors(options: &Options) -> Result<Vec<Box<dyn Backend>>> {
    let wanted = |name: &str| options.only.is_empty() || options.only.iter().any(|only| only == name);
    let mut all: Vec<Box<dyn Backend>> = Vec::new();
    if wanted("driver") {
        all.push(Box::new(LevelZero::driver()));
    }
    if let (Some(library), true) = (&options.beside, wanted("other")) {
        all.push(Box::new(LevelZero::other(library)?));
    }
    for (name, runtime) in [("Intel", Runtime::Intel), ("PoCL", Runtime::Pocl)] {
        if wanted(name) {
            match OpenCl::open(runtime) {
                Ok(open) => all.push(Box::new(open)),
                Err(error) => eprintln!("without {name}: {error}"),
            }
        }
    }
    if wanted("limit") && options.files.is_empty() {
        all.push(Box::new(Native::new()));
    }
    Ok(all)
}

/// Makes a case when it is its turn: each holds its inputs.
type Make<'a> = Box<dyn Fn() -> Case + 'a>;

fn print(names: &[&str], outcomes: &[Outcome]) {
    let mut driver = None;
    for (name, outcome) in names.iter().zip(outcomes) {
        match outcome {
            Ok(None) => print!(" {:>31}", "-"),
            Ok(Some(times)) => {
                let [best, median, first] =
                    [times.best(), times.median(), times.first()].map(|time| time.as_secs_f64() * 1e3);
                print!(" {best:>9.3} {median:>9.3} {first:>6.1}");
                match driver {
                    Some(driver) => print!(" {:>4.2}", driver / best),
                    None => print!("     "),
                }
                if *name == "driver" {
                    driver = Some(best);
                }
            }
            Err(error) => print!(" {:>31}", error.lines().next().unwrap_or_default()),
        }
    }
    println!();
}

/// The text that a program prints.
fn printed(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    output.map_or(String::new(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn main() -> Result<()> {
    let Some(options) = options()? else { return Ok(()) };
    let files = options.files.iter().map(|path| File::read(path)).collect::<Result<Vec<_>>>()?;
    let competitors = competitors(&options)?;
    let backends: Vec<&dyn Backend> = competitors.iter().map(|competitor| &**competitor).collect();
    let names: Vec<&str> = backends.iter().map(|backend| backend.name()).collect();
    for backend in &backends {
        println!("{}: {}", backend.name(), backend.version());
    }
    println!(
        "milliseconds, launch and wait; first is from SPIR-V to the first result, then the driver's time against theirs"
    );
    print!("{:28}", "");
    for name in &names {
        print!(" {:>9} {:>9} {:>6}     ", format!("{name} best"), "median", "first");
    }
    println!();
    let (mut failed, mut rows) = (Vec::new(), Vec::new());
    let makers: Vec<Make> = if files.is_empty() {
        cases::CASES.iter().chain(images::CASES).map(|&case| Box::new(case) as Make).collect()
    } else {
        let specs = files.iter().flat_map(|file| file.specs.iter().map(move |spec| (file, spec)));
        specs.map(|(file, spec)| Box::new(|| file.case(spec)) as Make).collect()
    };
    for make in makers {
        let case = make();
        let name = case.name.to_lowercase();
        if !options.words.is_empty() && !options.words.iter().any(|word| name.contains(word)) {
            continue;
        }
        print!("{:28}", case.name);
        let outcomes = measure(&case, &backends, options.effort);
        print(&names, &outcomes);
        for (name, outcome) in names.iter().zip(&outcomes) {
            // PoCL has no half precision, and takes no SPIR-V: what it lacks is in the report.
            if let (Err(error), true) = (outcome, *name != "PoCL") {
                failed.push(format!("{}, {name}: {error}", case.name));
            }
        }
        rows.push(report::kernel(&case, &names, &outcomes));
    }
    for name in names.iter().filter(|name| **name != "driver") {
        page::comparison(&rows, name).into_iter().for_each(|line| println!("{line}"));
    }
    if let Some(docs) = &options.docs {
        let versions: serde_json::Map<String, Value> =
            backends.iter().map(|backend| (backend.name().to_owned(), json!(backend.version()))).collect();
        let mut whole = json!({
            "machine": report::machine(),
            "date": printed("date", &["-u", "+%Y-%m-%d"]),
            "versions": versions,
            "kernels": rows,
            "operations": [],
            "figures": figures::all()?,
        });
        if let Some(path) = &options.operations {
            let operations: Value = serde_json::from_str(&std::fs::read_to_string(path)?)?;
            whole["operations"] = operations["operations"].clone();
            for (name, version) in operations["versions"].as_object().into_iter().flatten() {
                whole["versions"][name] = version.clone();
            }
        }
        report::write(&docs.join("performance"), &whole)?;
        page::write(docs)?;
    }
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n").into()) }
}
