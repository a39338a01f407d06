//! Parts of a device that a program asks for in lists: objects that stay, with handles that are made when they are asked for.

use crate::error::Result;
use crate::fork::OnceLock;
use crate::handle::{self, Object};
use std::sync::Arc;

/// The parts of a device of one type.
pub struct Parts<T>(Vec<Part<T>>);

struct Part<T> {
    object: Arc<T>,
    handle: OnceLock<usize>,
}

impl<T: Object> Parts<T> {
    pub(crate) fn new(objects: Vec<T>) -> Self {
        let part = |object| Part { object: Arc::new(object), handle: OnceLock::new() };
        Self(objects.into_iter().map(part).collect())
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Whether it is one of them.
    pub fn contains(&self, object: &Arc<T>) -> bool {
        self.0.iter().any(|part| Arc::ptr_eq(&part.object, object))
    }

    #[cfg(test)]
    pub fn object(&self, index: usize) -> &Arc<T> {
        &self.0[index].object
    }

    /// The handle of a part, the same for the life of the process.
    pub fn handle(&self, index: usize) -> Result<T::Handle> {
        let part = &self.0[index];
        if let Some(&address) = part.handle.get() {
            return Ok(T::handle(address));
        }
        let handle = handle::publish(Arc::clone(&part.object))?;
        Ok(T::handle(*part.handle.get_or_init(|| T::address(handle))))
    }
}
