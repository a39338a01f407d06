//! Cases that go through memory in order: streaming, sums, histograms, searches.

use super::{all_equal, bytes, numbers, sample, value};
use crate::Random;
use crate::bench::{Arg, Case, Limit, Verify, native};

pub fn empty() -> Case {
    Case::new("empty kernel", "empty", vec![], Box::new(|_| Ok(()))).launch(
        "empty",
        [1, 1, 1],
        [1, 1, 1],
        vec![],
    )
}

pub fn saxpy() -> Case {
    let n = 16 << 20;
    let mut random = Random::new(1);
    let (x, y) = (random.floats(n, -1.0, 1.0), random.floats(n, -1.0, 1.0));
    let buffers = vec![bytes(&x), bytes(&y)];
    let verify: Verify = Box::new(move |buffers| {
        sample(numbers(buffers[1]), 10_000, 1e-6, |i| 2.5 * f64::from(x[i]) + f64::from(y[i]))
    });
    Case::new("SAXPY", "saxpy", buffers, verify)
        .launch_over("saxpy", n, 256, vec![value(2.5f32), Arg::Buffer(0), Arg::Buffer(1), value(n as u32)])
        .limit(Limit::Memory { read: 4 * n, update: 4 * n, write: 0 })
}

pub fn saxpy_int() -> Case {
    saxpy().by("SAXPY, int", "int_indices", "saxpy_int")
}

pub fn reduction() -> Case {
    let (n, groups) = (16usize << 20, 64);
    let input = Random::new(5).floats(n, 0.0, 1.0);
    let buffers = vec![bytes(&input), vec![0; 4 * groups]];
    let want: f64 = input.iter().map(|&v| f64::from(v)).sum();
    let verify: Verify = Box::new(move |buffers| {
        let got: f64 = numbers::<f32>(buffers[1]).iter().map(|&v| f64::from(v)).sum();
        if (got - want).abs() < 1e-4 * want { Ok(()) } else { Err(format!("the sum is {got}, not {want}")) }
    });
    Case::new("reduction", "reduction", buffers, verify)
        .launch(
            "reduce_float",
            [groups as u32, 1, 1],
            [256, 1, 1],
            vec![Arg::Buffer(0), Arg::Buffer(1), Arg::Local(4 * 256), value(n as u32)],
        )
        .limit(Limit::Memory { read: 4 * n, update: 0, write: 0 })
}

pub fn reduction_int() -> Case {
    reduction().by("reduction, int", "int_indices", "reduce_int")
}

pub fn histogram() -> Case {
    let n = 16 << 20;
    let mut random = Random::new(6);
    let input: Vec<u8> = (0..n / 8).flat_map(|_| random.next_u64().to_le_bytes()).collect();
    let mut want = vec![0u32; 256];
    input.iter().for_each(|&byte| want[usize::from(byte)] += 1);
    Case::new(
        "histogram",
        "histogram",
        vec![input, vec![0; 4 * 256]],
        Box::new(move |buffers| all_equal(numbers(buffers[1]), &want)),
    )
    .launch("histogram", [64, 1, 1], [256, 1, 1], vec![Arg::Buffer(0), Arg::Buffer(1), value(n as u32)])
    .limit(Limit::Loop(native::histogram()))
}

pub fn histogram_int() -> Case {
    histogram().by("histogram, int", "int_indices", "histogram_int")
}

/// Two members of structures of four.
pub fn members() -> Case {
    let n = 2 << 20;
    let mut random = Random::new(12);
    let (vx, vy) = (random.floats(n, -1.0, 1.0), random.floats(n, -1.0, 1.0));
    let buffers = vec![vec![0; 16 * n], bytes(&vx), bytes(&vy)];
    let verify: Verify = Box::new(move |buffers| {
        sample(numbers(buffers[0]), 10_000, 1e-6, |i| match i % 4 {
            0 => 0.5 * f64::from(vx[i / 4]),
            1 => 0.5 * f64::from(vy[i / 4]),
            _ => 0.0,
        })
    });
    Case::new("members of structures", "int_indices", buffers, verify)
        .launch_over(
            "drift",
            n,
            256,
            vec![Arg::Buffer(0), Arg::Buffer(1), Arg::Buffer(2), value(0.5f32), value(n as i32)],
        )
        .int()
        .limit(Limit::Memory { read: 8 * n, update: 16 * n, write: 0 })
}

pub fn triad() -> Case {
    let n = 8 << 20;
    let mut random = Random::new(20);
    let mut doubles = || (0..n).map(|_| f64::from(random.float(-1.0, 1.0))).collect::<Vec<f64>>();
    let (b, c) = (doubles(), doubles());
    let buffers = vec![vec![0; 8 * n], bytes(&b), bytes(&c)];
    let verify: Verify = Box::new(move |buffers| {
        let a: &[f64] = numbers(buffers[0]);
        match (0..n).find(|&i| (a[i] - (b[i] + 3.0 * c[i])).abs() > 1e-12) {
            None => Ok(()),
            Some(i) => Err(format!("element {i} is {}", a[i])),
        }
    });
    let args = vec![Arg::Buffer(0), Arg::Buffer(1), Arg::Buffer(2), value(3.0f64), value(n as i32)];
    Case::new("triad, f64", "bench_streams", buffers, verify)
        .launch_over("triad", n, 256, args)
        .int()
        .limit(Limit::Memory { read: 16 * n, update: 0, write: 8 * n })
}

/// How far particles move in a launch.
const STEP: f32 = 0.25;

