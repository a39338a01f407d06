//! The engine: one for a process, shared by all devices, contexts and queues.

use crate::analysis::inlining::Inlining;
use crate::background::Background;
use crate::error::EngineError;
use crate::exec::Scheduler;
use crate::fork::{self, OnceLock};
use crate::jit::JitError;
use crate::jit::cache::Cache;
use crate::jit::dump::DumpConfig;
use crate::jit::hash::Digest;
use crate::jit::pipeline::Tiering;
use crate::jit::target::{Isa, Target};
use crate::lower;
use crate::program::{LinkedPart, Program};
use spirv_env::{Inst, Module};
use std::path::PathBuf;
use std::sync::Arc;

/// Bound of the code cache on disk unless the configuration says another, in bytes.
pub const DEFAULT_CACHE_BYTES: u64 = 512 << 20;

/// Most work-items of a work-group unless the configuration says another.
pub const DEFAULT_MAX_GROUP_SIZE: u32 = 1024;

/// Local memory of a work-group unless the configuration says another, in bytes.
pub const DEFAULT_MAX_LOCAL_BYTES: u64 = 128 << 10;

/// What one launch may print unless the configuration says another, in bytes of its arguments.
pub const DEFAULT_PRINT_BYTES: u32 = 4 << 20;

/// How an [`Engine`] works.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// Threads that run a kernel, the launching one included. 0 means as many as the process may use.
    pub threads: usize,
    /// What to write to files for people.
    pub dump: Option<DumpConfig>,
    /// Where compiled code is kept between processes; `None` keeps none.
    /// [`default_dir`](crate::jit::cache::default_dir) has the usual place.
    pub cache_dir: Option<PathBuf>,
    /// Bound of that folder, in bytes.
    pub cache_bytes: u64,
    /// How much time goes into making code.
    pub tiering: Tiering,
    /// Makes code for a lesser CPU than the host.
    pub isa: Option<Isa>,
    /// Most work-items of a work-group: the device profile's limit, as what follows.
    pub max_group_size: u32,
    /// Most work-items of a work-group in each dimension.
    pub max_group_dimensions: [u32; 3],
    /// Most work-groups of a launch in each dimension.
    pub max_group_count: [u32; 3],
    /// Local memory of a work-group, in bytes.
    pub max_local_bytes: u64,
    /// Bytes of what a launch reads and writes that the caches keep; 0 for what this machine's do, on processors whose stores are worth it. Results do
    /// not depend on it: other than the default is for tests.
    pub kept_by_caches: u64,
    /// What one launch may print, in bytes of its arguments.
    pub print_bytes: u32,
    /// Which calls stay calls. Results do not depend on it: other than the default is for tests.
    pub inlining: Inlining,
    /// Small work-groups are executed together where a kernel cannot tell. Results do not depend on it: off is for tests.
    pub joins_groups: bool,
}

impl Default for EngineConfig {
    fn default() -> EngineConfig {
        EngineConfig {
            threads: 0,
            dump: None,
            cache_dir: None,
            cache_bytes: DEFAULT_CACHE_BYTES,
            tiering: Tiering::default(),
            isa: None,
            max_group_size: DEFAULT_MAX_GROUP_SIZE,
            max_group_dimensions: [u32::MAX; 3],
            max_group_count: [u32::MAX; 3],
            max_local_bytes: DEFAULT_MAX_LOCAL_BYTES,
            kept_by_caches: 0,
            print_bytes: DEFAULT_PRINT_BYTES,
            inlining: Inlining::default(),
            joins_groups: true,
        }
    }
}

/// The CPU execution engine. Creating one is cheap: code generator and threads start when first needed.
pub struct Engine {
    config: EngineConfig,
    target: OnceLock<Result<Target, JitError>>,
    cache: Option<Cache>,
    scheduler: Scheduler,
    background: Arc<Background>,
}

impl Engine {
    pub fn new(config: EngineConfig) -> Arc<Engine> {
        fork::watch();
        let threads = match config.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let cache = config.cache_dir.clone().map(|dir| Cache::new(dir, config.cache_bytes));
        let scheduler = match config.kept_by_caches {
            0 => Scheduler::new(threads),
            bytes => Scheduler::new(threads).keeping(bytes),
        };
        let background = Arc::default();
        Arc::new(Engine { target: OnceLock::new(), cache, scheduler, background, config })
    }

    /// Gives a validated module its storage. `module_key` is a hash of everything that the module was made
    /// from (bytes, specialization, build options): [`digest`](crate::jit::hash::digest) makes one.
    pub fn load(
        self: &Arc<Engine>,
        module: Arc<Module>,
        module_key: Digest,
    ) -> Result<Arc<Program>, EngineError> {
        self.link(module, module_key, &[])
    }

    /// As [`load`](Self::load), for a module that was built from the inputs of the modules of `parts`, one part after the
    /// other: all of them share their variables.
    pub fn link(
        self: &Arc<Engine>,
        module: Arc<Module>,
        module_key: Digest,
        parts: &[LinkedPart<'_>],
    ) -> Result<Arc<Program>, EngineError> {
        Program::link(Arc::clone(self), module, module_key, parts)
    }

    /// Whether the engine can lower an instruction of the module; if not, what it is that it cannot.
    pub fn supports(module: &Module, inst: &Inst) -> Result<(), String> {
        lower::supports(module, inst)
    }

    pub fn config(&self) -> &EngineConfig {
        &self.config
    }

    /// The CPU that code is made for.
    pub fn target(&self) -> Result<&Target, JitError> {
        let target = self.target.get_or_init(|| {
            let mut target = match self.config.isa {
                Some(isa) => Target::limited(isa)?,
                None => Target::host()?,
            };
            target.streams_stores |= self.config.kept_by_caches > 0;
            Ok(target)
        });
        target.as_ref().map_err(Clone::clone)
    }

    /// Threads that run a kernel, the launching one included.
    pub fn threads(&self) -> usize {
        self.scheduler.threads()
    }

    pub(crate) fn cache(&self) -> Option<&Cache> {
        self.cache.as_ref()
    }

    pub(crate) fn background(&self) -> &Arc<Background> {
        &self.background
    }

    pub(crate) fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }
}
