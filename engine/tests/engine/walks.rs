//! Work-items that each go through a piece of memory of their own: right whether lanes are work-items or iterations, and
//! vectors of iterations where they are to be.

use crate::support::{built, file, load};
use std::sync::Arc;
use ze_engine::abi::{LaneMapping, Variant};
use ze_engine::analysis::inlining::Inlining;
use ze_engine::jit::Context;
use ze_engine::jit::pipeline::{self, Tier, Tiering};
use ze_engine::jit::target::{Isa, Target};
use ze_engine::lower::{self, Single};
use ze_engine::{Dispatch, Engine, EngineConfig, Program};
use ze_tests::Random;

const ISAS: [Option<Isa>; 3] = [None, Some(Isa::Avx2), Some(Isa::Sse)];
/// Elements of a piece: none, fewer than a vector has, several vectors and a rest.
const PIECES: [u32; 7] = [0, 1, 3, 32, 64, 257, 700];
const GROUPS: [[u32; 3]; 3] = [[1, 1, 1], [16, 1, 1], [24, 1, 1]];
const ITEMS: u32 = 48;

fn read<T: Copy>(values: &[T]) -> u64 {
    values.as_ptr() as u64
}

fn written<T: Copy>(values: &mut [T]) -> u64 {
    values.as_mut_ptr() as u64
}

fn launch(program: &Arc<Program>, kernel: &str, group_size: [u32; 3], args: &[u64]) {
    let kernel = program.kernel(kernel).expect("the module has it");
    let mut bytes = vec![0; kernel.reflection().arg_block_size as usize];
    assert_eq!(kernel.reflection().args.len(), args.len());
    for (place, value) in kernel.reflection().args.iter().zip(args) {
        let size = place.size as usize;
        bytes[place.offset as usize..][..size].copy_from_slice(&value.to_le_bytes()[..size]);
    }
    let group_count = [ITEMS / group_size[0], 1, 1];
    kernel
        .launch(&Dispatch { group_count, group_size, global_offset: [0; 3], args: &bytes })
        .expect("launches");
}

/// Runs a check in both tiers, on all instruction sets and with pieces and groups of all sizes.
fn everywhere(check: impl Fn(&dyn Fn(&str, &[u64]), u32, &str)) {
    for isa in ISAS {
        for tier in [Tier::Fast, Tier::Optimising] {
            let tiering = Tiering::Only(tier);
            let engine = Engine::new(EngineConfig { threads: 1, isa, tiering, ..EngineConfig::default() });
            let program = load(&engine, &file("walks"));
            for group in GROUPS {
                for piece in PIECES {
                    let run = |kernel: &str, args: &[u64]| launch(&program, kernel, group, args);
                    check(&run, piece, &format!("pieces of {piece}, {group:?}, {tier:?}, {isa:?}"));
                }
            }
        }
    }
}

#[test]
fn pieces_of_a_text_are_searched() {
    everywhere(|run, piece, what| {
        // The last piece has no end of its own.
        let n = (ITEMS * piece).saturating_sub(2) as usize;
        let mut random = Random::new(5);
        let text: Vec<u8> = (0..n).map(|_| random.below(3) as u8).collect();
        let mut counts = vec![-1i32; ITEMS as usize];
        run("count_pairs", &[read(&text), written(&mut counts), n as u64, piece.into(), 1, 2]);
        for (item, count) in counts.iter().enumerate() {
            let first = item * piece as usize;
            let pairs = (first..first + piece as usize).filter(|at| at + 1 < n);
            let want = pairs.filter(|at| text[*at] == 1 && text[at + 1] == 2).count();
            assert_eq!(*count, want as i32, "{item}, {what}");
        }
        let text: Vec<u8> = (0..=ITEMS * piece).map(|_| random.below(3) as u8).collect();
        let mut ends = vec![-1i32; (ITEMS * piece) as usize];
        run("mark_ends", &[read(&text), written(&mut ends), piece.into(), 1]);
        for (at, end) in ends.into_iter().enumerate() {
            let want = if text[at] == 1 && text[at + 1] != 1 { at as i32 } else { -1 };
            assert_eq!(end, want, "{what}");
        }
    });
}

#[test]
fn pieces_and_rows_are_gone_through() {
    everywhere(|run, piece, what| {
        let n = (ITEMS * piece) as usize;
        let mut random = Random::new(6);
        let x: Vec<f32> = (0..n).map(|_| random.float(-1.0, 1.0)).collect();
        let before: Vec<f32> = (0..n).map(|_| random.float(-1.0, 1.0)).collect();
        let mut y = before.clone();
        let cut = n.saturating_sub(5);
        run("scale_pieces", &[read(&x), written(&mut y), 1.5f32.to_bits().into(), cut as u64, piece.into()]);
        for at in 0..n {
            let want = if at < cut { 1.5f32.mul_add(x[at], before[at]) } else { before[at] };
            assert!((y[at] - want).abs() < 1e-6, "{at}: {} and not {want}, {what}", y[at]);
        }
        let rows: Vec<i32> = (0..n).map(|_| random.between(-1_000_000_000, 1_000_000_000)).collect();
        let mut sums = vec![0i64; ITEMS as usize];
        run("sum_rows", &[read(&rows), written(&mut sums), piece.into()]);
        let mut columns = vec![0i32; ITEMS as usize];
        run("sum_columns", &[read(&rows), written(&mut columns), ITEMS.into(), piece.into()]);
        let mut floats = vec![0f32; ITEMS as usize];
        run("sum_floats", &[read(&x), written(&mut floats), piece.into()]);
        for item in 0..ITEMS as usize {
            let row = item * piece as usize..(item + 1) * piece as usize;
            assert_eq!(sums[item], rows[row.clone()].iter().copied().map(i64::from).sum::<i64>(), "{what}");
            assert_eq!(floats[item], x[row].iter().fold(0.0, |sum, x| sum + x), "{what}");
            let column = rows.iter().skip(item).step_by(ITEMS as usize);
            assert_eq!(columns[item], column.fold(0i32, |sum, x| sum.wrapping_add(*x)), "{what}");
        }
    });
}

