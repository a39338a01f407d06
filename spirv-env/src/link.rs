//! Linking: imports meet exports across inputs, and of equal `LinkOnceODR` definitions one stays.

use crate::diagnostics::{Diagnostic, Diagnostics, Fault, RuleId};
use crate::load::Loaded;
use crate::module::{ConstantValue, Id, Inst, Module, Operand, Type, TypeId};
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{LinkageType, Op};

const DUPLICATE: RuleId = RuleId { id: "link.duplicate", source: "SPIR-V 1.2 §2.9" };
const TYPE: RuleId = RuleId { id: "link.type", source: "SPIR-V 1.2 §2.9" };
const ODR: RuleId = RuleId { id: "link.linkonce-odr", source: "L0 SPIR-V Guide, Linkonce ODR" };

/// A definition that other modules may refer to.
struct Definition {
    id: Id,
    ty: Option<TypeId>,
    kind: LinkageType,
}

/// Resolves linkage among all inputs and renames ids accordingly.
pub(crate) fn link(module: &mut Module, loaded: &mut [Loaded], diagnostics: &mut Diagnostics) {
    let builtins: FxHashSet<Id> =
        module.globals.iter().filter(|global| global.builtin.is_some()).map(|global| global.id).collect();
    let type_of = |id: Id| loaded.iter().find_map(|input| input.defs.type_of(id));
    let mut linked: Vec<(Id, &str, LinkageType)> = loaded
        .iter()
        .flat_map(|input| input.linkage.iter())
        .filter(|(id, _)| !builtins.contains(id))
        .map(|(id, linkage)| (*id, linkage.name.as_str(), linkage.kind))
        .collect();
    linked.sort_unstable_by_key(|(id, ..)| *id);

    let mut definitions: FxHashMap<&str, Definition> = FxHashMap::default();
    let mut renamed: FxHashMap<Id, Id> = FxHashMap::default();
    for &(id, name, kind) in linked.iter().filter(|(.., kind)| *kind != LinkageType::Import) {
        let ty = type_of(id);
        match definitions.get_mut(name) {
            None => {
                definitions.insert(name, Definition { id, ty, kind });
            }
            Some(first) if first.ty != ty => {
                let message = format!("\"{name}\" is defined with two types");
                diagnostics.push(Diagnostic::new(Fault::new(TYPE, message)));
            }
            Some(first) => match (first.kind, kind) {
                (LinkageType::Export, LinkageType::Export) => {
                    let message = format!("\"{name}\" is exported more than once");
                    diagnostics.push(Diagnostic::new(Fault::new(DUPLICATE, message)));
                }
                (LinkageType::LinkOnceODR, LinkageType::Export) => {
                    renamed.insert(first.id, id);
                    *first = Definition { id, ty, kind };
                }
                _ => {
                    renamed.insert(id, first.id);
                }
            },
        }
    }
    for &(id, name, _) in linked.iter().filter(|(.., kind)| *kind == LinkageType::Import) {
        match definitions.get(name) {
            Some(definition) if agree(module, definition.ty, type_of(id)) => {
                renamed.insert(id, definition.id);
            }
            Some(_) => {
                let message = format!("\"{name}\" is imported with another type than it is exported with");
                diagnostics.push(Diagnostic::new(Fault::new(TYPE, message)));
            }
            None => {}
        }
    }
    // A definition that gave way to an export may itself be what others were renamed to.
    for id in renamed.keys().copied().collect::<Vec<_>>() {
        let mut to = renamed[&id];
        while let Some(&next) = renamed.get(&to) {
            to = next;
        }
        renamed.insert(id, to);
    }
    if !renamed.is_empty() {
        rename(module, &renamed);
        cast_arguments(module, type_of);
        for entry in loaded.iter_mut().flat_map(|input| input.entry_points.iter_mut()) {
            entry.function = renamed.get(&entry.function).copied().unwrap_or(entry.function);
        }
    }
}

