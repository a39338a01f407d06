//! Frees that wait for the commands that may use the memory.

use super::Allocation;
use crate::fork::Mutex;
use crate::stream::{Position, Stream};
use std::sync::Arc;

/// Memory that is freed once these places are reached.
struct Deferred {
    memory: Arc<Allocation>,
    after: Vec<(Arc<Stream>, Position)>,
}

/// Frees that wait for commands (`ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE`).
#[derive(Default)]
pub struct DeferredFrees(Mutex<Vec<Deferred>>);

impl DeferredFrees {
    pub(super) fn add(&self, memory: Arc<Allocation>, after: Vec<(Arc<Stream>, Position)>) {
        self.0.lock().push(Deferred { memory, after });
        self.collect();
    }

    /// Frees what nothing uses any more.
    pub fn collect(&self) {
        let is_used =
            |free: &Deferred| free.after.iter().any(|(stream, position)| !stream.is_reached(*position));
        let unused: Vec<_> = self.0.lock().extract_if(.., |free| !is_used(free)).collect();
        // Without the lock: what the program has called then may free something else.
        unused.iter().for_each(|free| free.memory.release());
    }
}
