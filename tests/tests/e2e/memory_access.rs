//! Loads and stores of every width in every pattern.

use ze_tests::ulp::assert_same;
use ze_tests::{Local, Module, Random, platform};

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
