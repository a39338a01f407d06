//! Loops that load what the iteration before stored: they compute what they would one iteration and one work-item after the other.

use ze_tests::{Module, Random, platform};

/// Work-items, and those of a work-group.
const SIZES: [(usize, u32); 3] = [(1, 1), (77, 7), (256, 64)];
/// Numbers of a row.
const LENGTHS: [usize; 4] = [2, 3, 17, 130];

fn numbers(random: &mut Random, count: usize) -> Vec<u32> {
    (0..count).map(|_| random.below(1 << 20)).collect()
}

/// Calls `with` for all work-items, those of a work-group, and numbers of a row.
fn of_each_size(mut with: impl FnMut(usize, u32, usize)) {
    for (items, group) in SIZES {
        LENGTHS.into_iter().for_each(|n| with(items, group, n));
    }
}

/// Runs a kernel on rows and compares them with what a function makes of them, one after the other.
fn compare(kernel: &str, own: impl Fn(&mut [u32], usize)) {
    let module = Module::named("handed_on");
    let mut random = Random::new(11);
    of_each_size(|items, group, n| {
        let mut wanted = numbers(&mut random, items * n);
        let memory = platform().buffer(&wanted);
        module.kernel(kernel).run_1d(items, group, &[&memory, &(n as i32)]);
        wanted.chunks_mut(n).for_each(|row| own(row, n));
        assert_eq!(&memory[..], wanted, "{kernel}: {items} work-items in groups of {group}, rows of {n}");
    });
}

#[test]
fn running_sums() {
    compare("sums", |row, n| (1..n).for_each(|j| row[j] = row[j].wrapping_add(row[j - 1])));
}

#[test]
fn sums_down_columns() {
    let module = Module::named("handed_on");
    let mut random = Random::new(13);
    of_each_size(|items, group, n| {
        let mut wanted = numbers(&mut random, items * n);
        let memory = platform().buffer(&wanted);
        module.kernel("columns").run_1d(items, group, &[&memory, &(n as u32)]);
        for j in (0..n - 1).rev() {
            for i in 0..items {
                let below = wanted[(j + 1) * items + i].wrapping_mul(3);
                wanted[j * items + i] = wanted[j * items + i].wrapping_add(below);
            }
        }
        assert_eq!(&memory[..], wanted, "{items} work-items in groups of {group}, {n} rows");
    });
}

#[test]
fn recurrences_of_second_order() {
    let module = Module::named("handed_on");
    let mut random = Random::new(17);
    of_each_size(|items, group, n| {
        let x = numbers(&mut random, items * n);
        let (from, to) = (platform().buffer(&x), platform().filled(0u32, items * n));
        module.kernel("second_order").run_1d(items, group, &[&from, &to, &(n as i32)]);
        let mut wanted = x.clone();
        for row in wanted.chunks_mut(n) {
            for j in 2..n {
                row[j] = (row[j - 2] ^ row[j - 1].wrapping_mul(5)).wrapping_add(row[j]);
            }
        }
        assert_eq!(&to[..], wanted, "{items} work-items in groups of {group}, rows of {n}");
    });
}

#[test]
fn arrays_that_overlap() {
    for apart in [0i32, 1, -1, 2, -2, 5] {
        let own = |row: &mut [u32], n: usize| {
            for j in 1..n {
                let [a, b] = [n + j, (n + j).wrapping_add_signed(apart as isize)];
                row[a] = row[a - 1].wrapping_mul(7).wrapping_add(row[b]);
                row[b] = row[a] ^ row[b - 1];
            }
        };
        // Room for what lies beyond the row.
        let module = Module::named("handed_on");
        let mut random = Random::new(19);
        for (items, group) in SIZES {
            for n in [8usize, 17, 130] {
                let mut wanted = numbers(&mut random, items * 4 * n);
                let memory = platform().buffer(&wanted);
                module.kernel("overlapping").run_1d(items, group, &[&memory, &apart, &(n as i32)]);
                wanted.chunks_mut(4 * n).for_each(|row| own(row, n));
                assert_eq!(
                    &memory[..],
                    wanted,
                    "{items} work-items in groups of {group}, rows of {n}, {apart} apart"
                );
            }
        }
    }
}

