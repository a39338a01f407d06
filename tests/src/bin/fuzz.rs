//! Sends damaged modules through module creation and reports those that crash or hang. With `--kernels` the kernels of
//! modules that are accepted are compiled too, for a launch that is recorded and never executed; what is accepted and then
//! does not compile is reported as well.
//!
//! ```text
//! fuzz [--from N] [--count N] [--seconds N] [--kernels] [--save FOLDER]
//! ```
//!
//! The work is done in child processes: a crash or a hang of one mutation ends its child, is recorded, and the next
//! child goes on behind it.

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};
use std::{env, fs, io, thread};

use ze_headers::ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
use ze_tests::mutation::{corpus, mutate};
use ze_tests::{CommandList, Kernel, Module, platform};

/// Kernels of one module that are compiled.
const KERNELS: usize = 3;

struct Options {
    from: u64,
    count: u64,
    /// Seconds that one mutation may take.
    seconds: u64,
    kernels: bool,
    save: Option<PathBuf>,
    worker: bool,
}

fn options() -> Result<Options, Box<dyn Error>> {
    let mut options =
        Options { from: 0, count: 1000, seconds: 20, kernels: false, save: None, worker: false };
    let mut args = env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut number = || -> Result<u64, Box<dyn Error>> {
            Ok(args.next().ok_or_else(|| format!("{arg} needs a number"))?.parse()?)
        };
        match arg.as_str() {
            "--from" => options.from = number()?,
            "--count" => options.count = number()?,
            "--seconds" => options.seconds = number()?,
            "--kernels" => options.kernels = true,
            "--worker" => options.worker = true,
            "--save" => options.save = args.next().map(PathBuf::from),
            _ => return Err(format!("unknown option {arg}").into()),
        }
    }
    Ok(options)
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = options()?;
    if options.worker { work(&options) } else { supervise(&options) }
}

fn kernel_folder() -> PathBuf {
    env::var_os("ZE_TEST_KERNELS")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/kernels")), PathBuf::from)
}

/// Prints each mutation's number before it is tried, and what came of it after.
fn work(options: &Options) -> Result<(), Box<dyn Error>> {
    let corpus = corpus(&kernel_folder());
    platform();
    let list = CommandList::regular(false).map_err(|error| format!("{error:?}"))?;
    let mut out = io::stdout().lock();
    for number in options.from..options.from + options.count {
        writeln!(out, "{number}")?;
        out.flush()?;
        let (_, bytes) = mutate(number, &corpus);
        let accepted = match Module::new(&bytes) {
            Ok(module) => {
                let mut verdict = "accepted";
                if options.kernels {
                    let names = module.kernel_names().unwrap_or_default();
                    // Some of them, each mutation others: the damage is in one, and modules have up to a hundred.
                    for name in names.iter().cycle().skip(number as usize % names.len().max(1)).take(KERNELS)
                    {
                        let compiled = module.try_kernel(name).map_or(true, |kernel| compile(&kernel, &list));
                        verdict = if compiled { verdict } else { "not-compiled" };
                    }
                }
                verdict
            }
            Err(error) if error.reason.is_empty() => "without-reason",
            Err(_) => "rejected",
        };
        writeln!(out, "{accepted}")?;
    }
    Ok(())
}

/// Records a launch, for which the driver needs the code. Every argument is zero in the first size that is accepted. Whether
/// there is code, or the launch is none that there would be code for.
fn compile(kernel: &Kernel, list: &CommandList) -> bool {
    let Ok(properties) = kernel.properties() else { return true };
    for index in 0..properties.numKernelArgs {
        let zeros = [0u8; 256];
        if kernel.set_size(index, size_of::<usize>()).is_err() {
            let sizes = [1, 2, 4, 8, 16, 32, 64, 128].into_iter().chain(3..=256);
            for size in sizes {
                if kernel.set_bytes(index, &zeros[..size]).is_ok() {
                    break;
                }
            }
        }
    }
    let required =
        [properties.requiredGroupSizeX, properties.requiredGroupSizeY, properties.requiredGroupSizeZ];
    let group_size = if required[0] == 0 { [32, 1, 1] } else { required };
    // A launch may be against a rule, such as one about the group's size.
    kernel.set_group_size(group_size).ok();
    let launched = list.launch(kernel, [1, 1, 1], None, &[]);
    list.reset().ok();
    !launched.is_err_and(|error| error.code == ZE_RESULT_ERROR_MODULE_BUILD_FAILURE)
}

fn spawn(options: &Options, from: u64) -> io::Result<Child> {
    let mut command = Command::new(env::current_exe()?);
    command.args([
        "--worker",
        "--from",
        &from.to_string(),
        "--count",
        &(options.from + options.count - from).to_string(),
    ]);
    if options.kernels {
        command.arg("--kernels");
    }
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()
}

fn supervise(options: &Options) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let end = options.from + options.count;
    let (mut accepted, mut rejected) = (0u64, 0u64);
    let mut failures: Vec<(u64, &str)> = Vec::new();
    let mut next = options.from;
    while next < end {
        let mut child = spawn(options, next)?;
        let output = child.stdout.take().ok_or("the worker has no output")?;
        let (sender, lines) = mpsc::channel();
        let reader = thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let mut trying = None;
        let failure = loop {
            match lines.recv_timeout(Duration::from_secs(options.seconds)) {
                Ok(line) => match line.as_str() {
                    "accepted" => accepted += 1,
                    "rejected" => rejected += 1,
                    "without-reason" => {
                        failures.extend(trying.map(|number| (number, "is rejected without a reason")))
                    }
                    "not-compiled" => {
                        failures.extend(trying.map(|number| (number, "is accepted, and then not compiled")))
                    }
                    number => trying = number.parse().ok(),
                },
                Err(RecvTimeoutError::Timeout) => {
                    child.kill()?;
                    break Some("hangs");
                }
                Err(RecvTimeoutError::Disconnected) => break None,
            }
        };
        let status = child.wait()?;
        reader.join().map_err(|_| "the reader panicked")?;
        match (failure, trying) {
            (None, _) if status.success() => break,
            (failure, Some(number)) => {
                failures.push((number, failure.unwrap_or("crashes")));
                next = number + 1;
            }
            (_, None) => return Err(format!("the worker does not start: {status}").into()),
        }
    }

    let corpus = corpus(&kernel_folder());
    for &(number, what) in &failures {
        let (name, bytes) = mutate(number, &corpus);
        print!("mutation {number}, made of {name}, {what}");
        if let Some(folder) = &options.save {
            fs::create_dir_all(folder)?;
            let path = folder.join(format!("{number}.spv"));
            fs::write(&path, bytes)?;
            print!(": {}", path.display());
        }
        println!();
    }
    println!(
        "{} modules in {:.0?}: {accepted} accepted, {rejected} rejected",
        options.count,
        start.elapsed()
    );
    println!("fuzz: {} passed, {} failed", accepted + rejected, failures.len());
    if failures.is_empty() { Ok(()) } else { Err("mutations fail".into()) }
}
