//! Modules: SPIR-V that is validated, built and given storage.

use crate::context::Context;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::fallible::{self, check_room, out_of_memory};
use crate::fork::RwLock;
use crate::handle::object;
use crate::pnext::{Inputs, structures};
use crate::text;
use spirv_env::container::{self, ContainerError, Input};
use spirv_env::foreign;
use std::ffi::{CStr, CString, c_char};
use std::ptr::null;
use std::sync::Arc;
use ze_engine::exec::caller_stack::with_room;
use ze_engine::jit::hash::{self, Digest};
use ze_engine::{Engine, LinkedPart, Program};
use ze_headers::*;

/// Memory that there must be to build a module: so much, and so much for each of its bytes.
const BUILD_BYTES: usize = 16 << 20;
const BUILD_FACTOR: usize = 64;
/// Stack for it.
const BUILD_STACK: usize = 2 << 20;

/// What a build or a link had to say, as a C string.
pub struct BuildLog(CString);

object!(BuildLog, ModuleBuildLog, ze_module_build_log_handle_t);

impl BuildLog {
    pub fn new(text: &str) -> Arc<Self> {
        let text: Vec<u8> = text.bytes().filter(|&byte| byte != 0).collect();
        Arc::new(Self(CString::new(text).unwrap_or_default()))
    }

    /// The text with its terminating zero.
    pub fn text(&self) -> &[u8] {
        self.0.as_bytes_with_nul()
    }
}

/// What a module is before it is linked, and what other modules are linked with.
struct LinkUnit {
    inputs: Vec<Input>,
    /// Has the storage of the unit's variables, for every program that the unit is linked into.
    program: Arc<Program>,
}

impl LinkUnit {
    fn imports(&self) -> &[String] {
        &self.program.module().unresolved
    }
}

/// What linking makes of a module with imports.
#[derive(Clone)]
struct Linked {
    program: Arc<Program>,
    /// What the program consists of.
    units: Arc<[Arc<LinkUnit>]>,
}

/// A module.
pub struct Module {
    context: Arc<Context>,
    device: Arc<Device>,
    unit: Arc<LinkUnit>,
    /// Names of its own kernels, which linking does not add to.
    kernel_names: Vec<CString>,
    /// Set once.
    linked: RwLock<Option<Linked>>,
    /// What was last said of its code, for who asks for the size first.
    debug_info: RwLock<Option<Arc<[u8]>>>,
}

object!(Module, Module, ze_module_handle_t);

structures! {
    ze_module_desc_t = ZE_STRUCTURE_TYPE_MODULE_DESC;
    ze_module_program_exp_desc_t = ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC;
}

impl Module {
    /// `zeModuleCreate`.
    ///
    /// # Safety
    /// The descriptor's pointers are null or valid for the sizes that it says, and `pNext` is a valid chain.
    pub unsafe fn create(
        context: &Arc<Context>,
        device: &Arc<Device>,
        desc: &ze_module_desc_t,
    ) -> Result<Arc<Self>> {
        // SAFETY: the caller's promise, for all of these.
        let inputs = unsafe {
            match Inputs::of(desc).find::<ze_module_program_exp_desc_t>() {
                Some(several) => inputs_of_program(several, desc.format),
                None => {
                    let bytes = bytes(desc.pInputModule, desc.inputSize)?;
                    inputs(desc.format, bytes, desc.pBuildFlags, desc.pConstants)
                }
            }
        };
        Self::new(context, device, inputs?)
    }

    /// One input, or several that are linked into one module.
    fn new(context: &Arc<Context>, device: &Arc<Device>, inputs: Vec<Input>) -> Result<Arc<Self>> {
        let bytes: usize = inputs.iter().map(|input| input.spirv.len()).sum();
        check_room("a module", bytes.saturating_mul(BUILD_FACTOR).saturating_add(BUILD_BYTES))?;
        // Validation and what follows recurse with the nesting of types and blocks.
        let program = with_room(BUILD_STACK, || load(device, &inputs));
        let program = program.map_err(|_| out_of_memory("a stack", BUILD_STACK))??;
        let kernel_names = program.kernel_names().filter_map(|name| CString::new(name).ok()).collect();
        Ok(Arc::new(Self {
            context: Arc::clone(context),
            device: Arc::clone(device),
            unit: Arc::new(LinkUnit { inputs, program }),
            kernel_names,
            linked: RwLock::default(),
            debug_info: RwLock::default(),
        }))
    }

