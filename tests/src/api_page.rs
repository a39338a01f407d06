//! `docs/api.md`: every function of the API, what the driver does with it, and the test that covers it.
//!
//! What is covered is read off the sources of the tests: a test covers a function that it calls, itself or through a helper of its
//! file or of this crate.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::{fs, io};

/// A function of the API.
pub struct Function {
    pub name: &'static str,
    /// The API version in which it appeared.
    pub since: (u32, u32),
}

macro_rules! all {
    ($($api:ident $aggregate:ident { $($member:ident $table:ident $get:ident {
        $([$major:literal $minor:literal] $name:ident $field:ident ($($arg:ident: $type:ty),*) -> $result:ty;)*
    })* })*) => {
        /// Every function of the headers, in the order of the tables.
        pub const FUNCTIONS: &[Function] =
            &[$($($(Function { name: stringify!($name), since: ($major, $minor) },)*)*)*];
    };
}
ze_headers::for_each_function!(all);

/// The test that calls every function of system management, by a macro over their list.
const ALL_OF_SYSMAN: &str = "sysman::every_function_refuses_a_handle_that_is_none";

/// Files of tests that try every function with arguments that are refused, or none.
const NOT_COUNTED: [&str; 2] = ["api_page", "null_arguments"];

/// The tests that cover functions, by the functions' names.
pub type Coverage = BTreeMap<&'static str, Vec<String>>;

/// Why functions are not implemented, by what their names begin with.
const REASONS: &[(&str, &str)] = &[
    ("zeRTAS", "the device has no ray-tracing units"),
    ("zeDriverRTAS", "the device has no ray-tracing units"),
    ("zeDeviceReserveCacheExt", "a program cannot reserve the host's caches"),
    ("zeDeviceSetCacheAdviceExt", "a program cannot reserve the host's caches"),
    (
        "zeDeviceImportExternalSemaphoreExt",
        "no graphics API of this host has semaphores that the CPU could wait for",
    ),
    ("zeDeviceReleaseExternalSemaphoreExt", "no external semaphore can be imported"),
    ("zeCommandListAppendSignalExternalSemaphoreExt", "no external semaphore can be imported"),
    ("zeCommandListAppendWaitExternalSemaphoreExt", "no external semaphore can be imported"),
    ("zeDeviceGetRuntimeRequirements", "native binaries of the driver are not looked at by a runtime"),
    ("zeDeviceValidateRuntimeRequirements", "native binaries of the driver are not looked at by a runtime"),
    ("zeKernelGetBinaryExp", "machine code is compiled when a launch needs it, in several variants"),
    ("zetMetricProgrammable", "no counter of the device can be programmed"),
    ("zetMetricCreateFromProgrammable", "no counter of the device can be programmed"),
    ("zetMetricDestroyExp", "no counter of the device can be programmed"),
    ("zetMetricGroup", "metric groups are what they are"),
    ("zetDeviceCreateMetricGroups", "metric groups are what they are"),
    ("zetMetricTracer", "nothing that is measured is traced event by event"),
    ("zetMetricDecoder", "nothing that is measured is traced event by event"),
    ("zetCommandListAppendMarkerExp", "no metric group is one of markers"),
    ("zetDebug", "kernels are code of the process: its own debugger shows them"),
    ("zetKernelGetProfileInfo", "kernels are not instrumented"),
    ("zetTracerExp", "the loader's own tracing takes their place (`ZE_ENABLE_TRACING_LAYER`)"),
];

/// Why a function is not implemented.
pub fn reason(name: &str) -> Option<&'static str> {
    REASONS.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, reason)| *reason)
}

/// The functions that the driver implements, as its own list says (`ze-api/src/dispatch.rs`).
pub fn implemented(crate_folder: &Path) -> io::Result<Vec<&'static str>> {
    let list = fs::read_to_string(crate_folder.join("../ze-api/src/dispatch.rs"))?;
    let words: Vec<&str> = list.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let listed = FUNCTIONS.iter().map(|function| function.name).filter(|name| words.contains(name));
    Ok(listed.collect())
}

