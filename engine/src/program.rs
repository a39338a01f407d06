//! A loaded module and its kernels: storage of module-scope variables, compiled variants.

use crate::abi::{Axis, Coarsening, CodeInfo, Ids, LaneMapping, MOST_SUBGROUPS, Rivals, RowLengths, Variant};
use crate::engine::{DEFAULT_MAX_GROUP_SIZE, Engine};
use crate::error::EngineError;
use crate::exec::promotion::Promotion;
use crate::exec::trial::{Rival, Trial};
use crate::exec::{Code, group_size};
use crate::fork::{RwLock, Slow};
use crate::globals::{Globals, Part};
use crate::jit::cache::{CachedCode, driver_id};
use crate::jit::hash::{Digest, Hasher};
use crate::jit::pipeline::{Loops, Tier, Tiering};
use crate::jit::target::Target;
use crate::jit::{Context, JitError, choice, debug_file, isolate, load, pipeline, symbols};
use crate::lower::{self, Form, Options, Single, SourceLines};
use crate::pointers::{self, FunctionPointers};
use crate::reserve;
use spirv_env::Module;
use std::sync::{Arc, Weak};
use std::time::Instant;

mod forms;

pub use forms::Executed;

/// A module that kernels can be taken from.
pub struct Program {
    engine: Arc<Engine>,
    module: Arc<Module>,
    key: Digest,
    globals: Arc<Globals>,
    pointers: Arc<FunctionPointers>,
    /// Compiled code of each of the module's kernels, in their order.
    compiled: Vec<Variants>,
}

/// A program that another one is linked from.
#[derive(Clone, Copy)]
pub struct LinkedPart<'a> {
    pub program: &'a Program,
    /// Whether its own imports were linked before: its variables then have their values, which linking does not change.
    pub linked: bool,
}

/// Copies of object code that there must be memory for.
const COPIES_OF_CODE: usize = 4;

/// Work-items that a sub-group has at least where a kernel sees it and says no size: libraries have code and buffers for sub-groups of 16
/// (oneDAL, llama.cpp).
const EXPECTED_WIDTH: u32 = 16;

/// Rows of required work-groups that are sub-groups of their own.
const ROW_OF_A_SUBGROUP: u32 = 8;
/// Most applications that do not say which work-group size they will use take a power of two about this.
const LIKELY_GROUP: u32 = 256;

/// The size of a kernel without loops from which on several sub-groups side by side may pay.
const LONG: u32 = 48;

/// The size of a kernel with loops up to which first code has several sub-groups side by side, if they pay, and how many.
const SHORT: u32 = 96;
const FEW_SUBGROUPS: u32 = 4;

/// Which code of a kernel.
type Kind = (Variant, Tier);

/// The compiled variants of a kernel. Few, so a list.
#[derive(Default)]
struct Variants {
    code: RwLock<Vec<(Kind, Arc<Slot>)>>,
    /// The variant that serves the kernel best, for each with the largest factor.
    settled: RwLock<Vec<(Variant, Variant)>>,
    /// How work-items are best put together in sub-groups.
    form: Slow<Form>,
}

/// A variant that is compiled, or about to be by whoever came first.
#[derive(Default)]
struct Slot(Slow<Result<Arc<Code>, EngineError>>);

