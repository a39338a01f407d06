//! What compiled kernel code and the scheduler agree on: entry points and the structures they share.
//!
//! Compiled code is relocatable and kept on disk, so it reaches the runtime only through the function
//! pointers in [`Worker`], never through addresses baked into it.

use crate::engine::DEFAULT_MAX_GROUP_SIZE;
use crate::exec::failure::Failure;
use crate::print::Buffer;
use std::ffi::c_void;

/// Alignment of [`Worker::private_memory`] and of each sub-group's part of it, which is that of the most aligned type (`long16`): no private
/// object has more.
pub const PRIVATE_ALIGN: u64 = 128;

/// What is the same for every work-group of a launch. Field offsets are used by `lower::entry`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LaunchInfo {
    /// The argument block: every argument at its reflected offset. A `LocalPointer` argument's slot holds
    /// the byte offset of its memory inside the work-group's local memory.
    pub args: *const u8,
    /// Global offset of each dimension, in work-items.
    pub global_offset: [u64; 3],
    /// Work-groups in each dimension.
    pub group_count: [u32; 3],
    /// Work-items of a work-group in each dimension.
    pub group_size: [u32; 3],
    /// 1, 2 or 3.
    pub work_dim: u32,
    /// Sub-groups of a work-group: ceil(x * y * z / W).
    pub subgroups: u32,
    /// Bytes that a work-item accesses at least where stores go past the caches (`analysis::streaming::Streaming::bytes`).
    pub streams_from: u32,
    /// Where work-items print; null for kernels that do not.
    pub print: *const Buffer,
}

/// What belongs to the thread that runs a work-group. One for each running thread and launch.
#[repr(C)]
#[derive(Debug)]
pub struct Worker {
    /// Local memory of the work-group that runs, 128-byte aligned.
    pub local_memory: *mut u8,
    /// Size of the local memory, in bytes.
    pub local_bytes: u64,
    /// Memory for private variables that are too large for the stack, aligned to [`PRIVATE_ALIGN`]: `private_bytes`
    /// of the code for each sub-group of the work-group.
    pub private_memory: *mut u8,
    /// Scratch for work-group collectives: 128 bytes for each sub-group, and 128 more, 64-byte aligned.
    pub collective_scratch: *mut u8,
    /// Suspends the calling sub-group until all others of the work-group have reached the barrier.
    pub barrier: unsafe extern "C" fn(*mut Worker),
    /// Suspends the calling sub-group until all others are through with the work-group, whichever barriers they pass in it.
    pub next_group: unsafe extern "C" fn(*mut Worker),
    /// Opaque to compiled code: the scheduler's own state.
    pub scheduler: *mut c_void,
    /// Suspends the calling sub-group until all others of the launch have reached the barrier. Code that calls it has
    /// `CodeInfo::has_launch_barrier`.
    pub launch_barrier: unsafe extern "C" fn(*mut Worker),
    /// Bytes below a body's frame where a call through a pointer may still begin (`CodeInfo::call_room`).
    pub call_room: u64,
    /// Opaque to compiled code: where it says that the launch cannot go on, and the stack to go on with then.
    pub failure: *const Failure,
    pub escape: *mut *mut u8,
}

/// Code without work-group barriers: runs `count` work-groups, at least one, each with all of its sub-groups. The first one's linear
/// number is `first` (x fastest). The others are the next ones along x, or along y if `along_y` is not 0, and then none is
/// behind the last row; that is for code with [`CodeInfo::strip_height`] only.
pub type RangeEntry =
    unsafe extern "C" fn(info: *const LaunchInfo, worker: *mut Worker, first: u64, count: u64, along_y: u32);

/// Code with work-group barriers: runs one bundle of sub-groups of each of these work-groups, and calls [`Worker::next_group`]
/// between one and the next.
pub type BundleEntry = unsafe extern "C" fn(
    info: *const LaunchInfo,
    worker: *mut Worker,
    first: u64,
    count: u64,
    along_y: u32,
    bundle: u32,
);

/// Sub-groups that may run side by side.
pub const MOST_SUBGROUPS: u32 = 16;

