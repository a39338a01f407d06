//! Loads and stores: every width in every pattern, volatile ones, alignments, and what lies at the end of memory.

use std::time::{Duration, Instant};

use ze_tests::ulp::assert_same;
use ze_tests::{Buffer, CommandList, ListOptions, Local, Module, Random, platform};

use crate::FEW_GROUP_SIZES;

/// A permutation of `0..n`.
fn permutation(random: &mut Random, n: usize) -> Vec<u32> {
    let mut all: Vec<u32> = (0..n as u32).collect();
    for i in (1..n).rev() {
        all.swap(i, random.below(i as u32 + 1) as usize);
    }
    all
}

macro_rules! patterns {
    ($($test:ident $type:ty, $name:literal;)*) => {$(
        #[test]
        fn $test() {
            let module = Module::named("memory_access");
            let kernel = module.kernel(concat!("access_", $name));
            for (n, group_size, stride) in
                [(1usize, 1u32, 0u32), (9, 8, 2), (100, 32, 3), (257, 16, 7), (1000, 64, 1), (333, 17, 5)]
            {
                let mut random = Random::new(n as u64);
                let input: Vec<$type> = (0..n).map(|_| random.next_u64() as $type).collect();
                let index = permutation(&mut random, n);
                let out = platform().filled(0 as $type, 8 * n);
                kernel.run_1d(n, group_size, &[
                    &platform().buffer(&input), &platform().buffer(&index), &out, &(n as u32), &stride,
                ]);
                let mut want = vec![0 as $type; 8 * n];
                for i in 0..n {
                    want[i] = input[i];
                    want[n + i] = input[n - 1 - i];
                    want[2 * n + i] = input[(i * stride as usize) % n];
                    want[3 * n + i] = input[stride as usize];
                    want[4 * n + i] = input[index[i] as usize];
                    want[5 * n + index[i] as usize] = input[i];
                    want[6 * n + i] = input[2 * (i / 2)];
                    if index[i] & 1 != 0 {
                        want[7 * n + i] = input[i];
                    }
                }
                assert_same(&format!("{n} items in groups of {group_size}, stride {stride}"), &out, &want);
            }
        }
    )*};
}
patterns! {
    char_access i8, "char";
    short_access i16, "short";
    int_access i32, "int";
    long_access i64, "long";
    float_access f32, "float";
    double_access f64, "double";
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Default)]
struct Point {
    position: [f32; 3],
    colour: [u8; 4],
}

#[test]
fn arrays_of_structures() {
    let module = Module::named("memory_access");
    for (n, size) in [(1usize, 1u32), (100, 32), (257, 17)] {
        let mut random = Random::new(n as u64);
        let input: Vec<Point> = (0..n)
            .map(|_| Point {
                position: std::array::from_fn(|_| random.float(-1.0, 1.0)),
                colour: random.next_u32().to_le_bytes(),
            })
            .collect();
        let out = platform().filled(Point::default(), n);
        module.kernel("structures").run_1d(n, size, &[&platform().buffer(&input), &out, &(n as u32)]);
        let want: Vec<Point> = input
            .iter()
            .map(|p| {
                let ([x, y, z], [r, g, b, a]) = (p.position, p.colour);
                Point { position: [z, x, y], colour: [a, r, g, b] }
            })
            .collect();
        assert_same(&format!("{n} items"), &out, &want);
    }
}

#[test]
fn packed_structures_are_misaligned() {
    const BYTES: usize = 15;
    let module = Module::named("memory_access");
    for (n, size) in [(1usize, 1u32), (100, 32), (257, 17)] {
        let mut random = Random::new(n as u64);
        let input: Vec<[u8; BYTES]> =
            (0..n).map(|_| std::array::from_fn(|_| random.next_u32() as u8)).collect();
        let out = platform().filled([0u8; BYTES], n);
        module.kernel("packed_structures").run_1d(n, size, &[&platform().buffer(&input), &out, &(n as u32)]);
        let want: Vec<[u8; BYTES]> = input
            .iter()
            .map(|p| {
                let word = u32::from_le_bytes(p[1..5].try_into().unwrap());
                let half = u16::from_le_bytes(p[5..7].try_into().unwrap());
                let wide = u64::from_le_bytes(p[7..15].try_into().unwrap());
                let mut q = [0; BYTES];
                q[0] = p[0].wrapping_add(1);
                q[1..5].copy_from_slice(&word.wrapping_mul(3).to_le_bytes());
                q[5..7].copy_from_slice(&(half ^ 0x5a5a).to_le_bytes());
                q[7..].copy_from_slice(&wide.wrapping_sub(u64::from(word)).to_le_bytes());
                q
            })
            .collect();
        assert_same(&format!("{n} items"), &out, &want);
    }
}