/// Whether an import's type fits that of what it is resolved with. A pointer is an address whatever it points to:
/// producers of modules that are compiled apart (oneMKL's are) choose different pointees for the same parameter.
fn agree(module: &Module, a: Option<TypeId>, b: Option<TypeId>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return a == b };
    if a == b {
        return true;
    }
    match (module.types.get(a), module.types.get(b)) {
        (Type::Pointer { class: a, .. }, Type::Pointer { class: b, .. }) => a == b,
        (Type::Function { result: a, params: left }, Type::Function { result: b, params: right }) => {
            let params = || left.iter().zip(right).all(|(&a, &b)| agree(module, Some(a), Some(b)));
            left.len() == right.len() && agree(module, Some(*a), Some(*b)) && params()
        }
        _ => false,
    }
}

/// Gives every argument the type of its parameter, where [`agree`] let them differ: what follows relies on the types.
fn cast_arguments(module: &mut Module, type_of: impl Fn(Id) -> Option<TypeId>) {
    let params: FxHashMap<Id, Vec<TypeId>> = module
        .functions
        .iter()
        .map(|function| (function.id, function.params.iter().map(|(_, ty)| *ty).collect()))
        .collect();
    let mut bound = module.bound;
    for block in module.functions.iter_mut().flat_map(|function| &mut function.blocks) {
        let mut at = 0;
        while at < block.insts.len() {
            let call = &mut block.insts[at];
            let callee = (call.op == Op::FunctionCall).then(|| params.get(&call.id(0))).flatten();
            let mut casts = Vec::new();
            for (operand, &ty) in call.operands.iter_mut().skip(1).zip(callee.into_iter().flatten()) {
                if let Operand::Id(arg) = operand
                    && type_of(*arg).is_some_and(|of| of != ty)
                {
                    let result = Id(bound);
                    bound += 1;
                    casts.push(Inst {
                        op: Op::Bitcast,
                        ty: Some(ty),
                        result: Some(result),
                        operands: [Operand::Id(*arg)].into_iter().collect(),
                        line: call.line,
                    });
                    *operand = Operand::Id(result);
                }
            }
            at += casts.len() + 1;
            let call = at - casts.len() - 1;
            block.insts.splice(call..call, casts);
        }
    }
    module.bound = bound;
}

/// `LinkOnceODR` needs its extension.
pub(crate) fn check_linkonce(module: &Module, input: &Loaded) -> Result<(), Fault> {
    let used = input.linkage.values().any(|linkage| linkage.kind == LinkageType::LinkOnceODR);
    if used && !module.extensions.iter().any(|name| name == "SPV_KHR_linkonce_odr") {
        return Err(Fault::new(ODR, "LinkOnceODR is used without SPV_KHR_linkonce_odr"));
    }
    Ok(())
}

