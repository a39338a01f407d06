//! Slots: where the descriptors of live images are, whose addresses programs and kernels have as handles.
//!
//! All slots are in one range of reserved memory that is never given back. So a handle that a kernel makes up is told from a
//! slot's by a range and an alignment, and one that is stale leads to another image or to one without texels, never to memory
//! that is something else.

use super::descriptor::{ImageDescriptor, empty};
use crate::fork::{Mutex, OnceLock};
use crate::pages;
use std::collections::VecDeque;
use std::mem::size_of;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a slot.
pub const SLOT_BYTES: usize = 1024;
const _: () = assert!(size_of::<ImageDescriptor>() <= SLOT_BYTES);

/// Slots of the table, of which only those that were used take memory: a million images, 1 GiB of addresses. Then what is
/// tried where addresses are limited.
const CAPACITIES: [usize; 3] = [1 << 20, 1 << 16, 1 << 12];
/// A slot is used again only after this many others, so that stale handles are noticed.
const QUARANTINE: usize = 256;

struct Table {
    memory: pages::Table,
    free: Mutex<FreeSlots>,
}

#[derive(Default)]
struct FreeSlots {
    /// Slots below this were handed out at least once.
    used: usize,
    /// Those that hold no image any more, the oldest first.
    recycled: VecDeque<usize>,
}

/// Bytes of the slots that were handed out at least once.
static USED_BYTES: AtomicU64 = AtomicU64::new(0);

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| Table {
        memory: pages::Table::new(&CAPACITIES.map(|capacity| capacity * SLOT_BYTES)),
        free: Mutex::default(),
    })
}

/// What handles can be: addresses from `start` on, below `start` plus what `used_bytes` says at the time, multiples of
/// [`SLOT_BYTES`] from `start`. Everything there is a descriptor.
#[derive(Clone, Copy, Debug)]
pub struct Handles {
    pub start: u64,
    pub used_bytes: &'static AtomicU64,
}

/// See [`Handles`].
pub fn handles() -> Handles {
    Handles { start: table().memory.start() as u64, used_bytes: &USED_BYTES }
}

/// A slot with an image. When it is dropped, the image is one without texels.
#[derive(Debug)]
pub struct Slot(usize);

impl Slot {
    /// Puts a descriptor into a slot; `None` where there is none left.
    pub fn new(descriptor: &ImageDescriptor) -> Option<Slot> {
        let table = table();
        let mut free = table.free.lock();
        // Room for all of them, so that dropping one cannot fail.
        let others = free.used + 1 - free.recycled.len();
        free.recycled.try_reserve(others).ok()?;
        let is_new = free.recycled.len() <= QUARANTINE && table.memory.grow_to((free.used + 1) * SLOT_BYTES);
        if !is_new {
            let slot = Slot(free.recycled.pop_front()?);
            slot.write(descriptor);
            return Some(slot);
        }
        let slot = Slot(free.used);
        slot.write(descriptor);
        free.used += 1;
        USED_BYTES.store((free.used * SLOT_BYTES) as u64, Ordering::Release);
        Some(slot)
    }

    /// The address of the descriptor: what compiled code takes for the image.
    pub fn address(&self) -> u64 {
        (table().memory.start() + self.0 * SLOT_BYTES) as u64
    }

    fn write(&self, descriptor: &ImageDescriptor) {
        // SAFETY: the slot is this value's alone, aligned for the type and large enough; a descriptor has nothing to drop.
        // A kernel that reads it meanwhile has a handle that is nobody's any more.
        unsafe { std::ptr::copy_nonoverlapping(descriptor, self.address() as *mut ImageDescriptor, 1) };
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.write(empty());
        table().free.lock().recycled.push_back(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::super::format::{IDENTITY, formats};
    use super::super::{ImageParts, MipLevel};
    use super::*;

    fn descriptor(width: u32) -> ImageDescriptor {
        let level = MipLevel { base: 64, row_pitch: 64, width, height: 1, depth: 1, ..MipLevel::default() };
        let format = formats().next().expect("there are formats");
        ImageDescriptor::new(&ImageParts {
            format,
            swizzle: IDENTITY,
            levels: &[level],
            layers: 1,
            sampler: None,
        })
        .expect("it can be")
    }

    fn width_at(address: u64) -> u32 {
        // SAFETY: slots stay readable for ever.
        unsafe { (*(address as *const ImageDescriptor)).levels()[0].width }
    }

    #[test]
    fn a_slot_without_an_image_has_one_without_texels() {
        let slots: Vec<Slot> =
            (1..=3).map(|width| Slot::new(&descriptor(width)).expect("there are slots")).collect();
        let addresses: Vec<u64> = slots.iter().map(Slot::address).collect();
        let handles = handles();
        for (address, width) in addresses.iter().zip(1..) {
            assert!((address - handles.start).is_multiple_of(SLOT_BYTES as u64));
            assert!(address - handles.start < handles.used_bytes.load(Ordering::Acquire));
            assert_eq!(width_at(*address), width);
        }
        drop(slots);
        assert!(addresses.iter().all(|address| width_at(*address) == 0));
        // Nor is a slot used again at once.
        let next = Slot::new(&descriptor(9)).expect("there are slots");
        assert!(!addresses.contains(&next.address()));
    }
}
