//! The C ABI of the built library: its symbols, and the tables it fills for loaders of every version.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::ptr;

use libloading::Library;
use ze_headers::{
    TABLES, Table, ZE_API_VERSION_CURRENT, ZE_RESULT_ERROR_INVALID_NULL_POINTER,
    ZE_RESULT_ERROR_UNSUPPORTED_VERSION, ZE_RESULT_SUCCESS, api_version, ze_api_version_t, ze_result_t,
};

type GetTable = unsafe extern "C" fn(ze_api_version_t, *mut usize) -> ze_result_t;

/// What memory that a table does not own is filled with.
const UNTOUCHED: usize = 0xa5a5_a5a5_a5a5_a5a5_u64 as usize;

fn path() -> PathBuf {
    let test = std::env::current_exe().expect("a process knows its program");
    test.with_file_name("libze_cpu.so")
}

fn library() -> Library {
    // SAFETY: the driver's initialisers only store the addresses of its tables.
    unsafe { Library::new(path()) }.expect("the driver is built beside its tests")
}

fn get(library: &Library, table: &Table) -> GetTable {
    // SAFETY: every function of this kind has this signature but for the type of the table.
    unsafe { *library.get(table.get).unwrap_or_else(|error| panic!("{}: {error}", table.get)) }
}

fn versions() -> impl Iterator<Item = ze_api_version_t> {
    (0..=ZE_API_VERSION_CURRENT.minor()).map(|minor| api_version(1, minor))
}

fn length(table: &Table, version: ze_api_version_t) -> usize {
    table.functions.iter().filter(|function| function.since.0 <= version.0).count()
}

/// Two pages of which only the first may be touched.
struct Guarded {
    base: *mut u8,
    page: usize,
}

