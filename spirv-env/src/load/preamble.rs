//! What stands in front of a module's types (SPIR-V §2.4): capabilities, sets of extended instructions, the memory model, and
//! entry points with their modes.

use super::{EntryPoint, LAYOUT, Loader};
use crate::defs::Def;
use crate::diagnostics::{Fault, RuleId};
use crate::grammar::Cursor;
use crate::module::ExtSet;
use spirv::{Capability, ExecutionMode, Op};
use ze_extensions::{CapabilityId, spirv_support};

const EXT_SET: RuleId =
    RuleId { id: "env.extended-instructions", source: "L0 SPIR-V Guide, Extended Instruction Sets" };

impl Loader<'_> {
    pub(super) fn capability(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        let number = cursor.word()?;
        cursor.end()?;
        let Some(capability) = Capability::from_u32(number) else {
            // Compilers have some of their own; of others the environment's rule has said that they are unknown.
            let own = CapabilityId(number);
            spirv_support::capability(own).ok_or_else(Fault::consequence)?;
            if !self.module.own_capabilities.contains(&own) {
                self.module.own_capabilities.push(own);
            }
            for &capability in spirv_support::implied_by_own(own) {
                if !self.module.capabilities.contains(&capability) {
                    self.module.capabilities.push(capability);
                }
            }
            return Ok(());
        };
        for &capability in std::iter::once(&capability).chain(spirv_support::implied(capability)) {
            if !self.module.capabilities.contains(&capability) {
                self.module.capabilities.push(capability);
            }
        }
        Ok(())
    }

    pub(super) fn ext_inst_import(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        let id = self.id(cursor.word()?)?;
        let name = cursor.string()?;
        let set = match name.as_str() {
            "OpenCL.std" => ExtSet::OpenClStd,
            "OpenCL.DebugInfo.100" | "SPIRV.debug" => ExtSet::NonSemantic,
            name if name.starts_with("NonSemantic.") => ExtSet::NonSemantic,
            _ => {
                let message =
                    format!("extended instruction set \"{name}\" is not supported, only OpenCL.std is");
                return Err(Fault::new(EXT_SET, message));
            }
        };
        if name.starts_with("NonSemantic.Shader.DebugInfo.") {
            self.shader_debug.sets.insert(id);
        }
        self.module.ext_sets.insert(id, set);
        self.out.defs.define(id, Def::ExtSet)
    }

    pub(super) fn op_memory_model(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        cursor.word()?;
        cursor.word()?;
        if std::mem::replace(&mut self.memory_model, true) {
            return Err(Fault::new(LAYOUT, "a module has one memory model"));
        }
        cursor.end()
    }

    pub(super) fn entry_point(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        cursor.word()?;
        let function = self.id(cursor.word()?)?;
        let name = cursor.string()?;
        // The interface lists variables that the function reaches anyway.
        for &word in cursor.rest() {
            let variable = self.id(word)?;
            self.references.interface.push((variable, self.at));
        }
        if !self.entry_names.insert(name.clone()) {
            return Err(Fault::new(LAYOUT, format!("two entry points are named \"{name}\"")));
        }
        self.out.entry_points.push(EntryPoint { function, name, offset: self.at });
        Ok(())
    }

    pub(super) fn execution_mode(&mut self, op: Op, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        let function = self.id(cursor.word()?)?;
        let number = cursor.word()?;
        let mode = ExecutionMode::from_u32(number)
            .ok_or_else(|| Fault::new(LAYOUT, format!("execution mode {number} is unknown")))?;
        let mut literals = cursor.rest().to_vec();
        if op == Op::ExecutionModeId {
            for word in &mut literals {
                *word = self.id(*word)?.0;
            }
        }
        self.references.modes.push((function, self.at));
        self.universal_mode(function, mode);
        self.out.modes.entry(function).or_default().push((mode, literals));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::test_support::{KERNEL, assert_accepted, assert_rejected};

    #[test]
    fn entry_points_are_functions_with_distinct_names() {
        let twice = "OpEntryPoint Kernel %main \"main\"\nOpEntryPoint Kernel %main \"main\"";
        assert_rejected(&KERNEL.replace("OpEntryPoint Kernel %main \"main\"", twice), "module.layout");
        assert_rejected(
            &KERNEL.replace("OpEntryPoint Kernel %main", "OpEntryPoint Kernel %void"),
            "kernels.entry-point",
        );
        let second = "OpEntryPoint Kernel %main \"main\"\nOpEntryPoint Kernel %main \"other\"";
        assert_accepted(&KERNEL.replace("OpEntryPoint Kernel %main \"main\"", second));
    }

    #[test]
    fn only_opencl_std_is_imported() {
        let import = |name: &str| {
            KERNEL.replace("OpMemoryModel", &format!("%x = OpExtInstImport \"{name}\"\nOpMemoryModel"))
        };
        assert_accepted(&import("OpenCL.std"));
        assert_accepted(&import("NonSemantic.Shader.DebugInfo.100"));
        assert_rejected(&import("GLSL.std.450"), "env.extended-instructions");
    }
}
