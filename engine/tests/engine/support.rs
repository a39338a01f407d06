//! From a module's words to a program, as the driver does it, and memory that ends where it says.

use std::path::Path;
use std::sync::Arc;
use ze_engine::abi::{Rivals, Variant};
use ze_engine::analysis::inlining::Inlining;
use ze_engine::jit::Context;
use ze_engine::jit::hash::digest;
use ze_engine::jit::pipeline::Tier;
use ze_engine::jit::target::{Isa, Target};
use ze_engine::lower::{self, Options};
use ze_engine::{Dispatch, Engine, EngineConfig, Program};

/// What the intake makes of a module for a device of the host's profile.
pub fn built(bytes: &[u8]) -> Result<spirv_env::Module, String> {
    let profile = ze_extensions::DeviceProfile::host();
    let environment = spirv_env::Environment::new(&profile).with_engine(&Engine::supports);
    let module = spirv_env::build(&[spirv_env::ModuleInput::new(bytes)], &environment);
    module.map_err(|error| error.to_string())
}

/// A valid module in an engine.
pub fn load(engine: &Arc<Engine>, bytes: &[u8]) -> Arc<Program> {
    let module = built(bytes).unwrap_or_else(|error| panic!("{error}"));
    engine.load(Arc::new(module), digest(&[bytes])).unwrap_or_else(|error| panic!("{error}"))
}

/// The module of a file of `tests/kernels`.
pub fn file(module: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/kernels");
    std::fs::read(folder.join(module).with_extension("spv")).expect("a test kernel")
}

/// Whether one work-item after the other may be a rival of a variant of a kernel.
pub fn has_rival(module: &str, kernel: &str, variant: Variant, tier: Tier, target: &Target) -> bool {
    rivals(module, kernel, variant, tier, target).alone
}

/// The rivals that a variant of a kernel of a test module may have, as its code says.
pub fn rivals(module: &str, kernel: &str, variant: Variant, tier: Tier, target: &Target) -> Rivals {
    let module = built(&file(module)).expect("valid");
    let kernel = module.kernel(kernel).expect("the module has it");
    let (context, inlining) = (Context::new(), Inlining::default());
    let lowered = lower::lower_with(&module, kernel, variant, inlining, Options::of(tier), target, &context);
    lowered.expect("lowered").1.rivals
}

/// Bytes that end at a page nobody may touch.
pub struct Guarded {
    map: *mut u8,
    map_bytes: usize,
    start: usize,
    bytes: usize,
}

pub const PAGE: usize = 4096;

impl Guarded {
    pub fn new(bytes: usize) -> Guarded {
        let room = bytes.next_multiple_of(PAGE);
        let map_bytes = room + 2 * PAGE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a fresh mapping, of which the middle is made accessible.
        let map = unsafe {
            let map = libc::mmap(std::ptr::null_mut(), map_bytes, libc::PROT_NONE, flags, -1, 0).cast::<u8>();
            let rights = libc::PROT_READ | libc::PROT_WRITE;
            assert_eq!(libc::mprotect(map.add(PAGE).cast(), room, rights), 0);
            map
        };
        Guarded { map, map_bytes, start: PAGE + room - bytes, bytes }
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: accessible memory of the mapping, which lives as long as this.
        unsafe { std::slice::from_raw_parts(self.map.add(self.start), self.bytes) }
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.map.add(self.start), self.bytes) }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the whole mapping, which nobody uses any more.
        unsafe { libc::munmap(self.map.cast(), self.map_bytes) };
    }
}

/// Has a module of `tests/kernels` checked in code for this processor, and for such with fewer instructions, whose name it is told.
pub fn on_all_processors(module: &str, threads: usize, check: impl Fn(&Arc<Program>, &str)) {
    for isa in [None, Some(Isa::Avx512), Some(Isa::Avx2), Some(Isa::Sse)] {
        if isa == Some(Isa::Avx512) && !is_x86_feature_detected!("avx512vl") {
            continue;
        }
        let engine = Engine::new(EngineConfig { threads, isa, ..EngineConfig::default() });
        check(&load(&engine, &file(module)), &format!("{isa:?}"));
    }
}

/// Launches a kernel with these arguments, each of as many bytes as the kernel takes.
pub fn launch(program: &Arc<Program>, kernel: &str, counts: [u32; 2], sizes: [u32; 2], values: &[u64]) {
    launch_3d(program, kernel, [counts[0], counts[1], 1], [sizes[0], sizes[1], 1], values);
}

/// The same in three dimensions.
pub fn launch_3d(
    program: &Arc<Program>,
    kernel: &str,
    group_count: [u32; 3],
    group_size: [u32; 3],
    values: &[u64],
) {
    let kernel = program.kernel(kernel).expect("the module has it");
    let reflection = kernel.reflection();
    let mut args = vec![0; reflection.arg_block_size as usize];
    assert_eq!(reflection.args.len(), values.len());
    for (place, value) in reflection.args.iter().zip(values) {
        let bytes = place.size as usize;
        args[place.offset as usize..][..bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
    }
    let dispatch = Dispatch { group_count, group_size, global_offset: [0; 3], args: &args };
    kernel.launch(&dispatch).expect("launches");
}

/// Where a slice is, as an argument.
pub fn address<T>(slice: &[T]) -> u64 {
    slice.as_ptr() as u64
}

/// Memory for the sum of any two indices of 32 bits, of which little is used.
pub struct Sparse(*mut u8);

const SPARSE_BYTES: usize = 2 << 32;

impl Sparse {
    pub fn new() -> Sparse {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: new memory anywhere.
        let at = unsafe {
            libc::mmap(std::ptr::null_mut(), SPARSE_BYTES, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
        };
        assert_ne!(at, libc::MAP_FAILED);
        Sparse(at.cast())
    }

    pub fn start(&self) -> *const u8 {
        self.0
    }

    pub fn get(&self, index: u64) -> u8 {
        assert!(index < SPARSE_BYTES as u64);
        // SAFETY: the index is inside.
        unsafe { self.0.add(index as usize).read() }
    }

    pub fn set(&self, index: u64, value: u8) {
        assert!(index < SPARSE_BYTES as u64);
        // SAFETY: the index is inside, and nobody has a reference to it.
        unsafe { self.0.add(index as usize).write(value) }
    }
}

impl Drop for Sparse {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nobody has a reference any more.
        unsafe { libc::munmap(self.0.cast(), SPARSE_BYTES) };
    }
}
