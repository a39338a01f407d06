//! Filters over images, the kernels of the benchmark: what they leave agrees with a reference in f64.

use ze_tests::bench::level_zero::LevelZero;
use ze_tests::bench::{check, images};

#[test]
fn filters_over_images_agree_with_a_reference() {
    for case in images::CASES {
        let case = case();
        check(&case, &LevelZero::driver()).unwrap_or_else(|what| panic!("{}: {what}", case.name));
    }
}