/// How the work-items of a group map to lanes; a kernel is compiled once for each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LaneMapping {
    /// The x size is a multiple of W: every sub-group is full, lies in one row, and its ids are `base + lane`.
    Rows,
    /// y and z sizes are 1 and x is no multiple of W: as `Rows`, and the last sub-group is partial.
    Line,
    /// The x size is a half of W and more than 1, and sub-groups are full: each is two whole rows, one after the other as the linear local id has them.
    Halves,
    /// The same with a quarter and four rows.
    Quarters,
    /// The same with an eighth and eight rows.
    Eighths,
    /// As `Rows`, but the x size is no multiple of W, and the last sub-group of each row is partial. Sub-groups do not follow the linear local
    /// id, so this is for kernels that cannot tell.
    Ragged,
    /// Anything else: lanes follow the linear local id across rows.
    Any,
    /// One work-item after the other (W is 1), and vectors are made of the iterations of its loops (`analysis::walks`).
    Iterations,
}

impl LaneMapping {
    /// Those of sub-groups that are several rows, and how many.
    pub const SHORT_ROWS: [(LaneMapping, u32); 3] =
        [(LaneMapping::Halves, 2), (LaneMapping::Quarters, 4), (LaneMapping::Eighths, 8)];

    /// The rows that a sub-group is, if it is several.
    pub fn short_rows(self) -> Option<u32> {
        Self::SHORT_ROWS.into_iter().find(|(mapping, _)| *mapping == self).map(|(_, count)| count)
    }

    /// Whether lanes go across rows.
    pub fn crosses_rows(self) -> bool {
        self == LaneMapping::Any || self.short_rows().is_some()
    }

    /// Whether sub-groups have no lanes that stand for no work-item.
    pub fn fills_subgroups(self) -> bool {
        !matches!(self, LaneMapping::Line | LaneMapping::Ragged | LaneMapping::Any)
    }
}

/// Thread coarsening: which sub-groups of a work-group one instruction stream may run side by side, as a *bundle*.
/// Groups have [`LaneMapping::Rows`] or are [`Ragged`](LaneMapping::Ragged). The number of sub-groups of a bundle divides that of the group's
/// direction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Coarsening {
    /// Each sub-group alone.
    Off,
    /// This many neighbours of a row: they differ in x.
    AlongX(u32),
    /// This many at the same place of neighbouring rows: they differ in y.
    AlongY(u32),
    /// All of a work-group that has more than one in two dimensions or in z: so many in each. Only as [`Variant::one_bundle`].
    Whole([u32; 3]),
}

impl Coarsening {
    /// So many sub-groups in each dimension, which are all of a work-group.
    pub fn whole(count: [u32; 3]) -> Coarsening {
        match count {
            [x, 1, 1] => Coarsening::AlongX(1).with_factor(x),
            [1, y, 1] => Coarsening::AlongY(y),
            _ => Coarsening::Whole(count),
        }
    }

    /// Sub-groups of a bundle.
    pub fn factor(self) -> u32 {
        self.count().into_iter().product()
    }

    /// The same in each dimension.
    pub fn count(self) -> [u32; 3] {
        match self {
            Coarsening::Off => [1; 3],
            Coarsening::AlongX(bundle) => [bundle, 1, 1],
            Coarsening::AlongY(bundle) => [1, bundle, 1],
            Coarsening::Whole(count) => count,
        }
    }

    /// The same direction with bundles of this size, one of [`factors`](Self::factors).
    pub fn with_factor(self, bundle: u32) -> Coarsening {
        match self {
            Coarsening::Whole(_) if bundle == self.factor() => self,
            _ if bundle <= 1 => Coarsening::Off,
            Coarsening::AlongX(_) => Coarsening::AlongX(bundle),
            Coarsening::AlongY(_) | Coarsening::Whole(_) => Coarsening::AlongY(bundle),
            Coarsening::Off => Coarsening::Off,
        }
    }

    /// The sizes that bundles may have where this is the largest, descending.
    pub fn factors(self) -> impl Iterator<Item = u32> {
        // Part of a work-group is part of its rows.
        let (all, divided) = match self {
            Coarsening::Whole([_, y, _]) => (Some(self.factor()), y),
            _ => (None, self.factor()),
        };
        let is_factor = move |bundle: &u32| divided.is_multiple_of(*bundle);
        all.into_iter().chain((1..=divided).rev().filter(is_factor))
    }

    /// Whether two differ in no more than sizes.
    pub fn is_alike(self, other: Coarsening) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

/// The dimension that lanes go along. Code for another one than x is that of the kernel with the two dimensions exchanged in all ids,
/// sizes, numbers and offsets, and is launched with the two exchanged as well.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Axis {
    #[default]
    X,
    Y,
    Z,
}

