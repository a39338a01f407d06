//! Locks that are free in a forked child: each is held inside of a section.
#![allow(clippy::disallowed_types, reason = "these are what stands for them")]

use super::{Section, section, sections};
use std::fmt;
use std::ops::{Deref, DerefMut};

/// `parking_lot`'s mutex, free in a forked child. It is held for short stretches only.
#[derive(Default)]
pub struct Mutex<T>(parking_lot::Mutex<T>);

/// Access to what a [`Mutex`] guards. The lock is released before the section ends: fields are dropped in their order.
pub struct MutexGuard<'a, T> {
    guard: parking_lot::MutexGuard<'a, T>,
    _section: Section,
}

impl<T> Mutex<T> {
    pub const fn new(value: T) -> Self {
        Self(parking_lot::const_mutex(value))
    }

    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let section = section();
        MutexGuard { guard: self.0.lock(), _section: section }
    }

    /// The lock, if nobody holds it now.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        let section = section();
        self.0.try_lock().map(|guard| MutexGuard { guard, _section: section })
    }

    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }
}

impl<T> MutexGuard<'_, T> {
    /// Releases the lock while `work` runs, which may take long.
    pub fn unlocked<U>(guard: &mut Self, work: impl FnOnce() -> U) -> U {
        struct Again;
        impl Drop for Again {
            fn drop(&mut self) {
                sections::enter();
            }
        }
        parking_lot::MutexGuard::unlocked(&mut guard.guard, || {
            sections::leave();
            let _again = Again;
            work()
        })
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

impl<T: fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// `parking_lot`'s readers-writer lock, free in a forked child. It is held for short stretches only.
#[derive(Default)]
pub struct RwLock<T>(parking_lot::RwLock<T>);

/// Shared access to what an [`RwLock`] guards.
pub struct ReadGuard<'a, T> {
    guard: parking_lot::RwLockReadGuard<'a, T>,
    _section: Section,
}

/// Exclusive access to what an [`RwLock`] guards.
pub struct WriteGuard<'a, T> {
    guard: parking_lot::RwLockWriteGuard<'a, T>,
    _section: Section,
}

impl<T> RwLock<T> {
    pub const fn new(value: T) -> Self {
        Self(parking_lot::const_rwlock(value))
    }

    #[inline]
    pub fn read(&self) -> ReadGuard<'_, T> {
        let section = section();
        ReadGuard { guard: self.0.read(), _section: section }
    }

    #[inline]
    pub fn write(&self) -> WriteGuard<'_, T> {
        let section = section();
        WriteGuard { guard: self.0.write(), _section: section }
    }
}

impl<T> Deref for ReadGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> Deref for WriteGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for WriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

impl<T: fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
