//! Modules: SPIR-V that is validated, built and given storage.

use crate::context::Context;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::handle::object;
use crate::module_binary::{self, Input};
use parking_lot::RwLock;
use std::sync::Arc;
use ze_engine::{Engine, Program};
use ze_headers::{ze_module_build_log_handle_t, ze_module_handle_t};

/// What a build or a link had to say, as a C string.
pub struct BuildLog(std::ffi::CString);

object!(BuildLog, ModuleBuildLog, ze_module_build_log_handle_t);

impl BuildLog {
    pub fn new(text: &str) -> Arc<Self> {
        let text: Vec<u8> = text.bytes().filter(|&byte| byte != 0).collect();
        Arc::new(Self(std::ffi::CString::new(text).unwrap_or_default()))
    }

    /// The text with its terminating zero.
    pub fn text(&self) -> &[u8] {
        self.0.as_bytes_with_nul()
    }
}

/// A module.
pub struct Module {
    device: Arc<Device>,
    inputs: Vec<Input>,
    /// Names of its own kernels, which linking does not add to.
    kernel_names: Vec<String>,
    imports: bool,
    /// Replaced once, when the module is linked.
    program: RwLock<Arc<Program>>,
}

object!(Module, Module, ze_module_handle_t);

impl Module {
    /// `zeModuleCreate` with `ZE_MODULE_FORMAT_IL_SPIRV`: one input, or several that are linked into one module.
    pub fn from_spirv(context: &Context, device: &Arc<Device>, inputs: Vec<Input>) -> Result<Arc<Self>> {
        let _ = context;
        let program = build(device, &inputs, Error::ModuleBuild)?;
        let kernel_names = program.kernel_names().map(str::to_owned).collect();
        let imports = !program.module().unresolved.is_empty();
        Ok(Arc::new(Self {
            device: Arc::clone(device),
            inputs,
            kernel_names,
            imports,
            program: program.into(),
        }))
    }

    /// `zeModuleCreate` with `ZE_MODULE_FORMAT_NATIVE`: what [`native_binary`](Self::native_binary) gave.
    pub fn from_native(context: &Context, device: &Arc<Device>, binary: &[u8]) -> Result<Arc<Self>> {
        Self::from_spirv(context, device, module_binary::decode(binary)?)
    }

    /// `zeModuleGetNativeBinary`.
    pub fn native_binary(&self) -> Vec<u8> {
        module_binary::encode(&self.inputs)
    }

    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    pub fn kernel_names(&self) -> &[String] {
        &self.kernel_names
    }

    /// Whether the module was created with imports (`ZE_MODULE_PROPERTY_FLAG_IMPORTS`).
    pub fn has_imports(&self) -> bool {
        self.imports
    }

    pub(crate) fn program(&self) -> Arc<Program> {
        Arc::clone(&self.program.read())
    }

    /// Names that are imported and not defined by the module or what it was linked with.
    pub fn unresolved(&self) -> Vec<String> {
        self.program().module().unresolved.clone()
    }

    /// A kernel of the module.
    pub(crate) fn kernel(&self, name: &str) -> Result<Arc<ze_engine::Kernel>> {
        let program = self.program();
        // ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED: imports are not resolved
        if !program.module().unresolved.is_empty() {
            return Err(Error::ModuleUnlinked(program.module().unresolved.join(", ")));
        }
        let own = self.kernel_names.iter().any(|own| own == name);
        // ZE_RESULT_ERROR_INVALID_KERNEL_NAME
        own.then(|| program.kernel(name)).flatten().ok_or_else(|| Error::InvalidKernelName(name.into()))
    }

    /// `zeModuleGetGlobalPointer`: address and size in bytes.
    pub fn global(&self, name: &str) -> Result<(*mut u8, usize)> {
        self.program().global(name).ok_or_else(|| Error::InvalidGlobalName(name.into()))
    }

    /// `zeModuleDynamicLink`: every module with open imports is built again together with the others.
    pub fn link(modules: &[&Arc<Module>]) -> Result<()> {
        for (index, module) in modules.iter().enumerate() {
            if module.unresolved().is_empty() {
                continue;
            }
            let others = modules.iter().enumerate().filter(|(other, _)| *other != index);
            let others = others.flat_map(|(_, other)| &other.inputs);
            let inputs: Vec<Input> = module.inputs.iter().chain(others).cloned().collect();
            let program = build(&module.device, &inputs, Error::ModuleLink)?;
            let unresolved = &program.module().unresolved;
            // ZE_RESULT_ERROR_MODULE_LINK_FAILURE: an import that no module satisfies
            if !unresolved.is_empty() {
                let reason = format!("no module defines: {}", unresolved.join(", "));
                return Err(Error::ModuleLink(reason));
            }
            *module.program.write() = program;
        }
        Ok(())
    }
}

fn build(device: &Device, inputs: &[Input], failed: fn(String) -> Error) -> Result<Arc<Program>> {
    let engine = device.engine();
    if let Some(dump) = &engine.config().dump {
        for input in inputs {
            dump.spirv(
                &ze_engine::jit::hash::hex(&ze_engine::jit::hash::digest(&[&input.spirv])),
                &input.spirv,
            );
        }
    }
    let supports = |module: &spirv_env::Module, inst: &spirv_env::Inst| Engine::supports(inst, module);
    let environment = spirv_env::Environment::new(device.profile()).with_engine(&supports);
    let sources: Vec<_> = inputs.iter().map(Input::source).collect();
    let module = spirv_env::build(&sources, &environment).map_err(|error| failed(error.to_string()))?;
    let encoded = module_binary::encode(inputs);
    let program = engine.load(Arc::new(module), ze_engine::jit::hash::digest(&[&encoded]));
    program.map_err(|error| failed(error.to_string()))
}
