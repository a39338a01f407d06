//! What holds for every module and is known at its end: that ids which earlier sections name are what they should be.

use super::Loader;
use super::left_behind::DECORATED;
use crate::defs::Def;
use crate::diagnostics::{Fault, RuleId};
use crate::module::{Id, Type, TypeId};
use rustc_hash::FxHashSet;
use spirv::{ExecutionMode, LinkageType};

const SOURCE: &str = "SPIR-V 1.2 §2.16.1";
const INTERFACE: RuleId = RuleId { id: "kernels.interface", source: "SPIR-V 1.2 §3.32.5" };
const MODE_TARGET: RuleId = RuleId { id: "kernels.mode-target", source: "SPIR-V 1.2 §3.32.5" };
const MODE_TWICE: RuleId = RuleId { id: "kernels.mode-twice", source: "SPIR-V 1.2 §3.6" };
const LINKAGE: RuleId = RuleId { id: "kernels.linkage", source: "SPIR-V 1.2 §3.20" };
const CALLED: RuleId = RuleId { id: "kernels.called", source: SOURCE };
const ADDRESS: RuleId = RuleId { id: "functions.address", source: "SPV_INTEL_function_pointers" };
const MEMBER: RuleId = RuleId { id: "ids.decorated-member", source: "SPIR-V 1.2 §3.32.3" };
const IMPORT: RuleId = RuleId { id: "variables.import", source: "SPIR-V 1.2 §3.32.8" };

/// Ids that are used in front of what they stand for, each with its instruction's place.
#[derive(Default, Debug)]
pub(super) struct References {
    pub interface: Vec<(Id, u32)>,
    pub modes: Vec<(Id, u32)>,
    pub decorated: Vec<(Id, u32)>,
    pub members: Vec<(Id, u32, u32)>,
    pub calls: Vec<(Id, u32)>,
    /// Functions whose address is taken, with the type that the pointer says they have.
    pub pointers: Vec<(Id, TypeId, u32)>,
}

