//! Kernels that once were compiled wrongly: one test for each cause.

use std::time::{Duration, Instant};

use ze_tests::program::NullBuffer;
use ze_tests::ulp::assert_same;
use ze_tests::{Buffer, CommandList, ListOptions, Local, Module, platform};

/// Sizes of a work-group that are and are not multiples of a SIMD width.
const GROUPS: [u32; 4] = [1, 16, 64, 100];

#[test]
fn a_loop_behind_an_untaken_if_stores_nothing() {
    let module = Module::named("regressions");
    let kernel = module.kernel("loop_behind_if");
    for size in GROUPS {
        let n = 2 * size as usize;
        for (hit, stored) in [(None, 0), (Some(0), 8), (Some(n - 1), 8)] {
            let mut input = vec![0u32; n];
            hit.into_iter().for_each(|at: usize| input[at] = 5);
            let out = platform().filled(77u32, 16);
            kernel.run_1d(n, size, &[&platform().buffer(&input), &out, &3u32]);
            let want: Vec<u32> = (0..16).map(|at| if at < stored { 8 } else { 77 }).collect();
            assert_same(&format!("groups of {size}, {hit:?} matches"), &out, &want);
        }
    }
}

#[test]
fn a_function_behind_an_untaken_if_stores_nothing() {
    let module = Module::named("regressions");
    let kernel = module.kernel("call_behind_if");
    for size in GROUPS {
        let n = 2 * size as usize;
        for hit in [None, Some(n - 1)] {
            let mut input = vec![0u32; n];
            hit.into_iter().for_each(|at: usize| input[at] = 5);
            let out = platform().filled(77u32, 1);
            kernel.run_1d(n, size, &[&platform().buffer(&input), &out, &3u32]);
            let want = [if hit.is_some() { 3 } else { 77 }];
            assert_same(&format!("groups of {size}, {hit:?} matches"), &out, &want);
        }
    }
}

#[test]
fn a_block_behind_another_of_an_untaken_if_stores_nothing() {
    let module = Module::named("regressions");
    let kernel = module.kernel("store_behind_block");
    for size in GROUPS {
        let n = 2 * size as usize;
        for hit in [None, Some(n - 1)] {
            let mut input = vec![0u32; n];
            hit.into_iter().for_each(|at: usize| input[at] = 5);
            let (out, flag) = (platform().filled(77u32, n), platform().filled(77u32, 1));
            kernel.run_1d(n, size, &[&platform().buffer(&input), &out, &flag]);
            let want: Vec<u32> = (0..n).map(|at| if hit == Some(at) { 15 } else { 77 }).collect();
            assert_same(&format!("groups of {size}, {hit:?} matches"), &out, &want);
            assert_same("flag", &flag, &[if hit.is_some() { 1 } else { 77 }]);
        }
    }
}

#[test]
fn a_loop_behind_an_untaken_if_loads_nothing() {
    let module = Module::named("regressions");
    let kernel = module.kernel("null_table_behind_if");
    for size in GROUPS {
        let n = 2 * size as usize;
        let out = platform().filled(77u32, n);
        kernel.run_1d(n, size, &[&platform().filled(0u32, n), &out, &NullBuffer, &2u32]);
        assert_same(&format!("groups of {size}, none matches"), &out, &vec![77; n]);
        let mut input = vec![0u32; n];
        input[n / 2] = 5;
        let table = platform().buffer(&[1u32, 2, 3, 4, 5, 6]);
        kernel.run_1d(n, size, &[&platform().buffer(&input), &out, &table, &2u32]);
        let want: Vec<u32> = (0..n).map(|at| if at == n / 2 { 21 } else { 77 }).collect();
        assert_same(&format!("groups of {size}, one matches"), &out, &want);
    }
}

/// Four digits, of which a kernel has changed some.
fn digits(v: [u32; 4]) -> u32 {
    v[0] + 10 * v[1] + 100 * v[2] + 1000 * v[3]
}

/// What the kernels that fill a structure from `x` begin with.
fn rotated(x: u32) -> [u32; 4] {
    let mut v = [0; 4];
    (0..4).for_each(|k| v[((x + k) & 3) as usize] = k + 1);
    v
}