impl Program {
    pub(crate) fn link(
        engine: Arc<Engine>,
        module: Arc<Module>,
        key: Digest,
        parts: &[LinkedPart<'_>],
    ) -> Result<Arc<Program>, EngineError> {
        crate::analysis::work::check(&module)?;
        let addressed = parts
            .iter()
            .map(|part| pointers::Part { module: &part.program.module, pointers: &part.program.pointers });
        let pointers = FunctionPointers::new(&module, &addressed.collect::<Vec<_>>()).ok_or_else(|| {
            EngineError::OutOfHostMemory {
                kernel: String::new(),
                reason: "a table of functions could not be allocated".into(),
            }
        })?;
        let parts = parts.iter().map(|&LinkedPart { program, linked }| Part {
            module: &program.module,
            globals: &program.globals,
            linked,
        });
        let globals = Arc::new(Globals::load(&module, &parts.collect::<Vec<_>>(), &pointers)?);
        let compiled = module.kernels.iter().map(|_| Variants::default()).collect();
        Ok(Arc::new(Program { engine, module, key, globals, pointers: Arc::new(pointers), compiled }))
    }

    /// The kernel with this name.
    pub fn kernel(self: &Arc<Program>, name: &str) -> Option<Arc<Kernel>> {
        let at = self.module.kernels.iter().position(|kernel| kernel.name == name)?;
        Some(Arc::new(Kernel { program: Arc::clone(self), at }))
    }

    pub fn kernel_names(&self) -> impl Iterator<Item = &str> {
        self.module.kernels.iter().map(|kernel| kernel.name.as_str())
    }

    /// Address and size in bytes of a module-scope variable, by its exported name.
    pub fn global(&self, name: &str) -> Option<(*mut u8, usize)> {
        self.globals.by_name(name)
    }

    /// What a pointer to the function with this name holds, in all kernels of the program; none if it has no such
    /// function, or nobody may have its address.
    pub fn function_pointer(&self, name: &str) -> Option<u64> {
        self.pointers.by_name(name)
    }

    /// Start and size in bytes of the memory that holds all module-scope variables but those of other programs.
    pub fn global_memory(&self) -> (*mut u8, usize) {
        self.globals.memory()
    }

    /// An ELF file with DWARF that describes the code of these kernels as it is in memory now: its addresses, functions and
    /// source lines. A kernel that has no code yet gets what a launch will most likely want.
    ///
    /// Takes as long as compiling that code did. What cannot be described is left out.
    pub fn debug_info(self: &Arc<Program>, wanted: impl Fn(&str) -> bool) -> Result<Vec<u8>, EngineError> {
        let mut described = Vec::new();
        for (at, kernel) in self.module.kernels.iter().enumerate().filter(|(_, kernel)| wanted(&kernel.name))
        {
            let this = Kernel { program: Arc::clone(self), at };
            for code in this.codes()? {
                if let Some((name, object)) = this.described(&code)? {
                    described.push((name, &kernel.name, object, code));
                }
            }
        }
        let pieces = described.iter().map(|(name, kernel, object, code)| debug_file::Piece {
            name: name.clone(),
            kernel,
            object,
            code: code.loaded(),
        });
        debug_file::write(&pieces.collect::<Vec<_>>()).map_err(|error| code_generation("", error))
    }

    pub(crate) fn globals(&self) -> &Arc<Globals> {
        &self.globals
    }

    pub fn module(&self) -> &Arc<Module> {
        &self.module
    }

    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The hash of everything that the module was made from, as it was given when it was loaded.
    pub fn key(&self) -> &Digest {
        &self.key
    }

    fn resolve(&self, symbol: &str) -> Option<usize> {
        if symbol == symbols::LOOKUP {
            return Some(std::ptr::from_ref(self.pointers.lookup()) as usize);
        }
        match (symbols::global_id(symbol), symbols::pointer_id(symbol)) {
            (Some(id), _) => self.globals.address(id),
            (None, Some(function)) => self.pointers.address(function).map(|address| address as usize),
            (None, None) => symbols::function_address(symbol),
        }
    }
}

/// A kernel of a program. Cheap to make: compiled code belongs to the program.
pub struct Kernel {
    program: Arc<Program>,
    at: usize,
}

impl Kernel {
    pub fn reflection(&self) -> &spirv_env::Kernel {
        &self.program.module.kernels[self.at]
    }

    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Bytes of values that a work-item holds at once, at most (`spirv_env::live_values`).
    pub fn most_live_bytes(&self) -> u64 {
        spirv_env::live_values::most_live_bytes(&self.program.module, self.reflection())
    }

