//! Floats that kernels add up by comparing and exchanging: every work-item's value is there once.

use crate::support::{address, launch, on_all_processors};
use ze_tests::Random;

const GROUPS: u32 = 20;
const GROUP: u32 = 128;

#[test]
fn sums_have_each_value_once() {
    on_all_processors("cas_loops", 2, |program, what| {
        let items = GROUPS * GROUP;
        let mut random = Random::new(3);
        // Some are for no bin; whole numbers are exact in any order.
        let bins: Vec<u32> = (0..items).map(|_| random.below(20)).collect();
        let values: Vec<f32> = (0..items).map(|_| random.below(100) as f32).collect();
        let sums = vec![0f32; 17];
        let args = [address(&bins), address(&values), address(&sums)];
        launch(program, "weights", [GROUPS, 1], [GROUP, 1], &args);
        let mut want = [0f32; 17];
        for (bin, value) in bins.iter().zip(&values) {
            want[16] += value;
            if *bin < 16 {
                want[*bin as usize] += value;
            }
        }
        assert_eq!(sums, want, "{what}");
    });
}

#[test]
fn who_adds_knows_what_was_there() {
    on_all_processors("cas_loops", 2, |program, what| {
        let items = (GROUPS * GROUP) as usize;
        let mut random = Random::new(4);
        let bins: Vec<u32> = (0..items).map(|_| random.below(7)).collect();
        let (sums, before) = (vec![0f64; 7], vec![-1f64; items]);
        let args = [address(&bins), address(&sums), address(&before)];
        launch(program, "places", [GROUPS, 1], [GROUP, 1], &args);
        for (bin, sum) in sums.iter().enumerate() {
            let of_bin = bins.iter().zip(&before).filter(|(of, _)| **of == bin as u32);
            let mut places: Vec<u64> = of_bin.map(|(_, before)| *before as u64).collect();
            places.sort_unstable();
            assert!(places.iter().copied().eq(0..*sum as u64), "{bin}: {what}");
        }
    });
}

#[test]
fn what_is_no_sum_is_exchanged() {
    on_all_processors("cas_loops", 2, |program, what| {
        let values = Random::new(5).floats((GROUPS * GROUP) as usize, 0.0, 1.0);
        let most = vec![0u32];
        launch(program, "largest", [GROUPS, 1], [GROUP, 1], &[address(&values), address(&most)]);
        let want = values.iter().copied().fold(0.0, f32::max);
        assert_eq!(f32::from_bits(most[0]), want, "{what}");
    });
}
