//! What a module is judged against: the device's profile and the engine's abilities.

use crate::module::{Inst, Module};
use ze_extensions::DeviceProfile;

/// Says whether the engine can lower an instruction, and why not.
pub type EngineOps<'a> = &'a (dyn Fn(&Module, &Inst) -> Result<(), String> + Sync);

/// The environment that a module is built for.
#[derive(Clone, Copy)]
pub struct Environment<'a> {
    pub profile: &'a DeviceProfile,
    /// Asked about every instruction that a kernel or an exported function reaches.
    pub engine_ops: Option<EngineOps<'a>>,
}

impl<'a> Environment<'a> {
    /// An environment whose engine lowers everything that the rules accept.
    pub fn new(profile: &'a DeviceProfile) -> Self {
        Self { profile, engine_ops: None }
    }

    pub fn with_engine(self, engine_ops: EngineOps<'a>) -> Self {
        Self { engine_ops: Some(engine_ops), ..self }
    }
}

/// One of the modules that are linked into one.
#[derive(Clone, Debug, Default)]
pub struct ModuleInput<'a> {
    /// SPIR-V words in the host's byte order, at any alignment.
    pub bytes: &'a [u8],
    /// Values of specialization constants: `SpecId` and the bytes in memory order. Ids that the module
    /// does not declare are ignored, as runtimes set constants that the compiler removed.
    pub constants: Vec<(u32, Vec<u8>)>,
    /// Whether its kernels are among those of what is built. Modules that are linked for what they export may have kernels of the
    /// same names.
    pub kernels: bool,
}

impl<'a> ModuleInput<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, constants: Vec::new(), kernels: true }
    }
}