    /// Work-items of a sub-group: what the kernel requires, else the CPU's natural width, if the device has sub-groups of that size. What sees its
    /// sub-groups was written where they have 16 work-items at least, unless it says another size: recent GPUs have no smaller ones.
    pub fn subgroup_size(&self) -> u32 {
        let kernel = self.reflection();
        let natural = self.program.engine.target().map_or(8, |target| target.natural_width());
        let sizes = kernel.subgroup_sizes.as_slice();
        let natural = if kernel.sees_width() { natural.max(EXPECTED_WIDTH) } else { natural };
        let natural =
            sizes.iter().find(|size| **size >= natural).or(sizes.last()).copied().unwrap_or(natural);
        let has = |size: &u32| sizes.contains(size);
        // Where the number of sub-groups is given as well as the work-items, it is their quotient.
        let quotient = || {
            let items = kernel.required_group_size?.into_iter().fold(1u32, u32::saturating_mul);
            let wanted = kernel.required_subgroups()?;
            [natural].iter().chain(sizes).copied().find(|width| items.div_ceil(*width) == wanted)
        };
        // Who exchanges values within rows of eight, and says so, relies on sub-groups that are rows, as they are on GPUs which have a choice.
        let is_row = kernel.required_group_size.is_some_and(|[x, y, z]| x == ROW_OF_A_SUBGROUP && y * z > 1);
        let row = (is_row && kernel.sees_width() && natural > ROW_OF_A_SUBGROUP).then_some(ROW_OF_A_SUBGROUP);
        // Who exchanges values with lanes that only larger sub-groups have relies on those.
        let larger = || {
            let mut larger = sizes.iter().filter(|size| **size > natural);
            larger.find(|size| (natural + 1..=**size).contains(&kernel.least_lanes)).copied()
        };
        let chosen = kernel.required_subgroup_size.or_else(quotient).or_else(larger);
        chosen.or(row.filter(has)).unwrap_or(natural)
    }

    /// Most work-items of a work-group of this kernel.
    pub fn max_group_size(&self) -> u32 {
        let limit = self.program.engine.config().max_group_size;
        match self.reflection().required_group_size {
            Some(size) => size.into_iter().fold(1u32, u32::saturating_mul).min(limit),
            None => {
                let most = self.reflection().max_group_size();
                let subgroups = self.reflection().required_subgroups();
                let items = subgroups.map(|count| count.saturating_mul(self.subgroup_size()));
                let product = most.map(|size| size.into_iter().fold(1u32, u32::saturating_mul));
                limit.min(product.unwrap_or(limit)).min(items.unwrap_or(limit)).max(1)
            }
        }
    }

    /// A good group size for a global size: it divides it, fills sub-groups, and leaves work for all threads.
    pub fn suggest_group_size(&self, global: [u64; 3]) -> [u32; 3] {
        let kernel = self.reflection();
        if let Some(size) = kernel.required_group_size {
            return size;
        }
        // So many sub-groups fill a row, or the launch will say why not.
        if kernel.required_subgroups().is_some() {
            return [self.max_group_size(), 1, 1];
        }
        let preferences = group_size::Preferences {
            max_items: self.max_group_size(),
            width: self.subgroup_size(),
            threads: self.program.engine.threads() as u64,
            hint: kernel.group_size_hint,
        };
        let size = group_size::suggest(global, &preferences);
        match kernel.max_group_size() {
            Some(most) if size.iter().zip(most).any(|(size, most)| *size > most) => {
                group_size::within(global, most, preferences.max_items)
            }
            _ => size,
        }
    }

    /// Which code runs groups of this size, while all ids are below 2^31.
    pub fn variant(&self, group_size: [u32; 3]) -> Variant {
        let kernel = self.reflection();
        let width = self.subgroup_size();
        let variant = if kernel.sees_width() {
            group_size::fixed_width(group_size, width)
        } else {
            group_size::best_width(group_size, width, kernel.uses_barrier)
        };
        let variant = Variant { most_items: self.program.engine.config().max_group_size, ..variant };
        // What a work-item does alone, it does in loops.
        if variant.width == 1 && kernel.has_loops {
            return variant.alone(LaneMapping::Iterations);
        }
        // Straight code gains from several sub-groups side by side only where they go through columns together or much of it waits for
        // the rest; code that prints never.
        let is_long = || {
            let target = self.program.engine.target();
            kernel.size >= LONG && target.is_ok_and(|target| target.make.interleaves_chains())
        };
        let repeats = kernel.uses_barrier || kernel.has_loops || group_size[1] > 1 || is_long();
        let widest = match self.may_widen() {
            true => group_size::widest(variant, group_size, self.most_lanes()),
            false => variant.width,
        };
        let variant = if repeats && !kernel.prints {
            let line = self.program.engine.target().ok().and_then(Target::lanes_of_a_line);
            let widest = line.unwrap_or_default().clamp(variant.width, widest);
            group_size::coarsened(variant, group_size, kernel.uses_barrier, widest)
        } else {
            variant
        };
        let one_bundle = kernel.uses_barrier && group_size::is_one_bundle(variant, group_size);
        Variant { one_bundle, ..variant.up_to(widest) }
    }

