//! Every environment variable of the driver: one table, from which the README's is made.

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
}

const fn variable(name: &'static str, value: &'static str, meaning: &'static str) -> Variable {
    Variable { name, value, meaning }
}

pub const LOG: Variable = variable(
    "ZE_CPU_LOG",
    "error | warn | info | debug | trace, or a filter such as ze_core=debug",
    "Writes what the driver does to standard error.",
);
pub const DUMP: Variable = variable(
    "ZE_CPU_DUMP",
    "LIST:DIR with spirv, ir, asm in the list",
    "Writes modules, LLVM IR and machine code to the folder.",
);
pub const PROFILE: Variable = variable(
    "ZE_CPU_PROFILE",
    "host, or the path of a TOML file",
    "What the device says about itself; `host` is everything that this CPU can do.",
);
pub const THREADS: Variable =
    variable("ZE_CPU_THREADS", "a number", "Threads that run kernels; the default is one a hardware thread.");
pub const CACHE_DIR: Variable = variable(
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
        std::env::var(self.name).ok()
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

/// `ZE_CPU_THREADS`.
pub fn threads() -> Option<usize> {
    THREADS.parse(|text| text.parse().ok().filter(|&count| count != 0))
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
    match CACHE_DIR.get() {
        Some(dir) if dir.is_empty() => None,
        Some(dir) => Some(dir.into()),
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
    fn every_variable_is_a_row_of_the_table() {
        assert_eq!(table().lines().count(), VARIABLES.len() + 2);
    }
}
