//! The inputs that the guided fuzzers kept (`ci/fuzz --guided`), each through its subject.

#[allow(dead_code, reason = "the fuzzers use all of it")]
mod mutate;
#[path = "../../fuzz/src/subjects.rs"]
#[allow(dead_code, reason = "the fuzzers use all of it")]
mod subjects;

use std::path::Path;
use std::time::{Duration, Instant};

/// What the fuzzers allow for one input, which here is of a few kilobytes.
const MOST_TIME: Duration = Duration::from_secs(10);

#[test]
fn inputs_of_the_fuzzers_are_survived() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus");
    for (name, subject) in subjects::SUBJECTS {
        let folder = std::fs::read_dir(corpus.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut paths: Vec<_> = folder.map(|entry| entry.expect("an entry").path()).collect();
        paths.sort();
        assert!(!paths.is_empty(), "no inputs of {name}");
        for path in paths {
            let input = std::fs::read(&path).expect("a file");
            let start = Instant::now();
            subject(&input);
            assert!(start.elapsed() < MOST_TIME, "{}: {:?}", path.display(), start.elapsed());
        }
    }
}