#[test]
fn an_iteration_sees_what_those_before_it_have_stored() {
    everywhere(|run, piece, what| {
        for distance in [1usize, 3, 40, 256] {
            let mut random = Random::new(7);
            let mut want: Vec<i32> = (0..ITEMS * piece).map(|_| random.between(0, 99)).collect();
            let mut got = want.clone();
            let (from, count) = (written(&mut got), (piece as usize).saturating_sub(distance));
            run("carry_on", &[from, from + 4 * distance as u64, piece.into(), count as u64]);
            for own in want.chunks_mut(piece.max(1) as usize) {
                (distance..own.len()).for_each(|at| own[at] = own[at - distance] + 1);
            }
            assert_eq!(got, want, "{distance}, {what}");
        }
    });
}

#[test]
fn indices_of_16_bits_wrap_around() {
    everywhere(|run, piece, what| {
        let mut random = Random::new(8);
        let bytes: Vec<u8> = (0..1 << 16).map(|_| random.below(256) as u8).collect();
        let middle = 1usize << 15;
        // All pieces together go around.
        let piece = 4 * piece;
        let mut sums = vec![-1i32; ITEMS as usize];
        run("count_around", &[read(&bytes[middle..]), written(&mut sums), piece.into()]);
        for (item, sum) in sums.iter().enumerate() {
            let places = (0..piece as usize).map(|at| (middle + item * piece as usize + at) % bytes.len());
            assert_eq!(*sum, places.map(|at| i32::from(bytes[at])).sum::<i32>(), "{item}, {what}");
        }
    });
}

/// Whether vectors are made of a kernel's iterations: if they promise more than work-items, and LLVM makes them.
fn are_lanes(kernel: &str, target: &Target) -> (bool, bool) {
    let module = built(&file("walks")).expect("valid");
    let kernel = module.kernel(kernel).expect("the module has it");
    let variant = Variant::new(16, LaneMapping::Line);
    let single = lower::single(&module, kernel, variant, Inlining::default(), target).expect("analysed");
    let walks = matches!(single, Some(Single::Iterations(_)));
    let alone = Variant { width: 1, mapping: LaneMapping::Iterations, ..variant };
    let (ir, ..) =
        lower::lower(&module, kernel, alone, Inlining::default(), target, &Context::new()).expect("IR");
    ir.verify().expect("valid IR");
    (
        walks,
        pipeline::optimise_loops(&ir, target, Tier::Optimising, pipeline::Loops::Vectorised).expect("passes"),
    )
}

#[test]
fn iterations_become_lanes_where_a_work_item_has_memory_of_its_own() {
    let avx512 = Target::limited(Isa::Avx512).expect("a target machine");
    for kernel in ["count_pairs", "mark_ends", "scale_pieces", "sum_rows", "carry_on"] {
        assert_eq!(are_lanes(kernel, &avx512), (true, true), "{kernel}");
    }
    for kernel in ["sum_floats", "sum_columns"] {
        assert!(!are_lanes(kernel, &avx512).0, "{kernel}");
    }
    // Bytes under a condition have no instruction there.
    let avx2 = Target::limited(Isa::Avx2).expect("a target machine");
    assert_eq!(are_lanes("count_pairs", &avx2), (true, false));
    assert_eq!(are_lanes("scale_pieces", &avx2), (true, true));
}

#[test]
fn pairs_of_two_rows_are_put_together() {
    let mut random = Random::new(9);
    let mut rows = || -> Vec<u16> {
        (0..32 * ITEMS).map(|at| random.below(if at < 512 { 9 } else { 1 << 16 }) as u16).collect()
    };
    let (a, b) = (rows(), rows());
    let want = a.chunks(32).zip(b.chunks(32)).flat_map(|(a, b)| {
        let pairs = || {
            let pairs = a.iter().enumerate().flat_map(|(x, a)| b.iter().map(move |b| (x, *a, *b)));
            pairs.map(|(x, a, b)| (x as u32, u32::from(a), u32::from(b)))
        };
        [
            pairs().filter(|(_, a, b)| a == b).count() as u32,
            pairs().map(|(x, a, b)| a.abs_diff(b) * 3 + x).min().expect("pairs").min(70000),
            pairs().map(|(_, a, b)| a.abs_diff(b)).sum(),
            pairs().fold(0, |bits, (_, a, b)| bits | ((a + 1) & b << 3)),
        ]
    });
    let want: Vec<u32> = want.collect();
    everywhere(|run, _, what| {
        let mut out = vec![0u32; want.len()];
        run("pairs_of_rows", &[read(&a), read(&b), written(&mut out)]);
        assert_eq!(out, want, "{what}");
    });
}
