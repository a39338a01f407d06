//! Forks: a child has the memory of its parent and none of its threads.

use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

static GENERATION: AtomicU32 = AtomicU32::new(0);

extern "C" fn in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// Has forks counted from now on.
pub fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handler only adds to a number, which is allowed in a forked child.
        if unsafe { libc::pthread_atfork(None, None, Some(in_child)) } != 0 {
            tracing::warn!("no memory to watch for forks: children cannot use the queues of their parent");
        }
    });
}

/// How many forks are between the process that first called [`watch`] and this one. A thread that was started in another
/// generation does not exist.
pub fn generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}