/// All members of structures of six.
pub fn structures() -> Case {
    let n = 2 << 20;
    // Positions begin at 0 and speeds are small, so that however many launches stay exact enough.
    let speeds = Random::new(21).floats(3 * n, -1.0, 1.0);
    let particles: Vec<f32> =
        speeds.chunks(3).flat_map(|v| [0.0, 0.0, 0.0].into_iter().chain(v.iter().copied())).collect();
    let verify: Verify = Box::new(move |buffers| {
        sample(numbers(buffers[0]), 10_000, 1e-6, |i| {
            let (particle, member) = (i / 6, i % 6);
            let speed = f64::from(speeds[3 * particle + member % 3]);
            if member < 3 { f64::from(STEP) * speed } else { speed }
        })
    });
    let args = vec![Arg::Buffer(0), value(STEP), value(n as i32)];
    Case::new("array of structures", "bench_streams", vec![bytes(&particles)], verify)
        .launch_over("move_aos", n, 256, args)
        .int()
        .limit(Limit::Memory { read: 0, update: 24 * n, write: 0 })
}

pub fn arrays() -> Case {
    let n = 2 << 20;
    let speeds = [22, 23, 24].map(|seed| Random::new(seed).floats(n, -1.0, 1.0));
    let mut buffers = vec![vec![0; 4 * n]; 3];
    buffers.extend(speeds.iter().map(|speeds| bytes(speeds)));
    let verify: Verify = Box::new(move |buffers| {
        (0..3).try_for_each(|axis| {
            sample(numbers(buffers[axis]), 5000, 1e-6, |i| f64::from(STEP) * f64::from(speeds[axis][i]))
        })
    });
    let mut args: Vec<Arg> = (0..6).map(Arg::Buffer).collect();
    args.extend([value(STEP), value(n as i32)]);
    Case::new("structure of arrays", "bench_streams", buffers, verify)
        .launch_over("move_soa", n, 256, args)
        .int()
        .limit(Limit::Memory { read: 12 * n, update: 12 * n, write: 0 })
}

/// Prefix sums in three launches.
pub fn scan() -> Case {
    let n = 4usize << 20;
    let groups = n / 256;
    let mut random = Random::new(25);
    let input: Vec<u32> = (0..n).map(|_| random.below(100)).collect();
    let buffers = vec![bytes(&input), vec![0; 4 * n], vec![0; 4 * groups]];
    let verify: Verify = Box::new(move |buffers| {
        let mut sum = 0;
        let want: Vec<u32> = input
            .iter()
            .map(|&v| {
                sum += v;
                sum
            })
            .collect();
        all_equal(numbers(buffers[1]), &want)
    });
    let (grid, group) = ([groups as u32, 1, 1], [256, 1, 1]);
    let (local, count) = (Arg::Local(4 * 256), value(n as u32));
    Case::new("scan", "prefix_sum", buffers, verify)
        .launch(
            "scan_groups",
            grid,
            group,
            vec![Arg::Buffer(0), Arg::Buffer(1), Arg::Buffer(2), local, count],
        )
        .launch("scan_totals", [1, 1, 1], [1, 1, 1], vec![Arg::Buffer(2), value(groups as u32)])
        .launch("add_totals", grid, group, vec![Arg::Buffer(1), Arg::Buffer(2), value(n as u32)])
        .limit(Limit::Memory { read: 4 * n, update: 0, write: 4 * n })
}

/// Looks for four bytes. The count grows with each launch: only the first one's is checked.
fn searching(name: &'static str, n: usize) -> Case {
    let mut random = Random::new(26);
    let text: Vec<u8> = (0..n).map(|_| b'a' + random.below(8) as u8).collect();
    let word = *b"abba";
    let want = text.windows(4).filter(|window| **window == word).count() as i32;
    Case::new(
        name,
        "bench_streams",
        vec![text, vec![0; 4]],
        Box::new(move |buffers| all_equal(numbers(buffers[1]), &[want])),
    )
    .int()
    .limit(Limit::Memory { read: n, update: 0, write: 0 })
}

pub fn search() -> Case {
    let (n, piece) = (16usize << 20, 256);
    let mut args = vec![Arg::Buffer(0), Arg::Buffer(1), value(n as i32), value(piece as i32)];
    args.extend(b"abba".map(value));
    searching("byte search, a piece each", n).launch(
        "search",
        [(n / piece / 64) as u32, 1, 1],
        [64, 1, 1],
        args,
    )
}

pub fn search_each() -> Case {
    let n = 16usize << 20;
    let mut args = vec![Arg::Buffer(0), Arg::Buffer(1), value(n as i32)];
    args.extend(b"abba".map(value));
    searching("byte search, a byte each", n).launch_over("search_each", n, 256, args)
}

/// Work-groups of four.
pub fn tiny_groups() -> Case {
    let n = 1usize << 20;
    let mut random = Random::new(1);
    let (x, y) = (random.floats(n, -1.0, 1.0), random.floats(n, -1.0, 1.0));
    let buffers = vec![bytes(&x), bytes(&y)];
    let verify: Verify = Box::new(move |buffers| {
        sample(numbers(buffers[1]), 10_000, 1e-6, |i| 2.5 * f64::from(x[i]) + f64::from(y[i]))
    });
    let args = vec![value(2.5f32), Arg::Buffer(0), Arg::Buffer(1), value(n as u32)];
    Case::new("SAXPY, groups of 4", "int_indices", buffers, verify).launch_over("saxpy_int", n, 4, args).int()
}
