//! Where log lines go: to standard error, filtered by `ZE_CPU_LOG`.

use std::io::{IsTerminal, stderr};
use std::sync::Once;

use tracing_subscriber::EnvFilter;
use ze_core::env;

/// Starts logging if the user asks for it. A library may be loaded into a program that logs with `tracing` itself, and
/// then shares nothing with it: this crate's `tracing` is its own copy. Linked as a Rust library it would share it,
/// and a subscriber that is already set stays.
pub fn initialize() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let Some(directives) = env::LOG.get() else { return };
        let filter = EnvFilter::builder().parse_lossy(directives);
        let subscriber = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(stderr)
            .with_ansi(stderr().is_terminal())
            .finish();
        // It fails where the program has set a subscriber of its own.
        let _ = tracing::subscriber::set_global_default(subscriber);
    });
}
