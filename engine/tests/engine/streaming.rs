//! Stores that go past the caches: the same results, wherever rows begin and end, and however much the caches keep.

use crate::support::{Guarded, file, launch, load};
use std::sync::Arc;
use ze_engine::jit::target::Isa;
use ze_engine::{Engine, EngineConfig, Program};

/// Elements that are written: a multiple of all groups, for items that write one, three or four.
const COUNT: usize = 4608;
/// Elements of the buffer in front of and behind them.
const AROUND: usize = 100;

/// Runs a check with instruction sets for which the code is the same on every machine, where caches keep next to nothing and enough.
fn everywhere(check: impl Fn(&Arc<Program>, &str)) {
    for isa in [Isa::Avx512, Isa::Avx2, Isa::Sse] {
        if isa == Isa::Avx512 && !is_x86_feature_detected!("avx512vl") {
            continue;
        }
        for kept_by_caches in [1, u64::MAX] {
            let isa = Some(isa);
            let config = EngineConfig { threads: 2, isa, kept_by_caches, ..EngineConfig::default() };
            check(&load(&Engine::new(config), &file("streams")), &format!("{isa:?}, {kept_by_caches}"));
        }
    }
}

/// How a kernel writes elements.
struct Rows {
    kernel: &'static str,
    /// Bytes of an element that is read, and of one that is written.
    bytes: [usize; 2],
    /// Elements of a work-item.
    each: usize,
    /// Elements at the end that are not written.
    left: usize,
}

/// Checks what a kernel adds to elements, from places in a line of the cache on, and that nothing around is changed.
fn check(rows: Rows, more: &[u64], add: u64) {
    let Rows { kernel, bytes: [from, to], each, left } = rows;
    everywhere(|program, place| {
        let numbers = (0..COUNT as u64).map(|at| at * 3);
        let input: Vec<u8> =
            numbers.clone().flat_map(|number| number.to_le_bytes()[..from].to_vec()).collect();
        for shift in [0, 4, 1, 15, 16].into_iter().filter(|shift| shift % each.min(4) == 0 || each == 3) {
            for group in [64, 16, 48] {
                let mut out = Guarded::new((COUNT + AROUND) * to);
                out.bytes_mut().fill(0xee);
                let first = out.bytes().as_ptr().align_offset(64) + shift * to;
                let mut args = vec![input.as_ptr() as u64, out.bytes()[first..].as_ptr() as u64];
                args.extend(more);
                launch(program, kernel, [(COUNT / each) as u32 / group, 1], [group, 1], &args);
                let end = first + (COUNT - left) * to;
                let place = format!("{kernel}, {shift} behind a line, groups of {group}, {place}");
                for (at, (got, number)) in out.bytes()[first..end].chunks(to).zip(numbers.clone()).enumerate()
                {
                    let mut value = [0; 8];
                    value[..from].copy_from_slice(&number.to_le_bytes()[..from]);
                    let want = u64::from_le_bytes(value).wrapping_add(add).to_le_bytes();
                    assert_eq!(got, &want[..to], "element {at}: {place}");
                }
                let mut around = out.bytes()[..first].iter().chain(&out.bytes()[end..]);
                assert!(around.all(|byte| *byte == 0xee), "{place}");
            }
        }
    });
}

#[test]
fn rows_of_elements_of_all_sizes() {
    let row = |kernel, bytes| Rows { kernel, bytes, each: 1, left: 0 };
    check(row("words", [4, 4]), &[], 1);
    check(row("by_uint", [4, 4]), &[0], 1);
    check(row("bytes", [1, 1]), &[], 1);
    check(row("shorts", [4, 2]), &[], 0);
    check(row("longs", [8, 8]), &[], 1);
}

#[test]
fn rows_of_structures_and_up_to_a_bound() {
    check(Rows { kernel: "quads", bytes: [4, 4], each: 4, left: 0 }, &[], 1);
    check(Rows { kernel: "triples", bytes: [4, 4], each: 3, left: 0 }, &[], 1);
    let left = 21;
    check(Rows { kernel: "bounded", bytes: [4, 4], each: 1, left }, &[(COUNT - left) as u64], 1);
}

#[test]
fn a_work_group_reads_what_it_wrote() {
    everywhere(|program, place| {
        let input: Vec<u32> = (0..COUNT as u32).collect();
        let [out, other] = [(); 2].map(|()| vec![0u32; COUNT]);
        let args = [&input, &out, &other].map(|buffer| buffer.as_ptr() as u64);
        launch(program, "back", [COUNT as u32 / 64, 1], [64, 1], &args);
        let is_right = |at: usize| other[at] as usize == at / 64 * 64 + 63 - at % 64 + 1;
        assert!((0..COUNT).all(|at| out[at] == at as u32 + 1 && is_right(at)), "{place}");
    });
}
