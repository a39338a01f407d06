//! The buffer of a launch: records of what its work-items print, in the order in which they did.

use super::render::Renderer;
use super::{ArgumentType, output::Output};
use crate::exec::KernelMode;
use crate::globals::Globals;
use crate::pages::Pages;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Text that is written at once.
const CHUNK: usize = 64 << 10;

/// Memory for the records of a launch. A record is a header (its words, the number of its arguments in the upper half),
/// a word for each argument's type, the address of the format, and a word for each component.
pub struct Buffer {
    /// Records are reserved by an atomic addition, and read when their header has been written.
    pages: Pages,
    /// In words.
    capacity: usize,
    used: AtomicU64,
    /// Where strings are.
    globals: Arc<Globals>,
}

/// What the lanes of a sub-group print at once, as compiled code lays it out.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// A word for each argument's type, then rows with a word for each lane: the format, and each component.
    pub words: *const u64,
    pub arguments: usize,
    pub rows: usize,
    pub lanes: usize,
    /// The lanes that print, lane 0 in bit 0.
    pub mask: u64,
}

impl Call {
    /// # Safety
    /// The call is as compiled code makes it.
    unsafe fn argument_type(&self, at: usize) -> u64 {
        // SAFETY: up to the caller.
        unsafe { *self.words.add(at) }
    }

    /// # Safety
    /// The call is as compiled code makes it, and the lane is on.
    pub unsafe fn value(&self, row: usize, lane: usize) -> u64 {
        // SAFETY: up to the caller.
        unsafe { *self.words.add(self.arguments + row * self.lanes + lane) }
    }

    /// The lanes that are on, in order.
    pub fn active(&self) -> impl Iterator<Item = usize> + use<> {
        let mask = self.mask;
        (0..u64::BITS as usize).filter(move |lane| mask >> lane & 1 != 0)
    }
}

impl Buffer {
    /// A buffer of this many bytes; `None` without memory. Only what is used of it takes any.
    pub fn new(bytes: u32, globals: Arc<Globals>) -> Option<Buffer> {
        let capacity = bytes as usize / size_of::<u64>();
        let pages = Pages::new((capacity * size_of::<u64>()).max(1)).ok()?;
        Some(Buffer { pages, capacity, used: AtomicU64::new(0), globals })
    }

    pub(super) fn globals(&self) -> &Globals {
        &self.globals
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        assert!(at < self.capacity, "inside of the buffer");
        // SAFETY: inside of the mapping, which is zeroed memory.
        unsafe { self.pages.base().cast::<AtomicU64>().add(at).as_ref() }
    }

    /// Takes room for up to `count` records of `size` words, one behind the other. Returns where, and how many.
    fn reserve(&self, count: usize, size: usize) -> (usize, usize) {
        let mut used = self.used.load(Ordering::Relaxed);
        loop {
            let fits = count.min((self.capacity - used as usize) / size);
            let end = used + (fits * size) as u64;
            match self.used.compare_exchange_weak(used, end, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return (used as usize, fits),
                Err(now) => used = now,
            }
        }
    }

    /// Adds a record for each lane that is on. Returns the lanes for which there was no room.
    ///
    /// # Safety
    /// The call is as compiled code makes it.
    pub unsafe fn append(&self, call: &Call) -> u64 {
        let size = 1 + call.arguments + call.rows;
        let (mut at, mut fits) = self.reserve(call.mask.count_ones() as usize, size);
        let mut refused = 0;
        for lane in call.active() {
            if fits == 0 {
                refused |= 1 << lane;
                continue;
            }
            let put = |at: usize, word: u64| self.word(at).store(word, Ordering::Relaxed);
            // SAFETY: passed on to the caller.
            unsafe {
                (0..call.arguments).for_each(|of| put(at + 1 + of, call.argument_type(of)));
                (0..call.rows).for_each(|row| put(at + 1 + call.arguments + row, call.value(row, lane)));
            }
            // Whoever sees the header sees the record.
            self.word(at).store(size as u64 | (call.arguments as u64) << 32, Ordering::Release);
            at += size;
            fits -= 1;
        }
        refused
    }

    /// Writes what is in the buffer to standard output, up to the first record that is not whole: there is one only
    /// while the launch still runs.
    pub fn flush(&self) {
        if self.word_or_end(0) == 0 {
            return;
        }
        // Numbers are rendered as the program's own mode, which may flush and round as it likes, would not.
        let _mode = KernelMode::enter();
        let mut output = Output::lock();
        let mut renderer = Renderer::new(&self.globals);
        let (mut at, mut text) = (0, Vec::new());
        loop {
            let header = self.word_or_end(at);
            let (size, arguments) = (header as u32 as usize, (header >> 32) as usize);
            if size == 0 {
                break;
            }
            let words: Vec<u64> =
                (at + 1..at + size).map(|at| self.word(at).load(Ordering::Relaxed)).collect();
            let (types, values) = words.split_at(arguments);
            let types: Vec<ArgumentType> = types.iter().copied().map(ArgumentType::of_word).collect();
            renderer.render(values[0], &types, &values[1..], &mut text);
            if text.len() >= CHUNK {
                output.write(&text);
                text.clear();
            }
            at += size;
        }
        output.write(&text);
    }

    fn word_or_end(&self, at: usize) -> u64 {
        if at < self.capacity { self.word(at).load(Ordering::Acquire) } else { 0 }
    }
}
