//! Every environment variable of the driver: one table, from which the README's is made.

use std::ffi::OsString;
use std::path::PathBuf;
use ze_engine::jit::dump::DumpConfig;
use ze_engine::jit::target::Isa;

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
    "error | warn | info | debug | trace, or a filter such as ze_core=debug",
    "Writes what the driver does to standard error.",
);
pub const DUMP: Variable = file_variable(
    "ZE_CPU_DUMP",
    "LIST:DIR with spirv, ir, asm in the list",
    "Writes modules, LLVM IR and machine code to the folder.",
);
pub const PROFILE: Variable = file_variable(
    "ZE_CPU_PROFILE",
    "host, or the path of a TOML file",
    "What the device says about itself; `host` is everything that this CPU can do.",
);
pub const THREADS: Variable =
    variable("ZE_CPU_THREADS", "a number", "Threads that run kernels; the default is one a hardware thread.");
/// `ZE_CPU_THREADS` up to this is used as it is, also where there are few hardware threads.
const MOST_THREADS: usize = 256;
/// More threads than this a hardware thread are of no use.
const MOST_THREADS_A_HARDWARE_THREAD: usize = 4;
pub const CACHE_DIR: Variable = file_variable(
    "ZE_CPU_CACHE_DIR",
    "the path of a folder, or empty for no cache",
    "Where compiled kernels are kept; the default is ze_cpu in the user's cache folder.",
);
pub const ISA: Variable = variable(
    "ZE_CPU_ISA",
    "sse | avx2 | avx512",
    "Makes code for a CPU with no more than this; the default is the CPU that the process runs on.",
);

/// All variables.
pub const VARIABLES: [Variable; 6] = [LOG, DUMP, PROFILE, THREADS, CACHE_DIR, ISA];

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

    /// The value through a parser; a value that does not parse is reported and taken as not set.
    pub fn parse<T>(&self, parser: impl Fn(&str) -> Option<T>) -> Option<T> {
        let text = self.get()?;
        let parsed = parser(text.trim());
        if parsed.is_none() {
            tracing::warn!("{}={text}: expected {}", self.name, self.value);
        }
        parsed
    }
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
        tracing::warn!(
            "{}={count}: {most} threads are used, which is the most for this machine",
            THREADS.name
        );
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

/// The README's table, in Markdown.
pub fn table() -> String {
    let row = |v: &Variable| format!("| `{}` | {} | {} |\n", v.name, v.value, v.meaning);
    let rows: String = VARIABLES.iter().map(row).collect();
    format!("| variable | value | meaning |\n|---|---|---|\n{rows}")
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
    fn threads_are_bounded_by_the_machine_and_by_what_the_system_allows() {
        assert_eq!(most_threads(2, None), 256);
        assert_eq!(most_threads(128, None), 512);
        assert_eq!(most_threads(128, Some(100)), 50);
        assert_eq!(most_threads(2, Some(1)), 1);
        assert!(most_processes().is_none_or(|most| most > 0));
    }

    #[test]
    fn every_variable_is_a_row_of_the_table() {
        assert_eq!(table().lines().count(), VARIABLES.len() + 2);
    }
}
