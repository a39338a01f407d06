//! Where log lines go: to standard error, filtered by `ZE_CPU_LOG`.

use std::io::{IsTerminal, stderr};
use std::sync::atomic::{AtomicBool, Ordering};

use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{Interest, Subscriber, set_global_default};
use tracing::{Event, Metadata};
use tracing_subscriber::filter::dynamic_filter_fn;
use tracing_subscriber::prelude::*;
use tracing_subscriber::{EnvFilter, fmt};
use ze_core::{env, fork};

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

/// A subscriber in whose locks, standard error's among them, no thread is while the process forks.
struct ForkSafe<S>(S);

impl<S: Subscriber> Subscriber for ForkSafe<S> {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        let _section = fork::section();
        self.0.register_callsite(metadata)
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let _section = fork::section();
        self.0.enabled(metadata)
    }

    fn max_level_hint(&self) -> Option<tracing::level_filters::LevelFilter> {
        self.0.max_level_hint()
    }

    fn event_enabled(&self, event: &Event<'_>) -> bool {
        let _section = fork::section();
        self.0.event_enabled(event)
    }

    fn event(&self, event: &Event<'_>) {
        let _section = fork::section();
        self.0.event(event);
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let _section = fork::section();
        self.0.new_span(span)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let _section = fork::section();
        self.0.record(span, values);
    }

    fn record_follows_from(&self, span: &Id, follows: &Id) {
        let _section = fork::section();
        self.0.record_follows_from(span, follows);
    }

    fn enter(&self, span: &Id) {
        let _section = fork::section();
        self.0.enter(span);
    }

    fn exit(&self, span: &Id) {
        let _section = fork::section();
        self.0.exit(span);
    }

    fn clone_span(&self, span: &Id) -> Id {
        let _section = fork::section();
        self.0.clone_span(span)
    }

    fn try_close(&self, span: Id) -> bool {
        let _section = fork::section();
        self.0.try_close(span)
    }
}

/// Starts logging if the user asks for it. A library may be loaded into a program that logs with `tracing` itself, and
/// then shares nothing with it: this crate's `tracing` is its own copy. Linked as a Rust library it would share it,
/// and a subscriber that is already set stays.
pub fn initialize() {
    static STARTED: AtomicBool = AtomicBool::new(false);
    if STARTED.swap(true, Ordering::Relaxed) {
        return;
    }
    let Some(directives) = env::LOG.get() else { return };
    let filter = EnvFilter::builder().parse_lossy(directives);
    let lines = fmt::layer().with_writer(stderr).with_ansi(stderr().is_terminal());
    let lines = lines.with_filter(dynamic_filter_fn(|_, _| can_format()));
    // It fails where the program has set a subscriber of its own.
    let _ = set_global_default(ForkSafe(tracing_subscriber::registry().with(filter).with(lines)));
}
