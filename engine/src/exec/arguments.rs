//! The arguments of a launch as compiled code reads them, and the layout of local memory.

use super::workgroup::LOCAL_ALIGN;
use crate::image;
use smallvec::SmallVec;
use spirv_env::{ArgKind, Kernel, KernelArg};
use std::any::Any;
use std::sync::Arc;

/// What an argument's value refers to, such as an image, and has to live as long as launches that take it.
pub type Owner = Arc<dyn Any + Send + Sync>;

/// A piece of the argument block.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Chunk([u8; CHUNK]);

const CHUNK: usize = 16;
/// Chunks that are kept without an allocation: 16 pointers.
const INLINE: usize = 8;
/// The block has at least these many bytes: compiled code may load more than an argument's own at its place.
const LEAST_BYTES: usize = 128;

/// The argument block of a kernel, every argument at its place. A `LocalPointer` argument's slot holds the byte offset of its
/// memory in local memory.
pub struct Arguments {
    chunks: SmallVec<[Chunk; INLINE]>,
    /// Where the block begins in `chunks`, in bytes: it may need more alignment than a chunk has.
    start: usize,
    bytes: usize,
    align: usize,
    /// Bytes of each `LocalPointer` argument, in their order.
    local_sizes: SmallVec<[u64; 2]>,
    /// See [`local_bytes`](Self::local_bytes).
    local_bytes: u64,
    /// What arguments refer to, by their offset.
    owners: Vec<(u64, Owner)>,
}

/// Memory for an argument block of this many bytes could not be had.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoMemory(pub u64);

impl Arguments {
    /// A block of zeros: null pointers, images without texels, and local arrays of no bytes.
    pub fn new(kernel: &Kernel) -> Result<Arguments, NoMemory> {
        let align = usize::try_from(kernel.arg_block_align).unwrap_or(1).max(1);
        let bytes = usize::try_from(kernel.arg_block_size).ok();
        let bytes = bytes.and_then(|bytes| bytes.max(1).checked_next_multiple_of(LEAST_BYTES));
        let no_memory = NoMemory(kernel.arg_block_size);
        let mut arguments = Arguments {
            chunks: SmallVec::new(),
            start: 0,
            bytes: bytes.ok_or(no_memory)?,
            align,
            local_sizes: local_arguments(kernel).map(|_| 0).collect(),
            local_bytes: 0,
            owners: Vec::new(),
        };
        arguments.reserve().ok_or(no_memory)?;
        kernel.args.iter().filter(|arg| is_image(arg)).for_each(|arg| arguments.clear(arg));
        arguments.lay_out_local(kernel);
        Ok(arguments)
    }

    /// Makes room for the block, with zeros.
    fn reserve(&mut self) -> Option<()> {
        let more = if self.align > CHUNK { self.align } else { 0 };
        let count = self.bytes.checked_add(more)?.div_ceil(CHUNK);
        // What has to be aligned must not move, so it is never inline.
        let capacity = if more == 0 { count } else { count.max(INLINE + 1) };
        self.chunks.try_reserve_exact(capacity).ok()?;
        self.chunks.resize(count, Chunk([0; CHUNK]));
        let start = self.chunks.as_ptr() as usize;
        self.start = if more == 0 { 0 } else { start.next_multiple_of(self.align) - start };
        Some(())
    }

    /// A copy.
    pub fn try_clone(&self) -> Result<Arguments, NoMemory> {
        let inline = !self.chunks.spilled();
        let chunks = if inline { SmallVec::from_slice(&self.chunks) } else { SmallVec::new() };
        let mut owners = Vec::new();
        let bytes = size_of_val(self.owners.as_slice());
        owners.try_reserve_exact(self.owners.len()).map_err(|_| NoMemory(bytes as u64))?;
        owners.extend_from_slice(&self.owners);
        let local_sizes = SmallVec::from_slice(&self.local_sizes);
        let mut copy = Arguments { chunks, local_sizes, owners, ..*self };
        if !inline {
            copy.reserve().ok_or(NoMemory(self.bytes as u64))?;
            copy.bytes_mut().copy_from_slice(self.bytes());
        }
        Ok(copy)
    }

