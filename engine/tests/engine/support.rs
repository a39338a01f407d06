//! From a module's words to a program, as the driver does it.

use std::path::Path;
use std::sync::Arc;
use ze_engine::jit::hash::digest;
use ze_engine::{Engine, Program};

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
