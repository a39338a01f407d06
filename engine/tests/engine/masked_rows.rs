//! Rows of which only some lanes load or store their element, up to where memory ends: right on all instruction sets, also those that have no
//! such access under a mask, and nobody touches the next page.

use std::sync::Arc;
use ze_engine::jit::pipeline::{Tier, Tiering};
use ze_engine::jit::target::Isa;
use ze_engine::{Dispatch, Engine, EngineConfig, Program};
use ze_tests::Random;

use crate::support::{Guarded, PAGE, file, load};

const ISAS: [Option<Isa>; 3] = [None, Some(Isa::Avx2), Some(Isa::Sse)];
const GROUP: usize = 64;
/// Work-items behind the last element, and before the first one where they go backwards.
const OUTSIDE: usize = 2 * GROUP;

fn launch(program: &Arc<Program>, kernel: &str, items: usize, args: &[u64]) {
    let kernel = program.kernel(kernel).expect("the module has it");
    let mut bytes = vec![0; kernel.reflection().arg_block_size as usize];
    for (place, value) in kernel.reflection().args.iter().zip(args) {
        let size = place.size as usize;
        bytes[place.offset as usize..][..size].copy_from_slice(&value.to_le_bytes()[..size]);
    }
    let (group_count, group_size) = ([(items / GROUP) as u32, 1, 1], [GROUP as u32, 1, 1]);
    kernel
        .launch(&Dispatch { group_count, group_size, global_offset: [0; 3], args: &bytes })
        .expect("launches");
}

/// Whether the elements that are wanted are there, and nothing else was stored.
fn check(program: &Arc<Program>, ty: &str, size: usize, count: usize, share: u32, what: &str) {
    let mut random = Random::new(9);
    let items = (count + OUTSIDE).next_multiple_of(GROUP);
    let mut from = Guarded::new(count * size);
    from.bytes_mut().iter_mut().for_each(|byte| *byte = random.below(256) as u8);
    let which: Vec<u8> = (0..items).map(|at| u8::from(at < count && random.below(share) == 0)).collect();
    for backwards in [false, true] {
        let mut to = vec![0u8; items * size];
        let args =
            [which.as_ptr() as u64, from.bytes().as_ptr() as u64, to.as_mut_ptr() as u64, count as u64 - 1];
        let direction = if backwards { "_backwards" } else { "" };
        launch(program, &format!("some{direction}_{ty}"), items, &args);
        for (at, got) in to.chunks(size).enumerate() {
            let place = if backwards { count.wrapping_sub(1 + at) } else { at };
            let want = if which[at] != 0 { &from.bytes()[place * size..][..size] } else { &[0; 32][..size] };
            assert_eq!(got, want, "{at} of {count}, one in {share}, {what}{direction}");
        }
    }
}

/// The same of elements that are stored in reverse: by some work-items, or by all of whole work-groups.
fn check_down(program: &Arc<Program>, ty: &str, size: usize, count: usize, share: u32, what: &str) {
    let mut random = Random::new(19);
    let whole = count / GROUP * GROUP;
    for (kernel, items) in [("some_down", (count + OUTSIDE).next_multiple_of(GROUP)), ("all_down", whole)] {
        if items == 0 {
            continue;
        }
        let count = count.min(items);
        let from: Vec<u8> = (0..items * size).map(|_| random.below(255) as u8 + 1).collect();
        let which: Vec<u8> = (0..items)
            .map(|at| u8::from(at < count && (kernel == "all_down" || random.below(share) == 0)))
            .collect();
        let mut to = Guarded::new(count * size);
        to.bytes_mut().fill(0);
        let args =
            [which.as_ptr() as u64, from.as_ptr() as u64, to.bytes().as_ptr() as u64, count as u64 - 1];
        launch(program, &format!("{kernel}_{ty}"), items, &args);
        for (place, got) in to.bytes().chunks(size).enumerate() {
            let at = count - 1 - place;
            let want = if which[at] != 0 { &from[at * size..][..size] } else { &[0; 32][..size] };
            assert_eq!(got, want, "{at} of {count}, one in {share}, {what}, {kernel}");
        }
    }
}

#[test]
fn some_lanes_access_their_elements_and_no_other_memory_is_touched() {
    for isa in ISAS {
        for tier in [Tier::Fast, Tier::Optimising] {
            let tiering = Tiering::Only(tier);
            let engine = Engine::new(EngineConfig { threads: 1, isa, tiering, ..EngineConfig::default() });
            let program = load(&engine, &file("masked_rows"));
            let scalars = [("uchar", 1), ("ushort", 2), ("float", 4), ("double", 8)];
            let pairs = [("uchar2", 2), ("float2", 8), ("double2", 16)];
            let larger = [("uchar4", 4), ("short4", 8), ("float4", 16), ("int8", 32)];
            for (ty, size) in scalars.into_iter().chain(pairs).chain(larger) {
                // The last ones begin at a page's beginning, too.
                for count in [1, 13, 64, 100, PAGE / size - 1, PAGE / size, 2 * PAGE / size] {
                    for share in [1, 2, 40] {
                        let what = format!("{ty}, {tier:?}, {isa:?}");
                        check(&program, ty, size, count, share, &what);
                        check_down(&program, ty, size, count, share, &what);
                    }
                }
            }
        }
    }
}