#[test]
fn stores_of_some_iterations() {
    let module = Module::named("handed_on");
    let mut random = Random::new(23);
    of_each_size(|items, group, n| {
        let [mut x, mut y] = [0, 1].map(|_| numbers(&mut random, items * n));
        let [of_x, of_y] = [&x, &y].map(|from| platform().buffer(from));
        module.kernel("sometimes").run_1d(items, group, &[&of_x, &of_y, &(n as i32)]);
        for (x, y) in x.chunks_mut(n).zip(y.chunks_mut(n)) {
            for j in 1..n {
                let (before, now, last) = (x[j - 1], x[j], y[j - 1]);
                if now & 1 != 0 {
                    x[j] = before.wrapping_add(now);
                }
                y[j] = match now & 2 {
                    0 => last.wrapping_mul(3).wrapping_add(before),
                    _ => last.wrapping_sub(now),
                };
            }
        }
        assert_eq!(&of_x[..], x, "{items} work-items in groups of {group}, rows of {n}");
        assert_eq!(&of_y[..], y, "{items} work-items in groups of {group}, rows of {n}");
    });
}

#[test]
fn sums_in_memory() {
    let module = Module::named("handed_on");
    let mut random = Random::new(29);
    of_each_size(|items, group, n| {
        let (mut sums, mut x) = (numbers(&mut random, items), numbers(&mut random, items * n));
        let [of_sums, of_x] = [&sums, &x].map(|from| platform().buffer(from));
        module.kernel("in_memory").run_1d(items, group, &[&of_sums, &of_x, &(n as i32)]);
        for (sum, x) in sums.iter_mut().zip(x.chunks_mut(n)) {
            for number in x {
                *sum = sum.wrapping_add(*number);
                *number = *sum >> 1;
            }
        }
        assert_eq!(&of_sums[..], sums, "{items} work-items in groups of {group}, rows of {n}");
        assert_eq!(&of_x[..], x, "{items} work-items in groups of {group}, rows of {n}");
    });
}

#[test]
fn pointers_that_count() {
    let own = |row: &mut [u32], n: usize| {
        let mut p = 2;
        while p + 1 < n {
            row[p] = row[p].wrapping_add(row[p - 2]);
            row[p + 1] ^= row[p - 1].wrapping_add(row[p - 2]);
            if row[p + 1] % 61 == 7 {
                break;
            }
            p += 2;
        }
    };
    compare("by_pointers", own);
}

#[test]
fn indices_that_wrap_around() {
    let module = Module::named("handed_on");
    let mut random = Random::new(31);
    for (items, group) in SIZES {
        for (first, n) in [(0u8, 100i32), (200, 56), (250, 300), (255, 2)] {
            let mut wanted = numbers(&mut random, items * 256);
            let memory = platform().buffer(&wanted);
            module.kernel("short_indices").run_1d(items, group, &[&memory, &first, &n]);
            for row in wanted.chunks_mut(256) {
                for k in 0..n {
                    let j = first.wrapping_add(k as u8);
                    let add = row[j as usize].wrapping_mul(3);
                    let to = &mut row[j.wrapping_add(1) as usize];
                    *to = to.wrapping_add(add);
                }
            }
            assert_eq!(&memory[..], wanted, "{items} work-items in groups of {group}, {n} from {first}");
        }
    }
}

#[test]
fn rows_of_local_memory() {
    let module = Module::named("handed_on");
    let mut random = Random::new(37);
    of_each_size(|items, group, n| {
        let mut wanted = numbers(&mut random, items * n);
        let memory = platform().buffer(&wanted);
        let rows = ze_tests::Local(4 * n * group as usize);
        module.kernel("local_rows").run_1d(items, group, &[&memory, &(n as i32), &rows]);
        for row in wanted.chunks_mut(n) {
            for j in 3..n {
                row[j] = row[j].wrapping_add(row[j - 1].wrapping_mul(row[j - 3]));
            }
        }
        assert_eq!(&memory[..], wanted, "{items} work-items in groups of {group}, rows of {n}");
    });
}

#[test]
fn numbers_and_their_words() {
    let module = Module::named("handed_on");
    let mut random = Random::new(41);
    of_each_size(|items, group, n| {
        let mut wanted: Vec<u64> =
            (0..items * n).map(|_| u64::from(random.below(u32::MAX)) << 20 | 77).collect();
        let memory = platform().buffer(&wanted);
        module.kernel("words").run_1d(items, group, &[&memory, &(n as i32)]);
        for row in wanted.chunks_mut(n) {
            for j in 1..n {
                row[j] = row[j].wrapping_add(row[j - 1] ^ (row[j - 1] & 0xffff_ffff));
            }
        }
        assert_eq!(&memory[..], wanted, "{items} work-items in groups of {group}, rows of {n}");
    });
}