    /// `zeModuleGetNativeBinary`.
    pub fn native_binary(&self) -> Vec<u8> {
        container::encode(&self.unit.inputs)
    }

    /// Fails where there is no memory for the native binary.
    pub fn check_native_binary(&self) -> Result<()> {
        let bytes: usize = self.unit.inputs.iter().map(|input| input.spirv.len()).sum();
        // It grows as it is written.
        check_room("a native binary", bytes.saturating_mul(4))
    }

    /// `zetModuleGetDebugInfo`: ELF with DWARF for the code that its kernels have in memory.
    pub fn debug_info(&self) -> Result<Arc<[u8]>> {
        let bytes: usize = self.unit.inputs.iter().map(|input| input.spirv.len()).sum();
        check_room("debug information", bytes.saturating_mul(BUILD_FACTOR).saturating_add(BUILD_BYTES))?;
        let program = self.current_program()?;
        let own = |name: &str| self.kernel_names.iter().any(|own| own.to_bytes() == name.as_bytes());
        let made: Arc<[u8]> = program.debug_info(own).map_err(Error::from)?.into();
        *self.debug_info.write() = Some(Arc::clone(&made));
        Ok(made)
    }

    /// The same as it was the last time, so that the size that the program was told is its size.
    pub fn last_debug_info(&self) -> Result<Arc<[u8]>> {
        let last = self.debug_info.read().clone();
        last.map_or_else(|| self.debug_info(), Ok)
    }

    /// The hash of everything that the module was made from.
    pub fn key(&self) -> &Digest {
        self.unit.program.key()
    }

    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    pub fn kernel_names(&self) -> &[CString] {
        &self.kernel_names
    }

    /// Whether the module was created with imports (`ZE_MODULE_PROPERTY_FLAG_IMPORTS`).
    pub fn has_imports(&self) -> bool {
        !self.unit.imports().is_empty()
    }

    fn linked(&self) -> Option<Linked> {
        self.linked.read().clone()
    }

    fn needs_linking(&self) -> bool {
        self.has_imports() && self.linked.read().is_none()
    }

    /// Whether linking changes what its kernels do: imports are resolved, and calls through pointers lead to functions of
    /// the other modules too.
    fn gains_by_linking(&self) -> bool {
        self.linked.read().is_none() && (self.has_imports() || self.unit.program.module().calls_pointers())
    }

    /// What its kernels are taken from.
    fn current_program(&self) -> Result<Arc<Program>> {
        // ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED: imports are not resolved
        if self.needs_linking() {
            return Err(Error::ModuleUnlinked(self.unit.imports().join(", ")));
        }
        Ok(self.linked().map_or_else(|| Arc::clone(&self.unit.program), |linked| linked.program))
    }

    /// A kernel of the module.
    pub(crate) fn kernel(&self, name: &str) -> Result<Arc<ze_engine::Kernel>> {
        let program = self.current_program()?;
        let own = self.kernel_names.iter().any(|own| own.to_bytes() == name.as_bytes());
        // ZE_RESULT_ERROR_INVALID_KERNEL_NAME
        own.then(|| program.kernel(name)).flatten().ok_or_else(|| Error::InvalidKernelName(name.into()))
    }

    /// `zeModuleGetGlobalPointer`: address and size in bytes. The name of an imported variable stands for the one that
    /// the module was linked with.
    pub fn global(&self, name: &str) -> Result<(*mut u8, usize)> {
        let imported = || {
            let linked = self.linked().filter(|_| self.unit.imports().iter().any(|import| import == name));
            linked.and_then(|linked| linked.program.global(name))
        };
        let found = self.unit.program.global(name).or_else(imported);
        found.ok_or_else(|| Error::InvalidGlobalName(name.into()))
    }

    /// Start and size in bytes of the memory that holds the module's variables.
    pub fn variables(&self) -> (*mut u8, usize) {
        self.unit.program.global_memory()
    }

    /// `zeModuleGetFunctionPointer`: what a pointer to the function holds, in kernels of this module and of those that it is
    /// linked with. The name of an imported function stands for the one that the module was linked with.
    pub fn function_pointer(&self, name: &str) -> Result<u64> {
        let linked = || self.linked().and_then(|linked| linked.program.function_pointer(name));
        let found = self.unit.program.function_pointer(name).or_else(linked);
        found.ok_or_else(|| Error::InvalidFunctionName(name.into()))
    }