    /// Compiles the code for groups of this size, if that has not been done.
    pub fn prepare(&self, group_size: [u32; 3]) -> Result<(), EngineError> {
        self.code(self.variant(group_size)).map(drop)
    }

    /// The code that a launch will most likely want.
    fn likely_variant(&self) -> Variant {
        let kernel = self.reflection();
        let size = kernel.required_group_size.or(kernel.group_size_hint);
        let size = size.unwrap_or([LIKELY_GROUP.max(self.subgroup_size()), 1, 1]);
        // Rows of grids are multiples of vectors more often than not.
        let rows = self.row_lengths(size, |_, _| true);
        let variant = self.variant(size);
        Variant { ids: Ids { rows, ..variant.ids }, ..variant }
    }

    /// All code that the kernel has in memory, or else the code that a launch will most likely want.
    fn codes(&self) -> Result<Vec<Arc<Code>>, EngineError> {
        let mut codes: Vec<Arc<Code>> = Vec::new();
        for (_, slot) in self.program.compiled[self.at].code.read().iter() {
            // Variants share code.
            if let Some(Ok(code)) = slot.0.get()
                && !codes.iter().any(|known| std::ptr::eq(known.loaded(), code.loaded()))
            {
                codes.push(Arc::clone(code));
            }
        }
        if codes.is_empty() {
            codes.push(self.code(self.likely_variant())?);
        }
        Ok(codes)
    }

    /// A name for code of the kernel, and an object with debug information that is this code.
    fn described(&self, code: &Code) -> Result<Option<(String, Vec<u8>)>, EngineError> {
        let name = format!("{}.{}", self.reflection().name, variant_name(code.variant()));
        for (tier, suffix) in [(Tier::Optimising, ""), (Tier::Fast, "-fast")] {
            let made = self.make_object_with(code.variant(), tier, SourceLines::Recorded)?;
            if debug_file::is_code_of(&made.object, code.loaded()) {
                return Ok(Some((name + suffix, made.object)));
            }
        }
        tracing::debug!("{name}: compiled again, the code is another");
        Ok(None)
    }

    /// Compiles, without waiting for it, the code that a launch will most likely want, if that costs the
    /// caller next to nothing: the thread pool is running, or the code is in the cache.
    pub fn prepare_likely(self: &Arc<Kernel>) {
        let variant = self.likely_variant();
        let this = Arc::clone(self);
        let prepare = move || {
            if let Err(error) = this.code(variant) {
                // The launch that needs it fails with the same error.
                tracing::debug!("{error}");
            }
        };
        let engine = &self.program.engine;
        if let Err(prepare) = engine.scheduler().in_background(prepare) {
            let has = |tier| {
                let key = self.cache_key(variant, tier);
                engine.cache().zip(key.ok()).is_some_and(|(cache, key)| cache.contains(&key))
            };
            if has(Tier::Optimising) || has(self.first_tier()) {
                prepare();
            }
        }
    }

    /// The variant's code, which is compiled first if it is not there yet.
    pub(crate) fn code(&self, variant: Variant) -> Result<Arc<Code>, EngineError> {
        let code = self.code_of(variant, self.first_tier())?;
        Ok(Arc::clone(code.newest()))
    }

    fn first_tier(&self) -> Tier {
        match self.program.engine.config().tiering {
            Tiering::Only(tier) => tier,
            Tiering::FastFirst => Tier::Fast,
        }
    }

    /// A tier's code of a variant. Threads that want the same at the same time wait for one compilation.
    fn code_of(&self, variant: Variant, tier: Tier) -> Result<Arc<Code>, EngineError> {
        let slot = self.slot(variant, tier);
        let is_first = tier == Tier::Fast && self.program.engine.config().tiering == Tiering::FastFirst;
        let compile = || if is_first { self.compile_first(variant) } else { self.compile(variant, tier) };
        let code = slot.0.get_or_init(compile).clone();
        if let Err(EngineError::OutOfHostMemory { .. }) = code {
            // There may be memory the next time.
            let mut variants = self.program.compiled[self.at].code.write();
            variants.retain(|(_, other)| !Arc::ptr_eq(other, &slot));
        }
        code
    }

