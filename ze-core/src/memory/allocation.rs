//! An allocation: where its bytes are, who gives them back, and how others come to have them too.

use super::{MemoryKind, PAGE_SIZE};
use crate::allocations::Range;
use crate::budget::Budget;
use crate::callback::Callbacks;
use crate::context::Context;
use crate::device::Device;
use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::external_memory::Shared;
use crate::fork::Mutex;
use crate::mapping::{self, Mapping};
use crate::memfd;
use crate::physical_memory::PhysicalMemory;
use crate::slab::{self, Block};
use std::os::fd::RawFd;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;
use ze_headers::{ZE_MEMORY_TYPE_HOST_IMPORTED, ze_memory_type_t};

/// The least alignment: a cache line and the widest vector register.
pub(super) const MIN_ALIGNMENT: usize = 64;

/// Where an allocation's bytes come from.
enum Backing {
    Block(Block),
    Mapped(Mapping),
    /// Memory that others have too, mapped for this allocation: from another process, or a file descriptor.
    Imported,
    /// A mapping of physical memory, which the reservation has that it is in.
    Physical,
    /// Memory that the program has, before and behind this.
    Program,
}

/// Memory that can be mapped by others, and where in it an allocation begins.
#[derive(Clone)]
pub(crate) struct Place {
    pub memory: Arc<Shared>,
    pub offset: usize,
}

/// Who may give an allocation back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    /// `zeMemFree`; of an image's memory, the image.
    Free,
    /// `zeMemCloseIpcHandle`.
    CloseIpcHandle,
    /// `zeVirtualMemUnmap`.
    Unmap,
}

/// How long running commands are waited for before memory changes its place.
const PATIENCE: Duration = Duration::from_secs(2);

/// An allocation. The table of allocations lets go of a removed one some time later, so that the memory is given back
/// by [`release`](Self::release), not when the last reference goes.
pub struct Allocation {
    pub(super) base: NonNull<u8>,
    pub(super) size: usize,
    kind: MemoryKind,
    id: u64,
    /// The device that device and shared memory was allocated for.
    device: Option<Arc<Device>>,
    backing: Backing,
    pub(super) owner: Owner,
    /// What other processes can map: imported and physical memory always, other memory once the program has asked for that.
    shared: Mutex<Option<Place>>,
    /// What it is counted against, if it is.
    budget: Option<Arc<Budget>>,
    pub(super) released: AtomicBool,
    /// Called when it is freed.
    pub(super) callbacks: Callbacks,
    /// `ze_memory_atomic_attr_exp_flags_t` as the program set it; every access is atomic where it is asked for anyway.
    pub(super) atomic_access: AtomicU32,
}

// SAFETY: the memory is the program's; this type only knows where it is.
unsafe impl Send for Allocation {}
// SAFETY: as above.
unsafe impl Sync for Allocation {}

impl Range for Allocation {
    fn base(&self) -> usize {
        self.base.as_ptr() as usize
    }

    fn size(&self) -> usize {
        self.size
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        self.release();
    }
}

impl Allocation {
    /// Memory that no address leads to until it is in the driver's table.
    pub(crate) fn new(
        context: &Context,
        kind: MemoryKind,
        device: Option<Arc<Device>>,
        size: usize,
        alignment: usize,
    ) -> Result<Self> {
        let budget = Arc::clone(context.driver().budget(kind, device.as_deref()));
        if let Err(live) = budget.take(size as u64) {
            let of = budget.limit();
            return Err(kind.out_of_memory(format!("{size} bytes beside {live} that are allocated, of {of}")));
        }
        let Some((base, backing)) = back(size, alignment.max(natural_alignment(size))) else {
            budget.give_back(size as u64);
            return Err(kind.out_of_memory(format!("{size} bytes could not be allocated")));
        };
        let mut memory = Self::with((kind, device), (base, size), (backing, Owner::Free));
        memory.budget = Some(budget);
        Ok(memory)
    }

    fn with(
        (kind, device): (MemoryKind, Option<Arc<Device>>),
        (base, size): (NonNull<u8>, usize),
        (backing, owner): (Backing, Owner),
    ) -> Self {
        Self {
            base,
            size,
            kind,
            id: new_id(),
            device,
            backing,
            owner,
            shared: Mutex::new(None),
            budget: None,
            released: AtomicBool::new(false),
            callbacks: Callbacks::default(),
            atomic_access: AtomicU32::new(0),
        }
    }

    /// Memory of somebody else's, that no address leads to until it is in the driver's table.
    pub(crate) fn imported(
        of: (MemoryKind, Option<Arc<Device>>),
        place: Place,
        size: usize,
        owner: Owner,
    ) -> Result<Self> {
        let alignment = natural_alignment(size).max(PAGE_SIZE);
        let len = size.next_multiple_of(PAGE_SIZE);
        let at = place.memory.memory().map(place.offset, len, alignment)?;
        let Some(base) = NonNull::new(at as *mut u8) else {
            return Err(Error::OutOfHostMemory("no address for the memory".into()));
        };
        let imported = Self::with(of, (base, size), (Backing::Imported, owner));
        *imported.shared.lock() = Some(place);
        Ok(imported)
    }

    /// Memory that a program sees through a reservation. It is there as long as the reservation says so.
    pub(crate) fn mapped_in_reservation(
        memory: &Arc<PhysicalMemory>,
        (address, size): (usize, usize),
        offset: usize,
    ) -> Option<Self> {
        let base = NonNull::new(address as *mut u8)?;
        let place = (memory.kind(), memory.device().cloned());
        let allocation = Self::with(place, (base, size), (Backing::Physical, Owner::Unmap));
        *allocation.shared.lock() = Some(Place { memory: Arc::clone(memory.shared()), offset });
        Some(allocation)
    }

