//! Values that are made once, and what a forked child finds of them.

use super::{Mutex, generation, section};
use crate::futex::{Counter, Deadline};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The standard library's `OnceLock` for values that are made quickly: never half made in a forked child.
#[derive(Debug)]
#[allow(clippy::disallowed_types, reason = "this is what stands for it")]
pub struct OnceLock<T>(std::sync::OnceLock<T>);

impl<T> OnceLock<T> {
    #[allow(clippy::disallowed_types, reason = "as above")]
    pub const fn new() -> Self {
        Self(std::sync::OnceLock::new())
    }

    #[inline]
    pub fn get(&self) -> Option<&T> {
        self.0.get()
    }

    /// The value, which `make` makes if there is none yet. `make` must not wait for a compilation.
    #[inline]
    pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        self.0.get().unwrap_or_else(|| {
            let _section = section();
            self.0.get_or_init(make)
        })
    }
}

impl<T> Default for OnceLock<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// A value that takes long to make, such as compiled code. Threads that want it wait for the one that makes it; a fork
/// does not, and a child whose parent was making it makes its own.
#[derive(Debug)]
pub struct Slow<T> {
    value: OnceLock<T>,
    /// The generation of the thread that makes the value.
    maker: Mutex<Option<u32>>,
    /// Advanced when a thread stops making it.
    stopped: Counter,
}

impl<T> Default for Slow<T> {
    fn default() -> Self {
        Self { value: OnceLock::new(), maker: Mutex::new(None), stopped: Counter::new(0) }
    }
}

impl<T> Slow<T> {
    pub fn get(&self) -> Option<&T> {
        self.value.get()
    }

    /// The value, which `make` makes if there is none yet and no other thread makes it. Where `make` panics, the next
    /// thread tries.
    pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        /// Lets the others go on, also after a panic.
        struct Maker<'a, T>(&'a Slow<T>);
        impl<T> Drop for Maker<'_, T> {
            fn drop(&mut self) {
                *self.0.maker.lock() = None;
                self.0.stopped.advance();
            }
        }
        loop {
            if let Some(value) = self.value.get() {
                return value;
            }
            let seen = self.stopped.get();
            let mut maker = self.maker.lock();
            if self.value.get().is_some() {
                continue;
            }
            if *maker == Some(generation()) {
                drop(maker);
                self.stopped.wait(Deadline::Never, |now| now != seen);
                continue;
            }
            *maker = Some(generation());
            drop(maker);
            let _maker = Maker(self);
            let value = make();
            return self.value.get_or_init(|| value);
        }
    }
}

/// A value of a process that its children make anew, because threads belong to it. What a child inherits is never
/// dropped there: its threads do not exist.
#[derive(Debug)]
pub struct PerProcess<T> {
    /// From `Box::into_raw`, or null.
    current: AtomicPtr<Made<T>>,
    making: Mutex<()>,
}

#[derive(Debug)]
struct Made<T> {
    generation: u32,
    value: T,
}

// SAFETY: it owns its values, and gives shared references to them away.
unsafe impl<T: Send + Sync> Sync for PerProcess<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Send for PerProcess<T> {}

impl<T> Default for PerProcess<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> PerProcess<T> {
    pub const fn new() -> Self {
        Self { current: AtomicPtr::new(ptr::null_mut()), making: Mutex::new(()) }
    }

    /// The process's value, if it has been made.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        // SAFETY: the pointer is null or of a box that is freed, if at all, with `self`.
        let made = unsafe { self.current.load(Ordering::Acquire).as_ref() };
        made.filter(|made| made.generation == generation()).map(|made| &made.value)
    }

    /// The process's value, which `make` makes if there is none yet. It is called in a section.
    pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        if let Some(value) = self.get() {
            return value;
        }
        let _making = self.making.lock();
        if let Some(value) = self.get() {
            return value;
        }
        let made = Box::into_raw(Box::new(Made { generation: generation(), value: make() }));
        // The value of another generation stays where it is.
        self.current.store(made, Ordering::Release);
        // SAFETY: as in `get`; just made.
        unsafe { &(*made).value }
    }
}

impl<T> Drop for PerProcess<T> {
    fn drop(&mut self) {
        let made = *self.current.get_mut();
        // SAFETY: as in `get`.
        if unsafe { made.as_ref() }.is_some_and(|made| made.generation == generation()) {
            // SAFETY: from `Box::into_raw`, and nobody has a reference any more.
            drop(unsafe { Box::from_raw(made) });
        }
    }
}