    fn slot(&self, variant: Variant, tier: Tier) -> Arc<Slot> {
        let variants = &self.program.compiled[self.at].code;
        let find = |variants: &[(Kind, Arc<Slot>)]| {
            variants.iter().find(|(of, _)| *of == (variant, tier)).map(|(_, slot)| Arc::clone(slot))
        };
        if let Some(slot) = find(&variants.read()) {
            return slot;
        }
        let mut variants = variants.write();
        find(&variants).unwrap_or_else(|| {
            let slot = Arc::new(Slot::default());
            variants.push(((variant, tier), Arc::clone(&slot)));
            slot
        })
    }

    /// The variant whose code serves launches of this one: with as many lanes, and as many sub-groups side by side, as pay.
    fn settled(&self, variant: Variant) -> Result<Variant, EngineError> {
        if variant.coarsening == Coarsening::Off && variant.is_settled() {
            return Ok(variant);
        }
        // What fills a work-group is worth more than what does not, and only some bundles divide others.
        let factor = variant.coarsening.factor();
        let is_own = variant.one_bundle || !factor.is_power_of_two();
        let largest = if is_own { variant } else { variant.with_factor(MOST_SUBGROUPS) };
        let settled = &self.program.compiled[self.at].settled;
        let known = settled.read().iter().find(|(of, _)| *of == largest).map(|(_, best)| *best);
        let best = match known {
            Some(best) => best,
            None => {
                let best = self.best_variant(largest)?;
                settled.write().push((largest, best));
                best
            }
        };
        let wide = variant.with_width(best.width);
        Ok(wide.with_factor(best.coarsening.factor().min(wide.coarsening.factor())))
    }

    fn best_variant(&self, variant: Variant) -> Result<Variant, EngineError> {
        self.isolated(move |program, kernel, target| {
            let inlining = program.engine.config().inlining;
            lower::best_variant(&program.module, kernel, variant, inlining, target)
        })
    }

    /// Runs a part of the compiler on a thread of its own, with the machine that code is made for.
    fn isolated<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Program, &spirv_env::Kernel, &Target) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, EngineError> {
        let (program, at) = (Arc::clone(&self.program), self.at);
        let name = self.reflection().name.clone();
        let on_thread = move || {
            let kernel = &program.module.kernels[at];
            let target = program.engine.target().map_err(|error| code_generation(&kernel.name, error))?;
            work(&program, kernel, target)
        };
        isolate::run_mapped(&self.reflection().name, on_thread, move |error| code_generation(&name, error))
    }

    /// The variant of the first code. Sub-groups side by side take longer to compile, and nobody has found out yet whether they pay; but a loop of few
    /// instructions is compiled in no time, and most of a first launch may be spent in it. A product of matrices takes 0.7 of the time until its first result so.
    fn first_variant(&self, variant: Variant) -> Variant {
        let kernel = self.reflection();
        let alone = variant.simplest();
        if !kernel.has_loops || kernel.uses_barrier || kernel.size > SHORT || variant == alone {
            return alone;
        }
        match self.settled(variant) {
            Ok(settled) if settled.coarsening.factor() <= FEW_SUBGROUPS => settled,
            _ => alone,
        }
    }

    /// Code of the fast tier, which asks for better code; the latter if it is in the cache.
    fn compile_first(&self, variant: Variant) -> Result<Arc<Code>, EngineError> {
        let failed = |error: JitError| code_generation(&self.reflection().name, error);
        let key = self.cache_key(variant, Tier::Optimising).map_err(failed)?;
        match self.cached(variant, &key) {
            Some(Cached::Code(code)) => return Ok(code),
            Some(Cached::Settled(settled)) => return self.code_of(settled, Tier::Optimising),
            None => {}
        }
        let first = self.first_variant(variant);
        let code = match first == variant {
            true => self.compile(variant, Tier::Fast),
            false => self.code_of(first, Tier::Fast),
        };
        let code = match code {
            // The other tier selects instructions in another way.
            Err(error @ EngineError::CodeGeneration { .. }) => {
                tracing::error!("without the fast tier: {error}");
                return self.code_of(variant, Tier::Optimising);
            }
            code => code?,
        };
        // How many work-groups can be in flight at once depends on the code, and must not change.
        if code.info().has_launch_barrier {
            return self.code_of(variant, Tier::Optimising);
        }
        if code.info().is_best {
            return Ok(code);
        }
        let (program, at) = (Arc::downgrade(&self.program), self.at);
        let promotion = Promotion::new(in_background(program, at, move |kernel| kernel.promote(variant)));
        Ok(Arc::new(code.with_promotion(promotion)))
    }