#[test]
fn pointers_kept_in_memory() {
    let module = Module::named("memory_access");
    let n = 200;
    let order = permutation(&mut Random::new(1), n);
    let mut links = platform().filled(0u64, n);
    let base = links.pointer();
    for (link, &target) in links.iter_mut().zip(&order) {
        *link = base.wrapping_add(target as usize) as u64;
    }
    let out = platform().filled(0u64, n);
    for steps in [0u32, 1, 13] {
        module.kernel("pointer_chase").run_1d(n, 50, &[&links, &out, &steps]);
        let want: Vec<u64> = (0..n).map(|i| (0..steps).fold(i, |at, _| order[at] as usize) as u64).collect();
        assert_same(&format!("{steps} steps"), &out, &want);
    }
}

#[test]
fn rows_with_an_odd_pitch() {
    let module = Module::named("memory_access");
    for (width, height, pitch, group) in
        [(1usize, 1usize, 1usize, [1, 1]), (37, 21, 41, [8, 4]), (64, 16, 67, [32, 2])]
    {
        let mut random = Random::new(pitch as u64);
        let input: Vec<u8> = (0..pitch * height).map(|_| random.next_u32() as u8).collect();
        let out = platform().filled(0u8, pitch * height);
        module.kernel("box_blur").run(
            [(width as u32).div_ceil(group[0]), (height as u32).div_ceil(group[1]), 1],
            [group[0], group[1], 1],
            &[&platform().buffer(&input), &out, &(width as u32), &(height as u32), &(pitch as u32)],
        );
        let mut want = vec![0u8; pitch * height];
        for y in 0..height {
            for x in 0..width {
                let near = |at: usize, limit: usize| at.saturating_sub(1)..(at + 2).min(limit);
                let cells: Vec<u32> = near(y, height)
                    .flat_map(|sy| near(x, width).map(move |sx| (sy, sx)))
                    .map(|(sy, sx)| u32::from(input[sy * pitch + sx]))
                    .collect();
                want[y * pitch + x] = (cells.iter().sum::<u32>() / cells.len() as u32) as u8;
            }
        }
        assert_same(&format!("{width}x{height}"), &out, &want);
    }
}

#[test]
fn local_memory_of_every_width() {
    macro_rules! check {
        ($module:expr, $name:literal, $type:ty) => {
            for (groups, size) in [(1usize, 1usize), (3, 8), (2, 33), (2, 100), (1, 256)] {
                let n = groups * size;
                let mut random = Random::new(n as u64);
                let input: Vec<$type> = (0..n).map(|_| random.next_u64() as $type).collect();
                let out = platform().filled(0 as $type, n);
                let scratch = Local(size_of::<$type>() * size);
                $module.kernel($name).run_1d(n, size as u32, &[&platform().buffer(&input), &out, &scratch]);
                let mut want = vec![0; n];
                for group in 0..groups {
                    let mut scratch = vec![0; size];
                    (0..size).for_each(|lid| scratch[(lid * 7 + 3) % size] = input[group * size + lid]);
                    (0..size).for_each(|lid| want[group * size + lid] = scratch[size - 1 - lid]);
                }
                assert_same(&format!("{}, {groups} groups of {size}", $name), &out, &want);
            }
        };
    }
    let module = Module::named("memory_access");
    check!(module, "local_char", i8);
    check!(module, "local_short", i16);
    check!(module, "local_int", i32);
    check!(module, "local_long", i64);
}

