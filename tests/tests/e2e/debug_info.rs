//! Debug information of modules (`zetModuleGetDebugInfo`), read by other programs' readers of ELF and DWARF.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr::null_mut;

use ze_headers::*;
use ze_tests::{Module, platform, spirv};

const FORMAT: zet_module_debug_info_format_t = ZET_MODULE_DEBUG_INFO_FORMAT_ELF_DWARF;

/// Where `row_sums` adds, and then stores.
const SUM: u32 = 22;

fn debug_info(module: &Module) -> Vec<u8> {
    let mut size = 0;
    let ask = |size: &mut usize, out| {
        // SAFETY: a live module, and null or room for `size` bytes.
        unsafe { platform().api.zetModuleGetDebugInfo(module.handle, FORMAT, size, out) }
    };
    platform().check("zetModuleGetDebugInfo", ask(&mut size, null_mut())).unwrap();
    let mut info = vec![0; size];
    platform().check("zetModuleGetDebugInfo", ask(&mut size, info.as_mut_ptr())).unwrap();
    assert_eq!(size, info.len());
    info
}

/// A file of this test.
struct File(PathBuf);

impl File {
    fn new(name: &str, contents: &[u8]) -> File {
        let path = std::env::temp_dir().join(format!("ze-cpu-{}-{name}.elf", std::process::id()));
        std::fs::write(&path, contents).expect("a file can be written");
        File(path)
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// What a program of binutils says. It must have nothing to complain about.
fn say(program: &str, options: &[&str], file: &File) -> String {
    let output =
        Command::new(program).args(options).arg(file.path()).output().expect("binutils are installed");
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && complaints.trim().is_empty(), "{program} {options:?}: {complaints}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The functions of the file with their addresses and sizes, as its symbols have them.
fn functions(file: &File) -> Vec<(String, u64, u64)> {
    let table = say("readelf", &["--wide", "--syms"], file);
    let rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let rows = rows.filter(|row| row.len() == 8 && row[3] == "FUNC");
    let number = |text: &str| u64::from_str_radix(text, 16).expect("an address");
    rows.map(|row| (row[7].to_owned(), number(row[1]), row[2].parse().expect("a size"))).collect()
}

/// The lines that addresses belong to: 0 where there is none.
fn lines(file: &File) -> BTreeSet<(u64, u32)> {
    let table = say("readelf", &["--wide", "--debug-dump=decodedline"], file);
    let rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let rows = rows.filter(|row| row.len() >= 3 && row[0] == "lines.cl" && row[2].starts_with("0x"));
    let address = |text: &str| u64::from_str_radix(&text[2..], 16).expect("an address");
    rows.filter_map(|row| Some((address(row[2]), row[1].parse().ok()?))).collect()
}

#[test]
fn debug_information_has_the_lines_of_the_code_that_runs() {
    let module = Module::new(&spirv("lines")).unwrap();
    let (radius, out) = (platform().buffer(&[1.0f32; 64]), platform().filled(0.0f32, 64));
    module.kernel("areas").run_1d(64, 64, &[&radius, &out]);
    let file = File::new("lines", &debug_info(&module));

    let (functions, lines) = (functions(&file), lines(&file));
    let (_, start, size) = functions.iter().find(|(name, ..)| name == "areas").expect("the kernel has code");
    let of_kernel: Vec<_> = lines.iter().filter(|(at, _)| (*start..start + size).contains(at)).collect();
    let found: BTreeSet<u32> = of_kernel.iter().map(|(_, line)| *line).collect();
    // A product, the sum of them, the store. (Code that runs whatever was compared has no line.)
    for line in [5, 12, 15] {
        assert!(found.contains(&line), "line {line} of {found:?}");
    }
    // With AVX2, LLVM makes one instruction of the comparison and of the blend by it, and gives that no line.
    assert!(found.contains(&13) || found.contains(&14), "neither the comparison nor its root: {found:?}");
    assert!(found.iter().all(|line| (4..=15).contains(line) || *line == 0), "{found:?}");
    // All of it is in some function that the file has.
    let inside = |at: u64| functions.iter().any(|(_, start, size)| (*start..=start + size).contains(&at));
    assert!(lines.iter().all(|(at, _)| inside(*at)));

    // The addresses are those of this process, and what is there is the kernel.
    let code = say("readelf", &["--wide", "--sections"], &file);
    let row = code.lines().find(|line| line.contains(".text.areas")).expect("a section of code");
    let words: Vec<&str> = row[row.find(']').expect("a number") + 1..].split_whitespace().collect();
    let [address, offset, size] = [2, 3, 4].map(|at| u64::from_str_radix(words[at], 16).expect("a number"));
    let contents = std::fs::read(file.path()).unwrap();
    let in_file = &contents[offset as usize..(offset + size) as usize];
    // SAFETY: the module lives, and so does its code; were it not there, the test would end here.
    let in_memory = unsafe { std::slice::from_raw_parts(address as *const u8, size as usize) };
    assert_eq!(in_file, in_memory);
}

#[test]
fn debug_information_is_of_all_code_of_a_kernel() {
    let module = Module::new(&spirv("lines")).unwrap();
    let (rows, sums) = (platform().buffer(&[1i32; 64 * 64]), platform().filled(0i32, 64));
    // Code that is made to be fast has a form for long rows and one for short ones.
    module.kernel("row_sums").run_1d(64, 64, &[&rows, &sums, &64i32]);
    let file = File::new("all-code", &debug_info(&module));
    let (functions, lines) = (functions(&file), lines(&file));
    let code: Vec<_> = functions.iter().filter(|(name, ..)| name.starts_with("row_sums")).collect();
    assert!(code.iter().any(|(name, ..)| name == "row_sums"), "{functions:?}");
    for (name, start, size) in code {
        let found: BTreeSet<u32> = lines
            .iter()
            .filter(|(at, _)| (*start..start + size).contains(at))
            .map(|(_, line)| *line)
            .collect();
        let of_kernel = SUM..=SUM + 1;
        let chooses = name == "row_sums" && functions.iter().any(|(name, ..)| name.starts_with("row_sums."));
        assert!(chooses || of_kernel.clone().all(|line| found.contains(&line)), "{name}: {found:?}");
    }
}

#[test]
fn debug_information_names_functions_and_their_files() {
    let module = Module::new(&spirv("lines")).unwrap();
    let file = File::new("names", &debug_info(&module));
    let dump = say("readelf", &["--wide", "--debug-dump=info"], &file);
    let has = |attribute: &str, value: &str| {
        dump.lines().any(|line| line.contains(attribute) && line.trim_end().ends_with(value))
    };
    assert!(has("DW_AT_name", ": areas"), "{dump}");
    assert!(has("DW_AT_name", ": lines.cl"), "{dump}");
    assert!(has("DW_AT_comp_dir", ": /kernels"), "{dump}");
    assert!(dump.contains("DW_AT_producer") && dump.contains("ze_cpu "), "{dump}");

    // Another reader: an address of the kernel, by the symbol.
    let (_, start, _) = functions(&file).into_iter().find(|(name, ..)| name == "areas").unwrap();
    let (at, _) = lines(&file).into_iter().find(|(at, line)| *at >= start && *line == 15).unwrap();
    let path = file.path().to_str().unwrap();
    let output =
        Command::new("addr2line").args(["-f", "-i", "-e", path, &format!("{at:#x}")]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.starts_with("areas\n/kernels/lines.cl:15"), "{said}");
}

#[test]
fn modules_without_lines_have_functions() {
    let module = Module::new(&spirv("saxpy")).unwrap();
    let file = File::new("without", &debug_info(&module));
    assert!(functions(&file).iter().any(|(name, ..)| name == "saxpy"));
    assert!(say("readelf", &["--wide", "--debug-dump=info"], &file).contains(": saxpy"));
}

#[test]
fn debug_information_that_cannot_be_given_is_refused() {
    let api = &platform().api;
    let module = Module::new(&spirv("saxpy")).unwrap();
    let info = debug_info(&module);
    let mut size = info.len() - 1;
    let mut out = vec![0u8; size];
    // SAFETY: a live module where there is one, and room for `size` bytes.
    unsafe {
        let short = api.zetModuleGetDebugInfo(module.handle, FORMAT, &mut size, out.as_mut_ptr());
        assert_eq!(short, ZE_RESULT_ERROR_INVALID_ARGUMENT);
        let format = zet_module_debug_info_format_t(FORMAT.0 + 1);
        let other = api.zetModuleGetDebugInfo(module.handle, format, &mut size, null_mut());
        assert_eq!(other, ZE_RESULT_ERROR_INVALID_ENUMERATION);
        let nowhere = api.zetModuleGetDebugInfo(module.handle, FORMAT, null_mut(), null_mut());
        assert_eq!(nowhere, ZE_RESULT_ERROR_INVALID_NULL_POINTER);
    }
    let unlinked = Module::new(&spirv("linked_user")).unwrap();
    // SAFETY: a live module.
    let code = unsafe { api.zetModuleGetDebugInfo(unlinked.handle, FORMAT, &mut size, null_mut()) };
    assert_eq!(code, ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED);
}