    /// `zeModuleDynamicLink`: all modules, and what some of them were linked with before, become one program, which those
    /// with open imports, or with calls through pointers, then have their kernels from.
    pub fn link(modules: &[&Arc<Module>]) -> Result<()> {
        let (open, complete): (Vec<&Module>, Vec<&Module>) =
            modules.iter().map(|module| &***module).partition(|module| module.gains_by_linking());
        let Some(first) = open.first() else { return Ok(()) };
        if modules.iter().any(|module| !module.device.is_of_the_same_root(&first.device)) {
            return Err(Error::InvalidArgument("modules of different devices are not linked".into()));
        }
        if modules.len() == 1 && !first.needs_linking() {
            return Ok(());
        }
        // Complete modules come first: of equal `LinkOnceODR` variables the first is used, and they use their own.
        let mut units: Vec<(Arc<LinkUnit>, bool)> = Vec::new();
        let mut add = |unit: &Arc<LinkUnit>, linked: bool| {
            // Equal modules are one: two would define everything twice.
            if !units.iter().any(|(known, _)| Arc::ptr_eq(known, unit) || known.inputs == unit.inputs) {
                units.push((Arc::clone(unit), linked));
            }
        };
        for module in complete {
            add(&module.unit, true);
            module.linked().iter().flat_map(|linked| linked.units.iter()).for_each(|unit| add(unit, true));
        }
        open.iter().for_each(|module| add(&module.unit, false));
        let bytes =
            units.iter().flat_map(|(unit, _)| &unit.inputs).map(|input| input.spirv.len()).sum::<usize>();
        check_room("a linked module", bytes.saturating_mul(BUILD_FACTOR).saturating_add(BUILD_BYTES))?;
        let build = |kernels_of: Option<&Arc<LinkUnit>>| {
            let program = with_room(BUILD_STACK, || link(&first.device, &units, kernels_of));
            program.map_err(|_| out_of_memory("a stack", BUILD_STACK))?
        };
        // One program for all, unless there are kernels of one name: then each module has a program with its own kernels.
        let programs = if have_kernels_of_one_name(&units) {
            open.iter().map(|module| build(Some(&module.unit))).collect::<Result<Vec<_>>>()?
        } else {
            vec![build(None)?; open.len()]
        };
        let units: Arc<[_]> = units.into_iter().map(|(unit, _)| unit).collect();
        for (module, program) in open.into_iter().zip(programs) {
            let linked = Linked { program, units: Arc::clone(&units) };
            module.linked.write().get_or_insert(linked);
        }
        Ok(())
    }
}

fn have_kernels_of_one_name(units: &[(Arc<LinkUnit>, bool)]) -> bool {
    let mut names = std::collections::BTreeSet::new();
    let mut kernels = units.iter().flat_map(|(unit, _)| unit.program.kernel_names());
    !kernels.all(|name| names.insert(name))
}

/// Builds one program of units, each with whether its imports were resolved before. It has the kernels of all of them, or of
/// one.
fn link(
    device: &Device,
    units: &[(Arc<LinkUnit>, bool)],
    kernels_of: Option<&Arc<LinkUnit>>,
) -> Result<Arc<Program>> {
    let (mut inputs, mut kernels) = (Vec::new(), Vec::new());
    for (unit, _) in units {
        let own = kernels_of.is_none_or(|one| Arc::ptr_eq(one, unit));
        inputs.extend(unit.inputs.iter().cloned());
        kernels.resize(inputs.len(), own);
    }
    let (module, key) = build(device, &inputs, &kernels).map_err(Error::ModuleLink)?;
    // ZE_RESULT_ERROR_MODULE_LINK_FAILURE: an import that no module satisfies
    if !module.unresolved.is_empty() {
        let reason = format!("no module defines: {}", module.unresolved.join(", "));
        return Err(Error::ModuleLink(reason));
    }
    let parts = units.iter().map(|(unit, linked)| LinkedPart { program: &unit.program, linked: *linked });
    let program = device.engine().link(module, key, &parts.collect::<Vec<_>>());
    program.map_err(|error| Error::ModuleLink(error.to_string()))
}

/// # Safety
/// `start` is null or points to `size` bytes.
unsafe fn bytes<'a>(start: *const u8, size: usize) -> Result<&'a [u8]> {
    // ZE_RESULT_ERROR_INVALID_NULL_POINTER: nullptr == desc->pInputModule
    if start.is_null() {
        return Err(Error::NullPointer("desc->pInputModule"));
    }
    // ZE_RESULT_ERROR_INVALID_SIZE: 0 == desc->inputSize
    if size == 0 {
        return Err(Error::InvalidSize("a module of 0 bytes".into()));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(start, size) })
}

