//! Damaged modules are rejected or built, and neither panics, hangs nor allocates absurdly.

mod mutate;

use mutate::{Random, check, check_linked, mutate, seeds};
use spirv_env::{Environment, ModuleInput, build};
use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use ze_extensions::DeviceProfile;

const MUTATIONS: usize = 4000;
const SEED: u64 = 0x5EED;
/// Test modules are below 1 MiB.
const MOST_MEMORY: usize = 256 << 20;
const MOST_TIME: Duration = Duration::from_secs(5);

/// Counts what is allocated.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: forwards to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller's promises about the layout are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: `pointer` came from `alloc` above, that is from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn damaged_modules_are_survived() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/kernels");
    let seeds = seeds(&folder);
    assert!(!seeds.is_empty(), "no modules in {}", folder.display());
    let profile = DeviceProfile::host();
    let env = Environment::new(&profile);
    let mut random = Random(SEED);
    let mut accepted = 0;
    for round in 0..MUTATIONS {
        let bytes = mutate(&mut random, &seeds[round % seeds.len()], &seeds[(round / 7) % seeds.len()]);
        let (before, start) = (NOW.load(Ordering::Relaxed), Instant::now());
        PEAK.store(before, Ordering::Relaxed);
        accepted += usize::from(check(&bytes, &env));
        check_linked(&[&bytes, &seeds[(round / 7) % seeds.len()]], &env);
        let (memory, time) = (PEAK.load(Ordering::Relaxed) - before, start.elapsed());
        assert!(memory < MOST_MEMORY, "round {round}: {memory} bytes");
        assert!(time < MOST_TIME, "round {round}: {time:?}");
    }
    // Damage that nothing notices would mean that nothing is looked at, and the other way round.
    assert!((MUTATIONS / 100..MUTATIONS * 9 / 10).contains(&accepted), "{accepted} of {MUTATIONS} accepted");
}

#[test]
fn every_prefix_is_survived() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/kernels");
    let smallest = seeds(&folder).into_iter().min_by_key(Vec::len).expect("a module");
    let profile = DeviceProfile::host();
    let env = Environment::new(&profile);
    for end in 0..smallest.len() {
        // A memory model alone is a module, too.
        let built = build(&[ModuleInput::new(&smallest[..end])], &env);
        assert!(built.is_err() || built.is_ok_and(|module| module.kernels.is_empty()), "{end} bytes");
    }
    assert!(build(&[ModuleInput::new(&smallest)], &env).is_ok());
}
