//! How large things may be: every bound that more than one crate knows, or that a refusal names, with its unit and
//! its reason.
//!
//! What the intake accepts the engine compiles, so a bound has one owner, which is this file.

/// Scalars in a value that instructions compute. Each becomes a value of its own, so that LLVM's time to take such
/// a value apart grows with the square. Larger arrays and structures are for memory, and are copied there.
pub const VALUE_SCALARS: u64 = 1 << 12;

/// The newest SPIR-V version whose instructions the intake knows: major, minor.
pub const NEWEST_SPIRV: [u8; 2] = [1, 6];

/// Bytes of local memory of a work-group that a profile may promise: each thread that runs work-groups has them.
pub const LOCAL_BYTES: u32 = 16 << 20;

/// Parameters that a function has at most: a kernel's have a byte of what is passed each, and the host's device takes 4,096 of those. SPIR-V 1.2
/// §2.17 has 255 for what everybody must take.
pub const PARAMETERS: usize = 1 << 12;

/// Bytes of a kernel's arguments that a profile may promise: each launch that is recorded holds them.
pub const ARGUMENT_BYTES: u32 = 1 << 20;

/// Bytes that a launch may print by what a profile promises: they are there while it runs.
pub const PRINT_BYTES: u32 = 1 << 30;

/// Bytes of variables of one work-item. A GPU has a quarter of this.
pub const PRIVATE_BYTES: u64 = 1 << 20;

/// Work-items of a work-group that a profile may ask for. A group with a barrier has a stack for each sub-group, in
/// address space of 256 KiB each: 64 GiB with this many work-items.
pub const GROUP_ITEMS: u32 = 1 << 20;

/// Members of a type that has fewer bytes than members: types of no size whose lists somebody has to walk.
pub const EMPTY_MEMBERS: u64 = 1 << 14;

/// Nesting of types, constants and their initialisers (SPIR-V 1.2 §2.17 allows 255 structures).
pub const NESTING: u32 = 255;

/// Functions on a work-item's stack.
pub const CALL_DEPTH: usize = 1 << 14;

/// Bytes of all module-scope variables outside of local memory.
pub const GLOBAL_BYTES: u64 = 1 << 30;

/// Bytes that a kernel argument is aligned to at most: the largest type, a vector of 16 doubles.
pub const ARGUMENT_ALIGNMENT: u64 = 128;

/// Instructions of a kernel and the functions that it calls, after inlining: nothing real comes near.
pub const KERNEL_INSTRUCTIONS: u64 = 4_000_000;

/// LLVM instructions of a kernel, estimated before any is made. Code generation takes 2 to 12 microseconds and 500 to 1,090
/// bytes for each, most where all values live at once and go through the stack, so a kernel below takes seconds and stays
/// under 1 GiB.
pub const KERNEL_WORK: u64 = 900_000;

/// Blocks of a function's loops, those of inner loops counted again for each loop around them: what analyses look at
/// several times. 1,100 loops in each other have as many.
pub const LOOP_BLOCKS: u64 = 2_000_000;

/// Bits of an integer (`SPV_INTEL_arbitrary_precision_integers`). clang's `_BitInt` has no more for SPIR-V, and the compiler
/// run-time library divides and converts no wider ones, so that LLVM would make each such instruction a loop.
pub const INTEGER_BITS: u32 = 128;

/// Texels of an image in each dimension, and its layers, that a profile may ask for: coordinates as 32-bit floats still
/// tell a 256th of a texel there.
pub const IMAGE_EXTENT: u32 = 1 << 16;

/// Bytes of an image of buffer type that a profile may ask for: its texels have coordinates of 32 bits with a sign.
pub const IMAGE_BUFFER_BYTES: u64 = 1 << 30;

/// Devices of a machine (`ZE_CPU_DEVICES`): no node has more, and a device has one byte for its number in its UUID.
pub const DEVICES: u32 = 64;

/// Parts of a device that are its sub-devices (`ZE_CPU_SUBDEVICES`).
pub const SUB_DEVICES: u32 = 16;