fn rename(module: &mut Module, renamed: &FxHashMap<Id, Id>) {
    let rename = |id: &mut Id| {
        if let Some(to) = renamed.get(id) {
            *id = *to;
        }
    };
    let rename_operands = |operands: &mut [Operand]| {
        for operand in operands {
            if let Operand::Id(id) = operand {
                rename(id);
            }
        }
    };
    module.functions.retain(|function| !renamed.contains_key(&function.id));
    module.globals.retain(|global| !renamed.contains_key(&global.id));
    for function in &mut module.functions {
        for inst in function.blocks.iter_mut().flat_map(|block| &mut block.insts) {
            rename_operands(&mut inst.operands);
        }
    }
    for global in &mut module.globals {
        if let Some(initializer) = &mut global.initializer {
            rename(initializer);
        }
    }
    for constant in module.constants.values_mut() {
        match &mut constant.value {
            ConstantValue::Composite(parts) => parts.iter_mut().for_each(rename),
            ConstantValue::Expression { operands, .. } => rename_operands(operands),
            ConstantValue::FunctionPointer(function) => rename(function),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::environment::{Environment, ModuleInput};
    use crate::module::Module;
    use crate::test_support::{assemble, assert_rejected, build_text};
    use crate::{BuildError, build};
    use spirv::Op;
    use ze_extensions::DeviceProfile;

    const HEAD: &str = "OpCapability Addresses\nOpCapability Kernel\nOpCapability Linkage\n\
        OpExtension \"SPV_KHR_linkonce_odr\"\nOpMemoryModel Physical64 OpenCL\n";
    const TYPES: &str = "%void = OpTypeVoid\n%uint = OpTypeInt 32 0\n%float = OpTypeFloat 32\n%pair = OpTypeStruct %uint %uint\n\
        %pp = OpTypePointer Function %pair\n%fn = OpTypeFunction %void\n%get = OpTypeFunction %TYPE %pp\n%one = OpConstant %uint 1\n";

    /// A kernel that calls an imported function on a structure.
    fn user() -> String {
        format!(
            "{HEAD}OpEntryPoint Kernel %main \"main\"\nOpDecorate %f LinkageAttributes \"f\" Import\n{}\
             %f = OpFunction %uint None %get\n%fp = OpFunctionParameter %pp\nOpFunctionEnd\n\
             %main = OpFunction %void None %fn\n%l = OpLabel\n%v = OpVariable %pp Function\n\
             %r = OpFunctionCall %uint %f %v\nOpReturn\nOpFunctionEnd\n",
            TYPES.replace("%TYPE", "%uint")
        )
    }

    /// A module that defines it.
    fn library(linkage: &str, ty: &str) -> String {
        format!(
            "{HEAD}OpDecorate %f LinkageAttributes \"f\" {linkage}\n{}%zero = OpConstantNull {ty}\n\
             %f = OpFunction {ty} None %get\n%fp = OpFunctionParameter %pp\n%l = OpLabel\nOpReturnValue %zero\nOpFunctionEnd\n",
            TYPES.replace("%TYPE", ty)
        )
    }

    fn link(texts: &[String]) -> Result<Module, BuildError> {
        let bytes: Vec<Vec<u8>> = texts.iter().map(|text| assemble(text)).collect();
        let inputs: Vec<ModuleInput<'_>> = bytes.iter().map(|bytes| ModuleInput::new(bytes)).collect();
        let profile = DeviceProfile::host();
        build(&inputs, &Environment::new(&profile))
    }

    fn rule(texts: &[String]) -> &'static str {
        link(texts).map_or_else(|error| error.diagnostics[0].rule, |_| "accepted")
    }

    fn is_resolved(module: &Module) -> bool {
        let call = module
            .functions
            .iter()
            .flat_map(|f| &f.blocks)
            .flat_map(|b| &b.insts)
            .find(|i| i.op == Op::FunctionCall);
        let callee = call.and_then(|call| module.function(call.id(0)));
        module.unresolved.is_empty() && callee.is_some_and(|callee| !callee.blocks.is_empty())
    }

    #[test]
    fn imports_meet_exports_in_either_order() {
        assert!(is_resolved(&link(&[user(), library("Export", "%uint")]).unwrap()));
        assert!(is_resolved(&link(&[library("Export", "%uint"), user()]).unwrap()));
    }

    #[test]
    fn what_nobody_defines_stays_unresolved() {
        let module = build_text(&user()).unwrap();
        assert_eq!(module.unresolved, ["f"]);
    }

    #[test]
    fn types_agree() {
        assert_eq!(rule(&[user(), library("Export", "%float")]), "link.type");
    }

    #[test]
    fn names_are_exported_once() {
        let twice = [library("Export", "%uint"), library("Export", "%uint")];
        assert_eq!(rule(&twice), "link.duplicate");
    }

    #[test]
    fn of_equal_linkonce_definitions_one_stays() {
        let odr = || library("LinkOnceODR", "%uint");
        let module = link(&[odr(), user(), odr(), library("Export", "%uint"), odr()]).unwrap();
        assert!(is_resolved(&module));
        assert_eq!(module.functions.len(), 2);
    }

    #[test]
    fn linkonce_needs_its_extension() {
        let text = library("LinkOnceODR", "%uint");
        assert!(build_text(&text).is_ok());
        assert_rejected(&text.replace("OpExtension \"SPV_KHR_linkonce_odr\"\n", ""), "link.linkonce-odr");
    }

    #[test]
    fn kernels_of_all_modules_are_there() {
        let other = user().replace("\"main\"", "\"other\"");
        let module = link(&[user(), other, library("Export", "%uint")]).unwrap();
        let names: Vec<&str> = module.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
        assert_eq!(names, ["main", "other"]);
        assert_eq!(rule(&[user(), user()]), "kernels.entry-point");
    }
}