/// Runs a kernel that waits until the host changes its flags, which follow `started` in its arguments.
fn run_with_flags(kernel: &str, n: usize, size: u32, order: Option<&Buffer<u32>>) {
    let module = Module::named("memory_forms");
    let kernel = module.kernel(kernel);
    let (started, flags, out) =
        (platform().filled(0u32, 1), platform().filled(0u32, n), platform().filled(7u32, n));
    let mut arguments: Vec<&dyn ze_tests::Argument> = vec![&started, &flags];
    arguments.extend(order.map(|order| order as &dyn ze_tests::Argument));
    arguments.push(&out);
    kernel.set_group_size([size, 1, 1]).expect("size");
    kernel.set_arguments(&arguments).expect("arguments");
    let list = CommandList::immediate(ListOptions::asynchronous()).expect("list");
    // It has taken next to no time before, which is no reason to execute it in this thread: that has to change the flags.
    for set in [1, 1, 1, 0] {
        // SAFETY: live allocations that nobody accesses meanwhile.
        unsafe { (0..n).for_each(|at| flags.pointer().add(at).write_volatile(set)) };
        if set == 1 {
            list.launch(&kernel, [1, 1, 1], None, &[]).expect("launch");
            list.synchronize(u64::MAX).expect("the flags are set");
        }
    }
    // SAFETY: as above.
    unsafe { started.pointer().write_volatile(0) };
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
    let module = Module::named("local_variables");
    let kernel = module.kernel("chosen");
    for s in [5u32, 6] {
        let out = platform().filled(0u32, 1);
        kernel.run_1d(1, 1, &[&out, &s]);
        assert_same("what was stored", &out, &[s]);
    }
}

/// SYCL's `work_group_static` variables begin as zeros in the modules that its compiler makes.
#[test]
fn local_variables_that_begin_as_zeros_do_so_in_each_work_group() {
    let module = Module::named("local_variables");
    for size in [1u32, 7, 32, 100, 256] {
        let n = 9 * size as usize;
        let run = |kernel: &str| {
            let out = platform().filled(u32::MAX, n);
            module.kernel(kernel).run_1d(n, size, &[&out]);
            out.to_vec()
        };
        for mut group in run("tickets").chunks(size as usize).map(<[u32]>::to_vec) {
            group.sort_unstable();
            assert_same("tickets", &group, &(0..size).map(|at| 3 * at).collect::<Vec<_>>());
        }
        assert_same("counted", &run("counted"), &vec![size; n]);
        for kernel in ["left", "left_behind_a_constant"] {
            assert_same(&format!("{kernel} by the group before"), &run(kernel), &vec![0; n]);
        }
    }
}

/// Work-groups that go down columns are executed in several calls.
#[test]
fn local_variables_that_begin_as_zeros_do_so_in_columns() {
    const SIDE: usize = 256;
    let module = Module::named("local_variables");
    let input: Vec<u32> = (0..(SIDE * SIDE) as u32).map(|at| 8 * at).collect();
    let buffer = platform().buffer(&input);
    for size in [16, 64, 256, 5] {
        let out = platform().filled(0u32, SIDE * SIDE);
        let groups = SIDE as u32 / size;
        module.kernel("left_in_columns").run([groups, SIDE as u32, 1], [size, 1, 1], &[&out, &buffer]);
        let got = out.to_vec();
        for (x, y) in (0..(groups * size) as usize).flat_map(|x| (0..SIDE).map(move |y| (x, y))) {
            assert_eq!(got[x * SIDE + y], input[y * SIDE + x], "{x}, {y} in groups of {size}");
        }
    }
}

#[test]
fn a_constant_expression_takes_no_local_memory() {
    let module = Module::named("local_variables");
    for (kernel, want) in [("first", 5u32), ("second", 1)] {
        let out = platform().filled(0u32, 1);
        module.kernel(kernel).run_1d(1, 1, &[&out]);
        assert_same(kernel, &out, &[want]);
    }
}

