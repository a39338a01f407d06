//! `printf` and failed assertions: what a program's standard output and standard error have in the end.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};

use ze_tests::formats;

fn run(arguments: &[&str], profile: Option<&str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_print"));
    command.args(arguments).env("ZE_CPU_THREADS", "3");
    if let Some(profile) = profile {
        command.env("ZE_CPU_PROFILE", profile);
    }
    command.output().unwrap()
}

/// What a kernel prints, between what the program itself prints before and behind its launches.
fn printed(arguments: &[&str]) -> String {
    let output = run(arguments, None);
    let (text, errors) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{arguments:?}: {errors}");
    let inside = text.strip_prefix("before\n").and_then(|text| text.strip_suffix("after\n"));
    inside.unwrap_or_else(|| panic!("{arguments:?}: {text:?}")).to_owned()
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

fn lines<T: std::fmt::Display>(values: impl IntoIterator<Item = T>) -> String {
    values.into_iter().map(|value| format!("{value}\n")).collect()
}

#[test]
fn every_conversion_prints_what_the_c_library_prints() {
    let expected: Vec<String> = formats::calls().into_iter().map(|call| call.text).collect();
    assert!(expected.len() > 250);
    let output = run(&["formats", "1"], None);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    for (line, expected) in text.split_inclusive('\n').zip(&expected) {
        assert_eq!(line, expected);
    }
    assert_eq!(text, expected.concat());
}

#[test]
fn work_items_of_a_sub_group_print_in_their_order() {
    for items in ["1", "5", "8", "32", "64"] {
        let count: u32 = items.parse().unwrap();
        let expected = lines((0..count).map(|item| format!("item {item} of {count}")));
        assert_eq!(printed(&["order", "1", items]), expected);
    }
}

#[test]
fn every_kind_of_launch_prints_before_it_is_waited_for() {
    for how in ["immediate", "list", "indirect"] {
        let text = printed(&["order", "100", "16", how]);
        let all = lines((0..1600).map(|item| format!("item {item} of 1600")));
        assert_eq!(sorted(&text), sorted(&all), "{how}");
    }
    let twice = printed(&["one_line", "3", "16", "twice"]);
    assert_eq!(twice.matches('[').count(), 96);
    assert_eq!(twice.matches("[47]").count(), 2);
}

#[test]
fn work_items_print_what_they_reach() {
    let expected: Vec<String> = (0..80)
        .flat_map(|id| (0..id % 4).filter(move |at| (id + at) % 3 == 0).map(move |at| format!("{id}.{at}")))
        .collect();
    let expected = lines(expected);
    assert_eq!(sorted(&printed(&["divergent", "2", "40"])), sorted(&expected));
    assert_eq!(printed(&["uniform", "2", "20"]), "the same 42%\n".repeat(40));
}

#[test]
fn called_functions_print() {
    let expected =
        lines((0..2).flat_map(|at| (0..8).map(move |id| format!("called with {}", id + 100 * at))));
    assert_eq!(printed(&["called", "1", "8"]), expected);
}

#[test]
fn kernels_with_barriers_print() {
    let (a, b) =
        ((0..48).map(|id| format!("a {id}")), (1..49).map(|id| format!("b {}", id % 48 * (id % 48))));
    let (text, expected) = (printed(&["barriers", "1", "48"]), lines(a.chain(b)));
    assert_eq!(sorted(&text), sorted(&expected));
    assert!(text.find("b ") > text.rfind("a "), "{text}");
}

#[test]
fn vectors_print_as_the_specification_says() {
    let expected = "f4 = 1.00,2.00,3.00,4.00\nuc = 0xfa,0xfb,0xfc,0xfd\n-1,0,3|    0,   -5\n";
    assert_eq!(printed(&["vectors", "1", "1"]), expected);
}

#[test]
fn strings_are_those_of_the_module() {
    let expected =
        (0..4).map(|id| format!("{}|    ab|cd    |ef|x{id}", if id % 2 == 1 { "odd" } else { "even" }));
    assert_eq!(printed(&["strings", "1", "4"]), lines(expected));
}

#[test]
fn arguments_that_do_not_fit_their_format_do_no_harm() {
    let expected = "(invalid)|\n7 %d|\n1,2|\n878082192|\n(invalid)|\n%n%k%|\nno arguments|\n3.000000|2|\n";
    assert_eq!(printed(&["mismatches", "1", "1"]), expected);
}

#[test]
fn printf_says_what_found_no_room() {
    // A record of one number is a header, a type, the format and the number.
    let (count, fits) = (100, 25);
    let path = std::env::temp_dir().join(format!("ze_cpu_print_{}.toml", std::process::id()));
    std::fs::write(&path, format!("[module]\nprintf_buffer_size = {}\n", fits * 4 * 8)).unwrap();
    let output = run(&["results", "1", &count.to_string()], path.to_str());
    std::fs::remove_file(&path).unwrap();
    let (text, results) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(text, format!("before\n{}after\n", lines(0..fits)));
    let expected: Vec<u32> = (0..count).map(|at| if at < fits { 0 } else { u32::MAX }).collect();
    assert_eq!(results.trim(), format!("{expected:?}"));
    let all = run(&["results", "1", "100"], None);
    assert_eq!(String::from_utf8(all.stderr).unwrap().trim(), format!("{:?}", [0; 100]));
}

#[test]
fn a_failed_assertion_says_where_and_ends_the_process() {
    const SIGABRT: i32 = 6;
    let output = run(&["assert", "5"], None);
    assert_eq!(output.status.signal(), Some(SIGABRT));
    let [expression, file, function] = formats::ASSERTION;
    let line = formats::ASSERTION_LINE;
    let message = |item: u32| {
        let local = item % 8;
        format!(
            "{file}:{line}: {function}: global id: [{item},0,0], local id: [{local},0,0] Assertion `{expression}` failed.\n"
        )
    };
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said == message(5) || said == message(8), "{said}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("before\n") && text.contains("item 5\n") || text.contains("item 8\n"), "{text}");
    assert!(!text.contains("after"));
}

#[test]
fn an_assertion_that_holds_costs_nothing() {
    let output = run(&["assert", "16"], None);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty());
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), 18);
}

#[test]
fn code_from_the_cache_prints_its_own_strings() {
    let folder = std::env::temp_dir().join(format!("ze_cpu_print_cache_{}", std::process::id()));
    let run = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_print"));
        let output = command.args(["strings", "1", "2"]).env("ZE_CPU_CACHE_DIR", &folder).output().unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    let (first, second) = (run(), run());
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(first, second);
    assert_eq!(
        second,
        (true, "before\neven|    ab|cd    |ef|x0\nodd|    ab|cd    |ef|x1\nafter\n".to_owned())
    );
}
