//! How long it takes to find the allocation that an address is in.
//!
//! ```text
//! cargo run --release -p ze-core --example lookups [LIVE] [THREADS]
//! ```
//!
//! Ranges of one and two pages, as many as are asked for (a million), and threads (two) that look for addresses inside of any of
//! them; the median of the time of a look, which is measured for 16 at a time.

use std::sync::Arc;
use std::time::Instant;
use std::{env, thread};

use ze_core::allocations::{Range, RangeMap};

const PAGE: usize = 4096;
const BEGIN: usize = 0x7000_0000_0000;
const ROUNDS: usize = 20_000;
const TOGETHER: usize = 16;

/// As large as an allocation.
struct Block {
    base: usize,
    size: usize,
    _rest: [usize; 14],
}

impl Range for Block {
    fn base(&self) -> usize {
        self.base
    }

    fn size(&self) -> usize {
        self.size
    }
}

fn main() {
    let mut numbers = env::args().skip(1).map(|number| number.parse().expect("a number"));
    let live: usize = numbers.next().unwrap_or(1_000_000);
    let threads: usize = numbers.next().unwrap_or(2);
    let map = RangeMap::new();
    let start = Instant::now();
    for at in 0..live {
        let (base, size) = (BEGIN + 2 * PAGE * at, PAGE * (1 + at % 2));
        map.insert(Arc::new(Block { base, size, _rest: [0; 14] }));
    }
    println!("{live} live: {:.0} ns to add one", start.elapsed().as_nanos() as f64 / live as f64);
    let measure = &|mut random: u64, look: &dyn Fn(usize) -> bool| {
        let mut times = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            let addresses = [(); TOGETHER].map(|()| {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                BEGIN + 2 * PAGE * ((random >> 33) as usize % live) + (random >> 20) as usize % PAGE
            });
            let start = Instant::now();
            let found = addresses.iter().filter(|&&address| look(address)).count();
            times.push(start.elapsed().as_nanos() as f64 / TOGETHER as f64);
            assert_eq!(found, TOGETHER, "each address is in one of them");
        }
        times.sort_unstable_by(f64::total_cmp);
        (times[ROUNDS / 2], times[ROUNDS * 9 / 10])
    };
    let looks: [(&str, &(dyn Fn(usize) -> bool + Sync)); 2] = [
        ("for base and size", &|address| map.bounds(address).is_some()),
        ("for the range", &|address| map.with(address, |range| range.size).is_some()),
    ];
    for (what, look) in looks {
        let times = thread::scope(|scope| {
            let threads: Vec<_> =
                (0..threads).map(|thread| scope.spawn(move || measure(thread as u64, look))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Vec<_>>()
        });
        for (median, most) in times {
            println!("a look {what} takes {median:.0} ns, in nine of ten rounds at most {most:.0} ns");
        }
    }
}