impl Loader<'_> {
    /// The mode is about to be added to those of a function.
    pub(super) fn universal_mode(&mut self, function: Id, mode: ExecutionMode) {
        use ExecutionMode as M;
        let kind = |mode: ExecutionMode| match mode {
            M::LocalSizeId => M::LocalSize,
            M::LocalSizeHintId => M::LocalSizeHint,
            mode => mode,
        };
        // Those of floating-point are there once for each width.
        let once = matches!(
            kind(mode),
            M::LocalSize | M::LocalSizeHint | M::SubgroupSize | M::VecTypeHint | M::MaxWorkgroupSizeINTEL
        );
        let modes = self.out.modes.get(&function);
        if once && modes.is_some_and(|modes| modes.iter().any(|(other, _)| kind(*other) == kind(mode))) {
            let name = format!("{mode:?}");
            self.judged.push(Fault::new(MODE_TWICE, format!("a second {name} for one entry point")));
        }
    }

    /// An imported variable is initialised where it is defined.
    pub(super) fn universal_import(&mut self, variable: Id) {
        if self.out.linkage.get(&variable).is_some_and(|linkage| linkage.kind == LinkageType::Import) {
            self.judged.push(Fault::new(IMPORT, "an imported variable has an initializer"));
        }
    }

    pub(super) fn universal_references(&self, report: &mut dyn FnMut(Option<u32>, Fault)) {
        let (out, references) = (&self.out, &self.references);
        let raw = |id: Id| out.defs.raw(id);
        for &(id, at) in &references.interface {
            if !matches!(out.defs.get(id), Def::Global(_)) {
                report(
                    Some(at),
                    Fault::new(INTERFACE, format!("{} is not a module-scope variable", raw(id))),
                );
            }
        }
        let entries: FxHashSet<Id> = out.entry_points.iter().map(|entry| entry.function).collect();
        for &(id, at) in &references.modes {
            if !entries.contains(&id) {
                let message = format!("{} has an execution mode and is not an entry point", raw(id));
                report(Some(at), Fault::new(MODE_TARGET, message));
            }
        }
        for entry in out.entry_points.iter().filter(|entry| out.linkage.contains_key(&entry.function)) {
            let message = format!("kernel {} has a linkage name", entry.name);
            report(Some(entry.offset), Fault::new(LINKAGE, message));
        }
        for &(id, at) in references.calls.iter().filter(|(id, _)| entries.contains(id)) {
            let name = out.function_name(self.module, id);
            report(Some(at), Fault::new(CALLED, format!("{name} is called, and only launched is allowed")));
        }
        for &(id, ty, at) in &references.pointers {
            let fault = match out.defs.get(id) {
                Def::Function(_) if entries.contains(&id) => "an entry point, which is not called".to_owned(),
                Def::Function(declared) if declared == ty => continue,
                Def::Function(_) => format!("{}, which is of another type than the pointer says", raw(id)),
                _ => format!("{}, which is not a function", raw(id)),
            };
            report(Some(at), Fault::new(ADDRESS, format!("the address of {fault}")));
        }
        for &(id, at) in &references.decorated {
            if out.defs.get(id) == Def::None {
                report(Some(at), Fault::new(DECORATED, format!("{} is decorated and not defined", raw(id))));
            }
        }
        for &(id, member, at) in &references.members {
            let count = match out.defs.get(id) {
                Def::Type(ty) => match self.module.types.get(ty) {
                    Type::Struct { members, .. } => members.len(),
                    _ => 0,
                },
                _ => 0,
            };
            if member as usize >= count {
                let message = format!("{} is not a structure with a member {member}", raw(id));
                report(Some(at), Fault::new(MEMBER, message));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::test_support::{KERNEL, assert_accepted, assert_rejected, declaring, kernel};

    fn annotated(annotation: &str) -> String {
        kernel("%s = OpTypeStruct %uint", "").replace("%void = ", &format!("{annotation}\n%void = "))
    }

    #[test]
    fn what_is_decorated_exists() {
        assert_accepted(&annotated("OpDecorate %s CPacked"));
        assert_rejected(&annotated("OpDecorate %missing CPacked"), "ids.decorated");
        assert_accepted(&annotated("OpDecorate %missing SaturatedConversion"));
        assert_accepted(&annotated("OpMemberDecorate %s 0 Alignment 4"));
        assert_rejected(&annotated("OpMemberDecorate %s 1 Alignment 4"), "ids.decorated-member");
        // Names are what producers leave behind of values that are gone.
        assert_accepted(&kernel("", "").replace("%void = ", "OpName %gone \"gone\"\n%void = "));
    }

    #[test]
    fn modes_belong_to_entry_points_once() {
        let with = |modes: &str| KERNEL.replace("%void = ", &format!("{modes}\n%void = "));
        assert_accepted(&with("OpExecutionMode %main LocalSize 8 1 1"));
        assert_rejected(&with("OpExecutionMode %fn LocalSize 8 1 1"), "kernels.mode-target");
        let twice = "OpExecutionMode %main LocalSize 8 1 1\nOpExecutionMode %main LocalSize 8 1 1";
        assert_rejected(&with(twice), "kernels.mode-twice");
        let widths = with("OpExecutionMode %main DenormPreserve 32\nOpExecutionMode %main DenormPreserve 64");
        assert_accepted(&declaring("DenormPreserve", &widths));
    }

    #[test]
    fn interfaces_list_variables() {
        let listed = |id: &str| {
            kernel("%p = OpTypePointer CrossWorkgroup %uint\n%v = OpVariable %p CrossWorkgroup", "")
                .replace("\"main\"", &format!("\"main\" {id}"))
        };
        assert_accepted(&listed("%v"));
        assert_rejected(&listed("%uint"), "kernels.interface");
        assert_rejected(&listed("%missing"), "kernels.interface");
    }

    #[test]
    fn kernels_are_launched_and_neither_called_nor_linked() {
        let second = "%f = OpFunction %void None %fn\n%l = OpLabel\n%c = OpFunctionCall %void %main\nOpReturn\nOpFunctionEnd\n";
        assert_rejected(&format!("{KERNEL}{second}"), "kernels.called");
        let linked = kernel("", "")
            .replace("%void = ", "OpDecorate %main LinkageAttributes \"main\" Export\n%void = ");
        assert_rejected(&linked, "kernels.linkage");
    }

    #[test]
    fn imports_are_initialised_elsewhere() {
        let import = |initializer: &str| {
            kernel(
                &format!(
                    "%p = OpTypePointer CrossWorkgroup %uint\n%v = OpVariable %p CrossWorkgroup {initializer}"
                ),
                "",
            )
            .replace("%void = ", "OpDecorate %v LinkageAttributes \"v\" Import\n%void = ")
        };
        assert_accepted(&import(""));
        assert_rejected(&import("%u1"), "variables.import");
    }
}