    /// Memory that the program has and keeps.
    pub(crate) fn of_program(address: usize, size: usize) -> Option<Self> {
        let base = NonNull::new(address as *mut u8)?;
        Some(Self::with((MemoryKind::Host, None), (base, size), (Backing::Program, Owner::Free)))
    }

    /// Gives the memory back, once.
    pub(crate) fn release(&self) {
        if self.released.swap(true, Ordering::AcqRel) {
            return;
        }
        self.callbacks.call();
        let shared = self.shared.lock().take();
        match &self.backing {
            Backing::Block(block) => {
                // What others may still write to is nobody's next memory.
                // SAFETY: the block is this allocation's, which nobody uses any more.
                if shared.is_none() || unsafe { mapping::renew(block.start, self.mapped_size()) } {
                    slab::give_back(*block);
                }
            }
            Backing::Mapped(mapping) if shared.is_some() => mapping.unmap(),
            Backing::Mapped(mapping) => mapping::keep(*mapping),
            // SAFETY: the mapping was made for this allocation, which nobody uses any more.
            Backing::Imported => unsafe { memfd::unmap(self.base(), self.mapped_size()) },
            Backing::Physical | Backing::Program => {}
        }
        if let Some(budget) = &self.budget {
            budget.give_back(self.size as u64);
        }
    }

    /// The size in whole pages.
    fn mapped_size(&self) -> usize {
        self.size.next_multiple_of(PAGE_SIZE)
    }

    /// What other processes can map. Memory that is not yet of that kind becomes so in its place: its bytes move, its
    /// address stays.
    pub(crate) fn share(&self, driver: &Driver) -> Result<Place> {
        if let Some(place) = &*self.shared.lock() {
            return Ok(place.clone());
        }
        if matches!(self.backing, Backing::Program) {
            let reason = "memory that the program has mapped for itself is not shared with other processes";
            return Err(Error::InvalidArgument(reason.into()));
        }
        let memory = Shared::new(self.mapped_size())?;
        let mut convert = || {
            let mut shared = self.shared.lock();
            if let Some(place) = &*shared {
                return Ok(place.clone());
            }
            // SAFETY: the pages are this allocation's, and no command runs that could write to them.
            unsafe { move_to(&memory, self.base(), self.mapped_size()) }?;
            let place = Place { memory: Arc::clone(&memory), offset: 0 };
            *shared = Some(place.clone());
            Ok(place)
        };
        while_no_command_runs(driver.roots(), &mut convert)
            .unwrap_or(Err(Error::ObjectInUse("commands that run too long keep the memory where it is")))
    }

    /// The program's descriptor of the memory.
    pub(crate) fn export(&self, driver: &Driver) -> Result<RawFd> {
        self.share(driver)?.memory.exported(driver.shared())
    }

    /// Whether it is a mapping in a reservation of addresses.
    pub(crate) fn is_in_reservation(&self) -> bool {
        matches!(self.backing, Backing::Physical)
    }

    pub fn device(&self) -> Option<&Arc<Device>> {
        self.device.as_ref()
    }

    pub fn id(&self) -> u64 {
        self.id
    }

    pub fn kind(&self) -> MemoryKind {
        self.kind
    }

    /// What queries say that it is.
    pub fn type_code(&self) -> ze_memory_type_t {
        match self.backing {
            Backing::Program => ZE_MEMORY_TYPE_HOST_IMPORTED,
            _ => self.kind.code(),
        }
    }
}

/// Does something while no device executes a command. `None`: one was executed for too long.
fn while_no_command_runs<T>(devices: &[Arc<Device>], action: &mut dyn FnMut() -> T) -> Option<T> {
    let Some((first, others)) = devices.split_first() else { return Some(action()) };
    first.activity().pause(PATIENCE, || while_no_command_runs(others, action)).flatten()
}

/// The alignment that an allocation has without being asked: that of its size, up to a huge page, as on devices with pages
/// of their own. Pools of programs that place aligned blocks in larger allocations, such as SYCL's, take the start of an
/// allocation for aligned to the size of a page, and up to 2 MiB to what its size allows.
fn natural_alignment(size: usize) -> usize {
    (1 << size.ilog2()).clamp(MIN_ALIGNMENT, mapping::HUGE_PAGE)
}

/// Memory of a size that is not zero.
fn back(size: usize, alignment: usize) -> Option<(NonNull<u8>, Backing)> {
    if size.max(alignment) > slab::LARGEST {
        let len = size.checked_next_multiple_of(PAGE_SIZE)?;
        let mapping = mapping::take_kept(len, alignment).or_else(|| mapping::new(len, alignment))?;
        return Some((NonNull::new(mapping.start as *mut u8)?, Backing::Mapped(mapping)));
    }
    let take = || slab::take(size.max(alignment));
    let block = take().or_else(|| if mapping::give_back() { take() } else { None })?;
    Some((NonNull::new(block.start as *mut u8)?, Backing::Block(block)))
}

/// Puts shared memory with the same bytes in the place of private memory.
///
/// # Safety
/// The pages are mapped, the caller's, and nobody writes to them.
unsafe fn move_to(shared: &Shared, at: usize, len: usize) -> Result<()> {
    let new = shared.memory().map(0, len, PAGE_SIZE)?;
    // SAFETY: the caller's promise, and a mapping of this length that nobody else knows.
    unsafe {
        std::ptr::copy_nonoverlapping(at as *const u8, new as *mut u8, len);
        memfd::unmap(new, len);
        shared.memory().map_at(at, 0, len, libc::PROT_READ | libc::PROT_WRITE)
    }
}

pub(crate) fn new_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