impl Axis {
    /// The ones that are not usual.
    pub const OTHERS: [Axis; 2] = [Axis::Y, Axis::Z];

    /// Its place among the dimensions of a launch.
    pub fn place(self) -> usize {
        match self {
            Axis::X => 0,
            Axis::Y => 1,
            Axis::Z => 2,
        }
    }

    /// The dimension of the code that one of the kernel is, and the other way round.
    pub fn exchanged(self, dimension: u32) -> u32 {
        match dimension as usize {
            0 => self.place() as u32,
            at if at == self.place() => 0,
            _ => dimension,
        }
    }

    /// What is said of three dimensions, of the exchanged ones.
    pub fn exchange<T>(self, mut of: [T; 3]) -> [T; 3] {
        of.swap(0, self.place());
        of
    }
}

/// What code may not rely on of global ids.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ids {
    /// Some global id, global size or global offset may be 2^31 or more. Code without it knows that
    /// they fit 31 bits, which proves that 32-bit index arithmetic does not wrap.
    pub large: bool,
    /// The global offset in x may be no multiple of [`Ids::ALIGNMENT`]. Code without it knows that rows of full sub-groups begin at
    /// multiples of the lanes.
    pub odd: bool,
    /// Arguments that are lengths of rows, of which code relies on.
    pub rows: RowLengths,
}

/// Arguments that something is divided by ([`divisors`](spirv_env::Kernel::divisors)) which are positive multiples of as many lanes as a
/// sub-group may have. Where ids are divided by such a one, rows of full sub-groups lie in one row of the grid.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct RowLengths {
    /// A bit for each divisor.
    pub of: u8,
    /// Low bits that these have no ones in; 0 where there is no such argument.
    pub zeros: u8,
}

impl RowLengths {
    /// Whether sub-groups of so many lanes lie in one row each, if any length is known.
    pub fn have_room_for(self, width: u32) -> bool {
        self.of == 0 || width.ilog2() <= u32::from(self.zeros)
    }
}

impl Ids {
    /// Those of most launches.
    pub const SMALL: Ids = Ids { large: false, odd: false, rows: RowLengths { of: 0, zeros: 0 } };
    /// Lanes of the widest sub-group.
    pub const ALIGNMENT: u64 = 64;
}

/// Which code of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Variant {
    /// Lanes of a sub-group: 1, 4, 8, 16 or 32, and 64 where the kernel cannot tell.
    pub width: u32,
    /// How many times as many lanes code that serves it may have, if values are small (`lower::coarsening::width`); 1 once that is
    /// settled.
    pub wider: u32,
    pub mapping: LaneMapping,
    pub axis: Axis,
    pub coarsening: Coarsening,
    /// A work-group is one bundle, so that nobody in it waits for anybody. Only for kernels in which work-items meet.
    pub one_bundle: bool,
    pub ids: Ids,
    /// Work-items of a work-group at most: the device profile's limit. Code knows that local ids are below.
    pub most_items: u32,
}

impl Variant {
    /// One sub-group after the other, of most launches.
    pub const fn new(width: u32, mapping: LaneMapping) -> Variant {
        Variant {
            width,
            wider: 1,
            mapping,
            axis: Axis::X,
            coarsening: Coarsening::Off,
            one_bundle: false,
            ids: Ids::SMALL,
            most_items: DEFAULT_MAX_GROUP_SIZE,
        }
    }

    /// The work-items of a work-group in each dimension of the code, where they are known: that of rows that is one bundle.
    pub fn known_group_size(&self) -> Option<[u32; 3]> {
        let [x, y, z] = self.coarsening.count();
        (self.one_bundle && self.mapping == LaneMapping::Rows).then_some([self.width * x, y, z])
    }

    /// The sub-groups of a work-group of this size.
    pub fn subgroups(&self, size: [u32; 3]) -> u64 {
        let [x, y, z] = size.map(u64::from);
        match self.mapping {
            LaneMapping::Ragged => x.div_ceil(self.width.into()) * y * z,
            _ => (x * y * z).div_ceil(self.width.max(1).into()),
        }
    }

    /// The same of one work-item after the other.
    pub fn alone(self, mapping: LaneMapping) -> Variant {
        Variant { width: 1, wider: 1, mapping, coarsening: Coarsening::Off, one_bundle: false, ..self }
    }

