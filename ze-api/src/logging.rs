//! Where log lines go: to standard error, filtered by `ZE_CPU_LOG`.

use std::io::{IsTerminal, stderr};
use std::sync::Once;

use tracing_subscriber::filter::dynamic_filter_fn;
use tracing_subscriber::prelude::*;
use tracing_subscriber::{EnvFilter, fmt};
use ze_core::env;

/// Something to drop, so that the thread's storage is known to be gone afterwards.
struct Living;

impl Drop for Living {
    fn drop(&mut self) {}
}

thread_local! {
    static LIVING: Living = const { Living };
}

/// Programs destroy their handles in exit handlers too, when the formatter's thread-local buffer is already gone and its
/// use would panic.
fn can_format() -> bool {
    LIVING.try_with(|_| ()).is_ok()
}

/// Starts logging if the user asks for it. A library may be loaded into a program that logs with `tracing` itself, and
/// then shares nothing with it: this crate's `tracing` is its own copy. Linked as a Rust library it would share it,
/// and a subscriber that is already set stays.
pub fn initialize() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let Some(directives) = env::LOG.get() else { return };
        let filter = EnvFilter::builder().parse_lossy(directives);
        let lines = fmt::layer().with_writer(stderr).with_ansi(stderr().is_terminal());
        let lines = lines.with_filter(dynamic_filter_fn(|_, _| can_format()));
        // It fails where the program has set a subscriber of its own.
        let _ = tracing_subscriber::registry().with(filter).with(lines).try_init();
    });
}