/// A Rust function of the tests' sources.
struct Source {
    /// The module that it is in: of a test the file's name.
    module: String,
    name: String,
    /// What it is a function of, if it is in an `impl`.
    of: Option<String>,
    has_self: bool,
    is_test: bool,
    /// It is of this crate, and not of a file of tests.
    is_support: bool,
    body: String,
    /// The words of its file.
    words: Rc<HashSet<String>>,
}

/// Functions of a Rust source that `rustfmt` has formatted.
fn functions(module: &str, text: &str) -> Vec<Source> {
    let mut all: Vec<Source> = Vec::new();
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned);
    let words: Rc<HashSet<String>> = Rc::new(words.collect());
    let (mut of, mut is_test) = (None, false);
    for line in text.lines() {
        let (indent, code) = (line.len() - line.trim_start().len(), line.trim_start());
        if indent == 0 {
            if let Some(rest) = code.strip_prefix("impl") {
                // `impl<T: Copy> Buffer<T> {`, `impl Drop for Event {`.
                let rest = if rest.starts_with('<') {
                    rest.split_once("> ").map_or(rest, |(_, rest)| rest)
                } else {
                    rest
                };
                let ty = rest.rsplit(" for ").next().unwrap_or(rest).trim();
                of = Some(ty.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect());
            } else if code.starts_with('}') {
                of = None;
            }
        }
        if code.starts_with("#[test]") {
            is_test = true;
        }
        // Functions inside of functions belong to those.
        let is_outer = indent == 0 || indent == 4 && of.is_some();
        let declared = code.split("fn ").nth(1).filter(|_| is_outer).filter(|_| {
            let before = code.split("fn ").next().unwrap_or_default();
            before
                .split_whitespace()
                .all(|word| ["pub", "unsafe", "const", "extern", "\"C\"", "pub(crate)"].contains(&word))
        });
        if let Some(declared) = declared {
            let name: String = declared.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            all.push(Source {
                module: module.to_owned(),
                name,
                of: of.clone(),
                has_self: false,
                is_test: std::mem::take(&mut is_test),
                is_support: false,
                body: String::new(),
                words: Rc::clone(&words),
            });
        }
        if let Some(last) = all.last_mut() {
            last.has_self |= declared.is_some() && line.contains("self") || line.trim() == "&self,";
            last.body.push_str(line);
            last.body.push('\n');
        }
    }
    all
}

fn rust_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Whether a text calls `name` with something before it that `before` accepts.
fn calls(text: &str, name: &str, before: impl Fn(&str) -> bool) -> bool {
    let pattern = format!("{name}(");
    text.match_indices(&pattern).any(|(at, _)| before(&text[..at]))
}

/// Whether a text makes a value of a type: `Event::new(…)`, `Event(…)`, `Event { … }`.
fn makes(text: &str, ty: &str) -> bool {
    let begins = |rest: &str| ["::", "(", " {"].iter().any(|start| rest.starts_with(start));
    text.match_indices(ty).any(|(at, _)| is_word_end(&text[..at]) && begins(&text[at + ty.len()..]))
}