/// What one binary of a format brings: a module with its options, or as many as a native binary was made from, with
/// theirs. One of Intel's offline compiler brings the SPIR-V in it, with what it was compiled with in front of the options.
///
/// # Safety
/// As [`input`].
unsafe fn inputs(
    format: ze_module_format_t,
    bytes: &[u8],
    flags: *const c_char,
    constants: *const ze_module_constants_t,
) -> Result<Vec<Input>> {
    match format {
        ZE_MODULE_FORMAT_NATIVE => {
            // The largest that is made of it: what the decoder copies.
            check_room("a native binary", bytes.len().saturating_mul(4))?;
            let refused = |error: ContainerError| Error::InvalidNativeBinary(error.to_string());
            match container::decode(bytes) {
                Err(ContainerError::Foreign) => {
                    let found = foreign::find(bytes).map_err(refused)?;
                    // SAFETY: the caller's promise.
                    let mut input = unsafe { input(found.spirv, flags, constants) }?;
                    input.flags = format!("{} {}", found.options, input.flags).trim().to_owned();
                    Ok(vec![input])
                }
                inputs => inputs.map_err(refused),
            }
        }
        // SAFETY: the caller's promise.
        _ => Ok(vec![unsafe { input(bytes, flags, constants) }?]),
    }
}

/// One module with its options. Values of constants are given by address alone: their sizes are the module's.
///
/// # Safety
/// `flags` is null or a C string; `constants` is null or valid, and its arrays are null or have as many entries as it says,
/// ids and null or addresses of values.
unsafe fn input(
    spirv: &[u8],
    flags: *const c_char,
    constants: *const ze_module_constants_t,
) -> Result<Input> {
    let flags = match flags.is_null() {
        true => String::new(),
        // SAFETY: the caller's promise, for all that follows too.
        false => text::owned("build flags", unsafe { CStr::from_ptr(flags) })?,
    };
    let mut values = Vec::new();
    // SAFETY: see above.
    if let Some(constants) = unsafe { constants.as_ref() }.filter(|constants| constants.numConstants != 0) {
        if constants.pConstantIds.is_null() || constants.pConstantValues.is_null() {
            return Err(Error::NullPointer("ze_module_constants_t::pConstantIds or pConstantValues"));
        }
        let known = spirv_env::spec_constants(spirv);
        for index in 0..constants.numConstants as usize {
            // SAFETY: see above.
            let (id, value) = unsafe {
                (constants.pConstantIds.add(index).read(), constants.pConstantValues.add(index).read())
            };
            if value.is_null() {
                return Err(Error::NullPointer("an entry of ze_module_constants_t::pConstantValues"));
            }
            if let Some(constant) = known.iter().find(|constant| constant.spec_id == id) {
                // SAFETY: see above; the module says how large the constant is.
                let bytes = unsafe { std::slice::from_raw_parts(value.cast::<u8>(), constant.size as usize) };
                fallible::push(&mut values, "specialization constants", (id, bytes.to_vec()))?;
            }
        }
    }
    Ok(Input { spirv: fallible::copy("a module", spirv)?, constants: values, flags: as_compiled(flags) })
}

/// Build options as a native binary records them: levels as Intel's compiler calls them, which the conformance tests look for.
fn as_compiled(flags: String) -> String {
    const LEVEL: &str = "-ze-opt-level=";
    if !flags.contains(LEVEL) {
        return flags;
    }
    let option = |option: &str| match option.strip_prefix(LEVEL) {
        Some(level @ ("0" | "1" | "2")) => format!("{LEVEL}O{level}"),
        _ => option.to_owned(),
    };
    flags.split_ascii_whitespace().map(option).collect::<Vec<_>>().join(" ")
}