impl Guarded {
    fn new() -> Guarded {
        // SAFETY: a new private mapping, of which the second half is then locked.
        unsafe {
            let page = libc::sysconf(libc::_SC_PAGESIZE) as usize;
            let (protection, flags) =
                (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            let base = libc::mmap(ptr::null_mut(), 2 * page, protection, flags, -1, 0);
            assert_ne!(base, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(base.byte_add(page), page, libc::PROT_NONE), 0);
            Guarded { base: base.cast(), page }
        }
    }

    /// All words of the page, filled anew.
    fn words(&mut self) -> &mut [usize] {
        // SAFETY: the first page is readable and writable, and borrowed from `self`.
        let words =
            unsafe { std::slice::from_raw_parts_mut(self.base.cast(), self.page / size_of::<usize>()) };
        words.fill(UNTOUCHED);
        words
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`.
        unsafe { libc::munmap(self.base.cast(), 2 * self.page) };
    }
}

#[test]
fn exported_symbols_are_the_api_and_nothing_else() {
    let functions = TABLES.iter().flat_map(|table| table.functions).map(|function| function.name);
    let expected: BTreeSet<_> = functions.chain(TABLES.iter().map(|table| table.get)).collect();
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(path()).output().expect("nm runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listing = String::from_utf8(output.stdout).expect("symbols are text");
    let exported: BTreeSet<_> =
        listing.lines().filter_map(|line| line.split(' ').next_back()?.split('@').next()).collect();
    assert_eq!(exported, expected);
}

#[test]
fn nothing_is_destroyed_when_the_process_ends() {
    let output = Command::new("nm").args(["-D", "--undefined-only"]).arg(path()).output().expect("nm runs");
    let listing = String::from_utf8_lossy(&output.stdout).into_owned();
    let used: BTreeSet<_> =
        listing.lines().filter_map(|line| line.split(' ').next_back()?.split('@').next()).collect();
    assert!(used.contains("malloc"), "no symbols listed");
    for name in ["__cxa_atexit", "atexit", "on_exit", "at_quick_exit"] {
        assert!(!used.contains(name), "the library registers destructors with {name}");
    }
    // The toolchain's own function, which ends in the call of `__cxa_finalize`, is the only one there.
    let output = Command::new("readelf").args(["-dW"]).arg(path()).output().expect("readelf runs");
    let dynamic = String::from_utf8_lossy(&output.stdout).into_owned();
    let size = dynamic.lines().find(|line| line.contains("(FINI_ARRAYSZ)")).expect("there is a size");
    assert!(size.trim_end().ends_with(" 8 (bytes)"), "{size}");
}

#[test]
fn a_reference_to_an_own_symbol_cannot_be_bound_to_the_loaders() {
    let output = Command::new("readelf").args(["-rW"]).arg(path()).output().expect("readelf runs");
    let relocations = String::from_utf8_lossy(&output.stdout).into_owned();
    let names: BTreeSet<_> = TABLES.iter().flat_map(|table| table.functions).map(|f| f.name).collect();
    assert!(relocations.contains("R_X86_64"), "no relocations listed");
    for word in relocations.split_whitespace() {
        assert!(!names.contains(word), "a relocation refers to {word}");
    }
}

#[test]
fn a_table_of_any_version_is_filled_up_to_a_page_that_faults_and_not_before_it_begins() {
    let library = library();
    let mut memory = Guarded::new();
    for table in TABLES {
        for version in versions() {
            let words = memory.words();
            let length = length(table, version);
            let start = words.len() - length;
            // SAFETY: the words behind `start` are as many as the version has.
            let result = unsafe { get(&library, table)(version, words[start..].as_mut_ptr()) };
            assert_eq!(result, ZE_RESULT_SUCCESS, "{} {:#x}", table.get, version.0);
            let (before, filled) = words.split_at(start);
            assert!(before.iter().all(|&word| word == UNTOUCHED), "{} {:#x}", table.get, version.0);
            assert!(
                filled.iter().all(|&word| word != UNTOUCHED && word != 0),
                "{} {:#x}",
                table.get,
                version.0
            );
        }
    }
}

#[test]
fn words_behind_the_table_of_a_version_are_left_alone() {
    let library = library();
    let mut memory = Guarded::new();
    for table in TABLES {
        for version in versions() {
            let words = memory.words();
            let length = length(table, version);
            // SAFETY: there is room for the largest table.
            unsafe { get(&library, table)(version, words.as_mut_ptr()) };
            assert!(words[length..].iter().all(|&word| word == UNTOUCHED), "{} {:#x}", table.get, version.0);
        }
    }
}

#[test]
fn a_table_of_an_older_version_is_the_current_one_without_what_is_newer() {
    let library = library();
    let mut memory = Guarded::new();
    for table in TABLES {
        let words = memory.words();
        // SAFETY: there is room for the largest table.
        unsafe { get(&library, table)(ZE_API_VERSION_CURRENT, words.as_mut_ptr()) };
        let current: Vec<_> = words[..table.functions.len()].to_vec();
        for version in versions() {
            let words = memory.words();
            // SAFETY: as above.
            unsafe { get(&library, table)(version, words.as_mut_ptr()) };
            let old = current
                .iter()
                .zip(table.functions)
                .filter(|(_, f)| f.since.0 <= version.0)
                .map(|(word, _)| *word);
            assert!(
                old.eq(words[..length(table, version)].iter().copied()),
                "{} {:#x}",
                table.get,
                version.0
            );
        }
    }
}

#[test]
fn a_table_of_a_newer_minor_version_gets_what_there_is() {
    let library = library();
    let mut memory = Guarded::new();
    for table in TABLES {
        let words = memory.words();
        // SAFETY: there is room for the largest table.
        let result = unsafe { get(&library, table)(api_version(1, 99), words.as_mut_ptr()) };
        assert_eq!(result, ZE_RESULT_SUCCESS);
        assert_eq!(words.iter().position(|&word| word == UNTOUCHED), Some(table.functions.len()));
    }
}

#[test]
fn a_null_table_and_another_major_version_are_refused() {
    let library = library();
    let mut memory = Guarded::new();
    for table in TABLES {
        let words = memory.words();
        let get = get(&library, table);
        // SAFETY: null is a case of the contract; the other table has room.
        unsafe {
            assert_eq!(get(ZE_API_VERSION_CURRENT, ptr::null_mut()), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
            assert_eq!(get(api_version(2, 0), words.as_mut_ptr()), ZE_RESULT_ERROR_UNSUPPORTED_VERSION);
            assert_eq!(get(api_version(0, 91), words.as_mut_ptr()), ZE_RESULT_ERROR_UNSUPPORTED_VERSION);
        }
        assert!(words.iter().all(|&word| word == UNTOUCHED), "{}", table.get);
    }
}

/// Null handles and null pointers everywhere: an error code (or, for the functions that need no argument, success),
/// never a crash.
#[test]
fn every_function_survives_null_arguments() {
    /// More arguments than the longest function has; a function ignores what it does not take.
    type Zeros = unsafe extern "C" fn(
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
    ) -> usize;
    let library = library();
    for function in TABLES.iter().flat_map(|table| table.functions) {
        println!("{}", function.name);
        // SAFETY: in the System V ABI a caller may pass more arguments than the function takes.
        unsafe {
            let call: Zeros = *library.get(function.name).expect("every function is exported");
            call(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
        }
    }
}