    /// The same with bundles of so many sub-groups. Smaller ones than there were do not fill a work-group.
    pub fn with_factor(self, factor: u32) -> Variant {
        let coarsening = self.coarsening.with_factor(factor);
        Variant { coarsening, one_bundle: self.one_bundle && coarsening == self.coarsening, ..self }
    }

    /// The same with sub-groups of so many lanes, up to the widest, settled. What a bundle along x has in a row becomes fewer of them.
    pub fn with_width(self, width: u32) -> Variant {
        let times = width / self.width;
        let coarsening = match self.coarsening {
            Coarsening::AlongX(factor) => {
                // A power of two, as lanes are.
                let common = times.min(1 << factor.trailing_zeros());
                Coarsening::AlongX(factor).with_factor(factor / common)
            }
            Coarsening::Whole([x, y, z]) => Coarsening::whole([x / times, y, z]),
            other => other,
        };
        Variant { width, wider: 1, coarsening, ..self }
    }

    /// The code of least effort: with the lanes that are natural, one sub-group after the other.
    pub fn simplest(self) -> Variant {
        self.with_width(self.width).with_factor(1)
    }

    /// The same that may have up to so many lanes.
    pub fn up_to(self, lanes: u32) -> Variant {
        Variant { wider: (lanes / self.width).max(1), ..self }
    }

    /// The most lanes that it may have.
    pub fn widest(&self) -> u32 {
        self.width * self.wider
    }

    /// Whether it says which code it is: it does not leave the lanes open.
    pub fn is_settled(&self) -> bool {
        self.wider == 1
    }
}

/// What lowering tells about the code that it made, beside the code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodeInfo {
    /// The entry is a [`BundleEntry`] (else a [`RangeEntry`]).
    pub has_barrier: bool,
    /// All work-groups of a launch have to be begun before one of them ends: they wait for each other.
    pub has_launch_barrier: bool,
    /// Lanes of a sub-group.
    pub width: u32,
    /// Sub-groups that the code runs side by side: those of the variant's coarsening, or 1 if that did not pay.
    pub factor: u32,
    /// Bytes of `Worker::private_memory` that each sub-group needs.
    pub private_bytes: u64,
    /// Bytes of stack that the code takes for a bundle: private variables, spilled registers. What it calls comes on
    /// top.
    pub stack_bytes: u64,
    /// Bytes of local memory, from the first to the last, that are zeroed before a work-group begins.
    pub zeroed_local: [u64; 2],
    /// Of that, what may be taken where a call through a pointer begins, so that what it calls has the rest; 0 for code
    /// without such calls.
    pub call_room: u64,
    /// Work-groups along y that are better executed before the next one along x, or 1.
    pub strip_height: u32,
    /// The code may have stores that go past the caches.
    pub streams: bool,
    /// What says how long its loops are.
    pub loop_inputs: LoopInputs,
    /// Other code that may be faster, and does the same (`exec::trial`).
    pub rivals: Rivals,
    /// Code of the fast tier than which the optimising one makes none better: it is too large for that.
    pub is_best: bool,
}

/// Which other code of a kernel may be faster.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rivals {
    /// That for one work-item after the other.
    pub alone: bool,
    /// That of sub-groups which are not in bundles.
    pub unbundled: bool,
}

impl Rivals {
    pub fn any(self) -> bool {
        self.alone || self.unbundled
    }
}

/// What says how long loops are, beside ids and sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LoopInputs {
    /// The arguments that do ([`bit`](Self::bit)).
    pub arguments: u64,
    /// Something in memory does.
    pub data: bool,
}

impl LoopInputs {
    /// The bit of an argument. Those from the 64th on share one.
    pub fn bit(argument: usize) -> u64 {
        1 << argument.min(63)
    }
}

impl Default for CodeInfo {
    fn default() -> Self {
        CodeInfo {
            has_barrier: false,
            has_launch_barrier: false,
            width: 1,
            factor: 1,
            private_bytes: 0,
            stack_bytes: 0,
            zeroed_local: [0; 2],
            call_room: 0,
            strip_height: 1,
            streams: false,
            loop_inputs: LoopInputs::default(),
            rivals: Rivals::default(),
            is_best: false,
        }
    }
}

/// The symbol of the entry point in the object code.
pub const ENTRY_SYMBOL: &str = "ze_cpu_kernel";
