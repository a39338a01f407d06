//! Filters over images, the kernels of the benchmark: what they leave agrees with a reference in f64.

use ze_tests::bench::level_zero::LevelZero;
use ze_tests::bench::{Backend, images};

#[test]
fn filters_over_images_agree_with_a_reference() {
    for case in images::CASES {
        let case = case();
        let (kernel, _) = LevelZero.prepare(&case).unwrap();
        kernel.launch().unwrap();
        (case.verify)(&kernel.buffers()).unwrap_or_else(|what| panic!("{}: {what}", case.name));
    }
}
