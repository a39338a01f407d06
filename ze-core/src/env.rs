//! Every environment variable of the driver and its tests: one list. The README's tables are [`table`] of it, which a test checks;
//! it prints the table that is wanted.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use ze_engine::jit::dump::DumpConfig;
use ze_engine::jit::pipeline::{Tier, Tiering};
use ze_engine::jit::target::Isa;
use ze_extensions::limits;

/// A variable as the README lists it.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    pub name: &'static str,
    /// Form of the value.
    pub value: &'static str,
    pub meaning: &'static str,
    /// Whether the value names files.
    names_files: bool,
}

const fn variable(name: &'static str, value: &'static str, meaning: &'static str) -> Variable {
    Variable { name, value, meaning, names_files: false }
}

/// A variable whose value names files: not believed in a program that runs with another user's rights than its caller's.
const fn file_variable(name: &'static str, value: &'static str, meaning: &'static str) -> Variable {
    Variable { names_files: true, ..variable(name, value, meaning) }
}

pub const LOG: Variable = variable(
    "ZE_CPU_LOG",
    "`error`, `warn`, `info`, `debug`, `trace`, or a filter such as `ze_core=debug`",
    "writes what the driver does to standard error",
);
pub const DUMP: Variable = file_variable(
    "ZE_CPU_DUMP",
    "`LIST:DIR`, the list made of `spirv`, `ir`, `asm`, `code`, `perf`",
    "writes modules, LLVM IR, assembly and machine code as it was loaded to the folder; with `perf:/tmp`, Linux's `perf` names kernels",
);
pub const PROFILE: Variable = file_variable(
    "ZE_CPU_PROFILE",
    "`host`, `host-cpu`, `arc-140v`, `arc-a770`, `arc-b580`, `max-1550`, `uhd-770`, or the path of a TOML file",
    "what the device says about itself, and is held to; `host` is everything that this CPU can do ([docs/profiles.md](docs/profiles.md))",
);
pub const DEVICES: Variable = variable(
    "ZE_CPU_DEVICES",
    "a number from 1 to 64",
    "how many devices of the profile there are; all of them execute on the same threads",
);
pub const SUB_DEVICES: Variable = variable(
    "ZE_CPU_SUBDEVICES",
    "a number from 1 to 16",
    "how many sub-devices each device has, instead of what the profile says; 1 is none",
);
pub const THREADS: Variable = variable(
    "ZE_CPU_THREADS",
    "a number",
    "threads that run kernels, at most 256 or four a hardware thread; the default is one a hardware thread",
);
/// `ZE_CPU_THREADS` up to this is used as it is, also where there are few hardware threads.
const MOST_THREADS: usize = 256;
/// More threads than this a hardware thread are of no use.
const MOST_THREADS_A_HARDWARE_THREAD: usize = 4;
pub const CACHE_DIR: Variable = file_variable(
    "ZE_CPU_CACHE_DIR",
    "the path of a folder, or empty for no cache",
    "where compiled kernels are kept, in `ze_cpu-code-1` there; the default is `ze_cpu` in the user's cache folder. No \
     other user may be able to write to a folder of the path",
);
pub const ISA: Variable = variable(
    "ZE_CPU_ISA",
    "`sse`, `avx2`, `avx512`",
    "makes code for a CPU with no more than this; the default is the CPU that the process runs on",
);

pub const TIER: Variable = variable(
    "ZE_CPU_TIER",
    "`fast`, `optimising`",
    "makes all code in this tier; the default is code that is made fast, and code that runs fast for kernels that run \
     for a millisecond",
);

pub const FAULTS: Variable = variable(
    "ZE_CPU_FAULTS",
    "`lost`, `signal`",
    "what a kernel or a copy ends that accesses memory which is not there: itself, and who waits for it is told \
     `ZE_RESULT_ERROR_DEVICE_LOST` (the default); or the process, by a signal, as a debugger or a core dump wants it, and so do programs whose handlers make pages accessible",
);

/// All variables of the driver.
pub const VARIABLES: [Variable; 10] =
    [LOG, DUMP, PROFILE, DEVICES, SUB_DEVICES, THREADS, CACHE_DIR, ISA, TIER, FAULTS];

/// Variables that only the project's own tests look at.
pub const OF_TESTS: [Variable; 7] = [
    variable(
        "ZE_CPU_TEST_SEED",
        "a number",
        "the first of the random programs that control flow is tested with",
    ),
    variable("ZE_CPU_TEST_COUNT", "a number", "how many of them there are"),
    variable(
        "ZE_CPU_TEST_SPARSE",
        "a number",
        "every how-manieth `float` the functions of `OpenCL.std` are tested with",
    ),
    variable("ZE_CPU_TEST_ULP", "anything", "prints the errors of the functions of `OpenCL.std`"),
    variable(
        "ZE_CPU_TEST_ASM",
        "the path of a folder",
        "where the code of the functions of `OpenCL.std` is written to",
    ),
    variable("ZE_CPU_MUTANT", "a number", "which of the mutants that `ci/mutants` has built in is alive"),
    variable(
        "ZE_CPU_MUTANT_ENTERED",
        "a file",
        "where processes note which functions with mutants they enter",
    ),
];