fn is_word_end(text: &str) -> bool {
    !text.ends_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// Where tests are, and what they may call.
pub struct Sources {
    tests: Vec<Source>,
    helpers: Vec<Source>,
    /// Names of methods that several types have.
    ambiguous: HashSet<String>,
}

impl Sources {
    /// The sources of this crate, in its folder.
    pub fn read(crate_folder: &Path) -> io::Result<Sources> {
        let (mut tests, mut helpers) = (Vec::new(), Vec::new());
        for (folder, is_support) in [("tests/e2e", false), ("src", true)] {
            for path in rust_files(&crate_folder.join(folder))? {
                let module = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                for source in functions(&module, &fs::read_to_string(&path)?) {
                    let source = Source { is_support, ..source };
                    if source.is_test && !is_support { tests.push(source) } else { helpers.push(source) }
                }
            }
        }
        Ok(Sources::new(tests, helpers))
    }

    fn new(tests: Vec<Source>, helpers: Vec<Source>) -> Sources {
        let mut types: HashMap<&str, HashSet<&Option<String>>> = HashMap::new();
        for helper in helpers.iter().filter(|helper| helper.has_self) {
            types.entry(&helper.name).or_default().insert(&helper.of);
        }
        let several = types.iter().filter(|(_, types)| types.len() > 1);
        let ambiguous = several.map(|(name, _)| (*name).to_owned()).collect();
        Sources { tests, helpers, ambiguous }
    }

    /// Whether a function's source calls a helper.
    fn reaches(&self, from: &Source, helper: &Source) -> bool {
        let same_file = from.module == helper.module;
        match (&helper.of, helper.has_self) {
            // What is made somewhere is destroyed there.
            (Some(of), true) if helper.name == "drop" => makes(&from.body, of),
            (Some(of), true) => {
                let may_be = !self.ambiguous.contains(&helper.name) || from.words.contains(of);
                may_be && calls(&from.body, &helper.name, |before| before.ends_with('.'))
            }
            (Some(of), false) => {
                calls(&from.body, &helper.name, |before| before.ends_with(&format!("{of}::")))
            }
            (None, _) => {
                (same_file || !helper.is_private_to_file())
                    && calls(&from.body, &helper.name, |before| is_word_end(before) && !before.ends_with('.'))
            }
        }
    }

    /// For each function of the API the tests that call it, those first that do so themselves.
    pub fn coverage(&self) -> Coverage {
        // Which helpers lead to a function of the API.
        let mut leads: Vec<Vec<&'static str>> = self.helpers.iter().map(|helper| direct(helper)).collect();
        let mut callers: HashMap<usize, Vec<usize>> = HashMap::new();
        for (at, helper) in self.helpers.iter().enumerate() {
            for (from, caller) in self.helpers.iter().enumerate() {
                if at != from && caller.may_use(helper) && self.reaches(caller, helper) {
                    callers.entry(at).or_default().push(from);
                }
            }
        }
        let mut work: Vec<usize> = (0..self.helpers.len()).collect();
        while let Some(at) = work.pop() {
            let own = leads[at].clone();
            for &from in callers.get(&at).into_iter().flatten() {
                let before = leads[from].len();
                let new: Vec<_> = own.iter().filter(|name| !leads[from].contains(name)).copied().collect();
                leads[from].extend(new);
                if leads[from].len() != before {
                    work.push(from);
                }
            }
        }
        let mut covered = Coverage::new();
        let tests = || self.tests.iter().filter(|test| !NOT_COUNTED.contains(&test.module.as_str()));
        for test in tests() {
            for name in direct(test) {
                covered.entry(name).or_default().push(test.path());
            }
        }
        for test in tests() {
            for (helper, names) in self.helpers.iter().zip(&leads) {
                if !names.is_empty() && test.may_use(helper) && self.reaches(test, helper) {
                    for name in names {
                        covered.entry(name).or_default().push(test.path());
                    }
                }
            }
        }
        // One test calls every function of system management, of which most are for parts that no CPU has.
        if let Some(test) = self.tests.iter().find(|test| test.path() == ALL_OF_SYSMAN) {
            for function in FUNCTIONS.iter().filter(|function| function.name.starts_with("zes")) {
                covered.entry(function.name).or_default().push(test.path());
            }
        }
        covered
    }
}

impl Source {
    fn path(&self) -> String {
        format!("{}::{}", self.module, self.name)
    }

    fn is_private_to_file(&self) -> bool {
        !self.body.trim_start().starts_with("pub")
    }

    /// Helpers of another file of tests are its own.
    fn may_use(&self, helper: &Source) -> bool {
        self.module == helper.module || !helper.is_private_to_file() || helper.is_drop_of_a_library()
    }

    fn is_drop_of_a_library(&self) -> bool {
        self.name == "drop" && self.is_support
    }
}

/// Functions of the API that a function calls itself.
fn direct(source: &Source) -> Vec<&'static str> {
    let is_called = |function: &&Function| calls(&source.body, function.name, is_word_end);
    FUNCTIONS.iter().filter(is_called).map(|function| function.name).collect()
}

