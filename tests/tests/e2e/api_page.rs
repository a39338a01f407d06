//! `docs/api.md`, and that a test covers each function that claims to be implemented.

use std::path::Path;

use ze_tests::api_page::{Sources, implemented, page};

#[test]
fn the_page_of_functions_is_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let covered = Sources::read(folder).expect("the sources of the tests").coverage();
    let implemented = implemented(folder).expect("the driver's list");
    let path = folder.join("../docs/api.md");
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let (page, faults) = page(|name| implemented.contains(&name), &covered, &text);
    if std::env::var_os("ZE_TEST_WRITE_PAGES").is_some() {
        std::fs::write(&path, &page).expect("the page is written");
    }
    assert!(faults.is_empty(), "{faults:#?}");
    assert!(text == page, "docs/api.md is not current: run this test with ZE_TEST_WRITE_PAGES=1");
}