impl Variable {
    /// The value, if it is set and valid Unicode.
    pub fn get(&self) -> Option<String> {
        self.get_os()?.into_string().ok()
    }

    fn get_os(&self) -> Option<OsString> {
        let value = std::env::var_os(self.name)?;
        if self.is_believed(runs_for_another_user()) {
            return Some(value);
        }
        tracing::warn!(
            "{} is not looked at: the program runs with other rights than its caller's",
            self.name
        );
        None
    }

    fn is_believed(&self, for_another_user: bool) -> bool {
        !(self.names_files && for_another_user)
    }

    /// The value through a parser; a value that does not parse is told and taken as not set.
    pub fn parse<T>(&self, parser: impl Fn(&str) -> Option<T>) -> Option<T> {
        let text = self.get()?;
        let parsed = parser(text.trim());
        // Scripts set nothing in order to have what is usual.
        if parsed.is_none() && !text.trim().is_empty() {
            complain(format_args!("{}={text}: expected {}", self.name, self.value.replace('`', "")));
        }
        parsed
    }
}

/// Tells the user that a setting is wrong: what runs is then not what was asked for. It is told where nothing is logged, too.
pub fn complain(of: std::fmt::Arguments<'_>) {
    if LOG.get().is_some() {
        return tracing::error!("{of}");
    }
    let _section = crate::fork::section();
    // Nobody may be there to read it.
    let _ = writeln!(std::io::stderr(), "ze_cpu: {of}");
}

