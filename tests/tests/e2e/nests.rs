//! Loops in loops over a private array, which become straight code: what they compute is what the loops say.

use ze_tests::{Argument, Module, Random, platform};

const SIZES: [(usize, u32); 4] = [(1, 1), (96, 16), (130, 13), (512, 128)];

#[test]
fn networks_sort() {
    let module = Module::named("nests");
    let mut random = Random::new(3);
    for (n, group) in SIZES {
        let numbers: Vec<i32> = (0..n * 16).map(|_| random.below(1000) as i32 - 500).collect();
        let (from, to) = (platform().buffer(&numbers), platform().filled(0i32, n * 16));
        let arguments: [&dyn Argument; 2] = [&from, &to];
        module.kernel("sort16").run_1d(n, group, &arguments);
        for (item, (found, numbers)) in to.chunks(16).zip(numbers.chunks(16)).enumerate() {
            let mut sorted = numbers.to_vec();
            sorted.sort_unstable();
            assert_eq!(found, sorted, "{n} work-items in groups of {group}: item {item}");
        }
    }
}

#[test]
fn triangles_are_those_of_the_loops() {
    let module = Module::named("nests");
    let mut random = Random::new(5);
    let place = |row: usize, column: usize| row * (row + 1) / 2 + column;
    for (n, group) in SIZES {
        let numbers: Vec<u32> = (0..n * 21).map(|_| random.below(1 << 16)).collect();
        let (from, to) = (platform().buffer(&numbers), platform().filled(0u32, n * 21));
        let arguments: [&dyn Argument; 2] = [&from, &to];
        module.kernel("triangle").run_1d(n, group, &arguments);
        for (item, found) in to.chunks(21).enumerate() {
            let mut a = numbers[item * 21..][..21].to_vec();
            let mut divided = 0u32;
            for row in (0..6).rev() {
                for column in 0..=row {
                    let mut sum = a[place(row, column)];
                    for k in column..row {
                        sum = sum.wrapping_add(a[place(row, k)].wrapping_mul(a[place(k, column)]));
                    }
                    if sum & 1 != 0 {
                        sum = u32::MAX / sum;
                        divided += row as u32;
                    } else if column > 0 && sum & 4 != 0 {
                        sum = a[row] % (sum | 3);
                    }
                    a[place(row, column)] = sum;
                }
            }
            let expected: Vec<u32> = a.iter().map(|number| number.wrapping_add(divided)).collect();
            assert_eq!(found, expected, "{n} work-items in groups of {group}: item {item}");
        }
    }
}

#[test]
fn passes_of_an_argument_go_through_straight_code() {
    let module = Module::named("nests");
    let mut random = Random::new(7);
    for (n, group) in SIZES {
        for passes in [0i32, 1, 3] {
            let numbers: Vec<f32> = (0..n * 8).map(|_| random.float(1.0, 2.0)).collect();
            let (from, to) = (platform().buffer(&numbers), platform().filled(0f32, n * 8));
            let arguments: [&dyn Argument; 3] = [&from, &to, &passes];
            module.kernel("pieces").run_1d(n, group, &arguments);
            for (item, found) in to.chunks(8).enumerate() {
                let mut v = numbers[item * 8..][..8].to_vec();
                for _ in 0..passes {
                    for from in (1..8).rev() {
                        for k in (from..8).step_by(from) {
                            if v[k] > v[k - from] {
                                v[k] = v[k - from].mul_add(0.5, v[k]);
                            } else {
                                v[k - from] = v[k] - 0.25 * v[from];
                            }
                        }
                    }
                }
                // Products by powers of two are exact, fused or not.
                assert_eq!(found, v, "{passes} passes, item {item} of {n}");
            }
        }
    }
}