/// The modules that `ZE_experimental_module_program` links into one, all of one format.
///
/// # Safety
/// The descriptor's arrays are null or have `count` valid entries.
unsafe fn inputs_of_program(
    desc: &ze_module_program_exp_desc_t,
    format: ze_module_format_t,
) -> Result<Vec<Input>> {
    // ZE_RESULT_ERROR_INVALID_SIZE: no modules
    if desc.count == 0 {
        return Err(Error::InvalidSize("a program of no modules".into()));
    }
    if desc.inputSizes.is_null() || desc.pInputModules.is_null() {
        return Err(Error::NullPointer("ze_module_program_exp_desc_t::pInputModules"));
    }
    let of_each = (0..desc.count as usize).map(|index| {
        // SAFETY: the caller's promise.
        unsafe {
            let bytes = bytes(desc.pInputModules.add(index).read(), desc.inputSizes.add(index).read())?;
            let flags = if desc.pBuildFlags.is_null() { null() } else { desc.pBuildFlags.add(index).read() };
            let constants =
                if desc.pConstants.is_null() { null() } else { desc.pConstants.add(index).read() };
            inputs(format, bytes, flags, constants)
        }
    });
    // SYCL's runtime names modules twice where kernels share them, or does not, by chance: they are one.
    let mut distinct: Vec<Input> = Vec::new();
    for input in fallible::collect("modules", of_each)?.into_iter().flatten() {
        if !distinct.contains(&input) {
            distinct.push(input);
        }
    }
    Ok(distinct)
}

/// `zeModuleInspectLinkageExt`: names that a set of modules imports, cannot resolve among themselves, and exports,
/// whether or not they were linked.
pub fn inspect_linkage(modules: &[&Arc<Module>], flags: ze_linkage_inspection_ext_flags_t) -> String {
    let imports = || modules.iter().flat_map(|module| module.unit.imports());
    let exports: Vec<&str> =
        modules.iter().flat_map(|module| exports(module.unit.program.module())).collect();
    let mut sections: Vec<(&str, Vec<&str>)> = Vec::new();
    if flags & ZE_LINKAGE_INSPECTION_EXT_FLAG_IMPORTS != 0 {
        sections.push(("imports", imports().map(String::as_str).collect()));
    }
    if flags & ZE_LINKAGE_INSPECTION_EXT_FLAG_UNRESOLVABLE_IMPORTS != 0 {
        let open = imports().map(String::as_str).filter(|name| !exports.contains(name));
        sections.push(("unresolvable imports", open.collect()));
    }
    if flags & ZE_LINKAGE_INSPECTION_EXT_FLAG_EXPORTS != 0 {
        sections.push(("exports", exports.clone()));
    }
    sections.iter().map(|(title, names)| format!("{title}: {}\n", names.join(", "))).collect()
}

fn exports(module: &spirv_env::Module) -> impl Iterator<Item = &str> {
    let functions = module.functions.iter().filter(|function| {
        matches!(function.linkage, Some(spirv::LinkageType::Export | spirv::LinkageType::LinkOnceODR))
    });
    let variables = module.globals.iter().filter(|variable| variable.exported);
    let functions = functions.filter_map(|function| function.name.as_deref());
    functions.chain(variables.filter_map(|variable| variable.name.as_deref()))
}

/// Validates and links inputs. A failure is what the intake has to say.
/// Builds one module of inputs; `kernels` says for each whether its kernels are among those of the result.
fn build(
    device: &Device,
    inputs: &[Input],
    kernels: &[bool],
) -> std::result::Result<(Arc<spirv_env::Module>, Digest), String> {
    let engine = device.engine();
    if let Some(dump) = &engine.config().dump {
        for input in inputs {
            dump.spirv(&hash::hex(&hash::digest(&[&input.spirv])), &input.spirv);
        }
    }
    let environment = spirv_env::Environment::new(device.profile()).with_engine(&Engine::supports);
    let mut sources: Vec<_> = inputs.iter().map(Input::source).collect();
    sources.iter_mut().zip(kernels).for_each(|(source, &kernels)| source.kernels = kernels);
    let module = spirv_env::build(&sources, &environment).map_err(|error| error.to_string())?;
    let bytes = container::encode(inputs);
    // Where all have theirs, the key is that of the inputs alone.
    let some: Vec<u8> =
        if kernels.contains(&false) { kernels.iter().map(|&own| own.into()).collect() } else { Vec::new() };
    // What the device adds to what the module says.
    let flushed: Vec<u8> = device.profile().flushed_widths().map(|width| width as u8).collect();
    let mut parts: Vec<&[u8]> = vec![&bytes];
    for more in [&some, &flushed] {
        if !more.is_empty() {
            parts.push(more);
        }
    }
    Ok((Arc::new(module), hash::digest(&parts)))
}

/// Builds a module and gives its variables storage.
fn load(device: &Device, inputs: &[Input]) -> Result<Arc<Program>> {
    let (module, key) = build(device, inputs, &vec![true; inputs.len()]).map_err(Error::ModuleBuild)?;
    device.engine().load(module, key).map_err(|error| Error::ModuleBuild(error.to_string()))
}