    /// Sets an argument that is no local memory; its value has its size.
    pub fn set(&mut self, arg: &KernelArg, value: &[u8]) {
        let at = arg.offset as usize;
        self.bytes_mut()[at..at + arg.size as usize].copy_from_slice(value);
    }

    /// Sets an argument that is no local memory to zeros, one that is an image to one without texels.
    pub fn clear(&mut self, arg: &KernelArg) {
        if is_image(arg) {
            return self.set(arg, &(std::ptr::from_ref(image::empty()) as u64).to_le_bytes());
        }
        let at = arg.offset as usize;
        self.bytes_mut()[at..at + arg.size as usize].fill(0);
    }

    /// Makes room for one more owner.
    pub fn reserve_owner(&mut self) -> Result<(), NoMemory> {
        self.owners.try_reserve(1).map_err(|_| NoMemory(size_of::<(u64, Owner)>() as u64))
    }

    /// Keeps what the value of an argument refers to, until the next value; there is room.
    pub fn own(&mut self, arg: &KernelArg, owner: Owner) {
        self.disown(arg);
        self.owners.push((arg.offset, owner));
    }

    /// Lets go of what an earlier value of an argument referred to.
    pub fn disown(&mut self, arg: &KernelArg) {
        if let Some(at) = self.owners.iter().position(|(offset, _)| *offset == arg.offset) {
            self.owners.swap_remove(at);
        }
    }

    /// Sets the size in bytes of the local memory that the argument `index` of the kernel points to.
    pub fn set_local(&mut self, kernel: &Kernel, index: usize, bytes: u64) {
        let before = kernel.args[..index].iter().filter(|arg| is_local(arg)).count();
        if self.local_sizes[before] != bytes {
            self.local_sizes[before] = bytes;
            self.lay_out_local(kernel);
        }
    }

    /// The value of an argument.
    pub fn get(&self, arg: &KernelArg) -> &[u8] {
        &self.bytes()[arg.offset as usize..][..arg.size as usize]
    }

    /// What [`set_local`](Self::set_local) has set; nothing for other arguments.
    pub fn get_local(&self, kernel: &Kernel, index: usize) -> Option<u64> {
        let before = kernel.args[..index].iter().filter(|arg| is_local(arg)).count();
        is_local(&kernel.args[index]).then(|| self.local_sizes[before])
    }

    /// Local memory of a work-group: the module-scope variables, whose places are reflected, then one argument after the other.
    fn lay_out_local(&mut self, kernel: &Kernel) {
        let mut end = kernel.static_local_size;
        for (at, arg) in local_arguments(kernel).enumerate() {
            let place = end.checked_next_multiple_of(LOCAL_ALIGN as u64).unwrap_or(u64::MAX);
            end = place.saturating_add(self.local_sizes[at]);
            self.set(arg, &place.to_le_bytes());
        }
        self.local_bytes = end;
    }

    /// Bytes of local memory that a work-group needs; `u64::MAX` where they are more than can be counted.
    pub fn local_bytes(&self) -> u64 {
        self.local_bytes
    }

    /// What compiled code takes as `LaunchInfo::args`.
    pub fn as_ptr(&self) -> *const u8 {
        self.bytes().as_ptr()
    }

    fn bytes(&self) -> &[u8] {
        let chunks = self.chunks.as_slice();
        // SAFETY: chunks are arrays of bytes without padding.
        let bytes = unsafe {
            std::slice::from_raw_parts(chunks.as_ptr().cast::<u8>(), std::mem::size_of_val(chunks))
        };
        &bytes[self.start..][..self.bytes]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        let chunks = self.chunks.as_mut_slice();
        // SAFETY: as above.
        let bytes = unsafe {
            std::slice::from_raw_parts_mut(chunks.as_mut_ptr().cast::<u8>(), std::mem::size_of_val(chunks))
        };
        &mut bytes[self.start..][..self.bytes]
    }
}

fn is_image(arg: &KernelArg) -> bool {
    matches!(arg.kind, ArgKind::Image(_))
}

fn is_local(arg: &KernelArg) -> bool {
    arg.kind == ArgKind::LocalPointer
}

fn local_arguments(kernel: &Kernel) -> impl Iterator<Item = &KernelArg> {
    kernel.args.iter().filter(|arg| is_local(arg))
}