/// The page, and what is wrong with it: functions that claim to be implemented and that no test covers, and functions that are
/// not and have no reason. A test that `current` names for a function stays there as long as it covers it.
pub fn page(
    is_implemented: impl Fn(&str) -> bool,
    covered: &Coverage,
    current: &str,
) -> (String, Vec<String>) {
    let named = |name: &str, test: &String| {
        let row = current.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
        row.is_some_and(|row| row.ends_with(&format!("| `{test}` |")))
    };
    let mut faults = Vec::new();
    let mut rows: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut counts = (0, 0);
    for Function { name, since } in FUNCTIONS {
        let state = if is_implemented(name) {
            counts.0 += 1;
            let tests = covered.get(name).map(Vec::as_slice).unwrap_or_default();
            match tests.iter().find(|test| named(name, test)).or(tests.first()) {
                Some(test) => format!("implemented | `{test}`"),
                None => {
                    faults.push(format!("{name} is implemented, and no test covers it"));
                    "implemented | none".to_owned()
                }
            }
        } else {
            counts.1 += 1;
            let reason = reason(name).unwrap_or_else(|| {
                faults.push(format!("{name} is not implemented, and nothing says why"));
                "no reason"
            });
            format!("unsupported: {reason} |")
        };
        let api = &name[..name.find(char::is_uppercase).unwrap_or(name.len())];
        rows.entry(api).or_default().push(format!("| `{name}` | {}.{} | {state} |", since.0, since.1));
    }
    let mut page = format!(
        "\
# Functions of the API

Each of the {} functions that the headers have: the API version in which it appeared, what the driver does with it, and a test
that covers it. {} are implemented; the {} others return `ZE_RESULT_ERROR_UNSUPPORTED_FEATURE`. The test
`api_page::the_page_of_functions_is_current` (`tests/tests/e2e`) writes this page if `ZE_TEST_WRITE_PAGES` is set. It takes from the
driver's list what is implemented, and from the sources of the tests what they call. Tests that only try null arguments
(`null_arguments`) try every function, and do not count.
",
        FUNCTIONS.len(),
        counts.0,
        counts.1
    );
    for (api, rows) in rows {
        // Writing to a string does not fail.
        let _ = write!(
            page,
            "\n## `{api}*`\n\n| function | since | state | test |\n|---|---|---|---|\n{}\n",
            rows.join("\n")
        );
    }
    (page, faults)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
impl Event {
    pub fn new() -> Event {
        api.zeEventCreate(pool)
    }

    pub fn wait(&self) {
        api.zeEventHostSynchronize(self.0)
    }
}

fn own() {
    api.zeFenceReset(fence)
}

#[test]
fn a_test() {
    Event::new().wait();
    own();
}

#[test]
fn another() {
    api.zeFenceCreate(queue);
    Fence::new();
}
";

    #[test]
    fn a_test_covers_what_it_and_its_helpers_call() {
        let (tests, helpers) = functions("file", TEXT).into_iter().partition(|source| source.is_test);
        let covered = Sources::new(tests, helpers).coverage();
        let tests: Vec<_> = covered.iter().map(|(name, tests)| (*name, tests[0].as_str())).collect();
        assert_eq!(
            tests,
            [
                ("zeEventCreate", "file::a_test"),
                ("zeEventHostSynchronize", "file::a_test"),
                ("zeFenceCreate", "file::another"),
                ("zeFenceReset", "file::a_test"),
            ]
        );
    }

    #[test]
    fn what_is_neither_covered_nor_explained_is_a_fault() {
        let (page, faults) = page(|name| name == "zeInit", &Coverage::new(), "");
        assert!(page.contains("| `zeInit` | 1.0 | implemented | none |"), "{page}");
        assert!(faults.contains(&"zeInit is implemented, and no test covers it".to_owned()));
        assert!(faults.contains(&"zeFenceReset is not implemented, and nothing says why".to_owned()));
        assert!(!faults.iter().any(|fault| fault.starts_with("zetDebugAttach")), "{faults:?}");
    }

    #[test]
    fn a_test_that_the_page_names_stays_there() {
        let covered: Coverage = [("zeInit", vec!["a::first".to_owned(), "b::second".to_owned()])].into();
        let row = |test: &str| format!("| `zeInit` | 1.0 | implemented | `{test}` |");
        for (current, want) in [("a::gone", "a::first"), ("a::first", "a::first"), ("b::second", "b::second")]
        {
            let (page, _) = page(|name| name == "zeInit", &covered, &row(current));
            assert!(page.contains(&row(want)), "{current}");
        }
    }
}