#[test]
fn private_memory_may_be_read_across_its_elements() {
    let module = Module::named("access_forms");
    let kernel = module.kernel("unaligned_private");
    for size in FEW_GROUP_SIZES {
        let n = 2 * size as usize;
        let input: Vec<u32> = (0..n as u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
        let out = platform().filled(0u32, n);
        kernel.run_1d(n, size, &[&platform().buffer(&input), &out]);
        let want: Vec<u32> = input.iter().map(|x| x >> 16 | 5 << 16).collect();
        assert_same(&format!("groups of {size}"), &out, &want);
    }
}

/// The words that bytes are in memory.
fn words_of(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four"))).collect()
}

#[test]
fn copies_take_the_alignment_that_they_are_promised() {
    let data: Vec<u32> = (1..=20).collect();
    let input = platform().buffer(&data);
    for shift in 0..4usize {
        let out = platform().filled(0u32, 8);
        let (from, to) = (input.pointer() as u64 + 4 * shift as u64, out.pointer() as u64 + 4);
        Module::named("access_forms").kernel("copy_unaligned").run_1d(1, 1, &[&from, &to]);
        let want: Vec<u32> =
            (0..8).map(|at| if (1..5).contains(&at) { data[shift + at - 1] } else { 0 }).collect();
        assert_same(&format!("a float4 at element {shift}"), &out, &want);
    }
    for shift in [0u64, 1, 4, 8] {
        let out = platform().filled(0u32, 8);
        let from = input.pointer() as u64 + shift;
        Module::named("copy_alignment").kernel("copy").run_1d(1, 1, &[&from, &out]);
        let bytes: Vec<u8> =
            data.iter().flat_map(|x| x.to_le_bytes()).skip(shift as usize).take(32).collect();
        assert_same(&format!("32 bytes at byte {shift}"), &out, &words_of(&bytes));
    }
}

#[test]
fn copies_by_way_of_bytes_keep_what_they_carry() {
    const ITEMS: usize = 50;
    let data: Vec<u32> = (0..8 * ITEMS as u32).map(|at| at.wrapping_mul(0x9e37_79b9) >> 3).collect();
    let input = platform().buffer(&data);
    let rows = || data.chunks_exact(8);
    let module = Module::named("copies_by_bytes");

    let out = platform().filled(0u32, data.len());
    module.kernel("shift").run_1d(ITEMS, 25, &[&input, &out]);
    let shifted = rows().flat_map(|row| {
        let times = if row[0] % 2 == 1 { 5 } else { 7 };
        row[times..].iter().copied().chain(0..times as u32).collect::<Vec<u32>>()
    });
    assert_same("words that move on", &out, &shifted.collect::<Vec<u32>>());

    let out = platform().filled(0u32, data.len());
    module.kernel("pieces").run_1d(ITEMS, 25, &[&input, &out]);
    let pieces = rows().flat_map(|row| {
        let bytes: Vec<u8> = row.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut copied = [0; 32];
        copied[..12].copy_from_slice(&bytes[..12]);
        if row[0] % 2 == 1 {
            copied[12..29].copy_from_slice(&bytes[3..20]);
        }
        words_of(&copied)
    });
    assert_same("pieces", &out, &pieces.collect::<Vec<u32>>());
}

/// What the kernels of `private_views` make of a work-item's 16 bytes; `by` is 1 where offsets depend on the first word and it is odd.
fn seen_as_several_types(words: &[u32], by: usize) -> Vec<u32> {
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let at = words[0] as usize % 16;
    bytes[at] = bytes[at].wrapping_mul(2);
    let short = 2 * (3 + by);
    let value = u16::from_le_bytes([bytes[short], bytes[short + 1]]);
    bytes[short..short + 2].copy_from_slice(&value.wrapping_mul(value).to_le_bytes());
    let float = 4 * (2 + by);
    bytes[float..float + 4].iter_mut().for_each(|byte| *byte = !*byte);
    if words[0] % 2 == 1 {
        let long = 8 * by;
        let value = u64::from_le_bytes(bytes[long..long + 8].try_into().expect("eight"));
        bytes[long..long + 8].copy_from_slice(&value.wrapping_mul(7).to_le_bytes());
    }
    words_of(&bytes)
}

#[test]
fn private_objects_are_seen_as_several_types() {
    const ITEMS: usize = 70;
    let data: Vec<u32> = (0..4 * ITEMS as u32).map(|at| at.wrapping_mul(0x9e37_79b9) >> 5).collect();
    let input = platform().buffer(&data);
    let module = Module::named("private_views");
    for (kernel, varies) in [("known", false), ("found", true)] {
        let out = platform().filled(0u32, data.len());
        module.kernel(kernel).run_1d(ITEMS, 35, &[&input, &out]);
        let of = |words: &[u32]| seen_as_several_types(words, usize::from(varies && words[0] % 2 == 1));
        assert_same(kernel, &out, &data.chunks_exact(4).flat_map(of).collect::<Vec<_>>());
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
    fn fill<T: Copy>(&self, values: &[T]) -> u64 {
        assert!(size_of_val(values) <= self.bytes);
        // SAFETY: the mapping has room for the values.
        unsafe {
            let at = self.start.add(self.bytes - size_of_val(values));
            std::ptr::copy_nonoverlapping(values.as_ptr().cast::<u8>(), at, size_of_val(values));
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
    for (module, kernel) in [("memory_forms", "three_of_four"), ("access_forms", "inner_struct")] {
        let kernel = Module::named(module).kernel(kernel);
        for size in FEW_GROUP_SIZES {
            let n = 2 * size as usize;
            let input: Vec<f32> = (0..4 * n).map(|at| at as f32).collect();
            let (cliff, out) = (Cliff::new(16 * n), platform().filled(0f32, n));
            kernel.run_1d(n, size, &[&cliff.fill(&input), &out]);
            let want: Vec<f32> = input.chunks_exact(4).map(|v| v[1] + v[2] + v[3]).collect();
            assert_same(&format!("groups of {size}"), &out, &want);
        }
    }
}

/// Kernels that read small members: the bytes of a structure, and which of them they read.
const MEMBERS: [(&str, usize, &[usize]); 5] = [
    ("three_bytes_of_four", 4, &[0, 1, 2]),
    ("middle_bytes_of_four", 4, &[1, 2]),
    ("first_byte_of_eight", 8, &[0]),
    ("three_shorts_of_four", 8, &[0, 1, 2, 3, 4, 5]),
    ("second_short_of_two", 4, &[2, 3]),
];

#[test]
fn nothing_is_read_behind_the_last_of_small_members() {
    for (kernel, bytes, members) in MEMBERS {
        let kernel = Module::named("memory_forms").kernel(kernel);
        for size in FEW_GROUP_SIZES {
            let n = 2 * size as usize;
            let all: Vec<u8> = (0..bytes * n).map(|at| (at * 37 + at / 256) as u8).collect();
            let joined = |at: usize| {
                let of = |value: u64, member: &usize| value << 8 | u64::from(all[bytes * at + member]);
                members.iter().fold(0, of)
            };
            // Memory ends behind the last member of the last work-item that reads.
            for on in [n, n - 1, n / 2 + 1, 1] {
                let cliff = Cliff::new(all.len());
                let end = bytes * (on - 1) + members[members.len() - 1] + 1;
                let (out, count) = (platform().filled(1u64, n), on as u32);
                kernel.run_1d(n, size, &[&cliff.fill(&all[..end]), &out, &count]);
                let want: Vec<u64> = (0..n).map(|at| if at < on { joined(at) } else { 1 }).collect();
                assert_same(&format!("{on} in groups of {size}"), &out, &want);
            }
        }
    }
}

#[test]
fn a_mask_of_all_64_bits_keeps_an_index() {
    let kernel = Module::named("access_forms").kernel("all_bits");
    let input: Vec<u32> = (0..128).collect();
    let out = platform().filled(0u32, 128);
    kernel.run_1d(128, 64, &[&platform().buffer(&input), &out]);
    assert_same("a copy", &out, &input);
}

#[test]
fn loops_count_in_types_narrower_than_indices() {
    const ITEMS: usize = 500;
    let module = Module::named("narrow_counters");
    let mut random = Random::new(77);
    let input: Vec<i32> = (0..ITEMS * 300 + 512).map(|_| random.next_u32() as i32 >> 8).collect();
    let buffer = platform().buffer(&input);
    for (n8, n16, s8, s16) in
        [(0u8, 0u16, 0i8, 0i16), (3, 17, 3, 40), (255, 100, 127, 30), (16, 300, -5, -4), (64, 64, 20, 300)]
    {
        let out = platform().filled(0i32, ITEMS);
        module.kernel("sums").run_1d(ITEMS, 25, &[&buffer, &out, &n8, &n16, &s8, &s16]);
        let sum_of = |g: usize| {
            let mut sum = 0i32;
            let at = |place: usize| input[place];
            (0..usize::from(n16)).for_each(|i| sum = sum.wrapping_add(at(g * usize::from(n16) + i)));
            (0..usize::from(n8)).for_each(|i| sum ^= at(g * 7 + i).wrapping_mul(3));
            (1..s16.max(1)).for_each(|i| {
                sum = sum.wrapping_add(at(g + i as usize).wrapping_mul(i.into()));
            });
            (2..s8.max(2)).for_each(|i| sum = sum.wrapping_sub(at(g * 5 + i as usize)));
            (250..=255).chain(0..5).for_each(|i| sum = sum.wrapping_add(at(i).wrapping_mul(5)));
            (65_530..=65_535).chain(0..3).for_each(|i| sum = sum.wrapping_add(i));
            (120..=127).for_each(|i| sum ^= at(g + i));
            sum
        };
        let want: Vec<i32> = (0..ITEMS).map(sum_of).collect();
        assert_same(&format!("{n8}, {n16}, {s8}, {s16}"), &out, &want);
    }
    for length in [1u16, 15, 16, 100, 256] {
        let letters = b"ab,\" ,xyz";
        let text: Vec<u8> =
            (0..ITEMS * usize::from(length)).map(|_| letters[random.below(9) as usize]).collect();
        let out = platform().filled(0u16, ITEMS);
        module.kernel("fields").run_1d(ITEMS, 50, &[&platform().buffer(&text), &out, &length]);
        let fields_of = |row: &[u8]| {
            let mut quoted = false;
            1 + row
                .iter()
                .filter(|c| {
                    quoted ^= **c == b'"';
                    **c == b',' && !quoted
                })
                .count() as u16
        };
        let want: Vec<u16> = text.chunks_exact(length.into()).map(fields_of).collect();
        assert_same(&format!("rows of {length}"), &out, &want);
    }
}

#[test]
fn small_numbers_are_widened_for_all_lanes() {
    let module = Module::named("narrow_counters");
    let mut random = Random::new(78);
    for (columns, rows, n) in [(32usize, 4usize, 16usize), (48, 8, 37), (64, 16, 128), (16, 3, 3)] {
        let a: Vec<i8> = (0..rows * n).map(|_| random.next_u32() as i8).collect();
        let b: Vec<i16> = (0..n * columns).map(|_| random.next_u32() as i16).collect();
        let out = platform().filled(0i32, rows * columns);
        module.kernel("product").run(
            [columns as u32 / 16, rows as u32, 1],
            [16, 1, 1],
            &[&platform().buffer(&a), &platform().buffer(&b), &out, &(n as i32)],
        );
        let sum_of = |at: usize| {
            let (x, y) = (at % columns, at / columns);
            (0..n).map(|k| i32::from(a[y * n + k]) * i32::from(b[k * columns + x])).sum::<i32>()
        };
        let want: Vec<i32> = (0..rows * columns).map(sum_of).collect();
        assert_same(&format!("{rows}x{n} by {n}x{columns}"), &out, &want);
    }
}

#[test]
fn what_clang_makes_of_plain_loops_is_read() {
    const SIDE: usize = 64;
    let module = Module::named("narrow_counters");
    let mut random = Random::new(79);
    let words: Vec<u32> = (0..SIDE * SIDE).map(|_| random.next_u32()).collect();
    let input = platform().buffer(&words);
    let out = platform().filled(0u32, words.len());
    module.kernel("reversed").run_1d(words.len(), 64, &[&input, &out]);
    assert_same("bits in reverse", &out, &words.iter().map(|word| word.reverse_bits()).collect::<Vec<_>>());
    module.kernel("running").run_1d(words.len(), 64, &[&input, &out]);
    let running = words.chunks_exact(64).flat_map(|group| {
        group.iter().scan(0u32, |sum, word| {
            *sum = sum.wrapping_add(*word);
            Some(*sum)
        })
    });
    assert_same("running sums", &out, &running.collect::<Vec<_>>());

    let cells: Vec<u8> = words.iter().map(|word| u8::from(*word % 3 == 0)).collect();
    let out = platform().filled(9u8, cells.len());
    module.kernel("life").run(
        [SIDE as u32 / 16, SIDE as u32 / 4, 1],
        [16, 4, 1],
        &[&platform().buffer(&cells), &out, &(SIDE as i32), &(SIDE as i32)],
    );
    let lives = |at: usize| {
        let around = (0..9).filter(|of| *of != 4).map(|of| {
            let (x, y) = (at % SIDE + of % 3 + SIDE - 1, at / SIDE + of / 3 + SIDE - 1);
            cells[y % SIDE * SIDE + x % SIDE]
        });
        let count: u8 = around.sum();
        u8::from(count == 3 || count == 2 && cells[at] == 1)
    };
    assert_same("life", &out, &(0..cells.len()).map(lives).collect::<Vec<_>>());
}
