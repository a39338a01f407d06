//! A launch: compiled code, its arguments and its range of work-groups.

use super::scheduler::{Cost, Job, Scheduler};
use super::workgroup::{LOCAL_ALIGN, Needs};
use crate::abi::{CodeInfo, ENTRY_SYMBOL, LaunchInfo, RangeEntry, TeamEntry};
use crate::error::EngineError;
use crate::jit::JitError;
use crate::jit::load::LoadedCode;
use smallvec::SmallVec;
use spirv_env::{ArgKind, Kernel};

/// What to launch a kernel with.
#[derive(Clone, Copy, Debug)]
pub struct Dispatch<'a> {
    /// Work-groups in each dimension. A zero makes the launch empty.
    pub group_count: [u32; 3],
    /// Work-items of a work-group in each dimension.
    pub group_size: [u32; 3],
    /// Global offset in each dimension, in work-items.
    pub global_offset: [u64; 3],
    /// The argument block ([`Kernel::arg_block_size`] bytes): every argument at its offset. The slot of a
    /// `LocalPointer` argument has the size of its local memory, in bytes, as a 64-bit number.
    pub args: &'a [u8],
}

/// The entry point of compiled code.
#[derive(Clone, Copy)]
pub enum Entry {
    Range(RangeEntry),
    Team(TeamEntry),
}

/// Compiled code of a kernel variant, in memory.
pub struct Code {
    entry: Entry,
    info: CodeInfo,
    /// What a work-group has cost so far.
    pub(super) cost: Cost,
    /// Keeps the entry callable.
    _loaded: LoadedCode,
}

impl Code {
    pub fn new(loaded: LoadedCode, info: CodeInfo) -> Result<Code, JitError> {
        let address = loaded.address(ENTRY_SYMBOL);
        let address = address.ok_or_else(|| JitError::MissingSymbol(ENTRY_SYMBOL.to_owned()))?;
        // SAFETY: lowering gives the symbol one of these two types, and says which in `info`.
        let entry = unsafe {
            if info.has_barrier {
                Entry::Team(std::mem::transmute::<*const u8, TeamEntry>(address))
            } else {
                Entry::Range(std::mem::transmute::<*const u8, RangeEntry>(address))
            }
        };
        Ok(Code { entry, info, cost: Cost::default(), _loaded: loaded })
    }

    pub fn entry(&self) -> Entry {
        self.entry
    }

    pub fn info(&self) -> &CodeInfo {
        &self.info
    }
}

/// A piece of the argument block with the alignment of the largest value (OpenCL C 2.0 §6.1.5: 128 bytes).
#[derive(Clone, Copy)]
#[repr(C, align(128))]
struct ArgChunk([u8; 128]);

/// The argument block as compiled code reads it.
struct ArgBlock {
    chunks: SmallVec<[ArgChunk; 4]>,
    /// Local memory of a work-group, in bytes: module-scope variables, then the arguments'.
    local_bytes: u64,
}

impl ArgBlock {
    fn new(kernel: &Kernel, args: &[u8]) -> Result<ArgBlock, EngineError> {
        let invalid = |reason: String| EngineError::InvalidLaunch { kernel: kernel.name.clone(), reason };
        if (args.len() as u64) < kernel.arg_block_size {
            let reason = format!("{} bytes of arguments, {} are needed", args.len(), kernel.arg_block_size);
            return Err(invalid(reason));
        }
        // One chunk even without arguments: compiled code may load any 128 bytes at an argument's place.
        let count = args.len().div_ceil(size_of::<ArgChunk>()).max(1);
        let mut block = ArgBlock { chunks: SmallVec::from_elem(ArgChunk([0; 128]), count), local_bytes: 0 };
        let bytes = block.bytes_mut();
        bytes[..args.len()].copy_from_slice(args);
        let mut end = kernel.static_local_size;
        for arg in kernel.args.iter().filter(|arg| arg.kind == ArgKind::LocalPointer) {
            let slot = usize::try_from(arg.offset).ok().and_then(|at| bytes.get_mut(at..)?.get_mut(..8));
            let Some(slot) = slot else {
                return Err(invalid(format!("argument '{}' is outside the argument block", arg.name)));
            };
            let mut size = [0; 8];
            size.copy_from_slice(slot);
            let size = u64::from_le_bytes(size);
            let place = end.checked_next_multiple_of(LOCAL_ALIGN as u64);
            let Some((place, after)) = place.and_then(|at| Some((at, at.checked_add(size)?))) else {
                return Err(invalid(format!("argument '{}': {size} bytes of local memory", arg.name)));
            };
            slot.copy_from_slice(&place.to_le_bytes());
            end = after;
        }
        block.local_bytes = end;
        Ok(block)
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        let len = std::mem::size_of_val(self.chunks.as_slice());
        // SAFETY: chunks are arrays of bytes without padding.
        unsafe { std::slice::from_raw_parts_mut(self.chunks.as_mut_ptr().cast(), len) }
    }
}

/// Runs a launch of `code`, which was compiled for sub-groups of `width`, and waits for its end.
pub fn launch(
    scheduler: &Scheduler,
    code: &Code,
    kernel: &Kernel,
    width: u32,
    dispatch: &Dispatch,
) -> Result<(), EngineError> {
    let invalid =
        |reason: &str| EngineError::InvalidLaunch { kernel: kernel.name.clone(), reason: reason.to_owned() };
    let product = |size: [u32; 3]| {
        size.into_iter().try_fold(1u64, |product, size| product.checked_mul(u64::from(size)))
    };
    let items = product(dispatch.group_size).filter(|items| (1..=u64::from(u32::MAX)).contains(items));
    let items = items.ok_or_else(|| invalid("a work-group has no or too many work-items"))?;
    let groups = product(dispatch.group_count).ok_or_else(|| invalid("more than 2^64 work-groups"))?;
    if groups == 0 {
        return Ok(());
    }
    let args = ArgBlock::new(kernel, dispatch.args)?;
    let subgroups = (items as u32).div_ceil(width.max(1));
    let info = LaunchInfo {
        args: args.chunks.as_ptr().cast(),
        global_offset: dispatch.global_offset,
        group_count: dispatch.group_count,
        group_size: dispatch.group_size,
        work_dim: work_dim(dispatch),
        subgroups,
    };
    let needs = Needs::of(code, args.local_bytes, subgroups);
    // SAFETY: `info` describes this launch of this code; the arguments live until it has ended. That the
    // kernel's pointers are valid is up to the application, as on any device.
    unsafe { scheduler.run(&Job { code, info: &info, needs, kernel: &kernel.name, groups }) }
}

/// Dimensions that are in use: Level Zero launches always have three, most of size one.
fn work_dim(dispatch: &Dispatch) -> u32 {
    let used = |at: usize| dispatch.group_count[at] > 1 || dispatch.group_size[at] > 1;
    match (used(1), used(2)) {
        (_, true) => 3,
        (true, false) => 2,
        (false, false) => 1,
    }
}