/// Whether the program has more rights than whoever started it, and with them its environment: it is set-user-ID or the
/// like, by the kernel's word.
fn runs_for_another_user() -> bool {
    // SAFETY: reads what the kernel gave the process.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// `ZE_CPU_THREADS`.
pub fn threads() -> Option<usize> {
    let count = THREADS.parse(|text| text.parse().ok().filter(|&count: &usize| count != 0))?;
    let hardware = std::thread::available_parallelism().map_or(1, usize::from);
    let most = most_threads(hardware, most_processes());
    if count > most {
        let name = THREADS.name;
        complain(format_args!("{name}={count}: {most} threads are used, which is the most for this machine"));
    }
    Some(count.min(most))
}

/// How many threads a program may ask for. `processes` is how many the system lets the user have, which threads count as;
/// half of them are left for the program and for others.
fn most_threads(hardware: usize, processes: Option<usize>) -> usize {
    let most = MOST_THREADS.max(hardware.saturating_mul(MOST_THREADS_A_HARDWARE_THREAD));
    processes.map_or(most, |processes| most.min((processes / 2).max(1)))
}

/// `ulimit -u`, and what the kernel has for all users.
fn most_processes() -> Option<usize> {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: a place for the result, which stays as it is where there is none.
    unsafe { libc::getrlimit(libc::RLIMIT_NPROC, &mut limit) };
    let own = (limit.rlim_cur != libc::RLIM_INFINITY).then(|| usize::try_from(limit.rlim_cur).ok()).flatten();
    let all = std::fs::read_to_string("/proc/sys/kernel/threads-max").ok();
    own.into_iter().chain(all.and_then(|text| text.trim().parse().ok())).min()
}

/// `ZE_CPU_DEVICES`.
pub fn devices() -> Option<u32> {
    DEVICES.parse(|text| count_up_to(limits::DEVICES, text))
}

/// `ZE_CPU_SUBDEVICES`.
pub fn sub_devices() -> Option<u32> {
    SUB_DEVICES.parse(|text| count_up_to(limits::SUB_DEVICES, text))
}

fn count_up_to(most: u32, text: &str) -> Option<u32> {
    text.parse().ok().filter(|count| (1..=most).contains(count))
}

/// `ZE_CPU_DUMP`.
pub fn dump() -> Option<DumpConfig> {
    DUMP.parse(|text| DumpConfig::parse(text).ok())
}

/// `ZE_CPU_ISA`.
pub fn isa() -> Option<Isa> {
    ISA.parse(|text| match text {
        "sse" => Some(Isa::Sse),
        "avx2" => Some(Isa::Avx2),
        "avx512" => Some(Isa::Avx512),
        _ => None,
    })
}

/// `ZE_CPU_TIER`.
pub fn tiering() -> Tiering {
    let tier = TIER.parse(|text| match text {
        "fast" => Some(Tier::Fast),
        "optimising" => Some(Tier::Optimising),
        _ => None,
    });
    tier.map_or(Tiering::FastFirst, Tiering::Only)
}

/// `ZE_CPU_FAULTS`: whether faults of commands are theirs and not the process's.
pub fn catches_faults() -> bool {
    let catches = FAULTS.parse(|text| match text {
        "lost" => Some(true),
        "signal" => Some(false),
        _ => None,
    });
    catches.unwrap_or(true)
}

/// `ZE_CPU_CACHE_DIR`: a folder, or `None` where there is to be no cache.
pub fn cache_dir() -> Option<PathBuf> {
    match CACHE_DIR.get_os() {
        Some(dir) if dir.is_empty() => None,
        Some(dir) => Some(dir.into()),
        // The default place is named by other variables.
        None if runs_for_another_user() => None,
        None => ze_engine::jit::cache::default_dir(),
    }
}

/// A table of variables in Markdown, as the README has it.
pub fn table(variables: &[Variable]) -> String {
    let row = |v: &Variable| format!("| `{}` | {} | {} |\n", v.name, v.value, v.meaning);
    let rows: String = variables.iter().map(row).collect();
    format!("| variable | value | what it does |\n|---|---|---|\n{rows}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_begin_with_the_prefix_and_are_unique() {
        let mut names: Vec<_> = VARIABLES.iter().map(|v| v.name).collect();
        assert!(names.iter().all(|name| name.starts_with("ZE_CPU_")));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), VARIABLES.len());
    }

    #[test]
    fn a_program_with_others_rights_believes_no_variable_that_names_files() {
        assert!(VARIABLES.iter().all(|variable| variable.is_believed(false)));
        let refused: Vec<_> = VARIABLES.iter().filter(|variable| !variable.is_believed(true)).collect();
        let names: Vec<_> = refused.iter().map(|variable| variable.name).collect();
        assert_eq!(names, ["ZE_CPU_DUMP", "ZE_CPU_PROFILE", "ZE_CPU_CACHE_DIR"]);
        assert!(VARIABLES.iter().all(|v| v.names_files || !v.value.to_lowercase().contains("path")));
    }

    #[test]
    fn devices_are_counted_from_one_to_what_the_variables_say() {
        for (variable, most) in [(DEVICES, limits::DEVICES), (SUB_DEVICES, limits::SUB_DEVICES)] {
            assert_eq!(variable.value, format!("a number from 1 to {most}"));
            assert_eq!(count_up_to(most, &most.to_string()), Some(most));
            assert_eq!(count_up_to(most, "1"), Some(1));
            for wrong in ["0", "-1", "two", "", "1.5", "4294967297", &(most + 1).to_string()] {
                assert_eq!(count_up_to(most, wrong), None, "{wrong}");
            }
        }
    }

    #[test]
    fn threads_are_bounded_by_the_machine_and_by_what_the_system_allows() {
        assert_eq!(most_threads(2, None), 256);
        assert_eq!(most_threads(128, None), 512);
        assert_eq!(most_threads(128, Some(100)), 50);
        assert_eq!(most_threads(2, Some(1)), 1);
        assert!(most_processes().is_none_or(|most| most > 0));
    }

    /// The folder of the workspace.
    fn root() -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
    }

    #[test]
    fn the_readme_has_the_tables_of_variables() {
        let readme = std::fs::read_to_string(root().join("README.md")).expect("the README");
        for variables in [&VARIABLES[..], &OF_TESTS] {
            let table = table(variables);
            assert!(readme.contains(&format!("\n\n{table}\n")), "README.md needs this table:\n\n{table}");
        }
    }

    /// The files of a folder, without what is built and what is not the project's.
    fn files(folder: &std::path::Path, all: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let (path, kind) =
                entry.and_then(|entry| Ok((entry.path(), entry.file_type()?))).expect("an entry");
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if kind.is_dir() && !name.starts_with('.') && name != "target" {
                files(&path, all);
            } else if kind.is_file() {
                all.push(path);
            }
        }
    }

    #[test]
    fn no_file_uses_a_variable_that_is_not_in_the_list() {
        const PREFIX: &[u8] = b"ZE_CPU_";
        let known: Vec<_> = VARIABLES.iter().chain(&OF_TESTS).map(|variable| variable.name).collect();
        let (mut all, mut seen) = (Vec::new(), std::collections::BTreeSet::new());
        files(&root(), &mut all);
        for path in all {
            let Ok(text) = std::fs::read(&path) else { continue };
            for at in (0..text.len()).filter(|&at| text[at..].starts_with(PREFIX)) {
                let end = text[at..].iter().position(|c| !c.is_ascii_uppercase() && *c != b'_');
                let name =
                    String::from_utf8_lossy(&text[at..end.map_or(text.len(), |end| at + end)]).into_owned();
                let is_prefix = name.len() == PREFIX.len();
                assert!(is_prefix || known.contains(&&*name), "{}: {name}", path.display());
                seen.insert(name);
            }
        }
        assert!(known.iter().all(|name| seen.contains(*name)));
    }
}