    /// Has launches of the variant run code of the optimising tier from now on.
    fn promote(&self, variant: Variant) {
        let first = self.slot(variant, Tier::Fast);
        match (first.0.get(), self.code_of(variant, Tier::Optimising)) {
            (Some(Ok(first)), Ok(better)) => {
                first.promotion().into_iter().for_each(|promotion| promotion.give(Arc::clone(&better)));
            }
            (_, Err(error)) => tracing::debug!("the fast tier's code stays: {error}"),
            _ => {}
        }
    }

    fn compile(&self, variant: Variant, tier: Tier) -> Result<Arc<Code>, EngineError> {
        let engine = &self.program.engine;
        let failed = |error: JitError| code_generation(&self.reflection().name, error);
        let key = self.cache_key(variant, tier).map_err(failed)?;
        match self.cached(variant, &key) {
            Some(Cached::Code(code)) => return Ok(code),
            Some(Cached::Settled(settled)) => return self.code_of(settled, tier),
            None => {}
        }
        let settled = self.settled(variant)?;
        if settled != variant {
            let code = self.code_of(settled, tier)?;
            if let Some(cache) = engine.cache() {
                cache.put(&key, &settled_entry(settled));
            }
            return Ok(code);
        }
        let start = Instant::now();
        let entry = self.make_object(variant, tier)?;
        tracing::debug!(
            "kernel '{}' {variant:?} {tier:?}: {} bytes in {:?}",
            self.reflection().name,
            entry.object.len(),
            start.elapsed()
        );
        // It is copied to where it runs, and into the cache.
        if !reserve::has_room(entry.object.len().saturating_mul(COPIES_OF_CODE)) {
            return Err(failed(JitError::Memory(std::io::ErrorKind::OutOfMemory)));
        }
        let code = self.load_code(&entry, variant).map_err(failed)?;
        if let Some(cache) = engine.cache() {
            cache.put(&key, &entry);
        }
        Ok(Arc::new(code))
    }

    /// What the cache on disk has for a variant: nothing is analysed to find out.
    fn cached(&self, variant: Variant, key: &Digest) -> Option<Cached> {
        let engine = &self.program.engine;
        // What is read from the cache has no IR to dump.
        if engine.config().dump.as_ref().is_some_and(|dump| dump.ir || dump.asm) {
            return None;
        }
        let cache = engine.cache()?;
        let entry = cache.get(key)?;
        if entry.object.is_empty() {
            if !(variant.width..=variant.widest()).contains(&entry.info.width) {
                return None;
            }
            let settled = variant.with_width(entry.info.width).with_factor(entry.info.factor);
            return (settled != variant).then_some(Cached::Settled(settled));
        }
        match self.load_code(&entry, variant) {
            Ok(code) => Some(Cached::Code(Arc::new(code))),
            Err(error) => {
                // A library may have changed since. Compiling again settles it.
                tracing::info!("kernel '{}' from the code cache: {error}", self.reflection().name);
                cache.remove(key);
                None
            }
        }
    }

    fn make_object(&self, variant: Variant, tier: Tier) -> Result<CachedCode, EngineError> {
        self.make_object_with(variant, tier, SourceLines::Unknown)
    }