#[test]
fn a_function_changes_its_own_copy_of_a_parameter() {
    let module = Module::named("regressions_by_value");
    for size in GROUPS {
        let n = 2 * size as usize;
        let input: Vec<u32> = (0..n as u32).map(|i| i * 7 % 16).collect();
        let out = platform().filled(0u32, 2 * n);
        let kernel = module.kernel("callee_changes_its_parameter");
        kernel.run_1d(n, size, &[&platform().buffer(&input), &out]);
        let want = input.iter().flat_map(|&x| {
            let (mut theirs, mine) = (rotated(x), rotated(x));
            theirs[(x >> 2 & 3) as usize] = 9;
            [digits(theirs), digits(mine)]
        });
        assert_same(&format!("groups of {size}"), &out, &want.collect::<Vec<u32>>());
    }
}

#[test]
fn functions_change_copies_of_a_kernel_argument() {
    let module = Module::named("regressions_by_value");
    for size in GROUPS {
        let n = 2 * size as usize;
        let input: Vec<u32> = (0..n as u32).map(|i| i * 7 % 16).collect();
        let out = platform().filled(0u32, 2 * n);
        let argument = [3u32, 1, 2, 4];
        let kernel = module.kernel("callees_change_the_argument");
        kernel.run_1d(n, size, &[&argument, &platform().buffer(&input), &out]);
        let want = input.iter().flat_map(|&x| {
            let mut outer = argument;
            outer[(x & 3) as usize] += 5;
            let mut inner = outer;
            inner[((x + 1) & 3) as usize] = 0;
            [10_000 * digits(inner) + outer[((x + 1) & 3) as usize], argument[(x & 3) as usize]]
        });
        assert_same(&format!("groups of {size}"), &out, &want.collect::<Vec<u32>>());
    }
}

#[test]
fn a_parameter_does_not_follow_its_original() {
    let module = Module::named("regressions_by_value");
    for size in GROUPS {
        let n = 2 * size as usize;
        let input: Vec<u32> = (0..n as u32).collect();
        let out = platform().filled(0u32, 2 * n);
        module.kernel("original_changes").run_1d(n, size, &[&platform().buffer(&input), &out]);
        let want = vec![[1u32, 77]; n].concat();
        assert_same(&format!("groups of {size}"), &out, &want);
    }
}

#[test]
fn what_functions_get_of_a_kernel_argument_is_the_same_for_all_work_items() {
    let module = Module::named("regressions_by_value");
    let kernel = module.kernel("barrier_in_a_loop_bounded_by_the_argument");
    for size in GROUPS {
        let n = 2 * size as usize;
        let input: Vec<i32> = (0..n as i32).collect();
        let out = platform().filled(0i32, n);
        let (rounds, factor) = (4, 3);
        let arguments: &[&dyn ze_tests::Argument] =
            &[&[rounds, factor], &platform().buffer(&input), &out, &Local(4 * size as usize)];
        kernel.run_1d(n, size, arguments);
        let mut want = input.clone();
        for group in want.chunks_mut(size as usize) {
            for _ in 0..rounds {
                let before = group.to_vec();
                for (lid, v) in group.iter_mut().enumerate() {
                    *v = v.wrapping_mul(factor).wrapping_add(before[size as usize - 1 - lid]);
                }
            }
            group.iter_mut().for_each(|v| *v = v.wrapping_sub(factor));
        }
        assert_same(&format!("groups of {size}"), &out, &want);
    }
}

/// Runs a kernel that waits until the host changes its flags, which follow `started` in its arguments.
fn run_with_flags(kernel: &str, n: usize, size: u32, order: Option<&Buffer<u32>>) {
    let module = Module::named("regressions_memory");
    let kernel = module.kernel(kernel);
    let (started, flags, out) =
        (platform().filled(0u32, 1), platform().filled(0u32, n), platform().filled(7u32, n));
    let mut arguments: Vec<&dyn ze_tests::Argument> = vec![&started, &flags];
    arguments.extend(order.map(|order| order as &dyn ze_tests::Argument));
    arguments.push(&out);
    kernel.set_group_size([size, 1, 1]).expect("size");
    kernel.set_arguments(&arguments).expect("arguments");
    let list = CommandList::immediate(ListOptions::asynchronous()).expect("list");
    list.launch(&kernel, [1, 1, 1], None, &[]).expect("launch");
    let patience = Instant::now() + Duration::from_secs(30);
    // SAFETY: live allocations; the kernel accesses them at the same time, with volatile accesses as here.
    unsafe {
        while started.pointer().read_volatile() == 0 && Instant::now() < patience {
            std::thread::yield_now();
        }
        for at in 0..n {
            flags.pointer().add(at).write_volatile(1);
        }
    }
    list.synchronize(u64::MAX).expect("the kernel ends");
    assert_same(&format!("a group of {size}"), &out, &vec![1; n]);
}

