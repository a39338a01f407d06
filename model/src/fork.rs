//! What `engine/src/fork.rs` gives the driver, over `shuttle`'s locks. Nothing forks here, so sections are nothing.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

#[must_use]
pub struct Section;

/// As the driver's: something that ends.
impl Drop for Section {
    fn drop(&mut self) {}
}

pub fn section() -> Section {
    Section
}

pub fn watch() {}

pub fn spawn<T: Send + 'static>(
    thread: shuttle::thread::Builder,
    work: impl FnOnce() -> T + Send + 'static,
) -> std::io::Result<shuttle::thread::JoinHandle<T>> {
    thread.spawn(work)
}

pub fn generation() -> u32 {
    0
}

#[derive(Default)]
pub struct Mutex<T>(shuttle::sync::Mutex<T>);

pub struct MutexGuard<'a, T> {
    mutex: &'a shuttle::sync::Mutex<T>,
    /// `None` only inside of [`unlocked`](Self::unlocked).
    guard: Option<shuttle::sync::MutexGuard<'a, T>>,
}

impl<T> Mutex<T> {
    pub const fn new(value: T) -> Self {
        Self(shuttle::sync::Mutex::new(value))
    }

    pub fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard { mutex: &self.0, guard: Some(lock(&self.0)) }
    }
}

fn lock<T>(mutex: &shuttle::sync::Mutex<T>) -> shuttle::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl<T> MutexGuard<'_, T> {
    pub fn unlocked<U>(guard: &mut Self, work: impl FnOnce() -> U) -> U {
        guard.guard = None;
        let result = work();
        guard.guard = Some(lock(guard.mutex));
        result
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.guard.as_ref().expect("it is locked")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.guard.as_mut().expect("it is locked")
    }
}

impl<T> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutex").finish_non_exhaustive()
    }
}

thread_local! {
    /// The execution's values, by the address of what has them: an execution is a process here.
    static VALUES: RefCell<HashMap<usize, &'static (dyn Any + Send + Sync)>> = RefCell::default();
}

/// An execution begins.
pub(crate) fn begin() {
    VALUES.with_borrow_mut(HashMap::clear);
}

/// A value of an execution. It is never dropped, as the threads are gone that it may have.
pub struct PerProcess<T>(PhantomData<T>, u8);

impl<T: Any + Send + Sync> PerProcess<T> {
    #[allow(clippy::new_without_default, reason = "as the driver's, it is made for statics")]
    pub const fn new() -> Self {
        Self(PhantomData, 0)
    }

    pub fn get_or_init(&'static self, make: impl FnOnce() -> T) -> &'static T {
        let key = std::ptr::from_ref(self) as usize;
        let value = VALUES
            .with_borrow_mut(|values| *values.entry(key).or_insert_with(|| Box::leak(Box::new(make()))));
        value.downcast_ref().expect("one type for each address")
    }
}