    fn make_object_with(
        &self,
        variant: Variant,
        tier: Tier,
        lines: SourceLines,
    ) -> Result<CachedCode, EngineError> {
        self.isolated(move |program, kernel, target| {
            let config = program.engine.config();
            let of_tier = if tier == Tier::Fast { "-fast" } else { "" };
            let (module, inlining) = (&program.module, config.inlining);
            // Who reads dumps has seen this code.
            let dump = config.dump.as_ref().filter(|_| lines == SourceLines::Unknown);
            let failed = |error| code_generation(&kernel.name, error);
            let context = Context::new();
            let options = Options { lines, ..Options::of(tier) };
            // The IR that code is made of, if it is what it is to be.
            let make = |variant: Variant, loops: Loops| {
                let name = format!("{}.{}{of_tier}", kernel.name, variant_name(variant));
                let (ir, info, calls) =
                    lower::lower_with(module, kernel, variant, inlining, options, target, &context)?;
                let is_large = tier == Tier::Fast && pipeline::is_without_passes(&ir, target);
                let optimised = || {
                    if let Some(dump) = dump {
                        dump.ir(&name, "lowered", || ir.text());
                    }
                    ir.verify()?;
                    let serves = pipeline::optimise_loops(&ir, target, tier, loops)?;
                    if let Some(dump) = dump {
                        dump.ir(&name, "optimised", || ir.text());
                        dump.asm(&name, || pipeline::assembly(&ir, target, tier));
                    }
                    Ok(serves)
                };
                let serves = optimised().map_err(failed)?;
                let info = CodeInfo { is_best: is_large && pipeline::is_without_code(&ir, target), ..info };
                Ok::<_, EngineError>(((ir, info, calls), serves))
            };
            let of_items = || {
                let loops = match (variant.width, variant.mapping) {
                    (_, LaneMapping::Iterations) => Loops::Vectorised,
                    (1, _) => Loops::Rolled,
                    _ => Loops::Kept,
                };
                make(variant, loops).map(|(made, _)| made)
            };
            let single = match tier {
                Tier::Optimising => lower::single(module, kernel, variant, inlining, target)?,
                Tier::Fast => None,
            };
            let of_single = match &single {
                Some(Single::Iterations(_)) => {
                    let (made, serves) = make(variant.alone(LaneMapping::Iterations), Loops::Vectorised)?;
                    serves.then_some(made)
                }
                Some(Single::Scalars) => Some(make(variant.alone(LaneMapping::Rows), Loops::Rolled)?.0),
                None => None,
            };
            // Memory is there for the variant's sub-groups.
            let of_single = of_single.filter(|(_, info, _)| info.private_bytes == 0);
            let (ir, info, calls) = match (of_single, single) {
                (Some((iterations, ..)), Some(Single::Iterations(conditions))) if !conditions.is_empty() => {
                    let (ir, info, calls) = of_items()?;
                    (choice::join(ir, iterations, &conditions).map_err(failed)?, info, calls)
                }
                (Some(always), _) => always,
                (None, _) => of_items()?,
            };
            let object = pipeline::object_code(ir, target, tier).map_err(failed)?;
            let (stack_bytes, call_room) = calls.stack_bytes(&object.frames);
            let info = CodeInfo { stack_bytes, call_room, ..info };
            Ok(CachedCode { info, object: object.bytes })
        })
    }

    fn load_code(&self, entry: &CachedCode, variant: Variant) -> Result<Code, JitError> {
        let loaded = load::load(&entry.object, &|symbol| self.program.resolve(symbol))?;
        if let Some(dump) = &self.program.engine.config().dump {
            let name = format!("{}.{}", self.reflection().name, variant_name(variant));
            dump.code(&name, &loaded);
            dump.perf(&name, &loaded);
        }
        let code = Code::new(loaded, entry.info, variant)?;
        let rivals = entry.info.rivals;
        Ok(if rivals.any() { code.with_trial(self.trial(variant, rivals)) } else { code })
    }

    /// What finds out whether other code is faster than a variant's.
    fn trial(&self, variant: Variant, rivals: Rivals) -> Trial {
        let (program, at) = (Arc::downgrade(&self.program), self.at);
        let has_loops = self.reflection().has_loops;
        let may_be = |rival: Rival| match rival {
            Rival::Alone => rivals.alone,
            // Without loops there are no iterations.
            Rival::Iterations => rivals.alone && has_loops,
            Rival::Unbundled => rivals.unbundled,
        };
        Trial::new(may_be, move |rival| {
            in_background(program.clone(), at, move |kernel| kernel.make_rival(variant, rival))();
        })
    }