#[test]
fn a_volatile_load_sees_what_the_host_writes() {
    run_with_flags("wait_for_host", 1, 1, None);
    for size in [16, 5] {
        run_with_flags("each_waits_for_host", size, size as u32, None);
        let order: Vec<u32> = (0..size as u32).map(|at| at * 3 % size as u32).collect();
        run_with_flags("each_waits_for_another", size, size as u32, Some(&platform().buffer(&order)));
    }
}

#[test]
fn a_local_variable_may_be_reached_through_a_phi() {
    let module = Module::named("regressions_local");
    let kernel = module.kernel("chosen");
    for s in [5u32, 6] {
        let out = platform().filled(0u32, 1);
        kernel.run_1d(1, 1, &[&out, &s]);
        assert_same("what was stored", &out, &[s]);
    }
}

#[test]
fn a_constant_expression_takes_no_local_memory() {
    let module = Module::named("regressions_local");
    for (kernel, want) in [("first", 5u32), ("second", 1)] {
        let out = platform().filled(0u32, 1);
        module.kernel(kernel).run_1d(1, 1, &[&out]);
        assert_same(kernel, &out, &[want]);
    }
}

#[test]
fn private_memory_may_be_read_across_its_elements() {
    let module = Module::named("regressions");
    let kernel = module.kernel("unaligned_private");
    for size in GROUPS {
        let n = 2 * size as usize;
        let input: Vec<u32> = (0..n as u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
        let out = platform().filled(0u32, n);
        kernel.run_1d(n, size, &[&platform().buffer(&input), &out]);
        let want: Vec<u32> = input.iter().map(|x| x >> 16 | 5 << 16).collect();
        assert_same(&format!("groups of {size}"), &out, &want);
    }
}

#[test]
fn copies_take_the_alignment_that_they_are_promised() {
    let data: Vec<u32> = (1..=20).collect();
    let input = platform().buffer(&data);
    for shift in 0..4usize {
        let out = platform().filled(0u32, 8);
        let (from, to) = (input.pointer() as u64 + 4 * shift as u64, out.pointer() as u64 + 4);
        Module::named("regressions").kernel("copy_unaligned").run_1d(1, 1, &[&from, &to]);
        let want: Vec<u32> =
            (0..8).map(|at| if (1..5).contains(&at) { data[shift + at - 1] } else { 0 }).collect();
        assert_same(&format!("a float4 at element {shift}"), &out, &want);
    }
    for shift in [0u64, 1, 4, 8] {
        let out = platform().filled(0u32, 8);
        let from = input.pointer() as u64 + shift;
        Module::named("regressions_copy").kernel("copy").run_1d(1, 1, &[&from, &out]);
        let bytes: Vec<u8> =
            data.iter().flat_map(|x| x.to_le_bytes()).skip(shift as usize).take(32).collect();
        let want: Vec<u32> = bytes
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
            .collect();
        assert_same(&format!("32 bytes at byte {shift}"), &out, &want);
    }
}

/// Pages at whose end memory ends.
struct Cliff {
    start: *mut u8,
    bytes: usize,
    page: usize,
}

impl Cliff {
    fn new(bytes: usize) -> Cliff {
        // SAFETY: a new mapping, whose last page is taken away.
        unsafe {
            let page = libc::sysconf(libc::_SC_PAGESIZE) as usize;
            let bytes = bytes.next_multiple_of(page);
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let start = libc::mmap(std::ptr::null_mut(), bytes + page, protection, flags, -1, 0);
            assert_ne!(start, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(start.byte_add(bytes), page, libc::PROT_NONE), 0);
            Cliff { start: start.cast(), bytes, page }
        }
    }

    /// The address of these values, which the memory ends behind.
    fn fill(&self, values: &[f32]) -> u64 {
        assert!(size_of_val(values) <= self.bytes);
        // SAFETY: the mapping has room for the values.
        unsafe {
            let at = self.start.add(self.bytes - size_of_val(values)).cast::<f32>();
            std::ptr::copy_nonoverlapping(values.as_ptr(), at, values.len());
            at as u64
        }
    }
}

impl Drop for Cliff {
    fn drop(&mut self) {
        // SAFETY: ours; no kernel uses it any more.
        unsafe { libc::munmap(self.start.cast(), self.bytes + self.page) };
    }
}

#[test]
fn nothing_is_read_behind_three_components_but_padding() {
    for (module, kernel) in [("regressions_memory", "three_of_four"), ("regressions", "inner_struct")] {
        let kernel = Module::named(module).kernel(kernel);
        for size in GROUPS {
            let n = 2 * size as usize;
            let input: Vec<f32> = (0..4 * n).map(|at| at as f32).collect();
            let (cliff, out) = (Cliff::new(16 * n), platform().filled(0f32, n));
            kernel.run_1d(n, size, &[&cliff.fill(&input), &out]);
            let want: Vec<f32> = input.chunks_exact(4).map(|v| v[1] + v[2] + v[3]).collect();
            assert_same(&format!("groups of {size}"), &out, &want);
        }
    }
}

#[test]
fn a_mask_of_all_64_bits_keeps_an_index() {
    let kernel = Module::named("regressions").kernel("all_bits");
    let input: Vec<u32> = (0..128).collect();
    let out = platform().filled(0u32, 128);
    kernel.run_1d(128, 64, &[&platform().buffer(&input), &out]);
    assert_same("a copy", &out, &input);
}

#[test]
fn lanes_that_are_off_do_not_show_in_reductions() {
    let module = Module::named("regressions_groups");
    for size in [1u32, 5, 16, 32, 37, 40] {
        let n = size as usize;
        let run = |kernel: &str, value: f32| -> Vec<u32> {
            let (input, out) = (platform().filled(value, n), platform().filled(0u32, 6 * n));
            module.kernel(kernel).run_1d(n, size, &[&input, &out]);
            out.to_vec()
        };
        let is_nan = |bits: u32| f32::from_bits(bits).is_nan();
        let zero = (-0.0f32).to_bits();
        for (at, result) in run("reductions", f32::NAN).chunks_exact(6).enumerate() {
            assert!(result.iter().all(|bits| is_nan(*bits)), "groups of {size}, {at}: {result:x?}");
        }
        for (at, result) in run("reductions", -0.0).chunks_exact(6).enumerate() {
            assert_eq!(result, [zero; 6], "groups of {size}, {at}");
        }
        for (at, result) in run("scans", f32::NAN).chunks_exact(6).enumerate() {
            assert!(result[..4].iter().all(|bits| is_nan(*bits)), "groups of {size}, {at}: {result:x?}");
            // Of nothing, the identity; of numbers that are none, none.
            let first = f32::from_bits(result[4]) == f32::INFINITY && f32::from_bits(result[5]) == 0.0;
            assert!(if at == 0 { first } else { is_nan(result[5]) }, "groups of {size}, {at}: {result:x?}");
        }
        for (at, result) in run("scans", -0.0).chunks_exact(6).enumerate() {
            assert_eq!(result[..4], [zero; 4], "groups of {size}, {at}");
        }
    }
}

#[test]
fn stacks_have_room_for_large_values_across_a_barrier() {
    const ELEMENTS: usize = 2560;
    let module = Module::named("regressions_stack");
    let kernel = module.kernel("windows");
    let size = 48usize;
    let n = size + ELEMENTS - 1;
    let a: Vec<f32> = (0..n).map(|at| at as f32).collect();
    let b: Vec<f32> = a.iter().map(|x| -2.0 * x).collect();
    let (to_a, to_b) = (platform().filled(0f32, n), platform().filled(0f32, n));
    kernel.run_1d(size, size as u32, &[&platform().buffer(&a), &platform().buffer(&b), &to_a, &to_b]);
    assert_same("the first array", &to_a, &a);
    assert_same("the second array", &to_b, &b);
}