    /// Makes a code that is to be compared with a variant's.
    fn make_rival(&self, variant: Variant, rival: Rival) {
        let other = match rival {
            Rival::Alone => variant.alone(LaneMapping::Rows),
            Rival::Iterations => variant.alone(LaneMapping::Iterations),
            Rival::Unbundled => variant.with_factor(1),
        };
        let code = self.code_of(other, Tier::Optimising);
        if let Err(error) = &code {
            tracing::debug!("a code stays without a rival: {error}");
        }
        let code = code.ok();
        // Code from the cache is in the slot of whichever tier was wanted.
        for (_, slot) in self.program.compiled[self.at].code.read().iter() {
            if let Some(Ok(of)) = slot.0.get()
                && of.variant() == variant
                && let Some(trial) = of.trial()
            {
                trial.give(rival, of, code.clone());
            }
        }
    }

    /// Hash of everything that the object code depends on.
    fn cache_key(&self, variant: Variant, tier: Tier) -> Result<Digest, JitError> {
        let engine = &self.program.engine;
        let target = engine.target()?;
        let config = engine.config();
        let options = format!("{tier:?} {:?} libmvec={}", config.inlining, target.libmvec);
        let mut hasher = Hasher::new();
        hasher
            .field(&self.program.key)
            .field(self.reflection().name.as_bytes())
            .field(variant_name(variant).as_bytes())
            .field(options.as_bytes())
            .field(target.cpu().as_bytes())
            .field(target.features().as_bytes())
            .field(driver_id().as_bytes());
        Ok(hasher.finish())
    }
}

/// Has something done for a kernel some time, each time that it is asked for, while its program is there.
fn in_background(
    program: Weak<Program>,
    at: usize,
    work: impl Fn(&Kernel) + Copy + Send + Sync + 'static,
) -> impl Fn() + Send + Sync + 'static {
    move || {
        let Some(of) = program.upgrade() else { return };
        let program = program.clone();
        of.engine.background().add(move || {
            if let Some(program) = program.upgrade() {
                work(&Kernel { program, at });
            }
        });
    }
}

/// What the cache on disk has for a variant.
enum Cached {
    Code(Arc<Code>),
    /// The variant whose code serves launches of this one.
    Settled(Variant),
}

/// The entry of a variant that is served by the code of another one: the lanes, the factor, and no code.
fn settled_entry(settled: Variant) -> CachedCode {
    let factor = settled.coarsening.factor();
    CachedCode { info: CodeInfo { width: settled.width, factor, ..CodeInfo::default() }, object: Vec::new() }
}

fn code_generation(kernel: &str, error: JitError) -> EngineError {
    if let JitError::Memory(_) = error {
        return EngineError::OutOfHostMemory { kernel: kernel.to_owned(), reason: error.to_string() };
    }
    EngineError::CodeGeneration { kernel: kernel.to_owned(), reason: error.to_string() }
}

/// A variant in file names and keys.
fn variant_name(variant: Variant) -> String {
    let mapping = match variant.mapping {
        LaneMapping::Rows => "rows",
        LaneMapping::Line => "line",
        LaneMapping::Halves => "halves",
        LaneMapping::Quarters => "quarters",
        LaneMapping::Eighths => "eighths",
        LaneMapping::Ragged => "ragged",
        LaneMapping::Any => "any",
        LaneMapping::Iterations => "iterations",
    };
    let axis = match variant.axis {
        Axis::X => "",
        Axis::Y => "-turned-y",
        Axis::Z => "-turned-z",
    };
    let ids = match variant.ids {
        Ids { large: true, .. } => "-large",
        Ids { odd: true, .. } => "-odd",
        Ids { .. } => "",
    };
    let rows = match variant.ids.rows {
        RowLengths { of: 0, .. } => String::new(),
        RowLengths { of, zeros } => format!("-rows{of}of{zeros}"),
    };
    let factor = match variant.coarsening {
        Coarsening::Off => String::new(),
        Coarsening::AlongX(factor) => format!("-x{factor}"),
        Coarsening::AlongY(factor) => format!("-y{factor}"),
        Coarsening::Whole([x, y, z]) => format!("-x{x}y{y}z{z}"),
    };
    let bundle = if variant.one_bundle { "-alone" } else { "" };
    let items = match variant.most_items {
        DEFAULT_MAX_GROUP_SIZE => String::new(),
        most => format!("-of{most}"),
    };
    let lanes = match variant.is_settled() {
        true => format!("w{}", variant.width),
        false => format!("w{}to{}", variant.width, variant.widest()),
    };
    format!("{lanes}-{mapping}{axis}{factor}{bundle}{ids}{rows}{items}")
}
